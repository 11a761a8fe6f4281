//! ValidatingAdmissionPolicies and their bindings.

use std::collections::HashSet;

use pintle_definitions::json_path::JsonPath;
use pintle_meta::field_path::Value as Printed;
use pintle_meta::validation::qualified_name;

use super::expressions::Compiler;
use super::policy;
use super::strategy::{RULES, check_static_name};
use crate::framework::strategy::{MetadataRecheck, Rules};
use crate::framework::validation::Cursor;

const ACTIONS: &[&str] = &["Audit", "Deny", "Warn"];
const REASONS: &[&str] = &["Forbidden", "Invalid", "RequestEntityTooLarge"];
const MOST_AUDIT_ANNOTATIONS: usize = 20;
/// Limit of an audit annotation's expression; its value may be twice as long.
const MOST_VALUE_EXPRESSION: usize = 5 * 1024;

pub(super) const POLICIES: Rules = Rules {
    validate: |settings, policy| {
        validate(policy);
        check_static_name(settings, policy);
    },
    validate_update: |_, policy| validate(policy),
    ..RULES.with_status().counting_spec()
};

pub(super) const POLICY_STATUS: Rules = Rules {
    recheck: MetadataRecheck::None,
    warnings: RULES.warnings,
    validate_update: |_, policy| status(&policy.field("status")),
    ..POLICIES.of_status_alone()
};

pub(super) const BINDINGS: Rules = Rules {
    validate: |settings, binding| {
        validate_binding(&binding.field("spec"));
        check_static_name(settings, binding);
    },
    validate_update: |_, binding| validate_binding(&binding.field("spec")),
    ..RULES.counting_spec()
};

fn validate(policy: &Cursor<'_, '_>) {
    let spec = policy.field("spec");
    policy::beginning(&spec, |_| {});
    let variables = spec.field("variables");
    let mut compiler = Compiler::new(spec.field("paramKind").is_set(), !variables.is_empty());
    policy::variables(&variables, &mut compiler);
    let (validations, annotations) = (spec.field("validations"), spec.field("auditAnnotations"));
    if validations.is_empty() && annotations.is_empty() {
        const WHY: &str = "validations or auditAnnotations must contain at least one item";
        validations.required(WHY);
        annotations.required(WHY);
        return;
    }
    for validation in validations.items() {
        validate_validation(&validation, &compiler);
    }
    if annotations.len() > MOST_AUDIT_ANNOTATIONS {
        let why = format!("must not have more than {MOST_AUDIT_ANNOTATIONS} auditAnnotations");
        annotations.invalid(annotations.printed_as("[]admissionregistration.AuditAnnotation"), why);
    }
    let name = policy.at(&["metadata", "name"]);
    let mut keys = HashSet::new();
    for annotation in annotations.items() {
        audit_annotation(&annotation, name.text(), &compiler);
        let key = annotation.field("key");
        if !keys.insert(key.text()) {
            key.duplicate(key.text());
        }
    }
}

fn validate_validation(validation: &Cursor<'_, '_>, compiler: &Compiler) {
    let expression = validation.field("expression");
    if expression.text().trim().is_empty() {
        expression.required("expression is not specified");
    } else {
        compiler.condition(&expression, expression.text());
    }
    let of_message = validation.field("messageExpression");
    if !of_message.is_empty() {
        if of_message.text().trim().is_empty() {
            of_message.invalid(of_message.text(), "must be non-empty if specified");
        } else {
            compiler.message(&of_message);
        }
    }
    let message = validation.field("message");
    let text = message.text().trim();
    if !message.is_empty() && text.is_empty() {
        message.invalid(message.text(), "must be non-empty if specified");
    } else if text.contains(['\n', '\r']) {
        message.invalid(message.text(), "must not contain line breaks");
    }
    let reason = validation.field("reason");
    if reason.is_set() {
        reason.one_of(REASONS);
    }
}

fn audit_annotation(annotation: &Cursor<'_, '_>, policy: &str, compiler: &Compiler) {
    let key = annotation.field("key");
    if policy.is_empty() {
        key.invalid(key.text(), "requires metadata.name be non-empty");
    } else {
        let name = format!("{policy}/{}", key.text());
        for why in qualified_name(&name) {
            key.invalid(name.as_str(), why);
        }
    }
    let value = annotation.field("valueExpression");
    let text = value.text().trim();
    if text.is_empty() {
        value.required("valueExpression is not specified");
    } else if text.len() > MOST_VALUE_EXPRESSION {
        value.required(format!("must not exceed {MOST_VALUE_EXPRESSION} bytes in length"));
    } else {
        compiler.audit_annotation(&value);
    }
}

fn status(status: &Cursor<'_, '_>) {
    for warning in status.at(&["typeChecking", "expressionWarnings"]).items() {
        let text = warning.field("warning");
        if text.is_empty() {
            text.required("");
        }
        let reference = warning.field("fieldRef");
        let path = reference.text().trim();
        if path.is_empty() {
            reference.required("");
        } else if let Err(why) = JsonPath::parse(path) {
            reference.invalid(path, format!("invalid JSONPath: {why}"));
        }
    }
    status.field("conditions").conditions();
}

fn validate_binding(spec: &Cursor<'_, '_>) {
    policy::binding(spec);
    let actions = spec.field("validationActions");
    let mut seen = HashSet::new();
    for action in actions.items() {
        action.one_of(ACTIONS);
        if !seen.insert(action.text()) {
            action.duplicate(Printed::json(action.text()));
        }
    }
    if seen.contains("Deny") && seen.contains("Warn") {
        let why = "must not contain both Deny and Warn (repeating the same validation failure information in the API \
                   response and headers serves no purpose)";
        actions.invalid(actions.printed_as("[]string"), why);
    }
    if seen.is_empty() {
        actions.required("at least one validation action is required");
    }
}
