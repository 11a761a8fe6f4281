//! The parser of shard selectors: expressions that are parsed and never evaluated.
//!
//! ```text
//! shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000') || shardRange(...)
//! ```

use pintle_meta::shards::{ShardKey, ShardRange, Shards};

use crate::ast::{Expr, ExprKind, Literal};
use crate::parser;

/// Parses a shard selector. Errors: the reference's message.
pub fn parse_shards(text: &str) -> Result<Shards, String> {
    let text = text.trim();
    if text.is_empty() {
        return Err("empty shard selector is not allowed; omit the parameter for unfiltered lists".into());
    }
    let ast = parser::parse(text).map_err(|error| {
        let first = error.issues().first().map_or_else(|| error.to_string(), |issue| issue.message.clone());
        format!("CEL parse error: {first}")
    })?;
    let mut found = Vec::new();
    ranges(&ast.root, &mut found)?;
    let Some((key, _)) = found.first().copied() else { return Err("no shard ranges".into()) };
    if let Some((other, _)) = found.iter().find(|(other, _)| *other != key) {
        let (key, other) = (key.as_str(), other.as_str());
        return Err(format!("all shard ranges must use the same field, got {key:?} and {other:?}"));
    }
    Ok(Shards::new(key, found.into_iter().map(|(_, range)| range).collect()))
}

fn ranges(expression: &Expr, found: &mut Vec<(ShardKey, ShardRange)>) -> Result<(), String> {
    match &expression.kind {
        ExprKind::Call { function, args, .. } if function == "_||_" => {
            args.iter().try_for_each(|side| ranges(side, found))
        }
        ExprKind::Call { function, args, .. } if function == "shardRange" => {
            found.push(range(args)?);
            Ok(())
        }
        ExprKind::Call { function, .. } => {
            let function = pintle_meta::quote(function);
            Err(format!("unsupported function {function}; only shardRange() and || are allowed"))
        }
        kind => Err(format!(
            "unexpected expression kind {}; expected shardRange() call or || operator",
            number(kind)
        )),
    }
}

fn range(args: &[Expr]) -> Result<(ShardKey, ShardRange), String> {
    let [field, start, end] = args else {
        return Err(format!("shardRange() requires exactly 3 arguments, got {}", args.len()));
    };
    let path = path(field).map_err(|why| format!("shardRange() first argument: {why}"))?;
    let key = match path.as_str() {
        "object.metadata.uid" => ShardKey::Uid,
        "object.metadata.namespace" => ShardKey::Namespace,
        other => {
            let (other, known) =
                (pintle_meta::quote(other), "object.metadata.uid, object.metadata.namespace");
            return Err(format!("unsupported field path {other}; supported: {known}"));
        }
    };
    let (from, until) = (bound(start, "hexStart")?, bound(end, "hexEnd")?);
    match u64::try_from(from) {
        Ok(start) if from < until => Ok((key, (start, until))),
        _ => Err(format!("shard range start 0x{from:016x} must be less than end 0x{until:016x}")),
    }
}

fn path(expression: &Expr) -> Result<String, String> {
    match &expression.kind {
        ExprKind::Ident(name) => Ok(name.clone()),
        ExprKind::Select { operand, field, .. } => Ok(format!("{}.{field}", path(operand)?)),
        kind => Err(format!(
            "expected field path (e.g. object.metadata.uid), got expression kind {}",
            number(kind)
        )),
    }
}

fn bound(expression: &Expr, name: &str) -> Result<u128, String> {
    let literal = match &expression.kind {
        ExprKind::Literal(literal) => literal,
        kind => {
            let kind = number(kind);
            return Err(format!("{name} must be a string literal (e.g. '0xff'), got expression kind {kind}"));
        }
    };
    let text = match literal {
        Literal::String(text) => text,
        other => return Err(format!("{name} must be a string literal, got {}", go_type(other))),
    };
    let quoted = pintle_meta::quote(text);
    let Some(digits) = text.strip_prefix("0x") else {
        return Err(format!("{name} must have '0x' prefix, got {quoted}"));
    };
    let length = digits.len();
    if length == 0 {
        return Err(format!("{name}: hex value is required after '0x'"));
    }
    if length > 17 {
        let digits = pintle_meta::quote(digits);
        return Err(format!("{name}: hex value too long ({length} chars, max 17): {digits}"));
    }
    if let Some(wrong) = digits.chars().find(|c| !matches!(c, '0'..='9' | 'a'..='f')) {
        let wrong = pintle_meta::quote(&wrong.to_string());
        return Err(format!("{name}: invalid hex character {wrong} in {quoted}"));
    }
    if length == 17 && digits != "10000000000000000" {
        return Err(format!("{name}: 17-digit hex value must be '0x10000000000000000' (2^64), got {quoted}"));
    }
    if length < 16 {
        let meant = format!("\"0x{digits:0>16}\"");
        return Err(format!(
            "{name} must be a 0x-prefixed 16-digit hex value, got {quoted} (did you mean {meant}?)"
        ));
    }
    u128::from_str_radix(digits, 16).map_err(|error| error.to_string())
}

/// Returns cel-go's number of an expression kind, which messages contain.
fn number(kind: &ExprKind) -> u8 {
    match kind {
        ExprKind::Unspecified => 0,
        ExprKind::Call { .. } => 1,
        ExprKind::Comprehension(_) => 2,
        ExprKind::Ident(_) => 3,
        ExprKind::List { .. } => 4,
        ExprKind::Literal(_) => 5,
        ExprKind::Map { .. } => 6,
        ExprKind::Select { .. } => 7,
        ExprKind::Struct { .. } => 8,
    }
}

fn go_type(literal: &Literal) -> &'static str {
    match literal {
        Literal::Null => "structpb.NullValue",
        Literal::Bool(_) => "bool",
        Literal::Int(_) => "int64",
        Literal::Uint(_) => "uint64",
        Literal::Double(_) => "float64",
        Literal::String(_) => "string",
        Literal::Bytes(_) => "[]uint8",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ZERO: &str = "0x0000000000000000";
    const HALF: &str = "0x8000000000000000";
    const ALL: &str = "0x10000000000000000";

    #[test]
    fn each_value_is_in_exactly_one_half() {
        let low = parse_shards(&format!("shardRange(object.metadata.uid, '{ZERO}', '{HALF}')")).unwrap();
        let high = parse_shards(&format!("shardRange(object.metadata.uid,'{HALF}','{ALL}')")).unwrap();
        let both = format!("  {low} || {high} ");
        let both = parse_shards(&both).unwrap();
        assert_eq!(both.to_string(), format!("{low} || {high}"));
        for value in ["", "a", "foobar", "b5e9cd6f-2c5b-4a5a-a1f2-6d0c8e3a7c11"] {
            assert!(low.contains(value) != high.contains(value), "{value}");
            assert!(both.contains(value), "{value}");
        }
        assert!(low.contains("x") || high.contains("x"));
        assert!(high.contains("foobar") && high.contains("a"));
    }

    #[test]
    fn invalid_selectors_are_rejected_with_the_references_messages() {
        let uid = "object.metadata.uid";
        let check = |text: &str, expect: &str| assert_eq!(parse_shards(text).unwrap_err(), expect, "{text}");
        check("  ", "empty shard selector is not allowed; omit the parameter for unfiltered lists");
        check(&format!("shardRange({uid}, '{ZERO}')"), "shardRange() requires exactly 3 arguments, got 2");
        check(
            &format!("shardRange(object.metadata.name, '{ZERO}', '{HALF}')"),
            r#"unsupported field path "object.metadata.name"; supported: object.metadata.uid, object.metadata.namespace"#,
        );
        check(
            &format!("hash({uid}, '{ZERO}', '{HALF}')"),
            r#"unsupported function "hash"; only shardRange() and || are allowed"#,
        );
        check(
            "shardRange(a, 'b', 'c') && shardRange(a, 'b', 'c')",
            r#"unsupported function "_&&_"; only shardRange() and || are allowed"#,
        );
        check("'x'", "unexpected expression kind 5; expected shardRange() call or || operator");
        check(
            &format!("shardRange('x', '{ZERO}', '{HALF}')"),
            "shardRange() first argument: expected field path (e.g. object.metadata.uid), got expression kind 5",
        );
        check(&format!("shardRange({uid}, 0, 8)"), "hexStart must be a string literal, got int64");
        check(
            &format!("shardRange({uid}, hex(0), '{HALF}')"),
            "hexStart must be a string literal (e.g. '0xff'), got expression kind 1",
        );
        check(&format!("shardRange({uid}, '00', '{HALF}')"), r#"hexStart must have '0x' prefix, got "00""#);
        check(&format!("shardRange({uid}, '0x', '{HALF}')"), "hexStart: hex value is required after '0x'");
        check(
            &format!("shardRange({uid}, '{ZERO}', '0x0g')"),
            r#"hexEnd: invalid hex character "g" in "0x0g""#,
        );
        check(
            &format!("shardRange({uid}, '0x0', '{HALF}')"),
            r#"hexStart must be a 0x-prefixed 16-digit hex value, got "0x0" (did you mean "0x0000000000000000"?)"#,
        );
        check(
            &format!("shardRange({uid}, '{ZERO}', '0x20000000000000000')"),
            r#"hexEnd: 17-digit hex value must be '0x10000000000000000' (2^64), got "0x20000000000000000""#,
        );
        check(
            &format!("shardRange({uid}, '0x000000000000000000', '{HALF}')"),
            r#"hexStart: hex value too long (18 chars, max 17): "000000000000000000""#,
        );
        check(
            &format!("shardRange({uid}, '{HALF}', '{HALF}')"),
            "shard range start 0x8000000000000000 must be less than end 0x8000000000000000",
        );
        check(
            &format!(
                "shardRange({uid}, '{ZERO}', '{HALF}') || shardRange(object.metadata.namespace, '{ZERO}', '{HALF}')"
            ),
            r#"all shard ranges must use the same field, got "object.metadata.uid" and "object.metadata.namespace""#,
        );
        assert!(parse_shards("shardRange(").unwrap_err().starts_with("CEL parse error: Syntax error: "));
    }
}
