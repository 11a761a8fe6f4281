//! Every request has a name, the client's own if it brings one, and every answer repeats it.

use async_trait::async_trait;
use http::HeaderValue;

use crate::filter::{Filter, Next};
use crate::respond::AUDIT_ID;
use crate::{Request, Response};

pub struct AuditId;

#[async_trait]
impl Filter for AuditId {
    async fn handle(&self, mut request: Request, next: Next<'_>) -> Response {
        request.audit_id = match request.header(&AUDIT_ID) {
            Some(id) if !id.is_empty() => id.to_owned(),
            _ => uuid(rand::random()),
        };
        let value = HeaderValue::from_str(&request.audit_id);
        let mut response = next.run(request).await;
        if let Ok(value) = value {
            response.headers_mut().insert(AUDIT_ID, value);
        }
        response
    }
}

/// A random UUID (version 4) of these bits.
fn uuid(bits: u128) -> String {
    let bits = (bits & !(0xf << 76) & !(0x3 << 62)) | (0x4 << 76) | (0x2 << 62);
    format!(
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        bits >> 96,
        bits >> 80 & 0xffff,
        bits >> 64 & 0xffff,
        bits >> 48 & 0xffff,
        bits & 0xffff_ffff_ffff
    )
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_uuid_shows_version_and_variant() {
        assert_eq!(super::uuid(0), "00000000-0000-4000-8000-000000000000");
        assert_eq!(super::uuid(u128::MAX), "ffffffff-ffff-4fff-bfff-ffffffffffff");
    }
}
