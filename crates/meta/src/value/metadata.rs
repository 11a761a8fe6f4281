//! Kind, name and other metadata that every object has.

use super::{Object, Value};
use crate::gvk::GroupVersionKind;

impl Value {
    pub fn kind(&self) -> &str {
        self.text_at(&["kind"])
    }

    pub fn api_version(&self) -> &str {
        self.text_at(&["apiVersion"])
    }

    pub fn metadata(&self) -> Option<&Object> {
        self.get("metadata").and_then(Value::as_object)
    }

    pub fn metadata_mut(&mut self) -> Option<&mut Object> {
        self.get_mut("metadata").and_then(Value::as_object_mut)
    }

    pub fn name(&self) -> &str {
        self.text_at(&["metadata", "name"])
    }

    pub fn generate_name(&self) -> &str {
        self.text_at(&["metadata", "generateName"])
    }

    pub fn namespace(&self) -> &str {
        self.text_at(&["metadata", "namespace"])
    }

    pub fn uid(&self) -> &str {
        self.text_at(&["metadata", "uid"])
    }

    pub fn resource_version(&self) -> &str {
        self.text_at(&["metadata", "resourceVersion"])
    }

    pub fn generation(&self) -> i64 {
        self.at(&["metadata", "generation"]).and_then(Value::as_i64).unwrap_or_default()
    }

    /// Set once the object's deletion was requested.
    pub fn deletion_timestamp(&self) -> Option<&str> {
        self.at(&["metadata", "deletionTimestamp"]).and_then(Value::as_str)
    }

    pub fn label(&self, key: &str) -> Option<&str> {
        self.at(&["metadata", "labels", key]).and_then(Value::as_str)
    }

    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.at(&["metadata", "annotations", key]).and_then(Value::as_str)
    }

    pub fn labels(&self) -> impl Iterator<Item = (&str, &str)> {
        texts(self.at(&["metadata", "labels"]))
    }

    pub fn annotations(&self) -> impl Iterator<Item = (&str, &str)> {
        texts(self.at(&["metadata", "annotations"]))
    }

    pub fn finalizers(&self) -> impl Iterator<Item = &str> {
        self.items_at(&["metadata", "finalizers"]).iter().filter_map(Value::as_str)
    }

    pub fn owner_references(&self) -> &[Value] {
        self.items_at(&["metadata", "ownerReferences"])
    }

    /// Returns the kind that the object states.
    pub fn group_version_kind(&self) -> GroupVersionKind {
        GroupVersionKind::from_api_version(self.api_version(), self.kind())
    }
}

fn texts(map: Option<&Value>) -> impl Iterator<Item = (&str, &str)> {
    let entries = map.and_then(Value::as_object).into_iter().flat_map(Object::iter);
    entries.filter_map(|(key, value)| Some((key, value.as_str()?)))
}
