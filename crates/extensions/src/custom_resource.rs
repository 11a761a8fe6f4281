//! From a definition to its endpoints, made by the first request for its objects.
//!
//! ```text
//! definition -> Summary, version specs -> VersionSchemas (compiled)
//! version    -> source of objects (the store, or a conversion webhook over it) -> cache -> Store + Strategy -> Endpoint
//! ```
//!
//! All of it stays the same until the definition changes.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use bytes::Bytes;
use pintle_admission::{Equivalent, ObjectConversion, ServedVersions};
use pintle_cache::{Feed, Kind, Limits, Resource};
use pintle_codec::json;
use pintle_definitions::columns;
use pintle_definitions::object::Scale as ScalePaths;
use pintle_definitions::paths::Path;
use pintle_meta::gvk::GroupVersionResource;
use pintle_meta::{Status, Value};
use pintle_registry::{Context, Guard, Result, Served, Store, StoreConfig, StorePolicy};
use pintle_resources::served::Version as Builtin;
use pintle_resources::subresources::Scale;
use pintle_schema::Resources;
use pintle_server::lifecycle::Signal;
use pintle_server::rest::{Endpoint, EndpointConfig, Implementation};
use pintle_storage::Backend;
use tokio::sync::OnceCell;

use crate::columns::Columns;
use crate::conversion::{ConvertingBackend, ConvertingBackendConfig, Webhook, WebhookEnvironment};
use crate::definition::{self, Summary, VersionSpec};
use crate::encoding::StoredAs;
use crate::scale::Replicas;
use crate::schemas::{Cached, StoredVersion, VersionSchemas, Write};
use crate::strategy::{self, Custom};
use crate::version::{EquivalentVersions, ServedVersion};

/// Byte budget of the cache of converted objects of a version.
const REMEMBERED: usize = 4 << 20;

/// The storage that all custom resources share.
#[derive(Clone)]
pub(crate) struct ResourceStorage {
    pub(crate) backend: Arc<dyn Backend>,
    pub(crate) feed: Arc<Feed>,
    /// Prefix of all keys, with slashes around it.
    pub(crate) root: String,
    pub(crate) resources: Arc<Resources>,
    pub(crate) webhooks: WebhookEnvironment,
    pub(crate) policy: Arc<StorePolicy>,
    pub(crate) stored_as: StoredAs,
}

/// The resource that a definition defines. Nothing of it changes: a changed definition has another one.
pub(crate) struct CustomResource {
    storage: ResourceStorage,
    summary: Summary,
    schemas: Arc<VersionSchemas>,
    /// In the order of the definition.
    versions: Vec<Version>,
    /// The conversion webhook, where versions differ in more than their name; or the reason why it cannot be used.
    converter: Option<std::result::Result<Arc<Webhook>, String>>,
    /// The objects as they are stored. Definitions that follow one another each have a cache of their own: the meaning of a value
    /// depends on the schema.
    cache: OnceLock<Arc<Resource>>,
    guard: Arc<Closed>,
    /// A store of the objects in whatever version they are stored in, for counting and deleting them.
    stored: OnceLock<Arc<Store>>,
}

/// A version of the resource, and its endpoints if it is served.
struct Version {
    name: String,
    status: bool,
    scale: Option<ScalePaths>,
    columns: columns::Columns,
    deprecation: Option<String>,
    /// Set when the watches of the version end; `None` where it is not served.
    ended: Option<Signal>,
    /// Made by the first request.
    endpoints: OnceCell<Endpoints>,
}

/// The endpoints of a version.
pub(crate) struct Endpoints {
    pub(crate) resource: Arc<Endpoint>,
    pub(crate) status: Option<Arc<Endpoint>>,
    pub(crate) scale: Option<Arc<Endpoint>>,
}

const VERBS: [&str; 8] = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];
const ENDED: &str = "CustomResourceVersionEnded";
const SUBRESOURCE_VERBS: [&str; 3] = ["get", "patch", "update"];

impl CustomResource {
    /// `terminating` says whether the definition is being deleted, and `watches` when those of a version end.
    pub(crate) fn new(
        storage: &ResourceStorage,
        summary: Summary,
        definition: &Value,
        terminating: &Arc<AtomicBool>,
        watches: &[WatchLifetime],
    ) -> std::result::Result<CustomResource, String> {
        let specs = definition::versions(definition);
        let preserves = definition.at(&["spec", "preserveUnknownFields"]).and_then(Value::as_bool);
        let schemas = VersionSchemas::compile(&summary, &specs, preserves == Some(true))?;
        let versions = specs.iter().map(|spec| Version {
            name: spec.name.to_owned(),
            status: spec.status,
            scale: spec.scale.clone(),
            columns: columns::Columns::compile(spec.columns),
            deprecation: spec.deprecation.clone(),
            ended: spec.served.then(|| WatchLifetime::ended(watches, spec.name)),
            endpoints: OnceCell::new(),
        });
        let versions = versions.collect();
        let converter = match definition.text_at(&["spec", "conversion", "strategy"]) {
            "Webhook" => Some(Webhook::new(definition, &storage.webhooks).map(Arc::new)),
            _ => None,
        };
        let guard = Arc::new(Closed {
            group: summary.group.clone(),
            resource: summary.accepted.plural.clone(),
            terminating: terminating.clone(),
        });
        let webhook = converter.as_ref().and_then(|converter| converter.as_ref().ok()).cloned();
        let schemas = Arc::new(schemas.converted_by(webhook.map(|webhook| webhook as _)));
        Ok(CustomResource {
            storage: storage.clone(),
            summary,
            schemas,
            versions,
            converter,
            cache: OnceLock::new(),
            guard,
            stored: OnceLock::new(),
        })
    }

    /// Returns the endpoints of a version, if it is served; or the reason why it cannot be.
    pub(crate) async fn version(&self, name: &str) -> Option<std::result::Result<&Endpoints, String>> {
        let is_served = |version: &&Version| version.name == name && version.ended.is_some();
        let index = self.versions.iter().position(|version| is_served(&version))?;
        Some(self.versions[index].endpoints.get_or_try_init(|| self.endpoints(index)).await)
    }

    /// Returns a store of the objects in whatever version they are stored in.
    pub(crate) fn stored(&self) -> &Arc<Store> {
        self.stored
            .get_or_init(|| Arc::new(self.store(&self.as_stored(), self.schemas.storage, Write::AsItIs)))
    }
}

/// The lifetime of the watches of a version. Definitions that serve the version alike share it, so that their watches go on.
#[derive(Clone)]
pub(crate) struct WatchLifetime {
    version: String,
    /// A hash of all parts of the definition that watchers of the version notice.
    fingerprint: u64,
    ended: Signal,
}

impl WatchLifetime {
    /// Returns the lifetimes of all served versions of a definition, where `before` are those of its predecessor. Watches of versions
    /// that are not served any more, or not as they were, end.
    pub(crate) fn of_versions(definition: &Value, before: &[WatchLifetime]) -> Vec<WatchLifetime> {
        let versions = definition::versions(definition).into_iter().filter(|spec| spec.served);
        let next: Vec<WatchLifetime> = versions
            .map(|spec| {
                let fingerprint = fingerprint(definition, &spec);
                let known = before
                    .iter()
                    .find(|known| known.version == spec.name && known.fingerprint == fingerprint);
                known.cloned().unwrap_or_else(|| WatchLifetime {
                    version: spec.name.to_owned(),
                    fingerprint,
                    ended: Signal::new(ENDED),
                })
            })
            .collect();
        let goes_on = |known: &WatchLifetime| {
            next.iter().any(|next| next.version == known.version && next.fingerprint == known.fingerprint)
        };
        before.iter().filter(|known| !goes_on(known)).for_each(WatchLifetime::end);
        next
    }

    pub(crate) fn end(&self) {
        self.ended.set();
    }

    #[cfg(test)]
    pub(crate) fn has_ended(&self) -> bool {
        self.ended.is_set()
    }

    /// Returns the signal that ends the watches of a version. A version that the definition does not serve has ended, so that
    /// clients retry with the next definition.
    fn ended(watches: &[WatchLifetime], version: &str) -> Signal {
        let known = watches.iter().find(|known| known.version == version).map(|known| known.ended.clone());
        known.unwrap_or_else(|| {
            let ended = Signal::new(ENDED);
            ended.set();
            ended
        })
    }
}

/// Returns a hash of everything about a version that its watchers would notice.
fn fingerprint(definition: &Value, spec: &VersionSpec<'_>) -> u64 {
    let mut hasher = DefaultHasher::new();
    definition.text_at(&["status", "acceptedNames", "kind"]).hash(&mut hasher);
    let shared = ["conversion", "preserveUnknownFields"].map(|field| definition.at(&["spec", field]));
    for part in shared.into_iter().chain([spec.schema]) {
        let mut text = Vec::new();
        json::encode(part.unwrap_or(&Value::NULL), &mut text);
        text.hash(&mut hasher);
    }
    for list in [spec.columns, spec.selectable] {
        let mut text = Vec::new();
        list.iter().for_each(|item| json::encode(item, &mut text));
        text.hash(&mut hasher);
    }
    hasher.finish()
}

/// Returns the prefix of the keys of a definition's objects.
pub(crate) fn prefix(storage: &ResourceStorage, summary: &Summary) -> Bytes {
    Bytes::from(format!("{}{}/{}/", storage.root, summary.group, summary.accepted.plural))
}

/// The source of the objects of a version.
struct Source {
    backend: Arc<dyn Backend>,
    cache: Arc<Resource>,
    /// The feed of the version, where it is not that of the whole store.
    feed: Option<Arc<Feed>>,
}

impl CustomResource {
    fn prefix(&self) -> Bytes {
        prefix(&self.storage, &self.summary)
    }

    /// The objects as the store has them.
    fn as_stored(&self) -> Source {
        let kind = || Arc::new(Cached { schemas: self.schemas.clone(), converted: false });
        let cache = self.cache.get_or_init(|| self.storage.feed.separate(self.prefix(), kind()));
        Source { backend: self.storage.backend.clone(), cache: cache.clone(), feed: None }
    }

    /// The objects in a version.
    async fn source(&self, place: usize) -> std::result::Result<Source, String> {
        let Some(converter) = &self.converter else { return Ok(self.as_stored()) };
        let converter = converter.clone()?;
        let api_version = |place: usize| self.schemas.versions[place].api_version.clone();
        let backend: Arc<dyn Backend> = Arc::new(ConvertingBackend::new(ConvertingBackendConfig {
            store: self.storage.backend.clone(),
            converter,
            schemas: self.schemas.clone(),
            served: api_version(place),
            storage: api_version(self.schemas.storage),
            stored_as: self.storage.stored_as,
            remember: REMEMBERED,
        }));
        let feed = Feed::start(backend.clone(), self.prefix(), Limits::default()).await;
        let feed = Arc::new(feed.map_err(|error| error.to_string())?);
        let kind =
            || -> Arc<dyn Kind> { Arc::new(Cached { schemas: self.schemas.clone(), converted: true }) };
        let cache = feed.resource(self.prefix(), kind);
        Ok(Source { backend, cache, feed: Some(feed) })
    }

    fn custom(&self, place: usize) -> Custom {
        Custom {
            schemas: self.schemas.clone(),
            place,
            namespaced: self.summary.namespaced,
            has_status: self.versions[place].status,
            scale: self.versions[place].scale.clone(),
            metrics: self.storage.webhooks.metrics.clone(),
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
                schemas: self.schemas.clone(),
                place,
                write,
                stored_as: self.storage.stored_as,
            }),
            strategy: Arc::new(self.custom(place)),
        })
        .with_clock(self.storage.webhooks.clock.clone())
        .with_random(self.storage.webhooks.random.clone())
        .with_options(self.storage.policy.of(&self.summary.group, &self.summary.accepted.plural))
    }

    async fn endpoints(&self, place: usize) -> std::result::Result<Endpoints, String> {
        let version = &self.versions[place];
        let source = self.source(place).await?;
        let write = if self.converter.is_some() { Write::AsServed } else { Write::Renamed };
        let store = Arc::new(self.store(&source, place, write).with_guard(self.guard.clone()));
        let served: Arc<dyn Served> = Arc::new(ServedVersion {
            kind: definition::kind(&self.summary, &version.name),
            list_kind: self.summary.accepted.list_kind.clone(),
            namespaced: self.summary.namespaced,
            schemas: self.schemas.clone(),
            place,
            columns: Columns(version.columns.clone()),
            deprecation: version.deprecation.clone(),
            _feed: source.feed,
        });
        let equivalents = self.equivalents();
        let conversion: Arc<dyn ObjectConversion> = Arc::new(EquivalentVersions {
            schemas: self.schemas.clone(),
            place,
            equivalents: equivalents.clone(),
        });
        let endpoint = |part: Option<&str>,
                        verbs: &[&'static str],
                        served: Arc<dyn Served>,
                        implementation: Implementation| {
            let conversion = match implementation {
                Implementation::Store(_) => conversion.clone(),
                // A scale is of one kind, whatever the version of its object.
                _ => Arc::new(ServedVersions::new(
                    equivalents.iter().map(|found| (found.resource.clone(), served.clone())),
                )),
            };
            Arc::new(Endpoint::new(EndpointConfig {
                group: self.summary.group.clone(),
                version: version.name.clone(),
                resource: self.summary.accepted.plural.clone(),
                subresource: part.map(str::to_owned),
                namespaced: self.summary.namespaced,
                verbs: verbs.to_vec(),
                served,
                implementation,
                conversion,
                is_custom: true,
                removed: version.ended.clone(),
            }))
        };
        let status = version.status.then(|| {
            let rules = Arc::new(strategy::Status(self.custom(place)));
            let implementation = Implementation::Store(Arc::new(store.with_strategy(rules)));
            endpoint(Some("status"), &SUBRESOURCE_VERBS, served.clone(), implementation)
        });
        let scale = version.scale.as_ref().zip(self.scale_kind(version)).map(|(paths, kind)| {
            let api_version = |version: &Version| format!("{}/{}", self.summary.group, version.name);
            let replicas = self
                .versions
                .iter()
                .filter_map(|version| Some((api_version(version), version.scale.as_ref()?)));
            let replicas = replicas.map(|(version, scale)| (version, Path::parse(&scale.spec_replicas)));
            let scale = Replicas::new(paths, api_version(version), replicas.collect());
            let scale = Scale::of(store.clone(), scale);
            endpoint(Some("scale"), &SUBRESOURCE_VERBS, kind, Implementation::Subresource(Arc::new(scale)))
        });
        let resource = endpoint(None, &VERBS, served, Implementation::Store(store));
        Ok(Endpoints { resource, status, scale })
    }

    /// Returns the resource in all served versions.
    fn equivalents(&self) -> Vec<Equivalent> {
        let (group, plural) = (&self.summary.group, &self.summary.accepted.plural);
        let served = self.versions.iter().filter(|version| version.ended.is_some());
        let equivalent = |version: &Version| Equivalent {
            resource: GroupVersionResource::new(group.as_str(), version.name.as_str(), plural.as_str()),
            kind: definition::kind(&self.summary, &version.name),
        };
        served.map(equivalent).collect()
    }

    /// The kind that every scale is of.
    fn scale_kind(&self, version: &Version) -> Option<Arc<dyn Served>> {
        let of = self.storage.resources.find("apps", "v1", "deployments/scale")?;
        let mut served = Builtin::new(of, None).shown_by(Arc::new(Columns(columns::Columns::of_scale())));
        if let Some(warning) = &version.deprecation {
            served = served.deprecated(warning);
        }
        Some(Arc::new(served))
    }
}

/// Refuses creates while the definition is being deleted.
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

#[cfg(test)]
mod tests {
    use pintle_registry::testing::object;

    use super::*;

    fn definition(spec: &str, version: &str) -> Value {
        object(&format!(
            r#"{{"metadata":{{"name":"boats.example.com"}},"spec":{{"group":"example.com"{spec},
            "versions":[{{"name":"v1","served":true,"storage":true{version}}}]}}}}"#
        ))
    }

    /// Each change that watchers of a version notice ends its watches, alone.
    #[test]
    fn watches_of_a_changed_version_end() {
        let changes = [
            ("", "", false),
            ("", r#","deprecated":true"#, false),
            (r#","scope":"Cluster""#, "", false),
            (r#","preserveUnknownFields":true"#, "", true),
            (r#","conversion":{"strategy":"Webhook"}"#, "", true),
            ("", r#","schema":{"openAPIV3Schema":{"type":"object"}}"#, true),
            ("", r#","selectableFields":[{"jsonPath":".spec.color"}]"#, true),
            (
                "",
                r#","additionalPrinterColumns":[{"name":"Age","jsonPath":".metadata.creationTimestamp"}]"#,
                true,
            ),
        ];
        for (spec, version, ends) in changes {
            let before = WatchLifetime::of_versions(&definition("", ""), &[]);
            let after = WatchLifetime::of_versions(&definition(spec, version), &before);
            assert_eq!(before[0].has_ended(), ends, "{spec}{version}");
            assert!(!after[0].has_ended(), "{spec}{version}");
        }
    }
}
