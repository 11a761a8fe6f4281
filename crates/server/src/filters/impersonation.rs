//! Acting as somebody else is not there yet, so asking for it is refused. Passing it over would let whoever is behind
//! an impersonating proxy act as the proxy.

use async_trait::async_trait;
use pintle_meta::Status;

use crate::filter::{Filter, Next};
use crate::{Request, Response, respond};

pub struct Impersonation;

#[async_trait]
impl Filter for Impersonation {
    async fn handle(&self, request: Box<Request>, next: Next<'_>) -> Response {
        if request.parts.headers.keys().any(|name| name.as_str().starts_with("impersonate-")) {
            let why = "impersonation is not supported by this version of Pintle";
            return respond::status(&Status::forbidden("", "", "", why));
        }
        next.run(request).await
    }
}
