//! Frames of a server into bytes.

use bytes::{BufMut, BytesMut};

use super::opcode;

/// Writes the head of a message of one frame, which `length` bytes of data follow.
pub fn binary_head(out: &mut BytesMut, length: usize) {
    head(out, opcode::BINARY, length);
}

/// Writes the head of a message of one frame of text.
pub fn text_head(out: &mut BytesMut, length: usize) {
    head(out, opcode::TEXT, length);
}

/// Writes the answer to a ping.
pub fn pong(out: &mut BytesMut, data: &[u8]) {
    head(out, opcode::PONG, data.len());
    out.put_slice(data);
}

/// Writes the last frame.
pub fn close(out: &mut BytesMut, code: u16) {
    head(out, opcode::CLOSE, 2);
    out.put_u16(code);
}

fn head(out: &mut BytesMut, opcode: u8, length: usize) {
    out.put_u8(0x80 | opcode);
    match length {
        0..126 => out.put_u8(length as u8),
        126..0x1_0000 => {
            out.put_u8(126);
            out.put_u16(length as u16);
        }
        _ => {
            out.put_u8(127);
            out.put_u64(length as u64);
        }
    }
}
