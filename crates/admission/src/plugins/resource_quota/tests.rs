//! Cases of whole requests against quotas in memory, with conflicts on demand.

use std::collections::BTreeMap;
use std::sync::Mutex;

use pintle_meta::value::Object;
use pintle_quota::{NoSurroundings, ResourceList};
use pintle_runtime::{Clock, Tasks};

use super::*;
use crate::testing::{Case, Outcome, TestCluster, create, decoded, target, update};

const NAMESPACE: &str = "n";

/// Quotas in memory, with versions as in a store.
#[derive(Default)]
struct Memory {
    quotas: Mutex<BTreeMap<String, Quota>>,
    writes: Mutex<Vec<String>>,
    /// Writes of other servers, each done just before one of this server's: name and new usage, or the deletion of the quota.
    rivals: Mutex<Vec<(&'static str, Option<&'static str>)>>,
    /// Cached quotas stay as they were.
    frozen: Mutex<Option<Vec<Arc<Quota>>>>,
}

fn list(text: &str) -> ResourceList {
    let pairs = text.split(',').filter(|pair| !pair.is_empty());
    let pairs = pairs.map(|pair| pair.rsplit_once('=').expect("an amount"));
    ResourceList::read(Some(&Object::from_iter(pairs).into()))
}

impl Memory {
    fn put(&self, name: &str, scopes: &str, hard: &str, used: &str) {
        let json = format!(
            r#"{{"metadata":{{"name":"{name}","namespace":"{NAMESPACE}","resourceVersion":"1"}},"spec":{{{scopes}}}}}"#
        );
        let mut quota = Quota::read(&decoded("core/v1.ResourceQuota", &json));
        (quota.hard, quota.used) = (list(hard), list(used));
        self.quotas.lock().unwrap().insert(name.into(), quota);
    }

    fn set(&self, name: &str, used: ResourceList) {
        let mut quotas = self.quotas.lock().unwrap();
        let quota = quotas.get_mut(name).expect("the quota");
        let version: u64 = quota.resource_version.parse().expect("a version");
        quota.resource_version = (version + 1).to_string();
        quota.used = used;
    }

    fn used(&self) -> String {
        let quotas = self.quotas.lock().unwrap();
        quotas.values().map(|quota| quota.used.to_string()).collect::<Vec<_>>().join(" ")
    }
}

#[async_trait]
impl QuotaAccess for Arc<Memory> {
    async fn quotas(&self, namespace: &str) -> Result<Vec<Arc<Quota>>> {
        if let Some(frozen) = &*self.frozen.lock().unwrap() {
            return Ok(frozen.clone());
        }
        let quotas = self.quotas.lock().unwrap();
        Ok(quotas.values().filter(|quota| quota.namespace == namespace).cloned().map(Arc::new).collect())
    }

    async fn write(&self, quota: &Quota, used: &ResourceList) -> Result<()> {
        let rival = self.rivals.lock().unwrap().pop();
        match rival {
            Some((name, Some(used))) => self.set(name, list(used)),
            Some((name, None)) => drop(self.quotas.lock().unwrap().remove(name)),
            None => {}
        }
        // Other requests join the same batch meanwhile.
        tokio::task::yield_now().await;
        let version =
            self.quotas.lock().unwrap().get(&quota.name).map(|quota| quota.resource_version.clone());
        match version {
            None => Err(Box::new(Status::not_found("", "resourcequotas", &quota.name))),
            Some(version) if version != quota.resource_version => {
                Err(Box::new(Status::conflict("", "resourcequotas", &quota.name, "stale")))
            }
            Some(_) => {
                self.set(&quota.name, used.clone());
                self.writes.lock().unwrap().push(format!("{} {used}", quota.name));
                Ok(())
            }
        }
    }

    async fn read(&self, quota: &Quota) -> Result<Option<Arc<Quota>>> {
        Ok(self.quotas.lock().unwrap().get(&quota.name).cloned().map(Arc::new))
    }
}

struct Setup {
    memory: Arc<Memory>,
    plugin: ResourceQuota,
    _tasks: Tasks,
}

impl Setup {
    fn new() -> Setup {
        Setup::limited("")
    }

    /// With limited resources of the configuration, as YAML.
    fn limited(limited: &str) -> Setup {
        let head =
            "apiVersion: apiserver.config.k8s.io/v1\nkind: ResourceQuotaConfiguration\nlimitedResources:";
        let limited = match limited {
            "" => Vec::new(),
            limited => configuration::read(format!("{head}\n{limited}").as_bytes()).expect("a configuration"),
        };
        let (memory, tasks) = (Arc::new(Memory::default()), Tasks::new());
        let evaluators = Evaluators::new(pintle_features::Features::default(), Arc::new(NoSurroundings));
        let charger = Charger { access: Box::new(memory.clone()), evaluators, limited };
        let plugin = ResourceQuota {
            charger: Arc::new(charger),
            surroundings: Arc::new(StoredSurroundings::new(None, None, None, Clock::system())),
            batches: Batches::new(tasks.spawner()),
        };
        Setup { memory, plugin, _tasks: tasks }
    }

    fn quota(self, name: &str, scopes: &str, hard: &str, used: &str) -> Setup {
        self.memory.put(name, scopes, hard, used);
        self
    }

    /// Returns the reason of a rejection, or else the usage of all quotas.
    async fn run(&self, case: Case) -> String {
        match case.in_namespace(NAMESPACE).run(&self.plugin).await {
            Outcome::Rejected(status) => match status.message.split_once(" is forbidden: ") {
                Some((_, why)) => why.to_owned(),
                None => format!("{} {}", status.code, status.message),
            },
            _ => self.memory.used(),
        }
    }
}

fn pod(spec: &str) -> Case {
    create("pods").json(&pod_json(spec))
}

fn pod_json(spec: &str) -> String {
    format!(r#"{{"metadata":{{"name":"p","resourceVersion":"1"}},"spec":{{{spec}}}}}"#)
}

fn cpu(request: &str) -> String {
    let resources = format!(r#"{{"requests":{{"cpu":"{request}"}}}}"#);
    format!(r#""containers":[{{"name":"c","resources":{resources}}}]"#)
}

fn service(spec: &str) -> String {
    format!(r#"{{"metadata":{{"name":"s","resourceVersion":"1"}},"spec":{{{spec}}}}}"#)
}

fn claim(storage: &str, class: &str, version: &str) -> String {
    format!(
        r#"{{"metadata":{{"name":"c","resourceVersion":"{version}"}},"spec":{{"volumeAttributesClassName":"{class}","resources":{{"requests":{{"storage":"{storage}"}}}}}}}}"#
    )
}

#[test]
fn only_operations_that_may_add_usage_are_handled() {
    let setup = Setup::new();
    for (operation, resource, expected) in [
        (Operation::Create, "pods", true),
        (Operation::Create, "widgets.example.com", true),
        (Operation::Create, "events", false),
        (Operation::Create, "events.events.k8s.io", false),
        (Operation::Create, "localsubjectaccessreviews.authorization.k8s.io", false),
        (Operation::Create, "pods/binding", false),
        (Operation::Create, "serviceaccounts/token", false),
        (Operation::Update, "pods", true),
        (Operation::Update, "pods/resize", true),
        (Operation::Update, "pods/status", false),
        (Operation::Update, "services", true),
        (Operation::Update, "services/status", false),
        (Operation::Update, "persistentvolumeclaims", true),
        (Operation::Update, "persistentvolumeclaims/status", true),
        (Operation::Update, "resourceclaims.resource.k8s.io", true),
        (Operation::Update, "secrets", false),
        (Operation::Update, "widgets.example.com", false),
        (Operation::Delete, "pods", false),
        (Operation::Connect, "pods/exec", false),
    ] {
        assert_eq!(
            setup.plugin.validates(operation, &target(resource)),
            expected,
            "{operation:?} {resource}"
        );
        assert!(!setup.plugin.admits(operation, &target(resource)));
    }
}

#[tokio::test]
async fn requests_are_charged_up_to_the_limit() {
    let setup = Setup::new().quota("q", "", "cpu=3,pods=5", "cpu=1,pods=3");
    assert_eq!(setup.run(pod(&cpu("500m"))).await, "cpu=1500m,pods=4");
    assert_eq!(
        setup.run(pod(&cpu("2"))).await,
        "exceeded quota: q, requested: cpu=2, used: cpu=1500m, limited: cpu=3"
    );
    assert_eq!(setup.run(pod(&cpu("1500m"))).await, "cpu=3,pods=5");
    assert_eq!(
        setup.run(pod(&cpu("100m"))).await,
        "exceeded quota: q, requested: cpu=100m,pods=1, used: cpu=3,pods=5, limited: cpu=3,pods=5"
    );
    assert_eq!(setup.memory.writes.lock().unwrap().len(), 2);
    let rejected = pod(&cpu("1")).in_namespace(NAMESPACE).run(&setup.plugin).await;
    assert_eq!(
        rejected.message().unwrap(),
        r#"pods "p" is forbidden: exceeded quota: q, requested: cpu=1,pods=1, used: cpu=3,pods=5, limited: cpu=3,pods=5"#
    );
}

#[tokio::test]
async fn only_resources_that_a_request_adds_to_are_compared() {
    let setup = Setup::new().quota("q", "", "pods=3,services=3", "pods=4,services=1");
    assert_eq!(setup.run(create("services").json(&service(""))).await, "pods=4,services=2");
    assert!(setup.run(pod("")).await.starts_with("exceeded quota: q, requested: pods=1, used: pods=4"));
    // Of another namespace.
    let elsewhere = pod("").in_namespace("other").run(&setup.plugin).await;
    assert!(elsewhere.why().is_none());
    // Not in a namespace.
    assert!(create("nodes").run(&setup.plugin).await.why().is_none());
}

#[tokio::test]
async fn a_quota_must_be_counted_before_it_allows_anything() {
    let setup = Setup::new().quota("q", "", "pods=3,requests.memory=1Gi,services=1", "services=0");
    assert_eq!(setup.run(create("services").json(&service(""))).await, "services=1");
    assert_eq!(
        setup.run(pod("")).await,
        "status unknown for quota: q, resources: pods,requests.memory",
        "the constraints are satisfied: it has no containers"
    );
    assert_eq!(setup.run(pod(&cpu("1"))).await, "failed quota: q: must specify requests.memory for: c");
}

#[tokio::test]
async fn a_dry_run_is_checked_and_not_charged() {
    let setup = Setup::new().quota("q", "", "pods=1", "pods=0");
    let mut dry = pod("");
    dry.request.dry_run = true;
    assert_eq!(setup.run(dry.clone()).await, "pods=0");
    assert_eq!(setup.run(pod("")).await, "pods=1");
    assert!(setup.run(dry).await.starts_with("exceeded quota: q"));
}

#[tokio::test]
async fn negative_usage_is_refused() {
    let setup = Setup::new().quota("q", "", "pods=1", "pods=0");
    let why = setup.run(pod(&cpu("-1"))).await;
    assert_eq!(why, "quota usage is negative for resource(s): cpu,requests.cpu");
}

#[tokio::test]
async fn updates_add_the_difference_and_never_subtract() {
    let ports = |count: usize| vec![r#"{"port":1}"#; count].join(",");
    let of = |kind: &str, count: usize| service(&format!(r#""type":"{kind}","ports":[{}]"#, ports(count)));
    let used = "services=1,services.loadbalancers=1,services.nodeports=2";
    let hard = "services=10,services.loadbalancers=1,services.nodeports=4";
    let change = |old: &str, new: &str| update("services").old_json(old).json(new);
    for (old, new, expected) in [
        (of("ClusterIP", 1), of("ClusterIP", 3), used),
        (of("NodePort", 2), of("NodePort", 3), "services=1,services.loadbalancers=1,services.nodeports=3"),
        (of("NodePort", 2), of("ClusterIP", 2), used),
        (
            of("LoadBalancer", 2),
            of("LoadBalancer", 4),
            "services=1,services.loadbalancers=1,services.nodeports=4",
        ),
        (
            of("NodePort", 2),
            of("LoadBalancer", 2),
            "exceeded quota: q, requested: services.loadbalancers=1, used: services.loadbalancers=1, limited: \
             services.loadbalancers=1",
        ),
        (
            of("ClusterIP", 2),
            of("NodePort", 3),
            "exceeded quota: q, requested: services.nodeports=3, used: services.nodeports=2, limited: services.nodeports=4",
        ),
    ] {
        let setup = Setup::new().quota("q", "", hard, used);
        assert_eq!(setup.run(change(&old, &new)).await, expected, "{old} {new}");
    }
    // An update that creates has no version of the old object, and is charged in full.
    let setup = Setup::new().quota("q", "", hard, used);
    let created = change(r#"{"spec":{"type":"NodePort","ports":[{"port":1}]}}"#, &of("NodePort", 1));
    assert_eq!(setup.run(created).await, "services=2,services.loadbalancers=1,services.nodeports=3");
    let missing = update("services").json(&of("NodePort", 1));
    assert_eq!(
        setup.run(missing).await,
        "unable to get previous usage since prior version of object was not found"
    );
}

#[tokio::test]
async fn volume_claims_are_charged_for_what_they_grow_by() {
    let setup = Setup::new().quota(
        "q",
        "",
        "persistentvolumeclaims=3,requests.storage=100Gi",
        "persistentvolumeclaims=1,requests.storage=10Gi",
    );
    let change = |resource: &str, old: &str, new: &str| {
        update(resource).old_json(&claim(old, "", "1")).json(&claim(new, "", "1"))
    };
    let claims = "persistentvolumeclaims";
    assert_eq!(
        setup.run(change(claims, "10Gi", "15Gi")).await,
        "persistentvolumeclaims=1,requests.storage=15Gi"
    );
    assert_eq!(
        setup.run(change(claims, "15Gi", "5Gi")).await,
        "persistentvolumeclaims=1,requests.storage=15Gi"
    );
    assert_eq!(
        setup.run(change(claims, "1Gi", "90Gi")).await,
        "exceeded quota: q, requested: requests.storage=89Gi, used: requests.storage=15Gi, limited: requests.storage=100Gi"
    );
    // A status is charged, and not refused.
    assert_eq!(
        setup.run(change("persistentvolumeclaims/status", "1Gi", "90Gi")).await,
        "persistentvolumeclaims=1,requests.storage=104Gi"
    );
}

#[tokio::test]
async fn pods_are_charged_again_when_they_are_resized_or_change_their_scope() {
    let setup = Setup::new().quota("ending", r#""scopes":["Terminating"]"#, "pods=2", "pods=0").quota(
        "staying",
        r#""scopes":["NotTerminating"]"#,
        "cpu=4,pods=2",
        "cpu=1,pods=1",
    );
    let with = |more: &str| pod_json(&format!("{}{more}", cpu("1")));
    let deadline = r#","activeDeadlineSeconds":30"#;
    let change = |resource: &str, old: &str, new: &str| update(resource).old_json(old).json(new);
    assert_eq!(setup.run(change("pods", &with(""), &with(deadline))).await, "pods=1 cpu=1,pods=1");
    assert_eq!(setup.run(change("pods", &with(deadline), &with(""))).await, "pods=1 cpu=2,pods=2");
    assert_eq!(
        setup.run(change("pods", &with(""), &with(r#","nodeName":"m""#))).await,
        "pods=1 cpu=2,pods=2",
        "neither"
    );
    let larger = |amount: &str| change("pods/resize", &pod_json(&cpu("1")), &pod_json(&cpu(amount)));
    assert_eq!(setup.run(larger("2500m")).await, "pods=1 cpu=3500m,pods=2");
    assert_eq!(
        setup.run(larger("2")).await,
        "exceeded quota: staying, requested: cpu=1, used: cpu=3500m, limited: cpu=4"
    );
    assert_eq!(setup.run(larger("500m")).await, "pods=1 cpu=3500m,pods=2");
}

#[tokio::test]
async fn only_quotas_whose_scopes_match_are_charged() {
    let setup = Setup::new()
        .quota("best", r#""scopes":["BestEffort"]"#, "pods=5", "pods=0")
        .quota("busy", r#""scopes":["NotBestEffort","NotTerminating"]"#, "pods=5", "pods=0")
        .quota("ending", r#""scopes":["Terminating"]"#, "pods=5", "pods=0");
    assert_eq!(setup.run(pod("")).await, "pods=1 pods=0 pods=0");
    assert_eq!(setup.run(pod(&cpu("1"))).await, "pods=1 pods=1 pods=0");
    assert_eq!(
        setup.run(pod(&format!("{},\"activeDeadlineSeconds\":1", cpu("1")))).await,
        "pods=1 pods=1 pods=1"
    );
    let selector = r#""scopeSelector":{"matchExpressions":[{"scopeName":"PriorityClass","operator":"In","values":["high"]}]}"#;
    let setup = Setup::new().quota("high", selector, "pods=5", "pods=0");
    assert_eq!(setup.run(pod(r#""priorityClassName":"low""#)).await, "pods=0");
    assert_eq!(setup.run(pod(r#""priorityClassName":"high""#)).await, "pods=1");
    let long = format!(
        r#""scopeSelector":{{"matchExpressions":[{{"scopeName":"PriorityClass","operator":"In","values":["{}"]}}]}}"#,
        "x".repeat(64)
    );
    let setup = Setup::new().quota("wrong", &long, "pods=5", "pods=0");
    let why = setup.run(pod("")).await;
    assert!(
        why.starts_with(
            "500 error matching scopes of quota wrong, err: error on matching scope {PriorityClass In [x"
        ),
        "{why}"
    );
}

#[tokio::test]
async fn volume_claims_are_charged_to_the_quota_of_their_attributes_class() {
    let of = |class: &str| {
        format!(
            r#""scopeSelector":{{"matchExpressions":[{{"scopeName":"VolumeAttributesClass","operator":"In","values":["{class}"]}}]}}"#
        )
    };
    let (hard, used) =
        ("persistentvolumeclaims=2,requests.storage=10Gi", "persistentvolumeclaims=0,requests.storage=0");
    let setup = Setup::new().quota("gold", &of("gold"), hard, used).quota("tin", &of("tin"), hard, used);
    let made = setup.run(create("persistentvolumeclaims").json(&claim("1Gi", "gold", ""))).await;
    assert_eq!(made, format!("persistentvolumeclaims=1,requests.storage=1Gi {used}"));
    let moved =
        update("persistentvolumeclaims").old_json(&claim("1Gi", "gold", "1")).json(&claim("1Gi", "tin", "1"));
    assert_eq!(
        setup.run(moved).await,
        "persistentvolumeclaims=1,requests.storage=1Gi persistentvolumeclaims=1,requests.storage=1Gi"
    );
}

#[tokio::test]
async fn objects_of_any_resource_are_counted() {
    let setup = Setup::new().quota(
        "q",
        "",
        "count/widgets.example.com=1,secrets=1",
        "count/widgets.example.com=0,secrets=0",
    );
    let widget = || create("widgets.example.com").json(r#"{"metadata":{"name":"w"}}"#);
    assert_eq!(setup.run(widget()).await, "count/widgets.example.com=1,secrets=0");
    assert_eq!(
        setup.run(widget()).await,
        "exceeded quota: q, requested: count/widgets.example.com=1, used: count/widgets.example.com=1, limited: \
         count/widgets.example.com=1"
    );
    let secret = create("secrets").json(r#"{"metadata":{"name":"s"}}"#);
    assert_eq!(setup.run(secret).await, "count/widgets.example.com=1,secrets=1");
}

#[tokio::test]
async fn limited_resources_need_a_quota_that_covers_them() {
    const LIMITED: &str = "- resource: pods\n  matchContains: [cpu, memory]";
    let none = Setup::limited(LIMITED);
    assert_eq!(none.run(pod(&cpu("1"))).await, "insufficient quota to consume: cpu,requests.cpu");
    assert_eq!(none.run(pod("")).await, "", "nothing of it is used");
    assert_eq!(none.run(create("services").json(&service(""))).await, "", "other resources");
    let covered = Setup::limited(LIMITED).quota("a", "", "cpu=9", "cpu=0").quota(
        "b",
        "",
        "requests.cpu=9",
        "requests.cpu=0",
    );
    assert_eq!(covered.run(pod(&cpu("1"))).await, "cpu=1 requests.cpu=1");
    let other = Setup::limited(LIMITED).quota("a", "", "cpu=9,pods=9", "cpu=0,pods=0");
    assert_eq!(other.run(pod(&cpu("1"))).await, "insufficient quota to consume: requests.cpu");
    // An update that adds nothing needs no quota, one that adds does.
    const SERVICES: &str = "- resource: services\n  matchContains: [services]";
    let ports = |count: usize| {
        service(&format!(r#""type":"NodePort","ports":[{}]"#, vec![r#"{"port":1}"#; count].join(",")))
    };
    for (old, new, expected) in [
        (2, 2, ""),
        (2, 1, ""),
        (1, 2, "insufficient quota to consume: count/services,services,services.nodeports"),
    ] {
        let case = update("services").old_json(&ports(old)).json(&ports(new));
        assert_eq!(Setup::limited(SERVICES).run(case).await, expected, "{old} {new}");
    }
}

#[tokio::test]
async fn limited_scopes_need_a_quota_with_the_scope() {
    let limited = |operator: &str, values: &str| {
        format!(
            "- resource: pods\n  matchScopes:\n  - scopeName: PriorityClass\n    operator: {operator}\n    values: {values}"
        )
    };
    let selector = |operator: &str, values: &str| {
        format!(
            r#""scopeSelector":{{"matchExpressions":[{{"scopeName":"PriorityClass","operator":"{operator}","values":{values}}}]}}"#
        )
    };
    let high = r#""priorityClassName":"high""#;
    let limits_high = limited("In", "[high, critical]");
    let uncovered = "500 insufficient quota to match these scopes: [{PriorityClass In [high critical]}]";
    for (limited, scopes, spec, expected) in [
        (limits_high.as_str(), selector("In", r#"["high"]"#), high, "pods=1"),
        (&limits_high, selector("Exists", "[]"), high, "pods=1"),
        (&limits_high, r#""scopes":["PriorityClass"]"#.to_owned(), high, "pods=1"),
        (&limits_high, selector("In", r#"["low"]"#), high, uncovered),
        (&limits_high, selector("NotIn", r#"["high"]"#), high, uncovered),
        (&limits_high, String::new(), high, uncovered),
        (&limits_high, selector("In", r#"["low"]"#), r#""priorityClassName":"low""#, "pods=1"),
        (&limits_high, selector("In", r#"["high"]"#), "", "pods=0"),
        (
            &limited("Exists", "[]"),
            String::new(),
            high,
            "500 insufficient quota to match these scopes: [{PriorityClass Exists []}]",
        ),
        // A scope that cannot be read limits nothing, and nothing else is checked.
        (&limited("Is", "[high]"), String::new(), high, "pods=0"),
    ] {
        let setup = Setup::limited(limited).quota("q", &scopes, "pods=5", "pods=0");
        assert_eq!(setup.run(pod(spec)).await, expected, "{limited} {scopes} {spec}");
    }
    // Pods near to those of other namespaces, only where a quota allows them.
    let crossing =
        "- resource: pods\n  matchScopes:\n  - scopeName: CrossNamespacePodAffinity\n    operator: Exists";
    let near = r#""affinity":{"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"k","namespaces":["m"]}]}}"#;
    assert_eq!(
        Setup::limited(crossing).run(pod(near)).await,
        "500 insufficient quota to match these scopes: [{CrossNamespacePodAffinity Exists []}]"
    );
    let allowed =
        Setup::limited(crossing).quota("q", r#""scopes":["CrossNamespacePodAffinity"]"#, "pods=1", "pods=0");
    assert_eq!(allowed.run(pod(near)).await, "pods=1");
    assert_eq!(allowed.run(pod("")).await, "pods=1");
}

#[tokio::test]
async fn requests_that_come_together_share_one_write() {
    let setup = Setup::new().quota("q", "", "pods=40", "pods=0");
    let requests: Vec<_> = (0..64).map(|_| setup.run(pod(""))).collect();
    let answers = join_all(requests).await;
    let rejected = answers.iter().filter(|answer| answer.starts_with("exceeded quota")).count();
    assert_eq!((setup.memory.used().as_str(), rejected), ("pods=40", 24));
    let writes = setup.memory.writes.lock().unwrap();
    assert!(writes.len() <= 2, "{writes:?}");
}

/// Polls futures together until all are done.
async fn join_all<F: Future>(futures: Vec<F>) -> Vec<F::Output> {
    let mut running: Vec<_> = futures.into_iter().map(Box::pin).collect();
    let mut done: Vec<Option<F::Output>> = running.iter().map(|_| None).collect();
    std::future::poll_fn(|context| {
        for (future, done) in running.iter_mut().zip(&mut done).filter(|(_, done)| done.is_none()) {
            if let std::task::Poll::Ready(output) = future.as_mut().poll(context) {
                *done = Some(output);
            }
        }
        if done.iter().all(Option::is_some) { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
    done.into_iter().flatten().collect()
}

#[tokio::test]
async fn after_a_conflict_the_current_quota_decides() {
    let setup = Setup::new().quota("q", "", "pods=10", "pods=0");
    setup.memory.rivals.lock().unwrap().extend([("q", Some("pods=5")), ("q", Some("pods=3"))]);
    assert_eq!(setup.run(pod("")).await, "pods=6");
    setup.memory.rivals.lock().unwrap().push(("q", Some("pods=10")));
    assert_eq!(
        setup.run(pod("")).await,
        "exceeded quota: q, requested: pods=1, used: pods=10, limited: pods=10"
    );
    // The cache may be far behind.
    let frozen = setup.memory.clone().quotas(NAMESPACE).await.unwrap();
    setup.memory.set("q", list("pods=7"));
    *setup.memory.frozen.lock().unwrap() = Some(frozen);
    assert!(setup.run(pod("")).await.starts_with("exceeded quota"), "it said that nothing was left");
    setup.memory.set("q", list("pods=2"));
    let low = setup.memory.quotas.lock().unwrap()["q"].clone();
    *setup.memory.frozen.lock().unwrap() = Some(vec![Arc::new(low)]);
    setup.memory.set("q", list("pods=9"));
    assert_eq!(setup.run(pod("")).await, "pods=10");
    assert!(setup.run(pod("")).await.starts_with("exceeded quota"));
}

#[tokio::test]
async fn only_outdated_quotas_are_charged_again() {
    let setup = Setup::limited("- resource: pods\n  matchContains: [pods]")
        .quota("a", "", "pods=5", "pods=0")
        .quota("b", "", "count/pods=5", "count/pods=0");
    // Taken from the end: before the write of `b`, and not before that of `a`.
    setup.memory.rivals.lock().unwrap().extend([("b", Some("count/pods=3")), ("a", Some("pods=0"))]);
    assert_eq!(setup.run(pod("")).await, "pods=1 count/pods=4");
    // A quota that is deleted meanwhile does not count any more; what it covered is not covered.
    setup.memory.rivals.lock().unwrap().push(("a", None));
    assert_eq!(setup.run(pod("")).await, "insufficient quota to consume: pods");
}

#[tokio::test]
async fn an_endless_conflict_is_the_answer() {
    let setup = Setup::new().quota("q", "", "pods=10", "pods=0");
    let versions = ["pods=1", "pods=2"].repeat(RETRIES);
    setup.memory.rivals.lock().unwrap().extend(versions.into_iter().map(|used| ("q", Some(used))));
    assert_eq!(setup.run(pod("")).await, r#"409 Operation cannot be fulfilled on resourcequotas "q": stale"#);
}

#[tokio::test]
async fn a_wrong_configuration_is_an_error() {
    let mut cluster = TestCluster::new().await.cluster;
    let of = |text: &'static str| {
        crate::Configurations::new([("ResourceQuota".to_owned(), bytes::Bytes::from_static(text.as_bytes()))])
    };
    cluster.configurations = of("kind: Nothing\napiVersion: v1");
    assert_eq!(
        ResourceQuota::new(&cluster).err().unwrap(),
        "no kind \"Nothing\" is registered for version \"v1\" in scheme \"pkg/admission/plugin/resourcequota/config.go:31\""
    );
    cluster.configurations = of("kind: Configuration\napiVersion: resourcequota.admission.k8s.io/v1beta1");
    assert!(ResourceQuota::new(&cluster).is_ok());
}
