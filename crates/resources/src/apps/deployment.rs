//! Deployments.

use pintle_features::Feature;
use pintle_meta::Value;
use pintle_registry::ResetFields;

use super::conversion::{ROLLBACK_TO, parse_int};
use super::int_or_percent;
use super::workload::{self, SELECTOR, TEMPLATE, WORKLOADS, about_pods, non_negative, not_above};
use crate::core::pod::validation::Options;
use crate::framework::strategy::{Rules, Settings, tree};
use crate::framework::validation::Cursor;

pub(super) const DEPLOYMENTS: Rules = Rules {
    // Annotations are copied to replica sets, so a change of them is work to do.
    generation_fields: &[&["spec"], &["metadata", "annotations"]],
    validate,
    validate_update: |settings, deployment| {
        validate(settings, deployment);
        deployment.at(&["spec", "selector"]).immutable(SELECTOR);
    },
    warnings: |_, deployment, old| about_pods(deployment, old),
    ..WORKLOADS
};

pub(super) const DEPLOYMENT_STATUS: Rules = Rules {
    kept_on_update: &[&["spec"], &["metadata", "labels"]],
    reset_fields: ResetFields::These(&[&["spec"], &["metadata", "labels"]]),
    on_update: |settings, _, new, old| drop_terminating(settings, new, old),
    validate_update: |_, deployment| status(&deployment.field("status")),
    ..WORKLOADS.of_status()
};

/// Drops the number of terminating replicas while its feature is off, unless the old object has it.
pub(super) fn drop_terminating(settings: &Settings, new: &mut Value, old: &Value) {
    const FIELD: tree::Path = &["status", "terminatingReplicas"];
    let is_on = settings.features.enabled(Feature::DeploymentReplicaSetTerminatingReplicas);
    if !is_on && old.at(FIELD).is_none() {
        tree::remove(new, FIELD);
    }
}

fn validate(settings: &Settings, deployment: &Cursor<'_, '_>) {
    let options = Options::for_template(settings, &deployment.at(TEMPLATE));
    let spec = deployment.field("spec");
    spec.field("replicas").non_negative();
    let (empty, wrong) = ("empty selector is invalid for deployment", "invalid label selector");
    if let Some(selector) = workload::selector(&spec.field("selector"), empty, wrong) {
        workload::replicated(&spec.field("template"), &selector, &options);
    }
    strategy(&spec.field("strategy"));
    non_negative(&spec, &["minReadySeconds", "revisionHistoryLimit"]);
    rollback(&deployment.at(&["metadata", "annotations"]).key(ROLLBACK_TO), &spec);
    let deadline = spec.field("progressDeadlineSeconds");
    if let Some(seconds) = deadline.optional_integer() {
        deadline.non_negative();
        if seconds <= spec.field("minReadySeconds").integer() {
            deadline.invalid(seconds, "must be greater than minReadySeconds");
        }
    }
}

/// Checks the revision to roll back to, a field that only the oldest versions have.
fn rollback(annotation: &Cursor<'_, '_>, spec: &Cursor<'_, '_>) {
    let revision = annotation.optional_text().and_then(|text| parse_int(text).ok());
    if let Some(revision) = revision.filter(|revision| *revision < 0) {
        let field = spec.at(&["rollback", "version"]);
        field.invalid(revision, "must be greater than or equal to 0");
    }
}

fn strategy(strategy: &Cursor<'_, '_>) {
    let update = strategy.field("rollingUpdate");
    match strategy.field("type").text() {
        "Recreate" => {
            if update.is_set() {
                update.forbidden("may not be specified when strategy `type` is 'Recreate'");
            }
        }
        "RollingUpdate" => rolling_update(&update),
        _ => {
            let printed = strategy.printed_as("apps.DeploymentStrategy");
            strategy.not_supported(printed, &["Recreate", "RollingUpdate"]);
        }
    }
}

fn rolling_update(update: &Cursor<'_, '_>) {
    let (unavailable, surge) = (update.field("maxUnavailable"), update.field("maxSurge"));
    int_or_percent::positive(&unavailable);
    int_or_percent::positive(&surge);
    if int_or_percent::value(&unavailable) == 0 && int_or_percent::value(&surge) == 0 {
        unavailable.invalid(int_or_percent::printed(&unavailable), "may not be 0 when `maxSurge` is 0");
    }
    int_or_percent::at_most_100_percent(&unavailable);
}

fn status(status: &Cursor<'_, '_>) {
    non_negative(
        status,
        &[
            "observedGeneration",
            "replicas",
            "updatedReplicas",
            "readyReplicas",
            "availableReplicas",
            "unavailableReplicas",
            "terminatingReplicas",
            "collisionCount",
        ],
    );
    for count in ["updatedReplicas", "readyReplicas", "availableReplicas"] {
        not_above(status, count, "replicas", "status.replicas");
    }
    not_above(status, "availableReplicas", "readyReplicas", "readyReplicas");
    workload::collisions(status);
}

#[cfg(test)]
mod tests;
