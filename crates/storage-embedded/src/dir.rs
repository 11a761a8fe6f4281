//! The data directory: its lock, and the files in it.
//!
//! ```text
//! DIR/lock        locked for as long as a store is open; its content, the process id, is for people
//! DIR/pintle.db   the store
//! DIR/pintle.db.new   a store in the making, renamed when it is complete; overwritten by the next attempt
//! ```

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::disk::FileDisk;
use crate::engine::{Engine, State, Unusable};
use crate::error::OpenError;
use crate::tables::FORMAT;

pub(crate) const STORE: &str = "pintle.db";
pub(crate) const STORE_NEW: &str = "pintle.db.new";
pub(crate) const LOCK: &str = "lock";

/// Holds the directory until dropped.
#[derive(Debug)]
pub(crate) struct Lock(File);

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing is not enough: a child process that is just being made holds every open file for a moment.
        let _ = self.0.unlock();
    }
}

/// Makes the directory if need be and locks it.
pub(crate) fn lock(dir: &Path) -> Result<Lock, OpenError> {
    create_dir(dir)?;
    let path = dir.join(LOCK);
    let mut file = private_file()
        .create(true)
        .truncate(false)
        .open(&path)
        .map_err(|error| OpenError::io(&path, error))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut pid = String::new();
            let _ = file.take(32).read_to_string(&mut pid);
            let pid = pid.trim();
            let pid = pid.parse::<u32>().is_ok().then(|| pid.to_owned());
            return Err(OpenError::InUse { dir: dir.to_owned(), pid });
        }
        Err(TryLockError::Error(error)) => return Err(OpenError::io(&path, error)),
    }
    // For people only, so a full disk must not keep the store from opening.
    let _ = file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id()));
    Ok(Lock(file))
}

/// Opens the store of a locked directory, or makes it.
pub(crate) fn open(dir: &Path, no_fsync: bool, cache_bytes: usize) -> Result<(Engine, State), OpenError> {
    let path = dir.join(STORE);
    match private_file().open(&path) {
        Ok(file) => open_existing(file, path, no_fsync, cache_bytes),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let made = create(dir, no_fsync, cache_bytes).and_then(|engine| {
                engine.initialize(State::EMPTY).map_err(|error| OpenError::engine(&path, error))?;
                publish(dir)?;
                Ok((engine, State::EMPTY))
            });
            if made.is_err() {
                discard(dir, false);
            }
            made
        }
        Err(error) => Err(OpenError::io(&path, error)),
    }
}

/// An engine on a new file, before it is renamed into place.
pub(crate) fn create(dir: &Path, no_fsync: bool, cache_bytes: usize) -> Result<Engine, OpenError> {
    let path = dir.join(STORE_NEW);
    let file = private_file()
        .create(true)
        .truncate(true)
        .open(&path)
        .map_err(|error| OpenError::io(&path, error))?;
    Engine::open(Arc::new(FileDisk::new(file, path.clone(), no_fsync)), cache_bytes)
        .map_err(|error| OpenError::engine(&path, error))
}

/// Gives the new store its name. It is durable and complete already.
pub(crate) fn publish(dir: &Path) -> Result<(), OpenError> {
    let path = dir.join(STORE);
    std::fs::rename(dir.join(STORE_NEW), &path).map_err(|error| OpenError::io(&path, error))?;
    sync_dir(dir)
}

/// Takes back what an attempt has left that made no store.
pub(crate) fn discard(dir: &Path, and_dir: bool) {
    let _ = std::fs::remove_file(dir.join(STORE_NEW));
    if and_dir && !dir.join(STORE).exists() {
        let _ = std::fs::remove_file(dir.join(LOCK));
        let _ = std::fs::remove_dir(dir);
    }
}

pub(crate) fn sync_dir(dir: &Path) -> Result<(), OpenError> {
    File::open(dir).and_then(|dir| dir.sync_all()).map_err(|error| OpenError::io(dir, error))
}

/// Makes the directory and its missing parents, private, and durably so.
pub(crate) fn create_dir(dir: &Path) -> Result<(), OpenError> {
    if dir.is_dir() {
        return Ok(());
    }
    DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(|error| OpenError::io(dir, error))?;
    match dir.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => sync_dir(parent),
        _ => Ok(()),
    }
}

fn private_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o600);
    options
}

fn open_existing(
    mut file: File,
    path: PathBuf,
    no_fsync: bool,
    cache_bytes: usize,
) -> Result<(Engine, State), OpenError> {
    // The engine would take an empty file for a new store, and write to it.
    let mut magic = [0; MAGIC.len()];
    match file.read_exact(&mut magic) {
        Ok(()) if magic == MAGIC => {}
        Ok(()) => return Err(not_a_store(path, "it has another format")),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            return Err(not_a_store(path, "it is too short"));
        }
        Err(error) => return Err(OpenError::io(&path, error)),
    }
    let engine = Engine::open(Arc::new(FileDisk::new(file, path.clone(), no_fsync)), cache_bytes)
        .map_err(|error| OpenError::engine(&path, error))?;
    match engine.load() {
        Ok(state) => Ok((engine, state)),
        Err(Unusable::Engine(error)) => {
            engine.abandon();
            Err(OpenError::engine(&path, error))
        }
        Err(Unusable::Foreign(detail)) => {
            engine.abandon();
            Err(not_a_store(path, &detail))
        }
        Err(Unusable::Newer(found)) => {
            engine.abandon();
            Err(OpenError::Newer { path, found, known: FORMAT })
        }
    }
}

fn not_a_store(path: PathBuf, detail: &str) -> OpenError {
    OpenError::NotAStore { path, detail: detail.to_owned() }
}

/// How the engine's files begin.
const MAGIC: [u8; 9] = *b"redb\x1a\x0a\xa9\x0d\x0a";
