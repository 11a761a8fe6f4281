//! One rule, compiled: for evaluating it, or for saying what is wrong with it.

use std::sync::Arc;

use pintle_cel::{Declarations, Environment, Program, Type};
use pintle_schema::structural::{Rule, Structural};

use super::field_path::FieldPath;
use super::types::Declared;

pub(super) const SELF: &str = "self";
pub(super) const OLD_SELF: &str = "oldSelf";

/// Where rules of one node are compiled.
pub(super) struct Compiler {
    declared: Arc<Declared>,
    plain: Environment,
    /// With `oldSelf` as an optional.
    optional: Option<Environment>,
}

/// A compiled rule. A rule without a text has neither program nor error.
#[derive(Default)]
pub(super) struct Compiled {
    pub(super) program: Option<Program>,
    pub(super) error: Option<Box<str>>,
    pub(super) uses_old_self: bool,
    pub(super) message: Option<Program>,
    pub(super) message_error: Option<Box<str>>,
    /// Where the rule says that it is about.
    pub(super) field_path: Option<Box<str>>,
}

/// The maximum estimated cost of an evaluation.
#[derive(Clone, Copy, Default)]
pub(super) struct Costs {
    pub(super) rule: u64,
    pub(super) message: u64,
}

impl Compiler {
    pub(super) fn new(declared: &Arc<Declared>, rules: &[Rule]) -> Compiler {
        let of = &declared.of;
        let environment = |old: Type| {
            Environment::new(Declarations::new().variable(SELF, of.clone()).variable(OLD_SELF, old))
        };
        let wants_optional = rules.iter().any(|rule| rule.optional_old_self == Some(true));
        Compiler {
            declared: Arc::clone(declared),
            plain: environment(of.clone()),
            optional: wants_optional.then(|| environment(Type::optional(of.clone()))),
        }
    }

    /// Compiles a rule; estimates what it costs if asked.
    pub(super) fn compile(&self, schema: &Structural, rule: &Rule, estimates: bool) -> (Compiled, Costs) {
        let (mut compiled, mut costs) = (Compiled::default(), Costs::default());
        if rule.rule.trim().is_empty() {
            return (compiled, costs);
        }
        let environment = match &self.optional {
            Some(optional) if rule.optional_old_self == Some(true) => optional,
            _ => &self.plain,
        };
        let failed = |what: &str, error: &dyn std::fmt::Display| {
            Some(format!("{what}: {}", self.declared.named(&error.to_string())).into())
        };
        let expression = match environment.check(&rule.rule) {
            Ok(expression) => expression,
            Err(error) => {
                compiled.error = failed("compilation failed", &error);
                return (compiled, costs);
            }
        };
        if expression.result_type() != Type::Bool {
            compiled.error = Some("cel expression must evaluate to a bool".into());
            return (compiled, costs);
        }
        compiled.uses_old_self = expression.uses(OLD_SELF);
        match expression.program() {
            Ok(program) => compiled.program = Some(program),
            Err(error) => {
                compiled.error = failed("program instantiation failed", &error);
                return (compiled, costs);
            }
        }
        if estimates {
            costs.rule = expression.estimate(&*self.declared).max;
        }
        if !rule.message_expression.is_empty() {
            let expression = match environment.check(&rule.message_expression) {
                Ok(expression) => expression,
                Err(error) => {
                    compiled.message_error = failed("messageExpression compilation failed", &error);
                    return (compiled, costs);
                }
            };
            if expression.result_type() != Type::String {
                compiled.message_error = Some("messageExpression must evaluate to a string".into());
                return (compiled, costs);
            }
            match expression.program() {
                Ok(program) => compiled.message = Some(program),
                Err(error) => {
                    compiled.message_error = failed("messageExpression instantiation failed", &error);
                    return (compiled, costs);
                }
            }
            if estimates {
                costs.message = expression.estimate(&*self.declared).max;
            }
        }
        if !rule.field_path.is_empty()
            && let Ok(path) = FieldPath::resolve(&rule.field_path, schema, true)
        {
            compiled.field_path = Some(path.to_string()).filter(|path| !path.is_empty()).map(Into::into);
        }
        (compiled, costs)
    }
}
