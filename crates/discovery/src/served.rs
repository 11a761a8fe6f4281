//! Group versions with their resources: the input of every document.

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pintle_meta::gvk::GroupVersionKind;
use pintle_schema::{Resources, Type};
use smol_str::SmolStr;

/// A group version with its resources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupVersion {
    /// Empty for the core group.
    pub group: SmolStr,
    pub version: SmolStr,
    pub resources: Vec<Resource>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    /// In the plural.
    pub name: SmolStr,
    pub singular: SmolStr,
    pub short_names: Vec<SmolStr>,
    pub categories: Vec<SmolStr>,
    pub kind: Kind,
    pub namespaced: bool,
    pub verbs: Vec<SmolStr>,
    pub subresources: Vec<Subresource>,
    /// As what it is stored, if it is.
    pub storage: Option<GroupVersionKind>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subresource {
    /// Without the resource: `status`.
    pub name: SmolStr,
    pub kind: Kind,
    pub verbs: Vec<SmolStr>,
}

/// The kind of requests and responses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kind {
    pub name: SmolStr,
    /// Group and version where they are not those under which it is served: a Deployment's Scale is of `autoscaling/v1`.
    pub foreign: Option<(SmolStr, SmolStr)>,
}

impl GroupVersion {
    /// `apps/v1`, or `v1` of the core group.
    pub fn name(&self) -> SmolStr {
        match self.group.as_str() {
            "" => self.version.clone(),
            group => SmolStr::from(format!("{group}/{}", self.version)),
        }
    }

    /// Where it is served: `/apis/apps/v1`, `/api/v1`.
    pub fn path(&self) -> String {
        match self.group.as_str() {
            "" => format!("/api/{}", self.version),
            group => format!("/apis/{group}/{}", self.version),
        }
    }

    fn builtin(from: &pintle_schema::GroupVersion) -> GroupVersion {
        let mut resources: Vec<Resource> = Vec::new();
        let kind = |of: &Type| {
            let foreign = of.group() != from.group || of.version() != from.version;
            Kind {
                name: SmolStr::new_static(of.kind_name()),
                foreign: foreign.then(|| (SmolStr::from(of.group()), SmolStr::new_static(of.version()))),
            }
        };
        for resource in &from.resources {
            match (resource.subresource, resources.last_mut()) {
                (Some(name), Some(parent)) if parent.name == resource.name => {
                    let (name, verbs) = (SmolStr::new_static(name), words(&resource.verbs));
                    parent.subresources.push(Subresource { name, kind: kind(resource.kind), verbs });
                }
                _ => resources.push(Resource {
                    name: SmolStr::new_static(resource.name),
                    singular: SmolStr::new_static(resource.singular),
                    short_names: words(&resource.short_names),
                    categories: words(&resource.categories),
                    kind: kind(resource.kind),
                    namespaced: resource.namespaced,
                    verbs: words(&resource.verbs),
                    subresources: Vec::new(),
                    storage: resource.storage.map(|storage| {
                        let of = storage.kind;
                        GroupVersionKind::new(of.group(), of.version(), of.kind_name())
                    }),
                }),
            }
        }
        let (group, version) = (SmolStr::new_static(from.group), SmolStr::new_static(from.version));
        GroupVersion { group, version, resources }
    }
}

fn words(words: &[&'static str]) -> Vec<SmolStr> {
    words.iter().map(|word| SmolStr::new_static(word)).collect()
}

/// The built-in group versions that `enabled` lets through; `pintle_schema::GroupVersion::is_served_by_default` is what
/// is enabled by default.
pub fn builtin(
    resources: &Resources,
    mut enabled: impl FnMut(&pintle_schema::GroupVersion) -> bool,
) -> Vec<GroupVersion> {
    resources.versions().iter().filter(|version| enabled(version)).map(GroupVersion::builtin).collect()
}

/// The groups of a list and the versions of each, in its order. Versions of a group stand next to each other.
pub fn groups(served: &[GroupVersion]) -> Vec<(SmolStr, Vec<SmolStr>)> {
    let mut groups: Vec<(SmolStr, Vec<SmolStr>)> = Vec::new();
    for served in served {
        match groups.last_mut().filter(|(name, _)| *name == served.group) {
            Some((_, versions)) => versions.push(served.version.clone()),
            None => groups.push((served.group.clone(), vec![served.version.clone()])),
        }
    }
    groups
}

/// Tells clients whether the stored form of a resource has changed.
pub fn storage_version_hash(kind: &GroupVersionKind) -> String {
    let text = format!("{}/{}/{}", kind.group, kind.version, kind.kind);
    STANDARD.encode(&digest(&SHA256, text.as_bytes()).as_ref()[..8])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subresources_stand_below_their_resource() {
        let served = builtin(&Resources::builtin().unwrap(), |version| version.group == "apps");
        assert_eq!((served.len(), &*served[0].name(), &*served[0].path()), (1, "apps/v1", "/apis/apps/v1"));
        let names: Vec<&str> = served[0].resources.iter().map(|resource| &*resource.name).collect();
        assert_eq!(
            names,
            ["controllerrevisions", "daemonsets", "deployments", "replicasets", "statefulsets"]
        );
        let deployments = &served[0].resources[2];
        assert_eq!(deployments.kind, Kind { name: "Deployment".into(), foreign: None });
        let scale = &deployments.subresources[0];
        assert_eq!(
            (&*scale.name, &scale.verbs[..]),
            ("scale", &["get", "patch", "update"].map(Into::into)[..])
        );
        assert_eq!(scale.kind.foreign, Some(("autoscaling".into(), "v1".into())));
    }

    #[test]
    fn the_core_group_has_a_path_of_its_own() {
        let served = builtin(&Resources::builtin().unwrap(), |version| version.group.is_empty());
        assert_eq!((&*served[0].name(), &*served[0].path()), ("v1", "/api/v1"));
    }

    #[test]
    fn the_hash_is_of_the_stored_kind() {
        let event = GroupVersionKind::new("", "v1", "Event");
        assert_eq!(storage_version_hash(&event), "r2yiGXH7wu8=");
    }
}
