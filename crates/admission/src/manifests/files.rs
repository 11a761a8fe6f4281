//! The files of a folder, and the documents in them.

use aws_lc_rs::digest::{Context, SHA256};
use bytes::Bytes;
use pintle_meta::quote;

/// Reads folders of manifests. Implemented by the program: a control plane knows no files.
pub trait ManifestFolders: Send + Sync + 'static {
    /// Checks that a folder can be read. The error ends the reference's message: `must be a directory`, or
    /// `unable to read: stat /a: no such file or directory`.
    fn check(&self, folder: &str) -> Result<(), String>;

    /// Returns the state of a folder, which differs after its files have changed. Called every second, so it must be cheap. May
    /// wait for a disk, as [`ManifestFolders::read`] may.
    fn state(&self, folder: &str) -> u64;

    /// Returns the files of a folder for which [`is_manifest`] holds, by name. Errors are the reference's.
    fn read(&self, folder: &str) -> Result<Vec<ManifestFile>, String>;
}

/// A file that was read.
#[derive(Clone, Debug)]
pub struct ManifestFile {
    pub path: String,
    pub content: Bytes,
}

/// Returns whether a file of this name is a manifest. Other files of the folder are ignored.
pub fn is_manifest(name: &str) -> bool {
    let extension = name.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase());
    matches!(extension.as_deref(), Some("yaml" | "yml" | "json"))
}

/// Returns the digest by which changes are noticed; empty without content.
pub(super) fn hash(files: &[ManifestFile]) -> String {
    let mut digest = Context::new(&SHA256);
    let mut has_content = false;
    for file in files.iter().filter(|file| !file.content.is_empty()) {
        digest.update(&file.content);
        digest.update(&[0]);
        has_content = true;
    }
    if has_content { hex(digest.finish().as_ref()) } else { String::new() }
}

/// Writes a digest as `sha256:00ff`.
pub(super) fn hex(digest: &[u8]) -> String {
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

/// Returns the documents of a file that are not empty.
///
/// A line that begins with `---` ends a document. Before the first line of a document it belongs to the document, which YAML
/// allows.
pub(super) fn documents(file: &ManifestFile) -> Result<Vec<Vec<u8>>, String> {
    let (mut documents, mut document) = (Vec::new(), Vec::new());
    for line in file.content.split_inclusive(|byte| *byte == b'\n') {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if let Some(rest) = line.strip_prefix(b"---") {
            let rest = rest.trim_ascii();
            if !rest.is_empty() && !rest.starts_with(b"#") {
                let (path, rest) = (quote(&file.path), String::from_utf8_lossy(rest));
                return Err(format!(
                    "failed to split YAML documents in file {path}: invalid Yaml document separator: {rest}"
                ));
            }
            if !document.is_empty() {
                documents.push(std::mem::take(&mut document));
                continue;
            }
        }
        document.extend_from_slice(line);
        document.push(b'\n');
    }
    documents.push(document);
    let trimmed = documents.iter().map(|document| document.trim_ascii().to_vec());
    Ok(trimmed.filter(|document| !document.is_empty()).collect())
}
