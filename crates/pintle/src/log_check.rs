//! The health check `log`, which fails when log lines cannot be written.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use pintle_logging::Guard;
use pintle_runtime::{Spawner, Stopwatch};
use pintle_server::handlers::Check;

const INTERVAL: Duration = Duration::from_secs(60);

/// Flushes the log periodically on a blocking thread; fails when a flush does not return.
pub(crate) struct LogCheck {
    flushed: Arc<Mutex<Stopwatch>>,
}

impl LogCheck {
    pub(crate) fn start(logging: Arc<Guard>, spawner: &Spawner) -> LogCheck {
        let flushed = Arc::new(Mutex::new(Stopwatch::start()));
        let last = flushed.clone();
        spawner.spawn_until_stop(async move {
            loop {
                tokio::time::sleep(INTERVAL).await;
                let logging = logging.clone();
                if tokio::task::spawn_blocking(move || logging.flush()).await.is_ok() {
                    *last.lock().unwrap_or_else(PoisonError::into_inner) = Stopwatch::start();
                }
            }
        });
        LogCheck { flushed }
    }
}

#[async_trait]
impl Check for LogCheck {
    async fn check(&self) -> Result<(), String> {
        let flushed = *self.flushed.lock().unwrap_or_else(PoisonError::into_inner);
        if flushed.elapsed() < INTERVAL * 2 { Ok(()) } else { Err("logging blocked".into()) }
    }
}
