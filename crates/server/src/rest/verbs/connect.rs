//! Connections to containers of pods: `exec`, `attach` and `portforward`.
//!
//! They lead nowhere yet, but permission and admission are as they will be: a WebSocket begins with a GET, and yet it runs
//! something in a pod, so that its user needs the permission to create as well.

use pintle_auth::Attributes;
use pintle_codec::json;
use pintle_meta::gvk::GroupVersionKind;
use pintle_meta::{Object, Status, Value};

use crate::query;
use crate::rest::call::Call;
use crate::rest::endpoint::Endpoint;
use crate::rest::{Result, bad_request, unexpected};

/// Admits a connection, or refuses it. Called before the connection is made.
pub(crate) async fn connect(endpoint: &Endpoint, call: &Call<'_>) -> Result<()> {
    may_create(call).await?;
    let query = call.request.parts.uri.query().unwrap_or_default();
    let text = options(endpoint.served.kind(), query);
    let options = endpoint.served.parse(&text).map_err(bad_request)?.object;
    let admission = call.admission(endpoint, &endpoint.context(call.request), false);
    admission.on_connect(options).await.map(drop)
}

/// The options of a connection, which stand in the query, as JSON.
fn options(kind: &GroupVersionKind, query: &str) -> Vec<u8> {
    const FLAGS: [&str; 4] = ["stdin", "stdout", "stderr", "tty"];
    let mut options = Object::new();
    options.insert("kind", kind.kind.as_str());
    options.insert("apiVersion", kind.api_version());
    let mut lists: [(&str, Vec<Value>); 2] = [("command", Vec::new()), ("ports", Vec::new())];
    for (name, value) in query::pairs(query) {
        match &*name {
            "command" => lists[0].1.push(Value::from(&*value)),
            "ports" => lists[1].1.extend(value.parse::<i64>().ok().map(Value::from)),
            // As Go's conversion of query parameters reads them.
            flag if FLAGS.contains(&flag) => {
                let is_on = !matches!(&*value, "false" | "0");
                options.insert(flag.to_owned(), is_on);
            }
            "container" => {
                options.insert("container", &*value);
            }
            _ => {}
        }
    }
    for (name, values) in lists {
        if !values.is_empty() {
            options.insert(name, values);
        }
    }
    let mut text = Vec::new();
    json::encode(&options.into(), &mut text);
    text
}

/// Refuses a user that may use the request's verb but not `create`.
async fn may_create(call: &Call<'_>) -> Result<()> {
    let info = &call.request.info;
    if info.verb == "create" {
        return Ok(());
    }
    let user = call.request.user.clone().unwrap_or_default();
    let selectors = info.selectors();
    let attributes = Attributes { verb: "create", ..info.attributes(&user, &selectors) };
    let verdict = call.shared.authorizer.authorize(&attributes).await;
    match verdict.error {
        _ if verdict.is_allowed() => Ok(()),
        Some(error) => Err(unexpected(error)),
        None => Err(Box::new(Status::forbidden(&info.group, &info.resource, &info.name, &verdict.reason))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_come_from_the_query() {
        let kind = GroupVersionKind::new("", "v1", "PodExecOptions");
        let query = "command=sh&command=-c&stdin=true&tty=false&container=c&x=y";
        assert_eq!(
            String::from_utf8(options(&kind, query)).unwrap(),
            r#"{"apiVersion":"v1","command":["sh","-c"],"container":"c","kind":"PodExecOptions","stdin":true,"tty":false}"#
        );
    }
}
