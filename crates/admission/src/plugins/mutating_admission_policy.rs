//! `MutatingAdmissionPolicy`: changes objects by policies in CEL.
//!
//! First the policies, bindings and parameters that match the request are collected, by name. Then their mutations are applied one
//! after the other, each to the object as the one before left it, with its defaults. A mutation that fails is skipped and denies
//! the request in the end, unless the policy ignores failures; the others are applied nevertheless.

use std::sync::Arc;

use async_trait::async_trait;
use pintle_meta::gvk::GroupVersionKind;
use pintle_meta::{Cause, Reason, Status, Value, quote};
use pintle_runtime::Stopwatch;

use crate::Result;
use crate::attributes::{Attributes, Operation, Target, Versioned};
use crate::chain::Cluster;
use crate::expressions::Inputs;
use crate::matching::Match;
use crate::plugin::{InitError, Plugin};
use crate::policies::VALIDATION_BUDGET;
use crate::policies::binding::Binding;
use crate::policies::environment::PolicyEnvironment;
use crate::policies::inputs::RequestInputs;
use crate::policies::mutating::{
    ErrorType, Failure, InvocationKey, Metrics, MutatedObject, MutatingPolicy, Record,
};
use crate::policies::source::{Hook, Policy, PolicySource};

const NAME: &str = "MutatingAdmissionPolicy";

/// Evaluations of one expression. Each finds at least one new authorization check, and the budget allows only for a few.
const MOST_RUNS: usize = 64;

pub(super) struct MutatingAdmissionPolicy {
    environment: PolicyEnvironment<MutatingPolicy>,
    metrics: Metrics,
}

impl MutatingAdmissionPolicy {
    pub(super) fn new(cluster: &Cluster) -> Result<MutatingAdmissionPolicy, InitError> {
        Ok(MutatingAdmissionPolicy {
            environment: PolicyEnvironment::new(cluster)?,
            metrics: Metrics::new(&cluster.metrics).map_err(|error| error.to_string())?,
        })
    }
}

#[async_trait]
impl Plugin for MutatingAdmissionPolicy {
    fn name(&self) -> &'static str {
        NAME
    }

    fn admits(&self, operation: Operation, target: &Target) -> bool {
        // A deletion has no object that could be changed.
        operation != Operation::Delete && self.environment.source.has_candidates(operation, target)
    }

    async fn admit(&self, attributes: &mut Attributes<'_>) -> Result<()> {
        let source = &self.environment.source;
        let hooks = source.candidates(attributes.operation, attributes.target()).await;
        let hooks = hooks.map_err(|_| attributes.forbidden("not yet ready to handle request"))?;
        let mut collected = Collected { plugin: self, invocations: Vec::new(), errors: Errors::default() };
        for hook in &*hooks {
            collected.add(hook, attributes).await;
        }
        let Collected { invocations, mut errors, .. } = collected;
        if !invocations.is_empty() {
            let inputs = RequestInputs::new(attributes, self.environment.authorizer.clone());
            let mut run = Run { plugin: self, source, attributes, inputs, errors, is_applied: false };
            let result = run.invoke_all(&invocations).await;
            errors = run.errors;
            let output = attributes.object().cloned();
            record(attributes, |record| record.set_output(output));
            result?;
        }
        errors.into_result(attributes)
    }
}

/// A policy with one of its bindings and a parameter, all of which match the request.
struct Invocation {
    hook: Arc<Hook<MutatingPolicy>>,
    binding: Arc<Binding>,
    param: Option<Arc<Value>>,
    /// How the policy sees the request.
    found: Match,
}

impl Invocation {
    fn key(&self) -> InvocationKey {
        let param = |param: &Arc<Value>| (param.namespace().to_owned(), param.name().to_owned());
        InvocationKey {
            policy: self.hook.policy.name.clone(),
            binding: self.binding.name.clone(),
            param: self.param.as_ref().map(param),
        }
    }
}

/// Failures of policies that do not ignore them, in order.
#[derive(Default)]
struct Errors(Vec<(String, Reason)>);

impl Errors {
    fn add(&mut self, policy: &Policy<MutatingPolicy>, binding: Option<&Binding>, why: &str, reason: Reason) {
        if policy.ignores_failures {
            return;
        }
        let name = &policy.name;
        let message = match binding {
            Some(binding) => format!("policy '{name}' with binding '{}' denied request: {why}", binding.name),
            None => format!("policy {} denied request: {why}", quote(name)),
        };
        self.0.push((message, reason));
    }

    /// Adds an error of the configuration.
    fn add_configuration(&mut self, policy: &Policy<MutatingPolicy>, binding: Option<&Binding>, why: &str) {
        let part = if binding.is_some() { "binding" } else { "policy" };
        self.add(policy, binding, &format!("failed to configure {part}: {why}"), Reason::Forbidden);
    }

    /// Returns the rejection of the request: the first message, and all of them as causes.
    fn into_result(self, attributes: &Attributes<'_>) -> Result<()> {
        let Some((message, reason)) = self.0.first() else { return Ok(()) };
        let mut status = attributes.forbidden("admission request denied by policy");
        status.message.clone_from(message);
        status.reason = *reason;
        let cause = |(message, _)| Cause { kind: None, message, field: String::new() };
        status.details.get_or_insert_default().causes = self.0.into_iter().map(cause).collect();
        Err(status)
    }
}

/// The invocations of one request, collected before the first of them is made.
struct Collected<'r> {
    plugin: &'r MutatingAdmissionPolicy,
    invocations: Vec<Invocation>,
    errors: Errors,
}

impl Collected<'_> {
    /// Adds the invocations of a policy.
    async fn add(&mut self, hook: &Arc<Hook<MutatingPolicy>>, attributes: &Attributes<'_>) {
        let (policy, environment) = (&*hook.policy, &self.plugin.environment);
        let found = match environment.find(&policy.predicate, attributes).await {
            Ok(Some(found)) => found,
            Ok(None) => return,
            Err(why) => return self.errors.add_configuration(policy, None, &why),
        };
        let resource = match environment.param_resource(policy).await {
            Ok(resource) => resource,
            Err(why) => return self.errors.add_configuration(policy, None, &why),
        };
        for binding in &hook.bindings {
            match environment.applies(binding, attributes).await {
                Ok(true) => {}
                Ok(false) => continue,
                Err(why) => {
                    self.errors.add_configuration(policy, Some(binding), &why);
                    continue;
                }
            }
            if let Err(status) = pintle_work::run(|| attributes.versioned(&found.kind)).await {
                self.errors.add_configuration(policy, None, &status.message);
                continue;
            }
            let params = environment.params(resource.as_ref(), binding, attributes.namespace()).await;
            let params = match params {
                Ok(params) => params,
                Err(why) => {
                    self.errors.add_configuration(policy, Some(binding), &why);
                    continue;
                }
            };
            let (hook, found) = (hook.clone(), found.clone());
            self.invocations.extend(params.into_iter().map(|param| Invocation {
                hook: hook.clone(),
                binding: binding.clone(),
                param,
                found: found.clone(),
            }));
        }
    }
}

/// The invocations of one request, while they are made.
struct Run<'r, 'a> {
    plugin: &'r MutatingAdmissionPolicy,
    source: &'r PolicySource<MutatingPolicy>,
    attributes: &'r mut Attributes<'a>,
    inputs: RequestInputs,
    errors: Errors,
    /// Whether any mutation was applied, with or without a change.
    is_applied: bool,
}

impl Run<'_, '_> {
    /// Makes the invocations. Errors end the request.
    async fn invoke_all(&mut self, invocations: &[Invocation]) -> Result<()> {
        if self.attributes.reinvocation.is_second_run() {
            let object = self.attributes.object().cloned();
            record(self.attributes, |record| {
                if record.has_changed(object.as_ref()) {
                    record.reinvoke();
                }
            });
        }
        let mut uses_namespace = false;
        for invocation in invocations {
            uses_namespace |= self.source.compiled(&invocation.hook.policy).await.uses.namespace;
        }
        let namespaces = self.plugin.environment.namespaces.as_deref();
        self.inputs.load_namespace(self.attributes, namespaces, uses_namespace).await?;
        for invocation in invocations {
            self.invoke(invocation).await?;
        }
        if self.is_applied {
            record(self.attributes, Record::reinvoke);
            self.attributes.reinvocation.request();
        }
        Ok(())
    }

    async fn invoke(&mut self, invocation: &Invocation) -> Result<()> {
        let policy = &*invocation.hook.policy;
        let compiled = self.source.compiled(policy).await.clone();
        match self.matches(&compiled, invocation).await? {
            Ok(true) => {}
            Ok(false) => return Ok(()),
            Err(why) => {
                self.errors.add(policy, Some(&invocation.binding), &why, Reason::Invalid);
                return Ok(());
            }
        }
        let key = invocation.key();
        let is_second_run = self.attributes.reinvocation.is_second_run();
        if is_second_run && !record(self.attributes, |record| record.is_reinvoked(&key)) {
            return Ok(());
        }
        let before = self.attributes.object().cloned();
        for index in 0..compiled.mutations.len() {
            self.mutate(&compiled, index, invocation).await?;
        }
        if self.attributes.object() != before.as_ref() {
            record(self.attributes, Record::reinvoke);
            self.attributes.reinvocation.request();
        }
        if compiled.is_reinvoked {
            record(self.attributes, |record| record.add_invoked(key));
        }
        Ok(())
    }

    /// Returns the object as the policy sees it.
    async fn versioned(&self, kind: &GroupVersionKind) -> Result<Versioned> {
        let attributes = &*self.attributes;
        pintle_work::run(|| attributes.versioned(kind)).await
    }

    /// Evaluates the match conditions. The inner error denies the request.
    async fn matches(
        &mut self,
        policy: &MutatingPolicy,
        invocation: &Invocation,
    ) -> Result<Result<bool, String>> {
        if !policy.has_conditions() {
            return Ok(Ok(true));
        }
        let kind = &invocation.found.kind;
        let versioned = self.versioned(kind).await?;
        // Match conditions see the resource of the request, and no namespace.
        let resource = self.attributes.target().resource.clone();
        let own = Match { resource, kind: kind.clone() };
        let request = self.inputs.request(self.attributes, &own, policy.uses.request);
        let inputs = Inputs {
            object: versioned.object(),
            old_object: versioned.old_object(),
            params: invocation.param.as_deref(),
            request: &request,
            namespace: None,
            authorizer: Some(&self.inputs.authorizer),
        };
        let mut matched = pintle_work::run(|| policy.matches(&inputs)).await;
        for _ in 1..MOST_RUNS {
            if !policy.uses.authorizer || !self.inputs.checks.decide_pending().await {
                break;
            }
            matched = pintle_work::run(|| policy.matches(&inputs)).await;
        }
        let (run, matched) = matched;
        self.plugin.environment.observe_conditions(&invocation.hook.policy, run, self.attributes);
        Ok(matched)
    }

    /// Applies one mutation of a policy to the object.
    async fn mutate(&mut self, policy: &MutatingPolicy, index: usize, invocation: &Invocation) -> Result<()> {
        if self.attributes.object().is_none() {
            return Ok(());
        }
        let watch = Stopwatch::start();
        let result = self.mutated(policy, index, invocation).await;
        let error_type = match &result {
            Ok(_) => ErrorType::NoError,
            Err(Failure::Policy(message)) => ErrorType::of(message),
            Err(Failure::Request(status)) => ErrorType::of(&status.message),
        };
        let (of, binding) = (&invocation.hook.policy, &invocation.binding);
        self.plugin.metrics.observe(error_type, &of.name, &binding.name, watch.elapsed());
        match result {
            Ok(object) => {
                self.is_applied = true;
                if let Some(object) = object {
                    self.attributes.set_object(object);
                }
                Ok(())
            }
            Err(Failure::Policy(why)) => {
                self.errors.add(of, Some(binding), &why, Reason::Invalid);
                Ok(())
            }
            Err(Failure::Request(status)) => Err(status),
        }
    }

    /// Returns the object after a mutation, in the storage version and with its defaults; `None` if it is the same.
    async fn mutated(
        &mut self,
        policy: &MutatingPolicy,
        index: usize,
        invocation: &Invocation,
    ) -> Result<Option<Value>, Failure> {
        let Match { kind, .. } = &invocation.found;
        let versioned = self.versioned(kind).await.map_err(Failure::Request)?;
        let (Some(object), Some(mutation)) = (versioned.object(), policy.mutations.get(index)) else {
            return Ok(None);
        };
        let request = self.inputs.request(self.attributes, &invocation.found, policy.uses.request);
        let inputs = Inputs {
            object: Some(object),
            old_object: versioned.old_object(),
            params: invocation.param.as_deref(),
            request: &request,
            namespace: self.inputs.namespace.as_ref(),
            authorizer: Some(&self.inputs.authorizer),
        };
        let attributes = &*self.attributes;
        let Some(of) = attributes.managed_type(kind) else {
            return Err(Failure::Request(Box::new(Status::service_unavailable(format!(
                "Resource kind {kind} not found. There can be a delay between when CustomResourceDefinitions are \
                 created and when they are available."
            )))));
        };
        let parse = |text: &[u8]| attributes.parse_strictly(text, kind);
        let mutated = MutatedObject { object, of, parse: &parse };
        let apply = || {
            let Some(new) = mutation.apply(policy, &inputs, &mutated, VALIDATION_BUDGET)? else {
                return Ok(None);
            };
            if new == *object {
                return Ok(None);
            }
            attributes.to_storage(new, kind).map(Some).map_err(Failure::Request)
        };
        let mut result = pintle_work::run(apply).await;
        for _ in 1..MOST_RUNS {
            if !policy.uses.authorizer || !self.inputs.checks.decide_pending().await {
                break;
            }
            result = pintle_work::run(apply).await;
        }
        result
    }
}

/// Reads or changes the record of this plugin.
fn record<T>(attributes: &mut Attributes<'_>, with: impl FnOnce(&mut Record) -> T) -> T {
    match attributes.reinvocation.record(NAME) {
        Some(record) => with(record),
        // No other plugin has this name.
        None => with(&mut Record::default()),
    }
}

#[cfg(test)]
#[path = "mutating_admission_policy_tests.rs"]
mod tests;
