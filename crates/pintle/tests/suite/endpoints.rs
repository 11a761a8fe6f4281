//! Endpoints that are not about health: version, metrics, the index, and paths that are not there.

use std::collections::BTreeSet;

use http::Method;

use crate::support::{Launch, eventually};

const NOT_FOUND: &str = "the server could not find the requested resource";
const NOT_ALLOWED: &str = "the server does not allow this method on the requested resource";

#[tokio::test]
async fn version_is_what_clients_decide_by() {
    let server = Launch::new().start().await;
    let answer = server.client().get("/version").await;
    assert_eq!((answer.code, answer.header("content-type")), (200, "application/json"));
    let version = answer.json();
    for (field, expect) in [
        ("major", "1"),
        ("minor", "36"),
        ("emulationMajor", "1"),
        ("emulationMinor", "36"),
        ("minCompatibilityMajor", "1"),
        ("minCompatibilityMinor", "35"),
    ] {
        assert_eq!(version[field], expect, "{version}");
    }
    assert!(version["gitVersion"].as_str().is_some_and(|text| text.starts_with("v1.36.")), "{version}");
    for field in ["gitCommit", "gitTreeState", "buildDate", "goVersion", "compiler", "platform"] {
        assert!(version[field].is_string(), "{field}: {version}");
    }
    assert!(
        answer.body.starts_with("{\n  \"major\": \"1\","),
        "indented, in the reference's order: {}",
        answer.body
    );
}

#[tokio::test]
async fn another_method_than_get_is_not_allowed() {
    let server = Launch::new().start().await;
    for method in [Method::POST, Method::PUT, Method::DELETE, Method::PATCH] {
        let answer = server.admin().request(method, "/version", &[], "{}").await;
        answer.is_status(405, "MethodNotAllowed", NOT_ALLOWED);
        assert_eq!(answer.json()["details"], serde_json::json!({}));
    }
}

#[tokio::test]
async fn head_has_headers_and_no_body() {
    let server = Launch::new().start().await;
    for client in [server.admin(), server.admin().http2()] {
        let get = client.get("/version").await;
        let head = client.request(Method::HEAD, "/version", &[], "").await;
        assert_eq!((head.code, head.body.as_str()), (200, ""));
        assert_eq!(head.header("content-length"), get.body.len().to_string());
    }
}

#[tokio::test]
async fn paths_that_are_not_there_are_not_found() {
    let server = Launch::new().start().await;
    for path in [
        "/nope",
        "/healthz/nope",
        "/livez/nope",
        "/readyz/etcd/x",
        "/metrics/",
        "/versionx",
        "/apisx",
        "/apis/nope.io",
        "/apis/nope.io/v1",
        "/apis/nope.io/v1/foos",
        "/openapi/v2/",
    ] {
        let answer = server.admin().get(path).await;
        answer.is(404, "404 page not found\n");
        assert_eq!(answer.header("content-type"), "text/plain; charset=utf-8");
        assert_eq!(answer.header("x-content-type-options"), "nosniff");
    }
    for path in ["/api/v9", "/api/v9/pods", "/apis/apps/v9", "/apis/apps/v1beta1/deployments"] {
        server.admin().get(path).await.is_status(404, "NotFound", NOT_FOUND);
    }
}

#[tokio::test]
async fn the_index_lists_what_is_served() {
    let server = Launch::new().start().await;
    for path in ["/", "/index.html"] {
        let answer = server.admin().get(path).await;
        assert_eq!((answer.code, answer.header("content-type")), (200, "application/json"));
        let index = answer.json();
        let paths: Vec<&str> =
            index["paths"].as_array().expect("a list").iter().filter_map(|path| path.as_str()).collect();
        assert!(paths.is_sorted(), "{paths:?}");
        for expect in [
            "/api",
            "/api/v1",
            "/apis",
            "/apis/",
            "/apis/apps",
            "/apis/apps/v1",
            "/healthz",
            "/healthz/etcd",
            "/healthz/log",
            "/healthz/ping",
            "/livez",
            "/metrics",
            "/metrics/slis",
            "/readyz",
            "/readyz/etcd-readiness",
            "/readyz/shutdown",
            "/version",
        ] {
            assert!(paths.contains(&expect), "{expect}: {paths:?}");
        }
        // A prefix is listed like a path, and is none.
        for listed in paths.into_iter().filter(|path| *path != "/openapi/v3/") {
            assert_eq!(server.admin().get(listed).await.code, 200, "{listed} is listed and must be there");
        }
    }
}

#[tokio::test]
async fn metrics_are_valid_and_named_as_in_the_reference() {
    let server = Launch::new().start().await;
    server.client().get("/readyz").await;
    server.client().get("/nope").await;
    server.client().token("wrong").get("/nope").await;
    let answer = server.admin().get("/metrics").await;
    assert!(answer.header("content-type").starts_with("text/plain; version=0.0.4"), "{answer:?}");
    let names = samples(&answer.body);
    for name in [
        "apiserver_request_total",
        "apiserver_request_duration_seconds_bucket",
        "apiserver_response_sizes_sum",
        "apiserver_current_inflight_requests",
        "apiserver_tls_handshake_errors_total",
        "apiserver_storage_size_bytes",
        "authentication_attempts",
        "authentication_duration_seconds_count",
        "authorization_attempts_total",
        "kubernetes_build_info",
        "kubernetes_feature_enabled",
        "process_resident_memory_bytes",
        "process_start_time_seconds",
        "process_open_fds",
    ] {
        assert!(names.contains(name), "{name} is missing:\n{}", answer.body);
    }
    assert!(answer.body.contains("authentication_attempts{result=\"error\"} 1"), "{}", answer.body);
    assert!(!names.contains("kubernetes_healthcheck"), "they have a page of their own");
}

#[tokio::test]
async fn service_level_indicators_have_a_page_of_their_own() {
    let server = Launch::new().start().await;
    eventually("readiness", async || server.client().get("/readyz").await.code == 200).await;
    let answer = server.admin().get("/metrics/slis").await;
    assert!(answer.header("content-type").starts_with("text/plain; version=0.0.4"), "{answer:?}");
    let names: Vec<String> = samples(&answer.body).into_iter().collect();
    let expect = ["kubernetes_healthcheck", "kubernetes_healthchecks_total", "process_start_time_seconds"];
    assert_eq!(names, expect, "{}", answer.body);
    let line = "kubernetes_healthcheck{name=\"etcd\",type=\"readyz\"} 1";
    assert!(answer.body.contains(line), "{}", answer.body);
}

/// The names of all samples. Fails on a line that is not Prometheus' text format, a sample whose family was not
/// announced, or one that is there twice.
fn samples(text: &str) -> BTreeSet<String> {
    let (mut families, mut seen, mut names) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for line in text.lines() {
        if let Some(family) = line.strip_prefix("# TYPE ") {
            let (name, kind) = family.split_once(' ').expect("a kind");
            assert!(["counter", "gauge", "histogram", "summary"].contains(&kind), "{line}");
            assert!(families.insert(name.to_owned()), "announced twice: {line}");
            continue;
        }
        if line.starts_with("# HELP ") {
            continue;
        }
        let (sample, value) = line.rsplit_once(' ').expect("a value");
        assert!(value.parse::<f64>().is_ok(), "{line}");
        assert!(seen.insert(sample.to_owned()), "twice: {line}");
        let name = sample.split('{').next().expect("a name");
        let family = ["_bucket", "_sum", "_count"]
            .iter()
            .find_map(|end| name.strip_suffix(end).filter(|family| families.contains(*family)));
        assert!(families.contains(family.unwrap_or(name)), "not announced: {line}");
        names.insert(name.to_owned());
    }
    names
}

#[tokio::test]
async fn every_answer_names_its_request_and_may_not_be_kept() {
    let server = Launch::new().start().await;
    let answer = server.client().request(Method::GET, "/nope", &[("audit-id", "my-own-id")], "").await;
    assert_eq!(answer.header("audit-id"), "my-own-id");
    assert_eq!(answer.header("cache-control"), "no-cache, private");
    assert!(!answer.header("date").is_empty());
    let (one, two) = (server.client().get("/healthz").await, server.client().get("/healthz").await);
    assert_eq!(one.header("audit-id").len(), 36, "a UUID");
    assert_ne!(one.header("audit-id"), two.header("audit-id"));
}

#[tokio::test]
async fn browsers_of_allowed_origins_may_call() {
    let server = Launch::new().args(&["--cors-allowed-origins=//good\\.example$"]).start().await;
    let ask = async |method: Method, origin: &str| {
        server.client().request(method, "/version", &[("origin", origin)], "").await
    };
    let allowed = ask(Method::GET, "https://good.example").await;
    assert_eq!(allowed.header("access-control-allow-origin"), "https://good.example");
    assert_eq!(
        ask(Method::OPTIONS, "https://good.example").await.code,
        204,
        "a preflight brings no credentials"
    );
    let refused = ask(Method::GET, "https://good.example.evil").await;
    assert_eq!((refused.code, refused.header("access-control-allow-origin")), (200, ""));
}

#[tokio::test]
async fn strict_transport_security_is_announced_when_asked_for() {
    let flag = "--strict-transport-security-directives=max-age=31536000,includeSubDomains";
    let server = Launch::new().args(&[flag]).start().await;
    let answer = server.client().get("/healthz").await;
    assert_eq!(answer.header("strict-transport-security"), "max-age=31536000; includeSubDomains");
}

#[tokio::test]
async fn a_bad_timeout_is_a_bad_request() {
    let server = Launch::new().start().await;
    let answer = server.client().get("/version?timeout=soon").await;
    assert_eq!((answer.code, &answer.json()["reason"]), (400, &"BadRequest".into()));
    assert_eq!(server.client().get("/version?timeout=5s").await.code, 200);
}

#[tokio::test]
async fn now_and_then_an_http2_client_is_asked_to_reconnect() {
    let server = Launch::new().args(&["--goaway-chance=0.02"]).start().await;
    let mut connection = server.admin().http2().connect().await.expect("connect");
    let mut answered = 0;
    // That none of so many is asked to go happens once in ten million runs.
    while answered < 800 && connection.get("/readyz/ping").await.is_ok() {
        answered += 1;
    }
    assert!(answered < 800);
}
