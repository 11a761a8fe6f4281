//! Priority and fairness, whole: what clients, dumps, metrics and health endpoints show of it.

use http::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::support::{ALICE, Answer, Client, Launch, Server, eventually};

const GROUP: &str = "/apis/flowcontrol.apiserver.k8s.io/v1";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const JSON: (&str, &str) = ("content-type", "application/json");
const SCHEMA_UID: &str = "x-kubernetes-pf-flowschema-uid";
const LEVEL_UID: &str = "x-kubernetes-pf-prioritylevel-uid";
const OFF: &str = "--enable-priority-and-fairness=false";

async fn create(client: &Client, path: &str, object: &Value) -> Value {
    client.request(Method::POST, path, &[JSON], object.to_string()).await.gives(201)
}

fn uid(object: &Value) -> &str {
    object["metadata"]["uid"].as_str().expect("a UID")
}

/// A level with one seat of two, which it neither lends nor exceeds.
fn narrow_level() -> Value {
    json!({
        "metadata": {"name": "narrow"},
        "spec": {"type": "Limited", "limited": {
            "nominalConcurrencyShares": 1, "lendablePercent": 0, "borrowingLimitPercent": 0,
            "limitResponse": {"type": "Reject"},
        }},
    })
}

/// All requests of alice.
fn narrow_schema(level: &str) -> Value {
    json!({
        "metadata": {"name": "narrow"},
        "spec": {
            "priorityLevelConfiguration": {"name": level},
            "matchingPrecedence": 50,
            "rules": [{
                "subjects": [{"kind": "User", "user": {"name": "alice"}}],
                "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "clusterScope": true,
                    "namespaces": ["*"]}],
            }],
        },
    })
}

async fn server(arguments: &[&str]) -> Server {
    let server = Launch::new().tokens().args(arguments).start().await;
    eventually("readiness", async || server.client().get("/readyz").await.code == 200).await;
    let binding = json!({
        "metadata": {"name": "alice"},
        "roleRef": {"kind": "ClusterRole", "name": "view", "apiGroup": "rbac.authorization.k8s.io"},
        "subjects": [{"kind": "User", "name": "alice", "apiGroup": "rbac.authorization.k8s.io"}],
    });
    create(&server.admin(), "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", &binding).await;
    server
}

fn alice(server: &Server) -> Client {
    server.client().token(ALICE)
}

async fn figure(server: &Server, line: &str) -> Option<String> {
    let text = server.admin().get("/metrics").await.body;
    text.lines().find_map(|found| found.strip_prefix(line)?.strip_prefix(' ').map(str::to_owned))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_busy_level_without_queues_refuses_as_the_reference_does() {
    let server = server(&["--max-requests-inflight=1", "--max-mutating-requests-inflight=1"]).await;
    let admin = server.admin();
    let large = "x".repeat(900_000);
    for number in 0..30 {
        let map = json!({"metadata": {"name": format!("large-{number}")}, "data": {"text": large}});
        create(&admin, MAPS, &map).await;
    }
    let level = create(&admin, &format!("{GROUP}/prioritylevelconfigurations"), &narrow_level()).await;
    let schema = create(&admin, &format!("{GROUP}/flowschemas"), &narrow_schema("narrow")).await;
    let has_uids = |answer: &Answer| {
        assert_eq!(answer.header(SCHEMA_UID), uid(&schema));
        assert_eq!(answer.header(LEVEL_UID), uid(&level));
    };
    let answer = alice(&server).get(&format!("{MAPS}/large-1")).await;
    answer.code_is(200);
    has_uids(&answer);
    // 27 MB that its client does not read.
    let mut stream = alice(&server).tls().await.expect("a handshake");
    let request = format!("GET {MAPS} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {ALICE}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.expect("sent");
    stream.read_exact(&mut [0; 12]).await.expect("the answer begins");
    let refused = alice(&server).get(&format!("{MAPS}/large-1")).await;
    refused.is(429, "Too many requests, please try again later.\n");
    assert_eq!(refused.header("retry-after"), "1");
    assert_eq!(refused.header("content-type"), "text/plain; charset=utf-8");
    has_uids(&refused);
    let rejected = "apiserver_flowcontrol_rejected_requests_total{flow_schema=\"narrow\",priority_level=\"narrow\",\
                    reason=\"concurrency-limit\"}";
    assert_eq!(figure(&server, rejected).await.as_deref(), Some("1"));
    // Requests of other levels do not notice: neither administrators nor probes.
    admin.get(&format!("{MAPS}/large-1")).await.gives(200);
    server.client().get("/livez").await.is(200, "ok");
    let dump = |name: &str| format!("/debug/api_priority_and_fairness/{name}");
    let levels = admin.get(&dump("dump_priority_levels")).await;
    assert_eq!(levels.header("content-type"), "text/plain; charset=utf-8");
    let row = levels.body.lines().find(|line| line.starts_with("narrow,")).expect("a row").replace(' ', "");
    assert_eq!(row, "narrow,0,false,false,0,1,2,1,0,0");
    let requests = admin.get(&dump("dump_requests?includeRequestDetails=1")).await.body;
    let row = requests.lines().find(|line| line.starts_with("narrow,")).expect("a row").replace(' ', "");
    let cells: Vec<&str> = row.split(',').collect();
    assert_eq!(cells[..5], ["narrow", "narrow", "-1", "-1", ""]);
    assert_eq!(cells[10..], ["alice", "list", MAPS, "default", "", "v1", "configmaps", ""]);
    let queues = admin.get(&dump("dump_queues")).await.body;
    assert_eq!(queues.lines().filter(|line| line.starts_with("workload-low,")).count(), 128);
    assert!(queues.starts_with("PriorityLevelName, Index,"), "{queues}");
    alice(&server).get(&dump("dump_queues")).await.code_is(403);
    // The client is gone, and its seat is free again.
    drop(stream);
    let path = format!("{MAPS}/large-1");
    eventually("a free seat", async || alice(&server).get(&path).await.code == 200).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_configuration_is_in_effect_when_it_was_answered() {
    let server = server(&[]).await;
    let admin = server.admin();
    let of = async |path: &str| admin.get(&format!("{GROUP}/{path}")).await.gives(200);
    let default = of("flowschemas/global-default").await;
    let answer = alice(&server).get(MAPS).await;
    assert_eq!(answer.header(SCHEMA_UID), uid(&default));
    let exempt = of("prioritylevelconfigurations/exempt").await;
    assert_eq!(admin.get(MAPS).await.header(LEVEL_UID), uid(&exempt));
    assert_eq!(server.client().get("/livez").await.header(LEVEL_UID), uid(&exempt));
    for _ in 0..5 {
        let level = create(&admin, &format!("{GROUP}/prioritylevelconfigurations"), &narrow_level()).await;
        let schema = create(&admin, &format!("{GROUP}/flowschemas"), &narrow_schema("narrow")).await;
        let answer = alice(&server).get(MAPS).await;
        assert_eq!((answer.header(SCHEMA_UID), answer.header(LEVEL_UID)), (uid(&schema), uid(&level)));
        for path in ["flowschemas/narrow", "prioritylevelconfigurations/narrow"] {
            admin.request(Method::DELETE, &format!("{GROUP}/{path}"), &[], String::new()).await.code_is(200);
        }
        assert_eq!(alice(&server).get(MAPS).await.header(SCHEMA_UID), uid(&default));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flow_schema_says_that_its_level_is_missing_and_is_not_in_effect() {
    let server = server(&[]).await;
    let admin = server.admin();
    create(&admin, &format!("{GROUP}/flowschemas"), &narrow_schema("narrow")).await;
    let path = format!("{GROUP}/flowschemas/narrow");
    let condition = async || admin.get(&path).await.gives(200)["status"]["conditions"][0].clone();
    eventually("a condition", async || condition().await["status"] == "True").await;
    let found = condition().await;
    assert_eq!((&found["type"], &found["reason"]), (&json!("Dangling"), &json!("NotFound")));
    assert_eq!(
        found["message"],
        "This FlowSchema references the PriorityLevelConfiguration object named \"narrow\" but there is no such object"
    );
    let object = admin.get(&path).await.gives(200);
    let manager = &object["metadata"]["managedFields"].as_array().expect("managers")[0];
    assert_eq!(manager["manager"], "api-priority-and-fairness-config-consumer-v1");
    let default = admin.get(&format!("{GROUP}/flowschemas/global-default")).await.gives(200);
    assert_eq!(alice(&server).get(MAPS).await.header(SCHEMA_UID), uid(&default));
    create(&admin, &format!("{GROUP}/prioritylevelconfigurations"), &narrow_level()).await;
    assert_eq!(alice(&server).get(MAPS).await.header(SCHEMA_UID), uid(&object));
    eventually("a condition", async || condition().await["status"] == "False").await;
    assert_eq!(condition().await["reason"], "Found");
}

#[tokio::test(flavor = "multi_thread")]
async fn watches_give_their_seats_back_and_are_counted() {
    let server = server(&["--max-requests-inflight=1", "--max-mutating-requests-inflight=1"]).await;
    let admin = server.admin();
    let schema = narrow_schema("narrow");
    create(&admin, &format!("{GROUP}/prioritylevelconfigurations"), &narrow_level()).await;
    create(&admin, &format!("{GROUP}/flowschemas"), &schema).await;
    create(&admin, MAPS, &json!({"metadata": {"name": "a"}})).await;
    let mut watches = Vec::new();
    for _ in 0..12 {
        let mut watch = alice(&server).follow(&format!("{MAPS}?watch=1"), &[]).await;
        assert_eq!(watch.line().await.expect("an event")["type"], "ADDED");
        watches.push(watch);
    }
    let executing =
        "apiserver_flowcontrol_current_executing_seats{flow_schema=\"narrow\",priority_level=\"narrow\"}";
    assert_eq!(figure(&server, executing).await.as_deref(), Some("0"));
    alice(&server).get(MAPS).await.code_is(200);
    create(&admin, MAPS, &json!({"metadata": {"name": "b"}})).await;
    let labels = "{flow_schema=\"exempt\",priority_level=\"exempt\"}";
    let counted = format!("apiserver_flowcontrol_watch_count_samples_sum{labels}");
    let before: f64 = figure(&server, &counted).await.expect("a figure").parse().expect("a number");
    assert!(before >= 12.0, "{before}");
    drop(watches);
    let sum = async || figure(&server, &counted).await.expect("a figure").parse::<f64>().expect("a number");
    eventually("watches that are forgotten", async || {
        let before = sum().await;
        let name = format!("c-{before}");
        create(&admin, MAPS, &json!({"metadata": {"name": name}})).await;
        sum().await - before < 12.0
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_it_requests_have_slots_of_their_users() {
    let server = server(&[OFF]).await;
    let admin = server.admin();
    let answer = alice(&server).get(MAPS).await;
    answer.code_is(200);
    assert_eq!((answer.header(SCHEMA_UID), answer.header(LEVEL_UID)), ("", ""));
    admin.get("/debug/api_priority_and_fairness/dump_queues").await.code_is(404);
    assert!(!admin.get("/metrics").await.body.contains("apiserver_flowcontrol"));
    let checks = server.client().get("/readyz?verbose").await.body;
    for (check, is_there) in [
        ("max-in-flight-filter", true),
        ("priority-and-fairness-config-producer", true),
        ("priority-and-fairness-filter", false),
        ("priority-and-fairness-config-consumer", false),
    ] {
        assert_eq!(checks.contains(&format!("[+]poststarthook/{check} ok\n")), is_there, "{checks}");
    }
    let schema = create(&admin, &format!("{GROUP}/flowschemas"), &narrow_schema("none")).await;
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    let after = admin.get(&format!("{GROUP}/flowschemas/narrow")).await.gives(200);
    assert_eq!(after["metadata"]["resourceVersion"], schema["metadata"]["resourceVersion"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_take_seats_by_the_size_of_their_objects() {
    let server = server(&[]).await;
    let large = "x".repeat(300_000);
    for number in 0..12 {
        let map = json!({"metadata": {"name": format!("large-{number}")}, "data": {"text": large}});
        create(&server.admin(), MAPS, &map).await;
    }
    let labels = "{flow_schema=\"global-default\",priority_level=\"global-default\"}";
    let line = format!("apiserver_flowcontrol_work_estimated_seats_sum{labels}");
    let seats_of = async |path: &str| {
        let sum =
            async || figure(&server, &line).await.map_or(0.0, |sum| sum.parse::<f64>().expect("a number"));
        let before = sum().await;
        alice(&server).get(path).await.code_is(200);
        sum().await - before
    };
    // They are counted behind the first LIST. A megabyte would be ten, of which a request of this level may have eight.
    eventually("a count of ConfigMaps", async || seats_of(MAPS).await == 8.0).await;
    // By their average size, of which those that every cluster has are a part. It is known when they are loaded.
    let single = format!("{MAPS}?fieldSelector=metadata.name%3Dlarge-1");
    eventually("their size", async || seats_of(&single).await < 8.0).await;
    let (one, page) = (seats_of(&single).await, seats_of(&format!("{MAPS}?limit=2")).await);
    assert!((2.0..=4.0).contains(&one) && (3.0..=7.0).contains(&page) && one < page, "{one} {page}");
    assert_eq!(seats_of(&format!("{MAPS}/large-1")).await, 1.0);
}
