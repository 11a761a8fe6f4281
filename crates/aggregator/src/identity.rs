//! The headers in which other servers are told the user of a request. They trust them, because this server's certificate is that of
//! a front proxy.

use std::fmt::Write;

use http::header::{HeaderMap, HeaderName, HeaderValue};
use pintle_auth::User;

const USER: HeaderName = HeaderName::from_static("x-remote-user");
const UID: HeaderName = HeaderName::from_static("x-remote-uid");
const GROUP: HeaderName = HeaderName::from_static("x-remote-group");
const EXTRA: &str = "x-remote-extra-";

/// Returns the headers of a user.
///
/// Errors: a name or value cannot be sent in a header.
pub(crate) fn headers(user: &User, with_uid: bool) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    headers.insert(USER, value(&USER, &user.name)?);
    if with_uid && !user.uid.is_empty() {
        headers.insert(UID, value(&UID, &user.uid)?);
    }
    for group in &user.groups {
        headers.append(GROUP, value(&GROUP, group)?);
    }
    for (key, values) in &user.extra {
        let escaped = format!("{EXTRA}{}", escape(key));
        let name = HeaderName::from_bytes(escaped.as_bytes())
            .map_err(|_| format!("net/http: invalid header field name {}", pintle_meta::quote(&escaped)))?;
        for one in values {
            headers.append(&name, value(&name, one)?);
        }
    }
    Ok(headers)
}

/// Returns whether a header names a user: a client's own must not pass.
pub(crate) fn names_a_user(name: &HeaderName) -> bool {
    [USER, UID, GROUP].contains(name) || name.as_str().starts_with(EXTRA)
}

fn value(name: &HeaderName, text: &str) -> Result<HeaderValue, String> {
    HeaderValue::from_bytes(text.as_bytes()).map_err(|_| {
        format!("net/http: invalid header field value for {}", pintle_meta::quote(name.as_str()))
    })
}

/// Escapes the characters of a key that a header's name cannot have.
fn escape(key: &str) -> String {
    let mut escaped = String::with_capacity(key.len());
    for byte in key.bytes() {
        if byte.is_ascii_alphanumeric() || b"!#$&'*+-.^_`|~".contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            // Writing to a string does not fail.
            let _ = write!(escaped, "%{byte:02X}");
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user() -> User {
        User {
            name: "jürgen".into(),
            uid: "7".into(),
            groups: vec!["a".into(), "b".into()],
            extra: [("example.com/scope%".to_owned(), vec!["x".to_owned(), "y".to_owned()])].into(),
        }
    }

    #[test]
    fn a_user_has_headers() {
        let all = |headers: &HeaderMap, name: &str| -> Vec<String> {
            let values = headers.get_all(name).iter();
            values.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned()).collect()
        };
        let sent = headers(&user(), true).unwrap();
        assert_eq!(all(&sent, "x-remote-user"), ["jürgen"]);
        assert_eq!(all(&sent, "x-remote-uid"), ["7"]);
        assert_eq!(all(&sent, "x-remote-group"), ["a", "b"]);
        assert_eq!(all(&sent, "x-remote-extra-example.com%2fscope%25"), ["x", "y"]);
        assert!(all(&headers(&user(), false).unwrap(), "x-remote-uid").is_empty());
        assert!(sent.keys().all(names_a_user) && !names_a_user(&http::header::ACCEPT));
    }

    #[test]
    fn a_user_that_would_split_a_request_has_none() {
        let smuggler = User { name: "a\r\nX-Remote-User: b".into(), ..User::default() };
        let error = headers(&smuggler, true).unwrap_err();
        assert_eq!(error, r#"net/http: invalid header field value for "x-remote-user""#);
    }
}
