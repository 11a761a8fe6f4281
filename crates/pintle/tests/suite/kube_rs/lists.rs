//! Lists: pages, versions, selectors, metadata alone.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{ListParams, PostParams, VersionMatch};
use kube::{Api, ResourceExt};

use super::{api, client, config_map, refused};
use crate::support::shared::{Shared, on_both_stores};

on_both_stores! {
    pages_are_one_list,
    a_list_can_be_asked_for_at_a_version,
    a_list_sees_every_write_before_it,
    metadata_is_listed_alone,
    namespaces_are_listed_together,
}

async fn fill(api: &Api<ConfigMap>, count: usize) -> Vec<String> {
    let mut names = Vec::new();
    for number in 0..count {
        let name = format!("cm-{number:03}");
        api.create(&PostParams::default(), &config_map(&name, ["a", "b"][number % 2]))
            .await
            .expect("created");
        names.push(name);
    }
    names
}

/// All names of a list that is read in pages, changing what is there between them.
async fn paged(api: &Api<ConfigMap>, params: ListParams, disturb: bool) -> Vec<String> {
    let (mut names, mut next, mut version) = (Vec::new(), params.clone(), None);
    for page in 0.. {
        let list = api.list(&next).await.expect("a page");
        let first = version.get_or_insert_with(|| list.metadata.resource_version.clone());
        assert_eq!(&list.metadata.resource_version, first, "all pages are of one revision");
        names.extend(list.items.iter().map(ResourceExt::name_any));
        let Some(token) = list.metadata.continue_.filter(|token| !token.is_empty()) else {
            assert_eq!(list.metadata.remaining_item_count, None);
            return names;
        };
        if disturb {
            let name = format!("zz-{page}");
            api.create(&PostParams::default(), &config_map(&name, "a")).await.expect("created");
            let last = names.last().expect("a page has items").clone();
            let _ = api.delete(&last, &Default::default()).await.expect("deleted");
        }
        next = params.clone().continue_token(&token);
    }
    unreachable!()
}

async fn pages_are_one_list(shared: &Shared) {
    let api: Api<ConfigMap> = api(shared, "lists-pages").await;
    let names = fill(&api, 23).await;
    for limit in [1, 5, 22, 23, 24] {
        assert_eq!(paged(&api, ListParams::default().limit(limit), false).await, names, "{limit} at a time");
    }
    let page = api.list(&ListParams::default().limit(5)).await.expect("a page");
    assert_eq!(page.metadata.remaining_item_count, Some(18));
    let selected = paged(&api, ListParams::default().labels("value=b").limit(3), false).await;
    assert_eq!(selected, names.iter().skip(1).step_by(2).cloned().collect::<Vec<_>>());
    let page = api.list(&ListParams::default().labels("value=b").limit(3)).await.expect("a page");
    assert_eq!(page.metadata.remaining_item_count, None, "unknown where something is selected");
    assert_eq!(paged(&api, ListParams::default().limit(4), true).await, names, "as it was at the first page");
    let status = refused(api.list(&ListParams::default().continue_token("nonsense")).await);
    assert_eq!((status.code, status.reason.as_str()), (400, "BadRequest"));
}

async fn a_list_can_be_asked_for_at_a_version(shared: &Shared) {
    let api: Api<ConfigMap> = api(shared, "lists-versions").await;
    fill(&api, 3).await;
    let before =
        api.list(&ListParams::default()).await.expect("a list").metadata.resource_version.expect("a version");
    api.create(&PostParams::default(), &config_map("later", "a")).await.expect("created");
    let exact = ListParams::default().at(&before).matching(VersionMatch::Exact);
    let list = api.list(&exact).await.expect("as it was");
    assert_eq!((list.items.len(), list.metadata.resource_version.as_deref()), (3, Some(before.as_str())));
    let newer = ListParams::default().at(&before).matching(VersionMatch::NotOlderThan);
    assert!(api.list(&newer).await.expect("a list").items.len() >= 3);
    assert!(api.list(&ListParams::default().match_any()).await.expect("a list").items.len() >= 3);
    // kube-rs would try this again and again.
    let future = "/api/v1/namespaces/lists-versions/configmaps?resourceVersion=1000000000";
    let answer = shared.server.admin().get(future).await;
    let message = "Timeout: Too large resource version: 1000000000, current: ";
    assert!(answer.code == 504 && answer.body.contains(message), "{answer:?}");
}

async fn a_list_sees_every_write_before_it(shared: &Shared) {
    let api: Api<ConfigMap> = api(shared, "lists-consistent").await;
    for number in 0..50 {
        api.create(&PostParams::default(), &config_map(&format!("cm-{number}"), "a")).await.expect("created");
        let names = api.list(&ListParams::default()).await.expect("a list").items.len();
        assert_eq!(names, number + 1);
    }
}

async fn metadata_is_listed_alone(shared: &Shared) {
    let api: Api<ConfigMap> = api(shared, "lists-metadata").await;
    let names = fill(&api, 4).await;
    let list = api.list_metadata(&ListParams::default()).await.expect("a list");
    assert_eq!(list.items.iter().map(ResourceExt::name_any).collect::<Vec<_>>(), names);
    for item in &list.items {
        let types = item.types.as_ref().expect("a kind");
        assert_eq!(
            (types.api_version.as_str(), types.kind.as_str()),
            ("meta.k8s.io/v1", "PartialObjectMetadata")
        );
    }
    let one = api.get_metadata("cm-001").await.expect("there");
    assert_eq!(one.labels()["value"], "b");
    assert_eq!(one.metadata, api.get("cm-001").await.expect("there").metadata);
}

async fn namespaces_are_listed_together(shared: &Shared) {
    let mut expect = BTreeSet::new();
    for namespace in ["lists-here", "lists-there"] {
        let api: Api<ConfigMap> = api(shared, namespace).await;
        let mut object = config_map("one", "a");
        object.labels_mut().insert("suite".into(), "together".into());
        api.create(&PostParams::default(), &object).await.expect("created");
        expect.insert(Some(namespace.to_owned()));
    }
    let all: Api<ConfigMap> = Api::all(client(&shared.server).await);
    let list = all.list(&ListParams::default().labels("suite=together")).await.expect("a list");
    assert_eq!(list.iter().map(ResourceExt::namespace).collect::<BTreeSet<_>>(), expect);
    let fields = "metadata.namespace=lists-there";
    let list =
        all.list(&ListParams::default().labels("suite=together").fields(fields)).await.expect("a list");
    assert_eq!(list.items.len(), 1);
}
