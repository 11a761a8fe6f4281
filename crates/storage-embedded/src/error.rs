//! Errors of a store on disk: when it is opened (for the command line), and in the engine (for callers).

use std::io;
use std::path::{Path, PathBuf};

use pintle_storage::Error;

use crate::disk::is_full;

/// Why a store cannot be opened, saved or restored: one sentence for the command line. No existing
/// file has been changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    #[error("the data directory {} is in use by another process{}", .dir.display(), .pid.as_deref().map(|pid| format!(" (pid {pid})")).unwrap_or_default())]
    InUse { dir: PathBuf, pid: Option<String> },

    #[error("{} is not a Pintle store: {detail}; it was left as it is", .path.display())]
    NotAStore { path: PathBuf, detail: String },

    #[error("the store {} is damaged: {detail}; it was left as it is, restore a snapshot into an empty directory", .path.display())]
    Damaged { path: PathBuf, detail: String },

    #[error("the store {} is damaged: {detail}; restore a snapshot into an empty directory", .path.display())]
    DamageFound { path: PathBuf, detail: String },

    #[error("the store {} was written by a newer version of Pintle (format {found}, this one knows up to {known})", .path.display())]
    Newer { path: PathBuf, found: u64, known: u64 },

    #[error("no permission to use {}: {source}", .path.display())]
    Permission { path: PathBuf, source: io::Error },

    #[error("no space left on the disk of {}", .path.display())]
    NoSpace { path: PathBuf },

    #[error("cannot use {}: {source}", .path.display())]
    Io { path: PathBuf, source: io::Error },

    #[error("{} is not empty; a snapshot is restored only into an empty or missing directory", .dir.display())]
    NotEmpty { dir: PathBuf },

    #[error("there is no store in {}", .dir.display())]
    Missing { dir: PathBuf },

    #[error("not a usable snapshot: {0}")]
    BadSnapshot(String),
}

impl OpenError {
    pub(crate) fn io(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                OpenError::Permission { path, source }
            }
            _ if is_full(&source) => OpenError::NoSpace { path },
            _ => OpenError::Io { path, source },
        }
    }

    /// An error of the engine while it opened, loaded or filled the store at `path`.
    pub(crate) fn engine(path: &Path, error: redb::Error) -> Self {
        match error {
            // The engine reads where its own numbers lead it: beyond the end means that the file was cut.
            redb::Error::Io(source) if source.kind() == io::ErrorKind::UnexpectedEof => {
                OpenError::Damaged { path: path.to_owned(), detail: "it is cut short".into() }
            }
            redb::Error::Io(source) if source.kind() != io::ErrorKind::InvalidData => {
                OpenError::io(path, source)
            }
            redb::Error::Corrupted(detail) => OpenError::Damaged { path: path.to_owned(), detail },
            other => OpenError::Damaged { path: path.to_owned(), detail: other.to_string() },
        }
    }
}

/// The engine's error to a caller whose request surely had no effect.
pub(crate) fn storage_error(error: impl Into<redb::Error>) -> Error {
    match error.into() {
        redb::Error::Corrupted(detail) => Error::Corrupt(detail),
        redb::Error::Io(error) if is_full(&error) => Error::NoSpace(error.to_string()),
        other => Error::Unavailable(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_errors_are_one_sentence_that_names_the_place() {
        let path = Path::new("/data/pintle.db");
        let sentence = |kind: io::ErrorKind| OpenError::io(path, kind.into()).to_string();
        assert_eq!(
            sentence(io::ErrorKind::PermissionDenied),
            "no permission to use /data/pintle.db: permission denied"
        );
        assert_eq!(
            sentence(io::ErrorKind::ReadOnlyFilesystem),
            "no permission to use /data/pintle.db: read-only filesystem or storage medium"
        );
        assert_eq!(sentence(io::ErrorKind::StorageFull), "no space left on the disk of /data/pintle.db");
        assert_eq!(sentence(io::ErrorKind::QuotaExceeded), "no space left on the disk of /data/pintle.db");
        assert_eq!(sentence(io::ErrorKind::NotADirectory), "cannot use /data/pintle.db: not a directory");
    }
}
