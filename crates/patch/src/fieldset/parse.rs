//! Parses `FieldsV1`.
//!
//! Input comes from clients: any bytes yield a set or an [`Error`], in the time of a sort.

use std::borrow::Cow;

use pintle_codec::{MAX_DEPTH, json};
use pintle_meta::value::Key;
use pintle_meta::{Node, Value};

use super::{Element, Entry, Set};

/// Syntax error of `FieldsV1`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("key must be 2 characters long:")]
    Short,
    #[error("missing colon: {0}")]
    Colon(String),
    #[error("invalid path element {0:?}")]
    Element(String),
    #[error("expected {expected} at byte {at}")]
    Syntax { expected: &'static str, at: usize },
    #[error("not UTF-8")]
    Encoding,
    #[error("exceeded max depth")]
    Depth,
}

impl Set {
    /// Parses JSON. Elements of unknown kinds are dropped with everything below them.
    pub fn from_json(text: &[u8]) -> Result<Set, Error> {
        let text = std::str::from_utf8(text).map_err(|_| Error::Encoding)?;
        let mut parser = Parser { text, at: 0, depth: 0 };
        let (set, _) = parser.fields()?;
        parser.space();
        if parser.at == text.len() { Ok(set) } else { Err(parser.expected("nothing")) }
    }

    /// Like [`Set::from_json`], from an untyped tree, as custom resources have it.
    pub fn from_value(fields: &Value) -> Result<Set, Error> {
        match fields.node() {
            Node::Raw(raw) => Set::from_json(raw),
            _ => of_value(fields, 0).map(|(set, _)| set),
        }
    }
}

fn of_value(fields: &Value, depth: usize) -> Result<(Set, bool), Error> {
    if depth > MAX_DEPTH {
        return Err(Error::Depth);
    }
    let object = match fields.node() {
        Node::Null => return Ok((Set::new(), true)),
        Node::Object(object) => object,
        _ => return Err(Error::Syntax { expected: "an object", at: 0 }),
    };
    let mut entries = Vec::with_capacity(object.len());
    let mut member = false;
    for (key, value) in object.iter() {
        match key {
            "." => member = true,
            _ => {
                if let Some(element) = Element::parse(key)? {
                    let (children, member) = of_value(value, depth + 1)?;
                    entries.push(Entry { element, member, children });
                }
            }
        }
    }
    Ok(node(entries, member))
}

/// Returns the children of a node, and whether it is a member: without children it always is.
fn node(entries: Vec<Entry>, member: bool) -> (Set, bool) {
    let set = Set::from_unsorted(entries);
    let member = member || set.is_empty();
    (set, member)
}

impl Element {
    /// Parses a key of `FieldsV1`; `None` for an unknown kind of element.
    pub fn parse(text: &str) -> Result<Option<Element>, Error> {
        let (kind, rest) = match text.as_bytes() {
            [kind, b':', ..] => (*kind, &text[2..]),
            [_, _, ..] => return Err(Error::Colon(text.into())),
            _ => return Err(Error::Short),
        };
        let invalid = || Error::Element(text.into());
        let read = || json::decode_any(rest.as_bytes()).map(|decoded| decoded.value).map_err(|_| invalid());
        Ok(Some(match kind {
            b'f' => Element::field(rest),
            b'k' | b'v' if let Some(simple) = simple(kind, rest) => simple,
            b'v' => Element::value(read()?),
            b'k' => match read()?.node() {
                Node::Object(object) => Element::key(object.entries().iter().cloned()),
                Node::Null => Element::Key([].into()),
                _ => return Err(invalid()),
            },
            b'i' => Element::Index(rest.parse().map_err(|_| invalid())?),
            _ => return Ok(None),
        }))
    }
}

/// Parses common elements without a tree: `"x"`, `{"containerPort":80,"protocol":"TCP"}`. `None` for others.
fn simple(kind: u8, text: &str) -> Option<Element> {
    let mut rest = text.as_bytes();
    if kind == b'v' {
        let value = scalar(&mut rest)?;
        return rest.is_empty().then_some(Element::Value(value));
    }
    let mut fields: Vec<(Key, Value)> = Vec::with_capacity(2);
    take(&mut rest, b'{')?;
    loop {
        let name = Key::new(plain(&mut rest)?);
        take(&mut rest, b':')?;
        if fields.last().is_some_and(|(last, _)| *last >= name) {
            return None;
        }
        fields.push((name, scalar(&mut rest)?));
        if take(&mut rest, b',').is_none() {
            break;
        }
    }
    take(&mut rest, b'}')?;
    rest.is_empty().then(|| Element::Key(fields.into()))
}

fn take(rest: &mut &[u8], wanted: u8) -> Option<()> {
    *rest = rest.strip_prefix(&[wanted])?;
    Some(())
}

/// Parses a string without escapes.
fn plain<'a>(rest: &mut &'a [u8]) -> Option<&'a str> {
    take(rest, b'"')?;
    let end = rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20))?;
    let text = std::str::from_utf8(&rest[..end]).ok()?;
    *rest = &rest[end..];
    take(rest, b'"')?;
    Some(text)
}

/// Parses a plain string, or a number of a few digits.
fn scalar(rest: &mut &[u8]) -> Option<Value> {
    if rest.first() == Some(&b'"') {
        return plain(rest).map(Value::from);
    }
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (number, left) = rest.split_at(digits);
    let is_usual = matches!(number, [b'0'] | [b'1'..=b'9', ..]) && digits < 10;
    if !is_usual || matches!(left.first(), Some(b'.' | b'e' | b'E')) {
        return None;
    }
    *rest = left;
    Some(number.iter().fold(0i64, |value, digit| value * 10 + i64::from(digit - b'0')).into())
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.byte() {
            self.at += 1;
        }
    }

    fn expected(&self, expected: &'static str) -> Error {
        Error::Syntax { expected, at: self.at }
    }

    /// Skips a byte, with white space before it.
    fn take(&mut self, wanted: u8) -> bool {
        self.space();
        let found = self.byte() == Some(wanted);
        self.at += usize::from(found);
        found
    }

    /// Parses the children of a node, and whether it is a member.
    fn fields(&mut self) -> Result<(Set, bool), Error> {
        pintle_work::check();
        self.space();
        if self.text[self.at..].starts_with("null") {
            self.at += 4;
            return Ok((Set::new(), true));
        }
        if !self.take(b'{') {
            return Err(self.expected("an object"));
        }
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Error::Depth);
        }
        let mut entries = Vec::new();
        let mut member = false;
        let mut more = !self.take(b'}');
        while more {
            let key = self.string()?;
            if !self.take(b':') {
                return Err(self.expected("a colon"));
            }
            if key == "." {
                self.skip()?;
                member = true;
            } else if let Some(element) = Element::parse(&key)? {
                let (children, member) = self.fields()?;
                entries.push(Entry { element, member, children });
            } else {
                self.skip()?;
            }
            more = self.take(b',');
            if !more && !self.take(b'}') {
                return Err(self.expected("the end of an object"));
            }
        }
        self.depth -= 1;
        Ok(node(entries, member))
    }

    fn string(&mut self) -> Result<Cow<'a, str>, Error> {
        if !self.take(b'"') {
            return Err(self.expected("a string"));
        }
        let text = self.text;
        let rest = &text[self.at..];
        let end = rest.bytes().position(|byte| matches!(byte, b'"' | b'\\')).unwrap_or(rest.len());
        let mut out = match rest.as_bytes().get(end) {
            Some(b'"') => {
                self.at += end + 1;
                return Ok(Cow::Borrowed(&rest[..end]));
            }
            Some(_) => String::from(&rest[..end]),
            None => return Err(self.expected("the end of a string")),
        };
        self.at += end;
        loop {
            let rest = &text[self.at..];
            match rest.as_bytes() {
                [b'"', ..] => {
                    self.at += 1;
                    return Ok(Cow::Owned(out));
                }
                [b'\\', b'u', ..] => {
                    self.at += 2;
                    let c = self.escaped_char()?;
                    out.push(c);
                }
                [b'\\', escaped, ..] => {
                    out.push(match escaped {
                        b'"' | b'\\' | b'/' => char::from(*escaped),
                        b'b' => '\x08',
                        b'f' => '\x0c',
                        b'n' => '\n',
                        b'r' => '\r',
                        b't' => '\t',
                        _ => return Err(self.expected("an escape")),
                    });
                    self.at += 2;
                }
                _ => {
                    let end = rest.bytes().position(|byte| matches!(byte, b'"' | b'\\'));
                    let end =
                        end.filter(|end| *end > 0).ok_or_else(|| self.expected("the end of a string"))?;
                    out.push_str(&rest[..end]);
                    self.at += end;
                }
            }
        }
    }

    /// Parses the digits after `\u`. An unpaired surrogate is no character.
    fn escaped_char(&mut self) -> Result<char, Error> {
        let first = self.hex()?;
        if !(0xD800..0xDC00).contains(&first) {
            return Ok(char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER));
        }
        let before = self.at;
        if self.text[self.at..].starts_with("\\u") {
            self.at += 2;
            let second = self.hex()?;
            if (0xDC00..0xE000).contains(&second) {
                let code = 0x1_0000 + ((first - 0xD800) << 10) + (second - 0xDC00);
                return Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            self.at = before;
        }
        Ok(char::REPLACEMENT_CHARACTER)
    }

    fn hex(&mut self) -> Result<u32, Error> {
        let digits =
            self.text.get(self.at..self.at + 4).filter(|text| text.bytes().all(|b| b.is_ascii_hexdigit()));
        let value = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        let value = value.ok_or_else(|| self.expected("four digits"))?;
        self.at += 4;
        Ok(value)
    }

    /// Skips a value.
    fn skip(&mut self) -> Result<(), Error> {
        let mut depth = 0usize;
        loop {
            self.space();
            match self.byte() {
                None => return Err(self.expected("a value")),
                Some(b'"') => drop(self.string()?),
                Some(b'{' | b'[') => {
                    self.at += 1;
                    depth += 1;
                    continue;
                }
                Some(b'}' | b']') if depth > 0 => {
                    self.at += 1;
                    depth -= 1;
                }
                Some(b',' | b':') if depth > 0 => {
                    self.at += 1;
                    continue;
                }
                Some(b'-' | b'+' | b'.' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z') => {
                    let rest = &self.text.as_bytes()[self.at..];
                    let plain =
                        |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.');
                    self.at += rest.iter().take_while(|byte| plain(byte)).count();
                }
                Some(_) => return Err(self.expected("a value")),
            }
            if depth == 0 {
                return Ok(());
            }
        }
    }
}
