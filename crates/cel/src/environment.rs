//! Environment of an expression: variables with their types, and types by name.

use std::fmt;
use std::sync::Arc;

use crate::ast::Ast;
use crate::checker::{self, Checked, Meaning};
use crate::estimate::{Range, Sizes, estimate};
use crate::functions::{self, Function};
use crate::parser;
use crate::plan;
use crate::program::Program;
use crate::source::{CompileError, Issues};
use crate::types::Type;

/// Types that expressions may name, to make objects of them: `Object{spec: Object.spec{replicas: 1}}`.
pub trait TypeNames: fmt::Debug + Send + Sync {
    fn find(&self, name: &str) -> Option<Type>;
}

/// The variables of an environment, in the order of their declaration.
#[derive(Clone, Debug, Default)]
pub struct Declarations {
    pub(crate) variables: Vec<(String, Type)>,
    pub(crate) types: Option<Arc<dyn TypeNames>>,
    json_patch: bool,
    includes: bool,
    bindings: bool,
    pub(crate) unescapes_keys: bool,
}

impl Declarations {
    pub fn new() -> Declarations {
        Declarations::default()
    }

    pub fn variable(mut self, name: impl Into<String>, of: Type) -> Declarations {
        self.variables.push((name.into(), of));
        self
    }

    pub fn types(mut self, types: impl TypeNames + 'static) -> Declarations {
        self.types = Some(Arc::new(types));
        self
    }

    /// Adds `jsonpatch.escapeKey`, which only expressions that build patches have.
    pub fn json_patch(mut self) -> Declarations {
        self.json_patch = true;
        self
    }

    /// Adds the member function `includes`, which only selectors of devices have.
    pub fn includes(mut self) -> Declarations {
        self.includes = true;
        self
    }

    /// Adds the macro `cel.bind(name, value, expression)`.
    pub fn bindings(mut self) -> Declarations {
        self.bindings = true;
        self
    }

    /// Makes keys of bound maps selectable by their escaped names: `claims.kubernetes__dot__io`. Size and iteration
    /// of the maps see the unescaped keys only.
    pub fn unescape_keys(mut self) -> Declarations {
        self.unescapes_keys = true;
        self
    }
}

/// Compiler of expressions that share the same variables.
#[derive(Clone, Debug)]
pub struct Environment {
    declarations: Arc<Declarations>,
}

impl Environment {
    pub fn new(declarations: Declarations) -> Environment {
        Environment { declarations: Arc::new(declarations) }
    }

    /// Parses and checks an expression. The error lists every issue with its location, as cel-go does.
    pub fn check(&self, text: &str) -> Result<Expression, CompileError> {
        let ast = parser::parse_with(text, self.declarations.bindings)?;
        let mut issues = Issues::default();
        let checked = checker::check(&ast, &self.declarations, &mut issues);
        if issues.is_empty() {
            checker::validate(&ast, &checked, &mut issues);
        }
        if issues.is_empty() {
            Ok(Expression { declarations: Arc::clone(&self.declarations), ast, checked })
        } else {
            Err(issues.into_error(text))
        }
    }

    /// Parses, checks and plans an expression.
    pub fn compile(&self, text: &str) -> Result<Program, CompileError> {
        self.check(text)?.program()
    }
}

/// Checked expression.
pub struct Expression {
    declarations: Arc<Declarations>,
    ast: Ast,
    checked: Checked,
}

impl Expression {
    pub fn result_type(&self) -> Type {
        self.checked.type_of(&self.ast.root)
    }

    /// Returns whether the expression refers to a variable of this name.
    pub fn uses(&self, variable: &str) -> bool {
        self.checked
            .meanings
            .values()
            .any(|known| matches!(known, Meaning::Variable(name) if name == variable))
    }

    /// Estimates the cost of an evaluation from the maximal sizes of the variables' values.
    pub fn estimate(&self, sizes: &dyn Sizes) -> Range {
        estimate(&self.ast, &self.checked, sizes)
    }

    /// Plans the expression. Fails if a constant cannot be computed ([`CompileError::is_instantiation`]).
    pub fn program(&self) -> Result<Program, CompileError> {
        match plan::plan(&self.ast, &self.checked, &self.declarations) {
            Ok(plan) => Ok(Program::new(plan, self.result_type())),
            Err(message) => Err(CompileError::constant(message)),
        }
    }
}

impl fmt::Debug for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Expression").field("result", &self.result_type()).finish_non_exhaustive()
    }
}

impl Declarations {
    /// Returns a variable's type. Of several variables of one name the last one wins.
    pub(crate) fn find(&self, name: &str) -> Option<&Type> {
        self.variables.iter().rfind(|(known, _)| known == name).map(|(_, of)| of)
    }

    /// Returns a function of the libraries by name.
    pub(crate) fn find_function(&self, name: &str) -> Option<&'static Function> {
        if name.starts_with("jsonpatch.") && !self.json_patch {
            return None;
        }
        if name == "includes" && !self.includes {
            return None;
        }
        functions::find(name)
    }

    /// Returns a type by its name in expressions.
    pub(crate) fn find_type(&self, name: &str) -> Option<Type> {
        let of = match name {
            "bool" => Type::Bool,
            "bytes" => Type::Bytes,
            "double" => Type::Double,
            "google.protobuf.Duration" => Type::Duration,
            "google.protobuf.Timestamp" => Type::Timestamp,
            "dyn" => Type::Dyn,
            "int" => Type::Int,
            "list" => Type::list(Type::Dyn),
            "map" => Type::map(Type::Dyn, Type::Dyn),
            "null_type" => Type::Null,
            "optional_type" => Type::optional(Type::Dyn),
            "string" => Type::String,
            "type" => Type::Type(None),
            "uint" => Type::Uint,
            _ => match functions::NAMED.iter().find(|of| of.runtime_name() == name) {
                Some(of) => of.clone(),
                None => self.types.as_ref()?.find(name)?,
            },
        };
        Some(of)
    }
}
