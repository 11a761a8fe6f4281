//! Who comes over the port without TLS is taken for the administrator: whoever is on this machine can reach it, and there is
//! no telling them apart.

use std::net::IpAddr;
use std::sync::Arc;

use async_trait::async_trait;
use http::header::HOST;
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
        // Passing it over would let whoever is behind an impersonating proxy act as the administrator.
        if request.parts.headers.keys().any(|name| name.as_str().starts_with("impersonate-")) {
            let why = "nobody can act as somebody else over the insecure port";
            return respond::status(&Status::forbidden("", "", "", why));
        }
        request.user = Some(self.0.clone());
        next.run(request).await
    }
}

/// Whether a `Host` header names this machine, with or without a port.
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
    fn only_names_of_this_machine_are_loopback() {
        for host in ["localhost", "LOCALHOST:8080", "127.0.0.1", "127.0.0.1:8080", "[::1]:8080", "[::1]"] {
            assert!(is_loopback(host), "{host}");
        }
        for host in ["", "evil.example", "evil.example:8080", "10.0.0.1:8080", "localhost.evil.example"] {
            assert!(!is_loopback(host), "{host}");
        }
    }
}
