//! Managed fields after admission: a plugin or webhook must not break them.

use pintle_meta::Value;
use pintle_patch::managed::Managed;

/// Restores the managed fields that an object had before admission, if admission made them invalid. Returns the warning about it.
pub(super) fn restore_if_invalid(before: Option<&Value>, object: &mut Value) -> Option<String> {
    let after = object.metadata()?.get("managedFields");
    let is_same = match (before, after) {
        (Some(before), Some(after)) => before.is_same(after) || before == after,
        (_, after) => after.is_none(),
    };
    if is_same {
        return None;
    }
    let error = Managed::of(object).err()?;
    let metadata = object.metadata_mut()?;
    match before {
        Some(before) => drop(metadata.insert("managedFields", before.clone())),
        None => drop(metadata.remove("managedFields")),
    }
    Some(format!(
        ".metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating admission \
         controller; please fix your requests: {error}"
    ))
}

/// Returns the managed fields of an object.
pub(super) fn of(object: &Value) -> Option<Value> {
    object.metadata()?.get("managedFields").cloned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::object;

    const VALID: &str = r#"{"manager":"m","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:a":{}}}"#;

    fn with(entries: &str) -> Value {
        object(&format!(r#"{{"metadata":{{"name":"n","managedFields":[{entries}]}}}}"#))
    }

    #[test]
    fn only_invalid_changes_are_undone() {
        let before = of(&with(VALID));
        let check = |after: &Value, is_undone: bool| {
            let mut object = after.clone();
            let warning = restore_if_invalid(before.as_ref(), &mut object);
            assert_eq!(warning.is_some(), is_undone, "{warning:?}");
            assert_eq!(of(&object), if is_undone { before.clone() } else { of(after) });
            warning.unwrap_or_default()
        };
        check(&with(VALID), false);
        check(&object(r#"{"metadata":{"name":"n"}}"#), false);
        check(&with(&VALID.replace("\"m\"", "\"other\"")), false);
        let warning = check(&with(&VALID.replace("Update", "Broken")), true);
        assert!(
            warning.ends_with("please fix your requests: operation must be `Apply` or `Update`"),
            "{warning}"
        );
        check(&with(&VALID.replace("f:a", "a")), true);
    }
}
