//! Blocks of names and values. All blocks of one direction of a connection are one zlib stream, with a dictionary that both sides
//! know.
//!
//! A sender need not compress: [`Writer`] sends blocks that are stored, so it holds nothing. A [`Reader`] has the state of a
//! decompressor; a side that does not look at headers needs none.

use bytes::{Buf, BufMut, BytesMut};
use flate2::{Decompress, FlushDecompress, Status};

use crate::Error;
use crate::dictionary::{self, adler32};

/// Names in lower case, and their values.
pub type Headers = Vec<(String, String)>;

/// Limit on the number of headers of a block.
const MOST: usize = 100;
/// Size limit of a block that was decompressed.
const LARGEST: usize = 64 << 10;
/// zlib: a window of 32 KB, and a dictionary.
const ZLIB_HEAD: [u8; 2] = [0x78, 0x20];
/// An empty stored block, which tells the reader that all before it can be used.
const FLUSH: [u8; 5] = [0, 0, 0, 0xff, 0xff];
const LARGEST_STORED: usize = 0xffff;

/// Writes the blocks of one direction.
#[derive(Debug, Default)]
pub struct Writer {
    has_begun: bool,
}

impl Writer {
    /// Returns the next block.
    pub fn block(&mut self, headers: &[(&str, &str)]) -> BytesMut {
        let mut plain = BytesMut::new();
        let text = |plain: &mut BytesMut, text: &str| {
            plain.put_u32(u32::try_from(text.len()).unwrap_or(u32::MAX));
            plain.put_slice(text.as_bytes());
        };
        plain.put_u32(u32::try_from(headers.len()).unwrap_or(u32::MAX));
        for (name, value) in headers {
            text(&mut plain, name);
            text(&mut plain, value);
        }
        let mut block = BytesMut::new();
        if !self.has_begun {
            self.has_begun = true;
            block.put_slice(&ZLIB_HEAD);
            block.put_u32(adler32(&dictionary::bytes()));
        }
        for part in plain.chunks(LARGEST_STORED) {
            let length = part.len() as u16;
            block.put_u8(0);
            block.put_u16_le(length);
            block.put_u16_le(!length);
            block.put_slice(part);
        }
        block.put_slice(&FLUSH);
        block
    }
}

/// Reads the blocks of one direction, each of them, in their order.
pub struct Reader {
    zlib: Decompress,
}

impl Default for Reader {
    fn default() -> Reader {
        Reader { zlib: Decompress::new(true) }
    }
}

impl Reader {
    pub fn read(&mut self, block: &[u8]) -> Result<Headers, Error> {
        let plain = self.decompress(block)?;
        parse(&plain)
    }

    fn decompress(&mut self, mut block: &[u8]) -> Result<Vec<u8>, Error> {
        let mut plain = Vec::with_capacity(1024);
        loop {
            if plain.len() >= LARGEST {
                return Err(Error::HeadersTooLong);
            }
            plain.reserve(1024);
            let (before_in, before_out) = (self.zlib.total_in(), self.zlib.total_out());
            let result = self.zlib.decompress_vec(block, &mut plain, FlushDecompress::Sync);
            let taken = usize::try_from(self.zlib.total_in() - before_in).unwrap_or(usize::MAX);
            block = block.get(taken..).ok_or(Error::Headers)?;
            let stalled = taken == 0 && self.zlib.total_out() == before_out;
            match result {
                Err(error) if error.needs_dictionary().is_some() => {
                    self.zlib.set_dictionary(&dictionary::bytes()).map_err(|_| Error::Headers)?;
                }
                Err(_) | Ok(Status::StreamEnd) => return Err(Error::Headers),
                Ok(_) if block.is_empty() && plain.len() < plain.capacity() => return Ok(plain),
                Ok(_) if stalled => return Err(Error::Headers),
                Ok(_) => {}
            }
        }
    }
}

fn parse(mut plain: &[u8]) -> Result<Headers, Error> {
    let count = plain.try_get_u32().map_err(|_| Error::Headers)? as usize;
    if count > MOST {
        return Err(Error::HeadersTooLong);
    }
    let mut text = || -> Result<String, Error> {
        let length = plain.try_get_u32().map_err(|_| Error::Headers)? as usize;
        let (bytes, rest) = plain.split_at_checked(length).ok_or(Error::Headers)?;
        plain = rest;
        String::from_utf8(bytes.to_vec()).map_err(|_| Error::Headers)
    };
    let mut headers = Vec::with_capacity(count);
    for _ in 0..count {
        headers.push((text()?, text()?));
    }
    Ok(headers)
}
