//! Parts that ValidatingAdmissionPolicies and MutatingAdmissionPolicies share: parameters, match constraints, variables.

use pintle_meta::field_path::Value as Printed;
use pintle_meta::selector::ValidationOptions;
use pintle_meta::validation::{dns1035_label, dns1123_subdomain, object_meta, path_segment_name};

use super::expressions::{Compiler, is_identifier, match_conditions};
use super::rules::match_resources;
use super::webhook_configuration::FAILURE_POLICIES;
use crate::framework::validation::Cursor;

const NOT_FOUND_ACTIONS: &[&str] = &["Deny", "Allow"];

/// Checks the parts of a policy's spec up to its match constraints. Further rules of the constraints follow at `constraints`.
pub(super) fn beginning(spec: &Cursor<'_, '_>, constraints: fn(&Cursor<'_, '_>)) {
    spec.field("failurePolicy").required_one_of(FAILURE_POLICIES);
    let kind = spec.field("paramKind");
    if kind.is_set() {
        param_kind(&kind);
    }
    let matches = spec.field("matchConstraints");
    if matches.is_set() {
        match_resources(&matches);
        let rules = matches.field("resourceRules");
        if rules.is_empty() {
            rules.required("");
        }
        constraints(&matches);
    } else {
        matches.required("");
    }
    if spec.field("matchConditions").changed() || kind.changed() {
        match_conditions(&spec.field("matchConditions"), kind.is_set());
    }
}

fn param_kind(kind: &Cursor<'_, '_>) {
    let api_version = kind.field("apiVersion");
    let text = api_version.text();
    match text.split('/').collect::<Vec<_>>().as_slice() {
        [""] => api_version.required(""),
        [version] => group_version(&api_version, "", version),
        ["", ""] => api_version.invalid(text, "version must be specified"),
        [group, version] => group_version(&api_version, group, version),
        _ => api_version.invalid(text, format!("unexpected GroupVersion string: {text}")),
    }
    let name = kind.field("kind");
    if name.is_empty() {
        name.required("");
        return;
    }
    let wrong = dns1035_label(&name.text().to_lowercase());
    if !wrong.is_empty() {
        let why = format!("may have mixed case, but should otherwise match: {}", wrong.join(","));
        name.invalid(name.text(), why);
    }
}

fn group_version(at: &Cursor<'_, '_>, group: &str, version: &str) {
    if !group.is_empty() {
        let wrong = dns1123_subdomain(group);
        if !wrong.is_empty() {
            at.invalid(group, wrong.join(","));
        }
    }
    if version.is_empty() {
        at.invalid(at.text(), "version must be specified");
        return;
    }
    let wrong = dns1035_label(version);
    if !wrong.is_empty() {
        at.invalid(version, wrong.join(","));
    }
}

/// Checks variables and declares them for later expressions.
pub(super) fn variables(variables: &Cursor<'_, '_>, compiler: &mut Compiler) {
    for variable in variables.items() {
        let name = variable.field("name");
        if name.text().trim().is_empty() {
            name.required("name is not specified");
        } else if !is_identifier(name.text()) {
            name.invalid(name.text(), "must be a valid CEL identifier");
        }
        let expression = variable.field("expression");
        if expression.text().trim().is_empty() {
            expression.required("expression is not specified");
        } else {
            compiler.variable(name.text(), &expression);
        }
    }
}

/// Checks the spec of a binding up to the requests that it matches.
pub(super) fn binding(spec: &Cursor<'_, '_>) {
    let policy = spec.field("policyName");
    if policy.is_empty() {
        policy.required("");
    } else {
        policy.text_format(|name| object_meta::subdomain_name(name, false));
    }
    let params = spec.field("paramRef");
    if params.is_set() {
        param_ref(&params);
    }
    match_resources(&spec.field("matchResources"));
}

fn param_ref(params: &Cursor<'_, '_>) {
    const EXCLUSIVE: &str = "name and selector are mutually exclusive";
    let (name, selector) = (params.field("name"), params.field("selector"));
    if !name.is_empty() {
        name.text_format(path_segment_name);
        if selector.is_set() {
            name.forbidden(EXCLUSIVE);
        }
    }
    if selector.is_set() {
        selector.label_selector(ValidationOptions::default());
        if !name.is_empty() {
            selector.forbidden(EXCLUSIVE);
        }
    }
    if name.is_empty() && !selector.is_set() {
        params.required("one of name or selector must be specified");
    }
    let action = params.field("parameterNotFoundAction");
    if action.is_empty() {
        action.required("");
    } else if !NOT_FOUND_ACTIONS.contains(&action.text()) {
        action.not_supported(Printed::json(action.text()), NOT_FOUND_ACTIONS);
    }
}
