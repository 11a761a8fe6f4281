//! Simple paths (`.spec.replicas`): where the scale of an object is, and which of its fields can be selected by.

use pintle_meta::value::{Key, Object};
use pintle_meta::{Node, Value};
use pintle_schema::go;

use crate::json_path::JsonPath;

/// Names of fields within each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path(Box<[Key]>);

impl Path {
    /// Reads a path that begins with a dot; what stands between dots is a name, whatever it is.
    pub fn parse(text: &str) -> Path {
        let text = text.strip_prefix('.').unwrap_or(text);
        Path(text.split('.').map(Key::from).collect())
    }

    pub fn names(&self) -> &[Key] {
        &self.0
    }

    /// Returns the value at the path; an error if a value on the way is not an object.
    pub fn find<'a>(&self, object: &'a Value) -> Result<Option<&'a Value>, String> {
        let mut value = object;
        for (depth, name) in self.0.iter().enumerate() {
            let found = match value.node() {
                Node::Null => return Ok(None),
                Node::Object(object) => object.get(name),
                _ => return Err(self.mismatch(depth + 1, value, "map[string]interface {}")),
            };
            match found {
                Some(found) => value = found,
                None => return Ok(None),
            }
        }
        Ok(Some(value))
    }

    pub fn integer(&self, object: &Value) -> Result<Option<i64>, String> {
        let Some(found) = self.find(object)? else { return Ok(None) };
        match found.node() {
            Node::Int(value) => Ok(Some(value)),
            _ => Err(self.mismatch(self.0.len(), found, "int64")),
        }
    }

    pub fn text<'a>(&self, object: &'a Value) -> Result<Option<&'a str>, String> {
        let Some(found) = self.find(object)? else { return Ok(None) };
        match found.as_str() {
            Some(text) => Ok(Some(text)),
            None => Err(self.mismatch(self.0.len(), found, "string")),
        }
    }

    /// Puts something there, and objects on the way where nothing is.
    pub fn set(&self, object: &mut Value, value: Value) -> Result<(), String> {
        let Some((last, way)) = self.0.split_last() else { return Ok(()) };
        let refused = |depth| {
            format!("value cannot be set because {} is not a map[string]interface{{}}", self.prefix(depth))
        };
        let mut at = object.as_object_mut().ok_or_else(|| refused(0))?;
        for (depth, name) in way.iter().enumerate() {
            let below = at.get_or_insert_with(name.clone(), || Value::object(Object::default()));
            at = below.as_object_mut().ok_or_else(|| refused(depth + 1))?;
        }
        at.insert(last.clone(), value);
        Ok(())
    }

    fn prefix(&self, depth: usize) -> String {
        let names: Vec<&str> = self.0[..depth].iter().map(Key::as_str).collect();
        format!(".{}", names.join("."))
    }

    fn mismatch(&self, depth: usize, found: &Value, wanted: &str) -> String {
        let (path, shown, kind) = (self.prefix(depth), go::display(found), go::type_name(found));
        let wanted = wanted.replace("interface {}", "interface{}");
        format!("{path} accessor error: {shown} is of the type {kind}, expected {wanted}")
    }
}

/// The fields that a version's objects can be selected by, beside their names.
#[derive(Clone, Debug, Default)]
pub struct Selectable {
    fields: Box<[Field]>,
}

#[derive(Clone, Debug)]
struct Field {
    name: Box<str>,
    path: Result<JsonPath, String>,
}

impl Selectable {
    /// Compiles `selectableFields`.
    pub fn compile(definitions: &[Value]) -> Selectable {
        let field = |definition: &Value| {
            let path = definition.text_at(&["jsonPath"]);
            Field { name: path.strip_prefix('.').unwrap_or(path).into(), path: JsonPath::parse(path) }
        };
        Selectable { fields: definitions.iter().map(field).collect() }
    }

    /// As selectors name them.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.fields.iter().map(|field| &*field.name)
    }

    /// The values of an object's fields, in the order of [`Selectable::names`]; empty for what is not there.
    pub fn values(&self, object: &Value) -> Result<Vec<String>, String> {
        let value = |field: &Field| {
            let path =
                field.path.as_ref().map_err(|error| format!("unexpected error parsing jsonPath: {error}"))?;
            let found = path.find(object);
            let found =
                found.map_err(|error| format!("unexpected error finding value with jsonPath: {error}"))?;
            match &found[..] {
                [] => Ok(String::new()),
                [first, ..] if first.is_empty() => Ok(String::new()),
                [first] => match &first[..] {
                    [only] if only.is_null() => Ok(String::new()),
                    [only] => Ok(only.display().into_owned()),
                    _ => Err("unexpectedly received more than one JSON path result".into()),
                },
                _ => Err("unexpectedly received more than one JSON path result".into()),
            }
        };
        self.fields.iter().map(value).collect()
    }
}

#[cfg(test)]
mod tests {
    use pintle_codec::json;

    use super::*;

    fn untyped(text: &str) -> Value {
        json::decode_any(text.as_bytes()).unwrap().value
    }

    #[test]
    fn numbers_and_texts_are_found_or_told_why_not() {
        let object = untyped(r#"{"spec":{"replicas":3,"text":"a","none":null,"list":[1]}}"#);
        let integer = |path: &str| Path::parse(path).integer(&object);
        assert_eq!(integer(".spec.replicas"), Ok(Some(3)));
        assert_eq!(integer(".spec.other"), Ok(None));
        assert_eq!(integer(".spec.none.deeper"), Ok(None));
        assert_eq!(
            integer(".spec.text").unwrap_err(),
            ".spec.text accessor error: a is of the type string, expected int64"
        );
        assert_eq!(
            integer(".spec.none").unwrap_err(),
            ".spec.none accessor error: <nil> is of the type <nil>, expected int64"
        );
        assert_eq!(
            integer(".spec.list.x").unwrap_err(),
            ".spec.list.x accessor error: [1] is of the type []interface {}, expected map[string]interface{}"
        );
        assert_eq!(Path::parse(".spec.text").text(&object), Ok(Some("a")));
    }

    #[test]
    fn objects_on_the_way_come_into_being() {
        let mut object = untyped(r#"{"a":1}"#);
        Path::parse(".spec.deep.replicas").set(&mut object, 2.into()).unwrap();
        assert_eq!(object.at(&["spec", "deep", "replicas"]).and_then(Value::as_i64), Some(2));
        assert_eq!(
            Path::parse(".a.b").set(&mut object, 2.into()).unwrap_err(),
            "value cannot be set because .a is not a map[string]interface{}"
        );
    }

    #[test]
    fn selectable_fields_are_texts() {
        let fields =
            untyped(r#"[{"jsonPath":".spec.color"},{"jsonPath":".spec.size"},{"jsonPath":".spec.on"}]"#);
        let fields = Selectable::compile(fields.as_list().unwrap());
        assert_eq!(fields.names().collect::<Vec<_>>(), ["spec.color", "spec.size", "spec.on"]);
        let object = untyped(r#"{"spec":{"color":"red","size":3,"on":true}}"#);
        assert_eq!(fields.values(&object).unwrap(), ["red", "3", "true"]);
        assert_eq!(fields.values(&untyped(r#"{"spec":{"color":null}}"#)).unwrap(), ["", "", ""]);
    }
}
