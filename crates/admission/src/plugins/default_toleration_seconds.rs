//! `DefaultTolerationSeconds`: pods tolerate a node that is not ready or unreachable for some time, unless they have
//! tolerations of their own.

use async_trait::async_trait;
use pintle_meta::Value;
use pintle_schema::{find, normal};

use crate::Result;
use crate::attributes::{Attributes, Operation, Target};
use crate::chain::{Cluster, TolerationSeconds};
use crate::plugin::Plugin;

const NOT_READY: &str = "node.kubernetes.io/not-ready";
const UNREACHABLE: &str = "node.kubernetes.io/unreachable";
const EFFECT: &str = "NoExecute";

pub(crate) struct DefaultTolerationSeconds {
    /// Taints and the seconds for which they are tolerated.
    tolerated: [(&'static str, i64); 2],
}

impl DefaultTolerationSeconds {
    pub(crate) fn new(cluster: &Cluster) -> DefaultTolerationSeconds {
        let TolerationSeconds { not_ready, unreachable } = cluster.toleration_seconds;
        DefaultTolerationSeconds { tolerated: [(NOT_READY, not_ready), (UNREACHABLE, unreachable)] }
    }
}

#[async_trait]
impl Plugin for DefaultTolerationSeconds {
    fn name(&self) -> &'static str {
        "DefaultTolerationSeconds"
    }

    fn admits(&self, operation: Operation, target: &Target) -> bool {
        matches!(operation, Operation::Create | Operation::Update)
            && target.subresource.is_empty()
            && target.resource.group.is_empty()
            && target.resource.resource == "pods"
    }

    async fn admit(&self, attributes: &mut Attributes<'_>) -> Result<()> {
        let Some(pod) = attributes.object_mut() else { return Ok(()) };
        let there = pod.items_at(&["spec", "tolerations"]);
        let missing = self.tolerated.iter().filter(|(key, _)| !there.iter().any(|one| covers(one, key)));
        let missing: Vec<Value> = missing.filter_map(|(key, seconds)| toleration(key, *seconds)).collect();
        if missing.is_empty() {
            return Ok(());
        }
        let Some(spec) = pod.get_mut("spec").and_then(Value::as_object_mut) else { return Ok(()) };
        let tolerations = spec.get_or_insert_with("tolerations", || Value::list(Vec::new()));
        if let Some(tolerations) = tolerations.as_list_mut() {
            tolerations.extend(missing);
        }
        Ok(())
    }
}

/// Returns whether a toleration is for the taint, whatever its operator and value.
fn covers(toleration: &Value, key: &str) -> bool {
    // An empty key or effect matches all.
    let says = |field: &str, wanted: &str| ["", wanted].contains(&toleration.text_at(&[field]));
    says("key", key) && says("effect", EFFECT)
}

fn toleration(key: &'static str, seconds: i64) -> Option<Value> {
    let mut toleration = normal::zero_struct(find("core/v1.Toleration")?.structure()?);
    let fields = toleration.as_object_mut()?;
    fields.insert("key", key);
    fields.insert("operator", "Exists");
    fields.insert("effect", EFFECT);
    fields.insert("tolerationSeconds", seconds);
    Some(toleration)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Case, target, text};

    const PLUGIN: DefaultTolerationSeconds =
        DefaultTolerationSeconds { tolerated: [(NOT_READY, 300), (UNREACHABLE, 0)] };

    async fn tolerations(operation: Operation, given: &str) -> String {
        let pod = format!(r#"{{"spec":{{"containers":[],"tolerations":[{given}]}}}}"#);
        let pod = Case::new(operation, "pods").json(&pod).run(&PLUGIN).await.normal("core/v1.Pod");
        text(pod.at(&["spec", "tolerations"]).expect("some"))
    }

    #[tokio::test]
    async fn missing_tolerations_are_added() {
        let not_ready = r#"{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}"#;
        let unreachable = r#"{"key":"node.kubernetes.io/unreachable","operator":"Exists","effect":"NoExecute","tolerationSeconds":0}"#;
        let both = format!("{not_ready},{unreachable}");
        let own_not_ready = r#"{"key":"node.kubernetes.io/not-ready","value":"a","effect":"NoExecute"}"#;
        let own_unreachable = r#"{"key":"node.kubernetes.io/unreachable","operator":"Exists"}"#;
        let other_effect = r#"{"key":"node.kubernetes.io/not-ready","effect":"NoSchedule"}"#;
        let other_key = r#"{"key":"a","operator":"Exists"}"#;
        let everything = r#"{"operator":"Exists"}"#;
        let everything_else = r#"{"operator":"Exists","effect":"PreferNoSchedule"}"#;
        let cases = [
            ("", both.as_str()),
            (own_not_ready, unreachable),
            (own_unreachable, not_ready),
            (other_effect, &both),
            (other_key, &both),
            (everything, ""),
            (everything_else, &both),
            (&both, ""),
        ];
        for (given, added) in cases {
            let parts: Vec<&str> = [given, added].into_iter().filter(|part| !part.is_empty()).collect();
            for operation in [Operation::Create, Operation::Update] {
                assert_eq!(tolerations(operation, given).await, format!("[{}]", parts.join(",")), "{given}");
            }
        }
    }

    #[test]
    fn other_resources_and_operations_are_not_handled() {
        assert!(!PLUGIN.admits(Operation::Update, &target("pods/status")));
        assert!(!PLUGIN.admits(Operation::Create, &target("pods/eviction")));
        assert!(!PLUGIN.admits(Operation::Create, &target("podtemplates")));
        assert!(!PLUGIN.admits(Operation::Delete, &target("pods")));
        assert!(!PLUGIN.validates(Operation::Create, &target("pods")));
    }
}
