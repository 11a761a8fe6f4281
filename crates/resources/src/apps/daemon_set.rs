//! Daemon sets, which count the changes of their templates in an annotation.

use pintle_meta::Value;
use pintle_meta::selector::label::Selector;
use pintle_meta::selector::{LabelSelector, ValidationOptions};

use super::conversion::{TEMPLATE_GENERATION, parse_int};
use super::int_or_percent;
use super::workload::{self, SELECTOR, TEMPLATE, WORKLOADS, about_template, non_negative};
use crate::core::pod;
use crate::core::pod::validation::Options;
use crate::framework::conversion::set_annotation;
use crate::framework::strategy::{Rules, Settings, tree};
use crate::framework::validation::Cursor;

pub(super) const DAEMON_SETS: Rules = Rules {
    on_create: |settings, _, set| {
        workload::new_template(settings, set);
        let generation = template_generation(set);
        set_template_generation(set, generation.max(1));
    },
    on_update: |settings, _, set, old| {
        workload::changed_template(settings, set, old);
        let changed = !tree::is_same(set, old, TEMPLATE);
        set_template_generation(set, template_generation(old) + i64::from(changed));
    },
    validate,
    validate_update: |settings, set| {
        set.at(&["spec", "selector"]).immutable(SELECTOR);
        validate(settings, set);
    },
    warnings: |_, set, old| {
        about_template(set, old.is_none_or(|old| template_generation(old) != template_generation(set)))
    },
    ..WORKLOADS
};

pub(super) const DAEMON_SET_STATUS: Rules = Rules {
    // A field of the spec, although it is written as an annotation.
    on_update: |_, _, set, old| keep_template_generation(set, old),
    validate_update: |_, set| status(&set.field("status")),
    ..WORKLOADS.of_status()
};

/// Returns the number of changes of the template; an annotation, since the field is no more.
fn template_generation(set: &Value) -> i64 {
    set.annotation(TEMPLATE_GENERATION).and_then(|text| parse_int(text).ok()).unwrap_or_default()
}

fn set_template_generation(set: &mut Value, generation: i64) {
    let written = generation.to_string();
    if set.annotation(TEMPLATE_GENERATION) != Some(&written)
        && let Some(metadata) = set.get_mut("metadata")
    {
        set_annotation(metadata, TEMPLATE_GENERATION, written);
    }
}

fn keep_template_generation(set: &mut Value, old: &Value) {
    if [&*set, old].into_iter().any(|set| set.annotation(TEMPLATE_GENERATION).is_some()) {
        set_template_generation(set, template_generation(old));
    }
}

fn validate(settings: &Settings, set: &Cursor<'_, '_>) {
    let mut options = Options::for_template(settings, &set.at(TEMPLATE));
    let spec = set.field("spec");
    let selector = spec.field("selector");
    let old = selector.before();
    options.allow_invalid_label_value_in_selector |=
        old.is_set() && old.value().view::<LabelSelector>().unwrap_or_default().has_invalid_value();
    let given = selector.is_set().then(|| selector.value().view::<LabelSelector>().unwrap_or_default());
    if let Some(given) = &given {
        let allow_invalid_values = options.allow_invalid_label_value_in_selector;
        let options = ValidationOptions { allow_invalid_values, ..ValidationOptions::default() };
        selector.report(given.validate(options, selector.path()));
    }
    let template = spec.field("template");
    let read = given.as_ref().map_or_else(|| Ok(Selector::nothing()), LabelSelector::selector);
    if let Ok(read) = read {
        workload::selects(&read, &template);
    }
    if given.is_some_and(|given| given.match_labels.is_empty() && given.match_expressions.is_empty()) {
        selector.invalid(selector.printed_as(SELECTOR), "empty selector is invalid for daemonset");
    }
    pod::validation::template(&template, &options);
    workload::running_forever(&template, "DaemonSet");
    spec.field("minReadySeconds").non_negative();
    update_strategy(&spec.field("updateStrategy"));
    spec.field("revisionHistoryLimit").non_negative();
}

fn update_strategy(strategy: &Cursor<'_, '_>) {
    match strategy.field("type").text() {
        "OnDelete" => {}
        "RollingUpdate" => rolling_update(&strategy.field("rollingUpdate")),
        _ => {
            let printed = strategy.printed_as("apps.DaemonSetUpdateStrategy");
            strategy.not_supported(printed, &["RollingUpdate", "OnDelete"]);
        }
    }
}

fn rolling_update(update: &Cursor<'_, '_>) {
    let (unavailable, surge) = (update.field("maxUnavailable"), update.field("maxSurge"));
    int_or_percent::positive(&unavailable);
    int_or_percent::positive(&surge);
    int_or_percent::at_most_100_percent(&unavailable);
    int_or_percent::at_most_100_percent(&surge);
    match (int_or_percent::value(&unavailable) != 0, int_or_percent::value(&surge) != 0) {
        (true, true) => {
            surge.invalid(int_or_percent::printed(&surge), "may not be set when maxUnavailable is non-zero");
        }
        (false, false) => unavailable.required("cannot be 0 when maxSurge is 0"),
        _ => {}
    }
}

fn status(status: &Cursor<'_, '_>) {
    non_negative(
        status,
        &[
            "currentNumberScheduled",
            "numberMisscheduled",
            "desiredNumberScheduled",
            "numberReady",
            "observedGeneration",
            "updatedNumberScheduled",
            "numberAvailable",
            "numberUnavailable",
            "collisionCount",
        ],
    );
    workload::collisions(status);
}

#[cfg(test)]
mod tests;
