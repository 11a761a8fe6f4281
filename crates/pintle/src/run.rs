//! The server's whole life, from flags to exit.

use std::sync::Arc;
use std::time::Duration;

use pintle_audit::Auditor;
use pintle_control_plane::{Config, ControlPlane, RequestConfig};
use pintle_flags::Parsed;
use pintle_logging as logging;
use pintle_metrics::Registry;
use pintle_outbound::egress::Selector;
use pintle_server::{raise_open_file_limit, systemd};

use crate::certificates::Certificates;
use crate::external_signer::ExternalSigner;
use crate::listeners::Listeners;
use crate::options::Options;
use crate::port_file::PortFile;
use crate::signals::Signals;
use crate::storage::Storage;
use crate::{audit, banner, config, egress, encryption, print, service_accounts};

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
    let options = Options::from_flags(flags)?;
    service_accounts::check(&options.service_accounts)?;
    if let Err(error) = raise_open_file_limit() {
        tracing::warn!(%error, "the limit of open files stays as it is");
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let result = runtime.block_on(serve(flags, &options, &logging));
    // Tasks that still run belong to connections that were given their time.
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

async fn serve(flags: &Parsed, options: &Options, logging: &Arc<logging::Guard>) -> anyhow::Result<()> {
    let defaults = Config::with_registry(Registry::new(config::metrics(options)?))?;
    let egress = egress::load(options.peers.egress_config.as_deref(), &defaults.registry, &defaults.random)?;
    let auditor = audit::open(&options.audit, &defaults, egress.as_ref())?;
    let served = serve_requests(flags, options, logging, defaults, egress, auditor.clone()).await;
    if let Some(auditor) = auditor {
        // After the last request, so that no event is lost.
        auditor.shut_down().await;
    }
    served
}

async fn serve_requests(
    flags: &Parsed,
    options: &Options,
    logging: &Arc<logging::Guard>,
    defaults: Config,
    egress: Option<Selector>,
    auditor: Option<Arc<Auditor>>,
) -> anyhow::Result<()> {
    let mut signals = Signals::listen()?;
    let requests = RequestConfig { auditor, ..config::requests(options)? };
    // Before the store: a second server on the same machine fails here, with the clearest message.
    let listeners = Listeners::open(options)?;
    let listening = listeners.address()?;
    let port = listening.port();

    let opening = async {
        let signer = ExternalSigner::connect(options, &defaults).await?;
        let encryption = encryption::load(options, &defaults).await?;
        anyhow::Ok((signer, encryption, Storage::open(options, egress::etcd(egress.as_ref())).await?))
    };
    let (signer, encryption, storage) = tokio::select! {
        opened = opening => opened?,
        _ = signals.received() => return Ok(()),
    };
    // After the store, which they lie beside: a server that could not open it must not replace another's files.
    let port_file = options.serving.port_file.as_deref().map(PortFile::claim).transpose()?;
    let certificates = Certificates::load(options, &defaults.auth_metrics)?;
    let (storage, certificates) = (&storage, &certificates);
    let parts = config::Parts {
        flags,
        options,
        logging,
        defaults,
        requests,
        listening,
        egress,
        signer,
        encryption,
        storage,
        certificates,
    };
    let mut plane = ControlPlane::start(storage.backend(), config::complete(parts)?).await?;
    storage.compact(options, &plane.spawner());
    certificates.keep(options, port, &plane);
    let kubeconfig = certificates.write_kubeconfig(port)?;
    // Before the first answer: a script that waited for it finds the port.
    if let Some(file) = &port_file {
        file.write(port)?;
    }
    let acceptor = listeners.accept(&plane, certificates);
    notify("READY=1\n");
    print(&banner::text(listening, kubeconfig.as_deref(), options, flags.reported_version()));

    let failed = wait_for_end(&mut plane, signals, storage).await?;
    notify("STOPPING=1\n");
    let stopped = plane.stop().await;
    acceptor.closed().await;
    // A hook may fail on damage before it is reported: then the damage is the reason.
    if let (Some(_), Some(damage)) = (&failed, storage.damage()) {
        return Err(damage.into());
    }
    failed.map_or(stopped, Err)?;
    tracing::info!("stopped");
    Ok(())
}

/// Waits for a signal or the failure of a post-start hook, which is returned.
///
/// Errors: the store was found damaged before the control plane had started; it is not stopped in order then.
async fn wait_for_end(
    plane: &mut ControlPlane,
    mut signals: Signals,
    storage: &Storage,
) -> anyhow::Result<Option<pintle_control_plane::Error>> {
    let is_started = plane.is_started();
    tokio::select! {
        name = signals.received() => {
            tracing::info!("received {name}, shutting down");
            signals.exit_at_next();
            Ok(None)
        }
        error = plane.failed() => Ok(Some(error)),
        damage = storage.damaged_before(is_started) => Err(damage.into()),
    }
}

fn notify(state: &str) {
    if let Err(error) = systemd::notify(state) {
        tracing::error!(%error, "Unable to send systemd daemon successful start message");
    }
}
