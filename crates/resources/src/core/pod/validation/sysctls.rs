//! Kernel parameters of a pod.

use std::borrow::Cow;

use pintle_meta::Value;

use super::Options;
use crate::framework::validation::{Cursor, Seen};

const MAX_LENGTH: usize = 253;
const WRONG: &str = "must have at most 253 characters and match regex ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$";

/// Parameters of the IPC namespace, beside those of `fs.mqueue`.
const OF_IPC: &[&str] = &[
    "kernel.sem",
    "kernel.shmall",
    "kernel.shmmax",
    "kernel.shmmni",
    "kernel.shm_rmid_forced",
    "kernel.shm",
    "kernel.msgmax",
    "kernel.msgmnb",
    "kernel.msgmni",
    "kernel.msg",
];

/// Checks the sysctls of a pod with this spec.
pub(super) fn sysctls(sysctls: &Cursor<'_, '_>, spec: &Cursor<'_, '_>, options: &Options) {
    let mut names = Seen::new();
    for sysctl in sysctls.items() {
        let name = sysctl.field("name");
        let is_new = names.insert(name.text());
        if name.is_empty() {
            name.required("");
        } else if !is_valid_name(name.text()) {
            name.invalid(name.text(), WRONG);
        } else if !is_new {
            name.duplicate(name.text());
        }
        if !options.allow_namespaced_sysctls_of_host
            && let Some(field) = shared_with_host(name.text(), spec.value())
        {
            name.invalid(name.text(), format!("may not be specified when '{field}' is true"));
        }
    }
}

/// Returns the field of the spec by which a pod shares the namespace of a sysctl with the host, if it does.
fn shared_with_host(name: &str, spec: &Value) -> Option<&'static str> {
    let field = match namespace(name)? {
        Namespace::Network => "hostNetwork",
        Namespace::Ipc => "hostIPC",
    };
    (spec.get(field).and_then(Value::as_bool) == Some(true)).then_some(field)
}

/// Whether a spec has a sysctl of a namespace that the pod shares with the host.
pub(super) fn has_shared_with_host(spec: &Value) -> bool {
    let mut sysctls = spec.items_at(&["securityContext", "sysctls"]).iter();
    sysctls.any(|sysctl| shared_with_host(sysctl.text_at(&["name"]), spec).is_some())
}

enum Namespace {
    Network,
    Ipc,
}

/// Returns the namespace of a sysctl, or of all that begin with what is before a `*`.
fn namespace(name: &str) -> Option<Namespace> {
    let name = &*normal(name);
    let name = name.split_once('*').map_or(name, |(prefix, _)| prefix);
    if OF_IPC.contains(&name) || name.starts_with("fs.mqueue.") {
        return Some(Namespace::Ipc);
    }
    name.starts_with("net.").then_some(Namespace::Network)
}

/// Returns a name with dots between its parts. If the first separator is a slash, slashes and dots are the other way round:
/// `net/ipv4/conf/eno2.100/rp_filter`.
fn normal(name: &str) -> Cow<'_, str> {
    match name.find(['.', '/']) {
        Some(first) if name[first..].starts_with('/') => {
            let swap = |char| match char {
                '.' => '/',
                '/' => '.',
                other => other,
            };
            name.chars().map(swap).collect()
        }
        _ => name.into(),
    }
}

fn is_valid_name(name: &str) -> bool {
    let alphanumeric = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_part = |part: &str| {
        let bytes = part.as_bytes();
        bytes.first().is_some_and(alphanumeric)
            && bytes.last().is_some_and(alphanumeric)
            && bytes.iter().all(|byte| alphanumeric(byte) || matches!(byte, b'-' | b'_'))
    };
    name.len() <= MAX_LENGTH && name.split(['.', '/']).all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn namespaces_are_known_in_both_notations() {
        for (name, expected) in [
            ("net.ipv4.tcp_syncookies", "net"),
            ("net/ipv4/conf/eno2.100/rp_filter", "net"),
            ("net.*", "net"),
            ("net*", ""),
            ("network.a", ""),
            ("kernel.shm*", "ipc"),
            ("kernel.shmmax", "ipc"),
            ("kernel/shmmax", "ipc"),
            ("kernel.shmx", ""),
            ("fs.mqueue.msg_max", "ipc"),
            ("fs/mqueue/msg_max", "ipc"),
            ("fs.file-max", ""),
            ("", ""),
        ] {
            let found = match namespace(name) {
                Some(Namespace::Network) => "net",
                Some(Namespace::Ipc) => "ipc",
                None => "",
            };
            assert_eq!(found, expected, "{name}");
        }
    }

    #[test]
    fn names_have_parts_between_dots_and_slashes() {
        for name in ["a", "a.b", "a/b.c", "a-b_c.d", "0.1", &"a".repeat(253)] {
            assert!(is_valid_name(name), "{name}");
        }
        for name in ["", ".a", "a.", "a..b", "a./b", "A", "a.-b", "a_.b", "a b", "*", &"a".repeat(254)] {
            assert!(!is_valid_name(name), "{name}");
        }
    }
}
