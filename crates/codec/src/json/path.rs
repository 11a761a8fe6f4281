//! Where in a document a decoder is, as Go's messages and strict errors show it.

use pintle_meta::quote;
use pintle_schema::{Shape, Struct, Type};

use super::record::Record;
use crate::Error;

/// Go collects no more strict errors than these.
const MAX_STRICT: usize = 100;

/// No more text than this is put together for strict errors: a document may repeat a field a million times below a name of a
/// megabyte.
const MAX_STRICT_BYTES: usize = 4 << 20;

/// A step from the top of the document, with those before it. Kept on the stack, so that it costs nothing until shown.
#[derive(Clone, Copy)]
pub(super) struct Path<'p> {
    pub(super) before: Option<&'p Path<'p>>,
    pub(super) step: Step<'p>,
}

#[derive(Clone, Copy)]
pub(super) enum Step<'p> {
    /// Of a struct, by its place in `flat`.
    Field(&'static Type, &'static Struct, usize),
    /// Of a struct that is no API type, by its place in `fields`.
    Record(&'static Record, usize),
    /// Of a map.
    Key(&'p str),
    Item(usize),
    /// Into a type that reads its own JSON.
    Inside,
}

type At<'p> = Option<&'p Path<'p>>;

/// All steps, the last one first.
fn steps<'p>(at: At<'p>) -> impl Iterator<Item = Step<'p>> {
    std::iter::successors(at, |path| path.before).map(|path| path.step)
}

/// A value that does not fit: `json: cannot unmarshal string into Go struct field PodSpec.spec.replicas of type int32`. The
/// path goes through structs only, by their embedded parts too; the struct is the last one, or where a type reads its
/// own JSON, the last one outside of it.
#[cold]
pub(super) fn wrong_type(found: &str, wanted: &str, at: At<'_>) -> Error {
    let mut place = String::new();
    let mut names = Vec::new();
    for step in steps(at) {
        match step {
            Step::Field(of, structure, field) => {
                if place.is_empty() {
                    of.kind_name().clone_into(&mut place);
                }
                names.push(structure.flat[field].name);
                embedding(structure, structure.flat[field].name, &mut names);
            }
            Step::Record(of, field) => {
                if place.is_empty() {
                    of.name().clone_into(&mut place);
                }
                names.push(of.fields[field].0);
            }
            Step::Inside => place.clear(),
            Step::Key(_) | Step::Item(_) => {}
        }
    }
    if names.is_empty() {
        return Error::new(format!("json: cannot unmarshal {found} into Go value of type {wanted}"));
    }
    names.reverse();
    let path = names.join(".");
    Error::new(format!("json: cannot unmarshal {found} into Go struct field {place}.{path} of type {wanted}"))
}

/// The types through which a struct has a field that it does not declare itself, the innermost first.
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

/// What only a strict reader minds, in the order of the document, each once.
#[derive(Default)]
pub(super) struct Strict {
    found: Vec<String>,
    bytes: usize,
    /// How many types deep that read their own JSON, which never is strict.
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

/// `spec.containers[0].name`; keys of maps stand as they are.
fn full_path(at: At<'_>, name: &str) -> String {
    let mut path = String::new();
    let mut steps: Vec<Step<'_>> = steps(at).collect();
    steps.reverse();
    for (place, step) in steps.iter().enumerate() {
        let key: &str = match step {
            Step::Field(_, of, field) => of.flat[*field].name,
            Step::Record(of, field) => of.fields[*field].0,
            Step::Key(key) => key,
            Step::Item(item) => {
                path.push_str(&format!("[{item}]"));
                continue;
            }
            Step::Inside => continue,
        };
        if place > 0 {
            path.push('.');
        }
        path.push_str(key);
    }
    if !steps.is_empty() {
        path.push('.');
    }
    path.push_str(name);
    path
}
