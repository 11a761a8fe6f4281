//! The merged group versions of all sources, and the state of their documents.
//!
//! Built-in group versions come as a list; custom resources come and go one definition at a time, and each touches only its
//! own group versions:
//!
//! ```text
//! groups: example.com -> v1 -> gizmos, widgets       an OpenAPI document of example.com/v1
//!                     -> v2 -> widgets               another of example.com/v2
//! whole:  one for all documents that are about everything; every change puts an empty one in its place
//! ```

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use bytes::Bytes;
use pintle_discovery::{
    Contribution, CustomVersion, GroupVersion, Priority, RemoteVersion, groups, version_order,
};
use pintle_openapi::{custom, v3};
use pintle_runtime::Clock;
use smol_str::SmolStr;

use super::definition::Definition;
use super::openapi::{OpenApiDocument, OpenApiSource, Others};

/// Changed under a lock, which is never held while a document is made: what a document is made of is shared and does not
/// change.
pub(super) struct Served {
    pub(super) builtin: Arc<Builtin>,
    /// Contributions by source and key.
    contributions: HashMap<(usize, SmolStr), ExternalContribution>,
    groups: BTreeMap<SmolStr, BTreeMap<SmolStr, Version>>,
    pub(super) whole: Arc<GlobalDocuments>,
}

/// A contribution that is not built in.
enum ExternalContribution {
    Definition(Arc<Definition>),
    Remote(Arc<RemoteVersion>),
}

impl ExternalContribution {
    fn group(&self) -> &SmolStr {
        match self {
            ExternalContribution::Definition(entry) => &entry.custom.group,
            ExternalContribution::Remote(remote) => &remote.version.group,
        }
    }

    fn versions(&self) -> Vec<SmolStr> {
        match self {
            ExternalContribution::Definition(entry) => {
                entry.custom.versions.iter().map(|version| version.name.clone()).collect()
            }
            ExternalContribution::Remote(remote) => vec![remote.version.version.clone()],
        }
    }

    fn equals(&self, contribution: &Contribution) -> bool {
        match (self, contribution) {
            (ExternalContribution::Definition(entry), Contribution::Definition(custom)) => {
                entry.custom == *custom
            }
            (ExternalContribution::Remote(remote), Contribution::Remote(other)) => remote == other,
            _ => false,
        }
    }
}

/// The built-in part.
pub(super) struct Builtin {
    pub(super) versions: Vec<GroupVersion>,
    /// The core group, in its document that is about all groups in one.
    pub(super) core: OnceLock<Aggregated>,
    /// The OpenAPI documents of version 3 in the order of their names.
    pub(super) v3: Vec<(String, Arc<LazyDocument>)>,
    /// A hash of its content.
    content: OnceLock<String>,
    /// Its part of the OpenAPI document of version 2, in each form, where there are also custom resources.
    pub(super) v2: [OnceLock<custom::Builtin>; 2],
}

/// Documents about all group versions.
#[derive(Default)]
pub(super) struct GlobalDocuments {
    /// All groups but the core group in one document.
    pub(super) groups: OnceLock<Aggregated>,
    pub(super) v2: Arc<LazyDocument>,
    /// The index of the OpenAPI documents of version 3: its bytes and its hash.
    pub(super) index: OnceLock<(Bytes, String)>,
}

/// A group version that is not built in: custom resources by their names, or the description of a remote server, which
/// comes first.
#[derive(Default)]
struct Version {
    members: BTreeMap<SmolStr, Arc<Definition>>,
    remote: Option<Arc<RemoteVersion>>,
    document: Arc<LazyDocument>,
}

impl Version {
    fn content(&self, name: &str) -> Content {
        match &self.remote {
            Some(remote) => Content::Remote(remote.clone()),
            None => Content::Custom(CustomResources {
                version: name.into(),
                entries: self.members.values().cloned().collect(),
            }),
        }
    }
}

/// The content of a group version that is not built in.
pub(super) enum Content {
    Custom(CustomResources),
    Remote(Arc<RemoteVersion>),
}

/// An aggregated document in the encoding that nearly all clients ask for.
pub(super) struct Aggregated {
    pub(super) json: Bytes,
    pub(super) etag: String,
}

/// A document that is made when a client asks for it. Its bytes may be evicted and made again; its hash stays.
#[derive(Default)]
pub(super) struct LazyDocument {
    pub(super) validators: OnceLock<Validators>,
}

/// The hash of a document for its ETag, and its time of modification.
pub(super) struct Validators {
    pub(super) hash: String,
    pub(super) modified: SystemTime,
}

/// A group as it is shown, with its versions in their order.
pub(super) struct Group {
    pub(super) name: SmolStr,
    pub(super) versions: Vec<ListedVersion>,
}

/// A version of a group.
pub(super) enum ListedVersion {
    /// The index in [`Builtin::versions`].
    Builtin(usize),
    Custom(CustomResources),
    Remote(Arc<RemoteVersion>),
}

impl ListedVersion {
    fn name<'a>(&'a self, builtin: &'a Builtin) -> &'a str {
        match self {
            ListedVersion::Builtin(index) => builtin.versions.get(*index).map_or("", |found| &found.version),
            ListedVersion::Custom(members) => &members.version,
            ListedVersion::Remote(remote) => &remote.version.version,
        }
    }
}

/// The custom resources of a group version, in the order of their names.
#[derive(Clone)]
pub(super) struct CustomResources {
    pub(super) version: SmolStr,
    pub(super) entries: Vec<Arc<Definition>>,
}

impl LazyDocument {
    pub(super) fn set_hash(&self, hash: String, clock: &Clock) -> &Validators {
        self.validators.get_or_init(|| Validators { hash, modified: clock.now() })
    }
}

impl Builtin {
    /// Keeps the documents of `before` whose group versions are the same.
    fn new(versions: Vec<GroupVersion>, logs: bool, before: Option<&Builtin>) -> Builtin {
        let mut kept: HashMap<&str, &Arc<LazyDocument>> = HashMap::new();
        if let Some(before) = before {
            kept.extend(before.v3.iter().map(|(name, document)| (name.as_str(), document)));
            // Only group versions can change under their name; what else there is depends on its name alone.
            for old in &before.versions {
                if versions.iter().any(|new| new.path() == old.path() && new != old) {
                    kept.remove(name(old).as_str());
                }
            }
        }
        let document = |name: String| {
            let document = kept.get(name.as_str()).map_or_else(Arc::default, |document| Arc::clone(document));
            (name, document)
        };
        let v3 = v3::names(&versions, logs).into_iter().map(document).collect();
        Builtin { versions, core: OnceLock::new(), v3, content: OnceLock::new(), v2: Default::default() }
    }

    /// `None` is the core group.
    pub(super) fn has_group(&self, group: Option<&str>) -> bool {
        self.versions.iter().any(|served| is_group(served, group))
    }

    pub(super) fn version(&self, group: Option<&str>, version: &str) -> Option<&GroupVersion> {
        self.versions.iter().find(|served| is_group(served, group) && served.version == version)
    }

    /// Returns a hash of the content that all documents about it are made of.
    pub(super) fn content(&self) -> &str {
        self.content.get_or_init(|| custom::hash(&format!("{:?}", self.versions), []))
    }

    fn v3(&self, name: &str) -> Option<&Arc<LazyDocument>> {
        let index = self.v3.binary_search_by(|(found, _)| found.as_str().cmp(name)).ok()?;
        self.v3.get(index).map(|(_, document)| document)
    }
}

impl CustomResources {
    /// Returns each definition, with this version and its index.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&Definition, usize, &CustomVersion)> {
        self.entries.iter().filter_map(|entry| {
            let versions = &entry.custom.versions;
            let index = versions.iter().position(|version| version.name == self.version)?;
            Some((entry.as_ref(), index, versions.get(index)?))
        })
    }
}

impl Served {
    pub(super) fn new(versions: Vec<GroupVersion>, logs: bool) -> Served {
        Served {
            builtin: Arc::new(Builtin::new(versions, logs, None)),
            contributions: HashMap::new(),
            groups: BTreeMap::new(),
            whole: Arc::default(),
        }
    }

    /// Replaces the built-in group versions. Documents of those that are the same as before stay.
    fn serve(&mut self, versions: Vec<GroupVersion>, logs: bool) -> Vec<Arc<LazyDocument>> {
        if self.builtin.versions == versions && !versions.is_empty() {
            return Vec::new();
        }
        let mut stale: Vec<Arc<LazyDocument>> =
            self.builtin.v3.iter().map(|(_, document)| document.clone()).collect();
        self.builtin = Arc::new(Builtin::new(versions, logs, Some(&self.builtin)));
        stale.retain(|document| !self.builtin.v3.iter().any(|(_, kept)| Arc::ptr_eq(kept, document)));
        stale.push(Arc::clone(&self.whole.v2));
        self.whole = Arc::default();
        stale
    }

    /// Sets or removes a contribution of a source. Returns the documents that are not up to date any more.
    pub(super) fn set(
        &mut self,
        source: usize,
        key: SmolStr,
        contribution: Option<Contribution>,
        logs: bool,
    ) -> Vec<Arc<LazyDocument>> {
        if let Some(Contribution::Builtin(versions)) = contribution {
            return self.serve(versions, logs);
        }
        let key = (source, key);
        let is_same = match (self.contributions.get(&key), &contribution) {
            (Some(before), Some(now)) => before.equals(now),
            (None, None) => true,
            _ => false,
        };
        if is_same {
            return Vec::new();
        }
        let mut stale = vec![Arc::clone(&self.whole.v2)];
        if let Some(before) = self.contributions.remove(&key) {
            self.remove(&before, &mut stale);
        }
        let part = match contribution {
            Some(Contribution::Definition(custom)) => {
                Some(ExternalContribution::Definition(Arc::new(Definition::new(custom))))
            }
            Some(Contribution::Remote(remote)) => Some(ExternalContribution::Remote(remote)),
            Some(Contribution::Builtin(_)) | None => None,
        };
        if let Some(part) = part {
            let versions = self.groups.entry(part.group().clone()).or_default();
            for name in part.versions() {
                let found = versions.entry(name).or_default();
                match &part {
                    ExternalContribution::Definition(entry) => {
                        found.members.insert(entry.custom.plural.clone(), Arc::clone(entry));
                    }
                    ExternalContribution::Remote(remote) => found.remote = Some(remote.clone()),
                }
                stale.push(std::mem::take(&mut found.document));
            }
            self.contributions.insert(key, part);
        }
        self.whole = Arc::default();
        stale
    }

    fn remove(&mut self, part: &ExternalContribution, stale: &mut Vec<Arc<LazyDocument>>) {
        let group = part.group();
        let Some(versions) = self.groups.get_mut(group) else { return };
        for name in part.versions() {
            let Some(found) = versions.get_mut(&name) else { continue };
            match part {
                ExternalContribution::Definition(entry) => {
                    found.members.remove(&entry.custom.plural);
                }
                ExternalContribution::Remote(_) => found.remote = None,
            }
            stale.push(std::mem::take(&mut found.document));
            if found.members.is_empty() && found.remote.is_none() {
                versions.remove(&name);
            }
        }
        if versions.is_empty() {
            self.groups.remove(group);
        }
    }

    /// Returns the content of a group version that is not built in.
    pub(super) fn content(&self, group: Option<&str>, version: &str) -> Option<Content> {
        Some(self.custom(group, version)?.content(version))
    }

    fn custom(&self, group: Option<&str>, version: &str) -> Option<&Version> {
        let found = self.groups.get(group?)?.get(version)?;
        self.builtin.version(group, version).is_none().then_some(found)
    }

    /// The names of versions of a group, the preferred first.
    pub(super) fn versions(&self, group: &str) -> Vec<SmolStr> {
        let builtin = self.builtin.versions.iter().filter(|served| is_group(served, Some(group)));
        let mut versions = self.custom_versions(group);
        versions.extend(builtin.map(|served| served.version.clone()));
        if self.has_remote_in(group) {
            versions.sort_by_cached_key(|version| Reverse(self.priority(group, version).version));
        }
        versions
    }

    /// Returns the priority of a group version. Those that are neither built in nor of a remote server are custom resources.
    fn priority(&self, group: &str, version: &str) -> Priority {
        if self.builtin.version(Some(group), version).is_some() {
            return Priority::listed(group, version);
        }
        let found = self.groups.get(group).and_then(|versions| versions.get(version));
        let remote = found.and_then(|found| found.remote.as_ref());
        remote.map_or(Priority::CUSTOM, |remote| remote.priority)
    }

    fn has_remote_in(&self, group: &str) -> bool {
        self.groups.get(group).is_some_and(|versions| versions.values().any(|found| found.remote.is_some()))
    }

    fn has_remote(&self) -> bool {
        self.groups.keys().any(|group| self.has_remote_in(group))
    }

    /// Returns whether another server describes a group version.
    pub(super) fn is_remote(&self, group: &str, version: &str) -> bool {
        self.custom(Some(group), version).is_some_and(|found| found.remote.is_some())
    }

    /// Returns the versions of a group that are not built in, in their order. They come before built-in ones.
    fn custom_versions(&self, group: &str) -> Vec<SmolStr> {
        let versions = self.groups.get(group).into_iter().flat_map(|versions| versions.keys());
        let own = versions.filter(|version| self.builtin.version(Some(group), version).is_none());
        let mut versions: Vec<SmolStr> = own.cloned().collect();
        versions.sort_by(|a, b| version_order(a, b));
        versions
    }

    /// All groups with their versions, but for the core group: built-in ones in their order, then the others by name; with
    /// group versions of remote servers, all by their priorities.
    pub(super) fn groups(&self) -> Vec<Group> {
        let mut index = 0;
        let mut shown = Vec::with_capacity(self.builtin.versions.len() + self.groups.len());
        let custom = |name: &SmolStr, version: SmolStr| {
            let found = self.groups.get(name)?.get(&version)?;
            Some(match found.content(&version) {
                Content::Custom(members) => ListedVersion::Custom(members),
                Content::Remote(remote) => ListedVersion::Remote(remote),
            })
        };
        for (name, versions) in groups(&self.builtin.versions) {
            let builtin = (index..index + versions.len()).map(ListedVersion::Builtin);
            index += versions.len();
            if name.is_empty() {
                continue;
            }
            let own = self.custom_versions(&name).into_iter().filter_map(|version| custom(&name, version));
            let versions = own.chain(builtin).collect();
            shown.push(Group { name, versions });
        }
        for name in self.groups.keys().filter(|name| !self.builtin.has_group(Some(name))) {
            let versions = self.custom_versions(name);
            let versions = versions.into_iter().filter_map(|version| custom(name, version)).collect();
            shown.push(Group { name: name.clone(), versions });
        }
        if self.has_remote() {
            self.sort_by_priority(&mut shown);
        }
        shown
    }

    fn sort_by_priority(&self, shown: &mut [Group]) {
        for Group { name, versions } in shown.iter_mut() {
            versions.sort_by_cached_key(|version| {
                Reverse(self.priority(name, version.name(&self.builtin)).version)
            });
        }
        shown.sort_by_cached_key(|Group { name, versions }| {
            let priorities =
                versions.iter().map(|version| self.priority(name, version.name(&self.builtin)).group);
            (Reverse(priorities.max()), name.clone())
        });
    }

    /// The names of all groups and versions as the oldest list of groups has them: those that are not built-in go by the
    /// names of their API services, which begin with the version. With group versions of remote servers, all go by their priorities
    /// first.
    pub(super) fn named_groups(&self) -> Vec<(SmolStr, Vec<SmolStr>)> {
        let mut named: Vec<(SmolStr, Vec<SmolStr>)> = groups(&self.builtin.versions)
            .into_iter()
            .filter(|(name, _)| !name.is_empty())
            .map(|(name, _)| (name.clone(), self.versions(&name)))
            .collect();
        let others = self.groups.keys().filter(|name| !self.builtin.has_group(Some(name)));
        let mut others: Vec<(String, (SmolStr, Vec<SmolStr>))> = others
            .filter_map(|name| {
                let versions = self.custom_versions(name);
                let service = versions.iter().map(|version| format!("{version}.{name}")).min()?;
                Some((service, (name.clone(), versions)))
            })
            .collect();
        others.sort();
        named.extend(others.into_iter().map(|(_, group)| group));
        if self.has_remote() {
            // The API service of the highest priority stands for its group.
            named.sort_by_cached_key(|(name, versions)| {
                let services = versions.iter().map(|version| {
                    (Reverse(self.priority(name, version).group), format!("{version}.{name}"))
                });
                services.min()
            });
        }
        named
    }

    /// The paths of all groups and versions.
    pub(super) fn paths(&self) -> Vec<String> {
        let mut paths = Vec::new();
        for version in &self.builtin.versions {
            paths.push(version.path());
            paths.push(match version.group.as_str() {
                "" => "/api".to_owned(),
                group => format!("/apis/{group}"),
            });
        }
        for (group, versions) in &self.groups {
            paths.push(format!("/apis/{group}"));
            paths.extend(versions.keys().map(|version| format!("/apis/{group}/{version}")));
        }
        paths
    }

    /// The OpenAPI document of everything.
    pub(super) fn v2(&self) -> OpenApiDocument {
        let mut others = Others::default();
        self.all_custom().for_each(|(_, version, found)| others.add(found.content(version)));
        self.openapi_document(&self.whole.v2, OpenApiSource::V2(others))
    }

    /// The OpenAPI document of version 3 of a name.
    pub(super) fn v3(&self, name: &str) -> Option<OpenApiDocument> {
        if let Some(document) = self.builtin.v3(name) {
            return Some(self.openapi_document(document, OpenApiSource::V3(name.to_owned())));
        }
        let (group, version) = name.strip_prefix("apis/")?.split_once('/')?;
        let found = self.custom(Some(group), version)?;
        Some(self.openapi_document(&found.document, OpenApiSource::from_content(found.content(version))?))
    }

    /// All OpenAPI documents of version 3, with their names.
    pub(super) fn all_v3(&self) -> Vec<(String, OpenApiDocument)> {
        let builtin = self.builtin.v3.iter().map(|(name, document)| {
            let source = OpenApiSource::V3(name.clone());
            (name.clone(), self.openapi_document(document, source))
        });
        let custom = self.all_custom().filter_map(|(group, version, found)| {
            let source = OpenApiSource::from_content(found.content(version))?;
            Some((format!("apis/{group}/{version}"), self.openapi_document(&found.document, source)))
        });
        builtin.chain(custom).collect()
    }

    fn all_custom(&self) -> impl Iterator<Item = (&SmolStr, &SmolStr, &Version)> {
        let all = self.groups.iter().flat_map(|(group, versions)| {
            versions.iter().map(move |(version, found)| (group, version, found))
        });
        all.filter(|(group, version, _)| self.builtin.version(Some(group), version).is_none())
    }

    fn openapi_document(&self, document: &Arc<LazyDocument>, source: OpenApiSource) -> OpenApiDocument {
        OpenApiDocument { builtin: Arc::clone(&self.builtin), document: Arc::clone(document), source }
    }
}

fn is_group(served: &GroupVersion, group: Option<&str>) -> bool {
    match group {
        None => served.group.is_empty(),
        Some(group) => !group.is_empty() && served.group == group,
    }
}

/// Returns the name of the OpenAPI document of a group version.
fn name(served: &GroupVersion) -> String {
    served.path().trim_start_matches('/').to_owned()
}
