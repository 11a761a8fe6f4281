//! The layout of the store: what another server wrote is read, and what is written is where and what the other expects.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use base64::Engine;
use http::Method;
use pintle_codec::protobuf::envelope;
use pintle_codec::{json, kind, protobuf};
use pintle_published::upstream;
use pintle_storage::{Backend, KeyValue, Txn};
use serde_json::{Value, json};

use crate::support::client::Following;
use crate::support::etcd::{Etcd, Version};
use crate::support::{Client, Identity, Launch, MASTER, store};

const PROTOBUF: (&str, &str) = ("accept", "application/vnd.kubernetes.protobuf");

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).expect("a vector")).collect()
}

/// A message in its envelope, as JSON.
fn decoded(enveloped: &[u8]) -> Value {
    let typed = kind::decode(kind::recognize(enveloped), enveloped, None).expect("an object");
    let mut text = Vec::new();
    json::encode(&typed.decoded.value, &mut text);
    serde_json::from_slice(&text).expect("JSON")
}

fn without_version(mut object: Value) -> Value {
    let metadata = object["metadata"].as_object_mut().expect("metadata");
    assert!(metadata.remove("resourceVersion").is_some(), "a version");
    object
}

/// Returns a role without its aggregated rules: the recorded server ran without the aggregation controller.
fn not_gathered(mut role: Value) -> Value {
    const GATHERER: &str = "clusterrole-aggregation-controller";
    if role["aggregationRule"].is_object() {
        role["rules"] = Value::Null;
        let managers = role["metadata"]["managedFields"].as_array_mut().expect("managers");
        managers.retain(|manager| manager["manager"] != GATHERER);
    }
    role
}

#[tokio::test]
async fn a_server_on_a_reference_servers_data_lists_what_that_one_listed() {
    let Some(folder) = upstream("stored values, lists and keys of a reference server") else { return };
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).expect("a file");
    let decode = |text: &str| base64::engine::general_purpose::STANDARD.decode(text).expect("base64");
    let values = lines(&read("etcd-dump/keys.jsonl")).into_iter().map(|line| {
        let text = |name: &str| line[name].as_str().expect("text").to_owned();
        (text("key"), decode(&text("value")))
    });
    // Another server's endpoints are not where this one is, and its lease is not this one's to renew.
    let gates = "--feature-gates=APIServerIdentity=false,UnknownVersionInteroperabilityProxy=false";
    let launch = Launch::new().args(&["--endpoint-reconciler-type=none", gates]);
    store::fill_keys(&launch.path("data"), values).await;
    let server = launch.start().await;
    let lists: BTreeMap<String, Value> = serde_json::from_str(&read("etcd-dump/lists.json")).expect("lists");
    let mut items = 0;
    for (path, expect) in lists {
        let answer = server.admin().get(&path).await;
        assert_eq!(answer.code, 200, "{path}: {answer:?}");
        let list = answer.json();
        let enveloped = server.admin().request(Method::GET, &path, &[PROTOBUF], "").await;
        assert_eq!(
            without_version(decoded(&enveloped.bytes)),
            without_version(list.clone()),
            "{path} in protobuf"
        );
        for field in ["kind", "apiVersion"] {
            assert_eq!(list[field], expect[field], "{path}");
        }
        let theirs = expect["items"].as_array().expect("items");
        let ours = list["items"].as_array().expect("items");
        // That server had no authority of clients to tell of; this one has made one.
        let ours =
            ours.iter().filter(|item| item["metadata"]["name"] != "extension-apiserver-authentication");
        let ours: Vec<&Value> = ours.collect();
        assert_eq!(ours.len(), theirs.len(), "{path}");
        for (ours, theirs) in ours.into_iter().zip(theirs) {
            assert_eq!(&not_gathered(without_version(ours.clone())), theirs, "{path}");
            items += 1;
        }
    }
    assert!(items > 500, "{items}");
}

/// A value that another server, perhaps an old one, may have left: not all fields, perhaps an old version.
struct Sparse {
    key: String,
    value: Vec<u8>,
    path: String,
    name: String,
    /// The object in a client's answer, without its resource version.
    shown: Value,
}

fn sparse() -> Vec<Sparse> {
    lines(include_str!("data/sparse.jsonl"))
        .into_iter()
        .map(|line| {
            let stored = line["stored"].to_string();
            let value =
                if line["protobuf"] == true { in_protobuf(stored.as_bytes()) } else { stored.into_bytes() };
            let text = |name: &str| line[name].as_str().expect("text").to_owned();
            let name = line["shown"]["metadata"]["name"].as_str().expect("a name").to_owned();
            Sparse { key: text("key"), value, path: text("path"), name, shown: line["shown"].clone() }
        })
        .collect()
}

/// As it is: nothing is added.
fn in_protobuf(text: &[u8]) -> Vec<u8> {
    let typed = kind::decode(kind::recognize(text), text, None).expect("an object");
    let (mut message, mut out) = (Vec::new(), Vec::new());
    protobuf::encode(typed.of, &typed.decoded.value, &mut message).expect("a message");
    envelope::write(&typed.kind.api_version(), &typed.kind.kind, &message, &mut out);
    out
}

/// The object of an event in protobuf: the last part of its frame.
fn event(frame: &[u8]) -> Value {
    let start = frame.windows(4).position(|window| window == b"k8s\0").expect("an object");
    decoded(&frame[start..])
}

async fn is_shown_everywhere(client: &Client, sparse: &[Sparse]) {
    for Sparse { path, name, shown, .. } in sparse {
        let one = format!("{path}/{name}");
        let answer = client.get(&one).await;
        assert_eq!(answer.code, 200, "{one}: {answer:?}");
        let object = answer.json();
        assert_eq!(&without_version(object.clone()), shown, "{one}");
        let answer = client.request(Method::GET, &one, &[PROTOBUF], "").await;
        assert_eq!(decoded(&answer.bytes), object, "{one} in protobuf");

        let list = client.get(path).await.json();
        let answer = client.request(Method::GET, path, &[PROTOBUF], "").await;
        // The server's own objects may have been written in between.
        assert_eq!(
            without_version(decoded(&answer.bytes)),
            without_version(list.clone()),
            "{path} in protobuf"
        );
        let items = list["items"].as_array().expect("items");
        let mut item =
            items.iter().find(|item| item["metadata"]["name"] == name.as_str()).expect("it").clone();
        for field in ["kind", "apiVersion"] {
            assert_eq!(
                item.as_object_mut().expect("an object").insert(field.into(), object[field].clone()),
                None
            );
        }
        assert_eq!(item, object, "{path}");

        let watch = format!("{path}?watch=1&fieldSelector=metadata.name%3D{name}");
        let seen = client.follow(&watch, &[]).await.line().await.expect("an event");
        assert_eq!(seen, json!({"type": "ADDED", "object": object}), "{watch}");
        let seen = client.follow(&watch, &[PROTOBUF]).await.frame().await.expect("an event");
        assert_eq!(event(&seen), object, "{watch} in protobuf");
    }
}

#[tokio::test]
async fn sparse_and_old_objects_are_shown_whole() {
    let sparse = sparse();
    let launch = Launch::new();
    let values = sparse.iter().map(|sparse| (sparse.key.clone(), sparse.value.clone()));
    store::fill_keys(&launch.path("data"), values).await;
    let server = launch.start().await;
    is_shown_everywhere(&server.admin(), &sparse).await;
}

/// The spec, without what a service that is written is given.
fn without_node_ports(mut object: Value) -> Value {
    let ports = object.pointer_mut("/spec/ports").and_then(Value::as_array_mut).into_iter().flatten();
    ports.filter_map(Value::as_object_mut).for_each(|port| drop(port.remove("nodePort")));
    object["spec"].take()
}

#[tokio::test]
async fn answers_to_writes_show_old_objects_whole() {
    let is_old = |sparse: &Sparse| ["/services/", "claims/"].iter().any(|part| sparse.key.contains(part));
    let sparse: Vec<Sparse> = sparse().into_iter().filter(is_old).collect();
    assert!(sparse.len() > 3);
    let launch = Launch::new().arg("--service-cluster-ip-range=10.0.0.0/24,fd00::/108");
    let values = sparse.iter().map(|sparse| (sparse.key.clone(), sparse.value.clone()));
    store::fill_keys(&launch.path("data"), values).await;
    let server = launch.start().await;
    let client = server.admin();
    let patch = [("content-type", "application/merge-patch+json")];
    for Sparse { path, name, shown, value, .. } in &sparse {
        let one = format!("{path}/{name}");
        let (status, stored) = (client.get(&format!("{one}/status")).await.json(), decoded(value));
        for field in ["clusterIPs", "ipFamilies", "ipFamilyPolicy", "dataSource", "dataSourceRef"] {
            assert_eq!(
                status["spec"][field], stored["spec"][field],
                "{field}: statuses are shown as they are"
            );
        }
        let body = json!({"metadata": {"labels": {"a": "b"}}});
        let dry = format!("{one}?dryRun=All");
        let answer = client.request(Method::PATCH, &dry, &patch, body.to_string()).await;
        assert_eq!(answer.code, 200, "{answer:?}");
        assert_eq!(without_node_ports(answer.json()), shown["spec"], "{one} of a dry run");
        let answer = client.request(Method::PATCH, &one, &patch, body.to_string()).await;
        assert_eq!(answer.code, 200, "{answer:?}");
        let first = answer.json();
        assert_eq!(without_node_ports(first.clone()), shown["spec"], "{one}");
        // Nothing of what was shown is new.
        let answer = client.request(Method::PATCH, &one, &patch, body.to_string()).await;
        assert_eq!(answer.json(), first, "{one}");
        let yaml = [("accept", "application/yaml")];
        let answer = client.request(Method::GET, &one, &yaml, "").await;
        for field in shown["spec"].as_object().expect("a spec").keys() {
            assert!(answer.body.contains(&format!("  {field}:")), "{field}: {answer:?}");
        }
        let answer = client.request(Method::DELETE, &dry, &[], "").await;
        assert_eq!(without_node_ports(answer.json()), shown["spec"], "{one}, deleted");
    }
}

/// The next event in both encodings.
async fn both(follow: &mut (Following, Following)) -> (String, Value) {
    let mut seen = follow.0.line().await.expect("an event");
    let frame = follow.1.frame().await.expect("an event");
    let name = seen["type"].as_str().expect("a type").to_owned();
    assert!(frame.starts_with(&[&[0x0a, name.len() as u8], name.as_bytes()].concat()), "{name}");
    assert_eq!(event(&frame), seen["object"]);
    (name, without_version(seen["object"].take()))
}

#[tokio::test]
async fn writes_of_other_servers_to_etcd_are_shown() {
    let etcd = Etcd::start(Version::New);
    let launch = Launch::bare().tokens();
    let pki = launch.path("pki");
    let flags = [format!("--etcd-servers={}", etcd.endpoint()), "--bind-address=127.0.0.1".into()];
    let server = launch.args(&flags).cert_dir(pki).start().await;
    let served = Identity::read(server.pki(), "apiserver").certificate;
    let client = Client::new(server.port, &served).token(MASTER);
    let backend = etcd.store().await;
    let sparse = sparse();
    for Sparse { key, value, path, name, shown } in &sparse {
        let watch = format!("{path}?watch=1&fieldSelector=metadata.name%3D{name}");
        let mut follow = (client.follow(&watch, &[]).await, client.follow(&watch, &[PROTOBUF]).await);
        let key = bytes::Bytes::from(key.clone());
        let put = || Txn::put(key.clone(), value.clone().into());
        backend.txn(put()).await.expect("a write");
        assert_eq!(both(&mut follow).await, ("ADDED".into(), shown.clone()), "{path}");
        let written = backend.txn(put()).await.expect("a write").revision;
        assert_eq!(both(&mut follow).await, ("MODIFIED".into(), shown.clone()), "{path}");
        backend.txn(Txn::delete(key.clone(), written)).await.expect("a deletion");
        assert_eq!(both(&mut follow).await, ("DELETED".into(), shown.clone()), "{path}");
        backend.txn(put()).await.expect("a write");
        assert_eq!(both(&mut follow).await, ("ADDED".into(), shown.clone()), "{path}");
    }
    is_shown_everywhere(&client, &sparse).await;
}

/// Version and kind of a stored value.
fn stored_as(kv: &KeyValue) -> (String, String) {
    match envelope::open(&kv.value) {
        Ok(envelope) => (envelope.api_version.to_owned(), envelope.kind.to_owned()),
        Err(_) => {
            let value: Value = serde_json::from_slice(&kv.value).expect("JSON");
            let text = |name: &str| value[name].as_str().unwrap_or_default().to_owned();
            (text("apiVersion"), text("kind"))
        }
    }
}

/// Kinds served by default, and below them the kinds served only with `api/all=true` and their feature gates.
const KINDS: &str = include_str!("data/stored-kinds.jsonl");
const MORE_KINDS: &str = include_str!("data/stored-kinds-more.jsonl");

/// Whether a line of the reference's table is about a kind of its own, in a version that is still there.
fn is_builtin(resource: &str, removed: &str) -> bool {
    let group = resource.split('/').next().unwrap_or_default();
    let minor = removed.split_once('.').map_or(u32::MAX, |(_, minor)| minor.parse().expect("a release"));
    (!group.contains('.') || group.ends_with(".k8s.io")) && minor > 36
}

#[test]
fn the_vectors_of_stored_kinds_are_the_reference_servers() {
    let Some(folder) = upstream("stored values, lists and keys of a reference server") else { return };
    let table = std::fs::read_to_string(folder.join("etcd-keys.tsv")).expect("a table");
    let theirs: BTreeSet<(String, String)> = table
        .lines()
        .skip(1)
        .map(|line| line.split('\t').collect::<Vec<_>>())
        .filter(|fields| !fields[1].is_empty() && is_builtin(fields[0], fields.get(4).unwrap_or(&"")))
        .map(|fields| (fields[0].to_owned(), fields[1].to_owned()))
        .collect();
    let text = |vector: &Value, name: &str| vector[name].as_str().expect("text").to_owned();
    let ours: BTreeSet<(String, String)> = [lines(KINDS), lines(MORE_KINDS)]
        .concat()
        .iter()
        .map(|vector| (text(vector, "resource"), text(vector, "key")))
        .collect();
    assert_eq!(ours, theirs);
}

async fn create(client: &Client, path: &str, object: &Value) {
    let headers = [("content-type", "application/json")];
    let answer = client.request(Method::POST, path, &headers, object.to_string()).await;
    assert_eq!(answer.code, 201, "{path}: {answer:?}");
}

async fn content(data_dir: &Path) -> BTreeMap<String, KeyValue> {
    let key = |kv: &KeyValue| String::from_utf8(kv.key.to_vec()).expect("text");
    store::content(data_dir).await.into_iter().map(|kv| (key(&kv), kv)).collect()
}

#[tokio::test]
async fn every_kind_is_stored_where_and_as_the_reference_does() {
    are_stored(&[], &lines(KINDS)).await;
}

#[tokio::test]
async fn kinds_that_are_served_if_asked_for_are_stored_as_the_reference_does() {
    let gates = "ClusterTrustBundle,PodCertificateRequest,GenericWorkload,StorageVersionMigrator";
    let gates = format!("--feature-gates={}=true", gates.replace(',', "=true,"));
    are_stored(&["--runtime-config=api/all=true", &gates], &lines(MORE_KINDS)).await;
}

async fn are_stored(args: &[&str], vectors: &[Value]) {
    let mut server = Launch::new().args(args).start().await;
    let client = server.admin();
    let namespace = "etcdstoragepathtestnamespace";
    let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
    create(&client, "/api/v1/namespaces", &object).await;
    for vector in vectors {
        create(&client, vector["path"].as_str().expect("a path"), &vector["object"]).await;
    }
    server.stop().await;
    let mut stored = content(server.data_dir()).await;
    for vector in vectors {
        let key = vector["key"].as_str().expect("a key");
        let kv = stored.remove(key).unwrap_or_else(|| panic!("{key} is not there"));
        let stored = &vector["stored"];
        let expect = ["apiVersion", "kind"].map(|name| stored[name].as_str().expect("text").to_owned());
        assert_eq!(stored_as(&kv), expect.clone().into(), "{key}");
        // Built-in kinds are protobuf, wherever there is one.
        let is_enveloped = envelope::is_enveloped(&kv.value);
        let definitions = ["apiextensions.k8s.io", "apiregistration.k8s.io"];
        assert_eq!(is_enveloped, !definitions.iter().any(|group| key.contains(group)), "{key}");
    }
    // The definition among them gets an APIService, which the server may have stopped before.
    stored.remove("/registry/apiregistration.k8s.io/apiservices/v1alpha1.webconsole2.operator.openshift.io");
    // Keys that a server creates at its start, without any request.
    let mut empty = Launch::new().args(args).start().await;
    empty.until_it_has_namespaces().await;
    empty.stop().await;
    let mut expect: BTreeSet<String> = content(empty.data_dir()).await.into_keys().collect();
    expect.insert(format!("/registry/namespaces/{namespace}"));
    assert_eq!(stored.into_keys().collect::<BTreeSet<_>>(), expect, "nothing else is stored");
}
