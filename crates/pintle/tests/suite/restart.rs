//! Restarts: objects, versions and watches that survive the process.

use futures_util::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, ListParams, PostParams, WatchEvent, WatchParams};
use kube::{Api, ResourceExt};
use rustix::process::Signal;

use crate::kube_rs::{client, config_map, make_namespace};
use crate::support::etcd::{Etcd, Version};
use crate::support::shared::ready;
use crate::support::{Launch, PATIENCE, Server, eventually};

async fn start(launch: &Launch) -> (Server, Api<ConfigMap>) {
    let server = launch.start().await;
    ready(&server).await;
    let api = Api::namespaced(client(&server).await, "restart");
    (server, api)
}

async fn kill(mut server: Server) {
    server.signal(Signal::KILL);
    server.exited().await;
}

fn number(object: &ConfigMap) -> u64 {
    object.resource_version().expect("a version").parse().expect("a number")
}

async fn objects_survive(launch: &Launch) {
    let (server, api) = start(launch).await;
    make_namespace(&client(&server).await, "restart").await;
    let post = PostParams::default();
    for count in 0..30 {
        api.create(&post, &config_map(&format!("cm-{count:02}"), "1")).await.expect("created");
    }
    api.replace("cm-03", &post, &config_map("cm-03", "2")).await.expect("replaced");
    api.delete("cm-04", &DeleteParams::default()).await.expect("deleted");
    let before = api.list(&ListParams::default()).await.expect("a list");
    let first = api.list(&ListParams::default().limit(10)).await.expect("a page");
    kill(server).await;

    let (server, api) = start(launch).await;
    let after = api.list(&ListParams::default()).await.expect("a list");
    assert_eq!(after.items, before.items, "with their versions");
    assert_eq!(after.items.len(), 29);
    // A list that had begun goes on where it was.
    let rest = ListParams::default().continue_token(&first.metadata.continue_.expect("more"));
    let rest = api.list(&rest).await.expect("the rest");
    assert_eq!(rest.metadata.resource_version, first.metadata.resource_version);
    assert_eq!([first.items, rest.items].concat(), before.items);
    // And what is written next is newer than all before.
    let last = before.metadata.resource_version.expect("a version").parse().expect("a number");
    let created = api.create(&post, &config_map("later", "1")).await.expect("created");
    assert!(number(&created) > last, "{} after {last}", number(&created));
    let mut stale = after.items[3].clone();
    stale.metadata.resource_version = before.items[0].resource_version();
    assert!(api.replace("cm-03", &post, &stale).await.is_err(), "an old version is still old");
    kill(server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_and_versions_survive_a_kill() {
    objects_survive(&Launch::new()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_and_versions_survive_a_kill_on_etcd() {
    let etcd = Etcd::start(Version::New);
    objects_survive(&Launch::on_etcd(&etcd)).await;
}

/// A change as a watcher sees it.
type Seen = (&'static str, String, u64);

/// Watches from a revision until `end` is seen, which must be there. `None` if the revision is gone.
async fn watch(api: &Api<ConfigMap>, start: u64, end: u64) -> Option<Vec<Seen>> {
    let params = WatchParams::default().disable_bookmarks();
    let events = match api.watch(&params, &start.to_string()).await {
        Ok(events) => events,
        Err(kube::Error::Api(status)) if status.code == 410 => return None,
        Err(error) => panic!("{error}"),
    };
    let mut events = events.boxed();
    let mut seen = Vec::new();
    loop {
        let event = tokio::time::timeout(PATIENCE, events.next()).await.expect("an event in time");
        let (kind, object) = match event.expect("the watch goes on").expect("an event") {
            WatchEvent::Added(object) => ("ADDED", object),
            WatchEvent::Modified(object) => ("MODIFIED", object),
            WatchEvent::Deleted(object) => ("DELETED", object),
            WatchEvent::Error(status) if status.code == 410 => return None,
            other => panic!("{other:?}"),
        };
        let revision = number(&object);
        seen.push((kind, object.name_any(), revision));
        if revision == end {
            return Some(seen);
        }
    }
}

/// Writes until the server is gone; returns what was acknowledged.
async fn write(api: Api<ConfigMap>, round: usize) -> Vec<Seen> {
    let post = PostParams::default();
    let mut done = Vec::new();
    for count in 0.. {
        let name = format!("cm-{round}-{count}");
        let Ok(created) = api.create(&post, &config_map(&name, "1")).await else { break };
        done.push(("ADDED", name.clone(), number(&created)));
        let Ok(replaced) = api.replace(&name, &post, &config_map(&name, "2")).await else { break };
        done.push(("MODIFIED", name, number(&replaced)));
    }
    done
}

async fn watches_resume(launch: &Launch) {
    let (mut server, mut api) = start(launch).await;
    make_namespace(&client(&server).await, "restart").await;
    let first = api.create(&PostParams::default(), &config_map("first", "1")).await.expect("created");
    let mut acknowledged: Vec<Seen> = Vec::new();
    for round in 0..3 {
        let writer = tokio::spawn(write(api.clone(), round));
        let goal = format!("cm-{round}-15");
        eventually("some writes", async || matches!(api.get_opt(&goal).await, Ok(Some(_)))).await;
        kill(server).await;
        acknowledged.extend(writer.await.expect("no panic"));

        (server, api) = start(launch).await;
        let end = api.create(&PostParams::default(), &config_map(&format!("end-{round}"), "1")).await;
        let end = number(&end.expect("created"));
        acknowledged.push(("ADDED", format!("end-{round}"), end));
        // From before the first restart, and from the middle of what was written before the last one.
        let middle = acknowledged[acknowledged.len() / 2].2;
        for from in [number(&first), middle] {
            // One that is told that its version is gone lists again; that is no gap.
            let Some(seen) = watch(&api, from, end).await else { continue };
            assert!(seen.is_sorted_by(|one, next| one.2 < next.2), "{seen:?}");
            let expect: Vec<&Seen> = acknowledged.iter().filter(|change| change.2 > from).collect();
            // A write that was under way when the server was killed may have been done without being acknowledged.
            let known: Vec<&Seen> = seen.iter().filter(|change| expect.contains(change)).collect();
            assert_eq!(known, expect, "a change is missing");
            assert!(seen.len() <= expect.len() + round + 1, "{seen:?}");
        }
        // A watch can always resume from the newest version.
        let next = api.create(&PostParams::default(), &config_map(&format!("next-{round}"), "1")).await;
        let next = next.expect("created");
        let seen = watch(&api, end, number(&next)).await.expect("a version of this process");
        assert_eq!(seen, [("ADDED", next.name_any(), number(&next))]);
        acknowledged.push(seen[0].clone());
    }
    kill(server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn watches_resume_after_a_kill_without_a_gap() {
    watches_resume(&Launch::new()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn watches_resume_after_a_kill_without_a_gap_on_etcd() {
    let etcd = Etcd::start(Version::New);
    watches_resume(&Launch::on_etcd(&etcd)).await;
}
