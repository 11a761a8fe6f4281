//! The webhook: posts events as `EventList`s, and tries again whatever the failure.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use pintle_outbound::webhook::Backoff;
use pintle_outbound::{ClientOptions, Kubeconfig, Webhook};

use super::Backend;
use crate::Error;
use crate::event::{Event, list_of};
use crate::metrics::Metrics;

const PLUGIN: &str = "webhook";
/// Time limit of one attempt.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A webhook for events.
pub struct WebhookBackend {
    webhook: Webhook,
    metrics: Metrics,
}

impl WebhookBackend {
    /// `initial_backoff`: the wait before the second attempt.
    pub fn new(
        kubeconfig: &Kubeconfig,
        initial_backoff: Duration,
        options: ClientOptions,
        metrics: Metrics,
    ) -> Result<WebhookBackend, Error> {
        let backoff = Backoff { first: initial_backoff, ..Backoff::default() };
        let options = ClientOptions { timeout: TIMEOUT, ..options };
        let webhook = Webhook::from_kubeconfig(kubeconfig, options, backoff)
            .map_err(|error| Error::Webhook(error.to_string()))?;
        Ok(WebhookBackend { webhook, metrics })
    }
}

#[async_trait]
impl Backend for WebhookBackend {
    async fn process(&self, events: &[Arc<Event>]) -> bool {
        let list = list_of(events.iter().map(|event| &**event));
        match self.webhook.deliver(list).await {
            Ok(()) => true,
            Err(error) => {
                self.metrics.lost(PLUGIN, &error, events);
                false
            }
        }
    }
}
