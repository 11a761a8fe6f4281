use super::*;
use crate::testing::{Case, Outcome, TestCluster, target, update};

async fn cluster() -> TestCluster {
    let cluster = TestCluster::new().await;
    for (name, labels, allocatable) in [
        ("linux", r#"{"kubernetes.io/os":"linux"}"#, r#"{"cpu":"4","memory":"8Gi"}"#),
        ("silent", "{}", r#"{"cpu":"4","memory":"8Gi"}"#),
        ("windows", r#"{"kubernetes.io/os":"windows"}"#, r#"{"cpu":"1m"}"#),
        ("empty", "{}", "{}"),
    ] {
        let node = format!(
            r#"{{"metadata":{{"name":"{name}","labels":{labels}}},"status":{{"allocatable":{allocatable}}}}}"#
        );
        cluster.put(Resource::Node, &node).await;
    }
    cluster
}

fn resize(node: &str, generation: i64, spec: &str) -> Case {
    let pod = |generation, spec: &str| {
        let metadata = format!(r#""metadata":{{"name":"p","generation":{generation}}}"#);
        format!(r#"{{{metadata},"spec":{{"nodeName":"{node}",{spec}}}}}"#)
    };
    update("pods/resize").named("p").old_json(&pod(1, r#""containers":[]"#)).json(&pod(generation, spec))
}

fn container(cpu: &str, memory: &str, rest: &str) -> String {
    format!(r#"{{"name":"c","resources":{{"requests":{{"cpu":"{cpu}","memory":"{memory}"}}}}{rest}}}"#)
}

/// Returns the reason and the type of the cause of a rejection.
fn shown(outcome: Outcome) -> Option<String> {
    let Outcome::Rejected(status) = &outcome else { return None };
    let causes = status.details.iter().flat_map(|details| &details.causes);
    let causes: Vec<String> = causes.map(|cause| format!("{:?}", cause.kind.unwrap())).collect();
    Some(format!("{causes:?} {}", outcome.why().unwrap()))
}

#[tokio::test]
async fn a_resize_must_fit_the_node() {
    const SMALL: &str = r#"["NodeCapacity"] node didn't have enough allocatable resources: "#;
    let cluster = cluster().await;
    let plugin = PodResizeValidator::new(&cluster.cluster);
    let containers = |list: &[String]| format!(r#""containers":[{}]"#, list.join(","));
    let sidecar = r#","restartPolicy":"Always""#;
    let with_init = |init: &[String], list: &[String]| {
        format!(r#""initContainers":[{}],{}"#, init.join(","), containers(list))
    };
    let one = container("1", "1Gi", "");
    for (node, spec, expected) in [
        ("linux", containers(&[container("4", "8Gi", "")]), None),
        ("silent", containers(&[container("2", "1Gi", ""), container("2", "1Gi", "")]), None),
        (
            "linux",
            containers(&[container("4001m", "8Gi", "")]),
            Some("cpu, requested: 4001, allocatable: 4000"),
        ),
        (
            "linux",
            containers(&[one.clone(), container("1", "8Gi", "")]),
            Some("memory, requested: 9663676416, allocatable: 8589934592"),
        ),
        (
            "linux",
            containers(&[container("10", "10Gi", "")]),
            Some(
                "cpu, requested: 10000, allocatable: 4000; memory, requested: 10737418240, allocatable: 8589934592",
            ),
        ),
        // Of a node that says nothing, nothing can be had.
        ("empty", containers(&[container("1m", "0", "")]), Some("cpu, requested: 1, allocatable: 0")),
        ("empty", containers(&[container("0", "0", "")]), None),
        ("empty", containers(&[r#"{"name":"c"}"#.to_owned()]), None),
        // Init containers run one after the other, beside the sidecars before them.
        (
            "linux",
            with_init(&[container("4", "1", ""), container("4", "1", "")], std::slice::from_ref(&one)),
            None,
        ),
        (
            "linux",
            with_init(&[container("1", "1", sidecar), container("4", "1", "")], &[]),
            Some("cpu, requested: 5000, allocatable: 4000"),
        ),
        (
            "linux",
            with_init(&[container("4", "1", ""), container("1", "1", sidecar)], std::slice::from_ref(&one)),
            None,
        ),
        (
            "linux",
            with_init(
                &[container("2", "1", sidecar), container("2", "1", sidecar)],
                &[container("1m", "1", "")],
            ),
            Some("cpu, requested: 4001, allocatable: 4000"),
        ),
        // Overhead is added.
        (
            "linux",
            format!(r#"{},"overhead":{{"cpu":"1m"}}"#, containers(&[container("4", "1", "")])),
            Some("cpu, requested: 4001, allocatable: 4000"),
        ),
        // A request of the pod replaces those of its containers, for its resource.
        (
            "linux",
            format!(
                r#"{},"resources":{{"requests":{{"cpu":"3"}}}}"#,
                containers(&[container("9", "1Gi", "")])
            ),
            None,
        ),
        (
            "linux",
            format!(
                r#"{},"overhead":{{"cpu":"1"}},"resources":{{"requests":{{"cpu":"4"}}}}"#,
                containers(&[container("1", "9Gi", "")])
            ),
            Some(
                "cpu, requested: 5000, allocatable: 4000; memory, requested: 9663676416, allocatable: 8589934592",
            ),
        ),
    ] {
        let outcome = resize(node, 2, &spec).run(&plugin).await;
        assert_eq!(shown(outcome), expected.map(|why| format!("{SMALL}{why}")), "{spec}");
        assert_eq!(shown(resize(node, 1, &spec).run(&plugin).await), None, "the spec is the same: {spec}");
    }
}

#[tokio::test]
async fn the_node_must_be_a_linux_one_that_exists() {
    let cluster = cluster().await;
    let plugin = PodResizeValidator::new(&cluster.cluster);
    let spec = format!(r#""containers":[{}]"#, container("9", "9Gi", ""));
    for (node, expected) in [
        (
            "windows",
            Some(
                r#"["UnsupportedPlatform"] pod resize is only supported on linux nodes, node "windows" is "windows""#,
            ),
        ),
        ("none", Some(r#"[] node "none" not found"#)),
        ("", None),
    ] {
        assert_eq!(shown(resize(node, 2, &spec).run(&plugin).await).as_deref(), expected, "{node}");
    }
}

#[tokio::test]
async fn only_resizes_are_handled() {
    let plugin = PodResizeValidator::new(&TestCluster::new().await.cluster);
    assert!(plugin.validates(Operation::Update, &target("pods/resize")));
    assert!(!plugin.validates(Operation::Create, &target("pods/resize")));
    for resource in ["pods", "pods/status", "pods.x.io/resize"] {
        assert!(!plugin.validates(Operation::Update, &target(resource)), "{resource}");
    }
}
