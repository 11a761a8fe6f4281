//! The bytes of values: read as the reference's format says, written so that independent code reads them, refused where they
//! were changed or moved.

mod support;

use std::slice::from_ref;
use std::sync::Arc;

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::cipher::{AES_256, DecryptionContext, PaddedBlockDecryptingKey, UnboundCipherKey};
use aws_lc_rs::iv::FixedLength;
use base64::Engine;
use crypto_secretbox::aead::{Aead, KeyInit};
use crypto_secretbox::{Nonce as BoxNonce, XSalsa20Poly1305};
use pintle_encryption::{Encryption, Metrics};
use pintle_metrics::Registry;
use pintle_runtime::Clock;
use pintle_storage::{Backend, Event, RangeRequest, Txn, WatchItem, WatchRequest};
use support::{
    IDENTITY, KEY, Kms, OTHER, config, config_of, fresh_key, get, key, keys, kms, load, memory, over, put,
    recorded, refusal,
};

use futures_util::StreamExt;

fn bytes_of(secret: &str) -> Vec<u8> {
    base64::engine::general_purpose::STANDARD.decode(secret).unwrap()
}

#[tokio::test]
async fn values_in_the_format_of_the_reference_are_read() {
    for (name, provider, length) in [
        ("aescbc16", "aescbc", 16),
        ("aescbc24", "aescbc", 24),
        ("aescbc32", "aescbc", 32),
        ("aesgcm16", "aesgcm", 16),
        ("aesgcm24", "aesgcm", 24),
        ("aesgcm32", "aesgcm", 32),
        ("secretbox32", "secretbox", 32),
    ] {
        let store = memory();
        put(&store, KEY, recorded(name)).await;
        let key_name = format!("key{length}");
        let loaded = load(&config(&[keys(provider, &[(&key_name, key(length))])])).await.unwrap();
        let found = get(&loaded.over(&store), KEY).await;
        assert_eq!((&found.value, found.stale), (&recorded("plain"), false), "{name}");
    }
}

#[tokio::test]
async fn values_of_plugins_in_the_format_of_the_reference_are_read() {
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("kms.sock").display().to_string();
    let plugin = Kms::new();
    let _server = plugin.serve(&socket);
    // A data key where there is a seed today, and a provider of earlier releases, are stale.
    for (name, version, is_stale) in
        [("kms1", "v1", false), ("kms1-cbc", "v1", true), ("kms2", "v2", false), ("kms2-key", "v2", true)]
    {
        let store = memory();
        put(&store, KEY, recorded(name)).await;
        let loaded = load(&config(&[kms(version, "plug", &socket, "3s")])).await.unwrap();
        let backend = loaded.over(&store);
        for _ in 0..2 {
            let found = get(&backend, KEY).await;
            assert_eq!((&found.value, found.stale), (&recorded("plain"), is_stale), "{name}");
        }
    }
    assert_eq!(plugin.calls("Decrypt"), 4, "data keys are kept");
}

#[tokio::test]
async fn what_is_written_is_read_by_independent_code() {
    let secret = fresh_key(9);
    let raw = |provider: &'static str| {
        let secret = secret.clone();
        async move {
            let store = memory();
            let loaded = load(&config(&[keys(provider, &[("new", secret)])])).await.unwrap();
            put(&loaded.over(&store), KEY, "a plain text").await;
            let found = get(&store, KEY).await.value;
            assert!(!found.windows(5).any(|part| part == b"plain"), "{provider}");
            let prefix = format!("k8s:enc:{provider}:v1:new:");
            found.strip_prefix(prefix.as_bytes()).unwrap_or_else(|| panic!("{found:?}")).to_vec()
        }
    };

    let value = raw("aescbc").await;
    let (iv, text) = value.split_at(16);
    let mut text = text.to_vec();
    let aes = UnboundCipherKey::new(&AES_256, &bytes_of(&secret)).unwrap();
    let context = DecryptionContext::Iv128(FixedLength::try_from(iv).unwrap());
    let plain = PaddedBlockDecryptingKey::cbc_pkcs7(aes).unwrap();
    assert_eq!(plain.decrypt(&mut text, context).unwrap(), b"a plain text");

    let value = raw("aesgcm").await;
    let (nonce, text) = value.split_at(12);
    let mut text = text.to_vec();
    let gcm = LessSafeKey::new(UnboundKey::new(&AES_256_GCM, &bytes_of(&secret)).unwrap());
    let nonce = Nonce::try_assume_unique_for_key(nonce).unwrap();
    let plain = gcm.open_in_place(nonce, Aad::from(KEY), &mut text).unwrap();
    assert_eq!(plain, b"a plain text");

    let value = raw("secretbox").await;
    let (nonce, text) = value.split_at(24);
    let secretbox = XSalsa20Poly1305::new_from_slice(&bytes_of(&secret)).unwrap();
    assert_eq!(secretbox.decrypt(BoxNonce::from_slice(nonce), text).unwrap(), b"a plain text");
}

#[tokio::test]
async fn no_two_writes_have_the_same_bytes() {
    for provider in ["aescbc", "aesgcm", "secretbox"] {
        let store = memory();
        let loaded = load(&config(&[keys(provider, &[("a", fresh_key(1))])])).await.unwrap();
        let backend = loaded.over(&store);
        put(&backend, KEY, "same").await;
        let first = get(&store, KEY).await.value;
        put(&backend, KEY, "same").await;
        assert_ne!(first, get(&store, KEY).await.value, "{provider}");
    }
}

#[tokio::test]
async fn another_key_cannot_read_a_value() {
    for (provider, why) in [
        ("aesgcm", "cipher: message authentication failed"),
        ("secretbox", "output array was not large enough for encryption"),
    ] {
        let store = memory();
        let with = |secret| config(&[keys(provider, &[("k", secret)])]);
        put(&load(&with(fresh_key(1))).await.unwrap().over(&store), KEY, "text").await;
        let other = load(&with(fresh_key(2))).await.unwrap();
        assert_eq!(refusal(&other.over(&store), KEY).await, why);
        let status = format!("transformer_prefix=\"k8s:enc:{provider}:v1:\"}} 1\n");
        let metrics = other.metrics();
        let counted = format!(
            "apiserver_storage_transformation_operations_total{{resource=\"secrets\",status=\"unknown-non-grpc\",\
             transformation_type=\"from_storage\",{status}"
        );
        assert!(metrics.contains(&counted), "{metrics}");
    }
}

#[tokio::test]
async fn a_key_of_another_name_is_not_tried() {
    let store = memory();
    let with = |name: &str| config(&[keys("aesgcm", &[(name, fresh_key(1))])]);
    put(&load(&with("one")).await.unwrap().over(&store), KEY, "text").await;
    let other = load(&with("two")).await.unwrap();
    let why = refusal(&other.over(&store), KEY).await;
    assert_eq!(why, "no matching key was found for the provided AES transformer");
}

#[tokio::test]
async fn damaged_values_are_refused() {
    let cases: [(&str, &str, usize, &str); 7] = [
        ("aescbc32", "aescbc", 10, "the stored data was shorter than the required size"),
        ("aescbc32", "aescbc", 20, "the stored data is not a multiple of the block size"),
        ("aescbc32", "aescbc", 16, "invalid PKCS7 data (empty or not padded)"),
        ("aesgcm32", "aesgcm", 11, "the stored data was shorter than the required size"),
        ("aesgcm32", "aesgcm", 40, "cipher: message authentication failed"),
        ("secretbox32", "secretbox", 39, "the stored data was shorter than the required size"),
        ("secretbox32", "secretbox", 60, "output array was not large enough for encryption"),
    ];
    for (name, provider, length, why) in cases {
        let store = memory();
        let prefix = format!("k8s:enc:{provider}:v1:key32:").len();
        put(&store, KEY, recorded(name).slice(..prefix + length)).await;
        let loaded = load(&config(&[keys(provider, &[("key32", key(32))])])).await.unwrap();
        assert_eq!(refusal(&loaded.over(&store), KEY).await, why, "{name} cut to {length}");
    }
}

#[tokio::test]
async fn a_value_cannot_be_moved_to_another_object() {
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("kms.sock").display().to_string();
    let _server = Kms::new().serve(&socket);
    for provider in [keys("aesgcm", &[("k", fresh_key(1))]), kms("v2", "plug", &socket, "3s")] {
        let store = memory();
        let loaded = load(&config(&[provider])).await.unwrap();
        let backend = loaded.over(&store);
        put(&backend, KEY, "mine").await;
        put(&store, OTHER, get(&store, KEY).await.value).await;
        assert_eq!(refusal(&backend, OTHER).await, "cipher: message authentication failed");
        assert_eq!(&*get(&backend, KEY).await.value, b"mine");
    }
}

#[tokio::test]
async fn a_range_names_all_values_that_cannot_be_read() {
    let store = memory();
    let loaded = load(&config(&[keys("aesgcm", &[("k", fresh_key(1))])])).await.unwrap();
    let backend = loaded.over(&store);
    put(&backend, KEY, "mine").await;
    for name in ["b", "c"] {
        let value = get(&store, KEY).await.value;
        put(&store, &format!("/registry/secrets/default/{name}"), value).await;
    }
    let request = RangeRequest { prefix: "/registry/secrets/".into(), ..RangeRequest::default() };
    let error = backend.range(request).await.unwrap_err();
    let pintle_storage::Error::Undecryptable(values) = error else { panic!("{error}") };
    let keys: Vec<_> = values.iter().map(|value| String::from_utf8_lossy(&value.key).into_owned()).collect();
    assert_eq!(keys, ["/registry/secrets/default/b", "/registry/secrets/default/c"]);
}

#[tokio::test]
async fn a_watch_goes_on_after_a_value_that_cannot_be_read() {
    let store = memory();
    let loaded = load(&config(&[keys("aesgcm", &[("k", fresh_key(1))])])).await.unwrap();
    let backend = loaded.over(&store);
    let from = backend.current_revision().await.unwrap().next();
    let request = WatchRequest { prefix: "/registry/".into(), from, prev: true, progress: false };
    let mut watch = backend.watch(request).await.unwrap();
    put(&backend, KEY, "one").await;
    let moved = put(&store, OTHER, get(&store, KEY).await.value).await;
    put(&backend, KEY, "two").await;
    backend
        .txn(Txn { then: vec![pintle_storage::Op::Delete { key: OTHER.into() }], ..Txn::default() })
        .await
        .unwrap();
    let mut events = Vec::new();
    while events.len() < 4 {
        let Some(Ok(WatchItem::Changes { events: some, .. })) = watch.next().await else { continue };
        events.extend(some);
    }
    assert!(matches!(&events[0], Event::Put { kv, .. } if &*kv.value == b"one"));
    assert!(
        matches!(&events[1], Event::Unreadable(value) if value.key == OTHER && value.revision == moved),
        "{:?}",
        events[1]
    );
    let prev = |event: &Event| match event {
        Event::Put { prev: Some(prev), .. } => prev.value.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(&*prev(&events[2]), b"one");
    // The plain text cannot be shown.
    assert!(matches!(&events[3], Event::Unreadable(_)), "{:?}", events[3]);
}

#[tokio::test]
async fn a_value_of_any_but_the_first_provider_and_key_is_stale() {
    let (old, new) = (("old", fresh_key(1)), ("new", fresh_key(2)));
    let aesgcm = |of: &[(&str, String)]| keys("aesgcm", of);
    let store = memory();
    put(&load(&config(&[aesgcm(from_ref(&old))])).await.unwrap().over(&store), KEY, "text").await;
    for (providers, is_stale) in [
        (vec![aesgcm(&[old.clone(), new.clone()])], false),
        (vec![aesgcm(&[new.clone(), old.clone()])], true),
        (vec![aesgcm(from_ref(&new)), aesgcm(from_ref(&old))], true),
        (vec![IDENTITY.into(), aesgcm(from_ref(&old))], true),
        (vec![keys("secretbox", &[("s", fresh_key(3))]), aesgcm(from_ref(&old))], true),
    ] {
        let found = get(&load(&config(&providers)).await.unwrap().over(&store), KEY).await;
        assert_eq!((&*found.value, found.stale), (&b"text"[..], is_stale), "{providers:?}");
    }
    // Plain text from before.
    put(&store, OTHER, "plain").await;
    let both = [aesgcm(&[new]), IDENTITY.into()];
    let found = get(&load(&config(&both)).await.unwrap().over(&store), OTHER).await;
    assert_eq!((&*found.value, found.stale), (&b"plain"[..], true));
}

#[tokio::test]
async fn keys_of_the_same_name_are_tried_one_after_the_other() {
    let store = memory();
    let old = keys("aesgcm", &[("k", fresh_key(1))]);
    put(&load(&config(from_ref(&old))).await.unwrap().over(&store), KEY, "text").await;
    let new = keys("aesgcm", &[("k", fresh_key(2))]);
    let found = get(&load(&config(&[new, old])).await.unwrap().over(&store), KEY).await;
    assert_eq!((&*found.value, found.stale), (&b"text"[..], true));
}

#[tokio::test]
async fn only_resources_of_the_configuration_are_encrypted() {
    let (custom, lease) = ("/registry/stable.example.com/crontabs/ns/a", "/registry/masterleases/10.0.0.1");
    let keys_of = |prefix| keys("secretbox", &[(prefix, fresh_key(1))]);
    for (resources, encrypted) in [
        ("secrets", vec![KEY]),
        ("crontabs.stable.example.com", vec![custom]),
        ("*.stable.example.com", vec![custom]),
        ("*.", vec![KEY, "/registry/configmaps/ns/a"]),
        ("*.*", vec![KEY, custom, "/registry/configmaps/ns/a"]),
    ] {
        let store = memory();
        let loaded = load(&config_of(resources, &[keys_of("k")])).await.unwrap();
        let backend = loaded.over(&store);
        for key in [KEY, custom, lease, "/registry/configmaps/ns/a", "compact_rev_key"] {
            put(&backend, key, "text").await;
            let raw = get(&store, key).await.value;
            assert_eq!(raw.starts_with(b"k8s:enc:"), encrypted.contains(&key), "{resources}: {key}");
            assert_eq!(&*get(&backend, key).await.value, b"text");
        }
    }
}

#[tokio::test]
async fn the_most_exact_entry_and_the_first_one_count() {
    let text = format!(
        "{}- resources: [configmaps, secrets]\n  providers:\n{}- resources: ['*.*']\n  providers:\n{}",
        config(&[keys("aesgcm", &[("first", fresh_key(1))])]),
        keys("aesgcm", &[("second", fresh_key(2))]),
        keys("secretbox", &[("rest", fresh_key(3))]),
    );
    let store = memory();
    let backend = load(&text).await.unwrap().over(&store);
    for (key, prefix) in [
        (KEY, "k8s:enc:aesgcm:v1:first:"),
        ("/registry/configmaps/ns/a", "k8s:enc:aesgcm:v1:second:"),
        ("/registry/stable.example.com/crontabs/ns/a", "k8s:enc:secretbox:v1:rest:"),
    ] {
        put(&backend, key, "text").await;
        assert!(get(&store, key).await.value.starts_with(prefix.as_bytes()), "{key}");
    }
}

#[tokio::test]
async fn without_a_configuration_encrypted_values_are_refused() {
    let metrics = Metrics::new(&Registry::default(), "", &Clock::system()).unwrap();
    let store = memory();
    let backend = over(&store, Arc::new(Encryption::none(metrics)));
    put(&store, KEY, recorded("aesgcm32")).await;
    put(&store, OTHER, "k8s\0plain").await;
    assert_eq!(refusal(&backend, KEY).await, "identity transformer tried to read encrypted data");
    assert_eq!(&*get(&backend, OTHER).await.value, b"k8s\0plain");
}

#[tokio::test]
async fn a_compare_that_fails_returns_the_plain_text() {
    let store = memory();
    let loaded = load(&config(&[keys("secretbox", &[("k", fresh_key(1))])])).await.unwrap();
    let backend: Arc<dyn Backend> = loaded.over(&store);
    put(&backend, KEY, "there").await;
    let result = backend.txn(Txn::create(KEY.into(), "new".into(), None)).await.unwrap();
    let read = result.read.into_iter().next().flatten().unwrap();
    assert_eq!((result.succeeded, &*read.value), (false, &b"there"[..]));
}

#[tokio::test]
async fn transformations_are_counted_for_provider_and_key() {
    let store = memory();
    let loaded = load(&config(&[keys("aescbc", &[("k", fresh_key(1))])])).await.unwrap();
    let backend = loaded.over(&store);
    put(&backend, KEY, "text").await;
    get(&backend, KEY).await;
    let metrics = loaded.metrics();
    for direction in ["to_storage", "from_storage"] {
        for prefix in ["k8s:enc:aescbc:v1:", "k:"] {
            let labels = format!("transformation_type=\"{direction}\",transformer_prefix=\"{prefix}\"}} 1\n");
            let counted = format!(
                "apiserver_storage_transformation_operations_total{{resource=\"secrets\",status=\"OK\",{labels}"
            );
            assert!(metrics.contains(&counted), "{metrics}");
            assert!(
                metrics
                    .contains(&format!("apiserver_storage_transformation_duration_seconds_count{{{labels}"))
            );
        }
    }
    assert!(
        metrics
            .contains("apiserver_encryption_config_controller_last_config_info{apiserver_id_hash=\"sha256:")
    );
}

#[tokio::test]
async fn no_damage_to_a_value_ends_the_server_or_passes_where_values_are_authenticated() {
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("kms.sock").display().to_string();
    let _server = Kms::new().serve(&socket);
    let with_keys = |provider| keys(provider, &[("key32", key(32))]);
    for (name, provider, is_authenticated) in [
        ("aescbc32", with_keys("aescbc"), false),
        ("aesgcm32", with_keys("aesgcm"), true),
        ("secretbox32", with_keys("secretbox"), true),
        ("kms1", kms("v1", "plug", &socket, "3s"), false),
        ("kms2", kms("v2", "plug", &socket, "3s"), false),
    ] {
        let (store, value) = (memory(), recorded(name));
        let backend = load(&config(&[provider])).await.unwrap().over(&store);
        for at in 0..value.len() {
            let mut flipped = value.to_vec();
            flipped[at] ^= 0x80;
            for damaged in [flipped, value[..at].to_vec()] {
                put(&store, KEY, damaged).await;
                let read = backend.get(KEY.as_bytes(), None).await;
                assert!(read.is_err() || !is_authenticated, "{name} at {at}");
            }
        }
    }
}
