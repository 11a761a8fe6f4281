//! Figures about tokens: those of service accounts that are used, and the cache of verdicts on all of them.

use std::sync::OnceLock;
use std::time::Duration;

use pintle_auth::authenticator::TokenCacheEvents;
use pintle_auth::service_account::Use;
use prometheus::{Histogram, HistogramVec, IntCounter, IntCounterVec, IntGaugeVec};

use super::labels::Labelled;
use super::{Maker, Metrics};

pub(super) struct TokenFigures {
    uses: [(Use, IntCounter); 6],
    requests: Labelled<IntCounterVec>,
    durations: Labelled<HistogramVec>,
    /// Of tokens that were known, which is most of them.
    hits: OnceLock<(IntCounter, Histogram)>,
    fetches: Labelled<IntCounterVec>,
    active: Labelled<IntGaugeVec>,
}

impl TokenFigures {
    pub(super) fn new(maker: &Maker<'_>) -> Result<TokenFigures, prometheus::Error> {
        let counter = |usage: Use, name: &str, help: &str| {
            let name = format!("serviceaccount_{name}_total");
            let counter = IntCounter::new(&name, help)?;
            maker.register(&name, Box::new(counter.clone()))?;
            Ok::<_, prometheus::Error>((usage, counter))
        };
        Ok(TokenFigures {
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
            requests: maker.counter(
                "authentication_token_cache_request_total",
                "Tokens looked up, by whether they were known.",
                &["status"],
            )?,
            durations: maker.histogram(
                "authentication_token_cache_request_duration_seconds",
                "Time to find out whose a token is, by whether it was known.",
                &["status"],
                prometheus::DEFAULT_BUCKETS,
            )?,
            hits: OnceLock::new(),
            fetches: maker.counter(
                "authentication_token_cache_fetch_total",
                "Tokens asked about, by outcome.",
                &["status"],
            )?,
            active: maker.gauge(
                "authentication_token_cache_active_fetch_count",
                "Tokens being asked about, and requests that wait for that.",
                &["status"],
            )?,
        })
    }

    fn looked_up(&self, status: &str) -> (IntCounter, Histogram) {
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
        let figures = &self.0.tokens;
        let missed;
        let (total, duration) = match hit {
            true => figures.hits.get_or_init(|| figures.looked_up("hit")),
            false => {
                missed = figures.looked_up("miss");
                &missed
            }
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
