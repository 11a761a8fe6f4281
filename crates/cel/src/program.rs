//! Compiled expression, evaluated any number of times and from any thread.

use std::fmt;

use pintle_meta::Value;

use crate::evaluate::Evaluator;
use crate::meter::{Failure, Meter};
use crate::plan::Plan;
use crate::types::Type;
use crate::value::{Error, Val};

/// Limits of one evaluation.
#[derive(Clone, Copy)]
pub struct Budget<'b> {
    /// In cel-go's units; the evaluation ends when it is exceeded.
    pub cost: u64,
    /// Called now and then in loops; the evaluation ends once it returns true.
    pub interrupted: Option<&'b dyn Fn() -> bool>,
}

impl Budget<'_> {
    /// Kubernetes' cost limit of a single evaluation.
    pub const PER_CALL: Budget<'static> = Budget { cost: 1_000_000, interrupted: None };

    pub fn of(cost: u64) -> Budget<'static> {
        Budget { cost, interrupted: None }
    }
}

/// Values of variables for one evaluation.
#[derive(Clone, Default)]
pub struct Activation<'v> {
    bound: Vec<(&'v str, Bound<'v>)>,
}

#[derive(Clone)]
pub(crate) enum Bound<'v> {
    Tree(&'v Value),
    Val(Val<'v>),
    Lazy(&'v dyn LazyFields<'v>),
}

/// Variable whose fields are resolved when an expression selects them, such as `variables` of an admission policy,
/// which are expressions themselves.
pub trait LazyFields<'v> {
    /// Returns the value of a field, if it exists. `place` is that of the field in the variable's declared type, where its fields
    /// have places ([`ObjectType::place`](crate::ObjectType::place)). It may be called several times for one field, and again
    /// while it computes one.
    fn field(&'v self, name: &str, place: Option<usize>) -> Option<Result<Val<'v>, Error>>;
}

impl<'v> Activation<'v> {
    pub fn new() -> Activation<'v> {
        Activation::default()
    }

    /// Binds a tree, which is converted by the variable's declared type.
    pub fn bind(mut self, name: &'v str, value: &'v Value) -> Activation<'v> {
        self.bound.push((name, Bound::Tree(value)));
        self
    }

    /// Binds a value that is not a tree.
    pub fn bind_val(mut self, name: &'v str, value: Val<'v>) -> Activation<'v> {
        self.bound.push((name, Bound::Val(value)));
        self
    }

    /// Binds a variable whose fields are resolved on selection.
    pub fn bind_lazy(mut self, name: &'v str, fields: &'v dyn LazyFields<'v>) -> Activation<'v> {
        self.bound.push((name, Bound::Lazy(fields)));
        self
    }

    pub(crate) fn find(&self, name: &str) -> Option<&Bound<'v>> {
        self.bound.iter().rev().find(|(known, _)| *known == name).map(|(_, bound)| bound)
    }
}

/// Reason why an evaluation has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EvalError {
    /// Error of the expression, in cel-go's words.
    Error(Error),
    CostLimitExceeded,
    Interrupted,
}

impl fmt::Display for EvalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EvalError::Error(error) => error.fmt(f),
            EvalError::CostLimitExceeded => f.write_str("operation cancelled: actual cost limit exceeded"),
            EvalError::Interrupted => f.write_str("operation interrupted"),
        }
    }
}

impl std::error::Error for EvalError {}

/// Result and cost of an evaluation; a failed one has a cost too.
#[derive(Clone, Debug)]
pub struct Evaluation<'v> {
    pub value: Result<Val<'v>, EvalError>,
    pub cost: u64,
}

/// A compiled expression.
pub struct Program {
    plan: Plan,
    result: Type,
}

impl Program {
    pub(crate) fn new(plan: Plan, result: Type) -> Program {
        Program { plan, result }
    }

    /// Returns the type that the checker inferred.
    pub fn result_type(&self) -> &Type {
        &self.result
    }

    /// Evaluates the program. The result may borrow from the bound values.
    pub fn evaluate<'v>(&self, activation: &Activation<'v>, budget: Budget<'_>) -> Evaluation<'v> {
        let mut meter = Meter::new(budget);
        let value = Evaluator::new(&self.plan, activation, &mut meter).run();
        let value = value.map_err(|failure| match failure {
            Failure::Error(error) => EvalError::Error(error),
            Failure::CostLimit => EvalError::CostLimitExceeded,
            Failure::Interrupted => EvalError::Interrupted,
        });
        Evaluation { value, cost: meter.cost() }
    }
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Program").field("result", &self.result).finish_non_exhaustive()
    }
}
