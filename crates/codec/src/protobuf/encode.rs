//! Normal trees to messages, as Go writes them: fields by ascending number, all that is no pointer present.
//!
//! Written from the last field to the first, so that a message's length is known when its tag is due.

use pintle_meta::{Node, Object, Value};
use pintle_schema::Type;

use super::form::{Form, Message};
use super::opaque::{self, int32};
use super::plan::{FieldForm, plan};
use super::wire::{FIXED64, Writer};
use crate::{Error, MAX_DEPTH};

/// Appends the bare message of a value of a built-in type; the envelope goes around it, see [`super::envelope`].
pub fn encode(of: &'static Type, value: &Value, out: &mut Vec<u8>) -> Result<(), Error> {
    let found = Message::of(of)
        .ok_or_else(|| Error::new(format!("{} does not have a protobuf message of its own", of.go_name())))?;
    let mut encoder = Encoder { out: Writer::with_capacity(4096), slots: Vec::new() };
    encoder.message(found, value.node(), 0)?;
    out.extend_from_slice(encoder.out.as_slice());
    Ok(())
}

pub(super) struct Encoder<'v> {
    pub(super) out: Writer,
    /// What the structs that are being written have at each place of their `flat`, the innermost's last.
    slots: Vec<Option<&'v Value>>,
}

impl<'v> Encoder<'v> {
    /// The content of a struct's message; null is the zero value.
    pub(super) fn message(&mut self, of: Message, value: Node<'v>, depth: usize) -> Result<(), Error> {
        if depth >= MAX_DEPTH {
            return Err(Error::new("proto: exceeded max depth"));
        }
        let first = self.slots.len();
        self.slots.resize(first + of.structure.flat.len(), None);
        match value {
            Node::Object(object) => self.place(of, object, first)?,
            Node::Null => {}
            other => return Err(mismatch(other, of.of.go_name())),
        }
        self.fields(of, first, depth)?;
        self.slots.truncate(first);
        Ok(())
    }

    /// Finds each field's value. Objects of the type have them in its order, under the very names that it has, so one look
    /// at each will do.
    fn place(&mut self, of: Message, object: &'v Object, first: usize) -> Result<(), Error> {
        let flat = of.structure.flat;
        let mut next = 0;
        for (key, value) in object.iter() {
            let same = |place: &usize| {
                let name = flat[*place].name;
                std::ptr::eq(name.as_ptr(), key.as_ptr()) && name.len() == key.len()
            };
            let found = (next..flat.len()).find(same).or_else(|| of.structure.position(key));
            let Some(place) = found else {
                return Err(Error::new(format!("{} has no field {key}", of.of.go_name())));
            };
            self.slots[first + place] = Some(value);
            next = place + 1;
        }
        Ok(())
    }

    /// Goes from struct to struct in two calls, so that depth costs little stack.
    fn fields(&mut self, of: Message, first: usize, depth: usize) -> Result<(), Error> {
        let plan = plan(of);
        for index in of.structure.by_number.iter().rev() {
            let field = &plan.forms[usize::from(*index)];
            let place = first + field.place;
            let Form::Struct(inner) = field.form else {
                self.field(field, place, depth)?;
                continue;
            };
            let mark = self.out.written();
            if field.inline {
                self.fields(inner, place, depth)?;
            } else {
                let value = self.slots[place].map_or(Node::Null, Value::node);
                if value == Node::Null && field.pointer {
                    continue;
                }
                self.message(inner, value, depth + 1)?;
            }
            self.out.close(field.number, mark);
        }
        Ok(())
    }

    fn field(&mut self, field: &FieldForm, place: usize, depth: usize) -> Result<(), Error> {
        let value = self.slots[place].map_or(Node::Null, Value::node);
        match (field.form, value) {
            (Form::Never | Form::Bytes | Form::Strings(_) | Form::List(_) | Form::Map(_), Node::Null) => {
                Ok(())
            }
            (_, Node::Null) if field.pointer => Ok(()),
            (Form::List(_), Node::List(items)) => self.list(field.number, field.item, items, depth + 2),
            (Form::Map(_), Node::Object(object)) => self.map(field.number, field.item, object, depth + 2),
            (of, value) => self.value(field.number, of, value, depth + 1),
        }
    }

    fn list(&mut self, number: u32, of: Form, items: &'v [Value], depth: usize) -> Result<(), Error> {
        for item in items.iter().rev() {
            self.value(number, of, item.node(), depth)?;
        }
        Ok(())
    }

    fn map(&mut self, number: u32, of: Form, object: &'v Object, depth: usize) -> Result<(), Error> {
        if object.layout().is_none() {
            for entry in object.iter().rev() {
                self.entry(number, of, entry, depth)?;
            }
            return Ok(());
        }
        let mut entries: Vec<(&str, &Value)> = object.iter().collect();
        entries.sort_by_key(|(key, _)| *key);
        for entry in entries.into_iter().rev() {
            self.entry(number, of, entry, depth)?;
        }
        Ok(())
    }

    fn entry(
        &mut self,
        number: u32,
        of: Form,
        (key, value): (&str, &'v Value),
        depth: usize,
    ) -> Result<(), Error> {
        let mark = self.out.written();
        match (of, value.node()) {
            // Bytes alone can be missing from an entry.
            (Form::Bytes, Node::Null) => {}
            (of, value) => self.value(2, of, value, depth)?,
        }
        self.out.bytes_field(1, key.as_bytes());
        self.out.close(number, mark);
        Ok(())
    }

    /// A field with its tag; null is the zero value. What does not go deeper is done elsewhere, to keep the stack small.
    fn value(&mut self, number: u32, of: Form, value: Node<'v>, depth: usize) -> Result<(), Error> {
        let mark = self.out.written();
        match of {
            Form::Struct(message) => self.message(message, value, depth)?,
            Form::Opaque(of, kind) => opaque::encode(self, of, kind, value, depth)?,
            of => return self.leaf(number, of, value),
        }
        self.out.close(number, mark);
        Ok(())
    }

    fn leaf(&mut self, number: u32, of: Form, value: Node<'v>) -> Result<(), Error> {
        let out = &mut self.out;
        match (of, value) {
            (Form::String, Node::Null) => out.bytes_field(number, b""),
            (Form::String, Node::String(text)) => out.bytes_field(number, text.as_bytes()),
            (Form::Bool | Form::Int32 | Form::Int64, Node::Null) => out.varint_field(number, 0),
            (Form::Bool, Node::Bool(value)) => out.varint_field(number, u64::from(value)),
            (Form::Int32, Node::Int(value)) => out.varint_field(number, int32(value)?),
            (Form::Int64, Node::Int(value)) => out.varint_field(number, value as u64),
            (Form::Float64, Node::Null) => self.float(number, 0.0),
            (Form::Float64, Node::Float(value)) => self.float(number, value),
            (Form::Float64, Node::Int(value)) => self.float(number, value as f64),
            (Form::Bytes, Node::Bytes(bytes)) => out.bytes_field(number, bytes),
            (Form::Bytes, Node::Null | Node::Hollow) => out.bytes_field(number, b""),
            (Form::Strings(_), Node::Null | Node::List(_)) => {
                let mark = out.written();
                let items = if let Node::List(items) = value { items } else { &[] };
                for item in items.iter().rev() {
                    self.leaf(1, Form::String, item.node())?;
                }
                self.out.close(number, mark);
            }
            (of, value) => return Err(mismatch(value, of.name())),
        }
        Ok(())
    }

    fn float(&mut self, number: u32, value: f64) {
        self.out.bytes(&value.to_bits().to_le_bytes());
        self.out.tag(number, FIXED64);
    }
}

#[cold]
pub(super) fn mismatch(value: Node<'_>, wanted: &str) -> Error {
    let found = match value {
        Node::Null => "null",
        Node::Bool(_) => "a bool",
        Node::Int(_) => "an integer",
        Node::Float(_) => "a float",
        Node::String(_) => "a string",
        Node::Bytes(_) | Node::Hollow => "bytes",
        Node::Raw(_) => "raw JSON",
        Node::List(_) => "a list",
        Node::Object(_) => "an object",
    };
    Error::new(format!("{found} where {wanted} is wanted"))
}
