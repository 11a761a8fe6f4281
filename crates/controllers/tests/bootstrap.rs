//! Flow control's configuration, priority classes and the `kubernetes` Service on a real store.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use pintle_cache::{Feed, Limits};
use pintle_controllers::{
    DefaultServiceRange, FlowControl, KubernetesService, Peers, PriorityClasses, ServiceConfig,
};
use pintle_meta::Value;
use pintle_registry::{Client, Record, Store, StoreConfig};
use pintle_resources::builtin::Builtin;
use pintle_resources::served::Version;
use pintle_resources::service::{Links, PortRange, ServiceAllocations, ServiceNetwork};
use pintle_resources::strategy::{self, Settings};
use pintle_runtime::Clock;
use pintle_schema::Resources;
use pintle_storage::Backend;
use pintle_storage_embedded::Options;

mod support;

const FLOW_CONTROL: &str = "flowcontrol.apiserver.k8s.io";

struct Cluster {
    backend: Arc<dyn Backend>,
    resources: Resources,
    objects: HashMap<&'static str, Client>,
    _feed: Feed,
}

impl Cluster {
    async fn new() -> Cluster {
        let backend: Arc<dyn Backend> =
            Arc::new(pintle_storage_embedded::Store::open(Options::memory()).unwrap());
        let feed = Feed::start(backend.clone(), Bytes::from_static(b"/r/"), Limits::default()).await.unwrap();
        let resources = Resources::builtin().unwrap();
        let mut objects = HashMap::new();
        let network = ServiceNetwork {
            ipv6_first: false,
            dual_stack: false,
            node_ports: PortRange { first: 30_000, last: 32_767 },
            random: Settings::default().random,
        };
        let allocations = Arc::new(ServiceAllocations::new(network));
        let mut addresses = None;
        for (group, name) in [
            (FLOW_CONTROL, "flowschemas"),
            (FLOW_CONTROL, "prioritylevelconfigurations"),
            ("scheduling.k8s.io", "priorityclasses"),
            ("", "services"),
            ("", "endpoints"),
            ("discovery.k8s.io", "endpointslices"),
            ("networking.k8s.io", "ipaddresses"),
            ("networking.k8s.io", "servicecidrs"),
        ] {
            let resource = resources.find(group, "v1", name).unwrap();
            let builtin = Builtin::new(resource.storage.unwrap().kind, &resources);
            let prefix = Bytes::from(format!("/r/{name}/"));
            let store = Store::new(StoreConfig {
                group: group.into(),
                resource: name.into(),
                kind: resource.kind.kind_name().into(),
                namespaced: resource.namespaced,
                cache: feed.resource(prefix.clone(), || builtin.clone()),
                prefix,
                backend: backend.clone(),
                stored: builtin.clone(),
                strategy: strategy::of(group, name, &Settings::default()).unwrap(),
            });
            let served = Arc::new(Version::new(resource, Some(builtin)));
            let store = match name {
                "services" => store.reserving(allocations.clone()),
                _ => store,
            };
            if name == "ipaddresses" {
                let own = store.with_strategy(store.config().strategy.clone());
                addresses = Some(Client::new(Arc::new(own), served.clone()));
            }
            objects.insert(name, Client::new(Arc::new(store), served));
        }
        let stored = |name: &str| -> Arc<Store> { Client::store(&objects[name]).clone() };
        let record = pintle_schema::find("core/v1.RangeAllocation").unwrap();
        allocations.connect(Links {
            services: Arc::downgrade(&stored("services")),
            addresses: addresses.unwrap(),
            ranges: stored("servicecidrs"),
            endpoints: stored("endpoints"),
            ports: Record::new(backend.clone(), &b"/r/ranges/ports"[..], Builtin::new(record, &resources)),
        });
        Cluster { backend, resources, objects, _feed: feed }
    }

    fn of(&self, name: &str) -> Client {
        self.objects[name].clone()
    }

    fn flow_control(&self) -> FlowControl {
        let schemas = self.of("flowschemas");
        let status = strategy::of(FLOW_CONTROL, "flowschemas/status", &Settings::default()).unwrap();
        let statuses = Arc::new(schemas.store().with_strategy(status));
        FlowControl::new(self.of("prioritylevelconfigurations"), schemas, statuses, Clock::system(), true)
    }

    async fn get(&self, resource: &str, namespace: &str, name: &str) -> Option<Value> {
        self.of(resource).find(namespace, name).await.unwrap()
    }

    async fn revision(&self) -> u64 {
        self.backend.current_revision().await.unwrap().0
    }

    /// Changes an object as another field manager.
    async fn change(&self, resource: &str, name: &str, change: impl Fn(&mut Value) + Send + Sync) {
        let mut change = |old: &Value| {
            let mut new = old.clone();
            change(&mut new);
            Ok(Some(new))
        };
        self.of(resource).managed_by("somebody").update("", name, &mut change).await.unwrap();
    }
}

fn annotate(object: &mut Value, value: &str) {
    let annotations = object.at_mut(&["metadata", "annotations"]).and_then(Value::as_object_mut).unwrap();
    annotations.insert("apf.kubernetes.io/autoupdate-spec", value);
}

fn set_precedence(schema: &mut Value, precedence: i64) {
    schema.get_mut("spec").and_then(Value::as_object_mut).unwrap().insert("matchingPrecedence", precedence);
}

fn precedence(schema: &Value) -> i64 {
    schema.at(&["spec", "matchingPrecedence"]).and_then(Value::as_i64).unwrap()
}

#[tokio::test]
async fn flow_control_is_configured_in_one_commit_and_then_left_alone() {
    let cluster = Cluster::new().await;
    let before = cluster.revision().await;
    cluster.flow_control().sync().await;
    let schemas = cluster.of("flowschemas").store().list("").await.unwrap();
    let levels = cluster.of("prioritylevelconfigurations").store().list("").await.unwrap();
    assert_eq!((schemas.len(), levels.len()), (11, 8));
    for schema in &schemas {
        let conditions = schema.items_at(&["status", "conditions"]);
        assert_eq!(conditions.len(), 1, "{schema:?}");
        assert_eq!(conditions[0].text_at(&["status"]), "False");
        let level = schema.text_at(&["spec", "priorityLevelConfiguration", "name"]);
        assert_eq!(
            conditions[0].text_at(&["message"]),
            format!(
                "This FlowSchema references the PriorityLevelConfiguration object named {level:?} and it exists"
            )
        );
        assert_eq!(schema.annotation("apf.kubernetes.io/autoupdate-spec"), Some("true"));
    }
    let after = cluster.revision().await;
    assert_eq!(after - before, 11 + 8 + 11, "objects and statuses are written once");
    cluster.flow_control().sync().await;
    assert_eq!(cluster.revision().await, after, "nothing is written again");
}

#[tokio::test]
async fn mandatory_objects_are_set_back_and_suggestions_stay_changed_where_asked() {
    let cluster = Cluster::new().await;
    let control = cluster.flow_control();
    control.sync().await;
    // Validation keeps the spec of a mandatory object as it is.
    for name in ["service-accounts", "global-default"] {
        cluster.change("flowschemas", name, |schema| set_precedence(schema, 77)).await;
    }
    cluster.change("flowschemas", "catch-all", |schema| annotate(schema, "false")).await;
    cluster.change("flowschemas", "service-accounts", |schema| annotate(schema, "false")).await;
    control.sync().await;
    let get = async |name: &str| cluster.get("flowschemas", "", name).await.unwrap();
    let catch_all = get("catch-all").await;
    assert_eq!(precedence(&catch_all), 10_000);
    assert_eq!(catch_all.annotation("apf.kubernetes.io/autoupdate-spec"), Some("true"));
    assert_eq!(precedence(&get("service-accounts").await), 77, "somebody's own");
    assert_eq!(precedence(&get("global-default").await), 9_900, "ours, and changed by mistake");

    // A changed object whose annotation is not a boolean counts as the user's own from now on.
    cluster
        .change("flowschemas", "probes", |schema| {
            annotate(schema, "perhaps");
            set_precedence(schema, 3);
        })
        .await;
    control.sync().await;
    let probes = get("probes").await;
    assert_eq!(precedence(&probes), 3);
    assert_eq!(probes.annotation("apf.kubernetes.io/autoupdate-spec"), Some("false"));
}

#[tokio::test]
async fn missing_objects_are_restored_and_obsolete_ones_deleted() {
    let cluster = Cluster::new().await;
    let control = cluster.flow_control();
    control.sync().await;
    let probes = cluster.get("flowschemas", "", "probes").await.unwrap();
    cluster.of("flowschemas").delete("", &probes).await.unwrap();
    let schema = |name: &str, annotation: &str| {
        format!(
            r#"{{"apiVersion":"{FLOW_CONTROL}/v1","kind":"FlowSchema","metadata":{{"name":"{name}","annotations":{{{annotation}}}}},"spec":{{"priorityLevelConfiguration":{{"name":"nowhere"}}}}}}"#
        )
    };
    let ours = schema("old", r#""apf.kubernetes.io/autoupdate-spec":"true""#);
    for json in [ours, schema("own", "")] {
        cluster.of("flowschemas").create_if_missing("", json.as_bytes()).await.unwrap().unwrap();
    }
    control.sync().await;
    assert!(cluster.get("flowschemas", "", "probes").await.is_some());
    assert!(cluster.get("flowschemas", "", "old").await.is_none());
    let own = cluster.get("flowschemas", "", "own").await.unwrap();
    let condition = &own.items_at(&["status", "conditions"])[0];
    assert_eq!((condition.text_at(&["type"]), condition.text_at(&["status"])), ("Dangling", "True"));
    assert_eq!(
        condition.text_at(&["message"]),
        "This FlowSchema references the PriorityLevelConfiguration object named \"nowhere\" but there is no such object"
    );
}

#[tokio::test]
async fn flow_schemas_say_at_once_whether_their_priority_level_exists() {
    let cluster = Cluster::new().await;
    let controller = Arc::new(cluster.flow_control());
    let dangling = controller.dangling().unwrap();
    let _tasks = support::started(vec![controller, dangling], Clock::system()).await;
    let (schemas, levels) = (cluster.of("flowschemas"), cluster.of("prioritylevelconfigurations"));
    let says = async |status: &str, reason: &str| {
        for _ in 0..500 {
            let own = cluster.get("flowschemas", "", "own").await.unwrap();
            let conditions = own.items_at(&["status", "conditions"]);
            if conditions.iter().any(|condition| condition.text_at(&["status"]) == status) {
                assert_eq!(conditions[0].text_at(&["reason"]), reason);
                return own;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("it never said {status}");
    };
    let schema = format!(
        r#"{{"apiVersion":"{FLOW_CONTROL}/v1","kind":"FlowSchema","metadata":{{"name":"own"}},"spec":{{"priorityLevelConfiguration":{{"name":"level"}}}}}}"#
    );
    schemas.create_if_missing("", schema.as_bytes()).await.unwrap().unwrap();
    let own = says("True", "NotFound").await;
    let manager = &own.items_at(&["metadata", "managedFields"])[0];
    assert_eq!(
        ["manager", "operation", "subresource"].map(|field| manager.text_at(&[field])),
        ["api-priority-and-fairness-config-consumer-v1", "Apply", "status"]
    );
    let level = format!(
        r#"{{"apiVersion":"{FLOW_CONTROL}/v1","kind":"PriorityLevelConfiguration","metadata":{{"name":"level"}},"spec":{{"type":"Limited","limited":{{"nominalConcurrencyShares":1,"limitResponse":{{"type":"Reject"}}}}}}}}"#
    );
    let level = levels.create_if_missing("", level.as_bytes()).await.unwrap().unwrap();
    says("False", "Found").await;
    levels.delete("", &level).await.unwrap();
    let own = says("True", "NotFound").await;
    schemas.delete("", &own).await.unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(cluster.get("flowschemas", "", "own").await.is_none());
}

#[tokio::test]
async fn critical_pods_have_their_classes() {
    let cluster = Cluster::new().await;
    let classes = PriorityClasses::new(cluster.of("priorityclasses"));
    classes.sync().await;
    for (name, value) in [("system-node-critical", 2_000_001_000), ("system-cluster-critical", 2_000_000_000)]
    {
        let class = cluster.get("priorityclasses", "", name).await.unwrap();
        assert_eq!(class.get("value").and_then(Value::as_i64), Some(value));
        assert_eq!(class.text_at(&["preemptionPolicy"]), "PreemptLowerPriority");
    }
    let before = cluster.revision().await;
    classes.sync().await;
    assert_eq!(cluster.revision().await, before);
}

/// Servers that come and go.
struct Servers(Mutex<Vec<IpAddr>>, bool);

#[async_trait]
impl Peers for Servers {
    async fn join(&self) -> Result<Vec<IpAddr>, String> {
        Ok(self.0.lock().unwrap().clone())
    }

    async fn leave(&self) -> Result<Vec<IpAddr>, String> {
        self.0.lock().unwrap().remove(0);
        Ok(self.0.lock().unwrap().clone())
    }

    fn are_many(&self) -> bool {
        self.1
    }
}

fn default_range(cluster: &Cluster, cidrs: &[&str]) -> DefaultServiceRange {
    let ranges = cluster.of("servicecidrs");
    let status = strategy::of("networking.k8s.io", "servicecidrs/status", &Settings::default()).unwrap();
    let statuses = Arc::new(ranges.store().with_strategy(status));
    let cidrs = cidrs.iter().map(|cidr| (*cidr).to_owned()).collect();
    DefaultServiceRange::new(ranges, statuses, cidrs, Duration::from_secs(10))
}

#[tokio::test]
async fn the_default_range_is_there_and_ready_and_grows_by_a_family() {
    let cluster = Cluster::new().await;
    let range = default_range(&cluster, &["10.0.0.0/24"]);
    range.sync().await;
    let found = cluster.get("servicecidrs", "", "kubernetes").await.unwrap();
    let condition = &found.items_at(&["status", "conditions"])[0];
    assert_eq!((condition.text_at(&["type"]), condition.text_at(&["status"])), ("Ready", "True"));
    assert_eq!(condition.text_at(&["message"]), "Kubernetes default Service CIDR is ready");
    let managers: Vec<&str> = found
        .items_at(&["metadata", "managedFields"])
        .iter()
        .map(|entry| entry.text_at(&["manager"]))
        .collect();
    assert_eq!(managers, ["kubernetes-service-cidr-controller", "kube-apiserver"]);
    let before = cluster.revision().await;
    range.sync().await;
    // Others' networks are left alone.
    default_range(&cluster, &["10.1.0.0/24"]).sync().await;
    assert_eq!(cluster.revision().await, before);
    default_range(&cluster, &["10.0.0.0/24", "fd00::/112"]).sync().await;
    let found = cluster.get("servicecidrs", "", "kubernetes").await.unwrap();
    assert_eq!(found.items_at(&["spec", "cidrs"]).len(), 2);
}

fn service(cluster: &Cluster, peers: Option<Arc<Servers>>) -> KubernetesService {
    KubernetesService {
        services: cluster.of("services"),
        range: default_range(cluster, &["10.0.0.0/24"]),
        endpoints: cluster.of("endpoints"),
        slices: cluster.of("endpointslices"),
        config: ServiceConfig {
            service_ip: "10.0.0.1".parse().unwrap(),
            node_port: 0,
            port: 6443,
            peers: peers.map(|peers| peers as Arc<dyn Peers>),
            interval: Duration::from_secs(10),
        },
    }
}

async fn published(cluster: &Cluster) -> (Vec<String>, Vec<String>) {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let endpoints = cluster.get("endpoints", "default", "kubernetes").await.unwrap();
    let subsets = endpoints.items_at(&["subsets"]);
    let addresses = subsets.iter().flat_map(|subset| subset.items_at(&["addresses"]));
    let slice = cluster.get("endpointslices", "default", "kubernetes").await.unwrap();
    let slices = slice.items_at(&["endpoints"]).iter().flat_map(|endpoint| endpoint.items_at(&["addresses"]));
    (addresses.map(|address| address.text_at(&["ip"]).to_owned()).collect(), slices.map(text).collect())
}

#[tokio::test]
async fn the_service_and_its_endpoints_are_there_and_then_left_alone() {
    let cluster = Cluster::new().await;
    assert_eq!(cluster.resources.find("", "v1", "services").unwrap().name, "services");
    let peers = Arc::new(Servers(Mutex::new(vec!["192.0.2.1".parse().unwrap()]), false));
    let controller = service(&cluster, Some(peers));
    controller.sync().await;
    let found = cluster.get("services", "default", "kubernetes").await.unwrap();
    assert_eq!(found.text_at(&["spec", "clusterIP"]), "10.0.0.1");
    assert_eq!(found.text_at(&["spec", "type"]), "ClusterIP");
    let address = cluster.get("ipaddresses", "", "10.0.0.1").await.unwrap();
    assert_eq!(address.text_at(&["spec", "parentRef", "name"]), "kubernetes");
    let both = |address: &str| (vec![address.to_owned()], vec![address.to_owned()]);
    assert_eq!(published(&cluster).await, both("192.0.2.1"));
    let before = cluster.revision().await;
    controller.sync().await;
    controller.stop().await;
    assert_eq!(cluster.revision().await, before, "alone, it leaves everything as it is");
}

#[tokio::test]
async fn endpoints_follow_the_servers_that_there_are() {
    let cluster = Cluster::new().await;
    let addresses = ["192.0.2.2", "192.0.2.1"].map(|text| text.parse().unwrap());
    let peers = Arc::new(Servers(Mutex::new(addresses.to_vec()), true));
    let controller = service(&cluster, Some(peers.clone()));
    controller.sync().await;
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let two = names(&["192.0.2.1", "192.0.2.2"]);
    assert_eq!(published(&cluster).await, (two.clone(), two));
    controller.stop().await;
    let one = names(&["192.0.2.1"]);
    assert_eq!(published(&cluster).await, (one.clone(), one.clone()));
    // An empty list of servers is taken for an error of the store: the published endpoints stay.
    peers.0.lock().unwrap().clear();
    controller.sync().await;
    assert_eq!(published(&cluster).await, (one.clone(), one));
}

#[tokio::test]
async fn endpoints_may_be_somebody_else_s_business() {
    let cluster = Cluster::new().await;
    service(&cluster, None).sync().await;
    assert!(cluster.get("services", "default", "kubernetes").await.is_some());
    assert!(cluster.get("endpoints", "default", "kubernetes").await.is_none());
}
