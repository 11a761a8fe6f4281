//! What the flags ask for, in the types of the parts that do it. Nothing is opened, read or decided here.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use pintle_admission::TolerationSeconds;
use pintle_codec::negotiate::Encoding;
use pintle_features::Feature;
use pintle_flags::{DataDir, Parsed};
use pintle_registry::StorePolicy;
use pintle_resources::service::PortRange;
use pintle_server::tls::{KeyPairFiles, MinVersion};

mod peers;

pub(crate) use peers::{
    AuthenticationSource, AuthorizationWebhookOptions, OidcOptions, PeerOptions, RequestHeaderOptions,
    TokenWebhookOptions,
};

pub(crate) struct Options {
    pub(crate) store: StoreOptions,
    pub(crate) serving: ServingOptions,
    pub(crate) api: ApiOptions,
    pub(crate) peers: PeerOptions,
    pub(crate) token_auth_file: Option<PathBuf>,
    pub(crate) anonymous_auth: bool,
    /// In the order in which they are asked.
    pub(crate) authorization_modes: Vec<String>,
    pub(crate) authorization_policy_file: Option<PathBuf>,
    pub(crate) uid_from_certificates: bool,
    pub(crate) close_unauthenticated: bool,
    pub(crate) service_accounts: ServiceAccountOptions,
    /// How many requests are worked on at once; zero for no limit.
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

/// About the tokens of service accounts and joining nodes.
pub(crate) struct ServiceAccountOptions {
    pub(crate) key_files: Vec<PathBuf>,
    pub(crate) signing_key_file: Option<PathBuf>,
    /// The socket of the program that signs, if one does.
    pub(crate) signing_endpoint: Option<String>,
    pub(crate) issuers: Vec<String>,
    /// Of this server; empty means its issuers.
    pub(crate) audiences: Vec<String>,
    pub(crate) lookup: bool,
    /// Zero is no limit.
    pub(crate) max_expiration: Duration,
    pub(crate) extend_expiration: bool,
    /// Who shows the keys, if not this server.
    pub(crate) jwks_uri: String,
    pub(crate) bootstrap_tokens: bool,
}

/// About the objects, wherever they are.
pub(crate) struct ApiOptions {
    /// By name, in the order in which they are asked.
    pub(crate) admission_plugins: Vec<&'static str>,
    /// Of pods that do not say how long they bear a node that is not well.
    pub(crate) toleration_seconds: TolerationSeconds,
    /// What new values of built-in kinds are written in.
    pub(crate) stored_as: Encoding,
    /// How stores serve their objects.
    pub(crate) policy: Arc<StorePolicy>,
    /// How long an event lives; zero for good.
    pub(crate) event_ttl: Duration,
    /// Whether the endpoints of the `kubernetes` Service are this server's business.
    pub(crate) keeps_endpoints: bool,
    /// Of the `kubernetes` Service; 0 for none.
    pub(crate) service_node_port: u16,
    /// Of services.
    pub(crate) node_ports: PortRange,
    /// How many objects of a collection are deleted at once.
    pub(crate) delete_workers: usize,
    /// Whether services are reached at their endpoints instead of their own address.
    pub(crate) endpoint_routing: bool,
    /// How long a watch without a timeout of its own lasts at least.
    pub(crate) min_request_timeout: Duration,
}

pub(crate) enum StoreOptions {
    Embedded { location: DataDir, no_fsync: bool, lease_reuse: Duration },
    Etcd(EtcdOptions),
}

#[derive(Clone)]
pub(crate) struct EtcdOptions {
    pub(crate) servers: Vec<String>,
    /// Group, resource and servers of what is kept elsewhere.
    pub(crate) overrides: Vec<(String, String, Vec<String>)>,
    pub(crate) prefix: String,
    pub(crate) ca: Option<PathBuf>,
    pub(crate) cert: Option<PathBuf>,
    pub(crate) key: Option<PathBuf>,
    pub(crate) lease_reuse: Duration,
}

pub(crate) struct ServingOptions {
    /// For plain HTTP.
    pub(crate) insecure_address: IpAddr,
    pub(crate) insecure_port: Option<u16>,
    pub(crate) bind_address: IpAddr,
    pub(crate) port: u16,
    pub(crate) share_port: bool,
    pub(crate) advertise_address: Option<IpAddr>,
    pub(crate) external_hostname: Option<String>,
    /// `None`: wherever the store is, or nowhere that lasts.
    pub(crate) cert_dir: Option<PathBuf>,
    pub(crate) key_pair: Option<KeyPairFiles>,
    pub(crate) named_key_pairs: Vec<(KeyPairFiles, Vec<String>)>,
    pub(crate) min_version: MinVersion,
    pub(crate) cipher_suites: Vec<String>,
    pub(crate) curve_preferences: Vec<i32>,
    pub(crate) http2: bool,
    pub(crate) http2_streams: Option<u32>,
    pub(crate) client_ca: Option<PathBuf>,
    pub(crate) service_ip_ranges: Vec<String>,
}

impl Options {
    /// What all keys begin with.
    pub(crate) fn storage_prefix(&self) -> &str {
        match &self.store {
            StoreOptions::Embedded { .. } => "/registry",
            StoreOptions::Etcd(etcd) => &etcd.prefix,
        }
    }

    /// Where everybody may do everything, at least they must say who they are.
    pub(crate) fn allows_anonymous(&self) -> bool {
        self.anonymous_auth && !self.authorization_modes.iter().any(|mode| mode == "AlwaysAllow")
    }

    pub(crate) fn from_flags(flags: &Parsed) -> anyhow::Result<Options> {
        Ok(Options {
            store: store(flags)?,
            serving: serving(flags),
            api: api(flags),
            peers: PeerOptions::from_flags(flags),
            token_auth_file: path(flags, "token-auth-file"),
            anonymous_auth: flags.bool("anonymous-auth"),
            authorization_modes: authorization_modes(flags),
            authorization_policy_file: path(flags, "authorization-policy-file"),
            uid_from_certificates: flags.features().enabled(Feature::AllowParsingUserUIDFromCertAuth),
            close_unauthenticated: flags.features().enabled(Feature::UnauthenticatedHTTP2DOSMitigation),
            service_accounts: service_accounts(flags),
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

/// Whoever runs on the embedded store and asks for nothing gets a server that is closed to strangers.
fn authorization_modes(flags: &Parsed) -> Vec<String> {
    // A file says it all.
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
        toleration_seconds: TolerationSeconds {
            not_ready: flags.int("default-not-ready-toleration-seconds"),
            unreachable: flags.int("default-unreachable-toleration-seconds"),
        },
        stored_as: match flags.string("storage-media-type") {
            "application/vnd.kubernetes.protobuf" => Encoding::Protobuf,
            "application/yaml" => Encoding::Yaml,
            // Also where it was set to nothing.
            _ => Encoding::Json,
        },
        policy: Arc::new(store_policy(flags)),
        event_ttl: flags.duration("event-ttl"),
        keeps_endpoints: flags.string("endpoint-reconciler-type") != "none",
        service_node_port: positive("kubernetes-service-node-port").try_into().unwrap_or(0),
        node_ports: node_ports(flags),
        delete_workers: positive("delete-collection-workers").max(1).try_into().unwrap_or(usize::MAX),
        endpoint_routing: flags.bool("enable-aggregator-routing"),
        min_request_timeout: Duration::from_secs(positive("min-request-timeout")),
    }
}

/// Sizes other than 0 are of no interest, but switch a cache on that is off otherwise.
fn store_policy(flags: &Parsed) -> StorePolicy {
    let mut policy = StorePolicy::default();
    policy.options.watch_cache = flags.bool("watch-cache");
    policy.options.garbage_collection = flags.bool("enable-garbage-collector");
    policy.options.unsafe_deletion = flags.features().enabled(Feature::AllowUnsafeMalformedObjectDeletion);
    for entry in flags.strings("watch-cache-sizes") {
        // What has another form was refused.
        let Some((name, size)) = entry.split_once('#') else { continue };
        let (resource, group) = name.split_once('.').unwrap_or((name, ""));
        let place = (group.to_owned(), resource.to_owned());
        policy.uncached.retain(|known| *known != place);
        if size.parse() == Ok(0) {
            policy.uncached.push(place);
        }
    }
    policy
}

/// Without a range, or with one that is no range of ports, the usual one.
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

/// `group/resource#url;url`; what is not was refused.
fn etcd_override(text: &str) -> Option<(String, String, Vec<String>)> {
    let (name, servers) = text.split_once('#')?;
    let (group, resource) = name.split_once('/')?;
    Some((group.into(), resource.into(), servers.split(';').map(str::to_owned).collect()))
}

fn serving(flags: &Parsed) -> ServingOptions {
    let embedded = flags.strings("etcd-servers").is_empty();
    let given = |name: &str| flags.changed(name);
    // Who gives no address and runs on the embedded store is trying things out at home: stay there. With etcd or an
    // address to advertise it is a member of a cluster, and the reference's default holds.
    let at_home = embedded && !given("bind-address") && !given("advertise-address");
    let bind_address = match flags.ip("bind-address") {
        Some(address) if !at_home => address,
        _ => Ipv4Addr::LOCALHOST.into(),
    };
    let key_pair = path(flags, "tls-cert-file")
        .zip(path(flags, "tls-private-key-file"))
        .map(|(certificate, key)| KeyPairFiles { certificate, key });
    let named_key_pairs = flags.cert_keys("tls-sni-cert-key").iter().map(|pair| {
        let files =
            KeyPairFiles { certificate: pair.cert_file.clone().into(), key: pair.key_file.clone().into() };
        (files, pair.names.clone())
    });
    ServingOptions {
        insecure_address: flags.ip("insecure-bind-address").unwrap_or(Ipv4Addr::LOCALHOST.into()),
        insecure_port: u16::try_from(flags.int("insecure-port")).ok().filter(|port| *port > 0),
        bind_address,
        port: flags.int("secure-port").try_into().unwrap_or(0),
        share_port: flags.bool("permit-port-sharing"),
        advertise_address: flags.ip("advertise-address"),
        external_hostname: flags.non_empty("external-hostname").map(str::to_owned),
        cert_dir: (given("cert-dir") || !embedded).then(|| flags.string("cert-dir").into()),
        key_pair,
        named_key_pairs: named_key_pairs.collect(),
        min_version: match flags.string("tls-min-version") {
            "VersionTLS13" => MinVersion::Tls13,
            _ => MinVersion::Tls12,
        },
        cipher_suites: flags.strings("tls-cipher-suites").to_vec(),
        curve_preferences: flags.int32s("tls-curve-preferences").to_vec(),
        http2: !flags.bool("disable-http2-serving"),
        http2_streams: flags
            .int("http2-max-streams-per-connection")
            .try_into()
            .ok()
            .filter(|streams| *streams > 0),
        client_ca: path(flags, "client-ca-file"),
        service_ip_ranges: flags
            .string("service-cluster-ip-range")
            .split(',')
            .map(str::trim)
            .filter(|range| !range.is_empty())
            .map(str::to_owned)
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use pintle_flags::{CommandLine, command_line};

    use super::*;

    fn options(args: &[&str]) -> Options {
        match command_line("pintle", args.iter().map(Into::into), 0).unwrap() {
            CommandLine::Run(flags) => Options::from_flags(&flags).unwrap(),
            CommandLine::Print(_) => panic!("expected to run"),
        }
    }

    #[test]
    fn a_bare_server_stays_on_loopback_and_a_cluster_s_does_not() {
        let bind = |args: &[&str]| options(args).serving.bind_address.to_string();
        assert_eq!(bind(&["--data-dir=/d"]), "127.0.0.1");
        assert_eq!(bind(&["--data-dir=/d", "--bind-address=0.0.0.0"]), "0.0.0.0");
        assert_eq!(bind(&["--data-dir=/d", "--advertise-address=10.0.0.1"]), "0.0.0.0");
        assert_eq!(bind(&["--etcd-servers=http://127.0.0.1:2379"]), "0.0.0.0");
    }

    #[test]
    fn a_watch_cache_is_on_unless_it_is_switched_off() {
        let cached = |args: &[&str], group: &str, resource: &str| {
            options(&[&["--data-dir=/d"], args].concat()).api.policy.of(group, resource).watch_cache
        };
        assert!(
            cached(&[], "", "pods") && !cached(&[], "", "events") && !cached(&[], "events.k8s.io", "events")
        );
        let sizes = ["--watch-cache-sizes=pods#0,deployments.apps#0,events#100,nodes#5"];
        assert!(!cached(&sizes, "", "pods") && !cached(&sizes, "apps", "deployments"));
        assert!(
            cached(&sizes, "", "events") && cached(&sizes, "", "nodes") && cached(&sizes, "", "deployments")
        );
        assert!(!cached(&["--watch-cache=false"], "", "nodes"));
        assert!(
            !options(&["--data-dir=/d", "--enable-garbage-collector=false"])
                .api
                .policy
                .options
                .garbage_collection
        );
    }

    #[test]
    fn a_server_of_its_own_is_closed_to_strangers() {
        let modes = |args: &[&str]| options(args).authorization_modes.join(",");
        assert_eq!(modes(&["--data-dir=/d"]), "Node,RBAC");
        assert_eq!(modes(&["--data-dir=/d", "--authorization-mode=RBAC"]), "RBAC");
        assert_eq!(modes(&["--etcd-servers=http://127.0.0.1:2379"]), "AlwaysAllow");
        let both = ["--etcd-servers=http://127.0.0.1:2379", "--authorization-mode=Node,RBAC"];
        assert_eq!(modes(&both), "Node,RBAC");
        assert!(options(&["--data-dir=/d"]).allows_anonymous());
        assert!(!options(&["--data-dir=/d", "--authorization-mode=AlwaysAllow"]).allows_anonymous());
        assert!(!options(&["--data-dir=/d", "--anonymous-auth=false"]).allows_anonymous());
    }

    #[test]
    fn a_server_of_its_own_lets_nodes_write_only_what_is_theirs() {
        let restricts = |args: &[&str]| options(args).api.admission_plugins.contains(&"NodeRestriction");
        assert!(restricts(&["--data-dir=/d"]));
        assert!(!restricts(&["--data-dir=/d", "--disable-admission-plugins=NodeRestriction"]));
        // Who says something says it all, as in the reference.
        assert!(!restricts(&["--data-dir=/d", "--authorization-mode=Node,RBAC"]));
        assert!(!restricts(&["--etcd-servers=http://127.0.0.1:2379"]));
        let asked = "--enable-admission-plugins=NodeRestriction";
        assert!(restricts(&["--data-dir=/d", "--authorization-mode=Node,RBAC", asked]));
    }

    #[test]
    fn certificates_live_beside_the_embedded_store_unless_told_otherwise() {
        let cert_dir = |args: &[&str]| options(args).serving.cert_dir;
        assert_eq!(cert_dir(&["--data-dir=/d"]), None);
        assert_eq!(cert_dir(&["--data-dir=/d", "--cert-dir=/c"]), Some("/c".into()));
        assert_eq!(cert_dir(&["--etcd-servers=http://127.0.0.1:2379"]), Some("/var/run/kubernetes".into()));
    }

    #[test]
    fn what_objects_are_stored_in_and_for_how_long() {
        let api = |args: &[&str]| options(args).api;
        let default = api(&["--data-dir=/d"]);
        assert_eq!((default.stored_as, default.delete_workers), (Encoding::Protobuf, 1));
        assert_eq!((default.event_ttl.as_secs(), default.min_request_timeout.as_secs()), (3600, 1800));
        assert_eq!(default.admission_plugins[0], "NamespaceLifecycle");
        assert_eq!(
            api(&["--data-dir=/d", "--storage-media-type=application/yaml"]).stored_as,
            Encoding::Yaml
        );
        assert_eq!(api(&["--data-dir=/d", "--storage-media-type="]).stored_as, Encoding::Json);
        assert_eq!(api(&["--data-dir=/d", "--delete-collection-workers=-3"]).delete_workers, 1);
        assert_eq!(api(&["--data-dir=/d", "--event-ttl=0"]).event_ttl, Duration::ZERO);
    }

    #[test]
    fn how_long_pods_bear_a_node_that_is_not_well() {
        let seconds = |args: &[&str]| {
            let TolerationSeconds { not_ready, unreachable } = options(args).api.toleration_seconds;
            (not_ready, unreachable)
        };
        assert_eq!(seconds(&["--data-dir=/d"]), (300, 300));
        let given = [
            "--data-dir=/d",
            "--default-not-ready-toleration-seconds=-1",
            "--default-unreachable-toleration-seconds=7",
        ];
        assert_eq!(seconds(&given), (-1, 7));
    }

    #[test]
    fn etcd_servers_choose_the_store() {
        assert!(matches!(
            options(&["--data-dir=:memory:"]).store,
            StoreOptions::Embedded { location: DataDir::Memory, .. }
        ));
        let StoreOptions::Etcd(etcd) = options(&["--etcd-servers=http://a:1,http://b:2"]).store else {
            panic!()
        };
        assert_eq!((etcd.servers.len(), etcd.prefix.as_str()), (2, "/registry"));
    }
}
