//! `pintle snapshot`, beside a running server and without one.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use http::Method;
use pintle_storage_embedded as embedded;
use serde_json::{Value, json};

use crate::support::store::{content, fill};
use crate::support::{ALICE, Finished, Launch, MASTER, Server, eventually};

const KEYS: u64 = 300;
const PATH: &str = "/pintle/snapshot";
/// Message to a user that the authorizer allows the path, but that is no member of system:masters.
const REFUSED: &str = "forbidden: User \"alice\" cannot get path \"/pintle/snapshot\": \
                       only members of the group system:masters may do this";

/// A launch whose store has something in it.
async fn seeded() -> Launch {
    let launch = Launch::new();
    fill(&launch.path("data"), (0..KEYS).map(|number| vec![b'v'; number as usize])).await;
    launch
}

/// Runs `pintle snapshot ACTION FILE --data-dir DIR`.
async fn snapshot(action: &str, file: &Path, data_dir: &Path) -> Finished {
    let launch = Launch::bare().args(&["snapshot", action]).arg(file).data_dir(data_dir.into());
    launch.run_on(None).await
}

#[track_caller]
fn succeeded(finished: &Finished, expect: &str) {
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert!(finished.stdout.contains(expect), "{finished:?}");
    assert_eq!(finished.stderr, "", "no progress bar where nobody sees it");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_server_is_saved_under_load() {
    let launch = seeded().await;
    let server = launch.start().await;
    let load = tokio::spawn({
        let client = server.admin().http2();
        async move {
            loop {
                client.get("/readyz/etcd").await.is(200, "ok");
            }
        }
    });
    let mut saves = tokio::task::JoinSet::new();
    for number in 0..4 {
        let (file, data) = (launch.path(&format!("save-{number}")), server.data_dir().to_owned());
        saves.spawn(async move {
            succeeded(&snapshot("save", &file, &data).await, " keys at revision");
            file
        });
    }
    for file in saves.join_all().await {
        let saved = std::fs::File::open(&file).expect("the file");
        assert_eq!(saved.metadata().expect("its mode").permissions().mode() & 0o777, 0o600);
        let keys = embedded::snapshot::verify(std::io::BufReader::new(saved)).expect("whole").keys;
        // With what the server itself has made by then.
        assert!(keys >= KEYS, "{keys}");
    }
    assert!(!load.is_finished(), "requests were answered meanwhile");
    load.abort();
}

/// The snapshot holds every secret: a role that allows all URLs, or this one by name, does not give it.
#[tokio::test]
async fn a_snapshot_is_for_the_masters_group_whatever_roles_allow() {
    let server = Launch::new().tokens().start().await;
    server.until_it_has_namespaces().await;
    let (admin, alice) = (server.admin(), server.client().token(ALICE));
    let rbac = "/apis/rbac.authorization.k8s.io/v1";
    let json = [("content-type", "application/json")];
    let post = async |resource: &str, body: Value| {
        admin.request(Method::POST, &format!("{rbac}/{resource}"), &json, body.to_string()).await.gives(201);
    };
    let urls = json!([{"nonResourceURLs": ["*", "/pintle/*", "/pintle/snapshot"], "verbs": ["*"]}]);
    post("clusterroles", json!({"metadata": {"name": "urls"}, "rules": urls})).await;
    for role in ["urls", "cluster-admin"] {
        let api_group = "rbac.authorization.k8s.io";
        let subject = json!({"apiGroup": api_group, "kind": "User", "name": "alice"});
        let reference = json!({"apiGroup": api_group, "kind": "ClusterRole", "name": role});
        let binding = json!({"metadata": {"name": format!("alice-{role}")}, "roleRef": reference, "subjects": [subject]});
        post("clusterrolebindings", binding).await;
        alice.get("/metrics").await.code_is(200);
        alice.get(PATH).await.is_status(403, "Forbidden", REFUSED);
    }
    // A cluster administrator by role may act as a master; the request is then a master's.
    let acting = [("impersonate-user", "root"), ("impersonate-group", "system:masters")];
    let answer = alice.request(Method::GET, PATH, &acting, "").await;
    assert_eq!(answer.code, 200);
    assert_eq!(answer.header("content-type"), "application/octet-stream");
    let acting = [("impersonate-user", "root"), ("impersonate-group", "dev")];
    assert_eq!(alice.request(Method::GET, PATH, &acting, "").await.code, 403);
}

#[tokio::test]
async fn a_snapshot_is_for_the_masters_group_where_everything_is_allowed() {
    let server = Launch::new().tokens().arg("--authorization-mode=AlwaysAllow").start().await;
    let alice = server.client().token(ALICE);
    alice.get("/metrics").await.code_is(200);
    let answer = alice.get(PATH).await;
    answer.is_status(403, "Forbidden", REFUSED);
    assert_eq!(answer.header("x-content-type-options"), "nosniff");
    server.client().token(MASTER).get(PATH).await.code_is(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_offline_snapshot_is_restored_and_served() {
    let launch = seeded().await;
    let (file, fresh) = (launch.path("saved"), launch.path("fresh"));
    let expected = content(&launch.path("data")).await;
    succeeded(&snapshot("save", &file, &launch.path("data")).await, &format!("Saved {KEYS} keys"));
    succeeded(&snapshot("restore", &file, &fresh).await, &format!("Restored {KEYS} keys"));
    let mut server = Launch::new().data_dir(fresh.clone()).start().await;
    eventually("readiness", async || server.client().get("/readyz").await.code == 200).await;
    server.stop().await;
    let mut restored = content(&fresh).await;
    // The server itself has made more.
    restored.retain(|kv| expected.iter().any(|known| known.key == kv.key));
    assert_eq!(restored, expected);
}

#[tokio::test]
async fn saving_overwrites_nothing() {
    let launch = seeded().await;
    let file = launch.path("precious");
    std::fs::write(&file, "precious").expect("write");
    let sentence = snapshot("save", &file, &launch.path("data")).await.sentence();
    assert!(sentence.contains("is there already"), "{sentence}");
    assert_eq!(std::fs::read(&file).expect("still there"), b"precious");
}

#[tokio::test]
async fn restoring_over_a_store_changes_nothing() {
    let launch = seeded().await;
    let file = launch.path("saved");
    succeeded(&snapshot("save", &file, &launch.path("data")).await, "Saved");
    let before = content(&launch.path("data")).await;
    let sentence = snapshot("restore", &file, &launch.path("data")).await.sentence();
    assert!(sentence.contains("is not empty"), "{sentence}");
    assert_eq!(content(&launch.path("data")).await, before);
    let server: Server = launch.start().await;
    let sentence = snapshot("restore", &file, server.data_dir()).await.sentence();
    assert!(sentence.contains("is not empty") || sentence.contains("in use"), "{sentence}");
    server.admin().get("/readyz/etcd").await.is(200, "ok");
}

#[tokio::test]
async fn a_damaged_snapshot_is_refused_and_leaves_nothing() {
    let launch = seeded().await;
    let file = launch.path("saved");
    succeeded(&snapshot("save", &file, &launch.path("data")).await, "Saved");
    let whole = std::fs::read(&file).expect("the file");
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 1;
    for (name, bytes) in [
        ("flipped", &flipped[..]),
        ("cut", &whole[..whole.len() / 2]),
        ("cut at the end", &whole[..whole.len() - 1]),
        ("longer", &[&whole[..], b"x"].concat()),
        ("empty", b""),
        ("foreign", b"something else entirely, of some length"),
    ] {
        let (damaged, fresh) = (launch.path("damaged"), launch.path("fresh"));
        std::fs::write(&damaged, bytes).expect("write");
        let sentence = snapshot("restore", &damaged, &fresh).await.sentence();
        assert!(sentence.contains("not a usable snapshot"), "{name}: {sentence}");
        let left = std::fs::read_dir(fresh.join("store")).map_or(0, Iterator::count);
        assert_eq!(left, 0, "{name}: something was left");
        succeeded(&snapshot("restore", &file, &fresh).await, "Restored");
        std::fs::remove_dir_all(&fresh).expect("removed");
    }
}

#[tokio::test]
async fn command_lines_that_make_no_sense_say_so() {
    for (args, expect) in [
        (&["snapshot", "save"][..], "the file is missing"),
        (&["snapshot", "steal", "x"], "knows save FILE and restore FILE"),
        (&["snapshot", "save", "x", "--secure-port=1"], "unknown flag: --secure-port"),
        (&["snapshot", "save", "x", "--data-dir=:memory:"], "--data-dir=:memory:"),
        (&["snapshot", "save", "x"], "there is no store in"),
        (&["snapshot", "save", "/nowhere/x"], "cannot write /nowhere/x"),
        (&["snapshot", "restore", "/nowhere/x"], "cannot read /nowhere/x"),
    ] {
        let sentence = Launch::bare().args(args).run_on(None).await.sentence();
        assert!(sentence.contains(expect), "{args:?}: {sentence}");
    }
    let help = Launch::bare().args(&["snapshot", "--help"]).run_on(None).await;
    succeeded(&help, "pintle snapshot save FILE");
}
