//! The keys of an issuer: found by discovery, fetched when a token needs one that is not there yet.
//!
//! A client can send tokens with key ids that do not exist. So the rate of fetches, their size and their duration are bounded.

use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use bytes::Bytes;
use pintle_outbound::{Client, ClientOptions, Url};
use pintle_runtime::Clock;
use serde::Deserialize;

use super::KeyEvents;
use crate::jwt::{Algorithm, Claims, PublicKey, Unverified, read_set};

/// Fetches that may follow each other at once, since keys may be rotated at any time.
const BURST: u32 = 5;
/// After these, one fetch in so much time.
const REFILL: Duration = Duration::from_secs(10);
/// Size limit of a discovery document or key set.
const LARGEST: usize = 1 << 20;
/// More keys are not an issuer's.
const MOST_KEYS: usize = 256;

#[derive(Deserialize)]
struct Discovery {
    issuer: Option<String>,
    jwks_uri: Option<String>,
}

/// Talks to an issuer.
pub(super) struct Provider {
    client: Client,
    url: Url,
    keys: RwLock<Arc<Vec<PublicKey>>>,
    /// Held while keys are fetched, so that concurrent requests share one fetch.
    fetching: tokio::sync::Mutex<()>,
    allowance: Mutex<(u32, Instant)>,
    issuer: String,
    events: Option<Arc<dyn KeyEvents>>,
    clock: Clock,
}

fn get_options(options: &ClientOptions) -> ClientOptions {
    ClientOptions { largest_answer: LARGEST, follow_redirects: true, ..options.clone() }
}

impl Provider {
    /// Asks the issuer where its keys are.
    pub(super) async fn discover(
        issuer: &str,
        discovery_url: &str,
        options: &ClientOptions,
        events: Option<Arc<dyn KeyEvents>>,
        clock: Clock,
    ) -> Result<Provider, String> {
        let url = match discovery_url {
            "" => format!("{}/.well-known/openid-configuration", issuer.trim_end_matches('/')),
            url => url.to_owned(),
        };
        let url = Url::parse(&url).map_err(|error| error.to_string())?;
        let client = Client::new(&url, get_options(options)).map_err(|error| error.to_string())?;
        let answer = client.get(&url).await.map_err(|error| error.to_string())?;
        if answer.status != 200 {
            let shown = answer.body.get(..512).unwrap_or(&answer.body);
            return Err(format!("{}: {}", answer.status, String::from_utf8_lossy(shown)));
        }
        let found: Discovery = serde_json::from_slice(&answer.body)
            .map_err(|error| format!("oidc: failed to decode provider discovery object: {error}"))?;
        let said = found.issuer.unwrap_or_default();
        if said != issuer {
            return Err(format!(
                "oidc: issuer did not match the issuer returned by provider, expected {} got {}",
                pintle_meta::quote(issuer),
                pintle_meta::quote(&said)
            ));
        }
        let keys_at =
            found.jwks_uri.filter(|uri| !uri.is_empty()).ok_or("provider did not return JWKS URL")?;
        let url = Url::parse(&keys_at).map_err(|error| error.to_string())?;
        if !url.is_https() {
            return Err(format!("the keys of an issuer must be at an https URL, and {keys_at} is none"));
        }
        let client = Client::new(&url, get_options(options)).map_err(|error| error.to_string())?;
        Ok(Provider {
            client,
            url,
            keys: RwLock::default(),
            fetching: tokio::sync::Mutex::new(()),
            allowance: Mutex::new((BURST, clock.instant())),
            issuer: issuer.to_owned(),
            events,
            clock,
        })
    }

    fn known(&self) -> Arc<Vec<PublicKey>> {
        self.keys.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The claims of a token, if one of the issuer's keys has signed them.
    pub(super) async fn verify(
        &self,
        token: &Unverified<'_>,
        allowed: &[Algorithm],
    ) -> Result<Claims, String> {
        let known = self.known();
        if let Some(claims) = verify_with(&known, token, allowed) {
            return Ok(claims);
        }
        let failed = || "failed to verify id token signature".to_owned();
        let _one = self.fetching.lock().await;
        let mut current = self.known();
        // Another request may have fetched them during the wait.
        if Arc::ptr_eq(&current, &known) {
            if !self.may_fetch() {
                return Err(failed());
            }
            current = self.fetch().await.map_err(|error| format!("fetching keys {error}"))?;
        }
        verify_with(&current, token, allowed).ok_or_else(failed)
    }

    fn may_fetch(&self) -> bool {
        let mut allowance = self.allowance.lock().unwrap_or_else(PoisonError::into_inner);
        let (left, since) = &mut *allowance;
        let now = self.clock.instant();
        let passed = now.saturating_duration_since(*since).as_secs();
        let gained = u32::try_from(passed / REFILL.as_secs()).unwrap_or(u32::MAX);
        if gained > 0 {
            *left = left.saturating_add(gained).min(BURST);
            *since = now;
        }
        match left.checked_sub(1) {
            Some(rest) => *left = rest,
            None => return false,
        }
        true
    }

    async fn fetch(&self) -> Result<Arc<Vec<PublicKey>>, String> {
        let fetched = self.read().await;
        if let Some(events) = &self.events {
            events.fetched(&self.issuer, fetched.as_ref().ok().map(|(_, text)| text.as_ref()));
        }
        let keys = Arc::new(fetched?.0);
        *self.keys.write().unwrap_or_else(PoisonError::into_inner) = keys.clone();
        Ok(keys)
    }

    /// The keys, and the text that they were in.
    async fn read(&self) -> Result<(Vec<PublicKey>, Bytes), String> {
        let answer =
            self.client.get(&self.url).await.map_err(|error| format!("oidc: get keys failed {error}"))?;
        if answer.status != 200 {
            let shown = answer.body.get(..512).unwrap_or(&answer.body);
            return Err(format!(
                "oidc: get keys failed: {} {}",
                answer.status,
                String::from_utf8_lossy(shown)
            ));
        }
        let keys = read_set(&answer.body).map_err(|error| format!("oidc: failed to decode keys: {error}"))?;
        if keys.len() > MOST_KEYS {
            return Err(format!("oidc: the issuer has more than {MOST_KEYS} keys"));
        }
        Ok((keys, answer.body))
    }
}

fn verify_with(keys: &[PublicKey], token: &Unverified<'_>, allowed: &[Algorithm]) -> Option<Claims> {
    let fits = |key: &&PublicKey| token.key_id().is_none_or(|id| id == key.id());
    keys.iter().filter(fits).find_map(|key| token.verify(key, allowed).ok())
}
