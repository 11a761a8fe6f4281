//! Field paths such as `spec.containers[0].name`, and the field errors of a failed validation.

mod error;
mod value;

use std::borrow::Cow;
use std::fmt;

pub use error::{Error, ErrorType, Origin, aggregate};
pub use value::Value;

/// Limit of errors reported for one object. Invalid input may have many more, hundreds of times its own length
/// together; validations of lists stop at this number.
pub const MOST_ERRORS: usize = 10_000;

/// Path of a field in an object.
///
/// A path borrows its parent and its names, so a validation without errors allocates nothing for the hundreds of
/// fields it visits; only an [`Error`] formats the path. A name may itself be dotted:
/// `child("securityContext.runAsUser")` prints like two segments.
#[derive(Clone, Copy, Debug)]
pub struct Path<'a> {
    parent: Option<&'a Path<'a>>,
    segment: Segment<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Segment<'a> {
    Nowhere,
    Name(&'a str),
    Names(&'a [&'a str]),
    Index(usize),
    Key(&'a str),
}

impl<'a> Path<'a> {
    /// The nil path: prints as `<nil>`, but its children print as if they were roots.
    pub const NOWHERE: Path<'static> = Path { parent: None, segment: Segment::Nowhere };

    pub const fn new(name: &'a str) -> Path<'a> {
        Path { parent: None, segment: Segment::Name(name) }
    }

    /// Returns the path of a field of the object at this path.
    #[must_use]
    pub fn child<'b>(&'b self, name: &'b str) -> Path<'b>
    where
        'a: 'b,
    {
        Path { parent: self.as_parent(), segment: Segment::Name(name) }
    }

    /// Returns the path of a field of a field of the object at this path, and so on.
    #[must_use]
    pub fn descendant<'b>(&'b self, names: &'b [&'b str]) -> Path<'b>
    where
        'a: 'b,
    {
        Path { parent: self.as_parent(), segment: Segment::Names(names) }
    }

    /// Returns the path of an item of the list at this path.
    #[must_use]
    pub fn index<'b>(&'b self, index: usize) -> Path<'b>
    where
        'a: 'b,
    {
        Path { parent: self.as_parent(), segment: Segment::Index(index) }
    }

    /// Returns the path of an entry of the map at this path. The key is printed unquoted.
    #[must_use]
    pub fn key<'b>(&'b self, key: &'b str) -> Path<'b>
    where
        'a: 'b,
    {
        Path { parent: self.as_parent(), segment: Segment::Key(key) }
    }

    /// Returns the names, indexes and keys from the root to here.
    pub fn segments(&self) -> Vec<Cow<'a, str>> {
        let mut found = Vec::new();
        let mut next = Some(self);
        while let Some(path) = next {
            match path.segment {
                Segment::Nowhere => {}
                Segment::Name(name) | Segment::Key(name) => found.push(Cow::Borrowed(name)),
                Segment::Names(names) => found.extend(names.iter().rev().map(|name| Cow::Borrowed(*name))),
                Segment::Index(index) => found.push(Cow::Owned(index.to_string())),
            }
            next = path.parent;
        }
        found.reverse();
        found
    }

    fn as_parent(&self) -> Option<&Path<'a>> {
        (!matches!(self.segment, Segment::Nowhere)).then_some(self)
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without recursion: paths into nested schemas are as deep as the request makes them.
        let mut segments = Vec::new();
        let mut next = Some(self);
        while let Some(path) = next {
            segments.push(path.segment);
            next = path.parent;
        }
        for (position, segment) in segments.iter().rev().enumerate() {
            match segment {
                Segment::Names(names) => {
                    for (below, name) in names.iter().enumerate() {
                        let separator = if position + below == 0 { "" } else { "." };
                        write!(f, "{separator}{name}")?;
                    }
                }
                Segment::Nowhere => f.write_str("<nil>")?,
                // A nameless field, which validation of a whole object reports on, prints as an empty subscript.
                Segment::Name("") => f.write_str("[]")?,
                Segment::Name(name) if position == 0 => f.write_str(name)?,
                Segment::Name(name) => write!(f, ".{name}")?,
                Segment::Index(index) => write!(f, "[{index}]")?,
                Segment::Key(key) => write!(f, "[{key}]")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_print_as_in_the_reference() {
        let spec = Path::new("spec");
        assert_eq!(spec.to_string(), "spec");
        assert_eq!(spec.child("containers").index(0).child("name").to_string(), "spec.containers[0].name");
        assert_eq!(spec.child("template.spec").to_string(), "spec.template.spec");
        let annotations = Path::new("metadata.annotations");
        assert_eq!(annotations.key("example.com/a b").to_string(), "metadata.annotations[example.com/a b]");
        assert_eq!(Path::new("a").index(1).index(2).key("").to_string(), "a[1][2][]");
        let template = Path::NOWHERE.descendant(&["spec", "template"]).to_string();
        assert_eq!(template, "spec.template");
        assert_eq!(spec.descendant(&["a", "b"]).child("c").to_string(), "spec.a.b.c");
    }

    #[test]
    fn the_nil_path_prints_only_without_children() {
        assert_eq!(Path::NOWHERE.to_string(), "<nil>");
        assert_eq!(Path::NOWHERE.child("values").index(0).to_string(), "values[0]");
        assert_eq!(Path::NOWHERE.index(3).to_string(), "[3]");
        assert_eq!(Path::new("").to_string(), "[]");
        assert_eq!(Path::new("").child("a").to_string(), "[].a");
    }

    #[test]
    fn a_very_deep_path_prints() {
        let mut text = String::from("a");
        fn nest(path: &Path<'_>, depth: usize, text: &mut String) {
            if depth == 0 {
                *text = path.to_string();
            } else {
                nest(&path.child("a"), depth - 1, text);
            }
        }
        nest(&Path::new("a"), 2_000, &mut text);
        assert_eq!(text.len(), 4_001);
    }
}
