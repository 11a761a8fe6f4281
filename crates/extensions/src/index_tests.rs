use async_trait::async_trait;
use pintle_cache::{Feed, Limits};
use pintle_discovery::GroupSource;
use pintle_outbound::services::{Address, Resolver};
use pintle_registry::testing::{Untyped, object};
use pintle_registry::{StoreConfig, StorePolicy, Strategy};
use pintle_runtime::{Clock, Random};
use pintle_schema::Resources;
use pintle_storage::Backend;
use pintle_storage_embedded::Options;

use super::*;
use crate::conversion::WebhookEnvironment;
use crate::encoding::StoredAs;
use crate::metrics::Metrics;

struct NoServices;

#[async_trait]
impl Resolver for NoServices {
    async fn resolve(&self, _: &str, name: &str, _: u16) -> Result<Address, String> {
        Err(format!("service \"{name}\" not found"))
    }
}

struct NoRules;

impl Strategy for NoRules {}

async fn index() -> (DefinitionIndex, Arc<Publisher>) {
    let prefix = Bytes::from_static(b"/registry/apiextensions.k8s.io/customresourcedefinitions/");
    let backend: Arc<dyn Backend> =
        Arc::new(pintle_storage_embedded::Store::open(Options::memory()).unwrap());
    let root = Bytes::from_static(b"/registry/");
    let feed = Arc::new(Feed::start(backend.clone(), root, Limits::default()).await.unwrap());
    let store = Arc::new(Store::new(StoreConfig {
        group: "apiextensions.k8s.io".into(),
        resource: "customresourcedefinitions".into(),
        kind: "CustomResourceDefinition".into(),
        namespaced: false,
        prefix: prefix.clone(),
        backend: backend.clone(),
        cache: feed.resource(prefix, || Arc::new(Untyped)),
        stored: Arc::new(Untyped),
        strategy: Arc::new(NoRules),
    }));
    let webhooks = WebhookEnvironment {
        services: Arc::new(NoServices),
        egress: None,
        metrics: Metrics::new(&pintle_metrics::Registry::default()).unwrap(),
        clock: Clock::system(),
        random: Random::system(),
    };
    let storage = ResourceStorage {
        backend,
        feed,
        root: "/registry/".into(),
        resources: Arc::new(Resources::builtin().unwrap()),
        webhooks,
        policy: Arc::new(StorePolicy::default()),
        stored_as: StoredAs::Json,
    };
    let publisher = Arc::<Publisher>::default();
    (DefinitionIndex::new(storage, store, publisher.clone()), publisher)
}

/// An established definition of `boats` or `oars`.
fn definition(plural: &str, uid: &str) -> Value {
    object(&format!(
        r#"{{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
        "metadata":{{"name":"{plural}.example.com","uid":"{uid}","generation":1}},
        "spec":{{"group":"example.com","scope":"Namespaced","names":{{"plural":"{plural}","kind":"{plural}"}},
            "versions":[{{"name":"v1","served":true,"storage":true,"schema":{{"openAPIV3Schema":{{"type":"object"}}}}}}]}},
        "status":{{"acceptedNames":{{"plural":"{plural}","kind":"{plural}"}},
            "conditions":[{{"type":"NamesAccepted","status":"True"}},{{"type":"Established","status":"True"}}]}}}}"#
    ))
}

fn has_ended(definition: &Definition) -> bool {
    definition.watches.iter().all(WatchLifetime::has_ended)
}

#[tokio::test]
async fn a_reload_ends_watches_of_definitions_that_were_deleted_meanwhile() {
    let (mut index, publisher) = index().await;
    index.set(0, "boats.example.com", Some(&definition("boats", "1")));
    index.set(0, "oars.example.com", Some(&definition("oars", "2")));
    index.set(0, "sails.example.com", Some(&definition("sails", "3")));
    let [boats, oars, sails] =
        ["boats", "oars", "sails"].map(|name| index.get(&format!("{name}.example.com")).unwrap());
    publisher.take_changes();

    index.clear(0);
    index.set(0, "boats.example.com", Some(&definition("boats", "1")));
    index.set(0, "sails.example.com", Some(&definition("sails", "4")));
    index.reloaded(0);

    assert!(!has_ended(&boats), "it is the same");
    assert!(has_ended(&oars), "it was deleted");
    assert!(has_ended(&sails), "it was deleted and created again");
    assert!(oars.terminating.load(Ordering::SeqCst));
    assert!(index.get("oars.example.com").is_none());
    assert!(!index.taken("example.com").is_kind("oars"));
    assert!(index.taken("example.com").is_kind("boats"));
    let changes = publisher.take_changes();
    let changes: Vec<(&str, bool)> = changes.iter().map(|(name, found)| (&**name, found.is_some())).collect();
    assert_eq!(changes, [("oars.example.com", false), ("sails.example.com", true)]);
}
