//! The one place where errors and plain texts become responses.

use http::header::{CONNECTION, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER, X_CONTENT_TYPE_OPTIONS};
use http::{Response as HttpResponse, StatusCode};
use pintle_meta::Status;

use crate::{Body, Response};

pub(crate) const JSON: HeaderValue = HeaderValue::from_static("application/json");
pub(crate) const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");
pub(crate) const NOSNIFF: HeaderValue = HeaderValue::from_static("nosniff");
pub(crate) const AUDIT_ID: HeaderName = HeaderName::from_static("audit-id");

fn with_type(code: StatusCode, content_type: HeaderValue, body: impl Into<Body>) -> Response {
    let mut response = HttpResponse::new(body.into());
    *response.status_mut() = code;
    response.headers_mut().insert(CONTENT_TYPE, content_type);
    response
}

pub fn json(code: StatusCode, body: Vec<u8>) -> Response {
    with_type(code, JSON, body)
}

pub fn text(code: StatusCode, body: impl Into<Body>) -> Response {
    with_type(code, TEXT, body)
}

/// An error that is only a sentence: where the reference uses no `Status`, neither do we.
pub fn text_error(code: StatusCode, message: &str) -> Response {
    let mut response = text(code, format!("{message}\n"));
    response.headers_mut().insert(X_CONTENT_TYPE_OPTIONS, NOSNIFF);
    response
}

pub fn status(status: &Status) -> Response {
    let code = StatusCode::from_u16(status.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = json(code, status.to_json());
    if let Some(details) = &status.details
        && details.retry_after_seconds > 0
    {
        response.headers_mut().insert(RETRY_AFTER, details.retry_after_seconds.into());
    }
    // For the filter that knows how the client wants it.
    response.extensions_mut().insert(status.clone());
    response
}

/// Answers a malformed request and closes the connection, since the next request cannot be found in it. The texts are those
/// of the reference's HTTP server, which has none of its own for some.
pub(crate) fn refused(code: StatusCode, reason: &'static str) -> Response {
    let mut response = match code {
        StatusCode::EXPECTATION_FAILED => HttpResponse::new(Body::empty()),
        StatusCode::NOT_IMPLEMENTED => text(code, reason.as_bytes()),
        _ => text(code, format!("{code}{reason}")),
    };
    *response.status_mut() = code;
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    response
}

/// The end of the delegation chain.
pub fn not_found() -> Response {
    text_error(StatusCode::NOT_FOUND, "404 page not found")
}

/// A fault of our own. The text is kept from looking like HTML, since it repeats the client's path.
pub fn internal_error(uri: &http::Uri, error: &impl std::fmt::Display) -> Response {
    // HTTP/2 says the host apart from the rest, which is all that is shown.
    let target = uri.path_and_query().map_or("", |target| target.as_str());
    let message = format!("Internal Server Error: {}: {error}", pintle_meta::quote(target));
    text_error(StatusCode::INTERNAL_SERVER_ERROR, &sanitize(&message))
}

/// Keeps a message from looking like HTML to a browser that guesses.
pub(crate) fn sanitize(message: &str) -> String {
    message.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
