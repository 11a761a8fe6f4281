//! Binding a pod to a node: `pods/binding`, and the older `bindings`.

use pintle_features::Feature;
use pintle_meta::field_path::aggregate;
use pintle_meta::value::Key;
use pintle_meta::{Status, Value};
use pintle_registry::Preconditions;

use crate::core::pod;
use crate::framework::strategy::{Settings, tree};
use crate::framework::validation::{Cursor, Errors};

/// Checks a `Binding` before it is tried. `name` is the pod's of the request's path; the older resource has it in the object.
pub(super) fn check(name: &str, binding: &Value) -> Result<(), Box<Status>> {
    if name != binding.name() {
        return Err(Box::new(Status::bad_request("name in URL does not match name in Binding object")));
    }
    let errors = Errors::default();
    validate(&Cursor::root(binding, None, &errors));
    let errors = errors.into_vec();
    if errors.is_empty() {
        return Ok(());
    }
    // Not as an invalid object: clients get the bare words, and no reason.
    Err(Box::new(Status::plain(aggregate(&errors))))
}

fn validate(binding: &Cursor<'_, '_>) {
    let target = binding.field("target");
    let (kind, name) = (target.field("kind"), target.field("name"));
    if !matches!(kind.text(), "" | "Node") {
        kind.not_supported(kind.text(), &["Node", "<empty>"]);
    }
    if name.is_empty() {
        name.required("");
    }
}

/// Returns the preconditions that a binding sets for its pod.
pub(super) fn preconditions(binding: &Value) -> Preconditions {
    let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    Preconditions { uid: given(binding.uid()), resource_version: given(binding.resource_version()) }
}

/// Binds a pod to the node that a checked `Binding` names. The pod is then to be stored as it is, without its strategy.
pub(super) fn assign(pod: &mut Value, binding: &Value, settings: &Settings) -> Result<(), Box<Status>> {
    let name = pod.name();
    let refuse = |why: String| Err(Box::new(Status::conflict("", "pods/binding", name, why)));
    if pod.deletion_timestamp().is_some() {
        return refuse(format!("pod {name} is being deleted, cannot be assigned to a host"));
    }
    let node = pod.text_at(&["spec", "nodeName"]);
    if !node.is_empty() {
        let node = pintle_meta::quote(node);
        return refuse(format!("pod {name} is already assigned to node {node}"));
    }
    if !pod.items_at(&["spec", "schedulingGates"]).is_empty() {
        return refuse(format!("pod {name} has non-empty .spec.schedulingGates"));
    }
    tree::set(pod, &["spec", "nodeName"], binding.text_at(&["target", "name"]));
    if settings.features.enabled(Feature::ClearingNominatedNodeNameAfterBinding) {
        tree::remove(pod, &["status", "nominatedNodeName"]);
    }
    add_entries(pod, "annotations", Value::annotations(binding));
    if settings.features.enabled(Feature::PodTopologyLabelsAdmission) {
        add_entries(pod, "labels", Value::labels(binding));
    }
    pod::set_condition(pod, "PodScheduled", true, None, settings.time());
    Ok(())
}

/// Adds entries to a map of the metadata, over those that are there.
fn add_entries<'a>(pod: &mut Value, map: &'static str, entries: impl Iterator<Item = (&'a str, &'a str)>) {
    let mut entries = entries.peekable();
    if entries.peek().is_none() {
        return;
    }
    let before = pod.metadata().and_then(|metadata| metadata.get(map)?.as_object());
    let mut all = before.cloned().unwrap_or_default();
    for (key, value) in entries {
        all.insert(key, value);
    }
    if let Some(metadata) = pod.metadata_mut() {
        metadata.insert(Key::new_static(map), Value::object(all));
    }
}

#[cfg(test)]
mod tests {
    use crate::framework::strategy::testing::clock_at;
    use pintle_codec::json;

    use super::*;

    fn object(kind: &str, text: &str) -> Value {
        json::decode(pintle_schema::find(kind).unwrap(), text.as_bytes()).unwrap().value
    }

    fn binding(text: &str) -> Value {
        object("core/v1.Binding", text)
    }

    fn pod(text: &str) -> Value {
        object("core/v1.Pod", text)
    }

    fn settings() -> Settings {
        Settings { clock: clock_at("2023-11-14T22:13:20Z"), ..Settings::default() }
    }

    #[test]
    fn a_binding_is_of_the_pod_it_names_and_of_a_node() {
        let good = r#"{"metadata":{"name":"p"},"target":{"kind":"Node","name":"n"}}"#;
        check("p", &binding(good)).unwrap();
        let status = check("q", &binding(good)).unwrap_err();
        assert_eq!(
            (status.code, status.message.as_str()),
            (400, "name in URL does not match name in Binding object")
        );
        let status =
            check("p", &binding(r#"{"metadata":{"name":"p"},"target":{"kind":"Pod"}}"#)).unwrap_err();
        let text = r#"[target.kind: Unsupported value: "Pod": supported values: "Node", "<empty>", target.name: Required value]"#;
        assert_eq!((status.code, status.message.as_str()), (500, text));
        let of = preconditions(&binding(r#"{"metadata":{"name":"p","uid":"u"},"target":{"name":"n"}}"#));
        assert_eq!(of, Preconditions { uid: Some("u".into()), resource_version: None });
    }

    #[test]
    fn a_bound_pod_has_a_node_and_what_the_binding_brings() {
        let mut bound = pod(
            r#"{"metadata":{"name":"p","annotations":{"old":"1"}},"spec":{"containers":null},
            "status":{"nominatedNodeName":"m","conditions":[{"type":"PodScheduled","status":"False","reason":"Unschedulable"}]}}"#,
        );
        let binding = binding(
            r#"{"metadata":{"name":"p","annotations":{"old":"2","k":"v"},"labels":{"l":"v"}},"target":{"name":"n"}}"#,
        );
        assign(&mut bound, &binding, &settings()).unwrap();
        let mut text = Vec::new();
        json::encode(&bound, &mut text);
        assert_eq!(
            String::from_utf8(text).unwrap(),
            r#"{"metadata":{"name":"p","labels":{"l":"v"},"annotations":{"k":"v","old":"2"}},"spec":{"containers":null,"nodeName":"n"},"status":{"conditions":[{"type":"PodScheduled","status":"True","lastProbeTime":null,"lastTransitionTime":"2023-11-14T22:13:20Z"}]}}"#
        );
    }

    #[test]
    fn labels_and_the_end_of_a_nomination_have_gates() {
        let mut settings = settings();
        for feature in [Feature::ClearingNominatedNodeNameAfterBinding, Feature::PodTopologyLabelsAdmission] {
            settings.features.set(feature, false);
        }
        let mut bound = pod(r#"{"metadata":{"name":"p"},"spec":{},"status":{"nominatedNodeName":"m"}}"#);
        let binding = binding(r#"{"metadata":{"name":"p","labels":{"l":"v"}},"target":{"name":"n"}}"#);
        assign(&mut bound, &binding, &settings).unwrap();
        assert_eq!(bound.text_at(&["status", "nominatedNodeName"]), "m");
        assert_eq!(bound.label("l"), None);
    }

    #[test]
    fn a_pod_that_cannot_be_bound_says_why() {
        for (pod, why) in [
            (
                r#"{"metadata":{"name":"p"},"spec":{"nodeName":"m"}}"#,
                "pod p is already assigned to node \"m\"",
            ),
            (
                r#"{"metadata":{"name":"p","deletionTimestamp":"2023-11-14T22:13:20Z"}}"#,
                "pod p is being deleted, cannot be assigned to a host",
            ),
            (
                r#"{"metadata":{"name":"p"},"spec":{"schedulingGates":[{"name":"g"}]}}"#,
                "pod p has non-empty .spec.schedulingGates",
            ),
        ] {
            let binding = binding(r#"{"metadata":{"name":"p"},"target":{"name":"n"}}"#);
            let status = assign(&mut self::pod(pod), &binding, &settings()).unwrap_err();
            assert_eq!(status.message, format!("Operation cannot be fulfilled on pods/binding \"p\": {why}"));
        }
    }
}
