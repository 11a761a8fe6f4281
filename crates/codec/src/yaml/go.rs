//! Values in Go syntax, for messages.

use super::decode::{Key, Plain};
use pintle_meta::quote;

/// Formats a value of any type as Go's `%#v`.
pub(super) fn syntax(value: &Plain<'_>) -> String {
    let mut out = String::new();
    push(value, true, &mut out);
    out
}

pub(super) fn syntax_of_key(key: &Key<'_>) -> String {
    match key {
        Key::Null => "<nil>".into(),
        Key::Bool(value) => value.to_string(),
        Key::Int(value) => value.to_string(),
        Key::Uint(value) => format!("{value:#x}"),
        Key::Float(value) => float(value.0, false),
        Key::Text(text) => quote(text),
    }
}

fn push(value: &Plain<'_>, top: bool, out: &mut String) {
    match value {
        Plain::Null if top => out.push_str("<nil>"),
        Plain::Null => out.push_str("interface {}(nil)"),
        Plain::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Plain::Int(value) => out.push_str(&value.to_string()),
        Plain::Uint(value) => out.push_str(&format!("{value:#x}")),
        Plain::Float(value) => out.push_str(&float(*value, false)),
        Plain::Text(text) => out.push_str(&quote(text)),
        Plain::List(items) => {
            out.push_str("[]interface {}{");
            for (index, item) in items.iter().enumerate() {
                out.push_str(if index > 0 { ", " } else { "" });
                push(item, false, out);
            }
            out.push('}');
        }
        Plain::Map(map) => {
            out.push_str("map[interface {}]interface {}{");
            for (index, (key, value)) in map.iter().enumerate() {
                out.push_str(if index > 0 { ", " } else { "" });
                match key {
                    Key::Null => out.push_str("interface {}(nil)"),
                    key => out.push_str(&syntax_of_key(key)),
                }
                out.push(':');
                push(value, false, out);
            }
            out.push('}');
        }
    }
}

/// Formats the shortest text of a number, with an exponent from a million on and below a ten-thousandth; with
/// `single`, the shortest for 32 bits.
pub(super) fn float(value: f64, single: bool) -> String {
    let narrow = value as f32;
    let wide = if single { f64::from(narrow) } else { value };
    if wide.is_nan() {
        return "NaN".into();
    }
    if wide.is_infinite() {
        return if wide > 0.0 { "+Inf" } else { "-Inf" }.into();
    }
    let text = if single { format!("{narrow:e}") } else { format!("{value:e}") };
    let Some((digits, exponent)) = text.split_once('e') else { return text };
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if wide != 0.0 && !(-4..6).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        format!("{digits}e{sign}{:02}", exponent.abs())
    } else if single {
        narrow.to_string()
    } else {
        value.to_string()
    }
}
