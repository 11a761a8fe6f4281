//! `fieldValidation` of bodies with unknown or duplicate fields.

use http::Method;
use pintle_codec::protobuf::envelope;
use pintle_codec::{cbor, json, protobuf};
use serde_json::json;

use super::{JSON, Maps, done, map};
use crate::support::shared::{Shared, on_both_stores, ready};
use crate::support::{Answer, Launch};

const YAML: &str = "application/yaml";
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
const CBOR: &str = "application/cbor";

on_both_stores! {
    odd_fields_are_refused_told_or_neither,
    messages_may_have_fields_that_nobody_knows,
    a_directive_that_is_none_is_refused,
    so_much_is_told_and_no_more,
    field_errors_come_before_a_wrong_version,
}

const ODD_JSON: &str = r#"{"apiVersion":"v1","kind":"ConfigMap",
    "metadata":{"name":"first","name":"NAME","odd":1,
        "ownerReferences":[{"apiVersion":"v1","kind":"K","name":"a","uid":"u","odd":1,"name":"b"}]},
    "odd":1,"twice":1,"twice":2,"immutable":true,"immutable":false,"data":{"a":"1","a":"2"}}"#;

const TOLD_OF_JSON: &[&str] = &[
    r#"duplicate field "metadata.name""#,
    r#"unknown field "metadata.odd""#,
    r#"unknown field "metadata.ownerReferences[0].odd""#,
    r#"duplicate field "metadata.ownerReferences[0].name""#,
    r#"unknown field "odd""#,
    r#"unknown field "twice""#,
    r#"duplicate field "immutable""#,
    r#"duplicate field "data.a""#,
];

const ODD_YAML: &str = r#"apiVersion: v1
kind: ConfigMap
metadata:
  name: first
  name: NAME
  odd: 1
  ownerReferences:
  - apiVersion: v1
    kind: K
    name: a
    uid: u
    odd: 1
    name: b
odd: 1
twice: 1
twice: 2
immutable: true
immutable: false
data:
  a: "1"
  a: "2"
"#;

const TOLD_OF_YAML: &[&str] = &[
    r#"line 5: key "name" already set in map"#,
    r#"line 13: key "name" already set in map"#,
    r#"line 16: key "twice" already set in map"#,
    r#"line 18: key "immutable" already set in map"#,
    r#"line 21: key "a" already set in map"#,
    r#"unknown field "metadata.odd""#,
    r#"unknown field "metadata.ownerReferences[0].odd""#,
    r#"unknown field "odd""#,
    r#"unknown field "twice""#,
];

/// The texts of an answer's warnings.
fn warnings(answer: &Answer) -> Vec<String> {
    let text = |value: &http::HeaderValue| {
        let text = value.to_str().expect("text").strip_prefix("299 - \"").expect("a warning");
        text.strip_suffix('"').expect("quotes").replace("\\\"", "\"").replace("\\\\", "\\")
    };
    answer.headers.get_all("warning").iter().map(text).collect()
}

fn message(answer: &Answer) -> String {
    answer.json()["message"].as_str().unwrap_or_default().to_owned()
}

async fn odd_fields_are_refused_told_or_neither(shared: &Shared) {
    let maps = Maps::new(shared, "validation-odd").await;
    for (media_type, body, told) in [(JSON, ODD_JSON, TOLD_OF_JSON), (YAML, ODD_YAML, TOLD_OF_YAML)] {
        let refusal = match media_type {
            JSON => told.join(", "),
            _ => format!("yaml: unmarshal errors:\n  {}, {}", told[..5].join("\n  "), told[5..].join(", ")),
        };
        let refusal = format!(
            "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: strict decoding error: {refusal}"
        );
        for (number, directive) in ["", "?fieldValidation=Warn", "?fieldValidation=Ignore"].iter().enumerate()
        {
            let name = format!("{}-{number}", media_type.trim_start_matches("application/"));
            let body = body.replace("NAME", &name);
            let expect: &[&str] = if directive.ends_with("Ignore") { &[] } else { told };
            let answer = maps.send(Method::POST, directive, media_type, body.clone()).await;
            assert_eq!(done(&answer)["metadata"]["name"], name, "the last counts");
            assert_eq!(answer.json()["data"]["a"], "2");
            assert_eq!(warnings(&answer), expect, "{media_type} {directive}");
            let answer =
                maps.send(Method::PUT, &format!("{name}{directive}"), media_type, body.clone()).await;
            done(&answer);
            assert_eq!(warnings(&answer), expect, "{media_type} {directive}");

            let before = maps.get(&name).await;
            for (method, at) in [(Method::POST, String::new()), (Method::PUT, name.clone())] {
                let at = format!("{at}?fieldValidation=Strict");
                let answer = maps.send(method, &at, media_type, body.clone()).await;
                answer.is_status(400, "BadRequest", &refusal);
                assert!(warnings(&answer).is_empty());
            }
            assert_eq!(maps.get(&name).await, before);
        }
    }
}

async fn messages_may_have_fields_that_nobody_knows(shared: &Shared) {
    let maps = Maps::new(shared, "validation-messages").await;
    let of = pintle_schema::find("core/v1.ConfigMap").expect("a type");
    for directive in ["", "?fieldValidation=Strict"] {
        let name = if directive.is_empty() { "any" } else { "strict" };
        let text = map(name, &json!({"a": "b"})).to_string();
        let object = json::decode(of, text.as_bytes()).expect("a map").value;
        let (mut message, mut body) = (Vec::new(), Vec::new());
        protobuf::encode(of, &object, &mut message).expect("a message");
        // Field 99, a number.
        message.extend([0x98, 0x06, 0x01]);
        envelope::write("v1", "ConfigMap", &message, &mut body);
        let answer = maps.send(Method::POST, directive, PROTOBUF, body).await;
        assert_eq!(done(&answer)["data"], json!({"a": "b"}));
        assert!(warnings(&answer).is_empty());
    }
}

async fn a_directive_that_is_none_is_refused(shared: &Shared) {
    let maps = Maps::new(shared, "validation-directive").await;
    for (method, at, kind) in [(Method::POST, "", "CreateOptions"), (Method::PUT, "a", "UpdateOptions")] {
        let at = format!("{at}?fieldValidation=strict");
        let answer = maps.send(method, &at, JSON, map("a", &json!({})).to_string()).await;
        let told = format!(
            r#"{kind}.meta.k8s.io "" is invalid: fieldValidation: Unsupported value: "strict": supported values: "", "Ignore", "Strict", "Warn""#
        );
        answer.is_status(422, "Invalid", &told);
    }
}

async fn field_errors_come_before_a_wrong_version(shared: &Shared) {
    let maps = Maps::new(shared, "validation-versions").await;
    let kind = "HorizontalPodAutoscaler";
    let path = "/apis/autoscaling/v2/namespaces/validation-versions/horizontalpodautoscalers";
    let autoscalers = Maps { path: path.into(), ..maps };
    let body =
        format!(r#"{{"apiVersion":"autoscaling/v1","kind":"{kind}","metadata":{{"name":"a"}},"odd":1}}"#);
    for (method, at) in [(Method::POST, ""), (Method::PUT, "a")] {
        let strict = format!("{at}?fieldValidation=Strict");
        let answer = autoscalers.send(method.clone(), &strict, JSON, body.clone()).await;
        let refusal = format!(
            r#"{kind} in version "v1" cannot be handled as a {kind}: strict decoding error: unknown field "odd""#
        );
        answer.is_status(400, "BadRequest", &refusal);
        let answer = autoscalers.send(method, at, JSON, body.clone()).await;
        let refusal = "the API version in the data (autoscaling/v1) does not match the expected API version (autoscaling/v2)";
        answer.is_status(400, "BadRequest", refusal);
        assert_eq!(warnings(&answer), [r#"unknown field "odd""#]);
    }
}

async fn so_much_is_told_and_no_more(shared: &Shared) {
    let mut maps = Maps::new(shared, "validation-limits").await;
    // The other clients of the suite take fewer headers.
    maps.client = maps.client.http2();
    let odd = |name: &str, count: usize, padding: usize| {
        let mut object = map(name, &json!({}));
        for number in 0..count {
            object[format!("f{number:04}{}", "x".repeat(padding))] = json!(1);
        }
        object.to_string()
    };
    // Only so many are noticed.
    let answer = maps.send(Method::POST, "", JSON, odd("short", 5000, 0)).await;
    done(&answer);
    let told = warnings(&answer);
    assert_eq!((told.len(), told[99].as_str()), (100, r#"unknown field "f0099""#));
    let answer = maps.send(Method::POST, "?fieldValidation=Strict", JSON, odd("strict", 5000, 0)).await;
    assert_eq!(answer.code, 400);
    assert!(message(&answer).ends_with(r#"unknown field "f0098", unknown field "f0099""#));
    // Long ones are cut, and the last of them are not told.
    let answer = maps.send(Method::POST, "", JSON, odd("long", 50, 300)).await;
    done(&answer);
    let told = warnings(&answer);
    assert_eq!(told.len(), 16);
    for (number, text) in told.iter().enumerate() {
        assert_eq!(text, &format!("unknown field \"f{number:04}{}\"", "x".repeat(300))[..256]);
    }
    let answer = maps.send(Method::POST, "", JSON, odd("one", 1, 4000)).await;
    assert_eq!(warnings(&answer), [format!("unknown field \"f0000{}\"", "x".repeat(4000))]);
}

#[tokio::test]
async fn of_odd_fields_in_cbor_the_first_is_told() {
    let launch = Launch::new().tokens().arg("--feature-gates=CBORServingAndStorage=true");
    let server = launch.start().await;
    ready(&server).await;
    let maps = Maps { client: server.admin(), path: "/api/v1/namespaces/default/configmaps".into() };
    let body = |name: &str| {
        let text = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"NAME"},"odd":1,"other":2}"#;
        let object = json::decode_untyped(text.replace("NAME", name).as_bytes()).expect("an object").value;
        let mut body = Vec::new();
        cbor::encode(&object, &mut body);
        body
    };
    // Short names come first.
    let told = "cbor: found unknown field at map element index 0";
    for (name, directive, expect) in
        [("warn", "", vec![told]), ("ignore", "?fieldValidation=Ignore", Vec::new())]
    {
        let answer = maps.send(Method::POST, directive, CBOR, body(name)).await;
        done(&answer);
        assert_eq!(warnings(&answer), expect);
    }
    let answer = maps.send(Method::POST, "?fieldValidation=Strict", CBOR, body("strict")).await;
    let refusal = format!(
        "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: strict decoding error: {told}"
    );
    assert_eq!((answer.code, message(&answer)), (400, refusal));
}
