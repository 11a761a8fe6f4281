//! The protocol of konnectivity's proxies: packets of many kinds on one stream each way, as prost derives.

use crate::grpc::Method;

/// A packet of either direction. `kind` says which part counts.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Packet {
    #[prost(int32, tag = "1")]
    pub kind: i32,
    #[prost(oneof = "Payload", tags = "2, 3, 4, 5, 6, 7")]
    pub payload: Option<Payload>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
pub enum Payload {
    #[prost(message, tag = "2")]
    DialRequest(DialRequest),
    #[prost(message, tag = "3")]
    DialResponse(DialResponse),
    #[prost(message, tag = "4")]
    Data(Data),
    #[prost(message, tag = "5")]
    CloseRequest(CloseRequest),
    #[prost(message, tag = "6")]
    CloseResponse(CloseResponse),
    #[prost(message, tag = "7")]
    CloseDial(CloseDial),
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct DialRequest {
    #[prost(string, tag = "1")]
    pub protocol: String,
    #[prost(string, tag = "2")]
    pub address: String,
    /// Names the dial until there is a connection.
    #[prost(int64, tag = "3")]
    pub random: i64,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct DialResponse {
    #[prost(string, tag = "1")]
    pub error: String,
    #[prost(int64, tag = "2")]
    pub connect_id: i64,
    #[prost(int64, tag = "3")]
    pub random: i64,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct Data {
    #[prost(int64, tag = "1")]
    pub connect_id: i64,
    #[prost(string, tag = "2")]
    pub error: String,
    #[prost(bytes = "bytes", tag = "3")]
    pub data: bytes::Bytes,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct CloseRequest {
    #[prost(int64, tag = "1")]
    pub connect_id: i64,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct CloseResponse {
    #[prost(string, tag = "1")]
    pub error: String,
    #[prost(int64, tag = "2")]
    pub connect_id: i64,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct CloseDial {
    #[prost(int64, tag = "1")]
    pub random: i64,
}

impl Packet {
    pub const DIAL_REQ: i32 = 0;
    pub const DIAL_RSP: i32 = 1;
    pub const CLOSE_REQ: i32 = 2;
    pub const CLOSE_RSP: i32 = 3;
    pub const DATA: i32 = 4;
    pub const DIAL_CLS: i32 = 5;
    pub const DRAIN: i32 = 6;

    /// As figures have it.
    pub fn kind_name(&self) -> &'static str {
        match self.kind {
            Packet::DIAL_REQ => "DIAL_REQ",
            Packet::DIAL_RSP => "DIAL_RSP",
            Packet::CLOSE_REQ => "CLOSE_REQ",
            Packet::CLOSE_RSP => "CLOSE_RSP",
            Packet::DATA => "DATA",
            Packet::DIAL_CLS => "DIAL_CLS",
            Packet::DRAIN => "DRAIN",
            _ => "Unknown",
        }
    }
}

impl From<Payload> for Packet {
    fn from(payload: Payload) -> Packet {
        let kind = match &payload {
            Payload::DialRequest(_) => Packet::DIAL_REQ,
            Payload::DialResponse(_) => Packet::DIAL_RSP,
            Payload::Data(_) => Packet::DATA,
            Payload::CloseRequest(_) => Packet::CLOSE_REQ,
            Payload::CloseResponse(_) => Packet::CLOSE_RSP,
            Payload::CloseDial(_) => Packet::DIAL_CLS,
        };
        Packet { kind, payload: Some(payload) }
    }
}

impl Method for Packet {
    const PATH: &'static str = "/ProxyService/Proxy";
    type Response = Packet;
}
