//! Owner references are a set: duplicates are removed, with a warning.

use std::collections::HashSet;

use pintle_meta::Value;

/// Removes duplicate owner references. Returns the warning about them; `after_admission` if a plugin may have added them.
pub(super) fn remove_duplicates(object: &mut Value, after_admission: bool) -> Option<String> {
    let references = object.metadata()?.get("ownerReferences")?.as_list()?;
    // There may be a hundred thousand, so that each is looked up.
    let mut known = HashSet::with_capacity(references.len());
    let (mut once, mut duplicates) = (Vec::new(), Vec::new());
    for reference in references {
        if known.insert(identity(reference)) {
            once.push(reference);
        } else {
            duplicates.push(reference.text_at(&["uid"]).to_owned());
        }
    }
    if duplicates.is_empty() {
        return None;
    }
    let once: Vec<Value> = once.into_iter().cloned().collect();
    object.metadata_mut()?.insert("ownerReferences", once);
    let when = if after_admission { " after mutating admission happens" } else { "" };
    Some(format!(
        ".metadata.ownerReferences contains duplicate entries{when}; API server dedups owner references in 1.20+, and may \
         reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {}",
        duplicates.join(", ")
    ))
}

/// All fields of a reference.
fn identity(reference: &Value) -> ([&str; 4], [Option<bool>; 2]) {
    let text = |field: &str| reference.text_at(&[field]);
    let flag = |field: &str| reference.get(field).and_then(Value::as_bool);
    (["uid", "name", "kind", "apiVersion"].map(text), ["controller", "blockOwnerDeletion"].map(flag))
}

#[cfg(test)]
mod tests {
    use pintle_codec::json;

    use super::*;

    fn object(text: &str) -> Value {
        json::decode_untyped(text.as_bytes()).unwrap().value
    }

    #[test]
    fn references_that_differ_in_no_field_are_duplicates() {
        let text = r#"{"metadata":{"ownerReferences":[{"uid":"a","name":"x"},{"uid":"a","name":"y"},{"uid":"b"},
            {"uid":"a","name":"x"},{"uid":"b"},{"uid":"b","controller":false}]}}"#;
        let mut object = object(text);
        let warning = remove_duplicates(&mut object, false).unwrap();
        assert!(warning.ends_with("duplicate UID(s) observed: a, b"), "{warning}");
        assert_eq!(object.items_at(&["metadata", "ownerReferences"]).len(), 4);
        assert_eq!(remove_duplicates(&mut object, false), None);
    }
}
