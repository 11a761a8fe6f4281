//! Options completed by what this machine has: certificates made where none are given, addresses found, files read.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use http::HeaderValue;
use pintle_auth::Metrics;
use pintle_auth::authenticator::{
    self, Authenticator, BasicAuth, ClientCertificates, RequestHeader, TokenAuthenticator, TokenCache,
    TokenCacheOptions, TokenFile,
};
use pintle_controllers::{FrontProxies, Peers, ServiceConfig, Trust};
use pintle_flags::DataDir;
use pintle_outbound::egress::Egress;
use pintle_regex::Regex;
use pintle_resources::service::ServiceNetwork;
use pintle_resources::strategy::Settings;
use pintle_server::tls::{KeyPairFiles, Tls, TlsOptions, read_certificates};
use pintle_server::{Limits, ListenOptions, WatchedFiles};

use crate::access::issuers::Believed;
use crate::access::service_accounts::StoredAccounts;
use crate::access::webhooks;
use crate::options::{Options, RequestHeaderOptions, ServingOptions, StoreOptions};
use crate::pki::{Names, Pki};
use crate::service_accounts::ServiceAccounts;
use crate::storage::Storage;
use crate::{admin, peers};

/// How the server is reached and whom it trusts.
pub(crate) struct Serving {
    pub(crate) limits: Limits,
    pub(crate) tls: Arc<Tls>,
    pub(crate) client_ca: PathBuf,
    pub(crate) clients: Arc<ClientCertificates>,
    pub(crate) front_proxy: Option<Arc<RequestHeader>>,
    pub(crate) generated: Option<Generated>,
    /// Files of which `tls` and `clients` are made.
    pub(crate) files: WatchedFiles,
    /// Where what this server makes for itself is kept.
    pub(crate) cert_dir: PathBuf,
    /// Kept while the server runs, when certificates have no place that lasts.
    _temporary: Option<tempfile::TempDir>,
}

/// What this server made for itself, and renews.
#[derive(Clone)]
pub(crate) struct Generated {
    pki: Pki,
    names: Option<Names>,
    admin: Option<Admin>,
}

/// The administrator's way in.
#[derive(Clone)]
struct Admin {
    kubeconfig: PathBuf,
    authority: PathBuf,
    host: String,
}

impl Generated {
    /// Makes what is missing or near its end.
    fn ensure(&self) -> anyhow::Result<()> {
        if let Some(names) = &self.names {
            self.pki.ensure_serving(names)?;
        }
        if self.admin.is_some() {
            self.pki.ensure_admin()?;
        }
        Ok(())
    }

    /// Writes the kubeconfig, now that the port is known. Returns its path.
    pub(crate) fn write_kubeconfig(&self, port: u16) -> anyhow::Result<Option<PathBuf>> {
        let Some(Admin { kubeconfig, authority, host }) = &self.admin else { return Ok(None) };
        admin::write(kubeconfig, &format!("https://{host}:{port}"), authority, &self.pki.admin())?;
        Ok(Some(kubeconfig.clone()))
    }

    /// Issues anew what is near its end. Serving certificates are picked up from their files.
    pub(crate) fn renew(&self, port: u16) -> anyhow::Result<()> {
        self.ensure()?;
        self.write_kubeconfig(port).map(drop)
    }
}

/// Where to listen.
pub(crate) fn listen_options(options: &Options) -> ListenOptions {
    let ServingOptions { bind_address, port, share_port, .. } = options.serving;
    ListenOptions { address: SocketAddr::new(bind_address, port), share_port }
}

/// Where to listen without TLS, if anywhere. Nobody is asked who they are there, so it must not be reachable from elsewhere.
pub(crate) fn plain_listen_options(options: &Options) -> anyhow::Result<Option<ListenOptions>> {
    let ServingOptions { insecure_address, insecure_port, .. } = options.serving;
    let Some(port) = insecure_port else { return Ok(None) };
    if !insecure_address.is_loopback() {
        bail!(
            "--insecure-bind-address: {insecure_address} is not a loopback address; plain HTTP is for this machine only"
        );
    }
    let address = SocketAddr::new(insecure_address, port);
    tracing::warn!(
        "--insecure-port is deprecated: whoever can connect to {address} may do everything, and is not asked who they are"
    );
    Ok(Some(ListenOptions { address, share_port: false }))
}

/// Decides how to serve, and makes what it takes.
pub(crate) fn serving(options: &Options, metrics: &Metrics) -> anyhow::Result<Serving> {
    let serving = &options.serving;
    let (cert_dir, temporary) = cert_dir(options)?;
    let pki = Pki::new(cert_dir.clone());

    let default = serving.key_pair.clone().unwrap_or_else(|| pki.serving());
    let makes_serving = serving.key_pair.is_none() && !pki.has_foreign_serving();
    let admin = serving.client_ca.is_none().then(|| Admin {
        kubeconfig: cert_dir.join(admin::FILE_NAME),
        authority: if makes_serving { pki.authority() } else { default.certificate.clone() },
        host: client_host(serving),
    });
    let names = makes_serving.then(|| names(serving)).transpose()?;
    let generated =
        (names.is_some() || admin.is_some()).then(|| Generated { pki: pki.clone(), names, admin });
    if let Some(generated) = &generated {
        generated.ensure().context("cannot make certificates (--cert-dir says where they go)")?;
    }

    let client_ca = serving.client_ca.clone().unwrap_or_else(|| pki.authority());
    let front_proxy_ca = options.peers.request_header.as_ref().map(|proxy| proxy.client_ca.clone());
    let client_cas = std::iter::once(client_ca.clone()).chain(front_proxy_ca).collect();
    let tls = tls_options(serving, default, client_cas);
    let files = WatchedFiles::new(tls.files());
    let roots = read_certificates(&client_ca).context("--client-ca-file")?;
    let counted = metrics.clone();
    let clients = ClientCertificates::new(&roots, options.uid_from_certificates)
        .context("--client-ca-file")?
        .observed_by(Arc::new(move |remaining| counted.certificate_seen(remaining)));
    let mut limits = Limits::default();
    if let Some(streams) = serving.http2_streams {
        limits.http2_streams = streams;
    }
    Ok(Serving {
        limits,
        tls: Arc::new(Tls::new(tls).context("cannot serve TLS")?),
        client_ca,
        clients: Arc::new(clients),
        front_proxy: front_proxy(options.peers.request_header.as_ref())?,
        generated,
        files,
        cert_dir,
        _temporary: temporary,
    })
}

fn tls_options(serving: &ServingOptions, default: KeyPairFiles, client_cas: Vec<PathBuf>) -> TlsOptions {
    TlsOptions {
        default,
        named: serving.named_key_pairs.clone(),
        min_version: serving.min_version,
        cipher_suites: serving.cipher_suites.clone(),
        curve_preferences: serving.curve_preferences.clone(),
        http2: serving.http2,
        client_cas,
    }
}

/// Where certificates are looked for and made: as told, beside the store, or for the life of the process only.
fn cert_dir(options: &Options) -> anyhow::Result<(PathBuf, Option<tempfile::TempDir>)> {
    if let Some(directory) = &options.serving.cert_dir {
        return Ok((directory.clone(), None));
    }
    match &options.store {
        StoreOptions::Embedded { location: DataDir::Path(directory), .. } => {
            Ok((directory.join("pki"), None))
        }
        _ => {
            let temporary = tempfile::Builder::new().prefix("pintle-").tempdir().context(
                "cannot make a temporary directory for certificates; --cert-dir names another place",
            )?;
            Ok((temporary.path().to_owned(), Some(temporary)))
        }
    }
}

/// Under which names and addresses clients will call.
fn names(serving: &ServingOptions) -> anyhow::Result<Names> {
    let mut dns: Vec<String> = ["localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"]
        .map(str::to_owned)
        .to_vec();
    dns.push("kubernetes.default.svc.cluster.local".into());
    dns.extend(serving.external_hostname.clone());
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    dns.push(host);
    dns.retain(|name| is_dns_name(name));
    let mut addresses: Vec<IpAddr> = vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
    for range in &serving.service_ip_ranges {
        addresses.push(first_address(range)?);
    }
    if serving.service_ip_ranges.is_empty() {
        addresses.push(first_address(DEFAULT_SERVICE_RANGE)?);
    }
    if serving.bind_address.is_unspecified() {
        addresses.extend(serving.advertise_address.or_else(own_address));
    } else {
        addresses.push(serving.bind_address);
        addresses.extend(serving.advertise_address);
    }
    dns.sort_unstable();
    dns.dedup();
    addresses.sort_unstable();
    addresses.dedup();
    Ok(Names { dns, addresses })
}

/// Host names may be anything; certificates take only what looks like DNS.
fn is_dns_name(name: &str) -> bool {
    let label = |label: &str| {
        !label.is_empty()
            && label.len() < 64
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    name.len() < 254 && name.split('.').all(label)
}

/// A service range: its first address, which nobody gets, and how many bits of it count.
fn network(range: &str) -> anyhow::Result<(IpAddr, u32)> {
    let bad = || anyhow!("--service-cluster-ip-range: {range:?} is not a CIDR");
    let (address, length) = range.split_once('/').ok_or_else(bad)?;
    let length: u32 = length.parse().map_err(|_| bad())?;
    let address = match address.parse().map_err(|_| bad())? {
        IpAddr::V4(address) if length <= 32 => {
            let mask = u32::MAX.checked_shl(32 - length).unwrap_or(0);
            Ipv4Addr::from_bits(address.to_bits() & mask).into()
        }
        IpAddr::V6(address) if length <= 128 => {
            let mask = u128::MAX.checked_shl(128 - length).unwrap_or(0);
            Ipv6Addr::from_bits(address.to_bits() & mask).into()
        }
        _ => return Err(bad()),
    };
    Ok((address, length))
}

/// The first address of a service range that somebody can have: the `kubernetes` Service.
fn first_address(range: &str) -> anyhow::Result<IpAddr> {
    Ok(match network(range)?.0 {
        IpAddr::V4(address) => Ipv4Addr::from_bits(address.to_bits().saturating_add(1)).into(),
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits().saturating_add(1)).into(),
    })
}

/// Where services are if nobody says it.
const DEFAULT_SERVICE_RANGE: &str = "10.0.0.0/24";

/// The networks of services, one or two, as the default `ServiceCIDR` has them.
pub(crate) fn service_ranges(options: &Options) -> anyhow::Result<Vec<String>> {
    let given = &options.serving.service_ip_ranges;
    if given.is_empty() {
        return Ok(vec![DEFAULT_SERVICE_RANGE.into()]);
    }
    let ranges = given.iter().map(|range| network(range).map(|(address, bits)| format!("{address}/{bits}")));
    ranges.collect()
}

/// What services get addresses and ports from.
pub(crate) fn service_network(options: &Options, settings: &Settings) -> ServiceNetwork {
    ServiceNetwork {
        ipv6_first: options.serving.is_ipv6_first(),
        dual_stack: options.serving.service_ip_ranges.len() > 1,
        node_ports: options.api.node_ports,
        random: settings.random.clone(),
    }
}

/// Where pods find this server, as the `kubernetes` Service says.
pub(crate) fn kubernetes_service(
    options: &Options,
    storage: &Storage,
    port: u16,
) -> anyhow::Result<ServiceConfig> {
    let serving = &options.serving;
    let range = serving.service_ip_ranges.first().map_or(DEFAULT_SERVICE_RANGE, String::as_str);
    let service_ip = first_address(range)?;
    let address = reachable_address(serving);
    let (peers, interval): (Arc<dyn Peers>, _) = match storage.embedded() {
        Some(_) => (Arc::new(peers::Alone(address)), Duration::from_secs(60)),
        None => {
            let leases = peers::Leases::new(storage.backend(), options.storage_prefix(), address);
            (Arc::new(leases), peers::INTERVAL)
        }
    };
    let peers = Some(peers).filter(|_| options.api.keeps_endpoints);
    Ok(ServiceConfig { service_ip, node_port: options.api.service_node_port, port, peers, interval })
}

/// Where other API servers reach this one.
pub(crate) fn peer_address(options: &Options, port: u16) -> String {
    SocketAddr::new(reachable_address(&options.serving), port).to_string()
}

/// Where others find this machine: an address that only it knows is of no use to them.
fn reachable_address(serving: &ServingOptions) -> IpAddr {
    let bound =
        Some(serving.bind_address).filter(|address| !address.is_unspecified() && !address.is_loopback());
    serving.advertise_address.or(bound).or_else(own_address).unwrap_or(serving.bind_address)
}

/// The address this machine would use to reach others. Nothing is sent: connecting a datagram socket only picks the
/// route, and the address is one reserved for documentation.
fn own_address() -> Option<IpAddr> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
    socket.connect((Ipv4Addr::new(192, 0, 2, 1), 9)).ok()?;
    Some(socket.local_addr().ok()?.ip())
}

/// Where clients find the server, as discovery tells them.
pub(crate) fn public_address(serving: &ServingOptions, port: u16) -> String {
    let reachable = || match serving.bind_address {
        address if address.is_unspecified() => own_address().unwrap_or(address),
        address => address,
    };
    match &serving.external_hostname {
        // It may say its own port; an IPv6 address without one has colons too.
        Some(host) if host.parse::<IpAddr>().is_err() && host.contains(':') => host.clone(),
        Some(host) if host.contains(':') => format!("[{host}]:{port}"),
        Some(host) => format!("{host}:{port}"),
        None => SocketAddr::new(serving.advertise_address.unwrap_or_else(reachable), port).to_string(),
    }
}

/// What the administrator's kubeconfig calls.
fn client_host(serving: &ServingOptions) -> String {
    let address = match serving.bind_address {
        address if !address.is_unspecified() => address,
        IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
    };
    match address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("[{address}]"),
    }
}

/// What other servers of the cluster are told about whom this one believes.
pub(crate) fn trust(options: &Options, serving: &Serving) -> Trust {
    let bundle = |path: &PathBuf| {
        let path = path.clone();
        Box::new(move || {
            std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))
        })
    };
    Trust {
        client_ca: bundle(&serving.client_ca),
        front_proxies: options.peers.request_header.as_ref().map(|proxies| FrontProxies {
            authority: bundle(&proxies.client_ca),
            lists: proxies.published.clone(),
        }),
        uid_headers: options.peers.uid_headers,
    }
}

fn front_proxy(options: Option<&RequestHeaderOptions>) -> anyhow::Result<Option<Arc<RequestHeader>>> {
    let Some(RequestHeaderOptions { client_ca, allowed_names, headers, .. }) = options else {
        return Ok(None);
    };
    let roots = read_certificates(client_ca).context("--requestheader-client-ca-file")?;
    let proxies = ClientCertificates::new(&roots, false).context("--requestheader-client-ca-file")?;
    Ok(Some(Arc::new(RequestHeader {
        proxies: Arc::new(proxies),
        allowed_names: allowed_names.clone(),
        headers: headers.clone(),
    })))
}

/// Those who know tokens, and for whom tokens must be.
#[derive(Clone)]
pub(crate) struct Tokens {
    pub(crate) tokens: Arc<dyn TokenAuthenticator>,
    /// Of this server.
    pub(crate) audiences: Arc<[String]>,
    /// Whether those without any are let in, wherever they ask.
    pub(crate) anonymous: bool,
}

/// Everyone who can say whose token something is, in the reference's order.
pub(crate) fn tokens(
    options: &Options,
    accounts: &ServiceAccounts,
    objects: Arc<StoredAccounts>,
    believed: Option<&Believed>,
    metrics: Metrics,
    egress: Option<Egress>,
) -> anyhow::Result<Tokens> {
    let audiences = accounts.audiences.clone();
    let mut tokens: Vec<Arc<dyn TokenAuthenticator>> = Vec::new();
    if let Some(path) = &options.token_auth_file {
        let file = TokenFile::load(path).with_context(|| format!("--token-auth-file: {}", path.display()))?;
        tokens.push(Arc::new(authenticator::ForThisServer { tokens: file, audiences: audiences.clone() }));
    }
    tokens.extend(accounts.authenticators(&options.service_accounts, objects));
    // After service accounts: looking for keys may take asking an issuer.
    if let Some(believed) = believed {
        let issuers = believed.issuers.clone();
        tokens.push(Arc::new(authenticator::ForThisServer { tokens: issuers, audiences: audiences.clone() }));
    }
    // After all that is known here: asking takes longest.
    if let Some(options) = &options.peers.token_webhook {
        tokens.push(webhooks::tokens(options, audiences.clone(), egress)?);
    }
    let all = Arc::new(authenticator::TokenUnion(tokens));
    let cached = TokenCache::new(all, TokenCacheOptions::default(), Some(Arc::new(metrics)))?;
    let anonymous = anonymous_paths(options, believed).is_some_and(|paths| paths.is_empty());
    Ok(Tokens { tokens: Arc::new(cached), audiences, anonymous })
}

/// Everyone who can say who is asking, in the reference's order.
pub(crate) fn authenticator(
    options: &Options,
    serving: &Serving,
    tokens: Tokens,
    believed: Option<&Believed>,
) -> anyhow::Result<Arc<dyn Authenticator>> {
    let Tokens { tokens, audiences, .. } = tokens;
    let mut all: Vec<Arc<dyn Authenticator>> = Vec::new();
    // Before clients' own certificates: the proxy's is one, and not what the request is about.
    all.extend(serving.front_proxy.clone().map(|proxy| proxy as Arc<dyn Authenticator>));
    all.push(serving.clients.clone());
    if let Some(path) = &options.peers.basic_auth_file {
        let file = BasicAuth::load(path).with_context(|| format!("--basic-auth-file: {}", path.display()))?;
        all.push(Arc::new(file));
    }
    all.push(Arc::new(authenticator::BearerToken { tokens: tokens.clone(), audiences: audiences.clone() }));
    all.push(Arc::new(authenticator::WebSocketToken { tokens, audiences }));
    let union = authenticator::Union(all);
    if options.anonymous_auth && !options.allows_anonymous() {
        tracing::warn!(
            "AnonymousAuth is not allowed with the AlwaysAllow authorizer. Resetting AnonymousAuth to false. You should use \
             a different authorizer"
        );
    }
    Ok(match anonymous_paths(options, believed) {
        Some(paths) => Arc::new(authenticator::OrAnonymous::at(union, paths)),
        None => Arc::new(union),
    })
}

/// Where those without credentials are let in; nothing said means everywhere, `None` nowhere.
fn anonymous_paths(options: &Options, believed: Option<&Believed>) -> Option<Vec<String>> {
    let anonymous = believed.and_then(|believed| believed.anonymous.as_ref());
    let conditions = anonymous.map(|anonymous| anonymous.conditions.as_slice()).unwrap_or_default();
    let enabled = anonymous.map_or(options.allows_anonymous(), |anonymous| anonymous.enabled);
    enabled.then(|| conditions.iter().map(|condition| condition.path.clone()).collect())
}

pub(crate) fn cors(options: &Options) -> anyhow::Result<Vec<Regex>> {
    let compile = |origin: &String| {
        Regex::new(origin)
            .with_context(|| format!("--cors-allowed-origins: {origin:?} is not a regular expression"))
    };
    options.cors_allowed_origins.iter().map(compile).collect()
}

pub(crate) fn metrics(options: &Options) -> anyhow::Result<pintle_metrics::Options> {
    let mut metrics = pintle_metrics::Options::default();
    metrics.disable(&options.disabled_metrics);
    for (key, values) in &options.allow_metric_labels {
        metrics.allow(key, values).context("--allow-metric-labels")?;
    }
    if let Some(path) = &options.allow_metric_labels_manifest {
        let manifest = || format!("--allow-metric-labels-manifest: {}", path.display());
        let text = std::fs::read_to_string(path).with_context(manifest)?;
        metrics.allow_manifest(&text).with_context(manifest)?;
    }
    Ok(metrics)
}

pub(crate) fn strict_transport_security(options: &Options) -> anyhow::Result<Option<HeaderValue>> {
    if options.strict_transport_security.is_empty() {
        return Ok(None);
    }
    let directives = options.strict_transport_security.join("; ");
    let header = HeaderValue::from_str(&directives).with_context(|| {
        format!("--strict-transport-security-directives: {directives:?} cannot be a header")
    })?;
    Ok(Some(header))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_service_address_is_one_above_the_range() {
        assert_eq!(first_address("10.96.0.0/12").unwrap().to_string(), "10.96.0.1");
        assert_eq!(first_address("fd00::/108").unwrap().to_string(), "fd00::1");
        assert_eq!(first_address("10.96.0.5/12").unwrap().to_string(), "10.96.0.1");
        assert!(first_address("10.96.0.0").is_err());
        assert!(first_address("10.96.0.0/33").is_err());
    }

    #[test]
    fn host_names_that_are_no_dns_names_are_left_out() {
        assert!(is_dns_name("node-1.example.com"));
        assert!(!is_dns_name("my_host"));
        assert!(!is_dns_name(""));
        assert!(!is_dns_name("a..b"));
    }
}
