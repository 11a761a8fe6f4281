//! Owner references are a set. Who sends one twice is told, and it is kept once.

use std::collections::HashSet;

use pintle_admission::RequestAdmission;
use pintle_meta::Value;

use super::Result;

/// The object as plugins leave it, with each owner once; and what the client is told about that. `old` is nothing for what is
/// created.
pub(crate) async fn admitted(
    gate: &RequestAdmission,
    new: Value,
    old: Option<&Value>,
) -> Result<(Value, Option<String>)> {
    let mut new = match old {
        Some(old) => gate.on_update(new, old).await?,
        None => gate.on_create(new).await?,
    };
    let told = without_duplicates(&mut new, true);
    Ok((new, told))
}

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
    use std::sync::Arc;

    use async_trait::async_trait;
    use pintle_admission::{Attributes, Chain, Operation, Plugin, Request, Target};
    use pintle_auth::User;
    use pintle_codec::json;

    use super::*;

    /// A plugin that names an owner twice.
    struct Twice;

    #[async_trait]
    impl Plugin for Twice {
        fn name(&self) -> &'static str {
            "Twice"
        }

        fn admits(&self, _: Operation, _: &Target) -> bool {
            true
        }

        async fn admit(&self, attributes: &mut Attributes<'_>) -> Result<()> {
            attributes.set_object(object(r#"{"metadata":{"ownerReferences":[{"uid":"a"},{"uid":"a"}]}}"#));
            Ok(())
        }
    }

    fn object(text: &str) -> Value {
        json::decode_untyped(text.as_bytes()).unwrap().value
    }

    #[tokio::test]
    async fn plugins_name_owners_once() {
        let target = Target {
            kind: pintle_meta::gvk::GroupVersionKind::new("", "v1", "Pod"),
            resource: pintle_meta::gvk::GroupVersionResource::new("", "v1", "pods"),
            subresource: String::new(),
        };
        let request = Request {
            target: Arc::new(target),
            namespace: "n".into(),
            name: "a".into(),
            user: Arc::new(User::default()),
            ..Request::default()
        };
        let gate = RequestAdmission::new(Chain::new([Arc::new(Twice) as Arc<dyn Plugin>]), request);
        let old = object("{}");
        for old in [None, Some(&old)] {
            let (new, told) = admitted(&gate, object("{}"), old).await.unwrap();
            assert_eq!(new.items_at(&["metadata", "ownerReferences"]).len(), 1);
            assert!(told.unwrap().contains("duplicate entries after mutating admission happens"));
        }
    }

    #[test]
    fn an_owner_is_one_owner() {
        let text = r#"{"metadata":{"ownerReferences":[{"uid":"a","name":"x"},{"uid":"a","name":"y"},{"uid":"b"},
            {"uid":"a","name":"x"},{"uid":"b"},{"uid":"b","controller":false}]}}"#;
        let mut object = object(text);
        let told = without_duplicates(&mut object, false).unwrap();
        assert!(told.ends_with("duplicate UID(s) observed: a, b"), "{told}");
        assert_eq!(object.items_at(&["metadata", "ownerReferences"]).len(), 4);
        assert_eq!(without_duplicates(&mut object, false), None);
    }
}
