//! The data key source that writes use, and its rotation.
//!
//! The plugin is asked for its status every minute, every ten seconds while it fails. A status with another key id makes a new
//! seed, which the plugin encrypts; one with the same key id lets the seed be used for three minutes more. A seed that is older
//! than that is not written with, so that a key that was replaced or revoked does not stay in use; reads need no status.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use bytes::Bytes;
use pintle_meta::field_path::aggregate;
use pintle_meta::time::Time;
use pintle_meta::{names, quote};
use pintle_runtime::{Clock, Random, Spawner};
use tokio::sync::Mutex;
use zeroize::Zeroizing;

use super::messages::{EncryptedObject, StatusResponse};
use super::object::{DataKeySource, SEED, validate_key_id};
use super::service::Service;
use crate::failure::Failure;
use crate::health::{AnswerKept, Probe};
use crate::kms::generate_key;
use crate::metrics::{Metrics, hash_if_any};

/// The interval of asking a plugin that is well...
const INTERVAL: Duration = Duration::from_secs(60);
/// ...and one that is not.
const FAST_INTERVAL: Duration = Duration::from_secs(10);
/// How long a seed is written with after a good status.
const LIFETIME: Duration = Duration::from_secs(3 * 60);

/// The versions of the protocol, which are the same.
const VERSIONS: [&str; 2] = ["v2", "v2beta1"];

/// The source of data keys for writes.
#[derive(Clone)]
pub(crate) struct State {
    pub(crate) source: Arc<DataKeySource>,
    /// As it is stored with values, without data.
    pub(crate) stored: Arc<EncryptedObject>,
    pub(crate) digest: [u8; 32],
    /// The end of its use for writes, on the monotonic clock and as messages show it.
    until: Instant,
    until_shown: Time,
}

/// One plugin: its state and its health.
pub(crate) struct Plugin {
    pub(crate) name: String,
    pub(crate) service: Service,
    pub(crate) clock: Clock,
    random: Random,
    metrics: Metrics,
    state: RwLock<Option<State>>,
    status: Mutex<LastStatus>,
}

struct LastStatus {
    kept: AnswerKept,
    /// The version of the first status; empty before.
    version: String,
}

impl Plugin {
    pub(crate) fn new(
        name: String,
        service: Service,
        clock: Clock,
        random: Random,
        metrics: Metrics,
    ) -> Plugin {
        let status = LastStatus { kept: AnswerKept::new(clock.clone()), version: String::new() };
        let (state, status) = (RwLock::default(), Mutex::new(status));
        Plugin { name, service, clock, random, metrics, state, status }
    }

    /// Returns the source of writes, which may be too old for them.
    pub(crate) fn state(&self) -> Result<State, Failure> {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner).clone();
        state.ok_or_else(|| Failure::new("got unexpected nil transformer"))
    }

    fn set(&self, state: State) {
        *self.state.write().unwrap_or_else(PoisonError::into_inner) = Some(state);
    }

    /// Checks that a source may be written with.
    pub(crate) fn check_age(&self, state: &State) -> Result<(), Failure> {
        if self.clock.instant() <= state.until {
            return Ok(());
        }
        let now: Time = self.clock.now().into();
        let key = quote(&hash_if_any(&state.stored.key_id));
        Err(Failure::new(format!(
            "encryptedDEKSource with keyID hash {key} expired at {} (current time is {now})",
            state.until_shown
        )))
    }

    /// Asks the plugin once now, and from then on in the background.
    pub(crate) async fn start(self: Arc<Plugin>, spawner: &Spawner) {
        let is_well = self.check_and_log().await;
        spawner.spawn_until_stop(async move {
            if !is_well {
                self.ask_fast().await;
            }
            loop {
                self.clock.sleep(INTERVAL).await;
                if !self.check_and_log().await {
                    self.ask_fast().await;
                }
            }
        });
    }

    async fn ask_fast(&self) {
        loop {
            self.clock.sleep(FAST_INTERVAL).await;
            if self.check_and_log().await {
                return;
            }
        }
    }

    async fn check_and_log(&self) -> bool {
        let checked = self.check().await;
        if let Err(error) = &checked {
            tracing::warn!(error, name = self.name, "kms plugin failed health check probe");
        }
        checked.is_ok()
    }

    async fn examine(&self, status: &StatusResponse, version: &mut String) -> Result<(), String> {
        let mut errors = Vec::new();
        if status.healthz != "ok" {
            errors.push(format!("got unexpected healthz status: {}", status.healthz));
        }
        if !VERSIONS.contains(&&*status.version) {
            errors.push(format!("expected KMSv2 API version {}, got {}", VERSIONS[0], status.version));
        } else if version.is_empty() {
            version.clone_from(&status.version);
        } else if *version != status.version {
            errors.push(format!(
                "KMSv2 API version should not change after the initial status response version {version}, got {}",
                status.version
            ));
        }
        match validate_key_id(&status.key_id) {
            Err((code, why)) => {
                self.metrics.invalid_key_id(&self.name, code);
                let hash = quote(&hash_if_any(&status.key_id));
                errors.push(format!("got invalid KMSv2 KeyID hash {hash}: {why}"));
            }
            Ok(()) => {
                self.metrics.key_id_reported(&self.name, &status.key_id);
                errors.extend(self.rotate(&status.key_id).await.err());
            }
        }
        if errors.is_empty() {
            return Ok(());
        }
        Err(format!("kmsv2 Provider {} is not healthy, error: {}", self.name, aggregate(&errors)))
    }

    /// Makes a new seed if the plugin uses another key than the current seed has; lets the current one be used longer if not.
    /// Where that fails, the current one stays as it is.
    async fn rotate(&self, key_id: &str) -> Result<(), String> {
        let current = self.state();
        // Before the plugin is asked, since this is to be the longest time.
        let until = self.clock.instant() + LIFETIME;
        let until_shown: Time = (self.clock.now() + LIFETIME).into();
        if let Ok(state) = &current
            && state.stored.key_id == key_id
            && state.stored.encrypted_dek_source_type == SEED
        {
            self.set(State { until, until_shown, ..state.clone() });
            return Ok(());
        }
        let uid = self.uid();
        let made = self.make(&uid).await;
        let (failure, made_key_id) = match made {
            Ok((source, stored)) if stored.key_id == key_id => {
                let (digest, source, stored) = (stored.digest(), Arc::new(source), Arc::new(stored));
                self.set(State { source, stored, digest, until, until_shown });
                tracing::debug!(uid, "successfully rotated DEK");
                return Ok(());
            }
            Ok((_, stored)) => ("<nil>".to_owned(), stored.key_id),
            Err(failure) => (failure.to_string(), String::new()),
        };
        let (state_failure, state_key_id, shown) = match &current {
            Ok(state) => ("<nil>".to_owned(), state.stored.key_id.clone(), state.until_shown.to_string()),
            Err(failure) => (failure.to_string(), String::new(), "0001-01-01T00:00:00Z".to_owned()),
        };
        let [status, encrypt, state] =
            [key_id, &made_key_id, &state_key_id].map(|key_id| quote(&hash_if_any(key_id)));
        Err(format!(
            "failed to rotate DEK uid={}, useSeed=true, errState={state_failure}, errGen={failure}, \
             statusKeyIDHash={status}, encryptKeyIDHash={encrypt}, stateKeyIDHash={state}, expirationTimestamp={shown}",
            quote(&uid)
        ))
    }

    /// Makes a seed and has the plugin encrypt it.
    async fn make(&self, uid: &str) -> Result<(DataKeySource, EncryptedObject), Failure> {
        let seed = generate_key(&self.metrics)?;
        let answer = self.service.encrypt(uid, &seed).await;
        let answer = answer.map_err(|failure| failure.wrapped("failed to encrypt DEK, error: "))?;
        let stored = EncryptedObject {
            encrypted_data: Bytes::new(),
            key_id: answer.key_id,
            encrypted_dek_source: answer.ciphertext,
            annotations: answer.annotations,
            encrypted_dek_source_type: SEED,
        };
        stored.validate_source().map_err(Failure::new)?;
        Ok((DataKeySource::new(SEED, Zeroizing::new(seed.to_vec()))?, stored))
    }

    /// Returns an identifier of one call.
    pub(crate) fn uid(&self) -> String {
        names::uuid((u128::from(self.random.number()) << 64) | u128::from(self.random.number()))
    }
}

#[async_trait]
impl Probe for Plugin {
    async fn check(&self) -> Result<(), String> {
        let mut last = self.status.lock().await;
        if let Some(answer) = last.kept.answer() {
            return answer;
        }
        let status = match self.service.status().await {
            Ok(status) => status,
            Err(failure) => {
                last.kept.keep(Err(failure.to_string()));
                return Err(format!(
                    "failed to perform status section of the healthz check for KMS Provider {}, error: {failure}",
                    self.name
                ));
            }
        };
        let examined = self.examine(&status, &mut last.version).await;
        last.kept.keep(examined.clone());
        examined
    }
}
