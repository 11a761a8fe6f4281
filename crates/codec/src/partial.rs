//! `PartialObjectMetadata`: the metadata of an object without the rest, as garbage collectors and metadata informers
//! request it.
//!
//! Metadata of a built-in kind is in normal form already and is shared, not copied. Metadata of a custom resource may
//! have any order and wrong types; it is decoded as the reference does, which drops fields of wrong types.

use std::sync::LazyLock;

use pintle_meta::time::Time;
use pintle_meta::value::{Key, Object};
use pintle_meta::{Node, Value};
use pintle_schema::normal::{Builder, Frame};
use pintle_schema::{Struct, find};

use crate::{Error, json, protobuf};

/// Requested version of `meta.k8s.io`. They differ in their apiVersion only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    V1,
    V1beta1,
}

impl Version {
    pub fn parse(version: &str) -> Option<Version> {
        match version {
            "v1" => Some(Version::V1),
            "v1beta1" => Some(Version::V1beta1),
            _ => None,
        }
    }

    pub const fn api_version(self) -> &'static str {
        match self {
            Version::V1 => "meta.k8s.io/v1",
            Version::V1beta1 => "meta.k8s.io/v1beta1",
        }
    }
}

/// List metadata that a view of a list retains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ListMeta<'a> {
    pub resource_version: &'a str,
    pub continue_token: &'a str,
    pub remaining_item_count: Option<i64>,
}

impl<'a> ListMeta<'a> {
    /// Returns the metadata of a list, or of an object presented as a list of one.
    pub fn of(object: &'a Value) -> ListMeta<'a> {
        let is_list = object.get("items").is_some();
        ListMeta {
            resource_version: object.resource_version(),
            continue_token: if is_list { object.text_at(&["metadata", "continue"]) } else { "" },
            remaining_item_count: if is_list {
                object.at(&["metadata", "remainingItemCount"]).and_then(Value::as_i64)
            } else {
                None
            },
        }
    }

    pub(crate) fn tree(&self) -> Value {
        let mut entries = Vec::with_capacity(3);
        for (key, text) in [("resourceVersion", self.resource_version), ("continue", self.continue_token)] {
            if !text.is_empty() {
                entries.push((Key::new_static(key), Value::from(text)));
            }
        }
        if let Some(count) = self.remaining_item_count {
            entries.push((Key::new_static("remainingItemCount"), count.into()));
        }
        Value::object(Object::of_ordered(&LIST_META.layout, entries))
    }
}

static OBJECT_META: LazyLock<&'static Struct> = LazyLock::new(|| structure("meta/v1.ObjectMeta"));
static LIST_META: LazyLock<&'static Struct> = LazyLock::new(|| structure("meta/v1.ListMeta"));
static OWNER_REFERENCE: LazyLock<&'static Struct> = LazyLock::new(|| structure("meta/v1.OwnerReference"));
static MANAGED_FIELDS: LazyLock<&'static Struct> = LazyLock::new(|| structure("meta/v1.ManagedFieldsEntry"));

static PARTIAL: LazyLock<&'static Struct> = LazyLock::new(|| structure("meta/v1.PartialObjectMetadata"));
static PARTIAL_LIST: LazyLock<&'static Struct> =
    LazyLock::new(|| structure("meta/v1.PartialObjectMetadataList"));

/// Returns a metadata type; they are part of the built-in graph.
fn structure(name: &str) -> &'static Struct {
    find(name).and_then(|found| found.structure()).unwrap_or_else(|| unreachable!("no type {name}"))
}

/// Returns the `PartialObjectMetadata` of an object.
pub fn object(version: Version, object: &Value) -> Value {
    of_metadata(version, metadata(object))
}

/// Returns the `PartialObjectMetadata` of a protobuf message of any kind, decoding its metadata only. All kinds have
/// metadata under the same number, so any message is one of this kind with unknown fields.
pub fn of_message(version: Version, message: &[u8]) -> Result<Value, Error> {
    let of = find("meta/v1.PartialObjectMetadata").unwrap_or_else(|| unreachable!("a type of the program"));
    Ok(of_metadata(version, metadata(&protobuf::decode(of, message)?)))
}

fn of_metadata(version: Version, metadata: Value) -> Value {
    let entries = vec![
        (Key::new_static("kind"), Value::literal("PartialObjectMetadata")),
        (Key::new_static("apiVersion"), Value::literal(version.api_version())),
        (Key::new_static("metadata"), metadata),
    ];
    Value::object(Object::of_ordered(&PARTIAL.layout, entries))
}

/// Returns the `PartialObjectMetadataList` of some objects. Items of an empty list are null.
pub fn list<'a>(version: Version, meta: &ListMeta<'_>, items: impl IntoIterator<Item = &'a Value>) -> Value {
    let items: Vec<Value> = items.into_iter().map(|item| object(version, item)).collect();
    let entries = vec![
        (Key::new_static("kind"), Value::literal("PartialObjectMetadataList")),
        (Key::new_static("apiVersion"), Value::literal(version.api_version())),
        (Key::new_static("metadata"), meta.tree()),
        (Key::new_static("items"), if items.is_empty() { Value::NULL } else { Value::list(items) }),
    ];
    Value::object(Object::of_ordered(&PARTIAL_LIST.layout, entries))
}

/// Message of the 406 for a list requested as one object. `go_type` is the reference's name of the list,
/// `core.PodList`.
pub fn refuse_list(go_type: &str) -> String {
    format!("you requested PartialObjectMetadata, but the requested object is a list (*{go_type})")
}

/// Message of the 406 for an object requested as a list. `go_type` is the reference's name of the object, `core.Pod`.
pub fn refuse_object(go_type: &str) -> String {
    format!("you requested PartialObjectMetadataList, but the requested object is not a list (*{go_type})")
}

/// Returns an object's metadata in the normal form of `ObjectMeta`.
pub fn metadata(object: &Value) -> Value {
    let found = object.get("metadata");
    match found.and_then(Value::as_object).map(Object::layout) {
        Some(Some(layout)) if std::ptr::eq(layout, &OBJECT_META.layout) => found.cloned().unwrap_or_default(),
        _ => read(found.unwrap_or(&Value::NULL)),
    }
}

fn read(metadata: &Value) -> Value {
    let mut builder = Builder::default();
    let frame = builder.open(&OBJECT_META);
    for name in ["name", "generateName", "namespace", "selfLink", "uid", "resourceVersion"] {
        set(&mut builder, frame, name, text(metadata, name));
    }
    for name in ["generation", "deletionGracePeriodSeconds"] {
        let number = metadata.get(name).and_then(Value::as_i64);
        set(&mut builder, frame, name, number.map(Value::from));
    }
    for name in ["creationTimestamp", "deletionTimestamp"] {
        let time = Time::from_query(metadata.text_at(&[name])).unwrap_or_default();
        set(&mut builder, frame, name, (!time.is_zero()).then(|| time.to_string().into()));
    }
    for name in ["labels", "annotations"] {
        set(&mut builder, frame, name, texts_by_key(metadata.get(name)));
    }
    set(&mut builder, frame, "finalizers", texts(metadata.get("finalizers")));
    set(&mut builder, frame, "ownerReferences", owner_references(metadata.get("ownerReferences")));
    set(&mut builder, frame, "managedFields", managed_fields(metadata.get("managedFields")));
    builder.close(frame)
}

fn set(builder: &mut Builder, frame: Frame, name: &str, value: Option<Value>) {
    if let (Some(index), Some(value)) = (frame.structure().position(name), value) {
        builder.set(frame, index, value);
    }
}

fn text(object: &Value, name: &str) -> Option<Value> {
    object.get(name).filter(|value| value.as_str().is_some()).cloned()
}

/// Returns a map if all values are strings.
fn texts_by_key(found: Option<&Value>) -> Option<Value> {
    let all = found?.as_object()?.iter().all(|(_, value)| value.as_str().is_some());
    if all { found.cloned() } else { None }
}

/// Returns a list if all items are strings.
fn texts(found: Option<&Value>) -> Option<Value> {
    let all = found?.as_list()?.iter().all(|value| value.as_str().is_some());
    if all { found.cloned() } else { None }
}

/// Returns the owner references that are objects.
fn owner_references(found: Option<&Value>) -> Option<Value> {
    let owners = found?.as_list()?.iter().filter(|owner| owner.as_object().is_some());
    let owners = owners.map(|owner| {
        let mut builder = Builder::default();
        let frame = builder.open(&OWNER_REFERENCE);
        for name in ["apiVersion", "kind", "name", "uid"] {
            set(&mut builder, frame, name, text(owner, name));
        }
        for name in ["controller", "blockOwnerDeletion"] {
            let flag = owner.get(name).and_then(Value::as_bool);
            set(&mut builder, frame, name, flag.map(Value::from));
        }
        builder.close(frame)
    });
    Some(Value::list(owners.collect()))
}

/// Returns all entries, or none if one of them is invalid.
fn managed_fields(found: Option<&Value>) -> Option<Value> {
    found?.as_list()?.iter().map(managed_fields_entry).collect::<Option<Vec<_>>>().map(Value::list)
}

fn managed_fields_entry(entry: &Value) -> Option<Value> {
    entry.as_object()?;
    let mut builder = Builder::default();
    let frame = builder.open(&MANAGED_FIELDS);
    for name in ["manager", "operation", "apiVersion", "fieldsType", "subresource"] {
        match entry.get(name).map(Value::node) {
            None | Some(Node::Null) => {}
            Some(Node::String(_)) => set(&mut builder, frame, name, text(entry, name)),
            Some(_) => return None,
        }
    }
    match entry.get("time").map(Value::node) {
        None | Some(Node::Null) => {}
        Some(Node::String(text)) => {
            set(&mut builder, frame, "time", Some(Time::parse(text).ok()?.to_string().into()));
        }
        Some(_) => return None,
    }
    if let Some(fields) = entry.get("fieldsV1").filter(|fields| !fields.is_null()) {
        let mut text = Vec::new();
        json::encode(fields, &mut text);
        set(&mut builder, frame, "fieldsV1", Some(Value::raw(text)));
    }
    Some(builder.close(frame))
}

#[cfg(test)]
mod tests {
    use pintle_schema::Shape;

    use super::*;

    fn typed(text: &str) -> Value {
        json::decode(find("core/v1.ConfigMap").unwrap(), text.as_bytes()).unwrap().value
    }

    fn untyped(text: &str) -> Value {
        json::decode_untyped(text.as_bytes()).unwrap().value
    }

    fn text(value: &Value) -> String {
        let mut out = Vec::new();
        json::encode(value, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_partial_object_shares_the_metadata() {
        let object = typed(
            r#"{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","uid":"u"},"data":{"x":"1"}}"#,
        );
        let partial = super::object(Version::V1, &object);
        assert_eq!(
            text(&partial),
            r#"{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"a","uid":"u"}}"#
        );
        assert!(partial.get("metadata").unwrap().is_same(object.get("metadata").unwrap()));
    }

    #[test]
    fn all_kinds_have_metadata_under_the_same_field_number() {
        let mut kinds = 0;
        for found in pintle_schema::types() {
            let metadata = found.structure().and_then(|of| of.field("metadata"));
            let is_objects =
                |shape: Shape| shape.structure().is_some_and(|of| std::ptr::eq(of, *OBJECT_META));
            if let Some(metadata) = metadata.filter(|metadata| is_objects(metadata.shape)) {
                assert!(matches!(metadata.number, Some(1)), "{}", found.name);
                kinds += 1;
            }
        }
        assert!(kinds > 100, "{kinds}");
    }

    #[test]
    fn metadata_is_decoded_from_a_message_without_the_rest() {
        let of = find("core/v1.ConfigMap").unwrap();
        let object = typed(r#"{"metadata":{"name":"a","labels":{"k":"v"}},"data":{"x":"1"}}"#);
        let mut message = Vec::new();
        protobuf::encode(of, &object, &mut message).unwrap();
        assert_eq!(of_message(Version::V1, &message).unwrap(), super::object(Version::V1, &object));
        assert!(of_message(Version::V1, &message[..message.len() - 1]).is_err());
    }

    #[test]
    fn partial_objects_can_be_encoded_as_protobuf() {
        let items = [typed(r#"{"metadata":{"name":"a"}}"#)];
        let list = list(Version::V1, &ListMeta { resource_version: "7", ..ListMeta::default() }, &items);
        let of = find("meta/v1.PartialObjectMetadataList").unwrap();
        let mut message = Vec::new();
        protobuf::encode(of, &list, &mut message).unwrap();
        let read = protobuf::decode(of, &message).unwrap();
        assert_eq!(read.get("metadata"), list.get("metadata"));
        assert_eq!(read.items_at(&["items"])[0].get("metadata"), items[0].get("metadata"));
    }

    #[test]
    fn a_list_keeps_its_continue_token() {
        let items = [typed(r#"{"metadata":{"name":"a"}}"#), typed(r#"{"metadata":{"name":"b"}}"#)];
        let meta = ListMeta { resource_version: "7", continue_token: "c", remaining_item_count: Some(0) };
        assert_eq!(
            text(&list(Version::V1beta1, &meta, &items)),
            r#"{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1beta1","metadata":{"resourceVersion":"7","continue":"c","remainingItemCount":0},"items":[{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1beta1","metadata":{"name":"a"}},{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1beta1","metadata":{"name":"b"}}]}"#
        );
    }

    #[test]
    fn the_items_of_an_empty_list_are_null() {
        let text = text(&list(Version::V1, &ListMeta::default(), []));
        assert!(text.ends_with(r#""metadata":{},"items":null}"#), "{text}");
    }

    #[test]
    fn a_partial_list_keeps_the_list_metadata() {
        let list = find("core/v1.ConfigMapList").unwrap();
        let text = r#"{"metadata":{"resourceVersion":"5","continue":"c","remainingItemCount":2},"items":[]}"#;
        let list = json::decode(list, text.as_bytes()).unwrap().value;
        let expected = ListMeta { resource_version: "5", continue_token: "c", remaining_item_count: Some(2) };
        assert_eq!(ListMeta::of(&list), expected);
        let one = typed(r#"{"metadata":{"resourceVersion":"5"}}"#);
        assert_eq!(ListMeta::of(&one), ListMeta { resource_version: "5", ..ListMeta::default() });
    }

    #[test]
    fn untyped_metadata_is_normalized() {
        let object = untyped(
            r#"{"metadata":{"annotations":{"k":"v"},"creationTimestamp":"2026-01-01T02:00:00+02:00","deletionGracePeriodSeconds":0,
                "finalizers":["f"],"generation":3,"labels":{},"managedFields":[{"apiVersion":"v1","fieldsType":"FieldsV1",
                "fieldsV1":{"f:b":{},"f:a":{}},"manager":"m","operation":"Update","time":"2026-01-01T00:00:00Z"}],
                "name":"a","namespace":"n","other":1,"ownerReferences":[{"apiVersion":"v1","controller":true,"kind":"Pod",
                "name":"p","uid":"u"}],"resourceVersion":"5","uid":"u"}}"#,
        );
        assert_eq!(
            text(&metadata(&object)),
            r#"{"name":"a","namespace":"n","uid":"u","resourceVersion":"5","generation":3,"creationTimestamp":"2026-01-01T00:00:00Z","deletionGracePeriodSeconds":0,"annotations":{"k":"v"},"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"p","uid":"u","controller":true}],"finalizers":["f"],"managedFields":[{"manager":"m","operation":"Update","apiVersion":"v1","time":"2026-01-01T00:00:00Z","fieldsType":"FieldsV1","fieldsV1":{"f:a":{},"f:b":{}}}]}"#
        );
    }

    #[test]
    fn fields_of_a_wrong_type_are_dropped() {
        let object = untyped(
            r#"{"metadata":{"annotations":["k"],"creationTimestamp":"yesterday","deletionTimestamp":null,"finalizers":["f",1],
                "generation":"3","labels":{"a":"b","c":1},"managedFields":[{"manager":"m"},{"manager":1}],"name":5,
                "ownerReferences":[7,{"name":"p","controller":"yes"}],"uid":"u"}}"#,
        );
        assert_eq!(
            text(&metadata(&object)),
            r#"{"uid":"u","ownerReferences":[{"apiVersion":"","kind":"","name":"p","uid":""}]}"#
        );
        assert_eq!(text(&metadata(&untyped("{}"))), "{}");
    }
}
