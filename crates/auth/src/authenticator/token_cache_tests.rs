use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

use super::*;
use crate::User;
use crate::authenticator::Notes;

/// Authenticates a token as the user of its text, and counts calls.
#[derive(Default)]
struct Slow {
    asked: AtomicUsize,
    gate: Option<Arc<tokio::sync::Semaphore>>,
}

#[async_trait]
impl TokenAuthenticator for Slow {
    async fn authenticate_token(&self, token: &[u8], audiences: &[String], _: SystemTime) -> Verdict {
        self.asked.fetch_add(1, Ordering::SeqCst);
        if let Some(gate) = &self.gate {
            gate.acquire().await.unwrap().forget();
        }
        let name = String::from_utf8_lossy(token).into_owned();
        match name.as_str() {
            "unknown" => Ok(None),
            "broken" => Err(Error::Refused("broken".into())),
            _ => {
                let notes = Notes { warnings: vec![format!("{name} is old")], ..Notes::default() };
                let user = User { name, ..User::default() };
                Ok(Some(Identity {
                    user: Arc::new(user),
                    audiences: Some(audiences.into()),
                    notes: Some(Arc::new(notes)),
                }))
            }
        }
    }
}

fn cache(options: TokenCacheOptions) -> (Arc<Slow>, TokenCache) {
    let inner = Arc::new(Slow::default());
    (inner.clone(), TokenCache::new(inner, options, None).unwrap())
}

fn at(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000 + seconds)
}

async fn ask(cache: &TokenCache, token: &str, audiences: &[&str], seconds: u64) -> Verdict {
    let audiences: Vec<String> = audiences.iter().map(|audience| (*audience).to_owned()).collect();
    cache.authenticate_token(token.as_bytes(), &audiences, at(seconds)).await
}

fn name(verdict: Verdict) -> String {
    verdict.unwrap().map(|identity| identity.user.name.clone()).unwrap_or_default()
}

#[tokio::test]
async fn a_verdict_is_good_for_its_time_with_all_that_was_said() {
    let (inner, cache) = cache(TokenCacheOptions::default());
    let first = ask(&cache, "a", &["x"], 0).await;
    assert_eq!(ask(&cache, "a", &["x"], 9).await, first);
    assert_eq!(first.unwrap().unwrap().notes.unwrap().warnings, ["a is old"]);
    assert_eq!(inner.asked.load(Ordering::SeqCst), 1);
    assert_eq!(name(ask(&cache, "a", &["x"], 10).await), "a");
    assert_eq!(inner.asked.load(Ordering::SeqCst), 2);
    // A clock that was set back.
    assert_eq!(name(ask(&cache, "a", &["x"], 5).await), "a");
    assert_eq!(inner.asked.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn a_verdict_is_never_another_token_s_or_another_audience_s() {
    let (inner, cache) = cache(TokenCacheOptions::default());
    // Parts that read the same when they are put together.
    let questions: [(&str, &[&str]); 9] = [
        ("abc", &[]),
        ("ab", &["c"]),
        ("a", &["b", "c"]),
        ("a", &["bc"]),
        ("a", &["c", "b"]),
        ("a", &["", "bc"]),
        ("a", &["bc", ""]),
        ("abc", &[""]),
        ("", &["abc"]),
    ];
    for round in 0..2 {
        for (token, audiences) in questions {
            let identity = ask(&cache, token, audiences, round).await.unwrap().unwrap();
            assert_eq!(identity.user.name, token);
            assert_eq!(identity.audiences.unwrap().to_vec(), audiences, "{token}");
        }
        assert_eq!(inner.asked.load(Ordering::SeqCst), questions.len());
    }
    // Tokens that begin alike, a long way.
    let long = "x".repeat(5000);
    let [one, other] = [format!("{long}1"), format!("{long}2")];
    assert_eq!(name(ask(&cache, &one, &[], 0).await), one);
    assert_eq!(name(ask(&cache, &other, &[], 0).await), other);
}

#[tokio::test]
async fn failures_are_cached_only_if_configured() {
    let (inner, kept) = cache(TokenCacheOptions::default());
    for _ in 0..3 {
        assert_eq!(ask(&kept, "unknown", &[], 0).await, Ok(None));
        assert!(ask(&kept, "broken", &[], 0).await.is_err());
    }
    assert_eq!(inner.asked.load(Ordering::SeqCst), 6);

    let failure = Duration::from_secs(5);
    let options = TokenCacheOptions { failure, keep_errors: false, ..TokenCacheOptions::default() };
    let (inner, kept) = cache(options);
    for _ in 0..3 {
        assert_eq!(ask(&kept, "unknown", &[], 0).await, Ok(None));
    }
    assert_eq!(inner.asked.load(Ordering::SeqCst), 1);
    for _ in 0..3 {
        assert!(ask(&kept, "broken", &[], 0).await.is_err());
    }
    assert_eq!(inner.asked.load(Ordering::SeqCst), 4, "errors are not kept");

    let (inner, kept) = cache(TokenCacheOptions { failure, ..TokenCacheOptions::default() });
    for _ in 0..3 {
        assert_eq!(ask(&kept, "broken", &[], 0).await, Err(Error::Refused("broken".into())));
    }
    assert_eq!(inner.asked.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn cached_verdicts_are_bounded_in_number_and_size() {
    let (_, cache) = cache(TokenCacheOptions { entries: 10, bytes: 20_000, ..TokenCacheOptions::default() });
    for number in 0..100 {
        ask(&cache, &format!("token {number}"), &[], 0).await.unwrap();
        let state = lock(&cache.state);
        assert!(state.kept.len() <= 10 && state.order.len() <= 10, "{}", state.order.len());
    }
    let large = "x".repeat(4000);
    for number in 0..100 {
        ask(&cache, &format!("{large}{number}"), &[], 0).await.unwrap();
        let state = lock(&cache.state);
        assert!(state.bytes <= 20_000 && !state.kept.is_empty());
        assert_eq!(state.bytes, state.kept.values().map(|kept| kept.size).sum::<usize>());
    }
    // One that is larger than all may be is not kept, and costs the others nothing.
    let before = lock(&cache.state).kept.len();
    ask(&cache, &"y".repeat(30_000), &[], 0).await.unwrap();
    assert_eq!(lock(&cache.state).kept.len(), before);
}

#[tokio::test]
async fn expired_verdicts_make_room() {
    let (_, cache) = cache(TokenCacheOptions::default());
    for number in 0..100 {
        ask(&cache, &number.to_string(), &[], 0).await.unwrap();
    }
    ask(&cache, "later", &[], 10).await.unwrap();
    assert_eq!(lock(&cache.state).kept.len(), 1);
    assert_eq!(lock(&cache.state).order.len(), 1);
}

#[derive(Default)]
struct Counts {
    hits: AtomicUsize,
    misses: AtomicUsize,
    waiting: AtomicI64,
    fetches: AtomicI64,
}

impl TokenCacheEvents for Counts {
    fn looked_up(&self, hit: bool, _: Duration) {
        if hit { &self.hits } else { &self.misses }.fetch_add(1, Ordering::SeqCst);
    }

    fn waiting(&self, change: i64) {
        self.waiting.fetch_add(change, Ordering::SeqCst);
    }

    fn fetching(&self) {
        self.fetches.fetch_add(1, Ordering::SeqCst);
    }

    fn fetched(&self, _: Option<bool>) {
        self.fetches.fetch_sub(1, Ordering::SeqCst);
    }
}

#[tokio::test]
async fn concurrent_requests_share_a_lookup_even_if_the_first_is_cancelled() {
    let gate = Arc::new(tokio::sync::Semaphore::new(0));
    let inner = Arc::new(Slow { gate: Some(gate.clone()), ..Slow::default() });
    let counts = Arc::new(Counts::default());
    let cache = TokenCache::new(inner.clone(), TokenCacheOptions::default(), Some(counts.clone())).unwrap();
    let cache = Arc::new(cache);
    let spawn = || {
        let cache = cache.clone();
        tokio::spawn(async move { ask(&cache, "a", &[], 0).await })
    };
    let first = spawn();
    tokio::task::yield_now().await;
    let others: Vec<_> = (0..10).map(|_| spawn()).collect();
    tokio::task::yield_now().await;
    assert_eq!(counts.waiting.load(Ordering::SeqCst), 11);
    first.abort();
    gate.add_permits(100);
    for other in others {
        assert_eq!(name(other.await.unwrap()), "a");
    }
    assert_eq!(inner.asked.load(Ordering::SeqCst), 1);
    assert!(lock(&cache.state).pending.is_empty());
    assert_eq!(name(ask(&cache, "a", &[], 1).await), "a");
    let count = |count: &AtomicUsize| count.load(Ordering::SeqCst);
    assert_eq!((count(&counts.hits), count(&counts.misses)), (1, 11));
    assert_eq!((counts.waiting.load(Ordering::SeqCst), counts.fetches.load(Ordering::SeqCst)), (0, 0));
}

#[tokio::test]
async fn a_lookup_that_all_requests_cancelled_starts_anew() {
    let gate = Arc::new(tokio::sync::Semaphore::new(0));
    let inner = Arc::new(Slow { gate: Some(gate.clone()), ..Slow::default() });
    let cache = TokenCache::new(inner.clone(), TokenCacheOptions::default(), None).unwrap();
    for _ in 0..3 {
        let question = ask(&cache, "a", &[], 0);
        assert!(tokio::time::timeout(Duration::from_millis(1), question).await.is_err());
        assert!(lock(&cache.state).pending.is_empty());
    }
    gate.add_permits(1);
    assert_eq!(name(ask(&cache, "a", &[], 0).await), "a");
    assert_eq!(inner.asked.load(Ordering::SeqCst), 4);
}
