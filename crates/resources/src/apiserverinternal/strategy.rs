//! The strategies of the group's resources.

use std::sync::Arc;

use pintle_meta::validation::{dns1035_label, dns1123_subdomain};
use pintle_registry::Strategy;

use super::validation;
use crate::framework::strategy::{Entry, MetadataRecheck, Rules, Settings, find};

const TABLE: &[Entry] = &[
    Entry { name: "storageversions", kind: "apiserverinternal/v1alpha1.StorageVersion", rules: VERSIONS },
    Entry {
        name: "storageversions/status",
        kind: "apiserverinternal/v1alpha1.StorageVersion",
        rules: Rules {
            recheck: MetadataRecheck::None,
            validate_update: |_, version| validation::status(&version.field("status")),
            ..VERSIONS.of_status_alone()
        },
    },
];

const VERSIONS: Rules = Rules {
    name,
    recheck: MetadataRecheck::None,
    validate: |_, version| validation::status(&version.field("status")),
    ..Rules::CLUSTER.with_status()
};

/// A group and a resource of it.
fn name(name: &str, _: bool) -> Vec<String> {
    let Some((group, resource)) = name.rsplit_once('.') else {
        return vec!["name must be in the form of <group>.<resource>".into()];
    };
    let in_group = dns1123_subdomain(group).into_iter().map(|wrong| format!("the group segment {wrong}"));
    let in_resource =
        dns1035_label(resource).into_iter().map(|wrong| format!("the resource segment {wrong}"));
    in_group.chain(in_resource).collect()
}

/// The strategy of a resource or subresource.
pub(crate) fn strategy(name: &str, settings: &Settings) -> Option<Arc<dyn Strategy>> {
    find(TABLE, name, settings)
}

#[cfg(test)]
mod tests {
    use super::name;

    #[test]
    fn a_name_is_a_group_and_a_resource() {
        assert!(name("apps.deployments", false).is_empty() && name("a.b.c", false).is_empty());
        assert_eq!(name("apps", false), ["name must be in the form of <group>.<resource>"]);
        let wrong = name("A.1", false);
        assert!(wrong[0].starts_with("the group segment a lowercase RFC 1123 subdomain"), "{wrong:?}");
        assert!(wrong[1].starts_with("the resource segment a DNS-1035 label"), "{wrong:?}");
    }
}
