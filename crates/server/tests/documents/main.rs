//! Discovery and OpenAPI as clients ask for them: methods, encodings, conditions, and what is not there.

mod custom;
mod sources;

use std::net::SocketAddr;
use std::sync::Arc;

use http::header::{
    ACCEPT, CACHE_CONTROL, CONTENT_RANGE, CONTENT_TYPE, ETAG, EXPIRES, HeaderMap, HeaderName,
    IF_MODIFIED_SINCE, IF_NONE_MATCH, LAST_MODIFIED, LOCATION, RANGE, USER_AGENT, VARY,
};
use http::{Method, StatusCode};
use http_body_util::{BodyExt, Empty};
use pintle_discovery::{Contribution, Publisher};
use pintle_discovery::{GroupVersion, builtin};
use pintle_schema::Resources;
use pintle_server::filter::Handler;
use pintle_server::{Connection, Documents, DocumentsConfig, Request, RequestInfo};
use serde_json::{Value as Json, json};

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

struct Answer {
    code: StatusCode,
    headers: HeaderMap,
    body: Vec<u8>,
}

impl Answer {
    fn header(&self, name: HeaderName) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().expect("text"))
    }

    fn json(&self) -> Json {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    fn is_status(&self, code: u16, message: &str) {
        let status = self.json();
        assert_eq!(
            (self.code.as_u16(), &status["message"], &status["kind"]),
            (code, &json!(message), &json!("Status"))
        );
    }
}

async fn ask(documents: &Documents, method: Method, uri: &str, headers: &[(HeaderName, &str)]) -> Answer {
    let mut request = http::Request::builder().method(method).uri(uri);
    for (name, value) in headers {
        request = request.header(name, *value);
    }
    let (parts, ()) = request.body(()).expect("a request").into_parts();
    let nowhere = SocketAddr::from(([127, 0, 0, 1], 1));
    let body = Empty::new().map_err(|never| match never {}).boxed();
    let mut request = Request::new(parts, body, Arc::new(Connection::new(nowhere, nowhere, Vec::new())));
    request.info = RequestInfo::parse(&request.parts.method, &request.parts.uri).expect("a path");
    let response = documents.handle(request).await;
    let (head, body) = response.into_parts();
    let body = body.collect().await.expect("a body").to_bytes().to_vec();
    Answer { code: head.status, headers: head.headers, body }
}

async fn get(documents: &Documents, uri: &str, headers: &[(HeaderName, &str)]) -> Answer {
    ask(documents, Method::GET, uri, headers).await
}

fn served(enabled: impl FnMut(&pintle_schema::GroupVersion) -> bool) -> Vec<GroupVersion> {
    builtin(&Resources::builtin().expect("facts"), enabled)
}

fn by_default() -> Documents {
    let config = DocumentsConfig {
        address: "10.0.0.1:6443".into(),
        version: "1.36".into(),
        ..DocumentsConfig::default()
    };
    Documents::new(config, served(pintle_schema::GroupVersion::is_served_by_default))
}

#[tokio::test]
async fn each_path_has_its_document() {
    let documents = by_default();
    for (path, kind) in [
        ("/api", "APIVersions"),
        ("/api/", "APIVersions"),
        ("/apis", "APIGroupList"),
        ("/apis/", "APIGroupList"),
        ("/apis/apps", "APIGroup"),
        ("/apis/apps/", "APIGroup"),
        ("/api/v1", "APIResourceList"),
        ("/api/v1/", "APIResourceList"),
        ("/apis/apps/v1", "APIResourceList"),
        ("/apis/apps/v1/", "APIResourceList"),
    ] {
        assert!(documents.owns(path), "{path}");
        let answer = get(&documents, path, &[]).await;
        assert_eq!((answer.code, &answer.json()["kind"]), (StatusCode::OK, &json!(kind)), "{path}");
        assert_eq!(answer.header(CONTENT_TYPE), "application/json");
        assert!(answer.body.ends_with(b"}\n"));
    }
    let api = get(&documents, "/api", &[]).await.json();
    assert_eq!(api["serverAddressByClientCIDRs"][0]["serverAddress"], "10.0.0.1:6443");
}

#[tokio::test]
async fn an_unserved_version_is_answered_by_the_owner_of_its_group() {
    let documents = by_default();
    for path in ["/apis/apps/v9", "/api/v2"] {
        assert!(documents.owns(path), "{path}");
        get(&documents, path, &[]).await.is_status(404, "the server could not find the requested resource");
    }
    for path in ["/apis/nope.io", "/apis/nope.io/v1", "/apis//v1"] {
        assert!(documents.owns(path), "{path}");
        let answer = get(&documents, path, &[]).await;
        assert_eq!((answer.code, answer.text().as_str()), (StatusCode::NOT_FOUND, "404 page not found\n"));
    }
    for path in ["/api/v1/pods", "/apis/apps/v9/deployments", "/version", "/openapi/v2/", "/openapi"] {
        assert!(!documents.owns(path), "{path}");
    }
}

#[tokio::test]
async fn only_documents_about_several_groups_take_any_method() {
    let documents = by_default();
    for path in ["/apis", "/apis/", "/apis/apps"] {
        assert_eq!(ask(&documents, Method::POST, path, &[]).await.code, StatusCode::OK, "{path}");
    }
    for path in ["/api", "/api/v1", "/apis/apps/v1", "/apis/apiregistration.k8s.io"] {
        for method in [Method::POST, Method::HEAD, Method::DELETE] {
            let answer = ask(&documents, method, path, &[]).await;
            answer.is_status(405, "the server does not allow this method on the requested resource");
        }
    }
}

#[tokio::test]
async fn documents_come_in_the_encoding_that_is_asked_for() {
    let documents = by_default();
    let yaml = get(&documents, "/apis/policy/v1", &[(ACCEPT, "application/yaml")]).await;
    assert_eq!(yaml.header(CONTENT_TYPE), "application/yaml");
    assert!(yaml.text().starts_with("apiVersion: v1\ngroupVersion: policy/v1\nkind: APIResourceList\n"));
    let protobuf = get(&documents, "/api/v1", &[(ACCEPT, PROTOBUF)]).await;
    assert_eq!(protobuf.header(CONTENT_TYPE), PROTOBUF);
    // The core group says no version of the document.
    assert!(protobuf.body.starts_with(b"k8s\0\x0a\x13\x0a\x00\x12\x0fAPIResourceList"));
    let pretty = get(&documents, "/apis/apps", &[(USER_AGENT, "curl/8.0")]).await;
    assert!(pretty.text().starts_with("{\n  \"kind\": \"APIGroup\",\n"));
}

#[tokio::test]
async fn an_unacceptable_media_type_is_refused_by_the_router_or_by_the_document() {
    let documents = by_default();
    let all = "application/json, application/yaml, application/vnd.kubernetes.protobuf";
    let router = format!("406: Not Acceptable\n\nAvailable representations: {all}");
    let document = format!("only the following media types are accepted: {all}");
    get(&documents, "/api", &[(ACCEPT, "text/html")]).await.is_status(406, &router);
    get(&documents, "/api/v1", &[(ACCEPT, "application/*")]).await.is_status(406, &router);
    get(&documents, "/apis", &[(ACCEPT, "text/html")]).await.is_status(406, &document);
    assert_eq!(get(&documents, "/apis", &[(ACCEPT, "application/*")]).await.code, StatusCode::OK);
    let table = "application/json;as=Table;v=v1;g=meta.k8s.io";
    get(&documents, "/api/v1", &[(ACCEPT, table)]).await.is_status(406, &document);
    get(&documents, "/api", &[(CONTENT_TYPE, "text/plain")])
        .await
        .is_status(415, "415: Unsupported Media Type");
}

#[tokio::test]
async fn cbor_is_there_for_group_versions_only_and_with_its_gate() {
    let accept = [(ACCEPT, "application/cbor")];
    assert_eq!(get(&by_default(), "/api/v1", &accept).await.code, StatusCode::NOT_ACCEPTABLE);
    let config = DocumentsConfig { cbor: true, ..DocumentsConfig::default() };
    let documents = Documents::new(config, served(|version| version.is_served_by_default()));
    let answer = get(&documents, "/api/v1", &accept).await;
    assert_eq!((answer.code, answer.header(CONTENT_TYPE)), (StatusCode::OK, "application/cbor"));
    assert_eq!(get(&documents, "/apis", &accept).await.code, StatusCode::NOT_ACCEPTABLE);
}

#[tokio::test]
async fn all_groups_come_in_one_document_to_clients_that_prefer_it() {
    let documents = by_default();
    for (path, first) in [("/api", Json::Null), ("/apis", json!("apiregistration.k8s.io"))] {
        let answer = get(&documents, path, &[(ACCEPT, &format!("{AGGREGATED},application/json"))]).await;
        assert_eq!((answer.code, answer.header(CONTENT_TYPE)), (StatusCode::OK, AGGREGATED));
        assert_eq!((answer.header(VARY), answer.header(CACHE_CONTROL)), ("Accept", "public"));
        let body = answer.json();
        assert_eq!(
            (&body["kind"], &body["items"][0]["metadata"]["name"]),
            (&json!("APIGroupDiscoveryList"), &first)
        );

        let etag = answer.header(ETAG).to_owned();
        assert!(etag.len() == 130 && etag.starts_with('"'), "{etag}");
        let again = get(&documents, path, &[(ACCEPT, AGGREGATED), (IF_NONE_MATCH, &etag)]).await;
        assert_eq!((again.code, again.body.len()), (StatusCode::NOT_MODIFIED, 0));
        assert_eq!((again.header(ETAG), again.header(CONTENT_TYPE)), (etag.as_str(), ""));
        let other = get(&documents, path, &[(ACCEPT, AGGREGATED), (IF_NONE_MATCH, "\"x\"")]).await;
        assert_eq!((other.code, other.body), (StatusCode::OK, answer.body));
        let binary = AGGREGATED.replace("application/json", PROTOBUF);
        let binary = get(&documents, path, &[(ACCEPT, &binary)]).await;
        assert_eq!(binary.header(ETAG), etag);
        assert!(binary.body.starts_with(b"k8s\0") && binary.header(CONTENT_TYPE).starts_with(PROTOBUF));
    }
    // With a slash there is no such document, and of the earlier version there is none any more.
    let slash = get(&documents, "/apis/", &[(ACCEPT, &format!("{AGGREGATED},*/*"))]).await;
    assert_eq!(slash.json()["kind"], "APIGroupList");
    let beta = AGGREGATED.replace("v=v2", "v=v2beta1");
    assert_eq!(get(&documents, "/apis", &[(ACCEPT, &beta)]).await.code, StatusCode::NOT_ACCEPTABLE);
    let either = get(&documents, "/apis", &[(ACCEPT, &format!("{beta},application/json"))]).await;
    assert_eq!(either.json()["kind"], "APIGroupList");
}

#[tokio::test]
async fn documents_of_openapi_are_found_by_the_hash_of_their_content() {
    let documents = by_default();
    let index = get(&documents, "/openapi/v3", &[]).await;
    assert_eq!(index.header(CONTENT_TYPE), "text/plain; charset=utf-8");
    let index = index.json();
    let url = index["paths"]["apis/policy/v1"]["serverRelativeURL"].as_str().expect("a URL");
    let (path, hash) = url.split_once("?hash=").expect("a hash");
    assert_eq!(path, "/openapi/v3/apis/policy/v1");

    let plain = get(&documents, path, &[]).await;
    assert_eq!((plain.code, plain.header(CONTENT_TYPE)), (StatusCode::OK, "application/json"));
    assert_eq!((plain.header(ETAG), plain.header(VARY)), (format!("\"{hash}\"").as_str(), "Accept"));
    assert_eq!((plain.header(EXPIRES), plain.header(CACHE_CONTROL)), ("", ""));
    let by_hash = get(&documents, url, &[]).await;
    assert_eq!((by_hash.code, by_hash.header(CACHE_CONTROL)), (StatusCode::OK, "public, immutable"));
    assert!(by_hash.header(EXPIRES).ends_with(" UTC"));
    assert_eq!(by_hash.body, plain.body);
    let moved = get(&documents, &format!("{path}?hash=OLD"), &[]).await;
    assert_eq!((moved.code, moved.header(LOCATION)), (StatusCode::MOVED_PERMANENTLY, url));
    assert!(moved.body.is_empty());

    let media = "application/com.github.proto-openapi.spec.v3.v1.0+protobuf";
    let message = get(&documents, url, &[(ACCEPT, &media.replace("v3.v1", "v3@v1"))]).await;
    assert_eq!((message.code, message.header(CONTENT_TYPE)), (StatusCode::OK, media));
    assert!(message.body.starts_with(b"\x0a\x053.0.0"));
    let etag = format!("\"{hash}\"");
    assert_eq!(message.header(ETAG), etag);
    let again = get(&documents, path, &[(IF_NONE_MATCH, &etag)]).await;
    assert_eq!((again.code, again.body.len()), (StatusCode::NOT_MODIFIED, 0));
    assert_eq!(get(&documents, path, &[(ACCEPT, "text/html")]).await.code, StatusCode::NOT_ACCEPTABLE);
    for missing in ["/openapi/v3/", "/openapi/v3/apis/policy/v9", "/openapi/v3/apis/policy/v1/"] {
        let answer = get(&documents, missing, &[]).await;
        assert_eq!((answer.code, answer.body.len()), (StatusCode::NOT_FOUND, 0), "{missing}");
    }
}

#[tokio::test]
async fn the_document_of_everything_comes_as_json_and_as_a_message() {
    let config = DocumentsConfig { version: "1.36".into(), ..DocumentsConfig::default() };
    let documents = Documents::new(config, served(|version| version.group == "policy"));
    let json = get(&documents, "/openapi/v2", &[]).await;
    assert_eq!((json.code, json.header(CONTENT_TYPE)), (StatusCode::OK, "application/json"));
    assert_eq!(json.json()["swagger"], "2.0");
    let vary: Vec<_> = json.headers.get_all(VARY).iter().collect();
    assert_eq!(vary, ["Accept-Encoding", "Accept"]);
    let media = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
    for accept in ["application/com.github.proto-openapi.spec.v2@v1.0+protobuf", media] {
        let message = get(&documents, "/openapi/v2", &[(ACCEPT, accept)]).await;
        assert_eq!((message.code, message.header(CONTENT_TYPE)), (StatusCode::OK, media));
        assert!(message.body.starts_with(b"\x0a\x032.0"));
        assert_eq!(message.header(ETAG), json.header(ETAG));
    }
    assert_eq!(
        get(&documents, "/openapi/v2", &[(ACCEPT, "text/html")]).await.code,
        StatusCode::NOT_ACCEPTABLE
    );
}

#[tokio::test]
async fn clients_may_ask_for_parts_and_for_what_is_newer() {
    let documents = by_default();
    let path = "/openapi/v3/version";
    let whole = get(&documents, path, &[]).await;
    let length = whole.body.len();
    let part = get(&documents, path, &[(RANGE, "bytes=2-4")]).await;
    assert_eq!((part.code, &part.body[..]), (StatusCode::PARTIAL_CONTENT, &whole.body[2..5]));
    assert_eq!(part.header(CONTENT_RANGE), format!("bytes 2-4/{length}"));
    let end = get(&documents, path, &[(RANGE, "bytes=-3")]).await;
    assert_eq!(end.body, whole.body[length - 3..]);
    let outside = get(&documents, path, &[(RANGE, "bytes=99999999-")]).await;
    assert_eq!(outside.code, StatusCode::RANGE_NOT_SATISFIABLE);
    let since = whole.header(LAST_MODIFIED);
    let newer = get(&documents, path, &[(IF_MODIFIED_SINCE, since)]).await;
    assert_eq!((newer.code, newer.body.len()), (StatusCode::NOT_MODIFIED, 0));
    let post = ask(&documents, Method::POST, path, &[(IF_NONE_MATCH, whole.header(ETAG))]).await;
    assert_eq!(post.code, StatusCode::PRECONDITION_FAILED);
}

#[tokio::test]
async fn documents_of_unchanged_group_versions_stay_when_others_change() {
    let builtin = Arc::<Publisher>::default();
    let publish = |versions| builtin.publish("builtin", Some(Contribution::Builtin(versions)));
    publish(served(pintle_schema::GroupVersion::is_served_by_default));
    let documents = Documents::with_builtin(DocumentsConfig::default(), builtin.clone());
    let before = get(&documents, "/openapi/v3", &[]).await.json();
    let etag = |answer: &Answer| answer.header(ETAG).to_owned();
    let aggregated = etag(&get(&documents, "/apis", &[(ACCEPT, AGGREGATED)]).await);

    let mut versions = served(pintle_schema::GroupVersion::is_served_by_default);
    versions.retain(|version| version.group != "batch");
    for version in versions.iter_mut().filter(|version| version.group == "apps") {
        version.resources.truncate(1);
    }
    publish(versions);
    let after = get(&documents, "/openapi/v3", &[]).await.json();
    let url = |index: &Json, name: &str| index["paths"][name]["serverRelativeURL"].clone();
    for name in ["api/v1", "apis/policy/v1", "apis/apps"] {
        assert_eq!(url(&before, name), url(&after, name), "{name}");
    }
    assert_ne!(url(&before, "apis/apps/v1"), url(&after, "apis/apps/v1"));
    assert_eq!((url(&after, "apis/batch/v1"), url(&after, "apis/batch")), (Json::Null, Json::Null));
    assert_ne!(etag(&get(&documents, "/apis", &[(ACCEPT, AGGREGATED)]).await), aggregated);
    assert_eq!(get(&documents, "/apis/batch/v1", &[]).await.text(), "404 page not found\n");
    assert!(!documents.paths().contains(&"/apis/batch".to_owned()));
}

#[tokio::test]
async fn many_may_ask_at_once() {
    let documents = Arc::new(by_default());
    let asking: Vec<_> = (0..8)
        .map(|place| {
            let documents = documents.clone();
            let path = if place % 2 == 0 { "/openapi/v3/apis/policy/v1" } else { "/openapi/v3" };
            tokio::spawn(async move { get(&documents, path, &[]).await.body })
        })
        .collect();
    let mut bodies = Vec::new();
    for asked in asking {
        bodies.push(asked.await.expect("an answer"));
    }
    assert!(bodies.iter().step_by(2).all(|body| *body == bodies[0]));
    assert!(bodies.iter().skip(1).step_by(2).all(|body| *body == bodies[1]));
}

#[tokio::test]
async fn the_references_documents_are_served_as_they_are() {
    let Some(folder) = pintle_published::upstream("discovery and OpenAPI documents") else { return };
    let config = DocumentsConfig {
        address: "10.10.10.10:8050".into(),
        version: "unversioned".into(),
        enums: false,
        cbor: true,
        logs: true,
        ..DocumentsConfig::default()
    };
    let documents = Documents::new(config, served(|_| true));
    let mut count = 0;
    for file in std::fs::read_dir(folder.join("discovery")).expect("a folder") {
        let file = file.expect("a file").path();
        let name = file.file_stem().and_then(|name| name.to_str()).expect("a name");
        let expected: Json = serde_json::from_slice(&std::fs::read(&file).expect("a file")).expect("JSON");
        let answer = match name {
            "aggregated_v2" => get(&documents, "/apis", &[(ACCEPT, AGGREGATED)]).await,
            _ => get(&documents, &format!("/{}", name.replace("__", "/")), &[]).await,
        };
        assert_eq!((answer.code, answer.json()), (StatusCode::OK, expected), "{name}");
        count += 1;
    }
    assert!(count > 60, "{count}");
    // The documents' content is compared where they are made; here, that each is at its path.
    for file in std::fs::read_dir(folder.join("openapi-v3")).expect("a folder") {
        let file = file.expect("a file").path();
        let name = file.file_stem().and_then(|name| name.to_str()).expect("a name");
        let name = name.trim_end_matches("_openapi").replace("__", "/");
        let expected: Json = serde_json::from_slice(&std::fs::read(&file).expect("a file")).expect("JSON");
        let document = get(&documents, &format!("/openapi/v3/{name}"), &[]).await.json();
        let keys = |of: &Json| of.as_object().map(|of| of.keys().cloned().collect::<Vec<_>>());
        assert_eq!(keys(&document["paths"]), keys(&expected["paths"]), "{name}");
        assert_eq!(
            keys(&document["components"]["schemas"]),
            keys(&expected["components"]["schemas"]),
            "{name}"
        );
    }
    let expected: Json =
        serde_json::from_slice(&std::fs::read(folder.join("openapi-v2.json")).expect("a file"))
            .expect("JSON");
    let document = get(&documents, "/openapi/v2", &[]).await.json();
    assert_eq!(
        document["paths"].as_object().map(|of| of.len()),
        expected["paths"].as_object().map(|of| of.len())
    );
}
