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
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use pintle_codec::negotiate::Encoding;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;
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
/// Size of the buffer for messages from a client.
const READ: usize = 4 * 1024;
/// Time that a client has to answer the close frame.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// Returns whether the client asks for a WebSocket.
pub(crate) fn is_asked_for(headers: &HeaderMap) -> bool {
    let websocket = text(headers, &UPGRADE).eq_ignore_ascii_case("websocket");
    let mut connection = headers.get_all(CONNECTION).iter().filter_map(|value| value.to_str().ok());
    websocket && connection.any(|value| value.to_ascii_lowercase().contains("upgrade"))
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> &'a str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// Answers the handshake of a WebSocket; the connection goes on with the watch.
pub(crate) fn serve(request: &mut Request, encoding: Encoding, watch: Stream) -> Result<Response> {
    let upgrade = request.parts.extensions.remove::<OnUpgrade>();
    let upgrade = upgrade.ok_or_else(|| internal("this connection cannot be upgraded"))?;
    let headers = &request.parts.headers;
    let response = handshake(headers);
    if response.status() == StatusCode::SWITCHING_PROTOCOLS {
        request.connection.continue_with(Box::pin(run(upgrade, encoding, watch)));
    }
    Ok(response)
}

/// Checks and answers a handshake. The refusals of the reference's library are no `Status`.
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
    // Of several protocols none is chosen.
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

/// Returns whether an `Origin` header names an origin, as browsers send it. A client without one is refused.
fn is_origin(origin: &str) -> bool {
    origin.parse::<Uri>().is_ok_and(|uri| uri.scheme().is_some() || origin.starts_with('/'))
}

async fn run(upgrade: OnUpgrade, encoding: Encoding, mut watch: Stream) {
    let (clock, longest) = (watch.clock(), watch.remaining() + CLOSE_TIMEOUT);
    // A bound on everything that the client may delay.
    let conversation = async {
        let upgraded = upgrade.await.map_err(|error| Error::Io(std::io::Error::other(error)))?;
        let config = WebSocketConfig::default()
            .read_buffer_size(READ)
            .write_buffer_size(0)
            .max_message_size(Some(MAX_MESSAGE))
            .max_frame_size(Some(MAX_MESSAGE));
        let mut socket =
            WebSocketStream::from_raw_socket(TokioIo::new(upgraded), Role::Server, Some(config)).await;
        let code = follow(&mut socket, encoding, &mut watch).await;
        // A client that reads nothing does not hold up a shutdown.
        let close = Some(CloseFrame { code, reason: Utf8Bytes::default() });
        timeout(CLOSE_TIMEOUT, socket.close(close)).await.unwrap_or(Ok(()))
    };
    let _ = clock.timeout(longest, conversation).await;
}

/// Sends events until there are no more or the client closes; returns the code to close with.
async fn follow<S>(socket: &mut WebSocketStream<S>, encoding: Encoding, watch: &mut Stream) -> CloseCode
where
    S: AsyncRead + AsyncWrite + Unpin,
{
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
                let sent = tokio::select! {
                    biased;
                    sent = socket.send(message) => sent,
                    () = watch.shut_down() => return CloseCode::Normal,
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
        // A message has a length of its own; that of the stream's frame is cut off.
        Encoding::Protobuf => (event.len() >= 4).then(|| Message::Binary(event.slice(4..))),
        Encoding::Cbor => Some(Message::Binary(event)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rest::testing::{Boats, BoatsConfig};

    fn headers(of: &[(&'static str, &'static str)]) -> HeaderMap {
        of.iter().map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn a_websocket_needs_both_headers() {
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

    #[tokio::test]
    async fn a_watch_sends_its_events_until_the_end_of_the_grace_period() {
        let watch_termination = Some(Duration::from_secs(10));
        let boats = Boats::start(BoatsConfig { watch_termination, ..BoatsConfig::default() }).await;
        // The first watch ends at once, the next ones by and by.
        let mut first = boats.watch("").await;
        let mut watch = boats.watch("").await;
        let (server, client) = tokio::io::duplex(1 << 16);
        let mut client = WebSocketStream::from_raw_socket(client, Role::Client, None).await;
        boats.shutdown.set();
        assert!(first.next().await.is_none());
        let following = tokio::spawn(async move {
            let mut socket = WebSocketStream::from_raw_socket(server, Role::Server, None).await;
            follow(&mut socket, Encoding::Json, &mut watch).await
        });
        for name in (0..20).map(|number| format!("boat-{number}")) {
            boats.create(&name).await;
            let event = timeout(Duration::from_secs(10), client.next()).await.unwrap();
            let Some(Ok(Message::Text(text))) = event else { panic!("{name}: {event:?}") };
            assert!(text.contains(&name), "{text}");
        }
        boats.clock.advance(Duration::from_secs(10));
        assert_eq!(following.await.unwrap(), CloseCode::Normal);
    }

    #[tokio::test]
    async fn a_client_that_reads_nothing_does_not_hold_up_a_shutdown() {
        let boats = Boats::start(BoatsConfig::default()).await;
        let mut watch = boats.watch("").await;
        // Too small for an event.
        let (server, _client) = tokio::io::duplex(16);
        let following = tokio::spawn(async move {
            let mut socket = WebSocketStream::from_raw_socket(server, Role::Server, None).await;
            follow(&mut socket, Encoding::Json, &mut watch).await
        });
        boats.create("a").await;
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert!(!following.is_finished());
        boats.shutdown.set();
        let code = timeout(Duration::from_secs(10), following).await.unwrap().unwrap();
        assert_eq!(code, CloseCode::Normal);
    }
}
