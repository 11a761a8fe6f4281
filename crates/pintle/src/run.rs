//! The server's whole life, from flags to exit.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use pintle_auth::authenticator;
use pintle_auth::authorizer::rbac::Escalation;
use pintle_codec::negotiate::{ENCODINGS, ENCODINGS_WITH_CBOR};
use pintle_controllers::Runtime;
use pintle_discovery::GroupVersion;
use pintle_documentation::Texts;
use pintle_extensions::Extensions;
use pintle_features::{Feature, Features};
use pintle_flags::Parsed;
use pintle_logging as logging;
use pintle_metrics::Registry;
use pintle_resources::strategy::Settings;
use pintle_resources::unenforced::Unenforced;
use pintle_runtime::{Clock, Random, Tasks};
use pintle_server::chain::ChainConfig;
use pintle_server::delegation::Delegation;
use pintle_server::filter::Handler;
use pintle_server::handlers::{HealthCheck, HealthRegistry, Privileged};
use pintle_server::lifecycle::{Hooks, Lifecycle};
use pintle_server::tls::read_certificates;
use pintle_server::{
    Documents, DocumentsConfig, Metrics, Server, ServerConfig, listen, raise_open_file_limit,
};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Notify;

use crate::access::node::NodeGraph;
use crate::access::rbac::{self, Roles};
use crate::access::service_accounts::StoredAccounts;
use crate::access::{issuers, modes};
use crate::config::{self, Serving};
use crate::external_signer::ExternalSigner;
use crate::log_check::LogCheck;
use crate::options::Options;
use crate::plane::{Plane, PlaneOptions, Stores};
use crate::service_accounts::{self, ServiceAccounts};
use crate::services::Services;
use crate::storage::{self, Storage};
use crate::{
    api_groups, banner, bootstrap, components, consistency, egress, identity, pki, print, sentence, snapshot,
    storage_versions, version,
};

pub(crate) fn run(flags: &Parsed) -> anyhow::Result<()> {
    let logging = Arc::new(start_logging(flags)?);
    for warning in flags.deprecations().iter().chain(&flags.warnings()) {
        tracing::warn!("{warning}");
    }
    for (resource, size) in
        flags.strings("watch-cache-sizes").iter().filter_map(|entry| entry.split_once('#'))
    {
        if size.parse() != Ok(0) {
            tracing::warn!("Dropping watch-cache-size for {resource} - watchCache size is now dynamic");
        }
    }
    if let Some(missing) = flags.missing_controls() {
        bail!(missing);
    }
    let missing = flags.missing_plugins();
    if !missing.is_empty() {
        let missing = missing.join(",");
        tracing::warn!(
            "Admission plugins that are on by default and not in this version of Pintle: {missing}"
        );
    }
    if let Some(sentence) = Unenforced::plugins(&flags.missing_plugins()).sentence() {
        tracing::warn!("{sentence}");
    }
    let options = Options::from_flags(flags)?;
    service_accounts::check(&options.service_accounts)?;
    if let Err(error) = raise_open_file_limit() {
        tracing::warn!(%error, "the limit of open files stays as it is");
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let result = runtime.block_on(serve(flags, &options, &logging));
    // Whatever is still running belongs to connections that were given their time.
    runtime.shutdown_timeout(Duration::from_millis(100));
    result
}

fn start_logging(flags: &Parsed) -> anyhow::Result<logging::Guard> {
    let vmodule = flags.vmodule("vmodule").iter();
    let vmodule =
        vmodule.map(|entry| logging::VModule { pattern: entry.pattern.clone(), level: entry.level });
    let format = flags.string("logging-format");
    let option = |name: &str| format!("log-{format}-{name}");
    let config = logging::Config {
        format: match format {
            "json" => logging::Format::Json,
            _ => logging::Format::Text,
        },
        verbosity: flags.level("v"),
        vmodule: vmodule.collect(),
        split_stream: flags.bool(&option("split-stream")),
        info_buffer_size: flags.quantity(&option("info-buffer-size")).try_into().unwrap_or(0),
        flush_frequency: flags.duration("log-flush-frequency"),
    };
    Ok(logging::init(config)?)
}

/// Returns the surroundings of controllers. They stop when the server accepts no more requests.
fn controller_runtime(tasks: &Tasks, registry: &Registry, lifecycle: &Lifecycle) -> anyhow::Result<Runtime> {
    let (spawner, not_accepting) = (tasks.spawner(), lifecycle.not_accepting.clone());
    let stopping = spawner.stopping().clone();
    spawner.spawn(async move {
        not_accepting.wait().await;
        stopping.set();
    });
    let metrics = pintle_controllers::Metrics::new(registry)?;
    Ok(Runtime { spawner, clock: Clock::system(), random: Random::system(), metrics })
}

async fn serve(flags: &Parsed, options: &Options, logging: &Arc<logging::Guard>) -> anyhow::Result<()> {
    let features = flags.features();
    // Ends the loops of authenticators when it is dropped.
    let (clock, tasks) = (Clock::system(), Tasks::new());
    let mut stop = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;

    let cors_allowed_origins = config::cors(options)?;
    let strict_transport_security = config::strict_transport_security(options)?;
    // The port comes before the store: who started us twice by mistake learns of it in the clearest words.
    let listen_options = config::listen_options(options);
    let listener = listen(listen_options).with_context(|| {
        format!("cannot listen on {} (--bind-address, --secure-port)", listen_options.address)
    })?;
    let port = listener.local_addr()?.port();
    let plain = match config::plain_listen_options(options)? {
        Some(options) => Some(listen(options).with_context(|| {
            format!("cannot listen on {} (--insecure-bind-address, --insecure-port)", options.address)
        })?),
        None => None,
    };

    let kubernetes = version::kubernetes(flags);
    let git_version = kubernetes.git_version.clone();
    let registry = Registry::new(config::metrics(options)?);
    let auth_metrics = pintle_auth::Metrics::new(&registry, &Clock::system())?;
    let metrics = Metrics::new(&registry, &auth_metrics)?;
    metrics.build_info(&kubernetes)?;
    metrics.features(features.iter().map(|(gate, enabled)| (gate.name, gate.stage.as_str(), enabled)))?;

    let ways = egress::load(options.peers.egress_config.as_deref(), &registry)?;
    let (ways, peers_way) = (ways.as_ref(), egress::control_plane(ways.as_ref()));
    // Whom the server waits for. The signer comes first, since nobody else is kept from anything meanwhile.
    let waiting = async {
        let signer = ExternalSigner::connect(options, &auth_metrics, clock.clone(), &tasks.spawner()).await?;
        let dialer = egress::etcd(ways);
        let storage = storage::open(options, dialer.clone()).await?;
        anyhow::Ok((signer, storage, storage::open_elsewhere(options, dialer).await?))
    };
    let (signer, storage, elsewhere) = tokio::select! {
        all = waiting => all?,
        _ = stop.recv() => return Ok(()),
        _ = interrupt.recv() => return Ok(()),
    };
    // Certificates come after the store: whose it is, theirs are the certificates beside it, and a server that runs
    // on them must not find others made by one that could not start.
    let serving = config::serving(options, &auth_metrics)?;
    let accounts = ServiceAccounts::load(options, &serving.cert_dir, signer)?;

    let mut health = HealthRegistry::new(options.livez_grace_period);
    health.add(HealthCheck::new("log", LogCheck::start(logging.clone())));
    storage.add_checks(&mut health, options);
    elsewhere.add_checks(&mut health, options);
    let mut hooks = Hooks::default();
    if features.enabled(Feature::WatchCacheInitializationPostStartHook) {
        storage.add_hooks(&mut hooks);
    }
    let served = api_groups::served(flags)?;
    let lifecycle = Lifecycle::default();
    let encodings =
        if features.enabled(Feature::CBORServingAndStorage) { ENCODINGS_WITH_CBOR } else { ENCODINGS };
    let settings = Settings {
        event_ttl: options.api.event_ttl,
        features,
        ipv6_first: options.serving.is_ipv6_first(),
        unenforced: Unenforced::plugins(&flags.missing_plugins()),
        ..Settings::default()
    };
    let stores = Stores::open(
        storage.backend(),
        options.storage_prefix(),
        &settings,
        options.api.stored_as,
        options.api.policy.clone(),
        config::service_network(options, &settings),
        &elsewhere,
    )
    .await?;
    let objects = Arc::new(StoredAccounts::new(&stores, auth_metrics.clone())?);
    let issuer_means = issuers::Means {
        own: accounts.issuers.clone(),
        networks: options.peers.issuer_networks,
        ways: ways.cloned(),
        clock: clock.clone(),
        spawner: tasks.spawner(),
    };
    let believed = issuers::load(&options.peers, &issuer_means, &auth_metrics)?;
    let tokens = config::tokens(
        options,
        &accounts,
        objects,
        believed.as_ref(),
        auth_metrics.clone(),
        peers_way.clone(),
    )?;
    let authenticator = config::authenticator(options, &serving, tokens.clone(), believed.as_ref())?;
    if let Some(believed) = believed {
        issuers::keep(believed, issuer_means);
    }
    let roles = Roles::new(&stores)?;
    let sources = modes::Sources {
        roles: &roles,
        nodes: NodeGraph::new(|path| stores.store(path), auth_metrics.clone()),
        features,
        policy_file: options.authorization_policy_file.as_deref(),
        peers: &options.peers,
        metrics: &auth_metrics,
        egress: peers_way,
    };
    let authorizer = modes::authorizer(&options.authorization_modes, sources)?;
    let tasks = Tasks::new();
    let runtime = controller_runtime(&tasks, &registry, &lifecycle)?;
    rbac::add_hooks(&stores, &roles, &mut hooks, features, &runtime)?;
    // Where pods are made to run as accounts, there is one to run as.
    let has_accounts = options.api.admission_plugins.contains(&"ServiceAccount");
    let account_objects = has_accounts.then(|| stores.objects("", "v1", "serviceaccounts")).flatten();
    let authorities_changed = Arc::new(Notify::new());
    let mut waiting = None;
    if features.enabled(Feature::APIServerIdentity) {
        let peers = features.enabled(Feature::UnknownVersionInteroperabilityProxy);
        let identity = identity::config(options, port, peers)?;
        if features.enabled(Feature::StorageVersionAPI) {
            let name = &identity.name;
            let added = storage_versions::add_hook(&stores, &settings, &served, name, &mut hooks, &runtime)?;
            waiting = Some(added);
        }
        bootstrap::add_identity(&stores, identity, &mut hooks, &runtime)?;
    }
    bootstrap::add_hooks(
        &stores,
        &settings,
        (config::kubernetes_service(options, &storage, port)?, config::service_ranges(options)?),
        (config::trust(options, &serving), authorities_changed.clone()),
        |group| served.iter().any(|version| version.group == group),
        &mut hooks,
        &runtime,
    )?;
    let documents = Arc::new(documents(flags, options, port, served.clone()));
    let services = Services::new(&stores, listener.local_addr()?, options.api.endpoint_routing)?;
    let services = Arc::new(services);
    let plane = Plane::new(
        stores,
        PlaneOptions {
            encodings,
            settings,
            admission_plugins: options.api.admission_plugins.clone(),
            toleration_seconds: options.api.toleration_seconds,
            authorizer: authorizer.clone(),
            escalation: Arc::new(Escalation::new(roles.clone(), authorizer.clone())),
            tokens,
            token_requests: accounts.token_requests(&options.service_accounts),
            connecting_is_creating: features.enabled(Feature::AuthorizePodWebsocketUpgradeCreatePermission),
            granular_claims: granular_claims(features),
            delete_workers: options.api.delete_workers,
            min_request_timeout: options.api.min_request_timeout,
            features,
            watch_termination: options.watch_termination,
            count_period: Some(options.count_poll_period).filter(|period| !period.is_zero()),
            count_sizes: features.enabled(Feature::SizeBasedListCostEstimate),
            check_period: features.enabled(Feature::DetectCacheInconsistency).then_some(consistency::PERIOD),
            components: Arc::new(components::statuses(&storage, options, egress::etcd(ways))?),
            documents: documents.clone(),
            services,
            ways: ways.cloned(),
        },
        |version, resource| api_groups::contains(&served, version, resource),
        metrics.clone(),
        lifecycle.not_accepting.clone(),
    )?;
    plane.add_hooks(&mut hooks, lifecycle.not_accepting.clone(), account_objects, &runtime);
    let is_started = hooks.all_done();
    let server = Server::new(ServerConfig {
        tls: serving.tls.clone(),
        limits: serving.limits,
        chain: ChainConfig {
            authenticator,
            close_unauthenticated: options.close_unauthenticated,
            front_proxy: options.peers.request_header.as_ref().map(|proxy| proxy.headers.clone()),
            challenge: options.peers.basic_auth_file.as_ref().map(|_| authenticator::basic::CHALLENGE),
            authorizer,
            constrained_impersonation: features.enabled(Feature::ConstrainedImpersonation),
            max_read_only: options.max_read_only,
            max_mutating: options.max_mutating,
            request_timeout: options.request_timeout,
            cors_allowed_origins,
            strict_transport_security,
            goaway_chance: options.goaway_chance,
            send_retry_after: options.shutdown_send_retry_after,
            encodings,
            compression: features.enabled(Feature::APIResponseCompression),
            waiting,
            clock: Clock::system(),
            random: Random::system(),
        },
        version: kubernetes,
        metrics: metrics.clone(),
        health,
        hooks,
        documents,
        flags: features.enabled(Feature::ComponentFlagz).then(|| flags.shown()),
        status_page: features.enabled(Feature::ComponentStatusz),
        endpoints: endpoints(&storage, &accounts, options, port),
        shutdown_delay: options.shutdown_delay,
        watch_termination: options.watch_termination,
        // Nobody stands before the built-in resources yet.
        resources: Arc::new(Delegation::new(vec![
            plane.rest.clone(),
            Arc::new(Extensions::new(plane.definitions.clone(), plane.rest.clone())),
        ])),
        lifecycle,
    });
    storage.look_after(options, &pintle_storage::Metrics::new(&registry)?);
    elsewhere.look_after(options);
    keep_certificates(&serving, options, port, authorities_changed);

    let kubeconfig =
        serving.generated.as_ref().map(|generated| generated.write_kubeconfig(port)).transpose()?.flatten();
    let ready = |address| print(&banner::text(address, kubeconfig.as_deref(), options, &git_version));
    let stopped = async {
        tokio::select! {
            _ = stop.recv() => tracing::info!("received SIGTERM, shutting down"),
            _ = interrupt.recv() => tracing::info!("received SIGINT, shutting down"),
        }
        // The second signal means now.
        tokio::spawn(async move {
            tokio::select! {
                _ = stop.recv() => {}
                _ = interrupt.recv() => {}
            }
            tracing::warn!("received a second signal, exiting at once");
            std::process::exit(1);
        });
    };
    let result = tokio::select! {
        result = server.run(listener, plain, stopped, ready) => result,
        damage = storage.damaged_before(is_started) => return Err(damage.into()),
    };
    // A start hook may fail on damage before it is waited for: then the damage is the sentence to print.
    if let (Err(_), Some(damage)) = (&result, storage.damage()) {
        return Err(damage.into());
    }
    let closed = storage.backend().close().await.and(elsewhere.close().await);
    closed.map_err(|error| anyhow!("the store did not close cleanly: {error}"))?;
    result?;
    tracing::info!("stopped");
    Ok(())
}

/// What clients are told about what is served.
fn documents(flags: &Parsed, options: &Options, port: u16, served: Vec<GroupVersion>) -> Documents {
    let features = flags.features();
    let config = DocumentsConfig {
        address: config::public_address(&options.serving, port),
        version: version::minor(flags),
        enums: features.enabled(Feature::OpenAPIEnums),
        cbor: features.enabled(Feature::CBORServingAndStorage),
        logs: flags.bool("enable-logs-handler"),
        documentation: &Texts,
    };
    Documents::new(config, served)
}

/// Whether statuses of claims need permissions of their own, and whether what they say of devices does.
fn granular_claims(features: Features) -> Option<bool> {
    let devices = features.enabled(Feature::DRAResourceClaimDeviceStatus);
    features.enabled(Feature::DRAResourceClaimGranularStatusAuthorization).then_some(devices)
}

/// Endpoints that are there or not, and one that only this server has.
fn endpoints(
    storage: &Storage,
    accounts: &ServiceAccounts,
    options: &Options,
    port: u16,
) -> Vec<(String, Box<dyn Handler>)> {
    let address = config::public_address(&options.serving, port);
    let snapshot = storage.embedded().map(|store| {
        let handler: Box<dyn Handler> = Box::new(Privileged(snapshot::Endpoint::new(store)));
        (snapshot::PATH.to_owned(), handler)
    });
    snapshot.into_iter().chain(accounts.endpoints(&options.service_accounts, &address)).collect()
}

/// Takes up certificates that change on disk, and renews our own before they end.
fn keep_certificates(serving: &Serving, options: &Options, port: u16, authorities_changed: Arc<Notify>) {
    let tls = serving.tls.clone();
    let mut authorities = vec![(serving.client_ca.clone(), serving.clients.clone())];
    if let (Some(proxy), Some(of)) = (&serving.front_proxy, &options.peers.request_header) {
        authorities.push((of.client_ca.clone(), proxy.proxies.clone()));
    }
    tokio::spawn(serving.files.clone().watch(move || {
        match tls.reload() {
            Ok(()) => tracing::info!("reloaded certificates"),
            Err(error) => {
                tracing::error!(%error, "certificates changed on disk and cannot be used, the old ones stay");
            }
        }
        for (path, trusted) in &authorities {
            let replaced = read_certificates(path)
                .map_err(|error| error.to_string())
                .and_then(|roots| trusted.replace(&roots).map_err(|error| error.to_string()));
            if let Err(error) = replaced {
                let path = path.display();
                tracing::error!(error, %path, "a client CA changed on disk and cannot be used, the old one stays");
            }
        }
        authorities_changed.notify_one();
    }));
    if let Some(generated) = serving.generated.clone() {
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(pki::RENEWAL_INTERVAL).await;
                if let Err(error) = generated.renew(port) {
                    tracing::error!(error = sentence(&error), "cannot renew certificates");
                }
            }
        });
    }
}
