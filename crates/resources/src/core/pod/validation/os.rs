//! Rules that depend on the operating system.

use pintle_meta::field_path::Value as Printed;

use super::Options;
use super::containers::each_container;
use crate::framework::validation::Cursor;

const ON_LINUX: &str = "windows options cannot be set for a linux pod";
const ON_WINDOWS: &str = "cannot be set for a windows pod";

/// Checks at the spec the operating system and the fields it allows.
pub(super) fn operating_system(spec: &Cursor<'_, '_>, _options: &Options) {
    let os = spec.field("os");
    if !os.is_set() {
        return;
    }
    let name = os.field("name");
    match name.text() {
        "" => name.required(""),
        "linux" => linux(spec),
        "windows" => windows(spec),
        // Reported at the whole, as in the reference.
        unknown => os.not_supported(Printed::json(unknown), &["linux", "windows"]),
    }
}

fn linux(spec: &Cursor<'_, '_>) {
    windows_options(spec);
    each_container(spec, windows_options);
}

fn windows_options(owner: &Cursor<'_, '_>) {
    let context = owner.field("securityContext");
    if context.field("windowsOptions").is_set() {
        context.field("windowsOptions").forbidden(ON_LINUX);
    }
}

/// Fields of a pod that Windows does not have, in the reference's order.
const NOT_OF_WINDOWS_PODS: &[&[&str]] = &[
    &["securityContext", "appArmorProfile"],
    &["securityContext", "seLinuxOptions"],
    &["hostUsers"],
    &["hostPID"],
    &["hostIPC"],
    &["securityContext", "seccompProfile"],
    &["securityContext", "fsGroup"],
    &["securityContext", "fsGroupChangePolicy"],
    &["securityContext", "sysctls"],
    &["shareProcessNamespace"],
    &["securityContext", "runAsUser"],
    &["securityContext", "runAsGroup"],
    &["securityContext", "supplementalGroups"],
    &["securityContext", "supplementalGroupsPolicy"],
    &["securityContext", "seLinuxChangePolicy"],
];

/// Fields of a container's security context that Windows does not have.
const NOT_OF_WINDOWS_CONTAINERS: &[&str] = &[
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "capabilities",
    "readOnlyRootFilesystem",
    "privileged",
    "allowPrivilegeEscalation",
    "procMount",
    "runAsUser",
    "runAsGroup",
];

fn windows(spec: &Cursor<'_, '_>) {
    for names in NOT_OF_WINDOWS_PODS {
        let field = spec.at(names);
        // `false` is the same as nothing where the reference has no pointer.
        let is_set = match names {
            ["hostPID" | "hostIPC"] => field.flag(),
            _ => field.is_set(),
        };
        if is_set {
            field.forbidden(ON_WINDOWS);
        }
    }
    each_container(spec, |container| {
        let context = container.field("securityContext");
        for name in NOT_OF_WINDOWS_CONTAINERS {
            if context.field(name).is_set() {
                context.field(name).forbidden(ON_WINDOWS);
            }
        }
    });
}

/// Checks at the spec that all containers of a Windows pod agree on host processes.
pub(super) fn windows_host_process(spec: &Cursor<'_, '_>, options: &Options) {
    const HOST_PROCESS: &[&str] = &["securityContext", "windowsOptions", "hostProcess"];
    let of_pod = spec.at(HOST_PROCESS).value().as_bool();
    let (mut containers, mut host_processes) = (0, 0);
    each_container(spec, |container| {
        containers += 1;
        let own = container.at(HOST_PROCESS);
        let of_container = own.value().as_bool();
        if let (Some(of_pod), Some(of_container)) = (of_pod, of_container)
            && of_pod != of_container
        {
            let why = format!("pod hostProcess value must be identical if both are specified, was {of_pod}");
            own.invalid(of_container, why);
        }
        if of_container.or(of_pod) == Some(true) {
            host_processes += 1;
        }
    });
    if host_processes == 0 {
        return;
    }
    if host_processes != containers {
        let why =
            "If pod contains any hostProcess containers then all containers must be HostProcess containers";
        spec.invalid("", why);
    }
    if !spec.field("hostNetwork").flag() {
        let why = "hostNetwork must be true if pod contains any hostProcess containers";
        spec.field("hostNetwork").invalid(false, why);
    }
    if !options.allow_privileged {
        spec.forbidden("hostProcess containers are disallowed by cluster policy");
    }
}

#[cfg(test)]
mod tests;
