//! An expression that can be evaluated, any number of times and from any thread.

use std::fmt;
use std::sync::Arc;

use pintle_meta::Value;

use crate::environment::Declarations;
use crate::evaluate::{Evaluator, Failure, Meter};
use crate::plan::Plan;
use crate::types::Type;
use crate::value::{Error, Val};

/// What one evaluation may cost.
#[derive(Clone, Copy)]
pub struct Budget<'b> {
    /// In cel-go's units; past it the evaluation ends.
    pub cost: u64,
    /// Asked now and then in loops; the evaluation ends once it says so.
    pub interrupted: Option<&'b dyn Fn() -> bool>,
}

impl Budget<'_> {
    /// What Kubernetes lets a single evaluation cost.
    pub const PER_CALL: Budget<'static> = Budget { cost: 1_000_000, interrupted: None };

    pub fn of(cost: u64) -> Budget<'static> {
        Budget { cost, interrupted: None }
    }
}

/// The values of variables, for one evaluation.
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

/// A variable whose fields are found when an expression looks at them, such as the variables of an admission policy, which are
/// expressions themselves.
pub trait LazyFields<'v> {
    /// The value of a field, if there is such a field. It may be asked for any number of times.
    fn field(&self, name: &str) -> Option<Result<Val<'v>, Error>>;
}

impl<'v> Activation<'v> {
    pub fn new() -> Activation<'v> {
        Activation::default()
    }

    /// A tree, which is seen as the type that was declared for the variable.
    pub fn bind(mut self, name: &'v str, value: &'v Value) -> Activation<'v> {
        self.bound.push((name, Bound::Tree(value)));
        self
    }

    /// A value that is no tree.
    pub fn bind_val(mut self, name: &'v str, value: Val<'v>) -> Activation<'v> {
        self.bound.push((name, Bound::Val(value)));
        self
    }

    /// A variable that only its fields have values of.
    pub fn bind_lazy(mut self, name: &'v str, fields: &'v dyn LazyFields<'v>) -> Activation<'v> {
        self.bound.push((name, Bound::Lazy(fields)));
        self
    }

    pub(crate) fn find(&self, name: &str) -> Option<&Bound<'v>> {
        self.bound.iter().rev().find(|(known, _)| *known == name).map(|(_, bound)| bound)
    }
}

/// Why an evaluation has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EvalError {
    /// The expression's own fault, in cel-go's words.
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

/// What came out, and what it cost, also where nothing came out.
#[derive(Clone, Debug)]
pub struct Evaluation<'v> {
    pub value: Result<Val<'v>, EvalError>,
    pub cost: u64,
}

/// A compiled expression.
pub struct Program {
    declarations: Arc<Declarations>,
    plan: Plan,
    result: Type,
}

impl Program {
    pub(crate) fn new(declarations: Arc<Declarations>, plan: Plan, result: Type) -> Program {
        Program { declarations, plan, result }
    }

    /// The type that the checker found, for callers that want a certain one.
    pub fn result_type(&self) -> &Type {
        &self.result
    }

    /// Evaluates it. The result may borrow from what is bound.
    pub fn evaluate<'v>(&self, activation: &Activation<'v>, budget: Budget<'_>) -> Evaluation<'v> {
        let mut meter = Meter::new(budget);
        let value = Evaluator::new(&self.plan, &self.declarations, activation, &mut meter).run();
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
