//! The chain as a whole, with handlers that misbehave behind it.

#[path = "audit_chain_tests.rs"]
mod audit;

use std::net::SocketAddr;

use async_trait::async_trait;
use http::header::{ACCESS_CONTROL_ALLOW_ORIGIN, AUTHORIZATION, CACHE_CONTROL, ORIGIN, RETRY_AFTER};
use http::{Method, StatusCode};
use http_body_util::{BodyExt, Empty};
use pintle_auth::authenticator::{Error as AuthenticationError, OrAnonymous};
use pintle_auth::{Attributes, Authorizer, Credentials, Identity, Verdict};
use pintle_codec::negotiate::ENCODINGS_WITH_CBOR;

use super::*;
use crate::respond::AUDIT_ID;
use crate::{Body, Connection, Request, Response, respond};

/// Does what the path says.
struct Misbehaving;

#[async_trait]
impl Handler for Misbehaving {
    async fn handle(&self, request: Box<Request>) -> Response {
        match request.info.path.as_str() {
            "/healthz" => panic!("on purpose"),
            "/livez" => std::future::pending().await,
            "/version" if request.parts.uri.query() == Some("waits") => std::future::pending().await,
            "/readyz" => {
                respond::text(StatusCode::OK, request.header(&AUTHORIZATION).unwrap_or("none").to_owned())
            }
            _ => respond::text(StatusCode::OK, Body::empty()),
        }
    }
}

struct NoCredentials;

#[async_trait]
impl Authenticator for NoCredentials {
    async fn authenticate(&self, _: Credentials<'_>) -> Result<Option<Identity>, AuthenticationError> {
        Ok(None)
    }
}

/// Health and version are for everyone.
struct PublicPaths;

#[async_trait]
impl Authorizer for PublicPaths {
    async fn authorize(&self, attributes: &Attributes<'_>) -> Verdict {
        if attributes.verb == "get"
            && ["/healthz", "/livez", "/readyz", "/version"].contains(&attributes.path)
        {
            Verdict::allow("")
        } else {
            Verdict::no_opinion("")
        }
    }
}

struct Fixture {
    chain: Chain,
    lifecycle: Lifecycle,
    draining: Draining,
    connection: Arc<Connection>,
    metrics: Metrics,
}

fn fixture(change: impl FnOnce(&mut ChainConfig)) -> Fixture {
    let mut config = ChainConfig::new(Arc::new(OrAnonymous::new(NoCredentials)), Arc::new(PublicPaths));
    change(&mut config);
    let (lifecycle, draining) = (Lifecycle::default(), Draining::default());
    let metrics = Metrics::for_tests();
    let answers = Draining::default();
    let chain = build(config, Arc::new(Misbehaving), &lifecycle, &draining, &answers, &metrics);
    let nowhere = SocketAddr::from(([127, 0, 0, 1], 1));
    Fixture {
        chain,
        lifecycle,
        draining,
        connection: Arc::new(Connection::new(nowhere, nowhere, Vec::new())),
        metrics,
    }
}

impl Fixture {
    async fn ask(&self, request: http::request::Builder) -> (StatusCode, http::HeaderMap, String) {
        let (parts, ()) = request.body(()).unwrap().into_parts();
        let body = Empty::new().map_err(|never| match never {}).boxed();
        let response = self.chain.handle(Request::new(parts, body, self.connection.clone())).await;
        let (head, body) = response.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        (head.status, head.headers, String::from_utf8_lossy(&body).into_owned())
    }

    async fn get(&self, uri: &str) -> (StatusCode, http::HeaderMap, String) {
        self.ask(http::Request::get(uri)).await
    }

    /// The value of a figure, by its name and labels; nothing if it is not shown.
    fn figure(&self, name: &str) -> Option<String> {
        let text = String::from_utf8(self.metrics.registry().render().unwrap()).unwrap();
        let value = |line: &str| line.strip_prefix(name)?.strip_prefix(' ').map(str::to_owned);
        text.lines().find_map(value)
    }
}

#[tokio::test]
async fn a_panic_answers_500_and_the_next_request_is_served() {
    let fixture = fixture(|_| {});
    let (status, headers, body) = fixture.get("/healthz").await;
    assert_eq!(status, StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(body, "This request caused apiserver to panic. Look in the logs for details.\n");
    assert!(headers.contains_key(AUDIT_ID), "also an answer for a panic names its request");
    assert_eq!(fixture.get("/version").await.0, StatusCode::OK);
    assert_eq!(fixture.draining.active(), 0, "the panic did not leave it counted");
}

#[tokio::test(start_paused = true)]
async fn a_request_that_takes_too_long_is_a_timeout() {
    let fixture = fixture(|_| {});
    let (status, _, body) = fixture.get("/livez?timeout=2s").await;
    assert_eq!(status, StatusCode::GATEWAY_TIMEOUT);
    assert!(
        body.contains(r#""message":"Timeout: request did not complete within the allotted timeout""#),
        "{body}"
    );
    let start = tokio::time::Instant::now();
    fixture.get("/livez?timeout=10h").await;
    assert_eq!(start.elapsed().as_secs(), 60, "a client cannot ask for more than the server allows");
}

#[tokio::test]
async fn a_timeout_that_is_no_duration_is_a_bad_request() {
    let (status, _, body) = fixture(|_| {}).get("/livez?timeout=soon").await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    let message = r#"invalid timeout specified in the request URL - time: invalid duration \"soon\""#;
    assert!(body.contains(message), "{body}");
}

#[tokio::test]
async fn credentials_go_no_further_than_authentication() {
    let fixture = fixture(|_| {});
    let request = http::Request::get("/readyz").header(AUTHORIZATION, "Basic c2VjcmV0");
    assert_eq!(fixture.ask(request).await.2, "none");
}

#[tokio::test]
async fn answers_are_not_for_keeping() {
    assert_eq!(fixture(|_| {}).get("/version").await.1[CACHE_CONTROL], "no-cache, private");
}

#[tokio::test]
async fn a_request_brings_its_own_name_or_gets_one() {
    let fixture = fixture(|_| {});
    let named = fixture.ask(http::Request::get("/version").header(AUDIT_ID, "mine")).await;
    assert_eq!(named.1[AUDIT_ID], "mine");
    assert_eq!(fixture.get("/version").await.1[AUDIT_ID].len(), 36);
}

#[tokio::test]
async fn preflight_requests_need_no_credentials_and_are_answered_for_allowed_origins_only() {
    let fixture =
        fixture(|config| config.cors_allowed_origins = vec![Regex::new(r"//ok\.example$").unwrap()]);
    let from =
        |origin| http::Request::builder().method(Method::OPTIONS).uri("/secret").header(ORIGIN, origin);
    let (status, headers, _) = fixture.ask(from("https://ok.example")).await;
    assert_eq!(
        (status, headers[ACCESS_CONTROL_ALLOW_ORIGIN].to_str().unwrap()),
        (StatusCode::NO_CONTENT, "https://ok.example")
    );
    let (status, headers, _) = fixture.ask(from("https://evil.example")).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    assert!(!headers.contains_key(ACCESS_CONTROL_ALLOW_ORIGIN));
}

#[tokio::test]
async fn a_draining_server_turns_new_requests_away_but_not_probes() {
    let fixture = fixture(|_| {});
    fixture.draining.drain().await;
    let (status, headers, body) = fixture.get("/version").await;
    assert_eq!((status, headers[RETRY_AFTER].to_str().unwrap()), (StatusCode::SERVICE_UNAVAILABLE, "1"));
    assert!(body.contains("apiserver is shutting down"), "{body}");
    assert_eq!(fixture.get("/readyz").await.0, StatusCode::OK);
}

#[tokio::test]
async fn with_retry_after_a_stopping_server_answers_429() {
    let fixture = fixture(|config| config.send_retry_after = true);
    assert_eq!(fixture.get("/version").await.0, StatusCode::OK);
    fixture.lifecycle.not_accepting.set();
    let (status, headers, body) = fixture.get("/version").await;
    assert_eq!((status, headers[RETRY_AFTER].to_str().unwrap()), (StatusCode::TOO_MANY_REQUESTS, "5"));
    assert_eq!(body, "The apiserver is shutting down, please try again later.\n");
    assert_eq!(headers[http::header::CONNECTION], "close");
}

#[tokio::test]
async fn directives_for_browsers_are_sent_where_given() {
    let value = HeaderValue::from_static("max-age=31536000; includeSubDomains");
    let fixture = fixture(|config| config.strict_transport_security = Some(value.clone()));
    assert_eq!(fixture.get("/version").await.1[http::header::STRICT_TRANSPORT_SECURITY], value);
}

#[tokio::test]
async fn an_unauthenticated_http2_connection_gets_no_second_request() {
    let closing = async |close_unauthenticated: bool, version| {
        let fixture = fixture(|config| config.close_unauthenticated = close_unauthenticated);
        fixture.ask(http::Request::get("/version").version(version)).await;
        fixture.connection.is_closing()
    };
    assert!(closing(true, http::Version::HTTP_2).await);
    assert!(!closing(true, http::Version::HTTP_11).await);
    assert!(!closing(false, http::Version::HTTP_2).await, "the gate is off");
}

#[tokio::test]
async fn goaway_is_sent_by_chance() {
    let fixture = fixture(|config| {
        config.goaway_chance = 1.0;
        config.close_unauthenticated = false;
    });
    fixture.ask(http::Request::get("/version").version(http::Version::HTTP_2)).await;
    assert!(fixture.connection.is_closing());
}

#[tokio::test]
async fn impersonation_needs_permission() {
    let request = http::Request::get("/version").header("Impersonate-User", "alice");
    let (status, _, body) = fixture(|_| {}).ask(request).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    assert!(body.contains("User \\\"system:anonymous\\\" cannot impersonate"), "{body}");
}

#[tokio::test]
async fn requests_beyond_the_limit_are_refused_with_retry_after() {
    let fixture = Arc::new(fixture(|config| config.max_read_only = 1));
    let waiting = tokio::spawn({
        let fixture = fixture.clone();
        async move { fixture.ask(http::Request::get("/version?waits")).await }
    });
    // It never ends; the other comes while it waits.
    let refused = async {
        loop {
            let (status, headers, body) = fixture.ask(http::Request::get("/version")).await;
            match status {
                StatusCode::TOO_MANY_REQUESTS => return (headers, body),
                _ => tokio::task::yield_now().await,
            }
        }
    };
    let (headers, body) = refused.await;
    assert_eq!(headers[RETRY_AFTER], "1");
    assert_eq!(body, "Too many requests, please try again later.\n");
    let dropped = "apiserver_request_total{code=\"429\",component=\"apiserver\",dry_run=\"\",group=\"\",resource=\"\",\
                   scope=\"\",subresource=\"\",verb=\"GET\",version=\"\"}";
    assert_eq!(fixture.figure(dropped).as_deref(), Some("1"));
    let (status, ..) = fixture.ask(http::Request::post("/version")).await;
    assert_eq!(status, StatusCode::FORBIDDEN, "those that write have their own");
    assert_eq!(fixture.ask(http::Request::get("/readyz")).await.0, StatusCode::OK, "and probes need none");
    waiting.abort();
    assert!(waiting.await.is_err());
    assert_eq!(fixture.ask(http::Request::get("/version")).await.0, StatusCode::OK, "there is room again");
}

#[tokio::test]
async fn errors_are_indented_for_people() {
    let fixture = fixture(|_| {});
    let indented =
        async |request: http::request::Builder| fixture.ask(request).await.2.starts_with("{\n  \"kind\"");
    assert!(indented(http::Request::get("/metrics?pretty=true")).await);
    assert!(indented(http::Request::get("/metrics").header(http::header::USER_AGENT, "curl/8.0")).await);
    assert!(!indented(http::Request::get("/metrics")).await);
    // The texts that Go parses as true are true, and all others are false; an empty parameter is true.
    for (pretty, expect) in
        [("0", false), ("FALSE", false), ("yes", false), ("T", true), ("True", true), ("", true)]
    {
        let curl = http::Request::get(format!("/metrics?pretty={pretty}"));
        assert_eq!(indented(curl.header(http::header::USER_AGENT, "curl/8.0")).await, expect, "{pretty}");
    }
}

#[tokio::test]
async fn errors_come_in_the_encoding_that_was_asked_for() {
    let fixture = fixture(|config| config.encodings = ENCODINGS_WITH_CBOR);
    let ask = async |accept: &str| {
        let request = http::Request::get("/metrics").header(http::header::ACCEPT, accept);
        let (status, headers, body) = fixture.ask(request).await;
        assert_eq!(status, StatusCode::FORBIDDEN);
        (headers[http::header::CONTENT_TYPE].to_str().unwrap().to_owned(), body)
    };
    let (content_type, body) = ask("application/yaml").await;
    assert_eq!(content_type, "application/yaml");
    assert!(body.starts_with("apiVersion: v1\ncode: 403\n") && body.contains("kind: Status\n"), "{body}");
    let (content_type, body) = ask("application/vnd.kubernetes.protobuf, */*").await;
    assert_eq!(content_type, "application/vnd.kubernetes.protobuf");
    assert!(body.starts_with("k8s\0") && body.contains("Forbidden"));
    // Only resources know it.
    assert_eq!(ask("application/cbor").await.0, "application/json");
    // An `Accept` header that cannot be satisfied does not hide the error.
    let (content_type, body) = ask("image/png").await;
    assert_eq!(content_type, "application/json");
    assert!(body.starts_with("{\n  \"kind\": \"Status\""), "{body}");
}

/// An authorizer that has no opinion and reports that its backend cannot be reached.
struct Failing;

#[async_trait]
impl Authorizer for Failing {
    async fn authorize(&self, _: &Attributes<'_>) -> Verdict {
        Verdict { error: Some("cannot be reached".into()), ..Verdict::no_opinion("") }
    }
}

#[tokio::test]
async fn an_authorization_that_fails_is_counted_as_that() {
    let fixture = fixture(|config| config.authorizer = Arc::new(Failing));
    assert_eq!(fixture.get("/version").await.0, StatusCode::INTERNAL_SERVER_ERROR);
    let attempts =
        |result: &str| fixture.figure(&format!("authorization_attempts_total{{result=\"{result}\"}}"));
    assert_eq!(attempts("error").as_deref(), Some("1"));
    assert_eq!(attempts("no-opinion"), None);
}

#[tokio::test]
async fn filters_are_timed_for_requests_that_they_pass_on() {
    let times = async |constrained: bool, path: &str| {
        let fixture = fixture(|config| config.constrained_impersonation = constrained);
        fixture.get(path).await;
        [
            "authentication",
            "constrainedimpersonation",
            "impersonation",
            "priorityandfairness",
            "authorization",
        ]
        .map(|filter| {
            let name = format!("apiserver_request_filter_duration_seconds_count{{filter=\"{filter}\"}}");
            fixture.figure(&name).is_some()
        })
    };
    assert_eq!(times(true, "/version").await, [true, true, false, true, true]);
    assert_eq!(times(false, "/version").await, [true, false, true, true, true]);
    assert_eq!(times(true, "/secret").await, [true, true, false, true, false], "it was refused");
}

#[tokio::test]
async fn a_token_after_two_spaces_is_ignored_with_a_warning() {
    let ask = |fixture: Fixture| async move {
        let request = http::Request::get("/version").header(AUTHORIZATION, "Bearer  secret");
        let (status, headers, _) = fixture.ask(request).await;
        (status, headers[http::header::WARNING].to_str().unwrap().to_owned())
    };
    let warning = "299 - \"the provided Authorization header contains extra space before the bearer token, and is ignored\"";
    assert_eq!(ask(fixture(|_| {})).await, (StatusCode::OK, warning.into()));
    let unauthenticated = fixture(|config| config.authenticator = Arc::new(NoCredentials));
    assert_eq!(ask(unauthenticated).await, (StatusCode::UNAUTHORIZED, warning.into()));
}
