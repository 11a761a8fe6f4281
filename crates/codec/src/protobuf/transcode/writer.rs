//! Writes one message as JSON, from where its fields are.

use pintle_meta::format_duration;
use pintle_meta::quantity::Quantity;
use pintle_meta::time::{MicroTime, Time};
use pintle_schema::{Opaque, Type};

use super::super::form::Message;
use super::super::opaque::{is_canonical_quantity, schema_of};
use super::super::place::{Odd, Slot, content, varint};
use super::super::plan::{Encoding, EntryKind, Item, Plan, Step, plan};
use super::super::wire::{LENGTH, VARINT};
use super::plain::{is_plain, is_plain_fields};
use super::{Options, TypeMeta};
use crate::{MAX_DEPTH, json};

/// Memory that is kept.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    /// Where the fields of the messages are that are being written, the innermost's last. Which of them hold something is
    /// known elsewhere, so that nothing need be cleared.
    slots: Vec<Slot>,
    /// The time that was written last; an object's times are often the same.
    time: Option<(i64, [u8; 20])>,
}

pub(super) struct Writer<'a> {
    input: &'a [u8],
    scratch: &'a mut Scratch,
    /// How many slots are in use.
    top: usize,
    out: &'a mut Vec<u8>,
}

impl<'a> Writer<'a> {
    /// `None` for messages of four gigabytes and more.
    pub(super) fn new(input: &'a [u8], scratch: &'a mut Scratch, out: &'a mut Vec<u8>) -> Option<Writer<'a>> {
        u32::try_from(input.len()).ok()?;
        Some(Writer { input, scratch, top: 0, out })
    }

    pub(super) fn root(mut self, of: Message, options: &Options<'_>) -> Result<(), Odd> {
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
            let (place, of) = plan.metadata.ok_or(Odd)?;
            let there = present >> place & 1 != 0;
            let slot = if there { self.scratch.slots[base + place] } else { Slot::default() };
            self.out.extend_from_slice(&plan.steps[place].key);
            self.metadata(of, slot, version)?;
            due &= !(1 << place);
        }
        self.steps(plan, base, due, present, 0)?;
        self.close(base, start);
        Ok(())
    }

    /// Metadata with another resource version.
    fn metadata(&mut self, of: Message, message: Slot, version: &str) -> Result<(), Odd> {
        let (plan, start) = (plan(of), self.out.len());
        let place = of.structure.position("resourceVersion").ok_or(Odd)?;
        let base = self.open(plan);
        let present = self.scan(plan, base, message)? & !(1 << place);
        let (due, before) = (present | plan.always, (1 << place) - 1);
        self.steps(plan, base, due & before, present, 1)?;
        self.out.extend_from_slice(&plan.steps[place].key);
        json::write::string(version, self.out);
        self.steps(plan, base, due & !before & !(1 << place), present, 1)?;
        self.close(base, start);
        Ok(())
    }

    fn structure(&mut self, of: Message, message: Slot, depth: usize) -> Result<(), Odd> {
        if depth >= MAX_DEPTH {
            return Err(Odd);
        }
        let (plan, start) = (plan(of), self.out.len());
        let base = self.open(plan);
        let present = self.scan(plan, base, message)?;
        self.steps(plan, base, present | plan.always, present, depth)?;
        self.close(base, start);
        Ok(())
    }

    /// Makes room for the fields of a message.
    #[inline]
    fn open(&mut self, plan: &Plan) -> usize {
        let base = self.top;
        self.top += plan.steps.len();
        if self.scratch.slots.len() < self.top {
            self.scratch.slots.resize(self.top + 64, Slot::default());
        }
        base
    }

    /// Every field was written with a comma before it, of which the first becomes the brace.
    #[inline]
    fn close(&mut self, base: usize, start: usize) {
        self.top = base;
        match self.out.get_mut(start) {
            Some(comma) => *comma = b'{',
            None => self.out.push(b'{'),
        }
        self.out.push(b'}');
    }

    fn scan(&mut self, plan: &'static Plan, base: usize, message: Slot) -> Result<u64, Odd> {
        scan(self.input, plan, &mut self.scratch.slots[base..], message)
    }

    /// Writes the fields that are due, each with its key.
    fn steps(
        &mut self,
        plan: &'static Plan,
        base: usize,
        due: u64,
        present: u64,
        depth: usize,
    ) -> Result<(), Odd> {
        let mut due = due;
        while due != 0 {
            let place = due.trailing_zeros() as usize;
            due &= due - 1;
            let step = &plan.steps[place];
            if present >> place & 1 == 0 {
                self.out.extend_from_slice(&step.absent);
                continue;
            }
            let slot = self.scratch.slots[base + place];
            match step.value {
                Encoding::String => {
                    self.out.extend_from_slice(&step.key);
                    self.text(slot.of(self.input))?;
                }
                Encoding::Struct(of) => {
                    self.out.extend_from_slice(&step.key);
                    self.structure(of, slot, depth + 1)?;
                }
                _ => self.step(step, slot, depth)?,
            }
        }
        Ok(())
    }

    /// The less common ones.
    fn step(&mut self, step: &'static Step, slot: Slot, depth: usize) -> Result<(), Odd> {
        let before = self.out.len();
        self.out.extend_from_slice(&step.key);
        let empty = match step.value {
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
                    self.out.extend_from_slice(&step.absent);
                }
                return Ok(());
            }
            Encoding::Bool => self.bool(slot)?,
            Encoding::Int32 => self.int(i64::from(slot.number(self.input)? as i32)),
            Encoding::Int64 => self.int(slot.number(self.input)? as i64),
            Encoding::Float64 => {
                let value = f64::from_le_bytes(slot.of(self.input).try_into().map_err(|_| Odd)?);
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
            Encoding::Never | Encoding::String | Encoding::Struct(_) => return Err(Odd),
        };
        if empty && step.omit_empty {
            self.out.truncate(before);
        }
        Ok(())
    }

    fn int(&mut self, value: i64) -> bool {
        json::write::int(value, self.out);
        value == 0
    }

    fn bool(&mut self, slot: Slot) -> Result<bool, Odd> {
        let value = slot.number(self.input)? != 0;
        self.out.extend_from_slice(if value { b"true" } else { b"false" });
        Ok(!value)
    }

    /// Text with its quotes.
    #[inline]
    fn text(&mut self, text: &[u8]) -> Result<(), Odd> {
        if is_plain(text) {
            self.out.reserve(text.len() + 2);
            self.out.push(b'"');
            self.out.extend_from_slice(text);
            self.out.push(b'"');
            return Ok(());
        }
        json::write::string(std::str::from_utf8(text).map_err(|_| Odd)?, self.out);
        Ok(())
    }

    fn list(&mut self, item: Item, all: Slot, depth: usize) -> Result<(), Odd> {
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

    /// Keys must be sorted, as they are in JSON.
    fn map(&mut self, item: Item, all: Slot, depth: usize) -> Result<(), Odd> {
        let (start, mut at) = (self.out.len(), all.start);
        let mut last: Option<&[u8]> = None;
        while at < all.end {
            let entry = next(self.input, at, all.end)?;
            let key = entry.first(0x0a, self.input)?;
            let value = entry.after(key).only(0x12, self.input)?;
            let text = key.of(self.input);
            if last.is_some_and(|last| last >= text) {
                return Err(Odd);
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

    fn item(&mut self, item: Item, slot: Slot, depth: usize) -> Result<(), Odd> {
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
            Item::Other => return Err(Odd),
        }
        Ok(())
    }

    /// A message of its own that is a list of strings.
    fn strings(&mut self, message: Slot) -> Result<(), Odd> {
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

    /// Whether something was written; nothing is for null.
    fn opaque(&mut self, of: &'static Type, kind: Opaque, message: Slot, depth: usize) -> Result<bool, Odd> {
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
                    let text = std::str::from_utf8(text).map_err(|_| Odd)?;
                    let quantity = Quantity::parse(text).map_err(|_| Odd)?;
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
                    _ => return Err(Odd),
                }
            }
            Opaque::JSONSchemaPropsOrArray
            | Opaque::JSONSchemaPropsOrBool
            | Opaque::JSONSchemaPropsOrStringArray => return self.schema_or(of, kind, message, depth),
            Opaque::GroupVersion => return Err(Odd),
        }
        Ok(true)
    }

    fn time(&mut self, message: Slot) -> Result<bool, Odd> {
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
                let text = time.to_ascii().ok_or(Odd)?;
                self.scratch.time = Some((seconds, text));
                text
            }
        };
        self.quoted(&text);
        Ok(true)
    }

    fn micro_time(&mut self, message: Slot) -> Result<bool, Odd> {
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
        self.quoted(&time.to_ascii().ok_or(Odd)?);
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
    ) -> Result<bool, Odd> {
        let schema = schema_of(of).map_err(|_| Odd)?;
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

/// Notes where the fields are that have something to write; returns a bit for each.
fn scan(input: &[u8], plan: &'static Plan, slots: &mut [Slot], message: Slot) -> Result<u64, Odd> {
    let slots = slots.get_mut(..plan.steps.len()).ok_or(Odd)?;
    let end = message.end;
    let mut rest = message.of(input);
    let mut entries = plan.entries.iter();
    let mut entry = entries.next();
    let mut present = 0;
    while !rest.is_empty() {
        let at = end - rest.len() as u32;
        let (tag, after_tag) = take_varint(rest)?;
        let found = loop {
            let known = entry.ok_or(Odd)?;
            if u64::from(known.tag) >= tag {
                break known;
            }
            entry = entries.next();
        };
        if u64::from(found.tag) != tag {
            return Err(Odd);
        }
        // What the content is of, where it begins and what follows.
        let (number, start, after) = match (found.tag & 7) as u8 {
            LENGTH => {
                let (length, content) = take_varint(after_tag)?;
                let (_, after) =
                    content.split_at_checked(usize::try_from(length).map_err(|_| Odd)?).ok_or(Odd)?;
                (length, content, after)
            }
            VARINT => {
                let (value, after) = take_varint(after_tag)?;
                (value, after_tag, after)
            }
            _ => (1, after_tag, after_tag.get(8..).ok_or(Odd)?),
        };
        let slot = Slot { start: end - start.len() as u32, end: end - after.len() as u32 };
        let place = usize::from(found.slot);
        match found.kind {
            EntryKind::Once => {
                slots[place] = slot;
                present |= 1 << place;
                entry = entries.next();
            }
            EntryKind::UnlessEmpty => {
                slots[place] = slot;
                present |= u64::from(number != 0) << place;
                entry = entries.next();
            }
            EntryKind::Repeated => {
                if present >> place & 1 == 0 {
                    slots[place].start = at;
                    present |= 1 << place;
                }
                slots[place].end = slot.end;
            }
            EntryKind::Inline(inner) => {
                present |= scan(input, inner, &mut slots[place..], slot)? << place;
                entry = entries.next();
            }
        }
        rest = after;
    }
    Ok(present)
}

/// A varint and what follows.
#[inline(always)]
fn take_varint(bytes: &[u8]) -> Result<(u64, &[u8]), Odd> {
    match bytes {
        [first, rest @ ..] if *first < 0x80 => Ok((u64::from(*first), rest)),
        [first, second, rest @ ..] if *second < 0x80 => {
            Ok((u64::from(first & 0x7f) | u64::from(*second) << 7, rest))
        }
        _ => {
            let (value, after) = varint(bytes, 0, u32::try_from(bytes.len()).map_err(|_| Odd)?)?;
            Ok((value, &bytes[after as usize..]))
        }
    }
}

/// The content of the field that begins here.
#[inline]
fn next(input: &[u8], at: u32, end: u32) -> Result<Slot, Odd> {
    let (tag, after_tag) = varint(input, at, end)?;
    content(input, (tag & 7) as u8, after_tag, end)
}
