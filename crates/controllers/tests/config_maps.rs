//! Config maps that the server keeps for others, on a real store.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use pintle_cache::{Feed, Limits};
use pintle_controllers::{ClusterAuthenticationTrust, FrontProxies, LegacyTokenTracking, Trust};
use pintle_meta::Value;
use pintle_registry::{Client, Store, StoreConfig};
use pintle_resources::builtin::Builtin;
use pintle_resources::served::Version;
use pintle_resources::strategy::{self, Settings};
use pintle_runtime::{Clock, ManualClock};
use pintle_schema::Resources;
use pintle_storage::Backend;
use pintle_storage_embedded::Options;
use rcgen::{CertificateParams, KeyPair};
use tokio::sync::Notify;

mod support;

const TRUST: &str = "extension-apiserver-authentication";
const TRACKING: &str = "kube-apiserver-legacy-service-account-token-tracking";

struct Cluster {
    backend: Arc<dyn Backend>,
    maps: Client,
    _feed: Feed,
}

impl Cluster {
    async fn new() -> Cluster {
        let backend: Arc<dyn Backend> =
            Arc::new(pintle_storage_embedded::Store::open(Options::memory()).unwrap());
        let feed = Feed::start(backend.clone(), Bytes::from_static(b"/r/"), Limits::default()).await.unwrap();
        let resources = Resources::builtin().unwrap();
        let resource = resources.find("", "v1", "configmaps").unwrap();
        let builtin = Builtin::new(resource.storage.unwrap().kind, &resources);
        let prefix = Bytes::from_static(b"/r/configmaps/");
        let store = Store::new(StoreConfig {
            group: String::new(),
            resource: "configmaps".into(),
            kind: "ConfigMap".into(),
            namespaced: true,
            cache: feed.resource(prefix.clone(), || builtin.clone()),
            prefix,
            backend: backend.clone(),
            stored: builtin.clone(),
            strategy: strategy::of("", "configmaps", &Settings::default()).unwrap(),
        });
        let maps = Client::new(Arc::new(store), Arc::new(Version::new(resource, Some(builtin))));
        Cluster { backend, maps, _feed: feed }
    }

    async fn data(&self, name: &str) -> BTreeMap<String, String> {
        let map = self.maps.find("kube-system", name).await.unwrap().unwrap_or_default();
        let data = map.get("data").and_then(Value::as_object).cloned().unwrap_or_default();
        data.iter().map(|(key, value)| (key.to_owned(), value.as_str().unwrap().to_owned())).collect()
    }

    async fn set(&self, name: &str, key: &str, value: &str) {
        let mut change = |old: &Value| {
            let mut new = old.clone();
            new.get_mut("data").and_then(Value::as_object_mut).unwrap().insert(key.to_owned(), value);
            Ok(Some(new))
        };
        self.maps.update("kube-system", name, &mut change).await.unwrap();
    }

    async fn delete(&self, name: &str) {
        let map = self.maps.find("kube-system", name).await.unwrap().unwrap();
        self.maps.delete("kube-system", &map).await.unwrap();
    }

    async fn revision(&self) -> u64 {
        self.backend.current_revision().await.unwrap().0
    }
}

static FIRST: LazyLock<String> = LazyLock::new(|| authority("first", 4000));
static SECOND: LazyLock<String> = LazyLock::new(|| authority("second", 4000));
static EXPIRED: LazyLock<String> = LazyLock::new(|| authority("expired", 2001));

/// A certificate that is good until a year, in Go's PEM.
fn authority(name: &str, until: i32) -> String {
    let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
    params.not_after = rcgen::date_time_ymd(until, 1, 1);
    params.self_signed(&KeyPair::generate().unwrap()).unwrap().pem().replace("\r\n", "\n")
}

fn trust(authority: &'static str, front: Option<(&'static str, &[&str])>, uid_headers: bool) -> Trust {
    let list = |values: &[&str]| values.iter().map(ToString::to_string).collect::<Vec<_>>();
    Trust {
        client_ca: Arc::new(move || Ok(authority.into())),
        front_proxies: front.map(|(authority, names)| FrontProxies {
            authority: Arc::new(move || Ok(authority.into())),
            lists: [
                (FrontProxies::ALLOWED_NAMES, list(names)),
                (FrontProxies::EXTRA_PREFIXES, list(&["X-Remote-Extra-"])),
                (FrontProxies::GROUP_HEADERS, list(&["X-Remote-Group"])),
                (FrontProxies::UID_HEADERS, list(&["X-Remote-Uid"])),
                (FrontProxies::USERNAME_HEADERS, list(&["X-Remote-User"])),
            ]
            .into(),
        }),
        uid_headers,
    }
}

fn controller_of(cluster: &Cluster, trust: Trust) -> ClusterAuthenticationTrust {
    ClusterAuthenticationTrust::new(cluster.maps.clone(), trust, Arc::default(), Clock::system())
}

#[tokio::test]
async fn servers_add_what_they_trust_to_what_others_do() {
    let cluster = Cluster::new().await;
    let first = controller_of(&cluster, trust(&FIRST, None, true));
    first.sync().await.unwrap();
    assert_eq!(cluster.data(TRUST).await, [("client-ca-file".to_owned(), FIRST.clone())].into());
    let second = controller_of(&cluster, trust(&SECOND, Some((FIRST.as_str(), &["a<b"])), true));
    second.sync().await.unwrap();
    let expect: BTreeMap<String, String> = [
        ("client-ca-file", format!("{}{}", *FIRST, *SECOND)),
        ("requestheader-allowed-names", r#"["a\u003cb"]"#.to_owned()),
        ("requestheader-client-ca-file", FIRST.clone()),
        ("requestheader-extra-headers-prefix", r#"["X-Remote-Extra-"]"#.to_owned()),
        ("requestheader-group-headers", r#"["X-Remote-Group"]"#.to_owned()),
        ("requestheader-uid-headers", r#"["X-Remote-Uid"]"#.to_owned()),
        ("requestheader-username-headers", r#"["X-Remote-User"]"#.to_owned()),
    ]
    .map(|(key, value)| (key.to_owned(), value))
    .into();
    assert_eq!(cluster.data(TRUST).await, expect);
    let third = trust(&FIRST, Some((SECOND.as_str(), &["c", "a<b"])), true);
    let third = controller_of(&cluster, third);
    third.sync().await.unwrap();
    let data = cluster.data(TRUST).await;
    assert_eq!(data["requestheader-allowed-names"], r#"["a\u003cb","c"]"#);
    assert_eq!(data["requestheader-client-ca-file"], format!("{}{}", *FIRST, *SECOND));
    let before = cluster.revision().await;
    for controller in [&first, &second, &third] {
        controller.sync().await.unwrap();
    }
    assert_eq!(cluster.revision().await, before, "what is right is left alone");
}

#[tokio::test]
async fn expired_certificates_and_unknown_keys_are_removed() {
    let cluster = Cluster::new().await;
    let all = trust(&FIRST, Some((FIRST.as_str(), &[])), true);
    controller_of(&cluster, all).sync().await.unwrap();
    cluster.set(TRUST, "client-ca-file", &EXPIRED).await;
    cluster.set(TRUST, "somebody-elses", "x").await;
    let without = trust(&FIRST, Some((FIRST.as_str(), &[])), false);
    controller_of(&cluster, without).sync().await.unwrap();
    let data = cluster.data(TRUST).await;
    assert_eq!(data["client-ca-file"], *FIRST);
    assert_eq!(data["requestheader-allowed-names"], "[]");
    assert!(!data.contains_key("requestheader-uid-headers") && !data.contains_key("somebody-elses"));
}

#[tokio::test]
async fn an_unreadable_config_map_is_left_alone() {
    let cluster = Cluster::new().await;
    let controller = controller_of(&cluster, trust(&FIRST, None, true));
    controller.sync().await.unwrap();
    for (key, value) in [("client-ca-file", "broken"), ("requestheader-group-headers", "{}")] {
        cluster.set(TRUST, key, value).await;
        assert!(controller.sync().await.is_err(), "{key}");
        assert_eq!(cluster.data(TRUST).await[key], value);
        cluster.set(TRUST, key, "").await;
    }
    controller.sync().await.unwrap();
}

async fn eventually(mut holds: impl AsyncFnMut() -> bool) {
    for _ in 0..2000 {
        if holds().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("it did not come");
}

#[tokio::test]
async fn it_follows_its_map_and_its_files() {
    let cluster = Cluster::new().await;
    let bundle = Arc::new(Mutex::new(FIRST.as_str()));
    let current = bundle.clone();
    let trust = Trust {
        client_ca: Arc::new(move || Ok((*current.lock().unwrap()).to_owned())),
        ..trust(&FIRST, None, true)
    };
    let changed = Arc::new(Notify::new());
    let controller =
        ClusterAuthenticationTrust::new(cluster.maps.clone(), trust, changed.clone(), Clock::system());
    let _tasks = support::started(vec![Arc::new(controller)], Clock::system()).await;
    let shown = async || cluster.data(TRUST).await.get("client-ca-file").cloned().unwrap_or_default();
    eventually(async || shown().await == *FIRST).await;
    cluster.delete(TRUST).await;
    eventually(async || shown().await == *FIRST).await;
    *bundle.lock().unwrap() = SECOND.as_str();
    changed.notify_one();
    eventually(async || shown().await == format!("{}{}", *FIRST, *SECOND)).await;
}

#[tokio::test]
async fn tracking_began_when_it_was_first_said() {
    let cluster = Cluster::new().await;
    let day = Duration::from_secs(24 * 3600);
    let clock = ManualClock::starting_at(SystemTime::UNIX_EPOCH + day * 20_000);
    let controller = LegacyTokenTracking::new(cluster.maps.clone(), clock.clock());
    let since = async || cluster.data(TRACKING).await.get("since").cloned();
    controller.sync().await.unwrap();
    assert_eq!(since().await.as_deref(), Some("2024-10-04"));
    clock.advance(day);
    controller.sync().await.unwrap();
    assert_eq!(since().await.as_deref(), Some("2024-10-04"));
    clock.advance(day);
    for wrong in ["", "yesterday", "2024-13-01", "2024-1-1", "2024-10-04T00:00:00Z"] {
        cluster.set(TRACKING, "since", wrong).await;
        controller.sync().await.unwrap();
        assert_eq!(since().await.as_deref(), Some("2024-10-06"), "{wrong:?}");
    }
    cluster.delete(TRACKING).await;
    controller.sync().await.unwrap();
    assert_eq!(since().await.as_deref(), Some("2024-10-06"), "its last creation is two days old");
    cluster.delete(TRACKING).await;
    clock.advance(Duration::from_secs(30 * 60 - 1));
    controller.sync().await.unwrap();
    assert_eq!(since().await, None, "it is not created again at once");
    clock.advance(Duration::from_secs(1));
    controller.sync().await.unwrap();
    assert_eq!(since().await.as_deref(), Some("2024-10-06"));
}
