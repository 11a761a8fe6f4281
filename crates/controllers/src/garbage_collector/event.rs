//! The event of a reference to an owner in another namespace.

use std::time::UNIX_EPOCH;

use pintle_codec::ownership::Owner;
use pintle_meta::gvk::GroupVersionResource;
use pintle_meta::time::Time;
use serde_json::json;

use super::GarbageCollector;
use super::resources::{Resource, split};
use crate::api::Location;

const REASON: &str = "OwnerRefInvalidNamespace";
const COMPONENT: &str = "garbage-collector-controller";

impl GarbageCollector {
    /// Records that an object refers to an owner that is in another namespace.
    pub(super) async fn report_elsewhere(
        &self,
        resource: &Resource,
        key: &str,
        uid: &str,
        owner: &Owner<'_>,
    ) {
        let (namespace, name) = split(key);
        let Owner { api_version, kind, name: owner_name, uid: owner_uid, .. } = owner;
        let message = format!(
            "ownerRef [{api_version}/{kind}, namespace: {namespace}, name: {owner_name}, uid: {owner_uid}] does not exist in \
             namespace {namespace:?}"
        );
        let now = self.config.clock.now();
        let nanos = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let time = Time::from(now).to_string();
        let place = if namespace.is_empty() { "default" } else { namespace };
        let mut involved =
            json!({"kind": resource.kind, "apiVersion": resource.api_version(), "name": name, "uid": uid});
        if !namespace.is_empty() {
            involved["namespace"] = json!(namespace);
        }
        let event = json!({
            "kind": "Event", "apiVersion": "v1",
            "metadata": {"name": format!("{name}.{nanos:x}"), "namespace": place},
            "involvedObject": involved,
            "type": "Warning", "reason": REASON, "message": message,
            "source": {"component": COMPONENT}, "reportingComponent": COMPONENT,
            "firstTimestamp": time, "lastTimestamp": time, "count": 1,
        });
        let events = Location::collection(GroupVersionResource::new("", "v1", "events"), place);
        if let Err(status) = self.config.api.create(&events, &event).await {
            tracing::error!("Server rejected event: {}", status.message);
        }
    }
}
