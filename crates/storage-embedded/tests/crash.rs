//! A process that writes is killed at random moments, again and again.
//!
//! The child is this test binary itself, started with a variable in its environment. It reports every acknowledged write on its
//! standard output; a report that does not arrive is as if it had not been made. After the kill the parent opens the
//! store and judges it by what was reported. `PINTLE_CRASH_ROUNDS` sets the number of rounds.

mod support;

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use pintle_storage::{Backend, Revision};
use pintle_storage_embedded::{Options, Store};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use support::load::{self, Ack};

const CHILD: &str = "PINTLE_CRASH_CHILD";
const CLIENTS: u64 = 32;
/// Rounds that share a directory, so that a store lives through many crashes.
const LIVES: u64 = 20;

fn options(dir: &Path) -> Options {
    // Some crashes should come right after the free pages were saved.
    Options { save_free_pages_after: Some(Duration::from_millis(30)), ..Options::directory(dir) }
}

#[test]
fn no_acknowledged_write_is_lost_when_the_process_is_killed() {
    let rounds: u64 =
        std::env::var("PINTLE_CRASH_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(100);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let mut rng = StdRng::from_os_rng();
    let mut dir = tempfile::tempdir().unwrap();
    let mut seen = Revision(1);
    let mut acknowledged = 0;
    for round in 0..rounds {
        if round % LIVES == 0 {
            dir = tempfile::tempdir().unwrap();
            seen = Revision(1);
        }
        // From before the store is open to well into the load.
        let acks = run_and_kill(dir.path(), Duration::from_millis(rng.random_range(1..200)));
        acknowledged += acks.len();
        seen = runtime.block_on(async {
            let store = Store::open(options(dir.path())).expect("a killed process leaves a usable store");
            // The child's attempts are not known here; an impossible one would show as a gap in its numbers.
            let seen = load::check(&store, seen, &acks, |_| u64::MAX).await;
            if round % 2 == 0 {
                store.close().await.unwrap();
            } else {
                // Not closing is the parent's own crash.
                drop(store);
            }
            seen
        });
    }
    assert!(acknowledged as u64 > rounds * 10, "only {acknowledged} writes in {rounds} rounds");
}

/// Runs the child for a while and kills it. Returns the writes that it reported.
fn run_and_kill(dir: &Path, after: Duration) -> Vec<Ack> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child", "--nocapture", "--test-threads=1"])
        .env(CHILD, dir)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let output = child.stdout.take().unwrap();
    let (ready, started) = std::sync::mpsc::channel();
    let reader = std::thread::spawn(move || {
        let mut acks = Vec::new();
        for line in BufReader::new(output).lines() {
            let Ok(line) = line else { break };
            let words: Vec<_> = line.split(' ').collect();
            match words[..] {
                ["started"] => drop(ready.send(())),
                ["ack", client, number, revision, "."] => acks.push(Ack {
                    client: client.parse().unwrap(),
                    number: number.parse().unwrap(),
                    revision: revision.parse().unwrap(),
                }),
                // The harness's own lines, or one that the kill has cut.
                _ => {}
            }
        }
        acks
    });
    // The time counts from when the child gets to its store: starting a process is not what is tried here.
    started.recv_timeout(Duration::from_secs(20)).expect("the child starts");
    std::thread::sleep(after);
    child.kill().unwrap();
    child.wait().unwrap();
    reader.join().unwrap()
}

/// Not a test: what the killed process does. Returns at once unless it is one.
#[test]
fn child() {
    let Some(dir) = std::env::var_os(CHILD) else { return };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        // The harness has left its own line unfinished.
        say("\nstarted");
        let store = Arc::new(Store::open(options(Path::new(&dir))).expect("open"));
        let start = store.current_revision().await.unwrap();
        for client in 0..CLIENTS {
            let store = store.clone();
            tokio::spawn(async move {
                let mut number = load::last_number(&store, client).await;
                loop {
                    number += 1;
                    let done = store.txn(load::txn(client, number)).await.expect("write");
                    say(&format!("ack {client} {number} {} .", done.revision));
                }
            });
        }
        // The parent has seen everything up to the start, so that may go, bit by bit.
        let oldest = store.compacted_revision().await.unwrap();
        for step in 1..=10 {
            store.compact(Revision(oldest.0 + (start.0 - oldest.0) * step / 10)).await.unwrap();
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        // Longer than the parent lets it live.
        tokio::time::sleep(Duration::from_secs(60)).await;
    });
}

/// One line in one piece.
fn say(line: &str) {
    let _ = std::io::stdout().lock().write_all(format!("{line}\n").as_bytes());
}
