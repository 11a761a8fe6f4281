//! An index of objects by namespace, for plugins whose rules are objects of the namespace.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use pintle_meta::Value;
use pintle_registry::{Mirror, Reflect, Store};

use crate::Result;

/// Values read from the objects of a store, by namespace. A lookup in a namespace without objects costs one hash.
pub(crate) struct ByNamespace<T> {
    mirror: Mirror<Index<T>>,
}

struct Index<T> {
    read: fn(&Value) -> T,
    /// Namespaces that have objects, and these by name.
    namespaces: HashMap<String, BTreeMap<String, Arc<T>>>,
}

impl<T: Send + Sync + 'static> ByNamespace<T> {
    /// Without a store there are no objects.
    pub(crate) fn new(store: Option<&Arc<Store>>, read: fn(&Value) -> T) -> ByNamespace<T> {
        let index = Index { read, namespaces: HashMap::new() };
        ByNamespace { mirror: Mirror::new(store.cloned().into_iter().collect(), index) }
    }

    /// Returns the values of a namespace by name, as the cache has them. Waits until the cache is loaded.
    pub(crate) async fn of(&self, namespace: &str) -> Result<Vec<Arc<T>>> {
        self.mirror.ready().await?;
        Ok(self.mirror.read(|index| {
            let found = index.namespaces.get(namespace);
            found.map(|found| found.values().cloned().collect()).unwrap_or_default()
        }))
    }
}

impl<T: Send + Sync + 'static> Reflect for Index<T> {
    fn set(&mut self, _resource: usize, key: &str, object: Option<&Value>) {
        let (namespace, name) = key.split_once('/').unwrap_or(("", key));
        match object {
            Some(object) => {
                let value = Arc::new((self.read)(object));
                self.namespaces.entry(namespace.into()).or_default().insert(name.into(), value);
            }
            None => {
                let Some(found) = self.namespaces.get_mut(namespace) else { return };
                found.remove(name);
                if found.is_empty() {
                    self.namespaces.remove(namespace);
                }
            }
        }
    }

    fn clear(&mut self, _resource: usize) {
        self.namespaces.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn namespaces_without_objects_are_forgotten() {
        let mut index = Index { read: |object| object.name().to_owned(), namespaces: HashMap::new() };
        let object =
            |name: &str| pintle_registry::testing::object(&format!(r#"{{"metadata":{{"name":"{name}"}}}}"#));
        index.set(0, "n/b", Some(&object("b")));
        index.set(0, "n/a", Some(&object("a")));
        index.set(0, "m/c", Some(&object("c")));
        let names: Vec<&str> = index.namespaces["n"].values().map(|name| name.as_str()).collect();
        assert_eq!(names, ["a", "b"]);
        index.set(0, "m/c", None);
        index.set(0, "m/c", None);
        assert_eq!(index.namespaces.keys().collect::<Vec<_>>(), ["n"]);
        index.clear(0);
        assert!(index.namespaces.is_empty());
    }
}
