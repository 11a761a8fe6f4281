//! Block devices that clouds and storage networks attach to a node; iSCSI has a file of its own.

use pintle_meta::validation::{in_range, inclusive_range_error};

use super::{require, secret_reference};
use crate::framework::validation::Cursor;

/// Errors of its own name it `persistentDisk`, so callers give a cursor with that path.
pub(crate) fn gce_persistent_disk(source: &Cursor<'_, '_>) {
    require(source, &["pdName"]);
    partition(&source.field("partition"));
}

pub(crate) fn aws_elastic_block_store(source: &Cursor<'_, '_>) {
    require(source, &["volumeID"]);
    partition(&source.field("partition"));
}

/// Checks the number of a partition; 0 is the whole disk, though the message says otherwise.
fn partition(partition: &Cursor<'_, '_>) {
    if !(0..=255).contains(&partition.integer()) {
        partition.invalid(partition.integer(), inclusive_range_error(1, 255));
    }
}

pub(crate) fn cinder(source: &Cursor<'_, '_>) {
    require(source, &["volumeID"]);
    secret_reference(source, &["name"]);
}

pub(crate) fn cinder_persistent(source: &Cursor<'_, '_>) {
    require(source, &["volumeID"]);
    secret_reference(source, &["name", "namespace"]);
}

/// Checks a Fibre Channel volume: target names with a LUN, or world wide identifiers.
pub(crate) fn fc(source: &Cursor<'_, '_>) {
    let (names, lun) = (source.field("targetWWNs"), source.field("lun"));
    match (names.is_empty(), source.field("wwids").is_empty()) {
        (true, true) => names.required("must specify either targetWWNs or wwids, but not both"),
        (false, false) => {
            let why = "targetWWNs and wwids can not be specified simultaneously";
            names.invalid(names.printed_as("[]string"), why);
        }
        _ => {}
    }
    if names.is_empty() {
        return;
    }
    if lun.is_set() {
        lun.integer_format(|lun| in_range(lun, 0, 255));
    } else {
        lun.required("lun is required if targetWWNs is specified");
    }
}

pub(crate) fn azure_disk(source: &Cursor<'_, '_>) {
    const MANAGED: &str = "Managed";
    require(source, &["diskName", "diskURI"]);
    let (caching, kind, uri) = (source.field("cachingMode"), source.field("kind"), source.field("diskURI"));
    if caching.is_set() {
        caching.one_of(&["None", "ReadOnly", "ReadWrite"]);
    }
    if !kind.is_set() {
        return;
    }
    kind.one_of(&["Dedicated", "Managed", "Shared"]);
    let (start, form) = if kind.text() == MANAGED {
        (
            "/subscriptions/",
            "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}",
        )
    } else {
        ("https://", "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd")
    };
    if !uri.text().starts_with(start) {
        uri.not_supported(uri.text(), &[form]);
    }
}

pub(crate) fn vsphere(source: &Cursor<'_, '_>) {
    require(source, &["volumePath"]);
}

pub(crate) fn photon_persistent_disk(source: &Cursor<'_, '_>) {
    require(source, &["pdID"]);
}

pub(crate) fn portworx(source: &Cursor<'_, '_>) {
    require(source, &["volumeID"]);
}
