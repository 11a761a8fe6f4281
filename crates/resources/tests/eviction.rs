//! Evictions on a real store: what becomes of the pod and of its budget.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use bytes::Bytes;
use pintle_cache::{Feed, Limits};
use pintle_codec::json;
use pintle_codec::negotiate::Encoding;
use pintle_meta::{CauseType, Status, Value};
use pintle_registry::{
    Admission, AdmitAll, Client, Context, DeleteOptions, MutatingAdmission, Result, Store, StoreConfig,
    Subresource, WriteOptions,
};
use pintle_resources::builtin::Builtin;
use pintle_resources::served::Version;
use pintle_resources::strategy::{self, Settings};
use pintle_resources::subresources::Eviction;
use pintle_schema::Resources;
use pintle_storage::Backend;
use pintle_storage_embedded::Options;

/// Counts what it is asked about.
#[derive(Clone, Default)]
struct Counting(Arc<AtomicUsize>);

#[async_trait]
impl Admission for Counting {
    async fn create(&self, _: &Value) -> Result<()> {
        Ok(())
    }

    async fn update(&self, _: &Value, _: &Value) -> Result<()> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    async fn delete(&self, _: &Value, _: &DeleteOptions) -> Result<()> {
        Ok(())
    }
}

#[async_trait]
impl MutatingAdmission for Counting {
    async fn on_update(&self, new: Value, _: &Value) -> Result<Value> {
        Ok(new)
    }
}

struct Fixture {
    pods: Arc<Store>,
    statuses: Store,
    budgets: Arc<Store>,
    budget_statuses: Store,
    eviction: Eviction,
    /// How often admission was asked about a budget.
    asked: Counting,
    _feed: Feed,
}

fn object(kind: &str, text: &str) -> Value {
    let of = pintle_schema::find(kind).expect(kind);
    let mut value = json::decode(of, text.as_bytes()).expect(text).value;
    pintle_resources::defaults::apply(of, &mut value, &Default::default());
    value
}

impl Fixture {
    async fn new() -> Fixture {
        let settings = Settings::default();
        let backend = Arc::new(pintle_storage_embedded::Store::open(Options::memory()).expect("a store"));
        let feed = Feed::start(backend.clone(), Bytes::from_static(b"/registry/"), Limits::default()).await;
        let feed = feed.expect("a feed");
        let resources = Resources::builtin().expect("resources");
        let store = |group: &str, name: &str| {
            let resource = resources.find(group, "v1", name).expect(name);
            let storage = resource.storage.expect("stored");
            let builtin = Builtin::stored_as(Encoding::Protobuf, storage.kind, &resources);
            let prefix = Bytes::from(format!("/registry/{}/", storage.path));
            let store = Store::new(StoreConfig {
                group: group.into(),
                resource: name.into(),
                kind: resource.kind.kind_name().into(),
                namespaced: true,
                cache: feed.resource(prefix.clone(), || builtin.clone()),
                prefix,
                backend: Arc::clone(&backend) as Arc<dyn Backend>,
                stored: builtin.clone(),
                strategy: strategy::of(group, name, &settings).expect("a strategy"),
            });
            (Arc::new(store), Arc::new(Version::new(resource, Some(builtin))))
        };
        let (pods, _) = store("", "pods");
        let (budgets, served) = store("policy", "poddisruptionbudgets");
        let status = |group, name| strategy::of(group, name, &settings).expect("a strategy");
        let statuses = pods.with_strategy(status("", "pods/status"));
        let rules = status("policy", "poddisruptionbudgets/status");
        let budget_statuses = budgets.with_strategy(rules.clone());
        let asked = Counting::default();
        let gate = asked.clone();
        let gates = Arc::new(move |_: &str, _: &str| Box::new(gate.clone()) as Box<dyn MutatingAdmission>);
        let client = Client::of_subresource(Arc::new(budgets.with_strategy(rules)), served, "status")
            .admitted_by(gates);
        let eviction = Eviction::new(&pods, client, &settings).expect("pods have a status");
        Fixture { pods, statuses, budgets, budget_statuses, eviction, asked, _feed: feed }
    }

    fn context() -> Context {
        Context { namespace: "n".into(), ..Context::default() }
    }

    /// Stores a pod of a node, with a status.
    async fn pod(&self, name: &str, status: &str) -> Value {
        let text = format!(
            r#"{{"kind":"Pod","apiVersion":"v1","metadata":{{"name":"{name}","namespace":"n","labels":{{"a":"b"}}}},
            "spec":{{"nodeName":"w","containers":[{{"name":"c","image":"i"}}]}},"status":{status}}}"#
        );
        self.create(&self.pods, &self.statuses, object("core/v1.Pod", &text)).await
    }

    /// Stores a budget of all pods with the label.
    async fn budget(&self, name: &str, policy: &str, status: &str) {
        let text = format!(
            r#"{{"kind":"PodDisruptionBudget","apiVersion":"policy/v1","metadata":{{"name":"{name}","namespace":"n",
            "managedFields":[{{"manager":"test","operation":"Update","apiVersion":"policy/v1","time":"2026-01-01T00:00:00Z",
            "fieldsType":"FieldsV1","fieldsV1":{{"f:spec":{{"f:minAvailable":{{}}}}}}}}]}},
            "spec":{{"minAvailable":1,"selector":{{"matchLabels":{{"a":"b"}}}}{policy}}},"status":{status}}}"#
        );
        let budget = object("policy/v1.PodDisruptionBudget", &text);
        self.create(&self.budgets, &self.budget_statuses, budget).await;
    }

    async fn create(&self, store: &Store, statuses: &Store, object: Value) -> Value {
        let (mut context, options) = (Fixture::context(), WriteOptions::default());
        store.create(&mut context, &object, &AdmitAll, options).await.expect("created");
        let name = object.name().to_owned();
        let mut put = Written(object);
        statuses
            .update(&mut context, &name, &mut put, &AdmitAll, false, options)
            .await
            .expect("a status")
            .object
    }

    async fn evict(&self, name: &str, more: &str) -> Result<()> {
        self.evict_with(name, more, WriteOptions::default()).await
    }

    async fn evict_with(&self, name: &str, more: &str, options: WriteOptions) -> Result<()> {
        let text = format!(
            r#"{{"kind":"Eviction","apiVersion":"policy/v1","metadata":{{"name":"{name}","namespace":"n"}}{more}}}"#
        );
        let eviction = object("policy/v1.Eviction", &text);
        let answer =
            self.eviction.create(&mut Fixture::context(), name, eviction, &AdmitAll, options).await?;
        assert_eq!(answer, None);
        Ok(())
    }

    async fn pod_now(&self, name: &str) -> Option<Value> {
        self.pods.get(&Fixture::context(), name).await.ok()
    }

    async fn budget_now(&self, name: &str) -> Value {
        self.budgets.get(&Fixture::context(), name).await.expect("a budget")
    }
}

/// Puts the status of an object.
struct Written(Value);

#[async_trait]
impl pintle_registry::Transform for Written {
    async fn transform(&mut self, old: Option<&Value>) -> Result<Value> {
        let mut new = old.cloned().expect("an object");
        let status = self.0.get("status").cloned().expect("a status");
        new.as_object_mut().expect("an object").insert("status", status);
        Ok(new)
    }
}

const READY: &str = r#"{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}"#;
const UNREADY: &str = r#"{"phase":"Running","conditions":[{"type":"Ready","status":"False"}]}"#;
const NONE_LEFT: &str = r#"{"disruptionsAllowed":0,"currentHealthy":1,"desiredHealthy":2,"expectedPods":2,"observedGeneration":1}"#;

fn left(allowed: i64) -> String {
    format!(
        r#"{{"disruptionsAllowed":{allowed},"currentHealthy":9,"desiredHealthy":1,"expectedPods":9,"observedGeneration":1}}"#
    )
}

fn refusal(result: Result<()>) -> Box<Status> {
    result.expect_err("a refusal")
}

fn why(status: &Status) -> &str {
    status.cause(CauseType::DisruptionBudget).map_or("", |cause| &cause.message)
}

fn condition<'v>(object: &'v Value, kind: &str) -> Option<&'v Value> {
    object.items_at(&["status", "conditions"]).iter().find(|found| found.text_at(&["type"]) == kind)
}

#[tokio::test]
async fn a_pod_without_a_budget_is_marked_and_deleted() {
    let fixture = Fixture::new().await;
    fixture.pod("p", READY).await;
    fixture.evict("p", "").await.expect("evicted");
    let pod = fixture.pod_now("p").await.expect("it has time to end");
    assert!(pod.deletion_timestamp().is_some());
    let marked = condition(&pod, "DisruptionTarget").expect("marked");
    assert_eq!(marked.text_at(&["status"]), "True");
    assert_eq!(marked.text_at(&["reason"]), "EvictionByEvictionAPI");
    assert_eq!(marked.text_at(&["message"]), "Eviction API: evicting");
    // And at once, where that is asked for, although it is on its way already.
    fixture.evict("p", r#","deleteOptions":{"gracePeriodSeconds":0}"#).await.expect("evicted");
    assert_eq!(fixture.pod_now("p").await, None);
    assert_eq!(refusal(fixture.evict("p", "").await).message, r#"pods "p" not found"#);
}

#[tokio::test]
async fn a_budget_counts_what_it_allows() {
    let fixture = Fixture::new().await;
    fixture.pod("p", READY).await;
    fixture.pod("q", READY).await;
    fixture.budget("b", "", &left(1)).await;
    fixture.evict("p", "").await.expect("evicted");
    assert!(fixture.pod_now("p").await.expect("a pod").deletion_timestamp().is_some());
    let budget = fixture.budget_now("b").await;
    assert_eq!(budget.at(&["status", "disruptionsAllowed"]).and_then(Value::as_i64), Some(0));
    assert!(budget.at(&["status", "disruptedPods", "p"]).is_some());
    let allowed = condition(&budget, "DisruptionAllowed").expect("a condition");
    assert_eq!((allowed.text_at(&["status"]), allowed.text_at(&["reason"])), ("False", "InsufficientPods"));
    assert_eq!(allowed.at(&["observedGeneration"]).and_then(Value::as_i64), Some(1));
    // As a client's write to the status would be.
    let managers = budget.items_at(&["metadata", "managedFields"]);
    let [_, manager] = managers else { panic!("{managers:?}") };
    assert_eq!(manager.text_at(&["manager"]), "kube-apiserver");
    assert_eq!(manager.text_at(&["subresource"]), "status");
    assert_eq!(fixture.asked.0.load(Ordering::Relaxed), 1);

    let refused = refusal(fixture.evict("q", "").await);
    assert_eq!(
        (refused.code, &*refused.message),
        (429, "Cannot evict pod as it would violate the pod's disruption budget.",)
    );
    assert_eq!(why(&refused), "The disruption budget b does not allow evicting pods currently");
    assert!(fixture.pod_now("q").await.expect("a pod").deletion_timestamp().is_none());
    assert_eq!(condition(&fixture.pod_now("q").await.expect("a pod"), "DisruptionTarget"), None);
    assert_eq!(fixture.budget_now("b").await, budget);
}

#[tokio::test]
async fn evictions_at_once_get_no_more_than_is_allowed() {
    let fixture = Arc::new(Fixture::new().await);
    fixture.budget("b", "", &left(3)).await;
    let mut running = Vec::new();
    for number in 0..12 {
        fixture.pod(&format!("p{number}"), READY).await;
    }
    for number in 0..12 {
        let fixture = fixture.clone();
        running.push(tokio::spawn(async move { fixture.evict(&format!("p{number}"), "").await.is_ok() }));
    }
    let mut evicted = 0;
    for each in running {
        evicted += usize::from(each.await.expect("no panic"));
    }
    assert_eq!(evicted, 3);
    let budget = fixture.budget_now("b").await;
    assert_eq!(budget.at(&["status", "disruptedPods"]).and_then(Value::as_object).expect("pods").len(), 3);
}

#[tokio::test]
async fn pods_that_do_not_run_ignore_budgets() {
    let fixture = Fixture::new().await;
    fixture.budget("b", "", NONE_LEFT).await;
    for phase in ["Succeeded", "Failed", "Pending"] {
        let name = phase.to_lowercase();
        fixture.pod(&name, &format!(r#"{{"phase":"{phase}"}}"#)).await;
        fixture.evict(&name, r#","deleteOptions":{"gracePeriodSeconds":0}"#).await.expect(phase);
        assert_eq!(fixture.pod_now(&name).await, None, "{phase}");
    }
    fixture.pod("running", READY).await;
    let refused = refusal(fixture.evict("running", "").await);
    assert_eq!(why(&refused), "The disruption budget b needs 2 healthy pods and has 1 currently");
    assert_eq!(refused.details.as_ref().map(|details| details.retry_after_seconds), Some(0));
}

#[tokio::test]
async fn what_is_not_ready_goes_while_enough_others_are() {
    for (policy, status, goes) in [
        ("", left(0), true),
        ("", NONE_LEFT.to_owned(), false),
        (r#","unhealthyPodEvictionPolicy":"IfHealthyBudget""#, NONE_LEFT.to_owned(), false),
        (r#","unhealthyPodEvictionPolicy":"AlwaysAllow""#, NONE_LEFT.to_owned(), true),
        // The controller has not counted yet.
        ("", r#"{"observedGeneration":1}"#.to_owned(), false),
    ] {
        let fixture = Fixture::new().await;
        fixture.pod("p", UNREADY).await;
        fixture.budget("b", policy, &status).await;
        let before = fixture.budget_now("b").await;
        assert_eq!(fixture.evict("p", "").await.is_ok(), goes, "{policy} {status}");
        assert_eq!(fixture.budget_now("b").await, before);
    }
}

#[tokio::test]
async fn a_budget_that_is_not_up_to_date_asks_for_patience() {
    let fixture = Fixture::new().await;
    fixture.pod("p", READY).await;
    fixture.budget("b", "", r#"{"disruptionsAllowed":1}"#).await;
    let refused = refusal(fixture.evict("p", "").await);
    assert_eq!(why(&refused), "The disruption budget b is still being processed by the server.");
    assert_eq!(refused.details.as_ref().map(|details| details.retry_after_seconds), Some(10));
}

#[tokio::test]
async fn two_budgets_are_one_too_many() {
    let fixture = Fixture::new().await;
    fixture.pod("p", READY).await;
    fixture.budget("b", "", &left(1)).await;
    fixture.budget("c", "", &left(1)).await;
    let refused = refusal(fixture.evict("p", "").await);
    assert_eq!(refused.code, 500);
    assert_eq!(
        refused.message,
        "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
    );
    assert_eq!(refused.details, None);
}

#[tokio::test]
async fn a_dry_run_leaves_everything_as_it_is() {
    let fixture = Fixture::new().await;
    let pod = fixture.pod("p", READY).await;
    fixture.budget("b", "", &left(1)).await;
    let budget = fixture.budget_now("b").await;
    const DRY: &str = r#","deleteOptions":{"dryRun":["All"]}"#;
    fixture.evict("p", DRY).await.expect("evicted");
    fixture.evict_with("p", "", WriteOptions { dry_run: true }).await.expect("evicted");
    fixture.evict_with("p", DRY, WriteOptions { dry_run: true }).await.expect("evicted");
    const ODD: &str = r#","deleteOptions":{"dryRun":["All","some"]}"#;
    let refused = refusal(fixture.evict_with("p", ODD, WriteOptions { dry_run: true }).await);
    assert_eq!(refused.message, "Non-matching dry-run options in request and content: [All] and [All some]");
    let refused = refusal(fixture.evict("p", ODD).await);
    assert_eq!(refused.code, 422, "{}", refused.message);
    assert_eq!(fixture.pod_now("p").await, Some(pod));
    assert_eq!(fixture.budget_now("b").await, budget);
}

#[tokio::test]
async fn preconditions_hold_at_the_deletion() {
    let fixture = Fixture::new().await;
    let pod = fixture.pod("p", READY).await;
    let only =
        |field: &str, value: &str| format!(r#","deleteOptions":{{"preconditions":{{"{field}":"{value}"}}}}"#);
    let refused = refusal(fixture.evict("p", &only("uid", "other")).await);
    let uid = pod.uid();
    assert_eq!(
        refused.message,
        format!(
            "Operation cannot be fulfilled on Pod \"p\": the UID in the precondition (other) does not match the UID in record \
             ({uid}). The object might have been deleted and then recreated"
        )
    );
    let revision = pod.resource_version();
    let refused = refusal(fixture.evict("p", &only("resourceVersion", "1")).await);
    assert_eq!(
        refused.message,
        format!(
            "Operation cannot be fulfilled on Pod \"p\": the ResourceVersion in the precondition (1) does not match the \
             ResourceVersion in record ({revision}). The object might have been modified"
        )
    );
    assert_eq!(fixture.pod_now("p").await.as_ref(), Some(&pod));
    // Marking the pod makes a new revision, which is the one that is deleted then.
    fixture.evict("p", &only("resourceVersion", revision)).await.expect("evicted");
    assert!(fixture.pod_now("p").await.expect("a pod").deletion_timestamp().is_some());
}

#[tokio::test]
async fn what_an_eviction_must_not_say_is_refused() {
    let fixture = Fixture::new().await;
    fixture.pod("p", READY).await;
    let other = object(
        "policy/v1.Eviction",
        r#"{"kind":"Eviction","apiVersion":"policy/v1","metadata":{"name":"q"}}"#,
    );
    let mut context = Fixture::context();
    let refused = fixture.eviction.create(&mut context, "p", other, &AdmitAll, WriteOptions::default()).await;
    let refused = refused.expect_err("a refusal");
    assert_eq!(
        (refused.code, &*refused.message),
        (400, "name in URL does not match name in Eviction object")
    );
    let reckless = r#","deleteOptions":{"ignoreStoreReadErrorWithClusterBreakingPotential":true}"#;
    let refused = refusal(fixture.evict("p", reckless).await);
    assert_eq!(
        refused.message,
        "Eviction.policy \"p\" is invalid: deleteOptions.ignoreStoreReadErrorWithClusterBreakingPotential: Invalid value: \
         true: can not be set for pod eviction, try after removing the option"
    );
    let refused = refusal(fixture.evict("p", r#","deleteOptions":{"propagationPolicy":"Sideways"}"#).await);
    assert_eq!(refused.code, 422, "{}", refused.message);
    assert_eq!(condition(&fixture.pod_now("p").await.expect("a pod"), "DisruptionTarget"), None);
}
