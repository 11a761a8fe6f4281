//! Tables of cases for webhooks, policies and bindings.

use pintle_features::Feature;

use crate::framework::validation::testing::Base;

const GROUP: &str = "admissionregistration.k8s.io";
const LABEL: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const SUBDOMAIN: &str = r"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const NAME: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const LABEL_VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

fn webhooks(resource: &str) -> Base {
    Base::new(
        GROUP,
        resource,
        r#"{"metadata":{"name":"a"},"webhooks":[{"name":"a.example.com","sideEffects":"None","admissionReviewVersions":["v1"],
            "clientConfig":{"url":"https://example.com/hook"},
            "rules":[{"operations":["CREATE"],"apiGroups":["apps"],"apiVersions":["v1"],"resources":["deployments"]}]}]}"#,
    )
}

#[test]
fn a_webhook_has_a_name_known_policies_and_one_address() {
    for resource in ["validatingwebhookconfigurations", "mutatingwebhookconfigurations"] {
        let base = webhooks(resource);
        base.accepts(&[
            &[("/webhooks", "")],
            &[("/webhooks/0/clientConfig", r#"{"service":{"name":"s","namespace":"n","path":"/a/b"}}"#)],
            &[("/webhooks/0/timeoutSeconds", "30")],
        ]);
        base.refuses(&[
            (
                &[("/webhooks/0/name", r#""short""#)],
                &[r#"webhooks[0].name: Invalid value: "short": should be a domain with at least three segments separated by dots"#],
            ),
            (
                &[("/webhooks/0/failurePolicy", r#""Never""#), ("/webhooks/0/matchPolicy", r#""Some""#)],
                &[
                    r#"webhooks[0].failurePolicy: Unsupported value: "Never": supported values: "Fail", "Ignore""#,
                    r#"webhooks[0].matchPolicy: Unsupported value: "Some": supported values: "Equivalent", "Exact""#,
                ],
            ),
            (
                &[("/webhooks/0/sideEffects", "")],
                &["webhooks[0].sideEffects: Required value: must specify one of None, NoneOnDryRun"],
            ),
            (
                &[("/webhooks/0/sideEffects", r#""Unknown""#)],
                &[r#"webhooks[0].sideEffects: Unsupported value: "Unknown": supported values: "None", "NoneOnDryRun""#],
            ),
            (
                &[("/webhooks/0/timeoutSeconds", "31")],
                &["webhooks[0].timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and 30 seconds"],
            ),
            (
                &[("/webhooks/0/objectSelector", r#"{"matchLabels":{"a":"-"}}"#)],
                &[&format!(r#"webhooks[0].objectSelector.matchLabels: Invalid value: "-": {LABEL_VALUE}"#)],
            ),
            (
                &[("/webhooks/0/clientConfig", "{}")],
                &["webhooks[0].clientConfig: Required value: exactly one of url or service is required"],
            ),
            (
                &[("/webhooks/0/clientConfig/url", r#""http://example.com""#)],
                &[r#"webhooks[0].clientConfig.url: Invalid value: "http": 'https' is the only allowed URL scheme; desired format: https://host[/path]"#],
            ),
            (
                &[("/webhooks/0/clientConfig", r#"{"service":{"name":"s"}}"#)],
                &["webhooks[0].clientConfig.service.name: Required value"],
            ),
            (
                &[("/webhooks/-", r#"{"name":"a.example.com","sideEffects":"None","admissionReviewVersions":["v1"],"clientConfig":{"url":"https://b"}}"#)],
                &[r#"webhooks[1].name: Duplicate value: "a.example.com""#],
            ),
        ]);
    }
    webhooks("mutatingwebhookconfigurations").refuses(&[(
        &[("/webhooks/0/reinvocationPolicy", r#""Always""#)],
        &[r#"webhooks[0].reinvocationPolicy: Unsupported value: "Always": supported values: "IfNeeded", "Never""#],
    )]);
}

#[test]
fn a_webhook_understands_a_version_of_reviews() {
    let base = webhooks("validatingwebhookconfigurations");
    base.refuses(&[
        (
            &[("/webhooks/0/admissionReviewVersions", "[]")],
            &["webhooks[0].admissionReviewVersions: Required value: must specify one of v1, v1beta1"],
        ),
        (
            &[("/webhooks/0/admissionReviewVersions", r#"["v2","v2","2"]"#)],
            &[
                r#"webhooks[0].admissionReviewVersions[1]: Invalid value: "v2": duplicate version"#,
                &format!(r#"webhooks[0].admissionReviewVersions[2]: Invalid value: "2": {LABEL}"#),
                r#"webhooks[0].admissionReviewVersions: Invalid value: ["v2","v2","2"]: must include at least one of v1, v1beta1"#,
            ],
        ),
    ]);
}

#[test]
fn an_update_may_keep_what_was_allowed_once() {
    let base = webhooks("validatingwebhookconfigurations");
    let label = [("/metadata/labels", r#"{"a":"b"}"#)];
    for before in [
        ("/webhooks/0/sideEffects", r#""Unknown""#),
        ("/webhooks/0/admissionReviewVersions", r#"["v2"]"#),
        (
            "/webhooks/0/namespaceSelector",
            r#"{"matchExpressions":[{"key":"a","operator":"In","values":["-"]}]}"#,
        ),
        ("/webhooks/0/matchConditions", r#"[{"name":"a","expression":"no"}]"#),
        (
            "/webhooks/-",
            r#"{"name":"a.example.com","sideEffects":"None","admissionReviewVersions":["v1"],"clientConfig":{"url":"https://b"}}"#,
        ),
    ] {
        base.accepts_update_of(&[before], &[&label]);
    }
    base.refuses_update(&[(
        &[("/webhooks/0/sideEffects", r#""Some""#)],
        &[r#"webhooks[0].sideEffects: Unsupported value: "Some": supported values: "None", "NoneOnDryRun""#],
    )]);
}

#[test]
fn rules_say_operations_groups_versions_and_resources() {
    let base = webhooks("validatingwebhookconfigurations");
    let refuses = |field: &str, value: &str, expected: &[&str]| {
        let expected: Vec<String> =
            expected.iter().map(|error| format!("webhooks[0].rules[0].{error}")).collect();
        let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
        base.refuses(&[(&[(&format!("/webhooks/0/rules/0/{field}"), value)], &expected)]);
    };
    refuses("operations", "[]", &["operations: Required value"]);
    refuses(
        "operations",
        r#"["*","PATCH"]"#,
        &[
            r#"operations: Invalid value: ["*","PATCH"]: if '*' is present, must not specify other operations"#,
            r#"operations[1]: Unsupported value: "PATCH": supported values: "*", "CONNECT", "CREATE", "DELETE", "UPDATE""#,
        ],
    );
    refuses("apiGroups", "[]", &["apiGroups: Required value"]);
    refuses(
        "apiGroups",
        r#"["*",""]"#,
        &[r#"apiGroups: Invalid value: ["*",""]: if '*' is present, must not specify other API groups"#],
    );
    refuses("apiVersions", "[]", &["apiVersions: Required value"]);
    refuses(
        "apiVersions",
        r#"["*",""]"#,
        &[
            r#"apiVersions: Invalid value: ["*",""]: if '*' is present, must not specify other API versions"#,
            "apiVersions[1]: Required value",
        ],
    );
    refuses("resources", "[]", &["resources: Required value"]);
    refuses(
        "resources",
        r#"["pods/*","pods/status","*/scale","a/scale",""]"#,
        &[
            r#"resources[1]: Invalid value: "pods/status": if 'pods/*' is present, must not specify pods/status"#,
            r#"resources[3]: Invalid value: "a/scale": if '*/scale' is present, must not specify a/scale"#,
            "resources[4]: Required value",
        ],
    );
    refuses(
        "resources",
        r#"["*/*","*","pods"]"#,
        &[
            r#"resources: Invalid value: ["*/*","*","pods"]: if '*/*' is present, must not specify other resources"#,
            r#"resources: Invalid value: ["*/*","*","pods"]: if '*' is present, must not specify other resources without subresources"#,
        ],
    );
    refuses(
        "scope",
        r#""Node""#,
        &[r#"scope: Unsupported value: "Node": supported values: "*", "Cluster", "Namespaced""#],
    );
}

#[test]
fn match_conditions_are_named_expressions() {
    let base = webhooks("mutatingwebhookconfigurations");
    let many: Vec<String> = (0..65).map(|n| format!(r#"{{"name":"a{n}","expression":"true"}}"#)).collect();
    base.refuses(&[
        (
            &[("/webhooks/0/matchConditions", r#"[{"expression":" "},{"name":"-","expression":"1"}]"#)],
            &[
                "webhooks[0].matchConditions[0].expression: Required value",
                "webhooks[0].matchConditions[0].name: Required value",
                r#"webhooks[0].matchConditions[1].expression: Invalid value: "1": must evaluate to bool but got int"#,
                &format!(r#"webhooks[0].matchConditions[1].name: Invalid value: "-": {NAME}"#),
            ],
        ),
        (
            &[("/webhooks/0/matchConditions", r#"[{"name":"a","expression":"true"},{"name":"a","expression":"params.a"}]"#)],
            &[
                "webhooks[0].matchConditions[1].expression: Invalid value: \"params.a\": compilation failed: ERROR: <input>:1:1: undeclared reference to 'params' (in container '')\n | params.a\n | ^",
                r#"webhooks[0].matchConditions[1].name: Duplicate value: "a""#,
            ],
        ),
        (
            &[("/webhooks/0/matchConditions", &format!("[{}]", many.join(",")))],
            &["webhooks[0].matchConditions: Too many: 65: must have at most 64 items"],
        ),
        (
            &[("/webhooks/0/matchConditions", r#"[{"name":"a","expression":"int('x') == 1"}]"#)],
            &[
                "webhooks[0].matchConditions[0].expression: Internal error: program instantiation failed: type conversion error from 'string' to 'int'",
            ],
        ),
    ]);
    base.accepts(&[&[(
        "/webhooks/0/matchConditions",
        r#"[{"name":"a","expression":" authorizer.requestResource.check('get').allowed() "}]"#,
    )]]);
}

const RULE: &str =
    r#"{"operations":["CREATE"],"apiGroups":["apps"],"apiVersions":["v1"],"resources":["deployments"]}"#;

fn validating_policy() -> Base {
    let object = format!(
        r#"{{"metadata":{{"name":"a"}},"spec":{{"matchConstraints":{{"resourceRules":[{RULE}]}},"validations":[{{"expression":"true"}}]}}}}"#
    );
    Base::new(GROUP, "validatingadmissionpolicies", &object)
}

fn mutating_policy() -> Base {
    let object = format!(
        r#"{{"metadata":{{"name":"a"}},"spec":{{"matchConstraints":{{"resourceRules":[{RULE}]}},"reinvocationPolicy":"Never",
            "mutations":[{{"patchType":"ApplyConfiguration","applyConfiguration":{{"expression":"Object{{}}"}}}}]}}}}"#
    );
    Base::new(GROUP, "mutatingadmissionpolicies", &object)
}

#[test]
fn a_policy_matches_resources_and_names_its_parameters() {
    for base in [validating_policy(), mutating_policy()] {
        base.accepts(&[
            &[("/spec/paramKind", r#"{"apiVersion":"v1","kind":"ConfigMap"}"#)],
            &[
                ("/spec/paramKind", r#"{"apiVersion":"example.com/v1","kind":"A"}"#),
                ("/spec/matchConditions", r#"[{"name":"a","expression":"params.a"}]"#),
            ][..1],
        ]);
        base.refuses(&[
            (
                &[("/spec/failurePolicy", r#""No""#), ("/spec/matchConstraints", "")],
                &[
                    r#"spec.failurePolicy: Unsupported value: "No": supported values: "Fail", "Ignore""#,
                    "spec.matchConstraints: Required value",
                ],
            ),
            (
                &[("/spec/matchConstraints", "{}")],
                &["spec.matchConstraints.resourceRules: Required value"],
            ),
            (
                &[
                    ("/spec/matchConstraints/matchPolicy", r#""""#),
                    ("/spec/matchConstraints/namespaceSelector", r#"{"matchLabels":{"a":"-"}}"#),
                ],
                &[
                    r#"spec.matchConstraints.matchPolicy: Unsupported value: "": supported values: "Equivalent", "Exact""#,
                    &format!(r#"spec.matchConstraints.namespaceSelector.matchLabels: Invalid value: "-": {LABEL_VALUE}"#),
                ],
            ),
            (
                &[("/spec/matchConstraints/resourceRules/0/resourceNames", r#"["a/b","c","c"]"#)],
                &[
                    r#"spec.matchConstraints.resourceRules[0].resourceNames[0]: Invalid value: "a/b": may not contain '/'"#,
                    r#"spec.matchConstraints.resourceRules[0].resourceNames[2]: Duplicate value: "c""#,
                ],
            ),
            (
                &[("/spec/paramKind", "{}")],
                &["spec.paramKind.apiVersion: Required value", "spec.paramKind.kind: Required value"],
            ),
            (
                &[("/spec/paramKind", r#"{"apiVersion":"a/b/c","kind":"1"}"#)],
                &[
                    r#"spec.paramKind.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c"#,
                    &format!(r#"spec.paramKind.kind: Invalid value: "1": may have mixed case, but should otherwise match: {LABEL}"#),
                ],
            ),
            (
                &[("/spec/paramKind", r#"{"apiVersion":"A/1","kind":"A"}"#)],
                &[
                    &format!(r#"spec.paramKind.apiVersion: Invalid value: "A": {SUBDOMAIN}"#),
                    &format!(r#"spec.paramKind.apiVersion: Invalid value: "1": {LABEL}"#),
                ],
            ),
            (
                &[("/spec/paramKind", r#"{"apiVersion":"a/","kind":"A"}"#)],
                &[r#"spec.paramKind.apiVersion: Invalid value: "a/": version must be specified"#],
            ),
            (
                &[("/spec/paramKind", r#"{"apiVersion":"/","kind":"A"}"#)],
                &[r#"spec.paramKind.apiVersion: Invalid value: "/": version must be specified"#],
            ),
            (
                &[("/spec/variables", r#"[{"name":" ","expression":" "},{"name":"for","expression":"1"}]"#)],
                &[
                    "spec.variables[0].name: Required value: name is not specified",
                    "spec.variables[0].expression: Required value: expression is not specified",
                    r#"spec.variables[1].name: Invalid value: "for": must be a valid CEL identifier"#,
                ],
            ),
        ]);
    }
}

#[test]
fn validations_are_expressions_over_variables_that_come_before() {
    let base = validating_policy();
    base.accepts(&[
        &[
            (
                "/spec/variables",
                r#"[{"name":"a","expression":"object.a"},{"name":"b","expression":"[variables.a]"}]"#,
            ),
            ("/spec/validations/0/expression", r#""variables.b.size() == 1""#),
        ],
        &[
            ("/spec/paramKind", r#"{"apiVersion":"v1","kind":"ConfigMap"}"#),
            ("/spec/validations/0/messageExpression", r#""params.data.text + ''""#),
        ],
        &[("/spec/validations", ""), ("/spec/auditAnnotations", r#"[{"key":"k","valueExpression":"null"}]"#)],
    ]);
    let undeclared = |text: &str, name: &str, column: usize| {
        let dots = ".".repeat(column - 1);
        format!(
            "Invalid value: {text:?}: compilation failed: ERROR: <input>:1:{column}: {name} (in container '')\n | {text}\n | {dots}^"
        )
    };
    base.refuses(&[
        (
            &[("/spec/validations", "")],
            &[
                "spec.validations: Required value: validations or auditAnnotations must contain at least one item",
                "spec.auditAnnotations: Required value: validations or auditAnnotations must contain at least one item",
            ],
        ),
        (
            &[("/spec/validations/0/expression", r#""variables.a""#)],
            &[&format!(
                "spec.validations[0].expression: {}",
                undeclared("variables.a", "undeclared reference to 'variables'", 1)
            )],
        ),
        (
            &[("/spec/validations/0", r#"{"expression":" ","messageExpression":" ","message":" ","reason":"Other"}"#)],
            &[
                "spec.validations[0].expression: Required value: expression is not specified",
                r#"spec.validations[0].messageExpression: Invalid value: " ": must be non-empty if specified"#,
                r#"spec.validations[0].message: Invalid value: " ": must be non-empty if specified"#,
                r#"spec.validations[0].reason: Unsupported value: "Other": supported values: "Forbidden", "Invalid", "RequestEntityTooLarge""#,
            ],
        ),
        (
            &[
                ("/spec/validations/0/messageExpression", r#""authorizer""#),
                ("/spec/validations/0/message", r#""a\nb""#),
            ],
            &[
                &format!(
                    "spec.validations[0].messageExpression: {}",
                    undeclared("authorizer", "undeclared reference to 'authorizer'", 1)
                ),
                r#"spec.validations[0].message: Invalid value: "a\nb": must not contain line breaks"#,
            ],
        ),
    ]);
}

#[test]
fn audit_annotations_have_keys_and_texts() {
    let base = validating_policy();
    let many: Vec<String> = (0..21).map(|n| format!(r#"{{"key":"k{n}","valueExpression":"''"}}"#)).collect();
    let printed: Vec<String> =
        (0..21).map(|n| format!(r#"{{"Key":"k{n}","ValueExpression":"''"}}"#)).collect();
    let long = format!(r#"[{{"key":"k","valueExpression":"'{}'"}}]"#, "a".repeat(5 * 1024));
    base.refuses(&[
        (
            &[("/spec/auditAnnotations", r#"[{"key":"-","valueExpression":"1"},{"key":"a","valueExpression":" "},{"key":"a","valueExpression":"''"}]"#)],
            &[
                &format!(r#"spec.auditAnnotations[0].key: Invalid value: "a/-": {NAME}"#),
                r#"spec.auditAnnotations[0].valueExpression: Invalid value: "1": must evaluate to one of [string null_type] but got int"#,
                "spec.auditAnnotations[1].valueExpression: Required value: valueExpression is not specified",
                r#"spec.auditAnnotations[2].key: Duplicate value: "a""#,
            ],
        ),
        (
            &[("/spec/auditAnnotations", &long)],
            &["spec.auditAnnotations[0].valueExpression: Required value: must not exceed 5120 bytes in length"],
        ),
        (
            &[("/spec/auditAnnotations", &format!("[{}]", many.join(",")))],
            &[&format!(
                "spec.auditAnnotations: Invalid value: [{}]: must not have more than 20 auditAnnotations",
                printed.join(",")
            )],
        ),
    ]);
    base.refuses(&[(
        &[("/metadata/name", ""), ("/spec/auditAnnotations", r#"[{"key":"k","valueExpression":"''"}]"#)],
        &[
            "metadata.name: Required value: name or generateName is required",
            r#"spec.auditAnnotations[0].key: Invalid value: "k": requires metadata.name be non-empty"#,
        ],
    )]);
}

#[test]
fn stored_match_conditions_are_not_compiled_again_unless_parameters_change() {
    let base = validating_policy();
    let before = [("/spec/matchConditions", r#"[{"name":"a","expression":"no"}]"#)];
    base.accepts_update_of(&before, &[&[("/metadata/labels", r#"{"a":"b"}"#)]]);
    base.refuses_update_of(
        &before,
        &[(
            &[("/spec/paramKind", r#"{"apiVersion":"v1","kind":"ConfigMap"}"#)],
            &[
                "spec.matchConditions[0].expression: Invalid value: \"no\": compilation failed: ERROR: <input>:1:1: undeclared reference to 'no' (in container '')\n | no\n | ^",
            ],
        )],
    );
}

#[test]
fn a_policy_status_has_warnings_and_conditions() {
    let object = format!(
        r#"{{"metadata":{{"name":"a"}},"spec":{{"matchConstraints":{{"resourceRules":[{RULE}]}},"validations":[{{"expression":"true"}}]}}}}"#
    );
    let base = Base::new(GROUP, "validatingadmissionpolicies/status", &object);
    let warnings = |list: &str| format!(r#"{{"expressionWarnings":[{list}]}}"#);
    base.accepts_update(&[&[(
        "/status/typeChecking",
        &warnings(r#"{"fieldRef":"spec.a[0]","warning":"w"}"#),
    )]]);
    base.refuses_update(&[
        (
            &[("/status/typeChecking", &warnings(r#"{},{"fieldRef":"[","warning":"w"}"#))],
            &[
                "status.typeChecking.expressionWarnings[0].warning: Required value",
                "status.typeChecking.expressionWarnings[0].fieldRef: Required value",
                r#"status.typeChecking.expressionWarnings[1].fieldRef: Invalid value: "[": invalid JSONPath: unterminated array"#,
            ],
        ),
        (
            &[("/status/conditions", r#"[{"type":"A","status":"Yes","reason":"","message":""}]"#)],
            &[
                r#"status.conditions[0].status: Unsupported value: "Yes": supported values: "False", "True", "Unknown""#,
                "status.conditions[0].lastTransitionTime: Required value",
                "status.conditions[0].reason: Required value",
            ],
        ),
    ]);
}

#[test]
fn a_mutating_policy_changes_objects_of_creates_and_updates() {
    let base = mutating_policy();
    base.accepts(&[&[(
        "/spec/mutations/0",
        r#"{"patchType":"JSONPatch","jsonPatch":{"expression":"[JSONPatch{op: 'add', path: '/a', value: 1}]"}}"#,
    )]]);
    base.refuses(&[
        (
            &[("/spec/matchConstraints/resourceRules/0/operations", r#"["DELETE"]"#)],
            &[r#"spec.matchConstraints.resourceRules.operations: Unsupported value: "DELETE": supported values: "*", "CONNECT", "CREATE", "UPDATE""#],
        ),
        (
            &[("/spec/mutations", ""), ("/spec/reinvocationPolicy", "")],
            &[
                "spec.mutations: Required value: mutations must contain at least one item",
                "spec.reinvocationPolicy: Required value",
            ],
        ),
        (
            &[("/spec/reinvocationPolicy", r#""Always""#), ("/spec/mutations/0/patchType", r#""Merge""#)],
            &[
                r#"spec.mutations[0].patchType: Unsupported value: "Merge": supported values: "ApplyConfiguration", "JSONPatch""#,
                r#"spec.reinvocationPolicy: Unsupported value: "Always": supported values: "IfNeeded", "Never""#,
            ],
        ),
        (&[("/spec/mutations/0/patchType", r#""""#)], &["spec.mutations[0].patchType: Required value"]),
        (
            &[("/spec/mutations/0/patchType", r#""JSONPatch""#)],
            &[
                "spec.mutations[0].jsonPatch: Required value: must be specified when patchType is JSONPatch",
                r#"spec.mutations[0].applyConfiguration: Invalid value: "{applyConfiguration}": must not be specified when patchType is JSONPatch"#,
            ],
        ),
        (
            &[("/spec/mutations/0", r#"{"patchType":"ApplyConfiguration","jsonPatch":{"expression":"[]"}}"#)],
            &[
                "spec.mutations[0].applyConfiguration: Required value: must be specified when patchType is ApplyConfiguration",
                r#"spec.mutations[0].jsonPatch: Invalid value: "{jsonPatch}": must not be specified when patchType is ApplyConfiguration"#,
            ],
        ),
        (
            &[("/spec/mutations/0/applyConfiguration/expression", r#""""#)],
            &["spec.mutations[0].applyConfiguration.expression: Required value"],
        ),
        (
            &[("/spec/mutations/0/applyConfiguration/expression", r#""1""#)],
            &[r#"spec.mutations[0].applyConfiguration.expression: Invalid value: "1": must evaluate to Object but got int"#],
        ),
    ]);
}

#[test]
fn a_binding_names_its_policy_and_parameters() {
    let validating = Base::new(
        GROUP,
        "validatingadmissionpolicybindings",
        r#"{"metadata":{"name":"a"},"spec":{"policyName":"p","validationActions":["Deny"],"paramRef":{"name":"a","parameterNotFoundAction":"Deny"}}}"#,
    );
    let mutating = Base::new(
        GROUP,
        "mutatingadmissionpolicybindings",
        r#"{"metadata":{"name":"a"},"spec":{"policyName":"p","paramRef":{"name":"a","parameterNotFoundAction":"Deny"}}}"#,
    );
    for base in [&validating, &mutating] {
        base.refuses(&[
            (&[("/spec/policyName", r#""""#)], &["spec.policyName: Required value"]),
            (
                &[("/spec/policyName", r#""A""#)],
                &[&format!(r#"spec.policyName: Invalid value: "A": {SUBDOMAIN}"#)],
            ),
            (
                &[("/spec/paramRef/name", r#""a/b""#), ("/spec/paramRef/selector", r#"{"matchLabels":{"a":"-"}}"#)],
                &[
                    r#"spec.paramRef.name: Invalid value: "a/b": may not contain '/'"#,
                    "spec.paramRef.name: Forbidden: name and selector are mutually exclusive",
                    &format!(r#"spec.paramRef.selector.matchLabels: Invalid value: "-": {LABEL_VALUE}"#),
                    "spec.paramRef.selector: Forbidden: name and selector are mutually exclusive",
                ],
            ),
            (
                &[("/spec/paramRef", r#"{"parameterNotFoundAction":"Maybe"}"#)],
                &[
                    "spec.paramRef: Required value: one of name or selector must be specified",
                    r#"spec.paramRef.parameterNotFoundAction: Unsupported value: "Maybe": supported values: "Deny", "Allow""#,
                ],
            ),
            (
                &[("/spec/paramRef/parameterNotFoundAction", "")],
                &["spec.paramRef.parameterNotFoundAction: Required value"],
            ),
        ]);
    }
    validating.refuses(&[
        (
            &[("/spec/validationActions", r#"["Deny","Warn","Warn","Log"]"#)],
            &[
                r#"spec.validationActions[2]: Duplicate value: "Warn""#,
                r#"spec.validationActions[3]: Unsupported value: "Log": supported values: "Audit", "Deny", "Warn""#,
                r#"spec.validationActions: Invalid value: ["Deny","Warn","Warn","Log"]: must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)"#,
            ],
        ),
        (
            &[("/spec/validationActions", "")],
            &["spec.validationActions: Required value: at least one validation action is required"],
        ),
    ]);
    mutating.refuses(&[(
        &[("/spec/matchResources", &format!(r#"{{"resourceRules":[{}]}}"#, RULE.replace("CREATE", "DELETE")))],
        &[r#"spec.matchResources.resourceRules.operations: Unsupported value: "DELETE": supported values: "*", "CONNECT", "CREATE", "UPDATE""#],
    )]);
}

#[test]
fn names_of_objects_from_files_are_refused_where_there_are_files() {
    let object = r#"{"metadata":{"name":"a"}}"#;
    let name = [("/metadata/name", r#""a.static.k8s.io""#)];
    let base = Base::with_features(
        GROUP,
        "validatingwebhookconfigurations",
        object,
        &[(Feature::ManifestBasedAdmissionControlConfig, true)],
    );
    base.refuses(&[(
        &name,
        &[r#"metadata.name: Invalid value: "a.static.k8s.io": names ending with ".static.k8s.io" are reserved for static manifest-based configurations and cannot be managed via the API"#],
    )]);
    Base::new(GROUP, "validatingwebhookconfigurations", object).accepts(&[&name]);
}
