//! Containers drop all capabilities and add none but `NET_BIND_SERVICE`; since 1.25 not those of Windows, which have none.

use std::collections::BTreeSet;

use pintle_meta::Value;

use super::pod::Pod;
use super::{Check, Violation, containers, quoted};

pub(super) const CHECK: Check = Check::restricted(&[(22, check), (25, check_unless_windows)]);

fn check(pod: &Pod<'_>) -> Option<Violation> {
    let (mut keeping, mut adding) = (Vec::new(), Vec::new());
    let mut forbidden = BTreeSet::new();
    for container in pod.containers() {
        let list = |field: &str| {
            let capabilities = container.setting("capabilities");
            capabilities.map_or(&[][..], |capabilities| capabilities.items_at(&[field]))
        };
        if !list("drop").iter().any(|dropped| dropped.as_str() == Some("ALL")) {
            keeping.push(container.name());
        }
        let added = list("add").iter().filter_map(Value::as_str);
        let mut wrong = added.filter(|capability| *capability != "NET_BIND_SERVICE").peekable();
        if wrong.peek().is_some() {
            adding.push(container.name());
            forbidden.extend(wrong);
        }
    }
    let mut details = Vec::new();
    if !keeping.is_empty() {
        details
            .push(format!(r#"{} must set securityContext.capabilities.drop=["ALL"]"#, containers(&keeping)));
    }
    if !adding.is_empty() {
        details.push(format!(
            "{} must not include {} in securityContext.capabilities.add",
            containers(&adding),
            quoted(forbidden)
        ));
    }
    (!details.is_empty())
        .then(|| Violation { reason: "unrestricted capabilities", detail: details.join("; ") })
}

fn check_unless_windows(pod: &Pod<'_>) -> Option<Violation> {
    if pod.is_for_windows() { None } else { check(pod) }
}
