use super::*;

#[test]
fn a_null_leaves_the_zero_value() {
    check(
        "core/v1.Container",
        &[
            (
                r#"{"name":null,"tty":null,"args":null,"env":null,"resources":null,"lifecycle":null}"#,
                r#"{"name":"","resources":{}}"#,
            ),
            ("null", r#"{"name":"","resources":{}}"#),
        ],
    );
    check(
        "core/v1.ConfigMap",
        &[(
            r#"{"data":{"a":null},"binaryData":{"b":null}}"#,
            r#"{"metadata":{},"data":{"a":""},"binaryData":{"b":null}}"#,
        )],
    );
    check(
        "core/v1.PodSpec",
        &[(
            r#"{"containers":[null,{"name":"a"}]}"#,
            r#"{"containers":[{"name":"","resources":{}},{"name":"a","resources":{}}]}"#,
        )],
    );
    check(
        "apps/v1.DeploymentSpec",
        &[(
            r#"{"replicas":null,"selector":null,"template":null}"#,
            r#"{"selector":null,"template":{"metadata":{},"spec":{"containers":null}},"strategy":{}}"#,
        )],
    );
}

#[test]
fn lists_and_maps_are_nil_or_empty() {
    check(
        "core/v1.PodSpec",
        &[("{}", r#"{"containers":null}"#), (r#"{"containers":[]}"#, r#"{"containers":[]}"#)],
    );
    check("core/v1.ConfigMap", &[(r#"{"data":{}}"#, r#"{"metadata":{}}"#)]);
    check(
        "rbac/v1.ClusterRole",
        &[("{}", r#"{"metadata":{},"rules":null}"#), (r#"{"rules":[]}"#, r#"{"metadata":{},"rules":[]}"#)],
    );
}

#[test]
fn wrong_types_get_gos_message_with_the_path_through_structs() {
    let cases = [
        (
            "core/v1.ConfigMap",
            r#"{"data":{"a":1}}"#,
            "number into Go struct field ConfigMap.data of type string",
        ),
        (
            "core/v1.ConfigMap",
            r#"{"data":"x"}"#,
            "string into Go struct field ConfigMap.data of type map[string]string",
        ),
        (
            "core/v1.ConfigMap",
            r#"{"data":[]}"#,
            "array into Go struct field ConfigMap.data of type map[string]string",
        ),
        (
            "core/v1.ConfigMap",
            r#"{"immutable":"x"}"#,
            "string into Go struct field ConfigMap.immutable of type bool",
        ),
        (
            "core/v1.ConfigMap",
            r#"{"metadata":"x"}"#,
            "string into Go struct field ConfigMap.metadata of type v1.ObjectMeta",
        ),
        (
            "core/v1.ConfigMap",
            r#"{"metadata":{"name":true}}"#,
            "bool into Go struct field ObjectMeta.metadata.name of type string",
        ),
        (
            "core/v1.ConfigMap",
            r#"{"metadata":{"uid":5}}"#,
            "number into Go struct field ObjectMeta.metadata.uid of type types.UID",
        ),
        ("core/v1.ConfigMap", "[]", "array into Go value of type v1.ConfigMap"),
        ("core/v1.ConfigMap", "5", "number into Go value of type v1.ConfigMap"),
        (
            "core/v1.Pod",
            r#"{"spec":{"containers":{}}}"#,
            "object into Go struct field PodSpec.spec.containers of type []v1.Container",
        ),
        (
            "core/v1.Pod",
            r#"{"spec":{"containers":[5]}}"#,
            "number into Go struct field PodSpec.spec.containers of type v1.Container",
        ),
        (
            "core/v1.Pod",
            r#"{"spec":{"containers":[{"ports":[{"containerPort":"x"}]}]}}"#,
            "string into Go struct field ContainerPort.spec.containers.ports.containerPort of type int32",
        ),
        (
            "core/v1.Pod",
            r#"{"spec":{"restartPolicy":{}}}"#,
            "object into Go struct field PodSpec.spec.restartPolicy of type v1.RestartPolicy",
        ),
        (
            "apps/v1.Deployment",
            r#"{"spec":{"replicas":"3"}}"#,
            "string into Go struct field DeploymentSpec.spec.replicas of type int32",
        ),
        (
            "apps/v1.Deployment",
            r#"{"spec":{"replicas":[]}}"#,
            "array into Go struct field DeploymentSpec.spec.replicas of type int32",
        ),
        // An embedded struct's type name is a segment of the path.
        ("core/v1.Pod", r#"{"kind":5}"#, "number into Go struct field Pod.TypeMeta.kind of type string"),
        (
            "core/v1.Pod",
            r#"{"spec":{"volumes":[{"hostPath":5}]}}"#,
            "number into Go struct field Volume.spec.volumes.VolumeSource.hostPath of type v1.HostPathVolumeSource",
        ),
        (
            "core/v1.Pod",
            r#"{"spec":{"volumes":[{"hostPath":{"path":5}}]}}"#,
            "number into Go struct field HostPathVolumeSource.spec.volumes.VolumeSource.hostPath.path of type string",
        ),
        (
            "core/v1.Pod",
            r#"{"spec":{"ephemeralContainers":[{"tty":5}]}}"#,
            "number into Go struct field EphemeralContainer.spec.ephemeralContainers.EphemeralContainerCommon.tty of type bool",
        ),
    ];
    for (name, text, want) in cases {
        assert_eq!(decoded(name, text), Err(format!("json: cannot unmarshal {want}")), "{text}");
    }
}

#[test]
fn syntax_errors_and_rejections_precede_the_first_wrong_type() {
    let name = "core/v1.Pod";
    let first = r#"{"spec":{"hostNetwork":1,"nodeName":2}}"#;
    assert!(decoded(name, first).unwrap_err().ends_with("PodSpec.spec.hostNetwork of type bool"));
    let refused = r#"{"spec":{"hostNetwork":1},"metadata":{"creationTimestamp":"x"}}"#;
    assert!(decoded(name, refused).unwrap_err().starts_with("parsing time \"x\""));
    let broken = r#"{"spec":{"hostNetwork":1},"metadata":{"creationTimestamp":"x"},"status":}"#;
    assert_eq!(decoded(name, broken).unwrap_err(), "invalid character '}' looking for beginning of value");
    let trailing = r#"{"metadata":{"creationTimestamp":"x"}} x"#;
    assert_eq!(decoded(name, trailing).unwrap_err(), "invalid character 'x' after top-level value");
}

#[test]
fn integers_must_be_written_as_integers_and_fit() {
    let of_type = |found: &str, of: &str| {
        format!("!json: cannot unmarshal number {found} into Go struct field DeploymentSpec.{of}")
    };
    let rest = r#""selector":null,"template":{"metadata":{},"spec":{"containers":null}},"strategy":{}"#;
    for (number, want) in [
        ("3", format!(r#"{{"replicas":3,{rest}}}"#)),
        ("-0", format!(r#"{{"replicas":0,{rest}}}"#)),
        ("2147483647", format!(r#"{{"replicas":2147483647,{rest}}}"#)),
        ("2147483648", of_type("2147483648", "replicas of type int32")),
        ("1.0", of_type("1.0", "replicas of type int32")),
        ("1e3", of_type("1e3", "replicas of type int32")),
    ] {
        check("apps/v1.DeploymentSpec", &[(&format!(r#"{{"replicas":{number}}}"#), &want)]);
    }
    let generation = |number: &str| normal("meta/v1.ObjectMeta", &format!(r#"{{"generation":{number}}}"#));
    assert_eq!(generation("9223372036854775807").unwrap(), r#"{"generation":9223372036854775807}"#);
    assert_eq!(
        generation("9223372036854775808").unwrap_err(),
        "json: cannot unmarshal number 9223372036854775808 into Go struct field ObjectMeta.generation of type int64"
    );
}

#[test]
fn bytes_are_base64_or_a_list_of_numbers() {
    let secret = |data: &str| normal("core/v1.Secret", &format!(r#"{{"data":{{"k":{data}}}}}"#));
    let holds = |data: &str| Ok(format!(r#"{{"metadata":{{}},"data":{{"k":{data}}}}}"#));
    assert_eq!(secret(r#""aGk=""#), holds(r#""aGk=""#));
    assert_eq!(secret(r#""aG\nk=""#), holds(r#""aGk=""#));
    assert_eq!(secret(r#""""#), holds(r#""""#));
    assert_eq!(secret("[104,105]"), holds(r#""aGk=""#));
    assert_eq!(secret("[null]"), holds(r#""AA==""#));
    assert_eq!(secret("null"), holds("null"));
    assert_eq!(secret(r#""a!""#), Err("illegal base64 data at input byte 1".into()));
    assert_eq!(secret(r#""abc""#), Err("illegal base64 data at input byte 0".into()));
    let wrong = |found: &str, of: &str| {
        Err(format!("json: cannot unmarshal {found} into Go struct field Secret.data of type {of}"))
    };
    assert_eq!(secret("[256]"), wrong("number 256", "uint8"));
    assert_eq!(secret("[\"a\"]"), wrong("string", "uint8"));
    assert_eq!(secret("5"), wrong("number", "[]uint8"));
}

#[test]
fn names_are_case_sensitive() {
    let found = decoded("core/v1.ConfigMap", r#"{"Data":{"a":"b"},"metadata":{"Name":"x"}}"#).unwrap();
    assert_eq!(text_of(&found), r#"{"metadata":{}}"#);
    assert_eq!(found.strict, [r#"unknown field "Data""#, r#"unknown field "metadata.Name""#]);
}

#[test]
fn escaped_field_names_match() {
    check(
        "core/v1.ConfigMap",
        &[(r#"{"d\u0061ta":{"\u0061\n":"\u003c"}}"#, r#"{"metadata":{},"data":{"a\n":"\u003c"}}"#)],
    );
}

#[test]
fn maps_are_sorted_and_fields_are_in_declaration_order() {
    check(
        "core/v1.ConfigMap",
        &[(
            r#"{"data":{"b":"1","a":"2","é":"3","B":"4"},"metadata":{"namespace":"n","name":"m"},"apiVersion":"v1","kind":"ConfigMap"}"#,
            r#"{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"m","namespace":"n"},"data":{"B":"4","a":"2","b":"1","é":"3"}}"#,
        )],
    );
}

#[test]
fn untyped_objects_keep_integers_floats_and_nulls_apart() {
    let cases = [
        (
            r#"{"b":1,"a":null,"c":[1.0,1.5,-0,-0.0,1e3,9223372036854775807,9223372036854775808]}"#,
            r#"{"a":null,"b":1,"c":[1,1.5,0,-0,1000,9223372036854775807,9223372036854776000]}"#,
        ),
        ("null", "{}"),
        ("{}", "{}"),
    ];
    for (text, want) in cases {
        assert_eq!(untyped(text).as_deref(), Ok(want), "{text}");
    }
    let found = decode_untyped(b"{\"a\":1.0,\"b\":1}").unwrap().value;
    assert_eq!((found.get("a").unwrap().as_i64(), found.get("b").unwrap().as_i64()), (None, Some(1)));
    let wrong =
        |found: &str, of: &str| Err(format!("json: cannot unmarshal {found} into Go value of type {of}"));
    assert_eq!(untyped("[]"), wrong("array", "map[string]interface {}"));
    assert_eq!(untyped("\"a\""), wrong("string", "map[string]interface {}"));
    assert_eq!(untyped(r#"{"a":1e999}"#), wrong("number 1e999", "float64"));
    assert_eq!(untyped(r#"{"a":}"#), Err("invalid character '}' looking for beginning of value".into()));
}
