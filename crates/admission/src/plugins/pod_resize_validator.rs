//! `PodResizeValidator`: rejects a resize of a pod that its node cannot grant: the node is not Linux, or too small.

use std::sync::Arc;

use async_trait::async_trait;
use pintle_meta::quantity::Quantity;
use pintle_meta::{Cause, CauseType, Status, Value, quote};

use crate::Result;
use crate::attributes::{Attributes, Operation, Target};
use crate::chain::Cluster;
use crate::objects::{ObjectLister, Resource};
use crate::plugin::Plugin;

pub(crate) struct PodResizeValidator {
    objects: Arc<dyn ObjectLister>,
}

impl PodResizeValidator {
    pub(crate) fn new(cluster: &Cluster) -> PodResizeValidator {
        PodResizeValidator { objects: cluster.objects.clone() }
    }
}

/// Returns the new pod and the name of its node, if an update changes the spec of a pod that is bound.
pub(super) fn changed_on_node<'a>(attributes: &'a Attributes<'_>) -> Option<(&'a Value, &'a str)> {
    let (new, old) = (attributes.object()?, attributes.old_object()?);
    let node = new.text_at(&["spec", "nodeName"]);
    (!node.is_empty() && new.generation() != old.generation()).then_some((new, node))
}

/// Returns the node of a pod; rejects the request if it is missing or cannot be read.
pub(super) async fn node(
    objects: &dyn ObjectLister,
    name: &str,
    attributes: &Attributes<'_>,
) -> Result<Value> {
    let shown = quote(name);
    match objects.object(Resource::Node, "", name).await {
        Ok(Some(node)) => Ok(node),
        Ok(None) => Err(attributes.forbidden(&format!("node {shown} not found"))),
        Err(status) => Err(attributes.forbidden(&format!("failed to get node {shown}: {}", status.message))),
    }
}

#[async_trait]
impl Plugin for PodResizeValidator {
    fn name(&self) -> &'static str {
        "PodResizeValidator"
    }

    fn validates(&self, operation: Operation, target: &Target) -> bool {
        operation == Operation::Update
            && target.subresource == "resize"
            && target.resource.group.is_empty()
            && target.resource.resource == "pods"
    }

    async fn validate(&self, attributes: &Attributes<'_>) -> Result<()> {
        let Some((pod, node_name)) = changed_on_node(attributes) else { return Ok(()) };
        let node = node(&*self.objects, node_name, attributes).await?;
        match node.label("kubernetes.io/os") {
            None | Some("linux") => {}
            Some(other) => {
                let why = format!(
                    "pod resize is only supported on linux nodes, node {} is {}",
                    quote(node.name()),
                    quote(other)
                );
                return Err(with_cause(attributes.forbidden(&why), CauseType::UnsupportedPlatform));
            }
        }
        let lacking = lacking(pod, &node);
        if lacking.is_empty() {
            return Ok(());
        }
        let why = format!("node didn't have enough allocatable resources: {}", lacking.join("; "));
        Err(with_cause(attributes.forbidden(&why), CauseType::NodeCapacity))
    }
}

fn with_cause(mut status: Box<Status>, kind: CauseType) -> Box<Status> {
    let cause = Cause { kind: Some(kind), message: String::new(), field: String::new() };
    status.details.get_or_insert_default().causes.push(cause);
    status
}

/// Returns one sentence for each resource of which a pod requests more than the node can allocate.
fn lacking(pod: &Value, node: &Value) -> Vec<String> {
    let amounts = ["cpu", "memory"]
        .map(|name| (name, requested(pod, name), amount(node, &["status", "allocatable", name])));
    let too_large = amounts.into_iter().filter(|(_, requested, allocatable)| requested > allocatable);
    let sentence = |(name, requested, allocatable): (&str, Quantity, Quantity)| {
        let number = |amount: &Quantity| if name == "cpu" { amount.milli_value() } else { amount.value() };
        format!("{name}, requested: {}, allocatable: {}", number(&requested), number(&allocatable))
    };
    too_large.map(sentence).collect()
}

/// Returns the amount of one resource that a pod requests, with its overhead. A request for the whole pod replaces those of its
/// containers.
///
/// ```text
/// init containers  a: 3, sidecar b: 1, c: 2     containers d: 1, e: 1
/// at the start     3,    1,            1 + 2    then 1 + 1 + 1 (the sidecar goes on)     requested: 3
/// ```
fn requested(pod: &Value, resource: &str) -> Quantity {
    let of = |container: &Value| amount(container, &["resources", "requests", resource]);
    let sum = |mut sum: Quantity, more: &Quantity| {
        sum.add(more);
        sum
    };
    let mut sidecars = Quantity::default();
    let mut peak = Quantity::default();
    for container in pod.items_at(&["spec", "initContainers"]) {
        let during = sum(of(container), &sidecars);
        if container.text_at(&["restartPolicy"]) == "Always" {
            sidecars = during.clone();
        }
        peak = peak.max(during);
    }
    let running = pod.items_at(&["spec", "containers"]).iter().fold(sidecars, |all, one| sum(all, &of(one)));
    let whole = pod.at(&["spec", "resources", "requests", resource]).is_some();
    let requested =
        if whole { amount(pod, &["spec", "resources", "requests", resource]) } else { peak.max(running) };
    sum(requested, &amount(pod, &["spec", "overhead", resource]))
}

/// Returns the quantity at a path; zero if there is none.
fn amount(object: &Value, path: &[&str]) -> Quantity {
    Quantity::parse(object.text_at(path)).unwrap_or_default()
}

#[cfg(test)]
#[path = "pod_resize_validator_tests.rs"]
mod tests;
