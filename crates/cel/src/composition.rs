//! The type of `variables`: the variables of a policy, each declared for the expressions after it.
//!
//! A policy may have thousands of variables and of expressions, so that no expression has a list of its own. All of them share
//! one list that grows, and see the part of it that was there when they were compiled:
//!
//! ```text
//! variables   a  b  c             one list per policy
//! a's expression sees 0 of it, b's 1, c's 2; validations see 3
//! ```

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use smol_str::SmolStr;

use crate::types::{Field, ObjectType, Type};

/// The variables of one policy, which are declared one after the other.
#[derive(Debug, Default)]
pub struct PolicyVariables(Arc<RwLock<Declared>>);

#[derive(Debug, Default)]
struct Declared {
    types: Vec<Type>,
    places: HashMap<SmolStr, usize>,
}

impl PolicyVariables {
    pub fn new() -> PolicyVariables {
        PolicyVariables::default()
    }

    /// Declares a variable. Of several with one name, which validation refuses, the first counts.
    pub fn declare(&mut self, name: impl Into<SmolStr>, of: Type) {
        let mut declared = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let place = declared.types.len();
        declared.types.push(of);
        declared.places.entry(name.into()).or_insert(place);
    }

    /// Returns the type of `variables` in the next expression: an object with the variables so far.
    pub fn declared(&self) -> Type {
        let len = read(&self.0).types.len();
        Type::object(View { declared: self.0.clone(), len })
    }
}

fn read(declared: &RwLock<Declared>) -> RwLockReadGuard<'_, Declared> {
    declared.read().unwrap_or_else(PoisonError::into_inner)
}

/// The first `len` variables.
#[derive(Debug)]
struct View {
    declared: Arc<RwLock<Declared>>,
    len: usize,
}

impl ObjectType for View {
    fn name(&self) -> &str {
        "kubernetes.variables"
    }

    fn field(&self, name: &str) -> Option<Field> {
        let place = self.place(name)?;
        Some(Field { property: name.into(), of: read(&self.declared).types.get(place)?.clone() })
    }

    fn place(&self, name: &str) -> Option<usize> {
        read(&self.declared).places.get(name).copied().filter(|place| *place < self.len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Declarations, Environment};

    fn issue(of: Type, text: &str) -> String {
        let environment = Environment::new(Declarations::new().variable("variables", of));
        match environment.check(text) {
            Ok(expression) => expression.result_type().declared_name(),
            Err(error) => error.issues()[0].message.clone(),
        }
    }

    #[test]
    fn an_expression_sees_the_variables_that_were_declared_before_it() {
        let mut variables = PolicyVariables::new();
        let none = variables.declared();
        variables.declare("a", Type::Int);
        let one = variables.declared();
        variables.declare("b", Type::String);
        variables.declare("a", Type::Bool);
        let all = variables.declared();
        assert_eq!(issue(none, "variables.a"), "undefined field 'a'");
        assert_eq!(issue(one.clone(), "variables.a"), "int");
        assert_eq!(issue(one, "variables.b"), "undefined field 'b'");
        assert_eq!(issue(all.clone(), "variables.b"), "string");
        assert_eq!(issue(all.clone(), "variables.a"), "int", "the first of one name");
        let Type::Object(all) = all else { panic!("{all:?}") };
        assert_eq!((all.place("a"), all.place("b"), all.place("c")), (Some(0), Some(1), None));
    }

    #[test]
    fn programs_share_the_list_of_variables_and_keep_nothing_of_their_environment() {
        let mut variables = PolicyVariables::new();
        for number in 0..100 {
            variables.declare(format!("v{number}"), Type::Int);
        }
        let compile = |text: &str| {
            let declarations = Declarations::new().variable("variables", variables.declared());
            let environment = Environment::new(declarations.variable("object", Type::Dyn));
            environment.compile(text).unwrap()
        };
        let count = || Arc::strong_count(&variables.0);
        let apart = compile("object.a == 1");
        assert_eq!(count(), 1, "an expression without variables does not know of them");
        let reads = [compile("variables.v7 > 1"), compile("variables.v8 + variables.v9 > 1")];
        assert_eq!(count(), 3, "one list, whatever reads it");
        drop((apart, reads));
        assert_eq!(count(), 1);
    }
}
