//! Admission of requests to a real store.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use bytes::Bytes;
use pintle_admission::{
    AdmissionStores, AdmissionType, Attributes, Chain, Clients, Cluster, Configurations, NoKinds, NoParams,
    Notes, Observation, Observer, Operation, PLUGINS, Phase, Plugin, Request, RequestAdmission, Result,
    StoredNamespaces, StoredObjects, StoredPriorityClasses, Target, TolerationSeconds, WebhookMetrics,
};
use pintle_auth::authorizer::PrivilegedGroup;
use pintle_cache::{Feed, Limits};
use pintle_features::Features;
use pintle_meta::gvk::{GroupVersionKind, GroupVersionResource};
use pintle_meta::{Reason, Value};
use pintle_metrics::Registry;
use pintle_outbound::hosts::Hosts;
use pintle_outbound::services::{Address, Resolver};
use pintle_registry::testing::{Put, Untyped, object as value};
use pintle_registry::{AdmitAll, Context, DeleteOptions, Store, StoreConfig, Strategy, WriteOptions};
use pintle_runtime::{Clock, Random, Tasks};
use pintle_storage_embedded::Options;

struct Anything;

impl Strategy for Anything {
    fn allows_unconditional_update(&self) -> bool {
        true
    }

    fn allows_create_on_update(&self) -> bool {
        true
    }
}

struct Fixture {
    namespaces: Arc<Store>,
    things: Store,
    _feed: Feed,
}

async fn fixture() -> Fixture {
    let backend = Arc::new(pintle_storage_embedded::Store::open(Options::memory()).unwrap());
    let feed = Feed::start(backend.clone(), Bytes::from_static(b"/r/"), Limits::default()).await.unwrap();
    let store = |resource: &str, kind: &str, namespaced| {
        let prefix = Bytes::from(format!("/r/{resource}/"));
        Store::new(StoreConfig {
            group: String::new(),
            resource: resource.into(),
            kind: kind.into(),
            namespaced,
            cache: feed.resource(prefix.clone(), || Arc::new(Untyped)),
            prefix,
            backend: backend.clone(),
            stored: Arc::new(Untyped),
            strategy: Arc::new(Anything),
        })
    };
    let (namespaces, things) = (store("namespaces", "Namespace", false), store("things", "Thing", true));
    Fixture { namespaces: Arc::new(namespaces), things, _feed: feed }
}

fn request(kind: &str, resource: &str, namespace: &str, name: &str) -> Request {
    let target = Target {
        kind: GroupVersionKind::new("", "v1", kind),
        resource: GroupVersionResource::new("", "v1", resource),
        ..Target::default()
    };
    Request { target: Arc::new(target), namespace: namespace.into(), name: name.into(), ..Request::default() }
}

/// Returns a cluster with all features on.
fn cluster(namespaces: Arc<Store>, phase: usize) -> Cluster {
    let metrics = Registry::default();
    Cluster {
        namespaces: Arc::new(StoredNamespaces::new(namespaces, phase)),
        objects: Arc::new(StoredObjects::new(AdmissionStores::default())),
        stores: AdmissionStores::default(),
        clients: Clients::default(),
        configurations: Configurations::default(),
        manifests: None,
        priority_classes: Arc::new(StoredPriorityClasses::new(None)),
        rest_mapper: Arc::new(NoKinds),
        param_kinds: Arc::new(NoParams),
        authorizer: Arc::new(PrivilegedGroup),
        features: Features::all(),
        toleration_seconds: TolerationSeconds { not_ready: 300, unreachable: 300 },
        services: Arc::new(NoServices),
        egress: None,
        hosts: Hosts::system(),
        webhook_metrics: Arc::new(WebhookMetrics::new(&metrics).unwrap()),
        metrics,
        spawner: Tasks::new().spawner(),
        clock: Clock::system(),
        random: Random::system(),
    }
}

/// Returns the configurations of plugins that cannot do without, and the file that one of them names.
fn configurations() -> (Configurations, tempfile::NamedTempFile) {
    let kubeconfig = tempfile::NamedTempFile::new().unwrap();
    let config = "{clusters: [{name: a, cluster: {server: 'http://127.0.0.1:1'}}], users: [{name: a, user: {}}], \
                  contexts: [{name: a, context: {cluster: a, user: a}}], current-context: a}";
    std::fs::write(&kubeconfig, config).unwrap();
    let images = format!("imagePolicy: {{kubeConfigFile: {}}}", kubeconfig.path().display());
    let events = "apiVersion: eventratelimit.admission.k8s.io/v1alpha1\nkind: Configuration\n\
                  limits: [{type: Server, qps: 1, burst: 1}]";
    let entry = |plugin: &str, text: &str| (plugin.to_owned(), Bytes::from(text.to_owned()));
    let configurations = [entry("ImagePolicyWebhook", &images), entry("EventRateLimit", events)];
    (Configurations::new(configurations), kubeconfig)
}

struct NoServices;

#[async_trait]
impl Resolver for NoServices {
    async fn resolve(&self, _: &str, name: &str, _: u16) -> std::result::Result<Address, String> {
        Err(format!("service {name:?} not found"))
    }
}

#[tokio::test]
async fn creates_follow_the_life_cycle_of_their_namespace() {
    let fixture = fixture().await;
    let cluster = cluster(fixture.namespaces.clone(), Untyped::PHASE);
    let chain = Chain::named(["NamespaceLifecycle"], &cluster).unwrap();
    let create = async |name: &str| {
        let object = value(&format!(r#"{{"metadata":{{"name":"{name}"}}}}"#));
        let admission = RequestAdmission::new(chain.clone(), request("Thing", "things", "n", ""));
        let object = admission.on_create(object).await?;
        let mut context = Context { namespace: "n".into(), ..Context::default() };
        fixture.things.create(&mut context, &object, &admission, WriteOptions::default()).await
    };
    assert_eq!(create("a").await.unwrap_err().message, "namespaces \"n\" not found");

    let namespace =
        value(r#"{"metadata":{"name":"n","finalizers":["x.com/y"]},"status":{"phase":"Active"}}"#);
    let mut context = Context::default();
    fixture.namespaces.create(&mut context, &namespace, &AdmitAll, WriteOptions::default()).await.unwrap();
    // Also while the cache does not have the namespace yet.
    create("a").await.unwrap();
    assert_eq!(cluster.namespaces.live("n").await.unwrap(), Some(Phase::Active));

    let admission = RequestAdmission::new(chain.clone(), request("Namespace", "namespaces", "", "n"));
    let deleted =
        fixture.namespaces.delete(&context, "n", &admission, DeleteOptions::default()).await.unwrap();
    assert!(!deleted.is_gone());
    let going =
        value(r#"{"metadata":{"name":"n","finalizers":["x.com/y"]},"status":{"phase":"Terminating"}}"#);
    let options = WriteOptions::default();
    fixture.namespaces.update(&mut context, "n", &mut Put(going), &AdmitAll, false, options).await.unwrap();
    let refused = create("b").await.unwrap_err();
    let text = "things \"b\" is forbidden: unable to create new content in namespace n because it is being terminated";
    assert_eq!(refused.message, text);

    let admission = RequestAdmission::new(chain, request("Namespace", "namespaces", "", "default"));
    let object = value(r#"{"metadata":{"name":"default"}}"#);
    fixture.namespaces.create(&mut context, &object, &AdmitAll, options).await.unwrap();
    let refused = fixture.namespaces.delete(&context, "default", &admission, DeleteOptions::default()).await;
    assert_eq!(refused.unwrap_err().reason, Reason::Forbidden);
}

/// Records its calls and marks objects.
#[derive(Default)]
struct Witness {
    seen: Mutex<Vec<String>>,
    marks: AtomicUsize,
}

impl Witness {
    fn note(&self, part: &str, attributes: &Attributes<'_>) {
        let shown = |object: Option<&Value>| {
            object.map_or("-".to_owned(), |object| object.text_at(&["mark"]).to_owned())
        };
        let line = format!(
            "{part} {:?} {:?} {} {}",
            attributes.operation,
            attributes.name(),
            shown(attributes.object()),
            shown(attributes.old_object())
        );
        self.seen.lock().unwrap().push(line);
    }
}

struct Shared(Arc<Witness>);

#[async_trait]
impl Plugin for Shared {
    fn name(&self) -> &'static str {
        "Witness"
    }

    fn admits(&self, _: Operation, _: &Target) -> bool {
        true
    }

    async fn admit(&self, attributes: &mut Attributes<'_>) -> Result<()> {
        self.0.note("admit", attributes);
        if let Some(object) = attributes.object_mut().and_then(Value::as_object_mut) {
            let mark = self.0.marks.fetch_add(1, Ordering::Relaxed);
            object.insert("mark", format!("m{mark}"));
        }
        Ok(())
    }

    fn validates(&self, _: Operation, _: &Target) -> bool {
        true
    }

    async fn validate(&self, attributes: &Attributes<'_>) -> Result<()> {
        self.0.note("validate", attributes);
        Ok(())
    }
}

#[tokio::test]
async fn validation_sees_the_mutated_object_and_the_generated_name() {
    let fixture = fixture().await;
    let witness = Arc::new(Witness::default());
    let plugin: Arc<dyn Plugin> = Arc::new(Shared(witness.clone()));
    // Twice: the second run sees the change of the first.
    let chain = Chain::new([plugin.clone(), plugin]);
    let mut context = Context { namespace: "n".into(), ..Context::default() };
    let admission = |name: &str| RequestAdmission::new(chain.clone(), request("Thing", "things", "n", name));
    let options = WriteOptions::default();
    let seen = || std::mem::take(&mut *witness.seen.lock().unwrap());

    let creating = admission("");
    let object = creating.on_create(value(r#"{"metadata":{"generateName":"a-"}}"#)).await.unwrap();
    let created = fixture.things.create(&mut context, &object, &creating, options).await.unwrap();
    let name = created.name().to_owned();
    let validate = format!("validate Create {name:?} m1 -");
    assert_eq!(seen(), ["admit Create \"\"  -", "admit Create \"\" m0 -", &validate, &validate]);

    let updating = admission(&name);
    let new = value(&format!(r#"{{"metadata":{{"name":"{name}"}}}}"#));
    let new = updating.on_update(new, &created).await.unwrap();
    fixture.things.update(&mut context, &name, &mut Put(new), &updating, false, options).await.unwrap();
    let lines = seen();
    assert_eq!(lines[0], format!("admit Update {name:?}  m1"));
    assert_eq!(lines.last().unwrap(), &format!("validate Update {name:?} m3 m1"));

    let deleting = admission(&name);
    fixture.things.delete(&context, &name, &deleting, DeleteOptions::default()).await.unwrap();
    let (admit, validate) = (format!("admit Delete {name:?} - m3"), format!("validate Delete {name:?} - m3"));
    assert_eq!(seen(), [&*admit, &*admit, &*validate, &*validate]);

    admission("p").on_connect(value("{}")).await.unwrap();
    assert_eq!(seen()[2], "validate Connect \"p\" m5 -");
}

#[tokio::test]
async fn the_first_rejection_is_the_answer() {
    let cluster = cluster(fixture().await.namespaces, 0);
    let refused = async |names: &[&str], object: &str| {
        let chain = Chain::named(names.iter().copied(), &cluster).unwrap();
        let admission = RequestAdmission::new(chain, request("Thing", "things", "n", ""));
        admission.on_create(value(object)).await.map_err(|status| status.message)
    };
    let named = r#"{"metadata":{"name":"a"}}"#;
    let denied = "is forbidden: admission control is denying all modifications";
    let both = ["NamespaceLifecycle", "AlwaysDeny"];
    assert_eq!(refused(&both, named).await.unwrap_err(), "namespaces \"n\" not found");
    assert_eq!(
        refused(&["AlwaysAdmit", "AlwaysDeny"], named).await.unwrap_err(),
        format!("things \"a\" {denied}")
    );
    let generated = r#"{"metadata":{"generateName":"a-"}}"#;
    assert_eq!(refused(&["AlwaysDeny"], generated).await.unwrap_err(), format!("things \"a-\" {denied}"));
    assert_eq!(refused(&["AlwaysDeny"], "{}").await.unwrap_err(), format!("things \"Unknown\" {denied}"));
    refused(&["AlwaysAdmit"], named).await.unwrap();
}

/// Changes the object in the first run and asks for a second one.
struct Reinvoking(Arc<Mutex<Vec<bool>>>);

#[async_trait]
impl Plugin for Reinvoking {
    fn name(&self) -> &'static str {
        "Reinvoking"
    }

    fn admits(&self, operation: Operation, _: &Target) -> bool {
        operation == Operation::Create
    }

    async fn admit(&self, attributes: &mut Attributes<'_>) -> Result<()> {
        let runs: &mut usize = attributes.reinvocation.record("Reinvoking").unwrap();
        *runs += 1;
        assert_eq!(*runs == 2, attributes.reinvocation.is_second_run());
        self.0.lock().unwrap().push(attributes.reinvocation.is_second_run());
        attributes.reinvocation.request();
        attributes.request.notes.warn("changed");
        attributes.request.notes.annotate("reinvoking.test/run", "changed").unwrap();
        Ok(())
    }
}

#[tokio::test]
async fn a_second_run_is_made_once_and_notes_are_kept() {
    let runs = Arc::new(Mutex::new(Vec::new()));
    let chain = Chain::new([Arc::new(Reinvoking(runs.clone())) as Arc<dyn Plugin>]);
    let notes = Notes::default();
    let request = Request { notes: notes.clone(), ..request("Thing", "things", "n", "") };
    RequestAdmission::new(chain, request).on_create(value("{}")).await.unwrap();
    assert_eq!(*runs.lock().unwrap(), [false, true]);
    assert_eq!(notes.take_warnings(), ["changed"]);
    assert_eq!(notes.annotations(pintle_admission::AuditLevel::Metadata)["reinvoking.test/run"], "changed");
}

#[derive(Default)]
struct Recorded(Mutex<Vec<String>>);

impl Recorded {
    fn add(&self, name: &str, observation: Observation) {
        let Observation { admission, operation, rejected, .. } = observation;
        let line = format!("{name} {} {} {rejected}", admission.as_str(), operation.as_str());
        self.0.lock().unwrap().push(line);
    }
}

impl Observer for Recorded {
    fn step(&self, observation: Observation) {
        self.add("step", observation);
    }

    fn plugin(&self, name: &'static str, observation: Observation) {
        self.add(name, observation);
    }
}

#[tokio::test]
async fn only_plugins_that_ran_are_measured() {
    let cluster = cluster(fixture().await.namespaces, 0);
    let recorded = Arc::new(Recorded::default());
    let chain =
        Chain::named(["NodeRestriction", "AlwaysDeny"], &cluster).unwrap().with_observer(recorded.clone());
    let admission = RequestAdmission::new(chain, request("Thing", "things", "n", ""));
    admission.on_create(value("{}")).await.unwrap_err();
    pintle_registry::Admission::create(&admission, &value("{}")).await.unwrap_err();
    let expect = [
        "AlwaysDeny admit CREATE true",
        "step admit CREATE true",
        "AlwaysDeny validate CREATE true",
        "step validate CREATE true",
    ];
    assert_eq!(*recorded.0.lock().unwrap(), expect);
    assert_eq!(AdmissionType::Admit.as_str(), "admit");
}

#[tokio::test]
async fn the_command_line_and_the_documentation_have_every_plugin() {
    let cluster = cluster(fixture().await.namespaces, 0);
    let known: Vec<_> =
        pintle_flags::ADMISSION_PLUGINS.iter().map(|plugin| (plugin.name, plugin.on)).collect();
    let made: Vec<_> = PLUGINS.iter().map(|plugin| (plugin.name, plugin.on_by_default)).collect();
    assert_eq!(made, known, "pintle_flags::ADMISSION_PLUGINS has the same, in the same order");
    let (configurations, _kubeconfig) = configurations();
    let cluster = Cluster { configurations, ..cluster };
    let chain = Chain::named(PLUGINS.iter().map(|plugin| plugin.name), &cluster).unwrap();
    assert!(
        chain.names().eq(PLUGINS.iter().map(|plugin| plugin.name)),
        "plugins have the names of the table"
    );
    let documentation = include_str!("../../../docs/admission.md");
    for plugin in pintle_flags::ADMISSION_PLUGINS {
        let default = if plugin.on { "on" } else { "off" };
        let row = format!("| `{}` | {default} |", plugin.name);
        assert!(documentation.contains(&row), "docs/admission.md has no row {row}");
    }
}
