//! Containers use no ports of the host.

use std::collections::BTreeSet;

use pintle_meta::Value;

use super::pod::Pod;
use super::{Check, Violation, containers, plural};

pub(super) const CHECK: Check = Check::baseline(&[(0, check)]);

fn check(pod: &Pod<'_>) -> Option<Violation> {
    let mut names = Vec::new();
    // Sorted as texts, as messages have them: 10 is before 9.
    let mut ports: BTreeSet<String> = BTreeSet::new();
    for container in pod.containers() {
        let all = container.get("ports").and_then(Value::as_list).unwrap_or_default();
        let of_host = all.iter().filter_map(|port| port.get("hostPort")?.as_i64());
        let mut of_host = of_host.filter(|port| *port != 0).peekable();
        if of_host.peek().is_some() {
            names.push(container.name());
            ports.extend(of_host.map(|port| port.to_string()));
        }
    }
    (!names.is_empty()).then(|| {
        let uses = plural(names.len(), "uses", "use");
        let what = plural(ports.len(), "hostPort", "hostPorts");
        let ports: Vec<String> = ports.into_iter().collect();
        let detail = format!("{} {uses} {what} {}", containers(&names), ports.join(", "));
        Violation { reason: "hostPort", detail }
    })
}
