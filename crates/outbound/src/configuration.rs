//! Configuration files (authentication, egress selection ...): YAML or JSON of a kind, decoded as strictly as by the reference.

use pintle_meta::gvk::GroupVersionKind;
use pintle_meta::quote;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::strict_decoding;

/// Longer ones are not configuration.
pub const LARGEST: usize = 10 << 20;

/// A kind of configuration, as the reference's scheme for it has it.
#[derive(Clone, Copy, Debug)]
pub struct ConfigurationKind {
    pub kind: &'static str,
    /// As `group/version`.
    pub versions: &'static [&'static str],
    /// The name of the scheme in messages, which is where the reference declares it. Messages without it end before it.
    pub scheme: &'static str,
    /// Whether unknown and duplicate fields are errors: a misspelt rule would be no rule.
    pub is_strict: bool,
}

/// The reason why a document cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The document names no kind or version, or another one.
    #[error("{0}")]
    OtherKind(String),
    #[error("{0}")]
    Unusable(String),
}

impl ConfigurationKind {
    /// Decodes a document that names this kind, in one of its versions.
    pub fn decode<T: DeserializeOwned>(&self, text: &[u8]) -> Result<T, Error> {
        let (json, mut strict) = to_json(text)?;
        let unusable = |error: String| Error::Unusable(error);
        let given = pintle_codec::kind::of_json(&json).map_err(|error| unusable(error.to_string()))?;
        let missing = |what: &str| {
            let document = String::from_utf8_lossy(text);
            Err(Error::OtherKind(format!("Object '{what}' is missing in '{document}'")))
        };
        if given.kind.is_empty() {
            return missing("Kind");
        }
        if given.version.is_empty() {
            return missing("apiVersion");
        }
        if !self.versions.contains(&given.api_version().as_str()) || given.kind != self.kind {
            return Err(Error::OtherKind(self.not_registered(&given)));
        }
        if !self.is_strict {
            // Of duplicate fields, the last one counts.
            let document: serde_json::Value =
                serde_json::from_slice(&json).map_err(|error| unusable(error.to_string()))?;
            let read = strict_decoding::read(document.to_string().as_bytes());
            return read.map(|(read, _)| read).map_err(|error| unusable(error.to_string()));
        }
        let (read, also) = strict_decoding::read(&json).map_err(|error| unusable(error.to_string()))?;
        strict.extend(also);
        match strict.is_empty() {
            true => Ok(read),
            false => Err(unusable(format!("strict decoding error: {}", strict.join(", ")))),
        }
    }

    fn not_registered(&self, given: &GroupVersionKind) -> String {
        let (kind, version) = (quote(&given.kind), quote(&given.api_version()));
        let start = format!("no kind {kind} is registered for version {version} in scheme");
        match self.scheme {
            "" => start,
            scheme => format!("{start} {}", quote(scheme)),
        }
    }
}

/// Converts a document to JSON, and returns the duplicate keys of YAML beside it. JSON is not read as YAML, whose messages
/// differ.
fn to_json(text: &[u8]) -> Result<(Vec<u8>, Vec<String>), Error> {
    if text.len() > LARGEST {
        return Err(Error::Unusable(format!("longer than {LARGEST} bytes")));
    }
    if text.trim_ascii_start().starts_with(b"{") {
        return Ok((text.to_vec(), Vec::new()));
    }
    pintle_codec::yaml::to_json_strict(text).map_err(|error| Error::Unusable(error.to_string()))
}

/// Decodes a document strictly. Messages do not name a scheme, and do not show the document.
pub fn read<T: DeserializeOwned>(
    text: &[u8],
    versions: &'static [&'static str],
    kind: &'static str,
) -> Result<T, String> {
    let of = ConfigurationKind { kind, versions, scheme: "", is_strict: true };
    of.decode(text).map_err(|error| match error {
        Error::OtherKind(why) => match why.split_once(" is missing in '") {
            Some((what, _)) => format!("{what} is missing"),
            None => why,
        },
        Error::Unusable(why) => why,
    })
}

/// Go takes null for what is not there.
pub fn null_is_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: serde::Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(Option::<T>::deserialize(deserializer)?.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(default)]
    struct Read {
        a: i64,
    }

    const STRICT: ConfigurationKind = ConfigurationKind {
        kind: "Configuration",
        versions: &["test.example/v1", "test.example/v1alpha1"],
        scheme: "pkg/test.go:1",
        is_strict: true,
    };
    const LENIENT: ConfigurationKind = ConfigurationKind { is_strict: false, ..STRICT };

    fn check(of: ConfigurationKind, text: &str, expected: Result<i64, &str>) {
        let read = of.decode::<Read>(text.as_bytes()).map(|read| read.a).map_err(|error| error.to_string());
        assert_eq!(read, expected.map_err(str::to_owned), "{text}");
    }

    #[test]
    fn json_and_yaml_of_each_version_are_decoded() {
        for of in [STRICT, LENIENT] {
            check(of, r#" {"apiVersion":"test.example/v1","kind":"Configuration","a":1}"#, Ok(1));
            check(of, "apiVersion: test.example/v1alpha1\nkind: Configuration\na: 2\n", Ok(2));
        }
    }

    #[test]
    fn another_kind_is_named_with_the_scheme() {
        let other = "no kind \"Pod\" is registered for version \"v1\" in scheme \"pkg/test.go:1\"";
        check(STRICT, r#"{"apiVersion":"v1","kind":"Pod"}"#, Err(other));
        let version = "no kind \"Configuration\" is registered for version \"test.example/v2\" in scheme \"pkg/test.go:1\"";
        check(LENIENT, r#"{"apiVersion":"test.example/v2","kind":"Configuration"}"#, Err(version));
        check(STRICT, "a: 1", Err("Object 'Kind' is missing in 'a: 1'"));
        check(STRICT, "", Err("Object 'Kind' is missing in ''"));
        check(STRICT, "kind: A", Err("Object 'apiVersion' is missing in 'kind: A'"));
        check(STRICT, r#"{"apiVersion":"a/b/c"}"#, Err("unexpected GroupVersion string: a/b/c"));
        let is_other =
            |text: &str| matches!(STRICT.decode::<Read>(text.as_bytes()), Err(Error::OtherKind(_)));
        assert!(is_other("kind: A") && is_other(r#"{"apiVersion":"v1","kind":"Pod"}"#) && !is_other("{"));
    }

    #[test]
    fn unknown_and_duplicate_fields_are_errors_where_decoding_is_strict() {
        let text = r#"{"apiVersion":"test.example/v1","kind":"Configuration","a":1,"b":2,"a":3}"#;
        check(STRICT, text, Err("strict decoding error: unknown field \"b\", duplicate field \"a\""));
        check(LENIENT, text, Ok(3));
        let text = "apiVersion: test.example/v1\nkind: Configuration\na: 1\na: 2\n";
        check(
            STRICT,
            text,
            Err("strict decoding error: yaml: unmarshal errors:\n  line 4: key \"a\" already set in map"),
        );
        check(LENIENT, text, Ok(2));
    }
}
