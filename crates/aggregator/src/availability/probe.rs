//! The probe of a remote APIService: its server must answer for its group version.

use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use pintle_auth::{PRIVILEGED_GROUP, User};

use crate::api_services::RemoteService;
use crate::server::{Fetch, Unanswered};

/// Requests at once: behind a service there may be several servers, some of them gone.
const ATTEMPTS: usize = 5;

/// Time limit of one.
const LIMIT: Duration = Duration::from_secs(5);

/// Asks the server of an APIService for its group version. Returns with the first success.
///
/// Errors: no attempt succeeds; the message is that of the last.
pub(super) async fn probe(remote: &RemoteService) -> Result<(), String> {
    // May ask anything of a server that trusts this one.
    let groups = vec![PRIVILEGED_GROUP.to_owned()];
    let user = User { name: "system:kube-aggregator".into(), groups, ..User::default() };
    let path = remote.path();
    let mut attempts: FuturesUnordered<_> = (0..ATTEMPTS).map(|_| attempt(remote, &path, &user)).collect();
    let mut last = Ok(());
    while let Some(result) = attempts.next().await {
        last = result;
        if last.is_ok() {
            break;
        }
    }
    last
}

async fn attempt(remote: &RemoteService, path: &str, user: &User) -> Result<(), String> {
    let fetch = Fetch { path, user, accept: "*/*", etag: None, limit: LIMIT };
    match remote.server.fetch(fetch).await {
        Ok((url, answer)) if !answer.status.is_success() => {
            let bad = format!("bad status from {url}: {}", answer.status.as_u16());
            Err(format!("failing or missing response from {url}: {bad}"))
        }
        Ok(_) => Ok(()),
        Err(Unanswered { url: Some(url), reason }) => {
            Err(format!("failing or missing response from {url}: {reason}"))
        }
        Err(Unanswered { url: None, reason }) => Err(reason),
    }
}
