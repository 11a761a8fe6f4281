//! Files of the group `apiserver.config.k8s.io`: who is believed, and who decides.

use pintle_meta::field_path;
use serde::Deserialize;
use serde::de::DeserializeOwned;

pub mod authentication;
pub mod authorization;

pub use authentication::AuthenticationConfiguration;
pub use authorization::AuthorizationConfiguration;

const GROUP: &str = "apiserver.config.k8s.io";
/// Longer ones are not configuration.
pub const LARGEST: usize = 10 << 20;

/// Why a file cannot be used.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    #[error("{0}")]
    Read(String),
    #[error("{}", field_path::aggregate(.0))]
    Invalid(Vec<field_path::Error>),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Kind {
    api_version: Option<String>,
    kind: Option<String>,
}

/// Reads YAML or JSON that says its kind. Fields that nobody knows are refused: a misspelt rule would be no rule.
fn read<T: DeserializeOwned>(text: &[u8], kind: &str) -> Result<T, Error> {
    let failed = |why: String| Error::Read(why);
    if text.is_empty() {
        return Err(failed("empty config data".into()));
    }
    if text.len() > LARGEST {
        return Err(failed(format!("longer than {LARGEST} bytes")));
    }
    let (json, strict) =
        pintle_codec::yaml::to_json_strict(text).map_err(|error| failed(error.to_string()))?;
    if let Some(first) = strict.first() {
        return Err(failed(format!("strict decoding error: {first}")));
    }
    let given: Kind = serde_json::from_slice(&json)
        .map_err(|error| failed(format!("couldn't get version/kind; json parse error: {error}")))?;
    let (version, named) = (given.api_version.unwrap_or_default(), given.kind.unwrap_or_default());
    if named.is_empty() {
        return Err(failed("Object 'Kind' is missing".into()));
    }
    if version.is_empty() {
        return Err(failed("Object 'apiVersion' is missing".into()));
    }
    let known = ["v1", "v1beta1", "v1alpha1"].iter().any(|known| version == format!("{GROUP}/{known}"));
    if !known || named != kind {
        return Err(failed(format!(
            "no kind {} is registered for version {} in scheme",
            pintle_meta::quote(&named),
            pintle_meta::quote(&version)
        )));
    }
    let mut object: serde_json::Map<String, serde_json::Value> =
        serde_json::from_slice(&json).map_err(|error| failed(error.to_string()))?;
    object.remove("apiVersion");
    object.remove("kind");
    serde_json::from_value(object.into()).map_err(|error| failed(format!("strict decoding error: {error}")))
}

/// Go takes null for what is not there.
fn null_is_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: serde::Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(Option::<T>::deserialize(deserializer)?.unwrap_or_default())
}
