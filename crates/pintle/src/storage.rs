//! Opens the store that the options name, and looks after it while the server runs.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow};
use pintle_control_plane::{StoreOverrides, StoreServer};
use pintle_flags::DataDir;
use pintle_resources::component_status::Component;
use pintle_runtime::{Spawner, Stopwatch};
use pintle_storage::lease::Window;
use pintle_storage::{Backend, Revision};
use pintle_storage_embedded as embedded;
use pintle_storage_etcd as etcd;

use crate::options::{EtcdOptions, Options, StoreOptions};

/// The directory of the embedded store below `--data-dir`.
pub(crate) const STORE_DIRECTORY: &str = "store";
/// How long a start may take once damage was found.
const DAMAGED_START: Duration = Duration::from_secs(3);
/// How often the server says that it still waits for its store.
const NOTE_INTERVAL: Duration = Duration::from_secs(2);

/// The store, and stores of single resources. The one place that knows concrete backends.
pub(crate) struct Storage {
    main: Opened,
    /// Servers in order, and the store that they are.
    others: Vec<(Vec<String>, Opened)>,
    /// Group, resource, and index in `others`.
    overrides: Vec<(String, String, usize)>,
}

#[derive(Clone)]
enum Opened {
    Embedded(Arc<embedded::Store>),
    Etcd(Arc<etcd::Store>),
}

impl Opened {
    fn backend(&self) -> Arc<dyn Backend> {
        match self {
            Opened::Embedded(store) => store.clone(),
            Opened::Etcd(store) => store.clone(),
        }
    }

    /// Compacts again and again, as long as the spawner's control plane runs.
    fn compact(&self, interval: Duration, spawner: &Spawner) {
        match self {
            Opened::Embedded(store) => spawner.spawn_until_stop(compact(store.clone(), interval)),
            Opened::Etcd(store) => {
                spawner.spawn_until_stop(etcd::compactor::run((**store).clone(), interval));
            }
        }
    }
}

fn etcd_config(options: &EtcdOptions, timeout: Duration, dialer: Option<etcd::Dialer>) -> etcd::Config {
    let defaults = etcd::Config::default();
    etcd::Config {
        endpoints: options.servers.clone(),
        tls: etcd::Tls { ca: options.ca.clone(), cert: options.cert.clone(), key: options.key.clone() },
        prefix: options.prefix.clone(),
        lease_window: Window { reuse: options.lease_reuse, ..Window::default() },
        dial_timeout: defaults.dial_timeout.min(timeout),
        dialer,
        ..defaults
    }
}

async fn connect(
    options: &EtcdOptions,
    timeout: Duration,
    dialer: Option<etcd::Dialer>,
) -> anyhow::Result<Opened> {
    let config = etcd_config(options, timeout, dialer);
    let servers = options.servers.join(",");
    // A server that cannot reach its store has nothing to serve; saying so beats failing every request.
    let mut answering = pin!(tokio::time::timeout(timeout, first_answer(config)));
    let answered = loop {
        tokio::select! {
            answered = answering.as_mut() => break answered,
            () = tokio::time::sleep(NOTE_INTERVAL) => tracing::warn!(servers, "etcd does not answer yet"),
        }
    };
    let store = answered.map_err(|_| {
        let seconds = timeout.as_secs_f32();
        anyhow!("etcd at {servers} did not answer within --storage-initialization-timeout={seconds}s")
    })?;
    let store = store.with_context(|| format!("--etcd-servers={servers}"))?;
    Ok(Opened::Etcd(Arc::new(store)))
}

/// Connects and waits until etcd answers. An error means that it never will.
async fn first_answer(config: etcd::Config) -> Result<etcd::Store, etcd::Error> {
    let store = loop {
        match etcd::Store::connect(config.clone()).await {
            Err(error @ etcd::Error::Unreachable { .. }) => tracing::warn!("{error}"),
            connected => break connected?,
        }
    };
    while let Err(error) = store.health().await {
        tracing::warn!(%error, "etcd does not answer yet");
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    Ok(store)
}

impl Storage {
    /// Opens the store that the options name, and those of resources that have etcd servers of their own.
    pub(crate) async fn open(options: &Options, dialer: Option<etcd::Dialer>) -> anyhow::Result<Storage> {
        let mut storage = match &options.store {
            StoreOptions::Embedded { location, no_fsync, lease_reuse } => {
                let mut store = match location {
                    DataDir::Memory => embedded::Options::memory(),
                    DataDir::Path(path) => embedded::Options::directory(path.join(STORE_DIRECTORY)),
                };
                store.no_fsync = *no_fsync;
                store.lease_window = Window { reuse: *lease_reuse, ..Window::default() };
                let main = Opened::Embedded(Arc::new(embedded::Store::open(store)?));
                return Ok(Storage { main, others: Vec::new(), overrides: Vec::new() });
            }
            StoreOptions::Etcd(etcd) => {
                let main = connect(etcd, options.storage_timeout, dialer.clone()).await?;
                Storage { main, others: Vec::new(), overrides: Vec::new() }
            }
        };
        let StoreOptions::Etcd(etcd) = &options.store else { return Ok(storage) };
        for (group, resource, servers) in &etcd.overrides {
            let mut sorted = servers.clone();
            sorted.sort();
            let known = storage.others.iter().position(|(known, _)| *known == sorted);
            let index = match known {
                Some(index) => index,
                None => {
                    let own = EtcdOptions { servers: servers.clone(), ..etcd.clone() };
                    let other = connect(&own, options.storage_timeout, dialer.clone()).await?;
                    storage.others.push((sorted, other));
                    storage.others.len() - 1
                }
            };
            storage.overrides.push((group.clone(), resource.clone(), index));
        }
        Ok(storage)
    }

    pub(crate) fn backend(&self) -> Arc<dyn Backend> {
        self.main.backend()
    }

    pub(crate) fn embedded(&self) -> Option<Arc<embedded::Store>> {
        match &self.main {
            Opened::Embedded(store) => Some(store.clone()),
            Opened::Etcd(_) => None,
        }
    }

    pub(crate) fn overrides(&self) -> StoreOverrides {
        StoreOverrides {
            backends: self.others.iter().map(|(_, other)| other.backend()).collect(),
            resources: self.overrides.clone(),
        }
    }

    /// Compacts all stores again and again, as long as the spawner's control plane runs.
    pub(crate) fn compact(&self, options: &Options, spawner: &Spawner) {
        if options.compaction_interval.is_zero() {
            return;
        }
        let others = self.others.iter().map(|(_, other)| other);
        for store in std::iter::once(&self.main).chain(others) {
            store.compact(options.compaction_interval, spawner);
        }
    }

    /// Waits for damage in the store that the server cannot run with: its writer has ended, or the damage was found before the
    /// start hooks were done and they are not done a moment later either. Other damage concerns the requests for what is
    /// damaged, and is logged.
    pub(crate) async fn damaged_before(&self, is_started: impl Fn() -> bool) -> embedded::OpenError {
        let Opened::Embedded(store) = &self.main else { return std::future::pending().await };
        let damage = store.damaged().await;
        let start = async {
            let found = Stopwatch::start();
            while !is_started() && found.elapsed() < DAMAGED_START {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        tokio::select! {
            () = start => {}
            () = store.failed() => return damage,
        }
        if is_started() {
            tracing::error!("{damage}");
            store.failed().await;
        }
        damage
    }

    /// Returns the damage that was found in the embedded store so far.
    pub(crate) fn damage(&self) -> Option<embedded::OpenError> {
        self.embedded().and_then(|store| store.damage())
    }

    /// Returns the servers of an etcd, each asked by itself.
    pub(crate) fn servers(&self, options: &Options, dialer: Option<etcd::Dialer>) -> Vec<Arc<dyn Component>> {
        let StoreOptions::Etcd(etcd) = &options.store else { return Vec::new() };
        let config = etcd_config(etcd, options.storage_timeout, dialer);
        let server = |server: &String| {
            let config = etcd::Config { endpoints: vec![server.clone()], ..config.clone() };
            Arc::new(StoreServer::new(move || Box::pin(ask(config.clone())))) as Arc<dyn Component>
        };
        etcd.servers.iter().map(server).collect()
    }
}

/// Asks one etcd server whether it is healthy.
async fn ask(config: etcd::Config) -> Result<(), String> {
    let store = etcd::Store::connect(config).await.map_err(|error| error.to_string())?;
    let health = StoreServer::ask(&store).await;
    // Its tasks end with it; the answer is known.
    let _ = store.close().await;
    health
}

/// Compacts so that at least one interval of history stays, and at most two.
async fn compact(backend: Arc<embedded::Store>, interval: Duration) {
    let mut previous: Option<Revision> = None;
    loop {
        tokio::time::sleep(interval).await;
        let current = match backend.current_revision().await {
            Ok(current) => current,
            Err(_) => continue,
        };
        if let Some(revision) = previous.replace(current)
            && let Err(error) = backend.compact(revision).await
        {
            tracing::error!(%error, %revision, "compaction failed");
        }
    }
}
