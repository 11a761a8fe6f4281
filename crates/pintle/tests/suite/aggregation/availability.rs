//! The condition of API services of other servers, and its metrics.

use http::Method;
use serde_json::json;

use super::extension_server::{ExtensionServer, Setup};
use super::{API_SERVICES, SERVICES, api_service, available, delete, freshness, merge, post, ready};
use crate::support::{Launch, Server, eventually};

const NAME: &str = "v1.boats.example.com";
const SLICES: &str = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";

async fn becomes(server: &Server, status: &str, reason: &str, message: &str) {
    let mut last = Default::default();
    eventually(reason, async || {
        last = available(server, NAME).await;
        last.1 == reason && (last.0.as_str(), last.2.as_str()) == (status, message)
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_condition_says_what_is_missing() {
    let extension = ExtensionServer::start(Setup::boats()).await;
    let port = extension.address.port();
    let server = Launch::new().arg("--service-cluster-ip-range=127.0.0.0/24").start().await;
    ready(&server).await;
    let service = api_service("boats.example.com", "v1", "boats", port, Some(&extension.authority));
    post(&server, API_SERVICES, &service).await;
    becomes(&server, "False", "ServiceNotFound", "service/boats in \"default\" is not present").await;
    let unavailable = server.admin().get("/apis/boats.example.com/v1/boats").await;
    unavailable.is(503, "service unavailable\n");
    assert_eq!(freshness(&server, "boats.example.com").await, "Stale");

    let ip = "127.0.0.2";
    let ports = json!([{"name": "https", "port": 1}]);
    post(
        &server,
        SERVICES,
        &json!({"metadata": {"name": "boats"}, "spec": {"clusterIP": ip, "ports": ports}}),
    )
    .await;
    let message = format!("service/boats in \"default\" is not listening on port {port}");
    becomes(&server, "False", "ServicePortError", &message).await;
    let ports = json!({"spec": {"ports": [{"name": "https", "port": port}]}});
    merge(&server, &format!("{SERVICES}/boats"), &ports).await;
    let message = "cannot find endpointslices for service/boats in \"default\"";
    becomes(&server, "False", "EndpointsNotFound", message).await;
    let slice = json!({"metadata": {"name": "boats-1", "labels": {"kubernetes.io/service-name": "boats"}},
        "addressType": "IPv4", "ports": [{"name": "https", "port": port}],
        "endpoints": [{"addresses": ["10.1.2.3"], "conditions": {"ready": false}}]});
    post(&server, SLICES, &slice).await;
    let message =
        "endpointslices for service/boats in \"default\" have no addresses with port name \"https\"";
    becomes(&server, "False", "MissingEndpoints", message).await;
    let ready_endpoint = json!({"endpoints": [{"addresses": ["10.1.2.3"], "conditions": {"ready": true}}]});
    merge(&server, &format!("{SLICES}/boats-1"), &ready_endpoint).await;
    becomes(&server, "True", "Passed", "all checks passed").await;
    server.admin().get("/apis/boats.example.com/v1/boats").await.gives(200);
    eventually("discovery", async || freshness(&server, "boats.example.com").await == "Current").await;

    // Its server was asked as one that may ask anything.
    let asked = extension.last("/apis/boats.example.com/v1");
    assert_eq!(asked.all("x-remote-user"), ["system:kube-aggregator"]);
    assert_eq!(asked.all("x-remote-group"), ["system:masters"]);
    let managed = server.admin().get(&format!("{API_SERVICES}/{NAME}")).await.gives(200);
    let managers = managed["metadata"]["managedFields"].as_array().expect("managers").clone();
    assert!(
        managers.iter().any(|found| found["subresource"] == "status" && found["manager"] == "kube-apiserver")
    );

    delete(&server, &format!("{SLICES}/boats-1")).await;
    let message = "cannot find endpointslices for service/boats in \"default\"";
    becomes(&server, "False", "EndpointsNotFound", message).await;
    let metrics = server.admin().get("/metrics").await.body;
    let line = |line: &str| assert!(metrics.lines().any(|found| found == line), "{line}");
    line(&format!("aggregator_unavailable_apiservice{{name=\"{NAME}\"}} 1"));
    line("aggregator_unavailable_apiservice{name=\"v1.apps\"} 0");
    line(&format!(
        "aggregator_unavailable_apiservice_total{{name=\"{NAME}\",reason=\"EndpointsNotFound\"}} 1"
    ));

    delete(&server, &format!("{API_SERVICES}/{NAME}")).await;
    eventually("the group is gone", async || freshness(&server, "boats.example.com").await.is_empty()).await;
    server.admin().get("/apis/boats.example.com/v1/boats").await.is(404, "404 page not found\n");
    let metrics = server.admin().get("/metrics").await.body;
    assert!(!metrics.contains(&format!("aggregator_unavailable_apiservice{{name=\"{NAME}\"}}")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_does_not_answer_is_not_available_until_it_does() {
    let server = Launch::new().start().await;
    ready(&server).await;
    // Nothing listens there.
    let port = crate::support::free_port();
    post(&server, SERVICES, &super::local_service("boats", port)).await;
    post(&server, API_SERVICES, &api_service("boats.example.com", "v1", "boats", port, None)).await;
    let url = format!("https://127.0.0.1:{port}/apis/boats.example.com/v1");
    let message = format!(
        "failing or missing response from {url}: Get \"{url}\": dial tcp 127.0.0.1:{port}: connect: connection refused"
    );
    becomes(&server, "False", "FailedDiscoveryCheck", &message).await;
    server.admin().get("/apis/boats.example.com/v1").await.is(503, "service unavailable\n");

    // A certificate that it does not trust, and one for another name.
    let extension = ExtensionServer::start(Setup::boats()).await;
    let port = extension.address.port();
    delete(&server, &format!("{SERVICES}/boats")).await;
    post(&server, SERVICES, &super::local_service("boats", port)).await;
    let other = crate::support::Authority::new("other");
    let bundle = |pem: &str| {
        use base64::Engine;
        let bundle = base64::engine::general_purpose::STANDARD.encode(pem);
        json!({"spec": {"insecureSkipTLSVerify": null, "caBundle": bundle, "service": {"port": port}}})
    };
    let path = format!("{API_SERVICES}/{NAME}");
    merge(&server, &path, &bundle(&other.pem)).await;
    eventually("the certificate is refused", async || {
        let (status, reason, message) = available(&server, NAME).await;
        status == "False"
            && reason == "FailedDiscoveryCheck"
            && message.contains("tls: failed to verify certificate: x509:")
    })
    .await;
    merge(&server, &path, &bundle(&extension.authority)).await;
    becomes(&server, "True", "Passed", "all checks passed").await;
    merge(&server, &path, &json!({"spec": {"caBundle": null, "insecureSkipTLSVerify": true}})).await;
    assert!(available(&server, NAME).await.0 == "True");
    let answer = server.admin().request(Method::GET, "/apis/boats.example.com/v1/boats", &[], "").await;
    answer.code_is(200);
}
