//! Replica sets.

use super::deployment::drop_terminating;
use super::workload::{self, SELECTOR, TEMPLATE, WORKLOADS, about_pods, non_negative, not_above};
use crate::core::pod::validation::Options;
use crate::framework::strategy::{Rules, Settings};
use crate::framework::validation::Cursor;

pub(super) const REPLICA_SETS: Rules = Rules {
    validate,
    validate_update: |settings, set| {
        validate(settings, set);
        set.at(&["spec", "selector"]).immutable(SELECTOR);
    },
    warnings: |_, set, old| about_pods(set, old),
    ..WORKLOADS
};

pub(super) const REPLICA_SET_STATUS: Rules = Rules {
    on_update: |settings, _, new, old| drop_terminating(settings, new, old),
    validate_update: |_, set| status(&set.field("status")),
    ..WORKLOADS.of_status()
};

fn validate(settings: &Settings, set: &Cursor<'_, '_>) {
    let options = Options::for_template(settings, &set.at(TEMPLATE));
    let spec = set.field("spec");
    non_negative(&spec, &["replicas", "minReadySeconds"]);
    // The reference's text names deployments here too.
    let (empty, wrong) = ("empty selector is invalid for deployment", "invalid label selector");
    if let Some(selector) = workload::selector(&spec.field("selector"), empty, wrong) {
        workload::replicated(&spec.field("template"), &selector, &options);
    }
}

fn status(status: &Cursor<'_, '_>) {
    non_negative(
        status,
        &[
            "replicas",
            "fullyLabeledReplicas",
            "readyReplicas",
            "availableReplicas",
            "observedGeneration",
            "terminatingReplicas",
        ],
    );
    for count in ["fullyLabeledReplicas", "readyReplicas", "availableReplicas"] {
        not_above(status, count, "replicas", "status.replicas");
    }
    not_above(status, "availableReplicas", "readyReplicas", "readyReplicas");
}

#[cfg(test)]
mod tests;
