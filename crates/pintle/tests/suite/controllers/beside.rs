//! In-process controllers beside others that do the same work: a stand-in for kube-controller-manager's namespace controller and
//! garbage collector, which delete and report what those would.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use http::Method;
use serde_json::{Value, json};

use super::{config_map, delete, is_gone, make_namespace, merge, post, with_controllers};
use crate::support::shared::ready;
use crate::support::{Client, Server, eventually};

const NAMESPACES: usize = 8;
const OWNED: usize = 10;

/// The conditions of a namespace whose content is gone: type, reason and message.
const GOOD: [(&str, &str, &str); 5] = [
    ("NamespaceDeletionDiscoveryFailure", "ResourcesDiscovered", "All resources successfully discovered"),
    (
        "NamespaceDeletionGroupVersionParsingFailure",
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
    ),
    (
        "NamespaceDeletionContentFailure",
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
    ("NamespaceContentRemaining", "ContentRemoved", "All content successfully removed"),
    ("NamespaceFinalizersRemaining", "ContentHasNoFinalizers", "All content-preserving finalizers finished"),
];

/// Returns whether a namespace has these conditions.
fn is_good(namespace: &Value) -> bool {
    let conditions = namespace["status"]["conditions"].as_array().map_or(&[][..], Vec::as_slice);
    let has = |(kind, reason, message): &(&str, &str, &str)| {
        conditions.iter().any(|found| {
            found["type"] == *kind
                && found["status"] == "False"
                && found["reason"] == *reason
                && found["message"] == *message
        })
    };
    GOOD.iter().all(has)
}

/// A controller manager of another process.
struct StandIn {
    client: Client,
    writes: Arc<AtomicUsize>,
}

impl StandIn {
    async fn write(&self, method: Method, path: &str, body: &Value) -> u16 {
        self.writes.fetch_add(1, Ordering::Relaxed);
        let json = [("content-type", "application/json")];
        self.client.request(method, path, &json, body.to_string()).await.code
    }

    async fn items(&self, path: &str) -> Vec<Value> {
        let list = self.client.get(path).await.json();
        list["items"].as_array().cloned().unwrap_or_default()
    }

    /// Empties and finalizes every namespace that is being deleted, and reports its conditions if they are others.
    async fn delete_namespaces(&self) {
        for namespace in self.items("/api/v1/namespaces").await {
            let name = namespace["metadata"]["name"].as_str().unwrap_or_default().to_owned();
            if namespace["metadata"]["deletionTimestamp"].is_null() {
                continue;
            }
            let maps = format!("/api/v1/namespaces/{name}/configmaps");
            if !self.items(&maps).await.is_empty() {
                self.write(Method::DELETE, &maps, &json!({"propagationPolicy": "Background"})).await;
            }
            let path = format!("/api/v1/namespaces/{name}");
            let mut found = self.client.get(&path).await.json();
            if found["status"]["conditions"].is_null() {
                let time = found["metadata"]["deletionTimestamp"].clone();
                let condition = |(kind, reason, message): (&str, &str, &str)| {
                    json!({
                        "type": kind, "status": "False", "reason": reason, "message": message,
                        "lastTransitionTime": time,
                    })
                };
                found["status"]["conditions"] = GOOD.map(condition).to_vec().into();
                self.write(Method::PUT, &format!("{path}/status"), &found).await;
                found = self.client.get(&path).await.json();
            }
            if self.items(&maps).await.is_empty() {
                found["spec"]["finalizers"] = json!([]);
                self.write(Method::PUT, &format!("{path}/finalize"), &found).await;
            }
        }
    }

    /// Deletes every ConfigMap whose owner is gone.
    async fn collect(&self) {
        let maps = self.items("/api/v1/configmaps").await;
        let uids: HashSet<&str> = maps.iter().filter_map(|map| map["metadata"]["uid"].as_str()).collect();
        for map in &maps {
            let metadata = &map["metadata"];
            let Some(owner) = metadata["ownerReferences"][0]["uid"].as_str() else { continue };
            if uids.contains(owner) || !metadata["deletionTimestamp"].is_null() {
                continue;
            }
            let text = |field: &str| metadata[field].as_str().unwrap_or_default().to_owned();
            let path = format!("/api/v1/namespaces/{}/configmaps/{}", text("namespace"), text("name"));
            let preconditions = json!({"uid": text("uid")});
            let options = json!({"preconditions": preconditions, "propagationPolicy": "Background"});
            self.write(Method::DELETE, &path, &options).await;
        }
    }
}

async fn revision(server: &Server) -> String {
    let list = server.admin().get("/api/v1/configmaps?limit=1").await.gives(200);
    list["metadata"]["resourceVersion"].as_str().expect("a revision").to_owned()
}

#[tokio::test]
async fn two_controllers_of_the_same_objects_do_not_fight() {
    let server = with_controllers("namespace,garbagecollector").start().await;
    ready(&server).await;
    for number in 0..NAMESPACES {
        let namespace = format!("n{number}");
        make_namespace(&server, &namespace).await;
        let maps = format!("/api/v1/namespaces/{namespace}/configmaps");
        let owner = post(&server, &maps, &config_map("owner")).await;
        for owned in 0..OWNED {
            let mut map = config_map(&format!("owned-{owned}"));
            map["metadata"]["ownerReferences"] = json!([{
                "apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"],
            }]);
            post(&server, &maps, &map).await;
        }
    }
    let writes = Arc::<AtomicUsize>::default();
    let stand_in = StandIn { client: server.admin(), writes: writes.clone() };
    let running = tokio::spawn(async move {
        loop {
            stand_in.delete_namespaces().await;
            stand_in.collect().await;
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    });
    // Half of the namespaces lose the owner alone, half go as a whole.
    for number in 0..NAMESPACES {
        let namespace = format!("/api/v1/namespaces/n{number}");
        match number % 2 {
            0 => delete(&server, &namespace).await,
            _ => delete(&server, &format!("{namespace}/configmaps/owner")).await,
        };
    }
    for number in 0..NAMESPACES {
        let namespace = format!("/api/v1/namespaces/n{number}");
        eventually("the objects are gone", async || match number % 2 {
            0 => is_gone(&server, &namespace).await,
            _ => {
                let maps = server.admin().get(&format!("{namespace}/configmaps")).await.json();
                maps["items"] == json!([])
            }
        })
        .await;
    }
    let (mut before, mut seen) = (revision(&server).await, writes.load(Ordering::Relaxed));
    // A write that was under way may still come; then there is nothing left to write.
    eventually("both come to rest", async || {
        tokio::time::sleep(Duration::from_millis(300)).await;
        let now = (revision(&server).await, writes.load(Ordering::Relaxed));
        let rests = now == (before.clone(), seen);
        (before, seen) = now;
        rests
    })
    .await;
    running.abort();
    // At most each object deleted once and each namespace reported and finalized once by either of the two.
    let most = NAMESPACES * (OWNED + 8);
    assert!(seen <= most, "{seen} writes");
    let created = NAMESPACES * (OWNED + 2);
    let revisions: usize = before.parse().expect("a number");
    assert!(revisions < created + 2 * NAMESPACES * (OWNED + 6) + 400, "{revisions} revisions");
}

/// While a pod is left, kube-controller-manager reports no content that remains.
#[tokio::test]
async fn conditions_do_not_change_in_turn_while_a_pod_is_left() {
    let server = with_controllers("namespace").start().await;
    ready(&server).await;
    make_namespace(&server, "a").await;
    let pods = "/api/v1/namespaces/a/pods";
    let containers = json!([{"name": "c", "image": "i"}]);
    let metadata = json!({"name": "p", "finalizers": ["example.com/hold"]});
    post(&server, pods, &json!({"metadata": metadata, "spec": {"containers": containers}})).await;
    post(&server, "/api/v1/namespaces/a/configmaps", &config_map("m")).await;
    delete(&server, "/api/v1/namespaces/a").await;
    let namespace = async || server.admin().get("/api/v1/namespaces/a").await.gives(200);
    eventually("conditions", async || is_good(&namespace().await)).await;
    let before = namespace().await["metadata"]["resourceVersion"].clone();
    // Longer than the first delays between two looks.
    for _ in 0..30 {
        tokio::time::sleep(Duration::from_millis(20)).await;
        let now = namespace().await;
        assert!(is_good(&now), "the other controller would write: {now}");
        assert_eq!(now["metadata"]["resourceVersion"], before, "nothing is written again and again");
    }
    server.admin().get("/api/v1/namespaces/a/configmaps/m").await.code_is(200);
    merge(&server, &format!("{pods}/p"), &json!({"metadata": {"finalizers": null}})).await;
    eventually("the namespace is gone", async || is_gone(&server, "/api/v1/namespaces/a").await).await;
}
