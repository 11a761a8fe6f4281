//! `WebhookAdmissionConfiguration`: the configuration of either plugin.

use std::path::Path;

use pintle_meta::quote;
use pintle_outbound::configuration::{ConfigurationKind, null_is_default};
use pintle_outbound::kubeconfig::Users;
use serde::Deserialize;

use crate::chain::Cluster;
use crate::manifests::check_folder;

const KIND: ConfigurationKind = ConfigurationKind {
    kind: "WebhookAdmissionConfiguration",
    versions: &["apiserver.config.k8s.io/v1"],
    scheme: "pkg/admission/plugin/webhook/config/kubeconfig.go:34",
    is_strict: true,
};

#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Configuration {
    /// The kubeconfig with the credentials for webhooks.
    #[serde(deserialize_with = "null_is_default")]
    kube_config_file: String,
    /// The folder of configurations that are files; empty for none.
    #[serde(deserialize_with = "null_is_default")]
    pub(super) static_manifests_dir: String,
}

impl Configuration {
    /// Decodes and validates the configuration of a plugin; the default one if there is none. Errors are the reference's.
    pub(super) fn of(plugin: &str, cluster: &Cluster) -> Result<Configuration, String> {
        let read: Configuration = cluster.configurations.decode(plugin, &KIND)?.unwrap_or_default();
        let path = &read.kube_config_file;
        if !path.is_empty() && !path.starts_with('/') {
            let path = quote(path);
            return Err(format!("kubeConfigFile: Invalid value: {path}: must be an absolute file path"));
        }
        check_folder(&read.static_manifests_dir, cluster)?;
        Ok(read)
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
    use bytes::Bytes;
    use pintle_features::{Feature, Features};

    use super::*;
    use crate::configuration::Configurations;
    use crate::manifests::testing::TestFolder;
    use crate::testing::TestCluster;

    async fn read_with(text: &str, features: Features) -> Result<Configuration, String> {
        let mut cluster = TestCluster::new().await.cluster;
        let text = Bytes::copy_from_slice(text.as_bytes());
        cluster.configurations = Configurations::new([("P".to_owned(), text)]);
        cluster.manifests = Some(TestFolder::new("/m").environment(&cluster.metrics));
        cluster.features = features;
        Configuration::of("P", &cluster)
    }

    async fn read(text: &str) -> Result<Configuration, String> {
        read_with(text, Features::default()).await
    }

    const HEAD: &str = "apiVersion: apiserver.config.k8s.io/v1\nkind: WebhookAdmissionConfiguration\n";

    #[tokio::test]
    async fn the_document_is_decoded_strictly() {
        let named = read(&format!("{HEAD}kubeConfigFile: /etc/hooks")).await.unwrap();
        assert_eq!(named.kube_config_file, "/etc/hooks");
        assert_eq!(read(HEAD).await.unwrap(), Configuration::default());
        let unknown = read(&format!("{HEAD}kubeconfigFile: /x")).await.unwrap_err();
        assert_eq!(unknown, "strict decoding error: unknown field \"kubeconfigFile\"");
        assert_eq!(
            read(&format!("{HEAD}kubeConfigFile: x")).await.unwrap_err(),
            "kubeConfigFile: Invalid value: \"x\": must be an absolute file path"
        );
        let other =
            read("apiVersion: apiserver.config.k8s.io/v1alpha1\nkind: WebhookAdmission").await.unwrap_err();
        assert_eq!(
            other,
            "no kind \"WebhookAdmission\" is registered for version \"apiserver.config.k8s.io/v1alpha1\" in scheme \
             \"pkg/admission/plugin/webhook/config/kubeconfig.go:34\""
        );
    }

    #[tokio::test]
    async fn a_folder_of_manifests_needs_its_feature_and_a_directory() {
        let on = Features::default().with(Feature::ManifestBasedAdmissionControlConfig, true);
        let of = async |folder: &str, features: Features| {
            let read = read_with(&format!("{HEAD}staticManifestsDir: {folder}"), features).await;
            read.map(|read| read.static_manifests_dir)
        };
        assert_eq!(of("/m", on).await.as_deref(), Ok("/m"));
        for (folder, features, expected) in [
            (
                "/m",
                Features::default(),
                "Forbidden: staticManifestsDir requires the ManifestBasedAdmissionControlConfig feature gate to be enabled",
            ),
            ("m", on, "Invalid value: \"m\": must be an absolute file path"),
            ("/n", on, "Invalid value: \"/n\": unable to read: stat /n: no such file or directory"),
        ] {
            assert_eq!(of(folder, features).await, Err(format!("staticManifestsDir: {expected}")));
        }
    }
}
