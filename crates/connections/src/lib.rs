//! Connections to nodes, pods and services: `pods/log`, `exec`, `attach`, `portforward`, and `proxy` of all three.
//!
//! Each subresource is a [`Connector`](pintle_server::rest::Connector): it finds the target ([`kubelets`], [`proxies`]) and passes the
//! request on through [`pintle_outbound::proxy`].
//!
//! ```text
//! log                    GET /containerLogs of the kubelet; its answer streams
//! exec, attach           a byte tunnel (SPDY, WebSocket), or for WebSocket protocol v5 a translation to SPDY
//! portforward            a byte tunnel (SPDY), or SPDY in the messages of a WebSocket
//! pods/proxy             the pod's address     \
//! services/proxy         a pod's address        } HTTP, with links that lead back through the proxy
//! nodes/proxy            the node's address    /
//! ```
//!
//! A kubelet trusts this server more than its clients. So nothing that a client sends chooses an address, redirects are not followed, and
//! what a client proves itself with goes no further.

mod address;
pub mod kubelets;
mod log;
mod metrics;
mod pods;
mod proxies;
mod remote_command;
mod services;
mod streams;
pub mod websocket;

use std::sync::Arc;

use pintle_features::Features;
use pintle_outbound::StreamLimits;
use pintle_outbound::egress::Egress;
use pintle_outbound::hosts::Hosts;
use pintle_outbound::{Client, ClientOptions, SetupError, TlsOptions};
use pintle_registry::Store;
use pintle_runtime::{Clock, Random};
use pintle_server::rest::Connector;

pub use kubelets::KubeletConfig;
use kubelets::Kubelets;
pub use metrics::Metrics;
pub use remote_command::error_status;

/// The stores that targets are looked up in.
pub struct Stores {
    pub nodes: Arc<Store>,
    pub pods: Arc<Store>,
    pub services: Arc<Store>,
    pub endpoints: Arc<Store>,
}

/// The parts that connections are made with.
pub struct Config {
    pub stores: Stores,
    pub kubelets: KubeletConfig,
    /// The way to the network of nodes and pods.
    pub egress: Option<Egress>,
    pub hosts: Hosts,
    pub limits: StreamLimits,
    pub features: Features,
    pub metrics: Metrics,
    pub clock: Clock,
    pub random: Random,
}

/// Makes the connectors of all subresources.
pub struct Connections(Arc<Shared>);

pub(crate) struct Shared {
    pub(crate) stores: Stores,
    pub(crate) kubelets: Kubelets,
    /// For addresses of pods, whose certificates cannot be checked.
    pub(crate) pods: Client,
    /// For ports of nodes that are not kubelets'.
    pub(crate) nodes: Client,
    pub(crate) limits: StreamLimits,
    pub(crate) features: Features,
    pub(crate) metrics: Metrics,
    pub(crate) random: Random,
    /// Whether a proxy in between looks names up, and this server cannot check what it finds.
    pub(crate) hosts: Hosts,
}

impl Connections {
    pub fn new(config: Config) -> Result<Connections, SetupError> {
        let Config { stores, kubelets, egress, hosts, limits, features, metrics, clock, random } = config;
        let options = ClientOptions {
            egress,
            hosts: hosts.clone(),
            clock,
            random: random.clone(),
            ..ClientOptions::default()
        };
        let unverified = TlsOptions { skip_verification: true, ..TlsOptions::default() };
        let to_pods = ClientOptions { tls: unverified, ..options.clone() };
        let to_nodes = ClientOptions { hosts: hosts.elsewhere(), ..to_pods.clone() };
        Ok(Connections(Arc::new(Shared {
            kubelets: Kubelets::new(stores.nodes.clone(), kubelets, &options)?,
            pods: Client::of_any(to_pods)?,
            nodes: Client::of_any(to_nodes)?,
            stores,
            limits,
            features,
            metrics,
            random,
            hosts,
        })))
    }

    /// Returns the connector of a subresource; `None` if it is none of these.
    pub fn connector(&self, resource: &str, subresource: &str) -> Option<Arc<dyn Connector>> {
        let shared = self.0.clone();
        Some(match (resource, subresource) {
            ("pods", "log") => Arc::new(log::Log(shared)),
            ("pods", "exec") => Arc::new(streams::Streams { shared, kind: streams::Kind::Exec }),
            ("pods", "attach") => Arc::new(streams::Streams { shared, kind: streams::Kind::Attach }),
            ("pods", "portforward") => {
                Arc::new(streams::Streams { shared, kind: streams::Kind::PortForward })
            }
            ("pods", "proxy") => Arc::new(proxies::Proxies { shared, kind: proxies::Kind::Pod }),
            ("services", "proxy") => Arc::new(proxies::Proxies { shared, kind: proxies::Kind::Service }),
            ("nodes", "proxy") => Arc::new(proxies::Proxies { shared, kind: proxies::Kind::Node }),
            _ => return None,
        })
    }
}
