//! Internal types, parsed from `data/internal.facts` when the first message needs one. Only error messages use them,
//! so they are not compiled into tables: parsing takes a millisecond, once.

use std::collections::HashMap;
use std::sync::OnceLock;

use crate::graph::{self, Scalar, Type};

const FACTS: &str = include_str!("../../data/internal.facts");

/// Internal type. The format of the facts is described in `xtask/src/schema/internal.rs`.
#[derive(Debug)]
pub(super) enum Internal {
    Struct(Vec<Field>),
    Alias(Shape),
}

#[derive(Debug)]
pub(super) struct Field {
    /// Name in Go.
    pub(super) name: &'static str,
    pub(super) shape: Shape,
    pub(super) source: Source,
    /// Whether JSON replaces the field by its own fields.
    pub(super) embedded: bool,
    /// Whether it is a pointer that is never nil.
    pub(super) set: bool,
}

/// Position in an object of the storage version that an internal field is read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    Name(&'static str),
    /// Field of the enclosing object.
    Outer(&'static str),
    Same,
    /// The value itself, if it is of this JSON type.
    Itself(JsonType),
    Nowhere,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JsonType {
    Object,
    List,
    Bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Shape {
    Scalar(Scalar),
    Bytes,
    /// Internal type, by name.
    Internal(&'static str),
    Versioned(&'static Type),
    Pointer(Box<Shape>),
    List(Box<Shape>),
    Map(Box<Shape>, Box<Shape>),
}

/// Returns the internal type of a name such as `core.Pod`.
pub(super) fn find(name: &str) -> Option<&'static Internal> {
    all().get(name)
}

/// Returns the name of the internal struct of a versioned type.
pub(super) fn internal_of(versioned: &Type) -> Option<&'static str> {
    static NAMES: OnceLock<HashMap<&'static str, &'static str>> = OnceLock::new();
    let names = NAMES.get_or_init(|| {
        let pairs = FACTS.lines().filter_map(|line| line.strip_prefix("struct ")?.split_once(' '));
        pairs.map(|(internal, versioned)| (versioned, internal)).collect()
    });
    names.get(versioned.name).copied()
}

pub(super) fn all() -> &'static HashMap<&'static str, Internal> {
    static ALL: OnceLock<HashMap<&'static str, Internal>> = OnceLock::new();
    ALL.get_or_init(|| parse(FACTS))
}

/// Parses a Go type expression such as `[]core.Container`.
pub(super) fn shape(text: &str) -> Option<Shape> {
    all();
    parse_shape(text, |name| all().get_key_value(name).map(|(name, _)| *name))
}

/// Parses the facts. Invalid lines are skipped; a test checks that there are none.
fn parse(text: &'static str) -> HashMap<&'static str, Internal> {
    let mut types = HashMap::new();
    let mut current = "";
    for line in text.lines() {
        if let Some(field) = line.strip_prefix("  ") {
            if let (Some(Internal::Struct(fields)), Some(field)) =
                (types.get_mut(current), parse_field(field))
            {
                fields.push(field);
            }
            continue;
        }
        let mut words = line.split(' ');
        let (kind, name, of) = (words.next(), words.next(), words.next());
        match (kind, name, of) {
            (Some("struct"), Some(name), _) => {
                types.insert(name, Internal::Struct(Vec::new()));
                current = name;
            }
            (Some("alias"), Some(name), Some(of)) => {
                if let Some(of) = parse_shape(of, Some) {
                    types.insert(name, Internal::Alias(of));
                }
            }
            _ => {}
        }
    }
    types
}

fn parse_field(text: &'static str) -> Option<Field> {
    let mut words = text.split(' ');
    let name = words.next()?;
    let shape = parse_shape(words.next()?, Some)?;
    let source = words.next()?;
    let source = match (source, source.split_at_checked(1)) {
        ("-", _) => Source::Nowhere,
        (".", _) => Source::Same,
        ("@object", _) => Source::Itself(JsonType::Object),
        ("@list", _) => Source::Itself(JsonType::List),
        ("@bool", _) => Source::Itself(JsonType::Bool),
        (_, Some(("^", outer))) => Source::Outer(outer),
        _ => Source::Name(source),
    };
    let (name, embedded) = name.strip_prefix('*').map_or((name, false), |name| (name, true));
    Some(Field { name, shape, source, embedded, set: words.next() == Some("set") })
}

/// Parses a type expression; `internal` tells which names are internal types.
fn parse_shape<'a>(
    text: &'a str,
    internal: impl Fn(&'a str) -> Option<&'static str> + Copy,
) -> Option<Shape> {
    if let Some(of) = text.strip_prefix('*') {
        return Some(Shape::Pointer(Box::new(parse_shape(of, internal)?)));
    }
    if text == "[]byte" {
        return Some(Shape::Bytes);
    }
    if let Some(of) = text.strip_prefix("[]") {
        return Some(Shape::List(Box::new(parse_shape(of, internal)?)));
    }
    if let Some(rest) = text.strip_prefix("map[") {
        let (key, value) = rest.split_once(']')?;
        let (key, value) = (parse_shape(key, internal)?, parse_shape(value, internal)?);
        return Some(Shape::Map(Box::new(key), Box::new(value)));
    }
    Some(match text {
        "string" => Shape::Scalar(Scalar::String),
        "bool" => Shape::Scalar(Scalar::Bool),
        "int32" => Shape::Scalar(Scalar::Int32),
        "int" | "int64" => Shape::Scalar(Scalar::Int64),
        "float64" => Shape::Scalar(Scalar::Float64),
        "any" => Shape::Scalar(Scalar::Any),
        name => match graph::find(name) {
            Some(versioned) => Shape::Versioned(versioned),
            None => Shape::Internal(internal(name)?),
        },
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_line_of_the_facts_is_parsed() {
        let lines = |prefix: &str| FACTS.lines().filter(|line| line.starts_with(prefix)).count();
        let fields: usize = all().values().map(|found| fields_of(found).len()).sum();
        assert_eq!(all().len(), lines("struct ") + lines("alias "));
        assert_eq!(fields, lines("  "));
        assert!(fields > 2000, "{fields}");
    }

    fn fields_of(found: &Internal) -> &[Field] {
        match found {
            Internal::Struct(fields) => fields,
            Internal::Alias(_) => &[],
        }
    }

    fn names(shape: &Shape, out: &mut Vec<&'static str>) {
        match shape {
            Shape::Internal(name) => out.push(name),
            Shape::Pointer(of) | Shape::List(of) => names(of, out),
            Shape::Map(key, value) => {
                names(key, out);
                names(value, out);
            }
            _ => {}
        }
    }

    #[test]
    fn every_internal_struct_has_one_versioned_type() {
        for line in FACTS.lines().filter(|line| line.starts_with("struct ")) {
            let [_, internal, versioned] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
            let versioned = graph::find(versioned).unwrap();
            assert_eq!(internal_of(versioned), Some(internal));
        }
        assert_eq!(internal_of(graph::find("meta/v1.LabelSelector").unwrap()), None);
    }

    #[test]
    fn every_internal_type_of_a_field_is_declared() {
        for (owner, found) in all() {
            for field in fields_of(found).iter().filter(|field| field.source != Source::Nowhere) {
                let mut used = Vec::new();
                names(&field.shape, &mut used);
                assert!(used.iter().all(|name| find(name).is_some()), "{owner}.{}", field.name);
            }
        }
    }

    #[test]
    fn embedded_fields_do_not_hide_others() {
        fn flat(of: &'static str, out: &mut Vec<&'static str>) {
            for field in find(of).map(fields_of).unwrap_or_default() {
                match &field.shape {
                    Shape::Internal(embedded) if field.embedded => flat(embedded, out),
                    _ => out.push(field.name),
                }
            }
        }
        for name in all().keys() {
            let mut fields = Vec::new();
            flat(name, &mut fields);
            assert_eq!(fields.iter().collect::<HashSet<_>>().len(), fields.len(), "{name}");
        }
    }

    #[test]
    fn go_type_expressions_are_parsed() {
        let list = shape("[]core.Container").unwrap();
        assert_eq!(list, Shape::List(Box::new(Shape::Internal("core.Container"))));
        assert!(matches!(shape("*meta/v1.LabelSelector"), Some(Shape::Pointer(_))));
        assert!(matches!(shape("map[string][]byte"), Some(Shape::Map(_, value)) if *value == Shape::Bytes));
        assert_eq!(shape("core.Nothing"), None);
        assert_eq!(shape("map[string"), None);
    }
}
