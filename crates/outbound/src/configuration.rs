//! Files that say whom to believe, to ask or to go through: YAML or JSON of a kind, read as strictly as the reference does.

use serde::Deserialize;
use serde::de::DeserializeOwned;

/// Longer ones are not configuration.
pub const LARGEST: usize = 10 << 20;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Kind {
    api_version: Option<String>,
    kind: Option<String>,
}

/// Reads a document that says its kind, in one of these versions (`group/version`). Fields that nobody knows are refused: a
/// misspelt rule would be no rule.
pub fn read<T: DeserializeOwned>(text: &[u8], versions: &[&str], kind: &str) -> Result<T, String> {
    if text.len() > LARGEST {
        return Err(format!("longer than {LARGEST} bytes"));
    }
    let (json, strict) = pintle_codec::yaml::to_json_strict(text).map_err(|error| error.to_string())?;
    if let Some(first) = strict.first() {
        return Err(format!("strict decoding error: {first}"));
    }
    let given: Kind = serde_json::from_slice(&json)
        .map_err(|error| format!("couldn't get version/kind; json parse error: {error}"))?;
    let (version, named) = (given.api_version.unwrap_or_default(), given.kind.unwrap_or_default());
    if named.is_empty() {
        return Err("Object 'Kind' is missing".into());
    }
    if version.is_empty() {
        return Err("Object 'apiVersion' is missing".into());
    }
    if !versions.contains(&version.as_str()) || named != kind {
        return Err(format!(
            "no kind {} is registered for version {} in scheme",
            pintle_meta::quote(&named),
            pintle_meta::quote(&version)
        ));
    }
    let mut object: serde_json::Map<String, serde_json::Value> =
        serde_json::from_slice(&json).map_err(|error| error.to_string())?;
    object.remove("apiVersion");
    object.remove("kind");
    serde_json::from_value(object.into()).map_err(|error| format!("strict decoding error: {error}"))
}

/// Go takes null for what is not there.
pub fn null_is_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: serde::Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(Option::<T>::deserialize(deserializer)?.unwrap_or_default())
}
