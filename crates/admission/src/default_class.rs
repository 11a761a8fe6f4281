//! The default class of a resource, such as StorageClass: the newest of those whose annotation says so.

use std::collections::BTreeMap;
use std::sync::Arc;

use pintle_meta::Value;
use pintle_registry::{Mirror, Reflect, Store};

use crate::Result;

/// A mirror of the classes that are marked as default, so that a creation reads neither the store nor all classes.
pub(crate) struct DefaultClass {
    mirror: Mirror<Defaults>,
}

impl DefaultClass {
    /// A class is a default if one of these annotations of it is `true`. Without a store there is none.
    pub(crate) fn new(store: Option<&Arc<Store>>, annotations: &'static [&'static str]) -> DefaultClass {
        let defaults = Defaults { annotations, created: BTreeMap::new() };
        DefaultClass { mirror: Mirror::new(store.into_iter().cloned().collect(), defaults) }
    }

    /// Returns the name of the default class. Waits until the classes are loaded, which only the first call does.
    pub(crate) async fn name(&self) -> Result<Option<String>> {
        self.mirror.ready().await?;
        let (name, number) =
            self.mirror.read(|defaults| (defaults.newest().map(str::to_owned), defaults.created.len()));
        if number > 1 {
            tracing::debug!(number, class = name.as_deref(), "several default classes, the newest is used");
        }
        Ok(name)
    }
}

struct Defaults {
    annotations: &'static [&'static str],
    /// The classes that are marked as default, and their creation timestamps, which sort as text.
    created: BTreeMap<String, String>,
}

impl Defaults {
    /// Returns the newest class; of several that are equally old, the first by name.
    fn newest(&self) -> Option<&str> {
        let newest = self.created.iter().reduce(|best, other| if other.1 > best.1 { other } else { best });
        newest.map(|(name, _)| name.as_str())
    }
}

impl Reflect for Defaults {
    fn set(&mut self, _resource: usize, name: &str, class: Option<&Value>) {
        let is_marked =
            |class: &&Value| self.annotations.iter().any(|key| class.annotation(key) == Some("true"));
        match class.filter(is_marked) {
            Some(class) => {
                let created = class.text_at(&["metadata", "creationTimestamp"]);
                self.created.insert(name.to_owned(), created.to_owned());
            }
            None => drop(self.created.remove(name)),
        }
    }

    fn clear(&mut self, _resource: usize) {
        self.created.clear();
    }
}

#[cfg(test)]
mod tests {
    use pintle_registry::testing::object;

    use super::*;
    use crate::objects::Resource;
    use crate::testing::TestCluster;

    #[test]
    fn the_newest_default_counts_as_long_as_it_is_one() {
        let mut classes = Defaults { annotations: &["new", "old"], created: BTreeMap::new() };
        let mut newest_with = |name: &str, day: u32, annotations: &str| {
            let created = format!(r#""creationTimestamp":"2024-01-{day:02}T00:00:00Z""#);
            let class = object(&format!(r#"{{"metadata":{{{created},"annotations":{annotations}}}}}"#));
            classes.set(0, name, Some(&class));
            classes.newest().map(str::to_owned)
        };
        assert_eq!(newest_with("plain", 30, "{}"), None);
        assert_eq!(newest_with("other", 30, r#"{"new":"True","newer":"true"}"#), None);
        assert_eq!(newest_with("b", 2, r#"{"new":"true"}"#).as_deref(), Some("b"));
        assert_eq!(newest_with("a", 1, r#"{"new":"true"}"#).as_deref(), Some("b"));
        assert_eq!(newest_with("d", 10, r#"{"new":"false","old":"true"}"#).as_deref(), Some("d"));
        assert_eq!(newest_with("c", 10, r#"{"new":"true"}"#).as_deref(), Some("c"), "the first of two");
        assert_eq!(newest_with("e", 10, r#"{"new":"true"}"#).as_deref(), Some("c"));
        assert_eq!(newest_with("c", 10, "{}").as_deref(), Some("d"), "it is no default any more");
        classes.set(0, "d", None);
        assert_eq!(classes.newest(), Some("e"));
        classes.clear(0);
        assert_eq!(classes.newest(), None);
    }

    #[tokio::test]
    async fn the_default_is_as_new_as_the_cache() {
        let cluster = TestCluster::new().await;
        let default = DefaultClass::new(cluster.cluster.stores.get(Resource::IngressClass), &["default"]);
        assert_eq!(default.name().await.unwrap(), None);
        let class = r#"{"metadata":{"name":"a","annotations":{"default":"true"}}}"#;
        cluster.put(Resource::IngressClass, class).await;
        cluster.cluster.objects.list(Resource::IngressClass, "").await.unwrap();
        assert_eq!(default.name().await.unwrap().as_deref(), Some("a"));
        assert_eq!(DefaultClass::new(None, &["default"]).name().await.unwrap(), None, "it is not served");
    }
}
