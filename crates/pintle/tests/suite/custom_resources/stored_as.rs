//! Encodings of stored custom resources, on servers that write JSON and CBOR in turn.

use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::Method;
use pintle_codec::{cbor, json as codec};
use pintle_outbound::testing::HttpsServer;
use serde_json::{Value, json};

use super::conversion::{self, V1, V2};
use super::{Session, definition, object, plain_schema, version};
use crate::support::store::{content, fill_keys};
use crate::support::{Launch, Server};

/// Objects of the first version are stored.
const THINGS: &str = "/apis/stored.test/v1/things";
const THINGS_V2: &str = "/apis/stored.test/v2/things";

/// A server that stores CBOR, or one that stores JSON.
async fn started(launch: &Launch, writes_cbor: bool) -> (Server, Session) {
    let gate = format!("--feature-gates=CBORServingAndStorage={writes_cbor}");
    let server = Launch::new().data_dir(launch.path("data")).arg(gate).start().await;
    let session = Session::to(&server).await;
    (server, session)
}

/// Returns the stored value of an answered object, in a version and an encoding.
fn value(answer: &Value, api_version: &str, as_cbor: bool) -> Vec<u8> {
    let mut answer = answer.clone();
    answer["apiVersion"] = api_version.into();
    answer["metadata"].as_object_mut().expect("metadata").remove("resourceVersion");
    let tree = codec::decode_untyped(answer.to_string().as_bytes()).expect("an object").value;
    let mut out = Vec::new();
    if as_cbor {
        cbor::encode(&tree, &mut out);
    } else {
        codec::encode(&tree, &mut out);
        out.push(b'\n');
    }
    out
}

async fn stored(data_dir: &Path, key: &str) -> Vec<u8> {
    let kvs = content(data_dir).await;
    let found = kvs.iter().find(|kv| kv.key == key);
    found.unwrap_or_else(|| panic!("there is no {key}")).value.to_vec()
}

fn things() -> Value {
    let versions = ["v1", "v2"].map(|name| {
        let mut version = version(name, &plain_schema());
        version["selectableFields"] = json!([{"jsonPath": ".spec.color"}]);
        version["additionalPrinterColumns"] =
            json!([{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}]);
        version
    });
    definition("stored.test", "Thing", "Cluster", versions.into())
}

/// Everybody sees these names in all ways, whatever they are stored as.
async fn expect_things(server: &Server, session: &mut Session, names: &[&str]) {
    let listed = |list: &Value| -> Vec<String> {
        let items = list["items"].as_array().expect("items").iter();
        items.map(|item| item["metadata"]["name"].as_str().expect("a name").to_owned()).collect()
    };
    for path in [THINGS, THINGS_V2] {
        let api_version = path.trim_start_matches("/apis/").trim_end_matches("/things");
        for query in ["", "?fieldSelector=spec.color%3Dred", "?labelSelector=a%3Db"] {
            let list = session.get(&format!("{path}{query}")).await.gives(200);
            assert_eq!(listed(&list), names, "{query}");
            for item in list["items"].as_array().expect("items") {
                let name = item["metadata"]["name"].as_str().expect("a name");
                assert_eq!(item["apiVersion"], api_version);
                assert_eq!(session.get(&format!("{path}/{name}")).await.gives(200), *item);
            }
        }
        let none = session.get(&format!("{path}?fieldSelector=spec.color%3Dblue")).await.gives(200);
        assert_eq!(none["items"], json!([]));
        let accept = [("accept", "application/json;as=Table;v=v1;g=meta.k8s.io")];
        let table = server.admin().request(Method::GET, path, &accept, String::new()).await;
        let table = table.gives(200);
        let cells: Vec<&Value> =
            table["rows"].as_array().expect("rows").iter().map(|row| &row["cells"]).collect();
        let expect: Vec<Value> = names.iter().map(|name| json!([name, 3])).collect();
        assert_eq!(cells, expect.iter().collect::<Vec<_>>());
        let initial = format!("{path}?watch=1&resourceVersion=0");
        let mut watch = server.admin().follow(&initial, &[]).await;
        for name in names {
            assert_eq!(super::event(&mut watch).await, ("ADDED".to_owned(), (*name).to_owned()));
        }
    }
}

/// Writes an object as it is. Says whether that was a change, which the next one is not in any case.
async fn is_rewritten(session: &mut Session, path: &str) -> bool {
    let before = session.get(path).await.gives(200);
    let after = session.put(path, &before).await.gives(200);
    assert_eq!(session.put(path, &after).await.gives(200), after);
    let version = |of: &Value| of["metadata"]["resourceVersion"].clone();
    let mut as_before = after.clone();
    as_before["metadata"]["resourceVersion"] = version(&before);
    assert_eq!(as_before, before);
    version(&after) != version(&before)
}

fn thing(version: &str, name: &str) -> Value {
    let mut thing = object(version, "Thing", name, json!({"color": "red", "size": 3}));
    thing["metadata"]["labels"] = json!({"a": "b"});
    thing
}

#[tokio::test(flavor = "multi_thread")]
async fn both_encodings_are_read_and_an_update_writes_the_one_of_today() {
    let launch = Launch::new();
    let key = |name: &str| format!("/registry/stored.test/things/{name}");
    let data_dir = launch.path("data");
    let (mut server, mut session) = started(&launch, false).await;
    session.install(&things()).await;
    let old = session.post(THINGS_V2, &thing("stored.test/v2", "old")).await.gives(201);
    server.stop().await;
    assert_eq!(stored(&data_dir, &key("old")).await, value(&old, "stored.test/v1", false));

    // Another server has stored CBOR; this one reads it, and writes what it changes as JSON.
    let mut foreign = thing("stored.test/v2", "foreign");
    foreign["metadata"]["uid"] = "7cf1b2a8-3e44-4d3c-a8c9-0a3a4f6e2f10".into();
    foreign["metadata"]["creationTimestamp"] = "2020-01-01T00:00:00Z".into();
    foreign["metadata"]["generation"] = 1.into();
    let mut odd = foreign.clone();
    odd["spec"]["gone"] = 1.into();
    fill_keys(&data_dir, [(key("foreign"), value(&odd, "stored.test/v2", true))]).await;
    let (mut server, mut session) = started(&launch, false).await;
    expect_things(&server, &mut session, &["foreign", "old"]).await;
    assert!(!is_rewritten(&mut session, &format!("{THINGS}/old")).await);
    assert!(is_rewritten(&mut session, &format!("{THINGS}/foreign")).await);
    server.stop().await;
    assert_eq!(stored(&data_dir, &key("foreign")).await, value(&foreign, "stored.test/v1", false));

    // With the gate, what is stored as JSON is read too, until it is written as CBOR.
    let (mut server, mut session) = started(&launch, true).await;
    expect_things(&server, &mut session, &["foreign", "old"]).await;
    let new = session.post(THINGS_V2, &thing("stored.test/v2", "new")).await.gives(201);
    assert!(is_rewritten(&mut session, &format!("{THINGS_V2}/old")).await);
    assert!(!is_rewritten(&mut session, &format!("{THINGS}/new")).await);
    expect_things(&server, &mut session, &["foreign", "new", "old"]).await;
    server.stop().await;
    assert_eq!(stored(&data_dir, &key("new")).await, value(&new, "stored.test/v1", true));
    assert_eq!(stored(&data_dir, &key("old")).await, value(&old, "stored.test/v1", true));
    assert_eq!(stored(&data_dir, &key("foreign")).await, value(&foreign, "stored.test/v1", false));

    // And back.
    let (mut server, mut session) = started(&launch, false).await;
    expect_things(&server, &mut session, &["foreign", "new", "old"]).await;
    assert!(is_rewritten(&mut session, &format!("{THINGS}/new")).await);
    session.delete(&format!("{THINGS}/old")).await.gives(200);
    server.stop().await;
    assert_eq!(stored(&data_dir, &key("new")).await, value(&new, "stored.test/v1", false));
}

#[tokio::test(flavor = "multi_thread")]
async fn unreadable_objects_are_reported_in_either_encoding() {
    let launch = Launch::new();
    let (mut server, mut session) = started(&launch, false).await;
    session.install(&things()).await;
    server.stop().await;
    let whole = value(&thing("stored.test/v1", "cbor"), "stored.test/v1", true);
    let values = [("cbor", whole[..20].to_vec()), ("json", b"{\"kind\":".to_vec())];
    let values = values.map(|(name, value)| (format!("/registry/stored.test/things/{name}"), value));
    fill_keys(&launch.path("data"), values).await;
    for writes_cbor in [false, true] {
        let (mut server, mut session) = started(&launch, writes_cbor).await;
        for (name, told) in [
            ("cbor", "unable to determine group/version/kind: unexpected EOF"),
            ("json", "unexpected end of JSON input"),
        ] {
            let answer = session.get(&format!("{THINGS}/{name}")).await.gives(500);
            assert_eq!(answer["message"], told);
        }
        server.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn webhook_conversions_are_stored_in_the_encoding() {
    let webhook = HttpsServer::start(conversion::review).await;
    let launch = Launch::new();
    let (data_dir, key) = (launch.path("data"), "/registry/conversion.test/boats/a");
    let (mut server, mut session) = started(&launch, true).await;
    let (url, authority) = (webhook.url("/convert"), STANDARD.encode(&webhook.authority.pem));
    session.install(&conversion::boats(json!({"url": url, "caBundle": authority}))).await;
    let boat = object("conversion.test/v2", "Boat", "a", json!({"pier": "A", "place": 7}));
    let mut made = session.post(V2, &boat).await.gives(201);
    assert!(!is_rewritten(&mut session, &format!("{V2}/a")).await);
    assert!(!is_rewritten(&mut session, &format!("{V1}/a")).await);
    server.stop().await;
    made["spec"] = json!({"berth": "A7"});
    let api_version = "conversion.test/v1";
    assert_eq!(stored(&data_dir, key).await, value(&made, api_version, true));
    // Through the version that is stored, and through one that is converted.
    for (path, writes_cbor) in [(V1, false), (V2, true), (V2, false), (V1, true)] {
        let (mut server, mut session) = started(&launch, writes_cbor).await;
        assert_eq!(session.get(V2).await.gives(200)["items"][0]["spec"], boat["spec"]);
        assert!(is_rewritten(&mut session, &format!("{path}/a")).await);
        server.stop().await;
        assert_eq!(stored(&data_dir, key).await, value(&made, api_version, writes_cbor));
    }
}
