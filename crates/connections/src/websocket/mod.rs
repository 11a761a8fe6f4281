//! The server's half of WebSockets (RFC 6455): handshake, messages, and a byte stream in their place.
//!
//! Messages are read in the parts that have arrived, so that neither their size nor that of their frames matters.

pub mod decode;
pub mod encode;
pub mod handshake;
mod stream;

pub use decode::{Decoder, Event};
pub use stream::MessageStream;

/// Kinds of frames.
pub(crate) mod opcode {
    pub(crate) const CONTINUATION: u8 = 0;
    pub(crate) const TEXT: u8 = 1;
    pub(crate) const BINARY: u8 = 2;
    pub(crate) const CLOSE: u8 = 8;
    pub(crate) const PING: u8 = 9;
    pub(crate) const PONG: u8 = 10;
}

/// The reason for a close frame.
pub mod close {
    pub const NORMAL: u16 = 1000;
    pub const PROTOCOL: u16 = 1002;
}
