//! The configuration of a control plane: plain values, and parts that the program has made of its files.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::Duration;

use http::HeaderValue;
use pintle_admission::{Configurations, ManifestFolders, TolerationSeconds};
use pintle_audit::Auditor;
use pintle_auth::authenticator::FrontProxyHeaders;
use pintle_auth::authorizer::AlwaysAllow;
use pintle_auth::{Authenticator, Authorizer, TokenAuthenticator};
use pintle_cache::Pool;
use pintle_codec::negotiate::Encoding;
use pintle_connections::KubeletConfig;
use pintle_controllers::manager::Selection;
use pintle_controllers::{CertificateSigners, LegacyTokenCleaner, Trust};
use pintle_encryption::Encryption;
use pintle_features::Features;
use pintle_metrics::Registry;
use pintle_outbound::KeyPair;
use pintle_outbound::egress::Selector;
use pintle_outbound::hosts::Hosts;
use pintle_regex::Regex;
use pintle_registry::StorePolicy;
use pintle_resources::component_status::Component;
use pintle_resources::service::PortRange;
use pintle_runtime::{Clock, Random, Spawner, Tasks};
use pintle_server::filter::Handler;
use pintle_server::handlers::{HealthCheck, Version};
use pintle_storage::Backend;
use tokio::sync::Notify;

use crate::access::ClusterAuthorizers;
use crate::api_groups::ApiGroupsConfig;
use crate::service_account_tokens::ServiceAccountConfig;
use crate::{Error, version};

/// Bytes that the encoded bodies of all objects may take, unless planes share a pool of another size.
const BODY_POOL: usize = 96 << 20;

/// The release of Kubernetes that a control plane says it is, unless the program says otherwise.
const RELEASE: &str = "v1.36.0";

/// Returns the names of the admission plugins that are on by default, in the order in which they are called.
pub fn default_admission_plugins() -> Vec<&'static str> {
    pintle_admission::PLUGINS.iter().filter(|plugin| plugin.on_by_default).map(|plugin| plugin.name).collect()
}

/// Everything that a control plane depends on beside its store.
pub struct Config {
    pub features: Features,
    pub clock: Clock,
    pub random: Random,
    /// The tasks of the control plane. Parts that are made before it start theirs here ([`Config::spawner`]).
    pub tasks: Tasks,
    /// All metrics of the control plane.
    pub registry: Registry,
    /// The metrics of authentication and authorization, also of parts that were made before the control plane.
    pub auth_metrics: pintle_auth::Metrics,
    pub storage: StorageConfig,
    pub api: ApiConfig,
    pub authentication: AuthenticationConfig,
    pub authorization: MakeAuthorizer,
    pub requests: RequestConfig,
    pub network: NetworkConfig,
    pub aggregation: AggregationConfig,
    pub controllers: ControllersConfig,
    pub health: HealthConfig,
    pub shutdown: ShutdownConfig,
    /// The answer of `/version`.
    pub version: Version,
    /// The content of `/flagz`: flags with their values.
    pub flags: BTreeMap<String, String>,
    /// Further endpoints by path.
    pub endpoints: Vec<(String, Box<dyn Handler>)>,
}

/// Makes the authorizer of a control plane, of those that read the cluster and any others.
pub type MakeAuthorizer = Box<
    dyn Fn(&ClusterAuthorizers) -> Result<Arc<dyn Authorizer>, Box<dyn std::error::Error + Send + Sync>>
        + Send
        + Sync,
>;

/// How objects are stored.
pub struct StorageConfig {
    /// The beginning of all keys.
    pub prefix: String,
    /// The encoding of new values of built-in kinds.
    pub encoding: Encoding,
    pub policy: Arc<StorePolicy>,
    /// Stores of single resources.
    pub overrides: StoreOverrides,
    /// The encryption of values in all stores; without it, they are stored as they are.
    pub encryption: Option<Arc<Encryption>>,
    /// Whether other API servers use the same store.
    pub is_shared: bool,
    /// The servers of the store, which `componentstatuses` lists. Empty: the backend is the only one.
    pub servers: Vec<Arc<dyn Component>>,
    /// Encoded bodies. Planes that share a pool share its budget of bytes.
    pub body_pool: Arc<Pool>,
    /// How often stored objects are counted for metrics, if at all.
    pub count_period: Option<Duration>,
    /// How often the size of the store is read for metrics, if at all.
    pub size_period: Option<Duration>,
}

/// Resources whose objects are in a store of their own.
#[derive(Default)]
pub struct StoreOverrides {
    pub backends: Vec<Arc<dyn Backend>>,
    /// Group, resource, and index of the backend. The last entry of a resource holds.
    pub resources: Vec<(String, String, usize)>,
}

/// Which resources are served, and how they are written.
pub struct ApiConfig {
    pub groups: ApiGroupsConfig,
    /// Names of admission plugins, in the order in which they are called.
    pub admission_plugins: Vec<&'static str>,
    /// The configuration of admission plugins.
    pub admission_configurations: Configurations,
    /// Reads the static manifests of admission plugins; without it, none can be configured.
    pub manifest_folders: Option<Arc<dyn ManifestFolders>>,
    pub toleration_seconds: TolerationSeconds,
    /// How long an event lives; zero for ever.
    pub event_ttl: Duration,
    /// Whether containers may be privileged.
    pub allow_privileged: bool,
    /// How many objects of a collection are deleted at once.
    pub delete_workers: usize,
    /// The least time that a watch without a timeout lasts.
    pub min_request_timeout: Duration,
    /// Whether OpenAPI documents `/logs`.
    pub has_logs: bool,
}

/// Authenticators, in the reference's order: `requests`, then bearer tokens (`first_tokens`, service accounts,
/// `last_tokens`), then anonymous requests.
pub struct AuthenticationConfig {
    pub requests: Vec<Arc<dyn Authenticator>>,
    pub first_tokens: Vec<Arc<dyn TokenAuthenticator>>,
    pub service_accounts: ServiceAccountConfig,
    pub last_tokens: Vec<Arc<dyn TokenAuthenticator>>,
    /// Paths that take requests without credentials; empty: all paths; `None`: no path.
    pub anonymous_paths: Option<Vec<String>>,
    /// Headers in which a front proxy names users, where they are not the usual ones.
    pub front_proxy: Option<FrontProxyHeaders>,
    /// The `WWW-Authenticate` header of a 401.
    pub challenge: Option<HeaderValue>,
    /// The published certificate authorities of clients and front proxies.
    pub trust: Trust,
    /// Notified when the certificate authorities of `trust` have changed.
    pub trust_changed: Arc<Notify>,
}

/// How requests are treated before they reach a resource.
pub struct RequestConfig {
    /// Whether requests are limited by priority and fairness, with the sum of both limits as seats.
    pub has_flow_control: bool,
    /// Requests that are worked on at once; zero for no limit.
    pub max_read_only: usize,
    pub max_mutating: usize,
    pub timeout: Duration,
    pub cors_allowed_origins: Vec<Regex>,
    pub strict_transport_security: Option<HeaderValue>,
    pub goaway_chance: f64,
    pub close_unauthenticated: bool,
    /// Records requests; `None` without auditing. Whoever made it ends it, after the last request.
    pub auditor: Option<Arc<Auditor>>,
}

/// The addresses of this server and of the cluster's services.
pub struct NetworkConfig {
    /// The name of the host, from which the identity of this server is made.
    pub hostname: String,
    /// The address of the listener.
    pub listening: SocketAddr,
    /// The address that discovery gives clients: `host:port`.
    pub public_address: String,
    /// The address under which pods and other API servers reach this server.
    pub advertised: IpAddr,
    /// One or two networks of services, the preferred one first.
    pub service_ranges: Vec<String>,
    /// The address of the service `kubernetes`.
    pub service_ip: IpAddr,
    /// The node port of the service `kubernetes`; 0 for none.
    pub service_node_port: u16,
    pub node_ports: PortRange,
    /// Whether this server keeps the endpoints of the service `kubernetes`.
    pub keeps_endpoints: bool,
    /// Whether services are reached at their endpoints instead of their cluster IP.
    pub endpoint_routing: bool,
    /// The proxies of connections that leave this server.
    pub egress: Option<Selector>,
    /// How kubelets are reached.
    pub kubelets: KubeletConfig,
    /// Bytes per second of a connection to a node, pod or service, in each direction.
    pub connection_rate: Option<NonZeroU64>,
    /// The lookup of nodes' host names.
    pub hosts: Hosts,
}

/// The way to other servers behind APIServices.
pub struct AggregationConfig {
    /// The certificate by which they know this server as a front proxy.
    pub key_pair: Option<KeyPair>,
    /// Whether their redirects are refused.
    pub refuses_redirects: bool,
}

/// The controllers that kube-controller-manager runs for every cluster, and that can run in this process.
pub struct ControllersConfig {
    pub selection: Selection,
    /// The certificate authorities by which pods verify this server, in PEM.
    pub root_ca: Option<Arc<str>>,
    /// The authorities that sign requests for certificates.
    pub signers: CertificateSigners,
    /// How long a legacy token of a service account must not have been used before it is removed.
    pub legacy_token_period: Duration,
}

/// Health checks beside those of hooks.
pub struct HealthConfig {
    /// Checks of the program.
    pub checks: Vec<HealthCheck>,
    pub livez_grace: Duration,
    /// How long the store may take to answer for `/healthz` and `/livez`.
    pub store_timeout: Duration,
    /// How long the store may take to answer for `/readyz`.
    pub store_ready_timeout: Duration,
}

/// The order of a shutdown.
pub struct ShutdownConfig {
    /// How long requests are still served after a shutdown has begun.
    pub delay: Duration,
    /// Whether requests are answered with 429 while others drain.
    pub send_retry_after: bool,
    /// How long watches may take to end; zero: they end at once.
    pub watch_termination: Duration,
}

impl Config {
    /// Returns the reference's defaults, with an authorizer that allows everything and anonymous requests, as users of
    /// the group `system:unauthenticated`.
    pub fn new() -> Result<Config, Error> {
        Config::with_registry(Registry::default())
    }

    /// Returns the same defaults, with metrics in this registry.
    pub fn with_registry(registry: Registry) -> Result<Config, Error> {
        Ok(Config {
            features: Features::default(),
            clock: Clock::system(),
            random: Random::system(),
            tasks: Tasks::new(),
            auth_metrics: pintle_auth::Metrics::new(&registry, &Clock::system()).map_err(Error::part)?,
            registry,
            storage: StorageConfig::default(),
            api: ApiConfig::default(),
            authentication: AuthenticationConfig::default(),
            authorization: Box::new(|_| Ok(Arc::new(AlwaysAllow))),
            requests: RequestConfig::default(),
            network: NetworkConfig::default(),
            aggregation: AggregationConfig::default(),
            controllers: ControllersConfig::default(),
            health: HealthConfig::default(),
            shutdown: ShutdownConfig::default(),
            version: version::kubernetes(RELEASE),
            flags: BTreeMap::new(),
            endpoints: Vec::new(),
        })
    }

    /// Returns the spawner of the control plane to be, for parts that are made before it.
    pub fn spawner(&self) -> Spawner {
        self.tasks.spawner()
    }
}

impl Default for StorageConfig {
    fn default() -> StorageConfig {
        StorageConfig {
            prefix: "/registry".into(),
            encoding: Encoding::Protobuf,
            policy: Arc::default(),
            overrides: StoreOverrides::default(),
            encryption: None,
            is_shared: false,
            servers: Vec::new(),
            body_pool: Arc::new(Pool::new(BODY_POOL)),
            count_period: Some(Duration::from_secs(60)),
            size_period: None,
        }
    }
}

impl Default for ApiConfig {
    fn default() -> ApiConfig {
        ApiConfig {
            groups: ApiGroupsConfig::default(),
            admission_plugins: default_admission_plugins(),
            admission_configurations: Configurations::default(),
            manifest_folders: None,
            toleration_seconds: TolerationSeconds { not_ready: 300, unreachable: 300 },
            event_ttl: Duration::from_secs(60 * 60),
            allow_privileged: false,
            delete_workers: 1,
            min_request_timeout: Duration::from_secs(30 * 60),
            has_logs: false,
        }
    }
}

impl Default for AuthenticationConfig {
    fn default() -> AuthenticationConfig {
        AuthenticationConfig {
            requests: Vec::new(),
            first_tokens: Vec::new(),
            service_accounts: ServiceAccountConfig::default(),
            last_tokens: Vec::new(),
            anonymous_paths: Some(Vec::new()),
            front_proxy: None,
            challenge: None,
            trust: Trust {
                client_ca: Arc::new(|| Ok(String::new())),
                front_proxies: None,
                uid_headers: true,
            },
            trust_changed: Arc::default(),
        }
    }
}

impl Default for RequestConfig {
    fn default() -> RequestConfig {
        RequestConfig {
            has_flow_control: true,
            max_read_only: 400,
            max_mutating: 200,
            timeout: Duration::from_secs(60),
            cors_allowed_origins: Vec::new(),
            strict_transport_security: None,
            goaway_chance: 0.0,
            close_unauthenticated: true,
            auditor: None,
        }
    }
}

impl Default for NetworkConfig {
    fn default() -> NetworkConfig {
        let address = IpAddr::from(Ipv4Addr::LOCALHOST);
        NetworkConfig {
            hostname: "localhost".into(),
            listening: SocketAddr::new(address, 6443),
            public_address: SocketAddr::new(address, 6443).to_string(),
            advertised: address,
            service_ranges: vec!["10.0.0.0/24".into()],
            service_ip: Ipv4Addr::new(10, 0, 0, 1).into(),
            service_node_port: 0,
            node_ports: PortRange { first: 30_000, last: 32_767 },
            keeps_endpoints: true,
            endpoint_routing: false,
            egress: None,
            kubelets: KubeletConfig::default(),
            connection_rate: None,
            hosts: Hosts::system(),
        }
    }
}

impl NetworkConfig {
    /// Returns whether services get IPv6 addresses before others.
    pub(crate) fn is_ipv6_first(&self) -> bool {
        self.service_ranges.first().is_some_and(|range| range.contains(':'))
    }
}

impl Default for AggregationConfig {
    fn default() -> AggregationConfig {
        AggregationConfig { key_pair: None, refuses_redirects: true }
    }
}

impl Default for ControllersConfig {
    fn default() -> ControllersConfig {
        ControllersConfig {
            selection: Selection::none(),
            root_ca: None,
            signers: CertificateSigners::default(),
            legacy_token_period: LegacyTokenCleaner::PERIOD,
        }
    }
}

impl Default for HealthConfig {
    fn default() -> HealthConfig {
        HealthConfig {
            checks: Vec::new(),
            livez_grace: Duration::ZERO,
            store_timeout: Duration::from_secs(2),
            store_ready_timeout: Duration::from_secs(2),
        }
    }
}

impl Default for ShutdownConfig {
    fn default() -> ShutdownConfig {
        ShutdownConfig { delay: Duration::ZERO, send_retry_after: false, watch_termination: Duration::ZERO }
    }
}
