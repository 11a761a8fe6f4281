//! Connections to a kubelet, whole: kubectl and kube-rs, the server, and a kubelet that runs processes of this machine.

mod forward;
mod hostile;
mod kube_rs;
mod logs;
mod proxy;
mod settings;
mod streams;
mod terminals;
mod tokens;

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};

use http::Method;
use pintle_kubelet_testing::{Kubelet, Options};
use pintle_outbound::Kubeconfig;
use pintle_outbound::testing::Authority;
use serde_json::{Value, json};

use crate::support::kubectl::{Kubectl, program_path};
use crate::support::shared::ready;
use crate::support::{Launch, MASTER, Server};

const JSON: (&str, &str) = ("content-type", "application/json");
const MERGE: (&str, &str) = ("content-type", "application/merge-patch+json");

/// A server with a node `n`, whose kubelet is there, and a running pod `web` on it.
struct Cluster {
    server: Server,
    kubelet: Kubelet,
    kubectl: Kubectl,
}

impl Cluster {
    async fn start(flags: &[&str]) -> Cluster {
        Cluster::with(flags, Options::default()).await
    }

    async fn with(flags: &[&str], options: Options) -> Cluster {
        Cluster::launched(Launch::new(), flags, options).await
    }

    /// The kubelet insists on the server's certificate, and the server on the kubelet's.
    async fn launched(launch: Launch, flags: &[&str], options: Options) -> Cluster {
        let clients = Authority::new("clients of kubelets");
        let (certificate, key) = clients.issue(&["apiserver"], |_| {});
        let kubelet = Kubelet::start(Options { clients: Some(clients), ..options }).await;
        let launch = launch.tokens();
        let file = |name: &str, text: &str| {
            let path = launch.path(name);
            std::fs::write(&path, text).expect("a file");
            path.display().to_string()
        };
        let own = [
            format!("--kubelet-certificate-authority={}", file("kubelets.crt", &kubelet.authority.pem)),
            format!("--kubelet-client-certificate={}", file("client.crt", &certificate)),
            format!("--kubelet-client-key={}", file("client.key", &key)),
        ];
        let server = launch.args(&own).args(flags).start().await;
        ready(&server).await;
        let kubectl = Kubectl::of(&server);
        let cluster = Cluster { server, kubelet, kubectl };
        cluster.node("n", cluster.kubelet.address).await;
        cluster.pod("web", json!([{"name": "main", "image": "x"}])).await;
        cluster
    }

    /// Lets the kubelet take part: it runs the pods, and asks the server about tokens.
    fn join(&mut self) {
        let kubeconfig = Kubeconfig::load(&self.server.kubeconfig()).expect("a kubeconfig");
        self.kubelet.join(&kubeconfig, "n");
    }

    /// Every kubectl that is there: the one of the tests, and those of other releases beside it. With `variable` they are there twice, since
    /// it decides whether newer ones speak WebSocket; older ones speak SPDY.
    fn kubectls(&self, variable: Option<&str>) -> Vec<(String, Kubectl)> {
        let of = |path: PathBuf| {
            let kubectl = self.kubectl.clone().program(&path);
            let path = path.display().to_string();
            match variable {
                Some(variable) => ["true", "false"]
                    .map(|value| (format!("{path} {value}"), kubectl.clone().with(variable, value)))
                    .to_vec(),
                None => vec![(path, kubectl)],
            }
        };
        programs().into_iter().flat_map(of).collect()
    }

    async fn send(&self, method: Method, path: &str, kind: (&str, &str), body: &Value) -> Value {
        let client = self.server.client().token(MASTER);
        let answer = client.request(method, path, &[kind], body.to_string()).await;
        assert!(answer.code < 300, "{path}: {}", answer.body);
        serde_json::from_str(&answer.body).expect("JSON")
    }

    /// Makes a node whose kubelet is at an address.
    async fn node(&self, name: &str, address: SocketAddr) {
        let node = json!({"metadata": {"name": name}});
        self.send(Method::POST, "/api/v1/nodes", JSON, &node).await;
        let status = json!({"status": {
            "addresses": [{"type": "InternalIP", "address": address.ip().to_string()}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": address.port()}},
        }});
        self.send(Method::PATCH, &format!("/api/v1/nodes/{name}/status"), MERGE, &status).await;
    }

    /// Makes a pod on the node, which runs.
    async fn pod(&self, name: &str, containers: Value) {
        let pods = "/api/v1/namespaces/default/pods";
        let pod = json!({"metadata": {"name": name, "labels": {"app": name}},
            "spec": {"nodeName": "n", "containers": containers}});
        self.send(Method::POST, pods, JSON, &pod).await;
        let status =
            json!({"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}});
        self.send(Method::PATCH, &format!("{pods}/{name}/status"), MERGE, &status).await;
    }
}

fn programs() -> Vec<PathBuf> {
    let own = program_path();
    let real = std::fs::canonicalize(&own).unwrap_or_else(|_| own.clone());
    let beside = real.parent().map(Path::to_path_buf).unwrap_or_default();
    let mut all = vec![own];
    let entries = std::fs::read_dir(beside).into_iter().flatten().flatten();
    all.extend(entries.map(|entry| entry.path()).filter(|path| {
        path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with("kubectl.1."))
    }));
    all.sort();
    all
}

/// Returns an address of this machine that other machines could have, too: targets on loopback addresses are refused.
pub(crate) fn own_address() -> SocketAddr {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).expect("a socket");
    // Nothing is sent: this only picks the route.
    socket.connect((Ipv4Addr::new(198, 51, 100, 1), 9)).expect("a route");
    SocketAddr::new(socket.local_addr().expect("an address").ip(), 0)
}
