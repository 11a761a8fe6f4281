//! Looks from time to time after what services hold: cluster IPs and node ports.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use pintle_registry::Result;

/// How often it looks.
const INTERVAL: Duration = Duration::from_secs(3 * 60);

type Round = Arc<dyn Fn() -> Pin<Box<dyn Future<Output = Result<()>> + Send>> + Send + Sync>;

/// Repairs what is not as it should be. Who needs it sooner does it: the first service that is given something.
#[derive(Clone)]
pub struct ServiceRepair {
    round: Round,
}

impl ServiceRepair {
    /// The name of the hook that starts it.
    pub const HOOK: &'static str = "start-service-ip-repair-controllers";

    pub fn new<F>(round: impl Fn() -> F + Send + Sync + 'static) -> ServiceRepair
    where
        F: Future<Output = Result<()>> + Send + 'static,
    {
        ServiceRepair { round: Arc::new(move || Box::pin(round())) }
    }

    /// Goes on until `shutdown`.
    pub fn start(self, shutdown: impl Future<Output = ()> + Send + 'static) {
        tokio::spawn(async move {
            let rounds = async {
                loop {
                    tokio::time::sleep(INTERVAL).await;
                    if let Err(status) = (self.round)().await {
                        tracing::error!("cannot repair what services hold: {}", status.message);
                    }
                }
            };
            tokio::select! {
                () = rounds => {}
                () = shutdown => {}
            }
        });
    }
}
