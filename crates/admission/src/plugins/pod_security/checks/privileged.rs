//! Containers are not privileged.

use super::pod::Pod;
use super::{Check, Violation, containers};

pub(super) const CHECK: Check = Check::baseline(&[(0, check)]);

fn check(pod: &Pod<'_>) -> Option<Violation> {
    let privileged = pod.containers().filter(|container| container.flag("privileged") == Some(true));
    let names: Vec<&str> = privileged.map(|container| container.name()).collect();
    (!names.is_empty()).then(|| Violation {
        reason: "privileged",
        detail: format!("{} must not set securityContext.privileged=true", containers(&names)),
    })
}
