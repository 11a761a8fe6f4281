//! ResourceQuotas: limits of what a namespace may use, perhaps only of objects in a scope.

use std::collections::HashSet;

use pintle_meta::field_path::Value as Printed;
use pintle_meta::{Object, Value};

use super::resource_names::{check_amount, check_name, is_standard_in_quota};
use super::strategy::{NAMESPACED, warnings};
use crate::framework::columns::{AGE, Columns, NAME, cell, text};
use crate::framework::strategy::Rules;
use crate::framework::validation::Cursor;

pub(super) const QUOTAS: Rules = Rules {
    returns_deleted_object: true,
    // The status of a new quota is empty.
    validate: |_, quota| spec(&quota.field("spec")),
    validate_update: |_, quota| {
        spec(&quota.field("spec"));
        let scopes = quota.at(&["spec", "scopes"]);
        let set = |scopes: Vec<_>| scopes.into_iter().collect::<HashSet<&str>>();
        if scopes.changed() && set(scopes.texts()) != set(scopes.before().texts()) {
            scopes.invalid(scopes.printed_as(SCOPES), "field is immutable");
        }
    },
    warnings: |_, quota, old| if old.is_none() { warnings::of_quota(quota) } else { Vec::new() },
    ..NAMESPACED.with_status()
};

pub(super) const QUOTA_STATUS: Rules = Rules {
    validate_update: |_, quota| {
        quota.requires_resource_version();
        amounts(&quota.at(&["status", "hard"]));
        amounts(&quota.at(&["status", "used"]));
    },
    ..QUOTAS.of_status()
};

const SCOPES: &str = "[]core.ResourceQuotaScope";
const BEST_EFFORT: &str = "BestEffort";
const NOT_BEST_EFFORT: &str = "NotBestEffort";
const TERMINATING: &str = "Terminating";
const NOT_TERMINATING: &str = "NotTerminating";
const CROSS_NAMESPACE: &str = "CrossNamespacePodAffinity";
const PRIORITY_CLASS: &str = "PriorityClass";
const VOLUME_ATTRIBUTES_CLASS: &str = "VolumeAttributesClass";
/// Scopes that no object may be in together.
const CONFLICTS: &[[&str; 2]] = &[[BEST_EFFORT, NOT_BEST_EFFORT], [NOT_TERMINATING, TERMINATING]];

fn spec(spec: &Cursor<'_, '_>) {
    amounts(&spec.field("hard"));
    scopes(spec);
    if spec.field("scopeSelector").is_set() {
        selector(spec);
    }
}

fn amounts(amounts: &Cursor<'_, '_>) {
    for (name, amount) in amounts.entries() {
        check_name(&amount, name);
        if !name.contains('/') && !is_standard_in_quota(name) {
            amount.invalid(Printed::json(name), "must be a standard resource for quota");
        }
        check_amount(&amount, name);
    }
}

fn is_standard_scope(scope: &str) -> bool {
    [
        BEST_EFFORT,
        NOT_BEST_EFFORT,
        TERMINATING,
        NOT_TERMINATING,
        CROSS_NAMESPACE,
        PRIORITY_CLASS,
        VOLUME_ATTRIBUTES_CLASS,
    ]
    .contains(&scope)
}

/// Returns the number of hard limits on resources that have no such scope.
fn misapplied(spec: &Cursor<'_, '_>, scope: &str) -> usize {
    const COMPUTE: &[&str] =
        &["cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory"];
    let fits = |name: &str| match scope {
        TERMINATING | NOT_TERMINATING | NOT_BEST_EFFORT | PRIORITY_CLASS | CROSS_NAMESPACE => {
            name == "pods" || COMPUTE.contains(&name)
        }
        BEST_EFFORT => name == "pods",
        VOLUME_ATTRIBUTES_CLASS => ["persistentvolumeclaims", "requests.storage"].contains(&name),
        _ => true,
    };
    let hard = spec.field("hard");
    let names = hard.map().into_iter().flat_map(Object::keys);
    names.filter(|name| is_standard_in_quota(name) && !fits(name)).count()
}

/// As [`misapplied`], counted once per scope: a list may repeat scopes as often as fits into a request.
struct Misapplied<'v>(Vec<(&'v str, usize)>);

impl<'v> Misapplied<'v> {
    fn count(&mut self, spec: &Cursor<'_, '_>, scope: &'v str) -> usize {
        if !is_standard_scope(scope) {
            return 0;
        }
        if let Some((_, count)) = self.0.iter().find(|(known, _)| *known == scope) {
            return *count;
        }
        let count = misapplied(spec, scope);
        self.0.push((scope, count));
        count
    }
}

fn scopes(spec: &Cursor<'_, '_>) {
    let scopes = spec.field("scopes");
    let mut misapplied = Misapplied(Vec::new());
    for scope in scopes.items() {
        let scope = scope.text();
        if !is_standard_scope(scope) {
            scopes.invalid(scopes.printed_as(SCOPES), "unsupported scope");
        }
        for _ in 0..misapplied.count(spec, scope) {
            scopes.invalid(scopes.printed_as(SCOPES), "unsupported scope applied to resource");
        }
    }
    let has = |scope: &str| scopes.values().iter().any(|item| item.as_str() == Some(scope));
    for pair in CONFLICTS {
        if pair.iter().all(|scope| has(scope)) {
            scopes.invalid(scopes.printed_as(SCOPES), "conflicting scopes");
        }
    }
}

/// Errors name the list, as in the reference, and not the item.
fn selector(spec: &Cursor<'_, '_>) {
    let selector = spec.field("scopeSelector");
    let expressions = selector.field("matchExpressions");
    let mut misapplied = Misapplied(Vec::new());
    for expression in expressions.items() {
        let text = |field: &str| expression.field(field).text();
        let (scope, operator) = (text("scopeName"), text("operator"));
        if !is_standard_scope(scope) {
            expressions.field("scopeName").invalid(Printed::json(scope), "unsupported scope");
        }
        for _ in 0..misapplied.count(spec, scope) {
            expressions
                .invalid(selector.printed_as("*core.ScopeSelector"), "unsupported scope applied to resource");
        }
        let is_plain = [BEST_EFFORT, NOT_BEST_EFFORT, TERMINATING, NOT_TERMINATING, CROSS_NAMESPACE];
        let at = expressions.field("operator");
        if is_plain.contains(&scope) && operator != "Exists" {
            at.invalid(
                Printed::json(operator),
                "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, \
                 ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity",
            );
        }
        let values = expression.field("values");
        match operator {
            "In" | "NotIn" if values.is_empty() => expressions
                .field("values")
                .required("must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"),
            "Exists" | "DoesNotExist" if !values.is_empty() => expressions.field("values").invalid(
                values.printed_as("[]string"),
                "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector",
            ),
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            _ => at.invalid(Printed::json(operator), "not a valid selector operator"),
        }
    }
    let named = |scope: &str| expressions.values().iter().any(|item| item.text_at(&["scopeName"]) == scope);
    for pair in CONFLICTS {
        if pair.iter().all(|scope| named(scope)) {
            expressions.invalid(spec.field("scopes").printed_as(SCOPES), "conflicting scopes");
        }
    }
}

pub(in crate::core) static RESOURCE_QUOTA: Columns = Columns::new(
    "core/v1.ResourceQuota",
    &[
        NAME,
        text("Request", "Request represents a minimum amount of cpu/memory that a container may consume."),
        text(
            "Limit",
            "Limits control the maximum amount of cpu/memory that a container may use independent of contention on the node.",
        ),
        AGE,
    ],
    |object, context, cells| {
        let (requests, limits) = used(object);
        cells.extend([cell::name(object), requests.into(), limits.into(), context.age(object)]);
    },
);

/// Returns used and hard amounts, limits apart from requests.
fn used(object: &Value) -> (String, String) {
    let (mut requests, mut limits) = (Vec::new(), Vec::new());
    let hard = object.at(&["status", "hard"]).and_then(Value::as_object);
    for resource in hard.into_iter().flat_map(Object::keys) {
        let used = cell::quantity(object, &["status", "used", resource]);
        let hard = cell::quantity(object, &["status", "hard", resource]);
        let column = if resource.starts_with("limits.") { &mut limits } else { &mut requests };
        column.push(format!("{resource}: {used}/{hard}"));
    }
    (requests.join(", "), limits.join(", "))
}

#[cfg(test)]
mod tests;
