//! Notices when files change.
//!
//! Certificates are rotated by renaming files, swapping symlinks or writing in place, on file systems that may not
//! report events; looking at a handful of files once a second sees all of that and costs nothing.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

const INTERVAL: Duration = Duration::from_secs(1);

/// What a file looked like; a change of any of it means new content.
#[derive(Clone, PartialEq, Eq)]
struct Seen {
    inode: u64,
    size: u64,
    modified: (i64, i64),
}

fn look(path: &Path) -> Option<Seen> {
    let metadata = std::fs::metadata(path).ok()?;
    Some(Seen {
        inode: metadata.ino(),
        size: metadata.size(),
        modified: (metadata.mtime(), metadata.mtime_nsec()),
    })
}

/// Calls `changed` after any of the files has changed and its state has held for one look, so that a certificate and
/// its key written one after the other are read together. Never returns.
pub async fn watch_files(files: Vec<PathBuf>, mut changed: impl FnMut()) {
    let state = || files.iter().map(|file| look(file)).collect::<Vec<_>>();
    let mut loaded = state();
    let mut last = loaded.clone();
    loop {
        tokio::time::sleep(INTERVAL).await;
        let now = state();
        if now != loaded && now == last {
            changed();
            loaded.clone_from(&now);
        }
        last = now;
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
        let watcher = tokio::spawn(watch_files(vec![file.clone()], {
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
