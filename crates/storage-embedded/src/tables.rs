//! The tables of the store, as the engine knows them. docs/storage-format.md has them byte by byte.

use std::cmp::Ordering;

use redb::{Key, TableDefinition, TypeName, Value};

/// Every version of every key: `(key, revision)` -> [`crate::record::Version`]. Small, so that comparing, counting
/// and finding stay in the page cache; the values are in [`LOG`].
pub(crate) const VERSIONS: TableDefinition<'static, VersionKey, &'static [u8]> =
    TableDefinition::new("versions");

/// Every change in order: `(revision, operation)` -> [`crate::record::Record`]. It is the history that watches read,
/// the place where values are, and the work list of compaction. New entries go to the end, whatever their key.
pub(crate) const LOG: TableDefinition<'static, (u64, u32), &'static [u8]> = TableDefinition::new("log");

/// Lease -> when it ends, in milliseconds since the Unix epoch.
pub(crate) const LEASES: TableDefinition<'static, i64, u64> = TableDefinition::new("leases");

/// The keys of each lease: `lease (8 bytes, big endian) ++ key`.
pub(crate) const LEASE_KEYS: TableDefinition<'static, &'static [u8], ()> = TableDefinition::new("lease_keys");

/// The store's own facts, by the names in [`meta`].
pub(crate) const META: TableDefinition<'static, &'static str, u64> = TableDefinition::new("meta");

pub(crate) mod meta {
    /// The version of this format.
    pub(crate) const FORMAT: &str = "format";
    /// The newest revision.
    pub(crate) const REVISION: &str = "revision";
    /// The revision below which history is given up.
    pub(crate) const COMPACTED: &str = "compacted";
    /// Everything that entries of the log before this revision had superseded is gone.
    pub(crate) const SWEPT: &str = "swept";
    /// The last lease granted.
    pub(crate) const LEASE: &str = "lease";
    /// Bytes in `LOG`: keys, values and their headers.
    pub(crate) const BYTES: &str = "bytes";
    /// Made up when the store was made; a restored store has its own.
    pub(crate) const STORE: &str = "store";
}

pub(crate) const FORMAT: u64 = 1;

/// An empty store is at this revision, as etcd is, because 0 means "any" to clients.
pub(crate) const FIRST_REVISION: u64 = 1;

/// The key of [`VERSIONS`]: the key's bytes, then the revision, big endian. Ordered by key first, then revision,
/// which plain bytes would not be: of `a` and `a\0`, every version of `a` comes first.
#[derive(Debug)]
pub(crate) struct VersionKey;

/// A decoded [`VersionKey`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct At<'a> {
    pub(crate) key: &'a [u8],
    pub(crate) revision: u64,
}

const REVISION_LEN: usize = 8;

impl<'a> At<'a> {
    pub(crate) fn new(key: &'a [u8], revision: u64) -> Self {
        At { key, revision }
    }

    /// Never panics: what is too short (only on a damaged disk) reads as an empty key at revision 0.
    fn decode(data: &'a [u8]) -> Self {
        match data.split_last_chunk::<REVISION_LEN>() {
            Some((key, revision)) => At { key, revision: u64::from_be_bytes(*revision) },
            None => At { key: &[], revision: 0 },
        }
    }
}

impl Value for VersionKey {
    type SelfType<'a> = At<'a>;
    type AsBytes<'a> = Vec<u8>;

    fn fixed_width() -> Option<usize> {
        None
    }

    fn from_bytes<'a>(data: &'a [u8]) -> At<'a>
    where
        Self: 'a,
    {
        At::decode(data)
    }

    fn as_bytes<'a, 'b: 'a>(value: &'a At<'b>) -> Vec<u8>
    where
        Self: 'b,
    {
        let mut bytes = Vec::with_capacity(value.key.len() + REVISION_LEN);
        bytes.extend_from_slice(value.key);
        bytes.extend_from_slice(&value.revision.to_be_bytes());
        bytes
    }

    fn type_name() -> TypeName {
        TypeName::new("pintle::VersionKey")
    }
}

impl Key for VersionKey {
    fn compare(left: &[u8], right: &[u8]) -> Ordering {
        let (left, right) = (At::decode(left), At::decode(right));
        left.key.cmp(right.key).then(left.revision.cmp(&right.revision))
    }
}

/// The key of [`LEASE_KEYS`].
pub(crate) fn lease_key(lease: i64, key: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(8 + key.len());
    bytes.extend_from_slice(&lease.to_be_bytes());
    bytes.extend_from_slice(key);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_ordered_by_key_and_then_by_revision() {
        let order =
            [At::new(b"a", 1), At::new(b"a", 300), At::new(b"a\0", 2), At::new(b"ab", 1), At::new(b"b", 0)];
        let encoded: Vec<_> = order.iter().map(VersionKey::as_bytes).collect();
        assert!(encoded.is_sorted_by(|left, right| VersionKey::compare(left, right) == Ordering::Less));
        for (at, bytes) in order.iter().zip(&encoded) {
            assert_eq!(VersionKey::from_bytes(bytes), *at);
        }
    }

    #[test]
    fn a_damaged_version_key_does_not_panic() {
        assert_eq!(VersionKey::compare(b"abc", b""), Ordering::Equal);
        assert_eq!(VersionKey::from_bytes(b"1234567"), At::new(b"", 0));
    }
}
