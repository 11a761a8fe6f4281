//! From a file to transformers: each entry's providers, for each of its resources.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use pintle_meta::quote;
use pintle_runtime::{Clock, Random, Tasks};
use zeroize::Zeroizing;

use crate::Error;
use crate::active::Active;
use crate::chain::{Chain, Prefixed};
use crate::configuration::{
    EncryptionConfiguration, Key, KmsConfiguration, ProviderConfiguration, decode_secret,
};
use crate::health::{Probe, Probes};
use crate::kms::{socket_of, v1, v2};
use crate::metrics::{Metrics, hash};
use crate::providers::{AesCbc, AesGcm, Identity, Secretbox};
use crate::resources::GroupResource;
use crate::transformer::Transformer;

const AES_CBC: &str = "k8s:enc:aescbc:v1:";
const AES_GCM: &str = "k8s:enc:aesgcm:v1:";
const SECRETBOX: &str = "k8s:enc:secretbox:v1:";
const KMS_V1: &str = "k8s:enc:kms:v1:";
const KMS_V2: &str = "k8s:enc:kms:v2:";

const KMS_V1_IS_DEPRECATED: &str =
    "KMSv1 is deprecated and will only receive security updates going forward. Use KMSv2 instead.";

/// The file that names resources and providers.
pub struct Source {
    /// For messages.
    pub path: String,
    /// Reads the file. The error says which file and why.
    pub read: Box<dyn Fn() -> Result<Vec<u8>, String> + Send + Sync>,
    /// Whether it is loaded again when it changes.
    pub reloads: bool,
}

/// The surroundings of transformers.
#[derive(Clone)]
pub struct Setup {
    pub clock: Clock,
    pub random: Random,
    pub metrics: Metrics,
    /// Whether KMS v1 may be used.
    pub kms_v1: bool,
}

impl Source {
    /// Returns the file's content and its hash.
    pub(crate) fn content(&self) -> Result<(Zeroizing<Vec<u8>>, String), Error> {
        let path = quote(&self.path);
        let text = (self.read)().map(Zeroizing::new).map_err(|why| {
            let what = format!("error reading encryption provider configuration file {path}: {why}");
            Error::File(format!("error while loading file: {what}"))
        })?;
        if text.is_empty() {
            let what = format!("encryption provider configuration file {path} is empty");
            return Err(Error::File(format!("error while loading file: {what}")));
        }
        let hash = hash(&text);
        Ok((text, hash))
    }

    /// Loads the file. Asks each KMS v2 plugin once; one that does not answer is asked again in the background.
    pub(crate) async fn load(&self, setup: &Setup) -> Result<(Active, String), Error> {
        let (text, hash) = self.content()?;
        let configuration =
            EncryptionConfiguration::read(&self.path, &text, self.reloads).map_err(Error::File)?;
        drop(text);
        let mut loading = Loading::new(setup);
        let resources = loading.resources(&configuration).await.map_err(Error::Transformers)?;
        let has_one_check = self.reloads || (loading.uses_v2 && !loading.uses_v1);
        let patience = 2 * loading.timeouts;
        Ok((Active::new(resources, Probes(loading.probes), has_one_check, patience, loading.tasks), hash))
    }
}

/// The findings of a pass through the entries.
struct Loading<'a> {
    setup: &'a Setup,
    probes: Vec<Arc<dyn Probe>>,
    uses_v1: bool,
    uses_v2: bool,
    /// The time that all plugins together may take to answer one after the other.
    timeouts: Duration,
    /// The tasks that ask plugins for their status.
    tasks: Tasks,
}

impl<'a> Loading<'a> {
    fn new(setup: &'a Setup) -> Loading<'a> {
        Loading {
            setup,
            probes: Vec::new(),
            uses_v1: false,
            uses_v2: false,
            timeouts: Duration::ZERO,
            tasks: Tasks::new(),
        }
    }

    async fn resources(
        &mut self,
        configuration: &EncryptionConfiguration,
    ) -> Result<HashMap<GroupResource, Arc<Chain>>, String> {
        let mut found: HashMap<GroupResource, Vec<Prefixed>> = HashMap::new();
        for of in &configuration.resources {
            let mut providers = Vec::with_capacity(of.providers.len());
            for provider in &of.providers {
                providers.push(self.provider(provider).await?);
            }
            for name in &of.resources {
                let resource = GroupResource::parse(name);
                let [_, group, everything] = resource.and_wildcards();
                if let Some(earlier) = [group, everything].into_iter().find(|of| found.contains_key(of)) {
                    let (resource, earlier) = (shown(&resource), shown(&earlier));
                    return Err(format!("resource {resource} is masked by earlier rule {earlier}"));
                }
                found.entry(resource).or_default().extend(providers.iter().cloned());
            }
        }
        let chain = |providers| Chain::new("no matching prefix found", providers).map(Arc::new);
        Ok(found.into_iter().filter_map(|(of, providers)| Some((of, chain(providers)?))).collect())
    }

    async fn provider(&mut self, of: &ProviderConfiguration) -> Result<Prefixed, String> {
        let aes = "no matching key was found for the provided AES transformer";
        let secretbox = "no matching key was found for the provided Secretbox transformer";
        if let Some(of) = &of.aesgcm {
            return keys(AES_GCM, aes, &of.keys, |key| Ok(Arc::new(AesGcm::new(key)?)));
        }
        if let Some(of) = &of.aescbc {
            return keys(AES_CBC, aes, &of.keys, |key| Ok(Arc::new(AesCbc::new(key)?)));
        }
        if let Some(of) = &of.secretbox {
            return keys(SECRETBOX, secretbox, &of.keys, |key| Ok(Arc::new(Secretbox::new(key)?)));
        }
        if let Some(of) = &of.kms {
            return self.kms(of).await;
        }
        Ok(Prefixed::new("", Identity))
    }

    async fn kms(&mut self, of: &KmsConfiguration) -> Result<Prefixed, String> {
        let Setup { clock, random, metrics, kms_v1 } = self.setup.clone();
        let (name, timeout) = (&of.name, of.timeout());
        let socket = |version: &str| {
            socket_of(&of.endpoint).map_err(|why| {
                format!("could not configure {version}-Plugin's probe {}, error: {why}", quote(name))
            })
        };
        match &*of.api_version {
            "v1" if !kms_v1 => Err(format!(
                "{KMS_V1_IS_DEPRECATED}  Set --feature-gates=KMSv1=true to use the deprecated KMSv1 feature."
            )),
            "v1" => {
                tracing::info!("{KMS_V1_IS_DEPRECATED}");
                let service = Arc::new(v1::Service::new(socket("KMSv1")?, timeout));
                self.uses_v1 = true;
                // Its check encrypts and decrypts.
                self.timeouts += 2 * timeout;
                self.probes.push(Arc::new(v1::Health::new(name.clone(), service.clone(), clock.clone())));
                let envelope = v1::Envelope::new(service, of.cache_size.unwrap_or_default(), clock);
                Ok(Prefixed::new(&format!("{KMS_V1}{name}:"), envelope))
            }
            "v2" => {
                let service = v2::Service::new(socket("KMSv2")?, name.clone(), timeout, metrics.clone());
                let plugin = Arc::new(v2::Plugin::new(name.clone(), service, clock, random, metrics));
                self.uses_v2 = true;
                self.timeouts += timeout;
                self.probes.push(plugin.clone());
                plugin.clone().start(&self.tasks.spawner()).await;
                Ok(Prefixed::new(&format!("{KMS_V2}{name}:"), v2::Envelope::new(plugin)))
            }
            other => Err(format!(
                "could not configure KMS plugin {}, unsupported KMS API version {}",
                quote(name),
                quote(other)
            )),
        }
    }
}

/// The name of a resource as the file has it, quoted.
fn shown(resource: &GroupResource) -> String {
    match (&*resource.group, &*resource.resource) {
        ("", "*") => quote("*."),
        _ => quote(&resource.to_string()),
    }
}

/// Makes the transformer of a provider with keys, of which the first one writes.
fn keys(
    prefix: &str,
    no_match: &'static str,
    keys: &[Key],
    make: impl Fn(&[u8]) -> Result<Arc<dyn Transformer>, crate::providers::InvalidKeySize>,
) -> Result<Prefixed, String> {
    let mut transformers = Vec::with_capacity(keys.len());
    for Key { name, secret } in keys {
        let secret =
            decode_secret(secret).ok_or_else(|| format!("could not obtain secret for named key {name}"))?;
        let transformer = make(&secret).map_err(|error| {
            format!("error while creating cipher for named key {name}: crypto/aes: {error}")
        })?;
        transformers.push(Prefixed { prefix: format!("{name}:").into(), transformer });
    }
    let chain = Chain::new(no_match, transformers);
    Ok(Prefixed::new(prefix, chain.ok_or("a provider has no valid keys")?))
}
