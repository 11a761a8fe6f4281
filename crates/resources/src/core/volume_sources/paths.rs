//! Paths within volumes.

use crate::framework::validation::Cursor;

/// Checks that no element of a path is `..`. One error is enough for several of them.
pub(crate) fn no_backsteps(path: &Cursor<'_, '_>) {
    if has_backsteps(path.text()) {
        path.invalid(path.text(), "must not contain '..'");
    }
}

pub(crate) fn has_backsteps(path: &str) -> bool {
    path.contains("..") && path.split('/').any(|element| element == "..")
}

/// Checks a relative path that does not leave its directory.
pub(crate) fn local_descending(path: &Cursor<'_, '_>) {
    if path.text().starts_with('/') {
        path.invalid(path.text(), "must be a relative path");
    }
    no_backsteps(path);
}

/// As [`local_descending`], for files beside which the kubelet keeps files of its own that start with `..`.
pub(crate) fn local_non_reserved(path: &Cursor<'_, '_>) {
    local_descending(path);
    // Elements that are exactly `..` have been reported.
    if path.text().starts_with("..") && !path.text().starts_with("../") {
        path.invalid(path.text(), "must not start with '..'");
    }
}
