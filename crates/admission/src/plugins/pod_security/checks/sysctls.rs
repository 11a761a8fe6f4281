//! Sysctls are of a set that affects only the pod itself. Later releases of the kernel made it larger.

use super::pod::Pod;
use super::{Check, Violation};

/// The sysctls that are allowed, each with the minor version since which it is.
const ALLOWED: [(&str, i64); 12] = [
    ("kernel.shm_rmid_forced", 0),
    ("net.ipv4.ip_local_port_range", 0),
    ("net.ipv4.tcp_syncookies", 0),
    ("net.ipv4.ping_group_range", 0),
    ("net.ipv4.ip_unprivileged_port_start", 0),
    ("net.ipv4.ip_local_reserved_ports", 27),
    ("net.ipv4.tcp_keepalive_time", 29),
    ("net.ipv4.tcp_fin_timeout", 29),
    ("net.ipv4.tcp_keepalive_intvl", 29),
    ("net.ipv4.tcp_keepalive_probes", 29),
    ("net.ipv4.tcp_rmem", 32),
    ("net.ipv4.tcp_wmem", 32),
];

pub(super) const CHECK: Check =
    Check::baseline(&[(0, check::<0>), (27, check::<27>), (29, check::<29>), (32, check::<32>)]);

fn check<const MINOR: i64>(pod: &Pod<'_>) -> Option<Violation> {
    let set = pod.security_context()?.items_at(&["sysctls"]).iter().map(|sysctl| sysctl.text_at(&["name"]));
    let is_allowed = |name: &str| ALLOWED.iter().any(|(known, since)| *known == name && *since <= MINOR);
    let forbidden: Vec<&str> = set.filter(|name| !is_allowed(name)).collect();
    (!forbidden.is_empty()).then(|| Violation { reason: "forbidden sysctls", detail: forbidden.join(", ") })
}
