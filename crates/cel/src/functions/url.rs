//! URLs, parsed as Go's `net/url` does.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use pintle_meta::quote;

use super::Declared;
use crate::evaluate::Call;
use crate::meter::{Failure, Outcome};
use crate::types::Type;
use crate::value::{Key, Map, Other, Text, Val, opaque};

/// Parsed URL.
#[derive(Clone, Debug, Default)]
pub struct Url {
    scheme: String,
    opaque: String,
    user: Option<String>,
    host: String,
    /// Unescaped; may be any bytes.
    path: Vec<u8>,
    /// The escaped path, if it differs from the default escaping of the path.
    raw_path: String,
    query: String,
    forced_query: bool,
    fragment: String,
}

opaque!(Url, Type::Named("kubernetes.URL"));

pub(super) const FUNCTIONS: &[Declared] = &[
    Declared { name: "url", overloads: &[("string_to_url", "string -> kubernetes.URL")], run: url },
    Declared {
        name: "isURL",
        overloads: &[("is_url_string", "string -> bool")],
        run: |call, args| match args {
            [Val::String(text)] => Ok(Val::Bool(request_uri(text).is_ok())),
            _ => call.no_such_overload(args),
        },
    },
    Declared {
        name: "getScheme",
        overloads: &[("url_get_scheme", ".kubernetes.URL -> string")],
        run: |call, args| of(call, args, |url| Val::string(url.scheme.clone())),
    },
    Declared {
        name: "getHost",
        overloads: &[("url_get_host", ".kubernetes.URL -> string")],
        run: |call, args| of(call, args, |url| Val::string(url.host.clone())),
    },
    Declared {
        name: "getHostname",
        overloads: &[("url_get_hostname", ".kubernetes.URL -> string")],
        run: |call, args| of(call, args, |url| Val::string(url.host_and_port().0.to_owned())),
    },
    Declared {
        name: "getPort",
        overloads: &[("url_get_port", ".kubernetes.URL -> string")],
        run: |call, args| of(call, args, |url| Val::string(url.host_and_port().1.to_owned())),
    },
    Declared {
        name: "getEscapedPath",
        overloads: &[("url_get_escaped_path", ".kubernetes.URL -> string")],
        run: |call, args| of(call, args, |url| Val::string(url.escaped_path())),
    },
    Declared {
        name: "getQuery",
        overloads: &[("url_get_query", ".kubernetes.URL -> map(string, list(string))")],
        run: |call, args| of(call, args, Url::query),
    },
];

fn url<'v>(call: &mut Call<'_, '_>, args: &[Val<'v>]) -> Outcome<'v> {
    let [Val::String(text)] = args else { return call.no_such_overload(args) };
    call.meter.work(text.len())?;
    // Parsed twice, since a request URI has no fragment.
    match request_uri(text).and_then(|_| Url::parse(text)) {
        Ok(url) => Ok(Val::Other(Other::new(url))),
        Err(problem) => Failure::error(format!("URL parse error during conversion from string: {problem}")),
    }
}

fn of<'v>(call: &mut Call<'_, '_>, args: &[Val<'v>], then: fn(&Url) -> Val<'static>) -> Outcome<'v> {
    match args {
        [Val::Other(other)] if let Some(url) = other.downcast::<Url>() => Ok(then(url)),
        _ => call.no_such_overload(args),
    }
}

/// Parses a request URI: an absolute URL or path.
pub(super) fn request_uri(text: &str) -> Result<Url, String> {
    parse(text, true).map_err(|problem| format!("parse {}: {problem}", quote(text)))
}

/// Component of a URL, which determines the bytes that are escaped.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Path,
    Host,
    User,
    Query,
    Fragment,
}

fn parse(text: &str, of_request: bool) -> Result<Url, String> {
    if text.bytes().any(|b| b < b' ' || b == 0x7f) {
        return Err("net/url: invalid control character in URL".to_owned());
    }
    if text.is_empty() && of_request {
        return Err("empty url".to_owned());
    }
    let mut url = Url::default();
    if text == "*" {
        url.path = b"*".to_vec();
        return Ok(url);
    }
    let (scheme, mut rest) = scheme(text)?;
    url.scheme = scheme.to_ascii_lowercase();
    if rest.ends_with('?') && rest.matches('?').count() == 1 {
        url.forced_query = true;
        rest = &rest[..rest.len() - 1];
    } else if let Some((before, query)) = rest.split_once('?') {
        query.clone_into(&mut url.query);
        rest = before;
    }
    if !rest.starts_with('/') {
        if !url.scheme.is_empty() {
            rest.clone_into(&mut url.opaque);
            return Ok(url);
        }
        if of_request {
            return Err("invalid URI for request".to_owned());
        }
        if rest.split('/').next().is_some_and(|segment| segment.contains(':')) {
            return Err("first path segment in URL cannot contain colon".to_owned());
        }
    }
    if (!url.scheme.is_empty() || (!of_request && !rest.starts_with("///")))
        && let Some(after) = rest.strip_prefix("//")
    {
        let (authority, path) = after.split_at(after.find('/').unwrap_or(after.len()));
        (url.user, url.host) = user_and_host(authority)?;
        rest = path;
    }
    url.path = unescape(rest, Mode::Path)?;
    if escape(&url.path, Mode::Path) != rest {
        rest.clone_into(&mut url.raw_path);
    }
    Ok(url)
}

fn scheme(text: &str) -> Result<(&str, &str), String> {
    for (index, c) in text.char_indices() {
        match c {
            'a'..='z' | 'A'..='Z' => {}
            '0'..='9' | '+' | '-' | '.' if index > 0 => {}
            ':' if index == 0 => return Err("missing protocol scheme".to_owned()),
            ':' => return Ok((&text[..index], &text[index + 1..])),
            _ => break,
        }
    }
    Ok(("", text))
}

fn user_and_host(text: &str) -> Result<(Option<String>, String), String> {
    let Some((user, host)) = text.rsplit_once('@') else { return Ok((None, host_of(text)?)) };
    let host = host_of(host)?;
    let valid = |b: u8| b.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(&b);
    if !user.bytes().all(valid) {
        return Err("net/url: invalid userinfo".to_owned());
    }
    for part in user.splitn(2, ':') {
        unescape(part, Mode::User)?;
    }
    Ok((Some(user.to_owned()), host))
}

fn is_port(text: &str) -> bool {
    text.is_empty() || text.strip_prefix(':').is_some_and(|port| port.bytes().all(|b| b.is_ascii_digit()))
}

fn host_of(text: &str) -> Result<String, String> {
    let port = if text.starts_with('[') {
        let end = text.rfind(']').ok_or("missing ']' in host")?;
        &text[end + 1..]
    } else {
        &text[text.rfind(':').unwrap_or(text.len())..]
    };
    if !is_port(port) {
        return Err(format!("invalid port {} after host", quote(port)));
    }
    let host = unescape(text, Mode::Host)?;
    Ok(String::from_utf8_lossy(&host).into_owned())
}

fn must_escape(byte: u8, mode: Mode) -> bool {
    if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
        return false;
    }
    match mode {
        Mode::Host => !b"!$&'()*+,;=:[]<>\"".contains(&byte),
        Mode::Path => !b"$&+,/:;=@".contains(&byte),
        Mode::User => !b"$&+,;=".contains(&byte),
        Mode::Query => true,
        Mode::Fragment => !b"$&+,/:;=?@!()*".contains(&byte),
    }
}

fn escape(bytes: &[u8], mode: Mode) -> String {
    let mut out = String::with_capacity(bytes.len());
    for byte in bytes {
        if must_escape(*byte, mode) {
            out.push_str(&format!("%{byte:02X}"));
        } else {
            out.push(char::from(*byte));
        }
    }
    out
}

fn unescape(text: &str, mode: Mode) -> Result<Vec<u8>, String> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'%' => {
                let shown = || {
                    let end = (at + 3).min(bytes.len());
                    format!("invalid URL escape {}", quote(&String::from_utf8_lossy(&bytes[at..end])))
                };
                let digit = |index: usize| bytes.get(index).and_then(|b| char::from(*b).to_digit(16));
                let (Some(high), Some(low)) = (digit(at + 1), digit(at + 2)) else { return Err(shown()) };
                if mode == Mode::Host && high < 8 && &bytes[at..at + 3] != b"%25" {
                    return Err(shown());
                }
                out.push((high * 16 + low) as u8);
                at += 3;
            }
            b'+' if mode == Mode::Query => {
                out.push(b' ');
                at += 1;
            }
            byte => {
                if mode == Mode::Host && byte < 0x80 && must_escape(byte, mode) {
                    let shown = quote(&char::from(byte).to_string());
                    return Err(format!("invalid character {shown} in host name"));
                }
                out.push(byte);
                at += 1;
            }
        }
    }
    Ok(out)
}

impl Url {
    /// Parses any URL reference, also a relative one.
    pub fn parse(text: &str) -> Result<Url, String> {
        let (rest, fragment) = text.split_once('#').unwrap_or((text, ""));
        let mut url = parse(rest, false).map_err(|problem| format!("parse {}: {problem}", quote(rest)))?;
        unescape(fragment, Mode::Fragment).map_err(|problem| format!("parse {}: {problem}", quote(text)))?;
        fragment.clone_into(&mut url.fragment);
        Ok(url)
    }

    /// Parses a request URI: an absolute URL or path.
    pub fn parse_request(text: &str) -> Result<Url, String> {
        request_uri(text)
    }

    /// In lower case.
    pub fn scheme(&self) -> &str {
        &self.scheme
    }

    /// With its port.
    pub fn host(&self) -> &str {
        &self.host
    }

    pub fn user(&self) -> Option<&str> {
        self.user.as_deref()
    }

    /// As it was written.
    pub fn fragment(&self) -> &str {
        &self.fragment
    }

    /// As it was written.
    pub fn query_text(&self) -> &str {
        &self.query
    }

    fn host_and_port(&self) -> (&str, &str) {
        let (mut host, mut port) = (self.host.as_str(), "");
        if let Some(colon) = host.rfind(':')
            && is_port(&host[colon..])
        {
            (host, port) = (&host[..colon], &host[colon + 1..]);
        }
        let inside = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        (inside.unwrap_or(host), port)
    }

    fn escaped_path(&self) -> String {
        let valid = |b: u8| b"!$&'()*+,;=:@[]%".contains(&b) || !must_escape(b, Mode::Path);
        if !self.raw_path.is_empty() && self.raw_path.bytes().all(valid) {
            return self.raw_path.clone();
        }
        if self.path == b"*" {
            return "*".to_owned();
        }
        escape(&self.path, Mode::Path)
    }

    fn query(&self) -> Val<'static> {
        let mut values: BTreeMap<String, Vec<Val<'static>>> = BTreeMap::new();
        for pair in self.query.split('&').filter(|pair| !pair.is_empty() && !pair.contains(';')) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (Ok(key), Ok(value)) = (unescape(key, Mode::Query), unescape(value, Mode::Query)) else {
                continue;
            };
            let value = Val::string(String::from_utf8_lossy(&value).into_owned());
            values.entry(String::from_utf8_lossy(&key).into_owned()).or_default().push(value);
        }
        let entries = values.into_iter().map(|(key, values)| {
            let key = Text::from(key);
            (Key::String(key.clone()), (Val::String(key), Val::list(values)))
        });
        Val::Map(Map::Entries(Arc::new(entries.collect())))
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.scheme.is_empty() {
            write!(f, "{}:", self.scheme)?;
        }
        if self.opaque.is_empty() {
            let path = self.escaped_path();
            if !self.host.is_empty() || self.user.is_some() {
                f.write_str("//")?;
                if let Some(user) = &self.user {
                    write!(f, "{user}@")?;
                }
                f.write_str(&escape(self.host.as_bytes(), Mode::Host))?;
            }
            f.write_str(&path)?;
        } else {
            f.write_str(&self.opaque)?;
        }
        if self.forced_query || !self.query.is_empty() {
            write!(f, "?{}", self.query)?;
        }
        if self.fragment.is_empty() { Ok(()) } else { write!(f, "#{}", self.fragment) }
    }
}

impl PartialEq for Url {
    fn eq(&self, other: &Url) -> bool {
        self.to_string() == other.to_string()
    }
}
