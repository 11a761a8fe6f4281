//! `ValidatingAdmissionPolicyConfiguration` and `MutatingAdmissionPolicyConfiguration`: the configuration of a plugin of policies.

use pintle_outbound::configuration::{ConfigurationKind, Error, null_is_default};
use serde::Deserialize;

use crate::chain::Cluster;
use crate::manifests::check_folder;

const VALIDATING: ConfigurationKind = ConfigurationKind {
    kind: "ValidatingAdmissionPolicyConfiguration",
    versions: &["apiserver.config.k8s.io/v1"],
    scheme: "pkg/admission/plugin/policy/config/config.go:32",
    is_strict: true,
};
const MUTATING: ConfigurationKind =
    ConfigurationKind { kind: "MutatingAdmissionPolicyConfiguration", ..VALIDATING };

#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
struct Configuration {
    /// The folder of policies that are files.
    #[serde(deserialize_with = "null_is_default")]
    static_manifests_dir: String,
}

/// Returns the folder of manifests of a plugin; empty for none. Errors are the reference's.
pub(super) fn static_manifests_dir(plugin: &str, cluster: &Cluster) -> Result<String, String> {
    let Some(text) = cluster.configurations.of(plugin) else { return Ok(String::new()) };
    let (own, other) = match plugin {
        "ValidatingAdmissionPolicy" => (VALIDATING, MUTATING),
        _ => (MUTATING, VALIDATING),
    };
    let decoded = own.decode(text).map_err(|error| match (&error, other.decode::<Configuration>(text)) {
        // The decoder knows both kinds.
        (Error::OtherKind(_), Ok(_)) => format!("unexpected type: *policyconfig.{}", other.kind),
        (Error::OtherKind(_), Err(Error::Unusable(why))) => why,
        _ => error.to_string(),
    });
    let Configuration { static_manifests_dir } = decoded?;
    check_folder(&static_manifests_dir, cluster)?;
    Ok(static_manifests_dir)
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use pintle_features::Feature;

    use super::*;
    use crate::configuration::Configurations;
    use crate::manifests::testing::TestFolder;
    use crate::testing::TestCluster;

    async fn check(plugin: &str, kind: &str, rest: &str, gate: bool, expected: Result<&str, &str>) {
        let mut cluster = TestCluster::new().await.cluster;
        let text = format!("apiVersion: apiserver.config.k8s.io/v1\nkind: {kind}\n{rest}");
        cluster.configurations = Configurations::new([(plugin.to_owned(), Bytes::from(text))]);
        cluster.manifests = Some(TestFolder::new("/m").environment(&cluster.metrics));
        cluster.features = cluster.features.with(Feature::ManifestBasedAdmissionControlConfig, gate);
        let found = static_manifests_dir(plugin, &cluster);
        assert_eq!(found.as_deref().map_err(String::as_str), expected, "{kind} {rest}");
    }

    #[tokio::test]
    async fn each_plugin_has_a_kind_and_may_have_manifests() {
        for plugin in ["ValidatingAdmissionPolicy", "MutatingAdmissionPolicy"] {
            let kind = format!("{plugin}Configuration");
            check(plugin, &kind, "", false, Ok("")).await;
            check(plugin, &kind, "staticManifestsDir: /m", true, Ok("/m")).await;
            check(plugin, &kind, "other: 1", true, Err("strict decoding error: unknown field \"other\""))
                .await;
            let off = "staticManifestsDir: Forbidden: staticManifestsDir requires the \
                       ManifestBasedAdmissionControlConfig feature gate to be enabled";
            check(plugin, &kind, "staticManifestsDir: /m", false, Err(off)).await;
        }
        let cluster = TestCluster::new().await.cluster;
        assert_eq!(static_manifests_dir("ValidatingAdmissionPolicy", &cluster).as_deref(), Ok(""));
        check(
            "ValidatingAdmissionPolicy",
            "MutatingAdmissionPolicyConfiguration",
            "",
            true,
            Err("unexpected type: *policyconfig.MutatingAdmissionPolicyConfiguration"),
        )
        .await;
        check(
            "MutatingAdmissionPolicy",
            "PolicyConfiguration",
            "",
            true,
            Err("no kind \"PolicyConfiguration\" is registered for version \"apiserver.config.k8s.io/v1\" in scheme \
                 \"pkg/admission/plugin/policy/config/config.go:32\""),
        )
        .await;
    }
}
