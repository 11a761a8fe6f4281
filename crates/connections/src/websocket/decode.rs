//! Messages of a client out of bytes as they arrive.

use bytes::{Buf, Bytes, BytesMut};

use super::opcode;

/// Size limit of a control frame's payload.
const LARGEST_CONTROL: usize = 125;

/// Something that a client has sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A part of a message. `begins`, `ends`: its first or last part.
    Message {
        text: bool,
        begins: bool,
        ends: bool,
        data: Bytes,
    },
    /// To be answered by a pong with the same data.
    Ping(Bytes),
    Pong,
    /// The client sends no more.
    Close,
}

/// Why bytes are no WebSocket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Error(&'static str);

/// Decodes what a client sends. All its frames are masked.
#[derive(Debug, Default)]
pub struct Decoder {
    /// The frame that is arriving.
    frame: Option<Frame>,
    /// Set within a message: whether it is text.
    message: Option<bool>,
}

#[derive(Clone, Copy, Debug)]
struct Frame {
    /// Whether it is the first of its message and none of its bytes was returned.
    begins: bool,
    last: bool,
    left: u64,
    mask: [u8; 4],
}

struct Head {
    last: bool,
    opcode: u8,
    length: u64,
    mask: [u8; 4],
    size: usize,
}

impl Decoder {
    /// Takes the next event off the front of what has arrived. `None`: more must arrive. After an error, nothing that follows can be
    /// read.
    pub fn decode(&mut self, arrived: &mut BytesMut) -> Result<Option<Event>, Error> {
        if self.frame.is_some() {
            return Ok(self.part(arrived));
        }
        let Some(head) = head(arrived)? else { return Ok(None) };
        if head.opcode & 8 != 0 {
            return control(&head, arrived);
        }
        let begins = head.opcode != opcode::CONTINUATION;
        match (begins, self.message) {
            (true, None) => self.message = Some(head.opcode == opcode::TEXT),
            (false, Some(_)) => {}
            (true, Some(_)) => return Err(Error("a message begins within another")),
            (false, None) => return Err(Error("a message goes on that has not begun")),
        }
        arrived.advance(head.size);
        let Head { last, length, mask, .. } = head;
        self.frame = Some(Frame { begins, last, left: length, mask });
        Ok(self.part(arrived))
    }

    /// Returns what has arrived of a frame. An empty frame is returned too, since it may begin or end its message.
    fn part(&mut self, arrived: &mut BytesMut) -> Option<Event> {
        let (frame, text) = (self.frame.as_mut()?, self.message?);
        let size = usize::try_from(frame.left).unwrap_or(usize::MAX).min(arrived.len());
        if size == 0 && frame.left > 0 {
            return None;
        }
        let mut data = arrived.split_to(size);
        unmask(&mut data, frame.mask);
        frame.mask.rotate_left(size % 4);
        frame.left -= size as u64;
        let begins = std::mem::take(&mut frame.begins);
        let ends = frame.left == 0 && frame.last;
        if frame.left == 0 {
            self.frame = None;
        }
        if ends {
            self.message = None;
        }
        Some(Event::Message { text, begins, ends, data: data.freeze() })
    }
}

fn unmask(data: &mut [u8], mask: [u8; 4]) {
    let (words, rest) = data.as_chunks_mut::<4>();
    let word = u32::from_ne_bytes(mask);
    for bytes in words {
        *bytes = (u32::from_ne_bytes(*bytes) ^ word).to_ne_bytes();
    }
    for (byte, mask) in rest.iter_mut().zip(mask) {
        *byte ^= mask;
    }
}

/// Reads the head of a frame, if all of it has arrived.
fn head(arrived: &[u8]) -> Result<Option<Head>, Error> {
    let [first, second, rest @ ..] = arrived else { return Ok(None) };
    if first & 0x70 != 0 {
        return Err(Error("an extension that was not agreed on"));
    }
    let opcode = first & 0x0f;
    if !matches!(opcode, 0..=2 | 8..=10) {
        return Err(Error("a frame of unknown kind"));
    }
    if second & 0x80 == 0 {
        return Err(Error("a frame of a client that is not masked"));
    }
    let (length, size) = match second & 0x7f {
        126 => match rest.first_chunk::<2>() {
            Some(length) => (u64::from(u16::from_be_bytes(*length)), 4),
            None => return Ok(None),
        },
        127 => match rest.first_chunk::<8>() {
            Some(length) => (u64::from_be_bytes(*length), 10),
            None => return Ok(None),
        },
        length => (u64::from(length), 2),
    };
    if length > i64::MAX as u64 {
        return Err(Error("a frame of impossible length"));
    }
    let Some(mask) = arrived.get(size..).and_then(|rest| rest.first_chunk::<4>()) else { return Ok(None) };
    Ok(Some(Head { last: first & 0x80 != 0, opcode, length, mask: *mask, size: size + 4 }))
}

/// Reads a control frame, which is held whole.
fn control(head: &Head, arrived: &mut BytesMut) -> Result<Option<Event>, Error> {
    let length = usize::try_from(head.length).unwrap_or(usize::MAX);
    if !head.last || length > LARGEST_CONTROL {
        return Err(Error("a control frame that is too long"));
    }
    if arrived.len() < head.size + length {
        return Ok(None);
    }
    arrived.advance(head.size);
    let mut data = arrived.split_to(length);
    unmask(&mut data, head.mask);
    Ok(Some(match head.opcode {
        opcode::CLOSE => Event::Close,
        opcode::PING => Event::Ping(data.freeze()),
        _ => Event::Pong,
    }))
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns a frame as a client sends it.
    pub(crate) fn client_frame(first: u8, data: &[u8]) -> Vec<u8> {
        let mask = [0x12, 0x34, 0x56, 0x78];
        let mut frame = vec![first];
        match data.len() {
            length @ 0..126 => frame.push(0x80 | length as u8),
            length @ 126..0x1_0000 => {
                frame.push(0x80 | 126);
                frame.extend_from_slice(&(length as u16).to_be_bytes());
            }
            length => {
                frame.push(0x80 | 127);
                frame.extend_from_slice(&(length as u64).to_be_bytes());
            }
        }
        frame.extend_from_slice(&mask);
        frame.extend(data.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
        frame
    }

    fn decoded(bytes: &[u8], chunk: usize) -> Result<Vec<Event>, Error> {
        let (mut decoder, mut arrived, mut events) = (Decoder::default(), BytesMut::new(), Vec::new());
        for chunk in bytes.chunks(chunk) {
            arrived.extend_from_slice(chunk);
            while let Some(event) = decoder.decode(&mut arrived)? {
                events.push(event);
            }
        }
        Ok(events)
    }

    #[test]
    fn messages_come_in_the_parts_that_have_arrived() {
        for length in [5, 300, 70_000] {
            let data: Vec<u8> = (0..length).map(|n: usize| n as u8).collect();
            for chunk in [1, 7, 100_000] {
                let events = decoded(&client_frame(0x82, &data), chunk).unwrap();
                let mut whole = Vec::new();
                for (number, event) in events.iter().enumerate() {
                    let Event::Message { text: false, begins, ends, data } = event else {
                        panic!("{event:?}")
                    };
                    assert_eq!((*begins, *ends), (number == 0, number + 1 == events.len()));
                    whole.extend_from_slice(data);
                }
                assert!(whole == data, "{length} {chunk}");
            }
        }
    }

    #[test]
    fn control_frames_come_between_the_frames_of_a_message() {
        let frames = [client_frame(0x01, b"he"), client_frame(0x89, b"p"), client_frame(0x80, b"y")].concat();
        let message = |begins, data: &'static [u8]| Event::Message {
            text: true,
            begins,
            ends: !begins,
            data: Bytes::from_static(data),
        };
        let expect = [message(true, b"he"), Event::Ping(Bytes::from_static(b"p")), message(false, b"y")];
        assert_eq!(decoded(&frames, 100).unwrap(), expect);
        assert_eq!(decoded(&client_frame(0x88, &[3, 232]), 100).unwrap(), [Event::Close]);
        assert_eq!(decoded(&client_frame(0x8a, b""), 100).unwrap(), [Event::Pong]);
    }

    #[test]
    fn what_is_no_frame_of_a_client_is_an_error() {
        for (bytes, expect) in [
            (vec![0x82, 0x01, 0x00], "a frame of a client that is not masked"),
            (vec![0xc2, 0x80], "an extension that was not agreed on"),
            (vec![0x83, 0x80], "a frame of unknown kind"),
            (client_frame(0x80, b"x"), "a message goes on that has not begun"),
            (
                [client_frame(0x02, b"x"), client_frame(0x82, b"y")].concat(),
                "a message begins within another",
            ),
            (client_frame(0x89, &[0; 126]), "a control frame that is too long"),
            (client_frame(0x09, b""), "a control frame that is too long"),
            (vec![0x82, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], "a frame of impossible length"),
        ] {
            assert_eq!(decoded(&bytes, 1000), Err(Error(expect)));
        }
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300), chunk in 1usize..50) {
            let _ = decoded(&bytes, chunk);
        }
    }
}
