//! A watch over a WebSocket, for clients that cannot read a stream otherwise: one message per event, text for JSON, binary
//! for the rest. What the client sends is not listened to; it may ping, and it may close.

use std::time::Duration;

use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use http::header::{
    CONNECTION, HeaderMap, HeaderName, HeaderValue, ORIGIN, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY,
    SEC_WEBSOCKET_PROTOCOL, SEC_WEBSOCKET_VERSION, UPGRADE,
};
use http::{Response as HttpResponse, StatusCode, Uri};
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use pintle_codec::negotiate::Encoding;
use tokio::time::{Instant, timeout_at};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::error::{CapacityError, Error};
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Message, Utf8Bytes};

use super::verbs::watch::Stream;
use super::{Result, internal};
use crate::{Body, Request, Response};

/// Maximum size of a message from a client; its content is ignored.
const MAX_MESSAGE: usize = 64 * 1024;
/// How much of what it sends is read at once.
const READ: usize = 4 * 1024;
/// So long after its end, a watch whose client does not take the goodbye is over anyway.
const GOODBYE: Duration = Duration::from_secs(5);

type Socket = WebSocketStream<TokioIo<Upgraded>>;

/// Whether the client asks for a WebSocket.
pub(crate) fn is_asked_for(headers: &HeaderMap) -> bool {
    let websocket = text(headers, &UPGRADE).eq_ignore_ascii_case("websocket");
    let mut connection = headers.get_all(CONNECTION).iter().filter_map(|value| value.to_str().ok());
    websocket && connection.any(|value| value.to_ascii_lowercase().contains("upgrade"))
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> &'a str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// Answers a request for a WebSocket, and has its connection go on with the watch.
pub(crate) fn serve(request: &mut Request, encoding: Encoding, watch: Stream) -> Result<Response> {
    let upgrade = request.parts.extensions.remove::<OnUpgrade>();
    let upgrade = upgrade.ok_or_else(|| internal("this connection cannot be upgraded"))?;
    let headers = &request.parts.headers;
    let response = handshake(headers);
    if response.status() == StatusCode::SWITCHING_PROTOCOLS {
        request.connection.go_on_with(Box::pin(converse(upgrade, encoding, watch)));
    }
    Ok(response)
}

/// The reference's library talks for itself here: its refusals are no `Status`.
fn handshake(headers: &HeaderMap) -> Response {
    let refuse = |code: StatusCode, reason: &'static str| {
        let mut response = HttpResponse::new(Body::from(reason));
        *response.status_mut() = code;
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        response
    };
    let key = text(headers, &SEC_WEBSOCKET_KEY);
    if key.is_empty() {
        return refuse(StatusCode::BAD_REQUEST, "mismatch challenge/response");
    }
    if text(headers, &SEC_WEBSOCKET_VERSION) != "13" {
        let mut response = refuse(StatusCode::BAD_REQUEST, "missing or bad WebSocket Version");
        response.headers_mut().insert(SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
        return response;
    }
    if !is_origin(text(headers, &ORIGIN)) {
        return refuse(StatusCode::FORBIDDEN, "");
    }
    let mut response = HttpResponse::new(Body::empty());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let answer = response.headers_mut();
    // Of several it would have to choose one, and does not.
    let protocol = text(headers, &SEC_WEBSOCKET_PROTOCOL).trim();
    match HeaderValue::from_str(protocol) {
        Ok(_) if protocol.is_empty() => {}
        Ok(only) if !protocol.contains(',') => drop(answer.insert(SEC_WEBSOCKET_PROTOCOL, only)),
        _ => return refuse(StatusCode::BAD_REQUEST, ""),
    }
    let Ok(accept) = HeaderValue::from_str(&derive_accept_key(key.as_bytes())) else {
        return refuse(StatusCode::BAD_REQUEST, "");
    };
    answer.insert(UPGRADE, HeaderValue::from_static("websocket"));
    answer.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    answer.insert(SEC_WEBSOCKET_ACCEPT, accept);
    response
}

/// Whether an `Origin` header names an origin, as browsers send it. A client without one is refused.
fn is_origin(origin: &str) -> bool {
    origin.parse::<Uri>().is_ok_and(|uri| uri.scheme().is_some() || origin.starts_with('/'))
}

async fn converse(upgrade: OnUpgrade, encoding: Encoding, mut watch: Stream) {
    let deadline = watch.deadline() + GOODBYE;
    // Whatever the client does, and above all does not do, ends then.
    let _ = timeout_at(deadline, async {
        let upgraded = upgrade.await.map_err(|error| Error::Io(std::io::Error::other(error)))?;
        let config = WebSocketConfig::default()
            .read_buffer_size(READ)
            .write_buffer_size(0)
            .max_message_size(Some(MAX_MESSAGE))
            .max_frame_size(Some(MAX_MESSAGE));
        let mut socket =
            WebSocketStream::from_raw_socket(TokioIo::new(upgraded), Role::Server, Some(config)).await;
        let code = follow(&mut socket, encoding, &mut watch).await;
        // A client that reads nothing keeps a server that stops waiting only so long.
        let goodbye = Some(CloseFrame { code, reason: Utf8Bytes::default() });
        timeout_at(Instant::now() + GOODBYE, socket.close(goodbye)).await.unwrap_or(Ok(()))
    })
    .await;
}

/// Sends events until there are no more or the client closes; returns the code to close with.
async fn follow(socket: &mut Socket, encoding: Encoding, watch: &mut Stream) -> CloseCode {
    loop {
        tokio::select! {
            biased;
            received = socket.next() => match received {
                Some(Ok(Message::Close(_))) | None => return CloseCode::Normal,
                // A ping was answered on the way.
                Some(Ok(_)) => {}
                Some(Err(Error::Protocol(_))) => return CloseCode::Protocol,
                Some(Err(Error::Capacity(CapacityError::MessageTooLong { .. }))) => return CloseCode::Size,
                Some(Err(_)) => return CloseCode::Normal,
            },
            event = watch.next() => {
                let Some(Ok(event)) = event else { return CloseCode::Normal };
                let Some(message) = message(event, encoding) else { return CloseCode::Error };
                let stop = watch.stop();
                let sent = tokio::select! {
                    sent = socket.send(message) => sent,
                    () = stop.wait() => return CloseCode::Normal,
                };
                if sent.is_err() {
                    return CloseCode::Normal;
                }
            }
        }
    }
}

fn message(event: Bytes, encoding: Encoding) -> Option<Message> {
    match encoding {
        Encoding::Json | Encoding::Yaml => Utf8Bytes::try_from(event).ok().map(Message::Text),
        // A message has its length; the stream's own goes.
        Encoding::Protobuf => (event.len() >= 4).then(|| Message::Binary(event.slice(4..))),
        Encoding::Cbor => Some(Message::Binary(event)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(of: &[(&'static str, &'static str)]) -> HeaderMap {
        of.iter().map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn both_headers_ask_for_it() {
        for (of, expect) in [
            (&[("upgrade", "websocket"), ("connection", "Upgrade")][..], true),
            (&[("upgrade", "WebSocket"), ("connection", "keep-alive, upgrade")][..], true),
            (&[("upgrade", "websocket")][..], false),
            (&[("connection", "upgrade")][..], false),
            (&[("upgrade", "spdy/3.1"), ("connection", "upgrade")][..], false),
        ] {
            assert_eq!(is_asked_for(&headers(of)), expect, "{of:?}");
        }
    }

    #[test]
    fn a_handshake_is_answered_as_the_protocol_says() {
        let key = ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==");
        let (version, origin) = (("sec-websocket-version", "13"), ("origin", "https://example.com"));
        let whole = handshake(&headers(&[key, version, origin]));
        assert_eq!(whole.status(), 101);
        assert_eq!(whole.headers()[SEC_WEBSOCKET_ACCEPT], "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
        assert!(!whole.headers().contains_key(SEC_WEBSOCKET_PROTOCOL));
        let protocol = ("sec-websocket-protocol", "any.example.com");
        let whole = handshake(&headers(&[key, version, origin, protocol]));
        assert_eq!(whole.headers()[SEC_WEBSOCKET_PROTOCOL], "any.example.com");
        for (of, code) in [
            (&[version, origin][..], 400),
            (&[key, origin][..], 400),
            (&[key, ("sec-websocket-version", "8"), origin][..], 400),
            (&[key, version][..], 403),
            (&[key, version, ("origin", "null")][..], 403),
            (&[key, version, origin, ("sec-websocket-protocol", "a, b")][..], 400),
        ] {
            assert_eq!(handshake(&headers(of)).status(), code, "{of:?}");
        }
    }
}
