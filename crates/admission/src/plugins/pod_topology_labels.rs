//! `PodTopologyLabels`: copies the topology labels of a node to pods that are bound to it.
//!
//! A `Binding` gets the labels too: binding copies them to the pod, over labels that the pod has.

use std::sync::Arc;

use async_trait::async_trait;
use pintle_meta::{Object, Value};

use crate::Result;
use crate::attributes::{Attributes, Operation, Target};
use crate::chain::Cluster;
use crate::objects::{ObjectLister, Resource};
use crate::plugin::Plugin;

const COPIED: [&str; 2] = ["topology.kubernetes.io/zone", "topology.kubernetes.io/region"];

pub(crate) struct PodTopologyLabels {
    objects: Arc<dyn ObjectLister>,
}

impl PodTopologyLabels {
    pub(crate) fn new(cluster: &Cluster) -> PodTopologyLabels {
        PodTopologyLabels { objects: cluster.objects.clone() }
    }
}

/// Returns the node that the object binds a pod to.
fn node_of<'a>(attributes: &'a Attributes<'_>) -> Option<&'a str> {
    let object = attributes.object()?;
    let node = match attributes.target().subresource.as_str() {
        "" => object.text_at(&["spec", "nodeName"]),
        _ if object.text_at(&["target", "kind"]) == "Node" => object.text_at(&["target", "name"]),
        _ => "",
    };
    (!node.is_empty()).then_some(node)
}

#[async_trait]
impl Plugin for PodTopologyLabels {
    fn name(&self) -> &'static str {
        "PodTopologyLabels"
    }

    fn admits(&self, operation: Operation, target: &Target) -> bool {
        operation == Operation::Create
            && target.resource.group.is_empty()
            && target.resource.resource == "pods"
            && matches!(target.subresource.as_str(), "" | "binding")
    }

    async fn admit(&self, attributes: &mut Attributes<'_>) -> Result<()> {
        let Some(node) = node_of(attributes) else { return Ok(()) };
        // The node may be missing: kubelets create mirror pods before they register it.
        let labels = self.objects.labels(Resource::Node, "", node).await?.unwrap_or_default();
        let mut copied = labels.into_iter().filter(|(key, _)| COPIED.contains(&key.as_str())).peekable();
        if copied.peek().is_none() {
            return Ok(());
        }
        let Some(metadata) = attributes.object_mut().and_then(Value::metadata_mut) else { return Ok(()) };
        let labels = metadata.get_or_insert_with("labels", || Value::object(Object::new()));
        if let Some(labels) = labels.as_object_mut() {
            for (key, value) in copied {
                labels.insert(key, value);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Case, TestCluster, create, decoded, target, text};

    async fn cluster() -> TestCluster {
        let cluster = TestCluster::new().await;
        for (name, labels) in [
            (
                "placed",
                r#"{"topology.kubernetes.io/zone":"z1","topology.kubernetes.io/region":"r1","topology.kubernetes.io/rack":"k",
                "topology.k8s.io/zone":"x","kubernetes.io/hostname":"placed","a":"b"}"#,
            ),
            ("zoned", r#"{"topology.kubernetes.io/zone":""}"#),
            ("plain", r#"{"a":"b"}"#),
        ] {
            cluster
                .put(Resource::Node, &format!(r#"{{"metadata":{{"name":"{name}","labels":{labels}}}}}"#))
                .await;
        }
        cluster
    }

    const BOTH: &str = r#"{"topology.kubernetes.io/region":"r1","topology.kubernetes.io/zone":"z1"}"#;
    const ZONE: &str = r#"{"topology.kubernetes.io/zone":""}"#;
    const MIXED: &str = r#"{"app":"x","topology.kubernetes.io/rack":"old","topology.kubernetes.io/region":"r1",
        "topology.kubernetes.io/zone":"z1"}"#;

    async fn check(plugin: &PodTopologyLabels, request: Case, of: &str, expected: Option<&str>) {
        let object = request.run(plugin).await.normal(of);
        let labels = object.at(&["metadata", "labels"]).map(text);
        let expected = expected.map(|labels| text(&pintle_registry::testing::object(labels)));
        assert_eq!(labels, expected, "{}", text(&object));
    }

    #[tokio::test]
    async fn bound_pods_have_the_topology_of_their_node() {
        let cluster = cluster().await;
        let plugin = PodTopologyLabels::new(&cluster.cluster);
        let own = r#"{"app":"x","topology.kubernetes.io/zone":"mine","topology.kubernetes.io/rack":"old"}"#;
        for (node, labels, expected) in [
            ("placed", "{}", Some(BOTH)),
            ("placed", own, Some(MIXED)),
            ("zoned", "{}", Some(ZONE)),
            ("plain", "{}", None),
            ("plain", own, Some(own)),
            ("none", own, Some(own)),
            ("", own, Some(own)),
            ("a/b", own, Some(own)),
        ] {
            let metadata = format!(r#""metadata":{{"name":"p","labels":{labels}}}"#);
            let pod = format!(r#"{{{metadata},"spec":{{"nodeName":"{node}","containers":[]}}}}"#);
            check(&plugin, create("pods").json(&pod), "core/v1.Pod", expected).await;
            for (kind, expected) in [("Node", expected), ("", None), ("Pod", None)] {
                let expected = expected.or((labels != "{}").then_some(labels));
                let target = format!(r#""target":{{"kind":"{kind}","name":"{node}"}}"#);
                let binding = decoded("core/v1.Binding", &format!("{{{metadata},{target}}}"));
                check(&plugin, create("pods/binding").object(binding), "core/v1.Binding", expected).await;
            }
        }
    }

    #[tokio::test]
    async fn only_new_pods_and_bindings_are_handled() {
        let plugin = PodTopologyLabels::new(&TestCluster::new().await.cluster);
        for resource in ["pods", "pods/binding"] {
            assert!(plugin.admits(Operation::Create, &target(resource)), "{resource}");
            assert!(!plugin.admits(Operation::Update, &target(resource)), "{resource}");
        }
        for resource in ["bindings", "pods/eviction", "nodes", "pods.x.io"] {
            assert!(!plugin.admits(Operation::Create, &target(resource)), "{resource}");
        }
    }
}
