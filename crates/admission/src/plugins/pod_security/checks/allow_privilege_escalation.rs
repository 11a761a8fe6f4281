//! Containers must set `allowPrivilegeEscalation: false`; since 1.25 not those of Windows, where it cannot be set.

use super::pod::Pod;
use super::{Check, Violation, containers};

pub(super) const CHECK: Check = Check::restricted(&[(8, check), (25, check_unless_windows)]);

fn check(pod: &Pod<'_>) -> Option<Violation> {
    let allowing =
        pod.containers().filter(|container| container.flag("allowPrivilegeEscalation") != Some(false));
    let names: Vec<&str> = allowing.map(|container| container.name()).collect();
    (!names.is_empty()).then(|| Violation {
        reason: "allowPrivilegeEscalation != false",
        detail: format!("{} must set securityContext.allowPrivilegeEscalation=false", containers(&names)),
    })
}

fn check_unless_windows(pod: &Pod<'_>) -> Option<Violation> {
    if pod.is_for_windows() { None } else { check(pod) }
}
