//! `PodTolerationRestriction`: adds the default tolerations of a namespace to its pods, and restricts theirs to those that are
//! allowed there. Namespaces say both by annotations; where they do not, the configuration does.

use std::sync::Arc;

use async_trait::async_trait;
use pintle_codec::json;
use pintle_features::Feature;
use pintle_meta::field_path::{Error, Path};
use pintle_meta::validation::{label_name, label_value};
use pintle_meta::{Status, Value};
use pintle_outbound::configuration::{ConfigurationKind, null_is_default};
use pintle_schema::find;
use serde::Deserialize;

use super::pods::{is_best_effort, is_pod, is_write, spec_of, toleration};
use crate::Result;
use crate::attributes::{Attributes, Operation, Target};
use crate::chain::Cluster;
use crate::objects::{ObjectLister, Resource};
use crate::plugin::Plugin;
use crate::tolerations;

const NAME: &str = "PodTolerationRestriction";
const DEFAULT: &str = "scheduler.alpha.kubernetes.io/defaultTolerations";
const ALLOWED: &str = "scheduler.alpha.kubernetes.io/tolerationsWhitelist";
const MEMORY_PRESSURE: &str = "node.kubernetes.io/memory-pressure";

const KIND: ConfigurationKind = ConfigurationKind {
    kind: "Configuration",
    versions: &["podtolerationrestriction.admission.k8s.io/v1alpha1"],
    scheme: "pkg/admission/podtolerationrestriction/config.go:32",
    is_strict: false,
};

#[derive(Deserialize, Default)]
#[serde(default)]
struct Configuration {
    #[serde(deserialize_with = "null_is_default")]
    default: Vec<serde_json::Value>,
    #[serde(deserialize_with = "null_is_default")]
    whitelist: Vec<serde_json::Value>,
}

pub(crate) struct PodTolerationRestriction {
    objects: Arc<dyn ObjectLister>,
    /// For namespaces that do not say.
    default: Vec<Value>,
    allowed: Vec<Value>,
    /// Whether the resources of pods themselves count.
    pod_level: bool,
}

impl PodTolerationRestriction {
    pub(crate) fn new(cluster: &Cluster) -> Result<PodTolerationRestriction, String> {
        let read: Configuration = cluster.configurations.decode(NAME, &KIND)?.unwrap_or_default();
        let of = |list: &[serde_json::Value]| -> Result<Vec<Value>, String> {
            list.iter().map(|one| decode(one.to_string().as_bytes())).collect()
        };
        let (default, allowed) = (of(&read.default)?, of(&read.whitelist)?);
        let path = Path::new("podtolerationrestriction");
        let mut errors = wrong(&path.child("default"), &default);
        errors.extend(wrong(&path.child("whitelist"), &allowed));
        if !errors.is_empty() {
            let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
            return Err(format!("invalid config: [{}]", errors.join(" ")));
        }
        let pod_level = cluster.features.enabled(Feature::PodLevelResources);
        Ok(PodTolerationRestriction { objects: cluster.objects.clone(), default, allowed, pod_level })
    }

    async fn namespace(&self, name: &str) -> Result<Value> {
        let found = self.objects.object(Resource::Namespace, "", name).await;
        let found = found.map_err(|error| Box::new(Status::internal(error.message)))?;
        found.ok_or_else(|| Box::new(Status::not_found("", "namespaces", name)))
    }

    fn check(&self, attributes: &Attributes<'_>, namespace: &Value) -> Result<()> {
        let given = attributes.object().map(|pod| pod.items_at(&["spec", "tolerations"]));
        let given = given.unwrap_or_default();
        if given.is_empty() {
            return Ok(());
        }
        let of_namespace = annotated(namespace, ALLOWED)?;
        let (allowed, scope) = match &of_namespace {
            Some(allowed) => (allowed, "namespace"),
            None => (&self.allowed, "cluster"),
        };
        if allowed.is_empty() || tolerations::are_allowed(given, allowed) {
            return Ok(());
        }
        Err(Box::new(Status::plain(format!(
            "pod tolerations (possibly merged with namespace default tolerations) conflict with its {scope} whitelist"
        ))))
    }
}

#[async_trait]
impl Plugin for PodTolerationRestriction {
    fn name(&self) -> &'static str {
        NAME
    }

    fn admits(&self, operation: Operation, target: &Target) -> bool {
        is_write(operation) && is_pod(target)
    }

    async fn admit(&self, attributes: &mut Attributes<'_>) -> Result<()> {
        let namespace = self.namespace(attributes.namespace()).await?;
        let mut added = Vec::new();
        if attributes.operation == Operation::Create {
            added = annotated(&namespace, DEFAULT)?.unwrap_or_else(|| self.default.clone());
        }
        if attributes.object().is_some_and(|pod| !is_best_effort(pod, self.pod_level)) {
            added.extend(toleration(MEMORY_PRESSURE, "NoSchedule"));
        }
        if !added.is_empty()
            && let Some(spec) = spec_of(attributes)
        {
            let own = spec.get("tolerations").and_then(Value::as_list).unwrap_or_default();
            let merged = tolerations::merge(own, &added);
            spec.insert("tolerations", Value::list(merged));
        }
        self.check(attributes, &namespace)
    }

    fn validates(&self, operation: Operation, target: &Target) -> bool {
        self.admits(operation, target)
    }

    async fn validate(&self, attributes: &Attributes<'_>) -> Result<()> {
        let namespace = self.namespace(attributes.namespace()).await?;
        self.check(attributes, &namespace)
    }
}

/// Returns the tolerations of an annotation: `None` without the annotation, and none if it is empty.
fn annotated(namespace: &Value, key: &str) -> Result<Option<Vec<Value>>> {
    let Some(text) = namespace.annotation(key) else { return Ok(None) };
    if text.is_empty() {
        return Ok(Some(Vec::new()));
    }
    let failed = |why: String| Box::new(Status::plain(why));
    let list = json::open(text.as_bytes()).map_err(|error| failed(error.to_string()))?;
    if list.is_null() {
        return Ok(Some(Vec::new()));
    }
    let Some(list) = list.as_list() else {
        let what = if list.as_object().is_some() { "object" } else { "value" };
        return Err(failed(format!("json: cannot unmarshal {what} into Go value of type []v1.Toleration")));
    };
    let of = |one: &Value| decode(one.as_raw().unwrap_or(b"{}")).map_err(failed);
    list.iter().map(of).collect::<Result<Vec<Value>>>().map(Some)
}

fn decode(json: &[u8]) -> Result<Value, String> {
    let of = find("core/v1.Toleration").ok_or("no tolerations")?;
    json::decode(of, json).map(|decoded| decoded.value).map_err(|error| error.to_string())
}

/// Returns the errors of tolerations in the configuration.
fn wrong(path: &Path<'_>, tolerations: &[Value]) -> Vec<Error> {
    let mut errors = Vec::new();
    for (index, toleration) in tolerations.iter().enumerate() {
        let path = path.index(index);
        let (operator, effect, value) =
            (path.child("operator"), path.child("effect"), toleration.text_at(&["value"]));
        let (given_key, given, given_effect) = (
            toleration.text_at(&["key"]),
            toleration.text_at(&["operator"]),
            toleration.text_at(&["effect"]),
        );
        if !given_key.is_empty() {
            errors.extend(label_name(&path.child("key"), given_key));
        } else if given != "Exists" {
            let why =
                "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
            errors.push(Error::invalid(&operator, given, why));
        }
        if toleration.get("tolerationSeconds").is_some() && given_effect != "NoExecute" {
            let why = "effect must be 'NoExecute' when `tolerationSeconds` is set";
            errors.push(Error::invalid(&effect, given_effect, why));
        }
        match given {
            "" | "Equal" => {
                let wrong = label_value(value);
                if !wrong.is_empty() {
                    errors.push(Error::invalid(&operator, value, wrong.join(";")));
                }
            }
            "Exists" if !value.is_empty() => {
                errors.push(Error::invalid(
                    &operator,
                    value,
                    "value must be empty when `operator` is 'Exists'",
                ));
            }
            "Exists" => {}
            "Lt" | "Gt" => {
                errors.push(Error::not_supported(&operator, given, &["Equal", "Exists", "Lt", "Gt"]));
            }
            _ => errors.push(Error::not_supported(&operator, given, &["Equal", "Exists"])),
        }
        if !["", "NoSchedule", "PreferNoSchedule", "NoExecute"].contains(&given_effect) {
            errors.push(Error::not_supported(
                &effect,
                given_effect,
                &["NoSchedule", "PreferNoSchedule", "NoExecute"],
            ));
        }
    }
    errors
}

#[cfg(test)]
#[path = "pod_toleration_restriction_tests.rs"]
mod tests;
