//! The system's namespaces on a real store.

use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use async_trait::async_trait;
use bytes::Bytes;
use pintle_cache::{Feed, Limits};
use pintle_controllers::{SYSTEM_NAMESPACES, SystemNamespaces};
use pintle_meta::Value;
use pintle_registry::{
    AdmitAll, Context, DeleteOptions, Result, Store, StoreConfig, Transform, WriteOptions,
};
use pintle_resources::builtin::Builtin;
use pintle_resources::served::Version;
use pintle_resources::strategy;
use pintle_runtime::ManualClock;
use pintle_schema::Resources;
use pintle_storage_embedded::Options;

struct Fixture {
    store: Arc<Store>,
    controller: SystemNamespaces,
    _feed: Feed,
}

async fn fixture() -> Fixture {
    let backend = Arc::new(pintle_storage_embedded::Store::open(Options::memory()).unwrap());
    let feed = Feed::start(backend.clone(), Bytes::from_static(b"/r/"), Limits::default()).await.unwrap();
    let resources = Resources::builtin().unwrap();
    let namespaces = resources.find("", "v1", "namespaces").unwrap();
    let builtin = Builtin::new(namespaces.kind, &resources);
    let prefix = Bytes::from_static(b"/r/namespaces/");
    let config = StoreConfig {
        group: String::new(),
        resource: "namespaces".into(),
        kind: "Namespace".into(),
        namespaced: false,
        cache: feed.resource(prefix.clone(), || builtin.clone()),
        prefix,
        backend,
        stored: builtin.clone(),
        strategy: strategy::of("", "namespaces", &strategy::Settings::default()).unwrap(),
    };
    let clock = ManualClock::starting_at(UNIX_EPOCH + Duration::from_secs(1_700_000_000)).clock();
    let store = Arc::new(Store::new(config).with_clock(clock));
    let controller = SystemNamespaces::new(store.clone(), Arc::new(Version::new(namespaces, Some(builtin))));
    Fixture { store, controller, _feed: feed }
}

/// Takes the namespace's finalizer away, as the controller that has emptied it does.
struct Release;

#[async_trait]
impl Transform for Release {
    async fn transform(&mut self, old: Option<&Value>) -> Result<Value> {
        let mut namespace = old.cloned().unwrap_or_default();
        let spec = namespace.get_mut("spec").and_then(Value::as_object_mut).unwrap();
        spec.remove("finalizers");
        Ok(namespace)
    }
}

impl Fixture {
    async fn get(&self, name: &str) -> Option<Value> {
        self.store.get(&Context::default(), name).await.ok()
    }

    async fn versions(&self) -> Vec<String> {
        let mut versions = Vec::new();
        for name in SYSTEM_NAMESPACES {
            let namespace = self.get(name).await;
            versions.push(namespace.map_or_else(String::new, |found| found.resource_version().to_owned()));
        }
        versions
    }
}

#[tokio::test]
async fn all_are_there_after_the_start_as_the_reference_makes_them() {
    let fixture = fixture().await;
    fixture.controller.clone().start(std::future::pending()).await;
    let mut default = Vec::new();
    pintle_codec::json::encode(&fixture.get("default").await.unwrap(), &mut default);
    let expected = concat!(
        r#"{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"default","#,
        r#""uid":"U","resourceVersion":"R","#,
        r#""creationTimestamp":"2023-11-14T22:13:20Z","labels":{"kubernetes.io/metadata.name":"default"},"#,
        r#""managedFields":[{"manager":"kube-apiserver","operation":"Update","apiVersion":"v1","#,
        r#""time":"2023-11-14T22:13:20Z","fieldsType":"FieldsV1","#,
        r#""fieldsV1":{"f:metadata":{"f:labels":{".":{},"f:kubernetes.io/metadata.name":{}}}}}]},"#,
        r#""spec":{"finalizers":["kubernetes"]},"status":{"phase":"Active"}}"#,
    );
    let found = fixture.get("default").await.unwrap();
    let (version, uid) = (found.resource_version(), found.uid());
    let default = String::from_utf8(default).unwrap();
    assert_eq!(default.replace(&format!("\"{version}\""), "\"R\"").replace(uid, "U"), expected);
    for name in ["kube-system", "kube-public", "kube-node-lease"] {
        assert!(fixture.get(name).await.is_some(), "{name}");
    }
}

#[tokio::test]
async fn what_is_there_is_left_alone() {
    let fixture = fixture().await;
    fixture.controller.sync().await;
    let before = fixture.versions().await;
    fixture.controller.sync().await;
    fixture.controller.clone().start(std::future::pending()).await;
    assert_eq!(fixture.versions().await, before);
}

#[tokio::test]
async fn what_goes_away_comes_back_until_the_server_ends() {
    let fixture = fixture().await;
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    fixture.controller.clone().start(async move { drop(stopped.await) }).await;
    let delete = async || {
        let (mut context, options) = (Context::default(), DeleteOptions::default());
        // Twice: the first time it begins to go, and then nobody holds it any more.
        let gone =
            fixture.store.delete(&context, "kube-node-lease", &AdmitAll, options.clone()).await.unwrap();
        assert!(!gone.is_gone());
        let finalize = strategy::of("", "namespaces/finalize", &strategy::Settings::default()).unwrap();
        let finalize = fixture.store.with_strategy(finalize);
        let write = WriteOptions::default();
        let name = "kube-node-lease";
        finalize.update(&mut context, name, &mut Release, &AdmitAll, false, write).await.unwrap();
        let _ = fixture.store.delete(&context, name, &AdmitAll, options).await;
        fixture.store.cache().wait_for_current(Duration::from_secs(5)).await.unwrap();
    };
    delete().await;
    assert!(fixture.get("kube-node-lease").await.is_none());
    let later = async || {
        // The store has a thread of its own, so time must go on while it works.
        tokio::time::pause();
        tokio::time::advance(Duration::from_secs(61)).await;
        tokio::time::resume();
        for _ in 0..200 {
            if fixture.get("kube-node-lease").await.is_some() {
                return true;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        false
    };
    assert!(later().await);
    stop.send(()).unwrap();
    tokio::task::yield_now().await;
    delete().await;
    assert!(!later().await);
}
