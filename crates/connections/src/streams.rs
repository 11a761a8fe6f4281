//! `exec`, `attach` and `portforward`: streams to containers, which kubelets speak SPDY for.
//!
//! A client that speaks SPDY, or the older protocols over WebSocket, has a byte tunnel to the kubelet. Version 5 of the protocol over
//! WebSocket is translated to SPDY here, since few kubelets know it; `portforward` over WebSocket is SPDY in messages.

use std::sync::Arc;

use async_trait::async_trait;
use http::header::{
    HeaderMap, HeaderName, HeaderValue, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL, SEC_WEBSOCKET_VERSION,
    UPGRADE,
};
use http::{Method, StatusCode};
use pintle_features::Feature;
use pintle_meta::{Status, Value};
use pintle_outbound::Url;
use pintle_outbound::egress::BoxedStream;
use pintle_outbound::proxy::{self, Error, Proxied, Proxy};
use pintle_resources::pod_logs;
use pintle_server::rest::{Connector, Target};
use pintle_server::{Request, Response, forward, respond};

use crate::kubelets::Kubelet;
use crate::remote_command::{self, Options};
use crate::websocket::{MessageStream, handshake};
use crate::{Shared, pods};

pub(crate) const SPDY: HeaderValue = HeaderValue::from_static("SPDY/3.1");
/// The versions of the streams' protocol that a client knows, or the one that a kubelet has chosen.
pub(crate) const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("x-stream-protocol-version");
const V5: &str = "v5.channel.k8s.io";
const TUNNELED: &str = "SPDY/3.1+";

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Exec,
    Attach,
    PortForward,
}

pub(crate) struct Streams {
    pub(crate) shared: Arc<Shared>,
    pub(crate) kind: Kind,
}

#[async_trait]
impl Connector for Streams {
    async fn connect(&self, target: Target<'_>, request: &mut Request) -> Result<Response, Box<Status>> {
        let (url, kubelet) = self.location(&target).await?;
        let headers = &request.parts.headers;
        let offered =
            if handshake::is_asked_for(headers) { handshake::protocols(headers) } else { Vec::new() };
        if self.translates(&kubelet) {
            if self.kind == Kind::PortForward {
                if offered.iter().any(|protocol| is_tunneled(protocol)) {
                    return self.tunnel(url, request, target).await;
                }
            } else if offered.contains(&V5) {
                return Ok(self.translate(url, request, target));
            }
        }
        let (request, client) = forward::take(request);
        let proxied = self.proxy(url).forward(request).await.map_err(|error| failed(&error))?;
        Ok(client.answer(proxied, target.stop))
    }
}

fn is_tunneled(protocol: &str) -> bool {
    protocol.starts_with(TUNNELED) && protocol.ends_with(".k8s.io")
}

fn failed(error: &Error) -> Box<Status> {
    Box::new(forward::status(error))
}

impl Streams {
    /// Finds the kubelet of a pod, and what to ask it for.
    async fn location(&self, target: &Target<'_>) -> Result<(Url, Kubelet), Box<Status>> {
        let pod = self.shared.stores.pods.get(&target.context, &target.name).await?;
        let options = target.options;
        let container = match self.kind {
            Kind::PortForward => None,
            _ => Some(
                pod_logs::container(&pod, options.text_at(&["container"])).map_err(Status::bad_request)?,
            ),
        };
        let node = pod.text_at(&["spec", "nodeName"]);
        if node.is_empty() {
            let message = format!("pod {} does not have a host assigned", target.name);
            return Err(Box::new(Status::bad_request(message)));
        }
        let kubelet = self.shared.kubelets.find(node).await?;
        let (what, parameters) = match self.kind {
            Kind::Exec => ("exec", parameters(options)),
            Kind::Attach => ("attach", parameters(options)),
            Kind::PortForward => ("portForward", ports(options)),
        };
        Ok((pods::of_kubelet(&kubelet, what, &pod, container, parameters)?, kubelet))
    }

    /// Returns whether WebSockets are translated here; else they reach the kubelet as they are.
    fn translates(&self, kubelet: &Kubelet) -> bool {
        let features = &self.shared.features;
        let (gate, name) = match self.kind {
            Kind::Exec => (Feature::TranslateStreamCloseWebsocketRequests, "exec"),
            Kind::Attach => (Feature::TranslateStreamCloseWebsocketRequests, "attach"),
            Kind::PortForward => (Feature::PortForwardWebsockets, "portforward"),
        };
        if !features.enabled(gate) {
            return false;
        }
        let by_kubelet = features.enabled(Feature::ExtendWebSocketsToKubelet) && kubelet.speaks_websocket;
        self.shared.metrics.streaming(name, by_kubelet);
        !by_kubelet
    }

    fn proxy(&self, url: Url) -> Proxy<'_> {
        Proxy {
            limits: self.shared.limits.clone(),
            requires_upgrade: true,
            ..Proxy::new(&self.shared.kubelets.client, url)
        }
    }

    /// Accepts a WebSocket of version 5 and speaks SPDY with the kubelet. From here on, errors are part of the streams.
    fn translate(&self, url: Url, request: &mut Request, target: Target<'_>) -> Response {
        let head = match handshake::accept(&request.parts.method, &request.parts.headers, Some(V5)) {
            Ok(head) => head,
            Err((code, reason)) => {
                self.shared.metrics.translated(StatusCode::BAD_REQUEST.as_u16());
                return respond::text_error(code, reason);
            }
        };
        let options = Options::new(target.options);
        let (_, client) = forward::take(request);
        let shared = self.shared.clone();
        client.switch(head, target.stop, move |client: BoxedStream| async move {
            remote_command::translate(client, &shared, &url, options).await;
        })
    }

    /// Asks the kubelet for SPDY, and carries it in messages of a WebSocket once the kubelet has agreed.
    async fn tunnel(
        &self,
        url: Url,
        request: &mut Request,
        target: Target<'_>,
    ) -> Result<Response, Box<Status>> {
        let (asked_method, asked) = (request.parts.method.clone(), request.parts.headers.clone());
        let (mut request, client) = forward::take(request);
        ask_for_spdy(&mut request, &asked);
        let metrics = &self.shared.metrics;
        let (head, upgraded) = match self.proxy(url).forward(request).await {
            Ok(Proxied::Tunnel(head, upgraded)) => (head, upgraded),
            Ok(Proxied::Response(response)) => {
                metrics.tunneled(response.status().as_u16());
                return Ok(client.answer(Proxied::Response(response), target.stop));
            }
            Err(error) => {
                metrics.tunneled(StatusCode::INTERNAL_SERVER_ERROR.as_u16());
                return Err(failed(&error));
            }
        };
        let chosen = head.headers().get(PROTOCOL_VERSION).and_then(|version| version.to_str().ok());
        let chosen = chosen.map(|version| format!("{TUNNELED}{}", version.trim()));
        let chosen = chosen.filter(|chosen| handshake::protocols(&asked).contains(&chosen.as_str()));
        match handshake::accept(&asked_method, &asked, chosen.as_deref()) {
            Ok(head) => {
                metrics.tunneled(StatusCode::SWITCHING_PROTOCOLS.as_u16());
                Ok(client.switch(head, target.stop, move |client: BoxedStream| async move {
                    upgraded.tunnel(MessageStream::new(client)).await;
                }))
            }
            Err((code, reason)) => {
                metrics.tunneled(StatusCode::INTERNAL_SERVER_ERROR.as_u16());
                Ok(respond::text_error(code, reason))
            }
        }
    }
}

/// Makes a request for SPDY of one for a WebSocket.
fn ask_for_spdy(request: &mut proxy::Request, asked: &HeaderMap) {
    request.method = Method::POST;
    for name in [SEC_WEBSOCKET_PROTOCOL, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION, PROTOCOL_VERSION] {
        request.headers.remove(name);
    }
    request.headers.insert(UPGRADE, SPDY);
    for protocol in handshake::protocols(asked).into_iter().filter(|protocol| is_tunneled(protocol)) {
        if let Ok(version) = HeaderValue::from_str(protocol.trim_start_matches(TUNNELED)) {
            request.headers.append(PROTOCOL_VERSION, version);
        }
    }
}

/// Returns the parameters of `exec` and `attach`, as a kubelet calls them.
fn parameters(options: &Value) -> Vec<(&'static str, String)> {
    let streams = [("stdin", "input"), ("stdout", "output"), ("stderr", "error"), ("tty", "tty")];
    let is_on = |name: &str| options.get(name).and_then(Value::as_bool).unwrap_or_default();
    let mut parameters: Vec<_> = streams
        .into_iter()
        .filter(|(option, _)| is_on(option))
        .map(|(_, parameter)| (parameter, "1".to_owned()))
        .collect();
    let command = options.items_at(&["command"]).iter().filter_map(Value::as_str);
    parameters.extend(command.map(|word| ("command", word.to_owned())));
    parameters
}

fn ports(options: &Value) -> Vec<(&'static str, String)> {
    let ports: Vec<String> = options
        .items_at(&["ports"])
        .iter()
        .filter_map(|port| port.as_i64().map(|port| port.to_string()))
        .collect();
    if ports.is_empty() { Vec::new() } else { vec![("port", ports.join(","))] }
}
