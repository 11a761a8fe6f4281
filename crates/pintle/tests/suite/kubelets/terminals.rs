//! `kubectl exec`, `attach` and `run` on a terminal, by every kubectl that is there.

use serde_json::json;

use super::Cluster;
use crate::support::eventually;

const WEBSOCKETS: Option<&str> = Some("KUBECTL_REMOTE_COMMAND_WEBSOCKETS");

#[tokio::test]
async fn a_shell_has_the_size_of_its_terminal_and_its_control_characters() {
    let cluster = Cluster::start(&[]).await;
    for (_, kubectl) in cluster.kubectls(WEBSOCKETS) {
        let mut screen = kubectl.on_a_terminal(&["exec", "-it", "web", "--", "sh"]);
        screen.resize(101, 31);
        screen.types("until stty size | grep '31 101'; do sleep 0.1; done\n").await;
        screen.shows("31 101\r\n").await;
        screen.resize(90, 40);
        screen.types("until stty size | grep '40 90'; do sleep 0.1; done\n").await;
        screen.shows("40 90\r\n").await;
        screen.types("PS1='pro''mpt> '; echo be''gun; sleep 1000\n").await;
        screen.shows("begun\r\n").await;
        screen.types("\u{3}").await;
        // A shell that is being interrupted drops what was typed meanwhile.
        screen.shows("prompt> ").await;
        screen.types("echo interrupt''ed\n").await;
        screen.shows("interrupted\r\n").await;
        screen.types("exit 5\n").await;
        let (code, rest) = screen.ended().await;
        assert_eq!(code, Some(5), "{rest}");
        assert!(rest.contains("command terminated with exit code 5"), "{rest}");
    }
    eventually("the end of all streams", async || cluster.kubelet.streaming() == 0).await;
}

#[tokio::test]
async fn a_terminal_is_attached_to_a_process() {
    let cluster = Cluster::start(&[]).await;
    cluster.pod("tool", json!([{"name": "main", "image": "x", "stdin": true, "tty": true}])).await;
    for (_, kubectl) in cluster.kubectls(WEBSOCKETS) {
        let mut screen = kubectl.on_a_terminal(&["attach", "-it", "tool"]);
        screen.types("hello\n").await;
        screen.shows("hello\r\n").await;
        screen.shows("got hello\r\n").await;
        screen.types("\u{4}").await;
        assert_eq!(screen.ended().await.0, Some(0));
    }
}

#[tokio::test]
async fn a_pod_is_run_on_a_terminal_until_it_ends() {
    let mut cluster = Cluster::start(&[]).await;
    cluster.join();
    for (who, kubectl) in cluster.kubectls(WEBSOCKETS) {
        let run = ["run", "-it", "tool", "--image=x", "--restart=Never", "--rm"];
        let mut screen = kubectl.on_a_terminal(&run);
        screen.shows("command prompt").await;
        screen.types("hello\n").await;
        screen.shows("got hello\r\n").await;
        screen.types("\u{4}").await;
        let (code, rest) = screen.ended().await;
        assert_eq!(code, Some(0), "{who}: {rest}");
        assert!(rest.contains("pod \"tool\" deleted"), "{who}: {rest}");
    }
}
