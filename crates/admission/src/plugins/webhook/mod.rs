//! `MutatingAdmissionWebhook` and `ValidatingAdmissionWebhook`: webhooks that change or reject objects.
//!
//! ```text
//! configurations -> Hook (rules, selectors, conditions, client; once per object)     hook.rs
//!                -> hooks in order, with the candidates of each kind of request        source.rs
//! request        -> candidates -> predicate -> match conditions -> calls              mutating.rs: one after the other
//!                                                                                     validating.rs: all at once
//! call           -> AdmissionReview -> webhook -> checked answer                      review.rs, call.rs, clients.rs
//! ```
//!
//! A request that no webhook can match pays for one lookup by its resource and operation. One that matches pays for one encoding
//! of its objects per version that its webhooks know.

mod call;
mod clients;
mod configuration;
mod hook;
mod mutating;
mod review;
mod source;
#[cfg(test)]
mod tests;
mod validating;

use std::sync::Arc;

use pintle_auth::Authorizer;
use pintle_meta::{Status, Value};
use pintle_runtime::Random;

pub(crate) use self::mutating::MutatingWebhooks;
pub(crate) use self::validating::ValidatingWebhooks;

use self::clients::Clients;
use self::configuration::Configuration;
use self::hook::Hook;
use self::source::{Candidate, Source};
use crate::Result;
use crate::attributes::{Attributes, Operation, Target};
use crate::chain::Cluster;
use crate::expressions::Variables;
use crate::matching::conditions::Verdict;
use crate::matching::{Match, NamespaceLabels};
use crate::objects::Resource;
use crate::webhook_metrics::{ConditionLabels, WebhookMetrics};

/// The two plugins, where they differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Type {
    Mutating,
    Validating,
}

impl Type {
    fn plugin(self) -> &'static str {
        match self {
            Type::Mutating => "MutatingAdmissionWebhook",
            Type::Validating => "ValidatingAdmissionWebhook",
        }
    }

    /// Returns the label of metrics.
    fn label(self) -> &'static str {
        match self {
            Type::Mutating => "admit",
            Type::Validating => "validating",
        }
    }

    fn resource(self) -> Resource {
        match self {
            Type::Mutating => Resource::MutatingWebhookConfiguration,
            Type::Validating => Resource::ValidatingWebhookConfiguration,
        }
    }
}

/// The webhooks of one plugin, with everything that calling them needs.
struct Webhooks {
    of: Type,
    source: Source,
    clients: Clients,
    namespaces: NamespaceLabels,
    authorizer: Arc<dyn Authorizer>,
    metrics: Arc<WebhookMetrics>,
    /// UIDs of reviews.
    random: Random,
}

impl Webhooks {
    fn new(of: Type, cluster: &Cluster) -> Result<Webhooks, String> {
        let configuration = Configuration::of(cluster.configurations.of(of.plugin()))?;
        configuration.check_features(&cluster.features)?;
        Ok(Webhooks {
            of,
            source: Source::new(cluster.stores.get(of.resource()).cloned()),
            clients: Clients::new(configuration.users()?, cluster),
            namespaces: NamespaceLabels::new(&cluster.stores),
            authorizer: cluster.authorizer.clone(),
            metrics: cluster.webhook_metrics.clone(),
            random: cluster.random.clone(),
        })
    }

    /// Reports whether requests of this kind can match a webhook. Until the configurations are loaded, all can.
    fn handles(&self, operation: Operation, target: &Target) -> bool {
        !is_exempt(target) && self.source.has_candidates(operation, target)
    }

    async fn candidates(&self, attributes: &Attributes<'_>) -> Result<Arc<[Candidate]>> {
        let not_ready = |_| attributes.forbidden("not yet ready to handle request");
        self.source.candidates(attributes.operation, attributes.target()).await.map_err(not_ready)
    }

    /// Returns how a webhook sees the request; `None` if it does not match. Errors if that cannot be decided.
    async fn find(&self, hook: &Hook, attributes: &Attributes<'_>) -> Result<Option<Match>> {
        let Some(found) = hook.predicate.find(attributes, &self.namespaces).await? else { return Ok(None) };
        if hook.conditions.is_empty() {
            return Ok(Some(found));
        }
        let versioned = pintle_work::run(|| attributes.versioned(&found.kind)).await?;
        let variables = Variables::new(attributes, &versioned, &found.kind, None, self.authorizer.clone());
        let labels = ConditionLabels { name: &hook.name, kind: "webhook", admission: self.of.label() };
        let (operation, metrics) = (attributes.operation, &self.metrics);
        let verdict =
            hook.conditions.evaluate(&variables, hook.ignores_failures, operation, metrics, labels).await;
        match verdict {
            Verdict::Match => Ok(Some(found)),
            Verdict::NoMatch => {
                self.metrics.excluded(labels, operation);
                Ok(None)
            }
            Verdict::Failed(why) => {
                tracing::warn!(
                    webhook = hook.name,
                    why,
                    "Failed evaluating match conditions, failing closed"
                );
                let resource = &attributes.target().resource;
                let name = attributes.name();
                Err(Box::new(Status::forbidden(&resource.group, &resource.resource, name, &why)))
            }
        }
    }
}

/// Objects that configure admission are not admitted by what they configure: nobody could repair a webhook that rejects them.
fn is_exempt(target: &Target) -> bool {
    target.kind.group == "admissionregistration.k8s.io"
        && matches!(
            target.kind.kind.as_str(),
            "ValidatingWebhookConfiguration"
                | "MutatingWebhookConfiguration"
                | "ValidatingAdmissionPolicy"
                | "ValidatingAdmissionPolicyBinding"
                | "MutatingAdmissionPolicy"
                | "MutatingAdmissionPolicyBinding"
        )
}

/// Returns the text of an object's field, if it has one.
fn text(object: &Value, field: &str) -> Option<String> {
    object.get(field).and_then(Value::as_str).map(str::to_owned)
}
