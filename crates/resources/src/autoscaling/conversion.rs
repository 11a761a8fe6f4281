//! Versions of autoscalers: what `v1` has no fields for is JSON in its annotations.

use pintle_codec::json;
use pintle_meta::Value;
use pintle_meta::value::{Key, Layout, Object};
use pintle_schema::{Shape, Type, find};

use super::metrics::METRIC_PAIRS;
use crate::framework::conversion::{
    Error, Fields, Fix, Pair, build, nested, set_annotation, with_metadata, without_annotations,
};

pub(crate) const PAIRS: &[Pair] = METRIC_PAIRS;

pub(crate) const FIXES: &[Fix] =
    &[Fix::new("autoscaling/v2.HorizontalPodAutoscaler").change(drop_annotations)];

const METRICS: &str = "autoscaling.alpha.kubernetes.io/metrics";
const CURRENT_METRICS: &str = "autoscaling.alpha.kubernetes.io/current-metrics";
const CONDITIONS: &str = "autoscaling.alpha.kubernetes.io/conditions";
const BEHAVIOR: &str = "autoscaling.alpha.kubernetes.io/behavior";

/// Annotations that are made by conversions, and therefore not anybody's own.
const ANNOTATIONS: &[&str] = &[
    METRICS,
    CURRENT_METRICS,
    CONDITIONS,
    BEHAVIOR,
    "autoscaling.alpha.kubernetes.io/scale-down-tolerance",
    "autoscaling.alpha.kubernetes.io/scale-up-tolerance",
];

/// What `v1` has always aimed at if nothing was said.
const DEFAULT_UTILIZATION: i64 = 80;

fn drop_annotations(value: &Value) -> Result<Option<Value>, Error> {
    let metadata = value.get("metadata").and_then(|metadata| without_annotations(metadata, ANNOTATIONS));
    Ok(metadata.map(|metadata| with_metadata(value, metadata)))
}

pub(super) fn inward(value: &Value, out: &mut Fields) -> Result<(), Error> {
    let target = value.at(&["spec", "targetCPUUtilizationPercentage"]).and_then(Value::as_i64);
    let mut metrics: Vec<Value> = target.map(cpu_metric).into_iter().collect();
    if let Some(others) = annotated(value, METRICS, "autoscaling/v1.MetricSpec") {
        let mut others = all(&others, "autoscaling/v1.MetricSpec", "autoscaling/v2.MetricSpec")?;
        others.append(&mut metrics);
        metrics = others;
    }
    if metrics.is_empty() {
        metrics.push(cpu_metric(DEFAULT_UTILIZATION));
    }
    let behavior = value.annotation(BEHAVIOR).and_then(read_behavior);
    if let Some(spec) = out.get_or_zero("spec").and_then(Value::as_object_mut) {
        spec.insert(Key::new_static("metrics"), metrics);
        if let Some(behavior) = behavior {
            spec.insert(Key::new_static("behavior"), behavior);
        }
    }

    let current = value.at(&["status", "currentCPUUtilizationPercentage"]).and_then(Value::as_i64);
    let mut current: Option<Vec<Value>> = current.map(|percent| vec![cpu_status(percent)]);
    if let Some(annotated) = annotated(value, CURRENT_METRICS, "autoscaling/v1.MetricStatus") {
        // They say more than the percentage does.
        current = Some(all(&annotated, "autoscaling/v1.MetricStatus", "autoscaling/v2.MetricStatus")?);
    }
    let conditions = annotated(value, CONDITIONS, "autoscaling/v1.HorizontalPodAutoscalerCondition");
    if let Some(status) = out.get_or_zero("status").and_then(Value::as_object_mut) {
        if let Some(current) = current {
            status.insert(Key::new_static("currentMetrics"), current);
        }
        if let Some(conditions) = conditions.filter(|conditions| !conditions.is_empty()) {
            status.insert(Key::new_static("conditions"), conditions);
        }
    }

    if let Some(metadata) =
        out.get("metadata").and_then(|metadata| without_annotations(metadata, ANNOTATIONS))
    {
        out.set("metadata", metadata);
    }
    Ok(())
}

pub(super) fn outward(value: &Value, out: &mut Fields) -> Result<(), Error> {
    let metrics = value.items_at(&["spec", "metrics"]);
    let target = metrics.iter().find_map(|metric| cpu_utilization(metric, "target"));
    if let (Some(target), Some(spec)) = (target, out.get_or_zero("spec").and_then(Value::as_object_mut)) {
        spec.insert(Key::new_static("targetCPUUtilizationPercentage"), target);
    }
    let current = value.items_at(&["status", "currentMetrics"]);
    let percent = current.iter().rev().find_map(|metric| cpu_utilization(metric, "current"));
    if let (Some(percent), Some(status)) = (percent, out.get_or_zero("status").and_then(Value::as_object_mut))
    {
        status.insert(Key::new_static("currentCPUUtilizationPercentage"), percent);
    }

    let others: Vec<Value> =
        metrics.iter().filter(|metric| cpu_utilization(metric, "target").is_none()).cloned().collect();
    let others = all(&others, "autoscaling/v2.MetricSpec", "autoscaling/v1.MetricSpec")?;
    let current = all(current, "autoscaling/v2.MetricStatus", "autoscaling/v1.MetricStatus")?;
    let conditions = value.items_at(&["status", "conditions"]).to_vec();
    let behavior = value.at(&["spec", "behavior"]).map(internal_behavior);
    let Some(metadata) = out.get_or_zero("metadata") else { return Ok(()) };
    for (key, list) in [(METRICS, others), (CURRENT_METRICS, current), (CONDITIONS, conditions)] {
        if !list.is_empty() {
            set_annotation(metadata, key, text(&list.into()));
        }
    }
    if let Some(behavior) = behavior {
        set_annotation(metadata, BEHAVIOR, text(&behavior));
    }
    Ok(())
}

/// The utilization of a metric that `v1` has a field for.
fn cpu_utilization(metric: &Value, field: &str) -> Option<i64> {
    let of_cpu = metric.text_at(&["type"]) == "Resource" && metric.text_at(&["resource", "name"]) == "cpu";
    metric.at(&["resource", field, "averageUtilization"]).and_then(Value::as_i64).filter(|_| of_cpu)
}

fn cpu_metric(percent: i64) -> Value {
    let target = build(
        "autoscaling/v2.MetricTarget",
        [("type", Some("Utilization".into())), ("averageUtilization", Some(percent.into()))],
    );
    let resource = build(
        "autoscaling/v2.ResourceMetricSource",
        [("name", Some("cpu".into())), ("target", Some(target))],
    );
    build("autoscaling/v2.MetricSpec", [("type", Some("Resource".into())), ("resource", Some(resource))])
}

fn cpu_status(percent: i64) -> Value {
    let current = build("autoscaling/v2.MetricValueStatus", [("averageUtilization", Some(percent.into()))]);
    let resource = build(
        "autoscaling/v2.ResourceMetricStatus",
        [("name", Some("cpu".into())), ("current", Some(current))],
    );
    build("autoscaling/v2.MetricStatus", [("type", Some("Resource".into())), ("resource", Some(resource))])
}

fn all(items: &[Value], from: &str, to: &str) -> Result<Vec<Value>, Error> {
    let (Some(from), Some(to)) = (find(from), find(to)) else { return Ok(Vec::new()) };
    items.iter().map(|item| nested(from, to, item)).collect()
}

fn text(value: &Value) -> Value {
    let mut written = Vec::new();
    json::encode(value, &mut written);
    String::from_utf8_lossy(&written).into_owned().into()
}

/// The list in an annotation; `None` if there is none, or none that can be read, which nobody minds.
fn annotated(value: &Value, key: &str, of: &str) -> Option<Vec<Value>> {
    let (text, of) = (value.annotation(key)?, find(of)?);
    let decoded = json::decode_any(text.as_bytes()).ok()?.value;
    if decoded.is_null() {
        return Some(Vec::new());
    }
    decoded.as_list()?.iter().map(|item| read(of, item)).collect()
}

/// Written as the internal type, whose fields have no names but Go's.
fn read_behavior(text: &str) -> Option<Value> {
    let decoded = json::decode_any(text.as_bytes()).ok()?.value;
    let behavior = read(find("autoscaling/v2.HorizontalPodAutoscalerBehavior")?, &decoded)?;
    behavior.as_object().is_some_and(|behavior| !behavior.is_empty()).then_some(behavior)
}

/// JSON as a type of the graph. Go does not mind upper and lower case in the names of fields.
fn read(of: &'static Type, value: &Value) -> Option<Value> {
    let mut written = Vec::new();
    json::encode(&named(of, value), &mut written);
    json::decode(of, &written).ok().map(|decoded| decoded.value)
}

fn named(of: &'static Type, value: &Value) -> Value {
    let (Some(of), Some(object)) = (of.structure(), value.as_object()) else { return value.clone() };
    let fields = object.entries().iter().map(|(key, value)| {
        let known = of.field(key).or_else(|| {
            of.flat
                .iter()
                .copied()
                .find(|field| field.name.eq_ignore_ascii_case(key) && !object.contains(field.name))
        });
        match known {
            Some(field) => (Key::new_static(field.name), named_below(field.shape, value)),
            None => (key.clone(), value.clone()),
        }
    });
    Value::object(Object::from_unsorted(fields.collect()))
}

fn named_below(shape: Shape, value: &Value) -> Value {
    match (shape.underlying(), value.as_list()) {
        (Shape::Pointer(of), _) => named_below(*of, value),
        (Shape::Named(of), _) => named(of, value),
        (Shape::List(of), Some(items)) => {
            items.iter().map(|item| named_below(*of, item)).collect::<Vec<_>>().into()
        }
        _ => value.clone(),
    }
}

static INTERNAL_BEHAVIOR: Layout = Layout { names: &["ScaleUp", "ScaleDown"] };
static INTERNAL_RULES: Layout =
    Layout { names: &["StabilizationWindowSeconds", "SelectPolicy", "Policies", "Tolerance"] };
static INTERNAL_POLICY: Layout = Layout { names: &["Type", "Value", "PeriodSeconds"] };

/// The behavior as the internal type is written.
fn internal_behavior(behavior: &Value) -> Value {
    let names = ["scaleUp", "scaleDown"];
    internal(&INTERNAL_BEHAVIOR, behavior, &names, |_, rules| {
        let names = ["stabilizationWindowSeconds", "selectPolicy", "policies", "tolerance"];
        internal(&INTERNAL_RULES, rules, &names, |_, found| match found.as_list() {
            Some(policies) => {
                let names = ["type", "value", "periodSeconds"];
                let policy =
                    |policy: &Value| internal(&INTERNAL_POLICY, policy, &names, |_, found| found.clone());
                policies.iter().map(policy).collect::<Vec<_>>().into()
            }
            None => found.clone(),
        })
    })
}

fn internal(
    layout: &'static Layout,
    value: &Value,
    names: &[&str],
    below: impl Fn(&str, &Value) -> Value,
) -> Value {
    let entries = layout.names.iter().zip(names).map(|(internal, name)| {
        (Key::new_static(internal), value.get(name).map_or(Value::NULL, |found| below(name, found)))
    });
    Value::object(Object::of_ordered(layout, entries.collect()))
}
