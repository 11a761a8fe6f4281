//! Another program that signs tokens and knows the keys (`ExternalJWTSigner`), asked over a unix socket.
//!
//! Its keys are fetched at start, then as often as it says itself, and whenever a token names one that is not known. One
//! fetch is under way at a time and all requests that need it share its outcome. After a failed fetch, the old keys stay.

mod header;
mod messages;
#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, Weak};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use pintle_meta::{Value, quote};
use pintle_outbound::grpc::{self, Code, Method, Status, UnixClient};
use pintle_runtime::{Clock, Spawner, Stopwatch};

use self::header::Header;
use self::messages::{FetchKeysRequest, Key, MetadataRequest, SignRequest, Timestamp};
use super::{KeySource, Keys, PublicKey, Signer};
use crate::jwt::is_ed25519;

/// The pause after a refresh that failed.
const AFTER_FAILURE: Duration = Duration::from_secs(10);
/// Longer names of keys are not accepted.
const LONGEST_ID: usize = 1024;
const METADATA_TIMEOUT: Duration = Duration::from_secs(10);
/// The code in metrics of failures that are not gRPC statuses.
const NOT_GRPC: &str = "unknown-non-grpc";

/// The address of the signer and the limits of calls, which include the wait for a signer that does not listen yet.
#[derive(Clone, Debug)]
pub struct Options {
    /// The path of a socket, or `@name` in the abstract namespace.
    pub address: String,
    pub fetch_timeout: Duration,
    pub sign_timeout: Duration,
}

/// Receives events for metrics. Codes are those of gRPC in Go's words, or `unknown-non-grpc`.
pub trait Events: Send + Sync + 'static {
    /// A call ended.
    fn called(&self, method: &'static str, code: &'static str, took: Duration);
    /// Keys were fetched and read, or not.
    fn keys_fetched(&self, code: &'static str);
    /// When the signer got the keys it gave, in seconds since 1970.
    fn keys_dated(&self, seconds: f64);
    /// A token was made, or not.
    fn signed(&self, code: &'static str);
}

/// The program that signs.
pub struct External {
    client: UnixClient,
    options: Options,
    events: Arc<dyn Events>,
    clock: Clock,
    fetched: RwLock<Fetched>,
    /// Number of fetches that have ended.
    fetches: AtomicU64,
    /// Held while fetching; what the last fetch came to.
    fetching: tokio::sync::Mutex<Result<(), String>>,
}

#[derive(Clone)]
struct Fetched {
    keys: Arc<Keys>,
    refresh_at: Instant,
}

/// Words, and what they are counted under.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Failure {
    code: &'static str,
    message: String,
}

impl Failure {
    fn new(message: impl Into<String>) -> Failure {
        Failure { code: NOT_GRPC, message: message.into() }
    }

    fn after(self, doing: &str) -> Failure {
        Failure { message: format!("{doing}: {}", self.message), ..self }
    }
}

impl From<Status> for Failure {
    fn from(status: Status) -> Failure {
        Failure { code: grpc::code_name(status.code), message: status.to_string() }
    }
}

fn code_of<T>(result: &Result<T, Failure>) -> &'static str {
    result.as_ref().err().map_or(grpc::code_name(Code::Ok), |failure| failure.code)
}

impl External {
    /// Connects and fetches the keys, and keeps them fresh until the last owner drops it. Waits for a signer that does not
    /// listen yet.
    pub async fn connect(
        options: Options,
        events: Arc<dyn Events>,
        clock: Clock,
        spawner: &Spawner,
    ) -> Result<Arc<External>, String> {
        let external = Arc::new(External {
            client: UnixClient::new(options.address.clone()),
            options,
            events,
            fetched: RwLock::new(Fetched { keys: Arc::default(), refresh_at: clock.instant() }),
            clock: clock.clone(),
            fetches: AtomicU64::new(0),
            fetching: tokio::sync::Mutex::new(Ok(())),
        });
        let filled = external.sync().await;
        filled.map_err(|error| {
            format!("while initially filling key cache: while performing initial cache fill: {error}")
        })?;
        spawner.spawn_until_stop(keep_fresh(Arc::downgrade(&external), clock));
        Ok(external)
    }

    /// The longest life of a token that it signs.
    pub async fn max_token_seconds(&self) -> Result<i64, String> {
        let response = self.call(MetadataRequest {}, METADATA_TIMEOUT).await;
        Ok(response.map_err(|status| status.to_string())?.max_token_expiration_seconds)
    }

    async fn call<M: Method>(&self, request: M, limit: Duration) -> Result<M::Response, Status> {
        let watch = Stopwatch::start();
        let result = self.client.call(request, limit).await;
        let code = result.as_ref().err().map_or(Code::Ok, |status| status.code);
        self.events.called(M::PATH, grpc::code_name(code), watch.elapsed());
        result
    }

    fn fetched(&self) -> Fetched {
        self.fetched.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Fetches the keys, or waits for the fetch under way.
    async fn sync(&self) -> Result<(), String> {
        let before = self.fetches.load(Ordering::Acquire);
        let mut outcome = self.fetching.lock().await;
        if self.fetches.load(Ordering::Acquire) != before {
            return outcome.clone();
        }
        let fetched = self.fetch().await;
        self.events.keys_fetched(code_of(&fetched));
        *outcome = match fetched {
            Ok((fetched, seconds)) => {
                *self.fetched.write().unwrap_or_else(PoisonError::into_inner) = fetched;
                self.events.keys_dated(seconds);
                Ok(())
            }
            Err(failure) => Err(failure.after("while fetching token verification keys").message),
        };
        self.fetches.fetch_add(1, Ordering::Release);
        outcome.clone()
    }

    async fn fetch(&self) -> Result<(Fetched, f64), Failure> {
        let response = self.call(FetchKeysRequest {}, self.options.fetch_timeout).await;
        let response = response.map_err(|status| {
            Failure::from(status).after("while getting externally supported jwt signing keys")
        })?;
        let hint = u64::try_from(response.refresh_hint_seconds).unwrap_or(0);
        if hint == 0 {
            let hint = response.refresh_hint_seconds;
            return Err(Failure::new(format!("found invalid refresh hint ({hint}s)")));
        }
        if response.keys.is_empty() {
            return Err(Failure::new("found no keys"));
        }
        let dated = seconds(response.data_timestamp.as_ref())?;
        let keys = read_keys(&response.keys)?;
        // An `Instant` cannot hold every hint; a year is as good as never.
        let refresh_at = self.clock.instant() + Duration::from_secs(hint.min(365 * 24 * 3600));
        Ok((Fetched { keys: Arc::new(keys), refresh_at }, dated))
    }

    async fn assemble(&self, claims: &Value) -> Result<String, Failure> {
        let mut payload = Vec::new();
        pintle_codec::json::encode(claims, &mut payload);
        let payload = URL_SAFE_NO_PAD.encode(payload);
        let request = SignRequest { claims: payload.clone() };
        let response = self.call(request, self.options.sign_timeout).await;
        let response = response.map_err(|status| Failure::from(status).after("while signing jwt"))?;
        let checked = self.check(&response.header).await;
        checked.map_err(|why| Failure::new(format!("while validating header: {why}")))?;
        if response.signature.is_empty() {
            return Err(Failure::new("empty signature returned"));
        }
        Ok([response.header, payload, response.signature].join("."))
    }

    /// A header that says what it must and nothing else, of a key that others can know.
    async fn check(&self, header: &str) -> Result<(), String> {
        let Header { id } = Header::read(header)?;
        if self.knowing(Some(&id)).await.hides(&id) {
            return Err(format!("key used for signing JWT (kid: {id}) is excluded from OIDC discovery docs"));
        }
        Ok(())
    }
}

fn read_keys(given: &[Key]) -> Result<Keys, Failure> {
    let mut keys = Vec::with_capacity(given.len());
    let (mut shown, mut unusable) = (0, Vec::new());
    for Key { key_id, key, exclude_from_oidc_discovery } in given {
        let place = shown;
        shown += usize::from(!exclude_from_oidc_discovery);
        if key_id.is_empty() || key_id.len() > LONGEST_ID {
            return Err(Failure::new(format!("found invalid public key id {}", quote(key_id))));
        }
        if key.is_empty() {
            return Err(Failure::new("found empty public key"));
        }
        // A key like others, although no token can be signed with it.
        if is_ed25519(key) {
            unusable.extend(Some(place).filter(|_| !exclude_from_oidc_discovery));
            continue;
        }
        let public = PublicKey::from_spki(key).ok_or_else(|| {
            let id = quote(key_id);
            Failure::new(format!(
                "while parsing external public keys: {id} is not an RSA or ECDSA public key"
            ))
        })?;
        keys.push((public.with_id(key_id.as_str()), *exclude_from_oidc_discovery));
    }
    Ok(Keys::with_hidden(keys).beside_unusable(unusable))
}

/// A time between the years 1 and 9999, in seconds since 1970.
fn seconds(time: Option<&Timestamp>) -> Result<f64, Failure> {
    let invalid = |why: &str| Failure::new(format!("invalid data timestamp: proto: {why}"));
    let Some(Timestamp { seconds, nanos }) = time else {
        return Err(invalid("invalid nil Timestamp"));
    };
    let shown = format!("timestamp (seconds:{seconds} nanos:{nanos})");
    match (seconds, nanos) {
        (..-62_135_596_800, _) => Err(invalid(&format!("{shown} before 0001-01-01"))),
        (253_402_300_800.., _) => Err(invalid(&format!("{shown} after 9999-12-31"))),
        (_, ..0 | 1_000_000_000..) => Err(invalid(&format!("{shown} has out-of-range nanos"))),
        _ => Ok(*seconds as f64 + f64::from(*nanos) / 1e9),
    }
}

/// Fetches the keys whenever they are due, until the last owner of the signer drops it.
async fn keep_fresh(external: Weak<External>, clock: Clock) {
    let mut next = match external.upgrade() {
        Some(external) => external.fetched().refresh_at,
        None => return,
    };
    loop {
        clock.sleep(next.saturating_duration_since(clock.instant())).await;
        let Some(external) = external.upgrade() else { return };
        next = match external.sync().await {
            Ok(()) => external.fetched().refresh_at,
            Err(error) => {
                tracing::error!(
                    "when syncing supported public keys(Stale set of keys will be supported): {error}"
                );
                clock.instant() + AFTER_FAILURE
            }
        };
    }
}

#[async_trait]
impl KeySource for External {
    fn current(&self) -> Arc<Keys> {
        self.fetched().keys
    }

    async fn knowing(&self, id: Option<&str>) -> Arc<Keys> {
        let keys = self.current();
        if keys.named(id).next().is_some() {
            return keys;
        }
        if let Err(error) = self.sync().await {
            tracing::error!(error, "Error while syncing keys");
        }
        let keys = self.current();
        if let Some(id) = id
            && keys.named(Some(id)).next().is_none()
        {
            tracing::error!("Key id {} not found after refresh", quote(id));
        }
        keys
    }

    fn max_age(&self) -> Duration {
        self.fetched().refresh_at.saturating_duration_since(self.clock.instant())
    }
}

#[async_trait]
impl Signer for External {
    async fn sign(&self, claims: &Value) -> Result<String, String> {
        let token = self.assemble(claims).await;
        self.events.signed(code_of(&token));
        token.map_err(|failure| failure.message)
    }
}
