//! The write pipeline and the internal client, on a real store of a resource whose strategy allows to create on update.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use pintle_cache::{Feed, Limits};
use pintle_meta::time::Time;
use pintle_meta::{Reason, Value};
use pintle_registry::{
    Admission, Client, Context, FieldManager, MutatingAdmission, ObjectIdentity, Replace, ResetFields,
    Result, Served, Store, StoreConfig, Target, Write, WriteOptions,
};
use pintle_resources::builtin::Builtin;
use pintle_resources::served::Version;
use pintle_resources::strategy::{self, Settings};
use pintle_schema::Resources;
use pintle_storage_embedded::Options;

const LEASE: &[u8] = br#"{"kind":"Lease","apiVersion":"coordination.k8s.io/v1","metadata":{"name":"a"},
    "spec":{"holderIdentity":"me"}}"#;

struct Fixture {
    leases: Client,
    served: Arc<dyn Served>,
    _feed: Feed,
}

async fn fixture() -> Fixture {
    let backend = Arc::new(pintle_storage_embedded::Store::open(Options::memory()).unwrap());
    let feed =
        Feed::start(backend.clone(), Bytes::from_static(b"/registry/"), Limits::default()).await.unwrap();
    let resources = Resources::builtin().unwrap();
    let resource = resources.find("coordination.k8s.io", "v1", "leases").unwrap();
    let builtin = Builtin::new(resource.storage.unwrap().kind, &resources);
    let prefix = Bytes::from_static(b"/registry/leases/");
    let store = Store::new(StoreConfig {
        group: "coordination.k8s.io".into(),
        resource: "leases".into(),
        kind: "Lease".into(),
        namespaced: true,
        cache: feed.resource(prefix.clone(), || builtin.clone()),
        prefix,
        backend,
        stored: builtin.clone(),
        strategy: strategy::of("coordination.k8s.io", "leases", &Settings::default()).unwrap(),
    });
    assert!(store.config().strategy.allows_create_on_update());
    let served: Arc<dyn Served> = Arc::new(Version::new(resource, Some(builtin)));
    Fixture { leases: Client::new(Arc::new(store), served.clone()), served, _feed: feed }
}

fn held_by(holder: &'static str) -> impl FnMut(&Value) -> Result<Option<Value>> + Send {
    move |old| {
        let mut new = old.clone();
        new.as_object_mut()
            .unwrap()
            .get_mut("spec")
            .unwrap()
            .as_object_mut()
            .unwrap()
            .insert("holderIdentity", holder);
        Ok(Some(new))
    }
}

fn holder(lease: &Value) -> &str {
    lease.text_at(&["spec", "holderIdentity"])
}

/// Admission that names an owner twice in every object, and refuses deletions.
struct OwnedTwice;

fn owned_twice(mut object: Value) -> Value {
    let reference = || {
        let text = br#"{"apiVersion":"v1","kind":"Node","name":"n","uid":"u"}"#;
        pintle_codec::json::decode_untyped(text).unwrap().value
    };
    object.metadata_mut().unwrap().insert("ownerReferences", vec![reference(), reference()]);
    object
}

#[async_trait]
impl Admission for OwnedTwice {
    async fn create(&self, _: &Value) -> Result<()> {
        Ok(())
    }

    async fn update(&self, _: &Value, _: &Value) -> Result<()> {
        Ok(())
    }

    async fn delete(&self, _: &Value, _: &pintle_registry::DeleteOptions) -> Result<()> {
        Err(Box::new(pintle_meta::Status::bad_request("kept")))
    }
}

#[async_trait]
impl MutatingAdmission for OwnedTwice {
    async fn on_create(&self, object: Value) -> Result<Value> {
        Ok(owned_twice(object))
    }

    async fn on_update(&self, new: Value, _: &Value) -> Result<Value> {
        Ok(owned_twice(new))
    }
}

#[tokio::test]
async fn an_update_of_a_missing_object_is_not_found_although_the_strategy_would_create() {
    let Fixture { leases, .. } = &fixture().await;
    let refused = leases.update("n", "a", &mut held_by("other")).await.unwrap_err();
    assert_eq!(refused.reason, Reason::NotFound);
    let config = leases.read(LEASE).unwrap();
    let gone = ObjectIdentity { name: "a", uid: "u", resource_version: None };
    // The identity of the object counts before anything is made of it.
    assert_eq!(leases.apply("n", &gone, &config).await.unwrap_err().reason, Reason::Conflict);
    assert_eq!(leases.find("n", "a").await.unwrap(), None);
}

#[tokio::test]
async fn an_object_is_changed_only_while_it_is_the_one_that_was_read() {
    let Fixture { leases, .. } = &fixture().await;
    let first = leases.create_if_missing("n", LEASE).await.unwrap().expect("created");
    assert_eq!(leases.create_if_missing("n", LEASE).await.unwrap(), None);
    let exactly = ObjectIdentity::of(&first);
    let second = leases.update_exactly("n", &exactly, &mut held_by("other")).await.unwrap();
    assert_eq!(holder(&second), "other");
    let stale = ObjectIdentity { resource_version: Some(first.resource_version()), ..exactly };
    let refused = leases.update_exactly("n", &stale, &mut held_by("third")).await.unwrap_err();
    assert_eq!(refused.reason, Reason::Conflict);
    let same = leases.update("n", "a", &mut |_| Ok(None)).await.unwrap();
    assert_eq!(same.resource_version(), second.resource_version());
    leases.delete("n", &second).await.unwrap();
    leases.delete("n", &second).await.expect("gone already is no error");
    let third = leases.create("n", leases.read(LEASE).unwrap()).await.unwrap();
    assert_eq!(leases.delete("n", &second).await.unwrap_err().reason, Reason::Conflict);
    assert_eq!(leases.get("n", "a").await.unwrap().uid(), third.uid());
}

#[tokio::test]
async fn a_client_with_admission_writes_what_plugins_made_and_is_refused_by_them() {
    let Fixture { leases, .. } = &fixture().await;
    let admitted = leases.clone().admitted_by(Arc::new(|_, _| Box::new(OwnedTwice)));
    let lease = admitted.create("n", leases.read(LEASE).unwrap()).await.unwrap();
    assert_eq!(lease.items_at(&["metadata", "ownerReferences"]).len(), 1);
    assert_eq!(admitted.delete("n", &lease).await.unwrap_err().message, "kept");
    leases.delete("n", &lease).await.unwrap();
}

#[tokio::test]
async fn warnings_come_in_the_order_in_which_they_arose() {
    let Fixture { leases, served, .. } = &fixture().await;
    let manager = FieldManager::new("test", "", ResetFields::These(&[]));
    let write = Write {
        group: "coordination.k8s.io",
        resource: "leases",
        served: &**served,
        manager: &manager,
        admission: &OwnedTwice,
        options: WriteOptions::default(),
        now: Time::from_unix(1_700_000_000, 0),
    };
    let context = || Context { namespace: "n".into(), ..Context::default() };
    let check = |warnings: &[String]| {
        assert_eq!(warnings.len(), 3, "{warnings:?}");
        assert_eq!(warnings[0], "earlier");
        assert!(
            warnings[1].starts_with(".metadata.ownerReferences contains duplicate entries; "),
            "{warnings:?}"
        );
        assert!(warnings[2].contains("duplicate entries after mutating admission happens; "), "{warnings:?}");
    };
    let sent = owned_twice(leases.read(LEASE).unwrap());
    let mut creation = context();
    creation.warnings.push("earlier".into());
    let created = write.create(&mut creation, leases.store(), sent.clone()).await.unwrap();
    check(&creation.warnings);
    let managed = &created.items_at(&["metadata", "managedFields"])[0];
    assert_eq!(managed.text_at(&["manager"]), "test");
    // One reading of the clock for the whole write.
    assert_eq!(managed.text_at(&["time"]), "2023-11-14T22:13:20Z");
    assert_eq!(created.text_at(&["metadata", "creationTimestamp"]), "2023-11-14T22:13:20Z");
    let mut update = context();
    update.warnings.push("earlier".into());
    let mut sent = sent;
    sent.metadata_mut().unwrap().insert("resourceVersion", created.resource_version());
    let mut replace = Replace::new(sent, &mut update, "a").unwrap();
    write.update(&mut update, Target::Store(leases.store()), "a", &mut replace).await.unwrap();
    check(&update.warnings);
}

#[tokio::test]
async fn an_object_must_be_of_the_namespace_and_name_of_its_request() {
    let Fixture { leases, .. } = &fixture().await;
    let refused = |lease: &Value, namespace: &str, name: &str| {
        let mut context = Context { namespace: namespace.into(), ..Context::default() };
        Replace::new(lease.clone(), &mut context, name).err().map(|status| status.message)
    };
    let mut lease = leases.read(LEASE).unwrap();
    assert_eq!(refused(&lease, "n", "a"), None);
    assert_eq!(
        refused(&lease, "n", "b").as_deref(),
        Some("the name of the object (a) does not match the name on the URL (b)")
    );
    lease.metadata_mut().unwrap().insert("namespace", "other");
    assert_eq!(
        refused(&lease, "n", "a").as_deref(),
        Some("the namespace of the provided object does not match the namespace sent on the request")
    );
    assert_eq!(leases.create("n", lease).await.unwrap_err().reason, Reason::BadRequest);
}
