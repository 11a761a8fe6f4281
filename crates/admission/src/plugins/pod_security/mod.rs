//! `PodSecurity`: the Pod Security Standards, by the labels of namespaces.
//!
//! A policy has a level and version for each of three modes. Pods that violate the enforced level are rejected; violations of the
//! other two by pods and by the templates of workloads are noted in the audit event, or answered with a warning.

mod checks;
mod configuration;
mod evaluate;
mod extract;
mod labels;
mod metrics;
mod namespace;

use std::sync::Arc;

use async_trait::async_trait;
use pintle_meta::field_path::{Error, aggregate};
use pintle_meta::{Status, quote};
use pintle_registry::{Context, Store};
use pintle_runtime::Clock;

use self::checks::Pod;
use self::configuration::Configuration;
use self::evaluate::Verdicts;
use self::extract::{Subject, is_significant};
use self::labels::{Labels, Policy};
use self::metrics::{Metrics, Mode};
use crate::Result;
use crate::attributes::{Attributes, Operation, Target};
use crate::chain::Cluster;
use crate::objects::Resource;
use crate::plugin::{InitError, Plugin};

const NAME: &str = "PodSecurity";

const ENFORCED_POLICY: &str = "pod-security.kubernetes.io/enforce-policy";
const AUDIT_VIOLATIONS: &str = "pod-security.kubernetes.io/audit-violations";
const EXEMPT: &str = "pod-security.kubernetes.io/exempt";
const ERROR: &str = "pod-security.kubernetes.io/error";

pub(crate) struct PodSecurity {
    configuration: Configuration,
    /// The cache of namespaces has their labels at hand, so a policy is read there at each request.
    namespaces: Option<Arc<Store>>,
    pods: Option<Arc<Store>>,
    metrics: Metrics,
    clock: Clock,
}

impl PodSecurity {
    /// Errors if the configuration is wrong.
    pub(crate) fn new(cluster: &Cluster) -> Result<PodSecurity, InitError> {
        let text = cluster.configurations.of(NAME).map(|bytes| &bytes[..]);
        Ok(PodSecurity {
            configuration: Configuration::read(text)?,
            namespaces: cluster.stores.get(Resource::Namespace).cloned(),
            pods: cluster.stores.get(Resource::Pod).cloned(),
            metrics: Metrics::new(&cluster.metrics).map_err(|error| error.to_string())?,
            clock: cluster.clock.clone(),
        })
    }

    /// Returns the policy of a namespace and the errors of its labels. A namespace that the cache lacks is read from the store.
    async fn policy(&self, name: &str) -> Result<(Policy, Vec<Error>)> {
        let missing = || Box::new(Status::not_found("", "namespaces", name));
        let store = self.namespaces.as_ref().ok_or_else(missing)?;
        let entry = match store.cache().get(name) {
            Some(entry) => entry,
            None => store.cached_entry(&Context::default(), name).await?,
        };
        let facts = entry.read().map_err(|why| Box::new(Status::internal(why)))?;
        Ok(Labels::of(facts.labels()).policy(&self.configuration.defaults))
    }

    /// Returns whether the namespace or the user of a request is exempt, and notes it.
    fn is_exempt(&self, attributes: &Attributes<'_>) -> bool {
        let exemptions = &self.configuration.exemptions;
        let why = if exemptions.has_namespace(attributes.namespace()) {
            "namespace"
        } else if exemptions.has_user(&attributes.request.user.name) {
            "user"
        } else {
            return false;
        };
        self.exempt(attributes, why);
        true
    }

    fn exempt(&self, attributes: &Attributes<'_>, why: &str) {
        self.metrics.exemption(attributes);
        annotate(attributes, EXEMPT, why);
    }

    async fn validate_pod(&self, attributes: &Attributes<'_>) -> Result<()> {
        if self.is_exempt(attributes) {
            return Ok(());
        }
        let namespace = attributes.namespace();
        let (policy, errors) = self.policy(namespace).await.map_err(|status| {
            let why = &status.message;
            tracing::error!(namespace, error = %why, "failed to fetch pod namespace");
            self.metrics.error(true, attributes);
            let failure = Status::internal(format!("failed to lookup namespace {}", quote(namespace)));
            annotate(attributes, ERROR, &format!("{}: {why}", failure.message));
            Box::new(failure)
        })?;
        if errors.is_empty() && policy.is_privileged() {
            self.metrics.unrestricted(attributes);
            annotate(attributes, ENFORCED_POLICY, "privileged:latest");
            return Ok(());
        }
        let Some(pod) = attributes.object() else { return Ok(()) };
        let is_update = attributes.operation == Operation::Update;
        if is_update && attributes.old_object().is_some_and(|old| !is_significant(pod, old)) {
            return Ok(());
        }
        self.evaluate(attributes, &policy, &errors, &Pod::new(pod), true)
    }

    /// Notes violations of a template. A workload is never rejected: its pods are.
    async fn validate_workload(&self, attributes: &Attributes<'_>, subject: Subject) -> Result<()> {
        if self.is_exempt(attributes) {
            return Ok(());
        }
        let namespace = attributes.namespace();
        let (policy, errors) = match self.policy(namespace).await {
            Ok(found) => found,
            Err(status) => {
                let why = &status.message;
                tracing::error!(namespace, error = %why, "failed to fetch pod namespace");
                self.metrics.error(true, attributes);
                let text = format!("failed to lookup namespace {}: {why}", quote(namespace));
                annotate(attributes, ERROR, &text);
                return Ok(());
            }
        };
        if errors.is_empty() && policy.warn.is_privileged() && policy.audit.is_privileged() {
            return Ok(());
        }
        let pod = attributes.object().and_then(|object| subject.pod(object));
        pod.map_or(Ok(()), |pod| self.evaluate(attributes, &policy, &errors, &pod, false))
    }

    /// Evaluates a pod or template in all modes. Only pods are rejected.
    fn evaluate(
        &self,
        attributes: &Attributes<'_>,
        policy: &Policy,
        errors: &[Error],
        pod: &Pod<'_>,
        enforces: bool,
    ) -> Result<()> {
        if self.configuration.exemptions.has_runtime_class(pod.runtime_class()) {
            self.exempt(attributes, "runtimeClass");
            return Ok(());
        }
        if !errors.is_empty() {
            annotate(attributes, ERROR, &format!("Failed to parse policy: {}", aggregate(errors)));
            self.metrics.error(false, attributes);
        }
        let mut verdicts = Verdicts::of(pod);
        let mut rejection = None;
        if enforces {
            annotate(attributes, ENFORCED_POLICY, &policy.enforce.to_string());
            let violations = verdicts.violations(policy.enforce);
            self.metrics.evaluation(violations.is_none(), policy.enforce, Mode::Enforce, attributes);
            rejection = violations.map(|violations| {
                let enforced = quote(&policy.enforce.to_string());
                forbidden(attributes, &format!("violates PodSecurity {enforced}: {violations}"))
            });
        }
        let would_violate = |policy: String, violations: String| {
            format!("would violate PodSecurity {}: {violations}", quote(&policy))
        };
        if let Some(violations) = verdicts.violations(policy.audit) {
            let text = would_violate(policy.audit.to_string(), violations);
            annotate(attributes, AUDIT_VIOLATIONS, &text);
            self.metrics.evaluation(false, policy.audit, Mode::Audit, attributes);
        }
        if let Some(rejection) = rejection {
            return Err(rejection);
        }
        if let Some(violations) = verdicts.violations(policy.warn) {
            attributes.request.notes.warn(would_violate(policy.warn.to_string(), violations));
            self.metrics.evaluation(false, policy.warn, Mode::Warn, attributes);
        }
        Ok(())
    }
}

#[async_trait]
impl Plugin for PodSecurity {
    fn name(&self) -> &'static str {
        NAME
    }

    fn validates(&self, operation: Operation, target: &Target) -> bool {
        matches!(operation, Operation::Create | Operation::Update) && Subject::of(target).is_some()
    }

    async fn validate(&self, attributes: &Attributes<'_>) -> Result<()> {
        match Subject::of(attributes.target()) {
            Some(Subject::Namespace) => self.validate_namespace(attributes).await,
            Some(Subject::Pod) => self.validate_pod(attributes).await,
            Some(subject @ Subject::Workload(_)) => self.validate_workload(attributes, subject).await,
            None => Ok(()),
        }
    }
}

/// Rejects a request by the name of its object, which is generated by now.
fn forbidden(attributes: &Attributes<'_>, why: &str) -> Box<Status> {
    let resource = &attributes.target().resource;
    Box::new(Status::forbidden(&resource.group, &resource.resource, attributes.name(), why))
}

fn annotate(attributes: &Attributes<'_>, key: &str, value: &str) {
    // An earlier attempt of the same write may have noted something else, which stays.
    if let Err(error) = attributes.request.notes.annotate(key, value) {
        tracing::warn!(%error, "failed to set an audit annotation");
    }
}

#[cfg(test)]
mod tests;
