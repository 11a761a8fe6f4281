//! Wire representation of a field, derived from its Go shape.

use pintle_schema::{Field, Opaque, Scalar, Shape, Struct, Type, TypeKind};

#[derive(Clone, Copy, Debug)]
pub(super) enum WireShape {
    String,
    Bool,
    Int32,
    Int64,
    Float64,
    Bytes,
    Struct(Message),
    Opaque(&'static Type, Opaque),
    /// Named list of strings: a message with the items as field 1.
    Strings(&'static Type),
    List(&'static Shape),
    /// Map with string keys; the shape is that of the values.
    Map(&'static Shape),
    /// Not in protobuf.
    Never,
}

/// Struct with its type, for error messages.
#[derive(Clone, Copy, Debug)]
pub(super) struct Message {
    pub(super) of: &'static Type,
    pub(super) structure: &'static Struct,
}

impl WireShape {
    /// Name in messages about values of a wrong type.
    pub(super) fn name(self) -> &'static str {
        match self {
            WireShape::String => "string",
            WireShape::Bool => "bool",
            WireShape::Int32 => "int32",
            WireShape::Int64 => "int64",
            WireShape::Float64 => "float64",
            WireShape::Bytes => "bytes",
            WireShape::Struct(Message { of, .. }) | WireShape::Opaque(of, _) | WireShape::Strings(of) => {
                of.go_name()
            }
            WireShape::List(_) => "a list",
            WireShape::Map(_) => "a map",
            WireShape::Never => "nothing",
        }
    }
}

impl Message {
    pub(super) fn of(of: &'static Type) -> Option<Message> {
        match wire_shape(Shape::Named(of)) {
            WireShape::Struct(message) => Some(message),
            _ => None,
        }
    }

    /// Returns the index of a field in `fields`. Numbers ascend in Go's output, so the next one is tried first.
    #[inline]
    pub(super) fn locate(self, number: u32, next: &mut usize) -> Option<u16> {
        let Struct { fields, by_number, .. } = self.structure;
        for position in *next..(*next + 2).min(by_number.len()) {
            if fields[usize::from(by_number[position])].number == Some(number) {
                *next = position;
                return Some(by_number[position]);
            }
        }
        let found = by_number.binary_search_by_key(&Some(number), |index| fields[usize::from(*index)].number);
        *next = found.ok()?;
        Some(by_number[*next])
    }
}

/// Resolves a shape through aliases and a pointer.
#[inline]
pub(super) fn wire_shape(shape: Shape) -> WireShape {
    let mut shape = shape;
    loop {
        shape = match shape {
            Shape::Scalar(Scalar::String) => return WireShape::String,
            Shape::Scalar(Scalar::Bool) => return WireShape::Bool,
            Shape::Scalar(Scalar::Int32) => return WireShape::Int32,
            Shape::Scalar(Scalar::Int64) => return WireShape::Int64,
            Shape::Scalar(Scalar::Float64) => return WireShape::Float64,
            Shape::Scalar(Scalar::Any) => return WireShape::Never,
            Shape::Bytes => return WireShape::Bytes,
            Shape::List(item) => return WireShape::List(item),
            Shape::Map(_, value) => return WireShape::Map(value),
            Shape::Pointer(to) => *to,
            Shape::Named(of) => match &of.kind {
                TypeKind::Struct(structure) => return WireShape::Struct(Message { of, structure }),
                TypeKind::Opaque(opaque) => return WireShape::Opaque(of, *opaque),
                TypeKind::Alias { of: Shape::List(item), .. }
                    if matches!(wire_shape(**item), WireShape::String) =>
                {
                    return WireShape::Strings(of);
                }
                TypeKind::Alias { of, .. } => *of,
            },
        };
    }
}

pub(super) fn is_pointer(shape: Shape) -> bool {
    matches!(shape.underlying(), Shape::Pointer(_))
}

/// The message's name in Go.
pub(super) fn message_name(of: &Type) -> &'static str {
    of.name.rsplit('.').next().unwrap_or(of.name)
}

/// Returns the field's name in Go, derived from its JSON name: leading initialisms are upper case, and metadata is
/// embedded. About three dozen fields have unrelated names; only messages about invalid input show them.
pub(super) fn field_name(field: &Field) -> String {
    const INITIALISMS: &[&str] = &[
        "api", "aws", "ca", "cel", "cidr", "cpu", "csi", "db", "dns", "fc", "fs", "gce", "gid", "gmsa",
        "grpc", "gvk", "http", "https", "id", "ip", "iqn", "iscsi", "json", "nfs", "os", "pd", "pid", "pkix",
        "qos", "rbd", "se", "ssl", "tcp", "tls", "ttl", "tty", "uid", "url",
    ];
    match field.shape.underlying() {
        Shape::Named(of) if field.is_inline() || field.name == "metadata" => return message_name(of).into(),
        _ => {}
    }
    let name = field.name.trim_start_matches('$');
    let word = name.find(|c: char| !c.is_ascii_lowercase()).unwrap_or(name.len());
    let (first, rest) = name.split_at(word);
    match first.strip_suffix('s') {
        _ if INITIALISMS.contains(&first) => format!("{}{rest}", first.to_ascii_uppercase()),
        Some(one) if INITIALISMS.contains(&one) => format!("{}s{rest}", one.to_ascii_uppercase()),
        _ => capitalized(name),
    }
}

fn capitalized(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map(|letter| letter.to_ascii_uppercase()).into_iter().chain(letters).collect()
}
