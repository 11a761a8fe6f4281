//! Horizontal pod autoscalers.

mod metrics;

use pintle_features::Feature;
use pintle_meta::Value;
use pintle_meta::gvk::GroupVersion;
use pintle_meta::validation::path_segment_name;

use crate::apps::workload::non_negative;
use crate::framework::strategy::{Rules, Settings, tree};
use crate::framework::validation::Cursor;

pub(super) const AUTOSCALERS: Rules = Rules {
    unconditional_update: true,
    on_create: |settings, _, autoscaler| drop_tolerance(settings, autoscaler, None),
    on_update: |settings, _, autoscaler, old| drop_tolerance(settings, autoscaler, Some(old)),
    validate,
    validate_update: validate,
    ..Rules::NAMESPACED.with_status()
};

pub(super) const AUTOSCALER_STATUS: Rules = Rules {
    validate_update: |_, autoscaler| {
        non_negative(&autoscaler.field("status"), &["currentReplicas", "desiredReplicas"]);
    },
    ..AUTOSCALERS.of_status()
};

const MAX_PERIOD: i64 = 1800;
const MAX_STABILIZATION_WINDOW: i64 = 3600;

/// Drops tolerances while their feature is off, unless the old object has one.
fn drop_tolerance(settings: &Settings, autoscaler: &mut Value, old: Option<&Value>) {
    const FIELDS: [tree::Path; 2] =
        [&["spec", "behavior", "scaleDown", "tolerance"], &["spec", "behavior", "scaleUp", "tolerance"]];
    let is_used = |old: &Value| FIELDS.iter().any(|field| old.at(field).is_some());
    if settings.features.enabled(Feature::HPAConfigurableTolerance) || old.is_some_and(is_used) {
        return;
    }
    for field in FIELDS {
        tree::remove(autoscaler, field);
    }
}

/// The rules for the version of an object that is referred to.
#[derive(Clone, Copy)]
struct ReferenceOptions {
    allow_invalid_version: bool,
    allow_no_group: bool,
}

fn validate(settings: &Settings, autoscaler: &Cursor<'_, '_>) {
    let spec = autoscaler.field("spec");
    let (min, max) = (spec.field("minReplicas"), spec.field("maxReplicas"));
    let allows_zero = settings.features.enabled(Feature::HPAScaleToZero)
        || min.before().optional_integer().is_some_and(|min| min == 0);
    let least = i64::from(!allows_zero);
    if min.optional_integer().is_some_and(|min| min < least) {
        min.invalid(min.integer(), format!("must be greater than or equal to {least}"));
    }
    if max.integer() == 0 {
        max.required("must be set and greater than 0");
    } else if max.integer() < 0 {
        max.invalid(max.integer(), "must be greater than or equal to 1");
    }
    if min.optional_integer().is_some_and(|min| max.integer() < min) {
        max.invalid(max.integer(), "must be greater than or equal to `minReplicas`");
    }
    let target = spec.field("scaleTargetRef");
    reference(&target, target_options(&target));
    let given = spec.field("metrics");
    metrics::metrics(&given, object_options(&given));
    let scales_to_zero = min.optional_integer() == Some(0);
    let is_of_others = |metric: &Value| matches!(metric.text_at(&["type"]), "Object" | "External");
    if scales_to_zero && !given.values().iter().any(is_of_others) {
        let why = "must specify at least one Object or External metric to support scaling to zero replicas";
        given.forbidden(why);
    }
    let behavior = spec.field("behavior");
    for direction in ["scaleUp", "scaleDown"] {
        let rules = behavior.field(direction);
        if rules.is_set() {
            scaling_rules(&rules);
        }
    }
}

/// Returns the rules for the target: what is stored may stay, and only one kind of the core group has a scale.
fn target_options(target: &Cursor<'_, '_>) -> ReferenceOptions {
    let is_same = !target.field("apiVersion").changed() && !target.field("kind").changed();
    let is_controller = target.field("kind").text() == "ReplicationController";
    ReferenceOptions { allow_invalid_version: is_same, allow_no_group: is_controller }
}

/// Returns the rules for objects of metrics: where a stored one is invalid, all may be.
fn object_options(metrics: &Cursor<'_, '_>) -> ReferenceOptions {
    let is_invalid = |metric: &Value| {
        metric.text_at(&["type"]) == "Object"
            && GroupVersion::parse(metric.text_at(&["object", "describedObject", "apiVersion"])).is_err()
    };
    let allow_invalid_version = metrics.before().values().iter().any(is_invalid);
    ReferenceOptions { allow_invalid_version, allow_no_group: true }
}

/// Checks a reference to an object of any version.
fn reference(reference: &Cursor<'_, '_>, options: ReferenceOptions) {
    for name in ["kind", "name"] {
        let field = reference.field(name);
        if field.is_empty() {
            field.required("");
        } else {
            field.text_format(path_segment_name);
        }
    }
    if options.allow_invalid_version {
        return;
    }
    let version = reference.field("apiVersion");
    match GroupVersion::parse(version.text()) {
        Err(why) => version.invalid(version.text(), why),
        Ok(parsed) if parsed.group.is_empty() && !options.allow_no_group => {
            version.invalid(version.text(), "apiVersion must specify API group");
        }
        Ok(_) => {}
    }
}

fn scaling_rules(rules: &Cursor<'_, '_>) {
    let window = rules.field("stabilizationWindowSeconds");
    if window.integer() < 0 {
        window.invalid(window.integer(), "must be greater than or equal to zero");
    }
    if window.integer() > MAX_STABILIZATION_WINDOW {
        window.invalid(window.integer(), format!("must be less than or equal to {MAX_STABILIZATION_WINDOW}"));
    }
    let select = rules.field("selectPolicy");
    if select.is_set() {
        select.one_of(&["Disabled", "Max", "Min"]);
    }
    let policies = rules.field("policies");
    if policies.is_empty() {
        policies.required("must specify at least one Policy");
    }
    policies.each(scaling_policy);
    rules.field("tolerance").non_negative_quantity();
}

fn scaling_policy(policy: &Cursor<'_, '_>) {
    policy.field("type").one_of(&["Percent", "Pods"]);
    policy.field("value").positive();
    let period = policy.field("periodSeconds");
    period.positive();
    if period.integer() > MAX_PERIOD {
        period.invalid(period.integer(), format!("must be less than or equal to {MAX_PERIOD}"));
    }
}

#[cfg(test)]
mod tests;
