//! Garbage collection through the whole server.

use std::collections::{BTreeMap, BTreeSet};

use http::Method;
use pintle_runtime::Random;
use serde_json::{Value, json};

use super::{config_map, delete, is_gone, make_namespace, merge, post, send, with_controllers};
use crate::support::etcd::{Etcd, Version};
use crate::support::kubectl::Kubectl;
use crate::support::shared::ready;
use crate::support::{Launch, Server, eventually};

const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/a/deployments";
const SETS: &str = "/apis/apps/v1/namespaces/a/replicasets";
const PODS: &str = "/api/v1/namespaces/a/pods";
const MAPS: &str = "/api/v1/namespaces/a/configmaps";
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

async fn started() -> Server {
    let server = with_controllers("garbagecollector").start().await;
    ready(&server).await;
    make_namespace(&server, "a").await;
    server
}

fn owner(version: &str, kind: &str, object: &Value) -> Value {
    json!({
        "apiVersion": version, "kind": kind, "name": object["metadata"]["name"], "uid": object["metadata"]["uid"],
        "controller": true, "blockOwnerDeletion": true,
    })
}

fn owned(mut object: Value, owners: &[Value]) -> Value {
    object["metadata"]["ownerReferences"] = json!(owners);
    object
}

fn workload(name: &str, replicas: usize) -> Value {
    let labels = json!({"app": name});
    json!({
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas, "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
        },
    })
}

fn pod(name: &str) -> Value {
    json!({"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i"}]}})
}

/// A Deployment with two ReplicaSets of some pods each, as its controllers would leave them.
async fn deploy(server: &Server, name: &str, pods: usize) {
    let deployment = post(server, DEPLOYMENTS, &workload(name, pods)).await;
    for set in 0..2 {
        let set_name = format!("{name}-{set}");
        let set = owned(workload(&set_name, pods), &[owner("apps/v1", "Deployment", &deployment)]);
        let set = post(server, SETS, &set).await;
        for number in 0..pods {
            let pod = pod(&format!("{set_name}-{number}"));
            post(server, PODS, &owned(pod, &[owner("apps/v1", "ReplicaSet", &set)])).await;
        }
    }
}

async fn items(server: &Server, path: &str) -> Vec<Value> {
    server.admin().get(path).await.gives(200)["items"].as_array().cloned().unwrap_or_default()
}

async fn count(server: &Server, path: &str) -> usize {
    items(server, path).await.len()
}

async fn delete_with(server: &Server, path: &str, policy: &str) {
    let options = json!({"propagationPolicy": policy});
    let code = send(server, Method::DELETE, path, &options).await.code;
    assert!([200, 202].contains(&code), "{code}");
}

#[tokio::test]
async fn a_deployment_goes_with_its_tree_or_leaves_it() {
    const PODS_EACH: usize = 25;
    let server = started().await;
    for policy in ["Background", "Foreground"] {
        deploy(&server, "web", PODS_EACH).await;
        // Without a node nothing else lets pods go in time.
        assert_eq!(count(&server, PODS).await, 2 * PODS_EACH);
        delete_with(&server, &format!("{DEPLOYMENTS}/web"), policy).await;
        eventually("the tree is gone", async || {
            count(&server, DEPLOYMENTS).await + count(&server, SETS).await + count(&server, PODS).await == 0
        })
        .await;
    }
    deploy(&server, "web", PODS_EACH).await;
    delete_with(&server, &format!("{DEPLOYMENTS}/web"), "Orphan").await;
    eventually("the deployment is gone", async || is_gone(&server, &format!("{DEPLOYMENTS}/web")).await)
        .await;
    let sets = items(&server, SETS).await;
    assert_eq!(sets.len(), 2);
    assert!(sets.iter().all(|set| set["metadata"]["ownerReferences"].is_null()), "{sets:?}");
    let managers = sets[0]["metadata"]["managedFields"].as_array().expect("managers");
    let is_controllers = |found: &Value| found["manager"] == "kube-controller-manager";
    assert!(managers.iter().all(|found| !is_controllers(found)), "a removal owns nothing");
    assert_eq!(count(&server, PODS).await, 2 * PODS_EACH);
    let metrics = server.admin().get("/metrics").await;
    for name in ["attempt_to_delete", "attempt_to_orphan", "graph_changes"] {
        let wanted = format!("workqueue_adds_total{{name=\"garbage_collector_{name}\"}}");
        assert!(metrics.body.contains(&wanted), "{wanted}");
    }
    assert!(metrics.body.contains("garbagecollector_controller_resources_sync_error_total 0"));
}

#[tokio::test]
async fn an_owner_in_the_foreground_waits_for_what_blocks_it() {
    let server = started().await;
    let x = post(&server, MAPS, &config_map("x")).await;
    let mut held = owned(config_map("held"), &[owner("v1", "ConfigMap", &x)]);
    held["metadata"]["finalizers"] = json!(["example.com/hold"]);
    post(&server, MAPS, &held).await;
    delete_with(&server, &format!("{MAPS}/x"), "Foreground").await;
    eventually("the dependent is being deleted", async || {
        let held = server.admin().get(&format!("{MAPS}/held")).await.json();
        !held["metadata"]["deletionTimestamp"].is_null()
    })
    .await;
    let x = server.admin().get(&format!("{MAPS}/x")).await.gives(200);
    assert_eq!(x["metadata"]["finalizers"], json!(["foregroundDeletion"]));
    merge(&server, &format!("{MAPS}/held"), &json!({"metadata": {"finalizers": null}})).await;
    eventually("both are gone", async || count(&server, MAPS).await == 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_deletes_with_each_cascade_and_waits() {
    let server = started().await;
    let kubectl = Kubectl::of(&server);
    for cascade in ["background", "foreground", "orphan"] {
        deploy(&server, "web", 3).await;
        kubectl.ok(&format!("delete deployment web -n a --cascade={cascade} --wait=false")).await;
        kubectl.ok("wait --for=delete deployment/web -n a --timeout=30s").await;
        if cascade == "orphan" {
            assert_eq!(kubectl.ok("get replicasets -n a -o name").await.lines().count(), 2);
            kubectl.ok("delete replicasets --all -n a --cascade=foreground").await;
        }
        kubectl.ok("wait --for=delete pods --all -n a --timeout=30s").await;
        eventually("nothing is left", async || count(&server, SETS).await + count(&server, PODS).await == 0)
            .await;
    }
}

fn definition(plural: &str, kind: &str, scope: &str) -> Value {
    let names = json!({
        "plural": plural, "singular": kind.to_lowercase(), "kind": kind, "listKind": format!("{kind}List"),
    });
    let version = json!({"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}});
    json!({
        "metadata": {"name": format!("{plural}.example.com")},
        "spec": {"group": "example.com", "scope": scope, "names": names, "versions": [version]},
    })
}

fn custom(kind: &str, name: &str) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": kind, "metadata": {"name": name}})
}

#[tokio::test]
async fn custom_resources_own_and_are_owned() {
    let server = started().await;
    let (widgets, racks) = ("/apis/example.com/v1/namespaces/a/widgets", "/apis/example.com/v1/racks");
    post(&server, DEFINITIONS, &definition("widgets", "Widget", "Namespaced")).await;
    post(&server, DEFINITIONS, &definition("racks", "Rack", "Cluster")).await;
    for path in [widgets, racks] {
        eventually("the resource", async || server.admin().get(path).await.code == 200).await;
    }
    // A rack owns widgets, the first of them a ConfigMap, which owns a widget.
    let rack = post(&server, racks, &custom("Rack", "r")).await;
    let of_rack = [owner("example.com/v1", "Rack", &rack)];
    let widget = post(&server, widgets, &owned(custom("Widget", "w"), &of_rack)).await;
    post(&server, widgets, &owned(custom("Widget", "w2"), &of_rack)).await;
    let map = owned(config_map("m"), &[owner("example.com/v1", "Widget", &widget)]);
    let map = post(&server, MAPS, &map).await;
    let mut both = owned(custom("Widget", "w3"), &[owner("v1", "ConfigMap", &map), of_rack[0].clone()]);
    both["metadata"]["ownerReferences"][1]["controller"] = json!(false);
    post(&server, widgets, &both).await;
    delete_with(&server, &format!("{widgets}/w"), "Background").await;
    eventually("the ConfigMap is gone", async || is_gone(&server, &format!("{MAPS}/m")).await).await;
    eventually("the reference is gone", async || {
        let both = server.admin().get(&format!("{widgets}/w3")).await.gives(200);
        both["metadata"]["ownerReferences"].as_array().is_some_and(|owners| owners.len() == 1)
    })
    .await;
    delete_with(&server, &format!("{racks}/r"), "Foreground").await;
    eventually("the rack is gone", async || is_gone(&server, &format!("{racks}/r")).await).await;
    assert_eq!(count(&server, widgets).await, 0);

    // With their definition, owners go, and then their dependents.
    let rack = post(&server, racks, &custom("Rack", "r")).await;
    let of_rack = [owner("example.com/v1", "Rack", &rack)];
    post(&server, MAPS, &owned(config_map("m"), &of_rack)).await;
    delete(&server, &format!("{DEFINITIONS}/racks.example.com")).await;
    eventually("the ConfigMap is gone", async || is_gone(&server, &format!("{MAPS}/m")).await).await;

    // A kind that nothing serves says nothing, until something does.
    let of_nothing = [owner("example.com/v1", "Gadget", &rack)];
    post(&server, MAPS, &owned(config_map("m"), &of_nothing)).await;
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    server.admin().get(&format!("{MAPS}/m")).await.code_is(200);
    post(&server, DEFINITIONS, &definition("gadgets", "Gadget", "Cluster")).await;
    eventually("the ConfigMap is gone", async || is_gone(&server, &format!("{MAPS}/m")).await).await;
}

#[tokio::test]
async fn owners_in_other_namespaces_are_none_and_events_say_so() {
    let server = started().await;
    make_namespace(&server, "b").await;
    let x = post(&server, MAPS, &config_map("x")).await;
    let uid = x["metadata"]["uid"].as_str().expect("a uid").to_owned();
    let others = "/api/v1/namespaces/b/configmaps";
    post(&server, others, &owned(config_map("y"), &[owner("v1", "ConfigMap", &x)])).await;
    eventually("y is gone", async || is_gone(&server, &format!("{others}/y")).await).await;
    let event = |namespace: &str, events: &[Value]| {
        let message = format!(
            "ownerRef [v1/ConfigMap, namespace: {namespace}, name: x, uid: {uid}] does not exist in namespace \"{namespace}\""
        );
        let found = events.iter().find(|event| event["message"] == json!(message));
        found.map(|event| ["type", "reason", "reportingComponent"].map(|field| event[field].clone()))
    };
    let wanted =
        Some(["Warning", "OwnerRefInvalidNamespace", "garbage-collector-controller"].map(|text| json!(text)));
    let events = items(&server, "/api/v1/namespaces/b/events").await;
    assert_eq!(event("b", &events), wanted, "{events:?}");

    // A cluster-scoped dependent stays.
    let role = json!({"metadata": {"name": "r"}, "rules": []});
    let roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
    post(&server, roles, &owned(role, &[owner("v1", "ConfigMap", &x)])).await;
    eventually("the event", async || {
        event("", &items(&server, "/api/v1/namespaces/default/events").await) == wanted
    })
    .await;
    delete(&server, &format!("{MAPS}/x")).await;
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    server.admin().get(&format!("{roles}/r")).await.code_is(200);
}

#[tokio::test]
async fn only_living_owners_count() {
    let server = started().await;
    // An owner that came again, and one that never was.
    let x = post(&server, MAPS, &config_map("x")).await;
    let y = post(&server, MAPS, &owned(config_map("y"), &[owner("v1", "ConfigMap", &x)])).await;
    post(&server, MAPS, &owned(config_map("z"), &[owner("v1", "ConfigMap", &y)])).await;
    delete(&server, &format!("{MAPS}/x")).await;
    post(&server, MAPS, &config_map("x")).await;
    eventually("y and z are gone", async || count(&server, MAPS).await == 1).await;
    let mut never = owner("v1", "ConfigMap", &x);
    (never["name"], never["uid"], never["controller"]) = (json!("never"), json!("never"), json!(false));
    post(&server, MAPS, &owned(config_map("y"), &[owner("v1", "ConfigMap", &x), never.clone()])).await;
    eventually("y is gone", async || is_gone(&server, &format!("{MAPS}/y")).await).await;

    // A circle.
    let a = post(&server, MAPS, &config_map("a")).await;
    let b = post(&server, MAPS, &owned(config_map("b"), &[owner("v1", "ConfigMap", &a)])).await;
    let circle = json!({"metadata": {"ownerReferences": [owner("v1", "ConfigMap", &b)]}});
    merge(&server, &format!("{MAPS}/a"), &circle).await;
    delete_with(&server, &format!("{MAPS}/a"), "Foreground").await;
    eventually("the circle is gone", async || count(&server, MAPS).await == 1).await;
    server.admin().get(&format!("{MAPS}/x")).await.code_is(200);
}

/// Random trees of ConfigMaps lose what a plain model says.
#[tokio::test]
async fn random_trees_lose_what_a_model_says() {
    let server = started().await;
    let random = Random::seeded(7);
    let pick = |most: usize| usize::try_from(random.number() >> 1).unwrap_or_default() % most;
    for round in 0..4 {
        let mut model: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let mut references: Vec<Value> = Vec::new();
        for number in 0..15 {
            let name = format!("r{round}-{number}");
            let mut owners = BTreeMap::new();
            for _ in 0..pick(3) {
                if let Some(reference) = references.get(pick(references.len().max(1))) {
                    let mut reference = reference.clone();
                    reference["controller"] = json!(false);
                    reference["blockOwnerDeletion"] = json!(pick(2) == 0);
                    owners.insert(reference["name"].as_str().unwrap_or_default().to_owned(), reference);
                }
            }
            let list: Vec<Value> = owners.values().cloned().collect();
            let map = post(&server, MAPS, &owned(config_map(&name), &list)).await;
            references.push(owner("v1", "ConfigMap", &map));
            model.insert(name, owners.into_keys().collect());
        }
        while let Some(name) = model.keys().nth(pick(model.len().max(1))).cloned() {
            let policy = ["Background", "Foreground", "Orphan"][pick(3)];
            delete_with(&server, &format!("{MAPS}/{name}"), policy).await;
            let mut dead = BTreeSet::from([name.clone()]);
            if policy == "Orphan" {
                for owners in model.values_mut() {
                    owners.remove(&name);
                }
            }
            let dies = |dead: &BTreeSet<String>, owners: &BTreeSet<String>| {
                !owners.is_empty() && owners.is_subset(dead)
            };
            while let Some((next, _)) =
                model.iter().find(|(known, owners)| !dead.contains(*known) && dies(&dead, owners))
            {
                dead.insert(next.clone());
            }
            model.retain(|known, _| !dead.contains(known));
            model.values_mut().for_each(|owners| owners.retain(|owner| !dead.contains(owner)));
            eventually(&format!("{policy} of {name}"), async || {
                let left = items(&server, MAPS).await;
                let pair = |map: &Value| {
                    let owners = map["metadata"]["ownerReferences"].as_array().map_or(0, Vec::len);
                    (map["metadata"]["name"].as_str().unwrap_or_default().to_owned(), owners)
                };
                let left: BTreeMap<String, usize> = left.iter().map(pair).collect();
                let wanted = model.iter().map(|(name, owners)| (name.clone(), owners.len()));
                left == wanted.collect()
            })
            .await;
        }
    }
}

#[tokio::test]
async fn a_server_finds_after_its_start_what_was_left() {
    let mut launch = Launch::new();
    let data = launch.path("kept");
    launch = launch.data_dir(data.clone());
    let mut server = launch.start().await;
    ready(&server).await;
    make_namespace(&server, "a").await;
    deploy(&server, "web", 3).await;
    deploy(&server, "other", 2).await;
    delete_with(&server, &format!("{DEPLOYMENTS}/web"), "Background").await;
    delete_with(&server, &format!("{DEPLOYMENTS}/other"), "Foreground").await;
    assert_eq!(count(&server, PODS).await, 10);
    server.stop().await;
    let server = with_controllers("*").data_dir(data).start().await;
    ready(&server).await;
    eventually("all is gone", async || {
        count(&server, DEPLOYMENTS).await + count(&server, SETS).await + count(&server, PODS).await == 0
    })
    .await;
}

#[tokio::test]
async fn another_server_goes_on_where_the_leader_was_killed() {
    let etcd = Etcd::start(Version::New);
    let launch = || Launch::on_etcd(&etcd).arg("--controllers=garbage-collector-controller");
    let (one, other) = (launch(), launch());
    let (one, other) = tokio::join!(Box::pin(one.start()), Box::pin(other.start()));
    tokio::join!(Box::pin(ready(&one)), Box::pin(ready(&other)));
    let is_leader = |server: &Server| server.stderr().contains("became leader");
    eventually("a leader", async || is_leader(&one) || is_leader(&other)).await;
    let (leader, follower) = if is_leader(&one) { (one, other) } else { (other, one) };
    make_namespace(&follower, "a").await;
    let x = post(&follower, MAPS, &config_map("x")).await;
    let kept = post(&follower, MAPS, &config_map("kept")).await;
    for number in 0..300 {
        let map = config_map(&format!("d{number}"));
        let mut owners = vec![owner("v1", "ConfigMap", &x)];
        if number % 10 == 0 {
            let mut second = owner("v1", "ConfigMap", &kept);
            second["controller"] = json!(false);
            owners.push(second);
        }
        post(&follower, MAPS, &owned(map, &owners)).await;
    }
    delete_with(&follower, &format!("{MAPS}/x"), "Foreground").await;
    // Killed in the middle, if it has got that far.
    drop(leader);
    eventually("the other leads", async || is_leader(&follower)).await;
    eventually("dependents are gone, but for those with another owner", async || {
        is_gone(&follower, &format!("{MAPS}/x")).await && count(&follower, MAPS).await == 31
    })
    .await;
    let left = items(&follower, MAPS).await;
    let owners = |map: &Value| map["metadata"]["ownerReferences"].as_array().map_or(0, Vec::len);
    assert!(left.iter().all(|map| owners(map) == usize::from(map["metadata"]["name"] != "kept")));
}
