//! `EncryptionConfiguration`: the file that names resources and their providers, decoded and judged as the reference does.

mod validation;

pub(crate) use validation::decode_secret;

use pintle_meta::parse_duration;
use pintle_outbound::configuration::{ConfigurationKind, null_is_default};
use serde::{Deserialize, Deserializer};
use zeroize::Zeroizing;

const KIND: ConfigurationKind = ConfigurationKind {
    kind: "EncryptionConfiguration",
    versions: &["apiserver.config.k8s.io/v1"],
    scheme: "k8s.io/apiserver/pkg/server/options/encryptionconfig/config.go:142",
    is_strict: true,
};

/// The file.
#[derive(Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct EncryptionConfiguration {
    #[serde(deserialize_with = "null_is_default")]
    pub(crate) resources: Vec<ResourceConfiguration>,
}

/// Resources and the providers of their values: the first one writes, all of them read.
#[derive(Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ResourceConfiguration {
    #[serde(deserialize_with = "null_is_default")]
    pub(crate) resources: Vec<String>,
    #[serde(deserialize_with = "null_is_default")]
    pub(crate) providers: Vec<ProviderConfiguration>,
}

/// One provider.
#[derive(Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ProviderConfiguration {
    pub(crate) aesgcm: Option<KeysConfiguration>,
    pub(crate) aescbc: Option<KeysConfiguration>,
    pub(crate) secretbox: Option<KeysConfiguration>,
    pub(crate) identity: Option<IdentityConfiguration>,
    pub(crate) kms: Option<KmsConfiguration>,
}

#[derive(Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct KeysConfiguration {
    #[serde(deserialize_with = "null_is_default")]
    pub(crate) keys: Vec<Key>,
}

/// A key; zeroed when it is dropped.
#[derive(Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Key {
    #[serde(deserialize_with = "null_is_default")]
    pub(crate) name: String,
    /// In base64.
    #[serde(deserialize_with = "null_is_default")]
    pub(crate) secret: Zeroizing<String>,
}

#[derive(Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct IdentityConfiguration {}

#[derive(Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct KmsConfiguration {
    #[serde(rename = "apiVersion", deserialize_with = "null_is_default")]
    pub(crate) api_version: String,
    #[serde(deserialize_with = "null_is_default")]
    pub(crate) name: String,
    #[serde(rename = "cachesize")]
    pub(crate) cache_size: Option<i32>,
    #[serde(deserialize_with = "null_is_default")]
    pub(crate) endpoint: String,
    pub(crate) timeout: Option<Timeout>,
}

/// Nanoseconds of a duration in Go's notation.
#[derive(Clone, Copy)]
pub(crate) struct Timeout(pub(crate) i64);

impl<'de> Deserialize<'de> for Timeout {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Timeout, D::Error> {
        let text = String::deserialize(deserializer)?;
        parse_duration(&text).map(Timeout).map_err(serde::de::Error::custom)
    }
}

impl KmsConfiguration {
    const TIMEOUT: Timeout = Timeout(3_000_000_000);
    const CACHE_SIZE: i32 = 1000;

    fn complete(&mut self) {
        self.timeout.get_or_insert(KmsConfiguration::TIMEOUT);
        if self.api_version.is_empty() {
            self.api_version = "v1".into();
        }
        if self.api_version == "v1" {
            self.cache_size.get_or_insert(KmsConfiguration::CACHE_SIZE);
        }
    }

    pub(crate) fn timeout(&self) -> std::time::Duration {
        let nanos = self.timeout.unwrap_or(KmsConfiguration::TIMEOUT).0;
        std::time::Duration::from_nanos(nanos.try_into().unwrap_or_default())
    }
}

impl EncryptionConfiguration {
    /// Decodes a file and sets defaults. `reloads`: it may be loaded again while the server runs, which allows less.
    pub(crate) fn read(path: &str, text: &[u8], reloads: bool) -> Result<EncryptionConfiguration, String> {
        let decoded: Result<EncryptionConfiguration, _> = KIND.decode(text);
        let mut read = decoded.map_err(|error| {
            let path = pintle_meta::quote(path);
            let error = without_document(&error.to_string());
            format!("error decoding encryption provider configuration file {path}: {error}")
        })?;
        let providers = read.resources.iter_mut().flat_map(|of| &mut of.providers);
        providers.filter_map(|provider| provider.kms.as_mut()).for_each(KmsConfiguration::complete);
        let errors = read.validate(reloads);
        if errors.is_empty() { Ok(read) } else { Err(pintle_meta::field_path::aggregate(&errors)) }
    }
}

/// Leaves out the document, which has keys, where a message ends with it.
fn without_document(message: &str) -> String {
    match message.split_once(" is missing in '") {
        Some((what, _)) => format!("{what} is missing"),
        None => message.to_owned(),
    }
}

#[cfg(test)]
mod tests;
