//! Validation of the status of a pod, which kubelets and schedulers write.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

use pintle_meta::Value;
use pintle_meta::field_path::Value as Printed;
use pintle_meta::validation::{
    dns1123_label, ip_for_legacy_field, object_meta, parse_ip_sloppy, qualified_name,
};

use super::container_status;
use super::validation::{Options, annotations};
use crate::core::resource_names;
use crate::framework::validation::Cursor;

const NOT_A_GENERATION: &str = "must be a non-negative integer";

/// Checks a pod whose status changed, beside its metadata.
pub(crate) fn update(pod: &Cursor<'_, '_>, options: &Options) {
    annotations::changes(pod, options);
    let (spec, status) = (pod.field("spec"), pod.field("status"));
    conditions(&status.field("conditions"));
    if spec.field("nodeName").changed() {
        status.field("nodeName").forbidden("may not be changed directly"); // unreachable: the spec is kept
    }
    nominated_node(&status.field("nominatedNodeName"), &spec.before(), options);
    generation(&status.field("observedGeneration"));
    let class = status.field("qosClass");
    if class.text() != class.before().text() {
        class.invalid(Printed::json(class.text()), "field is immutable");
    }
    container_status::transitions(&status, spec.before().value(), options);
    claims(&status.field("resourceClaimStatuses"), spec.value());
    extended_claim(&status.field("extendedResourceClaimStatus"), spec.value());
    node_allocatable_claims(&status, spec.value());
    addresses(&status.field("podIPs"), "[]core.PodIP", options);
    let hosts = status.field("hostIPs");
    if let Some(first) = hosts.items().next().map(|first| first.value().text_at(&["ip"]))
        && status.field("hostIP").text() != first
    {
        hosts.index(0).field("ip").invalid(first, "must be equal to `hostIP`");
    }
    addresses(&hosts, "[]core.HostIP", options);
    container_status::statuses(&status, spec.value(), options);
}

fn generation(generation: &Cursor<'_, '_>) {
    if generation.integer() < 0 {
        generation.invalid(generation.integer(), NOT_A_GENERATION);
    }
}

fn conditions(conditions: &Cursor<'_, '_>) {
    conditions.each(|condition| {
        generation(&condition.field("observedGeneration"));
        let kind = condition.at_as(&["type"], "Type");
        if !matches!(kind.text(), "PodScheduled" | "Ready" | "Initialized") {
            kind.text_format(qualified_name);
        }
    });
}

/// Checks the node that is nominated; `spec` is the old one.
fn nominated_node(name: &Cursor<'_, '_>, spec: &Cursor<'_, '_>, options: &Options) {
    if name.is_empty() || name.text() == name.before().text() {
        return;
    }
    name.text_format(|name| object_meta::subdomain_name(name, false));
    if options.clear_nominated_node_of_bound_pods && !spec.field("nodeName").is_empty() {
        name.forbidden("may not be set on pods that are already bound to a node");
    }
}

/// Checks the names of claims that were made for a pod.
fn claims(statuses: &Cursor<'_, '_>, spec: &Value) {
    if statuses.is_empty() {
        return;
    }
    let known: HashSet<&str> = names(spec, "resourceClaims").collect();
    let mut seen = HashSet::new();
    statuses.each(|status| {
        let name = status.field("name");
        if !known.contains(name.text()) {
            name.invalid(name.text(), "must match the name of an entry in `spec.resourceClaims`");
        }
        if !seen.insert(name.text()) {
            name.duplicate(name.text());
        }
        let claim = status.field("resourceClaimName");
        if claim.is_set() {
            for why in object_meta::subdomain_name(claim.text(), false) {
                claim.invalid(Printed::json(claim.text()), why);
            }
        }
    });
}

fn names<'v>(spec: &'v Value, list: &str) -> impl Iterator<Item = &'v str> {
    spec.items_at(&[list]).iter().map(|item| item.text_at(&["name"]))
}

/// Checks the claim for the extended resources of a pod.
fn extended_claim(status: &Cursor<'_, '_>, spec: &Value) {
    if !status.is_set() {
        return;
    }
    let containers = ["initContainers", "containers"].iter().flat_map(|list| spec.items_at(&[list]));
    let containers: HashMap<&str, &Value> =
        containers.map(|container| (container.text_at(&["name"]), container)).collect();
    let mappings = status.field("requestMappings");
    if mappings.is_empty() {
        mappings.required("at least one request mapping is required");
    }
    let mut seen = HashSet::new();
    mappings.each(|mapping| {
        let fields = ["containerName", "resourceName", "requestName"];
        let [container, resource, request] = fields.map(|field| mapping.value().text_at(&[field]));
        match containers.get(container) {
            Some(found) if found.at(&["resources", "requests", resource]).is_none() => mapping.field("resourceName").invalid(
                resource,
                "must match the extended resource name of an entry in spec.initContainers.resources.requests or spec.containers.resources.requests",
            ),
            Some(_) => {}
            None => mapping.field("containerName").invalid(
                container,
                "must match the name of an entry in spec.initContainers.name or spec.containers.name",
            ),
        }
        // The reference reports this one beside the mappings.
        let name = status.field("requestName");
        dns1123_label(request).into_iter().for_each(|why| name.invalid(request, why));
        if !seen.insert([container, resource, request]) {
            fields.iter().for_each(|field| mapping.field(field).duplicate(mapping.field(field).text()));
        }
    });
    let claim = status.field("resourceClaimName");
    if claim.is_empty() {
        claim.required("");
    } else {
        claim.text_format(|name| object_meta::subdomain_name(name, false));
    }
}

/// Checks the claims that take resources of the node that pods share without claims.
fn node_allocatable_claims(status: &Cursor<'_, '_>, spec: &Value) {
    let statuses = status.field("nodeAllocatableResourceClaimStatuses");
    if statuses.is_empty() {
        return;
    }
    let claims = spec.items_at(&["resourceClaims"]).iter();
    let claims = claims.chain(status.field("resourceClaimStatuses").values());
    let known: HashSet<&str> =
        claims.filter_map(|claim| claim.get("resourceClaimName").and_then(Value::as_str)).collect();
    statuses.each(|status| {
        let name = status.field("resourceClaimName");
        if name.is_empty() {
            name.required("must not be empty");
        }
        if !known.contains(name.text()) {
            name.invalid(name.text(), "no mapping found in pod reference");
        }
        for field in ["containers", "resources"] {
            if status.field(field).is_empty() {
                status.field(field).required("must not be empty");
            }
        }
        for (name, amount) in status.field("resources").entries() {
            if !resource_names::is_native(name) {
                amount.invalid(Printed::json(name), "must be a node allocatable resource name");
            }
            if let Some(quantity) = amount.quantity().filter(|quantity| quantity.signum() < 0) {
                amount.invalid(quantity.to_string(), "must be non-negative");
            }
        }
    });
}

/// Checks addresses: at most one of each family. Those of the old object may stay as they are spelled.
fn addresses(list: &Cursor<'_, '_>, of: &str, options: &Options) {
    if list.is_empty() {
        return;
    }
    let old: Vec<&str> = list.before().values().iter().map(|address| address.text_at(&["ip"])).collect();
    list.each(|address| {
        let text = address.value().text_at(&["ip"]);
        address.report(ip_for_legacy_field(address.path(), text, options.strict_ips, &old));
    });
    if list.len() < 2 {
        return;
    }
    let parsed: Vec<Option<IpAddr>> = list
        .values()
        .iter()
        .map(|address| parse_ip_sloppy(address.text_at(&["ip"])).map(|ip| ip.to_canonical()))
        .collect();
    let wrong = parsed.iter().position(Option::is_none);
    if let Some(place) = wrong {
        let shown = list.values()[place].text_at(&["ip"]);
        list.internal(format!("failed to check for dual stack with error:invalid IP[{place}]: {shown}"));
    }
    let has = |family: fn(&IpAddr) -> bool| parsed.iter().flatten().any(family);
    let is_dual = wrong.is_none() && has(IpAddr::is_ipv4) && has(IpAddr::is_ipv6);
    if !is_dual || list.len() > 2 {
        list.invalid(list.printed_as(of), "may specify no more than one IP for each IP family");
    }
}

#[cfg(test)]
mod tests;
