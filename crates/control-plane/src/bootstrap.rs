//! The hooks of controllers of objects that every cluster has, apart from namespaces and roles.

use std::sync::Arc;

use pintle_controllers::{
    ClusterAuthenticationTrust, DefaultServiceRange, FlowControl, Identity, IdentityConfig,
    KubernetesService, LegacyTokenTracking, PriorityClasses, ServiceConfig, Trust,
};
use pintle_discovery::GroupVersion;
use pintle_resources::strategy::{self, Settings};
use pintle_runtime::{Signal, Spawner};
use pintle_server::lifecycle::Hooks;
use tokio::sync::Notify;

use crate::Error;
use crate::error::no_resource;
use crate::stores::Stores;

const FLOW_CONTROL: &str = "flowcontrol.apiserver.k8s.io";
const NETWORKING: &str = "networking.k8s.io";

/// The objects that every cluster has, as this server wants them.
pub(crate) struct Bootstrap {
    /// The service `kubernetes`.
    pub(crate) service: ServiceConfig,
    /// The networks of services.
    pub(crate) service_ranges: Vec<String>,
    /// The certificate authorities that are published for other servers.
    pub(crate) trust: Trust,
    pub(crate) trust_changed: Arc<Notify>,
}

impl Bootstrap {
    /// Adds the hooks of their controllers. Objects of groups that are not served are left alone.
    pub(crate) fn add_hooks(
        self,
        stores: &Stores,
        settings: &Settings,
        served: &[GroupVersion],
        hooks: &mut Hooks,
        stop: &Signal,
    ) -> Result<(), Error> {
        let Bootstrap { service, service_ranges, trust, trust_changed: authorities_changed } = self;
        let serves = |group: &str| served.iter().any(|version| version.group == group);
        let objects = |group: &str, name: &str| stores.require_objects(group, "v1", name);
        if serves(FLOW_CONTROL) {
            let schemas = objects(FLOW_CONTROL, "flowschemas")?;
            let status = strategy::of(FLOW_CONTROL, "flowschemas/status", settings)
                .ok_or_else(no_resource("flowschemas/status"))?;
            let statuses = Arc::new(schemas.store().with_strategy(status));
            let levels = objects(FLOW_CONTROL, "prioritylevelconfigurations")?;
            let (controller, stop) = (FlowControl::new(levels, schemas, statuses), stop.clone());
            hooks.post_start(FlowControl::HOOK, move || async move {
                controller.start(async move { stop.wait().await }).await;
                Ok(())
            });
        }
        if serves("scheduling.k8s.io") {
            let controller = PriorityClasses::new(objects("scheduling.k8s.io", "priorityclasses")?);
            let stop = stop.clone();
            hooks.post_start(PriorityClasses::HOOK, move || async move {
                controller.start(async move { stop.wait().await }).await;
                Ok(())
            });
        }
        let (controller, stopped) =
            (ClusterAuthenticationTrust::new(objects("", "configmaps")?, trust), stop.clone());
        hooks.post_start(ClusterAuthenticationTrust::HOOK, move || async move {
            controller.start(authorities_changed, async move { stopped.wait().await });
            Ok(())
        });
        let (controller, stopped) = (LegacyTokenTracking::new(objects("", "configmaps")?), stop.clone());
        hooks.post_start(LegacyTokenTracking::HOOK, move || async move {
            controller.start(async move { stopped.wait().await });
            Ok(())
        });
        let ranges = objects(NETWORKING, "servicecidrs")?;
        let status = strategy::of(NETWORKING, "servicecidrs/status", settings)
            .ok_or_else(no_resource("servicecidrs/status"))?;
        let statuses = Arc::new(ranges.store().with_strategy(status));
        let range = DefaultServiceRange::new(ranges, statuses, service_ranges, service.interval);
        let (keeping, ended) = (range.clone(), stop.clone());
        hooks.post_start(DefaultServiceRange::HOOK, move || async move {
            keeping.start(async move { ended.wait().await }).await;
            Ok(())
        });
        let controller = KubernetesService {
            services: objects("", "services")?,
            range,
            endpoints: objects("", "endpoints")?,
            slices: objects("discovery.k8s.io", "endpointslices")?,
            config: service,
        };
        let (stopping, stop) = (controller.clone(), stop.clone());
        hooks.post_start(KubernetesService::HOOK, move || async move {
            controller.start(async move { stop.wait().await }).await;
            Ok(())
        });
        hooks.pre_shutdown(KubernetesService::STOP_HOOK, move || async move {
            stopping.stop().await;
            Ok(())
        });
        Ok(())
    }
}

/// Adds the hooks of the lease that announces this server to others.
pub(crate) fn add_identity(
    stores: &Stores,
    config: IdentityConfig,
    hooks: &mut Hooks,
    spawner: &Spawner,
) -> Result<(), Error> {
    let leases = stores.require_objects("coordination.k8s.io", "v1", "leases")?;
    let identity = Arc::new(Identity::new(leases, config));
    // The server is ready without its lease.
    let (renewing, tasks) = (identity.clone(), spawner.clone());
    hooks.post_start(Identity::HOOK, move || async move {
        let stopping = tasks.stopping().clone();
        tasks.spawn(async move { renewing.keep(stopping.wait()).await });
        Ok(())
    });
    let (collecting, tasks) = (identity.clone(), spawner.clone());
    hooks.post_start(Identity::COLLECTION_HOOK, move || async move {
        let stopping = tasks.stopping().clone();
        tasks.spawn(async move { collecting.collect(stopping.wait()).await });
        Ok(())
    });
    hooks.pre_shutdown(Identity::STOP_HOOK, move || async move {
        identity.stop().await;
        Ok(())
    });
    Ok(())
}
