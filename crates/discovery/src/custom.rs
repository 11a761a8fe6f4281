//! Custom resources: what a definition says that documents need, and the order in which its versions are shown.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use pintle_meta::Value;
use pintle_meta::gvk::GroupVersionKind;
use smol_str::SmolStr;

use crate::served::{Kind, Resource, Subresource};

/// A definition that is served: its accepted names and its served versions. Small, since there is one of each as long as
/// it is served; what is large comes out of [`Schemas`] when it is asked for.
#[derive(Clone)]
pub struct Custom {
    pub group: SmolStr,
    pub plural: SmolStr,
    pub singular: SmolStr,
    pub kind: SmolStr,
    pub list_kind: SmolStr,
    pub short_names: Vec<SmolStr>,
    pub categories: Vec<SmolStr>,
    pub namespaced: bool,
    /// While its objects are being removed nothing can be written.
    pub terminating: bool,
    /// `spec.preserveUnknownFields`
    pub preserves_unknown: bool,
    /// Served versions, in any order.
    pub versions: Vec<CustomVersion>,
    pub schemas: Arc<dyn Schemas>,
}

/// A served version of a definition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CustomVersion {
    pub name: SmolStr,
    /// Whether objects are stored as this version.
    pub storage: bool,
    /// Whether there is a `status` subresource.
    pub status: bool,
    /// Whether there is a `scale` subresource.
    pub scale: bool,
    /// The paths of `selectableFields`, as they are given: `.spec.color`.
    pub selectable: Vec<SmolStr>,
}

/// Where the schemas of a definition are.
pub trait Schemas: Send + Sync {
    /// The `JSONSchemaProps` of a version. `None` where the version has none, or one that is not structural. Called
    /// when a document is made, perhaps never, and not on a thread that serves requests; may take its time to decode.
    fn schema(&self, version: &str) -> Option<Value>;
}

impl fmt::Debug for Custom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Custom")
            .field("group", &self.group)
            .field("plural", &self.plural)
            .field("versions", &self.versions)
            .finish_non_exhaustive()
    }
}

/// The same for documents. Schemas are the same if they come from the same place.
impl PartialEq for Custom {
    fn eq(&self, other: &Custom) -> bool {
        let names =
            |of: &Custom| [&of.group, &of.plural, &of.singular, &of.kind, &of.list_kind].map(SmolStr::clone);
        let flags = |of: &Custom| (of.namespaced, of.terminating, of.preserves_unknown);
        Arc::ptr_eq(&self.schemas, &other.schemas)
            && names(self) == names(other)
            && flags(self) == flags(other)
            && self.short_names == other.short_names
            && self.categories == other.categories
            && self.versions == other.versions
    }
}

impl Custom {
    pub fn version(&self, name: &str) -> Option<&CustomVersion> {
        self.versions.iter().find(|version| version.name == name)
    }

    /// As discovery shows it in a version.
    pub fn resource(&self, version: &CustomVersion) -> Resource {
        let own = Kind { name: self.kind.clone(), foreign: None };
        let scale = || Kind {
            name: SmolStr::new_static("Scale"),
            foreign: Some((SmolStr::new_static("autoscaling"), SmolStr::new_static("v1"))),
        };
        let subresource = |name: &'static str, kind: Kind| Subresource {
            name: SmolStr::new_static(name),
            kind,
            verbs: words(&["get", "patch", "update"]),
        };
        let status = version.status.then(|| subresource("status", own.clone()));
        let scale = version.scale.then(|| subresource("scale", scale()));
        let verbs = if self.terminating {
            words(&["delete", "deletecollection", "get", "list", "watch"])
        } else {
            words(&["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"])
        };
        // A version that is stored but not served does not count.
        let storage = self.versions.iter().find(|version| version.storage);
        Resource {
            name: self.plural.clone(),
            singular: self.singular.clone(),
            short_names: self.short_names.clone(),
            categories: self.categories.clone(),
            kind: own,
            namespaced: self.namespaced,
            verbs,
            subresources: status.into_iter().chain(scale).collect(),
            storage: storage.map(|version| GroupVersionKind::new(&*self.group, &*version.name, &*self.kind)),
        }
    }
}

fn words(words: &[&'static str]) -> Vec<SmolStr> {
    words.iter().map(|word| SmolStr::new_static(word)).collect()
}

/// The order in which versions of the same priority are shown, the preferred first: `v10`, `v2`, `v1`, `v2beta1`,
/// `v1alpha1`, and then what is no such version by its letters.
pub fn version_order(a: &str, b: &str) -> Ordering {
    match (stability(a), stability(b)) {
        (Some(a), Some(b)) => b.cmp(&a),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => a.cmp(b),
    }
}

/// How stable it is (alpha, beta, neither), and its numbers.
fn stability(version: &str) -> Option<(u8, i64, i64)> {
    let number = |digits: &str| {
        let digits = digits.bytes().all(|digit| digit.is_ascii_digit()).then_some(digits)?;
        digits.parse::<i64>().ok()
    };
    let rest = version.strip_prefix('v')?;
    for (stage, name) in [(0, "alpha"), (1, "beta")] {
        if let Some((major, minor)) = rest.split_once(name) {
            return Some((stage, number(major)?, number(minor)?));
        }
    }
    Some((2, number(rest)?, 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stable_versions_come_first_and_later_ones_before_earlier_ones() {
        let mut versions = [
            "foo10",
            "v1alpha1",
            "v1",
            "v11alpha2",
            "v2beta1",
            "foo1",
            "v10",
            "v2",
            "v1beta2",
            "v2beta2",
            "v1beta",
            "v+1",
        ];
        versions.sort_by(|a, b| version_order(a, b));
        assert_eq!(
            versions,
            [
                "v10",
                "v2",
                "v1",
                "v2beta2",
                "v2beta1",
                "v1beta2",
                "v11alpha2",
                "v1alpha1",
                "foo1",
                "foo10",
                "v+1",
                "v1beta",
            ]
        );
    }
}
