//! Frames out of bytes as they arrive.

use bytes::{Buf, Bytes, BytesMut};

use crate::{Error, FIN, Frame, VERSION, kind};

/// Size limit of a control frame, in bytes. The largest that clients send opens a stream with a handful of headers.
pub const LARGEST_CONTROL: usize = 64 << 10;
const HEAD: usize = 8;

/// Decodes the frames of one direction of a connection.
#[derive(Debug, Default)]
pub struct Decoder {
    /// The data frame that is arriving.
    data: Option<Arriving>,
}

#[derive(Clone, Copy, Debug)]
struct Arriving {
    stream: u32,
    fin: bool,
    left: usize,
}

impl Decoder {
    /// Takes the next frame, or part of a data frame, off the front of what has arrived. `None`: more must arrive. After an error, nothing
    /// that follows can be read.
    pub fn decode(&mut self, arrived: &mut BytesMut) -> Result<Option<Frame>, Error> {
        if self.data.is_some() {
            return Ok(self.part(arrived));
        }
        let Some(head) = arrived.first_chunk::<HEAD>() else { return Ok(None) };
        let first = u32::from_be_bytes([head[0], head[1], head[2], head[3]]);
        let (flags, length) = (head[4], u32::from_be_bytes([0, head[5], head[6], head[7]]) as usize);
        if first & 0x8000_0000 == 0 {
            if first == 0 {
                return Err(Error::NoStream);
            }
            arrived.advance(HEAD);
            self.data = Some(Arriving { stream: first, fin: flags & FIN != 0, left: length });
            return Ok(self.part(arrived));
        }
        let (version, kind) = ((first >> 16) as u16 & 0x7fff, first as u16);
        if version != VERSION {
            return Err(Error::Version(version));
        }
        if length > LARGEST_CONTROL {
            return Err(Error::TooLong(length));
        }
        if arrived.len() < HEAD + length {
            arrived.reserve(HEAD + length - arrived.len());
            return Ok(None);
        }
        arrived.advance(HEAD);
        control(kind, flags & FIN != 0, arrived.split_to(length).freeze()).map(Some)
    }

    /// Returns what has arrived of a data frame. An empty frame is returned too, since it may end its stream.
    fn part(&mut self, arrived: &mut BytesMut) -> Option<Frame> {
        let Arriving { stream, fin, left } = self.data?;
        let size = left.min(arrived.len());
        if size == 0 && left > 0 {
            return None;
        }
        let left = left - size;
        self.data = (left > 0).then_some(Arriving { stream, fin, left });
        let data = arrived.split_to(size).freeze();
        Some(Frame::Data { stream, fin: fin && left == 0, data })
    }
}

fn control(kind: u16, fin: bool, mut payload: Bytes) -> Result<Frame, Error> {
    let invalid = Error::Invalid(kind);
    let word = |payload: &mut Bytes| payload.try_get_u32().map_err(|_| invalid);
    let stream_of = |word: u32| match word & 0x7fff_ffff {
        0 => Err(Error::NoStream),
        stream => Ok(stream),
    };
    Ok(match kind {
        kind::SYN_STREAM => {
            let stream = stream_of(word(&mut payload)?)?;
            // The stream that it belongs to, priority and slot.
            word(&mut payload)?;
            payload.try_get_u16().map_err(|_| invalid)?;
            Frame::SynStream { stream, fin, headers: payload }
        }
        kind::SYN_REPLY => Frame::SynReply { stream: stream_of(word(&mut payload)?)?, fin, headers: payload },
        kind::HEADERS => Frame::Headers { stream: stream_of(word(&mut payload)?)?, fin, headers: payload },
        kind::RST_STREAM => {
            Frame::RstStream { stream: stream_of(word(&mut payload)?)?, status: word(&mut payload)? }
        }
        kind::PING => Frame::Ping { id: word(&mut payload)? },
        kind::GO_AWAY => {
            Frame::GoAway { last_stream: word(&mut payload)? & 0x7fff_ffff, status: word(&mut payload)? }
        }
        kind => Frame::Other { kind },
    })
}
