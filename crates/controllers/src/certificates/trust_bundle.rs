//! The ClusterTrustBundle of the authority by which pods verify this server. Its name has a digest of the authority, so that another
//! authority is another bundle; those of earlier ones are deleted.

use std::sync::Arc;

use async_trait::async_trait;
use aws_lc_rs::digest::{SHA256, digest};
use pintle_cache::Entry;
use pintle_meta::{Reason, Status, Value};
use pintle_registry::Result;
use pintle_runtime::Clock;
use serde_json::json;

use super::GROUP;
use crate::api::ApiClient;
use crate::followed::Followed;
use crate::repairs::Repairs;
use crate::runtime::{Controller, Requeue, Source};
use crate::sync_metrics::SyncMetrics;

const SIGNER: &str = "kubernetes.io/kube-apiserver-serving";

/// Keeps the bundle.
pub struct TrustBundlePublisher {
    bundles: Followed,
    /// The place of the signer among the fields of bundles.
    signer: usize,
    api: ApiClient,
    root_ca: Arc<str>,
    repairs: Repairs,
    metrics: SyncMetrics,
}

impl TrustBundlePublisher {
    pub const NAME: &'static str = "kube-apiserver-serving-clustertrustbundle-publisher-controller";
    /// Its service account.
    pub const ACCOUNT: &'static str = "kube-apiserver-serving-clustertrustbundle-publisher";

    /// `signer` is the place of `spec.signerName` among the fields of bundles.
    pub fn new(
        bundles: Followed,
        signer: usize,
        api: ApiClient,
        root_ca: Arc<str>,
        clock: Clock,
        metrics: SyncMetrics,
    ) -> TrustBundlePublisher {
        TrustBundlePublisher { bundles, signer, api, root_ca, repairs: Repairs::new(clock), metrics }
    }

    async fn sync(&self) -> Result<Requeue> {
        let name = name(&self.root_ca);
        match self.bundles.find(&name).await? {
            None => {
                let bundle = json!({
                    "kind": "ClusterTrustBundle",
                    "apiVersion": format!("{GROUP}/v1beta1"),
                    "metadata": {"name": name},
                    "spec": {"signerName": SIGNER, "trustBundle": &*self.root_ca},
                });
                self.api.create(&self.bundles.collection(""), &bundle).await?;
            }
            Some(bundle) if bundle.text_at(&["spec", "trustBundle"]) != &*self.root_ca => {
                if let Some(delay) = self.repairs.wait(&name) {
                    return Ok(Requeue::After(delay));
                }
                let mut new = bundle.clone();
                if let Some(spec) = new.get_mut("spec").and_then(Value::as_object_mut) {
                    spec.insert("trustBundle", &*self.root_ca);
                }
                self.api.replace(&self.bundles.location(&bundle), &new).await?;
            }
            Some(_) => {}
        }
        let mut result = Ok(Requeue::Never);
        let is_own = |entry: &Entry| entry.field(self.signer) == Some(SIGNER) && entry.key() != name;
        for old in self.bundles.list("", is_own).await? {
            match self.api.delete(&self.bundles.location(&old), json!({})).await {
                Err(status) if status.reason != Reason::NotFound => {
                    tracing::error!(
                        bundle = old.name(),
                        "failed to remove a cluster trust bundle: {}",
                        status.message
                    );
                    result = Err(status);
                }
                _ => {}
            }
        }
        result
    }
}

fn name(root_ca: &str) -> String {
    let digest = digest(&SHA256, root_ca.as_bytes());
    let digest: String = digest.as_ref()[..12].iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{}:{digest}", SIGNER.replace('/', ":"))
}

#[async_trait]
impl Controller for TrustBundlePublisher {
    fn name(&self) -> &'static str {
        "ca_cert_publisher_cluster_trust_bundles"
    }

    /// Every bundle of the signer has the same key, which also comes up at the start.
    fn sources(&self) -> Vec<Source> {
        let signer = self.signer;
        let keys = move |entry: &Entry, _: bool| (entry.field(signer) == Some(SIGNER)).then(|| "".into());
        let start = |queue: crate::runtime::WorkQueue<_>| async move { queue.add("".into()) };
        vec![Source::informer(self.bundles.store().clone(), keys), Source::feeder(start)]
    }

    async fn reconcile(&self, _: &str) -> Result<Requeue> {
        self.metrics.measured(self.sync()).await
    }

    fn failed(&self, key: &str, status: &Status) {
        tracing::error!("syncing {key:?} failed: {}", status.message);
    }
}
