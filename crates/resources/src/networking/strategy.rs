//! The strategies of the group's resources.

use std::sync::Arc;

use pintle_meta::field_path::Path;
use pintle_meta::validation::{cidr_warnings, ip, ip_warnings};
use pintle_meta::{Value, Warnings};
use pintle_registry::Strategy;

use super::validation;
use crate::framework::strategy::{Entry, MetadataRecheck, Rules, Settings, find};

const TABLE: &[Entry] = &[
    Entry {
        name: "ingressclasses",
        kind: "networking/v1.IngressClass",
        rules: Rules { recheck: MetadataRecheck::Both, ..CLUSTER.counting_spec() },
    },
    Entry { name: "ingresses", kind: "networking/v1.Ingress", rules: INGRESSES },
    Entry {
        name: "ingresses/status",
        kind: "networking/v1.Ingress",
        rules: Rules { warnings: |_, ingress, _| addresses(ingress), ..INGRESSES.of_status() },
    },
    Entry {
        name: "ipaddresses",
        kind: "networking/v1.IPAddress",
        rules: Rules {
            name: address,
            takes_prefixes: true,
            recheck: MetadataRecheck::Both,
            validate: |_, address| address.report(validation::address(address.value())),
            validate_update: |_, new| {
                new.report(validation::address_update(new.value(), new.before().value()));
            },
            ..CLUSTER
        },
    },
    Entry {
        name: "networkpolicies",
        kind: "networking/v1.NetworkPolicy",
        rules: Rules { warnings: |_, policy, _| blocks(policy), ..NAMESPACED.counting_spec() },
    },
    Entry { name: "servicecidrs", kind: "networking/v1.ServiceCIDR", rules: RANGES },
    Entry { name: "servicecidrs/status", kind: "networking/v1.ServiceCIDR", rules: RANGES.of_status_alone() },
];

const NAMESPACED: Rules = Rules { unconditional_update: true, ..Rules::NAMESPACED };
const CLUSTER: Rules = Rules { namespaced: false, ..NAMESPACED };

const INGRESSES: Rules = Rules {
    recheck: MetadataRecheck::Both,
    warnings: ingress_class,
    ..NAMESPACED.with_status().counting_spec()
};

const RANGES: Rules = Rules {
    validate: |_, range| range.report(validation::service_range(range.value())),
    validate_update: |_, new| new.report(validation::service_range_update(new.value(), new.before().value())),
    ..CLUSTER.with_status()
};

fn address(name: &str, _: bool) -> Vec<String> {
    ip(&Path::NOWHERE, name).into_iter().map(|error| error.detail).collect()
}

/// A new ingress should not name its class as it was done before there were classes.
fn ingress_class(_: &Settings, ingress: &Value, old: Option<&Value>) -> Vec<String> {
    const ANNOTATION: &str = "kubernetes.io/ingress.class";
    if old.is_some()
        || ingress.annotation(ANNOTATION).is_none()
        || ingress.at(&["spec", "ingressClassName"]).is_some()
    {
        return Vec::new();
    }
    vec![format!("annotation \"{ANNOTATION}\" is deprecated, please use 'spec.ingressClassName' instead")]
}

fn addresses(ingress: &Value) -> Vec<String> {
    let path = Path::new("status");
    let path = path.child("loadBalancer");
    let path = path.child("ingress");
    let given = ingress.items_at(&["status", "loadBalancer", "ingress"]).iter().enumerate();
    let mut warnings = Warnings::new();
    warnings.extend(given.flat_map(|(index, point)| ip_warnings(&path.index(index), point.text_at(&["ip"]))));
    warnings.into_texts()
}

fn blocks(policy: &Value) -> Vec<String> {
    let path = Path::new("spec");
    let mut warnings = Warnings::new();
    for (direction, peers) in [("ingress", "from"), ("egress", "to")] {
        let rules = path.child(direction);
        for (i, rule) in policy.items_at(&["spec", direction]).iter().enumerate() {
            let rule_path = rules.index(i);
            let peers_path = rule_path.child(peers);
            for (j, peer) in rule.items_at(&[peers]).iter().enumerate() {
                let Some(block) = peer.get("ipBlock") else { continue };
                let peer_path = peers_path.index(j);
                let block_path = peer_path.child("ipBlock");
                warnings.extend(cidr_warnings(&block_path.child("cidr"), block.text_at(&["cidr"])));
                let except_path = block_path.child("except");
                let excepted = block.items_at(&["except"]).iter().enumerate();
                warnings.extend(excepted.flat_map(|(k, except)| {
                    cidr_warnings(&except_path.index(k), except.as_str().unwrap_or_default())
                }));
                if warnings.is_full() {
                    return warnings.into_texts();
                }
            }
        }
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

    const GROUP: &str = "networking.k8s.io";

    #[test]
    fn an_address_has_its_address_for_a_name() {
        let addresses = of(GROUP, "ipaddresses").strategy;
        assert!(addresses.validate_name("10.0.0.1", false).is_empty());
        assert!(addresses.validate_name("2001:db8::1", false).is_empty());
        // There is nothing to make up about an address.
        assert_eq!(addresses.generate_name("10.0.0.1", &mut || 7), "10.0.0.1");
        assert_ne!(of(GROUP, "ingresses").strategy.generate_name("a-", &mut || 7), "a-");
        assert_eq!(
            addresses.validate_name("a", false),
            ["must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"]
        );
    }

    #[test]
    fn the_old_way_to_name_a_class_is_warned_of_once() {
        let ingresses = of(GROUP, "ingresses");
        let old = r#"{"metadata":{"name":"a","annotations":{"kubernetes.io/ingress.class":"x"}}}"#;
        assert_eq!(
            warnings(&ingresses, old, None),
            [
                r#"annotation "kubernetes.io/ingress.class" is deprecated, please use 'spec.ingressClassName' instead"#
            ]
        );
        assert!(warnings(&ingresses, old, Some(old)).is_empty());
    }

    #[test]
    fn addresses_that_read_in_two_ways_are_warned_of() {
        let status = r#"{"metadata":{"name":"a"},"status":{"loadBalancer":{"ingress":[{"ip":"1.2.3.4"},{"ip":"010.2.3.4"}]}}}"#;
        let found = warnings(&of(GROUP, "ingresses/status"), status, Some(status));
        assert!(found.len() == 1 && found[0].starts_with("status.loadBalancer.ingress[1]: "), "{found:?}");
        let policy = r#"{"metadata":{"name":"a"},"spec":{"podSelector":{},"egress":[{"to":[{"podSelector":{}},
            {"ipBlock":{"cidr":"10.0.0.0/8","except":["10.0.0.1/16"]}}]}]}}"#;
        let found = warnings(&of(GROUP, "networkpolicies"), policy, None);
        assert!(
            found.len() == 1 && found[0].starts_with("spec.egress[0].to[1].ipBlock.except[0]: CIDR value"),
            "{found:?}"
        );
    }

    #[test]
    fn a_status_is_written_alone() {
        let status = of(GROUP, "servicecidrs/status");
        let old = r#"{"metadata":{"name":"a","labels":{"a":"b"},"managedFields":[{"manager":"m"}]},"spec":{"cidrs":["10.0.0.0/8"]},"status":{}}"#;
        let new = r#"{"metadata":{"name":"a","annotations":{"c":"d"},"managedFields":[{"manager":"o"}]},"spec":{},"status":{"conditions":[{"type":"Ready","status":"True","lastTransitionTime":null,"reason":"r","message":"m"}]}}"#;
        assert_eq!(
            text(&status.updated(new, old)),
            r#"{"metadata":{"name":"a","labels":{"a":"b"},"managedFields":[{"manager":"o"}]},"spec":{"cidrs":["10.0.0.0/8"]},"status":{"conditions":[{"type":"Ready","status":"True","lastTransitionTime":null,"reason":"r","message":"m"}]}}"#
        );
    }
}
