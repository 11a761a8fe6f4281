//! Patch bodies: JSON patch, merge patch and strategic merge, applied to an object of the request's version.

use bytes::Bytes;
use pintle_codec::kind::{strict_error, warnings};
use pintle_codec::{json, unstructured};
use pintle_meta::field_path::{Error, Path};
use pintle_meta::{Details, Reason, Status, Value};
use pintle_patch::json_patch::{self, MAX_OPERATIONS};
use pintle_patch::{merge_patch, strategic};
use pintle_registry::{Received, Served};
use pintle_schema::{Type, go};

use super::options::FieldValidation;
use super::{Result, bad_request, unexpected};

/// A patch as it was sent.
pub(crate) enum PatchBody {
    Json(Bytes),
    Merge(Bytes),
    Strategic(Bytes, &'static Type),
}

/// The outcome of a patch.
pub(crate) struct Patched {
    /// The document as the patch leaves it, with the empty lists and maps that the object in normal form does not have.
    pub(crate) document: Value,
    /// The same as an object of the request's version, without defaults.
    pub(crate) object: Value,
    /// Warnings about its fields.
    pub(crate) warnings: Vec<String>,
}

impl PatchBody {
    /// Applies the patch to an object of the request's version.
    pub(crate) fn apply(
        &self,
        served: &dyn Served,
        before: Value,
        validation: FieldValidation,
    ) -> Result<Patched> {
        let strictly = validation != FieldValidation::Ignore;
        let (document, strict) = match self {
            PatchBody::Json(patch) => patched(before.clone(), patch, strictly)?,
            PatchBody::Merge(patch) => merged(before.clone(), patch, strictly)?,
            PatchBody::Strategic(patch, of) => return merged_by_type(served, before, patch, of, validation),
        };
        let (object, warnings) = read(served, &document, &before, strict, validation)?;
        Ok(Patched { document, object, warnings })
    }
}

fn undecodable(error: impl std::fmt::Display) -> Box<Status> {
    bad_request(format!("error decoding patch: {error}"))
}

/// The document after a JSON patch, and what a strict reader minds about the patch.
fn patched(document: Value, patch: &[u8], strictly: bool) -> Result<(Value, Vec<String>)> {
    let strict = if strictly { json_patch::strict(patch).map_err(undecodable)? } else { Vec::new() };
    let patch = json_patch::Patch::decode(patch).map_err(|error| bad_request(error.to_string()))?;
    if patch.len() > MAX_OPERATIONS {
        return Err(Box::new(Status::request_entity_too_large(format_args!(
            "The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {}",
            patch.len()
        ))));
    }
    let document = patch.apply(document).map_err(|_| not_applicable())?;
    Ok((document, strict))
}

/// The same for a merge patch.
fn merged(document: Value, patch: &[u8], strictly: bool) -> Result<(Value, Vec<String>)> {
    let strict = if strictly { merge_patch::strict(patch).map_err(undecodable)? } else { Vec::new() };
    let document = merge_patch::apply(document, patch).map_err(|error| bad_request(error.to_string()))?;
    Ok((document, strict))
}

/// All that clients learn about a patch that cannot be applied.
fn not_applicable() -> Box<Status> {
    let mut status = Status::bad_request("the server rejected our request due to an error in our request");
    status.code = 422;
    status.reason = Reason::Invalid;
    status.details = Some(Details::default());
    Box::new(status)
}

/// A patched document is read like any that was sent. Mostly there is nothing to say about it, and it need not be written for
/// that.
fn read(
    served: &dyn Served,
    document: &Value,
    before: &Value,
    mut strict: Vec<String>,
    validation: FieldValidation,
) -> Result<(Value, Vec<String>)> {
    if strict.is_empty()
        && let Some(of) = served.strategic_type()
        && let Some(object) = unstructured::decode_since(of, document, before)
        && (object.kind(), object.api_version()) == (before.kind(), before.api_version())
    {
        return Ok((object, Vec::new()));
    }
    let mut text = Vec::new();
    json::encode(document, &mut text);
    let refuse = |why: &str| invalid(&String::from_utf8_lossy(&text), why);
    let received = served.parse(&text).map_err(|why| refuse(&why))?;
    strict.extend(received.strict);
    validated(Received { object: received.object, strict }, validation, refuse)
}

/// A strategic merge goes from tree to tree: what it does not touch is neither copied nor read again.
fn merged_by_type(
    served: &dyn Served,
    before: Value,
    patch: &[u8],
    of: &'static Type,
    validation: FieldValidation,
) -> Result<Patched> {
    let decoded = strategic::decode(patch).map_err(|error| bad_request(error.to_string()))?;
    let mut patch = decoded.value;
    let document = strategic::apply(of, before.clone(), &mut patch).map_err(not_mergeable)?;
    let refuse = |why: &str| invalid(&go::display(&patch), why);
    let typed = unstructured::to_typed_since(of, &document, &before);
    let typed = typed.map_err(|error| refuse(&error.to_string()))?;
    let mut object = typed.value;
    // An object stays what it is, whatever the patch says.
    if let Some(object) = object.as_object_mut() {
        let kind = served.kind();
        object.insert("kind", kind.kind.as_str());
        object.insert("apiVersion", kind.api_version());
    }
    let mut strict = decoded.strict;
    strict.extend(typed.strict);
    let (object, warnings) = validated(Received { object, strict }, validation, refuse)?;
    Ok(Patched { document, object, warnings })
}

fn not_mergeable(error: strategic::Error) -> Box<Status> {
    match error {
        error if error.is_malformed() => bad_request(error.to_string()),
        strategic::Error::ListOfLists => not_applicable(),
        strategic::Error::TooMuch => Box::new(Status::request_entity_too_large(error)),
        error => unexpected(error),
    }
}

fn invalid(shown: &str, why: &str) -> Box<Status> {
    Box::new(Status::invalid("", "", "", &[Error::invalid(&Path::new("patch"), shown, why)]))
}

fn validated(
    received: Received,
    validation: FieldValidation,
    refuse: impl FnOnce(&str) -> Box<Status>,
) -> Result<(Value, Vec<String>)> {
    let Received { object, strict } = received;
    match validation {
        FieldValidation::Strict if !strict.is_empty() => Err(refuse(&strict_error(&strict).to_string())),
        FieldValidation::Warn => Ok((object, warnings(&strict))),
        _ => Ok((object, Vec::new())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_of_a_strategic_merge_decides_its_code() {
        use strategic::Error::{Failed, ListOfLists, PrimitiveList, RetainKeys, SetElementOrder, TooMuch};
        for (error, code, message) in [
            (PrimitiveList, 400, "invalid patch format of primitive list"),
            (RetainKeys, 400, "invalid patch format of retainKeys"),
            (SetElementOrder, 400, "invalid patch format of setElementOrder list"),
            (ListOfLists, 422, "the server rejected our request due to an error in our request"),
            (TooMuch, 413, "Request entity too large: the patch takes too much work"),
            (Failed("unexpected slice of slice".into()), 500, "unexpected slice of slice"),
        ] {
            let status = not_mergeable(error);
            assert_eq!((status.code, status.message.as_str()), (code, message));
        }
    }

    #[test]
    fn a_json_patch_has_only_so_many_operations() {
        let many = |count: usize| format!("[{}]", vec![r#"{"op":"test","path":"/a"}"#; count].join(","));
        let document = || Value::object(Default::default());
        assert!(patched(document(), many(MAX_OPERATIONS).as_bytes(), true).is_ok());
        let status = patched(document(), many(MAX_OPERATIONS + 1).as_bytes(), true).unwrap_err();
        assert_eq!(
            (status.code, status.message.as_str()),
            (
                413,
                "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001"
            )
        );
    }
}
