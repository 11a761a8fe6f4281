//! The flows of a generic store on a real one, with a small strategy.

use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use async_trait::async_trait;
use bytes::Bytes;
use pintle_cache::{Feed, Limits};
use pintle_meta::field_path::{Error, Path};
use pintle_meta::{Reason, Status, Value};
use pintle_registry::testing::{Put, Untyped, object as thing};
use pintle_registry::{
    Admission, AdmitAll, Context, DeleteOptions, Deleted, Preconditions, Propagation, Result, StagedDeletion,
    Store, StoreConfig, StoreOptions, Strategy, Transform, WriteOptions,
};
use pintle_runtime::{ManualClock, Random};
use pintle_storage_embedded::Options;

#[path = "flow/collections.rs"]
mod collections;
#[path = "flow/ends.rs"]
mod ends;
#[path = "flow/guards.rs"]
mod guards;
#[path = "flow/mirrors.rs"]
mod mirrors;
#[path = "flow/reserves.rs"]
mod reserves;

#[derive(Default)]
struct Things {
    unconditional: bool,
    create_on_update: bool,
    graceful: bool,
    staged: bool,
    decorates: bool,
}

impl Strategy for Things {
    fn staged_deletion(&self) -> Option<StagedDeletion> {
        let begin = |object: &mut Value| {
            let phase = [("phase", Value::literal("Ending"))].into_iter().collect();
            object.as_object_mut().unwrap().insert("status", Value::object(phase));
        };
        let is_held = |object: &Value| object.at(&["spec", "held"]).is_some();
        self.staged.then_some(StagedDeletion { begin, is_held, first_decides: true })
    }

    fn should_delete_during_update(&self, new: &Value, _: &Value) -> bool {
        new.at(&["spec", "held"]).is_none()
    }

    fn validate(&self, _: &Context, object: &Value) -> Vec<Error> {
        let size = object.at(&["spec", "size"]).and_then(Value::as_i64).unwrap_or_default();
        let path = Path::new("spec");
        if size < 0 {
            vec![Error::invalid(&path.child("size"), size, "must not be negative")]
        } else {
            Vec::new()
        }
    }

    fn prepare_for_update(&self, _: &Context, new: &mut Value, old: &Value) {
        if new.get("spec") != old.get("spec") {
            let generation = old.generation() + 1;
            new.metadata_mut().unwrap().insert("generation", generation);
        }
    }

    fn decorated(&self, object: &Value) -> Option<Value> {
        let mut shown = self.decorates.then(|| object.clone())?;
        shown.get_mut("spec")?.as_object_mut()?.insert("shown", true);
        Some(shown)
    }

    fn allows_unconditional_update(&self) -> bool {
        self.unconditional
    }

    fn allows_create_on_update(&self) -> bool {
        self.create_on_update
    }

    fn deletes_gracefully(&self) -> bool {
        self.graceful
    }

    fn check_graceful_delete(&self, _: &Value, options: &mut DeleteOptions) -> bool {
        options.grace_period_seconds.get_or_insert(30);
        true
    }
}

struct Fixture {
    things: Store,
    _feed: Feed,
}

async fn fixture(strategy: Things) -> Fixture {
    fixture_on(Options::memory(), strategy).await
}

async fn fixture_on(options: Options, strategy: Things) -> Fixture {
    fixture_with(options, strategy, Limits::default()).await
}

/// With a cache that keeps so much of the past.
async fn fixture_with(options: Options, strategy: Things, limits: Limits) -> Fixture {
    let store = Arc::new(pintle_storage_embedded::Store::open(options).unwrap());
    let feed = Feed::start(store.clone(), Bytes::from_static(b"/r/"), limits).await.unwrap();
    let prefix = Bytes::from_static(b"/r/things/");
    let cache = feed.resource(prefix.clone(), || Arc::new(Untyped));
    cache.ready().await.unwrap();
    let things = Store::new(StoreConfig {
        group: "example.com".into(),
        resource: "things".into(),
        kind: "Thing".into(),
        namespaced: true,
        prefix,
        backend: store,
        cache,
        stored: Arc::new(Untyped),
        strategy: Arc::new(strategy),
    })
    .with_clock(ManualClock::starting_at(UNIX_EPOCH + Duration::from_secs(1_700_000_000)).clock());
    Fixture { things, _feed: feed }
}

fn context() -> Context {
    Context { namespace: "n".into(), ..Context::default() }
}

impl Fixture {
    async fn create(&self, text: &str) -> Result<Value> {
        self.things.create(&mut context(), &thing(text), &AdmitAll, WriteOptions::default()).await
    }

    async fn put(&self, name: &str, text: &str) -> Result<Value> {
        let mut put = Put(thing(text));
        let options = WriteOptions::default();
        Ok(self.things.update(&mut context(), name, &mut put, &AdmitAll, false, options).await?.object)
    }

    async fn delete(&self, name: &str, options: DeleteOptions) -> Result<Deleted> {
        self.things.delete(&context(), name, &AdmitAll, options).await
    }

    async fn get(&self, name: &str) -> Result<Value> {
        self.things.get(&context(), name).await
    }
}

fn message<T>(result: Result<T>) -> String {
    result.err().map(|status| status.message).unwrap()
}

#[tokio::test]
async fn a_created_object_has_an_identity_and_is_returned_as_stored() {
    let fixture = fixture(Things::default()).await;
    let created = fixture.create(r#"{"metadata":{"name":"a"},"spec":{"size":1}}"#).await.unwrap();
    assert_eq!((created.name(), created.namespace()), ("a", "n"));
    assert_eq!(created.text_at(&["metadata", "creationTimestamp"]), "2023-11-14T22:13:20Z");
    assert_eq!(created.uid().len(), 36);
    assert_eq!(fixture.get("a").await.unwrap(), created);
    let again = fixture.create(r#"{"metadata":{"name":"a"}}"#).await;
    assert_eq!(message(again), "things.example.com \"a\" already exists");
    assert_eq!(message(fixture.get("b").await), "things.example.com \"b\" not found");
}

#[tokio::test]
async fn an_invalid_object_is_refused_and_not_stored() {
    let fixture = fixture(Things::default()).await;
    let wrong = fixture.create(r#"{"metadata":{"name":"a"},"spec":{"size":-1}}"#).await;
    let text = "Thing.example.com \"a\" is invalid: spec.size: Invalid value: -1: must not be negative";
    assert_eq!(message(wrong), text);
    let wrong = fixture.create(r#"{"metadata":{"name":"a","namespace":"other"}}"#).await;
    assert!(message(wrong).starts_with("the namespace of the provided object does not match"));
    let wrong = fixture.create(r#"{"metadata":{"name":"a","labels":{"a b":"c"}}}"#).await;
    assert!(message(wrong).contains("metadata.labels: Invalid value: \"a b\""));
    let wrong = fixture.create(r#"{"metadata":{"name":"a/b"}}"#).await;
    assert!(message(wrong).contains("may not contain '/'"));
    assert_eq!(fixture.get("a").await.unwrap_err().reason, Reason::NotFound);
}

#[tokio::test]
async fn a_new_object_with_a_revision_is_refused() {
    let fixture = fixture(Things::default()).await;
    let refused = fixture.create(r#"{"metadata":{"name":"a","resourceVersion":"5"}}"#).await.unwrap_err();
    let text = "resourceVersion should not be set on objects to be created";
    assert_eq!((refused.code, refused.reason, refused.message.as_str()), (500, Reason::Unknown, text));
    fixture.create(r#"{"metadata":{"name":"a","resourceVersion":"0"}}"#).await.unwrap();
    fixture.create(r#"{"metadata":{"name":"b","resourceVersion":"abc"}}"#).await.unwrap();
    let refused = fixture.put("b", r#"{"metadata":{"name":"b","resourceVersion":"abc"}}"#).await;
    assert_eq!(message(refused), "strconv.ParseUint: parsing \"abc\": invalid syntax");
}

#[tokio::test]
async fn a_generated_name_that_is_taken_is_generated_again() {
    let fixture = fixture(Things::default()).await;
    let object = thing(r#"{"metadata":{"generateName":"a-"}}"#);
    let create = async || {
        // Both draw the same name first.
        let things = fixture.things.with_strategy(Arc::new(Things::default())).with_random(Random::seeded(1));
        things.create(&mut context(), &object, &AdmitAll, WriteOptions::default()).await.unwrap()
    };
    let (first, second) = (create().await, create().await);
    assert_eq!(first.uid().len(), 36);
    assert!(first.name().starts_with("a-") && second.name().starts_with("a-"));
    assert_ne!(first.name(), second.name());
}

#[tokio::test]
async fn an_update_needs_the_current_version_unless_any_will_do() {
    let fixture = fixture(Things::default()).await;
    let created = fixture.create(r#"{"metadata":{"name":"a"}}"#).await.unwrap();
    let version = created.resource_version();
    let text = format!(r#"{{"metadata":{{"name":"a","resourceVersion":"{version}"}},"spec":{{"size":2}}}}"#);
    let updated = fixture.put("a", &text).await.unwrap();
    assert_ne!(updated.resource_version(), version);
    assert_eq!((updated.uid(), updated.generation()), (created.uid(), 1));
    let stale = fixture.put("a", &text).await;
    let text = "Operation cannot be fulfilled on things.example.com \"a\": the object has been modified; please apply your \
                changes to the latest version and try again";
    assert_eq!(message(stale), text);
    let without = fixture.put("a", r#"{"metadata":{"name":"a"}}"#).await;
    let text = "things.example.com \"a\" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update";
    assert_eq!(message(without), text);
    assert_eq!(fixture.put("b", r#"{"metadata":{"name":"b"}}"#).await.unwrap_err().reason, Reason::NotFound);

    let free =
        self::fixture(Things { unconditional: true, create_on_update: true, ..Things::default() }).await;
    let created = free.put("c", r#"{"metadata":{"name":"c"}}"#).await.unwrap();
    let updated = free.put("c", r#"{"metadata":{"name":"c"},"spec":{}}"#).await.unwrap();
    assert_eq!(updated.uid(), created.uid());
}

#[tokio::test]
async fn an_update_that_changes_nothing_keeps_the_version() {
    let fixture = fixture(Things { unconditional: true, ..Things::default() }).await;
    let created = fixture.create(r#"{"metadata":{"name":"a"},"spec":{"size":1}}"#).await.unwrap();
    let same = fixture.put("a", r#"{"metadata":{"name":"a"},"spec":{"size":1}}"#).await.unwrap();
    assert_eq!(same, created);
}

/// Many at once, each adding one: nothing is lost.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn updates_at_once_are_all_applied() {
    struct Add;
    #[async_trait]
    impl Transform for Add {
        async fn transform(&mut self, old: Option<&Value>) -> Result<Value> {
            let mut new = old.unwrap().clone();
            let size = new.at(&["spec", "size"]).and_then(Value::as_i64).unwrap();
            new.get_mut("spec").unwrap().as_object_mut().unwrap().insert("size", size + 1);
            Ok(new)
        }
    }
    let fixture = Arc::new(fixture(Things::default()).await);
    fixture.create(r#"{"metadata":{"name":"a"},"spec":{"size":0}}"#).await.unwrap();
    let add = |fixture: Arc<Fixture>| async move {
        for _ in 0..20 {
            let options = WriteOptions::default();
            fixture.things.update(&mut context(), "a", &mut Add, &AdmitAll, false, options).await.unwrap();
        }
    };
    let tasks: Vec<_> = (0..8).map(|_| tokio::spawn(add(fixture.clone()))).collect();
    for task in tasks {
        task.await.unwrap();
    }
    let object = fixture.get("a").await.unwrap();
    assert_eq!(object.at(&["spec", "size"]).and_then(Value::as_i64), Some(160));
    assert_eq!(object.generation(), 160);
}

/// Sets the size of an object that the writer knows.
struct SetSize {
    known: Value,
    size: i64,
    attempts: usize,
}

#[async_trait]
impl Transform for SetSize {
    async fn transform(&mut self, old: Option<&Value>) -> Result<Value> {
        self.attempts += 1;
        let mut new = old.unwrap().clone();
        new.get_mut("spec").unwrap().as_object_mut().unwrap().insert("size", self.size);
        new.metadata_mut().unwrap().insert("resourceVersion", self.known.resource_version());
        Ok(new)
    }

    fn known(&self) -> Option<&Value> {
        Some(&self.known)
    }
}

#[tokio::test]
async fn a_write_from_a_known_object_is_compared_with_the_stored_one_alone() {
    let fixture = fixture(Things::default()).await;
    let first = fixture.create(r#"{"metadata":{"name":"a"},"spec":{"size":0}}"#).await.unwrap();
    let set = async |known: &Value, size: i64| {
        let mut change = SetSize { known: known.clone(), size, attempts: 0 };
        let options = WriteOptions::default();
        let written =
            fixture.things.update(&mut context(), "a", &mut change, &AdmitAll, false, options).await;
        written.map(|written| (written.object, change.attempts))
    };
    // One after the other, whatever the cache has meanwhile.
    let mut known = first.clone();
    for size in 1..20 {
        let (written, attempts) = set(&known, size).await.unwrap();
        assert_eq!(attempts, 1);
        known = written;
    }
    assert_eq!(fixture.get("a").await.unwrap(), known);
    assert_eq!(set(&first, 99).await.unwrap_err().reason, Reason::Conflict);
    assert_eq!(fixture.get("a").await.unwrap(), known);
}

#[tokio::test]
async fn nothing_is_written_in_a_dry_run() {
    let fixture = fixture(Things::default()).await;
    let dry = WriteOptions { dry_run: true };
    let object = thing(r#"{"metadata":{"name":"a"}}"#);
    let created = fixture.things.create(&mut context(), &object, &AdmitAll, dry).await.unwrap();
    assert_eq!(created.resource_version(), "");
    assert_eq!(fixture.get("a").await.unwrap_err().reason, Reason::NotFound);
    fixture.create(r#"{"metadata":{"name":"a"}}"#).await.unwrap();
    let taken = fixture.things.create(&mut context(), &object, &AdmitAll, dry).await;
    assert_eq!(taken.unwrap_err().reason, Reason::AlreadyExists);
    let gone =
        fixture.delete("a", DeleteOptions { dry_run: true, ..DeleteOptions::default() }).await.unwrap();
    assert!(gone.is_gone());
    fixture.get("a").await.unwrap();
}

#[tokio::test]
async fn a_deletion_is_answered_with_what_was_deleted() {
    let fixture = fixture(Things::default()).await;
    let created = fixture.create(r#"{"metadata":{"name":"a"}}"#).await.unwrap();
    let Deleted::Status { status, gone: true } = fixture.delete("a", DeleteOptions::default()).await.unwrap()
    else {
        panic!()
    };
    let details = status.details.unwrap();
    assert_eq!(
        (details.name.as_str(), details.kind.as_str(), details.uid.as_str()),
        ("a", "things", created.uid())
    );
    assert_eq!(fixture.delete("a", DeleteOptions::default()).await.unwrap_err().reason, Reason::NotFound);
}

#[tokio::test]
async fn preconditions_are_about_this_object_and_no_other() {
    let fixture = fixture(Things::default()).await;
    fixture.create(r#"{"metadata":{"name":"a"}}"#).await.unwrap();
    let preconditions = Preconditions { uid: Some("other".into()), resource_version: None };
    let refused = fixture.delete("a", DeleteOptions { preconditions, ..DeleteOptions::default() }).await;
    assert!(
        message(refused).contains("the UID in the precondition (other) does not match the UID in record")
    );
    let preconditions = Preconditions { uid: None, resource_version: Some("1".into()) };
    let refused = fixture.delete("a", DeleteOptions { preconditions, ..DeleteOptions::default() }).await;
    assert!(message(refused).contains("the ResourceVersion in the precondition (1)"));
    fixture.get("a").await.unwrap();
}

#[tokio::test]
async fn finalizers_hold_an_object_until_the_last_is_gone() {
    let fixture = fixture(Things { unconditional: true, ..Things::default() }).await;
    fixture.create(r#"{"metadata":{"name":"a","finalizers":["x.com/y"],"generation":1}}"#).await.unwrap();
    let Deleted::Object { object, gone: false } =
        fixture.delete("a", DeleteOptions::default()).await.unwrap()
    else {
        panic!()
    };
    assert_eq!(object.deletion_timestamp(), Some("2023-11-14T22:13:20Z"));
    assert_eq!(object.at(&["metadata", "deletionGracePeriodSeconds"]).and_then(Value::as_i64), Some(0));
    assert_eq!(object.generation(), 2);
    let taken = fixture.create(r#"{"metadata":{"name":"a"}}"#).await;
    assert_eq!(message(taken), "object is being deleted: things.example.com \"a\" already exists");
    let more = fixture.put("a", r#"{"metadata":{"name":"a","finalizers":["x.com/y","x.com/z"]}}"#).await;
    assert!(message(more).contains("no new finalizers can be added if the object is being deleted"));
    fixture.put("a", r#"{"metadata":{"name":"a"}}"#).await.unwrap();
    assert_eq!(fixture.get("a").await.unwrap_err().reason, Reason::NotFound);
}

#[tokio::test]
async fn the_propagation_policy_is_a_finalizer() {
    for (propagation, finalizer) in
        [(Propagation::Foreground, "foregroundDeletion"), (Propagation::Orphan, "orphan")]
    {
        let fixture = fixture(Things::default()).await;
        fixture.create(r#"{"metadata":{"name":"a"}}"#).await.unwrap();
        let options = DeleteOptions { propagation: Some(propagation), ..DeleteOptions::default() };
        assert!(!fixture.delete("a", options).await.unwrap().is_gone());
        assert_eq!(fixture.get("a").await.unwrap().finalizers().collect::<Vec<_>>(), [finalizer]);
    }
    let fixture = fixture(Things::default()).await;
    fixture.create(r#"{"metadata":{"name":"a"}}"#).await.unwrap();
    let both = DeleteOptions {
        propagation: Some(Propagation::Orphan),
        orphan_dependents: Some(true),
        ..DeleteOptions::default()
    };
    assert!(message(fixture.delete("a", both).await).contains("cannot be both set"));
}

#[tokio::test]
async fn messages_name_the_group_that_serves_the_resource() {
    let fixture = fixture(Things::default()).await;
    let store = fixture.things.with_strategy(Arc::new(Things::default())).served_in("other.example.com");
    let message = async |name: &str| store.get(&context(), name).await.unwrap_err().message;
    assert_eq!(message("b").await, r#"things.other.example.com "b" not found"#);
    assert_eq!(fixture.get("b").await.unwrap_err().message, r#"things.example.com "b" not found"#);
}

/// As Go's durations, which have 64 bits of nanoseconds.
#[tokio::test]
async fn grace_beyond_all_times_wraps_around() {
    let fixture = fixture(Things { graceful: true, ..Things::default() }).await;
    for (name, seconds, until) in
        [("a", i64::MAX, "2023-11-14T22:13:19Z"), ("b", 10_000_000_000, "1756-03-15T16:25:26Z")]
    {
        fixture.create(&format!(r#"{{"metadata":{{"name":"{name}"}}}}"#)).await.unwrap();
        let options = DeleteOptions { grace_period_seconds: Some(seconds), ..DeleteOptions::default() };
        fixture.delete(name, options).await.unwrap();
        assert_eq!(fixture.get(name).await.unwrap().deletion_timestamp(), Some(until));
    }
}

#[tokio::test]
async fn grace_is_given_shortened_and_ended() {
    let fixture = fixture(Things { graceful: true, ..Things::default() }).await;
    fixture.create(r#"{"metadata":{"name":"a","generation":1}}"#).await.unwrap();
    let seconds = |seconds| DeleteOptions { grace_period_seconds: Some(seconds), ..DeleteOptions::default() };
    let grace =
        |object: &Value| object.at(&["metadata", "deletionGracePeriodSeconds"]).and_then(Value::as_i64);
    assert!(!fixture.delete("a", DeleteOptions::default()).await.unwrap().is_gone());
    let object = fixture.get("a").await.unwrap();
    assert_eq!((grace(&object), object.deletion_timestamp()), (Some(30), Some("2023-11-14T22:13:50Z")));
    assert_eq!(object.generation(), 2);
    // Not longer, but shorter.
    assert!(!fixture.delete("a", seconds(60)).await.unwrap().is_gone());
    assert_eq!(grace(&fixture.get("a").await.unwrap()), Some(30));
    assert!(!fixture.delete("a", seconds(5)).await.unwrap().is_gone());
    let object = fixture.get("a").await.unwrap();
    assert_eq!((grace(&object), object.deletion_timestamp()), (Some(5), Some("2023-11-14T22:13:25Z")));
    assert!(fixture.delete("a", seconds(0)).await.unwrap().is_gone());
    assert_eq!(fixture.get("a").await.unwrap_err().reason, Reason::NotFound);
}

#[tokio::test]
async fn a_deletion_in_stages_ends_when_nothing_holds_the_object() {
    let fixture = fixture(Things { unconditional: true, staged: true, ..Things::default() }).await;
    let created = fixture
        .create(r#"{"metadata":{"name":"a","generation":1},"spec":{"held":true},"status":{}}"#)
        .await
        .unwrap();
    let other = Preconditions { uid: Some("other".into()), resource_version: None };
    let refused =
        fixture.delete("a", DeleteOptions { preconditions: other, ..DeleteOptions::default() }).await;
    let text = format!(
        "Operation cannot be fulfilled on things.example.com \"a\": Precondition failed: UID in precondition: other, UID in \
         object meta: {}",
        created.uid()
    );
    assert_eq!(message(refused), text);
    for _ in 0..2 {
        // The second request changes nothing.
        let Deleted::Object { object, gone: false } =
            fixture.delete("a", DeleteOptions::default()).await.unwrap()
        else {
            panic!()
        };
        assert_eq!(object.text_at(&["status", "phase"]), "Ending");
        assert_eq!(object.deletion_timestamp(), Some("2023-11-14T22:13:20Z"));
        assert_eq!(object.at(&["metadata", "deletionGracePeriodSeconds"]), None);
        assert_eq!((object.generation(), object.finalizers().count()), (1, 0));
        assert_eq!(fixture.get("a").await.unwrap(), object);
    }
    fixture.put("a", r#"{"metadata":{"name":"a"},"spec":{"held":true}}"#).await.unwrap();
    fixture.get("a").await.unwrap();
    fixture.put("a", r#"{"metadata":{"name":"a"},"spec":{}}"#).await.unwrap();
    assert_eq!(fixture.get("a").await.unwrap_err().reason, Reason::NotFound);
}

#[tokio::test]
async fn a_deletion_in_stages_waits_for_dependents_only_if_told_so() {
    let fixture = fixture(Things { staged: true, ..Things::default() }).await;
    for (orphan, propagation, finalizers) in [
        (None, None, &["x.com/y"][..]),
        (Some(false), None, &["x.com/y", "foregroundDeletion"]),
        (None, Some(Propagation::Orphan), &["x.com/y", "orphan"]),
        (None, Some(Propagation::Background), &["x.com/y"]),
    ] {
        let object = r#"{"metadata":{"generateName":"a","finalizers":["x.com/y"]}}"#;
        let name = fixture.create(object).await.unwrap().name().to_owned();
        let options = DeleteOptions { orphan_dependents: orphan, propagation, ..DeleteOptions::default() };
        assert!(!fixture.delete(&name, options).await.unwrap().is_gone());
        assert_eq!(fixture.get(&name).await.unwrap().finalizers().collect::<Vec<_>>(), finalizers);
    }
}

#[tokio::test]
async fn admission_can_refuse_each() {
    struct No;
    #[async_trait]
    impl Admission for No {
        async fn create(&self, object: &Value) -> Result<()> {
            Err(Box::new(Status::forbidden("example.com", "things", object.name(), "no")))
        }

        async fn update(&self, new: &Value, _: &Value) -> Result<()> {
            self.create(new).await
        }

        async fn delete(&self, old: &Value, _: &DeleteOptions) -> Result<()> {
            self.create(old).await
        }
    }
    let fixture = fixture(Things { unconditional: true, ..Things::default() }).await;
    let object = thing(r#"{"metadata":{"name":"a"}}"#);
    let options = WriteOptions::default();
    let refused = fixture.things.create(&mut context(), &object, &No, options).await;
    assert_eq!(refused.unwrap_err().reason, Reason::Forbidden);
    fixture.create(r#"{"metadata":{"name":"a"}}"#).await.unwrap();
    let refused = fixture.things.update(&mut context(), "a", &mut Put(object), &No, false, options).await;
    assert_eq!(refused.unwrap_err().reason, Reason::Forbidden);
    let refused = fixture.things.delete(&context(), "a", &No, DeleteOptions::default()).await;
    assert_eq!(refused.unwrap_err().reason, Reason::Forbidden);
    fixture.get("a").await.unwrap();
}

#[tokio::test]
async fn decorated_objects_are_not_compared_or_stored() {
    let fixture = fixture(Things { decorates: true, unconditional: true, ..Things::default() }).await;
    let shown = |object: &Value| object.at(&["spec", "shown"]).is_some();
    let sent = r#"{"metadata":{"name":"a"},"spec":{"size":1}}"#;
    let created = fixture.create(sent).await.unwrap();
    assert!(shown(&created) && shown(&fixture.get("a").await.unwrap()));
    // The stored object has nothing of it, so that this changes nothing.
    let same = fixture.put("a", sent).await.unwrap();
    assert_eq!(same, created);
    let dry = WriteOptions { dry_run: true };
    let mut put = Put(thing(r#"{"metadata":{"name":"a"},"spec":{"size":2}}"#));
    let tried = fixture.things.update(&mut context(), "a", &mut put, &AdmitAll, false, dry).await.unwrap();
    assert!(shown(&tried.object));
    let stored = fixture.things.config().backend.get(b"/r/things/n/a", None).await.unwrap().0.unwrap();
    assert!(!shown(&thing(std::str::from_utf8(&stored.value).unwrap())));
    let mut seen = Seen::default();
    fixture.things.update(&mut context(), "a", &mut seen, &AdmitAll, false, dry).await.unwrap();
    assert_eq!(seen.0.as_ref().map(shown), Some(false), "an update begins with what is stored");
}

/// Keeps the object that an update is given, and leaves it as it is.
#[derive(Default)]
struct Seen(Option<Value>);

#[async_trait]
impl Transform for Seen {
    async fn transform(&mut self, old: Option<&Value>) -> Result<Value> {
        self.0 = old.cloned();
        Ok(old.cloned().unwrap_or_default())
    }
}

/// A thing that a store of [`SMALL`] bytes takes only without its managers.
fn with_managers(name: &str, size: i64) -> String {
    let fields = format!(r#"{{"f:{}":{{}}}}"#, "x".repeat(SMALL));
    let manager = format!(
        r#"{{"manager":"m","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{fields}}}"#
    );
    format!(r#"{{"metadata":{{"name":"{name}","managedFields":[{manager}]}},"spec":{{"size":{size}}}}}"#)
}

const SMALL: usize = 2000;

#[tokio::test]
async fn managers_are_dropped_from_a_too_large_object() {
    let options = Options { max_request_bytes: SMALL, ..Options::memory() };
    let strategy = Things { unconditional: true, create_on_update: true, ..Things::default() };
    let fixture = fixture_on(options, strategy).await;
    let managers = |object: &Value| object.at(&["metadata", "managedFields"]).is_some();
    let created = fixture.create(&with_managers("a", 1)).await.unwrap();
    assert!(!managers(&created));
    let updated = fixture.put("a", &with_managers("a", 2)).await.unwrap();
    assert!(!managers(&updated) && updated.resource_version() != created.resource_version());
    assert_eq!(fixture.get("a").await.unwrap(), updated);
    let same = fixture.put("a", &with_managers("a", 2)).await.unwrap();
    assert_eq!(same, updated, "without managers it is what there is");
    let created = fixture.put("b", &with_managers("b", 1)).await.unwrap();
    assert!(!managers(&created));

    // Unless the write is about them, or the rest is too large.
    struct Apply(Value);
    #[async_trait]
    impl Transform for Apply {
        async fn transform(&mut self, _: Option<&Value>) -> Result<Value> {
            Ok(self.0.clone())
        }

        fn needs_managers(&self) -> bool {
            true
        }
    }
    let mut apply = Apply(thing(&with_managers("a", 3)));
    let options = WriteOptions::default();
    let refused = fixture.things.update(&mut context(), "a", &mut apply, &AdmitAll, false, options).await;
    let too_large = (500, Reason::Unknown, "etcdserver: request is too large");
    let told = |status: Box<Status>| {
        assert_eq!((status.code, status.reason, status.message.as_str()), too_large);
    };
    told(refused.unwrap_err());
    let large = format!(r#"{{"metadata":{{"name":"c"}},"spec":"{}"}}"#, "x".repeat(SMALL));
    told(fixture.create(&large).await.unwrap_err());
    told(fixture.put("a", &large.replace("\"c\"", "\"a\"")).await.unwrap_err());
    let huge = format!(r#"{{"metadata":{{"name":"c"}},"spec":"{}"}}"#, "x".repeat(2 << 20));
    let message = message(fixture.create(&huge).await);
    let start = "rpc error: code = ResourceExhausted desc = trying to send message larger than max (";
    assert!(message.starts_with(start) && message.ends_with(" vs. 2097152)"), "{message}");
}
