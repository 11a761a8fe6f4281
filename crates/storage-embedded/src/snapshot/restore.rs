//! Makes a store from a snapshot.

use std::collections::HashSet;
use std::io::Read;
use std::path::Path;

use redb::WriteTransaction;

use super::format::{Decoder, Record};
use super::{REVISION_BUMP, Summary};
use crate::dir;
use crate::engine::{Engine, State};
use crate::error::OpenError;
use crate::record::{Record as Entry, Version};
use crate::tables::{At, LEASE_KEYS, LEASES, LOG, VERSIONS, lease_key};

const CACHE_BYTES: usize = 8 << 20;

/// Reads a whole snapshot and checks it.
pub fn verify(input: impl Read) -> Result<Summary, OpenError> {
    let mut decoder = Decoder::new(input)?;
    while decoder.next()?.is_some() {}
    Ok(decoder.summary)
}

/// Makes a store in an empty or missing directory. `progress` hears how many bytes were read. The store gets its name
/// only after the snapshot turned out to be complete and right; until then the directory has no store.
pub fn restore(input: impl Read, dir: &Path, progress: impl FnMut(u64)) -> Result<Summary, OpenError> {
    let created = !dir.exists();
    if !created {
        require_empty(dir)?;
    }
    // Before anything is made: most bad snapshots show at the first bytes.
    let decoder = Decoder::new(input)?;
    let result = fill(decoder, dir, progress);
    if result.is_err() {
        dir::discard(dir, created);
    }
    result
}

fn require_empty(dir: &Path) -> Result<(), OpenError> {
    let entries = std::fs::read_dir(dir).map_err(|error| OpenError::io(dir, error))?;
    for entry in entries {
        let name = entry.map_err(|error| OpenError::io(dir, error))?.file_name();
        // Left over from a store that was never completed.
        if name != dir::LOCK && name != dir::STORE_NEW {
            return Err(OpenError::NotEmpty { dir: dir.to_owned() });
        }
    }
    Ok(())
}

fn fill<R: Read>(
    mut decoder: Decoder<R>,
    dir: &Path,
    progress: impl FnMut(u64),
) -> Result<Summary, OpenError> {
    let _lock = dir::lock(dir)?;
    // Checked again under the lock, when no other process can create a store here.
    require_empty(dir)?;
    let engine = dir::create(dir, false, CACHE_BYTES)?;
    let failed = |error| OpenError::engine(dir, error);
    let txn = engine.begin().map_err(failed)?;
    let mut state = load(&mut decoder, &txn, dir, progress)?;
    state.revision = decoder.summary.revision.saturating_add(REVISION_BUMP);
    state.compacted = state.revision;
    state.swept = state.revision;
    finish(&engine, txn, state).map_err(failed)?;
    drop(engine);
    dir::publish(dir)?;
    Ok(decoder.summary)
}

fn finish(engine: &Engine, txn: WriteTransaction, state: State) -> Result<(), redb::Error> {
    engine.initialize_in(&txn, state)?;
    txn.commit()?;
    Ok(())
}

/// Writes all records. Returns the numbers that follow from them.
fn load<R: Read>(
    decoder: &mut Decoder<R>,
    txn: &WriteTransaction,
    dir: &Path,
    mut progress: impl FnMut(u64),
) -> Result<State, OpenError> {
    let failed = |error: redb::Error| OpenError::engine(dir, error);
    let bad = |detail: &str| OpenError::BadSnapshot(detail.to_owned());
    let mut versions = txn.open_table(VERSIONS).map_err(|error| failed(error.into()))?;
    let mut log = txn.open_table(LOG).map_err(|error| failed(error.into()))?;
    let mut leases = txn.open_table(LEASES).map_err(|error| failed(error.into()))?;
    let mut lease_keys = txn.open_table(LEASE_KEYS).map_err(|error| failed(error.into()))?;
    let mut known = HashSet::new();
    let mut state = State::EMPTY;
    let mut entry = Vec::new();
    while let Some(record) = decoder.next()? {
        match record {
            Record::Lease { id, expires } => {
                known.insert(id);
                state.lease = state.lease.max(id);
                leases.insert(id, expires).map_err(|error| failed(error.into()))?;
            }
            Record::Key { create_revision, mod_revision, op, lease, key, value } => {
                if lease != 0 && !known.contains(&lease) {
                    return Err(bad("a key belongs to a lease that is not there"));
                }
                // The superseded version is not part of the snapshot, so compaction has nothing to remove for it.
                let what = Entry {
                    deleted: false,
                    create_revision,
                    prev_revision: 0,
                    prev_op: 0,
                    lease,
                    key: &key,
                    value: &value,
                };
                what.encode(&mut entry);
                state.bytes += entry.len() as u64;
                let twice = log
                    .insert((mod_revision, op), entry.as_slice())
                    .map_err(|error| failed(error.into()))?
                    .is_some();
                if twice {
                    return Err(bad("two keys have the same place in the log"));
                }
                let version = Version { op, deleted: false, create_revision, lease };
                versions
                    .insert(At::new(&key, mod_revision), version.encode().as_slice())
                    .map_err(|error| failed(error.into()))?;
                if lease != 0 {
                    lease_keys
                        .insert(lease_key(lease, &key).as_slice(), ())
                        .map_err(|error| failed(error.into()))?;
                }
            }
        }
        progress(decoder.summary.bytes);
    }
    Ok(state)
}
