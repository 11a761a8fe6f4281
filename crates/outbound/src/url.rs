//! Where to call: an http or https URL, taken apart once.

use std::fmt;

use http::Uri;

use crate::Failure;

/// An absolute URL without credentials or fragment.
#[derive(Clone, PartialEq, Eq)]
pub struct Url {
    pub(crate) https: bool,
    /// Without the brackets of an IPv6 address.
    pub(crate) host: String,
    pub(crate) port: Option<u16>,
    /// Begins with a slash.
    path: String,
    /// Without the question mark; empty if there is none.
    query: String,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct InvalidUrl {
    reason: String,
}

impl Url {
    pub fn parse(text: &str) -> Result<Url, InvalidUrl> {
        let bad =
            |reason: &str| InvalidUrl { reason: format!("parse {}: {reason}", pintle_meta::quote(text)) };
        // A fragment is never sent.
        let text_without_fragment = text.split('#').next().unwrap_or_default();
        let uri: Uri =
            text_without_fragment.parse().map_err(|error: http::uri::InvalidUri| bad(&error.to_string()))?;
        let https = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            Some(_) => return Err(bad("unsupported protocol scheme")),
            None => return Err(bad("no scheme: it must begin with https://")),
        };
        let authority = uri.authority().ok_or_else(|| bad("no host in request URL"))?;
        // It would end up in messages and logs.
        if authority.as_str().contains('@') {
            return Err(InvalidUrl { reason: "parse: user and password are not allowed in a URL".into() });
        }
        let host = authority.host().trim_start_matches('[').trim_end_matches(']');
        if host.is_empty() {
            return Err(bad("no host in request URL"));
        }
        let has_port = authority.as_str().len() > authority.host().len();
        if has_port && authority.port_u16().is_none() {
            return Err(bad("invalid port"));
        }
        let path = match uri.path() {
            "" => "/",
            path => path,
        };
        Ok(Url {
            https,
            host: host.to_ascii_lowercase(),
            port: authority.port_u16(),
            path: path.to_owned(),
            query: uri.query().unwrap_or_default().to_owned(),
        })
    }

    /// The same place under another path, which must begin with a slash.
    #[must_use]
    pub fn with_path(&self, path: &str) -> Url {
        Url { path: path.to_owned(), query: String::new(), ..self.clone() }
    }

    #[must_use]
    pub fn with_query(&self, query: &str) -> Url {
        Url { query: query.to_owned(), ..self.clone() }
    }

    pub fn is_https(&self) -> bool {
        self.https
    }

    pub fn host(&self) -> &str {
        &self.host
    }

    pub fn path(&self) -> &str {
        &self.path
    }

    pub(crate) fn port(&self) -> u16 {
        self.port.unwrap_or(if self.https { 443 } else { 80 })
    }

    pub(crate) fn same_origin(&self, other: &Url) -> bool {
        self.https == other.https && self.host == other.host && self.port() == other.port()
    }

    /// Host and, unless it is the scheme's own, port, as the `Host` header has them.
    pub(crate) fn authority(&self) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        match self.port {
            Some(port) => format!("{host}:{port}"),
            None => host,
        }
    }

    pub(crate) fn path_and_query(&self) -> String {
        match self.query.as_str() {
            "" => self.path.clone(),
            query => format!("{}?{query}", self.path),
        }
    }

    /// Returns the absolute form, for the target of a request.
    pub(crate) fn uri(&self) -> Result<Uri, Failure> {
        let scheme = if self.https { "https" } else { "http" };
        format!("{scheme}://{}{}", self.authority(), self.path_and_query())
            .parse()
            .map_err(|error: http::uri::InvalidUri| Failure::Protocol(error.to_string()))
    }

    /// Resolves the `Location` of a response from this URL.
    pub(crate) fn join(&self, location: &str) -> Result<Url, InvalidUrl> {
        if location.contains("://") {
            return Url::parse(location);
        }
        if let Some(rest) = location.strip_prefix("//") {
            return Url::parse(&format!("{}://{rest}", if self.https { "https" } else { "http" }));
        }
        let scheme = if self.https { "https" } else { "http" };
        let directory = self.path.rsplit_once('/').map_or("", |(directory, _)| directory);
        let path =
            if location.starts_with('/') { location.to_owned() } else { format!("{directory}/{location}") };
        Url::parse(&format!("{scheme}://{}{path}", self.authority()))
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.https { "https" } else { "http" };
        // `https://host` stays as it was written; a path of one slash says nothing more.
        let path = match (self.path.as_str(), self.query.is_empty()) {
            ("/", true) => String::new(),
            _ => self.path_and_query(),
        };
        write!(f, "{scheme}://{}{path}", self.authority())
    }
}

impl fmt::Debug for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_taken_apart_and_put_together() {
        let url = Url::parse("https://[::1]:8443/a/b?x=1#frag").unwrap();
        assert_eq!((url.host(), url.port(), url.path()), ("::1", 8443, "/a/b"));
        assert_eq!(url.to_string(), "https://[::1]:8443/a/b?x=1");
        assert_eq!(Url::parse("https://Example.com").unwrap().to_string(), "https://example.com");
        assert_eq!(Url::parse("http://a").unwrap().port(), 80);
    }

    #[test]
    fn invalid_urls_are_refused_without_their_password() {
        for bad in ["", "a.example", "ftp://a", "https://", "https://a:b", "https:///x"] {
            assert!(Url::parse(bad).is_err(), "{bad}");
        }
        let error = Url::parse("https://user:secret@a/").unwrap_err().to_string();
        assert!(!error.contains("secret"), "{error}");
    }

    #[test]
    fn a_location_is_relative_to_where_it_was_found() {
        let check = |location: &str, expect: &str| {
            assert_eq!(Url::parse("https://a:1/b/c").unwrap().join(location).unwrap().to_string(), expect);
        };
        check("/x", "https://a:1/x");
        check("x?y", "https://a:1/b/x?y");
        check("https://z/", "https://z");
        check("//z/y", "https://z/y");
    }
}
