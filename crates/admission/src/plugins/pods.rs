//! Rules about pods that several plugins share.

use pintle_meta::quantity::Quantity;
use pintle_meta::{Object, Value};
use pintle_schema::{find, normal};

use crate::attributes::{Attributes, Operation, Target};

/// The lists of containers of a pod, in the order in which the reference visits them.
pub(super) const CONTAINERS: [&str; 3] = ["initContainers", "containers", "ephemeralContainers"];

/// Reports whether a request is for pods themselves, and not for one of their subresources.
pub(super) fn is_pod(target: &Target) -> bool {
    target.subresource.is_empty() && is_pods(target)
}

/// Reports whether a request is for pods or one of their subresources.
pub(super) fn is_pods(target: &Target) -> bool {
    target.resource.group.is_empty() && target.resource.resource == "pods"
}

pub(super) fn is_write(operation: Operation) -> bool {
    matches!(operation, Operation::Create | Operation::Update)
}

/// Returns the spec of the new pod for changes.
pub(super) fn spec_of<'a>(attributes: &'a mut Attributes<'_>) -> Option<&'a mut Object> {
    attributes.object_mut()?.get_mut("spec")?.as_object_mut()
}

/// Returns a toleration of all values of a taint.
pub(super) fn toleration(key: &str, effect: &'static str) -> Option<Value> {
    let mut toleration = normal::zero_struct(find("core/v1.Toleration")?.structure()?);
    let fields = toleration.as_object_mut()?;
    fields.insert("key", Value::string(key));
    fields.insert("operator", "Exists");
    fields.insert("effect", effect);
    Some(toleration)
}

/// Reports whether a pod has the QoS class `BestEffort`: by its status, or else because it asks for neither CPU nor memory.
/// `pod_level`: whether the resources of the pod itself count, in place of those of its containers.
pub(super) fn is_best_effort(pod: &Value, pod_level: bool) -> bool {
    let class = pod.text_at(&["status", "qosClass"]);
    if !class.is_empty() {
        return class == "BestEffort";
    }
    let is_positive = |amount: &Value| {
        let amount = amount.as_str().and_then(|text| Quantity::parse(text).ok());
        amount.is_some_and(|amount| amount.signum() > 0)
    };
    let asks = |resources: &Value| {
        ["requests", "limits"].iter().any(|list| {
            ["cpu", "memory"].iter().any(|name| resources.at(&[list, name]).is_some_and(is_positive))
        })
    };
    if let Some(resources) = pod.at(&["spec", "resources"]).filter(|_| pod_level) {
        return !asks(resources);
    }
    let mut containers = CONTAINERS[..2].iter().flat_map(|list| pod.items_at(&["spec", list]));
    !containers.any(|container| container.get("resources").is_some_and(asks))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::decoded;

    #[test]
    fn pods_that_ask_for_cpu_or_memory_are_not_best_effort() {
        let check = |pod: &str, expected: bool| {
            assert_eq!(is_best_effort(&decoded("core/v1.Pod", pod), true), expected, "{pod}");
        };
        let container = |list: &str, resources: &str| {
            format!(r#"{{"spec":{{"{list}":[{{"name":"a"}},{{"name":"b","resources":{resources}}}]}}}}"#)
        };
        check("{}", true);
        check(&container("containers", "{}"), true);
        check(&container("containers", r#"{"requests":{"cpu":"0","example.com/a":"1"}}"#), true);
        check(&container("containers", r#"{"requests":{"cpu":"1m"}}"#), false);
        check(&container("initContainers", r#"{"limits":{"memory":"1"}}"#), false);
        check(r#"{"status":{"qosClass":"Burstable"}}"#, false);
        let asks = container("containers", r#"{"requests":{"cpu":"1"}}"#);
        check(&asks.replacen('{', r#"{"status":{"qosClass":"BestEffort"},"#, 1), true);
        // Resources of the pod itself, while they have an effect, come before those of containers.
        let own = asks.replace(r#""spec":{"#, r#""spec":{"resources":{"limits":{"hugepages-1Mi":"1"}},"#);
        check(&own, true);
        assert!(!is_best_effort(&decoded("core/v1.Pod", &own), false));
    }
}
