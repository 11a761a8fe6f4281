//! Links of a server behind a proxy, rewritten so that they lead through it.
//!
//! A server at `http://10.0.0.7:80/` that is seen as `/api/v1/namespaces/a/services/s/proxy/` does not know that, and redirects to
//! `/login`. The client must be sent to `/api/v1/namespaces/a/services/s/proxy/login`.

use http::Response;
use http::header::{
    ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS,
    ACCESS_CONTROL_ALLOW_ORIGIN, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName,
    HeaderValue, LOCATION,
};
use http_body_util::BodyExt;

use super::html::{Coding, Page};
use super::{Error, ProxiedBody};
use crate::Url;

const FORWARDED_URI: HeaderName = HeaderName::from_static("x-forwarded-uri");
const FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// The place at which clients see the server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rewriting {
    /// Empty: links stay without a scheme.
    pub scheme: String,
    /// Empty: links stay without a host.
    pub host: String,
    /// The path before that of the server, without a slash at its end.
    pub prefix: String,
}

impl Rewriting {
    /// Tells the server where it is seen.
    pub(super) fn announce(&self, headers: &mut HeaderMap, url: &Url) {
        let mut uri = clean(&format!("{}/{}", self.prefix, url.path()));
        if url.path().ends_with('/') {
            uri.push('/');
        }
        for (name, value) in
            [(FORWARDED_URI, &uri), (FORWARDED_HOST, &self.host), (FORWARDED_PROTO, &self.scheme)]
        {
            if let Ok(value) = HeaderValue::try_from(value)
                && !value.is_empty()
            {
                headers.insert(name, value);
            }
        }
    }

    /// Rewrites the `Location` of an answer, and removes permissions that the server has no right to give for this origin.
    pub(super) fn rewrite_head(
        &self,
        headers: &mut HeaderMap,
        source: &Url,
        asked: Option<&HeaderValue>,
    ) -> Result<(), Error> {
        for name in [
            ACCESS_CONTROL_ALLOW_CREDENTIALS,
            ACCESS_CONTROL_ALLOW_HEADERS,
            ACCESS_CONTROL_ALLOW_METHODS,
            ACCESS_CONTROL_ALLOW_ORIGIN,
        ] {
            headers.remove(name);
        }
        let Some(location) = headers.get(LOCATION).filter(|location| !location.is_empty()) else {
            return Ok(());
        };
        let invalid = |why: &str| Error::Location(format!("parse: {why}"));
        let text = location.to_str().map_err(|_| invalid("invalid control character in URL"))?;
        let asked = asked.and_then(|host| host.to_str().ok()).unwrap_or_default();
        let rewritten = self.link(text, &source.authority(), asked).ok_or_else(|| invalid("invalid URL"))?;
        let rewritten = HeaderValue::try_from(rewritten).map_err(|error| invalid(&error.to_string()))?;
        headers.insert(LOCATION, rewritten);
        Ok(())
    }

    /// Rewrites the links of an HTML page. A page that redirects is not looked at, nor one in an encoding that is not known.
    pub(super) fn rewrite_page(
        &self,
        response: Response<ProxiedBody>,
        source: &Url,
        asked: Option<&HeaderValue>,
    ) -> Response<ProxiedBody> {
        let headers = response.headers();
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let is_html = text(CONTENT_TYPE).split(';').next().is_some_and(|kind| kind.trim() == "text/html");
        let coding = Coding::named(text(CONTENT_ENCODING)).filter(|_| is_html && text(LOCATION).is_empty());
        let Some(coding) = coding else { return response };
        let (own, source) = (self.clone(), source.authority());
        let asked = asked.and_then(|host| host.to_str().ok()).unwrap_or_default().to_owned();
        let rewrite = move |link: &str| own.link(link, &source, &asked);
        let mut page = response.map(|body| Page::new(body, coding, Box::new(rewrite)).boxed_unsync());
        page.headers_mut().remove(CONTENT_LENGTH);
        page
    }

    /// Rewrites a link on a page of `source`, which the client has asked as `asked`; both are hosts with ports. A link to another
    /// host, or relative to the page, stays what it is. `None` if it is no URL.
    pub(super) fn link(&self, text: &str, source: &str, asked: &str) -> Option<String> {
        let mut link = Link::parse(text)?;
        let is_elsewhere = link.host.is_some_and(|host| host != source && host != asked);
        if is_elsewhere || !link.path.starts_with('/') {
            return Some(text.to_owned());
        }
        let stays = link.host == Some(asked) && self.scheme.is_empty() && self.host.is_empty();
        if !stays {
            link.scheme = Some(&*self.scheme).filter(|scheme| !scheme.is_empty());
            link.host = Some(&*self.host).filter(|host| !host.is_empty());
        }
        let mut path = link.path.to_owned();
        if !path.starts_with(&self.prefix) {
            path = clean(&format!("{}/{}", self.prefix, link.path));
            if link.path.ends_with('/') && !path.ends_with('/') {
                path.push('/');
            }
        }
        Some(link.with_path(&path))
    }
}

/// A link, taken apart as far as is needed here.
struct Link<'a> {
    scheme: Option<&'a str>,
    host: Option<&'a str>,
    path: &'a str,
    /// The query and the fragment, with the characters that begin them.
    rest: &'a str,
}

impl<'a> Link<'a> {
    fn parse(text: &'a str) -> Option<Link<'a>> {
        if text.bytes().any(|byte| byte < b' ' || byte == 0x7f) {
            return None;
        }
        let end = text.find(['?', '#']).unwrap_or(text.len());
        let (before, rest) = text.split_at(end);
        let is_scheme = |scheme: &str| {
            scheme.starts_with(|first: char| first.is_ascii_alphabetic())
                && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
        };
        let (scheme, after) = match before.split_once(':') {
            Some((scheme, after)) if is_scheme(scheme) => (Some(scheme), after),
            // Go: "first path segment in URL cannot contain colon", or "missing protocol scheme".
            Some((first, _)) if !first.contains('/') => return None,
            _ => (None, before),
        };
        let (host, path) = match after.strip_prefix("//") {
            Some(after) => {
                let (host, path) = after.split_at(after.find('/').unwrap_or(after.len()));
                (Some(host), path)
            }
            None => (None, after),
        };
        Some(Link { scheme, host, path, rest })
    }

    fn with_path(&self, path: &str) -> String {
        let scheme = self.scheme.map(|scheme| format!("{scheme}:")).unwrap_or_default();
        let host = self.host.map(|host| format!("//{host}")).unwrap_or_default();
        format!("{scheme}{host}{path}{}", self.rest)
    }
}

/// Returns a path without empty segments, `.` and `..`, and without a slash at its end.
fn clean(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => drop(kept.pop()),
            other => kept.push(other),
        }
    }
    format!("/{}", kept.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PREFIX: &str = "/api/v1/namespaces/a/services/s/proxy";

    #[test]
    fn links_to_the_server_lead_through_the_proxy() {
        let check = |rewriting: &Rewriting, link: &str, expect: Option<&str>| {
            let rewritten = rewriting.link(link, "10.0.0.7:80", "localhost:8001");
            assert_eq!(rewritten.as_deref(), expect, "{link}");
        };
        let own = Rewriting { prefix: PREFIX.into(), ..Rewriting::default() };
        let at = |rest: &str| format!("{PREFIX}{rest}");
        check(&own, "/login?a=b#c", Some(&at("/login?a=b#c")));
        check(&own, "/login/", Some(&at("/login/")));
        check(&own, "/", Some(&at("/")));
        check(&own, "login", Some("login"));
        check(&own, "", Some(""));
        check(&own, "http://10.0.0.7:80/x", Some(&at("/x")));
        check(&own, "http://localhost:8001/x", Some(&format!("http://localhost:8001{PREFIX}/x")));
        check(&own, "http://elsewhere/x", Some("http://elsewhere/x"));
        check(&own, "//elsewhere/x", Some("//elsewhere/x"));
        check(&own, &at("/x"), Some(&at("/x")));
        check(&own, "/a/../b", Some(&at("/b")));
        check(&own, "mailto:a@b", Some("mailto:a@b"));
        check(&own, ":x", None);
        check(&own, "/a\r\nb", None);
        let named = Rewriting { scheme: "https".into(), host: "api:443".into(), ..own };
        check(&named, "/x", Some(&format!("https://api:443{PREFIX}/x")));
        check(&named, "http://localhost:8001/x", Some(&format!("https://api:443{PREFIX}/x")));
    }
}
