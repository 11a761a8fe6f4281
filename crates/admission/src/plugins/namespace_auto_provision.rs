//! `NamespaceAutoProvision`: creates the namespace of a new object. The namespace passes admission as well.

use std::sync::Arc;

use async_trait::async_trait;
use pintle_meta::{Reason, Status, quote};
use pintle_registry::Client;

use crate::Result;
use crate::attributes::{Attributes, Operation, Target};
use crate::chain::Cluster;
use crate::namespaces::NamespaceLister;
use crate::plugin::Plugin;

pub(crate) struct NamespaceAutoProvision {
    namespaces: Arc<dyn NamespaceLister>,
    client: Option<Client>,
}

impl NamespaceAutoProvision {
    pub(crate) fn new(cluster: &Cluster) -> NamespaceAutoProvision {
        NamespaceAutoProvision {
            namespaces: cluster.namespaces.clone(),
            client: cluster.clients.namespaces.clone(),
        }
    }
}

#[async_trait]
impl Plugin for NamespaceAutoProvision {
    fn name(&self) -> &'static str {
        "NamespaceAutoProvision"
    }

    fn admits(&self, operation: Operation, target: &Target) -> bool {
        operation == Operation::Create && !target.is_namespace()
    }

    async fn admit(&self, attributes: &mut Attributes<'_>) -> Result<()> {
        let name = attributes.namespace();
        if attributes.request.dry_run || name.is_empty() || self.namespaces.cached(name).is_some() {
            return Ok(());
        }
        // Loads the cache for the next request too, and spares a write that would fail.
        let forbidden = |error: Box<Status>| match error.reason {
            Reason::Forbidden => error,
            _ => attributes.forbidden(&error.message),
        };
        let live = self.namespaces.live(name).await.map_err(forbidden)?;
        let Some(client) = self.client.as_ref().filter(|_| live.is_none()) else { return Ok(()) };
        let json =
            format!(r#"{{"kind":"Namespace","apiVersion":"v1","metadata":{{"name":{}}}}}"#, quote(name));
        // One that another request has created in the meantime is as good.
        let created = client.create_if_missing("", json.as_bytes()).await;
        created.map(drop).map_err(forbidden)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{TestCluster, create, target};

    #[tokio::test]
    async fn only_creations_in_namespaces_are_handled() {
        let plugin = NamespaceAutoProvision::new(&TestCluster::new().await.cluster);
        for resource in ["pods", "pods/binding", "widgets.example.com", "nodes"] {
            assert!(plugin.admits(Operation::Create, &target(resource)), "{resource}");
            assert!(!plugin.admits(Operation::Update, &target(resource)), "{resource}");
            assert!(!plugin.admits(Operation::Delete, &target(resource)), "{resource}");
        }
        assert!(!plugin.admits(Operation::Create, &target("namespaces")));
        let cluster_scoped = create("nodes").json("{}").run(&plugin).await;
        assert_eq!(cluster_scoped.message(), None);
    }
}
