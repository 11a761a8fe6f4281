//! The hooks of controllers of objects that every cluster has, apart from namespaces and roles.

use std::sync::Arc;

use pintle_controllers::{
    ClusterAuthenticationTrust, Controller, DefaultServiceRange, FlowControl, Identity, IdentityConfig,
    KubernetesService, LegacyTokenTracking, PriorityClasses, Runtime, ServiceConfig, Trust,
};
use pintle_discovery::GroupVersion;
use pintle_resources::strategy::{self, Settings};
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
    /// Whether flow schemas are in effect, so that their conditions are kept.
    pub(crate) has_flow_control: bool,
}

impl Bootstrap {
    /// Adds the hooks of their controllers. Objects of groups that are not served are left alone. Returns the controller of the
    /// conditions of flow schemas, which belongs to the hook of flow control.
    pub(crate) fn add_hooks(
        self,
        stores: &Stores,
        settings: &Settings,
        served: &[GroupVersion],
        hooks: &mut Hooks,
        runtime: &Runtime,
    ) -> Result<Option<Arc<dyn Controller>>, Error> {
        let mut conditions = None;
        let Bootstrap { service, service_ranges, trust, trust_changed, has_flow_control } = self;
        let serves = |group: &str| served.iter().any(|version| version.group == group);
        let objects = |group: &str, name: &str| stores.require_client(group, "v1", name);
        if serves(FLOW_CONTROL) {
            let schemas = objects(FLOW_CONTROL, "flowschemas")?;
            let status = strategy::of(FLOW_CONTROL, "flowschemas/status", settings)
                .ok_or_else(no_resource("flowschemas/status"))?;
            let statuses = Arc::new(schemas.store().with_strategy(status));
            let levels = objects(FLOW_CONTROL, "prioritylevelconfigurations")?;
            let clock = runtime.clock.clone();
            let controller = Arc::new(FlowControl::new(levels, schemas, statuses, clock, has_flow_control));
            conditions = controller.dangling();
            add(hooks, FlowControl::HOOK, vec![controller], runtime);
        }
        if serves("scheduling.k8s.io") {
            let controller = PriorityClasses::new(objects("scheduling.k8s.io", "priorityclasses")?);
            add(hooks, PriorityClasses::HOOK, vec![Arc::new(controller)], runtime);
        }
        let (maps, clock) = (objects("", "configmaps")?, runtime.clock.clone());
        let controller = ClusterAuthenticationTrust::new(maps, trust, trust_changed, clock);
        add(hooks, ClusterAuthenticationTrust::HOOK, vec![Arc::new(controller)], runtime);
        let controller = LegacyTokenTracking::new(objects("", "configmaps")?, runtime.clock.clone());
        add(hooks, LegacyTokenTracking::HOOK, vec![Arc::new(controller)], runtime);
        let ranges = objects(NETWORKING, "servicecidrs")?;
        let status = strategy::of(NETWORKING, "servicecidrs/status", settings)
            .ok_or_else(no_resource("servicecidrs/status"))?;
        let statuses = Arc::new(ranges.store().with_strategy(status));
        let range = DefaultServiceRange::new(ranges, statuses, service_ranges, service.interval);
        add(hooks, DefaultServiceRange::HOOK, vec![Arc::new(range.clone())], runtime);
        let controller = Arc::new(KubernetesService {
            services: objects("", "services")?,
            range,
            endpoints: objects("", "endpoints")?,
            slices: objects("discovery.k8s.io", "endpointslices")?,
            config: service,
        });
        add(hooks, KubernetesService::HOOK, vec![controller.clone()], runtime);
        hooks.pre_shutdown(KubernetesService::STOP_HOOK, move || async move {
            controller.stop().await;
            Ok(())
        });
        Ok(conditions)
    }
}

/// Adds a post-start hook that starts controllers, one after the other.
pub(crate) fn add(
    hooks: &mut Hooks,
    hook: &'static str,
    controllers: Vec<Arc<dyn Controller>>,
    runtime: &Runtime,
) {
    let runtime = runtime.clone();
    hooks.post_start(hook, move || async move {
        for controller in controllers {
            pintle_controllers::start(controller, &runtime).await;
        }
        Ok(())
    });
}

/// Adds the hooks of the lease that announces this server to others.
pub(crate) fn add_identity(
    stores: &Stores,
    config: IdentityConfig,
    hooks: &mut Hooks,
    runtime: &Runtime,
) -> Result<(), Error> {
    let leases = stores.require_client("coordination.k8s.io", "v1", "leases")?;
    let identity = Arc::new(Identity::new(leases, config, runtime.clock.clone()));
    for (hook, controller) in identity.controllers() {
        add(hooks, hook, vec![controller], runtime);
    }
    hooks.pre_shutdown(Identity::STOP_HOOK, move || async move {
        identity.stop().await;
        Ok(())
    });
    Ok(())
}
