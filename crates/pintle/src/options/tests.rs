//! Options of command lines.

use pintle_flags::{CommandLine, command_line};

use super::*;

/// Parses the arguments of a command line.
pub(crate) fn parsed(args: &[&str]) -> Parsed {
    match command_line("pintle", args.iter().map(Into::into), 0).unwrap() {
        CommandLine::Run(flags) => *flags,
        CommandLine::Print(_) => panic!("expected to run"),
    }
}

fn options(args: &[&str]) -> Options {
    Options::from_flags(&parsed(args)).unwrap()
}

#[test]
fn a_bare_server_stays_on_loopback_and_a_cluster_s_does_not() {
    let bind = |args: &[&str]| options(args).serving.bind_address.to_string();
    assert_eq!(bind(&["--data-dir=/d"]), "127.0.0.1");
    assert_eq!(bind(&["--data-dir=/d", "--bind-address=0.0.0.0"]), "0.0.0.0");
    assert_eq!(bind(&["--data-dir=/d", "--advertise-address=10.0.0.1"]), "0.0.0.0");
    assert_eq!(bind(&["--etcd-servers=http://127.0.0.1:2379"]), "0.0.0.0");
}

#[test]
fn a_watch_cache_is_on_unless_it_is_switched_off() {
    let cached = |args: &[&str], group: &str, resource: &str| {
        options(&[&["--data-dir=/d"], args].concat()).api.policy.of(group, resource).watch_cache
    };
    assert!(cached(&[], "", "pods") && !cached(&[], "", "events") && !cached(&[], "events.k8s.io", "events"));
    let sizes = ["--watch-cache-sizes=pods#0,deployments.apps#0,events#100,nodes#5"];
    assert!(!cached(&sizes, "", "pods") && !cached(&sizes, "apps", "deployments"));
    assert!(cached(&sizes, "", "events") && cached(&sizes, "", "nodes") && cached(&sizes, "", "deployments"));
    assert!(!cached(&["--watch-cache=false"], "", "nodes"));
    assert!(
        !options(&["--data-dir=/d", "--enable-garbage-collector=false"])
            .api
            .policy
            .options
            .garbage_collection
    );
}

#[test]
fn a_server_on_the_embedded_store_uses_node_and_rbac_authorization() {
    let modes = |args: &[&str]| options(args).authorization_modes.join(",");
    assert_eq!(modes(&["--data-dir=/d"]), "Node,RBAC");
    assert_eq!(modes(&["--data-dir=/d", "--authorization-mode=RBAC"]), "RBAC");
    assert_eq!(modes(&["--etcd-servers=http://127.0.0.1:2379"]), "AlwaysAllow");
    let both = ["--etcd-servers=http://127.0.0.1:2379", "--authorization-mode=Node,RBAC"];
    assert_eq!(modes(&both), "Node,RBAC");
    assert!(options(&["--data-dir=/d"]).allows_anonymous());
    assert!(!options(&["--data-dir=/d", "--authorization-mode=AlwaysAllow"]).allows_anonymous());
    assert!(!options(&["--data-dir=/d", "--anonymous-auth=false"]).allows_anonymous());
}

#[test]
fn node_restriction_is_on_by_default_on_the_embedded_store() {
    let restricts = |args: &[&str]| options(args).api.admission_plugins.contains(&"NodeRestriction");
    assert!(restricts(&["--data-dir=/d"]));
    assert!(!restricts(&["--data-dir=/d", "--disable-admission-plugins=NodeRestriction"]));
    // An explicit mode replaces the default as a whole, as in the reference.
    assert!(!restricts(&["--data-dir=/d", "--authorization-mode=Node,RBAC"]));
    assert!(!restricts(&["--etcd-servers=http://127.0.0.1:2379"]));
    let asked = "--enable-admission-plugins=NodeRestriction";
    assert!(restricts(&["--data-dir=/d", "--authorization-mode=Node,RBAC", asked]));
}

#[test]
fn certificates_live_beside_the_embedded_store_unless_told_otherwise() {
    let cert_dir = |args: &[&str]| options(args).serving.cert_dir;
    assert_eq!(cert_dir(&["--data-dir=/d"]), None);
    assert_eq!(cert_dir(&["--data-dir=/d", "--cert-dir=/c"]), Some("/c".into()));
    assert_eq!(cert_dir(&["--etcd-servers=http://127.0.0.1:2379"]), Some("/var/run/kubernetes".into()));
}

#[test]
fn storage_media_type_event_ttl_and_workers_have_the_reference_s_defaults() {
    let api = |args: &[&str]| options(args).api;
    let default = api(&["--data-dir=/d"]);
    assert_eq!((default.stored_as, default.delete_workers), (Encoding::Protobuf, 1));
    assert_eq!((default.event_ttl.as_secs(), default.min_request_timeout.as_secs()), (3600, 1800));
    assert_eq!(default.admission_plugins[0], "NamespaceLifecycle");
    assert_eq!(api(&["--data-dir=/d", "--storage-media-type=application/yaml"]).stored_as, Encoding::Yaml);
    assert_eq!(api(&["--data-dir=/d", "--storage-media-type="]).stored_as, Encoding::Json);
    assert_eq!(api(&["--data-dir=/d", "--delete-collection-workers=-3"]).delete_workers, 1);
    assert_eq!(api(&["--data-dir=/d", "--event-ttl=0"]).event_ttl, Duration::ZERO);
}

#[test]
fn toleration_seconds_come_from_flags() {
    let seconds = |args: &[&str]| {
        let TolerationSeconds { not_ready, unreachable } = options(args).api.toleration_seconds;
        (not_ready, unreachable)
    };
    assert_eq!(seconds(&["--data-dir=/d"]), (300, 300));
    let given = [
        "--data-dir=/d",
        "--default-not-ready-toleration-seconds=-1",
        "--default-unreachable-toleration-seconds=7",
    ];
    assert_eq!(seconds(&given), (-1, 7));
}

#[test]
fn etcd_servers_choose_the_store() {
    assert!(matches!(
        options(&["--data-dir=:memory:"]).store,
        StoreOptions::Embedded { location: DataDir::Memory, .. }
    ));
    let StoreOptions::Etcd(etcd) = options(&["--etcd-servers=http://a:1,http://b:2"]).store else { panic!() };
    assert_eq!((etcd.servers.len(), etcd.prefix.as_str()), (2, "/registry"));
}
