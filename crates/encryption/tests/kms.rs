//! A KMS plugin that serves gRPC on a socket, changes its key, hangs, restarts.

mod support;

use std::time::{Duration, SystemTime};

use pintle_runtime::{Clock, ManualClock};
use support::{KEY, Kms, OTHER, config, eventually, get, kms, load, load_with, memory, put, refusal};

struct Socket {
    _dir: tempfile::TempDir,
    path: String,
}

fn socket() -> Socket {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("kms.sock").display().to_string();
    Socket { _dir: dir, path }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_seed_encrypts_all_values_until_the_plugin_has_another_key() {
    let (socket, plugin) = (socket(), Kms::new());
    let _server = plugin.serve(&socket.path);
    let manual = ManualClock::starting_at(SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000));
    let text = config(&[kms("v2", "plug", &socket.path, "3s")]);
    let loaded = load_with(&text, false, manual.clock()).await.unwrap();
    let store = memory();
    let backend = loaded.over(&store);
    for key in [KEY, OTHER] {
        put(&backend, key, "text").await;
    }
    assert!(get(&store, KEY).await.value.starts_with(b"k8s:enc:kms:v2:plug:"));
    assert_eq!((plugin.calls("Encrypt"), plugin.calls("Decrypt")), (1, 0));
    assert!(!get(&backend, KEY).await.stale);

    plugin.set(|state| state.key_id = "kek2".into());
    eventually("the key is noticed", async || {
        manual.advance(Duration::from_secs(60));
        tokio::time::sleep(Duration::from_millis(20)).await;
        get(&backend, KEY).await.stale
    })
    .await;
    assert_eq!(&*get(&backend, KEY).await.value, b"text");
    put(&backend, KEY, "text").await;
    assert!(!get(&backend, KEY).await.stale);
    assert_eq!(plugin.calls("Encrypt"), 2);

    // Another server asks the plugin once for each seed.
    let other = load(&text).await.unwrap();
    for key in [KEY, OTHER, KEY] {
        get(&other.over(&store), key).await;
    }
    let metrics = loaded.metrics();
    for part in [
        "apiserver_envelope_encryption_key_id_hash_total{apiserver_id_hash=\"sha256:",
        "apiserver_envelope_encryption_key_id_hash_status_last_timestamp_seconds{",
        "apiserver_envelope_encryption_dek_source_cache_size{provider_name=\"plug\"} 2",
        "apiserver_envelope_encryption_kms_operations_latency_seconds_count{grpc_status_code=\"OK\",\
         method_name=\"/v2.KeyManagementService/Encrypt\",provider_name=\"plug\"} 2",
        "apiserver_storage_data_key_generation_duration_seconds_count 2",
    ] {
        assert!(metrics.contains(part), "{part}\n{metrics}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn writes_end_three_minutes_after_the_last_good_status_and_reads_go_on() {
    let (socket, plugin) = (socket(), Kms::new());
    let server = plugin.serve(&socket.path);
    let start = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    let manual = ManualClock::starting_at(start);
    let text = config(&[kms("v2", "plug", &socket.path, "50ms")]);
    let loaded = load_with(&text, false, manual.clock()).await.unwrap();
    let store = memory();
    let backend = loaded.over(&store);
    put(&backend, KEY, "text").await;
    server.stop().await;
    manual.advance(Duration::from_secs(181));
    let txn = pintle_storage::Txn::put(KEY.into(), "more".into());
    let error = backend.txn(txn).await.unwrap_err();
    assert!(matches!(error, pintle_storage::Error::NotEncrypted(_)));
    let (error, hash) = (error.to_string(), "sha256:");
    assert!(error.starts_with(&format!("encryptedDEKSource with keyID hash \"{hash}")), "{error}");
    assert!(
        error.ends_with("expired at 2001-09-09T01:49:40Z (current time is 2001-09-09T01:49:41Z)"),
        "{error}"
    );
    assert_eq!(&*get(&backend, KEY).await.value, b"text");

    // It comes back with the same key, and the seed is used again.
    let _server = plugin.serve(&socket.path);
    eventually("the plugin is noticed", async || {
        manual.advance(Duration::from_secs(10));
        tokio::time::sleep(Duration::from_millis(30)).await;
        backend.txn(pintle_storage::Txn::put(KEY.into(), "more".into())).await.is_ok()
    })
    .await;
    assert_eq!(plugin.calls("Encrypt"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_that_is_not_there_yet_delays_the_start_and_does_not_end_it() {
    let (socket, plugin) = (socket(), Kms::new());
    let manual = ManualClock::starting_at(SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000));
    let text = config(&[kms("v2", "plug", &socket.path, "50ms")]);
    let loaded = load_with(&text, false, manual.clock()).await.unwrap();
    let checks = loaded.encryption.health_checks();
    assert_eq!(checks.iter().map(|check| &*check.name).collect::<Vec<_>>(), ["kms-providers"]);
    let backend = loaded.over(&memory());
    let txn = pintle_storage::Txn::put(KEY.into(), "text".into());
    let error = backend.txn(txn).await.unwrap_err();
    assert_eq!(error.to_string(), "got unexpected nil transformer");
    let why = checks[0].check().await.unwrap_err();
    assert!(why.starts_with("kms-provider-0: rpc error: code = DeadlineExceeded desc = "), "{why}");
    manual.advance(Duration::from_secs(4));
    let why = checks[0].check().await.unwrap_err();
    let words = "kms-provider-0: failed to perform status section of the healthz check for KMS Provider plug, error: rpc error:";
    assert!(why.starts_with(words), "{why}");

    let _server = plugin.serve(&socket.path);
    eventually("writes work", async || {
        manual.advance(Duration::from_secs(10));
        tokio::time::sleep(Duration::from_millis(30)).await;
        backend.txn(pintle_storage::Txn::put(KEY.into(), "text".into())).await.is_ok()
    })
    .await;
    eventually("it is well", async || checks[0].check().await.is_ok()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_status_says_is_checked() {
    let (socket, plugin) = (socket(), Kms::new());
    let _server = plugin.serve(&socket.path);
    let manual = ManualClock::starting_at(SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000));
    let text = config(&[kms("v2", "plug", &socket.path, "3s")]);
    let loaded = load_with(&text, false, manual.clock()).await.unwrap();
    let check = loaded.encryption.health_checks().into_iter().next().unwrap();
    let good = ("ok", "v2", "kek1".to_owned());
    for ((healthz, version, key_id), why) in [
        (("sick", "v2", "kek1".to_owned()), "got unexpected healthz status: sick".to_owned()),
        (("ok", "v3", "kek1".into()), "expected KMSv2 API version v2, got v3".into()),
        (
            ("ok", "v2beta1", "kek1".into()),
            "KMSv2 API version should not change after the initial status response version v2, got v2beta1"
                .into(),
        ),
        (("ok", "v2", String::new()), "got invalid KMSv2 KeyID hash \"\": keyID is empty".into()),
    ] {
        plugin.set(|state| {
            (state.healthz, state.version, state.key_id) = (healthz.into(), version.into(), key_id);
        });
        manual.advance(Duration::from_secs(21));
        let said = check.check().await.unwrap_err();
        let why = format!("kms-provider-0: kmsv2 Provider plug is not healthy, error: {why}");
        assert_eq!(said, why);
    }
    plugin.set(|state| {
        (state.healthz, state.version, state.key_id) = (good.0.into(), good.1.into(), good.2.clone());
    });
    manual.advance(Duration::from_secs(21));
    assert_eq!(check.check().await, Ok(()));
    let metrics = loaded.metrics();
    let counted = "apiserver_envelope_encryption_invalid_key_id_from_status_total{error=\"empty\",provider_name=\"plug\"} 1";
    assert!(metrics.contains(counted), "{metrics}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_that_hangs_costs_a_reader_its_timeout_once() {
    let (socket, plugin) = (socket(), Kms::new());
    let server = plugin.serve(&socket.path);
    let text = config(&[kms("v2", "plug", &socket.path, "200ms")]);
    let store = memory();
    let (writer, reader) = (load(&text).await.unwrap(), load(&text).await.unwrap());
    let (writer, reader) = (writer.over(&store), reader.over(&store));
    for name in ["a", "b", "c", "d"] {
        put(&writer, &format!("/registry/secrets/default/{name}"), "text").await;
    }
    server.stop().await;
    std::fs::remove_file(&socket.path).unwrap();
    // Connections are accepted by the system, and nothing answers.
    let hanging = std::os::unix::net::UnixListener::bind(&socket.path).unwrap();
    let begun = std::time::Instant::now();
    let request = pintle_storage::RangeRequest { prefix: "/registry/secrets/".into(), ..Default::default() };
    let error = reader.range(request).await.unwrap_err().to_string();
    assert!(begun.elapsed() < Duration::from_millis(600), "{:?}", begun.elapsed());
    assert!(
        error.starts_with("failed to decrypt DEK, error: rpc error: code = DeadlineExceeded desc = "),
        "{error}"
    );
    drop(hanging);
}

#[tokio::test(flavor = "multi_thread")]
async fn version_one_asks_the_plugin_for_every_write() {
    let (socket, plugin) = (socket(), Kms::new());
    let _server = plugin.serve(&socket.path);
    let loaded = load(&config(&[kms("v1", "plug", &socket.path, "3s")])).await.unwrap();
    let store = memory();
    let backend = loaded.over(&store);
    for key in [KEY, OTHER] {
        put(&backend, key, "text").await;
        assert_eq!(&*get(&backend, key).await.value, b"text");
    }
    assert!(get(&store, KEY).await.value.starts_with(b"k8s:enc:kms:v1:plug:"));
    assert_eq!((plugin.calls("Encrypt"), plugin.calls("Decrypt"), plugin.calls("Version")), (2, 0, 1));
    let checks = loaded.encryption.health_checks();
    assert_eq!(checks.iter().map(|check| &*check.name).collect::<Vec<_>>(), ["kms-provider-0"]);
    assert_eq!(checks[0].check().await, Ok(()));
    assert_eq!((plugin.calls("Encrypt"), plugin.calls("Decrypt")), (3, 1));
    assert!(loaded.metrics().contains("apiserver_envelope_encryption_dek_cache_fill_percent 0.002"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_value_of_another_plugin_is_refused_with_its_answer() {
    let (socket, plugin) = (socket(), Kms::new());
    let _server = plugin.serve(&socket.path);
    let loaded = load(&config(&[kms("v2", "plug", &socket.path, "3s")])).await.unwrap();
    let store = memory();
    let mut value = support::recorded("kms2").to_vec();
    let at = value.windows(8).position(|part| part == b"wrapped:").unwrap();
    value[at] = b'W';
    put(&store, KEY, value).await;
    let why = refusal(&loaded.over(&store), KEY).await;
    assert_eq!(
        why,
        "failed to decrypt DEK, error: rpc error: code = InvalidArgument desc = not of this plugin"
    );
    let counted = "status=\"InvalidArgument\",transformation_type=\"from_storage\",transformer_prefix=\"k8s:enc:kms:v2:plug:\"} 1";
    assert!(loaded.metrics().contains(counted), "{}", loaded.metrics());
}

#[tokio::test]
async fn with_reload_all_plugins_have_one_check_also_if_there_are_none() {
    let text = config(&[support::IDENTITY.into()]);
    let names = |checks: Vec<pintle_encryption::KmsCheck>| {
        checks.into_iter().map(|check| check.name).collect::<Vec<_>>()
    };
    let loaded = load_with(&text, true, Clock::system()).await.unwrap();
    assert_eq!(names(loaded.encryption.health_checks()), ["kms-providers"]);
    assert!(names(load(&text).await.unwrap().encryption.health_checks()).is_empty());
}

#[derive(Clone, PartialEq, prost::Message)]
struct Stored {
    #[prost(bytes = "vec", tag = "1")]
    data: Vec<u8>,
    #[prost(string, tag = "2")]
    key_id: String,
    #[prost(bytes = "vec", tag = "3")]
    source: Vec<u8>,
    #[prost(btree_map = "string, bytes", tag = "4")]
    annotations: std::collections::BTreeMap<String, Vec<u8>>,
    #[prost(int32, tag = "5")]
    kind: i32,
}

/// Decrypts what `aesgcm` makes of a value, with the key that the plugin has wrapped or that is derived from it.
fn opened(key: &[u8], sealed: &[u8]) -> Vec<u8> {
    use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
    let gcm = LessSafeKey::new(UnboundKey::new(&AES_256_GCM, key).unwrap());
    let (nonce, text) = sealed.split_at(12);
    let mut text = text.to_vec();
    let nonce = Nonce::try_assume_unique_for_key(nonce).unwrap();
    gcm.open_in_place(nonce, Aad::from(KEY), &mut text).unwrap().to_vec()
}

fn unwrapped(source: &[u8]) -> Vec<u8> {
    source.strip_prefix(b"wrapped:").expect("a wrapped key").iter().rev().copied().collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_written_is_read_by_independent_code() {
    use aws_lc_rs::hmac::{HMAC_SHA256, Key, sign};
    use prost::Message;

    let (socket, plugin) = (socket(), Kms::new());
    let _server = plugin.serve(&socket.path);
    let raw = |version: &'static str| {
        let text = config(&[kms(version, "plug", &socket.path, "3s")]);
        async move {
            let store = memory();
            put(&load(&text).await.unwrap().over(&store), KEY, "a plain text").await;
            let value = get(&store, KEY).await.value;
            value
                .strip_prefix(format!("k8s:enc:kms:{version}:plug:").as_bytes())
                .expect("the prefix")
                .to_vec()
        }
    };
    let stored = Stored::decode(&*raw("v2").await).unwrap();
    assert_eq!((&*stored.key_id, stored.kind), ("kek1", 1));
    assert_eq!(stored.annotations["version.example.com"], b"7");
    let (info, sealed) = stored.data.split_at(32);
    // The first block of HKDF-Expand.
    let derived = sign(&Key::new(HMAC_SHA256, &unwrapped(&stored.source)), &[info, &[1]].concat());
    assert_eq!(opened(derived.as_ref(), sealed), b"a plain text");

    let stored = raw("v1").await;
    let (length, rest) = stored.split_first_chunk::<2>().unwrap();
    let (source, sealed) = rest.split_at(usize::from(u16::from_be_bytes(*length)));
    assert_eq!(opened(&unwrapped(source), sealed), b"a plain text");
}
