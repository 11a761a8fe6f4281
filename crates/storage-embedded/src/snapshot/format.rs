//! The bytes of a snapshot. docs/storage-format.md describes them.
//!
//! ```text
//! header   "PNTLSNAP", format u32, revision u64, compacted u64
//! records  'L' lease i64, ends u64                                    all leases
//!          'K' create u64, mod u64, op u32, lease i64,
//!              key length u32, value length u32, key, value           all keys, ascending
//! trailer  'E' leases u64, keys u64, CRC-32 of everything before it u32
//! ```

use std::io::{self, Read};

use super::REVISION_BUMP;
use crate::engine::{MAX_LEASE, MAX_REVISION};
use crate::error::OpenError;

pub(super) const MAGIC: &[u8; 8] = b"PNTLSNAP";
pub(super) const FORMAT: u32 = 1;
pub(super) const LEASE: u8 = b'L';
pub(super) const KEY: u8 = b'K';
pub(super) const END: u8 = b'E';

/// Far more than a store takes; what is longer is damage, and must not be allocated.
const MAX_KEY: u32 = 1 << 20;
const MAX_VALUE: u32 = 64 << 20;

/// The records of a snapshot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// The revision that was saved.
    pub revision: u64,
    pub compacted: u64,
    pub keys: u64,
    pub leases: u64,
    /// Length of the snapshot.
    pub bytes: u64,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Record {
    Lease { id: i64, expires: u64 },
    Key { create_revision: u64, mod_revision: u64, op: u32, lease: i64, key: Vec<u8>, value: Vec<u8> },
}

/// Reads a snapshot record by record and checks everything that can be checked on the way.
pub(super) struct Decoder<R> {
    input: R,
    checksum: crc32fast::Hasher,
    pub(super) summary: Summary,
    last_key: Vec<u8>,
    last_lease: i64,
}

impl<R: Read> Decoder<R> {
    pub(super) fn new(input: R) -> Result<Self, OpenError> {
        let mut decoder = Decoder {
            input,
            checksum: crc32fast::Hasher::new(),
            summary: Summary::default(),
            last_key: Vec::new(),
            last_lease: 0,
        };
        if decoder.array::<8>()? != *MAGIC {
            return Err(bad("it has another format"));
        }
        let format = decoder.u32()?;
        if format != FORMAT {
            return Err(OpenError::BadSnapshot(format!(
                "its format is {format}, this version knows {FORMAT}"
            )));
        }
        decoder.summary.revision = decoder.u64()?;
        decoder.summary.compacted = decoder.u64()?;
        if decoder.summary.revision > MAX_REVISION - REVISION_BUMP {
            return Err(OpenError::BadSnapshot(format!(
                "its revision {} is larger than any that a store comes to",
                decoder.summary.revision
            )));
        }
        if decoder.summary.compacted > decoder.summary.revision {
            return Err(bad("its revisions contradict each other"));
        }
        Ok(decoder)
    }

    /// The next record; `None` when the snapshot was complete and right to the last byte.
    pub(super) fn next(&mut self) -> Result<Option<Record>, OpenError> {
        match self.array::<1>()?[0] {
            LEASE => self.lease().map(Some),
            KEY => self.key().map(Some),
            END => self.end().map(|()| None),
            _ => Err(bad("it is damaged")),
        }
    }

    fn lease(&mut self) -> Result<Record, OpenError> {
        let (id, expires) = (self.u64()? as i64, self.u64()?);
        if id > MAX_LEASE {
            return Err(bad("a lease has a number that no store comes to"));
        }
        if id <= self.last_lease || self.summary.keys != 0 {
            return Err(bad("its leases are out of order"));
        }
        self.last_lease = id;
        self.summary.leases += 1;
        Ok(Record::Lease { id, expires })
    }

    fn key(&mut self) -> Result<Record, OpenError> {
        let (create_revision, mod_revision) = (self.u64()?, self.u64()?);
        let (op, lease) = (self.u32()?, self.u64()? as i64);
        let (key_len, value_len) = (self.u32()?, self.u32()?);
        if key_len == 0 || key_len > MAX_KEY || value_len > MAX_VALUE {
            return Err(bad("it is damaged"));
        }
        let (key, value) = (self.bytes(key_len)?, self.bytes(value_len)?);
        if key <= self.last_key {
            return Err(bad("its keys are out of order"));
        }
        if create_revision == 0 || create_revision > mod_revision || mod_revision > self.summary.revision {
            return Err(bad("its revisions contradict each other"));
        }
        self.last_key.clone_from(&key);
        self.summary.keys += 1;
        Ok(Record::Key { create_revision, mod_revision, op, lease, key, value })
    }

    fn end(&mut self) -> Result<(), OpenError> {
        let (leases, keys) = (self.u64()?, self.u64()?);
        let expected = self.checksum.clone().finalize();
        let checksum = self.u32()?;
        if checksum != expected || leases != self.summary.leases || keys != self.summary.keys {
            return Err(bad("it does not match its checksum"));
        }
        match self.input.read(&mut [0]) {
            Ok(0) => Ok(()),
            Ok(_) => Err(bad("something follows its end")),
            Err(error) => Err(OpenError::BadSnapshot(error.to_string())),
        }
    }

    fn bytes(&mut self, len: u32) -> Result<Vec<u8>, OpenError> {
        let mut bytes = Vec::new();
        let read = self.input.by_ref().take(len.into()).read_to_end(&mut bytes).map_err(broken)?;
        if read != len as usize {
            return Err(cut());
        }
        self.taken(&bytes);
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], OpenError> {
        let mut bytes = [0; N];
        self.input.read_exact(&mut bytes).map_err(broken)?;
        self.taken(&bytes);
        Ok(bytes)
    }

    fn taken(&mut self, bytes: &[u8]) {
        self.checksum.update(bytes);
        self.summary.bytes += bytes.len() as u64;
    }

    fn u32(&mut self) -> Result<u32, OpenError> {
        Ok(u32::from_be_bytes(self.array()?))
    }

    fn u64(&mut self) -> Result<u64, OpenError> {
        Ok(u64::from_be_bytes(self.array()?))
    }
}

fn bad(detail: &str) -> OpenError {
    OpenError::BadSnapshot(detail.to_owned())
}

fn cut() -> OpenError {
    bad("it is cut short")
}

fn broken(error: io::Error) -> OpenError {
    if error.kind() == io::ErrorKind::UnexpectedEof {
        cut()
    } else {
        OpenError::BadSnapshot(error.to_string())
    }
}
