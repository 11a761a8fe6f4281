//! Opens the store that the options name, and looks after it while the server runs.

use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use async_trait::async_trait;
use pintle_flags::DataDir;
use pintle_server::handlers::{Check, HealthCheck, HealthRegistry};
use pintle_server::lifecycle::Hooks;
use pintle_storage::lease::Window;
use pintle_storage::{Backend, Metrics, Revision};
use pintle_storage_embedded as embedded;
use pintle_storage_etcd as etcd;

use crate::components::StoreServer;
use crate::options::{EtcdOptions, Options, StoreOptions};

/// Where the embedded store lives below `--data-dir`.
pub(crate) const STORE_DIRECTORY: &str = "store";
/// How long a start may take once damage was found.
const DAMAGED_START: Duration = Duration::from_secs(3);

/// How often to say that the server still waits for its store.
const NOTE_INTERVAL: Duration = Duration::from_secs(2);

/// An answer about the store's health is good for this long, or half its timeout.
const MAX_HEALTH_AGE: Duration = Duration::from_secs(1);

/// The one place that knows which backend there is.
#[derive(Clone)]
pub(crate) enum Storage {
    Embedded(Arc<embedded::Store>),
    Etcd(Arc<etcd::Store>),
}

pub(crate) async fn open(options: &Options, dialer: Option<etcd::Dialer>) -> anyhow::Result<Storage> {
    match &options.store {
        StoreOptions::Embedded { location, no_fsync, lease_reuse } => {
            let mut store = match location {
                DataDir::Memory => embedded::Options::memory(),
                DataDir::Path(path) => embedded::Options::directory(path.join(STORE_DIRECTORY)),
            };
            store.no_fsync = *no_fsync;
            store.lease_window = Window { reuse: *lease_reuse, ..Window::default() };
            Ok(Storage::Embedded(Arc::new(embedded::Store::open(store)?)))
        }
        StoreOptions::Etcd(etcd) => connect(etcd, options.storage_timeout, dialer).await,
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

/// Resources that have etcd servers of their own.
#[derive(Default)]
pub(crate) struct Elsewhere {
    /// Servers in order, and the store that they are.
    clusters: Vec<(Vec<String>, Storage)>,
    /// Group, resource and the place of the cluster.
    resources: Vec<(String, String, usize)>,
}

/// Connects to those that the options name besides the store that everything else is in.
pub(crate) async fn open_elsewhere(
    options: &Options,
    dialer: Option<etcd::Dialer>,
) -> anyhow::Result<Elsewhere> {
    let mut elsewhere = Elsewhere::default();
    let StoreOptions::Etcd(etcd) = &options.store else { return Ok(elsewhere) };
    for (group, resource, servers) in &etcd.overrides {
        let mut sorted = servers.clone();
        sorted.sort();
        let known = elsewhere.clusters.iter().position(|(known, _)| *known == sorted);
        let place = match known {
            Some(place) => place,
            None => {
                let own = EtcdOptions { servers: servers.clone(), ..etcd.clone() };
                elsewhere
                    .clusters
                    .push((sorted, connect(&own, options.storage_timeout, dialer.clone()).await?));
                elsewhere.clusters.len() - 1
            }
        };
        elsewhere.resources.push((group.clone(), resource.clone(), place));
    }
    Ok(elsewhere)
}

impl Elsewhere {
    pub(crate) fn backends(&self) -> impl Iterator<Item = Arc<dyn Backend>> {
        self.clusters.iter().map(|(_, storage)| storage.backend())
    }

    /// Group, resource and the place of its backend. What is said last of a resource holds.
    pub(crate) fn resources(&self) -> &[(String, String, usize)] {
        &self.resources
    }

    pub(crate) fn add_checks(&self, health: &mut HealthRegistry, options: &Options) {
        for (place, backend) in self.backends().enumerate() {
            let check =
                |timeout| StoreAnswers { backend: backend.clone(), timeout, last: Default::default() };
            let name = format!("etcd-override-{place}");
            health.add(HealthCheck::new(&name, check(options.health_timeout)).in_group("etcd"));
            let name = format!("etcd-override-readiness-{place}");
            let ready = HealthCheck::new(&name, check(options.ready_timeout));
            health.add_readyz(ready.in_group("etcd-readiness"));
        }
    }

    /// Gives up history now and then, until the server ends.
    pub(crate) fn look_after(&self, options: &Options) {
        self.clusters.iter().for_each(|(_, storage)| storage.compact(options));
    }

    pub(crate) async fn close(&self) -> Result<(), pintle_storage::Error> {
        for backend in self.backends() {
            backend.close().await?;
        }
        Ok(())
    }
}

async fn connect(
    options: &EtcdOptions,
    timeout: Duration,
    dialer: Option<etcd::Dialer>,
) -> anyhow::Result<Storage> {
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
    Ok(Storage::Etcd(Arc::new(store)))
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
    pub(crate) fn backend(&self) -> Arc<dyn Backend> {
        match self {
            Storage::Embedded(store) => store.clone(),
            Storage::Etcd(store) => store.clone(),
        }
    }

    pub(crate) fn embedded(&self) -> Option<Arc<embedded::Store>> {
        match self {
            Storage::Embedded(store) => Some(store.clone()),
            Storage::Etcd(_) => None,
        }
    }

    /// Waits for damage in the store that the server cannot run with: its writer has ended, or the damage was found before the
    /// start hooks were done and they are not done a moment later either. Other damage concerns the requests for what is
    /// damaged, and is logged.
    pub(crate) async fn damaged_before(&self, is_started: impl Fn() -> bool) -> embedded::OpenError {
        let Storage::Embedded(store) = self else { return std::future::pending().await };
        let damage = store.damaged().await;
        let start = async {
            let found = Instant::now();
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

    /// The store's servers, each by itself.
    pub(crate) fn servers(&self, options: &Options, dialer: Option<etcd::Dialer>) -> Vec<StoreServer> {
        let StoreOptions::Etcd(etcd) = &options.store else { return vec![StoreServer::Own(self.backend())] };
        let config = etcd_config(etcd, options.storage_timeout, dialer);
        let only = |server: &String| etcd::Config { endpoints: vec![server.clone()], ..config.clone() };
        etcd.servers.iter().map(|server| StoreServer::Etcd(Box::new(only(server)))).collect()
    }

    /// The reference's checks of its store, under its names, whichever store it is.
    pub(crate) fn add_checks(&self, health: &mut HealthRegistry, options: &Options) {
        let check = |timeout| StoreAnswers { backend: self.backend(), timeout, last: Default::default() };
        health.add(HealthCheck::new("etcd", check(options.health_timeout)));
        health.add_readyz(
            HealthCheck::new("etcd-readiness", check(options.ready_timeout)).in_group("etcd-readiness"),
        );
    }

    /// Not ready before the store has answered once.
    pub(crate) fn add_hooks(&self, hooks: &mut Hooks) {
        let backend = self.backend();
        hooks.post_start("storage-readiness", move || async move {
            while let Err(error) = backend.current_revision().await {
                tracing::warn!(%error, "the store does not answer yet");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            Ok(())
        });
    }

    /// Gives up history and reports the size, now and then, until the server ends.
    pub(crate) fn look_after(&self, options: &Options, metrics: &Metrics) {
        self.compact(options);
        if !options.size_poll_interval.is_zero() {
            tokio::spawn(report_size(self.backend(), options.size_poll_interval, metrics.clone()));
        }
    }

    fn compact(&self, options: &Options) {
        if !options.compaction_interval.is_zero() {
            match self {
                Storage::Embedded(store) => {
                    tokio::spawn(compact(store.clone(), options.compaction_interval));
                }
                Storage::Etcd(store) => {
                    tokio::spawn(etcd::compactor::run((**store).clone(), options.compaction_interval));
                }
            }
        }
    }
}

/// Anyone may ask for health, so the store is asked at most twice per timeout and by one at a time; all others hear the
/// last answer.
struct StoreAnswers {
    backend: Arc<dyn Backend>,
    timeout: Duration,
    last: tokio::sync::Mutex<Option<(Instant, Result<(), String>)>>,
}

#[async_trait]
impl Check for StoreAnswers {
    async fn check(&self) -> Result<(), String> {
        let mut last = self.last.lock().await;
        if let Some((at, result)) = &*last
            && at.elapsed() < (self.timeout / 2).min(MAX_HEALTH_AGE)
        {
            return result.clone();
        }
        let result = match tokio::time::timeout(self.timeout, self.backend.health()).await {
            Ok(result) => result.map_err(|error| error.to_string()),
            Err(_) => Err("error getting data from etcd: context deadline exceeded".into()),
        };
        *last = Some((Instant::now(), result.clone()));
        result
    }
}

/// Keeps at least one interval of history, and at most two.
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

async fn report_size(backend: Arc<dyn Backend>, interval: Duration, metrics: Metrics) {
    loop {
        if let Ok(stats) = backend.stats().await {
            metrics.storage_size(stats.size);
        }
        tokio::time::sleep(interval).await;
    }
}
