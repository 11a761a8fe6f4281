//! Events of controllers: what happened to an object, for users.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use pintle_meta::Value;
use pintle_meta::gvk::GroupVersionResource;
use pintle_meta::time::Time;
use pintle_runtime::{Clock, Random};
use serde_json::json;

use crate::api::{ApiClient, Location, PatchKind};

/// Most events that are counted on when they happen again; then all are forgotten, and the next ones are new.
const MOST: usize = 256;

/// Writes the events of a component. An event that is written again is counted.
#[derive(Clone)]
pub(crate) struct Recorder {
    api: ApiClient,
    component: &'static str,
    clock: Clock,
    random: Random,
    known: Arc<Mutex<HashMap<String, Known>>>,
}

/// An event that was written.
struct Known {
    location: Location,
    count: u64,
}

impl Recorder {
    pub(crate) fn new(api: ApiClient, component: &'static str, clock: Clock, random: Random) -> Recorder {
        Recorder { api, component, clock, random, known: Arc::default() }
    }

    /// Writes a warning about an object of a kind. Failures are logged: nothing depends on events.
    pub(crate) async fn warn(
        &self,
        (api_version, of): (&str, &str),
        object: &Value,
        reason: &str,
        message: &str,
    ) {
        let (name, uid) = (object.name(), object.uid());
        let namespace = if object.namespace().is_empty() { "default" } else { object.namespace() };
        let same = format!("{uid}/{reason}/{message}");
        let now = Time::from(self.clock.now()).to_string();
        if let Some((location, count)) = self.again(&same) {
            let patch = json!({"count": count, "lastTimestamp": now});
            if self.api.patch(&location, PatchKind::Strategic, &patch).await.is_ok() {
                return;
            }
            // It has expired.
        }
        let resource = GroupVersionResource::new("", "v1", "events");
        let own = format!("{name}.{:016x}", self.random.number());
        let event = json!({
            "kind": "Event", "apiVersion": "v1",
            "metadata": {"name": own, "namespace": namespace},
            "involvedObject": {
                "kind": of, "apiVersion": api_version, "namespace": object.namespace(), "name": name, "uid": uid,
                "resourceVersion": object.resource_version(),
            },
            "reason": reason, "message": message, "type": "Warning", "count": 1,
            "firstTimestamp": now, "lastTimestamp": now,
            "source": {"component": self.component}, "reportingComponent": self.component,
        });
        let collection = Location::collection(resource.clone(), namespace);
        match self.api.create(&collection, &event).await {
            Ok(_) => self.wrote(same, Location::object(resource, namespace, &own)),
            Err(status) => {
                tracing::error!("Server rejected event (will not retry!): {}", status.message);
            }
        }
    }

    fn again(&self, same: &str) -> Option<(Location, u64)> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let found = known.get_mut(same)?;
        found.count += 1;
        Some((found.location.clone(), found.count))
    }

    fn wrote(&self, same: String, location: Location) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST {
            known.clear();
        }
        known.insert(same, Known { location, count: 1 });
    }
}
