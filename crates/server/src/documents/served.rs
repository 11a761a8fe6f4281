//! What is served at one moment, and what is known about its documents.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use bytes::Bytes;
use pintle_discovery::GroupVersion;
use pintle_openapi::v3;

/// Never changed: when something else is served there is another one, which shares what has stayed the same.
pub(super) struct Served {
    pub(super) versions: Vec<GroupVersion>,
    /// All groups in one document: the core group's, and that of the others.
    pub(super) core: OnceLock<Aggregated>,
    pub(super) groups: OnceLock<Aggregated>,
    /// OpenAPI: the document of everything, and those of version 3 in the order of their names.
    pub(super) v2: Arc<Slot>,
    pub(super) v3: Vec<(String, Arc<Slot>)>,
}

/// An aggregated document in the encoding that nearly all clients ask for.
pub(super) struct Aggregated {
    pub(super) json: Bytes,
    pub(super) etag: String,
}

/// The place of a document that is made when it is asked for. Its bytes may be forgotten and made again; what it was called
/// stays.
#[derive(Default)]
pub(super) struct Slot {
    pub(super) made: OnceLock<Made>,
}

pub(super) struct Made {
    pub(super) hash: String,
    pub(super) modified: SystemTime,
}

impl Slot {
    pub(super) fn made(&self, hash: String) -> &Made {
        self.made.get_or_init(|| Made { hash, modified: SystemTime::now() })
    }
}

impl Served {
    /// Takes over from `before` the documents of group versions that are the same.
    pub(super) fn new(versions: Vec<GroupVersion>, logs: bool, before: Option<&Served>) -> Served {
        let mut kept: HashMap<&str, &Arc<Slot>> = HashMap::new();
        if let Some(before) = before {
            kept.extend(before.v3.iter().map(|(name, slot)| (name.as_str(), slot)));
            // Only group versions can change under their name; what else there is depends on its name alone.
            for old in &before.versions {
                if versions.iter().any(|new| new.path() == old.path() && new != old) {
                    kept.remove(name(old).as_str());
                }
            }
        }
        let slot = |name: String| {
            let slot = kept.get(name.as_str()).map_or_else(Arc::default, |slot| Arc::clone(slot));
            (name, slot)
        };
        let v3 = v3::names(&versions, logs).into_iter().map(slot).collect();
        Served { versions, core: OnceLock::new(), groups: OnceLock::new(), v2: Arc::default(), v3 }
    }

    /// `None` is the core group.
    pub(super) fn has_group(&self, group: Option<&str>) -> bool {
        self.versions.iter().any(|served| is_group(served, group))
    }

    pub(super) fn version(&self, group: Option<&str>, version: &str) -> Option<&GroupVersion> {
        self.versions.iter().find(|served| is_group(served, group) && served.version == version)
    }

    /// Whether a document belongs to what is served.
    pub(super) fn has(&self, slot: &Arc<Slot>) -> bool {
        Arc::ptr_eq(&self.v2, slot) || self.v3.iter().any(|(_, found)| Arc::ptr_eq(found, slot))
    }

    pub(super) fn v3(&self, name: &str) -> Option<&Arc<Slot>> {
        let place = self.v3.binary_search_by(|(found, _)| found.as_str().cmp(name)).ok()?;
        self.v3.get(place).map(|(_, slot)| slot)
    }
}

fn is_group(served: &GroupVersion, group: Option<&str>) -> bool {
    match group {
        None => served.group.is_empty(),
        Some(group) => !group.is_empty() && served.group == group,
    }
}

/// As OpenAPI calls the document of a group version.
pub(super) fn name(served: &GroupVersion) -> String {
    served.path().trim_start_matches('/').to_owned()
}
