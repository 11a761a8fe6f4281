//! A real webhook over HTTPS, a real store below.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use futures_util::StreamExt;
use pintle_cache::{Entry, Feed, Kind, Limits, Read, Resource};
use pintle_codec::json;
use pintle_meta::Value;
use pintle_outbound::services::{Address, Resolver};
use pintle_outbound::testing::{HttpsServer, Reply, Seen};
use pintle_runtime::{Clock, Random};
use pintle_storage::{Backend, Error, Event, Op, RangeRequest, Revision, Txn, WatchItem, WatchRequest};
use pintle_storage_embedded::{Options, Store};
use serde_json::{Value as Json, json};

use super::*;
use crate::encoding::{self, StoredAs};
use crate::metrics::Metrics;

fn untyped(json: &Json) -> Value {
    json::decode_untyped(json.to_string().as_bytes()).unwrap().value
}

fn text(value: &Value) -> Json {
    let mut out = Vec::new();
    json::encode(value, &mut out);
    serde_json::from_slice(&out).unwrap()
}

/// `size` of v1 is `width` of v2.
fn converted(object: &Json, to: &str) -> Json {
    let mut object = object.clone();
    let (from, into) = if to.ends_with("v2") { ("size", "width") } else { ("width", "size") };
    object["apiVersion"] = to.into();
    if let Some(spec) = object["spec"].as_object_mut()
        && let Some(size) = spec.remove(from)
    {
        spec.insert(into.into(), size);
    }
    object
}

/// Returns the ConversionReview with which a correct webhook answers.
fn review(seen: &Seen) -> Json {
    let review = seen.json();
    let to = review["request"]["desiredAPIVersion"].as_str().unwrap();
    let objects = review["request"]["objects"].as_array().unwrap();
    let objects: Vec<Json> = objects.iter().map(|object| converted(object, to)).collect();
    json!({
        "kind": "ConversionReview", "apiVersion": review["apiVersion"],
        "response": {
            "uid": review["request"]["uid"], "convertedObjects": objects, "result": {"status": "Success"},
        },
    })
}

/// Starts a webhook whose answers are correct except for `change`.
async fn server(change: impl Fn(&mut Json) + Send + Sync + 'static) -> HttpsServer {
    HttpsServer::start(move |seen| {
        let mut answer = review(seen);
        change(&mut answer);
        Reply::json(&answer)
    })
    .await
}

/// There are no services here.
struct Nowhere;

#[async_trait]
impl Resolver for Nowhere {
    async fn resolve(&self, _: &str, name: &str, _: u16) -> Result<Address, String> {
        Err(format!("service \"{name}\" not found"))
    }
}

fn environment() -> WebhookEnvironment {
    let metrics = Metrics::new(&pintle_metrics::Registry::default()).unwrap();
    WebhookEnvironment {
        services: Arc::new(Nowhere),
        egress: None,
        metrics,
        clock: Clock::system(),
        random: Random::system(),
    }
}

fn webhook(server: &HttpsServer, versions: &[&str]) -> Webhook {
    Webhook::new(
        &untyped(&json!({
            "kind": "CustomResourceDefinition", "apiVersion": "apiextensions.k8s.io/v1",
            "metadata": {"name": "widgets.example.com"},
            "spec": {"conversion": {"strategy": "Webhook", "webhook": {
                "conversionReviewVersions": versions,
                "clientConfig": {
                    "url": server.url("/convert"), "caBundle": STANDARD.encode(&server.authority.pem),
                },
            }}},
        })),
        &environment(),
    )
    .unwrap()
}

fn widget(version: &str, name: &str, size: u32) -> Json {
    let field = if version == "v1" { "size" } else { "width" };
    json!({
        "kind": "Widget", "apiVersion": format!("example.com/{version}"),
        "metadata": {"name": name, "namespace": "ns", "uid": format!("uid-{name}"), "generation": 3,
            "labels": {"a": "b"}},
        "spec": {field: size},
    })
}

const V1: &str = "example.com/v1";
const V2: &str = "example.com/v2";

#[tokio::test]
async fn a_webhook_is_asked_in_one_review_and_metadata_stays() {
    let server = server(|answer| {
        let metadata = &mut answer["response"]["convertedObjects"][0]["metadata"];
        metadata["generation"] = 99.into();
        metadata["finalizers"] = json!(["x/y"]);
        metadata["labels"] = json!({"c": "d"});
        metadata["annotations"] = json!({"e": "f"});
    })
    .await;
    let objects = vec![untyped(&widget("v1", "a", 1)), untyped(&widget("v1", "b", 2))];
    let found = webhook(&server, &["v9", "v1"]).convert(objects, V2).await.unwrap();
    let mut first = widget("v2", "a", 1);
    first["metadata"]["labels"] = json!({"c": "d"});
    first["metadata"]["annotations"] = json!({"e": "f"});
    assert_eq!(found.iter().map(text).collect::<Vec<_>>(), [first, widget("v2", "b", 2)]);
    let seen = server.seen();
    assert_eq!(seen.len(), 1);
    assert_eq!(seen[0].path, "/convert?timeout=30s");
    let mut asked = seen[0].json();
    assert_eq!(asked["request"]["uid"].take().as_str().map(str::len), Some(36));
    assert_eq!(
        asked,
        json!({
            "kind": "ConversionReview", "apiVersion": "apiextensions.k8s.io/v1",
            "request": {
                "uid": null, "desiredAPIVersion": V2, "objects": [widget("v1", "a", 1), widget("v1", "b", 2)],
            },
            "response": {"uid": "", "convertedObjects": null, "result": {"metadata": {}}},
        })
    );
}

#[tokio::test]
async fn older_reviews_say_less() {
    let server = server(|answer| {
        answer["response"]["uid"] = "other".into();
    })
    .await;
    let found = webhook(&server, &["v1beta1", "v1"]).convert(vec![untyped(&widget("v1", "a", 1))], V2).await;
    assert_eq!(text(&found.unwrap()[0]), widget("v2", "a", 1));
    assert_eq!(server.seen()[0].json()["apiVersion"], "apiextensions.k8s.io/v1beta1");
}

/// Returns the message with which an invalid answer of a webhook is rejected.
async fn refused(change: impl Fn(&mut Json) + Send + Sync + 'static) -> String {
    let server = server(change).await;
    let failure = webhook(&server, &["v1"]).convert(vec![untyped(&widget("v1", "a", 1))], V2).await;
    let failure = failure.unwrap_err();
    assert!(failure.refused);
    let uid = server.seen()[0].json()["request"]["uid"].as_str().unwrap().to_owned();
    failure.message.replace(&uid, "UID")
}

#[tokio::test]
async fn answers_are_checked() {
    const FOR: &str = "conversion webhook for example.com/v1, Kind=Widget";
    let first = |change: fn(&mut Json)| {
        move |answer: &mut Json| change(&mut answer["response"]["convertedObjects"][0])
    };
    for (message, found) in [
        (
            "failed: expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got \
             apiextensions.k8s.io/v1beta1, Kind=ConversionReview",
            refused(|answer| answer["apiVersion"] = "apiextensions.k8s.io/v1beta1".into()).await,
        ),
        ("failed: no response provided", refused(|answer| answer["response"] = Json::Null).await),
        (
            r#"failed: expected response.uid="UID", got "x""#,
            refused(|answer| answer["response"]["uid"] = "x".into()).await,
        ),
        (
            "failed: it does not fit",
            refused(|answer| {
                answer["response"]["result"] = json!({"status": "Failure", "message": "it does not fit"});
            })
            .await,
        ),
        (
            "failed: response.result.status was '', not 'Success'",
            refused(|answer| answer["response"]["result"] = json!({})).await,
        ),
        (
            "returned 0 objects, expected 1",
            refused(|answer| answer["response"]["convertedObjects"] = json!([])).await,
        ),
        (
            "returned invalid object at index 0: invalid groupVersion (expected example.com/v2, received \
             example.com/v1)",
            refused(first(|object| object["apiVersion"] = V1.into())).await,
        ),
        (
            "returned invalid object at index 0: invalid kind (expected Widget, received Gadget)",
            refused(first(|object| object["kind"] = "Gadget".into())).await,
        ),
        (
            "returned invalid object: must have the same name: a != b",
            refused(first(|object| object["metadata"]["name"] = "b".into())).await,
        ),
        (
            "returned invalid object: must have the same namespace: ns != ",
            refused(first(|object| object["metadata"]["namespace"] = Json::Null)).await,
        ),
        (
            "returned invalid object: must have the same UID: uid-a != x",
            refused(first(|object| object["metadata"]["uid"] = "x".into())).await,
        ),
        (
            "returned invalid metadata: invalid metadata.labels of type []interface {} in converted object",
            refused(first(|object| object["metadata"]["labels"] = json!([]))).await,
        ),
        (
            "returned invalid metadata: metadata.annotations[x] must be a string, but is int64 in converted object",
            refused(first(|object| object["metadata"]["annotations"] = json!({"x": 1}))).await,
        ),
    ] {
        assert_eq!(found, format!("{FOR} {message}"));
    }
    let found = refused(first(|object| object["metadata"]["labels"] = json!({"bad key": "v"}))).await;
    let prefix = format!("{FOR} returned invalid metadata: metadata.labels: Invalid value: \"bad key\"");
    assert!(found.starts_with(&prefix), "{found}");
}

#[tokio::test]
async fn an_unreachable_webhook_is_reported_as_in_the_reference() {
    let server = HttpsServer::start(|_| Reply::text(500, "broken")).await;
    let hook = webhook(&server, &["v1"]);
    let failure = hook.convert(vec![untyped(&widget("v1", "a", 1))], V2).await.unwrap_err();
    let start = "conversion webhook for example.com/v1, Kind=Widget failed: ";
    assert!(failure.message.starts_with(start) && !failure.refused, "{failure}");
    let url = server.url("/convert?timeout=30s");
    drop(server);
    tokio::time::sleep(Duration::from_millis(50)).await;
    let failure = hook.convert(vec![untyped(&widget("v1", "a", 1))], V2).await.unwrap_err();
    assert!(failure.message.starts_with(&format!("{start}Post \"{url}\": ")), "{failure}");
    let unknown =
        Webhook::new(&untyped(&json!({"kind": "D", "metadata": {"name": "w"}, "spec": {}})), &environment());
    assert_eq!(
        unknown.err().unwrap(),
        r#"failed calling webhook "conversion_webhook_for_w": webhook configuration must have either service or URL"#
    );
}

#[tokio::test]
async fn without_a_webhook_only_the_version_changes() {
    let found = NoConversion.convert(vec![untyped(&widget("v1", "a", 1))], V2).await.unwrap();
    let mut expected = widget("v1", "a", 1);
    expected["apiVersion"] = V2.into();
    assert_eq!(text(&found[0]), expected);
}

/// A definition that leaves its objects as they are, but marks what was converted.
struct Plain;

impl ObjectSchemas for Plain {
    fn read(&self, stored: &[u8]) -> Result<Value, String> {
        encoding::decode(stored)
    }

    fn coerce_converted(&self, mut converted: Value) -> Result<Value, String> {
        converted.as_object_mut().unwrap().insert("coerced", true);
        Ok(converted)
    }
}

struct Fixture {
    below: Arc<dyn Backend>,
    /// Serves v1; v2 is what is stored.
    above: ConvertingBackend,
    server: HttpsServer,
    broken: Arc<AtomicBool>,
}

async fn fixture() -> Fixture {
    fixture_stored_as(StoredAs::Json).await
}

/// The webhook refuses objects of the name `poison`, and everything while it is broken.
async fn fixture_stored_as(stored_as: StoredAs) -> Fixture {
    let broken = Arc::new(AtomicBool::new(false));
    let is_broken = broken.clone();
    let server = HttpsServer::start(move |seen| {
        if is_broken.load(Ordering::SeqCst) {
            return Reply::text(503, "down");
        }
        let mut answer = review(seen);
        if seen.json().to_string().contains("\"poison\"") {
            answer["response"]["result"] = json!({"status": "Failure", "message": "poison"});
        }
        Reply::json(&answer)
    })
    .await;
    let below: Arc<dyn Backend> = Arc::new(Store::open(Options::memory()).unwrap());
    let above = ConvertingBackend::new(ConvertingBackendConfig {
        store: below.clone(),
        converter: Arc::new(webhook(&server, &["v1"])),
        schemas: Arc::new(Plain),
        served: V1.into(),
        storage: V2.into(),
        stored_as,
        remember: 1 << 20,
    });
    Fixture { below, above, server, broken }
}

fn key(name: &str) -> Bytes {
    Bytes::from(format!("/r/{name}"))
}

impl Fixture {
    async fn store(&self, name: &str, object: &Json) -> Revision {
        let value = Bytes::from(format!("{object}\n"));
        self.below.txn(Txn::put(key(name), value)).await.unwrap().revision
    }

    fn reviews(&self) -> Vec<usize> {
        let count = |seen: &Seen| seen.json()["request"]["objects"].as_array().unwrap().len();
        self.server.seen().iter().map(count).collect()
    }

    async fn watch(&self, from: Revision) -> pintle_storage::WatchStream {
        let request = WatchRequest { prefix: Bytes::from("/r/"), from, prev: true, progress: false };
        self.above.watch(request).await.unwrap()
    }
}

fn coerced(mut object: Json) -> Json {
    object["coerced"] = true.into();
    object
}

fn parsed(value: &[u8]) -> Json {
    serde_json::from_slice(value).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn values_are_converted_on_their_way_up_once_and_together() {
    let fixture = fixture().await;
    for name in ["a", "b", "c"] {
        fixture.store(name, &widget("v2", name, 1)).await;
    }
    fixture.store("d", &widget("v1", "d", 1)).await;
    let range =
        || fixture.above.range(RangeRequest { prefix: Bytes::from("/r/"), ..RangeRequest::default() });
    let found = range().await.unwrap();
    let values: Vec<Json> = found.kvs.iter().map(|kv| parsed(&kv.value)).collect();
    let expected = ["a", "b", "c"].map(|name| coerced(widget("v1", name, 1)));
    assert_eq!(values[..3], expected);
    assert_eq!(values[3], widget("v1", "d", 1));
    assert_eq!(fixture.reviews(), [3]);
    // A value stored in another version than the current one is stale, so that writing the same object is a change.
    assert_eq!(found.kvs.iter().map(|kv| kv.stale).collect::<Vec<_>>(), [false, false, false, true]);
    assert_eq!(range().await.unwrap(), found);
    let (one, _) = fixture.above.get(b"/r/a", None).await.unwrap();
    assert_eq!(one.as_ref(), Some(&found.kvs[0]));
    assert_eq!(fixture.reviews(), [3], "what was converted is remembered");
    fixture.store("a", &widget("v2", "a", 2)).await;
    let (one, _) = fixture.above.get(b"/r/a", None).await.unwrap();
    assert_eq!(parsed(&one.unwrap().value), coerced(widget("v1", "a", 2)));
    assert_eq!(fixture.reviews(), [3, 1]);
    assert_eq!(fixture.above.get(b"/r/x", None).await.unwrap().0, None);
    assert_eq!(fixture.above.count(b"/r/").await.unwrap(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn long_lists_take_several_reviews() {
    let fixture = fixture().await;
    for at in 0..600 {
        let name = format!("{at:03}");
        fixture.store(&name, &widget("v2", &name, at)).await;
    }
    let request = RangeRequest { prefix: Bytes::from("/r/"), ..RangeRequest::default() };
    let found = fixture.above.range(request).await.unwrap();
    for (at, kv) in found.kvs.iter().enumerate() {
        assert_eq!(parsed(&kv.value)["spec"]["size"], at);
    }
    let mut reviews = fixture.reviews();
    reviews.sort_unstable();
    assert_eq!(reviews, [100, 250, 250]);
}

#[tokio::test(flavor = "multi_thread")]
async fn writes_are_converted_to_the_storage_version() {
    let fixture = fixture().await;
    let value = |size| Bytes::from(format!("{}\n", widget("v1", "a", size)));
    let done = fixture.above.txn(Txn::create(key("a"), value(1), None)).await.unwrap();
    assert!(done.succeeded);
    // The transaction returns the value as it will be read; reading it calls no webhook.
    assert_eq!(parsed(&done.written[0]), coerced(coerced(widget("v1", "a", 1))));
    assert_eq!(fixture.reviews(), [1, 1]);
    let (read, _) = fixture.above.get(b"/r/a", None).await.unwrap();
    assert_eq!(read.unwrap().value, done.written[0]);
    assert_eq!(fixture.reviews(), [1, 1]);
    let (stored, _) = fixture.below.get(b"/r/a", None).await.unwrap();
    assert_eq!(parsed(&stored.unwrap().value), coerced(widget("v2", "a", 1)));
    // A failed transaction returns the existing value in the served version.
    let failed = fixture.above.txn(Txn::create(key("a"), value(2), None)).await.unwrap();
    assert!(!failed.succeeded);
    let there = failed.read[0].as_ref().unwrap();
    assert_eq!(parsed(&there.value), coerced(coerced(widget("v1", "a", 1))));
    // A rehearsed value is converted in the same way, and is not written.
    let tried = fixture.above.rehearse(value(5)).await.unwrap();
    assert_eq!(parsed(&tried), coerced(coerced(widget("v1", "a", 5))));
    assert!(fixture.above.rehearse(Bytes::from(widget("v1", "poison", 1).to_string())).await.is_err());
    // A transaction with a value that cannot be converted writes nothing.
    let poison = Bytes::from(widget("v1", "poison", 1).to_string());
    let ops = vec![
        Op::Put { key: key("b"), value: value(3), lease: None },
        Op::Put { key: key("poison"), value: poison, lease: None },
        Op::Delete { key: key("a") },
    ];
    let refused = fixture.above.txn(Txn { then: ops, ..Txn::default() }).await.unwrap_err();
    let message = "conversion webhook for example.com/v1, Kind=Widget failed: poison";
    assert_eq!(refused, Error::Unreadable(message.into()));
    assert_eq!(fixture.below.count(b"/r/").await.unwrap(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn values_in_another_encoding_are_outdated() {
    let other = |stored_as| if stored_as == StoredAs::Json { StoredAs::Cbor } else { StoredAs::Json };
    for stored_as in [StoredAs::Json, StoredAs::Cbor] {
        let fixture = fixture_stored_as(stored_as).await;
        let stored = other(stored_as).encode(&untyped(&widget("v2", "a", 1)));
        fixture.below.txn(Txn::put(key("a"), stored.into())).await.unwrap();
        let get = async || {
            let kv = fixture.above.get(b"/r/a", None).await.unwrap().0.unwrap();
            (kv.value, kv.stale)
        };
        let (value, is_stale) = get().await;
        let object = encoding::decode(&value).unwrap();
        assert_eq!(text(&object), coerced(widget("v1", "a", 1)));
        // An update with the same object stores it again.
        let same = stored_as.encode(&object);
        assert_eq!((StoredAs::detect(&value), value == same, is_stale), (stored_as, true, true));
        fixture.above.txn(Txn::put(key("a"), same.clone().into())).await.unwrap();
        let (stored, _) = fixture.below.get(b"/r/a", None).await.unwrap();
        let stored = stored.unwrap().value;
        assert_eq!(stored, stored_as.encode(&untyped(&coerced(widget("v2", "a", 1)))));
        // Now it is stored so, and the same is the same.
        assert_eq!(get().await, (same.into(), false));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_value_that_cannot_be_converted_fails_only_who_wants_it() {
    let fixture = fixture().await;
    fixture.store("a", &widget("v2", "a", 1)).await;
    fixture.store("poison", &widget("v2", "poison", 1)).await;
    let request = || RangeRequest { prefix: Bytes::from("/r/"), ..RangeRequest::default() };
    let message = "conversion webhook for example.com/v2, Kind=Widget failed: poison";
    assert_eq!(fixture.above.range(request()).await.unwrap_err(), Error::Unreadable(message.into()));
    assert!(fixture.above.get(b"/r/poison", None).await.is_err());
    assert!(fixture.above.get(b"/r/a", None).await.is_ok());
    fixture.broken.store(true, Ordering::SeqCst);
    fixture.store("b", &widget("v2", "b", 1)).await;
    assert!(matches!(fixture.above.get(b"/r/b", None).await, Err(Error::Unreadable(_))));
    assert!(fixture.above.get(b"/r/a", None).await.is_ok(), "it is remembered");
    fixture.broken.store(false, Ordering::SeqCst);
    assert!(fixture.above.get(b"/r/b", None).await.is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn watches_convert_in_order_with_what_was_before() {
    let fixture = fixture().await;
    let from = fixture.below.current_revision().await.unwrap().next();
    for size in 0..40 {
        fixture.store("a", &widget("v2", "a", size)).await;
    }
    fixture.below.txn(Txn { then: vec![Op::Delete { key: key("a") }], ..Txn::default() }).await.unwrap();
    let mut watch = fixture.watch(from).await;
    for size in 0..40 {
        let WatchItem::Changes { revision, events } = watch.next().await.unwrap().unwrap() else {
            panic!("no change")
        };
        assert_eq!(revision.0, from.0 + u64::from(size));
        let [Event::Put { kv, prev }] = &events[..] else { panic!("no put") };
        assert_eq!(parsed(&kv.value), coerced(widget("v1", "a", size)));
        let before = prev.as_ref().map(|prev| parsed(&prev.value));
        assert_eq!(before, size.checked_sub(1).map(|size| coerced(widget("v1", "a", size))));
    }
    let WatchItem::Changes { events, .. } = watch.next().await.unwrap().unwrap() else { panic!("no change") };
    let [Event::Delete { prev, .. }] = &events[..] else { panic!("no deletion") };
    assert_eq!(parsed(&prev.as_ref().unwrap().value), coerced(widget("v1", "a", 39)));
    assert!(fixture.reviews().len() <= 41, "nothing is converted twice: {:?}", fixture.reviews());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_ends_at_the_change_that_cannot_be_converted() {
    let fixture = fixture().await;
    let from = fixture.below.current_revision().await.unwrap().next();
    fixture.store("a", &widget("v2", "a", 1)).await;
    fixture.store("b", &widget("v2", "b", 1)).await;
    fixture.store("poison", &widget("v2", "poison", 1)).await;
    fixture.store("c", &widget("v2", "c", 1)).await;
    let mut watch = fixture.watch(from).await;
    for name in ["a", "b"] {
        let WatchItem::Changes { events, .. } = watch.next().await.unwrap().unwrap() else {
            panic!("no change")
        };
        assert_eq!(events[0].key(), &key(name));
    }
    assert!(matches!(watch.next().await, Some(Err(Error::Unreadable(_)))));
    assert!(watch.next().await.is_none());
    // A watch from the next revision continues.
    let mut watch = fixture.watch(Revision(from.0 + 3)).await;
    let item = watch.next().await.unwrap().unwrap();
    assert!(matches!(item, WatchItem::Changes { events, .. } if *events[0].key() == key("c")));
}

/// Values as they are.
struct Whole;

impl Kind for Whole {
    fn read(&self, _: &str, stored: &Bytes) -> Result<Read, String> {
        Ok(Read { value: stored.clone(), ..Read::default() })
    }

    fn encode(&self, entry: &Entry, _: pintle_cache::BodyFormat) -> Result<Bytes, String> {
        Ok(entry.stored().clone())
    }
}

async fn sizes(cache: &Resource) -> Result<Vec<u64>, String> {
    let found = cache.snapshot_now(Duration::from_secs(5)).await.map_err(|error| error.to_string())?;
    let size = |entry: &Arc<Entry>| parsed(entry.stored())["spec"]["size"].as_u64().unwrap();
    Ok(found.objects.iter_from("").map(size).collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cache_tells_what_is_wrong_and_goes_on_when_it_is_not_any_more() {
    let fixture = fixture().await;
    fixture.store("a", &widget("v2", "a", 1)).await;
    let Fixture { below, above, server: _server, .. } = fixture;
    let feed = Feed::start(Arc::new(above), Bytes::from("/r/"), Limits::default()).await.unwrap();
    let cache = feed.resource(Bytes::from("/r/"), || Arc::new(Whole));
    assert_eq!(sizes(&cache).await, Ok(vec![1]));
    let write = |name: &str, object: Json| below.txn(Txn::put(key(name), Bytes::from(object.to_string())));
    write("b", widget("v2", "poison", 2)).await.unwrap();
    let poisoned = "conversion webhook for example.com/v2, Kind=Widget failed: poison";
    let wrong = async {
        while sizes(&cache).await != Err(poisoned.into()) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), wrong).await.unwrap();
    write("b", widget("v2", "b", 2)).await.unwrap();
    write("c", widget("v2", "c", 3)).await.unwrap();
    let right = async {
        while sizes(&cache).await != Ok(vec![1, 2, 3]) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), right).await.unwrap();
    write("a", widget("v2", "a", 9)).await.unwrap();
    assert_eq!(sizes(&cache).await, Ok(vec![9, 2, 3]));
}
