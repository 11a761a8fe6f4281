//! Which quotas name which resources, and when each quota was last changed.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::{Duration, Instant};

use pintle_meta::Value;
use pintle_quota::Evaluators;

use crate::runtime::Key;

/// Group and plural name of a resource.
pub(super) type GroupResource = (String, String);

/// The resources with usage beyond their number, of group and plural name.
pub(super) const EVALUATED: [(&str, &str); 4] =
    [("", "pods"), ("", "services"), ("", "persistentvolumeclaims"), RESOURCE_CLAIMS];

pub(super) const RESOURCE_CLAIMS: (&str, &str) = ("resource.k8s.io", "resourceclaims");

/// Resources that are counted under their plural name too.
const COUNTED_BY_NAME: [&str; 4] = ["configmaps", "replicationcontrollers", "resourcequotas", "secrets"];

/// Returns the resources whose objects may count for names in a quota.
pub(super) fn resources_of<'n>(
    evaluators: &Evaluators,
    names: impl IntoIterator<Item = &'n str>,
) -> BTreeSet<GroupResource> {
    let mut resources = BTreeSet::new();
    let mut add = |group: &str, resource: &str| resources.insert((group.to_owned(), resource.to_owned()));
    for name in names {
        if let Some(counted) = name.strip_prefix("count/") {
            let (resource, group) = counted.split_once('.').unwrap_or((counted, ""));
            add(group, resource);
        }
        if COUNTED_BY_NAME.contains(&name) {
            add("", name);
        }
        for (group, resource) in EVALUATED {
            if evaluators.of(group, resource).tracks(name) {
                add(group, resource);
            }
        }
        // Whether claims count for an extended resource depends on device classes, which may change.
        if name.starts_with("requests.") && name.contains('/') {
            add(RESOURCE_CLAIMS.0, RESOURCE_CLAIMS.1);
        }
    }
    resources
}

/// The facts about a quota.
#[derive(Debug)]
struct Known {
    resources: BTreeSet<GroupResource>,
    revision: u64,
    /// When a request was last charged to the quota, at the latest.
    changed: Instant,
    /// No recount before: see [`Index::counted`].
    not_before: Instant,
}

/// The quotas by namespace and name.
#[derive(Debug, Default)]
pub(super) struct Index {
    namespaces: HashMap<String, BTreeMap<String, Known>>,
}

impl Index {
    pub(super) fn clear(&mut self) {
        self.namespaces.clear();
    }

    /// Takes in a quota as it is at a revision.
    pub(super) fn set(&mut self, evaluators: &Evaluators, quota: &Value, revision: u64, now: Instant) {
        let hard = |part| quota.at(&[part, "hard"]).and_then(Value::as_object);
        let names = ["spec", "status"].into_iter().filter_map(hard).flat_map(|hard| hard.keys());
        let resources = resources_of(evaluators, names);
        let quotas = self.namespaces.entry(quota.namespace().to_owned()).or_default();
        match quotas.get_mut(quota.name()) {
            Some(known) => {
                if revision > known.revision {
                    (known.revision, known.changed) = (revision, now);
                }
                known.resources = resources;
            }
            None => {
                let known = Known { resources, revision, changed: now, not_before: now };
                quotas.insert(quota.name().to_owned(), known);
            }
        }
    }

    pub(super) fn remove(&mut self, key: &str) {
        let Some((namespace, name)) = key.split_once('/') else { return };
        if let Some(quotas) = self.namespaces.get_mut(namespace) {
            quotas.remove(name);
            if quotas.is_empty() {
                self.namespaces.remove(namespace);
            }
        }
    }

    fn known(&mut self, key: &str) -> Option<&mut Known> {
        let (namespace, name) = key.split_once('/')?;
        self.namespaces.get_mut(namespace)?.get_mut(name)
    }

    /// Returns how long a recount has to wait: until requests that were charged to this version of the quota are stored or have
    /// failed, and until it is its turn.
    pub(super) fn wait(&mut self, key: &str, revision: u64, settle: Duration, now: Instant) -> Duration {
        let Some(known) = self.known(key) else { return settle };
        if known.revision < revision {
            (known.revision, known.changed) = (revision, now);
        }
        known.not_before.max(known.changed + settle).saturating_duration_since(now)
    }

    /// Records that a quota was counted, which took a while: the next time it is left alone for ten times as long.
    pub(super) fn counted(&mut self, key: &str, took: Duration, now: Instant) {
        if let Some(known) = self.known(key) {
            known.not_before = now + took.saturating_mul(10);
        }
    }

    /// Records a version of a quota that this controller wrote: no request was charged by it.
    pub(super) fn wrote(&mut self, key: &str, revision: u64) {
        if let Some(known) = self.known(key) {
            known.revision = known.revision.max(revision);
        }
    }

    /// Returns whether a quota of a namespace names a resource.
    pub(super) fn concerns(&self, namespace: &str, resource: &GroupResource) -> bool {
        let quotas = self.namespaces.get(namespace);
        quotas.is_some_and(|quotas| quotas.values().any(|known| known.resources.contains(resource)))
    }

    /// Returns the keys of the quotas of a namespace that name a resource.
    pub(super) fn naming(&self, namespace: &str, resource: &GroupResource) -> Vec<Key> {
        let quotas = self.namespaces.get(namespace).into_iter().flatten();
        let naming = quotas.filter(|(_, known)| known.resources.contains(resource));
        naming.map(|(name, _)| Key::from(format!("{namespace}/{name}"))).collect()
    }

    /// Returns the keys of all quotas that name a resource.
    pub(super) fn all_naming(&self, resource: &GroupResource) -> Vec<Key> {
        self.namespaces.keys().flat_map(|namespace| self.naming(namespace, resource)).collect()
    }

    /// Returns every resource that a quota names.
    pub(super) fn resources(&self) -> BTreeSet<GroupResource> {
        let known = self.namespaces.values().flat_map(BTreeMap::values);
        known.flat_map(|known| known.resources.iter().cloned()).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use pintle_features::Features;
    use pintle_quota::NoSurroundings;

    use super::*;

    fn evaluators() -> Evaluators {
        Evaluators::new(Features::default(), Arc::new(NoSurroundings))
    }

    fn quota(name: &str, hard: &[&str]) -> Value {
        let hard = hard.iter().map(|name| format!(r#""{name}":"1""#)).collect::<Vec<_>>().join(",");
        let json =
            format!(r#"{{"metadata":{{"namespace":"n","name":"{name}"}},"spec":{{"hard":{{{hard}}}}}}}"#);
        pintle_codec::json::decode_untyped(json.as_bytes()).unwrap().value
    }

    #[test]
    fn names_lead_to_resources() {
        for (name, expected) in [
            ("cpu", vec![("", "pods")]),
            ("limits.memory", vec![("", "pods")]),
            ("services.nodeports", vec![("", "services")]),
            ("gold.storageclass.storage.k8s.io/requests.storage", vec![("", "persistentvolumeclaims")]),
            ("secrets", vec![("", "secrets")]),
            ("count/pods", vec![("", "pods")]),
            ("count/widgets.example.com", vec![("example.com", "widgets")]),
            ("requests.example.com/gpu", vec![("", "pods"), RESOURCE_CLAIMS]),
            ("unknown", vec![]),
        ] {
            let found = resources_of(&evaluators(), [name]);
            let found: Vec<_> = found.iter().map(|(group, name)| (group.as_str(), name.as_str())).collect();
            assert_eq!(found, expected, "{name}");
        }
    }

    #[test]
    fn a_recount_waits_until_charges_are_stored() {
        let (mut index, start) = (Index::default(), Instant::now());
        let settle = Duration::from_millis(100);
        let after = |millis| start + Duration::from_millis(millis);
        index.set(&evaluators(), &quota("q", &["pods"]), 5, start);
        assert_eq!(index.wait("n/q", 5, settle, start), settle);
        assert_eq!(index.wait("n/q", 5, settle, after(70)), Duration::from_millis(30));
        assert_eq!(index.wait("n/q", 5, settle, after(100)), Duration::ZERO);
        assert_eq!(index.wait("n/q", 6, settle, after(150)), settle, "it was charged since");
        index.wrote("n/q", 7);
        assert_eq!(index.wait("n/q", 7, settle, after(250)), Duration::ZERO, "by the controller itself");
        index.counted("n/q", Duration::from_millis(20), after(300));
        assert_eq!(index.wait("n/q", 7, settle, after(300)), Duration::from_millis(200), "it costs much");
    }

    #[test]
    fn quotas_are_found_by_the_resources_that_they_name() {
        let (mut index, now) = (Index::default(), Instant::now());
        index.set(&evaluators(), &quota("one", &["pods", "count/widgets.example.com"]), 1, now);
        index.set(&evaluators(), &quota("two", &["cpu"]), 2, now);
        let resource = |group: &str, name: &str| (group.to_owned(), name.to_owned());
        let pods = resource("", "pods");
        assert_eq!(index.naming("n", &pods), ["n/one".into(), "n/two".into()]);
        assert!(index.concerns("n", &pods) && !index.concerns("m", &pods));
        assert_eq!(index.all_naming(&resource("example.com", "widgets")), ["n/one".into()]);
        index.set(&evaluators(), &quota("one", &["secrets"]), 3, now);
        index.remove("n/two");
        assert_eq!(index.resources(), [resource("", "secrets")].into());
        index.remove("n/one");
        assert!(index.namespaces.is_empty());
    }
}
