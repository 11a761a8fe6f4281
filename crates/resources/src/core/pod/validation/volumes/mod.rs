//! Volumes of a pod: names, and sources of every type.

mod downward_api;
mod projected;

use std::collections::HashMap;

use pintle_features::Features;
use pintle_meta::validation::{dns1123_label, object_meta};
use pintle_meta::{Value, quote};

use super::Options;
use crate::core::persistent_volume_claim::{self, SpecOptions};
use crate::core::volume_sources as sources;
use crate::framework::validation::{Cursor, Seen};

/// A type of source.
struct Source {
    field: &'static str,
    /// Name in an error about the second source of a volume.
    second: &'static str,
    /// Name in errors about the source itself.
    shown: &'static str,
    check: Check,
}

enum Check {
    Alone(fn(&Cursor<'_, '_>)),
    With(fn(&Cursor<'_, '_>, &Options)),
}

const fn of(field: &'static str, check: fn(&Cursor<'_, '_>)) -> Source {
    Source { field, second: field, shown: field, check: Check::Alone(check) }
}

const fn with(field: &'static str, check: fn(&Cursor<'_, '_>, &Options)) -> Source {
    Source { field, second: field, shown: field, check: Check::With(check) }
}

/// All types, in the reference's order. A few have other names in errors.
static SOURCES: &[Source] = &[
    of("emptyDir", sources::empty_dir),
    of("hostPath", sources::host_path),
    of("gitRepo", sources::git_repo),
    Source { shown: "persistentDisk", ..of("gcePersistentDisk", sources::gce_persistent_disk) },
    of("awsElasticBlockStore", sources::aws_elastic_block_store),
    of("secret", sources::secret),
    of("nfs", sources::nfs),
    of("iscsi", sources::iscsi),
    of("glusterfs", sources::glusterfs),
    of("flocker", sources::flocker),
    of("persistentVolumeClaim", claim),
    of("rbd", sources::rbd),
    of("cinder", sources::cinder),
    Source { second: "cephFS", ..of("cephfs", sources::cephfs) },
    of("quobyte", sources::quobyte),
    Source { second: "downwarAPI", ..of("downwardAPI", downward_api::volume) },
    of("fc", sources::fc),
    of("flexVolume", sources::flex),
    of("configMap", sources::config_map),
    of("azureFile", sources::azure_file),
    of("vsphereVolume", sources::vsphere),
    of("photonPersistentDisk", sources::photon_persistent_disk),
    of("portworxVolume", sources::portworx),
    of("azureDisk", sources::azure_disk),
    of("storageos", sources::storage_os),
    with("projected", projected::volume),
    of("scaleIO", sources::scale_io),
    of("csi", sources::csi),
    of("ephemeral", ephemeral),
    with("image", image),
];

/// Checks the volumes of a pod. `pod_name` is empty in a template. Returns the valid ones by name: a mount of another is
/// not found.
pub(super) fn volumes<'v>(
    volumes: &Cursor<'_, 'v>,
    pod_name: &str,
    options: &Options,
) -> HashMap<&'v str, &'v Value> {
    let ephemeral = |volume: &&'v Value| !pod_name.is_empty() && volume.get("ephemeral").is_some();
    let created: Seen<&str> =
        volumes.values().iter().filter(ephemeral).map(|volume| volume.text_at(&["name"])).collect();
    let is_created = |claim: &str| {
        let name = claim.strip_prefix(pod_name).and_then(|rest| rest.strip_prefix('-'));
        !pod_name.is_empty() && name.is_some_and(|name| created.contains(name))
    };
    let mut valid = HashMap::with_capacity(volumes.len());
    for volume in volumes.items() {
        let errors = volume.error_count();
        let name = volume.field("name");
        source(&volume, pod_name, options);
        if name.is_empty() {
            name.required("");
        } else {
            name.text_format(dns1123_label);
        }
        if valid.contains_key(name.text()) {
            name.duplicate(name.text());
        }
        if volume.error_count() == errors {
            valid.insert(name.text(), volume.value());
        }
        let claim = volume.at(&["persistentVolumeClaim", "claimName"]);
        if is_created(claim.text()) {
            claim.invalid(claim.text(), "must not reference a PVC that gets created for an ephemeral volume");
        }
    }
    valid
}

/// Checks that a volume has one source, and that one.
fn source(volume: &Cursor<'_, '_>, pod_name: &str, options: &Options) {
    let has = |field: &str| volume.map().is_some_and(|fields| fields.keys().any(|key| key == field));
    let mut has_source = false;
    // A volume has few fields, so comparing names is cheaper than looking each type up.
    for kind in SOURCES.iter().filter(|kind| has(kind.field)) {
        if has_source {
            volume.at_as(&[kind.field], kind.second).forbidden("may not specify more than 1 volume type");
        } else {
            has_source = true;
            let source = volume.at_as(&[kind.field], kind.shown);
            match kind.check {
                Check::Alone(check) => check(&source),
                Check::With(check) => check(&source, options),
            }
            if kind.field == "ephemeral" {
                created_claim_name(&volume.field("name"), pod_name);
            }
        }
        let name = volume.field("name");
        if kind.field == "iscsi" && sources::exceeds_initiator_limit(&volume.field("iscsi"), name.text()) {
            name.invalid(name.text(), sources::NAME_TOO_LONG);
        }
    }
    if !has_source {
        volume.required("must specify a volume type");
    }
}

/// Checks a reference to a claim.
fn claim(source: &Cursor<'_, '_>) {
    let name = source.field("claimName");
    if name.is_empty() {
        name.required("");
    }
}

/// Checks the template of a claim that lives as long as the pod.
fn ephemeral(source: &Cursor<'_, '_>) {
    let template = source.field("volumeClaimTemplate");
    if !template.is_set() {
        return template.required("");
    }
    // The gates that matter to a template are locked.
    persistent_volume_claim::template(&template, &SpecOptions::new(&Features::default()));
}

/// Checks the name that the claim of an ephemeral volume will have. Missing names are reported elsewhere.
fn created_claim_name(name: &Cursor<'_, '_>, pod_name: &str) {
    if pod_name.is_empty() || name.is_empty() {
        return;
    }
    let claim = format!("{pod_name}-{}", name.text());
    for why in object_meta::subdomain_name(&claim, false) {
        name.invalid(name.text(), format!("PVC name {}: {why}", quote(&claim)));
    }
}

/// Checks an image or artifact mounted as a volume. A template may leave the reference to be filled in later.
fn image(source: &Cursor<'_, '_>, options: &Options) {
    let reference = source.field("reference");
    if options.is_pod && reference.is_empty() {
        reference.required("");
    }
    source.field("pullPolicy").required_one_of(&["Always", "IfNotPresent", "Never"]);
}

#[cfg(test)]
mod tests;
