//! Since 1.34, probes and lifecycle hooks name no host: kubelets would send requests to it.

use std::collections::BTreeSet;

use super::pod::{Container, Pod};
use super::{Check, Violation, containers, plural, quoted};

/// The places of handlers in a container.
const HANDLERS: [&[&str]; 5] = [
    &["livenessProbe"],
    &["readinessProbe"],
    &["startupProbe"],
    &["lifecycle", "postStart"],
    &["lifecycle", "preStop"],
];

pub(super) const CHECK: Check = Check::baseline(&[(34, check)]);

fn check(pod: &Pod<'_>) -> Option<Violation> {
    let (mut names, mut hosts) = (BTreeSet::new(), BTreeSet::new());
    for container in pod.containers() {
        let mut named = named_hosts(container).peekable();
        if named.peek().is_some() {
            names.insert(container.name());
            hosts.extend(named);
        }
    }
    let names: Vec<&str> = names.into_iter().collect();
    (!names.is_empty()).then(|| {
        let uses = plural(names.len(), "uses", "use");
        let what = plural(hosts.len(), "probe or lifecycle host", "probe or lifecycle hosts");
        let detail = format!("{} {uses} {what} {}", containers(&names), quoted(&hosts));
        Violation { reason: "probe or lifecycle host", detail }
    })
}

/// Returns the hosts that the handlers of a container name.
fn named_hosts(container: Container<'_>) -> impl Iterator<Item = &str> {
    let handlers = HANDLERS.into_iter().filter_map(move |path| {
        let (first, rest) = path.split_first()?;
        container.get(first)?.at(rest)
    });
    handlers
        .flat_map(|handler| ["httpGet", "tcpSocket"].map(|kind| handler.text_at(&[kind, "host"])))
        .filter(|host| !host.is_empty())
}
