use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::SystemTime;

use pintle_meta::{Reason, Value};
use pintle_runtime::ManualClock;

use super::*;
use crate::testing::{Case, Outcome};

/// Namespaces of the cache and of the store.
#[derive(Default)]
struct Namespaces {
    cached: BTreeMap<&'static str, Phase>,
    live: BTreeMap<&'static str, Phase>,
    reads: AtomicUsize,
    fails: bool,
}

#[async_trait]
impl NamespaceLister for Namespaces {
    fn cached(&self, name: &str) -> Option<Phase> {
        self.cached.get(name).copied()
    }

    async fn live(&self, name: &str) -> Result<Option<Phase>> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        if self.fails {
            return Err(Box::new(Status::timeout("no store")));
        }
        Ok(self.live.get(name).copied())
    }
}

struct Fixture {
    namespaces: Arc<Namespaces>,
    plugin: NamespaceLifecycle,
    clock: Arc<ManualClock>,
}

fn fixture(namespaces: Namespaces) -> Fixture {
    let (namespaces, clock) = (Arc::new(namespaces), ManualClock::starting_at(SystemTime::UNIX_EPOCH));
    Fixture { plugin: NamespaceLifecycle::with(namespaces.clone(), clock.clock()), clock, namespaces }
}

impl Fixture {
    async fn ask(&self, operation: Operation, resource: &str, namespace: &str, name: &str) -> Result<()> {
        let case = Case::new(operation, resource).in_namespace(namespace).named(name).object(Value::NULL);
        match case.run(&self.plugin).await {
            Outcome::Rejected(status) => Err(status),
            _ => Ok(()),
        }
    }

    async fn pod(&self, operation: Operation, namespace: &str) -> Result<()> {
        self.ask(operation, "pods", namespace, "p").await
    }

    async fn namespace(&self, operation: Operation, name: &str) -> Result<()> {
        self.ask(operation, "namespaces", "", name).await
    }

    fn reads(&self) -> usize {
        self.namespaces.reads.load(Ordering::Relaxed)
    }
}

fn phases(phases: &[(&'static str, Phase)]) -> BTreeMap<&'static str, Phase> {
    phases.iter().copied().collect()
}

#[tokio::test]
async fn cluster_scoped_objects_deletions_and_connections_are_admitted() {
    let fixture = fixture(Namespaces::default());
    fixture.ask(Operation::Create, "nodes", "", "n").await.unwrap();
    fixture.pod(Operation::Delete, "gone").await.unwrap();
    fixture.pod(Operation::Connect, "gone").await.unwrap();
    fixture.namespace(Operation::Create, "new").await.unwrap();
    fixture.namespace(Operation::Update, "new").await.unwrap();
    let review = "localsubjectaccessreviews.authorization.k8s.io";
    fixture.ask(Operation::Create, review, "secret", "").await.unwrap();
    assert_eq!(fixture.reads(), 0);
}

#[tokio::test]
async fn a_missing_namespace_is_not_found() {
    let fixture = fixture(Namespaces::default());
    for operation in [Operation::Create, Operation::Update] {
        let status = fixture.pod(operation, "gone").await.unwrap_err();
        assert_eq!(*status, Status::not_found("", "namespaces", "gone"));
        assert_eq!(status.message, "namespaces \"gone\" not found");
    }
    assert_eq!(fixture.reads(), 2);
}

#[tokio::test]
async fn a_namespace_that_the_cache_does_not_have_yet_is_found_in_the_store() {
    let fixture = fixture(Namespaces { live: phases(&[("new", Phase::Active)]), ..Namespaces::default() });
    fixture.pod(Operation::Create, "new").await.unwrap();
    assert_eq!(fixture.reads(), 1);
}

#[tokio::test]
async fn a_namespace_of_the_cache_costs_no_read() {
    let namespaces = Namespaces {
        cached: phases(&[("a", Phase::Active), ("b", Phase::Unknown)]),
        ..Namespaces::default()
    };
    let fixture = fixture(namespaces);
    fixture.pod(Operation::Create, "a").await.unwrap();
    fixture.pod(Operation::Update, "a").await.unwrap();
    fixture.pod(Operation::Create, "b").await.unwrap();
    assert_eq!(fixture.reads(), 0);
}

#[tokio::test]
async fn creates_in_a_terminating_namespace_are_forbidden() {
    let fixture =
        fixture(Namespaces { cached: phases(&[("going", Phase::Terminating)]), ..Namespaces::default() });
    fixture.pod(Operation::Update, "going").await.unwrap();
    let status = fixture.pod(Operation::Create, "going").await.unwrap_err();
    let expected = concat!(
        r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"pods \"p\" is forbidden: "#,
        r#"unable to create new content in namespace going because it is being terminated","reason":"Forbidden","#,
        r#""details":{"name":"p","kind":"pods","causes":[{"reason":"NamespaceTerminating","#,
        r#""message":"namespace going is being terminated","field":"metadata.namespace"}]},"code":403}"#,
        "\n"
    );
    assert_eq!(String::from_utf8(status.to_json()).unwrap(), expected);
}

#[tokio::test]
async fn system_namespaces_cannot_be_deleted() {
    let fixture = fixture(Namespaces::default());
    for name in ["default", "kube-system", "kube-public"] {
        let status = fixture.namespace(Operation::Delete, name).await.unwrap_err();
        let text = format!("namespaces \"{name}\" is forbidden: this namespace may not be deleted");
        assert_eq!((status.code, status.message), (403, text));
    }
    fixture.namespace(Operation::Delete, "kube-node-lease").await.unwrap();
}

#[tokio::test]
async fn after_a_deletion_the_namespace_is_read_from_the_store_for_30_seconds() {
    let fixture = fixture(Namespaces {
        cached: phases(&[("a", Phase::Active), ("b", Phase::Active)]),
        live: phases(&[("a", Phase::Terminating), ("b", Phase::Active)]),
        ..Namespaces::default()
    });
    fixture.pod(Operation::Create, "a").await.unwrap();
    fixture.namespace(Operation::Delete, "a").await.unwrap();
    assert_eq!(fixture.pod(Operation::Create, "a").await.unwrap_err().reason, Reason::Forbidden);
    fixture.pod(Operation::Create, "b").await.unwrap();
    assert_eq!(fixture.reads(), 1);
    fixture.clock.advance(Duration::from_secs(31));
    fixture.pod(Operation::Create, "a").await.unwrap();
    assert_eq!(fixture.reads(), 1);
}

#[tokio::test]
async fn the_number_of_remembered_deletions_is_bounded() {
    let fixture = fixture(Namespaces { cached: phases(&[("n0", Phase::Active)]), ..Namespaces::default() });
    for number in 0..MOST_REMEMBERED {
        fixture.namespace(Operation::Delete, &format!("n{number}")).await.unwrap();
        fixture.namespace(Operation::Delete, "n0").await.unwrap();
    }
    assert_eq!(fixture.plugin.deleted().len(), MOST_REMEMBERED);
    assert_eq!(fixture.pod(Operation::Create, "n0").await.unwrap_err().reason, Reason::NotFound);
    for number in 0..MOST_REMEMBERED {
        fixture.namespace(Operation::Delete, &format!("m{number}")).await.unwrap();
    }
    assert_eq!(fixture.plugin.deleted().len(), MOST_REMEMBERED);
    fixture.pod(Operation::Create, "n0").await.unwrap();
}

#[tokio::test]
async fn a_store_that_fails_is_an_internal_error() {
    let fixture = fixture(Namespaces { fails: true, ..Namespaces::default() });
    let status = fixture.pod(Operation::Create, "a").await.unwrap_err();
    assert_eq!((status.code, status.reason), (500, Reason::InternalError));
}
