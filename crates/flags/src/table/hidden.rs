//! Flags of earlier releases. Old command lines keep working; help does not show them. (envtest looks into the help
//! text for `--insecure-port` and passes it when it finds it.)

use super::{Flag, flag};
use crate::kind::Kind::{Duration, Int, Ip, String, Uint};

pub(super) const FLAGS: &[Flag] = &[
    flag("apiserver-count", Int, "1", "Number of API servers in the cluster.")
        .hidden()
        .deprecated("apiserver-count is deprecated and will be removed in a future version."),
    flag(
        "audit-webhook-batch-initial-backoff",
        Duration,
        "10s",
        "Earlier name of --audit-webhook-initial-backoff.",
    )
    .hidden()
    .active()
    .deprecated("Deprecated, use --audit-webhook-initial-backoff instead."),
    flag("basic-auth-file", String, "", "Password file.")
        .hidden()
        .active()
        .deprecated("Basic authentication is insecure and will be removed in a future version."),
    flag("default-watch-cache-size", Int, "100", "Watch cache size of resources without one of their own.")
        .hidden()
        .moot(super::etcd::SIZED_AS_NEEDED)
        .deprecated("watch caches are sized automatically and this flag will be removed in a future version"),
    flag("insecure-bind-address", Ip, "127.0.0.1", "Loopback address of the port without TLS.")
        .hidden()
        .active()
        .deprecated("This flag will be removed in a future version."),
    flag("insecure-port", Int, "", "Port without TLS, where nobody is asked who they are; 0 for none.")
        .hidden()
        .active()
        .deprecated("This flag will be removed in a future version."),
    flag("kubelet-port", Uint, "10250", "Port of the kubelets.")
        .hidden()
        .active()
        .deprecated("kubelet-port is deprecated and will be removed."),
    flag("kubelet-read-only-port", Uint, "10255", "Port of the kubelets without access control.")
        .hidden()
        .moot("nothing is asked of kubelets without access control")
        .deprecated("kubelet-read-only-port is deprecated and will be removed."),
];
