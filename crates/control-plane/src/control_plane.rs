//! A control plane from its start to its end.

use std::sync::Arc;
use std::time::Duration;

use pintle_runtime::{Signal, Spawner, Tasks};
use pintle_server::filter::Handler;
use pintle_server::{Metrics, Running, Server};
use pintle_storage::Backend;

use crate::startup::Startup;
use crate::stores::Stores;
use crate::{Config, Error, encryption};

/// Time that tasks have to end by themselves when a control plane stops.
const GRACE: Duration = Duration::from_secs(2);

/// One control plane. Dropping it ends everything that it started.
pub struct ControlPlane {
    server: Running,
    /// Whether a post-start hook has failed.
    has_failed: bool,
    tasks: Tasks,
    metrics: Metrics,
    backends: Vec<Arc<dyn Backend>>,
    /// Some hold weak references to each other, so the control plane holds them all.
    _stores: Stores,
    _end: EndOnDrop,
}

/// Ends long-running requests, and loops that wait for that moment, with the control plane.
struct EndOnDrop(Signal);

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        self.0.set();
    }
}

impl ControlPlane {
    /// Starts a control plane on a store. When it returns, requests are served; [`ControlPlane::is_started`] says whether
    /// the post-start hooks are done, as `/readyz` does.
    ///
    /// Errors: the configuration cannot be used, or the store does not answer.
    pub async fn start(backend: Arc<dyn Backend>, mut config: Config) -> Result<ControlPlane, Error> {
        let backends = std::iter::once(&backend).chain(&config.storage.overrides.backends).cloned().collect();
        let (backend, encryption) = encryption::around(backend, &mut config)?;
        let mut startup = Startup::new(backend, &config)?;
        let mut health = startup.health(&mut config);
        startup.add_encryption(&encryption, &mut health);
        let stores = startup.open_stores(&mut config).await?;
        let access = startup.access(&config, &stores)?;
        let storage_versions = startup.add_identity(&config, &stores)?;
        startup.add_bootstrap_controllers(&config, &stores)?;
        let documents = startup.documents(&config);
        let resources = startup.serve_resources(&mut config, &stores, &access, &documents)?;
        startup.measure_stores(&config, &stores, &resources)?;
        startup.add_resource_controllers(&config, &stores, &resources)?;
        let aggregator = startup.add_aggregator(&config, &stores, &resources, &documents, &mut health)?;
        let flow_control = startup.flow_control(&config, &stores, &resources)?;
        let in_process =
            startup.add_managed_controllers(&config, &stores, &resources, aggregator.catalog())?;

        let (metrics, end) = (startup.metrics.clone(), EndOnDrop(startup.stop()));
        let (spawner, tasks) = (config.spawner(), std::mem::take(&mut config.tasks));
        let server = startup.server_config(
            config,
            health,
            access,
            storage_versions,
            documents,
            &resources,
            &aggregator,
            flow_control,
        );
        let server = Server::new(server);
        in_process.connect(server.handler());
        Ok(ControlPlane {
            server: server.start(&spawner),
            has_failed: false,
            tasks,
            metrics,
            backends,
            _stores: stores,
            _end: end,
        })
    }

    /// Returns the handler of all requests, which authenticates and authorizes them.
    pub fn handler(&self) -> Arc<dyn Handler> {
        self.server.handler().clone()
    }

    /// Returns the server, for listeners.
    pub fn server(&self) -> &Running {
        &self.server
    }

    /// Returns a function that says whether all post-start hooks have finished.
    pub fn is_started(&self) -> impl Fn() -> bool + use<> {
        self.server.is_started()
    }

    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Returns a spawner of tasks that end with this control plane.
    pub fn spawner(&self) -> Spawner {
        self.tasks.spawner()
    }

    /// Returns the number of tasks of the control plane that have not ended.
    pub fn task_count(&self) -> usize {
        self.tasks.count()
    }

    /// Waits until a post-start hook fails. The control plane is to be stopped then.
    pub async fn failed(&mut self) -> Error {
        let error = self.server.failed().await;
        self.has_failed = true;
        error.into()
    }

    /// Stops in order: no new requests, watches and requests end, tasks end, the store closes. After a failure the delay of
    /// the shutdown is skipped.
    pub async fn stop(self) -> Result<(), Error> {
        let result = self.server.shut_down(!self.has_failed).await;
        self.tasks.stop(GRACE).await;
        for backend in self.backends {
            backend.close().await.map_err(Error::Close)?;
        }
        result.map_err(Error::from)
    }
}
