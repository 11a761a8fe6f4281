//! Constructors of statuses, one per failure, with the reference's code, reason, message and details.

use std::fmt;

use super::{Cause, CauseType, Details, Metadata, Reason, Status};
use crate::field_path::{self, MOST_ERRORS, aggregate};
use crate::gvk::qualified;
use crate::quote;

impl Status {
    pub(super) fn new(code: u16, reason: Reason, message: impl Into<String>) -> Status {
        Status {
            code,
            reason,
            other_reason: String::new(),
            message: message.into(),
            details: None,
            metadata: Metadata::default(),
        }
    }

    fn with_details(mut self, details: Details) -> Status {
        self.details = Some(details);
        self
    }

    pub(super) fn about(self, group: &str, resource: &str, name: &str) -> Status {
        let (name, group, kind) = (name.into(), group.into(), resource.into());
        self.with_details(Details { name, group, kind, ..Details::default() })
    }

    /// Outcome of a verb without an object to return, such as the deletion of an object that is gone.
    pub fn success(details: Details) -> Status {
        Status::new(0, Reason::Unknown, "").with_details(details)
    }

    pub fn bad_request(message: impl Into<String>) -> Status {
        Status::new(400, Reason::BadRequest, message)
    }

    pub fn unauthorized() -> Status {
        Status::new(401, Reason::Unauthorized, "Unauthorized")
    }

    /// Like [`Status::unauthorized`], with a reason of its own.
    pub fn unauthorized_because(why: &str) -> Status {
        let why = if why.is_empty() { "not authorized" } else { why };
        Status::new(401, Reason::Unauthorized, why)
    }

    /// `pods "a" is forbidden: why`, or without the name, or without a resource, `forbidden: why`.
    pub fn forbidden(group: &str, resource: &str, name: &str, why: &str) -> Status {
        let qualified = qualified(group, resource);
        let message = match (qualified.is_empty(), name.is_empty()) {
            (true, _) => format!("forbidden: {why}"),
            (false, true) => format!("{qualified} is forbidden: {why}"),
            (false, false) => format!("{qualified} {} is forbidden: {why}", quote(name)),
        };
        Status::new(403, Reason::Forbidden, message).about(group, resource, name)
    }

    pub fn not_found(group: &str, resource: &str, name: &str) -> Status {
        let message = format!("{} {} not found", qualified(group, resource), quote(name));
        Status::new(404, Reason::NotFound, message).about(group, resource, name)
    }

    /// The resource is not served at all, as opposed to a missing object.
    pub fn no_such_resource() -> Status {
        Status::new(404, Reason::NotFound, "the server could not find the requested resource")
            .with_details(Details::default())
    }

    pub fn method_not_allowed() -> Status {
        let message = "the server does not allow this method on the requested resource";
        Status::new(405, Reason::MethodNotAllowed, message).with_details(Details::default())
    }

    /// The resource is served, but not this verb on it.
    pub fn method_not_supported(group: &str, resource: &str, action: &str) -> Status {
        let resource_text = quote(&qualified(group, resource));
        let message = format!("{action} is not supported on resources of kind {resource_text}");
        Status::new(405, Reason::MethodNotAllowed, message).about(group, resource, "")
    }

    /// None of the supported media types is one that the client accepts.
    pub fn not_acceptable<S: AsRef<str>>(served: &[S]) -> Status {
        let message = format!("only the following media types are accepted: {}", listed(served));
        Status::new(406, Reason::NotAcceptable, message)
    }

    /// Like [`Status::not_acceptable`], for a client that requests another view such as a Table.
    pub fn not_acceptable_conversion<S: AsRef<str>>(target: &str, served: &[S]) -> Status {
        let served = listed(served);
        let message =
            format!("only the following media types are accepted when converting to {target}: {served}");
        Status::new(406, Reason::NotAcceptable, message)
    }

    pub fn already_exists(group: &str, resource: &str, name: &str) -> Status {
        let message = format!("{} {} already exists", qualified(group, resource), quote(name));
        Status::new(409, Reason::AlreadyExists, message).about(group, resource, name)
    }

    /// Every name generated from a `generateName` was taken.
    pub fn generate_name_conflict(
        group: &str,
        resource: &str,
        name: &str,
        retry_after_seconds: u32,
    ) -> Status {
        let mut status = Status::already_exists(group, resource, name);
        status.message.push_str(", the server was not able to generate a unique name for the object");
        status.retry_after(retry_after_seconds)
    }

    pub fn conflict(group: &str, resource: &str, name: &str, why: impl fmt::Display) -> Status {
        let resource_text = qualified(group, resource);
        let message = format!("Operation cannot be fulfilled on {resource_text} {}: {why}", quote(name));
        Status::new(409, Reason::Conflict, message).about(group, resource, name)
    }

    /// Fields are owned by other managers; one cause each.
    pub fn apply_conflict(causes: Vec<Cause>, message: impl Into<String>) -> Status {
        Status::new(409, Reason::Conflict, message).with_details(Details { causes, ..Details::default() })
    }

    pub fn gone(message: impl Into<String>) -> Status {
        Status::new(410, Reason::Gone, message)
    }

    /// The resource version or continue token is too old.
    pub fn expired(message: impl Into<String>) -> Status {
        Status::new(410, Reason::Expired, message)
    }

    pub fn request_entity_too_large(message: impl fmt::Display) -> Status {
        let message = format!("Request entity too large: {message}");
        Status::new(413, Reason::RequestEntityTooLarge, message)
    }

    /// The body is of an unsupported media type.
    pub fn unsupported_media_type<S: AsRef<str>>(read: &[S]) -> Status {
        let read = listed(read);
        let message = format!(
            "the body of the request was in an unknown format - accepted media types include: {read}"
        );
        Status::new(415, Reason::UnsupportedMediaType, message)
    }

    /// `Kind.group "name" is invalid: ...`. The only failure that names the kind, not the resource.
    pub fn invalid(group: &str, kind: &str, name: &str, errors: &[field_path::Error]) -> Status {
        let errors = &errors[..errors.len().min(MOST_ERRORS)];
        let mut message = format!("{} {} is invalid", qualified(group, kind), quote(name));
        if !errors.is_empty() {
            message.push_str(": ");
            message.push_str(&aggregate(errors));
        }
        let mut status = Status::new(422, Reason::Invalid, message).about(group, kind, name);
        status.details.get_or_insert_default().causes = errors.iter().map(Cause::from).collect();
        status
    }

    /// The client should retry later; has details even for a wait of zero seconds.
    pub fn too_many_requests(message: impl Into<String>, retry_after_seconds: u32) -> Status {
        Status::new(429, Reason::TooManyRequests, message).retry_after(retry_after_seconds)
    }

    /// Like [`Status::too_many_requests`], without a retry delay.
    pub fn overloaded(why: impl fmt::Display) -> Status {
        Status::new(429, Reason::TooManyRequests, format!("Too many requests: {why}"))
    }

    /// An error without a status of its own: its text, with an unknown reason.
    pub fn plain(error: impl fmt::Display) -> Status {
        Status::new(500, Reason::Unknown, error.to_string())
    }

    pub fn internal(error: impl fmt::Display) -> Status {
        let cause = Cause { kind: None, message: error.to_string(), field: String::new() };
        Status::new(500, Reason::InternalError, format!("Internal error occurred: {error}"))
            .with_details(Details { causes: vec![cause], ..Details::default() })
    }

    /// The operation timed out within the server. The details' name is the operation.
    pub fn server_timeout(group: &str, resource: &str, operation: &str, retry_after_seconds: u32) -> Status {
        let resource_text = qualified(group, resource);
        let message = format!(
            "The {operation} operation against {resource_text} could not be completed at this time, please try again."
        );
        Status::new(500, Reason::ServerTimeout, message)
            .about(group, resource, operation)
            .retry_after(retry_after_seconds)
    }

    /// The operation is known but not implemented.
    pub fn not_implemented(message: impl Into<String>) -> Status {
        Status::new(501, Reason::Unknown, message)
    }

    pub fn service_unavailable(message: impl Into<String>) -> Status {
        Status::new(503, Reason::ServiceUnavailable, message)
    }

    pub fn timeout(message: &str) -> Status {
        Status::new(504, Reason::Timeout, format!("Timeout: {message}")).with_details(Details::default())
    }

    /// The requested resource version is in the future: it may still come, so the client should retry.
    pub fn resource_version_too_large(requested: u64, current: u64, retry_after_seconds: u32) -> Status {
        let message = format!("Too large resource version: {requested}, current: {current}");
        let mut status = Status::timeout(&message).retry_after(retry_after_seconds);
        status.details.get_or_insert_default().causes.push(Cause {
            kind: Some(CauseType::ResourceVersionTooLarge),
            message: "Too large resource version".into(),
            field: String::new(),
        });
        status
    }
}

fn listed<S: AsRef<str>>(texts: &[S]) -> String {
    texts.iter().map(AsRef::as_ref).collect::<Vec<&str>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field_path::{Error, Path};

    #[test]
    fn failures_have_the_references_code_reason_and_message() {
        let cases = [
            (
                Status::not_found("apps", "deployments", "a"),
                404,
                Reason::NotFound,
                r#"deployments.apps "a" not found"#,
            ),
            (
                Status::already_exists("", "pods", "a"),
                409,
                Reason::AlreadyExists,
                r#"pods "a" already exists"#,
            ),
            (
                Status::generate_name_conflict("", "pods", "a-x", 1),
                409,
                Reason::AlreadyExists,
                r#"pods "a-x" already exists, the server was not able to generate a unique name for the object"#,
            ),
            (
                Status::conflict("", "pods", "a", "the object has been modified"),
                409,
                Reason::Conflict,
                r#"Operation cannot be fulfilled on pods "a": the object has been modified"#,
            ),
            (Status::unauthorized_because(""), 401, Reason::Unauthorized, "not authorized"),
            (Status::overloaded("wait"), 429, Reason::TooManyRequests, "Too many requests: wait"),
            (Status::gone("over"), 410, Reason::Gone, "over"),
            (Status::expired("too old"), 410, Reason::Expired, "too old"),
            (
                Status::request_entity_too_large("limit is 3145728"),
                413,
                Reason::RequestEntityTooLarge,
                "Request entity too large: limit is 3145728",
            ),
            (
                Status::method_not_supported("apps", "deployments", "patch"),
                405,
                Reason::MethodNotAllowed,
                r#"patch is not supported on resources of kind "deployments.apps""#,
            ),
            (
                Status::not_acceptable(&["application/json", "application/yaml"]),
                406,
                Reason::NotAcceptable,
                "only the following media types are accepted: application/json, application/yaml",
            ),
            (
                Status::not_acceptable_conversion("Table", &["application/json"]),
                406,
                Reason::NotAcceptable,
                "only the following media types are accepted when converting to Table: application/json",
            ),
            (
                Status::unsupported_media_type(&["application/json"]),
                415,
                Reason::UnsupportedMediaType,
                "the body of the request was in an unknown format - accepted media types include: application/json",
            ),
            (
                Status::server_timeout("apps", "deployments", "create", 1),
                500,
                Reason::ServerTimeout,
                "The create operation against deployments.apps could not be completed at this time, please try again.",
            ),
            (Status::too_many_requests("slow down", 1), 429, Reason::TooManyRequests, "slow down"),
            (
                Status::resource_version_too_large(9, 5, 1),
                504,
                Reason::Timeout,
                "Timeout: Too large resource version: 9, current: 5",
            ),
        ];
        for (status, code, reason, message) in cases {
            assert_eq!((status.code, status.reason, status.message.as_str()), (code, reason, message));
        }
    }

    #[test]
    fn details_have_retry_delays_and_causes() {
        let details = |status: Status| status.details.unwrap();
        assert_eq!(details(Status::generate_name_conflict("", "pods", "a", 7)).retry_after_seconds, 7);
        assert_eq!(details(Status::server_timeout("", "pods", "create", 2)).name, "create");
        assert_eq!(details(Status::too_many_requests("", 0)), Details::default());
        let status = Status::resource_version_too_large(9, 5, 1);
        assert!(status.cause(CauseType::ResourceVersionTooLarge).is_some());
        assert!(status.cause(CauseType::FieldManagerConflict).is_none());
    }

    #[test]
    fn an_invalid_object_reports_every_error() {
        let spec = Path::new("spec");
        let one = Error::required(&spec.child("selector"), "");
        let two = Error::invalid(&spec.child("replicas"), -1i64, "must be greater than or equal to 0");
        let status = Status::invalid("apps", "Deployment", "a", std::slice::from_ref(&one));
        assert_eq!(status.message, r#"Deployment.apps "a" is invalid: spec.selector: Required value"#);
        let status = Status::invalid("", "Pod", "", &[one, two]);
        assert_eq!(
            status.message,
            r#"Pod "" is invalid: [spec.selector: Required value, spec.replicas: Invalid value: -1: must be greater than or equal to 0]"#
        );
        let causes = serde_json::to_string(&status.details.unwrap().causes).unwrap();
        assert_eq!(
            causes,
            r#"[{"reason":"FieldValueRequired","message":"Required value","field":"spec.selector"},{"reason":"FieldValueInvalid","message":"Invalid value: -1: must be greater than or equal to 0","field":"spec.replicas"}]"#
        );
        assert_eq!(Status::invalid("", "Pod", "a", &[]).message, r#"Pod "a" is invalid"#);
    }
}
