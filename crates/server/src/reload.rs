//! Notices when files change.
//!
//! Certificates are rotated by renaming files, swapping symlinks or writing in place, on file systems that may not
//! report events; looking at a handful of files once a second sees all of that and costs nothing.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

const INTERVAL: Duration = Duration::from_secs(1);

/// The metadata of a file; a change of any of it means new content.
#[derive(Clone, PartialEq, Eq)]
struct FileState {
    inode: u64,
    size: u64,
    modified: (i64, i64),
}

fn file_state(path: &Path) -> Option<FileState> {
    let metadata = std::fs::metadata(path).ok()?;
    Some(FileState {
        inode: metadata.ino(),
        size: metadata.size(),
        modified: (metadata.mtime(), metadata.mtime_nsec()),
    })
}

/// Files, and what they looked like when they were read.
#[derive(Clone)]
pub struct WatchedFiles {
    files: Vec<PathBuf>,
    loaded: Vec<Option<FileState>>,
}

impl WatchedFiles {
    /// To be made before the files are read: a change in between is then noticed.
    pub fn new(files: Vec<PathBuf>) -> WatchedFiles {
        let loaded = files.iter().map(|file| file_state(file)).collect();
        WatchedFiles { files, loaded }
    }

    /// Calls `changed` after any of the files has changed and its state has held for one look, so that a certificate
    /// and its key written one after the other are read together. Never returns.
    pub async fn watch(mut self, mut changed: impl FnMut()) {
        let mut last = None;
        loop {
            tokio::time::sleep(INTERVAL).await;
            let now: Vec<_> = self.files.iter().map(|file| file_state(file)).collect();
            if now != self.loaded && last.as_ref() == Some(&now) {
                changed();
                self.loaded.clone_from(&now);
            }
            last = Some(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_change_is_reported_once_it_has_settled() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a");
        std::fs::write(&file, "one").unwrap();
        let changes = Arc::new(AtomicU32::new(0));
        let watcher = tokio::spawn(WatchedFiles::new(vec![file.clone()]).watch({
            let changes = changes.clone();
            move || _ = changes.fetch_add(1, Ordering::SeqCst)
        }));
        tokio::time::sleep(INTERVAL * 3).await;
        assert_eq!(changes.load(Ordering::SeqCst), 0);
        std::fs::write(&file, "longer").unwrap();
        tokio::time::sleep(INTERVAL * 4).await;
        assert_eq!(changes.load(Ordering::SeqCst), 1);
        std::fs::remove_file(&file).unwrap();
        std::fs::write(&file, "another").unwrap();
        tokio::time::sleep(INTERVAL * 4).await;
        assert_eq!(changes.load(Ordering::SeqCst), 2);
        watcher.abort();
    }
}
