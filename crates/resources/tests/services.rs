//! Cluster IPs and node ports on a real store.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use bytes::Bytes;
use pintle_cache::{Feed, Limits};
use pintle_codec::json;
use pintle_meta::{Reason, Value};
use pintle_registry::testing::Put;
use pintle_registry::{
    AdmitAll, Client, Context, DeleteOptions, Record, Result, Store, StoreConfig, WriteOptions,
};
use pintle_resources::builtin::Builtin;
use pintle_resources::served::Version;
use pintle_resources::service::{Links, PortRange, ServiceAllocations, ServiceNetwork};
use pintle_resources::strategy::{self, Settings};
use pintle_schema::Resources;
use pintle_storage::Backend;
use pintle_storage_embedded::Options;

const PORTS: PortRange = PortRange { first: 30_000, last: 30_099 };

/// One server on a store.
struct Cluster {
    stores: HashMap<&'static str, Arc<Store>>,
    allocations: Arc<ServiceAllocations>,
    _feed: Feed,
}

fn memory() -> Arc<dyn Backend> {
    Arc::new(pintle_storage_embedded::Store::open(Options::memory()).expect("a store"))
}

fn object(kind: &str, text: &str) -> Value {
    let of = pintle_schema::find(kind).expect(kind);
    let mut value = json::decode(of, text.as_bytes()).expect(text).value;
    pintle_resources::defaults::apply(of, &mut value, &Default::default());
    value
}

fn service(name: &str, spec: &str) -> Value {
    object("core/v1.Service", &format!(r#"{{"metadata":{{"name":"{name}","namespace":"n"}},"spec":{spec}}}"#))
}

fn context(namespace: &str) -> Context {
    Context { namespace: namespace.into(), ..Context::default() }
}

fn addresses(service: &Value) -> Vec<String> {
    let items = service.items_at(&["spec", "clusterIPs"]).iter();
    items.map(|item| item.as_str().unwrap().to_owned()).collect()
}

fn ports(service: &Value) -> Vec<i64> {
    let ports = service.items_at(&["spec", "ports"]).iter();
    ports.filter_map(|port| port.get("nodePort").and_then(Value::as_i64)).collect()
}

impl Cluster {
    async fn on(backend: &Arc<dyn Backend>, dual_stack: bool) -> Cluster {
        let settings = Settings::default();
        let feed = Feed::start(backend.clone(), Bytes::from_static(b"/registry/"), Limits::default()).await;
        let feed = feed.expect("a feed");
        let resources = Resources::builtin().expect("resources");
        let network = ServiceNetwork {
            ipv6_first: false,
            dual_stack,
            node_ports: PORTS,
            random: settings.random.clone(),
        };
        let allocations = Arc::new(ServiceAllocations::new(network));
        let mut stores = HashMap::new();
        let mut addresses = None;
        for (group, name) in [
            ("", "services"),
            ("", "endpoints"),
            ("networking.k8s.io", "ipaddresses"),
            ("networking.k8s.io", "servicecidrs"),
        ] {
            let resource = resources.find(group, "v1", name).expect(name);
            let storage = resource.storage.expect("stored");
            let builtin = Builtin::new(storage.kind, &resources);
            let prefix = Bytes::from(format!("/registry/{}/", storage.path));
            let store = Store::new(StoreConfig {
                group: group.into(),
                resource: name.into(),
                kind: resource.kind.kind_name().into(),
                namespaced: resource.namespaced,
                cache: feed.resource(prefix.clone(), || builtin.clone()),
                prefix,
                backend: backend.clone(),
                stored: builtin.clone(),
                strategy: strategy::of(group, name, &settings).expect("a strategy"),
            });
            if name == "ipaddresses" {
                let served = Arc::new(Version::new(resource, Some(builtin)));
                let own = store.with_strategy(store.config().strategy.clone());
                addresses = Some(Client::new(Arc::new(own), served));
            }
            let store = match name {
                "services" => store.reserving(allocations.clone()),
                _ => store,
            };
            stores.insert(name, Arc::new(store));
        }
        let record = pintle_schema::find("core/v1.RangeAllocation").expect("a kind");
        allocations.connect(Links {
            services: Arc::downgrade(&stores["services"]),
            addresses: addresses.expect("addresses"),
            ranges: stores["servicecidrs"].clone(),
            endpoints: stores["endpoints"].clone(),
            ports: Record::new(
                backend.clone(),
                &b"/registry/ranges/servicenodeports"[..],
                Builtin::new(record, &resources),
            ),
        });
        Cluster { stores, allocations, _feed: feed }
    }

    async fn new(cidrs: &str) -> Cluster {
        let cluster = Cluster::on(&memory(), cidrs.contains(',')).await;
        cluster.add_range("kubernetes", cidrs).await;
        cluster
    }

    async fn add_range(&self, name: &str, cidrs: &str) {
        let text = format!(r#"{{"metadata":{{"name":"{name}"}},"spec":{{"cidrs":[{cidrs}]}}}}"#);
        let range = object("networking/v1.ServiceCIDR", &text);
        let options = WriteOptions::default();
        self.stores["servicecidrs"]
            .create(&mut context(""), &range, &AdmitAll, options)
            .await
            .expect("a range");
    }

    async fn create_with(&self, service: &Value, options: WriteOptions) -> Result<Value> {
        self.stores["services"].create(&mut context("n"), service, &AdmitAll, options).await
    }

    async fn create(&self, name: &str, spec: &str) -> Result<Value> {
        self.create_with(&service(name, spec), WriteOptions::default()).await
    }

    async fn update(&self, name: &str, spec: &str) -> Result<Value> {
        let mut put = Put(service(name, spec));
        let options = WriteOptions::default();
        let services = &self.stores["services"];
        Ok(services.update(&mut context("n"), name, &mut put, &AdmitAll, false, options).await?.object)
    }

    async fn delete(&self, name: &str) {
        let services = &self.stores["services"];
        services.delete(&context("n"), name, &AdmitAll, DeleteOptions::default()).await.expect("deleted");
    }

    async fn names(&self, resource: &str) -> Vec<String> {
        let all = self.stores[resource].list("").await.expect("a list");
        all.iter().map(|object| object.name().to_owned()).collect()
    }

    async fn message(&self, name: &str, spec: &str) -> String {
        self.create(name, spec).await.expect_err(spec).message
    }
}

#[tokio::test]
async fn an_address_is_an_object_as_long_as_its_service_is() {
    let cluster = Cluster::new(r#""10.0.0.0/24""#).await;
    let made = cluster.create("a", r#"{"ports":[{"port":80}]}"#).await.expect("created");
    let address = addresses(&made).remove(0);
    assert_eq!(made.text_at(&["spec", "clusterIP"]), address);
    let found = cluster.stores["ipaddresses"].get(&context(""), &address).await.expect("an address");
    assert_eq!(found.text_at(&["spec", "parentRef", "name"]), "a");
    assert_eq!(found.text_at(&["spec", "parentRef", "namespace"]), "n");
    assert_eq!(found.label("ipaddress.kubernetes.io/managed-by"), Some("ipallocator.k8s.io"));
    // The first ones are for those who choose.
    let last: u8 = address.rsplit('.').next().unwrap().parse().unwrap();
    assert!((17..=254).contains(&last), "{address}");
    let wanted = cluster.create("b", r#"{"ports":[{"port":80}],"clusterIP":"10.0.0.7"}"#).await;
    assert_eq!(addresses(&wanted.expect("created")), ["10.0.0.7"]);
    assert_eq!(
        cluster.message("c", r#"{"ports":[{"port":80}],"clusterIP":"10.0.0.7"}"#).await,
        r#"Service "c" is invalid: spec.clusterIPs: Invalid value: ["10.0.0.7"]: failed to allocate IP 10.0.0.7: provided IP is already allocated"#
    );
    assert_eq!(
        cluster.message("c", r#"{"ports":[{"port":80}],"clusterIP":"10.1.0.7"}"#).await,
        r#"Service "c" is invalid: spec.clusterIPs: Invalid value: ["10.1.0.7"]: failed to allocate IP 10.1.0.7: the provided network does not match the current range"#
    );
    cluster.delete("b").await;
    cluster.create("c", r#"{"ports":[{"port":80}],"clusterIP":"10.0.0.7"}"#).await.expect("free again");
    cluster.delete("a").await;
    assert_eq!(cluster.names("ipaddresses").await, ["10.0.0.7"]);
}

#[tokio::test]
async fn what_is_refused_leaves_nothing() {
    let cluster = Cluster::new(r#""10.0.0.0/24""#).await;
    let wrong = cluster.message("a", r#"{"type":"NodePort","ports":[{"port":0}]}"#).await;
    assert!(wrong.contains("spec.ports[0].port"), "{wrong}");
    let outside = cluster.message("a", r#"{"type":"NodePort","ports":[{"port":1,"nodePort":40000}]}"#).await;
    assert_eq!(
        outside,
        r#"Service "a" is invalid: spec.ports[0].nodePort: Invalid value: 40000: provided port is not in the valid range. The range of valid ports is 30000-30099"#
    );
    cluster.create("a", r#"{"type":"NodePort","ports":[{"port":1}]}"#).await.expect("created");
    let again = cluster.create("a", r#"{"type":"NodePort","ports":[{"port":1}]}"#).await.expect_err("exists");
    assert_eq!(again.reason, Reason::AlreadyExists);
    let dry = WriteOptions { dry_run: true };
    let guessed = service("b", r#"{"type":"NodePort","ports":[{"port":1}]}"#);
    let guessed = cluster.create_with(&guessed, dry).await.expect("a dry run");
    assert_eq!((addresses(&guessed), ports(&guessed)), (vec!["10.0.0.0".to_owned()], vec![32_769]));
    assert_eq!(cluster.names("ipaddresses").await.len(), 1);
    // All other ports are free.
    let many: Vec<String> = (0..99).map(|at| format!(r#"{{"name":"p{at}","port":{}}}"#, at + 1)).collect();
    let many = format!(r#"{{"type":"NodePort","ports":[{}]}}"#, many.join(","));
    let made = cluster.create("c", &many).await.expect("99 ports");
    assert_eq!(ports(&made).into_iter().collect::<BTreeSet<_>>().len(), 99);
    let full = cluster.message("d", r#"{"type":"NodePort","ports":[{"port":1}]}"#).await;
    assert!(full.ends_with("failed to allocate a nodePort: range is full"), "{full}");
    assert_eq!(cluster.names("ipaddresses").await.len(), 2);
}

#[tokio::test]
async fn types_change_and_what_they_need_with_them() {
    let cluster = Cluster::new(r#""10.0.0.0/24""#).await;
    let spec = |kind: &str, rest: &str| format!(r#"{{"type":"{kind}","ports":[{{"port":80}}]{rest}}}"#);
    let made = cluster.create("a", &spec("NodePort", "")).await.expect("created");
    let (address, port) = (addresses(&made), ports(&made));
    let again = cluster.update("a", &spec("NodePort", "")).await.expect("the same");
    assert_eq!((addresses(&again), ports(&again)), (address.clone(), port.clone()));
    let plain = cluster.update("a", &spec("ClusterIP", "")).await.expect("a cluster IP");
    assert_eq!((addresses(&plain), ports(&plain)), (address.clone(), vec![]));
    let wanted = format!(r#"{{"type":"NodePort","ports":[{{"port":80,"nodePort":{}}}]}}"#, port[0]);
    cluster.create("b", &wanted).await.expect("the port is free again");
    let balanced = cluster
        .update("a", &spec("LoadBalancer", r#","externalTrafficPolicy":"Local""#))
        .await
        .expect("a load balancer");
    let health = balanced.at(&["spec", "healthCheckNodePort"]).and_then(Value::as_i64).expect("a port");
    assert!(health != ports(&balanced)[0] && (30_000..30_100).contains(&health));
    let named = r#"{"type":"ExternalName","externalName":"a.example"}"#;
    let named = cluster.update("a", named).await.expect("a name");
    assert!(addresses(&named).is_empty() && named.at(&["spec", "ipFamilies"]).is_none());
    assert_eq!(cluster.names("ipaddresses").await.len(), 1, "only that of the other service");
    let back = cluster.update("a", &spec("ClusterIP", "")).await.expect("a cluster IP again");
    assert_eq!(addresses(&back).len(), 1);
    let fixed = r#"{"ports":[{"port":80}],"clusterIP":"10.0.0.200"}"#;
    let fixed = cluster.update("a", fixed).await.expect_err("it stays").message;
    assert!(fixed.ends_with(r#"["10.0.0.200"]: may not change once set"#), "{fixed}");
}

#[tokio::test]
async fn a_second_address_comes_and_goes() {
    let cluster = Cluster::new(r#""10.0.0.0/24","fd00::/112""#).await;
    let spec = |policy: &str| format!(r#"{{"ports":[{{"port":80}}],"ipFamilyPolicy":"{policy}"}}"#);
    let made = cluster.create("a", &spec("SingleStack")).await.expect("created");
    assert_eq!(addresses(&made).len(), 1);
    let both = cluster.update("a", &spec("RequireDualStack")).await.expect("both");
    assert_eq!(addresses(&both)[0], addresses(&made)[0]);
    assert!(addresses(&both)[1].starts_with("fd00::"), "{:?}", addresses(&both));
    assert_eq!(cluster.names("ipaddresses").await.len(), 2);
    let one = r#"{"ports":[{"port":80}],"ipFamilyPolicy":"SingleStack","ipFamilies":["IPv4"]}"#;
    let single = cluster
        .update(
            "a",
            &one.replace(
                "}]",
                &format!(r#"}}],"clusterIP":"{0}","clusterIPs":["{0}"]"#, addresses(&made)[0]),
            ),
        )
        .await;
    assert_eq!(addresses(&single.expect("one")), addresses(&made));
    assert_eq!(cluster.names("ipaddresses").await, addresses(&made));
}

#[tokio::test]
async fn headless_services_have_no_address() {
    let cluster = Cluster::new(r#""10.0.0.0/24""#).await;
    let made = cluster.create("a", r#"{"clusterIP":"None"}"#).await.expect("created");
    assert_eq!(addresses(&made), ["None"]);
    assert_eq!(made.text_at(&["spec", "ipFamilyPolicy"]), "RequireDualStack");
    cluster.delete("a").await;
    assert!(cluster.names("ipaddresses").await.is_empty());
}

#[tokio::test]
async fn more_ranges_are_used_when_one_is_full() {
    let cluster = Cluster::new(r#""10.0.0.0/29""#).await;
    for at in 0..6 {
        cluster.create(&format!("s{at}"), r#"{"ports":[{"port":80}]}"#).await.expect("there are six");
    }
    let full = cluster.message("more", r#"{"ports":[{"port":80}]}"#).await;
    assert!(full.ends_with(r#"failed to allocate a serviceIP for Service "more": range is full"#), "{full}");
    cluster.add_range("more", r#""10.9.0.0/28""#).await;
    let made = cluster.create("more", r#"{"ports":[{"port":80}]}"#).await.expect("of the other range");
    assert!(addresses(&made)[0].starts_with("10.9.0."), "{made:?}");
}

#[tokio::test]
async fn ports_of_one_number_share_a_node_port() {
    let cluster = Cluster::new(r#""10.0.0.0/24""#).await;
    let both =
        r#"{"type":"NodePort","ports":[{"name":"t","port":53},{"name":"u","port":53,"protocol":"UDP"}]}"#;
    let made = cluster.create("a", both).await.expect("created");
    assert_eq!(ports(&made)[0], ports(&made)[1]);
    let asked = both.replace(r#""protocol":"UDP""#, r#""protocol":"UDP","nodePort":30050"#);
    assert_eq!(ports(&cluster.create("b", &asked).await.expect("created")), [30_050, 30_050]);
    let taken = cluster.message("c", &asked).await;
    assert!(
        taken.ends_with("spec.ports[0].nodePort: Invalid value: 30050: provided port is already allocated"),
        "{taken}"
    );
}

#[tokio::test]
async fn many_at_once_on_two_servers_share_nothing() {
    let backend = memory();
    let servers =
        [Arc::new(Cluster::on(&backend, false).await), Arc::new(Cluster::on(&backend, false).await)];
    servers[0].add_range("kubernetes", r#""10.0.0.0/25""#).await;
    let mut tasks = Vec::new();
    for writer in 0..32 {
        let server = servers[writer % 2].clone();
        tasks.push(tokio::spawn(async move {
            let mut made = Vec::new();
            for at in 0..3 {
                let name = format!("s{writer}-{at}");
                let spec = r#"{"type":"NodePort","ports":[{"port":80}]}"#;
                made.push(server.create(&name, spec).await.expect("created"));
            }
            made
        }));
    }
    let (mut ips, mut node_ports) = (BTreeSet::new(), BTreeSet::new());
    for task in tasks {
        for service in task.await.expect("no panic") {
            assert!(ips.insert(addresses(&service).remove(0)), "{service:?}");
            assert!(node_ports.insert(ports(&service)[0]), "{service:?}");
        }
    }
    assert_eq!((ips.len(), node_ports.len()), (96, 96));
}

#[tokio::test]
async fn what_was_lost_is_repaired_before_anything_is_given_away() {
    let backend = memory();
    let before = Cluster::on(&backend, false).await;
    before.add_range("kubernetes", r#""10.0.0.0/29""#).await;
    let made = before.create("a", r#"{"type":"NodePort","ports":[{"port":80}]}"#).await.expect("created");
    // An address and a record of ports are lost; another address has no service.
    let ip = addresses(&made).remove(0);
    let addresses_of = &before.stores["ipaddresses"];
    addresses_of.delete(&context(""), &ip, &AdmitAll, DeleteOptions::default()).await.expect("lost");
    let key = &b"/registry/ranges/servicenodeports"[..];
    let (kept, _) = backend.get(key, None).await.expect("a record");
    let revision = kept.expect("a record").mod_revision;
    let lost = pintle_storage::Txn::delete(Bytes::from_static(key), revision);
    assert!(backend.txn(lost).await.expect("lost").succeeded);

    let after = Cluster::on(&backend, false).await;
    for at in 0..5 {
        let next =
            after.create(&format!("s{at}"), r#"{"ports":[{"port":80}]}"#).await.expect("there are five left");
        assert_ne!(addresses(&next)[0], ip);
    }
    let taken = format!(
        r#"{{"type":"NodePort","clusterIP":"None","ports":[{{"port":80,"nodePort":{}}}]}}"#,
        ports(&made)[0]
    );
    let taken = after.message("b", &taken).await;
    assert!(taken.ends_with("provided port is already allocated"), "{taken}");
    after.allocations.repair().await.expect("repaired");
    assert_eq!(after.names("ipaddresses").await.len(), 6);
}
