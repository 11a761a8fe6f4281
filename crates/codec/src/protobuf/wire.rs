//! Wire format: varints, tags and lengths, read with Go's errors and written backwards, so that a message's length is
//! known before its prefix is written.

use crate::Error;

pub(crate) const VARINT: u8 = 0;
pub(crate) const FIXED64: u8 = 1;
pub(crate) const LENGTH: u8 = 2;
const GROUP: u8 = 3;
pub(crate) const END_GROUP: u8 = 4;
const FIXED32: u8 = 5;

#[cold]
pub(crate) fn unexpected_eof() -> Error {
    Error::new("unexpected EOF")
}

#[cold]
fn overflow() -> Error {
    Error::new("proto: integer overflow")
}

#[cold]
fn negative_length() -> Error {
    Error::new("proto: negative length found during unmarshaling")
}

/// Field number and wire type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tag {
    pub(crate) number: u32,
    pub(crate) wire: u8,
}

/// Rest of a message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) fn new(message: &'a [u8]) -> Reader<'a> {
        Reader { rest: message }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    #[inline]
    pub(crate) fn varint(&mut self) -> Result<u64, Error> {
        match *self.rest {
            [byte, ref rest @ ..] if byte < 0x80 => {
                self.rest = rest;
                Ok(u64::from(byte))
            }
            _ => self.long_varint(),
        }
    }

    fn long_varint(&mut self) -> Result<u64, Error> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.rest.split_first().ok_or_else(unexpected_eof)?;
            self.rest = rest;
            // The tenth byte has room for one bit; Go drops the others silently.
            value |= u64::from(byte & 0x7f) << shift;
            if *byte < 0x80 {
                return Ok(value);
            }
        }
        Err(overflow())
    }

    /// Reads the next field's tag; `message` is the message's name in errors.
    #[inline]
    pub(crate) fn tag(&mut self, message: &str) -> Result<Tag, Error> {
        self.tag_of(|| message)
    }

    /// Like [`Reader::tag`], with a lazy name.
    #[inline]
    pub(crate) fn tag_of<'n>(&mut self, message: impl FnOnce() -> &'n str) -> Result<Tag, Error> {
        let raw = self.varint()?;
        let tag = split(raw);
        if tag.wire == END_GROUP || !(1..=i32::MAX as u32).contains(&tag.number) {
            return Err(bad_tag(raw, message()));
        }
        Ok(tag)
    }

    /// Reads a tag of a map entry, which Go does not check.
    #[inline]
    pub(crate) fn entry_tag(&mut self) -> Result<Tag, Error> {
        self.varint().map(split)
    }

    #[inline]
    pub(crate) fn bytes(&mut self) -> Result<&'a [u8], Error> {
        let length = self.varint()?;
        match usize::try_from(length).ok().and_then(|length| self.rest.split_at_checked(length)) {
            Some((bytes, rest)) => {
                self.rest = rest;
                Ok(bytes)
            }
            None if length > i64::MAX as u64 => Err(negative_length()),
            None => Err(unexpected_eof()),
        }
    }

    pub(crate) fn fixed64(&mut self) -> Result<u64, Error> {
        let (bytes, rest) = self.rest.split_first_chunk::<8>().ok_or_else(unexpected_eof)?;
        self.rest = rest;
        Ok(u64::from_le_bytes(*bytes))
    }

    fn advance(&mut self, length: usize) -> Result<(), Error> {
        self.rest = self.rest.get(length..).ok_or_else(unexpected_eof)?;
        Ok(())
    }

    /// Skips the value of a field whose tag was read.
    pub(crate) fn skip(&mut self, wire: u8) -> Result<(), Error> {
        let (mut wire, mut groups) = (wire, 0usize);
        loop {
            match wire {
                VARINT => {
                    self.varint()?;
                }
                FIXED64 => self.advance(8)?,
                LENGTH => {
                    self.bytes()?;
                }
                GROUP => groups += 1,
                END_GROUP => {
                    groups =
                        groups.checked_sub(1).ok_or_else(|| Error::new("proto: unexpected end of group"))?;
                }
                FIXED32 => self.advance(4)?,
                other => return Err(Error::new(format!("proto: illegal wireType {other}"))),
            }
            if groups == 0 {
                return Ok(());
            }
            wire = split(self.varint()?).wire;
        }
    }
}

fn split(raw: u64) -> Tag {
    Tag { number: (raw >> 3) as u32, wire: (raw & 7) as u8 }
}

#[cold]
fn bad_tag(raw: u64, message: &str) -> Error {
    let tag = split(raw);
    if tag.wire == END_GROUP {
        return Error::new(format!("proto: {message}: wiretype end group for non-group"));
    }
    Error::new(format!("proto: {message}: illegal tag {} (wire type {raw})", tag.number as i32))
}

/// Returns the length of a varint.
pub(crate) fn varint_length(value: u64) -> usize {
    (70 - (value | 1).leading_zeros() as usize) / 7
}

pub(crate) fn push_varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends tag, length and bytes.
pub(crate) fn push_bytes(number: u32, bytes: &[u8], out: &mut Vec<u8>) {
    push_varint(u64::from(number << 3) | u64::from(LENGTH), out);
    push_varint(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

/// Buffer of a message that grows at its start.
///
/// ```text
/// ........|fields written so far|
///         start           buffer.len()
/// ```
#[derive(Debug)]
pub(crate) struct Writer {
    buffer: Vec<u8>,
    start: usize,
}

impl Writer {
    pub(crate) fn with_capacity(capacity: usize) -> Writer {
        Writer { buffer: vec![0; capacity], start: capacity }
    }

    /// Returns the number of bytes written; the difference of two is the length of a part.
    pub(crate) fn written(&self) -> usize {
        self.buffer.len() - self.start
    }

    pub(crate) fn as_slice(&self) -> &[u8] {
        &self.buffer[self.start..]
    }

    #[inline]
    fn room(&mut self, length: usize) -> &mut [u8] {
        if length > self.start {
            self.grow(length);
        }
        self.start -= length;
        &mut self.buffer[self.start..self.start + length]
    }

    #[cold]
    fn grow(&mut self, length: usize) {
        let more = self.buffer.len().max(length).max(512);
        let mut larger = vec![0; self.buffer.len() + more];
        larger[self.start + more..].copy_from_slice(&self.buffer[self.start..]);
        self.buffer = larger;
        self.start += more;
    }

    #[inline]
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.room(bytes.len()).copy_from_slice(bytes);
    }

    #[inline]
    pub(crate) fn varint(&mut self, mut value: u64) {
        let room = self.room(varint_length(value));
        let Some((last, rest)) = room.split_last_mut() else { return };
        for byte in rest {
            *byte = value as u8 | 0x80;
            value >>= 7;
        }
        *last = value as u8;
    }

    #[inline]
    pub(crate) fn tag(&mut self, number: u32, wire: u8) {
        self.varint(u64::from(number) << 3 | u64::from(wire));
    }

    /// Writes a field of bytes.
    #[inline]
    pub(crate) fn bytes_field(&mut self, number: u32, bytes: &[u8]) {
        self.bytes(bytes);
        self.varint(bytes.len() as u64);
        self.tag(number, LENGTH);
    }

    /// Writes a varint field.
    #[inline]
    pub(crate) fn varint_field(&mut self, number: u32, value: u64) {
        self.varint(value);
        self.tag(number, VARINT);
    }

    /// Makes everything written since `mark` the message of a field.
    #[inline]
    pub(crate) fn close(&mut self, number: u32, mark: usize) {
        self.varint((self.written() - mark) as u64);
        self.tag(number, LENGTH);
    }
}
