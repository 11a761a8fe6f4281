//! Frames and headers there and back, and bytes that are none.

use bytes::{Bytes, BytesMut};
use flate2::{Compress, Compression, FlushCompress};
use proptest::prelude::*;

use super::*;
use crate::headers::{Reader, Writer};

fn decoded(bytes: &[u8]) -> Result<Vec<Frame>, Error> {
    let (mut decoder, mut arrived) = (Decoder::default(), BytesMut::from(bytes));
    let mut frames = Vec::new();
    while let Some(frame) = decoder.decode(&mut arrived)? {
        frames.push(frame);
    }
    Ok(frames)
}

#[test]
fn frames_are_read_as_they_were_written() {
    let mut out = BytesMut::new();
    encode::syn_stream(&mut out, 1, b"block");
    encode::syn_reply(&mut out, 1, b"");
    encode::data(&mut out, 1, false, b"hello");
    encode::data(&mut out, 3, true, b"");
    encode::rst_stream(&mut out, 5, 2);
    encode::ping(&mut out, 7);
    encode::go_away(&mut out, 9, 1);
    assert_eq!(
        decoded(&out).unwrap(),
        [
            Frame::SynStream { stream: 1, fin: false, headers: Bytes::from_static(b"block") },
            Frame::SynReply { stream: 1, fin: false, headers: Bytes::new() },
            Frame::Data { stream: 1, fin: false, data: Bytes::from_static(b"hello") },
            Frame::Data { stream: 3, fin: true, data: Bytes::new() },
            Frame::RstStream { stream: 5, status: 2 },
            Frame::Ping { id: 7 },
            Frame::GoAway { last_stream: 9, status: 1 },
        ]
    );
}

#[test]
fn a_data_frame_comes_in_the_parts_that_have_arrived() {
    let mut whole = BytesMut::new();
    encode::data(&mut whole, 1, true, b"abcdef");
    let (mut decoder, mut arrived) = (Decoder::default(), BytesMut::new());
    let mut parts = Vec::new();
    for byte in whole {
        arrived.extend_from_slice(&[byte]);
        while let Some(Frame::Data { fin, data, .. }) = decoder.decode(&mut arrived).unwrap() {
            parts.push((fin, data));
        }
    }
    let last = parts.pop().unwrap();
    assert_eq!((last, parts.len()), ((true, Bytes::from_static(b"f")), 5));
    assert!(parts.iter().all(|(fin, data)| !fin && data.len() == 1));
}

#[test]
fn what_is_no_frame_is_an_error() {
    for (bytes, expect) in [
        (&[0x80, 2, 0, 1, 0, 0, 0, 0][..], Error::Version(2)),
        (&[0x80, 3, 0, 1, 0, 0xff, 0xff, 0xff], Error::TooLong(0xff_ffff)),
        (&[0x80, 3, 0, 6, 0, 0, 0, 2, 1, 2], Error::Invalid(6)),
        (&[0x80, 3, 0, 2, 0, 0, 0, 4, 0, 0, 0, 0], Error::NoStream),
        (&[0, 0, 0, 0, 0, 0, 0, 0], Error::NoStream),
    ] {
        assert_eq!(decoded(bytes), Err(expect));
    }
    assert_eq!(decoded(&[0x80, 3, 0, 4, 0, 0, 0, 0]), Ok(vec![Frame::Other { kind: 4 }]));
}

/// A block as other implementations write it: compressed, with the dictionary.
fn compressed(zlib: &mut Compress, plain: &[u8]) -> Vec<u8> {
    let mut block = Vec::with_capacity(4096 + plain.len());
    zlib.compress_vec(plain, &mut block, FlushCompress::Sync).unwrap();
    block
}

#[test]
fn blocks_of_either_kind_are_read() {
    let mut zlib = Compress::new(Compression::best(), true);
    zlib.set_dictionary(&dictionary::bytes()).unwrap();
    let mut reader = Reader::default();
    for value in ["error", "stdin"] {
        let plain = [&b"\0\0\0\x01\0\0\0\nstreamtype\0\0\0\x05"[..], value.as_bytes()].concat();
        let block = compressed(&mut zlib, &plain);
        assert_eq!(reader.read(&block).unwrap(), [("streamtype".to_owned(), value.to_owned())]);
    }
    let (mut writer, mut reader) = (Writer::default(), Reader::default());
    let long = "x".repeat(40_000);
    for headers in [&[("streamtype", "stdout")][..], &[], &[("a", &long), ("port", "80")]] {
        let read = reader.read(&writer.block(headers)).unwrap();
        let expect: Vec<_> = headers.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
        assert_eq!(read, expect);
    }
}

#[test]
fn blocks_that_grow_beyond_measure_are_refused() {
    let mut zlib = Compress::new(Compression::best(), true);
    zlib.set_dictionary(&dictionary::bytes()).unwrap();
    let mut plain = b"\0\0\0\x01\0\0\0\x01a\0\x80\0\0".to_vec();
    plain.resize(8 << 20, b'a');
    let block = compressed(&mut zlib, &plain);
    assert!(block.len() < LARGEST_CONTROL);
    assert_eq!(Reader::default().read(&block), Err(Error::HeadersTooLong));
    assert_eq!(Reader::default().read(b"nonsense"), Err(Error::Headers));
    assert_eq!(Reader::default().read(b""), Err(Error::Headers));
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        if let Ok(frames) = decoded(&bytes) {
            for frame in frames {
                if let Frame::SynStream { headers, .. } = frame {
                    let _ = Reader::default().read(&headers);
                }
            }
        }
        let _ = Reader::default().read(&bytes);
    }
}
