//! Ports of containers, and conflicts between ports of the host.

use pintle_meta::field_path::Error;
use pintle_meta::validation::{port_name, port_number};

use crate::framework::validation::{Cursor, Seen};

/// Checks the ports of a container.
pub(super) fn ports(ports: &Cursor<'_, '_>) {
    let mut names = Seen::new();
    for port in ports.items() {
        let name = port.field("name");
        if !name.is_empty() {
            let wrong = port_name(name.text());
            if wrong.is_empty() && !names.insert(name.text()) {
                name.duplicate(name.text());
            }
            wrong.into_iter().for_each(|why| name.invalid(name.text(), why));
        }
        let number = port.field("containerPort");
        if number.integer() == 0 {
            number.required("");
        } else {
            number.integer_format(port_number);
        }
        if port.field("hostPort").integer() != 0 {
            port.field("hostPort").integer_format(port_number);
        }
        port.field("protocol").required_one_of(&["SCTP", "TCP", "UDP"]);
    }
}

/// A port of the host as one container uses it: protocol, address, number.
type HostPort<'v> = (&'v str, &'v str, i64);

fn host_port<'v>(port: &Cursor<'_, 'v>) -> Option<HostPort<'v>> {
    let number = port.field("hostPort").integer();
    (number != 0).then(|| (port.field("protocol").text(), port.field("hostIP").text(), number))
}

fn host_port_text((protocol, address, number): HostPort<'_>) -> String {
    format!("{protocol}/{address}/{number}")
}

/// Checks that no port of the host is used twice, by one container or by several.
pub(super) fn host_port_conflicts(containers: &Cursor<'_, '_>) {
    let mut seen = Seen::new();
    for container in containers.items() {
        for port in container.field("ports").items() {
            if let Some(used) = host_port(&port).filter(|used| !seen.insert(*used)) {
                port.field("hostPort").duplicate(host_port_text(used));
            }
        }
    }
}

/// Checks that an init container uses no port of the host twice. Others may use the same, as they run one after the other.
pub(super) fn own_host_port_conflicts(containers: &Cursor<'_, '_>, container: &Cursor<'_, '_>) {
    let mut seen = Seen::new();
    for (index, port) in container.field("ports").items().enumerate() {
        if let Some(used) = host_port(&port).filter(|used| !seen.insert(*used)) {
            // The reference names the first container, whichever it is.
            let path = containers.path().index(0);
            let path = path.child("ports");
            let path = path.index(index);
            port.report([Error::duplicate(&path.child("hostPort"), host_port_text(used))]);
        }
    }
}
