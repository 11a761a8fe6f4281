//! The committed state, for readers.
//!
//! After each commit the writer publishes a new [`View`]: the engine's tables as that commit left them. Readers share
//! it, and it stays as it is for as long as they hold it.

use std::ops::Bound;

use bytes::Bytes;
use pintle_storage::{
    Error, Event, KeyValue, Range, RangeRequest, Result, Revision, WatchItem, WatchRequest, prefix_end,
};
use redb::{Database, ReadOnlyTable, ReadTransaction, ReadableDatabase, ReadableTable};

use crate::engine::{State, senseless};
use crate::error::storage_error;
use crate::guard::guarded;
use crate::record::{Record, Version};
use crate::tables::{At, LOG, META, VERSIONS, VersionKey};

pub(crate) struct View {
    pub(crate) state: State,
    pub(crate) txn: ReadTransaction,
    versions: ReadOnlyTable<VersionKey, &'static [u8]>,
    log: ReadOnlyTable<(u64, u32), &'static [u8]>,
}

/// A piece of history, for a watch that is behind the feed.
pub(crate) struct History {
    pub(crate) items: Vec<WatchItem>,
    /// Where to go on.
    pub(crate) next: u64,
}

impl View {
    pub(crate) fn open(db: &Database) -> Result<View, redb::Error> {
        guarded(|| View::open_trusting(db)).unwrap_or_else(|panic| Err(senseless(&panic)))
    }

    fn open_trusting(db: &Database) -> Result<View, redb::Error> {
        let txn = db.begin_read()?;
        let state = State::load(&txn.open_table(META)?)?;
        let versions = txn.open_table(VERSIONS)?;
        let log = txn.open_table(LOG)?;
        Ok(View { state, txn, versions, log })
    }

    pub(crate) fn get(&self, key: &[u8], at: Option<Revision>) -> Result<Option<KeyValue>> {
        let at = self.readable(at)?;
        match latest(&self.versions, key, at)? {
            Some((revision, version)) if !version.deleted => self.value(revision, version.op).map(Some),
            _ => Ok(None),
        }
    }

    pub(crate) fn range(&self, request: &RangeRequest) -> Result<Range> {
        let at = self.readable(request.at)?;
        let from = request.from.as_ref().unwrap_or(&request.prefix);
        if from < &request.prefix {
            return Err(Error::InvalidArgument("the range starts before its prefix".into()));
        }
        let limit = if request.limit == 0 { usize::MAX } else { request.limit };
        let mut found = Vec::new();
        let mut remaining = 0;
        self.scan(&request.prefix, from, at, |_, revision, version| {
            if found.len() < limit {
                found.push((revision, version.op));
            } else {
                remaining += 1;
            }
            Ok(())
        })?;
        let kvs = self.values(&found)?;
        Ok(Range { kvs, remaining, revision: Revision(self.state.revision) })
    }

    pub(crate) fn count(&self, prefix: &[u8]) -> Result<u64> {
        let mut count = 0;
        self.scan(prefix, prefix, self.state.revision, |_, _, _| {
            count += 1;
            Ok(())
        })?;
        Ok(count)
    }

    /// Changes under the prefix from revision `from` on, until enough was looked at to be worth a pause.
    pub(crate) fn history(&self, request: &WatchRequest, from: u64, max_bytes: usize) -> Result<History> {
        if from < self.state.compacted {
            return Err(Error::Compacted {
                requested: Revision(from),
                compacted: Revision(self.state.compacted),
            });
        }
        let mut items = Vec::new();
        let mut events = Vec::new();
        let mut bytes = 0;
        let mut current = from;
        for entry in self.log.range((from, 0)..).map_err(storage_error)? {
            let (at, data) = entry.map_err(storage_error)?;
            let (revision, _) = at.value();
            if revision != current {
                push_changes(&mut items, current, &mut events);
                current = revision;
                if bytes >= max_bytes {
                    return Ok(History { items, next: current });
                }
            }
            bytes += data.value().len();
            let record = Record::decode(data.value())?;
            if record.key.starts_with(&request.prefix) {
                events.push(self.event(&record, revision, request.prev)?);
            }
        }
        push_changes(&mut items, current, &mut events);
        Ok(History { items, next: from.max(self.state.revision + 1) })
    }

    /// The value that a change superseded, unless it is compacted away.
    pub(crate) fn superseded(&self, revision: u64, op: u32) -> Result<Option<KeyValue>> {
        match self.log.get((revision, op)).map_err(storage_error)? {
            Some(data) => {
                let record = Record::decode(data.value())?;
                Ok((!record.deleted).then(|| record.key_value(revision)))
            }
            None => Ok(None),
        }
    }

    /// Calls `visit` for every key under `prefix` from `from` on that is there at revision `at`, in order.
    pub(crate) fn scan(
        &self,
        prefix: &[u8],
        from: &[u8],
        at: u64,
        mut visit: impl FnMut(&[u8], u64, Version) -> Result<()>,
    ) -> Result<()> {
        let end = prefix_end(prefix);
        let upper = match &end {
            Some(end) => Bound::Excluded(At::new(end, 0)),
            None => Bound::Unbounded,
        };
        if end.as_deref().is_some_and(|end| from >= end) {
            return Ok(());
        }
        // A key's versions come in order of revision; the one that counts is the last that is not too new.
        let mut key = Vec::new();
        let mut found: Option<(u64, Version)> = None;
        let range = (Bound::Included(At::new(from, 0)), upper);
        for entry in self.versions.range::<At<'_>>(range).map_err(storage_error)? {
            let (entry, version) = entry.map_err(storage_error)?;
            let entry = entry.value();
            if entry.key != key {
                if let Some((revision, version)) = found.take()
                    && !version.deleted
                {
                    visit(&key, revision, version)?;
                }
                key.clear();
                key.extend_from_slice(entry.key);
            }
            if entry.revision <= at {
                found = Some((entry.revision, Version::decode(version.value())?));
            }
        }
        match found {
            Some((revision, version)) if !version.deleted => visit(&key, revision, version),
            _ => Ok(()),
        }
    }

    /// The value of a version that exists.
    pub(crate) fn value(&self, revision: u64, op: u32) -> Result<KeyValue> {
        value(&self.log, revision, op)
    }

    /// The values of many versions, in the order given, but read in the order of the log: neighbours there share pages,
    /// and the cache is small.
    fn values(&self, versions: &[(u64, u32)]) -> Result<Vec<KeyValue>> {
        let mut order: Vec<usize> = (0..versions.len()).collect();
        order.sort_unstable_by_key(|i| versions[*i]);
        let mut values = vec![None; versions.len()];
        for i in order {
            let (revision, op) = versions[i];
            values[i] = Some(self.value(revision, op)?);
        }
        Ok(values.into_iter().flatten().collect())
    }

    fn event(&self, record: &Record<'_>, revision: u64, prev: bool) -> Result<Event> {
        let prev = if prev && record.prev_revision != 0 {
            self.superseded(record.prev_revision, record.prev_op)?
        } else {
            None
        };
        Ok(if record.deleted {
            Event::Delete { key: Bytes::copy_from_slice(record.key), revision: Revision(revision), prev }
        } else {
            Event::Put { kv: record.key_value(revision), prev }
        })
    }

    /// The revision to read at, if it can be read.
    fn readable(&self, at: Option<Revision>) -> Result<u64> {
        let current = Revision(self.state.revision);
        let compacted = Revision(self.state.compacted);
        match at {
            None => Ok(current.0),
            Some(requested) if requested > current => Err(Error::FutureRevision { requested, current }),
            Some(requested) if requested < compacted => Err(Error::Compacted { requested, compacted }),
            Some(requested) => Ok(requested.0),
        }
    }
}

fn push_changes(items: &mut Vec<WatchItem>, revision: u64, events: &mut Vec<Event>) {
    if !events.is_empty() {
        items.push(WatchItem::Changes { revision: Revision(revision), events: std::mem::take(events) });
    }
}

/// The last version of a key at or before revision `at`, deleted or not.
pub(crate) fn latest(
    versions: &impl ReadableTable<VersionKey, &'static [u8]>,
    key: &[u8],
    at: u64,
) -> Result<Option<(u64, Version)>> {
    let mut range = versions.range::<At<'_>>(At::new(key, 0)..=At::new(key, at)).map_err(storage_error)?;
    match range.next_back() {
        Some(entry) => {
            let (entry, version) = entry.map_err(storage_error)?;
            Ok(Some((entry.value().revision, Version::decode(version.value())?)))
        }
        None => Ok(None),
    }
}

pub(crate) fn value(
    log: &impl ReadableTable<(u64, u32), &'static [u8]>,
    revision: u64,
    op: u32,
) -> Result<KeyValue> {
    match log.get((revision, op)).map_err(storage_error)? {
        Some(data) => Ok(Record::decode(data.value())?.key_value(revision)),
        None => Err(Error::Corrupt(format!("the log has no entry for revision {revision}, operation {op}"))),
    }
}
