//! The columns of workloads: deployments and their like.

use pintle_meta::Value;

use crate::framework::columns::descriptions as doc;
use crate::framework::columns::{AGE, CONTAINERS, Columns, IMAGES, NAME, cell, integer, text, wide};

pub(crate) fn of(kind: &str) -> Option<&'static Columns> {
    Some(match kind {
        "ControllerRevision" => &CONTROLLER_REVISION,
        "DaemonSet" => &DAEMON_SET,
        "Deployment" => &DEPLOYMENT,
        "ReplicaSet" => &REPLICA_SET,
        "StatefulSet" => &STATEFUL_SET,
        _ => return None,
    })
}

const POD: &[&str] = &["spec", "template", "spec"];
const SELECTOR: &[&str] = &["spec", "selector"];

static CONTROLLER_REVISION: Columns = Columns::new(
    "apps/v1.ControllerRevision",
    &[
        NAME,
        text("Controller", "Controller of the object"),
        text("Revision", doc::CONTROLLER_REVISION_REVISION),
        AGE,
    ],
    |object, context, cells| {
        cells.extend([
            cell::name(object),
            controller(object).into(),
            cell::int(object, &["revision"]).into(),
            context.age(object),
        ]);
    },
);

static DAEMON_SET: Columns = Columns::new(
    "apps/v1.DaemonSet",
    &[
        NAME,
        integer("Desired", doc::DAEMON_SET_STATUS_DESIRED_NUMBER_SCHEDULED),
        integer("Current", doc::DAEMON_SET_STATUS_CURRENT_NUMBER_SCHEDULED),
        integer("Ready", doc::DAEMON_SET_STATUS_NUMBER_READY),
        integer("Up-to-date", doc::DAEMON_SET_STATUS_UPDATED_NUMBER_SCHEDULED),
        integer("Available", doc::DAEMON_SET_STATUS_NUMBER_AVAILABLE),
        text("Node Selector", doc::POD_SPEC_NODE_SELECTOR),
        AGE,
        CONTAINERS,
        IMAGES,
        wide(text("Selector", doc::DAEMON_SET_SPEC_SELECTOR)),
    ],
    |object, context, cells| {
        cells.push(cell::name(object));
        let numbers = [
            "desiredNumberScheduled",
            "currentNumberScheduled",
            "numberReady",
            "updatedNumberScheduled",
            "numberAvailable",
        ];
        cells.extend(numbers.map(|field| Value::from(cell::int(object, &["status", field]))));
        cells.extend([
            cell::labels(object, &["spec", "template", "spec", "nodeSelector"]),
            context.age(object),
        ]);
        cells.extend(cell::containers(object, POD));
        cells.push(cell::selector(object, SELECTOR));
    },
);

static DEPLOYMENT: Columns = Columns::new(
    "apps/v1.Deployment",
    &[
        NAME,
        text("Ready", "Number of the pod with ready state"),
        text("Up-to-date", doc::DEPLOYMENT_STATUS_UPDATED_REPLICAS),
        text("Available", doc::DEPLOYMENT_STATUS_AVAILABLE_REPLICAS),
        AGE,
        CONTAINERS,
        IMAGES,
        wide(text("Selector", doc::DEPLOYMENT_SPEC_SELECTOR)),
    ],
    |object, context, cells| {
        cells.extend([
            cell::name(object),
            ready(object).into(),
            cell::int(object, &["status", "updatedReplicas"]).into(),
            cell::int(object, &["status", "availableReplicas"]).into(),
            context.age(object),
        ]);
        cells.extend(cell::containers(object, POD));
        cells.push(deployment_selector(object).into());
    },
);

static REPLICA_SET: Columns = Columns::new(
    "apps/v1.ReplicaSet",
    &[
        NAME,
        integer("Desired", doc::REPLICA_SET_SPEC_REPLICAS),
        integer("Current", doc::REPLICA_SET_STATUS_REPLICAS),
        integer("Ready", doc::REPLICA_SET_STATUS_READY_REPLICAS),
        AGE,
        CONTAINERS,
        IMAGES,
        wide(text("Selector", doc::REPLICA_SET_SPEC_SELECTOR)),
    ],
    |object, context, cells| {
        cells.extend([
            cell::name(object),
            cell::int(object, &["spec", "replicas"]).into(),
            cell::int(object, &["status", "replicas"]).into(),
            cell::int(object, &["status", "readyReplicas"]).into(),
            context.age(object),
        ]);
        cells.extend(cell::containers(object, POD));
        cells.push(cell::selector(object, SELECTOR));
    },
);

static STATEFUL_SET: Columns = Columns::new(
    "apps/v1.StatefulSet",
    &[NAME, text("Ready", "Number of the pod with ready state"), AGE, CONTAINERS, IMAGES],
    |object, context, cells| {
        cells.extend([cell::name(object), ready(object).into(), context.age(object)]);
        cells.extend(cell::containers(object, POD));
    },
);

fn ready(object: &Value) -> String {
    let (ready, wanted) =
        (cell::int(object, &["status", "readyReplicas"]), cell::int(object, &["spec", "replicas"]));
    format!("{ready}/{wanted}")
}

/// Deployments show an empty selector as nothing at all, unlike the others.
fn deployment_selector(object: &Value) -> String {
    match cell::label_selector(object, SELECTOR).map(|selector| selector.selector()) {
        None => String::new(),
        Some(Ok(selector)) => selector.to_string(),
        Some(Err(_)) => "<invalid>".into(),
    }
}

/// `kind.group/name` of the controlling owner. Validation has made sure that its `apiVersion` is one.
fn controller(object: &Value) -> String {
    let is_controller = |owner: &&Value| cell::flag(owner, &["controller"], false);
    let Some(owner) = object.owner_references().iter().find(is_controller) else {
        return cell::NONE.into();
    };
    let (name, gvk) = (owner.text_at(&["name"]), owner.group_version_kind());
    match (gvk.kind.as_str(), gvk.group.as_str()) {
        ("", "") => name.into(),
        (kind, "") => format!("{}/{name}", cell::lower(kind)),
        (kind, group) => format!("{}/{name}", cell::lower(&format!("{kind}.{group}"))),
    }
}

#[cfg(test)]
mod tests {
    use crate::framework::columns::testing::check;

    #[test]
    fn deployments_show_what_is_ready_of_what_is_wanted() {
        let object = r#"{"metadata":{"name":"d","creationTimestamp":"2026-01-01T00:00:00Z"},
            "spec":{"replicas":3,"selector":{"matchLabels":{"app":"x"}},
                "template":{"spec":{"containers":[{"name":"a","image":"i:1"},{"name":"b","image":"j"}]}}},
            "status":{"readyReplicas":2,"updatedReplicas":3,"availableReplicas":1}}"#;
        check("apps/v1.Deployment", object, r#"["d","2/3",3,1,"10d","a,b","i:1,j","app=x"]"#);
    }

    #[test]
    fn selectors_that_select_everything_or_are_wrong_are_shown_as_each_kind_does() {
        for (selector, deployment, replica_set) in [
            ("null", "", "<none>"),
            ("{}", "", "<none>"),
            (r#"{"matchExpressions":[{"key":"k","operator":"Nope"}]}"#, "<invalid>", "<error>"),
            (
                r#"{"matchExpressions":[{"key":"k","operator":"In","values":["b","a"]}]}"#,
                "k in (a,b)",
                "k in (a,b)",
            ),
        ] {
            let object = format!(r#"{{"metadata":{{"name":"d"}},"spec":{{"selector":{selector}}}}}"#);
            let cells = format!(r#"["d","0/0",0,0,"<unknown>","","",{deployment:?}]"#);
            check("apps/v1.Deployment", &object, &cells);
            let cells = format!(r#"["d",0,0,0,"<unknown>","","",{replica_set:?}]"#);
            check("apps/v1.ReplicaSet", &object, &cells);
        }
    }

    #[test]
    fn daemon_sets_count_nodes() {
        let object = r#"{"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"b":"2","a":"1"}},
                "template":{"spec":{"nodeSelector":{"a":"1","a-b":"2"},"containers":[{"name":"c","image":"i"}]}}},
            "status":{"desiredNumberScheduled":5,"currentNumberScheduled":4,"numberReady":3,
                "updatedNumberScheduled":2,"numberAvailable":1}}"#;
        check("apps/v1.DaemonSet", object, r#"["d",5,4,3,2,1,"a-b=2,a=1","<unknown>","c","i","a=1,b=2"]"#);
    }

    #[test]
    fn stateful_and_replica_sets() {
        let object = r#"{"metadata":{"name":"s"},"spec":{"replicas":2,
                "template":{"spec":{"containers":[{"name":"c","image":"i"}]}}},
            "status":{"replicas":2,"readyReplicas":1}}"#;
        check("apps/v1.StatefulSet", object, r#"["s","1/2","<unknown>","c","i"]"#);
        check("apps/v1.ReplicaSet", object, r#"["s",2,2,1,"<unknown>","c","i","<none>"]"#);
    }

    #[test]
    fn a_revision_names_its_controller() {
        for (owners, shown) in [
            ("[]", "<none>"),
            (r#"[{"apiVersion":"apps/v1","kind":"DaemonSet","name":"d","uid":"u"}]"#, "<none>"),
            (
                r#"[{"apiVersion":"apps/v1","kind":"DaemonSet","name":"d","uid":"u","controller":true}]"#,
                "daemonset.apps/d",
            ),
            (r#"[{"apiVersion":"v1","kind":"Pod","name":"p","uid":"u","controller":true}]"#, "pod/p"),
        ] {
            let object = format!(r#"{{"metadata":{{"name":"r","ownerReferences":{owners}}},"revision":3}}"#);
            check("apps/v1.ControllerRevision", &object, &format!(r#"["r",{shown:?},3,"<unknown>"]"#));
        }
    }
}
