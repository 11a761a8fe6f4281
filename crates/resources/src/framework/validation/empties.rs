//! Empty lists and maps that a client sent.
//!
//! The normal form has none where Go's `omitempty` leaves them out, but the reference's errors print them: `[]` where the client
//! sent an empty list or a patch left one, `null` where there was none. They are looked for in the body or the patched document
//! once an error prints a value, so valid objects pay nothing.
//!
//! ```text
//! stored                          labels: {a: b}
//! patch   labels: {a: null}   ->  labels: {}       which the reference prints as {}
//! patch   labels: null        ->  no labels        null
//! ```

use std::borrow::Cow;
use std::cell::{Cell, OnceCell};

use pintle_codec::negotiate::Encoding;
use pintle_codec::{cbor, json, yaml};
use pintle_meta::field_path::Path;
use pintle_meta::{Node, Object, Value};
use pintle_registry::Sent;

/// Limit of the fields and items that all errors of a validation look at; those after it print none: many errors may print the
/// same large value.
const MOST_WORK: usize = 4_000_000;

/// The empty lists and maps of a request.
#[derive(Debug)]
pub(crate) struct Empties {
    sent: Option<Sent>,
    /// The object as it was sent, without types; null if there is none.
    decoded: OnceCell<Value>,
    /// Work that is left.
    left: Cell<usize>,
}

impl Default for Empties {
    fn default() -> Empties {
        Empties::new(None)
    }
}

impl Empties {
    pub(crate) fn new(sent: Option<Sent>) -> Empties {
        Empties { sent, decoded: OnceCell::new(), left: Cell::new(MOST_WORK) }
    }

    /// Whether the body may have a field of this name. Cheap, and often enough to know that it was not sent.
    pub(crate) fn may_have(&self, name: &str) -> bool {
        match &self.sent {
            None => false,
            Some(Sent::Body { bytes, .. }) => {
                std::str::from_utf8(bytes).map_or(true, |text| text.contains(name))
            }
            Some(Sent::Patched(_)) => true,
        }
    }

    /// Returns the value at a path with the empty lists and maps that were sent there or below; `None` if there are none.
    pub(crate) fn restored(&self, at: &Path<'_>, value: &Value) -> Option<Value> {
        let mut sent = self.decoded.get_or_init(|| self.sent.as_ref().map(decoded).unwrap_or_default());
        for segment in at.segments() {
            sent = child(sent, &segment)?;
        }
        self.merged(value, sent)
    }

    /// Returns a value with the empty ones of what was sent in its place. Both may differ in anything else, as where the
    /// object was changed since.
    fn merged(&self, value: &Value, sent: &Value) -> Option<Value> {
        let left = self.left.get().checked_sub(1 + size(sent))?;
        self.left.set(left);
        if value.is_null() {
            return is_empty(sent).then(Value::hollow);
        }
        let mut merged = Cow::Borrowed(value);
        match (value.node(), sent.node()) {
            (Node::List(items), Node::List(sent)) => {
                for (index, (item, sent)) in items.iter().zip(sent).enumerate() {
                    if let Some(item) = self.merged(item, sent)
                        && let Some(items) = merged.to_mut().as_list_mut()
                    {
                        items[index] = item;
                    }
                }
            }
            (Node::Object(fields), Node::Object(sent)) => {
                for (name, sent) in sent.iter() {
                    let new = match fields.get(name) {
                        Some(value) => self.merged(value, sent),
                        None => is_empty(sent).then(Value::hollow),
                    };
                    if let Some(new) = new
                        && let Some(fields) = merged.to_mut().as_object_mut()
                    {
                        fields.insert(name, new);
                    }
                }
            }
            _ => {}
        }
        match merged {
            Cow::Owned(merged) => Some(merged),
            Cow::Borrowed(_) => None,
        }
    }
}

/// Returns the object as it was sent; null where it does not tell an empty list from an absent one.
fn decoded(sent: &Sent) -> Value {
    let decoded = match sent {
        Sent::Body { encoding: Encoding::Json, bytes } => json::decode_untyped(bytes),
        Sent::Body { encoding: Encoding::Yaml, bytes } => yaml::decode_untyped(bytes),
        Sent::Body { encoding: Encoding::Cbor, bytes } => cbor::decode_untyped(bytes),
        Sent::Body { encoding: Encoding::Protobuf, .. } => return Value::NULL,
        // Parts of it are typed, and others still text.
        Sent::Patched(document) => {
            let mut text = Vec::new();
            json::encode(document, &mut text);
            json::decode_untyped(&text)
        }
    };
    decoded.map(|decoded| decoded.value).unwrap_or_default()
}

fn child<'a>(value: &'a Value, segment: &str) -> Option<&'a Value> {
    match value.node() {
        Node::List(items) => items.get(segment.parse::<usize>().ok()?),
        _ => value.get(segment),
    }
}

fn size(value: &Value) -> usize {
    value.as_list().map_or(0, <[Value]>::len) + value.as_object().map_or(0, Object::len)
}

fn is_empty(value: &Value) -> bool {
    matches!(value.node(), Node::List(_) | Node::Object(_)) && size(value) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(text: &'static str) -> Empties {
        let bytes = bytes::Bytes::from_static(text.as_bytes());
        Empties::new(Some(Sent::Body { encoding: Encoding::Json, bytes }))
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
    fn bodies_without_empty_values_have_none() {
        assert_eq!(sent(r#"{"a":[1],"b":{"c":null}}"#).restored(&Path::new("a"), &Value::NULL), None);
        assert_eq!(sent("no JSON").restored(&Path::new("a"), &Value::NULL), None);
    }

    #[test]
    fn a_patched_document_keeps_its_empty_values() {
        let document = json::open(br#"{"a":{"b":[ ],"c":null},"d":{}}"#).expect("JSON");
        assert!(matches!(document.get("a").map(Value::node), Some(Node::Raw(_))), "it is not read yet");
        let empties = Empties::new(Some(Sent::Patched(document)));
        let restored = empties.restored(&Path::new("a"), &object("{}")).expect("some");
        assert_eq!(restored.get("b").map(Value::node), Some(Node::Hollow));
        assert_eq!(restored.get("c"), None);
        assert!(empties.restored(&Path::new("d"), &Value::NULL).is_some());
    }

    #[test]
    fn errors_look_at_a_limited_number_of_values() {
        let fields: Vec<String> = (0..1000).map(|n| format!("\"{n}\":[]")).collect();
        let body = format!("{{\"a\":{{{}}}}}", fields.join(","));
        let many = Empties::new(Some(Sent::Body { encoding: Encoding::Json, bytes: body.into() }));
        let value = object("{}");
        let restored = || many.restored(&Path::new("a"), &value);
        assert_eq!(restored().and_then(|value| Some(value.as_object()?.len())), Some(1000));
        assert!((0..MOST_WORK / 1000).any(|_| restored().is_none()));
    }
}
