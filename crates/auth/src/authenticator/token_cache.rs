//! A cache of verdicts on tokens, for a few seconds.
//!
//! The key is a keyed digest of the token *and* of the requested audiences, so verdicts of different tokens or audiences are
//! never mixed up. The HMAC key is random for each cache: a client cannot prepare tokens that collide, and no token stays in
//! memory. Concurrent requests with one token share one lookup.
//!
//! Verdicts are not revoked: a token whose pod was deleted is accepted until its verdict expires, as by the reference. Errors
//! of a webhook may be transient, so its cache keeps none.

use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use aws_lc_rs::{hmac, rand};
use futures_util::FutureExt;
use futures_util::future::{Shared, WeakShared};
use pintle_runtime::Stopwatch;

use super::{Error, Identity, TokenAuthenticator};

/// How long verdicts are good for, and how many of them there can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenCacheOptions {
    /// Zero keeps none.
    pub success: Duration,
    pub failure: Duration,
    /// Whether a failure may also be an error.
    pub keep_errors: bool,
    pub entries: usize,
    /// Roughly what all verdicts may take together.
    pub bytes: usize,
}

impl Default for TokenCacheOptions {
    /// The reference's for all tokens of a server.
    fn default() -> TokenCacheOptions {
        TokenCacheOptions {
            success: Duration::from_secs(10),
            failure: Duration::ZERO,
            keep_errors: true,
            entries: 32 << 10,
            bytes: 32 << 20,
        }
    }
}

/// Receives the cache's events for metrics.
pub trait TokenCacheEvents: Send + Sync + 'static {
    /// A token was looked up, and whether its verdict was there.
    fn looked_up(&self, hit: bool, took: Duration);
    /// A request began (`1`) or ceased (`-1`) to wait for a verdict.
    fn waiting(&self, change: i64);
    /// A lookup began.
    fn fetching(&self);
    /// A lookup ended; `ok` is `None` if every waiting request was cancelled.
    fn fetched(&self, ok: Option<bool>);
}

type Verdict = Result<Option<Identity>, Error>;
type Digest = [u8; 32];
type Lookup = Pin<Box<dyn Future<Output = Verdict> + Send>>;

/// An authenticator in front of another one that caches its verdicts.
pub struct TokenCache {
    inner: Arc<dyn TokenAuthenticator>,
    key: hmac::Key,
    state: Arc<Mutex<State>>,
    events: Option<Arc<dyn TokenCacheEvents>>,
}

struct State {
    options: TokenCacheOptions,
    kept: HashMap<Digest, CachedVerdict>,
    /// Oldest first; what was replaced since is passed over by its number.
    order: VecDeque<(Digest, u64)>,
    next: u64,
    bytes: usize,
    /// The lookups under way.
    pending: HashMap<Digest, (u64, WeakShared<Lookup>)>,
}

struct CachedVerdict {
    verdict: Verdict,
    since: SystemTime,
    until: SystemTime,
    number: u64,
    size: usize,
}

/// The system has no randomness to give.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the system has no randomness to give")]
pub struct NoRandomness;

impl TokenCache {
    pub fn new(
        inner: Arc<dyn TokenAuthenticator>,
        options: TokenCacheOptions,
        events: Option<Arc<dyn TokenCacheEvents>>,
    ) -> Result<TokenCache, NoRandomness> {
        let key = hmac::Key::generate(hmac::HMAC_SHA256, &rand::SystemRandom::new());
        let state = State {
            options,
            kept: HashMap::new(),
            order: VecDeque::new(),
            next: 0,
            bytes: 0,
            pending: HashMap::new(),
        };
        Ok(TokenCache {
            inner,
            key: key.map_err(|_| NoRandomness)?,
            state: Arc::new(Mutex::new(state)),
            events,
        })
    }

    /// Each part with its length before it, so that no two questions read the same.
    fn digest(&self, token: &[u8], audiences: &[String]) -> Digest {
        let mut context = hmac::Context::with_key(&self.key);
        let mut part = |bytes: &[u8]| {
            context.update(&(bytes.len() as u64).to_be_bytes());
            context.update(bytes);
        };
        part(token);
        audiences.iter().for_each(|audience| part(audience.as_bytes()));
        let mut digest = [0; 32];
        digest.copy_from_slice(context.sign().as_ref());
        digest
    }

    /// Returns the lookup under way for this token, or a new one.
    fn lookup(&self, digest: Digest, token: &[u8], audiences: &[String], now: SystemTime) -> Shared<Lookup> {
        let mut state = lock(&self.state);
        if let Some(lookup) = state.pending.get(&digest).and_then(|(_, lookup)| lookup.upgrade()) {
            return lookup;
        }
        state.next += 1;
        let number = state.next;
        let (inner, state_of) = (self.inner.clone(), Arc::downgrade(&self.state));
        let (token, audiences) = (token.to_vec(), audiences.to_vec());
        let mut fetch = Fetch { state: state_of, digest, number, events: self.events.clone(), ok: None };
        let lookup: Lookup = Box::pin(async move {
            if let Some(events) = &fetch.events {
                events.fetching();
            }
            let verdict = inner.authenticate_token(&token, &audiences, now).await;
            fetch.ok = Some(verdict.is_ok());
            if let Some(state) = fetch.state.upgrade() {
                lock(&state).keep(digest, &verdict, now);
            }
            verdict
        });
        let lookup = lookup.shared();
        if let Some(weak) = lookup.downgrade() {
            state.pending.insert(digest, (number, weak));
        }
        lookup
    }
}

/// One lookup. Dropping it, when it is done or every waiting request was cancelled, removes it from the pending ones.
struct Fetch {
    state: Weak<Mutex<State>>,
    digest: Digest,
    number: u64,
    events: Option<Arc<dyn TokenCacheEvents>>,
    ok: Option<bool>,
}

impl Drop for Fetch {
    fn drop(&mut self) {
        if let Some(state) = self.state.upgrade() {
            let mut state = lock(&state);
            // A later request may have started another lookup after all requests of this one were cancelled.
            if state.pending.get(&self.digest).is_some_and(|(number, _)| *number == self.number) {
                state.pending.remove(&self.digest);
            }
        }
        if let Some(events) = &self.events {
            events.fetched(self.ok);
        }
    }
}

#[async_trait]
impl TokenAuthenticator for TokenCache {
    async fn authenticate_token(
        &self,
        token: &[u8],
        audiences: &[String],
        now: SystemTime,
    ) -> Result<Option<Identity>, Error> {
        let watch = Stopwatch::start();
        let digest = self.digest(token, audiences);
        if let Some(verdict) = lock(&self.state).get(&digest, now) {
            if let Some(events) = &self.events {
                events.looked_up(true, watch.elapsed());
            }
            return verdict;
        }
        let lookup = self.lookup(digest, token, audiences, now);
        let _waiting = Waiting::new(self.events.as_deref(), watch);
        lookup.await
    }
}

/// A request that waits for a lookup.
struct Waiting<'a>(Option<&'a dyn TokenCacheEvents>, Stopwatch);

impl<'a> Waiting<'a> {
    fn new(events: Option<&'a dyn TokenCacheEvents>, watch: Stopwatch) -> Waiting<'a> {
        if let Some(events) = events {
            events.waiting(1);
        }
        Waiting(events, watch)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if let Some(events) = self.0 {
            events.waiting(-1);
            events.looked_up(false, self.1.elapsed());
        }
    }
}

impl State {
    fn get(&self, digest: &Digest, now: SystemTime) -> Option<Verdict> {
        // A clock that was set back does not make verdicts last longer.
        let kept = self.kept.get(digest).filter(|kept| kept.since <= now && now < kept.until)?;
        Some(kept.verdict.clone())
    }

    fn keep(&mut self, digest: Digest, verdict: &Verdict, now: SystemTime) {
        let lasts = match verdict {
            Ok(Some(_)) => self.options.success,
            Ok(None) => self.options.failure,
            Err(_) if self.options.keep_errors => self.options.failure,
            Err(_) => Duration::ZERO,
        };
        let size = size_of_verdict(verdict);
        if lasts.is_zero() || size > self.options.bytes {
            return;
        }
        self.forget(&digest);
        self.next += 1;
        let kept = CachedVerdict {
            verdict: verdict.clone(),
            since: now,
            until: now + lasts,
            number: self.next,
            size,
        };
        self.order.push_back((digest, self.next));
        self.bytes += size;
        self.kept.insert(digest, kept);
        self.tidy(now);
    }

    fn forget(&mut self, digest: &Digest) {
        if let Some(kept) = self.kept.remove(digest) {
            self.bytes -= kept.size;
        }
    }

    /// Forgets what is too old, and the oldest while there is too much.
    fn tidy(&mut self, now: SystemTime) {
        while let Some((digest, number)) = self.order.front().copied() {
            let old = match self.kept.get(&digest).filter(|kept| kept.number == number) {
                Some(kept) => kept.until <= now,
                None => {
                    self.order.pop_front();
                    continue;
                }
            };
            if !old && self.kept.len() <= self.options.entries && self.bytes <= self.options.bytes {
                return;
            }
            self.order.pop_front();
            self.forget(&digest);
        }
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Roughly what a verdict takes. An identity that is shared counts as if it were not.
fn size_of_verdict(verdict: &Verdict) -> usize {
    const EACH: usize = 48;
    let texts = |texts: &[String]| texts.iter().map(|text| EACH + text.len()).sum::<usize>();
    let own = match verdict {
        Ok(Some(Identity { user, audiences, notes })) => {
            let extra: usize = user.extra.iter().map(|(key, values)| EACH + key.len() + texts(values)).sum();
            let notes = notes.as_ref().map_or(0, |notes| {
                let annotations = notes.annotations.iter();
                texts(&notes.warnings)
                    + annotations.map(|(key, value)| 2 * EACH + key.len() + value.len()).sum::<usize>()
            });
            user.name.len()
                + user.uid.len()
                + texts(&user.groups)
                + extra
                + audiences.as_ref().map_or(0, |audiences| texts(audiences))
                + notes
        }
        Ok(None) => 0,
        Err(error) => error.to_string().len(),
    };
    // The record itself, its place in the order and in the map.
    own + 320
}

#[cfg(test)]
#[path = "token_cache_tests.rs"]
mod tests;
