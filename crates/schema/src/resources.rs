//! Built-in resources: names, kinds, verbs and storage. Discovery and routing use this table.

use crate::graph::{Type, find};

const BUILTIN: &str = include_str!("../data/resources.facts");

/// Syntax error in the facts.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the facts: {reason}")]
pub struct Error {
    pub line: usize,
    pub reason: String,
}

/// The resources of all group versions, in the order of discovery.
#[derive(Debug)]
pub struct Resources {
    versions: Vec<GroupVersion>,
}

/// Versions of a group are adjacent, the preferred one first.
#[derive(Debug)]
pub struct GroupVersion {
    /// Empty for the core group.
    pub group: &'static str,
    pub version: &'static str,
    pub resources: Vec<Resource>,
}

#[derive(Debug)]
pub struct Resource {
    /// In the plural; without the subresource.
    pub name: &'static str,
    pub subresource: Option<&'static str>,
    /// Kind of its requests and responses.
    pub kind: &'static Type,
    pub namespaced: bool,
    pub singular: &'static str,
    pub short_names: Vec<&'static str>,
    pub categories: Vec<&'static str>,
    pub verbs: Vec<&'static str>,
    /// `None` for resources that are not stored: subresources, reviews.
    pub storage: Option<Storage>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Storage {
    pub kind: &'static Type,
    /// Key prefix of the resource, without the common prefix, namespace and name.
    pub path: &'static str,
}

impl GroupVersion {
    /// Returns whether the version is served by default: alpha and beta versions are not.
    pub fn is_served_by_default(&self) -> bool {
        !self.version.contains("alpha") && !self.version.contains("beta")
    }

    /// Returns the resources that are no subresources.
    fn main(&self) -> impl Iterator<Item = &Resource> {
        self.resources.iter().filter(|resource| resource.subresource.is_none())
    }
}

impl Resources {
    /// Returns every built-in resource.
    pub fn builtin() -> Result<Resources, Error> {
        Resources::parse(BUILTIN)
    }

    fn parse(text: &'static str) -> Result<Resources, Error> {
        let mut versions: Vec<GroupVersion> = Vec::new();
        for (line, text) in text.lines().enumerate() {
            let fail = |reason| Error { line: line + 1, reason };
            if let Some(group_version) = text.strip_prefix("groupversion ") {
                let (group, version) = group_version.split_once('/').unwrap_or(("", group_version));
                versions.push(GroupVersion { group, version, resources: Vec::new() });
            } else if let Some(resource) = text.strip_prefix("  ") {
                let open =
                    versions.last_mut().ok_or_else(|| fail("a resource without a group version".into()))?;
                open.resources.push(resource_of(resource).map_err(fail)?);
            }
        }
        Ok(Resources { versions })
    }

    pub fn versions(&self) -> &[GroupVersion] {
        &self.versions
    }

    /// Returns a resource of a group version; `name` may have a subresource after a slash.
    pub fn find(&self, group: &str, version: &str, name: &str) -> Option<&Resource> {
        let (name, subresource) = split(name);
        let found = self.versions.iter().find(|found| found.group == group && found.version == version)?;
        found.resources.iter().find(|resource| resource.name == name && resource.subresource == subresource)
    }

    /// Returns the versions of each group, the preferred one first; groups are ordered by priority.
    pub fn groups(&self) -> impl Iterator<Item = &[GroupVersion]> {
        self.versions.chunk_by(|a, b| a.group == b.group)
    }

    /// Returns the preferred version of a group.
    pub fn preferred_version(&self, group: &str) -> Option<&'static str> {
        self.versions.iter().find(|version| version.group == group).map(|version| version.version)
    }

    /// Returns the resource of a kind.
    pub fn of_kind(&self, group: &str, version: &str, kind: &str) -> Option<&Resource> {
        let found = self.versions.iter().find(|found| found.group == group && found.version == version)?;
        found.main().find(|resource| resource.kind.kind_name() == kind)
    }

    /// Resolves a name such as `pods`, `po` or `pod`: of several groups the first one, and its preferred version. A
    /// plural name takes precedence over another resource's short name.
    pub fn resolve(&self, word: &str) -> Option<(&GroupVersion, &Resource)> {
        self.first(|resource| resource.name == word)
            .or_else(|| self.first(|resource| resource.short_names.contains(&word)))
            .or_else(|| self.first(|resource| resource.singular == word))
    }

    fn first(&self, is_it: impl Fn(&Resource) -> bool) -> Option<(&GroupVersion, &Resource)> {
        self.versions.iter().find_map(|version| Some((version, version.main().find(|found| is_it(found))?)))
    }
}

fn split(name: &str) -> (&str, Option<&str>) {
    match name.split_once('/') {
        Some((name, subresource)) => (name, Some(subresource)),
        None => (name, None),
    }
}

fn resource_of(text: &'static str) -> Result<Resource, String> {
    let kind_of = |name: &str| find(name).ok_or_else(|| format!("there is no type {name:?}"));
    let mut words = text.split(' ');
    let (name, subresource) = split(words.next().unwrap_or_default());
    let mut resource = Resource {
        name,
        subresource,
        kind: kind_of(words.next().unwrap_or_default())?,
        namespaced: words.next() == Some("namespaced"),
        singular: "",
        short_names: Vec::new(),
        categories: Vec::new(),
        verbs: Vec::new(),
        storage: None,
    };
    let (mut stored, mut path) = (None, "");
    for word in words {
        let (fact, value) = word.split_once('=').unwrap_or((word, ""));
        match fact {
            "singular" => resource.singular = value,
            "short" => resource.short_names = value.split(',').collect(),
            "categories" => resource.categories = value.split(',').collect(),
            "verbs" => resource.verbs = value.split(',').collect(),
            "stored" => stored = Some(kind_of(value)?),
            "path" => path = value,
            other => return Err(format!("{other:?} is not known of a resource")),
        }
    }
    resource.storage = stored.map(|kind| Storage { kind, path });
    Ok(resource)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn builtin() -> Resources {
        Resources::builtin().unwrap()
    }

    #[test]
    fn a_resource_is_found_by_group_version_and_name() {
        let resources = builtin();
        let deployments = resources.find("apps", "v1", "deployments").unwrap();
        assert_eq!(deployments.kind.name, "apps/v1.Deployment");
        assert_eq!(
            (deployments.singular, deployments.short_names.as_slice()),
            ("deployment", &["deploy"][..])
        );
        assert!(deployments.namespaced);
        let scale = resources.find("apps", "v1", "deployments/scale").unwrap();
        assert_eq!(scale.kind.name, "autoscaling/v1.Scale");
        assert_eq!(scale.storage, None);
        assert!(resources.find("apps", "v1", "pods").is_none());
    }

    #[test]
    fn some_kinds_are_stored_as_another_version_or_under_another_name() {
        let resources = builtin();
        let stored = |group: &str, version: &str, name: &str| {
            let storage = resources.find(group, version, name).unwrap().storage.unwrap();
            (storage.kind.name, storage.path)
        };
        assert_eq!(stored("", "v1", "nodes"), ("core/v1.Node", "minions"));
        assert_eq!(stored("events.k8s.io", "v1", "events"), ("core/v1.Event", "events"));
        let definitions = stored("apiextensions.k8s.io", "v1", "customresourcedefinitions");
        let path = "apiextensions.k8s.io/customresourcedefinitions";
        assert_eq!(definitions, ("apiextensions/v1beta1.CustomResourceDefinition", path));
    }

    #[test]
    fn resources_with_create_and_list_are_stored() {
        let resources = builtin();
        for version in resources.versions() {
            for resource in &version.resources {
                let kept = resource.verbs.contains(&"create") && resource.verbs.contains(&"list");
                assert_eq!(
                    kept,
                    resource.storage.is_some(),
                    "{}/{} {}",
                    version.group,
                    version.version,
                    resource.name
                );
            }
        }
    }

    #[test]
    fn a_resource_is_found_by_kind() {
        let resources = builtin();
        let name = |group, version, kind| resources.of_kind(group, version, kind).map(|found| found.name);
        assert_eq!(name("", "v1", "Endpoints"), Some("endpoints"));
        assert_eq!(name("networking.k8s.io", "v1", "NetworkPolicy"), Some("networkpolicies"));
        assert_eq!(name("apps", "v1", "Scale"), None);
        assert_eq!(name("apps", "v2", "Deployment"), None);
    }

    #[test]
    fn names_resolve_to_the_first_resource_of_that_name() {
        let resources = builtin();
        let meant = |word| {
            resources.resolve(word).map(|(version, found)| (version.group, version.version, found.name))
        };
        assert_eq!(meant("po"), Some(("", "v1", "pods")));
        assert_eq!(meant("pod"), Some(("", "v1", "pods")));
        assert_eq!(meant("ev"), Some(("", "v1", "events")));
        assert_eq!(meant("hpa"), Some(("autoscaling", "v2", "horizontalpodautoscalers")));
        assert_eq!(meant("csr"), Some(("certificates.k8s.io", "v1", "certificatesigningrequests")));
        assert_eq!(meant("scale"), None);
        assert_eq!(meant(""), None);
    }

    #[test]
    fn groups_are_ordered_by_priority() {
        let resources = builtin();
        let groups: Vec<&str> = resources.groups().map(|versions| versions[0].group).collect();
        assert_eq!(groups[..4], ["", "apiregistration.k8s.io", "apps", "events.k8s.io"]);
        assert_eq!(resources.preferred_version("autoscaling"), Some("v2"));
        assert_eq!(resources.preferred_version("resource.k8s.io"), Some("v1"));
        assert_eq!(resources.preferred_version("nope"), None);
    }

    #[test]
    fn alpha_and_beta_versions_are_not_served_by_default() {
        let resources = builtin();
        let served = resources.versions().iter().filter(|version| version.is_served_by_default());
        assert!(served.clone().any(|version| version.group == "apps" && version.version == "v1"));
        assert!(!served.clone().any(|version| version.version == "v1beta1" || version.version == "v1alpha3"));
    }
}
