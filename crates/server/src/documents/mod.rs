//! The documents about group versions: discovery at `/api` and `/apis`, OpenAPI at `/openapi`.
//!
//! [`Documents`] merges any number of [`GroupSource`]s: the built-in group versions, custom resources, remote servers. A source
//! whose stamp has not changed costs nothing; a change costs the same however many definitions there are. A document is made
//! when a client asks for it and stays until its group version changes. Large bodies are cached by use ([`bodies`]) and made one
//! at a time, so that neither many documents nor many clients add up.

mod body_cache;
mod content;
mod definition;
mod discovery;
mod document_path;
mod openapi;
mod served;

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use async_trait::async_trait;
use pintle_discovery::{Contribution, GroupSource, GroupVersion, Publisher};
use pintle_openapi::{Documentation, Options, Undocumented};
use pintle_runtime::Clock;
use tokio::sync::Mutex;

use self::body_cache::BodyCache;
use self::document_path::DocumentPath;
use self::openapi::Maker;
use self::served::Served;
use crate::filter::Handler;
use crate::{Request, Response, respond};

/// Byte budget of the cache of large documents: about one OpenAPI document of everything in two encodings.
const KEPT: usize = 4 << 20;

/// Properties of the server that documents mention.
pub struct DocumentsConfig {
    /// The server's address for clients: `host:port`.
    pub address: String,
    /// Major and minor: `1.36`.
    pub version: String,
    /// Whether OpenAPI lists the values of enums (feature gate `OpenAPIEnums`).
    pub enums: bool,
    /// Whether CBOR is spoken (feature gate `CBORServingAndStorage`).
    pub cbor: bool,
    /// Whether OpenAPI has `/logs`.
    pub logs: bool,
    pub documentation: &'static dyn Documentation,
    /// Dates documents.
    pub clock: Clock,
}

/// The name under which metrics count a response; most have none.
#[derive(Clone, Copy)]
pub(crate) struct RouteName(pub(crate) &'static str);

/// The handler of all documents.
pub struct Documents {
    config: Arc<DocumentsConfig>,
    served: RwLock<Served>,
    maker: Arc<Maker>,
    bodies: Arc<BodyCache>,
    /// Held while a large document is made.
    making: Arc<Mutex<()>>,
    sources: std::sync::Mutex<Vec<Source>>,
}

/// A source of group versions, and its stamp when its changes were last taken.
struct Source {
    source: Arc<dyn GroupSource>,
    stamp: Option<u64>,
}

impl Default for DocumentsConfig {
    fn default() -> DocumentsConfig {
        DocumentsConfig {
            address: String::new(),
            version: String::new(),
            enums: true,
            cbor: false,
            logs: false,
            documentation: &Undocumented,
            clock: Clock::system(),
        }
    }
}

impl DocumentsConfig {
    fn options(&self) -> Options<'_> {
        Options {
            version: &self.version,
            enums: self.enums,
            cbor: self.cbor,
            documentation: self.documentation,
        }
    }
}

impl Documents {
    /// Returns documents of these built-in group versions, in the order of discovery: versions of a group next to each other,
    /// the preferred first.
    pub fn new(config: DocumentsConfig, versions: Vec<GroupVersion>) -> Documents {
        let builtin = Publisher::default();
        builtin.publish("builtin", Some(Contribution::Builtin(versions)));
        Documents::with_builtin(config, Arc::new(builtin))
    }

    /// Returns documents whose first source has the built-in group versions.
    pub fn with_builtin(config: DocumentsConfig, builtin: Arc<dyn GroupSource>) -> Documents {
        let config = Arc::new(config);
        let documents = Documents {
            served: RwLock::new(Served::new(Vec::new(), config.logs)),
            maker: Arc::new(Maker::new(Arc::clone(&config))),
            config,
            bodies: Arc::new(BodyCache::new(KEPT)),
            making: Arc::default(),
            sources: std::sync::Mutex::default(),
        };
        documents.add_source(builtin);
        documents
    }

    /// Adds a source. A group version that is built in stays as it is, whatever other sources have; one of a remote server
    /// comes before custom resources.
    pub fn add_source(&self, source: Arc<dyn GroupSource>) {
        let mut sources = self.sources.lock().unwrap_or_else(PoisonError::into_inner);
        sources.push(Source { source, stamp: None });
        drop(sources);
        self.update();
    }

    /// Takes the changes of sources whose stamps have changed. Documents that they have no part in stay.
    fn update(&self) {
        let mut sources = self.sources.lock().unwrap_or_else(PoisonError::into_inner);
        for (index, Source { source, stamp }) in sources.iter_mut().enumerate() {
            let now = source.stamp();
            if stamp.replace(now) == Some(now) {
                continue;
            }
            let mut stale = Vec::new();
            let changes = source.take_changes();
            let mut served = self.served.write().unwrap_or_else(PoisonError::into_inner);
            for (key, contribution) in changes {
                stale.extend(served.set(index, key, contribution, self.config.logs));
            }
            drop(served);
            if !stale.is_empty() {
                self.bodies.retain(|document| !stale.iter().any(|stale| Arc::ptr_eq(stale, document)));
            }
        }
    }

    /// Returns whether a path is that of a document.
    pub fn owns(&self, path: &str) -> bool {
        !matches!(DocumentPath::parse(path), None | Some(DocumentPath::Resource(..)))
    }

    /// Returns whether a path is that of a group version whose server answers for itself.
    pub(crate) fn is_remote(&self, path: &str) -> bool {
        let Some(DocumentPath::Version(Some(group), version)) = DocumentPath::parse(path) else {
            return false;
        };
        self.update();
        self.served().is_remote(group, version)
    }

    /// The paths that the index shows for what is served.
    pub fn paths(&self) -> Vec<String> {
        self.update();
        let mut paths = self.served().paths();
        paths.extend(["/apis", "/apis/", "/openapi/v2", "/openapi/v3", "/openapi/v3/"].map(str::to_owned));
        paths.sort_unstable();
        paths.dedup();
        paths
    }

    fn served(&self) -> RwLockReadGuard<'_, Served> {
        // Nothing in there panics half way, so a poisoned lock guards a consistent value.
        self.served.read().unwrap_or_else(PoisonError::into_inner)
    }
}

/// All names of [`RouteName`].
pub(crate) const ROUTE_NAMES: [&str; 4] = ["api", "apis", "openapi/v3", "openapi/v3/"];

#[async_trait]
impl Handler for Documents {
    async fn handle(&self, request: Box<Request>) -> Response {
        self.update();
        let path = request.info.path.clone();
        match DocumentPath::parse(&path) {
            Some(DocumentPath::Api) => self.api(&request),
            Some(DocumentPath::Apis) => self.apis(&request),
            Some(DocumentPath::ApisSlash) => self.group_list(&request),
            Some(DocumentPath::Group(group)) => self.group(&request, group),
            Some(DocumentPath::Version(group, version)) => self.version(&request, group, version),
            Some(DocumentPath::OpenApiV2) => self.v2(&request).await,
            Some(DocumentPath::OpenApiV3) => {
                let mut response = self.v3_index(&request).await;
                response.extensions_mut().insert(RouteName("openapi/v3"));
                response
            }
            Some(DocumentPath::OpenApiV3Document(name)) => {
                let mut response = self.v3(&request, name).await;
                response.extensions_mut().insert(RouteName("openapi/v3/"));
                response
            }
            None | Some(DocumentPath::Resource(..)) => respond::not_found(),
        }
    }
}
