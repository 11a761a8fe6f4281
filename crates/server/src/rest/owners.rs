//! Owner references are a set. Who sends one twice is told, and it is kept once.

use std::collections::HashSet;

use pintle_meta::Value;

/// Takes out references that are there already. What the client is told about them; `after_admission` if it was not the
/// client's own doing.
pub(crate) fn without_duplicates(object: &mut Value, after_admission: bool) -> Option<String> {
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

/// All that there is to a reference.
fn identity(reference: &Value) -> ([&str; 4], [Option<bool>; 2]) {
    let text = |field: &str| reference.text_at(&[field]);
    let flag = |field: &str| reference.get(field).and_then(Value::as_bool);
    (["uid", "name", "kind", "apiVersion"].map(text), ["controller", "blockOwnerDeletion"].map(flag))
}

#[cfg(test)]
mod tests {
    use pintle_codec::json;

    use super::*;

    #[test]
    fn an_owner_is_one_owner() {
        let text =
            br#"{"metadata":{"ownerReferences":[{"uid":"a","name":"x"},{"uid":"a","name":"y"},{"uid":"b"},
            {"uid":"a","name":"x"},{"uid":"b"},{"uid":"b","controller":false}]}}"#;
        let mut object = json::decode_untyped(text).unwrap().value;
        let told = without_duplicates(&mut object, false).unwrap();
        assert!(told.ends_with("duplicate UID(s) observed: a, b"), "{told}");
        assert_eq!(object.items_at(&["metadata", "ownerReferences"]).len(), 4);
        assert_eq!(without_duplicates(&mut object, false), None);
    }
}
