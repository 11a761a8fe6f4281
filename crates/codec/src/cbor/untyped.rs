//! Decodes items without a type.

use std::collections::HashSet;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use pintle_meta::time::Time;
use pintle_meta::value::{Key, Object};
use pintle_meta::{Value, quote};

use super::item::{self, Head, Items, Major};
use crate::Error;

/// Decoder of consecutive items. A type error does not stop it: the reference continues and reports the first one,
/// unless a key is duplicated. Functions that decode an item have consumed it whatever they return.
pub(super) struct Reader<'a> {
    pub(super) items: Items<'a>,
    /// Expected conversions of byte strings to text, from the enclosing tags, innermost last.
    pub(super) later: Vec<u64>,
}

/// Failure to decode an item, with the parts of its message.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Failure {
    /// Type error: type of the item, Go type, field, and details. The outermost struct adds the field.
    Type {
        found: Major,
        wanted: String,
        field: Option<String>,
        more: String,
    },
    /// Index of an unknown field in its map.
    Unknown(usize),
    Other(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Other(error)
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Error {
        match failure {
            Failure::Other(error) => error,
            Failure::Unknown(index) => Error::new(unknown_field(index)),
            Failure::Type { found, wanted, field, more } => {
                let index = match field {
                    Some(field) => format!("struct field {field}"),
                    None => "value".into(),
                };
                let more = if more.is_empty() { more } else { format!(" ({more})") };
                let found = found.name();
                Error::new(format!("cbor: cannot unmarshal {found} into Go {index} of type {wanted}{more}"))
            }
        }
    }
}

pub(super) fn unknown_field(index: usize) -> String {
    format!("cbor: found unknown field at map element index {index}")
}

pub(super) fn mismatch(found: Major, wanted: impl Into<String>) -> Failure {
    Failure::Type { found, wanted: wanted.into(), field: None, more: String::new() }
}

pub(super) fn overflow(found: Major, wanted: &str, value: impl std::fmt::Display, of: &str) -> Failure {
    Failure::Type { found, wanted: wanted.into(), field: None, more: format!("{value} overflows {of}") }
}

/// Decodes a map from checked data; null is a map too.
pub(super) fn decode_map(data: &[u8]) -> Result<Value, Error> {
    let mut reader = Reader::new(data);
    match reader.strip_tags()? {
        Major::Map => reader.map(|reader| reader.any()),
        Major::Simple if reader.items.initial() == 0xf6 => Ok(Value::NULL),
        found => reader.refuse(found, "map[string]interface {}"),
    }
    .map_err(Error::from)
}

/// Decodes any value from checked data.
pub(super) fn decode_any(data: &[u8]) -> Result<Value, Error> {
    Reader::new(data).any().map_err(Error::from)
}

pub(super) type Read<T> = Result<T, Failure>;

impl<'a> Reader<'a> {
    pub(super) fn new(data: &'a [u8]) -> Reader<'a> {
        Reader { items: Items { data, at: 0 }, later: Vec::new() }
    }

    /// Returns the data of the next item and skips it.
    pub(super) fn raw(&mut self) -> Result<&'a [u8], Error> {
        let start = self.items.at;
        self.items.skip()?;
        Ok(&self.items.data[start..self.items.at])
    }

    /// Skips tags without a meaning here, and pushes those that are an expected conversion to text, which the caller
    /// pops.
    pub(super) fn strip_tags(&mut self) -> Result<Major, Error> {
        let start = self.items.at;
        while self.items.major() == Major::Tag {
            let tag = self.items.head()?.argument;
            if let Err(error) = item::check_tag(tag, self.items.initial()) {
                self.items.at = start;
                self.items.skip()?;
                return Err(error);
            }
            if matches!(tag, item::TAG_BASE64_URL | item::TAG_BASE64 | item::TAG_BASE16) {
                self.later.push(tag);
            }
        }
        Ok(self.items.major())
    }

    /// Skips an item of a wrong type.
    pub(super) fn refuse<T>(&mut self, found: Major, wanted: impl Into<String>) -> Read<T> {
        if found == Major::Simple {
            self.simple()?;
        } else {
            self.items.skip()?;
        }
        Err(mismatch(found, wanted))
    }

    pub(super) fn any(&mut self) -> Read<Value> {
        pintle_work::check();
        let tags = self.later.len();
        let value = self.any_tagged();
        self.later.truncate(tags);
        value
    }

    fn any_tagged(&mut self) -> Read<Value> {
        // A time needs its tag first, possibly behind tags without a meaning.
        let mut ahead = self.items;
        while ahead.major() == Major::Tag {
            let tag = ahead.head()?.argument;
            if matches!(tag, item::TAG_DATE_TIME | item::TAG_EPOCH)
                && item::check_tag(tag, ahead.initial()).is_ok()
            {
                self.items = ahead;
                return self.time(tag).map(Value::from);
            }
        }
        match self.strip_tags()? {
            Major::Positive | Major::Negative => self.integer().map(Value::from),
            Major::Bytes => Ok(self.byte_string_text()?.into()),
            Major::Text => Ok(self.text()?.into()),
            Major::Array => self.list(|reader| reader.any()),
            Major::Map => self.map(|reader| reader.any()),
            Major::Simple => self.simple(),
            Major::Tag => Ok(Value::NULL),
        }
    }

    fn simple(&mut self) -> Read<Value> {
        let head = self.items.head()?;
        match (head.float(), head.argument) {
            (Some(float), _) => Ok(float.into()),
            (None, 20) => Ok(false.into()),
            (None, 21) => Ok(true.into()),
            (None, 22) => Ok(Value::NULL),
            (None, value) => Err(unrecognized(value).into()),
        }
    }

    fn integer(&mut self) -> Read<i64> {
        let head = self.items.head()?;
        let value = i64::try_from(head.argument);
        match head.major {
            Major::Negative => value.map(|value| !value),
            _ => value,
        }
        .map_err(|_| overflow(head.major, "int64", exact(head), "Go's int64"))
    }

    /// Returns the content of a byte string.
    pub(super) fn bytes(&mut self) -> Result<Vec<u8>, Error> {
        self.chunks(|_| Ok(()))
    }

    fn chunks(&mut self, check: impl Fn(&[u8]) -> Result<(), Error>) -> Result<Vec<u8>, Error> {
        let head = self.items.head()?;
        if !head.is_indefinite() {
            let bytes = self.items.take(head)?;
            return check(bytes).map(|()| bytes.to_vec());
        }
        let (mut all, mut checked) = (Vec::new(), Ok(()));
        while !self.items.at_break()? {
            let head = self.items.head()?;
            let bytes = self.items.take(head)?;
            checked = checked.and_then(|()| check(bytes));
            all.extend_from_slice(bytes);
        }
        checked.map(|()| all)
    }

    /// Returns a text string. Each chunk must be UTF-8.
    pub(super) fn text(&mut self) -> Result<String, Error> {
        let invalid = || Error::new("cbor: invalid UTF-8 string");
        let bytes = self.chunks(|bytes| std::str::from_utf8(bytes).map(drop).map_err(|_| invalid()))?;
        String::from_utf8(bytes).map_err(|_| invalid())
    }

    /// Returns a byte string as text: converted as the enclosing tags say, else unchanged.
    pub(super) fn byte_string_text(&mut self) -> Result<String, Error> {
        let bytes = self.bytes()?;
        Ok(match self.later.last() {
            Some(&item::TAG_BASE64_URL) => URL_SAFE_NO_PAD.encode(bytes),
            Some(&item::TAG_BASE64) => STANDARD.encode(bytes),
            Some(_) => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
            // Go keeps invalid UTF-8 until it encodes JSON, where it becomes U+FFFD.
            None => String::from_utf8(bytes).unwrap_or_else(|error| {
                let chunks = error.as_bytes().utf8_chunks();
                chunks.fold(String::new(), |mut text, chunk| {
                    text.push_str(chunk.valid());
                    text.extend(chunk.invalid().iter().map(|_| '\u{fffd}'));
                    text
                })
            }),
        })
    }

    pub(super) fn list(&mut self, mut read: impl FnMut(&mut Reader<'a>) -> Read<Value>) -> Read<Value> {
        let head = self.items.head()?;
        let mut items = Vec::new();
        let mut first = None;
        let mut left = head.argument;
        while self.more(head, &mut left)? {
            match read(self) {
                Ok(value) => items.push(value),
                Err(failure) => {
                    first.get_or_insert(failure);
                }
            }
        }
        first.map_or_else(|| Ok(Value::list(items)), Err)
    }

    /// Returns whether another item, or pair of items, follows.
    pub(super) fn more(&mut self, head: Head, left: &mut u64) -> Result<bool, Error> {
        if head.is_indefinite() {
            return Ok(!self.items.at_break()?);
        }
        let more = *left > 0;
        *left = left.saturating_sub(1);
        Ok(more)
    }

    /// Decodes a map with string keys.
    pub(super) fn map(&mut self, mut read: impl FnMut(&mut Reader<'a>) -> Read<Value>) -> Read<Value> {
        let head = self.items.head()?;
        let mut entries: Vec<(Key, Value)> = Vec::new();
        let mut keys: HashSet<Key> = HashSet::new();
        let mut first: Option<Failure> = None;
        let (mut left, mut index) = (head.argument, 0);
        while self.more(head, &mut left)? {
            let entry = match self.key() {
                Ok(key) => read(self).map(|value| (Key::from(key), value)),
                Err(failure) => {
                    self.items.skip()?;
                    Err(failure)
                }
            };
            match entry {
                Ok((key, value)) => {
                    let sorted = entries.last().is_none_or(|(last, _)| *last < key);
                    if keys.is_empty() && !sorted {
                        keys.extend(entries.iter().map(|(key, _)| key.clone()));
                    }
                    if (!keys.is_empty() || !sorted) && !keys.insert(key.clone()) {
                        self.skip_rest(head, left)?;
                        return Err(duplicate(&key, index).into());
                    }
                    entries.push((key, value));
                }
                Err(failure) => {
                    first.get_or_insert(failure);
                }
            }
            index += 1;
        }
        first.map_or_else(|| Ok(Value::object(Object::from_unsorted(entries))), Err)
    }

    /// Decodes a string key.
    pub(super) fn key(&mut self) -> Read<String> {
        let tags = self.later.len();
        let key = match self.strip_tags()? {
            Major::Bytes => self.byte_string_text().map_err(Failure::from),
            Major::Text => self.text().map_err(Failure::from),
            // Null is the empty string.
            Major::Simple if self.items.initial() == 0xf6 => {
                self.items.skip()?;
                Ok(String::new())
            }
            found => self.refuse(found, "string"),
        };
        self.later.truncate(tags);
        key
    }

    /// Skips the rest of a map.
    pub(super) fn skip_rest(&mut self, head: Head, left: u64) -> Result<(), Error> {
        let mut left = left;
        while self.more(head, &mut left)? {
            self.items.skip()?;
            self.items.skip()?;
        }
        Ok(())
    }

    /// Decodes the content of a time tag as RFC 3339 with as many digits as needed.
    fn time(&mut self, tag: u64) -> Read<String> {
        if tag == item::TAG_DATE_TIME {
            let text = self.text()?;
            let unreadable = |error| Error::new(format!("cbor: cannot set {text} for time.Time: {error}"));
            Time::parse(&text).map_err(unreadable)?;
            return Ok(canonical(&text));
        }
        let mut ahead = self.items;
        let head = ahead.head()?;
        let (seconds, nanos) = match head.float() {
            Some(float) => {
                self.items = ahead;
                (float.trunc() as i64, (float.fract() * 1e9) as i64)
            }
            None => match self.integer() {
                Ok(seconds) => (seconds, 0),
                Err(_) => return Err(overflow(head.major, "time.Time", exact(head), "Go's int64")),
            },
        };
        let (seconds, nanos) =
            (seconds.saturating_add(nanos.div_euclid(1_000_000_000)), nanos.rem_euclid(1_000_000_000));
        // From year 0 to the end of year 9999.
        if !(-62_167_219_200..=253_402_300_799).contains(&seconds) {
            return Err(Failure::Other(Error::new(
                "cbor: decoded time cannot be represented in RFC3339 format with sub-second precision: \
                 Time.MarshalText: year outside of range [0,9999]",
            )));
        }
        let whole = Time::from_unix(seconds, 0).to_string();
        let fraction = format!(".{nanos:09}");
        let fraction = fraction.trim_end_matches('0').trim_end_matches('.');
        Ok(format!("{}{fraction}Z", whole.trim_end_matches('Z')))
    }
}

/// Formats a valid time with a shortened fraction, and `Z` for UTC.
fn canonical(text: &str) -> String {
    let (clock, zone) = match text.strip_suffix('Z') {
        Some(clock) => (clock, "Z"),
        None => text.split_at(text.len().saturating_sub(6)),
    };
    let zone = if zone == "+00:00" { "Z" } else { zone };
    let clock = clock.replace(',', ".");
    let clock = if clock.contains('.') { clock.trim_end_matches('0').trim_end_matches('.') } else { &clock };
    format!("{clock}{zone}")
}

pub(super) fn duplicate(key: &str, index: usize) -> Error {
    Error::new(format!("cbor: found duplicate map key {} at map element index {index}", quote(key)))
}

pub(super) fn unrecognized(value: u64) -> Error {
    item::unacceptable(Major::Simple, &format!("simple value {value} is not recognized"))
}

/// Returns the integer of a head, of any size.
pub(super) fn exact(head: Head) -> i128 {
    let value = i128::from(head.argument);
    if head.major == Major::Negative { -1 - value } else { value }
}
