//! Opens the engine on a disk, and opens it again when a write has failed.

use std::collections::BTreeSet;
use std::sync::Arc;

use redb::{
    Database, Durability, ReadableDatabase, ReadableTable, StorageBackend, TableError, WriteTransaction,
};

use crate::disk::{Disk, Health, Watched};
use crate::guard::guarded;
use crate::opening;
use crate::tables::{FIRST_REVISION, FORMAT, LEASE_KEYS, LEASES, LOG, META, VERSIONS, meta};

/// The largest revision that a store may have. Revisions are signed 64-bit numbers to clients and in etcd; half of that range is never reached.
pub(crate) const MAX_REVISION: u64 = i64::MAX as u64 / 2;
/// The same for leases.
pub(crate) const MAX_LEASE: i64 = i64::MAX / 2;

/// The store's own numbers, as `META` has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) revision: u64,
    pub(crate) compacted: u64,
    pub(crate) swept: u64,
    pub(crate) lease: i64,
    pub(crate) bytes: u64,
}

impl State {
    pub(crate) const EMPTY: State =
        State { revision: FIRST_REVISION, compacted: 0, swept: 0, lease: 0, bytes: 0 };

    pub(crate) fn load(table: &impl ReadableTable<&'static str, u64>) -> Result<State, redb::Error> {
        let read = |name: &str| match table.get(name)? {
            Some(value) => Ok(value.value()),
            None => Err(redb::Error::Corrupted(format!("`{name}` is missing"))),
        };
        let state = State {
            revision: read(meta::REVISION)?,
            compacted: read(meta::COMPACTED)?,
            swept: read(meta::SWEPT)?,
            lease: read(meta::LEASE)? as i64,
            bytes: read(meta::BYTES)?,
        };
        state.check()?;
        Ok(state)
    }

    /// Numbers that no store comes to are damage: going on from them would wrap a counter.
    fn check(&self) -> Result<(), redb::Error> {
        let counts = self.revision <= MAX_REVISION && (0..=MAX_LEASE).contains(&self.lease);
        if counts && self.compacted <= self.revision && self.swept <= self.compacted {
            Ok(())
        } else {
            Err(redb::Error::Corrupted("its revisions contradict each other".into()))
        }
    }

    /// Writes what differs from `old`; everything when there is no old one.
    pub(crate) fn save(
        &self,
        old: Option<&State>,
        table: &mut redb::Table<'_, &'static str, u64>,
    ) -> Result<(), redb::Error> {
        let fields = |state: &State| {
            [
                (meta::REVISION, state.revision),
                (meta::COMPACTED, state.compacted),
                (meta::SWEPT, state.swept),
                (meta::LEASE, state.lease as u64),
                (meta::BYTES, state.bytes),
            ]
        };
        let old = old.map(fields);
        for (i, (name, value)) in fields(self).into_iter().enumerate() {
            if old.is_none_or(|old| old[i].1 != value) {
                table.insert(name, value)?;
            }
        }
        Ok(())
    }
}

/// Why the engine's contents are not ours to use.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unusable {
    #[error("{0}")]
    Engine(redb::Error),
    #[error("{0}")]
    Foreign(String),
    #[error("it has format {0}, of a newer release")]
    Newer(u64),
}

impl<E: Into<redb::Error>> From<E> for Unusable {
    fn from(error: E) -> Self {
        Unusable::Engine(error.into())
    }
}

pub(crate) struct Engine {
    disk: Arc<dyn Disk>,
    health: Arc<Health>,
    db: Database,
}

impl Engine {
    /// Opens what is on the disk; an empty disk becomes an engine without tables.
    pub(crate) fn open(disk: Arc<dyn Disk>, cache_bytes: usize) -> Result<Engine, redb::Error> {
        let health = Arc::new(Health::default());
        let backend = Watched::new(disk.open()?, health.clone());
        health.undo.begin(backend.len()?);
        match opening::open(backend, &health, cache_bytes) {
            Ok(db) => {
                health.undo.end();
                Ok(Engine { disk, health, db })
            }
            Err(error) => {
                give_up(&*disk, &health);
                Err(error)
            }
        }
    }

    /// Makes the tables of an empty store.
    pub(crate) fn initialize(&self, state: State) -> Result<(), redb::Error> {
        let txn = self.begin()?;
        self.initialize_in(&txn, state)?;
        txn.commit()?;
        Ok(())
    }

    pub(crate) fn initialize_in(&self, txn: &WriteTransaction, state: State) -> Result<(), redb::Error> {
        txn.open_table(VERSIONS)?;
        txn.open_table(LOG)?;
        txn.open_table(LEASES)?;
        txn.open_table(LEASE_KEYS)?;
        let mut table = txn.open_table(META)?;
        table.insert(meta::FORMAT, FORMAT)?;
        table.insert(meta::STORE, random_id())?;
        state.save(None, &mut table)
    }

    /// Checks that this is a store of a format known here, and reads its numbers.
    pub(crate) fn load(&self) -> Result<State, Unusable> {
        guarded(|| self.load_trusting()).unwrap_or_else(|panic| Err(senseless(&panic).into()))
    }

    fn load_trusting(&self) -> Result<State, Unusable> {
        let txn = self.db.begin_read()?;
        let table = match txn.open_table(META) {
            Ok(table) => table,
            Err(TableError::Storage(error)) => return Err(error.into()),
            Err(_) => return Err(Unusable::Foreign("it is a database of another program".into())),
        };
        match table.get(meta::FORMAT)?.map(|value| value.value()) {
            Some(FORMAT) => Ok(State::load(&table)?),
            Some(newer) if newer > FORMAT => Err(Unusable::Newer(newer)),
            _ => Err(Unusable::Foreign("it is a database of another program".into())),
        }
    }

    /// All leases, as (when it ends, lease).
    pub(crate) fn leases(&self) -> Result<BTreeSet<(u64, i64)>, redb::Error> {
        guarded(|| self.leases_trusting()).unwrap_or_else(|panic| Err(senseless(&panic)))
    }

    fn leases_trusting(&self) -> Result<BTreeSet<(u64, i64)>, redb::Error> {
        let table = self.db.begin_read()?.open_table(LEASES)?;
        let mut leases = BTreeSet::new();
        for entry in table.iter()? {
            let (id, expires) = entry?;
            leases.insert((expires.value(), id.value()));
        }
        Ok(leases)
    }

    /// Leaves the file as it is: a clean end would write to it, by what was read from it, and it is damaged.
    pub(crate) fn abandon(self) {
        std::mem::forget(self.db);
        give_up(&*self.disk, &self.health);
    }

    /// Ends the engine in order, which reads and writes a little more.
    pub(crate) fn close(self) {
        if let Err(panic) = guarded(|| drop(self)) {
            tracing::warn!(panic, "the engine failed while it closed the store");
        }
    }

    /// Called when all that opening reads was found good.
    pub(crate) fn accept(&self) {
        self.health.undo.forget();
    }

    pub(crate) fn db(&self) -> &Database {
        &self.db
    }

    pub(crate) fn shared_disk(&self) -> Arc<dyn Disk> {
        self.disk.clone()
    }

    pub(crate) fn health(&self) -> &Health {
        &self.health
    }

    /// Begins a transaction that is durable after one fsync.
    ///
    /// One, because the engine's commit record carries a checksum over everything it points to: a record whose pages
    /// did not reach the disk is recognised when the store is opened, and the one before it is used. The price is a
    /// walk over all pages after a crash.
    pub(crate) fn begin(&self) -> Result<WriteTransaction, redb::Error> {
        let mut txn = self.db.begin_write()?;
        txn.set_durability(Durability::Immediate)?;
        Ok(txn)
    }

    /// Commits nothing, but in the way that makes the next open fast also after a crash.
    pub(crate) fn save_free_pages(&self, state: &State) -> Result<(), redb::Error> {
        let mut txn = self.begin()?;
        txn.set_quick_repair(true);
        txn.open_table(META)?.insert(meta::REVISION, state.revision)?;
        txn.commit()?;
        Ok(())
    }
}

/// Stops the engine, wherever it is, and makes the file what it was before it was opened.
fn give_up(disk: &dyn Disk, health: &Health) {
    health.stop_writes();
    let restored = disk.open().and_then(|backend| health.undo.restore(&*backend));
    if let Err(error) = restored {
        tracing::warn!(%error, "the file cannot be made what it was before it was opened");
    }
}

/// The engine's panic as an error about what it read.
pub(crate) fn senseless(panic: &str) -> redb::Error {
    tracing::debug!(panic, "the engine failed on the store");
    redb::Error::Corrupted(SENSELESS.into())
}

/// The error for a file that the engine panics on.
pub(crate) const SENSELESS: &str = "the engine cannot make sense of it";

/// A number that no other store has. It names, it does not protect.
fn random_id() -> u64 {
    use std::hash::{BuildHasher, Hasher, RandomState};
    RandomState::new().build_hasher().finish()
}
