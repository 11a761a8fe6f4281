//! The names of a custom resource in its documents, and texts that are the same but for these names.
//!
//! The paths of all custom resources of a shape (namespaced or not, with which subresources) differ in nothing but names, and
//! are several times as long as a schema. They are written once with a mark in the place of each name, and are from then on
//! copied:
//!
//! ```text
//! {"description":"read the specified <kind>","operationId":"read<camel>Namespaced<kind as identifier>", ...}
//! ```

use pintle_codec::json::write;
use pintle_discovery::{Custom, CustomVersion};

use crate::operations::{Tags, identifier, with_article};

/// The first of the marks; there is one for each name, in the order of [`Names`]. No name has characters like these, which
/// are for private use.
const FIRST_MARK: char = '\u{e000}';

const COUNT: usize = 10;

/// All that differs between resources of a shape.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Names([String; COUNT]);

macro_rules! names {
    ($($(#[$doc:meta])* $name:ident = $place:literal;)*) => {
        $($(#[$doc])* pub(crate) fn $name(&self) -> &str {
            &self.0[$place]
        })*
    };
}

impl Names {
    names! {
        group = 0;
        version = 1;
        plural = 2;
        kind = 3;
        /// `ExampleComV1`
        camel = 4;
        /// `exampleCom_v1`
        tag = 5;
        /// The part of the kind that an identifier may have.
        identifier = 6;
        /// The kind with its article.
        noun = 7;
        /// `com.example.v1.Widget`
        definition = 8;
        list_definition = 9;
    }

    pub(crate) fn new(custom: &Custom, version: &CustomVersion) -> Names {
        let tags = Tags::new(Some(&custom.group), Some(&version.name));
        Names([
            custom.group.to_string(),
            version.name.to_string(),
            custom.plural.to_string(),
            custom.kind.to_string(),
            tags.camel,
            tags.tag,
            identifier(&custom.kind, true),
            with_article(&custom.kind),
            definition_name(&custom.group, &version.name, &custom.kind),
            definition_name(&custom.group, &version.name, &custom.list_kind),
        ])
    }

    /// The same under which others go by, if the first are taken.
    pub(crate) fn renamed(mut self, taken: impl Fn(&str) -> bool) -> Names {
        for place in [8, 9] {
            if taken(&self.0[place]) {
                self.0[place].push_str("_v2");
            }
        }
        self
    }

    /// A mark in the place of each.
    pub(crate) fn marks() -> Names {
        let mut marks = FIRST_MARK..;
        Names(std::array::from_fn(|_| marks.next().map(String::from).unwrap_or_default()))
    }
}

/// The parts of the group stand in reverse, as packages do.
fn definition_name(group: &str, version: &str, kind: &str) -> String {
    let mut parts: Vec<&str> = group.split('.').collect();
    parts.reverse();
    format!("{}.{version}.{kind}", parts.join("."))
}

/// JSON with marks.
#[derive(Debug)]
pub(crate) struct Template {
    /// The text before each mark, and the name that the mark is for.
    parts: Vec<(Box<str>, usize)>,
    end: Box<str>,
}

impl Template {
    pub(crate) fn parse(text: &str) -> Template {
        let (mut parts, mut start) = (Vec::new(), 0);
        for (at, mark) in text.char_indices() {
            let name = u32::from(mark).wrapping_sub(u32::from(FIRST_MARK)) as usize;
            if name < COUNT {
                parts.push((Box::from(&text[start..at]), name));
                start = at + mark.len_utf8();
            }
        }
        Template { parts, end: Box::from(&text[start..]) }
    }

    pub(crate) fn fill(&self, names: &Names, out: &mut Vec<u8>) {
        for (before, name) in &self.parts {
            out.extend_from_slice(before.as_bytes());
            // Names need no escapes, but they are not ours.
            let name = &names.0[*name];
            if name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b" .-_".contains(&byte)) {
                out.extend_from_slice(name.as_bytes());
            } else {
                let mut quoted = Vec::new();
                write::string(name, &mut quoted);
                out.extend_from_slice(quoted.get(1..quoted.len() - 1).unwrap_or_default());
            }
        }
        out.extend_from_slice(self.end.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_is_filled_with_names() {
        let marks = Names::marks();
        let template = Template::parse(&format!("a {} of {}é{}", marks.kind(), marks.plural(), marks.kind()));
        let mut names = marks;
        names.0[3] = "Widget".into();
        names.0[2] = "wid\"gets".into();
        let mut out = Vec::new();
        template.fill(&names, &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), "a Widget of wid\\\"getséWidget");
    }

    #[test]
    fn definitions_are_named_by_the_group_in_reverse() {
        assert_eq!(definition_name("stable.example.com", "v1", "Foo"), "com.example.stable.v1.Foo");
        let names = Names::marks().renamed(|_| true);
        assert!(names.definition().ends_with("_v2") && names.list_definition().ends_with("_v2"));
    }
}
