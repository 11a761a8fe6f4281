//! The file of `--port-file`: it is there while a server serves the port in it, so that a script never reads an earlier server's.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::files::write_public;

/// The file, which is removed when this is dropped.
pub(crate) struct PortFile(PathBuf);

impl PortFile {
    /// Removes a file that a server left which was killed.
    pub(crate) fn claim(path: &Path) -> anyhow::Result<PortFile> {
        let path = std::path::absolute(path).context("--port-file")?;
        match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(error).with_context(|| format!("--port-file: cannot remove {}", path.display()))
            }
            _ => Ok(PortFile(path)),
        }
    }

    pub(crate) fn write(&self, port: u16) -> anyhow::Result<()> {
        write_public(&self.0, format!("{port}\n").as_bytes()).context("--port-file")
    }
}

impl Drop for PortFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}
