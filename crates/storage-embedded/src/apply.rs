//! Turns transactions into versions.
//!
//! A [`Group`] is one transaction of the engine that holds many of the clients'. Each client transaction sees what
//! those before it in the group did, and takes its own revision:
//!
//! ```text
//! put a=1            revision 8    versions (a, 8)           log (8, 0) a=1, supersedes nothing
//! put a=2, put b=1   revision 9    versions (a, 9) (b, 9)    log (9, 0) a=2, supersedes (8, 0)   (9, 1) b=1
//! delete a           revision 10   versions (a, 10) deleted  log (10, 0) a deleted, supersedes (9, 0)
//! ```
//!
//! A client transaction is checked completely before it changes anything, so a refused one leaves no trace, and only a
//! failure of the engine takes the whole group down.

use bytes::Bytes;
use pintle_storage::{Error, Event, KeyValue, LeaseId, Op, Result, Revision, Txn, TxnResult};
use redb::{ReadableTable, Table, WriteTransaction};

use crate::engine::State;
use crate::error::storage_error;
use crate::feed::{Change, Committed};
use crate::record::{Record, Version};
use crate::tables::{At, LEASE_KEYS, LEASES, LOG, META, VERSIONS, VersionKey, lease_key};
use crate::view::{latest, value};

pub(crate) struct Group<'t> {
    before: State,
    pub(crate) state: State,
    /// The changes for the feed once this is durable.
    pub(crate) committed: Vec<Committed>,
    pub(crate) versions: Table<'t, VersionKey, &'static [u8]>,
    pub(crate) log: Table<'t, (u64, u32), &'static [u8]>,
    pub(crate) leases: Table<'t, i64, u64>,
    pub(crate) lease_keys: Table<'t, &'static [u8], ()>,
    meta: Table<'t, &'static str, u64>,
    scratch: Vec<u8>,
    /// Something changed that the numbers do not show.
    pub(crate) touched: bool,
}

/// The decision about a transaction; the outer error is the engine's and fails the whole group.
pub(crate) type Decided<T> = Result<Result<T>>;

impl<'t> Group<'t> {
    pub(crate) fn open(txn: &'t WriteTransaction, state: State) -> Result<Group<'t>, redb::Error> {
        Ok(Group {
            before: state,
            state,
            committed: Vec::new(),
            versions: txn.open_table(VERSIONS)?,
            log: txn.open_table(LOG)?,
            leases: txn.open_table(LEASES)?,
            lease_keys: txn.open_table(LEASE_KEYS)?,
            meta: txn.open_table(META)?,
            scratch: Vec::new(),
            touched: false,
        })
    }

    /// Whether there is anything to commit.
    pub(crate) fn changed(&self) -> bool {
        self.touched || self.state != self.before
    }

    /// Writes the store's numbers and closes the tables, after which the engine's transaction can be committed.
    pub(crate) fn finish(mut self) -> Result<(State, Vec<Committed>), redb::Error> {
        self.state.save(Some(&self.before), &mut self.meta)?;
        Ok((self.state, self.committed))
    }

    pub(crate) fn txn(&mut self, txn: Txn) -> Decided<TxnResult> {
        for compare in &txn.compare {
            let found = match self.current(&compare.key)? {
                Some((revision, _)) => revision,
                None => 0,
            };
            if found != compare.mod_revision.0 {
                let read = txn.otherwise.iter().map(|key| self.read(key)).collect::<Result<_>>()?;
                let revision = Revision(self.state.revision);
                return Ok(Ok(TxnResult { succeeded: false, revision, read, written: Vec::new() }));
            }
        }
        for op in &txn.then {
            if let Op::Put { lease: Some(LeaseId(lease)), .. } = op
                && self.leases.get(lease).map_err(storage_error)?.is_none()
            {
                return Ok(Err(Error::LeaseNotFound(*lease)));
            }
        }
        self.change(txn.then)?;
        let revision = Revision(self.state.revision);
        Ok(Ok(TxnResult { succeeded: true, revision, read: Vec::new(), written: Vec::new() }))
    }

    /// Applies operations under one new revision, which is taken only if something changed.
    pub(crate) fn change(&mut self, ops: Vec<Op>) -> Result<()> {
        let revision = self.state.revision + 1;
        let mut changes = Vec::with_capacity(ops.len());
        for op in ops {
            let index = changes.len() as u32;
            match op {
                Op::Put { key, value, lease } => {
                    let lease = lease.map_or(0, |lease| lease.0);
                    changes.push(self.put(revision, index, key, value, lease)?);
                }
                Op::Delete { key } => changes.extend(self.delete(revision, index, key)?),
            }
        }
        if !changes.is_empty() {
            self.state.revision = revision;
            self.committed.push(Committed::new(revision, changes));
        }
        Ok(())
    }

    fn put(&mut self, revision: u64, op: u32, key: Bytes, value: Bytes, lease: i64) -> Result<Change> {
        let prev = self.current(&key)?;
        let create_revision = prev.map_or(revision, |(_, version)| version.create_revision);
        self.move_lease(&key, prev.map_or(0, |(_, version)| version.lease), lease)?;
        let prev = prev.map(|(revision, version)| (revision, version.op));
        let record = Record {
            deleted: false,
            create_revision,
            prev_revision: prev.map_or(0, |prev| prev.0),
            prev_op: prev.map_or(0, |prev| prev.1),
            lease,
            key: &key,
            value: &value,
        };
        self.append(revision, op, &record)?;
        let kv = KeyValue {
            create_revision: Revision(create_revision),
            mod_revision: Revision(revision),
            lease: crate::record::lease_id(lease),
            key,
            value,
            stale: false,
        };
        Ok(Change::new(Event::Put { kv, prev: None }, prev))
    }

    fn delete(&mut self, revision: u64, op: u32, key: Bytes) -> Result<Option<Change>> {
        let Some((prev_revision, version)) = self.current(&key)? else {
            return Ok(None);
        };
        self.move_lease(&key, version.lease, 0)?;
        let record = Record {
            deleted: true,
            create_revision: version.create_revision,
            prev_revision,
            prev_op: version.op,
            lease: 0,
            key: &key,
            value: b"",
        };
        self.append(revision, op, &record)?;
        let event = Event::Delete { key, revision: Revision(revision), prev: None };
        Ok(Some(Change::new(event, Some((prev_revision, version.op)))))
    }

    fn append(&mut self, revision: u64, op: u32, record: &Record<'_>) -> Result<()> {
        record.encode(&mut self.scratch);
        self.log.insert((revision, op), self.scratch.as_slice()).map_err(storage_error)?;
        let version = Version {
            op,
            deleted: record.deleted,
            create_revision: record.create_revision,
            lease: record.lease,
        };
        self.versions
            .insert(At::new(record.key, revision), version.encode().as_slice())
            .map_err(storage_error)?;
        self.state.bytes += self.scratch.len() as u64;
        Ok(())
    }

    fn move_lease(&mut self, key: &[u8], from: i64, to: i64) -> Result<()> {
        if from == to {
            return Ok(());
        }
        if from != 0 {
            self.lease_keys.remove(lease_key(from, key).as_slice()).map_err(storage_error)?;
        }
        if to != 0 {
            self.lease_keys.insert(lease_key(to, key).as_slice(), ()).map_err(storage_error)?;
        }
        Ok(())
    }

    /// The version of a key that is there now.
    fn current(&self, key: &[u8]) -> Result<Option<(u64, Version)>> {
        Ok(latest(&self.versions, key, u64::MAX)?.filter(|(_, version)| !version.deleted))
    }

    fn read(&self, key: &[u8]) -> Result<Option<KeyValue>> {
        match self.current(key)? {
            Some((revision, version)) => value(&self.log, revision, version.op).map(Some),
            None => Ok(None),
        }
    }
}
