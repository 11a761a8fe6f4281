//! Which services a change of a service, pod or slice concerns.

use pintle_cache::{Change, Entry};
use pintle_meta::Value;

use super::endpoints::is_ready;
use super::packing::{MANAGED_BY, MANAGER, SERVICE_NAME};
use super::{FOREIGN_DELAY, Inner, selector};
use crate::runtime::{Key, Seen, WorkQueue};

impl Inner {
    pub(super) fn see_services(&self, seen: &Seen<'_>, queue: &WorkQueue<Key>) {
        match seen {
            Seen::All(all) => {
                self.selectors().clear();
                let gone = self.selecting.all().into_iter().filter(|key| all.objects.get(key).is_none());
                for key in gone {
                    self.selecting.remove(&key);
                    queue.add(key);
                }
                all.objects.iter().for_each(|entry| self.see_service(entry, queue));
            }
            Seen::Change(change) if change.deleted => {
                self.selectors().remove(change.entry.key());
                if self.selecting.contains(change.entry.key()) {
                    self.selecting.remove(change.entry.key());
                    queue.add(change.entry.key().into());
                }
            }
            Seen::Change(change) => self.see_service(&change.entry, queue),
        }
    }

    fn see_service(&self, entry: &Entry, queue: &WorkQueue<Key>) {
        let Ok(service) = self.stores.services.object(entry) else { return };
        let selector = selector(&service);
        self.selectors().set(entry.key(), selector.iter().copied());
        match selector.is_empty() {
            true => self.selecting.remove(entry.key()),
            false => {
                self.selecting.add(entry.key());
                queue.add(entry.key().into());
            }
        }
    }

    /// Queues the services that a change of a pod concerns.
    pub(super) fn see_pod(&self, change: &Change, queue: &WorkQueue<Key>) {
        let Some((namespace, _)) = change.entry.key().split_once('/') else { return };
        let selecting = |entry: &Entry| match entry.read() {
            Ok(facts) => self.selectors().selecting(namespace, facts.labels()),
            Err(_) => Vec::new(),
        };
        let add_all = |keys: Vec<Key>| keys.into_iter().for_each(|key| queue.add(key));
        let new = selecting(&change.entry);
        let (Some(previous), false) = (&change.previous, change.deleted) else { return add_all(new) };
        let old = selecting(previous);
        if new.is_empty() && old.is_empty() {
            return;
        }
        let object = |entry: &Entry| self.stores.pods.object(entry);
        let (Ok(before), Ok(after)) = (object(previous), object(&change.entry)) else { return add_all(new) };
        match (endpoint_differs(&before, &after), is_named_otherwise(&before, &after)) {
            (false, false) => {}
            (true, false) => add_all(new),
            (true, true) => {
                add_all(old);
                add_all(new);
            }
            (false, true) => {
                let only = |one: &[Key], other: &[Key]| -> Vec<Key> {
                    one.iter().filter(|key| !other.contains(key)).cloned().collect()
                };
                add_all(only(&new, &old));
                add_all(only(&old, &new));
            }
        }
    }

    /// Queues the service of a slice that another writer has changed.
    pub(super) fn see_slice(&self, change: &Change, queue: &WorkQueue<Key>) {
        let Some((namespace, _)) = change.entry.key().split_once('/') else { return };
        let of = |entry: &Entry| {
            let facts = entry.read().ok()?;
            let service = facts.label(SERVICE_NAME).filter(|name| !name.is_empty())?;
            Some((Key::from(format!("{namespace}/{service}")), facts.label(MANAGED_BY) == Some(MANAGER)))
        };
        let (new, old) = (of(&change.entry), change.previous.as_ref().and_then(|entry| of(entry)));
        let look_at = |service: &Key| queue.add_after(service.clone(), FOREIGN_DELAY);
        let is_managed = |known: &Option<(Key, bool)>| known.as_ref().is_some_and(|(_, managed)| *managed);
        if !change.deleted && change.previous.is_some() {
            let service = |known: &Option<(Key, bool)>| known.as_ref().map(|(service, _)| service.clone());
            if service(&new) != service(&old) || is_managed(&new) != is_managed(&old) {
                return new.iter().chain(&old).for_each(|(service, _)| look_at(service));
            }
        }
        let Some((service, true)) = new else { return };
        let Ok(slice) = self.stores.slices.object(&change.entry) else { return };
        let is_foreign = match change.deleted {
            true => self.written().deleted(&service, &slice),
            false => self.written().is_foreign(&service, &slice),
        };
        if is_foreign {
            look_at(&service);
        }
    }
}

/// Returns whether a change of a pod may change its endpoints.
fn endpoint_differs(old: &Value, new: &Value) -> bool {
    let ips = |pod: &Value| -> Vec<String> {
        pod.items_at(&["status", "podIPs"]).iter().map(|ip| ip.text_at(&["ip"]).to_owned()).collect()
    };
    old.deletion_timestamp() != new.deletion_timestamp()
        || is_ready(old) != is_ready(new)
        || ips(old) != ips(new)
}

/// Returns whether a change of a pod may change the services that select it, or its hostname.
fn is_named_otherwise(old: &Value, new: &Value) -> bool {
    let labels = |pod: &Value| pod.at(&["metadata", "labels"]).cloned();
    let text = |pod: &Value, field| pod.text_at(&["spec", field]).to_owned();
    labels(old) != labels(new)
        || ["hostname", "subdomain"].iter().any(|field| text(old, field) != text(new, field))
}
