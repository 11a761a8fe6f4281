//! Reads of etcd that a request causes, as etcd itself counts them: writes are checked against caches, and read the store only
//! where the reference does.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};

use crate::support::client::Connection;
use crate::support::etcd::{Etcd, Version};
use crate::support::shared::ready;
use crate::support::{Launch, Server, eventually};

/// Range calls, in etcd's metrics.
const RANGES: &str = r#"grpc_server_handled_total{grpc_code="OK",grpc_method="Range""#;

/// Requests of one round, and rounds. The server reads etcd now and then by itself (leases, counts of stored objects), so the
/// quietest round tells what the requests cause.
const REQUESTS: usize = 40;
const ROUNDS: usize = 4;

const CORE: &str = "/api/v1/namespaces/reads";
const MERGE: &str = "application/merge-patch+json";
const APPLY: &str = "application/apply-patch+yaml";

/// A server with every default plugin, before the etcd that it needs.
struct Counted {
    server: Server,
    connection: Connection,
    etcd: Etcd,
}

impl Counted {
    async fn start() -> Counted {
        let etcd = Etcd::start(Version::New);
        let launch = Launch::on_etcd_with_defaults(&etcd)
            .args(&["--authorization-mode=Node,RBAC", "--service-cluster-ip-range=10.96.0.0/16"]);
        let server = launch.start().await;
        ready(&server).await;
        let connection = server.admin().connect().await.expect("a connection");
        let mut counted = Counted { server, connection, etcd };
        counted.make_namespace("reads").await;
        counted
    }

    async fn send(&mut self, method: Method, path: &str, kind: &str, body: &Value) -> (u16, Value) {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let sent = self.connection.send(method, path, &[("content-type", kind)], body).await;
        let answer = sent.unwrap_or_else(|error| panic!("{path}: {error}"));
        (answer.code, answer.json())
    }

    async fn make(&mut self, path: &str, body: &Value) -> (u16, Value) {
        self.send(Method::POST, path, "application/json", body).await
    }

    /// A namespace with its default service account, which a loop of the server makes.
    async fn make_namespace(&mut self, name: &str) {
        let (code, answer) = self.make("/api/v1/namespaces", &json!({"metadata": {"name": name}})).await;
        assert_eq!(code, 201, "{answer}");
        let account = format!("/api/v1/namespaces/{name}/serviceaccounts/default");
        let admin = self.server.admin();
        eventually("the default account", async || admin.get(&account).await.code == 200).await;
    }

    /// Range calls per request, in the quietest of some rounds. `request` gives method, path, content type and body of the
    /// request with a number.
    async fn ranges(
        &mut self,
        what: &str,
        request: impl Fn(usize) -> (Method, String, &'static str, Value),
    ) -> f64 {
        let mut fewest = f64::INFINITY;
        for round in 0..ROUNDS {
            let before = self.etcd.metric(RANGES).await;
            for number in round * REQUESTS..(round + 1) * REQUESTS {
                let (method, path, kind, body) = request(number);
                let (code, answer) = self.send(method, &path, kind, &body).await;
                assert!(code == 200 || code == 201, "{what}: {code} {answer}");
            }
            let after = self.etcd.metric(RANGES).await;
            fewest = fewest.min((after - before) / REQUESTS as f64);
            // A cache that the first requests asked for is loaded beside them.
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        fewest
    }
}

fn pod(name: &str) -> Value {
    json!({"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i"}]}})
}

fn post(path: String, body: Value) -> (Method, String, &'static str, Value) {
    (Method::POST, path, "application/json", body)
}

fn label(path: String, number: usize) -> (Method, String, &'static str, Value) {
    (Method::PATCH, path, MERGE, json!({"metadata": {"labels": {"number": number.to_string()}}}))
}

fn delete(path: String) -> (Method, String, &'static str, Value) {
    (Method::DELETE, path, "application/json", Value::Null)
}

#[tokio::test]
async fn writing_pods_reads_nothing_of_etcd() {
    let mut counted = Counted::start().await;
    let created =
        counted.ranges("create", |number| post(format!("{CORE}/pods"), pod(&format!("p{number}")))).await;
    assert_eq!(created, 0.0, "Range calls for each created pod");
    let patched = counted.ranges("patch", |number| label(format!("{CORE}/pods/p{number}"), number)).await;
    assert_eq!(patched, 0.0, "for each patched pod");
    let status = |number| {
        let phase = json!({"status": {"phase": "Running"}});
        (Method::PATCH, format!("{CORE}/pods/p{number}/status"), MERGE, phase)
    };
    let stated = counted.ranges("status", status).await;
    assert_eq!(stated, 0.0, "for each status");
    let bind = |number| {
        let target =
            json!({"metadata": {"name": format!("p{number}")}, "target": {"kind": "Node", "name": "n"}});
        post(format!("{CORE}/pods/p{number}/binding"), target)
    };
    assert_eq!(counted.ranges("bind", bind).await, 0.0, "for each binding");
    // The reference reads what it deletes, once.
    let path = |number| format!("{CORE}/pods/p{number}?gracePeriodSeconds=0");
    let deleted = counted.ranges("delete", |number| delete(path(number))).await;
    assert!(deleted <= 1.0, "{deleted} for each deleted pod");
}

#[tokio::test]
async fn charging_a_quota_reads_nothing_of_etcd() {
    let mut counted = Counted::start().await;
    let amounts = |count: &str| json!({"pods": count});
    let quota = json!({"metadata": {"name": "q"}, "spec": {"hard": amounts("1000")}});
    let (code, mut quota) = counted.make(&format!("{CORE}/resourcequotas"), &quota).await;
    assert_eq!(code, 201, "{quota}");
    quota["status"] = json!({"hard": amounts("1000"), "used": amounts("0")});
    let path = format!("{CORE}/resourcequotas/q/status");
    assert_eq!(counted.send(Method::PUT, &path, "application/json", &quota).await.0, 200);
    let created =
        counted.ranges("create", |number| post(format!("{CORE}/pods"), pod(&format!("p{number}")))).await;
    assert_eq!(created, 0.0, "Range calls for each created pod");
    let (_, quota) = counted
        .send(Method::GET, &format!("{CORE}/resourcequotas/q"), "application/json", &Value::Null)
        .await;
    assert_eq!(quota["status"]["used"], amounts(&(ROUNDS * REQUESTS).to_string()));
}

#[tokio::test]
async fn writing_config_maps_reads_nothing_of_etcd() {
    let mut counted = Counted::start().await;
    let path = |number| format!("{CORE}/configmaps/c{number}");
    let map = |number: usize, value: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("c{number}")}, "data": {"a": value}});
    let created =
        counted.ranges("create", |number| post(format!("{CORE}/configmaps"), map(number, "1"))).await;
    assert_eq!(created, 0.0, "Range calls for each created ConfigMap");
    let update = |number| (Method::PUT, path(number), "application/json", map(number, "2"));
    assert_eq!(counted.ranges("update", update).await, 0.0, "for each update");
    let patched = counted.ranges("patch", |number| label(path(number), number)).await;
    assert_eq!(patched, 0.0, "for each patch");
    let apply = |number| {
        let path = format!("{}?fieldManager=m&force=true", path(number));
        (Method::PATCH, path, APPLY, map(number, "3"))
    };
    assert_eq!(counted.ranges("apply", apply).await, 0.0, "for each apply");
    let deleted = counted.ranges("delete", |number| delete(path(number))).await;
    assert!(deleted <= 1.0, "{deleted} for each deleted ConfigMap");
}

#[tokio::test]
async fn writing_services_reads_nothing_of_etcd() {
    let mut counted = Counted::start().await;
    let service = |name: String, kind: &str| {
        post(
            format!("{CORE}/services"),
            json!({"metadata": {"name": name}, "spec": {"type": kind, "ports": [{"port": 80}]}}),
        )
    };
    let created = counted.ranges("create", |number| service(format!("s{number}"), "ClusterIP")).await;
    assert_eq!(created, 0.0, "Range calls for each created service");
    let created = counted.ranges("create", |number| service(format!("n{number}"), "NodePort")).await;
    assert_eq!(created, 0.0, "for each with a node port");
    let patched = counted.ranges("patch", |number| label(format!("{CORE}/services/s{number}"), number)).await;
    assert_eq!(patched, 0.0, "for each patch");
}

/// Objects that caches lack, or still have, are judged by what the store has.
#[tokio::test]
async fn namespaces_and_accounts_of_a_moment_ago_count_on_etcd() {
    let mut counted = Counted::start().await;
    for number in 0..20 {
        let name = format!("fresh-{number}");
        let (code, answer) = counted.make("/api/v1/namespaces", &json!({"metadata": {"name": name}})).await;
        assert_eq!(code, 201, "{answer}");
        let space = format!("/api/v1/namespaces/{name}");
        let account = json!({"metadata": {"name": "own"}, "imagePullSecrets": [{"name": "pull"}]});
        let (code, answer) = counted.make(&format!("{space}/serviceaccounts"), &account).await;
        assert_eq!(code, 201, "{answer}");
        let mut of_account = pod("p");
        of_account["spec"]["serviceAccountName"] = "own".into();
        let (code, answer) = counted.make(&format!("{space}/pods"), &of_account).await;
        assert_eq!(code, 201, "{answer}");
        assert_eq!(answer["spec"]["imagePullSecrets"], json!([{"name": "pull"}]));
        let (code, answer) = counted.send(Method::DELETE, &space, "application/json", &Value::Null).await;
        assert_eq!(code, 200, "{answer}");
        let (code, answer) = counted.make(&format!("{space}/pods"), &pod("late")).await;
        let why = format!("unable to create new content in namespace {name} because it is being terminated");
        assert_eq!(
            (code, answer["message"].as_str()),
            (403, Some(&*format!("pods \"late\" is forbidden: {why}")))
        );
    }
    let (code, answer) = counted.make("/api/v1/namespaces/none/pods", &pod("p")).await;
    assert_eq!((code, answer["message"].as_str()), (404, Some("namespaces \"none\" not found")));
    let mut of_nobody = pod("nobody");
    of_nobody["spec"]["serviceAccountName"] = "nobody".into();
    let (code, answer) = counted.make(&format!("{CORE}/pods"), &of_nobody).await;
    let why = "error looking up service account reads/nobody: serviceaccount \"nobody\" not found";
    assert_eq!(
        (code, answer["message"].as_str()),
        (403, Some(&*format!("pods \"nobody\" is forbidden: {why}")))
    );
}
