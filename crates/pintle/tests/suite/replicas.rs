//! Two servers on one etcd: one control plane, whichever of them is asked.

use futures_util::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, ListParams, PostParams, VersionMatch, WatchParams};
use kube::{Api, ResourceExt};

use crate::kube_rs::watches::next;
use crate::kube_rs::{client, config_map, make_namespace};
use crate::support::etcd::{Etcd, Version};
use crate::support::shared::ready;
use crate::support::{Launch, Server, eventually};

/// Two servers, before the etcd that they need.
pub(crate) struct Pair {
    pub(crate) servers: [Server; 2],
    pub(crate) etcd: Etcd,
}

impl Pair {
    pub(crate) async fn start(version: Version) -> Pair {
        let etcd = Etcd::start(version);
        let (one, other) = (Launch::on_etcd(&etcd), Launch::on_etcd(&etcd));
        let (one, other) = tokio::join!(Box::pin(one.start()), Box::pin(other.start()));
        tokio::join!(Box::pin(ready(&one)), Box::pin(ready(&other)));
        Pair { servers: [one, other], etcd }
    }

    /// The same objects, through one and through the other.
    async fn apis(&self, namespace: &str) -> [Api<ConfigMap>; 2] {
        let [one, other] = &self.servers;
        let (one, other) = (client(one).await, client(other).await);
        make_namespace(&one, namespace).await;
        let apis = [Api::namespaced(one, namespace), Api::namespaced(other, namespace)];
        // The other server may see the new namespace a moment later.
        eventually("the namespace", async || {
            let dry = PostParams { dry_run: true, ..PostParams::default() };
            apis[1].create(&dry, &config_map("probe", "1")).await.is_ok()
        })
        .await;
        apis
    }
}

async fn version(api: &Api<ConfigMap>) -> String {
    let list = api.list(&ListParams::default()).await.expect("a list");
    list.metadata.resource_version.expect("a version")
}

/// Writes of all sorts, under names of its own.
async fn write(api: Api<ConfigMap>, writer: usize) {
    let post = PostParams::default();
    for number in 0..25 {
        let name = format!("w{writer}-{number}");
        api.create(&post, &config_map(&name, "1")).await.expect("created");
        api.replace(&name, &post, &config_map(&name, "2")).await.expect("replaced");
        if number % 3 == 0 {
            api.delete(&name, &DeleteParams::default()).await.expect("deleted");
        }
    }
}

/// All events until the one of `end`.
async fn watch(api: Api<ConfigMap>, start: String) -> Vec<(&'static str, String, u64)> {
    let params = WatchParams::default().disable_bookmarks();
    let mut events = api.watch(&params, &start).await.expect("a watch").boxed();
    let mut seen = Vec::new();
    loop {
        let event = next(&mut events).await;
        let last = event.1 == "end";
        seen.push(event);
        if last {
            return seen;
        }
    }
}

async fn writes_are_seen_in_one_order(etcd: Version) {
    let pair = Pair::start(etcd).await;
    let apis = pair.apis("order").await;
    let start = version(&apis[0]).await;
    let watchers = [0, 1, 0, 1].map(|at| tokio::spawn(watch(apis[at].clone(), start.clone())));
    let writers = [0, 1, 2, 3].map(|writer| tokio::spawn(write(apis[writer % 2].clone(), writer)));
    for writer in writers {
        writer.await.expect("no panic");
    }
    apis[0].create(&PostParams::default(), &config_map("end", "1")).await.expect("created");
    let mut sequences = Vec::new();
    for watcher in watchers {
        sequences.push(watcher.await.expect("no panic"));
    }
    let first = &sequences[0];
    // 25 created and replaced, 9 deleted, of each writer; and the end.
    assert_eq!(first.len(), 4 * (25 + 25 + 9) + 1);
    assert!(first.is_sorted_by(|one, next| one.2 < next.2), "{first:?}");
    for other in &sequences[1..] {
        assert_eq!(other, first);
    }
    // A watch that starts later from the same version gets the same events.
    assert_eq!(&watch(apis[1].clone(), start).await, first);
}

#[tokio::test(flavor = "multi_thread")]
async fn writes_on_both_are_seen_by_both_in_one_order() {
    writes_are_seen_in_one_order(Version::New).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn writes_on_both_are_seen_by_both_in_one_order_on_an_older_etcd() {
    writes_are_seen_in_one_order(Version::Old).await;
}

async fn a_list_sees_the_other(etcd: Version) {
    let pair = Pair::start(etcd).await;
    let apis = pair.apis("lists").await;
    let post = PostParams::default();
    for number in 0..40 {
        let (writer, reader) = (&apis[number % 2], &apis[(number + 1) % 2]);
        let name = format!("cm-{number:02}");
        let created = writer.create(&post, &config_map(&name, "1")).await.expect("created");
        let list = reader.list(&ListParams::default()).await.expect("a list");
        assert_eq!(list.items.len(), number + 1, "{name} is missing");
        assert_eq!(list.items[number].resource_version(), created.resource_version());
        assert_eq!(reader.get(&name).await.expect("there"), created);
        // And one that waits for the version it knows of.
        let known = created.resource_version().expect("a version");
        let newer = ListParams::default().at(&known).matching(VersionMatch::NotOlderThan);
        assert_eq!(reader.list(&newer).await.expect("a list").items.len(), number + 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_on_one_has_what_was_just_written_on_the_other() {
    a_list_sees_the_other(Version::New).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_on_one_has_what_was_just_written_on_the_other_on_an_older_etcd() {
    a_list_sees_the_other(Version::Old).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_of_one_are_continued_on_the_other() {
    let pair = Pair::start(Version::New).await;
    let apis = pair.apis("pages").await;
    let post = PostParams::default();
    let names: Vec<String> = (0..10).map(|number| format!("cm-{number}")).collect();
    for name in &names {
        apis[0].create(&post, &config_map(name, "1")).await.expect("created");
    }
    let (mut read, mut revision, mut token) = (Vec::new(), None, None);
    for page in 0.. {
        let mut params = ListParams::default().limit(3);
        params.continue_token = token.take();
        let list = apis[page % 2].list(&params).await.expect("a page");
        assert_eq!(
            revision.get_or_insert(list.metadata.resource_version.clone()),
            &list.metadata.resource_version
        );
        read.extend(list.items.iter().map(ResourceExt::name_any));
        token = list.metadata.continue_.filter(|token| !token.is_empty());
        if token.is_none() {
            break;
        }
        // Not part of what is being read.
        apis[page % 2].create(&post, &config_map(&format!("late-{page}"), "1")).await.expect("created");
    }
    assert_eq!(read, names);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_conflicting_writes_exactly_one_wins() {
    let pair = Pair::start(Version::New).await;
    let [one, other] = &pair.apis("conflicts").await;
    let post = PostParams::default();
    let code = |result: kube::Result<ConfigMap>| match result {
        Ok(_) => 200,
        Err(kube::Error::Api(status)) => status.code,
        Err(error) => panic!("{error}"),
    };
    for round in 0..20 {
        let name = format!("cm-{round}");
        let (first, second) = (config_map(&name, "one"), config_map(&name, "other"));
        let (left, right) = tokio::join!(one.create(&post, &first), other.create(&post, &second));
        let mut codes = [code(left), code(right)];
        codes.sort_unstable();
        assert_eq!(codes, [200, 409], "create, round {round}");

        let current = one.get(&name).await.expect("there");
        let [mut left, mut right] = [current.clone(), current];
        left.labels_mut().insert("value".into(), "left".into());
        right.labels_mut().insert("value".into(), "right".into());
        let (left, right) =
            tokio::join!(one.replace(&name, &post, &left), other.replace(&name, &post, &right));
        let winner = left.as_ref().or(right.as_ref()).expect("a winner").labels()["value"].clone();
        let mut codes = [code(left), code(right)];
        codes.sort_unstable();
        assert_eq!(codes, [200, 409], "replace, round {round}");
        assert_eq!(other.get(&name).await.expect("there").labels()["value"], winner);

        // Without a resource version both succeed: the later write replaces the earlier one.
        let (first, second) = (config_map(&name, "a"), config_map(&name, "b"));
        let (left, right) =
            tokio::join!(one.replace(&name, &post, &first), other.replace(&name, &post, &second));
        assert_eq!([code(left), code(right)], [200, 200], "unconditional, round {round}");
    }
}
