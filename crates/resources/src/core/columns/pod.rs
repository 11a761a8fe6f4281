//! The columns of `Pod`. Most of them sum up its containers, above all the status.

use std::collections::HashMap;

use pintle_codec::table::Completed;
use pintle_meta::Value;
use pintle_meta::time::Time;

use crate::framework::columns::descriptions as doc;
use crate::framework::columns::{AGE, Columns, Context, NAME, cell, text, wide};

pub(super) static POD: Columns = Columns::new(
    "core/v1.Pod",
    &[
        NAME,
        text("Ready", "The aggregate readiness state of this pod for accepting traffic."),
        text("Status", "The aggregate status of the containers in this pod."),
        text("Restarts", "The number of times the containers in this pod have been restarted and when the last container in this pod has restarted."),
        AGE,
        wide(text("IP", doc::POD_STATUS_POD_IP)),
        wide(text("Node", doc::POD_SPEC_NODE_NAME)),
        wide(text("Nominated Node", doc::POD_STATUS_NOMINATED_NODE_NAME)),
        wide(text("Readiness Gates", doc::POD_SPEC_READINESS_GATES)),
    ],
    cells,
)
.completing(|object| match phase(object) {
    "Succeeded" => {
        Some(Completed { reason: "Succeeded", message: "The pod has completed successfully." })
    }
    "Failed" => Some(Completed { reason: "Failed", message: "The pod failed." }),
    _ => None,
});

fn cells(object: &Value, context: &Context, cells: &mut Vec<Value>) {
    let summary = Summary::of(object);
    let sidecars =
        object.items_at(&["spec", "initContainers"]).iter().filter(|container| is_sidecar(container));
    let containers = object.items_at(&["spec", "containers"]).len() + sidecars.count();
    cells.extend([
        cell::name(object),
        format!("{}/{containers}", summary.ready).into(),
        summary.reason.into(),
        summary.restarts.text(context).into(),
        context.age(object),
        ip(object),
        cell::text_unless_empty(object, &["spec", "nodeName"], cell::NONE),
        cell::text_unless_empty(object, &["status", "nominatedNodeName"], cell::NONE),
        readiness_gates(object).into(),
    ]);
}

/// What the containers come to.
struct Summary {
    reason: String,
    /// How many containers are ready.
    ready: usize,
    restarts: Restarts,
}

#[derive(Clone, Copy, Default)]
struct Restarts {
    count: i64,
    /// When the last of the containers that were started again had ended.
    last: Time,
}

impl Restarts {
    fn add(&mut self, status: &Value) {
        self.count += cell::int(status, &["restartCount"]);
        self.last = self.last.max(cell::time(status.at(&["lastState", "terminated", "finishedAt"])));
    }

    fn text(self, context: &Context) -> String {
        match self.count == 0 || self.last.is_zero() {
            true => self.count.to_string(),
            false => format!("{} ({} ago)", self.count, context.since_time(&self.last)),
        }
    }
}

impl Summary {
    fn of(object: &Value) -> Summary {
        let conditions = object.items_at(&["status", "conditions"]);
        let Initialization { waits_for, ready, restarts, sidecar_restarts } = Initialization::of(object);
        let initialized = waits_for.is_none() || cell::has_condition(conditions, "Initialized", "True");
        let reason = waits_for.unwrap_or_else(|| given_reason(object, conditions).into());
        let mut summary = Summary { reason, ready, restarts };
        if initialized {
            // What has done its work is no longer counted.
            summary.restarts = sidecar_restarts;
            summary.add_containers(object, conditions);
        }
        if object.deletion_timestamp().is_some() {
            if object.text_at(&["status", "reason"]) == "NodeLost" {
                summary.reason = "Unknown".into();
            } else if !matches!(phase(object), "Succeeded" | "Failed") {
                summary.reason = "Terminating".into();
            }
        }
        summary
    }

    /// From the last to the first, so that the first one's trouble is what is shown.
    fn add_containers(&mut self, object: &Value, conditions: &[Value]) {
        let (mut running, mut error) = (false, None);
        for status in object.items_at(&["status", "containerStatuses"]).iter().rev() {
            self.restarts.add(status);
            let waiting = status.text_at(&["state", "waiting", "reason"]);
            if !waiting.is_empty() {
                self.reason = waiting.into();
            } else if let Some(terminated) = terminated(status) {
                self.reason = ending(terminated);
                if cell::int(terminated, &["exitCode"]) != 0 {
                    error = Some(self.reason.clone());
                }
            } else if cell::flag(status, &["ready"], false) && cell::has(status, &["state", "running"]) {
                running = true;
                self.ready += 1;
            }
        }
        if self.reason == "Completed" {
            // As long as one of them runs, the pod has not completed.
            let is_ready = |condition: &Value| {
                condition.text_at(&["type"]) == "Ready" && condition.text_at(&["status"]) == "True"
            };
            if running && conditions.iter().any(is_ready) {
                self.reason = "Running".into();
            } else if let Some(error) = error {
                self.reason = error;
            } else if running {
                self.reason = "NotReady".into();
            }
        }
    }
}

/// How far the init containers are.
#[derive(Default)]
struct Initialization {
    /// The state of the first that is not done, if there is one.
    waits_for: Option<String>,
    /// How many sidecars are ready.
    ready: usize,
    restarts: Restarts,
    /// Of those that go on running beside the pod's containers.
    sidecar_restarts: Restarts,
}

impl Initialization {
    fn of(object: &Value) -> Initialization {
        let mut found = Initialization::default();
        let containers = object.items_at(&["spec", "initContainers"]);
        let named: HashMap<&str, &Value> =
            containers.iter().map(|container| (container.text_at(&["name"]), container)).collect();
        for (place, status) in object.items_at(&["status", "initContainerStatuses"]).iter().enumerate() {
            let sidecar = named.get(status.text_at(&["name"])).is_some_and(|container| is_sidecar(container));
            found.restarts.add(status);
            if sidecar {
                found.sidecar_restarts.add(status);
            }
            let terminated = terminated(status);
            if terminated.is_some_and(|terminated| cell::int(terminated, &["exitCode"]) == 0) {
                continue;
            }
            if sidecar && cell::flag(status, &["started"], false) {
                found.ready += usize::from(cell::flag(status, &["ready"], false));
                continue;
            }
            found.waits_for = Some(match (terminated, status.text_at(&["state", "waiting", "reason"])) {
                (Some(terminated), _) => format!("Init:{}", ending(terminated)),
                (None, "" | "PodInitializing") => format!("Init:{place}/{}", containers.len()),
                (None, reason) => format!("Init:{reason}"),
            });
            break;
        }
        found
    }
}

fn phase(object: &Value) -> &str {
    object.text_at(&["status", "phase"])
}

/// What the status says of the pod as a whole.
fn given_reason<'a>(object: &'a Value, conditions: &[Value]) -> &'a str {
    const GATED: &str = "SchedulingGated";
    let is_gated = |condition: &Value| {
        condition.text_at(&["type"]) == "PodScheduled" && condition.text_at(&["reason"]) == GATED
    };
    if conditions.iter().any(is_gated) {
        return GATED;
    }
    match object.text_at(&["status", "reason"]) {
        "" => phase(object),
        reason => reason,
    }
}

fn terminated(status: &Value) -> Option<&Value> {
    status.at(&["state", "terminated"]).filter(|terminated| !terminated.is_null())
}

/// Why a container has ended.
fn ending(terminated: &Value) -> String {
    let number = |field| cell::int(terminated, &[field]);
    match (terminated.text_at(&["reason"]), number("signal")) {
        ("", 0) => format!("ExitCode:{}", number("exitCode")),
        ("", signal) => format!("Signal:{signal}"),
        (reason, _) => reason.into(),
    }
}

/// Whether an init container goes on running beside the others.
fn is_sidecar(container: &Value) -> bool {
    container.text_at(&["restartPolicy"]) == "Always"
}

/// The older of the two fields decides where kubelets have set only that one.
fn ip(object: &Value) -> Value {
    let first = || object.items_at(&["status", "podIPs"]).first().map(|ip| ip.text_at(&["ip"]));
    let ip = match object.text_at(&["status", "podIP"]) {
        "" => first().unwrap_or_default(),
        ip => ip,
    };
    if ip.is_empty() { Value::literal(cell::NONE) } else { ip.into() }
}

fn readiness_gates(object: &Value) -> String {
    let gates = object.items_at(&["spec", "readinessGates"]);
    if gates.is_empty() {
        return cell::NONE.into();
    }
    let conditions = object.items_at(&["status", "conditions"]);
    let open = |gate: &&Value| cell::has_condition(conditions, gate.text_at(&["conditionType"]), "True");
    format!("{}/{}", gates.iter().filter(open).count(), gates.len())
}
