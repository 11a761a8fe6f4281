//! The user of a request.

use std::collections::BTreeMap;

/// The group whose members may do everything, whatever the policy says.
pub const PRIVILEGED_GROUP: &str = "system:masters";
/// Every request with credentials that were accepted is in this group.
pub const ALL_AUTHENTICATED: &str = "system:authenticated";
/// Every request without credentials is in this one.
pub const ALL_UNAUTHENTICATED: &str = "system:unauthenticated";
/// The name of requests without credentials.
pub const ANONYMOUS: &str = "system:anonymous";
/// Every kubelet is in this group.
pub const NODES: &str = "system:nodes";
/// Begins the name of a kubelet; the name of its node follows.
pub const NODE_PREFIX: &str = "system:node:";
/// The name of the server itself, where it is its own client.
pub const API_SERVER: &str = "system:apiserver";

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct User {
    pub name: String,
    pub uid: String,
    pub groups: Vec<String>,
    pub extra: BTreeMap<String, Vec<String>>,
}

impl User {
    pub fn anonymous() -> User {
        User { name: ANONYMOUS.into(), groups: vec![ALL_UNAUTHENTICATED.into()], ..User::default() }
    }

    /// The server itself, where it is its own client.
    pub fn api_server() -> User {
        let groups = vec![ALL_AUTHENTICATED.into(), PRIVILEGED_GROUP.into()];
        User { name: API_SERVER.into(), groups, ..User::default() }
    }

    pub fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|member| member == group)
    }

    /// The node that this is the kubelet of; empty if it does not say which.
    pub fn node_name(&self) -> Option<&str> {
        self.name.strip_prefix(NODE_PREFIX).filter(|_| self.is_in(NODES))
    }

    pub fn is_anonymous(&self) -> bool {
        self.name == ANONYMOUS || self.is_in(ALL_UNAUTHENTICATED)
    }

    /// The same user as a member of all authenticated ones, unless it already is in one of the two groups that every
    /// request falls into.
    #[must_use]
    pub fn authenticated(mut self) -> User {
        if !self.is_in(ALL_AUTHENTICATED) && !self.is_in(ALL_UNAUTHENTICATED) && self.name != ANONYMOUS {
            self.groups.push(ALL_AUTHENTICATED.into());
        }
        self
    }
}
