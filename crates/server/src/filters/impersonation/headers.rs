//! The user that a request wants to impersonate, read from its headers.

use http::{HeaderMap, HeaderName};
use percent_encoding::percent_decode_str;
use pintle_auth::User;
use pintle_meta::{Status, quote};

const USER: HeaderName = HeaderName::from_static("impersonate-user");
const UID: HeaderName = HeaderName::from_static("impersonate-uid");
const GROUP: HeaderName = HeaderName::from_static("impersonate-group");
const EXTRA: &str = "impersonate-extra-";

/// Returns whether there is anything to look at; mostly there is not.
pub(super) fn is_asked_for(headers: &HeaderMap) -> bool {
    headers.keys().any(|name| name.as_str().starts_with("impersonate-"))
}

/// Removes the headers, which no later filter may see, and returns the user that they name; `None` if they name none.
pub(super) fn take(headers: &mut HeaderMap, constrained: bool) -> Result<Option<User>, Box<Status>> {
    let mut wanted = User { name: first(headers, &USER), uid: first(headers, &UID), ..User::default() };
    wanted.groups = headers.get_all(&GROUP).iter().map(|value| text(value.as_bytes())).collect();
    let names: Vec<HeaderName> =
        headers.keys().filter(|name| name.as_str().starts_with(EXTRA)).cloned().collect();
    for name in &names {
        let key = unescape(&name.as_str()[EXTRA.len()..]);
        let values = headers.get_all(name).iter().map(|value| text(value.as_bytes()));
        wanted.extra.entry(key).or_default().extend(values);
    }
    if wanted.name.is_empty() {
        return if wanted.uid.is_empty() && wanted.groups.is_empty() && names.is_empty() {
            Ok(None)
        } else {
            Err(Box::new(Status::bad_request(missing_user_message(&wanted, constrained))))
        };
    }
    for name in names.iter().chain([&USER, &UID, &GROUP]) {
        headers.remove(name);
    }
    Ok(Some(wanted))
}

fn first(headers: &HeaderMap, name: &HeaderName) -> String {
    headers.get(name).map(|value| text(value.as_bytes())).unwrap_or_default()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Decodes percent escapes. A key that is not well encoded is taken as it is.
fn unescape(key: &str) -> String {
    let bytes = key.as_bytes();
    let is_escape =
        |at: usize| bytes.get(at + 1..at + 3).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit));
    let well_formed = (0..bytes.len()).all(|at| bytes[at] != b'%' || is_escape(at));
    match well_formed.then(|| percent_decode_str(key).decode_utf8().ok()).flatten() {
        Some(decoded) => decoded.into_owned(),
        None => key.to_owned(),
    }
}

/// Returns the reference's message for headers that name groups, a UID or extra but no user; it shows Go's types.
fn missing_user_message(wanted: &User, constrained: bool) -> String {
    if constrained {
        let extra = wanted.extra.iter();
        let extra = extra.map(|(key, values)| format!("{}:[]string{{{}}}", quote(key), quoted(values)));
        let extra = in_braces(&extra.collect::<Vec<_>>().join(", "));
        let (uid, groups) = (quote(&wanted.uid), in_braces(&quoted(&wanted.groups)));
        return format!(
            "requested &user.DefaultInfo{{Name:\"\", UID:{uid}, Groups:[]string{groups}, \
             Extra:map[string][]string{extra}}} without impersonating a user name"
        );
    }
    // Kind, namespace, name, uid, version, resource version, field.
    const VERSION: &str = "authentication.k8s.io/v1";
    let groups = wanted.groups.iter().map(|group| format!("{{Group  {group}    }}"));
    let extra = wanted.extra.iter().flat_map(|(key, values)| {
        values.iter().map(move |value| format!("{{UserExtra  {value}  {VERSION}  {key}}}"))
    });
    let uid = (!wanted.uid.is_empty()).then(|| format!("{{UID  {}  {VERSION}  }}", wanted.uid));
    let all: Vec<String> = groups.chain(extra).chain(uid).collect();
    format!("requested [{}] without impersonating a user", all.join(" "))
}

fn in_braces(content: &str) -> String {
    if content.is_empty() { "(nil)".to_owned() } else { format!("{{{content}}}") }
}

fn quoted(texts: &[String]) -> String {
    texts.iter().map(|text| quote(text)).collect::<Vec<_>>().join(", ")
}
