//! Names of resources in requests, limits and quotas.

use pintle_meta::validation::qualified_name;

pub(crate) const REQUESTS: &str = "requests.";
pub(crate) const HUGE_PAGES: &str = "hugepages-";

/// Before the name of a device class: the extended resource that every class has.
pub(crate) const DEVICE_CLASS: &str = "deviceclass.resource.kubernetes.io/";

/// After the name of a device class: the devices of this class that claims ask for.
pub(crate) const CLAIMED_DEVICES: &str = ".deviceclass.resource.k8s.io/devices";

/// Returns the name that counts the objects of a resource: `count/deployments.apps`.
pub(crate) fn object_count(group: &str, resource: &str) -> String {
    match group {
        "" => format!("count/{resource}"),
        group => format!("count/{resource}.{group}"),
    }
}

/// Returns whether a name is Kubernetes' own: without a domain, or in `kubernetes.io/`.
pub(crate) fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}

/// Returns whether containers may request the name as an extended resource, also one that a device class implies.
pub(crate) fn is_extended_or_device_class(name: &str) -> bool {
    let is_extended = !is_native(name)
        && !name.starts_with(REQUESTS)
        && qualified_name(&format!("{REQUESTS}{name}")).is_empty();
    is_extended || name.starts_with(DEVICE_CLASS)
}

/// Returns whether a name in a quota is of an extended resource: `requests.example.com/gpu`.
pub(crate) fn is_extended_in_quota(name: &str) -> bool {
    let implied = || name.strip_prefix(REQUESTS).is_some_and(|rest| rest.starts_with(DEVICE_CLASS));
    name.starts_with(REQUESTS) && (!is_native(name) || implied())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extended_resources_are_counted_by_requests_alone() {
        for (name, requested, in_quota) in [
            ("cpu", false, false),
            ("requests.cpu", false, false),
            ("kubernetes.io/batteries", false, false),
            ("example.com/gpu", true, false),
            ("requests.example.com/gpu", false, true),
            ("limits.example.com/gpu", true, false),
            ("example.com/-", false, false),
            ("deviceclass.resource.kubernetes.io/fast", true, false),
            ("requests.deviceclass.resource.kubernetes.io/fast", false, true),
        ] {
            assert_eq!(is_extended_or_device_class(name), requested, "{name}");
            assert_eq!(is_extended_in_quota(name), in_quota, "{name}");
        }
    }
}
