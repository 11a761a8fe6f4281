//! The configuration of the control plane, completed from options, files and this machine.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Context;
use http::HeaderValue;
use pintle_control_plane::{
    AggregationConfig, ApiConfig, ApiGroupsConfig, Config, ControllersConfig, HealthConfig, RequestConfig,
    ShutdownConfig, StorageConfig, kubernetes_version,
};
use pintle_encryption::Encryption;
use pintle_flags::Parsed;
use pintle_logging as logging;
use pintle_outbound::egress::Selector;
use pintle_outbound::{Client, ClientOptions, KeyPair, Material, TlsOptions};
use pintle_regex::Regex;
use pintle_server::filter::Handler;
use pintle_server::handlers::{HealthCheck, Privileged};

use crate::access::{issuers, modes};
use crate::certificates::Certificates;
use crate::external_signer::ExternalSigner;
use crate::log_check::LogCheck;
use crate::manifests::Folders;
use crate::options::Options;
use crate::storage::Storage;
use crate::{addresses, admission, authentication, egress, service_accounts, signing, snapshot};

/// Everything that was opened and read for a control plane.
pub(crate) struct Parts<'a> {
    pub(crate) flags: &'a Parsed,
    pub(crate) options: &'a Options,
    pub(crate) logging: &'a Arc<logging::Guard>,
    /// The beginning of the configuration, with metrics and tasks of parts that were made with it.
    pub(crate) defaults: Config,
    pub(crate) requests: RequestConfig,
    /// The address of the listener.
    pub(crate) listening: SocketAddr,
    pub(crate) egress: Option<Selector>,
    pub(crate) signer: Option<ExternalSigner>,
    pub(crate) encryption: Option<Arc<Encryption>>,
    pub(crate) storage: &'a Storage,
    pub(crate) certificates: &'a Certificates,
}

/// Returns the configuration of the control plane.
pub(crate) fn complete(parts: Parts<'_>) -> anyhow::Result<Config> {
    let Parts {
        flags,
        options,
        defaults,
        requests,
        listening,
        egress,
        signer,
        encryption,
        storage,
        certificates,
        ..
    } = parts;
    let (features, spawner) = (flags.features(), defaults.spawner());
    let accounts = service_accounts::load(options, &certificates.cert_dir, signer)?;
    let makers = issuers::Makers {
        own: accounts.issuers.clone(),
        networks: options.peers.issuer_networks,
        egress: egress.clone(),
        clock: defaults.clock.clone(),
        spawner: spawner.clone(),
    };
    let configured = issuers::load(&options.peers, &makers, &defaults.auth_metrics)?;
    let client = ClientOptions {
        egress: egress::control_plane(egress.as_ref()),
        clock: defaults.clock.clone(),
        random: defaults.random.clone(),
        ..ClientOptions::default()
    };
    let authentication =
        authentication::config(options, certificates, accounts, configured.as_ref(), client.clone())?;
    if let Some(configured) = configured {
        issuers::follow(configured, makers, &spawner);
    }
    let authorization = modes::Modes {
        names: options.authorization_modes.clone(),
        policy_file: options.authorization_policy_file.clone(),
        config_file: options.peers.authorization_config.clone(),
        webhook: options.peers.authorization_webhook.clone(),
        selectors: options.peers.selectors,
        server_id: options.peers.server_id.clone(),
        metrics: defaults.auth_metrics.clone(),
        client,
        spawner: spawner.clone(),
    };
    Ok(Config {
        features,
        authentication,
        authorization: Box::new(move |cluster| Ok(authorization.authorizer(cluster)?)),
        requests,
        storage: StorageConfig {
            encryption,
            ..storage_config(options, storage, egress::etcd(egress.as_ref()))
        },
        api: api(flags, options)?,
        network: addresses::network(options, listening, egress)?,
        controllers: controllers(options, certificates)?,
        aggregation: aggregation(options)?,
        health: HealthConfig {
            checks: vec![HealthCheck::new("log", LogCheck::start(parts.logging.clone(), &spawner))],
            livez_grace: options.livez_grace_period,
            store_timeout: options.health_timeout,
            store_ready_timeout: options.ready_timeout,
        },
        shutdown: ShutdownConfig {
            delay: options.shutdown_delay,
            send_retry_after: options.shutdown_send_retry_after,
            watch_termination: options.watch_termination,
        },
        version: kubernetes_version(flags.reported_version()),
        flags: flags.flag_values(),
        endpoints: snapshot_endpoint(storage).into_iter().collect(),
        ..defaults
    })
}

fn controllers(options: &Options, certificates: &Certificates) -> anyhow::Result<ControllersConfig> {
    Ok(ControllersConfig {
        selection: options.controllers.selection.clone(),
        root_ca: Some(certificates.root_ca(options)?),
        signers: signing::load(options, certificates)?,
        legacy_token_period: options.controllers.legacy_token_period,
    })
}

fn storage_config(
    options: &Options,
    storage: &Storage,
    dialer: Option<pintle_storage_etcd::Dialer>,
) -> StorageConfig {
    let positive = |period: std::time::Duration| Some(period).filter(|period| !period.is_zero());
    StorageConfig {
        prefix: options.storage_prefix().to_owned(),
        encoding: options.api.stored_as,
        policy: options.api.policy.clone(),
        overrides: storage.overrides(),
        is_shared: storage.embedded().is_none(),
        servers: storage.servers(options, dialer),
        count_period: positive(options.count_poll_period),
        size_period: positive(options.size_poll_interval),
        ..StorageConfig::default()
    }
}

fn api(flags: &Parsed, options: &Options) -> anyhow::Result<ApiConfig> {
    let plugins = &options.api.admission_plugins;
    Ok(ApiConfig {
        groups: ApiGroupsConfig {
            runtime_config: flags.pairs("runtime-config").clone(),
            release: flags.emulated_release(),
            forward: flags.bool("emulation-forward-compatible"),
            forward_by_name: flags.bool("runtime-config-emulation-forward-compatible"),
        },
        admission_plugins: plugins.clone(),
        admission_configurations: admission::configurations(
            options.api.admission_config.as_deref(),
            plugins,
        )?,
        manifest_folders: Some(Arc::new(Folders)),
        toleration_seconds: options.api.toleration_seconds,
        event_ttl: options.api.event_ttl,
        allow_privileged: options.api.allow_privileged,
        delete_workers: options.api.delete_workers,
        min_request_timeout: options.api.min_request_timeout,
        has_logs: flags.bool("enable-logs-handler"),
    })
}

/// Returns the way to servers behind APIServices. Without both files they do not know this server.
fn aggregation(options: &Options) -> anyhow::Result<AggregationConfig> {
    let peers = &options.peers;
    let key_pair = peers.proxy_client.clone().map(|(certificate, key)| KeyPair {
        certificate: Material::File(certificate),
        key: Material::File(key),
    });
    if key_pair.is_some() {
        let tls = TlsOptions { key_pair: key_pair.clone(), ..TlsOptions::default() };
        Client::of_any(ClientOptions { tls, ..ClientOptions::default() })
            .context("--proxy-client-cert-file and --proxy-client-key-file")?;
    }
    Ok(AggregationConfig { key_pair, refuses_redirects: peers.refuses_redirects })
}

/// Returns the endpoint of snapshots, which only the embedded store has.
fn snapshot_endpoint(storage: &Storage) -> Option<(String, Box<dyn Handler>)> {
    let store = storage.embedded()?;
    Some((snapshot::PATH.to_owned(), Box::new(Privileged(snapshot::Endpoint::new(store)))))
}

/// Returns how requests are treated; an error names the flag that cannot be used.
pub(crate) fn requests(options: &Options) -> anyhow::Result<RequestConfig> {
    let compile = |origin: &String| {
        Regex::new(origin)
            .with_context(|| format!("--cors-allowed-origins: {origin:?} is not a regular expression"))
    };
    Ok(RequestConfig {
        has_flow_control: options.has_flow_control,
        max_read_only: options.max_read_only,
        max_mutating: options.max_mutating,
        timeout: options.request_timeout,
        cors_allowed_origins: options.cors_allowed_origins.iter().map(compile).collect::<Result<_, _>>()?,
        strict_transport_security: strict_transport_security(options)?,
        goaway_chance: options.goaway_chance,
        close_unauthenticated: options.close_unauthenticated,
        auditor: None,
    })
}

fn strict_transport_security(options: &Options) -> anyhow::Result<Option<HeaderValue>> {
    if options.strict_transport_security.is_empty() {
        return Ok(None);
    }
    let directives = options.strict_transport_security.join("; ");
    let header = HeaderValue::from_str(&directives).with_context(|| {
        format!("--strict-transport-security-directives: {directives:?} cannot be a header")
    })?;
    Ok(Some(header))
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
