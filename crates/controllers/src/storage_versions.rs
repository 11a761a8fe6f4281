//! The `StorageVersion` objects, one per resource: the versions in which each API server encodes and decodes it, for storage version
//! migration.
//!
//! Until this server has written its entry of a resource, clients' writes of that resource must wait: they could be stored in a
//! version that no migrator knows of.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::join_all;
use pintle_meta::{Object, Reason, ServerResponse, Status, Value};
use pintle_registry::{Client, Result};
use pintle_runtime::Clock;
use tokio::sync::Notify;

use crate::runtime::{self, Controller, Requeue, Runtime, Source};

const GROUP: &str = "internal.apiserver.k8s.io";
const RESOURCE: &str = "storageversions";
const LEASES: &str = "kube-system";

/// The interval of writing all entries again, in case they were changed.
const INTERVAL: Duration = Duration::from_secs(600);
/// The interval of looking for the lease of this server.
const LEASE_INTERVAL: Duration = Duration::from_millis(100);
const RETRY: Duration = Duration::from_secs(1);
const ATTEMPTS: usize = 3;

const CONDITION: &str = "AllEncodingVersionsEqual";

/// A resource and the versions in which this server stores it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredResource {
    /// Empty for the core group.
    pub group: String,
    pub resource: String,
    /// The `apiVersion` of stored objects.
    pub encoding: String,
    pub decodable: Vec<String>,
    pub served: Vec<String>,
    /// Groups that serve the same objects as a resource of the same name.
    pub also_in: Vec<String>,
}

impl StoredResource {
    /// Returns the name of the StorageVersion.
    fn name(&self) -> String {
        let group = if self.group.is_empty() { "core" } else { &self.group };
        format!("{group}.{}", self.resource)
    }

    fn groups(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.group.as_str()).chain(self.also_in.iter().map(String::as_str))
    }
}

/// The resources whose storage version is not written yet.
#[derive(Default)]
pub struct Pending {
    /// Set once all were written; they never pend again.
    completed: AtomicBool,
    completion: Notify,
    /// The last error, by resource and group.
    resources: RwLock<BTreeMap<String, BTreeMap<String, Option<String>>>>,
}

impl Pending {
    fn new(resources: &[StoredResource]) -> Pending {
        let mut pending: BTreeMap<String, BTreeMap<String, Option<String>>> = BTreeMap::new();
        for resource in resources {
            let groups = resource.groups().map(|group| (group.to_owned(), None));
            pending.entry(resource.resource.clone()).or_default().extend(groups);
        }
        Pending { resources: RwLock::new(pending), ..Pending::default() }
    }

    /// Returns whether writes of a resource have to wait, and then the last error.
    pub fn of(&self, group: &str, resource: &str) -> Option<Option<String>> {
        if self.completed.load(Ordering::Acquire) {
            return None;
        }
        let resources = self.resources.read().unwrap_or_else(PoisonError::into_inner);
        resources.get(resource)?.get(group).cloned()
    }

    fn note(&self, resource: &StoredResource, outcome: &Result<()>) {
        let mut pending = self.resources.write().unwrap_or_else(PoisonError::into_inner);
        let Some(groups) = pending.get_mut(&resource.resource) else { return };
        for group in resource.groups() {
            match (outcome, groups.get_mut(group)) {
                (Ok(()), _) => {
                    groups.remove(group);
                }
                (Err(status), Some(last)) => *last = Some(status.message.clone()),
                (Err(_), None) => {}
            }
        }
    }

    fn complete(&self) {
        self.completed.store(true, Ordering::Release);
        self.completion.notify_waiters();
    }

    async fn wait(&self) {
        let completion = self.completion.notified();
        if !self.completed.load(Ordering::Acquire) {
            completion.await;
        }
    }
}

/// Clients of storage versions.
#[derive(Clone)]
pub struct StorageVersionObjects {
    pub versions: Client,
    /// Client of the status.
    pub statuses: Client,
}

/// Writes the entries of this server.
pub struct StorageVersions {
    /// `None` if the resource is not served: then no entry can be written, and all writes wait.
    objects: Option<StorageVersionObjects>,
    leases: Client,
    clock: Clock,
    /// The name of this server's lease.
    server: String,
    resources: Vec<StoredResource>,
    pending: Arc<Pending>,
}

impl StorageVersions {
    /// The post-start hook.
    pub const HOOK: &'static str = "built-in-resources-storage-version-updater";

    pub fn new(
        objects: Option<StorageVersionObjects>,
        leases: Client,
        server: String,
        resources: Vec<StoredResource>,
        clock: Clock,
    ) -> StorageVersions {
        let pending = Arc::new(Pending::new(&resources));
        StorageVersions { objects, leases, clock, server, resources, pending }
    }

    pub fn pending(&self) -> Arc<Pending> {
        self.pending.clone()
    }

    /// Starts the controller, and waits until every storage version was updated once, or the control plane stops.
    pub async fn start(self, runtime: &Runtime) {
        let pending = self.pending.clone();
        runtime::start(Arc::new(self), runtime).await;
        tokio::select! {
            () = pending.wait() => {}
            () = runtime.spawner.stopping().wait() => {}
        }
    }

    async fn has_lease(&self) -> bool {
        match self.leases.find(LEASES, &self.server).await {
            Ok(lease) => lease.is_some(),
            Err(status) => {
                tracing::error!("Failed to get lease {}: {}", self.server, status.message);
                false
            }
        }
    }

    /// Writes all entries once.
    pub async fn sync(&self) {
        let updates = self.resources.iter().map(|resource| async move {
            let outcome = self.update(resource).await;
            let name = resource.name();
            match &outcome {
                Ok(()) => tracing::debug!("successfully updated storage version for {name}"),
                Err(status) => {
                    tracing::error!("failed to update storage version for {name}: {}", status.message);
                }
            }
            self.pending.note(resource, &outcome);
            outcome.is_ok()
        });
        if join_all(updates).await.into_iter().all(|updated| updated) {
            tracing::debug!("storage version updates complete");
            self.pending.complete();
        }
    }

    async fn update(&self, resource: &StoredResource) -> Result<()> {
        let mut attempt = 1;
        loop {
            let status = match self.update_once(resource).await {
                Err(status) => status,
                done => return done,
            };
            if !matches!(status.reason, Reason::AlreadyExists | Reason::Conflict) {
                if attempt == ATTEMPTS {
                    return Err(status);
                }
                attempt += 1;
            }
            self.clock.sleep(RETRY).await;
        }
    }

    async fn update_once(&self, resource: &StoredResource) -> Result<()> {
        let Some(StorageVersionObjects { versions, statuses }) = &self.objects else {
            let answer = ServerResponse {
                code: 404,
                verb: "POST",
                group: GROUP,
                resource: RESOURCE,
                ..Default::default()
            };
            return Err(Status::from(answer).into());
        };
        let name = resource.name();
        if versions.find("", &name).await?.is_none() {
            versions.create_if_missing("", &json(&name, [])).await?;
        }
        let now = statuses.store().now().truncated().to_string();
        let mut change = |old: &Value| {
            let new = reported(old, &self.server, resource, &now, |json| versions.read(json))?;
            Ok((new != *old).then_some(new))
        };
        statuses.update("", &name, &mut change).await.map(drop)
    }
}

#[async_trait]
impl Controller for StorageVersions {
    fn name(&self) -> &'static str {
        "storage_version_updater"
    }

    fn sources(&self) -> Vec<Source> {
        vec![Source::every(INTERVAL, "")]
    }

    async fn reconcile(&self, _: &str) -> Result<Requeue> {
        // Entries of servers without a lease are garbage collected.
        if !self.has_lease().await {
            return Ok(Requeue::After(LEASE_INTERVAL));
        }
        self.sync().await;
        Ok(Requeue::Never)
    }
}

/// Returns a StorageVersion with these fields in its status, as JSON.
fn json<const N: usize>(name: &str, status: [(&'static str, Value); N]) -> Vec<u8> {
    let object = Object::from_iter([
        ("apiVersion", Value::from(format!("{GROUP}/v1alpha1"))),
        ("kind", "StorageVersion".into()),
        ("metadata", Object::from_iter([("name", Value::from(name))]).into()),
        ("spec", Object::default().into()),
        ("status", Object::from_iter(status).into()),
    ]);
    let mut json = Vec::new();
    pintle_codec::json::encode(&object.into(), &mut json);
    json
}

/// Returns the version that all entries of a StorageVersion have in common, and the conditions with the one that says so.
pub(crate) fn common_version(old: &Value, entries: &[Value], now: &str) -> (Option<String>, Vec<Value>) {
    let encoding = |entry: &Value| entry.text_at(&["encodingVersion"]).to_owned();
    let first = entries.first().map(encoding);
    let common = first.filter(|first| entries.iter().all(|entry| encoding(entry) == *first));
    let (status, reason, message) = match common {
        Some(_) => ("True", "CommonEncodingVersionSet", "Common encoding version set"),
        None => ("False", "CommonEncodingVersionUnset", "Common encoding version unset"),
    };
    let mut conditions = old.items_at(&["status", "conditions"]).to_vec();
    let existing = conditions.iter_mut().find(|condition| condition.text_at(&["type"]) == CONDITION);
    // Another version that all have in common is a transition too.
    let before = old.at(&["status", "commonEncodingVersion"]).and_then(Value::as_str);
    let other = before.is_some_and(|before| common.as_deref().is_some_and(|common| common != before));
    let since = match &existing {
        Some(existing) if !other && existing.text_at(&["status"]) == status => {
            existing.get("lastTransitionTime").cloned().unwrap_or(Value::NULL)
        }
        _ => now.into(),
    };
    let condition = Object::from_iter([
        ("type", Value::from(CONDITION)),
        ("status", status.into()),
        ("observedGeneration", old.generation().into()),
        ("lastTransitionTime", since),
        ("reason", reason.into()),
        ("message", message.into()),
    ]);
    match existing {
        Some(existing) => *existing = condition.into(),
        None => conditions.push(condition.into()),
    }
    (common, conditions)
}

/// Returns the object with the entry of `server`, and the common version and condition that follow. `read` decodes objects.
fn reported(
    old: &Value,
    server: &str,
    resource: &StoredResource,
    now: &str,
    read: impl Fn(&[u8]) -> Result<Value>,
) -> Result<Value> {
    let texts = |texts: &[String]| Value::list(texts.iter().map(|text| text.as_str().into()).collect());
    let own = Object::from_iter([
        ("apiServerID", server.into()),
        ("encodingVersion", resource.encoding.as_str().into()),
        ("decodableVersions", texts(&resource.decodable)),
        ("servedVersions", texts(&resource.served)),
    ]);
    let mut entries = old.items_at(&["status", "storageVersions"]).to_vec();
    match entries.iter_mut().find(|entry| entry.text_at(&["apiServerID"]) == server) {
        Some(entry) => *entry = own.into(),
        None => entries.push(own.into()),
    }
    let (common, conditions) = common_version(old, &entries, now);
    let read = read(&json(
        old.name(),
        [
            ("storageVersions", Value::list(entries)),
            ("commonEncodingVersion", common.map_or(Value::NULL, Value::from)),
            ("conditions", Value::list(conditions)),
        ],
    ))?;
    let mut new = old.clone();
    if let (Some(object), Some(status)) = (new.as_object_mut(), read.get("status")) {
        object.insert("status", status.clone());
    }
    Ok(new)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &[u8]) -> Result<Value> {
        let of = pintle_schema::find("apiserverinternal/v1alpha1.StorageVersion").unwrap();
        Ok(pintle_codec::json::decode(of, json).unwrap().value)
    }

    fn resource(encoding: &str) -> StoredResource {
        StoredResource {
            group: "apps".into(),
            resource: "deployments".into(),
            encoding: encoding.into(),
            decodable: vec!["apps/v1".into(), "apps/v1beta1".into()],
            served: vec!["apps/v1".into()],
            also_in: Vec::new(),
        }
    }

    fn status(object: &Value) -> String {
        let mut json = Vec::new();
        pintle_codec::json::encode(object.get("status").unwrap(), &mut json);
        String::from_utf8(json).unwrap()
    }

    fn published(old: &Value, server: &str, encoding: &str, hour: u8) -> Value {
        reported(old, server, &resource(encoding), &format!("2026-01-01T{hour:02}:00:00Z"), read).unwrap()
    }

    fn entry(server: &str, encoding: &str) -> String {
        format!(
            r#"{{"apiServerID":"{server}","encodingVersion":"{encoding}","decodableVersions":["apps/v1","apps/v1beta1"],"servedVersions":["apps/v1"]}}"#
        )
    }

    fn equal(hour: u8) -> String {
        format!(
            r#"[{{"type":"AllEncodingVersionsEqual","status":"True","lastTransitionTime":"2026-01-01T{hour:02}:00:00Z","reason":"CommonEncodingVersionSet","message":"Common encoding version set"}}]"#
        )
    }

    #[test]
    fn servers_that_agree_have_a_common_version_since_the_first_said_so() {
        let empty = read(&json("apps.deployments", [])).unwrap();
        let one = published(&empty, "a", "apps/v1", 1);
        let expect = format!(
            r#"{{"storageVersions":[{}],"commonEncodingVersion":"apps/v1","conditions":{}}}"#,
            entry("a", "apps/v1"),
            equal(1)
        );
        assert_eq!(status(&one), expect);
        let two = published(&one, "b", "apps/v1", 2);
        let both = [entry("a", "apps/v1"), entry("b", "apps/v1")].join(",");
        let expect = format!(
            r#"{{"storageVersions":[{both}],"commonEncodingVersion":"apps/v1","conditions":{}}}"#,
            equal(1)
        );
        assert_eq!(status(&two), expect);
        assert!(published(&two, "a", "apps/v1", 3) == two, "nothing is new");
    }

    #[test]
    fn servers_that_differ_have_none() {
        let empty = read(&json("apps.deployments", [])).unwrap();
        let one = published(&empty, "a", "apps/v1", 1);
        let two = published(&one, "b", "apps/v1beta1", 2);
        let both = [entry("a", "apps/v1"), entry("b", "apps/v1beta1")].join(",");
        let condition = r#"{"type":"AllEncodingVersionsEqual","status":"False","lastTransitionTime":"2026-01-01T02:00:00Z","reason":"CommonEncodingVersionUnset","message":"Common encoding version unset"}"#;
        assert_eq!(status(&two), format!(r#"{{"storageVersions":[{both}],"conditions":[{condition}]}}"#));
        let again = published(&two, "a", "apps/v1beta1", 3);
        assert!(
            status(&again)
                .ends_with(&format!(r#""commonEncodingVersion":"apps/v1beta1","conditions":{}}}"#, equal(3)))
        );
    }

    #[test]
    fn another_common_version_is_a_transition() {
        let empty = read(&json("apps.deployments", [])).unwrap();
        let before = published(&empty, "a", "apps/v1beta1", 1);
        let after = published(&before, "a", "apps/v1", 2);
        assert!(status(&after).ends_with(&format!("{}}}", equal(2))), "{}", status(&after));
    }

    #[test]
    fn an_unpublished_resource_is_pending_in_all_its_groups() {
        let events = StoredResource {
            group: String::new(),
            resource: "events".into(),
            encoding: "v1".into(),
            decodable: vec!["v1".into(), "events.k8s.io/v1".into()],
            served: vec!["v1".into()],
            also_in: vec!["events.k8s.io".into()],
        };
        assert_eq!(events.name(), "core.events");
        let pending = Pending::new(&[events.clone(), resource("apps/v1")]);
        assert_eq!(pending.of("", "events"), Some(None));
        assert_eq!(pending.of("example.com", "events"), None);
        pending.note(&events, &Err(Status::service_unavailable("not now").into()));
        assert_eq!(pending.of("events.k8s.io", "events"), Some(Some("not now".into())));
        pending.note(&events, &Ok(()));
        assert_eq!((pending.of("", "events"), pending.of("events.k8s.io", "events")), (None, None));
        assert_eq!(pending.of("apps", "deployments"), Some(None));
        pending.complete();
        assert_eq!(pending.of("apps", "deployments"), None);
    }
}
