//! The fields of a service that belong together.

use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;

use pintle_meta::Value;
use pintle_meta::validation::parse_ip_sloppy;

use crate::framework::strategy::tree::{self, Path};

pub(crate) const ADDRESS: Path = &["spec", "clusterIP"];
pub(crate) const ADDRESSES: Path = &["spec", "clusterIPs"];
pub(crate) const FAMILIES: Path = &["spec", "ipFamilies"];
pub(crate) const FAMILY_POLICY: Path = &["spec", "ipFamilyPolicy"];
pub(crate) const PORTS: Path = &["spec", "ports"];
pub(crate) const HEALTH_PORT: Path = &["spec", "healthCheckNodePort"];
pub(crate) const ALLOCATES: Path = &["spec", "allocateLoadBalancerNodePorts"];

/// The one value of `clusterIP` that is no address.
pub(crate) const NONE: &str = "None";

pub(crate) fn kind(service: &Value) -> &str {
    service.text_at(&["spec", "type"])
}

pub(crate) fn address(service: &Value) -> &str {
    service.text_at(ADDRESS)
}

pub(crate) fn addresses(service: &Value) -> Vec<&str> {
    texts(service, ADDRESSES)
}

pub(crate) fn families(service: &Value) -> Vec<&str> {
    texts(service, FAMILIES)
}

fn texts(service: &Value, path: Path) -> Vec<&str> {
    service.items_at(path).iter().map(|item| item.as_str().unwrap_or_default()).collect()
}

/// `None` where it does not say.
pub(crate) fn policy(service: &Value) -> Option<&str> {
    service.at(FAMILY_POLICY).and_then(Value::as_str)
}

pub(crate) fn has_address(service: &Value) -> bool {
    kind(service) != "ExternalName"
}

/// Whether it is reached by its endpoints only, as its list of addresses says.
pub(crate) fn is_headless(service: &Value) -> bool {
    addresses(service) == [NONE]
}

pub(crate) fn has_selector(service: &Value) -> bool {
    let selector = service.at(&["spec", "selector"]).and_then(Value::as_object);
    selector.is_some_and(|selector| !selector.is_empty())
}

pub(crate) fn has_node_ports(service: &Value) -> bool {
    matches!(kind(service), "NodePort" | "LoadBalancer")
}

/// Whether ports are found for it where it names none.
pub(crate) fn is_given_ports(service: &Value) -> bool {
    match kind(service) {
        "NodePort" => true,
        "LoadBalancer" => service.at(ALLOCATES).and_then(Value::as_bool).unwrap_or(true),
        _ => false,
    }
}

pub(crate) fn has_health_port(service: &Value) -> bool {
    kind(service) == "LoadBalancer" && service.text_at(&["spec", "externalTrafficPolicy"]) == "Local"
}

pub(crate) fn is_reached_from_outside(service: &Value) -> bool {
    has_node_ports(service)
        || (kind(service) == "ClusterIP" && !service.items_at(&["spec", "externalIPs"]).is_empty())
}

pub(crate) fn node_port(port: &Value) -> i64 {
    port.get("nodePort").and_then(Value::as_i64).unwrap_or_default()
}

pub(crate) fn health_port(service: &Value) -> i64 {
    service.at(HEALTH_PORT).and_then(Value::as_i64).unwrap_or_default()
}

/// All node ports of its ports, in their order.
pub(crate) fn all_node_ports(service: &Value) -> Vec<i64> {
    service.items_at(PORTS).iter().map(node_port).filter(|port| *port != 0).collect()
}

pub(crate) fn node_ports(service: &Value) -> BTreeSet<i64> {
    all_node_ports(service).into_iter().collect()
}

pub(crate) fn is_ipv6(address: &str) -> bool {
    match parse_ip_sloppy(address) {
        Some(IpAddr::V6(address)) => address.to_ipv4_mapped().is_none(),
        _ => false,
    }
}

pub(crate) fn set_addresses<T: AsRef<str>>(service: &mut Value, addresses: &[T]) {
    tree::set(service, ADDRESSES, addresses.iter().map(Value::string).collect::<Vec<_>>());
}

/// Older clients know only the first address.
pub(crate) fn complete_new(service: &mut Value) {
    if !address(service).is_empty() && service.items_at(ADDRESSES).is_empty() {
        let address = address(service).to_owned();
        set_addresses(service, &[address]);
    }
}

/// Keeps what was given to a service, if the client did not say it again.
pub(crate) fn keep_allocated(new: &mut Value, old: &Value) {
    if has_address(new) && has_address(old) {
        if address(new).is_empty() {
            tree::keep(new, old, ADDRESS);
        }
        if new.items_at(ADDRESSES).is_empty() {
            tree::keep(new, old, ADDRESSES);
        }
    }
    if is_given_ports(new) && is_given_ports(old) {
        let taken: BTreeSet<i64> = node_ports(new).intersection(&node_ports(old)).copied().collect();
        // By name, whatever else of a port was changed. Of several with one name the last counts.
        let known: HashMap<&str, i64> =
            old.items_at(PORTS).iter().map(|port| (port.text_at(&["name"]), node_port(port))).collect();
        let before = |port: &Value| {
            let known = known.get(port.text_at(&["name"])).copied();
            known.filter(|known| *known != 0 && !taken.contains(known))
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
pub(crate) fn settle_addresses(new: &mut Value, old: &Value) {
    if new.items_at(ADDRESSES).is_empty() && address(new) == address(old) {
        tree::keep(new, old, ADDRESSES);
    }
    if address(new) == address(old) || !tree::is_same(new, old, ADDRESSES) {
        return;
    }
    if address(new).is_empty() {
        tree::remove(new, ADDRESSES);
    } else {
        let address = address(new).to_owned();
        set_addresses(new, &[address]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framework::strategy::testing::{of, text};

    fn changed(new: &str, old: &str) -> String {
        let services = of("", "services");
        let tree = |spec: &str| services.tree(&format!(r#"{{"spec":{spec}}}"#));
        let (mut new, old) = (tree(new), tree(old));
        keep_allocated(&mut new, &old);
        settle_addresses(&mut new, &old);
        text(new.get("spec").unwrap())
    }

    #[test]
    fn a_service_keeps_what_it_was_given() {
        let old = r#"{"ports":[{"name":"a","port":1,"nodePort":30001},{"name":"b","port":2,"nodePort":30002}],"clusterIP":"10.0.0.1","clusterIPs":["10.0.0.1"],"type":"NodePort"}"#;
        let new = r#"{"ports":[{"name":"a","port":1},{"name":"c","port":2,"nodePort":30003},{"name":"b","port":3}],"type":"NodePort"}"#;
        assert_eq!(
            changed(new, old),
            r#"{"ports":[{"name":"a","port":1,"targetPort":0,"nodePort":30001},{"name":"c","port":2,"targetPort":0,"nodePort":30003},{"name":"b","port":3,"targetPort":0,"nodePort":30002}],"clusterIP":"10.0.0.1","clusterIPs":["10.0.0.1"],"type":"NodePort"}"#
        );
    }

    #[test]
    fn a_client_that_knows_only_the_first_address_changes_it() {
        let old = r#"{"clusterIP":"10.0.0.1","clusterIPs":["10.0.0.1"],"type":"NodePort"}"#;
        let new = r#"{"clusterIP":"10.0.0.2","clusterIPs":["10.0.0.1"],"type":"NodePort"}"#;
        assert_eq!(
            changed(new, old),
            r#"{"clusterIP":"10.0.0.2","clusterIPs":["10.0.0.2"],"type":"NodePort"}"#
        );
    }
}
