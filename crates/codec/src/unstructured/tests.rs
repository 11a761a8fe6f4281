use pintle_schema::{Type, find};

use super::*;
use crate::Decoded;

fn tree(json: &str) -> Value {
    json::decode_any(json.as_bytes()).unwrap().value
}

fn text(value: &Value) -> String {
    let mut out = Vec::new();
    json::encode(value, &mut out);
    String::from_utf8(out).unwrap()
}

fn of(name: &str) -> &'static Type {
    find(name).unwrap()
}

fn convert(name: &str, json: &str) -> Result<Decoded, String> {
    to_typed(of(name), &tree(json)).map_err(|error| error.to_string())
}

fn typed(name: &str, json: &str) -> String {
    text(&convert(name, json).unwrap().value)
}

fn error(name: &str, json: &str) -> String {
    convert(name, json).unwrap_err()
}

#[test]
fn an_untyped_tree_converts_to_normal_form() {
    assert_eq!(
        typed(
            "core/v1.Pod",
            r#"{"spec":{"containers":[{"name":"a","tty":false,"resources":{"limits":{"cpu":0.5,"memory":"1024Mi"}}}],
                "nodeName":"","terminationGracePeriodSeconds":0},"kind":"Pod","apiVersion":"v1",
                "metadata":{"creationTimestamp":null,"labels":{}}}"#
        ),
        concat!(
            r#"{"kind":"Pod","apiVersion":"v1","metadata":{},"spec":{"containers":[{"name":"a","#,
            r#""resources":{"limits":{"cpu":"500m","memory":"1Gi"}}}],"terminationGracePeriodSeconds":0},"status":{}}"#
        )
    );
    assert_eq!(typed("core/v1.Pod", "null"), r#"{"metadata":{},"spec":{"containers":null},"status":{}}"#);
}

#[test]
fn nulls_are_zero_values() {
    assert_eq!(
        typed("apps/v1.DeploymentSpec", r#"{"replicas":null,"selector":null,"template":null,"paused":null}"#),
        typed("apps/v1.DeploymentSpec", "{}")
    );
    assert_eq!(
        typed("core/v1.PodSpec", r#"{"containers":[null]}"#),
        r#"{"containers":[{"name":"","resources":{}}]}"#
    );
    assert_eq!(typed("core/v1.ConfigMap", r#"{"data":{"a":null}}"#), r#"{"metadata":{},"data":{"a":""}}"#);
}

#[test]
fn integers_are_truncated_to_their_width() {
    let replicas = |json: &str| {
        let value = convert("apps/v1.DeploymentSpec", &format!("{{\"replicas\":{json}}}")).unwrap().value;
        value.get("replicas").unwrap().as_i64().unwrap()
    };
    assert_eq!(replicas("3"), 3);
    assert_eq!(replicas("3.0"), 3);
    assert_eq!(replicas("4294967299"), 3);
    assert_eq!(replicas("1e300"), 0);
    assert_eq!(typed("core/v1.PodSpec", r#"{"containers":[],"priority":-2147483649}"#), {
        r#"{"containers":[],"priority":2147483647}"#
    });
}

#[test]
fn type_errors_have_gos_names() {
    let cases = [
        ("apps/v1.DeploymentSpec", r#"{"replicas":"3"}"#, "unrecognized type: int32"),
        ("apps/v1.DeploymentSpec", r#"{"replicas":1.5}"#, "cannot convert float64 to int32"),
        ("apps/v1.DeploymentSpec", r#"{"paused":"yes"}"#, "unrecognized type: bool"),
        ("core/v1.PodSpec", r#"{"nodeName":1}"#, "cannot convert int64 to string"),
        ("core/v1.PodSpec", r#"{"restartPolicy":1}"#, "cannot convert int64 to v1.RestartPolicy"),
        ("core/v1.PodSpec", r#"{"nodeName":true}"#, "unrecognized type: string"),
        ("core/v1.PodSpec", r#"{"nodeName":{}}"#, "unrecognized type: string"),
        ("core/v1.PodSpec", r#"{"containers":{}}"#, "cannot restore slice from map"),
        ("core/v1.PodSpec", r#"{"containers":["a"]}"#, "cannot restore struct from: string"),
        ("core/v1.PodSpec", r#"{"nodeSelector":[]}"#, "cannot restore map from slice"),
        ("core/v1.PodSpec", r#"{"nodeSelector":{"a":1}}"#, "cannot convert int64 to string"),
        ("core/v1.Pod", r#"{"spec":"a"}"#, "cannot restore struct from: string"),
        (
            "core/v1.Secret",
            r#"{"data":{"a":"!"}}"#,
            "error decoding from json: illegal base64 data at input byte 0",
        ),
        ("core/v1.Secret", r#"{"data":{"a":1}}"#, "cannot restore slice from int64"),
        ("core/v1.Secret", r#"{"data":{"a":[1.5]}}"#, "cannot convert float64 to uint8"),
        ("core/v1.ResourceRequirements", r#"{"limits":{"cpu":"x"}}"#, {
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
        }),
        ("meta/v1.ObjectMeta", r#"{"creationTimestamp":1}"#, {
            "json: cannot unmarshal number into Go value of type string"
        }),
    ];
    let wrong: Vec<String> = cases
        .iter()
        .map(|(name, json, want)| (name, json, want, error(name, json)))
        .filter(|(_, _, want, got)| got != *want)
        .map(|(name, json, want, got)| format!("{name} {json}\n  got  {got}\n  want {want}"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn unknown_fields_are_strict_errors_in_order() {
    let decoded = convert(
        "core/v1.Pod",
        r#"{"b":1,"a":{"c":1},"spec":{"x":1,"containers":[{"name":"a"},{"y":{},"name":"b"}]},"metadata":{"Name":"a"}}"#,
    );
    assert_eq!(
        decoded.unwrap().strict,
        [
            r#"unknown field "a""#,
            r#"unknown field "b""#,
            r#"unknown field "metadata.Name""#,
            r#"unknown field "spec.containers[1].y""#,
            r#"unknown field "spec.x""#,
        ]
    );
}

#[test]
fn types_with_their_own_json_decode_it() {
    assert_eq!(
        typed("core/v1.ServicePort", r#"{"port":1,"targetPort":"http"}"#),
        r#"{"port":1,"targetPort":"http"}"#
    );
    assert_eq!(
        typed(
            "meta/v1.ManagedFieldsEntry",
            r#"{"time":"2020-01-01T01:00:00+01:00","fieldsV1":{"f:b":{},"f:a":{}}}"#
        ),
        r#"{"time":"2020-01-01T00:00:00Z","fieldsV1":{"f:a":{},"f:b":{}}}"#
    );
    assert_eq!(typed("core/v1.Secret", r#"{"data":{"a":"","b":[104,105],"c":"aGk="}}"#), {
        r#"{"metadata":{},"data":{"a":"","b":"aGk=","c":"aGk="}}"#
    });
}

#[test]
fn typed_and_normal_parts_are_shared() {
    let json = r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","managedFields":[{"fieldsV1":{"f:b":{},"f:a":{}}}]},
        "spec":{"containers":[{"name":"a","resources":{"limits":{"cpu":"1"}}}]},"status":{"podIPs":[{"ip":"::1"}]}}"#;
    let pod = json::decode(of("core/v1.Pod"), json.as_bytes()).unwrap().value;
    assert!(to_typed(of("core/v1.Pod"), &pod).unwrap().value.is_same(&pod));

    let mut changed = pod.clone();
    changed.get_mut("spec").unwrap().as_object_mut().unwrap().insert("priority", "1");
    assert_eq!(to_typed(of("core/v1.Pod"), &changed).unwrap_err().to_string(), "unrecognized type: int32");
    changed.get_mut("spec").unwrap().as_object_mut().unwrap().insert("priority", 1.0);
    changed.get_mut("status").unwrap().as_object_mut().unwrap().insert("x", 1i64);
    let again = to_typed(of("core/v1.Pod"), &changed).unwrap();
    assert_eq!(again.value.at(&["spec", "priority"]).unwrap().as_i64(), Some(1));
    assert!(again.value.at(&["metadata"]).unwrap().is_same(pod.get("metadata").unwrap()));
    assert!(
        again.value.at(&["spec", "containers"]).unwrap().is_same(pod.at(&["spec", "containers"]).unwrap())
    );
    assert_eq!(again.strict, [r#"unknown field "status.x""#]);
    assert!(again.value.at(&["status", "x"]).is_none());

    let mut removed = pod;
    removed.get_mut("spec").unwrap().as_object_mut().unwrap().remove("containers");
    let again = to_typed(of("core/v1.Pod"), &removed).unwrap().value;
    assert!(again.at(&["spec", "containers"]).unwrap().is_null());
}

#[test]
fn a_typed_tree_converts_to_unstructured() {
    let json = r#"{"kind":"Secret","apiVersion":"v1","metadata":{"name":"a","managedFields":[{"fieldsV1":{"f:b":1.50}}]},
        "data":{"b":"aGk=","a":""}}"#;
    let secret = json::decode(of("core/v1.Secret"), json.as_bytes()).unwrap().value;
    let plain = from_typed(&secret);
    assert_eq!(
        text(&plain),
        concat!(
            r#"{"apiVersion":"v1","data":{"a":"","b":"aGk="},"kind":"Secret","#,
            r#""metadata":{"managedFields":[{"fieldsV1":{"f:b":1.5}}],"name":"a"}}"#
        )
    );
    assert_eq!(plain, tree(&text(&plain)));
    assert!(from_typed(&plain).is_same(&plain));
    assert!(plain.at(&["metadata", "name"]).is_some());
    let hollow = convert("admissionregistration/v1.WebhookClientConfig", r#"{"caBundle":""}"#).unwrap().value;
    assert_eq!(hollow.get("caBundle").unwrap().node(), Node::Hollow);
    assert_eq!(text(&from_typed(&hollow)), "{}");
}

#[test]
fn a_tree_that_is_too_deep_is_rejected() {
    let mut schema = tree("{}");
    for _ in 0..2000 {
        schema = Value::object([("not", schema)].into_iter().collect());
    }
    let refused = to_typed(of("apiextensions/v1.JSONSchemaProps"), &schema);
    assert_eq!(refused.unwrap_err().to_string(), "exceeded max depth");
}

#[test]
fn unchanged_parts_are_not_converted_again() {
    let json = r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","labels":{"a":"b"},"creationTimestamp":"2020-01-01T00:00:00Z"},
        "spec":{"containers":[{"name":"a","resources":{"limits":{"cpu":"500m"}}},{"name":"b"}]}}"#;
    let before = convert("core/v1.Pod", json).unwrap().value;
    let mut after = before.clone();
    assert!(to_typed_since(of("core/v1.Pod"), &after, &before).unwrap().value.is_same(&before));
    let items = after.at_mut(&["spec", "containers"]).and_then(Value::as_list_mut).unwrap();
    items.remove(0);
    items.push(tree(r#"{"name":"c","tty":false,"foo":1,"resources":{"limits":{"cpu":0.5}}}"#));
    after.at_mut(&["metadata", "labels"]).and_then(Value::as_object_mut).unwrap().insert("c", Value::NULL);
    let read = to_typed_since(of("core/v1.Pod"), &after, &before).unwrap();
    assert_eq!(read, to_typed(of("core/v1.Pod"), &after).unwrap());
    assert_eq!(read.strict, [r#"unknown field "spec.containers[1].foo""#]);
    assert_eq!(
        text(&read.value),
        concat!(
            r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","creationTimestamp":"2020-01-01T00:00:00Z","#,
            r#""labels":{"a":"b","c":""}},"spec":{"containers":[{"name":"b","resources":{}},"#,
            r#"{"name":"c","resources":{"limits":{"cpu":"500m"}}}]},"status":{}}"#
        )
    );
}

#[test]
fn a_changed_tree_converts_like_its_json_or_not_at_all() {
    let spec = of("apps/v1.DeploymentSpec");
    let before = convert("apps/v1.DeploymentSpec", r#"{"replicas":1,"selector":{"matchLabels":{"a":"b"}}}"#)
        .unwrap()
        .value;
    let with = |name: &str, json: &str| {
        let mut after = before.clone();
        after.as_object_mut().unwrap().insert(name, Value::raw(json.as_bytes()));
        let mut text = Vec::new();
        json::encode(&after, &mut text);
        let read =
            json::decode(spec, &text).ok().filter(|read| read.strict.is_empty()).map(|read| read.value);
        let found = decode_since(spec, &after, &before);
        if found.is_some() {
            assert_eq!(found, read, "{name}: {json}");
        }
        (found.is_some(), read.is_some())
    };
    for (name, json) in [
        ("replicas", "7"),
        ("paused", "true"),
        ("paused", "false"),
        (
            "selector",
            r#"{"matchLabels":{"x":null}, "matchExpressions":[{"key":"\u0061","operator":"In","values":["x"]}]}"#,
        ),
        ("strategy", r#"{"type":"Recreate","rollingUpdate":{"maxSurge":"25%","maxUnavailable":1}}"#),
        (
            "template",
            r#"{"metadata":{"creationTimestamp":"2020-01-01T00:00:00.5Z"},"spec":{"containers":[{"name":"a",
            "resources":{"limits":{"cpu":0.10,"memory":"1024Ki"}}}],"priority":null}}"#,
        ),
    ] {
        assert_eq!(with(name, json), (true, true), "{name}: {json}");
    }
    for (name, json) in [
        ("replicas", "1.0"),
        ("replicas", "1e3"),
        ("replicas", "3000000000"),
        ("replicas", "\"1\""),
        ("paused", "1"),
        ("selector", "[]"),
        ("selector", r#"{"matchLabels":{"a":"1","a":"2"}}"#),
        ("strategy", r#"{"foo":1}"#),
        ("bar", "1"),
        ("template", r#"{"spec":{"containers":[{"resources":{"limits":{"cpu":"x"}}}]}}"#),
    ] {
        assert_eq!(with(name, json), (false, false), "{name}: {json}");
    }
}
