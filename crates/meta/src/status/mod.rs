//! `Status`: the API's report of a failure, or of a success without an object.
//!
//! Clients branch on `reason` and `code` and print `message`, so all three are the reference's, to the letter.

mod constructors;
mod read;
mod server_response;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use server_response::ServerResponse;

/// Machine-readable reason of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reason {
    #[serde(rename = "")]
    Unknown,
    Unauthorized,
    Forbidden,
    NotFound,
    AlreadyExists,
    Conflict,
    Gone,
    Invalid,
    ServerTimeout,
    #[serde(rename = "StorageReadError")]
    StoreReadError,
    Timeout,
    TooManyRequests,
    BadRequest,
    MethodNotAllowed,
    NotAcceptable,
    RequestEntityTooLarge,
    UnsupportedMediaType,
    InternalError,
    Expired,
    ServiceUnavailable,
}

/// Machine-readable type of a [`Cause`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CauseType {
    FieldValueNotFound,
    FieldValueRequired,
    FieldValueDuplicate,
    FieldValueInvalid,
    FieldValueNotSupported,
    FieldValueForbidden,
    FieldValueTooLong,
    FieldValueTooMany,
    FieldValueTooFew,
    FieldValueTooShort,
    InternalError,
    FieldValueTypeInvalid,
    UnexpectedServerResponse,
    FieldManagerConflict,
    ResourceVersionTooLarge,
    NamespaceTerminating,
    DisruptionBudget,
    NodeCapacity,
    UnsupportedPlatform,
}

/// One of several causes of a failure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cause {
    #[serde(rename = "reason", skip_serializing_if = "Option::is_none")]
    pub kind: Option<CauseType>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub field: String,
}

/// Object and causes of a failure.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Details {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// The resource (not the kind) in all messages of the server.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub uid: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<Cause>,
    /// Negative only as a webhook gave it.
    #[serde(skip_serializing_if = "is_zero")]
    pub retry_after_seconds: i32,
}

/// Metadata of a status, in wire order; mostly empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Metadata {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub self_link: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub resource_version: String,
    /// Continue token for an inconsistent continuation of an expired list.
    #[serde(rename = "continue", skip_serializing_if = "String::is_empty")]
    pub continue_token: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remaining_item_count: Option<i64>,
}

/// Outcome of a request, nearly always a failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// The HTTP code. From 400 on the outcome is a failure; 0 is a success without a code.
    pub code: u16,
    pub reason: Reason,
    /// A reason that is none of [`Reason`], as a webhook gave it; mostly empty.
    pub other_reason: String,
    pub message: String,
    /// `Some` of empty details differs from `None`: it is encoded as `"details":{}`.
    pub details: Option<Details>,
    pub metadata: Metadata,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_zero(number: &i32) -> bool {
    *number == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_no_code(code: &u16) -> bool {
    *code == 0
}

impl Status {
    /// Sets the delay before a retry; a response also has it as the `Retry-After` header.
    #[must_use]
    pub fn retry_after(mut self, seconds: u32) -> Status {
        self.details.get_or_insert_default().retry_after_seconds = i32::try_from(seconds).unwrap_or(i32::MAX);
        self
    }

    pub fn is_failure(&self) -> bool {
        self.code >= 400
    }

    /// Returns the first cause of this type.
    pub fn cause(&self, kind: CauseType) -> Option<&Cause> {
        self.details.as_ref()?.causes.iter().find(|cause| cause.kind == Some(kind))
    }

    /// Returns the indented JSON document.
    pub fn to_pretty_json(&self) -> Vec<u8> {
        serde_json::to_vec_pretty(&Wire::from(self)).unwrap_or_default()
    }

    /// Returns the JSON document with the reference's trailing newline.
    pub fn to_json(&self) -> Vec<u8> {
        let mut json = serde_json::to_vec(&Wire::from(self)).unwrap_or_default();
        json.push(b'\n');
        json
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Status {}

/// Fields in wire order.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Wire<'a> {
    kind: &'static str,
    api_version: &'static str,
    metadata: &'a Metadata,
    status: &'static str,
    #[serde(skip_serializing_if = "str::is_empty")]
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<WireReason<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<&'a Details>,
    #[serde(skip_serializing_if = "is_no_code")]
    code: u16,
}

#[derive(Serialize)]
#[serde(untagged)]
enum WireReason<'a> {
    Known(Reason),
    Other(&'a str),
}

impl<'a> From<&'a Status> for Wire<'a> {
    fn from(status: &'a Status) -> Self {
        Wire {
            kind: "Status",
            api_version: "v1",
            metadata: &status.metadata,
            status: if status.is_failure() { "Failure" } else { "Success" },
            message: &status.message,
            reason: match (status.reason, status.other_reason.as_str()) {
                (Reason::Unknown, "") => None,
                (Reason::Unknown, other) => Some(WireReason::Other(other)),
                (known, _) => Some(WireReason::Known(known)),
            },
            details: status.details.as_ref(),
            code: status.code,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(status: &Status, expect: &str) {
        assert_eq!(String::from_utf8_lossy(&status.to_json()), format!("{expect}\n"));
    }

    #[test]
    fn unauthorized_has_no_details() {
        check(
            &Status::unauthorized(),
            r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"Unauthorized","reason":"Unauthorized","code":401}"#,
        );
    }

    #[test]
    fn a_missing_resource_has_empty_details() {
        check(
            &Status::no_such_resource(),
            r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"the server could not find the requested resource","reason":"NotFound","details":{},"code":404}"#,
        );
    }

    #[test]
    fn forbidden_names_the_resource() {
        let status = Status::forbidden("apps", "deployments", "web", "no");
        assert_eq!(status.message, r#"deployments.apps "web" is forbidden: no"#);
        assert_eq!(Status::forbidden("", "pods", "", "no").message, "pods is forbidden: no");
        assert_eq!(Status::forbidden("", "", "", "no").message, "forbidden: no");
        check(
            &status,
            r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"deployments.apps \"web\" is forbidden: no","reason":"Forbidden","details":{"name":"web","group":"apps","kind":"deployments"},"code":403}"#,
        );
    }

    #[test]
    fn a_success_has_details_and_no_code() {
        let details =
            Details { name: "a".into(), kind: "configmaps".into(), uid: "u".into(), ..Details::default() };
        check(
            &Status::success(details),
            r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success","details":{"name":"a","kind":"configmaps","uid":"u"}}"#,
        );
    }

    #[test]
    fn reasons_and_causes_are_spelled_as_on_the_wire() {
        let spelled = |reason: Reason| serde_json::to_string(&reason).unwrap();
        assert_eq!(spelled(Reason::StoreReadError), r#""StorageReadError""#);
        assert_eq!(spelled(Reason::RequestEntityTooLarge), r#""RequestEntityTooLarge""#);
        assert_eq!(spelled(Reason::Unknown), r#""""#);
        let cause = serde_json::to_string(&CauseType::FieldValueTooShort).unwrap();
        assert_eq!(cause, r#""FieldValueTooShort""#);
    }

    #[test]
    fn retry_after_is_in_the_details() {
        let status = Status::service_unavailable("busy").retry_after(1);
        assert!(String::from_utf8_lossy(&status.to_json()).contains(r#""details":{"retryAfterSeconds":1}"#));
    }
}
