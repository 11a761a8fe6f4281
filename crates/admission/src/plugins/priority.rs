//! `Priority`: gives pods the priority and preemption policy of their priority class.

use std::sync::Arc;

use async_trait::async_trait;
use pintle_features::Feature;
use pintle_meta::{Object, Value};

use crate::Result;
use crate::attributes::{Attributes, Operation, Target};
use crate::chain::Cluster;
use crate::plugin::Plugin;
use crate::priority_classes::{PriorityClass, PriorityClassLister, is_default};

pub(crate) struct Priority {
    classes: Arc<dyn PriorityClassLister>,
    /// Whether pod groups have a priority.
    groups: bool,
    /// Priority of pods where no class is the global default.
    none: Arc<PriorityClass>,
}

impl Priority {
    pub(crate) fn new(cluster: &Cluster) -> Priority {
        let preemption_policy = Some("PreemptLowerPriority".into());
        Priority {
            classes: cluster.priority_classes.clone(),
            groups: cluster.features.enabled(Feature::WorkloadAwarePreemption),
            none: Arc::new(PriorityClass { name: String::new(), value: 0, preemption_policy }),
        }
    }

    /// Returns the class that an object names, or the global default.
    async fn class_of(&self, attributes: &Attributes<'_>, object: &Value) -> Result<Arc<PriorityClass>> {
        self.classes.ready().await?;
        let name = object.text_at(&["spec", "priorityClassName"]);
        if name.is_empty() {
            return Ok(self.classes.default_class().unwrap_or_else(|| self.none.clone()));
        }
        let mut class = self.classes.class(name);
        if class.is_none() {
            self.classes.catch_up().await;
            class = self.classes.class(name);
        }
        class.ok_or_else(|| attributes.forbidden(&format!("no PriorityClass with name {name} was found")))
    }

    async fn admit_pod(&self, attributes: &mut Attributes<'_>) -> Result<()> {
        let Some(pod) = attributes.object() else { return Ok(()) };
        let class = self.class_of(attributes, pod).await?;
        if let Some((given, value)) = differing(pod, &class) {
            return Err(attributes.forbidden(&format!(
                "the integer value of priority ({given}) must not be provided in pod spec; priority admission controller \
                 computed {value} from the given PriorityClass name"
            )));
        }
        let given = pod.at(&["spec", "preemptionPolicy"]).and_then(Value::as_str);
        if let (Some(given), Some(policy)) = (given, &class.preemption_policy)
            && given != policy
        {
            return Err(attributes.forbidden(&format!(
                "the string value of PreemptionPolicy ({given}) must not be provided in pod spec; priority admission \
                 controller computed {policy} from the given PriorityClass name"
            )));
        }
        set_priority(attributes, &class);
        if let (Some(spec), Some(policy)) = (spec_of(attributes), &class.preemption_policy) {
            spec.insert("preemptionPolicy", policy.as_str());
        }
        Ok(())
    }

    async fn admit_group(&self, attributes: &mut Attributes<'_>) -> Result<()> {
        let Some(group) = attributes.object() else { return Ok(()) };
        let class = self.class_of(attributes, group).await?;
        if let Some((given, value)) = differing(group, &class) {
            return Err(attributes.forbidden(&format!(
                "priority set in the pod group ({given}) must match the priority computed ({value}) based on the priority \
                 class set in the spec"
            )));
        }
        set_priority(attributes, &class);
        Ok(())
    }
}

#[async_trait]
impl Plugin for Priority {
    fn name(&self) -> &'static str {
        "Priority"
    }

    fn admits(&self, operation: Operation, target: &Target) -> bool {
        if !target.subresource.is_empty() {
            return false;
        }
        match operation {
            Operation::Create => is_pod(target) || (self.groups && is_scheduling(target, "podgroups")),
            Operation::Update => is_pod(target),
            Operation::Delete | Operation::Connect => false,
        }
    }

    async fn admit(&self, attributes: &mut Attributes<'_>) -> Result<()> {
        match attributes.operation {
            Operation::Update => keep(attributes),
            _ if is_pod(attributes.target()) => self.admit_pod(attributes).await?,
            _ => self.admit_group(attributes).await?,
        }
        Ok(())
    }

    fn validates(&self, operation: Operation, target: &Target) -> bool {
        matches!(operation, Operation::Create | Operation::Update)
            && target.subresource.is_empty()
            && is_scheduling(target, "priorityclasses")
    }

    async fn validate(&self, attributes: &Attributes<'_>) -> Result<()> {
        let Some(class) = attributes.object().filter(|class| is_default(class)) else { return Ok(()) };
        self.classes.ready().await?;
        self.classes.catch_up().await;
        match self.classes.default_class() {
            Some(other) if attributes.operation == Operation::Create || other.name != class.name() => {
                Err(attributes.forbidden(&format!(
                    "PriorityClass {} is already marked as default. Only one default can exist",
                    other.name
                )))
            }
            _ => Ok(()),
        }
    }
}

fn is_pod(target: &Target) -> bool {
    target.resource.group.is_empty() && target.resource.resource == "pods"
}

fn is_scheduling(target: &Target, resource: &str) -> bool {
    target.resource.group == "scheduling.k8s.io" && target.resource.resource == resource
}

/// Returns the priority that an object sets and that of its class, if they differ.
fn differing(object: &Value, class: &PriorityClass) -> Option<(i64, i64)> {
    let given = object.at(&["spec", "priority"]).and_then(Value::as_i64)?;
    (given != class.value).then_some((given, class.value))
}

fn spec_of<'a>(attributes: &'a mut Attributes<'_>) -> Option<&'a mut Object> {
    attributes.object_mut()?.get_mut("spec")?.as_object_mut()
}

fn set_priority(attributes: &mut Attributes<'_>, class: &PriorityClass) {
    let Some(spec) = spec_of(attributes) else { return };
    if !class.name.is_empty() {
        spec.insert("priorityClassName", class.name.as_str());
    }
    spec.insert("priority", class.value);
}

/// Copies the computed fields of the stored object to an update that leaves them out. Validation rejects changes of them.
fn keep(attributes: &mut Attributes<'_>) {
    for field in ["priority", "preemptionPolicy"] {
        let old = attributes.old_object().and_then(|old| old.at(&["spec", field])).cloned();
        if let (Some(old), Some(spec)) = (old, spec_of(attributes)) {
            spec.get_or_insert_with(field, || old);
        }
    }
}

#[cfg(test)]
#[path = "priority_tests.rs"]
mod tests;
