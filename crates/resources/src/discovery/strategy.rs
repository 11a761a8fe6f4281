//! The strategies of the group's resources.

use std::collections::BTreeSet;
use std::sync::Arc;

use pintle_meta::field_path::Path;
use pintle_meta::validation::{ip_warnings, object_meta};
use pintle_meta::{Value, Warnings};
use pintle_registry::Strategy;

use crate::framework::strategy::{Entry, MetadataRecheck, Rules, Settings, find, tree};

const TABLE: &[Entry] = &[Entry {
    name: "endpointslices",
    kind: "discovery/v1.EndpointSlice",
    rules: Rules {
        recheck: MetadataRecheck::Full,
        unconditional_update: true,
        on_create: |_, _, slice| {
            tree::set(slice, &["metadata", "generation"], 1);
            drop_topology(slice, None);
        },
        on_update: |_, _, slice, old| {
            // There is no status: everything counts, the labels too.
            let counted: [tree::Path; 4] =
                [&["addressType"], &["endpoints"], &["ports"], &["metadata", "labels"]];
            if !counted.iter().all(|path| tree::is_same(slice, old, path)) {
                tree::set(slice, &["metadata", "generation"], old.generation() + 1);
            }
            drop_topology(slice, Some(old));
        },
        warnings,
        ..Rules::NAMESPACED
    },
}];

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

/// The strategy of a resource or subresource.
pub(crate) fn strategy(name: &str, settings: &Settings) -> Option<Arc<dyn Strategy>> {
    find(TABLE, name, settings)
}

#[cfg(test)]
mod tests {
    use crate::framework::strategy::testing::{of, text, warnings};

    fn slice(metadata: &str, endpoints: &str) -> String {
        format!(
            r#"{{"metadata":{{"name":"a","namespace":"n"{metadata}}},"addressType":"IPv4","endpoints":[{endpoints}],"ports":null}}"#
        )
    }

    const OLD: &str =
        r#"{"addresses":["1.1.1.1"],"conditions":{},"deprecatedTopology":{"kubernetes.io/hostname":"h"}}"#;

    #[test]
    fn everything_but_the_metadata_counts_and_the_labels_do_too() {
        let slices = of("discovery.k8s.io", "endpointslices");
        let old = slice(r#","generation":3"#, r#"{"addresses":["1.1.1.1"],"conditions":{}}"#);
        assert_eq!(slices.created(&old).generation(), 1);
        assert_eq!(slices.updated(&old, &old).generation(), 3);
        let annotated = old.replace(r#""generation":3"#, r#""generation":3,"annotations":{"a":"b"}"#);
        assert_eq!(slices.updated(&annotated, &old).generation(), 3);
        let labelled = old.replace(r#""generation":3"#, r#""generation":3,"labels":{"a":"b"}"#);
        assert_eq!(slices.updated(&labelled, &old).generation(), 4);
        assert_eq!(slices.updated(&old.replace("1.1.1.1", "1.1.1.2"), &old).generation(), 4);
    }

    #[test]
    fn the_topology_of_old_goes_with_the_first_change_of_endpoints() {
        let slices = of("discovery.k8s.io", "endpointslices");
        assert!(!text(&slices.created(&slice("", OLD))).contains("nodeName"));
        assert!(!text(&slices.created(&slice("", OLD))).contains("Topology"));
        let old = slice("", OLD);
        assert_eq!(text(&slices.updated(&old, &old)), old);
        let new = slice(
            "",
            &format!(
                r#"{OLD},{{"addresses":["2.2.2.2"],"conditions":{{}},"deprecatedTopology":{{"kubernetes.io/hostname":"new"}}}}"#
            ),
        );
        assert_eq!(
            text(&slices.updated(&new, &old)),
            slice(
                r#","generation":1"#,
                r#"{"addresses":["1.1.1.1"],"conditions":{},"nodeName":"h"},{"addresses":["2.2.2.2"],"conditions":{}}"#
            )
        );
    }

    #[test]
    fn names_and_odd_addresses_are_warned_of() {
        let slices = of("discovery.k8s.io", "endpointslices");
        let odd = slice("", r#"{"addresses":["1.1.1.1","01.1.1.1"]}"#);
        let found = warnings(&slices, &odd, Some(&odd));
        assert!(found.len() == 1 && found[0].starts_with("endpoints[0].addresses[1]: "), "{found:?}");
        let controlled = odd.replace(
            r#""namespace""#,
            r#""labels":{"endpointslice.kubernetes.io/managed-by":"endpointslice-controller.k8s.io"},"namespace""#,
        );
        assert!(warnings(&slices, &controlled, None).is_empty());
        let names = slice("", "").replace("IPv4", "FQDN");
        assert_eq!(warnings(&slices, &names, None), ["spec.addressType: FQDN endpoints are deprecated"]);
        assert!(warnings(&slices, &names, Some(&names)).is_empty());
    }
}
