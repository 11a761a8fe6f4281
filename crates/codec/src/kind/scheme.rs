//! Schemes of the reference's servers. The reference runs several servers in one process, each with a scheme of its
//! own kinds; messages name the scheme.

use pintle_meta::gvk::GroupVersionKind;
use pintle_schema::{Type, find, find_kind};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scheme {
    Builtin,
    Extensions,
    Aggregator,
    /// Options in a body, the same for all servers.
    Options,
}

const EXTENSIONS: &str = "apiextensions.k8s.io";
const AGGREGATOR: &str = "apiregistration.k8s.io";
const META: &str = "meta.k8s.io";

/// Kinds with one definition for all versions.
const UNVERSIONED: &[&str] = &["APIGroup", "APIGroupList", "APIResourceList", "APIVersions", "Status"];
const OPTIONS: &[&str] = &["CreateOptions", "DeleteOptions", "UpdateOptions"];

impl Scheme {
    /// Returns the scheme of the server that serves a kind.
    pub(super) fn of(kind: &GroupVersionKind) -> Scheme {
        match &*kind.group {
            _ if OPTIONS.contains(&&*kind.kind) => Scheme::Options,
            EXTENSIONS => Scheme::Extensions,
            AGGREGATOR => Scheme::Aggregator,
            _ => Scheme::Builtin,
        }
    }

    pub(super) fn find(self, kind: &GroupVersionKind) -> Option<&'static Type> {
        let has_group = match (self, &*kind.group) {
            (Scheme::Builtin, EXTENSIONS | AGGREGATOR | META) => false,
            (Scheme::Builtin, _)
            | (Scheme::Extensions, EXTENSIONS)
            | (Scheme::Aggregator, AGGREGATOR)
            | (Scheme::Options, META) => true,
            _ => false,
        };
        let found = if has_group { find_kind(&kind.group, &kind.version, &kind.kind) } else { None };
        found.or_else(|| {
            let mut names = UNVERSIONED.to_vec();
            if self == Scheme::Options {
                names.extend(OPTIONS);
            }
            names.contains(&&*kind.kind).then(|| find(&format!("meta/v1.{}", kind.kind)))?
        })
    }

    /// Returns the scheme's name in messages: the reference's source line that creates it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Scheme::Builtin => "pkg/api/legacyscheme/scheme.go:30",
            Scheme::Extensions => "pkg/apiserver/apiserver.go:55",
            Scheme::Aggregator => "pkg/apiserver/scheme/scheme.go:28",
            Scheme::Options => "pkg/apis/meta/internalversion/scheme/register.go:27",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scheme_has_its_own_kinds() {
        let find = |posted_to: (&str, &str, &str), body: (&str, &str, &str)| {
            let scheme = Scheme::of(&GroupVersionKind::new(posted_to.0, posted_to.1, posted_to.2));
            scheme.find(&GroupVersionKind::new(body.0, body.1, body.2)).map(|found| found.name)
        };
        let pod = ("", "v1", "Pod");
        let crd = (EXTENSIONS, "v1", "CustomResourceDefinition");
        let service = (AGGREGATOR, "v1", "APIService");
        let options = ("", "v1", "DeleteOptions");
        assert_eq!(find(pod, pod), Some("core/v1.Pod"));
        assert_eq!(find(pod, crd), None);
        assert_eq!(find(crd, crd), Some("apiextensions/v1.CustomResourceDefinition"));
        assert_eq!(find(crd, pod), None);
        assert_eq!(find(service, service), Some("apiregistration/v1.APIService"));
        assert_eq!(find(crd, ("", "v1", "Status")), Some("meta/v1.Status"));
        for version in [options, ("nowhere", "v9", "DeleteOptions"), (META, "v1", "DeleteOptions")] {
            assert_eq!(find(options, version), Some("meta/v1.DeleteOptions"));
        }
        assert_eq!(find(options, pod), None);
        assert_eq!(find(pod, (META, "v1", "Table")), None);
    }
}
