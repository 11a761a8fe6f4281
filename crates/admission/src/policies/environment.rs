//! The parts of a control plane that both kinds of policies need, and the steps that both take.

use std::sync::Arc;

use pintle_auth::Authorizer;
use pintle_meta::Value;
use pintle_registry::Store;
use pintle_runtime::Clock;

use super::binding::Binding;
use super::conditions::ConditionsRun;
use super::decoded::Room;
use super::params::{ParamKind, ParamKinds, ParamResource};
use super::source::{Compiled, Policy, PolicySource};
use crate::Result;
use crate::attributes::Attributes;
use crate::chain::Cluster;
use crate::matching::{Match, NamespaceLabels, Predicate};
use crate::objects::Resource;
use crate::plugin::InitError;
use crate::webhook_metrics::{ConditionLabels, WebhookMetrics};

/// The policies of one kind, and where requests, parameters and namespaces are looked up for them.
pub(crate) struct PolicyEnvironment<C> {
    pub(crate) source: Arc<PolicySource<C>>,
    pub(crate) namespaces: Option<Arc<Store>>,
    pub(crate) authorizer: Arc<dyn Authorizer>,
    params: Arc<dyn ParamKinds>,
    param_room: Arc<Room>,
    namespace_labels: NamespaceLabels,
    condition_metrics: Arc<WebhookMetrics>,
    clock: Clock,
}

impl<C: Compiled> PolicyEnvironment<C> {
    pub(crate) fn new(cluster: &Cluster) -> Result<PolicyEnvironment<C>, InitError> {
        Ok(PolicyEnvironment {
            source: PolicySource::start(cluster)?,
            namespaces: cluster.stores.get(Resource::Namespace).cloned(),
            authorizer: cluster.authorizer.clone(),
            params: cluster.param_kinds.clone(),
            param_room: Arc::default(),
            namespace_labels: NamespaceLabels::new(&cluster.stores),
            condition_metrics: cluster.webhook_metrics.clone(),
            clock: cluster.clock.clone(),
        })
    }

    /// Returns how a policy sees the request; `None` if it does not match.
    pub(crate) async fn find(
        &self,
        predicate: &Result<Predicate, String>,
        attributes: &Attributes<'_>,
    ) -> Result<Option<Match>, String> {
        let predicate = predicate.as_ref().map_err(String::clone)?;
        predicate.find(attributes, &self.namespace_labels).await.map_err(|status| status.message)
    }

    /// Reports whether a binding applies to the request.
    pub(crate) async fn applies(
        &self,
        binding: &Binding,
        attributes: &Attributes<'_>,
    ) -> Result<bool, String> {
        match &binding.predicate {
            None => Ok(true),
            Some(predicate) => Ok(self.find(predicate, attributes).await?.is_some()),
        }
    }

    /// Returns the kind of a policy's parameters with their resource, if it has any.
    pub(crate) async fn param_resource<'p>(
        &self,
        policy: &'p Policy<C>,
    ) -> Result<Option<(&'p ParamKind, ParamResource)>, String> {
        match &policy.param_kind {
            Some(kind) => Ok(Some((kind, kind.resource(&*self.params).await?))),
            None => Ok(None),
        }
    }

    /// Returns the parameters that a binding refers to; one that is absent where the policy or the binding has none.
    pub(crate) async fn params(
        &self,
        resource: Option<&(&ParamKind, ParamResource)>,
        binding: &Binding,
        namespace: &str,
    ) -> Result<Vec<Option<Arc<Value>>>, String> {
        let Some(((kind, resource), reference)) = resource.zip(binding.param_ref.as_ref()) else {
            return Ok(vec![None]);
        };
        let found = reference.collect(kind, resource, namespace, &self.clock, &self.param_room).await?;
        Ok(found.into_iter().map(Some).collect())
    }

    /// Counts a run of match conditions. The reference counts those of mutating policies among those of validating ones.
    pub(crate) fn observe_conditions(
        &self,
        policy: &Policy<C>,
        run: ConditionsRun,
        attributes: &Attributes<'_>,
    ) {
        let labels = ConditionLabels { name: &policy.name, kind: "policy", admission: "validate" };
        let (metrics, operation) = (&self.condition_metrics, attributes.operation);
        for _ in 0..run.failures {
            metrics.condition_failed(labels, operation);
        }
        if let Some(elapsed) = run.not_matched_after {
            metrics.conditions_evaluated(labels, operation, elapsed);
        }
    }
}
