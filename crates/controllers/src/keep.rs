//! How controllers run: once before the server says that it is ready, then again and again.

use std::time::Duration;

use tokio::time::timeout;

/// How long a start waits for the first round. A store that is slower than this is somebody else's to report.
const FIRST: Duration = Duration::from_secs(2);

/// Does one round, returns, and goes on every `interval` until `shutdown`. Who sees the server ready finds there what `what`
/// names; a store that does not answer holds nobody up for long.
pub(crate) async fn keep<F>(
    what: &'static str,
    interval: Duration,
    round: impl Fn() -> F + Send + Sync + 'static,
    shutdown: impl Future<Output = ()> + Send + 'static,
) where
    F: Future<Output = ()> + Send + 'static,
{
    let first = tokio::spawn(round());
    if timeout(FIRST, first).await.is_err() {
        tracing::warn!("{what} are not there yet");
    }
    tokio::spawn(async move {
        let rounds = async {
            loop {
                tokio::time::sleep(interval).await;
                round().await;
            }
        };
        tokio::select! {
            () = rounds => {}
            () = shutdown => {}
        }
    });
}
