//! Objects and texts of the tests of pod validation.

use pintle_features::Feature;

use crate::framework::validation::testing::Base;

/// A small valid pod.
pub(in crate::core::pod) const POD: &str =
    r#"{"metadata":{"name":"p","namespace":"n"},"spec":{"containers":[{"name":"c","image":"i"}]}}"#;

pub(in crate::core::pod) fn pods() -> Base {
    Base::new("", "pods", POD)
}

/// Returns a base with some feature gates set.
pub(in crate::core::pod) fn pods_with(features: &[(Feature, bool)]) -> Base {
    Base::with_features("", "pods", POD, features)
}

/// Returns the error of a text that does not have a format, where that finds one thing wrong.
pub(in crate::core::pod) fn wrong(path: &str, value: &str, format: impl Fn(&str) -> Vec<String>) -> String {
    let found = format(value);
    assert_eq!(found.len(), 1, "{value}: {found:?}");
    format!("{path}: Invalid value: {value:?}: {}", found[0])
}
