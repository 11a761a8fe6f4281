//! Egress of connections: direct, or through a proxy into a network that this server does not reach by itself.
//!
//! `--egress-selector-config-file` names an egress for each of three networks. A client is given the egress of the network that it
//! talks to ([`crate::ClientOptions::egress`]); the proxy looks names up, so that they are those of its own network. Nothing
//! is set up without such a file.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use pintle_meta::field_path;
use pintle_runtime::{Random, Stopwatch};
use rustls_pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsConnector;

use crate::dial::{HANDSHAKE_TIMEOUT, connect};
use crate::error::{Failure, broken};
use crate::grpc::dial_unix;
use crate::hosts::Hosts;
use crate::services::Address;
use crate::tls::{KeyPair, Material, Roots, SetupError, Tls, TlsOptions};
use crate::url::Url;

pub mod config;
mod http_connect;
mod metrics;
pub mod packets;
#[cfg(test)]
mod tests;
mod tunnel;

use config::{Connection, EgressSelectorConfiguration, Tcp, TlsConfig, Transport};
pub use metrics::Metrics;

/// A byte stream in both directions.
pub trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> Stream for S {}

pub type BoxedStream = Box<dyn Stream>;

/// The network that a connection leads to, by which its egress is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// Beside this server: webhooks by URL, token issuers that say so.
    ControlPlane,
    /// The store.
    Etcd,
    /// The managed cluster: services, nodes.
    Cluster,
}

impl Network {
    pub fn named(name: &str) -> Option<Network> {
        [Network::ControlPlane, Network::Etcd, Network::Cluster]
            .into_iter()
            .find(|network| network.as_str() == name.to_lowercase())
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Network::ControlPlane => "controlplane",
            Network::Etcd => "etcd",
            Network::Cluster => "cluster",
        }
    }
}

/// Observes connections through proxies for metrics, with the reference's labels.
pub trait Events: Send + Sync + 'static {
    fn dial_started(&self, protocol: &'static str, transport: &'static str);
    fn dialed(&self, protocol: &'static str, transport: &'static str, took: Duration);
    /// `stage`: `connect` while reaching the proxy, then `proxy`.
    fn dial_failed(&self, protocol: &'static str, transport: &'static str, stage: &'static str);
    /// A packet was sent (`from_client`) or received (`to_client`).
    fn packet(&self, segment: &'static str, kind: &'static str);
    /// A stream of packets failed.
    fn stream_failed(&self, segment: &'static str, code: &'static str);
    /// A tunnel did not become a connection.
    fn dial_refused(&self, reason: &'static str);
    /// A tunnel is something else than before; nothing before it is made and after it is gone.
    fn tunnel(&self, before: Option<&'static str>, now: Option<&'static str>);
}

/// The egresses of all networks.
#[derive(Clone, Debug, Default)]
pub struct Selector {
    egresses: Vec<(Network, Egress)>,
}

impl Selector {
    /// Loads the file; `None` if it selects nothing. The errors are the reference's.
    pub fn load(path: &Path, events: Arc<dyn Events>, random: &Random) -> Result<Option<Selector>, String> {
        let shown = path.display().to_string();
        if !path.exists() {
            return Err(format!("egress-selector-config-file {shown} does not exist"));
        }
        let text = std::fs::read(path).map_err(|error| {
            let why = format!("open {shown}: {}", crate::tls::reason(&error));
            let shown = pintle_meta::quote(&shown);
            format!(
                "failed to read egress selector config: unable to read egress selector configuration from {shown} [{why}]"
            )
        })?;
        let configuration = EgressSelectorConfiguration::read(&text)
            .map_err(|why| format!("failed to read egress selector config: {why}"))?;
        let errors = configuration.validate();
        if !errors.is_empty() {
            let errors = field_path::aggregate(&errors);
            return Err(format!("failed to validate egress selector configuration: {errors}"));
        }
        Selector::new(&configuration, &events, random)
            .map_err(|why| format!("failed to setup egress selector: {why}"))
    }

    /// Returns the egresses of a valid configuration, whose files are read. `random` makes the ids of dials through konnectivity.
    pub fn new(
        configuration: &EgressSelectorConfiguration,
        events: &Arc<dyn Events>,
        random: &Random,
    ) -> Result<Option<Selector>, String> {
        let Some(selections) = &configuration.egress_selections else { return Ok(None) };
        let mut egresses = Vec::new();
        for selection in selections {
            let network = Network::named(&selection.name)
                .ok_or_else(|| format!("unrecognized service name {}", selection.name))?;
            let egress = Egress::new(&selection.connection, events, random).map_err(|why| {
                let name = pintle_meta::quote(network.as_str());
                format!("failed to create dialer for egressSelection {name}: {why}")
            })?;
            egresses.push((network, egress));
        }
        Ok(Some(Selector { egresses }))
    }

    /// Returns the egress to a network, if the file names one.
    pub fn lookup(&self, network: Network) -> Option<Egress> {
        self.egresses.iter().find(|(of, _)| *of == network).map(|(_, egress)| egress.clone())
    }
}

/// The route of connections to a network: direct, or through a proxy. Cheap to clone.
#[derive(Clone)]
pub struct Egress(Option<Arc<Proxy>>);

struct Proxy {
    kind: Kind,
    /// The proxy's address, in messages.
    shown: String,
    events: Arc<dyn Events>,
    random: Random,
}

enum Kind {
    HttpConnectTcp { url: Url, tls: Option<Box<Tls>> },
    HttpConnectUds,
    Grpc,
}

impl fmt::Debug for Egress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(proxy) => write!(f, "through {}", proxy.shown),
            None => f.write_str("direct"),
        }
    }
}

impl Egress {
    fn new(connection: &Connection, events: &Arc<dyn Events>, random: &Random) -> Result<Egress, String> {
        let via = |kind, shown: &str| {
            let (shown, events, random) = (shown.to_owned(), events.clone(), random.clone());
            Ok(Egress(Some(Arc::new(Proxy { kind, shown, events, random }))))
        };
        match (connection.proxy_protocol.as_str(), &connection.transport) {
            ("Direct", _) => Ok(Egress(None)),
            ("HTTPConnect", Some(Transport { uds: Some(uds), .. })) => via(Kind::HttpConnectUds, &uds.name),
            ("HTTPConnect", Some(Transport { tcp: Some(tcp), .. })) => {
                let Tcp { url: text, tls } = tcp;
                let tls = tls.as_ref().map(proxy_tls).transpose()?.map(Box::new);
                let url = Url::parse(text)
                    .map_err(|why| format!("invalid proxy server url {}: {why}", pintle_meta::quote(text)))?;
                let shown = url.authority();
                via(Kind::HttpConnectTcp { url, tls }, &shown)
            }
            ("GRPC", Some(Transport { uds: Some(uds), .. })) => via(Kind::Grpc, &uds.name),
            ("HTTPConnect", _) => Err("Either a TCP or UDS transport must be specified".into()),
            ("GRPC", _) => Err("UDS transport must be specified for GRPC".into()),
            (protocol, _) => {
                Err(format!("unrecognized service connection protocol {}", pintle_meta::quote(protocol)))
            }
        }
    }

    /// Reports whether connections go through a proxy.
    pub fn is_proxied(&self) -> bool {
        self.0.is_some()
    }

    /// Connects to a host, whose name the proxy looks up if there is one. `hosts` knows the proxy's own name, and other names if
    /// there is none.
    pub async fn connect(&self, address: &Address, hosts: &Hosts) -> Result<BoxedStream, Failure> {
        match &self.0 {
            Some(proxy) => proxy.connect(address, hosts).await,
            None => Ok(Box::new(connect(address, hosts).await?)),
        }
    }
}

/// Returns the TLS options of connections to a proxy.
fn proxy_tls(config: &TlsConfig) -> Result<Tls, String> {
    let TlsConfig { ca_bundle, client_key, client_cert, tls_server_name } = config;
    let file = |path: &String| Material::File(path.into());
    if !ca_bundle.is_empty()
        && let Err(error) = std::fs::metadata(ca_bundle)
    {
        let why = crate::tls::reason(&error);
        return Err(format!("failed to read cert file {ca_bundle}, got open {ca_bundle}: {why}"));
    }
    let options = TlsOptions {
        roots: if ca_bundle.is_empty() { Roots::System } else { Roots::Bundle(file(ca_bundle)) },
        key_pair: Some(KeyPair { certificate: file(client_cert), key: file(client_key) }),
        server_name: Some(tls_server_name.clone()).filter(|name| !name.is_empty()),
        ..TlsOptions::default()
    };
    Tls::new(options).map_err(|SetupError(why)| match why {
        why if why.starts_with("unable to load root certificates") => {
            "failed to append CA cert to the cert pool".into()
        }
        why if why.contains("root certificates") => why,
        why => format!("failed to read key pair {client_cert} & {client_key}, got {why}"),
    })
}

/// Counts a dial as failed unless it is marked as done, also when its caller has gone.
struct Dial<'a> {
    proxy: &'a Proxy,
    stage: &'static str,
    started: Stopwatch,
}

impl<'a> Dial<'a> {
    fn start(proxy: &'a Proxy) -> Dial<'a> {
        let (protocol, transport) = proxy.labels();
        proxy.events.dial_started(protocol, transport);
        Dial { proxy, stage: "connect", started: Stopwatch::start() }
    }

    fn done(self) {
        let (protocol, transport) = self.proxy.labels();
        self.proxy.events.dialed(protocol, transport, self.started.elapsed());
        std::mem::forget(self);
    }
}

impl Drop for Dial<'_> {
    fn drop(&mut self) {
        let (protocol, transport) = self.proxy.labels();
        self.proxy.events.dial_failed(protocol, transport, self.stage);
    }
}

impl Proxy {
    fn labels(&self) -> (&'static str, &'static str) {
        match self.kind {
            Kind::HttpConnectTcp { .. } => ("http_connect", "tcp"),
            Kind::HttpConnectUds => ("http_connect", "uds"),
            Kind::Grpc => ("grpc", "uds"),
        }
    }

    async fn connect(&self, address: &Address, hosts: &Hosts) -> Result<BoxedStream, Failure> {
        let to = if address.host.contains(':') {
            format!("[{}]:{}", address.host, address.port)
        } else {
            format!("{}:{}", address.host, address.port)
        };
        // It becomes a line of a request.
        if !to.bytes().all(|byte| byte.is_ascii_graphic()) {
            let to = pintle_meta::quote(&to);
            return Err(Failure::Proxy(format!("{to} is no address that a proxy could be asked for")));
        }
        let mut dial = Dial::start(self);
        let stream = match &self.kind {
            Kind::Grpc => {
                let connection = tunnel::reach(&self.shown).await.map_err(Failure::Proxy)?;
                dial.stage = "proxy";
                let id = i64::from_ne_bytes(self.random.number().to_ne_bytes()) & i64::MAX;
                let tunnel = tunnel::open(connection, to, id, self.events.clone()).await;
                Box::new(tunnel.map_err(Failure::Proxy)?)
            }
            Kind::HttpConnectUds => {
                let stream = dial_unix(&self.shown).await.map_err(Failure::Proxy)?;
                dial.stage = "proxy";
                http_connect::request(Box::new(stream), &self.shown, &to).await.map_err(Failure::Proxy)?
            }
            Kind::HttpConnectTcp { url, tls } => {
                let stream = self.reach(url, tls.as_deref(), hosts).await?;
                dial.stage = "proxy";
                http_connect::request(stream, &self.shown, &to).await.map_err(Failure::Proxy)?
            }
        };
        dial.done();
        Ok(stream)
    }

    async fn reach(&self, url: &Url, tls: Option<&Tls>, hosts: &Hosts) -> Result<BoxedStream, Failure> {
        let stream: BoxedStream = Box::new(connect(&Address::from_url(url), hosts).await?);
        let Some(tls) = tls else { return Ok(stream) };
        let mut config = (*tls.current().map_err(|error| Failure::Setup(error.to_string()))?).clone();
        // It is asked in HTTP/1.1 and in nothing else.
        config.alpn_protocols.clear();
        let name = tls.options.server_name.clone().unwrap_or_else(|| url.host().to_owned());
        let name = ServerName::try_from(name.clone())
            .map_err(|_| Failure::Tls(format!("tls: {} is not a server name", pintle_meta::quote(&name))))?;
        let handshake = TlsConnector::from(Arc::new(config)).connect(name, stream);
        let stream = tokio::time::timeout(HANDSHAKE_TIMEOUT, handshake)
            .await
            .map_err(|_| Failure::Tls("net/http: TLS handshake timeout".into()))?
            .map_err(|error| broken(&error))?;
        Ok(Box::new(stream))
    }
}
