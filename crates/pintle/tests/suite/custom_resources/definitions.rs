//! CustomResourceDefinitions: their names, their conditions, their deletion.

use serde_json::{Value, json};

use super::{DEFINITIONS, Session, condition, definition, object, plain_schema, version};
use crate::support::eventually;
use crate::support::shared::{Shared, on_both_stores};

on_both_stores! { of EXTENDED:
    a_definition_says_how_it_is,
    conditions_and_managers_of_one_second_have_an_order,
    of_two_that_want_a_name_the_second_gets_it_when_the_first_goes,
    names_that_somebody_else_has_are_not_taken_over,
    while_it_goes_nothing_new_is_made,
    a_definition_without_objects_goes_at_once,
    a_definition_that_comes_again_is_another,
    invalid_definitions_are_refused,
}

fn thing(group: &str, kind: &str) -> Value {
    definition(group, kind, "Cluster", vec![version("v1", &plain_schema())])
}

async fn a_definition_says_how_it_is(shared: &Shared) {
    let mut session = Session::to(&shared.server).await;
    let mut wanted = thing("how.test", "Thing");
    wanted["spec"]["names"]["shortNames"] = json!(["th"]);
    wanted["spec"]["names"]["categories"] = json!(["all"]);
    let created = session.post(DEFINITIONS, &wanted).await.gives(201);
    assert_eq!(created["metadata"]["generation"], 1);
    assert_eq!(created["spec"]["conversion"], json!({"strategy": "None"}));
    assert_eq!(created["status"]["storedVersions"], json!(["v1"]));
    let found = session.established("things.how.test").await;
    assert_eq!(found["metadata"]["generation"], 1);
    assert_eq!(found["status"]["acceptedNames"], wanted["spec"]["names"]);
    for (kind, reason, message) in [
        ("NamesAccepted", "NoConflicts", "no conflicts found"),
        ("Established", "InitialNamesAccepted", "the initial names have been accepted"),
    ] {
        let found = condition(&found, kind);
        assert_eq!(
            (&found["status"], &found["reason"], &found["message"]),
            (&"True".into(), &reason.into(), &message.into())
        );
    }
    session.uninstall("things.how.test").await;
}

/// Conditions stand in the order in which they are found. Managers of one operation are sorted by time and then by name, so
/// that the server's own entry may come before or after that of the client.
async fn conditions_and_managers_of_one_second_have_an_order(shared: &Shared) {
    let mut session = Session::to(&shared.server).await;
    for (manager, expected) in
        [("a-client", ["a-client", "kube-apiserver"]), ("z-client", ["kube-apiserver", "z-client"])]
    {
        let mut in_one_second = false;
        // The clock may move on between the two writes, if seldom.
        for _ in 0..10 {
            let mut wanted = thing("order.k8s.io", "Thing");
            wanted["metadata"]["annotations"] = json!({"api-approved.kubernetes.io": "https://order.test/1"});
            session.post(&format!("{DEFINITIONS}?fieldManager={manager}"), &wanted).await.gives(201);
            let found = session.established("things.order.k8s.io").await;
            session.uninstall("things.order.k8s.io").await;
            let texts = |list: &Value, name: &str| -> Vec<String> {
                let items = list.as_array().into_iter().flatten();
                items.map(|item| item[name].as_str().unwrap_or_default().to_owned()).collect()
            };
            let conditions = texts(&found["status"]["conditions"], "type");
            assert_eq!(conditions, ["KubernetesAPIApprovalPolicyConformant", "NamesAccepted", "Established"]);
            let managers = texts(&found["metadata"]["managedFields"], "manager");
            let times = texts(&found["metadata"]["managedFields"], "time");
            in_one_second = times[0] == times[1];
            if in_one_second {
                assert_eq!(managers, expected);
                break;
            }
            assert_eq!(managers, [manager, "kube-apiserver"], "the earlier one first");
        }
        assert!(in_one_second, "the writes of a definition are a second apart");
    }
}

async fn of_two_that_want_a_name_the_second_gets_it_when_the_first_goes(shared: &Shared) {
    let mut session = Session::to(&shared.server).await;
    session.install(&thing("names.test", "Thing")).await;
    let mut second = thing("names.test", "Other");
    second["spec"]["names"]["kind"] = "Thing".into();
    session.post(DEFINITIONS, &second).await.gives(201);
    let found = session.condition("others.names.test", "NamesAccepted", "False").await;
    let accepted = condition(&found, "NamesAccepted");
    assert_eq!(
        (&accepted["reason"], &accepted["message"]),
        (&"KindConflict".into(), &"\"Thing\" is already in use".into())
    );
    let established = condition(&found, "Established");
    assert_eq!((&established["status"], &established["reason"]), (&"False".into(), &"NotAccepted".into()));
    assert_eq!(session.get("/apis/names.test/v1/others").await.code, 404);
    // The first is as it was.
    let path = "/apis/names.test/v1/things";
    session.post(path, &object("names.test/v1", "Thing", "a", json!({}))).await.gives(201);

    session.uninstall("things.names.test").await;
    session.established("others.names.test").await;
    let path = "/apis/names.test/v1/others";
    assert_eq!(session.get(path).await.gives(200)["items"], json!([]));
    session.post(path, &object("names.test/v1", "Thing", "a", json!({}))).await.gives(201);
    session.uninstall("others.names.test").await;
}

async fn names_that_somebody_else_has_are_not_taken_over(shared: &Shared) {
    let mut session = Session::to(&shared.server).await;
    let mut first = thing("taken.test", "Thing");
    first["spec"]["names"]["shortNames"] = json!(["t", "tt"]);
    session.install(&first).await;
    let second = session.install(&thing("taken.test", "Other")).await;
    // One that is served stays so, under the names that it has.
    let path = format!("{DEFINITIONS}/others.taken.test");
    let patch = json!({"spec": {"names": {"shortNames": ["o", "t"], "singular": "tt"}}});
    session.merge(&path, &patch).await.gives(200);
    let found = session.condition("others.taken.test", "NamesAccepted", "False").await;
    let accepted = condition(&found, "NamesAccepted");
    assert_eq!(
        (&accepted["reason"], &accepted["message"]),
        (&"ShortNamesConflict".into(), &"\"t\" is already in use".into())
    );
    assert_eq!(condition(&found, "Established")["status"], "True");
    assert_eq!(found["status"]["acceptedNames"]["singular"], second["status"]["acceptedNames"]["singular"]);
    session
        .post("/apis/taken.test/v1/others", &object("taken.test/v1", "Other", "a", json!({})))
        .await
        .gives(201);
    let free = json!({"spec": {"names": {"shortNames": ["o"], "singular": "other"}}});
    session.merge(&path, &free).await.gives(200);
    let found = session.condition("others.taken.test", "NamesAccepted", "True").await;
    assert_eq!(found["status"]["acceptedNames"]["shortNames"], json!(["o"]));
    // In another group the same names are free.
    session.install(&thing("else.taken.test", "Thing")).await;
    for name in ["things.taken.test", "others.taken.test", "things.else.taken.test"] {
        session.uninstall(name).await;
    }
}

async fn while_it_goes_nothing_new_is_made(shared: &Shared) {
    let mut session = Session::to(&shared.server).await;
    session.install(&thing("going.test", "Thing")).await;
    let path = "/apis/going.test/v1/things";
    let mut held = object("going.test/v1", "Thing", "held", json!({"size": 1}));
    held["metadata"]["finalizers"] = json!(["example.test/held"]);
    session.post(path, &held).await.gives(201);
    session.post(path, &object("going.test/v1", "Thing", "free", json!({}))).await.gives(201);
    let mut watch = session.watch(path, "").await;
    session.delete(&format!("{DEFINITIONS}/things.going.test")).await.gives(200);
    let found = session.condition("things.going.test", "Terminating", "True").await;
    // The deletion sets the first reason, the finalizing controller the second.
    let reason = &condition(&found, "Terminating")["reason"];
    assert!(reason == "InstanceDeletionPending" || reason == "InstanceDeletionInProgress", "{reason}");
    assert_eq!(found["metadata"]["finalizers"], json!(["customresourcecleanup.apiextensions.k8s.io"]));
    let why = "create not allowed while custom resource definition is terminating";
    let new = object("going.test/v1", "Thing", "new", json!({}));
    let refused = session.post(path, &new).await;
    refused.is_status(403, "Forbidden", &format!("things.going.test \"new\" is forbidden: {why}"));
    let refused = session.apply(&format!("{path}/new"), "me", &new).await;
    assert_eq!(refused.code, 403, "{refused:?}");
    // Existing objects can still be read and changed.
    eventually("the deletion of the objects", async || {
        session.get(&format!("{path}/free")).await.code == 404
    })
    .await;
    let still = session.merge(&format!("{path}/held"), &json!({"spec": {"size": 2}})).await.gives(200);
    assert!(!still["metadata"]["deletionTimestamp"].is_null(), "{still}");
    let let_go = json!({"metadata": {"finalizers": null}});
    session.merge(&format!("{path}/held"), &let_go).await.gives(200);
    let definition = format!("{DEFINITIONS}/things.going.test");
    eventually("its end", async || session.get(&definition).await.code == 404).await;
    // On etcd the definition is read from the store, and its resource goes when the cache hears of that.
    eventually("the end of its resource", async || session.get(path).await.code == 404).await;
    // The watch gets the deletion of every object, and then ends.
    let mut seen = Vec::new();
    while let Some(event) = watch.line().await {
        seen.push((
            event["type"].as_str().unwrap_or_default().to_owned(),
            event["object"]["metadata"]["name"].clone(),
        ));
    }
    for gone in ["held", "free"] {
        assert!(seen.contains(&("DELETED".to_owned(), gone.into())), "{seen:?}");
    }
}

async fn a_definition_without_objects_goes_at_once(shared: &Shared) {
    let mut session = Session::to(&shared.server).await;
    session.install(&thing("empty.test", "Thing")).await;
    // A definition whose objects were never requested.
    session.uninstall("things.empty.test").await;
    assert_eq!(session.get("/apis/empty.test").await.code, 404);
    // A definition whose names were never accepted.
    session.install(&thing("empty.test", "Thing")).await;
    let mut second = thing("empty.test", "Other");
    second["spec"]["names"]["kind"] = "Thing".into();
    session.post(DEFINITIONS, &second).await.gives(201);
    session.condition("others.empty.test", "NamesAccepted", "False").await;
    session.uninstall("others.empty.test").await;
    session.uninstall("things.empty.test").await;
}

async fn a_definition_that_comes_again_is_another(shared: &Shared) {
    let mut session = Session::to(&shared.server).await;
    let path = "/apis/again.test/v1/things";
    // Each round begins with a path that was not found a moment ago.
    for (round, field) in ["color", "shade", "tint"].into_iter().cycle().take(12).enumerate() {
        let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
            field: {"type": "string"},
        }}}});
        let scoped = definition("again.test", "Thing", "Cluster", vec![version("v1", &schema)]);
        session.install(&scoped).await;
        assert_eq!(session.get(path).await.gives(200)["items"], json!([]), "round {round}");
        let spec = json!({"color": "red", "shade": "dark", "tint": "light"});
        let created =
            session.post(path, &object("again.test/v1", "Thing", "a", spec.clone())).await.gives(201);
        assert_eq!(created["spec"], json!({field: spec[field]}), "round {round}");
        session.uninstall("things.again.test").await;
        assert_eq!(session.get(path).await.code, 404);
    }
}

/// Makes a good definition bad.
type Change = fn(&mut Value);

async fn invalid_definitions_are_refused(shared: &Shared) {
    let mut session = Session::to(&shared.server).await;
    let changes: [(&str, Change); 6] = [
        ("metadata.name", |of| of["metadata"]["name"] = "others.wrong.test".into()),
        ("spec.scope", |of| of["spec"]["scope"] = "Global".into()),
        ("spec.names.kind", |of| of["spec"]["names"]["kind"] = "not a kind".into()),
        ("must have exactly one version marked as storage version", |of| {
            of["spec"]["versions"][0]["storage"] = false.into();
        }),
        ("spec.versions[0].schema.openAPIV3Schema: Required value", |of| {
            of["spec"]["versions"][0].as_object_mut().expect("a version").remove("schema");
        }),
        ("Unsupported value: \"text\"", |of| {
            let schema = &mut of["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
            schema["properties"]["spec"]["properties"]["color"]["type"] = "text".into();
        }),
    ];
    for (expect, change) in changes {
        let mut wrong = thing("wrong.test", "Thing");
        change(&mut wrong);
        let refused = session.post(DEFINITIONS, &wrong).await;
        let status = refused.gives(422);
        assert_eq!(status["reason"], "Invalid");
        assert!(status["message"].as_str().is_some_and(|text| text.contains(expect)), "{expect}: {status}");
    }
    assert_eq!(session.get("/apis/wrong.test").await.code, 404);
}
