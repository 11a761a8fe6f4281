//! How one version and one entry of the log are written down.
//!
//! All numbers are big endian. Both decoders check everything: they read what a damaged disk may have made up.

use bytes::Bytes;
use pintle_storage::{Error, KeyValue, LeaseId, Result, Revision};

const DELETED: u8 = 1;

/// The entry of a version in [`crate::tables::VERSIONS`]: all that a comparison, a count or a new version needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Version {
    /// Where in its revision the change is: with the revision, the place of the [`Record`] in the log.
    pub(crate) op: u32,
    pub(crate) deleted: bool,
    pub(crate) create_revision: u64,
    /// 0 for none.
    pub(crate) lease: i64,
}

impl Version {
    const LEN: usize = 21;

    pub(crate) fn encode(&self) -> [u8; Version::LEN] {
        let mut out = [0; Version::LEN];
        out[0] = if self.deleted { DELETED } else { 0 };
        out[1..5].copy_from_slice(&self.op.to_be_bytes());
        out[5..13].copy_from_slice(&self.create_revision.to_be_bytes());
        out[13..21].copy_from_slice(&self.lease.to_be_bytes());
        out
    }

    pub(crate) fn decode(data: &[u8]) -> Result<Version> {
        let mut reader = Reader(data);
        let version = (|| {
            let flags = reader.array::<1>()?[0];
            Some(Version {
                deleted: flags & DELETED != 0,
                op: u32::from_be_bytes(reader.array()?),
                create_revision: u64::from_be_bytes(reader.array()?),
                lease: i64::from_be_bytes(reader.array()?),
            })
        })();
        version.ok_or_else(|| Error::Corrupt("a version entry is cut short".into()))
    }
}

/// One change in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record<'a> {
    pub(crate) deleted: bool,
    pub(crate) create_revision: u64,
    /// The version this one superseded: its revision (0 if the key was not there) and operation. This is what lets
    /// compaction walk the log alone.
    pub(crate) prev_revision: u64,
    pub(crate) prev_op: u32,
    /// 0 for none.
    pub(crate) lease: i64,
    pub(crate) key: &'a [u8],
    pub(crate) value: &'a [u8],
}

impl<'a> Record<'a> {
    const HEADER: usize = 37;

    pub(crate) fn encoded_len(&self) -> usize {
        Record::HEADER + self.key.len() + self.value.len()
    }

    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        out.clear();
        out.reserve(self.encoded_len());
        out.extend_from_slice(&[0; 4]);
        out.push(if self.deleted { DELETED } else { 0 });
        out.extend_from_slice(&self.create_revision.to_be_bytes());
        out.extend_from_slice(&self.prev_revision.to_be_bytes());
        out.extend_from_slice(&self.prev_op.to_be_bytes());
        out.extend_from_slice(&self.lease.to_be_bytes());
        out.extend_from_slice(&(self.key.len() as u32).to_be_bytes());
        out.extend_from_slice(self.key);
        out.extend_from_slice(self.value);
        let checksum = crc32fast::hash(&out[4..]);
        out[..4].copy_from_slice(&checksum.to_be_bytes());
    }

    pub(crate) fn decode(data: &'a [u8]) -> Result<Record<'a>> {
        let mut reader = Reader(data);
        let record = (|| {
            let checksum = u32::from_be_bytes(reader.array()?);
            if checksum != crc32fast::hash(reader.0) {
                return None;
            }
            let flags = reader.array::<1>()?[0];
            let create_revision = u64::from_be_bytes(reader.array()?);
            let prev_revision = u64::from_be_bytes(reader.array()?);
            let prev_op = u32::from_be_bytes(reader.array()?);
            let lease = i64::from_be_bytes(reader.array()?);
            let key_len = u32::from_be_bytes(reader.array()?) as usize;
            let (key, value) = reader.0.split_at_checked(key_len)?;
            Some(Record {
                deleted: flags & DELETED != 0,
                create_revision,
                prev_revision,
                prev_op,
                lease,
                key,
                value,
            })
        })();
        record.ok_or_else(|| Error::Corrupt("an entry of the log does not match its checksum".into()))
    }

    pub(crate) fn key_value(&self, revision: u64) -> KeyValue {
        KeyValue {
            key: Bytes::copy_from_slice(self.key),
            value: Bytes::copy_from_slice(self.value),
            create_revision: Revision(self.create_revision),
            mod_revision: Revision(revision),
            lease: lease_id(self.lease),
            stale: false,
        }
    }
}

pub(crate) fn lease_id(lease: i64) -> Option<LeaseId> {
    (lease != 0).then_some(LeaseId(lease))
}

/// Takes fixed-size pieces off the front, or nothing.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*head)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> Record<'static> {
        Record {
            deleted: false,
            create_revision: 7,
            prev_revision: 9,
            prev_op: 3,
            lease: 5,
            key: b"/registry/pods/a",
            value: b"value",
        }
    }

    #[test]
    fn a_record_reads_back_as_written() {
        let mut data = Vec::new();
        record().encode(&mut data);
        assert_eq!(data.len(), record().encoded_len());
        assert_eq!(Record::decode(&data), Ok(record()));
        let version = Version { op: 3, deleted: true, create_revision: u64::MAX, lease: -1 };
        assert_eq!(Version::decode(&version.encode()), Ok(version));
    }

    #[test]
    fn every_flipped_bit_and_every_cut_of_a_record_is_found() {
        let mut data = Vec::new();
        record().encode(&mut data);
        for bit in 0..data.len() * 8 {
            let mut damaged = data.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(matches!(Record::decode(&damaged), Err(Error::Corrupt(_))), "bit {bit}");
        }
        for len in 0..data.len() {
            assert!(matches!(Record::decode(&data[..len]), Err(Error::Corrupt(_))), "length {len}");
        }
        assert!(matches!(Version::decode(&[0; 20]), Err(Error::Corrupt(_))));
    }
}
