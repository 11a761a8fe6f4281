//! Validation of volumes, and of the specs of volumes that VolumeAttachments have in themselves.

use pintle_features::{Feature, Features};
use pintle_meta::Value;
use pintle_meta::validation::object_meta;

use crate::core::persistent_volume_claim::{VOLUME_MODES, access_modes};
use crate::core::pod::validation::affinity;
use crate::core::resource_names::check_basic_amount;
use crate::core::volume_sources as sources;
use crate::framework::strategy::{rules, tree};
use crate::framework::validation::Cursor;

const ATTRIBUTES_CLASS: &str = "volumeAttributesClassName";
const MOUNT_OPTIONS: &str = "volume.beta.kubernetes.io/mount-options";
const ONE_TYPE: &str = "may not specify more than 1 volume type";
const NOT_INLINE: &str = "may not be specified in the context of inline volumes";

/// Conditions that depend on feature gates or on the old volume.
struct Options {
    volume_attributes_class: bool,
    allow_invalid_label_value_in_node_affinity: bool,
}

impl Options {
    fn new(features: &Features, volume: &Cursor<'_, '_>) -> Options {
        let before = volume.before();
        let spec = before.field("spec");
        let terms = spec.at(&["nodeAffinity", "required", "nodeSelectorTerms"]);
        Options {
            volume_attributes_class: features.enabled(Feature::VolumeAttributesClass)
                || spec.field(ATTRIBUTES_CLASS).is_set(),
            allow_invalid_label_value_in_node_affinity: affinity::has_invalid_label_value(terms.values()),
        }
    }
}

/// Checks a new volume beside its metadata.
pub(super) fn volume(features: &Features, volume: &Cursor<'_, '_>) {
    let options = Options::new(features, volume);
    spec(volume, &options);
    mount_options(volume);
}

/// Checks a changed volume. The reference checks metadata and spec twice.
pub(super) fn update(features: &Features, volume: &Cursor<'_, '_>) {
    let options = Options::new(features, volume);
    spec(volume, &options);
    mount_options(volume);
    rules::metadata(volume, false, object_meta::subdomain_name);
    spec(volume, &options);
    immutable_source(volume);
    volume.at_as(&["spec", "volumeMode"], "volumeMode").immutable("*core.PersistentVolumeMode");
    // The error does not name the spec.
    let (nodes, sent) =
        (volume.at_as(&["spec", "nodeAffinity"], "nodeAffinity"), volume.at(&["spec", "nodeAffinity"]));
    if !features.enabled(Feature::MutablePVNodeAffinity)
        && nodes.before().is_set()
        && !is_same_affinity(nodes.value(), nodes.before().value())
    {
        nodes.invalid(
            sent.printed_as("*core.VolumeNodeAffinity"),
            "field is immutable, except for updating from beta label to GA",
        );
    }
    let class = volume.at(&["spec", ATTRIBUTES_CLASS]);
    if class.changed() {
        if !features.enabled(Feature::VolumeAttributesClass) {
            class.forbidden("update is forbidden when the VolumeAttributesClass feature gate is disabled");
        }
        if options.volume_attributes_class && !class.is_set() {
            class.forbidden("update from non-nil value to nil is forbidden");
        }
    }
}

fn spec(volume: &Cursor<'_, '_>, options: &Options) {
    let spec = volume.field("spec");
    let modes = spec.field("accessModes");
    if modes.is_empty() {
        modes.required("");
    }
    access_modes(&modes);
    capacity(&spec.field("capacity"));
    let policy = spec.field("persistentVolumeReclaimPolicy");
    if !policy.is_empty() {
        policy.one_of(&["Delete", "Recycle", "Retain"]);
    }
    let nodes = spec.field("nodeAffinity");
    if nodes.is_set() {
        let required = nodes.field("required");
        if required.is_set() {
            affinity::node_selector(&required, options.allow_invalid_label_value_in_node_affinity);
        } else {
            required.required("must specify required node constraints");
        }
    }
    source(&spec, volume.value().name(), nodes.is_set());
    class_name(&spec.field("storageClassName"));
    let mode = spec.field("volumeMode");
    if mode.is_set() {
        mode.one_of(VOLUME_MODES);
    }
    let class = spec.field(ATTRIBUTES_CLASS);
    if class.is_set() && options.volume_attributes_class {
        if class.is_empty() {
            class.required("an empty string is disallowed");
        }
        class_name(&class);
        if !spec.field("csi").is_set() {
            spec.field("csi").required("has to be specified when using volumeAttributesClassName");
        }
    }
}

/// Checks the spec of a volume that a VolumeAttachment has in itself.
pub(crate) fn inline_spec(spec: &Cursor<'_, '_>) {
    if spec.field("claimRef").is_set() {
        spec.field("claimRef").forbidden(NOT_INLINE);
    }
    if !spec.field("capacity").is_empty() {
        spec.field("capacity").forbidden(NOT_INLINE);
    }
    if !spec.field("csi").is_set() {
        spec.field("csi").required("has to be specified in the context of inline volumes");
    }
    let modes = spec.field("accessModes");
    if modes.is_empty() {
        modes.required("");
    }
    access_modes(&modes);
    let policy = spec.field("persistentVolumeReclaimPolicy");
    if !policy.is_empty() && policy.text() != "Retain" {
        policy.forbidden("may only be Retain in the context of inline volumes");
    }
    if spec.field("nodeAffinity").is_set() {
        spec.field("nodeAffinity").forbidden(NOT_INLINE);
    }
    source(spec, "", false);
    if !spec.field("storageClassName").is_empty() {
        spec.field("storageClassName").forbidden(NOT_INLINE);
    }
    let mode = spec.field("volumeMode");
    if mode.is_set() && mode.text() != "Filesystem" {
        mode.forbidden("may not specify volumeMode other than Filesystem in the context of inline volumes");
    }
}

fn class_name(name: &Cursor<'_, '_>) {
    if !name.is_empty() {
        name.text_format(|name| object_meta::subdomain_name(name, false));
    }
}

/// Checks the amount of storage, which is all that a volume has.
fn capacity(capacity: &Cursor<'_, '_>) {
    if capacity.is_empty() {
        capacity.required("");
    }
    if capacity.len() != 1 || !capacity.key("storage").is_set() {
        capacity.not_supported(capacity.printed_as("core.ResourceList"), &["storage"]);
    }
    for (_, amount) in capacity.entries() {
        check_basic_amount(&amount);
        amount.positive_quantity();
    }
}

/// A type of volumes.
struct Source {
    name: &'static str,
    /// Its name in errors of its fields.
    shown: &'static str,
    /// Its name in the error about a second type.
    second: &'static str,
    check: fn(&Cursor<'_, '_>, &str),
}

impl Source {
    const fn new(name: &'static str, check: fn(&Cursor<'_, '_>, &str)) -> Source {
        Source { name, shown: name, second: name, check }
    }
}

/// In the reference's order.
const SOURCES: &[Source] = &[
    Source::new("hostPath", |source, _| sources::host_path(source)),
    Source {
        shown: "persistentDisk",
        ..Source::new("gcePersistentDisk", |source, _| sources::gce_persistent_disk(source))
    },
    Source::new("awsElasticBlockStore", |source, _| sources::aws_elastic_block_store(source)),
    Source::new("glusterfs", |source, _| sources::glusterfs_persistent(source)),
    Source::new("flocker", |source, _| sources::flocker(source)),
    Source::new("nfs", |source, _| sources::nfs(source)),
    Source::new("rbd", |source, _| sources::rbd(source)),
    Source::new("quobyte", |source, _| sources::quobyte(source)),
    Source { second: "cephFS", ..Source::new("cephfs", |source, _| sources::cephfs(source)) },
    Source::new("iscsi", sources::iscsi_persistent),
    Source::new("cinder", |source, _| sources::cinder_persistent(source)),
    Source::new("fc", |source, _| sources::fc(source)),
    Source::new(FLEX, |source, _| sources::flex(source)),
    Source::new("azureFile", |source, _| sources::azure_file_persistent(source)),
    Source::new("vsphereVolume", |source, _| sources::vsphere(source)),
    Source::new("photonPersistentDisk", |source, _| sources::photon_persistent_disk(source)),
    Source::new("portworxVolume", |source, _| sources::portworx(source)),
    Source::new("azureDisk", |source, _| sources::azure_disk(source)),
    Source::new("scaleIO", |source, _| sources::scale_io(source)),
    Source::new(LOCAL, |source, _| sources::local(source)),
    Source::new("storageos", |source, _| sources::storage_os_persistent(source)),
    Source::new("csi", |source, _| sources::csi_persistent(source)),
];
/// May come beside types before it.
const FLEX: &str = "flexVolume";
const LOCAL: &str = "local";

/// Types that support the annotation for mount options.
const MOUNTED_WITH_OPTIONS: &[&str] = &[
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "glusterfs",
    "nfs",
    "rbd",
    "quobyte",
    "iscsi",
    "cinder",
    "cephfs",
    "azureFile",
    "vsphereVolume",
    "azureDisk",
    "photonPersistentDisk",
];

fn source(spec: &Cursor<'_, '_>, volume: &str, has_node_affinity: bool) {
    let mut found = false;
    for kind in SOURCES.iter().filter(|kind| spec.field(kind.name).is_set()) {
        if found && kind.name != FLEX {
            spec.field(kind.second).forbidden(ONE_TYPE);
            continue;
        }
        found = true;
        (kind.check)(&spec.at_as(&[kind.name], kind.shown), volume);
        if kind.name == LOCAL && !has_node_affinity {
            spec.field("nodeAffinity").required("Local volume requires node affinity");
        }
    }
    if !found {
        spec.required("must specify a volume type");
    }
    let policy = spec.field("persistentVolumeReclaimPolicy");
    let path = spec.at(&["hostPath", "path"]);
    if spec.field("hostPath").is_set() && is_root(path.text()) && policy.text() == "Recycle" {
        policy.forbidden("may not be 'recycle' for a hostPath mount of '/'");
    }
}

/// Whether a path leads to the root folder.
fn is_root(path: &str) -> bool {
    let depth = path.split('/').fold(0usize, |depth, step| match step {
        "" | "." => depth,
        ".." => depth.saturating_sub(1),
        _ => depth + 1,
    });
    path.starts_with('/') && depth == 0
}

fn mount_options(volume: &Cursor<'_, '_>) {
    let spec = volume.field("spec");
    let options = volume.at(&["metadata", "annotations", MOUNT_OPTIONS]);
    if options.is_set() && !MOUNTED_WITH_OPTIONS.iter().any(|name| spec.field(name).is_set()) {
        options.forbidden("may not specify mount options for this volume type");
    }
}

/// A source never changes. A secret for expansions may be added.
fn immutable_source(volume: &Cursor<'_, '_>) {
    const SECRET: tree::Path = &["csi", "controllerExpandSecretRef"];
    let spec = volume.field("spec");
    let old = spec.before().value();
    let mut new = spec.value().clone();
    if old.get("csi").is_some() && old.at(SECRET).is_none() {
        tree::remove(&mut new, SECRET);
    }
    if SOURCES.iter().any(|kind| new.get(kind.name) != old.get(kind.name)) {
        spec.field("persistentvolumesource").forbidden(format!(
            "spec.persistentvolumesource is immutable after creation\n{}",
            spec.diff("core.PersistentVolumeSource", old, &new)
        ));
    }
}

/// Whether affinities differ in nothing but labels that got their final names.
fn is_same_affinity(new: &Value, old: &Value) -> bool {
    const TERMS: &[&str] = &["required", "nodeSelectorTerms"];
    let both = |of: &[&str]| (new.at(of).is_some(), old.at(of).is_some());
    let (a, b) = both(&["required"]);
    new.is_null() == old.is_null()
        && a == b
        && pairwise(new.items_at(TERMS), old.items_at(TERMS), |new, old| {
            let same =
                |field: &str| pairwise(new.items_at(&[field]), old.items_at(&[field]), is_same_requirement);
            same("matchExpressions") && same("matchFields")
        })
}

fn pairwise(new: &[Value], old: &[Value], same: impl Fn(&Value, &Value) -> bool) -> bool {
    new.len() == old.len() && new.iter().zip(old).all(|(new, old)| same(new, old))
}

fn is_same_requirement(new: &Value, old: &Value) -> bool {
    const FINAL: &[(&str, &str)] = &[
        ("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"),
        ("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region"),
        ("beta.kubernetes.io/os", "kubernetes.io/os"),
        ("beta.kubernetes.io/arch", "kubernetes.io/arch"),
        ("beta.kubernetes.io/instance-type", "node.kubernetes.io/instance-type"),
    ];
    let (key, before) = (new.text_at(&["key"]), old.text_at(&["key"]));
    // The reference looks the stored key up in a map, which has no text for any other key.
    let replaced = FINAL.iter().find(|(beta, _)| *beta == before).map_or("", |(_, name)| name);
    (key == before || key == replaced)
        && new.text_at(&["operator"]) == old.text_at(&["operator"])
        && new.items_at(&["values"]) == old.items_at(&["values"])
}
