use std::sync::{Arc, Mutex};

use pintle_auth::Authorizer;
use pintle_auth::User;
use pintle_auth::authorizer::Verdict as AuthorizerVerdict;

use super::*;
use crate::notes::AuditLevel;
use crate::objects::Resource;
use crate::testing::{Case, Outcome, TestCluster, TestVersions, create, target, update};

const CONSTRAINTS: &str = r#""matchConstraints":{"namespaceSelector":{},"objectSelector":{},"matchPolicy":"Exact","resourceRules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE","UPDATE"],"resources":["pods"]}]}"#;

/// A cluster with the plugin and a namespace `n`.
struct Policies {
    cluster: TestCluster,
    plugin: ValidatingAdmissionPolicy,
}

impl Policies {
    async fn new() -> Policies {
        let cluster = TestCluster::new().await;
        cluster.put(Resource::Namespace, r#"{"metadata":{"name":"n","labels":{"team":"a"}}}"#).await;
        let plugin = ValidatingAdmissionPolicy::new(&cluster.cluster).unwrap();
        Policies { cluster, plugin }
    }

    /// Writes a policy with the rest of its spec.
    async fn policy(&self, name: &str, rest: &str) {
        let json = format!(r#"{{"metadata":{{"name":"{name}"}},"spec":{{{CONSTRAINTS}{rest}}}}}"#);
        self.cluster.put(Resource::ValidatingAdmissionPolicy, &json).await;
    }

    /// Writes a binding with the rest of its spec.
    async fn bind(&self, name: &str, policy: &str, actions: &str, rest: &str) {
        let json = format!(
            r#"{{"metadata":{{"name":"{name}"}},"spec":{{"policyName":"{policy}","validationActions":[{actions}]{rest}}}}}"#
        );
        self.cluster.put(Resource::ValidatingAdmissionPolicyBinding, &json).await;
    }

    async fn run(&self, case: Case) -> Outcome {
        let versions = TestVersions::new("Pod", &["/v1/pods"]);
        case.versions(&versions).run(&self.plugin).await
    }

    fn metrics(&self) -> String {
        String::from_utf8(self.cluster.cluster.metrics.render().unwrap()).unwrap()
    }
}

fn pod() -> Case {
    create("pods")
        .in_namespace("n")
        .json(r#"{"metadata":{"name":"p","labels":{"app":"x"}},"spec":{"nodeName":"a"}}"#)
}

fn status(outcome: Outcome) -> Status {
    match outcome {
        Outcome::Rejected(status) => *status,
        other => panic!("not rejected: {other:?}"),
    }
}

#[tokio::test]
async fn a_policy_counts_once_it_is_stored_and_bound() {
    let policies = Policies::new().await;
    assert_eq!(policies.run(pod()).await.message(), None);
    policies.policy("p", r#","validations":[{"expression":"object.spec.nodeName != 'a'","message":"not there","reason":"Forbidden"}]"#).await;
    assert_eq!(policies.run(pod()).await.message(), None, "not bound");
    policies.bind("b", "p", r#""Deny""#, "").await;
    let message = "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: not there";
    let denied = status(policies.run(pod()).await);
    assert_eq!(denied.message, format!("pods \"p\" is forbidden: {message}"));
    assert_eq!((denied.code, denied.reason), (403, Reason::Forbidden));
    let causes: Vec<_> = denied.details.unwrap().causes.into_iter().map(|cause| cause.message).collect();
    assert_eq!(causes, [message]);
    assert!(
        !policies.run(create("services").in_namespace("n").json("{}")).await.is_handled(),
        "other resources"
    );
    // A change counts, too; the reason is Invalid where the validation has none.
    policies.policy("p", r#","validations":[{"expression":"object.spec.nodeName == 'b'"}]"#).await;
    let denied = status(policies.run(pod()).await);
    assert_eq!((denied.code, denied.reason), (422, Reason::Invalid));
    assert!(
        denied.message.ends_with("denied request: failed expression: object.spec.nodeName == 'b'"),
        "{denied:?}"
    );
    policies.bind("b", "other", r#""Deny""#, "").await;
    assert_eq!(policies.run(pod()).await.message(), None, "the binding is of another policy");
}

#[tokio::test]
async fn one_decision_denies_warns_and_is_recorded() {
    let policies = Policies::new().await;
    policies
        .policy("p", r#","validations":[{"expression":"true"},{"expression":"1 > 2","message":"a <b>"}]"#)
        .await;
    policies.bind("b", "p", r#""Deny","Warn","Audit""#, "").await;
    let case = pod();
    let notes = case.request.notes.clone();
    assert_eq!(
        policies.run(case).await.message().as_deref(),
        Some("pods \"p\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: a <b>")
    );
    let warnings = notes.take_warnings();
    assert_eq!(warnings, ["Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b': a <b>"]);
    let annotations = notes.annotations(AuditLevel::Metadata);
    let failure = r#"[{"message":"a \u003cb\u003e","policy":"p","binding":"b","expressionIndex":1,"validationActions":["Deny","Warn","Audit"]}]"#;
    assert_eq!(annotations[FAILURE_ANNOTATION], failure);
    let text = policies.metrics();
    for action in ["deny", "warn", "audit"] {
        let labels = format!(
            r#"enforcement_action="{action}",error_type="invalid_error",policy="p",policy_binding="b""#
        );
        let total = format!("apiserver_validating_admission_policy_check_total{{{labels}}} 1");
        let count =
            format!("apiserver_validating_admission_policy_check_duration_seconds_count{{{labels}}} 1");
        assert!(text.contains(&total) && text.contains(&count), "{text}");
    }
}

#[tokio::test]
async fn actions_other_than_deny_admit() {
    let policies = Policies::new().await;
    policies.policy("p", r#","validations":[{"expression":"false","message":"no"}]"#).await;
    policies.bind("audit", "p", r#""Audit""#, "").await;
    policies.bind("warn", "p", r#""Warn""#, "").await;
    let case = pod();
    let notes = case.request.notes.clone();
    assert_eq!(policies.run(case).await.message(), None);
    assert_eq!(notes.take_warnings().len(), 1);
    assert!(notes.annotations(AuditLevel::Metadata)[FAILURE_ANNOTATION].contains(r#""binding":"audit""#));
}

#[tokio::test]
async fn values_of_audit_annotations_are_joined() {
    let policies = Policies::new().await;
    let annotations = r#","auditAnnotations":[{"key":"node","valueExpression":"'node ' + object.spec.nodeName"},{"key":"none","valueExpression":"null"},{"key":"long","valueExpression":"object.metadata.annotations.long"}]"#;
    policies.policy("p.example.com", annotations).await;
    policies.bind("a", "p.example.com", r#""Deny""#, "").await;
    policies.bind("b", "p.example.com", r#""Deny""#, "").await;
    let long = "é".repeat(6000);
    let json = format!(
        r#"{{"metadata":{{"name":"p","annotations":{{"long":"{long}"}}}},"spec":{{"nodeName":"a"}}}}"#
    );
    let case = create("pods").in_namespace("n").json(&json);
    let notes = case.request.notes.clone();
    // The type of the last one is not known when it is compiled.
    let message = policies.run(case).await.message().unwrap();
    assert!(message.ends_with("must evaluate to one of [string null_type] but got dyn"), "{message}");
    let found = notes.annotations(AuditLevel::Metadata);
    assert_eq!(found["p.example.com/node"], "node a", "once for both bindings");
    assert_eq!(found.len(), 1);

    policies
        .policy(
            "p.example.com",
            &annotations
                .replace("object.metadata.annotations.long", "string(object.metadata.annotations.long)"),
        )
        .await;
    let case = create("pods").in_namespace("n").json(&json);
    let notes = case.request.notes.clone();
    assert_eq!(policies.run(case).await.message(), None);
    assert_eq!(notes.annotations(AuditLevel::Metadata)["p.example.com/long"].len(), LONGEST_ANNOTATION);

    let mut annotations = Annotations::default();
    for value in ["a", "b", "a"] {
        annotations.add("k".into(), value);
    }
    let case = pod();
    annotations.publish("p", &case.attributes());
    assert_eq!(case.request.notes.annotations(AuditLevel::Metadata)["p/k"], "a, b");
}

#[tokio::test]
async fn bindings_narrow_a_policy_down() {
    let policies = Policies::new().await;
    policies.policy("p", r#","validations":[{"expression":"false","message":"no"}]"#).await;
    let matching =
        |rest: &str| format!(r#","matchResources":{{"namespaceSelector":{{}},"objectSelector":{{}}{rest}}}"#);
    let admits = async |rest: &str| {
        policies.bind("b", "p", r#""Deny""#, rest).await;
        policies.run(pod()).await.message().is_none()
    };
    assert!(!admits(&matching("")).await, "every resource");
    let rule = |field: &str, resources: &str, rest: &str| {
        matching(&format!(
            r#","{field}":[{{"apiGroups":["*"],"apiVersions":["*"],"operations":["*"],"resources":["{resources}"]{rest}}}]"#
        ))
    };
    assert!(!admits(&rule("resourceRules", "pods", "")).await);
    assert!(admits(&rule("resourceRules", "services", "")).await);
    assert!(!admits(&rule("resourceRules", "pods", r#","resourceNames":["x","p"]"#)).await);
    assert!(admits(&rule("resourceRules", "pods", r#","resourceNames":["x"]"#)).await);
    assert!(admits(&rule("excludeResourceRules", "pods", "")).await);
    assert!(!admits(&rule("excludeResourceRules", "services", "")).await);
    assert!(
        !admits(
            r#","matchResources":{"namespaceSelector":{"matchLabels":{"team":"a"}},"objectSelector":{}}"#
        )
        .await
    );
    assert!(
        admits(r#","matchResources":{"namespaceSelector":{"matchLabels":{"team":"b"}},"objectSelector":{}}"#)
            .await
    );
    assert!(
        !admits(r#","matchResources":{"namespaceSelector":{},"objectSelector":{"matchLabels":{"app":"x"}}}"#)
            .await
    );
    assert!(
        admits(r#","matchResources":{"namespaceSelector":{},"objectSelector":{"matchLabels":{"app":"y"}}}"#)
            .await
    );
}

#[tokio::test]
async fn errors_of_the_configuration_deny_unless_failures_are_ignored() {
    let policies = Policies::new().await;
    let message = async |case: Case| policies.run(case).await.message();
    let params =
        r#","paramKind":{"apiVersion":"g.io/v1","kind":"Nope"},"validations":[{"expression":"true"}]"#;
    policies.policy("p", params).await;
    policies.bind("b", "p", r#""Warn""#, "").await;
    assert_eq!(
        message(pod()).await.unwrap(),
        "pods \"p\" is forbidden: ValidatingAdmissionPolicy 'p' denied request: failed to configure policy: failed to find resource \
         referenced by paramKind: 'g.io/v1, Kind=Nope'",
        "whatever the actions are"
    );
    policies.policy("p", &format!(r#"{params},"failurePolicy":"Ignore""#)).await;
    assert_eq!(message(pod()).await, None);

    policies.policy("p", r#","validations":[{"expression":"true"}]"#).await;
    policies.bind("b", "p", r#""Deny""#, r#","matchResources":{"objectSelector":{}}"#).await;
    assert_eq!(
        message(pod()).await.unwrap(),
        "pods \"p\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: failed to configure binding: a nil \
         namespace selector was passed, please ensure selectors are initialized properly"
    );
    let bare = r#"{"metadata":{"name":"p"},"spec":{"validations":[{"expression":"true"}]}}"#;
    policies.cluster.put(Resource::ValidatingAdmissionPolicy, bare).await;
    assert!(
        message(pod())
            .await
            .unwrap()
            .ends_with("failed to configure policy: policy contained no match constraints, a required field")
    );
}

#[tokio::test]
async fn expressions_that_fail_deny_with_the_actions_of_the_binding() {
    let policies = Policies::new().await;
    policies.policy("p", r#","validations":[{"expression":"object.nope == 1"}]"#).await;
    policies.bind("b", "p", r#""Warn""#, "").await;
    let case = pod();
    let notes = case.request.notes.clone();
    assert_eq!(policies.run(case).await.message(), None);
    let why = "expression 'object.nope == 1' resulted in error: no such key: nope";
    let warning = format!("Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b': {why}");
    assert_eq!(notes.take_warnings(), [warning]);
    policies.bind("b", "p", r#""Deny""#, "").await;
    assert!(policies.run(pod()).await.message().unwrap().ends_with(why));
    policies
        .policy("p", r#","failurePolicy":"Ignore","validations":[{"expression":"object.nope == 1"}]"#)
        .await;
    assert_eq!(policies.run(pod()).await.message(), None);
    let labels = r#"enforcement_action="allow",error_type="invalid_error",policy="p",policy_binding="b""#;
    assert!(policies.metrics().contains(&format!("check_total{{{labels}}} 1")));
}

#[tokio::test]
async fn policies_are_applied_by_name_and_the_first_denial_is_the_answer() {
    let policies = Policies::new().await;
    for (policy, binding) in [("b", "y"), ("a", "z"), ("a2", "x")] {
        policies
            .policy(policy, &format!(r#","validations":[{{"expression":"false","message":"by {policy}"}}]"#))
            .await;
        policies.bind(binding, policy, r#""Deny","Warn""#, "").await;
    }
    let case = pod();
    let notes = case.request.notes.clone();
    let denied = status(policies.run(case).await);
    assert!(denied.message.ends_with("'a' with binding 'z' denied request: by a"), "{denied:?}");
    assert_eq!(denied.details.unwrap().causes.len(), 1);
    assert_eq!(notes.take_warnings().len(), 3);
}

#[tokio::test]
async fn expressions_see_the_request_the_namespace_and_the_old_object() {
    let policies = Policies::new().await;
    let rest = r#","variables":[{"name":"team","expression":"namespaceObject.metadata.labels.team"}],"matchConditions":[{"name":"user","expression":"request.userInfo.username == 'jane'"},{"name":"null","expression":"namespaceObject == null"}],"validations":[{"expression":"oldObject == null || object.spec.nodeName == oldObject.spec.nodeName","messageExpression":"request.operation + ' of ' + variables.team + '/' + string(oldObject.spec.nodeName)"},{"expression":"request.resource.resource == 'pods' && request.namespace == 'n' && request.name == 'p' && !request.dryRun && !has(request.subResource)"}]"#;
    policies.policy("p", rest).await;
    policies.bind("b", "p", r#""Deny""#, "").await;
    let user = |name: &str| User { name: name.into(), ..User::default() };
    let old = r#"{"metadata":{"name":"p"},"spec":{"nodeName":"b"}}"#;
    let new = r#"{"metadata":{"name":"p"},"spec":{"nodeName":"a"}}"#;
    let change = || update("pods").in_namespace("n").named("p").json(new).old_json(old);
    let message = policies.run(change().by(user("jane"))).await.message().unwrap();
    assert!(message.ends_with("denied request: UPDATE of a/b"), "{message}");
    assert_eq!(policies.run(change().by(user("john"))).await.message(), None, "a condition is false");
    assert_eq!(policies.run(pod().by(user("jane"))).await.message(), None);
}

/// Allows `get` to a user, and records what was asked.
struct Recorded(Mutex<Vec<String>>);

#[async_trait]
impl Authorizer for Recorded {
    async fn authorize(&self, attributes: &pintle_auth::Attributes<'_>) -> AuthorizerVerdict {
        // A decision that takes a while, as that of a webhook.
        tokio::task::yield_now().await;
        let asked = format!(
            "{} {} {}/{}",
            attributes.user.name, attributes.verb, attributes.resource, attributes.name
        );
        self.0.lock().unwrap().push(asked);
        if attributes.verb == "get" {
            AuthorizerVerdict::allow("")
        } else {
            AuthorizerVerdict::no_opinion("no rule")
        }
    }
}

#[tokio::test]
async fn authorization_checks_are_decided_once_per_request() {
    let mut policies = Policies::new().await;
    let recorded = Arc::new(Recorded(Mutex::default()));
    policies.plugin.environment.authorizer = recorded.clone();
    let check = "authorizer.requestResource.check('get').allowed() && authorizer.group('').resource('nodes').check('list').reason() == 'no rule'";
    let rest = format!(r#","validations":[{{"expression":"{check}"}},{{"expression":"{check}"}}]"#);
    for name in ["p", "q"] {
        policies.policy(name, &rest).await;
        policies.bind(name, name, r#""Deny""#, "").await;
    }
    let user = User { name: "jane".into(), ..User::default() };
    assert_eq!(policies.run(pod().by(user)).await.message(), None);
    assert_eq!(*recorded.0.lock().unwrap(), ["jane get pods/p", "jane list nodes/"]);
}

#[tokio::test]
async fn reviews_and_policies_are_not_seen_by_policies() {
    let policies = Policies::new().await;
    let all = r#"{"metadata":{"name":"p"},"spec":{"matchConstraints":{"namespaceSelector":{},"objectSelector":{},"resourceRules":[{"apiGroups":["*"],"apiVersions":["*"],"operations":["*"],"resources":["*","*/*"]}]},"validations":[{"expression":"false"}]}}"#;
    policies.cluster.put(Resource::ValidatingAdmissionPolicy, all).await;
    policies.bind("b", "p", r#""Deny""#, "").await;
    for (resource, is_seen) in [
        ("tokenreviews.authentication.k8s.io", false),
        ("selfsubjectreviews.authentication.k8s.io", false),
        ("subjectaccessreviews.authorization.k8s.io", false),
        ("localsubjectaccessreviews.authorization.k8s.io", false),
        ("selfsubjectaccessreviews.authorization.k8s.io", false),
        ("selfsubjectrulesreviews.authorization.k8s.io", false),
        ("validatingadmissionpolicies.admissionregistration.k8s.io", false),
        ("validatingadmissionpolicybindings.admissionregistration.k8s.io", false),
        ("mutatingadmissionpolicies.admissionregistration.k8s.io", false),
        ("mutatingadmissionpolicybindings.admissionregistration.k8s.io", false),
        ("validatingwebhookconfigurations.admissionregistration.k8s.io", true),
        ("pods", true),
        ("pods/exec", true),
        ("boats.example.com", true),
    ] {
        let handled = policies.plugin.validates(Operation::Create, &target(resource));
        assert_eq!(handled, is_seen, "{resource}");
    }
}

#[tokio::test]
async fn policies_are_compiled_by_a_task_also_after_changes() {
    let policies = Policies::new().await;
    let compiled = async || {
        for _ in 0..200 {
            let source = &policies.plugin.environment.source;
            let hooks = source.candidates(Operation::Create, &target("pods")).await.unwrap();
            if hooks.iter().all(|hook| hook.policy.is_compiled()) {
                return true;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        false
    };
    for text in ["1 > 2", "1 > 3"] {
        policies.policy("p", &format!(r#","validations":[{{"expression":"{text}"}}]"#)).await;
        policies.bind("b", "p", r#""Deny""#, "").await;
        assert!(compiled().await);
    }
}

#[tokio::test]
async fn a_missing_namespace_ends_the_request() {
    let policies = Policies::new().await;
    policies.policy("p", r#","validations":[{"expression":"true"}]"#).await;
    policies.bind("b", "p", r#""Deny""#, "").await;
    let case = create("pods").in_namespace("gone").json(r#"{"metadata":{"name":"p"}}"#);
    let missing = status(policies.run(case).await);
    assert_eq!((missing.code, missing.message.as_str()), (404, "namespaces \"gone\" not found"));
}
