//! CBOR data items: heads, lengths and well-formedness.

use crate::{Error, MAX_DEPTH};

/// The reference's limits; that of arrays cannot be reached, since an item takes a byte.
const MAX_ITEMS: u64 = 2_147_483_647;
const MAX_PAIRS: u64 = 2_097_152;

pub(super) const TAG_DATE_TIME: u64 = 0;
pub(super) const TAG_EPOCH: u64 = 1;
pub(super) const TAG_BASE64_URL: u64 = 21;
pub(super) const TAG_BASE64: u64 = 22;
pub(super) const TAG_BASE16: u64 = 23;

pub(super) const BREAK: u8 = 0xff;

/// Major type of a data item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Major {
    Positive,
    Negative,
    Bytes,
    Text,
    Array,
    Map,
    Tag,
    Simple,
}

impl Major {
    pub(super) fn of(initial: u8) -> Major {
        match initial >> 5 {
            0 => Major::Positive,
            1 => Major::Negative,
            2 => Major::Bytes,
            3 => Major::Text,
            4 => Major::Array,
            5 => Major::Map,
            6 => Major::Tag,
            _ => Major::Simple,
        }
    }

    /// Returns the name in messages.
    pub(super) fn name(self) -> &'static str {
        match self {
            Major::Positive => "positive integer",
            Major::Negative => "negative integer",
            Major::Bytes => "byte string",
            Major::Text => "UTF-8 text string",
            Major::Array => "array",
            Major::Map => "map",
            Major::Tag => "tag",
            Major::Simple => "primitives",
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    pub(super) major: Major,
    /// The low five bits of the first byte.
    pub(super) info: u8,
    /// The value of `info`, or the argument that follows; 31 for an indefinite length.
    pub(super) argument: u64,
}

impl Head {
    pub(super) fn is_indefinite(self) -> bool {
        self.info == 31
    }

    /// Returns the value of a float.
    pub(super) fn float(self) -> Option<f64> {
        match self.info {
            _ if self.major != Major::Simple => None,
            25 => Some(half(self.argument as u16)),
            26 => Some(f64::from(f32::from_bits(self.argument as u32))),
            27 => Some(f64::from_bits(self.argument)),
            _ => None,
        }
    }
}

/// Converts a half-precision float.
fn half(bits: u16) -> f64 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 0x1f), f64::from(bits & 0x3ff));
    let size = match exponent {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + fraction) * 2f64.powi(exponent - 25),
    };
    if bits & 0x8000 == 0 { size } else { -size }
}

fn syntax<T>(message: impl AsRef<str>) -> Result<T, Error> {
    Err(Error::new(format!("cbor: {}", message.as_ref())))
}

fn cut_off() -> Error {
    Error::new("unexpected EOF")
}

pub(super) fn unacceptable(major: Major, message: &str) -> Error {
    let kind = major.name();
    Error::new(format!("cbor: data item of cbor type {kind} is not accepted by protocol: {message}"))
}

/// Checks that data is one well-formed item and nothing else.
pub(super) fn check_whole(data: &[u8]) -> Result<(), Error> {
    let length = item_length(data)?;
    match data.len() - length {
        0 => Ok(()),
        extra => syntax(format!("{extra} bytes of extraneous data starting at index {length}")),
    }
}

/// Returns the length of the first item of a sequence. The error is `EOF` if the sequence is empty, and `unexpected
/// EOF` if the item is incomplete.
pub fn item_length(data: &[u8]) -> Result<usize, Error> {
    if data.is_empty() {
        return Err(Error::new("EOF"));
    }
    let mut items = Items { data, at: 0 };
    items.check(0)?;
    Ok(items.at)
}

/// Cursor in CBOR data.
#[derive(Clone, Copy, Debug)]
pub(super) struct Items<'a> {
    pub(super) data: &'a [u8],
    pub(super) at: usize,
}

impl<'a> Items<'a> {
    /// Returns the initial byte of the next item. At the end it is that of null, which does not occur in checked
    /// data.
    pub(super) fn initial(&self) -> u8 {
        self.data.get(self.at).copied().unwrap_or(0xf6)
    }

    pub(super) fn major(&self) -> Major {
        Major::of(self.initial())
    }

    /// Returns whether the next item is null or undefined.
    pub(super) fn is_nil(&self) -> bool {
        matches!(self.initial(), 0xf6 | 0xf7)
    }

    pub(super) fn head(&mut self) -> Result<Head, Error> {
        let initial = *self.data.get(self.at).ok_or_else(cut_off)?;
        let (major, info) = (Major::of(initial), initial & 0x1f);
        self.at += 1;
        let width = match info {
            0..24 => return Ok(Head { major, info, argument: u64::from(info) }),
            24 => 1,
            25 => 2,
            26 => 4,
            27 => 8,
            31 if major == Major::Simple => return syntax("unexpected \"break\" code"),
            31 if !matches!(major, Major::Positive | Major::Negative | Major::Tag) => {
                return Ok(Head { major, info, argument: u64::from(info) });
            }
            _ => return syntax(format!("invalid additional information {info} for type {}", major.name())),
        };
        let bytes = self.data.get(self.at..self.at + width).ok_or_else(cut_off)?;
        self.at += width;
        let argument = bytes.iter().fold(0, |value, byte| value << 8 | u64::from(*byte));
        let head = Head { major, info, argument };
        if major == Major::Simple {
            if width == 1 && argument < 32 {
                return syntax(format!("invalid simple value {argument} for type {}", major.name()));
            }
            match head.float() {
                Some(float) if float.is_nan() => return Err(unacceptable(major, "floating-point NaN")),
                Some(float) if float.is_infinite() => {
                    return Err(unacceptable(major, "floating-point infinity"));
                }
                _ => {}
            }
        }
        Ok(head)
    }

    /// Takes the bytes of a definite length.
    pub(super) fn take(&mut self, head: Head) -> Result<&'a [u8], Error> {
        let length = match i64::try_from(head.argument) {
            Ok(_) => usize::try_from(head.argument).map_err(|_| cut_off())?,
            Err(_) => {
                let (kind, length) = (head.major.name(), head.argument);
                return syntax(format!("{kind} length {length} is too large, causing integer overflow"));
            }
        };
        let rest = self.data.get(self.at..).unwrap_or_default();
        let taken = rest.get(..length).ok_or_else(cut_off)?;
        self.at += length;
        Ok(taken)
    }

    /// Skips the break of an indefinite length, if it is next, and returns whether it was.
    pub(super) fn at_break(&mut self) -> Result<bool, Error> {
        let found = *self.data.get(self.at).ok_or_else(cut_off)? == BREAK;
        self.at += usize::from(found);
        Ok(found)
    }

    /// Skips the next item.
    pub(super) fn skip(&mut self) -> Result<(), Error> {
        self.check(0)
    }

    /// Skips the next item if it is well-formed.
    fn check(&mut self, depth: usize) -> Result<(), Error> {
        let head = self.head()?;
        match head.major {
            Major::Bytes | Major::Text if head.is_indefinite() => self.check_chunks(head.major),
            Major::Bytes | Major::Text => self.take(head).map(drop),
            Major::Array | Major::Map => {
                let depth = deeper(depth)?;
                if head.is_indefinite() {
                    self.check_indefinite(head.major, depth)
                } else {
                    self.check_items(head, depth)
                }
            }
            Major::Tag => self.check_tagged(head.argument, depth),
            Major::Positive | Major::Negative | Major::Simple => Ok(()),
        }
    }

    fn check_items(&mut self, head: Head, depth: usize) -> Result<(), Error> {
        let count = head.argument;
        if i64::try_from(count).is_err() {
            let kind = head.major.name();
            return syntax(format!("{kind} length {count} is too large, it would cause integer overflow"));
        }
        let items = match head.major {
            Major::Map if count > MAX_PAIRS => return Err(too_many(head.major)),
            Major::Map => count * 2,
            _ if count > MAX_ITEMS => return Err(too_many(head.major)),
            _ => count,
        };
        for _ in 0..items {
            self.check(depth)?;
        }
        Ok(())
    }

    fn check_indefinite(&mut self, major: Major, depth: usize) -> Result<(), Error> {
        let mut items = 0u64;
        while !self.at_break()? {
            self.check(depth)?;
            items += 1;
            if major == Major::Map && items / 2 > MAX_PAIRS {
                return Err(too_many(major));
            }
        }
        if major == Major::Map && items % 2 == 1 { syntax("unexpected \"break\" code") } else { Ok(()) }
    }

    fn check_chunks(&mut self, major: Major) -> Result<(), Error> {
        while !self.at_break()? {
            let initial = self.initial();
            let (found, name) = (Major::of(initial), major.name());
            if found != major {
                return syntax(format!("wrong element type {} for indefinite-length {name}", found.name()));
            }
            if initial & 0x1f == 31 {
                return syntax(format!("indefinite-length {name} chunk is not definite-length"));
            }
            let head = self.head()?;
            self.take(head)?;
        }
        Ok(())
    }

    /// Checks the content of a tag. Nested tags are skipped in a loop.
    fn check_tagged(&mut self, tag: u64, depth: usize) -> Result<(), Error> {
        let (mut tag, mut depth) = (tag, depth);
        loop {
            if self.at >= self.data.len() {
                return Err(cut_off());
            }
            if matches!(tag, 2 | 3) {
                return Err(unacceptable(Major::Tag, "bignum"));
            }
            if self.major() != Major::Tag {
                return self.check(depth);
            }
            tag = self.head()?.argument;
            depth = deeper(depth)?;
        }
    }
}

fn deeper(depth: usize) -> Result<usize, Error> {
    match depth + 1 {
        depth if depth > MAX_DEPTH => syntax(format!("exceeded max nested level {MAX_DEPTH}")),
        depth => Ok(depth),
    }
}

fn too_many(major: Major) -> Error {
    Error::new(match major {
        Major::Map => format!("cbor: exceeded max number of key-value pairs {MAX_PAIRS} for CBOR map"),
        _ => format!("cbor: exceeded max number of elements {MAX_ITEMS} for CBOR array"),
    })
}

/// Checks that a known tag precedes content of its type.
pub(super) fn check_tag(tag: u64, content: u8) -> Result<(), Error> {
    let major = Major::of(content);
    let wanted = match tag {
        TAG_DATE_TIME if major != Major::Text => "text string",
        TAG_EPOCH
            if !matches!(major, Major::Positive | Major::Negative) && !(0xf9..=0xfb).contains(&content) =>
        {
            "integer or floating-point number"
        }
        _ => return Ok(()),
    };
    syntax(format!("tag number {tag} must be followed by {wanted}, got {}", major.name()))
}
