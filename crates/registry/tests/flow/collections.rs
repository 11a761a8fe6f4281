//! Deleting what a selection matches, and other views of the same store.

use std::sync::atomic::{AtomicUsize, Ordering};

use pintle_cache::Entry;
use pintle_meta::time::Time;
use pintle_registry::Listed;

use super::*;

async fn with_things(count: usize) -> Fixture {
    let fixture = fixture(Things { unconditional: true, ..Things::default() }).await;
    for number in 0..count {
        fixture.create(&format!(r#"{{"metadata":{{"name":"t{number}"}}}}"#)).await.unwrap();
    }
    fixture
}

impl Fixture {
    async fn left(&self) -> Vec<String> {
        let everywhere = Context::default();
        let left = self.things.select(&everywhere, |_| true).await.unwrap();
        left.entries.iter().map(|entry| entry.key().to_owned()).collect()
    }
}

/// Counts, and refuses or waits where it is told to.
#[derive(Default)]
struct Gate {
    asked: AtomicUsize,
    refuses: &'static [&'static str],
    /// How many are asked at the same time, and how many were at most.
    at_once: AtomicUsize,
    most: AtomicUsize,
}

#[async_trait]
impl Admission for Gate {
    async fn create(&self, _: &Value) -> Result<()> {
        Ok(())
    }

    async fn update(&self, _: &Value, _: &Value) -> Result<()> {
        Ok(())
    }

    async fn delete(&self, old: &Value, _: &DeleteOptions) -> Result<()> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let now = self.at_once.fetch_add(1, Ordering::Relaxed) + 1;
        self.most.fetch_max(now, Ordering::Relaxed);
        tokio::task::yield_now().await;
        self.at_once.fetch_sub(1, Ordering::Relaxed);
        if self.refuses.contains(&old.name()) {
            return Err(Box::new(Status::forbidden("example.com", "things", old.name(), "no")));
        }
        Ok(())
    }
}

#[tokio::test]
async fn matching_objects_are_deleted_and_returned() {
    let fixture = with_things(5).await;
    let elsewhere = thing(r#"{"metadata":{"name":"t1"}}"#);
    let mut other = Context { namespace: "o".into(), ..Context::default() };
    fixture.things.create(&mut other, &elsewhere, &AdmitAll, WriteOptions::default()).await.unwrap();
    let before = fixture.get("t1").await.unwrap();
    let odd = |entry: &Entry| !entry.key().ends_with(['0', '2', '4']);
    let options = DeleteOptions::default();
    // Spawned by a server, so it has to be able to move.
    let things = Arc::new(fixture.things.with_strategy(Arc::new(Things::default())));
    let deleting = {
        let things = things.clone();
        tokio::spawn(async move { things.delete_collection(&context(), odd, &AdmitAll, &options, 1).await })
    };
    let deleted = deleting.await.unwrap().unwrap();
    let keys: Vec<_> = deleted.entries.iter().map(|entry| entry.key()).collect();
    assert_eq!(keys, ["n/t1", "n/t3"]);
    assert_eq!(fixture.things.object(&deleted.entries[0]).unwrap(), before);
    assert!(deleted.revision >= before.resource_version().parse().unwrap());
    assert_eq!(fixture.left().await, ["n/t0", "n/t2", "n/t4", "o/t1"]);
}

#[tokio::test]
async fn every_object_is_asked_about_and_so_many_at_once() {
    for (workers, most) in [(0, 1), (1, 1), (3, 3), (100, 8)] {
        let fixture = with_things(8).await;
        let gate = Gate::default();
        let options = DeleteOptions::default();
        fixture.things.delete_collection(&context(), |_| true, &gate, &options, workers).await.unwrap();
        assert_eq!(gate.asked.load(Ordering::Relaxed), 8, "{workers} workers");
        assert_eq!(gate.most.load(Ordering::Relaxed), most, "{workers} workers");
        assert!(fixture.left().await.is_empty());
    }
}

#[tokio::test]
async fn a_refusal_ends_its_worker_and_is_the_answer() {
    let fixture = with_things(5).await;
    let gate = Gate { refuses: &["t2"], ..Gate::default() };
    let options = DeleteOptions::default();
    let refused = fixture.things.delete_collection(&context(), |_| true, &gate, &options, 1).await;
    assert_eq!(refused.unwrap_err().message, "things.example.com \"t2\" is forbidden: no");
    assert_eq!(fixture.left().await, ["n/t2", "n/t3", "n/t4"]);
    // With another worker the rest goes too.
    let refused = fixture.things.delete_collection(&context(), |_| true, &gate, &options, 2).await;
    assert_eq!(refused.unwrap_err().reason, Reason::Forbidden);
    assert_eq!(fixture.left().await, ["n/t2"]);
}

#[tokio::test]
async fn objects_deleted_meanwhile_are_no_error() {
    let fixture = with_things(3).await;
    let listed = fixture.things.select(&context(), |_| true).await.unwrap();
    fixture.delete("t1", DeleteOptions::default()).await.unwrap();
    let options = DeleteOptions::default();
    fixture
        .things
        .delete_each(&context(), &listed.entries, Listed::Named, &AdmitAll, &options, 1)
        .await
        .unwrap();
    assert!(fixture.left().await.is_empty());
}

#[tokio::test]
async fn an_object_that_came_in_the_place_of_a_listed_one_can_be_left_alone() {
    let fixture = with_things(2).await;
    let listed = fixture.things.select(&context(), |_| true).await.unwrap();
    fixture.delete("t1", DeleteOptions::default()).await.unwrap();
    fixture.create(r#"{"metadata":{"name":"t1"}}"#).await.unwrap();
    let (context, options) = (context(), DeleteOptions::default());
    let delete = |how| fixture.things.delete_each(&context, &listed.entries, how, &AdmitAll, &options, 1);
    delete(Listed::Same).await.unwrap();
    assert_eq!(fixture.left().await, ["n/t1"]);
    delete(Listed::Named).await.unwrap();
    assert!(fixture.left().await.is_empty());
}

#[tokio::test]
async fn a_dropped_caller_ends_the_deletion() {
    let fixture = with_things(5).await;
    /// Never lets the third go.
    struct Stuck(AtomicUsize);
    #[async_trait]
    impl Admission for Stuck {
        async fn create(&self, _: &Value) -> Result<()> {
            Ok(())
        }

        async fn update(&self, _: &Value, _: &Value) -> Result<()> {
            Ok(())
        }

        async fn delete(&self, _: &Value, _: &DeleteOptions) -> Result<()> {
            if self.0.fetch_add(1, Ordering::Relaxed) == 2 {
                std::future::pending::<()>().await;
            }
            Ok(())
        }
    }
    let (stuck, options) = (Stuck(AtomicUsize::new(0)), DeleteOptions::default());
    {
        let context = context();
        let deleting = fixture.things.delete_collection(&context, |_| true, &stuck, &options, 1);
        let mut deleting = Box::pin(deleting);
        while stuck.0.load(Ordering::Relaxed) < 3 {
            tokio::select! {
                biased;
                _ = &mut deleting => panic!("it cannot end"),
                () = tokio::time::sleep(Duration::from_millis(1)) => {}
            }
        }
    }
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert_eq!(stuck.0.load(Ordering::Relaxed), 3);
    assert_eq!(fixture.left().await, ["n/t2", "n/t3", "n/t4"]);
}

#[tokio::test]
async fn each_object_has_its_own_grace() {
    let fixture = fixture(Things { graceful: true, ..Things::default() }).await;
    for name in ["a", "b"] {
        fixture.create(&format!(r#"{{"metadata":{{"name":"{name}"}}}}"#)).await.unwrap();
    }
    let options = DeleteOptions::default();
    fixture.things.delete_collection(&context(), |_| true, &AdmitAll, &options, 1).await.unwrap();
    assert_eq!(options, DeleteOptions::default());
    for name in ["a", "b"] {
        assert_eq!(fixture.get(name).await.unwrap().deletion_timestamp(), Some("2023-11-14T22:13:50Z"));
    }
}

#[tokio::test]
async fn nothing_goes_in_a_dry_run_and_nothing_matches_nothing() {
    let fixture = with_things(2).await;
    let dry = DeleteOptions { dry_run: true, ..DeleteOptions::default() };
    let deleted = fixture.things.delete_collection(&context(), |_| true, &AdmitAll, &dry, 1).await.unwrap();
    assert_eq!(deleted.entries.len(), 2);
    let options = DeleteOptions::default();
    let none = fixture.things.delete_collection(&context(), |_| false, &AdmitAll, &options, 4).await.unwrap();
    assert!(none.entries.is_empty() && none.revision > 0);
    assert_eq!(fixture.left().await.len(), 2);
}

#[tokio::test]
async fn another_strategy_sees_the_same_objects() {
    let fixture = with_things(1).await;
    let strict = fixture.things.with_strategy(Arc::new(Things::default()));
    let seen = strict.get(&context(), "t0").await.unwrap();
    assert_eq!(seen, fixture.get("t0").await.unwrap());
    let mut put = Put(thing(r#"{"metadata":{"name":"t0"}}"#));
    let refused =
        strict.update(&mut context(), "t0", &mut put, &AdmitAll, false, WriteOptions::default()).await;
    assert_eq!(refused.unwrap_err().reason, Reason::Invalid);
    fixture.put("t0", r#"{"metadata":{"name":"t0"}}"#).await.unwrap();
}

#[tokio::test]
async fn a_time_to_live_below_a_second_is_none() {
    struct Fleeting(u64);
    impl Strategy for Fleeting {
        fn time_to_live(&self, _: &Value, _: Time) -> Option<Duration> {
            Some(Duration::from_millis(self.0))
        }
    }
    let fixture = with_things(0).await;
    for (number, (life, is_leased)) in [(0, false), (999, false), (60_000, true)].into_iter().enumerate() {
        let things = fixture.things.with_strategy(Arc::new(Fleeting(life)));
        let object = thing(&format!(r#"{{"metadata":{{"name":"t{number}"}}}}"#));
        things.create(&mut context(), &object, &AdmitAll, WriteOptions::default()).await.unwrap();
        let key = format!("/r/things/n/t{number}");
        let (found, _) = things.config().backend.get(key.as_bytes(), None).await.unwrap();
        assert_eq!(found.unwrap().lease.is_some(), is_leased, "{life} ms");
    }
}
