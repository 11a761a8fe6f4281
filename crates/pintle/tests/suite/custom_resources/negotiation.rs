//! Encodings of custom resources: clients that prefer protobuf get JSON of the objects, and protobuf of everything that has a
//! protobuf form (metadata alone, errors).

use http::Method;
use pintle_codec::protobuf::{self, envelope};
use serde_json::{Value, json};

use super::{Session, definition, object, plain_schema, version};
use crate::support::shared::{Shared, on_both_stores};
use crate::support::{Answer, Client};

const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
/// The header of client-go's typed and metadata clients.
const PREFERS_PROTOBUF: &str = "application/vnd.kubernetes.protobuf,application/json";
const NOT_ACCEPTABLE: &str = "only the following media types are accepted: application/json, application/yaml, \
                              application/vnd.kubernetes.protobuf";

on_both_stores! { of EXTENDED:
    clients_that_prefer_protobuf_get_json,
    clients_that_take_protobuf_only_are_refused_in_protobuf,
    metadata_of_custom_resources_comes_in_protobuf,
    clauses_are_tried_in_order_of_preference,
}

/// Asks with an `Accept` header, and a body in JSON.
async fn asks(client: &Client, accept: &str, method: Method, path: &str, body: &str) -> Answer {
    let media_type = match method {
        Method::PATCH => "application/merge-patch+json",
        _ => "application/json",
    };
    client.request(method, path, &[("accept", accept), ("content-type", media_type)], body.to_owned()).await
}

/// The object in a protobuf document of `meta.k8s.io`.
pub(super) fn decoded(bytes: &[u8]) -> Value {
    let found = envelope::open(bytes).expect("an envelope");
    let of = pintle_schema::find(&format!("meta/v1.{}", found.kind)).expect("a type");
    let tree = protobuf::decode(of, found.raw).expect("a message");
    let mut text = Vec::new();
    pintle_codec::json::encode(&tree, &mut text);
    let mut object: Value = serde_json::from_slice(&text).expect("JSON");
    object["kind"] = found.kind.into();
    object["apiVersion"] = found.api_version.into();
    object
}

fn scaled() -> Value {
    let mut scaled = version("v1", &plain_schema());
    let paths = json!({"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"});
    scaled["subresources"] = json!({"status": {}, "scale": paths});
    scaled
}

async fn clients_that_prefer_protobuf_get_json(shared: &Shared) {
    let mut session = Session::to(&shared.server).await;
    let client = shared.server.admin();
    let group = "prefers.test";
    session.install(&definition(group, "Thing", "Namespaced", vec![scaled()])).await;
    let things = format!("/apis/{group}/v1/namespaces/default/things");
    let thing = |name: &str| object("prefers.test/v1", "Thing", name, json!({"replicas": 1})).to_string();
    let ask = async |method: Method, path: &str, body: &str, code: u16, kind: &str| {
        let answer = asks(&client, PREFERS_PROTOBUF, method.clone(), path, body).await;
        let given = answer.gives(code);
        assert_eq!(answer.header("content-type"), "application/json", "{method} {path}");
        assert_eq!(given["kind"], kind, "{method} {path}");
        given
    };
    let created = ask(Method::POST, &things, &thing("a"), 201, "Thing").await;
    let one = format!("{things}/a");
    ask(Method::PUT, &one, &created.to_string(), 200, "Thing").await;
    ask(Method::PATCH, &one, r#"{"spec":{"replicas":2}}"#, 200, "Thing").await;
    ask(Method::PATCH, &format!("{one}/status"), r#"{"status":{"replicas":2}}"#, 200, "Thing").await;
    ask(Method::GET, &format!("{one}/scale"), "", 200, "Scale").await;
    ask(Method::PATCH, &format!("{one}/scale"), r#"{"spec":{"replicas":3}}"#, 200, "Scale").await;
    assert_eq!(ask(Method::GET, &one, "", 200, "Thing").await["spec"]["replicas"], 3);
    let list = ask(Method::GET, &things, "", 200, "ThingList").await;
    let revision = list["metadata"]["resourceVersion"].as_str().expect("a version");

    let path = format!("{things}?watch=1&resourceVersion={revision}");
    let mut watch = client.follow(&path, &[("accept", PREFERS_PROTOBUF)]).await;
    ask(Method::POST, &things, &thing("b"), 201, "Thing").await;
    assert_eq!(watch.line().await.expect("an event")["object"]["metadata"]["name"], "b");

    let options = r#"{"kind":"DeleteOptions","apiVersion":"v1","propagationPolicy":"Background"}"#;
    let deleted = ask(Method::DELETE, &one, options, 200, "Status").await;
    assert_eq!(deleted["status"], "Success");
    let rest = ask(Method::DELETE, &things, options, 200, "ThingList").await;
    assert_eq!(rest["items"].as_array().expect("items").len(), 1);
    assert_eq!(ask(Method::GET, &things, "", 200, "ThingList").await["items"], json!([]));
    session.uninstall(&format!("things.{group}")).await;
}

async fn clients_that_take_protobuf_only_are_refused_in_protobuf(shared: &Shared) {
    let mut session = Session::to(&shared.server).await;
    let client = shared.server.admin();
    session.install(&definition("only.test", "Thing", "Namespaced", vec![scaled()])).await;
    let things = "/apis/only.test/v1/namespaces/default/things";
    let thing = object("only.test/v1", "Thing", "a", json!({"replicas": 1}));
    session.post(things, &thing).await.gives(201);
    let one = format!("{things}/a");
    let (status, scale) = (format!("{one}/status"), format!("{one}/scale"));
    let requests = [
        (Method::GET, one.as_str(), String::new()),
        (Method::GET, things, String::new()),
        (Method::GET, &format!("{things}?watch=1"), String::new()),
        (Method::GET, &status, String::new()),
        (Method::GET, &scale, String::new()),
        (Method::POST, things, thing.to_string()),
        (Method::PUT, &one, thing.to_string()),
        (Method::PATCH, &one, r#"{"spec":{"replicas":2}}"#.to_owned()),
        (Method::DELETE, &one, String::new()),
        (Method::DELETE, things, String::new()),
    ];
    for (method, path, body) in requests {
        let refused = asks(&client, PROTOBUF, method.clone(), path, &body).await;
        assert_eq!(refused.code, 406, "{method} {path}");
        assert_eq!(refused.header("content-type"), PROTOBUF, "{method} {path}");
        let refused = decoded(&refused.bytes);
        assert_eq!(refused["kind"], "Status");
        assert_eq!(
            (refused["message"].as_str(), refused["reason"].as_str()),
            (Some(NOT_ACCEPTABLE), Some("NotAcceptable")),
            "{method} {path}"
        );
    }
    assert_eq!(session.get(&one).await.gives(200)["metadata"]["generation"], 1, "nothing was done");
    // Other errors come in protobuf as well.
    let partial = format!("{PROTOBUF};as=PartialObjectMetadata;g=meta.k8s.io;v=v1,{PROTOBUF}");
    let absent = asks(&client, &partial, Method::GET, &format!("{things}/none"), "").await;
    assert_eq!((absent.code, absent.header("content-type")), (404, PROTOBUF));
    assert_eq!(decoded(&absent.bytes)["reason"], "NotFound");
    session.uninstall("things.only.test").await;
}

async fn metadata_of_custom_resources_comes_in_protobuf(shared: &Shared) {
    let mut session = Session::to(&shared.server).await;
    let client = shared.server.admin();
    session.install(&definition("partial.test", "Thing", "Namespaced", vec![scaled()])).await;
    let things = "/apis/partial.test/v1/namespaces/default/things";
    let thing = object("partial.test/v1", "Thing", "a", json!({"replicas": 1}));
    let created = session.post(things, &thing).await.gives(201);
    let one = format!("{things}/a");
    let of = |kind: &str| {
        let parameters = format!("as={kind};g=meta.k8s.io;v=v1");
        format!("{PROTOBUF};{parameters},application/json;{parameters},application/json")
    };
    let get = asks(&client, &of("PartialObjectMetadata"), Method::GET, &one, "").await;
    assert_eq!((get.code, get.header("content-type")), (200, PROTOBUF));
    let get = decoded(&get.bytes);
    assert_eq!(
        (get["kind"].as_str(), get["apiVersion"].as_str()),
        (Some("PartialObjectMetadata"), Some("meta.k8s.io/v1"))
    );
    assert_eq!(get["metadata"]["uid"], created["metadata"]["uid"]);
    let patch = r#"{"metadata":{"labels":{"l":"x"}}}"#;
    let patched = asks(&client, &of("PartialObjectMetadata"), Method::PATCH, &one, patch).await;
    assert_eq!((patched.code, patched.header("content-type")), (200, PROTOBUF));
    assert_eq!(decoded(&patched.bytes)["metadata"]["labels"], json!({"l": "x"}));

    let list = asks(&client, &of("PartialObjectMetadataList"), Method::GET, things, "").await;
    assert_eq!((list.code, list.header("content-type")), (200, PROTOBUF));
    let list = decoded(&list.bytes);
    assert_eq!(list["kind"], "PartialObjectMetadataList");
    assert_eq!(list["items"][0]["metadata"]["name"], "a");

    let revision = list["metadata"]["resourceVersion"].as_str().expect("a version");
    let path = format!("{things}?watch=1&resourceVersion={revision}");
    let mut watch = client.follow(&path, &[("accept", &of("PartialObjectMetadata"))]).await;
    // The answer to a deletion is in protobuf, too.
    let deleted = asks(&client, &of("PartialObjectMetadata"), Method::DELETE, &one, "").await;
    assert_eq!((deleted.code, deleted.header("content-type")), (200, PROTOBUF));
    assert_eq!(decoded(&deleted.bytes)["kind"], "Status");
    let event = watch.frame().await.expect("an event");
    assert!(event.windows(7).any(|part| part == b"DELETED"));
    let start = event.windows(4).position(|part| part == b"k8s\0").expect("an object");
    assert_eq!(decoded(&event[start..])["metadata"]["name"], "a");
    session.uninstall("things.partial.test").await;
}

async fn clauses_are_tried_in_order_of_preference(shared: &Shared) {
    let mut session = Session::to(&shared.server).await;
    let client = shared.server.admin();
    session.install(&definition("clauses.test", "Thing", "Namespaced", vec![scaled()])).await;
    let things = "/apis/clauses.test/v1/namespaces/default/things";
    session.post(things, &object("clauses.test/v1", "Thing", "a", json!({}))).await.gives(201);
    let one = format!("{things}/a");
    let (json, yaml) = ("application/json", "application/yaml");
    let table = "as=Table;g=meta.k8s.io;v=v1";
    for (accept, expect, kind) in [
        (format!("{PROTOBUF}, */*"), json, "Thing"),
        (format!("{PROTOBUF};q=0.5, application/yaml;q=0.9"), yaml, "Thing"),
        (format!("{PROTOBUF};q=1, application/yaml;q=0.1, application/json;q=0.05"), yaml, "Thing"),
        (format!("{PROTOBUF};{table},application/yaml;{table}"), yaml, "Table"),
        (format!("{PROTOBUF};{table},{PROTOBUF},application/json"), json, "Thing"),
        ("application/*".to_owned(), json, "Thing"),
        (format!("application/*;{table}"), json, "Table"),
        ("application/json;sv=v1".to_owned(), json, "Thing"),
        ("application/json;sv=v1beta1,application/yaml".to_owned(), yaml, "Thing"),
        (String::new(), json, "Thing"),
    ] {
        let answer = asks(&client, &accept, Method::GET, &one, "").await;
        assert_eq!((answer.code, answer.header("content-type")), (200, expect), "{accept}");
        let says = [format!("\"kind\":\"{kind}\""), format!("kind: {kind}\n")];
        assert!(says.iter().any(|says| answer.body.contains(says)), "{accept}: {}", answer.body);
    }
    session.uninstall("things.clauses.test").await;
}
