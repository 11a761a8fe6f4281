//! Stateful sets.

use std::collections::HashSet;

use pintle_features::Feature;
use pintle_meta::field_path::{Path, Value as Printed};
use pintle_meta::selector::label::Selector;
use pintle_meta::validation::{dns1123_label, object_meta};
use pintle_meta::{Value, Warnings};

use super::int_or_percent;
use super::workload::{self, TEMPLATE, WORKLOADS, about_template, is_counted, non_negative, not_above};
use crate::core::persistent_volume_claim::{self, SpecOptions};
use crate::core::pod;
use crate::core::pod::validation::Options;
use crate::framework::conversion::build;
use crate::framework::semantic;
use crate::framework::strategy::rules::metadata_update;
use crate::framework::strategy::{MetadataRecheck, Rules, Settings, tree};
use crate::framework::validation::{Cursor, Errors};

pub(super) const STATEFUL_SETS: Rules = Rules {
    name: object_meta::label_name,
    on_create: |settings, _, set| {
        drop_unavailable(settings, set, None);
        workload::new_template(settings, set);
    },
    on_update: |settings, _, set, old| {
        drop_unavailable(settings, set, Some(old));
        workload::changed_template(settings, set, old);
    },
    validate: |settings, set| {
        let options = Options::for_template(settings, &set.at(TEMPLATE));
        let claims = Some(SpecOptions::new(&settings.features));
        spec(&set.field("spec"), &Scope { claims, skips_template: false }, &options);
    },
    validate_update: update,
    warnings: |_, set, old| {
        let mut warnings = about_template(set, is_counted(set, old));
        warnings.extend(about_claims(set, old));
        warnings.extend(negative_history(set));
        warnings
    },
    ..WORKLOADS
};

pub(super) const STATEFUL_SET_STATUS: Rules = Rules {
    // Checked after the status.
    recheck: MetadataRecheck::None,
    validate_update: |_, set| {
        let counts = set.field("status");
        status(&counts);
        metadata_update(set);
        workload::collisions(&counts);
    },
    ..STATEFUL_SETS.of_status()
};

/// Drops `maxUnavailable` while its feature is off, unless the old object has it.
fn drop_unavailable(settings: &Settings, set: &mut Value, old: Option<&Value>) {
    const FIELD: tree::Path = &["spec", "updateStrategy", "rollingUpdate", "maxUnavailable"];
    if !settings.features.enabled(Feature::MaxUnavailableStatefulSet)
        && old.is_none_or(|old| old.at(FIELD).is_none())
    {
        tree::remove(set, FIELD);
    }
}

/// The parts of a spec that are validated.
struct Scope {
    /// Options of claims. None on an update, which takes the claims and the name of the service as they are.
    claims: Option<SpecOptions>,
    /// Whether the stored object is invalid already, and so may be the template.
    skips_template: bool,
}

fn update(settings: &Settings, set: &Cursor<'_, '_>) {
    let options = Options::for_template(settings, &set.at(TEMPLATE));
    let scope = Scope { claims: None, skips_template: false };
    let found = Errors::default();
    spec(&set.field("spec").reporting_to(&found), &scope, &options);
    if found.len() > 0 {
        let stored = Errors::default();
        spec(&set.before().field("spec").reporting_to(&stored), &scope, &options);
        if stored.len() > 0 {
            spec(&set.field("spec"), &Scope { skips_template: true, ..scope }, &options);
        } else {
            set.report(found.into_vec());
        }
    }
    let spec = set.field("spec");
    let claims = spec.field("volumeClaimTemplates");
    if ["selector", "serviceName", "podManagementPolicy"].iter().any(|field| spec.field(field).changed())
        || !has_same_claims(&claims)
    {
        spec.forbidden(
            "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', \
             'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
        );
    }
}

fn spec(spec: &Cursor<'_, '_>, scope: &Scope, options: &Options) {
    let policy = spec.field("podManagementPolicy");
    if !["OrderedReady", "Parallel"].contains(&policy.text()) {
        policy.invalid(Printed::json(policy.text()), "must be 'OrderedReady' or 'Parallel'");
    }
    update_strategy(&spec.field("updateStrategy"));
    let retention = spec.field("persistentVolumeClaimRetentionPolicy");
    if retention.is_set() {
        for when in ["whenDeleted", "whenScaled"] {
            retention.field(when).one_of(&["Retain", "Delete"]);
        }
    }
    if let Some(options) = &scope.claims {
        let claims = spec.field("volumeClaimTemplates");
        claims.each(|claim| persistent_volume_claim::spec(&claim.field("spec"), options));
    }
    non_negative(spec, &["replicas", "minReadySeconds"]);
    spec.at(&["ordinals", "start"]).non_negative();
    let service = spec.field("serviceName");
    if scope.claims.is_some() && !service.is_empty() {
        service.text_format(dns1123_label);
    }
    let empty = "empty selector is invalid for statefulset";
    if let Some(selector) = workload::selector(&spec.field("selector"), empty, "") {
        template(spec, &selector, scope, options);
    }
    workload::running_forever(&spec.field("template"), "StatefulSet");
}

fn update_strategy(strategy: &Cursor<'_, '_>) {
    let update = strategy.field("rollingUpdate");
    match strategy.field("type").text() {
        "OnDelete" => {
            if update.is_set() {
                let printed = update.printed_as("apps.RollingUpdateStatefulSetStrategy");
                update.invalid(printed, "only allowed for updateStrategy 'RollingUpdate'");
            }
        }
        "RollingUpdate" => {
            update.field("partition").non_negative();
            let unavailable = update.field("maxUnavailable");
            if unavailable.is_set() {
                int_or_percent::positive(&unavailable);
                if int_or_percent::value(&unavailable) == 0 {
                    unavailable.invalid(int_or_percent::printed(&unavailable), "cannot be 0");
                }
                int_or_percent::at_most_100_percent(&unavailable);
            }
        }
        _ => {
            let printed = strategy.printed_as("apps.StatefulSetUpdateStrategy");
            strategy.invalid(printed, "must be 'RollingUpdate' or 'OnDelete'");
        }
    }
}

/// Checks the template as the pods will have it.
fn template(spec: &Cursor<'_, '_>, selector: &Selector, scope: &Scope, options: &Options) {
    let template = spec.field("template");
    let completed = completed(template.value(), spec.field("volumeClaimTemplates").values());
    let template = completed.as_ref().map_or(template, |completed| template.with_value(completed));
    workload::selects(selector, &template);
    if !scope.skips_template {
        pod::validation::template(&template, options);
    }
    // The reference checks these a second time.
    pod::validation::template_metadata(&template, options);
}

/// Returns the template without fields that the controller overwrites and with a volume for each claim; nothing where
/// that is the template itself.
fn completed(template: &Value, claims: &[Value]) -> Option<Value> {
    const OVERWRITTEN: [tree::Path; 2] = [&["spec", "subdomain"], &["spec", "hostname"]];
    if claims.is_empty() && OVERWRITTEN.iter().all(|path| template.text_at(path).is_empty()) {
        return None;
    }
    let mut completed = template.clone();
    for path in OVERWRITTEN {
        tree::remove(&mut completed, path);
    }
    if claims.is_empty() {
        return Some(completed);
    }
    let mut names = HashSet::new();
    let mut volumes = Vec::new();
    for claim in claims.iter().filter(|claim| names.insert(claim.name())) {
        let source = [("claimName", Some(Value::string(claim.name())))];
        let source = build("core/v1.PersistentVolumeClaimVolumeSource", source);
        let volume = [("name", Some(Value::string(claim.name()))), ("persistentVolumeClaim", Some(source))];
        volumes.push(build("core/v1.Volume", volume));
    }
    let own = template.items_at(&["spec", "volumes"]).iter();
    volumes.extend(own.filter(|volume| !names.contains(volume.text_at(&["name"]))).cloned());
    tree::set(&mut completed, &["spec", "volumes"], volumes);
    Some(completed)
}

fn status(status: &Cursor<'_, '_>) {
    non_negative(
        status,
        &[
            "replicas",
            "readyReplicas",
            "currentReplicas",
            "updatedReplicas",
            "availableReplicas",
            "observedGeneration",
            "collisionCount",
        ],
    );
    for count in ["readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"] {
        not_above(status, count, "replicas", "status.replicas");
    }
    not_above(status, "availableReplicas", "readyReplicas", "status.readyReplicas");
}

/// Returns the warnings about claims. Their paths are the reference's, right or not.
fn about_claims(set: &Value, old: Option<&Value>) -> Vec<String> {
    let path = Path::new("spec.volumeClaimTemplates");
    let mut warnings = Warnings::new();
    for (index, claim) in set.items_at(&["spec", "volumeClaimTemplates"]).iter().enumerate() {
        let claim_path = path.index(index);
        let spec_path = claim_path.child("Spec");
        let named = if old.is_none() { &claim_path } else { &spec_path };
        let spec = claim.get("spec").unwrap_or(&Value::NULL);
        warnings.extend(pod::warnings::claim_spec(named, spec));
        if warnings.is_full() {
            break;
        }
    }
    warnings.into_texts()
}

fn negative_history(set: &Value) -> Vec<String> {
    let limit = set.at(&["spec", "revisionHistoryLimit"]).and_then(Value::as_i64);
    if limit.is_none_or(|limit| limit >= 0) {
        return Vec::new();
    }
    let why = "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended";
    vec![why.into()]
}

/// Whether the claim templates did not change but for the notation of amounts.
fn has_same_claims(claims: &Cursor<'_, '_>) -> bool {
    let (new, old) = (claims.values(), claims.before());
    new.len() == old.len()
        && new
            .iter()
            .zip(old.values())
            .all(|(new, old)| semantic::is_same_as("core/v1.PersistentVolumeClaim", Some(new), Some(old)))
}

#[cfg(test)]
mod tests;
