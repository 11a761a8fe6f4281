//! Caches over an encrypted store: a value that cannot be decrypted concerns the cache of its resource alone, and only for as
//! long as it is there.

mod support;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use pintle_cache::{BodyFormat, Entry, Error, Feed, Kind, Limits, Read, Resource};
use pintle_storage::{Op, Txn};
use support::{KEY, OTHER, config_of, eventually, fresh_key, get, keys, load, memory, put};

const WAIT: Duration = Duration::from_secs(5);

/// Text without labels or fields.
struct Plain;

impl Kind for Plain {
    fn read(&self, _: &str, stored: &Bytes) -> Result<Read, String> {
        Ok(Read { value: stored.clone(), ..Read::default() })
    }

    fn encode(&self, entry: &Entry, _: BodyFormat) -> Result<Bytes, String> {
        Ok(entry.stored().clone())
    }
}

async fn values(resource: &Arc<Resource>) -> Result<Vec<Bytes>, Error> {
    let snapshot = resource.snapshot_now(WAIT).await?;
    Ok(snapshot.objects.iter_from("").map(|entry| entry.stored().clone()).collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_value_that_cannot_be_decrypted_concerns_the_cache_of_its_resource_alone() {
    let store = memory();
    let loaded = load(&config_of("*.", &[keys("aesgcm", &[("k", fresh_key(1))])])).await.unwrap();
    let backend = loaded.over(&store);
    let map = "/registry/configmaps/default/a";
    for key in [KEY, map] {
        put(&backend, key, "text").await;
    }
    let feed = Feed::start(backend.clone(), "/registry/".into(), Limits::default()).await.unwrap();
    let resource = |prefix: &'static str| feed.resource(prefix.into(), || Arc::new(Plain));
    let (secrets, maps) = (resource("/registry/secrets/"), resource("/registry/configmaps/"));
    for resource in [&secrets, &maps] {
        assert_eq!(values(resource).await.unwrap(), ["text"]);
    }

    // The value of another object, as an attacker would put it there.
    let value = get(&store, KEY).await.value;
    put(&store, OTHER, value).await;
    eventually("the cache is given up", async || !secrets.is_ready()).await;
    assert!(maps.is_ready());
    let Err(Error::Storage(pintle_storage::Error::Undecryptable(unreadable))) = values(&secrets).await else {
        panic!("it can be read")
    };
    assert_eq!(unreadable.iter().map(|value| &*value.key).collect::<Vec<_>>(), [OTHER.as_bytes()]);
    put(&backend, map, "more").await;
    assert_eq!(values(&maps).await.unwrap(), ["more"]);
    assert_eq!(&*get(&backend, KEY).await.value, b"text");

    let delete = Txn { then: vec![Op::Delete { key: OTHER.into() }], ..Txn::default() };
    backend.txn(delete).await.unwrap();
    assert_eq!(values(&secrets).await.unwrap(), ["text"]);
    put(&backend, KEY, "changed").await;
    assert_eq!(values(&secrets).await.unwrap(), ["changed"]);
}
