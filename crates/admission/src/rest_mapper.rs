//! The resources that serve kinds.

use async_trait::async_trait;
use pintle_meta::gvk::{GroupVersionKind, GroupVersionResource};

/// A resource that serves a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestMapping {
    pub resource: GroupVersionResource,
    pub namespaced: bool,
}

/// Finds the resource of a kind, built in or custom, as discovery shows it.
#[async_trait]
pub trait RestMapper: Send + Sync + 'static {
    /// Returns the resource that serves a kind in its version; `None` if there is none.
    async fn mapping(&self, kind: &GroupVersionKind) -> Option<RestMapping>;
}

/// Knows no kinds.
pub struct NoKinds;

#[async_trait]
impl RestMapper for NoKinds {
    async fn mapping(&self, _: &GroupVersionKind) -> Option<RestMapping> {
        None
    }
}

/// Reports whether a kind stands for a resource of the kind `of`. As in the reference, the kind of its lists does too, and
/// also the kind in lower case.
pub fn maps_to(kind: &str, of: &str) -> bool {
    kind == of || kind == of.to_lowercase() || kind.strip_suffix("List") == Some(of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_stands_for_itself_its_list_and_its_lower_case() {
        for kind in ["ReplicaSet", "replicaset", "ReplicaSetList"] {
            assert!(maps_to(kind, "ReplicaSet"), "{kind}");
        }
        for kind in ["Replicaset", "replicasets", "replicasetlist", "List", ""] {
            assert!(!maps_to(kind, "ReplicaSet"), "{kind}");
        }
    }
}
