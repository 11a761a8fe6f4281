//! Reviews as webhooks are sent them and answer them.
//!
//! Version v1 and v1beta1 of one kind differ in a name here and there; what is sent is to the letter what the reference
//! sends, since some webhooks read it with less than a JSON parser.

use serde::Deserialize;

/// Which version of a review a webhook speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    V1,
    V1beta1,
}

impl Version {
    pub fn named(name: &str) -> Option<Version> {
        match name {
            "v1" => Some(Version::V1),
            "v1beta1" => Some(Version::V1beta1),
            _ => None,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Version::V1 => "v1",
            Version::V1beta1 => "v1beta1",
        }
    }
}

/// An answer's kind and status. What is not there is as if it were empty, and so is null.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answer<S> {
    kind: Option<String>,
    api_version: Option<String>,
    status: Option<S>,
}

/// The status of an answer that must be of this kind, if it says a kind.
pub(crate) fn status<'a, S: Deserialize<'a> + Default>(
    answer: &'a [u8],
    kind: &str,
    group: &str,
    version: Version,
) -> Result<S, String> {
    let answer: Answer<S> = serde_json::from_slice(answer)
        .map_err(|error| format!("couldn't get version/kind; json parse error: {error}"))?;
    let version = format!("{group}/{}", version.name());
    let fits = |given: &Option<String>, expected: &str| {
        given.as_deref().is_none_or(|given| given.is_empty() || given == expected)
    };
    if !fits(&answer.kind, kind) || !fits(&answer.api_version, &version) {
        return Err(format!(
            "the webhook answered with a {} of {} and not a {kind} of {version}",
            pintle_meta::quote(answer.kind.as_deref().unwrap_or_default()),
            pintle_meta::quote(answer.api_version.as_deref().unwrap_or_default())
        ));
    }
    Ok(answer.status.unwrap_or_default())
}
