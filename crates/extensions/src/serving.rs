//! The endpoints of a definition: made when somebody first asks for its objects, the same until the definition changes.

use std::hash::{DefaultHasher, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use bytes::Bytes;
use pintle_cache::{Feed, Resource};
use pintle_codec::json;
use pintle_definitions::paths::Path;
use pintle_meta::{Status, Value};
use pintle_registry::{Context, Guard, Result, Served, Store, StoreConfig};
use pintle_resources::served::Version as Builtin;
use pintle_schema::Resources;
use pintle_server::lifecycle::Signal;
use pintle_server::rest::{Behind, Endpoint, EndpointConfig};
use pintle_storage::Backend;

use crate::columns::Columns;
use crate::definition::{self, Summary, VersionSpec};
use crate::scale::Scale;
use crate::served::Version;
use crate::shape::{Cached, Shapes, StoredVersion};
use crate::strategy::{self, Custom};

/// Where custom resources are stored and followed.
#[derive(Clone)]
pub(crate) struct Ground {
    pub(crate) backend: Arc<dyn Backend>,
    pub(crate) feed: Arc<Feed>,
    /// Of all keys, with slashes around it.
    pub(crate) root: String,
    pub(crate) resources: Arc<Resources>,
}

/// A definition being served.
pub(crate) struct Serving {
    pub(crate) versions: Vec<ServedVersion>,
    /// The objects in the version that they are stored in.
    pub(crate) storage: Arc<Store>,
}

/// The endpoints of a version.
pub(crate) struct ServedVersion {
    pub(crate) name: String,
    /// What was said about it, for telling whether that has changed.
    said: u64,
    pub(crate) resource: Arc<Endpoint>,
    pub(crate) status: Option<Arc<Endpoint>>,
    pub(crate) scale: Option<Arc<Endpoint>>,
    ended: Signal,
}

const VERBS: [&str; 8] = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];
const PART_VERBS: [&str; 3] = ["get", "patch", "update"];

impl Serving {
    /// `terminating` says whether the definition is being deleted.
    pub(crate) fn new(
        ground: &Ground,
        summary: &Summary,
        definition: &Value,
        terminating: &Arc<AtomicBool>,
    ) -> std::result::Result<Serving, String> {
        let specs = definition::versions(definition);
        let preserves = definition.at(&["spec", "preserveUnknownFields"]).and_then(Value::as_bool);
        let shapes = Arc::new(Shapes::compile(summary, &specs, preserves == Some(true))?);
        let maker = Maker {
            ground,
            summary,
            shapes: &shapes,
            specs: &specs,
            cache: cache(ground, summary, &shapes),
            guard: Arc::new(Closed {
                group: summary.group.clone(),
                resource: summary.accepted.plural.clone(),
                terminating: terminating.clone(),
            }),
        };
        let storage = maker.store(shapes.storage);
        let said = |spec: &VersionSpec<'_>| said(definition, spec);
        let served = specs.iter().enumerate().filter(|(_, spec)| spec.served);
        let versions = served.map(|(place, spec)| maker.version(place, spec, said(spec))).collect();
        Ok(Serving { versions, storage: Arc::new(storage) })
    }

    pub(crate) fn version(&self, name: &str) -> Option<&ServedVersion> {
        self.versions.iter().find(|version| version.name == name)
    }

    /// Ends the watches of those versions that are not served any more, or not as they were.
    pub(crate) fn give_way(&self, next: Option<&Value>) {
        let specs = next.map(|definition| (definition, definition::versions(definition)));
        for version in &self.versions {
            let goes_on = specs.as_ref().is_some_and(|(definition, specs)| {
                let spec = specs.iter().find(|spec| spec.name == version.name && spec.served);
                spec.is_some_and(|spec| said(definition, spec) == version.said)
            });
            if !goes_on {
                version.ended.set();
            }
        }
    }
}

/// Stands for what a version's watchers would notice.
fn said(definition: &Value, spec: &VersionSpec<'_>) -> u64 {
    let mut text = Vec::new();
    json::encode(definition.at(&["spec", "conversion"]).unwrap_or(&Value::NULL), &mut text);
    json::encode(spec.schema.unwrap_or(&Value::NULL), &mut text);
    spec.columns.iter().for_each(|column| json::encode(column, &mut text));
    let mut hasher = DefaultHasher::new();
    hasher.write(&text);
    hasher.finish()
}

/// The objects as the store has them. Definitions that follow one another each have a cache of their own: what a value
/// means depends on the schema.
fn cache(ground: &Ground, summary: &Summary, shapes: &Arc<Shapes>) -> Arc<Resource> {
    ground.feed.separate(prefix(ground, summary), Arc::new(Cached(shapes.clone())))
}

/// Of the keys of a definition's objects.
pub(crate) fn prefix(ground: &Ground, summary: &Summary) -> Bytes {
    Bytes::from(format!("{}{}/{}/", ground.root, summary.group, summary.accepted.plural))
}

struct Maker<'a> {
    ground: &'a Ground,
    summary: &'a Summary,
    shapes: &'a Arc<Shapes>,
    specs: &'a [VersionSpec<'a>],
    cache: Arc<Resource>,
    guard: Arc<Closed>,
}

impl Maker<'_> {
    fn custom(&self, place: usize) -> Custom {
        Custom {
            shapes: self.shapes.clone(),
            place,
            namespaced: self.summary.namespaced,
            has_status: self.specs[place].status,
            scale: self.specs[place].scale.clone(),
        }
    }

    fn store(&self, place: usize) -> Store {
        let store = Store::new(StoreConfig {
            group: self.summary.group.clone(),
            resource: self.summary.accepted.plural.clone(),
            kind: self.summary.accepted.kind.clone(),
            namespaced: self.summary.namespaced,
            prefix: prefix(self.ground, self.summary),
            backend: self.ground.backend.clone(),
            cache: self.cache.clone(),
            stored: Arc::new(StoredVersion { shapes: self.shapes.clone(), place, renames: true }),
            strategy: Arc::new(self.custom(place)),
        });
        store.with_guard(self.guard.clone())
    }

    fn version(&self, place: usize, spec: &VersionSpec<'_>, said: u64) -> ServedVersion {
        let ended = Signal::new("CustomResourceVersionEnded");
        let store = Arc::new(self.store(place));
        let served: Arc<dyn Served> = Arc::new(Version {
            kind: definition::kind(self.summary, spec.name),
            list_kind: self.summary.accepted.list_kind.clone(),
            namespaced: self.summary.namespaced,
            shapes: self.shapes.clone(),
            place,
            columns: Columns(pintle_definitions::columns::Columns::compile(spec.columns)),
            deprecation: spec.deprecation.clone(),
        });
        let endpoint =
            |part: Option<&str>, verbs: &[&'static str], served: Arc<dyn Served>, behind: Behind| {
                Arc::new(Endpoint::new(EndpointConfig {
                    group: self.summary.group.clone(),
                    version: spec.name.to_owned(),
                    resource: self.summary.accepted.plural.clone(),
                    subresource: part.map(str::to_owned),
                    namespaced: self.summary.namespaced,
                    verbs: verbs.to_vec(),
                    served,
                    behind,
                    ended: Some(ended.clone()),
                }))
            };
        let status = spec.status.then(|| {
            let rules = Arc::new(strategy::Status(self.custom(place)));
            let behind = Behind::Store(Arc::new(store.with_strategy(rules)));
            endpoint(Some("status"), &PART_VERBS, served.clone(), behind)
        });
        let scale = spec.scale.as_ref().zip(self.scale_kind(spec)).map(|(paths, kind)| {
            let api_version = |spec: &VersionSpec<'_>| format!("{}/{}", self.summary.group, spec.name);
            let replicas =
                self.specs.iter().filter_map(|spec| Some((api_version(spec), spec.scale.as_ref()?)));
            let replicas = replicas.map(|(version, scale)| (version, Path::parse(&scale.spec_replicas)));
            let scale = Scale::new(store.clone(), paths, api_version(spec), replicas.collect());
            endpoint(Some("scale"), &PART_VERBS, kind, Behind::Subresource(Arc::new(scale)))
        });
        let resource = endpoint(None, &VERBS, served, Behind::Store(store));
        ServedVersion { name: spec.name.to_owned(), said, resource, status, scale, ended }
    }

    /// The kind that every scale is of.
    fn scale_kind(&self, spec: &VersionSpec<'_>) -> Option<Arc<dyn Served>> {
        let of = self.ground.resources.find("apps", "v1", "deployments/scale")?;
        let mut served = Builtin::new(of, None);
        if let Some(warning) = &spec.deprecation {
            served = served.deprecated(warning);
        }
        Some(Arc::new(served))
    }
}

/// Nothing new is made while a definition is being deleted.
struct Closed {
    group: String,
    resource: String,
    terminating: Arc<AtomicBool>,
}

#[async_trait]
impl Guard for Closed {
    async fn check(&self, _: &Context, name: &str, new: &Value, old: Option<&Value>) -> Result<()> {
        if old.is_some() || !self.terminating.load(Ordering::SeqCst) {
            return Ok(());
        }
        let name = if name.is_empty() { new.name() } else { name };
        let why = "create not allowed while custom resource definition is terminating";
        Err(Box::new(Status::forbidden(&self.group, &self.resource, name, why)))
    }
}
