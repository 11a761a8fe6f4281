//! The documents about what is served: discovery at `/api` and `/apis`, OpenAPI at `/openapi`.
//!
//! [`Documents`] is made from the list of built-in group versions; custom resources are set and removed one definition at a
//! time, which costs the same however many there are. Nothing is made before somebody asks for it; the documents of a group
//! version stay until that group version changes. What is large is kept only
//! while it is among what was used last ([`bodies`]), and one at a time is made, so that neither many documents nor many
//! clients add up.

mod bodies;
mod content;
mod custom;
mod discovery;
mod openapi;
mod place;
mod served;

use std::sync::{Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use async_trait::async_trait;
use pintle_discovery::{Custom, GroupVersion};
use pintle_openapi::{Documentation, Options, Undocumented};
use tokio::sync::Mutex;

use self::bodies::Bodies;
use self::openapi::Maker;
use self::place::Place;
use self::served::Served;
use crate::filter::Handler;
use crate::{Request, Response, respond};

/// How much of large documents is kept, in bytes: about one OpenAPI document of everything in two forms.
const KEPT: usize = 4 << 20;

/// What the documents say besides what is served.
pub struct DocumentsConfig {
    /// Where clients find the server: `host:port`.
    pub address: String,
    /// Major and minor: `1.36`.
    pub version: String,
    /// Whether OpenAPI says which values a field may have (feature gate `OpenAPIEnums`).
    pub enums: bool,
    /// Whether CBOR is spoken (feature gate `CBORServingAndStorage`).
    pub cbor: bool,
    /// Whether OpenAPI tells of `/logs`.
    pub logs: bool,
    pub documentation: &'static dyn Documentation,
}

/// Under which name an answer is counted; most are not.
#[derive(Clone, Copy)]
pub(crate) struct CountedAs(pub(crate) &'static str);

/// Serves them.
pub struct Documents {
    config: Arc<DocumentsConfig>,
    served: RwLock<Served>,
    maker: Arc<Maker>,
    bodies: Arc<Bodies>,
    /// Held by whoever makes a large document.
    making: Arc<Mutex<()>>,
    /// Called before anything is answered: sees to it that the newest definitions are known.
    refresh: OnceLock<Box<dyn Fn() + Send + Sync>>,
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
    /// Of these built-in group versions, in the order of discovery: versions of a group next to each other, the preferred
    /// first.
    pub fn new(config: DocumentsConfig, versions: Vec<GroupVersion>) -> Documents {
        let served = Served::new(versions, config.logs);
        let config = Arc::new(config);
        Documents {
            maker: Arc::new(Maker::new(Arc::clone(&config))),
            config,
            served: RwLock::new(served),
            bodies: Arc::new(Bodies::new(KEPT)),
            making: Arc::default(),
            refresh: OnceLock::new(),
        }
    }

    /// Has somebody look for what is new before anything is answered. Set once.
    pub fn refresh_with(&self, refresh: impl Fn() + Send + Sync + 'static) {
        let _ = self.refresh.set(Box::new(refresh));
    }

    /// From now on, these built-in group versions are served. Documents of those that are the same as before stay.
    pub fn serve(&self, versions: Vec<GroupVersion>) {
        let mut served = self.served_mut();
        served.serve(versions, self.config.logs);
        self.bodies.retain(|slot| served.has(slot));
    }

    /// From now on, the definition of this name is served like this, or not at all. A group version that is built in stays
    /// as it is, whatever definitions say. Nothing happens if nothing has changed ([`Custom`]'s equality).
    pub fn set_custom(&self, name: &str, custom: Option<Custom>) {
        let stale = self.served_mut().set(name, custom);
        if !stale.is_empty() {
            self.bodies.retain(|slot| !stale.iter().any(|stale| Arc::ptr_eq(stale, slot)));
        }
    }

    /// Whether a path is that of a document.
    pub fn owns(&self, path: &str) -> bool {
        !matches!(Place::of(path), None | Some(Place::Resource(..)))
    }

    /// The paths that the index shows for what is served.
    pub fn paths(&self) -> Vec<String> {
        let mut paths = self.served().paths();
        paths.extend(["/apis", "/apis/", "/openapi/v2", "/openapi/v3", "/openapi/v3/"].map(str::to_owned));
        paths.sort_unstable();
        paths.dedup();
        paths
    }

    fn served(&self) -> RwLockReadGuard<'_, Served> {
        // Nothing in there panics half way, so that whoever panicked elsewhere left it whole.
        self.served.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn served_mut(&self) -> RwLockWriteGuard<'_, Served> {
        self.served.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// All names of [`CountedAs`].
pub(crate) const COUNTED: [&str; 4] = ["api", "apis", "openapi/v3", "openapi/v3/"];

#[async_trait]
impl Handler for Documents {
    async fn handle(&self, request: Box<Request>) -> Response {
        if let Some(refresh) = self.refresh.get() {
            refresh();
        }
        let path = request.info.path.clone();
        match Place::of(&path) {
            Some(Place::Api) => self.api(&request),
            Some(Place::Apis) => self.apis(&request),
            Some(Place::ApisSlash) => self.group_list(&request),
            Some(Place::Group(group)) => self.group(&request, group),
            Some(Place::Version(group, version)) => self.version(&request, group, version),
            Some(Place::OpenApiV2) => self.v2(&request).await,
            Some(Place::OpenApiV3) => {
                let mut response = self.v3_index(&request).await;
                response.extensions_mut().insert(CountedAs("openapi/v3"));
                response
            }
            Some(Place::OpenApiV3Of(name)) => {
                let mut response = self.v3(&request, name).await;
                response.extensions_mut().insert(CountedAs("openapi/v3/"));
                response
            }
            None | Some(Place::Resource(..)) => respond::not_found(),
        }
    }
}
