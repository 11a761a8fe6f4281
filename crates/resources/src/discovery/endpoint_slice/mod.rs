//! EndpointSlices: a part of the addresses behind a service.

mod validation;

use std::collections::BTreeSet;

use pintle_features::{Feature, Features};
use pintle_meta::field_path::Path;
use pintle_meta::validation::{ip_warnings, object_meta};
use pintle_meta::{Value, Warnings};

use crate::framework::strategy::{MetadataRecheck, Rules, Settings, tree};

pub(super) const ENDPOINT_SLICES: Rules = Rules {
    recheck: MetadataRecheck::Full,
    unconditional_update: true,
    on_create: |settings, _, slice| {
        tree::set(slice, &["metadata", "generation"], 1);
        drop_node_hints(&settings.features, slice, None);
        drop_topology(slice, None);
    },
    on_update: |settings, _, slice, old| {
        // There is no status: everything counts, the labels too.
        let counted: [tree::Path; 4] =
            [&["addressType"], &["endpoints"], &["ports"], &["metadata", "labels"]];
        if !counted.iter().all(|path| tree::is_same(slice, old, path)) {
            tree::set(slice, &["metadata", "generation"], old.generation() + 1);
        }
        drop_node_hints(&settings.features, slice, Some(old));
        drop_topology(slice, Some(old));
    },
    validate: validation::slice,
    validate_update: |settings, slice| {
        validation::slice(settings, slice);
        slice.field("addressType").immutable("discovery.AddressType");
    },
    warnings,
    ..Rules::NAMESPACED
};

/// The older version kept the name of a node among labels. A client of this version changes that only by changing the
/// endpoints: then a name that was there moves to where it belongs, and the labels go.
fn drop_topology(slice: &mut Value, old: Option<&Value>) {
    if old.is_some_and(|old| tree::is_same(slice, old, &["endpoints"])) {
        return;
    }
    const NODE: &[&str] = &["deprecatedTopology", "kubernetes.io/hostname"];
    let endpoints = old.map(|old| old.items_at(&["endpoints"])).unwrap_or_default();
    let known: BTreeSet<&str> = endpoints.iter().map(|endpoint| endpoint.text_at(NODE)).collect();
    let has_topology = |endpoint: &Value| endpoint.get("deprecatedTopology").is_some();
    if !slice.items_at(&["endpoints"]).iter().any(has_topology) {
        return;
    }
    let endpoints = slice.get_mut("endpoints").and_then(Value::as_list_mut);
    for endpoint in endpoints.into_iter().flatten() {
        let node = endpoint.text_at(NODE).to_owned();
        let moves = endpoint.get("nodeName").is_none()
            && known.contains(node.as_str())
            && object_meta::subdomain_name(&node, false).is_empty();
        if moves {
            tree::set(endpoint, &["nodeName"], node);
        }
        tree::remove(endpoint, &["deprecatedTopology"]);
    }
}

/// Removes hints by node while their feature is off, unless the old slice has some already.
fn drop_node_hints(features: &Features, slice: &mut Value, old: Option<&Value>) {
    const NODES: tree::Path = &["hints", "forNodes"];
    let has = |endpoint: &Value| endpoint.at(NODES).is_some();
    let had = old.is_some_and(|old| old.items_at(&["endpoints"]).iter().any(has));
    if !features.enabled(Feature::PreferSameTrafficDistribution) && !had {
        tree::items_mut(slice, &["endpoints"], has).for_each(|endpoint| tree::remove(endpoint, NODES));
    }
}

fn warnings(_: &Settings, slice: &Value, old: Option<&Value>) -> Vec<String> {
    let mut warnings = Warnings::new();
    if old.is_none() && slice.text_at(&["addressType"]) == "FQDN" {
        warnings.push("spec.addressType: FQDN endpoints are deprecated");
    }
    // The controllers write what is right.
    let manager = slice.label("endpointslice.kubernetes.io/managed-by");
    if matches!(manager, Some("endpointslice-controller.k8s.io" | "endpointslicemirroring-controller.k8s.io"))
    {
        return warnings.into_texts();
    }
    let path = Path::new("endpoints");
    for (i, endpoint) in slice.items_at(&["endpoints"]).iter().enumerate() {
        let endpoint_path = path.index(i);
        let addresses_path = endpoint_path.child("addresses");
        let addresses = endpoint.items_at(&["addresses"]).iter().enumerate();
        warnings.extend(addresses.flat_map(|(j, address)| {
            ip_warnings(&addresses_path.index(j), address.as_str().unwrap_or_default())
        }));
    }
    warnings.into_texts()
}

#[cfg(test)]
mod tests;
