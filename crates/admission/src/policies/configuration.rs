//! `ValidatingAdmissionPolicyConfiguration` and `MutatingAdmissionPolicyConfiguration`: the configuration of a plugin of policies.

use bytes::Bytes;
use pintle_features::{Feature, Features};
use pintle_meta::quote;
use pintle_outbound::configuration::{self, null_is_default};
use serde::Deserialize;

#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
struct Configuration {
    /// The folder of policies that are files.
    #[serde(deserialize_with = "null_is_default")]
    static_manifests_dir: String,
}

/// Checks the configuration of a plugin; `kind` is that of the configuration. Errors are the reference's.
pub(crate) fn check(text: Option<&Bytes>, kind: &'static str, features: &Features) -> Result<(), String> {
    let Some(text) = text else { return Ok(()) };
    let Configuration { static_manifests_dir: dir } =
        configuration::read(text, &["apiserver.config.k8s.io/v1"], kind)?;
    if dir.is_empty() {
        return Ok(());
    }
    if !features.enabled(Feature::ManifestBasedAdmissionControlConfig) {
        return Err("staticManifestsDir: Forbidden: staticManifestsDir requires the ManifestBasedAdmissionControlConfig \
                    feature gate to be enabled"
            .to_owned());
    }
    let dir = quote(&dir);
    if !dir.starts_with("\"/") {
        return Err(format!("staticManifestsDir: Invalid value: {dir}: must be an absolute file path"));
    }
    // Refused rather than ignored: its policies would be missing without a sign.
    Err(format!("static policy manifests dir {dir} is not supported yet"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manifests_need_their_feature() {
        let kind = "ValidatingAdmissionPolicyConfiguration";
        let checked = |rest: &str| {
            let text = format!("apiVersion: apiserver.config.k8s.io/v1\nkind: {kind}\n{rest}");
            check(Some(&Bytes::from(text)), kind, &Features::default())
        };
        assert_eq!(check(None, kind, &Features::default()), Ok(()));
        assert_eq!(checked(""), Ok(()));
        assert_eq!(
            checked("staticManifestsDir: /m").unwrap_err(),
            "staticManifestsDir: Forbidden: staticManifestsDir requires the ManifestBasedAdmissionControlConfig feature gate to be \
             enabled"
        );
        assert!(checked("other: 1").is_err());
    }
}
