//! Endpoints: the addresses and ports behind a service.

use pintle_features::Feature;
use pintle_meta::Value;
use pintle_meta::validation::{dns1123_label, ip_for_legacy_field, object_meta, port_number, qualified_name};

use super::endpoint_address::endpoint_address;
use super::strategy::{NAMESPACED, warnings};
use crate::framework::columns::descriptions as doc;
use crate::framework::columns::{AGE, Columns, NAME, cell, text};
use crate::framework::strategy::{MetadataRecheck, Rules, Settings};
use crate::framework::validation::Cursor;

pub(super) const ENDPOINTS_RULES: Rules = Rules {
    recheck: MetadataRecheck::Both,
    create_on_update: true,
    validate,
    validate_update: validate,
    warnings: |_, endpoints, _| warnings::of_endpoints(endpoints),
    ..NAMESPACED
};

fn validate(settings: &Settings, endpoints: &Cursor<'_, '_>) {
    let subsets = endpoints.field("subsets");
    // Subsets that older releases took for valid may stay.
    if subsets.changed() {
        let strict = settings.features.enabled(Feature::StrictIPCIDRValidation);
        subsets.each(|subset| check_subset(subset, strict));
    }
}

fn check_subset(subset: &Cursor<'_, '_>, strict: bool) {
    let (ready, others) = (subset.field("addresses"), subset.field("notReadyAddresses"));
    if ready.is_empty() && others.is_empty() {
        subset.required("must specify `addresses` or `notReadyAddresses`");
    }
    ready.each(|address| check_address(address, strict));
    others.each(|address| check_address(address, strict));
    let ports = subset.field("ports");
    ports.each(|port| check_port(port, ports.len() > 1));
}

fn check_address(address: &Cursor<'_, '_>, strict: bool) {
    let ip = address.field("ip");
    ip.report(ip_for_legacy_field(ip.path(), ip.text(), strict, &[]));
    let hostname = address.field("hostname");
    if !hostname.is_empty() {
        hostname.text_format(dns1123_label);
    }
    let node = address.field("nodeName");
    if node.is_set() {
        node.text_format(|name| object_meta::subdomain_name(name, false));
    }
    ip.text_check(endpoint_address);
}

fn check_port(port: &Cursor<'_, '_>, needs_name: bool) {
    let name = port.field("name");
    if !name.is_empty() {
        name.text_format(dns1123_label);
    } else if needs_name {
        name.required("");
    }
    port.field("port").integer_format(port_number);
    port.field("protocol").required_one_of(&["SCTP", "TCP", "UDP"]);
    let protocol = port.field("appProtocol");
    if protocol.is_set() {
        protocol.text_format(qualified_name);
    }
}

pub(in crate::core) static ENDPOINTS: Columns = Columns::new(
    "core/v1.Endpoints",
    &[NAME, text("Endpoints", doc::ENDPOINTS_SUBSETS), AGE],
    |object, context, cells| {
        cells.extend([cell::name(object), endpoints(object).into(), context.age(object)]);
    },
);

/// How many addresses are shown.
const MOST: usize = 3;

fn endpoints(object: &Value) -> String {
    let subsets = object.items_at(&["subsets"]);
    if subsets.is_empty() {
        return cell::NONE.into();
    }
    let (mut shown, mut count) = (Vec::new(), 0);
    for subset in subsets {
        let addresses = subset.items_at(&["addresses"]);
        let mut add = |port: Option<i64>| {
            count += addresses.len();
            for address in addresses.iter().take(MOST.saturating_sub(shown.len())) {
                shown.push(address_text(address.text_at(&["ip"]), port));
            }
        };
        match subset.items_at(&["ports"]) {
            // A headless service may have none.
            [] => add(None),
            ports => ports.iter().for_each(|port| add(Some(cell::int(port, &["port"])))),
        }
    }
    let text = shown.join(",");
    if count > MOST { format!("{text} + {} more...", count - MOST) } else { text }
}

fn address_text(ip: &str, port: Option<i64>) -> String {
    match port {
        None => ip.into(),
        Some(port) if ip.contains(':') => format!("[{ip}]:{port}"),
        Some(port) => format!("{ip}:{port}"),
    }
}

#[cfg(test)]
mod tests;
