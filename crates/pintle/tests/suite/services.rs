//! Cluster IPs and node ports of services, as clients see them, on both stores and on two servers at once.

use std::collections::BTreeSet;

use http::Method;
use serde_json::{Value, json};

use crate::replicas::Pair;
use crate::support::etcd::Version;
use crate::support::shared::{Shared, on_both_stores};
use crate::support::{Answer, Client, Launch, eventually};

on_both_stores! { addresses_are_objects, node_ports_are_taken_and_given_back, many_clients_share_nothing }

const JSON: &[(&str, &str)] = &[("content-type", "application/json")];
const MERGE: &[(&str, &str)] = &[("content-type", "application/merge-patch+json")];

/// The services of a namespace that a test has for itself.
#[derive(Clone)]
struct Services {
    client: Client,
    path: String,
}

impl Services {
    async fn new(client: Client, namespace: &str) -> Services {
        let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
        client.request(Method::POST, "/api/v1/namespaces", JSON, object.to_string()).await.gives(201);
        Services { client, path: format!("/api/v1/namespaces/{namespace}/services") }
    }

    fn through(&self, client: Client) -> Services {
        Services { client, path: self.path.clone() }
    }

    async fn create(&self, name: &str, spec: Value) -> Answer {
        let object = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec});
        self.client.request(Method::POST, &self.path, JSON, object.to_string()).await
    }

    async fn patch(&self, name: &str, spec: Value) -> Answer {
        let path = format!("{}/{name}", self.path);
        self.client.request(Method::PATCH, &path, MERGE, json!({"spec": spec}).to_string()).await
    }

    async fn delete(&self, name: &str) {
        self.client.request(Method::DELETE, &format!("{}/{name}", self.path), &[], "").await.gives(200);
    }

    async fn address(&self, ip: &str) -> Answer {
        self.client.get(&format!("/apis/networking.k8s.io/v1/ipaddresses/{ip}")).await
    }
}

fn plain() -> Value {
    json!({"ports": [{"port": 80}], "selector": {"a": "b"}})
}

async fn addresses_are_objects(shared: &Shared) {
    let services = Services::new(shared.server.admin(), "service-addresses").await;
    let made = services.create("a", plain()).await.gives(201);
    let ip = made["spec"]["clusterIP"].as_str().expect("an address").to_owned();
    assert_eq!(made["spec"]["clusterIPs"], json!([ip]));
    assert_eq!(made["spec"]["ipFamilies"], json!(["IPv4"]));
    assert_eq!(made["spec"]["ipFamilyPolicy"], "SingleStack");
    let address = services.address(&ip).await.gives(200);
    assert_eq!(
        address["spec"]["parentRef"],
        json!({"resource": "services", "namespace": "service-addresses", "name": "a"})
    );
    assert_eq!(address["metadata"]["managedFields"][0]["manager"], "kube-apiserver");
    let taken = services.create("b", json!({"ports": [{"port": 80}], "clusterIP": ip})).await;
    let message = format!(
        "Service \"b\" is invalid: spec.clusterIPs: Invalid value: [\"{ip}\"]: failed to allocate IP {ip}: provided IP is \
         already allocated"
    );
    taken.is_status(422, "Invalid", &message);
    let fixed = services.patch("a", json!({"clusterIP": "10.0.0.250"})).await;
    let message = "Service \"a\" is invalid: spec.clusterIPs[0]: Invalid value: [\"10.0.0.250\"]: may not change once set";
    fixed.is_status(422, "Invalid", message);
    let named =
        services.patch("a", json!({"type": "ExternalName", "externalName": "a.example"})).await.gives(200);
    assert!(named["spec"].get("clusterIP").is_none(), "{named}");
    assert_eq!(services.address(&ip).await.code, 404);
    let back = services.patch("a", json!({"type": "ClusterIP", "externalName": null})).await.gives(200);
    let ip = back["spec"]["clusterIP"].as_str().expect("an address").to_owned();
    services.delete("a").await;
    assert_eq!(services.address(&ip).await.code, 404);
}

async fn node_ports_are_taken_and_given_back(shared: &Shared) {
    let services = Services::new(shared.server.admin(), "service-ports").await;
    let asked = |port: u16| json!({"type": "NodePort", "ports": [{"port": 80, "nodePort": port}]});
    services.create("a", asked(30_017)).await.gives(201);
    let message = "Service \"b\" is invalid: spec.ports[0].nodePort: Invalid value: 30017: provided port is already allocated";
    services.create("b", asked(30_017)).await.is_status(422, "Invalid", message);
    let message = "Service \"b\" is invalid: spec.ports[0].nodePort: Invalid value: 80: provided port is not in the valid \
                   range. The range of valid ports is 30000-32767";
    services.create("b", asked(80)).await.is_status(422, "Invalid", message);
    services.patch("a", json!({"type": "ClusterIP"})).await.gives(200);
    services.create("b", asked(30_017)).await.gives(201);
    services.delete("b").await;
    services.create("c", asked(30_017)).await.gives(201);
    let found = services.create("d", json!({"type": "NodePort", "ports": [{"port": 80}]})).await.gives(201);
    let port = found["spec"]["ports"][0]["nodePort"].as_u64().expect("a port");
    assert!((30_000..=32_767).contains(&port), "{found}");
    services.delete("c").await;
}

/// Creates services from many clients at once; no address and no port is there twice.
async fn no_two_share(of: &[Services]) {
    let mut tasks = Vec::new();
    for writer in 0..32 {
        let services = of[writer % of.len()].clone();
        tasks.push(tokio::spawn(async move {
            let mut made = Vec::new();
            for number in 0..4 {
                let spec = json!({"type": "NodePort", "ports": [{"port": 80}]});
                made.push(services.create(&format!("s{writer}-{number}"), spec).await.gives(201));
            }
            made
        }));
    }
    let (mut ips, mut ports) = (BTreeSet::new(), BTreeSet::new());
    for task in tasks {
        for service in task.await.expect("no panic") {
            assert!(ips.insert(service["spec"]["clusterIP"].to_string()), "{service}");
            assert!(ports.insert(service["spec"]["ports"][0]["nodePort"].to_string()), "{service}");
        }
    }
    assert_eq!((ips.len(), ports.len()), (128, 128));
}

async fn many_clients_share_nothing(shared: &Shared) {
    let services = Services::new(shared.server.admin(), "service-crowd").await;
    no_two_share(std::slice::from_ref(&services)).await;
    // All of them are free again.
    let all = services.client.get(&services.path).await.gives(200);
    let count = |list: &Value| list["items"].as_array().expect("items").len();
    assert_eq!(count(&all), 128);
    services.client.request(Method::DELETE, &services.path, &[], "").await.gives(200);
    let left = services.client.get("/apis/networking.k8s.io/v1/ipaddresses").await.gives(200);
    let ours = left["items"].as_array().expect("items").iter();
    let ours = ours.filter(|address| address["spec"]["parentRef"]["namespace"] == "service-crowd");
    assert_eq!(ours.count(), 0);
}

#[tokio::test]
async fn two_servers_share_nothing() {
    let pair = Pair::start(Version::New).await;
    let [one, other] = &pair.servers;
    let services = Services::new(one.admin(), "service-pair").await;
    let through_other = services.through(other.admin());
    eventually("the namespace", async || {
        through_other.client.get("/api/v1/namespaces/service-pair").await.code == 200
    })
    .await;
    no_two_share(&[services, through_other]).await;
}

#[tokio::test]
async fn flags_say_where_services_are() {
    let flags =
        ["--service-cluster-ip-range=10.7.0.0/28,fd07::/112", "--service-node-port-range=31000-31001"];
    let server = Launch::new().tokens().args(&flags).start().await;
    let range = server.admin().get("/apis/networking.k8s.io/v1/servicecidrs/kubernetes").await.gives(200);
    assert_eq!(range["spec"]["cidrs"], json!(["10.7.0.0/28", "fd07::/112"]));
    let own = server.admin().get("/api/v1/namespaces/default/services/kubernetes").await.gives(200);
    assert_eq!(own["spec"]["clusterIPs"], json!(["10.7.0.1"]));
    let services = Services::new(server.admin(), "flags").await;
    let both = json!({
        "type": "NodePort",
        "ipFamilyPolicy": "PreferDualStack",
        "ports": [{"name": "a", "port": 80}, {"name": "b", "port": 81}],
    });
    let made = services.create("a", both).await.gives(201);
    assert_eq!(made["spec"]["ipFamilies"], json!(["IPv4", "IPv6"]));
    let mut ports: Vec<u64> =
        (0..2).filter_map(|at| made["spec"]["ports"][at]["nodePort"].as_u64()).collect();
    ports.sort_unstable();
    assert_eq!(ports, [31_000, 31_001]);
    let full = services.create("b", json!({"type": "NodePort", "ports": [{"port": 80}]})).await;
    let message = "Internal error occurred: failed to allocate a nodePort: range is full";
    full.is_status(500, "InternalError", message);
}
