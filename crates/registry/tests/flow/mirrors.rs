//! Mirrors follow the objects that they are derived from.

use std::collections::BTreeMap;
use std::sync::Arc;

use pintle_meta::Value;
use pintle_registry::{Mirror, Reflect, Replaced};

use super::{DeleteOptions, Limits, Options, Things, fixture, fixture_with};

/// The sizes of things, by key.
#[derive(Default)]
struct Sizes(BTreeMap<String, i64>);

impl Reflect for Sizes {
    fn set(&mut self, _: usize, key: &str, object: Option<&Value>) {
        match object {
            Some(object) => {
                let size = object.at(&["spec", "size"]).and_then(Value::as_i64).unwrap_or_default();
                self.0.insert(key.to_owned(), size);
            }
            None => drop(self.0.remove(key)),
        }
    }

    fn clear(&mut self, _: usize) {
        self.0.clear();
    }
}

#[tokio::test]
async fn a_mirror_shows_what_was_answered_a_moment_ago() {
    let fixture = fixture(Things { unconditional: true, ..Things::default() }).await;
    fixture.create(r#"{"metadata":{"name":"a"},"spec":{"size":1}}"#).await.unwrap();
    let mirror = Mirror::new(
        vec![Arc::new(fixture.things.with_strategy(Arc::new(Things::default())))],
        Sizes::default(),
    );
    mirror.ready().await.unwrap();
    let now = async || {
        mirror.wait_for_writes().await;
        mirror.read(|sizes| sizes.0.iter().map(|(key, size)| format!("{key}={size}")).collect::<Vec<_>>())
    };
    assert_eq!(now().await, ["n/a=1"]);
    fixture.create(r#"{"metadata":{"name":"b"},"spec":{"size":2}}"#).await.unwrap();
    fixture.put("a", r#"{"metadata":{"name":"a"},"spec":{"size":3}}"#).await.unwrap();
    assert_eq!(now().await, ["n/a=3", "n/b=2"]);
    fixture.delete("b", DeleteOptions::default()).await.unwrap();
    assert_eq!(now().await, ["n/a=3"]);
}

#[tokio::test]
async fn a_mirror_that_was_left_behind_begins_anew() {
    let things = Things { unconditional: true, ..Things::default() };
    let limits = Limits { changes: 16, ..Limits::default() };
    let fixture = fixture_with(Options::memory(), things, limits).await;
    fixture.create(r#"{"metadata":{"name":"gone"},"spec":{"size":1}}"#).await.unwrap();
    fixture.create(r#"{"metadata":{"name":"a"},"spec":{"size":1}}"#).await.unwrap();
    let mirror = Mirror::new(
        vec![Arc::new(fixture.things.with_strategy(Arc::new(Things::default())))],
        Sizes::default(),
    );
    mirror.ready().await.unwrap();
    fixture.delete("gone", DeleteOptions::default()).await.unwrap();
    // More than the cache keeps of the past.
    for size in 0..100 {
        let text = format!(r#"{{"metadata":{{"name":"a"}},"spec":{{"size":{size}}}}}"#);
        fixture.put("a", &text).await.unwrap();
    }
    mirror.wait_for_writes().await;
    assert_eq!(mirror.read(|sizes| sizes.0.clone()), BTreeMap::from([("n/a".to_owned(), 99)]));
}

/// Tells when it is dropped.
struct Old(std::sync::mpsc::Sender<std::thread::ThreadId>);

impl Drop for Old {
    fn drop(&mut self) {
        let _ = self.0.send(std::thread::current().id());
    }
}

/// Replaces a value with every change.
struct Replacing(std::sync::mpsc::Sender<std::thread::ThreadId>, Vec<Old>);

impl Reflect for Replacing {
    fn set(&mut self, _: usize, _: &str, _: Option<&Value>) {
        self.1.push(Old(self.0.clone()));
    }

    fn clear(&mut self, _: usize) {}

    fn replaced(&mut self) -> Option<Replaced> {
        let replaced = std::mem::take(&mut self.1);
        (!replaced.is_empty()).then(|| Box::new(replaced) as Replaced)
    }
}

#[tokio::test]
async fn readers_do_not_drop_what_a_mirror_has_replaced() {
    let fixture = fixture(Things { unconditional: true, ..Things::default() }).await;
    fixture.create(r#"{"metadata":{"name":"a"},"spec":{"size":1}}"#).await.unwrap();
    let (sender, dropped) = std::sync::mpsc::channel();
    let mirror = Mirror::new(
        vec![Arc::new(fixture.things.with_strategy(Arc::new(Things::default())))],
        Replacing(sender, Vec::new()),
    );
    mirror.ready().await.unwrap();
    mirror.wait_for_writes().await;
    mirror.read(|_| ());
    let limit = std::time::Duration::from_secs(20);
    let by = tokio::task::spawn_blocking(move || dropped.recv_timeout(limit)).await.unwrap().unwrap();
    assert_ne!(by, std::thread::current().id());
    assert!(mirror.read(|replacing| replacing.1.is_empty()));
}
