//! `ValidatingAdmissionWebhook`: all webhooks that match are asked at once; each may reject the object.

use async_trait::async_trait;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use pintle_runtime::Stopwatch;

use super::call::expired;
use super::hook::Hook;
use super::{Type, Webhooks};
use crate::Result;
use crate::attributes::{Attributes, Operation, Target};
use crate::chain::Cluster;
use crate::matching::Match;
use crate::plugin::Plugin;

pub(crate) struct ValidatingWebhooks(pub(super) Webhooks);

impl ValidatingWebhooks {
    pub(crate) fn new(cluster: &Cluster) -> Result<ValidatingWebhooks, String> {
        Ok(ValidatingWebhooks(Webhooks::new(Type::Validating, cluster)?))
    }

    /// Asks one webhook. `index` is its place among those that match.
    async fn call(
        &self,
        attributes: &Attributes<'_>,
        hook: &Hook,
        seen_as: &Match,
        index: usize,
    ) -> Result<()> {
        let watch = Stopwatch::start();
        let versioned = pintle_work::run(|| attributes.versioned(&seen_as.kind)).await?;
        let result = self.0.ask(hook, attributes, seen_as, &versioned).await;
        self.0.observe(hook, attributes.operation, result.as_ref().err(), &watch);
        let Err(failure) = result else { return Ok(()) };
        let annotation = format!("failed-open.validating.webhook.admission.k8s.io/round_0_index_{index}");
        self.0.answer(hook, failure, &annotation, &attributes.request.notes).map_or(Ok(()), Err)
    }
}

#[async_trait]
impl Plugin for ValidatingWebhooks {
    fn name(&self) -> &'static str {
        Type::Validating.plugin()
    }

    fn validates(&self, operation: Operation, target: &Target) -> bool {
        self.0.handles(operation, target)
    }

    async fn validate(&self, attributes: &Attributes<'_>) -> Result<()> {
        let candidates = self.0.candidates(attributes).await?;
        let mut matching = Vec::new();
        for candidate in &*candidates {
            if let Some(found) = self.0.find(&candidate.hook, attributes).await? {
                // Conversion fails before any webhook is asked.
                pintle_work::run(|| attributes.versioned(&found.kind)).await?;
                matching.push((&*candidate.hook, found));
            }
        }
        if matching.is_empty() {
            return Ok(());
        }
        if let Some(status) = expired(attributes) {
            return Err(status);
        }
        let calls = matching.iter().enumerate();
        let mut calls: FuturesUnordered<_> =
            calls.map(|(index, (hook, found))| self.call(attributes, hook, found, index)).collect();
        // The rejection that comes first is the answer. The others are waited for: their warnings and annotations count.
        let mut answer = Ok(());
        while let Some(result) = calls.next().await {
            answer = answer.and(result);
        }
        answer
    }
}
