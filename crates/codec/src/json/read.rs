//! The syntax of JSON: tokens out of bytes, and Go's word on what is wrong with them.
//!
//! A [`Reader`] stands before or behind a token. Its caller asks for what the grammar allows next; whatever else stands there
//! is an error, the same at the same byte as Go's scanner finds it.

use std::borrow::Cow;

use pintle_meta::quote_char;

use crate::{Error, MAX_DEPTH};

pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    /// The same, if it is UTF-8 all through, so that strings need not be checked one by one.
    text: Option<&'a str>,
    at: usize,
    depth: usize,
    seen: Seen,
}

/// What a reader came across while it skipped.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Seen {
    /// White space between tokens.
    pub(super) space: bool,
    /// In strings, what Go's writer escapes although it need not be.
    pub(super) html: bool,
}

const PLAIN: u8 = 0;
/// Ends a run of plain bytes in a string: a quote, a backslash or a control character.
const STOP: u8 = 1;
const HTML: u8 = 2;

const IN_STRING: [u8; 256] = {
    let mut table = [PLAIN; 256];
    let mut byte = 0;
    while byte < 0x20 {
        table[byte] = STOP;
        byte += 1;
    }
    table[b'"' as usize] = STOP;
    table[b'\\' as usize] = STOP;
    table[b'<' as usize] = HTML;
    table[b'>' as usize] = HTML;
    table[b'&' as usize] = HTML;
    table[0xE2] = HTML;
    table
};

/// Whether the text is one JSON value and nothing else.
pub(super) fn validate(text: &[u8]) -> Result<(), Error> {
    Reader::new(text).whole().map(drop)
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { bytes, text: std::str::from_utf8(bytes).ok(), at: 0, depth: 0, seen: Seen::default() }
    }

    /// Skips the one value that the text is.
    pub(super) fn whole(mut self) -> Result<Seen, Error> {
        self.skip()?;
        self.end()?;
        Ok(self.seen)
    }

    /// Nothing but white space may follow.
    pub(super) fn end(&mut self) -> Result<(), Error> {
        match self.token() {
            None => Ok(()),
            Some(_) => Err(self.error("after top-level value")),
        }
    }

    /// The first byte of the value that follows.
    #[inline]
    pub(super) fn begin(&mut self) -> Result<u8, Error> {
        match self.token() {
            Some(byte @ (b'{' | b'[' | b'"' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n')) => Ok(byte),
            _ => Err(self.error("looking for beginning of value")),
        }
    }

    /// Goes into the list that follows; whether there is anything in it.
    pub(super) fn enter_list(&mut self) -> Result<bool, Error> {
        self.enter()?;
        if self.token() == Some(b']') {
            self.leave();
            return Ok(false);
        }
        Ok(true)
    }

    /// Behind an item of a list; whether there is another.
    pub(super) fn next_item(&mut self) -> Result<bool, Error> {
        pintle_work::check();
        match self.token() {
            Some(b',') => {
                self.at += 1;
                Ok(true)
            }
            Some(b']') => {
                self.leave();
                Ok(false)
            }
            _ => Err(self.error("after array element")),
        }
    }

    /// Goes into the object that follows; whether there is anything in it.
    pub(super) fn enter_object(&mut self) -> Result<bool, Error> {
        self.enter()?;
        match self.token() {
            Some(b'"') => Ok(true),
            Some(b'}') => {
                self.leave();
                Ok(false)
            }
            _ => Err(self.error("looking for beginning of object key string")),
        }
    }

    /// Behind a field of an object; whether there is another.
    pub(super) fn next_field(&mut self) -> Result<bool, Error> {
        pintle_work::check();
        match self.token() {
            Some(b',') => {
                self.at += 1;
                match self.token() {
                    Some(b'"') => Ok(true),
                    _ => Err(self.error("looking for beginning of object key string")),
                }
            }
            Some(b'}') => {
                self.leave();
                Ok(false)
            }
            _ => Err(self.error("after object key:value pair")),
        }
    }

    /// A field's name and the colon behind it.
    #[inline]
    pub(super) fn key(&mut self) -> Result<Cow<'a, str>, Error> {
        let key = self.string()?;
        self.colon()?;
        Ok(key)
    }

    #[inline]
    fn colon(&mut self) -> Result<(), Error> {
        if self.token() != Some(b':') {
            return Err(self.error("after object key"));
        }
        self.at += 1;
        Ok(())
    }

    /// The string that follows, unescaped. What is no character becomes U+FFFD.
    #[inline]
    pub(super) fn string(&mut self) -> Result<Cow<'a, str>, Error> {
        self.at += 1;
        let start = self.at;
        let end = start + self.bytes.get(start..).map_or(0, stop);
        if self.bytes.get(end) == Some(&b'"')
            && let Some(found) = self.text.and_then(|text| text.get(start..end))
        {
            self.at = end + 1;
            return Ok(Cow::Borrowed(found));
        }
        self.unescape(start).map(Cow::Owned)
    }

    /// A string with escapes or broken characters in it, the slow way.
    #[cold]
    fn unescape(&mut self, start: usize) -> Result<String, Error> {
        let mut text = String::new();
        let mut start = start;
        loop {
            self.plain();
            push_lossy(&mut text, &self.bytes[start..self.at]);
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => {
                    let escape = self.at;
                    self.escape()?;
                    let more = &self.bytes[self.at..];
                    let (c, both) = unescaped(&self.bytes[escape + 1..self.at], more);
                    text.push(c);
                    if both {
                        self.escape()?;
                    }
                    start = self.at;
                }
                _ => return Err(self.in_string()),
            }
        }
        self.at += 1;
        Ok(text)
    }

    /// Up to the next byte in a string that is not for itself.
    #[inline]
    fn plain(&mut self) {
        loop {
            let rest = &self.bytes[self.at..];
            let Some(found) = rest.iter().position(|byte| IN_STRING[usize::from(*byte)] != PLAIN) else {
                self.at = self.bytes.len();
                return;
            };
            self.at += found;
            if IN_STRING[usize::from(rest[found])] == STOP {
                return;
            }
            self.seen.html |= rest[found] != 0xE2 || matches!(rest[found..], [_, 0x80, 0xA8 | 0xA9, ..]);
            self.at += 1;
        }
    }

    fn skip_string(&mut self) -> Result<(), Error> {
        self.at += 1;
        loop {
            self.plain();
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => self.escape()?,
                _ => return Err(self.in_string()),
            }
        }
        self.at += 1;
        Ok(())
    }

    #[cold]
    fn in_string(&self) -> Error {
        match self.peek() {
            Some(_) => self.error("in string literal"),
            None => unexpected_end(),
        }
    }

    /// Past an escape, which is checked.
    fn escape(&mut self) -> Result<(), Error> {
        self.at += 1;
        match self.peek() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 1,
            Some(b'u') => {
                self.at += 1;
                for _ in 0..4 {
                    if !self.peek().is_some_and(|byte| byte.is_ascii_hexdigit()) {
                        return Err(self.error_in("in \\u hexadecimal character escape"));
                    }
                    self.at += 1;
                }
            }
            _ => return Err(self.error_in("in string escape code")),
        }
        Ok(())
    }

    /// The number that follows, as it is written.
    pub(super) fn number(&mut self) -> Result<&'a str, Error> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.peek() {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits(),
            _ => return Err(self.error_in("in numeric literal")),
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.some_digits("after decimal point in numeric literal")?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            self.some_digits("in exponent of numeric literal")?;
        }
        // Only ASCII was let through.
        Ok(std::str::from_utf8(&self.bytes[start..self.at]).unwrap_or_default())
    }

    fn digits(&mut self) {
        let rest = &self.bytes[self.at..];
        self.at += rest.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(rest.len());
    }

    fn some_digits(&mut self, context: &str) -> Result<(), Error> {
        let start = self.at;
        self.digits();
        if self.at == start { Err(self.error_in(context)) } else { Ok(()) }
    }

    /// The `true`, `false` or `null` that follows, whichever it must be by its first letter.
    pub(super) fn literal(&mut self) -> Result<(), Error> {
        let word: &str = match self.peek() {
            Some(b't') => "true",
            Some(b'f') => "false",
            _ => "null",
        };
        for expected in word.bytes() {
            if self.peek() != Some(expected) {
                return Err(self.error_in(&format!(
                    "in literal {word} (expecting {})",
                    quote_char(char::from(expected))
                )));
            }
            self.at += 1;
        }
        Ok(())
    }

    /// The text of the value that follows, to the byte.
    pub(super) fn raw(&mut self) -> Result<&'a [u8], Error> {
        self.begin()?;
        let start = self.at;
        self.skip()?;
        Ok(&self.bytes[start..self.at])
    }

    /// Skips the value that follows, however deep it is.
    pub(super) fn skip(&mut self) -> Result<(), Error> {
        let base = self.depth;
        // One bit to a level: whether it is an object.
        let mut objects = [0u64; MAX_DEPTH / 64 + 1];
        loop {
            match self.begin()? {
                b'"' => self.skip_string()?,
                b'{' => {
                    if self.enter_object()? {
                        objects[self.depth / 64] |= 1 << (self.depth % 64);
                        self.skip_string()?;
                        self.colon()?;
                        continue;
                    }
                }
                b'[' => {
                    if self.enter_list()? {
                        objects[self.depth / 64] &= !(1 << (self.depth % 64));
                        continue;
                    }
                }
                b't' | b'f' | b'n' => self.literal()?,
                _ => drop(self.number()?),
            }
            loop {
                if self.depth == base {
                    return Ok(());
                }
                if objects[self.depth / 64] & 1 << (self.depth % 64) == 0 {
                    if self.next_item()? {
                        break;
                    }
                } else if self.next_field()? {
                    self.skip_string()?;
                    self.colon()?;
                    break;
                }
            }
        }
    }

    fn enter(&mut self) -> Result<(), Error> {
        if self.depth == MAX_DEPTH {
            return Err(self.error("exceeded max depth"));
        }
        self.depth += 1;
        self.at += 1;
        Ok(())
    }

    fn leave(&mut self) {
        self.depth -= 1;
        self.at += 1;
    }

    #[inline]
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// The next byte that is not white space.
    #[inline]
    fn token(&mut self) -> Option<u8> {
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = self.peek() {
            self.seen.space = true;
            self.at += 1;
        }
        self.peek()
    }

    /// The byte that stands here is wrong, or there is none.
    #[cold]
    fn error(&self, context: &str) -> Error {
        match self.peek() {
            Some(byte) => wrong(byte, context),
            None => unexpected_end(),
        }
    }

    /// The same inside a number, a word or an escape, where Go takes the end of the text for a space.
    #[cold]
    fn error_in(&self, context: &str) -> Error {
        wrong(self.peek().unwrap_or(b' '), context)
    }
}

/// Where the first byte of a string stands that is not for itself; eight are looked at in one go.
#[inline]
fn stop(bytes: &[u8]) -> usize {
    const ONES: u64 = u64::MAX / 255;
    const HIGH: u64 = ONES << 7;
    let mut at = 0;
    while let Some(chunk) = bytes[at..].first_chunk() {
        let word = u64::from_le_bytes(*chunk);
        let (quote, backslash) = (word ^ (ONES * 0x22), word ^ (ONES * 0x5C));
        // A subtraction borrows into the highest bit of a byte that is too small, and perhaps of one behind it: only the
        // first is to be trusted. Bytes that had that bit before don't count.
        let control = word.wrapping_sub(ONES * 0x20);
        let found = (control | quote.wrapping_sub(ONES) | backslash.wrapping_sub(ONES)) & !word & HIGH;
        if found != 0 {
            return at + found.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    let rest = &bytes[at..];
    at + rest.iter().position(|byte| IN_STRING[usize::from(*byte)] == STOP).unwrap_or(rest.len())
}

fn unexpected_end() -> Error {
    Error::new("unexpected end of JSON input")
}

fn wrong(byte: u8, context: &str) -> Error {
    Error::new(format!("invalid character {} {context}", quote_char(char::from(byte))))
}

/// The character that an escape stands for, and whether the escape behind it is the other half of it.
fn unescaped(escape: &[u8], more: &[u8]) -> (char, bool) {
    let c = match escape {
        [b'b'] => '\x08',
        [b'f'] => '\x0c',
        [b'n'] => '\n',
        [b'r'] => '\r',
        [b't'] => '\t',
        [b'u', digits @ ..] => {
            let code = hex(digits).unwrap_or_default();
            let low = match more {
                [b'\\', b'u', digits @ ..] => digits.get(..4).and_then(hex),
                _ => None,
            };
            if let (0xD800..0xDC00, Some(low @ 0xDC00..0xE000)) = (code, low) {
                let both = 0x1_0000 + ((code - 0xD800) << 10) + (low - 0xDC00);
                return (char::from_u32(both).unwrap_or(char::REPLACEMENT_CHARACTER), true);
            }
            char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
        }
        [byte] => char::from(*byte),
        _ => char::REPLACEMENT_CHARACTER,
    };
    (c, false)
}

fn hex(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0, |code, digit| Some(code * 16 + char::from(*digit).to_digit(16)?))
}

/// Go replaces every byte that is part of no character on its own.
fn push_lossy(text: &mut String, bytes: &[u8]) {
    let mut rest = bytes;
    loop {
        match std::str::from_utf8(rest) {
            Ok(good) => return text.push_str(good),
            Err(error) => {
                let (good, bad) = rest.split_at(error.valid_up_to());
                text.push_str(std::str::from_utf8(good).unwrap_or_default());
                text.push(char::REPLACEMENT_CHARACTER);
                rest = &bad[1..];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaint(text: &[u8]) -> String {
        validate(text).map_or_else(|error| error.to_string(), |()| "fine".to_owned())
    }

    #[test]
    fn syntax_errors_are_gos() {
        let cases = [
            ("", "unexpected end of JSON input"),
            ("  \n", "unexpected end of JSON input"),
            ("{", "unexpected end of JSON input"),
            ("{\"a\"", "unexpected end of JSON input"),
            ("{\"a\":", "unexpected end of JSON input"),
            ("{\"a\":1", "unexpected end of JSON input"),
            ("{\"a\":1,", "unexpected end of JSON input"),
            ("[", "unexpected end of JSON input"),
            ("[1", "unexpected end of JSON input"),
            ("[1,", "unexpected end of JSON input"),
            ("\"abc", "unexpected end of JSON input"),
            ("x", "invalid character 'x' looking for beginning of value"),
            ("{\"a\":}", "invalid character '}' looking for beginning of value"),
            ("[1,]", "invalid character ']' looking for beginning of value"),
            ("[,]", "invalid character ',' looking for beginning of value"),
            ("{'a':1}", r"invalid character '\'' looking for beginning of object key string"),
            ("{\"a\":1,}", "invalid character '}' looking for beginning of object key string"),
            ("{1:2}", "invalid character '1' looking for beginning of object key string"),
            ("{\"a\" 1}", "invalid character '1' after object key"),
            ("{\"a\":1 \"b\"", "invalid character '\"' after object key:value pair"),
            ("{\"a\":1]", "invalid character ']' after object key:value pair"),
            ("[1 2]", "invalid character '2' after array element"),
            ("[1}", "invalid character '}' after array element"),
            ("{} x", "invalid character 'x' after top-level value"),
            ("1 2", "invalid character '2' after top-level value"),
            ("\"a\nb\"", r"invalid character '\n' in string literal"),
            ("\"a\0b\"", r"invalid character '\x00' in string literal"),
            (r#""\x""#, "invalid character 'x' in string escape code"),
            (r#""\"#, "invalid character ' ' in string escape code"),
            (r#""\u12g4""#, r"invalid character 'g' in \u hexadecimal character escape"),
            (r#""\u12"#, r"invalid character ' ' in \u hexadecimal character escape"),
            ("-", "invalid character ' ' in numeric literal"),
            ("-a", "invalid character 'a' in numeric literal"),
            ("01", "invalid character '1' after top-level value"),
            ("1.", "invalid character ' ' after decimal point in numeric literal"),
            ("1.x", "invalid character 'x' after decimal point in numeric literal"),
            ("1e", "invalid character ' ' in exponent of numeric literal"),
            ("1e+x", "invalid character 'x' in exponent of numeric literal"),
            ("+1", "invalid character '+' looking for beginning of value"),
            ("tru", "invalid character ' ' in literal true (expecting 'e')"),
            ("trux", "invalid character 'x' in literal true (expecting 'e')"),
            ("fALSE", "invalid character 'A' in literal false (expecting 'a')"),
            ("nil", "invalid character 'i' in literal null (expecting 'u')"),
            ("NaN", "invalid character 'N' looking for beginning of value"),
            ("\u{feff}{}", "invalid character 'ï' looking for beginning of value"),
        ];
        for (text, want) in cases {
            assert_eq!(complaint(text.as_bytes()), want, "{text}");
        }
        assert_eq!(complaint(b"\xff"), "invalid character 'ÿ' looking for beginning of value");
        assert_eq!(
            complaint(b"{\xad"),
            r"invalid character '\u00ad' looking for beginning of object key string"
        );
    }

    #[test]
    fn good_documents_are_fine() {
        for text in [
            "null",
            " true ",
            "-0",
            "-0.5e+10",
            "1E5",
            "[]",
            "{}",
            "[[],{}]",
            "{\"a\":{\"b\":[1,{}]},\"\":null}",
            "\"\u{7f}é\\u0000\\/\"",
            "\r\n\t{ }",
        ] {
            assert_eq!(complaint(text.as_bytes()), "fine", "{text}");
        }
        assert_eq!(complaint(b"\"\xff\""), "fine");
    }

    #[test]
    fn strings_are_unescaped_and_broken_characters_replaced() {
        let cases: [(&[u8], &str); 13] = [
            (b"\"plain\"", "plain"),
            ("\"é世\u{1f600}\"".as_bytes(), "é世\u{1f600}"),
            (br#""\"\\\/\b\f\n\r\t""#, "\"\\/\x08\x0c\n\r\t"),
            (br#""a\u00e9\u4e16b""#, "aé世b"),
            (br#""\ud83d\ude00""#, "\u{1f600}"),
            (br#""\ud83dx""#, "\u{fffd}x"),
            (br#""\ud83d\u0041""#, "\u{fffd}A"),
            (br#""\ud83d\n""#, "\u{fffd}\n"),
            (br#""\ude00\ud83d""#, "\u{fffd}\u{fffd}"),
            (br#""\ud83d\ud83d\ude00""#, "\u{fffd}\u{1f600}"),
            (b"\"a\xffb\"", "a\u{fffd}b"),
            // Three bytes of which none is a character: Go replaces each.
            (b"\"\xe4\xb8\\n\xed\xa0\x80\"", "\u{fffd}\u{fffd}\n\u{fffd}\u{fffd}\u{fffd}"),
            (b"\"<\xe2\x80\xa8>\"", "<\u{2028}>"),
        ];
        for (literal, want) in cases {
            let mut reader = Reader::new(literal);
            assert_eq!(reader.string().unwrap(), want);
            reader.end().unwrap();
        }
    }

    #[test]
    fn a_string_ends_where_it_ends_whatever_is_around() {
        for length in 0..40 {
            for place in 0..length {
                for (byte, ends) in
                    [(b'"', true), (b'\\', true), (0x1F, true), (0x20, false), (0x21, false), (0xA2, false)]
                {
                    for filler in [b'a', 0x23, 0xFF, 0x7F, 0x80, 0xDC] {
                        let mut bytes = vec![filler; length];
                        bytes[place] = byte;
                        assert_eq!(stop(&bytes), if ends { place } else { length }, "{bytes:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn values_are_skipped_to_the_byte() {
        let mut reader = Reader::new(br#" {"a": [1, {"b":"]}"}] } ,"#);
        assert_eq!(reader.raw().unwrap(), br#"{"a": [1, {"b":"]}"}] }"#);
        assert_eq!(reader.token(), Some(b','));
        assert_eq!(reader.depth, 0);
    }

    #[test]
    fn depth_is_bounded_in_gos_words() {
        let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        assert_eq!(complaint(nested(MAX_DEPTH).as_bytes()), "fine");
        assert_eq!(complaint(nested(MAX_DEPTH + 1).as_bytes()), "invalid character '[' exceeded max depth");
        let objects = "{\"a\":".repeat(2_000_000);
        assert_eq!(complaint(objects.as_bytes()), "invalid character '{' exceeded max depth");
    }

    #[test]
    fn what_a_writer_would_change_is_seen() {
        let seen = |text: &str| Reader::new(text.as_bytes()).whole().unwrap();
        assert_eq!(seen("{\"a\":[1,\"b c\"]}"), Seen { space: false, html: false });
        assert_eq!(seen("[1, 2]"), Seen { space: true, html: false });
        assert_eq!(seen("\"a&b\""), Seen { space: false, html: true });
        assert_eq!(seen("\"\u{2028}\""), Seen { space: false, html: true });
        assert_eq!(seen("\"…\""), Seen { space: false, html: false });
    }
}
