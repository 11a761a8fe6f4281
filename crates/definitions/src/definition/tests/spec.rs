//! Names, versions, columns, subresources, conversion.

use super::{check, definition, expect_errors, with_status};
use crate::definition::{Approval, approval, validate_status_update};

const LABEL: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";

#[test]
fn a_whole_definition_is_fine() {
    check(&definition(""), &[]);
}

#[test]
fn a_group_is_a_domain_with_a_dot() {
    check(&definition(r#""group":"""#), &["spec.group: Required value"]);
    check(
        &definition(r#""group":"foo""#),
        &[r#"spec.group: Invalid value: "foo": should be a domain with at least one dot"#],
    );
    check(
        &definition(r#""group":"Foo.io""#),
        &[
            r#"spec.group: Invalid value: "Foo.io": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"#,
        ],
    );
}

#[test]
fn a_scope_is_one_of_two() {
    check(&definition(r#""scope":"""#), &["spec.scope: Required value"]);
    check(
        &definition(r#""scope":"Global""#),
        &[r#"spec.scope: Unsupported value: "Global": supported values: "Cluster", "Namespaced""#],
    );
}

#[test]
fn names_are_labels() {
    check(
        &definition(r#""names":{"plural":"","kind":""}"#),
        &[
            "spec.names.plural: Required value",
            "spec.names.singular: Required value",
            "spec.names.kind: Required value",
            "spec.names.listKind: Required value",
        ],
    );
    let wrong = r#""names":{"plural":"As","singular":"A","kind":"A_","listKind":"A_","shortNames":["ok","-x"],"categories":["All"]}"#;
    let expected = [
        format!(r#"spec.names.plural: Invalid value: "As": {LABEL}"#),
        format!(r#"spec.names.singular: Invalid value: "A": {LABEL}"#),
        format!(
            r#"spec.names.kind: Invalid value: "A_": may have mixed case, but should otherwise match: {LABEL}"#
        ),
        format!(
            r#"spec.names.listKind: Invalid value: "A_": may have mixed case, but should otherwise match: {LABEL}"#
        ),
        format!(r#"spec.names.shortNames[1]: Invalid value: "-x": {LABEL}"#),
        r#"spec.names.listKind: Invalid value: "A_": kind and listKind may not be the same"#.into(),
        format!(r#"spec.names.categories[0]: Invalid value: "All": {LABEL}"#),
    ];
    check(&definition(wrong), &expected.each_ref().map(String::as_str));
    let long = "a".repeat(64);
    check(
        &definition(&format!(
            r#""names":{{"plural":"as","singular":"{long}-","kind":"A","listKind":"AList"}}"#
        )),
        &[&format!(
            r#"spec.names.singular: Invalid value: "{long}-": must be no more than 63 characters,{LABEL}"#
        )],
    );
}

#[test]
fn accepted_names_are_labels_too() {
    let wrong = with_status("", r#""storedVersions":["v1"],"acceptedNames":{"plural":"As","kind":""}"#);
    let expected = format!(r#"status.acceptedNames.plural: Invalid value: "As": {LABEL}"#);
    check(&wrong, &[&expected]);
    expect_errors(validate_status_update(&wrong, &wrong), &[&expected]);
}

/// How a version without anything shows.
fn printed_version(name: &str, storage: bool) -> String {
    format!(
        r#"{{"Name":"{name}","Served":true,"Storage":{storage},"Deprecated":false,"DeprecationWarning":null,"Schema":null,"Subresources":null,"AdditionalPrinterColumns":null,"SelectableFields":null}}"#
    )
}

#[test]
fn one_version_is_stored_and_names_are_unique() {
    let schema = r#""validation":{"openAPIV3Schema":{"type":"object"}},"#;
    let versions = |names: [(&str, bool); 2]| {
        let versions = names
            .map(|(name, storage)| format!(r#"{{"name":"{name}","served":true,"storage":{storage}}}"#))
            .join(",");
        format!(r#"{schema}"versions":[{versions}]"#)
    };
    check(
        &definition(&versions([("v1", true), ("v2", true)])),
        &[
            &format!(
                "spec.versions: Invalid value: [{},{}]: must have exactly one version marked as storage version",
                printed_version("v1", true),
                printed_version("v2", true)
            ),
            r#"status.storedVersions: Invalid value: ["v1"]: must have the storage version v2"#,
        ],
    );
    check(
        &definition(&versions([("v1", true), ("v1", false)])),
        &[&format!(
            "spec.versions: Invalid value: [{},{}]: must contain unique version names",
            printed_version("v1", true),
            printed_version("v1", false)
        )],
    );
    check(
        &with_status(&versions([("v2", false), ("v1", true)]), r#""storedVersions":["v1","v0"]"#),
        &[
            r#"spec.version: Invalid value: "v1": must match the first version in spec.versions"#,
            r#"status.storedVersions[1]: Invalid value: "v0": missing from spec.versions; v0 was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in v0 and removes v0 from status.storedVersions"#,
        ],
    );
    check(
        &with_status(&format!(r#"{schema}"versions":[]"#), r#""storedVersions":[]"#),
        &[
            "spec.versions: Invalid value: null: must have exactly one version marked as storage version",
            "status.storedVersions: Invalid value: []: must have at least one stored version",
        ],
    );
    let wrong = r#""version":"V1","versions":[{"name":"V1","served":true,"storage":true}],"validation":{"openAPIV3Schema":{"type":"object"}}"#;
    check(
        &with_status(wrong, r#""storedVersions":["V1"]"#),
        &[
            &format!(r#"spec.versions[0].name: Invalid value: "V1": {LABEL}"#),
            &format!(r#"spec.version: Invalid value: "V1": {LABEL}"#),
        ],
    );
}

#[test]
fn every_version_has_a_schema() {
    check(
        &definition(
            r#""versions":[{"name":"v1","served":true,"storage":true,"schema":{}},{"name":"v2","served":false,"storage":false}]"#,
        ),
        &[
            "spec.versions[0].schema.openAPIV3Schema: Required value",
            "spec.versions[1].schema.openAPIV3Schema: Required value",
        ],
    );
}

#[test]
fn top_level_fields_and_version_fields_exclude_each_other() {
    let column = r#"[{"name":"c","type":"string","JSONPath":".a"}]"#;
    let each = |name: &str, storage: bool| {
        format!(
            r#"{{"name":"{name}","served":true,"storage":{storage},"schema":{{"openAPIV3Schema":{{"type":"object"}}}},"subresources":{{"status":{{}}}},"additionalPrinterColumns":{column}}}"#
        )
    };
    let spec = format!(
        r#""validation":{{"openAPIV3Schema":{{"type":"object"}}}},"subresources":{{"status":{{}}}},"additionalPrinterColumns":{column},"versions":[{},{{"name":"v2","served":true,"storage":false}}]"#,
        each("v1", true)
    );
    check(
        &definition(&spec),
        &[
            "spec.validation: Forbidden: top-level and per-version schemas are mutually exclusive",
            "spec.subresources: Forbidden: top-level and per-version subresources are mutually exclusive",
            "spec.additionalPrinterColumns: Forbidden: top-level and per-version additionalPrinterColumns are mutually exclusive",
        ],
    );
    let all = format!(r#""versions":[{},{}]"#, each("v1", true), each("v2", false));
    let found = crate::definition::validate(&definition(&all));
    let details: Vec<&str> = found.iter().map(|error| error.detail.as_str()).collect();
    assert_eq!(
        details,
        [
            "per-version schemas may not all be set to identical values (top-level validation should be used instead)",
            "per-version subresources may not all be set to identical values (top-level subresources should be used instead)",
            "per-version additionalPrinterColumns may not all be set to identical values (top-level additionalPrinterColumns should be used instead)",
        ]
    );
    assert!(found[0].to_string().starts_with(r#"spec.versions: Invalid value: [{"Name":"v1","Served":true"#));
}

#[test]
fn a_warning_is_printable_and_of_a_deprecated_version() {
    let version = |rest: &str| {
        definition(&format!(
            r#""validation":{{"openAPIV3Schema":{{"type":"object"}}}},"versions":[{{"name":"v1","served":true,"storage":true,{rest}}}]"#
        ))
    };
    let path = "spec.versions[0].deprecationWarning: Invalid value:";
    check(&version(r#""deprecated":true,"deprecationWarning":"so \u00fcber""#), &[]);
    check(
        &version(r#""deprecationWarning":"no""#),
        &[&format!(r#"{path} "no": can only be set for deprecated versions"#)],
    );
    check(
        &version(r#""deprecated":true,"deprecationWarning":"""#),
        &[&format!(r#"{path} "": must not be an empty string"#)],
    );
    check(
        &version(r#""deprecated":true,"deprecationWarning":"ü\n""#),
        &[&format!(
            r#"{path} "ü\n": must only contain printable UTF-8 characters; non-printable character found at index 2"#
        )],
    );
    let long = "x".repeat(257);
    check(
        &version(&format!(r#""deprecated":true,"deprecationWarning":"{long}""#)),
        &[&format!(r#"{path} "{long}": must be <= 256 characters long"#)],
    );
}

#[test]
fn columns_have_a_name_a_type_and_a_path() {
    check(
        &definition(
            r#""additionalPrinterColumns":[{"name":"","type":"","JSONPath":""},{"name":"c","type":"foo","format":"bogus","JSONPath":"spec.f"},{"name":"c","type":"date","format":"date-time","JSONPath":".a[?(@.b)]"}]"#,
        ),
        &[
            "spec.additionalPrinterColumns[0].name: Required value",
            "spec.additionalPrinterColumns[0].type: Required value: must be one of boolean,date,integer,number,string",
            "spec.additionalPrinterColumns[0].JSONPath: Required value",
            r#"spec.additionalPrinterColumns[1].type: Invalid value: "foo": must be one of boolean,date,integer,number,string"#,
            r#"spec.additionalPrinterColumns[1].format: Invalid value: "bogus": must be one of byte,date,date-time,double,float,int32,int64,password"#,
            r#"spec.additionalPrinterColumns[1].JSONPath: Invalid value: "spec.f": must be a simple json path starting with ."#,
        ],
    );
}

#[test]
fn scale_has_paths_into_spec_and_status() {
    let scale = |paths: &str| definition(&format!(r#""subresources":{{"scale":{{{paths}}}}}"#));
    check(
        &scale(""),
        &[
            "spec.subresources.scale.specReplicasPath: Required value",
            "spec.subresources.scale.statusReplicasPath: Required value",
        ],
    );
    check(
        &scale(r#""specReplicasPath":".specs.a","statusReplicasPath":".spec.a","labelSelectorPath":".foo""#),
        &[
            r#"spec.subresources.scale.specReplicasPath: Invalid value: ".specs.a": should be a json path under .spec"#,
            r#"spec.subresources.scale.statusReplicasPath: Invalid value: ".spec.a": should be a json path under .status"#,
            r#"spec.subresources.scale.labelSelectorPath: Invalid value: ".foo": should be a json path under either .spec or .status"#,
        ],
    );
    check(
        &scale(r#""specReplicasPath":"spec.a","statusReplicasPath":".status.a","labelSelectorPath":"foo""#),
        &[
            r#"spec.subresources.scale.specReplicasPath: Invalid value: "spec.a": must be a simple json path starting with ."#,
            r#"spec.subresources.scale.labelSelectorPath: Invalid value: "foo": must be a simple json path starting with ."#,
        ],
    );
}

#[test]
fn selectable_fields_are_scalars_that_the_schema_has() {
    let schema = r#""validation":{"openAPIV3Schema":{"type":"object","properties":{"metadata":{"type":"object","properties":{"name":{"type":"string"}}},"spec":{"type":"object","properties":{"s":{"type":"string"},"n":{"type":"number"},"o":{"type":"object","additionalProperties":{"type":"string"}}}}}}}"#;
    let fields = |paths: &[&str]| {
        let paths: Vec<String> = paths.iter().map(|path| format!(r#"{{"jsonPath":"{path}"}}"#)).collect();
        definition(&format!(r#"{schema},"selectableFields":[{}]"#, paths.join(",")))
    };
    check(&fields(&[".spec.s", ".spec.o.any"]), &[]);
    let at = |index: usize, what: &str| format!("spec.selectableFields[{index}].jsonPath: {what}");
    let scalar = "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.";
    let expected = [
        at(0, "Required value"),
        at(1, r#"Invalid value: ".spec.zzz": is an invalid path: does not refer to a valid field"#),
        at(2, r#"Invalid value: "spec.s": is an invalid path: expected [ or . but got: spec"#),
        at(3, r#"Invalid value: ".spec.": is an invalid path: unexpected end of JSON path"#),
        at(4, r#"Invalid value: ".spec['s']": is an invalid path: array notation is not allowed"#),
        at(5, &format!(r#"Invalid value: ".spec.n": {scalar}"#)),
        at(6, &format!(r#"Invalid value: ".spec": {scalar}"#)),
        at(7, r#"Invalid value: ".metadata.name": must not point to fields in metadata"#),
        at(9, r#"Duplicate value: ".spec.s""#),
    ];
    let paths = [
        "",
        ".spec.zzz",
        "spec.s",
        ".spec.",
        ".spec['s']",
        ".spec.n",
        ".spec",
        ".metadata.name",
        ".spec.s",
        ".spec.s",
    ];
    check(&fields(&paths), &expected.each_ref().map(String::as_str));
    let many: Vec<String> = (0..9).map(|index| format!(".spec.o.k{index}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    check(&fields(&many), &["spec.selectableFields: Too many: 9: must have at most 8 items"]);
    let version = |schema: &str| {
        definition(&format!(
            r#""versions":[{{"name":"v1","served":true,"storage":true{schema},"selectableFields":[{{"jsonPath":".a"}}]}}]"#
        ))
    };
    check(
        &version(""),
        &[
            "spec.versions[0].schema.openAPIV3Schema: Required value",
            r#"spec.versions[0].selectableFields: Invalid value: "": may only be set when `version.schema.openAPIV3Schema` is not included"#,
        ],
    );
}

#[test]
fn a_webhook_is_somewhere() {
    let conversion = |rest: &str| {
        definition(&format!(
            r#""conversion":{{"strategy":"Webhook","conversionReviewVersions":["v1"]{rest}}}"#
        ))
    };
    let url = |url: &str| conversion(&format!(r#","webhookClientConfig":{{"url":"{url}"}}"#));
    check(
        &conversion(""),
        &["spec.conversion.webhookClientConfig: Required value: required when strategy is set to Webhook"],
    );
    let one =
        "spec.conversion.webhookClientConfig: Required value: exactly one of url or service is required";
    check(&conversion(r#","webhookClientConfig":{}"#), &[one]);
    check(
        &conversion(
            r#","webhookClientConfig":{"url":"https://a","service":{"name":"a","namespace":"b","port":1}}"#,
        ),
        &[one],
    );
    check(&url("https://a.b:8443/c"), &[]);
    let at = |what: &str| format!("spec.conversion.webhookClientConfig.url: {what}");
    let form = "; desired format: https://host[/path]";
    check(
        &url("http://u@a/b?c=d#e"),
        &[
            &at(&format!(r#"Invalid value: "http": 'https' is the only allowed URL scheme{form}"#)),
            &at(r#"Invalid value: "u": user information is not permitted in the URL"#),
            &at(r#"Invalid value: "e": fragments are not permitted in the URL"#),
            &at(r#"Invalid value: "c=d": query parameters are not permitted in the URL"#),
        ],
    );
    check(&url("https:///b"), &[&at(&format!(r#"Invalid value: "": host must be specified{form}"#))]);
    check(
        &url(":x"),
        &[&at(&format!(
            r#"Required value: url must be a valid URL: parse ":x": missing protocol scheme{form}"#
        ))],
    );
}

#[test]
fn a_service_has_a_name_a_namespace_a_port_and_a_path() {
    let service = |service: &str| {
        definition(&format!(
            r#""conversion":{{"strategy":"Webhook","conversionReviewVersions":["v1"],"webhookClientConfig":{{"service":{{{service}}}}}}}"#
        ))
    };
    let at = |what: &str| format!("spec.conversion.webhookClientConfig.service.{what}");
    check(&service(r#""name":"a","namespace":"b","port":443,"path":"/x/y/""#), &[]);
    // The reference mixes them up.
    check(&service(r#""name":"","namespace":"b","port":443"#), &[&at("namespace: Required value")]);
    check(
        &service(r#""name":"a","namespace":"","port":0,"path":"x//Y""#),
        &[
            &at("name: Required value"),
            &at("port: Invalid value: 0: port is not valid: must be between 1 and 65535, inclusive"),
            &at(r#"path: Invalid value: "x//Y": must start with a '/'"#),
            &at(r#"path: Invalid value: "x//Y": segment[0] may not be empty"#),
            &at(r#"path: Invalid value: "x//Y": segment[1] may not be empty"#),
            &at(
                r#"path: Invalid value: "x//Y": segment[2]: a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"#,
            ),
        ],
    );
    check(
        &service(r#""name":"a","namespace":"b","port":443,"path":"//""#),
        &[&at(r#"path: Invalid value: "//": segment[0] may not be empty"#)],
    );
}

#[test]
fn a_strategy_has_what_it_needs_and_nothing_else() {
    let conversion = |rest: &str| definition(&format!(r#""conversion":{{{rest}}}"#));
    check(&conversion(r#""strategy":"None""#), &[]);
    check(&conversion(r#""strategy":"""#), &["spec.conversion.strategy: Required value"]);
    let none = [
        r#"spec.conversion.strategy: Unsupported value: "Foo": supported values: "None", "Webhook""#,
        "spec.conversion.webhookClientConfig: Forbidden: should not be set when strategy is not set to Webhook",
        "spec.conversion.conversionReviewVersions: Forbidden: should not be set when strategy is not set to Webhook",
    ];
    check(
        &conversion(
            r#""strategy":"Foo","webhookClientConfig":{"url":"https://a"},"conversionReviewVersions":["v1"]"#,
        ),
        &none,
    );
    let webhook = |versions: &str| {
        conversion(&format!(
            r#""strategy":"Webhook","webhookClientConfig":{{"url":"https://a"}},"conversionReviewVersions":{versions}"#
        ))
    };
    check(&webhook("[]"), &["spec.conversion.conversionReviewVersions: Required value"]);
    check(
        &webhook(r#"["v2","v2","1"]"#),
        &[
            r#"spec.conversion.conversionReviewVersions[1]: Invalid value: "v2": duplicate version"#,
            &format!(r#"spec.conversion.conversionReviewVersions[2]: Invalid value: "1": {LABEL}"#),
            r#"spec.conversion.conversionReviewVersions: Invalid value: ["v2","v2","1"]: must include at least one of v1, v1beta1"#,
        ],
    );
    check(
        &definition(
            r#""preserveUnknownFields":true,"conversion":{"strategy":"Webhook","webhookClientConfig":{"url":"https://a"},"conversionReviewVersions":["v1"]}"#,
        ),
        &[
            r#"spec.conversion.strategy: Invalid value: "Webhook": must be None if spec.preserveUnknownFields is true"#,
            "spec.preserveUnknownFields: Invalid value: true: cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead",
        ],
    );
}

#[test]
fn groups_of_the_community_need_approval() {
    let group = |group: &str, annotation: Option<&str>| {
        let mut definition = definition(&format!(r#""group":"{group}""#));
        if let Some(text) = annotation {
            let annotations =
                [("api-approved.kubernetes.io", text)].into_iter().collect::<pintle_meta::Object>();
            definition.metadata_mut().unwrap().insert("annotations", annotations);
        }
        definition
    };
    let at = "metadata.annotations[api-approved.kubernetes.io]";
    let see = "see https://github.com/kubernetes/enhancements/pull/1111";
    let missing = format!(
        r#"{at}: Required value: protected groups must have approval annotation "api-approved.kubernetes.io", {see}"#
    );
    check(&group("ak8s.io", None), &[]);
    assert_eq!(approval(&group("ak8s.io", None)), None);
    for protected in ["a.k8s.io", "kubernetes.io", "x.y.kubernetes.io"] {
        check(&group(protected, None), &[&missing]);
        check(&group(protected, Some("")), &[&missing]);
        check(
            &group(protected, Some("nonsense")),
            &[&format!(
                r#"{at}: Invalid value: "nonsense": protected groups must have approval annotation "api-approved.kubernetes.io" with either a URL or a reason starting with "unapproved", {see}"#
            )],
        );
    }
    for (text, state, reason) in [
        ("unapproved, it is a test", Approval::Bypassed, r#"not approved: "unapproved, it is a test""#),
        ("https://a.b/c", Approval::Approved, "approved in https://a.b/c"),
    ] {
        check(&group("a.k8s.io", Some(text)), &[]);
        assert_eq!(approval(&group("a.k8s.io", Some(text))), Some((state, reason.into())));
    }
    for text in ["/c", "https:", "b/c"] {
        assert_eq!(approval(&group("a.k8s.io", Some(text))).unwrap().0, Approval::Invalid, "{text}");
    }
}
