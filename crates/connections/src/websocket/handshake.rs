//! The handshake: which protocols a client offers, and the answer to it.

use aws_lc_rs::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::header::{
    CONNECTION, HeaderMap, HeaderName, HeaderValue, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY,
    SEC_WEBSOCKET_PROTOCOL, SEC_WEBSOCKET_VERSION, UPGRADE,
};
use http::{Method, Response, StatusCode};

/// RFC 6455, section 1.3.
const KEY_SUFFIX: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// Returns whether a request asks for a WebSocket.
pub fn is_asked_for(headers: &HeaderMap) -> bool {
    let connection = headers.get_all(CONNECTION).iter().filter_map(|value| value.to_str().ok());
    text(headers, &UPGRADE).eq_ignore_ascii_case("websocket")
        && connection.into_iter().any(|value| value.to_ascii_lowercase().contains("upgrade"))
}

/// Returns the protocols that a client offers, in its order.
pub fn protocols(headers: &HeaderMap) -> Vec<&str> {
    let values = headers.get_all(SEC_WEBSOCKET_PROTOCOL).iter().filter_map(|value| value.to_str().ok());
    let all = values.flat_map(|value| value.split(',').map(str::trim));
    all.filter(|protocol| !protocol.is_empty()).collect()
}

/// Returns the answer that accepts a handshake with this protocol, or the code and reason of a refusal.
pub fn accept(
    method: &Method,
    headers: &HeaderMap,
    protocol: Option<&str>,
) -> Result<Response<()>, (StatusCode, &'static str)> {
    let bad = |reason| Err((StatusCode::BAD_REQUEST, reason));
    if method != Method::GET {
        let reason = "websocket: the client is not using the websocket protocol: request method is not GET";
        return Err((StatusCode::METHOD_NOT_ALLOWED, reason));
    }
    if text(headers, &SEC_WEBSOCKET_VERSION) != "13" {
        return bad("websocket: unsupported version: 13 not found in 'Sec-Websocket-Version' header");
    }
    let key = text(headers, &SEC_WEBSOCKET_KEY);
    if STANDARD.decode(key).is_ok_and(|bytes| bytes.len() != 16) || key.is_empty() {
        return bad(
            "websocket: not a websocket handshake: 'Sec-WebSocket-Key' header must be Base64 encoded value \
             of 16-byte in length",
        );
    }
    let mut response = Response::new(());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let answer = response.headers_mut();
    let accepted =
        STANDARD.encode(digest(&SHA1_FOR_LEGACY_USE_ONLY, format!("{key}{KEY_SUFFIX}").as_bytes()));
    for (name, value) in [
        (UPGRADE, "websocket"),
        (CONNECTION, "Upgrade"),
        (SEC_WEBSOCKET_ACCEPT, &*accepted),
        (SEC_WEBSOCKET_PROTOCOL, protocol.unwrap_or_default()),
    ] {
        match HeaderValue::from_str(value) {
            Ok(value) if !value.is_empty() => drop(answer.insert(name, value)),
            _ => {}
        }
    }
    Ok(response)
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> &'a str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(fields: &[(&'static str, &'static str)]) -> HeaderMap {
        let field = |(name, value): &(&'static str, &'static str)| {
            (HeaderName::from_static(name), HeaderValue::from_static(value))
        };
        fields.iter().map(field).collect()
    }

    #[test]
    fn a_handshake_is_accepted_with_the_digest_of_its_key() {
        let asked = headers(&[
            ("connection", "keep-alive, Upgrade"),
            ("upgrade", "WebSocket"),
            ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
            ("sec-websocket-version", "13"),
            ("sec-websocket-protocol", "v5.channel.k8s.io, v4.channel.k8s.io"),
        ]);
        assert!(is_asked_for(&asked));
        assert_eq!(protocols(&asked), ["v5.channel.k8s.io", "v4.channel.k8s.io"]);
        let response = accept(&Method::GET, &asked, Some("v5.channel.k8s.io")).unwrap();
        assert_eq!(response.status(), StatusCode::SWITCHING_PROTOCOLS);
        assert_eq!(response.headers()[SEC_WEBSOCKET_ACCEPT], "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
        assert_eq!(response.headers()[SEC_WEBSOCKET_PROTOCOL], "v5.channel.k8s.io");
        assert_eq!(accept(&Method::POST, &asked, None).unwrap_err().0, StatusCode::METHOD_NOT_ALLOWED);
        for missing in [SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION] {
            let mut asked = asked.clone();
            asked.remove(missing);
            assert_eq!(accept(&Method::GET, &asked, None).unwrap_err().0, StatusCode::BAD_REQUEST);
        }
    }
}
