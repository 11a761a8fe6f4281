//! The encryption of one server's stores: the configuration that is in use, its health, and its reload.

use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use tokio::sync::Notify;

use crate::Error;
use crate::active::Active;
use crate::health::name_of;
use crate::load::{Setup, Source};
use crate::metrics::Metrics;

/// The interval of looking at the file, beside notices of changes.
const INTERVAL: Duration = Duration::from_secs(60);
/// The pauses after a reload that failed.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// How long plugins of a new configuration may take at least until they are well.
const LEAST_PATIENCE: Duration = Duration::from_secs(10);
const HEALTH_INTERVAL: Duration = Duration::from_millis(100);

/// The name of the check of all plugins together.
const ALL_PLUGINS: &str = "kms-providers";

/// The encryption of a server: which resources, and by which providers. One value for all of its stores.
pub struct Encryption {
    active: RwLock<Arc<Active>>,
    pub(crate) metrics: Metrics,
    configured: Option<Configured>,
}

struct Configured {
    source: Source,
    setup: Setup,
    /// The hash of the file that is in use.
    hash: Mutex<String>,
    changed: Notify,
}

/// A health check of one plugin, or of all of them.
pub struct KmsCheck {
    pub name: String,
    encryption: Arc<Encryption>,
    /// `None`: all.
    plugin: Option<usize>,
}

impl Encryption {
    /// Encrypts nothing. Values that are encrypted are refused as such.
    pub fn none(metrics: Metrics) -> Encryption {
        Encryption { active: RwLock::new(Arc::new(Active::empty())), metrics, configured: None }
    }

    /// Loads the configuration.
    pub async fn load(source: Source, setup: Setup) -> Result<Encryption, Error> {
        let (active, hash) = source.load(&setup).await?;
        setup.metrics.configured(&hash);
        let metrics = setup.metrics.clone();
        let configured = Configured { source, setup, hash: Mutex::new(hash), changed: Notify::new() };
        Ok(Encryption { active: RwLock::new(Arc::new(active)), metrics, configured: Some(configured) })
    }

    pub(crate) fn active(&self) -> Arc<Active> {
        self.active.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the health checks of KMS plugins.
    pub fn health_checks(self: &Arc<Encryption>) -> Vec<KmsCheck> {
        let active = self.active();
        let check = |name, plugin| KmsCheck { name, encryption: self.clone(), plugin };
        match active.has_one_check {
            true => vec![check(ALL_PLUGINS.to_owned(), None)],
            false => (0..active.probes.0.len()).map(|index| check(name_of(index), Some(index))).collect(),
        }
    }

    /// Whether the configuration is loaded again when it changes.
    pub fn reloads(&self) -> bool {
        self.configured.as_ref().is_some_and(|configured| configured.source.reloads)
    }

    /// Has [`Encryption::follow`] look at the file now.
    pub fn file_changed(&self) {
        if let Some(configured) = &self.configured {
            configured.changed.notify_one();
        }
    }

    /// Loads the configuration again whenever it changes. One that cannot be used is tried again, and the old one stays.
    pub async fn follow(self: Arc<Encryption>) {
        let Some(configured) = &self.configured else { return };
        let clock = &configured.setup.clock;
        let mut pause = None;
        loop {
            pause = match self.reload(configured).await {
                Ok(changed) => {
                    if changed {
                        self.metrics.reloaded(true);
                        tracing::info!("Loaded new kms encryption config content");
                    }
                    None
                }
                Err(error) => {
                    self.metrics.reloaded(false);
                    let path = &configured.source.path;
                    tracing::error!(%error, path, "error processing encryption config file");
                    Some(pause.map_or(FIRST_PAUSE, |pause: Duration| (2 * pause).min(INTERVAL)))
                }
            };
            tokio::select! {
                () = configured.changed.notified() => {}
                () = clock.sleep(pause.unwrap_or(INTERVAL)) => {}
            }
        }
    }

    /// Loads the file if it has changed; returns whether it has.
    async fn reload(&self, configured: &Configured) -> Result<bool, Error> {
        let known = configured.hash.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if configured.source.content()?.1 == known {
            return Ok(false);
        }
        let (active, hash) = configured.source.load(&configured.setup).await?;
        if hash == known {
            return Ok(false);
        }
        wait_for_health(&active, &configured.setup).await?;
        // Requests that use the old transformers hold them.
        *self.active.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(active);
        self.metrics.configured(&hash);
        *configured.hash.lock().unwrap_or_else(PoisonError::into_inner) = hash;
        Ok(true)
    }
}

/// Waits until all plugins are well.
async fn wait_for_health(active: &Active, setup: &Setup) -> Result<(), Error> {
    let mut reason = String::new();
    let healthy = async {
        while let Err(why) = active.probes.check().await {
            reason = why;
            setup.clock.sleep(HEALTH_INTERVAL).await;
        }
    };
    match setup.clock.timeout(active.patience.max(LEAST_PATIENCE), healthy).await {
        Some(()) => Ok(()),
        None => Err(Error::Unhealthy { polling: "timed out waiting for the condition", reason }),
    }
}

impl KmsCheck {
    /// Asks the plugins that are in use now, unless they were asked a moment ago.
    pub async fn check(&self) -> Result<(), String> {
        let active = self.encryption.active();
        match self.plugin {
            None => active.probes.check().await,
            Some(index) => match active.probes.0.get(index) {
                Some(probe) => probe.check().await,
                None => Ok(()),
            },
        }
    }
}
