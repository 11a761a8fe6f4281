//! Tokens of browsers, which can set no header on a WebSocket but its subprotocols.
//!
//! `Sec-WebSocket-Protocol: base64url.bearer.authorization.k8s.io.TOKEN, v4.channel.k8s.io`. There must be a second one,
//! since a server must choose one of those offered and the token is not to be echoed.

use std::sync::Arc;

use async_trait::async_trait;
use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use http::header::{CONNECTION, HeaderMap, HeaderValue, SEC_WEBSOCKET_PROTOCOL, UPGRADE};

use super::{Authenticator, Credentials, Error, Identity, TokenAuthenticator};

const PREFIX: &str = "base64url.bearer.authorization.k8s.io.";

/// As Go's raw URL encoding: no padding, and bits beyond the last byte are passed over.
const ENCODING: GeneralPurpose = GeneralPurpose::new(
    &alphabet::URL_SAFE,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::RequireNone)
        .with_decode_allow_trailing_bits(true),
);

pub struct WebSocketToken {
    pub tokens: Arc<dyn TokenAuthenticator>,
    /// The audiences of this server.
    pub audiences: Arc<[String]>,
}

#[async_trait]
impl Authenticator for WebSocketToken {
    async fn authenticate(&self, credentials: Credentials<'_>) -> Result<Option<Identity>, Error> {
        if !is_websocket(credentials.headers) {
            return Ok(None);
        }
        let Some(token) = protocol_token(credentials.headers)? else { return Ok(None) };
        let found =
            self.tokens.authenticate_token(token.as_bytes(), &self.audiences, credentials.now).await?;
        found.map(Some).ok_or(Error::InvalidToken)
    }
}

/// Whether an upgrade to a WebSocket is asked for.
fn is_websocket(headers: &HeaderMap) -> bool {
    let says = |name, word: &str| {
        let first: Option<&HeaderValue> = headers.get(name);
        first.and_then(|value| value.to_str().ok()).unwrap_or_default().to_ascii_lowercase().contains(word)
    };
    headers.get(UPGRADE).is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"websocket"))
        && says(CONNECTION, "upgrade")
}

fn protocols(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let values = headers.get_all(SEC_WEBSOCKET_PROTOCOL).into_iter();
    values.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(',')).map(str::trim)
}

fn protocol_token(headers: &HeaderMap) -> Result<Option<String>, Error> {
    let refused = |why: &str| Error::Refused(why.into());
    let (mut found, mut others) = (None, 0);
    for protocol in protocols(headers) {
        let Some(encoded) = protocol.strip_prefix(PREFIX) else {
            others += 1;
            continue;
        };
        if found.is_some() {
            return Err(refused("multiple base64.bearer.authorization tokens specified"));
        }
        let decoded = ENCODING
            .decode(encoded)
            .map_err(|_| refused("invalid base64.bearer.authorization token encoding"))?;
        let token =
            String::from_utf8(decoded).map_err(|_| refused("invalid base64.bearer.authorization token"))?;
        found = Some(token);
    }
    match found.filter(|token| !token.is_empty()) {
        Some(_) if others == 0 => Err(refused("missing additional subprotocol")),
        found => Ok(found),
    }
}

/// Takes tokens out of the offered subprotocols, so that no handler negotiates or logs one.
pub fn forget_protocol_token(headers: &mut HeaderMap) {
    if !headers.contains_key(SEC_WEBSOCKET_PROTOCOL) {
        return;
    }
    let is_token = |protocol: &&str| protocol.starts_with(PREFIX);
    if !protocols(headers).any(|protocol| is_token(&protocol)) {
        return;
    }
    let rest: Vec<&str> = protocols(headers).filter(|protocol| !is_token(protocol)).collect();
    match HeaderValue::try_from(rest.join(",")) {
        Ok(rest) => {
            headers.insert(SEC_WEBSOCKET_PROTOCOL, rest);
        }
        Err(_) => {
            headers.remove(SEC_WEBSOCKET_PROTOCOL);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(protocols: &[&str]) -> HeaderMap {
        protocols.iter().map(|value| (SEC_WEBSOCKET_PROTOCOL, value.parse().unwrap())).collect()
    }

    fn token(protocols: &[&str]) -> Result<Option<String>, String> {
        protocol_token(&headers(protocols)).map_err(|error| error.to_string())
    }

    #[test]
    fn a_token_among_the_protocols_is_found_and_taken_out() {
        let offered = ["a, base64url.bearer.authorization.k8s.io.dG9rZW4 ,b", "c"];
        assert_eq!(token(&offered), Ok(Some("token".into())));
        let mut headers = headers(&offered);
        forget_protocol_token(&mut headers);
        assert_eq!(headers.get_all(SEC_WEBSOCKET_PROTOCOL).into_iter().collect::<Vec<_>>(), ["a,b,c"]);
    }

    #[test]
    fn the_rules_about_it_are_exact() {
        let refused = |protocols: &[&str]| token(protocols).unwrap_err();
        assert_eq!(
            refused(&["base64url.bearer.authorization.k8s.io.dG9rZW4"]),
            "missing additional subprotocol"
        );
        let twice = "base64url.bearer.authorization.k8s.io.dG8,base64url.bearer.authorization.k8s.io.dG8,a";
        assert_eq!(refused(&[twice]), "multiple base64.bearer.authorization tokens specified");
        let padded = "base64url.bearer.authorization.k8s.io.dG9rZQ==,a";
        assert_eq!(refused(&[padded]), "invalid base64.bearer.authorization token encoding");
        assert_eq!(
            refused(&["base64url.bearer.authorization.k8s.io._w,a"]),
            "invalid base64.bearer.authorization token"
        );
        assert_eq!(token(&["base64url.bearer.authorization.k8s.io."]), Ok(None), "an empty one is none");
        assert_eq!(token(&["v4.channel.k8s.io"]), Ok(None));
    }

    #[test]
    fn only_a_websocket_may_bring_one() {
        let check = |all: &[(&'static str, &str)], expect: bool| {
            let headers: HeaderMap = all
                .iter()
                .map(|(name, value)| (http::HeaderName::from_static(name), value.parse().unwrap()))
                .collect();
            assert_eq!(is_websocket(&headers), expect, "{all:?}");
        };
        check(&[("connection", "keep-alive, Upgrade"), ("upgrade", "WebSocket")], true);
        check(&[("upgrade", "websocket")], false);
        check(&[("connection", "upgrade"), ("upgrade", "spdy/3.1")], false);
        check(&[], false);
    }
}
