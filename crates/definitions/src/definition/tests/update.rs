//! Ratcheting: errors of the old definition that an update may keep.

use pintle_meta::Value;

use super::{definition, expect_errors, with_field, with_status};
use crate::definition::{validate, validate_update};

#[track_caller]
fn check(new: &Value, old: &Value, expected: &[&str]) {
    expect_errors(validate_update(new, old), expected);
}

const ESTABLISHED: &str = r#""storedVersions":["v1"],"conditions":[{"type":"Established","status":"True"}]"#;

#[test]
fn fields_that_keys_depend_on_are_immutable() {
    let old = definition("");
    let other = r#""scope":"Cluster","names":{"plural":"bs","singular":"b","kind":"B","listKind":"BList"},"group":"h.io""#;
    let always = [
        r#"spec.group: Invalid value: "h.io": field is immutable"#,
        r#"spec.names.plural: Invalid value: "bs": field is immutable"#,
    ];
    check(&definition(other), &old, &always);
    let established = [
        r#"spec.scope: Invalid value: "Cluster": field is immutable"#,
        r#"spec.names.kind: Invalid value: "B": field is immutable"#,
        always[0],
        always[1],
    ];
    check(&with_status(other, ESTABLISHED), &with_status("", ESTABLISHED), &established);
    check(&old, &old, &[]);
}

/// Checks that an update may keep an error of the old definition and may not introduce it.
#[track_caller]
fn ratchets(wrong: &Value, fine: &Value) {
    assert!(!validate(wrong).is_empty());
    assert!(!validate_update(wrong, fine).is_empty());
    check(wrong, wrong, &[]);
}

#[test]
fn old_mistakes_may_stay() {
    let fine = definition("");
    let no_schema = r#""preserveUnknownFields":true,"versions":[{"name":"v1","served":true,"storage":true}]"#;
    ratchets(&definition(no_schema), &fine);
    let set = r#"{"type":"array","items":{"type":"object"},"x-kubernetes-list-type":"set"}"#;
    ratchets(&with_field(set), &fine);
    let key = r#"{"type":"array","items":{"type":"object","properties":{"a":{"type":"string"}}},"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["a"]}"#;
    ratchets(&with_field(key), &fine);
    let untyped = r#""preserveUnknownFields":true,"validation":{"openAPIV3Schema":{"properties":{"a":{"type":"foo"}}}}"#;
    ratchets(&definition(untyped), &fine);
    let version = r#""conversion":{"strategy":"Webhook","webhookClientConfig":{"url":"https://a"},"conversionReviewVersions":["v2"]}"#;
    ratchets(&definition(version), &fine);
    let fields: Vec<String> = (0..9).map(|index| format!(r#"{{"jsonPath":".a{index}"}}"#)).collect();
    let properties: Vec<String> = (0..9).map(|index| format!(r#""a{index}":{{"type":"string"}}"#)).collect();
    let selectable = |fields: &[String]| {
        definition(&format!(
            r#""validation":{{"openAPIV3Schema":{{"type":"object","properties":{{{}}}}}}},"selectableFields":[{}]"#,
            properties.join(","),
            fields.join(",")
        ))
    };
    ratchets(&selectable(&fields), &fine);
    let mut turned = fields.clone();
    turned.reverse();
    check(
        &selectable(&turned),
        &selectable(&fields),
        &["spec.selectableFields: Too many: 9: must have at most 8 items"],
    );
}

#[test]
fn pruning_needs_schemas_of_what_is_served() {
    let old =
        definition(r#""preserveUnknownFields":true,"versions":[{"name":"v1","served":true,"storage":true}]"#);
    let new = definition(
        r#""preserveUnknownFields":false,"versions":[{"name":"v1","served":true,"storage":true},{"name":"v2","served":false,"storage":false}]"#,
    );
    check(
        &new,
        &old,
        &["spec.versions[0].schema.openAPIV3Schema: Required value: because otherwise all fields are pruned"],
    );
    // And pruning, defaults and extensions need structural ones.
    let schema = |preserves: bool, rest: &str| {
        definition(&format!(
            r#""preserveUnknownFields":{preserves},"validation":{{"openAPIV3Schema":{{"properties":{{"a":{{{rest}}}}}}}}}"#
        ))
    };
    check(&schema(true, ""), &schema(true, ""), &[]);
    let not_structural = [
        "spec.validation.openAPIV3Schema.properties[a].type: Required value: must not be empty for specified object fields",
        "spec.validation.openAPIV3Schema.type: Required value: must not be empty at the root",
    ];
    check(&schema(false, ""), &schema(true, ""), &not_structural);
    check(
        &schema(true, r#""x-kubernetes-preserve-unknown-fields":true"#),
        &schema(true, ""),
        &["spec.validation.openAPIV3Schema.type: Required value: must not be empty at the root"],
    );
}

#[test]
fn certificates_are_checked_once_a_definition_is_established() {
    let bundle = |bundle: &str| {
        format!(
            r#""conversion":{{"strategy":"Webhook","conversionReviewVersions":["v1"],"webhookClientConfig":{{"url":"https://a","caBundle":"{bundle}"}}}}"#
        )
    };
    let none = bundle("");
    // "nonsense", and a block that is no certificate.
    let bad = bundle("bm9uc2Vuc2U=");
    let path = "spec.conversion.webhookClientConfig.caBundle: Invalid value:";
    let why = format!(
        r#"{path} "bm9uc2Vuc2U=": unable to load root certificates: unable to parse bytes as PEM block"#
    );
    super::check(&definition(&bad), &[]);
    check(&definition(&bad), &definition(&none), &[]);
    check(&with_status(&bad, ESTABLISHED), &with_status(&none, ESTABLISHED), &[&why]);
    check(&with_status(&bad, ESTABLISHED), &with_status(&bad, ESTABLISHED), &[]);
    let block = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCkFBQUEKLS0tLS1FTkQgQ0VSVElGSUNBVEUtLS0tLQo=";
    check(
        &with_status(&bundle(block), ESTABLISHED),
        &with_status(&none, ESTABLISHED),
        &[&format!(
            r#"{path} "{block}": unable to load root certificates: failed to parse certificate: x509: malformed certificate"#
        )],
    );
}

#[test]
fn an_approval_that_was_missing_may_stay_missing() {
    let old = definition(r#""group":"a.k8s.io""#);
    check(&old, &old, &[]);
    let mut new = old.clone();
    let annotations =
        [("api-approved.kubernetes.io", "nonsense")].into_iter().collect::<pintle_meta::Object>();
    new.metadata_mut().unwrap().insert("annotations", annotations);
    assert_eq!(validate_update(&new, &old).len(), 1);
    check(&new, &new, &[]);
}

#[test]
fn versions_that_were_stored_stay() {
    let old = with_status("", r#""storedVersions":["v1"]"#);
    let new = with_status(
        r#""validation":{"openAPIV3Schema":{"type":"object"}},"version":"v2","versions":[{"name":"v2","served":true,"storage":true}]"#,
        r#""storedVersions":["v1","v2"]"#,
    );
    let errors = validate_update(&new, &old);
    assert_eq!(errors.len(), 1);
    assert!(errors[0].to_string().starts_with(
        r#"status.storedVersions[0]: Invalid value: "v1": missing from spec.versions; v1 was previously a storage version"#
    ));
}
