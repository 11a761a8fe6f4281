//! One file per plugin.

mod always;
mod namespace_lifecycle;

use std::sync::Arc;

use crate::chain::Cluster;
use crate::plugin::Plugin;

/// The plugin of a name; `None` if it is not written yet. Which names there are, in which order and which of them are on,
/// the command line knows.
pub(crate) fn make(name: &str, cluster: &Cluster) -> Option<Arc<dyn Plugin>> {
    Some(match name {
        "AlwaysAdmit" => Arc::new(always::Admit),
        "AlwaysDeny" => Arc::new(always::Deny),
        "NamespaceLifecycle" => {
            Arc::new(namespace_lifecycle::NamespaceLifecycle::new(cluster.namespaces.clone()))
        }
        _ => return None,
    })
}
