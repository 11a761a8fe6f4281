//! Encryption at rest: what clients see is plain, what the store holds is not.

use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::Method;
use pintle_outbound::testing::grpc::GrpcServer;
use pintle_storage::{Backend, RangeRequest};
use prost::Message;
use serde_json::{Value, json};

use crate::support::etcd::{Etcd, Version};
use crate::support::shared::ready;
use crate::support::store::content;
use crate::support::{Answer, Client, Launch, Server, eventually};

const SECRETS: &str = "/api/v1/namespaces/default/secrets";
/// The text that no store may hold.
const WORDS: &str = "words-that-nobody-may-read";

fn key(number: u8) -> String {
    STANDARD.encode([number; 32])
}

fn with_keys(provider: &str, keys: &[(&str, u8)]) -> String {
    let mut text = format!("  - {provider}:\n      keys:\n");
    for (name, number) in keys {
        writeln!(text, "      - name: {name}\n        secret: {}", key(*number)).expect("a string");
    }
    text
}

const IDENTITY: &str = "  - identity: {}\n";

/// A file with entries of resources and providers.
fn config(entries: &[(&str, String)]) -> String {
    let mut text =
        "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n".to_owned();
    for (resources, providers) in entries {
        writeln!(text, "- resources: [{resources}]\n  providers:\n{providers}").expect("a string");
    }
    text
}

/// A launch with a configuration, which a test may change.
fn encrypted(launch: Launch, text: &str) -> Launch {
    let file = launch.path("encryption.yaml");
    std::fs::write(&file, text).expect("a file");
    (1..10)
        .fold(launch, |launch, number| launch.secret(&key(number)))
        .arg(format!("--encryption-provider-config={}", file.display()))
}

async fn send(client: &Client, method: Method, path: &str, body: &Value) -> Answer {
    client.request(method, path, &[("content-type", "application/json")], body.to_string()).await
}

async fn create(client: &Client, path: &str, body: &Value) -> Value {
    send(client, Method::POST, path, body).await.gives(201)
}

fn secret(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": {"a": WORDS}})
}

fn has_words(bytes: &[u8]) -> bool {
    let holds = |text: &str| bytes.windows(text.len()).any(|part| part == text.as_bytes());
    holds(WORDS) || holds(&STANDARD.encode(WORDS))
}

fn is_plain(object: &Value) -> bool {
    object["data"]["a"] == STANDARD.encode(WORDS)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_resource_that_the_file_names_is_encrypted() {
    let text = config(&[
        ("pods", IDENTITY.into()),
        ("secrets, configmaps", with_keys("secretbox", &[("one", 1)])),
        ("events, leases.coordination.k8s.io", with_keys("aesgcm", &[("two", 2)])),
        ("'*.*'", with_keys("aescbc", &[("three", 3)])),
    ]);
    let launch = encrypted(Launch::new(), &text);
    let mut server = launch.start().await;
    server.until_it_has_namespaces().await;
    let client = server.admin();
    let mut watch = client.follow(&format!("{SECRETS}?watch=1"), &[]).await;
    assert!(is_plain(&create(&client, SECRETS, &secret("a")).await));
    let event =
        json!({"metadata": {"name": "e"}, "message": WORDS, "involvedObject": {"namespace": "default"}});
    create(&client, "/api/v1/namespaces/default/events", &event).await;
    let lease = json!({"metadata": {"name": "l", "annotations": {"a": WORDS}}});
    create(&client, "/apis/coordination.k8s.io/v1/namespaces/default/leases", &lease).await;
    let definition = json!({"metadata": {"name": "toys.example.com"}, "spec": {
        "group": "example.com", "scope": "Namespaced", "names": {"plural": "toys", "kind": "Toy"},
        "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
            "type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]}});
    create(&client, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", &definition).await;
    let toys = "/apis/example.com/v1/namespaces/default/toys";
    eventually("toys", async || client.get(toys).await.code == 200).await;
    let toy =
        json!({"apiVersion": "example.com/v1", "kind": "Toy", "metadata": {"name": "t"}, "words": WORDS});
    create(&client, toys, &toy).await;

    assert!(is_plain(&client.get(&format!("{SECRETS}/a")).await.gives(200)));
    assert!(is_plain(&client.get(SECRETS).await.gives(200)["items"][0]));
    assert!(is_plain(&watch.line().await.expect("an event")["object"]));
    assert_eq!(client.get(&format!("{toys}/t")).await.gives(200)["words"], WORDS);
    let metrics = client.get("/metrics").await.body;
    let counted = "apiserver_storage_transformation_operations_total{resource=\"toys.example.com\",status=\"OK\",\
                   transformation_type=\"to_storage\",transformer_prefix=\"k8s:enc:aescbc:v1:\"} ";
    assert!(metrics.contains(counted), "{metrics}");

    let saved = launch.path("saved");
    let save = Launch::bare().args(&["snapshot", "save"]).arg(&saved).data_dir(server.data_dir().into());
    assert_eq!(save.run_on(None).await.code, Some(0));
    assert!(!has_words(&std::fs::read(&saved).expect("a snapshot")));
    drop(watch);
    server.stop().await;
    let mut seen = 0;
    for kv in content(server.data_dir()).await {
        let key = String::from_utf8_lossy(&kv.key).into_owned();
        let prefix = match key.split('/').nth(2) {
            Some("secrets" | "configmaps") => "k8s:enc:secretbox:v1:one:",
            Some("events" | "leases") => "k8s:enc:aesgcm:v1:two:",
            // No API serves these.
            Some("masterleases" | "ranges") | None => continue,
            Some(_) => "k8s:enc:aescbc:v1:three:",
        };
        assert!(kv.value.starts_with(prefix.as_bytes()), "{key}");
        assert!(!has_words(&kv.value), "{key}");
        seen += 1;
    }
    assert!(seen > 20, "{seen}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stale_value_is_rewritten_by_an_update_that_changes_nothing() {
    let launch = Launch::new();
    let data = launch.path("data");
    let mut server = launch.start().await;
    server.until_it_has_namespaces().await;
    create(&server.admin(), SECRETS, &secret("a")).await;
    server.stop().await;
    let one = with_keys("aesgcm", &[("one", 1)]);
    let steps = [
        (format!("{one}{IDENTITY}"), "k8s:enc:aesgcm:v1:one:"),
        (with_keys("aesgcm", &[("two", 2), ("one", 1)]), "k8s:enc:aesgcm:v1:two:"),
        (
            with_keys("secretbox", &[("three", 3)]) + &with_keys("aesgcm", &[("two", 2)]),
            "k8s:enc:secretbox:v1:three:",
        ),
        (format!("{IDENTITY}{}", with_keys("secretbox", &[("three", 3)])), "k8s\0"),
    ];
    for (providers, prefix) in steps {
        let launch = encrypted(Launch::new(), &config(&[("secrets", providers)])).data_dir(data.clone());
        let mut server = launch.start().await;
        let client = server.admin();
        let path = format!("{SECRETS}/a");
        // Also when the cache has it.
        assert!(is_plain(&client.get(SECRETS).await.gives(200)["items"][0]));
        let old = client.get(&path).await.gives(200);
        assert!(is_plain(&old));
        let put = async |object: &Value| send(&client, Method::PUT, &path, object).await.gives(200);
        let new = put(&old).await;
        assert_ne!(old["metadata"]["resourceVersion"], new["metadata"]["resourceVersion"], "{prefix}");
        assert_eq!(put(&new).await["metadata"]["resourceVersion"], new["metadata"]["resourceVersion"]);
        server.stop().await;
        let stored = content(&data).await;
        let stored = stored.iter().find(|kv| kv.key == "/registry/secrets/default/a").expect("the secret");
        assert!(stored.value.starts_with(prefix.as_bytes()), "{prefix}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn values_that_cannot_be_decrypted_are_refused_and_may_be_deleted_unsafely() {
    let text = |number| config(&[("secrets", with_keys("aesgcm", &[("k", number)]))]);
    let launch = encrypted(Launch::new(), &text(1));
    let data = launch.path("data");
    let mut server = launch.start().await;
    server.until_it_has_namespaces().await;
    create(&server.admin(), SECRETS, &secret("a")).await;
    server.stop().await;

    let why = "cipher: message authentication failed";
    let mut server = encrypted(Launch::new(), &text(2)).data_dir(data.clone()).start().await;
    let client = server.admin();
    let (path, internal) = (format!("{SECRETS}/a"), "Internal error occurred: ");
    client.get(&path).await.is_status(500, "InternalError", &format!("{internal}{why}"));
    let listed = format!("{internal}unable to transform key \"/registry/secrets/default/a\": {why}");
    client.get(SECRETS).await.is_status(500, "InternalError", &listed);
    let patched = client
        .request(Method::PATCH, &path, &[("content-type", "application/merge-patch+json")], r#"{"data":{}}"#)
        .await;
    patched.is_status(500, "InternalError", &format!("{internal}{why}"));
    let delete = client.request(Method::DELETE, &path, &[], "").await;
    delete.is_status(500, "InternalError", &format!("{internal}{why}"));
    // Other objects are not affected, also of the same resource.
    create(&client, SECRETS, &secret("b")).await;
    assert!(is_plain(&client.get(&format!("{SECRETS}/b")).await.gives(200)));
    client.get("/api/v1/namespaces/default/configmaps").await.code_is(200);
    client.get("/readyz").await.is(200, "ok");
    server.stop().await;

    let gate = "--feature-gates=AllowUnsafeMalformedObjectDeletion=true";
    let launch = encrypted(Launch::new(), &text(2)).arg(gate).data_dir(data);
    let server = launch.start().await;
    let client = server.admin();
    let corrupt = format!(
        "StorageError: corrupt object, Code: 7, Key: /registry/secrets/default/a, ResourceVersion: 0, AdditionalErrorMsg: data \
         from the storage is not transformable revision=0: {why}"
    );
    client.get(&path).await.is_status(500, "InternalError", &format!("{internal}{corrupt}"));
    let status = client.get(SECRETS).await.gives(500);
    assert_eq!(status["reason"], "StorageReadError");
    assert_eq!(status["details"]["causes"][0]["field"], "/registry/secrets/default/a");
    assert_eq!(status["details"]["causes"][0]["message"], corrupt);
    let unsafely = format!("{path}?ignoreStoreReadErrorWithClusterBreakingPotential=true");
    client.request(Method::DELETE, &unsafely, &[], "").await.code_is(200);
    client.get(&path).await.code_is(404);
    let names = client.get(SECRETS).await.gives(200);
    assert_eq!(names["items"].as_array().expect("items").len(), 1);
}

/// Changes secrets and reads all of them until it is stopped; every answer must be good.
async fn load(client: Client, name: String, stop: Arc<AtomicBool>, rounds: Arc<AtomicU32>) {
    let path = format!("{SECRETS}/{name}");
    create(&client, SECRETS, &secret(&name)).await;
    let mut connection = client.connect().await.expect("a connection");
    let merge = [("content-type", "application/merge-patch+json")];
    for round in 0.. {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let patch = json!({"metadata": {"labels": {"round": round.to_string()}}}).to_string();
        let patched = connection.send(Method::PATCH, &path, &merge, patch).await.expect("an answer");
        assert!(is_plain(&patched.gives(200)));
        connection.get(&path).await.expect("an answer").code_is(200);
        connection.get(SECRETS).await.expect("an answer").code_is(200);
        rounds.fetch_add(1, Ordering::Relaxed);
    }
}

/// Rotates keys of servers on one store, as an administrator does it, while secrets are written and read.
async fn rotate(servers: &[(&Server, &Launch)]) {
    let (stop, rounds) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU32::new(0)));
    let mut workers = Vec::new();
    for (number, (server, _)) in servers.iter().enumerate() {
        let name = format!("load-{number}");
        workers.push(tokio::spawn(load(server.admin(), name, stop.clone(), rounds.clone())));
    }
    let two = &[("two", 2)];
    for (step, keys) in [&[("one", 1), ("two", 2)][..], &[("two", 2), ("one", 1)], two].iter().enumerate() {
        if step == 2 {
            // Values of the first key are written again by updates that change nothing.
            let client = servers[0].0.admin();
            for item in client.get(SECRETS).await.gives(200)["items"].as_array().expect("items") {
                let name = item["metadata"]["name"].as_str().expect("a name");
                let (path, merge) = (format!("{SECRETS}/{name}"), "application/merge-patch+json");
                let patched = client.request(Method::PATCH, &path, &[("content-type", merge)], "{}").await;
                patched.code_is(200);
            }
        }
        for (server, launch) in servers {
            let text = config(&[("secrets", with_keys("secretbox", keys))]);
            // In one step, as a mounted file changes.
            std::fs::write(launch.path("fresh"), text).expect("a file");
            std::fs::rename(launch.path("fresh"), launch.path("encryption.yaml")).expect("a file");
            let reloads = "apiserver_encryption_config_controller_automatic_reloads_total{apiserver_id_hash=";
            eventually("the reload", async || {
                let metrics = server.admin().get("/metrics").await.body;
                let line = metrics.lines().find(|line| line.starts_with(reloads) && line.contains("success"));
                line.is_some_and(|line| line.ends_with(&format!(" {}", step + 1)))
            })
            .await;
        }
        let before = rounds.load(Ordering::Relaxed);
        eventually("more load", async || rounds.load(Ordering::Relaxed) > before + 10).await;
    }
    stop.store(true, Ordering::Relaxed);
    for worker in workers {
        worker.await.expect("everything was readable");
    }
    let health = servers[0].0.admin().get("/readyz?verbose").await.body;
    for name in ["kms-providers", "poststarthook/start-encryption-provider-config-automatic-reload"] {
        assert!(health.contains(&format!("[+]{name} ok\n")), "{health}");
    }
}

fn reloading(launch: Launch) -> Launch {
    let text = config(&[("secrets", with_keys("secretbox", &[("one", 1)]))]);
    encrypted(launch, &text).arg("--encryption-provider-config-automatic-reload")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_are_rotated_under_load() {
    let launch = reloading(Launch::new());
    let mut server = launch.start().await;
    server.until_it_has_namespaces().await;
    rotate(&[(&server, &launch)]).await;
    server.stop().await;
    let stored = content(server.data_dir()).await;
    let secrets: Vec<_> = stored.iter().filter(|kv| kv.key.starts_with(b"/registry/secrets/")).collect();
    assert!(!secrets.is_empty());
    assert!(secrets.iter().all(|kv| kv.value.starts_with(b"k8s:enc:secretbox:v1:two:")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_of_two_servers_on_one_etcd_are_rotated_under_load() {
    let etcd = Etcd::start(Version::New);
    let launches = [reloading(Launch::on_etcd(&etcd)), reloading(Launch::on_etcd(&etcd))];
    let first = launches[0].start().await;
    ready(&first).await;
    let second = launches[1].start().await;
    ready(&second).await;
    rotate(&[(&first, &launches[0]), (&second, &launches[1])]).await;
    let request = RangeRequest { prefix: "/registry/secrets/".into(), ..RangeRequest::default() };
    let secrets = etcd.store().await.range(request).await.expect("a read").kvs;
    assert!(secrets.len() >= 2);
    assert!(secrets.iter().all(|kv| kv.value.starts_with(b"k8s:enc:secretbox:v1:two:")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stores_of_single_resources_are_encrypted_too() {
    let (main, other) = (Etcd::start(Version::New), Etcd::start(Version::New));
    let text = config(&[("secrets, configmaps", with_keys("aesgcm", &[("one", 1)]))]);
    let overrides = format!("--etcd-servers-overrides=/secrets#{}", other.endpoint());
    let server = encrypted(Launch::on_etcd(&main).arg(overrides), &text).start().await;
    ready(&server).await;
    let client = server.admin();
    create(&client, SECRETS, &secret("a")).await;
    let map = json!({"metadata": {"name": "m"}, "data": {"a": WORDS}});
    create(&client, "/api/v1/namespaces/default/configmaps", &map).await;
    assert!(is_plain(&client.get(SECRETS).await.gives(200)["items"][0]));
    for (etcd, key) in [(&other, "/registry/secrets/default/a"), (&main, "/registry/configmaps/default/m")] {
        let (found, _) = etcd.store().await.get(key.as_bytes(), None).await.expect("a read");
        assert!(found.expect("there").value.starts_with(b"k8s:enc:aesgcm:v1:one:"), "{key}");
    }
}

#[derive(Clone, PartialEq, Message)]
struct Text {
    #[prost(string, tag = "1")]
    first: String,
    #[prost(string, tag = "2")]
    second: String,
    #[prost(string, tag = "3")]
    third: String,
}

#[derive(Clone, PartialEq, Message)]
struct Data {
    #[prost(bytes = "vec", tag = "1")]
    first: Vec<u8>,
    #[prost(string, tag = "2")]
    second: String,
}

/// A plugin that encrypts by turning bytes round.
fn plugin(socket: &str) -> GrpcServer {
    GrpcServer::start(socket, |path, message| {
        #[derive(Clone, PartialEq, Message)]
        struct First {
            #[prost(bytes = "vec", tag = "1")]
            first: Vec<u8>,
        }
        match path {
            "/v2.KeyManagementService/Status" => {
                Ok(Text { first: "v2".into(), second: "ok".into(), third: "kek".into() }.encode_to_vec())
            }
            _ => {
                let mut first = First::decode(message).map_err(|_| (3, "no message"))?.first;
                first.reverse();
                Ok(Data { first, second: "kek".into() }.encode_to_vec())
            }
        }
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kms_plugin_that_is_away_is_seen_by_its_health_check_and_comes_back() {
    let launch = Launch::new();
    let socket = launch.path("kms.sock").display().to_string();
    let kms = |name: &str| {
        format!("  - kms: {{apiVersion: v2, name: {name}, endpoint: 'unix://{socket}', timeout: 300ms}}\n")
    };
    let text = config(&[("secrets", kms("plug"))]);
    let running = plugin(&socket);
    let server = encrypted(launch, &text).start().await;
    server.until_it_has_namespaces().await;
    let client = server.admin();
    create(&client, SECRETS, &secret("a")).await;
    client.get("/healthz/kms-providers").await.is(200, "ok");
    client.get("/readyz/kms-providers").await.is(200, "ok");
    client.get("/livez/kms-providers").await.code_is(404);
    running.stop().await;
    std::fs::remove_file(&socket).expect("the socket");
    let mut answer = client.get("/readyz/kms-providers").await;
    eventually("the check to fail", async || {
        answer = client.get("/readyz/kms-providers").await;
        answer.code == 500
    })
    .await;
    let words = "internal server error: kms-provider-0: ";
    assert!(answer.body.starts_with(words) && answer.body.contains("DeadlineExceeded"), "{answer:?}");
    client.get("/livez").await.is(200, "ok");
    // The seed is in memory.
    create(&client, SECRETS, &secret("b")).await;
    assert!(is_plain(&client.get(&format!("{SECRETS}/a")).await.gives(200)));
    let _running = plugin(&socket);
    eventually("the plugin", async || client.get("/readyz/kms-providers").await.code == 200).await;
}

#[tokio::test]
async fn a_file_that_cannot_be_used_is_named_with_the_reason() {
    let kms = "  - kms: {name: plug, endpoint: 'unix:///s'}\n";
    for (text, why) in [
        (
            config(&[("secrets", "  - identity: {}\n    secretbox: {keys: []}\n".into())]),
            "more than one provider specified in a single element, should split into different list elements",
        ),
        (
            config(&[("'*.*'", IDENTITY.into()), ("secrets", IDENTITY.into())]),
            "error while building transformers: resource \"secrets\" is masked by earlier rule \"*.*\"",
        ),
        (
            config(&[("secrets", kms.into())]),
            "Set --feature-gates=KMSv1=true to use the deprecated KMSv1 feature.",
        ),
        (String::new(), "encryption.yaml\" is empty"),
    ] {
        let sentence = encrypted(Launch::new(), &text).fails().await;
        assert!(sentence.contains(why), "{sentence}");
    }
    let sentence = Launch::new().arg("--encryption-provider-config=/nowhere.yaml").fails().await;
    let why = "error while parsing file: error while loading file: error reading encryption provider configuration file \
               \"/nowhere.yaml\": open /nowhere.yaml: no such file or directory";
    assert!(sentence.ends_with(why), "{sentence}");
}
