//! Keys that are rotated while values are written and read: at every moment each value can be read.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use pintle_runtime::Clock;
use pintle_storage::{RangeRequest, Txn};
use support::{config, eventually, fresh_key, get, keys, load_with, memory, put};

#[tokio::test(flavor = "multi_thread")]
async fn keys_are_rotated_under_load_with_nothing_unreadable() {
    let (a, b) = (("a", fresh_key(1)), ("b", fresh_key(2)));
    let with = |of: &[&(&str, String)]| {
        let of: Vec<_> = of.iter().map(|key| (*key).clone()).collect();
        config(&[keys("secretbox", &of)])
    };
    let loaded = load_with(&with(&[&a]), true, Clock::system()).await.unwrap();
    let store = memory();
    let backend = loaded.over(&store);
    let following = tokio::spawn(loaded.encryption.clone().follow());
    let (stop, writes) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU32::new(0)));
    let mut workers = Vec::new();
    for worker in 0..4 {
        let (backend, stop, writes) = (backend.clone(), stop.clone(), writes.clone());
        workers.push(tokio::spawn(async move {
            let key = format!("/registry/secrets/ns/{worker}");
            while !stop.load(Ordering::Relaxed) {
                let (found, _) = backend.get(key.as_bytes(), None).await.expect("readable");
                let (count, revision) = found.map_or((0, pintle_storage::Revision::ZERO), |kv| {
                    (std::str::from_utf8(&kv.value).unwrap().parse::<u64>().unwrap(), kv.mod_revision)
                });
                let next = (count + 1).to_string();
                let txn = Txn::update(key.clone().into(), next.into(), revision, None);
                assert!(backend.txn(txn).await.expect("written").succeeded);
                writes.fetch_add(1, Ordering::Relaxed);
                let request = RangeRequest { prefix: "/registry/secrets/".into(), ..RangeRequest::default() };
                backend.range(request).await.expect("all are readable");
            }
        }));
    }
    // As an administrator does it: first all servers can read the new key, then it writes, then all is rewritten, then the old
    // one goes.
    for of in [vec![&a, &b], vec![&b, &a]] {
        let before = writes.load(Ordering::Relaxed);
        *loaded.file.lock().unwrap() = with(&of);
        loaded.encryption.file_changed();
        eventually("writes go on", async || writes.load(Ordering::Relaxed) > before + 200).await;
    }
    let is_new = |value: &[u8]| value.starts_with(b"k8s:enc:secretbox:v1:b:");
    for worker in 0..4 {
        let key = format!("/registry/secrets/ns/{worker}");
        eventually("it is rewritten", async || is_new(&get(&store, &key).await.value)).await;
    }
    let before = writes.load(Ordering::Relaxed);
    *loaded.file.lock().unwrap() = with(&[&b]);
    loaded.encryption.file_changed();
    eventually("writes go on", async || writes.load(Ordering::Relaxed) > before + 200).await;
    stop.store(true, Ordering::Relaxed);
    for worker in workers {
        worker.await.expect("no value was unreadable");
    }
    let reloads =
        "apiserver_encryption_config_controller_automatic_reloads_total{apiserver_id_hash=\"sha256:";
    let metrics = loaded.metrics();
    let line = metrics.lines().find(|line| line.starts_with(reloads) && line.contains("success"));
    assert!(line.is_some_and(|line| line.ends_with(" 3")), "{metrics}");
    following.abort();
}

#[tokio::test]
async fn a_configuration_that_cannot_be_used_changes_nothing_and_is_tried_again() {
    let with = |name: &str| config(&[keys("aesgcm", &[(name, fresh_key(1))])]);
    let loaded = load_with(&with("a"), true, Clock::system()).await.unwrap();
    let store = memory();
    let backend = loaded.over(&store);
    let following = tokio::spawn(loaded.encryption.clone().follow());
    *loaded.file.lock().unwrap() = "resources: nonsense".into();
    loaded.encryption.file_changed();
    eventually("it is refused", async || loaded.metrics().contains("status=\"failure\"")).await;
    put(&backend, support::KEY, "text").await;
    assert!(get(&store, support::KEY).await.value.starts_with(b"k8s:enc:aesgcm:v1:a:"));
    // Without notice, after a pause.
    *loaded.file.lock().unwrap() = with("b");
    eventually("it is loaded", async || {
        put(&backend, support::KEY, "text").await;
        get(&store, support::KEY).await.value.starts_with(b"k8s:enc:aesgcm:v1:b:")
    })
    .await;
    tokio::time::sleep(Duration::from_millis(1)).await;
    following.abort();
}
