//! Connections to pods, services and nodes: `exec`, `attach`, `portforward` and `proxy`. Options, admission and permission are checked
//! here; a [`Connector`] connects.

use pintle_auth::Attributes;
use pintle_codec::json;
use pintle_meta::gvk::GroupVersionKind;
use pintle_meta::{Object, Status, Value};

use crate::Response;
use crate::query;
use crate::request_info::RequestInfo;
use crate::rest::call::Call;
use crate::rest::connection::{Connector, Target};
use crate::rest::endpoint::Endpoint;
use crate::rest::route::scope;
use crate::rest::{Result, bad_request, unexpected};

/// Admits a connection, or refuses it, and connects. `requires_create`: the user needs the permission to create as well.
pub(crate) async fn connect(
    endpoint: &Endpoint,
    call: &mut Call<'_>,
    connector: &dyn Connector,
    requires_create: bool,
) -> Result<Response> {
    let options = admitted(endpoint, call, requires_create).await?;
    run(endpoint, call, connector, &options).await
}

/// Streams from an object, without admission.
pub(crate) async fn stream(
    endpoint: &Endpoint,
    call: &mut Call<'_>,
    connector: &dyn Connector,
) -> Result<Response> {
    run(endpoint, call, connector, &Value::NULL).await
}

/// Connects. The request counts as long-running until the last byte of its answer, or until its connection ends.
async fn run(
    endpoint: &Endpoint,
    call: &mut Call<'_>,
    connector: &dyn Connector,
    options: &Value,
) -> Result<Response> {
    let scope = scope(endpoint, &call.request.info, false);
    let running = call.shared.metrics.long_running(endpoint.labels(), "CONNECT", scope);
    let target = Target {
        context: endpoint.context(call.request),
        name: call.request.info.name.clone(),
        options,
        stop: call.shared.shutdown.clone(),
    };
    let response = connector.connect(target, call.request).await?;
    Ok(match call.request.connection.take_upgraded() {
        Some(upgraded) => {
            call.request.connection.continue_with(Box::pin(async move {
                upgraded.await;
                drop(running);
            }));
            response
        }
        None => response.map(|body| body.holding(running)),
    })
}

/// Returns the options of a connection that was admitted.
async fn admitted(endpoint: &Endpoint, call: &Call<'_>, requires_create: bool) -> Result<Value> {
    if call.request.query("dryRun").next().is_some() {
        return Err(bad_request("dryRun is not supported"));
    }
    let query = call.request.parts.uri.query().unwrap_or_default();
    let path = (endpoint.subresource.as_deref() == Some("proxy")).then(|| proxied_path(&call.request.info));
    let text = options(endpoint.served.kind(), query, path);
    let options = endpoint.served.parse(&text).map_err(bad_request)?.object;
    let admission = call.admission(endpoint, &endpoint.context(call.request), false, None);
    admission.on_connect(options.clone()).await?;
    if requires_create {
        may_create(call).await?;
    }
    Ok(options)
}

/// Returns the path behind a `proxy` subresource, with the trailing slash of the request: `/healthz/` of
/// `/api/v1/nodes/n/proxy/healthz/`.
fn proxied_path(info: &RequestInfo) -> String {
    let rest = info.parts.get(3..).unwrap_or_default().join("/");
    let begin = if rest.is_empty() || rest.starts_with('/') { "" } else { "/" };
    let end = if info.path.ends_with('/') && !rest.ends_with('/') { "/" } else { "" };
    format!("{begin}{rest}{end}")
}

/// Returns the options of a connection as JSON. They stand in the query; a proxied path is one of them.
fn options(kind: &GroupVersionKind, query: &str, path: Option<String>) -> Vec<u8> {
    const FLAGS: [&str; 4] = ["stdin", "stdout", "stderr", "tty"];
    let mut options = Object::new();
    options.insert("kind", kind.kind.as_str());
    options.insert("apiVersion", kind.api_version());
    let mut lists: [(&str, Vec<Value>); 2] = [("command", Vec::new()), ("ports", Vec::new())];
    let is_proxy = path.is_some();
    for (name, value) in query::pairs(query).filter(|_| !is_proxy) {
        match &*name {
            "command" => lists[0].1.push(Value::from(&*value)),
            "ports" => lists[1].1.extend(value.parse::<i64>().ok().map(Value::from)),
            // As Go's conversion of query parameters reads them.
            flag if FLAGS.contains(&flag) => {
                let is_on = !matches!(&*value.to_lowercase(), "false" | "0");
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
    if let Some(path) = path.filter(|path| !path.is_empty()) {
        options.insert("path", path);
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
            String::from_utf8(options(&kind, query, None)).unwrap(),
            r#"{"apiVersion":"v1","command":["sh","-c"],"container":"c","kind":"PodExecOptions","stdin":true,"tty":false}"#
        );
    }

    #[test]
    fn a_proxied_path_is_an_option() {
        for (path, expect) in [
            ("/api/v1/nodes/n/proxy", ""),
            ("/api/v1/nodes/n/proxy/", "/"),
            ("/api/v1/nodes/n/proxy/healthz", "/healthz"),
            ("/api/v1/namespaces/a/services/s:http/proxy/a/b/?command=x", "/a/b/"),
        ] {
            let info = RequestInfo::parse(&http::Method::GET, &path.parse().unwrap()).unwrap();
            assert_eq!(proxied_path(&info), expect, "{path}");
        }
        let kind = GroupVersionKind::new("", "v1", "NodeProxyOptions");
        assert_eq!(
            String::from_utf8(options(&kind, "path=/x&command=y", Some("/healthz".into()))).unwrap(),
            r#"{"apiVersion":"v1","kind":"NodeProxyOptions","path":"/healthz"}"#
        );
    }
}
