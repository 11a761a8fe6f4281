//! The type of `self` in a rule: from the schema, with its maximum and minimum size.
//!
//! A node becomes a type only if its type is known all the way down: what is preserved without a schema is not visible to
//! rules, nor is a list or map of it. Objects that are resources of their own have `apiVersion`, `kind` and the names in
//! `metadata`, whatever their schema says.

use std::fmt::Write;
use std::sync::Arc;

use pintle_cel::{Field, ListKind, ObjectType, Range, Sizes, Type, escape};
use pintle_meta::value::Key;
use pintle_runtime::Random;
use pintle_schema::ListType;
use pintle_schema::structural::{Json, Structural, Validation};

/// The largest request there is, and so the largest of everything that no schema bounds.
pub(super) const LARGEST_REQUEST: i64 = 3 * 1024 * 1024;

/// Name of an object type until its real name is needed: a path as long as the schema is deep.
const PLACEHOLDER: &str = "selfType#";

/// Longer names of types are cut in messages.
const LONGEST_NAME: usize = 1000;

/// The type of a node and of everything below it.
#[derive(Debug)]
pub(super) struct Declared {
    /// Nodes are numbered downwards and in the order of their names.
    number: u32,
    pub(super) of: Type,
    /// Characters, items or entries at most.
    most: u64,
    /// Bytes of JSON at least.
    least: i64,
    inside: Inside,
}

#[derive(Debug)]
enum Inside {
    Nothing,
    Items(Arc<Declared>),
    Values(Arc<Declared>),
    Fields(Arc<Fields>),
}

/// An object's fields.
#[derive(Debug)]
struct Fields {
    name: Key,
    /// Sorted by the names that expressions have for them.
    seen: Box<[Seen]>,
    /// Properties that no expression can see, sorted.
    hidden: Box<[Key]>,
}

#[derive(Debug)]
struct Seen {
    /// Escaped; the property's name as it is where that cannot be.
    name: Key,
    property: Key,
    escaped: bool,
    of: Arc<Declared>,
}

impl ObjectType for Fields {
    fn name(&self) -> &str {
        &self.name
    }

    fn field(&self, name: &str) -> Option<Field> {
        let seen = match self.find(name) {
            Some(seen) => seen,
            // Words of the language may be written as they are after a dot.
            None => self.find(&escape(name).filter(|word| *word == format!("__{name}__"))?)?,
        };
        Some(Field { property: seen.property.clone(), of: seen.of.of.clone() })
    }

    fn hides(&self, property: &str) -> bool {
        self.hidden.binary_search_by(|known| known.as_str().cmp(property)).is_ok()
    }
}

impl Fields {
    fn find(&self, name: &str) -> Option<&Seen> {
        let place = self.seen.binary_search_by(|seen| seen.name.as_str().cmp(name)).ok()?;
        Some(&self.seen[place])
    }
}

/// Whether rules can see values of a schema.
pub(super) fn is_visible(schema: &Structural) -> bool {
    let mut schema = schema;
    loop {
        if schema.int_or_string {
            return true;
        }
        let inside = match schema.kind {
            None => return false,
            Some(Json::Array) => schema.items.as_deref(),
            Some(Json::Object) => match schema.additional_schema() {
                None => return true,
                inside => inside,
            },
            Some(_) => return true,
        };
        match inside {
            Some(inside) => schema = inside,
            None => return false,
        }
    }
}

impl Declared {
    /// The type of what a schema describes; nothing if rules cannot see it.
    pub(super) fn of(schema: &Structural, is_resource: bool) -> Option<Arc<Declared>> {
        Numbers(0).declare(schema, is_resource)
    }

    pub(super) fn items(&self) -> Option<&Arc<Declared>> {
        match &self.inside {
            Inside::Items(of) | Inside::Values(of) => Some(of),
            _ => None,
        }
    }

    /// The type of a property, by the name that the schema has for it.
    pub(super) fn property(&self, property: &str) -> Option<&Arc<Declared>> {
        let Inside::Fields(fields) = &self.inside else { return None };
        let found = match escape(property) {
            Some(name) => fields.find(&name),
            None => fields.find(property),
        };
        found.map(|seen| &seen.of)
    }

    /// How often such a value can be in the largest request.
    pub(super) fn max_occurrences(&self) -> u64 {
        (LARGEST_REQUEST / (self.least + 1)) as u64
    }

    /// A message with names of types as people know them: paths that begin with a changing number, so that no rule can rely on
    /// them.
    pub(super) fn named(&self, message: &str) -> String {
        self.named_from(message, || format!("selfType{}", Random::system().number() % 1_000_000_000))
    }

    /// A message with names of types that begin with that of the root.
    fn named_from(&self, message: &str, root: impl Fn() -> String) -> String {
        let mut parts = message.split(PLACEHOLDER);
        let mut named = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let digits = part.bytes().take_while(u8::is_ascii_digit).count();
            match part[..digits].parse::<u32>() {
                Ok(number) => {
                    named.push_str(&root());
                    self.write_path(number, &mut named);
                }
                Err(_) => named.push_str(PLACEHOLDER),
            }
            named.push_str(&part[digits..]);
        }
        named
    }

    /// Writes the path from the root to a node.
    fn write_path(&self, number: u32, out: &mut String) {
        let start = out.len();
        let mut node = self;
        while node.number < number && out.len() - start < LONGEST_NAME {
            node = match &node.inside {
                Inside::Nothing => return,
                Inside::Items(of) => {
                    out.push_str(".@idx");
                    of
                }
                Inside::Values(of) => {
                    out.push_str(".@elem");
                    of
                }
                Inside::Fields(fields) => {
                    let place = fields.seen.partition_point(|seen| seen.of.number <= number);
                    let Some(seen) = place.checked_sub(1).map(|place| &fields.seen[place]) else { return };
                    let name: String = seen.name.chars().take(LONGEST_NAME).collect();
                    let _ = write!(out, ".{name}");
                    &seen.of
                }
            };
        }
    }
}

/// The type of a custom resource, for expressions that are not rules of its own.
#[derive(Clone, Debug)]
pub struct ResourceType(Arc<Declared>);

impl ResourceType {
    /// Returns the type of a schema; `None` if expressions cannot see its objects.
    pub fn of(schema: &Structural) -> Option<ResourceType> {
        Declared::of(schema, true).map(ResourceType)
    }

    pub fn declared(&self) -> Type {
        self.0.of.clone()
    }

    /// Returns a message of the checker with names of types that begin with that of the root.
    pub fn named(&self, message: &str, root: &str) -> String {
        self.0.named_from(message, || root.to_owned())
    }
}

/// Numbers nodes as they are declared.
struct Numbers(u32);

impl Numbers {
    fn next(&mut self) -> u32 {
        self.0 += 1;
        self.0
    }

    fn declare(&mut self, schema: &Structural, is_resource: bool) -> Option<Arc<Declared>> {
        if !is_visible(schema) {
            return None;
        }
        let number = self.next();
        let plain = |of: Type, most: u64, least: i64| {
            Some(Arc::new(Declared { number, of, most, least, inside: Inside::Nothing }))
        };
        let asked = Asked(schema.validation.as_deref());
        if schema.int_or_string {
            let most = asked.max_length().map_or(UNBOUNDED_TEXT, |length| length.wrapping_mul(4));
            return plain(Type::Dyn, most, 1);
        }
        match schema.kind? {
            Json::Array => {
                let items = schema.items.as_deref()?;
                let inside = self.declare(items, items.embedded)?;
                let unbounded = (LARGEST_REQUEST - 2) / (inside.least + 1);
                let most = asked.max_items().unwrap_or(unbounded as u64);
                let of = Type::list_of_kind(inside.of.clone(), list_kind(schema));
                Some(Arc::new(Declared { number, of, most, least: 2, inside: Inside::Items(inside) }))
            }
            Json::Object => match schema.additional_schema() {
                Some(values) => {
                    let inside = self.declare(values, values.embedded)?;
                    // Two quotes, two characters of a key, a colon and a comma.
                    let unbounded = (LARGEST_REQUEST - 2) / (inside.least + 6);
                    let most = asked.max_properties().unwrap_or(unbounded as u64);
                    let of = Type::map(Type::String, inside.of.clone());
                    Some(Arc::new(Declared { number, of, most, least: 2, inside: Inside::Values(inside) }))
                }
                None => Some(self.object(number, schema, is_resource)),
            },
            Json::String => match asked.format() {
                "byte" => plain(Type::Bytes, asked.max_length().unwrap_or(UNBOUNDED_TEXT), 2),
                "duration" => plain(Type::Duration, 32, 3),
                "date" => plain(Type::Timestamp, 12, 12),
                "date-time" => plain(Type::Timestamp, 32, 21),
                _ => {
                    let most = match (asked.max_length(), asked.longest_choice()) {
                        (Some(length), _) => length.wrapping_mul(4),
                        (None, Some(longest)) => longest,
                        (None, None) => UNBOUNDED_TEXT,
                    };
                    plain(Type::String, most, 2)
                }
            },
            Json::Boolean => plain(Type::Bool, 0, 4),
            Json::Number => plain(Type::Double, 0, 1),
            Json::Integer => plain(Type::Int, 0, 1),
        }
    }

    fn object(&mut self, number: u32, schema: &Structural, is_resource: bool) -> Arc<Declared> {
        let text = Structural { kind: Some(Json::String), ..Structural::default() };
        let replaced = (is_resource && !says_what_resources_have(schema)).then(|| {
            let names = ["generateName", "name"].map(|name| (Key::new_static(name), text.clone()));
            let kind = Some(Json::Object);
            let metadata = Structural { kind, properties: names.into(), ..Structural::default() };
            [("apiVersion", text.clone()), ("kind", text), ("metadata", metadata)]
        });
        let replaced = replaced.as_ref().map_or(&[][..], |replaced| &replaced[..]);
        let is_replaced = |name: &str| replaced.iter().any(|(known, _)| *known == name);
        let own = schema.properties.iter().filter(|(name, _)| !is_replaced(name));
        let added = replaced.iter().map(|(name, schema)| (Key::new_static(name), schema));
        let mut properties: Vec<(Key, bool, Key, &Structural)> = own
            .map(|(name, schema)| (name.clone(), schema))
            .chain(added)
            .map(|(property, schema)| match escape(&property) {
                Some(name) if name == property => (property.clone(), true, property, schema),
                Some(name) => (name.into(), true, property, schema),
                None => (property.clone(), false, property, schema),
            })
            .collect();
        properties.sort_by(|a, b| a.0.cmp(&b.0));

        let mut required: Vec<&str> = Vec::new();
        if let Some(validation) = &schema.validation {
            required.extend(validation.required.iter().map(Key::as_str));
            required.sort_unstable();
        }
        let (mut seen, mut hidden) = (Vec::new(), Vec::new());
        let mut least = 2;
        for (name, escaped, property, schema) in properties {
            let Some(of) = self.declare(schema, schema.embedded) else {
                hidden.push(property);
                continue;
            };
            // Defaults are filled in by the server.
            let has_default = schema.default.as_ref().is_some_and(|default| !default.is_null());
            if !has_default && required.binary_search(&property.as_str()).is_ok() {
                least += property.len() as i64 + of.least + 4;
            }
            seen.push(Seen { name, property, escaped, of });
        }
        hidden.sort_unstable();
        let name = Key::from(format!("{PLACEHOLDER}{number}"));
        let fields = Arc::new(Fields { name, seen: seen.into(), hidden: hidden.into() });
        let of = Type::Object(Arc::<Fields>::clone(&fields));
        Arc::new(Declared { number, of, most: 0, least, inside: Inside::Fields(fields) })
    }
}

/// The longest text of a request, without its quotes.
const UNBOUNDED_TEXT: u64 = (LARGEST_REQUEST - 2) as u64;

fn list_kind(schema: &Structural) -> ListKind {
    match schema.list {
        Some(ListType::Set) => ListKind::Set,
        Some(ListType::Map) => ListKind::Map(schema.list_keys.to_vec()),
        Some(ListType::Atomic) | None => ListKind::Atomic,
    }
}

/// Whether a schema has everything that rules may ask of a resource, so that it stays as it is.
fn says_what_resources_have(schema: &Structural) -> bool {
    let is = |schema: &Structural, name: &str, kind: Json| {
        schema.property(name).is_some_and(|property| property.kind == Some(kind))
    };
    is(schema, "kind", Json::String)
        && is(schema, "apiVersion", Json::String)
        && is(schema, "metadata", Json::Object)
        && schema.property("metadata").is_some_and(|metadata| {
            is(metadata, "name", Json::String) && is(metadata, "generateName", Json::String)
        })
}

/// Bounds that a schema gives; what is below zero is zero.
struct Asked<'s>(Option<&'s Validation>);

impl Asked<'_> {
    fn bound(&self, of: impl Fn(&Validation) -> Option<i64>) -> Option<u64> {
        self.0.and_then(of).map(|bound| bound.max(0) as u64)
    }

    fn max_length(&self) -> Option<u64> {
        self.bound(|asked| asked.max_length)
    }

    fn max_items(&self) -> Option<u64> {
        self.bound(|asked| asked.max_items)
    }

    fn max_properties(&self) -> Option<u64> {
        self.bound(|asked| asked.max_properties)
    }

    fn format(&self) -> &str {
        self.0.and_then(|asked| asked.format.as_deref()).unwrap_or_default()
    }

    fn longest_choice(&self) -> Option<u64> {
        let choices = &self.0?.enumeration;
        let lengths = choices.iter().map(|choice| choice.as_str().map_or(0, str::len) as u64);
        lengths.max()
    }
}

/// Sizes by path; the first name is a variable, and all variables are of this type.
impl Sizes for Declared {
    fn size(&self, path: &[String], _: &Type) -> Option<Range> {
        let mut node = self;
        let mut names = path.get(1..)?.iter();
        while let Some(name) = names.next() {
            node = match (name.as_str(), &node.inside) {
                ("@items" | "@values", Inside::Items(of) | Inside::Values(of)) => of,
                // Nothing says how long keys are.
                ("@keys", Inside::Values(_)) => return names.next().is_none().then_some(Range::fixed(0)),
                (name, Inside::Fields(fields)) => {
                    let seen = fields.find(name).filter(|seen| seen.escaped)?;
                    &seen.of
                }
                _ => return None,
            };
        }
        Some(Range { min: 0, max: node.most })
    }
}
