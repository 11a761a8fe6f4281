//! Quoting as the reference's messages do it (Go's `%q`), which differs from Rust's `{:?}` in its escapes.

use std::fmt::Write;

/// The text in double quotes, with whatever could confuse a terminal or a log escaped.
pub fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\x07' => quoted.push_str("\\a"),
            '\x08' => quoted.push_str("\\b"),
            '\x0c' => quoted.push_str("\\f"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\x0b' => quoted.push_str("\\v"),
            ' '..='~' => quoted.push(character),
            '\0'..='\x7f' => _ = write!(quoted, "\\x{:02x}", character as u32),
            _ if is_printable(character) => quoted.push(character),
            _ if (character as u32) < 0x10000 => _ = write!(quoted, "\\u{:04x}", character as u32),
            _ => _ = write!(quoted, "\\U{:08x}", character as u32),
        }
    }
    quoted.push('"');
    quoted
}

/// Rust's own notion of what can be shown, which knows Unicode's tables; combining marks count as printable in Go.
fn is_printable(character: char) -> bool {
    !character.is_whitespace() && !character.is_control() && {
        // A single character that a base precedes is not escaped for being a combining mark.
        let mut text = String::from("a");
        text.push(character);
        text.escape_debug().count() == 2
    }
}

#[cfg(test)]
mod tests {
    use super::quote;

    #[test]
    fn quotes_as_the_reference_prints() {
        assert_eq!(quote("a \"b\" \\ c"), r#""a \"b\" \\ c""#);
        assert_eq!(quote("\n\t\x07\x1b\x7f"), r#""\n\t\a\x1b\x7f""#);
        assert_eq!(quote("grüße 日本"), "\"grüße 日本\"");
        assert_eq!(quote("\u{200b}\u{e0001}\u{a0}"), r#""\u200b\U000e0001\u00a0""#);
    }
}
