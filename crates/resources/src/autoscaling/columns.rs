//! The columns of `HorizontalPodAutoscaler` and of `Scale`.

use pintle_meta::Value;

use crate::framework::columns::descriptions as doc;
use crate::framework::columns::{AGE, Columns, NAME, cell, integer, text};

pub(crate) fn of(kind: &str) -> Option<&'static Columns> {
    Some(match kind {
        "HorizontalPodAutoscaler" => &HORIZONTAL_POD_AUTOSCALER,
        "Scale" => &SCALE,
        _ => return None,
    })
}

static HORIZONTAL_POD_AUTOSCALER: Columns = Columns::new(
    "autoscaling/v2.HorizontalPodAutoscaler",
    &[
        NAME,
        text("Reference", doc::HORIZONTAL_POD_AUTOSCALER_SPEC_SCALE_TARGET_REF),
        text("Targets", doc::HORIZONTAL_POD_AUTOSCALER_SPEC_METRICS),
        text("MinPods", doc::HORIZONTAL_POD_AUTOSCALER_SPEC_MIN_REPLICAS),
        text("MaxPods", doc::HORIZONTAL_POD_AUTOSCALER_SPEC_MAX_REPLICAS),
        text("Replicas", doc::HORIZONTAL_POD_AUTOSCALER_STATUS_CURRENT_REPLICAS),
        AGE,
    ],
    |object, context, cells| {
        let target = |field| object.text_at(&["spec", "scaleTargetRef", field]);
        let least = object.at(&["spec", "minReplicas"]).and_then(Value::as_i64);
        cells.extend([
            cell::name(object),
            format!("{}/{}", target("kind"), target("name")).into(),
            targets(object).into(),
            least.map_or(cell::UNSET.into(), |least| least.to_string()).into(),
            cell::int(object, &["spec", "maxReplicas"]).into(),
            cell::int(object, &["status", "currentReplicas"]).into(),
            context.age(object),
        ]);
    },
);

static SCALE: Columns = Columns::new(
    "autoscaling/v1.Scale",
    &[
        text("Name", doc::NAME),
        integer("Desired", doc::SCALE_SPEC_REPLICAS),
        integer("Available", doc::SCALE_STATUS_REPLICAS),
        AGE,
    ],
    |object, context, cells| {
        cells.extend([
            cell::name(object),
            cell::int(object, &["spec", "replicas"]).into(),
            cell::int(object, &["status", "replicas"]).into(),
            context.age(object),
        ]);
    },
);

/// How many metrics are shown.
const MOST: usize = 2;

/// What each metric is and what it should be.
fn targets(object: &Value) -> String {
    let specs = object.items_at(&["spec", "metrics"]);
    let statuses = object.items_at(&["status", "currentMetrics"]);
    if specs.is_empty() {
        return cell::NONE.into();
    }
    let shown = specs.iter().take(MOST).enumerate();
    let shown: Vec<String> = shown.map(|(place, spec)| target(spec, statuses.get(place))).collect();
    let text = shown.join(", ");
    match specs.len() > MOST {
        true => format!("{text} + {} more...", specs.len() - MOST),
        false => text,
    }
}

fn target(spec: &Value, status: Option<&Value>) -> String {
    // The part of specification and status that belongs to this kind of metric.
    let part = match spec.text_at(&["type"]) {
        "External" => "external",
        "Pods" => "pods",
        "Object" => "object",
        "Resource" => "resource",
        "ContainerResource" => "containerResource",
        _ => return "<unknown type>".into(),
    };
    let spec = spec.get(part).unwrap_or(&Value::NULL);
    let status = status.and_then(|status| status.get(part)).filter(|status| !status.is_null());
    let current = Current { status };
    let by_average = cell::has(spec, &["target", "averageValue"]);
    match part {
        "external" | "object" if by_average => {
            format!("{}/{} (avg)", current.known("averageValue"), wanted(spec, "averageValue"))
        }
        "external" | "object" => format!("{}/{}", current.quantity("value"), wanted(spec, "value")),
        "pods" => format!("{}/{}", current.quantity("averageValue"), wanted(spec, "averageValue")),
        _ => {
            let name = spec.text_at(&["name"]);
            match by_average {
                true => {
                    format!("{name}: {}/{}", current.quantity("averageValue"), wanted(spec, "averageValue"))
                }
                false => {
                    let wanted = spec.at(&["target", "averageUtilization"]).and_then(Value::as_i64);
                    let wanted = wanted.map_or("<auto>".into(), |percent| format!("{percent}%"));
                    format!("{name}: {}/{wanted}", current.utilization())
                }
            }
        }
    }
}

/// What a quantity that is not there looks like in Go.
const NIL: &str = "<nil>";

fn wanted<'a>(spec: &'a Value, field: &str) -> &'a str {
    spec.at(&["target", field]).and_then(Value::as_str).unwrap_or(NIL)
}

struct Current<'a> {
    status: Option<&'a Value>,
}

impl<'a> Current<'a> {
    /// Unknown without a status; one without this value is somebody's mistake and shown as such.
    fn quantity(&self, field: &str) -> &'a str {
        match self.status {
            None => cell::UNKNOWN,
            Some(status) => status.at(&["current", field]).and_then(Value::as_str).unwrap_or(NIL),
        }
    }

    /// Unknown without a status and without this value in it.
    fn known(&self, field: &str) -> &'a str {
        match self.quantity(field) {
            NIL => cell::UNKNOWN,
            known => known,
        }
    }

    fn utilization(&self) -> String {
        let percent = self.status.and_then(|status| status.at(&["current", "averageUtilization"])?.as_i64());
        percent.map_or(cell::UNKNOWN.into(), |percent| format!("{percent}%"))
    }
}

#[cfg(test)]
mod tests {
    use crate::framework::columns::testing::check;

    const KIND: &str = "autoscaling/v2.HorizontalPodAutoscaler";

    fn targets(metrics: &str, current: &str, shown: &str) {
        let object = format!(
            r#"{{"metadata":{{"name":"h"}},"spec":{{"scaleTargetRef":{{"kind":"Deployment","name":"d"}},
                "maxReplicas":9,"metrics":[{metrics}]}},
                "status":{{"currentReplicas":4,"currentMetrics":[{current}]}}}}"#
        );
        check(KIND, &object, &format!(r#"["h","Deployment/d",{shown:?},"<unset>",9,4,"<unknown>"]"#));
    }

    #[test]
    fn an_autoscaler_without_metrics() {
        let object = r#"{"metadata":{"name":"h"},"spec":{"minReplicas":2,"maxReplicas":5}}"#;
        check(KIND, object, r#"["h","/","<none>","2",5,0,"<unknown>"]"#);
    }

    #[test]
    fn metrics_by_value() {
        for part in ["external", "object"] {
            let kind = if part == "external" { "External" } else { "Object" };
            let spec = |target: &str| {
                format!(r#"{{"type":"{kind}","{part}":{{"target":{{"type":"Value",{target}}}}}}}"#)
            };
            let status =
                |current: &str| format!(r#"{{"type":"{kind}","{part}":{{"current":{{{current}}}}}}}"#);
            targets(&spec(r#""value":"100m""#), "", "<unknown>/100m");
            targets(&spec(r#""value":"100m""#), &status(r#""value":"50m""#), "50m/100m");
            targets(&spec(r#""value":"100m""#), &status(""), "<nil>/100m");
            targets(&spec(r#""averageValue":"100m""#), "", "<unknown>/100m (avg)");
            targets(&spec(r#""averageValue":"100m""#), &status(""), "<unknown>/100m (avg)");
            targets(&spec(r#""averageValue":"100m""#), &status(r#""averageValue":"50m""#), "50m/100m (avg)");
        }
    }

    #[test]
    fn metrics_of_pods() {
        let spec = r#"{"type":"Pods","pods":{"target":{"type":"AverageValue","averageValue":"100m"}}}"#;
        targets(spec, "", "<unknown>/100m");
        targets(spec, r#"{"type":"Pods","pods":{"current":{"averageValue":"50m"}}}"#, "50m/100m");
    }

    #[test]
    fn metrics_of_resources() {
        for (kind, part) in [("Resource", "resource"), ("ContainerResource", "containerResource")] {
            let spec = |target: &str| {
                format!(r#"{{"type":"{kind}","{part}":{{"name":"cpu","target":{{"type":"X"{target}}}}}}}"#)
            };
            let status = |current: &str| {
                format!(r#"{{"type":"{kind}","{part}":{{"name":"cpu","current":{{{current}}}}}}}"#)
            };
            targets(&spec(r#","averageValue":"100m""#), "", "cpu: <unknown>/100m");
            targets(&spec(r#","averageValue":"1""#), &status(r#""averageValue":"50m""#), "cpu: 50m/1");
            targets(&spec(r#","averageUtilization":80"#), "", "cpu: <unknown>/80%");
            targets(
                &spec(r#","averageUtilization":80"#),
                &status(r#""averageUtilization":50"#),
                "cpu: 50%/80%",
            );
            targets(&spec(""), "", "cpu: <unknown>/<auto>");
        }
    }

    #[test]
    fn the_first_two_of_many_metrics_are_shown() {
        let cpu =
            r#"{"type":"Resource","resource":{"name":"cpu","target":{"type":"U","averageUtilization":8}}}"#;
        let other = r#"{"type":"Other"}"#;
        targets(&format!("{cpu},{other},{cpu},{cpu}"), "", "cpu: <unknown>/8%, <unknown type> + 2 more...");
    }

    #[test]
    fn a_scale_shows_what_is_wanted_and_what_there_is() {
        let object = r#"{"metadata":{"name":"s"},"spec":{"replicas":2},"status":{"replicas":1}}"#;
        check("autoscaling/v1.Scale", object, r#"["s",2,1,"<unknown>"]"#);
    }
}
