//! The requests that the plugin handles, and the pods in their objects: of a pod itself, or of the template of a workload.

use std::collections::HashMap;

use pintle_meta::Value;

use super::checks::Pod;
use crate::attributes::Target;

/// The kind of object that a request is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    Namespace,
    Pod,
    /// An object with a pod template, at this path.
    Workload(&'static [&'static str]),
}

/// Subresources of pods that do not change the spec. Any other one is evaluated.
const WITHOUT_SPEC: [&str; 8] =
    ["attach", "binding", "eviction", "exec", "log", "portforward", "proxy", "status"];

const TEMPLATE: &[&str] = &["spec", "template"];
const EPHEMERAL: &[&str] = &["spec", "ephemeralContainers"];

impl Subject {
    /// Returns the subject of a request; `None` if the plugin has nothing to say about it.
    pub(super) fn of(target: &Target) -> Option<Subject> {
        let (resource, subresource) = (&target.resource, target.subresource.as_str());
        let subject = match (resource.group.as_str(), resource.resource.as_str()) {
            ("", "pods") => {
                return (!WITHOUT_SPEC.contains(&subresource)).then_some(Subject::Pod);
            }
            ("", "namespaces") => Subject::Namespace,
            ("", "podtemplates") => Subject::Workload(&["template"]),
            ("", "replicationcontrollers")
            | ("apps", "daemonsets" | "deployments" | "replicasets" | "statefulsets")
            | ("batch", "jobs") => Subject::Workload(TEMPLATE),
            ("batch", "cronjobs") => Subject::Workload(&["spec", "jobTemplate", "spec", "template"]),
            _ => return None,
        };
        subresource.is_empty().then_some(subject)
    }

    /// Returns the pod that an object is, or that it is a template of. A replication controller may have no template.
    pub(super) fn pod<'a>(self, object: &'a Value) -> Option<Pod<'a>> {
        match self {
            Subject::Namespace => None,
            Subject::Pod => Some(Pod::new(object)),
            Subject::Workload(path) => object.at(path).map(Pod::new),
        }
    }
}

/// Returns whether an update of a pod may violate a policy that the pod did not violate before: containers were added, or have
/// another image. The rest of a pod that policies restrict cannot be changed.
pub(super) fn is_significant(pod: &Value, old: &Value) -> bool {
    ["containers", "initContainers"].into_iter().any(|field| {
        let (new, old) = (pod.items_at(&["spec", field]), old.items_at(&["spec", field]));
        new.len() != old.len() || new.iter().zip(old).any(|(new, old)| image(new) != image(old))
    }) || has_new_ephemeral(pod, old)
}

/// Returns whether a pod has ephemeral containers that it did not have before, by name and image.
fn has_new_ephemeral(pod: &Value, old: &Value) -> bool {
    let new = pod.items_at(EPHEMERAL);
    if new.is_empty() {
        return false;
    }
    // Of several with one name the first one counts.
    let known: HashMap<&str, &str> =
        old.items_at(EPHEMERAL).iter().rev().map(|container| (name(container), image(container))).collect();
    new.iter().any(|container| known.get(name(container)) != Some(&image(container)))
}

fn name(container: &Value) -> &str {
    container.text_at(&["name"])
}

fn image(container: &Value) -> &str {
    container.text_at(&["image"])
}
