//! `proxy` of pods, services and nodes: HTTP of any method, with links that lead back through this server.

use std::net::IpAddr;
use std::sync::Arc;

use async_trait::async_trait;
use http::header::LOCATION;
use http::{HeaderValue, Method, StatusCode};
use pintle_meta::Status;
use pintle_outbound::hosts::is_global_unicast;
use pintle_outbound::proxy::{Error, Proxy, Rewriting};
use pintle_outbound::{Client, Failure, Url};
use pintle_registry::Context;
use pintle_server::rest::{Connector, Target};
use pintle_server::{Body, Request, Response, forward};

use crate::address::{Named, escaped_path, host_and_port};
use crate::{Shared, pods, services};

#[derive(Clone, Copy)]
pub(crate) enum Kind {
    Pod,
    Service,
    Node,
}

pub(crate) struct Proxies {
    pub(crate) shared: Arc<Shared>,
    pub(crate) kind: Kind,
}

#[async_trait]
impl Connector for Proxies {
    async fn connect(&self, target: Target<'_>, request: &mut Request) -> Result<Response, Box<Status>> {
        let (url, client) = self.location(&target.context, &target.name).await?;
        let path = &*request.info.path;
        let mut within = target.options.text_at(&["path"]).to_owned();
        if !within.ends_with('/') && path.ends_with('/') {
            within.push('/');
        }
        let is_upgrade = pintle_outbound::headers::upgrade_protocol(&request.parts.headers).is_some();
        if within.is_empty() && !is_upgrade && matches!(request.parts.method, Method::GET | Method::HEAD) {
            return Ok(to_root(request));
        }
        let prefix = path.strip_suffix(&*within).unwrap_or(path).to_owned();
        let within = if within.is_empty() { "/".to_owned() } else { escaped_path(&within) };
        let query = request.parts.uri.query().unwrap_or_default();
        let proxy = Proxy {
            limits: self.shared.limits.clone(),
            rewriting: Some(Rewriting { prefix, ..Rewriting::default() }),
            ..Proxy::new(client, url.with_path(&within).with_query(query))
        };
        let (request, client) = forward::take(request);
        let proxied = proxy.forward(request).await.map_err(|error| Box::new(status(&error)))?;
        Ok(client.answer(proxied, target.stop))
    }
}

impl Proxies {
    /// Finds the target, and the client for it.
    async fn location(&self, context: &Context, id: &str) -> Result<(Url, &Client), Box<Status>> {
        let shared = &self.shared;
        let invalid = |kind: &str| {
            let message = format!("invalid {kind} request {}", pintle_meta::quote(id));
            Box::new(Status::bad_request(message))
        };
        match self.kind {
            Kind::Service => Ok((services::location(shared, context, id).await?, &shared.pods)),
            Kind::Pod => {
                let named = Named::parse(id).ok_or_else(|| invalid("pod"))?;
                let pod = shared.stores.pods.get(context, named.name).await?;
                Ok((pods::location(&pod, named)?, &shared.pods))
            }
            Kind::Node => {
                let named = Named::parse(id).ok_or_else(|| invalid("node"))?;
                let kubelet = shared.kubelets.find(named.name).await?;
                self.check_host(&kubelet.host, kubelet.port).await?;
                let port = kubelet.port.to_string();
                if named.port.is_empty() || named.port == port {
                    let url = pods::url("https", &host_and_port(&kubelet.host, &port))?;
                    return Ok((url, &shared.kubelets.elsewhere));
                }
                let url = pods::url(named.scheme, &host_and_port(&kubelet.host, named.port))?;
                Ok((url, &shared.nodes))
            }
        }
    }

    /// Refuses hosts of this machine. The client looks the name up again and checks what it finds then; here the client learns why.
    async fn check_host(&self, host: &str, port: u16) -> Result<(), Box<Status>> {
        let bad = |message: &str| Err(Box::new(Status::bad_request(message)));
        let addresses: Vec<IpAddr> = match self.shared.hosts.addresses(host, port).await {
            Ok(addresses) => addresses.iter().map(std::net::SocketAddr::ip).collect(),
            Err(_) => return bad(&format!("lookup {host}: no such host")),
        };
        if addresses.is_empty() {
            return bad("no addresses for hostname");
        }
        if addresses.into_iter().all(is_global_unicast) { Ok(()) } else { bad("address not allowed") }
    }
}

/// Sends the client to the root of the target, from where relative links lead to the right place.
fn to_root(request: &Request) -> Response {
    let query = request.parts.uri.query().filter(|query| !query.is_empty());
    let query = query.map(|query| format!("?{query}")).unwrap_or_default();
    let location = format!("{}/{query}", escaped_path(&request.info.path));
    let mut response = http::Response::new(Body::empty());
    *response.status_mut() = StatusCode::MOVED_PERMANENTLY;
    if let Ok(location) = HeaderValue::try_from(location) {
        response.headers_mut().insert(LOCATION, location);
    }
    response
}

fn status(error: &Error) -> Status {
    match error {
        Error::Unreachable(Failure::NotAllowed) | Error::Dial(Failure::NotAllowed) => {
            Status::bad_request(Failure::NotAllowed.to_string())
        }
        error => forward::status(error),
    }
}
