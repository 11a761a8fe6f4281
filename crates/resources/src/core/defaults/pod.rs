//! Defaults of pods and what they are made of that depend on something.

use pintle_features::Feature;

use super::{image, pod_resources};
use crate::framework::defaults::Place;

/// What only pods have filled in, and not the templates of controllers.
pub(super) fn pod(pod: &mut Place<'_>) {
    const CONTAINERS: [&str; 2] = ["containers", "initContainers"];
    pod.within("spec", |spec| {
        for containers in CONTAINERS {
            spec.each(containers, |container| container.within("resources", requests_from_limits));
        }
        if spec.features().enabled(Feature::PodLevelResources) {
            pod_resources::default(spec);
        }
        spec.default("enableServiceLinks", true);
        if spec.flag("hostNetwork") {
            for containers in CONTAINERS {
                spec.each(containers, |container| container.each("ports", host_port));
            }
        }
    });
}

/// Whoever limits a resource and does not say how much is needed needs all of it.
fn requests_from_limits(resources: &mut Place<'_>) {
    if let Some(limits) = resources.copy("limits") {
        resources.complete("requests", &limits, |_| true);
    }
}

/// On the host's network a container's port is the host's.
fn host_port(port: &mut Place<'_>) {
    let number = port.number("containerPort");
    port.default("hostPort", number);
}

pub(super) fn container(container: &mut Place<'_>) {
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
pub(super) fn volume(volume: &mut Place<'_>) {
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

pub(super) fn log_options(options: &mut Place<'_>) {
    if options.features().enabled(Feature::PodLogsQuerySplitStreams) {
        options.default("stream", "All");
    }
}
