//! The collector on a store in memory, with an API that knows deletion, finalizers and patches of metadata.

use std::collections::{BTreeMap, BTreeSet};

use pintle_meta::Value;
use pintle_meta::gvk::{GroupVersionKind, GroupVersionResource};
use pintle_runtime::Tasks;
use pintle_storage::{RangeRequest, Txn};
use serde_json::{Value as Json, json};

use super::flaky_store::{FlakyStore, Flow};
use super::*;
use crate::api::{Api, ApiRequest, Operation, PatchKind};
use crate::catalog::{CatalogResource, CatalogSnapshot, CatalogVerbs, ObjectKeys};
use crate::runtime::{Metrics, Runtime, start};

const HOLD: &str = "example.com/hold";

struct Cluster {
    backend: Arc<dyn Backend>,
    flow: watch::Sender<Flow>,
    resources: Mutex<Vec<(&'static str, &'static str, bool)>>,
    events: Mutex<Vec<String>>,
    /// Requests of the collector.
    requests: Mutex<Vec<String>>,
    next_uid: Mutex<u64>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap()
}

fn prefix(resource: &str) -> String {
    format!("/r/example.com/{resource}/")
}

#[async_trait]
impl Catalog for Cluster {
    async fn snapshot(&self) -> CatalogSnapshot {
        let resources = lock(&self.resources).clone();
        let resource = |(name, kind, is_namespaced): (&str, &str, bool)| CatalogResource {
            resource: GroupVersionResource::new(
                if name == "namespaces" { "" } else { "example.com" },
                "v1",
                name,
            ),
            kind: kind.into(),
            is_namespaced,
            verbs: CatalogVerbs { list: true, delete: true, delete_collection: true },
            stored: Some(ObjectKeys { backend: self.backend.clone(), prefix: prefix(name).into() }),
        };
        CatalogSnapshot { resources: resources.into_iter().map(resource).collect(), failures: Vec::new() }
    }

    async fn resource_of(&self, kind: &GroupVersionKind) -> Option<(GroupVersionResource, bool)> {
        let resources = lock(&self.resources);
        let (name, _, is_namespaced) = resources.iter().find(|(_, known, _)| *known == kind.kind)?;
        Some((GroupVersionResource::new("example.com", "v1", *name), *is_namespaced))
    }
}

impl Cluster {
    fn new() -> Arc<Cluster> {
        let backend = FlakyStore::new();
        Arc::new(Cluster {
            flow: backend.flow.clone(),
            backend: Arc::new(backend),
            resources: Mutex::new(vec![
                ("namespaces", "Namespace", false),
                ("widgets", "Widget", true),
                ("racks", "Rack", false),
            ]),
            events: Mutex::default(),
            requests: Mutex::default(),
            next_uid: Mutex::new(1),
        })
    }

    async fn start(self: &Arc<Cluster>) -> (Tasks, Arc<GarbageCollector>) {
        let registry = Registry::default();
        let tasks = Tasks::new();
        let (clock, random) = (Clock::system(), Random::seeded(1));
        let metrics = Metrics::new(&registry).unwrap();
        let collector = GarbageCollector::new(GarbageCollectorConfig {
            stores: vec![FollowedStore { backend: self.backend.clone(), root: "/r/".into() }],
            api: ApiClient::new(self.clone(), GarbageCollector::ACCOUNT),
            catalog: self.clone(),
            clock: clock.clone(),
            random: random.clone(),
            metrics: GarbageCollectorMetrics::new(&registry).unwrap(),
        });
        let runtime = Runtime { spawner: tasks.spawner(), clock, random, metrics };
        for controller in collector.controllers() {
            start(controller, &runtime).await;
        }
        (tasks, collector)
    }

    async fn read(&self, path: &str) -> Option<(Json, pintle_storage::Revision)> {
        let (found, _) = self.backend.get(path.as_bytes(), None).await.unwrap();
        found.map(|kv| (serde_json::from_slice(&kv.value).unwrap(), kv.mod_revision))
    }

    async fn get(&self, path: &str) -> Option<Json> {
        self.read(&format!("/r/example.com/{path}")).await.map(|(object, _)| object)
    }

    /// Creates `widgets/a/x` or `racks/x`, and returns its reference.
    async fn create(&self, path: &str, finalizers: &[&str], owners: &[Json]) -> Json {
        let number = {
            let mut next = lock(&self.next_uid);
            *next += 1;
            *next
        };
        let uid = format!("00000000-0000-4000-8000-{number:012x}");
        let name = path.rsplit('/').next().unwrap();
        let kind = if path.starts_with("widgets/") { "Widget" } else { "Rack" };
        let object = json!({
            "kind": kind, "apiVersion": "example.com/v1",
            "metadata": {"name": name, "uid": uid, "finalizers": finalizers, "ownerReferences": owners},
        });
        let key = format!("/r/example.com/{path}");
        let txn = Txn::create(key.into(), object.to_string().into(), None);
        assert!(self.backend.txn(txn).await.unwrap().succeeded, "{path} exists");
        json!({"apiVersion": "example.com/v1", "kind": kind, "name": name, "uid": uid, "blockOwnerDeletion": true})
    }

    /// Changes an object, or deletes it where the change leaves nothing that holds it.
    async fn change(&self, path: &str, change: impl Fn(&mut Json, &str) -> Result<()>) -> Result<()> {
        loop {
            let Some((mut object, revision)) = self.read(path).await else {
                return Err(Box::new(Status::not_found("", "objects", path)));
            };
            change(&mut object, &revision.to_string())?;
            let metadata = &object["metadata"];
            let is_held = metadata["finalizers"].as_array().is_some_and(|held| !held.is_empty());
            let txn = match metadata["deletionTimestamp"].is_string() && !is_held {
                true => Txn::delete(path.to_owned().into(), revision),
                false => Txn::update(path.to_owned().into(), object.to_string().into(), revision, None),
            };
            if self.backend.txn(txn).await.unwrap().succeeded {
                return Ok(());
            }
        }
    }

    async fn delete(&self, path: &str, policy: &str) -> Result<()> {
        self.delete_if(&format!("/r/example.com/{path}"), &json!({"propagationPolicy": policy})).await
    }

    async fn delete_if(&self, path: &str, options: &Json) -> Result<()> {
        self.change(path, |object, revision| {
            let metadata = &mut object["metadata"];
            let wanted = &options["preconditions"];
            let is_other = |wanted: &Json, found: &Json| !wanted.is_null() && wanted != found;
            if is_other(&wanted["uid"], &metadata["uid"])
                || is_other(&wanted["resourceVersion"], &json!(revision))
            {
                return Err(conflict());
            }
            let mut finalizers: Vec<Json> = metadata["finalizers"].as_array().cloned().unwrap_or_default();
            finalizers.retain(|known| known != "orphan" && known != "foregroundDeletion");
            match options["propagationPolicy"].as_str() {
                Some("Orphan") => finalizers.push(json!("orphan")),
                Some("Foreground") => finalizers.push(json!("foregroundDeletion")),
                _ => {}
            }
            metadata["finalizers"] = json!(finalizers);
            metadata["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
            Ok(())
        })
        .await
    }

    async fn release(&self, path: &str) {
        let key = format!("/r/example.com/{path}");
        let released = self.change(&key, |object, _| {
            if let Some(finalizers) = object["metadata"]["finalizers"].as_array_mut() {
                finalizers.retain(|known| known != HOLD);
            }
            Ok(())
        });
        let _ = released.await;
    }

    async fn paths(&self) -> BTreeSet<String> {
        let request = RangeRequest { prefix: "/r/example.com/".into(), ..RangeRequest::default() };
        let range = self.backend.range(request).await.unwrap();
        let path = |key: &Bytes| String::from_utf8_lossy(&key["/r/example.com/".len()..]).into_owned();
        range.kvs.iter().map(|kv| path(&kv.key)).filter(|path| !path.starts_with("namespaces/")).collect()
    }

    async fn becomes(&self, what: &str, wanted: &[&str]) {
        let wanted: BTreeSet<String> = wanted.iter().map(|path| (*path).to_owned()).collect();
        let mut found = BTreeSet::new();
        for _ in 0..1000 {
            found = self.paths().await;
            if found == wanted {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("{what}: {found:?} instead of {wanted:?}");
    }
}

fn conflict() -> Box<Status> {
    let mut status = Status::plain("the object has been modified".to_owned());
    (status.code, status.reason) = (409, pintle_meta::Reason::Conflict);
    Box::new(status)
}

fn merge(object: &mut Json, patch: &Json) {
    for (field, value) in patch.as_object().unwrap() {
        match value {
            Json::Object(_) => merge(&mut object[field], value),
            Json::Null => drop(object.as_object_mut().unwrap().remove(field)),
            _ => object[field] = value.clone(),
        }
    }
}

/// Merges owner references by their uid.
fn merge_owners(object: &mut Json, patch: &Json) {
    let mut owners = object["metadata"]["ownerReferences"].as_array().cloned().unwrap_or_default();
    for change in patch["metadata"]["ownerReferences"].as_array().unwrap() {
        match owners.iter().position(|owner| owner["uid"] == change["uid"]) {
            Some(place) if change["$patch"] == "delete" => drop(owners.remove(place)),
            Some(place) => merge(&mut owners[place], change),
            None => {}
        }
    }
    object["metadata"]["ownerReferences"] = json!(owners);
}

#[async_trait]
impl Api for Cluster {
    async fn send(&self, request: ApiRequest) -> Result<Value> {
        let location = request.location;
        let parts = [location.resource.resource.as_str(), &location.namespace, &location.name];
        let path = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/");
        let key = format!("/r/example.com/{path}");
        let parse = |body: &Bytes| -> Json { serde_json::from_slice(body).unwrap() };
        let done = match request.operation {
            Operation::Create(body) => {
                let event = parse(&body);
                let text = |field: &str| event[field].as_str().unwrap().to_owned();
                lock(&self.events).push(format!("{} {}", text("reason"), text("message")));
                Ok(())
            }
            Operation::Delete(body) => {
                let options = parse(&body);
                lock(&self.requests).push(format!("delete {path} {}", options["propagationPolicy"]));
                assert!(options["preconditions"]["uid"].is_string());
                self.delete_if(&key, &options).await
            }
            // Custom resources take no strategic merge patches; racks are no custom resources.
            Operation::Patch(PatchKind::Strategic, _) if path.starts_with("widgets/") => {
                Err(Box::new(Status::unsupported_media_type(&["application/merge-patch+json"])))
            }
            Operation::Patch(kind, body) => {
                let patch = parse(&body);
                lock(&self.requests).push(format!("patch {path}"));
                self.change(&key, |object, revision| {
                    let (uid, version) = (&patch["metadata"]["uid"], &patch["metadata"]["resourceVersion"]);
                    let is_old = !version.is_null() && version != revision;
                    if is_old || (!uid.is_null() && *uid != object["metadata"]["uid"]) {
                        return Err(conflict());
                    }
                    match kind {
                        PatchKind::Strategic => merge_owners(object, &patch),
                        _ => {
                            merge(object, &patch);
                            object["metadata"].as_object_mut().unwrap().remove("resourceVersion");
                        }
                    }
                    Ok(())
                })
                .await
            }
            other => panic!("{other:?}"),
        };
        done.map(|()| Value::NULL)
    }
}

async fn eventually(what: &str, mut is: impl AsyncFnMut() -> bool) {
    for _ in 0..1000 {
        if is().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{what}");
}

#[tokio::test]
async fn dependents_go_with_their_last_owner() {
    let cluster = Cluster::new();
    // Before the collector starts, and after.
    let x = cluster.create("widgets/a/x", &[], &[]).await;
    cluster.create("widgets/a/early", &[], std::slice::from_ref(&x)).await;
    let (_tasks, _) = cluster.start().await;
    let y = cluster.create("racks/y", &[], &[]).await;
    cluster.create("widgets/a/late", &[], std::slice::from_ref(&x)).await;
    cluster.create("widgets/a/both", &[], &[x, y]).await;
    cluster.delete("widgets/a/x", "Background").await.unwrap();
    cluster.becomes("x is gone", &["racks/y", "widgets/a/both"]).await;
    eventually("one reference is left", async || {
        let both = cluster.get("widgets/a/both").await.unwrap();
        both["metadata"]["ownerReferences"].as_array().unwrap().len() == 1
    })
    .await;
    cluster.delete("racks/y", "Background").await.unwrap();
    cluster.becomes("y is gone", &[]).await;
}

#[tokio::test]
async fn an_absent_owner_and_one_that_came_again_are_no_owners() {
    let cluster = Cluster::new();
    let (_tasks, collector) = cluster.start().await;
    let x = cluster.create("widgets/a/x", &[], &[]).await;
    cluster.delete("widgets/a/x", "Background").await.unwrap();
    cluster.create("widgets/a/x", &[], &[]).await;
    cluster.create("widgets/a/y", &[], std::slice::from_ref(&x)).await;
    let mut never = x;
    (never["name"], never["uid"]) = (json!("never"), json!("no-uuid"));
    cluster.create("widgets/a/z", &[], &[never]).await;
    cluster.becomes("both dependents are gone", &["widgets/a/x"]).await;
    eventually("the graph is empty", async || collector.graph().len() == 0).await;
}

#[tokio::test]
async fn references_to_other_namespaces_are_reported() {
    let cluster = Cluster::new();
    for namespace in ["a", "b"] {
        let key = format!("{}{namespace}", prefix("namespaces"));
        cluster.backend.txn(Txn::put(key.into(), "{}".into())).await.unwrap();
    }
    let (_tasks, _) = cluster.start().await;
    let x = cluster.create("widgets/a/x", &[], &[]).await;
    let uid = x["uid"].as_str().unwrap().to_owned();
    cluster.create("widgets/b/y", &[], std::slice::from_ref(&x)).await;
    cluster.becomes("y is gone", &["widgets/a/x"]).await;
    let event = |namespace: &str| {
        format!(
            "OwnerRefInvalidNamespace ownerRef [example.com/v1/Widget, namespace: {namespace}, name: x, uid: {uid}] does not \
             exist in namespace \"{namespace}\""
        )
    };
    assert_eq!(*lock(&cluster.events), [event("b")]);

    // Of a cluster-scoped object it is reported, and the object stays.
    cluster.create("racks/r", &[], &[x]).await;
    eventually("the event", async || lock(&cluster.events).contains(&event(""))).await;
    cluster.delete("widgets/a/x", "Background").await.unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    cluster.becomes("r stays", &["racks/r"]).await;
}

#[tokio::test]
async fn a_circle_does_not_wait_for_itself() {
    let cluster = Cluster::new();
    let (_tasks, _) = cluster.start().await;
    let a = cluster.create("widgets/a/a", &[], &[]).await;
    let b = cluster.create("widgets/a/b", &[], &[a]).await;
    let c = cluster.create("widgets/a/c", &[], &[b]).await;
    let closed = cluster.change("/r/example.com/widgets/a/a", |object, _| {
        object["metadata"]["ownerReferences"] = json!([c]);
        Ok(())
    });
    closed.await.unwrap();
    cluster.delete("widgets/a/b", "Foreground").await.unwrap();
    cluster.becomes("all are gone", &[]).await;
}

#[tokio::test]
async fn custom_kinds_come_and_go() {
    let cluster = Cluster::new();
    let definitions = "/r/apiextensions.k8s.io/customresourcedefinitions/gadgets";
    let (_tasks, _) = cluster.start().await;
    let gadget = json!({"apiVersion": "example.com/v1", "kind": "Gadget", "name": "g", "uid": "g-1"});
    let reference = std::slice::from_ref(&gadget);
    cluster.create("widgets/a/y", &[], reference).await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    cluster.becomes("nothing is known of the owner", &["widgets/a/y"]).await;
    // The owner is there already when its kind comes.
    let object = json!({"metadata": {"name": "g", "uid": "g-1"}}).to_string();
    cluster.backend.txn(Txn::put("/r/example.com/gadgets/a/g".into(), object.into())).await.unwrap();
    lock(&cluster.resources).push(("gadgets", "Gadget", true));
    cluster.backend.txn(Txn::put(definitions.into(), "{}".into())).await.unwrap();
    cluster.create("widgets/a/z", &[], reference).await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    cluster.becomes("the owner exists", &["gadgets/a/g", "widgets/a/y", "widgets/a/z"]).await;
    cluster.delete("gadgets/a/g", "Background").await.unwrap();
    lock(&cluster.resources).pop();
    cluster.backend.txn(Txn::put(definitions.into(), "{}".into())).await.unwrap();
    cluster.becomes("all are gone", &[]).await;
}

#[tokio::test]
async fn changes_that_a_watch_lost_are_found() {
    let cluster = Cluster::new();
    let (_tasks, _) = cluster.start().await;
    let (x, y) = (cluster.create("racks/x", &[], &[]).await, cluster.create("racks/y", &[], &[]).await);
    let kept = cluster.create("racks/kept", &[], &[]).await;
    for number in 0..20 {
        let owners = [x.clone(), y.clone()];
        cluster.create(&format!("widgets/a/d{number}"), &[], &owners[number % 2..=number % 2]).await;
    }
    cluster.create("widgets/a/other", &[], &[kept]).await;
    tokio::time::sleep(Duration::from_millis(20)).await;
    cluster.flow.send_replace(Flow::Silent);
    cluster.delete("racks/x", "Background").await.unwrap();
    // Dependents that the graph does not know are orphaned, too.
    for number in 0..20 {
        cluster.create(&format!("widgets/a/late{number}"), &[], std::slice::from_ref(&y)).await;
    }
    cluster.delete("racks/y", "Orphan").await.unwrap();
    cluster.delete("widgets/a/other", "Background").await.unwrap();
    cluster.flow.send_replace(Flow::Lost);
    let orphans = (0..20).filter(|number| number % 2 == 1).map(|number| format!("widgets/a/d{number}"));
    let late = (0..20).map(|number| format!("widgets/a/late{number}"));
    let left: Vec<String> = orphans.chain(late).chain(["racks/kept".into()]).collect();
    let left: Vec<&str> = left.iter().map(String::as_str).collect();
    cluster.becomes("what was lost is found", &left).await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    cluster.becomes("nothing else goes", &left).await;
}

/// Objects of a random tree are deleted one after the other, with random policies; some are held for a while. Watches lose changes.
async fn random_deletions(seed: u64) {
    let random = Random::seeded(seed);
    let pick = |most: usize| usize::try_from(random.number() >> 1).unwrap() % most;
    let cluster = Cluster::new();
    let started = match pick(2) {
        0 => Some(cluster.start().await),
        _ => None,
    };
    // Paths, and the paths of their owners.
    let mut model: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut references: Vec<(String, Json)> = Vec::new();
    let mut held = Vec::new();
    for number in 0..16 {
        let path = match pick(5) {
            0 => format!("racks/o{number}"),
            1 => format!("widgets/b/o{number}"),
            _ => format!("widgets/a/o{number}"),
        };
        let may_own = |owner: &str| {
            owner.starts_with("racks/")
                || owner.rsplit_once('/').map(|(to, _)| to) == path.rsplit_once('/').map(|(to, _)| to)
        };
        let mut owners = BTreeMap::new();
        for _ in 0..pick(4) {
            if let Some((owner, reference)) = references.get(pick(references.len().max(1)))
                && may_own(owner)
            {
                let mut reference = reference.clone();
                reference["blockOwnerDeletion"] = json!(pick(3) > 0);
                owners.insert(owner.clone(), reference);
            }
        }
        let finalizers = if pick(4) == 0 { &[HOLD][..] } else { &[] };
        if !finalizers.is_empty() {
            held.push(path.clone());
        }
        let list: Vec<Json> = owners.values().cloned().collect();
        let reference = cluster.create(&path, finalizers, &list).await;
        references.push((path.clone(), reference));
        model.insert(path, owners.into_keys().collect());
    }
    let _started = match started {
        Some(started) => started,
        None => cluster.start().await,
    };
    // As a kube-controller-manager beside.
    let _second = match pick(3) {
        0 => Some(cluster.start().await),
        _ => None,
    };
    for round in 0..6 {
        // It takes a second to begin anew.
        let loses = pick(20) == 0;
        if loses {
            cluster.flow.send_replace(Flow::Silent);
        }
        let Some(path) = model.keys().nth(pick(model.len().max(1))).cloned() else { break };
        let policy = ["Background", "Foreground", "Orphan"][pick(3)];
        cluster.delete(&path, policy).await.unwrap();
        let mut dead = BTreeSet::from([path.clone()]);
        if policy == "Orphan" {
            for owners in model.values_mut() {
                owners.remove(&path);
            }
        }
        while let Some(next) = model
            .iter()
            .find(|(known, owners)| !dead.contains(*known) && !owners.is_empty() && owners.is_subset(&dead))
        {
            let next = next.0.clone();
            dead.insert(next);
        }
        model.retain(|known, _| !dead.contains(known));
        model.values_mut().for_each(|owners| owners.retain(|owner| !dead.contains(owner)));
        tokio::time::sleep(Duration::from_millis([0, 0, 2, 10][pick(4)])).await;
        for path in held.drain(..) {
            cluster.release(&path).await;
        }
        if loses {
            cluster.flow.send_replace(Flow::Lost);
        }
        let wanted: Vec<&str> = model.keys().map(String::as_str).collect();
        let what = format!("seed {seed}, round {round}, {policy} of {path}");
        cluster.becomes(&what, &wanted).await;
        eventually(&what, async || {
            for (path, owners) in &model {
                let object = cluster.get(path).await.unwrap();
                let left = object["metadata"]["ownerReferences"].as_array().map_or(0, Vec::len);
                if left != owners.len() {
                    return false;
                }
            }
            true
        })
        .await;
    }
    tokio::time::sleep(Duration::from_millis(5)).await;
    let wanted: Vec<&str> = model.keys().map(String::as_str).collect();
    cluster.becomes(&format!("seed {seed}: nothing else goes"), &wanted).await;
}

#[tokio::test]
async fn random_trees_lose_what_a_model_says() {
    for seed in 0..40 {
        random_deletions(seed).await;
    }
}

/// Deletes an owner of many, and returns the collector's requests.
async fn owner_of_many(policy: &str, many: usize) -> Vec<String> {
    let cluster = Cluster::new();
    let (_tasks, collector) = cluster.start().await;
    let x = cluster.create("racks/x", &[], &[]).await;
    for number in 0..many {
        cluster.create(&format!("racks/d{number}"), &[], std::slice::from_ref(&x)).await;
    }
    cluster.delete("racks/x", policy).await.unwrap();
    eventually("the objects are gone or orphaned", async || {
        collector.graph().len() == 0 && cluster.get("racks/x").await.is_none()
    })
    .await;
    let left = if policy == "Orphan" { many } else { 0 };
    assert_eq!(cluster.paths().await.len(), left);
    lock(&cluster.requests).clone()
}

#[tokio::test]
async fn each_dependent_takes_one_request() {
    const MANY: usize = 1000;
    assert_eq!(owner_of_many("Background", MANY).await.len(), MANY);
    let requests = owner_of_many("Foreground", MANY).await;
    assert_eq!(requests.len(), MANY + 1);
    assert_eq!(requests.last().unwrap(), "patch racks/x");
    let requests = owner_of_many("Orphan", MANY).await;
    assert_eq!((requests.len(), requests.last().unwrap().as_str()), (MANY + 1, "patch racks/x"));
}
