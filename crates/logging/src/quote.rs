//! Strings inside quotes for JSON lines. As in text lines, which quote as Go does, no control character gets through,
//! nor one that reorders text on a screen.

use std::fmt::Write;

use pintle_meta::is_printable;

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
            c if is_printable(c) => out.write_char(c),
            c => c.encode_utf16(&mut [0; 2]).iter().try_for_each(|unit| write!(out, "\\u{unit:04x}")),
        };
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn both(text: &str) -> (String, String) {
        let (mut go, mut json) = (String::new(), String::new());
        pintle_meta::push_quoted(&mut go, text);
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
