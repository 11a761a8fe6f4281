//! Encodes normal trees as Go does: fields by ascending number, all non-pointer fields present.
//!
//! Fields are written from last to first, so that a message's length is known when its tag is written.

use pintle_meta::{Node, Object, Value};
use pintle_schema::Type;

use super::opaque::{self, int32};
use super::plan::{FieldPlan, plan};
use super::wire::{FIXED64, Writer};
use super::wire_shape::{Message, WireShape};
use crate::{Error, MAX_DEPTH};

/// Appends the bare message of a value of a built-in type; the envelope is separate, see [`super::envelope`].
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
    /// Values of the open structs by their index in `flat`, the innermost's last.
    slots: Vec<Option<&'v Value>>,
}

impl<'v> Encoder<'v> {
    /// Writes the content of a struct's message; null is the zero value.
    pub(super) fn message(&mut self, of: Message, value: Node<'v>, depth: usize) -> Result<(), Error> {
        if depth >= MAX_DEPTH {
            return Err(Error::new("proto: exceeded max depth"));
        }
        let first = self.slots.len();
        self.slots.resize(first + of.structure.flat.len(), None);
        match value {
            Node::Object(object) => self.collect_fields(of, object, first)?,
            Node::Null => {}
            other => return Err(mismatch(other, of.of.go_name())),
        }
        self.fields(of, first, depth)?;
        self.slots.truncate(first);
        Ok(())
    }

    /// Collects each field's value. Normal objects have fields in declaration order under the type's own name
    /// pointers, so one comparison each suffices.
    fn collect_fields(&mut self, of: Message, object: &'v Object, first: usize) -> Result<(), Error> {
        let flat = of.structure.flat;
        let mut next = 0;
        for (key, value) in object.iter() {
            let same = |index: &usize| {
                let name = flat[*index].name;
                std::ptr::eq(name.as_ptr(), key.as_ptr()) && name.len() == key.len()
            };
            let found = (next..flat.len()).find(same).or_else(|| of.structure.position(key));
            let Some(index) = found else {
                return Err(Error::new(format!("{} has no field {key}", of.of.go_name())));
            };
            self.slots[first + index] = Some(value);
            next = index + 1;
        }
        Ok(())
    }

    /// Writes the fields with two calls per nested struct, to keep the stack small.
    fn fields(&mut self, of: Message, first: usize, depth: usize) -> Result<(), Error> {
        let plan = plan(of);
        for index in of.structure.by_number.iter().rev() {
            let field = &plan.fields[usize::from(*index)];
            let slot = first + field.flat_index;
            let WireShape::Struct(inner) = field.wire_shape else {
                self.field(field, slot, depth)?;
                continue;
            };
            let mark = self.out.written();
            if field.inline {
                self.fields(inner, slot, depth)?;
            } else {
                let value = self.slots[slot].map_or(Node::Null, Value::node);
                if value == Node::Null && field.pointer {
                    continue;
                }
                self.message(inner, value, depth + 1)?;
            }
            self.out.close(field.number, mark);
        }
        Ok(())
    }

    fn field(&mut self, field: &FieldPlan, slot: usize, depth: usize) -> Result<(), Error> {
        let value = self.slots[slot].map_or(Node::Null, Value::node);
        match (field.wire_shape, value) {
            (
                WireShape::Never
                | WireShape::Bytes
                | WireShape::Strings(_)
                | WireShape::List(_)
                | WireShape::Map(_),
                Node::Null,
            ) => Ok(()),
            (_, Node::Null) if field.pointer => Ok(()),
            (WireShape::List(_), Node::Hollow) => Ok(()),
            (WireShape::List(_), Node::List(items)) => self.list(field.number, field.item, items, depth + 2),
            (WireShape::Map(_), Node::Object(object)) => {
                self.map(field.number, field.item, object, depth + 2)
            }
            (of, value) => self.value(field.number, of, value, depth + 1),
        }
    }

    fn list(&mut self, number: u32, of: WireShape, items: &'v [Value], depth: usize) -> Result<(), Error> {
        for item in items.iter().rev() {
            self.value(number, of, item.node(), depth)?;
        }
        Ok(())
    }

    fn map(&mut self, number: u32, of: WireShape, object: &'v Object, depth: usize) -> Result<(), Error> {
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
        of: WireShape,
        (key, value): (&str, &'v Value),
        depth: usize,
    ) -> Result<(), Error> {
        let mark = self.out.written();
        match (of, value.node()) {
            // Only bytes can be absent from an entry.
            (WireShape::Bytes, Node::Null) => {}
            (of, value) => self.value(2, of, value, depth)?,
        }
        self.out.bytes_field(1, key.as_bytes());
        self.out.close(number, mark);
        Ok(())
    }

    /// Writes a field with its tag; null is the zero value. Leaves are written elsewhere, to keep the stack small.
    fn value(&mut self, number: u32, of: WireShape, value: Node<'v>, depth: usize) -> Result<(), Error> {
        let mark = self.out.written();
        match of {
            WireShape::Struct(message) => self.message(message, value, depth)?,
            WireShape::Opaque(of, kind) => opaque::encode(self, of, kind, value, depth)?,
            of => return self.leaf(number, of, value),
        }
        self.out.close(number, mark);
        Ok(())
    }

    fn leaf(&mut self, number: u32, of: WireShape, value: Node<'v>) -> Result<(), Error> {
        let out = &mut self.out;
        match (of, value) {
            (WireShape::String, Node::Null) => out.bytes_field(number, b""),
            (WireShape::String, Node::String(text)) => out.bytes_field(number, text.as_bytes()),
            (WireShape::Bool | WireShape::Int32 | WireShape::Int64, Node::Null) => {
                out.varint_field(number, 0);
            }
            (WireShape::Bool, Node::Bool(value)) => out.varint_field(number, u64::from(value)),
            (WireShape::Int32, Node::Int(value)) => out.varint_field(number, int32(value)?),
            (WireShape::Int64, Node::Int(value)) => out.varint_field(number, value as u64),
            (WireShape::Float64, Node::Null) => self.float(number, 0.0),
            (WireShape::Float64, Node::Float(value)) => self.float(number, value),
            (WireShape::Float64, Node::Int(value)) => self.float(number, value as f64),
            (WireShape::Bytes, Node::Bytes(bytes)) => out.bytes_field(number, bytes),
            (WireShape::Bytes, Node::Null | Node::Hollow) => out.bytes_field(number, b""),
            (WireShape::Strings(_), Node::Null | Node::List(_)) => {
                let mark = out.written();
                let items = if let Node::List(items) = value { items } else { &[] };
                for item in items.iter().rev() {
                    self.leaf(1, WireShape::String, item.node())?;
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
