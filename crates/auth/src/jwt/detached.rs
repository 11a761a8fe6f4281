//! Signatures of documents by bootstrap tokens: JWS without its payload (RFC 7515, appendix F), by HMAC with SHA-256.

use aws_lc_rs::hmac::{HMAC_SHA256, Key as MacKey, sign};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use pintle_meta::Value;
use pintle_meta::value::{Key, Object};

/// Returns the signature of a content by a secret, whose name is `id`.
pub fn detached_signature(content: &[u8], id: &str, secret: &[u8]) -> String {
    let header = vec![(Key::new("alg"), Value::literal("HS256")), (Key::new("kid"), Value::string(id))];
    let mut json = Vec::new();
    pintle_codec::json::encode(&Value::object(Object::from_unsorted(header)), &mut json);
    let header = URL_SAFE_NO_PAD.encode(json);
    let signed = format!("{header}.{}", URL_SAFE_NO_PAD.encode(content));
    let signature = sign(&MacKey::new(HMAC_SHA256, secret), signed.as_bytes());
    format!("{header}..{}", URL_SAFE_NO_PAD.encode(signature))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected value was made with another implementation of HMAC.
    #[test]
    fn a_signature_has_header_and_mac_and_no_payload() {
        let signature = detached_signature(b"apiVersion: v1\nkind: Config\n", "abcdef", b"0123456789abcdef");
        assert_eq!(
            signature,
            "eyJhbGciOiJIUzI1NiIsImtpZCI6ImFiY2RlZiJ9..vH_kT4yiol-nrAWgjfCYqvum5wsKETXe0S7OOp1VgnE"
        );
        let other = detached_signature(b"apiVersion: v1\n", "abcdef", b"0123456789abcdef");
        assert_ne!(signature, other);
    }
}
