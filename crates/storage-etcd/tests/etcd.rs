//! Behaviour of the etcd backend beyond the conformance suite: TLS, versions, shared leases, the compactor beside others, large lists.

mod common;

use std::time::Duration;

use bytes::Bytes;
use common::{Etcd, Version};
use futures_util::StreamExt;
use pintle_storage::lease::Window;
use pintle_storage::{Backend, Error, Event, Op, RangeRequest, Revision, Txn, WatchItem, WatchRequest};
use pintle_storage_etcd::{Config, Progress, Store, Tls, compactor};
use rcgen::{BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair};

/// A CA, a server certificate and a client certificate as files in a folder.
fn certificates(folder: &std::path::Path) {
    let write = |name: &str, content: String| std::fs::write(folder.join(name), content).expect("a file");
    let ca_key = KeyPair::generate().unwrap();
    let mut ca = CertificateParams::default();
    ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    write("ca.pem", ca.self_signed(&ca_key).unwrap().pem());
    let issuer = Issuer::new(ca, ca_key);
    for (name, usage) in
        [("server", ExtendedKeyUsagePurpose::ServerAuth), ("client", ExtendedKeyUsagePurpose::ClientAuth)]
    {
        let key = KeyPair::generate().unwrap();
        let mut params =
            CertificateParams::new(vec!["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap();
        // etcd's gateway is a client of itself.
        params.extended_key_usages = vec![usage, ExtendedKeyUsagePurpose::ClientAuth];
        write(&format!("{name}.pem"), params.signed_by(&key, &issuer).unwrap().pem());
        write(&format!("{name}.key"), key.serialize_pem());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tls_with_client_certificates() {
    let folder = tempfile::tempdir().unwrap();
    certificates(folder.path());
    let file = |name: &str| folder.path().join(name);
    let arguments = [
        format!("--cert-file={}", file("server.pem").display()),
        format!("--key-file={}", file("server.key").display()),
        format!("--trusted-ca-file={}", file("ca.pem").display()),
        "--client-cert-auth".to_owned(),
    ];
    let etcd = Etcd::start_with(Version::New, "https", &arguments);
    let tls = Tls { ca: Some(file("ca.pem")), cert: Some(file("client.pem")), key: Some(file("client.key")) };
    let store = Store::connect(Config { tls: tls.clone(), ..etcd.config() }).await.unwrap();
    let written = store.txn(Txn::put("/a".into(), "1".into())).await.unwrap().revision;
    let request = WatchRequest { prefix: "/".into(), from: written, ..WatchRequest::default() };
    let mut watch = store.watch(request).await.unwrap();
    assert!(matches!(watch.next().await, Some(Ok(WatchItem::Changes { .. }))));

    let dial_timeout = Duration::from_millis(500);
    let without = Tls { cert: None, key: None, ..tls.clone() };
    let refused = Store::connect(Config { tls: without, dial_timeout, ..etcd.config() }).await;
    assert!(refused.is_err(), "etcd asks for a client certificate");

    let stranger = tempfile::tempdir().unwrap();
    certificates(stranger.path());
    let other_ca = Tls { ca: Some(stranger.path().join("ca.pem")), ..tls };
    let Err(error) = Store::connect(Config { tls: other_ca, dial_timeout, ..etcd.config() }).await else {
        panic!("a server certificate of another CA is refused")
    };
    assert!(error.to_string().contains("certificate"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn progress_is_supported_by_version_unless_overridden() {
    let old = Etcd::start(Version::Old);
    let store = old.store().await;
    assert!(!store.supports_progress());
    assert!(matches!(store.request_progress().await, Err(Error::Unsupported(_))));
    let store = Store::connect(Config { progress: Progress::Always, ..old.config() }).await.unwrap();
    store.request_progress().await.unwrap();

    let new = Etcd::start(Version::New);
    let store = new.store().await;
    store.request_progress().await.unwrap();
    let store = Store::connect(Config { progress: Progress::Never, ..new.config() }).await.unwrap();
    assert!(matches!(store.request_progress().await, Err(Error::Unsupported(_))));

    if Version::Old.is_stand_in() || Version::New.is_stand_in() {
        return; // the harness has said so
    }
    // One old member is enough to distrust them all, once it was met.
    let endpoints = vec![new.endpoint(), old.endpoint()];
    let mixed = Store::connect(Config { endpoints, ..new.config() }).await.unwrap();
    for _ in 0..100 {
        if !mixed.supports_progress() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the old member was never met");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_events_take_a_handful_of_leases() {
    let etcd = Etcd::start(Version::New);
    let lease_window = Window { max_objects: 300, ..Window::default() };
    let store = Store::connect(Config { lease_window, ..etcd.config() }).await.unwrap();
    let mut writers = tokio::task::JoinSet::new();
    for writer in 0..10 {
        let store = store.clone();
        writers.spawn(async move {
            for i in 0..100 {
                let lease = store.lease(Duration::from_secs(3600)).await.unwrap();
                let key = format!("/registry/events/{writer}/{i}").into();
                assert!(store.txn(Txn::create(key, "event".into(), Some(lease))).await.unwrap().succeeded);
            }
        });
    }
    while let Some(done) = writers.join_next().await {
        done.unwrap();
    }
    assert_eq!(etcd.metric("etcd_debugging_lease_granted_total").await, 4.0, "1000 keys, 300 each");
    assert_eq!(etcd.metric("etcd_debugging_lease_renewed_total").await, 0.0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lease_that_is_gone_is_replaced() {
    let etcd = Etcd::start(Version::New);
    let store = etcd.store().await;
    let short = store.lease(Duration::from_secs(1)).await.unwrap();
    let put = Op::Put { key: "/e".into(), value: "".into(), lease: Some(short) };
    let gone = loop {
        tokio::time::sleep(Duration::from_millis(200)).await;
        match store.txn(Txn { then: vec![put.clone()], ..Txn::default() }).await {
            Ok(_) => {}
            Err(error) => break error,
        }
    };
    assert_eq!(gone, Error::LeaseNotFound(short.0));
    assert_ne!(store.lease(Duration::from_secs(1)).await.unwrap(), short);
}

/// More and larger values than one message holds, while another writer changes them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_large_list_is_read_in_pages_at_one_revision() {
    let etcd = Etcd::start(Version::New);
    let config = Config { max_message_bytes: 6 << 20, ..etcd.config() };
    let store = Store::connect(config).await.unwrap();
    for batch in 0..30usize {
        let put = |i: usize| Op::Put {
            key: key(batch * 100 + i),
            value: Bytes::from(vec![b'x'; 5000]),
            lease: None,
        };
        store.txn(Txn { then: (0..100).map(put).collect(), ..Txn::default() }).await.unwrap();
    }
    // Too large for a page that has grown on the small ones before.
    for i in 0..12 {
        let value = Bytes::from(vec![b'y'; 1 << 20]);
        store.txn(Txn::put(format!("/list/z{i}").into(), value)).await.unwrap();
    }
    let at = store.current_revision().await.unwrap();
    let writer = tokio::spawn({
        let store = store.clone();
        async move {
            for i in 0..200 {
                store.txn(Txn::put(key(i * 15), "new".into())).await.unwrap();
            }
        }
    });
    let list =
        store.range(RangeRequest { prefix: "/list/".into(), ..RangeRequest::default() }).await.unwrap();
    assert_eq!((list.kvs.len(), list.remaining), (3012, 0));
    assert!(list.kvs.iter().all(|kv| kv.mod_revision <= list.revision), "all of one revision");
    writer.await.unwrap();
    let then = RangeRequest { prefix: "/list/".into(), at: Some(at), limit: 2999, ..RangeRequest::default() };
    let then = store.range(then).await.unwrap();
    assert_eq!((then.kvs.len(), then.remaining), (2999, 13));
    assert!(then.kvs.iter().all(|kv| kv.value.len() == 5000), "as it was");
}

fn key(i: usize) -> Bytes {
    format!("/list/{i:05}").into()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_larger_than_etcd_takes_is_refused_as_such() {
    let etcd = Etcd::start(Version::New);
    let store = etcd.store().await;
    for size in [1_800_000, 3_000_000] {
        let error = store.txn(Txn::put("/a".into(), vec![0; size].into())).await.unwrap_err();
        assert!(matches!(error, Error::TooLarge { size: told, .. } if told >= size), "{error:?}");
    }
    assert_eq!(store.get(b"/a", None).await.unwrap().0, None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_etcd_refuses_writes_for_lack_of_space() {
    let etcd = Etcd::start_with(Version::New, "http", &["--quota-backend-bytes=2000000".to_owned()]);
    let store = etcd.store().await;
    let mut full = None;
    for i in 0..200 {
        if let Err(error) = store.txn(Txn::put(key(i), vec![0; 500_000].into())).await {
            full = Some(error);
            break;
        }
        // etcd measures its file, which grows when it commits, every tenth of a second.
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(matches!(full, Some(Error::NoSpace(_))), "{full:?}");
    assert!(store.get(&key(0), None).await.unwrap().0.is_some(), "reading goes on");
}

/// Slow watchers must not block other calls on their connection.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn watchers_that_do_not_read_delay_nobody() {
    let etcd = Etcd::start(Version::New);
    let store = etcd.store().await;
    let from = store.current_revision().await.unwrap().next();
    let request = WatchRequest { prefix: "/slow/".into(), from, ..WatchRequest::default() };
    let mut idle = Vec::new();
    for _ in 0..10 {
        idle.push(store.watch(request.clone()).await.unwrap());
    }
    // Far more than queues and windows hold.
    for i in 0..150 {
        store.txn(Txn::put(format!("/slow/{}", i % 3).into(), vec![0; 100_000].into())).await.unwrap();
    }
    let start = std::time::Instant::now();
    store.txn(Txn::put("/fast".into(), "".into())).await.unwrap();
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
    let mut expected = from;
    let slow = &mut idle[0];
    while expected.0 < from.0 + 150 {
        let Some(Ok(WatchItem::Changes { revision, .. })) = slow.next().await else {
            panic!("a change is missing")
        };
        assert_eq!(revision, expected);
        expected = expected.next();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn compactors_share_the_work_and_history_lives_for_an_interval() {
    let etcd = Etcd::start(Version::New);
    let store = etcd.store().await;
    let other = etcd.store().await;
    let old = store.txn(Txn::put("/a".into(), "old".into())).await.unwrap().revision;
    store.txn(Txn::put("/a".into(), "new".into())).await.unwrap();
    let interval = Duration::from_millis(300);
    let tasks = [&store, &other].map(|store| tokio::spawn(compactor::run(store.clone(), interval)));
    let start = std::time::Instant::now();
    while store.get(b"/a", Some(old)).await.is_ok() {
        assert!(start.elapsed() < Duration::from_secs(10), "history is never compacted");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(start.elapsed() >= interval, "what is younger than the interval stays");
    let compacted = store.compacted_revision().await.unwrap();
    assert!(compacted > old);
    let shared = store.get(b"compact_rev_key", None).await.unwrap().0.expect("the reference's key");
    assert!(std::str::from_utf8(&shared.value).unwrap().parse::<u64>().unwrap() >= compacted.0);
    assert_eq!(
        other.compacted_revision().await.unwrap().max(compacted),
        other.compacted_revision().await.unwrap()
    );

    store.close().await.unwrap();
    other.close().await.unwrap();
    for task in tasks {
        tokio::time::timeout(Duration::from_secs(2), task)
            .await
            .expect("a compactor ends with its store")
            .unwrap();
    }
    assert!(compacted > Revision::ZERO);
}

/// A kube-apiserver that moves the shared clock first has the work; its compacted revision is taken over.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_compactor_leaves_the_work_to_whoever_moved_the_clock() {
    let etcd = Etcd::start(Version::New);
    let store = etcd.store().await;
    let old = store.txn(Txn::put("/a".into(), "old".into())).await.unwrap().revision;
    // Many times slower than the clock is moved: a server that is late on a busy machine is not taken for gone.
    let task = tokio::spawn(compactor::run(store.clone(), Duration::from_millis(1500)));
    let start = std::time::Instant::now();
    while store.compacted_revision().await.unwrap() != Revision(2) {
        assert!(start.elapsed() < Duration::from_secs(30), "what the other one said is never taken over");
        store.txn(Txn::put("compact_rev_key".into(), "2".into())).await.unwrap();
        tokio::time::sleep(Duration::from_millis(70)).await;
    }
    assert!(store.get(b"/a", Some(old)).await.is_ok(), "the other one did not compact, and neither did we");
    store.close().await.unwrap();
    task.await.unwrap();
}

/// etcd begins to send the events of a watch before it has noted that they should carry previous values.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn previous_values_are_there_from_the_first_event_on() {
    let etcd = Etcd::start(Version::Old);
    let store = etcd.store().await;
    store.txn(Txn::put("/p".into(), "0".into())).await.unwrap();
    let from = store.txn(Txn::put("/p".into(), "1".into())).await.unwrap().revision;
    let mut watchers = tokio::task::JoinSet::new();
    for _ in 0..600 {
        let store = store.clone();
        watchers.spawn(async move {
            let request = WatchRequest { prefix: "/p".into(), from, prev: true, progress: false };
            let first = store.watch(request).await.unwrap().next().await;
            let Some(Ok(WatchItem::Changes { events, .. })) = first else { panic!("{first:?}") };
            let Event::Put { prev: Some(prev), .. } = &events[0] else {
                panic!("no previous value: {events:?}")
            };
            assert_eq!(prev.value, "0");
        });
    }
    while let Some(done) = watchers.join_next().await {
        done.unwrap();
    }
}
