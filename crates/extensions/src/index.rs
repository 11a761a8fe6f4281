//! The index of definitions by name, as current as their cache: every read takes in the changes first.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use pintle_controllers::{CatalogResource, CatalogVerbs, ObjectKeys};
use pintle_definitions::definition::structural_errors;
use pintle_discovery::{Contribution, Custom, CustomVersion, Publisher, Schemas, version_order};
use pintle_meta::Value;
use pintle_meta::gvk::{GroupVersion, GroupVersionKind, GroupVersionResource};
use pintle_registry::{Reflect, Store};
use pintle_storage::Backend;

use crate::conditions::TakenNames;
use crate::custom_resource::{CustomResource, ResourceStorage, WatchLifetime, prefix};
use crate::definition::{self, Names, Summary};
use crate::regenerations::Regenerations;

/// All definitions, by name.
pub(crate) struct DefinitionIndex {
    by_name: HashMap<String, Arc<Definition>>,
    /// Names of the definitions that have accepted a kind.
    by_kind: HashMap<String, Vec<String>>,
    /// While all definitions are read again: names that have not been read yet.
    unconfirmed: HashSet<String>,
    /// How often each name of a group is taken.
    names: HashMap<String, GroupNames>,
    storage: ResourceStorage,
    /// The definitions themselves.
    store: Arc<Store>,
    /// Receives the definitions that discovery and OpenAPI show.
    publisher: Arc<Publisher>,
    regenerations: Regenerations,
}

/// Names that were accepted, and how many have each.
#[derive(Default)]
pub(crate) struct GroupNames {
    resources: HashMap<String, usize>,
    kinds: HashMap<String, usize>,
}

/// A stored definition, and the endpoints of its objects once they were asked for.
pub(crate) struct Definition {
    pub(crate) summary: Summary,
    generation: i64,
    /// Whether its deletion has begun. The same for all generations of it.
    terminating: Arc<AtomicBool>,
    /// Number of writes that are under way.
    pub(crate) writes: Arc<AtomicUsize>,
    /// Made by the first request for its objects.
    resource: Arc<OnceLock<Result<Arc<CustomResource>, String>>>,
    /// When watches end. Kept apart from what may not have been made yet, so that none is forgotten.
    watches: Vec<WatchLifetime>,
    storage: ResourceStorage,
    store: Arc<Store>,
}

impl Definition {
    /// Returns the resource that it defines, or the reason why that cannot be served.
    pub(crate) fn resource(&self) -> Result<Arc<CustomResource>, String> {
        let make = || {
            let definition = self.definition().ok_or("the definition is gone")?;
            let summary = Summary::read(&definition);
            let resource =
                CustomResource::new(&self.storage, summary, &definition, &self.terminating, &self.watches)?;
            Ok(Arc::new(resource))
        };
        self.resource.get_or_init(make).clone()
    }

    /// The definition, as the cache has it.
    pub(crate) fn definition(&self) -> Option<Value> {
        self.store.object(&*self.store.cache().get(&self.summary.name)?).ok()
    }

    /// Counts a write until it has ended. It asks whether the definition is being deleted after it was counted, so that the
    /// deletion sees it or it sees the deletion.
    pub(crate) fn count_write(&self) -> Writing {
        self.writes.fetch_add(1, Ordering::SeqCst);
        Writing(self.writes.clone())
    }
}

/// A write that is under way.
pub(crate) struct Writing(Arc<AtomicUsize>);

impl Drop for Writing {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// The schemas of a definition, read from the cache when a document is made.
struct InCache {
    store: Arc<Store>,
    name: String,
}

impl Schemas for InCache {
    fn schema(&self, version: &str) -> Option<Value> {
        let definition = self.store.object(&*self.store.cache().get(&self.name)?).ok()?;
        let preserves = definition.at(&["spec", "preserveUnknownFields"]).and_then(Value::as_bool);
        // A schema that is not structural is not shown; only older releases stored such.
        if preserves == Some(true) && structural_errors(&definition).is_some() {
            return None;
        }
        let versions = definition::versions(&definition);
        versions.into_iter().find(|found| found.name == version)?.schema.cloned()
    }
}

impl DefinitionIndex {
    pub(crate) fn new(
        storage: ResourceStorage,
        store: Arc<Store>,
        publisher: Arc<Publisher>,
    ) -> DefinitionIndex {
        let regenerations = Regenerations::new(storage.webhooks.metrics.clone());
        DefinitionIndex {
            by_name: HashMap::new(),
            by_kind: HashMap::new(),
            unconfirmed: HashSet::new(),
            names: HashMap::new(),
            storage,
            store,
            publisher,
            regenerations,
        }
    }

    pub(crate) fn all_names(&self) -> Vec<String> {
        self.by_name.keys().cloned().collect()
    }

    pub(crate) fn get(&self, name: &str) -> Option<Arc<Definition>> {
        self.by_name.get(name).cloned()
    }

    /// Returns the plural of the resource that serves a kind in a version, and whether it is namespaced.
    pub(crate) fn resource_of_kind(
        &self,
        version: &GroupVersion,
        is_kind: impl Fn(&str) -> bool,
    ) -> Option<(String, bool)> {
        let mut known = self.by_name.values().map(|found| &found.summary);
        let found = known.find(|summary| {
            let mut versions = summary.versions.iter();
            summary.group == version.group
                && summary.established
                && is_kind(&summary.accepted.kind)
                && versions.any(|known| known.served && known.name == version.version)
        })?;
        Some((found.accepted.plural.clone(), found.namespaced))
    }

    /// Returns the definition that serves a kind.
    pub(crate) fn of_kind(&self, kind: &GroupVersionKind) -> Option<Arc<Definition>> {
        let serves = |summary: &Summary| {
            summary.group == kind.group && summary.is_served() && summary.serves(&kind.version)
        };
        let names = self.by_kind.get(&kind.kind)?.iter();
        let mut definitions = names.filter_map(|name| self.by_name.get(name));
        definitions.find(|definition| serves(&definition.summary)).cloned()
    }

    /// Returns the kinds of resources with a plural or singular name; of every group if that is empty.
    pub(crate) fn kinds_of(&self, group: &str, version: &str, resource: &str) -> Vec<GroupVersionKind> {
        let has_name = |summary: &Summary| {
            (group.is_empty() || summary.group == group)
                && (summary.accepted.plural == resource || summary.accepted.singular == resource)
                && summary.is_served()
                && summary.serves(version)
        };
        let found = self.by_name.values().filter(|definition| has_name(&definition.summary));
        found.map(|definition| definition::kind(&definition.summary, version)).collect()
    }

    pub(crate) fn prefixes(&self) -> Vec<(String, String, Bytes)> {
        let known =
            self.by_name.values().map(|found| &found.summary).filter(|summary| summary.names_accepted);
        let place = |summary: &Summary| {
            (summary.group.clone(), summary.accepted.plural.clone(), prefix(&self.storage, summary))
        };
        known.map(place).collect()
    }

    /// Returns the resources that are served, each in the version that discovery prefers.
    pub(crate) fn served(&self, backend: &Arc<dyn Backend>) -> Vec<CatalogResource> {
        let served = self.by_name.values().map(|found| &found.summary).filter(|summary| summary.established);
        let resource = |summary: &Summary| {
            let versions = summary.versions.iter().filter(|version| version.served);
            let version = versions.map(|version| version.name.as_str()).min_by(|a, b| version_order(a, b))?;
            Some(CatalogResource {
                resource: GroupVersionResource::new(&*summary.group, version, &*summary.accepted.plural),
                kind: summary.accepted.kind.clone(),
                is_namespaced: summary.namespaced,
                verbs: CatalogVerbs { list: true, delete: true, delete_collection: true },
                stored: Some(ObjectKeys { backend: backend.clone(), prefix: prefix(&self.storage, summary) }),
            })
        };
        served.filter_map(resource).collect()
    }

    pub(crate) fn taken(&self, group: &str) -> impl TakenNames + '_ {
        TakenInGroup(self.names.get(group))
    }

    /// Definitions of a group that wait for a name.
    pub(crate) fn waiting(&self, group: &str) -> Vec<String> {
        let waiting = self.by_name.values().filter(|found| found.summary.group == group);
        let waiting = waiting.filter(|found| !found.summary.names_accepted);
        waiting.map(|found| found.summary.name.clone()).collect()
    }

    fn count(&mut self, group: &str, names: &Names, adds: bool) {
        let counted = self.names.entry(group.to_owned()).or_default();
        let resources = [&names.plural, &names.singular].into_iter().chain(&names.short_names);
        for name in resources {
            count_in(&mut counted.resources, name, adds);
        }
        for name in [&names.kind, &names.list_kind] {
            count_in(&mut counted.kinds, name, adds);
        }
        if counted.resources.is_empty() && counted.kinds.is_empty() {
            self.names.remove(group);
        }
    }

    fn forget_kind(&mut self, name: &str, kind: &str) {
        let Some(names) = self.by_kind.get_mut(kind) else { return };
        names.retain(|known| known != name);
        if names.is_empty() {
            self.by_kind.remove(kind);
        }
    }

    fn replace(&mut self, name: &str, object: Option<&Value>) {
        let before = self.by_name.remove(name);
        if let Some(before) = &before {
            self.count(&before.summary.group, &before.summary.accepted, false);
            self.forget_kind(name, &before.summary.accepted.kind);
        }
        let Some(object) = object else {
            if let Some(before) = before {
                before.terminating.store(true, Ordering::SeqCst);
                before.watches.iter().for_each(WatchLifetime::end);
                self.publisher.publish(name, None);
                self.regenerations.hide(name);
                let prefix = prefix(&self.storage, &before.summary);
                drop(before);
                self.storage.feed.remove_unused(&prefix);
            }
            return;
        };
        let summary = Summary::read(object);
        self.count(&summary.group, &summary.accepted, true);
        self.by_kind.entry(summary.accepted.kind.clone()).or_default().push(name.to_owned());
        let generation = object.generation();
        let same = before.as_ref().filter(|before| before.summary.uid == summary.uid);
        let unchanged = same
            .filter(|before| before.generation == generation && before.summary.accepted == summary.accepted);
        let (resource, watches) = match (unchanged, same) {
            (Some(before), _) => (before.resource.clone(), before.watches.clone()),
            (None, Some(before)) => (Arc::default(), WatchLifetime::of_versions(object, &before.watches)),
            (None, None) => {
                before.iter().flat_map(|before| &before.watches).for_each(WatchLifetime::end);
                (Arc::default(), WatchLifetime::of_versions(object, &[]))
            }
        };
        let terminating = same.map_or_else(Arc::default, |before| before.terminating.clone());
        terminating.store(summary.terminating, Ordering::SeqCst);
        let definition = Arc::new(Definition {
            generation,
            terminating,
            writes: same.map_or_else(Arc::default, |before| before.writes.clone()),
            resource,
            watches,
            storage: self.storage.clone(),
            store: self.store.clone(),
            summary,
        });
        self.document(&definition, object, unchanged.map(|before| &**before));
        self.by_name.insert(name.to_owned(), definition);
    }

    /// Publishes a definition to discovery and OpenAPI, if they would show it differently.
    fn document(&mut self, definition: &Definition, object: &Value, unchanged: Option<&Definition>) {
        let summary = &definition.summary;
        let state = |of: &Summary| (of.established, of.terminating);
        if unchanged.is_some_and(|before| state(&before.summary) == state(summary)) {
            return;
        }
        let custom = summary.established.then(|| self.custom(summary, object));
        match &custom {
            Some(_) => self.regenerations.show(summary),
            None => self.regenerations.hide(&summary.name),
        }
        self.publisher.publish(&summary.name, custom.map(Contribution::Definition));
    }

    fn custom(&self, summary: &Summary, object: &Value) -> Custom {
        let texts = |texts: &[String]| texts.iter().map(|text| text.as_str().into()).collect();
        let versions = definition::versions(object).into_iter().filter(|version| version.served);
        Custom {
            group: summary.group.as_str().into(),
            plural: summary.accepted.plural.as_str().into(),
            singular: summary.accepted.singular.as_str().into(),
            kind: summary.accepted.kind.as_str().into(),
            list_kind: summary.accepted.list_kind.as_str().into(),
            short_names: texts(&summary.accepted.short_names),
            categories: texts(&summary.accepted.categories),
            namespaced: summary.namespaced,
            terminating: summary.terminating,
            preserves_unknown: object.at(&["spec", "preserveUnknownFields"]).and_then(Value::as_bool)
                == Some(true),
            versions: versions
                .map(|version| CustomVersion {
                    name: version.name.into(),
                    storage: version.storage,
                    status: version.status,
                    scale: version.scale.is_some(),
                    selectable: version
                        .selectable
                        .iter()
                        .map(|field| field.text_at(&["jsonPath"]).into())
                        .collect(),
                })
                .collect(),
            schemas: Arc::new(InCache { store: self.store.clone(), name: summary.name.clone() }),
        }
    }
}

impl Reflect for DefinitionIndex {
    fn set(&mut self, _: usize, key: &str, object: Option<&Value>) {
        self.unconfirmed.remove(key);
        self.replace(key, object);
    }

    /// Keeps the definitions, so that each is compared with its predecessor when it is read again and watches of unchanged versions
    /// go on.
    fn clear(&mut self, _: usize) {
        self.unconfirmed = self.by_name.keys().cloned().collect();
    }

    /// Removes the definitions that were deleted meanwhile.
    fn reloaded(&mut self, _: usize) {
        for name in std::mem::take(&mut self.unconfirmed) {
            self.replace(&name, None);
        }
    }
}

fn count_in(counts: &mut HashMap<String, usize>, name: &str, adds: bool) {
    if adds {
        *counts.entry(name.to_owned()).or_default() += 1;
    } else if let Some(count) = counts.get_mut(name).filter(|count| **count > 1) {
        *count -= 1;
    } else {
        counts.remove(name);
    }
}

struct TakenInGroup<'a>(Option<&'a GroupNames>);

impl TakenNames for TakenInGroup<'_> {
    fn is_resource(&self, name: &str) -> bool {
        self.0.is_some_and(|names| names.resources.contains_key(name))
    }

    fn is_kind(&self, name: &str) -> bool {
        self.0.is_some_and(|names| names.kinds.contains_key(name))
    }
}

#[cfg(test)]
#[path = "index_tests.rs"]
mod tests;
