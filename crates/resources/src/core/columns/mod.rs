//! The columns of the core group.

use pintle_meta::Value;

use crate::framework::columns::descriptions as doc;
use crate::framework::columns::{AGE, CONTAINERS, Columns, IMAGES, NAME, cell, integer, text, wide};

pub(crate) fn of(kind: &str) -> Option<&'static Columns> {
    Some(match kind {
        "ComponentStatus" => &COMPONENT_STATUS,
        "ConfigMap" => &CONFIG_MAP,
        "Endpoints" => &super::endpoints::ENDPOINTS,
        "Event" => &super::event::columns::EVENT,
        "Namespace" => &NAMESPACE,
        "Node" => &super::node::columns::NODE,
        "PersistentVolume" => &super::persistent_volume::columns::PERSISTENT_VOLUME,
        "PersistentVolumeClaim" => &super::persistent_volume::columns::PERSISTENT_VOLUME_CLAIM,
        "Pod" => &super::pod::columns::POD,
        "PodTemplate" => &POD_TEMPLATE,
        "ReplicationController" => &REPLICATION_CONTROLLER,
        "ResourceQuota" => &super::resource_quota::RESOURCE_QUOTA,
        "Secret" => &SECRET,
        "Service" => &super::service::columns::SERVICE,
        "ServiceAccount" => &SERVICE_ACCOUNT,
        _ => return None,
    })
}

static COMPONENT_STATUS: Columns = Columns::new(
    "core/v1.ComponentStatus",
    &[
        NAME,
        text("Status", "Status of the component conditions"),
        text("Message", "Message of the component conditions"),
        text("Error", "Error of the component conditions"),
    ],
    |object, _, cells| {
        let conditions = object.items_at(&["conditions"]);
        let healthy = conditions.iter().find(|condition| condition.text_at(&["type"]) == "Healthy");
        let status = match healthy.map(|condition| condition.text_at(&["status"])) {
            None => "Unknown",
            Some("True") => "Healthy",
            Some(_) => "Unhealthy",
        };
        let of_it =
            |field: &str| healthy.map_or(Value::literal(""), |condition| cell::text(condition, &[field]));
        cells.extend([cell::name(object), Value::literal(status), of_it("message"), of_it("error")]);
    },
);

static CONFIG_MAP: Columns = Columns::new(
    "core/v1.ConfigMap",
    &[NAME, text("Data", doc::CONFIG_MAP_DATA), AGE],
    |object, context, cells| {
        let data = cell::count(object, &["data"]) + cell::count(object, &["binaryData"]);
        cells.extend([cell::name(object), data.into(), context.age(object)]);
    },
);

static NAMESPACE: Columns = Columns::new(
    "core/v1.Namespace",
    &[NAME, text("Status", "The status of the namespace"), AGE],
    |object, context, cells| {
        cells.extend([cell::name(object), cell::text(object, &["status", "phase"]), context.age(object)]);
    },
);

static POD_TEMPLATE: Columns = Columns::new(
    "core/v1.PodTemplate",
    &[
        NAME,
        text("Containers", doc::CONTAINERS),
        text("Images", doc::IMAGES),
        text("Pod Labels", "The labels for the pod template."),
    ],
    |object, _, cells| {
        cells.push(cell::name(object));
        cells.extend(cell::containers(object, &["template", "spec"]));
        cells.push(cell::labels(object, &["template", "metadata", "labels"]));
    },
);

static REPLICATION_CONTROLLER: Columns = Columns::new(
    "core/v1.ReplicationController",
    &[
        NAME,
        integer("Desired", doc::REPLICATION_CONTROLLER_SPEC_REPLICAS),
        integer("Current", doc::REPLICATION_CONTROLLER_STATUS_REPLICAS),
        integer("Ready", doc::REPLICATION_CONTROLLER_STATUS_READY_REPLICAS),
        AGE,
        CONTAINERS,
        IMAGES,
        wide(text("Selector", doc::REPLICATION_CONTROLLER_SPEC_SELECTOR)),
    ],
    |object, context, cells| {
        cells.extend([
            cell::name(object),
            cell::int(object, &["spec", "replicas"]).into(),
            cell::int(object, &["status", "replicas"]).into(),
            cell::int(object, &["status", "readyReplicas"]).into(),
            context.age(object),
        ]);
        cells.extend(cell::containers(object, &["spec", "template", "spec"]));
        cells.push(cell::labels(object, &["spec", "selector"]));
    },
);

static SECRET: Columns = Columns::new(
    "core/v1.Secret",
    &[NAME, text("Type", doc::SECRET_TYPE), text("Data", doc::SECRET_DATA), AGE],
    |object, context, cells| {
        let data = cell::count(object, &["data"]);
        cells.extend([cell::name(object), cell::text(object, &["type"]), data.into(), context.age(object)]);
    },
);

static SERVICE_ACCOUNT: Columns = Columns::new("core/v1.ServiceAccount", &[NAME, AGE], cell::name_and_age);

#[cfg(test)]
mod tests;
