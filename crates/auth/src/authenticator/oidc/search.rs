//! The search for an issuer: discovery, tried again until it succeeds.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use pintle_outbound::ClientOptions;
use pintle_runtime::{Clock, Spawner};
use tokio::sync::oneshot;

use super::KeyEvents;
use super::keys::Provider;

/// The pause after a discovery that failed.
const RETRY: Duration = Duration::from_secs(10);

/// An issuer and where its discovery document is.
pub(super) struct Location {
    pub(super) issuer: String,
    /// Empty for the well-known path below the issuer.
    pub(super) discovery_url: String,
    pub(super) options: ClientOptions,
}

/// A running or finished search. Dropping it ends the search.
pub(super) struct Search {
    found: Arc<Found>,
    _is_wanted: oneshot::Sender<()>,
}

#[derive(Default)]
struct Found {
    provider: OnceLock<Arc<Provider>>,
    problem: Mutex<String>,
}

impl Search {
    /// Starts the search. `failure` is the log message of a discovery that failed.
    pub(super) fn start(
        location: Location,
        failure: &'static str,
        events: Option<Arc<dyn KeyEvents>>,
        clock: &Clock,
        spawner: &Spawner,
    ) -> Search {
        let (is_wanted, unwanted) = oneshot::channel();
        let (found, clock) = (Arc::new(Found::default()), clock.clone());
        let result = found.clone();
        spawner.spawn_until_stop(async move {
            let search = async {
                let Location { issuer, discovery_url, options } = location;
                loop {
                    let (events, clock_of_keys) = (events.clone(), clock.clone());
                    match Provider::discover(&issuer, &discovery_url, &options, events, clock_of_keys).await {
                        Ok(provider) => {
                            result.provider.get_or_init(|| Arc::new(provider));
                            return;
                        }
                        Err(error) => {
                            tracing::error!(error, issuer, "{failure}");
                            *result.problem.lock().unwrap_or_else(PoisonError::into_inner) = error;
                        }
                    }
                    clock.sleep(RETRY).await;
                }
            };
            tokio::select! {
                () = search => {}
                // Only the drop of the sender ends this wait.
                _ = unwanted => {}
            }
        });
        Search { found, _is_wanted: is_wanted }
    }

    pub(super) fn provider(&self) -> Option<Arc<Provider>> {
        self.found.provider.get().cloned()
    }

    /// Returns the error of the last discovery; empty before the first one has ended.
    pub(super) fn problem(&self) -> String {
        self.found.problem.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
