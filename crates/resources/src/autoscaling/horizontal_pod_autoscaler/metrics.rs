//! Metrics that an autoscaler follows: one source each, of five types.

use pintle_meta::field_path::Value as Printed;
use pintle_meta::validation::{dns1123_label, path_segment_name, qualified_name};

use super::{ReferenceOptions, reference};
use crate::core::resource_names;
use crate::framework::validation::Cursor;

/// Checks one source, which its metric's `type` may or may not ask for.
type Check = fn(&Cursor<'_, '_>, ReferenceOptions);

/// A type of metric: its name, the field of its source, the rules of that.
struct Source {
    of: &'static str,
    field: &'static str,
    check: Check,
}

/// In the order in which the reference looks at them.
const SOURCES: [Source; 5] = [
    Source { of: "Object", field: "object", check: object },
    Source { of: "External", field: "external", check: |source, _| external(source) },
    Source { of: "Pods", field: "pods", check: |source, _| pods(source) },
    Source { of: "Resource", field: "resource", check: |source, _| resource(source) },
    Source {
        of: "ContainerResource",
        field: "containerResource",
        check: |source, _| container_resource(source),
    },
];
const TYPES: &[&str] = &["ContainerResource", "External", "Object", "Pods", "Resource"];

pub(super) fn metrics(metrics: &Cursor<'_, '_>, options: ReferenceOptions) {
    metrics.each(|item| metric(item, options));
}

fn metric(metric: &Cursor<'_, '_>, options: ReferenceOptions) {
    let of = metric.field("type");
    if of.is_empty() {
        of.required("must specify a metric source type");
    }
    of.one_of(TYPES);
    let mut present = SOURCES.iter().filter(|source| metric.field(source.field).is_set());
    // Of several sources, only the first is looked at.
    if let Some(first) = present.next() {
        (first.check)(&metric.field(first.field), options);
    }
    let expected = SOURCES.iter().find(|source| source.of == of.text()).map(|source| source.field);
    match expected {
        Some(expected) => {
            if !metric.field(expected).is_set() {
                let why = "must populate information for the given metric source";
                metric.field(expected).required(why);
            }
        }
        None => of.one_of(TYPES),
    }
    if present.next().is_none() {
        return;
    }
    let mut others: Vec<&str> = SOURCES.iter().map(|source| source.field).collect();
    others.retain(|field| metric.field(field).is_set() && Some(*field) != expected);
    others.sort_unstable();
    for field in others {
        metric.field(field).forbidden("must populate the given metric source only");
    }
}

fn object(source: &Cursor<'_, '_>, options: ReferenceOptions) {
    reference(&source.field("describedObject"), options);
    identifier(&source.field("metric"));
    let wanted = source.field("target");
    target(&wanted);
    if !wanted.field("value").is_set() && !wanted.field("averageValue").is_set() {
        wanted.field("averageValue").required("must set either a target value or averageValue");
    }
}

fn external(source: &Cursor<'_, '_>) {
    identifier(&source.field("metric"));
    let wanted = source.field("target");
    target(&wanted);
    let (value, average) = (wanted.field("value"), wanted.field("averageValue"));
    match (value.is_set(), average.is_set()) {
        (false, false) => {
            average.required("must set either a target value for metric or a per-pod target");
        }
        (true, true) => {
            value.forbidden("may not set both a target value for metric and a per-pod target");
        }
        _ => {}
    }
}

fn pods(source: &Cursor<'_, '_>) {
    identifier(&source.field("metric"));
    let wanted = source.field("target");
    target(&wanted);
    if !wanted.field("averageValue").is_set() {
        wanted.field("averageValue").required("must specify a positive target averageValue");
    }
}

fn container_resource(source: &Cursor<'_, '_>) {
    let (name, container) = (source.field("name"), source.field("container"));
    if name.is_empty() {
        name.required("must specify a resource name");
    } else {
        resource_name(&name);
    }
    if container.is_empty() {
        container.required("must specify a container");
    } else {
        container.text_format(dns1123_label);
    }
    raw_or_utilization(&source.field("target"));
}

fn resource(source: &Cursor<'_, '_>) {
    let name = source.field("name");
    if name.is_empty() {
        name.required("must specify a resource name");
    }
    raw_or_utilization(&source.field("target"));
}

/// Checks the target of a compute resource: an amount, or a part of what containers request.
fn raw_or_utilization(wanted: &Cursor<'_, '_>) {
    target(wanted);
    let (utilization, average) = (wanted.field("averageUtilization"), wanted.field("averageValue"));
    match (utilization.is_set(), average.is_set()) {
        (false, false) => {
            utilization.required("must set either a target raw value or a target utilization");
        }
        (true, true) => {
            average.forbidden("may not set both a target raw value and a target utilization");
        }
        _ => {}
    }
}

/// Checks the name of a resource of containers. The name shows as text until it is known to be a name.
fn resource_name(field: &Cursor<'_, '_>) {
    let name = field.text();
    let wrong = qualified_name(name);
    let is_qualified = wrong.is_empty();
    for why in wrong {
        field.invalid(name, why);
    }
    let refuse = |why: &str| field.invalid(Printed::json(name), why);
    if name.contains('/') {
        if !resource_names::is_native(name) && !resource_names::is_extended(name) {
            refuse("doesn't follow extended resource name standard");
        }
        return;
    }
    if is_qualified && !resource_names::is_standard(name) {
        refuse("must be a standard resource type or fully qualified");
    }
    if !resource_names::is_standard_for_containers(name) {
        refuse("must be a standard resource for containers");
    }
}

fn identifier(metric: &Cursor<'_, '_>) {
    let name = metric.field("name");
    if name.is_empty() {
        name.required("must specify a metric name");
    } else {
        name.text_format(path_segment_name);
    }
}

fn target(target: &Cursor<'_, '_>) {
    let of = target.field("type");
    if of.is_empty() {
        of.required("must specify a metric target type");
    }
    if !["Utilization", "Value", "AverageValue"].contains(&of.text()) {
        of.invalid(Printed::json(of.text()), "must be either Utilization, Value, or AverageValue");
    }
    for name in ["value", "averageValue"] {
        let field = target.field(name);
        if let Some(quantity) = field.quantity().filter(|quantity| quantity.signum() <= 0) {
            field.invalid(Printed::json(&quantity.to_string()), "must be positive");
        }
    }
    let utilization = target.field("averageUtilization");
    if utilization.optional_integer().is_some_and(|percent| percent < 1) {
        utilization.invalid(utilization.integer(), "must be greater than 0");
    }
}
