//! `StorageVersionAPI`: a server publishes the storage versions of its resources before it accepts writes.

use http::Method;
use serde_json::{Value, json};

use crate::support::etcd::{Etcd, Version};
use crate::support::shared::ready;
use crate::support::{Launch, Server, eventually, free_port};

const GATE: &str = "--feature-gates=StorageVersionAPI=true";
const SERVED: &str = "--runtime-config=internal.apiserver.k8s.io/v1alpha1=true";
const VERSIONS: &str = "/apis/internal.apiserver.k8s.io/v1alpha1/storageversions";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const HOOK: &str = "poststarthook/built-in-resources-storage-version-updater";
const JSON: [(&str, &str); 1] = [("content-type", "application/json")];

async fn create_map(server: &Server, name: &str) -> (u16, Value) {
    let map = json!({"metadata": {"name": name}}).to_string();
    let answer = server.admin().request(Method::POST, MAPS, &JSON, map).await;
    (answer.code, serde_json::from_str(&answer.body).expect("an object"))
}

async fn version(server: &Server, name: &str) -> Value {
    server.admin().get(&format!("{VERSIONS}/{name}")).await.gives(200)
}

/// The name of the server's lease.
async fn name_of(server: &Server) -> String {
    let path = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
    let leases = server.admin().get(path).await.gives(200);
    let name = |lease: &Value| lease["metadata"]["name"].as_str().expect("a name").to_owned();
    let mut names = leases["items"].as_array().expect("items").iter().map(name);
    names.find(|name| name.starts_with("apiserver-")).expect("the lease of the server")
}

#[tokio::test]
async fn a_server_tells_how_it_stores_every_resource() {
    let server = Launch::new().args(&[GATE, SERVED]).start().await;
    server.until_it_has_namespaces().await;
    let ready = server.admin().get("/readyz?verbose").await.body;
    assert!(ready.contains(&format!("[+]{HOOK} ok\n")), "{ready}");
    assert_eq!(create_map(&server, "a").await.0, 201);
    let own = name_of(&server).await;
    let pods = version(&server, "core.pods").await;
    assert_eq!(pods["status"]["commonEncodingVersion"], "v1");
    let entry = json!({"apiServerID": own, "encodingVersion": "v1", "decodableVersions": ["v1"], "servedVersions": ["v1"]});
    assert_eq!(pods["status"]["storageVersions"], json!([entry]));
    let condition = &pods["status"]["conditions"][0];
    assert_eq!(
        (&condition["type"], &condition["status"]),
        (&json!("AllEncodingVersionsEqual"), &json!("True"))
    );
    assert_eq!(condition["reason"], "CommonEncodingVersionSet");
    assert_eq!(condition["message"], "Common encoding version set");
    let events = version(&server, "core.events").await;
    assert_eq!(
        events["status"]["storageVersions"][0]["decodableVersions"],
        json!(["v1", "events.k8s.io/v1"])
    );
    version(&server, "internal.apiserver.k8s.io.storageversions").await;
    let list = server.admin().get(VERSIONS).await.gives(200);
    let named = |part: &str| {
        let items = list["items"].as_array().expect("items").iter();
        items.filter(|item| item["metadata"]["name"].as_str().is_some_and(|name| name.contains(part))).count()
    };
    assert_eq!((named("events"), named("reviews"), named("customresourcedefinitions")), (1, 0, 1));
    assert!(!server.stderr().contains("has no effect"), "{}", server.stderr());
}

#[tokio::test]
async fn entries_of_other_servers_stay() {
    let etcd = Etcd::start(Version::New);
    let launch = Launch::on_etcd(&etcd).args(&[GATE, SERVED]);
    let first = launch.start().await;
    ready(&first).await;
    let mut secrets = version(&first, "core.secrets").await;
    let other = json!({"apiServerID": "other", "encodingVersion": "v0", "decodableVersions": ["v0", "v1"]});
    secrets["status"]["storageVersions"].as_array_mut().expect("servers").insert(0, other.clone());
    secrets["status"].as_object_mut().expect("a status").remove("commonEncodingVersion");
    let path = format!("{VERSIONS}/core.secrets/status");
    let written = first.admin().request(Method::PUT, &path, &JSON, secrets.to_string()).await;
    assert_eq!(written.code, 200, "{}", written.body);

    let second = launch.start().await;
    ready(&second).await;
    let secrets = version(&second, "core.secrets").await;
    assert_eq!(secrets["status"]["storageVersions"][0], other);
    assert_eq!(secrets["status"]["storageVersions"][1]["apiServerID"], name_of(&second).await.as_str());
    assert!(secrets["status"]["commonEncodingVersion"].is_null(), "{secrets}");
    assert_eq!(secrets["status"]["conditions"][0]["status"], "False");
    assert_eq!(secrets["status"]["conditions"][0]["reason"], "CommonEncodingVersionUnset");
    assert_eq!(version(&first, "core.pods").await, version(&second, "core.pods").await, "nothing is new");
}

#[tokio::test]
async fn writes_wait_until_storage_versions_are_published() {
    let launch = Launch::new().arg(GATE);
    let mut server = launch.spawn(Some(free_port()));
    server.until_it_serves().await.expect("it serves");
    server.until_it_has_namespaces().await;
    let waiting =
        "wait for storage version registration to complete for resource: configmaps, last seen error: ";
    let why =
        "the server could not find the requested resource (post storageversions.internal.apiserver.k8s.io)";
    eventually("the reason", async || {
        let (code, status) = create_map(&server, "a").await;
        let message = status["message"].as_str().expect("a message");
        assert_eq!((code, &status["reason"]), (503, &json!("ServiceUnavailable")));
        assert!(message.starts_with(waiting), "{message}");
        message == format!("{waiting}{why}")
    })
    .await;
    let ready = server.admin().get("/readyz").await;
    assert!(ready.code == 500 && ready.body.contains(&format!("[-]{HOOK} failed")), "{}", ready.body);
    assert_eq!(server.admin().get(MAPS).await.code, 200, "who only reads does not wait");
}

#[tokio::test]
async fn entries_of_servers_without_a_lease_are_collected() {
    let controllers = "--controllers=storage-version-gc";
    let server = Launch::new().args(&[GATE, SERVED, controllers]).start().await;
    server.until_it_has_namespaces().await;
    let own = name_of(&server).await;
    let foreign = |id: &str| json!({"apiServerID": id, "encodingVersion": "v2", "decodableVersions": ["v2"]});
    let put = async |name: &str, entries: Vec<Value>| {
        let path = format!("{VERSIONS}/{name}");
        let mut object = version(&server, name).await;
        let common = if entries.len() == 1 { entries[0]["encodingVersion"].clone() } else { Value::Null };
        object["status"]["storageVersions"] = entries.into();
        object["status"]["commonEncodingVersion"] = common;
        let path = format!("{path}/status");
        server.admin().request(Method::PUT, &path, &JSON, object.to_string()).await.code_is(200);
    };
    let pods = version(&server, "core.pods").await["status"]["storageVersions"][0].clone();
    put("core.pods", vec![foreign("gone"), pods.clone()]).await;
    eventually("the entry is collected", async || {
        let status = version(&server, "core.pods").await["status"].clone();
        status["storageVersions"] == json!([pods]) && status["commonEncodingVersion"] == "v1"
    })
    .await;

    // A server that is there leaves its lease, and then its entries.
    let lease = json!({
        "metadata": {"name": "other", "labels": {"apiserver.kubernetes.io/identity": "kube-apiserver"}},
        "spec": {"holderIdentity": "other", "leaseDurationSeconds": 3600, "renewTime": "2999-01-01T00:00:00.000000Z"},
    });
    let leases = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
    server.admin().request(Method::POST, leases, &JSON, lease.to_string()).await.code_is(201);
    let body = json!({"metadata": {"name": "example.com.widgets"}, "spec": {}}).to_string();
    server.admin().request(Method::POST, VERSIONS, &JSON, body).await.code_is(201);
    put("example.com.widgets", vec![foreign("other")]).await;
    tokio::time::sleep(std::time::Duration::from_millis(500)).await;
    version(&server, "example.com.widgets").await;
    assert_ne!(own, "other");
    server.admin().request(Method::DELETE, &format!("{leases}/other"), &JSON, "{}").await.code_is(200);
    eventually("a storage version without entries is deleted", async || {
        server.admin().get(&format!("{VERSIONS}/example.com.widgets")).await.code == 404
    })
    .await;
}
