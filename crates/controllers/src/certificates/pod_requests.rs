//! Removal of requests for certificates of pods: a quarter of an hour after their creation they are done with.

use async_trait::async_trait;
use pintle_meta::Status;
use pintle_meta::time::Time;
use pintle_registry::Result;
use pintle_runtime::Clock;
use serde_json::json;

use super::cleaner::left;
use crate::api::ApiClient;
use crate::followed::Followed;
use crate::runtime::{Controller, Key, Requeue, Source};
use crate::service_account_tokens::unless_changed;

const LIFE_SECONDS: i64 = 15 * 60;

/// Deletes requests whose time is over.
pub struct PodCertificateRequestCleaner {
    requests: Followed,
    api: ApiClient,
    clock: Clock,
}

impl PodCertificateRequestCleaner {
    pub const NAME: &'static str = "podcertificaterequest-cleaner-controller";
    /// Its service account.
    pub const ACCOUNT: &'static str = "podcertificaterequestcleaner";

    pub fn new(requests: Followed, api: ApiClient, clock: Clock) -> PodCertificateRequestCleaner {
        PodCertificateRequestCleaner { requests, api, clock }
    }
}

#[async_trait]
impl Controller for PodCertificateRequestCleaner {
    fn name(&self) -> &'static str {
        "podcertificaterequestcleaner"
    }

    fn sources(&self) -> Vec<Source> {
        let keys = |entry: &pintle_cache::Entry, deleted: bool| (!deleted).then(|| Key::from(entry.key()));
        vec![Source::informer(self.requests.store().clone(), keys)]
    }

    async fn reconcile(&self, key: &str) -> Result<Requeue> {
        let Some(request) = self.requests.find(key).await? else { return Ok(Requeue::Never) };
        let Ok(created) = Time::parse(request.text_at(&["metadata", "creationTimestamp"])) else {
            return Ok(Requeue::Never);
        };
        let end = Time::from_unix(created.unix_seconds().saturating_add(LIFE_SECONDS), 0);
        if let Some(left) = left(&end, &self.clock) {
            return Ok(Requeue::After(left));
        }
        let options = json!({"preconditions": {"uid": request.uid()}});
        unless_changed(self.api.delete(&self.requests.location(&request), options).await)?;
        Ok(Requeue::Never)
    }

    fn failed(&self, key: &str, status: &Status) {
        tracing::error!(
            pcr = key,
            "Error while attempting to clean PodCertificateRequest: unable to delete PodCertificateRequest {key:?}: {}",
            status.message
        );
    }
}
