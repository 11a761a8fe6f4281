//! The endpoints of a definition: made when somebody first asks for its objects, the same until the definition changes.

use std::hash::{DefaultHasher, Hasher};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use bytes::Bytes;
use pintle_cache::{Feed, Kind, Limits, Resource};
use pintle_codec::json;
use pintle_definitions::columns;
use pintle_definitions::object::Scale as ScalePaths;
use pintle_definitions::paths::Path;
use pintle_meta::{Status, Value};
use pintle_registry::{Context, Guard, Result, Served, Store, StoreConfig, StorePolicy};
use pintle_resources::served::Version as Builtin;
use pintle_resources::subresources::Scale;
use pintle_schema::Resources;
use pintle_server::lifecycle::Signal;
use pintle_server::rest::{Behind, Endpoint, EndpointConfig};
use pintle_storage::Backend;
use tokio::sync::OnceCell;

use crate::columns::Columns;
use crate::conversion::{Converting, ConvertingConfig, Means, Webhook};
use crate::definition::{self, Summary, VersionSpec};
use crate::encoding::StoredAs;
use crate::scale::Replicas;
use crate::served::Version;
use crate::shape::{Cached, Shapes, StoredVersion, Write};
use crate::strategy::{self, Custom};

/// How many bytes of converted objects are remembered for each version.
const REMEMBERED: usize = 4 << 20;

/// Where custom resources are stored and followed.
#[derive(Clone)]
pub(crate) struct Ground {
    pub(crate) backend: Arc<dyn Backend>,
    pub(crate) feed: Arc<Feed>,
    /// Of all keys, with slashes around it.
    pub(crate) root: String,
    pub(crate) resources: Arc<Resources>,
    pub(crate) webhooks: Means,
    pub(crate) policy: Arc<StorePolicy>,
    pub(crate) stored_as: StoredAs,
}

/// A definition being served.
pub(crate) struct Serving {
    plan: Arc<Plan>,
    versions: Vec<(ServedSpec, OnceCell<ServedVersion>)>,
    /// The objects in whatever version they are stored in, for those who only count and delete them.
    stored: OnceLock<Arc<Store>>,
}

/// What is known of a version before anybody has asked for it.
struct ServedSpec {
    place: usize,
    name: String,
    ended: Signal,
}

/// The endpoints of a version.
pub(crate) struct ServedVersion {
    pub(crate) resource: Arc<Endpoint>,
    pub(crate) status: Option<Arc<Endpoint>>,
    pub(crate) scale: Option<Arc<Endpoint>>,
}

const VERBS: [&str; 8] = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];
const ENDED: &str = "CustomResourceVersionEnded";
const PART_VERBS: [&str; 3] = ["get", "patch", "update"];

impl Serving {
    /// `terminating` says whether the definition is being deleted, and `watches` when those of a version end.
    pub(crate) fn new(
        ground: &Ground,
        summary: Summary,
        definition: &Value,
        terminating: &Arc<AtomicBool>,
        watches: &[Watches],
    ) -> std::result::Result<Serving, String> {
        let specs = definition::versions(definition);
        let preserves = definition.at(&["spec", "preserveUnknownFields"]).and_then(Value::as_bool);
        let shapes = Shapes::compile(&summary, &specs, preserves == Some(true))?;
        let versions = specs.iter().enumerate().filter(|(_, spec)| spec.served).map(|(place, spec)| {
            let ended = Watches::ended(watches, spec.name);
            (ServedSpec { place, name: spec.name.to_owned(), ended }, OnceCell::new())
        });
        let versions = versions.collect();
        let converter = match definition.text_at(&["spec", "conversion", "strategy"]) {
            "Webhook" => Some(Webhook::new(definition, &ground.webhooks).map(Arc::new)),
            _ => None,
        };
        let guard = Arc::new(Closed {
            group: summary.group.clone(),
            resource: summary.accepted.plural.clone(),
            terminating: terminating.clone(),
        });
        let parts = specs.iter().map(Parts::of).collect();
        let webhook = converter.as_ref().and_then(|converter| converter.as_ref().ok()).cloned();
        let shapes = Arc::new(shapes.converted_by(webhook.map(|webhook| webhook as _)));
        let plan =
            Plan { ground: ground.clone(), summary, shapes, parts, converter, cache: OnceLock::new(), guard };
        Ok(Serving { plan: Arc::new(plan), versions, stored: OnceLock::new() })
    }

    /// A version, if it is served; or why it cannot be.
    pub(crate) async fn version(&self, name: &str) -> Option<std::result::Result<&ServedVersion, String>> {
        let (spec, cell) = self.versions.iter().find(|(spec, _)| spec.name == name)?;
        Some(cell.get_or_try_init(|| self.plan.version(spec)).await)
    }

    /// The objects in whatever version they are stored in.
    pub(crate) fn stored(&self) -> &Arc<Store> {
        self.stored.get_or_init(|| Arc::new(self.plan.stored()))
    }
}

/// The watches of a version, also those that began with an earlier definition that said the same about it.
#[derive(Clone)]
pub(crate) struct Watches {
    version: String,
    /// What was said about it, for telling whether that has changed.
    said: u64,
    ended: Signal,
}

impl Watches {
    /// Those of all versions that a definition has, where `before` are those of the one before it. Watches of versions that
    /// are not served any more, or not as they were, end.
    pub(crate) fn of(definition: &Value, before: &[Watches]) -> Vec<Watches> {
        let versions = definition::versions(definition).into_iter().filter(|spec| spec.served);
        let next: Vec<Watches> = versions
            .map(|spec| {
                let said = said(definition, &spec);
                let known = before.iter().find(|known| known.version == spec.name && known.said == said);
                known.cloned().unwrap_or_else(|| Watches {
                    version: spec.name.to_owned(),
                    said,
                    ended: Signal::new(ENDED),
                })
            })
            .collect();
        let goes_on = |known: &Watches| {
            next.iter().any(|next| next.version == known.version && next.said == known.said)
        };
        before.iter().filter(|known| !goes_on(known)).for_each(Watches::end);
        next
    }

    pub(crate) fn end(&self) {
        self.ended.set();
    }

    /// When the watches of a version end. One that is newer than the definition is watched through the next one.
    fn ended(watches: &[Watches], version: &str) -> Signal {
        let known = watches.iter().find(|known| known.version == version).map(|known| known.ended.clone());
        known.unwrap_or_else(|| {
            let ended = Signal::new(ENDED);
            ended.set();
            ended
        })
    }
}

/// Stands for what a version's watchers would notice.
fn said(definition: &Value, spec: &VersionSpec<'_>) -> u64 {
    let mut text = Vec::new();
    text.extend(definition.text_at(&["status", "acceptedNames", "kind"]).as_bytes());
    json::encode(definition.at(&["spec", "conversion"]).unwrap_or(&Value::NULL), &mut text);
    json::encode(spec.schema.unwrap_or(&Value::NULL), &mut text);
    spec.columns.iter().for_each(|column| json::encode(column, &mut text));
    let mut hasher = DefaultHasher::new();
    hasher.write(&text);
    hasher.finish()
}

/// Of the keys of a definition's objects.
pub(crate) fn prefix(ground: &Ground, summary: &Summary) -> Bytes {
    Bytes::from(format!("{}{}/{}/", ground.root, summary.group, summary.accepted.plural))
}

/// What the endpoints of a definition are made of.
struct Plan {
    ground: Ground,
    summary: Summary,
    shapes: Arc<Shapes>,
    /// Beside each version.
    parts: Vec<Parts>,
    /// Where versions differ in more than their name; or why that cannot be used.
    converter: Option<std::result::Result<Arc<Webhook>, String>>,
    /// The objects as they are stored. Definitions that follow one another each have a cache of their own: what a value means
    /// depends on the schema.
    cache: OnceLock<Arc<Resource>>,
    guard: Arc<Closed>,
}

/// What a version has beside its objects.
struct Parts {
    name: String,
    status: bool,
    scale: Option<ScalePaths>,
    columns: columns::Columns,
    deprecation: Option<String>,
}

impl Parts {
    fn of(spec: &VersionSpec<'_>) -> Parts {
        Parts {
            name: spec.name.to_owned(),
            status: spec.status,
            scale: spec.scale.clone(),
            columns: columns::Columns::compile(spec.columns),
            deprecation: spec.deprecation.clone(),
        }
    }
}

/// Where the objects of a version come from.
struct Source {
    backend: Arc<dyn Backend>,
    cache: Arc<Resource>,
    /// What follows the store, where it is not the feed of everything.
    feed: Option<Arc<Feed>>,
}

impl Plan {
    fn prefix(&self) -> Bytes {
        prefix(&self.ground, &self.summary)
    }

    /// The objects as the store has them.
    fn as_stored(&self) -> Source {
        let kind = || Arc::new(Cached { shapes: self.shapes.clone(), converted: false });
        let cache = self.cache.get_or_init(|| self.ground.feed.separate(self.prefix(), kind()));
        Source { backend: self.ground.backend.clone(), cache: cache.clone(), feed: None }
    }

    /// The objects in a version.
    async fn source(&self, place: usize) -> std::result::Result<Source, String> {
        let Some(converter) = &self.converter else { return Ok(self.as_stored()) };
        let converter = converter.clone()?;
        let api_version = |place: usize| self.shapes.versions[place].api_version.clone();
        let backend: Arc<dyn Backend> = Arc::new(Converting::new(ConvertingConfig {
            store: self.ground.backend.clone(),
            converter,
            form: self.shapes.clone(),
            served: api_version(place),
            storage: api_version(self.shapes.storage),
            stored_as: self.ground.stored_as,
            remember: REMEMBERED,
        }));
        let feed = Feed::start(backend.clone(), self.prefix(), Limits::default()).await;
        let feed = Arc::new(feed.map_err(|error| error.to_string())?);
        let kind = || -> Arc<dyn Kind> { Arc::new(Cached { shapes: self.shapes.clone(), converted: true }) };
        let cache = feed.resource(self.prefix(), kind);
        Ok(Source { backend, cache, feed: Some(feed) })
    }

    fn custom(&self, place: usize) -> Custom {
        Custom {
            shapes: self.shapes.clone(),
            place,
            namespaced: self.summary.namespaced,
            has_status: self.parts[place].status,
            scale: self.parts[place].scale.clone(),
            metrics: self.ground.webhooks.metrics.clone(),
        }
    }

    fn store(&self, source: &Source, place: usize, write: Write) -> Store {
        Store::new(StoreConfig {
            group: self.summary.group.clone(),
            resource: self.summary.accepted.plural.clone(),
            kind: self.summary.accepted.kind.clone(),
            namespaced: self.summary.namespaced,
            prefix: self.prefix(),
            backend: source.backend.clone(),
            cache: source.cache.clone(),
            stored: Arc::new(StoredVersion {
                shapes: self.shapes.clone(),
                place,
                write,
                stored_as: self.ground.stored_as,
            }),
            strategy: Arc::new(self.custom(place)),
        })
        .with_options(self.ground.policy.of(&self.summary.group, &self.summary.accepted.plural))
    }

    fn stored(&self) -> Store {
        self.store(&self.as_stored(), self.shapes.storage, Write::AsItIs)
    }

    async fn version(&self, spec: &ServedSpec) -> std::result::Result<ServedVersion, String> {
        let (place, parts) = (spec.place, &self.parts[spec.place]);
        let source = self.source(place).await?;
        let write = if self.converter.is_some() { Write::AsServed } else { Write::Renamed };
        let store = Arc::new(self.store(&source, place, write).with_guard(self.guard.clone()));
        let served: Arc<dyn Served> = Arc::new(Version {
            kind: definition::kind(&self.summary, &parts.name),
            list_kind: self.summary.accepted.list_kind.clone(),
            namespaced: self.summary.namespaced,
            shapes: self.shapes.clone(),
            place,
            columns: Columns(parts.columns.clone()),
            deprecation: parts.deprecation.clone(),
            _feed: source.feed,
        });
        let endpoint =
            |part: Option<&str>, verbs: &[&'static str], served: Arc<dyn Served>, behind: Behind| {
                Arc::new(Endpoint::new(EndpointConfig {
                    group: self.summary.group.clone(),
                    version: parts.name.clone(),
                    resource: self.summary.accepted.plural.clone(),
                    subresource: part.map(str::to_owned),
                    namespaced: self.summary.namespaced,
                    verbs: verbs.to_vec(),
                    served,
                    behind,
                    is_defined: true,
                    ended: Some(spec.ended.clone()),
                }))
            };
        let status = parts.status.then(|| {
            let rules = Arc::new(strategy::Status(self.custom(place)));
            let behind = Behind::Store(Arc::new(store.with_strategy(rules)));
            endpoint(Some("status"), &PART_VERBS, served.clone(), behind)
        });
        let scale = parts.scale.as_ref().zip(self.scale_kind(parts)).map(|(paths, kind)| {
            let api_version = |parts: &Parts| format!("{}/{}", self.summary.group, parts.name);
            let replicas =
                self.parts.iter().filter_map(|parts| Some((api_version(parts), parts.scale.as_ref()?)));
            let replicas = replicas.map(|(version, scale)| (version, Path::parse(&scale.spec_replicas)));
            let scale = Replicas::new(paths, api_version(parts), replicas.collect());
            let scale = Scale::of(store.clone(), scale);
            endpoint(Some("scale"), &PART_VERBS, kind, Behind::Subresource(Arc::new(scale)))
        });
        let resource = endpoint(None, &VERBS, served, Behind::Store(store));
        Ok(ServedVersion { resource, status, scale })
    }

    /// The kind that every scale is of.
    fn scale_kind(&self, parts: &Parts) -> Option<Arc<dyn Served>> {
        let of = self.ground.resources.find("apps", "v1", "deployments/scale")?;
        let mut served = Builtin::new(of, None).shown_by(Arc::new(Columns(columns::Columns::of_scale())));
        if let Some(warning) = &parts.deprecation {
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
