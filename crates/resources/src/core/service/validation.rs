//! What must hold of a service beside its metadata.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv6Addr};

use pintle_meta::field_path::{Error, Path, Value as Shown};
use pintle_meta::validation::{
    cidr_for_legacy_field, dns1123_label, dns1123_subdomain, ip_for_legacy_field, labels, parse_ip_sloppy,
    port_name, port_number, qualified_name,
};
use pintle_meta::{Node, Value};
use pintle_schema::go;

use super::families::{Family, SINGLE};
use super::fields::{self, ADDRESSES, ALLOCATES, FAMILIES, NONE, PORTS};

/// Whether addresses must be written as they are read.
const STRICT: bool = true;
/// How long a client may stay with one endpoint: a day.
const MAX_AFFINITY: i64 = 86_400;
const ONLY_BALANCED: &str = "may only be used when `type` is 'LoadBalancer'";
const FIXED: &str = "may not change once set";
const TOPOLOGY_HINTS: &str = "service.kubernetes.io/topology-aware-hints";
const TOPOLOGY_MODE: &str = "service.kubernetes.io/topology-mode";
const SOURCE_RANGES: &str = "service.beta.kubernetes.io/load-balancer-source-ranges";

/// Of a new service, or with the old one of a changed one.
pub(crate) fn service(service: &Value, old: Option<&Value>) -> Vec<Error> {
    let spec = Path::new("spec");
    let mut errors = Vec::new();
    topology(service, &mut errors);
    let kind = fields::kind(service);
    let is_headless = fields::is_headless(service);
    if service.items_at(PORTS).is_empty() && !is_headless && fields::has_address(service) {
        errors.push(Error::required(&spec.child("ports"), ""));
    }
    match kind {
        "LoadBalancer" | "NodePort" if is_headless => {
            let path = spec.child("clusterIPs");
            let why = format!("may not be set to 'None' for {kind} services");
            errors.push(Error::invalid(&path.index(0), NONE, why));
        }
        "ExternalName" => external_name(service, &mut errors),
        _ => {}
    }
    ports(service, &mut errors);
    if let Some(selector) = service.at(&["spec", "selector"]).and_then(Value::as_object) {
        let pairs = selector.iter().map(|(key, value)| (key, value.as_str().unwrap_or_default()));
        errors.extend(labels(&spec.child("selector"), pairs));
    }
    session_affinity(service, &mut errors);
    errors.extend(addresses(service, old));
    external_addresses(service, old, &mut errors);
    const KINDS: &[&str] = &["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
    errors.extend(one_of(&spec.child("type"), kind, KINDS, true));
    node_ports(service, &mut errors);
    source_ranges(service, old, &mut errors);
    let allocates = service.at(ALLOCATES).is_some_and(|allocates| !allocates.is_null());
    if allocates && kind != "LoadBalancer" {
        errors.push(Error::forbidden(&spec.child("allocateLoadBalancerNodePorts"), ONLY_BALANCED));
    }
    if !allocates && kind == "LoadBalancer" {
        // It stands so in the reference, without the spec.
        errors.push(Error::required(&Path::new("allocateLoadBalancerNodePorts"), ""));
    }
    balancer_class(service, &mut errors);
    traffic(service, &mut errors);
    errors
}

/// Of a changed service.
pub(crate) fn service_update(new: &Value, old: &Value) -> Vec<Error> {
    let spec = Path::new("spec");
    let mut errors = Vec::new();
    if fields::has_address(new) && fields::has_address(old) {
        changed_addresses(new, old, &mut errors);
        changed_families(new, old, &mut errors);
    }
    let is_balanced = |service: &Value| fields::kind(service) == "LoadBalancer";
    let class = |service: &Value| service.at(&["spec", "loadBalancerClass"]).cloned();
    if is_balanced(new) && is_balanced(old) && class(new) != class(old) {
        let shown = class(new).as_ref().and_then(Value::as_str).map_or_else(Shown::null, Shown::from);
        errors.push(Error::invalid(&spec.child("loadBalancerClass"), shown, FIXED));
    }
    // The class itself is looked at here and again with all the rest.
    balancer_class(new, &mut errors);
    if fields::has_health_port(new)
        && fields::has_health_port(old)
        && fields::health_port(new) != fields::health_port(old)
    {
        errors.push(Error::forbidden(&spec.child("healthCheckNodePort"), "field is immutable"));
    }
    errors.extend(service(new, Some(old)));
    errors
}

/// Of a service whose status was changed.
pub(crate) fn status_update(new: &Value, old: &Value) -> Vec<Error> {
    const INGRESS: &[&str] = &["status", "loadBalancer", "ingress"];
    let path = Path::new("status.loadBalancer.ingress");
    let points = new.items_at(INGRESS);
    if fields::kind(new) != "LoadBalancer" && !points.is_empty() {
        let why = "may only be used when `spec.type` is 'LoadBalancer'";
        return vec![Error::forbidden(&path, why)];
    }
    let known: Vec<&str> = old.items_at(INGRESS).iter().map(|point| point.text_at(&["ip"])).collect();
    let mut errors = Vec::new();
    for (index, point) in points.iter().enumerate() {
        let path = path.index(index);
        let (ip, host) = (point.text_at(&["ip"]), point.text_at(&["hostname"]));
        if !ip.is_empty() {
            errors.extend(ip_for_legacy_field(&path.child("ip"), ip, STRICT, &known));
        }
        let mode_path = path.child("ipMode");
        match point.get("ipMode").and_then(Value::as_str) {
            None if !ip.is_empty() => {
                errors.push(Error::required(&mode_path, "must be specified when `ip` is set"));
            }
            Some(_) if ip.is_empty() => {
                errors.push(Error::forbidden(&mode_path, "may not be specified when `ip` is not set"));
            }
            Some(mode) => errors.extend(one_of(&mode_path, mode, &["Proxy", "VIP"], false)),
            None => {}
        }
        if !host.is_empty() {
            let path = path.child("hostname");
            errors.extend(dns1123_subdomain(host).into_iter().map(|why| Error::invalid(&path, host, why)));
            if parse_ip_sloppy(host).is_some() {
                errors.push(Error::invalid(&path, host, "must be a DNS name, not an IP address"));
            }
        }
    }
    errors
}

/// Addresses, families and the policy about them, as far as they say something about each other.
pub(crate) fn addresses(service: &Value, old: Option<&Value>) -> Vec<Error> {
    if !fields::has_address(service) {
        return Vec::new();
    }
    let spec = Path::new("spec");
    let path = spec.child("clusterIPs");
    let (all, families) = (fields::addresses(service), fields::families(service));
    let shown = || list(service, ADDRESSES);
    let mut errors = Vec::new();
    match (fields::address(service), all.first()) {
        ("", None) => {}
        ("", Some(_)) => {
            errors.push(Error::invalid(&path, shown(), "must be empty when `clusterIP` is not specified"));
        }
        (_, None) => errors.push(Error::required(&path, "")),
        (address, Some(first)) if address != *first => {
            errors.push(Error::invalid(&path, shown(), "first value must match `clusterIP`"));
        }
        _ => {}
    }
    let families_path = spec.child("ipFamilies");
    let mut seen = BTreeSet::new();
    for (index, family) in families.iter().enumerate() {
        let path = families_path.index(index);
        errors.extend(one_of(&path, family, &["IPv4", "IPv6"], false));
        if !seen.insert(*family) {
            errors.push(Error::duplicate(&path, Shown::json(*family)));
        }
    }
    if let Some(policy) = fields::policy(service) {
        const POLICIES: &[&str] = &["PreferDualStack", "RequireDualStack", "SingleStack"];
        errors.extend(one_of(&spec.child("ipFamilyPolicy"), policy, POLICIES, false));
    }
    let known = old.map(fields::addresses).unwrap_or_default();
    let mut is_readable = true;
    for (index, address) in all.iter().enumerate() {
        if index == 0 && *address == NONE {
            if all.len() > 1 {
                is_readable = false;
                errors.push(Error::invalid(&path, shown(), "'None' must be the first and only value"));
            }
            continue;
        }
        let wrong = ip_for_legacy_field(&path.index(index), address, STRICT, &known);
        is_readable &= wrong.is_empty();
        errors.extend(wrong);
    }
    if all.len() > 2 {
        errors.push(Error::invalid(&path, shown(), "may only hold up to 2 values"));
    }
    if !is_readable {
        return errors;
    }
    if all.len() > 1 {
        let ipv6 = all.iter().filter(|address| fields::is_ipv6(address)).count();
        if ipv6 == 0 || ipv6 == all.len() {
            let why = "may specify no more than one IP for each IP family";
            errors.push(Error::invalid(&path, shown(), why));
        }
    }
    if !fields::is_headless(service) {
        for (index, (address, family)) in all.iter().zip(&families).enumerate() {
            let is = Family::of(address).name();
            if matches!(*family, "IPv4" | "IPv6") && is != *family {
                let why = format!("expected an {family} value as indicated by `ipFamilies[{index}]`");
                errors.push(Error::invalid(&path.index(index), *address, why));
            }
        }
    }
    errors
}

/// The first address stays; a second one comes and goes.
fn changed_addresses(new: &Value, old: &Value, errors: &mut Vec<Error>) {
    if fields::is_headless(new) && fields::is_headless(old) {
        return;
    }
    let spec = Path::new("spec");
    let path = spec.child("clusterIPs");
    let (is, was) = (fields::addresses(new), fields::addresses(old));
    let mut wrong = |index: usize, why: &str| {
        errors.push(Error::invalid(&path.index(index), list(new, ADDRESSES), why));
    };
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
        errors.extend(gives_up_second(new, "clusterIP"));
    }
}

fn changed_families(new: &Value, old: &Value, errors: &mut Vec<Error>) {
    if fields::is_headless(new) || fields::is_headless(old) {
        return;
    }
    let spec = Path::new("spec");
    let path = spec.child("ipFamilies");
    let (is, was) = (fields::families(new), fields::families(old));
    let mut wrong = |shown: Shown, why: &str| errors.push(Error::invalid(&path.index(0), shown, why));
    if is.len() == was.len() {
        let changed = is.iter().zip(&was).filter(|(is, was)| is != was);
        changed.for_each(|_| wrong(list(new, FAMILIES), FIXED));
        return;
    }
    if is.len() < was.len() && new.items_at(ADDRESSES).is_empty() {
        wrong(list(new, FAMILIES), "primary ipFamily can not be unset");
    }
    if is.first().zip(was.first()).is_some_and(|(is, was)| is != was) {
        // The addresses are shown, not the families.
        wrong(list(new, ADDRESSES), FIXED);
    }
    if is.len() < was.len() && is.len() == 1 {
        errors.extend(gives_up_second(new, "ipFamily"));
    }
}

fn gives_up_second(service: &Value, what: &str) -> Option<Error> {
    let policy = fields::policy(service);
    let spec = Path::new("spec");
    let why = format!("must be set to 'SingleStack' when releasing the secondary {what}");
    let shown = || policy.map_or_else(Shown::null, Shown::json);
    (policy != Some(SINGLE)).then(|| Error::invalid(&spec.child("ipFamilyPolicy"), shown(), why))
}

fn topology(service: &Value, errors: &mut Vec<Error>) {
    if let (Some(hints), Some(mode)) = (service.annotation(TOPOLOGY_HINTS), service.annotation(TOPOLOGY_MODE))
        && hints != mode
    {
        let why = format!("must match annotations[{TOPOLOGY_HINTS}] when both are specified");
        errors.push(Error::invalid(&Path::new("metadata.annotations").key(TOPOLOGY_MODE), mode, why));
    }
}

fn external_name(service: &Value, errors: &mut Vec<Error>) {
    let spec = Path::new("spec");
    let mut forbidden = |field: &str| {
        errors.push(Error::forbidden(&spec.child(field), "may not be set for ExternalName services"));
    };
    if !service.items_at(ADDRESSES).is_empty() {
        forbidden("clusterIPs");
    }
    if !service.items_at(FAMILIES).is_empty() {
        forbidden("ipFamilies");
    }
    if fields::policy(service).is_some() {
        forbidden("ipFamilyPolicy");
    }
    let given = service.text_at(&["spec", "externalName"]);
    let name = given.strip_suffix('.').unwrap_or(given);
    let path = spec.child("externalName");
    if name.is_empty() {
        errors.push(Error::required(&path, ""));
    } else {
        errors.extend(dns1123_subdomain(name).into_iter().map(|why| Error::invalid(&path, name, why)));
    }
}

fn ports(service: &Value, errors: &mut Vec<Error>) {
    let spec = Path::new("spec");
    let path = spec.child("ports");
    let ports = service.items_at(PORTS);
    let mut names = BTreeSet::new();
    for (index, port) in ports.iter().enumerate() {
        let path = path.index(index);
        let name = port.text_at(&["name"]);
        let name_path = path.child("name");
        if !name.is_empty() {
            errors.extend(dns1123_label(name).into_iter().map(|why| Error::invalid(&name_path, name, why)));
            if !names.insert(name) {
                errors.push(Error::duplicate(&name_path, name));
            }
        } else if ports.len() > 1 {
            errors.push(Error::required(&name_path, ""));
        }
        let number = number(port);
        let wrong = port_number(number).into_iter();
        errors.extend(wrong.map(|why| Error::invalid(&path.child("port"), number, why)));
        const PROTOCOLS: &[&str] = &["SCTP", "TCP", "UDP"];
        errors.extend(one_of(&path.child("protocol"), port.text_at(&["protocol"]), PROTOCOLS, true));
        let target = path.child("targetPort");
        match port.get("targetPort").map(Value::node) {
            Some(Node::String(name)) => {
                errors.extend(port_name(name).into_iter().map(|why| Error::invalid(&target, name, why)));
            }
            number => {
                let number = if let Some(Node::Int(number)) = number { number } else { 0 };
                errors
                    .extend(port_number(number).into_iter().map(|why| Error::invalid(&target, number, why)));
            }
        }
        if let Some(protocol) = port.get("appProtocol").and_then(Value::as_str) {
            let path = path.child("appProtocol");
            errors
                .extend(qualified_name(protocol).into_iter().map(|why| Error::invalid(&path, protocol, why)));
        }
    }
}

fn session_affinity(service: &Value, errors: &mut Vec<Error>) {
    let spec = Path::new("spec");
    let affinity = service.text_at(&["spec", "sessionAffinity"]);
    errors.extend(one_of(&spec.child("sessionAffinity"), affinity, &["ClientIP", "None"], true));
    let config = service.at(&["spec", "sessionAffinityConfig"]).filter(|config| !config.is_null());
    let path = spec.child("sessionAffinityConfig");
    let client_path = path.child("clientIP");
    let timeout_path = client_path.child("timeoutSeconds");
    match affinity {
        "None" if config.is_some() => {
            errors.push(Error::forbidden(&path, "must not be set when session affinity is None"));
        }
        "ClientIP" => {
            let why = "when session affinity type is ClientIP";
            let client = config.and_then(|config| config.get("clientIP")).filter(|client| !client.is_null());
            let timeout = client.and_then(|client| client.get("timeoutSeconds")).and_then(Value::as_i64);
            match (config, client, timeout) {
                (None, ..) => errors.push(Error::required(&path, why)),
                (_, None, _) => errors.push(Error::required(&client_path, why)),
                (.., None) => errors.push(Error::required(&timeout_path, why)),
                (.., Some(timeout)) if !(1..=MAX_AFFINITY).contains(&timeout) => {
                    let why = format!("must be greater than 0 and less than {MAX_AFFINITY}");
                    errors.push(Error::invalid(&timeout_path, timeout, why));
                }
                _ => {}
            }
        }
        _ => {}
    }
}

fn external_addresses(service: &Value, old: Option<&Value>, errors: &mut Vec<Error>) {
    const EXTERNAL: &[&str] = &["spec", "externalIPs"];
    let texts = |service: &'_ Value| -> Vec<String> {
        let items = service.items_at(EXTERNAL).iter();
        items.map(|item| item.as_str().unwrap_or_default().to_owned()).collect()
    };
    let known = old.map(texts).unwrap_or_default();
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let spec = Path::new("spec");
    let path = spec.child("externalIPs");
    for (index, ip) in texts(service).iter().enumerate() {
        let path = path.index(index);
        let wrong = ip_for_legacy_field(&path, ip, STRICT, &known);
        if wrong.is_empty() {
            errors.extend(endpoint_address(&path, ip));
        }
        errors.extend(wrong);
    }
}

/// An address that something outside of its own machine can be reached by.
fn endpoint_address(path: &Path<'_>, text: &str) -> Vec<Error> {
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

/// Node ports where there are none, and pairs of protocol and number that stand twice.
fn node_ports(service: &Value, errors: &mut Vec<Error>) {
    let spec = Path::new("spec");
    let path = spec.child("ports");
    let ports = || service.items_at(PORTS).iter().enumerate();
    if fields::kind(service) == "ClusterIP" {
        for (index, _) in ports().filter(|(_, port)| fields::node_port(port) != 0) {
            let path = path.index(index);
            let why = "may not be used when `type` is 'ClusterIP'";
            errors.push(Error::forbidden(&path.child("nodePort"), why));
        }
    }
    let mut seen = BTreeSet::new();
    for (index, port) in ports().filter(|(_, port)| fields::node_port(port) != 0) {
        let node_port = fields::node_port(port);
        if !seen.insert((port.text_at(&["protocol"]), node_port)) {
            let path = path.index(index);
            errors.push(Error::duplicate(&path.child("nodePort"), node_port));
        }
    }
    let mut seen = BTreeSet::new();
    for (index, port) in ports() {
        let (protocol, number) = (port.text_at(&["protocol"]), number(port));
        if !seen.insert((protocol, number)) {
            errors.push(Error::duplicate(&path.index(index), shown_port(protocol, number)));
        }
    }
}

/// A port of which only protocol and number are known, as the reference's internal type shows.
fn shown_port(protocol: &str, number: i64) -> Shown {
    let text = format!(r#"{{"protocol":{},"port":{number}}}"#, serde_json::Value::from(protocol));
    let of = pintle_schema::find("core/v1.ServicePort");
    let port = of.and_then(|of| pintle_codec::json::decode(of, text.as_bytes()).ok());
    go::shown("core.ServicePort", &port.map(|port| port.value).unwrap_or(Value::NULL))
}

fn source_ranges(service: &Value, old: Option<&Value>, errors: &mut Vec<Error>) {
    const RANGES: &[&str] = &["spec", "loadBalancerSourceRanges"];
    let is_balanced = fields::kind(service) == "LoadBalancer";
    let trimmed = |service: &Value| -> Vec<String> {
        let items = service.items_at(RANGES).iter();
        items.map(|item| item.as_str().unwrap_or_default().trim().to_owned()).collect()
    };
    let ranges = trimmed(service);
    if !ranges.is_empty() {
        let spec = Path::new("spec");
        // With a capital, as in the reference.
        let path = spec.child("LoadBalancerSourceRanges");
        if !is_balanced {
            errors.push(Error::forbidden(&path, ONLY_BALANCED));
        }
        let known = old.map(trimmed).unwrap_or_default();
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        for (index, range) in ranges.iter().enumerate() {
            errors.extend(cidr_for_legacy_field(&path.index(index), range, STRICT, &known));
        }
        return;
    }
    let Some(annotation) = service.annotation(SOURCE_RANGES) else { return };
    let path = Path::new("metadata.annotations");
    let path = path.key(SOURCE_RANGES);
    if !is_balanced {
        errors.push(Error::forbidden(&path, ONLY_BALANCED));
    }
    let is_new = old.is_none_or(|old| old.annotation(SOURCE_RANGES).unwrap_or_default() != annotation);
    if is_new && !annotation.trim().is_empty() {
        for range in annotation.trim().split(',') {
            errors.extend(cidr_for_legacy_field(&path, range.trim(), STRICT, &[]));
        }
    }
}

fn balancer_class(service: &Value, errors: &mut Vec<Error>) {
    let Some(class) = service.at(&["spec", "loadBalancerClass"]).and_then(Value::as_str) else { return };
    let spec = Path::new("spec");
    let path = spec.child("loadBalancerClass");
    if fields::kind(service) == "LoadBalancer" {
        errors.extend(qualified_name(class).into_iter().map(|why| Error::invalid(&path, class, why)));
    } else {
        errors.push(Error::forbidden(&path, ONLY_BALANCED));
    }
}

fn traffic(service: &Value, errors: &mut Vec<Error>) {
    let spec = Path::new("spec");
    let path = spec.child("externalTrafficPolicy");
    let policy = service.text_at(&["spec", "externalTrafficPolicy"]);
    const POLICIES: &[&str] = &["Cluster", "Local"];
    if fields::is_reached_from_outside(service) {
        errors.extend(one_of(&path, policy, POLICIES, true));
    } else if !policy.is_empty() {
        let why = "may only be set for externally-accessible services";
        errors.push(Error::invalid(&path, Shown::json(policy), why));
    }
    let (path, port) = (spec.child("healthCheckNodePort"), fields::health_port(service));
    match (fields::has_health_port(service), port) {
        (true, 0) => errors.push(Error::required(&path, "")),
        (true, port) => {
            errors.extend(port_number(port).into_iter().map(|why| Error::invalid(&path, port, why)));
        }
        (false, 0) => {}
        (false, port) => {
            let why = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
            errors.push(Error::invalid(&path, port, why));
        }
    }
    let path = spec.child("internalTrafficPolicy");
    match service.at(&["spec", "internalTrafficPolicy"]).and_then(Value::as_str) {
        Some(policy) => errors.extend(one_of(&path, policy, POLICIES, false)),
        None if matches!(fields::kind(service), "ClusterIP" | "NodePort" | "LoadBalancer") => {
            errors.push(Error::required(&path, ""));
        }
        None => {}
    }
    if let Some(distribution) = service.at(&["spec", "trafficDistribution"]).and_then(Value::as_str) {
        const DISTRIBUTIONS: &[&str] = &["PreferClose", "PreferSameZone", "PreferSameNode"];
        let path = spec.child("trafficDistribution");
        if !DISTRIBUTIONS.contains(&distribution) {
            errors.push(Error::not_supported(&path, distribution, DISTRIBUTIONS));
        }
    }
}

/// A value of a named type that has these values.
fn one_of(path: &Path<'_>, value: &str, supported: &[&str], is_required: bool) -> Option<Error> {
    match value {
        "" if is_required => Some(Error::required(path, "")),
        value if supported.contains(&value) => None,
        value => Some(Error::not_supported(path, Shown::json(value), supported)),
    }
}

fn number(port: &Value) -> i64 {
    port.get("port").and_then(Value::as_i64).unwrap_or_default()
}

fn list(service: &Value, path: &[&str]) -> Shown {
    go::shown("[]string", service.at(path).unwrap_or(&Value::NULL))
}

#[cfg(test)]
mod tests;
