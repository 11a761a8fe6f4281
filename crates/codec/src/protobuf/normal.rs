//! Recognizes canonical messages, which equal their own re-encoding, so that stored bytes can be served as they are.

use std::str;

use pintle_meta::quantity::Quantity;
use pintle_meta::time::{MicroTime, Time};
use pintle_schema::{Opaque, Type};

use super::opaque::{is_canonical_quantity, schema_of};
use super::plan::{Encoding, Item, Plan, WireField, WireFieldKind, plan};
use super::slot::{NonCanonical, Slot, varint};
use super::wire::{FIXED64, LENGTH, VARINT, varint_length};
use super::wire_shape::Message;
use crate::MAX_DEPTH;

/// Returns whether decoding and encoding a message would yield the same bytes. `true` is certain.
///
/// `false` is not certain for negative zero and for years with more than four digits, which a tree may preserve;
/// stored objects do not have them in practice.
pub fn is_normal(of: &'static Type, message: &[u8]) -> bool {
    let (Some(root), Ok(end)) = (Message::of(of), u32::try_from(message.len())) else { return false };
    Check { input: message }.message(root, Slot { start: 0, end }, 0).is_ok()
}

#[derive(Clone, Copy)]
struct Check<'a> {
    input: &'a [u8],
}

fn ensure(normal: bool) -> Result<(), NonCanonical> {
    if normal { Ok(()) } else { Err(NonCanonical) }
}

impl<'a> Check<'a> {
    fn message(self, of: Message, message: Slot, depth: usize) -> Result<(), NonCanonical> {
        ensure(depth < MAX_DEPTH)?;
        let plan = plan(of);
        self.fields(plan, plan, 0, message, depth)
    }

    /// Visits the fields of a message, whose JSON fields start at `base` in the fields of `whole`.
    fn fields(
        self,
        whole: &'static Plan,
        of: &'static Plan,
        base: usize,
        message: Slot,
        depth: usize,
    ) -> Result<(), NonCanonical> {
        let mut rest = message;
        let mut next = 0;
        while !rest.is_empty() {
            let (tag, at) = self.varint(rest.start, rest.end)?;
            loop {
                let field = of.wire_fields.get(next).ok_or(NonCanonical)?;
                if u64::from(field.tag) >= tag {
                    break;
                }
                // A required field was skipped.
                ensure(!field.required)?;
                next += 1;
            }
            let field = &of.wire_fields[next];
            ensure(u64::from(field.tag) == tag)?;
            let slot = self.content((field.tag & 7) as u8, at, rest.end)?;
            let index = base + usize::from(field.slot);
            match field.kind {
                WireFieldKind::Inline(inner) => self.fields(whole, inner, index, slot, depth)?,
                _ => self.field(field, whole, index, slot, depth)?,
            }
            if !matches!(field.kind, WireFieldKind::Repeated) {
                next += 1;
            } else if matches!(whole.json_fields[index].value, Encoding::Map(_)) {
                self.ascending(tag, slot, rest.after(slot))?;
            }
            rest = rest.after(slot);
        }
        ensure(of.wire_fields.iter().skip(next).all(|field| !field.required))
    }

    fn field(
        self,
        field: &WireField,
        whole: &'static Plan,
        index: usize,
        slot: Slot,
        depth: usize,
    ) -> Result<(), NonCanonical> {
        let json = whole.json_fields.get(index).ok_or(NonCanonical)?;
        match json.value {
            Encoding::String => self.text(slot),
            Encoding::Bool => self.bool(slot),
            Encoding::Int32 => self.int32(slot),
            Encoding::Int64 | Encoding::Bytes => Ok(()),
            Encoding::Float64 => ensure(slot.of(self.input) != (-0.0f64).to_le_bytes()),
            Encoding::Struct(of) => self.message(of, slot, depth + 1),
            // A non-nil pointer without content is not preserved.
            Encoding::Opaque(_, kind) if slot.is_empty() => ensure(!field.pointer && may_be_nothing(kind)),
            Encoding::Opaque(of, kind) => self.opaque(of, kind, slot, depth + 1),
            Encoding::Strings => {
                ensure(!(json.omit_empty && slot.is_empty()))?;
                self.strings(slot)
            }
            Encoding::List(item) => self.item(item, slot, depth + 2),
            Encoding::Map(item) => {
                let key = self.first(0x0a, slot)?;
                self.text(key)?;
                let value = self.only(0x12, slot.after(key))?;
                self.item(item, value, depth + 2)
            }
            Encoding::Never => Err(NonCanonical),
        }
    }

    fn item(self, item: Item, slot: Slot, depth: usize) -> Result<(), NonCanonical> {
        match item {
            Item::String => self.text(slot),
            Item::Bool => self.bool(slot),
            Item::Int32 => self.int32(slot),
            Item::Int64 | Item::Bytes => Ok(()),
            Item::Struct(of) => self.message(of, slot, depth),
            Item::Opaque(_, kind) if slot.is_empty() => ensure(may_be_nothing(kind)),
            Item::Opaque(of, kind) => self.opaque(of, kind, slot, depth),
            Item::Strings => self.strings(slot),
            Item::Other => Err(NonCanonical),
        }
    }

    /// Checks that the next entry of a map, if any, has a larger key.
    fn ascending(self, tag: u64, entry: Slot, rest: Slot) -> Result<(), NonCanonical> {
        let following = match varint(self.input, rest.start, rest.end) {
            Ok((found, at)) if found == tag => self.content(LENGTH, at, rest.end)?,
            _ => return Ok(()),
        };
        let key = |entry: Slot| Ok(self.first(0x0a, entry)?.of(self.input));
        ensure(key(entry)? < key(following)?)
    }

    fn text(self, slot: Slot) -> Result<(), NonCanonical> {
        ensure(str::from_utf8(slot.of(self.input)).is_ok())
    }

    fn bool(self, slot: Slot) -> Result<(), NonCanonical> {
        ensure(slot.number(self.input)? <= 1)
    }

    fn int32(self, slot: Slot) -> Result<(), NonCanonical> {
        ensure(i32::try_from(slot.number(self.input)? as i64).is_ok())
    }

    fn strings(self, message: Slot) -> Result<(), NonCanonical> {
        let mut rest = message;
        while !rest.is_empty() {
            let slot = self.first(0x0a, rest)?;
            self.text(slot)?;
            rest = rest.after(slot);
        }
        Ok(())
    }

    fn opaque(
        self,
        of: &'static Type,
        kind: Opaque,
        message: Slot,
        depth: usize,
    ) -> Result<(), NonCanonical> {
        match kind {
            Opaque::Time | Opaque::MicroTime => self.time(kind, message),
            Opaque::FieldsV1 | Opaque::RawExtension | Opaque::JSON => {
                ensure(!self.only(0x0a, message)?.is_empty())
            }
            Opaque::Quantity => {
                let text = self.only(0x0a, message)?.of(self.input);
                if is_canonical_quantity(text) {
                    return Ok(());
                }
                let text = str::from_utf8(text).map_err(|_| NonCanonical)?;
                ensure(Quantity::parse(text).map_err(|_| NonCanonical)?.to_string() == text)
            }
            Opaque::Duration => self.only(0x08, message).map(drop),
            Opaque::IntOrString => {
                let kind = self.first(0x08, message)?;
                let number = self.first(0x10, message.after(kind))?;
                let text = self.only(0x1a, message.after(number))?;
                match kind.number(self.input)? {
                    0 => ensure(text.is_empty()).and_then(|()| self.int32(number)),
                    1 => ensure(number.number(self.input)? == 0).and_then(|()| self.text(text)),
                    _ => Err(NonCanonical),
                }
            }
            Opaque::JSONSchemaPropsOrArray
            | Opaque::JSONSchemaPropsOrBool
            | Opaque::JSONSchemaPropsOrStringArray => self.schema_or(of, kind, message, depth),
            Opaque::GroupVersion => Err(NonCanonical),
        }
    }

    fn time(self, kind: Opaque, message: Slot) -> Result<(), NonCanonical> {
        let seconds = self.first(0x08, message)?;
        let nanos = self.only(0x10, message.after(seconds))?;
        let (seconds, nanos) = (seconds.number(self.input)? as i64, nanos.number(self.input)?);
        if kind == Opaque::Time {
            let time = Time::from_unix(seconds, 0);
            return ensure(nanos == 0 && !time.is_zero() && time.to_ascii().is_some());
        }
        ensure(nanos < 1_000_000_000 && nanos % 1_000 == 0)?;
        let time = MicroTime::from_unix(seconds, nanos as i64);
        ensure(!time.is_zero() && time.to_ascii().is_some())
    }

    fn schema_or(
        self,
        of: &'static Type,
        kind: Opaque,
        message: Slot,
        depth: usize,
    ) -> Result<(), NonCanonical> {
        let schema = schema_of(of).map_err(|_| NonCanonical)?;
        if kind == Opaque::JSONSchemaPropsOrBool {
            let allows = self.first(0x08, message)?;
            self.bool(allows)?;
            let rest = message.after(allows);
            if rest.is_empty() {
                return Ok(());
            }
            // A schema union always allows something.
            ensure(allows.number(self.input)? == 1)?;
            return self.message(schema, self.only(0x12, rest)?, depth);
        }
        if let Ok(slot) = self.only(0x0a, message) {
            return self.message(schema, slot, depth);
        }
        let item = match kind {
            Opaque::JSONSchemaPropsOrArray => Item::Struct(schema),
            _ => Item::String,
        };
        let mut rest = message;
        while !rest.is_empty() {
            let slot = self.first(0x12, rest)?;
            self.item(item, slot, depth + 1)?;
            rest = rest.after(slot);
        }
        Ok(())
    }

    fn first(self, wanted: u64, message: Slot) -> Result<Slot, NonCanonical> {
        let (tag, at) = self.varint(message.start, message.end)?;
        ensure(tag == wanted)?;
        self.content((wanted & 7) as u8, at, message.end)
    }

    fn only(self, wanted: u64, message: Slot) -> Result<Slot, NonCanonical> {
        let slot = self.first(wanted, message)?;
        ensure(slot.end == message.end)?;
        Ok(slot)
    }

    /// Reads a varint of minimal length.
    #[inline]
    fn varint(self, at: u32, end: u32) -> Result<(u64, u32), NonCanonical> {
        let (value, after) = varint(self.input, at, end)?;
        // The tenth byte has room for one bit.
        let cut = after - at == 10 && self.input[after as usize - 1] > 1;
        ensure((after - at) as usize == varint_length(value) && !cut)?;
        Ok((value, after))
    }

    #[inline]
    fn content(self, wire: u8, at: u32, end: u32) -> Result<Slot, NonCanonical> {
        match wire {
            LENGTH => {
                let (length, start) = self.varint(at, end)?;
                ensure(length <= u64::from(end - start))?;
                Ok(Slot { start, end: start + length as u32 })
            }
            VARINT => self.varint(at, end).map(|(_, end)| Slot { start: at, end }),
            FIXED64 if end - at >= 8 => Ok(Slot { start: at, end: at + 8 }),
            _ => Err(NonCanonical),
        }
    }
}

/// Returns whether the type's message is empty for its zero value; others always write something.
fn may_be_nothing(kind: Opaque) -> bool {
    matches!(
        kind,
        Opaque::Time
            | Opaque::MicroTime
            | Opaque::FieldsV1
            | Opaque::RawExtension
            | Opaque::JSON
            | Opaque::JSONSchemaPropsOrArray
            | Opaque::JSONSchemaPropsOrStringArray
    )
}
