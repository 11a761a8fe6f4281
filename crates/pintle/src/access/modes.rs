//! The authorizers that the flags ask for.

use std::sync::Arc;

use anyhow::bail;
use pintle_auth::Authorizer;
use pintle_auth::authorizer::{AlwaysAllow, AlwaysDeny, PrivilegedGroup, PublicInfo, Rbac, Union};

use super::rbac::Roles;

/// Everyone who can allow something, in the order of `--authorization-mode`. `system:masters` comes before all of them: no
/// policy can shut the administrator out.
pub(crate) fn authorizer(modes: &[String], roles: &Roles) -> anyhow::Result<Arc<dyn Authorizer>> {
    let mut union: Vec<Arc<dyn Authorizer>> = vec![Arc::new(PrivilegedGroup), Arc::new(PublicInfo)];
    for mode in modes {
        match mode.as_str() {
            "AlwaysAllow" => union.push(Arc::new(AlwaysAllow)),
            "AlwaysDeny" => union.push(Arc::new(AlwaysDeny)),
            "RBAC" => union.push(Arc::new(Rbac::new(roles.clone()))),
            // It only ever allows, so that without it nodes may do too little and nobody too much.
            "Node" => tracing::warn!(
                "--authorization-mode: Node is not there yet, nodes have no rights of their own"
            ),
            mode => bail!("--authorization-mode: {mode} is not there yet in this version of Pintle"),
        }
    }
    Ok(Arc::new(Union(union)))
}
