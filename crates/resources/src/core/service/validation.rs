//! Validation of services beside their metadata.

use std::collections::BTreeSet;

use pintle_meta::field_path::{Error, Value as Printed};
use pintle_meta::validation::{
    dns1123_label, dns1123_subdomain, ip_for_legacy_field, parse_ip_sloppy, port_name, port_number,
    qualified_name,
};
use pintle_meta::{Node, Value};
use pintle_schema::go;

use super::families::{Family, SINGLE};
use super::fields::{self, ADDRESSES, FAMILIES, FAMILY_POLICY, NONE};
use crate::core::endpoint_address::endpoint_address;
use crate::framework::validation::{Cursor, Errors};

/// The longest session affinity in seconds: a day.
const MAX_AFFINITY: i64 = 86_400;
const ONLY_LOAD_BALANCER: &str = "may only be used when `type` is 'LoadBalancer'";
const FIXED: &str = "may not change once set";
const TOPOLOGY_HINTS: &str = "service.kubernetes.io/topology-aware-hints";
const TOPOLOGY_MODE: &str = "service.kubernetes.io/topology-mode";
const SOURCE_RANGES: &str = "service.beta.kubernetes.io/load-balancer-source-ranges";

/// Validates a new service or, beside the old one, a changed one.
pub(super) fn service(service: &Cursor<'_, '_>) {
    let spec = service.field("spec");
    let (kind, is_headless) = (spec.field("type").text(), fields::is_headless(service.value()));
    topology(service);
    if spec.field("ports").is_empty() && !is_headless && fields::has_address(service.value()) {
        spec.field("ports").required("");
    }
    match kind {
        "LoadBalancer" | "NodePort" if is_headless => {
            let why = format!("may not be set to 'None' for {kind} services");
            spec.field("clusterIPs").index(0).invalid(NONE, why);
        }
        "ExternalName" => external_name(&spec),
        _ => {}
    }
    ports(&spec.field("ports"));
    spec.field("selector").labels();
    session_affinity(&spec);
    cluster_ips(service);
    external_ips(&spec);
    spec.field("type").required_one_of(&["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"]);
    node_ports(&spec.field("ports"), kind);
    source_ranges(service, kind);
    let allocates = spec.field("allocateLoadBalancerNodePorts");
    if allocates.is_set() && kind != "LoadBalancer" {
        allocates.forbidden(ONLY_LOAD_BALANCER);
    }
    if !allocates.is_set() && kind == "LoadBalancer" {
        // The reference names it without the spec.
        service.field("allocateLoadBalancerNodePorts").required("");
    }
    load_balancer_class(&spec);
    traffic(service, &spec);
}

/// Validates a changed service.
pub(super) fn service_update(changed: &Cursor<'_, '_>) {
    let (new, old) = (changed.value(), changed.before().value());
    let spec = changed.field("spec");
    if fields::has_address(new) && fields::has_address(old) {
        changed_addresses(changed);
        changed_families(changed);
    }
    let class = spec.field("loadBalancerClass");
    if [new, old].iter().all(|service| fields::kind(service) == "LoadBalancer") && class.changed() {
        class.invalid(class.optional_text().map_or_else(Printed::null, Printed::from), FIXED);
    }
    // Checked here and again with all the rest.
    load_balancer_class(&spec);
    let health_port = spec.field("healthCheckNodePort");
    if fields::has_health_port(new) && fields::has_health_port(old) && health_port.changed() {
        health_port.forbidden("field is immutable");
    }
    service(changed);
}

/// Validates a service whose status was changed.
pub(super) fn status_update(service: &Cursor<'_, '_>) {
    let ingress = service.at(&["status", "loadBalancer", "ingress"]);
    if fields::kind(service.value()) != "LoadBalancer" && !ingress.is_empty() {
        return ingress.forbidden("may only be used when `spec.type` is 'LoadBalancer'");
    }
    let known: Vec<&str> = ingress.before().values().iter().map(|point| point.text_at(&["ip"])).collect();
    ingress.each(|point| {
        let (ip, mode, host) = (point.field("ip"), point.field("ipMode"), point.field("hostname"));
        if !ip.is_empty() {
            ip.legacy_ip(&known);
        }
        match (mode.is_set(), ip.is_empty()) {
            (false, false) => mode.required("must be specified when `ip` is set"),
            (true, true) => mode.forbidden("may not be specified when `ip` is not set"),
            (true, false) => mode.one_of(&["Proxy", "VIP"]),
            (false, true) => {}
        }
        if !host.is_empty() {
            host.text_format(dns1123_subdomain);
            if parse_ip_sloppy(host.text()).is_some() {
                host.invalid(host.text(), "must be a DNS name, not an IP address");
            }
        }
    });
}

/// Returns the errors of [`cluster_ips`] alone, which allocation needs before a service is complete.
pub(super) fn cluster_ip_errors(service: &Value, old: Option<&Value>) -> Vec<Error> {
    let errors = Errors::default();
    cluster_ips(&Cursor::root(service, old, &errors));
    errors.into_vec()
}

/// Checks addresses, families and the policy about them against each other.
fn cluster_ips(service: &Cursor<'_, '_>) {
    if !fields::has_address(service.value()) {
        return;
    }
    let spec = service.field("spec");
    let (address, ips, families) =
        (spec.field("clusterIP").text(), spec.field("clusterIPs"), spec.field("ipFamilies"));
    let (all, shown) = (ips.texts(), || ips.printed_as("[]string"));
    match (address, all.first()) {
        ("", None) => {}
        ("", Some(_)) => ips.invalid(shown(), "must be empty when `clusterIP` is not specified"),
        (_, None) => ips.required(""),
        (address, Some(first)) if address != *first => {
            ips.invalid(shown(), "first value must match `clusterIP`");
        }
        _ => {}
    }
    let mut seen = BTreeSet::new();
    for family in families.items() {
        family.one_of(&["IPv4", "IPv6"]);
        if !seen.insert(family.text()) {
            family.duplicate(Printed::json(family.text()));
        }
    }
    let policy = spec.field("ipFamilyPolicy");
    if policy.is_set() {
        policy.one_of(&["PreferDualStack", "RequireDualStack", "SingleStack"]);
    }
    let known = ips.before().texts();
    let mut is_readable = true;
    for (index, ip) in ips.items().enumerate() {
        if index == 0 && ip.text() == NONE {
            if all.len() > 1 {
                is_readable = false;
                ips.invalid(shown(), "'None' must be the first and only value");
            }
            continue;
        }
        let wrong = ip_for_legacy_field(ip.path(), ip.text(), ip.strict_addresses(), &known);
        is_readable &= wrong.is_empty();
        ip.report(wrong);
    }
    if all.len() > 2 {
        ips.invalid(shown(), "may only hold up to 2 values");
    }
    if !is_readable {
        return;
    }
    if all.len() > 1 {
        let ipv6 = all.iter().filter(|address| fields::is_ipv6(address)).count();
        if ipv6 == 0 || ipv6 == all.len() {
            ips.invalid(shown(), "may specify no more than one IP for each IP family");
        }
    }
    if !fields::is_headless(service.value()) {
        for (index, (ip, family)) in ips.items().zip(families.texts()).enumerate() {
            if matches!(family, "IPv4" | "IPv6") && Family::of(ip.text()).name() != family {
                let why = format!("expected an {family} value as indicated by `ipFamilies[{index}]`");
                ip.invalid(ip.text(), why);
            }
        }
    }
}

/// Checks a change of cluster IPs: the first one stays, a second one comes and goes.
fn changed_addresses(service: &Cursor<'_, '_>) {
    if fields::is_headless(service.value()) && fields::is_headless(service.before().value()) {
        return;
    }
    let ips = service.at(ADDRESSES);
    let (is, was) = (ips.texts(), ips.before().texts());
    let wrong = |index: usize, why: &str| ips.index(index).invalid(ips.printed_as("[]string"), why);
    if is.len() == was.len() {
        let changed = is.iter().zip(&was).enumerate().filter(|(_, (is, was))| is != was);
        changed.for_each(|(index, _)| wrong(index, FIXED));
        return;
    }
    if is.is_empty() {
        wrong(0, "primary clusterIP can not be unset");
    }
    if is.first().zip(was.first()).is_some_and(|(is, was)| is != was) {
        wrong(0, FIXED);
    }
    if is.len() < was.len() && is.len() == 1 {
        releases_secondary(service, "clusterIP");
    }
}

fn changed_families(service: &Cursor<'_, '_>) {
    if fields::is_headless(service.value()) || fields::is_headless(service.before().value()) {
        return;
    }
    let (families, ips) = (service.at(FAMILIES), service.at(ADDRESSES));
    let (is, was) = (families.texts(), families.before().texts());
    let wrong = |shown: Printed, why: &str| families.index(0).invalid(shown, why);
    if is.len() == was.len() {
        let changed = is.iter().zip(&was).filter(|(is, was)| is != was);
        changed.for_each(|_| wrong(families.printed_as("[]string"), FIXED));
        return;
    }
    if is.len() < was.len() && ips.is_empty() {
        wrong(families.printed_as("[]string"), "primary ipFamily can not be unset");
    }
    if is.first().zip(was.first()).is_some_and(|(is, was)| is != was) {
        // The reference shows the addresses here, not the families.
        wrong(ips.printed_as("[]string"), FIXED);
    }
    if is.len() < was.len() && is.len() == 1 {
        releases_secondary(service, "ipFamily");
    }
}

fn releases_secondary(service: &Cursor<'_, '_>, field: &str) {
    let policy = service.at(FAMILY_POLICY);
    if policy.optional_text() != Some(SINGLE) {
        let why = format!("must be set to 'SingleStack' when releasing the secondary {field}");
        policy.invalid(policy.optional_text().map_or_else(Printed::null, Printed::json), why);
    }
}

fn topology(service: &Cursor<'_, '_>) {
    let annotations = service.at(&["metadata", "annotations"]);
    let (hints, mode) = (annotations.key(TOPOLOGY_HINTS), annotations.key(TOPOLOGY_MODE));
    if hints.is_set() && mode.is_set() && hints.text() != mode.text() {
        let why = format!("must match annotations[{TOPOLOGY_HINTS}] when both are specified");
        mode.invalid(mode.text(), why);
    }
}

fn external_name(spec: &Cursor<'_, '_>) {
    const NOT_FOR_EXTERNAL_NAME: &str = "may not be set for ExternalName services";
    for list in ["clusterIPs", "ipFamilies"] {
        if !spec.field(list).is_empty() {
            spec.field(list).forbidden(NOT_FOR_EXTERNAL_NAME);
        }
    }
    if spec.field("ipFamilyPolicy").is_set() {
        spec.field("ipFamilyPolicy").forbidden(NOT_FOR_EXTERNAL_NAME);
    }
    let field = spec.field("externalName");
    let name = field.text().strip_suffix('.').unwrap_or(field.text());
    if name.is_empty() {
        field.required("");
    } else {
        dns1123_subdomain(name).into_iter().for_each(|why| field.invalid(name, why));
    }
}

fn ports(ports: &Cursor<'_, '_>) {
    let mut names = BTreeSet::new();
    ports.each(|port| {
        let name = port.field("name");
        if !name.is_empty() {
            name.text_format(dns1123_label);
            if !names.insert(name.text()) {
                name.duplicate(name.text());
            }
        } else if ports.len() > 1 {
            name.required("");
        }
        port.field("port").integer_format(port_number);
        port.field("protocol").required_one_of(&["SCTP", "TCP", "UDP"]);
        let target = port.field("targetPort");
        match target.value().node() {
            Node::String(_) => target.text_format(port_name),
            _ => target.integer_format(port_number),
        }
        let protocol = port.field("appProtocol");
        if protocol.is_set() {
            protocol.text_format(qualified_name);
        }
    });
}

fn session_affinity(spec: &Cursor<'_, '_>) {
    let affinity = spec.field("sessionAffinity");
    affinity.required_one_of(&["ClientIP", "None"]);
    let config = spec.field("sessionAffinityConfig");
    let client = config.field("clientIP");
    let timeout = client.field("timeoutSeconds");
    match affinity.text() {
        "None" if config.is_set() => config.forbidden("must not be set when session affinity is None"),
        "ClientIP" => {
            let first_missing = [config, client, timeout].into_iter().find(|field| !field.is_set());
            if let Some(missing) = first_missing {
                missing.required("when session affinity type is ClientIP");
            } else if !(1..=MAX_AFFINITY).contains(&timeout.integer()) {
                let why = format!("must be greater than 0 and less than {MAX_AFFINITY}");
                timeout.invalid(timeout.integer(), why);
            }
        }
        _ => {}
    }
}

fn external_ips(spec: &Cursor<'_, '_>) {
    let ips = spec.field("externalIPs");
    let known = ips.before().texts();
    ips.each(|ip| {
        let wrong = ip_for_legacy_field(ip.path(), ip.text(), ip.strict_addresses(), &known);
        if wrong.is_empty() {
            ip.text_check(endpoint_address);
        }
        ip.report(wrong);
    });
}

/// Checks that a ClusterIP service has no node ports, and that pairs of protocol and number are unique.
fn node_ports(ports: &Cursor<'_, '_>, kind: &str) {
    let has_node_port = |port: &Cursor<'_, '_>| port.field("nodePort").integer() != 0;
    if kind == "ClusterIP" {
        for port in ports.items().filter(has_node_port) {
            port.field("nodePort").forbidden("may not be used when `type` is 'ClusterIP'");
        }
    }
    let mut seen = BTreeSet::new();
    for port in ports.items().filter(has_node_port) {
        let node_port = port.field("nodePort");
        if !seen.insert((port.field("protocol").text(), node_port.integer())) {
            node_port.duplicate(node_port.integer());
        }
    }
    let mut seen = BTreeSet::new();
    for port in ports.items() {
        let (protocol, number) = (port.field("protocol").text(), port.field("port").integer());
        if !seen.insert((protocol, number)) {
            port.duplicate(shown_port(protocol, number));
        }
    }
}

/// Returns a port of which only protocol and number are set, as the reference's internal type shows.
fn shown_port(protocol: &str, number: i64) -> Printed {
    let text = format!(r#"{{"protocol":{},"port":{number}}}"#, serde_json::Value::from(protocol));
    let of = pintle_schema::find("core/v1.ServicePort");
    let port = of.and_then(|of| pintle_codec::json::decode(of, text.as_bytes()).ok());
    go::printed("core.ServicePort", &port.map(|port| port.value).unwrap_or(Value::NULL))
}

fn source_ranges(service: &Cursor<'_, '_>, kind: &str) {
    let spec = service.field("spec");
    // With a capital, as in the reference.
    let ranges = spec.at_as(&["loadBalancerSourceRanges"], "LoadBalancerSourceRanges");
    if !ranges.is_empty() {
        if kind != "LoadBalancer" {
            ranges.forbidden(ONLY_LOAD_BALANCER);
        }
        let known: Vec<&str> = ranges.before().texts().into_iter().map(str::trim).collect();
        ranges.each(|range| range.legacy_cidr(range.text().trim(), &known));
        return;
    }
    let annotations = service.at(&["metadata", "annotations"]);
    let annotation = annotations.key(SOURCE_RANGES);
    if !annotation.is_set() {
        return;
    }
    if kind != "LoadBalancer" {
        annotation.forbidden(ONLY_LOAD_BALANCER);
    }
    let text = annotation.text();
    let is_new = !annotation.is_update() || annotation.before().text() != text;
    if is_new && !text.trim().is_empty() {
        text.trim().split(',').for_each(|range| annotation.legacy_cidr(range.trim(), &[]));
    }
}

fn load_balancer_class(spec: &Cursor<'_, '_>) {
    let class = spec.field("loadBalancerClass");
    if !class.is_set() {
        return;
    }
    if spec.field("type").text() == "LoadBalancer" {
        class.text_format(qualified_name);
    } else {
        class.forbidden(ONLY_LOAD_BALANCER);
    }
}

fn traffic(service: &Cursor<'_, '_>, spec: &Cursor<'_, '_>) {
    const POLICIES: &[&str] = &["Cluster", "Local"];
    let external = spec.field("externalTrafficPolicy");
    if fields::is_reached_from_outside(service.value()) {
        external.required_one_of(POLICIES);
    } else if !external.is_empty() {
        let why = "may only be set for externally-accessible services";
        external.invalid(Printed::json(external.text()), why);
    }
    let health_port = spec.field("healthCheckNodePort");
    match (fields::has_health_port(service.value()), health_port.integer()) {
        (true, 0) => health_port.required(""),
        (true, _) => health_port.integer_format(port_number),
        (false, 0) => {}
        (false, port) => {
            let why = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
            health_port.invalid(port, why);
        }
    }
    let internal = spec.field("internalTrafficPolicy");
    if internal.is_set() {
        internal.one_of(POLICIES);
    } else if matches!(spec.field("type").text(), "ClusterIP" | "NodePort" | "LoadBalancer") {
        internal.required("");
    }
    let distribution = spec.field("trafficDistribution");
    if let Some(text) = distribution.optional_text() {
        const DISTRIBUTIONS: &[&str] = &["PreferClose", "PreferSameZone", "PreferSameNode"];
        if !DISTRIBUTIONS.contains(&text) {
            distribution.not_supported(text, DISTRIBUTIONS);
        }
    }
}

#[cfg(test)]
mod cases;
#[cfg(test)]
mod tests;
