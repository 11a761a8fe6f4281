//! Cost of admission policies: of 1,000 that do not match a request, and of one that does.

use std::collections::HashMap;
use std::sync::Arc;

use anyhow::Context as _;
use async_trait::async_trait;
use bytes::Bytes;
use pintle_admission::{
    AdmissionStores, Attributes, Chain, Clients, Cluster, Configurations, NoKinds, Operation, ParamKinds,
    ParamResource, Request, ServedVersions, StoredNamespaces, StoredObjects, StoredPriorityClasses, Target,
    TolerationSeconds, WebhookMetrics,
};
use pintle_auth::authorizer::AlwaysAllow;
use pintle_cache::{Feed, Limits};
use pintle_codec::json;
use pintle_codec::negotiate::Encoding;
use pintle_features::Features;
use pintle_meta::Value;
use pintle_meta::gvk::{GroupVersionKind, GroupVersionResource};
use pintle_metrics::Registry;
use pintle_outbound::hosts::Hosts;
use pintle_outbound::services::{Address, Resolver};
use pintle_registry::{AdmitAll, Context, Served, Store, StoreConfig, Strategy, WriteOptions};
use pintle_resources::builtin::Builtin;
use pintle_resources::served::Version;
use pintle_runtime::{Clock, Random, Tasks};
use pintle_schema::Resources;
use pintle_storage_embedded::Options;

use crate::codec::micros;
use crate::figures::show;

/// The resources that are stored: group and name.
const STORED: [(&str, &str); 4] = [
    ("", "namespaces"),
    ("", "configmaps"),
    ("admissionregistration.k8s.io", "validatingadmissionpolicies"),
    ("admissionregistration.k8s.io", "validatingadmissionpolicybindings"),
];

struct Anything;

impl Strategy for Anything {}

struct NoServices;

#[async_trait]
impl Resolver for NoServices {
    async fn resolve(&self, _: &str, name: &str, _: u16) -> Result<Address, String> {
        Err(format!("there is no service {name}"))
    }
}

/// Config maps are the only parameters.
struct ConfigMaps(ParamResource);

#[async_trait]
impl ParamKinds for ConfigMaps {
    async fn find(&self, kind: &GroupVersionKind) -> Option<ParamResource> {
        (kind.kind == "ConfigMap").then(|| self.0.clone())
    }
}

struct Stored {
    resources: Resources,
    stores: HashMap<&'static str, Arc<Store>>,
    served: HashMap<&'static str, Arc<dyn Served>>,
    _feed: Feed,
}

impl Stored {
    async fn open() -> anyhow::Result<Stored> {
        let backend = Arc::new(pintle_storage_embedded::Store::open(Options::memory())?);
        let feed = Feed::start(backend.clone(), Bytes::from_static(b"/r/"), Limits::default()).await?;
        let resources = Resources::builtin()?;
        let (mut stores, mut served) = (HashMap::new(), HashMap::new());
        for (group, name) in STORED {
            let resource = resources.find(group, "v1", name).context("a built-in resource")?;
            let builtin = Builtin::stored_as(Encoding::Protobuf, resource.kind, &resources);
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
                strategy: Arc::new(Anything),
            });
            stores.insert(name, Arc::new(store.read_your_writes()));
            served.insert(name, Arc::new(Version::new(resource, Some(builtin))) as Arc<dyn Served>);
        }
        Ok(Stored { resources, stores, served, _feed: feed })
    }

    async fn create(&self, name: &str, text: &str) -> anyhow::Result<()> {
        let object = self.served[name].parse(text.as_bytes()).map_err(anyhow::Error::msg)?.object;
        let object = self.served[name].to_stored(object).map_err(anyhow::Error::msg)?;
        let mut context = Context { namespace: object.namespace().into(), ..Context::default() };
        let created =
            self.stores[name].create(&mut context, &object, &AdmitAll, WriteOptions::default()).await;
        created.map_err(|status| anyhow::anyhow!(status.message))?;
        Ok(())
    }

    /// A policy on a resource with its binding.
    async fn bind(&self, name: &str, resource: &str, spec: &str, binding: &str) -> anyhow::Result<()> {
        let [.., (_, policies), (_, bindings)] = STORED;
        let rule = format!(
            r#"{{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE","UPDATE"],"resources":["{resource}"]}}"#
        );
        let policy = format!(
            r#"{{"metadata":{{"name":"{name}"}},"spec":{{"matchConstraints":{{"resourceRules":[{rule}]}},{spec}}}}}"#
        );
        self.create(policies, &policy).await?;
        let binding = format!(
            r#"{{"metadata":{{"name":"{name}"}},"spec":{{"policyName":"{name}","validationActions":["Deny"]{binding}}}}}"#
        );
        self.create(bindings, &binding).await
    }

    fn chain(&self, tasks: &Tasks) -> anyhow::Result<Chain> {
        let stores = AdmissionStores::new(|path| self.stores.get(path).cloned());
        let metrics = Registry::default();
        let params = ParamResource {
            store: self.stores["configmaps"].clone(),
            served: self.served["configmaps"].clone(),
        };
        let cluster = Cluster {
            namespaces: Arc::new(StoredNamespaces::new(self.stores["namespaces"].clone(), 0)),
            objects: Arc::new(StoredObjects::new(stores.clone())),
            stores,
            clients: Clients::default(),
            configurations: Configurations::default(),
            manifests: None,
            priority_classes: Arc::new(StoredPriorityClasses::new(None)),
            rest_mapper: Arc::new(NoKinds),
            param_kinds: Arc::new(ConfigMaps(params)),
            authorizer: Arc::new(AlwaysAllow),
            features: Features::default(),
            toleration_seconds: TolerationSeconds { not_ready: 300, unreachable: 300 },
            services: Arc::new(NoServices),
            egress: None,
            hosts: Hosts::system(),
            webhook_metrics: Arc::new(WebhookMetrics::new(&metrics)?),
            metrics,
            spawner: tasks.spawner(),
            clock: Clock::system(),
            random: Random::system(),
        };
        Chain::named(["ValidatingAdmissionPolicy"], &cluster).map_err(anyhow::Error::msg)
    }

    /// A request to create a pod.
    fn request(&self) -> anyhow::Result<(Request, Value)> {
        let resource = self.resources.find("", "v1", "pods").context("pods")?;
        let pods = GroupVersionResource::new("", "v1", "pods");
        let builtin = Builtin::stored_as(Encoding::Protobuf, resource.kind, &self.resources);
        let served: Arc<dyn Served> = Arc::new(Version::new(resource, Some(builtin)));
        let kind = served.kind().clone();
        let versions = ServedVersions::new([(pods.clone(), served)]);
        let target = Target { kind, resource: pods, ..Target::default() };
        let request = Request {
            target: Arc::new(target),
            namespace: "default".into(),
            name: "web".into(),
            conversion: Some(Arc::new(versions)),
            ..Request::default()
        };
        let text = r#"{"metadata":{"name":"web","labels":{"app":"web","owner":"team-a"}},"spec":{"containers":[{"name":"a","image":"registry.example.com/a:1","resources":{"limits":{"cpu":"1","memory":"1Gi"}}},{"name":"b","image":"registry.example.com/b:1","resources":{"limits":{"cpu":"1","memory":"1Gi"}}}]}}"#;
        Ok((request, json::decode(resource.kind, text.as_bytes())?.value))
    }
}

const MATCHING: &str = r#""paramKind":{"apiVersion":"v1","kind":"ConfigMap"},"validations":[{"expression":"object.spec.containers.all(c, c.image.startsWith(params.data.registry))","message":"a registry"},{"expression":"params.data.label in object.metadata.labels"},{"expression":"!object.spec.?hostNetwork.orValue(false) && object.spec.containers.all(c, has(c.resources.limits))"}]"#;

pub(crate) fn measure(runtime: &tokio::runtime::Runtime) -> anyhow::Result<()> {
    let _entered = runtime.enter();
    let tasks = Tasks::new();
    let (stored, chain) = runtime.block_on(async {
        let stored = Stored::open().await?;
        stored.create("namespaces", r#"{"metadata":{"name":"default"}}"#).await?;
        let map = r#"{"metadata":{"name":"p","namespace":"default"},"data":{"registry":"registry.example.com/","label":"owner"}}"#;
        stored.create("configmaps", map).await?;
        for number in 0..1000 {
            let spec = format!(r#""validations":[{{"expression":"object.metadata.name != 's{number}'"}}]"#);
            stored.bind(&format!("other-{number}"), "secrets", &spec, "").await?;
        }
        let chain = stored.chain(&tasks)?;
        anyhow::Ok((stored, chain))
    })?;
    let (request, pod) = stored.request()?;
    let validate = || -> anyhow::Result<()> {
        let attributes = Attributes::new(&request, Operation::Create, Some(pod.clone()), None);
        let validated = futures_util::future::FutureExt::now_or_never(chain.validate(&attributes));
        validated.context("it waits")?.map_err(|status| anyhow::anyhow!(status.message))
    };
    let figure = |name: &str| {
        let time = micros(&mut || {
            std::hint::black_box(validate().is_ok());
        });
        show(name, time, "us");
    };
    runtime.block_on(async {
        let attributes = Attributes::new(&request, Operation::Create, Some(pod.clone()), None);
        chain.validate(&attributes).await.map_err(|status| anyhow::anyhow!(status.message))
    })?;
    validate()?;
    figure("admission policies, 1,000 that do not match");
    runtime.block_on(async {
        let reference = r#","paramRef":{"name":"p","parameterNotFoundAction":"Deny"}"#;
        stored.bind("matching", "pods", MATCHING, reference).await?;
        let attributes = Attributes::new(&request, Operation::Create, Some(pod.clone()), None);
        chain.validate(&attributes).await.map_err(|status| anyhow::anyhow!(status.message))
    })?;
    validate()?;
    figure("admission policies, one of 1,001 that matches: a parameter, three validations");
    Ok(())
}
