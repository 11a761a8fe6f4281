//! Quoted literals: escape sequences, raw and triple-quoted strings.

const CANNOT: &str = "unable to unescape string";

/// Returns the bytes of a quoted literal without its `b` prefix. The lexer has matched the quotes.
pub(crate) fn unquote(text: &str, bytes: bool) -> Result<Vec<u8>, &'static str> {
    let normalized;
    let mut text = text;
    if text.contains('\r') {
        normalized = text.replace("\r\n", "\n").replace('\r', "\n");
        text = &normalized;
    }
    let raw = text.starts_with(['r', 'R']);
    let text = if raw { &text[1..] } else { text };
    let quotes =
        if text.len() >= 6 && (text.starts_with("\"\"\"") || text.starts_with("'''")) { 3 } else { 1 };
    let inside = text.get(quotes..text.len().saturating_sub(quotes)).ok_or(CANNOT)?;
    if raw || !inside.contains('\\') {
        return Ok(inside.as_bytes().to_vec());
    }
    let mut out = Vec::with_capacity(inside.len());
    let mut chars = inside.chars();
    let mut buffer = [0; 4];
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.extend_from_slice(c.encode_utf8(&mut buffer).as_bytes());
            continue;
        }
        let escaped = chars.next().ok_or("unable to unescape string, found '\\' as last character")?;
        let (code, is_byte) = match escaped {
            'a' => (7, false),
            'b' => (8, false),
            'f' => (12, false),
            'n' => (10, false),
            'r' => (13, false),
            't' => (9, false),
            'v' => (11, false),
            '\\' | '\'' | '"' | '`' | '?' => (escaped as u32, false),
            'x' | 'X' => (digits(&mut chars, 2, 16)?, bytes),
            'u' | 'U' if bytes => return Err(CANNOT),
            'u' => (digits(&mut chars, 4, 16)?, false),
            'U' => (digits(&mut chars, 8, 16)?, false),
            '0'..='3' => {
                let rest =
                    digits(&mut chars, 2, 8).map_err(|_| "unable to unescape octal sequence in string")?;
                (escaped.to_digit(8).unwrap_or_default() * 64 + rest, bytes)
            }
            _ => return Err(CANNOT),
        };
        if is_byte {
            out.push(code as u8);
        } else {
            let c = char::from_u32(code).ok_or("invalid unicode code point")?;
            out.extend_from_slice(c.encode_utf8(&mut buffer).as_bytes());
        }
    }
    Ok(out)
}

fn digits(chars: &mut std::str::Chars<'_>, count: usize, radix: u32) -> Result<u32, &'static str> {
    let mut value = 0;
    for _ in 0..count {
        let digit = chars.next().and_then(|c| c.to_digit(radix)).ok_or(CANNOT)?;
        value = value * radix + digit;
    }
    Ok(value)
}
