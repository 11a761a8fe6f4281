//! Authentication: client certificates, tokens, and the rejection of invalid credentials.

use std::time::Duration;

use http::Method;
use rustls::ProtocolVersion;

use crate::support::{ALICE, Authority, Identity, Launch, MASTER, Server, eventually};

/// Needs rights that only system:masters has.
const GUARDED: &str = "/metrics";

/// A server that trusts one authority of ours for clients.
async fn trusting(authority: &Authority) -> Server {
    let launch = Launch::new().tokens();
    let file = authority.write(launch.dir(), "client-ca.crt");
    let names = Authority::new("serving");
    let (certificate, key) = names.server(&["127.0.0.1"]).write(launch.dir(), "serving");
    names.write(launch.dir(), "pintle-ca.crt");
    let dir = launch.dir().to_owned();
    let launch = launch
        .cert_dir_is(dir)
        .arg(format!("--client-ca-file={}", file.display()))
        .arg(format!("--tls-cert-file={}", certificate.display()))
        .arg(format!("--tls-private-key-file={}", key.display()));
    launch.start().await
}

#[tokio::test]
async fn the_administrator_s_certificate_opens_everything() {
    let server = Launch::new().start().await;
    for client in [server.admin(), server.admin().http2()] {
        assert_eq!(client.get(GUARDED).await.code, 200);
        assert_eq!(client.only_tls(ProtocolVersion::TLSv1_2).get("/readyz/ping").await.code, 200);
    }
}

#[tokio::test]
async fn a_token_is_worth_what_its_user_is() {
    let server = Launch::new().tokens().start().await;
    assert_eq!(server.client().token(MASTER).get(GUARDED).await.code, 200);
    assert_eq!(server.client().token(MASTER).http2().get(GUARDED).await.code, 200);
    let message = "forbidden: User \"alice\" cannot get path \"/metrics\"";
    server.client().token(ALICE).get(GUARDED).await.is_status(403, "Forbidden", message);
    server.client().token(ALICE).get("/healthz").await.is(200, "ok");
}

#[tokio::test]
async fn credentials_are_judged_per_request_and_not_per_connection() {
    let server = Launch::new().tokens().start().await;
    for client in [server.client(), server.client().http2()] {
        let mut connection = client.connect().await.expect("connect");
        for (token, code) in [(MASTER, 200), (ALICE, 403), (MASTER, 200)] {
            let header = format!("Bearer {token}");
            let answer = connection.send(Method::GET, GUARDED, &[("authorization", &header)], "").await;
            assert_eq!(answer.expect("an answer").code, code);
        }
    }
}

#[tokio::test]
async fn a_wrong_token_is_unauthorized_also_where_anyone_may_read() {
    let server = Launch::new().tokens().secret("wrong-token-51ab").start().await;
    let client = server.client().token("wrong-token-51ab");
    for path in [GUARDED, "/healthz", "/version", "/api/v1/pods"] {
        client.get(path).await.is_status(401, "Unauthorized", "Unauthorized");
    }
    let status = client.get("/version").await.json();
    assert!(status.get("details").is_none(), "as the reference: {status}");
}

#[tokio::test]
async fn a_token_is_unauthorized_where_none_is_known() {
    let server = Launch::new().start().await;
    server.client().token("any").get("/healthz").await.is_status(401, "Unauthorized", "Unauthorized");
    assert_eq!(server.admin().token("any").get(GUARDED).await.code, 200, "the certificate is enough");
}

#[tokio::test]
async fn odd_authorization_headers_are_read_as_the_reference_reads_them() {
    let server = Launch::new().tokens().start().await;
    let code = async |value: &str| {
        server.client().request(Method::GET, GUARDED, &[("authorization", value)], "").await.code
    };
    for accepted in [
        format!("Bearer {MASTER}"),
        format!("bearer {MASTER}"),
        format!("BEARER {MASTER} and more"),
        format!("  Bearer {MASTER}  "),
    ] {
        assert_eq!(code(&accepted).await, 200, "{accepted:?}");
    }
    // No token at all: the request is anonymous, and may not.
    for ignored in [
        "",
        "Bearer",
        "Bearer ",
        "Basic cm9vdDpyb290",
        MASTER,
        &format!("Bearer  {MASTER}"),
        &format!("Bearer\t{MASTER}"),
    ] {
        assert_eq!(code(ignored).await, 403, "{ignored:?}");
    }
    for wrong in [
        "Bearer x",
        "Bearer \u{fc}",
        &format!("Bearer {MASTER}x"),
        &format!("Bearer \"{MASTER}\""),
        &format!("Bearer {}", "x".repeat(10_000)),
    ] {
        assert_eq!(code(wrong).await, 401, "{wrong:?}");
    }
    // Two headers: the first counts.
    let headers = [("authorization", format!("Bearer {MASTER}")), ("authorization", "Bearer x".into())];
    let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    assert_eq!(server.client().request(Method::GET, GUARDED, &headers, "").await.code, 200);
}

#[tokio::test]
async fn a_foreign_or_expired_certificate_is_unauthorized_and_not_a_broken_connection() {
    let (authority, foreign) = (Authority::new("clients"), Authority::new("clients"));
    let server = trusting(&authority).await;
    let masters = &["system:masters"];
    assert_eq!(server.client().identity(&authority.client("root", masters)).get(GUARDED).await.code, 200);
    for bad in [foreign.client("root", masters), authority.expired_client("root", masters)] {
        for version in [ProtocolVersion::TLSv1_2, ProtocolVersion::TLSv1_3] {
            for client in [server.client(), server.client().http2()] {
                let answer = client.identity(&bad).only_tls(version).get("/healthz").await;
                answer.is_status(401, "Unauthorized", "Unauthorized");
            }
        }
    }
}

#[tokio::test]
async fn a_certificate_without_a_name_is_nobody_s_and_a_self_signed_one_is_refused() {
    let authority = Authority::new("clients");
    let server = trusting(&authority).await;
    let nameless = authority.client("", &["system:masters"]);
    let message = "forbidden: User \"system:anonymous\" cannot get path \"/metrics\"";
    server.client().identity(&nameless).get(GUARDED).await.is_status(403, "Forbidden", message);
    // It says nothing at all, neither for nor against a token beside it.
    assert_eq!(server.client().identity(&nameless).token(MASTER).get(GUARDED).await.code, 200);
    let message = "forbidden: User \"alice\" cannot get path \"/metrics\"";
    server.client().identity(&nameless).token(ALICE).get(GUARDED).await.is_status(403, "Forbidden", message);
    let own = Authority::new("self");
    let self_signed = Identity { certificate: own.pem.clone(), key: own.key_pem.clone() };
    assert_eq!(server.client().identity(&self_signed).get(GUARDED).await.code, 401);
}

#[tokio::test]
async fn the_first_valid_credential_counts() {
    let authority = Authority::new("clients");
    let server = trusting(&authority).await;
    let client = |name: &str, groups: &[&str]| server.client().identity(&authority.client(name, groups));
    let message = |user: &str| format!("forbidden: User \"{user}\" cannot get path \"/metrics\"");
    // The certificate is asked first.
    client("bob", &[]).token(MASTER).get(GUARDED).await.is_status(403, "Forbidden", &message("bob"));
    assert_eq!(client("root", &["system:masters"]).token("wrong").get(GUARDED).await.code, 200);
    // One that is not valid leaves it to the token.
    let expired = server.client().identity(&authority.expired_client("root", &["system:masters"]));
    assert_eq!(expired.clone().token(MASTER).get(GUARDED).await.code, 200);
    expired.clone().token(ALICE).get(GUARDED).await.is_status(403, "Forbidden", &message("alice"));
    assert_eq!(expired.token("wrong").get(GUARDED).await.code, 401);
}

#[tokio::test]
async fn without_anonymous_users_even_health_needs_credentials() {
    let server = Launch::new().tokens().args(&["--anonymous-auth=false"]).start().await;
    for path in ["/healthz", "/version", "/"] {
        server.client().get(path).await.is_status(401, "Unauthorized", "Unauthorized");
    }
    let alice = server.client().token(ALICE);
    eventually("health", async || alice.get("/healthz").await.code == 200).await;
}

#[tokio::test]
async fn a_replaced_client_authority_changes_who_gets_in() {
    let (old, new) = (Authority::new("old"), Authority::new("new"));
    let server = trusting(&old).await;
    let masters = &["system:masters"];
    let (before, after) = (old.client("root", masters), new.client("root", masters));
    let code = async |identity: &Identity| server.client().identity(identity).get(GUARDED).await.code;
    let mut kept = server.client().identity(&before).connect().await.expect("connect");
    assert_eq!(kept.get(GUARDED).await.expect("an answer").code, 200);
    assert_eq!(code(&after).await, 401);
    new.write(server.dir(), "client-ca.crt");
    eventually("the new authority", async || code(&after).await == 200).await;
    assert_eq!(code(&before).await, 401);
    assert_eq!(kept.get(GUARDED).await.expect("an answer").code, 401, "also on a connection from before");

    // A file that cannot be read leaves the previous authority in force.
    std::fs::write(server.dir().join("client-ca.crt"), "garbage").expect("write");
    eventually("a word about it", async || server.stderr().contains("cannot be used")).await;
    assert_eq!(code(&after).await, 200);
}

#[tokio::test]
async fn front_proxy_headers_of_a_stranger_mean_nothing() {
    let server = Launch::new().start().await;
    let headers =
        [("x-remote-user", "root"), ("x-remote-group", "system:masters"), ("impersonate-user", "root")];
    let answer = server.client().request(Method::GET, GUARDED, &headers, "").await;
    assert_eq!(answer.code, 403, "{answer:?}");
}

#[tokio::test]
async fn an_unauthenticated_client_gets_one_request_per_http2_connection() {
    let server = Launch::new().start().await;
    let mut stranger = server.client().http2().connect().await.expect("connect");
    assert_eq!(stranger.get("/healthz").await.expect("an answer").code, 200);
    eventually("the end of the connection", async || {
        tokio::time::timeout(Duration::from_secs(5), stranger.get("/healthz"))
            .await
            .expect("no hanging")
            .is_err()
    })
    .await;
    let mut admin = server.admin().http2().connect().await.expect("connect");
    for _ in 0..20 {
        assert_eq!(admin.get("/healthz").await.expect("an answer").code, 200);
    }
}
