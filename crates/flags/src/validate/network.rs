//! Addresses of services, and the flags of the section "Misc" that concern how components find each other.

use std::net::IpAddr;

use pintle_features::Feature;

use super::Problems;
use crate::Parsed;
use crate::golang::quote;

/// The largest service network, in bits of its host part, where the allocator keeps it in one object.
const LARGEST_BITS: u8 = 20;

/// The smallest service network.
const SMALLEST_SIZE: u32 = 8;

pub(super) fn check(flags: &Parsed, problems: &mut Problems) {
    check_service_ranges(flags, problems);
    check_node_ports(flags, problems);
    check_leadership(flags, problems);
    check_peers(flags, problems);
    let reconciler = flags.string("endpoint-reconciler-type");
    if !matches!(reconciler, "" | "lease" | "none" | "master-count") {
        problems.push(format!(
            "--endpoint-reconciler-type {} is unknown, use lease, master-count or none",
            quote(reconciler)
        ));
    }
    let count = flags.int("apiserver-count");
    if count <= 0 {
        problems.push(format!("--apiserver-count should be a positive number, but value '{count}' provided"));
    }
}

struct Cidr {
    address: IpAddr,
    /// Bits of the host part.
    host_bits: u8,
}

fn parse_cidr(text: &str) -> Option<Cidr> {
    let (address, length) = text.split_once('/')?;
    let address: IpAddr = address.parse().ok()?;
    let bits = if address.is_ipv4() { 32 } else { 128 };
    let digits = !length.is_empty() && length.bytes().all(|b| b.is_ascii_digit());
    let length: u8 = length.parse().ok().filter(|length| digits && *length <= bits)?;
    Some(Cidr { address, host_bits: bits - length })
}

fn check_service_ranges(flags: &Parsed, problems: &mut Problems) {
    let Some(value) = flags.non_empty("service-cluster-ip-range") else { return };
    let ranges: Vec<&str> = value.split(',').collect();
    if ranges.len() > 2 {
        problems.push("--service-cluster-ip-range must not contain more than two entries".into());
    }
    let mut parsed = Vec::new();
    for (at, range) in ranges.iter().take(2).enumerate() {
        match parse_cidr(range) {
            Some(cidr) => parsed.push(cidr),
            None => problems
                .push(format!("--service-cluster-ip-range[{at}] {} is not a valid cidr", quote(range))),
        }
    }
    let features = flags.features();
    // With both gates the addresses are objects of their own and the size does not matter.
    let limited = !(features.enabled(Feature::MultiCIDRServiceAllocator)
        && features.enabled(Feature::DisableAllocatorDualWrite));
    for (at, cidr) in parsed.iter().enumerate() {
        let bits = if cidr.address.is_ipv4() { 32 } else { 128 };
        if limited && cidr.host_bits > LARGEST_BITS {
            let flag = ["--service-cluster-ip-range", "--service-cluster-ip-range[1]"][at];
            let least = bits - LARGEST_BITS;
            problems.push(format!(
                "specified {flag} is too large; for {bits}-bit addresses, the mask must be >= {least}"
            ));
        }
    }
    let Some(primary) = parsed.first() else { return };
    if primary.host_bits < SMALLEST_SIZE.ilog2() as u8 {
        problems.push(format!(
            "--service-cluster-ip-range: the service cluster IP range must be at least {SMALLEST_SIZE} IP addresses"
        ));
    }
    if parsed.get(1).is_some_and(|secondary| secondary.address.is_ipv4() == primary.address.is_ipv4()) {
        problems.push(
            "--service-cluster-ip-range[0] and --service-cluster-ip-range[1] must be of different IP family"
                .into(),
        );
    }
    if let Some(advertised) = flags.ip("advertise-address")
        && flags.string("endpoint-reconciler-type") != "none"
        && advertised.is_ipv4() != primary.address.is_ipv4()
    {
        problems.push(format!(
            "service IP family {} must match public address family {}",
            quote(ranges[0]),
            quote(&advertised.to_string())
        ));
    }
}

fn check_node_ports(flags: &Parsed, problems: &mut Problems) {
    let port = flags.int("kubernetes-service-node-port");
    if !(0..=65_535).contains(&port) {
        problems.push(format!(
            "--kubernetes-service-node-port {port} must be between 0 and 65535, inclusive. If 0, the Kubernetes \
             master service will be of type ClusterIP"
        ));
    }
    let range = flags.port_range("service-node-port-range");
    if port > 0 && !range.is_some_and(|range| range.contains(port)) {
        let range = range.map_or_else(String::new, |range| format!("{}-{}", range.first, range.last));
        problems.push(format!("kubernetes service node port range {range} doesn't contain {port}"));
    }
}

fn check_leadership(flags: &Parsed, problems: &mut Problems) {
    let order = [
        "coordinated-leadership-lease-duration",
        "coordinated-leadership-renew-deadline",
        "coordinated-leadership-retry-period",
    ];
    for pair in order.windows(2) {
        if flags.duration_nanos(pair[0]) <= flags.duration_nanos(pair[1]) {
            problems.push(format!("--{} must be greater than --{}", pair[0], pair[1]));
        }
    }
}

fn check_peers(flags: &Parsed, problems: &mut Problems) {
    const FEATURE: Feature = Feature::UnknownVersionInteroperabilityProxy;
    for flag in ["peer-ca-file", "peer-advertise-ip", "peer-advertise-port"] {
        if flags.non_empty(flag).is_some() && !flags.features().enabled(FEATURE) {
            problems.push(format!("--{flag} requires {} feature to be turned on", FEATURE.name()));
        }
    }
}
