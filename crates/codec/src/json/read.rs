//! JSON tokens with Go's syntax errors.
//!
//! A [`Reader`] is positioned between tokens. Its caller requests what the grammar allows next; anything else is the
//! error that Go's scanner reports at the same byte.

use std::borrow::Cow;

use pintle_meta::quote_char;

use crate::{Error, MAX_DEPTH};

pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    /// The input as text if all of it is UTF-8, so that strings need no check of their own.
    text: Option<&'a str>,
    at: usize,
    depth: usize,
    seen: Seen,
}

/// Properties of skipped input.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Seen {
    /// White space between tokens.
    pub(super) space: bool,
    /// Characters in strings that Go's encoder escapes for HTML.
    pub(super) html: bool,
}

const PLAIN: u8 = 0;
/// End of a run of plain bytes in a string: a quote, a backslash or a control character.
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

/// Checks that the text is exactly one JSON value.
pub(super) fn validate(text: &[u8]) -> Result<(), Error> {
    Reader::new(text).whole().map(drop)
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { bytes, text: std::str::from_utf8(bytes).ok(), at: 0, depth: 0, seen: Seen::default() }
    }

    /// Skips the single value of the text.
    pub(super) fn whole(mut self) -> Result<Seen, Error> {
        self.skip()?;
        self.end()?;
        Ok(self.seen)
    }

    /// Checks that only white space follows.
    pub(super) fn end(&mut self) -> Result<(), Error> {
        match self.token() {
            None => Ok(()),
            Some(_) => Err(self.error("after top-level value")),
        }
    }

    /// Returns the first byte of the next value.
    #[inline]
    pub(super) fn begin(&mut self) -> Result<u8, Error> {
        match self.token() {
            Some(byte @ (b'{' | b'[' | b'"' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n')) => Ok(byte),
            _ => Err(self.error("looking for beginning of value")),
        }
    }

    /// Enters the next list; returns whether it has items.
    pub(super) fn enter_list(&mut self) -> Result<bool, Error> {
        self.enter()?;
        if self.token() == Some(b']') {
            self.leave();
            return Ok(false);
        }
        Ok(true)
    }

    /// Moves past an item of a list; returns whether there is another.
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

    /// Enters the next object; returns whether it has fields.
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

    /// Moves past a field of an object; returns whether there is another.
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

    /// Reads a field's name and its colon.
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

    /// Reads the next string, unescaped. Invalid UTF-8 becomes U+FFFD.
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

    /// Reads a string that contains escapes or invalid UTF-8; the slow path of [`Reader::string`].
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

    /// Skips to the next byte of a string that is not plain.
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

    /// Skips and checks an escape sequence.
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

    /// Reads the next number as written.
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
        // Only ASCII was accepted.
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

    /// Reads the `true`, `false` or `null` that the first letter selects.
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

    /// Reads the bytes of the next value.
    pub(super) fn raw(&mut self) -> Result<&'a [u8], Error> {
        self.begin()?;
        let start = self.at;
        self.skip()?;
        Ok(&self.bytes[start..self.at])
    }

    /// Skips the next value without recursion.
    pub(super) fn skip(&mut self) -> Result<(), Error> {
        let base = self.depth;
        // One bit per level: whether it is an object.
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

    /// Returns the next byte that is not white space.
    #[inline]
    fn token(&mut self) -> Option<u8> {
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = self.peek() {
            self.seen.space = true;
            self.at += 1;
        }
        self.peek()
    }

    /// Returns the error of an unexpected byte or end.
    #[cold]
    fn error(&self, context: &str) -> Error {
        match self.peek() {
            Some(byte) => wrong(byte, context),
            None => unexpected_end(),
        }
    }

    /// Like `error` inside a number, a literal or an escape, where Go treats the end of the text as a space.
    #[cold]
    fn error_in(&self, context: &str) -> Error {
        wrong(self.peek().unwrap_or(b' '), context)
    }
}

/// Returns the offset of the first byte of a string that is not plain, testing eight bytes at a time.
#[inline]
fn stop(bytes: &[u8]) -> usize {
    const ONES: u64 = u64::MAX / 255;
    const HIGH: u64 = ONES << 7;
    let mut at = 0;
    while let Some(chunk) = bytes[at..].first_chunk() {
        let word = u64::from_le_bytes(*chunk);
        let (quote, backslash) = (word ^ (ONES * 0x22), word ^ (ONES * 0x5C));
        // A subtraction borrows into the highest bit of a byte that is too small, and possibly of a later one: only
        // the first is reliable. Bytes that had the bit before are masked out.
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

/// Returns the character of an escape, and whether the following escape is its low surrogate.
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

/// Appends bytes, replacing every byte of invalid UTF-8 on its own, as Go does.
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
#[path = "read_tests.rs"]
mod tests;
