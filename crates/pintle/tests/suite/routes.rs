//! Every route of the server stands behind authentication and authorization: found by asking the server what it serves, so
//! that a new one is covered when it is served.

use std::collections::BTreeSet;

use http::Method;
use serde_json::Value;

use crate::support::shared::ready;
use crate::support::{ALICE, Launch, MASTER, Server};

/// What is served and said nowhere.
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
    // What discovery tells beside: every verb of every resource and subresource.
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
            // Who is not known has one request to a connection.
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
        // One request to a connection, for those who show nothing.
        let answer = server.client().request(method.clone(), &path, &[], "").await;
        if answer.code != 403 {
            allowed.insert(format!("{method} {path} {}", answer.code));
        }
    }
    let expect = ["/healthz", "/livez", "/readyz", "/version", "/version/"];
    let expect: BTreeSet<String> = expect.iter().map(|path| format!("GET {path} 200")).collect();
    assert_eq!(allowed, expect);
}
