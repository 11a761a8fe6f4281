//! DNS labels and subdomains.

use super::{
    DNS1035_LABEL_MAX_LENGTH, DNS1123_LABEL_MAX_LENGTH, DNS1123_SUBDOMAIN_MAX_LENGTH, consists_of,
    max_length_error, regex_error,
};

const LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const LABEL_MESSAGE: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character";
const SUBDOMAIN: &str = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const SUBDOMAIN_MESSAGE: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character";
const UNDERSCORE_SUBDOMAIN: &str = r"_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*";
const UNDERSCORE_SUBDOMAIN_MESSAGE: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character";
const LABEL_1035: &str = "[a-z]([-a-z0-9]*[a-z0-9])?";
const LABEL_1035_MESSAGE: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character";
const WILDCARD: &str = r"\*\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const WILDCARD_MESSAGE: &str = "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character";

/// Message of a value that is too long.
type TooLong = fn(usize) -> String;

/// A DNS label of RFC 1123: most names of namespaces, Services' ports, containers.
pub fn dns1123_label(value: &str) -> Vec<String> {
    check_label(value, max_length_error)
}

/// A DNS subdomain of RFC 1123: the names of most objects.
pub fn dns1123_subdomain(value: &str) -> Vec<String> {
    let message = || regex_error(SUBDOMAIN_MESSAGE, SUBDOMAIN, &["example.com"]);
    check_subdomain(value, is_subdomain(value), max_length_error, message)
}

/// A DNS subdomain whose labels may start with and contain underscores.
pub fn dns1123_subdomain_with_underscore(value: &str) -> Vec<String> {
    let message = || regex_error(UNDERSCORE_SUBDOMAIN_MESSAGE, UNDERSCORE_SUBDOMAIN, &["example.com"]);
    let label = |label: &str| {
        let label = label.strip_prefix('_').unwrap_or(label);
        consists_of(label, is_alphanumeric, |byte| is_inner(byte) || byte == b'_', is_alphanumeric)
    };
    check_subdomain(value, value.split('.').all(label), max_length_error, message)
}

/// A DNS label of RFC 1035, which starts with a letter: the names of Services.
pub fn dns1035_label(value: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if value.len() > DNS1035_LABEL_MAX_LENGTH {
        errors.push(max_length_error(DNS1035_LABEL_MAX_LENGTH));
    }
    if !consists_of(value, |byte| byte.is_ascii_lowercase(), is_inner, is_alphanumeric) {
        errors.push(regex_error(LABEL_1035_MESSAGE, LABEL_1035, &["my-name", "abc-123"]));
    }
    errors
}

/// `*.` and a DNS subdomain: hosts of Ingresses.
pub fn wildcard_dns1123_subdomain(value: &str) -> Vec<String> {
    let message = || regex_error(WILDCARD_MESSAGE, WILDCARD, &["*.example.com"]);
    let matches = value.strip_prefix("*.").is_some_and(is_subdomain);
    check_subdomain(value, matches, max_length_error, message)
}

/// See [`super::declared`].
pub(super) mod declared {
    use super::{SUBDOMAIN, SUBDOMAIN_MESSAGE, check_label, check_subdomain, is_subdomain};
    use crate::validation::{max_bytes_error, regex_error};

    const CASELESS_MESSAGE: &str = "an RFC 1123 subdomain must consist of alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character";

    pub fn dns1123_label(value: &str) -> Vec<String> {
        check_label(value, max_bytes_error)
    }

    pub fn dns1123_subdomain(value: &str) -> Vec<String> {
        let message = || regex_error(SUBDOMAIN_MESSAGE, SUBDOMAIN, &["example.com"]);
        check_subdomain(value, is_subdomain(value), max_bytes_error, message)
    }

    /// A DNS subdomain in upper or lower case.
    pub fn dns1123_subdomain_caseless(value: &str) -> Vec<String> {
        let message = || regex_error(CASELESS_MESSAGE, SUBDOMAIN, &["Example.com"]);
        // A case-insensitive [a-z] includes the long s and the Kelvin sign, which fold to ASCII letters.
        let lower = value.to_ascii_lowercase().replace('\u{17f}', "s").replace('\u{212a}', "k");
        check_subdomain(value, is_subdomain(&lower), max_bytes_error, message)
    }
}

fn check_label(value: &str, too_long: TooLong) -> Vec<String> {
    let mut errors = Vec::new();
    if value.len() > DNS1123_LABEL_MAX_LENGTH {
        errors.push(too_long(DNS1123_LABEL_MAX_LENGTH));
    }
    if !is_label(value) {
        errors.push(if is_subdomain(value) {
            "must not contain dots".into()
        } else {
            regex_error(LABEL_MESSAGE, LABEL, &["my-name", "123-abc"])
        });
    }
    errors
}

fn check_subdomain(
    value: &str,
    matches: bool,
    too_long: TooLong,
    message: impl Fn() -> String,
) -> Vec<String> {
    let mut errors = Vec::new();
    if value.len() > DNS1123_SUBDOMAIN_MAX_LENGTH {
        errors.push(too_long(DNS1123_SUBDOMAIN_MAX_LENGTH));
    }
    if !matches {
        errors.push(message());
    }
    errors
}

fn is_alphanumeric(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

fn is_inner(byte: u8) -> bool {
    byte == b'-' || is_alphanumeric(byte)
}

fn is_label(value: &str) -> bool {
    consists_of(value, is_alphanumeric, is_inner, is_alphanumeric)
}

fn is_subdomain(value: &str) -> bool {
    value.split('.').all(is_label)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LABEL_ERROR: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
    const SUBDOMAIN_ERROR: &str = r"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

    #[test]
    fn rfc_1123_labels_are_validated() {
        for good in ["a", "0", "a-b", "a--b", "0a9", &"x".repeat(63)] {
            assert!(dns1123_label(good).is_empty(), "{good}");
        }
        for bad in ["", "-", "a-", "-a", "A", "a_b", "é", "a b", ".", "a..b", "a.", "a\n"] {
            assert_eq!(dns1123_label(bad), [LABEL_ERROR], "{bad}");
        }
        assert_eq!(dns1123_label("a.b"), ["must not contain dots"]);
        assert_eq!(dns1123_label(&"x".repeat(64)), ["must be no more than 63 characters"]);
        assert_eq!(dns1123_label(&"X".repeat(64)), ["must be no more than 63 characters", LABEL_ERROR]);
    }

    #[test]
    fn rfc_1123_subdomains_are_validated() {
        for good in ["a", "a.b", "0.0", "a-b.c-d.e", &"x".repeat(253)] {
            assert!(dns1123_subdomain(good).is_empty(), "{good}");
        }
        for bad in ["", ".", "a.", ".a", "a..b", "a.-b", "A.b", "a_b.c", "*.a"] {
            assert_eq!(dns1123_subdomain(bad), [SUBDOMAIN_ERROR], "{bad}");
        }
        assert_eq!(dns1123_subdomain(&"x".repeat(254)), ["must be no more than 253 characters"]);
        assert_eq!(declared::dns1123_subdomain(&"x".repeat(254)), ["must be no more than 253 bytes"]);
    }

    #[test]
    fn underscores_are_allowed_in_subdomains_with_underscore() {
        for good in ["_a", "a_b", "_a._b.c", "a__b"] {
            assert!(dns1123_subdomain_with_underscore(good).is_empty(), "{good}");
        }
        for bad in ["_", "a_", "__a", "a._", ""] {
            assert_eq!(dns1123_subdomain_with_underscore(bad).len(), 1, "{bad}");
        }
    }

    #[test]
    fn rfc_1035_labels_start_with_a_letter() {
        assert!(dns1035_label("a-1").is_empty());
        for bad in ["", "1a", "a-", "-a", "A", "a.b"] {
            assert_eq!(
                dns1035_label(bad),
                [
                    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
                ],
                "{bad}"
            );
        }
        assert_eq!(dns1035_label(&"x".repeat(64)), ["must be no more than 63 characters"]);
    }

    #[test]
    fn wildcards_precede_a_subdomain() {
        assert!(wildcard_dns1123_subdomain("*.example.com").is_empty());
        for bad in ["*", "*.", "example.com", "a.*.com", "**.a", "*.*.a"] {
            assert_eq!(
                wildcard_dns1123_subdomain(bad),
                [
                    r"a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. '*.example.com', regex used for validation is '\*\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
                ],
                "{bad}"
            );
        }
    }

    #[test]
    fn a_caseless_subdomain_may_have_upper_case() {
        for good in ["Example.COM", "a.b", "\u{212a}.\u{17f}"] {
            assert!(declared::dns1123_subdomain_caseless(good).is_empty(), "{good}");
        }
        let errors = declared::dns1123_subdomain_caseless("A_b");
        assert!(errors[0].starts_with("an RFC 1123 subdomain must"), "{errors:?}");
        assert!(errors[0].contains("'Example.com'"), "{errors:?}");
    }
}
