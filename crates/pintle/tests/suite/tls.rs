//! TLS as operators configure it.

use std::io::{Read, Write};
use std::time::Duration;

use rustls::ProtocolVersion;
use rustls::crypto::aws_lc_rs::cipher_suite as suite;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::support::{Authority, Client, Launch, PATIENCE, Server, eventually};

#[tokio::test]
async fn tls_12_and_13_are_both_spoken() {
    let server = Launch::new().start().await;
    for version in [ProtocolVersion::TLSv1_2, ProtocolVersion::TLSv1_3] {
        for client in [server.client(), server.client().http2()] {
            let client = client.only_tls(version);
            let stream = client.tls().await.expect("a handshake");
            assert_eq!(stream.get_ref().1.protocol_version(), Some(version));
            client.get("/healthz").await.is(200, "ok");
        }
    }
}

#[tokio::test]
async fn the_lowest_version_is_kept() {
    let server = Launch::new().args(&["--tls-min-version=VersionTLS13"]).start().await;
    server.client().only_tls(ProtocolVersion::TLSv1_3).get("/healthz").await.is(200, "ok");
    assert!(server.client().only_tls(ProtocolVersion::TLSv1_2).try_get("/healthz").await.is_err());
    let old = Launch::new().args(&["--tls-min-version=VersionTLS10"]).start().await;
    old.client().only_tls(ProtocolVersion::TLSv1_2).get("/healthz").await.is(200, "ok");
}

#[tokio::test]
async fn only_the_named_ciphers_are_spoken() {
    let flag = "--tls-cipher-suites=TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,TLS_RSA_WITH_AES_128_CBC_SHA";
    let server = Launch::new().args(&[flag]).start().await;
    let only = |suite| server.client().only_tls(ProtocolVersion::TLSv1_2).only_suite(suite);
    only(suite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384).get("/healthz").await.is(200, "ok");
    assert!(only(suite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256).try_get("/healthz").await.is_err());
    server.client().only_tls(ProtocolVersion::TLSv1_3).get("/healthz").await.is(200, "ok");
    let log = server.stderr();
    assert_eq!(
        log.matches("TLS_RSA_WITH_AES_128_CBC_SHA").count(),
        1,
        "one warning for the one left out: {log}"
    );
}

#[tokio::test]
async fn ciphers_nobody_has_fail_at_start() {
    let lacking = Launch::new().args(&["--tls-cipher-suites=TLS_RSA_WITH_AES_128_CBC_SHA"]).fails().await;
    assert!(lacking.contains("--tls-cipher-suites names none that this server has"), "{lacking}");
    let unknown = Launch::new().args(&["--tls-cipher-suites=TLS_NO_SUCH_SUITE"]).fails().await;
    assert!(unknown.contains("Cipher suite TLS_NO_SUCH_SUITE not supported or doesn't exist"), "{unknown}");
}

#[tokio::test]
async fn the_protocol_is_agreed_on_and_http2_can_be_switched_off() {
    let server = Launch::new().start().await;
    let agreed = async |server: &Server, offer: &[&'static str]| {
        let stream = server.client().offering(offer).tls().await.ok()?;
        Some(stream.get_ref().1.alpn_protocol().map(|name| String::from_utf8_lossy(name).into_owned()))
    };
    assert_eq!(agreed(&server, &["http/1.1", "h2"]).await, Some(Some("h2".into())), "the server's choice");
    assert_eq!(agreed(&server, &["http/1.1"]).await, Some(Some("http/1.1".into())));
    assert_eq!(agreed(&server, &[]).await, Some(None));
    server.client().offering(&[]).get("/healthz").await.is(200, "ok");
    let without = Launch::new().args(&["--disable-http2-serving=true"]).start().await;
    assert_eq!(agreed(&without, &["h2", "http/1.1"]).await, Some(Some("http/1.1".into())));
    without.client().offering(&["h2", "http/1.1"]).get("/healthz").await.is(200, "ok");
}

#[tokio::test]
async fn the_certificate_follows_the_name_asked_for() {
    let launch = Launch::new();
    let authority = Authority::new("names");
    let pair = |names: &[&str], file: &str| {
        let (certificate, key) = authority.server(names).write(launch.dir(), file);
        format!("{},{}", certificate.display(), key.display())
    };
    let exact = pair(&["a.example.com"], "exact");
    let wildcard = pair(&["x.wild.example.com", "*.wild.example.com"], "wildcard");
    let server = launch
        .args(&[
            format!("--tls-sni-cert-key={exact}"),
            format!("--tls-sni-cert-key={wildcard}:*.wild.example.com"),
        ])
        .start()
        .await;
    let named = |name: &str| server.client().trusting(&authority.pem).named(name);
    named("a.example.com").get("/healthz").await.is(200, "ok");
    named("x.wild.example.com").get("/healthz").await.is(200, "ok");
    assert!(named("localhost").try_get("/healthz").await.is_err(), "another name gets the server's own");
    server.client().named("localhost").get("/healthz").await.is(200, "ok");
}

#[tokio::test]
async fn a_replaced_certificate_is_served_without_a_restart() {
    let launch = Launch::new();
    let (old, new) = (Authority::new("old"), Authority::new("new"));
    let (certificate, key) = old.server(&["127.0.0.1"]).write(launch.dir(), "serving");
    let server = launch
        .arg(format!("--tls-cert-file={}", certificate.display()))
        .arg(format!("--tls-private-key-file={}", key.display()))
        .start()
        .await;
    let (before, after) = (Client::new(server.port, &old.pem), Client::new(server.port, &new.pem));
    let mut kept = before.connect().await.expect("connect");
    eventually("health", async || kept.get("/healthz").await.is_ok_and(|answer| answer.code == 200)).await;
    new.server(&["127.0.0.1"]).write(server.dir(), "serving");
    eventually("the new certificate", async || after.try_get("/healthz").await.is_ok()).await;
    assert!(before.try_get("/healthz").await.is_err());
    kept.get("/healthz").await.expect("an old connection lives on").is(200, "ok");
    // A certificate without its key changes nothing.
    let half = old.server(&["127.0.0.1"]);
    std::fs::write(&certificate, &half.certificate).expect("write");
    eventually("a word about it", async || server.stderr().contains("does not fit")).await;
    after.get("/healthz").await.is(200, "ok");
}

#[tokio::test]
async fn plain_http_is_told_so() {
    let server = Launch::new().start().await;
    for request in ["GET / HTTP/1.1\r\nHost: a\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"] {
        let port = server.port;
        let answer = tokio::task::spawn_blocking(move || {
            let mut stream = std::net::TcpStream::connect(("127.0.0.1", port)).expect("connect");
            stream.set_read_timeout(Some(PATIENCE)).expect("a limit");
            stream.write_all(request.as_bytes()).expect("send");
            let mut answer = String::new();
            stream.read_to_string(&mut answer).expect("an answer and an end");
            answer
        });
        let answer = answer.await.expect("no panic");
        assert_eq!(
            answer,
            "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n"
        );
    }
}

#[tokio::test]
async fn garbage_instead_of_a_handshake_does_no_harm() {
    let server = Launch::new().start().await;
    let mut silent = Vec::new();
    let long = [&[0x16, 3, 1, 0x3f, 0xff, 1, 0, 0x3f, 0xfb, 3, 3][..], &[0xaa; 20_000]].concat();
    for garbage in
        [&[0_u8; 64][..], &[0xff; 4096], &[0x16, 3, 1, 0xff, 0xff, 1], &[0x16, 3, 1, 0, 0], &long, &[]]
    {
        let mut stream = tokio::net::TcpStream::connect(("127.0.0.1", server.port)).await.expect("connect");
        let _ = stream.write_all(garbage).await;
        silent.push(stream);
        server.client().get("/healthz").await.is(200, "ok");
    }
    // Bytes that are no TLS record close the connection at once.
    let mut rest = Vec::new();
    let ended = tokio::time::timeout(Duration::from_secs(5), silent[0].read_to_end(&mut rest)).await;
    assert!(ended.is_ok(), "the connection was closed");
    drop(silent);
    let metrics = server.admin().get("/metrics").await.body;
    let failed = metrics.lines().find_map(|line| line.strip_prefix("apiserver_tls_handshake_errors_total "));
    assert!(failed.is_some_and(|count| count != "0"), "{failed:?}");
}
