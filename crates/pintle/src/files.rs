//! Private files and directories, and files that are replaced atomically.

use std::fs::{self, DirBuilder};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::Path;

use anyhow::Context;

/// Makes a directory, and those above it, that only its owner may enter.
pub(crate) fn private_directory(path: &Path) -> anyhow::Result<()> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .with_context(|| format!("cannot create the directory {}", path.display()))
}

/// Writes a file that only its owner may read, replacing what is there in one step.
pub(crate) fn write_private(path: &Path, content: &[u8]) -> anyhow::Result<()> {
    write_through(path, content, 0o600).with_context(|| format!("cannot write {}", path.display()))
}

/// Writes a file that anyone may read, replacing what is there in one step.
pub(crate) fn write_public(path: &Path, content: &[u8]) -> anyhow::Result<()> {
    write_through(path, content, 0o644).with_context(|| format!("cannot write {}", path.display()))
}

fn write_through(path: &Path, content: &[u8], mode: u32) -> io::Result<()> {
    // Under a new name, so that two processes do not write into the same file, and no link or open file that others have
    // prepared receives secrets.
    let directory = path.parent().unwrap_or(Path::new("."));
    let mut fresh = tempfile::Builder::new()
        .prefix(".new-")
        .permissions(fs::Permissions::from_mode(mode))
        .tempfile_in(directory)?;
    fresh.write_all(content)?;
    fresh.as_file().sync_all()?;
    fresh.persist(path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_files_are_private_and_replaced_whole() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a/b");
        private_directory(path.parent().unwrap()).unwrap();
        write_private(&path, b"one").unwrap();
        write_private(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::metadata(path.parent().unwrap()).unwrap().permissions().mode() & 0o777, 0o700);
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "nothing left behind");
    }
}
