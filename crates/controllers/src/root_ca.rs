//! The ConfigMap `kube-root-ca.crt` of every namespace: the certificate authority by which pods verify this server.

use std::sync::Arc;

use async_trait::async_trait;
use pintle_cache::Entry;
use pintle_meta::{CauseType, Object, Reason, Status, Value};
use pintle_registry::{Result, Store};
use pintle_runtime::Clock;
use serde_json::json;

use crate::api::ApiClient;
use crate::followed::Followed;
use crate::repairs::Repairs;
use crate::runtime::{Controller, Key, Requeue, Source};
use crate::sync_metrics::SyncMetrics;

const NAME: &str = "kube-root-ca.crt";
const FILE: &str = "ca.crt";
const DESCRIPTION: &str = "kubernetes.io/description";
const DESCRIPTION_TEXT: &str = "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as \
    the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters.";

/// Creates the ConfigMap in active namespaces, and mends it.
pub struct RootCaPublisher {
    namespaces: Arc<Store>,
    /// The place of the phase among the fields of namespaces.
    phase: usize,
    maps: Followed,
    api: ApiClient,
    root_ca: Arc<str>,
    repairs: Repairs,
    metrics: SyncMetrics,
}

impl RootCaPublisher {
    pub const NAME: &'static str = "root-ca-certificate-publisher-controller";
    /// Its service account.
    pub const ACCOUNT: &'static str = "root-ca-cert-publisher";

    /// `phase` is the place of `status.phase` among the fields of namespaces.
    pub fn new(
        namespaces: Arc<Store>,
        phase: usize,
        maps: Followed,
        api: ApiClient,
        root_ca: Arc<str>,
        clock: Clock,
        metrics: SyncMetrics,
    ) -> RootCaPublisher {
        RootCaPublisher { namespaces, phase, maps, api, root_ca, repairs: Repairs::new(clock), metrics }
    }

    async fn sync(&self, namespace: &str) -> Result<Requeue> {
        let entry = self.namespaces.cache().get(namespace);
        if entry.is_none_or(|entry| entry.field(self.phase) != Some("Active")) {
            return Ok(Requeue::Never);
        }
        let Some(map) = self.maps.find(&format!("{namespace}/{NAME}")).await? else {
            return self.create(namespace).await.map(|()| Requeue::Never);
        };
        if is_right(&map, &self.root_ca) {
            return Ok(Requeue::Never);
        }
        if let Some(delay) = self.repairs.wait(namespace) {
            return Ok(Requeue::After(delay));
        }
        self.api.replace(&self.maps.location(&map), &mended(map, &self.root_ca)).await.map(|_| Requeue::Never)
    }

    async fn create(&self, namespace: &str) -> Result<()> {
        let map = json!({
            "kind": "ConfigMap",
            "apiVersion": "v1",
            "metadata": {"name": NAME, "annotations": {DESCRIPTION: DESCRIPTION_TEXT}},
            "data": {FILE: &*self.root_ca},
        });
        match self.api.create(&self.maps.collection(namespace), &map).await {
            // The namespace is gone, or about to go.
            Err(status)
                if status.reason == Reason::NotFound
                    || status.cause(CauseType::NamespaceTerminating).is_some() =>
            {
                Ok(())
            }
            created => created.map(drop),
        }
    }
}

/// Returns whether a ConfigMap has the authority, nothing else, and a description.
fn is_right(map: &Value, root_ca: &str) -> bool {
    let data = map.get("data").and_then(Value::as_object);
    let is_same = |data: &Object| data.len() == 1 && data.get(FILE).and_then(Value::as_str) == Some(root_ca);
    data.is_some_and(is_same) && map.annotation(DESCRIPTION).is_some_and(|text| !text.is_empty())
}

fn mended(mut map: Value, root_ca: &str) -> Value {
    if let Some(fields) = map.as_object_mut() {
        fields.insert("data", Value::object(Object::from_iter([(FILE, root_ca)])));
    }
    let annotations = map
        .metadata_mut()
        .map(|metadata| metadata.get_or_insert_with("annotations", || Value::object(Default::default())));
    if let Some(annotations) = annotations.and_then(Value::as_object_mut) {
        annotations.insert(DESCRIPTION, DESCRIPTION_TEXT);
    }
    map
}

#[async_trait]
impl Controller for RootCaPublisher {
    fn name(&self) -> &'static str {
        "root_ca_cert_publisher"
    }

    /// Active namespaces, and those whose ConfigMap was changed or deleted. Keys are names of namespaces.
    fn sources(&self) -> Vec<Source> {
        let phase = self.phase;
        let of_namespace = move |entry: &Entry, deleted: bool| {
            (!deleted && entry.field(phase) == Some("Active")).then(|| Key::from(entry.key()))
        };
        let of_map = |entry: &Entry, _: bool| match entry.key().split_once('/') {
            Some((namespace, NAME)) => Some(Key::from(namespace)),
            _ => None,
        };
        vec![
            Source::informer(self.maps.store().clone(), of_map),
            Source::informer(self.namespaces.clone(), of_namespace),
        ]
    }

    async fn reconcile(&self, namespace: &str) -> Result<Requeue> {
        self.metrics.measured(self.sync(namespace)).await
    }

    fn failed(&self, namespace: &str, status: &Status) {
        tracing::error!("syncing {namespace:?} failed: {}", status.message);
    }
}
