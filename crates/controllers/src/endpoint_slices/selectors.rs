//! The services that select a pod, without a look at those that do not.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::runtime::Key;

/// A label that a selector requires.
type Pair = (Box<str>, Box<str>);

/// Services with a selector by namespace. Each is filed under one label of its selector, the one that the fewest others are filed
/// under; a pod finds it by its own labels.
#[derive(Debug, Default)]
pub(super) struct Selectors {
    namespaces: HashMap<Box<str>, Namespace>,
}

#[derive(Debug, Default)]
struct Namespace {
    by_pair: HashMap<Pair, Vec<Selected>>,
    /// Where each service is filed.
    places: BTreeMap<Key, Pair>,
}

#[derive(Debug)]
struct Selected {
    service: Key,
    selector: Arc<[Pair]>,
}

impl Selectors {
    /// Files a service under its selector; one without a selector is forgotten.
    pub(super) fn set<'s>(&mut self, key: &str, selector: impl IntoIterator<Item = (&'s str, &'s str)>) {
        self.remove(key);
        let Some((namespace, _)) = key.split_once('/') else { return };
        let selector: Arc<[Pair]> =
            selector.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        let of_namespace = self.namespaces.entry(namespace.into()).or_default();
        let used = |pair: &&Pair| of_namespace.by_pair.get(*pair).map_or(0, Vec::len);
        if let Some(pair) = selector.iter().min_by_key(used).cloned() {
            let service = Key::from(key);
            of_namespace.places.insert(service.clone(), pair.clone());
            of_namespace.by_pair.entry(pair).or_default().push(Selected { service, selector });
        } else if of_namespace.places.is_empty() {
            self.namespaces.remove(namespace);
        }
    }

    pub(super) fn remove(&mut self, key: &str) {
        let Some((namespace, _)) = key.split_once('/') else { return };
        let Some(of_namespace) = self.namespaces.get_mut(namespace) else { return };
        let Some(pair) = of_namespace.places.remove(key) else { return };
        if let Some(selected) = of_namespace.by_pair.get_mut(&pair) {
            selected.retain(|known| &*known.service != key);
            if selected.is_empty() {
                of_namespace.by_pair.remove(&pair);
            }
        }
        if of_namespace.places.is_empty() {
            self.namespaces.remove(namespace);
        }
    }

    pub(super) fn clear(&mut self) {
        self.namespaces.clear();
    }

    /// Returns the services that select a pod with these labels.
    pub(super) fn selecting<'l>(
        &self,
        namespace: &str,
        labels: impl Iterator<Item = (&'l str, &'l str)> + Clone,
    ) -> Vec<Key> {
        let Some(of_namespace) = self.namespaces.get(namespace) else { return Vec::new() };
        let has = |(name, value): &Pair| labels.clone().any(|label| label == (&**name, &**value));
        let mut found = Vec::new();
        for (name, value) in labels.clone() {
            let filed = of_namespace.by_pair.get(&(name.into(), value.into())).into_iter().flatten();
            let selecting = filed.filter(|known| known.selector.iter().all(has));
            found.extend(selecting.map(|known| known.service.clone()));
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selecting(selectors: &Selectors, labels: &[(&str, &str)]) -> Vec<String> {
        let mut found: Vec<_> =
            selectors.selecting("n", labels.iter().copied()).iter().map(ToString::to_string).collect();
        found.sort();
        found
    }

    #[test]
    fn pods_are_selected_by_all_labels_of_a_selector() {
        let mut selectors = Selectors::default();
        selectors.set("n/a", [("app", "a")]);
        selectors.set("n/ab", [("app", "a"), ("tier", "b")]);
        selectors.set("n/b", [("tier", "b")]);
        selectors.set("m/a", [("app", "a")]);
        assert_eq!(selecting(&selectors, &[("app", "a")]), ["n/a"]);
        assert_eq!(selecting(&selectors, &[("app", "a"), ("tier", "b"), ("x", "y")]), ["n/a", "n/ab", "n/b"]);
        assert!(selecting(&selectors, &[]).is_empty());
        selectors.set("n/a", [("app", "other")]);
        selectors.remove("n/b");
        assert_eq!(selecting(&selectors, &[("app", "a"), ("tier", "b")]), ["n/ab"]);
        selectors.set("n/ab", []);
        selectors.remove("n/a");
        selectors.remove("m/a");
        assert!(selectors.namespaces.is_empty());
    }

    #[test]
    fn a_label_that_all_share_does_not_lead_to_all() {
        let mut selectors = Selectors::default();
        for number in 0..100 {
            let (key, own) = (format!("n/s{number}"), number.to_string());
            selectors.set(&key, [("part-of", "all"), ("app", own.as_str())]);
        }
        let shared = (Box::from("part-of"), Box::from("all"));
        assert_eq!(selectors.namespaces["n"].by_pair.get(&shared).map_or(0, Vec::len), 1);
    }
}
