//! Frames into bytes. Each function appends to a buffer.

use bytes::{BufMut, BytesMut};

use crate::{FIN, LARGEST_LENGTH, VERSION, kind};

/// Bytes that one data frame can have.
pub const LARGEST_DATA: usize = LARGEST_LENGTH;

/// Opens a stream with a block of [`headers`](crate::headers).
pub fn syn_stream(out: &mut BytesMut, stream: u32, headers: &[u8]) {
    control(out, kind::SYN_STREAM, 0, 10 + headers.len());
    out.put_u32(stream);
    out.put_u32(0);
    out.put_u16(0);
    out.put_slice(headers);
}

/// Accepts a stream.
pub fn syn_reply(out: &mut BytesMut, stream: u32, headers: &[u8]) {
    control(out, kind::SYN_REPLY, 0, 4 + headers.len());
    out.put_u32(stream);
    out.put_slice(headers);
}

/// Ends a stream in both directions.
pub fn rst_stream(out: &mut BytesMut, stream: u32, status: u32) {
    control(out, kind::RST_STREAM, 0, 8);
    out.put_u32(stream);
    out.put_u32(status);
}

pub fn ping(out: &mut BytesMut, id: u32) {
    control(out, kind::PING, 0, 4);
    out.put_u32(id);
}

pub fn go_away(out: &mut BytesMut, last_stream: u32, status: u32) {
    control(out, kind::GO_AWAY, 0, 8);
    out.put_u32(last_stream);
    out.put_u32(status);
}

/// Writes the head of a data frame, which `length` bytes follow, at most [`LARGEST_DATA`]. `fin`: no more will follow from this side.
pub fn data_head(out: &mut BytesMut, stream: u32, fin: bool, length: usize) {
    out.put_u32(stream & 0x7fff_ffff);
    flags_and_length(out, if fin { FIN } else { 0 }, length);
}

/// Writes data of a stream, in as many frames as it takes.
pub fn data(out: &mut BytesMut, stream: u32, fin: bool, data: &[u8]) {
    let mut rest = data;
    loop {
        let (part, after) = rest.split_at(rest.len().min(LARGEST_DATA));
        data_head(out, stream, fin && after.is_empty(), part.len());
        out.put_slice(part);
        rest = after;
        if rest.is_empty() {
            return;
        }
    }
}

fn control(out: &mut BytesMut, kind: u16, flags: u8, length: usize) {
    out.put_u16(0x8000 | VERSION);
    out.put_u16(kind);
    flags_and_length(out, flags, length);
}

fn flags_and_length(out: &mut BytesMut, flags: u8, length: usize) {
    debug_assert!(length <= LARGEST_LENGTH);
    out.put_u32(u32::from(flags) << 24 | (length & LARGEST_LENGTH) as u32);
}
