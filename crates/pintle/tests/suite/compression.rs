//! Long answers for clients that read gzip.

use std::io::Read;

use http::Method;
use serde_json::json;

use crate::support::{Answer, Client, Launch, Server};

const GZIP: (&str, &str) = ("accept-encoding", "gzip");
const PROTOBUF: (&str, &str) = ("accept", "application/vnd.kubernetes.protobuf");
const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// Four objects of 100 KB each, and a long one.
async fn filled(launch: Launch) -> Server {
    let server = launch.start().await;
    server.until_it_has_namespaces().await;
    for (name, size) in [("a", 100_000), ("b", 100_000), ("c", 100_000), ("d", 100_000), ("long", 140_000)] {
        let text: String = (0..size / 10).map(|number| format!("{:010}", number * 7919 % 100_003)).collect();
        let object = json!({"metadata": {"name": name}, "data": {"text": text}}).to_string();
        let headers = [("content-type", "application/json")];
        assert_eq!(server.admin().request(Method::POST, MAPS, &headers, object).await.code, 201);
    }
    server
}

async fn ask(client: &Client, path: &str, headers: &[(&str, &str)]) -> Answer {
    let answer = client.request(Method::GET, path, headers, "").await;
    assert_eq!(answer.code, 200, "{path}");
    answer
}

fn unzipped(answer: &Answer) -> Vec<u8> {
    assert_eq!(answer.header("content-encoding"), "gzip");
    assert_eq!(answer.header("content-length"), "", "it is sent as it is made");
    assert!(
        answer.headers.get_all("vary").iter().any(|vary| vary == "Accept-Encoding"),
        "{:?}",
        answer.headers
    );
    let mut out = Vec::new();
    flate2::read::GzDecoder::new(&answer.bytes[..]).read_to_end(&mut out).expect("gzip");
    out
}

#[tokio::test]
async fn long_answers_are_compressed_for_those_who_ask() {
    let server = filled(Launch::new()).await;
    for client in [server.admin(), server.admin().http2()] {
        for path in
            [MAPS.to_owned(), format!("{MAPS}?pretty=1"), format!("{MAPS}/long"), "/openapi/v2".into()]
        {
            for headers in [&[GZIP][..], &[GZIP, PROTOBUF][..]] {
                if path == "/openapi/v2" && headers.len() > 1 {
                    continue;
                }
                let plain = ask(&client, &path, &headers[1..]).await;
                assert_eq!(plain.header("content-encoding"), "", "{path}");
                let zipped = ask(&client, &path, headers).await;
                assert_eq!(unzipped(&zipped), plain.bytes, "{path}");
                assert!(zipped.bytes.len() < plain.bytes.len(), "{path}");
                assert_eq!(zipped.header("content-type"), plain.header("content-type"));
            }
        }
    }
}

#[tokio::test]
async fn short_answers_and_other_clients_are_left_alone() {
    let server = filled(Launch::new()).await;
    let client = server.admin();
    let of_one = format!("{MAPS}?limit=1");
    for (path, header) in [
        (format!("{MAPS}/a"), "gzip"),
        (of_one, "gzip"),
        (MAPS.to_owned(), "gzip;q=1"),
        (MAPS.to_owned(), "identity"),
        (MAPS.to_owned(), "br, deflate"),
        ("/version".to_owned(), "gzip"),
    ] {
        let answer = ask(&client, &path, &[("accept-encoding", header)]).await;
        assert_eq!((answer.header("content-encoding"), answer.header("vary")), ("", ""), "{path} {header}");
    }
    let mut watch = client.follow(&format!("{MAPS}?watch=1"), &[GZIP]).await;
    assert_eq!(watch.line().await.expect("an event")["type"], "ADDED");
}

#[tokio::test]
async fn metrics_are_compressed_however_short() {
    let server = Launch::new().start().await;
    for path in ["/metrics", "/metrics/slis"] {
        let answer = ask(&server.admin(), path, &[("accept-encoding", "br;q=1.0, gzip;q=0.8")]).await;
        assert_eq!(answer.header("content-encoding"), "gzip");
        let mut text = String::new();
        flate2::read::GzDecoder::new(&answer.bytes[..]).read_to_string(&mut text).expect("gzip");
        assert!(text.contains("process_start_time_seconds"), "{text}");
    }
}

#[tokio::test]
async fn it_can_be_switched_off() {
    let server = filled(Launch::new().args(&["--feature-gates=APIResponseCompression=false"])).await;
    let answer = ask(&server.admin(), MAPS, &[GZIP]).await;
    assert_eq!((answer.header("content-encoding"), answer.header("vary")), ("", ""));
}
