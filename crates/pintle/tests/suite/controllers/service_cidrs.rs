//! ServiceCIDRs are ready, and stay as long as addresses of services need them.

use serde_json::{Value, json};

use super::{delete, is_gone, post, with_controllers};
use crate::support::kubectl::Kubectl;
use crate::support::shared::ready;
use crate::support::{Server, eventually};

const RANGES: &str = "/apis/networking.k8s.io/v1/servicecidrs";
const SERVICES: &str = "/api/v1/namespaces/default/services";

async fn condition(server: &Server, name: &str) -> Value {
    let found = server.admin().get(&format!("{RANGES}/{name}")).await.gives(200);
    found["status"]["conditions"][0].clone()
}

async fn make_range(server: &Server, name: &str, cidr: &str) {
    post(server, RANGES, &json!({"metadata": {"name": name}, "spec": {"cidrs": [cidr]}})).await;
    eventually("it is ready", async || {
        let condition = condition(server, name).await;
        condition["status"] == "True" && condition["message"] == "Kubernetes Service CIDR is ready"
    })
    .await;
}

#[tokio::test]
async fn a_range_stays_while_an_address_needs_it() {
    let server = with_controllers("service-cidr-controller").start().await;
    ready(&server).await;
    make_range(&server, "more", "10.20.0.0/24").await;
    let found = server.admin().get(&format!("{RANGES}/more")).await.gives(200);
    assert_eq!(found["metadata"]["finalizers"], json!(["networking.k8s.io/service-cidr-finalizer"]));
    let service =
        json!({"metadata": {"name": "s"}, "spec": {"clusterIP": "10.20.0.5", "ports": [{"port": 80}]}});
    eventually("a service has an address of it", async || {
        super::send(&server, http::Method::POST, SERVICES, &service).await.code == 201
    })
    .await;
    delete(&server, &format!("{RANGES}/more")).await;
    eventually("the condition", async || {
        let condition = condition(&server, "more").await;
        condition["status"] == "False" && condition["reason"] == "Terminating"
    })
    .await;
    assert_eq!(
        condition(&server, "more").await["message"],
        "There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new ServiceCIDR"
    );
    delete(&server, &format!("{SERVICES}/s")).await;
    eventually("it goes", async || is_gone(&server, &format!("{RANGES}/more")).await).await;
}

#[tokio::test]
async fn a_wider_range_lets_a_narrow_one_go() {
    let server = with_controllers("service-cidr-controller").start().await;
    ready(&server).await;
    make_range(&server, "narrow", "10.20.0.0/28").await;
    let service =
        json!({"metadata": {"name": "s"}, "spec": {"clusterIP": "10.20.0.5", "ports": [{"port": 80}]}});
    eventually("a service has an address of it", async || {
        super::send(&server, http::Method::POST, SERVICES, &service).await.code == 201
    })
    .await;
    let kubectl = Kubectl::of(&server);
    kubectl.ok("delete servicecidr narrow --wait=false").await;
    eventually("it is held", async || condition(&server, "narrow").await["status"] == "False").await;
    make_range(&server, "wide", "10.20.0.0/16").await;
    kubectl.ok("wait --for=delete servicecidr/narrow --timeout=20s").await;
}
