//! The columns of `Service`.

use pintle_meta::Value;

use crate::framework::columns::descriptions as doc;
use crate::framework::columns::{AGE, Columns, NAME, cell, text, wide};

pub(super) static SERVICE: Columns = Columns::new(
    "core/v1.Service",
    &[
        NAME,
        text("Type", doc::SERVICE_SPEC_TYPE),
        text("Cluster-IP", doc::SERVICE_SPEC_CLUSTER_IP),
        text("External-IP", doc::SERVICE_SPEC_EXTERNAL_IPS),
        text("Port(s)", doc::SERVICE_SPEC_PORTS),
        AGE,
        wide(text("Selector", doc::SERVICE_SPEC_SELECTOR)),
    ],
    |object, context, cells| {
        cells.extend([
            cell::name(object),
            cell::text(object, &["spec", "type"]),
            cell::texts(object, &["spec", "clusterIPs"]).next().unwrap_or(cell::NONE).into(),
            external(object).into(),
            ports(object).into(),
            context.age(object),
            cell::labels(object, &["spec", "selector"]),
        ]);
    },
);

fn external(object: &Value) -> String {
    let external: Vec<&str> = cell::texts(object, &["spec", "externalIPs"]).collect();
    match object.text_at(&["spec", "type"]) {
        "ClusterIP" | "NodePort" if external.is_empty() => cell::NONE.into(),
        "ClusterIP" | "NodePort" => external.join(","),
        "LoadBalancer" => {
            let balancer = cell::load_balancer(object);
            match (balancer.is_empty(), external.is_empty()) {
                (true, true) => "<pending>".into(),
                (false, true) => balancer,
                (true, false) => external.join(","),
                (false, false) => format!("{balancer},{}", external.join(",")),
            }
        }
        "ExternalName" => object.text_at(&["spec", "externalName"]).into(),
        _ => cell::UNKNOWN.into(),
    }
}

fn ports(object: &Value) -> String {
    let port = |port: &Value| {
        let (number, protocol) = (cell::int(port, &["port"]), port.text_at(&["protocol"]));
        match cell::int(port, &["nodePort"]) {
            node_port if node_port > 0 => format!("{number}:{node_port}/{protocol}"),
            _ => format!("{number}/{protocol}"),
        }
    };
    match object.items_at(&["spec", "ports"]) {
        [] => cell::NONE.into(),
        ports => ports.iter().map(port).collect::<Vec<_>>().join(","),
    }
}
