//! For tests: a folder in memory, and a decoder of objects without types.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use pintle_codec::{json, yaml};
use pintle_meta::{Value, quote};
use pintle_metrics::Registry;

use super::{Manifest, ManifestDecoder, ManifestEnvironment, ManifestFile, ManifestFolders, ManifestMetrics};

/// The identity of the server in metrics.
pub(crate) const SERVER: &str = "apiserver-a";

/// A folder whose files tests write. Clones are the same folder.
#[derive(Clone)]
pub(crate) struct TestFolder {
    path: &'static str,
    /// The files by name, and the number of changes.
    files: Arc<Mutex<(BTreeMap<String, Bytes>, u64)>>,
    /// The disk does not answer while a test holds this.
    pub(crate) disk: Arc<Mutex<()>>,
}

impl TestFolder {
    pub(crate) fn new(path: &'static str) -> TestFolder {
        TestFolder { path, files: Arc::default(), disk: Arc::default() }
    }

    /// Writes a file; empty content is a file too.
    pub(crate) fn write(&self, name: &str, content: &str) {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        files.0.insert(name.to_owned(), Bytes::copy_from_slice(content.as_bytes()));
        files.1 += 1;
    }

    pub(crate) fn remove(&self, name: &str) {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        files.0.remove(name);
        files.1 += 1;
    }

    pub(crate) fn environment(&self, registry: &Registry) -> ManifestEnvironment {
        ManifestEnvironment {
            folders: Arc::new(self.clone()),
            decoder: Arc::new(Untyped),
            metrics: Arc::new(ManifestMetrics::new(registry, SERVER).expect("metrics")),
        }
    }
}

impl ManifestFolders for TestFolder {
    fn check(&self, folder: &str) -> Result<(), String> {
        match folder == self.path {
            true => Ok(()),
            false => Err(format!("unable to read: stat {folder}: no such file or directory")),
        }
    }

    fn state(&self, _: &str) -> u64 {
        let _disk = self.disk.lock().unwrap_or_else(PoisonError::into_inner);
        self.files.lock().unwrap_or_else(PoisonError::into_inner).1
    }

    fn read(&self, folder: &str) -> Result<Vec<ManifestFile>, String> {
        let _disk = self.disk.lock().unwrap_or_else(PoisonError::into_inner);
        let files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let file = |(name, content): (&String, &Bytes)| ManifestFile {
            path: format!("{folder}/{name}"),
            content: content.clone(),
        };
        Ok(files.0.iter().map(file).collect())
    }
}

/// Decodes anything that has a kind. An object is valid without a field `invalid`; its default is `complete: true`.
struct Untyped;

impl ManifestDecoder for Untyped {
    fn decode(&self, document: &[u8], scheme: &str) -> Result<Manifest, String> {
        let object = yaml::decode_untyped(document).map_err(|error| error.to_string())?.value;
        let kind = object.group_version_kind();
        if kind.kind.is_empty() {
            return Err(format!("no kind in scheme {}", quote(scheme)));
        }
        if kind.kind != "List" {
            return Ok(Manifest::Object { kind, object });
        }
        let encoded = |item: &Value| {
            let mut text = Vec::new();
            json::encode(item, &mut text);
            Bytes::from(text)
        };
        Ok(Manifest::List(object.items_at(&["items"]).iter().map(encoded).collect()))
    }

    fn complete(&self, _: &str, mut object: Value) -> Result<Value, String> {
        if object.get("invalid").is_some() {
            return Err("invalid: Forbidden".to_owned());
        }
        if let Some(object) = object.as_object_mut() {
            object.insert("complete", true);
        }
        Ok(object)
    }
}
