use std::time::Duration;

use pintle_runtime::ManualClock;

use super::*;
use crate::testing::{Case, Outcome, TestCluster, create, target, text, update};

const NAMESPACE: &str = "n";

/// Returns the plugin in a cluster with LimitRanges of these limits, one each.
async fn plugin(ranges: &[&str]) -> (TestCluster, LimitRanger) {
    let cluster = TestCluster::new().await;
    for (place, limits) in ranges.iter().enumerate() {
        put(&cluster, &format!("r{place}"), limits).await;
    }
    let plugin = LimitRanger::new(&cluster.cluster);
    (cluster, plugin)
}

async fn put(cluster: &TestCluster, name: &str, limits: &str) {
    let json = format!(
        r#"{{"metadata":{{"name":"{name}","namespace":"{NAMESPACE}"}},"spec":{{"limits":[{limits}]}}}}"#
    );
    cluster.put(Resource::LimitRange, &json).await;
}

fn resources(requests: &str, limits: &str) -> String {
    format!(r#""resources":{{"requests":{{{requests}}},"limits":{{{limits}}}}}"#)
}

/// Returns a pod with one container that has these fields.
fn pod(container: &str) -> Case {
    spec(&format!(r#""containers":[{{"name":"c"{container}}}]"#))
}

fn spec(spec: &str) -> Case {
    let json = format!(r#"{{"metadata":{{"name":"p"}},"spec":{{{spec}}}}}"#);
    create("pods").in_namespace(NAMESPACE).json(&json)
}

/// Returns the resources of all containers and the annotation, or the reason of a rejection.
fn shown(outcome: Outcome) -> String {
    if matches!(outcome, Outcome::Rejected(_)) {
        return outcome.why().unwrap_or_default();
    }
    let pod = outcome.normal("core/v1.Pod");
    let lists = ["containers", "initContainers"];
    let containers = lists.into_iter().flat_map(|list| pod.items_at(&["spec", list]));
    let mut shown: Vec<String> =
        containers.map(|container| container.get("resources").map(text).unwrap_or_default()).collect();
    shown.extend(pod.annotation(ANNOTATION).map(str::to_owned));
    shown.join(" | ")
}

const DEFAULTS: &str = r#"{"type":"Container","default":{"cpu":"75m","memory":"10Mi"},"defaultRequest":{"cpu":"50m","memory":"5Mi"}}"#;

#[tokio::test]
async fn containers_get_the_defaults_that_they_lack() {
    let (_cluster, plugin) = plugin(&[DEFAULTS]).await;
    let all = r#"{"limits":{"cpu":"75m","memory":"10Mi"},"requests":{"cpu":"50m","memory":"5Mi"}}"#;
    for (container, expected) in [
        (
            String::new(),
            format!(
                "{all} | LimitRanger plugin set: cpu, memory request for container c; cpu, memory limit for container c"
            ),
        ),
        (
            format!(",{}", resources(r#""cpu":"10m""#, r#""memory":"20Mi""#)),
            r#"{"limits":{"cpu":"75m","memory":"20Mi"},"requests":{"cpu":"10m","memory":"5Mi"}} | LimitRanger plugin set: memory request for container c; cpu limit for container c"#.into(),
        ),
        (
            format!(",{}", resources(r#""cpu":"1m","memory":"1Mi""#, r#""cpu":"1m","memory":"1Mi""#)),
            r#"{"limits":{"cpu":"1m","memory":"1Mi"},"requests":{"cpu":"1m","memory":"1Mi"}}"#.into(),
        ),
        (
            format!(",{}", resources(r#""example.com/gpu":"1""#, r#""example.com/gpu":"1","cpu":"0""#)),
            r#"{"limits":{"cpu":"0","example.com/gpu":"1","memory":"10Mi"},"requests":{"cpu":"50m","example.com/gpu":"1","memory":"5Mi"}} | LimitRanger plugin set: cpu, memory request for container c; memory limit for container c"#.into(),
        ),
    ] {
        assert_eq!(shown(pod(&container).run(&plugin).await), expected, "{container}");
    }
    let several = spec(r#""containers":[{"name":"a"}],"initContainers":[{"name":"i"}]"#);
    assert_eq!(
        shown(several.run(&plugin).await),
        format!(
            "{all} | {all} | LimitRanger plugin set: cpu, memory request for container a; cpu, memory limit for container \
             a; cpu, memory request for init container i; cpu, memory limit for init container i"
        )
    );
    let elsewhere = pod("").in_namespace("other").run(&plugin).await;
    assert_eq!(shown(elsewhere), "{}");
}

#[tokio::test]
async fn each_range_writes_the_annotation_anew() {
    let memory =
        r#"{"type":"Container","default":{"memory":"1Gi"}},{"type":"Container","default":{"memory":"2Gi"}}"#;
    let none = r#"{"type":"Pod","max":{"cpu":"9"}},{"type":"Container","default":{"memory":"7Gi"}}"#;
    let cpu = r#"{"type":"Container","defaultRequest":{"cpu":"1"}}"#;
    let (_cluster, plugin) = plugin(&[memory, cpu, none]).await;
    let case = pod("");
    let mut attributes = case.attributes();
    plugin.admit(&mut attributes).await.unwrap();
    let admitted = attributes.object().unwrap();
    assert_eq!(
        text(admitted.items_at(&["spec", "containers"])[0].get("resources").unwrap()),
        r#"{"limits":{"memory":"2Gi"},"requests":{"cpu":"1"}}"#,
        "the last of a range, the first of ranges"
    );
    assert_eq!(admitted.annotation(ANNOTATION), Some("LimitRanger plugin set: cpu request for container c"));
}

/// Checks a pod with these resources of its container against one limit.
async fn check(limit: &str, requests: &str, limits: &str, expected: &str) {
    let (_cluster, plugin) = plugin(&[limit]).await;
    let why = pod(&format!(",{}", resources(requests, limits))).run(&plugin).await.why();
    assert_eq!(why.as_deref().unwrap_or(""), expected, "{limit} {requests} {limits}");
}

#[tokio::test]
async fn containers_stay_within_minima_maxima_and_ratios() {
    let cpu = |amount: &str| format!(r#""cpu":"{amount}""#);
    let min = r#"{"type":"Container","min":{"cpu":"50m"}}"#;
    let min_is = "minimum cpu usage per Container is 50m";
    check(min, &cpu("50m"), "", "").await;
    check(min, &cpu("60m"), &cpu("70m"), "").await;
    check(min, "", "", &format!("{min_is}.  No request is specified")).await;
    check(min, "", &cpu("1"), &format!("{min_is}.  No request is specified")).await;
    check(min, &cpu("40m"), &cpu("1"), &format!("{min_is}, but request is 40m")).await;
    check(min, &cpu("60m"), &cpu("40m"), &format!("{min_is}, but limit is 40m")).await;

    let max = r#"{"type":"Container","max":{"cpu":"1"}}"#;
    let max_is = "maximum cpu usage per Container is 1";
    check(max, &cpu("500m"), &cpu("1"), "").await;
    check(max, "", &cpu("1000m"), "").await;
    check(max, &cpu("1"), "", &format!("{max_is}.  No limit is specified")).await;
    check(max, "", &cpu("1100m"), &format!("{max_is}, but limit is 1100m")).await;
    check(max, &cpu("2"), &cpu("1"), &format!("{max_is}, but request is 2")).await;
    let huge = r#"{"type":"Container","max":{"memory":"9Pi"}}"#;
    check(huge, "", r#""memory":"9.5Pi""#, "maximum memory usage per Container is 9Pi, but limit is 9728Ti")
        .await;
    check(huge, "", r#""memory":"7Ei""#, "maximum memory usage per Container is 9Pi, but limit is 7Ei").await;

    let ratio = r#"{"type":"Container","maxLimitRequestRatio":{"cpu":"1500m"}}"#;
    let ratio_is = "cpu max limit to request ratio per Container is 1500m";
    check(ratio, &cpu("2"), &cpu("3"), "").await;
    check(ratio, &cpu("3"), &cpu("5"), &format!("{ratio_is}, but provided ratio is 1.666667")).await;
    check(ratio, "", &cpu("1"), &format!("{ratio_is}, but no request is specified or request is 0")).await;
    check(ratio, &cpu("0"), &cpu("1"), &format!("{ratio_is}, but no request is specified or request is 0"))
        .await;
    check(ratio, &cpu("1"), "", &format!("{ratio_is}, but no limit is specified or limit is 0")).await;
}

#[tokio::test]
async fn errors_of_one_range_come_together_and_without_repetition() {
    let strict = r#"{"type":"Container","min":{"cpu":"1","memory":"1Gi"},"max":{"cpu":"2"}},{"type":"Pod","max":{"cpu":"3"}}"#;
    let (_cluster, plugin) = plugin(&[strict, r#"{"type":"Pod","max":{"memory":"1"}}"#]).await;
    let case = spec(
        r#""containers":[{"name":"a"},{"name":"b"}],"initContainers":[{"name":"i","resources":{"limits":{"cpu":"9"},"requests":{"cpu":"1","memory":"2Gi"}}}]"#,
    );
    assert_eq!(
        case.run(&plugin).await.why().unwrap(),
        "[minimum cpu usage per Container is 1.  No request is specified, minimum memory usage per Container is 1Gi.  No \
         request is specified, maximum cpu usage per Container is 2.  No limit is specified, maximum cpu usage per \
         Container is 2, but limit is 9, maximum cpu usage per Pod is 3, but limit is 9]"
    );
}

#[tokio::test]
async fn pods_are_limited_as_a_whole() {
    let (_cluster, plugin) =
        plugin(&[r#"{"type":"Pod","max":{"cpu":"3"},"min":{"cpu":"1"},"maxLimitRequestRatio":{"cpu":"2"}}"#])
            .await;
    let cpu = |name: &str, amount: &str, rest: &str| {
        let amount = format!(r#""cpu":"{amount}""#);
        format!(r#"{{"name":"{name}",{}{rest}}}"#, resources(&amount, &amount))
    };
    let of = |containers: &[String], init: &[String], rest: &str| {
        spec(&format!(
            r#""containers":[{}],"initContainers":[{}]{rest}"#,
            containers.join(","),
            init.join(",")
        ))
    };
    let sidecar = r#","restartPolicy":"Always""#;
    let overhead = r#","overhead":{"cpu":"9"}"#;
    let is = "maximum cpu usage per Pod is 3, but limit is";
    for (case, expected) in [
        (of(&[cpu("a", "1", ""), cpu("b", "2", "")], &[], ""), String::new()),
        (of(&[cpu("a", "2", ""), cpu("b", "2", "")], &[], ""), format!("{is} 4")),
        (of(&[cpu("a", "1", "")], &[cpu("i", "3", "")], ""), String::new()),
        (of(&[cpu("a", "1", "")], &[cpu("i", "3500m", "")], ""), format!("{is} 3500m")),
        (of(&[cpu("a", "2", "")], &[cpu("s", "2", sidecar)], ""), format!("{is} 4")),
        (of(&[cpu("a", "1", "")], &[], overhead), String::new()),
        (
            of(
                &[cpu("a", "2", ""), cpu("b", "2", "")],
                &[],
                r#","resources":{"requests":{"cpu":"2"},"limits":{"cpu":"2"}}"#,
            ),
            String::new(),
        ),
    ] {
        assert_eq!(case.run(&plugin).await.why().unwrap_or_default(), expected);
    }
}

#[tokio::test]
async fn own_resources_of_pods_count_only_with_their_gate() {
    let mut cluster = TestCluster::new().await;
    put(&cluster, "r", r#"{"type":"Pod","max":{"cpu":"1"}}"#).await;
    let own = r#""containers":[],"resources":{"limits":{"cpu":"2"}}"#;
    let why = spec(own).run(&LimitRanger::new(&cluster.cluster)).await.why();
    assert_eq!(why.unwrap(), "maximum cpu usage per Pod is 1, but limit is 2");
    cluster.cluster.features = cluster.cluster.features.with(Feature::PodLevelResources, false);
    let why = spec(own).run(&LimitRanger::new(&cluster.cluster)).await.why();
    assert_eq!(why.unwrap(), "maximum cpu usage per Pod is 1.  No limit is specified");
}

#[tokio::test]
async fn volume_claims_request_storage_within_limits() {
    let (_cluster, plugin) = plugin(&[
        r#"{"type":"PersistentVolumeClaim","min":{"storage":"1Gi"},"max":{"storage":"2Gi"}},{"type":"Container","min":{"storage":"9Gi"}}"#,
    ])
    .await;
    for (storage, expected) in [
        (r#""storage":"1Gi""#, ""),
        (r#""storage":"2Gi""#, ""),
        (
            r#""storage":"500Mi""#,
            "minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 500Mi",
        ),
        (r#""storage":"3Gi""#, "maximum storage usage per PersistentVolumeClaim is 2Gi, but request is 3Gi"),
        (
            "",
            "[minimum storage usage per PersistentVolumeClaim is 1Gi.  No request is specified, maximum storage usage per \
             PersistentVolumeClaim is 2Gi.  No request is specified]",
        ),
    ] {
        let claim =
            format!(r#"{{"metadata":{{"name":"c"}},"spec":{{"resources":{{"requests":{{{storage}}}}}}}}}"#);
        for case in [create("persistentvolumeclaims"), update("persistentvolumeclaims").old_json("{}")] {
            let outcome = case.in_namespace(NAMESPACE).json(&claim).run(&plugin).await;
            assert_eq!(outcome.why().unwrap_or_default(), expected, "{storage}");
        }
        let deleted = r#"{"metadata":{"deletionTimestamp":"2026-01-01T00:00:00Z"}}"#;
        let case = update("persistentvolumeclaims").in_namespace(NAMESPACE).old_json(deleted).json(&claim);
        assert_eq!(case.run(&plugin).await.why(), None, "an object that is being deleted");
    }
}

#[tokio::test]
async fn pods_are_checked_when_they_are_created_or_resized() {
    let (_cluster, plugin) = plugin(&[r#"{"type":"Container","max":{"cpu":"1"}}"#, DEFAULTS]).await;
    let large = format!(r#"{{"spec":{{"containers":[{{"name":"c",{}}}]}}}}"#, resources("", r#""cpu":"2""#));
    let resize = update("pods/resize").in_namespace(NAMESPACE).old_json("{}").json(&large);
    assert_eq!(
        resize.run(&plugin).await.why().unwrap(),
        "maximum cpu usage per Container is 1, but limit is 2"
    );
    for (operation, resource, admits, validates) in [
        (Operation::Create, "pods", true, true),
        (Operation::Update, "pods", false, false),
        (Operation::Update, "pods/resize", true, true),
        (Operation::Update, "pods/status", false, false),
        (Operation::Create, "pods/binding", false, false),
        (Operation::Delete, "pods", false, false),
        (Operation::Create, "persistentvolumeclaims", false, true),
        (Operation::Update, "persistentvolumeclaims", false, true),
        (Operation::Update, "persistentvolumeclaims/status", false, false),
        (Operation::Create, "pods.example.com", false, false),
        (Operation::Create, "services", false, false),
    ] {
        let target = target(resource);
        assert_eq!(plugin.admits(operation, &target), admits, "{operation:?} {resource}");
        assert_eq!(plugin.validates(operation, &target), validates, "{operation:?} {resource}");
    }
}

#[tokio::test]
async fn a_range_applies_at_once_and_until_it_is_gone() {
    let (cluster, plugin) = plugin(&[]).await;
    assert_eq!(shown(pod("").run(&plugin).await), "{}");
    put(&cluster, "r", r#"{"type":"Container","max":{"cpu":"1"}}"#).await;
    assert!(pod("").run(&plugin).await.why().is_some());
    put(&cluster, "r", r#"{"type":"Container","default":{"cpu":"1"}}"#).await;
    assert!(shown(pod("").run(&plugin).await).contains("cpu limit for container c"));
}

#[tokio::test]
async fn the_store_is_asked_again_after_half_a_minute() {
    let cluster = TestCluster::new().await;
    let clock = ManualClock::starting_at(std::time::UNIX_EPOCH);
    let store = cluster.cluster.stores.get(Resource::LimitRange).unwrap();
    let live = LiveLookups::new(store, &clock.clock());
    assert_eq!(live.of(NAMESPACE).await.unwrap().len(), 0);
    put(&cluster, "r", DEFAULTS).await;
    clock.advance(Duration::from_secs(30));
    assert_eq!(live.of(NAMESPACE).await.unwrap().len(), 0);
    assert_eq!(live.of("other").await.unwrap().len(), 0);
    clock.advance(Duration::from_millis(1));
    assert_eq!(live.of(NAMESPACE).await.unwrap().len(), 1);
    assert_eq!(live.of("other").await.unwrap().len(), 0);
}
