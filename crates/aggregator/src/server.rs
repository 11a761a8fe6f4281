//! Connections to the servers behind APIServices.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use http::Method;
use http::header::{ACCEPT, HeaderMap, HeaderValue, IF_NONE_MATCH};
use pintle_auth::User;
use pintle_outbound::egress::{Network, Selector};
use pintle_outbound::services::{Address, Resolver};
use pintle_outbound::{Answer, Client, ClientOptions, Failure, KeyPair, Material, Roots, TlsOptions, Url};
use pintle_runtime::{Clock, Random};

use crate::identity;

/// Bytes of a document that are read.
const LARGEST_DOCUMENT: usize = 8 << 20;

/// Time limit of a document, which callers shorten.
const LONGEST: Duration = Duration::from_secs(60);

/// The way to servers.
pub(crate) struct Connector {
    pub(crate) resolver: Arc<dyn Resolver>,
    pub(crate) egress: Option<Selector>,
    /// The certificate by which they know this server.
    pub(crate) key_pair: Option<KeyPair>,
    pub(crate) uid_headers: bool,
    pub(crate) clock: Clock,
    pub(crate) random: Random,
}

/// A port of a service.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ServiceReference {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) port: u16,
}

impl ServiceReference {
    /// Returns whether it is this server itself.
    fn is_own(&self) -> bool {
        (self.namespace.as_str(), self.name.as_str(), self.port) == ("default", "kubernetes", 443)
    }
}

/// The verification of a server's certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ServerTls {
    pub(crate) ca_bundle: Vec<u8>,
    pub(crate) skip_verification: bool,
}

/// A server behind a service. It keeps its connections as long as an APIService needs it.
pub(crate) struct Server {
    pub(crate) service: ServiceReference,
    tls: ServerTls,
    connector: Arc<Connector>,
    /// Made by the first request.
    client: OnceLock<Result<Client, String>>,
}

/// A request for a document of a server.
pub(crate) struct Fetch<'a> {
    pub(crate) path: &'a str,
    pub(crate) user: &'a User,
    pub(crate) accept: &'static str,
    /// The version that is known: 304 says that it is the current one.
    pub(crate) etag: Option<&'a str>,
    pub(crate) limit: Duration,
}

/// A request that got no answer.
pub(crate) struct Unanswered {
    /// The place that was asked; `None` if the service is nowhere.
    pub(crate) url: Option<Url>,
    pub(crate) reason: String,
}

impl Server {
    pub(crate) fn new(service: ServiceReference, tls: ServerTls, connector: Arc<Connector>) -> Server {
        Server { service, tls, connector, client: OnceLock::new() }
    }

    pub(crate) fn is_for(&self, service: &ServiceReference, tls: &ServerTls) -> bool {
        self.service == *service && self.tls == *tls
    }

    /// Returns the client, or the reason why there is none: a bundle or certificate that cannot be read.
    pub(crate) fn client(&self) -> Result<&Client, &str> {
        let client =
            self.client.get_or_init(|| Client::of_any(self.options()).map_err(|error| error.to_string()));
        client.as_ref().map_err(String::as_str)
    }

    fn options(&self) -> ClientOptions {
        let Connector { egress, key_pair, clock, random, .. } = &*self.connector;
        let bundle = &self.tls.ca_bundle;
        let roots = match bundle.trim_ascii().is_empty() {
            true => Roots::System,
            false => Roots::Bundle(Material::Text(bundle.clone())),
        };
        let tls = TlsOptions {
            roots,
            key_pair: key_pair.clone(),
            server_name: Some(format!("{}.{}.svc", self.service.name, self.service.namespace)),
            skip_verification: self.tls.skip_verification,
            ..TlsOptions::default()
        };
        let egress = egress.as_ref().filter(|_| !self.service.is_own());
        ClientOptions {
            tls,
            timeout: LONGEST,
            largest_answer: LARGEST_DOCUMENT,
            egress: egress.and_then(|selector| selector.lookup(Network::Cluster)),
            clock: clock.clone(),
            random: random.clone(),
            ..ClientOptions::default()
        }
    }

    /// Returns the URL of a path of the server, where it is now.
    ///
    /// Errors: the service is nowhere.
    pub(crate) async fn url(&self, path: &str) -> Result<Url, String> {
        let ServiceReference { namespace, name, port } = &self.service;
        let Address { host, port } = self.connector.resolver.resolve(namespace, name, *port).await?;
        let host = if host.contains(':') { format!("[{host}]") } else { host };
        let url = Url::parse(&format!("https://{host}:{port}")).map_err(|error| error.to_string())?;
        Ok(url.with_path(path))
    }

    /// Fetches a document. Returns where it was, too.
    pub(crate) async fn fetch(&self, fetch: Fetch<'_>) -> Result<(Url, Answer), Unanswered> {
        let nowhere = |reason: String| Unanswered { url: None, reason };
        let client = self.client().map_err(|error| nowhere(error.to_owned()))?;
        let mut headers: HeaderMap =
            identity::headers(fetch.user, self.connector.uid_headers).map_err(nowhere)?;
        headers.insert(ACCEPT, HeaderValue::from_static(fetch.accept));
        if let Some(etag) = fetch.etag.and_then(|etag| HeaderValue::from_str(etag).ok()) {
            headers.insert(IF_NONE_MATCH, etag);
        }
        let url = self.url(fetch.path).await.map_err(nowhere)?;
        // Large, and made rarely.
        let sent = Box::pin(client.send(Method::GET, &url, headers, Default::default()));
        let answer = match self.connector.clock.timeout(fetch.limit, sent).await {
            Some(Ok(answer)) => return Ok((url, answer)),
            Some(Err(error)) => error.to_string(),
            None => format!("Get {}: {}", pintle_meta::quote(&url.to_string()), Failure::Timeout),
        };
        Err(Unanswered { url: Some(url), reason: answer })
    }
}

#[cfg(test)]
pub(crate) mod testing {
    use async_trait::async_trait;

    use super::*;

    /// Knows no service.
    struct Nowhere;

    #[async_trait]
    impl Resolver for Nowhere {
        async fn resolve(&self, _: &str, name: &str, _: u16) -> Result<Address, String> {
            Err(format!("service {} not found", pintle_meta::quote(name)))
        }
    }

    /// A connector that leads nowhere.
    pub(crate) fn connector() -> Arc<Connector> {
        Arc::new(Connector {
            resolver: Arc::new(Nowhere),
            egress: None,
            key_pair: None,
            uid_headers: true,
            clock: Clock::system(),
            random: Random::seeded(1),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(tls: ServerTls) -> Server {
        let service = ServiceReference { namespace: "ns".into(), name: "boats".into(), port: 443 };
        Server::new(service, tls, testing::connector())
    }

    #[tokio::test]
    async fn a_service_that_is_nowhere_has_no_document() {
        let server = server(ServerTls { ca_bundle: Vec::new(), skip_verification: true });
        let user = User::default();
        let fetch = Fetch { path: "/apis", user: &user, accept: "*/*", etag: None, limit: LONGEST };
        let unanswered = server.fetch(fetch).await.err().unwrap();
        assert!(unanswered.url.is_none());
        assert_eq!(unanswered.reason, "service \"boats\" not found");
    }

    #[test]
    fn a_bundle_that_is_none_is_an_error_of_every_request() {
        let server = server(ServerTls { ca_bundle: b"no PEM".to_vec(), skip_verification: false });
        assert!(server.client().is_err());
    }
}
