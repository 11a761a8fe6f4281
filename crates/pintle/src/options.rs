//! The flags in the types of the parts that they configure. Nothing is opened or read here.

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use pintle_admission::TolerationSeconds;
use pintle_codec::negotiate::Encoding;
use pintle_control_plane::KubeletConfig;
use pintle_features::Feature;
use pintle_flags::{DataDir, Parsed};
use pintle_outbound::{KeyPair, Material};
use pintle_registry::StorePolicy;
use pintle_resources::service::PortRange;

mod audit;
mod controllers;
mod encryption;
mod peers;
mod serving;

pub(crate) use audit::{AuditLogOptions, AuditLogTarget, AuditOptions, AuditWebhookOptions};
pub(crate) use controllers::{AuthorityFiles, ControllerOptions};
pub(crate) use encryption::EncryptionOptions;
pub(crate) use peers::{
    AuthenticationSource, AuthorizationWebhookOptions, OidcOptions, PeerOptions, RequestHeaderOptions,
    TokenWebhookOptions,
};
pub(crate) use serving::ServingOptions;

pub(crate) struct Options {
    pub(crate) store: StoreOptions,
    pub(crate) encryption: EncryptionOptions,
    pub(crate) serving: ServingOptions,
    pub(crate) api: ApiOptions,
    pub(crate) audit: AuditOptions,
    pub(crate) controllers: ControllerOptions,
    pub(crate) peers: PeerOptions,
    pub(crate) token_auth_file: Option<PathBuf>,
    pub(crate) anonymous_auth: bool,
    /// In the order of evaluation.
    pub(crate) authorization_modes: Vec<String>,
    pub(crate) authorization_policy_file: Option<PathBuf>,
    pub(crate) uid_from_certificates: bool,
    pub(crate) close_unauthenticated: bool,
    pub(crate) service_accounts: ServiceAccountOptions,
    /// Number of requests that are worked on at once; zero for no limit.
    pub(crate) has_flow_control: bool,
    pub(crate) max_read_only: usize,
    pub(crate) max_mutating: usize,
    pub(crate) request_timeout: Duration,
    pub(crate) livez_grace_period: Duration,
    pub(crate) shutdown_delay: Duration,
    pub(crate) shutdown_send_retry_after: bool,
    /// Zero: watches end at once.
    pub(crate) watch_termination: Duration,
    pub(crate) goaway_chance: f64,
    pub(crate) cors_allowed_origins: Vec<String>,
    pub(crate) strict_transport_security: Vec<String>,
    pub(crate) disabled_metrics: Vec<String>,
    pub(crate) allow_metric_labels: BTreeMap<String, String>,
    pub(crate) allow_metric_labels_manifest: Option<PathBuf>,
    pub(crate) compaction_interval: Duration,
    pub(crate) size_poll_interval: Duration,
    /// Zero: stored objects are not counted.
    pub(crate) count_poll_period: Duration,
    pub(crate) health_timeout: Duration,
    pub(crate) ready_timeout: Duration,
    pub(crate) storage_timeout: Duration,
}

/// Options of service account and bootstrap tokens.
pub(crate) struct ServiceAccountOptions {
    pub(crate) key_files: Vec<PathBuf>,
    pub(crate) signing_key_file: Option<PathBuf>,
    /// The socket of the external signer, if there is one.
    pub(crate) signing_endpoint: Option<String>,
    pub(crate) issuers: Vec<String>,
    /// The audiences of this server; empty: its issuers.
    pub(crate) audiences: Vec<String>,
    pub(crate) lookup: bool,
    /// Zero is no limit.
    pub(crate) max_expiration: Duration,
    pub(crate) extend_expiration: bool,
    /// The address of the keys, if it is not this server.
    pub(crate) jwks_uri: String,
    pub(crate) bootstrap_tokens: bool,
}

/// Options of the API's objects.
pub(crate) struct ApiOptions {
    /// By name, in the order in which they are called.
    pub(crate) admission_plugins: Vec<&'static str>,
    /// The file with the configuration of admission plugins.
    pub(crate) admission_config: Option<PathBuf>,
    /// The tolerations of pods that have none for nodes that are not ready or unreachable.
    pub(crate) toleration_seconds: TolerationSeconds,
    /// The encoding of new values of built-in kinds.
    pub(crate) stored_as: Encoding,
    /// How stores serve their objects.
    pub(crate) policy: Arc<StorePolicy>,
    /// How long an event lives; zero for ever.
    pub(crate) event_ttl: Duration,
    pub(crate) allow_privileged: bool,
    /// Whether this server keeps the endpoints of the service `kubernetes`.
    pub(crate) keeps_endpoints: bool,
    /// The node port of the service `kubernetes`; 0 for none.
    pub(crate) service_node_port: u16,
    /// The range of services' node ports.
    pub(crate) node_ports: PortRange,
    /// How many objects of a collection are deleted at once.
    pub(crate) delete_workers: usize,
    /// Whether services are reached at their endpoints instead of their cluster IP.
    pub(crate) endpoint_routing: bool,
    /// The least time that a watch without a timeout lasts.
    pub(crate) min_request_timeout: Duration,
    /// How kubelets are reached.
    pub(crate) kubelets: KubeletConfig,
    /// Bytes per second of a connection to a node, pod or service.
    pub(crate) connection_rate: Option<NonZeroU64>,
}

pub(crate) enum StoreOptions {
    Embedded { location: DataDir, no_fsync: bool, lease_reuse: Duration },
    Etcd(EtcdOptions),
}

#[derive(Clone)]
pub(crate) struct EtcdOptions {
    pub(crate) servers: Vec<String>,
    /// Group, resource and etcd servers of resources with a store of their own.
    pub(crate) overrides: Vec<(String, String, Vec<String>)>,
    pub(crate) prefix: String,
    pub(crate) ca: Option<PathBuf>,
    pub(crate) cert: Option<PathBuf>,
    pub(crate) key: Option<PathBuf>,
    pub(crate) lease_reuse: Duration,
}

impl Options {
    /// Returns the prefix of all keys.
    pub(crate) fn storage_prefix(&self) -> &str {
        match &self.store {
            StoreOptions::Embedded { .. } => "/registry",
            StoreOptions::Etcd(etcd) => &etcd.prefix,
        }
    }

    /// Returns whether anonymous requests are taken. With AlwaysAllow they would be allowed everything.
    pub(crate) fn allows_anonymous(&self) -> bool {
        self.anonymous_auth && !self.authorization_modes.iter().any(|mode| mode == "AlwaysAllow")
    }

    pub(crate) fn from_flags(flags: &Parsed) -> anyhow::Result<Options> {
        Ok(Options {
            store: store(flags)?,
            encryption: EncryptionOptions::from_flags(flags),
            serving: ServingOptions::from_flags(flags),
            api: api(flags),
            audit: AuditOptions::from_flags(flags),
            controllers: ControllerOptions::from_flags(flags)?,
            peers: PeerOptions::from_flags(flags),
            token_auth_file: path(flags, "token-auth-file"),
            anonymous_auth: flags.bool("anonymous-auth"),
            authorization_modes: authorization_modes(flags),
            authorization_policy_file: path(flags, "authorization-policy-file"),
            uid_from_certificates: flags.features().enabled(Feature::AllowParsingUserUIDFromCertAuth),
            close_unauthenticated: flags.features().enabled(Feature::UnauthenticatedHTTP2DOSMitigation),
            service_accounts: service_accounts(flags),
            has_flow_control: flags.bool("enable-priority-and-fairness"),
            max_read_only: usize::try_from(flags.int("max-requests-inflight")).unwrap_or_default(),
            max_mutating: usize::try_from(flags.int("max-mutating-requests-inflight")).unwrap_or_default(),
            request_timeout: flags.duration("request-timeout"),
            livez_grace_period: flags.duration("livez-grace-period"),
            shutdown_delay: flags.duration("shutdown-delay-duration"),
            shutdown_send_retry_after: flags.bool("shutdown-send-retry-after"),
            watch_termination: flags.duration("shutdown-watch-termination-grace-period"),
            goaway_chance: flags.float("goaway-chance"),
            cors_allowed_origins: flags.strings("cors-allowed-origins").to_vec(),
            strict_transport_security: flags.strings("strict-transport-security-directives").to_vec(),
            disabled_metrics: flags.strings("disabled-metrics").to_vec(),
            allow_metric_labels: flags.pairs("allow-metric-labels").clone(),
            allow_metric_labels_manifest: path(flags, "allow-metric-labels-manifest"),
            compaction_interval: flags.duration("etcd-compaction-interval"),
            size_poll_interval: flags.duration("etcd-db-metric-poll-interval"),
            count_poll_period: flags.duration("etcd-count-metric-poll-period"),
            health_timeout: flags.duration("etcd-healthcheck-timeout"),
            ready_timeout: flags.duration("etcd-readycheck-timeout"),
            storage_timeout: flags.duration("storage-initialization-timeout"),
        })
    }
}

fn path(flags: &Parsed, name: &str) -> Option<PathBuf> {
    flags.non_empty(name).map(PathBuf::from)
}

/// Returns the modes of authorization. A server on the embedded store is not open to everyone by default.
fn authorization_modes(flags: &Parsed) -> Vec<String> {
    // The file names all authorizers.
    if flags.non_empty("authorization-config").is_some() {
        return Vec::new();
    }
    let modes = flags.strings("authorization-mode");
    let default: &[&str] = match flags.is_closed_by_default() {
        _ if !modes.is_empty() => return modes.to_vec(),
        true => &["Node", "RBAC"],
        false => &["AlwaysAllow"],
    };
    default.iter().map(|&mode| mode.to_owned()).collect()
}

fn service_accounts(flags: &Parsed) -> ServiceAccountOptions {
    ServiceAccountOptions {
        key_files: flags.strings("service-account-key-file").iter().map(Into::into).collect(),
        signing_key_file: path(flags, "service-account-signing-key-file"),
        signing_endpoint: flags.non_empty("service-account-signing-endpoint").map(str::to_owned),
        issuers: flags.strings("service-account-issuer").to_vec(),
        audiences: flags.strings("api-audiences").to_vec(),
        lookup: flags.bool("service-account-lookup"),
        max_expiration: flags.duration("service-account-max-token-expiration"),
        extend_expiration: flags.bool("service-account-extend-token-expiration"),
        jwks_uri: flags.string("service-account-jwks-uri").to_owned(),
        bootstrap_tokens: flags.bool("enable-bootstrap-token-auth"),
    }
}

fn api(flags: &Parsed) -> ApiOptions {
    let positive = |name: &str| u64::try_from(flags.int(name)).unwrap_or(0);
    ApiOptions {
        admission_plugins: flags.admission_plugins().collect(),
        admission_config: path(flags, "admission-control-config-file"),
        toleration_seconds: TolerationSeconds {
            not_ready: flags.int("default-not-ready-toleration-seconds"),
            unreachable: flags.int("default-unreachable-toleration-seconds"),
        },
        stored_as: match flags.string("storage-media-type") {
            "application/vnd.kubernetes.protobuf" => Encoding::Protobuf,
            "application/yaml" => Encoding::Yaml,
            // Also an empty value.
            _ => Encoding::Json,
        },
        policy: Arc::new(store_policy(flags)),
        event_ttl: flags.duration("event-ttl"),
        allow_privileged: flags.bool("allow-privileged"),
        keeps_endpoints: flags.string("endpoint-reconciler-type") != "none",
        service_node_port: positive("kubernetes-service-node-port").try_into().unwrap_or(0),
        node_ports: node_ports(flags),
        delete_workers: positive("delete-collection-workers").max(1).try_into().unwrap_or(usize::MAX),
        endpoint_routing: flags.bool("enable-aggregator-routing"),
        min_request_timeout: Duration::from_secs(positive("min-request-timeout")),
        kubelets: kubelets(flags),
        connection_rate: NonZeroU64::new(positive("max-connection-bytes-per-sec")),
    }
}

/// Returns how kubelets are reached: `--kubelet-*`.
fn kubelets(flags: &Parsed) -> KubeletConfig {
    let file = |name: &str| path(flags, name).map(Material::File);
    let pair = file("kubelet-client-certificate").zip(file("kubelet-client-key"));
    KubeletConfig {
        authorities: file("kubelet-certificate-authority"),
        key_pair: pair.map(|(certificate, key)| KeyPair { certificate, key }),
        port: u16::try_from(flags.uint("kubelet-port")).unwrap_or(0),
        address_types: flags.strings("kubelet-preferred-address-types").to_vec(),
    }
}

/// Returns the options of stores. Sizes of caches other than 0 switch a cache on that is off otherwise.
fn store_policy(flags: &Parsed) -> StorePolicy {
    let mut policy = StorePolicy::default();
    policy.options.watch_cache = flags.bool("watch-cache");
    policy.options.garbage_collection = flags.bool("enable-garbage-collector");
    policy.options.unsafe_deletion = flags.features().enabled(Feature::AllowUnsafeMalformedObjectDeletion);
    for entry in flags.strings("watch-cache-sizes") {
        // Other forms were refused by validation.
        let Some((name, size)) = entry.split_once('#') else { continue };
        let (resource, group) = name.split_once('.').unwrap_or((name, ""));
        let named = (group.to_owned(), resource.to_owned());
        policy.uncached.retain(|known| *known != named);
        if size.parse() == Ok(0) {
            policy.uncached.push(named);
        }
    }
    policy
}

/// Returns the range of node ports, or the default one.
fn node_ports(flags: &Parsed) -> PortRange {
    let range = flags.port_range("service-node-port-range").and_then(|range| {
        Some(PortRange { first: range.first.try_into().ok()?, last: range.last.try_into().ok()? })
    });
    range.unwrap_or(PortRange { first: 30_000, last: 32_767 })
}

fn store(flags: &Parsed) -> anyhow::Result<StoreOptions> {
    let lease_reuse = Duration::from_secs(flags.int("lease-reuse-duration-seconds").try_into().unwrap_or(0));
    if flags.strings("etcd-servers").is_empty() {
        let location = flags.data_dir(|name| std::env::var_os(name))?;
        return Ok(StoreOptions::Embedded { location, no_fsync: flags.bool("unsafe-no-fsync"), lease_reuse });
    }
    Ok(StoreOptions::Etcd(EtcdOptions {
        servers: flags.strings("etcd-servers").to_vec(),
        overrides: flags
            .strings("etcd-servers-overrides")
            .iter()
            .filter_map(|text| etcd_override(text))
            .collect(),
        prefix: flags.string("etcd-prefix").to_owned(),
        ca: path(flags, "etcd-cafile"),
        cert: path(flags, "etcd-certfile"),
        key: path(flags, "etcd-keyfile"),
        lease_reuse,
    }))
}

/// Parses `group/resource#url;url`; other forms were refused by validation.
fn etcd_override(text: &str) -> Option<(String, String, Vec<String>)> {
    let (name, servers) = text.split_once('#')?;
    let (group, resource) = name.split_once('/')?;
    Some((group.into(), resource.into(), servers.split(';').map(str::to_owned).collect()))
}

#[cfg(test)]
pub(crate) mod tests;
