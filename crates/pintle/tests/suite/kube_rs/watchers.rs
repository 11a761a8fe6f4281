//! kube-rs' runtime: watchers that start again by themselves, and the reflectors that controllers are made of.

use std::collections::BTreeMap;
use std::pin::pin;

use futures_util::{Stream, StreamExt};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, PostParams};
use kube::core::PartialObjectMeta;
use kube::runtime::reflector::Store;
use kube::runtime::watcher::{self, Event};
use kube::runtime::{WatchStreamExt, reflector, watcher as watch};
use kube::{Api, ResourceExt};
use tokio::time::timeout;

use super::{api, config_map};
use crate::support::shared::{Shared, on_both_stores};
use crate::support::{PATIENCE, eventually};

on_both_stores! {
    a_reflector_follows_what_is_stored,
    a_streaming_list_begins_a_reflector,
    a_watcher_goes_on_after_its_watch_ended,
    metadata_is_enough_for_a_watcher,
}

async fn next<T>(events: &mut (impl Stream<Item = Result<Event<T>, watcher::Error>> + Unpin)) -> Event<T> {
    let event =
        timeout(PATIENCE, events.next()).await.expect("an event in time").expect("the watcher goes on");
    event.expect("an event")
}

/// Returns the values that a reflector holds, by name.
fn held(store: &Store<ConfigMap>) -> BTreeMap<String, String> {
    let data = |object: &ConfigMap| object.data.as_ref().and_then(|data| data.get("value").cloned());
    store.state().iter().map(|object| (object.name_any(), data(object).unwrap_or_default())).collect()
}

async fn follow(api: Api<ConfigMap>, config: watcher::Config) {
    let post = PostParams::default();
    for number in 0..12 {
        api.create(&post, &config_map(&format!("cm-{number}"), "old")).await.expect("created");
    }
    let (store, writer) = reflector::store();
    let events = reflector(writer, watch(api.clone(), config)).touched_objects();
    let run = tokio::spawn(async move {
        let mut events = pin!(events);
        while let Some(event) = events.next().await {
            event.expect("no error on the way");
        }
    });
    timeout(PATIENCE, store.wait_until_ready()).await.expect("in time").expect("ready");
    assert_eq!(store.len(), 12);
    api.delete("cm-3", &DeleteParams::default()).await.expect("deleted");
    api.replace("cm-4", &post, &config_map("cm-4", "new")).await.expect("replaced");
    api.create(&post, &config_map("another", "new")).await.expect("created");
    let mut expect: BTreeMap<String, String> =
        (0..12).filter(|number| *number != 3).map(|number| (format!("cm-{number}"), "old".into())).collect();
    expect.insert("cm-4".into(), "new".into());
    expect.insert("another".into(), "new".into());
    eventually("the reflector has what is stored", async || held(&store) == expect).await;
    run.abort();
}

async fn a_reflector_follows_what_is_stored(shared: &Shared) {
    follow(api(shared, "watchers-paged").await, watcher::Config::default().page_size(5)).await;
    let any = watcher::Config::default().any_semantic();
    follow(api(shared, "watchers-any").await, any).await;
}

async fn a_streaming_list_begins_a_reflector(shared: &Shared) {
    follow(api(shared, "watchers-streaming").await, watcher::Config::default().streaming_lists()).await;
}

async fn a_watcher_goes_on_after_its_watch_ended(shared: &Shared) {
    let api: Api<ConfigMap> = api(shared, "watchers-again").await;
    let post = PostParams::default();
    api.create(&post, &config_map("there", "1")).await.expect("created");
    // Every watch ends after a second, and the next one goes on where it ended.
    let mut events = pin!(watch(api.clone(), watcher::Config::default().timeout(1)));
    assert!(matches!(next(&mut events).await, Event::Init));
    assert!(matches!(next(&mut events).await, Event::InitApply(object) if object.name_any() == "there"));
    assert!(matches!(next(&mut events).await, Event::InitDone));
    let started = std::time::Instant::now();
    let mut number = 0;
    while started.elapsed().as_millis() < 2500 {
        let name = format!("cm-{number}");
        api.create(&post, &config_map(&name, "1")).await.expect("created");
        let event = next(&mut events).await;
        assert!(matches!(&event, Event::Apply(object) if object.name_any() == name), "{name}: {event:?}");
        api.delete(&name, &DeleteParams::default()).await.expect("deleted");
        let event = next(&mut events).await;
        assert!(matches!(&event, Event::Delete(object) if object.name_any() == name), "{name}: {event:?}");
        number += 1;
    }
}

async fn metadata_is_enough_for_a_watcher(shared: &Shared) {
    let api: Api<ConfigMap> = api(shared, "watchers-metadata").await;
    let post = PostParams::default();
    api.create(&post, &config_map("there", "1")).await.expect("created");
    let config = watcher::Config::default().labels("value=1").streaming_lists();
    let metadata: Api<PartialObjectMeta<ConfigMap>> =
        Api::namespaced(api.clone().into_client(), "watchers-metadata");
    let mut events = pin!(watch(metadata, config));
    assert!(matches!(next(&mut events).await, Event::Init));
    assert!(matches!(next(&mut events).await, Event::InitApply(object) if object.name_any() == "there"));
    assert!(matches!(next(&mut events).await, Event::InitDone));
    api.replace("there", &post, &config_map("there", "2")).await.expect("replaced");
    assert!(matches!(next(&mut events).await, Event::Delete(object) if object.labels()["value"] == "1"));
}
