//! Sources of group versions: built-in resources, definitions of custom resources, servers behind the aggregator.
//!
//! Documents are merged from any number of sources. Each has a version stamp of its own: a source whose stamp is the same as
//! before is not asked for anything, and documents that it has no part in stay as they are.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use smol_str::SmolStr;

use crate::{Custom, GroupVersion, Priority};

/// A source of group versions.
pub trait GroupSource: Send + Sync + 'static {
    /// Returns the version stamp, which changes with every change that can be taken. Called before a document is served; may
    /// bring the source up to date with what it mirrors, but does not wait.
    fn stamp(&self) -> u64;

    /// Returns the contributions that have changed since the last call, by their keys; `None` where one is gone. The first call
    /// returns all of them. Called only when the stamp has changed.
    fn take_changes(&self) -> Vec<(SmolStr, Option<Contribution>)>;
}

/// The part of a source that changes as one.
#[derive(Clone, Debug)]
pub enum Contribution {
    /// All built-in group versions, in the order of discovery: versions of a group next to each other, the preferred first.
    Builtin(Vec<GroupVersion>),
    /// A definition of custom resources.
    Definition(Custom),
    /// A group version that another server describes.
    Remote(Arc<RemoteVersion>),
}

/// A group version of another server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteVersion {
    /// Without resources if the server has never been asked successfully.
    pub version: GroupVersion,
    pub priority: Priority,
    /// Whether the server could not be asked the last time.
    pub is_stale: bool,
    /// The OpenAPI v2 document of its server, if there is one. It may describe other group versions too.
    pub openapi_v2: Option<RemoteDocument>,
    /// Its OpenAPI v3 document, if the server has one.
    pub openapi_v3: Option<RemoteDocument>,
}

/// A document of another server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteDocument {
    pub json: Arc<[u8]>,
    /// The server's hash of the content.
    pub hash: String,
}

/// A source whose owner publishes each change.
#[derive(Default)]
pub struct Publisher {
    stamp: AtomicU64,
    changes: Mutex<BTreeMap<SmolStr, Option<Contribution>>>,
}

impl Publisher {
    /// Sets or removes the contribution of a key.
    pub fn publish(&self, key: &str, contribution: Option<Contribution>) {
        let mut changes = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        changes.insert(key.into(), contribution);
        self.stamp.fetch_add(1, Ordering::Release);
    }
}

impl GroupSource for Publisher {
    fn stamp(&self) -> u64 {
        self.stamp.load(Ordering::Acquire)
    }

    fn take_changes(&self) -> Vec<(SmolStr, Option<Contribution>)> {
        let mut changes = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *changes).into_iter().collect()
    }
}
