//! Type checker: finds the type of every part of an expression, the variables and functions that its names refer to,
//! and type errors.

mod unify;
mod validate;

use std::collections::HashMap;

use self::unify::{Bindings, instantiate, most_general};
pub(crate) use self::validate::validate;
use crate::ast::{Ast, Comprehension, Entry, Expr, ExprKind, Field, Id, Item, Literal};
use crate::environment::Declarations;
use crate::functions::Function;
use crate::source::{Issues, Offset};
use crate::types::Type;

/// Resolution of a name.
#[derive(Clone, Debug)]
pub(crate) enum Meaning {
    /// Variable, by its qualified name.
    Variable(String),
    /// Type used as a value.
    Type(Type),
}

/// Function that a call refers to.
#[derive(Clone, Copy)]
pub(crate) struct Resolved {
    pub(crate) function: &'static Function,
    /// The overload, if exactly one is applicable.
    pub(crate) overload: Option<&'static str>,
    /// Whether the syntactic receiver is a part of the function's qualified name.
    pub(crate) qualified: bool,
}

/// Result of checking an expression.
#[derive(Default)]
pub(crate) struct Checked {
    types: HashMap<Id, Type>,
    pub(crate) meanings: HashMap<Id, Meaning>,
    pub(crate) calls: HashMap<Id, Resolved>,
    /// All applicable overloads of every call.
    pub(crate) overloads: HashMap<Id, Vec<&'static str>>,
}

impl Checked {
    pub(crate) fn type_of(&self, expr: &Expr) -> Type {
        self.types.get(&expr.id).cloned().unwrap_or(Type::Error)
    }
}

struct Checker<'c> {
    offsets: &'c [Offset],
    declarations: &'c Declarations,
    issues: &'c mut Issues,
    bindings: Bindings,
    /// Variables of the enclosing loops, innermost last.
    scopes: Vec<(String, Type)>,
    found: Checked,
}

pub(crate) fn check(ast: &Ast, declarations: &Declarations, issues: &mut Issues) -> Checked {
    let mut checker = Checker {
        offsets: &ast.offsets,
        declarations,
        issues,
        bindings: Bindings::default(),
        scopes: Vec::new(),
        found: Checked::default(),
    };
    checker.check(&ast.root);
    let Checker { bindings, mut found, .. } = checker;
    for of in found.types.values_mut() {
        *of = bindings.resolve(of, true);
    }
    found
}

impl Checker<'_> {
    fn report(&mut self, id: Id, message: String) {
        self.issues.report(self.offsets.get(id as usize).copied().flatten(), message);
    }

    fn undeclared(&mut self, id: Id, name: &str) {
        self.report(id, format!("undeclared reference to '{name}' (in container '')"));
    }

    fn mismatch(&mut self, id: Id, expected: &Type, actual: &Type) {
        self.report(id, format!("expected type '{expected}' but found '{actual}'"));
    }

    fn set(&mut self, id: Id, of: Type) -> Type {
        self.found.types.insert(id, of.clone());
        of
    }

    fn check(&mut self, expr: &Expr) -> Type {
        let of = match &expr.kind {
            ExprKind::Unspecified => Type::Error,
            ExprKind::Literal(literal) => match literal {
                Literal::Null => Type::Null,
                Literal::Bool(_) => Type::Bool,
                Literal::Int(_) => Type::Int,
                Literal::Uint(_) => Type::Uint,
                Literal::Double(_) => Type::Double,
                Literal::String(_) => Type::String,
                Literal::Bytes(_) => Type::Bytes,
            },
            ExprKind::Ident(name) => match self.lookup(expr.id, name) {
                Some(of) => of,
                None => {
                    self.undeclared(expr.id, name);
                    Type::Error
                }
            },
            ExprKind::Select { operand, field, test } => self.select(expr, operand, field, *test),
            ExprKind::Call { target, function, args } => {
                self.call(expr.id, target.as_deref(), function, args)
            }
            ExprKind::List { items } => self.list(items),
            ExprKind::Map { entries } => self.map(entries),
            ExprKind::Struct { name, fields } => self.message(expr.id, name, fields),
            ExprKind::Comprehension(of) => self.comprehension(of),
        };
        self.set(expr.id, of)
    }

    /// Returns the type of a name if it is declared.
    fn lookup(&mut self, id: Id, name: &str) -> Option<Type> {
        let name = name.strip_prefix('.').unwrap_or(name);
        let local = self.scopes.iter().rev().find(|(known, _)| known == name).map(|(_, of)| of);
        if let Some(of) = local.or_else(|| self.declarations.find(name)) {
            let of = of.clone();
            self.found.meanings.insert(id, Meaning::Variable(name.to_owned()));
            return Some(of);
        }
        let of = self.declarations.find_type(name)?;
        self.found.meanings.insert(id, Meaning::Type(of.clone()));
        Some(Type::of_type(of))
    }

    fn select(&mut self, expr: &Expr, operand: &Expr, field: &str, test: bool) -> Type {
        // `a.b` may be one qualified name.
        if !test
            && let Some(name) = expr.qualified_name()
            && let Some(of) = self.lookup(expr.id, &name)
        {
            return of;
        }
        let of = self.field(expr.id, operand, field, false);
        if test { Type::Bool } else { self.bindings.resolve(&of, false) }
    }

    fn field(&mut self, id: Id, operand: &Expr, field: &str, optional: bool) -> Type {
        let of = self.check(operand);
        let of = self.bindings.resolve(&of, false);
        let (target, is_optional) = match &of {
            Type::Optional(inner) => ((**inner).clone(), true),
            _ => (of, false),
        };
        let result = match &target {
            Type::Map(map) => map.1.clone(),
            Type::Object(object) => match object.field(field) {
                Some(found) => found.of,
                None => {
                    self.report(id, format!("undefined field '{field}'"));
                    Type::Error
                }
            },
            Type::Named(name) => {
                self.report(id, format!("unexpected failed resolution of '{name}'"));
                Type::Error
            }
            Type::Parameter(_) => {
                self.bindings.assignable(&Type::Dyn, &target);
                Type::Dyn
            }
            _ => {
                if !target.is_dyn_or_error() {
                    self.report(id, format!("type '{target}' does not support field selection"));
                }
                Type::Dyn
            }
        };
        if is_optional || optional { Type::optional(result) } else { result }
    }

    fn call(&mut self, id: Id, target: Option<&Expr>, name: &str, args: &[Expr]) -> Type {
        if name == "_?._" {
            return match args {
                [operand, Expr { id: field_id, kind: ExprKind::Literal(Literal::String(field)) }] => {
                    self.set(*field_id, Type::String);
                    self.found.overloads.insert(id, vec!["select_optional_field"]);
                    let of = self.field(id, operand, field, true);
                    self.bindings.resolve(&of, false)
                }
                _ => {
                    self.report(id, "unsupported optional field selection".to_owned());
                    Type::Error
                }
            };
        }
        let mut types: Vec<Type> = args.iter().map(|arg| self.check(arg)).collect();
        let Some(target) = target else {
            let bare = name.strip_prefix('.').unwrap_or(name);
            return match self.declarations.find_function(bare) {
                Some(function) => self.overload(id, function, false, false, args, &types),
                None => {
                    self.undeclared(id, name);
                    Type::Error
                }
            };
        };
        if let Some(prefix) = target.qualified_name() {
            let full = format!("{prefix}.{name}");
            if let Some(function) = self.declarations.find_function(full.strip_prefix('.').unwrap_or(&full)) {
                return self.overload(id, function, false, true, args, &types);
            }
        }
        types.insert(0, self.check(target));
        match self.declarations.find_function(name) {
            Some(function) => self.overload(id, function, true, false, args, &types),
            None => {
                self.undeclared(id, name);
                Type::Error
            }
        }
    }

    /// Returns the type of a call from its applicable overloads.
    fn overload(
        &mut self,
        id: Id,
        function: &'static Function,
        member: bool,
        qualified: bool,
        args: &[Expr],
        types: &[Type],
    ) -> Type {
        let mut overloads = Vec::new();
        let mut result: Option<Type> = None;
        for candidate in function.overloads.iter().filter(|candidate| candidate.member == member) {
            if matches!(function.name, "_&&_" | "_||_") {
                let mut fits = true;
                for (arg, of) in args.iter().zip(types) {
                    if !self.bindings.assignable(of, &Type::Bool) {
                        self.mismatch(arg.id, &Type::Bool, of);
                        fits = false;
                    }
                }
                if !fits {
                    return Type::Error;
                }
                overloads.push(candidate.id);
                result = Some(Type::Bool);
                break;
            }
            let instantiated;
            let (parameters, result_type) = if candidate.generic {
                let mut letters = Vec::new();
                let mut fresh = |of: &Type| instantiate(of, &mut letters, &mut self.bindings);
                instantiated = (
                    candidate.parameters.iter().map(&mut fresh).collect::<Vec<_>>(),
                    fresh(&candidate.result),
                );
                (&instantiated.0, &instantiated.1)
            } else {
                (&candidate.parameters, &candidate.result)
            };
            if !self.bindings.assignable_all(types, parameters) {
                continue;
            }
            overloads.push(candidate.id);
            let of = self.bindings.resolve(result_type, false);
            result = Some(match result {
                None => of,
                Some(before) if !before.is_dyn() && before != of => Type::Dyn,
                Some(before) => before,
            });
        }
        let Some(result) = result else {
            let types: Vec<String> =
                types.iter().map(|of| self.bindings.resolve(of, true).to_string()).collect();
            let signature = match types.split_first() {
                Some((receiver, rest)) if member => format!("{receiver}.({})", rest.join(", ")),
                _ => format!("({})", types.join(", ")),
            };
            let name = function.name;
            self.report(id, format!("found no matching overload for '{name}' applied to '{signature}'"));
            return Type::Error;
        };
        let overload = if let [only] = overloads[..] { Some(only) } else { None };
        self.found.overloads.insert(id, overloads);
        self.found.calls.insert(id, Resolved { function, overload, qualified });
        result
    }

    fn list(&mut self, items: &[Item]) -> Type {
        let mut joined = None;
        for item in items {
            let of = self.check(&item.value);
            let of = self.unwrapped(&item.value, of, item.optional);
            joined = Some(self.join(joined, of));
        }
        Type::list(joined.unwrap_or_else(|| self.bindings.fresh()))
    }

    fn map(&mut self, entries: &[Entry]) -> Type {
        let (mut keys, mut values) = (None, None);
        for entry in entries {
            let of = self.check(&entry.key);
            keys = Some(self.join(keys, of));
            let of = self.check(&entry.value);
            let of = self.unwrapped(&entry.value, of, entry.optional);
            values = Some(self.join(values, of));
        }
        let key = keys.unwrap_or_else(|| self.bindings.fresh());
        Type::map(key, values.unwrap_or_else(|| self.bindings.fresh()))
    }

    /// Returns the type inside an optional that a `?` unwraps.
    fn unwrapped(&mut self, value: &Expr, of: Type, optional: bool) -> Type {
        if !optional {
            return of;
        }
        if let Type::Optional(inner) = &of {
            return (**inner).clone();
        }
        if !of.is_dyn() {
            self.mismatch(value.id, &Type::optional(of.clone()), &of);
        }
        of
    }

    /// Joins the type of the items so far with that of one more; `dyn` if they differ.
    fn join(&mut self, before: Option<Type>, of: Type) -> Type {
        let Some(before) = before else { return of };
        if self.bindings.assignable(&before, &of) { most_general(&before, &of).clone() } else { Type::Dyn }
    }

    fn message(&mut self, id: Id, name: &str, fields: &[Field]) -> Type {
        let result = match self.lookup(id, name) {
            None => {
                self.undeclared(id, name);
                return Type::Error;
            }
            Some(Type::Type(Some(of))) if matches!(*of, Type::Object(_)) => (*of).clone(),
            Some(Type::Type(of)) => {
                let of = of.as_deref().cloned().unwrap_or(Type::Dyn);
                self.report(id, format!("'{}' is not a message type", of.runtime_name()));
                Type::Error
            }
            Some(Type::Error) => Type::Error,
            Some(other) => {
                self.report(id, format!("'{}' is not a type", other.runtime_name()));
                Type::Error
            }
        };
        for field in fields {
            let of = self.check(&field.value);
            let of = self.unwrapped(&field.value, of, field.optional);
            let Type::Object(object) = &result else { continue };
            let Some(wanted) = object.field(&field.name) else {
                self.report(field.id, format!("undefined field '{}'", field.name));
                continue;
            };
            if !self.bindings.assignable(&wanted.of, &of) {
                let name = &field.name;
                self.report(
                    field.id,
                    format!("expected type of field '{name}' is '{}' but provided type is '{of}'", wanted.of),
                );
            }
        }
        result
    }

    fn comprehension(&mut self, of: &Comprehension) -> Type {
        let range = self.check(&of.range);
        let accumulator = self.check(&of.start);
        let range = self.bindings.resolve(&range, false);
        let outside = self.scopes.len();
        self.scopes.push((of.accumulator.clone(), accumulator.clone()));
        let two = of.second.is_some();
        let (first, second) = match &range {
            Type::List(list) if two => (Type::Int, list.item.clone()),
            Type::List(list) => (list.item.clone(), Type::Dyn),
            Type::Map(map) => (map.0.clone(), map.1.clone()),
            Type::Dyn | Type::Error | Type::Parameter(_) => {
                self.bindings.assignable(&Type::Dyn, &range);
                (Type::Dyn, Type::Dyn)
            }
            other => {
                self.report(
                    of.range.id,
                    format!(
                        "expression of type '{other}' cannot be range of a comprehension (must be list, map, or dynamic)"
                    ),
                );
                (Type::Error, Type::Error)
            }
        };
        let loop_scope = self.scopes.len();
        self.scopes.push((of.variable.clone(), first));
        if let Some(name) = &of.second {
            self.scopes.push((name.clone(), second));
        }
        self.check(&of.condition);
        self.assert(&of.condition, &Type::Bool);
        self.check(&of.step);
        self.assert(&of.step, &accumulator);
        self.scopes.truncate(loop_scope);
        let result = self.check(&of.result);
        self.scopes.truncate(outside);
        self.bindings.resolve(&result, false)
    }

    fn assert(&mut self, expr: &Expr, expected: &Type) {
        let actual = self.found.type_of(expr);
        if !self.bindings.assignable(expected, &actual) {
            self.mismatch(expr.id, expected, &actual);
        }
    }
}
