//! The contract of stores, on encrypted ones: each provider over the embedded store in memory.

mod support;

use std::sync::Arc;

use pintle_encryption::{EncryptedBackend, GroupResource, StoredResources};
use pintle_storage::Backend;
use pintle_storage::conformance::Fixture;
use support::{IDENTITY, Kms, Loaded, config_of, fresh_key, keys, kms, load, memory};

/// A store that encrypts every key, whatever it is called.
fn everything_in(store: &Arc<dyn Backend>, loaded: &Loaded) -> Arc<dyn Backend> {
    // The part before the first slash is empty in all keys of the cases.
    let builtin = [(String::new(), GroupResource::new("", "secrets"))];
    let resources = Arc::new(StoredResources::new("", builtin));
    Arc::new(EncryptedBackend::new(store.clone(), loaded.encryption.clone(), resources))
}

async fn with(provider: String) -> Fixture {
    let loaded = load(&config_of("*.*", &[provider])).await.unwrap();
    Fixture::new(everything_in(&memory(), &loaded))
}

#[tokio::test]
async fn the_keys_of_the_cases_are_encrypted() {
    let loaded = load(&config_of("*.*", &[keys("aesgcm", &[("key1", fresh_key(1))])])).await.unwrap();
    let store = memory();
    let backend = everything_in(&store, &loaded);
    for key in ["/a", "/p/a", "/registry/x"] {
        support::put(&backend, key, "text").await;
        assert!(support::get(&store, key).await.value.starts_with(b"k8s:enc:"), "{key}");
    }
}

mod identity {
    use super::*;

    async fn fresh() -> Fixture {
        with(IDENTITY.into()).await
    }

    pintle_storage::conformance_suite!(fresh);
}

mod aescbc {
    use super::*;

    async fn fresh() -> Fixture {
        with(keys("aescbc", &[("key1", fresh_key(1))])).await
    }

    pintle_storage::conformance_suite!(fresh);
}

mod aesgcm {
    use super::*;

    async fn fresh() -> Fixture {
        with(keys("aesgcm", &[("key1", fresh_key(1))])).await
    }

    pintle_storage::conformance_suite!(fresh);
}

mod secretbox {
    use super::*;

    async fn fresh() -> Fixture {
        with(keys("secretbox", &[("key1", fresh_key(1))])).await
    }

    pintle_storage::conformance_suite!(fresh);
}

mod kms_v2 {
    use super::*;

    async fn fresh() -> Fixture {
        let dir = tempfile::tempdir().unwrap();
        let socket = dir.path().join("kms.sock").display().to_string();
        let plugin = Kms::new().serve(&socket);
        with(kms("v2", "plug", &socket, "3s")).await.guarded_by((dir, plugin))
    }

    pintle_storage::conformance_suite!(fresh);
}
