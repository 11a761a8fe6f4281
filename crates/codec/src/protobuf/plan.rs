//! Transcoding plan of a type, compiled from the type graph on first use and cached: it depends on the program only.
//!
//! ```text
//! wire_fields   by ascending tag, as in the message         tag -> slot
//! json_fields   in the order of JSON, one for each slot     key, encoding, text if absent
//! ```

use std::sync::OnceLock;

use pintle_schema::{Field, Opaque, Struct, Type, normal, types};

use super::wire::{FIXED64, LENGTH, VARINT};
use super::wire_shape::{Message, WireShape, is_pointer, wire_shape};
use crate::json;

pub(super) struct Plan {
    pub(super) wire_fields: Box<[WireField]>,
    /// At most 64, so that a word has a bit for each.
    pub(super) json_fields: Box<[JsonField]>,
    /// Bit set of the fields that JSON has even if they are absent from the message.
    pub(super) always: u64,
    /// Index of an object's metadata, if it is the first field.
    pub(super) metadata: Option<(usize, Message)>,
    /// For each of the struct's `fields`.
    pub(super) fields: Box<[FieldPlan]>,
}

/// Wire representation of a field, by its index.
#[derive(Clone, Copy)]
pub(super) struct FieldPlan {
    pub(super) wire_shape: WireShape,
    /// Items of a list, or values of a map.
    pub(super) item: WireShape,
    pub(super) pointer: bool,
    pub(super) inline: bool,
    /// Index in `flat`.
    pub(super) flat_index: usize,
    pub(super) number: u32,
}

/// Field of a message.
pub(super) struct WireField {
    pub(super) tag: u32,
    pub(super) kind: WireFieldKind,
    /// Its index in JSON, or that of an inline field's first field.
    pub(super) slot: u16,
    /// Whether Go always writes it: it is neither a pointer nor a list, map or bytes.
    pub(super) required: bool,
    pub(super) pointer: bool,
}

pub(super) enum WireFieldKind {
    Once,
    /// Omitted from JSON if empty or zero.
    UnlessEmpty,
    Repeated,
    Inline(&'static Plan),
}

/// Field of a JSON object.
pub(super) struct JsonField {
    /// `,"name":`
    pub(super) key: Box<[u8]>,
    pub(super) value: Encoding,
    /// Omitted if empty, false or zero.
    pub(super) omit_empty: bool,
    /// Key and value in JSON if the field is absent or null; empty if it is omitted.
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

/// Items of lists and values of maps.
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
    /// Does not occur; falls back to the tree.
    Other,
}

/// Returns the plan of a struct.
#[inline]
pub(super) fn plan(of: Message) -> &'static Plan {
    static PLANS: OnceLock<Box<[OnceLock<Plan>]>> = OnceLock::new();
    let plans = PLANS.get_or_init(|| types().iter().map(|_| OnceLock::new()).collect());
    plans[of.of.index].get_or_init(|| compile(of.structure))
}

fn compile(of: &'static Struct) -> Plan {
    let mut json_fields: Box<[JsonField]> = of.flat.iter().map(|field| json_field(field)).collect();
    // Kind and apiVersion have numbers among themselves but are not encoded.
    for unsent in of.fields.iter().filter(|field| field.is_inline() && field.number.is_none()) {
        let count = unsent.shape.structure().map_or(0, |inner| inner.flat.len());
        json_fields
            .iter_mut()
            .skip(unsent.flat_index.into())
            .take(count)
            .for_each(|field| field.value = Encoding::Never);
    }
    let wire_fields = of.by_number.iter().map(|index| &of.fields[usize::from(*index)]);
    let always =
        json_fields.iter().rev().fold(0, |bits, field| bits << 1 | u64::from(!field.absent.is_empty()));
    let first = json_fields.iter().position(|field| !matches!(field.value, Encoding::Never));
    let metadata = first.and_then(|index| match json_fields[index].value {
        Encoding::Struct(message) if of.flat[index].name == "metadata" => Some((index, message)),
        _ => None,
    });
    // Structs with more fields fall back to the tree.
    let wire_fields =
        if json_fields.len() <= 64 { wire_fields.filter_map(wire_field).collect() } else { Box::default() };
    Plan { wire_fields, json_fields, always, metadata, fields: of.fields.iter().map(field_plan).collect() }
}

fn field_plan(field: &Field) -> FieldPlan {
    let whole = wire_shape(field.shape);
    FieldPlan {
        wire_shape: whole,
        item: match whole {
            WireShape::List(shape) | WireShape::Map(shape) => wire_shape(*shape),
            _ => WireShape::Never,
        },
        pointer: is_pointer(field.shape),
        inline: field.is_inline(),
        flat_index: field.flat_index.into(),
        number: field.number.unwrap_or_default(),
    }
}

fn wire_field(field: &'static Field) -> Option<WireField> {
    let (wire, repeated) = match wire_shape(field.shape) {
        WireShape::List(item) => (wire(wire_shape(*item))?, true),
        WireShape::Map(_) => (LENGTH, true),
        single => (wire(single)?, false),
    };
    let kind = match wire_shape(field.shape) {
        WireShape::Struct(inner) if field.is_inline() => WireFieldKind::Inline(plan(inner)),
        _ if repeated => WireFieldKind::Repeated,
        WireShape::String | WireShape::Bytes | WireShape::Bool | WireShape::Int32 | WireShape::Int64
            if field.omit_empty && !is_pointer(field.shape) =>
        {
            WireFieldKind::UnlessEmpty
        }
        _ => WireFieldKind::Once,
    };
    let pointer = is_pointer(field.shape);
    let required =
        !repeated && !pointer && !matches!(wire_shape(field.shape), WireShape::Bytes | WireShape::Strings(_));
    let tag = field.number? << 3 | u32::from(wire);
    Some(WireField { tag, kind, slot: field.flat_index, required, pointer })
}

fn wire(of: WireShape) -> Option<u8> {
    match of {
        WireShape::Bool | WireShape::Int32 | WireShape::Int64 => Some(VARINT),
        WireShape::Float64 => Some(FIXED64),
        WireShape::Never => None,
        _ => Some(LENGTH),
    }
}

fn json_field(field: &'static Field) -> JsonField {
    let value = match wire_shape(field.shape) {
        _ if field.number.is_none() => Encoding::Never,
        WireShape::String => Encoding::String,
        WireShape::Bool => Encoding::Bool,
        WireShape::Int32 => Encoding::Int32,
        WireShape::Int64 => Encoding::Int64,
        WireShape::Float64 => Encoding::Float64,
        WireShape::Bytes => Encoding::Bytes,
        WireShape::Struct(message) => Encoding::Struct(message),
        WireShape::Opaque(of, kind) => Encoding::Opaque(of, kind),
        WireShape::Strings(_) => Encoding::Strings,
        WireShape::List(shape) => Encoding::List(item(wire_shape(*shape))),
        WireShape::Map(shape) => Encoding::Map(item(wire_shape(*shape))),
        WireShape::Never => Encoding::Never,
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
    JsonField { key: key.into(), value, omit_empty, absent: absent.into() }
}

fn item(of: WireShape) -> Item {
    match of {
        WireShape::String => Item::String,
        WireShape::Bytes => Item::Bytes,
        WireShape::Bool => Item::Bool,
        WireShape::Int32 => Item::Int32,
        WireShape::Int64 => Item::Int64,
        WireShape::Struct(message) => Item::Struct(message),
        WireShape::Opaque(of, kind) => Item::Opaque(of, kind),
        WireShape::Strings(_) => Item::Strings,
        WireShape::Float64 | WireShape::List(_) | WireShape::Map(_) | WireShape::Never => Item::Other,
    }
}
