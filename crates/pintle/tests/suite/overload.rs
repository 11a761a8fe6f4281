//! One client that takes all it can get, and what is left for others.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use http::Method;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio_rustls::client::TlsStream;

use crate::support::{Answer, Client, Launch, Server};

const MALLORY: &str = "mallory-token-000000000000000000";
const BOB: &str = "bob-token-00000000000000000000000";
const NODE: &str = "node-token-0000000000000000000000";

const REVIEWS: &str = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
const REVIEW: &str = r#"{"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1","spec":{
    "resourceAttributes":{"verb":"get","resource":"pods"}}}"#;
const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const JSON: (&str, &str) = ("content-type", "application/json");

/// Starts a server with an attacker, another user, and a node. Both users may edit the default namespace.
async fn server() -> Server {
    let launch = Launch::new().secret(MALLORY).secret(BOB).secret(NODE);
    let tokens = format!("{MALLORY},mallory,u1\n{BOB},bob,u2\n{NODE},system:node:n1,u3,\"system:nodes\"\n");
    let file = launch.path("tokens.csv");
    std::fs::write(&file, tokens).expect("write tokens");
    let server = launch.arg(format!("--token-auth-file={}", file.display())).start().await;
    let user = |name: &str| json!({"kind": "User", "name": name, "apiGroup": "rbac.authorization.k8s.io"});
    let binding = json!({
        "metadata": {"name": "editors"},
        "roleRef": {"kind": "ClusterRole", "name": "edit", "apiGroup": "rbac.authorization.k8s.io"},
        "subjects": [user("mallory"), user("bob")],
    });
    let path = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings";
    post(&server.admin(), path, binding.to_string()).await.gives(201);
    server
}

async fn post(client: &Client, path: &str, body: String) -> Answer {
    client.request(Method::POST, path, &[JSON], body).await
}

fn as_user(server: &Server, token: &str) -> Client {
    server.client().token(token)
}

/// Begins requests and goes no further: each waits for what `head` promises or asks for.
async fn begun(server: &Server, token: &str, count: usize, head: &str) -> Vec<TlsStream<TcpStream>> {
    let mut opening = JoinSet::new();
    for _ in 0..count {
        let (client, head) = (as_user(server, token), head.to_owned());
        opening.spawn(async move {
            let mut stream = client.tls().await.expect("a handshake");
            stream.write_all(head.as_bytes()).await.expect("sent");
            stream.flush().await.expect("sent");
            stream
        });
    }
    let open = opening.join_all().await;
    // They are all in the server by now, wherever they wait.
    tokio::time::sleep(Duration::from_millis(300)).await;
    open
}

fn slow_body(path: &str, token: &str) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n\
         Content-Length: 1000\r\n\r\n{{"
    )
}

fn reading(path: &str, token: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {token}\r\n\r\n")
}

/// More than there are slots for writes, by a user that may do next to nothing.
#[tokio::test(flavor = "multi_thread")]
async fn bodies_that_never_come_keep_nobody_out() {
    let server = server().await;
    let _slow = begun(&server, MALLORY, 220, &slow_body(REVIEWS, MALLORY)).await;
    for token in [BOB, NODE, MALLORY] {
        post(&as_user(&server, token), REVIEWS, REVIEW.into()).await.gives(201);
    }
    post(&as_user(&server, BOB), MAPS, r#"{"metadata":{"name":"a"}}"#.into()).await.gives(201);
    post(&server.admin(), MAPS, r#"{"metadata":{"name":"b"}}"#.into()).await.gives(201);
    let figures = server.admin().get("/metrics").await.body;
    let now = "apiserver_current_inflight_requests{request_kind=\"mutating\"}";
    assert!(figures.contains(now), "{now}");
}

/// Requests that wait for their bodies are bounded as well, by user.
#[tokio::test(flavor = "multi_thread")]
async fn a_user_has_only_so_many_requests_that_wait() {
    let seats = ["--max-requests-inflight=10", "--max-mutating-requests-inflight=10", ON];
    let slots = ["--max-requests-inflight=400", "--max-mutating-requests-inflight=4", OFF];
    for (limits, room) in [(seats, 80), (slots, 16)] {
        a_user_has_half(limits, room).await;
    }
}

const ON: &str = "--enable-priority-and-fairness=true";
const OFF: &str = "--enable-priority-and-fairness=false";

/// Half of eight for each seat, or for each slot for writes.
async fn a_user_has_half(limits: [&str; 3], room: usize) {
    let server = Launch::new().tokens().args(&limits).start().await;
    let alice = || server.client().token(crate::support::ALICE);
    let head = slow_body(REVIEWS, crate::support::ALICE);
    let slow = begun(&server, crate::support::ALICE, room + 4, &head).await;
    let mut refused = 0;
    for mut stream in slow {
        let mut answer = [0; 64];
        let read = tokio::time::timeout(Duration::from_millis(50), stream.read(&mut answer)).await;
        refused += usize::from(matches!(read, Ok(Ok(12..)) if answer.starts_with(b"HTTP/1.1 429")));
    }
    assert_eq!(refused, 4);
    post(&alice(), REVIEWS, REVIEW.into()).await.gives(201);
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_of_a_revision_to_come_keep_nobody_out() {
    let server = server().await;
    let current = server.admin().get(MAPS).await.gives(200);
    let current: u64 =
        current["metadata"]["resourceVersion"].as_str().expect("a revision").parse().expect("one");
    // It is waited for, as the reference does it: another server may have made it.
    let path = format!("{MAPS}?resourceVersion={}", current + 1000);
    let waiting = begun(&server, MALLORY, 430, &reading(&path, MALLORY)).await;
    server.client().get("/livez").await.is(200, "ok");
    server.client().get("/readyz").await.is(200, "ok");
    for token in [BOB, MALLORY] {
        as_user(&server, token).get(MAPS).await.gives(200);
    }
    for mut stream in waiting.into_iter().take(3) {
        let mut answer = vec![0; 4096];
        let length = tokio::time::timeout(Duration::from_secs(10), stream.read(&mut answer)).await;
        let length = length.expect("an answer in time").expect("an answer");
        let answer = String::from_utf8_lossy(&answer[..length]);
        assert!(answer.starts_with("HTTP/1.1 504"), "{answer}");
    }
}

/// A revision that no store reaches in time is refused at once, in the same words.
#[tokio::test(flavor = "multi_thread")]
async fn a_revision_far_ahead_is_refused_early() {
    let server = server().await;
    let (bob, ahead) = (as_user(&server, BOB), 9_000_000_000_000_000_000_u64);
    post(&bob, MAPS, r#"{"metadata":{"name":"a"}}"#.into()).await.gives(201);
    let begun = Instant::now();
    for path in [
        format!("{MAPS}?resourceVersion={ahead}"),
        format!("{MAPS}?resourceVersion={ahead}&resourceVersionMatch=NotOlderThan"),
        format!("{MAPS}?resourceVersion={ahead}&resourceVersionMatch=Exact"),
        format!("{MAPS}?resourceVersion={ahead}&limit=5"),
        format!("{MAPS}/a?resourceVersion={ahead}"),
    ] {
        let answer = bob.get(&path).await;
        let status = answer.gives(504);
        assert_eq!(answer.header("retry-after"), "1", "{path}");
        let message = status["message"].as_str().unwrap_or_default();
        let expected = format!("Timeout: Too large resource version: {ahead}, current: ");
        assert!(message.starts_with(&expected), "{message}");
        assert_eq!(status["reason"], "Timeout", "{path}");
        let details = json!({
            "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
            "retryAfterSeconds": 1,
        });
        assert_eq!(status["details"], details, "{path}");
    }
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    // A watch without initial events begins wherever it is told to.
    let watch = format!("{MAPS}?watch=1&resourceVersion={ahead}&timeoutSeconds=1");
    assert!(bob.follow(&watch, &[]).await.line().await.is_none());
}

/// A pod of 8,000 equal ports: warnings about each of them.
fn equal_ports() -> String {
    let ports = vec![json!({"containerPort": 80}); 8000];
    let container = json!({"name": "c", "image": "i", "ports": ports});
    json!({"metadata": {"generateName": "p-"}, "spec": {"containers": [container]}}).to_string()
}

/// A ConfigMap of as many small values as fit a request.
fn many_values(entries: usize) -> String {
    let data: serde_json::Map<_, _> = (0..entries).map(|n| (format!("key-{n}"), json!("v"))).collect();
    json!({"metadata": {"generateName": "m-"}, "data": data}).to_string()
}

fn yaml(entries: usize) -> String {
    let data: String = (0..entries).map(|n| format!("  key-{n}: 'v'\n")).collect();
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  generateName: y-\ndata:\n{data}")
}

/// A deadline ends work that has begun, and what waits for its turn is not begun.
#[tokio::test(flavor = "multi_thread")]
async fn a_deadline_ends_long_work() {
    let server = server().await;
    let body = yaml(100_000);
    let kind = ("content-type", "application/yaml");
    let mallory = as_user(&server, MALLORY);
    let (path, begun) = (format!("{MAPS}?dryRun=All"), Instant::now());
    mallory.request(Method::POST, &path, &[kind], body.clone()).await.gives(201);
    let whole = begun.elapsed();
    let mut requests = JoinSet::new();
    let begun = Instant::now();
    for _ in 0..10 {
        let (client, path, body) = (mallory.clone(), format!("{path}&timeout=100ms"), body.clone());
        requests.spawn(async move { client.request(Method::POST, &path, &[kind], body).await });
    }
    for answer in requests.join_all().await {
        answer.is_status(504, "Timeout", "Timeout: request did not complete within the allotted timeout");
    }
    // One after the other they would take as long as all of them.
    assert!(begun.elapsed() < whole * 5, "{:?} for ten, {whole:?} for one", begun.elapsed());
    let begun = Instant::now();
    mallory.request(Method::POST, &path, &[kind], body).await.gives(201);
    assert!(begun.elapsed() < whole * 4, "nothing is left of them");
}

/// Sends the same request again and again until it is told to stop; how often it was answered with which code.
async fn again(
    client: Client,
    (method, path, kind, body): (Method, String, &'static str, String),
    stop: Arc<AtomicBool>,
) -> Vec<u16> {
    let mut codes = Vec::new();
    loop {
        let Ok(mut connection) = client.connect().await else { continue };
        while let Ok(answer) =
            connection.send(method.clone(), &path, &[("content-type", kind)], body.clone()).await
        {
            codes.push(answer.code);
            if answer.code == 429 {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            if stop.load(Ordering::Relaxed) {
                return codes;
            }
        }
    }
}

/// /livez within 100 ms while a single client does its worst. Probes are many, so that a machine that pauses now and then does
/// not decide: every one is answered, the median is in time, and all but a few are soon after it in an unoptimised server.
#[tokio::test(flavor = "multi_thread")]
async fn probes_and_others_are_answered_while_one_client_does_its_worst() {
    let server = server().await;
    let mallory = || as_user(&server, MALLORY);
    // Something large to be changed by small patches, and many labels to be selected among.
    let large = many_values(40_000).replace("generateName\":\"m-", "name\":\"large");
    post(&mallory(), MAPS, large).await.gives(201);
    for number in 0..4 {
        let labels: serde_json::Map<_, _> = (0..4000).map(|n| (format!("l{n}"), json!("v"))).collect();
        let map = json!({"metadata": {"name": format!("labels-{number}"), "labels": labels}});
        post(&mallory(), MAPS, map.to_string()).await.gives(201);
    }
    let before = server.resident();
    let _slow = begun(&server, MALLORY, 220, &slow_body(REVIEWS, MALLORY)).await;
    let selector: Vec<String> = (0..6000).map(|n| format!("l{}", n % 4000)).collect();
    let (dry, pods) = (format!("{MAPS}?dryRun=All"), "/api/v1/namespaces/default/pods?dryRun=All".to_owned());
    let json_type = "application/json";
    let attacks: Vec<(Method, String, &'static str, String)> = vec![
        (Method::POST, pods, json_type, equal_ports()),
        (Method::POST, dry.clone(), json_type, many_values(100_000)),
        (Method::POST, dry.clone(), "application/yaml", yaml(100_000)),
        (
            Method::PATCH,
            format!("{MAPS}/large?dryRun=All"),
            "application/merge-patch+json",
            r#"{"data":{"key-1":"w"}}"#.into(),
        ),
        (
            Method::PATCH,
            format!("{MAPS}/applied?dryRun=All&fieldManager=m"),
            "application/apply-patch+yaml",
            yaml(50_000).replace("generateName: y-", "name: applied"),
        ),
        (Method::GET, format!("{MAPS}?labelSelector={}", selector.join(",")), json_type, String::new()),
        (Method::GET, format!("{MAPS}?resourceVersion=9000000000000000000"), json_type, String::new()),
    ];
    let mut attackers = JoinSet::new();
    let stop = Arc::new(AtomicBool::new(false));
    for attack in attacks {
        for _ in 0..4 {
            attackers.spawn(again(mallory(), attack.clone(), stop.clone()));
        }
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    let (mut probes, mut others, mut most) = (Vec::new(), Vec::new(), before);
    let mut anonymous = server.client().connect().await.expect("connect");
    let mut bob = as_user(&server, BOB).connect().await.expect("connect");
    for _ in 0..60 {
        let begun = Instant::now();
        anonymous.get("/livez").await.expect("an answer").is(200, "ok");
        probes.push(begun.elapsed());
        let begun = Instant::now();
        bob.get(&format!("{MAPS}/labels-0")).await.expect("an answer").gives(200);
        others.push(begun.elapsed());
        most = most.max(server.resident());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    stop.store(true, Ordering::Relaxed);
    let codes: Vec<u16> = attackers.join_all().await.into_iter().flatten().collect();
    probes.sort();
    others.sort();
    let share = |code: u16| codes.iter().filter(|is| **is == code).count();
    let figures = format!(
        "livez: median {:?}, 90 of 100 {:?}, most {:?}; another user: median {:?}, most {:?}; memory {} to {} MB; answers to \
         the attacker: {} of 200, {} of 429, {} of 504, {} in all",
        probes[30],
        probes[54],
        probes[59],
        others[30],
        others[59],
        before >> 20,
        most >> 20,
        share(200) + share(201),
        share(429),
        share(504),
        codes.len()
    );
    eprintln!("{figures}");
    assert!(probes[30] < Duration::from_millis(100), "{figures}");
    assert!(probes[54] < Duration::from_millis(500) && others[30] < Duration::from_millis(500), "{figures}");
    assert!(share(200) + share(201) > 0 && share(504) > 0, "the attacks were real: {figures}");
}
