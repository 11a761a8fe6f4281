//! Sources of volumes, one function for each type, called with the cursor of the source.
//!
//! Pods and PersistentVolumes share most types. A type whose fields or rules differ between them has a second function with
//! `_persistent` after its name. Sources that only pods have and that refer to the pod itself (projected volumes, ephemeral
//! claims) are in `core::pod::validation::volumes`.

mod block;
mod csi;
mod files;
mod iscsi;
mod network;
pub(crate) mod paths;

pub(crate) use self::block::{
    aws_elastic_block_store, azure_disk, cinder, cinder_persistent, fc, gce_persistent_disk,
    photon_persistent_disk, portworx, vsphere,
};
pub(crate) use self::csi::{csi, csi_persistent, driver_name, flex};
pub(crate) use self::files::{
    config_map, empty_dir, file_mode, git_repo, host_path, key_to_path, local, secret,
};
pub(crate) use self::iscsi::{NAME_TOO_LONG, exceeds_initiator_limit, iscsi, iscsi_persistent};
pub(crate) use self::network::{
    azure_file, azure_file_persistent, cephfs, flocker, glusterfs, glusterfs_persistent, nfs, quobyte, rbd,
    scale_io, storage_os, storage_os_persistent,
};

use crate::framework::validation::Cursor;

/// Requires texts or lists of a source.
fn require(source: &Cursor<'_, '_>, names: &[&str]) {
    for name in names {
        let field = source.field(name);
        if field.is_empty() {
            field.required("");
        }
    }
}

/// Requires names in a reference to a Secret, if there is one.
fn secret_reference(source: &Cursor<'_, '_>, names: &[&str]) {
    let reference = source.field("secretRef");
    if reference.is_set() {
        require(&reference, names);
    }
}

#[cfg(test)]
mod tests;
