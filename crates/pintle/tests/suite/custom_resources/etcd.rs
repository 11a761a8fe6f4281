//! Several servers on one etcd, what is in the store, and what is left of it when a definition goes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::Method;
use pintle_storage::{Backend, RangeRequest, Txn};
use serde_json::{Value, json};

use super::{DEFINITIONS, Session, definition, name, object, plain_schema, version};
use crate::replicas::Pair;
use crate::support::etcd::{Etcd, Version};
use crate::support::store::{content, fill_keys};
use crate::support::{Launch, Server, eventually};

/// How long a deletion may take before it counts as one that does not end.
const END: Duration = Duration::from_secs(120);

/// All under a prefix of an etcd.
async fn stored(etcd: &Etcd, prefix: &str) -> Vec<(String, String)> {
    let request = RangeRequest { prefix: Bytes::from(prefix.to_owned()), ..RangeRequest::default() };
    let range = etcd.store().await.range(request).await.expect("a read");
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("text");
    range.kvs.iter().map(|entry| (text(&entry.key), text(&entry.value))).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_definition_made_through_one_is_served_by_the_other_at_once() {
    let pair = Pair::start(Version::New).await;
    let [one, other] = &pair.servers;
    let mut sessions = [Session::to(one).await, Session::to(other).await];
    for number in 0..20 {
        let kind = format!("Kind{number}");
        let group = "both.test";
        let mut defined = definition(group, &kind, "Cluster", vec![version("v1", &plain_schema())]);
        let plural = defined["spec"]["names"]["plural"].as_str().expect("a name").to_owned();
        let [writer, reader] = &mut sessions;
        defined = writer.install(&defined).await;
        // Once the first server has answered, the other serves the definition: no 404, no retry.
        let path = format!("/apis/{group}/v1/{plural}");
        let thing = object("both.test/v1", &kind, "a", json!({"size": 1, "late": 2}));
        let created = reader.post(&path, &thing).await.gives(201);
        assert_eq!(created["spec"], json!({"size": 1}));
        assert_eq!(writer.get(&format!("{path}/a")).await.gives(200), created);
        assert_eq!(writer.get(&path).await.gives(200)["items"][0], created);
        // A version that is new.
        let versions = defined["spec"]["versions"].as_array_mut().expect("versions");
        versions.push(version("v2", &plain_schema()));
        writer.put(&format!("{DEFINITIONS}/{}", name(&defined)), &defined).await.gives(200);
        let found = reader.get(&format!("/apis/{group}/v2/{plural}/a")).await.gives(200);
        assert_eq!(found["apiVersion"], "both.test/v2");
        sessions.reverse();
    }
    // Both say the same of what there is.
    let [one, other] = &mut sessions;
    let discovered = one.get("/apis/both.test/v2").await.gives(200);
    assert_eq!(discovered["resources"].as_array().map(Vec::len), Some(20), "{discovered}");
    eventually("the same on the other", async || other.get("/apis/both.test/v2").await.json() == discovered)
        .await;
    one.uninstall("kind3s.both.test").await;
    eventually("the end on the other", async || other.get("/apis/both.test/v1/kind3s").await.code == 404)
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_are_stored_where_and_as_the_reference_has_them() {
    let etcd = Etcd::start(Version::New);
    let server = Launch::on_etcd(&etcd).start().await;
    server.until_it_has_namespaces().await;
    let mut session = Session::to(&server).await;
    let versions = vec![version("v1", &plain_schema()), version("v1beta1", &plain_schema())];
    session.install(&definition("layout.test", "Thing", "Namespaced", versions.clone())).await;
    session.install(&definition("layout.test", "Wide", "Cluster", versions)).await;

    // Through a version that is not the stored one.
    let path = "/apis/layout.test/v1beta1/namespaces/default/things?fieldManager=tester";
    let spec = json!({"color": "a<b>&c \u{2028} é", "size": 3, "unknown": true});
    let mut thing = object("layout.test/v1beta1", "Thing", "a", spec);
    thing["metadata"]["labels"] = json!({"z": "1", "a": "2"});
    let created = session.post(path, &thing).await.gives(201);
    let metadata = &created["metadata"];
    // Keys are sorted, and nothing that is the store's own is in it.
    let expect = format!(
        concat!(
            r#"{{"apiVersion":"layout.test/v1","kind":"Thing","metadata":{{"creationTimestamp":{},"#,
            r#""generation":1,"labels":{{"a":"2","z":"1"}},"managedFields":{},"name":"a","#,
            r#""namespace":"default","uid":{}}},"#,
            r#""spec":{{"color":"a\u003cb\u003e\u0026c \u2028 é","size":3}}}}"#,
            "\n"
        ),
        metadata["creationTimestamp"], metadata["managedFields"], metadata["uid"],
    );
    let kvs = stored(&etcd, "/registry/layout.test/").await;
    assert_eq!(kvs, [("/registry/layout.test/things/default/a".to_owned(), expect)]);
    session
        .post("/apis/layout.test/v1/wides", &object("layout.test/v1", "Wide", "b", json!({})))
        .await
        .gives(201);
    let kvs = stored(&etcd, "/registry/layout.test/wides/").await;
    assert_eq!(kvs[0].0, "/registry/layout.test/wides/b");

    let definitions = stored(&etcd, "/registry/apiextensions.k8s.io/customresourcedefinitions/").await;
    let keys: Vec<&str> = definitions.iter().filter_map(|(key, _)| key.rsplit('/').next()).collect();
    assert_eq!(keys, ["things.layout.test", "wides.layout.test"]);
    let kept: Value = serde_json::from_str(&definitions[0].1).expect("JSON");
    assert_eq!(kept["apiVersion"], "apiextensions.k8s.io/v1beta1");

    // Objects that another server has written are served, in any stored version.
    let store = etcd.store().await;
    let foreign = concat!(
        r#"{"apiVersion":"layout.test/v1beta1","kind":"Thing","metadata":{"creationTimestamp":"2020-01-01T00:00:00Z","#,
        r#""generation":4,"name":"foreign","namespace":"default","uid":"7cf1b2a8-3e44-4d3c-a8c9-0a3a4f6e2f10"},"#,
        r#""spec":{"color":"red","gone":1}}"#,
        "\n"
    );
    let key = Bytes::from_static(b"/registry/layout.test/things/default/foreign");
    store.txn(Txn::put(key, Bytes::from_static(foreign.as_bytes()))).await.expect("a write");
    let path = "/apis/layout.test/v1/namespaces/default/things";
    let found = session.get(&format!("{path}/foreign")).await.gives(200);
    assert_eq!((&found["apiVersion"], &found["spec"]), (&"layout.test/v1".into(), &json!({"color": "red"})));
    assert_eq!(session.get(path).await.gives(200)["items"].as_array().map(Vec::len), Some(2));
    session.merge(&format!("{path}/foreign"), &json!({"spec": {"size": 1}})).await.gives(200);
    let kvs = stored(&etcd, "/registry/layout.test/things/default/foreign").await;
    assert!(kvs[0].1.starts_with(r#"{"apiVersion":"layout.test/v1","#), "{kvs:?}");
    session.delete(&format!("{path}/foreign")).await.gives(200);
    assert_eq!(stored(&etcd, "/registry/layout.test/things/default/foreign").await, []);
}

/// Objects as they are stored.
fn instances(group: &str, count: usize) -> impl Iterator<Item = (String, Vec<u8>)> {
    (0..count).map(move |number| {
        let namespace = ["default", "kube-system", "kube-public"][number % 3];
        let object = json!({
            "apiVersion": format!("{group}/v1"), "kind": "Thing",
            "metadata": {"name": format!("i-{number}"), "namespace": namespace, "generation": 1,
                "creationTimestamp": "2026-01-01T00:00:00Z", "uid": format!("00000000-0000-4000-8000-{number:012}")},
            "spec": {"color": "red", "size": number},
        });
        (format!("/registry/{group}/things/{namespace}/i-{number}"), format!("{object}\n").into_bytes())
    })
}

/// Writes in every way until told to stop. While the definition goes and after that writes are refused; nothing else.
async fn write_on(
    server: &Server,
    group: &'static str,
    writer: usize,
    stop: Arc<AtomicBool>,
) -> (usize, usize) {
    let mut session = Session::to(server).await;
    let path = format!("/apis/{group}/v1/namespaces/default/things");
    let (mut made, mut refused) = (0, 0);
    let api_version = format!("{group}/v1");
    for number in 0.. {
        if stop.load(Ordering::SeqCst) {
            break;
        }
        let name = format!("w{writer}-{number}");
        let mut new = object(&api_version, "Thing", &name, json!({"size": number}));
        let answer = match number % 3 {
            0 => session.apply(&format!("{path}/{name}"), "writer", &new).await,
            1 => {
                new["metadata"] = json!({"generateName": "g-"});
                session.post(&path, &new).await
            }
            _ => session.post(&path, &new).await,
        };
        match answer.code {
            201 => made += 1,
            403 | 404 => refused += 1,
            _ => panic!("{answer:?}"),
        }
        let change =
            session.merge(&format!("{path}/i-{}", number * 3), &json!({"spec": {"color": "blue"}})).await;
        assert!(matches!(change.code, 200 | 404), "{change:?}");
        if number % 7 == 0 {
            let gone = session
                .ask(Method::DELETE, &format!("{path}/i-{}", number * 3), "application/json", "")
                .await;
            assert!(matches!(gone.code, 200 | 404), "{gone:?}");
        }
    }
    (made, refused)
}

/// Deletes a definition while others write; returns once it has been gone for a while.
async fn delete_while_others_write(servers: &[Server], group: &'static str) {
    let stop = Arc::new(AtomicBool::new(false));
    let path = format!("{DEFINITIONS}/things.{group}");
    let mut session = Session::to(&servers[0]).await;
    let writers = async {
        let writing =
            (0..4).map(|writer| write_on(&servers[writer % servers.len()], group, writer, stop.clone()));
        futures_util::future::join_all(writing).await
    };
    let deletion = async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        session.delete(&path).await.gives(200);
        let start = Instant::now();
        while session.get(&path).await.code != 404 {
            assert!(start.elapsed() < END, "the deletion does not end: {}", session.get(&path).await.body);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        // Gives writers with an outdated definition the time to write.
        tokio::time::sleep(Duration::from_millis(500)).await;
        stop.store(true, Ordering::SeqCst);
    };
    let (writers, ()) = tokio::join!(writers, deletion);
    assert!(writers.iter().all(|(made, refused)| *made > 0 && *refused > 0), "{writers:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_definition_that_goes_leaves_nothing_on_etcd_whoever_writes() {
    let group = "goes.test";
    let pair = Pair::start(Version::New).await;
    let mut session = Session::to(&pair.servers[0]).await;
    let wanted = definition(group, "Thing", "Namespaced", vec![version("v1", &plain_schema())]);
    session.install(&wanted).await;
    let store = pair.etcd.store().await;
    for (key, value) in instances(group, 2000) {
        store.txn(Txn::put(Bytes::from(key), value.into())).await.expect("a write");
    }
    let list = session.get(&format!("/apis/{group}/v1/things?limit=1")).await.gives(200);
    assert_eq!(list["metadata"]["remainingItemCount"], 1999);
    delete_while_others_write(&pair.servers, group).await;
    assert_eq!(stored(&pair.etcd, "/registry/goes.test/").await, []);
    // A new definition of the same name has no objects.
    session.install(&wanted).await;
    for server in &pair.servers {
        let list = Session::to(server).await.get(&format!("/apis/{group}/v1/things")).await.gives(200);
        assert_eq!(list["items"], json!([]));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_definition_that_goes_leaves_nothing_in_the_embedded_store() {
    let group = "goes.test";
    let launch = Launch::new();
    let mut server = launch.start().await;
    server.until_it_has_namespaces().await;
    let wanted = definition(group, "Thing", "Namespaced", vec![version("v1", &plain_schema())]);
    Session::to(&server).await.install(&wanted).await;
    server.stop().await;
    fill_keys(server.data_dir(), instances(group, 10_000)).await;
    drop(server);

    let mut servers = [launch.start().await];
    servers[0].until_it_has_namespaces().await;
    let mut session = Session::to(&servers[0]).await;
    let list = session.get(&format!("/apis/{group}/v1/things?limit=1")).await.gives(200);
    assert_eq!(list["metadata"]["remainingItemCount"], 9999);
    delete_while_others_write(&servers, group).await;
    drop(session);
    servers[0].stop().await;
    let kvs = content(servers[0].data_dir()).await;
    let left = kvs.iter().filter(|entry| entry.key.windows(group.len()).any(|part| part == group.as_bytes()));
    assert_eq!(left.map(|entry| &entry.key).collect::<Vec<_>>(), Vec::<&Bytes>::new());
}
