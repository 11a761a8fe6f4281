//! Services: what a change of type makes meaningless goes.

use pintle_meta::field_path::Path as FieldPath;
use pintle_meta::validation::{cidr_warnings, ip_warnings, object_meta};
use pintle_meta::{Value, Warnings};

use crate::core::service::fields::{
    ADDRESS, ADDRESSES, ALLOCATES, FAMILIES, FAMILY_POLICY, HEALTH_PORT, PORTS, address, addresses,
    has_address, has_health_port, has_node_ports, has_selector, is_ipv6, is_reached_from_outside, kind,
    node_port, node_ports,
};
use crate::core::service::validation;
use crate::core::strategy::NAMESPACED;
use crate::framework::strategy::tree::{self, Path};
use crate::framework::strategy::{Rules, Settings};

const INTERNAL_POLICY: Path = &["spec", "internalTrafficPolicy"];
const LOAD_BALANCER: Path = &["status", "loadBalancer"];

pub(in crate::core) const SERVICES: Rules = Rules {
    name: object_meta::label_name,
    create_on_update: true,
    returns_deleted_object: true,
    on_update: |_, _, new, old| drop_what_another_type_had(new, old),
    validate: |_, service| validation::service(service),
    validate_update: |_, service| validation::service_update(service),
    warnings: |_, service, _| warnings(service),
    decorated,
    ..NAMESPACED.with_status()
};

pub(in crate::core) const SERVICE_STATUS: Rules = Rules {
    warnings: |_, service, _| {
        let path = FieldPath::new("status.loadBalancer.ingress");
        let points = service.items_at(&["status", "loadBalancer", "ingress"]).iter().enumerate();
        let mut warnings = Warnings::new();
        warnings.extend(
            points.flat_map(|(index, point)| ip_warnings(&path.index(index), point.text_at(&["ip"]))),
        );
        warnings.into_texts()
    },
    validate_update: |_, service| validation::status_update(service),
    ..SERVICES.of_status()
};

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
        // The endpoints of a service without a selector may be of either family.
        return if has_selector(service) { (order[..1].to_vec(), SINGLE) } else { (order.to_vec(), BOTH) };
    }
    let addresses = addresses(service).into_iter();
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

    let mut warnings = Warnings::new();
    warnings.extend(conditional_warnings([(
        service.annotation("service.kubernetes.io/topology-aware-hints").is_some(),
        "annotation service.kubernetes.io/topology-aware-hints is deprecated, please use \
         service.kubernetes.io/topology-mode instead",
    )]));
    if !matches!(address(service), "" | "None") {
        warnings.extend(each("clusterIPs").flat_map(badly_written));
    }
    warnings.extend(conditional_warnings([
        (is_headless && !balancer.is_empty(), "spec.loadBalancerIP is ignored for headless services"),
        (is_headless && outside, "spec.externalIPs is ignored for headless services"),
        (
            is_headless && text("sessionAffinity") != "None",
            "spec.SessionAffinity is ignored for headless services",
        ),
    ]));
    warnings.extend(each("externalIPs").flat_map(badly_written));
    warnings.extend(conditional_warnings([(
        outside && !is_headless && !is_elsewhere,
        "spec.externalIPs is deprecated and may no longer be implemented in some clusters",
    )]));
    warnings.extend(ip_warnings(&path.child("loadBalancerIP"), balancer));
    warnings.extend(each("loadBalancerSourceRanges").flat_map(|(list, index, range)| {
        let path = path.child(list);
        cidr_warnings(&path.index(index), range)
    }));
    warnings.extend(conditional_warnings([
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
    warnings.into_texts()
}

fn conditional_warnings<const N: usize>(texts: [(bool, &'static str); N]) -> impl Iterator<Item = String> {
    texts.into_iter().filter(|(is, _)| *is).map(|(_, text)| text.to_owned())
}
