//! Expressions of match conditions, validations, variables and mutations: compiled when an object is written, so that a bad one
//! is refused and not found out by a request.

use std::collections::HashSet;

use pintle_cel::{AdmissionVariables, Environment, PolicyVariables, Type, admission, variable_type};
use pintle_meta::field_path::Error;
use pintle_meta::validation::qualified_name;

use crate::framework::validation::Cursor;

const MOST_MATCH_CONDITIONS: usize = 64;

/// Compiles the expressions of one object. Variables of a policy are declared one after the other, each for later expressions.
pub(super) struct Compiler {
    has_params: bool,
    /// The variables so far, if there can be any.
    variables: Option<PolicyVariables>,
}

impl Compiler {
    pub(super) fn new(has_params: bool, has_variables: bool) -> Compiler {
        Compiler { has_params, variables: has_variables.then(PolicyVariables::new) }
    }

    /// Compiles an expression that must be of one of the types, or of any if there are none. Reports at the cursor; `printed` is
    /// the expression that the error shows.
    fn compile(
        &self,
        at: &Cursor<'_, '_>,
        text: &str,
        printed: &str,
        has: Has,
        wanted: &[Type],
    ) -> Option<Type> {
        let has = AdmissionVariables {
            params: self.has_params,
            authorizer: has != Has::NoAuthorizer,
            patch_types: has == Has::PatchTypes,
        };
        let environment = Environment::new(admission(has, self.variables.as_ref()));
        let expression = match environment.check(text) {
            Ok(expression) => expression,
            Err(error) => {
                at.report([Error::invalid(at.path(), printed, format!("compilation failed: {error}"))]);
                return None;
            }
        };
        let of = expression.result_type();
        if !wanted.is_empty() && !wanted.contains(&of) {
            let names: Vec<String> = wanted.iter().map(Type::declared_name).collect();
            let got = of.declared_name();
            let why = match names.as_slice() {
                [name] => format!("must evaluate to {name} but got {got}"),
                names => format!("must evaluate to one of [{}] but got {got}", names.join(" ")),
            };
            at.invalid(printed, why);
            return None;
        }
        if let Err(error) = expression.program() {
            at.internal(format!("program instantiation failed: {error}"));
            return None;
        }
        Some(of)
    }

    /// Checks an expression that is a bool.
    pub(super) fn condition(&self, at: &Cursor<'_, '_>, text: &str) {
        self.compile(at, text, text, Has::Authorizer, &[Type::Bool]);
    }

    /// Checks the text of a message.
    pub(super) fn message(&self, at: &Cursor<'_, '_>) {
        self.compile(at, at.text(), at.text(), Has::NoAuthorizer, &[Type::String]);
    }

    /// Checks the value of an audit annotation.
    pub(super) fn audit_annotation(&self, at: &Cursor<'_, '_>) {
        self.compile(at, at.text().trim(), at.text(), Has::Authorizer, &[Type::String, Type::Null]);
    }

    /// Checks a variable and declares it.
    pub(super) fn variable(&mut self, name: &str, at: &Cursor<'_, '_>) {
        let of = self.compile(at, at.text(), at.text(), Has::Authorizer, &[]);
        if let Some(variables) = &mut self.variables {
            variables.declare(name, variable_type(of.as_ref()));
        }
    }

    /// Checks a mutation: an apply configuration or a JSON patch.
    pub(super) fn mutation(&self, at: &Cursor<'_, '_>, of: Type) {
        let text = at.text().trim();
        if text.is_empty() {
            at.required("");
        } else {
            self.compile(at, text, text, Has::PatchTypes, &[of]);
        }
    }
}

/// Variables that depend on the expression.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Has {
    NoAuthorizer,
    Authorizer,
    PatchTypes,
}

/// Checks match conditions, in which no variables of a policy are known.
pub(super) fn match_conditions(conditions: &Cursor<'_, '_>, has_params: bool) {
    let compiler = Compiler::new(has_params, false);
    if conditions.len() > MOST_MATCH_CONDITIONS {
        conditions.too_many(MOST_MATCH_CONDITIONS);
    }
    let mut names = HashSet::new();
    for condition in conditions.items() {
        let expression = condition.field("expression");
        let text = expression.text().trim();
        if text.is_empty() {
            expression.required("");
        } else {
            compiler.condition(&expression, text);
        }
        let name = condition.field("name");
        if name.is_empty() {
            name.required("");
        } else {
            name.text_format(qualified_name);
        }
        if !name.is_empty() && !names.insert(name.text()) {
            name.duplicate(name.text());
        }
    }
}

/// Whether a name can stand in an expression.
pub(super) fn is_identifier(name: &str) -> bool {
    const RESERVED: &[&str] = &[
        "true",
        "false",
        "null",
        "in",
        "as",
        "break",
        "const",
        "continue",
        "else",
        "for",
        "function",
        "if",
        "import",
        "let",
        "loop",
        "package",
        "namespace",
        "return",
        "var",
        "void",
        "while",
    ];
    let is_letter = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
    name.bytes().next().is_some_and(is_letter)
        && name.bytes().all(|byte| is_letter(byte) || byte.is_ascii_digit())
        && !RESERVED.contains(&name)
}
