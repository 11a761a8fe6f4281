//! Takes every client of the port without TLS for the administrator: all processes on this machine can reach it, and they
//! cannot be distinguished.
//!
//! A browser on this machine is the one program there that acts for strangers: any web page can have it send requests here. Three
//! checks keep pages out, each of which is enough against one way in:
//!
//! - `Host` must name this machine. A page whose own name resolves to 127.0.0.1 (DNS rebinding) shares an origin with this port
//!   and could read answers, but cannot choose the `Host` it is sent with.
//! - `Origin`, or a `Sec-Fetch-Site` that names a page, is refused: browsers send it with every cross-site write, and no
//!   Kubernetes client does.
//! - A body must be of a type that a page can send only after a preflight request, which is refused as well. A form or a
//!   `fetch` without a type can be sent without one, also by browsers that leave `Origin` out.

use std::net::IpAddr;
use std::sync::Arc;

use async_trait::async_trait;
use http::header::{CONTENT_TYPE, HOST, ORIGIN};
use http::{HeaderMap, Method};
use http_body::Body as _;
use pintle_auth::{ALL_AUTHENTICATED, PRIVILEGED_GROUP, User};
use pintle_meta::Status;

use crate::filter::{Filter, Next};
use crate::{Request, Response, respond};

pub struct Unsecured(Arc<User>);

impl Default for Unsecured {
    fn default() -> Unsecured {
        let groups = vec![PRIVILEGED_GROUP.into(), ALL_AUTHENTICATED.into()];
        Unsecured(Arc::new(User { name: "system:unsecured".into(), groups, ..User::default() }))
    }
}

#[async_trait]
impl Filter for Unsecured {
    async fn handle(&self, mut request: Box<Request>, next: Next<'_>) -> Response {
        // A page in a browser can have its own name lead to this machine; it cannot choose what it is called by then.
        if !request.header(&HOST).is_some_and(is_loopback) {
            let why = "the insecure port is for localhost and loopback addresses only";
            return respond::status(&Status::forbidden("", "", "", why));
        }
        if is_from_a_page(&request.parts.headers) {
            let why = "the insecure port takes no requests from web pages (Origin, Sec-Fetch-Site)";
            return respond::status(&Status::forbidden("", "", "", why));
        }
        if !has_api_body(&request) {
            return respond::status(&Status::unsupported_media_type(&TYPES));
        }
        // Ignoring these headers would let every client of an impersonating proxy act as the administrator.
        if request.parts.headers.keys().any(|name| name.as_str().starts_with("impersonate-")) {
            let why = "users cannot be impersonated over the insecure port";
            return respond::status(&Status::forbidden("", "", "", why));
        }
        request.user = Some(self.0.clone());
        next.run(request).await
    }
}

/// Media types of requests to the API. A page cannot send one of them to another origin without asking first.
const TYPES: [&str; 9] = [
    "application/json",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
    "application/cbor",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
    "application/apply-patch+cbor",
];

/// Returns whether a browser sends this for a page of another origin. Addresses typed by hand have `Sec-Fetch-Site:
/// none`.
fn is_from_a_page(headers: &HeaderMap) -> bool {
    headers.contains_key(ORIGIN) || headers.get_all("sec-fetch-site").iter().any(|site| site != "none")
}

/// Returns whether the request has no body to be taken for an object, or says that it is of a type of the API. A
/// `DELETE` needs no body: a page cannot send one without asking first, whatever its type.
fn has_api_body(request: &Request) -> bool {
    let has_body = match request.parts.method {
        Method::GET | Method::HEAD | Method::OPTIONS => false,
        Method::DELETE => !request.body.is_end_stream() || request.parts.headers.contains_key(CONTENT_TYPE),
        _ => true,
    };
    !has_body || request.header(&CONTENT_TYPE).is_some_and(is_api_type)
}

fn is_api_type(content_type: &str) -> bool {
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    TYPES.iter().any(|known| known.eq_ignore_ascii_case(essence))
}

/// Returns whether a `Host` header names this machine, with or without a port.
fn is_loopback(host: &str) -> bool {
    let name = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, _)) => address,
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_types_that_take_a_preflight_are_of_the_api() {
        for known in ["application/json", "application/json; charset=utf-8", "Application/YAML"] {
            assert!(is_api_type(known), "{known}");
        }
        for other in [
            "",
            "text/plain",
            "text/plain; application/json",
            "application/x-www-form-urlencoded",
            "multipart/form-data; boundary=x",
            "application/json, text/plain",
        ] {
            assert!(!is_api_type(other), "{other}");
        }
    }

    #[test]
    fn only_names_of_this_machine_are_loopback() {
        for host in ["localhost", "LOCALHOST:8080", "127.0.0.1", "127.0.0.1:8080", "[::1]:8080", "[::1]"] {
            assert!(is_loopback(host), "{host}");
        }
        for host in ["", "evil.example", "evil.example:8080", "10.0.0.1:8080", "localhost.evil.example"] {
            assert!(!is_loopback(host), "{host}");
        }
    }
}
