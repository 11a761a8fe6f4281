//! For tests: a resource without a type, `boats.example.com`, served from a store in memory.

use std::borrow::Cow;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use bytes::Bytes;
use http::{Method, Request as HttpRequest};
use http_body_util::{BodyExt, Full};
use pintle_admission::{Chain, Plugin, ServedVersions};
use pintle_auth::{Attributes, Authorizer, Verdict};
use pintle_cache::{BodyFormat, Feed, Limits, Pool};
use pintle_codec::kind;
use pintle_codec::negotiate::{ENCODINGS, Encoding};
use pintle_codec::table::{Column, Completed, Empty};
use pintle_features::Features;
use pintle_meta::gvk::{GroupVersionKind, GroupVersionResource};
use pintle_meta::time::Time;
use pintle_meta::{Object, Value};
use pintle_patch::managed::Converter;
use pintle_patch::typed::TypeRef;
use pintle_registry::testing::Untyped;
use pintle_registry::{
    Received, Result, Served, Store, StoreConfig, StoreOptions, Strategy, Submitted, Table,
};
use pintle_runtime::{ManualClock, Random};
use pintle_schema::Type;
use pintle_storage::Backend;

use super::call::{Call, Shared};
use super::endpoint::{Endpoint, EndpointConfig, Implementation, StoredEndpoint};
use super::representation::Representation;
use super::route::Rest;
use super::verbs::watch;
use crate::lifecycle::{Signal, WatchTermination};
use crate::request_info::RequestInfo;
use crate::{Connection, Metrics, Request, Response};

const PREFIX: &[u8] = b"/registry/example.com/boats/";
pub(crate) const BOATS: &str = "/apis/example.com/v1/boats";

/// The settings of [`Boats`].
#[derive(Default)]
pub(crate) struct BoatsConfig {
    pub(crate) plugins: Vec<Arc<dyn Plugin>>,
    pub(crate) without_watch_cache: bool,
    /// The grace period of watches.
    pub(crate) watch_termination: Option<Duration>,
    pub(crate) implementation: Option<Implementation>,
}

/// A server of one resource.
pub(crate) struct Boats {
    pub(crate) rest: Rest,
    pub(crate) shutdown: Signal,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) backend: Arc<dyn Backend>,
    store: Arc<Store>,
    endpoint: Arc<Endpoint>,
    _feed: Feed,
}

impl Boats {
    pub(crate) async fn start(config: BoatsConfig) -> Boats {
        let options = pintle_storage_embedded::Options::memory();
        let backend: Arc<dyn Backend> = Arc::new(pintle_storage_embedded::Store::open(options).unwrap());
        let prefix = Bytes::from_static(PREFIX);
        let feed = Feed::start(backend.clone(), prefix.clone(), Limits::default()).await.unwrap();
        let store = Store::new(StoreConfig {
            group: "example.com".into(),
            resource: "boats".into(),
            kind: "Boat".into(),
            namespaced: false,
            prefix: prefix.clone(),
            backend: backend.clone(),
            cache: feed.resource(prefix, || Arc::new(Untyped)),
            stored: Arc::new(Untyped),
            strategy: Arc::new(BoatStrategy),
        });
        let options = StoreOptions { watch_cache: !config.without_watch_cache, ..StoreOptions::default() };
        let store = Arc::new(store.with_options(options));
        let served: Arc<dyn Served> =
            Arc::new(BoatVersion(GroupVersionKind::new("example.com", "v1", "Boat")));
        let endpoint = Endpoint::new(EndpointConfig {
            group: "example.com".into(),
            version: "v1".into(),
            resource: "boats".into(),
            subresource: None,
            namespaced: false,
            verbs: vec!["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"],
            conversion: Arc::new(ServedVersions::new([(GroupVersionResource::default(), served.clone())])),
            served,
            implementation: config.implementation.unwrap_or_else(|| Implementation::Store(store.clone())),
            is_custom: true,
            removed: None,
        });
        let (clock, shutdown) =
            (ManualClock::starting_at(SystemTime::UNIX_EPOCH), Signal::new("NotAcceptingNewRequest"));
        let rest = Rest::new(Shared {
            pool: Arc::new(Pool::new(1 << 20)),
            encodings: ENCODINGS,
            admission: Chain::new(config.plugins),
            authorizer: Arc::new(AllowAll),
            delete_workers: 1,
            min_request_timeout: Duration::from_secs(1800),
            metrics: Metrics::for_tests(),
            clock: clock.clock(),
            random: Random::seeded(1),
            features: Features::default(),
            parse_shards: None,
            shutdown: shutdown.clone(),
            termination: config.watch_termination.map(|grace| Arc::new(WatchTermination::new(grace))),
        });
        let endpoint = Arc::new(endpoint);
        Boats { rest, shutdown, clock, backend, store, endpoint, _feed: feed }
    }

    /// Answers `POST /path?query`, with headers and a body.
    pub(crate) async fn request(&self, line: &str, headers: &[(&str, &str)], body: &str) -> Response {
        self.rest.answer(&self.endpoint, request(line, headers, body)).await
    }

    /// Creates a boat.
    pub(crate) async fn create(&self, name: &str) {
        let response = self.request(&format!("POST {BOATS}"), &[JSON], &boat(name)).await;
        assert_eq!(response.status(), 201);
    }

    /// Opens a watch of JSON.
    pub(crate) async fn watch(&self, query: &str) -> watch::Stream {
        let mut request = request(&format!("GET {BOATS}?watch=1&{query}"), &[], "");
        let shared = self.rest.shared();
        let serving = StoredEndpoint {
            endpoint: self.endpoint.clone(),
            store: self.store.clone(),
            pool: shared.pool.clone(),
            clock: shared.clock.clone(),
            random: shared.random.clone(),
        };
        let call = Call {
            request: &mut request,
            representation: Representation::plain(Encoding::Json, false),
            shared,
            warnings: Vec::new(),
            notes: OnceLock::new(),
        };
        watch::open(&serving, &call).await.unwrap()
    }
}

/// The header of a JSON body.
pub(crate) const JSON: (&str, &str) = ("content-type", "application/json");

/// Returns the JSON of a boat.
pub(crate) fn boat(name: &str) -> String {
    format!(r#"{{"apiVersion":"example.com/v1","kind":"Boat","metadata":{{"name":"{name}"}}}}"#)
}

fn request(line: &str, headers: &[(&str, &str)], body: &str) -> Box<Request> {
    let (method, uri) = line.split_once(' ').unwrap();
    let mut builder = HttpRequest::builder().method(method).uri(uri);
    for (name, value) in headers {
        builder = builder.header(*name, *value);
    }
    let (parts, ()) = builder.body(()).unwrap().into_parts();
    let info = RequestInfo::parse(&method.parse::<Method>().unwrap(), &parts.uri).unwrap();
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let connection = Arc::new(Connection::new(address, address, Vec::new()));
    let body = Full::new(Bytes::from(body.to_owned())).map_err(|never| match never {}).boxed();
    let mut request = Request::new(parts, body, connection);
    request.info = info;
    request
}

/// Waits for the next frame of a streamed answer, and returns its text; `None` at the end.
pub(crate) async fn next_frame(response: &mut Response) -> Option<String> {
    let frame = tokio::time::timeout(Duration::from_secs(10), response.body_mut().frame());
    let frame = frame.await.expect("a frame in time")?;
    let data = frame.expect("no error of the body").into_data().expect("data");
    Some(String::from_utf8(data.to_vec()).unwrap())
}

struct BoatStrategy;

impl Strategy for BoatStrategy {
    fn allows_create_on_update(&self) -> bool {
        true
    }

    fn allows_unconditional_update(&self) -> bool {
        true
    }
}

struct AllowAll;

#[async_trait]
impl Authorizer for AllowAll {
    async fn authorize(&self, _: &Attributes<'_>) -> Verdict {
        Verdict::allow("")
    }
}

/// The only version of boats. Its table has no row for an object without a name, such as that of a bookmark.
struct BoatVersion(GroupVersionKind);

impl Served for BoatVersion {
    fn kind(&self) -> &GroupVersionKind {
        &self.0
    }

    fn read(&self, encoding: Encoding, body: &[u8]) -> Result<Submitted> {
        let untyped = kind::decode_untyped(encoding, body)
            .map_err(|unreadable| Box::new(unreadable.status(&self.0.kind, body)))?;
        Ok(Submitted { kind: untyped.kind, object: Ok(untyped.decoded.value), strict: Vec::new() })
    }

    fn parse(&self, text: &[u8]) -> std::result::Result<Received, String> {
        let untyped = kind::decode_untyped(Encoding::Json, text).map_err(|error| error.to_string())?;
        Ok(Received { object: untyped.decoded.value, strict: Vec::new() })
    }

    fn to_stored(&self, object: Value) -> std::result::Result<Value, String> {
        Ok(object)
    }

    fn to_served(&self, object: Value) -> Result<Value> {
        Ok(object)
    }

    fn body_format(&self, encoding: Encoding) -> Option<BodyFormat> {
        (encoding == Encoding::Json).then_some(BodyFormat(0))
    }

    fn write_protobuf(&self, _: &Value, _: &mut Vec<u8>) -> std::result::Result<(), String> {
        Err("boats have no protobuf form".into())
    }

    fn zero(&self) -> Value {
        let mut object = Object::new();
        object.insert("apiVersion", self.0.api_version());
        object.insert("kind", self.0.kind.as_str());
        object.insert("metadata", Object::new());
        object.into()
    }

    fn field_label(&self, label: &str, _: &str) -> std::result::Result<(String, String), String> {
        Err(format!("field label not supported: {label}"))
    }

    fn field_place(&self, _: &str) -> Option<usize> {
        None
    }

    fn managed_type(&self) -> TypeRef<'_> {
        TypeRef::Deduced
    }

    fn managed_versions(&self) -> &dyn Converter {
        self
    }

    fn strategic_type(&self) -> Option<&'static Type> {
        None
    }

    fn table(&self) -> Option<&dyn Table> {
        Some(self)
    }

    fn is_custom(&self) -> bool {
        true
    }

    fn internal_name(&self) -> String {
        "unstructured.Unstructured".into()
    }
}

impl Table for BoatVersion {
    fn columns(&self) -> Cow<'_, [Column<'_>]> {
        Cow::Borrowed(&[])
    }

    fn empty(&self) -> Empty {
        Empty::List
    }

    fn cells(&self, object: &Value, _: Time, _: &mut Vec<Value>) -> Result<Option<Completed>> {
        match object.name() {
            "" => Err(super::internal("a boat without a name")),
            _ => Ok(None),
        }
    }
}

impl Converter for BoatVersion {
    fn convert(
        &self,
        _: TypeRef<'_>,
        object: &Value,
        _: &str,
    ) -> std::result::Result<Option<(TypeRef<'_>, Value)>, String> {
        Ok(Some((TypeRef::Deduced, object.clone())))
    }
}
