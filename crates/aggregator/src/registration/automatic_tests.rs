use bytes::Bytes;
use pintle_cache::{Feed, Limits};
use pintle_registry::{Store, StoreConfig};
use pintle_resources::builtin::Builtin;
use pintle_resources::served::Version;
use pintle_resources::strategy::{self, Settings};
use pintle_schema::Resources;
use pintle_storage_embedded::Options;

use super::*;

const GROUP: &str = "apiregistration.k8s.io";
const NAME: &str = "v1.apps";

/// APIServices on a real store.
struct Cluster {
    services: Client,
    _feed: Feed,
}

impl Cluster {
    async fn new() -> Cluster {
        let backend = Arc::new(pintle_storage_embedded::Store::open(Options::memory()).unwrap());
        let feed = Feed::start(backend.clone(), Bytes::from_static(b"/r/"), Limits::default()).await.unwrap();
        let resources = Resources::builtin().unwrap();
        let resource = resources.find(GROUP, "v1", "apiservices").unwrap();
        let builtin = Builtin::new(resource.storage.unwrap().kind, &resources);
        let prefix = Bytes::from_static(b"/r/apiservices/");
        let store = Store::new(StoreConfig {
            group: GROUP.into(),
            resource: "apiservices".into(),
            kind: "APIService".into(),
            namespaced: false,
            cache: feed.resource(prefix.clone(), || builtin.clone()),
            prefix,
            backend,
            stored: builtin.clone(),
            strategy: strategy::of(GROUP, "apiservices", &Settings::default()).unwrap(),
        });
        let services = Client::new(Arc::new(store), Arc::new(Version::new(resource, Some(builtin))));
        services.cache().ready().await.unwrap();
        Cluster { services, _feed: feed }
    }

    fn auto(&self, is_builtin: bool) -> AutoRegistration {
        AutoRegistration::new(self.services.clone(), is_builtin.then_some(("apps", "v1")).into_iter())
    }

    /// Stores an APIService of another priority, with a label or none.
    async fn store(&self, label: Option<&str>) {
        let mut object = json!({"kind": "APIService", "apiVersion": "apiregistration.k8s.io/v1",
            "metadata": {"name": NAME},
            "spec": {"group": "apps", "version": "v1", "groupPriorityMinimum": 7, "versionPriority": 7}});
        if let Some(label) = label {
            object["metadata"]["labels"] = json!({LABEL: label});
        }
        self.services.create_if_missing("", object.to_string().as_bytes()).await.unwrap().unwrap();
        self.caught_up().await;
    }

    async fn caught_up(&self) {
        self.services.cache().wait_for_current(Duration::from_secs(3)).await.unwrap();
    }

    /// Returns the priority and the label of what is stored.
    async fn found(&self) -> Option<(i64, String)> {
        self.caught_up().await;
        let found = self.services.find("", NAME).await.unwrap()?;
        let priority = found.at(&["spec", "groupPriorityMinimum"]).and_then(Value::as_i64).unwrap();
        let label = found.labels().find(|(key, _)| *key == LABEL).map(|(_, value)| value.to_owned());
        Some((priority, label.unwrap_or_default()))
    }
}

/// How an APIService is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Want {
    Nothing,
    OnStart,
    Always,
}

/// Returns what is stored after a start.
async fn after_start(stored: Option<Option<&str>>, want: Want) -> Option<(i64, String)> {
    let cluster = Cluster::new().await;
    if let Some(label) = stored {
        cluster.store(label).await;
    }
    let auto = cluster.auto(want == Want::OnStart);
    if want == Want::Always {
        auto.add("apps", "v1");
    }
    auto.begin(&Clock::system()).await;
    cluster.found().await
}

#[tokio::test]
async fn a_start_compares_what_is_stored_with_what_is_wanted() {
    let some = |priority: i64, label: &str| Some((priority, label.to_owned()));
    for (stored, want, expect) in [
        (None, Want::Nothing, None),
        (None, Want::OnStart, some(17_800, "onstart")),
        (None, Want::Always, some(1000, "true")),
        (Some(None), Want::Nothing, some(7, "")),
        (Some(None), Want::OnStart, some(7, "")),
        (Some(None), Want::Always, some(7, "")),
        (Some(Some("onstart")), Want::Nothing, None),
        (Some(Some("onstart")), Want::OnStart, some(17_800, "onstart")),
        (Some(Some("onstart")), Want::Always, some(1000, "onstart")),
        (Some(Some("true")), Want::Nothing, None),
        (Some(Some("true")), Want::OnStart, some(17_800, "true")),
        (Some(Some("true")), Want::Always, some(1000, "true")),
        (Some(Some("other")), Want::Always, some(7, "other")),
    ] {
        assert_eq!(after_start(stored, want).await, expect, "{stored:?} {want:?}");
    }
}

#[tokio::test]
async fn from_then_on_only_what_is_always_managed_is_kept() {
    let cluster = Cluster::new().await;
    let auto = cluster.auto(true);
    auto.begin(&Clock::system()).await;
    let delete = async || {
        let stored = cluster.services.find("", NAME).await.unwrap().unwrap();
        cluster.services.delete("", &stored).await.unwrap();
        cluster.caught_up().await;
    };
    // Created once.
    delete().await;
    auto.sync(NAME).await.unwrap();
    assert_eq!(cluster.found().await, None);
    // Made by a user since the start, whatever it says.
    cluster.store(Some("onstart")).await;
    auto.sync(NAME).await.unwrap();
    assert_eq!(cluster.found().await.unwrap().0, 7);
    delete().await;

    // A definition comes, is changed by a user, deleted, and goes.
    let auto = cluster.auto(false);
    auto.begin(&Clock::system()).await;
    auto.add("apps", "v1");
    auto.sync(NAME).await.unwrap();
    let wanted = Some((1000, "true".to_owned()));
    assert_eq!(cluster.found().await, wanted);
    delete().await;
    auto.sync(NAME).await.unwrap();
    assert_eq!(cluster.found().await, wanted);
    delete().await;
    cluster.store(Some("true")).await;
    auto.sync(NAME).await.unwrap();
    assert_eq!(cluster.found().await, wanted);
    let before = cluster.services.find("", NAME).await.unwrap();
    auto.sync(NAME).await.unwrap();
    assert_eq!(cluster.services.find("", NAME).await.unwrap(), before, "nothing is written");
    auto.remove("apps", "v1");
    auto.sync(NAME).await.unwrap();
    assert_eq!(cluster.found().await, None);
}
