//! Validation of updates of pods: few fields may change after creation.

use std::collections::HashSet;

use pintle_meta::Value;
use pintle_meta::field_path::{Error, Path};
use pintle_meta::value::Key;
use pintle_schema::go;

use super::parts::MIRROR;
use crate::framework::strategy::tree;

const MUTABLE: &str = "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,\
    `spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 \
    if it was previously negative)";

/// Annotations of the time before there was a field.
const APP_ARMOR: &str = "container.apparmor.security.beta.kubernetes.io/";

/// Fields that a new pod may not have.
pub(crate) fn creation(pod: &Value) -> Vec<Error> {
    let (spec, mut errors) = (Path::new("spec"), Vec::new());
    if !pod.items_at(&["spec", "ephemeralContainers"]).is_empty() {
        errors.push(Error::forbidden(&spec.child("ephemeralContainers"), "cannot be set on create"));
    }
    let is_gated = !pod.items_at(&["spec", "schedulingGates"]).is_empty();
    if is_gated && !pod.text_at(&["spec", "nodeName"]).is_empty() {
        let why = "cannot be set until all schedulingGates have been cleared";
        errors.push(Error::forbidden(&spec.child("nodeName"), why));
    }
    errors
}

/// Returns the errors of a change, beside those of a new pod.
pub(crate) fn changes(new: &Value, old: &Value) -> Vec<Error> {
    let mut errors = annotations(new, old);
    let spec = Path::new("spec");
    for list in ["containers", "initContainers"] {
        let path = spec.child(list);
        let containers = new.items_at(&["spec", list]);
        if containers.len() != old.items_at(&["spec", list]).len() {
            errors.push(Error::forbidden(&path, "pod updates may not add or remove containers"));
            return errors;
        }
        for (place, container) in containers.iter().enumerate() {
            let path = path.index(place);
            let (path, image) = (path.child("image"), container.text_at(&["image"]));
            if image.is_empty() {
                errors.push(Error::required(&path, ""));
            }
            if image.trim() != image {
                errors.push(Error::invalid(&path, image, "must not have leading or trailing whitespace"));
            }
        }
    }
    match deadline(new, old, &spec) {
        Deadline::Fine => {}
        Deadline::Wrong(error) => errors.push(error),
        Deadline::Absurd(error) => {
            errors.push(error);
            return errors;
        }
    }
    errors.extend(tolerations(new, old, &spec));
    errors.extend(scheduling_gates(new, old, &spec));
    let (Some(new), Some(old)) = (new.get("spec"), old.get("spec")) else { return errors };
    if new == old {
        return errors;
    }
    let mut masked = masked(new, old);
    if !old.items_at(&["schedulingGates"]).is_empty() {
        errors.extend(before_scheduling(&mut masked, old, &spec));
    }
    if masked != *old {
        let changed = go::diff("core.PodSpec", old, &masked);
        let why = format!("pod updates may not change fields other than {MUTABLE}\n{changed}");
        errors.push(Error::forbidden(&spec, why));
    }
    errors
}

/// Annotations about the source of a pod and about profiles do not change.
pub(crate) fn annotations(new: &Value, old: &Value) -> Vec<Error> {
    let path = Path::new("metadata");
    let path = path.child("annotations");
    let mut errors = Vec::new();
    let mut check = |key: &str, app_armor: &str, mirror: &str| {
        if key.starts_with(APP_ARMOR) {
            errors
                .push(Error::forbidden(&path.key(key), format!("may not {app_armor} AppArmor annotations")));
        }
        if key == MIRROR {
            errors.push(Error::forbidden(&path.key(key), format!("may not {mirror} mirror pod annotation")));
        }
    };
    for (key, _) in old.annotations().filter(|(key, value)| new.annotation(key) != Some(value)) {
        check(key, "remove or update", "remove or update");
    }
    for (key, _) in new.annotations().filter(|(key, _)| old.annotation(key).is_none()) {
        check(key, "add", "add");
    }
    errors
}

enum Deadline {
    Fine,
    Wrong(Error),
    /// Nothing else is worth a look.
    Absurd(Error),
}

/// A deadline may come, and come sooner.
fn deadline(new: &Value, old: &Value, spec: &Path<'_>) -> Deadline {
    let of = |pod: &Value| pod.at(&["spec", "activeDeadlineSeconds"]).and_then(Value::as_i64);
    let path = spec.child("activeDeadlineSeconds");
    let most = i64::from(i32::MAX);
    match (of(new), of(old)) {
        (Some(new), _) if !(0..=most).contains(&new) => {
            Deadline::Absurd(Error::invalid(&path, new, format!("must be between 0 and {most}, inclusive")))
        }
        (Some(new), Some(old)) if old < new => {
            Deadline::Absurd(Error::invalid(&path, new, "must be less than or equal to previous value"))
        }
        (None, Some(_)) => {
            let why = "must not update from a positive integer to nil value";
            Deadline::Wrong(Error::invalid(&path, pintle_meta::field_path::Value::null(), why))
        }
        _ => Deadline::Fine,
    }
}

/// Tolerations come; of those that are there, only the time may change.
fn tolerations(new: &Value, old: &Value, spec: &Path<'_>) -> Option<Error> {
    const LIST: &[&str] = &["spec", "tolerations"];
    fn without_time(toleration: &Value) -> [Option<&str>; 4] {
        ["key", "operator", "value", "effect"].map(|field| toleration.get(field).and_then(Value::as_str))
    }
    let new: HashSet<_> = new.items_at(LIST).iter().map(without_time).collect();
    let is_there = |old: &Value| new.contains(&without_time(old));
    let why = "existing toleration can not be modified except its tolerationSeconds";
    (!old.items_at(LIST).iter().all(is_there)).then(|| Error::forbidden(&spec.child("tolerations"), why))
}

/// Gates only go.
fn scheduling_gates(new: &Value, old: &Value, spec: &Path<'_>) -> Vec<Error> {
    const LIST: &[&str] = &["spec", "schedulingGates"];
    let path = spec.child("schedulingGates");
    let known: HashSet<&str> = old.items_at(LIST).iter().map(|gate| gate.text_at(&["name"])).collect();
    let names = new.items_at(LIST).iter().map(|gate| gate.text_at(&["name"])).enumerate();
    let added = names.filter(|(_, name)| !known.contains(name));
    let refuse = |(place, name): (usize, &str)| {
        let path = path.index(place);
        let why = format!("only deletion is allowed, but found new scheduling gate '{name}'");
        Error::forbidden(&path.child("name"), why)
    };
    added.map(refuse).collect()
}

/// The new spec with all that may change as it was.
fn masked(new: &Value, old: &Value) -> Value {
    let mut masked = new.clone();
    for list in ["containers", "initContainers"] {
        let containers = new.items_at(&[list]).iter().zip(old.items_at(&[list]));
        let with_image = |(new, old): (&Value, &Value)| {
            let mut container = new.clone();
            tree::keep(&mut container, old, &["image"]);
            container
        };
        let containers: Vec<Value> = containers.map(with_image).collect();
        if !containers.is_empty()
            && let Some(masked) = masked.as_object_mut()
        {
            masked.insert(Key::new_static(list), containers);
        }
    }
    for path in [&["activeDeadlineSeconds"], &["schedulingGates"], &["tolerations"]] {
        tree::keep(&mut masked, old, path);
    }
    const GRACE: &[&str] = &["terminationGracePeriodSeconds"];
    let seconds = |spec: &Value| spec.at(GRACE).and_then(Value::as_i64);
    if seconds(old).is_some_and(|seconds| seconds < 0) && seconds(new) == Some(1) {
        tree::keep(&mut masked, old, GRACE);
    }
    masked
}

/// A pod with scheduling gates may be restricted further in where it runs. What may change is as it was in the
/// masked spec then.
fn before_scheduling(masked: &mut Value, old: &Value, spec: &Path<'_>) -> Vec<Error> {
    const AFFINITY: &[&str] = &["affinity", "nodeAffinity"];
    let mut errors = Vec::new();
    if masked.get("nodeSelector") != old.get("nodeSelector") {
        let entries = old.get("nodeSelector").and_then(Value::as_object);
        let mut entries = entries.into_iter().flat_map(|entries| entries.iter());
        if !entries.all(|(key, value)| masked.at(&["nodeSelector", key]) == Some(value)) {
            let shown = go::printed("map[string]string", masked.get("nodeSelector").unwrap_or(&Value::NULL));
            let why = "only additions to spec.nodeSelector are allowed (no mutations or deletions)";
            errors.push(Error::invalid(&spec.child("nodeSelector"), shown, why));
        }
        tree::keep(masked, old, &["nodeSelector"]);
    }
    if masked.at(AFFINITY) != old.at(AFFINITY) {
        let path = spec.child("affinity");
        errors.extend(terms(masked.at(AFFINITY), old.at(AFFINITY), &path.child("nodeAffinity")));
        let others = ["podAffinity", "podAntiAffinity"];
        let is_alone = |affinity: &Value| others.iter().all(|other| affinity.get(other).is_none());
        match (masked.get("affinity"), old.get("affinity")) {
            (Some(affinity), None) if is_alone(affinity) => tree::remove(masked, &["affinity"]),
            (None, Some(affinity)) if is_alone(affinity) => tree::keep(masked, old, &["affinity"]),
            _ => tree::keep(masked, old, AFFINITY),
        }
    }
    errors
}

/// The nodes that a pod must have may only become fewer.
fn terms(new: Option<&Value>, old: Option<&Value>, path: &Path<'_>) -> Vec<Error> {
    const TERMS: &[&str] = &["requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"];
    let of = |affinity: Option<&Value>| {
        affinity.map(|affinity| affinity.items_at(TERMS).to_vec()).unwrap_or_default()
    };
    let (new, old) = (of(new), of(old));
    let path = path.child(TERMS[0]);
    let path = path.child(TERMS[1]);
    if !old.is_empty() && old.len() != new.len() {
        let shown = if new.is_empty() {
            pintle_meta::field_path::Value::null()
        } else {
            go::printed("[]core.NodeSelectorTerm", &Value::list(new))
        };
        let why = "no additions/deletions to non-empty NodeSelectorTerms list are allowed";
        return vec![Error::invalid(&path, shown, why)];
    }
    let pairs = new.iter().zip(&old).enumerate().filter(|(_, (new, old))| !only_adds(new, old));
    let refuse = |(place, (new, _)): (usize, (&Value, &Value))| {
        let shown = go::printed("core.NodeSelectorTerm", new);
        Error::invalid(&path.index(place), shown, "only additions are allowed (no mutations or deletions)")
    };
    pairs.map(refuse).collect()
}

fn only_adds(new: &Value, old: &Value) -> bool {
    let lists =
        ["matchExpressions", "matchFields"].map(|list| (new.items_at(&[list]), old.items_at(&[list])));
    // A term without anything selects nothing, and with something more.
    if lists.iter().all(|(_, old)| old.is_empty()) {
        return lists.iter().all(|(new, _)| new.is_empty());
    }
    lists.iter().all(|(new, old)| new.starts_with(old))
}

#[cfg(test)]
mod tests {
    use pintle_codec::json;
    use pintle_meta::field_path::aggregate;

    use super::*;

    fn pod(spec: &str) -> Value {
        let spec = spec.replacen('{', r#"{"containers":[{"name":"c","image":"i"}],"#, 1).replace(",}", "}");
        read(&format!(r#"{{"spec":{spec}}}"#))
    }

    fn read(text: &str) -> Value {
        json::decode(pintle_schema::find("core/v1.Pod").unwrap(), text.as_bytes()).unwrap().value
    }

    fn check(old: &str, new: &str, expect: &str) {
        let found = aggregate(&changes(&pod(new), &pod(old)));
        assert_eq!(found, expect, "{old} -> {new}");
    }

    #[test]
    fn what_may_change_does() {
        check("{}", "{}", "");
        check("{}", r#"{"activeDeadlineSeconds":5}"#, "");
        check(r#"{"activeDeadlineSeconds":5}"#, r#"{"activeDeadlineSeconds":4}"#, "");
        check("{}", r#"{"tolerations":[{"key":"a"}]}"#, "");
        check(
            r#"{"tolerations":[{"key":"a","tolerationSeconds":1}]}"#,
            r#"{"tolerations":[{"key":"b"},{"key":"a","tolerationSeconds":2}]}"#,
            "",
        );
        check(r#"{"schedulingGates":[{"name":"g"}]}"#, "{}", "");
        check(r#"{"terminationGracePeriodSeconds":-1}"#, r#"{"terminationGracePeriodSeconds":1}"#, "");
        let image =
            |image: &str| read(&format!(r#"{{"spec":{{"containers":[{{"name":"c","image":"{image}"}}]}}}}"#));
        assert_eq!(changes(&image("j"), &image("i")), []);
        assert_eq!(
            aggregate(&changes(&image(" j"), &image("i"))),
            r#"spec.containers[0].image: Invalid value: " j": must not have leading or trailing whitespace"#
        );
        assert_eq!(aggregate(&changes(&image(""), &image("i"))), "spec.containers[0].image: Required value");
    }

    #[test]
    fn all_else_stays() {
        let found = aggregate(&changes(&pod(r#"{"nodeName":"n"}"#), &pod("{}")));
        let begin = format!("spec: Forbidden: pod updates may not change fields other than {MUTABLE}\n@@ ");
        assert!(found.starts_with(&begin), "{found}");
        assert!(found.contains("\n- \"NodeName\": \"\",\n+ \"NodeName\": \"n\",\n"), "{found}");
        check(
            r#"{"activeDeadlineSeconds":5}"#,
            r#"{"activeDeadlineSeconds":6}"#,
            "spec.activeDeadlineSeconds: Invalid value: 6: must be less than or equal to previous value",
        );
        check(
            r#"{"activeDeadlineSeconds":5}"#,
            "{}",
            "spec.activeDeadlineSeconds: Invalid value: null: must not update from a positive integer to nil value",
        );
        check(
            "{}",
            r#"{"activeDeadlineSeconds":-1}"#,
            "spec.activeDeadlineSeconds: Invalid value: -1: must be between 0 and 2147483647, inclusive",
        );
        check(
            r#"{"tolerations":[{"key":"a"}]}"#,
            r#"{"tolerations":[{"key":"b"}]}"#,
            "spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds",
        );
        check(
            "{}",
            r#"{"schedulingGates":[{"name":"g"}]}"#,
            "spec.schedulingGates[0].name: Forbidden: only deletion is allowed, but found new scheduling gate 'g'",
        );
        let two = read(r#"{"spec":{"containers":[{"name":"c","image":"i"},{"name":"d","image":"i"}]}}"#);
        assert_eq!(
            aggregate(&changes(&two, &pod("{}"))),
            "spec.containers: Forbidden: pod updates may not add or remove containers"
        );
    }

    #[test]
    fn a_gated_pod_may_be_told_more_about_its_node() {
        let gated = |more: &str| format!(r#"{{"schedulingGates":[{{"name":"g"}}]{more}}}"#);
        let selector = |labels: &str| gated(&format!(r#","nodeSelector":{labels}"#));
        check(&gated(""), &selector(r#"{"a":"b"}"#), "");
        check(&selector(r#"{"a":"b"}"#), &selector(r#"{"a":"b","c":"d"}"#), "");
        check(
            &selector(r#"{"a":"b"}"#),
            &selector(r#"{"a":"c"}"#),
            "spec.nodeSelector: Invalid value: {\"a\":\"c\"}: only additions to spec.nodeSelector are allowed (no mutations or \
             deletions)",
        );
        let affinity = |terms: &str| {
            gated(&format!(
                r#","affinity":{{"nodeAffinity":{{"requiredDuringSchedulingIgnoredDuringExecution":{{"nodeSelectorTerms":{terms}}}}}}}"#
            ))
        };
        let one = r#"[{"matchExpressions":[{"key":"a","operator":"Exists"}]}]"#;
        let more =
            r#"[{"matchExpressions":[{"key":"a","operator":"Exists"},{"key":"b","operator":"Exists"}]}]"#;
        check(&gated(""), &affinity(one), "");
        check(&affinity(one), &affinity(more), "");
        let found = aggregate(&changes(&pod(&affinity(one)), &pod(&affinity(more))));
        assert!(found.ends_with("only additions are allowed (no mutations or deletions)"), "{found}");
        let found = aggregate(&changes(&pod(&gated("")), &pod(&affinity(one))));
        assert!(
            found.starts_with(
                "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms: Invalid value: null: no"
            ),
            "{found}"
        );
        // Once it may be scheduled, that is over.
        assert!(!changes(&pod(r#"{"nodeSelector":{"a":"b"}}"#), &pod("{}")).is_empty());
    }

    #[test]
    fn debuggers_and_nodes_of_gated_pods_come_later() {
        let pod =
            pod(r#"{"ephemeralContainers":[{"name":"e"}],"nodeName":"n","schedulingGates":[{"name":"g"}]}"#);
        assert_eq!(
            aggregate(&creation(&pod)),
            "[spec.ephemeralContainers: Forbidden: cannot be set on create, spec.nodeName: Forbidden: cannot be set until all \
             schedulingGates have been cleared]"
        );
        assert_eq!(creation(&read(r#"{"spec":{"nodeName":"n"}}"#)), []);
    }

    #[test]
    fn where_a_pod_comes_from_stays() {
        let with = |key: &str, value: &str| {
            read(&format!(r#"{{"metadata":{{"annotations":{{"{key}":"{value}"}}}}}}"#))
        };
        let none = read("{}");
        for (key, what) in [
            (MIRROR, "mirror pod annotation"),
            ("container.apparmor.security.beta.kubernetes.io/c", "AppArmor annotations"),
        ] {
            let added = aggregate(&annotations(&with(key, "a"), &none));
            assert_eq!(added, format!("metadata.annotations[{key}]: Forbidden: may not add {what}"));
            let gone = aggregate(&annotations(&none, &with(key, "a")));
            assert_eq!(
                gone,
                format!("metadata.annotations[{key}]: Forbidden: may not remove or update {what}")
            );
            assert_eq!(annotations(&with(key, "b"), &with(key, "a")).len(), 1);
            assert_eq!(annotations(&with(key, "a"), &with(key, "a")), []);
        }
    }
}
