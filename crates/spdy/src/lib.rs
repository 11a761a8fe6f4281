//! SPDY/3.1 as kubelets speak it: frames and headers, without I/O.
//!
//! Streams of `exec`, `attach` and `portforward` are SPDY streams. Only what these need is here: there are no priorities and no
//! push, and as in the reference's implementation no flow control beyond that of the connection.
//!
//! ```text
//! control frame   1 | version (15) | type (16) | flags (8) | length (24) | payload
//! data frame      0 | stream (31)              | flags (8) | length (24) | payload
//! ```
//!
//! - [`Decoder`] takes bytes as they come and returns [`Frame`]s. A data frame may be 16 MB long, so it is returned in the parts that have
//!   arrived; a control frame is held whole and bounded ([`LARGEST_CONTROL`]).
//! - [`encode`] writes frames.
//! - [`headers`] has the blocks of names and values in frames that open streams.

mod decode;
mod dictionary;
pub mod encode;
pub mod headers;

pub use decode::{Decoder, LARGEST_CONTROL};

use bytes::Bytes;

/// A frame, or a part of a data frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// Opens a stream.
    SynStream {
        stream: u32,
        fin: bool,
        headers: Bytes,
    },
    /// Accepts a stream.
    SynReply {
        stream: u32,
        fin: bool,
        headers: Bytes,
    },
    /// Ends a stream in both directions at once.
    RstStream {
        stream: u32,
        status: u32,
    },
    /// To be answered with the same id, if the other side has chosen it.
    Ping {
        id: u32,
    },
    GoAway {
        last_stream: u32,
        status: u32,
    },
    Headers {
        stream: u32,
        fin: bool,
        headers: Bytes,
    },
    /// Bytes of a stream. `fin`: the last of its sender.
    Data {
        stream: u32,
        fin: bool,
        data: Bytes,
    },
    /// A frame that means nothing here: settings, window updates.
    Other {
        kind: u16,
    },
}

/// Why bytes are no frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("control frame of {0} bytes is too long")]
    TooLong(usize),
    #[error("control frame of type {0} is invalid")]
    Invalid(u16),
    #[error("SPDY version {0} is not supported")]
    Version(u16),
    #[error("stream id zero is disallowed")]
    NoStream,
    #[error("header block is invalid")]
    Headers,
    #[error("header block is too long")]
    HeadersTooLong,
}

const VERSION: u16 = 3;
const FIN: u8 = 1;
const LARGEST_LENGTH: usize = (1 << 24) - 1;

mod kind {
    pub(crate) const SYN_STREAM: u16 = 1;
    pub(crate) const SYN_REPLY: u16 = 2;
    pub(crate) const RST_STREAM: u16 = 3;
    pub(crate) const PING: u16 = 6;
    pub(crate) const GO_AWAY: u16 = 7;
    pub(crate) const HEADERS: u16 = 8;
}

#[cfg(test)]
mod tests;
