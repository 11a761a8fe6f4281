//! The objects that every cluster has, apart from namespaces and roles: what keeps them, and when it begins.

use std::sync::Arc;

use anyhow::Context;
use pintle_controllers::{
    ClusterAuthenticationTrust, DefaultServiceRange, FlowControl, Identity, IdentityConfig,
    KubernetesService, LegacyTokenTracking, Objects, PriorityClasses, ServiceConfig, Trust,
};
use pintle_resources::strategy::{self, Settings};
use pintle_server::lifecycle::{Hooks, Signal};
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
    stop: &Signal,
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
        .context("networks of services have no status")?;
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

/// The lease by which others know that this server is there.
pub(crate) fn add_identity(
    stores: &Stores,
    config: IdentityConfig,
    hooks: &mut Hooks,
    stop: &Signal,
) -> anyhow::Result<()> {
    let leases =
        stores.objects("coordination.k8s.io", "v1", "leases").context("there is no resource leases")?;
    let identity = Arc::new(Identity::new(leases, config));
    // Nobody waits for it: a server is ready without others knowing.
    let (kept, ended) = (identity.clone(), stop.clone());
    hooks.post_start(Identity::HOOK, move || async move {
        tokio::spawn(async move { kept.keep(ended.wait()).await });
        Ok(())
    });
    let (collecting, ended) = (identity.clone(), stop.clone());
    hooks.post_start(Identity::COLLECTION_HOOK, move || async move {
        tokio::spawn(async move { collecting.collect(ended.wait()).await });
        Ok(())
    });
    hooks.pre_shutdown(Identity::STOP_HOOK, move || async move {
        identity.stop().await;
        Ok(())
    });
    Ok(())
}
