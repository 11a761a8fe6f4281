//! Opening a store: what is kept, and what is refused with a sentence.

mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use pintle_storage::Backend;
use pintle_storage_embedded::{OpenError, Options, Store};
use redb::{Database, ReadableDatabase, TableDefinition};
use support::{bytes, delete, get, history, put, value};

const META: TableDefinition<'_, &str, u64> = TableDefinition::new("meta");

fn open(dir: &Path) -> Result<Store, OpenError> {
    Store::open(Options { save_free_pages_after: None, ..Options::directory(dir) })
}

fn refusal(dir: &Path) -> String {
    match open(dir) {
        Ok(_) => panic!("it should have been refused"),
        Err(error) => error.to_string(),
    }
}

/// That opening fails with this, and changes nothing.
fn refused(dir: &Path, sentence: &str) {
    let path = dir.join("pintle.db");
    let before = fs::read(&path).unwrap();
    let message = refusal(dir);
    assert!(message.contains(sentence), "{message}");
    assert!(message.contains(path.to_str().unwrap()), "{message}");
    assert!(!message.contains('\n'), "one sentence: {message}");
    assert!(before == fs::read(&path).unwrap(), "the file was changed");
}

#[tokio::test]
async fn a_store_opens_as_it_was_closed() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).unwrap();
    put(&store, "/a", "1").await;
    let before = put(&store, "/a", "2").await;
    delete(&store, "/a").await;
    put(&store, "/b", "3").await;
    let (seen, b) = (history(&store, pintle_storage::Revision(1)).await.unwrap(), get(&store, "/b").await);
    store.close().await.unwrap();

    let store = open(dir.path()).unwrap();
    assert_eq!(get(&store, "/b").await, b);
    assert_eq!(get(&store, "/a").await, None);
    assert_eq!(store.get(b"/a", Some(before)).await.unwrap().0.unwrap().value, bytes("2"));
    assert_eq!(history(&store, pintle_storage::Revision(1)).await.unwrap(), seen);
    assert_eq!(put(&store, "/c", "").await.0, before.0 + 3);
}

#[tokio::test]
async fn dropping_a_store_releases_its_directory() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).unwrap();
    put(&store, "/a", "1").await;
    let watch = store.watch(pintle_storage::WatchRequest::default()).await.unwrap();
    drop(store);
    assert_eq!(value(&open(dir.path()).unwrap(), "/a").await.as_deref(), Some("1"));
    drop(watch);
}

#[tokio::test]
async fn a_directory_in_use_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).unwrap();
    let message = refusal(dir.path());
    let pid = std::process::id();
    assert_eq!(
        message,
        format!("the data directory {} is in use by another process (pid {pid})", dir.path().display())
    );
    store.close().await.unwrap();
    open(dir.path()).unwrap();
}

#[test]
fn files_and_directories_are_private() {
    let parent = tempfile::tempdir().unwrap();
    let dir = parent.path().join("a/b");
    let _store = open(&dir).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&parent.path().join("a")), 0o700);
    assert_eq!(mode(&dir), 0o700);
    assert_eq!(mode(&dir.join("pintle.db")), 0o600);
    assert_eq!(mode(&dir.join("lock")), 0o600);
}

#[test]
fn a_foreign_file_is_refused_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    for content in ["", "short", "a text that somebody keeps here, longer than any magic number"] {
        fs::write(dir.path().join("pintle.db"), content).unwrap();
        refused(dir.path(), "is not a Pintle store");
    }
}

#[test]
fn a_database_of_another_program_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("pintle.db");
    let other: TableDefinition<'_, &str, &str> = TableDefinition::new("customers");
    let db = Database::create(&path).unwrap();
    let txn = db.begin_write().unwrap();
    txn.open_table(other).unwrap().insert("a", "b").unwrap();
    txn.commit().unwrap();
    drop(db);
    let message = refusal(dir.path());
    assert!(message.contains("is not a Pintle store: it is a database of another program"), "{message}");
    let db = Database::open(&path).unwrap();
    assert_eq!(db.begin_read().unwrap().open_table(other).unwrap().get("a").unwrap().unwrap().value(), "b");
}

#[test]
fn a_store_of_a_newer_version_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    drop(open(dir.path()).unwrap());
    let db = Database::open(dir.path().join("pintle.db")).unwrap();
    let txn = db.begin_write().unwrap();
    txn.open_table(META).unwrap().insert("format", 2).unwrap();
    txn.commit().unwrap();
    drop(db);
    let message = refusal(dir.path());
    assert!(message.contains("newer version of Pintle (format 2, this one knows up to 1)"), "{message}");
}

#[tokio::test]
async fn a_damaged_file_is_refused_or_its_damage_is_found_when_read() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("pintle.db");
    let store = open(dir.path()).unwrap();
    for i in 0..200 {
        put(&store, &format!("/{i}"), &"v".repeat(1000)).await;
    }
    store.close().await.unwrap();
    let whole = fs::read(&path).unwrap();

    fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    refused(dir.path(), "is damaged");

    let mut headless = whole.clone();
    headless[9..320].fill(0xa5);
    fs::write(&path, &headless).unwrap();
    refused(dir.path(), "is damaged");

    // A flipped bit in a value is not looked at when a store opens, but never goes out as if it were right.
    let mut flipped = whole;
    let at = flipped.windows(100).rposition(|bytes| bytes == [b'v'; 100]).unwrap();
    flipped[at] ^= 1;
    fs::write(&path, &flipped).unwrap();
    let store = open(dir.path()).unwrap();
    let all = store.range(pintle_storage::RangeRequest::default()).await;
    assert!(matches!(all, Err(pintle_storage::Error::Corrupt(_))), "{all:?}");
}

#[test]
fn a_path_that_cannot_be_a_directory_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "kept").unwrap();
    let message = refusal(&file);
    assert!(message.starts_with("cannot use ") && message.contains("file"), "{message}");
    assert_eq!(fs::read(&file).unwrap(), b"kept");
    let proc = refusal(Path::new("/proc/nothing"));
    assert!(proc.contains("/proc/nothing"), "{proc}");
}

#[test]
fn a_store_that_was_never_finished_is_made_anew() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("pintle.db.new"), "half a store").unwrap();
    open(dir.path()).unwrap();
    assert!(!dir.path().join("pintle.db.new").exists());
}
