//! Priority classes by name: every new pod needs one, so they are indexed.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use pintle_meta::Value;
use pintle_registry::{Mirror, Reflect, Store};

use crate::Result;

/// The longest wait for writes that have ended before a pod is rejected.
const WAIT: Duration = Duration::from_secs(3);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PriorityClass {
    pub name: String,
    pub value: i64,
    pub preemption_policy: Option<String>,
}

#[async_trait]
pub trait PriorityClassLister: Send + Sync + 'static {
    /// Waits until the classes are loaded; only the first call does.
    async fn ready(&self) -> Result<()>;

    /// Waits until the cache has every write that has ended. Called before a pod is rejected.
    async fn catch_up(&self);

    /// Returns a class by its name.
    fn class(&self, name: &str) -> Option<Arc<PriorityClass>>;

    /// Returns the class of pods that name none. Concurrent writers may have made several defaults: then it is the lowest.
    fn default_class(&self) -> Option<Arc<PriorityClass>>;
}

/// The priority classes of a store.
pub struct StoredPriorityClasses {
    store: Option<Arc<Store>>,
    mirror: Mirror<Classes>,
}

impl StoredPriorityClasses {
    /// Without a store there are no classes.
    pub fn new(store: Option<Arc<Store>>) -> StoredPriorityClasses {
        let mirror = Mirror::new(store.iter().cloned().collect(), Classes::default());
        StoredPriorityClasses { store, mirror }
    }
}

#[async_trait]
impl PriorityClassLister for StoredPriorityClasses {
    async fn ready(&self) -> Result<()> {
        self.mirror.ready().await
    }

    async fn catch_up(&self) {
        let Some(store) = &self.store else { return };
        // Without the wait, the classes at hand decide.
        if let Err(error) = store.cache().wait_for_current(WAIT).await {
            tracing::debug!(%error, "priority classes may be old");
        }
    }

    fn class(&self, name: &str) -> Option<Arc<PriorityClass>> {
        self.mirror.read(|classes| classes.by_name.get(name).cloned())
    }

    fn default_class(&self) -> Option<Arc<PriorityClass>> {
        self.mirror.read(|classes| {
            let (_, name) = classes.defaults.first()?;
            classes.by_name.get(name).cloned()
        })
    }
}

#[derive(Default)]
struct Classes {
    by_name: HashMap<String, Arc<PriorityClass>>,
    /// Values and names of the global defaults, the lowest first.
    defaults: BTreeSet<(i64, String)>,
}

impl Reflect for Classes {
    fn set(&mut self, _resource: usize, name: &str, object: Option<&Value>) {
        if let Some(old) = self.by_name.remove(name) {
            self.defaults.remove(&(old.value, name.to_owned()));
        }
        let Some(object) = object else { return };
        let value = object.at(&["value"]).and_then(Value::as_i64).unwrap_or(0);
        if is_default(object) {
            self.defaults.insert((value, name.to_owned()));
        }
        let preemption_policy = object.at(&["preemptionPolicy"]).and_then(Value::as_str).map(str::to_owned);
        let class = PriorityClass { name: name.to_owned(), value, preemption_policy };
        self.by_name.insert(name.to_owned(), Arc::new(class));
    }

    fn clear(&mut self, _resource: usize) {
        *self = Classes::default();
    }
}

/// Returns whether a class is the global default.
pub(crate) fn is_default(class: &Value) -> bool {
    class.at(&["globalDefault"]).and_then(Value::as_bool).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use pintle_schema::find;

    use super::*;

    fn set(classes: &mut Classes, name: &str, rest: &str) {
        let of = find("scheduling/v1.PriorityClass").expect("the type");
        let text = format!(r#"{{"metadata":{{"name":"{name}"}}{rest}}}"#);
        let object = pintle_codec::json::decode(of, text.as_bytes()).expect("a class").value;
        classes.set(0, name, Some(&object));
    }

    fn default_of(classes: &Classes) -> Option<&str> {
        classes.defaults.first().map(|(_, name)| name.as_str())
    }

    #[test]
    fn the_lowest_of_several_defaults_counts_as_long_as_it_is_one() {
        let mut classes = Classes::default();
        set(&mut classes, "plain", r#","value":-7"#);
        assert_eq!(default_of(&classes), None);
        set(&mut classes, "high", r#","value":9,"globalDefault":true"#);
        set(&mut classes, "low", r#","value":-3,"globalDefault":true,"preemptionPolicy":"Never""#);
        assert_eq!(default_of(&classes), Some("low"));
        let low = PriorityClass { name: "low".into(), value: -3, preemption_policy: Some("Never".into()) };
        assert_eq!(classes.by_name["low"].as_ref(), &low);
        set(&mut classes, "low", r#","value":-3"#);
        assert_eq!(default_of(&classes), Some("high"));
        classes.set(0, "high", None);
        assert_eq!((default_of(&classes), classes.by_name.len()), (None, 2));
        classes.clear(0);
        assert!(classes.by_name.is_empty());
    }
}
