//! Empty lists and maps that a client sent.
//!
//! The normal form has none where Go's `omitempty` leaves them out, but the reference's errors print them: `[]` where the client
//! sent an empty list, `null` where it sent none. They are looked for in the body once an error prints a value, so valid objects
//! pay nothing.

use std::cell::OnceCell;

use pintle_codec::negotiate::Encoding;
use pintle_codec::{cbor, json, yaml};
use pintle_meta::field_path::Path;
use pintle_meta::{Node, Value};
use pintle_registry::SentBody;

/// Limit of the empty values that are known. In a body with more of them, none is printed: each costs a look per error.
const MOST: usize = 256;

/// The empty lists and maps of a request's body.
#[derive(Debug, Default)]
pub(crate) struct Empties {
    sent: Option<SentBody>,
    paths: OnceCell<Vec<Vec<String>>>,
}

impl Empties {
    pub(crate) fn new(sent: Option<SentBody>) -> Empties {
        Empties { sent, paths: OnceCell::new() }
    }

    /// Returns the value at a path with the empty lists and maps that were sent there or below; `None` if there are none.
    pub(crate) fn restored(&self, at: &Path<'_>, value: &Value) -> Option<Value> {
        let paths = self.paths.get_or_init(|| self.sent.as_ref().map(paths).unwrap_or_default());
        if paths.is_empty() {
            return None;
        }
        let at = at.segments();
        let below = paths.iter().filter(|path| {
            path.len() >= at.len() && at.iter().zip(*path).all(|(segment, known)| segment == known)
        });
        let mut restored = None;
        for path in below {
            let restored = restored.get_or_insert_with(|| value.clone());
            insert(restored, &path[at.len()..]);
        }
        restored
    }
}

/// Inserts an empty value where there is none. Does nothing if the way there is not in the object, as in one that was changed.
fn insert(value: &mut Value, path: &[String]) {
    match path {
        [] if value.is_null() => *value = Value::hollow(),
        [] => {}
        [name] => {
            if let Some(fields) = value.as_object_mut().filter(|fields| !fields.contains(name)) {
                fields.insert(name.as_str(), Value::hollow());
            }
        }
        [name, below @ ..] => {
            let next = match value.node() {
                Node::List(_) => {
                    name.parse::<usize>().ok().and_then(|index| value.as_list_mut()?.get_mut(index))
                }
                _ => value.get_mut(name),
            };
            if let Some(next) = next {
                insert(next, below);
            }
        }
    }
}

/// Returns the paths of all empty lists and maps of a body.
fn paths(sent: &SentBody) -> Vec<Vec<String>> {
    let decoded = match sent.encoding {
        Encoding::Json => json::decode_untyped(&sent.bytes),
        Encoding::Yaml => yaml::decode_untyped(&sent.bytes),
        Encoding::Cbor => cbor::decode_untyped(&sent.bytes),
        // It does not tell an empty list from an absent one.
        Encoding::Protobuf => return Vec::new(),
    };
    let mut found = Vec::new();
    if let Ok(decoded) = decoded {
        collect(&decoded.value, &mut Vec::new(), &mut found);
    }
    if found.len() > MOST { Vec::new() } else { found }
}

fn collect(value: &Value, path: &mut Vec<String>, found: &mut Vec<Vec<String>>) {
    let mut below = |segment: String, value: &Value| {
        path.push(segment);
        collect(value, path, found);
        path.pop();
    };
    match value.node() {
        Node::List([]) => found.push(path.clone()),
        Node::List(items) => {
            items.iter().enumerate().for_each(|(index, item)| below(index.to_string(), item));
        }
        Node::Object(fields) if fields.is_empty() => found.push(path.clone()),
        Node::Object(fields) => fields.iter().for_each(|(name, value)| below(name.to_owned(), value)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(text: &'static str) -> Empties {
        let bytes = bytes::Bytes::from_static(text.as_bytes());
        Empties::new(Some(SentBody { encoding: Encoding::Json, bytes }))
    }

    fn object(text: &str) -> Value {
        json::decode_untyped(text.as_bytes()).expect("JSON").value
    }

    #[test]
    fn empty_values_come_back_where_they_were_sent() {
        let empties = sent(r#"{"spec":{"a":[],"list":[{"x":1},{"m":{},"y":[]}],"set":{}},"other":[]}"#);
        let mut spec = object(r#"{"list":[{"x":1},{"y":[2]}],"set":{"k":"v"}}"#);
        let restored = empties.restored(&Path::new("spec"), &spec).expect("some");
        let is_hollow = |path: &[&str]| restored.at(path).is_some_and(|value| value.node() == Node::Hollow);
        assert!(is_hollow(&["a"]));
        let second = &restored.items_at(&["list"])[1];
        assert_eq!(second.get("m").map(Value::node), Some(Node::Hollow));
        assert_eq!(second.items_at(&["y"]).len(), 1, "it was changed since");
        assert_eq!(restored.text_at(&["set", "k"]), "v");

        let at = Path::new("spec");
        assert_eq!(
            empties.restored(&at.child("a"), &Value::NULL).map(|value| value.node() == Node::Hollow),
            Some(true)
        );
        assert_eq!(empties.restored(&at.child("b"), &Value::NULL), None);
        spec.as_object_mut().expect("an object").remove("list");
        empties.restored(&at, &spec).expect("without the list");
    }

    #[test]
    fn bodies_without_empty_values_or_with_many_have_none() {
        assert_eq!(sent(r#"{"a":[1],"b":{"c":null}}"#).restored(&Path::new("a"), &Value::NULL), None);
        assert_eq!(sent("no JSON").restored(&Path::new("a"), &Value::NULL), None);
        let many = format!("{{\"a\":[{}[]]}}", "[],".repeat(MOST));
        let bytes = bytes::Bytes::from(many);
        let many = Empties::new(Some(SentBody { encoding: Encoding::Json, bytes }));
        assert_eq!(many.restored(&Path::new("a"), &Value::NULL), None);
    }
}
