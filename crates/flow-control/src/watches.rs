//! The watches of this server, counted by what they watch: a write costs what its watchers cost.
//!
//! Watches of pods that select one node are left out, since a write wakes at most one of them.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, PoisonError};

use crate::Digest;

/// Number of watches by the hash of group, resource, namespace and name. A collision would make an estimate too high.
pub(crate) struct WatchTracker {
    counts: Mutex<HashMap<u64, usize>>,
    hasher: RandomState,
}

/// A counted watch. Dropping it forgets the watch.
pub struct WatchRegistration {
    tracker: Arc<WatchTracker>,
    /// The counted key, if the watch is counted at all.
    key: Option<u64>,
}

impl WatchTracker {
    pub(crate) fn new() -> Arc<WatchTracker> {
        Arc::new(WatchTracker { counts: Mutex::default(), hasher: RandomState::new() })
    }

    fn key(&self, digest: &Digest<'_>, namespace: &str, name: &str) -> u64 {
        self.hasher.hash_one((digest.group, digest.resource, namespace, name))
    }

    /// Counts a watch. `node`: the node whose pods a watch of pods selects.
    pub(crate) fn register(
        self: &Arc<WatchTracker>,
        digest: &Digest<'_>,
        node: Option<&str>,
    ) -> WatchRegistration {
        let is_counted = digest.resource != "pods" || node.is_none_or(str::is_empty);
        let key = is_counted.then(|| self.key(digest, digest.namespace, digest.name));
        if let Some(key) = key {
            *self.counts.lock().unwrap_or_else(PoisonError::into_inner).entry(key).or_default() += 1;
        }
        WatchRegistration { tracker: self.clone(), key }
    }

    /// Returns the number of watches that a write may wake: those of the resource, of its namespace, and of its object.
    pub(crate) fn interested(&self, digest: &Digest<'_>) -> usize {
        let Digest { namespace, name, .. } = *digest;
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        if counts.is_empty() {
            return 0;
        }
        let of =
            |namespace, name| counts.get(&self.key(digest, namespace, name)).copied().unwrap_or_default();
        let mut interested = of("", "");
        if !namespace.is_empty() {
            interested += of(namespace, "");
        }
        if !name.is_empty() {
            interested += of(namespace, name);
        }
        interested
    }
}

impl Drop for WatchRegistration {
    fn drop(&mut self) {
        let Some(key) = self.key else { return };
        let mut counts = self.tracker.counts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = counts.get_mut(&key) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use pintle_auth::User;

    use super::*;

    #[test]
    fn writes_count_the_watches_of_resource_namespace_and_object() {
        let (user, tracker) = (User::default(), WatchTracker::new());
        let digest = |resource, namespace, name| Digest {
            user: &user,
            verb: "update",
            is_resource: true,
            group: "",
            resource,
            subresource: "",
            namespace,
            name,
            path: "",
        };
        let kept: Vec<WatchRegistration> = [("", ""), ("a", ""), ("a", "x"), ("b", ""), ("a", "x")]
            .iter()
            .map(|(namespace, name)| tracker.register(&digest("configmaps", namespace, name), None))
            .collect();
        let interested = |namespace, name| tracker.interested(&digest("configmaps", namespace, name));
        assert_eq!(interested("a", "x"), 4);
        assert_eq!(interested("a", ""), 2, "a create, whose name is not known yet");
        assert_eq!(interested("b", "x"), 2);
        let node = tracker.register(&digest("pods", "", ""), Some("node-1"));
        let all = tracker.register(&digest("pods", "", ""), None);
        assert_eq!(tracker.interested(&digest("pods", "a", "x")), 1);
        drop((kept, node, all));
        assert_eq!(interested("a", "x"), 0);
        assert!(tracker.counts.lock().unwrap().is_empty(), "no watch leaves a trace");
    }
}
