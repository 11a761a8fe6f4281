//! Decodes bytes to characters: the encoding, and characters that YAML forbids.
//!
//! The reference reads chunks of 512 bytes and finds an invalid byte when it reads the chunk, so a syntax error in an
//! earlier chunk takes precedence. [`Input::problem`] preserves that: the text ends where the invalid chunk starts,
//! and reading past it returns the error.

use std::borrow::Cow;

/// Input of the scanner.
#[derive(Debug)]
pub(super) struct Input<'a> {
    pub(super) text: Cow<'a, str>,
    /// Error at the end of the text, if it was cut short.
    pub(super) problem: Option<&'static str>,
}

const PIECE: usize = 512;

const INCOMPLETE_UTF8: &str = "incomplete UTF-8 octet sequence";
const INCOMPLETE_UTF16: &str = "incomplete UTF-16 character";
const INCOMPLETE_PAIR: &str = "incomplete UTF-16 surrogate pair";

pub(super) fn read(bytes: &[u8]) -> Input<'_> {
    match bytes {
        [0xff, 0xfe, ..] => pieces(bytes, 2, |rest| utf16(rest, u16::from_le_bytes)),
        [0xfe, 0xff, ..] => pieces(bytes, 2, |rest| utf16(rest, u16::from_be_bytes)),
        _ => {
            let start = if bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
            match std::str::from_utf8(&bytes[start..]) {
                Ok(text) if text.chars().all(is_allowed) => {
                    Input { text: Cow::Borrowed(text), problem: None }
                }
                _ => pieces(bytes, start, utf8),
            }
        }
    }
}

/// Reason why there is no character.
enum Bad {
    Problem(&'static str),
    /// Invalid only at the end of the input.
    Incomplete(&'static str),
}

fn pieces(
    bytes: &[u8],
    start: usize,
    decode: impl Fn(&[u8]) -> Result<(char, usize), Bad>,
) -> Input<'static> {
    let mut text = String::new();
    let (mut from, mut at) = (0, start);
    loop {
        let whole = text.len();
        let end = bytes.len().min(from + PIECE);
        from = at;
        while at < end {
            let problem = match decode(&bytes[at..end]) {
                Ok((found, width)) if is_allowed(found) => {
                    text.push(found);
                    at += width;
                    continue;
                }
                Ok(_) => "control characters are not allowed",
                Err(Bad::Problem(problem)) => problem,
                Err(Bad::Incomplete(_)) if at > from || end < bytes.len() => break,
                Err(Bad::Incomplete(problem)) => problem,
            };
            text.truncate(whole);
            return Input { text: Cow::Owned(text), problem: Some(problem) };
        }
        if at == bytes.len() {
            return Input { text: Cow::Owned(text), problem: None };
        }
        from = at;
    }
}

fn utf8(rest: &[u8]) -> Result<(char, usize), Bad> {
    let width = match rest[0] {
        0..0x80 => return Ok((char::from(rest[0]), 1)),
        0xc0..0xe0 => 2,
        0xe0..0xf0 => 3,
        0xf0..0xf8 => 4,
        _ => return Err(Bad::Problem("invalid leading UTF-8 octet")),
    };
    let Some(octets) = rest.get(..width) else { return Err(Bad::Incomplete(INCOMPLETE_UTF8)) };
    let mut value = u32::from(octets[0]) & (0x7f >> width);
    for octet in &octets[1..] {
        if octet & 0xc0 != 0x80 {
            return Err(Bad::Problem("invalid trailing UTF-8 octet"));
        }
        value = value << 6 | u32::from(octet & 0x3f);
    }
    if value < [0x80, 0x800, 0x10000][width - 2] {
        return Err(Bad::Problem("invalid length of a UTF-8 sequence"));
    }
    char::from_u32(value).map(|found| (found, width)).ok_or(Bad::Problem("invalid Unicode character"))
}

fn utf16(rest: &[u8], unit: impl Fn([u8; 2]) -> u16) -> Result<(char, usize), Bad> {
    let [a, b, after @ ..] = rest else { return Err(Bad::Incomplete(INCOMPLETE_UTF16)) };
    let high = unit([*a, *b]);
    match high & 0xfc00 {
        0xdc00 => Err(Bad::Problem("unexpected low surrogate area")),
        0xd800 => {
            let [a, b, ..] = after else { return Err(Bad::Incomplete(INCOMPLETE_PAIR)) };
            match char::decode_utf16([high, unit([*a, *b])]).next() {
                Some(Ok(found)) => Ok((found, 4)),
                _ => Err(Bad::Problem("expected low surrogate area")),
            }
        }
        _ => char::from_u32(u32::from(high))
            .map(|found| (found, 2))
            .ok_or(Bad::Problem("invalid Unicode character")),
    }
}

fn is_allowed(c: char) -> bool {
    matches!(c,
        ' '..='~' | '\t' | '\n' | '\r' | '\u{85}' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(bytes: &[u8]) -> (usize, Option<&'static str>) {
        let input = read(bytes);
        (input.text.len(), input.problem)
    }

    #[test]
    fn byte_order_marks_choose_the_encoding() {
        assert_eq!(read("\u{feff}a: ä".as_bytes()).text, "a: ä");
        let units = |text: &str| text.encode_utf16().collect::<Vec<_>>();
        let little: Vec<u8> = units("\u{feff}a: 😀").iter().flat_map(|unit| unit.to_le_bytes()).collect();
        let big: Vec<u8> = units("\u{feff}a: 😀").iter().flat_map(|unit| unit.to_be_bytes()).collect();
        assert_eq!(read(&little).text, "a: 😀");
        assert_eq!(read(&big).text, "a: 😀");
        assert_eq!(problem(b"\xff\xfea").1, Some(INCOMPLETE_UTF16));
        assert_eq!(problem(b"\xff\xfe\x3d\xd8").1, Some(INCOMPLETE_PAIR));
        assert_eq!(problem(b"\xff\xfe\x3d\xd8a\0").1, Some("expected low surrogate area"));
        assert_eq!(problem(b"\xfe\xff\xdc\x00").1, Some("unexpected low surrogate area"));
    }

    #[test]
    fn invalid_utf8_is_reported() {
        assert_eq!(problem(b"a\xff").1, Some("invalid leading UTF-8 octet"));
        assert_eq!(problem(b"a\xc3").1, Some(INCOMPLETE_UTF8));
        assert_eq!(problem(b"a\xc3a").1, Some("invalid trailing UTF-8 octet"));
        assert_eq!(problem(b"a\xc0\x80").1, Some("invalid length of a UTF-8 sequence"));
        assert_eq!(problem(b"a\xed\xa0\x80").1, Some("invalid Unicode character"));
        assert_eq!(problem(b"a\x7f").1, Some("control characters are not allowed"));
        assert_eq!(problem(b"a\0b").1, Some("control characters are not allowed"));
    }

    #[test]
    fn the_text_ends_where_the_invalid_chunk_starts() {
        let mut text = vec![b'a'; 511];
        text.extend_from_slice("ä".as_bytes());
        text.extend_from_slice(&[b'b'; 600]);
        text.push(1);
        // 511 fit into the first chunk, 512 into the second.
        assert_eq!(problem(&text), (1023, Some("control characters are not allowed")));
        let end = text.len() - 1;
        assert_eq!(problem(&text[..end]), (end, None));
        text[end] = 0xc3;
        assert_eq!(problem(&text).1, Some(INCOMPLETE_UTF8));
        assert_eq!(problem(&text).0, end, "what is incomplete begins a piece of its own");
    }
}
