//! Decodes messages into normal trees.
//!
//! A message is scanned once. Scalars are set as they come, the last one wins; nested messages and the items of lists
//! and maps are only recorded, and decoded at the end of the message. So all occurrences of a repeated field are
//! decoded into one struct, as Go merges them, and no value is built twice. Lengths in the input cause no
//! allocations.

use std::borrow::Cow;
use std::ops::Range;

use pintle_meta::value::{Key, Object};
use pintle_meta::{Node, Value};
use pintle_schema::normal::{Builder, Frame};
use pintle_schema::{Field, Type};

use super::plan::{FieldPlan, Plan, plan};
use super::wire::{FIXED64, LENGTH, Reader, VARINT};
use super::wire_shape::{Message, WireShape, field_name, message_name};
use super::{opaque, wire};
use crate::{Error, MAX_DEPTH};

/// Decodes a bare message of a built-in type; the type is in the envelope, see [`super::envelope`].
pub fn decode(of: &'static Type, message: &[u8]) -> Result<Value, Error> {
    let found = Message::of(of)
        .ok_or_else(|| Error::new(format!("{} does not have a protobuf message of its own", of.go_name())))?;
    Decoder::default().message(found, &[message], 0)
}

/// Content of a field that is decoded at the end of its message.
#[derive(Clone, Copy)]
struct Piece<'a> {
    /// Index in the message's `fields`.
    index: u16,
    bytes: &'a [u8],
}

/// Decoder of a whole tree, which reuses its memory from message to message.
#[derive(Default)]
pub(super) struct Decoder<'a> {
    builder: Builder,
    /// Pieces of all open messages, the innermost's last.
    pieces: Vec<Piece<'a>>,
}

impl<'a> Decoder<'a> {
    /// Decodes a struct from all its occurrences, rarely more than one.
    pub(super) fn message(&mut self, of: Message, pieces: &[&'a [u8]], depth: usize) -> Result<Value, Error> {
        pintle_work::check();
        if depth >= MAX_DEPTH {
            return Err(Error::new("proto: exceeded max depth"));
        }
        let frame = self.builder.open(of.structure);
        self.fields(frame, 0, of, pieces, depth)?;
        Ok(self.builder.close(frame))
    }

    /// Sets fields of a frame; those of an inline field start at `base`.
    fn fields(
        &mut self,
        frame: Frame,
        base: usize,
        of: Message,
        messages: &[&'a [u8]],
        depth: usize,
    ) -> Result<(), Error> {
        let first = self.pieces.len();
        let plan = plan(of);
        for message in messages {
            self.scan(frame, base, of, plan, Reader::new(message))?;
        }
        let end = self.note_order(first);
        let mut start = first;
        while start < end {
            let Piece { index, bytes } = self.pieces[start];
            let count = self.pieces[start..end].iter().take_while(|piece| piece.index == index).count();
            let field = &plan.fields[usize::from(index)];
            let slot = base + field.flat_index;
            // Two calls per nested struct, to keep the stack small.
            match field.wire_shape {
                WireShape::Struct(inner) if count == 1 && field.inline => {
                    self.fields(frame, slot, inner, &[bytes], depth)?;
                }
                WireShape::Struct(inner) if count == 1 => {
                    let value = self.message(inner, &[bytes], depth + 1)?;
                    self.builder.set(frame, slot, value);
                }
                _ => self.field(frame, slot, field, start..start + count, depth)?,
            }
            start += count;
        }
        self.pieces.truncate(first);
        Ok(())
    }

    /// Sorts the pieces of a message by field, preserving the order within a field. Returns their end.
    fn note_order(&mut self, first: usize) -> usize {
        let noted = &mut self.pieces[first..];
        if !noted.is_sorted_by_key(|piece| piece.index) {
            noted.sort_by_key(|piece| piece.index);
        }
        self.pieces.len()
    }

    /// Sets the scalars of a message and records the rest.
    fn scan(
        &mut self,
        frame: Frame,
        base: usize,
        of: Message,
        plan: &'static Plan,
        mut message: Reader<'a>,
    ) -> Result<(), Error> {
        let mut next = 0;
        while !message.is_empty() {
            let tag = message.tag_of(|| message_name(of.of))?;
            let Some(index) = of.locate(tag.number, &mut next) else {
                message.skip(tag.wire)?;
                continue;
            };
            let field = &plan.fields[usize::from(index)];
            let wrong = || wrong_wire(tag.wire, &of.structure.fields[usize::from(index)]);
            let value = match field.wire_shape {
                WireShape::String if tag.wire == LENGTH => Value::string(text(message.bytes()?)),
                WireShape::Bytes if tag.wire == LENGTH => Value::bytes(message.bytes()?),
                WireShape::Bool | WireShape::Int32 | WireShape::Int64 | WireShape::Float64 => {
                    if Some(tag.wire) != scalar_wire(field.wire_shape) {
                        return Err(wrong());
                    }
                    number(field.wire_shape, &mut message)?
                }
                WireShape::List(_) if scalar_wire(field.item).is_some() => {
                    self.numbers(frame, base + field.flat_index, field.item, tag.wire, &mut message, wrong)?;
                    continue;
                }
                WireShape::Never => {
                    message.skip(tag.wire)?;
                    continue;
                }
                _ if tag.wire == LENGTH => {
                    self.pieces.push(Piece { index, bytes: message.bytes()? });
                    continue;
                }
                _ => return Err(wrong()),
            };
            self.builder.set(frame, base + field.flat_index, value);
        }
        Ok(())
    }

    /// Decodes the pieces of one field.
    fn field(
        &mut self,
        frame: Frame,
        slot: usize,
        field: &'static FieldPlan,
        pieces: Range<usize>,
        depth: usize,
    ) -> Result<(), Error> {
        let value = match field.wire_shape {
            WireShape::List(_) => self.list(field.item, pieces, depth + 2)?,
            WireShape::Map(_) => self.map(field.item, pieces, depth + 2)?,
            other if pieces.len() == 1 => {
                let only = self.pieces[pieces.start].bytes;
                self.value(other, &[only], depth + 1)?
            }
            other => {
                let several: Vec<&[u8]> = self.pieces[pieces].iter().map(|piece| piece.bytes).collect();
                match other {
                    // A nested message in protobuf that JSON inlines.
                    WireShape::Struct(inner) if field.inline => {
                        return self.fields(frame, slot, inner, &several, depth);
                    }
                    other => self.value(other, &several, depth + 1)?,
                }
            }
        };
        self.builder.set(frame, slot, value);
        Ok(())
    }

    fn list(&mut self, of: WireShape, pieces: Range<usize>, depth: usize) -> Result<Value, Error> {
        let mut items = Vec::with_capacity(pieces.len());
        for piece in pieces {
            let bytes = self.pieces[piece].bytes;
            items.push(self.value(of, &[bytes], depth)?);
        }
        Ok(Value::list(items))
    }

    fn map(&mut self, of: WireShape, pieces: Range<usize>, depth: usize) -> Result<Value, Error> {
        let mut entries = Vec::with_capacity(pieces.len());
        for piece in pieces {
            let bytes = self.pieces[piece].bytes;
            entries.push(self.entry(of, bytes, depth)?);
        }
        Ok(Value::object(Object::from_unsorted(entries)))
    }

    /// Decodes a message, or the content of a string or bytes.
    pub(super) fn value(&mut self, of: WireShape, pieces: &[&'a [u8]], depth: usize) -> Result<Value, Error> {
        pintle_work::check();
        match of {
            WireShape::Struct(message) => self.message(message, pieces, depth),
            WireShape::Opaque(of, kind) => opaque::decode(self, of, kind, pieces, depth),
            of => leaf(of, pieces),
        }
    }

    /// Decodes key and value of a map entry; a missing one is the zero value, of repeated ones the last wins.
    fn entry(&mut self, of: WireShape, entry: &'a [u8], depth: usize) -> Result<(Key, Value), Error> {
        let mut entry = Reader::new(entry);
        let (mut key, mut value): (&[u8], Option<&[u8]>) = (&[], None);
        while !entry.is_empty() {
            let tag = entry.entry_tag()?;
            match tag.number {
                1 => key = entry.bytes()?,
                2 => value = Some(entry.bytes()?),
                _ => entry.skip(tag.wire)?,
            }
        }
        let value = match (value, of) {
            (Some(value), _) => self.value(of, &[value], depth)?,
            (None, WireShape::Bytes) => Value::bytes([]),
            (None, WireShape::String) => Value::literal(""),
            (None, _) => self.value(of, &[], depth)?,
        };
        Ok((Key::new(text(key)), value))
    }

    /// Decodes repeated numbers, packed or not.
    fn numbers(
        &mut self,
        frame: Frame,
        slot: usize,
        of: WireShape,
        wire: u8,
        message: &mut Reader<'a>,
        wrong: impl FnOnce() -> Error,
    ) -> Result<(), Error> {
        if !matches!(self.builder.get(frame, slot).map(Value::node), Some(Node::List(_))) {
            self.builder.set(frame, slot, Value::list(Vec::new()));
        }
        let items = self.builder.get_mut(frame, slot).and_then(Value::as_list_mut);
        let items = items.ok_or_else(wire::unexpected_eof)?;
        if Some(wire) == scalar_wire(of) {
            items.push(number(of, message)?);
        } else if wire == LENGTH {
            let mut packed = Reader::new(message.bytes()?);
            while !packed.is_empty() {
                items.push(number(of, &mut packed)?);
            }
        } else {
            return Err(wrong());
        }
        Ok(())
    }
}

fn leaf(of: WireShape, pieces: &[&[u8]]) -> Result<Value, Error> {
    let last = pieces.last().copied().unwrap_or_default();
    match of {
        WireShape::String => Ok(Value::string(text(last))),
        WireShape::Bytes => Ok(Value::bytes(last)),
        WireShape::Strings(of) => {
            let mut items = Vec::new();
            opaque::each_field(message_name(of), pieces, |field| match field.number {
                1 => field.bytes("Items").map(|bytes| items.push(Value::string(text(bytes)))),
                _ => field.skip(),
            })?;
            Ok(Value::list(items))
        }
        _ => Err(Error::new("proto: a list in a list or map has no message")),
    }
}

fn scalar_wire(of: WireShape) -> Option<u8> {
    match of {
        WireShape::Bool | WireShape::Int32 | WireShape::Int64 => Some(VARINT),
        WireShape::Float64 => Some(FIXED64),
        _ => None,
    }
}

fn number(of: WireShape, message: &mut Reader<'_>) -> Result<Value, Error> {
    Ok(match of {
        WireShape::Bool => (message.varint()? != 0).into(),
        // Go truncates to 32 bits.
        WireShape::Int32 => i64::from(message.varint()? as i32).into(),
        WireShape::Float64 => f64::from_bits(message.fixed64()?).into(),
        _ => (message.varint()? as i64).into(),
    })
}

#[cold]
fn wrong_wire(wire: u8, field: &Field) -> Error {
    Error::new(format!("proto: wrong wireType = {wire} for field {}", field_name(field)))
}

/// Decodes text as JSON shows it: every byte of invalid UTF-8 becomes U+FFFD.
pub(crate) fn text(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => {
            let mut text = String::with_capacity(bytes.len());
            for chunk in bytes.utf8_chunks() {
                text.push_str(chunk.valid());
                text.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
            }
            Cow::Owned(text)
        }
    }
}
