//! The members of the etcd cluster: connections to them, and which one to use.
//!
//! At most one attempt to connect to a member is under way at any time, and attempts follow each other with growing
//! pauses, however many calls wait for it: a store that comes back must not be met by a storm.
//!
//! A connection that failed is dropped from its member and the next call goes to the next member.

use std::hash::{BuildHasher, Hasher};
use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::time::Instant;
use tonic::transport::Channel;

use crate::classify::{chain, describe};
use crate::client::unary;
use crate::config::{Config, Error, Progress};
use crate::progress;
use crate::proto::StatusRequest;

/// The pauses between attempts to connect to one member.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// How long a call waits for a better member when the one it has is connected but failed it.
const PATIENCE: Duration = Duration::from_millis(500);

pub(crate) struct Pool {
    config: Config,
    members: Vec<Member>,
    /// Where calls go first.
    preferred: AtomicUsize,
    connections: AtomicU64,
}

struct Member {
    address: String,
    connection: Mutex<Option<Connection>>,
    /// Held while connecting, which makes attempts follow each other.
    dialing: Arc<tokio::sync::Mutex<Dialing>>,
    /// One of the `PROGRESS_` values, as of the last connection.
    progress: AtomicU8,
}

#[derive(Default)]
struct Dialing {
    failures: u32,
    not_before: Option<Instant>,
}

const PROGRESS_UNKNOWN: u8 = 0;
const PROGRESS_TRUSTED: u8 = 1;
const PROGRESS_NOT_TRUSTED: u8 = 2;

/// A connection to one member. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Connection {
    pub channel: Channel,
    pub member: usize,
    /// Tells it from earlier connections to the same member.
    id: u64,
}

impl Pool {
    pub(crate) fn new(config: Config) -> Result<Pool, Error> {
        if config.endpoints.is_empty() {
            return Err(Error::NoEndpoints);
        }
        for address in &config.endpoints {
            config.endpoint(address)?;
        }
        let member = |address: &String| Member {
            address: address.clone(),
            connection: Mutex::new(None),
            dialing: Arc::default(),
            progress: AtomicU8::new(PROGRESS_UNKNOWN),
        };
        let members: Vec<_> = config.endpoints.iter().map(member).collect();
        // Servers that start together spread over the members.
        let preferred = AtomicUsize::new(random() as usize % members.len());
        Ok(Pool { config, members, preferred, connections: AtomicU64::new(0) })
    }

    pub(crate) fn config(&self) -> &Config {
        &self.config
    }

    pub(crate) fn len(&self) -> usize {
        self.members.len()
    }

    pub(crate) fn address(&self, member: usize) -> &str {
        &self.members[member].address
    }

    /// Whether progress can be requested: every member that has been asked for its version has a good one, and one
    /// has been asked.
    pub(crate) fn progress_trusted(&self) -> bool {
        match self.config.progress {
            Progress::Always => true,
            Progress::Never => false,
            Progress::ByVersion => {
                let known = self.members.iter().map(|member| member.progress.load(Ordering::Relaxed));
                let mut known = known.filter(|progress| *progress != PROGRESS_UNKNOWN).peekable();
                known.peek().is_some() && known.all(|progress| progress == PROGRESS_TRUSTED)
            }
        }
    }

    /// A connection to any member, preferably not `avoid`, which just failed the caller. The error says what the
    /// last attempt failed with.
    pub(crate) async fn connection(
        self: &Arc<Self>,
        avoid: Option<usize>,
        deadline: Instant,
    ) -> Result<Connection, String> {
        let preferred = self.preferred.load(Ordering::Relaxed);
        let order = (0..self.len()).map(|i| (preferred + i) % self.len());
        let (candidates, avoided): (Vec<_>, Vec<_>) = order.partition(|member| Some(*member) != avoid);
        if let Some(connection) = candidates.iter().find_map(|member| self.live(*member)) {
            return Ok(connection);
        }
        let fallback = avoided.first().and_then(|member| self.live(*member));
        let (candidates, until) = match &fallback {
            Some(_) => (candidates, deadline.min(Instant::now() + PATIENCE)),
            None => (candidates.into_iter().chain(avoided).collect(), deadline),
        };
        let last = Mutex::new("no connection came up in time".to_owned());
        match tokio::time::timeout_at(until, self.dial_any(&candidates, &last)).await {
            Ok(Some(connection)) => Ok(connection),
            Ok(None) | Err(_) => fallback.ok_or_else(|| lock(&last).clone()),
        }
    }

    /// Connects to whichever of these members answers first; forever, so the caller sets the limit.
    async fn dial_any(self: &Arc<Self>, members: &[usize], last: &Mutex<String>) -> Option<Connection> {
        let dial = |member: usize| async move {
            loop {
                match self.dial(member).await {
                    Ok(connection) => return connection,
                    Err(error) => *lock(last) = error,
                }
            }
        };
        let mut attempts: FuturesUnordered<_> = members.iter().map(|member| dial(*member)).collect();
        attempts.next().await
    }

    /// One attempt to connect to a member, after its pause. Callers at the same time share its success.
    pub(crate) async fn dial(self: &Arc<Self>, index: usize) -> Result<Connection, String> {
        let mut dialing = self.members[index].dialing.clone().lock_owned().await;
        if let Some(connection) = self.live(index) {
            return Ok(connection);
        }
        if let Some(not_before) = dialing.not_before {
            tokio::time::sleep_until(not_before).await;
        }
        // In a task of its own: a caller that gives up must not make the next one begin again.
        let pool = self.clone();
        let attempt = tokio::spawn(async move {
            let attempt = tokio::time::timeout(pool.config.dial_timeout, pool.dial_once(index)).await;
            let attempt = attempt.unwrap_or_else(|_| Err("timed out".to_owned()));
            *dialing = match &attempt {
                Ok(connection) => {
                    *lock(&pool.members[index].connection) = Some(connection.clone());
                    Dialing::default()
                }
                Err(error) => {
                    let pause = backoff(dialing.failures);
                    tracing::debug!(endpoint = pool.address(index), error, ?pause, "cannot connect to etcd");
                    Dialing { failures: dialing.failures + 1, not_before: Some(Instant::now() + pause) }
                }
            };
            attempt
        });
        let attempt = attempt.await.unwrap_or_else(|error| Err(error.to_string()));
        attempt.map_err(|error| format!("{}: {error}", self.address(index)))
    }

    /// A connection is usable once the member has reported its version over it.
    async fn dial_once(&self, index: usize) -> Result<Connection, String> {
        let member = &self.members[index];
        let endpoint = self.config.endpoint(&member.address).map_err(|error| error.to_string())?;
        let channel = match &self.config.dialer {
            Some(dialer) => endpoint.connect_with_connector(dialer.clone()).await,
            None => endpoint.connect().await,
        };
        let channel = channel.map_err(|error| chain(&error))?;
        let status = unary(&channel, StatusRequest {}, self.config.max_message_bytes).await;
        let status = status.map_err(|status| describe(&status))?;
        let trusted = progress::is_trusted(&status.version);
        tracing::debug!(endpoint = member.address, version = status.version, "connected to etcd");
        let known = if trusted { PROGRESS_TRUSTED } else { PROGRESS_NOT_TRUSTED };
        if member.progress.swap(known, Ordering::Relaxed) != known && !trusted {
            let (endpoint, version) = (&member.address, &status.version);
            tracing::info!(endpoint, version, "watch progress of this etcd cannot be trusted");
        }
        let id = self.connections.fetch_add(1, Ordering::Relaxed);
        Ok(Connection { channel, member: index, id })
    }

    /// Gives up a connection that failed, if it is still the member's, and prefers another member.
    pub(crate) fn failed(&self, connection: &Connection) {
        let mut current = lock(&self.members[connection.member].connection);
        if current.as_ref().is_some_and(|current| current.id == connection.id) {
            *current = None;
        }
        drop(current);
        self.prefer_another(connection.member);
    }

    /// The next call goes elsewhere first.
    pub(crate) fn prefer_another(&self, member: usize) {
        let next = (member + 1) % self.len();
        // Of many calls that failed together one moves on.
        let _ = self.preferred.compare_exchange(member, next, Ordering::Relaxed, Ordering::Relaxed);
    }

    fn live(&self, member: usize) -> Option<Connection> {
        lock(&self.members[member].connection).clone()
    }
}

/// A poisoned lock guards nothing that could be half done.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The pause after so many failures in a row before: doubling up to a limit, and spread so that servers do not march in step.
pub(crate) fn backoff(failures: u32) -> Duration {
    let pause = FIRST_PAUSE.saturating_mul(1 << failures.min(10)).min(LONGEST_PAUSE);
    pause.mul_f64(0.5 + (random() % 1000) as f64 / 2000.0)
}

/// Good enough for spreading.
fn random() -> u64 {
    std::hash::RandomState::new().build_hasher().finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_a_limit() {
        for failures in 0..100 {
            let full = FIRST_PAUSE.saturating_mul(1 << failures.min(10)).min(LONGEST_PAUSE);
            let pause = backoff(failures);
            assert!(pause >= full / 2 && pause <= full, "{failures}: {pause:?}");
        }
    }

    #[tokio::test]
    async fn callers_that_wait_for_a_dead_member_do_not_storm_it() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let endpoints = vec![listener.local_addr().unwrap().to_string()];
        let dial_timeout = Duration::from_millis(50);
        let pool = Arc::new(Pool::new(Config { endpoints, dial_timeout, ..Config::default() }).unwrap());
        let deadline = Instant::now() + Duration::from_millis(800);
        let mut callers = tokio::task::JoinSet::new();
        for _ in 0..100 {
            let pool = pool.clone();
            callers.spawn(async move { pool.connection(None, deadline).await.is_err() });
        }
        assert!(callers.join_all().await.into_iter().all(|failed| failed));
        let attempts = std::iter::from_fn(|| listener.accept().ok()).count();
        assert!((2..=12).contains(&attempts), "{attempts} attempts by 100 callers");
    }
}
