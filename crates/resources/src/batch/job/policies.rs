//! Policies of jobs: which failures of pods count, and when a job has succeeded.

use std::collections::HashSet;

use pintle_meta::field_path::Value as Printed;
use pintle_meta::validation::qualified_name;

use super::indexes;
use crate::framework::validation::Cursor;

const MAX_RULES: usize = 20;
const MAX_EXIT_CODES: usize = 255;
const MAX_CONDITIONS: usize = 20;
const MAX_SUCCEEDED_INDEXES: usize = 64 * 1024;

/// Checks the rules about failed pods of a job with this spec.
pub(super) fn pod_failure_policy(policy: &Cursor<'_, '_>, spec: &Cursor<'_, '_>) {
    let rules = policy.field("rules");
    if rules.len() > MAX_RULES {
        rules.too_many(MAX_RULES);
    }
    let mut containers = HashSet::new();
    for list in ["containers", "initContainers"] {
        let items = spec.at(&["template", "spec", list]).values();
        containers.extend(items.iter().map(|container| container.text_at(&["name"])));
    }
    let has_limit_per_index = spec.field("backoffLimitPerIndex").is_set();
    rules.each(|rule| failure_rule(rule, has_limit_per_index, &containers));
}

fn failure_rule(rule: &Cursor<'_, '_>, has_limit_per_index: bool, containers: &HashSet<&str>) {
    let action = rule.field("action");
    match action.text() {
        "" => action.required(r#"valid values: ["Count" "FailIndex" "FailJob" "Ignore"]"#),
        "FailIndex" => {
            if !has_limit_per_index {
                let why = "requires the backoffLimitPerIndex to be set";
                action.invalid(Printed::json(action.text()), why);
            }
        }
        _ => action.one_of(&["Count", "FailIndex", "FailJob", "Ignore"]),
    }
    let (codes, conditions) = (rule.field("onExitCodes"), rule.field("onPodConditions"));
    if codes.is_set() {
        exit_codes(&codes, containers);
    }
    pod_conditions(&conditions);
    let why = match (codes.is_set(), !conditions.is_empty()) {
        (true, true) => "specifying both OnExitCodes and OnPodConditions is not supported",
        (false, false) => "specifying one of OnExitCodes and OnPodConditions is required",
        _ => return,
    };
    rule.invalid(Printed::Omitted, why);
}

fn exit_codes(codes: &Cursor<'_, '_>, containers: &HashSet<&str>) {
    let operator = codes.field("operator");
    if operator.is_empty() {
        operator.required(r#"valid values: ["In" "NotIn"]"#);
    } else {
        operator.one_of(&["In", "NotIn"]);
    }
    let container = codes.field("containerName");
    if container.optional_text().is_some_and(|name| !containers.contains(name)) {
        let why = "must be one of the container or initContainer names in the pod template";
        container.invalid(container.text(), why);
    }
    let values = codes.field("values");
    if values.is_empty() {
        values.invalid(values.printed_as("[]int32"), "at least one value is required");
    } else if values.len() > MAX_EXIT_CODES {
        values.too_many(MAX_EXIT_CODES);
    }
    let mut seen = HashSet::new();
    let mut is_ordered = true;
    let mut last = i64::MIN;
    for value in values.items() {
        let code = value.integer();
        if operator.text() == "In" && code == 0 {
            value.invalid(code, "must not be 0 for the In operator");
        }
        if !seen.insert(code) {
            value.duplicate(code);
        }
        is_ordered &= last <= code;
        last = code;
    }
    if !is_ordered {
        values.invalid(values.printed_as("[]int32"), "must be ordered");
    }
}

fn pod_conditions(conditions: &Cursor<'_, '_>) {
    if conditions.len() > MAX_CONDITIONS {
        conditions.too_many(MAX_CONDITIONS);
    }
    for pattern in conditions.items() {
        pattern.field("type").text_format(qualified_name);
        pattern.field("status").one_of(&["False", "True", "Unknown"]);
    }
}

/// Checks the rules by which an indexed job with this spec has succeeded.
pub(super) fn success_policy(policy: &Cursor<'_, '_>, spec: &Cursor<'_, '_>) {
    let rules = policy.field("rules");
    if rules.is_empty() {
        rules.required("at least one rules must be specified when the successPolicy is specified");
    }
    if rules.len() > MAX_RULES {
        rules.too_many(MAX_RULES);
    }
    let completions = spec.field("completions").optional_integer();
    rules.each(|rule| success_rule(rule, completions));
}

fn success_rule(rule: &Cursor<'_, '_>, completions: Option<i64>) {
    let (count, indexes) = (rule.field("succeededCount"), rule.field("succeededIndexes"));
    if !count.is_set() && !indexes.is_set() {
        rule.required("at least one of succeededCount or succeededIndexes must be specified");
    }
    // Their absence has been reported, and the reference panics here.
    let Some(completions) = completions else { return };
    let mut total = 0;
    if indexes.is_set() {
        if indexes.text().len() > MAX_SUCCEEDED_INDEXES {
            indexes.too_long(MAX_SUCCEEDED_INDEXES);
        }
        match indexes::count(indexes.text(), completions) {
            Ok(found) => total = found,
            Err(why) => indexes.invalid(indexes.text(), format!("error parsing succeededIndexes: {why}")),
        }
    }
    if let Some(wanted) = count.optional_integer() {
        count.non_negative();
        let at_most = |limit: i64, of: &str| {
            if wanted > limit {
                count.invalid(wanted, format!("must be less than or equal to {limit} (the number of {of})"));
            }
        };
        at_most(completions, "specified completions");
        if indexes.is_set() {
            at_most(total, "indexes in the specified succeededIndexes field");
        }
    }
}

#[cfg(test)]
mod tests;
