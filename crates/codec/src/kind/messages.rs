//! Messages for clients about bodies that cannot be decoded or are not of the expected kind.

use pintle_meta::gvk::GroupVersion;
use pintle_meta::{Status, Warnings, quote};
use pintle_schema::Type;

use super::Unreadable;
use crate::Error;

/// Length of a body's excerpt in messages.
const EXCERPT: usize = 30;

impl Unreadable {
    /// Returns the Status for a body that should have been an object of a kind.
    pub fn status(&self, expected: &str, body: &[u8]) -> Status {
        let error = &self.error;
        Status::bad_request(match &self.kind {
            Some(kind) if !kind.kind.is_empty() => {
                let version = quote(&kind.version);
                format!("{} in version {version} cannot be handled as a {expected}: {error}", kind.kind)
            }
            _ => {
                let body = summary(body);
                format!("the object provided is unrecognized (must be of type {expected}): {error} ({body})")
            }
        })
    }
}

/// Returns the start of a body, as text if it looks like JSON.
fn summary(body: &[u8]) -> String {
    let shown = &body[..body.len().min(EXCERPT)];
    let more = if body.len() > EXCERPT { " ..." } else { "" };
    match body.first() {
        None => "<empty>".to_owned(),
        Some(b'{') => format!("{}{more}", String::from_utf8_lossy(shown)),
        Some(_) => {
            let mut text: String = shown.iter().map(|byte| format!("{byte:02x}")).collect();
            text.push_str(more);
            text
        }
    }
}

/// Returns the error of [`crate::Decoded::strict`] for `fieldValidation=Strict`.
pub fn strict_error(strict: &[String]) -> Error {
    Error::new(format!("strict decoding error: {}", strict.join(", ")))
}

/// Returns the warnings for `fieldValidation=Warn`: YAML's one message has a line for each.
pub fn warnings(strict: &[String]) -> Vec<String> {
    let mut warnings = Warnings::new();
    for message in strict {
        match message.strip_prefix("yaml: unmarshal errors:") {
            Some(lines) => warnings.extend(lines.trim().split('\n').map(|line| line.trim().to_owned())),
            None => warnings.push(message.as_str()),
        }
    }
    warnings.into_texts()
}

/// Returns the Status for an object of a version that the endpoint does not serve.
pub fn wrong_version(found: &GroupVersion, expected: &GroupVersion) -> Status {
    Status::bad_request(format!(
        "the API version in the data ({found}) does not match the expected API version ({expected})"
    ))
}

/// Returns the error for an object of another kind than the expected one. The reference converts through its internal
/// types, which have no version: `converting (v1.Secret) to (core.ConfigMap): unknown conversion`.
pub fn not_convertible(found: &'static Type, expected: &'static Type) -> Error {
    let internal = expected.name.split('/').next().unwrap_or_default();
    let kind = expected.kind_name();
    Error::new(format!("converting ({}) to ({internal}.{kind}): unknown conversion", found.go_name()))
}
