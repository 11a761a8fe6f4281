//! Patches as attackers send them. Each is refused, or does what it says, in bounded time and memory.

use http::Method;
use serde_json::{Map, Value, json};

use super::{JSON_PATCH, MERGE, Maps, done, map};
use crate::support::shared::{Shared, on_both_stores, ready};
use crate::support::{Answer, Launch, PATIENCE};

const STRATEGIC: &str = "application/strategic-merge-patch+json";
const APPLY: &str = "application/apply-patch+yaml";
const NOT_APPLICABLE: &str = "the server rejected our request due to an error in our request";

on_both_stores! {
    a_json_patch_has_so_many_operations,
    patches_that_grow_by_copies_are_refused,
    too_deep_objects_are_refused,
    objects_that_a_patch_makes_too_large_are_refused,
}

fn short(answer: &Answer) -> &str {
    let end = (0..=answer.body.len().min(300)).rev().find(|end| answer.body.is_char_boundary(*end));
    &answer.body[..end.unwrap_or_default()]
}

#[track_caller]
fn refused(answer: &Answer, code: u16, start: &str) {
    let message = answer.json()["message"].as_str().unwrap_or_default().to_owned();
    assert!(answer.code == code && message.starts_with(start), "{} {}", answer.code, short(answer));
}

fn many(operation: &Value, count: usize) -> String {
    format!("[{}]", vec![operation.to_string(); count].join(","))
}

async fn a_json_patch_has_so_many_operations(shared: &Shared) {
    let maps = Maps::new(shared, "hostile-operations").await;
    let before = done(&maps.create(&map("a", &json!({"a": "b"}))).await);
    let test = json!({"op": "test", "path": "/data/a", "value": "b"});
    let answer = maps.send(Method::PATCH, "a", JSON_PATCH, many(&test, 10_000)).await;
    assert_eq!(done(&answer), before);
    for count in [10_001, 50_000] {
        let answer = maps.send(Method::PATCH, "a", JSON_PATCH, many(&test, count)).await;
        let told = format!(
            "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got {count}"
        );
        answer.is_status(413, "RequestEntityTooLarge", &told);
    }
    assert_eq!(maps.get("a").await, before);
}

async fn patches_that_grow_by_copies_are_refused(shared: &Shared) {
    let maps = Maps::new(shared, "hostile-copies").await;
    let before = done(&maps.create(&map("a", &json!({"a": "b"}))).await);
    let copies = |from: &str, to: &str, count: usize| -> Value {
        let copy = |number| json!({"op": "copy", "from": from, "path": format!("{to}/{number}")});
        (0..count).map(copy).collect::<Vec<_>>().into()
    };
    // Each doubles what there is; or takes a little more, thousands of times.
    for patch in [copies("/data", "/data", 64), copies("/metadata", "/metadata/annotations", 9_000)] {
        let mut patch = patch;
        let there = json!({"op": "add", "path": "/metadata/annotations", "value": {}});
        patch.as_array_mut().expect("a list").insert(0, there);
        let answer = maps.patch("a", JSON_PATCH, &patch).await;
        refused(&answer, 422, NOT_APPLICABLE);
    }
    assert_eq!(maps.get("a").await, before);
}

async fn too_deep_objects_are_refused(shared: &Shared) {
    const DEPTH: usize = 100_000;
    let maps = Maps::new(shared, "hostile-depth").await;
    let before = done(&maps.create(&map("a", &json!({"a": "b"}))).await);
    let object = format!("{}1{}", "{\"a\":".repeat(DEPTH), "}".repeat(DEPTH));
    let list = format!("{}{}", "[".repeat(DEPTH), "]".repeat(DEPTH));
    let value = format!(r#"[{{"op":"add","path":"/data/b","value":{list}}}]"#);
    let fields = format!(r#"{{"metadata":{{"managedFields":[{{"fieldsV1":{object}}}]}}}}"#);
    for (media_type, body) in [
        (MERGE, &object),
        (MERGE, &fields),
        (JSON_PATCH, &value),
        (STRATEGIC, &object),
        (STRATEGIC, &fields),
        (APPLY, &object),
        (APPLY, &fields),
    ] {
        let answer = maps.send(Method::PATCH, "a?fieldManager=m", media_type, body.clone()).await;
        let message = answer.json()["message"].as_str().unwrap_or_default().to_owned();
        assert!(answer.code == 400 && message.contains("exceeded max depth"), "{media_type}: {message}");
    }
    // Nor is it built bit by bit.
    let deeper =
        |depth: usize| json!({"op": "add", "path": format!("/x{}", "/a".repeat(depth)), "value": {}});
    let steps: Value = (0..1_000).map(deeper).collect::<Vec<_>>().into();
    refused(&maps.patch("a", JSON_PATCH, &steps).await, 422, NOT_APPLICABLE);
    assert_eq!(maps.get("a").await, before);
}

async fn objects_that_a_patch_makes_too_large_are_refused(shared: &Shared) {
    let maps = Maps::new(shared, "hostile-growth").await;
    let before = done(&maps.create(&map("a", &json!({"a": "b"}))).await);
    let keys = |start: &str, count: usize| -> Map<String, Value> {
        (0..count).map(|number| (format!("{start}{number:06}"), json!("0123456789abcdef"))).collect()
    };
    let labels = json!({"metadata": {"labels": keys("k", 40_000)}});
    let more = json!({"metadata": {"labels": keys("l", 20_000)}});
    for media_type in [MERGE, STRATEGIC] {
        let answer = maps.patch("a", media_type, &labels).await;
        assert_eq!(done(&answer)["metadata"]["labels"].as_object().map(Map::len), Some(40_000));
        let answer = maps.patch("a", media_type, &more).await;
        refused(&answer, 500, "etcdserver: request is too large");
        done(&maps.patch("a", MERGE, &json!({"metadata": {"labels": null}})).await);
    }
    let mut object = map("a", &json!({"a": "b"}));
    object["metadata"]["labels"] = keys("k", 40_000).into();
    let answer = maps.patch("a?fieldManager=m&force=true", APPLY, &object).await;
    refused(&answer, 500, "etcdserver: request is too large");
    assert_eq!(maps.get("a").await["data"], before["data"]);
}

/// Large, expensive requests, and the codes that may answer each.
fn attacks() -> Vec<(&'static str, &'static str, String, &'static [u16])> {
    let owner = |uid: usize| json!({"apiVersion": "v1", "kind": "K", "name": "n", "uid": uid.to_string()});
    let owners = |count: usize| (0..count).map(owner).collect::<Vec<_>>();
    let entry = |number: usize| {
        json!({"manager": format!("m{number}"), "operation": "Update", "apiVersion": "v1", "time": "2020-01-01T00:00:00Z",
            "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {format!("f:k{number}"): {}}}})
    };
    let fields: Map<String, Value> = (0..60_000).map(|n| (format!("f:k{n}"), json!({}))).collect();
    let mut wide = entry(0);
    wide["fieldsV1"] = json!({"f:data": fields});
    let mut controllers = owners(10_000);
    controllers.iter_mut().for_each(|owner| owner["controller"] = json!(true));
    let finalizers = |count: usize| (0..count).map(|n| format!("a.b/{n}")).collect::<Vec<_>>();
    let ones = vec!["\"a\""; 400_000].join(",");
    let shifts = |operation: &str| {
        let begin = format!(r#"{{"op":"add","path":"/metadata/finalizers","value":[{ones}]}}"#);
        format!("[{begin},{}]", vec![operation; 9_999].join(","))
    };
    let of = |metadata: Value| json!({"metadata": metadata}).to_string();
    let whole = |metadata: Value| {
        let mut object = map("a", &json!({}));
        object["metadata"] = metadata;
        object["metadata"]["name"] = json!("a");
        object.to_string()
    };
    let aliases: String =
        (1..12).map(|n| format!("a{n}: &a{n} [{}]\n", vec![format!("*a{}", n - 1); 9].join(","))).collect();
    vec![
        (
            "shifted to the right",
            JSON_PATCH,
            shifts(r#"{"op":"add","path":"/metadata/finalizers/0","value":"b"}"#),
            &[422],
        ),
        (
            "shifted to the left",
            JSON_PATCH,
            shifts(r#"{"op":"remove","path":"/metadata/finalizers/0"}"#),
            &[422],
        ),
        ("many bad names", MERGE, of(json!({"finalizers": vec!["/"; 400_000]})), &[422]),
        ("many controllers", MERGE, of(json!({"ownerReferences": controllers})), &[422]),
        ("many owners", MERGE, of(json!({"ownerReferences": owners(20_000)})), &[200, 500]),
        ("many owners, merged", STRATEGIC, of(json!({"ownerReferences": owners(20_000)})), &[200, 500]),
        (
            "an order of many",
            STRATEGIC,
            of(json!({"$setElementOrder/finalizers": finalizers(60_000), "finalizers": finalizers(10)})),
            &[200],
        ),
        (
            "many deletions",
            STRATEGIC,
            of(json!({"$deleteFromPrimitiveList/finalizers": finalizers(60_000)})),
            &[200],
        ),
        (
            "many managers",
            MERGE,
            of(json!({"managedFields": (0..8_000).map(entry).collect::<Vec<_>>()})),
            &[200],
        ),
        ("a manager of much", MERGE, of(json!({"managedFields": [wide]})), &[200]),
        ("many managers, applied", APPLY, whole(json!({"managedFields": [entry(0)]})), &[400]),
        ("many owners, applied", APPLY, whole(json!({"ownerReferences": owners(10_000)})), &[200, 500]),
        (
            "one owner often, applied",
            APPLY,
            whole(json!({"ownerReferences": vec![owner(1); 20_000]})),
            &[500],
        ),
        (
            "aliases of aliases",
            APPLY,
            format!("a0: &a0 [1,1,1,1,1,1,1,1,1]\n{aliases}apiVersion: v1\n"),
            &[400],
        ),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn patches_that_are_made_to_hurt_cost_bounded_time_and_memory() {
    let server = Launch::new().tokens().start().await;
    ready(&server).await;
    let maps = Maps { client: server.admin(), path: "/api/v1/namespaces/default/configmaps".into() };
    let forget = json!({"metadata": {"finalizers": null, "ownerReferences": null, "managedFields": []}});
    done(&maps.create(&map("a", &json!({"a": "b"}))).await);
    let before = server.peak();
    for (what, media_type, body, expect) in attacks() {
        assert!(body.len() < 3 << 20, "{what} is sent whole: {}", body.len());
        let query = if media_type == APPLY { "a?fieldManager=m&force=true" } else { "a" };
        let answer =
            tokio::time::timeout(2 * PATIENCE, maps.send(Method::PATCH, query, media_type, body)).await;
        let answer = answer.unwrap_or_else(|_| panic!("{what}: no answer"));
        assert!(expect.contains(&answer.code), "{what}: {} {}", answer.code, short(&answer));
        assert!(answer.bytes.len() < 16 << 20, "{what}: an answer of {} bytes", answer.bytes.len());
        done(&maps.patch("a", MERGE, &forget).await);
    }
    // The largest body is 3 MB, and a tree of it some twenty times that.
    let grown = server.peak().saturating_sub(before) >> 20;
    assert!(grown < 300, "{grown} MB more");
    assert_eq!(maps.get("a").await["data"], json!({"a": "b"}));
}
