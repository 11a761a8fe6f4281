//! `RuntimeClass`: gives pods the overhead of their runtime class, and the node selector and tolerations that it needs.
//!
//! An empty overhead of a pod counts as none, since objects in normal form have no empty maps.

use std::sync::Arc;

use async_trait::async_trait;
use pintle_meta::quantity::Quantity;
use pintle_meta::{Object, Value, quote};

use crate::Result;
use crate::attributes::{Attributes, Operation, Target};
use crate::chain::Cluster;
use crate::objects::{ObjectLister, Resource, check_name};
use crate::plugin::Plugin;
use crate::tolerations;

const DIFFERS: &str = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead";
const WITHOUT_CLASS: &str =
    "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead";

pub(crate) struct RuntimeClass {
    objects: Arc<dyn ObjectLister>,
}

impl RuntimeClass {
    pub(crate) fn new(cluster: &Cluster) -> RuntimeClass {
        RuntimeClass { objects: cluster.objects.clone() }
    }

    /// Returns the class that a pod names; `None` if it names none. Rejects the pod if there is no such class.
    async fn class_of(&self, attributes: &Attributes<'_>) -> Result<Option<Value>> {
        let name = attributes.object().and_then(|pod| pod.at(&["spec", "runtimeClassName"]));
        let Some(name) = name.and_then(Value::as_str) else { return Ok(None) };
        check_name(name)?;
        let class = self.objects.object(Resource::RuntimeClass, "", name).await?;
        let missing =
            || attributes.forbidden(&format!("pod rejected: RuntimeClass {} not found", quote(name)));
        class.ok_or_else(missing).map(Some)
    }
}

#[async_trait]
impl Plugin for RuntimeClass {
    fn name(&self) -> &'static str {
        "RuntimeClass"
    }

    fn admits(&self, operation: Operation, target: &Target) -> bool {
        operation == Operation::Create
            && target.subresource.is_empty()
            && target.resource.group.is_empty()
            && target.resource.resource == "pods"
    }

    async fn admit(&self, attributes: &mut Attributes<'_>) -> Result<()> {
        let Some(class) = self.class_of(attributes).await? else { return Ok(()) };
        if let Some(overhead) = class.get("overhead") {
            set_overhead(attributes, overhead.get("podFixed"))?;
        }
        if let Some(scheduling) = class.get("scheduling") {
            set_scheduling(attributes, scheduling)?;
        }
        Ok(())
    }

    fn validates(&self, operation: Operation, target: &Target) -> bool {
        self.admits(operation, target)
    }

    async fn validate(&self, attributes: &Attributes<'_>) -> Result<()> {
        let class = self.class_of(attributes).await?;
        let of_pod = overhead_of(attributes);
        match class.as_ref().and_then(|class| class.get("overhead")) {
            Some(overhead) if !is_same_overhead(overhead.get("podFixed"), of_pod) => {
                Err(attributes.forbidden(DIFFERS))
            }
            None if of_pod.is_some() => Err(attributes.forbidden(WITHOUT_CLASS)),
            _ => Ok(()),
        }
    }
}

fn overhead_of<'a>(attributes: &'a Attributes<'_>) -> Option<&'a Value> {
    attributes.object()?.at(&["spec", "overhead"])
}

fn spec_of<'a>(attributes: &'a mut Attributes<'_>) -> Option<&'a mut Object> {
    attributes.object_mut()?.get_mut("spec")?.as_object_mut()
}

/// Gives a pod the overhead of its class. Rejects a pod that has another one.
fn set_overhead(attributes: &mut Attributes<'_>, of_class: Option<&Value>) -> Result<()> {
    let of_pod = overhead_of(attributes);
    if of_pod.is_some() && !is_same_overhead(of_class, of_pod) {
        return Err(attributes.forbidden(DIFFERS));
    }
    if let (Some(spec), Some(overhead)) = (spec_of(attributes), of_class) {
        // Also in place of an equal one, whose quantities may be written differently.
        spec.insert("overhead", overhead.clone());
    }
    Ok(())
}

/// Reports whether two overheads have the same resources in the same amounts.
fn is_same_overhead(one: Option<&Value>, other: Option<&Value>) -> bool {
    let (Some(one), Some(other)) = (one.and_then(Value::as_object), other.and_then(Value::as_object)) else {
        return one.is_none() && other.is_none();
    };
    let amount = |value: &Value| value.as_str().and_then(|text| Quantity::parse(text).ok());
    one.len() == other.len()
        && one.iter().all(|(resource, value)| {
            let other = other.get(resource);
            other.is_some_and(|other| {
                other == value || amount(other).is_some_and(|other| Some(other) == amount(value))
            })
        })
}

/// Adds the node selector and the tolerations of a class to those of a pod. Rejects a pod that selects other nodes.
fn set_scheduling(attributes: &mut Attributes<'_>, scheduling: &Value) -> Result<()> {
    let selector = scheduling.get("nodeSelector").and_then(Value::as_object);
    if let Some((key, of_class, of_pod)) = selector.and_then(|selector| conflict(attributes, selector)) {
        return Err(attributes.forbidden(&format!(
            "conflict: runtimeClass.scheduling.nodeSelector[{key}] = {of_class}; pod.spec.nodeSelector[{key}] = {of_pod}"
        )));
    }
    let Some(spec) = spec_of(attributes) else { return Ok(()) };
    if let Some(selector) = selector {
        let merged = spec.get_or_insert_with("nodeSelector", || Object::new().into());
        if let Some(merged) = merged.as_object_mut() {
            for (key, value) in selector.iter() {
                merged.insert(key, value.clone());
            }
        }
    }
    let own = spec.get("tolerations").and_then(Value::as_list).unwrap_or_default();
    let merged = tolerations::merge(own, scheduling.items_at(&["tolerations"]));
    if !merged.is_empty() {
        spec.insert("tolerations", Value::list(merged));
    }
    Ok(())
}

/// Returns the first label for which a class and a pod select different values, with both.
fn conflict<'a>(attributes: &'a Attributes<'_>, of_class: &'a Object) -> Option<(&'a str, &'a str, &'a str)> {
    let of_pod = attributes.object()?.at(&["spec", "nodeSelector"])?;
    of_class.iter().find_map(|(key, value)| {
        let (value, given) = (value.as_str()?, of_pod.get(key)?.as_str()?);
        (value != given).then_some((key, value, given))
    })
}

#[cfg(test)]
#[path = "runtime_class_tests.rs"]
mod tests;
