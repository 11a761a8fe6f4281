//! `PodGroupProtection`: adds a finalizer to every new PodGroup, which a controller removes when no pod refers to it.

use async_trait::async_trait;
use pintle_meta::Value;

use crate::Result;
use crate::attributes::{Attributes, Operation, Target};
use crate::plugin::Plugin;

const FINALIZER: &str = "scheduling.k8s.io/podgroup-protection";

pub(crate) struct PodGroupProtection;

/// Returns whether the resource is that of pod groups, without a subresource.
pub(super) fn is_pod_groups(target: &Target) -> bool {
    target.subresource.is_empty()
        && target.resource.group == "scheduling.k8s.io"
        && target.resource.resource == "podgroups"
}

#[async_trait]
impl Plugin for PodGroupProtection {
    fn name(&self) -> &'static str {
        "PodGroupProtection"
    }

    fn admits(&self, operation: Operation, target: &Target) -> bool {
        operation == Operation::Create && is_pod_groups(target)
    }

    async fn admit(&self, attributes: &mut Attributes<'_>) -> Result<()> {
        let Some(group) = attributes.object_mut() else { return Ok(()) };
        if group.finalizers().any(|there| there == FINALIZER) {
            return Ok(());
        }
        let Some(metadata) = group.metadata_mut() else { return Ok(()) };
        let list = metadata.get_or_insert_with("finalizers", || Value::list(Vec::new()));
        if let Some(list) = list.as_list_mut() {
            list.push(FINALIZER.into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{create, target};

    #[tokio::test]
    async fn the_finalizer_is_added_once() {
        for (finalizers, expected) in [
            ("[]", vec![FINALIZER]),
            (r#"["x.io/y"]"#, vec!["x.io/y", FINALIZER]),
            (r#"["scheduling.k8s.io/podgroup-protection","x.io/y"]"#, vec![FINALIZER, "x.io/y"]),
        ] {
            let group = format!(r#"{{"metadata":{{"name":"g","finalizers":{finalizers}}}}}"#);
            let outcome = create("podgroups.scheduling.k8s.io").json(&group).run(&PodGroupProtection).await;
            let group = outcome.normal("scheduling/v1alpha2.PodGroup");
            assert_eq!(group.finalizers().collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn only_new_groups_are_handled() {
        let handled = |operation, resource| PodGroupProtection.admits(operation, &target(resource));
        assert!(handled(Operation::Create, "podgroups.scheduling.k8s.io"));
        assert!(!handled(Operation::Update, "podgroups.scheduling.k8s.io"));
        for resource in
            ["podgroups.scheduling.k8s.io/status", "podgroups.x.io", "workloads.scheduling.k8s.io"]
        {
            assert!(!handled(Operation::Create, resource), "{resource}");
        }
    }
}
