//! Validation of EndpointSlices.

use std::collections::HashSet;

use pintle_features::Feature;
use pintle_meta::field_path::Value as Printed;
use pintle_meta::validation::{
    dns1123_label, fully_qualified_domain_name, ip, ip_for_legacy_field, label_value, object_meta,
    parse_ip_sloppy, qualified_name,
};

use crate::core::endpoint_address::endpoint_address;
use crate::framework::strategy::Settings;
use crate::framework::validation::Cursor;

const MAX_ADDRESSES: usize = 100;
const MAX_ENDPOINTS: usize = 1000;
const MAX_PORTS: usize = 20_000;
/// Of hints by zone, and of those by node.
const MAX_HINTS: usize = 8;

/// Checks a slice beside its metadata.
pub(super) fn slice(settings: &Settings, slice: &Cursor<'_, '_>) {
    let kind = slice.field("addressType");
    kind.required_one_of(&["FQDN", "IPv4", "IPv6"]);
    ports(&slice.field("ports"));
    let endpoints = slice.field("endpoints");
    // Endpoints that older releases took for valid may stay. This is also why the topology of old needs no rules: it goes with
    // the first change of endpoints.
    if !endpoints.changed() {
        return;
    }
    if endpoints.len() > MAX_ENDPOINTS {
        return endpoints.too_many(MAX_ENDPOINTS);
    }
    let strict = settings.features.enabled(Feature::StrictIPCIDRValidation);
    endpoints.each(|item| endpoint(item, kind.text(), strict));
}

fn ports(ports: &Cursor<'_, '_>) {
    if ports.len() > MAX_PORTS {
        return ports.too_many(MAX_PORTS);
    }
    let mut names = HashSet::new();
    for port in ports.items() {
        let name = port.field("name");
        if !name.is_empty() {
            name.text_format(dns1123_label);
        }
        if !names.insert(name.text()) {
            name.duplicate(Printed::json(name.text()));
        }
        // It has a default.
        port.field("protocol").one_of(&["SCTP", "TCP", "UDP"]);
        let protocol = port.field("appProtocol");
        if protocol.is_set() {
            protocol.text_format(qualified_name);
        }
    }
}

fn endpoint(endpoint: &Cursor<'_, '_>, kind: &str, strict: bool) {
    let list = endpoint.field("addresses");
    if list.is_empty() {
        list.required("must contain at least 1 address");
    } else if list.len() > MAX_ADDRESSES {
        list.too_many(MAX_ADDRESSES);
    }
    addresses(&list, kind, strict);
    let node = endpoint.field("nodeName");
    if node.is_set() {
        node.text_format(|name| object_meta::subdomain_name(name, false));
    }
    let hostname = endpoint.field("hostname");
    if hostname.is_set() {
        hostname.text_format(dns1123_label);
    }
    hints(&endpoint.field("hints"));
}

/// Checks addresses of a known type; an error about the family names the list, as in the reference.
fn addresses(list: &Cursor<'_, '_>, kind: &str, strict: bool) {
    for address in list.items() {
        let text = address.text();
        let wrong = match kind {
            "IPv4" => ip_for_legacy_field(address.path(), text, strict, &[]),
            "IPv6" => ip(address.path(), text),
            "FQDN" => fully_qualified_domain_name(address.path(), text).into_iter().collect(),
            _ => continue,
        };
        if !wrong.is_empty() {
            address.report(wrong);
        } else if kind != "FQDN" {
            let is_v4 = parse_ip_sloppy(text).is_some_and(|ip| ip.to_canonical().is_ipv4());
            if is_v4 != (kind == "IPv4") {
                list.invalid(text, format!("must be an {kind} address"));
            }
            address.text_check(endpoint_address);
        }
    }
}

fn hints(hints: &Cursor<'_, '_>) {
    let zones = hints.field("forZones");
    let nodes = hints.field("forNodes");
    if zones.len() > MAX_HINTS {
        return zones.too_many(MAX_HINTS);
    }
    names(&zones, label_value);
    if nodes.len() > MAX_HINTS {
        return nodes.too_many(MAX_HINTS);
    }
    names(&nodes, |name| object_meta::subdomain_name(name, false));
}

/// Checks the names of hints, of which there are few.
fn names(hints: &Cursor<'_, '_>, format: impl Fn(&str) -> Vec<String>) {
    let known = hints.values();
    for (index, hint) in hints.items().enumerate() {
        let name = hint.field("name");
        if known[..index].iter().any(|known| known.text_at(&["name"]) == name.text()) {
            name.duplicate(name.text());
        }
        name.text_format(&format);
    }
}
