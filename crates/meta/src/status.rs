//! `Status`: how the API reports that something went wrong (or went away).
//!
//! Clients branch on `reason` and `code` and show `message`, so all three are the reference's, to the letter.

use std::fmt;

use serde::Serialize;

use crate::quote;

/// Why a request failed, in one word that programs can compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
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

/// What kind of thing a [`Cause`] tells of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum CauseType {
    FieldValueNotFound,
    FieldValueRequired,
    FieldValueDuplicate,
    FieldValueInvalid,
    FieldValueNotSupported,
    FieldValueForbidden,
    FieldValueTooLong,
    FieldValueTooMany,
    InternalError,
    FieldValueTypeInvalid,
    UnexpectedServerResponse,
    FieldManagerConflict,
    ResourceVersionTooLarge,
}

/// One of several things wrong with a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cause {
    #[serde(rename = "reason", skip_serializing_if = "Option::is_none")]
    pub kind: Option<CauseType>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub field: String,
}

/// What the failure is about.
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
    #[serde(skip_serializing_if = "is_zero")]
    pub retry_after_seconds: u32,
}

/// A failure as the API shows it. Successes with a `Status` body come with the verbs that answer so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    pub code: u16,
    pub reason: Reason,
    pub message: String,
    /// `Some` of empty details is not the same as `None`: the first shows as `"details":{}`.
    pub details: Option<Details>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl Status {
    fn new(code: u16, reason: Reason, message: impl Into<String>) -> Status {
        Status { code, reason, message: message.into(), details: None }
    }

    fn about(mut self, group: &str, resource: &str, name: &str) -> Status {
        self.details = Some(Details {
            name: name.into(),
            group: group.into(),
            kind: resource.into(),
            ..Details::default()
        });
        self
    }

    pub fn unauthorized() -> Status {
        Status::new(401, Reason::Unauthorized, "Unauthorized")
    }

    pub fn bad_request(message: impl Into<String>) -> Status {
        Status::new(400, Reason::BadRequest, message)
    }

    /// `pods "a" is forbidden: why`, or without the name, or, where there is no resource, `forbidden: why`.
    pub fn forbidden(group: &str, resource: &str, name: &str, why: &str) -> Status {
        let qualified = qualified(group, resource);
        let message = match (qualified.is_empty(), name.is_empty()) {
            (true, _) => format!("forbidden: {why}"),
            (false, true) => format!("{qualified} is forbidden: {why}"),
            (false, false) => format!("{qualified} {} is forbidden: {why}", quote(name)),
        };
        Status::new(403, Reason::Forbidden, message).about(group, resource, name)
    }

    pub fn timeout(message: &str) -> Status {
        let mut status = Status::new(504, Reason::Timeout, format!("Timeout: {message}"));
        status.details = Some(Details::default());
        status
    }

    pub fn service_unavailable(message: impl Into<String>) -> Status {
        Status::new(503, Reason::ServiceUnavailable, message)
    }

    pub fn internal(error: impl fmt::Display) -> Status {
        let mut status = Status::new(500, Reason::InternalError, format!("Internal error occurred: {error}"));
        let cause = Cause { kind: None, message: error.to_string(), field: String::new() };
        status.details = Some(Details { causes: vec![cause], ..Details::default() });
        status
    }

    /// No such resource is served: not an object that is missing, but its whole collection.
    pub fn no_such_resource() -> Status {
        let mut status =
            Status::new(404, Reason::NotFound, "the server could not find the requested resource");
        status.details = Some(Details::default());
        status
    }

    pub fn method_not_allowed() -> Status {
        let message = "the server does not allow this method on the requested resource";
        let mut status = Status::new(405, Reason::MethodNotAllowed, message);
        status.details = Some(Details::default());
        status
    }

    /// Tells the client when to come back; a response also carries it as the `Retry-After` header.
    #[must_use]
    pub fn retry_after(mut self, seconds: u32) -> Status {
        self.details.get_or_insert_default().retry_after_seconds = seconds;
        self
    }

    /// The JSON document, indented for people.
    pub fn to_pretty_json(&self) -> Vec<u8> {
        serde_json::to_vec_pretty(&Wire::from(self)).unwrap_or_default()
    }

    /// The JSON document with the line end the reference puts behind it.
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

/// `deployments.apps`; only the resource for the core group.
fn qualified(group: &str, resource: &str) -> String {
    if group.is_empty() { resource.to_owned() } else { format!("{resource}.{group}") }
}

/// The fields in the order of the wire.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Wire<'a> {
    kind: &'static str,
    api_version: &'static str,
    metadata: Empty,
    status: &'static str,
    #[serde(skip_serializing_if = "str::is_empty")]
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<Reason>,
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<&'a Details>,
    code: u16,
}

#[derive(Serialize)]
struct Empty {}

impl<'a> From<&'a Status> for Wire<'a> {
    fn from(status: &'a Status) -> Self {
        Wire {
            kind: "Status",
            api_version: "v1",
            metadata: Empty {},
            status: "Failure",
            message: &status.message,
            reason: (status.reason != Reason::Unknown).then_some(status.reason),
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
    fn forbidden_names_what_it_is_about() {
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
    fn retry_after_shows_in_the_details() {
        let status = Status::service_unavailable("busy").retry_after(1);
        assert!(String::from_utf8_lossy(&status.to_json()).contains(r#""details":{"retryAfterSeconds":1}"#));
    }
}
