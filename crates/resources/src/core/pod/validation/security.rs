//! The security context of a pod, host namespaces and users.

use pintle_meta::validation::{group_id, user_id};

use super::containers::each_container;
use super::{Options, profiles, sysctls, windows_options};
use crate::framework::validation::Cursor;

/// Checks at the spec the fields that depend on the host's network.
pub(super) fn host_network(spec: &Cursor<'_, '_>, options: &Options) {
    if !spec.field("hostNetwork").flag() {
        return;
    }
    for container in spec.field("containers").items() {
        for port in container.field("ports").items() {
            let (number, host) = (port.field("containerPort").integer(), port.field("hostPort"));
            // A template may leave it to the defaults of the pod.
            let is_checked = options.is_pod || host.integer() != 0;
            if is_checked && host.integer() != number {
                host.invalid(host.integer(), "must match `containerPort` when `hostNetwork` is true");
            }
        }
    }
}

/// Checks at the spec the security context.
pub(super) fn security_context(spec: &Cursor<'_, '_>, options: &Options) {
    let context = spec.field("securityContext");
    if context.field("fsGroup").is_set() {
        context.field("fsGroup").integer_format(group_id);
    }
    if context.field("runAsUser").is_set() {
        context.field("runAsUser").integer_format(user_id);
    }
    if context.field("runAsGroup").is_set() {
        context.field("runAsGroup").integer_format(group_id);
    }
    context.field("supplementalGroups").each(|group| group.integer_format(group_id));
    if spec.field("hostPID").flag() && spec.field("shareProcessNamespace").flag() {
        // The reference's internal type has it in the security context.
        let why = "ShareProcessNamespace and HostPID cannot both be enabled";
        context.field("shareProcessNamespace").invalid(true, why);
    }
    sysctls::sysctls(&context.field("sysctls"), spec, options);
    if context.field("fsGroupChangePolicy").is_set() {
        context.field("fsGroupChangePolicy").one_of(&["Always", "OnRootMismatch"]);
    }
    profiles::seccomp(&context.field("seccompProfile"));
    windows_options::windows_options(&context.field("windowsOptions"));
    profiles::app_armor(&context.field("appArmorProfile"));
    if context.field("supplementalGroupsPolicy").is_set() {
        context.field("supplementalGroupsPolicy").one_of(&["Merge", "Strict"]);
    }
    let change = context.field("seLinuxChangePolicy");
    if change.is_set() {
        if options.allow_only_recursive_selinux_change {
            change.one_of(&["Recursive"]);
        } else {
            change.one_of(&["MountOption", "Recursive"]);
        }
    }
}

/// Checks at the spec that a pod with its own user namespace shares nothing of the host.
pub(super) fn host_users(spec: &Cursor<'_, '_>, options: &Options) {
    const WHY: &str = "when `hostUsers` is false";
    let users = spec.field("hostUsers");
    if !users.is_set() || users.flag() {
        return;
    }
    if spec.field("hostNetwork").flag() && !options.allow_user_namespaces_on_host_network {
        spec.field("hostNetwork").forbidden(WHY);
    }
    // With capitals, as in the reference.
    for (field, shown) in [("hostPID", "HostPID"), ("hostIPC", "HostIPC")] {
        if spec.field(field).flag() {
            spec.field(shown).forbidden(WHY);
        }
    }
    if !options.allow_user_namespaces_with_devices {
        each_container(spec, |container| {
            let devices = container.field("volumeDevices");
            if !devices.is_empty() {
                devices.forbidden(WHY);
            }
        });
    }
}

#[cfg(test)]
mod tests;
