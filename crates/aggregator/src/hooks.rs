//! The post-start hooks of the aggregator, and the controllers that they start.

use std::sync::Arc;
use std::time::Duration;

use pintle_controllers::{Controller, Runtime};
use pintle_server::lifecycle::Hooks;

use crate::Aggregator;
use crate::availability::{LocalAvailability, RemoteAvailability, Stores};
use crate::registration::{RemoteRegistration, Subscribers};
use crate::remote::{DiscoveryController, OpenApiController, OpenApiVersion};

/// The names of the hooks, in the order of health checks; the check of registration is after the sixth.
pub const HOOKS: [&str; 8] = [
    "start-kube-aggregator-informers",
    "apiservice-status-local-available-controller",
    "apiservice-status-remote-available-controller",
    "apiservice-registration-controller",
    "apiservice-discovery-controller",
    "kube-apiserver-autoregistration",
    "apiservice-openapi-controller",
    "apiservice-openapiv3-controller",
];

/// The hook of a server with a certificate for other servers. Each new connection reads a file that has changed.
const CERTIFICATE_HOOK: &str = "aggregator-reload-proxy-client-cert";

/// Delay before a cache that could not be loaded is asked again.
const PAUSE: Duration = Duration::from_millis(200);

impl Aggregator {
    /// Adds the hooks. None waits for another server.
    pub fn add_hooks(&self, hooks: &mut Hooks) {
        let subscribers = Arc::new(Subscribers::default());
        let runtime = &self.config.runtime;
        let [informers, local, remote, registration, discovery, auto, openapi_v2, openapi_v3] = HOOKS;
        if self.config.key_pair.is_some() {
            hooks.post_start(CERTIFICATE_HOOK, || async { Ok(()) });
        }
        let (services, clock) = (self.services.clone(), runtime.clock.clone());
        hooks.post_start(informers, move || async move {
            while services.ready().await.is_err() {
                clock.sleep(PAUSE).await;
            }
            Ok(())
        });
        let controller = LocalAvailability::new(self.config.statuses.clone(), self.metrics.clone());
        start(hooks, local, Arc::new(controller), runtime);
        let stores = Stores { services: self.config.services.clone(), slices: self.config.slices.clone() };
        let controller = RemoteAvailability::new(
            self.config.statuses.clone(),
            self.metrics.clone(),
            self.services.clone(),
            stores,
            subscribers.clone(),
            runtime.clock.clone(),
        );
        start(hooks, remote, Arc::new(controller), runtime);
        let (services, versions) = (self.services.clone(), self.versions.clone());
        let controller =
            Arc::new(RemoteRegistration::new(services.clone(), versions.clone(), subscribers.clone()));
        let own = runtime.clone();
        hooks.post_start(registration, move || async move {
            controller.begin(&own.clock).await;
            pintle_controllers::start(controller, &own).await;
            Ok(())
        });
        let clock = runtime.clock.clone();
        let controller =
            DiscoveryController::new(services.clone(), versions.clone(), subscribers.clone(), clock);
        start(hooks, discovery, Arc::new(controller), runtime);
        self.add_registration(hooks, auto);
        for (hook, version) in [(openapi_v2, OpenApiVersion::V2), (openapi_v3, OpenApiVersion::V3)] {
            let (services, versions) = (services.clone(), versions.clone());
            let controller = OpenApiController::new(version, services, versions, subscribers.clone());
            start(hooks, hook, Arc::new(controller), runtime);
        }
    }

    /// Adds the hook that keeps the APIServices of this server. It does not wait for them; the check of registration does.
    fn add_registration(&self, hooks: &mut Hooks, hook: &str) {
        let (definitions, auto, runtime) =
            (self.definitions.clone(), self.auto.clone(), self.config.runtime.clone());
        hooks.post_start(hook, move || async move {
            let own = runtime.clone();
            runtime.spawner.spawn_until_stop(async move {
                definitions.begin(&own.clock).await;
                auto.begin(&own.clock).await;
                pintle_controllers::start(auto, &own).await;
                pintle_controllers::start(definitions, &own).await;
            });
            Ok(())
        });
    }
}

fn start(hooks: &mut Hooks, hook: &str, controller: Arc<dyn Controller>, runtime: &Runtime) {
    let runtime = runtime.clone();
    hooks.post_start(hook, move || async move {
        pintle_controllers::start(controller, &runtime).await;
        Ok(())
    });
}
