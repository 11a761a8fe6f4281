//! Checks of literals that Kubernetes adds to type checking.

use super::Checked;
use crate::ast::{Ast, Expr, ExprKind, Id, Literal};
use crate::functions::format::{self, Clause, Part};
use crate::source::Issues;
use crate::types::Type;
use crate::value::Timestamp;

/// Reports invalid literals of durations, timestamps and regular expressions, and lists and maps of mixed types.
pub(crate) fn validate(ast: &Ast, checked: &Checked, issues: &mut Issues) {
    Validator { ast, checked, issues, formats: 0 }.visit(&ast.root);
}

struct Validator<'a> {
    ast: &'a Ast,
    checked: &'a Checked,
    issues: &'a mut Issues,
    /// Number of enclosing `format` calls, whose arguments may be of mixed types.
    formats: usize,
}

impl Validator<'_> {
    fn report(&mut self, id: Id, message: String) {
        self.issues.report(self.ast.offsets.get(id as usize).copied().flatten(), message);
    }

    fn visit(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Unspecified | ExprKind::Literal(_) | ExprKind::Ident(_) => {}
            ExprKind::Select { operand, .. } => self.visit(operand),
            ExprKind::Call { target, function, args } => {
                self.formats += usize::from(function == "format");
                if let Some(target) = target {
                    self.visit(target);
                }
                self.literal(function, args.first());
                if function == "format" {
                    self.format(expr.id, target.as_deref(), args);
                }
                args.iter().for_each(|arg| self.visit(arg));
                self.formats -= usize::from(function == "format");
            }
            ExprKind::List { items } => {
                let mut first: Option<Type> = None;
                for item in items {
                    if self.formats > 0 {
                        break;
                    }
                    let of = self.type_of(&item.value, item.optional);
                    match &first {
                        None => first = Some(of),
                        Some(first) if !first.is_equivalent(&of, false) => {
                            let message = mismatch(first, &of);
                            self.report(item.value.id, message);
                            break;
                        }
                        Some(_) => {}
                    }
                }
                items.iter().for_each(|item| self.visit(&item.value));
            }
            ExprKind::Map { entries } => {
                let mut first: Option<(Type, Type)> = None;
                for entry in entries {
                    if self.formats > 0 {
                        break;
                    }
                    let (key, value) =
                        (self.type_of(&entry.key, false), self.type_of(&entry.value, entry.optional));
                    let Some(first) = &first else {
                        first = Some((key, value));
                        continue;
                    };
                    for (first, of, id) in
                        [(&first.0, &key, entry.key.id), (&first.1, &value, entry.value.id)]
                    {
                        if !first.is_equivalent(of, false) {
                            let message = mismatch(first, of);
                            self.report(id, message);
                        }
                    }
                }
                for entry in entries {
                    self.visit(&entry.key);
                    self.visit(&entry.value);
                }
            }
            ExprKind::Struct { fields, .. } => fields.iter().for_each(|field| self.visit(&field.value)),
            ExprKind::Comprehension(of) => {
                for part in [&of.range, &of.start, &of.condition, &of.step, &of.result] {
                    self.visit(part);
                }
            }
        }
    }

    fn type_of(&self, expr: &Expr, optional: bool) -> Type {
        match self.checked.type_of(expr) {
            Type::Optional(inner) if optional => (*inner).clone(),
            of => of,
        }
    }

    /// Checks a literal format string against the types of its arguments.
    fn format(&mut self, id: Id, target: Option<&Expr>, args: &[Expr]) {
        let Some(Expr { kind: ExprKind::Literal(Literal::String(text)), .. }) = target else { return };
        let [Expr { kind: ExprKind::List { items }, .. }] = args else { return };
        let mut next = 0;
        for part in format::parts(text) {
            match part {
                Ok(Part::Literal(_)) => {}
                Ok(Part::Clause(clause)) => {
                    let Some(item) = items.get(next) else {
                        return self.report(id, format!("index {next} out of range"));
                    };
                    if let Some((bad, of)) = self.unfit(&item.value, clause) {
                        let problem = clause.refuses(of.runtime_name());
                        return self.report(bad, format!("error during formatting: {problem}"));
                    }
                    next += 1;
                }
                Err(problem) => return self.report(id, problem),
            }
        }
        if items.len() > next {
            let count = items.len();
            self.report(
                id,
                format!("too many arguments supplied to string.format (expected {next}, got {count})"),
            );
        }
    }

    /// Returns the part of an argument that a clause cannot format, and its type.
    fn unfit(&self, arg: &Expr, clause: Clause) -> Option<(Id, Type)> {
        let of = self.checked.type_of(arg);
        let fits = match (clause, &of) {
            (_, Type::Dyn | Type::Any) => true,
            (Clause::Text, of) => {
                !matches!(of, Type::Object(_) | Type::Named(_) | Type::Opaque(_) | Type::Optional(_))
            }
            (Clause::Decimal | Clause::Octal, of) => matches!(of, Type::Int | Type::Uint),
            (Clause::Fixed(_) | Clause::Scientific, of) => matches!(of, Type::Double | Type::String),
            (Clause::Binary, of) => matches!(of, Type::Int | Type::Uint | Type::Bool),
            (Clause::Hexadecimal { .. }, of) => {
                matches!(of, Type::Int | Type::Uint | Type::String | Type::Bytes)
            }
        };
        if !fits {
            return Some((arg.id, of));
        }
        match (clause, &arg.kind) {
            (Clause::Text, ExprKind::List { items }) => {
                items.iter().find_map(|item| self.unfit(&item.value, clause))
            }
            (Clause::Text, ExprKind::Map { entries }) => entries.iter().find_map(|entry| {
                self.unfit(&entry.key, clause).or_else(|| self.unfit(&entry.value, clause))
            }),
            _ => None,
        }
    }

    fn literal(&mut self, function: &str, arg: Option<&Expr>) {
        let Some(Expr { id, kind: ExprKind::Literal(literal) }) = arg else { return };
        let valid = match (function, literal) {
            ("duration", Literal::String(text)) => pintle_meta::parse_duration(text).is_ok(),
            ("duration", Literal::Int(_)) => false,
            ("timestamp", Literal::String(text)) => Timestamp::parse(text).is_some_and(|at| at.is_ok()),
            ("timestamp", Literal::Int(seconds)) => Timestamp::new(*seconds, 0).in_range().is_ok(),
            ("matches", Literal::String(text)) => pintle_regex::check(text).is_ok(),
            _ => true,
        };
        if !valid {
            self.report(*id, format!("invalid {function} argument"));
        }
    }
}

fn mismatch(expected: &Type, actual: &Type) -> String {
    format!("expected type '{expected}' but found '{actual}'")
}
