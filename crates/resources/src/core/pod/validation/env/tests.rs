use pintle_features::Feature;

use crate::framework::validation::testing::Base;

const POD: &str = r#"{
    "metadata": {"name": "a", "namespace": "n"},
    "spec": {
        "containers": [{"name": "c", "image": "i"}],
        "volumes": [{"name": "v", "emptyDir": {}}, {"name": "w", "hostPath": {"path": "/a"}}]
    }
}"#;
const SUBDOMAIN: &str = r"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const NAME: &str =
    "a valid environment variable name must consist only of printable ASCII characters other than '='";
const KEY: &str = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
const ENV: &str = "spec.containers[0].env[0]";

fn pods() -> Base {
    Base::new("", "pods", POD)
}

/// Checks the errors of a variable, each without the path of the variable.
#[track_caller]
fn refused(base: &Base, variable: &str, expected: &[&str]) {
    let expected: Vec<String> = expected.iter().map(|error| format!("{ENV}{error}")).collect();
    let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
    base.refuses(&[(&[("/spec/containers/0/env", &format!("[{variable}]"))], &expected)]);
}

#[track_caller]
fn accepted(base: &Base, variable: &str) {
    base.accepts(&[&[("/spec/containers/0/env", &format!("[{variable}]"))]]);
}

#[test]
fn variables_have_printable_names() {
    let pods = pods();
    accepted(&pods, r#"{"name":"1 a-b.c!","value":"v"}"#);
    refused(&pods, r#"{"value":"v"}"#, &[".name: Required value"]);
    refused(&pods, r#"{"name":"a=b"}"#, &[&format!(r#".name: Invalid value: "a=b": {NAME}"#)]);
}

#[test]
fn variables_have_one_source() {
    let pods = pods();
    let all = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`";
    refused(&pods, r#"{"name":"a","valueFrom":{}}"#, &[&format!(r#".valueFrom: Invalid value: "": {all}"#)]);
    let field = r#""fieldRef":{"fieldPath":"metadata.name"}"#;
    refused(
        &pods,
        &format!(r#"{{"name":"a","value":"b","valueFrom":{{{field}}}}}"#),
        &[r#".valueFrom: Invalid value: "": may not be specified when `value` is not empty"#],
    );
    refused(
        &pods,
        &format!(r#"{{"name":"a","valueFrom":{{{field},"secretKeyRef":{{"name":"s","key":"k"}}}}}}"#),
        &[r#".valueFrom: Invalid value: "": may not have more than one field specified at a time"#],
    );
    let without_files = Base::with_features("", "pods", POD, &[(Feature::EnvFiles, false)]);
    refused(
        &without_files,
        r#"{"name":"a","valueFrom":{}}"#,
        &[
            r#".valueFrom: Invalid value: "": must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`"#,
        ],
    );
}

#[test]
fn fields_of_the_pod_are_named_by_their_path() {
    let pods = pods();
    let of = |reference: &str| format!(r#"{{"name":"a","valueFrom":{{"fieldRef":{{{reference}}}}}}}"#);
    for path in
        ["metadata.name", "spec.host", "status.podIPs", "metadata.labels['a']", "metadata.annotations['A/b']"]
    {
        accepted(&pods, &of(&format!(r#""fieldPath":"{path}""#)));
    }
    let invalid = |path: &str, expected: &str| {
        refused(
            &pods,
            &of(&format!(r#""fieldPath":"{path}""#)),
            &[&format!(".valueFrom.fieldRef{expected}")],
        );
    };
    invalid("", ".fieldPath: Required value");
    invalid(
        "metadata.labels",
        r#".fieldPath: Unsupported value: "metadata.labels": supported values: "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName", "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs""#,
    );
    invalid(
        "spec.containers",
        r#".fieldPath: Invalid value: "spec.containers": error converting fieldPath: field label not supported: spec.containers"#,
    );
    invalid(
        "metadata.name['a']",
        r#".fieldPath: Invalid value: "metadata.name['a']": error converting fieldPath: field label does not support subscript: metadata.name['a']"#,
    );
    invalid(
        "['a']",
        r#".fieldPath: Invalid value: "['a']": error converting fieldPath: field label not supported: ['a']"#,
    );
    invalid(
        "metadata.labels['a b']",
        r#": Invalid value: "a b": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"#,
    );
    refused(
        &pods,
        &of(r#""apiVersion":"v2","fieldPath":"metadata.name""#),
        &[
            r#".valueFrom.fieldRef.fieldPath: Invalid value: "metadata.name": error converting fieldPath: unsupported pod version: v2"#,
        ],
    );
}

#[test]
fn a_field_without_a_version_is_refused_where_none_is_defaulted() {
    use crate::framework::validation::{Cursor, Errors};
    let object = pintle_codec::json::decode_any(br#"{"s":{"fieldPath":"metadata.name"}}"#).unwrap().value;
    let errors = Errors::default();
    super::field_ref(&Cursor::root(&object, None, &errors).field("s"), super::FIELDS);
    assert_eq!(errors.into_vec()[0].to_string(), "s.apiVersion: Required value");
}

#[test]
fn resources_have_divisors_of_their_unit() {
    let pods = pods();
    let of =
        |reference: &str| format!(r#"{{"name":"a","valueFrom":{{"resourceFieldRef":{{{reference}}}}}}}"#);
    for reference in [
        r#""resource":"limits.cpu""#,
        r#""resource":"requests.cpu","divisor":"1000m""#,
        r#""resource":"limits.memory","divisor":"1Ki""#,
        r#""resource":"limits.hugepages-2Mi","divisor":"1M""#,
    ] {
        accepted(&pods, &of(reference));
    }
    let bytes = "only divisor's values 1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei are supported with the";
    let at = ".valueFrom.resourceFieldRef";
    let refused =
        |reference: &str, expected: &str| refused(&pods, &of(reference), &[&format!("{at}{expected}")]);
    refused(r#""divisor":"7""#, ".resource: Required value");
    refused(
        r#""resource":"limits.pods","divisor":"7""#,
        r#".resource: Unsupported value: "limits.pods": supported values: "limits.cpu", "limits.ephemeral-storage", "limits.memory", "requests.cpu", "requests.ephemeral-storage", "requests.memory""#,
    );
    refused(
        r#""resource":"limits.cpu","divisor":"10m""#,
        r#".divisor: Invalid value: "limits.cpu": only divisor's values 1m and 1 are supported with the cpu resource"#,
    );
    for (resource, unit) in [
        ("requests.memory", "memory"),
        ("limits.ephemeral-storage", "local ephemeral storage"),
        ("requests.hugepages-2Mi", "hugepages"),
    ] {
        refused(
            &format!(r#""resource":"{resource}","divisor":"1m""#),
            &format!(r#".divisor: Invalid value: "{resource}": {bytes} {unit} resource"#),
        );
    }
}

#[test]
fn keys_of_config_maps_and_secrets() {
    let pods = pods();
    accepted(&pods, r#"{"name":"a","valueFrom":{"configMapKeyRef":{"name":"c","key":"k.K_"}}}"#);
    refused(
        &pods,
        r#"{"name":"a","valueFrom":{"configMapKeyRef":{"name":"","key":""}}}"#,
        &[
            &format!(r#".valueFrom.configMapKeyRef.name: Invalid value: "": {SUBDOMAIN}"#),
            ".valueFrom.configMapKeyRef.key: Required value",
        ],
    );
    refused(
        &pods,
        r#"{"name":"a","valueFrom":{"secretKeyRef":{"name":"S","key":"a b"}}}"#,
        &[
            &format!(r#".valueFrom.secretKeyRef.name: Invalid value: "S": {SUBDOMAIN}"#),
            &format!(r#".valueFrom.secretKeyRef.key: Invalid value: "a b": {KEY}"#),
        ],
    );
}

#[test]
fn environment_files_are_in_empty_directories() {
    let pods = pods();
    let of = |reference: &str| format!(r#"{{"name":"a","valueFrom":{{"fileKeyRef":{{{reference}}}}}}}"#);
    accepted(&pods, &of(r#""volumeName":"v","path":"a/b","key":"K k""#));
    refused(
        &pods,
        &of(r#""volumeName":"","path":"","key":"""#),
        &[
            ".valueFrom.fileKeyRef.key: Required value",
            ".valueFrom.fileKeyRef.volumeName: Required value",
            ".valueFrom.fileKeyRef.path: Required value",
            r#".valueFrom.fileKeyRef.volumeName: Not found: """#,
        ],
    );
    refused(
        &pods,
        &of(r#""volumeName":"V","path":"a/..","key":"=""#),
        &[
            &format!(r#".valueFrom.fileKeyRef.key: Invalid value: "=": {NAME}"#),
            &format!(r#".valueFrom.fileKeyRef.volumeName: Invalid value: "V": {LABEL}"#),
            r#".valueFrom.fileKeyRef.path: Invalid value: "a/..": must not contain '..'"#,
            r#".valueFrom.fileKeyRef.volumeName: Not found: "V""#,
        ],
    );
    refused(
        &pods,
        &of(r#""volumeName":"w","path":"a","key":"k""#),
        &[
            r#".valueFrom.fileKeyRef.volumeName: Invalid value: "w": referenced volume must be of type emptyDir"#,
        ],
    );
    // Init containers come first.
    let variable = format!("[{}]", of(r#""volumeName":"x","path":"a","key":"k""#));
    pods.refuses(&[(
        &[
            ("/spec/containers/0/env", &variable),
            ("/spec/initContainers", &format!(r#"[{{"name":"i","image":"i","env":{variable}}}]"#)),
        ],
        &[
            r#"spec.initContainers[0].env[0].valueFrom.fileKeyRef.volumeName: Not found: "x""#,
            r#"spec.containers[0].env[0].valueFrom.fileKeyRef.volumeName: Not found: "x""#,
        ],
    )]);
}

#[test]
fn sources_of_many_variables() {
    let pods = pods();
    let at = "spec.containers[0].envFrom";
    let of = |sources: &'static str| [("/spec/containers/0/envFrom", sources)];
    pods.accepts(&[
        // A name that could be the prefix of one.
        &of(r#"[{"prefix":"1-","configMapRef":{"name":"a-"}},{"secretRef":{"name":"b"}}]"#),
    ]);
    pods.refuses(&[
        (
            &of(r#"[{"prefix":"a="},{"configMapRef":{"name":"c"},"secretRef":{"name":"s"}}]"#),
            &[
                &format!(r#"{at}[0].prefix: Invalid value: "a=": {NAME}"#),
                &format!(r#"{at}: Invalid value: "": must specify one of: `configMapRef` or `secretRef`"#),
                &format!(r#"{at}: Invalid value: "": may not have more than one field specified at a time"#),
            ],
        ),
        (
            &of(r#"[{"configMapRef":{}},{"secretRef":{"name":"S"}}]"#),
            &[
                &format!("{at}[0].configMapRef.name: Required value"),
                &format!(r#"{at}[1].secretRef.name: Invalid value: "S": {SUBDOMAIN}"#),
            ],
        ),
    ]);
}
