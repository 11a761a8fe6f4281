//! Messages to normal trees.
//!
//! A message is gone through once. Scalars are taken as they come, the last one winning; everything with a message of its own, and
//! every item of a list or map, is only noted, and read when the end is known. So the pieces of a field that comes several
//! times are read one after the other into the same struct, which is how Go merges them, and nothing is built twice. No
//! memory is taken on the word of a length.

use std::borrow::Cow;
use std::ops::Range;

use pintle_meta::value::{Key, Object};
use pintle_meta::{Node, Value};
use pintle_schema::normal::{Builder, Frame};
use pintle_schema::{Field, Type};

use super::form::{Form, Message, field_name, message_name};
use super::plan::{FieldForm, Plan, plan};
use super::wire::{FIXED64, LENGTH, Reader, VARINT};
use super::{opaque, wire};
use crate::{Error, MAX_DEPTH};

/// Reads a bare message of a built-in type; the envelope says which one it is, see [`super::envelope`].
pub fn decode(of: &'static Type, message: &[u8]) -> Result<Value, Error> {
    let found = Message::of(of)
        .ok_or_else(|| Error::new(format!("{} does not have a protobuf message of its own", of.go_name())))?;
    Decoder::default().message(found, &[message], 0)
}

/// The content of a field that is read at the end of its message.
#[derive(Clone, Copy)]
struct Piece<'a> {
    /// Among the message's `fields`.
    index: u16,
    bytes: &'a [u8],
}

/// One for a whole tree, so that its memory is reused from message to message.
#[derive(Default)]
pub(super) struct Decoder<'a> {
    builder: Builder,
    /// Of all messages that are being read, the innermost's last.
    pieces: Vec<Piece<'a>>,
}

impl<'a> Decoder<'a> {
    /// A struct out of all its pieces, which are rarely more than one.
    pub(super) fn message(&mut self, of: Message, pieces: &[&'a [u8]], depth: usize) -> Result<Value, Error> {
        pintle_work::check();
        if depth >= MAX_DEPTH {
            return Err(Error::new("proto: exceeded max depth"));
        }
        let frame = self.builder.open(of.structure);
        self.fields(frame, 0, of, pieces, depth)?;
        Ok(self.builder.close(frame))
    }

    /// Sets fields of a frame; an inline field's begin at `base`.
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
            let field = &plan.forms[usize::from(index)];
            let place = base + field.place;
            // From struct to struct in two calls, so that depth costs little stack.
            match field.form {
                Form::Struct(inner) if count == 1 && field.inline => {
                    self.fields(frame, place, inner, &[bytes], depth)?;
                }
                Form::Struct(inner) if count == 1 => {
                    let value = self.message(inner, &[bytes], depth + 1)?;
                    self.builder.set(frame, place, value);
                }
                _ => self.field(frame, place, field, start..start + count, depth)?,
            }
            start += count;
        }
        self.pieces.truncate(first);
        Ok(())
    }

    /// Puts the pieces of a message in order, those of a field as they came. Returns where they end.
    fn note_order(&mut self, first: usize) -> usize {
        let noted = &mut self.pieces[first..];
        if !noted.is_sorted_by_key(|piece| piece.index) {
            noted.sort_by_key(|piece| piece.index);
        }
        self.pieces.len()
    }

    /// Takes the scalars of a message and notes the rest.
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
            let field = &plan.forms[usize::from(index)];
            let wrong = || wrong_wire(tag.wire, &of.structure.fields[usize::from(index)]);
            let value = match field.form {
                Form::String if tag.wire == LENGTH => Value::string(text(message.bytes()?)),
                Form::Bytes if tag.wire == LENGTH => Value::bytes(message.bytes()?),
                Form::Bool | Form::Int32 | Form::Int64 | Form::Float64 => {
                    if Some(tag.wire) != scalar_wire(field.form) {
                        return Err(wrong());
                    }
                    number(field.form, &mut message)?
                }
                Form::List(_) if scalar_wire(field.item).is_some() => {
                    self.numbers(frame, base + field.place, field.item, tag.wire, &mut message, wrong)?;
                    continue;
                }
                Form::Never => {
                    message.skip(tag.wire)?;
                    continue;
                }
                _ if tag.wire == LENGTH => {
                    self.pieces.push(Piece { index, bytes: message.bytes()? });
                    continue;
                }
                _ => return Err(wrong()),
            };
            self.builder.set(frame, base + field.place, value);
        }
        Ok(())
    }

    /// Reads the pieces of one field.
    fn field(
        &mut self,
        frame: Frame,
        place: usize,
        field: &'static FieldForm,
        pieces: Range<usize>,
        depth: usize,
    ) -> Result<(), Error> {
        let value = match field.form {
            Form::List(_) => self.list(field.item, pieces, depth + 2)?,
            Form::Map(_) => self.map(field.item, pieces, depth + 2)?,
            other if pieces.len() == 1 => {
                let only = self.pieces[pieces.start].bytes;
                self.value(other, &[only], depth + 1)?
            }
            other => {
                let several: Vec<&[u8]> = self.pieces[pieces].iter().map(|piece| piece.bytes).collect();
                match other {
                    // Protobuf nests what JSON does not.
                    Form::Struct(inner) if field.inline => {
                        return self.fields(frame, place, inner, &several, depth);
                    }
                    other => self.value(other, &several, depth + 1)?,
                }
            }
        };
        self.builder.set(frame, place, value);
        Ok(())
    }

    fn list(&mut self, of: Form, pieces: Range<usize>, depth: usize) -> Result<Value, Error> {
        let mut items = Vec::with_capacity(pieces.len());
        for piece in pieces {
            let bytes = self.pieces[piece].bytes;
            items.push(self.value(of, &[bytes], depth)?);
        }
        Ok(Value::list(items))
    }

    fn map(&mut self, of: Form, pieces: Range<usize>, depth: usize) -> Result<Value, Error> {
        let mut entries = Vec::with_capacity(pieces.len());
        for piece in pieces {
            let bytes = self.pieces[piece].bytes;
            entries.push(self.entry(of, bytes, depth)?);
        }
        Ok(Value::object(Object::from_unsorted(entries)))
    }

    /// A message, or the content of a string or bytes.
    pub(super) fn value(&mut self, of: Form, pieces: &[&'a [u8]], depth: usize) -> Result<Value, Error> {
        pintle_work::check();
        match of {
            Form::Struct(message) => self.message(message, pieces, depth),
            Form::Opaque(of, kind) => opaque::decode(self, of, kind, pieces, depth),
            of => leaf(of, pieces),
        }
    }

    /// Key and value of a map; what is missing is the zero value, and of what comes twice the last counts.
    fn entry(&mut self, of: Form, entry: &'a [u8], depth: usize) -> Result<(Key, Value), Error> {
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
            (None, Form::Bytes) => Value::bytes([]),
            (None, Form::String) => Value::literal(""),
            (None, _) => self.value(of, &[], depth)?,
        };
        Ok((Key::new(text(key)), value))
    }

    /// Repeated numbers come one by one or packed.
    fn numbers(
        &mut self,
        frame: Frame,
        place: usize,
        of: Form,
        wire: u8,
        message: &mut Reader<'a>,
        wrong: impl FnOnce() -> Error,
    ) -> Result<(), Error> {
        if !matches!(self.builder.get(frame, place).map(Value::node), Some(Node::List(_))) {
            self.builder.set(frame, place, Value::list(Vec::new()));
        }
        let items = self.builder.get_mut(frame, place).and_then(Value::as_list_mut);
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

fn leaf(of: Form, pieces: &[&[u8]]) -> Result<Value, Error> {
    let last = pieces.last().copied().unwrap_or_default();
    match of {
        Form::String => Ok(Value::string(text(last))),
        Form::Bytes => Ok(Value::bytes(last)),
        Form::Strings(of) => {
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

fn scalar_wire(of: Form) -> Option<u8> {
    match of {
        Form::Bool | Form::Int32 | Form::Int64 => Some(VARINT),
        Form::Float64 => Some(FIXED64),
        _ => None,
    }
}

fn number(of: Form, message: &mut Reader<'_>) -> Result<Value, Error> {
    Ok(match of {
        Form::Bool => (message.varint()? != 0).into(),
        // Go keeps what fits.
        Form::Int32 => i64::from(message.varint()? as i32).into(),
        Form::Float64 => f64::from_bits(message.fixed64()?).into(),
        _ => (message.varint()? as i64).into(),
    })
}

#[cold]
fn wrong_wire(wire: u8, field: &Field) -> Error {
    Error::new(format!("proto: wrong wireType = {wire} for field {}", field_name(field)))
}

/// Text as JSON shows it: every byte that is not part of a character becomes U+FFFD.
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
