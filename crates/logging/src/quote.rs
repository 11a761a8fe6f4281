//! Strings inside quotes: Go's way for text lines, JSON's for JSON lines. Neither lets a control character through,
//! nor the characters that reorder text on a screen.

use std::fmt::Write;

/// Appends a string as Go's `strconv.Quote` prints it.
pub(crate) fn push_go(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        let code = u32::from(c);
        // Writing to a String cannot fail.
        let _ = match c {
            '"' => out.write_str("\\\""),
            '\\' => out.write_str("\\\\"),
            '\x07' => out.write_str("\\a"),
            '\x08' => out.write_str("\\b"),
            '\x0c' => out.write_str("\\f"),
            '\n' => out.write_str("\\n"),
            '\r' => out.write_str("\\r"),
            '\t' => out.write_str("\\t"),
            '\x0b' => out.write_str("\\v"),
            c if printable(c) => out.write_char(c),
            _ if code < 0x80 => write!(out, "\\x{code:02x}"),
            _ if code < 0x1_0000 => write!(out, "\\u{code:04x}"),
            _ => write!(out, "\\U{code:08x}"),
        };
    }
    out.push('"');
}

/// Appends a string as JSON.
pub(crate) fn push_json(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        let _ = match c {
            '"' => out.write_str("\\\""),
            '\\' => out.write_str("\\\\"),
            '\n' => out.write_str("\\n"),
            '\r' => out.write_str("\\r"),
            '\t' => out.write_str("\\t"),
            c if printable(c) => out.write_char(c),
            c => c.encode_utf16(&mut [0; 2]).iter().try_for_each(|unit| write!(out, "\\u{unit:04x}")),
        };
    }
    out.push('"');
}

/// Whether a character shows on a screen. The standard library knows, and tells through its own escaping; the
/// leading letter keeps it from escaping combining marks, which Go prints.
fn printable(c: char) -> bool {
    match c {
        ' '..='~' => true,
        c if c.is_ascii() => false,
        c => {
            let mut buffer = [b'a'; 5];
            let length = 1 + c.encode_utf8(&mut buffer[1..]).len();
            std::str::from_utf8(&buffer[..length]).is_ok_and(|pair| pair.escape_debug().count() == 2)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn both(text: &str) -> (String, String) {
        let (mut go, mut json) = (String::new(), String::new());
        push_go(&mut go, text);
        push_json(&mut json, text);
        (go, json)
    }

    #[test]
    fn nothing_gets_out_of_the_quotes() {
        let cases = [
            ("plain é 世", "\"plain é 世\"", "\"plain é 世\""),
            ("a\"b\\c", r#""a\"b\\c""#, r#""a\"b\\c""#),
            ("x\nI1115 forged", r#""x\nI1115 forged""#, r#""x\nI1115 forged""#),
            ("\x1b[31m\x00\x7f", r#""\x1b[31m\x00\x7f""#, r#""\u001b[31m\u0000\u007f""#),
            ("\u{202e}\u{e0001}", r#""\u202e\U000e0001""#, r#""\u202e\udb40\udc01""#),
        ];
        for (text, go, json) in cases {
            assert_eq!(both(text), (go.to_owned(), json.to_owned()));
        }
    }
}
