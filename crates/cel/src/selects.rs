//! Search for selections of a variable's field in an expression.

use crate::ast::{Expr, ExprKind, Literal};
use crate::parser;

/// Returns whether `variable.field` or `variable.?field` occurs in an expression; false if it cannot be parsed.
pub fn selects(text: &str, variable: &str, field: &str) -> bool {
    parser::parse(text).is_ok_and(|ast| in_expression(&ast.root, variable, field))
}

fn in_expression(expression: &Expr, variable: &str, field: &str) -> bool {
    let is_variable = |operand: &Expr| matches!(&operand.kind, ExprKind::Ident(name) if name == variable);
    let inside = |part: &Expr| in_expression(part, variable, field);
    match &expression.kind {
        ExprKind::Unspecified | ExprKind::Literal(_) | ExprKind::Ident(_) => false,
        ExprKind::Select { operand, field: name, .. } => {
            (is_variable(operand) && name == field) || inside(operand)
        }
        ExprKind::Call { target, function, args } => {
            let optional = match (target, function.as_str(), args.as_slice()) {
                (None, "_?._", [operand, Expr { kind: ExprKind::Literal(Literal::String(name)), .. }]) => {
                    is_variable(operand) && **name == *field
                }
                _ => false,
            };
            optional || args.iter().any(inside) || target.as_deref().is_some_and(inside)
        }
        ExprKind::List { items } => items.iter().any(|item| inside(&item.value)),
        ExprKind::Map { entries } => entries.iter().any(|entry| inside(&entry.key) || inside(&entry.value)),
        ExprKind::Struct { fields, .. } => fields.iter().any(|part| inside(&part.value)),
        ExprKind::Comprehension(looped) => {
            [&looped.range, &looped.start, &looped.condition, &looped.step, &looped.result]
                .into_iter()
                .any(inside)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::selects;

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
}
