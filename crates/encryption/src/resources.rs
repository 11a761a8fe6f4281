//! Resources as the configuration names them, and the resource of a key of the store.
//!
//! ```text
//! /registry/secrets/default/a                  secrets
//! /registry/services/specs/default/a           services
//! /registry/stable.example.com/crontabs/ns/a   crontabs.stable.example.com
//! /registry/masterleases/10.0.0.1              none: no API serves it, and it is never encrypted
//! ```

use std::collections::HashMap;
use std::fmt;

/// A resource of a group, or a wildcard.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupResource {
    /// Empty for the core group.
    pub group: String,
    pub resource: String,
}

impl GroupResource {
    pub fn new(group: impl Into<String>, resource: impl Into<String>) -> GroupResource {
        GroupResource { group: group.into(), resource: resource.into() }
    }

    /// Reads `resource.group`, or `resource` of the core group.
    pub(crate) fn parse(text: &str) -> GroupResource {
        match text.split_once('.') {
            Some((resource, group)) => GroupResource::new(group, resource),
            None => GroupResource::new("", text),
        }
    }

    pub(crate) fn is_everything(&self) -> bool {
        self.group == "*" && self.resource == "*"
    }

    /// The names under which the configuration may have it, the most exact first.
    pub(crate) fn and_wildcards(&self) -> [GroupResource; 3] {
        [self.clone(), GroupResource::new(&*self.group, "*"), GroupResource::new("*", "*")]
    }
}

impl fmt::Display for GroupResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.group {
            "" => f.write_str(&self.resource),
            group => write!(f, "{}.{group}", self.resource),
        }
    }
}

/// The resources of a store, by the beginnings of their keys.
#[derive(Clone, Debug, Default)]
pub struct StoredResources {
    /// The beginning of all keys, with slashes around it.
    root: String,
    /// By what follows the root: one or two segments.
    builtin: HashMap<String, GroupResource>,
}

impl StoredResources {
    pub fn new(
        root: impl Into<String>,
        builtin: impl IntoIterator<Item = (String, GroupResource)>,
    ) -> StoredResources {
        StoredResources { root: root.into(), builtin: builtin.into_iter().collect() }
    }

    pub(crate) fn root_len(&self) -> usize {
        self.root.len()
    }

    /// Returns the part of a key that its resource has to itself, without the root.
    pub(crate) fn path<'k>(&self, key: &'k [u8]) -> Option<&'k str> {
        let rest = key.strip_prefix(self.root.as_bytes())?;
        let slash = |from: usize| {
            rest[from..].iter().position(|byte| *byte == b'/').map_or(rest.len(), |at| from + at)
        };
        let first = slash(0);
        let name = std::str::from_utf8(&rest[..first]).ok()?;
        if self.builtin.contains_key(name) {
            return Some(name);
        }
        let second = slash((first + 1).min(rest.len()));
        std::str::from_utf8(&rest[..second]).ok()
    }

    /// Returns the resource of such a part, if it is one that an API serves.
    pub(crate) fn resource(&self, path: &str) -> Option<GroupResource> {
        if let Some(known) = self.builtin.get(path) {
            return Some(known.clone());
        }
        // Groups of custom resources are domains.
        let (group, resource) = path.split_once('/')?;
        (group.contains('.') && !resource.is_empty()).then(|| GroupResource::new(group, resource))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(key: &str) -> Option<String> {
        let builtin = [
            ("secrets", GroupResource::new("", "secrets")),
            ("services/specs", GroupResource::new("", "services")),
            (
                "apiregistration.k8s.io/apiservices",
                GroupResource::new("apiregistration.k8s.io", "apiservices"),
            ),
        ];
        let builtin = builtin.map(|(path, of)| (path.to_owned(), of));
        let stored = StoredResources::new("/registry/", builtin);
        let path = stored.path(key.as_bytes())?;
        stored.resource(path).map(|of| of.to_string())
    }

    #[test]
    fn the_resource_of_a_key_is_found_by_its_beginning() {
        for (key, expect) in [
            ("/registry/secrets/default/a", Some("secrets")),
            ("/registry/secrets/", Some("secrets")),
            ("/registry/secrets", Some("secrets")),
            ("/registry/services/specs/default/a", Some("services")),
            ("/registry/services/endpoints/default/a", None),
            ("/registry/apiregistration.k8s.io/apiservices/v1.", Some("apiservices.apiregistration.k8s.io")),
            ("/registry/stable.example.com/crontabs/default/a", Some("crontabs.stable.example.com")),
            ("/registry/stable.example.com/crontabs/", Some("crontabs.stable.example.com")),
            ("/registry/stable.example.com/", None),
            ("/registry/masterleases/10.0.0.1", None),
            ("/registry/ranges/serviceips", None),
            ("/registry/", None),
            ("compact_rev_key", None),
        ] {
            assert_eq!(found(key).as_deref(), expect, "{key}");
        }
    }
}
