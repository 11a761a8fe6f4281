//! Containers add no capabilities beside those that runtimes give by default.

use std::collections::BTreeSet;

use pintle_meta::Value;

use super::pod::Pod;
use super::{Check, Violation, containers, quoted};

const ALLOWED: [&str; 13] = [
    "AUDIT_WRITE",
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "FSETID",
    "KILL",
    "MKNOD",
    "NET_BIND_SERVICE",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYS_CHROOT",
];

pub(super) const CHECK: Check = Check::baseline(&[(0, check)]).replaced_since(22);

fn check(pod: &Pod<'_>) -> Option<Violation> {
    let mut names = Vec::new();
    let mut forbidden = BTreeSet::new();
    for container in pod.containers() {
        let Some(capabilities) = container.setting("capabilities") else { continue };
        let added = capabilities.items_at(&["add"]).iter().filter_map(Value::as_str);
        let mut wrong = added.filter(|capability| !ALLOWED.contains(capability)).peekable();
        if wrong.peek().is_some() {
            names.push(container.name());
            forbidden.extend(wrong);
        }
    }
    (!names.is_empty()).then(|| Violation {
        reason: "non-default capabilities",
        detail: format!(
            "{} must not include {} in securityContext.capabilities.add",
            containers(&names),
            quoted(forbidden)
        ),
    })
}
