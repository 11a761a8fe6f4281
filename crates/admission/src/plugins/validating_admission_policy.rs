//! `ValidatingAdmissionPolicy`: rejects, warns of or records requests by policies in CEL.
//!
//! For each policy that matches the request, each of its bindings that does, and each parameter of the binding, the policy is
//! evaluated. Everything is evaluated, also after a denial, since audit annotations and warnings count; the first denial is the
//! answer. Policies and bindings are applied by name.

use std::time::Duration;

use async_trait::async_trait;
use pintle_codec::json;
use pintle_meta::{Cause, Reason, Status, Value};

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
use crate::policies::source::{Hook, Policy, PolicySource};
use crate::policies::validating::{
    Annotation, Decision, Enforcement, Evaluated, Metrics, ValidatingPolicy, Verdict,
};

/// Longer values of audit annotations are cut.
const LONGEST_ANNOTATION: usize = 10 * 1024;

/// Evaluations of one policy. Each finds at least one new authorization check, and the budget allows only for a few.
const MOST_RUNS: usize = 64;

/// Bytes of JSON whose processing takes as long as an evaluation of an ordinary policy. Many policies or parameters are evaluated
/// where they do not hold other requests up.
const EVALUATION: usize = 512;

const FAILURE_ANNOTATION: &str = "validation.policy.admission.k8s.io/validation_failure";

pub(super) struct ValidatingAdmissionPolicy {
    environment: PolicyEnvironment<ValidatingPolicy>,
    metrics: Metrics,
}

impl ValidatingAdmissionPolicy {
    pub(super) fn new(cluster: &Cluster) -> Result<ValidatingAdmissionPolicy, InitError> {
        Ok(ValidatingAdmissionPolicy {
            environment: PolicyEnvironment::new(cluster)?,
            metrics: Metrics::new(&cluster.metrics).map_err(|error| error.to_string())?,
        })
    }
}

#[async_trait]
impl Plugin for ValidatingAdmissionPolicy {
    fn name(&self) -> &'static str {
        "ValidatingAdmissionPolicy"
    }

    fn validates(&self, operation: Operation, target: &Target) -> bool {
        self.environment.source.has_candidates(operation, target)
    }

    async fn validate(&self, attributes: &Attributes<'_>) -> Result<()> {
        let source = &self.environment.source;
        let hooks = source.candidates(attributes.operation, attributes.target()).await;
        let hooks = hooks.map_err(|_| attributes.forbidden("not yet ready to handle request"))?;
        pintle_work::aside(hooks.len().saturating_mul(EVALUATION)).await;
        let mut run = Run::new(self, attributes);
        for hook in &*hooks {
            run.apply(hook, source).await?;
        }
        run.denial.map_or(Ok(()), Err)
    }
}

/// The policies of one request.
struct Run<'r> {
    plugin: &'r ValidatingAdmissionPolicy,
    attributes: &'r Attributes<'r>,
    inputs: RequestInputs,
    /// The first denial.
    denial: Option<Box<Status>>,
}

/// A denial, for its message.
struct Denial<'d> {
    policy: &'d str,
    binding: Option<&'d str>,
    message: &'d str,
    reason: Reason,
}

impl<'r> Run<'r> {
    fn new(plugin: &'r ValidatingAdmissionPolicy, attributes: &'r Attributes<'r>) -> Run<'r> {
        let inputs = RequestInputs::new(attributes, plugin.environment.authorizer.clone());
        Run { plugin, attributes, inputs, denial: None }
    }

    /// Applies a policy. Errors end the request.
    async fn apply(
        &mut self,
        hook: &Hook<ValidatingPolicy>,
        source: &PolicySource<ValidatingPolicy>,
    ) -> Result<()> {
        let policy = &*hook.policy;
        let environment = &self.plugin.environment;
        let found = match environment.find(&policy.predicate, self.attributes).await {
            Ok(Some(found)) => found,
            Ok(None) => return Ok(()),
            Err(why) => {
                self.misconfigured(policy, None, &why);
                return Ok(());
            }
        };
        let params = match environment.param_resource(policy).await {
            Ok(params) => params,
            Err(why) => {
                self.misconfigured(policy, None, &why);
                return Ok(());
            }
        };
        let mut annotations = Annotations::default();
        let mut versioned = None;
        for binding in &hook.bindings {
            match environment.applies(binding, self.attributes).await {
                Ok(true) => {}
                Ok(false) => continue,
                Err(why) => {
                    self.misconfigured(policy, Some(binding), &why);
                    continue;
                }
            }
            let collected = environment.params(params.as_ref(), binding, self.attributes.namespace()).await;
            let collected = match collected {
                Ok(collected) => collected,
                Err(why) => {
                    self.misconfigured(policy, Some(binding), &why);
                    continue;
                }
            };
            if collected.is_empty() {
                continue;
            }
            if versioned.is_none() {
                let attributes = self.attributes;
                match pintle_work::run(|| attributes.versioned(&found.kind)).await {
                    Ok(converted) => versioned = Some(converted),
                    Err(status) => {
                        let why = format!("failed to convert object version: {}", status.message);
                        self.misconfigured(policy, Some(binding), &why);
                        continue;
                    }
                }
            }
            let Some(versioned) = &versioned else { continue };
            let compiled = source.compiled(policy).await;
            pintle_work::aside(collected.len().saturating_mul(EVALUATION)).await;
            let namespaces = self.plugin.environment.namespaces.as_deref();
            self.inputs.load_namespace(self.attributes, namespaces, compiled.uses.namespace).await?;
            for params in &collected {
                let evaluated = self.evaluate(compiled, &found, versioned, params.as_deref()).await;
                if let Some(run) = evaluated.conditions {
                    environment.observe_conditions(policy, run, self.attributes);
                }
                self.enforce(policy, binding, evaluated.decisions);
                self.annotate(policy, binding, evaluated.annotations, &mut annotations);
            }
        }
        annotations.publish(&policy.name, self.attributes);
        Ok(())
    }

    async fn evaluate(
        &mut self,
        policy: &ValidatingPolicy,
        found: &Match,
        versioned: &Versioned,
        params: Option<&Value>,
    ) -> Evaluated {
        let uses = policy.uses;
        let request = self.inputs.request(self.attributes, found, uses.request);
        // Match conditions see the resource of the request, and no namespace.
        let resource = self.attributes.target().resource.clone();
        let own = Match { resource, kind: found.kind.clone() };
        let own_request = if own == *found {
            request.clone()
        } else {
            self.inputs.request(self.attributes, &own, uses.request)
        };
        let inputs = Inputs {
            object: versioned.object(),
            old_object: versioned.old_object(),
            params,
            request: &request,
            namespace: self.inputs.namespace.as_ref(),
            authorizer: Some(&self.inputs.authorizer),
        };
        let conditions = Inputs { request: &own_request, namespace: None, ..inputs };
        let mut evaluated = Evaluated::default();
        for _ in 0..MOST_RUNS {
            let evaluate = || policy.evaluate(&conditions, &inputs, VALIDATION_BUDGET);
            evaluated = pintle_work::run(evaluate).await;
            if !uses.authorizer || !self.inputs.checks.decide_pending().await {
                break;
            }
        }
        evaluated
    }

    /// Denies the request because of its configuration, unless failures of the policy are ignored.
    fn misconfigured(&mut self, policy: &Policy<ValidatingPolicy>, binding: Option<&Binding>, why: &str) {
        if policy.ignores_failures {
            return;
        }
        let part = if binding.is_some() { "binding" } else { "policy" };
        self.deny(&Denial {
            policy: &policy.name,
            binding: binding.map(|binding| binding.name.as_str()),
            message: &format!("failed to configure {part}: {why}"),
            reason: Reason::Invalid,
        });
    }

    fn enforce(&mut self, policy: &Policy<ValidatingPolicy>, binding: &Binding, decisions: Vec<Decision>) {
        for (index, decision) in decisions.into_iter().enumerate() {
            let observe = |enforcement| {
                let (metrics, error_type) = (&self.plugin.metrics, decision.error_type());
                metrics.observe(enforcement, error_type, &policy.name, &binding.name, decision.elapsed);
            };
            match decision.verdict {
                Verdict::Admit => continue,
                Verdict::IgnoredError => {
                    observe(Enforcement::Allow);
                    continue;
                }
                Verdict::Deny | Verdict::Error => {}
            }
            let mut denies = false;
            for action in &binding.actions {
                match action.as_str() {
                    "Deny" => {
                        observe(Enforcement::Deny);
                        denies = true;
                    }
                    "Audit" => {
                        publish_failure(self.attributes, binding, index, &decision.message);
                        observe(Enforcement::Audit);
                    }
                    "Warn" => {
                        self.attributes.request.notes.warn(format!(
                            "Validation failed for ValidatingAdmissionPolicy '{}' with binding '{}': {}",
                            policy.name, binding.name, decision.message
                        ));
                        observe(Enforcement::Warn);
                    }
                    _ => {}
                }
            }
            if denies {
                let Decision { message, reason, .. } = &decision;
                let (policy, binding) = (policy.name.as_str(), Some(binding.name.as_str()));
                self.deny(&Denial { policy, binding, message, reason: *reason });
            }
        }
    }

    fn annotate(
        &mut self,
        policy: &Policy<ValidatingPolicy>,
        binding: &Binding,
        annotations: Vec<Annotation>,
        collected: &mut Annotations,
    ) {
        for annotation in annotations {
            match annotation {
                Annotation::Exclude => {}
                Annotation::Publish { key, value } => collected.add(key, &value),
                Annotation::Error { message, elapsed } => {
                    self.deny_annotation(policy, binding, &message, elapsed);
                }
            }
        }
    }

    /// Denies the request because of an audit annotation, whatever the actions of the binding are.
    fn deny_annotation(
        &mut self,
        policy: &Policy<ValidatingPolicy>,
        binding: &Binding,
        message: &str,
        elapsed: Duration,
    ) {
        let decision = Decision {
            verdict: Verdict::Error,
            message: message.to_owned(),
            reason: Reason::Invalid,
            elapsed,
        };
        let (metrics, error_type) = (&self.plugin.metrics, decision.error_type());
        metrics.observe(Enforcement::Deny, error_type, &policy.name, &binding.name, elapsed);
        let (policy, binding) = (policy.name.as_str(), Some(binding.name.as_str()));
        self.deny(&Denial { policy, binding, message, reason: Reason::Invalid });
    }

    fn deny(&mut self, denial: &Denial<'_>) {
        if self.denial.is_some() {
            return;
        }
        let Denial { policy, binding, message, reason } = *denial;
        let message = match binding {
            Some(binding) => format!(
                "ValidatingAdmissionPolicy '{policy}' with binding '{binding}' denied request: {message}"
            ),
            None => format!("ValidatingAdmissionPolicy '{policy}' denied request: {message}"),
        };
        let mut status = self.attributes.forbidden(&message);
        status.reason = reason;
        status.code = match reason {
            Reason::Forbidden => 403,
            Reason::Unauthorized => 401,
            Reason::RequestEntityTooLarge => 413,
            _ => 422,
        };
        let cause = Cause { kind: None, message, field: String::new() };
        status.details.get_or_insert_default().causes.push(cause);
        self.denial = Some(status);
    }
}

/// Records a failure in the audit event. Only the first failure of a request is kept, as in the reference.
fn publish_failure(attributes: &Attributes<'_>, binding: &Binding, index: usize, message: &str) {
    let text = |value: &Value| {
        let mut text = Vec::new();
        json::encode(value, &mut text);
        String::from_utf8_lossy(&text).into_owned()
    };
    let quoted = |value: &str| text(&Value::string(value));
    let actions: Vec<Value> = binding.actions.iter().map(Value::string).collect();
    let value = format!(
        r#"[{{"message":{},"policy":{},"binding":{},"expressionIndex":{index},"validationActions":{}}}]"#,
        quoted(message),
        quoted(&binding.policy),
        quoted(&binding.name),
        text(&Value::list(actions)),
    );
    add_annotation(attributes, FAILURE_ANNOTATION, value, &binding.policy);
}

fn add_annotation(attributes: &Attributes<'_>, key: &str, value: String, policy: &str) {
    if let Err(error) = attributes.request.notes.annotate(key, value) {
        tracing::warn!(key, policy, %error, "Failed to set admission audit annotation");
    }
}

/// The audit annotations of a policy: the distinct values of each key.
#[derive(Default)]
struct Annotations(Vec<(String, Vec<String>)>);

impl Annotations {
    fn add(&mut self, key: String, value: &str) {
        let mut end = value.len().min(LONGEST_ANNOTATION);
        while !value.is_char_boundary(end) {
            end -= 1;
        }
        let value = &value[..end];
        match self.0.iter_mut().find(|(known, _)| *known == key) {
            Some((_, values)) if values.iter().any(|known| known == value) => {}
            Some((_, values)) => values.push(value.to_owned()),
            None => self.0.push((key, vec![value.to_owned()])),
        }
    }

    fn publish(self, policy: &str, attributes: &Attributes<'_>) {
        for (key, values) in self.0 {
            add_annotation(attributes, &format!("{policy}/{key}"), values.join(", "), policy);
        }
    }
}

#[cfg(test)]
#[path = "validating_admission_policy_tests.rs"]
mod tests;
