//! Patches, the order of webhooks, and the second run.

use std::sync::Mutex;

use super::*;
use crate::attributes::Operation;
use crate::notes::AuditLevel;

const RESOURCE: Resource = Resource::MutatingWebhookConfiguration;

/// Adds a label, named after the path.
fn labelled(seen: &Seen) -> Reply {
    let name = seen.path.trim_start_matches('/').split('?').next().unwrap_or_default();
    let labels = &seen.json()["request"]["object"]["metadata"]["labels"];
    if labels.is_null() {
        patch(seen, &json!([{"op": "add", "path": "/metadata/labels", "value": {name: "1"}}]))
    } else if labels[name].is_null() {
        patch(seen, &json!([{"op": "add", "path": format!("/metadata/labels/{name}"), "value": "1"}]))
    } else {
        allow(seen)
    }
}

fn paths(server: &HttpsServer) -> String {
    let paths =
        server.seen().into_iter().map(|seen| seen.path.split('?').next().unwrap_or_default().to_owned());
    paths.collect::<Vec<_>>().join(" ")
}

/// Runs the plugin as the chain does, twice if it asks for that; `between` is another plugin before the second run.
async fn run(case: Case, plugin: &dyn Plugin, between: Option<&str>) -> Outcome {
    let mut attributes = case.attributes();
    if let Err(status) = plugin.admit(&mut attributes).await {
        return Outcome::Rejected(status);
    }
    if attributes.reinvocation.begin_second_run() {
        if let Some(label) = between {
            let metadata = attributes.object_mut().unwrap().metadata_mut().unwrap();
            metadata.insert("labels", pintle_meta::Object::from_iter([(label, "x")]));
        }
        if let Err(status) = plugin.admit(&mut attributes).await {
            return Outcome::Rejected(status);
        }
    }
    Outcome::Admitted(attributes.into_object())
}

#[tokio::test]
async fn webhooks_are_asked_by_name_of_their_configuration_and_then_in_its_order() {
    let server = HttpsServer::start(labelled).await;
    let fixture = Fixture::new().await;
    let of = |path: &str| hook("same.io", &server, path);
    fixture.configure(RESOURCE, "b", &[of("/b2"), of("/b1")]).await;
    fixture.configure(RESOURCE, "a", &[of("/a")]).await;
    let outcome = run(fixture.pod(), &fixture.mutating(), None).await;
    assert_eq!(paths(&server), "/a /b2 /b1");
    assert_eq!(labels(outcome), "a=1,b1=1,b2=1");
    let last = server.seen()[2].json();
    assert_eq!(
        last["request"]["object"]["metadata"]["labels"],
        json!({"a": "1", "b2": "1"}),
        "sees the patches before it"
    );
}

#[tokio::test]
async fn a_webhook_is_asked_again_if_the_object_changes_after_it() {
    let server = HttpsServer::start(labelled).await;
    let fixture = Fixture::new().await;
    let again = |path: &str| with(hook("a.io", &server, path), json!({"reinvocationPolicy": "IfNeeded"}));
    let once = |path: &str| hook("b.io", &server, path);
    fixture.configure(RESOURCE, "c", &[again("/first"), once("/second"), again("/third")]).await;
    let outcome = run(fixture.pod(), &fixture.mutating(), None).await;
    // The third changed the object after the first, and nothing changed it after the third.
    assert_eq!(paths(&server), "/first /second /third /first");
    assert_eq!(labels(outcome), "first=1,second=1,third=1");

    // Another plugin that changes the object before the second run lets all of them be asked again.
    let outcome = run(fixture.pod(), &fixture.mutating(), Some("other")).await;
    assert_eq!(paths(&server), "/first /second /third /first /first /second /third /first /third");
    assert_eq!(labels(outcome), "first=1,other=x,third=1");
}

#[tokio::test]
async fn a_webhook_that_did_not_match_in_the_first_run_is_not_asked_in_the_second() {
    let server = HttpsServer::start(labelled).await;
    let fixture = Fixture::new().await;
    let again = json!({"reinvocationPolicy": "IfNeeded"});
    let selected =
        json!({"reinvocationPolicy": "IfNeeded", "objectSelector": {"matchLabels": {"second": "1"}}});
    let hooks =
        [with(hook("a.io", &server, "/selected"), selected), with(hook("b.io", &server, "/second"), again)];
    fixture.configure(RESOURCE, "c", &hooks).await;
    run(fixture.pod(), &fixture.mutating(), None).await;
    assert_eq!(paths(&server), "/second", "what it needs was patched in after it");
}

#[tokio::test]
async fn without_a_change_there_is_no_second_run() {
    let server = HttpsServer::start(|seen| {
        patch(seen, &json!([{"op": "replace", "path": "/metadata/name", "value": "p"}]))
    })
    .await;
    let fixture = Fixture::new().await;
    let again = json!({"reinvocationPolicy": "IfNeeded"});
    fixture
        .configure(
            RESOURCE,
            "c",
            &[with(hook("a.io", &server, "/"), again.clone()), with(hook("b.io", &server, "/"), again)],
        )
        .await;
    let case = fixture.pod();
    let notes = case.request.notes.clone();
    run(case, &fixture.mutating(), None).await;
    assert_eq!(server.seen().len(), 2);
    let annotations = notes.annotations(AuditLevel::Request);
    assert_eq!(
        annotations["mutation.webhook.admission.k8s.io/round_0_index_1"],
        r#"{"configuration":"c","webhook":"b.io","mutated":false}"#
    );
    assert_eq!(
        annotations["patch.webhook.admission.k8s.io/round_0_index_0"],
        r#"{"configuration":"c","webhook":"a.io","patch":[{"op":"replace","path":"/metadata/name","value":"p"}],"patchType":"JSONPatch"}"#
    );
    assert!(!notes.annotations(AuditLevel::Metadata).keys().any(|key| key.starts_with("patch.")));
}

#[tokio::test]
async fn the_patched_object_is_in_normal_form_and_unknown_fields_are_dropped() {
    let server = HttpsServer::start(|seen| {
        patch(
            seen,
            &json!([
                {"op": "add", "path": "/spec/containers/0/resources", "value": {"limits": {"cpu": "1000m"}}},
                {"op": "add", "path": "/spec/unheardOf", "value": 1},
                {"op": "add", "path": "/metadata/labels", "value": {}},
            ]),
        )
    })
    .await;
    let fixture = Fixture::new().await;
    fixture.configure(RESOURCE, "c", &[hook("a.io", &server, "/")]).await;
    let object = fixture.pod().run(&fixture.mutating()).await.normal("core/v1.Pod");
    assert_eq!(object.at(&["spec", "unheardOf"]), None);
    assert_eq!(object.at(&["metadata", "labels"]), None);
    let container = &object.items_at(&["spec", "containers"])[0];
    assert_eq!(container.text_at(&["resources", "limits", "cpu"]), "1");
}

#[tokio::test]
async fn patches_that_do_not_apply_are_errors_of_the_server() {
    let patches: Arc<Mutex<Value>> = Arc::default();
    let next = patches.clone();
    let server = HttpsServer::start(move |seen| patch(seen, &next.lock().unwrap())).await;
    let fixture = Fixture::new().await;
    let ignoring = with(hook("a.io", &server, "/"), json!({"failurePolicy": "Ignore"}));
    fixture.configure(RESOURCE, "c", &[ignoring]).await;
    let plugin = fixture.mutating();
    for (operations, expect) in [
        (
            json!([{"op": "replace", "path": "/spec/x/y", "value": 1}]),
            "Internal error occurred: replace operation does not apply: doc is missing path: /spec/x/y: missing value",
        ),
        (
            json!([{"op": "remove", "path": "/spec/x"}]),
            "Internal error occurred: error in remove for path: '/spec/x': Unable to remove nonexistent key: x: missing value",
        ),
        (json!([{"op": "frobnicate", "path": "/x"}]), "Internal error occurred: Unexpected kind: frobnicate"),
        (
            json!([{"op": "replace", "path": "/spec/containers", "value": "x"}]),
            "Internal error occurred: json: cannot unmarshal string into Go struct field PodSpec.spec.containers of type []v1.Container",
        ),
    ] {
        *patches.lock().unwrap() = operations.clone();
        let outcome = fixture.pod().run(&plugin).await;
        let Outcome::Rejected(status) = outcome else { panic!("{operations}: {outcome:?}") };
        assert_eq!((status.code, status.message.as_str()), (500, expect), "{operations}");
    }
    *patches.lock().unwrap() = json!([{"op": "add", "path": "/metadata/labels", "value": {}}]);
    let deletion = Case::new(Operation::Delete, "pods")
        .in_namespace("n")
        .named("p")
        .versions(&fixture.versions)
        .old_json(POD);
    assert_eq!(
        deletion.run(&plugin).await.message().unwrap(),
        "Internal error occurred: admission webhook \"a.io\" attempted to modify the object, which is not supported for this operation"
    );
    *patches.lock().unwrap() = json!([]);
    assert_eq!(fixture.rejection(&plugin).await, None, "an empty patch is none");
    let metrics = fixture.metrics();
    let rejected = r#"apiserver_admission_webhook_rejection_count{error_type="apiserver_internal_error",name="a.io",operation="CREATE",rejection_code="0",type="admit"} 4"#;
    assert!(metrics.contains(rejected), "{metrics}");
}
