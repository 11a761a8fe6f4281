//! Containers leave the masks of `/proc` in place. Since 1.35, the baseline level lets pods in a user namespace remove them.

use std::collections::BTreeSet;

use pintle_meta::Value;

use super::pod::Pod;
use super::{Check, Violation, containers, quoted};

pub(super) const BASELINE: Check =
    Check::baseline(&[(0, check), (35, check_unless_user_namespace)]).replaced_since(35);
pub(super) const RESTRICTED: Check = Check::restricted(&[(35, check)]);

fn check(pod: &Pod<'_>) -> Option<Violation> {
    let (mut names, mut types) = (Vec::new(), BTreeSet::new());
    for container in pod.containers() {
        let mount = container.setting("procMount").and_then(Value::as_str);
        if let Some(mount) = mount.filter(|mount| *mount != "Default") {
            names.push(container.name());
            types.insert(mount);
        }
    }
    (!names.is_empty()).then(|| Violation {
        reason: "procMount",
        detail: format!("{} must not set securityContext.procMount to {}", containers(&names), quoted(types)),
    })
}

fn check_unless_user_namespace(pod: &Pod<'_>) -> Option<Violation> {
    if pod.has_user_namespace() { None } else { check(pod) }
}
