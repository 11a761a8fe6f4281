//! Writes one message as JSON from the positions of its fields.

use pintle_meta::format_duration;
use pintle_meta::quantity::Quantity;
use pintle_meta::time::{MicroTime, Time};
use pintle_schema::{Opaque, Type};

use super::super::opaque::{is_canonical_quantity, schema_of};
use super::super::plan::{Encoding, Item, JsonField, Plan, WireFieldKind, plan};
use super::super::slot::{NonCanonical, Slot, content, varint};
use super::super::wire::{LENGTH, VARINT};
use super::super::wire_shape::Message;
use super::plain::{is_plain, is_plain_fields};
use super::{Options, TypeMeta};
use crate::{MAX_DEPTH, json};

/// Reused memory.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    /// Positions of the fields of all open messages, the innermost's last. The bits of present fields are kept
    /// elsewhere, so slots need no clearing.
    slots: Vec<Slot>,
    /// The time that was written last; times of an object are often equal.
    time: Option<(i64, [u8; 20])>,
}

pub(super) struct Writer<'a> {
    input: &'a [u8],
    scratch: &'a mut Scratch,
    /// Number of slots in use.
    top: usize,
    out: &'a mut Vec<u8>,
}

impl<'a> Writer<'a> {
    /// Returns `None` for messages of four gigabytes and more.
    pub(super) fn new(input: &'a [u8], scratch: &'a mut Scratch, out: &'a mut Vec<u8>) -> Option<Writer<'a>> {
        u32::try_from(input.len()).ok()?;
        Some(Writer { input, scratch, top: 0, out })
    }

    pub(super) fn root(mut self, of: Message, options: &Options<'_>) -> Result<(), NonCanonical> {
        let plan = plan(of);
        let start = self.out.len();
        let all = Slot { start: 0, end: self.input.len() as u32 };
        let base = self.open(plan);
        let present = self.scan(plan, base, all)?;
        if let Some(TypeMeta { kind, api_version }) = options.type_meta {
            self.out.extend_from_slice(b",\"kind\":");
            json::write::string(kind, self.out);
            self.out.extend_from_slice(b",\"apiVersion\":");
            json::write::string(api_version, self.out);
        }
        let mut due = present | plan.always;
        if let Some(version) = options.resource_version {
            let (index, of) = plan.metadata.ok_or(NonCanonical)?;
            let there = present >> index & 1 != 0;
            let slot = if there { self.scratch.slots[base + index] } else { Slot::default() };
            self.out.extend_from_slice(&plan.json_fields[index].key);
            self.metadata(of, slot, version)?;
            due &= !(1 << index);
        }
        self.write_fields(plan, base, due, present, 0)?;
        self.close(base, start);
        Ok(())
    }

    /// Writes metadata with the given resource version.
    fn metadata(&mut self, of: Message, message: Slot, version: &str) -> Result<(), NonCanonical> {
        let (plan, start) = (plan(of), self.out.len());
        let index = of.structure.position("resourceVersion").ok_or(NonCanonical)?;
        let base = self.open(plan);
        let present = self.scan(plan, base, message)? & !(1 << index);
        let (due, before) = (present | plan.always, (1 << index) - 1);
        self.write_fields(plan, base, due & before, present, 1)?;
        self.out.extend_from_slice(&plan.json_fields[index].key);
        json::write::string(version, self.out);
        self.write_fields(plan, base, due & !before & !(1 << index), present, 1)?;
        self.close(base, start);
        Ok(())
    }

    fn structure(&mut self, of: Message, message: Slot, depth: usize) -> Result<(), NonCanonical> {
        if depth >= MAX_DEPTH {
            return Err(NonCanonical);
        }
        let (plan, start) = (plan(of), self.out.len());
        let base = self.open(plan);
        let present = self.scan(plan, base, message)?;
        self.write_fields(plan, base, present | plan.always, present, depth)?;
        self.close(base, start);
        Ok(())
    }

    /// Reserves slots for the fields of a message.
    #[inline]
    fn open(&mut self, plan: &Plan) -> usize {
        let base = self.top;
        self.top += plan.json_fields.len();
        if self.scratch.slots.len() < self.top {
            self.scratch.slots.resize(self.top + 64, Slot::default());
        }
        base
    }

    /// Closes an object: every field was written with a comma before it, of which the first becomes the brace.
    #[inline]
    fn close(&mut self, base: usize, start: usize) {
        self.top = base;
        match self.out.get_mut(start) {
            Some(comma) => *comma = b'{',
            None => self.out.push(b'{'),
        }
        self.out.push(b'}');
    }

    fn scan(&mut self, plan: &'static Plan, base: usize, message: Slot) -> Result<u64, NonCanonical> {
        scan(self.input, plan, &mut self.scratch.slots[base..], message)
    }

    /// Writes the fields that JSON has, each with its key.
    fn write_fields(
        &mut self,
        plan: &'static Plan,
        base: usize,
        due: u64,
        present: u64,
        depth: usize,
    ) -> Result<(), NonCanonical> {
        let mut due = due;
        while due != 0 {
            let index = due.trailing_zeros() as usize;
            due &= due - 1;
            let field = &plan.json_fields[index];
            if present >> index & 1 == 0 {
                self.out.extend_from_slice(&field.absent);
                continue;
            }
            let slot = self.scratch.slots[base + index];
            match field.value {
                Encoding::String => {
                    self.out.extend_from_slice(&field.key);
                    self.text(slot.of(self.input))?;
                }
                Encoding::Struct(of) => {
                    self.out.extend_from_slice(&field.key);
                    self.structure(of, slot, depth + 1)?;
                }
                _ => self.write_field(field, slot, depth)?,
            }
        }
        Ok(())
    }

    /// Writes a field of a less common encoding.
    fn write_field(
        &mut self,
        field: &'static JsonField,
        slot: Slot,
        depth: usize,
    ) -> Result<(), NonCanonical> {
        let before = self.out.len();
        self.out.extend_from_slice(&field.key);
        let empty = match field.value {
            Encoding::List(item) => {
                self.list(item, slot, depth + 2)?;
                false
            }
            Encoding::Map(item) => {
                self.map(item, slot, depth + 2)?;
                false
            }
            Encoding::Opaque(of, kind) => {
                if !self.opaque(of, kind, slot, depth + 1)? {
                    self.out.truncate(before);
                    self.out.extend_from_slice(&field.absent);
                }
                return Ok(());
            }
            Encoding::Bool => self.bool(slot)?,
            Encoding::Int32 => self.int(i64::from(slot.number(self.input)? as i32)),
            Encoding::Int64 => self.int(slot.number(self.input)? as i64),
            Encoding::Float64 => {
                let value = f64::from_le_bytes(slot.of(self.input).try_into().map_err(|_| NonCanonical)?);
                json::write::float(value, self.out);
                value == 0.0
            }
            Encoding::Bytes => {
                json::write::base64(slot.of(self.input), self.out);
                slot.is_empty()
            }
            Encoding::Strings => {
                self.strings(slot)?;
                slot.is_empty()
            }
            Encoding::Never | Encoding::String | Encoding::Struct(_) => return Err(NonCanonical),
        };
        if empty && field.omit_empty {
            self.out.truncate(before);
        }
        Ok(())
    }

    fn int(&mut self, value: i64) -> bool {
        json::write::int(value, self.out);
        value == 0
    }

    fn bool(&mut self, slot: Slot) -> Result<bool, NonCanonical> {
        let value = slot.number(self.input)? != 0;
        self.out.extend_from_slice(if value { b"true" } else { b"false" });
        Ok(!value)
    }

    /// Writes text with its quotes.
    #[inline]
    fn text(&mut self, text: &[u8]) -> Result<(), NonCanonical> {
        if is_plain(text) {
            self.out.reserve(text.len() + 2);
            self.out.push(b'"');
            self.out.extend_from_slice(text);
            self.out.push(b'"');
            return Ok(());
        }
        json::write::string(std::str::from_utf8(text).map_err(|_| NonCanonical)?, self.out);
        Ok(())
    }

    fn list(&mut self, item: Item, all: Slot, depth: usize) -> Result<(), NonCanonical> {
        let (start, mut at) = (self.out.len(), all.start);
        while at < all.end {
            let slot = next(self.input, at, all.end)?;
            self.out.push(b',');
            self.item(item, slot, depth)?;
            at = slot.end;
        }
        self.out[start] = b'[';
        self.out.push(b']');
        Ok(())
    }

    /// Writes a map; keys must be sorted, as in JSON.
    fn map(&mut self, item: Item, all: Slot, depth: usize) -> Result<(), NonCanonical> {
        let (start, mut at) = (self.out.len(), all.start);
        let mut last: Option<&[u8]> = None;
        while at < all.end {
            let entry = next(self.input, at, all.end)?;
            let key = entry.first(0x0a, self.input)?;
            let value = entry.after(key).only(0x12, self.input)?;
            let text = key.of(self.input);
            if last.is_some_and(|last| last >= text) {
                return Err(NonCanonical);
            }
            last = Some(text);
            self.out.push(b',');
            self.text(text)?;
            self.out.push(b':');
            self.item(item, value, depth)?;
            at = entry.end;
        }
        self.out[start] = b'{';
        self.out.push(b'}');
        Ok(())
    }

    fn item(&mut self, item: Item, slot: Slot, depth: usize) -> Result<(), NonCanonical> {
        match item {
            Item::String => self.text(slot.of(self.input))?,
            Item::Struct(of) => self.structure(of, slot, depth)?,
            Item::Bytes => json::write::base64(slot.of(self.input), self.out),
            Item::Opaque(of, kind) => {
                if !self.opaque(of, kind, slot, depth)? {
                    self.out.extend_from_slice(b"null");
                }
            }
            Item::Bool => {
                self.bool(slot)?;
            }
            Item::Int32 => {
                self.int(i64::from(slot.number(self.input)? as i32));
            }
            Item::Int64 => {
                self.int(slot.number(self.input)? as i64);
            }
            Item::Strings => self.strings(slot)?,
            Item::Other => return Err(NonCanonical),
        }
        Ok(())
    }

    /// Writes a message that is a list of strings.
    fn strings(&mut self, message: Slot) -> Result<(), NonCanonical> {
        self.out.push(b'[');
        let mut rest = message;
        while !rest.is_empty() {
            let slot = rest.first(0x0a, self.input)?;
            if rest.start > message.start {
                self.out.push(b',');
            }
            self.text(slot.of(self.input))?;
            rest = rest.after(slot);
        }
        self.out.push(b']');
        Ok(())
    }

    /// Writes an opaque value; returns false, with nothing written, if it is null.
    fn opaque(
        &mut self,
        of: &'static Type,
        kind: Opaque,
        message: Slot,
        depth: usize,
    ) -> Result<bool, NonCanonical> {
        match kind {
            Opaque::Time => return self.time(message),
            Opaque::MicroTime => return self.micro_time(message),
            Opaque::FieldsV1 | Opaque::RawExtension | Opaque::JSON => {
                if message.is_empty() {
                    return Ok(false);
                }
                let raw = message.only(0x0a, self.input)?.of(self.input);
                if raw.is_empty() {
                    return Ok(false);
                }
                if is_plain_fields(raw) {
                    self.out.extend_from_slice(raw);
                } else {
                    json::write::raw(raw, self.out);
                }
            }
            Opaque::Quantity => {
                let text = message.only(0x0a, self.input)?.of(self.input);
                if is_canonical_quantity(text) {
                    self.quoted(text);
                } else {
                    let text = std::str::from_utf8(text).map_err(|_| NonCanonical)?;
                    let quantity = Quantity::parse(text).map_err(|_| NonCanonical)?;
                    json::write::string(&quantity.to_string(), self.out);
                }
            }
            Opaque::Duration => {
                let nanos = message.only(0x08, self.input)?.number(self.input)?;
                json::write::string(&format_duration(nanos as i64), self.out);
            }
            Opaque::IntOrString => {
                let kind = message.first(0x08, self.input)?;
                let number = message.after(kind).first(0x10, self.input)?;
                let text = message.after(number).only(0x1a, self.input)?;
                match kind.number(self.input)? {
                    0 => {
                        self.int(i64::from(number.number(self.input)? as i32));
                    }
                    1 => self.text(text.of(self.input))?,
                    _ => return Err(NonCanonical),
                }
            }
            Opaque::JSONSchemaPropsOrArray
            | Opaque::JSONSchemaPropsOrBool
            | Opaque::JSONSchemaPropsOrStringArray => return self.schema_or(of, kind, message, depth),
            Opaque::GroupVersion => return Err(NonCanonical),
        }
        Ok(true)
    }

    fn time(&mut self, message: Slot) -> Result<bool, NonCanonical> {
        if message.is_empty() {
            return Ok(false);
        }
        let seconds = message.first(0x08, self.input)?;
        message.after(seconds).only(0x10, self.input)?;
        let seconds = seconds.number(self.input)? as i64;
        let text = match self.scratch.time {
            Some((last, text)) if last == seconds => text,
            _ => {
                let time = Time::from_unix(seconds, 0);
                if time.is_zero() {
                    return Ok(false);
                }
                let text = time.to_ascii().ok_or(NonCanonical)?;
                self.scratch.time = Some((seconds, text));
                text
            }
        };
        self.quoted(&text);
        Ok(true)
    }

    fn micro_time(&mut self, message: Slot) -> Result<bool, NonCanonical> {
        if message.is_empty() {
            return Ok(false);
        }
        let seconds = message.first(0x08, self.input)?;
        let nanos = message.after(seconds).only(0x10, self.input)?;
        let nanos = nanos.number(self.input)? as i32 / 1000 * 1000;
        let time = MicroTime::from_unix(seconds.number(self.input)? as i64, i64::from(nanos));
        if time.is_zero() {
            return Ok(false);
        }
        self.quoted(&time.to_ascii().ok_or(NonCanonical)?);
        Ok(true)
    }

    fn quoted(&mut self, text: &[u8]) {
        self.out.push(b'"');
        self.out.extend_from_slice(text);
        self.out.push(b'"');
    }

    fn schema_or(
        &mut self,
        of: &'static Type,
        kind: Opaque,
        message: Slot,
        depth: usize,
    ) -> Result<bool, NonCanonical> {
        let schema = schema_of(of).map_err(|_| NonCanonical)?;
        let mut rest = message;
        if kind == Opaque::JSONSchemaPropsOrBool {
            let allows = rest.first(0x08, self.input)?;
            rest = rest.after(allows);
            if rest.is_empty() {
                self.bool(allows)?;
                return Ok(true);
            }
            self.structure(schema, rest.only(0x12, self.input)?, depth)?;
            return Ok(true);
        }
        if rest.is_empty() {
            return Ok(false);
        }
        if let Ok(slot) = rest.only(0x0a, self.input) {
            self.structure(schema, slot, depth)?;
            return Ok(true);
        }
        let item = match kind {
            Opaque::JSONSchemaPropsOrArray => Item::Struct(schema),
            _ => Item::String,
        };
        let start = self.out.len();
        while !rest.is_empty() {
            let slot = rest.first(0x12, self.input)?;
            self.out.push(b',');
            self.item(item, slot, depth + 1)?;
            rest = rest.after(slot);
        }
        self.out[start] = b'[';
        self.out.push(b']');
        Ok(true)
    }
}

/// Records the positions of the fields that have content; returns a bit for each.
fn scan(input: &[u8], plan: &'static Plan, slots: &mut [Slot], message: Slot) -> Result<u64, NonCanonical> {
    let slots = slots.get_mut(..plan.json_fields.len()).ok_or(NonCanonical)?;
    let end = message.end;
    let mut rest = message.of(input);
    let mut fields = plan.wire_fields.iter();
    let mut field = fields.next();
    let mut present = 0;
    while !rest.is_empty() {
        let at = end - rest.len() as u32;
        let (tag, after_tag) = take_varint(rest)?;
        let found = loop {
            let known = field.ok_or(NonCanonical)?;
            if u64::from(known.tag) >= tag {
                break known;
            }
            field = fields.next();
        };
        if u64::from(found.tag) != tag {
            return Err(NonCanonical);
        }
        // Field number, start of the content, and the rest.
        let (number, start, after) = match (found.tag & 7) as u8 {
            LENGTH => {
                let (length, content) = take_varint(after_tag)?;
                let (_, after) = content
                    .split_at_checked(usize::try_from(length).map_err(|_| NonCanonical)?)
                    .ok_or(NonCanonical)?;
                (length, content, after)
            }
            VARINT => {
                let (value, after) = take_varint(after_tag)?;
                (value, after_tag, after)
            }
            _ => (1, after_tag, after_tag.get(8..).ok_or(NonCanonical)?),
        };
        let slot = Slot { start: end - start.len() as u32, end: end - after.len() as u32 };
        let index = usize::from(found.slot);
        match found.kind {
            WireFieldKind::Once => {
                slots[index] = slot;
                present |= 1 << index;
                field = fields.next();
            }
            WireFieldKind::UnlessEmpty => {
                slots[index] = slot;
                present |= u64::from(number != 0) << index;
                field = fields.next();
            }
            WireFieldKind::Repeated => {
                if present >> index & 1 == 0 {
                    slots[index].start = at;
                    present |= 1 << index;
                }
                slots[index].end = slot.end;
            }
            WireFieldKind::Inline(inner) => {
                present |= scan(input, inner, &mut slots[index..], slot)? << index;
                field = fields.next();
            }
        }
        rest = after;
    }
    Ok(present)
}

/// Reads a varint; returns it with the rest.
#[inline(always)]
fn take_varint(bytes: &[u8]) -> Result<(u64, &[u8]), NonCanonical> {
    match bytes {
        [first, rest @ ..] if *first < 0x80 => Ok((u64::from(*first), rest)),
        [first, second, rest @ ..] if *second < 0x80 => {
            Ok((u64::from(first & 0x7f) | u64::from(*second) << 7, rest))
        }
        _ => {
            let (value, after) = varint(bytes, 0, u32::try_from(bytes.len()).map_err(|_| NonCanonical)?)?;
            Ok((value, &bytes[after as usize..]))
        }
    }
}

/// Returns the content of the field that starts here.
#[inline]
fn next(input: &[u8], at: u32, end: u32) -> Result<Slot, NonCanonical> {
    let (tag, after_tag) = varint(input, at, end)?;
    content(input, (tag & 7) as u8, after_tag, end)
}
