//! Rules that workloads share: pod templates with their selectors, counts of a status, warnings.

use pintle_meta::Value;
use pintle_meta::field_path::Value as Printed;
use pintle_meta::selector::label::Selector;
use pintle_meta::selector::{LabelSelector, ValidationOptions};
use pintle_meta::validation::dns1123_label;

use crate::core::pod;
use crate::core::pod::validation::Options;
use crate::framework::strategy::{Rules, Settings, tree};
use crate::framework::validation::Cursor;

pub(super) const TEMPLATE: tree::Path = &["spec", "template"];
pub(super) const SELECTOR: &str = "*meta/v1.LabelSelector";
pub(super) const NAMESPACED: Rules = Rules { unconditional_update: true, ..Rules::NAMESPACED };
pub(super) const WORKLOADS: Rules = Rules {
    on_create: |settings, _, workload| new_template(settings, workload),
    on_update: |settings, _, workload, old| changed_template(settings, workload, old),
    ..NAMESPACED.with_status().counting_spec()
};

pub(super) fn new_template(settings: &Settings, workload: &mut Value) {
    pod::drop_disabled_template(&settings.features, workload, None, TEMPLATE);
}

pub(super) fn changed_template(settings: &Settings, workload: &mut Value, old: &Value) {
    pod::drop_disabled_template(&settings.features, workload, Some(old), TEMPLATE);
}

/// Checks a selector that may be neither absent nor empty. Returns it, unless it is no selector.
pub(super) fn selector(selector: &Cursor<'_, '_>, empty: &str, wrong: &str) -> Option<Selector> {
    if !selector.is_set() {
        selector.required("");
        return Some(Selector::nothing());
    }
    let given = selector.value().view::<LabelSelector>().unwrap_or_default();
    selector.report(given.validate(ValidationOptions::default(), selector.path()));
    if given.match_labels.is_empty() && given.match_expressions.is_empty() {
        selector.invalid(selector.printed_as(SELECTOR), empty);
    }
    let read = given.selector().ok();
    if read.is_none() {
        selector.invalid(selector.printed_as(SELECTOR), wrong);
    }
    read
}

/// Checks that a selector selects the pods of a template.
pub(crate) fn selects(selector: &Selector, template: &Cursor<'_, '_>) {
    let labels = template.at(&["metadata", "labels"]);
    if !selector.matches(|key| labels.value().get(key)?.as_str()) {
        let why = "`selector` does not match template `labels`";
        labels.invalid(labels.printed_as("map[string]string"), why);
    }
}

/// Checks the template of a workload with replicas.
pub(super) fn replicated(template: &Cursor<'_, '_>, selector: &Selector, options: &Options) {
    selects(selector, template);
    pod::validation::template(template, options);
    running_forever(template, "ReplicaSet");
}

/// Checks that the pods of a template are to run without end.
pub(super) fn running_forever(template: &Cursor<'_, '_>, kind: &str) {
    let policy = template.at(&["spec", "restartPolicy"]);
    if policy.text() != "Always" {
        policy.not_supported(Printed::json(policy.text()), &["Always"]);
    }
    let deadline = template.at(&["spec", "activeDeadlineSeconds"]);
    if deadline.is_set() {
        deadline.forbidden(format!("activeDeadlineSeconds in {kind} is not Supported"));
    }
}

/// Checks that none of these numbers is negative.
pub(crate) fn non_negative(of: &Cursor<'_, '_>, fields: &[&str]) {
    for field in fields {
        of.field(field).non_negative();
    }
}

/// Checks that a number is not above another of the same status, by the name that the error gives to that.
pub(super) fn not_above(status: &Cursor<'_, '_>, field: &str, limit: &str, named: &str) {
    let count = status.field(field);
    if count.integer() > status.field(limit).integer() {
        count.invalid(count.integer(), format!("cannot be greater than {named}"));
    }
}

/// Checks that the number of collisions did not decrease.
pub(super) fn collisions(status: &Cursor<'_, '_>) {
    let count = status.field("collisionCount");
    let is_below = |old| count.optional_integer().is_none_or(|new| new < old);
    if count.before().optional_integer().is_some_and(is_below) {
        count.invalid(count.integer(), "cannot be decremented");
    }
}

/// Returns the warning about a new object whose name is no label. It becomes a part of its pods' names.
pub(crate) fn name_of_pods(object: &Value, old: Option<&Value>) -> Vec<String> {
    let wrong = if old.is_none() { dns1123_label(object.name()) } else { Vec::new() };
    if wrong.is_empty() {
        return Vec::new();
    }
    let wrong = wrong.join(" ");
    vec![format!(
        "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is \
         recommended: [{wrong}]"
    )]
}

/// Whether an object is of another generation than before.
pub(crate) fn is_counted(object: &Value, old: Option<&Value>) -> bool {
    old.is_none_or(|old| old.generation() != object.generation())
}

/// Returns the warnings about a template, if it is a new one.
pub(super) fn about_template(workload: &Value, is_new: bool) -> Vec<String> {
    if is_new { pod::warnings::of_template(workload, TEMPLATE) } else { Vec::new() }
}

/// Returns the warnings about the pods of a workload: their names and their template.
pub(super) fn about_pods(workload: &Value, old: Option<&Value>) -> Vec<String> {
    let mut warnings = name_of_pods(workload, old);
    warnings.extend(about_template(workload, is_counted(workload, old)));
    warnings
}
