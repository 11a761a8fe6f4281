//! `ImagePolicyWebhook`: asks a webhook whether the images of a pod may run.
//!
//! The reference also tries to annotate a pod that was admitted because the webhook failed
//! (`alpha.image-policy.k8s.io/failed-open`), but on a copy that is not stored. Only the audit annotation remains.

mod configuration;
mod review;

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use pintle_meta::Status;
use pintle_outbound::webhook::Backoff;
use pintle_outbound::{ClientOptions, Kubeconfig, Webhook};
use pintle_runtime::Clock;

use self::configuration::Configuration;
use self::review::{Spec, Verdict};
use super::pods::{is_pods, is_write};
use crate::Result;
use crate::attributes::{Attributes, Operation, Target};
use crate::chain::Cluster;
use crate::lru::Lru;
use crate::plugin::Plugin;

const NAME: &str = "ImagePolicyWebhook";
/// The beginning of the keys of audit annotations.
const AUDIT: &str = "imagepolicywebhook.image-policy.k8s.io/";
/// Time limit of one request.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Number of verdicts that are kept.
const VERDICTS: usize = 1024;

pub(crate) struct ImagePolicyWebhook {
    webhook: Webhook,
    /// With the time until which they count.
    verdicts: Mutex<Lru<(Verdict, Instant)>>,
    allow_ttl: Duration,
    deny_ttl: Duration,
    default_allow: bool,
    clock: Clock,
}

impl ImagePolicyWebhook {
    pub(crate) fn new(cluster: &Cluster) -> Result<ImagePolicyWebhook, String> {
        let text = cluster.configurations.of(NAME).ok_or("no config specified")?;
        let configuration = Configuration::read(text)?;
        if configuration.kubeconfig.as_os_str().is_empty() {
            return Err("invalid configuration: no configuration has been provided, try setting KUBERNETES_MASTER environment \
                        variable"
                .into());
        }
        let kubeconfig = Kubeconfig::load(&configuration.kubeconfig).map_err(|error| error.to_string())?;
        // Directly, as in the reference, also where other webhooks are behind a proxy.
        let client = ClientOptions {
            timeout: TIMEOUT,
            hosts: cluster.hosts.clone(),
            clock: cluster.clock.clone(),
            random: cluster.random.clone(),
            ..ClientOptions::default()
        };
        let backoff = Backoff { first: configuration.retry_backoff, ..Backoff::default() };
        let webhook =
            Webhook::from_kubeconfig(&kubeconfig, client, backoff).map_err(|error| error.to_string())?;
        Ok(ImagePolicyWebhook {
            webhook,
            verdicts: Mutex::new(Lru::new(VERDICTS)),
            allow_ttl: configuration.allow_ttl,
            deny_ttl: configuration.deny_ttl,
            default_allow: configuration.default_allow,
            clock: cluster.clock.clone(),
        })
    }

    fn kept(&self, key: &str) -> Option<Verdict> {
        let mut verdicts = self.verdicts.lock().unwrap_or_else(PoisonError::into_inner);
        let (verdict, until) = verdicts.get(key)?;
        if *until > self.clock.instant() {
            return Some(verdict.clone());
        }
        verdicts.remove(key);
        None
    }

    fn keep(&self, key: &str, verdict: &Verdict) {
        let ttl = if verdict.allowed { self.allow_ttl } else { self.deny_ttl };
        if !ttl.is_zero() {
            let mut verdicts = self.verdicts.lock().unwrap_or_else(PoisonError::into_inner);
            verdicts.insert(key, (verdict.clone(), self.clock.instant() + ttl));
        }
    }

    /// Returns the verdict about images; the error is that of the webhook.
    async fn verdict(&self, spec: &Spec<'_>) -> Result<Verdict, String> {
        let key = spec.key().map_err(|error| error.to_string())?;
        if let Some(kept) = self.kept(&key) {
            return Ok(kept);
        }
        let review = spec.review().map_err(|error| error.to_string())?;
        let answer = self.webhook.post(review.into(), |_| {}).await.map_err(|error| error.to_string())?;
        let verdict = Verdict::read(&answer)?;
        self.keep(&key, &verdict);
        Ok(verdict)
    }
}

#[async_trait]
impl Plugin for ImagePolicyWebhook {
    fn name(&self) -> &'static str {
        NAME
    }

    fn validates(&self, operation: Operation, target: &Target) -> bool {
        is_write(operation)
            && is_pods(target)
            && ["", "ephemeralcontainers"].contains(&target.subresource.as_str())
    }

    async fn validate(&self, attributes: &Attributes<'_>) -> Result<()> {
        let Some(pod) = attributes.object() else {
            let why = "Resource was marked with kind Pod but was unable to be converted";
            return Err(Box::new(Status::bad_request(why)));
        };
        let lists: &[&str] = match attributes.target().subresource.as_str() {
            "" => &["containers", "initContainers"],
            _ => &["ephemeralContainers"],
        };
        let annotate = |name: &str, value: String| {
            let key = format!("{AUDIT}{name}");
            if let Err(error) = attributes.request.notes.annotate(&key, value) {
                tracing::warn!(%error, "failed to set admission audit annotation {key}");
            }
        };
        let verdict = match self.verdict(&Spec::new(pod, lists, attributes.namespace())).await {
            Ok(verdict) => verdict,
            Err(error) => {
                tracing::debug!(%error, "error contacting webhook backend");
                if self.default_allow {
                    annotate("failed-open", "true".into());
                    return Ok(());
                }
                return Err(attributes.forbidden(&error));
            }
        };
        for (name, value) in verdict.audit_annotations {
            annotate(&name, value);
        }
        match (verdict.allowed, verdict.reason.as_str()) {
            (true, _) => Ok(()),
            (false, "") => Err(attributes.forbidden("one or more images rejected by webhook backend")),
            (false, reason) => {
                let why = format!("image policy webhook backend denied one or more images: {reason}");
                Err(attributes.forbidden(&why))
            }
        }
    }
}

#[cfg(test)]
mod tests;
