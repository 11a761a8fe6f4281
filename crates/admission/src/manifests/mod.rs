//! Static manifests: the objects of a plugin that are files of a folder (`staticManifestsDir`), not objects of the API.
//!
//! ```text
//! folder -> files by name -> documents                                       files.rs
//!        -> objects of the plugin's kinds, with defaults, valid, by name      load.rs
//!        -> whatever the plugin makes of them, exchanged when the files change
//! ```
//!
//! Files that cannot be used keep a server from starting; later, the last usable ones stay. A change is noticed within a few
//! seconds by the metadata of the files, and within a minute in any case.

mod files;
mod load;
mod metrics;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use pintle_features::Feature;
use pintle_meta::quote;
use pintle_runtime::Clock;

pub use self::files::{ManifestFile, ManifestFolders, is_manifest};
pub use self::load::{Manifest, ManifestDecoder};
pub use self::metrics::ManifestMetrics;

pub(crate) use self::load::{ManifestRules, Objects, STATIC_SUFFIX};

use self::load::Loaded;
use crate::chain::Cluster;

/// How often the metadata of the files is compared.
const LOOK: Duration = Duration::from_secs(1);
/// How often files are read even if nothing seems to have changed.
const POLL: Duration = Duration::from_secs(60);

/// The parts of a control plane that static manifests need.
#[derive(Clone)]
pub struct ManifestEnvironment {
    pub folders: Arc<dyn ManifestFolders>,
    pub decoder: Arc<dyn ManifestDecoder>,
    pub metrics: Arc<ManifestMetrics>,
}

/// Validates the field `staticManifestsDir` of a configuration. Errors are the reference's.
pub(crate) fn check_folder(folder: &str, cluster: &Cluster) -> Result<(), String> {
    if folder.is_empty() {
        return Ok(());
    }
    if !cluster.features.enabled(Feature::ManifestBasedAdmissionControlConfig) {
        return Err("staticManifestsDir: Forbidden: staticManifestsDir requires the \
                    ManifestBasedAdmissionControlConfig feature gate to be enabled"
            .to_owned());
    }
    let invalid = |why: String| format!("staticManifestsDir: Invalid value: {}: {why}", quote(folder));
    if !folder.starts_with('/') {
        return Err(invalid("must be an absolute file path".to_owned()));
    }
    let manifests = environment(cluster).map_err(|why| invalid(format!("unable to read: {why}")))?;
    manifests.folders.check(folder).map_err(invalid)
}

fn environment(cluster: &Cluster) -> Result<&ManifestEnvironment, String> {
    cluster.manifests.as_ref().ok_or_else(|| "this control plane reads no files".to_owned())
}

/// A value that a plugin makes of the manifests of a folder, which follows them.
pub(crate) struct StaticManifests<T>(Arc<RwLock<Arc<T>>>);

impl<T: Send + Sync + 'static> StaticManifests<T> {
    /// Loads the manifests of a folder and follows their changes in a task of the control plane. `make` is called for each
    /// version of them. Errors are the reference's.
    pub(crate) fn start(
        folder: &str,
        rules: &'static ManifestRules,
        cluster: &Cluster,
        make: impl Fn(&Objects) -> T + Send + Sync + 'static,
    ) -> Result<StaticManifests<T>, String> {
        let manifests = environment(cluster)?.clone();
        let watched =
            Arc::new(Watched { folder: folder.to_owned(), manifests, clock: cluster.clock.clone(), rules });
        // Before the files are read: a change in between is then noticed.
        let state = watched.manifests.folders.state(folder);
        let Loaded { objects, hash } = watched.load()?;
        let current = Arc::new(RwLock::new(Arc::new(make(&objects))));
        watched.manifests.metrics.loaded(rules.plugin, &hash, &watched.clock);
        let (plugin, count) = (rules.plugin, objects.len());
        tracing::info!(plugin, count, "loaded the static manifests of an admission plugin");
        let exchanged = current.clone();
        let exchange = move |objects: &Objects| {
            let made = Arc::new(make(objects));
            let before = {
                let mut current = exchanged.write().unwrap_or_else(PoisonError::into_inner);
                std::mem::replace(&mut *current, made)
            };
            drop(before);
        };
        cluster.spawner.spawn_until_stop(watched.follow(state, hash, Arc::new(exchange)));
        Ok(StaticManifests(current))
    }

    /// Returns the value for the manifests that are in effect: the same `Arc` until they change.
    pub(crate) fn current(&self) -> Arc<T> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The manifests of one plugin.
struct Watched {
    folder: String,
    manifests: ManifestEnvironment,
    clock: Clock,
    rules: &'static ManifestRules,
}

impl Watched {
    fn load(&self) -> Result<Loaded, String> {
        let ManifestEnvironment { folders, decoder, .. } = &self.manifests;
        load::load(&**folders, &self.folder, &**decoder, self.rules)
    }

    /// Loads the manifests and calls `exchange` if they have other content. Returns their hash.
    fn reload(&self, hash: &str, exchange: &(impl Fn(&Objects) + ?Sized)) -> Option<String> {
        let (plugin, folder, metrics) = (self.rules.plugin, &self.folder, &self.manifests.metrics);
        match self.load() {
            Ok(loaded) if loaded.hash == hash => None,
            Ok(loaded) => {
                exchange(&loaded.objects);
                metrics.loaded(plugin, &loaded.hash, &self.clock);
                tracing::info!(plugin, folder, "reloaded admission manifest config");
                Some(loaded.hash)
            }
            Err(error) => {
                metrics.failed(plugin, &self.clock);
                tracing::error!(plugin, folder, error, "reloading admission manifest config");
                None
            }
        }
    }

    /// Calls `exchange` whenever the files have other content that can be used. Files are read, and what they are made into is
    /// made, on threads that may wait for a disk. Never returns.
    async fn follow(
        self: Arc<Self>,
        mut state: u64,
        mut hash: String,
        exchange: Arc<impl Fn(&Objects) + Send + Sync + 'static>,
    ) {
        loop {
            self.changed(state).await;
            state = self.state(state).await;
            let (watched, exchange, known) = (self.clone(), exchange.clone(), hash.clone());
            let reload = tokio::task::spawn_blocking(move || watched.reload(&known, &*exchange));
            // Only fails if the runtime ends.
            if let Ok(Some(loaded)) = reload.await {
                hash = loaded;
            }
        }
    }

    /// Returns the state of the folder, or `last` if the runtime ends.
    async fn state(self: &Arc<Self>, last: u64) -> u64 {
        let watched = self.clone();
        let state = tokio::task::spawn_blocking(move || watched.manifests.folders.state(&watched.folder));
        state.await.unwrap_or(last)
    }

    /// Waits until the folder has another state, which has held for one look: files that are written one after the other are
    /// read together. Returns after [`POLL`] in any case.
    async fn changed(self: &Arc<Self>, loaded: u64) {
        let (mut last, mut waited) = (loaded, Duration::ZERO);
        while waited < POLL {
            tokio::time::sleep(LOOK).await;
            waited += LOOK;
            let state = self.state(last).await;
            if state != loaded && state == last {
                return;
            }
            last = state;
        }
    }
}
