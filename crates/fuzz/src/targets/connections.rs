//! Input of clients and kubelets on connections: SPDY, WebSocket, and the headers of requests that are passed on.

use bytes::BytesMut;
use http::{HeaderMap, HeaderName, HeaderValue};
use pintle_connections::websocket::{Decoder, handshake};
use pintle_outbound::headers;
use pintle_spdy::headers::Reader;
use pintle_spdy::{Decoder as SpdyDecoder, Frame};

use super::{refused, way};
use crate::Target;

pub(super) const TARGETS: &[Target] =
    &[
        Target {
            name: "spdy",
            seeds: || {
                [
                    &b"\x80\x03\x00\x01\x00\x00\x00\x0c\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x78\x20"[..],
                    b"\x00\x00\x00\x01\x01\x00\x00\x05hello\x80\x03\x00\x06\x00\x00\x00\x04\x00\x00\x00\x02",
                    b"\x80\x03\x00\x03\x00\x00\x00\x08\x00\x00\x00\x01\x00\x00\x00\x05",
                ]
                .map(<[u8]>::to_vec)
                .to_vec()
            },
            tokens: &["\u{0}\u{0}\u{0}\u{1}", "\u{3}"],
            run: spdy,
        },
        Target {
            name: "websocket",
            seeds: || {
                [
                    &b"\x82\x85\x01\x02\x03\x04\x01helo"[..],
                    b"\x02\x81\x01\x02\x03\x04\x00\x89\x80\x00\x00\x00\x00\x80\x80\x00\x00\x00\x00",
                    b"\x88\x82\x00\x00\x00\x00\x03\xe8",
                ]
                .map(<[u8]>::to_vec)
                .to_vec()
            },
            tokens: &["\u{0}\u{0}\u{0}\u{0}"],
            run: websocket,
        },
        Target {
            name: "proxied-headers",
            seeds: || {
                [
            &b"connection: keep-alive, x-remote-user\nx-remote-user: a\nupgrade: websocket"[..],
            b"connection: Upgrade\nupgrade: SPDY/3.1\nte: trailers\ntransfer-encoding: chunked",
            b"sec-websocket-protocol: v5.channel.k8s.io, a\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==",
        ].map(<[u8]>::to_vec).to_vec()
            },
            tokens: &["connection: ", "upgrade: ", ", ", "\n", "te: trailers", "transfer-encoding: chunked"],
            run: proxied_headers,
        },
    ];

fn spdy(input: &[u8]) -> u64 {
    let (mut decoder, mut reader) = (SpdyDecoder::default(), Reader::default());
    let (mut arrived, mut kinds, mut size) = (BytesMut::from(input), Vec::new(), 0);
    loop {
        match decoder.decode(&mut arrived) {
            Ok(Some(Frame::SynStream { headers, .. })) => {
                kinds.push(match reader.read(&headers) {
                    Ok(headers) => way(headers.len().min(4)),
                    Err(error) => refused(error),
                });
            }
            Ok(Some(Frame::Data { data, fin, .. })) => {
                size += data.len();
                kinds.push(way(fin));
            }
            Ok(Some(frame)) => kinds.push(way(std::mem::discriminant(&frame))),
            Ok(None) => break,
            Err(error) => {
                kinds.push(refused(error));
                break;
            }
        }
    }
    assert!(size <= input.len(), "data out of nothing");
    kinds.truncate(6);
    way(kinds)
}

fn websocket(input: &[u8]) -> u64 {
    let (mut decoder, mut arrived) = (Decoder::default(), BytesMut::from(input));
    let mut kinds = Vec::new();
    loop {
        match decoder.decode(&mut arrived) {
            Ok(Some(event)) => kinds.push(way(std::mem::discriminant(&event))),
            Ok(None) => break,
            Err(error) => {
                kinds.push(refused(error));
                break;
            }
        }
    }
    kinds.truncate(6);
    way(kinds)
}

fn proxied_headers(input: &[u8]) -> u64 {
    let mut fields = HeaderMap::new();
    for line in input.split(|byte| *byte == b'\n') {
        let Some(colon) = line.iter().position(|byte| *byte == b':') else { continue };
        let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
        if let (Ok(name), Ok(value)) = (HeaderName::from_bytes(name), HeaderValue::from_bytes(value)) {
            fields.append(name, value);
        }
    }
    let protocols = handshake::protocols(&fields).len();
    let accepted = handshake::accept(&http::Method::GET, &fields, None).is_ok();
    let upgrade = headers::forward(&mut fields);
    for name in ["transfer-encoding", "keep-alive", "proxy-authorization"] {
        assert!(!fields.contains_key(name), "{name} was passed on");
    }
    assert_eq!(fields.contains_key("connection"), upgrade.is_some());
    // Nothing that the connection lists is left to be removed.
    let before = fields.clone();
    assert_eq!(headers::forward(&mut fields), upgrade);
    assert_eq!(fields, before);
    way((protocols.min(4), accepted, upgrade.is_some(), fields.keys_len().min(6)))
}
