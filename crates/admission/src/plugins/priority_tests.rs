use std::sync::atomic::{AtomicBool, Ordering};

use super::*;
use crate::testing::{Case, Outcome, create, target, text, update};

/// Priority classes, of which `late` is known only after [`PriorityClassLister::catch_up`].
struct Classes {
    known: Vec<Arc<PriorityClass>>,
    default: Option<&'static str>,
    is_current: AtomicBool,
}

#[async_trait]
impl PriorityClassLister for Classes {
    async fn ready(&self) -> Result<()> {
        Ok(())
    }

    async fn catch_up(&self) {
        self.is_current.store(true, Ordering::Relaxed);
    }

    fn class(&self, name: &str) -> Option<Arc<PriorityClass>> {
        let is_seen = name != "late" || self.is_current.load(Ordering::Relaxed);
        self.known.iter().find(|class| class.name == name && is_seen).cloned()
    }

    fn default_class(&self) -> Option<Arc<PriorityClass>> {
        self.class(self.default?)
    }
}

fn plugin(default: Option<&'static str>) -> Priority {
    let class = |name: &str, value, policy: Option<&str>| {
        let preemption_policy = policy.map(str::to_owned);
        Arc::new(PriorityClass { name: name.into(), value, preemption_policy })
    };
    let known = vec![
        class("high", 1000, Some("PreemptLowerPriority")),
        class("gentle", 7, Some("Never")),
        class("silent", -5, None),
        class("late", 3, Some("Never")),
    ];
    Priority {
        classes: Arc::new(Classes { known, default, is_current: AtomicBool::new(false) }),
        groups: true,
        none: class("", 0, Some("PreemptLowerPriority")),
    }
}

/// Returns the spec as the plugin leaves it, or the message of the rejection.
async fn admitted(plugin: &Priority, resource: &str, spec: &str, old: Option<&str>) -> String {
    let of = if resource == "pods" { "core/v1.Pod" } else { "scheduling/v1alpha2.PodGroup" };
    let object = |spec: &str| format!(r#"{{"metadata":{{"name":"p"}},"spec":{spec}}}"#);
    let case = match old {
        Some(old) => update(resource).old_json(&object(old)),
        None => create(resource),
    };
    let outcome = case.json(&object(spec)).run(plugin).await;
    if let Outcome::Rejected(status) = outcome {
        assert_eq!(status.code, 403);
        return status.message;
    }
    let admitted = outcome.normal(of);
    let wanted = ["priorityClassName", "priority", "preemptionPolicy"];
    let found = wanted.iter().filter_map(|field| admitted.at(&["spec", field])).map(text);
    found.collect::<Vec<_>>().join(" ")
}

#[tokio::test]
async fn a_pod_gets_the_priority_of_its_class() {
    let cases = [
        (None, "{}", r#"0 "PreemptLowerPriority""#),
        (None, r#"{"priority":0,"preemptionPolicy":"PreemptLowerPriority"}"#, r#"0 "PreemptLowerPriority""#),
        (Some("gentle"), "{}", r#""gentle" 7 "Never""#),
        (Some("gentle"), r#"{"priorityClassName":"high"}"#, r#""high" 1000 "PreemptLowerPriority""#),
        (None, r#"{"priorityClassName":"gentle","priority":7}"#, r#""gentle" 7 "Never""#),
        (None, r#"{"priorityClassName":"silent"}"#, r#""silent" -5"#),
        (None, r#"{"priorityClassName":"silent","preemptionPolicy":"Never"}"#, r#""silent" -5 "Never""#),
        (None, r#"{"priorityClassName":"late"}"#, r#""late" 3 "Never""#),
        (
            None,
            r#"{"priorityClassName":"none"}"#,
            r#"pods "p" is forbidden: no PriorityClass with name none was found"#,
        ),
        (
            None,
            r#"{"priority":5}"#,
            "pods \"p\" is forbidden: the integer value of priority (5) must not be provided in pod spec; priority admission \
             controller computed 0 from the given PriorityClass name",
        ),
        (
            None,
            r#"{"priorityClassName":"high","priority":-1,"preemptionPolicy":"Never"}"#,
            "pods \"p\" is forbidden: the integer value of priority (-1) must not be provided in pod spec; priority admission \
             controller computed 1000 from the given PriorityClass name",
        ),
        (
            None,
            r#"{"priorityClassName":"gentle","preemptionPolicy":"PreemptLowerPriority"}"#,
            "pods \"p\" is forbidden: the string value of PreemptionPolicy (PreemptLowerPriority) must not be provided in pod \
             spec; priority admission controller computed Never from the given PriorityClass name",
        ),
        (
            None,
            r#"{"preemptionPolicy":""}"#,
            "pods \"p\" is forbidden: the string value of PreemptionPolicy () must not be provided in pod spec; priority \
             admission controller computed PreemptLowerPriority from the given PriorityClass name",
        ),
    ];
    for (default, spec, expected) in cases {
        assert_eq!(admitted(&plugin(default), "pods", spec, None).await, expected, "{spec}");
    }
}

#[tokio::test]
async fn an_update_keeps_the_computed_fields() {
    let cases = [
        ("{}", r#"{"priority":9,"preemptionPolicy":"Never"}"#, r#"9 "Never""#),
        (r#"{"priority":1}"#, r#"{"priority":9,"preemptionPolicy":"Never"}"#, r#"1 "Never""#),
        (r#"{"priorityClassName":"none"}"#, "{}", r#""none""#),
    ];
    for (spec, old, expected) in cases {
        assert_eq!(admitted(&plugin(Some("high")), "pods", spec, Some(old)).await, expected, "{spec}");
    }
}

#[tokio::test]
async fn pod_groups_have_a_priority_if_the_feature_is_on() {
    let cases = [
        (None, "{}", "0"),
        (Some("gentle"), "{}", r#""gentle" 7"#),
        (None, r#"{"priorityClassName":"high","priority":1000}"#, r#""high" 1000"#),
        (
            None,
            r#"{"priorityClassName":"high","priority":1}"#,
            "podgroups.scheduling.k8s.io \"p\" is forbidden: priority set in the pod group (1) must match the priority computed \
             (1000) based on the priority class set in the spec",
        ),
        (
            None,
            r#"{"priorityClassName":"none"}"#,
            r#"podgroups.scheduling.k8s.io "p" is forbidden: no PriorityClass with name none was found"#,
        ),
    ];
    let resource = "podgroups.scheduling.k8s.io";
    for (default, spec, expected) in cases {
        assert_eq!(admitted(&plugin(default), resource, spec, None).await, expected, "{spec}");
    }
    let closed = Priority { groups: false, ..plugin(None) };
    assert!(!closed.admits(Operation::Create, &target(resource)));
    assert!(!plugin(None).admits(Operation::Update, &target(resource)));
}

#[tokio::test]
async fn only_one_class_is_the_global_default() {
    use Operation::{Create, Update};
    let refused = r#"priorityclasses.scheduling.k8s.io "new" is forbidden: PriorityClass high is already marked as default. Only one default can exist"#;
    let of_itself = r#"priorityclasses.scheduling.k8s.io "high" is forbidden: PriorityClass high is already marked as default. Only one default can exist"#;
    let cases = [
        (None, Create, "new", true, ""),
        (None, Update, "new", true, ""),
        (Some("high"), Create, "new", false, ""),
        (Some("high"), Create, "new", true, refused),
        (Some("high"), Update, "new", true, refused),
        (Some("high"), Create, "high", true, of_itself),
        (Some("high"), Update, "high", true, ""),
    ];
    for (default, operation, name, is_default, expected) in cases {
        let class = format!(r#"{{"metadata":{{"name":"{name}"}},"value":1,"globalDefault":{is_default}}}"#);
        let case = Case::new(operation, "priorityclasses.scheduling.k8s.io").json(&class);
        let message = case.run(&plugin(default)).await.message();
        assert_eq!(message.unwrap_or_default(), expected, "{operation:?} {name} {is_default}");
    }
}

#[test]
fn nothing_else_is_looked_at() {
    let plugin = plugin(None);
    for subresource in ["status", "binding", "ephemeralcontainers", "resize"] {
        for operation in [Operation::Create, Operation::Update] {
            assert!(!plugin.admits(operation, &target(&format!("pods/{subresource}"))));
        }
    }
    assert!(!plugin.admits(Operation::Delete, &target("pods")));
    let classes = target("priorityclasses.scheduling.k8s.io");
    assert!(!plugin.validates(Operation::Delete, &classes) && !plugin.admits(Operation::Create, &classes));
}
