//! `LimitPodHardAntiAffinityTopology`: allows required anti-affinity of pods by hostname alone. Anti-affinity is symmetric, so
//! one pod could keep all others out of a zone.

use async_trait::async_trait;
use pintle_meta::Status;

use super::pods::{is_pod, is_write};
use crate::Result;
use crate::attributes::{Attributes, Operation, Target};
use crate::plugin::Plugin;

const HOSTNAME: &str = "kubernetes.io/hostname";
const REQUIRED: [&str; 4] =
    ["spec", "affinity", "podAntiAffinity", "requiredDuringSchedulingIgnoredDuringExecution"];

pub(crate) struct LimitPodHardAntiAffinityTopology;

#[async_trait]
impl Plugin for LimitPodHardAntiAffinityTopology {
    fn name(&self) -> &'static str {
        "LimitPodHardAntiAffinityTopology"
    }

    fn validates(&self, operation: Operation, target: &Target) -> bool {
        is_write(operation) && is_pod(target)
    }

    async fn validate(&self, attributes: &Attributes<'_>) -> Result<()> {
        let Some(pod) = attributes.object() else { return Ok(()) };
        let mut keys = pod.items_at(&REQUIRED).iter().map(|term| term.text_at(&["topologyKey"]));
        let Some(key) = keys.find(|key| *key != HOSTNAME) else { return Ok(()) };
        let why = format!(
            "affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey {key} but only key {HOSTNAME} is allowed"
        );
        Err(Box::new(Status::forbidden("", "pods", pod.name(), &why)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Case, target};

    async fn check(anti_affinity: &str, key: Option<&str>) {
        let pod = format!(
            r#"{{"metadata":{{"name":"p"}},"spec":{{"affinity":{{"podAntiAffinity":{{{anti_affinity}}}}}}}}}"#
        );
        for operation in [Operation::Create, Operation::Update] {
            let case = Case::new(operation, "pods").json(&pod);
            let expected = key.map(|key| {
                format!(
                    "affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey {key} but only key \
                     kubernetes.io/hostname is allowed"
                )
            });
            let outcome = case.run(&LimitPodHardAntiAffinityTopology).await;
            assert_eq!(outcome.why(), expected, "{anti_affinity}");
        }
    }

    fn required(keys: &[&str]) -> String {
        let terms: Vec<String> = keys.iter().map(|key| format!(r#"{{"topologyKey":"{key}"}}"#)).collect();
        format!(r#""requiredDuringSchedulingIgnoredDuringExecution":[{}]"#, terms.join(","))
    }

    #[tokio::test]
    async fn required_anti_affinity_is_by_hostname() {
        check("", None).await;
        check(&required(&[]), None).await;
        check(&required(&[HOSTNAME, HOSTNAME]), None).await;
        check(&required(&["zone"]), Some("zone")).await;
        check(&required(&[HOSTNAME, " ", "zone"]), Some(" ")).await;
        check(&required(&[""]), Some("")).await;
        let preferred = r#""preferredDuringSchedulingIgnoredDuringExecution":[{"weight":1,"podAffinityTerm":{"topologyKey":"zone"}}]"#;
        check(preferred, None).await;
    }

    #[test]
    fn only_pods_are_handled() {
        let handles =
            |operation, resource| LimitPodHardAntiAffinityTopology.validates(operation, &target(resource));
        assert!(handles(Operation::Create, "pods") && handles(Operation::Update, "pods"));
        assert!(!handles(Operation::Delete, "pods") && !handles(Operation::Update, "pods/status"));
        assert!(!handles(Operation::Create, "deployments.apps"));
    }
}
