//! `NamespaceExists`: rejects objects in namespaces that do not exist, and also their deletion.

use std::sync::Arc;

use async_trait::async_trait;
use pintle_meta::Status;

use crate::Result;
use crate::attributes::{Attributes, Operation, Target};
use crate::chain::Cluster;
use crate::namespaces::NamespaceLister;
use crate::plugin::Plugin;

pub(crate) struct NamespaceExists(Arc<dyn NamespaceLister>);

impl NamespaceExists {
    pub(crate) fn new(cluster: &Cluster) -> NamespaceExists {
        NamespaceExists(cluster.namespaces.clone())
    }
}

#[async_trait]
impl Plugin for NamespaceExists {
    fn name(&self) -> &'static str {
        "NamespaceExists"
    }

    fn validates(&self, operation: Operation, target: &Target) -> bool {
        operation != Operation::Connect && !target.is_namespace()
    }

    async fn validate(&self, attributes: &Attributes<'_>) -> Result<()> {
        let name = attributes.namespace();
        if name.is_empty() || self.0.cached(name).is_some() {
            return Ok(());
        }
        match self.0.live(name).await {
            Ok(Some(_)) => Ok(()),
            Ok(None) => Err(Box::new(Status::not_found("", "namespaces", name))),
            Err(error) => Err(Box::new(Status::internal(error))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::objects::Resource;
    use crate::testing::{Case, TestCluster, target};

    #[tokio::test]
    async fn objects_of_missing_namespaces_are_not_found() {
        let cluster = TestCluster::new().await;
        let plugin = NamespaceExists::new(&cluster.cluster);
        cluster.put(Resource::Namespace, r#"{"metadata":{"name":"there"}}"#).await;
        for operation in [Operation::Create, Operation::Update, Operation::Delete] {
            for (resource, namespace, expected) in [
                ("pods", "there", None),
                ("pods", "", None),
                ("widgets.example.com/status", "gone", Some("namespaces \"gone\" not found")),
                ("pods", "gone", Some("namespaces \"gone\" not found")),
                ("namespaces", "gone", None),
            ] {
                let outcome = Case::new(operation, resource).in_namespace(namespace).run(&plugin).await;
                assert_eq!(outcome.message().as_deref(), expected, "{operation:?} {resource} {namespace}");
            }
        }
        assert!(!plugin.validates(Operation::Connect, &target("pods/exec")));
    }
}
