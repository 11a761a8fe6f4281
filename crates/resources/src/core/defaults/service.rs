//! Defaults of services.

use pintle_meta::{Node, Value};

use crate::framework::defaults::Place;

/// How long a client stays with its endpoint: three hours.
const AFFINITY_SECONDS: i64 = 10_800;

pub(super) fn service(service: &mut Place<'_>) {
    service.within("spec", |spec| {
        spec.default("sessionAffinity", "None");
        match spec.text("sessionAffinity") {
            "None" => spec.clear("sessionAffinityConfig"),
            "ClientIP" => session_affinity(spec),
            _ => {}
        }
        spec.default("type", "ClusterIP");
        spec.each("ports", port);
        traffic_policies(spec);
        if spec.text("type") == "LoadBalancer" {
            spec.default("allocateLoadBalancerNodePorts", true);
        }
    });
    if service.get("spec").is_some_and(|spec| spec.text_at(&["type"]) == "LoadBalancer") {
        service.within("status", |status| {
            status.within("loadBalancer", |balancer| balancer.each("ingress", ip_mode));
        });
    }
}

/// A configuration without a timeout is replaced as a whole.
fn session_affinity(spec: &mut Place<'_>) {
    let timeout =
        spec.get("sessionAffinityConfig").and_then(|config| config.at(&["clientIP", "timeoutSeconds"]));
    if timeout.is_none_or(Value::is_null) {
        spec.clear("sessionAffinityConfig");
        spec.make("sessionAffinityConfig", |config| {
            config.make("clientIP", |client| client.set("timeoutSeconds", AFFINITY_SECONDS));
        });
    }
}

fn port(port: &mut Place<'_>) {
    port.default("protocol", "TCP");
    let target = port.get("targetPort").map(Value::node);
    if matches!(target, None | Some(Node::Int(0) | Node::String("") | Node::Null)) {
        let number = port.number("port");
        port.set("targetPort", number);
    }
}

fn traffic_policies(spec: &mut Place<'_>) {
    let internal = matches!(spec.text("type"), "ClusterIP" | "NodePort" | "LoadBalancer");
    let external = match spec.text("type") {
        "LoadBalancer" | "NodePort" => true,
        "ClusterIP" => !spec.items("externalIPs").is_empty(),
        _ => false,
    };
    if external {
        spec.default("externalTrafficPolicy", "Cluster");
    }
    if internal {
        spec.default("internalTrafficPolicy", "Cluster");
    }
}

fn ip_mode(ingress: &mut Place<'_>) {
    if !ingress.text("ip").is_empty() {
        ingress.default("ipMode", "VIP");
    }
}
