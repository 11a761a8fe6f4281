//! The log and its rotation.

use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use flate2::read::GzDecoder;
use pintle_runtime::{Clock, ManualClock};

use super::testing::{World, event, sized};
use super::*;
use crate::event::Level;

/// A writer whose content others see, and that can be made to fail.
#[derive(Clone, Default)]
struct Shared {
    text: Arc<Mutex<Vec<u8>>>,
    fails: Arc<Mutex<bool>>,
}

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if *self.fails.lock().unwrap() {
            return Err(io::Error::other("no space left on device"));
        }
        self.text.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn an_event_is_a_line_of_either_format() {
    let world = World::new();
    for (format, start) in [
        (Format::Json, r#"{"kind":"Event","apiVersion":"audit.k8s.io/v1","level""#),
        (Format::Legacy, "1970-01-01T00:00:00Z AUDIT: id=\"1\""),
    ] {
        let output = Shared::default();
        let log = LogBackend::new(
            Output::Other(Box::new(output.clone())),
            format,
            world.surroundings.metrics.clone(),
        );
        assert!(log.process(&[event(1), event(2)]).await);
        let text = String::from_utf8(output.text.lock().unwrap().clone()).unwrap();
        assert!(text.starts_with(start) && text.ends_with('\n') && text.lines().count() == 2, "{text}");
    }
}

#[tokio::test]
async fn a_log_that_cannot_be_written_fails_and_recovers() {
    let world = World::new();
    let output = Shared::default();
    let log = LogBackend::new(
        Output::Other(Box::new(output.clone())),
        Format::Json,
        world.surroundings.metrics.clone(),
    );
    *output.fails.lock().unwrap() = true;
    assert!(!log.process(&[event(1), event(2)]).await);
    assert_eq!(world.lost("log"), 2);
    *output.fails.lock().unwrap() = false;
    assert!(log.process(&[event(3)]).await);
    assert_eq!(output.text.lock().unwrap().iter().filter(|byte| **byte == b'\n').count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_that_wait_share_writes_and_each_has_its_line() {
    let world = World::new();
    let output = Shared::default();
    let log = LogBackend::new(
        Output::Other(Box::new(output.clone())),
        Format::Json,
        world.surroundings.metrics.clone(),
    );
    let log = Arc::new(log);
    let tasks: Vec<_> = (0..200)
        .map(|number| {
            let (log, text) = (log.clone(), output.text.clone());
            tokio::spawn(async move {
                assert!(log.process(&[event(number)]).await);
                let text = String::from_utf8(text.lock().unwrap().clone()).unwrap();
                assert!(
                    text.contains(&format!("\"auditID\":\"{number}\"")),
                    "it is written when it is told so"
                );
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(output.text.lock().unwrap().iter().filter(|byte| **byte == b'\n').count(), 200);
}

fn config(path: &Path) -> RotationConfig {
    RotationConfig { path: path.into(), max_size: 2000, max_age_days: 0, max_backups: 0, compress: false }
}

struct Log {
    log: LogBackend,
    manual: Arc<ManualClock>,
    directory: tempfile::TempDir,
    world: World,
}

impl Log {
    fn new(change: impl FnOnce(&mut RotationConfig)) -> Log {
        // 2026-01-02T15:04:05.678Z
        let manual =
            ManualClock::starting_at(SystemTime::UNIX_EPOCH + Duration::from_millis(1_767_366_245_678));
        let world = World::with_clock(manual.clock());
        let directory = tempfile::tempdir().unwrap();
        let mut config = config(&directory.path().join("audit.log"));
        change(&mut config);
        let output = Output::Rotating(RotatingFile::new(config, manual.clock()).unwrap());
        let log = LogBackend::new(output, Format::Json, world.surroundings.metrics.clone());
        Log { log, manual, directory, world }
    }

    async fn write(&self, number: usize, size: usize) -> bool {
        self.log.process(&[sized(number, Level::Request, size)]).await
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.directory.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    async fn until(&self, expect: &[&str]) {
        for _ in 0..5000 {
            if self.names() == expect {
                return;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert_eq!(self.names(), expect);
    }
}

#[tokio::test]
async fn a_full_file_is_put_aside_under_the_time_and_keeps_its_mode() {
    let log = Log::new(|_| {});
    let path = log.directory.path().join("audit.log");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&path), 0o600);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    assert!(log.write(1, 1000).await);
    assert!(log.write(2, 1000).await);
    let old = log.directory.path().join("audit-2026-01-02T15-04-05.678.log");
    assert_eq!(log.names(), ["audit-2026-01-02T15-04-05.678.log", "audit.log"]);
    assert_eq!((mode(&old), mode(&path)), (0o640, 0o640));
    // Again within the same millisecond: nothing is written over.
    assert!(log.write(3, 1000).await);
    assert_eq!(
        log.names(),
        ["audit-2026-01-02T15-04-05.678.log", "audit-2026-01-02T15-04-05.679.log", "audit.log"]
    );
    let all =
        log.names().into_iter().map(|name| fs::read_to_string(log.directory.path().join(name)).unwrap());
    assert_eq!(all.map(|text| text.lines().count()).collect::<Vec<_>>(), [1, 1, 1]);
}

#[tokio::test]
async fn many_events_at_once_rotate_between_two_lines() {
    let log = Log::new(|_| {});
    let events: Vec<_> = (0..20).map(|number| sized(number, Level::Request, 500)).collect();
    assert!(log.log.process(&events).await);
    let mut numbers = Vec::new();
    for name in log.names() {
        let path = log.directory.path().join(&name);
        assert!(fs::metadata(&path).unwrap().len() <= 2000, "{name}");
        for line in fs::read_to_string(path).unwrap().lines() {
            let event: serde_json::Value = serde_json::from_str(line).unwrap();
            numbers.push(event["auditID"].as_str().unwrap().parse::<usize>().unwrap());
        }
    }
    numbers.sort_unstable();
    assert_eq!(numbers, (0..20).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_line_that_is_longer_than_a_file_is_lost() {
    let log = Log::new(|_| {});
    assert!(!log.write(1, 2000).await);
    assert_eq!(log.world.lost("log"), 1);
    assert!(log.write(2, 10).await);
    let events = [sized(3, Level::Request, 10), sized(4, Level::Request, 3000), sized(5, Level::Request, 10)];
    assert!(!log.log.process(&events).await);
    assert_eq!(log.world.lost("log"), 2);
    let text = fs::read_to_string(log.directory.path().join("audit.log")).unwrap();
    assert_eq!(text.lines().count(), 3, "the others are there");
}

#[tokio::test]
async fn a_file_that_is_there_is_continued() {
    let log = Log::new(|_| {});
    let path = log.directory.path().join("audit.log");
    fs::write(&path, "x\n").unwrap();
    assert!(log.write(1, 10).await);
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.starts_with("x\n{") && text.lines().count() == 2, "{text}");
}

#[tokio::test]
async fn old_files_are_removed_by_number_and_age_and_others_stay() {
    let log = Log::new(|config| (config.max_backups, config.max_age_days) = (2, 10));
    let others = ["audit-notes.log", "other-2020-01-01T00-00-00.000.log"];
    for other in others.iter().chain(&["audit-2020-01-01T00-00-00.000.log"]) {
        fs::write(log.directory.path().join(other), "x").unwrap();
    }
    for number in 0..4 {
        assert!(log.write(number, 1000).await);
        log.manual.advance(Duration::from_secs(60));
    }
    let kept = ["audit-2026-01-02T15-06-05.678.log", "audit-2026-01-02T15-07-05.678.log"];
    log.until(&[kept[0], kept[1], others[0], "audit.log", others[1]]).await;
    log.manual.advance(Duration::from_secs(11 * 24 * 60 * 60));
    assert!(log.write(5, 1000).await);
    log.until(&["audit-2026-01-13T15-08-05.678.log", others[0], "audit.log", others[1]]).await;
}

#[tokio::test]
async fn old_files_are_compressed() {
    let log = Log::new(|config| config.compress = true);
    for number in 0..2 {
        assert!(log.write(number, 1000).await);
    }
    let name = "audit-2026-01-02T15-04-05.678.log.gz";
    log.until(&[name, "audit.log"]).await;
    let path = log.directory.path().join(name);
    let mut text = String::new();
    GzDecoder::new(fs::File::open(&path).unwrap()).read_to_string(&mut text).unwrap();
    assert!(text.contains("\"auditID\":\"0\"") && text.ends_with("}\n"), "{text}");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(log.write(2, 1000).await, "the name of a compressed file is taken as well");
    log.until(&[name, "audit-2026-01-02T15-04-05.679.log.gz", "audit.log"]).await;
}

#[tokio::test]
async fn a_new_file_has_a_private_directory() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a/b/audit");
    RotatingFile::new(config(&path), Clock::system()).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&directory.path().join("a/b")), mode(&path)), (0o700, 0o600));
    let not_a_directory = path.join("audit.log");
    assert!(RotatingFile::new(config(&not_a_directory), Clock::system()).is_err());
}
