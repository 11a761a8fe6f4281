//! When a write fails, the engine refuses all further work. What then is safe depends on how far the write got:
//!
//! - before the commit: nothing happened. The engine is opened anew, callers hear `NoSpace` or `Unavailable`.
//! - during the commit, but not in fsync: the engine is opened anew, and its revision shows whether the commit happened.
//! - in fsync: the content of the disk is unknown; a later read may show pages that are only in the kernel's memory. Callers
//!   hear `Unknown`, and the store stops for good rather than build on it.

use pintle_storage::{Error, Result};

use crate::engine::{Engine, State, Unusable};
use crate::view::View;
use crate::writer::{Failed, Writer, no_space};

impl Writer {
    /// Gets the engine going again if that is safe, and says what the group's callers must hear.
    pub(crate) fn recover(&mut self, failed: Failed) -> Option<Error> {
        let Failed { error, committing, housekeeping } = failed;
        if let Some(reason) = &self.broken {
            return Some(Error::Unavailable(reason.clone()));
        }
        // Without housekeeping the store goes on, so damage that only housekeeping has met keeps no server from starting.
        if let Error::Corrupt(detail) = &error
            && !housekeeping
        {
            self.shared.note_damage(detail);
        }
        if matches!(error, Error::Corrupt(_)) && committing.is_none() {
            // The engine is well, but what it read is not: only this group cannot be served.
            tracing::error!(%error, "the store holds damaged data");
            if housekeeping {
                // It would fail with every group from now on, and take the writers' requests with it.
                tracing::error!("leases end and compaction goes on only after a restore");
                self.housekeeping = false;
            }
            return Some(error);
        }
        let (sync_failed, full) = match &self.engine {
            Some(engine) => (engine.health().sync_failed(), engine.health().full()),
            None => (false, false),
        };
        if sync_failed {
            tracing::error!(%error, "{SYNC_FAILED}");
            self.shared.unreadable(Error::Unavailable(SYNC_FAILED.into()));
            self.broken = Some(SYNC_FAILED.into());
            return Some(match committing {
                Some(_) => Error::Unknown(error.to_string()),
                None => error,
            });
        }
        let error = if full { no_space() } else { error };
        tracing::warn!(%error, "a write to the store failed, opening it again");
        if !self.reopen(full) {
            return Some(match committing {
                Some(_) => Error::Unknown(error.to_string()),
                None => error,
            });
        }
        match committing {
            Some((state, _)) if state == self.state => None,
            _ => Some(error),
        }
    }

    /// Replaces the engine by one that finds what is on the disk. Readers and watches see it only when that is surely
    /// durable.
    pub(crate) fn reopen(&mut self, full: bool) -> bool {
        let result = self.open_again().and_then(|(engine, state)| {
            if state != self.state {
                // The commit that failed has reached the kernel at least; one more makes sure of the disk.
                self.save_free_pages_again(&engine, &state)?;
            } else if full && self.save_free_pages_again(&engine, &state).is_err() {
                // Only worth a try: the engine hands out the pages that compaction has freed after one more commit,
                // and a small one may succeed where the large one could not.
                drop(engine);
                return self.open_again();
            }
            Ok((engine, state))
        });
        let result = result.and_then(|(engine, state)| {
            let (leases, view) = (engine.leases()?, View::open(engine.db())?);
            Ok((engine, state, leases, view))
        });
        match result {
            Ok((engine, state, leases, view)) => {
                self.engine = Some(engine);
                self.state = state;
                self.leases = leases;
                self.shared.publish(view, Vec::new());
                true
            }
            Err(error) => {
                tracing::error!(%error, "the store cannot be opened again");
                self.shared.unreadable(gone());
                false
            }
        }
    }

    fn open_again(&mut self) -> Result<(Engine, State), Unusable> {
        // The old one first, so that there are never two.
        drop(self.engine.take());
        let engine = Engine::open(self.disk.clone(), self.cache_bytes)?;
        match engine.load() {
            Ok(state) => {
                engine.accept();
                Ok((engine, state))
            }
            Err(error) => {
                engine.abandon();
                Err(error)
            }
        }
    }

    fn save_free_pages_again(&mut self, engine: &Engine, state: &State) -> Result<(), redb::Error> {
        let result = engine.save_free_pages(state);
        if result.is_err() && engine.health().sync_failed() {
            self.broken = Some(SYNC_FAILED.into());
        }
        result
    }

    pub(crate) fn usable_engine(&mut self) -> Result<&Engine> {
        if let Some(reason) = &self.broken {
            return Err(Error::Unavailable(reason.clone()));
        }
        if self.engine.is_none() {
            self.reopen(false);
        }
        self.engine.as_ref().ok_or_else(gone)
    }
}

fn gone() -> Error {
    Error::Unavailable("the store has failed and cannot be opened again".into())
}

const SYNC_FAILED: &str = "the disk failed to sync, what it holds is unknown; restart the server";
