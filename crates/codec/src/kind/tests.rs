use pintle_meta::Value;
use pintle_schema::find;

use super::*;

fn gvk(group: &str, version: &str, kind: &str) -> GroupVersionKind {
    GroupVersionKind::new(group, version, kind)
}

fn read(body: &str, default: Option<&GroupVersionKind>) -> Result<Typed, Unreadable> {
    decode(Encoding::Json, body.as_bytes(), default)
}

/// Returns the message for a body that is posted where a ConfigMap belongs.
fn message_for(body: &str) -> String {
    let default = gvk("", "v1", "ConfigMap");
    match read(body, Some(&default)) {
        Ok(typed) => format!("{} {:?}", typed.of.name, typed.decoded.strict),
        Err(error) => error.status("ConfigMap", body.as_bytes()).message,
    }
}

#[test]
fn undecodable_bodies_have_the_references_messages() {
    let go = r#"struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }"#;
    let unrecognized =
        |why: &str| format!("the object provided is unrecognized (must be of type ConfigMap): {why}");
    let no_kind = |why: &str| unrecognized(&format!("couldn't get version/kind; json parse error: {why}"));
    let cases = [
        ("", no_kind("unexpected end of JSON input (<empty>)")),
        ("{", no_kind("unexpected end of JSON input ({)")),
        ("   ", no_kind("unexpected end of JSON input (202020)")),
        ("[]", no_kind(&format!("json: cannot unmarshal array into Go value of type {go} (5b5d)"))),
        ("\"x\"", no_kind(&format!("json: cannot unmarshal string into Go value of type {go} (227822)"))),
        ("{'a':1}", no_kind(r"invalid character '\'' looking for beginning of object key string ({'a':1})")),
        (
            r#"{"apiVersion":"v1","kind":"ConfigMap"} trailing"#,
            no_kind(r#"invalid character 't' after top-level value ({"apiVersion":"v1","kind":"Con ...)"#),
        ),
        (
            r#"{"apiVersion": "a/b/c", "kind": "ConfigMap"}"#,
            unrecognized(r#"unexpected GroupVersion string: a/b/c ({"apiVersion": "a/b/c", "kind" ...)"#),
        ),
        (
            r#"{"apiVersion":"v1","kind":"Deployment"}"#,
            r#"Deployment in version "v1" cannot be handled as a ConfigMap: no kind "Deployment" is registered for version "v1" in scheme "pkg/api/legacyscheme/scheme.go:30""#.into(),
        ),
        (
            r#"{"apiVersion":"apps/v1","kind":"ConfigMap"}"#,
            r#"ConfigMap in version "v1" cannot be handled as a ConfigMap: no kind "ConfigMap" is registered for version "apps/v1" in scheme "pkg/api/legacyscheme/scheme.go:30""#.into(),
        ),
        (
            r#"{"apiVersion":"apps/","kind":"X"}"#,
            r#"X in version "" cannot be handled as a ConfigMap: Object 'apiVersion' is missing in '{"apiVersion":"apps/","kind":"X"}'"#.into(),
        ),
        (
            r#"{"apiVersion":"v1","kind":"ConfigMap","data":{"a":1}}"#,
            r#"ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal number into Go struct field ConfigMap.data of type string"#.into(),
        ),
        (
            r#"{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition"}"#,
            r#"CustomResourceDefinition in version "v1" cannot be handled as a ConfigMap: no kind "CustomResourceDefinition" is registered for version "apiextensions.k8s.io/v1" in scheme "pkg/api/legacyscheme/scheme.go:30""#.into(),
        ),
    ];
    for (body, want) in cases {
        assert_eq!(message_for(body), want, "{body}");
    }
}

#[test]
fn a_default_completes_the_kind() {
    let scale = gvk("autoscaling", "v1", "Scale");
    let cases = [
        ("{}", "autoscaling/v1.Scale"),
        (r#"{"kind":"Scale"}"#, "autoscaling/v1.Scale"),
        (r#"{"apiVersion":"autoscaling/v1"}"#, "autoscaling/v1.Scale"),
        (r#"{"apiVersion":"v1","kind":"Pod"}"#, "core/v1.Pod"),
        (r#"{"apiVersion":"apps/v1","kind":"Status"}"#, "meta/v1.Status"),
        ("null", "autoscaling/v1.Scale"),
    ];
    for (body, want) in cases {
        let typed = read(body, Some(&scale)).unwrap();
        assert_eq!(typed.of.name, want, "{body}");
        assert_eq!(typed.decoded.value.kind(), typed.kind.kind, "{body}");
        assert_eq!(typed.decoded.value.api_version(), typed.kind.api_version(), "{body}");
        let keys = typed.decoded.value.as_object().unwrap().keys().take(2).collect::<Vec<_>>();
        assert_eq!(keys, ["kind", "apiVersion"], "{body}");
    }
}

#[test]
fn without_a_default_kind_and_version_are_required() {
    let message = |body| read(body, None).unwrap_err().to_string();
    assert_eq!(message(r#"{"apiVersion":"v1"}"#), r#"Object 'Kind' is missing in '{"apiVersion":"v1"}'"#);
    assert_eq!(message(r#"{"kind":"Pod"}"#), r#"Object 'apiVersion' is missing in '{"kind":"Pod"}'"#);
    assert_eq!(read(r#"{"kind":"Pod","apiVersion":"v1"}"#, None).unwrap().of.name, "core/v1.Pod");
}

#[test]
fn the_last_of_repeated_kinds_wins() {
    let typed = read(r#"{"kind":"Pod","apiVersion":"v1","kind":"Secret"}"#, None).unwrap();
    assert_eq!((typed.of.name, typed.decoded.value.kind()), ("core/v1.Secret", "Secret"));
    assert_eq!(typed.decoded.strict, [r#"duplicate field "kind""#]);
    let typed = read(r#"{"kind":"Pod","apiVersion":"v1","KIND":"Secret"}"#, None).unwrap();
    assert_eq!((typed.of.name, typed.decoded.value.kind()), ("core/v1.Secret", "Secret"));
    assert_eq!(typed.decoded.strict, [r#"unknown field "KIND""#]);
}

#[test]
fn syntax_errors_take_precedence() {
    let body = r#"{"kind":"Pod","apiVersion":"v1","spec":5,"metadata":{"creationTimestamp":"x"},}"#;
    let want = "couldn't get version/kind; json parse error: invalid character '}' looking for beginning of object key string";
    assert_eq!(read(body, None).unwrap_err().to_string(), want);
}

#[test]
fn custom_resources_must_state_their_kind() {
    let read = |body: &str| decode_untyped(Encoding::Json, body.as_bytes());
    let untyped = read(r#"{"kind":"Widget","apiVersion":"example.com/v1","b":1.0,"a":1,"a":null}"#).unwrap();
    assert_eq!(untyped.kind, gvk("example.com", "v1", "Widget"));
    assert_eq!(untyped.decoded.value.get("a"), Some(&Value::NULL));
    assert_eq!(untyped.decoded.strict, [r#"duplicate field "a""#]);
    let body = r#"{"metadata": {"name": "x"}}"#;
    assert_eq!(
        read(body).unwrap_err().status("Widget", body.as_bytes()).message,
        r#"the object provided is unrecognized (must be of type Widget): Object 'Kind' is missing in '{"metadata": {"name": "x"}}' ({"metadata": {"name": "x"}})"#
    );
    assert!(read("null").unwrap_err().to_string().starts_with("Object 'Kind' is missing"));
    assert!(read("[]").unwrap_err().to_string().starts_with("couldn't get version/kind; json parse error:"));
}

#[test]
fn bodies_are_excerpted_in_hex_unless_they_are_json() {
    let message_for = |body: &[u8]| Unreadable::from(Error::new("why")).status("X", body).message;
    let prefix = "the object provided is unrecognized (must be of type X): why ";
    assert_eq!(message_for(b"a: ["), format!("{prefix}(613a205b)"));
    let long = format!("{prefix}({} ...)", "61".repeat(30));
    assert_eq!(message_for(&[b'a'; 31]), long);
    assert_eq!(message_for(b"{\xff"), format!("{prefix}({{\u{fffd})"));
}

#[test]
fn strict_errors_are_one_message_or_many_warnings() {
    let strict =
        ["yaml: unmarshal errors:\n  line 3: a\n  line 4: b".to_owned(), "unknown field \"x\"".to_owned()];
    assert_eq!(strict_error(&strict[1..]).to_string(), "strict decoding error: unknown field \"x\"");
    assert_eq!(warnings(&strict), ["line 3: a", "line 4: b", "unknown field \"x\""]);
}

#[test]
fn unexpected_kinds_and_versions_are_named() {
    let (secret, map) = (find("core/v1.Secret").unwrap(), find("core/v1.ConfigMap").unwrap());
    let want = "converting (v1.Secret) to (core.ConfigMap): unknown conversion";
    assert_eq!(not_convertible(secret, map).to_string(), want);
    let status = wrong_version(&GroupVersion::new("apps", "v1beta1"), &GroupVersion::new("apps", "v1"));
    let want = "the API version in the data (apps/v1beta1) does not match the expected API version (apps/v1)";
    assert_eq!(status.message, want);
}

#[test]
fn yaml_is_decoded_like_json() {
    let default = gvk("", "v1", "ConfigMap");
    let read = |body: &str| decode(Encoding::Yaml, body.as_bytes(), Some(&default));
    let typed = read("kind: ConfigMap\ndata:\n  a: b\n  a: c\nfoo: 1\n").unwrap();
    assert_eq!(typed.decoded.value.at(&["data", "a"]).unwrap().as_str(), Some("c"));
    assert_eq!(typed.decoded.value.api_version(), "v1");
    assert_eq!(typed.decoded.strict.len(), 2);
    assert!(
        typed.decoded.strict[0].starts_with("yaml: unmarshal errors:\n  line 4: "),
        "{:?}",
        typed.decoded.strict
    );
    assert_eq!(typed.decoded.strict[1], r#"unknown field "foo""#);
    let message_for = |body: &str| read(body).unwrap_err().status("ConfigMap", body.as_bytes()).message;
    assert_eq!(
        message_for("a: ["),
        "the object provided is unrecognized (must be of type ConfigMap): yaml: line 1: did not find expected node content (613a205b)"
    );
    // The message quotes the YAML.
    let error = decode(Encoding::Yaml, b"a: b", None).unwrap_err();
    assert_eq!(error.to_string(), "Object 'Kind' is missing in 'a: b'");
    let untyped = decode_untyped(Encoding::Yaml, b"kind: W\napiVersion: e.com/v1\nx: 1\n").unwrap();
    assert_eq!(untyped.kind, gvk("e.com", "v1", "W"));
}

#[test]
fn the_kind_of_protobuf_is_in_its_envelope() {
    let map = find("core/v1.ConfigMap").unwrap();
    let value = json::decode(map, br#"{"data":{"a":"b"}}"#).unwrap().value;
    let mut message = Vec::new();
    protobuf::encode(map, &value, &mut message).unwrap();
    let sealed = |api_version: &str, kind: &str| {
        let mut out = Vec::new();
        envelope::write(api_version, kind, &message, &mut out);
        out
    };
    let read = |bytes: &[u8], default| decode(Encoding::Protobuf, bytes, default);
    let typed = read(&sealed("v1", "ConfigMap"), None).unwrap();
    assert_eq!(
        (typed.of, typed.decoded.value.kind(), typed.decoded.value.api_version()),
        (map, "ConfigMap", "v1")
    );
    assert_eq!(typed.decoded.value.at(&["data", "a"]).unwrap().as_str(), Some("b"));
    let default = gvk("", "v1", "ConfigMap");
    assert_eq!(read(&sealed("", ""), Some(&default)).unwrap().of, map);
    let error = |bytes: &[u8]| read(bytes, None).unwrap_err().to_string();
    let missing = r#"Object 'Kind' is missing in 'runtime.TypeMeta{APIVersion:"v1", Kind:""}'"#;
    assert_eq!(error(&sealed("v1", "")), missing);
    let missing = r#"Object 'apiVersion' is missing in 'runtime.TypeMeta{APIVersion:"", Kind:"X"}'"#;
    assert_eq!(error(&sealed("", "X")), missing);
    assert_eq!(error(b""), "empty data");
    assert!(error(&sealed("v1", "Bogus")).starts_with(r#"no kind "Bogus" is registered for version "v1""#));
}

#[test]
fn encodings_of_stored_values_are_recognized() {
    assert_eq!(recognize(b"k8s\0\x0a\0"), Encoding::Protobuf);
    assert_eq!(recognize(b" \n{}"), Encoding::Json);
    assert_eq!(recognize(b"\xd9\xd9\xf7\xa0"), Encoding::Cbor);
    assert_eq!(recognize(b"a: b"), Encoding::Yaml);
    assert_eq!(recognize(b""), Encoding::Yaml);
}

#[test]
fn cbor_is_decoded_like_json_but_requires_a_version() {
    let written = |text: &[u8]| {
        let mut out = Vec::new();
        cbor::encode(&json::decode_untyped(text).unwrap().value, &mut out);
        out
    };
    let read = |bytes: &[u8], default| decode(Encoding::Cbor, bytes, default);
    let bytes = written(br#"{"kind":"ConfigMap","apiVersion":"v1","data":{"a":"b"}}"#);
    assert_eq!(recognize(&bytes), Encoding::Cbor);
    let typed = read(&bytes, None).unwrap();
    assert_eq!(
        (typed.of.name, typed.decoded.value.at(&["data", "a"]).unwrap().as_str()),
        ("core/v1.ConfigMap", Some("b"))
    );
    let untyped = decode_untyped(Encoding::Cbor, &bytes).unwrap();
    assert_eq!(untyped.kind, gvk("", "v1", "ConfigMap"));
    let default = gvk("", "v1", "ConfigMap");
    assert_eq!(read(&written(b"{}"), Some(&default)).unwrap().decoded.value.kind(), "ConfigMap");
    let error = read(&written(br#"{"kind":"X"}"#), None).unwrap_err().to_string();
    assert!(error.starts_with("Object 'apiVersion' is missing in '"), "{error}");
    let error = decode_untyped(Encoding::Cbor, &written(br#"{"kind":"X"}"#)).unwrap_err().to_string();
    assert!(error.starts_with("Object 'apiVersion' is missing in '"), "{error}");
    let error = read(b"", None).unwrap_err().to_string();
    assert!(error.starts_with("unable to determine group/version/kind: "), "{error}");
}
