use pintle_meta::Status;

use super::*;
use crate::testing::{Case, Outcome, create, decoded, target, text};

/// A lister of runtime classes by name.
struct Classes;

#[async_trait]
impl ObjectLister for Classes {
    async fn object(&self, resource: Resource, namespace: &str, name: &str) -> Result<Option<Value>> {
        assert_eq!((resource, namespace), (Resource::RuntimeClass, ""));
        let rest = match name {
            "plain" => "",
            "heavy" => r#","overhead":{"podFixed":{"cpu":"100m","memory":"64Mi"}}"#,
            "weightless" => r#","overhead":{}"#,
            "tiny" => r#","overhead":{"podFixed":{"cpu":"1u"}}"#,
            "picky" => {
                r#","scheduling":{"nodeSelector":{"disk":"ssd","vm":"yes"},"tolerations":[{"key":"vm","operator":"Exists"}]}"#
            }
            "anywhere" => r#","scheduling":{}"#,
            "both" => r#","overhead":{"podFixed":{"cpu":"1"}},"scheduling":{"nodeSelector":{"vm":"yes"}}"#,
            "broken" => return Err(Box::new(Status::internal("the store is gone"))),
            _ => return Ok(None),
        };
        let class = format!(r#"{{"metadata":{{"name":"{name}"}},"handler":"h"{rest}}}"#);
        Ok(Some(decoded("node/v1.RuntimeClass", &class)))
    }

    async fn list(&self, resource: Resource, _: &str) -> Result<Vec<Value>> {
        panic!("the plugin does not list {resource:?}")
    }
}

fn plugin() -> RuntimeClass {
    RuntimeClass { objects: Arc::new(Classes) }
}

fn creation(spec: &str) -> Case {
    create("pods").json(&format!(r#"{{"metadata":{{"name":"p"}},"spec":{{{spec}}}}}"#))
}

/// Returns the fields of the spec that the plugin may change, or the message of the rejection.
fn outcome_text(outcome: Outcome) -> String {
    if let Outcome::Rejected(status) = outcome {
        return format!("{} {}", status.code, status.message);
    }
    let pod = outcome.normal("core/v1.Pod");
    let changed = ["overhead", "nodeSelector", "tolerations"];
    changed.iter().filter_map(|field| pod.at(&["spec", field])).map(text).collect::<Vec<_>>().join(" ")
}

/// Checks a pod with the fields `rest` and a runtime class, if any.
async fn check(class: Option<&str>, rest: &str, expected: &str) {
    let class = class.map(|class| format!(r#","runtimeClassName":"{class}""#)).unwrap_or_default();
    let outcome = creation(&format!(r#""containers":[]{class}{rest}"#)).run(&plugin()).await;
    assert_eq!(outcome_text(outcome), expected, "{class}{rest}");
}

const DIFFERS: &str = r#"403 pods "p" is forbidden: pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"#;
const WITHOUT: &str = r#"403 pods "p" is forbidden: pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"#;

#[tokio::test]
async fn a_pod_has_the_overhead_of_its_class() {
    let heavy = r#"{"cpu":"100m","memory":"64Mi"}"#;
    check(None, "", "").await;
    check(Some("plain"), "", "").await;
    check(Some("weightless"), "", "").await;
    check(Some("heavy"), "", heavy).await;
    check(Some("heavy"), r#","overhead":{"cpu":"0.1","memory":"64Mi"}"#, heavy).await;
    check(Some("heavy"), r#","overhead":{"memory":"65536Ki","cpu":"100m"}"#, heavy).await;
    // The amounts of a class are not rounded, unlike those of a pod.
    check(Some("tiny"), "", r#"{"cpu":"1u"}"#).await;

    check(Some("heavy"), r#","overhead":{"cpu":"100m"}"#, DIFFERS).await;
    check(Some("heavy"), r#","overhead":{"cpu":"100m","memory":"64M"}"#, DIFFERS).await;
    check(Some("heavy"), r#","overhead":{"cpu":"100m","pods":"64Mi"}"#, DIFFERS).await;
    check(Some("weightless"), r#","overhead":{"cpu":"0"}"#, DIFFERS).await;
    check(None, r#","overhead":{"cpu":"100m"}"#, WITHOUT).await;
    check(Some("plain"), r#","overhead":{"cpu":"100m"}"#, WITHOUT).await;
}

#[tokio::test]
async fn validation_sees_changes_of_other_plugins() {
    let plugin = plugin();
    for (class, overhead, expected) in [
        ("heavy", r#","overhead":{"cpu":"100m","memory":"64Mi"}"#, None),
        ("heavy", r#","overhead":{"cpu":"1"}"#, Some(DIFFERS)),
        ("heavy", "", Some(DIFFERS)),
        ("weightless", "", None),
        ("weightless", r#","overhead":{"cpu":"1"}"#, Some(DIFFERS)),
        ("plain", r#","overhead":{"cpu":"1"}"#, Some(WITHOUT)),
    ] {
        let spec = format!(r#""containers":[],"runtimeClassName":"{class}"{overhead}"#);
        let validated = plugin.validate(&creation(&spec).attributes()).await;
        let message = validated.err().map(|status| format!("{} {}", status.code, status.message));
        assert_eq!(message.as_deref(), expected, "{spec}");
    }
}

#[tokio::test]
async fn a_pod_goes_where_its_class_can_run() {
    let selector = r#"{"disk":"ssd","vm":"yes"}"#;
    let toleration = r#"{"key":"vm","operator":"Exists"}"#;
    check(Some("picky"), "", &format!("{selector} [{toleration}]")).await;
    check(
        Some("picky"),
        r#","nodeSelector":{"a":"b","vm":"yes"},"tolerations":[{"key":"a"},{"key":"vm","operator":"Equal","value":"x"}]"#,
        &format!(r#"{{"a":"b","disk":"ssd","vm":"yes"}} [{{"key":"a"}},{toleration}]"#),
    )
    .await;
    check(
        Some("picky"),
        r#","nodeSelector":{"vm":"no","disk":"hdd"}"#,
        r#"403 pods "p" is forbidden: conflict: runtimeClass.scheduling.nodeSelector[disk] = ssd; pod.spec.nodeSelector[disk] = hdd"#,
    )
    .await;
    check(
        Some("anywhere"),
        r#","nodeSelector":{"a":"b"},"tolerations":[{"key":"a"},{"key":"a"}]"#,
        r#"{"a":"b"} [{"key":"a"}]"#,
    )
    .await;
    check(Some("anywhere"), "", "").await;
    // Without scheduling, tolerations stay as they are.
    check(Some("plain"), r#","tolerations":[{"key":"a"},{"key":"a"}]"#, r#"[{"key":"a"},{"key":"a"}]"#).await;
    // The overhead comes first.
    check(Some("both"), r#","nodeSelector":{"vm":"no"},"overhead":{"cpu":"2"}"#, DIFFERS).await;
    check(Some("both"), r#","overhead":{"cpu":"1"}"#, r#"{"cpu":"1"} {"vm":"yes"}"#).await;
}

#[tokio::test]
async fn a_missing_class_is_forbidden() {
    for (class, expected) in [
        ("none", r#"403 pods "p" is forbidden: pod rejected: RuntimeClass "none" not found"#),
        (r"a\u0001B", r#"403 pods "p" is forbidden: pod rejected: RuntimeClass "a\x01B" not found"#),
        ("", "500 resource name may not be empty"),
        ("..", r#"500 invalid resource name "..": [may not be '..']"#),
        ("a/%", r#"500 invalid resource name "a/%": [may not contain '/' may not contain '%']"#),
        ("broken", "500 Internal error occurred: the store is gone"),
    ] {
        check(Some(class), "", expected).await;
    }
}

#[test]
fn only_creations_of_pods_are_handled() {
    let plugin = plugin();
    for handled in [Plugin::admits, Plugin::validates] {
        let handled: fn(&RuntimeClass, Operation, &Target) -> bool = handled;
        assert!(handled(&plugin, Operation::Create, &target("pods")));
        for resource in ["pods/binding", "pods/eviction", "podtemplates", "pods.metrics.k8s.io"] {
            assert!(!handled(&plugin, Operation::Create, &target(resource)), "{resource}");
        }
        for operation in [Operation::Update, Operation::Delete, Operation::Connect] {
            assert!(!handled(&plugin, operation, &target("pods")), "{operation:?}");
        }
    }
}
