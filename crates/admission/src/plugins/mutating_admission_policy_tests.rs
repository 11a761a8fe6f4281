use std::collections::BTreeMap;
use std::sync::Mutex;

use pintle_auth::User;
use pintle_auth::authorizer::Verdict;
use pintle_meta::Object;

use pintle_auth::Authorizer;

use super::*;
use crate::chain::Chain;
use crate::objects::Resource;
use crate::policies::random::{Author, Numbers};
use crate::testing::{Case, Outcome, TestCluster, TestVersions, create, target, text, update};

const CONSTRAINTS: &str = r#""matchConstraints":{"namespaceSelector":{},"objectSelector":{},"matchPolicy":"Exact","resourceRules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE","UPDATE","CONNECT"],"resources":["pods"]}]}"#;

/// A cluster with the plugin and a namespace `n`.
struct Policies {
    cluster: TestCluster,
    plugin: MutatingAdmissionPolicy,
}

impl Policies {
    async fn new() -> Policies {
        let cluster = TestCluster::new().await;
        cluster.put(Resource::Namespace, r#"{"metadata":{"name":"n","labels":{"team":"a"}}}"#).await;
        let plugin = MutatingAdmissionPolicy::new(&cluster.cluster).unwrap();
        Policies { cluster, plugin }
    }

    /// Writes a policy with the rest of its spec, and a binding of its name.
    async fn policy(&self, name: &str, rest: &str) {
        let json = format!(r#"{{"metadata":{{"name":"{name}"}},"spec":{{{CONSTRAINTS},{rest}}}}}"#);
        self.cluster.put(Resource::MutatingAdmissionPolicy, &json).await;
        self.bind(name, name, "").await;
    }

    async fn bind(&self, name: &str, policy: &str, rest: &str) {
        let json = format!(r#"{{"metadata":{{"name":"{name}"}},"spec":{{"policyName":"{policy}"{rest}}}}}"#);
        self.cluster.put(Resource::MutatingAdmissionPolicyBinding, &json).await;
    }

    async fn run(&self, case: Case) -> Outcome {
        case.versions(&versions()).run(&self.plugin).await
    }

    /// Returns the label `l` of a pod after the plugin.
    async fn label(&self) -> String {
        let pod = self.run(pod()).await.normal("core/v1.Pod");
        pod.label("l").unwrap_or_default().to_owned()
    }

    fn metrics(&self) -> String {
        String::from_utf8(self.cluster.cluster.metrics.render().unwrap()).unwrap()
    }
}

fn versions() -> Arc<TestVersions> {
    TestVersions::new("Pod", &["/v1/pods"])
}

fn pod() -> Case {
    create("pods").in_namespace("n").json(
        r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p","labels":{"app":"x"}},"spec":{"nodeName":"a","containers":[]}}"#,
    )
}

fn text_value(value: &str) -> String {
    text(&Value::string(value))
}

/// `mutations` of one apply configuration.
fn apply(expression: &str) -> String {
    format!(
        r#""mutations":[{{"patchType":"ApplyConfiguration","applyConfiguration":{{"expression":{}}}}}]"#,
        text_value(expression)
    )
}

/// An apply configuration that sets the label `l`.
fn labels(value: &str) -> String {
    apply(&format!("Object{{metadata: Object.metadata{{labels: {{'l': {value}}}}}}}"))
}

/// An apply configuration that appends to the label `l`.
fn appends(value: &str) -> String {
    labels(&format!("object.metadata.?labels.l.orValue('') + '{value}'"))
}

fn status(outcome: Outcome) -> Status {
    match outcome {
        Outcome::Rejected(status) => *status,
        other => panic!("not rejected: {other:?}"),
    }
}

fn causes(status: &Status) -> Vec<String> {
    let causes = status.details.as_ref().map(|details| details.causes.clone()).unwrap_or_default();
    causes.into_iter().map(|cause| cause.message).collect()
}

#[tokio::test]
async fn a_policy_counts_once_it_is_stored_and_bound() {
    let policies = Policies::new().await;
    assert_eq!(policies.run(pod()).await.message(), None);
    policies.policy("p", &labels("'1'")).await;
    assert_eq!(policies.label().await, "1");
    policies.policy("p", &labels("'2'")).await;
    assert_eq!(policies.label().await, "2", "a change counts");
    assert!(
        !policies.run(create("services").in_namespace("n").json("{}")).await.is_handled(),
        "other resources"
    );
    let delete = Case::new(Operation::Delete, "pods").in_namespace("n").named("p");
    assert!(!policies.run(delete).await.is_handled(), "nothing to change");
    policies.bind("p", "other", "").await;
    assert!(!policies.run(pod()).await.is_handled(), "the binding is of another policy");
    let text = policies.metrics();
    let line = r#"apiserver_mutating_admission_policy_check_total{error_type="no_error",policy="p",policy_binding="p"} 2"#;
    assert!(text.contains(line), "{text}");
}

#[tokio::test]
async fn policies_and_bindings_see_what_those_before_them_have_changed() {
    let policies = Policies::new().await;
    policies.policy("b", &appends("b")).await;
    policies.policy("a", &appends("a")).await;
    policies.bind("a-second", "a", "").await;
    assert_eq!(policies.label().await, "aab");
    // Selectors see the object of the request.
    let selects = r#","matchResources":{"namespaceSelector":{},"objectSelector":{"matchLabels":{"l":"a"}}}"#;
    policies.bind("b", "b", selects).await;
    assert_eq!(policies.label().await, "aa");
    // Match conditions see the changes.
    policies.bind("b", "b", "").await;
    let condition = r#","matchConditions":[{"name":"c","expression":"object.metadata.labels.l == 'aa'"}]"#;
    policies.policy("b", &format!("{}{condition}", appends("b"))).await;
    assert_eq!(policies.label().await, "aab");
}

#[tokio::test]
async fn mutations_of_a_policy_are_applied_in_order_and_without_those_that_fail() {
    let policies = Policies::new().await;
    let mutation = |expression: &str| {
        format!(r#"{{"patchType":"JSONPatch","jsonPatch":{{"expression":{}}}}}"#, text_value(expression))
    };
    let add = |value: &str| {
        mutation(&format!("[JSONPatch{{op: 'add', path: '/metadata/labels/l', value: {value}}}]"))
    };
    let mutations = |failing: &str| {
        let parts = [add("'a'"), mutation(failing), add("object.metadata.labels.l + 'b'")].join(",");
        format!(r#""mutations":[{parts}]"#)
    };
    policies.policy("p", &mutations("[JSONPatch{op: 'test', path: '/metadata/labels/l', value: 'b'}]")).await;
    assert_eq!(policies.label().await, "ab");
    let fails = mutations("[JSONPatch{op: 'remove', path: '/metadata/nosuch'}]");
    policies.policy("p", &format!("{fails},\"failurePolicy\":\"Ignore\"")).await;
    assert_eq!(policies.label().await, "ab");
    policies.policy("p", &fails).await;
    let message = "policy 'p' with binding 'p' denied request: JSON Patch: error in remove for path: '/metadata/nosuch': \
                   Unable to remove nonexistent key: nosuch: missing value";
    let denied = status(policies.run(pod()).await);
    assert_eq!((denied.code, denied.reason, denied.message.as_str()), (403, Reason::Invalid, message));
    assert_eq!(causes(&denied), [message]);
    assert_eq!(denied.details.unwrap().name, "p");
}

#[tokio::test]
async fn errors_deny_unless_they_are_ignored_and_all_are_causes() {
    let policies = Policies::new().await;
    policies.policy("a", &labels("object.spec.nosuch")).await;
    policies.policy("b", &apply("Object{spec: Object.spec{tolerations: []}}")).await;
    let condition = r#""matchConditions":[{"name":"c","expression":"object.nosuch"},{"name":"d","expression":"object.nothing == 1"}]"#;
    policies.policy("c", &format!("{},{condition}", labels("'c'"))).await;
    policies.policy("d", &apply("Object{")).await;
    let denied = status(policies.run(pod()).await);
    assert_eq!((denied.code, denied.reason), (403, Reason::Invalid));
    let causes = causes(&denied);
    assert_eq!(denied.message, causes[0]);
    let starts = [
        "policy 'a' with binding 'a' denied request: expression 'Object{metadata: Object.metadata{labels: {'l': object.spec.nosuch}}}' resulted in error: no such key: nosuch",
        "policy 'b' with binding 'b' denied request: error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: .spec.tolerations",
        "policy 'c' with binding 'c' denied request: [compilation error: must evaluate to bool but got dyn, expression 'object.nothing == 1' resulted in error: no such key: nothing]",
        "policy 'd' with binding 'd' denied request: compilation failed: ERROR: <input>:1:8: Syntax error",
    ];
    assert_eq!(causes.len(), starts.len(), "{causes:?}");
    for (cause, start) in causes.iter().zip(starts) {
        assert!(cause.starts_with(start), "{cause}");
    }
    let text = policies.metrics();
    for (policy, error_type) in [("a", "invalid_error"), ("b", "invalid_error"), ("d", "compile_error")] {
        let labels = format!(r#"error_type="{error_type}",policy="{policy}",policy_binding="{policy}""#);
        assert!(
            text.contains(&format!("apiserver_mutating_admission_policy_check_total{{{labels}}} 1")),
            "{text}"
        );
    }
    for name in ["a", "b", "c", "d"] {
        policies.policy(name, &format!("{},\"failurePolicy\":\"Ignore\"", apply("Object{"))).await;
    }
    policies.policy("e", &labels("'e'")).await;
    assert_eq!(policies.label().await, "e");
}

#[tokio::test]
async fn errors_of_the_configuration_deny_before_anything_is_changed() {
    let policies = Policies::new().await;
    policies
        .policy("p", &format!(r#"{},"paramKind":{{"apiVersion":"v1","kind":"ConfigMap"}}"#, labels("'1'")))
        .await;
    let denied = status(policies.run(pod()).await);
    assert_eq!((denied.code, denied.reason), (403, Reason::Forbidden));
    assert_eq!(
        denied.message,
        "policy \"p\" denied request: failed to configure policy: failed to find resource referenced by paramKind: '/v1, Kind=ConfigMap'"
    );
    let json = format!(r#"{{"metadata":{{"name":"p"}},"spec":{{{}}}}}"#, labels("'1'"));
    policies.cluster.put(Resource::MutatingAdmissionPolicy, &json).await;
    let denied = status(policies.run(pod()).await);
    let why = "failed to configure policy: policy contained no match constraints, a required field";
    assert_eq!(denied.message, format!("policy \"p\" denied request: {why}"));
}

#[tokio::test]
async fn policies_see_the_request_its_namespace_and_the_authorizer() {
    #[derive(Default)]
    struct Allows(Mutex<Vec<String>>);

    #[async_trait]
    impl Authorizer for Allows {
        async fn authorize(&self, request: &pintle_auth::authorizer::Attributes<'_>) -> Verdict {
            self.0.lock().unwrap().push(format!("{request:?}"));
            Verdict::allow("yes")
        }
    }

    let mut policies = Policies::new().await;
    let allows = Arc::new(Allows::default());
    policies.cluster.cluster.authorizer = allows.clone();
    policies.cluster.cluster.metrics = Default::default();
    policies.plugin = MutatingAdmissionPolicy::new(&policies.cluster.cluster).unwrap();
    let value = "request.operation + '.' + request.userInfo.username + '.' + namespaceObject.metadata.labels.team + '.' + \
                 string(authorizer.requestResource.check('bind').allowed())";
    policies.policy("p", &labels(value)).await;
    let user = User { name: "jane".into(), ..User::default() };
    let pod = policies.run(pod().by(user)).await.normal("core/v1.Pod");
    assert_eq!(pod.label("l"), Some("CREATE.jane.a.true"));
    assert_eq!(allows.0.lock().unwrap().len(), 1, "asked once");
    let missing = create("pods").in_namespace("gone").json("{}");
    let denied = status(policies.run(missing).await);
    assert_eq!((denied.code, denied.message.as_str()), (404, "namespaces \"gone\" not found"));
}

#[tokio::test]
async fn an_unknown_field_in_a_patch_is_an_internal_error_whatever_the_failure_policy() {
    let policies = Policies::new().await;
    let patch = r#""mutations":[{"patchType":"JSONPatch","jsonPatch":{"expression":"[JSONPatch{op: 'add', path: '/spec/nosuch', value: 1}]"}}],"failurePolicy":"Ignore""#;
    policies.policy("p", patch).await;
    let denied = status(policies.run(pod()).await);
    let message = "Internal error occurred: strict decoding error: unknown field \"spec.nosuch\"";
    assert_eq!((denied.code, denied.message.as_str()), (500, message));
}

/// A plugin after the policies that counts its runs and may change the object in each.
struct After {
    sets_label: bool,
    runs: Mutex<usize>,
}

#[async_trait]
impl Plugin for After {
    fn name(&self) -> &'static str {
        "After"
    }

    fn admits(&self, _: Operation, _: &Target) -> bool {
        true
    }

    async fn admit(&self, attributes: &mut Attributes<'_>) -> Result<()> {
        *self.runs.lock().unwrap() += 1;
        if self.sets_label
            && let Some(metadata) = attributes.object_mut().and_then(Value::metadata_mut)
        {
            metadata.insert("labels", Object::from_iter([("l", "after")]));
        }
        Ok(())
    }
}

/// Runs the whole chain; the label `l` and the runs of the plugin after the policies.
async fn chained(policies: Policies, sets_label: bool) -> (String, usize) {
    let after = Arc::new(After { sets_label, runs: Mutex::default() });
    let chain = Chain::new([Arc::new(policies.plugin) as Arc<dyn Plugin>, after.clone()]);
    let case = pod().versions(&versions());
    let mut attributes = case.attributes();
    chain.admit(&mut attributes).await.unwrap();
    let runs = *after.runs.lock().unwrap();
    (attributes.object().unwrap().label("l").unwrap_or_default().to_owned(), runs)
}

#[tokio::test]
async fn policies_are_reinvoked_if_they_want_to_be() {
    let never = r#""reinvocationPolicy":"Never""#;
    let if_needed = r#""reinvocationPolicy":"IfNeeded""#;

    let policies = Policies::new().await;
    policies.policy("a", &format!("{},{never}", appends("a"))).await;
    assert_eq!(chained(policies, false).await, ("a".into(), 2), "others are, after a change");

    let policies = Policies::new().await;
    policies.policy("a", &format!("{},{if_needed}", appends("a"))).await;
    policies.policy("b", &format!("{},{never}", appends("b"))).await;
    assert_eq!(
        chained(policies, false).await,
        ("aba".into(), 2),
        "since a later policy has changed the object"
    );

    let policies = Policies::new().await;
    policies.policy("a", &format!("{},{if_needed}", appends("a"))).await;
    assert_eq!(chained(policies, true).await, ("after".into(), 2), "since a later plugin has");

    // As in the reference, also a policy that has changed nothing is applied again.
    let policies = Policies::new().await;
    policies.policy("a", &format!("{},{if_needed}", apply("Object{}"))).await;
    let metrics = policies.cluster.cluster.metrics.clone();
    assert_eq!(chained(policies, false).await, (String::new(), 2));
    let text = String::from_utf8(metrics.render().unwrap()).unwrap();
    assert!(text.contains(r#"check_total{error_type="no_error",policy="a",policy_binding="a"} 2"#), "{text}");

    let policies = Policies::new().await;
    let condition = r#""matchConditions":[{"name":"c","expression":"false"}]"#;
    policies.policy("a", &format!("{},{if_needed},{condition}", appends("a"))).await;
    assert_eq!(chained(policies, false).await, (String::new(), 1), "nothing was applied");
}

#[tokio::test]
async fn policies_do_not_change_policies_and_reviews() {
    let policies = Policies::new().await;
    let json = format!(
        r#"{{"metadata":{{"name":"p"}},"spec":{{"matchConstraints":{{"namespaceSelector":{{}},"objectSelector":{{}},"resourceRules":[{{"apiGroups":["*"],"apiVersions":["*"],"operations":["*"],"resources":["*"]}}]}},{}}}}}"#,
        labels("'1'")
    );
    policies.cluster.put(Resource::MutatingAdmissionPolicy, &json).await;
    policies.bind("p", "p", "").await;
    for (resource, is_handled) in [
        ("pods", true),
        ("mutatingadmissionpolicies.admissionregistration.k8s.io", false),
        ("validatingadmissionpolicybindings.admissionregistration.k8s.io", false),
        ("mutatingwebhookconfigurations.admissionregistration.k8s.io", true),
        ("subjectaccessreviews.authorization.k8s.io", false),
    ] {
        policies.plugin.environment.source.candidates(Operation::Create, &target(resource)).await.unwrap();
        assert_eq!(policies.plugin.admits(Operation::Create, &target(resource)), is_handled, "{resource}");
    }
    let changed = update("pods").in_namespace("n").json("{}").old_json("{}");
    assert_eq!(policies.run(changed).await.object().label("l"), Some("1"));
}

#[tokio::test]
async fn random_mutations_have_an_object_or_a_status() {
    let policies = Policies::new().await;
    let mut author = Author { of: "core/v1.Pod", numbers: Numbers(5), variables: 0 };
    let mut codes = BTreeMap::<u16, usize>::new();
    for round in 0..200 {
        let mutation = match round % 2 {
            0 => apply(&author.configuration()),
            _ => format!(
                r#""mutations":[{{"patchType":"JSONPatch","jsonPatch":{{"expression":{}}}}}]"#,
                text_value(&author.patch())
            ),
        };
        policies.policy("p", &mutation).await;
        let pod = create("pods").in_namespace("n").json(&author.object());
        let outcome = policies.run(pod).await;
        let code = match outcome {
            Outcome::Rejected(status) => {
                assert!(status.message.len() > 10, "{status:?}");
                status.code
            }
            admitted => {
                admitted.normal("core/v1.Pod");
                200
            }
        };
        *codes.entry(code).or_default() += 1;
    }
    assert_eq!(codes.keys().copied().collect::<Vec<_>>(), [200, 403, 500], "{codes:?}");
}
