//! Parts of targets: names with a scheme and a port, hosts with a port, paths and queries.

use std::fmt::Write;
use std::net::{IpAddr, Ipv4Addr};

/// `name`, `name:port` or `scheme:name:port`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Named<'a> {
    /// Empty, `http` or `https`.
    pub(crate) scheme: &'a str,
    pub(crate) name: &'a str,
    /// A number or a name; empty if there is none.
    pub(crate) port: &'a str,
}

impl<'a> Named<'a> {
    pub(crate) fn parse(id: &'a str) -> Option<Named<'a>> {
        let parts: Vec<&str> = id.split(':').collect();
        let (scheme, name, port) = match parts[..] {
            [name] => ("", name, ""),
            [name, port] => ("", name, port),
            [scheme, name, port] => (scheme, name, port),
            _ => return None,
        };
        (!name.is_empty() && matches!(scheme, "" | "http" | "https")).then_some(Named { scheme, name, port })
    }
}

/// Returns a host and a port as they stand in a URL; without a port, the host alone.
pub(crate) fn host_and_port(host: &str, port: &str) -> String {
    let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
    if port.is_empty() { host } else { format!("{host}:{port}") }
}

/// Parses an address as the reference does, which takes leading zeros for decimal.
pub(crate) fn sloppy_address(text: &str) -> Option<IpAddr> {
    if let Ok(address) = text.parse() {
        return Some(address);
    }
    let parts: Vec<u8> = text.split('.').map(|part| part.parse().ok()).collect::<Option<_>>()?;
    <[u8; 4]>::try_from(parts).ok().map(|parts| Ipv4Addr::from(parts).into())
}

/// Escapes a path as Go does where it has only the decoded path.
pub(crate) fn escaped_path(path: &str) -> String {
    escaped(path, |byte| b"-_.~$&+,/:;=@".contains(&byte))
}

/// Escapes the value of a parameter as Go does.
pub(crate) fn escaped_value(value: &str) -> String {
    escaped(value, |byte| b"-_.~".contains(&byte)).replace("%20", "+")
}

fn escaped(text: &str, stays: impl Fn(u8) -> bool) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || stays(byte) {
            escaped.push(char::from(byte));
        } else {
            let _ = write!(escaped, "%{byte:02X}");
        }
    }
    escaped
}

/// Returns a query of these parameters, sorted by name as Go does.
pub(crate) fn query(mut parameters: Vec<(&str, String)>) -> String {
    parameters.sort_by_key(|(name, _)| *name);
    let pairs: Vec<String> =
        parameters.iter().map(|(name, value)| format!("{name}={}", escaped_value(value))).collect();
    pairs.join("&")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_has_a_name_and_may_have_a_scheme_and_a_port() {
        let named = |scheme, name, port| Some(Named { scheme, name, port });
        for (id, expect) in [
            ("a", named("", "a", "")),
            ("a:80", named("", "a", "80")),
            ("https:a:web", named("https", "a", "web")),
            (":a:", named("", "a", "")),
            ("ftp:a:80", None),
            ("", None),
            (":80", None),
            ("a:b:c:d", None),
        ] {
            assert_eq!(Named::parse(id), expect, "{id}");
        }
    }

    #[test]
    fn paths_and_queries_are_escaped_as_in_go() {
        assert_eq!(escaped_path("/a b/ü?x=(1)!"), "/a%20b/%C3%BC%3Fx=%281%29%21");
        let parameters = vec![("tty", "1".to_owned()), ("command", "a b&c".into()), ("command", "d".into())];
        assert_eq!(query(parameters), "command=a+b%26c&command=d&tty=1");
    }

    #[test]
    fn addresses_are_read_as_the_reference_reads_them() {
        assert_eq!(sloppy_address("010.0.0.01"), Some(Ipv4Addr::new(10, 0, 0, 1).into()));
        assert_eq!(sloppy_address("::1"), "::1".parse().ok());
        for bad in ["", "1.2.3", "1.2.3.4.5", "a.b.c.d", "localhost"] {
            assert_eq!(sloppy_address(bad), None);
        }
        assert_eq!(host_and_port("::1", "80"), "[::1]:80");
        assert_eq!(host_and_port("a", ""), "a");
    }
}
