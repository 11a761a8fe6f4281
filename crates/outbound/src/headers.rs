//! Headers that belong to one connection, and requests to turn a connection into another protocol.

use http::header::{
    CONNECTION, HeaderMap, HeaderName, HeaderValue, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE,
    TRANSFER_ENCODING, UPGRADE,
};

/// Headers of a connection, whatever its `Connection` header lists. `Trailer` stays, since trailers are passed on.
const HOP_BY_HOP: [HeaderName; 7] = [
    CONNECTION,
    HeaderName::from_static("proxy-connection"),
    HeaderName::from_static("keep-alive"),
    PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION,
    TE,
    TRANSFER_ENCODING,
];

/// Prepares the headers of a request or response for the next connection: removes those of the connection that they came
/// from, and keeps a request to upgrade, or its acceptance, as it is.
///
/// Returns the protocol to upgrade to.
pub fn forward(headers: &mut HeaderMap) -> Option<HeaderValue> {
    let protocol = upgrade_protocol(headers).cloned();
    let listed: Vec<HeaderName> = connection_options(headers).filter_map(|name| name.parse().ok()).collect();
    // `TE: trailers` is a statement about the client itself, which gRPC servers insist on.
    let trailers = headers.get_all(TE).iter().any(|value| lists(value, "trailers"));
    for name in HOP_BY_HOP.iter().chain(&listed).chain([&UPGRADE]) {
        headers.remove(name);
    }
    if trailers {
        headers.insert(TE, HeaderValue::from_static("trailers"));
    }
    if let Some(protocol) = &protocol {
        headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
        headers.insert(UPGRADE, protocol.clone());
    }
    protocol
}

/// Returns the protocol that a message asks or agrees to speak from here on: `websocket`, `SPDY/3.1`.
pub fn upgrade_protocol(headers: &HeaderMap) -> Option<&HeaderValue> {
    let is_upgrade = connection_options(headers).any(|option| option.eq_ignore_ascii_case("upgrade"));
    headers.get(UPGRADE).filter(|protocol| is_upgrade && !protocol.is_empty())
}

fn connection_options(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let values = headers.get_all(CONNECTION).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',').map(str::trim))
}

fn lists(value: &HeaderValue, wanted: &str) -> bool {
    value.to_str().is_ok_and(|value| value.split(',').any(|item| item.trim().eq_ignore_ascii_case(wanted)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forwarded(fields: &[(&'static str, &'static str)]) -> (Vec<String>, Option<HeaderValue>) {
        let mut headers = HeaderMap::new();
        for (name, value) in fields {
            headers.append(*name, HeaderValue::from_static(value));
        }
        let protocol = forward(&mut headers);
        let mut left: Vec<String> =
            headers.iter().map(|(name, value)| format!("{name}: {}", value.to_str().unwrap())).collect();
        left.sort();
        (left, protocol)
    }

    #[test]
    fn headers_of_a_connection_and_those_it_lists_are_removed() {
        let (left, protocol) = forwarded(&[
            ("connection", "keep-alive, X-Private"),
            ("connection", "close"),
            ("keep-alive", "timeout=5"),
            ("x-private", "1"),
            ("transfer-encoding", "chunked"),
            ("proxy-authorization", "secret"),
            ("te", "gzip, trailers"),
            ("upgrade", "websocket"),
            ("accept", "*/*"),
        ]);
        assert_eq!(left, ["accept: */*", "te: trailers"]);
        assert_eq!(protocol, None, "an upgrade that the connection does not list is none");
    }

    #[test]
    fn a_request_to_upgrade_is_kept() {
        for protocol in ["websocket", "SPDY/3.1"] {
            let (left, found) =
                forwarded(&[("connection", "keep-alive, upgrade"), ("upgrade", protocol), ("x", "y")]);
            assert_eq!(left, ["connection: Upgrade", &format!("upgrade: {protocol}"), "x: y"]);
            assert_eq!(found.unwrap(), protocol);
        }
    }
}
