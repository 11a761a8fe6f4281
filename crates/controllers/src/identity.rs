//! The lease by which a server says that it is there, and the end of leases of servers that are not.

use std::time::{Duration, SystemTime};

use futures_util::future::{Either, select};
use pintle_meta::Value;
use pintle_meta::time::MicroTime;
use pintle_registry::Result;
use tokio::sync::Mutex;
use tokio::time::sleep;

use crate::objects::Objects;

const NAMESPACE: &str = "kube-system";
/// Whose lease it is.
const LABEL: &str = "apiserver.kubernetes.io/identity";
const COMPONENT: &str = "kube-apiserver";
const HOSTNAME: &str = "kubernetes.io/hostname";
const PEER_ADDRESS: &str = "kubernetes.io/peer-advertise-address";

/// How long a lease holds, and how often it is renewed.
const SECONDS: i64 = 3600;
const RENEWAL: Duration = Duration::from_secs(10);
/// How often others' leases are looked at.
const COLLECTION: Duration = Duration::from_secs(3600);
/// How long a server that ends waits for its lease to be gone.
const LEAVING: Duration = Duration::from_secs(10);

/// Who this server is.
#[derive(Clone, Debug)]
pub struct IdentityConfig {
    /// The name of the lease, the same after a restart on the same host.
    pub name: String,
    /// Different after a restart.
    pub holder: String,
    pub hostname: String,
    /// Where other servers reach this one, if they are to.
    pub peer_address: Option<String>,
}

/// Keeps the lease of this server, and removes those of servers that are gone.
pub struct Identity {
    leases: Objects,
    config: IdentityConfig,
    /// Held while the lease is written. Once set, it is not written any more.
    ended: Mutex<bool>,
}

impl Identity {
    /// The names of the hooks that start and stop it.
    pub const HOOK: &'static str = "start-kube-apiserver-identity-lease-controller";
    pub const COLLECTION_HOOK: &'static str = "start-kube-apiserver-identity-lease-garbage-collector";
    pub const STOP_HOOK: &'static str = "stop-kube-apiserver-identity-lease-controller";

    pub fn new(leases: Objects, config: IdentityConfig) -> Identity {
        Identity { leases, config, ended: Mutex::new(false) }
    }

    /// Renews the lease until `shutdown`.
    pub async fn keep(&self, shutdown: impl Future<Output = ()>) {
        let rounds = async {
            // Of an earlier life: whoever held it is gone.
            if let Err(status) = self.remove().await {
                tracing::error!("error deleting old lease {}: {}", self.config.name, status.message);
            }
            loop {
                if let Err(status) = self.renew().await {
                    tracing::error!("Failed to update lease {}: {}", self.config.name, status.message);
                }
                sleep(RENEWAL).await;
            }
        };
        until(shutdown, rounds).await;
    }

    /// Removes leases that have run out until `shutdown`.
    pub async fn collect(&self, shutdown: impl Future<Output = ()>) {
        let rounds = async {
            loop {
                sleep(COLLECTION).await;
                if let Err(status) = self.collect_once().await {
                    tracing::error!("Error while listing apiserver leases: {}", status.message);
                }
            }
        };
        until(shutdown, rounds).await;
    }

    /// The server ends, and so does its lease.
    pub async fn stop(&self) {
        let mut ended = self.ended.lock().await;
        *ended = true;
        match tokio::time::timeout(LEAVING, self.remove()).await {
            Ok(Ok(())) => {}
            Ok(Err(status)) => {
                tracing::error!("Unable to delete lease {}: {}", self.config.name, status.message);
            }
            Err(_) => {
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
            pairs.iter().for_each(|(key, value)| drop(map.insert(*key, *value)));
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
            spec.insert("renewTime", MicroTime::from(SystemTime::now()).to_string());
        }
        lease
    }

    async fn remove(&self) -> Result<()> {
        match self.leases.find(NAMESPACE, &self.config.name).await? {
            Some(lease) => self.leases.delete(NAMESPACE, &lease).await,
            None => Ok(()),
        }
    }

    /// Removes what has run out.
    pub async fn collect_once(&self) -> Result<()> {
        for lease in self.leases.stored(NAMESPACE).await? {
            if lease.label(LABEL) != Some(COMPONENT) || !has_expired(&lease, &SystemTime::now().into()) {
                continue;
            }
            // Another server may have been faster, and its holder may have come back.
            let removed = match self.leases.find(NAMESPACE, lease.name()).await {
                Ok(Some(lease)) if has_expired(&lease, &SystemTime::now().into()) => {
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

async fn until(shutdown: impl Future<Output = ()>, rounds: impl Future<Output = ()>) {
    match select(std::pin::pin!(shutdown), std::pin::pin!(rounds)).await {
        Either::Left(_) | Either::Right(_) => {}
    }
}

/// One that does not say how long it holds does not.
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
