//! Services: what a change of type makes meaningless goes, and what a client left out stays.

use std::collections::BTreeSet;
use std::net::IpAddr;

use pintle_meta::Value;
use pintle_meta::field_path::Path as FieldPath;
use pintle_meta::validation::{cidr_warnings, ip_warnings, object_meta, parse_ip_sloppy};

use super::NAMESPACED;
use crate::strategy::tree::{self, Path};
use crate::strategy::{Rules, Settings};

const ADDRESS: Path = &["spec", "clusterIP"];
const ADDRESSES: Path = &["spec", "clusterIPs"];
const FAMILIES: Path = &["spec", "ipFamilies"];
const FAMILY_POLICY: Path = &["spec", "ipFamilyPolicy"];
const INTERNAL_POLICY: Path = &["spec", "internalTrafficPolicy"];
const PORTS: Path = &["spec", "ports"];
const HEALTH_PORT: Path = &["spec", "healthCheckNodePort"];
const ALLOCATES: Path = &["spec", "allocateLoadBalancerNodePorts"];
const LOAD_BALANCER: Path = &["status", "loadBalancer"];

pub(super) const SERVICES: Rules = Rules {
    name: object_meta::label_name,
    create_on_update: true,
    returns_deleted_object: true,
    on_create: |_, _, service| {
        // Older clients know only the first address.
        if !address(service).is_empty() && service.items_at(ADDRESSES).is_empty() {
            let address = Value::string(address(service));
            tree::set(service, ADDRESSES, vec![address]);
        }
    },
    on_update: |settings, _, new, old| {
        let whole = decorated(settings, old);
        let whole = whole.as_ref().unwrap_or(old);
        keep_allocated(new, whole);
        settle_addresses(new, whole);
        drop_what_another_type_had(new, old);
    },
    warnings: |_, service, _| warnings(service),
    decorated,
    ..NAMESPACED.with_status()
};

pub(super) const SERVICE_STATUS: Rules = Rules {
    warnings: |_, service, _| {
        let path = FieldPath::new("status.loadBalancer.ingress");
        let points = service.items_at(&["status", "loadBalancer", "ingress"]).iter().enumerate();
        points.flat_map(|(index, point)| ip_warnings(&path.index(index), point.text_at(&["ip"]))).collect()
    },
    ..SERVICES.of_status()
};

fn kind(service: &Value) -> &str {
    service.text_at(&["spec", "type"])
}

fn address(service: &Value) -> &str {
    service.text_at(ADDRESS)
}

fn has_address(service: &Value) -> bool {
    kind(service) != "ExternalName"
}

fn has_node_ports(service: &Value) -> bool {
    matches!(kind(service), "NodePort" | "LoadBalancer")
}

fn has_health_port(service: &Value) -> bool {
    kind(service) == "LoadBalancer" && service.text_at(&["spec", "externalTrafficPolicy"]) == "Local"
}

fn is_reached_from_outside(service: &Value) -> bool {
    has_node_ports(service)
        || (kind(service) == "ClusterIP" && !service.items_at(&["spec", "externalIPs"]).is_empty())
}

fn node_port(port: &Value) -> i64 {
    port.get("nodePort").and_then(Value::as_i64).unwrap_or_default()
}

fn node_ports(service: &Value) -> BTreeSet<i64> {
    service.items_at(PORTS).iter().map(node_port).filter(|port| *port != 0).collect()
}

/// Keeps what was given to a service, if the client did not say it again.
fn keep_allocated(new: &mut Value, old: &Value) {
    if has_address(new) && has_address(old) {
        if address(new).is_empty() {
            tree::keep(new, old, ADDRESS);
        }
        if new.items_at(ADDRESSES).is_empty() {
            tree::keep(new, old, ADDRESSES);
        }
    }
    let is_given_ports = |service: &Value| {
        kind(service) == "NodePort"
            || (kind(service) == "LoadBalancer"
                && service.at(ALLOCATES).and_then(Value::as_bool).unwrap_or(true))
    };
    if is_given_ports(new) && is_given_ports(old) {
        let taken: BTreeSet<i64> = node_ports(new).intersection(&node_ports(old)).copied().collect();
        // By name, whatever else of a port was changed. Of several with one name the last counts.
        let before = |port: &Value| {
            let name = port.text_at(&["name"]);
            let same = old.items_at(PORTS).iter().rfind(|known| known.text_at(&["name"]) == name);
            same.map(node_port).filter(|known| *known != 0 && !taken.contains(known))
        };
        for port in tree::items_mut(new, PORTS, |port| node_port(port) == 0 && before(port).is_some()) {
            if let Some(known) = before(port) {
                tree::set(port, &["nodePort"], known);
            }
        }
    }
    if has_health_port(new) && has_health_port(old) && new.at(HEALTH_PORT).is_none() {
        tree::keep(new, old, HEALTH_PORT);
    }
}

/// Brings the list of addresses in line with the first of them, for clients that know only that.
fn settle_addresses(new: &mut Value, old: &Value) {
    if new.items_at(ADDRESSES).is_empty() && address(new) == address(old) {
        tree::keep(new, old, ADDRESSES);
    }
    if address(new) == address(old) || !tree::is_same(new, old, ADDRESSES) {
        return;
    }
    if address(new).is_empty() {
        tree::remove(new, ADDRESSES);
    } else {
        let address = Value::string(address(new));
        tree::set(new, ADDRESSES, vec![address]);
    }
}

/// A change of type alone is enough: clients need not clear what the new type does not have. What they did change is left
/// for validation.
fn drop_what_another_type_had(new: &mut Value, old: &Value) {
    if has_address(old) && !has_address(new) {
        if tree::is_same(new, old, ADDRESS) && tree::is_same(new, old, ADDRESSES) {
            tree::remove(new, ADDRESS);
            tree::remove(new, ADDRESSES);
        }
        drop_if_same(new, old, FAMILIES);
        drop_if_same(new, old, FAMILY_POLICY);
    }
    if has_node_ports(old) && !has_node_ports(new) && node_ports(new).is_subset(&node_ports(old)) {
        for port in tree::items_mut(new, PORTS, |port| node_port(port) != 0) {
            tree::remove(port, &["nodePort"]);
        }
    }
    if has_health_port(old) && !has_health_port(new) {
        drop_if_same(new, old, HEALTH_PORT);
    }
    if kind(old) == "LoadBalancer" && kind(new) != "LoadBalancer" {
        drop_if_same(new, old, ALLOCATES);
        drop_if_same(new, old, &["spec", "loadBalancerClass"]);
    }
    if is_reached_from_outside(old) && !is_reached_from_outside(new) {
        drop_if_same(new, old, &["spec", "externalTrafficPolicy"]);
    }
    if kind(new) != "LoadBalancer"
        && let Some(status) = pintle_schema::find("core/v1.LoadBalancerStatus")
        && let Some(status) = status.structure()
    {
        tree::set(new, LOAD_BALANCER, pintle_schema::normal::zero_struct(status));
    }
}

fn drop_if_same(new: &mut Value, old: &Value, path: Path) {
    if tree::is_same(new, old, path) {
        tree::remove(new, path);
    }
}

/// A service as clients see it: what was stored before there could be several addresses, or families of them, is shown
/// as if it had them. Services of other clusters have no traffic of their own, though some were stored with a policy for it.
fn decorated(settings: &Settings, service: &Value) -> Option<Value> {
    let lacks_addresses = !address(service).is_empty() && service.items_at(ADDRESSES).is_empty();
    let lacks_families = has_address(service)
        && service.items_at(FAMILIES).is_empty()
        && !(address(service).is_empty() && service.items_at(ADDRESSES).is_empty());
    let has_policy = !has_address(service) && service.at(INTERNAL_POLICY).is_some();
    if !lacks_addresses && !lacks_families && !has_policy {
        return None;
    }
    let mut shown = service.clone();
    if lacks_addresses {
        tree::set(&mut shown, ADDRESSES, vec![Value::string(address(service))]);
    }
    if lacks_families {
        let (families, policy) = families(settings, &shown);
        let families: Vec<Value> = families.into_iter().map(Value::literal).collect();
        tree::set(&mut shown, FAMILIES, families);
        if let Some(policy) = policy {
            tree::set(&mut shown, FAMILY_POLICY, policy);
        }
    }
    if has_policy {
        tree::remove(&mut shown, INTERNAL_POLICY);
    }
    Some(shown)
}

/// The families of a service that does not say them, and its policy about them.
fn families(settings: &Settings, service: &Value) -> (Vec<&'static str>, Option<&'static str>) {
    const SINGLE: Option<&str> = Some("SingleStack");
    const BOTH: Option<&str> = Some("RequireDualStack");
    if address(service) == "None" {
        let order = if settings.ipv6_first { ["IPv6", "IPv4"] } else { ["IPv4", "IPv6"] };
        // Nobody knows what endpoints somebody gives to a service that selects none itself.
        let selects = service.at(&["spec", "selector"]).and_then(Value::as_object);
        return match selects.is_some_and(|selector| !selector.is_empty()) {
            true => (order[..1].to_vec(), SINGLE),
            false => (order.to_vec(), BOTH),
        };
    }
    let is_ipv6 = |address: &Value| match address.as_str().and_then(parse_ip_sloppy) {
        Some(IpAddr::V6(address)) => address.to_ipv4_mapped().is_none(),
        _ => false,
    };
    let addresses = service.items_at(ADDRESSES).iter();
    let families: Vec<_> = addresses.map(|address| if is_ipv6(address) { "IPv6" } else { "IPv4" }).collect();
    let policy = match families.len() {
        1 => SINGLE,
        2 => BOTH,
        _ => None,
    };
    (families, policy)
}

/// About what is ignored or out of date, and addresses that are not written as they should be.
fn warnings(service: &Value) -> Vec<String> {
    let path = FieldPath::new("spec");
    let each = |list: &'static str| {
        let items = service.items_at(&["spec", list]).iter().enumerate();
        items.map(move |(index, item)| (list, index, item.as_str().unwrap_or_default()))
    };
    let badly_written = |(list, index, address): (&str, usize, &str)| {
        let path = path.child(list);
        ip_warnings(&path.index(index), address)
    };
    let is_headless = kind(service) == "ClusterIP" && address(service) == "None";
    let is_elsewhere = !has_address(service);
    let outside = !service.items_at(&["spec", "externalIPs"]).is_empty();
    let balancer = service.text_at(&["spec", "loadBalancerIP"]);
    let text = |field: &str| service.text_at(&["spec", field]);

    let mut warnings = Vec::new();
    warnings.extend(told([(
        service.annotation("service.kubernetes.io/topology-aware-hints").is_some(),
        "annotation service.kubernetes.io/topology-aware-hints is deprecated, please use \
         service.kubernetes.io/topology-mode instead",
    )]));
    if !matches!(address(service), "" | "None") {
        warnings.extend(each("clusterIPs").flat_map(badly_written));
    }
    warnings.extend(told([
        (is_headless && !balancer.is_empty(), "spec.loadBalancerIP is ignored for headless services"),
        (is_headless && outside, "spec.externalIPs is ignored for headless services"),
        (
            is_headless && text("sessionAffinity") != "None",
            "spec.SessionAffinity is ignored for headless services",
        ),
    ]));
    warnings.extend(each("externalIPs").flat_map(badly_written));
    warnings.extend(told([(
        outside && !is_headless && !is_elsewhere,
        "spec.externalIPs is deprecated and may no longer be implemented in some clusters",
    )]));
    warnings.extend(ip_warnings(&path.child("loadBalancerIP"), balancer));
    for (list, index, range) in each("loadBalancerSourceRanges") {
        let path = path.child(list);
        warnings.extend(cidr_warnings(&path.index(index), range));
    }
    warnings.extend(told([
        (is_elsewhere && outside, r#"spec.externalIPs is ignored when spec.type is "ExternalName""#),
        (
            !is_elsewhere && !text("externalName").is_empty(),
            r#"spec.externalName is ignored when spec.type is not "ExternalName""#,
        ),
        (
            text("trafficDistribution") == "PreferClose",
            r#"spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone""#,
        ),
    ]));
    warnings
}

fn told<const N: usize>(texts: [(bool, &'static str); N]) -> impl Iterator<Item = String> {
    texts.into_iter().filter(|(is, _)| *is).map(|(_, text)| text.to_owned())
}
