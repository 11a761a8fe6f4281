//! Validations that return field errors.

use super::{dns1123_label, dns1123_subdomain, label_value, qualified_name, regex_error};
use crate::field_path::{Error, MOST_ERRORS, Path};

const HTTP_PATH: &str = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+";

pub fn non_negative(path: &Path<'_>, value: i64) -> Vec<Error> {
    if value < 0 {
        vec![Error::invalid(path, value, "must be greater than or equal to 0")]
    } else {
        Vec::new()
    }
}

pub fn label_name(path: &Path<'_>, name: &str) -> Vec<Error> {
    qualified_name(name).into_iter().map(|wrong| Error::invalid(path, name, wrong)).collect()
}

/// Errors of keys and values are reported on the map, in its order.
pub fn labels<'l>(path: &Path<'_>, labels: impl IntoIterator<Item = (&'l str, &'l str)>) -> Vec<Error> {
    let mut errors = Vec::new();
    for (name, value) in labels {
        if errors.len() > MOST_ERRORS {
            break;
        }
        errors.extend(label_name(path, name));
        errors.extend(label_value(value).into_iter().map(|wrong| Error::invalid(path, value, wrong)));
    }
    errors
}

/// A DNS subdomain of at least three labels.
pub fn fully_qualified_name(path: &Path<'_>, name: &str) -> Option<Error> {
    if name.is_empty() {
        return Some(Error::required(path, ""));
    }
    let wrong = dns1123_subdomain(name);
    if !wrong.is_empty() {
        return Some(Error::invalid(path, name, wrong.join(",")));
    }
    let short = "should be a domain with at least three segments separated by dots";
    (name.split('.').count() < 3).then(|| Error::invalid(path, name, short))
}

/// A domain name of at least two labels, with or without the final dot.
pub fn fully_qualified_domain_name(path: &Path<'_>, name: &str) -> Option<Error> {
    if name.is_empty() {
        return Some(Error::required(path, ""));
    }
    let name = name.strip_suffix('.').unwrap_or(name);
    let wrong = dns1123_subdomain(name);
    if !wrong.is_empty() {
        return Some(Error::invalid(path, name, wrong.join(",")));
    }
    if !name.contains('.') {
        let short = "should be a domain with at least two segments separated by dots";
        return Some(Error::invalid(path, name, short));
    }
    name.split('.').find_map(|label| {
        let wrong = dns1123_label(label);
        (!wrong.is_empty()).then(|| Error::invalid(path, label, wrong.join(",")))
    })
}

/// `acme.io/foo/bar`.
pub fn domain_prefixed_path(path: &Path<'_>, value: &str) -> Vec<Error> {
    if value.is_empty() {
        return vec![Error::required(path, "")];
    }
    let (host, rest) = value.split_once('/').unwrap_or_default();
    if host.is_empty() || rest.is_empty() {
        let form = r#"must be a domain-prefixed path (such as "acme.io/foo")"#;
        return vec![Error::invalid(path, value, form)];
    }
    let mut errors: Vec<Error> =
        dns1123_subdomain(host).into_iter().map(|wrong| Error::invalid(path, host, wrong)).collect();
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~%!$&'()*+,;=:".contains(&byte);
    if !rest.bytes().all(allowed) {
        errors.push(Error::invalid(path, rest, regex_error("Invalid path", HTTP_PATH, &[])));
    }
    errors
}

/// `acme.io/foo`.
pub fn domain_prefixed_key(path: &Path<'_>, key: &str) -> Vec<Error> {
    if key.is_empty() {
        return vec![Error::required(path, "")];
    }
    let mut errors = label_name(path, key);
    if errors.is_empty() && !key.contains('/') {
        errors.push(Error::invalid(path, key, r#"must be a domain-prefixed key (such as "acme.io/foo")"#));
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: Path<'static> = Path::new("x");

    fn texts(errors: impl IntoIterator<Item = Error>) -> Vec<String> {
        errors.into_iter().map(|error| error.to_string()).collect()
    }

    #[test]
    fn labels_report_keys_and_values_on_the_map() {
        let errors = texts(labels(&PATH, [("a", "b"), ("bad key", "ok"), ("c", "bad value")]));
        assert_eq!(errors.len(), 2);
        assert!(
            errors[0].starts_with(r#"x: Invalid value: "bad key": name part must consist"#),
            "{errors:?}"
        );
        assert!(errors[1].starts_with(r#"x: Invalid value: "bad value": a valid label must"#), "{errors:?}");
    }

    #[test]
    fn fully_qualified_names_have_enough_segments() {
        assert_eq!(fully_qualified_name(&PATH, "a.b.c"), None);
        assert_eq!(texts(fully_qualified_name(&PATH, "")), ["x: Required value"]);
        assert_eq!(
            texts(fully_qualified_name(&PATH, "a.b")),
            [r#"x: Invalid value: "a.b": should be a domain with at least three segments separated by dots"#]
        );
        assert_eq!(fully_qualified_domain_name(&PATH, "a.b."), None);
        assert_eq!(
            texts(fully_qualified_domain_name(&PATH, "a.")),
            [r#"x: Invalid value: "a": should be a domain with at least two segments separated by dots"#]
        );
        let long = "x".repeat(64);
        assert_eq!(
            texts(fully_qualified_domain_name(&PATH, &format!("a.{long}"))),
            [format!(r#"x: Invalid value: "{long}": must be no more than 63 characters"#)]
        );
    }

    #[test]
    fn domain_prefixes_are_required() {
        assert!(domain_prefixed_path(&PATH, "acme.io/foo/bar:1").is_empty());
        assert_eq!(
            texts(domain_prefixed_path(&PATH, "foo")),
            [r#"x: Invalid value: "foo": must be a domain-prefixed path (such as "acme.io/foo")"#]
        );
        assert_eq!(
            texts(domain_prefixed_path(&PATH, "a.io/b c")),
            [
                r#"x: Invalid value: "b c": Invalid path (regex used for validation is '[A-Za-z0-9/\-._~%!$&'()*+,;=:]+')"#
            ]
        );
        assert!(domain_prefixed_key(&PATH, "acme.io/foo").is_empty());
        assert_eq!(
            texts(domain_prefixed_key(&PATH, "foo")),
            [r#"x: Invalid value: "foo": must be a domain-prefixed key (such as "acme.io/foo")"#]
        );
        assert_eq!(
            texts(non_negative(&PATH, -1)),
            ["x: Invalid value: -1: must be greater than or equal to 0"]
        );
    }
}
