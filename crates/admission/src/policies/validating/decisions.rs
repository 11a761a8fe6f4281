//! The evaluation of a policy for one request, binding and parameter.

use std::time::Duration;

use pintle_cel::Val;
use pintle_meta::{Reason, Value};
use pintle_runtime::Stopwatch;

use super::policy::{AuditAnnotation, ValidatingPolicy, Validation};
use crate::expressions::{Inputs, OutOfBudget, Scope};
use crate::policies::conditions::{self, ConditionsRun};

/// Longer results of message expressions are not used.
const LONGEST_MESSAGE: usize = 5 * 1024;

/// The result of a policy.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Evaluated {
    /// One decision for each validation; a single one where they could not be evaluated. Empty if a match condition is false.
    pub(crate) decisions: Vec<Decision>,
    pub(crate) annotations: Vec<Annotation>,
    /// The run of the match conditions, for metrics; `None` if there are none.
    pub(crate) conditions: Option<ConditionsRun>,
}

/// The outcome of one validation.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Decision {
    pub(crate) verdict: Verdict,
    pub(crate) message: String,
    pub(crate) reason: Reason,
    pub(crate) elapsed: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Admit,
    /// The validation is false.
    Deny,
    /// The validation failed, and failures are ignored.
    IgnoredError,
    /// The validation failed, and failures deny.
    Error,
}

/// The outcome of one audit annotation.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Annotation {
    Publish {
        key: String,
        value: String,
    },
    /// The value is null or empty, or could not be evaluated and failures are ignored.
    Exclude,
    /// The value could not be evaluated, which denies the request.
    Error {
        message: String,
        elapsed: Duration,
    },
}

impl ValidatingPolicy {
    /// Evaluates the policy. Match conditions see `seen`, which differ from the inputs of validations in the resource of
    /// the request and have no namespace.
    pub(crate) fn evaluate(&self, seen: &Inputs<'_>, inputs: &Inputs<'_>, budget: u64) -> Evaluated {
        let mut evaluated = Evaluated::default();
        if !self.conditions.is_empty() {
            let (run, matched) =
                conditions::evaluate(&self.conditions, &self.variables, self.ignores_failures, seen);
            evaluated.conditions = Some(run);
            match matched {
                Ok(true) => {}
                Ok(false) => return evaluated,
                Err(message) => {
                    evaluated.decisions.push(self.error(message, Duration::ZERO));
                    return evaluated;
                }
            }
        }
        let decided = self.decide(inputs, budget).and_then(|decisions| {
            evaluated.decisions = decisions;
            evaluated.annotations = self.annotate(inputs, budget)?;
            Ok(())
        });
        if decided == Err(OutOfBudget) {
            evaluated.decisions = vec![self.error(OutOfBudget::MESSAGE.to_owned(), Duration::ZERO)];
        }
        evaluated
    }

    fn error(&self, message: String, elapsed: Duration) -> Decision {
        let verdict = if self.ignores_failures { Verdict::IgnoredError } else { Verdict::Error };
        Decision { verdict, message, reason: Reason::Invalid, elapsed }
    }

    /// Evaluates the validations, then the expressions of their messages within what is left of the budget.
    fn decide(&self, inputs: &Inputs<'_>, mut budget: u64) -> Result<Vec<Decision>, OutOfBudget> {
        let scope = Scope::new(&self.variables, inputs);
        let mut results = Vec::with_capacity(self.validations.len());
        for validation in &self.validations {
            let watch = Stopwatch::start();
            let result = scope.evaluate(&validation.expression, &mut budget)?;
            results.push((result.map(|value| matches!(value, Val::Bool(true))), watch.elapsed()));
        }
        let messages = self.messages(inputs, budget);
        let decided = self.validations.iter().zip(results).enumerate();
        let decided = decided.map(|(index, (validation, (result, elapsed)))| match (result, &messages) {
            (Err(message), _) => self.error(message, elapsed),
            (Ok(_), Err(OutOfBudget)) => {
                self.error(format!("failed messageExpression: {}", OutOfBudget::MESSAGE), elapsed)
            }
            (Ok(true), Ok(_)) => {
                Decision { verdict: Verdict::Admit, message: String::new(), reason: Reason::Invalid, elapsed }
            }
            (Ok(false), Ok(messages)) => Decision {
                verdict: Verdict::Deny,
                message: validation.message(messages.get(index).and_then(Option::as_deref)),
                reason: validation.reason,
                elapsed,
            },
        });
        Ok(decided.collect())
    }

    /// Evaluates the message expressions: none of them has the authorizer. Also those of validations that are true, since
    /// running out of the budget denies the request.
    fn messages(&self, inputs: &Inputs<'_>, mut budget: u64) -> Result<Vec<Option<String>>, OutOfBudget> {
        if self.validations.iter().all(|validation| validation.message_expression.is_none()) {
            return Ok(Vec::new());
        }
        let inputs = Inputs { authorizer: None, ..*inputs };
        let scope = Scope::new(&self.variables, &inputs);
        let message = |validation: &Validation| {
            let Some(expression) = &validation.message_expression else { return Ok(None) };
            let result = scope.evaluate(expression, &mut budget)?;
            Ok(match result {
                Ok(value) => value.as_str().map(str::to_owned),
                Err(error) => {
                    tracing::debug!(error, "error while evaluating messageExpression");
                    None
                }
            })
        };
        self.validations.iter().map(message).collect()
    }

    /// Evaluates the audit annotations: within a budget of their own, and without the authorizer.
    fn annotate(&self, inputs: &Inputs<'_>, mut budget: u64) -> Result<Vec<Annotation>, OutOfBudget> {
        if self.annotations.is_empty() {
            return Ok(Vec::new());
        }
        let inputs = Inputs { authorizer: None, ..*inputs };
        let scope = Scope::new(&self.variables, &inputs);
        let annotation = |annotation: &AuditAnnotation| {
            let watch = Stopwatch::start();
            Ok(match scope.evaluate(&annotation.value, &mut budget)? {
                Ok(Val::String(value)) if !value.trim().is_empty() => {
                    Annotation::Publish { key: annotation.key.clone(), value: value.trim().to_owned() }
                }
                Ok(Val::String(_) | Val::Null) => Annotation::Exclude,
                Ok(other) => {
                    let (text, of) = (&annotation.value.text, other.type_of());
                    let message = format!(
                        "valueExpression '{text}' resulted in unsupported return type: {}. Return type must be either \
                         string or null.",
                        of.runtime_name()
                    );
                    Annotation::Error { message, elapsed: watch.elapsed() }
                }
                Err(_) if self.ignores_failures => Annotation::Exclude,
                Err(message) => Annotation::Error { message, elapsed: watch.elapsed() },
            })
        };
        self.annotations.iter().map(annotation).collect()
    }
}

impl Validation {
    /// Returns the message of a denial: the result of the message expression if that is usable, else the message, else the
    /// expression.
    fn message(&self, result: Option<&str>) -> String {
        let is_usable =
            |text: &&str| !text.is_empty() && text.len() <= LONGEST_MESSAGE && !text.contains('\n');
        let expression = || format!("failed expression: {}", self.expression.text.trim());
        match result.map(str::trim).filter(is_usable).unwrap_or_else(|| self.message.trim()) {
            "" => expression(),
            message => message.to_owned(),
        }
    }
}

impl Decision {
    /// Returns the label `error_type` of metrics.
    pub(crate) fn error_type(&self) -> &'static str {
        match self.verdict {
            Verdict::Admit => "no_error",
            _ if self.message.starts_with("compilation") => "compile_error",
            _ if self.message.starts_with("validation failed due to running out of cost budget") => {
                "out_of_budget"
            }
            _ => "invalid_error",
        }
    }
}

/// Returns the fields of a namespace that `namespaceObject` has.
pub(crate) fn namespace_object(namespace: &Value) -> Value {
    let mut namespace = namespace.clone();
    if let Some(fields) = namespace.as_object_mut() {
        fields.remove("kind");
        fields.remove("apiVersion");
    }
    if let Some(metadata) = namespace.metadata_mut() {
        for field in ["managedFields", "ownerReferences", "selfLink"] {
            metadata.remove(field);
        }
    }
    namespace
}
