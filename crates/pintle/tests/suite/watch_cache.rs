//! Lists and watches of resources that are not kept in memory, of parts of resources, and with features switched off.

use std::time::{Duration, Instant};

use bytes::Bytes;
use http::Method;
use pintle_storage::{Backend, Txn};
use rustix::process::Signal;
use serde_json::Value;

use crate::support::etcd::{Etcd, Version};
use crate::support::{ALICE, Client, Launch, Server, eventually};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

async fn create(admin: &Client, path: &str, name: &str) -> Value {
    let body = format!(r#"{{"metadata":{{"name":"{name}","labels":{{"app":"{name}"}}}}}}"#);
    admin.request(Method::POST, path, &[("content-type", "application/json")], body).await.gives(201)
}

fn names(list: &Value) -> Vec<&str> {
    let items = list["items"].as_array().expect("items");
    items.iter().map(|item| item["metadata"]["name"].as_str().expect("a name")).collect()
}

fn version(of: &Value) -> &str {
    of["metadata"]["resourceVersion"].as_str().expect("a version")
}

/// Without a cache the store is asked: pages are kept to whatever version is named, a version that lies ahead is refused at
/// once, and a watch begins anywhere in what the store knows.
async fn reads_come_from_the_store(launch: Launch) {
    let server = launch.arg("--watch-cache=false").start().await;
    server.until_it_has_namespaces().await;
    let admin = server.admin();
    let first = create(&admin, MAPS, "a").await;
    for name in ["b", "c", "d", "e"] {
        create(&admin, MAPS, name).await;
    }
    let page = admin.get(&format!("{MAPS}?limit=2&resourceVersion=0")).await.gives(200);
    assert_eq!(names(&page), ["a", "b"]);
    assert_eq!(page["metadata"]["remainingItemCount"], 3);
    let token = page["metadata"]["continue"].as_str().expect("a token").to_owned();
    admin.request(Method::DELETE, &format!("{MAPS}/c"), &[], "").await.gives(200);
    let rest = admin.get(&format!("{MAPS}?limit=9&continue={token}")).await.gives(200);
    assert_eq!(names(&rest), ["c", "d", "e"], "of the same version");
    assert_eq!(version(&rest), version(&page));
    let selected = admin.get(&format!("{MAPS}?labelSelector=app+in+(b,e)&limit=1")).await.gives(200);
    assert_eq!(names(&selected), ["b"]);
    let token = selected["metadata"]["continue"].as_str().expect("a token").to_owned();
    let selected = admin.get(&format!("{MAPS}?labelSelector=app+in+(b,e)&continue={token}")).await.gives(200);
    assert_eq!(names(&selected), ["e"]);
    let one = admin.get(&format!("{MAPS}?fieldSelector=metadata.name%3Dd")).await.gives(200);
    assert_eq!(names(&one), ["d"]);
    let path = format!("{MAPS}?resourceVersion={}&resourceVersionMatch=Exact", version(&first));
    let old = admin.get(&path).await.gives(200);
    assert_eq!(names(&old), ["a"]);

    let asked = Instant::now();
    for path in [format!("{MAPS}?resourceVersion=9999999"), format!("{MAPS}/a?resourceVersion=9999999")] {
        let refused = admin.get(&path).await.gives(504);
        assert!(refused["details"]["retryAfterSeconds"].is_null(), "{refused}");
        assert_eq!(refused["details"]["causes"][0]["reason"], "ResourceVersionTooLarge");
    }
    assert!(asked.elapsed() < Duration::from_secs(3), "nobody waited");
    let refused = admin.get(&format!("{MAPS}/a?resourceVersion=x")).await.gives(400);
    assert!(refused["message"].as_str().is_some_and(|text| text.starts_with("invalid resource version: ")));

    let path = format!("{MAPS}?watch=1&resourceVersion={}&labelSelector=app!%3Dd", version(&first));
    let mut watch = admin.follow(&path, &[]).await;
    let mut seen = Vec::new();
    for _ in 0..4 {
        let event = watch.line().await.expect("an event");
        let name = event["object"]["metadata"]["name"].as_str().expect("a name").to_owned();
        seen.push(format!("{} {name}", event["type"].as_str().expect("a type")));
    }
    assert_eq!(seen, ["ADDED b", "ADDED c", "ADDED e", "DELETED c"]);
    create(&admin, MAPS, "f").await;
    let event = watch.line().await.expect("an event");
    assert_eq!((&event["type"], &event["object"]["metadata"]["name"]), (&"ADDED".into(), &"f".into()));

    let mut watch = admin.follow(&format!("{MAPS}?watch=1&allowWatchBookmarks=1"), &[]).await;
    for name in ["a", "b", "d", "e", "f"] {
        assert_eq!(watch.line().await.expect("an event")["object"]["metadata"]["name"], name);
    }
    let end = watch.line().await.expect("an event");
    assert_eq!(end["type"], "BOOKMARK");
    assert_eq!(end["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"], "true");
}

#[tokio::test]
async fn without_a_watch_cache_reads_come_from_the_embedded_store() {
    reads_come_from_the_store(Launch::new()).await;
}

#[tokio::test]
async fn without_a_watch_cache_reads_come_from_etcd() {
    let etcd = Etcd::start(Version::New);
    reads_come_from_the_store(Launch::on_etcd(&etcd)).await;
}

/// Lists at a compacted version fail even if the watch cache still holds it; watches from that version still work.
async fn compacted_revisions_are_not_listed(server: &Server) {
    let admin = server.admin();
    for name in ["a", "b", "c"] {
        create(&admin, MAPS, name).await;
    }
    let page = admin.get(&format!("{MAPS}?limit=1")).await.gives(200);
    let token = page["metadata"]["continue"].as_str().expect("a token");
    create(&admin, MAPS, "late").await;
    let exact = format!("resourceVersion={}&resourceVersionMatch=Exact", version(&page));
    // Secrets are in no watch cache here, so their lists fail once the store is compacted.
    let store = format!("/api/v1/namespaces/default/secrets?{exact}");
    eventually("a compaction", async || admin.get(&store).await.code == 410).await;

    let refused = admin.get(&format!("{MAPS}?{exact}")).await.gives(410);
    assert_eq!(refused["message"], "The resourceVersion for the provided list is too old.");
    let refused = admin.get(&format!("{MAPS}?continue={token}")).await.gives(410);
    assert_eq!(refused["reason"], "Expired");
    let token = refused["metadata"]["continue"].as_str().expect("a token to go on with");
    let rest = admin.get(&format!("{MAPS}?continue={token}")).await.gives(200);
    assert!(names(&rest).ends_with(&["b", "c", "late"]), "{rest}");
    let mut watch = admin.follow(&format!("{MAPS}?watch=1&resourceVersion={}", version(&page)), &[]).await;
    assert_eq!(watch.line().await.expect("an event")["object"]["metadata"]["name"], "late");
}

/// Requests wait for an unavailable store until their timeout; then they fail with 504, without `Retry-After`.
#[tokio::test(flavor = "multi_thread")]
async fn requests_wait_for_an_etcd_that_is_away() {
    let mut etcd = Etcd::start(Version::New);
    let server = Launch::on_etcd(&etcd).start().await;
    server.until_it_has_namespaces().await;
    let admin = server.admin();
    create(&admin, MAPS, "a").await;
    admin.get(MAPS).await.gives(200);
    tokio::task::block_in_place(|| etcd.kill());
    // From then on no connection can break under a write.
    eventually("the loss", async || admin.get("/readyz").await.code == 500).await;
    let late = async |method: Method, path: &str, body: &'static str| {
        let json = [("content-type", "application/json")];
        let answer = admin.request(method.clone(), &format!("{path}?timeout=1s"), &json, body).await;
        let message = "Timeout: request did not complete within the allotted timeout";
        answer.is_status(504, "Timeout", message);
        assert_eq!(answer.header("retry-after"), "", "{method} {path}");
    };
    let one = format!("{MAPS}/a");
    tokio::join!(
        late(Method::GET, &one, ""),
        late(Method::GET, MAPS, ""),
        late(Method::POST, MAPS, r#"{"metadata":{"name":"b"}}"#),
        late(Method::PUT, &one, r#"{"metadata":{"name":"a"},"data":{"k":"v"}}"#),
        late(Method::DELETE, &one, ""),
    );
    // Longer than one attempt to reach it.
    let back = async {
        tokio::time::sleep(Duration::from_secs(11)).await;
        tokio::task::block_in_place(|| assert!(etcd.run(), "etcd starts again"));
    };
    let (got, listed, (), made) =
        tokio::join!(admin.get(&one), admin.get(MAPS), back, create(&admin, MAPS, "c"));
    assert_eq!(got.gives(200)["metadata"]["name"], "a");
    assert!(names(&listed.gives(200)).contains(&"a"));
    assert_eq!(made["metadata"]["name"], "c");
}

const UNCACHED_SECRETS: &str = "--watch-cache-sizes=secrets#0";

#[tokio::test]
async fn revisions_compacted_by_the_embedded_store_are_not_listed() {
    let args = [UNCACHED_SECRETS, "--etcd-compaction-interval=1s"];
    let server = Launch::new().args(&args).start().await;
    server.until_it_has_namespaces().await;
    compacted_revisions_are_not_listed(&server).await;
}

/// The one that is asked compacts nothing itself.
#[tokio::test]
async fn revisions_compacted_by_another_server_are_not_listed() {
    let etcd = Etcd::start(Version::New);
    let server = Launch::on_etcd(&etcd).args(&[UNCACHED_SECRETS, "--etcd-compaction-interval=0"]);
    let server = server.start().await;
    let _other = Launch::on_etcd(&etcd).arg("--etcd-compaction-interval=1s").start().await;
    server.until_it_has_namespaces().await;
    compacted_revisions_are_not_listed(&server).await;
}

#[tokio::test]
async fn caches_are_switched_off_by_resource() {
    let server = Launch::new().arg("--watch-cache-sizes=configmaps#0,events#100").start().await;
    server.until_it_has_namespaces().await;
    let admin = server.admin();
    let secrets = "/api/v1/namespaces/default/secrets";
    for name in ["a", "b"] {
        create(&admin, MAPS, name).await;
        create(&admin, secrets, name).await;
    }
    let query = "limit=1&resourceVersion=0";
    let uncached = admin.get(&format!("{MAPS}?{query}")).await.gives(200);
    assert_eq!(names(&uncached), ["a"]);
    let cached = admin.get(&format!("{secrets}?{query}")).await.gives(200);
    assert_eq!(names(&cached), ["a", "b"], "what memory has comes at once");
    let told = "Dropping watch-cache-size for events - watchCache size is now dynamic";
    assert!(server.stderr().contains(told), "{}", server.stderr());
}

#[tokio::test]
async fn every_object_is_in_one_shard_of_lists_and_watches() {
    let server = Launch::new().arg("--feature-gates=ShardedListAndWatch=true").start().await;
    server.until_it_has_namespaces().await;
    let admin = server.admin();
    let bounds = ["0x0000000000000000", "0x5555555555555555", "0xaaaaaaaaaaaaaaaa", "0x10000000000000000"];
    let selectors: Vec<String> = bounds
        .windows(2)
        .map(|pair| format!("shardRange(object.metadata.uid, '{}', '{}')", pair[0], pair[1]))
        .collect();
    let asked = |selector: &str| selector.replace(' ', "%20").replace('\'', "%27");
    let mut watches = Vec::new();
    for selector in &selectors {
        let path = format!("{MAPS}?watch=1&resourceVersion=1&shardSelector={}", asked(selector));
        watches.push(admin.follow(&path, &[]).await);
    }
    let all: Vec<String> = (0..24).map(|number| format!("cm-{number:02}")).collect();
    for name in &all {
        create(&admin, MAPS, name).await;
    }
    let mut found = Vec::new();
    for (selector, watch) in selectors.iter().zip(&mut watches) {
        let list = admin.get(&format!("{MAPS}?shardSelector={}", asked(selector))).await.gives(200);
        assert_eq!(list["metadata"]["shardInfo"]["selector"], *selector);
        for name in names(&list) {
            let event = watch.line().await.expect("an event");
            assert_eq!(event["object"]["metadata"]["name"], name, "the watch sees the same");
            found.push(name.to_owned());
        }
        let mut paged = Vec::new();
        let mut path = format!("{MAPS}?limit=3&shardSelector={}", asked(selector));
        loop {
            let page = admin.get(&path).await.gives(200);
            paged.extend(names(&page).iter().map(ToString::to_string));
            let Some(token) = page["metadata"]["continue"].as_str() else { break };
            path = format!("{MAPS}?limit=3&shardSelector={}&continue={token}", asked(selector));
        }
        assert_eq!(paged, names(&list), "pages are of the shard, too");
    }
    found.sort();
    assert_eq!(found, all);
    let namespaces =
        asked(&format!("shardRange(object.metadata.namespace, '{}', '{}')", bounds[0], bounds[3]));
    let list = admin.get(&format!("{MAPS}?shardSelector={namespaces}")).await.gives(200);
    assert_eq!(names(&list).len(), all.len());
    let refused = admin.get(&format!("{MAPS}?shardSelector=x")).await.gives(500);
    assert_eq!(
        refused["message"],
        "invalid shard selector: unexpected expression kind 3; expected shardRange() call or || operator"
    );
}

#[tokio::test]
async fn a_shard_selector_is_ignored_unless_it_is_switched_on() {
    let server = Launch::new().start().await;
    server.until_it_has_namespaces().await;
    create(&server.admin(), MAPS, "a").await;
    let list = server.admin().get(&format!("{MAPS}?shardSelector=x")).await.gives(200);
    assert_eq!(names(&list), ["a"]);
    assert!(list["metadata"]["shardInfo"].is_null());
}

#[tokio::test]
async fn features_of_lists_and_watches_can_be_switched_off() {
    let gates = "WatchList=false,ListFromCacheSnapshot=false,StorageVersionHash=false,\
                 WatchCacheInitializationPostStartHook=false,APIServerIdentity=false,\
                 UnknownVersionInteroperabilityProxy=false";
    let server = Launch::new().arg(format!("--feature-gates={gates}")).start().await;
    server.until_it_has_namespaces().await;
    let admin = server.admin();
    let first = create(&admin, MAPS, "a").await;
    create(&admin, MAPS, "b").await;
    let path = format!("{MAPS}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan");
    let refused = admin.get(&path).await.gives(422);
    assert_eq!(
        refused["message"],
        "ListOptions.meta.k8s.io \"\" is invalid: sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch \
         unless the WatchList feature gate is enabled"
    );
    let mut watch =
        admin.follow(&format!("{MAPS}?watch=1&allowWatchBookmarks=1&timeoutSeconds=1"), &[]).await;
    for _ in 0..2 {
        assert_eq!(watch.line().await.expect("an event")["type"], "ADDED");
    }
    assert_eq!(watch.line().await, None, "nobody says where the beginning ends");
    let old = format!("{MAPS}?resourceVersion={}&resourceVersionMatch=Exact", version(&first));
    assert_eq!(names(&admin.get(&old).await.gives(200)), ["a"], "out of the store");
    assert!(!admin.get("/api/v1").await.body.contains("storageVersionHash"));
    assert!(!admin.get("/readyz?verbose").await.body.contains("storage-readiness"));
    let leases = admin.get("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases").await.gives(200);
    assert_eq!(names(&leases), [""; 0]);
    assert!(!server.stderr().contains("has no effect"), "{}", server.stderr());
}

#[tokio::test]
async fn stored_objects_are_counted_when_somebody_looks() {
    let server = Launch::new().start().await;
    server.until_it_has_namespaces().await;
    let admin = server.admin();
    create(&admin, "/api/v1/namespaces/default/secrets", "a").await;
    let text = admin.get("/metrics").await.body;
    for line in [
        "apiserver_storage_objects{resource=\"secrets\"} 1\n",
        "apiserver_resource_objects{group=\"\",resource=\"secrets\"} 1\n",
        "apiserver_resource_objects{group=\"apps\",resource=\"deployments\"} 0\n",
        "apiserver_storage_objects{resource=\"deployments.apps\"} 0\n",
        "apiserver_resource_size_estimate_bytes{group=\"apps\",resource=\"deployments\"} 0\n",
    ] {
        assert!(text.contains(line), "{line}{text}");
    }
    let server = Launch::new().arg("--etcd-count-metric-poll-period=0").start().await;
    assert!(!server.admin().get("/metrics").await.body.contains("apiserver_storage_objects{"));
}

#[tokio::test]
async fn dependents_have_no_finalizers_where_nobody_collects_garbage() {
    for (flag, code) in [("true", 200), ("false", 404)] {
        let server = Launch::new().arg(format!("--enable-garbage-collector={flag}")).start().await;
        server.until_it_has_namespaces().await;
        let admin = server.admin();
        create(&admin, MAPS, "a").await;
        let path = format!("{MAPS}/a?propagationPolicy=Foreground");
        admin.request(Method::DELETE, &path, &[], "").await.gives(200);
        assert_eq!(admin.get(&format!("{MAPS}/a")).await.code, code, "{flag}");
    }
}

#[tokio::test]
async fn watches_end_one_after_the_other_where_they_are_given_time() {
    let mut server = Launch::new().arg("--shutdown-watch-termination-grace-period=8s").start().await;
    server.until_it_has_namespaces().await;
    let admin = server.admin();
    let mut watches = Vec::new();
    for _ in 0..40 {
        watches.push(admin.follow(&format!("{MAPS}?watch=1&resourceVersion=1"), &[]).await);
    }
    server.signal(Signal::TERM);
    let asked = Instant::now();
    let ends = watches.into_iter().map(|mut watch| async move {
        assert_eq!(watch.line().await, None);
        asked.elapsed()
    });
    let ends: Vec<Duration> = futures_util::future::join_all(ends).await;
    let (first, last) = (ends.iter().min().expect("one"), ends.iter().max().expect("one"));
    assert!(*last >= *first + Duration::from_millis(100), "40 at 200 a second: {first:?} {last:?}");
    assert_eq!(server.exited().await.code(), Some(0));
    assert!(asked.elapsed() < Duration::from_secs(8), "nobody waited for nothing");
}

#[tokio::test]
async fn a_server_has_a_lease_while_it_runs() {
    // Watches go on for a moment, so that this one sees the end.
    let mut server = Launch::new().arg("--shutdown-delay-duration=1s").start().await;
    server.until_it_has_namespaces().await;
    let leases = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
    let admin = server.admin();
    let listed = async |admin: &Client| admin.get(leases).await.gives(200);
    eventually("a lease", async || !names(&listed(&admin).await).is_empty()).await;
    let list = listed(&admin).await;
    let lease = &list["items"][0];
    let name = lease["metadata"]["name"].as_str().expect("a name").to_owned();
    assert!(name.starts_with("apiserver-") && name.len() == 36, "{name}");
    assert_eq!(lease["metadata"]["labels"]["apiserver.kubernetes.io/identity"], "kube-apiserver");
    assert!(lease["metadata"]["labels"]["kubernetes.io/hostname"].is_string(), "{lease}");
    let address = lease["metadata"]["annotations"]["kubernetes.io/peer-advertise-address"].as_str();
    assert!(address.is_some_and(|address| address.ends_with(&format!(":{}", server.port))), "{lease}");
    let holder = lease["spec"]["holderIdentity"].as_str().expect("a holder").to_owned();
    assert!(holder.starts_with(&format!("{name}_")) && holder.len() == name.len() + 37, "{holder}");
    assert_eq!(lease["spec"]["leaseDurationSeconds"], 3600);
    assert_eq!(lease["metadata"]["managedFields"][0]["manager"], "kube-apiserver");
    let mut watch = admin.follow(&format!("{leases}?watch=1&resourceVersion={}", version(&list)), &[]).await;
    server.signal(Signal::TERM);
    assert_eq!(watch.line().await.expect("an event")["type"], "DELETED", "it ends with the server");
    assert_eq!(server.exited().await.code(), Some(0));
}

#[tokio::test]
async fn some_resources_are_kept_in_another_etcd() {
    let (main, other) = (Etcd::start(Version::New), Etcd::start(Version::New));
    let server = Launch::on_etcd(&main)
        .arg(format!("--etcd-servers-overrides=/configmaps#{0},apps/deployments#{0}", other.endpoint()))
        .start()
        .await;
    server.until_it_has_namespaces().await;
    let admin = server.admin();
    create(&admin, MAPS, "there").await;
    create(&admin, "/api/v1/namespaces/default/secrets", "here").await;
    let mut watch = admin.follow(&format!("{MAPS}?watch=1"), &[]).await;
    assert_eq!(watch.line().await.expect("an event")["object"]["metadata"]["name"], "there");
    let health = admin.get("/readyz?verbose").await.body;
    for check in ["etcd-override-0", "etcd-override-readiness-0"] {
        assert!(health.contains(&format!("[+]{check} ok\n")), "{health}");
    }
    assert!(!health.contains("etcd-override-1"), "one other cluster has one check");
    let alone = Launch::on_etcd(&main).start().await;
    assert_eq!(alone.admin().get(&format!("{MAPS}/there")).await.code, 404);
    alone.admin().get("/api/v1/namespaces/default/secrets/here").await.gives(200);
    let alone = Launch::on_etcd(&other).start().await;
    alone.admin().get(&format!("{MAPS}/there")).await.gives(200);
}

#[tokio::test]
async fn unreadable_objects_are_deleted_with_permission() {
    let etcd = Etcd::start(Version::New);
    let gate = "--feature-gates=AllowUnsafeMalformedObjectDeletion=true";
    let launch = Launch::on_etcd(&etcd).tokens().args(&[gate, "--authorization-mode=RBAC"]);
    let server = launch.start().await;
    server.until_it_has_namespaces().await;
    let admin = server.admin();
    for name in ["good", "bad"] {
        create(&admin, MAPS, name).await;
    }
    put(&etcd, "/registry/configmaps/default/bad", b"k8s\0nonsense").await;
    let bad = format!("{MAPS}/bad");
    eventually("what is wrong", async || admin.get(MAPS).await.code == 500).await;
    let list = admin.get(MAPS).await.gives(500);
    assert_eq!(list["message"], "failed to read one or more configmaps from the storage");
    assert_eq!((&list["reason"], &list["details"]["name"]), (&"StorageReadError".into(), &"list".into()));
    assert_eq!(list["details"]["causes"][0]["field"], "/registry/configmaps/default/bad");
    let message = admin.get(&bad).await.gives(500)["message"].as_str().expect("a message").to_owned();
    assert!(
        message.starts_with("Internal error occurred: StorageError: corrupt object, Code: 7, Key: "),
        "{message}"
    );
    admin.request(Method::DELETE, &bad, &[], "").await.gives(500);

    let unsafely = "ignoreStoreReadErrorWithClusterBreakingPotential=true";
    let refused = admin.request(Method::DELETE, &format!("{MAPS}/good?{unsafely}"), &[], "").await.gives(422);
    assert!(
        refused["message"].as_str().is_some_and(|text| text.contains("exclusively used to delete corrupt"))
    );
    let refused = admin.request(Method::DELETE, &format!("{MAPS}?{unsafely}"), &[], "").await.gives(422);
    assert!(
        refused["message"].as_str().is_some_and(|text| text.contains("not allowed with DELETECOLLECTION"))
    );
    let both = format!("{bad}?{unsafely}&gracePeriodSeconds=0");
    let refused = admin.request(Method::DELETE, &both, &[], "").await.gives(422);
    assert!(
        refused["message"].as_str().is_some_and(|text| text.contains("together with .gracePeriodSeconds"))
    );

    let role = r#"{"metadata":{"name":"alice"},"rules":[{"apiGroups":[""],"resources":["configmaps"],"verbs":["delete"]}]}"#;
    let binding = r#"{"metadata":{"name":"alice"},"subjects":[{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"alice"}],
        "roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"alice"}}"#;
    for (resource, object) in [("roles", role), ("rolebindings", binding)] {
        let path = format!("/apis/rbac.authorization.k8s.io/v1/namespaces/default/{resource}");
        admin.request(Method::POST, &path, &[("content-type", "application/json")], object).await.gives(201);
    }
    let alice = server.client().token(ALICE);
    let may_delete =
        async || alice.request(Method::DELETE, &format!("{MAPS}/none"), &[], "").await.code == 404;
    eventually("alice may delete", may_delete).await;
    let refused = alice.request(Method::DELETE, &format!("{bad}?{unsafely}"), &[], "").await.gives(403);
    let why =
        "configmaps \"bad\" is forbidden: not permitted to do \"unsafe-delete-ignore-read-errors\", reason: ";
    assert!(refused["message"].as_str().is_some_and(|text| text.starts_with(why)), "{refused}");

    let deleted = admin.request(Method::DELETE, &format!("{bad}?{unsafely}"), &[], "").await.gives(200);
    assert_eq!((&deleted["status"], &deleted["details"]["kind"]), (&"Success".into(), &"ConfigMap".into()));
    eventually("a list", async || admin.get(MAPS).await.code == 200).await;
    assert_eq!(names(&admin.get(MAPS).await.gives(200)), ["good"]);
}

/// Writes behind the server's back.
async fn put(etcd: &Etcd, key: &str, value: &'static [u8]) {
    let store = etcd.store().await;
    let txn = Txn::put(Bytes::from(key.to_owned()), Bytes::from_static(value));
    store.txn(txn).await.expect("written");
}
