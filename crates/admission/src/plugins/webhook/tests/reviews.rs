//! The content of reviews, and the webhooks that get them.

use std::collections::BTreeMap;

use pintle_auth::User;
use pintle_meta::Object;

use super::*;
use crate::attributes::Operation;
use crate::testing::{Outcome, update};

const RESOURCE: Resource = Resource::ValidatingWebhookConfiguration;

#[tokio::test]
async fn a_review_says_what_is_about_to_happen() {
    let server = HttpsServer::start(allow).await;
    let fixture = Fixture::new().await;
    fixture.configure(RESOURCE, "c", &[hook("a.io", &server, "/review?x=y")]).await;
    let extra = BTreeMap::from([("scopes".to_owned(), vec!["a".to_owned(), "b".to_owned()])]);
    let user = User { name: "ann".into(), uid: "7".into(), groups: vec!["g".into()], extra };
    let mut case = fixture.pod().by(user);
    case.request.options = Some(Object::from_iter([("fieldManager", "m")]));
    assert!(matches!(case.run(&fixture.validating()).await, Outcome::Admitted(_)));
    let seen = server.seen().remove(0);
    assert_eq!((seen.method.as_str(), seen.path.as_str()), ("POST", "/review?timeout=10s"));
    assert_eq!(seen.header("content-type"), "application/json");
    assert_eq!(seen.header("user-agent"), "kube-apiserver-admission");
    let mut review = seen.json();
    let uid = review["request"]["uid"].take();
    assert_eq!(uid.as_str().map(str::len), Some(36), "{uid}");
    let (kind, resource) = (
        json!({"group": "", "version": "v1", "kind": "Pod"}),
        json!({"group": "", "version": "v1", "resource": "pods"}),
    );
    let pod: Value = serde_json::from_str(POD).unwrap();
    assert_eq!(
        review,
        json!({
            "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
            "request": {
                "uid": null, "kind": kind, "resource": resource, "requestKind": kind, "requestResource": resource,
                "name": "p", "namespace": "n", "operation": "CREATE", "dryRun": false,
                "userInfo": {"username": "ann", "uid": "7", "groups": ["g"], "extra": {"scopes": ["a", "b"]}},
                "object": {
                    "apiVersion": "v1", "kind": "Pod", "metadata": pod["metadata"],
                    "spec": {"containers": [{"name": "c", "image": "i", "resources": {}}]}, "status": {},
                },
                "oldObject": null,
                "options": {"apiVersion": "meta.k8s.io/v1", "kind": "CreateOptions", "fieldManager": "m"},
            },
        })
    );
    let text = String::from_utf8_lossy(&seen.body).into_owned();
    assert!(
        text.starts_with(
            r#"{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":""#
        )
    );
    assert!(text.contains(r#","object":{"kind":"Pod","apiVersion":"v1","metadata":"#), "{text}");
}

#[tokio::test]
async fn updates_deletions_and_connections_have_their_own_objects() {
    let server = HttpsServer::start(allow).await;
    let fixture = Fixture::new().await;
    fixture
        .configure(
            RESOURCE,
            "c",
            &[with(hook("a.io", &server, "/"), json!({"admissionReviewVersions": ["v2", "v1beta1"]}))],
        )
        .await;
    let plugin = fixture.validating();
    let stored = POD.replace("\"i\"", "\"old\"");
    let cases = [
        update("pods/status").json(POD).old_json(&stored),
        Case::new(Operation::Delete, "pods").old_json(&stored),
        Case::new(Operation::Connect, "pods/exec")
            .object(crate::testing::decoded("core/v1.PodExecOptions", r#"{"command":["sh"]}"#)),
    ];
    for case in cases {
        let mut case = case.in_namespace("n").named("p").versions(&fixture.versions);
        case.request.dry_run = true;
        case.request.options = Some(Object::new());
        assert!(case.run(&plugin).await.is_handled());
    }
    let image = |object: &Value| object["spec"]["containers"][0]["image"].clone();
    let requests: Vec<Value> = server.seen().iter().map(|seen| seen.json()).collect();
    assert!(requests.iter().all(|review| review["apiVersion"] == "admission.k8s.io/v1beta1"));
    let [update, delete, connect] = [0, 1, 2].map(|at| requests[at]["request"].clone());
    assert_eq!(
        json!([update["operation"], update["subResource"], update["requestSubResource"]]),
        json!(["UPDATE", "status", "status"])
    );
    assert_eq!(json!([image(&update["object"]), image(&update["oldObject"])]), json!(["i", "old"]));
    assert_eq!(json!([update["dryRun"], update["options"]["kind"]]), json!([true, "UpdateOptions"]));
    assert_eq!(
        json!([delete["operation"], delete["object"], image(&delete["oldObject"])]),
        json!(["DELETE", null, "old"])
    );
    assert_eq!(delete["options"]["kind"], "DeleteOptions");
    assert_eq!(
        json!([connect["operation"], connect["oldObject"], connect["options"]]),
        json!(["CONNECT", null, null])
    );
    assert_eq!(connect["object"]["command"], json!(["sh"]));
}

#[tokio::test]
async fn webhooks_see_the_version_that_they_know_and_objects_are_encoded_once() {
    let server = HttpsServer::start(allow).await;
    let fixture = Fixture::new().await;
    let versions = TestVersions::new("Event", &["/v1/events", "events.k8s.io/v1/events"]);
    let rules = |group: &str| json!([{"apiGroups": [group], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["events"]}]);
    let of = |name: &str, group: &str| with(hook(name, &server, "/"), json!({"rules": rules(group)}));
    let exact = with(of("exact.io", "events.k8s.io"), json!({"matchPolicy": "Exact"}));
    fixture.configure(RESOURCE, "c", &[of("a.io", ""), of("b.io", "events.k8s.io"), exact]).await;
    let event = create("events").in_namespace("n").versions(&versions).json(r#"{"metadata":{"name":"e"}}"#);
    assert!(event.run(&fixture.validating()).await.is_handled());
    let mut seen: Vec<Value> = server.seen().iter().map(|seen| seen.json()["request"].clone()).collect();
    seen.sort_by_key(|request| request["kind"]["group"].to_string());
    assert_eq!(seen.len(), 2, "not the one that wants an exact match");
    assert_eq!(seen[1]["kind"], json!({"group": "events.k8s.io", "version": "v1", "kind": "Event"}));
    assert_eq!(seen[1]["resource"]["group"], "events.k8s.io");
    assert_eq!(seen[1]["object"]["apiVersion"], "events.k8s.io/v1");
    assert_eq!(seen[1]["requestResource"]["group"], "");
    assert_eq!(seen[0]["object"]["apiVersion"], "v1");
}

#[tokio::test]
async fn a_changed_configuration_counts_for_the_next_request_and_keeps_its_client() {
    let server = HttpsServer::start(allow).await;
    let fixture = Fixture::new().await;
    let plugin = fixture.validating();
    assert!(!fixture.pod().run(&plugin).await.is_handled() || server.seen().is_empty());
    fixture.configure(RESOURCE, "c", &[hook("a.io", &server, "/")]).await;
    assert_eq!(fixture.rejection(&plugin).await, None);
    assert_eq!(server.seen().len(), 1);
    // Another configuration, and a change of this one that is not about the client.
    fixture.configure(RESOURCE, "other", &[]).await;
    fixture.configure(RESOURCE, "c", &[with(hook("b.io", &server, "/"), json!({"timeoutSeconds": 3}))]).await;
    for _ in 0..5 {
        assert_eq!(fixture.rejection(&plugin).await, None);
    }
    assert_eq!((server.seen().len(), server.connections()), (6, 1), "one connection");
    assert_eq!(server.seen()[5].path, "/?timeout=3s");
    fixture.configure(RESOURCE, "c", &[]).await;
    assert!(!fixture.pod().run(&plugin).await.is_handled(), "nothing is left to ask");
}

#[tokio::test]
async fn webhooks_do_not_see_objects_that_configure_admission() {
    let server = HttpsServer::start(|_| Reply::text(500, "no")).await;
    let fixture = Fixture::new().await;
    let rules =
        json!([{"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*/*"]}]);
    for resource in [RESOURCE, Resource::MutatingWebhookConfiguration] {
        fixture.configure(resource, "c", &[with(hook("a.io", &server, "/"), json!({"rules": rules}))]).await;
    }
    let plugins: [&dyn Plugin; 2] = [&fixture.mutating(), &fixture.validating()];
    for plugin in plugins {
        for resource in [
            "validatingwebhookconfigurations",
            "mutatingwebhookconfigurations",
            "validatingadmissionpolicies",
            "validatingadmissionpolicybindings",
            "mutatingadmissionpolicies",
            "mutatingadmissionpolicybindings",
        ] {
            let case = create(&format!("{resource}.admissionregistration.k8s.io"));
            assert!(!case.run(plugin).await.is_handled(), "{resource}");
        }
        assert!(fixture.rejection(plugin).await.is_some(), "other objects are seen");
    }
}

#[tokio::test]
async fn a_version_that_is_served_from_now_on_is_matched_from_now_on() {
    let server = HttpsServer::start(allow).await;
    let fixture = Fixture::new().await;
    let rules =
        json!([{"apiGroups": ["a.io"], "apiVersions": ["v2"], "operations": ["*"], "resources": ["ks"]}]);
    fixture.configure(RESOURCE, "c", &[with(hook("a.io", &server, "/"), json!({"rules": rules}))]).await;
    let plugin = fixture.validating();
    let one = TestVersions::new("K", &["a.io/v1/ks"]);
    let two = TestVersions::new("K", &["a.io/v1/ks", "a.io/v2/ks"]);
    for (versions, expect) in [(&one, 0), (&two, 1), (&one, 1), (&two, 2)] {
        let case =
            create("ks.a.io").in_namespace("n").versions(versions).json(r#"{"metadata":{"name":"k"}}"#);
        let _ = case.run(&plugin).await;
        assert_eq!(server.seen().len(), expect);
    }
}

/// The cost of a request that no webhook matches, and the correctness of what makes it small.
#[tokio::test]
async fn a_thousand_rules_cost_a_lookup() {
    let server = HttpsServer::start(allow).await;
    let fixture = Fixture::new().await;
    let rule = |at: usize| json!({"apiGroups": [format!("g{at}")], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["things", "*/*"]});
    for configuration in 0..100 {
        let rules: Vec<Value> = (0..10).map(|at| rule(configuration * 10 + at)).collect();
        let hook = with(hook("a.io", &server, "/"), json!({"rules": rules}));
        fixture.configure(RESOURCE, &format!("c{configuration:03}"), &[hook]).await;
    }
    let plugin = fixture.validating();
    let pods = crate::testing::target("pods");
    let thing = create("things.g42").in_namespace("n");
    let attributes = thing.attributes();
    assert!(plugin.validates(Operation::Create, attributes.target()), "not loaded yet");
    let candidates = plugin.0.candidates(&attributes).await.unwrap();
    assert_eq!(candidates.len(), 1, "only the webhook of its group");
    assert!(!plugin.validates(Operation::Create, &pods));
    let rounds = 100_000;
    let watch = pintle_runtime::Stopwatch::start();
    let found =
        (0..rounds).filter(|_| plugin.validates(Operation::Create, std::hint::black_box(&pods))).count();
    let each = watch.elapsed() / rounds;
    assert_eq!(found, 0);
    // Ten times the budget, since tests run unoptimized and beside others.
    assert!(each < std::time::Duration::from_micros(10), "{each:?}");
}
