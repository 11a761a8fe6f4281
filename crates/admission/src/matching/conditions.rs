//! Match conditions: expressions that all must be true for a request to match.

use std::sync::{Arc, OnceLock};

use pintle_meta::Value;
use pintle_runtime::Stopwatch;

use crate::attributes::Operation;
use crate::expressions::{COMPILED_BYTE, Expression, MATCH_CONDITIONS_BUDGET, Variables};
use crate::webhook_metrics::{ConditionLabels, WebhookMetrics};

/// The match conditions of a webhook. The first request that needs them compiles them, so that webhooks which match nothing cost
/// nothing.
#[derive(Debug, Default)]
pub(crate) struct MatchConditions(Vec<Arc<Condition>>);

#[derive(Debug)]
struct Condition {
    text: Arc<str>,
    compiled: OnceLock<Expression>,
}

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
    /// Reads the conditions of a webhook. Those that it had before stay as they are, compiled or not.
    pub(crate) fn read(conditions: &[Value], before: Option<&MatchConditions>) -> MatchConditions {
        let before = before.map_or(&[][..], |before| &before.0);
        let read = |(place, condition): (usize, &Value)| {
            let text = condition.text_at(&["expression"]);
            let in_place = before.get(place).filter(|known| *known.text == *text);
            let known = in_place.or_else(|| before.iter().find(|known| *known.text == *text));
            let new = || Arc::new(Condition { text: text.into(), compiled: OnceLock::new() });
            known.cloned().unwrap_or_else(new)
        };
        MatchConditions(conditions.iter().enumerate().map(read).collect())
    }

    /// Returns the conditions, compiled. The error of one that does not compile is its result in every evaluation.
    async fn compiled(&self) -> Vec<&Expression> {
        let missing = self.0.iter().filter(|condition| condition.compiled.get().is_none());
        let size: usize = missing.map(|condition| condition.text.len()).sum();
        pintle_work::aside(size.saturating_mul(COMPILED_BYTE)).await;
        let mut expressions = Vec::with_capacity(self.0.len());
        for Condition { text, compiled } in self.0.iter().map(|condition| &**condition) {
            if compiled.get().is_none() {
                let expression = pintle_work::run(|| {
                    pintle_work::check_now();
                    Expression::webhook_condition(text)
                });
                // Another request may have been faster.
                let _ = compiled.set(expression.await);
            }
            expressions.extend(compiled.get());
        }
        expressions
    }

    /// Returns the number of conditions that were compiled.
    #[cfg(test)]
    pub(crate) fn compiled_count(&self) -> usize {
        self.0.iter().filter(|condition| condition.compiled.get().is_some()).count()
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
        let expressions = self.compiled().await;
        let watch = Stopwatch::start();
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
