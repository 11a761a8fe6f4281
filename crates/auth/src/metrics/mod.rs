//! The metrics of authentication, authorization and impersonation, of service account tokens, and of the webhooks, token
//! issuers and signers that this server asks.

mod access;
mod peers;
mod signer;
mod tokens;

use std::sync::Arc;
use std::time::SystemTime;

use pintle_metrics::{Error, Registry};
use pintle_runtime::Clock;

use access::AccessMetrics;
pub use access::MeasuredAuthorizer;
pub use peers::Configuration;
use peers::PeerMetrics;
use signer::SignerMetrics;
use tokens::TokenMetrics;

/// The metrics of this crate. Clones are the same metrics.
#[derive(Clone)]
pub struct Metrics(Arc<Inner>);

struct Inner {
    clock: Clock,
    access: AccessMetrics,
    peers: PeerMetrics,
    tokens: TokenMetrics,
    signer: SignerMetrics,
}

impl Metrics {
    /// Registers all families. `clock` tells when something happened last.
    pub fn new(registry: &Registry, clock: &Clock) -> Result<Metrics, Error> {
        Ok(Metrics(Arc::new(Inner {
            clock: clock.clone(),
            access: AccessMetrics::new(registry)?,
            peers: PeerMetrics::new(registry)?,
            tokens: TokenMetrics::new(registry)?,
            signer: SignerMetrics::new(registry)?,
        })))
    }

    /// Returns the time of day in seconds since 1970.
    fn unix_time(&self) -> f64 {
        self.0.clock.now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs_f64()
    }
}
