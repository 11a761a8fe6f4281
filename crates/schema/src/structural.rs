//! Structural schemas of CustomResourceDefinitions, compiled.
//!
//! A node has a type, children, and value validations ([`Validation`]). Nodes within `allOf`, `anyOf`, `oneOf` and
//! `not` are nodes too, of which only the validations count. Descriptions, titles and examples are dropped: OpenAPI
//! documents are built from the definition itself.

use pintle_meta::Value;
use pintle_meta::value::Key;

use crate::graph::ListType;

/// Node of a schema with its children.
#[derive(Clone, Debug, Default)]
pub struct Structural {
    /// `None` for any type: int-or-string, or preserved unknown fields.
    pub kind: Option<Json>,
    pub nullable: bool,
    /// Unknown fields are preserved, here and below, until a node specifies fields again.
    pub preserves_unknown: bool,
    /// Embedded resource with its own kind, apiVersion and metadata.
    pub embedded: bool,
    pub int_or_string: bool,
    /// List semantics; `None` for a list that is atomic by default.
    pub list: Option<ListType>,
    /// Keys of a [`ListType::Map`].
    pub list_keys: Box<[Key]>,
    /// Owned and replaced as a whole.
    pub atomic_map: bool,
    pub items: Option<Box<Structural>>,
    /// Sorted by name.
    pub properties: Box<[(Key, Structural)]>,
    pub additional: Option<Additional>,
    pub default: Option<Value>,
    pub validation: Option<Box<Validation>>,
    /// `x-kubernetes-validations`, unparsed.
    pub rules: Box<[Rule]>,
    pub marks: Marks,
}

/// Features of a node and everything below it, so that subtrees of an object can be skipped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    pub defaults: bool,
    pub embedded: bool,
    /// Lists with set or map semantics.
    pub keyed_lists: bool,
}

/// JSON types as schemas name them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Json {
    Object,
    Array,
    String,
    Integer,
    Number,
    Boolean,
}

/// `additionalProperties`.
#[derive(Clone, Debug)]
pub enum Additional {
    /// All allowed, or none.
    Bool(bool),
    Schema(Box<Structural>),
}

/// Value validations beside the type.
#[derive(Clone, Debug, Default)]
pub struct Validation {
    pub format: Option<Key>,
    pub maximum: Option<f64>,
    pub exclusive_maximum: bool,
    pub minimum: Option<f64>,
    pub exclusive_minimum: bool,
    pub max_length: Option<i64>,
    pub min_length: Option<i64>,
    pub pattern: Option<Box<str>>,
    pub max_items: Option<i64>,
    pub min_items: Option<i64>,
    pub unique_items: bool,
    pub multiple_of: Option<f64>,
    pub enumeration: Box<[Value]>,
    pub max_properties: Option<i64>,
    pub min_properties: Option<i64>,
    pub required: Box<[Key]>,
    pub all_of: Box<[Structural]>,
    pub any_of: Box<[Structural]>,
    pub one_of: Box<[Structural]>,
    pub not: Option<Box<Structural>>,
}

/// CEL validation rule.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rule {
    pub rule: Box<str>,
    pub message: Box<str>,
    pub message_expression: Box<str>,
    pub reason: Option<Box<str>>,
    pub field_path: Box<str>,
    pub optional_old_self: Option<bool>,
}

/// Decodes JSON text by the rules of `Unstructured`.
pub type Read = fn(&[u8]) -> Option<Value>;

impl Structural {
    /// Compiles a `JSONSchemaProps`. A schema that is not structural is an error. Embedded JSON is raw text, which
    /// `read` decodes; undecodable text counts as null.
    pub fn compile(schema: &Value, read: Read) -> Result<Structural, String> {
        let mut node = Structural::default();
        node.fill(schema, read)?;
        Ok(node)
    }

    /// Fills a node in index: schemas are as deep as decoders allow, and a node is large.
    fn fill(&mut self, schema: &Value, read: Read) -> Result<(), String> {
        self.set_fields(schema, read)?;
        let given = |name: &str| schema.get(name).filter(|given| !given.is_null());
        if let Some(items) = given("items") {
            self.items.insert(Box::default()).fill(items, read)?;
        }
        if let Some(named) = given("properties").and_then(Value::as_object) {
            let mut properties: Vec<(Key, Structural)> =
                named.entries().iter().map(|(name, _)| (name.clone(), Structural::default())).collect();
            for ((_, node), (_, schema)) in properties.iter_mut().zip(named.entries()) {
                node.fill(schema, read)?;
            }
            properties.sort_by(|(a, _), (b, _)| a.cmp(b));
            self.properties = properties.into();
        }
        if let Some(Additional::Schema(node)) = &mut self.additional
            && let Some(schema) = given("additionalProperties")
        {
            node.fill(schema, read)?;
        }
        if let Some(validation) = &mut self.validation {
            for (nodes, name) in [
                (&mut validation.all_of, "allOf"),
                (&mut validation.any_of, "anyOf"),
                (&mut validation.one_of, "oneOf"),
            ] {
                for (node, schema) in nodes.iter_mut().zip(schema.items_at(&[name])) {
                    node.fill(schema, read)?;
                }
            }
            if let (Some(node), Some(schema)) = (&mut validation.not, given("not")) {
                node.fill(schema, read)?;
            }
        }
        self.marks = self.mark();
        Ok(())
    }

    /// Sets all fields of a node, with empty nodes as children.
    fn set_fields(&mut self, schema: &Value, read: Read) -> Result<(), String> {
        refuse(schema)?;
        let flag = |name: &str| schema.get(name).and_then(Value::as_bool) == Some(true);
        let preserves = schema.get("x-kubernetes-preserve-unknown-fields").and_then(Value::as_bool);
        if preserves == Some(false) {
            let name = "x-kubernetes-preserve-unknown-fields";
            return Err(format!("internal error: '{name}' must be true or undefined"));
        }
        if schema.get("items").is_some_and(|items| items.as_list().is_some()) {
            return Err("OpenAPIV3Schema 'items' must be a schema, but is an array".into());
        }
        let additional = schema.get("additionalProperties").filter(|given| !given.is_null());
        self.additional = additional.map(|given| match given.as_bool() {
            Some(allowed) => Additional::Bool(allowed),
            None => Additional::Schema(Box::default()),
        });
        self.kind = Json::named(schema.text_at(&["type"]));
        self.nullable = flag("nullable");
        self.preserves_unknown = preserves.is_some();
        self.embedded = flag("x-kubernetes-embedded-resource");
        self.int_or_string = flag("x-kubernetes-int-or-string");
        self.list = match schema.text_at(&["x-kubernetes-list-type"]) {
            "atomic" => Some(ListType::Atomic),
            "set" => Some(ListType::Set),
            "map" => Some(ListType::Map),
            _ => None,
        };
        self.list_keys = texts(schema, "x-kubernetes-list-map-keys");
        self.atomic_map = schema.text_at(&["x-kubernetes-map-type"]) == "atomic";
        // A null default counts as none.
        self.default =
            schema.get("default").map(|given| plain(given, read)).filter(|default| !default.is_null());
        self.rules = schema.items_at(&["x-kubernetes-validations"]).iter().map(rule).collect();
        self.validation = Validation::of(schema, read);
        Ok(())
    }

    /// Computes the marks from those of the children.
    fn mark(&self) -> Marks {
        let own = Marks {
            defaults: self.default.is_some(),
            embedded: self.embedded,
            keyed_lists: matches!(self.list, Some(ListType::Set | ListType::Map)),
        };
        let below = self.items.as_deref().into_iter().chain(self.additional_schema());
        let below = below.chain(self.properties.iter().map(|(_, node)| node));
        below.map(|node| node.marks).fold(own, |a, b| Marks {
            defaults: a.defaults || b.defaults,
            embedded: a.embedded || b.embedded,
            keyed_lists: a.keyed_lists || b.keyed_lists,
        })
    }

    pub fn property(&self, name: &str) -> Option<&Structural> {
        let index = self.properties.binary_search_by(|(known, _)| known.as_str().cmp(name)).ok()?;
        Some(&self.properties[index].1)
    }

    /// Returns the schema of properties without one of their own.
    pub fn additional_schema(&self) -> Option<&Structural> {
        match &self.additional {
            Some(Additional::Schema(schema)) => Some(schema),
            _ => None,
        }
    }
}

impl Json {
    pub fn named(name: &str) -> Option<Json> {
        Some(match name {
            "object" => Json::Object,
            "array" => Json::Array,
            "string" => Json::String,
            "integer" => Json::Integer,
            "number" => Json::Number,
            "boolean" => Json::Boolean,
            _ => return None,
        })
    }

    pub fn name(self) -> &'static str {
        match self {
            Json::Object => "object",
            Json::Array => "array",
            Json::String => "string",
            Json::Integer => "integer",
            Json::Number => "number",
            Json::Boolean => "boolean",
        }
    }
}

impl Validation {
    /// Returns `None` if there are no validations. Nodes in it are empty.
    fn of(schema: &Value, read: Read) -> Option<Box<Validation>> {
        const FIELDS: [&str; 20] = [
            "format",
            "maximum",
            "exclusiveMaximum",
            "minimum",
            "exclusiveMinimum",
            "maxLength",
            "minLength",
            "pattern",
            "maxItems",
            "minItems",
            "uniqueItems",
            "multipleOf",
            "enum",
            "maxProperties",
            "minProperties",
            "required",
            "allOf",
            "anyOf",
            "oneOf",
            "not",
        ];
        if !FIELDS.iter().any(|field| schema.get(field).is_some()) {
            return None;
        }
        let flag = |name: &str| schema.get(name).and_then(Value::as_bool) == Some(true);
        let number = |name: &str| schema.get(name).and_then(Value::as_f64);
        let integer = |name: &str| schema.get(name).and_then(Value::as_i64);
        let some = |name: &str| Some(schema.text_at(&[name])).filter(|text| !text.is_empty());
        let nodes =
            |name: &str| schema.items_at(&[name]).iter().map(|_| Structural::default()).collect::<Box<[_]>>();
        let not = schema.get("not").filter(|not| !not.is_null());
        Some(Box::new(Validation {
            format: some("format").map(Key::from),
            maximum: number("maximum"),
            exclusive_maximum: flag("exclusiveMaximum"),
            minimum: number("minimum"),
            exclusive_minimum: flag("exclusiveMinimum"),
            max_length: integer("maxLength"),
            min_length: integer("minLength"),
            pattern: some("pattern").map(Box::from),
            max_items: integer("maxItems"),
            min_items: integer("minItems"),
            unique_items: flag("uniqueItems"),
            multiple_of: number("multipleOf"),
            enumeration: schema.items_at(&["enum"]).iter().map(|given| plain(given, read)).collect(),
            max_properties: integer("maxProperties"),
            min_properties: integer("minProperties"),
            required: texts(schema, "required"),
            all_of: nodes("allOf"),
            any_of: nodes("anyOf"),
            one_of: nodes("oneOf"),
            not: not.map(|_| Box::default()),
        }))
    }
}

/// Rejects keywords that no structural schema has.
fn refuse(schema: &Value) -> Result<(), String> {
    let is_there = |name: &str| {
        schema.get(name).is_some_and(|given| match given.node() {
            pintle_meta::Node::Null => false,
            pintle_meta::Node::String(text) => !text.is_empty(),
            pintle_meta::Node::Object(object) => !object.is_empty() || name == "additionalItems",
            _ => true,
        })
    };
    let names = [
        ("id", "id"),
        ("$schema", "schema"),
        ("$ref", "$ref"),
        ("patternProperties", "patternProperties"),
        ("dependencies", "dependencies"),
        ("additionalItems", "additionalItems"),
        ("definitions", "definitions"),
    ];
    match names.into_iter().find(|(name, _)| is_there(name)) {
        Some((_, shown)) => Err(format!("OpenAPIV3Schema '{shown}' is not supported")),
        None => Ok(()),
    }
}

fn rule(given: &Value) -> Rule {
    let text = |name: &str| Box::from(given.text_at(&[name]));
    Rule {
        rule: text("rule"),
        message: text("message"),
        message_expression: text("messageExpression"),
        reason: given.get("reason").and_then(Value::as_str).map(Box::from),
        field_path: text("fieldPath"),
        optional_old_self: given.get("optionalOldSelf").and_then(Value::as_bool),
    }
}

fn texts(schema: &Value, name: &str) -> Box<[Key]> {
    schema.items_at(&[name]).iter().filter_map(|text| text.as_str().map(Key::from)).collect()
}

/// Decodes embedded JSON, which definitions store as raw text.
fn plain(given: &Value, read: Read) -> Value {
    match given.as_raw() {
        Some(text) => read(text).unwrap_or(Value::NULL),
        None => given.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Converts to a tree as `Unstructured` has it.
    fn untyped(json: &serde_json::Value) -> Value {
        use serde_json::Value as J;
        match json {
            J::Null => Value::NULL,
            J::Bool(value) => (*value).into(),
            J::Number(number) => match number.as_i64() {
                Some(value) => value.into(),
                None => number.as_f64().unwrap_or_default().into(),
            },
            J::String(text) => text.as_str().into(),
            J::Array(items) => Value::list(items.iter().map(untyped).collect()),
            J::Object(fields) => {
                let fields = fields.iter().map(|(name, value)| (Key::from(name.as_str()), untyped(value)));
                Value::object(pintle_meta::Object::from_unsorted(fields.collect()))
            }
        }
    }

    fn compile(schema: &Value) -> Result<Structural, String> {
        Structural::compile(schema, |text| Some(untyped(&serde_json::from_slice(text).ok()?)))
    }

    fn schema(text: &str) -> Value {
        untyped(&serde_json::from_str(text).unwrap())
    }

    #[test]
    fn a_schema_compiles_to_nodes() {
        let text = r#"{"type":"object","required":["spec"],"properties":{"spec":{"type":"object","properties":{
            "ports":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["port"],
              "items":{"type":"object","properties":{"port":{"type":"integer","minimum":1}}}},
            "labels":{"type":"object","additionalProperties":{"type":"string"}},
            "any":{"x-kubernetes-preserve-unknown-fields":true}},
            "x-kubernetes-validations":[{"rule":"self.x > 1","message":"no"}]}}}"#;
        let root = compile(&schema(text)).unwrap();
        assert_eq!(root.kind, Some(Json::Object));
        assert_eq!(root.validation.as_ref().unwrap().required.len(), 1);
        let spec = root.property("spec").unwrap();
        assert_eq!(&*spec.rules[0].rule, "self.x > 1");
        let ports = spec.property("ports").unwrap();
        assert_eq!(ports.list, Some(ListType::Map));
        let port = ports.items.as_ref().unwrap().property("port").unwrap();
        assert_eq!(port.validation.as_ref().unwrap().minimum, Some(1.0));
        assert!(spec.property("labels").unwrap().additional_schema().is_some());
        assert!(spec.property("any").unwrap().preserves_unknown);
        assert_eq!(root.marks, Marks { keyed_lists: true, ..Marks::default() });
    }

    #[test]
    fn marks_include_those_of_children() {
        let text = r#"{"properties":{"a":{"items":{"additionalProperties":{"default":1}}},
            "b":{"properties":{"c":{"x-kubernetes-embedded-resource":true,"default":null}}}}}"#;
        let root = compile(&schema(text)).unwrap();
        assert_eq!(root.marks, Marks { defaults: true, embedded: true, keyed_lists: false });
        let below = |name: &str| root.property(name).unwrap().marks;
        assert_eq!(below("a"), Marks { defaults: true, ..Marks::default() });
        assert_eq!(below("b"), Marks { embedded: true, ..Marks::default() });
    }

    #[test]
    fn schemas_that_are_not_structural_are_rejected() {
        for (text, reason) in [
            (r##"{"properties":{"a":{"$ref":"#/a"}}}"##, "OpenAPIV3Schema '$ref' is not supported"),
            (r#"{"items":[{"type":"string"}]}"#, "OpenAPIV3Schema 'items' must be a schema, but is an array"),
        ] {
            assert_eq!(compile(&schema(text)).unwrap_err(), reason);
        }
    }
}
