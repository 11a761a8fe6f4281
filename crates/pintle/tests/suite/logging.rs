//! The server's log: its formats, its verbosity, and warnings about flags.

use serde_json::Value;

use crate::support::Launch;

#[tokio::test]
async fn json_lines_are_json() {
    let mut server = Launch::new().args(&["--logging-format=json", "-v=4"]).start().await;
    server.client().get("/version").await;
    server.stop().await;
    let log = server.stderr();
    let lines: Vec<Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect();
    assert!(lines.iter().all(|line| line["msg"].is_string() && line["ts"].is_number()), "{log}");
    let mut requests = lines.iter().filter(|line| line["msg"] == "HTTP");
    let request = requests.find(|line| line["path"] != "/healthz").expect("a line for the request");
    assert_eq!((&request["path"], &request["resp"]), (&"/version".into(), &200.into()), "{request}");
}

#[tokio::test]
async fn text_lines_look_like_klog_s() {
    let server = Launch::new().start().await;
    let log = server.stderr();
    let line = log.lines().find(|line| line.contains("Serving securely on")).expect("a line");
    let (level, rest) = line.split_at(1);
    assert!("IWE".contains(level) && rest[..4].bytes().all(|byte| byte.is_ascii_digit()), "{line}");
    assert!(line.contains("] "), "{line}");
}

#[tokio::test]
async fn verbosity_decides_whether_requests_are_logged() {
    for (flag, logged) in [("-v=0", false), ("-v=2", false), ("--v=4", true)] {
        let mut server = Launch::new().args(&[flag]).start().await;
        server.client().get("/version?token=in-the-query").await;
        server.stop().await;
        let log = server.stderr();
        assert_eq!(log.contains("path=\"/version\""), logged, "{flag}: {log}");
        assert!(!log.contains("in-the-query"), "queries are not logged: {log}");
    }
}

#[tokio::test]
async fn flags_without_effect_are_named_once() {
    let server = Launch::new().args(&["--peer-advertise-port=10251"]).start().await;
    let log = server.stderr();
    assert_eq!(log.matches("--peer-advertise-port has no effect").count(), 1, "{log}");
    assert!(!log.contains("--data-dir has no effect") && !log.contains("--secure-port"), "{log}");
}

#[tokio::test]
async fn tokens_and_keys_stay_out_of_the_log_at_any_verbosity() {
    // The harness looks for every token and key in what each server writes; here they are all used, with all lines on.
    let server = Launch::new().tokens().secret("wrong-token-x9").args(&["-v=10"]).start().await;
    for token in [crate::support::MASTER, crate::support::ALICE, "wrong-token-x9"] {
        for path in ["/metrics", "/version", "/nope"] {
            server.client().token(token).get(path).await;
            server.client().token(token).http2().get(path).await;
        }
    }
    server.admin().get("/metrics").await;
    assert!(server.stderr().contains("Unable to authenticate the request"));
}
