//! Deletions that are answered when the object is gone, where the store waits for that.

use super::*;

/// A store whose deletions wait on a clock of the test's.
async fn waiting() -> (Fixture, Arc<ManualClock>) {
    let clock = ManualClock::starting_at(UNIX_EPOCH + Duration::from_secs(1_700_000_000));
    let Fixture { things, _feed } = fixture(Things { unconditional: true, ..Things::default() }).await;
    let options = StoreOptions { end_patience: Duration::from_secs(60), ..StoreOptions::default() };
    (Fixture { things: things.with_clock(clock.clock()).with_options(options), _feed }, clock)
}

const HELD: &str = r#"{"metadata":{"name":"a","finalizers":["x.com/y"]}}"#;

#[tokio::test]
async fn a_deletion_is_answered_when_the_object_is_gone() {
    let (fixture, _clock) = waiting().await;
    fixture.create(HELD).await.unwrap();
    let release = async {
        while fixture.get("a").await.unwrap().deletion_timestamp().is_none() {
            tokio::task::yield_now().await;
        }
        fixture.put("a", r#"{"metadata":{"name":"a"}}"#).await.unwrap();
    };
    let (deleted, ()) = tokio::join!(fixture.delete("a", DeleteOptions::default()), release);
    assert!(
        matches!(deleted.unwrap(), Deleted::Object { gone: false, .. }),
        "the answer is that of the deletion"
    );
    assert!(fixture.get("a").await.is_err());
}

#[tokio::test]
async fn a_deletion_is_answered_in_time_where_the_object_stays() {
    let (fixture, clock) = waiting().await;
    fixture.create(HELD).await.unwrap();
    let mut deletion = std::pin::pin!(fixture.delete("a", DeleteOptions::default()));
    let early = tokio::time::timeout(Duration::from_millis(50), &mut deletion).await;
    assert!(early.is_err(), "it waits");
    clock.advance(Duration::from_secs(61));
    deletion.await.unwrap();
    assert!(fixture.get("a").await.unwrap().deletion_timestamp().is_some());
    let options = DeleteOptions { dry_run: true, ..DeleteOptions::default() };
    fixture.delete("a", options).await.expect("a dry run has nothing to wait for");
}
