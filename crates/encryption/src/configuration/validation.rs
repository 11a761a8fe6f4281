//! Rules of the file, in the reference's order and words. Secrets are never shown.

use std::collections::BTreeSet;

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{GeneralPurpose, GeneralPurposeConfig};
use pintle_meta::field_path::{Error, Path, Value};
use pintle_meta::{format_duration, quote};
use zeroize::Zeroizing;

use super::{EncryptionConfiguration, Key, KmsConfiguration, ProviderConfiguration, ResourceConfiguration};
use crate::kms::Endpoint;
use crate::resources::GroupResource;

const AES_KEY_SIZES: &[usize] = &[16, 24, 32];
const SECRETBOX_KEY_SIZES: &[usize] = &[32];

/// The text that messages show in place of a key.
const REDACTED: &str = "REDACTED";

/// As Go reads base64: bits after the end are not looked at.
const BASE64: GeneralPurpose =
    GeneralPurpose::new(&STANDARD, GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true));

/// Decodes a secret; line breaks in it do not count.
pub(crate) fn decode_secret(secret: &str) -> Option<Zeroizing<Vec<u8>>> {
    let text: Zeroizing<String> = Zeroizing::new(secret.replace(['\r', '\n'], ""));
    BASE64.decode(text.as_bytes()).ok().map(Zeroizing::new)
}

impl EncryptionConfiguration {
    pub(super) fn validate(&self, reloads: bool) -> Vec<Error> {
        let root = Path::new("resources");
        if self.resources.is_empty() {
            return vec![Error::required(&root, "at least one resources is required")];
        }
        let (mut errors, mut kms_names) = (Vec::new(), BTreeSet::new());
        for (index, of) in self.resources.iter().enumerate() {
            let path = root.index(index);
            of.validate_resources(&path.child("resources"), &mut errors);
            let providers = path.child("providers");
            if of.providers.is_empty() {
                errors.push(at_least_one(&providers));
            }
            for (index, provider) in of.providers.iter().enumerate() {
                provider.validate(&providers.index(index), &mut kms_names, reloads, &mut errors);
            }
        }
        errors
    }
}

fn at_least_one(path: &Path<'_>) -> Error {
    Error::required(path, format!("at least one {path} is required"))
}

impl ResourceConfiguration {
    fn validate_resources(&self, path: &Path<'_>, errors: &mut Vec<Error>) {
        if self.resources.is_empty() {
            errors.push(at_least_one(path));
        }
        let parsed: Vec<GroupResource> =
            self.resources.iter().map(|text| GroupResource::parse(text)).collect();
        let (has_duplicate, has_overlap) = duplicate_and_overlap(&parsed);
        if has_duplicate {
            let why = "the same resource cannot be specified multiple times";
            errors.push(Error::invalid(path, Value::json(&self.resources), why));
        }
        if has_overlap {
            let why = "using overlapping resources such as 'secrets' and '*.' in the same resource list is not allowed as \
                       they will be masked";
            errors.push(Error::invalid(path, Value::json(&self.resources), why));
        }
        for (index, (name, parsed)) in self.resources.iter().zip(&parsed).enumerate() {
            if let Some(why) = wrong_name(name, parsed) {
                errors.push(Error::invalid(&path.index(index), name.as_str(), why));
            }
        }
    }
}

/// Returns whether an entry is named twice, and whether a wildcard covers another entry of the list.
fn duplicate_and_overlap(parsed: &[GroupResource]) -> (bool, bool) {
    let (mut has_duplicate, mut has_overlap) = (false, false);
    for (i, a) in parsed.iter().enumerate() {
        for (_, b) in parsed.iter().enumerate().filter(|(j, _)| i != *j) {
            // Of two that are the same, the second look is at their overlap.
            if a == b && !has_duplicate {
                has_duplicate = true;
                continue;
            }
            let is_covered = a.group == b.group && (a.resource == "*" || b.resource == "*");
            has_overlap |= a.is_everything() || is_covered;
        }
    }
    (has_duplicate, has_overlap)
}

fn wrong_name(name: &str, parsed: &GroupResource) -> Option<&'static str> {
    if name.to_lowercase() != name {
        return Some("resource name should not contain capital letters");
    }
    match name {
        "*" => {
            return Some(
                "use '*.' to encrypt all the resources from core API group or *.* to encrypt all resources",
            );
        }
        "apiserveripinfo" | "serviceipallocations" | "servicenodeportallocations" => {
            return Some("resources which do not have REST API/s cannot be encrypted");
        }
        _ => {}
    }
    match &*parsed.group {
        "events.k8s.io" => Some(
            "'*.events.k8s.io' objects are stored using the 'events' API group in etcd. Use 'events' instead in the config file",
        ),
        "extensions" => Some("'extensions' group has been removed and cannot be used for encryption"),
        "*" if parsed.resource != "*" => Some("encrypting the same resource across groups is not supported"),
        _ => None,
    }
}

impl ProviderConfiguration {
    fn validate<'a>(
        &'a self,
        path: &Path<'_>,
        kms_names: &mut BTreeSet<&'a str>,
        reloads: bool,
        errors: &mut Vec<Error>,
    ) {
        let given = [
            self.aesgcm.is_some(),
            self.aescbc.is_some(),
            self.secretbox.is_some(),
            self.identity.is_some(),
            self.kms.is_some(),
        ];
        match given.into_iter().filter(|given| *given).count() {
            0 => {
                let why = "provider does not contain any of the expected providers: KMS, AESGCM, AESCBC, Secretbox, Identity";
                errors.push(Error::invalid(path, self.shown(), why));
            }
            1 => {}
            _ => {
                let why = "more than one provider specified in a single element, should split into different list elements";
                errors.push(Error::invalid(path, self.shown(), why));
            }
        }
        if let Some(kms) = &self.kms {
            kms.validate(&path.child("kms"), kms_names, reloads, errors);
            kms_names.insert(&kms.name);
        } else if let Some(aesgcm) = &self.aesgcm {
            validate_keys(&aesgcm.keys, &path.child("aesgcm").child("keys"), AES_KEY_SIZES, errors);
        } else if let Some(aescbc) = &self.aescbc {
            validate_keys(&aescbc.keys, &path.child("aescbc").child("keys"), AES_KEY_SIZES, errors);
        } else if let Some(secretbox) = &self.secretbox {
            validate_keys(
                &secretbox.keys,
                &path.child("secretbox").child("keys"),
                SECRETBOX_KEY_SIZES,
                errors,
            );
        }
    }

    /// Shows the provider under Go's names, without its secrets.
    fn shown(&self) -> Value {
        #[derive(serde::Serialize)]
        struct Shown<'a> {
            #[serde(rename = "AESGCM")]
            aesgcm: Option<ShownKeys<'a>>,
            #[serde(rename = "AESCBC")]
            aescbc: Option<ShownKeys<'a>>,
            #[serde(rename = "Secretbox")]
            secretbox: Option<ShownKeys<'a>>,
            #[serde(rename = "Identity")]
            identity: Option<ShownIdentity>,
            #[serde(rename = "KMS")]
            kms: Option<ShownKms<'a>>,
        }
        #[derive(serde::Serialize)]
        #[serde(rename_all = "PascalCase")]
        struct ShownKeys<'a> {
            keys: Vec<ShownKey<'a>>,
        }
        #[derive(serde::Serialize)]
        #[serde(rename_all = "PascalCase")]
        struct ShownKey<'a> {
            name: &'a str,
            secret: &'static str,
        }
        #[derive(serde::Serialize)]
        struct ShownIdentity {}
        #[derive(serde::Serialize)]
        #[serde(rename_all = "PascalCase")]
        struct ShownKms<'a> {
            #[serde(rename = "APIVersion")]
            api_version: &'a str,
            name: &'a str,
            cache_size: Option<i32>,
            endpoint: &'a str,
            timeout: Option<String>,
        }
        let keys = |of: &'_ Option<super::KeysConfiguration>| {
            let of = of.clone()?;
            Some(of.keys)
        };
        let (aesgcm, aescbc, secretbox) = (keys(&self.aesgcm), keys(&self.aescbc), keys(&self.secretbox));
        fn shown(keys: &Option<Vec<Key>>) -> Option<ShownKeys<'_>> {
            let keys = keys.as_ref()?.iter();
            Some(ShownKeys { keys: keys.map(|key| ShownKey { name: &key.name, secret: REDACTED }).collect() })
        }
        Value::json(&Shown {
            aesgcm: shown(&aesgcm),
            aescbc: shown(&aescbc),
            secretbox: shown(&secretbox),
            identity: self.identity.as_ref().map(|_| ShownIdentity {}),
            kms: self.kms.as_ref().map(|kms| ShownKms {
                api_version: &kms.api_version,
                name: &kms.name,
                cache_size: kms.cache_size,
                endpoint: &kms.endpoint,
                timeout: kms.timeout.map(|timeout| format_duration(timeout.0)),
            }),
        })
    }
}

fn validate_keys(keys: &[Key], path: &Path<'_>, sizes: &[usize], errors: &mut Vec<Error>) {
    if keys.is_empty() {
        errors.push(Error::required(path, "at least one keys is required"));
    }
    for (index, key) in keys.iter().enumerate() {
        key.validate(&path.index(index), sizes, errors);
    }
}

impl Key {
    fn validate(&self, path: &Path<'_>, sizes: &[usize], errors: &mut Vec<Error>) {
        if self.name.is_empty() {
            errors.push(Error::required(&path.child("name"), "name is a mandatory field for a key"));
        }
        let path = path.child("secret");
        if self.secret.is_empty() {
            errors.push(Error::required(&path, "secret is a mandatory field for a key"));
            return;
        }
        let Some(secret) = decode_secret(&self.secret) else {
            errors.push(Error::invalid(&path, REDACTED, "secrets must be base64 encoded"));
            return;
        };
        if !sizes.contains(&secret.len()) {
            let expected: Vec<String> = sizes.iter().map(usize::to_string).collect();
            let (length, expected) = (secret.len(), expected.join(" "));
            let why =
                format!("secret is not of the expected length, got {length}, expected one of [{expected}]");
            errors.push(Error::invalid(&path, REDACTED, why));
        }
    }
}

impl KmsConfiguration {
    fn validate(&self, path: &Path<'_>, names: &BTreeSet<&str>, reloads: bool, errors: &mut Vec<Error>) {
        let is_v1 = self.api_version == "v1";
        let name = path.child("name");
        if self.name.is_empty() {
            errors.push(Error::required(&name, "name is a mandatory field for a provider"));
        }
        if !is_v1 && self.name.contains(':') {
            let why = format!("invalid KMS provider name {}, must not contain ':'", self.name);
            errors.push(Error::invalid(&name, &*self.name, why));
        }
        if (reloads || !is_v1) && names.contains(&*self.name) {
            let why = format!("duplicate KMS provider name {}, names must be unique", self.name);
            errors.push(Error::invalid(&name, &*self.name, why));
        }
        if let Some(timeout) = self.timeout.filter(|timeout| timeout.0 <= 0) {
            let shown = Value::json(&format_duration(timeout.0));
            errors.push(Error::invalid(&path.child("timeout"), shown, "timeout should be a positive value"));
        }
        self.validate_endpoint(&path.child("endpoint"), errors);
        let size = path.child("cachesize");
        match self.cache_size {
            Some(given) if !is_v1 => {
                errors.push(Error::invalid(&size, i64::from(given), "cachesize is not supported in v2"));
            }
            Some(0) => {
                let why = "cachesize should be a positive value, or negative to disable";
                errors.push(Error::invalid(&size, 0_i64, why));
            }
            _ => {}
        }
        if !is_v1 && self.api_version != "v2" {
            let why = "unsupported apiVersion apiVersion for KMS provider, only v1 and v2 are supported";
            errors.push(Error::invalid(&path.child("apiVersion"), &*self.api_version, why));
        }
    }

    fn validate_endpoint(&self, path: &Path<'_>, errors: &mut Vec<Error>) {
        if self.endpoint.is_empty() {
            errors.push(Error::invalid(path, "", "endpoint is a mandatory field for a kms"));
            return;
        }
        let why = match Endpoint::parse(&self.endpoint) {
            Err(why) => format!("invalid endpoint for kms provider, error: {why}"),
            Ok(endpoint) if endpoint.scheme != "unix" => {
                let scheme = quote(&endpoint.scheme);
                format!("unsupported scheme {scheme} for KMS provider, only unix is supported")
            }
            Ok(_) => return,
        };
        errors.push(Error::invalid(path, &*self.endpoint, why));
    }
}
