//! `WebhookAdmissionConfiguration`: the configuration of either plugin.

use std::path::Path;

use bytes::Bytes;
use pintle_features::{Feature, Features};
use pintle_meta::quote;
use pintle_outbound::configuration::{self, null_is_default};
use pintle_outbound::kubeconfig::Users;
use serde::Deserialize;

#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Configuration {
    /// The kubeconfig with the credentials for webhooks.
    #[serde(deserialize_with = "null_is_default")]
    kube_config_file: String,
    /// The folder of configurations that are files.
    #[serde(deserialize_with = "null_is_default")]
    static_manifests_dir: String,
}

impl Configuration {
    /// Reads the configuration; the default one if there is none. Errors are the reference's.
    pub(super) fn of(text: Option<&Bytes>) -> Result<Configuration, String> {
        let Some(text) = text else { return Ok(Configuration::default()) };
        let current =
            configuration::read(text, &["apiserver.config.k8s.io/v1"], "WebhookAdmissionConfiguration");
        let read: Configuration = current.or_else(|error| {
            // The kind had another name in its first version.
            configuration::read(text, &["apiserver.config.k8s.io/v1alpha1"], "WebhookAdmission")
                .map_err(|_| error)
        })?;
        for (field, path) in
            [("kubeConfigFile", &read.kube_config_file), ("staticManifestsDir", &read.static_manifests_dir)]
        {
            if !path.is_empty() && !path.starts_with('/') {
                return Err(format!(
                    "{field}: Invalid value: {}: must be an absolute file path",
                    quote(path)
                ));
            }
        }
        Ok(read)
    }

    /// Refuses fields whose feature is off.
    pub(super) fn check_features(&self, features: &Features) -> Result<(), String> {
        let gate = Feature::ManifestBasedAdmissionControlConfig;
        if self.static_manifests_dir.is_empty() {
            return Ok(());
        }
        let dir = quote(&self.static_manifests_dir);
        if features.enabled(gate) {
            // Refused rather than ignored: its webhooks would be missing without a sign.
            Err(format!("static webhook manifests dir {dir} is not supported yet"))
        } else {
            Err(format!(
                "static webhook manifests dir {dir} configured but ManifestBasedAdmissionControlConfig feature gate is not \
                 enabled"
            ))
        }
    }

    /// Reads the credentials for webhooks.
    pub(super) fn users(&self) -> Result<Users, String> {
        match self.kube_config_file.as_str() {
            "" => Ok(Users::default()),
            path => Users::load(Path::new(path)).map_err(|error| error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Configuration, String> {
        Configuration::of(Some(&Bytes::copy_from_slice(text.as_bytes())))
    }

    #[test]
    fn both_versions_are_read_strictly() {
        let v1 = "apiVersion: apiserver.config.k8s.io/v1\nkind: WebhookAdmissionConfiguration\n";
        let alpha = "apiVersion: apiserver.config.k8s.io/v1alpha1\nkind: WebhookAdmission\n";
        for version in [v1, alpha] {
            let read = read(&format!("{version}kubeConfigFile: /etc/hooks")).unwrap();
            assert_eq!(read.kube_config_file, "/etc/hooks");
        }
        assert_eq!(read(v1).unwrap(), Configuration::default());
        let unknown = read(&format!("{v1}kubeconfigFile: /x")).unwrap_err();
        assert_eq!(unknown, "strict decoding error: unknown field \"kubeconfigFile\"");
        assert_eq!(
            read(&format!("{v1}kubeConfigFile: x")).unwrap_err(),
            "kubeConfigFile: Invalid value: \"x\": must be an absolute file path"
        );
        let other = read("apiVersion: apiserver.config.k8s.io/v2\nkind: WebhookAdmission").unwrap_err();
        assert!(other.contains("no kind \"WebhookAdmission\" is registered"), "{other}");
    }

    #[test]
    fn manifests_need_their_feature() {
        let text = "{\"apiVersion\":\"apiserver.config.k8s.io/v1\",\"kind\":\"WebhookAdmissionConfiguration\",\
                    \"staticManifestsDir\":\"/m\"}";
        let why = read(text).unwrap().check_features(&Features::default()).unwrap_err();
        assert_eq!(
            why,
            "static webhook manifests dir \"/m\" configured but ManifestBasedAdmissionControlConfig feature gate is not enabled"
        );
    }
}
