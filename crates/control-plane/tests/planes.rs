//! Several control planes in one process, each with its own features and clock, driven by kube-rs without any socket.

use std::collections::HashSet;
use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Weak};
use std::time::{Duration, SystemTime};

use http_body_util::{BodyExt, Full};
use k8s_openapi::api::apps::v1::{RollingUpdateStatefulSetStrategy, StatefulSet, StatefulSetUpdateStrategy};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::Client;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use kube::client::Body;
use pintle_control_plane::{Config, ControlPlane};
use pintle_features::{Feature, Features};
use pintle_runtime::{ManualClock, Random};
use pintle_server::filter::Handler;
use pintle_server::{Connection, Request};
use pintle_storage::Backend;
use pintle_storage_embedded::{Options, Store};
use serde_json::json;
use tower::service_fn;

const PATIENCE: Duration = Duration::from_secs(30);
const GATE: Feature = Feature::MaxUnavailableStatefulSet;

/// Returns a client whose requests go to a handler in this process.
fn client(handler: Arc<dyn Handler>) -> Client {
    let service = service_fn(move |request: http::Request<Body>| {
        let handler = handler.clone();
        async move {
            let (parts, body) = request.into_parts();
            let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 6443));
            let connection = Arc::new(Connection::new(address, address, Vec::new()));
            let body = body.collect_bytes().await.expect("a body in memory");
            let body = Full::new(body).map_err(|never: Infallible| match never {}).boxed();
            Ok::<_, Infallible>(handler.handle(Request::new(parts, body, connection)).await)
        }
    });
    Client::new(service, "default")
}

/// A control plane of a test, with what decides how it differs from others.
struct Plane {
    plane: ControlPlane,
    clock: Arc<ManualClock>,
    start: SystemTime,
    has_gate: bool,
    store: Weak<dyn Backend>,
}

impl Plane {
    async fn start(number: u64) -> Plane {
        let start = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000 + number * 100_000_000);
        let (clock, has_gate) = (ManualClock::starting_at(start), number.is_multiple_of(2));
        let backend: Arc<dyn Backend> = Arc::new(Store::open(Options::memory()).expect("a store"));
        let store = Arc::downgrade(&backend);
        let config = Config {
            features: Features::default().with(GATE, has_gate),
            clock: clock.clock(),
            random: Random::seeded(number),
            ..Config::new().expect("a configuration")
        };
        let plane = ControlPlane::start(backend, config).await.expect("a control plane");
        let is_started = plane.is_started();
        eventually("post-start hooks are done", is_started).await;
        Plane { plane, clock, start, has_gate, store }
    }

    fn client(&self) -> Client {
        client(self.plane.handler())
    }

    /// Returns the present of this plane in seconds.
    fn now(&self) -> i64 {
        let now = self.clock.clock().now().duration_since(SystemTime::UNIX_EPOCH);
        now.expect("after 1970").as_secs().try_into().expect("a small number")
    }

    /// Drives the plane as a client, and checks what depends on its features and clock.
    async fn drive(&self) {
        assert!(self.clock.clock().now() >= self.start);
        self.creates_and_watches_config_maps().await;
        self.drops_fields_of_disabled_features().await;
    }

    async fn creates_and_watches_config_maps(&self) {
        let maps: Api<ConfigMap> = Api::namespaced(self.client(), "default");
        let params = WatchParams::default().timeout(290);
        let mut watch = Box::pin(maps.watch(&params, "0").await.expect("a watch"));
        for round in 0..3 {
            self.clock.advance(Duration::from_secs(60));
            let name = format!("map-{round}");
            let map = json!({ "metadata": { "name": name }, "data": { "round": round.to_string() } });
            let map: ConfigMap = serde_json::from_value(map).expect("a ConfigMap");
            let created = maps.create(&PostParams::default(), &map).await.expect("created").metadata;
            let at = created.creation_timestamp.expect("a time").0.as_second();
            assert_eq!(at, self.now(), "objects are created at the plane's time");
            let manager = &created.managed_fields.expect("managers")[0];
            assert_eq!(manager.time.as_ref().map(|time| time.0.as_second()), Some(at));
        }
        self.clock.advance(Duration::from_secs(60));
        let patch = Patch::Merge(json!({ "data": { "more": "yes" } }));
        let patched = maps.patch("map-0", &PatchParams::default(), &patch).await.expect("patched").metadata;
        let times: Vec<_> = patched.managed_fields.expect("managers").into_iter().map(|of| of.time).collect();
        assert!(times.iter().flatten().any(|time| time.0.as_second() == self.now()), "{times:?}");
        maps.delete("map-1", &DeleteParams::default()).await.expect("deleted");

        let mut seen = HashSet::new();
        while seen.len() < 5 {
            let event = futures_util::StreamExt::next(&mut watch);
            let event = tokio::time::timeout(PATIENCE, event).await.expect("in time");
            let (kind, map) = match event.expect("an event").expect("no error") {
                WatchEvent::Added(map) => ("added", map),
                WatchEvent::Modified(map) => ("modified", map),
                WatchEvent::Deleted(map) => ("deleted", map),
                WatchEvent::Bookmark(_) => continue,
                other => panic!("{other:?}"),
            };
            let name = map.metadata.name.expect("a name");
            if name.starts_with("map-") {
                seen.insert((kind, name));
            }
        }
        let left = maps.list(&ListParams::default()).await.expect("a list").items;
        let left: Vec<_> = left.iter().filter_map(|map| map.metadata.name.as_deref()).collect();
        assert!(left.contains(&"map-0") && !left.contains(&"map-1"), "{left:?}");
    }

    async fn drops_fields_of_disabled_features(&self) {
        let sets: Api<StatefulSet> = Api::namespaced(self.client(), "default");
        let labels = json!({ "app": "a" });
        let container = json!({ "name": "c", "image": "i" });
        let set = json!({ "metadata": { "name": "set" }, "spec": {
            "serviceName": "s",
            "selector": { "matchLabels": labels },
            "template": { "metadata": { "labels": labels }, "spec": { "containers": [container] } },
        } });
        let mut set: StatefulSet = serde_json::from_value(set).expect("a StatefulSet");
        let update = RollingUpdateStatefulSetStrategy {
            max_unavailable: Some(IntOrString::Int(2)),
            ..RollingUpdateStatefulSetStrategy::default()
        };
        set.spec.as_mut().expect("a spec").update_strategy = Some(StatefulSetUpdateStrategy {
            rolling_update: Some(update),
            type_: Some("RollingUpdate".into()),
        });
        let created = sets.create(&PostParams::default(), &set).await.expect("created");
        let strategy = created.spec.expect("a spec").update_strategy.expect("a strategy");
        let has_field = strategy.rolling_update.is_some_and(|update| update.max_unavailable.is_some());
        assert_eq!(has_field, self.has_gate, "a field of a feature is kept where the feature is on");
    }
}

async fn eventually(what: &str, condition: impl Fn() -> bool) {
    let waiting = async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    assert!(tokio::time::timeout(PATIENCE, waiting).await.is_ok(), "{what}");
}

fn open_files() -> usize {
    std::fs::read_dir("/proc/self/fd").expect("a directory").count()
}

#[test]
fn five_control_planes_live_in_one_process_and_leave_nothing_behind() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.expect("a runtime");
    let (files, metrics) = (open_files(), runtime.metrics());
    let before = metrics.num_alive_tasks();
    runtime.block_on(async {
        let planes = futures_util::future::join_all((0..5).map(Plane::start)).await;
        futures_util::future::join_all(planes.iter().map(Plane::drive)).await;
        // Objects of one plane are in no other.
        for plane in &planes {
            let namespaces: Api<Namespace> = Api::all(plane.client());
            let name = format!("of-{}", plane.now());
            let own = json!({ "metadata": { "name": name } });
            let own: Namespace = serde_json::from_value(own).expect("a Namespace");
            namespaces.create(&PostParams::default(), &own).await.expect("created");
            let all = namespaces.list(&ListParams::default()).await.expect("a list").items;
            assert_eq!(
                all.iter()
                    .filter(|other| other.metadata.name.iter().any(|name| name.starts_with("of-")))
                    .count(),
                1
            );
        }
        // A watch that is open when its plane ends.
        let maps: Api<ConfigMap> = Api::namespaced(planes[0].client(), "default");
        let mut open = Box::pin(maps.watch(&WatchParams::default(), "0").await.expect("a watch"));
        let ended =
            tokio::spawn(async move { while futures_util::StreamExt::next(&mut open).await.is_some() {} });
        // A client has a task of its own.
        drop(maps);
        let stores: Vec<_> = planes.iter().map(|plane| plane.store.clone()).collect();
        for (number, plane) in planes.into_iter().enumerate() {
            assert!(plane.plane.task_count() > 0);
            if number < 3 {
                plane.plane.stop().await.expect("a clean end");
            } else {
                drop(plane);
            }
        }
        tokio::time::timeout(PATIENCE, ended).await.expect("in time").expect("the watch ends with its plane");
        eventually("no task is left", || metrics.num_alive_tasks() <= before).await;
        eventually("no store is left", || stores.iter().all(|store| store.strong_count() == 0)).await;
    });
    drop(runtime);
    assert_eq!(open_files(), files, "no file is left open");
}
