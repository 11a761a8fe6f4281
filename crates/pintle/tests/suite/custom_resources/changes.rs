//! Definitions that change while their objects are used.

use serde_json::{Value, json};

use super::{DEFINITIONS, Session, definition, event, object, plain_schema, version};
use crate::support::eventually;
use crate::support::shared::{Shared, on_both_stores};

on_both_stores! { of EXTENDED:
    a_new_field_is_kept_as_soon_as_it_is_defined,
    a_new_version_is_served_as_soon_as_it_is_defined,
    watches_end_with_their_version_and_not_with_another,
    a_version_that_objects_were_stored_in_stays_until_they_are_migrated,
    readers_and_writers_go_on_while_it_changes,
    warnings_of_tolerated_errors_come_with_refusals,
}

fn path_of(definition: &Value) -> String {
    format!("{DEFINITIONS}/{}", super::name(definition))
}

async fn a_new_field_is_kept_as_soon_as_it_is_defined(shared: &Shared) {
    let mut session = Session::to(&shared.server).await;
    let mut defined = session
        .install(&definition("fields-come.test", "Thing", "Cluster", vec![version("v1", &plain_schema())]))
        .await;
    let path = "/apis/fields-come.test/v1/things";
    for number in 0..20 {
        let field = format!("field{number}");
        let thing = object("fields-come.test/v1", "Thing", &field, json!({"color": "red", &field: "kept"}));
        let before = session.post(&format!("{path}?dryRun=All"), &thing).await.gives(201);
        assert_eq!(before["spec"], json!({"color": "red"}), "{field} is not defined yet");
        let fields = &mut defined["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"];
        fields[&field] = json!({"type": "string"});
        defined = session.put(&path_of(&defined), &defined).await.gives(200);
        assert_eq!(defined["metadata"]["generation"], number + 2);
        if shared.is_on_etcd() {
            let trial = format!("{path}?dryRun=All");
            eventually("the new field", async || {
                session.post(&trial, &thing).await.gives(201)["spec"][&field] == "kept"
            })
            .await;
        }
        let after = session.post(path, &thing).await.gives(201);
        assert_eq!(after["spec"], json!({"color": "red", &field: "kept"}));
    }
    // One that goes hides what was stored.
    let fields =
        &mut defined["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"];
    fields.as_object_mut().expect("fields").remove("field3");
    fields["later"] = json!({"type": "string", "default": "set"});
    session.put(&path_of(&defined), &defined).await.gives(200);
    let mut found = session.get(&format!("{path}/field3")).await.gives(200);
    if shared.is_on_etcd() {
        eventually("the end of the field", async || {
            found = session.get(&format!("{path}/field3")).await.gives(200);
            found["spec"]["field3"].is_null()
        })
        .await;
    }
    assert_eq!(found["spec"], json!({"color": "red", "later": "set"}));
    assert_eq!(session.get(&format!("{path}/field4")).await.gives(200)["spec"]["field4"], "kept");
    session.uninstall("things.fields-come.test").await;
}

async fn a_new_version_is_served_as_soon_as_it_is_defined(shared: &Shared) {
    let mut session = Session::to(&shared.server).await;
    let mut defined = session
        .install(&definition("come.test", "Thing", "Cluster", vec![version("v1", &plain_schema())]))
        .await;
    session
        .post("/apis/come.test/v1/things", &object("come.test/v1", "Thing", "a", json!({"size": 1})))
        .await
        .gives(201);
    for number in 2..12 {
        let name = format!("v{number}");
        let path = format!("/apis/come.test/{name}/things/a");
        assert_eq!(session.get(&path).await.code, 404);
        defined["spec"]["versions"].as_array_mut().expect("versions").push(version(&name, &plain_schema()));
        defined = session.put(&path_of(&defined), &defined).await.gives(200);
        let found = session.get(&path).await.gives(200);
        assert_eq!(
            (&found["apiVersion"], &found["spec"]["size"]),
            (&format!("come.test/{name}").into(), &1.into())
        );
        let group = session.get("/apis/come.test").await.gives(200);
        assert_eq!(group["preferredVersion"]["version"], name);
    }
    session.uninstall("things.come.test").await;
}

async fn watches_end_with_their_version_and_not_with_another(shared: &Shared) {
    let mut session = Session::to(&shared.server).await;
    let versions = vec![version("v1", &plain_schema()), version("v1beta1", &plain_schema())];
    let mut defined = session.install(&definition("ends.test", "Thing", "Cluster", versions)).await;
    let path = |version: &str| format!("/apis/ends.test/{version}/things");
    let mut kept = session.watch(&path("v1"), "").await;
    let mut ended = session.watch(&path("v1beta1"), "").await;
    let thing = |name: &str| object("ends.test/v1", "Thing", name, json!({"color": "red"}));
    session.post(&path("v1"), &thing("before")).await.gives(201);
    assert_eq!(event(&mut ended).await.1, "before");

    defined["spec"]["versions"][1]["served"] = false.into();
    let mut defined = session.put(&path_of(&defined), &defined).await.gives(200);
    assert!(ended.line().await.is_none(), "the version is gone, and its watch with it");
    assert_eq!(session.get(&path("v1beta1")).await.code, 404);
    session.post(&path("v1"), &thing("after")).await.gives(201);
    for name in ["before", "after"] {
        assert_eq!(event(&mut kept).await, ("ADDED".to_owned(), name.to_owned()));
    }
    // A version that shows its objects otherwise is another one.
    let fields =
        &mut defined["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"];
    fields["more"] = json!({"type": "string", "default": "new"});
    session.put(&path_of(&defined), &defined).await.gives(200);
    assert!(kept.line().await.is_none(), "objects look otherwise now");
    let mut next = session.watch(&path("v1"), "").await;
    session.post(&path("v1"), &thing("last")).await.gives(201);
    let event = next.line().await.expect("an event");
    assert_eq!(event["object"]["spec"], json!({"color": "red", "more": "new"}));
    session.uninstall("things.ends.test").await;
    while next.line().await.is_some() {}
}

async fn a_version_that_objects_were_stored_in_stays_until_they_are_migrated(shared: &Shared) {
    let mut session = Session::to(&shared.server).await;
    let versions = vec![version("v1beta1", &plain_schema()), version("v1", &plain_schema())];
    let mut defined = session.install(&definition("stored.test", "Thing", "Cluster", versions)).await;
    let path = "/apis/stored.test/v1/things";
    session.post(path, &object("stored.test/v1", "Thing", "old", json!({"size": 1}))).await.gives(201);
    defined["spec"]["versions"][0]["storage"] = false.into();
    defined["spec"]["versions"][1]["storage"] = true.into();
    let mut defined = session.put(&path_of(&defined), &defined).await.gives(200);
    assert_eq!(defined["status"]["storedVersions"], json!(["v1beta1", "v1"]));
    session.post(path, &object("stored.test/v1", "Thing", "new", json!({"size": 2}))).await.gives(201);
    let list = session.get(path).await.gives(200);
    assert_eq!(list["items"].as_array().map(Vec::len), Some(2));
    assert_eq!(list["items"][1]["spec"]["size"], 1);

    let mut without = defined.clone();
    without["spec"]["versions"].as_array_mut().expect("versions").remove(0);
    let refused = session.put(&path_of(&defined), &without).await.gives(422);
    let message = refused["message"].as_str().expect("a message");
    assert!(
        message.contains("v1beta1 was previously a storage version, and must remain in spec.versions"),
        "{message}"
    );
    // A migration rewrites every object, and then removes the old version from `storedVersions`.
    let old = session.get(&format!("{path}/old")).await.gives(200);
    session.put(&format!("{path}/old"), &old).await.gives(200);
    defined["status"]["storedVersions"] = json!(["v1"]);
    let migrated = session.put(&format!("{}/status", path_of(&defined)), &defined).await.gives(200);
    assert_eq!(migrated["status"]["storedVersions"], json!(["v1"]));
    without["metadata"]["resourceVersion"] = migrated["metadata"]["resourceVersion"].clone();
    let changed = session.put(&path_of(&defined), &without).await.gives(200);
    assert_eq!(changed["spec"]["versions"].as_array().map(Vec::len), Some(1));
    assert_eq!(session.get(&format!("{path}/old")).await.gives(200)["spec"]["size"], 1);
    session.uninstall("things.stored.test").await;
}

/// Writes and reads until told to stop; nothing but success is an answer.
async fn use_it(mut session: Session, writer: usize, stop: tokio::sync::watch::Receiver<bool>) -> usize {
    let path = "/apis/busy.test/v1/things";
    for number in 0.. {
        let name = format!("w{writer}-{number}");
        session.post(path, &object("busy.test/v1", "Thing", &name, json!({"size": 1}))).await.gives(201);
        session.merge(&format!("{path}/{name}"), &json!({"spec": {"size": 2}})).await.gives(200);
        assert_eq!(session.get(&format!("{path}/{name}")).await.gives(200)["spec"]["size"], 2);
        session.get(&format!("{path}?limit=5")).await.gives(200);
        session.delete(&format!("{path}/{name}")).await.gives(200);
        if *stop.borrow() {
            return number;
        }
    }
    0
}

async fn readers_and_writers_go_on_while_it_changes(shared: &Shared) {
    let mut session = Session::to(&shared.server).await;
    let mut defined = session
        .install(&definition("busy.test", "Thing", "Cluster", vec![version("v1", &plain_schema())]))
        .await;
    let (stop, stopped) = tokio::sync::watch::channel(false);
    let mut users = tokio::task::JoinSet::new();
    for writer in 0..3 {
        users.spawn(use_it(Session::to(&shared.server).await, writer, stopped.clone()));
    }
    for number in 0..30 {
        let fields = &mut defined["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"];
        fields[format!("field{number}")] = json!({"type": "string"});
        defined = session.put(&path_of(&defined), &defined).await.gives(200);
    }
    stop.send(true).expect("somebody listens");
    let done: usize = users.join_all().await.into_iter().sum();
    assert!(done > 0, "somebody got through");
    assert_eq!(session.get("/apis/busy.test/v1/things").await.gives(200)["items"], json!([]));
    session.uninstall("things.busy.test").await;
}

/// An existing object may break a newer rule; writing it gives a warning, even if the write fails for another reason.
async fn warnings_of_tolerated_errors_come_with_refusals(shared: &Shared) {
    let mut session = Session::to(&shared.server).await;
    let mut defined = session
        .install(&definition("tolerated.test", "Thing", "Cluster", vec![version("v1", &plain_schema())]))
        .await;
    let path = "/apis/tolerated.test/v1/things";
    let thing = object("tolerated.test/v1", "Thing", "one", json!({"replicas": 1, "size": 1}));
    session.post(path, &thing).await.gives(201);
    let fields =
        &mut defined["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"];
    fields["replicas"]["x-kubernetes-validations"] = json!([{"rule": "self > 1"}]);
    fields["size"]["maximum"] = 5.into();
    session.put(&path_of(&defined), &defined).await.gives(200);
    let one = format!("{path}/one");
    let trial = format!("{one}?dryRun=All");
    eventually("the rule", async || {
        let refused = session.merge(&trial, &json!({"spec": {"replicas": 0}})).await;
        refused.code == 422
    })
    .await;
    let told = |warning: &str| {
        assert!(warning.contains("spec.replicas: Invalid value: "), "{warning}");
        assert!(warning.contains("failed rule: self > 1"), "{warning}");
    };
    told(session.merge(&one, &json!({"spec": {"size": 2}})).await.header("warning"));
    let refused = session.merge(&one, &json!({"spec": {"size": 9}})).await;
    assert_eq!(refused.code, 422, "{refused:?}");
    told(refused.header("warning"));
    let mut whole = session.get(&one).await.gives(200);
    whole["spec"]["size"] = 9.into();
    let refused = session.put(&one, &whole).await;
    assert_eq!(refused.code, 422, "{refused:?}");
    told(refused.header("warning"));
}
