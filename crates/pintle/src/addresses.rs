//! The addresses of this server and of the cluster's services, as options and machine have them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use anyhow::anyhow;
use pintle_control_plane::NetworkConfig;
use pintle_outbound::egress::Selector;
use pintle_outbound::hosts::Hosts;

use crate::options::{Options, ServingOptions};
use crate::pki::Names;

/// Returns the network of a control plane that is reached at `listening`.
pub(crate) fn network(
    options: &Options,
    listening: SocketAddr,
    egress: Option<Selector>,
) -> anyhow::Result<NetworkConfig> {
    let (serving, api) = (&options.serving, &options.api);
    let first = serving.service_ip_ranges.first().map_or(DEFAULT_SERVICE_RANGE, String::as_str);
    Ok(NetworkConfig {
        hostname: host_name(),
        listening,
        public_address: public_address(serving, listening.port()),
        advertised: reachable_address(serving),
        service_ranges: service_ranges(options)?,
        service_ip: first_address(first)?,
        service_node_port: api.service_node_port,
        node_ports: api.node_ports,
        keeps_endpoints: api.keeps_endpoints,
        endpoint_routing: api.endpoint_routing,
        egress,
        kubelets: api.kubelets.clone(),
        connection_rate: api.connection_rate,
        hosts: Hosts::system(),
    })
}

pub(crate) fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Returns the names and addresses under which clients call this server, for its certificate.
pub(crate) fn names(serving: &ServingOptions) -> anyhow::Result<Names> {
    let mut dns: Vec<String> = ["localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"]
        .map(str::to_owned)
        .to_vec();
    dns.push("kubernetes.default.svc.cluster.local".into());
    dns.extend(serving.external_hostname.clone());
    dns.push(host_name());
    dns.retain(|name| is_dns_name(name));
    let mut addresses: Vec<IpAddr> = vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
    for range in &serving.service_ip_ranges {
        addresses.push(first_address(range)?);
    }
    if serving.service_ip_ranges.is_empty() {
        addresses.push(first_address(DEFAULT_SERVICE_RANGE)?);
    }
    if serving.bind_address.is_unspecified() {
        addresses.extend(serving.advertise_address.or_else(own_address));
    } else {
        addresses.push(serving.bind_address);
        addresses.extend(serving.advertise_address);
    }
    dns.sort_unstable();
    dns.dedup();
    addresses.sort_unstable();
    addresses.dedup();
    Ok(Names { dns, addresses })
}

/// Returns whether a host name may be in a certificate: host names may be anything.
fn is_dns_name(name: &str) -> bool {
    let label = |label: &str| {
        !label.is_empty()
            && label.len() < 64
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    name.len() < 254 && name.split('.').all(label)
}

/// Parses a service range into its network address and the length of its prefix.
fn cidr(range: &str) -> anyhow::Result<(IpAddr, u32)> {
    let bad = || anyhow!("--service-cluster-ip-range: {range:?} is not a CIDR");
    let (address, length) = range.split_once('/').ok_or_else(bad)?;
    let length: u32 = length.parse().map_err(|_| bad())?;
    let address = match address.parse().map_err(|_| bad())? {
        IpAddr::V4(address) if length <= 32 => {
            let mask = u32::MAX.checked_shl(32 - length).unwrap_or(0);
            Ipv4Addr::from_bits(address.to_bits() & mask).into()
        }
        IpAddr::V6(address) if length <= 128 => {
            let mask = u128::MAX.checked_shl(128 - length).unwrap_or(0);
            Ipv6Addr::from_bits(address.to_bits() & mask).into()
        }
        _ => return Err(bad()),
    };
    Ok((address, length))
}

/// Returns the first usable address of a service range, which the service `kubernetes` has.
fn first_address(range: &str) -> anyhow::Result<IpAddr> {
    Ok(match cidr(range)?.0 {
        IpAddr::V4(address) => Ipv4Addr::from_bits(address.to_bits().saturating_add(1)).into(),
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits().saturating_add(1)).into(),
    })
}

/// The service range if no flag names one.
const DEFAULT_SERVICE_RANGE: &str = "10.0.0.0/24";

/// Returns the networks of services, one or two, as the default `ServiceCIDR` has them.
fn service_ranges(options: &Options) -> anyhow::Result<Vec<String>> {
    let given = &options.serving.service_ip_ranges;
    if given.is_empty() {
        return Ok(vec![DEFAULT_SERVICE_RANGE.into()]);
    }
    let ranges = given.iter().map(|range| cidr(range).map(|(address, bits)| format!("{address}/{bits}")));
    ranges.collect()
}

/// Returns the address under which other machines reach this one; a loopback address is of no use to them.
fn reachable_address(serving: &ServingOptions) -> IpAddr {
    let bound =
        Some(serving.bind_address).filter(|address| !address.is_unspecified() && !address.is_loopback());
    serving.advertise_address.or(bound).or_else(own_address).unwrap_or(serving.bind_address)
}

/// Returns the address from which this machine reaches others. Nothing is sent: connecting a datagram socket only picks the
/// route, and the address is one reserved for documentation.
fn own_address() -> Option<IpAddr> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
    socket.connect((Ipv4Addr::new(192, 0, 2, 1), 9)).ok()?;
    Some(socket.local_addr().ok()?.ip())
}

/// Returns the address that discovery tells clients.
fn public_address(serving: &ServingOptions, port: u16) -> String {
    let reachable = || match serving.bind_address {
        address if address.is_unspecified() => own_address().unwrap_or(address),
        address => address,
    };
    match &serving.external_hostname {
        // It may have a port; an IPv6 address without one has colons too.
        Some(host) if host.parse::<IpAddr>().is_err() && host.contains(':') => host.clone(),
        Some(host) if host.contains(':') => format!("[{host}]:{port}"),
        Some(host) => format!("{host}:{port}"),
        None => SocketAddr::new(serving.advertise_address.unwrap_or_else(reachable), port).to_string(),
    }
}

/// Returns the host that the administrator's kubeconfig names.
pub(crate) fn client_host(serving: &ServingOptions) -> String {
    let address = match serving.bind_address {
        address if !address.is_unspecified() => address,
        IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
    };
    match address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("[{address}]"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_service_address_is_one_above_the_range() {
        assert_eq!(first_address("10.96.0.0/12").unwrap().to_string(), "10.96.0.1");
        assert_eq!(first_address("fd00::/108").unwrap().to_string(), "fd00::1");
        assert_eq!(first_address("10.96.0.5/12").unwrap().to_string(), "10.96.0.1");
        assert!(first_address("10.96.0.0").is_err());
        assert!(first_address("10.96.0.0/33").is_err());
    }

    #[test]
    fn host_names_that_are_no_dns_names_are_left_out() {
        assert!(is_dns_name("node-1.example.com"));
        assert!(!is_dns_name("my_host"));
        assert!(!is_dns_name(""));
        assert!(!is_dns_name("a..b"));
    }
}
