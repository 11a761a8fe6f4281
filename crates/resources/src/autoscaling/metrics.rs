//! Metrics of autoscalers: `v1` (which shows them in annotations only) is flat where `v2` has structs.

use pintle_meta::Value;
use pintle_meta::value::Key;

use super::conversion::{inward, outward};
use crate::framework::conversion::{Error, Fields, Pair};

/// A field of `v1`, and where it is in `v2`.
type Paths = &'static [(&'static str, &'static [&'static str])];

const OBJECT_SOURCE: Paths = &[
    ("target", &["describedObject"]),
    ("metricName", &["metric", "name"]),
    ("targetValue", &["target", "value"]),
    ("selector", &["metric", "selector"]),
    ("averageValue", &["target", "averageValue"]),
];
const PODS_SOURCE: Paths = &[
    ("metricName", &["metric", "name"]),
    ("targetAverageValue", &["target", "averageValue"]),
    ("selector", &["metric", "selector"]),
];
const EXTERNAL_SOURCE: Paths = &[
    ("metricName", &["metric", "name"]),
    ("metricSelector", &["metric", "selector"]),
    ("targetValue", &["target", "value"]),
    ("targetAverageValue", &["target", "averageValue"]),
];
const RESOURCE_SOURCE: Paths = &[
    ("targetAverageUtilization", &["target", "averageUtilization"]),
    ("targetAverageValue", &["target", "averageValue"]),
];
const OBJECT_STATUS: Paths = &[
    ("target", &["describedObject"]),
    ("metricName", &["metric", "name"]),
    ("currentValue", &["current", "value"]),
    ("selector", &["metric", "selector"]),
    ("averageValue", &["current", "averageValue"]),
];
const PODS_STATUS: Paths = &[
    ("metricName", &["metric", "name"]),
    ("currentAverageValue", &["current", "averageValue"]),
    ("selector", &["metric", "selector"]),
];
const EXTERNAL_STATUS: Paths = &[
    ("metricName", &["metric", "name"]),
    ("metricSelector", &["metric", "selector"]),
    ("currentValue", &["current", "value"]),
    ("currentAverageValue", &["current", "averageValue"]),
];
const RESOURCE_STATUS: Paths = &[
    ("currentAverageUtilization", &["current", "averageUtilization"]),
    ("currentAverageValue", &["current", "averageValue"]),
];

pub(super) const METRIC_PAIRS: &[Pair] = &[
    Pair::new("autoscaling/v1.HorizontalPodAutoscaler", "autoscaling/v2.HorizontalPodAutoscaler")
        .inward(inward)
        .outward(outward),
    Pair::new("autoscaling/v1.MetricSpec", "autoscaling/v2.MetricSpec"),
    Pair::new("autoscaling/v1.MetricStatus", "autoscaling/v2.MetricStatus"),
    Pair::new("autoscaling/v1.ObjectMetricSource", "autoscaling/v2.ObjectMetricSource")
        .inward(object_source)
        .outward(|value, out| flatten(OBJECT_SOURCE, value, out)),
    Pair::new("autoscaling/v1.PodsMetricSource", "autoscaling/v2.PodsMetricSource")
        .inward(|value, out| {
            nest(PODS_SOURCE, value, out);
            aim(out, "AverageValue")
        })
        .outward(|value, out| flatten(PODS_SOURCE, value, out)),
    Pair::new("autoscaling/v1.ExternalMetricSource", "autoscaling/v2.ExternalMetricSource")
        .inward(|value, out| {
            nest(EXTERNAL_SOURCE, value, out);
            aim(out, if value.get("targetValue").is_some() { "Value" } else { "AverageValue" })
        })
        .outward(|value, out| flatten(EXTERNAL_SOURCE, value, out)),
    Pair::new("autoscaling/v1.ResourceMetricSource", "autoscaling/v2.ResourceMetricSource")
        .inward(resource_source)
        .outward(|value, out| flatten(RESOURCE_SOURCE, value, out)),
    Pair::new("autoscaling/v1.ContainerResourceMetricSource", "autoscaling/v2.ContainerResourceMetricSource")
        .inward(resource_source)
        .outward(|value, out| flatten(RESOURCE_SOURCE, value, out)),
    Pair::new("autoscaling/v1.ObjectMetricStatus", "autoscaling/v2.ObjectMetricStatus")
        .inward(|value, out| nested(OBJECT_STATUS, value, out))
        .outward(|value, out| flatten(OBJECT_STATUS, value, out)),
    Pair::new("autoscaling/v1.PodsMetricStatus", "autoscaling/v2.PodsMetricStatus")
        .inward(|value, out| nested(PODS_STATUS, value, out))
        .outward(|value, out| flatten(PODS_STATUS, value, out)),
    Pair::new("autoscaling/v1.ExternalMetricStatus", "autoscaling/v2.ExternalMetricStatus")
        .inward(|value, out| nested(EXTERNAL_STATUS, value, out))
        .outward(|value, out| flatten(EXTERNAL_STATUS, value, out)),
    Pair::new("autoscaling/v1.ResourceMetricStatus", "autoscaling/v2.ResourceMetricStatus")
        .inward(|value, out| nested(RESOURCE_STATUS, value, out))
        .outward(|value, out| flatten(RESOURCE_STATUS, value, out)),
    Pair::new("autoscaling/v1.ContainerResourceMetricStatus", "autoscaling/v2.ContainerResourceMetricStatus")
        .inward(|value, out| nested(RESOURCE_STATUS, value, out))
        .outward(|value, out| flatten(RESOURCE_STATUS, value, out)),
];

fn object_source(value: &Value, out: &mut Fields) -> Result<(), Error> {
    nest(OBJECT_SOURCE, value, out);
    if value.get("averageValue").is_none() {
        return aim(out, "Value");
    }
    // It could not be left out in `v1`, and a zero beside an average would be refused.
    if value.text_at(&["targetValue"]) == "0"
        && let Some(target) = out.get_mut("target").and_then(Value::as_object_mut)
    {
        target.remove("value");
    }
    aim(out, "AverageValue")
}

fn resource_source(value: &Value, out: &mut Fields) -> Result<(), Error> {
    nest(RESOURCE_SOURCE, value, out);
    aim(out, if value.get("targetAverageUtilization").is_some() { "Utilization" } else { "AverageValue" })
}

/// Says which kind of target it is.
fn aim(out: &mut Fields, kind: &'static str) -> Result<(), Error> {
    let target = out.get_or_zero("target");
    if let Some(target) = target.and_then(Value::as_object_mut) {
        target.insert(Key::new_static("type"), Value::literal(kind));
    }
    Ok(())
}

fn flatten(paths: Paths, value: &Value, out: &mut Fields) -> Result<(), Error> {
    for (field, path) in paths {
        out.copy(field, value.at(path));
    }
    Ok(())
}

fn nested(paths: Paths, value: &Value, out: &mut Fields) -> Result<(), Error> {
    nest(paths, value, out);
    Ok(())
}

fn nest(paths: Paths, value: &Value, out: &mut Fields) {
    // `target` is something else in either version.
    for (_, path) in paths {
        out.clear(path[0]);
    }
    for (field, path) in paths {
        let Some(found) = value.get(field) else { continue };
        match path {
            [one] => out.set(one, found.clone()),
            [first, second] => {
                if let Some(object) = out.get_or_zero(first).and_then(Value::as_object_mut) {
                    object.insert(Key::new_static(second), found.clone());
                }
            }
            _ => {}
        }
    }
}
