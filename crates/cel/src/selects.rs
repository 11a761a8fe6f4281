//! Search for selections of a variable's fields in an expression.

use std::collections::BTreeSet;

use crate::ast::{Expr, ExprKind, Literal};
use crate::parser;

/// The depth of an expression, and the fields of one variable that it selects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Nesting {
    pub depth: usize,
    pub fields: BTreeSet<String>,
}

impl Nesting {
    /// Returns the nesting of an expression; empty if it cannot be parsed.
    pub fn of(text: &str, variable: &str) -> Nesting {
        let mut nesting = Nesting::default();
        if let Ok(ast) = parser::parse(text) {
            nesting.add(&ast.root, variable, 1);
        }
        nesting
    }

    fn add(&mut self, expression: &Expr, variable: &str, depth: usize) {
        self.depth = self.depth.max(depth);
        if let Some((operand, field)) = selection(expression)
            && matches!(&operand.kind, ExprKind::Ident(name) if name == variable)
        {
            self.fields.insert(field.to_owned());
        }
        for part in parts(expression) {
            self.add(part, variable, depth + 1);
        }
    }
}

/// Returns the operand and the field of `operand.field` or `operand.?field`.
fn selection(expression: &Expr) -> Option<(&Expr, &str)> {
    match &expression.kind {
        ExprKind::Select { operand, field, .. } => Some((operand, field)),
        ExprKind::Call { target: None, function, args } if function == "_?._" => match args.as_slice() {
            [operand, Expr { kind: ExprKind::Literal(Literal::String(name)), .. }] => Some((operand, name)),
            _ => None,
        },
        _ => None,
    }
}

fn parts(expression: &Expr) -> Vec<&Expr> {
    match &expression.kind {
        ExprKind::Unspecified | ExprKind::Literal(_) | ExprKind::Ident(_) => Vec::new(),
        ExprKind::Select { operand, .. } => vec![operand],
        ExprKind::Call { target, args, .. } => target.as_deref().into_iter().chain(args).collect(),
        ExprKind::List { items } => items.iter().map(|item| &item.value).collect(),
        ExprKind::Map { entries } => entries.iter().flat_map(|entry| [&entry.key, &entry.value]).collect(),
        ExprKind::Struct { fields, .. } => fields.iter().map(|part| &part.value).collect(),
        ExprKind::Comprehension(looped) => {
            vec![&looped.range, &looped.start, &looped.condition, &looped.step, &looped.result]
        }
    }
}

/// Returns whether `variable.field` or `variable.?field` occurs in an expression; false if it cannot be parsed.
pub fn selects(text: &str, variable: &str, field: &str) -> bool {
    Nesting::of(text, variable).fields.contains(field)
}

#[cfg(test)]
mod tests {
    use super::{Nesting, selects};

    #[test]
    fn a_selection_is_found_anywhere_in_an_expression() {
        let check = |text: &str, expect: bool| assert_eq!(selects(text, "claims", "email"), expect, "{text}");
        check("claims.email", true);
        check("claims.?email.orValue('')", true);
        check("has(claims.email) ? 'a' : 'b'", true);
        check("claims.groups.all(g, g == claims.email)", true);
        check("['x', {'a': claims.email}]", true);
        check("claims.email_verified", false);
        check("other.email", false);
        check("'claims.email'", false);
        check("claims.email +", false);
    }

    #[test]
    fn nesting_has_the_depth_and_every_selected_field() {
        let nesting = Nesting::of("variables.a + (variables.?b.orValue(1) + x.variables.c)", "variables");
        assert_eq!(nesting.fields.into_iter().collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(nesting.depth, 5);
        assert_eq!(Nesting::of("1", "variables").depth, 1);
        assert_eq!(Nesting::of("1 +", "variables"), Nesting::default());
    }
}
