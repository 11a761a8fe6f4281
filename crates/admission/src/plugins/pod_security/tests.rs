use pintle_auth::User;
use pintle_codec::{json, yaml};

use super::evaluate::evaluate;
use super::labels::{Level, LevelVersion, Version};
use super::*;
use crate::AuditLevel;
use crate::configuration::Configurations;
use crate::testing::{Case, Outcome, TestCluster, create, update};

const PREFIX: &str = "pod-security.kubernetes.io/";
const ON_HOST: &str = r#"{"metadata":{"name":"p"},"spec":{"hostPID":true}}"#;
const FINE: &str = r#"{"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}}"#;

/// A plugin with a configuration, and its cluster.
struct Fixture {
    cluster: TestCluster,
    plugin: PodSecurity,
}

/// The outcome of a request, with its notes.
#[derive(Debug, PartialEq, Eq, Default)]
struct Noted {
    rejection: Option<String>,
    warnings: Vec<String>,
    /// Without the prefix of keys.
    annotations: Vec<(String, String)>,
}

impl Noted {
    fn annotation(&self, key: &str) -> Option<&str> {
        self.annotations.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
    }

    fn rejection(&self) -> &str {
        self.rejection.as_deref().unwrap_or_default()
    }
}

impl Fixture {
    async fn new(configuration: &str) -> Fixture {
        let mut cluster = TestCluster::new().await;
        let text = format!(
            "apiVersion: pod-security.admission.config.k8s.io/v1\nkind: PodSecurityConfiguration\n{configuration}"
        );
        cluster.cluster.configurations = Configurations::new([("PodSecurity".to_owned(), text.into())]);
        let plugin = PodSecurity::new(&cluster.cluster).unwrap();
        Fixture { cluster, plugin }
    }

    /// Writes namespace `n` with labels, which have no prefix here.
    async fn label(&self, labels: &[(&str, &str)]) {
        self.cluster.put(Resource::Namespace, &namespace(labels)).await;
    }

    async fn run(&self, case: Case) -> Noted {
        let notes = case.request.notes.clone();
        let rejection = match case.run(&self.plugin).await {
            Outcome::Rejected(status) => Some(format!("{} {}", status.code, status.message)),
            Outcome::Admitted(_) => None,
            Outcome::NotHandled => panic!("not handled"),
        };
        let unprefixed = |(key, value): (String, String)| {
            (key.strip_prefix(PREFIX).expect("the prefix").to_owned(), value)
        };
        let annotations = notes.annotations(AuditLevel::Metadata).into_iter().map(unprefixed).collect();
        Noted { rejection, warnings: notes.take_warnings(), annotations }
    }

    async fn create(&self, pod: &str) -> Noted {
        self.run(create("pods").in_namespace("n").json(pod)).await
    }

    fn metrics(&self) -> Vec<String> {
        let text = String::from_utf8(self.cluster.cluster.metrics.render().unwrap()).unwrap();
        let own = text.lines().filter(|line| line.starts_with("pod_security_") && !line.ends_with(" 0"));
        own.map(str::to_owned).collect()
    }
}

fn namespace(labels: &[(&str, &str)]) -> String {
    let labels: Vec<String> =
        labels.iter().map(|(name, value)| format!(r#""{PREFIX}{name}":"{value}""#)).collect();
    format!(r#"{{"metadata":{{"name":"n","labels":{{"a":"b"{}{}}}}}}}"#, comma(&labels), labels.join(","))
}

fn comma(items: &[String]) -> &'static str {
    if items.is_empty() { "" } else { "," }
}

fn user(name: &str) -> User {
    User { name: name.into(), ..User::default() }
}

fn annotated(notes: &[(&str, &str)]) -> Noted {
    let annotations = notes.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    Noted { annotations: annotations.collect(), ..Noted::default() }
}

#[tokio::test]
async fn pods_of_an_unrestricted_namespace_are_counted_and_nothing_more() {
    let fixture = Fixture::new("").await;
    fixture.label(&[]).await;
    let allowed = annotated(&[("enforce-policy", "privileged:latest")]);
    assert_eq!(fixture.create(ON_HOST).await, allowed);
    fixture.label(&[("enforce", "privileged"), ("warn-version", "v1.2")]).await;
    let change = update("pods").in_namespace("n").named("p").json(ON_HOST).old_json(FINE);
    assert_eq!(fixture.run(change).await, allowed);
    let line = |operation: &str| {
        format!(
            r#"pod_security_evaluations_total{{decision="allow",mode="enforce",policy_level="privileged",policy_version="latest",request_operation="{operation}",resource="pod",subresource=""}} 1"#
        )
    };
    assert_eq!(fixture.metrics(), [line("create"), line("update")]);
}

#[tokio::test]
async fn a_pod_that_violates_the_enforced_level_is_rejected_without_a_warning() {
    let fixture = Fixture::new("").await;
    fixture.label(&[("enforce", "baseline"), ("enforce-version", "v1.99")]).await;
    let expect = Noted {
        rejection: Some(
            r#"403 pods "p" is forbidden: violates PodSecurity "baseline:v1.99": host namespaces (hostPID=true)"#.into(),
        ),
        ..annotated(&[("enforce-policy", "baseline:v1.99")])
    };
    assert_eq!(fixture.create(ON_HOST).await, expect);
    assert_eq!(fixture.create(FINE).await, annotated(&[("enforce-policy", "baseline:v1.99")]));
    let line = |decision: &str| {
        format!(
            r#"pod_security_evaluations_total{{decision="{decision}",mode="enforce",policy_level="baseline",policy_version="future",request_operation="create",resource="pod",subresource=""}} 1"#
        )
    };
    assert_eq!(fixture.metrics(), [line("allow"), line("deny")]);
}

#[tokio::test]
async fn modes_have_policies_of_their_own() {
    let fixture = Fixture::new("defaults: {warn: baseline, warn-version: v1.9}").await;
    fixture.label(&[("audit", "baseline"), ("audit-version", "v1.8")]).await;
    let text = |version: &str| {
        format!(r#"would violate PodSecurity "baseline:{version}": host namespaces (hostPID=true)"#)
    };
    let expect = Noted {
        rejection: None,
        warnings: vec![text("v1.9")],
        ..annotated(&[("audit-violations", &text("v1.8")), ("enforce-policy", "privileged:latest")])
    };
    assert_eq!(fixture.create(ON_HOST).await, expect);
    let line = |decision: &str, mode: &str, level: &str, version: &str| {
        format!(
            r#"pod_security_evaluations_total{{decision="{decision}",mode="{mode}",policy_level="{level}",policy_version="{version}",request_operation="create",resource="pod",subresource=""}} 1"#
        )
    };
    assert_eq!(
        fixture.metrics(),
        [
            line("allow", "enforce", "privileged", "latest"),
            line("deny", "audit", "baseline", "v1.8"),
            line("deny", "warn", "baseline", "v1.9"),
        ]
    );
}

#[tokio::test]
async fn workloads_are_warned_about_and_never_rejected() {
    let fixture = Fixture::new("").await;
    fixture.label(&[("enforce", "baseline"), ("audit", "restricted")]).await;
    let template = r#"{"spec":{"hostPID":true}}"#;
    let in_spec = format!(r#"{{"metadata":{{"name":"w"}},"spec":{{"template":{template}}}}}"#);
    let cron = format!(r#"{{"metadata":{{"name":"w"}},"spec":{{"jobTemplate":{in_spec}}}}}"#);
    let cases = [
        ("replicationcontrollers", in_spec.clone()),
        ("podtemplates", format!(r#"{{"metadata":{{"name":"w"}},"template":{template}}}"#)),
        ("replicasets.apps", in_spec.clone()),
        ("deployments.apps", in_spec.clone()),
        ("statefulsets.apps", in_spec.clone()),
        ("daemonsets.apps", in_spec.clone()),
        ("jobs.batch", in_spec.clone()),
        ("cronjobs.batch", cron),
    ];
    let warning = r#"would violate PodSecurity "baseline:latest": host namespaces (hostPID=true)"#;
    let audited = r#"would violate PodSecurity "restricted:latest": host namespaces (hostPID=true)"#;
    for (resource, object) in &cases {
        for request in [create(resource), update(resource).named("w").old_json(object)] {
            let noted = fixture.run(request.in_namespace("n").json(object)).await;
            let expect = annotated(&[("audit-violations", audited)]);
            assert_eq!(noted, Noted { warnings: vec![warning.into()], ..expect }, "{resource}");
        }
    }
    let line = |mode: &str, level: &str, operation: &str| {
        format!(
            r#"pod_security_evaluations_total{{decision="deny",mode="{mode}",policy_level="{level}",policy_version="latest",request_operation="{operation}",resource="controller",subresource=""}} 8"#
        )
    };
    assert_eq!(
        fixture.metrics(),
        [
            line("audit", "restricted", "create"),
            line("audit", "restricted", "update"),
            line("warn", "baseline", "create"),
            line("warn", "baseline", "update"),
        ]
    );
    let none = r#"{"metadata":{"name":"w"},"spec":{"replicas":1}}"#;
    let bare = fixture.run(create("replicationcontrollers").in_namespace("n").json(none)).await;
    assert_eq!(bare, Noted::default(), "no template");
    // The enforced level alone does not concern them.
    fixture.label(&[("enforce", "baseline"), ("warn", "privileged")]).await;
    let quiet = fixture.run(create("jobs.batch").in_namespace("n").json(&in_spec)).await;
    assert_eq!(quiet, Noted::default());
}

#[tokio::test]
async fn other_requests_are_not_handled() {
    let fixture = Fixture::new("").await;
    let validates =
        |operation, resource| fixture.plugin.validates(operation, &crate::testing::target(resource));
    for resource in [
        "pods/status",
        "pods/binding",
        "pods/eviction",
        "pods/exec",
        "pods/attach",
        "pods/log",
        "pods/portforward",
        "pods/proxy",
        "namespaces/status",
        "namespaces/finalize",
        "deployments.apps/scale",
        "deployments.apps/status",
        "jobs.batch/status",
        "services",
        "deployments.extensions",
        "pods.example.com",
        "horizontalpodautoscalers.autoscaling",
    ] {
        assert!(!validates(Operation::Create, resource), "{resource}");
        assert!(!validates(Operation::Update, resource), "{resource}");
    }
    for resource in ["pods", "pods/ephemeralcontainers", "pods/resize", "pods/unknown", "namespaces"] {
        assert!(validates(Operation::Update, resource), "{resource}");
        assert!(!validates(Operation::Delete, resource), "{resource}");
        assert!(!validates(Operation::Connect, resource), "{resource}");
    }
}

#[tokio::test]
async fn only_updates_that_change_images_or_containers_are_evaluated() {
    let fixture = Fixture::new("").await;
    fixture.label(&[("enforce", "baseline")]).await;
    let pod = |fields: &str| format!(r#"{{"metadata":{{"name":"p"}},"spec":{{"hostPID":true,{fields}}}}}"#);
    let list = |kind: &str, items: &[(&str, &str)]| {
        let items: Vec<String> =
            items.iter().map(|(name, image)| format!(r#"{{"name":"{name}","image":"{image}"}}"#)).collect();
        format!(r#""{kind}":[{}]"#, items.join(","))
    };
    let rejected = async |resource: &str, old: &str, new: &str| {
        let case = update(resource).in_namespace("n").named("p").old_json(&pod(old)).json(&pod(new));
        let noted = fixture.run(case).await;
        if noted.rejection.is_none() {
            assert_eq!(noted, Noted::default(), "not evaluated");
        }
        noted.rejection.is_some()
    };
    for (kind, resource) in [
        ("containers", "pods"),
        ("initContainers", "pods"),
        ("ephemeralContainers", "pods/ephemeralcontainers"),
    ] {
        let of = |items: &[(&str, &str)]| list(kind, items);
        let old = of(&[("a", "i")]);
        assert!(!rejected(resource, &old, &old).await, "{kind}: the same");
        assert!(rejected(resource, &old, &of(&[("a", "j")])).await, "{kind}: another image");
        assert!(rejected(resource, &old, &of(&[("a", "i"), ("b", "i")])).await, "{kind}: one more");
        let renamed = rejected(resource, &old, &of(&[("b", "i")])).await;
        assert_eq!(renamed, kind == "ephemeralContainers", "only these are found by name");
        let fewer = rejected(resource, &of(&[("a", "i"), ("b", "i")]), &old).await;
        assert_eq!(fewer, kind != "ephemeralContainers", "{kind}: one less");
    }
    let swapped = list("ephemeralContainers", &[("b", "j"), ("a", "i")]);
    let order = list("ephemeralContainers", &[("a", "i"), ("b", "j")]);
    assert!(!rejected("pods/ephemeralcontainers", &order, &swapped).await);
    let with = |more: &str| format!(r#"{},{more}"#, list("containers", &[("a", "i")]));
    assert!(!rejected("pods", &with(r#""nodeName":"a""#), &with(r#""hostIPC":true"#)).await, "another field");
}

#[tokio::test]
async fn exempt_requests_are_noted_and_not_evaluated() {
    let fixture = Fixture::new(
        "defaults: {enforce: restricted, audit: restricted, warn: restricted}\n\
         exemptions: {usernames: [alice], namespaces: [free], runtimeClasses: [vm]}",
    )
    .await;
    fixture.label(&[]).await;
    let deployment = format!(r#"{{"metadata":{{"name":"d"}},"spec":{{"template":{ON_HOST}}}}}"#);
    for (resource, object) in [("pods", ON_HOST), ("deployments.apps", deployment.as_str())] {
        let request = || create(resource).json(object);
        // Also where the namespace does not exist.
        let noted = fixture.run(request().in_namespace("free").by(user("alice"))).await;
        assert_eq!(noted, annotated(&[("exempt", "namespace")]), "{resource}");
        let noted = fixture.run(request().in_namespace("n").by(user("alice"))).await;
        assert_eq!(noted, annotated(&[("exempt", "user")]), "{resource}");
        let of_class = object.replace(r#""hostPID":true"#, r#""hostPID":true,"runtimeClassName":"vm""#);
        let noted = fixture.run(create(resource).json(&of_class).in_namespace("n").by(user("bob"))).await;
        assert_eq!(noted, annotated(&[("exempt", "runtimeClass")]), "{resource}");
        let noted = fixture.run(request().in_namespace("n").by(user("bob"))).await;
        assert_eq!(noted.rejection.is_some(), resource == "pods");
        assert!(noted.annotation("audit-violations").is_some());
    }
    let line = |resource: &str| {
        format!(
            r#"pod_security_exemptions_total{{request_operation="create",resource="{resource}",subresource=""}} 3"#
        )
    };
    let metrics = fixture.metrics();
    for resource in ["pod", "controller"] {
        assert!(metrics.contains(&line(resource)), "{metrics:?}");
    }
}

#[tokio::test]
async fn a_missing_namespace_fails_pods_and_is_noted_of_workloads() {
    let fixture = Fixture::new("").await;
    let pod = fixture.create(FINE).await;
    assert_eq!(pod.rejection(), r#"500 Internal error occurred: failed to lookup namespace "n""#);
    let why = r#"failed to lookup namespace "n": namespaces "n" not found"#;
    assert_eq!(pod.annotation("error"), Some(format!("Internal error occurred: {why}").as_str()));
    let job = fixture.run(create("jobs.batch").in_namespace("n").json("{}")).await;
    assert_eq!(job, annotated(&[("error", why)]));
    let line = |resource: &str| {
        format!(
            r#"pod_security_errors_total{{fatal="true",request_operation="create",resource="{resource}",subresource=""}} 1"#
        )
    };
    assert_eq!(fixture.metrics(), [line("controller"), line("pod")]);
}

#[tokio::test]
async fn pods_of_a_namespace_with_wrong_labels_are_restricted() {
    let fixture = Fixture::new("").await;
    fixture.label(&[("enforce", "high"), ("warn", "high")]).await;
    let noted = fixture.create(ON_HOST).await;
    assert!(
        noted
            .rejection()
            .starts_with(r#"403 pods "p" is forbidden: violates PodSecurity "restricted:latest": "#)
    );
    assert_eq!(
        noted.annotation("error"),
        Some(
            "Failed to parse policy: [metadata.labels[pod-security.kubernetes.io/enforce]: Invalid value: \"high\": must be \
             one of privileged, baseline, restricted, metadata.labels[pod-security.kubernetes.io/warn]: Invalid value: \
             \"high\": must be one of privileged, baseline, restricted]"
        )
    );
    let line = r#"pod_security_errors_total{fatal="false",request_operation="create",resource="pod",subresource=""} 1"#;
    assert!(fixture.metrics().contains(&line.to_owned()));
}

#[tokio::test]
async fn labels_of_namespaces_must_be_valid_unless_they_were_wrong_before() {
    let fixture = Fixture::new("").await;
    let wrong = namespace(&[("enforce", "high")]);
    let also = namespace(&[("enforce", "high"), ("audit-version", "1")]);
    let good = namespace(&[("enforce", "baseline")]);
    let high = "metadata.labels[pod-security.kubernetes.io/enforce]: Invalid value: \"high\": must be one of \
                privileged, baseline, restricted";
    let invalid = format!("422 Namespace \"n\" is invalid: {high}");
    let both = format!(
        "422 Namespace \"n\" is invalid: [{high}, metadata.labels[pod-security.kubernetes.io/audit-version]: Invalid value: \
         \"1\": must be \"latest\" or \"v1.x\"]"
    );
    let made = async |object: &str| fixture.run(create("namespaces").json(object)).await;
    assert_eq!(made(&good).await, Noted::default());
    assert_eq!(made(&wrong).await.rejection(), invalid);
    assert_eq!(made(&also).await.rejection(), both);
    let changed = async |old: &str, new: &str| {
        fixture.run(update("namespaces").named("n").old_json(old).json(new)).await
    };
    assert_eq!(changed(&good, &wrong).await.rejection(), invalid);
    assert_eq!(changed(&wrong, &also).await.rejection(), both);
    assert_eq!(changed(&also, &wrong).await.rejection(), invalid);
    assert_eq!(changed(&wrong, &wrong).await, Noted::default());
    assert_eq!(changed(&wrong, &good).await, Noted::default());
}

#[tokio::test]
async fn pods_that_exist_are_evaluated_when_a_level_becomes_stricter() {
    let fixture = Fixture::new("exemptions: {namespaces: [free]}").await;
    for name in ["b", "a"] {
        let pod = format!(r#"{{"metadata":{{"name":"{name}","namespace":"n"}},"spec":{{"hostPID":true}}}}"#);
        fixture.cluster.put(Resource::Pod, &pod).await;
        fixture.cluster.put(Resource::Pod, &pod.replace(r#""n""#, r#""n2""#)).await;
    }
    let enforce = |level: &str, version: &str| namespace(&[("enforce", level), ("enforce-version", version)]);
    let warnings = async |old: &str, new: &str| {
        let noted = fixture.run(update("namespaces").named("n").old_json(old).json(new)).await;
        assert_eq!(noted.rejection, None);
        noted.warnings
    };
    let none = namespace(&[]);
    let expect = |policy: &str| {
        vec![
            format!(r#"existing pods in namespace "n" violate the new PodSecurity enforce level "{policy}""#),
            "a (and 1 other pod): host namespaces".to_owned(),
        ]
    };
    let (baseline, restricted) = (enforce("baseline", "latest"), enforce("restricted", "latest"));
    assert_eq!(warnings(&none, &baseline).await, expect("baseline:latest"));
    assert_eq!(warnings(&baseline, &enforce("baseline", "v1.5")).await, expect("baseline:v1.5"));
    assert_eq!(warnings(&restricted, &enforce("baseline", "v1.5")).await, expect("baseline:v1.5"));
    assert_eq!(warnings(&restricted, &baseline).await, [""; 0], "relaxed");
    assert_eq!(warnings(&baseline, &baseline).await, [""; 0], "the same");
    assert_eq!(warnings(&baseline, &enforce("privileged", "v1.5")).await, [""; 0], "everything is allowed");
    assert_eq!(warnings(&baseline, &namespace(&[("warn", "restricted")])).await, [""; 0], "not enforced");
}

#[tokio::test]
async fn labels_of_exempt_namespaces_are_warned_about() {
    let fixture = Fixture::new("defaults: {audit: baseline}\nexemptions: {namespaces: ['n']}").await;
    let made = async |labels: &[(&str, &str)]| {
        fixture.run(create("namespaces").json(&namespace(labels))).await.warnings
    };
    let text = |policy: &str| {
        vec![format!(
            "namespace \"n\" is exempt from Pod Security, and the policy ({policy}) will be ignored"
        )]
    };
    assert_eq!(made(&[]).await, [""; 0]);
    assert_eq!(made(&[("audit", "privileged"), ("enforce", "privileged")]).await, [""; 0]);
    assert_eq!(made(&[("enforce", "baseline")]).await, text("enforce=baseline:latest"));
    assert_eq!(
        made(&[("enforce-version", "v1.2"), ("audit-version", "v1.3"), ("warn", "restricted")]).await,
        text("audit=baseline:v1.3, warn=restricted:latest")
    );
    let changed = async |old: &[(&str, &str)], new: &[(&str, &str)]| {
        let case = update("namespaces").named("n").old_json(&namespace(old)).json(&namespace(new));
        fixture.run(case).await.warnings
    };
    assert_eq!(changed(&[], &[("enforce", "restricted")]).await, text("enforce=restricted:latest"));
    assert_eq!(changed(&[], &[("warn", "restricted")]).await, [""; 0], "not enforced");
}

/// The pods that the reference's own tests judge by each level of each version, where they are at hand.
#[test]
fn published_pods_have_the_reference_s_verdicts() {
    let Some(folder) = pintle_published::upstream("pods with verdicts of Pod Security Standards") else {
        return;
    };
    let text = pintle_published::read_gzipped(&folder.join("podsecurity.jsonl.gz")).expect("the pods");
    let (mut compared, mut differing) = (0, Vec::new());
    for line in text.lines() {
        let case: serde_json::Value = serde_json::from_str(line).expect("JSON");
        let field = |name: &str| case[name].as_str().expect("a text");
        let level = Level::parse(field("level")).expect("a level");
        let version = Version::parse(field("version")).expect("a version");
        let pod = yaml::to_json(field("pod").as_bytes()).expect("YAML");
        let mut pod: serde_json::Value = serde_json::from_slice(&pod).expect("JSON");
        for volume in pod["spec"]["volumes"].as_array_mut().into_iter().flatten() {
            // Plugins see pods with their defaults.
            if volume.as_object().is_some_and(|fields| fields.len() == 1) {
                volume["emptyDir"] = serde_json::json!({});
            }
        }
        let of = pintle_schema::find("core/v1.Pod").expect("the type");
        let pod = json::decode(of, pod.to_string().as_bytes()).expect("a pod").value;
        let verdict = evaluate(LevelVersion { level, version }, &Pod::new(&pod));
        compared += 1;
        if verdict.is_allowed() != (field("expect") == "pass") {
            differing.push(format!("{} {} {}: {verdict:?}", field("level"), field("version"), field("name")));
        }
    }
    assert!(differing.is_empty(), "{} of {compared}: {differing:#?}", differing.len());
    assert!(compared > 4000, "{compared}");
}
