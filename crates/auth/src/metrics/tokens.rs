//! Uses of service account tokens, and the cache of token authentications.

use std::sync::OnceLock;
use std::time::Duration;

use pintle_metrics::{Counter, Counters, DEFAULT_BUCKETS, Error, Gauges, Histogram, Histograms, Registry};

use super::Metrics;
use crate::authenticator::TokenCacheEvents;
use crate::service_account::Use;

pub(super) struct TokenMetrics {
    uses: [(Use, Counter); 6],
    requests: Counters,
    durations: Histograms,
    /// The metrics of cache hits, which is most lookups.
    hits: OnceLock<(Counter, Histogram)>,
    fetches: Counters,
    active: Gauges,
}

impl TokenMetrics {
    pub(super) fn new(registry: &Registry) -> Result<TokenMetrics, Error> {
        let counter = |usage: Use, name: &str, help: &str| {
            let name = format!("serviceaccount_{name}_total");
            Ok::<_, Error>((usage, registry.counter(&name, help)?))
        };
        Ok(TokenMetrics {
            uses: [
                counter(Use::Legacy, "legacy_tokens", "Service account tokens used that name no audience.")?,
                counter(
                    Use::Stale,
                    "stale_tokens",
                    "Extended service account tokens used after their time.",
                )?,
                counter(Use::Valid, "valid_tokens", "Extended service account tokens used in their time.")?,
                counter(
                    Use::ManualSecret,
                    "legacy_manual_token_uses",
                    "Tokens used of secrets that were made by hand.",
                )?,
                counter(
                    Use::AutomaticSecret,
                    "legacy_auto_token_uses",
                    "Tokens used of secrets that service accounts list.",
                )?,
                counter(
                    Use::InvalidSecret,
                    "invalid_legacy_auto_token_uses",
                    "Tokens used of secrets that were marked invalid.",
                )?,
            ],
            requests: registry.counters(
                "authentication_token_cache_request_total",
                "Tokens looked up, by whether they were known.",
                &["status"],
            )?,
            durations: registry.histograms(
                "authentication_token_cache_request_duration_seconds",
                "Time to find out whose a token is, by whether it was known.",
                &["status"],
                &DEFAULT_BUCKETS,
            )?,
            hits: OnceLock::new(),
            fetches: registry.counters(
                "authentication_token_cache_fetch_total",
                "Tokens asked about, by outcome.",
                &["status"],
            )?,
            active: registry.gauges(
                "authentication_token_cache_active_fetch_count",
                "Tokens being asked about, and requests that wait for that.",
                &["status"],
            )?,
        })
    }

    fn looked_up(&self, status: &str) -> (Counter, Histogram) {
        (self.requests.with(&[status]), self.durations.with(&[status]))
    }
}

impl Metrics {
    /// Counts the use of a service account token.
    pub fn token_used(&self, usage: Use) {
        if let Some((_, counter)) = self.0.tokens.uses.iter().find(|(counted, _)| *counted == usage) {
            counter.inc();
        }
    }
}

impl TokenCacheEvents for Metrics {
    fn looked_up(&self, hit: bool, took: Duration) {
        let tokens = &self.0.tokens;
        let missed;
        let (total, duration) = if hit {
            tokens.hits.get_or_init(|| tokens.looked_up("hit"))
        } else {
            missed = tokens.looked_up("miss");
            &missed
        };
        total.inc();
        duration.observe(took.as_secs_f64());
    }

    fn waiting(&self, change: i64) {
        self.0.tokens.active.with(&["blocked"]).add(change);
    }

    fn fetching(&self) {
        self.0.tokens.active.with(&["in_flight"]).inc();
    }

    fn fetched(&self, ok: Option<bool>) {
        self.0.tokens.active.with(&["in_flight"]).dec();
        let status = if ok == Some(true) { "ok" } else { "error" };
        self.0.tokens.fetches.with(&[status]).inc();
    }
}
