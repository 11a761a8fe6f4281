//! The pool with work that blocks, waits, and is given up.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::*;
use crate::{Body, Response};

fn user(name: &str) -> Arc<User> {
    Arc::new(User { name: name.into(), ..User::default() })
}

fn answer() -> Response {
    Response::new(Body::empty())
}

fn work(work: impl Future<Output = ()> + Send + 'static) -> Work {
    Box::pin(async move {
        work.await;
        answer()
    })
}

async fn run(pool: &Arc<Pool>, name: &str, what: Work) -> Option<Outcome> {
    pool.run(user(name), Admitted::ByShare, Token::new(None), what).await
}

/// Work that blocks a thread until `until` is set.
fn blocked(until: &Arc<AtomicBool>) -> Work {
    let until = until.clone();
    work(async move {
        while !until.load(Ordering::Acquire) {
            std::thread::sleep(Duration::from_millis(1));
        }
    })
}

fn is_settled(pool: &Pool) -> bool {
    let state = pool.state();
    (state.workers, state.running.taken(), state.begun.taken(), state.jobs.taken()) == (0, 0, 0, 0)
        && state.queues.is_empty()
        && state.order.is_empty()
}

async fn settled(pool: &Pool) {
    for _ in 0..1000 {
        if is_settled(pool) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("something is left");
}

#[tokio::test]
async fn work_is_answered_and_leaves_nothing_behind() {
    let pool = Arc::new(Pool::new(2));
    let pauses = work(async {
        tokio::time::sleep(Duration::from_millis(5)).await;
        tokio::task::yield_now().await;
    });
    assert!(matches!(run(&pool, "a", pauses).await, Some(Outcome::Answered(_))));
    settled(&pool).await;
}

#[tokio::test]
async fn the_work_of_one_user_does_not_wait_for_that_of_another() {
    let pool = Arc::new(Pool::new(2));
    let until = Arc::new(AtomicBool::new(false));
    let mut slow = tokio::task::JoinSet::new();
    for _ in 0..10 {
        let (pool, what) = (pool.clone(), blocked(&until));
        slow.spawn(async move { run(&pool, "a", what).await.is_some() });
    }
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert_eq!(pool.state().running.held_by("a"), 1, "one of two threads");
    for _ in 0..3 {
        assert!(run(&pool, "b", work(async {})).await.is_some());
    }
    until.store(true, Ordering::Release);
    assert!(slow.join_all().await.into_iter().all(|answered| answered));
    settled(&pool).await;
}

#[tokio::test]
async fn work_that_waits_takes_no_thread_and_only_so_much_has_begun() {
    let pool = Arc::new(Pool::new(2));
    let begun = Arc::new(AtomicUsize::new(0));
    let (open, gate) = tokio::sync::watch::channel(false);
    let mut jobs = tokio::task::JoinSet::new();
    for _ in 0..12 {
        let (pool, begun, mut gate) = (pool.clone(), begun.clone(), gate.clone());
        let what = work(async move {
            begun.fetch_add(1, Ordering::AcqRel);
            let _ = gate.wait_for(|open| *open).await;
        });
        jobs.spawn(async move { run(&pool, "a", what).await.is_some() });
    }
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(begun.load(Ordering::Acquire), 4, "half of what may have begun");
    let busy = {
        let state = pool.state();
        (state.running.taken(), state.workers)
    };
    assert_eq!(busy, (0, 0));
    assert!(run(&pool, "b", work(async {})).await.is_some());
    open.send(true).unwrap();
    assert_eq!(jobs.join_all().await, [true; 12]);
    settled(&pool).await;
}

#[tokio::test]
async fn beyond_its_share_of_jobs_a_user_is_refused() {
    let pool = Arc::new(Pool::new(2));
    let until = Arc::new(AtomicBool::new(false));
    let mut jobs = tokio::task::JoinSet::new();
    for _ in 0..MOST {
        let (pool, what) = (pool.clone(), blocked(&until));
        jobs.spawn(async move { run(&pool, "a", what).await.is_some() });
    }
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert!(run(&pool, "a", work(async {})).await.is_none());
    assert!(run(&pool, "b", work(async {})).await.is_some());
    until.store(true, Ordering::Release);
    let taken = jobs.join_all().await.into_iter().filter(|taken| *taken).count();
    assert_eq!(taken, MOST / 2);
    settled(&pool).await;
}

#[tokio::test]
async fn abandoned_work_is_not_begun_or_ends() {
    let pool = Arc::new(Pool::new(2));
    let begun = Arc::new(AtomicUsize::new(0));
    let (count, ended) = (begun.clone(), Arc::new(AtomicBool::new(false)));
    let endless = Box::pin({
        let ended = ended.clone();
        async move {
            count.fetch_add(1, Ordering::AcqRel);
            let _at_end = AtEnd(ended);
            pintle_work::run(|| {
                loop {
                    pintle_work::check();
                }
            })
            .await;
            answer()
        }
    });
    let running = tokio::spawn({
        let pool = pool.clone();
        async move { run(&pool, "a", endless).await.is_some() }
    });
    let count = begun.clone();
    let queued = work(async move { assert_eq!(count.fetch_add(1, Ordering::AcqRel), 0) });
    let queued = tokio::spawn({
        let pool = pool.clone();
        async move { run(&pool, "a", queued).await.is_some() }
    });
    tokio::time::sleep(Duration::from_millis(20)).await;
    queued.abort();
    let _ = queued.await;
    running.abort();
    let _ = running.await;
    settled(&pool).await;
    assert!(ended.load(Ordering::Acquire));
    assert_eq!(begun.load(Ordering::Acquire), 1);
}

#[tokio::test]
async fn work_ends_at_its_deadline_and_a_panic_is_passed_on() {
    let pool = Arc::new(Pool::new(2));
    let endless = work(pintle_work::run(|| {
        loop {
            pintle_work::check();
        }
    }));
    let token = Token::new(Some(Instant::now() + Duration::from_millis(20)));
    let begun = Instant::now();
    assert!(matches!(
        pool.run(user("a"), Admitted::ByShare, token, endless).await,
        Some(Outcome::Interrupted)
    ));
    assert!(begun.elapsed() < Duration::from_secs(2));
    let panics = work(async { std::panic::resume_unwind(Box::new("on purpose")) });
    assert!(matches!(run(&pool, "a", panics).await, Some(Outcome::Panicked(_))));
    settled(&pool).await;
}

struct AtEnd(Arc<AtomicBool>);

impl Drop for AtEnd {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

#[tokio::test]
async fn administrators_are_served_while_all_shares_are_taken() {
    let pool = Arc::new(Pool::new(2));
    let (open, gate) = tokio::sync::watch::channel(false);
    let mut waiting = tokio::task::JoinSet::new();
    for number in 0..3 * BEGUN {
        let (pool, mut gate) = (pool.clone(), gate.clone());
        let what = work(async move { drop(gate.wait_for(|open| *open).await) });
        waiting.spawn(async move { run(&pool, &format!("user{number}"), what).await.is_some() });
    }
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(!pool.state().begun.has_room("another", 1), "no other user may begin");
    let admin = pool.run(user("admin"), Admitted::Exempt, Token::new(None), work(async {}));
    let answered = tokio::time::timeout(Duration::from_secs(10), admin).await.expect("in time");
    assert!(matches!(answered, Some(Outcome::Answered(_))));
    open.send(true).unwrap();
    assert!(waiting.join_all().await.into_iter().all(|answered| answered));
    settled(&pool).await;
}

#[tokio::test]
async fn writes_are_not_refused_on_the_way() {
    let pool = Arc::new(Pool::new(2));
    let until = Arc::new(AtomicBool::new(false));
    let mut jobs = tokio::task::JoinSet::new();
    for _ in 0..MOST {
        let (pool, what) = (pool.clone(), blocked(&until));
        jobs.spawn(
            async move { pool.run(user("a"), Admitted::Already, Token::new(None), what).await.is_some() },
        );
    }
    tokio::time::sleep(Duration::from_millis(20)).await;
    until.store(true, Ordering::Release);
    assert!(jobs.join_all().await.into_iter().all(|answered| answered));
    settled(&pool).await;
}

#[tokio::test]
async fn a_job_that_waits_with_its_thread_leaves_the_share_to_others() {
    let pool = Arc::new(Pool::new(2));
    let until = Arc::new(AtomicBool::new(false));
    let webhook = until.clone();
    let waits = work(async move {
        pintle_work::wait(|| {
            // Not for ever: a test that fails must end.
            let begun = Instant::now();
            while !webhook.load(Ordering::Acquire) && begun.elapsed() < Duration::from_secs(20) {
                std::thread::sleep(Duration::from_millis(1));
            }
        });
    });
    let first = tokio::spawn({
        let pool = pool.clone();
        async move { run(&pool, "a", waits).await.is_some() }
    });
    tokio::time::sleep(Duration::from_millis(20)).await;
    let second = tokio::time::timeout(Duration::from_secs(10), run(&pool, "a", work(async {})));
    assert!(second.await.expect("in time").is_some(), "of the same user, which has one thread of two");
    until.store(true, Ordering::Release);
    assert!(first.await.unwrap());
    settled(&pool).await;
}
