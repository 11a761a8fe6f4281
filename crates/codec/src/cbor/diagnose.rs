//! Diagnostic notation (RFC 8949, section 8), in which messages display CBOR.

use super::item::{Head, Items, Major, check_whole};
use super::untyped::{Reader, exact};
use crate::{Error, json};

/// Formats data in diagnostic notation, or in hexadecimal digits if it is not well-formed.
pub fn diagnose(data: &[u8]) -> String {
    let mut out = String::new();
    let notated = check_whole(data).and_then(|()| notate(&mut Items { data, at: 0 }, &mut out));
    match notated {
        Ok(()) => out,
        Err(_) => data.iter().map(|byte| format!("{byte:02x}")).collect(),
    }
}

fn notate(items: &mut Items<'_>, out: &mut String) -> Result<(), Error> {
    let mut ahead = *items;
    let head = ahead.head()?;
    match head.major {
        Major::Bytes | Major::Text if head.is_indefinite() => {
            *items = ahead;
            if ahead.at_break()? {
                *items = ahead;
                out.push_str(if head.major == Major::Bytes { "''_" } else { "\"\"_" });
                return Ok(());
            }
            sequence(items, head, ("(_ ", ")"), out)
        }
        Major::Bytes => {
            let bytes = lone(items)?.bytes()?;
            match std::str::from_utf8(&bytes) {
                Ok(text) if !text.is_empty() => quoted(text, '\'', out),
                _ => {
                    out.push_str("h'");
                    bytes.iter().for_each(|byte| out.push_str(&format!("{byte:02x}")));
                    out.push('\'');
                }
            }
            Ok(())
        }
        Major::Text => {
            quoted(&lone(items)?.text()?, '"', out);
            Ok(())
        }
        _ => {
            *items = ahead;
            match head.major {
                Major::Array if head.is_indefinite() => sequence(items, head, ("[_ ", "]"), out),
                Major::Map if head.is_indefinite() => sequence(items, head, ("{_ ", "}"), out),
                Major::Array => sequence(items, head, ("[", "]"), out),
                Major::Map => sequence(items, head, ("{", "}"), out),
                Major::Tag => {
                    out.push_str(&format!("{}(", head.argument));
                    notate(items, out)?;
                    out.push(')');
                    Ok(())
                }
                Major::Simple => {
                    simple(head, out);
                    Ok(())
                }
                _ => {
                    out.push_str(&exact(head).to_string());
                    Ok(())
                }
            }
        }
    }
}

/// Returns a reader of the next item, a string, and skips it.
fn lone<'a>(items: &mut Items<'a>) -> Result<Reader<'a>, Error> {
    let mut reader = Reader::new(items.data);
    reader.items = *items;
    items.skip()?;
    Ok(reader)
}

fn sequence(items: &mut Items<'_>, head: Head, marks: (&str, &str), out: &mut String) -> Result<(), Error> {
    out.push_str(marks.0);
    let mut count = 0;
    while if head.is_indefinite() { !items.at_break()? } else { count < head.argument } {
        if count > 0 {
            out.push_str(", ");
        }
        count += 1;
        notate(items, out)?;
        if head.major == Major::Map {
            out.push_str(": ");
            notate(items, out)?;
        }
    }
    out.push_str(marks.1);
    Ok(())
}

fn simple(head: Head, out: &mut String) {
    match (head.float(), head.argument) {
        (Some(float), _) => number(float, out),
        (None, 20) => out.push_str("false"),
        (None, 21) => out.push_str("true"),
        (None, 22) => out.push_str("null"),
        (None, 23) => out.push_str("undefined"),
        (None, value) => out.push_str(&format!("simple({value})")),
    }
}

/// Formats a float as in JSON, but always with a decimal point.
fn number(float: f64, out: &mut String) {
    let mut text = Vec::new();
    json::write::float(float, &mut text);
    let text = String::from_utf8_lossy(&text);
    match text.split_once('e') {
        _ if text.contains('.') => out.push_str(&text),
        Some((digits, exponent)) => out.push_str(&format!("{digits}.0e{exponent}")),
        None => out.push_str(&format!("{text}.0")),
    }
}

fn quoted(text: &str, quote: char, out: &mut String) {
    out.push(quote);
    for c in text.chars() {
        match c {
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\\' => out.push_str("\\\\"),
            c if c == quote => out.extend(['\\', quote]),
            ' '..='~' => out.push(c),
            _ => c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| out.push_str(&format!("\\u{unit:04x}"))),
        }
    }
    out.push(quote);
}
