//! Security contexts of containers.

use pintle_meta::field_path::Value as Printed;
use pintle_meta::validation::{group_id, user_id};

use super::super::{Facts, Options, profiles, windows_options};
use crate::framework::validation::Cursor;

/// Checks the security context of a container.
pub(super) fn security_context(context: &Cursor<'_, '_>, facts: &Facts<'_>, options: &Options) {
    if !context.is_set() {
        return;
    }
    let is_privileged = context.field("privileged").flag();
    if is_privileged && !options.allow_privileged {
        context.field("privileged").forbidden("disallowed by cluster policy");
    }
    if context.field("runAsUser").is_set() {
        context.field("runAsUser").integer_format(user_id);
    }
    if context.field("runAsGroup").is_set() {
        context.field("runAsGroup").integer_format(group_id);
    }
    let proc_mount = context.field("procMount");
    if proc_mount.is_set() {
        proc_mount.one_of(&["Default", "Unmasked"]);
        if facts.host_users && proc_mount.text() == "Unmasked" {
            let why = "`hostUsers` must be false to use `Unmasked`";
            proc_mount.invalid(Printed::json(proc_mount.text()), why);
        }
    }
    profiles::seccomp(&context.field("seccompProfile"));
    let escalation = context.field("allowPrivilegeEscalation");
    if escalation.is_set() && !escalation.flag() {
        no_escalation(context, is_privileged);
    }
    windows_options::windows_options(&context.field("windowsOptions"));
    profiles::app_armor(&context.field("appArmorProfile"));
}

/// Checks that a container which may not gain privileges does not have them anyway.
fn no_escalation(context: &Cursor<'_, '_>, is_privileged: bool) {
    let shown = || context.printed_as("core.SecurityContext");
    if is_privileged {
        context.invalid(shown(), "cannot set `allowPrivilegeEscalation` to false and `privileged` to true");
    }
    for capability in context.at(&["capabilities", "add"]).items() {
        if capability.text() == "CAP_SYS_ADMIN" {
            let why = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN";
            context.invalid(shown(), why);
        }
    }
}
