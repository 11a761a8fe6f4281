//! FlowSchemas: which requests belong to which priority level.

use pintle_meta::field_path::{Error, Path};
use pintle_meta::validation::{dns1123_label, dns1123_subdomain};

use super::bootstrap;
use super::strategy::{RESOURCE, STATUS_OF_RESOURCE, conditions};
use crate::framework::strategy::Rules;
use crate::framework::validation::Cursor;

pub(super) const FLOW_SCHEMAS: Rules = Rules {
    validate: |_, schema| validate(schema),
    validate_update: |_, schema| validate(schema),
    ..RESOURCE
};

pub(super) const STATUS: Rules = Rules {
    validate_update: |_, schema| conditions(&schema.at(&["status", "conditions"])),
    ..STATUS_OF_RESOURCE
};

const MAX_PRECEDENCE: i64 = 10_000;
/// Sorted, as errors list them.
const VERBS: &[&str] =
    &["create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"];
const ALL: &str = "*";

fn validate(schema: &Cursor<'_, '_>) {
    let spec = schema.field("spec");
    let name = schema.at(&["metadata", "name"]).text();
    validate_spec(&spec, name);
    if bootstrap::flow_schema(name).is_some_and(|fixed| fixed != *spec.value()) {
        let why = format!("spec of '{name}' must equal the fixed value");
        spec.invalid(spec.printed_as("flowcontrol.FlowSchemaSpec"), why);
    }
    conditions(&schema.at(&["status", "conditions"]));
}

fn validate_spec(spec: &Cursor<'_, '_>, name: &str) {
    let precedence = spec.field("matchingPrecedence");
    let value = precedence.integer();
    if value <= 0 {
        precedence.invalid(value, "must be a positive value");
    }
    if value > MAX_PRECEDENCE {
        precedence.invalid(value, format!("must not be greater than {MAX_PRECEDENCE}"));
    }
    if value == 1 && name != bootstrap::EXEMPT {
        precedence.invalid(value, "only the schema named 'exempt' may have matchingPrecedence 1");
    }
    let method = spec.field("distinguisherMethod");
    if method.is_set() && !["ByNamespace", "ByUser"].contains(&method.field("type").text()) {
        let printed = method.printed_as("*flowcontrol.FlowDistinguisherMethod");
        method.field("type").not_supported(printed, &["ByNamespace", "ByUser"]);
    }
    let level = spec.at(&["priorityLevelConfiguration", "name"]);
    if level.is_empty() {
        level.required("must reference a priority level");
    } else {
        level.text_format(dns1123_subdomain);
    }
    spec.field("rules").each(|rule| validate_rule(rule));
}

fn validate_rule(rule: &Cursor<'_, '_>) {
    let subjects = rule.field("subjects");
    if subjects.is_empty() {
        subjects.required("subjects must contain at least one value");
    }
    subjects.each(|subject| validate_subject(subject));
    let (resources, others) = (rule.field("resourceRules"), rule.field("nonResourceRules"));
    if resources.is_empty() && others.is_empty() {
        rule.required("at least one of resourceRules and nonResourceRules has to be non-empty");
    }
    resources.each(|rule| validate_resource_rule(rule));
    others.each(|rule| validate_non_resource_rule(rule));
}

fn validate_subject(subject: &Cursor<'_, '_>) {
    // In the order in which errors name those that must not be there.
    const KINDS: [(&str, &str); 3] =
        [("ServiceAccount", "serviceAccount"), ("User", "user"), ("Group", "group")];
    let kind = subject.field("kind");
    let Some((_, own)) = KINDS.iter().find(|(known, _)| *known == kind.text()) else {
        return kind.one_of(&["Group", "ServiceAccount", "User"]);
    };
    validate_named(&subject.field(own), kind.text());
    for (other, field) in KINDS.iter().filter(|(known, _)| *known != kind.text()) {
        let member = subject.field(field);
        if member.is_set() {
            member.forbidden(format!("{field} is forbidden when subject kind is not '{other}'"));
        }
    }
}

/// Checks the part of a subject that its kind asks for.
fn validate_named(subject: &Cursor<'_, '_>, kind: &str) {
    if !subject.is_set() {
        let field = match kind {
            "ServiceAccount" => "serviceAccount",
            "User" => "user",
            _ => "group",
        };
        return subject.required(format!("{field} is required when subject kind is '{kind}'"));
    }
    let name = subject.field("name");
    if name.is_empty() {
        name.required("");
    }
    if kind == "ServiceAccount" {
        if !name.is_empty() && name.text() != ALL {
            name.text_format(dns1123_subdomain);
        }
        let namespace = subject.field("namespace");
        if namespace.is_empty() {
            namespace.required("must specify namespace for service account");
        } else {
            namespace.text_format(dns1123_label);
        }
    }
}

fn validate_resource_rule(rule: &Cursor<'_, '_>) {
    validate_verbs(&rule.field("verbs"));
    for (field, one, others) in
        [("apiGroups", "api group", "api groups"), ("resources", "resource", "resources")]
    {
        let list = rule.field(field);
        if list.is_empty() {
            list.required(format!("resource rules must supply at least one {one}"));
        } else {
            check_alone(&list, others);
        }
    }
    let namespaces = rule.field("namespaces");
    if namespaces.is_empty() && !rule.field("clusterScope").flag() {
        namespaces.required("resource rules that are not cluster scoped must supply at least one namespace");
    } else if has_all(&namespaces) {
        check_alone(&namespaces, "namespaces");
    } else {
        let format = |text: &str| -> Vec<String> {
            let wrong = dns1123_label(text).into_iter();
            wrong
                .map(|why| format!("each member of this list must be '*' or a DNS-1123 label; {why}"))
                .collect()
        };
        namespaces.each(|namespace| namespace.text_format(format));
    }
}

fn validate_non_resource_rule(rule: &Cursor<'_, '_>) {
    validate_verbs(&rule.field("verbs"));
    let urls = rule.field("nonResourceURLs");
    if urls.is_empty() {
        urls.required("nonResourceURLs must contain at least one value");
    } else if has_all(&urls) {
        check_alone(&urls, "non-resource URLs");
    } else {
        urls.each(|url| url.text_check(url_path));
    }
}

fn validate_verbs(verbs: &Cursor<'_, '_>) {
    if verbs.is_empty() {
        verbs.required("verbs must contain at least one value");
    } else if has_all(verbs) {
        check_alone(verbs, "verbs");
    } else if !verbs.values().iter().all(|verb| VERBS.contains(&verb.as_str().unwrap_or_default())) {
        verbs.not_supported(verbs.printed_as("[]string"), VERBS);
    }
}

fn has_all(list: &Cursor<'_, '_>) -> bool {
    list.values().iter().any(|item| item.as_str() == Some(ALL))
}

/// Checks that an item that stands for all is the only one.
fn check_alone(list: &Cursor<'_, '_>, others: &str) {
    if list.len() > 1 && has_all(list) {
        let why = format!("if '*' is present, must not specify other {others}");
        list.invalid(list.printed_as("[]string"), why);
    }
}

/// Checks the path of requests that are for no resource; a wildcard stands for its last part.
fn url_path(path: &Path<'_>, url: &str) -> Option<Error> {
    let why = match url {
        "" => "must not be empty",
        "/" => return None,
        _ if !url.starts_with('/') => "must start with slash",
        _ if url.contains(' ') => "must not contain white-space",
        _ if url.contains("//") => "must not contain double slash",
        _ => {
            let head = url.strip_suffix("/*").unwrap_or(url);
            if !head.contains('*') {
                return None;
            }
            "wildcard can only do suffix matching"
        }
    };
    Some(Error::invalid(path, url, why))
}

#[cfg(test)]
mod tests;
