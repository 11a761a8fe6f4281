//! Statuses of bare HTTP codes.

use super::{Cause, CauseType, Reason, Status};
use crate::gvk::qualified;
use crate::quote;

/// Failure with only an HTTP code, as from an upstream server that did not answer with a `Status`.
#[derive(Clone, Copy, Debug, Default)]
pub struct ServerResponse<'a> {
    pub code: u16,
    /// The HTTP method.
    pub verb: &'a str,
    pub group: &'a str,
    pub resource: &'a str,
    pub name: &'a str,
    /// Body of the response, possibly empty.
    pub message: &'a str,
    pub retry_after_seconds: u32,
    /// Whether such a body was unexpected; it then becomes a cause.
    pub unexpected: bool,
}

impl From<ServerResponse<'_>> for Status {
    fn from(response: ServerResponse<'_>) -> Status {
        let (reason, mut message) = response.reason_and_message();
        let resource = qualified(response.group, response.resource);
        let verb = response.verb.to_lowercase();
        match (resource.is_empty(), response.name) {
            (true, _) => {}
            (false, "") => message.push_str(&format!(" ({verb} {resource})")),
            (false, name) => message.push_str(&format!(" ({verb} {resource} {name})")),
        }
        let mut status = Status::new(response.code, reason, message)
            .about(response.group, response.resource, response.name)
            .retry_after(response.retry_after_seconds);
        if response.unexpected {
            status.details.get_or_insert_default().causes.push(Cause {
                kind: Some(CauseType::UnexpectedServerResponse),
                message: response.message.into(),
                field: String::new(),
            });
        }
        status
    }
}

impl ServerResponse<'_> {
    fn reason_and_message(&self) -> (Reason, String) {
        let (reason, message) = match self.code {
            400 => (Reason::BadRequest, "the server rejected our request for an unknown reason"),
            401 => (Reason::Unauthorized, "the server has asked for the client to provide credentials"),
            403 => (Reason::Forbidden, self.message),
            404 => (Reason::NotFound, "the server could not find the requested resource"),
            405 => {
                (Reason::MethodNotAllowed, "the server does not allow this method on the requested resource")
            }
            406 if matches!(self.message, "" | "unknown") => (
                Reason::NotAcceptable,
                "the server was unable to respond with a content type that the client supports",
            ),
            406 => (Reason::NotAcceptable, self.message),
            409 if self.verb == "POST" => (Reason::AlreadyExists, "the server reported a conflict"),
            409 => (Reason::Conflict, "the server reported a conflict"),
            415 => (Reason::UnsupportedMediaType, self.message),
            422 => (Reason::Invalid, "the server rejected our request due to an error in our request"),
            429 => (
                Reason::TooManyRequests,
                "the server has received too many requests and has asked us to try again later",
            ),
            503 => (Reason::ServiceUnavailable, "the server is currently unable to handle the request"),
            504 => (
                Reason::Timeout,
                "the server was unable to return a response in the time allotted, but may still be processing the request",
            ),
            500.. => {
                let said = quote(self.message);
                let message =
                    format!("an error on the server ({said}) has prevented the request from succeeding");
                return (Reason::InternalError, message);
            }
            code => {
                let message = format!(
                    "the server responded with the status code {code} but did not return more information"
                );
                return (Reason::Unknown, message);
            }
        };
        (reason, message.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_code_has_the_references_message() {
        let bare = |code, verb, name, message| {
            let response =
                ServerResponse { code, verb, resource: "pods", name, message, ..Default::default() };
            let status = Status::from(response);
            (status.reason, status.message)
        };
        let cases = [
            (409, "POST", Reason::AlreadyExists, "the server reported a conflict (post pods a)"),
            (409, "PUT", Reason::Conflict, "the server reported a conflict (put pods a)"),
            (403, "GET", Reason::Forbidden, "said (get pods a)"),
            (
                502,
                "GET",
                Reason::InternalError,
                r#"an error on the server ("said") has prevented the request from succeeding (get pods a)"#,
            ),
            (
                418,
                "GET",
                Reason::Unknown,
                "the server responded with the status code 418 but did not return more information (get pods a)",
            ),
        ];
        for (code, verb, reason, message) in cases {
            assert_eq!(bare(code, verb, "a", "said"), (reason, message.to_owned()));
        }
        assert_eq!(bare(404, "GET", "", "").1, "the server could not find the requested resource (get pods)");
        let unexpected = ServerResponse { code: 500, unexpected: true, message: "x", ..Default::default() };
        assert!(Status::from(unexpected).cause(CauseType::UnexpectedServerResponse).is_some());
    }
}
