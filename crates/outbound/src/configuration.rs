//! Configuration files (authentication, egress selection ...): YAML or JSON of a kind, decoded as strictly as by the reference.

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::strict_decoding;

/// Longer ones are not configuration.
pub const LARGEST: usize = 10 << 20;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Kind {
    api_version: Option<String>,
    kind: Option<String>,
}

/// Reads a document that says its kind, in one of these versions (`group/version`). Unknown fields are refused: a
/// misspelt rule would be no rule.
pub fn read<T: DeserializeOwned>(text: &[u8], versions: &[&str], kind: &str) -> Result<T, String> {
    let kinds: Vec<(&str, &str)> = versions.iter().map(|version| (*version, kind)).collect();
    read_one_of(text, &kinds)
}

/// The same for a document whose kind has other names in other versions: `kinds` are pairs of version and kind.
pub fn read_one_of<T: DeserializeOwned>(text: &[u8], kinds: &[(&str, &str)]) -> Result<T, String> {
    if text.len() > LARGEST {
        return Err(format!("longer than {LARGEST} bytes"));
    }
    // JSON is not read as YAML, whose error messages differ.
    let (json, mut minded) = match text.trim_ascii_start().starts_with(b"{") {
        true => (text.to_vec(), Vec::new()),
        false => pintle_codec::yaml::to_json_strict(text).map_err(|error| error.to_string())?,
    };
    let given: Kind = serde_json::from_slice(&json)
        .map_err(|error| format!("couldn't get version/kind; json parse error: {error}"))?;
    let (version, named) = (given.api_version.unwrap_or_default(), given.kind.unwrap_or_default());
    if named.is_empty() {
        return Err("Object 'Kind' is missing".into());
    }
    if version.is_empty() {
        return Err("Object 'apiVersion' is missing".into());
    }
    if !kinds.contains(&(version.as_str(), named.as_str())) {
        return Err(format!(
            "no kind {} is registered for version {} in scheme",
            pintle_meta::quote(&named),
            pintle_meta::quote(&version)
        ));
    }
    let (read, also) = strict_decoding::read(&json).map_err(|error| error.to_string())?;
    minded.extend(also);
    match minded.is_empty() {
        true => Ok(read),
        false => Err(format!("strict decoding error: {}", minded.join(", "))),
    }
}

/// Go takes null for what is not there.
pub fn null_is_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: serde::Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(Option::<T>::deserialize(deserializer)?.unwrap_or_default())
}
