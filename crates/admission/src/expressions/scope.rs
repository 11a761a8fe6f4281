//! Evaluation of the expressions of a policy for one request.

use std::cell::{Cell, OnceCell};
use std::sync::Arc;

use pintle_cel::{Activation, Authorizer, Budget, Error, LazyFields, ResourceCheck, Type, Val};
use pintle_meta::Value;

use super::compiled::{Expression, VARIABLES, Variable};

/// The values that expressions read. `None` is null, for an authorizer it is absence.
#[derive(Clone, Copy)]
pub(crate) struct Inputs<'v> {
    pub(crate) object: Option<&'v Value>,
    pub(crate) old_object: Option<&'v Value>,
    pub(crate) params: Option<&'v Value>,
    pub(crate) request: &'v Value,
    pub(crate) namespace: Option<&'v Value>,
    pub(crate) authorizer: Option<&'v RequestAuthorizer>,
}

/// The authorizer of a request's user, and the resource of the request.
pub(crate) struct RequestAuthorizer {
    pub(crate) authorizer: Arc<dyn Authorizer>,
    pub(crate) resource: ResourceCheck,
}

impl<'v> Inputs<'v> {
    fn activation(&self) -> Activation<'v> {
        // Values are read as JSON is, also those that have a declared type.
        let value = |tree: Option<&'v Value>| {
            tree.and_then(|tree| Val::of_tree(tree, &Type::Dyn).ok()).unwrap_or(Val::Null)
        };
        let activation = Activation::new()
            .bind_val("object", value(self.object))
            .bind_val("oldObject", value(self.old_object))
            .bind_val("params", value(self.params))
            .bind_val("request", value(Some(self.request)))
            .bind_val("namespaceObject", value(self.namespace));
        let Some(RequestAuthorizer { authorizer, resource }) = self.authorizer else { return activation };
        activation.bind_val("authorizer", pintle_cel::authorizer(authorizer.clone())).bind_val(
            "authorizer.requestResource",
            pintle_cel::resource_check(authorizer.clone(), resource.clone()),
        )
    }
}

/// The budget of several evaluations is spent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OutOfBudget;

impl OutOfBudget {
    pub(crate) const MESSAGE: &'static str =
        "validation failed due to running out of cost budget, no further validation rules will be run";
}

/// One set of inputs, with the values of the variables that were read. A variable is evaluated once, when an expression first
/// reads it; its cost is charged to the budget of that expression.
pub(crate) struct Scope<'v> {
    variables: &'v [Variable],
    inputs: Activation<'v>,
    complete: OnceCell<Activation<'v>>,
    values: Vec<OnceCell<Result<Val<'v>, Error>>>,
    /// Cost of the variables that the current expression was the first to read.
    cost: Cell<u64>,
}

impl<'v> Scope<'v> {
    pub(crate) fn new(variables: &'v [Variable], inputs: &Inputs<'v>) -> Scope<'v> {
        Scope {
            variables,
            inputs: inputs.activation(),
            complete: OnceCell::new(),
            values: variables.iter().map(|_| OnceCell::new()).collect(),
            cost: Cell::new(0),
        }
    }

    fn activation(&'v self) -> &'v Activation<'v> {
        self.complete.get_or_init(|| self.inputs.clone().bind_lazy(VARIABLES, self))
    }

    /// Evaluates an expression and charges its cost. The inner error is the expression's, in the reference's words.
    pub(crate) fn evaluate(
        &'v self,
        expression: &Expression,
        budget: &mut u64,
    ) -> Result<Result<Val<'v>, String>, OutOfBudget> {
        let program = match &expression.program {
            Ok(program) => program,
            Err(detail) => return Ok(Err(format!("compilation error: {detail}"))),
        };
        let done = program.evaluate(self.activation(), Budget::PER_CALL);
        for cost in [self.cost.take(), done.cost] {
            *budget = budget.checked_sub(cost).ok_or(OutOfBudget)?;
        }
        let text = &expression.text;
        Ok(done.value.map_err(|error| format!("expression '{text}' resulted in error: {error}")))
    }

    fn compute(&'v self, variable: &Variable) -> Result<Val<'v>, Error> {
        let name = pintle_meta::quote(&variable.name);
        let program = match &variable.expression.program {
            Ok(program) => program,
            Err(detail) => {
                return Err(Error::new(format!("composited variable {name} fails to compile: {detail}")));
            }
        };
        let done = program.evaluate(self.activation(), Budget::PER_CALL);
        self.cost.set(self.cost.get().saturating_add(done.cost));
        done.value
            .map_err(|error| Error::new(format!("composited variable {name} fails to evaluate: {error}")))
    }
}

impl<'v> LazyFields<'v> for Scope<'v> {
    /// Variables are declared in their order, so that the place which the checker knows is that of the variable.
    fn field(&'v self, _: &str, place: Option<usize>) -> Option<Result<Val<'v>, Error>> {
        let place = place?;
        let (variable, value) = (self.variables.get(place)?, self.values.get(place)?);
        if value.get().is_none() {
            let computed = self.compute(variable);
            // A variable does not read itself, so nothing was set in between.
            let _ = value.set(computed);
        }
        value.get().cloned()
    }
}

#[cfg(test)]
#[path = "scope_tests.rs"]
mod tests;
