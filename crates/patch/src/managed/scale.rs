//! Conversion of managers between an object and its `scale` subresource.

use std::collections::BTreeMap;

use pintle_meta::value::Key;

use super::entries::{Managed, Manager};
use crate::fieldset::{Element, Set};

const SCALE: &str = "autoscaling/v1";

fn replicas() -> [Element; 2] {
    [Element::field("spec"), Element::field("replicas")]
}

/// Returns the managers of a `Scale`: those of the parent that own the replicas. `path` returns the path of the
/// replicas in a version of the parent; `None` for unknown versions, an empty path for versions without replicas.
pub fn to_scale(parent: &Managed, path: impl Fn(&str) -> Option<Vec<Element>>) -> Managed {
    let mut managers = BTreeMap::new();
    for (id, manager) in &parent.managers {
        if path(&manager.api_version).is_some_and(|path| manager.fields.has(&path)) {
            let mut fields = Set::new();
            fields.insert(&replicas());
            let time = manager.time.clone();
            managers.insert(id.clone(), Manager { api_version: Key::new_static(SCALE), fields, time });
        }
    }
    Managed { managers }
}

/// Returns the managers of the parent after a write of its `Scale` with the managers `scale`.
pub fn to_parent(
    parent: &Managed,
    mut scale: Managed,
    api_version: &str,
    path: impl Fn(&str) -> Option<Vec<Element>>,
) -> Managed {
    let mut managers = BTreeMap::new();
    for (id, manager) in &parent.managers {
        let Some(path) = path(&manager.api_version) else { continue };
        if !manager.fields.has(&path) || scale.managers.remove(id).is_some() {
            managers.insert(id.clone(), manager.clone());
            continue;
        }
        // Another manager owns them now.
        let mut stolen = Set::new();
        stolen.insert(&path);
        let fields = manager.fields.clone().difference(&stolen);
        if !fields.is_empty() {
            managers.insert(id.clone(), Manager { fields, ..manager.clone() });
        }
    }
    for (id, manager) in scale.managers {
        if !manager.fields.has(&replicas()) {
            continue;
        }
        let mut fields = Set::new();
        fields.insert(&path(api_version).unwrap_or_default());
        // As in the reference, the time is that of the parent's existing entry, if any.
        let time = parent.managers.get(&id).and_then(|known| known.time.clone());
        managers.insert(id, Manager { api_version: api_version.into(), fields, time });
    }
    Managed { managers }
}
