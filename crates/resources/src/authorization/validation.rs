//! Validation of access reviews.

use pintle_meta::Object;
use pintle_meta::selector::{LabelSelectorRequirement, ValidationOptions};

use super::access_review::Kind;
use crate::framework::validation::Cursor;

const NON_RESOURCE: &str = "*authorization.NonResourceAttributes";
/// Newer clients may know operators that this server does not.
const LENIENT: ValidationOptions =
    ValidationOptions { allow_invalid_values: false, allow_unknown_operators: true };

pub(super) fn validate(review: &Cursor<'_, '_>, kind: Kind) {
    let spec = review.field("spec");
    let (resource, other) = (spec.field("resourceAttributes"), spec.field("nonResourceAttributes"));
    match (resource.is_set(), other.is_set()) {
        (true, true) => {
            other.invalid(
                other.printed_as(NON_RESOURCE),
                "cannot be specified in combination with resourceAttributes",
            );
        }
        (false, false) => {
            let why = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
            resource.invalid(other.printed_as(NON_RESOURCE), why);
        }
        _ => {}
    }
    if kind != Kind::SelfSubject && spec.field("user").is_empty() && spec.field("groups").is_empty() {
        spec.field("user").invalid("", "at least one of user or group must be specified");
    }
    field_selector(&resource.field("fieldSelector"));
    label_selector(&resource.field("labelSelector"));
    metadata(&review.field("metadata"), kind);
    if kind == Kind::LocalSubject {
        let namespace = resource.field("namespace");
        if resource.is_set() && namespace.text() != review.at(&["metadata", "namespace"]).text() {
            namespace.invalid(namespace.text(), "must match metadata.namespace");
        }
        if other.is_set() {
            other.invalid(other.printed_as(NON_RESOURCE), "disallowed on this kind of request");
        }
    }
}

/// Checks that the metadata are empty, but for a namespace where the review is of one.
fn metadata(metadata: &Cursor<'_, '_>, kind: Kind) {
    let is_local = kind == Kind::LocalSubject;
    let counts = |key: &str| key != "managedFields" && !(is_local && key == "namespace");
    if metadata.map().into_iter().flat_map(Object::keys).any(counts) {
        let why = if is_local { "must be empty except for namespace" } else { "must be empty" };
        metadata.invalid(metadata.printed_as("meta/v1.ObjectMeta"), why);
    }
}

fn field_selector(selector: &Cursor<'_, '_>) {
    if !selector.is_set() {
        return;
    }
    text_or_requirements(selector);
    for requirement in selector.field("requirements").items() {
        if requirement.field("key").is_empty() {
            requirement.field("key").required("must be specified");
        }
        let values = requirement.field("values");
        match (requirement.field("operator").text(), values.len()) {
            ("In" | "NotIn", 0) => values.required("must be specified when `operator` is 'In' or 'NotIn'"),
            ("Exists" | "DoesNotExist", 1..) => {
                values.forbidden("may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
            }
            _ => {}
        }
    }
}

fn label_selector(selector: &Cursor<'_, '_>) {
    if !selector.is_set() {
        return;
    }
    text_or_requirements(selector);
    for requirement in selector.field("requirements").items() {
        let parsed = requirement.value().view::<LabelSelectorRequirement>().unwrap_or_default();
        requirement.report(parsed.validate(LENIENT, requirement.path()));
    }
}

fn text_or_requirements(selector: &Cursor<'_, '_>) {
    let (text, requirements) = (selector.field("rawSelector"), selector.field("requirements"));
    match (text.is_empty(), requirements.is_empty()) {
        (false, false) => text.invalid(text.text(), "may not specified at the same time as requirements"),
        (true, true) => {
            let path = selector.path();
            requirements
                .required(format!("when {path} is specified, requirements or rawSelector is required"));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use pintle_codec::json;

    use super::*;
    use crate::framework::validation::Errors;

    fn errors(kind: Kind, review: &str) -> Vec<String> {
        let of = pintle_schema::find("authorization/v1.SubjectAccessReview").unwrap();
        let review = json::decode(of, review.as_bytes()).unwrap().value;
        let errors = Errors::default();
        validate(&Cursor::root(&review, None, &errors), kind);
        errors.into_vec().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_review_asks_one_question_about_a_user() {
        let both = r#"{"spec":{"resourceAttributes":{},"nonResourceAttributes":{"path":"/"},"user":"u"}}"#;
        assert_eq!(
            errors(Kind::Subject, both),
            [
                r#"spec.nonResourceAttributes: Invalid value: {"Path":"/","Verb":""}: cannot be specified in combination with resourceAttributes"#
            ]
        );
        assert_eq!(
            errors(Kind::Subject, "{}"),
            [
                "spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified",
                r#"spec.user: Invalid value: "": at least one of user or group must be specified"#,
            ]
        );
        assert!(errors(Kind::Subject, r#"{"spec":{"resourceAttributes":{},"groups":["g"]}}"#).is_empty());
        assert!(errors(Kind::SelfSubject, r#"{"spec":{"resourceAttributes":{}}}"#).is_empty());
    }

    #[test]
    fn metadata_are_empty() {
        let named = r#"{"metadata":{"name":"a"},"spec":{"resourceAttributes":{},"user":"u"}}"#;
        let found = errors(Kind::Subject, named);
        assert!(found.len() == 1 && found[0].ends_with(": must be empty"), "{found:?}");
        let found = errors(Kind::LocalSubject, named);
        assert!(found.len() == 1 && found[0].ends_with(": must be empty except for namespace"), "{found:?}");
    }

    #[test]
    fn a_local_review_is_of_its_namespace() {
        let review = |namespace: &str| {
            format!(
                r#"{{"metadata":{{"namespace":"n"}},"spec":{{"resourceAttributes":{{"namespace":"{namespace}"}},"user":"u"}}}}"#
            )
        };
        assert!(errors(Kind::LocalSubject, &review("n")).is_empty());
        assert_eq!(
            errors(Kind::LocalSubject, &review("m")),
            [r#"spec.resourceAttributes.namespace: Invalid value: "m": must match metadata.namespace"#]
        );
        let other =
            r#"{"metadata":{"namespace":"n"},"spec":{"nonResourceAttributes":{"verb":"get"},"user":"u"}}"#;
        assert_eq!(
            errors(Kind::LocalSubject, other),
            [
                r#"spec.nonResourceAttributes: Invalid value: {"Path":"","Verb":"get"}: disallowed on this kind of request"#
            ]
        );
    }

    #[test]
    fn selectors_are_texts_or_requirements() {
        let review = |fields: &str, labels: &str| {
            let review = format!(
                r#"{{"spec":{{"resourceAttributes":{{"fieldSelector":{fields},"labelSelector":{labels}}},"user":"u"}}}}"#
            );
            errors(Kind::Subject, &review)
        };
        assert!(
            review(r#"{"rawSelector":"a=b"}"#, r#"{"requirements":[{"key":"a","operator":"New"}]}"#)
                .is_empty()
        );
        let at = "spec.resourceAttributes";
        assert_eq!(
            review("{}", r#"{"rawSelector":"a","requirements":[{"key":"a","operator":"Exists"}]}"#),
            [
                format!(
                    "{at}.fieldSelector.requirements: Required value: when {at}.fieldSelector is specified, requirements or rawSelector is required"
                ),
                format!(
                    r#"{at}.labelSelector.rawSelector: Invalid value: "a": may not specified at the same time as requirements"#
                ),
            ]
        );
        assert_eq!(
            review(
                r#"{"requirements":[{"operator":"In"},{"key":"a","operator":"Exists","values":["v"]}]}"#,
                r#"{"requirements":[{"key":"a","operator":"In"}]}"#
            ),
            [
                format!("{at}.fieldSelector.requirements[0].key: Required value: must be specified"),
                format!(
                    "{at}.fieldSelector.requirements[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'"
                ),
                format!(
                    "{at}.fieldSelector.requirements[1].values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
                ),
                format!(
                    "{at}.labelSelector.requirements[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'"
                ),
            ]
        );
    }
}
