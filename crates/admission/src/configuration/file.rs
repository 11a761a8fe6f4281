//! The file of `--admission-control-config-file`: the kind `AdmissionConfiguration`, or a configuration of one of the two
//! plugins that are older than this kind.

use std::path::{Path, PathBuf};

use bytes::Bytes;
use pintle_codec::{json, yaml};
use pintle_meta::Value;
use pintle_outbound::configuration::{ConfigurationKind, Error, null_is_default};
use serde::Deserialize;
use serde::de::IgnoredAny;

const KIND: ConfigurationKind = ConfigurationKind {
    kind: "AdmissionConfiguration",
    versions: &["apiserver.config.k8s.io/v1", "apiserver.k8s.io/v1alpha1"],
    scheme: "pkg/server/options/admission.go:51",
    is_strict: true,
};

/// Kinds of other files that the reference's scheme has too, with their versions.
const OTHER_KINDS: [(&str, &[&str]); 5] = [
    ("AuthenticationConfiguration", &CONFIG_VERSIONS),
    ("AuthorizationConfiguration", &CONFIG_VERSIONS),
    ("EgressSelectorConfiguration", &["apiserver.k8s.io/v1alpha1"]),
    ("EncryptionConfiguration", &["apiserver.config.k8s.io/v1"]),
    ("TracingConfiguration", &CONFIG_VERSIONS),
];
const CONFIG_VERSIONS: [&str; 2] = ["apiserver.config.k8s.io/v1", "apiserver.config.k8s.io/v1alpha1"];

/// Plugins whose configuration was the whole file, and the field by which such a file is recognized.
const LEGACY: [(&str, &str); 2] =
    [("ImagePolicyWebhook", "imagePolicy"), ("PodNodeSelector", "podNodeSelectorPluginConfig")];

/// The place of a plugin's configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigurationSource {
    /// In the file itself, as JSON.
    Embedded(Bytes),
    /// A file of its own.
    File(PathBuf),
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct AdmissionConfiguration {
    #[serde(deserialize_with = "null_is_default")]
    plugins: Vec<Plugin>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Plugin {
    #[serde(deserialize_with = "null_is_default")]
    name: String,
    #[serde(deserialize_with = "null_is_default")]
    path: String,
    configuration: Option<IgnoredAny>,
}

/// Returns where the configurations of these plugins are, given the content of the file at `path`. Relative paths are
/// relative to the folder of that file. Of several entries for a plugin the first counts.
pub fn configuration_sources<'n>(
    text: &[u8],
    path: &Path,
    plugins: impl IntoIterator<Item = &'n str>,
) -> Result<Vec<(&'n str, ConfigurationSource)>, String> {
    let mut plugins = plugins.into_iter();
    let read: AdmissionConfiguration = match KIND.decode(text) {
        Ok(read) => read,
        Err(Error::OtherKind(why)) if !is_legacy(text) => {
            return Err(other_kind(text).map_or(why, |kind| format!("unexpected type: *apiserver.{kind}")));
        }
        Err(Error::OtherKind(_)) => {
            let legacy = plugins.filter(|name| LEGACY.iter().any(|(legacy, _)| legacy == name));
            return Ok(legacy.map(|name| (name, ConfigurationSource::File(path.to_owned()))).collect());
        }
        Err(error) => return Err(error.to_string()),
    };
    let embedded = embedded(text)?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let source = |name: &&str| {
        let (index, plugin) = read.plugins.iter().enumerate().find(|(_, plugin)| plugin.name == *name)?;
        match embedded.get(index) {
            Some(Some(json)) if plugin.configuration.is_some() => {
                Some(ConfigurationSource::Embedded(json.clone()))
            }
            _ if plugin.path.is_empty() => None,
            _ => Some(ConfigurationSource::File(folder.join(&plugin.path))),
        }
    };
    Ok(plugins.by_ref().filter_map(|name| Some((name, source(&name)?))).collect())
}

/// Returns the embedded configuration of each entry, as it is written there.
fn embedded(text: &[u8]) -> Result<Vec<Option<Bytes>>, String> {
    let json = match text.trim_ascii_start().starts_with(b"{") {
        true => text.to_vec(),
        false => yaml::to_json(text).map_err(|error| error.to_string())?,
    };
    let open = |part: &[u8]| json::open(part).map_err(|error| error.to_string());
    let raw = |value: &Value, field: &str| value.get(field).and_then(Value::as_raw).map(<[u8]>::to_vec);
    let Some(plugins) = raw(&open(&json)?, "plugins") else { return Ok(Vec::new()) };
    let entries = open(&plugins)?;
    let entries = entries.as_list().unwrap_or_default().iter();
    entries
        .map(|entry| Ok(raw(&open(entry.as_raw().unwrap_or(b"{}"))?, "configuration").map(Bytes::from)))
        .collect()
}

/// Returns the kind of a file for something else.
fn other_kind(text: &[u8]) -> Option<&'static str> {
    let given = pintle_codec::kind::of_json(&yaml::to_json(text).ok()?).ok()?;
    let mut known = OTHER_KINDS.iter();
    let found =
        known.find(|(kind, versions)| *kind == given.kind && versions.contains(&&*given.api_version()))?;
    Some(found.0)
}

/// Reports whether a file is one of a single plugin, as before there was a kind.
fn is_legacy(text: &[u8]) -> bool {
    let fields = yaml::to_json(text).ok().and_then(|json| json::open(&json).ok());
    fields.is_some_and(|fields| {
        let fields = fields.as_object();
        fields.is_some_and(|fields| LEGACY.iter().any(|(_, field)| fields.contains(field)))
    })
}

#[cfg(test)]
#[path = "file_tests.rs"]
mod tests;
