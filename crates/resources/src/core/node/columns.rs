//! The columns of nodes.

use std::collections::BTreeSet;

use pintle_meta::Value;

use crate::framework::columns::descriptions as doc;
use crate::framework::columns::{AGE, Columns, NAME, cell, text, wide};

pub(in crate::core) static NODE: Columns = Columns::new(
    "core/v1.Node",
    &[
        NAME,
        text("Status", "The status of the node"),
        text("Roles", "The roles of the node"),
        AGE,
        text("Version", doc::NODE_SYSTEM_INFO_KUBELET_VERSION),
        wide(text("Internal-IP", doc::NODE_STATUS_ADDRESSES)),
        wide(text("External-IP", doc::NODE_STATUS_ADDRESSES)),
        wide(text("OS-Image", doc::NODE_SYSTEM_INFO_OS_IMAGE)),
        wide(text("Kernel-Version", doc::NODE_SYSTEM_INFO_KERNEL_VERSION)),
        wide(text("Container-Runtime", doc::NODE_SYSTEM_INFO_CONTAINER_RUNTIME_VERSION)),
    ],
    |object, context, cells| {
        let info = |field| cell::text_unless_empty(object, &["status", "nodeInfo", field], cell::UNKNOWN);
        cells.extend([
            cell::name(object),
            status(object).into(),
            roles(object).into(),
            context.age(object),
            cell::text(object, &["status", "nodeInfo", "kubeletVersion"]),
            address(object, "InternalIP"),
            address(object, "ExternalIP"),
            info("osImage"),
            kernel(object, info("kernelVersion")),
            info("containerRuntimeVersion"),
        ]);
    },
);

fn status(object: &Value) -> String {
    // Should there be several of the type, the last one counts.
    let conditions = object.items_at(&["status", "conditions"]).iter();
    let ready = conditions.rev().find(|condition| condition.text_at(&["type"]) == "Ready");
    let mut status = String::from(match ready.map(|condition| condition.text_at(&["status"])) {
        None => "Unknown",
        Some("True") => "Ready",
        Some(_) => "NotReady",
    });
    if cell::flag(object, &["spec", "unschedulable"], false) {
        status.push_str(",SchedulingDisabled");
    }
    status
}

/// Roles are labels: `node-role.kubernetes.io/ROLE` with any value, or `kubernetes.io/role: ROLE`.
fn roles(object: &Value) -> String {
    let role = |(key, value)| match str::strip_prefix(key, "node-role.kubernetes.io/") {
        Some(role) => Some(role),
        None if key == "kubernetes.io/role" => Some(value),
        None => None,
    };
    let roles: BTreeSet<&str> =
        Value::labels(object).filter_map(role).filter(|role| !role.is_empty()).collect();
    if roles.is_empty() { cell::NONE.into() } else { roles.into_iter().collect::<Vec<_>>().join(",") }
}

fn address(object: &Value, kind: &str) -> Value {
    let mut addresses = object.items_at(&["status", "addresses"]).iter();
    let found = addresses.find(|address| address.text_at(&["type"]) == kind);
    found.map_or(Value::literal(cell::NONE), |address| cell::text(address, &["address"]))
}

fn kernel(object: &Value, version: Value) -> Value {
    match object.text_at(&["status", "nodeInfo", "architecture"]) {
        "" => version,
        architecture => format!("{} ({architecture})", version.as_str().unwrap_or_default()).into(),
    }
}
