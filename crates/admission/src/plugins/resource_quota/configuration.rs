//! The configuration of `ResourceQuota`: resources that may only be used where a quota covers them.

use pintle_meta::field_path::{Error, Path, aggregate};
use pintle_outbound::configuration::{self, ConfigurationKind, null_is_default};
use pintle_quota::ScopeRequirement;
use serde::Deserialize;

const KIND: ConfigurationKind = ConfigurationKind {
    kind: "ResourceQuotaConfiguration",
    versions: &["apiserver.config.k8s.io/v1"],
    scheme: "pkg/admission/plugin/resourcequota/config.go:31",
    is_strict: true,
};
/// The same by its older name.
const OLDER_KIND: ConfigurationKind = ConfigurationKind {
    kind: "Configuration",
    versions: &["resourcequota.admission.k8s.io/v1beta1", "resourcequota.admission.k8s.io/v1alpha1"],
    ..KIND
};

/// A resource whose use a quota must cover.
#[derive(Debug)]
pub(super) struct LimitedResource {
    pub(super) group: String,
    pub(super) resource: String,
    /// Parts of the names of usage that must be covered.
    pub(super) match_contains: Vec<String>,
    /// Scopes of objects that must be covered.
    pub(super) match_scopes: Vec<ScopeRequirement>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
struct Document {
    #[serde(deserialize_with = "null_is_default")]
    limited_resources: Vec<Limited>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
struct Limited {
    #[serde(deserialize_with = "null_is_default")]
    api_group: String,
    #[serde(deserialize_with = "null_is_default")]
    resource: String,
    #[serde(deserialize_with = "null_is_default")]
    match_contains: Vec<String>,
    #[serde(deserialize_with = "null_is_default")]
    match_scopes: Vec<Scope>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
struct Scope {
    #[serde(deserialize_with = "null_is_default")]
    scope_name: String,
    #[serde(deserialize_with = "null_is_default")]
    operator: String,
    #[serde(deserialize_with = "null_is_default")]
    values: Vec<String>,
}

/// Reads and validates the configuration. Errors are in the reference's words.
pub(super) fn read(text: &[u8]) -> Result<Vec<LimitedResource>, String> {
    let decoded = match KIND.decode(text) {
        Err(configuration::Error::OtherKind(_)) => OLDER_KIND.decode(text),
        decoded => decoded,
    };
    let document: Document = decoded.map_err(|error| error.to_string())?;
    let path = Path::new("limitedResources");
    let unnamed = document.limited_resources.iter().enumerate();
    let unnamed = unnamed.filter(|(_, limited)| limited.resource.is_empty());
    let errors: Vec<Error> =
        unnamed.map(|(place, _)| Error::required(&path.index(place).child("resource"), "")).collect();
    if !errors.is_empty() {
        return Err(aggregate(&errors));
    }
    let scope = |scope: Scope| ScopeRequirement::new(&scope.scope_name, &scope.operator, scope.values);
    let limited = document.limited_resources.into_iter().map(|limited| LimitedResource {
        group: limited.api_group,
        resource: limited.resource,
        match_contains: limited.match_contains,
        match_scopes: limited.match_scopes.into_iter().map(scope).collect(),
    });
    Ok(limited.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &str = "
limitedResources:
- apiGroup: \"\"
  resource: persistentvolumeclaims
  matchContains:
  - .storageclass.storage.k8s.io/requests.storage
- apiGroup: foo
  resource: bar
  matchContains: null
  matchScopes:
  - scopeName: PriorityClass
    operator: In
    values: [cluster-services]
";

    #[test]
    fn every_version_says_the_same() {
        for (version, kind) in
            [KIND, OLDER_KIND].iter().flat_map(|of| of.versions.iter().map(|version| (*version, of.kind)))
        {
            let limited = read(format!("apiVersion: {version}\nkind: {kind}{BODY}").as_bytes()).unwrap();
            assert_eq!(limited[0].match_contains, [".storageclass.storage.k8s.io/requests.storage"]);
            assert_eq!((limited[1].group.as_str(), limited[1].resource.as_str()), ("foo", "bar"));
            assert_eq!(limited[1].match_scopes[0].to_string(), "{PriorityClass In [cluster-services]}");
        }
        let json = r#"{"apiVersion":"apiserver.config.k8s.io/v1","kind":"ResourceQuotaConfiguration"}"#;
        assert!(read(json.as_bytes()).unwrap().is_empty());
    }

    #[test]
    fn wrong_configurations_are_refused() {
        let of = |version: &str, kind: &str, rest: &str| {
            read(format!("apiVersion: {version}\nkind: {kind}\n{rest}").as_bytes()).unwrap_err()
        };
        let (version, kind) = (KIND.versions[0], KIND.kind);
        assert_eq!(
            of(version, "Configuration", ""),
            "no kind \"Configuration\" is registered for version \"apiserver.config.k8s.io/v1\" in scheme \"pkg/admission/plugin/resourcequota/config.go:31\""
        );
        assert_eq!(
            of("v1", kind, ""),
            "no kind \"ResourceQuotaConfiguration\" is registered for version \"v1\" in scheme \"pkg/admission/plugin/resourcequota/config.go:31\""
        );
        assert_eq!(
            of(version, kind, "foo: 1\nlimitedResources:\n- resources: pods"),
            "strict decoding error: unknown field \"foo\", unknown field \"limitedResources[0].resources\""
        );
        assert_eq!(
            of(version, kind, "limitedResources:\n- resource: pods\n- apiGroup: a"),
            "limitedResources[1].resource: Required value"
        );
    }
}
