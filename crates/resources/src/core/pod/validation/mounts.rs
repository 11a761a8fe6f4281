//! Mounts and devices of a container.

use std::collections::{HashMap, HashSet};

use super::{Facts, Options};
use crate::core::volume_sources::paths;
use crate::framework::validation::{Cursor, Seen};

const UNIQUE: &str = "must be unique";

/// Names and paths of the other list, mounts or devices. Of several items with one name the last counts.
#[derive(Default)]
struct Others<'v> {
    names: HashMap<&'v str, &'v str>,
    paths: HashSet<&'v str>,
}

impl<'v> Others<'v> {
    fn new(list: &Cursor<'_, 'v>, path: &str) -> Others<'v> {
        if list.is_empty() {
            return Others::default();
        }
        let pairs = list.values().iter().map(|item| (item.text_at(&["name"]), item.text_at(&[path])));
        let names: HashMap<_, _> = pairs.collect();
        Others { paths: names.values().copied().collect(), names }
    }
}

/// Checks the mounts of a container. Errors about the rarer fields name the list and not the mount.
pub(super) fn volume_mounts(
    mounts: &Cursor<'_, '_>,
    container: &Cursor<'_, '_>,
    facts: &Facts<'_>,
    _: &Options,
) {
    if mounts.is_empty() {
        return;
    }
    let devices = Others::new(&container.field("volumeDevices"), "devicePath");
    let mut points = Seen::new();
    for mount in mounts.items() {
        let (name, path) = (mount.field("name"), mount.field("mountPath"));
        if name.is_empty() {
            name.required("");
        }
        if !facts.volumes.contains_key(name.text()) {
            name.not_found(name.text());
        }
        if path.is_empty() {
            path.required("");
        }
        if !points.insert(path.text()) {
            path.invalid(path.text(), UNIQUE);
        }
        if devices.names.contains_key(name.text()) {
            name.invalid(name.text(), "must not already exist in volumeDevices");
        }
        if devices.paths.contains(path.text()) {
            path.invalid(path.text(), "must not already exist as a path in volumeDevices");
        }
        let listed = mount.shown_at(mounts);
        let (sub_path, expression) = (listed.field("subPath"), listed.field("subPathExpr"));
        if !sub_path.is_empty() {
            paths::local_descending(&sub_path);
        }
        if !expression.is_empty() {
            if !sub_path.is_empty() {
                let why = "subPathExpr and subPath are mutually exclusive";
                mount.field("subPathExpr").invalid(expression.text(), why);
            }
            paths::local_descending(&expression);
        }
        propagation(&listed.field("mountPropagation"), container);
        recursive_read_only(&listed);
    }
}

fn propagation(mode: &Cursor<'_, '_>, container: &Cursor<'_, '_>) {
    if !mode.is_set() {
        return;
    }
    mode.one_of(&["Bidirectional", "HostToContainer", "None"]);
    if mode.text() == "Bidirectional" && !container.at(&["securityContext", "privileged"]).flag() {
        mode.forbidden("Bidirectional mount propagation is available only to privileged containers");
    }
}

fn recursive_read_only(mount: &Cursor<'_, '_>) {
    let mode = mount.field("recursiveReadOnly");
    match mode.optional_text() {
        None | Some("Disabled") => {}
        Some("Enabled" | "IfPossible") => {
            if !mount.field("readOnly").flag() {
                mode.forbidden("may only be specified when readOnly is true");
            }
            let propagation = mount.field("mountPropagation");
            if propagation.is_set() && propagation.text() != "None" {
                mode.forbidden("may only be specified when mountPropagation is None or not specified");
            }
        }
        Some(_) => mode.one_of(&["Disabled", "Enabled", "IfPossible"]),
    }
}

/// Checks the block devices of a container.
pub(super) fn volume_devices(
    devices: &Cursor<'_, '_>,
    container: &Cursor<'_, '_>,
    facts: &Facts<'_>,
    _: &Options,
) {
    if devices.is_empty() {
        return;
    }
    let mounts = Others::new(&container.field("volumeMounts"), "mountPath");
    let (mut known_names, mut known_paths) = (Seen::new(), Seen::new());
    for device in devices.items() {
        let (name, path) = (device.field("name"), device.field("devicePath"));
        if name.is_empty() {
            name.required("");
        } else if !known_names.insert(name.text()) {
            name.invalid(name.text(), UNIQUE);
        }
        match facts.volumes.get(name.text()) {
            None => name.not_found(name.text()),
            Some(volume)
                if ["persistentVolumeClaim", "ephemeral"].iter().all(|of| volume.get(of).is_none()) =>
            {
                let why =
                    "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode";
                name.invalid(name.text(), why);
            }
            Some(_) => {}
        }
        if path.is_empty() {
            path.required("");
        }
        if known_paths.contains(path.text()) {
            path.invalid(path.text(), UNIQUE);
        }
        if paths::has_backsteps(path.text()) {
            path.invalid(path.text(), "can not contain backsteps ('..')");
        } else {
            known_paths.insert(path.text());
        }
        if mounts.names.contains_key(name.text()) {
            name.invalid(name.text(), "must not already exist in volumeMounts");
        }
        if mounts.paths.contains(path.text()) {
            path.invalid(path.text(), "must not already exist as a path in volumeMounts");
        }
    }
}

#[cfg(test)]
mod tests;
