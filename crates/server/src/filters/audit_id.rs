//! Every request has a name, the client's own if it brings one, and every answer repeats it.

use async_trait::async_trait;
use http::HeaderValue;
use pintle_meta::names;
use pintle_runtime::Random;

use crate::filter::{Filter, Next};
use crate::respond::AUDIT_ID;
use crate::{Request, Response};

/// The IDs of requests that bring none are drawn from this source.
pub struct AuditId(pub Random);

#[async_trait]
impl Filter for AuditId {
    async fn handle(&self, mut request: Box<Request>, next: Next<'_>) -> Response {
        request.audit_id = match request.header(&AUDIT_ID) {
            Some(id) if !id.is_empty() => id.to_owned(),
            _ => names::uuid((u128::from(self.0.number()) << 64) | u128::from(self.0.number())),
        };
        let value = HeaderValue::from_str(&request.audit_id);
        let mut response = next.run(request).await;
        if let Ok(value) = value {
            response.headers_mut().insert(AUDIT_ID, value);
        }
        response
    }
}
