//! The configuration that every cluster has.

use pintle_auth::User;
use pintle_flow_control::{Digest, LevelSpec, SchemaSpec, Stats};

use crate::support::*;

pub(crate) fn levels() -> Vec<LevelSpec> {
    vec![
        level("exempt", r#"{"type":"Exempt","exempt":{"nominalConcurrencyShares":0,"lendablePercent":0}}"#),
        rejecting("catch-all", 5),
        queues("system", 30, 33, 64, 6),
        queues("node-high", 40, 25, 64, 6),
        queues("leader-election", 10, 0, 16, 4),
        queues("workload-high", 40, 50, 128, 6),
        queues("workload-low", 100, 90, 128, 6),
        queues("global-default", 20, 50, 128, 6),
    ]
}

pub(crate) fn schemas() -> Vec<SchemaSpec> {
    let everyone = [group("system:unauthenticated"), group("system:authenticated")].join(",");
    let nodes = group("system:nodes");
    let accounts = r#"{"kind":"ServiceAccount","serviceAccount":{"namespace":"kube-system","name":"*"}}"#;
    let leaders = [user_subject("system:kube-controller-manager"), accounts.to_owned()].join(",");
    let of = |subjects: &str, resources: &str, paths: &str| {
        format!(r#"{{"subjects":[{subjects}],"resourceRules":[{resources}],"nonResourceRules":[{paths}]}}"#)
    };
    let probes = r#"{"verbs":["get"],"nonResourceURLs":["/healthz","/readyz","/livez"]}"#;
    let leases = r#"{"verbs":["get","create","update"],"apiGroups":["coordination.k8s.io"],"resources":["leases"],
        "namespaces":["*"]}"#;
    let node_objects = r#"{"verbs":["*"],"apiGroups":[""],"resources":["nodes","nodes/status"],"clusterScope":true,
        "namespaces":["*"]}"#;
    vec![
        schema("exempt", "exempt", 1, "", &everything(&group("system:masters"))),
        schema("probes", "exempt", 2, "", &of(&everyone, "", probes)),
        schema("system-leader-election", "leader-election", 100, BY_USER, &of(&leaders, leases, "")),
        schema("system-node-high", "node-high", 400, BY_USER, &of(&nodes, node_objects, "")),
        schema("system-nodes", "system", 500, BY_USER, &everything(&nodes)),
        schema("kube-system-service-accounts", "workload-high", 900, BY_NAMESPACE, &everything(accounts)),
        schema(
            "service-accounts",
            "workload-low",
            9000,
            BY_USER,
            &everything(&group("system:serviceaccounts")),
        ),
        schema("global-default", "global-default", 9900, BY_USER, &everything(&everyone)),
        schema("catch-all", "catch-all", 10_000, BY_USER, &everything(&everyone)),
    ]
}

pub(crate) fn configured(seats: usize) -> Fixture {
    let fixture = fixture(seats);
    fixture.control.reconfigure(levels(), schemas());
    fixture
}

pub(crate) fn account(namespace: &str, name: &str) -> User {
    let own = format!("system:serviceaccounts:{namespace}");
    user(&format!("system:serviceaccount:{namespace}:{name}"), &["system:serviceaccounts", &own])
}

fn lease<'a>(user: &'a User, verb: &'a str) -> Digest<'a> {
    Digest { group: "coordination.k8s.io", resource: "leases", namespace: "kube-system", ..pods(user, verb) }
}

fn path<'a>(user: &'a User, path: &'a str) -> Digest<'a> {
    let nothing = Digest { resource: "", namespace: "", ..pods(user, "get") };
    Digest { is_resource: false, path, ..nothing }
}

#[test]
fn requests_find_the_flow_schemas_of_the_reference() {
    let fixture = configured(600);
    let (admin, nobody) = (user("admin", &["system:masters"]), User::anonymous());
    let (node, manager) =
        (user("system:node:a", &["system:nodes"]), user("system:kube-controller-manager", &[]));
    let (system, own, someone) = (account("kube-system", "x"), account("default", "x"), user("someone", &[]));
    let node_object = Digest { resource: "nodes", namespace: "", ..pods(&node, "patch") };
    let watched_lease = lease(&manager, "watch");
    for (digest, schema, level) in [
        (pods(&admin, "list"), "exempt", "exempt"),
        (path(&nobody, "/livez/ping"), "probes", "exempt"),
        (path(&nobody, "/livezz"), "global-default", "global-default"),
        (path(&someone, "/metrics"), "global-default", "global-default"),
        (lease(&manager, "update"), "system-leader-election", "leader-election"),
        (lease(&system, "get"), "system-leader-election", "leader-election"),
        (watched_lease, "global-default", "global-default"),
        (node_object, "system-node-high", "node-high"),
        (Digest { subresource: "status", ..node_object }, "system-node-high", "node-high"),
        (Digest { subresource: "proxy", ..node_object }, "system-nodes", "system"),
        (pods(&node, "list"), "system-nodes", "system"),
        (pods(&system, "list"), "kube-system-service-accounts", "workload-high"),
        (pods(&own, "list"), "service-accounts", "workload-low"),
        (pods(&someone, "create"), "global-default", "global-default"),
    ] {
        let found = fixture.admit(&digest).classification;
        assert_eq!((found.schema_name(), found.level_name()), (schema, level), "{digest:?}");
        assert_eq!(found.schema_uid(), format!("uid-of-{schema}"));
        assert_eq!(found.level_uid(), format!("uid-of-{level}"));
    }
    // A user without any group that a schema names.
    let stranger = User { name: "stranger".into(), ..User::default() };
    assert_eq!(fixture.admit(&pods(&stranger, "get")).classification.schema_name(), "catch-all");
}

#[test]
fn seats_are_shared_as_the_reference_shares_them() {
    let fixture = configured(600);
    // Shares of 245 of 600 seats, rounded up.
    for (level, nominal, least) in [
        ("exempt", 0.0, 0.0),
        ("catch-all", 13.0, 13.0),
        ("system", 74.0, 50.0),
        ("node-high", 98.0, 73.0),
        ("leader-election", 25.0, 25.0),
        ("workload-high", 98.0, 49.0),
        ("workload-low", 245.0, 24.0),
        ("global-default", 49.0, 24.0),
    ] {
        let figure = |name: &str| fixture.figure(&format!("{name}{{priority_level=\"{level}\"}}"));
        assert_eq!(figure("nominal_limit_seats"), nominal, "{level}");
        assert_eq!(figure("lower_limit_seats"), least, "{level}");
        assert_eq!(figure("upper_limit_seats"), nominal + 600.0, "{level}");
    }
}

#[test]
fn elections_and_nodes_pass_while_workload_levels_are_full() {
    let fixture = configured(600);
    let (own, system, someone) = (account("default", "x"), account("kube-system", "x"), user("someone", &[]));
    let full = [&own, &system, &someone].map(|user| fixture.fill(&pods(user, "get")));
    assert!(full.iter().all(|level| level.len() > 20), "{:?}", full.each_ref().map(Vec::len));
    for user in [&own, &system, &someone] {
        drop(fixture.waits(&pods(user, "get")));
    }
    let (node, manager) =
        (user("system:node:a", &["system:nodes"]), user("system:kube-controller-manager", &[]));
    drop(fixture.executes(&lease(&manager, "update")));
    drop(fixture.executes(&pods(&node, "list")));
    drop(fixture.executes(&Digest { resource: "nodes", namespace: "", ..pods(&node, "patch") }));
    drop(fixture.executes(&pods(&user("admin", &["system:masters"]), "list")));
    drop(fixture.executes(&path(&User::anonymous(), "/readyz")));
}

#[test]
fn exempt_requests_are_never_refused() {
    let fixture = configured(10);
    let admin = user("admin", &["system:masters"]);
    let all: Vec<_> = (0..5000).map(|_| fixture.executes(&pods(&admin, "list"))).collect();
    assert_eq!(all.len(), 5000);
    assert_eq!(
        fixture.figure("current_executing_requests{flow_schema=\"exempt\",priority_level=\"exempt\"}"),
        5000.0
    );
}

#[test]
fn a_list_of_10_000_pods_takes_the_seats_of_the_reference() {
    let fixture = configured(600);
    *fixture.pods.0.lock().unwrap() = Stats::Known { objects: 10_000, average_size: 4_400 };
    let seats = |level: &str, schema: &str| {
        let labels = format!("{{flow_schema=\"{schema}\",priority_level=\"{level}\"}}");
        fixture.figure(&format!("current_executing_seats{labels}"))
    };
    let own = account("default", "x");
    let list = fixture.executes(&pods(&own, "list"));
    // 44 MB, a megabyte at a time, 100 kB for each seat.
    assert_eq!(seats("workload-low", "service-accounts"), 10.0);
    drop(list);
    assert_eq!(seats("workload-low", "service-accounts"), 0.0);
    // No request takes more than 15 percent of the level's 49 seats.
    let someone = user("someone", &[]);
    let list = fixture.executes(&pods(&someone, "list"));
    assert_eq!(seats("global-default", "global-default"), 8.0);
    drop(list);
}
