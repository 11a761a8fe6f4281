//! Removal of bootstrap tokens that have expired.

use async_trait::async_trait;
use pintle_cache::Entry;
use pintle_meta::Status;
use pintle_registry::Result;
use pintle_runtime::Clock;
use serde_json::json;

use super::{Life, is_token};
use crate::api::ApiClient;
use crate::followed::Followed;
use crate::runtime::{Controller, Key, Requeue, Source};
use crate::service_account_tokens::unless_changed;

/// Deletes secrets of tokens when they expire.
pub struct BootstrapTokenCleaner {
    secrets: Followed,
    /// The place of the type among the fields of secrets.
    secret_type: usize,
    api: ApiClient,
    clock: Clock,
}

impl BootstrapTokenCleaner {
    pub const NAME: &'static str = "token-cleaner-controller";
    /// Its service account.
    pub const ACCOUNT: &'static str = "token-cleaner";

    pub fn new(secrets: Followed, secret_type: usize, api: ApiClient, clock: Clock) -> BootstrapTokenCleaner {
        BootstrapTokenCleaner { secrets, secret_type, api, clock }
    }
}

#[async_trait]
impl Controller for BootstrapTokenCleaner {
    fn name(&self) -> &'static str {
        "token_cleaner"
    }

    fn sources(&self) -> Vec<Source> {
        let place = self.secret_type;
        let keys = move |entry: &Entry, deleted: bool| {
            (!deleted && is_token(entry, place)).then(|| Key::from(entry.key()))
        };
        vec![Source::informer(self.secrets.store().clone(), keys)]
    }

    async fn reconcile(&self, key: &str) -> Result<Requeue> {
        let Some(secret) = self.secrets.find(key).await? else { return Ok(Requeue::Never) };
        match Life::of(&secret, &self.clock) {
            Life::Unlimited => Ok(Requeue::Never),
            Life::Left(left) => Ok(Requeue::After(left)),
            Life::Over => {
                let options = json!({"preconditions": {"uid": secret.uid()}});
                unless_changed(self.api.delete(&self.secrets.location(&secret), options).await)?;
                Ok(Requeue::Never)
            }
        }
    }

    fn failed(&self, key: &str, status: &Status) {
        tracing::error!("Sync {key} failed with : {}", status.message);
    }
}
