//! Groups, versions, kinds and resources, and their notations.

use std::cmp::{Ordering, Reverse};
use std::fmt;

/// `apps/v1`, or `v1` for the core group.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupVersion {
    pub group: String,
    pub version: String,
}

/// `Deployment.apps`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupKind {
    pub group: String,
    pub kind: String,
}

/// `deployments.apps`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupResource {
    pub group: String,
    pub resource: String,
}

/// `apps/v1, Kind=Deployment`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupVersionKind {
    pub group: String,
    pub version: String,
    pub kind: String,
}

/// `apps/v1, Resource=deployments`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupVersionResource {
    pub group: String,
    pub version: String,
    pub resource: String,
}

impl GroupVersion {
    pub fn new(group: impl Into<String>, version: impl Into<String>) -> GroupVersion {
        GroupVersion { group: group.into(), version: version.into() }
    }

    /// Parses an `apiVersion`. An empty one (and a lone slash) is the empty group version, not an error.
    pub fn parse(text: &str) -> Result<GroupVersion, String> {
        match text.split_once('/') {
            None => Ok(GroupVersion::new("", text)),
            Some((_, version)) if version.contains('/') => {
                Err(format!("unexpected GroupVersion string: {text}"))
            }
            Some((group, version)) => Ok(GroupVersion::new(group, version)),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.group.is_empty() && self.version.is_empty()
    }

    pub fn with_kind(&self, kind: impl Into<String>) -> GroupVersionKind {
        GroupVersionKind::new(&*self.group, &*self.version, kind)
    }

    pub fn with_resource(&self, resource: impl Into<String>) -> GroupVersionResource {
        GroupVersionResource::new(&*self.group, &*self.version, resource)
    }
}

impl GroupKind {
    pub fn new(group: impl Into<String>, kind: impl Into<String>) -> GroupKind {
        GroupKind { group: group.into(), kind: kind.into() }
    }

    /// Parses `Kind.group`, split at the first dot.
    pub fn parse(text: &str) -> GroupKind {
        let (kind, group) = text.split_once('.').unwrap_or((text, ""));
        GroupKind::new(group, kind)
    }

    pub fn is_empty(&self) -> bool {
        self.group.is_empty() && self.kind.is_empty()
    }

    pub fn with_version(&self, version: impl Into<String>) -> GroupVersionKind {
        GroupVersionKind::new(&*self.group, version, &*self.kind)
    }
}

impl GroupResource {
    pub fn new(group: impl Into<String>, resource: impl Into<String>) -> GroupResource {
        GroupResource { group: group.into(), resource: resource.into() }
    }

    /// Parses `resource.group`, split at the first dot.
    pub fn parse(text: &str) -> GroupResource {
        let (resource, group) = text.split_once('.').unwrap_or((text, ""));
        GroupResource::new(group, resource)
    }

    pub fn is_empty(&self) -> bool {
        self.group.is_empty() && self.resource.is_empty()
    }

    pub fn with_version(&self, version: impl Into<String>) -> GroupVersionResource {
        GroupVersionResource::new(&*self.group, version, &*self.resource)
    }
}

impl GroupVersionKind {
    pub fn new(
        group: impl Into<String>,
        version: impl Into<String>,
        kind: impl Into<String>,
    ) -> GroupVersionKind {
        GroupVersionKind { group: group.into(), version: version.into(), kind: kind.into() }
    }

    /// Builds the kind from an object's two fields. An invalid `apiVersion` leaves group and version empty.
    pub fn from_api_version(api_version: &str, kind: &str) -> GroupVersionKind {
        GroupVersion::parse(api_version).unwrap_or_default().with_kind(kind)
    }

    /// Parses a kind from a command line: `Deployment`, `Deployment.apps`, `Deployment.v1.apps`. The last form is
    /// ambiguous with a group with a dot, so both interpretations are returned.
    pub fn parse_arg(arg: &str) -> (Option<GroupVersionKind>, GroupKind) {
        let full = split_arg(arg).map(|(kind, version, group)| GroupVersionKind::new(group, version, kind));
        (full, GroupKind::parse(arg))
    }

    pub fn is_empty(&self) -> bool {
        self.group.is_empty() && self.version.is_empty() && self.kind.is_empty()
    }

    /// Returns the `apiVersion` of objects; empty for the empty kind.
    pub fn api_version(&self) -> String {
        self.group_version().to_string()
    }

    pub fn group_version(&self) -> GroupVersion {
        GroupVersion::new(&*self.group, &*self.version)
    }

    pub fn group_kind(&self) -> GroupKind {
        GroupKind::new(&*self.group, &*self.kind)
    }
}

impl GroupVersionResource {
    pub fn new(
        group: impl Into<String>,
        version: impl Into<String>,
        resource: impl Into<String>,
    ) -> GroupVersionResource {
        GroupVersionResource { group: group.into(), version: version.into(), resource: resource.into() }
    }

    /// Parses a resource from a command line, with the two interpretations of [`GroupVersionKind::parse_arg`].
    pub fn parse_arg(arg: &str) -> (Option<GroupVersionResource>, GroupResource) {
        let full = split_arg(arg)
            .map(|(resource, version, group)| GroupVersionResource::new(group, version, resource));
        (full, GroupResource::parse(arg))
    }

    pub fn is_empty(&self) -> bool {
        self.group.is_empty() && self.version.is_empty() && self.resource.is_empty()
    }

    pub fn group_version(&self) -> GroupVersion {
        GroupVersion::new(&*self.group, &*self.version)
    }

    pub fn group_resource(&self) -> GroupResource {
        GroupResource::new(&*self.group, &*self.resource)
    }
}

impl fmt::Display for GroupVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.group.is_empty() {
            write!(f, "{}/", self.group)?;
        }
        f.write_str(&self.version)
    }
}

impl fmt::Display for GroupKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&qualified(&self.group, &self.kind))
    }
}

impl fmt::Display for GroupResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&qualified(&self.group, &self.resource))
    }
}

impl fmt::Display for GroupVersionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}, Kind={}", self.group, self.version, self.kind)
    }
}

impl fmt::Display for GroupVersionResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}, Resource={}", self.group, self.version, self.resource)
    }
}

/// Formats `deployments.apps`; only the name for the core group.
pub(crate) fn qualified(group: &str, name: &str) -> String {
    if group.is_empty() { name.to_owned() } else { format!("{name}.{group}") }
}

/// Splits `name.version.group` if there are at least two dots.
fn split_arg(arg: &str) -> Option<(&str, &str, &str)> {
    let (name, rest) = arg.split_once('.')?;
    let (version, group) = rest.split_once('.')?;
    Some((name, version, group))
}

/// Orders versions by preference; the preferred one is greater. Stable before beta before alpha, then the higher
/// number; versions that are not in Kubernetes' form come last, in alphabetical order.
pub fn compare_versions(a: &str, b: &str) -> Ordering {
    match (priority(a), priority(b)) {
        (None, None) => Reverse(a).cmp(&Reverse(b)),
        (a, b) => a.cmp(&b),
    }
}

/// Returns stage (stable is the highest), major and minor. `None` for a version that is not in Kubernetes' form,
/// which orders before any other.
fn priority(version: &str) -> Option<(u8, i64, i64)> {
    let rest = version.strip_prefix('v')?;
    let (major, rest) = leading_number(rest)?;
    if rest.is_empty() {
        return Some((2, major, 0));
    }
    let (stage, rest) = match (rest.strip_prefix("beta"), rest.strip_prefix("alpha")) {
        (Some(rest), _) => (1, rest),
        (_, Some(rest)) => (0, rest),
        _ => return None,
    };
    let (minor, rest) = leading_number(rest)?;
    rest.is_empty().then_some((stage, major, minor))
}

fn leading_number(text: &str) -> Option<(i64, &str)> {
    let (digits, rest) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    Some((digits.parse().ok()?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn group_versions_are_parsed_and_printed() {
        let cases = [
            ("v1", "", "v1", "v1"),
            ("apps/v1", "apps", "v1", "apps/v1"),
            ("/v1", "", "v1", "v1"),
            ("apps/", "apps", "", "apps/"),
            ("", "", "", ""),
            ("/", "", "", ""),
        ];
        for (text, group, version, printed) in cases {
            let parsed = GroupVersion::parse(text);
            assert_eq!(parsed, Ok(GroupVersion::new(group, version)), "{text}");
            assert_eq!(GroupVersion::new(group, version).to_string(), printed, "{text}");
        }
        for bad in ["a/b/c", "//", "a/b/"] {
            assert_eq!(GroupVersion::parse(bad), Err(format!("unexpected GroupVersion string: {bad}")));
        }
    }

    #[test]
    fn kinds_and_resources_print_with_their_group() {
        assert_eq!(GroupVersionKind::new("apps", "v1", "Deployment").to_string(), "apps/v1, Kind=Deployment");
        assert_eq!(GroupVersionKind::new("", "v1", "Pod").to_string(), "/v1, Kind=Pod");
        assert_eq!(GroupVersionResource::new("", "v1", "pods").to_string(), "/v1, Resource=pods");
        assert_eq!(GroupKind::new("apps", "Deployment").to_string(), "Deployment.apps");
        assert_eq!(GroupKind::new("", "Pod").to_string(), "Pod");
        assert_eq!(GroupResource::new("apps", "deployments").to_string(), "deployments.apps");
    }

    #[test]
    fn a_kind_is_built_from_api_version_and_kind() {
        let kind = GroupVersionKind::from_api_version("apps/v1", "Deployment");
        assert_eq!(kind, GroupVersionKind::new("apps", "v1", "Deployment"));
        assert_eq!(kind.api_version(), "apps/v1");
        assert_eq!(GroupVersionKind::from_api_version("a/b/c", "X"), GroupVersionKind::new("", "", "X"));
    }

    #[test]
    fn ambiguous_arguments_have_two_interpretations() {
        assert_eq!(GroupVersionResource::parse_arg("pods"), (None, GroupResource::new("", "pods")));
        assert_eq!(
            GroupVersionResource::parse_arg("deployments.apps"),
            (None, GroupResource::new("apps", "deployments"))
        );
        assert_eq!(
            GroupVersionResource::parse_arg("ingresses.v1.networking.k8s.io"),
            (
                Some(GroupVersionResource::new("networking.k8s.io", "v1", "ingresses")),
                GroupResource::new("v1.networking.k8s.io", "ingresses")
            )
        );
        assert_eq!(
            GroupVersionKind::parse_arg("Pod.v1."),
            (Some(GroupVersionKind::new("", "v1", "Pod")), GroupKind::new("v1.", "Pod"))
        );
    }

    #[test]
    fn stable_versions_are_preferred_and_other_forms_come_last() {
        let mut versions = [
            "foo10",
            "v1beta1",
            "v1",
            "v11alpha2",
            "v10beta3",
            "v10",
            "v2",
            "foo1",
            "v12alpha1",
            "v3beta1",
            "v11beta2",
            "v99999999999999999999",
        ];
        versions.sort_by(|a, b| compare_versions(b, a));
        let want = [
            "v10",
            "v2",
            "v1",
            "v11beta2",
            "v10beta3",
            "v3beta1",
            "v1beta1",
            "v12alpha1",
            "v11alpha2",
            "foo1",
            "foo10",
            "v99999999999999999999",
        ];
        assert_eq!(versions, want);
        assert_eq!(compare_versions("x", "x"), Ordering::Equal);
    }
}
