//! The kind `Configuration` of `eventratelimit.admission.k8s.io`.

use pintle_meta::field_path::{self, Error, Path, Value};
use pintle_outbound::configuration::{ConfigurationKind, null_is_default};
use serde::Deserialize;

pub(super) const KIND: ConfigurationKind = ConfigurationKind {
    kind: "Configuration",
    versions: &["eventratelimit.admission.k8s.io/v1alpha1"],
    scheme: "pkg/admission/eventratelimit/config.go:31",
    is_strict: false,
};

/// Types of limits.
pub(super) const TYPES: [&str; 4] = ["Namespace", "Server", "SourceAndObject", "User"];

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Configuration {
    limits: Option<Vec<Limit>>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Limit {
    #[serde(rename = "type", deserialize_with = "null_is_default")]
    pub(super) of: String,
    #[serde(deserialize_with = "null_is_default")]
    pub(super) qps: i32,
    #[serde(deserialize_with = "null_is_default")]
    pub(super) burst: i32,
    /// Number of buckets that are kept; zero for the default.
    #[serde(deserialize_with = "null_is_default")]
    pub(super) cache_size: i32,
}

impl Configuration {
    /// Returns the limits, of which there must be one. Errors are the reference's, which lists types in any order.
    pub(super) fn limits(self) -> Result<Vec<Limit>, String> {
        let (path, mut errors) = (Path::new("limits"), Vec::new());
        let is_null = self.limits.is_none();
        let limits = self.limits.unwrap_or_default();
        if limits.is_empty() {
            let empty = if is_null { Value::null() } else { Value::json(&[0_u8; 0]) };
            errors.push(Error::invalid(&path, empty, "must not be empty"));
        }
        for (index, limit) in limits.iter().enumerate() {
            let path = path.index(index);
            if !TYPES.contains(&limit.of.as_str()) {
                errors.push(Error::not_supported(&path.child("type"), limit.of.as_str(), &TYPES));
            }
            for (field, value) in [("burst", limit.burst), ("qps", limit.qps)] {
                if value <= 0 {
                    errors.push(Error::invalid(&path.child(field), i64::from(value), "must be positive"));
                }
            }
            if limit.of != "Server" && limit.cache_size < 0 {
                let size = i64::from(limit.cache_size);
                errors.push(Error::invalid(&path.child("cacheSize"), size, "must not be negative"));
            }
        }
        if errors.is_empty() { Ok(limits) } else { Err(field_path::aggregate(&errors)) }
    }
}
