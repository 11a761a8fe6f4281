//! `%q` of strings, characters and string slices.

use std::fmt::Write;

/// Quotes a string like Go's `strconv.Quote`. Its content cannot leave the quotes or disturb a terminal.
pub fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    push_quoted(&mut out, text);
    out
}

/// Appends what [`quote`] returns.
pub fn push_quoted(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        push_escaped(out, c, '"');
    }
    out.push('"');
}

/// Quotes a character as Go's `%q` prints a rune.
pub fn quote_char(c: char) -> String {
    let mut out = String::from('\'');
    push_escaped(&mut out, c, '\'');
    out.push('\'');
    out
}

/// Quotes a slice of strings as Go's `%q` prints it: `["a" "b"]`.
pub fn quote_all<S: AsRef<str>>(texts: &[S]) -> String {
    let quoted: Vec<String> = texts.iter().map(|text| quote(text.as_ref())).collect();
    format!("[{}]", quoted.join(" "))
}

fn push_escaped(out: &mut String, c: char, delimiter: char) {
    let code = u32::from(c);
    // Writing to a String cannot fail.
    let _ = match c {
        '\\' => out.write_str("\\\\"),
        c if c == delimiter => write!(out, "\\{c}"),
        '\x07' => out.write_str("\\a"),
        '\x08' => out.write_str("\\b"),
        '\x0c' => out.write_str("\\f"),
        '\n' => out.write_str("\\n"),
        '\r' => out.write_str("\\r"),
        '\t' => out.write_str("\\t"),
        '\x0b' => out.write_str("\\v"),
        c if is_printable(c) => out.write_char(c),
        _ if code < 0x80 => write!(out, "\\x{code:02x}"),
        _ if code < 0x1_0000 => write!(out, "\\u{code:04x}"),
        _ => write!(out, "\\U{code:08x}"),
    };
}

/// Returns whether a character is printable, by the standard library's escaping; the leading letter keeps it from
/// escaping combining marks, which Go prints.
pub fn is_printable(c: char) -> bool {
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

    #[test]
    fn strings_are_quoted_as_in_go() {
        let cases = [
            ("plain", r#""plain""#),
            ("say \"hi\" \\ it's", r#""say \"hi\" \\ it's""#),
            ("a\tb\nc\u{1b}[31m\u{7f}", r#""a\tb\nc\x1b[31m\x7f""#),
            ("é 世界 \u{200b}\u{202e}", r#""é 世界 \u200b\u202e""#),
            ("e\u{301}", "\"e\u{301}\""),
            ("\u{e0001}", r#""\U000e0001""#),
        ];
        for (input, want) in cases {
            assert_eq!(quote(input), want);
        }
        assert_eq!(quote_char('z'), "'z'");
        assert_eq!(quote_char('\''), r"'\''");
        assert_eq!(quote_all(&["a", "b c"]), r#"["a" "b c"]"#);
    }
}
