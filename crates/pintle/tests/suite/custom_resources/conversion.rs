//! Versions that a webhook converts: a real one, over HTTPS.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pintle_outbound::testing::{HttpsServer, Reply, Seen};
use serde_json::{Value, json};

use super::{Session, definition, version};
use crate::support::{Launch, eventually};

pub(super) const V1: &str = "/apis/conversion.test/v1/boats";
pub(super) const V2: &str = "/apis/conversion.test/v2/boats";

/// `v1` says `spec.berth: "A7"`, `v2` says `spec.pier: "A"` and `spec.place: 7`.
fn converted(object: &Value, to: &str) -> Value {
    let mut object = object.clone();
    let spec = object["spec"].as_object().cloned().unwrap_or_default();
    let text = |name: &str| spec.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    object["spec"] = match to.rsplit('/').next() {
        Some("v2") => {
            let berth = text("berth");
            let (pier, place) = berth.split_at(berth.len().min(1));
            json!({"pier": pier, "place": place.parse::<i64>().unwrap_or_default()})
        }
        _ => json!({"berth": format!("{}{}", text("pier"), spec.get("place").cloned().unwrap_or(json!(0)))}),
    };
    object["apiVersion"] = to.into();
    object
}

pub(super) fn review(seen: &Seen) -> Reply {
    let review = seen.json();
    let request = &review["request"];
    let to = request["desiredAPIVersion"].as_str().expect("a version");
    let objects = request["objects"].as_array().expect("objects").iter();
    let objects: Vec<Value> = objects.map(|object| converted(object, to)).collect();
    Reply::json(&json!({
        "apiVersion": review["apiVersion"],
        "kind": "ConversionReview",
        "response": {"uid": request["uid"], "convertedObjects": objects, "result": {"status": "Success"}},
    }))
}

/// The definition of boats, which are converted there.
pub(super) fn boats(client_config: Value) -> Value {
    let schema = |spec: Value| json!({"type": "object", "properties": {"spec": {"type": "object", "properties": spec}}});
    let v1 = version("v1", &schema(json!({"berth": {"type": "string"}})));
    let place = json!({"pier": {"type": "string", "maxLength": 1}, "place": {"type": "integer"}});
    let v2 = version("v2", &schema(place));
    let mut boats = definition("conversion.test", "Boat", "Cluster", vec![v1, v2]);
    boats["spec"]["conversion"] = json!({"strategy": "Webhook", "webhook": {
        "conversionReviewVersions": ["v1"], "clientConfig": client_config,
    }});
    boats
}

/// A server with boats, and the webhook that converts them, which can be set to fail.
struct Harbour {
    server: crate::support::Server,
    webhook: HttpsServer,
    fails: Arc<AtomicBool>,
    session: Session,
}

impl Harbour {
    async fn open() -> Harbour {
        let fails = Arc::new(AtomicBool::new(false));
        let is_failing = fails.clone();
        let webhook = HttpsServer::start(move |seen: &Seen| {
            if is_failing.load(Ordering::SeqCst) { Reply::text(500, "out to lunch") } else { review(seen) }
        })
        .await;
        let server = Launch::new().start().await;
        let mut session = Session::to(&server).await;
        let (url, authority) = (webhook.url("/convert"), STANDARD.encode(&webhook.authority.pem));
        session.install(&boats(json!({"url": url, "caBundle": authority}))).await;
        Harbour { server, webhook, fails, session }
    }

    /// Number of objects that were sent to be converted so far.
    fn asked(&self) -> usize {
        let objects = |seen: &Seen| seen.json()["request"]["objects"].as_array().map_or(0, Vec::len);
        self.webhook.seen().iter().map(objects).sum()
    }
}

pub(super) fn boat(name: &str, berth: &str) -> Value {
    json!({"apiVersion": "conversion.test/v1", "kind": "Boat", "metadata": {"name": name}, "spec": {"berth": berth}})
}

fn spec(object: &Value) -> &Value {
    &object["spec"]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn objects_are_read_and_written_in_any_version() {
    let mut harbour = Harbour::open().await;
    let session = &mut harbour.session;
    let created = session.post(V1, &boat("anna", "A7")).await.gives(201);
    assert_eq!(spec(&created), &json!({"berth": "A7"}));
    let seen = session.get(&format!("{V2}/anna")).await.gives(200);
    assert_eq!(seen["apiVersion"], "conversion.test/v2");
    assert_eq!(spec(&seen), &json!({"pier": "A", "place": 7}));
    assert_eq!(seen["metadata"]["resourceVersion"], created["metadata"]["resourceVersion"]);

    let mut watch = session.watch(V2, "").await;
    let other = json!({"apiVersion": "conversion.test/v2", "kind": "Boat", "metadata": {"name": "bella"},
        "spec": {"pier": "B", "place": 3}});
    let created = session.post(V2, &other).await.gives(201);
    assert_eq!(spec(&created), &json!({"pier": "B", "place": 3}));
    assert_eq!(spec(&session.get(&format!("{V1}/bella")).await.gives(200)), &json!({"berth": "B3"}));
    let event = watch.line().await.expect("an event");
    assert_eq!((&event["type"], &event["object"]), (&"ADDED".into(), &created));

    let patched = session.merge(&format!("{V2}/anna"), &json!({"spec": {"place": 8}})).await.gives(200);
    assert_eq!(spec(&patched), &json!({"pier": "A", "place": 8}));
    let event = watch.line().await.expect("an event");
    assert_eq!((&event["type"], &event["object"]), (&"MODIFIED".into(), &patched));
    let listed = session.get(V1).await.gives(200);
    let berths: Vec<&Value> = listed["items"].as_array().expect("items").iter().map(spec).collect();
    assert_eq!(berths, [&json!({"berth": "A8"}), &json!({"berth": "B3"})]);

    // Objects are validated by the schema of the request's version.
    let refused = session.merge(&format!("{V2}/anna"), &json!({"spec": {"pier": "AA"}})).await;
    assert_eq!(refused.code, 422, "{refused:?}");
    session.delete(&format!("{V2}/anna")).await.gives(200);
    let event = watch.line().await.expect("an event");
    assert_eq!(
        (&event["type"], spec(&event["object"])),
        (&"DELETED".into(), &json!({"pier": "A", "place": 8}))
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn owners_of_fields_of_another_version_keep_them() {
    let mut harbour = Harbour::open().await;
    let session = &mut harbour.session;
    let first = session.apply(&format!("{V1}/anna"), "first", &boat("anna", "A7")).await;
    assert_eq!(first.code, 201, "{first:?}");
    let wish = json!({"apiVersion": "conversion.test/v2", "kind": "Boat", "metadata": {"name": "anna"},
        "spec": {"pier": "A", "place": 9}});
    let refused = session.apply(&format!("{V2}/anna"), "second", &wish).await;
    assert_eq!(refused.code, 409, "{refused:?}");
    let message = "Apply failed with 1 conflict: conflict with \"first\": .spec.berth";
    refused.is_status(409, "Conflict", message);
    let shared = json!({"apiVersion": "conversion.test/v2", "kind": "Boat", "metadata": {"name": "anna"},
        "spec": {"pier": "A", "place": 7}});
    session.apply(&format!("{V2}/anna"), "second", &shared).await.gives(200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_bytes_are_converted_once() {
    let mut harbour = Harbour::open().await;
    for number in 0..30 {
        harbour.session.post(V1, &boat(&format!("boat-{number}"), &format!("C{number}"))).await.gives(201);
    }
    assert_eq!(harbour.asked(), 0, "nobody wanted another version");
    for _ in 0..3 {
        let listed = harbour.session.get(V2).await.gives(200);
        assert_eq!(listed["items"].as_array().map(Vec::len), Some(30));
    }
    assert_eq!(harbour.asked(), 30);
    for number in 0..30 {
        harbour.session.get(&format!("{V2}/boat-{number}")).await.gives(200);
    }
    assert_eq!(harbour.asked(), 30);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_webhook_that_fails_fails_its_own_version_only() {
    let mut harbour = Harbour::open().await;
    harbour.session.post(V1, &boat("anna", "A7")).await.gives(201);
    harbour.session.get(V2).await.gives(200);
    let mut watch = harbour.session.watch(V2, "").await;
    harbour.fails.store(true, Ordering::SeqCst);
    // Requests for the stored version need no conversion.
    harbour.session.post(V1, &boat("bella", "B1")).await.gives(201);
    assert_eq!(harbour.session.get(V1).await.gives(200)["items"].as_array().map(Vec::len), Some(2));
    harbour.session.get("/api/v1/namespaces").await.gives(200);
    let failed = harbour.session.get(V2).await;
    assert_eq!(failed.code, 500, "{failed:?}");
    let message = failed.json()["message"].as_str().unwrap_or_default().to_owned();
    assert!(message.contains("conversion webhook for conversion.test/v1, Kind=Boat failed"), "{message}");
    let failed = harbour.session.get(&format!("{V2}/bella")).await;
    assert_eq!(failed.code, 500, "{failed:?}");
    harbour.fails.store(false, Ordering::SeqCst);
    eventually("the webhook's return", async || harbour.session.get(V2).await.code == 200).await;
    assert_eq!(harbour.session.get(V2).await.gives(200)["items"].as_array().map(Vec::len), Some(2));
    // The watch was told of everything, or has ended and is begun again.
    let told = watch.line().await;
    assert!(
        told.is_none_or(|event| event["object"]["metadata"]["name"] == "bella" || event["type"] == "ERROR")
    );
}

/// A read names the version that is stored, a write the one that was asked for: each is what the webhook was given.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failures_name_the_version_that_was_to_be_converted() {
    let mut harbour = Harbour::open().await;
    let session = &mut harbour.session;
    session.post(V1, &boat("anna", "A7")).await.gives(201);
    harbour.fails.store(true, Ordering::SeqCst);
    let v2 = |name: &str| {
        json!({"apiVersion": "conversion.test/v2", "kind": "Boat", "metadata": {"name": name},
            "spec": {"pier": "A", "place": 9}})
    };
    let one = format!("{V2}/anna");
    let reads = [
        session.get(V2).await,
        session.get(&one).await,
        session.put(&one, &v2("anna")).await,
        session.merge(&one, &json!({"spec": {"place": 9}})).await,
        session.apply(&one, "me", &v2("anna")).await,
        session.delete(&one).await,
    ];
    // Also where an object of that name is there already, and only a trial.
    let dry_run = format!("{V2}?dryRun=All");
    let writes = [
        session.post(V2, &v2("anna")).await,
        session.post(V2, &v2("bella")).await,
        session.post(&dry_run, &v2("anna")).await,
        session.post(&dry_run, &v2("bella")).await,
        session.apply(&format!("{V2}/bella"), "me", &v2("bella")).await,
    ];
    for (answers, version) in [(&reads[..], "v1"), (&writes[..], "v2")] {
        for answer in answers {
            let status = answer.gives(500);
            let start = format!("conversion webhook for conversion.test/{version}, Kind=Boat failed: ");
            assert!(status["message"].as_str().is_some_and(|text| text.starts_with(&start)), "{status}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_definition_goes_without_its_webhook() {
    let mut harbour = Harbour::open().await;
    harbour.session.post(V1, &boat("anna", "A7")).await.gives(201);
    let v2 = json!({"apiVersion": "conversion.test/v2", "kind": "Boat", "metadata": {"name": "bella"},
        "spec": {"pier": "B", "place": 3}});
    harbour.session.post(V2, &v2).await.gives(201);
    harbour.fails.store(true, Ordering::SeqCst);
    harbour.session.uninstall("boats.conversion.test").await;
    drop(harbour.server);
}
