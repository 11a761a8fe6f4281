//! Admission by ResourceQuotas. No controller counts usage here, so tests write the first status themselves.

use std::collections::BTreeMap;

use http::Method;
use serde_json::{Value, json};

use crate::replicas::Pair;
use crate::support::client::Connection;
use crate::support::etcd::Version;
use crate::support::shared::ready;
use crate::support::{Answer, Launch, Server, eventually};

const JSON: [(&str, &str); 1] = [("content-type", "application/json")];

async fn send(server: &Server, method: Method, path: &str, body: &Value) -> Answer {
    server.admin().request(method, path, &JSON, body.to_string()).await
}

async fn post(server: &Server, path: &str, body: &Value) -> Answer {
    send(server, Method::POST, path, body).await
}

fn core(namespace: &str, resource: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/{resource}")
}

async fn make_namespace(server: &Server, name: &str) {
    post(server, "/api/v1/namespaces", &json!({"metadata": {"name": name}})).await.code_is(201);
}

/// Makes a quota whose usage is counted: nothing of each.
async fn make_quota(server: &Server, namespace: &str, spec: Value) {
    let quota = json!({"metadata": {"name": "q"}, "spec": spec});
    let mut quota = post(server, &core(namespace, "resourcequotas"), &quota).await.gives(201);
    let hard = quota["spec"]["hard"].as_object().expect("limits").clone();
    let used: BTreeMap<&String, &str> = hard.keys().map(|name| (name, "0")).collect();
    quota["status"] = json!({"hard": hard, "used": used});
    send(server, Method::PUT, &core(namespace, "resourcequotas/q/status"), &quota).await.code_is(200);
}

async fn used(server: &Server, namespace: &str) -> Value {
    let quota = server.admin().get(&core(namespace, "resourcequotas/q")).await.gives(200);
    quota["status"]["used"].clone()
}

fn pod(name: &str, resources: Value) -> Value {
    let container = json!({"name": "c", "image": "i", "resources": resources});
    json!({"metadata": {"name": name}, "spec": {"containers": [container]}})
}

/// A service without an address, of which there are enough for all.
fn service(name: &str) -> Value {
    json!({"metadata": {"name": name}, "spec": {"clusterIP": "None", "ports": [{"port": 80}]}})
}

#[tokio::test]
async fn a_quota_limits_pods_and_what_they_request() {
    let server = Launch::new().start().await;
    ready(&server).await;
    make_namespace(&server, "a").await;
    // Without a status, nothing is limited; with limits alone, nothing is known.
    let quota = json!({"metadata": {"name": "q"}, "spec": {"hard": {"pods": "2", "requests.cpu": "1"}}});
    let mut quota = post(&server, &core("a", "resourcequotas"), &quota).await.gives(201);
    let pods = core("a", "pods");
    let cpu = |amount: &str| json!({"requests": {"cpu": amount}});
    post(&server, &format!("{pods}?dryRun=All"), &pod("p", cpu("9"))).await.code_is(201);
    quota["status"] = json!({"hard": quota["spec"]["hard"]});
    let status = core("a", "resourcequotas/q/status");
    let mut quota = send(&server, Method::PUT, &status, &quota).await.gives(200);
    post(&server, &pods, &pod("p", cpu("9"))).await.is_status(
        403,
        "Forbidden",
        "pods \"p\" is forbidden: status unknown for quota: q, resources: pods,requests.cpu",
    );
    quota["status"]["used"] = json!({"pods": "0", "requests.cpu": "0"});
    send(&server, Method::PUT, &status, &quota).await.code_is(200);

    post(&server, &pods, &pod("p", json!({}))).await.is_status(
        403,
        "Forbidden",
        "pods \"p\" is forbidden: failed quota: q: must specify requests.cpu for: c",
    );
    post(&server, &pods, &pod("p", cpu("600m"))).await.code_is(201);
    assert_eq!(used(&server, "a").await, json!({"pods": "1", "requests.cpu": "600m"}));
    let large = pod("q", cpu("500m"));
    let exceeded = "pods \"q\" is forbidden: exceeded quota: q, requested: requests.cpu=500m, used: requests.cpu=600m, limited: requests.cpu=1";
    post(&server, &pods, &large).await.is_status(403, "Forbidden", exceeded);
    post(&server, &format!("{pods}?dryRun=All"), &large).await.is_status(403, "Forbidden", exceeded);
    post(&server, &format!("{pods}?dryRun=All"), &pod("q", cpu("400m"))).await.code_is(201);
    assert_eq!(used(&server, "a").await, json!({"pods": "1", "requests.cpu": "600m"}), "not by a dry run");

    // A resize is charged; deletions are counted by the controller.
    let resize = format!("{pods}/p/resize");
    send(&server, Method::PUT, &resize, &pod("p", cpu("900m"))).await.code_is(200);
    assert_eq!(used(&server, "a").await, json!({"pods": "1", "requests.cpu": "900m"}));
    send(&server, Method::PUT, &resize, &pod("p", cpu("2"))).await.is_status(
        403,
        "Forbidden",
        "pods \"p\" is forbidden: exceeded quota: q, requested: requests.cpu=1100m, used: requests.cpu=900m, limited: \
         requests.cpu=1",
    );
    send(&server, Method::DELETE, &format!("{pods}/p?gracePeriodSeconds=0"), &json!({})).await.code_is(200);
    assert_eq!(used(&server, "a").await, json!({"pods": "1", "requests.cpu": "900m"}));
    // Other namespaces are free.
    let elsewhere = post(&server, &core("default", "pods"), &pod("p", cpu("9"))).await;
    elsewhere.code_is(201);
}

#[tokio::test]
async fn a_quota_counts_services_claims_and_any_object() {
    let server = Launch::new().start().await;
    ready(&server).await;
    make_namespace(&server, "a").await;
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
            }],
        },
    });
    post(&server, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", &definition).await.code_is(201);
    let widgets = "/apis/example.com/v1/namespaces/a/widgets";
    eventually("the widgets", async || server.admin().get(widgets).await.code == 200).await;
    let hard = json!({
        "services": "3", "services.nodeports": "2", "services.loadbalancers": "0",
        "requests.storage": "10Gi", "gold.storageclass.storage.k8s.io/requests.storage": "1Gi",
        "count/widgets.example.com": "1", "count/deployments.apps": "0", "configmaps": "1",
    });
    make_quota(&server, "a", json!({"hard": hard})).await;

    let ports = json!([{"name": "a", "port": 80}, {"name": "b", "port": 81}]);
    let of =
        |name: &str, kind: &str| json!({"metadata": {"name": name}, "spec": {"type": kind, "ports": ports}});
    let services = core("a", "services");
    post(&server, &services, &of("one", "NodePort")).await.code_is(201);
    let mut two = post(&server, &services, &of("two", "ClusterIP")).await.gives(201);
    two["spec"]["type"] = json!("NodePort");
    send(&server, Method::PUT, &format!("{services}/two"), &two).await.is_status(
        403,
        "Forbidden",
        "services \"two\" is forbidden: exceeded quota: q, requested: services.nodeports=2, used: services.nodeports=2, \
         limited: services.nodeports=2",
    );
    post(&server, &services, &of("three", "LoadBalancer")).await.is_status(
        403,
        "Forbidden",
        "services \"three\" is forbidden: exceeded quota: q, requested: services.loadbalancers=1,services.nodeports=2, used: \
         services.loadbalancers=0,services.nodeports=2, limited: services.loadbalancers=0,services.nodeports=2",
    );

    let claim = |name: &str, storage: &str| {
        let spec = json!({
            "accessModes": ["ReadWriteOnce"], "storageClassName": "gold",
            "resources": {"requests": {"storage": storage}},
        });
        json!({"metadata": {"name": name}, "spec": spec})
    };
    let claims = core("a", "persistentvolumeclaims");
    post(&server, &claims, &claim("c", "512Mi")).await.code_is(201);
    post(&server, &claims, &claim("d", "1Gi")).await.is_status(
        403,
        "Forbidden",
        "persistentvolumeclaims \"d\" is forbidden: exceeded quota: q, requested: \
         gold.storageclass.storage.k8s.io/requests.storage=1Gi, used: \
         gold.storageclass.storage.k8s.io/requests.storage=512Mi, limited: \
         gold.storageclass.storage.k8s.io/requests.storage=1Gi",
    );

    let widget =
        |name: &str| json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}});
    post(&server, widgets, &widget("w")).await.code_is(201);
    post(&server, widgets, &widget("v")).await.is_status(
        403,
        "Forbidden",
        "widgets.example.com \"v\" is forbidden: exceeded quota: q, requested: count/widgets.example.com=1, used: \
         count/widgets.example.com=1, limited: count/widgets.example.com=1",
    );
    let map = |name: &str| json!({"metadata": {"name": name}});
    post(&server, &core("a", "configmaps"), &map("m")).await.code_is(201);
    post(&server, &core("a", "configmaps"), &map("l")).await.code_is(403);
    assert_eq!(
        used(&server, "a").await,
        json!({
            "services": "2", "services.nodeports": "2", "services.loadbalancers": "0",
            "requests.storage": "512Mi", "gold.storageclass.storage.k8s.io/requests.storage": "512Mi",
            "count/widgets.example.com": "1", "count/deployments.apps": "0", "configmaps": "1",
        })
    );
}

#[tokio::test]
async fn a_quota_of_a_scope_leaves_other_pods_alone() {
    let server = Launch::new().start().await;
    ready(&server).await;
    make_namespace(&server, "a").await;
    make_quota(&server, "a", json!({"hard": {"pods": "0"}, "scopes": ["BestEffort"]})).await;
    let pods = core("a", "pods");
    post(&server, &pods, &pod("best", json!({}))).await.is_status(
        403,
        "Forbidden",
        "pods \"best\" is forbidden: exceeded quota: q, requested: pods=1, used: pods=0, limited: pods=0",
    );
    post(&server, &pods, &pod("burst", json!({"requests": {"cpu": "1"}}))).await.code_is(201);
    assert_eq!(used(&server, "a").await, json!({"pods": "0"}));
}

#[tokio::test]
async fn a_quota_counts_devices_that_pods_and_claims_ask_for() {
    const DEVICES: &str = "/apis/resource.k8s.io/v1";
    let server = Launch::new().start().await;
    ready(&server).await;
    make_namespace(&server, "a").await;
    let class = json!({"metadata": {"name": "fast"}, "spec": {"extendedResourceName": "example.com/gpu"}});
    post(&server, &format!("{DEVICES}/deviceclasses"), &class).await.code_is(201);
    eventually("the class in the cache", async || {
        let list = server.admin().get(&format!("{DEVICES}/deviceclasses?resourceVersion=0")).await.json();
        list["items"][0]["metadata"]["name"] == "fast"
    })
    .await;
    let hard = json!({"requests.example.com/gpu": "5", "fast.deviceclass.resource.k8s.io/devices": "4"});
    make_quota(&server, "a", json!({"hard": hard})).await;
    let gpu = json!({"requests": {"example.com/gpu": "2"}, "limits": {"example.com/gpu": "2"}});
    post(&server, &core("a", "pods"), &pod("p", gpu)).await.code_is(201);
    let claim = |name: &str, count: usize| {
        let exactly = json!({"deviceClassName": "fast", "allocationMode": "ExactCount", "count": count});
        json!({"metadata": {"name": name}, "spec": {"devices": {"requests": [{"name": "r", "exactly": exactly}]}}})
    };
    let claims = format!("{DEVICES}/namespaces/a/resourceclaims");
    post(&server, &claims, &claim("c", 2)).await.code_is(201);
    let expected = json!({"requests.example.com/gpu": "4", "fast.deviceclass.resource.k8s.io/devices": "2"});
    assert_eq!(used(&server, "a").await, expected);
    post(&server, &claims, &claim("d", 2)).await.is_status(
        403,
        "Forbidden",
        "resourceclaims.resource.k8s.io \"d\" is forbidden: exceeded quota: q, requested: requests.example.com/gpu=2, used: \
         requests.example.com/gpu=4, limited: requests.example.com/gpu=5",
    );
}

const NAMESPACES: [&str; 4] = ["fire-a", "fire-b", "fire-c", "fire-d"];
const CLIENTS: usize = 64;
/// Pods, and services, that each client tries to create in each namespace: twice as many as fit.
const EACH: usize = 3;

/// Creates more pods and services than fit, as one of many clients. Returns how many of each were created, by namespace.
async fn fire(mut connection: Connection, client: usize) -> [[usize; 2]; 4] {
    let mut created = [[0; 2]; 4];
    for number in 0..EACH * NAMESPACES.len() {
        // Each begins elsewhere.
        let place = (number + client) % NAMESPACES.len();
        let name = format!("c{client}-{number}");
        for (kind, (resource, body)) in
            [("pods", pod(&name, json!({}))), ("services", service(&name))].into_iter().enumerate()
        {
            let path = core(NAMESPACES[place], resource);
            let answer = connection.send(Method::POST, &path, &JSON, body.to_string()).await;
            let answer = answer.unwrap_or_else(|error| panic!("{path}: {error}"));
            match answer.code {
                201 => created[place][kind] += 1,
                403 => {
                    let message = answer.json()["message"].as_str().expect("a message").to_owned();
                    assert!(message.contains("exceeded quota: q, requested: "), "{message}");
                }
                code => panic!("{path}: {code} {}", answer.body),
            }
        }
    }
    created
}

/// Lets many clients, spread over servers on one store, fill quotas of 100 pods and 100 services.
async fn quotas_hold_under_fire(servers: &[&Server]) {
    for namespace in NAMESPACES {
        make_namespace(servers[0], namespace).await;
        make_quota(servers[0], namespace, json!({"hard": {"pods": "100", "services": "100"}})).await;
        // Admission reads the same cache.
        let cached = core(namespace, "resourcequotas?resourceVersion=0");
        for server in servers {
            eventually("the quota in each cache", async || {
                let list = server.admin().get(&cached).await.json();
                list["items"][0]["status"]["used"]["pods"] == "0"
            })
            .await;
        }
    }
    let mut clients = Vec::new();
    for client in 0..CLIENTS {
        let server = servers[client % servers.len()];
        let connection = server.admin().connect().await.expect("a connection");
        clients.push(tokio::spawn(fire(connection, client)));
    }
    let mut created = [[0; 2]; 4];
    for client in clients {
        let own = client.await.expect("no panic");
        for (sum, own) in created.iter_mut().flatten().zip(own.iter().flatten()) {
            *sum += own;
        }
    }
    assert_eq!(created, [[100; 2]; 4]);
    for namespace in NAMESPACES {
        assert_eq!(
            used(servers[0], namespace).await,
            json!({"pods": "100", "services": "100"}),
            "{namespace}"
        );
        for resource in ["pods", "services"] {
            let list = servers[0].admin().get(&core(namespace, resource)).await.gives(200);
            assert_eq!(list["items"].as_array().map(Vec::len), Some(100), "{namespace} {resource}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn quotas_hold_under_fire_on_the_embedded_store() {
    let server = Launch::new().start().await;
    ready(&server).await;
    quotas_hold_under_fire(&[&server]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn quotas_hold_under_fire_on_two_servers() {
    let pair = Pair::start(Version::New).await;
    let [one, other] = &pair.servers;
    quotas_hold_under_fire(&[one, other]).await;
}
