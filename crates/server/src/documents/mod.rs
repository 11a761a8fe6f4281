//! The documents about what is served: discovery at `/api` and `/apis`, OpenAPI at `/openapi`.
//!
//! [`Documents`] is made from the list of group versions and can be given another list at any time. Nothing is made before
//! somebody asks for it; the documents of a group version stay until that group version changes. What is large is kept only
//! while it is among what was used last ([`bodies`]), and one at a time is made, so that neither many documents nor many
//! clients add up.

mod bodies;
mod content;
mod discovery;
mod openapi;
mod place;
mod served;

use std::sync::{Arc, PoisonError, RwLock};

use async_trait::async_trait;
use pintle_discovery::GroupVersion;
use pintle_openapi::{Documentation, Options, Undocumented};
use tokio::sync::Mutex;

use self::bodies::Bodies;
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
    served: RwLock<Arc<Served>>,
    bodies: Arc<Bodies>,
    /// Held by whoever makes a large document.
    making: Arc<Mutex<()>>,
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
    /// Of these group versions, in the order of discovery: versions of a group next to each other, the preferred first.
    pub fn new(config: DocumentsConfig, versions: Vec<GroupVersion>) -> Documents {
        let served = Served::new(versions, config.logs, None);
        Documents {
            config: Arc::new(config),
            served: RwLock::new(Arc::new(served)),
            bodies: Arc::new(Bodies::new(KEPT)),
            making: Arc::default(),
        }
    }

    /// From now on, these group versions are served. Documents of those that are the same as before stay.
    pub fn serve(&self, versions: Vec<GroupVersion>) {
        let mut served = self.served.write().unwrap_or_else(PoisonError::into_inner);
        *served = Arc::new(Served::new(versions, self.config.logs, Some(&served)));
        self.bodies.retain(|slot| served.has(slot));
    }

    /// Whether a path is answered here: documents, and whatever is below a group version that is not served.
    pub fn owns(&self, path: &str) -> bool {
        match Place::of(path) {
            None => false,
            Some(Place::Resource(group, version)) => self.served().version(group, version).is_none(),
            Some(_) => true,
        }
    }

    /// The paths that the index shows for what is served.
    pub fn paths(&self) -> Vec<String> {
        let served = self.served();
        let mut paths: Vec<String> =
            ["/apis", "/apis/", "/openapi/v2", "/openapi/v3", "/openapi/v3/"].map(str::to_owned).into();
        for version in &served.versions {
            paths.push(version.path());
            paths.push(match version.group.as_str() {
                "" => "/api".to_owned(),
                group => format!("/apis/{group}"),
            });
        }
        paths.sort_unstable();
        paths.dedup();
        paths
    }

    fn served(&self) -> Arc<Served> {
        self.served.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// All names of [`CountedAs`].
pub(crate) const COUNTED: [&str; 4] = ["api", "apis", "openapi/v3", "openapi/v3/"];

#[async_trait]
impl Handler for Documents {
    async fn handle(&self, request: Box<Request>) -> Response {
        let served = self.served();
        let path = request.info.path.clone();
        match Place::of(&path) {
            Some(Place::Api) => discovery::api(&self.config, &served, &request),
            Some(Place::Apis) => discovery::apis(&served, &request),
            Some(Place::ApisSlash) => discovery::group_list(&served, &request),
            Some(Place::Group(group)) => discovery::group(&served, &request, group),
            Some(Place::Version(group, version)) => {
                discovery::version(&self.config, &served, &request, group, version)
            }
            Some(Place::Resource(group, _)) => discovery::missing(&served, group),
            Some(Place::OpenApiV2) => self.v2(&served, &request).await,
            Some(Place::OpenApiV3) => {
                let mut response = self.v3_index(&served, &request).await;
                response.extensions_mut().insert(CountedAs("openapi/v3"));
                response
            }
            Some(Place::OpenApiV3Of(name)) => {
                let mut response = self.v3(&served, &request, name).await;
                response.extensions_mut().insert(CountedAs("openapi/v3/"));
                response
            }
            None => respond::not_found(),
        }
    }
}
