//! Whether an object is what its schema says.
//!
//! A [`Validator`] is a schema compiled once more, without what only pruning and defaulting need. Nearly every object is valid, so
//! that is found out first, without paths, messages or memory. Only what is not valid is gone through again, in the
//! reference's order, to say why (`report`).

mod allowed;
mod email;
mod format;
mod number;
mod old;
mod report;

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use pintle_meta::field_path::Error;
use pintle_meta::value::{Key, Object};
use pintle_meta::{Node as Shape, Value};
use pintle_regex::Regex;
use pintle_runtime::Stopwatch;
use pintle_schema::ListType;
use pintle_schema::structural::{Additional, Json, Structural, Validation};

pub use email::is_email;
pub use format::is_known_format;

use self::allowed::Allowed;
use self::format::Check;
use self::number::{Number, Numbers, Range};
use super::change::Properties;

/// A schema, to validate objects.
#[derive(Debug)]
pub struct Validator {
    root: Node,
}

impl Validator {
    /// Nodes that nothing is asked of cost little; patterns are compiled when they are needed first.
    pub fn new(schema: &Structural) -> Validator {
        Validator { root: Node::new(schema, &mut Patterns::new()) }
    }

    /// Returns the errors of a new object.
    pub fn validate(&self, object: &Value) -> Vec<Error> {
        let valid = self.root.is_valid(object);
        if valid && !cfg!(debug_assertions) {
            return Vec::new();
        }
        let errors = report::errors(&self.root, None, object, None);
        debug_assert_eq!(errors.is_empty(), valid, "{errors:?}");
        errors
    }

    /// Returns the errors of an updated object. Invalid values that did not change are tolerated.
    pub fn validate_update(&self, new: &Value, old: &Value) -> Ratcheted {
        if self.root.is_valid(new) {
            Ratcheted::default()
        } else {
            ratcheted(|| report::errors(&self.root, None, new, Some(old)))
        }
    }

    /// The same for the status of an object alone, if it has one.
    pub fn validate_status_update(&self, new: &Value, old: &Value) -> Ratcheted {
        match (self.root.property("status"), new.get("status")) {
            (Some(node), Some(status)) if !node.is_valid(status) => {
                ratcheted(|| report::errors(node, Some("status"), status, old.get("status")))
            }
            _ => Ratcheted::default(),
        }
    }
}

/// The errors of an updated object that its old object did not have.
#[derive(Debug, Default)]
pub struct Ratcheted {
    pub errors: Vec<Error>,
    /// How long it took to find that out. What is right by itself is compared with nothing.
    pub took: Duration,
}

fn ratcheted(compare: impl FnOnce() -> Vec<Error>) -> Ratcheted {
    let begun = Stopwatch::start();
    let errors = compare();
    Ratcheted { errors, took: begun.elapsed() }
}

/// A node of a schema.
#[derive(Debug, Default)]
struct Node {
    kinds: Kinds,
    nullable: bool,
    /// The items of a list of maps are known by these of their fields.
    keys: Box<[Key]>,
    keyed: bool,
    items: Option<Box<Node>>,
    /// Sorted by name.
    properties: Box<[(Key, Node)]>,
    other: Other,
    asked: Option<Box<Asked>>,
}

/// Properties without a schema of their own.
#[derive(Debug, Default)]
enum Other {
    #[default]
    Anything,
    Nothing,
    Schema(Box<Node>),
}

/// Constraints on a value besides its type.
#[derive(Debug, Default)]
struct Asked {
    format: Option<Format>,
    numbers: Option<Numbers>,
    max_length: Option<i64>,
    min_length: Option<i64>,
    pattern: Option<Arc<Pattern>>,
    max_items: Option<i64>,
    min_items: Option<i64>,
    unique: bool,
    max_properties: Option<i64>,
    min_properties: Option<i64>,
    required: Box<[Key]>,
    values: Allowed,
    all_of: Box<[Node]>,
    any_of: Box<[Node]>,
    one_of: Box<[Node]>,
    not: Option<Node>,
}

/// A format that its type knows.
#[derive(Debug)]
struct Format {
    name: Key,
    /// For strings; the others are about numbers.
    check: Option<Check>,
}

/// The patterns of a schema by their text: one that stands at many places is compiled once.
type Patterns = HashMap<Box<str>, Arc<Pattern>>;

#[derive(Debug)]
struct Pattern {
    text: Box<str>,
    compiled: OnceLock<Result<Regex, String>>,
}

impl Pattern {
    fn compiled(&self) -> Result<&Regex, &str> {
        let compile = || Regex::new(&self.text).map_err(|error| error.to_string());
        self.compiled.get_or_init(compile).as_ref().map_err(String::as_str)
    }
}

/// A set of types.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Kinds(u8);

impl Kinds {
    fn of(schema: &Structural) -> Kinds {
        match (schema.int_or_string, schema.kind) {
            (true, _) => Kinds(Kinds::bit(Json::Integer) | Kinds::bit(Json::String)),
            (false, Some(kind)) => Kinds(Kinds::bit(kind)),
            (false, None) => Kinds(0),
        }
    }

    fn bit(kind: Json) -> u8 {
        1 << kind as u8
    }

    fn is_empty(self) -> bool {
        self.0 == 0
    }

    fn has(self, kind: Json) -> bool {
        self.0 & Kinds::bit(kind) != 0
    }

    /// As messages have it.
    fn names(self) -> Cow<'static, str> {
        use Json::{Array, Boolean, Integer, Number, Object, String};
        let all = [Integer, String, Object, Array, Number, Boolean];
        let mut names = all.into_iter().filter(|kind| self.has(*kind)).map(Json::name);
        match (names.next(), names.next()) {
            (Some(one), None) => one.into(),
            (Some(one), Some(two)) => format!("{one},{two}").into(),
            _ => "".into(),
        }
    }
}

/// A type that is not the one asked for.
struct WrongType {
    wanted: Cow<'static, str>,
    found: &'static str,
}

/// A violated constraint on a string.
enum WrongText<'n> {
    TooLong(i64),
    TooShort(i64),
    Pattern(&'n str),
    /// With what is wrong with the pattern.
    BadPattern(&'n str, &'n str),
}

impl Node {
    fn new(schema: &Structural, patterns: &mut Patterns) -> Node {
        let asked = Asked::new(schema, patterns);
        Node {
            kinds: Kinds::of(schema),
            nullable: schema.nullable,
            keyed: schema.list == Some(ListType::Map),
            keys: if schema.list == Some(ListType::Map) && schema.kind == Some(Json::Array) {
                schema.list_keys.clone()
            } else {
                Box::default()
            },
            items: schema.items.as_deref().map(|of| Box::new(Node::new(of, patterns))),
            properties: schema
                .properties
                .iter()
                .map(|(name, of)| (name.clone(), Node::new(of, patterns)))
                .collect(),
            other: match &schema.additional {
                None | Some(Additional::Bool(true)) => Other::Anything,
                Some(Additional::Bool(false)) => Other::Nothing,
                Some(Additional::Schema(of)) => Other::Schema(Box::new(Node::new(of, patterns))),
            },
            asked: asked.map(Box::new),
        }
    }

    fn property(&self, name: &str) -> Option<&Node> {
        let place = self.properties.binary_search_by(|(known, _)| known.as_str().cmp(name)).ok()?;
        Some(&self.properties[place].1)
    }

    /// The node for a property, be it one of its own or that of all others.
    fn field(&self, name: &str) -> Option<&Node> {
        self.property(name).or(match &self.other {
            Other::Schema(of) => Some(of),
            Other::Anything | Other::Nothing => None,
        })
    }

    fn is_valid(&self, value: &Value) -> bool {
        pintle_work::check();
        let asked = self.asked.as_deref();
        if value.is_null() {
            return self.takes_null() && asked.is_none_or(|asked| asked.values.is_empty());
        }
        if self.wrong_type(value).is_some() {
            return false;
        }
        let parts = match value.node() {
            Shape::List(items) => {
                self.items.as_deref().is_none_or(|of| items.iter().all(|item| of.is_valid(item)))
            }
            Shape::Object(object) => self.are_fields_valid(object),
            _ => true,
        };
        parts && asked.is_none_or(|asked| asked.is_met(value))
    }

    fn are_fields_valid(&self, object: &Object) -> bool {
        let mut properties = Properties::new(&self.properties);
        object.iter().all(|(name, value)| match (properties.find(name), &self.other) {
            (Some(of), _) => of.is_valid(value),
            (None, Other::Schema(of)) => of.is_valid(value),
            (None, Other::Anything) => true,
            (None, Other::Nothing) => false,
        })
    }

    fn takes_null(&self) -> bool {
        self.kinds.is_empty() || self.nullable
    }

    fn wrong_type(&self, value: &Value) -> Option<WrongType> {
        let format = self.asked.as_deref().and_then(|asked| asked.format.as_ref());
        if self.kinds.is_empty() && format.is_none() {
            return None;
        }
        let (kind, own_format) = kind_of(value);
        let fits = self.kinds.has(kind)
            || match value.node() {
                Shape::Int(_) => self.kinds.has(Json::Number),
                Shape::Float(float) => self.kinds.has(Json::Integer) && number::is_integer(float),
                _ => false,
            };
        if let Some(format) = format {
            let is_text = matches!(kind, Json::String | Json::Array);
            if !is_text && !fits && format.name != own_format {
                return Some(WrongType { wanted: format.name.to_string().into(), found: own_format });
            }
            // The reference leaves these to the format, which does not look at lists.
            if is_text && !self.kinds.has(Json::Number) && !self.kinds.has(Json::Integer) {
                return None;
            }
        }
        (!fits).then(|| WrongType { wanted: self.kinds.names(), found: kind.name() })
    }
}

impl Asked {
    /// Nothing where nothing is asked.
    fn new(schema: &Structural, patterns: &mut Patterns) -> Option<Asked> {
        let none = Validation::default();
        let of = schema.validation.as_deref();
        let format = of.and_then(|of| of.format.as_ref()).and_then(|name| Format::new(schema, name));
        let range =
            match (schema.int_or_string, schema.kind, format.as_ref().map(|format| format.name.as_str())) {
                (false, Some(Json::Integer), Some("int32")) => Range::Int32,
                (false, Some(Json::Integer), Some("int64")) => Range::Int64,
                (false, Some(Json::Integer), _) => Range::Int,
                (false, Some(Json::Number), Some("float")) => Range::Float32,
                _ => Range::Any,
            };
        let numbers = Numbers::new(range, of);
        if of.is_none() && numbers.is_none() {
            return None;
        }
        let of = of.unwrap_or(&none);
        let pattern = of.pattern.as_ref().map(|text| {
            let compiled = OnceLock::new();
            let new = || Arc::new(Pattern { text: text.clone(), compiled });
            patterns.entry(text.clone()).or_insert_with(new).clone()
        });
        let mut nodes = |nodes: &[Structural]| {
            nodes.iter().map(|node| Node::new(node, patterns)).collect::<Box<[Node]>>()
        };
        let (all_of, any_of, one_of) = (nodes(&of.all_of), nodes(&of.any_of), nodes(&of.one_of));
        Some(Asked {
            format,
            numbers,
            max_length: of.max_length,
            min_length: of.min_length,
            pattern,
            max_items: of.max_items,
            min_items: of.min_items,
            unique: of.unique_items,
            max_properties: of.max_properties,
            min_properties: of.min_properties,
            required: of.required.clone(),
            values: Allowed::new(of.enumeration.clone()),
            all_of,
            any_of,
            one_of,
            not: of.not.as_deref().map(|node| Node::new(node, patterns)),
        })
    }

    /// Whether a value that is not null is as asked.
    fn is_met(&self, value: &Value) -> bool {
        let own = match value.node() {
            Shape::String(text) => self.wrong_text(text).is_none() && self.has_format(text),
            Shape::Int(int) => self.is_number_valid(Number::Int(int)),
            Shape::Float(float) => self.is_number_valid(Number::Float(float)),
            Shape::List(items) => {
                let length = items.len() as i64;
                self.min_items.is_none_or(|min| length >= min)
                    && self.max_items.is_none_or(|max| length <= max)
                    && !(self.unique && super::lists::has_duplicates(items))
            }
            Shape::Object(object) => {
                let length = object.len() as i64;
                self.min_properties.is_none_or(|min| length >= min)
                    && self.max_properties.is_none_or(|max| length <= max)
                    && self.required.iter().all(|name| object.contains(name))
            }
            _ => true,
        };
        own && self.has_value(value)
            && self.all_of.iter().all(|node| node.is_valid(value))
            && (self.any_of.is_empty() || self.any_of.iter().any(|node| node.is_valid(value)))
            && (self.one_of.is_empty() || self.one_of.iter().filter(|node| node.is_valid(value)).count() == 1)
            && self.not.as_ref().is_none_or(|node| !node.is_valid(value))
    }

    fn is_number_valid(&self, number: Number) -> bool {
        let mut valid = true;
        if let Some(numbers) = &self.numbers {
            numbers.check(number, |_| valid = false);
        }
        valid
    }

    fn has_format(&self, text: &str) -> bool {
        self.format.as_ref().and_then(|format| format.check).is_none_or(|check| check(text))
    }

    /// The first thing that is wrong with a string.
    fn wrong_text(&self, text: &str) -> Option<WrongText<'_>> {
        if self.max_length.is_some() || self.min_length.is_some() {
            let length = length(text, self.max_length.unwrap_or(0), self.min_length.unwrap_or(0));
            if let Some(max) = self.max_length.filter(|max| length > *max) {
                return Some(WrongText::TooLong(max));
            }
            if let Some(min) = self.min_length.filter(|min| length < *min) {
                return Some(WrongText::TooShort(min));
            }
        }
        let pattern = self.pattern.as_ref()?;
        // A match takes the size of the pattern times the length of the text.
        pintle_work::check_now();
        match pattern.compiled() {
            Ok(regex) => (!regex.is_match(text)).then_some(WrongText::Pattern(&pattern.text)),
            Err(wrong) => Some(WrongText::BadPattern(&pattern.text, wrong)),
        }
    }

    /// Whether it is one of the values, if there are any.
    fn has_value(&self, value: &Value) -> bool {
        self.values.is_empty() || self.values.has(value)
    }
}

impl Format {
    /// Nothing if the type does not know it.
    fn new(schema: &Structural, name: &Key) -> Option<Format> {
        let kind = schema.kind.filter(|_| !schema.int_or_string);
        let known = is_known_format(kind, name);
        known.then(|| Format { name: name.clone(), check: format::find(name) })
    }
}

/// Number of characters. Often the number of bytes, which is known, is enough to see that it is between the limits.
fn length(text: &str, max: i64, min: i64) -> i64 {
    let bytes = text.len() as i64;
    if bytes <= max && bytes / 4 >= min { bytes } else { text.chars().count() as i64 }
}

/// The type of a value that is not null, and what the reference calls its format.
fn kind_of(value: &Value) -> (Json, &'static str) {
    match value.node() {
        Shape::Bool(_) => (Json::Boolean, ""),
        Shape::Int(_) => (Json::Integer, "int64"),
        Shape::Float(_) => (Json::Number, "float64"),
        Shape::Null | Shape::String(_) | Shape::Bytes(_) | Shape::Hollow => (Json::String, ""),
        Shape::List(_) => (Json::Array, ""),
        Shape::Object(_) | Shape::Raw(_) => (Json::Object, ""),
    }
}
