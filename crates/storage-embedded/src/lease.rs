//! Leases: granted, and ended together with their keys.

use bytes::Bytes;
use pintle_storage::{Op, Result};
use redb::ReadableTable;

use crate::apply::Group;
use crate::error::storage_error;
use crate::tables::lease_key;

impl Group<'_> {
    /// Grants a lease that ends at `expires` (milliseconds since the Unix epoch).
    pub(crate) fn grant(&mut self, expires: u64) -> Result<i64> {
        let id = self.state.lease + 1;
        self.leases.insert(id, expires).map_err(storage_error)?;
        self.state.lease = id;
        Ok(id)
    }

    /// Ends a lease: all its keys are deleted under one revision. Returns whether there was such a lease.
    ///
    /// The work is bounded by the number of times that one lease is handed out.
    pub(crate) fn end_lease(&mut self, id: i64) -> Result<bool> {
        if self.leases.remove(id).map_err(storage_error)?.is_none() {
            return Ok(false);
        }
        self.touched = true;
        let mut ops = Vec::new();
        let prefix = lease_key(id, b"");
        for entry in self.lease_keys.range(prefix.as_slice()..).map_err(storage_error)? {
            let (entry, ()) = entry.map(|(key, value)| (key, value.value())).map_err(storage_error)?;
            match entry.value().strip_prefix(prefix.as_slice()) {
                Some(key) => ops.push(Op::Delete { key: Bytes::copy_from_slice(key) }),
                None => break,
            }
        }
        self.change(ops)?;
        Ok(true)
    }
}
