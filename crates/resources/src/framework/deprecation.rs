//! Versions of kinds that will not be served for good, and what clients are told about them.

use pintle_meta::gvk::GroupVersionKind;

/// Since when a version is deprecated, from when on it is not served any more, and what to use.
type Fate =
    (&'static str, &'static str, &'static str, &'static str, Option<&'static str>, Option<&'static str>);

const FATES: &[Fate] = &[
    ("", "v1", "ComponentStatus", "1.19", None, None),
    ("", "v1", "Endpoints", "1.33", None, Some("discovery.k8s.io/v1 EndpointSlice")),
    ("admissionregistration.k8s.io", "v1alpha1", "MutatingAdmissionPolicy", "1.35", Some("1.38"), None),
    (
        "admissionregistration.k8s.io",
        "v1alpha1",
        "MutatingAdmissionPolicyBinding",
        "1.35",
        Some("1.38"),
        None,
    ),
    ("certificates.k8s.io", "v1alpha1", "ClusterTrustBundle", "1.34", Some("1.37"), None),
    ("coordination.k8s.io", "v1alpha2", "LeaseCandidate", "1.35", Some("1.38"), None),
    ("coordination.k8s.io", "v1beta1", "LeaseCandidate", "1.36", Some("1.39"), None),
    ("networking.k8s.io", "v1beta1", "IPAddress", "1.34", Some("1.37"), None),
    ("networking.k8s.io", "v1beta1", "ServiceCIDR", "1.34", Some("1.37"), None),
    ("resource.k8s.io", "v1alpha3", "DeviceTaintRule", "1.36", Some("1.39"), None),
    ("resource.k8s.io", "v1beta1", "DeviceClass", "1.35", Some("1.38"), None),
    ("resource.k8s.io", "v1beta1", "ResourceClaim", "1.35", Some("1.38"), None),
    ("resource.k8s.io", "v1beta1", "ResourceClaimTemplate", "1.35", Some("1.38"), None),
    ("resource.k8s.io", "v1beta1", "ResourceSlice", "1.35", Some("1.38"), None),
    ("resource.k8s.io", "v1beta2", "DeviceClass", "1.36", Some("1.39"), None),
    ("resource.k8s.io", "v1beta2", "ResourceClaim", "1.36", Some("1.39"), None),
    ("resource.k8s.io", "v1beta2", "ResourceClaimTemplate", "1.36", Some("1.39"), None),
    ("resource.k8s.io", "v1beta2", "ResourceSlice", "1.36", Some("1.39"), None),
    (
        "storage.k8s.io",
        "v1beta1",
        "VolumeAttributesClass",
        "1.34",
        Some("1.37"),
        Some("storage.k8s.io/v1 VolumeAttributesClass"),
    ),
];

fn fate(of: &GroupVersionKind) -> Option<&'static Fate> {
    FATES.iter().find(|fate| fate.0 == of.group && fate.1 == of.version && fate.2 == of.kind)
}

/// The release that does not serve a version any more.
pub(crate) fn removed_release(of: &GroupVersionKind) -> Option<&'static str> {
    fate(of)?.4
}

/// The warning of a version that is deprecated.
pub(crate) fn warning(of: &GroupVersionKind) -> Option<String> {
    let (.., since, until, instead) = fate(of)?;
    let mut text = format!("{} {} is deprecated in v{since}+", of.api_version(), of.kind);
    if let Some(until) = until {
        text.push_str(&format!(", unavailable in v{until}+"));
    }
    if let Some(instead) = instead {
        text.push_str(&format!("; use {instead}"));
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deprecated_version_says_until_when_and_what_instead() {
        let warn =
            |group: &str, version: &str, kind: &str| warning(&GroupVersionKind::new(group, version, kind));
        assert_eq!(warn("", "v1", "ComponentStatus").unwrap(), "v1 ComponentStatus is deprecated in v1.19+");
        assert_eq!(
            warn("storage.k8s.io", "v1beta1", "VolumeAttributesClass").unwrap(),
            "storage.k8s.io/v1beta1 VolumeAttributesClass is deprecated in v1.34+, unavailable in v1.37+; use \
             storage.k8s.io/v1 VolumeAttributesClass"
        );
        assert_eq!(warn("", "v1", "Pod"), None);
    }
}
