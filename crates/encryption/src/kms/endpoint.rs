//! The endpoint of a plugin: `unix:///path/to/socket`, or `unix:///@name` for a socket without a file.

use percent_encoding::percent_decode_str;
use pintle_meta::quote;

/// The parts of an endpoint that matter.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Endpoint {
    pub(crate) scheme: String,
    path: String,
}

impl Endpoint {
    /// Takes an endpoint apart as Go's `url.Parse` does.
    pub(crate) fn parse(text: &str) -> Result<Endpoint, String> {
        let failed = |why: &str| Err(format!("parse {}: {why}", quote(text)));
        if text.bytes().any(|byte| byte < b' ' || byte == 0x7f) {
            return failed("net/url: invalid control character in URL");
        }
        let is_scheme = |scheme: &str| {
            scheme.starts_with(|first: char| first.is_ascii_alphabetic())
                && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
        };
        let (scheme, rest) = match text.split_once(':') {
            Some(("", _)) => return failed("missing protocol scheme"),
            Some((scheme, rest)) if is_scheme(scheme) => (scheme.to_ascii_lowercase(), rest),
            Some((first, _)) if !first.contains('/') => {
                return failed("first path segment in URL cannot contain colon");
            }
            _ => (String::new(), text),
        };
        let rest = rest.split(['?', '#']).next().unwrap_or_default();
        let path = match rest.strip_prefix("//") {
            Some(rest) => rest.find('/').map_or("", |start| &rest[start..]),
            // Without slashes it is opaque and has no path.
            None if rest.starts_with('/') || scheme.is_empty() => rest,
            None => "",
        };
        let escapes = path.split('%').skip(1);
        let is_escape = |after: &str| after.len() > 1 && after.bytes().take(2).all(|b| b.is_ascii_hexdigit());
        if let Some(bad) = escapes.clone().find(|after| !is_escape(after)) {
            let shown: String = bad.chars().take(2).collect();
            return failed(&format!("invalid URL escape {}", quote(&format!("%{shown}"))));
        }
        let path = percent_decode_str(path).decode_utf8_lossy().into_owned();
        Ok(Endpoint { scheme, path })
    }
}

/// Returns the address of the socket of an endpoint: a path, or `@name` in the abstract namespace.
pub(crate) fn socket_of(endpoint: &str) -> Result<String, String> {
    if endpoint.is_empty() {
        return Err("remote KMS provider can't use empty string as endpoint".into());
    }
    let invalid = |why| format!("invalid endpoint {} for remote KMS provider, error: {why}", quote(endpoint));
    let parsed = Endpoint::parse(endpoint).map_err(invalid)?;
    if parsed.scheme != "unix" {
        return Err(format!("unsupported scheme {} for remote KMS provider", quote(&parsed.scheme)));
    }
    Ok(match parsed.path.strip_prefix('/') {
        Some(name) if name.starts_with('@') => name.to_owned(),
        _ => parsed.path,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_socket_of_an_endpoint_is_its_path() {
        assert_eq!(socket_of("unix:///run/kms.sock").as_deref(), Ok("/run/kms.sock"));
        assert_eq!(socket_of("unix:///a%20b").as_deref(), Ok("/a b"));
        assert_eq!(socket_of("unix:///@kms").as_deref(), Ok("@kms"));
        assert_eq!(socket_of("UNIX://host/run/kms.sock").as_deref(), Ok("/run/kms.sock"));
    }

    #[test]
    fn endpoints_that_are_none_are_refused_in_the_words_of_the_reference() {
        for (endpoint, why) in [
            ("", "remote KMS provider can't use empty string as endpoint"),
            ("/run/kms.sock", "unsupported scheme \"\" for remote KMS provider"),
            ("tcp://127.0.0.1:1", "unsupported scheme \"tcp\" for remote KMS provider"),
            (
                ":x",
                "invalid endpoint \":x\" for remote KMS provider, error: parse \":x\": missing protocol scheme",
            ),
            (
                "unix:///%zz",
                "invalid endpoint \"unix:///%zz\" for remote KMS provider, error: parse \"unix:///%zz\": invalid URL \
                 escape \"%zz\"",
            ),
        ] {
            assert_eq!(socket_of(endpoint).unwrap_err(), why);
        }
    }
}
