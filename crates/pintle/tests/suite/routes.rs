//! Every route of the server stands behind authentication and authorization: found by asking the server what it serves, so
//! that a new one is covered when it is served.

use std::collections::BTreeSet;

use http::Method;
use serde_json::Value;

use crate::support::shared::ready;
use crate::support::{ALICE, Launch, MASTER, Server};

/// Routes that neither the index, OpenAPI nor discovery lists.
const UNSAID: [(&str, &str); 4] =
    [("GET", "/index.html"), ("GET", "/version/"), ("GET", "/no/such/path"), ("POST", "/")];

/// Method and path of everything that the server says it serves.
async fn routes(server: &Server) -> BTreeSet<(Method, String)> {
    let root = server.client().token(MASTER);
    let mut routes: BTreeSet<(Method, String)> =
        UNSAID.iter().map(|(method, path)| (method.parse().unwrap(), (*path).to_owned())).collect();
    for path in root.get("/").await.json()["paths"].as_array().expect("paths") {
        routes.insert((Method::GET, path.as_str().unwrap().to_owned()));
    }
    let document = root.get("/openapi/v2").await.json();
    for (path, operations) in document["paths"].as_object().expect("paths") {
        let path = path.replace("{namespace}", "default").replace("{name}", "x").replace("{path}", "y");
        assert!(!path.contains('{'), "{path} has a part that this test does not know");
        for method in operations.as_object().expect("operations").keys() {
            if let Some(method) = method_of(method) {
                routes.insert((method, path.clone()));
            }
        }
    }
    // Adds the routes of discovery: every verb of every resource and subresource.
    for base in ["/api", "/apis"] {
        let accept = [("accept", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")];
        let groups = root.request(Method::GET, base, &accept, "").await.json();
        for group in groups["items"].as_array().expect("groups") {
            let name = group["metadata"]["name"].as_str().unwrap_or_default();
            for version in group["versions"].as_array().expect("versions") {
                let version_name = version["version"].as_str().unwrap();
                let prefix = match name {
                    "" => format!("/api/{version_name}"),
                    name => format!("/apis/{name}/{version_name}"),
                };
                for resource in version["resources"].as_array().expect("resources") {
                    routes.extend(routes_of(&prefix, resource));
                }
            }
        }
    }
    routes
}

fn routes_of(prefix: &str, resource: &Value) -> Vec<(Method, String)> {
    let name = resource["resource"].as_str().unwrap();
    let place = match resource["scope"].as_str() {
        Some("Namespaced") => format!("{prefix}/namespaces/default/{name}"),
        _ => format!("{prefix}/{name}"),
    };
    let mut routes = Vec::new();
    let mut add = |verbs: &Value, place: &str| {
        for verb in verbs.as_array().into_iter().flatten().filter_map(Value::as_str) {
            let (method, path) = match verb {
                "list" => (Method::GET, place.to_owned()),
                "watch" => (Method::GET, format!("{place}?watch=true")),
                "create" if place.ends_with("/x") => (Method::POST, place.to_owned()),
                "create" => (Method::POST, place.to_owned()),
                "deletecollection" => (Method::DELETE, place.to_owned()),
                "get" => (Method::GET, format!("{place}/x")),
                "update" => (Method::PUT, format!("{place}/x")),
                "patch" => (Method::PATCH, format!("{place}/x")),
                "delete" => (Method::DELETE, format!("{place}/x")),
                verb => panic!("{place}: {verb} is a verb that this test does not know"),
            };
            routes.push((method, path));
        }
    };
    add(&resource["verbs"], &place);
    for sub in resource["subresources"].as_array().into_iter().flatten() {
        let sub_name = sub["subresource"].as_str().unwrap();
        add(&sub["verbs"], &format!("{place}/x/{sub_name}"));
    }
    routes
}

fn method_of(operation: &str) -> Option<Method> {
    match operation {
        "get" => Some(Method::GET),
        "put" => Some(Method::PUT),
        "post" => Some(Method::POST),
        "delete" => Some(Method::DELETE),
        "patch" => Some(Method::PATCH),
        "head" => Some(Method::HEAD),
        "options" => Some(Method::OPTIONS),
        _ => None,
    }
}

#[tokio::test]
async fn every_route_has_a_401_and_a_403() {
    let server = Launch::new().tokens().arg("--authorization-mode=AlwaysDeny").start().await;
    let routes = routes(&server).await;
    assert!(routes.len() > 1000, "only {} routes were found", routes.len());
    let mut refused = server.client().token("nobody's token").http2().connect().await.expect("a connection");
    let mut denied = server.client().token(ALICE).http2().connect().await.expect("a connection");
    let mut open = Vec::new();
    for (method, path) in routes {
        let unknown = refused.send(method.clone(), &path, &[], "").await;
        let unknown = match unknown {
            Ok(answer) => answer,
            // The server serves one unauthenticated request per connection.
            Err(_) => {
                refused = server.client().token("nobody's token").http2().connect().await.unwrap();
                refused.send(method.clone(), &path, &[], "").await.expect("an answer")
            }
        };
        let known = denied.send(method.clone(), &path, &[], "").await.expect("an answer");
        if (unknown.code, known.code) != (401, 403) {
            open.push(format!("{method} {path}: {} and {}", unknown.code, known.code));
        }
    }
    assert!(open.is_empty(), "{open:#?}");
}

#[tokio::test]
async fn strangers_may_read_what_the_reference_lets_them_and_nothing_else() {
    let server = Launch::new().tokens().arg("--authorization-mode=Node,RBAC").start().await;
    ready(&server).await;
    let mut allowed = BTreeSet::new();
    for (method, path) in routes(&server).await {
        // The server serves one anonymous request per connection.
        let answer = server.client().request(method.clone(), &path, &[], "").await;
        if answer.code != 403 {
            allowed.insert(format!("{method} {path} {}", answer.code));
        }
    }
    let expect = ["/healthz", "/livez", "/readyz", "/version", "/version/"];
    let expect: BTreeSet<String> = expect.iter().map(|path| format!("GET {path} 200")).collect();
    assert_eq!(allowed, expect);
}

const MAPS: &str = "namespaces/default/configmaps";
const JSON: &[(&str, &str)] = &[("content-type", "application/json")];

/// A verb in the path is what is authorized, so nothing else may be done there.
#[tokio::test]
async fn watch_paths_allow_only_watches() {
    let server = Launch::new().tokens().arg("--authorization-mode=RBAC").start().await;
    ready(&server).await;
    let (admin, alice) = (server.admin(), server.client().token(ALICE));
    let create = async |kind: &str, body: String| {
        let path = format!("/apis/rbac.authorization.k8s.io/v1/{kind}");
        admin.request(Method::POST, &path, JSON, body).await.gives(201);
    };
    let rule = r#"{"apiGroups":["*"],"resources":["*"],"verbs":["watch","proxy"]}"#;
    create("clusterroles", format!(r#"{{"metadata":{{"name":"w"}},"rules":[{rule}]}}"#)).await;
    let role = r#"{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"w"}"#;
    let subject = r#"{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"alice"}"#;
    let binding = format!(r#"{{"metadata":{{"name":"w"}},"roleRef":{role},"subjects":[{subject}]}}"#);
    create("clusterrolebindings", binding).await;
    let map = r#"{"metadata":{"name":"kept"},"data":{"a":"b"}}"#;
    admin.request(Method::POST, &format!("/api/v1/{MAPS}"), JSON, map).await.gives(201);

    let other = r#"{"metadata":{"name":"other"}}"#;
    let merge: &[(&str, &str)] = &[("content-type", "application/merge-patch+json")];
    let (all, one) = (format!("/api/v1/watch/{MAPS}"), format!("/api/v1/watch/{MAPS}/kept"));
    for (method, path, headers, body) in [
        (Method::POST, &all, JSON, other),
        (Method::DELETE, &all, JSON, ""),
        (Method::PUT, &one, JSON, map),
        (Method::PATCH, &one, merge, r#"{"data":{"a":"c"}}"#),
        (Method::DELETE, &one, JSON, ""),
    ] {
        let answer = alice.request(method.clone(), path, headers, body).await;
        assert_eq!(answer.code, 405, "{method} {path}");
    }
    let (all, one) = (format!("/api/v1/proxy/{MAPS}"), format!("/api/v1/proxy/{MAPS}/kept"));
    let log = "/api/v1/watch/namespaces/default/pods/x/log".to_owned();
    for (method, path, body) in [
        (Method::GET, &all, ""),
        (Method::POST, &all, other),
        (Method::GET, &one, ""),
        (Method::DELETE, &one, ""),
        (Method::GET, &log, ""),
    ] {
        let answer = alice.request(method.clone(), path, JSON, body).await;
        assert_eq!(answer.code, 404, "{method} {path}");
    }
    let list = admin.get(&format!("/api/v1/{MAPS}?labelSelector=!x")).await.gives(200);
    let names = |item: &Value| item["metadata"]["name"].as_str().map(str::to_owned);
    let found: Vec<String> = list["items"].as_array().expect("items").iter().filter_map(names).collect();
    assert!(found.contains(&"kept".to_owned()) && !found.contains(&"other".to_owned()), "{found:?}");
    let kept = admin.get(&format!("/api/v1/{MAPS}/kept")).await.gives(200);
    assert_eq!(kept["data"]["a"], "b");
}

/// Without a body, the options of a deletion are in the query, preconditions too.
#[tokio::test]
async fn preconditions_of_a_deletion_may_be_in_the_query() {
    let server = Launch::new().tokens().start().await;
    ready(&server).await;
    let admin = server.admin();
    let map = r#"{"metadata":{"name":"a"}}"#;
    let made = admin.request(Method::POST, &format!("/api/v1/{MAPS}"), JSON, map).await.gives(201);
    let delete =
        async |query: &str| admin.request(Method::DELETE, &format!("/api/v1/{MAPS}{query}"), &[], "").await;
    delete("/a?uid=other").await.gives(409);
    delete("/a?resourceVersion=1").await.gives(409);
    delete("?resourceVersion=1&resourceVersionMatch=NotOlderThan&fieldSelector=metadata.name%3Da")
        .await
        .gives(409);
    let (uid, version) = (&made["metadata"]["uid"], &made["metadata"]["resourceVersion"]);
    let right = format!("/a?uid={}&resourceVersion={}", uid.as_str().unwrap(), version.as_str().unwrap());
    delete(&right).await.gives(200);
}

#[tokio::test]
async fn watches_say_what_is_wrong_with_them_as_the_reference_does() {
    let server = Launch::new().tokens().start().await;
    ready(&server).await;
    let admin = server.admin();
    let ahead = "resourceVersion=99999999&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    let mut watch = admin.follow(&format!("/api/v1/{MAPS}?watch=1&{ahead}"), &[]).await;
    let event = watch.line().await.expect("an event");
    assert_eq!((&event["type"], &event["object"]["code"]), (&"ERROR".into(), &504.into()), "{event}");

    for (selector, code) in [
        ("metadata.name%3Db", 400),
        ("metadata.namespace%3Ddefault", 400),
        ("metadata.name%3Da", 200),
        ("", 200),
    ] {
        let path = format!("/api/v1/watch/{MAPS}/a?timeoutSeconds=1&fieldSelector={selector}");
        let answer = admin.get(&path).await;
        assert_eq!(answer.code, code, "{selector}");
        if code == 400 {
            let message = "fieldSelector metadata.name doesn't match requested name";
            answer.is_status(400, "BadRequest", message);
        }
    }
    // Over before it began, and of the type of any JSON.
    let accept = [("accept", "application/json;stream=watch")];
    let path = format!("/api/v1/{MAPS}?watch=1&timeoutSeconds=-1");
    let answer = admin.request(Method::GET, &path, &accept, "").await;
    assert_eq!((answer.code, answer.header("content-type")), (200, "application/json"));
}

#[tokio::test]
async fn a_request_whose_time_is_over_does_nothing() {
    let server = Launch::new().tokens().start().await;
    ready(&server).await;
    let admin = server.admin();
    let map = r#"{"metadata":{"name":"late"}}"#;
    let answer = admin.request(Method::POST, &format!("/api/v1/{MAPS}?timeout=1ns"), JSON, map).await;
    answer.is_status(504, "Timeout", "Timeout: request did not complete within the allotted timeout");
    assert_eq!(admin.get(&format!("/api/v1/{MAPS}/late")).await.code, 404);
    assert_eq!(admin.get("/api/v1/namespaces?timeout=1ns").await.code, 504);
}

/// A Status has no Table or PartialObjectMetadata form, and comes in the encoding of the form that was asked for.
#[tokio::test]
async fn a_status_comes_in_the_encoding_of_the_form_that_was_asked_for() {
    let server = Launch::new().tokens().arg("--feature-gates=CBORServingAndStorage=true").start().await;
    ready(&server).await;
    let admin = server.admin();
    let map = r#"{"metadata":{"name":"a"}}"#;
    admin.request(Method::POST, &format!("/api/v1/{MAPS}"), JSON, map).await.gives(201);
    let delete = async |name: &str, accept: &str| {
        let path = format!("/api/v1/{MAPS}/{name}?dryRun=All");
        admin.request(Method::DELETE, &path, &[("accept", accept)], "").await
    };
    let protobuf = "application/vnd.kubernetes.protobuf";
    let partial = "as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
    for (accept, content_type) in [
        (format!("{protobuf};{partial}"), protobuf),
        ("application/json;as=Table;g=meta.k8s.io;v=v1,application/yaml".into(), "application/json"),
        (format!("application/cbor;{partial}"), "application/cbor"),
    ] {
        let answer = delete("a", &accept).await;
        assert_eq!((answer.code, answer.header("content-type")), (200, content_type), "{accept}");
    }
    // An error is a plain Status, in JSON if the requested form cannot be used for it.
    let missing = delete("b", &format!("{protobuf};{partial}")).await;
    assert_eq!((missing.code, missing.header("content-type")), (404, "application/json"));
    assert_eq!(delete("b", "application/cbor").await.header("content-type"), "application/cbor");
    let nowhere = admin.request(Method::GET, "/api/v1/foos", &[("accept", "application/cbor")], "").await;
    assert_eq!((nowhere.code, nowhere.header("content-type")), (404, "application/json"));
}
