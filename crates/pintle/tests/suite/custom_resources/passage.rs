//! Conversion, pruning and defaulting on the way to the store and back: answers show the result, also of dry runs.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pintle_outbound::testing::{HttpsServer, Reply, Seen};
use serde_json::{Value, json};

use super::{DEFINITIONS, Session, definition, version};
use crate::support::{Answer, Launch, Server};

const V1: &str = "/apis/passage.test/v1/chests";
const V2: &str = "/apis/passage.test/v2/chests";

fn schema(spec: Value) -> Value {
    json!({"type": "object", "properties": {"spec": {"type": "object", "properties": spec}}})
}

/// Renames a field, loses `extra` and leaves a stamp; refuses what is cursed.
fn carry(seen: &Seen) -> Reply {
    let review = seen.json();
    let request = &review["request"];
    let to = request["desiredAPIVersion"].as_str().expect("a version");
    let (from, into) = if to.ends_with("v2") { ("host", "hostName") } else { ("hostName", "host") };
    let mut cursed = false;
    let carried = request["objects"].as_array().expect("objects").iter().map(|object| {
        let mut object = object.clone();
        object["apiVersion"] = to.into();
        cursed |= object["spec"]["extra"] == "cursed";
        if let Some(spec) = object["spec"].as_object_mut() {
            spec.remove("extra");
            if let Some(host) = spec.remove(from) {
                spec.insert(into.into(), host);
            }
        }
        object["metadata"]["annotations"]["stamp"] = "carried".into();
        object
    });
    let carried: Vec<Value> = carried.collect();
    let result =
        if cursed { json!({"status": "Failed", "message": "cursed"}) } else { json!({"status": "Success"}) };
    Reply::json(&json!({
        "apiVersion": review["apiVersion"], "kind": "ConversionReview",
        "response": {"uid": request["uid"], "convertedObjects": carried, "result": result},
    }))
}

async fn harbour() -> (Server, HttpsServer, Session) {
    let webhook = HttpsServer::start(carry).await;
    let server = Launch::new().start().await;
    let mut session = Session::to(&server).await;
    let text = json!({"type": "string"});
    let defaulted = |value: &str| json!({"type": "string", "default": value});
    let v1 = schema(json!({"host": text, "extra": text, "old": defaulted("one")}));
    let v2 =
        schema(json!({"hostName": text, "extra": text, "old": defaulted("two"), "new": defaulted("two")}));
    let versions = vec![version("v1", &v1), version("v2", &v2)];
    let mut chests = definition("passage.test", "Chest", "Cluster", versions);
    let client_config =
        json!({"url": webhook.url("/convert"), "caBundle": STANDARD.encode(&webhook.authority.pem)});
    chests["spec"]["conversion"] = json!({"strategy": "Webhook", "webhook": {
        "conversionReviewVersions": ["v1"], "clientConfig": client_config,
    }});
    session.install(&chests).await;
    (server, webhook, session)
}

/// Checks that an answer is an internal error without a reason, with this message.
fn is_plain(answer: &Answer, message: &str) {
    assert_eq!(answer.code, 500, "{answer:?}");
    let status = answer.json();
    assert_eq!(status["message"], message);
    assert_eq!(status.get("reason"), None, "{answer:?}");
}

fn chest(name: &str, extra: &str) -> Value {
    json!({"apiVersion": "passage.test/v2", "kind": "Chest", "metadata": {"name": name},
        "spec": {"hostName": "h", "extra": extra}})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fields_lost_in_conversion_are_not_in_the_answer() {
    let (_server, _webhook, mut session) = harbour().await;
    let created = session.post(V2, &chest("a", "1")).await.gives(201);
    // The default of `new` is of the request's version, which is not the stored one, and goes with what that does not know.
    assert_eq!(created["spec"], json!({"hostName": "h", "old": "two"}));
    assert_eq!(created["metadata"]["annotations"], json!({"stamp": "carried"}));
    let path = format!("{V2}/a");
    assert_eq!(session.get(&path).await.gives(200), created);
    let listed = session.get(V2).await.gives(200);
    assert_eq!(listed["items"][0], created);

    let patched = session.merge(&path, &json!({"spec": {"extra": "2", "hostName": "i"}})).await.gives(200);
    assert_eq!(patched["spec"], json!({"hostName": "i", "old": "two"}));
    assert_eq!(session.get(&path).await.gives(200), patched);
    let mut whole = patched.clone();
    whole["spec"]["hostName"] = "j".into();
    whole["spec"]["extra"] = "3".into();
    let put = session.put(&path, &whole).await.gives(200);
    assert_eq!(put["spec"], json!({"hostName": "j", "old": "two"}));

    // An object of the stored version is not converted, and has that version's defaults.
    let plain = json!({"apiVersion": "passage.test/v1", "kind": "Chest", "metadata": {"name": "b"},
        "spec": {"host": "h", "extra": "1"}});
    let created = session.post(V1, &plain).await.gives(201);
    assert_eq!(created["spec"], json!({"extra": "1", "host": "h", "old": "one"}));
    let seen = session.get(&format!("{V2}/b")).await.gives(200);
    assert_eq!(seen["spec"], json!({"hostName": "h", "old": "one"}));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dry_run_goes_the_whole_way_but_the_last_step() {
    let (_server, _webhook, mut session) = harbour().await;
    let tried = session.post(&format!("{V2}?dryRun=All"), &chest("a", "1")).await.gives(201);
    assert_eq!(tried["spec"], json!({"hostName": "h", "old": "two"}));
    let refused = session.post(&format!("{V2}?dryRun=All"), &chest("a", "cursed")).await;
    let message = "conversion webhook for passage.test/v2, Kind=Chest failed: cursed";
    is_plain(&refused, message);
    is_plain(&session.post(V2, &chest("a", "cursed")).await, message);
    session.post(V2, &chest("a", "1")).await.gives(201);
    let path = format!("{V2}/a?dryRun=All");
    let tried = session.merge(&path, &json!({"spec": {"extra": "2", "hostName": "i"}})).await.gives(200);
    assert_eq!(tried["spec"], json!({"hostName": "i", "old": "two"}));
    let refused = session.merge(&path, &json!({"spec": {"extra": "cursed"}})).await;
    is_plain(&refused, message);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dry_run_is_pruned_by_the_stored_version() {
    let server = Launch::new().start().await;
    let mut session = Session::to(&server).await;
    let stored =
        schema(json!({"masts": {"type": "integer"}, "colour": {"type": "string", "default": "red"}}));
    let loose = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let versions = vec![version("v1", &stored), version("v1beta1", &loose)];
    session.install(&definition("passage.test", "Boat", "Cluster", versions)).await;
    let boat = json!({"apiVersion": "passage.test/v1beta1", "kind": "Boat", "metadata": {"name": "anna"},
        "spec": {"masts": 1, "zork": 1}, "top": 2});
    let path = "/apis/passage.test/v1beta1/boats";
    for path in [format!("{path}?dryRun=All"), path.to_owned()] {
        let answered = session.post(&path, &boat).await.gives(201);
        assert_eq!(answered["spec"], json!({"colour": "red", "masts": 1}), "{path}");
        assert_eq!(answered.get("top"), None);
    }
    for path in [format!("{path}/anna?dryRun=All"), format!("{path}/anna")] {
        let answered = session.merge(&path, &json!({"spec": {"zork": 2}, "top": 3})).await.gives(200);
        assert_eq!(answered["spec"], json!({"colour": "red", "masts": 1}), "{path}");
        assert_eq!(answered.get("top"), None);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn objects_of_a_removed_version_are_reported() {
    let server = Launch::new().start().await;
    let mut session = Session::to(&server).await;
    let any = schema(json!({"masts": {"type": "integer"}}));
    let mut ships =
        definition("gone.test", "Ship", "Cluster", vec![version("v1", &any), version("v2", &any)]);
    session.install(&ships).await;
    let ship = json!({"apiVersion": "gone.test/v1", "kind": "Ship", "metadata": {"name": "anna"}});
    session.post("/apis/gone.test/v1/ships", &ship).await.gives(201);
    let path = format!("{DEFINITIONS}/ships.gone.test");
    let versions = ships["spec"]["versions"].as_array_mut().expect("versions");
    versions[0]["storage"] = false.into();
    versions[1]["storage"] = true.into();
    session.merge(&path, &json!({"spec": {"versions": versions}})).await.gives(200);
    session.merge(&format!("{path}/status"), &json!({"status": {"storedVersions": ["v2"]}})).await.gives(200);
    session.merge(&path, &json!({"spec": {"versions": [versions[1]]}})).await.gives(200);
    let message = "request to convert CR from an invalid group/version: gone.test/v1";
    let found = session.get("/apis/gone.test/v2/ships/anna").await;
    is_plain(&found, message);
    is_plain(&session.get("/apis/gone.test/v2/ships?limit=5").await, message);
    let patched = session.merge("/apis/gone.test/v2/ships/anna", &json!({"spec": {"masts": 1}})).await;
    is_plain(&patched, message);
}
