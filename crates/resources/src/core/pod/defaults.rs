//! Defaults of pods and what they are made of that depend on something.

use pintle_features::Feature;

use super::{image, resource_defaults};
use crate::framework::defaults::Draft;

/// Defaults of pods that pod templates do not have.
pub(in crate::core) fn pod(pod: &mut Draft<'_>) {
    const CONTAINERS: [&str; 2] = ["containers", "initContainers"];
    pod.within("spec", |spec| {
        for containers in CONTAINERS {
            spec.each(containers, |container| container.within("resources", requests_from_limits));
        }
        if spec.features().enabled(Feature::PodLevelResources) {
            resource_defaults::default(spec);
        }
        spec.default("enableServiceLinks", true);
        if spec.flag("hostNetwork") {
            for containers in CONTAINERS {
                spec.each(containers, |container| container.each("ports", host_port));
            }
        }
    });
}

/// Requests default to limits.
fn requests_from_limits(resources: &mut Draft<'_>) {
    if let Some(limits) = resources.copy("limits") {
        resources.complete("requests", &limits, |_| true);
    }
}

/// On the host's network a container's port is the host's.
fn host_port(port: &mut Draft<'_>) {
    let number = port.number("containerPort");
    port.default("hostPort", number);
}

pub(in crate::core) fn container(container: &mut Draft<'_>) {
    if container.unset("imagePullPolicy") {
        let policy = pull_policy(container.text("image"));
        container.set("imagePullPolicy", policy);
    }
}

/// `latest` may mean another image every time.
fn pull_policy(image: &str) -> &'static str {
    if image::is_latest(image) { "Always" } else { "IfNotPresent" }
}

/// A volume that does not say what it is is an empty directory.
pub(in crate::core) fn volume(volume: &mut Draft<'_>) {
    if volume.is_only("name") {
        volume.make("emptyDir", |_| {});
    }
    volume.within("image", |image| {
        if image.unset("pullPolicy") {
            let policy = pull_policy(image.text("reference"));
            image.set("pullPolicy", policy);
        }
    });
}

pub(in crate::core) fn log_options(options: &mut Draft<'_>) {
    if options.features().enabled(Feature::PodLogsQuerySplitStreams) {
        options.default("stream", "All");
    }
}
