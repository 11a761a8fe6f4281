//! Stores that were damaged while no server ran: a server says so in one sentence and ends, or is ready soon.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::support::shared::ready;
use crate::support::{Launch, PATIENCE, free_port};

const PAGE: usize = 4096;

/// A launch whose store was closed cleanly, and the bytes of that store.
async fn closed() -> (Launch, Vec<u8>) {
    let launch = Launch::new();
    let mut server = launch.start().await;
    ready(&server).await;
    server.stop().await;
    let image = std::fs::read(store(&launch)).expect("a store");
    (launch, image)
}

fn store(launch: &Launch) -> std::path::PathBuf {
    launch.path("data").join("store/pintle.db")
}

/// Starts a server on these bytes. Returns its last sentence, or nothing if it became ready.
async fn sentence(launch: &Launch, bytes: &[u8], what: &str) -> Option<String> {
    let file = store(launch);
    std::fs::write(&file, bytes).expect("write");
    let mut server = launch.spawn(Some(free_port()));
    let deadline = Instant::now() + PATIENCE;
    while server.is_running() {
        assert!(Instant::now() < deadline, "{what}: neither ready nor ended: {}", server.stderr());
        let answer = server.client().try_get("/readyz").await;
        if answer.is_ok_and(|answer| answer.code == 200) {
            return None;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(server.exited().await.code(), Some(1), "{what}");
    let log = server.stderr();
    let sentences: Vec<&str> = log.lines().filter_map(|line| line.strip_prefix("Error: ")).collect();
    let [last] = sentences[..] else { panic!("{what}: not one sentence: {log}") };
    assert!(log.ends_with(&format!("Error: {last}\n")), "{what}: {log}");
    assert!(last.contains(&display(&file)) && last.contains("is damaged: "), "{what}: {last}");
    assert!(last.ends_with("restore a snapshot into an empty directory"), "{what}: {last}");
    Some(last.to_owned())
}

/// The path of the store, or of the directory that it is in.
fn display(file: &Path) -> String {
    file.parent().unwrap_or(file).display().to_string()
}

/// A file that was closed is not checked when it is opened: what it holds is found damaged only when it is read.
#[tokio::test(flavor = "multi_thread")]
async fn damaged_objects_end_a_start_with_a_sentence() {
    let (launch, mut image) = closed().await;
    let places: Vec<usize> =
        image.windows(4).enumerate().filter(|(_, bytes)| bytes == b"k8s\0").map(|(at, _)| at).collect();
    assert!(places.len() > 100, "objects are there: {}", places.len());
    for at in places {
        image[at + 4] ^= 0x55;
    }
    let sentence = sentence(&launch, &image, "objects").await.expect("not ready");
    assert!(sentence.contains("checksum"), "{sentence}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_the_engine_cannot_make_sense_of_ends_a_start_with_a_sentence() {
    let (launch, image) = closed().await;
    let pages = image.len() / PAGE;
    let mut refused = 0;
    for round in 1..=8 {
        let mut damaged = image.clone();
        for page in (round..pages).step_by(8) {
            damaged[page * PAGE..(page + 1) * PAGE].fill(0);
        }
        refused += usize::from(sentence(&launch, &damaged, &format!("pages, round {round}")).await.is_some());
    }
    for round in 0..4 {
        let mut damaged = image.clone();
        for at in (PAGE + round * 61..image.len()).step_by(997) {
            damaged[at] ^= 0x10;
        }
        refused += usize::from(sentence(&launch, &damaged, &format!("bits, round {round}")).await.is_some());
    }
    assert!(refused >= 6, "{refused} of 12");
}

/// One page is enough to end the store's writer, and start hooks may be done by then: such a server is of no use and ends as well.
#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_ends_the_writer_ends_the_server() {
    let (launch, image) = closed().await;
    for page in 1..12 {
        let mut damaged = image.clone();
        damaged[page * PAGE..(page + 1) * PAGE].fill(0);
        sentence(&launch, &damaged, &format!("page {page}")).await;
    }
}
