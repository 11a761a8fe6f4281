//! The last writes and observations of the controller, per service: generations of slices, to tell its own changes from those of others, and
//! times of pods, to say in slices since when a change waited.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use pintle_meta::Value;
use pintle_meta::time::Time;

use super::endpoints::ready_condition;
use crate::runtime::Key;

/// The memory of the controller: a few numbers for each slice and pod of a service.
#[derive(Debug, Default)]
pub(super) struct Written {
    services: HashMap<Key, Service>,
}

#[derive(Debug, Default)]
struct Service {
    /// By UID of the slice; none for one that was deleted.
    generations: HashMap<String, Option<i64>>,
    times: Option<Times>,
}

#[derive(Debug)]
struct Times {
    service: i64,
    /// When the readiness of each pod changed last, by a digest of its name.
    pods: HashMap<u64, i64>,
}

impl Written {
    pub(super) fn forget(&mut self, service: &str) {
        self.services.remove(service);
    }

    pub(super) fn clear(&mut self) {
        self.services.clear();
    }

    fn of(&mut self, service: &str) -> &mut Service {
        self.services.entry(service.into()).or_default()
    }

    /// Records a slice as it was written.
    pub(super) fn wrote(&mut self, service: &str, slice: &Value) {
        self.of(service).generations.insert(slice.uid().to_owned(), Some(slice.generation()));
    }

    pub(super) fn deletes(&mut self, service: &str, slice: &Value) {
        self.of(service).generations.insert(slice.uid().to_owned(), None);
    }

    /// Returns whether a slice that has changed was changed by another writer.
    pub(super) fn is_foreign(&self, service: &str, slice: &Value) -> bool {
        let known = self.services.get(service).and_then(|service| service.generations.get(slice.uid()));
        known.is_none_or(|known| known.is_some_and(|known| slice.generation() > known))
    }

    /// Forgets a slice that was deleted. Returns whether another writer deleted it.
    pub(super) fn deleted(&mut self, service: &str, slice: &Value) -> bool {
        let Some(service) = self.services.get_mut(service) else { return false };
        matches!(service.generations.remove(slice.uid()), Some(Some(_)))
    }

    /// Returns the time of the change that makes a service's slices change now: the earliest one that was not seen before. `None` if
    /// it is not known, as for labels.
    pub(super) fn trigger_time(&mut self, key: &str, service: &Value, pods: &[Value]) -> Option<Time> {
        let created = seconds(service.text_at(&["metadata", "creationTimestamp"])).unwrap_or_default();
        let times = pods.iter().filter_map(|pod| {
            Some((digest(pod.name()), seconds(ready_condition(pod)?.text_at(&["lastTransitionTime"]))?))
        });
        let times = Times { service: created, pods: times.collect() };
        let Some(seen) = self.of(key).times.replace(times) else { return Some(Time::from_unix(created, 0)) };
        let now = self.services.get(key)?.times.as_ref()?;
        let is_new = |(pod, time): &(&u64, &i64)| seen.pods.get(*pod).is_none_or(|seen| *time > seen);
        let of_pods = now.pods.iter().filter(is_new).map(|(_, time)| *time);
        let of_service = (created > seen.service).then_some(created);
        of_pods.chain(of_service).min().map(|seconds| Time::from_unix(seconds, 0))
    }
}

fn seconds(time: &str) -> Option<i64> {
    Time::parse(time).ok().map(|time| time.unix_seconds())
}

fn digest(name: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(json: &str) -> Value {
        pintle_codec::json::decode_untyped(json.as_bytes()).expect("JSON").value
    }

    fn pod(name: &str, second: u8) -> Value {
        let time = format!("2026-01-01T00:00:0{second}Z");
        object(&format!(
            r#"{{"metadata":{{"name":"{name}"}},
                "status":{{"conditions":[{{"type":"Ready","lastTransitionTime":"{time}"}}]}}}}"#
        ))
    }

    #[test]
    fn the_trigger_is_the_earliest_change_that_is_new() {
        let mut written = Written::default();
        let service = object(r#"{"metadata":{"creationTimestamp":"2026-01-01T00:00:00Z"}}"#);
        let mut trigger = |pods: &[Value]| {
            let time = written.trigger_time("n/s", &service, pods);
            time.map(|time| time.to_string()[17..19].to_owned())
        };
        assert_eq!(trigger(&[pod("a", 5)]).as_deref(), Some("00"), "the service is new");
        assert_eq!(trigger(&[pod("a", 5)]), None);
        assert_eq!(trigger(&[pod("a", 8), pod("b", 7)]).as_deref(), Some("07"));
        assert_eq!(trigger(&[pod("b", 7)]), None);
        assert_eq!(trigger(&[pod("a", 8), pod("b", 7)]).as_deref(), Some("08"), "a pod that was away is new");
    }

    #[test]
    fn changes_of_others_are_told_from_own_ones() {
        let mut written = Written::default();
        let slice =
            |generation: u8| object(&format!(r#"{{"metadata":{{"uid":"u","generation":{generation}}}}}"#));
        assert!(written.is_foreign("n/s", &slice(1)), "it was never seen");
        written.wrote("n/s", &slice(2));
        assert!(!written.is_foreign("n/s", &slice(1)) && !written.is_foreign("n/s", &slice(2)));
        assert!(written.is_foreign("n/s", &slice(3)));
        assert!(written.deleted("n/s", &slice(3)), "by another writer");
        assert!(!written.deleted("n/s", &slice(3)), "it is not known any more");
        written.deletes("n/s", &slice(4));
        assert!(!written.is_foreign("n/s", &slice(5)));
        assert!(!written.deleted("n/s", &slice(5)));
    }
}
