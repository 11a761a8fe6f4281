//! Services of the cluster: named in configuration, resolved before every request.
//!
//! A service keeps its name while its address changes. So its name stays in URLs, in the `Host` header and in what TLS
//! expects, and only the connection goes to where the service is now.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;

use crate::url::Url;

/// Where a connection goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// A name or an IP address, without brackets.
    pub host: String,
    pub port: u16,
}

impl Address {
    pub(crate) fn from_url(url: &Url) -> Address {
        Address { host: url.host.clone(), port: url.port() }
    }
}

/// Knows where services are.
#[async_trait]
pub trait Resolver: Send + Sync + 'static {
    /// Returns the current address of a port of a service. Called before every request; the caller of the request gets
    /// the error.
    async fn resolve(&self, namespace: &str, name: &str, port: u16) -> Result<Address, String>;
}

/// A service, and the resolver that knows its address.
#[derive(Clone)]
pub struct Service {
    pub resolver: Arc<dyn Resolver>,
    pub namespace: String,
    pub name: String,
    pub port: u16,
}

impl Service {
    /// The name that its certificate must have.
    pub fn server_name(&self) -> String {
        format!("{}.{}.svc", self.name, self.namespace)
    }

    pub(crate) async fn address(&self) -> Result<Address, String> {
        self.resolver.resolve(&self.namespace, &self.name, self.port).await
    }
}

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.server_name(), self.port)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::testing::{HttpsOptions, HttpsServer, Reply};
    use crate::{Client, ClientOptions, Material, Roots, TlsOptions};

    /// Says where a service is as a test wants it.
    struct Resolved(Mutex<Result<Address, String>>);

    #[async_trait]
    impl Resolver for Resolved {
        async fn resolve(&self, namespace: &str, name: &str, port: u16) -> Result<Address, String> {
            assert_eq!((namespace, name, port), ("ns", "hook", 443));
            self.0.lock().unwrap().clone()
        }
    }

    async fn server(says: &'static str, http2: bool) -> HttpsServer {
        let options = HttpsOptions { names: vec!["hook.ns.svc"], http2, ..HttpsOptions::default() };
        HttpsServer::start_with(options, move |seen| {
            Reply::text(200, &format!("{says} as {}", seen.header("host")))
        })
        .await
    }

    fn address(of: &HttpsServer) -> Address {
        Address { host: of.address.ip().to_string(), port: of.address.port() }
    }

    #[tokio::test]
    async fn requests_go_to_where_a_service_is_now() {
        for http2 in [false, true] {
            let (first, second) = (server("first", http2).await, server("second", http2).await);
            let resolved = Arc::new(Resolved(Mutex::new(Ok(address(&first)))));
            let service = Service {
                resolver: resolved.clone(),
                namespace: "ns".into(),
                name: "hook".into(),
                port: 443,
            };
            let pem = format!("{}{}", first.authority.pem, second.authority.pem);
            let tls =
                TlsOptions { roots: Roots::Bundle(Material::Text(pem.into())), ..TlsOptions::default() };
            let options = ClientOptions { tls, service: Some(service), ..ClientOptions::default() };
            let url = Url::parse("https://hook.ns.svc:443/x").unwrap();
            let client = Client::new(&url, options).unwrap();
            let ask = async || match client.get(&url).await {
                Ok(answer) => String::from_utf8_lossy(&answer.body).into_owned(),
                Err(error) => error.to_string(),
            };
            let name = if http2 { "" } else { "hook.ns.svc:443" };
            assert_eq!(ask().await, format!("first as {name}"));
            *resolved.0.lock().unwrap() = Ok(address(&second));
            assert_eq!(ask().await, format!("second as {name}"), "though a connection to the first was kept");
            *resolved.0.lock().unwrap() = Err("service \"hook\" not found".into());
            assert_eq!(ask().await, "Get \"https://hook.ns.svc:443/x\": service \"hook\" not found");
            *resolved.0.lock().unwrap() = Ok(address(&first));
            assert_eq!(ask().await, format!("first as {name}"));
            assert_eq!((first.connections(), second.connections()), (1, 1), "the kept ones are used again");
        }
    }

    #[tokio::test]
    async fn http2_is_not_offered_where_it_is_not_wanted() {
        let server = HttpsServer::start(|_| Reply::text(200, "")).await;
        let roots = Roots::Bundle(Material::Text(server.authority.pem.clone().into()));
        let tls = TlsOptions { roots, http1_only: true, ..TlsOptions::default() };
        let url = Url::parse(&server.url("/")).unwrap();
        Client::new(&url, ClientOptions { tls, ..ClientOptions::default() })
            .unwrap()
            .get(&url)
            .await
            .unwrap();
        assert_eq!(server.seen()[0].version, http::Version::HTTP_11);
    }
}
