//! Names of container images, as far as it takes to know which tag they mean.

/// Whether an image's tag is `latest`, because it says so or says nothing. What is no name of an image has no tag.
pub(in crate::core) fn is_latest(image: &str) -> bool {
    tag(image) == Some("latest")
}

/// The tag of an image: `Some("latest")` where neither tag nor digest is given, `Some("")` where only a digest is.
fn tag(image: &str) -> Option<&str> {
    // The id of an image could be mistaken for a name.
    if image.len() == 64 && is_lower_hex(image) {
        return None;
    }
    let (domain, path) = split_domain(image);
    let (path, digest) = match path.split_once('@') {
        Some((path, digest)) => (path, Some(digest)),
        None => (path, None),
    };
    if !digest.is_none_or(is_digest) {
        return None;
    }
    let last = path.rfind('/').map_or(0, |slash| slash + 1);
    let (path, tag) = match path[last..].split_once(':') {
        Some((name, tag)) => (&path[..last + name.len()], Some(tag)),
        None => (path, None),
    };
    if !tag.is_none_or(is_tag) || !is_name(domain, path) {
        return None;
    }
    match (tag, digest) {
        (Some(tag), _) => Some(tag),
        (None, Some(_)) => Some(""),
        (None, None) => Some("latest"),
    }
}

/// The registry, if the first part of the name is one, and the rest.
fn split_domain(image: &str) -> (Option<&str>, &str) {
    match image.split_once('/') {
        Some((first, rest))
            if first == "localhost" || first.contains(['.', ':']) || first.to_lowercase() != first =>
        {
            (Some(first), rest)
        }
        _ => (None, image),
    }
}

/// Of a whole path.
const MAX_NAME: usize = 255;

fn is_name(domain: Option<&str>, path: &str) -> bool {
    // Docker Hub is where images are from that name no registry; those without a slash are in its `library/`.
    const LIBRARY: usize = "library/".len();
    let is_path = path.split('/').all(is_path_component);
    let hub = domain.is_none_or(|domain| domain == "docker.io" || domain == "index.docker.io");
    match domain {
        _ if !is_path => false,
        _ if hub => path.len() + if path.contains('/') { 0 } else { LIBRARY } <= MAX_NAME,
        Some(domain) if is_domain(domain) => path.len() <= MAX_NAME,
        // Something with a dot that is no host can still be the first part of the path.
        Some(domain) => is_path_component(domain) && domain.len() + 1 + path.len() <= MAX_NAME,
        None => false,
    }
}

/// Lowercase letters and digits, with a dot, one or two underscores, or dashes between.
fn is_path_component(component: &str) -> bool {
    let alphanumeric = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = component.as_bytes();
    let ends = bytes.first().is_some_and(|byte| alphanumeric(*byte))
        && bytes.last().is_some_and(|byte| alphanumeric(*byte));
    ends && bytes.split(|byte| alphanumeric(*byte)).all(|between| {
        matches!(between, b"" | b"." | b"_" | b"__") || between.iter().all(|byte| *byte == b'-')
    })
}

/// A host name or address, with or without a port.
fn is_domain(domain: &str) -> bool {
    let (host, port) = match domain.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (domain, None),
    };
    if !port.is_none_or(|port| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit())) {
        return false;
    }
    if let Some(address) = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
        return !address.is_empty() && address.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b':');
    }
    host.split('.').all(|label| {
        !label.is_empty()
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    })
}

fn is_tag(tag: &str) -> bool {
    let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    (1..=128).contains(&tag.len())
        && tag.bytes().next().is_some_and(word)
        && tag.bytes().all(|byte| word(byte) || matches!(byte, b'.' | b'-'))
}

/// Only of the algorithms that the reference knows.
fn is_digest(digest: &str) -> bool {
    let digits = |algorithm: &str| {
        digest
            .strip_prefix(algorithm)
            .and_then(|rest| rest.strip_prefix(':'))
            .filter(|rest| is_lower_hex(rest))
    };
    [("sha256", 64), ("sha384", 96), ("sha512", 128)]
        .iter()
        .any(|(algorithm, length)| digits(algorithm).is_some_and(|digits| digits.len() == *length))
}

fn is_lower_hex(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_found_and_latest_assumed() {
        let digest = format!("sha256:{}", "a".repeat(64));
        for (image, expected) in [
            ("nginx", Some("latest")),
            ("nginx:latest", Some("latest")),
            ("nginx:1.25", Some("1.25")),
            ("library/nginx", Some("latest")),
            ("docker.io/nginx:v1", Some("v1")),
            ("registry:5000/a/b", Some("latest")),
            ("registry:5000/a/b:v2", Some("v2")),
            ("[::1]:5000/a:v2", Some("v2")),
            ("[fe80::1]/a", Some("latest")),
            ("localhost/a:v1", Some("v1")),
            ("UPPER/a:v1", Some("v1")),
            ("my_host.com/a:v1", Some("v1")),
            ("a__b--c.d_e", Some("latest")),
            ("host-1.example.com:80/x/y/z:_t.-", Some("_t.-")),
            ("127.0.0.1/a", Some("latest")),
        ] {
            assert_eq!(tag(image), expected, "{image}");
        }
        assert_eq!(tag(&format!("nginx@{digest}")), Some(""));
        assert_eq!(tag(&format!("nginx:latest@{digest}")), Some("latest"));
        assert_eq!(tag(&format!("h:1/nginx@{digest}")), Some(""));
        assert_eq!(tag(&format!("nginx:{}", "t".repeat(128))), Some(&*"t".repeat(128)));
        assert_eq!(tag(&"n".repeat(247)), Some("latest"));
        assert_eq!(tag(&format!("example.com/{}", "n".repeat(255))), Some("latest"));
    }

    #[test]
    fn what_is_no_image_name_has_no_tag() {
        for image in [
            "",
            "/",
            "a/",
            "/a",
            "a//b",
            "Nginx",
            "a/B",
            "a b",
            "-a",
            "a-",
            "a..b",
            "a___b",
            "a._b",
            "nginx:",
            "nginx:-a",
            "nginx:a:b",
            "nginx@",
            "nginx@sha256:abc",
            "nginx@md5:0123456789abcdef0123456789abcdef",
            "host:port/a",
            "host:/a",
            ":80/a",
            "[]/a",
            "[g]/a",
            "-h.com/a",
            "h..com/a",
            "localhost/",
            "nginx\n",
            "n\u{e9}",
            "\u{130}/a",
        ] {
            assert_eq!(tag(image), None, "{image:?}");
        }
        assert_eq!(tag(&"a".repeat(64)), None);
        assert_eq!(tag(&format!("nginx:{}", "t".repeat(129))), None);
        assert_eq!(tag(&"n".repeat(248)), None);
        assert_eq!(tag(&format!("example.com/{}", "n".repeat(256))), None);
        assert_eq!(tag(&format!("nginx@sha256:{}", "A".repeat(64))), None);
    }
}
