//! What a field is on the wire, told from its Go shape.

use pintle_schema::{Field, Kind, Opaque, Scalar, Shape, Struct, Type};

#[derive(Clone, Copy, Debug)]
pub(super) enum Form {
    String,
    Bool,
    Int32,
    Int64,
    Float64,
    Bytes,
    Struct(Message),
    Opaque(&'static Type, Opaque),
    /// A named list of strings: a message of its own that has the items as field 1.
    Strings(&'static Type),
    List(&'static Shape),
    /// With the shape of the values; keys are strings.
    Map(&'static Shape),
    /// Not in protobuf.
    Never,
}

/// A struct and what errors call it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Message {
    pub(super) of: &'static Type,
    pub(super) structure: &'static Struct,
}

impl Form {
    /// For messages about values that do not fit.
    pub(super) fn name(self) -> &'static str {
        match self {
            Form::String => "string",
            Form::Bool => "bool",
            Form::Int32 => "int32",
            Form::Int64 => "int64",
            Form::Float64 => "float64",
            Form::Bytes => "bytes",
            Form::Struct(Message { of, .. }) | Form::Opaque(of, _) | Form::Strings(of) => of.go_name(),
            Form::List(_) => "a list",
            Form::Map(_) => "a map",
            Form::Never => "nothing",
        }
    }
}

impl Message {
    pub(super) fn of(of: &'static Type) -> Option<Message> {
        match form(Shape::Named(of)) {
            Form::Struct(message) => Some(message),
            _ => None,
        }
    }

    /// The index of a field among `fields`. Numbers ascend in what Go wrote, so the next one is tried first.
    #[inline]
    pub(super) fn locate(self, number: u32, next: &mut usize) -> Option<u16> {
        let Struct { fields, by_number, .. } = self.structure;
        for place in *next..(*next + 2).min(by_number.len()) {
            if fields[usize::from(by_number[place])].number == Some(number) {
                *next = place;
                return Some(by_number[place]);
            }
        }
        let found = by_number.binary_search_by_key(&Some(number), |index| fields[usize::from(*index)].number);
        *next = found.ok()?;
        Some(by_number[*next])
    }
}

/// What a shape is, through names and a pointer.
#[inline]
pub(super) fn form(shape: Shape) -> Form {
    let mut shape = shape;
    loop {
        shape = match shape {
            Shape::Scalar(Scalar::String) => return Form::String,
            Shape::Scalar(Scalar::Bool) => return Form::Bool,
            Shape::Scalar(Scalar::Int32) => return Form::Int32,
            Shape::Scalar(Scalar::Int64) => return Form::Int64,
            Shape::Scalar(Scalar::Float64) => return Form::Float64,
            Shape::Scalar(Scalar::Any) => return Form::Never,
            Shape::Bytes => return Form::Bytes,
            Shape::List(item) => return Form::List(item),
            Shape::Map(_, value) => return Form::Map(value),
            Shape::Pointer(to) => *to,
            Shape::Named(of) => match &of.kind {
                Kind::Struct(structure) => return Form::Struct(Message { of, structure }),
                Kind::Opaque(opaque) => return Form::Opaque(of, *opaque),
                Kind::Alias { of: Shape::List(item), .. } if matches!(form(**item), Form::String) => {
                    return Form::Strings(of);
                }
                Kind::Alias { of, .. } => *of,
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

/// The field's name in Go, as far as JSON's tells: initialisms at its beginning are upper case there, and metadata is
/// embedded. Some three dozen fields are called something else altogether; only messages about broken input show it.
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
