//! The objects that every cluster has, apart from namespaces and roles: what keeps them, and when it begins.

use std::sync::Arc;

use anyhow::Context;
use pintle_controllers::{
    ClusterAuthenticationTrust, Controller, DefaultServiceRange, FlowControl, Identity, IdentityConfig,
    KubernetesService, LegacyTokenTracking, Objects, PriorityClasses, Runtime, ServiceConfig, Trust,
};
use pintle_resources::strategy::{self, Settings};
use pintle_server::lifecycle::Hooks;
use tokio::sync::Notify;

use crate::plane::Stores;

const FLOW_CONTROL: &str = "flowcontrol.apiserver.k8s.io";
const NETWORKING: &str = "networking.k8s.io";

/// `serves` says of a group whether it is served: of others, nothing is kept.
pub(crate) fn add_hooks(
    stores: &Stores,
    settings: &Settings,
    (service, service_ranges): (ServiceConfig, Vec<String>),
    (trust, authorities_changed): (Trust, Arc<Notify>),
    serves: impl Fn(&str) -> bool,
    hooks: &mut Hooks,
    runtime: &Runtime,
) -> anyhow::Result<()> {
    let objects = |group: &str, name: &str| -> anyhow::Result<Objects> {
        stores.objects(group, "v1", name).with_context(|| format!("there is no resource {name}"))
    };
    if serves(FLOW_CONTROL) {
        let schemas = objects(FLOW_CONTROL, "flowschemas")?;
        let status = strategy::of(FLOW_CONTROL, "flowschemas/status", settings)
            .context("flow schemas have no status")?;
        let statuses = Arc::new(schemas.store().with_strategy(status));
        let levels = objects(FLOW_CONTROL, "prioritylevelconfigurations")?;
        let controller = Arc::new(FlowControl::new(levels, schemas, statuses, runtime.clock.clone()));
        let dangling = controller.dangling();
        add(hooks, FlowControl::HOOK, vec![controller, dangling], runtime);
    }
    if serves("scheduling.k8s.io") {
        let controller = PriorityClasses::new(objects("scheduling.k8s.io", "priorityclasses")?);
        add(hooks, PriorityClasses::HOOK, vec![Arc::new(controller)], runtime);
    }
    let (maps, clock) = (objects("", "configmaps")?, runtime.clock.clone());
    let controller = ClusterAuthenticationTrust::new(maps, trust, authorities_changed, clock);
    add(hooks, ClusterAuthenticationTrust::HOOK, vec![Arc::new(controller)], runtime);
    let controller = LegacyTokenTracking::new(objects("", "configmaps")?, runtime.clock.clone());
    add(hooks, LegacyTokenTracking::HOOK, vec![Arc::new(controller)], runtime);
    let ranges = objects(NETWORKING, "servicecidrs")?;
    let status = strategy::of(NETWORKING, "servicecidrs/status", settings)
        .context("networks of services have no status")?;
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
    Ok(())
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

/// The lease by which others know that this server is there.
pub(crate) fn add_identity(
    stores: &Stores,
    config: IdentityConfig,
    hooks: &mut Hooks,
    runtime: &Runtime,
) -> anyhow::Result<()> {
    let leases =
        stores.objects("coordination.k8s.io", "v1", "leases").context("there is no resource leases")?;
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
