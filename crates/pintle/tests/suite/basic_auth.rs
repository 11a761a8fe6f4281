//! `--basic-auth-file`, a flag of older releases; and bearer tokens in a WebSocket's subprotocols.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use http::Method;

use crate::support::{Answer, Launch, MASTER, Server};

const GUARDED: &str = "/metrics";

async fn with_passwords() -> Server {
    let launch = Launch::new().tokens().secret("sesame-2c61");
    let file = launch.path("passwords.csv");
    std::fs::write(&file, "sesame-2c61,ann,u1,\"system:masters\"\nother,bob,u2\n").expect("write passwords");
    launch.arg(format!("--basic-auth-file={}", file.display())).start().await
}

async fn ask(server: &Server, pair: &str) -> Answer {
    let header = format!("Basic {}", STANDARD.encode(pair));
    server.client().request(Method::GET, GUARDED, &[("authorization", &header)], "").await
}

#[tokio::test]
async fn a_name_and_its_password_let_in() {
    let server = with_passwords().await;
    assert_eq!(ask(&server, "ann:sesame-2c61").await.code, 200);
    let message = "forbidden: User \"bob\" cannot get path \"/metrics\"";
    ask(&server, "bob:other").await.is_status(403, "Forbidden", message);
    assert!(server.stderr().contains("--basic-auth-file has been deprecated"), "{}", server.stderr());
}

#[tokio::test]
async fn a_wrong_pair_is_challenged() {
    let server = with_passwords().await;
    for wrong in ["ann:other", "bob:sesame-2c61", "eve:x"] {
        let answer = ask(&server, wrong).await;
        answer.is_status(401, "Unauthorized", "Unauthorized");
        assert_eq!(answer.header("www-authenticate"), "Basic realm=\"kubernetes-master\"", "{wrong}");
    }
    let answer = server.client().token("wrong").get(GUARDED).await;
    assert_eq!(answer.header("www-authenticate"), "Basic realm=\"kubernetes-master\"");
}

#[tokio::test]
async fn no_challenge_without_passwords() {
    let server = Launch::new().tokens().start().await;
    let answer = server.client().token("wrong").get(GUARDED).await;
    assert_eq!((answer.code, answer.header("www-authenticate")), (401, ""));
    // Without the file, the header is ignored and the request is anonymous.
    let message = "forbidden: User \"system:anonymous\" cannot get path \"/metrics\"";
    ask(&server, "ann:sesame").await.is_status(403, "Forbidden", message);
}

#[tokio::test]
async fn a_file_of_too_few_columns_stops_the_start_and_stays_secret() {
    let launch = Launch::new().secret("sesame-2c61");
    let file = launch.path("passwords.csv");
    std::fs::write(&file, "sesame-2c61,ann\n").expect("write passwords");
    let error = launch.arg(format!("--basic-auth-file={}", file.display())).fails().await;
    assert!(error.contains("must have at least 3 columns"), "{error}");
}

async fn upgrade(server: &Server, protocols: &str) -> Answer {
    let headers = [
        ("connection", "Upgrade"),
        ("upgrade", "websocket"),
        ("sec-websocket-version", "13"),
        ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
        ("sec-websocket-protocol", protocols),
    ];
    // The path is no resource, so nothing is upgraded: only authentication and authorization count.
    server.client().request(Method::GET, GUARDED, &headers, "").await
}

#[tokio::test]
async fn a_websocket_s_token_is_taken_from_its_protocols() {
    let server = Launch::new().tokens().start().await;
    let token = format!("base64url.bearer.authorization.k8s.io.{}", URL_SAFE_NO_PAD.encode(MASTER));
    assert_eq!(upgrade(&server, &format!("{token}, binary.k8s.io")).await.code, 200);
    for wrong in [token.clone(), format!("{token},{token},a"), token.replace('.', "x.") + "!,a"] {
        let code = upgrade(&server, &wrong).await.code;
        assert_ne!(code, 200, "{wrong}");
    }
    assert_eq!(upgrade(&server, &token).await.code, 401, "no other protocol is left to agree on");
    let unknown = format!("base64url.bearer.authorization.k8s.io.{},a", URL_SAFE_NO_PAD.encode("unknown"));
    assert_eq!(upgrade(&server, &unknown).await.code, 401);
    // The same header on a request that is no WebSocket means nothing.
    let headers = [("sec-websocket-protocol", format!("{token},a"))];
    let headers = headers.each_ref().map(|(name, value)| (*name, value.as_str()));
    assert_eq!(server.client().request(Method::GET, GUARDED, &headers, "").await.code, 403);
}
