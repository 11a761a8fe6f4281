//! The conditions of a namespace that is being deleted.

use std::collections::BTreeMap;

use pintle_meta::gvk::GroupVersionResource;
use pintle_meta::{Object, Value};

/// The conditions in the order in which they are added, with reason and message where nothing is wrong.
const CONDITIONS: [(&str, &str, &str); 5] = [
    (DISCOVERY, "ResourcesDiscovered", "All resources successfully discovered"),
    (
        "NamespaceDeletionGroupVersionParsingFailure",
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
    ),
    (CONTENT, "ContentDeleted", "All content successfully deleted, may be waiting on finalization"),
    (REMAINING, "ContentRemoved", "All content successfully removed"),
    (FINALIZERS, "ContentHasNoFinalizers", "All content-preserving finalizers finished"),
];

const DISCOVERY: &str = "NamespaceDeletionDiscoveryFailure";
const CONTENT: &str = "NamespaceDeletionContentFailure";
const REMAINING: &str = "NamespaceContentRemaining";
const FINALIZERS: &str = "NamespaceFinalizersRemaining";

/// The findings of one attempt to delete the content of a namespace.
#[derive(Debug, Default)]
pub(super) struct Findings {
    /// Group versions whose resources are unknown, with the reason.
    pub(super) undiscovered: Vec<(String, String)>,
    /// Errors of deletions.
    pub(super) errors: Vec<String>,
    /// Numbers of objects that are left, by resource.
    pub(super) remaining: Vec<(GroupVersionResource, usize)>,
    /// Numbers of objects that have a finalizer.
    pub(super) finalizers: BTreeMap<String, usize>,
}

/// A condition that does not hold when all is well.
struct Problem {
    name: &'static str,
    reason: &'static str,
    message: String,
}

impl Findings {
    fn problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        let mut add = |name, reason, message| problems.push(Problem { name, reason, message });
        if let Some(error) = self.discovery_error() {
            let count = self.undiscovered.len();
            let message = format!("Discovery failed for some groups, {count} failing: {error}");
            add(DISCOVERY, "DiscoveryFailed", message);
        }
        if !self.errors.is_empty() {
            let mut errors = self.errors.clone();
            errors.sort();
            let (count, errors) = (errors.len(), errors.join(", "));
            let message = format!("Failed to delete all resource types, {count} remaining: {errors}");
            add(CONTENT, "ContentDeletionFailed", message);
        }
        if !self.remaining.is_empty() {
            let each = self.remaining.iter().map(|(resource, count)| {
                format!("{}.{} has {count} resource instances", resource.resource, resource.group)
            });
            let message = format!("Some resources are remaining: {}", sorted(each));
            add(REMAINING, "SomeResourcesRemain", message);
        }
        if !self.finalizers.is_empty() {
            let each = self.finalizers.iter();
            let each = each.map(|(finalizer, count)| format!("{finalizer} in {count} resource instances"));
            let message = format!("Some content in the namespace has finalizers remaining: {}", sorted(each));
            add(FINALIZERS, "SomeFinalizersRemain", message);
        }
        problems
    }

    /// Returns the error of discovery, as a client of discovery would have it.
    fn discovery_error(&self) -> Option<String> {
        if self.undiscovered.is_empty() {
            return None;
        }
        let each = self.undiscovered.iter().map(|(version, why)| format!("{version}: {why}"));
        Some(format!("unable to retrieve the complete list of server APIs: {}", sorted(each)))
    }

    /// Returns all errors as one, if there are any.
    pub(super) fn error(&self) -> Option<String> {
        let all: Vec<_> = self.discovery_error().into_iter().chain(self.errors.iter().cloned()).collect();
        match &*all {
            [] => None,
            [only] => Some(only.clone()),
            all => Some(format!("[{}]", all.join(", "))),
        }
    }

    /// Returns the status of a namespace with these findings, if that is another one. `now` is the time of transitions.
    pub(super) fn apply(&self, status: &Value, now: &str) -> Option<Value> {
        let mut conditions = status.items_at(&["conditions"]).to_vec();
        let mut problems = self.problems();
        let mut has_changed = false;
        for (name, good_reason, good_message) in CONDITIONS {
            let problem = problems.iter().position(|problem| problem.name == name);
            let (is_problem, reason, message) = match problem.map(|place| problems.swap_remove(place)) {
                Some(Problem { reason, message, .. }) => ("True", reason, message),
                None => ("False", good_reason, good_message.to_owned()),
            };
            let old = conditions.iter_mut().find(|condition| condition.text_at(&["type"]) == name);
            let set = |condition: &mut Object, is_new: bool| {
                let text = |field: &str| condition.get(field).and_then(Value::as_str);
                let transitions = is_new || text("status") != Some(is_problem);
                if !transitions && text("reason") == Some(reason) && text("message") == Some(&message) {
                    return false;
                }
                if transitions {
                    condition.insert("lastTransitionTime", now);
                }
                condition.insert("status", is_problem);
                condition.insert("reason", reason);
                condition.insert("message", message.as_str());
                true
            };
            match old {
                Some(condition) => {
                    has_changed |= condition.as_object_mut().is_some_and(|fields| set(fields, false));
                }
                None => {
                    let mut condition = Object::from_iter([("type", name)]);
                    set(&mut condition, true);
                    conditions.push(Value::object(condition));
                    has_changed = true;
                }
            }
        }
        if !has_changed {
            return None;
        }
        let mut status = status.as_object().cloned().unwrap_or_default();
        status.insert("conditions", conditions);
        Some(Value::object(status))
    }
}

fn sorted(texts: impl Iterator<Item = String>) -> String {
    let mut texts: Vec<String> = texts.collect();
    texts.sort();
    texts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: &str = "2026-01-01T00:00:00Z";

    fn status(json: &str) -> Value {
        pintle_codec::json::decode_untyped(json.as_bytes()).expect("JSON").value
    }

    fn condition(status: &Value, name: &str) -> [String; 3] {
        let conditions = status.items_at(&["conditions"]);
        let found = conditions.iter().find(|known| known.text_at(&["type"]) == name).expect("a condition");
        ["status", "reason", "message"].map(|field| found.text_at(&[field]).to_owned())
    }

    fn pods() -> GroupVersionResource {
        GroupVersionResource::new("", "v1", "pods")
    }

    #[test]
    fn a_namespace_whose_content_is_gone_has_five_good_conditions() {
        let new = Findings::default().apply(&status(r#"{"phase":"Terminating"}"#), NOW).expect("new ones");
        assert_eq!(new.text_at(&["phase"]), "Terminating");
        let names: Vec<_> =
            new.items_at(&["conditions"]).iter().map(|known| known.text_at(&["type"])).collect();
        assert_eq!(names, CONDITIONS.map(|(name, ..)| name));
        for (name, reason, message) in CONDITIONS {
            assert_eq!(condition(&new, name), ["False", reason, message]);
        }
        assert_eq!(Findings::default().apply(&new, "later"), None, "nothing changes");
    }

    #[test]
    fn findings_are_reported_in_their_order() {
        let findings = Findings {
            undiscovered: vec![("m.io/v1".into(), "stale".into()), ("a.io/v1".into(), "stale".into())],
            errors: vec!["b".into(), "a".into()],
            remaining: vec![(pods(), 2), (GroupVersionResource::new("apps", "v1", "deployments"), 1)],
            finalizers: [("x/y".to_owned(), 3), ("a/b".to_owned(), 1)].into(),
        };
        let new = findings.apply(&status("{}"), NOW).expect("conditions");
        let text = |name| condition(&new, name)[2].clone();
        assert_eq!(
            text(DISCOVERY),
            "Discovery failed for some groups, 2 failing: unable to retrieve the complete list of server APIs: \
             a.io/v1: stale, m.io/v1: stale"
        );
        assert_eq!(text(CONTENT), "Failed to delete all resource types, 2 remaining: a, b");
        assert_eq!(
            text(REMAINING),
            "Some resources are remaining: deployments.apps has 1 resource instances, pods. has 2 resource instances"
        );
        assert_eq!(
            text(FINALIZERS),
            "Some content in the namespace has finalizers remaining: a/b in 1 resource instances, x/y in 3 resource \
             instances"
        );
        let error = findings.error().expect("an error");
        assert!(error.starts_with("[unable to retrieve") && error.ends_with(", b, a]"), "{error}");
    }

    #[test]
    fn the_time_of_a_condition_is_that_of_its_last_transition() {
        let some = Findings { remaining: vec![(pods(), 2)], ..Findings::default() };
        let fewer = Findings { remaining: vec![(pods(), 1)], ..Findings::default() };
        let time = |status: &Value| {
            let conditions = status.items_at(&["conditions"]);
            let found = conditions.iter().find(|known| known.text_at(&["type"]) == REMAINING);
            found.expect("a condition").text_at(&["lastTransitionTime"]).to_owned()
        };
        let first = some.apply(&status("{}"), "1").expect("conditions");
        let second = fewer.apply(&first, "2").expect("another message");
        let third = Findings::default().apply(&second, "3").expect("another status");
        assert_eq!([&first, &second, &third].map(time), ["1", "1", "3"]);
    }
}
