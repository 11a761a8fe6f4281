//! The answers of conversion webhooks, and their validation.

use std::fmt::Display;

use pintle_codec::negotiate::Encoding;
use pintle_codec::{json, kind};
use pintle_meta::field_path::{self, Path};
use pintle_meta::gvk::{GroupVersion, GroupVersionKind};
use pintle_meta::validation::{self, object_meta};
use pintle_meta::{Node, Object, Value, quote};
use pintle_schema::{find, go};

const GROUP: &str = "apiextensions.k8s.io";
const KIND: &str = "ConversionReview";

/// The version of reviews that a webhook understands: the first of those it names that there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Review {
    V1,
    V1beta1,
    /// It names none that there is.
    Unknown,
}

impl Review {
    pub(super) fn new<'a>(versions: impl IntoIterator<Item = &'a str>) -> Review {
        let known = |version: &str| match version {
            "v1" => Some(Review::V1),
            "v1beta1" => Some(Review::V1beta1),
            _ => None,
        };
        versions.into_iter().find_map(known).unwrap_or(Review::Unknown)
    }

    pub(super) fn version(self) -> Option<&'static str> {
        match self {
            Review::V1 => Some("v1"),
            Review::V1beta1 => Some("v1beta1"),
            Review::Unknown => None,
        }
    }

    /// The objects of an answer, as JSON; or what it says instead.
    pub(super) fn converted(self, uid: &str, body: &[u8]) -> Result<Vec<Vec<u8>>, String> {
        let version = self.version().ok_or("no supported conversion review versions")?;
        let found = kind::of_json(body).map_err(|error| error.to_string())?;
        if found.kind.is_empty() {
            return Err(missing("Kind", body));
        }
        if found.version.is_empty() {
            return Err(missing("apiVersion", body));
        }
        let expected = GroupVersionKind::from_api_version(&format!("{GROUP}/{version}"), KIND);
        // The older version of reviews did not look at it.
        if found != expected && self == Review::V1 {
            return Err(format!("expected webhook response of {expected}, got {found}"));
        }
        let of = find(&format!("apiextensions/{version}.{KIND}")).ok_or("there are no reviews")?;
        let review = json::decode(of, body).map_err(|error| error.to_string())?.value;
        let response = review.get("response").filter(|response| !response.is_null());
        let response = response.ok_or("no response provided")?;
        let answered = response.text_at(&["uid"]);
        if answered != uid && self == Review::V1 {
            return Err(format!("expected response.uid={}, got {}", quote(uid), quote(answered)));
        }
        match (response.text_at(&["result", "status"]), response.text_at(&["result", "message"])) {
            ("Success", _) => {}
            (status, "") => return Err(format!("response.result.status was '{status}', not 'Success'")),
            (_, message) => return Err(message.into()),
        }
        let objects = response.items_at(&["convertedObjects"]).iter();
        Ok(objects.map(|object| object.as_raw().unwrap_or_default().to_vec()).collect())
    }
}

fn missing(what: &str, body: &[u8]) -> String {
    format!("Object '{what}' is missing in '{}'", String::from_utf8_lossy(body))
}

/// Returns a converted object with the metadata that a webhook must not change.
pub(super) fn check(
    of: &GroupVersionKind,
    wanted: &GroupVersion,
    place: usize,
    original: &Value,
    raw: &[u8],
) -> Result<Value, String> {
    let read = kind::decode_untyped(Encoding::Json, raw).map_err(|error| error.to_string())?;
    let mut converted = read.decoded.value;
    let invalid = |reason: String| {
        format!("conversion webhook for {of} returned invalid object at index {place}: {reason}")
    };
    let (found, was) = (converted.group_version_kind(), original.group_version_kind());
    if found.group_version() != *wanted {
        let found = found.group_version();
        return Err(invalid(format!("invalid groupVersion (expected {wanted}, received {found})")));
    }
    if found.kind != was.kind {
        return Err(invalid(format!("invalid kind (expected {}, received {})", was.kind, found.kind)));
    }
    let same = |what: &str, before: &str, after: &str| {
        if before == after {
            Ok(())
        } else {
            Err(format!(
                "conversion webhook for {of} returned invalid object: must have the same {what}: {before} != {after}"
            ))
        }
    };
    same("name", original.name(), converted.name())?;
    same("namespace", original.namespace(), converted.namespace())?;
    same("UID", original.uid(), converted.uid())?;
    restore(original, &mut converted)
        .map_err(|reason| format!("conversion webhook for {of} returned invalid metadata: {reason}"))?;
    Ok(converted)
}

/// Gives what was converted the metadata of the original, but its own labels and annotations.
fn restore(original: &Value, converted: &mut Value) -> Result<(), String> {
    let answered = converted.get("metadata").ok_or("missing metadata in converted object")?.clone();
    let answered = match answered.node() {
        Node::Object(object) => object,
        _ => return Err(mistyped("metadata", &answered, "converted")),
    };
    let empty = Value::object(Object::default());
    let mut metadata = original.get("metadata").unwrap_or(&empty).clone();
    let wrong = mistyped("metadata", &metadata, "input");
    let kept = metadata.as_object_mut().ok_or(wrong)?;
    for name in ["labels", "annotations"] {
        let Some(new) = answered.get(name).filter(|new| !new.is_null()) else {
            kept.remove(name);
            continue;
        };
        let path = format!("metadata.{name}");
        let fields = new.as_object().ok_or_else(|| mistyped(&path, new, "converted"))?;
        let old = kept.get(name).filter(|old| !old.is_null());
        if let Some(old) = old.filter(|old| old.as_object().is_none()) {
            return Err(mistyped(&path, old, "original"));
        }
        let mut texts = Vec::with_capacity(fields.len());
        for (key, value) in fields.iter() {
            let kind = go::type_name(value);
            let text = value.as_str().ok_or_else(|| {
                format!("{path}[{key}] must be a string, but is {kind} in converted object")
            })?;
            texts.push((key, text));
        }
        let old = old.and_then(Value::as_object);
        let is_same = |(key, text): &(&str, &str)| {
            old.and_then(|old| old.get(key)).and_then(Value::as_str) == Some(*text)
        };
        // Unchanged values were validated when they were written.
        if old.map_or(0, Object::len) != texts.len() || !texts.iter().all(is_same) {
            let root = Path::new("metadata");
            let errors = match name {
                "labels" => validation::labels(&root.child("labels"), texts),
                _ => object_meta::annotations(&root.child("annotation"), texts.into_iter()),
            };
            if !errors.is_empty() {
                return Err(field_path::aggregate(&errors));
            }
        }
        kept.insert(name, new.clone());
    }
    if let Some(object) = converted.as_object_mut() {
        object.insert("metadata", metadata);
    }
    Ok(())
}

fn mistyped(what: impl Display, value: &Value, whose: &str) -> String {
    format!("invalid {what} of type {} in {whose} object", go::type_name(value))
}
