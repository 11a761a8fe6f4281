use std::sync::atomic::{AtomicUsize, Ordering};

use pintle_cache::BodyFormat;
use pintle_codec::negotiate::Encoding;
use pintle_patch::managed::Converter;
use pintle_patch::typed::TypeRef;
use pintle_registry::testing::object;
use pintle_registry::{AdmitAll, Context, DeleteOptions, Received, Submitted, Table};

use super::*;
use crate::objects::Resource;
use crate::testing::TestCluster;

/// Counts conversions to the served version, of which each is a decoding.
#[derive(Default)]
struct Counted(GroupVersionKind, AtomicUsize);

impl Served for Counted {
    fn kind(&self) -> &GroupVersionKind {
        &self.0
    }

    fn read(&self, _: Encoding, _: &[u8]) -> pintle_registry::Result<Submitted> {
        unreachable!("parameters are read from the cache")
    }

    fn parse(&self, _: &[u8]) -> Result<Received, String> {
        unreachable!("parameters are read from the cache")
    }

    fn to_stored(&self, object: Value) -> Result<Value, String> {
        Ok(object)
    }

    fn to_served(&self, object: Value) -> pintle_registry::Result<Value> {
        self.1.fetch_add(1, Ordering::Relaxed);
        Ok(object)
    }

    fn body_format(&self, _: Encoding) -> Option<BodyFormat> {
        None
    }

    fn write_protobuf(&self, _: &Value, _: &mut Vec<u8>) -> Result<(), String> {
        Err("no protobuf".to_owned())
    }

    fn zero(&self) -> Value {
        Value::default()
    }

    fn field_label(&self, label: &str, value: &str) -> Result<(String, String), String> {
        Ok((label.to_owned(), value.to_owned()))
    }

    fn field_place(&self, _: &str) -> Option<usize> {
        None
    }

    fn managed_type(&self) -> TypeRef<'_> {
        unreachable!("parameters are not written")
    }

    fn managed_versions(&self) -> &dyn Converter {
        unreachable!("parameters are not written")
    }

    fn strategic_type(&self) -> Option<&'static pintle_schema::Type> {
        None
    }

    fn table(&self) -> Option<&dyn Table> {
        None
    }

    fn internal_name(&self) -> String {
        "Quota".to_owned()
    }
}

/// Parameters in the namespace `n`, and a binding that selects all of them.
struct Fixture {
    cluster: TestCluster,
    counted: Arc<Counted>,
    resource: ParamResource,
    reference: ParamRef,
    room: Arc<Room>,
}

impl Fixture {
    async fn new(room: usize) -> Fixture {
        let cluster = TestCluster::new().await;
        let store = cluster.cluster.stores.get(Resource::ResourceQuota).unwrap().clone();
        let counted: Arc<Counted> = Arc::default();
        let resource = ParamResource { store, served: counted.clone() };
        let reference = ParamRef::read(&object(r#"{"namespace":"n","selector":{}}"#));
        Fixture { cluster, counted, resource, reference, room: Arc::new(Room::of(room)) }
    }

    async fn put(&self, name: &str, text: &str) {
        let json = format!(r#"{{"metadata":{{"name":"{name}","namespace":"n"}},"data":{{"a":"{text}"}}}}"#);
        self.cluster.put(Resource::ResourceQuota, &json).await;
    }

    async fn delete(&self, name: &str) {
        let context = Context { namespace: "n".into(), ..Context::default() };
        self.resource.store.delete(&context, name, &AdmitAll, DeleteOptions::default()).await.unwrap();
    }

    /// Collects the parameters; returns how many there are, and how many had to be decoded.
    async fn collect(&self) -> (usize, usize) {
        let before = self.counted.1.load(Ordering::Relaxed);
        let kind = ParamKind::read(&object(r#"{"apiVersion":"v1","kind":"Quota"}"#));
        let clock = Clock::system();
        let found = self.reference.collect(&kind, &self.resource, "n", &clock, &self.room).await.unwrap();
        (found.len(), self.counted.1.load(Ordering::Relaxed) - before)
    }

    fn kept(&self) -> Vec<String> {
        self.reference.decoded().keys().into_iter().map(str::to_owned).collect()
    }
}

#[tokio::test]
async fn a_parameter_is_decoded_once_until_it_changes() {
    let fixture = Fixture::new(1 << 20).await;
    for name in ["a", "b", "c"] {
        fixture.put(name, "1").await;
    }
    assert_eq!(fixture.collect().await, (3, 3));
    assert_eq!(fixture.collect().await, (3, 0));
    fixture.put("b", "2").await;
    assert_eq!(fixture.collect().await, (3, 1));
    assert_eq!(fixture.collect().await, (3, 0));
}

#[tokio::test]
async fn deleted_parameters_are_not_kept() {
    let fixture = Fixture::new(1 << 20).await;
    for name in ["a", "b"] {
        fixture.put(name, "1").await;
    }
    assert_eq!(fixture.collect().await, (2, 2));
    assert_eq!(fixture.kept(), ["n/a", "n/b"]);
    fixture.delete("a").await;
    assert_eq!(fixture.collect().await, (1, 0));
    assert_eq!(fixture.kept(), ["n/b"]);
}

#[tokio::test]
async fn parameters_beyond_the_room_are_decoded_by_each_request() {
    let fixture = Fixture::new(20_000).await;
    let large = "x".repeat(3_000);
    for name in ["a", "b", "c"] {
        fixture.put(name, &large).await;
    }
    assert_eq!(fixture.collect().await, (3, 3));
    assert_eq!(fixture.kept().len(), 1, "each takes 12,000 bytes and more");
    assert_eq!(fixture.collect().await, (3, 2));
    let first = fixture.kept().remove(0);
    fixture.delete(first.trim_start_matches("n/")).await;
    assert_eq!(fixture.collect().await, (2, 2));
    assert_eq!(fixture.kept().len(), 1, "the room of what was deleted is free");
    drop(fixture.reference);
    assert_eq!(fixture.room.left(), 20_000, "and that of a binding which is gone");
}
