//! The client against real servers.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use serde_json::json;

use crate::testing::{Authority, HttpsOptions, HttpsServer, Reply};
use crate::webhook::{self, Backoff};
use crate::{
    Answer, Authorization, Client, ClientOptions, Error, KeyPair, Kubeconfig, Material, Roots, TlsOptions,
    Url, Webhook,
};

fn trusting(pem: &str) -> ClientOptions {
    let tls = TlsOptions { roots: Roots::Bundle(Material::Text(pem.into())), ..TlsOptions::default() };
    ClientOptions { tls, ..ClientOptions::default() }
}

async fn get(url: &str, options: ClientOptions) -> Result<Answer, Error> {
    let url = Url::parse(url).unwrap();
    Client::new(&url, options).unwrap().get(&url).await
}

fn text(result: Result<Answer, Error>) -> String {
    result.map_or_else(|error| error.to_string(), |answer| String::from_utf8_lossy(&answer.body).into_owned())
}

#[tokio::test]
async fn many_requests_use_one_connection_of_either_protocol() {
    for http2 in [true, false] {
        let server = HttpsServer::start_with(HttpsOptions { http2, ..HttpsOptions::default() }, |_| {
            Reply::text(200, "fine")
        })
        .await;
        let url = Url::parse(&server.url("/a?b=c")).unwrap();
        let client = Client::new(&url, trusting(&server.authority.pem)).unwrap();
        for _ in 0..3 {
            assert_eq!(client.get(&url).await.unwrap().body, "fine");
        }
        let seen = server.seen();
        assert_eq!(seen.len(), 3);
        assert_eq!(seen[0].path, "/a?b=c");
        assert_eq!(seen[0].version, if http2 { http::Version::HTTP_2 } else { http::Version::HTTP_11 });
    }
}

#[tokio::test]
async fn a_server_that_ended_its_connections_is_called_anew() {
    let server = HttpsServer::start_with(HttpsOptions { http2: false, ..HttpsOptions::default() }, |_| {
        Reply::text(200, "fine").with("connection", "close")
    })
    .await;
    let url = Url::parse(&server.url("/")).unwrap();
    let client = Client::new(&url, trusting(&server.authority.pem)).unwrap();
    for _ in 0..3 {
        assert_eq!(client.get(&url).await.unwrap().body, "fine");
    }
}

#[tokio::test]
async fn only_who_is_trusted_under_its_name_is_talked_to() {
    let server = HttpsServer::start(|_| Reply::text(200, "fine")).await;
    let url = server.url("/x");
    let stranger = Authority::new("stranger").pem;
    assert_eq!(
        text(get(&url, trusting(&stranger)).await),
        format!(
            "Get \"{url}\": tls: failed to verify certificate: x509: certificate signed by unknown authority"
        )
    );
    let mut options = trusting(&server.authority.pem);
    options.tls.server_name = Some("other.example".into());
    let error = text(get(&url, options.clone()).await);
    assert!(error.ends_with("x509: certificate is valid for localhost, not other.example"), "{error}");
    options.tls.server_name = Some("localhost".into());
    assert_eq!(text(get(&url, options).await), "fine");
    let mut options = trusting(&stranger);
    options.tls.skip_verification = true;
    assert_eq!(text(get(&url, options).await), "fine");
}

#[tokio::test]
async fn a_server_with_the_certificate_of_an_authority_is_unknown_to_clients_of_others() {
    let options = HttpsOptions { is_authority: true, ..HttpsOptions::default() };
    let server = HttpsServer::start_with(options, |_| Reply::text(200, "fine")).await;
    let error = async |pem: &str| text(get(&server.url("/"), trusting(pem)).await);
    let stranger = error(&Authority::new("stranger").pem).await;
    assert!(stranger.ends_with("x509: certificate signed by unknown authority"), "{stranger}");
    let known = error(&server.authority.pem).await;
    assert!(
        known.ends_with("x509: certificate is that of an authority, which cannot be a server's"),
        "{known}"
    );
}

#[tokio::test]
async fn a_name_that_is_no_address_of_the_certificate_is_said() {
    let options = HttpsOptions { names: vec!["localhost"], ..HttpsOptions::default() };
    let server = HttpsServer::start_with(options, |_| Reply::text(200, "fine")).await;
    let error = text(get(&server.url("/"), trusting(&server.authority.pem)).await);
    assert!(
        error.ends_with(
            "x509: cannot validate certificate for 127.0.0.1 because it doesn't contain any IP SANs"
        ),
        "{error}"
    );
}

#[tokio::test]
async fn a_client_certificate_is_shown_and_read_again_when_it_changes() {
    let clients = Authority::new("clients");
    let (certificate, key) = clients.issue(&["me"], |_| {});
    let options = HttpsOptions { clients: Some(clients), ..HttpsOptions::default() };
    let server = HttpsServer::start_with(options, |seen| Reply::text(200, &seen.certified.to_string())).await;
    let directory = tempfile::tempdir().unwrap();
    let (certificate_path, key_path) = (directory.path().join("c"), directory.path().join("k"));
    let (wrong, wrong_key) = Authority::new("others").issue(&["me"], |_| {});
    std::fs::write(&certificate_path, wrong).unwrap();
    std::fs::write(&key_path, wrong_key).unwrap();
    let mut options = trusting(&server.authority.pem);
    options.tls.key_pair = Some(KeyPair {
        certificate: Material::File(certificate_path.clone()),
        key: Material::File(key_path.clone()),
    });
    let url = Url::parse(&server.url("/")).unwrap();
    let client = Client::new(&url, options).unwrap();
    let error = text(client.get(&url).await);
    assert!(error.contains("remote error: tls: "), "{error}");
    // Another length, so that the change shows even within one tick of the file system's clock.
    std::fs::write(&certificate_path, certificate + "\n").unwrap();
    std::fs::write(&key_path, key).unwrap();
    assert_eq!(text(client.get(&url).await), "true");
}

#[tokio::test]
async fn a_refused_connection_reads_as_in_go() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let url = format!("https://{free}/x");
    assert_eq!(
        text(
            get(
                &url,
                ClientOptions {
                    tls: TlsOptions { skip_verification: true, ..TlsOptions::default() },
                    ..ClientOptions::default()
                }
            )
            .await
        ),
        format!("Get \"{url}\": dial tcp {free}: connect: connection refused")
    );
}

#[tokio::test]
async fn a_plaintext_server_is_reported() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}/", listener.local_addr().unwrap());
    tokio::spawn(async move {
        use tokio::io::AsyncWriteExt;
        let (mut stream, _) = listener.accept().await.unwrap();
        let _ = stream.write_all(b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request").await;
        tokio::time::sleep(Duration::from_secs(5)).await;
    });
    let error = text(get(&url, trusting(&Authority::new("x").pem)).await);
    assert!(error.ends_with("http: server gave HTTP response to HTTPS client"), "{error}");
}

#[tokio::test]
async fn slow_and_large_answers_are_errors() {
    let server = HttpsServer::start(|seen| match seen.path.as_str() {
        "/slow" => Reply::text(200, "late").after(Duration::from_secs(60)),
        _ => Reply::text(200, &"x".repeat(100_000)),
    })
    .await;
    let mut options = trusting(&server.authority.pem);
    options.timeout = Duration::from_millis(300);
    options.largest_answer = 99_999;
    let error = text(get(&server.url("/slow"), options.clone()).await);
    assert!(
        error.ends_with("context deadline exceeded (Client.Timeout exceeded while awaiting headers)"),
        "{error}"
    );
    let error = text(get(&server.url("/long"), options.clone()).await);
    assert!(error.ends_with("the answer is longer than 99999 bytes"), "{error}");
    options.largest_answer = 100_000;
    assert_eq!(get(&server.url("/long"), options).await.unwrap().body.len(), 100_000);
}

#[tokio::test]
async fn redirects_are_followed_where_asked_for_and_take_no_credentials_along() {
    let other = HttpsServer::start(|seen| Reply::text(200, seen.header("authorization"))).await;
    let target = other.url("/there");
    let server = HttpsServer::start(move |seen| match seen.path.as_str() {
        "/away" => Reply::text(302, "").with("location", &target),
        "/home" => Reply::text(301, "").with("location", "/here"),
        "/round" => Reply::text(307, "").with("location", "round"),
        "/plain" => Reply::text(302, "").with("location", "http://127.0.0.1:1/"),
        _ => Reply::text(200, seen.header("authorization")),
    })
    .await;
    let mut options = trusting(&format!("{}{}", server.authority.pem, other.authority.pem));
    options.authorization = Authorization::Bearer("sesame".into());
    assert_eq!(get(&server.url("/away"), options.clone()).await.unwrap().status, 302, "not unless asked for");
    options.follow_redirects = true;
    assert_eq!(text(get(&server.url("/away"), options.clone()).await), "");
    assert_eq!(text(get(&server.url("/home"), options.clone()).await), "Bearer sesame");
    assert!(text(get(&server.url("/round"), options.clone()).await).ends_with("stopped after 10 redirects"));
    assert!(text(get(&server.url("/plain"), options).await).ends_with("redirected from https to http"));
}

#[tokio::test]
async fn credentials_are_sent_as_configured() {
    let server = HttpsServer::start(|seen| Reply::text(200, seen.header("authorization"))).await;
    let ask = async |authorization| {
        text(get(&server.url("/"), ClientOptions { authorization, ..trusting(&server.authority.pem) }).await)
    };
    assert_eq!(ask(Authorization::Basic { user: "a".into(), password: "b".into() }).await, "Basic YTpi");
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("token");
    std::fs::write(&path, "from-file\n").unwrap();
    assert_eq!(ask(Authorization::BearerFile(path.clone())).await, "Bearer from-file");
    std::fs::remove_file(&path).unwrap();
    let url = Url::parse(&server.url("/")).unwrap();
    let options =
        ClientOptions { authorization: Authorization::BearerFile(path), ..trusting(&server.authority.pem) };
    assert!(Client::new(&url, options).is_err());
}

fn webhook(server: &HttpsServer) -> Webhook {
    let kubeconfig = Kubeconfig::parse(server.kubeconfig("/review").as_bytes(), Path::new("/")).unwrap();
    let backoff = Backoff { first: Duration::from_millis(1), ..Backoff::default() };
    Webhook::from_kubeconfig(&kubeconfig, ClientOptions::default(), backoff).unwrap()
}

async fn post(server: &HttpsServer) -> (Vec<Option<u16>>, Result<Bytes, webhook::Error>) {
    let mut codes = Vec::new();
    let result = webhook(server).post("{}".into(), |attempt| codes.push(attempt.code)).await;
    (codes, result)
}

#[tokio::test]
async fn a_review_is_posted_as_client_go_posts_it() {
    let server = HttpsServer::start(|_| Reply::json(&json!({"a": 1}))).await;
    assert_eq!(post(&server).await.1.unwrap(), r#"{"a":1}"#);
    let seen = &server.seen()[0];
    assert_eq!((seen.method.as_str(), seen.path.as_str()), ("POST", "/review?timeout=30s"));
    assert_eq!(seen.header("content-type"), "application/json");
    assert_eq!(seen.header("accept"), "application/json, */*");
    assert_eq!(seen.header("authorization"), "Bearer for-the-webhook");
}

#[tokio::test]
async fn failures_that_may_pass_are_tried_again_five_times() {
    let server = HttpsServer::start(|_| Reply::text(500, "oh no")).await;
    let (codes, result) = post(&server).await;
    assert_eq!(codes, [Some(500); 5]);
    assert_eq!(
        result.unwrap_err().to_string(),
        "an error on the server (\"oh no\") has prevented the request from succeeding"
    );
    let count = AtomicUsize::new(0);
    let server = HttpsServer::start(move |_| match count.fetch_add(1, Ordering::SeqCst) {
        0 => Reply::text(500, ""),
        1 => Reply::text(504, ""),
        2 => Reply::text(429, ""),
        3 => Reply::text(503, "").with("retry-after", "0"),
        _ => Reply::json(&json!({})),
    })
    .await;
    let (codes, result) = post(&server).await;
    assert_eq!(codes, [Some(500), Some(504), Some(429), Some(200)], "who says when is asked again at once");
    assert!(result.is_ok());
}

#[tokio::test]
async fn failures_that_stay_are_not_tried_again() {
    let check = async |reply: Reply, expect: &str| {
        let server = HttpsServer::start(move |_| reply.clone()).await;
        let (codes, result) = post(&server).await;
        assert_eq!(result.unwrap_err().to_string(), expect);
        assert_eq!((codes.len(), server.seen().len()), (1, 1), "{expect}");
    };
    check(Reply::text(404, "x"), "the server could not find the requested resource").await;
    check(Reply::text(503, "x"), "the server is currently unable to handle the request").await;
    check(
        Reply::text(302, "").with("location", "https://elsewhere.example/"),
        "the server responded with the status code 302 but did not return more information",
    )
    .await;
    check(Reply::text(200, ""), "0-length response with status code: 200 and content type: text/plain").await;
    let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "no way", "reason": "Forbidden", "code": 403});
    check(Reply { status: 403, ..Reply::json(&status) }, "no way").await;
}

#[tokio::test]
async fn a_refused_connection_is_not_retried() {
    let server = HttpsServer::start(|_| Reply::json(&json!({}))).await;
    let webhook = webhook(&server);
    let address = server.address;
    drop(server);
    tokio::time::sleep(Duration::from_millis(50)).await;
    let mut attempts = 0;
    let error = webhook.post("{}".into(), |_| attempts += 1).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "Post \"https://{address}/review?timeout=30s\": dial tcp {address}: connect: connection refused"
        )
    );
    assert_eq!(attempts, 1);
}

#[tokio::test]
async fn a_delay_before_a_retry_is_cut_to_the_time_for_the_call() {
    for delay in ["60", "18446744073709551615"] {
        let server = HttpsServer::start(move |_| Reply::text(503, "x").with("retry-after", delay)).await;
        let answer = webhook(&server).post_within("{}".into(), Duration::from_millis(200)).await;
        let message = answer.unwrap_err().to_string();
        assert!(message.ends_with("context deadline exceeded"), "{delay}: {message}");
        assert_eq!(server.seen().len(), 1);
    }
}
