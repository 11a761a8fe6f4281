//! When a write fails, the engine refuses all further work. What then is safe depends on how far the write got:
//!
//! - before the commit: nothing happened. The engine is opened anew, callers hear `NoSpace` or `Unavailable`.
//! - during the commit, but not in fsync: the engine is opened anew, and the revision it has tells what happened.
//! - in fsync: nobody can tell what the disk has; what a later read shows may only be in the kernel's memory. Callers
//!   hear `Unknown`, and the store stops for good rather than build on it.

use pintle_storage::{Error, Result};

use crate::engine::{Engine, Unusable};
use crate::view::View;
use crate::writer::{Failed, Writer, no_space};

impl Writer {
    /// Gets the engine going again if that is safe, and says what the group's callers must hear.
    pub(crate) fn recover(&mut self, failed: Failed) -> Option<Error> {
        let Failed { error, committing, housekeeping } = failed;
        if let Some(reason) = &self.broken {
            return Some(Error::Unavailable(reason.clone()));
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
            let reason =
                format!("the disk failed to sync, what it holds is unknown; restart the server ({error})");
            tracing::error!("{reason}");
            self.shared.unreadable(Error::Unavailable(reason.clone()));
            self.broken = Some(reason);
            return Some(match committing {
                Some(_) => Error::Unknown(error.to_string()),
                None => error,
            });
        }
        let error = if full { no_space() } else { error };
        tracing::warn!(%error, "a write to the store failed, opening it again");
        if !self.reopen() {
            return Some(match committing {
                Some(_) => Error::Unknown(error.to_string()),
                None => error,
            });
        }
        match committing {
            // It did reach the disk, or at least the kernel; one more commit makes sure that it is durable.
            Some((state, committed)) if state == self.state => {
                match self.engine.as_ref().map(|engine| engine.settle(&self.state)) {
                    Some(Ok(())) => {
                        self.publish(committed);
                        None
                    }
                    _ => Some(Error::Unknown(error.to_string())),
                }
            }
            _ => Some(error),
        }
    }

    pub(crate) fn reopen(&mut self) -> bool {
        let reopened = match self.engine.take() {
            Some(engine) => engine.reopen().map_err(|(_, error)| error),
            None => Engine::open(self.disk.clone(), self.cache_bytes),
        };
        let result = reopened.map_err(Unusable::Engine).and_then(|engine| {
            let state = engine.load()?;
            let leases = engine.leases()?;
            let view = View::open(engine.db())?;
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
                tracing::error!(?error, "the store cannot be opened again");
                self.shared
                    .unreadable(Error::Unavailable("the store failed and cannot be opened again".into()));
                false
            }
        }
    }

    pub(crate) fn usable_engine(&mut self) -> Result<&Engine> {
        if let Some(reason) = &self.broken {
            return Err(Error::Unavailable(reason.clone()));
        }
        if self.engine.is_none() {
            self.reopen();
        }
        self.engine
            .as_ref()
            .ok_or_else(|| Error::Unavailable("the store failed and cannot be opened again".into()))
    }
}
