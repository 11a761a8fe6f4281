//! The last-applied-configuration annotation of client-side `kubectl apply`.
//!
//! A switch to `--server-side` with the manager `kubectl` does not conflict with fields that were applied
//! client-side, and the annotation is kept up to date for a switch back.

use pintle_codec::json;
use pintle_meta::validation::object_meta;
use pintle_meta::{Object, Value};

use super::update::Write;
use crate::fieldset::Set;
use crate::typed::{self, to_field_set};

pub const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The only manager that takes over fields from the annotation.
pub(super) const MANAGER: &str = "kubectl";

fn annotation(object: &Value) -> Option<&str> {
    let found = object.at(&["metadata", "annotations"])?.get(ANNOTATION)?.as_str()?;
    (!found.is_empty()).then_some(found)
}

/// Returns the fields that were applied last and still have their applied values; `None` if the annotation is absent
/// or invalid.
pub(super) fn still_applied(write: &Write<'_>, live: &Value) -> Option<Set> {
    let last = json::decode_untyped(annotation(live)?.as_bytes()).ok()?.value;
    typed::validate(write.of, live, false).ok()?;
    if last.kind().is_empty() || last.api_version() != write.api_version {
        return None;
    }
    typed::validate(write.of, &last, false).ok()?;
    let changes = typed::compare(write.of, &last, live).ok()?;
    let fields = to_field_set(write.of, &last).ok()?;
    Some(fields.difference(&changes.modified).difference(&changes.added).difference(&changes.removed))
}

/// Updates the annotation of an object that has it to the configuration.
pub fn keep_last_applied(object: &mut Value, manager: &str, config: &Value) {
    if manager != MANAGER || annotation(object).is_none() {
        return;
    }
    let text = text_of(config);
    if annotation(object) == Some(&text) {
        return;
    }
    let Some(annotations) = object.metadata_mut().and_then(|metadata| metadata.get_mut("annotations")) else {
        return;
    };
    let Some(annotations) = annotations.as_object_mut() else { return };
    annotations.insert(ANNOTATION, text);
    let all = annotations.iter().filter_map(|(key, value)| Some((key, value.as_str()?)));
    // Removed rather than exceeding the size limit of annotations.
    if !object_meta::annotations_fit(all) {
        annotations.remove(ANNOTATION);
        if annotations.is_empty()
            && let Some(metadata) = object.metadata_mut()
        {
            metadata.remove("annotations");
        }
    }
}

/// Encodes a configuration without the annotation itself. Annotations are decoded as a map of strings for that: null
/// is an empty one, and any other value is dropped.
fn text_of(config: &Value) -> String {
    let mut config = config.clone();
    if let Some(metadata) = config.metadata_mut()
        && let Some(annotations) = metadata.get("annotations")
    {
        if let Some(annotations) = annotations.as_object().and_then(texts) {
            metadata.insert("annotations", annotations);
        } else {
            metadata.remove("annotations");
        }
    }
    let mut text = Vec::new();
    json::encode(&config, &mut text);
    text.push(b'\n');
    String::from_utf8_lossy(&text).into_owned()
}

fn texts(annotations: &Object) -> Option<Object> {
    let mut texts = Object::new();
    for (key, value) in annotations.iter().filter(|(key, _)| *key != ANNOTATION) {
        let text = if value.is_null() { "" } else { value.as_str()? };
        texts.insert(key.to_owned(), text);
    }
    Some(texts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn annotations_are_encoded_as_strings() {
        let noted = |annotations: &str| {
            let config = format!(r#"{{"metadata":{{"annotations":{annotations},"name":"a"}}}}"#);
            text_of(&json::decode_untyped(config.as_bytes()).unwrap().value)
        };
        let with = |annotations: &str| {
            format!("{{\"metadata\":{{\"annotations\":{annotations},\"name\":\"a\"}}}}\n")
        };
        let own = format!(r#"{{"{ANNOTATION}":"x"}}"#);
        assert_eq!(noted(r#"{"x":null,"y":"z"}"#), with(r#"{"x":"","y":"z"}"#));
        assert_eq!(noted(&own), with("{}"));
        for none in ["null", "[]", r#"{"x":1}"#] {
            assert_eq!(noted(none), "{\"metadata\":{\"name\":\"a\"}}\n", "{none}");
        }
    }
}
