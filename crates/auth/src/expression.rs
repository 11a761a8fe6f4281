//! Compiled expressions of authenticators and authorizers: match conditions of webhooks, mappings and rules of token issuers. Each is
//! compiled when its configuration is loaded, and evaluated with one variable.

use pintle_cel::{Activation, Budget, Declarations, Environment, Program, Type, Val};
use pintle_meta::Value;

/// A compiled expression and its text, for messages.
pub(crate) struct Expression {
    pub(crate) text: String,
    program: Program,
}

impl Expression {
    /// Compiles an expression; the error says what is wrong with it.
    pub(crate) fn compile(declarations: Declarations, text: &str) -> Result<Expression, String> {
        let program = Environment::new(declarations).compile(text).map_err(|error| {
            if error.is_instantiation() {
                format!("program instantiation failed: {error}")
            } else {
                format!("compilation failed: {error}")
            }
        })?;
        Ok(Expression { text: text.to_owned(), program })
    }

    /// Returns the type that the checker inferred.
    pub(crate) fn result_type(&self) -> &Type {
        self.program.result_type()
    }

    /// Evaluates the expression with a value of its variable.
    pub(crate) fn evaluate<T>(
        &self,
        variable: &str,
        value: &Value,
        take: impl FnOnce(Val<'_>) -> Result<T, String>,
    ) -> Result<T, String> {
        let done = self.program.evaluate(&Activation::new().bind(variable, value), Budget::PER_CALL);
        match done.value {
            Ok(value) => take(value),
            Err(error) => Err(format!("expression '{}' resulted in error: {error}", self.text)),
        }
    }
}
