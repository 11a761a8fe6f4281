//! Bodies of server-side apply, as they come over the wire.

use http::Method;

use crate::support::shared::ready;
use crate::support::{Answer, Launch, Server};

const YAML: &str = "application/apply-patch+yaml";
const CBOR: &str = "application/apply-patch+cbor";
const MAP: &str = "/api/v1/namespaces/default/configmaps/a?fieldManager=m";

async fn apply(server: &Server, path: &str, media_type: &str, body: impl Into<bytes::Bytes>) -> Answer {
    server.admin().request(Method::PATCH, path, &[("content-type", media_type)], body).await
}

#[tokio::test]
async fn bodies_are_yaml_or_json_and_their_mistakes_are_told() {
    let server = Launch::new().start().await;
    ready(&server).await;
    let json = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"v"}}"#;
    assert_eq!(apply(&server, MAP, YAML, json).await.code, 201);
    let twice = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  k: v\n  k: w\n";
    let warned = apply(&server, MAP, YAML, twice).await;
    assert_eq!((warned.code, warned.json()["data"]["k"].as_str()), (200, Some("w")));
    assert_eq!(warned.header("warning"), r#"299 - "line 7: key \"k\" already set in map""#);
    apply(&server, &format!("{MAP}&fieldValidation=Strict"), YAML, twice).await.is_status(
        400,
        "BadRequest",
        "error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n  line 7: key \"k\" already \
         set in map",
    );
    for (body, message) in [
        ("", "invalid object type: /, Kind="),
        (r#"{"apiVersion":"a/b/c","kind":"ConfigMap"}"#, "invalid object type: /, Kind="),
        (r#"{"apiVersion":"v2","kind":"ConfigMap"}"#, "invalid object type: /v2, Kind=ConfigMap"),
        (
            "a: [",
            "error decoding YAML: error converting YAML to JSON: yaml: line 1: did not find expected node content",
        ),
        (
            "[1]",
            "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal array into Go \
             value of type map[string]interface {}",
        ),
    ] {
        apply(&server, MAP, YAML, body).await.is_status(400, "BadRequest", message);
    }
    assert_eq!(apply(&server, MAP, CBOR, json).await.code, 415, "where CBOR is not served");
}

#[tokio::test]
async fn cbor_is_taken_where_it_is_served() {
    let server = Launch::new().args(&["--feature-gates=CBORServingAndStorage=true"]).start().await;
    ready(&server).await;
    let text = br#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"v"}}"#;
    let mut body = Vec::new();
    let value = pintle_codec::json::decode_untyped(text).expect("JSON").value;
    pintle_codec::cbor::encode(&value, &mut body);
    let created = apply(&server, MAP, CBOR, body).await;
    assert_eq!((created.code, created.json()["data"]["k"].as_str()), (201, Some("v")), "{created:?}");
    let broken = apply(&server, MAP, CBOR, vec![0xd9, 0xd9, 0xf7, 0xa1]).await;
    broken.is_status(400, "BadRequest", "error decoding YAML: unexpected EOF");
}
