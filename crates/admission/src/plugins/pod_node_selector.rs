//! `PodNodeSelector`: adds the node selector of a namespace to its pods, and restricts theirs to what the configuration allows.
//!
//! The selector of a namespace is its annotation, or else the cluster's default. Both it and the allowed labels of a namespace
//! are written as `key=value,key=value`.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use pintle_codec::yaml;
use pintle_meta::validation::{label_value, qualified_name};
use pintle_meta::{Object, Status, Value, quote};

use super::pods::{is_pod, spec_of};
use crate::Result;
use crate::attributes::{Attributes, Operation, Target};
use crate::chain::Cluster;
use crate::objects::{ObjectLister, Resource};
use crate::plugin::Plugin;

const NAME: &str = "PodNodeSelector";
const ANNOTATION: &str = "scheduler.alpha.kubernetes.io/node-selector";
/// The selector of namespaces without the annotation, among those of the configuration.
const CLUSTER_DEFAULT: &str = "clusterDefaultNodeSelector";
const CONFLICT: &str = "pod node label selector conflicts with its namespace node label selector";
const NOT_ALLOWED: &str = "pod node label selector labels conflict with its namespace whitelist";

type Labels = BTreeMap<String, String>;

pub(crate) struct PodNodeSelector {
    objects: Arc<dyn ObjectLister>,
    /// By namespace, as they are written in the configuration.
    selectors: BTreeMap<String, String>,
}

impl PodNodeSelector {
    pub(crate) fn new(cluster: &Cluster) -> Result<PodNodeSelector, String> {
        let selectors = cluster.configurations.of(NAME).map(|text| read(text)).transpose()?;
        Ok(PodNodeSelector { objects: cluster.objects.clone(), selectors: selectors.unwrap_or_default() })
    }

    fn configured(&self, name: &str) -> &str {
        self.selectors.get(name).map_or("", String::as_str)
    }

    async fn selector_of(&self, namespace: &str) -> Result<Labels> {
        let internal = |error: String| Box::new(Status::internal(error));
        let found = self.objects.object(Resource::Namespace, "", namespace).await;
        let found = found.map_err(|error| internal(error.message))?;
        let found = found.ok_or_else(|| internal(format!("namespace {namespace} does not exist")))?;
        labels(found.annotation(ANNOTATION).unwrap_or_else(|| self.configured(CLUSTER_DEFAULT)))
    }

    fn check(&self, attributes: &Attributes<'_>, of_namespace: &Labels) -> Result<()> {
        let Some(pod) = attributes.object() else { return Ok(()) };
        let forbidden = |why: &str| Err(Box::new(Status::forbidden("", "pods", pod.name(), why)));
        let selector = pod.at(&["spec", "nodeSelector"]).and_then(Value::as_object);
        let selector = || selector.into_iter().flat_map(Object::iter);
        let differs = |key: &str, value: &Value| {
            of_namespace.get(key).is_some_and(|wanted| value.as_str() != Some(wanted.as_str()))
        };
        if selector().any(|(key, value)| differs(key, value)) {
            return forbidden(CONFLICT);
        }
        let allowed = labels(self.configured(attributes.namespace()))?;
        let is_allowed = |key: &str, value: &Value| {
            allowed.get(key).is_some_and(|allowed| value.as_str() == Some(allowed.as_str()))
        };
        if !allowed.is_empty() && !selector().all(|(key, value)| is_allowed(key, value)) {
            return forbidden(NOT_ALLOWED);
        }
        Ok(())
    }
}

#[async_trait]
impl Plugin for PodNodeSelector {
    fn name(&self) -> &'static str {
        NAME
    }

    fn admits(&self, operation: Operation, target: &Target) -> bool {
        operation == Operation::Create && is_pod(target)
    }

    async fn admit(&self, attributes: &mut Attributes<'_>) -> Result<()> {
        let of_namespace = self.selector_of(attributes.namespace()).await?;
        if !of_namespace.is_empty()
            && let Some(spec) = spec_of(attributes)
        {
            let selector = spec.get_or_insert_with("nodeSelector", || Object::new().into());
            if let Some(selector) = selector.as_object_mut() {
                // A label that the pod has stays, and is rejected if it is another one.
                for (key, value) in &of_namespace {
                    selector.get_or_insert_with(key.as_str(), || Value::string(value));
                }
            }
        }
        self.check(attributes, &of_namespace)
    }

    fn validates(&self, operation: Operation, target: &Target) -> bool {
        self.admits(operation, target)
    }

    async fn validate(&self, attributes: &Attributes<'_>) -> Result<()> {
        let of_namespace = self.selector_of(attributes.namespace()).await?;
        self.check(attributes, &of_namespace)
    }
}

/// Reads the configuration, which has no kind: the field `podNodeSelectorPluginConfig`, in any case, with a selector for each
/// namespace. As in the reference, a value of another type counts as an empty selector.
fn read(text: &[u8]) -> Result<BTreeMap<String, String>, String> {
    let json = yaml::to_json(text).map_err(|error| error.to_string())?;
    let read: serde_json::Value = serde_json::from_slice(&json).map_err(|error| error.to_string())?;
    let fields = read.as_object().into_iter().flatten();
    let selectors = fields.filter(|(name, _)| name.eq_ignore_ascii_case("podNodeSelectorPluginConfig"));
    let selectors = selectors.filter_map(|(_, selectors)| selectors.as_object()).flatten();
    Ok(selectors.map(|(name, text)| (name.clone(), text.as_str().unwrap_or_default().to_owned())).collect())
}

/// Parses labels as `a=b,c=d`. Errors have no status of their own, as in the reference.
fn labels(text: &str) -> Result<Labels> {
    if text.is_empty() {
        return Ok(Labels::new());
    }
    let failed = |why: String| Box::new(Status::plain(why));
    let label = |label: &str| {
        let parts: Vec<&str> = label.split('=').collect();
        let &[key, value] = parts.as_slice() else {
            return Err(failed(format!("invalid selector: [{}]", parts.join(" "))));
        };
        let (key, value) = (key.trim(), value.trim());
        let (of_key, of_value) = (qualified_name(key), label_value(value));
        if !of_key.is_empty() {
            return Err(failed(format!("<nil>: Invalid value: {}: {}", quote(key), of_key.join("; "))));
        }
        if !of_value.is_empty() {
            return Err(failed(format!("[{key}]: Invalid value: {}: {}", quote(value), of_value.join("; "))));
        }
        Ok((key.to_owned(), value.to_owned()))
    };
    text.split(',').map(label).collect()
}

#[cfg(test)]
#[path = "pod_node_selector_tests.rs"]
mod tests;
