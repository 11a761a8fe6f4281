//! Admission, and the two one-flag sections before it.

use super::{Flag, flag};
use crate::kind::Kind::{Int, Pairs, String, Strings};

pub(super) const API_ENABLEMENT: &[Flag] = &[flag(
    "runtime-config",
    Pairs,
    "",
    "APIs to switch on or off, as group/version=true|false (v1 for the core group), comma separated; api/all, api/ga, \
     api/beta and api/alpha stand for many.",
)
.active()];

pub(super) const EGRESS_SELECTOR: &[Flag] = &[flag(
    "egress-selector-config-file",
    String,
    "",
    "File that says through which proxies to reach the control plane, etcd and the cluster.",
)
.active()];

pub(super) const FLAGS: &[Flag] = &[
    flag("admission-control", Strings, "", "The complete list of admission plugins; all others are off.").deprecated(
        "Use --enable-admission-plugins or --disable-admission-plugins instead. Will be removed in a future version.",
    )
    .active(),
    flag("admission-control-config-file", String, "", "File with the configuration of admission plugins.")
        .active(),
    flag(
        "default-not-ready-toleration-seconds",
        Int,
        "300",
        "Seconds a pod tolerates node.kubernetes.io/not-ready when it does not say.",
    )
    .active(),
    flag(
        "default-unreachable-toleration-seconds",
        Int,
        "300",
        "Seconds a pod tolerates node.kubernetes.io/unreachable when it does not say.",
    )
    .active(),
    flag(
        "disable-admission-plugins",
        Strings,
        "",
        "Admission plugins to switch off although they are on by default, comma separated.",
    )
    .active(),
    flag(
        "enable-admission-plugins",
        Strings,
        "",
        "Admission plugins to switch on besides the default ones, comma separated; their order does not matter.",
    )
    .active(),
];
