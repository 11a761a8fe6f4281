//! Mapping between kinds and types.

use std::borrow::Cow;

use crate::graph::{Type, find};

/// Kinds that every group version has, declared once.
const COMMON: &[&str] = &[
    "CreateOptions",
    "DeleteOptions",
    "GetOptions",
    "ListOptions",
    "PatchOptions",
    "UpdateOptions",
    "WatchEvent",
];

/// Kinds of the core group that are declared with the metadata types.
const UNVERSIONED: &[&str] = &["APIGroup", "APIGroupList", "APIResourceList", "APIVersions", "Status"];

/// Returns the type of a built-in kind. `group` is empty for the core group.
pub fn find_kind(group: &str, version: &str, kind: &str) -> Option<&'static Type> {
    if COMMON.contains(&kind) && has_version(group, version)
        || UNVERSIONED.contains(&kind) && group.is_empty() && version == "v1"
    {
        return find(&format!("meta/v1.{kind}"));
    }
    find(&format!("{}/{version}.{kind}", folder(group)?)).filter(|found| is_root(found))
}

/// Returns whether any type belongs to a group version.
pub fn has_version(group: &str, version: &str) -> bool {
    let Some(folder) = folder(group) else { return false };
    let prefix = format!("{folder}/{version}.");
    let types = crate::types();
    let first = types.partition_point(|found| found.name < prefix.as_str());
    types.get(first).is_some_and(|found| found.name.starts_with(&prefix))
}

impl Type {
    /// Returns the group of a kind of this type. Options belong to every group and return the core group.
    pub fn group(&self) -> Cow<'static, str> {
        group(self.name.split('/').next().unwrap_or_default())
    }

    pub fn version(&self) -> &'static str {
        self.name.split('/').nth(1).and_then(|rest| rest.split('.').next()).unwrap_or_default()
    }

    /// Returns the type's own name, which for a kind is the kind.
    pub fn kind_name(&self) -> &'static str {
        self.name.rsplit('.').next().unwrap_or_default()
    }

    /// Returns the `apiVersion` of objects of this kind.
    pub fn api_version(&self) -> Cow<'static, str> {
        match &*self.group() {
            "" => Cow::Borrowed(self.version()),
            group => Cow::Owned(format!("{group}/{}", self.version())),
        }
    }
}

/// Returns whether a type has TypeMeta, as root objects do.
fn is_root(found: &'static Type) -> bool {
    found.structure().is_some_and(|of| {
        of.flat.first().is_some_and(|field| field.name == "kind")
            && of.fields.first().is_some_and(|field| field.is_inline())
    })
}

/// Returns the folder in which the types of a group are declared: the first label of the group.
fn folder(of: &str) -> Option<&str> {
    let folder = match of {
        "" => "core",
        "meta.k8s.io" => "meta",
        "internal.apiserver.k8s.io" => "apiserverinternal",
        other => other.split('.').next().unwrap_or_default(),
    };
    (group(folder) == of || of == "meta.k8s.io").then_some(folder)
}

fn group(folder: &str) -> Cow<'static, str> {
    Cow::Borrowed(match folder {
        "core" | "meta" => "",
        "apps" => "apps",
        "autoscaling" => "autoscaling",
        "batch" => "batch",
        "extensions" => "extensions",
        "policy" => "policy",
        "apiserverinternal" => "internal.apiserver.k8s.io",
        "flowcontrol" => "flowcontrol.apiserver.k8s.io",
        "rbac" => "rbac.authorization.k8s.io",
        other => return Cow::Owned(format!("{other}.k8s.io")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_found_by_group_and_version() {
        let name = |group, version, kind| find_kind(group, version, kind).map(|found| found.name);
        assert_eq!(name("", "v1", "Pod"), Some("core/v1.Pod"));
        assert_eq!(name("rbac.authorization.k8s.io", "v1", "Role"), Some("rbac/v1.Role"));
        assert_eq!(name("apps", "v1", "DeleteOptions"), Some("meta/v1.DeleteOptions"));
        assert_eq!(name("", "v1", "Status"), Some("meta/v1.Status"));
        assert_eq!(name("", "v1", "List"), Some("core/v1.List"));
        assert_eq!(name("apps", "v1", "Status"), None);
        assert_eq!(name("meta.k8s.io", "v1", "Table"), Some("meta/v1.Table"));
        assert_eq!(name("", "v1", "PodSpec"), None);
        assert_eq!(name("nope", "v1", "DeleteOptions"), None);
        // Another group with the same first label is a different group.
        assert_eq!(name("apps.example.com", "v1", "Deployment"), None);
    }

    #[test]
    fn a_type_has_its_group_and_version() {
        for (name, api_version, kind) in [
            ("core/v1.Pod", "v1", "Pod"),
            ("apps/v1.Deployment", "apps/v1", "Deployment"),
            ("events/v1.Event", "events.k8s.io/v1", "Event"),
            ("flowcontrol/v1.FlowSchema", "flowcontrol.apiserver.k8s.io/v1", "FlowSchema"),
        ] {
            let found = find(name).unwrap();
            assert_eq!((&*found.api_version(), found.kind_name()), (api_version, kind));
        }
    }

    #[test]
    fn every_resources_kind_is_found() {
        let resources = crate::Resources::builtin().unwrap();
        for version in resources.versions() {
            for resource in version.resources.iter().filter(|resource| resource.subresource.is_none()) {
                let kind = resource.kind.kind_name();
                assert_eq!(find_kind(version.group, version.version, kind), Some(resource.kind), "{kind}");
                assert_eq!(resource.kind.group(), version.group);
            }
        }
    }
}
