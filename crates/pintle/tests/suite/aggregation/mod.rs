//! API services of other servers: registration, availability, requests that are passed on, and documents that are merged.

mod availability;
mod black_hole;
mod extension_server;
mod hostile;
mod kubectl;
mod passing_on;
mod registration;
mod ways;

use std::net::SocketAddr;
use std::path::PathBuf;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::Method;
use serde_json::{Value, json};

use self::extension_server::{ExtensionServer, Setup};
use crate::support::objects::{merge, post, send};
use crate::support::{Authority, Identity, Launch, Server, eventually};

const API_SERVICES: &str = "/apis/apiregistration.k8s.io/v1/apiservices";
const SERVICES: &str = "/api/v1/namespaces/default/services";

async fn delete(server: &Server, path: &str) {
    send(server, Method::DELETE, path, &json!({})).await.code_is(200);
}

async fn ready(server: &Server) {
    eventually("readiness", async || server.client().get("/readyz").await.code == 200).await;
    server.until_it_has_namespaces().await;
}

/// Returns the `Available` condition of an APIService: status, reason and message.
async fn available(server: &Server, name: &str) -> (String, String, String) {
    let service = server.admin().get(&format!("{API_SERVICES}/{name}")).await.gives(200);
    let condition = &service["status"]["conditions"][0];
    let text = |field: &str| condition[field].as_str().unwrap_or_default().to_owned();
    (text("status"), text("reason"), text("message"))
}

async fn until_available(server: &Server, name: &str) {
    eventually("the API service is available", async || available(server, name).await.0 == "True").await;
}

/// An APIService behind a service of the namespace `default`. Without an authority, the certificate is not verified.
fn api_service(group: &str, version: &str, service: &str, port: u16, authority: Option<&str>) -> Value {
    let mut spec = json!({"group": group, "version": version, "groupPriorityMinimum": 100, "versionPriority": 100,
        "service": {"namespace": "default", "name": service, "port": port}});
    match authority {
        Some(pem) => spec["caBundle"] = STANDARD.encode(pem).into(),
        None => spec["insecureSkipTLSVerify"] = true.into(),
    }
    json!({"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
        "metadata": {"name": format!("{version}.{group}")}, "spec": spec})
}

/// A service that leads to this machine.
fn local_service(name: &str, port: u16) -> Value {
    json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name},
        "spec": {"type": "ExternalName", "externalName": "127.0.0.1", "ports": [{"port": port}]}})
}

/// Registers what listens at an address.
async fn register(server: &Server, setup: &Setup, address: SocketAddr, authority: Option<&str>) {
    post(server, SERVICES, &local_service(setup.service, address.port())).await;
    let service = api_service(setup.group, setup.version, setup.service, address.port(), authority);
    post(server, API_SERVICES, &service).await;
}

/// Starts an extension server and waits until its API service is available and its resources are known.
async fn extend(server: &Server, setup: Setup) -> ExtensionServer {
    let extension = ExtensionServer::start(setup).await;
    register(server, &extension.setup, extension.address, Some(&extension.authority)).await;
    let Setup { group, version, .. } = extension.setup;
    until_available(server, &format!("{version}.{group}")).await;
    eventually("its resources", async || freshness(server, group).await == "Current").await;
    extension
}

/// Returns the freshness of the first version of a group; empty if there is no such group.
async fn freshness(server: &Server, group: &str) -> String {
    let accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    let all = server.admin().request(Method::GET, "/apis", &[("accept", accept)], "").await.gives(200);
    let items = all["items"].as_array().expect("groups");
    let found = items.iter().find(|item| item["metadata"]["name"] == group);
    found.and_then(|group| group["versions"][0]["freshness"].as_str()).unwrap_or_default().to_owned()
}

/// The flags and the authority of a server that its extension servers know as a front proxy.
struct FrontProxy {
    flags: Vec<String>,
    /// The files of its certificate.
    files: (PathBuf, PathBuf),
    authority: Authority,
}

impl FrontProxy {
    fn new(launch: &Launch) -> FrontProxy {
        let authority = Authority::new("front proxies");
        let trusted = authority.write(launch.dir(), "front-proxies.crt");
        let files = authority.client("front-proxy", &[]).write(launch.dir(), "front-proxy");
        let flags = vec![
            format!("--requestheader-client-ca-file={}", trusted.display()),
            "--requestheader-allowed-names=front-proxy".to_owned(),
            "--requestheader-username-headers=X-Remote-User".to_owned(),
            "--requestheader-group-headers=X-Remote-Group".to_owned(),
            "--requestheader-extra-headers-prefix=X-Remote-Extra-".to_owned(),
            format!("--proxy-client-cert-file={}", files.0.display()),
            format!("--proxy-client-key-file={}", files.1.display()),
        ];
        FrontProxy { flags, files, authority }
    }

    /// Replaces the certificate on disk.
    fn renew(&self, identity: &Identity) {
        std::fs::write(&self.files.0, &identity.certificate).expect("write a certificate");
        std::fs::write(&self.files.1, &identity.key).expect("write a key");
    }
}
