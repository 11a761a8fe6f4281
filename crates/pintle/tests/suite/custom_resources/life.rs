//! Objects of defined resources: every verb, on both stores, in namespaces and without.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};

use super::{DEFINITIONS, Session, condition, definition, event, name, object, plain_schema, version};
use crate::support::shared::{Shared, on_both_stores};
use crate::support::{Launch, Server, eventually};

on_both_stores! { of EXTENDED:
    objects_have_all_verbs_in_namespaces,
    objects_have_all_verbs_in_the_cluster,
    an_established_definition_takes_objects_at_once,
    objects_are_applied,
    objects_of_another_kind_are_refused,
    paths_that_lead_nowhere_are_not_found,
}

fn names(list: &Value) -> Vec<&str> {
    list["items"].as_array().expect("items").iter().map(name).collect()
}

async fn objects_have_all_verbs(shared: &Shared, group: &str, scope: &str, path: &str) {
    let mut session = Session::to(&shared.server).await;
    session.install(&definition(group, "Thing", scope, vec![version("v1", &plain_schema())])).await;
    let api_version = format!("{group}/v1");
    let thing = |name: &str, color: &str| object(&api_version, "Thing", name, json!({"color": color}));
    let mut watch = session.watch(path, "").await;

    let created = session.post(path, &thing("a", "red")).await.gives(201);
    assert_eq!(created["metadata"]["generation"], 1);
    assert_eq!((&created["kind"], &created["apiVersion"]), (&"Thing".into(), &api_version.as_str().into()));
    for field in ["uid", "creationTimestamp", "resourceVersion", "managedFields"] {
        assert!(!created["metadata"][field].is_null(), "{field}: {created}");
    }
    let again = session.post(path, &thing("a", "red")).await;
    again.is_status(409, "AlreadyExists", &format!("things.{group} \"a\" already exists"));
    let of_a = format!("{path}/a");
    assert_eq!(session.get(&of_a).await.gives(200), created);

    // Replaced, with the version that is known and with one that is not any more.
    let mut changed = created.clone();
    changed["spec"]["color"] = "blue".into();
    let replaced = session.put(&of_a, &changed).await.gives(200);
    assert_eq!(
        (&replaced["spec"]["color"], &replaced["metadata"]["generation"]),
        (&"blue".into(), &2.into())
    );
    changed["spec"]["color"] = "green".into();
    assert_eq!(session.put(&of_a, &changed).await.gives(409)["reason"], "Conflict");
    assert_eq!(session.put(&format!("{path}/none"), &thing("none", "red")).await.code, 404);
    // The same again is no change, and no event.
    assert_eq!(session.put(&of_a, &replaced).await.gives(200), replaced);

    let patched =
        session.merge(&of_a, &json!({"spec": {"size": 3}, "metadata": {"labels": {"l": "x"}}})).await;
    assert_eq!(patched.gives(200)["spec"], json!({"color": "blue", "size": 3}));
    let operations = r#"[{"op":"test","path":"/spec/size","value":3},{"op":"remove","path":"/spec/size"}]"#;
    let patched = session.ask(Method::PATCH, &of_a, "application/json-patch+json", operations).await;
    assert_eq!(patched.gives(200)["spec"], json!({"color": "blue"}));
    let strategic = session.ask(Method::PATCH, &of_a, "application/strategic-merge-patch+json", "{}").await;
    assert_eq!(strategic.gives(415)["reason"], "UnsupportedMediaType");

    for at in ["b", "c", "d"] {
        session.post(path, &thing(at, "red")).await.gives(201);
    }
    let list = session.get(path).await.gives(200);
    assert_eq!((&list["kind"], &list["apiVersion"]), (&"ThingList".into(), &api_version.as_str().into()));
    assert_eq!(names(&list), ["a", "b", "c", "d"]);
    assert_eq!(names(&session.get(&format!("{path}?labelSelector=l%3Dx")).await.gives(200)), ["a"]);
    let by_name = session.get(&format!("{path}?fieldSelector=metadata.name%3Dc")).await.gives(200);
    assert_eq!(names(&by_name), ["c"]);
    let page = session.get(&format!("{path}?limit=3")).await.gives(200);
    assert_eq!(names(&page), ["a", "b", "c"]);
    let rest = page["metadata"]["continue"].as_str().expect("more");
    assert_eq!(names(&session.get(&format!("{path}?limit=3&continue={rest}")).await.gives(200)), ["d"]);

    let gone = session.delete(&of_a).await.gives(200);
    assert_eq!((&gone["kind"], &gone["status"]), (&"Status".into(), &"Success".into()));
    session.get(&of_a).await.is_status(404, "NotFound", &format!("things.{group} \"a\" not found"));
    let gone = session.delete(path).await.gives(200);
    assert_eq!(names(&gone), ["b", "c", "d"]);
    assert_eq!(names(&session.get(path).await.gives(200)), [""; 0]);

    let expect = [
        ("ADDED", "a"),
        ("MODIFIED", "a"),
        ("MODIFIED", "a"),
        ("MODIFIED", "a"),
        ("ADDED", "b"),
        ("ADDED", "c"),
        ("ADDED", "d"),
        ("DELETED", "a"),
    ];
    for (kind, about) in expect {
        assert_eq!(event(&mut watch).await, (kind.to_owned(), about.to_owned()));
    }
    let mut last = Vec::new();
    for _ in 0..3 {
        last.push(event(&mut watch).await);
    }
    // The order of deletions in a collection is unspecified.
    last.sort();
    assert_eq!(last, ["b", "c", "d"].map(|name| ("DELETED".to_owned(), name.to_owned())));
    session.uninstall(&format!("things.{group}")).await;
}

async fn objects_have_all_verbs_in_namespaces(shared: &Shared) {
    let path = "/apis/namespaced.test/v1/namespaces/default/things";
    objects_have_all_verbs(shared, "namespaced.test", "Namespaced", path).await;
}

async fn objects_have_all_verbs_in_the_cluster(shared: &Shared) {
    objects_have_all_verbs(shared, "cluster.test", "Cluster", "/apis/cluster.test/v1/things").await;
}

async fn an_established_definition_takes_objects_at_once(shared: &Shared) {
    let mut session = Session::to(&shared.server).await;
    for number in 0..50 {
        let (group, kind) = ("at-once.test", format!("Kind{number}"));
        let definition = definition(group, &kind, "Cluster", vec![version("v1", &plain_schema())]);
        let path = format!("{DEFINITIONS}/{}", name(&definition));
        session.post(DEFINITIONS, &definition).await.gives(201);
        // No pause between seeing it and using it.
        while condition(&session.get(&path).await.gives(200), "Established")["status"] != "True" {}
        let things =
            format!("/apis/{group}/v1/{}", definition["spec"]["names"]["plural"].as_str().expect("a name"));
        let thing = object("at-once.test/v1", &kind, "first", json!({"color": "red"}));
        session.post(&things, &thing).await.gives(201);
        // Nor is anything else behind.
        let groups = session.get(&format!("/apis/{group}/v1")).await.gives(200);
        let resources = groups["resources"].as_array().expect("resources");
        assert!(resources.iter().any(|resource| resource["kind"] == kind), "{groups}");
        session.delete(&path).await.gives(200);
    }
}

async fn objects_are_applied(shared: &Shared) {
    let mut session = Session::to(&shared.server).await;
    let group = "applied.test";
    session.install(&definition(group, "Thing", "Namespaced", vec![version("v1", &plain_schema())])).await;
    let path = "/apis/applied.test/v1/namespaces/default/things/a";
    let thing = |spec: Value| object("applied.test/v1", "Thing", "a", spec);
    let created = session.apply(path, "one", &thing(json!({"color": "red", "tags": ["x"]}))).await.gives(201);
    assert_eq!(created["metadata"]["managedFields"][0]["manager"], "one");
    // Tags are a set: each manager has its own.
    let both = session.apply(path, "two", &thing(json!({"size": 2, "tags": ["y"]}))).await.gives(200);
    assert_eq!(both["spec"], json!({"color": "red", "size": 2, "tags": ["x", "y"]}));
    let conflict = session.apply(path, "two", &thing(json!({"color": "blue"}))).await;
    conflict.is_status(409, "Conflict", "Apply failed with 1 conflict: conflict with \"one\": .spec.color");
    // Fields that their manager no longer applies are removed.
    let left = session.apply(path, "one", &thing(json!({"tags": ["x"]}))).await.gives(200);
    assert_eq!(left["spec"], json!({"size": 2, "tags": ["x", "y"]}));
    // An applied field that the schema does not know is pruned, and so not managed.
    let path_and = format!("{path}?fieldManager=three&force=true");
    let unknown = thing(json!({"nonsense": 1})).to_string();
    let answer = session.ask(Method::PATCH, &path_and, "application/apply-patch+yaml", &unknown).await;
    assert!(answer.code == 400 || answer.code == 500 || answer.gives(200)["spec"]["nonsense"].is_null());
    session.uninstall("things.applied.test").await;
}

async fn objects_of_another_kind_are_refused(shared: &Shared) {
    let mut session = Session::to(&shared.server).await;
    session
        .install(&definition("kinds.test", "Thing", "Cluster", vec![version("v1", &plain_schema())]))
        .await;
    let path = "/apis/kinds.test/v1/things";
    let other = session.post(path, &object("kinds.test/v1", "Other", "a", json!({}))).await;
    let wrong = "Other.kinds.test \"a\" is invalid: kind: Invalid value: \"Other\": must be Thing";
    other.is_status(422, "Invalid", wrong);
    let version = session.post(path, &object("kinds.test/v2", "Thing", "a", json!({}))).await;
    assert_eq!(version.code, 400, "{version:?}");
    let unnamed = session.post(path, &json!({"apiVersion": "kinds.test/v1", "kind": "Thing"})).await;
    assert_eq!(unnamed.code, 422, "{unnamed:?}");
    // Fields that the schema does not know are dropped, with a warning.
    let unknown = object("kinds.test/v1", "Thing", "b", json!({"color": "red", "nonsense": {"a": 1}}));
    let created = session.post(path, &unknown).await;
    assert_eq!(created.header("warning"), r#"299 - "unknown field \"spec.nonsense\"""#);
    assert_eq!(created.gives(201)["spec"], json!({"color": "red"}));
    let strict = session.post(&format!("{path}?fieldValidation=Strict"), &unknown).await;
    assert_eq!(strict.code, 400, "{strict:?}");
    // Nothing is written by a trial.
    let trial = object("kinds.test/v1", "Thing", "trial", json!({}));
    session.post(&format!("{path}?dryRun=All"), &trial).await.gives(201);
    assert_eq!(session.get(&format!("{path}/trial")).await.code, 404);
    session.uninstall("things.kinds.test").await;
}

async fn paths_that_lead_nowhere_are_not_found(shared: &Shared) {
    let mut session = Session::to(&shared.server).await;
    session
        .install(&definition("paths.test", "Thing", "Cluster", vec![version("v1", &plain_schema())]))
        .await;
    session
        .install(&definition("paths.test", "Local", "Namespaced", vec![version("v1", &plain_schema())]))
        .await;
    session
        .post("/apis/paths.test/v1/things", &object("paths.test/v1", "Thing", "a", json!({})))
        .await
        .gives(201);
    for path in [
        "/apis/paths.test/v2/things",
        "/apis/paths.test/v1/others",
        "/apis/other.paths.test/v1/things",
        "/apis/paths.test/v1/namespaces/default/things",
        "/apis/paths.test/v1/locals/a",
        "/apis/paths.test/v1/things/a/status",
        "/apis/paths.test/v1/things/a/scale",
        "/apis/paths.test/v1/things/a/nonsense",
    ] {
        assert_eq!(session.get(path).await.code, 404, "{path}");
    }
    // Across namespaces there are only lists and watches.
    assert_eq!(session.get("/apis/paths.test/v1/locals").await.code, 200);
    let local = object("paths.test/v1", "Local", "a", json!({}));
    assert_eq!(session.post("/apis/paths.test/v1/locals", &local).await.code, 404);
    let nowhere = session.post("/apis/paths.test/v1/namespaces/nowhere/locals", &local).await;
    nowhere.is_status(404, "NotFound", "namespaces \"nowhere\" not found");
    session.uninstall("things.paths.test").await;
    session.uninstall("locals.paths.test").await;
    assert_eq!(session.get("/apis/paths.test").await.code, 404, "nor is the group left");
}

async fn ready(launch: &Launch) -> (Server, Session) {
    let server = launch.start().await;
    server.until_it_has_namespaces().await;
    let session = Session::to(&server).await;
    (server, session)
}

#[tokio::test]
async fn definitions_and_objects_survive_a_restart() {
    let launch = Launch::new();
    let (mut server, mut session) = ready(&launch).await;
    let mut versions = vec![version("v1", &plain_schema()), version("v1beta1", &plain_schema())];
    versions[1]["subresources"] = json!({"status": {}});
    let installed = session.install(&definition("restart.test", "Thing", "Cluster", versions)).await;
    let path = "/apis/restart.test/v1/things";
    for number in 0..20 {
        let thing = object("restart.test/v1", "Thing", &format!("a-{number}"), json!({"size": number}));
        session.post(path, &thing).await.gives(201);
    }
    let before = session.get(path).await.gives(200);
    drop(session);
    server.stop().await;
    drop(server);

    let (server, mut session) = ready(&launch).await;
    assert_eq!(session.get(&format!("{DEFINITIONS}/things.restart.test")).await.gives(200), installed);
    let after = session.get(path).await.gives(200);
    assert_eq!(after["items"], before["items"]);
    let other = session.get("/apis/restart.test/v1beta1/things/a-3").await.gives(200);
    assert_eq!((&other["spec"], &other["apiVersion"]), (&json!({"size": 3}), &"restart.test/v1beta1".into()));
    let discovered = session.get("/apis/restart.test").await.gives(200);
    assert_eq!(discovered["preferredVersion"]["version"], "v1");
    session.post(path, &object("restart.test/v1", "Thing", "late", json!({}))).await.gives(201);
    drop(server);
}

/// A definition whose finalizer was taken away is gone, and its objects are the next one's: what was begun for the first ends.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_end_of_a_definition_is_not_that_of_its_successor() {
    let server = Launch::new().start().await;
    let mut session = Session::to(&server).await;
    let definition = definition("again.test", "Thing", "Cluster", vec![version("v1", &plain_schema())]);
    let (path, things) = (format!("{DEFINITIONS}/things.again.test"), "/apis/again.test/v1/things");
    session.install(&definition).await;
    let mut held = object("again.test/v1", "Thing", "held", json!({}));
    held["metadata"]["finalizers"] = json!(["again.test/holds"]);
    session.post(things, &held).await.gives(201);
    session.delete(&path).await.gives(200);
    session.condition("things.again.test", "Terminating", "True").await;
    session.merge(&path, &json!({"metadata": {"finalizers": null}})).await.gives(200);
    eventually("its end", async || session.get(&path).await.code == 404).await;
    session.install(&definition).await;
    session.post(things, &object("again.test/v1", "Thing", "new", json!({}))).await.gives(201);
    // Several rounds of the loop that waited for the object that is held.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let new = session.get(&format!("{things}/new")).await.gives(200);
    assert!(new["metadata"]["deletionTimestamp"].is_null(), "{new}");
    let found = session.get(&path).await.gives(200);
    assert_eq!(condition(&found, "Terminating"), &Value::Null);
    assert!(found["metadata"]["deletionTimestamp"].is_null(), "{found}");
}
