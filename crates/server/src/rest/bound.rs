//! How long a write of one object may take, whatever is left of the request's time.

use std::time::Duration;

use pintle_meta::Status;
use tokio::time::timeout;

use super::Result;

const LONGEST: Duration = Duration::from_secs(34);

/// Does what a verb asks for. What is not done in time is dropped where it stands; what was handed to the store by then may
/// still happen. Reads, and deletions of many, have the time of the request.
pub(super) async fn bounded<T>(verb: &str, work: impl Future<Output = Result<T>>) -> Result<T> {
    if !matches!(verb, "create" | "update" | "patch" | "delete") {
        return work.await;
    }
    let late =
        || Status::timeout("request did not complete within requested timeout - context deadline exceeded");
    timeout(LONGEST, work).await.unwrap_or_else(|_| Err(Box::new(late())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_write_of_one_object_ends_before_other_requests_do() {
        let slow = async || {
            tokio::time::sleep(Duration::from_secs(35)).await;
            Ok(())
        };
        for verb in ["create", "update", "patch", "delete"] {
            let status = bounded(verb, slow()).await.unwrap_err();
            assert_eq!(
                (status.code, &*status.message),
                (
                    504,
                    "Timeout: request did not complete within requested timeout - context deadline exceeded"
                )
            );
        }
        for verb in ["get", "list", "deletecollection", "watch"] {
            assert!(bounded(verb, slow()).await.is_ok(), "{verb}");
        }
    }
}
