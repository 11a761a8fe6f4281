//! Encryption at rest: the stores of a control plane with encryption around them, and the checks and the hook that belong to it.

use std::sync::Arc;

use async_trait::async_trait;
use pintle_encryption::{EncryptedBackend, Encryption, GroupResource, KmsCheck, Metrics, StoredResources};
use pintle_runtime::Spawner;
use pintle_schema::Resources;
use pintle_server::handlers::{Check, HealthCheck, HealthRegistry};
use pintle_server::lifecycle::Hooks;
use pintle_storage::Backend;

use crate::{Config, Error};

/// The hook that begins to follow the configuration file.
const RELOAD_HOOK: &str = "start-encryption-provider-config-automatic-reload";

/// Puts encryption around the store and those of single resources, also where nothing is configured: values that another server
/// has encrypted are refused as such.
pub(crate) fn around(
    backend: Arc<dyn Backend>,
    config: &mut Config,
) -> Result<(Arc<dyn Backend>, Arc<Encryption>), Error> {
    let encryption = match config.storage.encryption.take() {
        Some(encryption) => encryption,
        None => {
            let metrics = Metrics::new(&config.registry, "", &config.clock).map_err(Error::part)?;
            Arc::new(Encryption::none(metrics))
        }
    };
    let resources = Arc::new(stored_resources(&config.storage.prefix)?);
    let wrap = |store: Arc<dyn Backend>| -> Arc<dyn Backend> {
        Arc::new(EncryptedBackend::new(store, encryption.clone(), resources.clone()))
    };
    for other in &mut config.storage.overrides.backends {
        *other = wrap(other.clone());
    }
    Ok((wrap(backend), encryption))
}

/// Returns the resources that are stored under a prefix, by the paths of their keys.
fn stored_resources(prefix: &str) -> Result<StoredResources, Error> {
    let root = format!("/{}/", prefix.trim_matches('/'));
    let resources = Resources::builtin()?;
    let versions = resources.versions().iter();
    let stored = versions.flat_map(|version| version.resources.iter().map(move |of| (version.group, of)));
    let stored = stored.filter(|(_, of)| of.subresource.is_none());
    // The first group that has a kind is the one under which it is configured: events are `events`.
    let mut paths: Vec<(String, GroupResource)> = Vec::new();
    for (group, of) in stored {
        let Some(storage) = of.storage else { continue };
        if !paths.iter().any(|(known, _)| known == storage.path) {
            paths.push((storage.path.to_owned(), GroupResource::new(group, of.name)));
        }
    }
    Ok(StoredResources::new(root, paths))
}

/// Adds the checks of KMS plugins. A plugin that is away is no reason to restart the server, so `/livez` has none.
pub(crate) fn add_checks(encryption: &Arc<Encryption>, health: &mut HealthRegistry) {
    for check in encryption.health_checks() {
        health.add_without_livez(HealthCheck::new(&check.name.clone(), Plugin(check)));
    }
}

struct Plugin(KmsCheck);

#[async_trait]
impl Check for Plugin {
    async fn check(&self) -> Result<(), String> {
        self.0.check().await
    }
}

/// Adds the hook that begins to load the configuration again whenever it changes, where that is asked for.
pub(crate) fn add_hook(encryption: &Arc<Encryption>, hooks: &mut Hooks, spawner: &Spawner) {
    if !encryption.reloads() {
        return;
    }
    let (encryption, spawner) = (encryption.clone(), spawner.clone());
    hooks.post_start(RELOAD_HOOK, move || async move {
        spawner.spawn_until_stop(encryption.follow());
        Ok(())
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stored_kind_is_encrypted_under_the_name_of_its_first_group() {
        let stored = format!("{:?}", stored_resources("registry").unwrap());
        for (path, group, resource) in [
            ("events", "", "events"),
            ("secrets", "", "secrets"),
            ("services/specs", "", "services"),
            ("minions", "", "nodes"),
            ("leases", "coordination.k8s.io", "leases"),
            ("deployments", "apps", "deployments"),
            ("apiregistration.k8s.io/apiservices", "apiregistration.k8s.io", "apiservices"),
        ] {
            let expect = format!("{path:?}: GroupResource {{ group: {group:?}, resource: {resource:?} }}");
            assert!(stored.contains(&expect), "{expect}");
        }
    }
}
