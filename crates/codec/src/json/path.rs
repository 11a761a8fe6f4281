//! Path of the decoder in a document, as Go's messages and strict errors format it.

use pintle_meta::quote;
use pintle_schema::{Shape, Struct, Type};

use super::record::Record;
use crate::Error;

/// Go's limit of collected strict errors.
const MAX_STRICT: usize = 100;

/// Limit of the text of all strict errors: a document may repeat a field a million times below a name of a megabyte.
const MAX_STRICT_BYTES: usize = 4 << 20;

/// Path segment with its parents. It lives on the stack and costs nothing until it is formatted.
#[derive(Clone, Copy)]
pub(super) struct Path<'p> {
    pub(super) before: Option<&'p Path<'p>>,
    pub(super) segment: Segment<'p>,
}

#[derive(Clone, Copy)]
pub(super) enum Segment<'p> {
    /// Field of a struct, by its index in `flat`.
    Field(&'static Type, &'static Struct, usize),
    /// Field of a struct that is no API type, by its index in `fields`.
    Record(&'static Record, usize),
    /// Key of a map.
    Key(&'p str),
    Item(usize),
    /// Start of a type with its own JSON decoding.
    Inside,
}

type At<'p> = Option<&'p Path<'p>>;

/// Returns all segments, the last one first.
fn segments<'p>(at: At<'p>) -> impl Iterator<Item = Segment<'p>> {
    std::iter::successors(at, |path| path.before).map(|path| path.segment)
}

/// Error of a value of a wrong type: `json: cannot unmarshal string into Go struct field PodSpec.spec.replicas of
/// type int32`. The path contains struct fields only, including embedded structs; the struct is the innermost one, or
/// inside of a type with its own JSON decoding, the innermost one outside of it.
#[cold]
pub(super) fn wrong_type(found: &str, wanted: &str, at: At<'_>) -> Error {
    let mut struct_name = String::new();
    let mut names = Vec::new();
    for segment in segments(at) {
        match segment {
            Segment::Field(of, structure, field) => {
                if struct_name.is_empty() {
                    of.kind_name().clone_into(&mut struct_name);
                }
                names.push(structure.flat[field].name);
                embedding(structure, structure.flat[field].name, &mut names);
            }
            Segment::Record(of, field) => {
                if struct_name.is_empty() {
                    of.name().clone_into(&mut struct_name);
                }
                names.push(of.fields[field].0);
            }
            Segment::Inside => struct_name.clear(),
            Segment::Key(_) | Segment::Item(_) => {}
        }
    }
    if names.is_empty() {
        return Error::new(format!("json: cannot unmarshal {found} into Go value of type {wanted}"));
    }
    names.reverse();
    let path = names.join(".");
    Error::new(format!(
        "json: cannot unmarshal {found} into Go struct field {struct_name}.{path} of type {wanted}"
    ))
}

/// Collects the embedded types through which a struct has a field, innermost first.
fn embedding(of: &'static Struct, name: &str, names: &mut Vec<&'static str>) {
    let inlines = of.fields.iter().filter(|field| field.is_inline());
    for inline in inlines {
        let mut shape = inline.shape;
        if let Shape::Pointer(to) = shape {
            shape = *to;
        }
        if let (Shape::Named(named), Some(inner)) = (shape, shape.structure())
            && inner.position(name).is_some()
        {
            embedding(inner, name, names);
            names.push(named.kind_name());
            return;
        }
    }
}

/// Strict errors in document order, without duplicates.
#[derive(Default)]
pub(super) struct Strict {
    found: Vec<String>,
    bytes: usize,
    /// Depth of types with their own JSON decoding, which is never strict.
    lenient: usize,
}

impl Strict {
    pub(super) fn suspend(&mut self) {
        self.lenient += 1;
    }

    pub(super) fn resume(&mut self) {
        self.lenient -= 1;
    }

    #[cold]
    pub(super) fn unknown(&mut self, at: At<'_>, name: &str) {
        self.add("unknown field", at, name);
    }

    #[cold]
    pub(super) fn duplicate(&mut self, at: At<'_>, name: &str) {
        self.add("duplicate field", at, name);
    }

    fn add(&mut self, what: &str, at: At<'_>, name: &str) {
        if self.lenient > 0 || self.found.len() >= MAX_STRICT || self.bytes >= MAX_STRICT_BYTES {
            return;
        }
        let path = full_path(at, name);
        self.bytes += path.len();
        let message = format!("{what} {}", quote(&path));
        if !self.found.contains(&message) {
            self.found.push(message);
        }
    }

    pub(super) fn into_messages(self) -> Vec<String> {
        self.found
    }
}

/// Formats `spec.containers[0].name`; keys of maps are not quoted.
fn full_path(at: At<'_>, name: &str) -> String {
    let mut path = String::new();
    let mut segments: Vec<Segment<'_>> = segments(at).collect();
    segments.reverse();
    for (position, segment) in segments.iter().enumerate() {
        let key: &str = match segment {
            Segment::Field(_, of, field) => of.flat[*field].name,
            Segment::Record(of, field) => of.fields[*field].0,
            Segment::Key(key) => key,
            Segment::Item(item) => {
                path.push_str(&format!("[{item}]"));
                continue;
            }
            Segment::Inside => continue,
        };
        if position > 0 {
            path.push('.');
        }
        path.push_str(key);
    }
    if !segments.is_empty() {
        path.push('.');
    }
    path.push_str(name);
    path
}
