//! Events as one line of text: the legacy format of the log, and what the server's own log says of events that were lost.

use std::fmt;

use pintle_meta::quote;

use super::Event;

/// The line without its end.
impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let request = &*self.request;
        let user = request.user.as_deref().filter(|user| !user.name.is_empty());
        let groups = user.map(|user| user.groups.as_slice()).filter(|groups| !groups.is_empty());
        let other = self.impersonated_user.as_deref();
        let namespace = self.object.as_ref().map(|object| object.namespace.as_str());
        let response = self.response_status.as_ref();
        write!(
            f,
            "{} AUDIT: id={} stage={} ip={} method={} user={} groups={} as={} asgroups={} user-agent={} namespace={} uri={} \
             response=\"{}\"",
            time(self),
            quote(&request.audit_id),
            quote(self.stage.as_str()),
            quote(request.source_ips.first().map_or("<unknown>", String::as_str)),
            quote(&request.verb),
            quote(user.map_or("<none>", |user| &user.name)),
            quote(&groups.map_or_else(|| "<none>".to_owned(), quoted)),
            quote(other.map_or("<self>", |user| &user.name)),
            quote(
                &other
                    .filter(|user| !user.groups.is_empty())
                    .map_or_else(|| "<lookup>".to_owned(), |user| quoted(&user.groups))
            ),
            quote(&request.user_agent),
            quote(namespace.filter(|namespace| !namespace.is_empty()).unwrap_or("<none>")),
            quote(&request.uri),
            response.map_or_else(|| "<deferred>".to_owned(), |status| status.code.to_string()),
        )
    }
}

/// The time as Go's `RFC3339Nano`: no zeros at the end.
fn time(event: &Event) -> String {
    let Some(text) = event.request.received.to_ascii() else { return String::new() };
    let text = String::from_utf8_lossy(&text).into_owned();
    match text.trim_end_matches('Z').split_once('.') {
        Some((seconds, micros)) => match micros.trim_end_matches('0') {
            "" => format!("{seconds}Z"),
            micros => format!("{seconds}.{micros}Z"),
        },
        None => text,
    }
}

fn quoted(groups: &[String]) -> String {
    groups.iter().map(|group| quote(group)).collect::<Vec<_>>().join(",")
}
