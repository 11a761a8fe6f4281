//! The health of the components that `componentstatuses` lists.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::BytesMut;
use futures_util::future::BoxFuture;
use http::Method;
use http::header::{ACCEPT, HeaderMap, HeaderValue, USER_AGENT};
use http_body_util::BodyExt;
use pintle_outbound::{Client, ClientOptions, Failure, RequestBody, StreamLimits, Streamed, TlsOptions, Url};
use pintle_resources::component_status::{Component, ComponentStatuses, Health};
use pintle_storage::Backend;
use tokio::time::timeout;

use crate::Error;

/// Time limit of a component's answer.
const TIMEOUT: Duration = Duration::from_secs(20);
/// Number of bytes of an answer that are read.
const MAX_BODY: usize = 10 << 10;

/// The default addresses of the other components; the API server has no flags for others.
const CONTROLLER_MANAGER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 10257);
const SCHEDULER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 10259);

/// Returns the statuses of the controller manager, the scheduler, and every server of the store.
pub(crate) fn statuses(stores: Vec<Arc<dyn Component>>) -> Result<ComponentStatuses, Error> {
    let mut components: Vec<(String, Arc<dyn Component>)> = Vec::new();
    for (name, address) in [("controller-manager", CONTROLLER_MANAGER), ("scheduler", SCHEDULER)] {
        components.push((name.to_owned(), Arc::new(HealthEndpoint::new(address)?)));
    }
    let stores = stores.into_iter().enumerate().map(|(index, server)| (format!("etcd-{index}"), server));
    components.extend(stores);
    Ok(ComponentStatuses::new(components))
}

/// One server of the store.
pub struct StoreServer(Box<dyn Fn() -> BoxFuture<'static, Result<(), String>> + Send + Sync>);

impl StoreServer {
    /// Returns a server whose health `ask` reports. The caller limits the time.
    pub fn new(
        ask: impl Fn() -> BoxFuture<'static, Result<(), String>> + Send + Sync + 'static,
    ) -> StoreServer {
        StoreServer(Box::new(ask))
    }

    /// Returns the server of a backend.
    pub(crate) fn from_backend(backend: Arc<dyn Backend>) -> StoreServer {
        StoreServer::new(move || {
            let backend = backend.clone();
            Box::pin(async move { StoreServer::ask(&*backend).await })
        })
    }

    /// Asks a backend whether it is healthy. The error is the one that `componentstatuses` shows.
    pub async fn ask(backend: &dyn Backend) -> Result<(), String> {
        backend.health().await.map_err(|error| format!("error getting data from etcd: {error}"))
    }
}

#[async_trait]
impl Component for StoreServer {
    async fn health(&self) -> Health {
        let late = || Err("error getting data from etcd: context deadline exceeded".to_owned());
        match timeout(TIMEOUT, (self.0)()).await.unwrap_or_else(|_| late()) {
            Ok(()) => Health { is_healthy: Some(true), message: "ok".into(), error: String::new() },
            Err(error) => Health { is_healthy: Some(false), message: String::new(), error },
        }
    }
}

/// A component with a health endpoint over HTTPS. Its certificate is not verified, since nothing secret is exchanged.
struct HealthEndpoint {
    client: Client,
    url: Url,
}

impl HealthEndpoint {
    fn new(address: SocketAddr) -> Result<HealthEndpoint, Error> {
        let url = Url::parse(&format!("https://{address}/healthz")).map_err(Error::part)?;
        let tls = TlsOptions { skip_verification: true, http1_only: true, ..TlsOptions::default() };
        let client =
            Client::new(&url, ClientOptions { tls, ..ClientOptions::default() }).map_err(Error::part)?;
        Ok(HealthEndpoint { client, url })
    }

    /// Returns the status code and the beginning of the body of the answer.
    async fn probe(&self) -> Result<(http::StatusCode, String), String> {
        let mut headers = HeaderMap::new();
        headers.insert(USER_AGENT, HeaderValue::from_static("kube-probe/1.36"));
        headers.insert(ACCEPT, HeaderValue::from_static("*/*"));
        let limits = StreamLimits { header: TIMEOUT, idle: TIMEOUT, ..StreamLimits::default() };
        let sent = self.client.stream(Method::GET, &self.url, headers, RequestBody::empty(), limits).await;
        let Streamed::Response(response) = sent.map_err(|error| error.to_string())? else {
            return Err("the component switched protocols".into());
        };
        let (head, mut body) = response.into_parts();
        let mut read = BytesMut::new();
        while read.len() < MAX_BODY {
            let Some(frame) = body.frame().await else { break };
            if let Some(data) = frame.map_err(|failure| failure.to_string())?.data_ref() {
                read.extend_from_slice(&data[..data.len().min(MAX_BODY - read.len())]);
            }
        }
        Ok((head.status, String::from_utf8_lossy(&read).into_owned()))
    }
}

#[async_trait]
impl Component for HealthEndpoint {
    async fn health(&self) -> Health {
        let late = || Err(format!("Get {}: {}", pintle_meta::quote(&self.url.to_string()), Failure::Timeout));
        let (is_healthy, message) = match timeout(TIMEOUT, self.probe()).await.unwrap_or_else(|_| late()) {
            Ok((code, body)) if code.is_success() => (Some(true), body),
            // Redirects are not followed.
            Ok((code, body)) if code.is_redirection() => {
                (None, format!("Probe terminated redirects, Response body: {body}"))
            }
            Ok((code, _)) => (Some(false), format!("HTTP probe failed with statuscode: {}", code.as_u16())),
            Err(message) => (Some(false), message),
        };
        Health { is_healthy, message, error: String::new() }
    }
}

#[cfg(test)]
mod tests {
    use pintle_outbound::testing::{HttpsServer, Reply};
    use tokio::net::TcpListener;

    use super::*;

    /// Returns the health of a component that answers with `reply`, whose certificate no client trusts.
    async fn health(reply: Reply) -> (Option<bool>, String) {
        let server = HttpsServer::start(move |_| reply.clone()).await;
        let health = HealthEndpoint::new(server.address).expect("a client").health().await;
        assert_eq!(health.error, "");
        let seen = server.seen();
        assert_eq!((seen[0].method.as_str(), seen[0].path.as_str()), ("GET", "/healthz"));
        assert_eq!(seen[0].header("user-agent"), "kube-probe/1.36");
        (health.is_healthy, health.message)
    }

    #[tokio::test]
    async fn the_health_of_a_component_is_that_of_its_answer() {
        assert_eq!(health(Reply::text(200, "ok")).await, (Some(true), "ok".into()));
        assert_eq!(
            health(Reply::text(500, "ok")).await,
            (Some(false), "HTTP probe failed with statuscode: 500".into())
        );
        assert_eq!(
            health(Reply::text(302, "ok").with("location", "/x")).await,
            (None, "Probe terminated redirects, Response body: ok".into())
        );
    }

    #[tokio::test]
    async fn a_long_answer_is_read_up_to_a_limit() {
        let (is_healthy, message) = health(Reply::text(200, &"x".repeat(1 << 20))).await;
        assert_eq!((is_healthy, message.len()), (Some(true), MAX_BODY));
    }

    #[tokio::test]
    async fn a_component_that_does_not_listen_is_not_healthy() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        drop(listener);
        let health = HealthEndpoint::new(address).expect("a client").health().await;
        assert_eq!(health.is_healthy, Some(false));
        assert_eq!(
            health.message,
            format!("Get \"https://{address}/healthz\": dial tcp {address}: connect: connection refused")
        );
    }
}
