//! Warnings about ports of containers that repeat, overlap or share their names.

use std::collections::HashMap;

use pintle_meta::field_path::Path;
use pintle_meta::{Value, Warnings, quote};

use crate::framework::conversion::build;

/// Warnings about the ports of all containers of a pod together.
pub(super) fn of(warnings: &mut Warnings, at: &Path<'_>, containers: &[(&str, usize, &Value)]) {
    definitions(warnings, at, containers);
    names(warnings, at, containers);
}

/// The position of a port: its container's list and index, and its own index.
#[derive(Clone, Copy)]
struct PortPosition<'a> {
    list: &'a str,
    container: usize,
    port: usize,
}

impl PortPosition<'_> {
    fn path(self, at: &Path<'_>) -> String {
        at.child(self.list).index(self.container).child("ports").index(self.port).to_string()
    }
}

fn each<'a>(
    containers: &'a [(&'a str, usize, &'a Value)],
) -> impl Iterator<Item = (PortPosition<'a>, &'a Value)> {
    containers.iter().flat_map(|(list, container, value)| {
        let ports = value.items_at(&["ports"]).iter().enumerate();
        ports.map(|(port, value)| (PortPosition { list, container: *container, port }, value))
    })
}

/// Earlier ports of the same number and protocol, by the places on the host that they take. Each lookup finds only ports
/// that are worth a warning, so the work is bounded by the ports and by the warnings that fit.
#[derive(Default)]
struct Same<'a> {
    ports: Vec<(PortPosition<'a>, (i64, &'a str))>,
    by_host_port: HashMap<i64, Vec<usize>>,
    by_host: HashMap<(i64, &'a str), Vec<usize>>,
}

impl<'a> Same<'a> {
    /// The earlier ports that a port on this place of the host is in the way of, in order.
    fn met(&self, host @ (host_port, address): (i64, &'a str)) -> Vec<usize> {
        let on = |host_port: i64| self.by_host_port.get(&host_port).into_iter().flatten().copied();
        let at = |host: (i64, &'a str)| self.by_host.get(&host).into_iter().flatten().copied();
        let mut met: Vec<usize> = match (host_port, address) {
            // A port that is not on the host is redundant with any.
            (0, _) => (0..self.ports.len()).collect(),
            // On all of the host's addresses.
            (_, "") => on(0).chain(on(host_port)).collect(),
            _ => on(0).chain(at(host)).chain(at((host_port, ""))).collect(),
        };
        met.sort_unstable();
        met
    }

    fn add(&mut self, place: PortPosition<'a>, host: (i64, &'a str)) {
        let index = self.ports.len();
        self.ports.push((place, host));
        self.by_host_port.entry(host.0).or_default().push(index);
        self.by_host.entry(host).or_default().push(index);
    }
}

fn definitions(warnings: &mut Warnings, at: &Path<'_>, containers: &[(&str, usize, &Value)]) {
    let number = |port: &Value, field: &str| port.get(field).and_then(Value::as_i64).unwrap_or_default();
    let mut known: HashMap<(i64, &str), Same<'_>> = HashMap::new();
    for (place, port) in each(containers) {
        if warnings.is_full() {
            return;
        }
        let host = (number(port, "hostPort"), port.text_at(&["hostIP"]));
        if !host.1.is_empty() && host.0 == 0 {
            warnings.push(format!("{}: hostIP set without hostPort: {}", place.path(at), go(port)));
        }
        let same = known.entry((number(port, "containerPort"), port.text_at(&["protocol"]))).or_default();
        warnings.extend(same.met(host).into_iter().map(|index| {
            let (other, other_host) = same.ports[index];
            let what = match (host, other_host) {
                _ if host == other_host => "duplicate",
                ((0, _), _) | (_, (0, _)) => "overlapping",
                _ => "dangerously ambiguous",
            };
            format!("{}: {what} port definition with {}", place.path(at), other.path(at))
        }));
        same.add(place, host);
    }
}

fn names(warnings: &mut Warnings, at: &Path<'_>, containers: &[(&str, usize, &Value)]) {
    let mut known: HashMap<&str, PortPosition<'_>> = HashMap::new();
    for (place, port) in each(containers) {
        let name = port.text_at(&["name"]);
        if name.is_empty() {
            continue;
        }
        if warnings.is_full() {
            return;
        }
        let first = *known.entry(name).or_insert(place);
        if (first.list, first.container, first.port) != (place.list, place.container, place.port) {
            let (path, first, name) = (place.path(at), first.path(at), quote(name));
            warnings.push(format!(
                "{path}: duplicate port name {name} with {first}, services and probes that select ports by name will use \
                 {first}"
            ));
        }
    }
}

/// A port as Go shows it with `%+v`.
fn go(port: &Value) -> String {
    let port = build(
        "core/v1.ContainerPort",
        ["name", "hostPort", "containerPort", "protocol", "hostIP"]
            .map(|name| (name, port.get(name).cloned())),
    );
    let text = |field: &str| port.text_at(&[field]).to_owned();
    let number = |field: &str| port.get(field).and_then(Value::as_i64).unwrap_or_default();
    format!(
        "{{Name:{} HostPort:{} ContainerPort:{} Protocol:{} HostIP:{}}}",
        text("name"),
        number("hostPort"),
        number("containerPort"),
        text("protocol"),
        text("hostIP")
    )
}
