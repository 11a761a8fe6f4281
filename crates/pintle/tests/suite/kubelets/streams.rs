//! `kubectl exec`, `attach`, `cp` and `run`, by every kubectl that is there: older ones speak SPDY, newer ones WebSocket.

use super::Cluster;
use crate::support::eventually;
use crate::support::kubectl::Kubectl;

/// Megabytes of a file that is copied.
const FILE: &str = "PINTLE_COPY_MEGABYTES";

/// With either protocol, where a kubectl has both.
fn all(cluster: &Cluster) -> Vec<(String, Kubectl)> {
    cluster.kubectls(Some("KUBECTL_REMOTE_COMMAND_WEBSOCKETS"))
}

#[tokio::test]
async fn commands_have_their_streams_and_exit_codes() {
    let cluster = Cluster::start(&[]).await;
    for (who, kubectl) in all(&cluster) {
        let ran = kubectl.run(&["exec", "web", "--", "sh", "-c", "echo out; echo err >&2; exit 3"], "").await;
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(3), "out\n"), "{who}: {}", ran.stderr);
        assert!(ran.stderr.starts_with("err\n"), "{who}: {}", ran.stderr);
        let input = "line\n".repeat(50_000);
        let ran = kubectl.run(&["exec", "-i", "web", "--", "cat"], &input).await;
        assert_eq!((ran.code, ran.stdout == input), (Some(0), true), "{who}: {}", ran.stderr);
        let missing = kubectl.run(&["exec", "web", "--", "no-such-program"], "").await;
        assert_eq!(missing.code, Some(1), "{who}");
        assert!(missing.stderr.contains("error executing command in container"), "{who}: {}", missing.stderr);
    }
    let metrics = cluster.server.admin().get("/metrics").await.body;
    assert!(
        metrics.contains(r#"apiserver_stream_translator_requests_total{code="200"}"#),
        "WebSocket was used"
    );
    eventually("the end of all streams", async || cluster.kubelet.streaming() == 0).await;
}

#[tokio::test]
async fn what_is_attached_to_reads_and_answers() {
    let cluster = Cluster::start(&[]).await;
    for (who, kubectl) in all(&cluster) {
        let ran = kubectl.run(&["attach", "-i", "web"], "hello\nworld\n").await;
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (Some(0), "got hello\ngot world\n"),
            "{who}: {}",
            ran.stderr
        );
    }
}

#[tokio::test]
async fn files_are_copied_both_ways() {
    let cluster = Cluster::start(&[]).await;
    let dir = cluster.server.dir().join("files");
    std::fs::create_dir_all(dir.join("far")).expect("a folder");
    let megabytes: u32 = std::env::var(FILE).ok().and_then(|number| number.parse().ok()).unwrap_or(12);
    let bytes: Vec<u8> =
        (0..megabytes * 250_000).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
    let (near, far, back) = (dir.join("near"), dir.join("far/near"), dir.join("back"));
    std::fs::write(&near, &bytes).expect("a file");
    for (who, kubectl) in all(&cluster) {
        kubectl.ok(&format!("cp {} web:{}", near.display(), far.display())).await;
        assert!(std::fs::read(&far).expect("a copy") == bytes, "{who}");
        kubectl.ok(&format!("cp web:{} {}", far.display(), back.display())).await;
        assert!(std::fs::read(&back).expect("a copy") == bytes, "{who}");
        std::fs::remove_file(&far).expect("the copy");
        std::fs::remove_file(&back).expect("the copy");
    }
}

#[tokio::test]
async fn a_client_that_goes_away_ends_its_command() {
    let cluster = Cluster::start(&[]).await;
    for websocket in ["true", "false"] {
        let kubectl = cluster.kubectl.clone().with("KUBECTL_REMOTE_COMMAND_WEBSOCKETS", websocket);
        let mut following = kubectl.follow("exec web -- sh -c echo;exec${IFS}sleep${IFS}1000");
        following.line().await;
        assert_eq!(cluster.kubelet.streaming(), 1);
        drop(following);
        eventually("the end of the stream", async || cluster.kubelet.streaming() == 0).await;
    }
}

#[tokio::test]
async fn a_stop_of_the_server_ends_streams() {
    let mut cluster = Cluster::start(&[]).await;
    let mut following = cluster.kubectl.follow("exec web -- sh -c echo;exec${IFS}sleep${IFS}1000");
    following.line().await;
    let stopping = cluster.server.stop();
    stopping.await;
    eventually("the end of the stream", async || cluster.kubelet.streaming() == 0).await;
}

#[tokio::test]
async fn gates_decide_who_translates() {
    let cluster = Cluster::start(&["--feature-gates=TranslateStreamCloseWebsocketRequests=false"]).await;
    // The kubelet of these tests does not speak version 5, so kubectl falls back to SPDY.
    assert_eq!(cluster.kubectl.ok("exec web -- echo hi").await, "hi\n");
    let metrics = cluster.server.admin().get("/metrics").await.body;
    assert!(!metrics.contains("apiserver_stream_translator_requests_total{"), "nothing was translated");
    assert!(!cluster.server.stderr().contains("has no effect"), "{}", cluster.server.stderr());
}
