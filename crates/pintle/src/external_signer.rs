//! The external signer of service account tokens (`--service-account-signing-endpoint`).

use std::sync::Arc;
use std::time::Duration;

use anyhow::{anyhow, bail};
use pintle_auth::service_account::external::{self, External};
use pintle_control_plane::Config;
use pintle_meta::format_duration;

use crate::options::Options;

/// How long the signer may take to answer at start, and to return its keys.
const FETCH_TIMEOUT: Duration = Duration::from_secs(60);
/// After this time the log says what the server waits for.
const SILENCE: Duration = Duration::from_secs(2);
/// The shortest lifetime of a token, in seconds, that a signer must support.
const SHORTEST: i64 = 10 * 60;

/// A signer that answers, and the limits of its tokens' lifetimes.
pub(crate) struct ExternalSigner {
    pub(crate) signer: Arc<External>,
    /// The longest lifetime that it signs.
    pub(crate) longest: Duration,
    /// The longest lifetime that this server issues: that of the flag, else of the signer.
    pub(crate) max_expiration: Duration,
}

impl ExternalSigner {
    /// Waits for the signer, fetches its keys, and checks that it supports the lifetimes of the flags.
    pub(crate) async fn connect(options: &Options, plane: &Config) -> anyhow::Result<Option<ExternalSigner>> {
        let given = &options.service_accounts;
        let Some(address) = &given.signing_endpoint else { return Ok(None) };
        let of = external::Options {
            address: address.clone(),
            fetch_timeout: FETCH_TIMEOUT,
            // The request for the token ends then.
            sign_timeout: options.request_timeout,
        };
        let (events, clock, spawner) =
            (Arc::new(plane.auth_metrics.clone()), plane.clock.clone(), plane.spawner());
        let failed = |error| anyhow!("while setting up external-jwt-signer: {error}");
        let note = async {
            tokio::time::sleep(SILENCE).await;
            tracing::info!("waiting for the external signer of service account tokens at {address}");
            std::future::pending().await
        };
        let signer = tokio::select! {
            signer = External::connect(of, events, clock, &spawner) => signer.map_err(failed)?,
            never = note => never,
        };
        let seconds = signer.max_token_seconds().await.map_err(failed)?;
        if seconds < SHORTEST {
            bail!(
                "max token life supported by external-jwt-signer ({seconds}s) is less than acceptable (min {SHORTEST}s)"
            );
        }
        let longest = Duration::from_secs(seconds.unsigned_abs());
        let max_expiration = match given.max_expiration {
            Duration::ZERO => longest,
            given if given > longest => bail!(
                "service-account-max-token-expiration cannot be set longer than the token expiration supported by \
                 service-account-signing-endpoint: {} > {}",
                format(given),
                format(longest)
            ),
            given => given,
        };
        Ok(Some(ExternalSigner { signer, longest, max_expiration }))
    }
}

/// Formats a duration as Go does.
pub(crate) fn format(duration: Duration) -> String {
    format_duration(i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX))
}
