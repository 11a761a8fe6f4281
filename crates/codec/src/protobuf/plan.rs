//! What transcoding and recognising need to know of a type, compiled from the type graph on first use and kept: it depends
//! on nothing but the program.
//!
//! ```text
//! entries   by ascending tag, as the message has them       tag -> slot
//! steps     in the order of JSON, one for each slot         key, how to write it, what stands there when it is absent
//! ```

use std::sync::OnceLock;

use pintle_schema::{Field, Opaque, Struct, Type, normal, types};

use super::form::{Form, Message, form, is_pointer};
use super::wire::{FIXED64, LENGTH, VARINT};
use crate::json;

pub(super) struct Plan {
    pub(super) entries: Box<[Entry]>,
    /// At most 64, so that a word has a bit for each.
    pub(super) steps: Box<[Step]>,
    /// A bit for each step that JSON has even where the message has nothing.
    pub(super) always: u64,
    /// The step of an object's metadata, if nothing else comes before it.
    pub(super) metadata: Option<(usize, Message)>,
    /// For each of the struct's `fields`.
    pub(super) forms: Box<[FieldForm]>,
}

/// What a field is, for those who go by its index.
#[derive(Clone, Copy)]
pub(super) struct FieldForm {
    pub(super) form: Form,
    /// What a list or map holds.
    pub(super) item: Form,
    pub(super) pointer: bool,
    pub(super) inline: bool,
    /// Where it stands in `flat`.
    pub(super) place: usize,
    pub(super) number: u32,
}

/// A field as protobuf has it.
pub(super) struct Entry {
    pub(super) tag: u32,
    pub(super) kind: EntryKind,
    /// Its place in JSON, or that of an inline field's first field.
    pub(super) slot: u16,
    /// Neither a pointer nor a list, map or bytes: Go always writes it.
    pub(super) required: bool,
    pub(super) pointer: bool,
}

pub(super) enum EntryKind {
    Once,
    /// JSON leaves it out when it is empty or zero.
    UnlessEmpty,
    Repeated,
    Inline(&'static Plan),
}

/// A field as JSON has it.
pub(super) struct Step {
    /// `,"name":`
    pub(super) key: Box<[u8]>,
    pub(super) value: Encoding,
    /// Left out when it is empty, false or zero.
    pub(super) omit_empty: bool,
    /// What JSON has, with the key, where the field is absent or null; nothing where it is left out.
    pub(super) absent: Box<[u8]>,
}

#[derive(Clone, Copy)]
pub(super) enum Encoding {
    /// Not in protobuf.
    Never,
    String,
    Bool,
    Int32,
    Int64,
    Float64,
    Bytes,
    Struct(Message),
    Opaque(&'static Type, Opaque),
    Strings,
    List(Item),
    Map(Item),
}

/// What lists and maps hold.
#[derive(Clone, Copy)]
pub(super) enum Item {
    String,
    Bytes,
    Bool,
    Int32,
    Int64,
    Struct(Message),
    Opaque(&'static Type, Opaque),
    Strings,
    /// There is none such; it would be left to the tree.
    Other,
}

/// The plan of a struct.
#[inline]
pub(super) fn plan(of: Message) -> &'static Plan {
    static PLANS: OnceLock<Box<[OnceLock<Plan>]>> = OnceLock::new();
    let plans = PLANS.get_or_init(|| types().iter().map(|_| OnceLock::new()).collect());
    plans[of.of.place].get_or_init(|| compile(of.structure))
}

fn compile(of: &'static Struct) -> Plan {
    let mut steps: Box<[Step]> = of.flat.iter().map(|field| step(field)).collect();
    // Kind and version are numbered among themselves but not sent.
    for unsent in of.fields.iter().filter(|field| field.is_inline() && field.number.is_none()) {
        let count = unsent.shape.structure().map_or(0, |inner| inner.flat.len());
        steps.iter_mut().skip(unsent.place.into()).take(count).for_each(|step| step.value = Encoding::Never);
    }
    let entries = of.by_number.iter().map(|index| &of.fields[usize::from(*index)]);
    let always = steps.iter().rev().fold(0, |bits, step| bits << 1 | u64::from(!step.absent.is_empty()));
    let first = steps.iter().position(|step| !matches!(step.value, Encoding::Never));
    let metadata = first.and_then(|place| match steps[place].value {
        Encoding::Struct(message) if of.flat[place].name == "metadata" => Some((place, message)),
        _ => None,
    });
    // What does not fit is left to the tree.
    let entries = if steps.len() <= 64 { entries.filter_map(entry).collect() } else { Box::default() };
    Plan { entries, steps, always, metadata, forms: of.fields.iter().map(field_form).collect() }
}

fn field_form(field: &Field) -> FieldForm {
    let whole = form(field.shape);
    FieldForm {
        form: whole,
        item: match whole {
            Form::List(shape) | Form::Map(shape) => form(*shape),
            _ => Form::Never,
        },
        pointer: is_pointer(field.shape),
        inline: field.is_inline(),
        place: field.place.into(),
        number: field.number.unwrap_or_default(),
    }
}

fn entry(field: &'static Field) -> Option<Entry> {
    let (wire, repeated) = match form(field.shape) {
        Form::List(item) => (wire(form(*item))?, true),
        Form::Map(_) => (LENGTH, true),
        single => (wire(single)?, false),
    };
    let kind = match form(field.shape) {
        Form::Struct(inner) if field.is_inline() => EntryKind::Inline(plan(inner)),
        _ if repeated => EntryKind::Repeated,
        Form::String | Form::Bytes | Form::Bool | Form::Int32 | Form::Int64
            if field.omit_empty && !is_pointer(field.shape) =>
        {
            EntryKind::UnlessEmpty
        }
        _ => EntryKind::Once,
    };
    let pointer = is_pointer(field.shape);
    let required = !repeated && !pointer && !matches!(form(field.shape), Form::Bytes | Form::Strings(_));
    let tag = field.number? << 3 | u32::from(wire);
    Some(Entry { tag, kind, slot: field.place, required, pointer })
}

fn wire(of: Form) -> Option<u8> {
    match of {
        Form::Bool | Form::Int32 | Form::Int64 => Some(VARINT),
        Form::Float64 => Some(FIXED64),
        Form::Never => None,
        _ => Some(LENGTH),
    }
}

fn step(field: &'static Field) -> Step {
    let value = match form(field.shape) {
        _ if field.number.is_none() => Encoding::Never,
        Form::String => Encoding::String,
        Form::Bool => Encoding::Bool,
        Form::Int32 => Encoding::Int32,
        Form::Int64 => Encoding::Int64,
        Form::Float64 => Encoding::Float64,
        Form::Bytes => Encoding::Bytes,
        Form::Struct(message) => Encoding::Struct(message),
        Form::Opaque(of, kind) => Encoding::Opaque(of, kind),
        Form::Strings(_) => Encoding::Strings,
        Form::List(shape) => Encoding::List(item(form(*shape))),
        Form::Map(shape) => Encoding::Map(item(form(*shape))),
        Form::Never => Encoding::Never,
    };
    let mut key = vec![b','];
    json::write::string(field.name, &mut key);
    key.push(b':');
    let mut absent = Vec::new();
    if let Some(zero) = normal::normal_field(field, None) {
        absent.extend_from_slice(&key);
        json::encode(&zero, &mut absent);
    }
    let omit_empty = field.omit_empty && !is_pointer(field.shape);
    Step { key: key.into(), value, omit_empty, absent: absent.into() }
}

fn item(of: Form) -> Item {
    match of {
        Form::String => Item::String,
        Form::Bytes => Item::Bytes,
        Form::Bool => Item::Bool,
        Form::Int32 => Item::Int32,
        Form::Int64 => Item::Int64,
        Form::Struct(message) => Item::Struct(message),
        Form::Opaque(of, kind) => Item::Opaque(of, kind),
        Form::Strings(_) => Item::Strings,
        Form::Float64 | Form::List(_) | Form::Map(_) | Form::Never => Item::Other,
    }
}
