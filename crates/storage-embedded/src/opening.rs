//! Opens the engine in bounded time, with a word about how far it is.
//!
//! After a crash the engine reads all pages, which takes as long as the disk needs for them: that is reported. A damaged file
//! can also lead it in circles: that ends, by the bytes that it reads and by the time in which it does nothing with the disk. A slow
//! disk is waited for.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use redb::{Database, StorageBackend};

use crate::disk::{Health, Watched};
use crate::engine::senseless;
use crate::guard::guarded;

/// How often to say how far it is.
const REPORT: Duration = Duration::from_secs(2);
/// How many reports without a byte read, and without a call of the disk to wait for, mean that it will not come to an end.
const STALLED: u32 = 15;
/// The engine passes over a file a few times while it repairs it.
const MAX_PASSES: u64 = 64;
/// Small files are read many times over for reasons of their own.
const MIN_BUDGET: u64 = 1 << 30;

/// Opens the engine on a backend; an empty one becomes an engine without tables.
pub(crate) fn open(backend: Watched, health: &Health, cache_bytes: usize) -> Result<Database, redb::Error> {
    let len = backend.len()?;
    health.limit_reads(len.saturating_mul(MAX_PASSES).max(MIN_BUDGET));
    let (done, opened) = mpsc::channel();
    // A thread of its own: one that goes in circles cannot be ended, only left behind.
    std::thread::Builder::new().name("pintle-open".into()).spawn(move || {
        let _ = done.send(guarded(|| create(backend, cache_bytes)));
    })?;
    let (mut before, mut stalled) = (0, 0);
    loop {
        match opened.recv_timeout(REPORT) {
            Ok(Ok(result)) => {
                health.limit_reads(u64::MAX);
                return result;
            }
            Ok(Err(panic)) => return Err(senseless(&panic)),
            Err(RecvTimeoutError::Disconnected) => return Err(senseless("")),
            Err(RecvTimeoutError::Timeout) => {}
        }
        let now = health.bytes_read();
        stalled = if now == before && !health.waits_for_disk() { stalled + 1 } else { 0 };
        if stalled == STALLED {
            return Err(redb::Error::Corrupted("opening it comes to no end".into()));
        }
        before = now;
        tracing::info!("still opening the store, {} MB of {} MB read", now >> 20, len >> 20);
    }
}

fn create(backend: impl StorageBackend, cache_bytes: usize) -> Result<Database, redb::Error> {
    let report = |session: &mut redb::RepairSession| {
        // Told several times on the way; reports say the rest.
        if session.progress() == 0.0 {
            tracing::info!("the store was not closed, checking all of it");
        }
    };
    let mut builder = Database::builder();
    builder.set_cache_size(cache_bytes).set_repair_callback(report);
    Ok(builder.create_with_backend(backend)?)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use redb::backends::InMemoryBackend;

    use super::*;

    #[test]
    fn an_engine_that_reads_without_end_is_stopped() {
        let backend = InMemoryBackend::new();
        backend.set_len(64).unwrap();
        let health = Arc::new(Health::default());
        let watched = Watched::new(Box::new(backend), health.clone());
        health.limit_reads(100);
        let mut piece = [0; 64];
        assert!(watched.read(0, &mut piece).is_ok() && watched.read(0, &mut piece).is_ok());
        let error = watched.read(0, &mut piece).unwrap_err();
        assert_eq!(error.to_string(), "it leads in circles");
        assert_eq!(health.bytes_read(), 192);
        health.stop_writes();
        assert!(watched.write(0, b"x").is_err() && watched.set_len(1).is_err());
    }
}
