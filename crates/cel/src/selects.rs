//! Which fields of a variable an expression looks at, for rules about expressions.

use crate::ast::{Expr, Kind, Literal};
use crate::parser;

/// Whether `variable.field` or `variable.?field` is somewhere in an expression. Not in one that cannot be read.
pub fn selects(text: &str, variable: &str, field: &str) -> bool {
    parser::parse(text).is_ok_and(|ast| in_expression(&ast.root, variable, field))
}

fn in_expression(expression: &Expr, variable: &str, field: &str) -> bool {
    let is_variable = |operand: &Expr| matches!(&operand.kind, Kind::Ident(name) if name == variable);
    let inside = |part: &Expr| in_expression(part, variable, field);
    match &expression.kind {
        Kind::Unspecified | Kind::Literal(_) | Kind::Ident(_) => false,
        Kind::Select { operand, field: name, .. } => {
            (is_variable(operand) && name == field) || inside(operand)
        }
        Kind::Call { target, function, args } => {
            let optional = match (target, function.as_str(), args.as_slice()) {
                (None, "_?._", [operand, Expr { kind: Kind::Literal(Literal::String(name)), .. }]) => {
                    is_variable(operand) && **name == *field
                }
                _ => false,
            };
            optional || args.iter().any(inside) || target.as_deref().is_some_and(inside)
        }
        Kind::List { items } => items.iter().any(|item| inside(&item.value)),
        Kind::Map { entries } => entries.iter().any(|entry| inside(&entry.key) || inside(&entry.value)),
        Kind::Struct { fields, .. } => fields.iter().any(|part| inside(&part.value)),
        Kind::Comprehension(looped) => {
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
    fn a_field_is_found_wherever_it_is_looked_at() {
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
