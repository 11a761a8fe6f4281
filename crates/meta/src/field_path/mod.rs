//! Where in an object something is wrong, and what: paths such as `spec.containers[0].name`, and the field errors
//! that a failed validation answers with.

mod error;
mod value;

use std::fmt;

pub use error::{Error, ErrorType, aggregate};
pub use value::Value;

/// How many errors of one object are told. There may be many more in what a client sent, and all together they would be
/// hundreds of times as long; validations of lists stop when they have found so many.
pub const MOST_ERRORS: usize = 10_000;

/// A place in an object.
///
/// A path borrows the one it extends and the names in it, so a validation that finds nothing wrong allocates nothing
/// for the hundreds of places it looks at; only an [`Error`] writes the path down. A name may itself be dotted:
/// `child("securityContext.runAsUser")` prints as two steps would.
#[derive(Clone, Copy, Debug)]
pub struct Path<'a> {
    parent: Option<&'a Path<'a>>,
    step: Step<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Step<'a> {
    Nowhere,
    Name(&'a str),
    Names(&'a [&'a str]),
    Index(usize),
    Key(&'a str),
}

impl<'a> Path<'a> {
    /// No path at all: prints as `<nil>`, but its children print as if they were roots.
    pub const NOWHERE: Path<'static> = Path { parent: None, step: Step::Nowhere };

    pub const fn new(name: &'a str) -> Path<'a> {
        Path { parent: None, step: Step::Name(name) }
    }

    /// A field of the object at this path.
    #[must_use]
    pub fn child<'b>(&'b self, name: &'b str) -> Path<'b>
    where
        'a: 'b,
    {
        Path { parent: self.as_parent(), step: Step::Name(name) }
    }

    /// A field of a field of the object at this path, and so on.
    #[must_use]
    pub fn descendant<'b>(&'b self, names: &'b [&'b str]) -> Path<'b>
    where
        'a: 'b,
    {
        Path { parent: self.as_parent(), step: Step::Names(names) }
    }

    /// An item of the list at this path.
    #[must_use]
    pub fn index<'b>(&'b self, index: usize) -> Path<'b>
    where
        'a: 'b,
    {
        Path { parent: self.as_parent(), step: Step::Index(index) }
    }

    /// An entry of the map at this path. The key is printed as it is.
    #[must_use]
    pub fn key<'b>(&'b self, key: &'b str) -> Path<'b>
    where
        'a: 'b,
    {
        Path { parent: self.as_parent(), step: Step::Key(key) }
    }

    fn as_parent(&self) -> Option<&Path<'a>> {
        (!matches!(self.step, Step::Nowhere)).then_some(self)
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Not by recursion: paths into nested schemas are as deep as the request makes them.
        let mut steps = Vec::new();
        let mut next = Some(self);
        while let Some(path) = next {
            steps.push(path.step);
            next = path.parent;
        }
        for (position, step) in steps.iter().rev().enumerate() {
            match step {
                Step::Names(names) => {
                    for (below, name) in names.iter().enumerate() {
                        let separator = if position + below == 0 { "" } else { "." };
                        write!(f, "{separator}{name}")?;
                    }
                }
                Step::Nowhere => f.write_str("<nil>")?,
                // A nameless field, which validation of a whole object reports on, shows as an empty subscript.
                Step::Name("") => f.write_str("[]")?,
                Step::Name(name) if position == 0 => f.write_str(name)?,
                Step::Name(name) => write!(f, ".{name}")?,
                Step::Index(index) => write!(f, "[{index}]")?,
                Step::Key(key) => write!(f, "[{key}]")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_print_as_the_reference_writes_them() {
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
    fn the_path_of_nothing_shows_only_alone() {
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
