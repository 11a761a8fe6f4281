//! The seam below the engine: where its bytes go.
//!
//! The store opens its [`Disk`] once, and again when the engine has to start over after a failed write. Tests put
//! disks here that fill up, tear writes, forget what was not synced, or fail to sync.

use std::fmt::Debug;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use redb::StorageBackend;

use crate::undo::Undo;

/// A place that holds the bytes of one store.
pub trait Disk: Debug + Send + Sync + 'static {
    /// Gives access to the bytes. Called again only after the previous backend was closed or has failed.
    fn open(&self) -> io::Result<Box<dyn StorageBackend>>;

    /// Bytes that can still be written; `None` if that is unknown. Called before every commit, so it is cheap.
    fn free(&self) -> Option<u64>;

    /// Bytes taken on the disk.
    fn size(&self) -> u64;
}

/// A file that was opened already, under the directory's lock.
#[derive(Debug)]
pub(crate) struct FileDisk {
    file: Arc<File>,
    path: PathBuf,
    no_fsync: bool,
}

impl FileDisk {
    pub(crate) fn new(file: File, path: PathBuf, no_fsync: bool) -> Self {
        FileDisk { file: Arc::new(file), path, no_fsync }
    }
}

impl Disk for FileDisk {
    fn open(&self) -> io::Result<Box<dyn StorageBackend>> {
        Ok(Box::new(FileBackend { file: self.file.clone(), no_fsync: self.no_fsync }))
    }

    fn free(&self) -> Option<u64> {
        // By path: the answer is the file system's, which a renamed or bind-mounted directory does not change.
        let stat = rustix::fs::statvfs(self.path.parent()?).ok()?;
        Some(stat.f_bavail.saturating_mul(stat.f_frsize))
    }

    fn size(&self) -> u64 {
        // Blocks, not length: the engine grows its file in leaps and leaves holes.
        self.file.metadata().map(|meta| meta.blocks() * 512).unwrap_or(0)
    }
}

#[derive(Debug)]
struct FileBackend {
    file: Arc<File>,
    no_fsync: bool,
}

impl StorageBackend for FileBackend {
    fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(out, offset)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        if self.no_fsync { Ok(()) } else { self.file.sync_data() }
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.file.write_all_at(data, offset)
    }
}

/// No disk at all. Its bytes live as long as the backend, so a failed engine cannot be started over on it; but it
/// does not fail either.
#[derive(Debug, Default)]
pub(crate) struct MemoryDisk {
    opened: AtomicBool,
    len: Arc<AtomicU64>,
}

impl Disk for MemoryDisk {
    fn open(&self) -> io::Result<Box<dyn StorageBackend>> {
        if self.opened.swap(true, Ordering::SeqCst) {
            return Err(io::Error::other("a store in memory cannot be opened again"));
        }
        Ok(Box::new(MemoryBackend { inner: redb::backends::InMemoryBackend::new(), len: self.len.clone() }))
    }

    fn free(&self) -> Option<u64> {
        None
    }

    fn size(&self) -> u64 {
        self.len.load(Ordering::Relaxed)
    }
}

#[derive(Debug)]
struct MemoryBackend {
    inner: redb::backends::InMemoryBackend,
    len: Arc<AtomicU64>,
}

impl StorageBackend for MemoryBackend {
    fn len(&self) -> io::Result<u64> {
        self.inner.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.inner.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.len.store(len, Ordering::Relaxed);
        self.inner.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.inner.write(offset, data)
    }
}

/// The backend that the engine writes to. It remembers how an operation failed, because the engine's own errors do not
/// distinguish a failed sync from a failed write, and the difference decides whether a write's outcome is known.
#[derive(Debug)]
pub(crate) struct Watched {
    inner: Box<dyn StorageBackend>,
    health: Arc<Health>,
}

#[derive(Debug, Default)]
pub(crate) struct Health {
    sync_failed: AtomicBool,
    full: AtomicBool,
    bytes_read: AtomicU64,
    /// Number of bytes that may be read; more means that the engine goes in circles.
    read_limit: AtomicU64,
    /// Calls of the disk that have not returned yet.
    in_flight: AtomicUsize,
    /// Nothing is written any more. While an [`Undo`] records, it is set and looked at under its lock.
    read_only: AtomicBool,
    pub(crate) undo: Undo,
}

impl Health {
    pub(crate) fn sync_failed(&self) -> bool {
        self.sync_failed.load(Ordering::SeqCst)
    }

    pub(crate) fn full(&self) -> bool {
        self.full.load(Ordering::SeqCst)
    }

    pub(crate) fn bytes_read(&self) -> u64 {
        self.bytes_read.load(Ordering::Relaxed)
    }

    /// Whether the engine waits for the disk.
    pub(crate) fn waits_for_disk(&self) -> bool {
        self.in_flight.load(Ordering::SeqCst) > 0
    }

    /// Has all writes fail from now on. A recorded write that is under way ends first.
    pub(crate) fn stop_writes(&self) {
        self.undo.locked(|| self.read_only.store(true, Ordering::SeqCst));
    }

    fn check_writable(&self) -> io::Result<()> {
        if self.read_only.load(Ordering::SeqCst) {
            Err(io::Error::other("the store was given up"))
        } else {
            Ok(())
        }
    }

    /// Has all reads fail once so many bytes were read in all.
    pub(crate) fn limit_reads(&self, bytes: u64) {
        self.read_limit.store(bytes, Ordering::Relaxed);
    }
}

/// Counts a call of the disk until it is dropped.
struct InFlight<'h>(&'h AtomicUsize);

impl<'h> InFlight<'h> {
    fn new(health: &'h Health) -> InFlight<'h> {
        health.in_flight.fetch_add(1, Ordering::SeqCst);
        InFlight(&health.in_flight)
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Watched {
    pub(crate) fn new(inner: Box<dyn StorageBackend>, health: Arc<Health>) -> Self {
        Watched { inner, health }
    }

    /// Changes the file from `offset` on, `len` bytes of it.
    fn change(&self, offset: u64, len: u64, change: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        let _in_flight = InFlight::new(&self.health);
        self.health.undo.recorded(&*self.inner, offset, len, || {
            self.health.check_writable()?;
            self.note(change())
        })
    }

    fn note<T>(&self, result: io::Result<T>) -> io::Result<T> {
        if let Err(error) = &result
            && is_full(error)
        {
            self.health.full.store(true, Ordering::SeqCst);
        }
        result
    }
}

/// Whether an error means that there is no room: the disk, a quota, or a limit on the size of files.
pub(crate) fn is_full(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge)
}

impl StorageBackend for Watched {
    fn len(&self) -> io::Result<u64> {
        self.inner.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let before = self.health.bytes_read.fetch_add(out.len() as u64, Ordering::Relaxed);
        if before > self.health.read_limit.load(Ordering::Relaxed) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "it leads in circles"));
        }
        let _in_flight = InFlight::new(&self.health);
        self.inner.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.change(len, u64::MAX, || self.inner.set_len(len))
    }

    fn sync_data(&self) -> io::Result<()> {
        let _in_flight = InFlight::new(&self.health);
        let result = self.inner.sync_data();
        if result.is_err() {
            self.health.sync_failed.store(true, Ordering::SeqCst);
        }
        result
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.change(offset, data.len() as u64, || self.inner.write(offset, data))
    }

    fn close(&self) -> io::Result<()> {
        self.inner.close()
    }
}
