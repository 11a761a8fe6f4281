use pintle_meta::Object;

use super::*;

fn object<const N: usize>(entries: [(&str, Value); N]) -> Value {
    Value::object(entries.into_iter().collect())
}

fn strings<const N: usize>(items: [&str; N]) -> Value {
    Value::list(items.into_iter().map(Value::from).collect())
}

#[test]
fn structs_are_printed_with_go_names_and_unset_fields() {
    let strategy = object([("type", "Bar".into())]);
    assert_eq!(json("apps.StatefulSetUpdateStrategy", &strategy), r#"{"Type":"Bar","RollingUpdate":null}"#);
    let strategy = object([("type", "Bar".into()), ("rollingUpdate", object([("partition", 1i64.into())]))]);
    let want = r#"{"Type":"Bar","RollingUpdate":{"Partition":1,"MaxUnavailable":null}}"#;
    assert_eq!(json("apps.StatefulSetUpdateStrategy", &strategy), want);
    let toleration = Value::list(vec![object([("key", "a".into())])]);
    let want = r#"[{"Key":"a","Operator":"","Value":"","Effect":"","TolerationSeconds":null}]"#;
    assert_eq!(json("[]core.Toleration", &toleration), want);
}

#[test]
fn a_container_security_context_is_printed_as_recorded() {
    let context = object([
        ("capabilities", object([("add", strings(["CAP_SYS_ADMIN"]))])),
        ("allowPrivilegeEscalation", false.into()),
    ]);
    let want = "{\"Capabilities\":{\"Add\":[\"CAP_SYS_ADMIN\"],\"Drop\":null},\"Privileged\":null,\"SELinuxOptions\":null,\
                \"WindowsOptions\":null,\"RunAsUser\":null,\"RunAsGroup\":null,\"RunAsNonRoot\":null,\
                \"ReadOnlyRootFilesystem\":null,\"AllowPrivilegeEscalation\":false,\"ProcMount\":null,\
                \"SeccompProfile\":null,\"AppArmorProfile\":null}";
    assert_eq!(json("*core.SecurityContext", &context), want);
}

#[test]
fn the_internal_name_of_a_type_is_known() {
    let context = crate::find("core/v1.SecurityContext").unwrap();
    assert_eq!(internal(context), Some("core.SecurityContext"));
}

#[test]
fn embedded_structs_are_printed_inline() {
    let template = object([
        ("metadata", object([("labels", object([("a", "b".into())]))])),
        ("spec", object([("nodeName", "n".into())])),
    ]);
    let text = json("core.PodTemplateSpec", &template);
    assert!(
        text.starts_with(r#"{"labels":{"a":"b"},"Spec":{"Volumes":null,"InitContainers":null,"#),
        "{text}"
    );
    let volume = object([("name", "v".into()), ("emptyDir", object([]))]);
    let text = json("core.Volume", &volume);
    assert!(
        text.starts_with(r#"{"Name":"v","HostPath":null,"EmptyDir":{"Medium":"","SizeLimit":null},"#),
        "{text}"
    );
}

#[test]
fn kind_and_version_are_not_printed() {
    let pod = object([
        ("kind", "Pod".into()),
        ("apiVersion", "v1".into()),
        ("metadata", object([("name", "p".into())])),
    ]);
    assert!(json("core.Pod", &pod).starts_with(r#"{"name":"p","Spec":{"#));
}

#[test]
fn the_security_context_of_a_pod_has_fields_of_the_spec_and_is_never_nil() {
    let spec = object([("hostNetwork", true.into()), ("hostUsers", false.into())]);
    let text = json("core.PodSpec", &spec);
    let want = r#""SecurityContext":{"HostNetwork":true,"HostPID":false,"HostIPC":false,"ShareProcessNamespace":null,"HostUsers":false,"#;
    assert!(text.contains(want), "{text}");
}

#[test]
fn quantities_times_and_bytes_are_printed_as_in_json() {
    let claim = object([("resources", object([("requests", object([("storage", "1Gi".into())]))]))]);
    let text = json("core.PersistentVolumeClaimSpec", &claim);
    assert!(text.contains(r#""Resources":{"Limits":null,"Requests":{"storage":"1Gi"}}"#), "{text}");
    let secret = object([("data", object([("k", Value::bytes(*b"hi"))]))]);
    assert!(json("core.Secret", &secret).contains(r#""Data":{"k":"aGk="}"#));
    let event = json("core.Event", &object([]));
    assert!(event.contains(r#""FirstTimestamp":null"#) && event.contains(r#""EventTime":null"#), "{event}");
}

#[test]
fn schemas_are_printed_as_internal_structs() {
    let schema = object([
        ("type", "object".into()),
        ("default", Value::raw(*b"{\"b\": 1.0, \"a\": null}")),
        ("items", object([("type", "string".into())])),
        ("additionalProperties", true.into()),
        ("dependencies", object([("x", strings(["y"]))])),
    ]);
    let text = json("apiextensions.JSONSchemaProps", &schema);
    for want in [
        r#""Type":"object","Nullable":false"#,
        r#""Default":{"a":null,"b":1},"Maximum":null"#,
        r#""Items":{"Schema":{"ID":"","#,
        r#""XValidations":null},"JSONSchemas":null},"AllOf":null"#,
        r#""AdditionalProperties":{"Allows":true,"Schema":null}"#,
        r#""Dependencies":{"x":{"Schema":null,"Property":["y"]}}"#,
    ] {
        assert!(text.contains(want), "{want} in {text}");
    }
    let nested = object([("additionalProperties", object([("type", "string".into())]))]);
    let text = json("apiextensions.JSONSchemaProps", &nested);
    assert!(text.contains(r#""AdditionalProperties":{"Allows":true,"Schema":{"ID":"""#), "{text}");
}

#[test]
fn versioned_types_are_printed_unchanged() {
    let selector = object([("matchLabels", object([("a", "<".into())]))]);
    assert_eq!(json("*meta/v1.LabelSelector", &selector), r#"{"matchLabels":{"a":"\u003c"}}"#);
    assert_eq!(json("[]string", &strings(["v2"])), r#"["v2"]"#);
    assert_eq!(json("map[string]string", &Value::NULL), "null");
}

#[test]
fn empty_lists_and_maps_are_printed_unless_json_omits_them() {
    let empty = Value::hollow;
    let labels = object([("a", "b".into())]);
    let template = object([("metadata", object([("labels", labels), ("annotations", empty())]))]);
    assert!(json("core.PodTemplateSpec", &template).starts_with(r#"{"labels":{"a":"b"},"Spec":{"#));
    let source = object([("clusterTrustBundle", empty()), ("secret", object([("items", empty())]))]);
    let printed = json("core.VolumeProjection", &source);
    assert!(printed.contains(r#""Secret":{"Name":"","Items":[],"Optional":null}"#), "{printed}");
    assert!(printed.contains(r#""ClusterTrustBundle":null"#), "{printed}");
}

#[test]
fn an_invalid_value_is_printed_by_its_type() {
    assert_eq!(printed("string", &"é<\u{7f}".into()).to_string(), r#""é<\x7f""#);
    assert_eq!(printed("core.Protocol", &"<".into()).to_string(), r#""\u003c""#);
    assert_eq!(printed("*string", &"<".into()).to_string(), r#""\u003c""#);
    assert_eq!(printed("int32", &3i64.into()).to_string(), "3");
    assert_eq!(printed("float64", &1e-6.into()).to_string(), "1e-06");
    assert_eq!(printed("bool", &true.into()).to_string(), "true");
}

#[test]
fn a_diff_is_of_indented_json() {
    let spec = |size: &str| {
        object([
            ("accessModes", strings(["ReadWriteOnce"])),
            ("resources", object([("requests", object([("storage", size.into())]))])),
        ])
    };
    let want = "@@ -6,7 +6,7 @@\n  \"Resources\": {\n   \"Limits\": null,\n   \"Requests\": {\n-   \"storage\": \"1Gi\"\n\
                +   \"storage\": \"2Gi\"\n   }\n  },\n  \"VolumeName\": \"\",\n";
    assert_eq!(diff("core.PersistentVolumeClaimSpec", &spec("1Gi"), &spec("2Gi")), want);
    assert_eq!(diff("core.PersistentVolumeClaimSpec", &spec("1Gi"), &spec("1Gi")), "");
}

#[test]
fn a_diff_of_an_embedded_struct_takes_the_enclosing_object() {
    let spec = |path: &str| {
        let path = object([("path", path.into()), ("type", "".into())]);
        object([("capacity", object([("storage", "5Gi".into())])), ("hostPath", path)])
    };
    let want = "@@ -2,7 +2,7 @@\n  \"GCEPersistentDisk\": null,\n  \"AWSElasticBlockStore\": null,\n  \"HostPath\": {\n\
                -  \"Path\": \"/tmp/x\",\n+  \"Path\": \"/other\",\n   \"Type\": \"\"\n  },\n  \"Glusterfs\": null,\n";
    assert_eq!(diff("core.PersistentVolumeSource", &spec("/tmp/x"), &spec("/other")), want);
}

#[test]
fn a_diff_of_an_object_has_its_metadata_first() {
    let claim = |phase: &str| {
        let metadata = object([
            ("name", "d".into()),
            ("namespace", "n".into()),
            ("uid", "u".into()),
            ("creationTimestamp", "2026-01-01T00:00:00Z".into()),
            ("finalizers", strings(["kubernetes.io/pvc-protection"])),
        ]);
        let requests = object([("storage", "1Gi".into())]);
        let spec = object([
            ("accessModes", strings(["ReadWriteOnce"])),
            ("resources", object([("requests", requests)])),
            ("storageClassName", "".into()),
            ("volumeMode", "Filesystem".into()),
        ]);
        object([
            ("kind", "PersistentVolumeClaim".into()),
            ("metadata", metadata),
            ("spec", spec),
            ("status", object([("phase", phase.into())])),
        ])
    };
    let want = "@@ -25,7 +25,7 @@\n   \"VolumeAttributesClassName\": null\n  },\n  \"Status\": {\n\
                -  \"Phase\": \"Pending\",\n+  \"Phase\": \"Bound\",\n   \"AccessModes\": null,\n   \"Capacity\": null,\n   \
                \"Conditions\": null,\n";
    assert_eq!(diff("*core.PersistentVolumeClaim", &claim("Pending"), &claim("Bound")), want);
}

#[test]
fn a_diff_prints_a_new_ephemeral_container_in_full() {
    let container = |name: &str| {
        object([
            ("name", name.into()),
            ("image", "busybox".into()),
            ("resources", object([])),
            ("terminationMessagePath", "/dev/termination-log".into()),
            ("terminationMessagePolicy", "File".into()),
            ("imagePullPolicy", "Always".into()),
        ])
    };
    let old = object([("containers", Value::list(vec![container("c")])), ("restartPolicy", "Always".into())]);
    let mut new = old.clone();
    new.as_object_mut().unwrap().insert("ephemeralContainers", Value::list(vec![container("dbg")]));
    let text = diff("core.PodSpec", &old, &new);
    let start = "@@ -34,7 +34,40 @@\n    \"TTY\": false\n   }\n  ],\n- \"EphemeralContainers\": null,\n\
                 + \"EphemeralContainers\": [\n+  {\n+   \"Name\": \"dbg\",\n+   \"Image\": \"busybox\",\n+   \"Command\": null,\n";
    let end = "+   \"TTY\": false,\n+   \"TargetContainerName\": \"\"\n+  }\n+ ],\n  \"RestartPolicy\": \"Always\",\n  \
               \"TerminationGracePeriodSeconds\": null,\n  \"ActiveDeadlineSeconds\": null,\n";
    assert!(text.starts_with(start) && text.ends_with(end), "{text}");
}

#[test]
fn every_internal_type_prints_its_zero_value() {
    for name in facts::all().keys() {
        for value in [Value::NULL, Value::object(Object::new()), "x".into()] {
            assert!(!json(name, &value).is_empty(), "{name}");
        }
    }
}
