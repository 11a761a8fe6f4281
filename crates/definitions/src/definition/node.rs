//! A schema as a definition has it, field by field.

use pintle_meta::Value;

/// A `JSONSchemaProps`, as decoders make it: what is zero is not there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Schema<'a>(pub(crate) &'a Value);

/// `JSONSchemaPropsOrArray`.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Items<'a> {
    One(Schema<'a>),
    Many(&'a [Value]),
}

/// `JSONSchemaPropsOrBool`.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Additional<'a> {
    Bool(bool),
    Schema(Schema<'a>),
}

impl<'a> Schema<'a> {
    /// Returns a field that is there and not null; Go's nil and absent pointers are the same.
    pub(crate) fn get(self, field: &str) -> Option<&'a Value> {
        self.0.get(field).filter(|value| !value.is_null())
    }

    pub(crate) fn has(self, field: &str) -> bool {
        self.get(field).is_some()
    }

    pub(crate) fn text(self, field: &str) -> &'a str {
        self.optional(field).unwrap_or_default()
    }

    pub(crate) fn optional(self, field: &str) -> Option<&'a str> {
        self.get(field).and_then(Value::as_str)
    }

    pub(crate) fn kind(self) -> &'a str {
        self.text("type")
    }

    pub(crate) fn flag(self, field: &str) -> bool {
        self.get(field).and_then(Value::as_bool) == Some(true)
    }

    pub(crate) fn list(self, field: &str) -> &'a [Value] {
        self.get(field).and_then(Value::as_list).unwrap_or_default()
    }

    pub(crate) fn texts(self, field: &str) -> impl Iterator<Item = &'a str> {
        self.list(field).iter().filter_map(Value::as_str)
    }

    pub(crate) fn items(self) -> Option<Items<'a>> {
        let items = self.get("items")?;
        Some(match items.as_list() {
            Some(many) => Items::Many(many),
            None => Items::One(Schema(items)),
        })
    }

    /// The schema of all items, if there is one.
    pub(crate) fn item(self) -> Option<Schema<'a>> {
        match self.items()? {
            Items::One(item) => Some(item),
            Items::Many(_) => None,
        }
    }

    pub(crate) fn additional(self) -> Option<Additional<'a>> {
        let given = self.get("additionalProperties")?;
        Some(match given.as_bool() {
            Some(allowed) => Additional::Bool(allowed),
            None => Additional::Schema(Schema(given)),
        })
    }

    /// The schemas of a map: `properties`, `definitions`, `patternProperties`. Of `dependencies`, those that are schemas.
    pub(crate) fn named(self, field: &str) -> impl Iterator<Item = (&'a str, Schema<'a>)> + use<'a> {
        let map = self.get(field).and_then(Value::as_object);
        let entries = map.into_iter().flat_map(|map| map.iter());
        entries
            .filter(|(_, schema)| schema.as_object().is_some())
            .map(|(name, schema)| (name, Schema(schema)))
    }

    pub(crate) fn property(self, name: &str) -> Option<Schema<'a>> {
        self.get("properties")?.get(name).map(Schema)
    }

    pub(crate) fn has_properties(self) -> bool {
        self.get("properties").and_then(Value::as_object).is_some_and(|map| !map.is_empty())
    }

    /// The schemas of a list: `allOf`, `anyOf`, `oneOf`.
    pub(crate) fn each(self, field: &str) -> impl ExactSizeIterator<Item = Schema<'a>> + use<'a> {
        self.list(field).iter().map(Schema)
    }

    /// A lone schema: `not`.
    pub(crate) fn one(self, field: &str) -> Option<Schema<'a>> {
        self.get(field).filter(|schema| schema.as_object().is_some()).map(Schema)
    }

    /// Whether a field has something other than its zero.
    pub(crate) fn is_set(self, field: &str) -> bool {
        use pintle_meta::Node;
        self.get(field).is_some_and(|value| match value.node() {
            Node::String(text) => !text.is_empty() || is_pointer(field),
            Node::Bool(set) => set || is_pointer(field),
            Node::List(items) => !items.is_empty() || is_pointer(field),
            Node::Object(fields) => !fields.is_empty() || is_pointer(field),
            _ => true,
        })
    }

    /// Whether nothing but some of these fields is set.
    pub(crate) fn has_only(self, fields: &[&str]) -> bool {
        let Some(object) = self.0.as_object() else { return true };
        object.keys().all(|field| fields.contains(&field) || !self.is_set(field))
    }

    /// Whether this schema or one within it is such.
    pub(crate) fn any(self, is_such: &mut dyn FnMut(Schema<'a>) -> bool) -> bool {
        if is_such(self) {
            return true;
        }
        let of_items = match self.items() {
            Some(Items::One(item)) => item.any(is_such),
            Some(Items::Many(items)) => items.iter().any(|item| Schema(item).any(is_such)),
            None => false,
        };
        of_items
            || ["allOf", "anyOf", "oneOf"].into_iter().any(|of| self.each(of).any(|of| of.any(is_such)))
            || self.one("not").is_some_and(|not| not.any(is_such))
            || self.named("properties").any(|(_, of)| of.any(is_such))
            || self.one("additionalProperties").is_some_and(|of| of.any(is_such))
            || self.named("patternProperties").any(|(_, of)| of.any(is_such))
            || self.one("additionalItems").is_some_and(|of| of.any(is_such))
            || self.named("definitions").any(|(_, of)| of.any(is_such))
            || self.named("dependencies").any(|(_, of)| of.any(is_such))
    }
}

/// Fields that are pointers in Go, where a zero is something.
fn is_pointer(field: &str) -> bool {
    matches!(
        field,
        "$ref"
            | "x-kubernetes-preserve-unknown-fields"
            | "x-kubernetes-list-type"
            | "x-kubernetes-map-type"
            | "additionalProperties"
            | "additionalItems"
            | "items"
            | "not"
            | "externalDocs"
    )
}

/// The schemas of a definition's spec: the common one, then those of versions.
pub(crate) fn schemas(spec: &Value) -> impl Iterator<Item = Schema<'_>> {
    let common = spec.at(&["validation", "openAPIV3Schema"]);
    let versions = spec.items_at(&["versions"]).iter();
    let each = versions.filter_map(|version| version.at(&["schema", "openAPIV3Schema"]));
    common.into_iter().chain(each).filter(|schema| !schema.is_null()).map(Schema)
}
