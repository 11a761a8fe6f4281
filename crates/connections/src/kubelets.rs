//! Kubelets: where they are, and the clients that speak to them.

use std::sync::Arc;

use pintle_meta::{Status, Value};
use pintle_outbound::{Client, ClientOptions, KeyPair, Material, Roots, SetupError, TlsOptions};
use pintle_registry::{Context, Store};

use crate::address::host_and_port;

/// `--kubelet-*`.
#[derive(Clone, Debug)]
pub struct KubeletConfig {
    /// The authorities of kubelets; without them, certificates of kubelets are not checked.
    pub authorities: Option<Material>,
    /// The certificate by which kubelets know this server.
    pub key_pair: Option<KeyPair>,
    /// The port of kubelets that do not say theirs.
    pub port: u16,
    /// Types of node addresses, the best first.
    pub address_types: Vec<String>,
}

impl Default for KubeletConfig {
    fn default() -> KubeletConfig {
        let types = ["Hostname", "InternalDNS", "InternalIP", "ExternalDNS", "ExternalIP"];
        KubeletConfig {
            authorities: None,
            key_pair: None,
            port: 10_250,
            address_types: types.map(str::to_owned).to_vec(),
        }
    }
}

pub(crate) struct Kubelets {
    nodes: Arc<Store>,
    port: u16,
    address_types: Vec<String>,
    /// Checks certificates, if there are authorities.
    pub(crate) client: Client,
    /// Checks none: `insecureSkipTLSVerifyBackend`.
    pub(crate) unverified: Client,
    /// Refuses kubelets of this machine: `nodes/proxy`.
    pub(crate) elsewhere: Client,
}

/// The place of a kubelet.
pub(crate) struct Kubelet {
    pub(crate) host: String,
    pub(crate) port: u16,
    /// Whether it speaks WebSocket for streams itself.
    pub(crate) speaks_websocket: bool,
}

impl Kubelet {
    /// `https://host:port`.
    pub(crate) fn origin(&self) -> String {
        format!("https://{}", host_and_port(&self.host, &self.port.to_string()))
    }
}

impl Kubelets {
    pub(crate) fn new(
        nodes: Arc<Store>,
        config: KubeletConfig,
        options: &ClientOptions,
    ) -> Result<Kubelets, SetupError> {
        let KubeletConfig { authorities, key_pair, port, address_types } = config;
        let tls = TlsOptions {
            skip_verification: authorities.is_none(),
            roots: authorities.map_or(Roots::System, Roots::Bundle),
            key_pair: key_pair.clone(),
            ..TlsOptions::default()
        };
        let unverified = TlsOptions { skip_verification: true, key_pair, ..TlsOptions::default() };
        let client = |tls: TlsOptions| ClientOptions { tls, ..options.clone() };
        let elsewhere = ClientOptions { hosts: options.hosts.elsewhere(), ..client(tls.clone()) };
        Ok(Kubelets {
            nodes,
            port,
            address_types,
            client: Client::of_any(client(tls))?,
            unverified: Client::of_any(client(unverified))?,
            elsewhere: Client::of_any(elsewhere)?,
        })
    }

    /// Finds the kubelet of a node.
    pub(crate) async fn find(&self, name: &str) -> Result<Kubelet, Box<Status>> {
        let node = self.nodes.get(&Context::default(), name).await?;
        let addresses = node.items_at(&["status", "addresses"]);
        let of_type = |wanted: &String| addresses.iter().find(|address| address.text_at(&["type"]) == wanted);
        let host = self.address_types.iter().find_map(of_type).ok_or_else(|| {
            let shown: Vec<String> = addresses
                .iter()
                .map(|address| {
                    format!("{{{} {}}}", address.text_at(&["type"]), address.text_at(&["address"]))
                })
                .collect();
            Box::new(Status::plain(format_args!(
                "no preferred addresses found; known addresses: [{}]",
                shown.join(" ")
            )))
        })?;
        let port = node.at(&["status", "daemonEndpoints", "kubeletEndpoint", "Port"]).and_then(Value::as_i64);
        let port = port.and_then(|port| u16::try_from(port).ok()).filter(|port| *port > 0);
        let declared = node.items_at(&["status", "declaredFeatures"]);
        Ok(Kubelet {
            host: host.text_at(&["address"]).to_owned(),
            port: port.unwrap_or(self.port),
            speaks_websocket: declared
                .iter()
                .any(|feature| feature.as_str() == Some("ExtendWebSocketsToKubelet")),
        })
    }
}
