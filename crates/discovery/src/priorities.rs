//! Priorities of group versions: the order of groups, and of the versions of a group.
//!
//! A group comes before others of lower priority; groups of the same priority go by their names. In a group, the version of the
//! highest priority is the preferred one; versions of the same priority go by age ([`version_order`](crate::version_order)).

/// The priorities of a group version, as its APIService has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Priority {
    /// `spec.groupPriorityMinimum`. That of a group is the highest of its versions.
    pub group: i32,
    /// `spec.versionPriority`
    pub version: i32,
}

/// A group, its priority, and those of its versions.
type Row = (&'static str, i32, &'static [(&'static str, i32)]);

/// The built-in groups that have APIServices.
const BUILTIN: &[Row] = &[
    ("", 18_000, &[("v1", 1)]),
    ("apps", 17_800, &[("v1", 15)]),
    ("events.k8s.io", 17_750, &[("v1", 15), ("v1beta1", 5)]),
    ("authentication.k8s.io", 17_700, &[("v1", 15), ("v1beta1", 9), ("v1alpha1", 1)]),
    ("authorization.k8s.io", 17_600, &[("v1", 15)]),
    ("autoscaling", 17_500, &[("v2", 30), ("v1", 15), ("v2beta1", 9), ("v2beta2", 1)]),
    ("batch", 17_400, &[("v1", 15), ("v1beta1", 9), ("v2alpha1", 9)]),
    ("certificates.k8s.io", 17_300, &[("v1", 15), ("v1beta1", 9), ("v1alpha1", 1)]),
    ("networking.k8s.io", 17_200, &[("v1", 15), ("v1beta1", 9)]),
    ("policy", 17_100, &[("v1", 15), ("v1beta1", 9)]),
    ("rbac.authorization.k8s.io", 17_000, &[("v1", 15)]),
    ("storage.k8s.io", 16_800, &[("v1", 15), ("v1beta1", 9), ("v1alpha1", 1)]),
    ("admissionregistration.k8s.io", 16_700, &[("v1", 15), ("v1beta1", 12), ("v1alpha1", 9)]),
    ("apiextensions.k8s.io", 16_700, &[("v1", 15)]),
    ("scheduling.k8s.io", 16_600, &[("v1", 15), ("v1alpha2", 2)]),
    ("coordination.k8s.io", 16_500, &[("v1", 15), ("v1beta1", 13), ("v1alpha2", 12)]),
    ("node.k8s.io", 16_300, &[("v1", 15), ("v1beta1", 9), ("v1alpha1", 1)]),
    ("discovery.k8s.io", 16_200, &[("v1", 15), ("v1beta1", 12)]),
    ("resource.k8s.io", 16_200, &[("v1", 21), ("v1beta2", 15), ("v1beta1", 9), ("v1alpha3", 1)]),
    (
        "flowcontrol.apiserver.k8s.io",
        16_100,
        &[("v1", 21), ("v1beta3", 18), ("v1beta2", 15), ("v1beta1", 12), ("v1alpha1", 9)],
    ),
    ("internal.apiserver.k8s.io", 16_000, &[("v1alpha1", 9)]),
    ("storagemigration.k8s.io", 15_800, &[("v1beta1", 9)]),
];

impl Priority {
    /// The priority of every version of custom resources.
    pub const CUSTOM: Priority = Priority { group: 1000, version: 100 };

    /// The group of APIServices itself, which has none: above every priority that an APIService can have.
    const API_SERVICES: Priority = Priority { group: 20_001, version: 0 };

    /// The priority of a built-in group version that is not in the table.
    const UNLISTED: Priority = Priority { group: 1000, version: 15 };

    /// Returns the priority of a built-in group version; `None` if it has no APIService.
    pub fn builtin(group: &str, version: &str) -> Option<Priority> {
        let (_, of_group, versions) = BUILTIN.iter().find(|(name, ..)| *name == group)?;
        let (_, of_version) = versions.iter().find(|(name, _)| *name == version)?;
        Some(Priority { group: *of_group, version: *of_version })
    }

    /// Returns the priority by which discovery orders a built-in group version.
    pub fn listed(group: &str, version: &str) -> Priority {
        let own = (group == "apiregistration.k8s.io").then_some(Priority::API_SERVICES);
        own.or_else(|| Priority::builtin(group, version)).unwrap_or(Priority::UNLISTED)
    }
}

#[cfg(test)]
mod tests {
    use pintle_schema::Resources;

    use super::*;

    #[test]
    fn built_in_group_versions_are_in_the_order_of_their_priorities() {
        let resources = Resources::builtin().unwrap();
        let versions = crate::builtin(&resources, |version| version.is_served_by_default());
        let mut groups: Vec<(&str, i32)> = Vec::new();
        for version in &versions {
            let Priority { group, version: of_version } = Priority::listed(&version.group, &version.version);
            match groups.last() {
                Some((name, _)) if *name == version.group => {}
                _ => groups.push((&version.group, group)),
            }
            assert!(of_version >= 0, "{}", version.name());
        }
        // The core group has a document of its own.
        groups.retain(|(name, _)| !name.is_empty());
        let mut sorted = groups.clone();
        sorted.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        assert_eq!(groups, sorted);
    }

    #[test]
    fn the_group_of_api_services_has_none() {
        assert_eq!(Priority::builtin("apiregistration.k8s.io", "v1"), None);
        assert_eq!(Priority::builtin("scheduling.k8s.io", "v1alpha1"), None);
        assert_eq!(Priority::builtin("apps", "v1"), Some(Priority { group: 17_800, version: 15 }));
    }
}
