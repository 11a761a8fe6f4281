//! Tests of EndpointSlices.

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
