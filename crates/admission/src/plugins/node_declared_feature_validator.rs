//! `NodeDeclaredFeatureValidator`: rejects updates of bound pods that need a feature which their node does not declare.
//!
//! Of the features that nodes declare in `status.declaredFeatures`, these are needed by updates; the others concern fields
//! that do not change, and are for the scheduler alone.

use std::sync::Arc;

use async_trait::async_trait;
use pintle_meta::{Value, quote};

use super::pod_resize_validator::{changed_on_node, node};
use crate::Result;
use crate::attributes::{Attributes, Operation, Target};
use crate::chain::Cluster;
use crate::objects::ObjectLister;
use crate::plugin::Plugin;

/// A feature that a node declares.
struct DeclaredFeature {
    name: &'static str,
    /// Returns whether the change from the first pod to the second needs it.
    needed: fn(&Value, &Value) -> bool,
}

/// Sorted by name, as messages list them.
const FEATURES: [DeclaredFeature; 2] = [
    DeclaredFeature { name: "InPlacePodLevelResourcesVerticalScaling", needed: resizes_pod },
    DeclaredFeature { name: "InPlacePodVerticalScalingInitContainers", needed: resizes_init_container },
];

/// Returns whether the resources of the pod as a whole change.
fn resizes_pod(old: &Value, new: &Value) -> bool {
    let resources = ["spec", "resources"];
    old.at(&resources) != new.at(&resources)
}

/// Returns whether the resources of an init container that is no sidecar change.
fn resizes_init_container(old: &Value, new: &Value) -> bool {
    let containers = ["spec", "initContainers"];
    let mut pairs = old.items_at(&containers).iter().zip(new.items_at(&containers));
    pairs.any(|(old, new)| {
        old.text_at(&["restartPolicy"]) != "Always" && old.get("resources") != new.get("resources")
    })
}

pub(crate) struct NodeDeclaredFeatureValidator {
    objects: Arc<dyn ObjectLister>,
}

impl NodeDeclaredFeatureValidator {
    pub(crate) fn new(cluster: &Cluster) -> NodeDeclaredFeatureValidator {
        NodeDeclaredFeatureValidator { objects: cluster.objects.clone() }
    }
}

#[async_trait]
impl Plugin for NodeDeclaredFeatureValidator {
    fn name(&self) -> &'static str {
        "NodeDeclaredFeatureValidator"
    }

    fn validates(&self, operation: Operation, target: &Target) -> bool {
        operation == Operation::Update
            && target.resource.group.is_empty()
            && target.resource.resource == "pods"
            && matches!(target.subresource.as_str(), "" | "resize")
    }

    async fn validate(&self, attributes: &Attributes<'_>) -> Result<()> {
        let (Some((new, node_name)), Some(old)) = (changed_on_node(attributes), attributes.old_object())
        else {
            return Ok(());
        };
        let mut missing: Vec<&str> = FEATURES
            .iter()
            .filter(|feature| (feature.needed)(old, new))
            .map(|feature| feature.name)
            .collect();
        if missing.is_empty() {
            return Ok(());
        }
        let node = node(&*self.objects, node_name, attributes).await?;
        let declared = node.items_at(&["status", "declaredFeatures"]);
        missing.retain(|name| !declared.iter().any(|declared| declared.as_str() == Some(name)));
        if missing.is_empty() {
            return Ok(());
        }
        Err(attributes.forbidden(&format!(
            "pod update requires features {} which are not available on node {}",
            missing.join(", "),
            quote(node.name())
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::objects::Resource;
    use crate::testing::{TestCluster, target, update};

    const POD: &str = "InPlacePodLevelResourcesVerticalScaling";
    const INIT: &str = "InPlacePodVerticalScalingInitContainers";

    /// A pod with resources of its own, of an init container, a sidecar and a container.
    fn pod(node: &str, generation: i64, cpus: [&str; 4]) -> String {
        let [pod, init, sidecar, container] = cpus.map(|cpu| {
            if cpu.is_empty() { "{}".to_owned() } else { format!(r#"{{"requests":{{"cpu":"{cpu}"}}}}"#) }
        });
        let own = if pod == "{}" { String::new() } else { format!(r#","resources":{pod}"#) };
        format!(
            r#"{{"metadata":{{"name":"p","generation":{generation}}},"spec":{{"nodeName":"{node}"{own},"initContainers":[
            {{"name":"a","resources":{init}}},{{"name":"b","restartPolicy":"Always","resources":{sidecar}}}],
            "containers":[{{"name":"c","resources":{container}}}]}}}}"#
        )
    }

    #[tokio::test]
    async fn an_update_needs_features_that_the_node_declares() {
        let cluster = TestCluster::new().await;
        for (name, features) in [
            ("new", format!(r#"["A","{POD}","{INIT}","Z"]"#)),
            ("half", format!(r#"["{INIT}"]"#)),
            ("old", "[]".to_owned()),
        ] {
            let status = format!(r#""status":{{"declaredFeatures":{features}}}"#);
            cluster.put(Resource::Node, &format!(r#"{{"metadata":{{"name":"{name}"}},{status}}}"#)).await;
        }
        let plugin = NodeDeclaredFeatureValidator::new(&cluster.cluster);
        let lacks = |features: &str, node: &str| {
            Some(format!(
                "pod update requires features {features} which are not available on node \"{node}\""
            ))
        };
        let both = format!("{POD}, {INIT}");
        for (node, generation, changed, expected) in [
            ("new", 2, ["2", "2", "2", "2"], None),
            ("half", 2, ["1", "2", "2", "2"], None),
            ("half", 2, ["2", "2", "1", "1"], lacks(POD, "half")),
            ("half", 2, ["", "1", "1", "1"], lacks(POD, "half")),
            ("old", 2, ["1", "1", "2", "2"], None),
            ("old", 2, ["1", "2", "1", "1"], lacks(INIT, "old")),
            ("old", 2, ["1", "", "1", "1"], lacks(INIT, "old")),
            ("old", 2, ["2", "2", "1", "1"], lacks(&both, "old")),
            ("old", 2, ["1000m", "1.0", "1", "1"], None),
            ("none", 2, ["1", "1", "2", "2"], None),
            ("none", 2, ["2", "1", "1", "1"], Some("node \"none\" not found".to_owned())),
            // An unchanged spec has the same generation, and a pod without a node can still get any.
            ("old", 1, ["2", "2", "2", "2"], None),
            ("", 2, ["2", "2", "2", "2"], None),
        ] {
            for resource in ["pods", "pods/resize"] {
                let old = pod(node, 1, ["1", "1", "1", "1"]);
                let request =
                    update(resource).named("p").old_json(&old).json(&pod(node, generation, changed));
                assert_eq!(request.run(&plugin).await.why(), expected, "{resource} {node} {changed:?}");
            }
        }
    }

    #[tokio::test]
    async fn only_updates_of_specs_are_handled() {
        let plugin = NodeDeclaredFeatureValidator::new(&TestCluster::new().await.cluster);
        assert!(!plugin.validates(Operation::Create, &target("pods")));
        for resource in ["pods/status", "pods/ephemeralcontainers", "nodes", "pods.x.io"] {
            assert!(!plugin.validates(Operation::Update, &target(resource)), "{resource}");
        }
    }
}
