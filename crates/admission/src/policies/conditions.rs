//! Match conditions of a policy.

use std::sync::Arc;
use std::time::Duration;

use pintle_cel::Val;
use pintle_runtime::Stopwatch;

use crate::expressions::MATCH_CONDITIONS_BUDGET;
use crate::expressions::{Expression, Variable};
use crate::expressions::{Inputs, OutOfBudget, Scope};

/// One run of match conditions. Durations are observed where not all conditions are true.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ConditionsRun {
    pub(crate) failures: usize,
    pub(crate) not_matched_after: Option<Duration>,
}

/// Evaluates match conditions. One that is false decides, whatever became of the others; else errors do, unless the policy
/// ignores failures: then it does not match.
pub(super) fn evaluate(
    conditions: &[Arc<Expression>],
    variables: &[Variable],
    ignores_failures: bool,
    inputs: &Inputs<'_>,
) -> (ConditionsRun, Result<bool, String>) {
    let (watch, scope) = (Stopwatch::start(), Scope::new(variables, inputs));
    let (mut budget, mut results) = (MATCH_CONDITIONS_BUDGET, Vec::with_capacity(conditions.len()));
    let mut errors: Vec<String> = Vec::new();
    let mut failures = 0;
    for condition in conditions {
        match scope.evaluate(condition, &mut budget) {
            Ok(result) => results.push(result),
            Err(OutOfBudget) => {
                errors.push(OutOfBudget::MESSAGE.to_owned());
                results.clear();
                break;
            }
        }
    }
    for result in results {
        match result {
            Ok(Val::Bool(false)) => {
                return (ConditionsRun { failures, not_matched_after: Some(watch.elapsed()) }, Ok(false));
            }
            Ok(_) => {}
            Err(error) => {
                failures += 1;
                if !errors.contains(&error) {
                    errors.push(error);
                }
            }
        }
    }
    if errors.is_empty() {
        return (ConditionsRun { failures, not_matched_after: None }, Ok(true));
    }
    let run = ConditionsRun { failures, not_matched_after: Some(watch.elapsed()) };
    let matched = match errors.as_slice() {
        _ if ignores_failures => Ok(false),
        [one] => Err(one.clone()),
        several => Err(format!("[{}]", several.join(", "))),
    };
    (run, matched)
}
