//! Addresses of endpoints, which must be reachable from other machines.

use std::net::{IpAddr, Ipv6Addr};

use pintle_meta::field_path::{Error, Path};
use pintle_meta::validation::parse_ip_sloppy;

/// Refuses unspecified, loopback and link-local addresses: through endpoints there, a user without access to a node would have
/// its network proxy or the API server connect to services that listen on the node only (CVE-2021-25737).
pub(crate) fn endpoint_address(path: &Path<'_>, text: &str) -> Vec<Error> {
    let Some(ip) = parse_ip_sloppy(text).map(|ip| ip.to_canonical()) else {
        return vec![Error::invalid(path, text, "must be a valid IP address")];
    };
    let (unicast, multicast) = match ip {
        IpAddr::V4(ip) => (ip.is_link_local(), ip.octets()[..3] == [224, 0, 0]),
        IpAddr::V6(ip) => (ip.is_unicast_link_local(), is_link_local_multicast(ip)),
    };
    let unspecified = format!("may not be unspecified ({text})");
    let wrong = [
        (ip.is_unspecified(), unspecified.as_str()),
        (ip.is_loopback(), "may not be in the loopback range (127.0.0.0/8, ::1/128)"),
        (unicast, "may not be in the link-local range (169.254.0.0/16, fe80::/10)"),
        (multicast, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"),
    ];
    wrong.into_iter().filter(|(is, _)| *is).map(|(_, why)| Error::invalid(path, text, why)).collect()
}

fn is_link_local_multicast(ip: Ipv6Addr) -> bool {
    ip.segments()[0] & 0xff0f == 0xff02
}
