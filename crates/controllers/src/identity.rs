//! The identity leases of API servers: this server's own, and the deletion of expired ones.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use pintle_meta::Value;
use pintle_meta::time::MicroTime;
use pintle_registry::{Client, Result};
use pintle_runtime::Clock;
use tokio::sync::Mutex;

use crate::runtime::{Controller, Requeue, Source};

const NAMESPACE: &str = "kube-system";
/// The label that distinguishes leases of API servers from others.
const LABEL: &str = "apiserver.kubernetes.io/identity";
const COMPONENT: &str = "kube-apiserver";
const HOSTNAME: &str = "kubernetes.io/hostname";
const PEER_ADDRESS: &str = "kubernetes.io/peer-advertise-address";

/// The duration of a lease, and the interval of its renewal.
const SECONDS: i64 = 3600;
const RENEWAL: Duration = Duration::from_secs(10);
/// The interval of looking for expired leases.
const COLLECTION: Duration = Duration::from_secs(3600);
/// How long a shutdown waits for the deletion of the lease.
const LEAVING: Duration = Duration::from_secs(10);

/// The identity of this server.
#[derive(Clone, Debug)]
pub struct IdentityConfig {
    /// The name of the lease, the same after a restart on the same host.
    pub name: String,
    /// Different after a restart.
    pub holder: String,
    pub hostname: String,
    /// The address by which other servers reach this one, if they may.
    pub peer_address: Option<String>,
}

/// Renews the lease of this server, and deletes expired leases of others.
pub struct Identity {
    leases: Client,
    config: IdentityConfig,
    clock: Clock,
    /// Set when the lease is not to be written any more. Locked while it is written.
    ended: Mutex<bool>,
}

impl Identity {
    /// The post-start and pre-shutdown hooks.
    pub const HOOK: &'static str = "start-kube-apiserver-identity-lease-controller";
    pub const COLLECTION_HOOK: &'static str = "start-kube-apiserver-identity-lease-garbage-collector";
    pub const STOP_HOOK: &'static str = "stop-kube-apiserver-identity-lease-controller";

    pub fn new(leases: Client, config: IdentityConfig, clock: Clock) -> Identity {
        Identity { leases, config, clock, ended: Mutex::new(false) }
    }

    /// Returns the controllers that renew the lease and that delete expired ones, with their post-start hooks.
    pub fn controllers(self: &Arc<Identity>) -> [(&'static str, Arc<dyn Controller>); 2] {
        [
            (
                Identity::HOOK,
                Arc::new(Renewal { identity: self.clone(), old_is_removed: AtomicBool::new(false) }),
            ),
            (Identity::COLLECTION_HOOK, Arc::new(Collection(self.clone()))),
        ]
    }

    /// Deletes the lease at the end of the server.
    pub async fn stop(&self) {
        let mut ended = self.ended.lock().await;
        *ended = true;
        match self.clock.timeout(LEAVING, self.remove()).await {
            Some(Ok(())) => {}
            Some(Err(status)) => {
                tracing::error!("Unable to delete lease {}: {}", self.config.name, status.message);
            }
            None => {
                tracing::error!("Unable to delete lease {}: the store does not answer", self.config.name);
            }
        }
    }

    /// Writes the lease, whether it is there or not.
    pub async fn renew(&self) -> Result<()> {
        let ended = self.ended.lock().await;
        if *ended {
            return Ok(());
        }
        if self.leases.find(NAMESPACE, &self.config.name).await?.is_some() {
            let mut change = |old: &Value| Ok(Some(self.renewed(old.clone())));
            return self.leases.update(NAMESPACE, &self.config.name, &mut change).await.map(drop);
        }
        let json = format!(
            r#"{{"kind":"Lease","apiVersion":"coordination.k8s.io/v1","metadata":{{"name":"{}","namespace":"{NAMESPACE}"}},"spec":{{"holderIdentity":"{}"}}}}"#,
            self.config.name, self.config.holder
        );
        let lease = self.renewed(self.leases.read(json.as_bytes())?);
        self.leases.create(NAMESPACE, lease).await.map(drop)
    }

    fn renewed(&self, mut lease: Value) -> Value {
        let IdentityConfig { hostname, peer_address, .. } = &self.config;
        let set = |metadata: &mut pintle_meta::Object, field: &str, pairs: &[(&str, &str)]| {
            let mut map = metadata.get(field).and_then(Value::as_object).cloned().unwrap_or_default();
            for (key, value) in pairs {
                map.insert(*key, *value);
            }
            metadata.insert(field, map);
        };
        if let Some(metadata) = lease.metadata_mut() {
            set(metadata, "labels", &[(LABEL, COMPONENT), (HOSTNAME, hostname)]);
            if let Some(address) = peer_address {
                set(metadata, "annotations", &[(PEER_ADDRESS, address)]);
            }
        }
        if let Some(spec) = lease.get_mut("spec").and_then(Value::as_object_mut) {
            spec.insert("leaseDurationSeconds", SECONDS);
            spec.insert("renewTime", MicroTime::from(self.clock.now()).to_string());
        }
        lease
    }

    async fn remove(&self) -> Result<()> {
        match self.leases.find(NAMESPACE, &self.config.name).await? {
            Some(lease) => self.leases.delete(NAMESPACE, &lease).await,
            None => Ok(()),
        }
    }

    /// Deletes expired leases.
    pub async fn collect_once(&self) -> Result<()> {
        for lease in self.leases.stored(NAMESPACE).await? {
            if lease.label(LABEL) != Some(COMPONENT) || !has_expired(&lease, &self.clock.now().into()) {
                continue;
            }
            // Another server may have been faster, and its holder may have come back.
            let removed = match self.leases.find(NAMESPACE, lease.name()).await {
                Ok(Some(lease)) if has_expired(&lease, &self.clock.now().into()) => {
                    self.leases.delete(NAMESPACE, &lease).await
                }
                other => other.map(drop),
            };
            if let Err(status) = removed {
                tracing::error!("Error deleting lease {}: {}", lease.name(), status.message);
            }
        }
        Ok(())
    }
}

/// Renews the lease of this server.
struct Renewal {
    identity: Arc<Identity>,
    /// Whether the lease of an earlier run of this server was removed.
    old_is_removed: AtomicBool,
}

#[async_trait]
impl Controller for Renewal {
    fn name(&self) -> &'static str {
        "apiserver_identity_lease"
    }

    fn sources(&self) -> Vec<Source> {
        vec![Source::every(RENEWAL, "")]
    }

    async fn reconcile(&self, _: &str) -> Result<Requeue> {
        let identity = &self.identity;
        if !self.old_is_removed.swap(true, Ordering::Relaxed)
            && let Err(status) = identity.remove().await
        {
            tracing::error!("error deleting old lease {}: {}", identity.config.name, status.message);
        }
        if let Err(status) = identity.renew().await {
            tracing::error!("Failed to update lease {}: {}", identity.config.name, status.message);
        }
        Ok(Requeue::Never)
    }
}

/// Deletes leases of servers that are gone.
struct Collection(Arc<Identity>);

#[async_trait]
impl Controller for Collection {
    fn name(&self) -> &'static str {
        "apiserver_identity_lease_garbage_collector"
    }

    fn sources(&self) -> Vec<Source> {
        vec![Source::every_later(COLLECTION, "")]
    }

    async fn reconcile(&self, _: &str) -> Result<Requeue> {
        if let Err(status) = self.0.collect_once().await {
            tracing::error!("Error while listing apiserver leases: {}", status.message);
        }
        Ok(Requeue::Never)
    }
}

/// Returns whether a lease has expired; one without a duration or renewal has.
fn has_expired(lease: &Value, now: &MicroTime) -> bool {
    let renewed = MicroTime::parse(lease.text_at(&["spec", "renewTime"])).ok();
    let seconds = lease.at(&["spec", "leaseDurationSeconds"]).and_then(Value::as_i64);
    match (renewed, seconds) {
        (Some(renewed), Some(seconds)) => now.nanos_since(&renewed) > seconds.saturating_mul(1_000_000_000),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_holds_for_its_seconds_after_its_renewal() {
        let lease = |spec: &str| {
            let json = format!(r#"{{"spec":{spec}}}"#);
            pintle_codec::json::decode_untyped(json.as_bytes()).unwrap().value
        };
        let now = MicroTime::parse("2026-01-01T01:00:00.000000Z").unwrap();
        let expired = |spec: &str| has_expired(&lease(spec), &now);
        assert!(!expired(r#"{"renewTime":"2026-01-01T00:00:00.000000Z","leaseDurationSeconds":3600}"#));
        assert!(expired(r#"{"renewTime":"2026-01-01T00:00:00.000000Z","leaseDurationSeconds":3599}"#));
        assert!(expired(r#"{"renewTime":"2026-01-01T00:00:00.000000Z"}"#), "it does not say for how long");
        assert!(expired(r#"{"leaseDurationSeconds":3600}"#), "nor since when");
    }
}
