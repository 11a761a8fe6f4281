//! Match conditions: expressions that all must be true for a request to match.

use pintle_meta::Value;
use pintle_runtime::Stopwatch;

use crate::attributes::Operation;
use crate::expressions::{Expression, MATCH_CONDITIONS_BUDGET, Variables};
use crate::webhook_metrics::{ConditionLabels, WebhookMetrics};

/// The match conditions of a webhook or policy, compiled.
#[derive(Debug, Default)]
pub(crate) struct MatchConditions(Vec<Expression>);

/// The outcome of match conditions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Match,
    /// A condition is false, or one failed and failures are ignored.
    NoMatch,
    /// Conditions failed, and none is false.
    Failed(String),
}

impl MatchConditions {
    /// Compiles the conditions of a webhook. The error of one that does not compile is its result in every evaluation.
    pub(crate) fn compile(conditions: &[Value]) -> MatchConditions {
        let compile = |condition: &Value| Expression::webhook_condition(condition.text_at(&["expression"]));
        MatchConditions(conditions.iter().map(compile).collect())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Evaluates all conditions. One that is false decides, whatever became of the others.
    pub(crate) async fn evaluate(
        &self,
        variables: &Variables,
        ignores_failures: bool,
        operation: Operation,
        metrics: &WebhookMetrics,
        labels: ConditionLabels<'_>,
    ) -> Verdict {
        let watch = Stopwatch::start();
        let expressions: Vec<&Expression> = self.0.iter().collect();
        let results = variables.evaluate(&expressions, MATCH_CONDITIONS_BUDGET).await;
        let mut errors = Vec::new();
        match results {
            Err(error) => errors.push(error),
            Ok(results) => {
                for result in results {
                    match result {
                        Ok(true) => {}
                        Ok(false) => {
                            metrics.conditions_evaluated(labels, operation, watch.elapsed());
                            return Verdict::NoMatch;
                        }
                        Err(error) => {
                            metrics.condition_failed(labels, operation);
                            if !errors.contains(&error) {
                                errors.push(error);
                            }
                        }
                    }
                }
            }
        }
        if errors.is_empty() {
            return Verdict::Match;
        }
        metrics.conditions_evaluated(labels, operation, watch.elapsed());
        match errors.as_slice() {
            _ if ignores_failures => Verdict::NoMatch,
            [one] => Verdict::Failed(one.clone()),
            several => Verdict::Failed(format!("[{}]", several.join(", "))),
        }
    }
}
