//! Roles in the system's own namespaces.

use super::{EVENTS, READ, Role, named, role, rule};

pub(super) const KUBE_PUBLIC: &[Role] = &[role(
    "system:controller:bootstrap-signer",
    &[rule(READ, "core", "configmaps"), named("update", "core", "configmaps", "cluster-info"), EVENTS],
)];

pub(super) const KUBE_SYSTEM: &[Role] = &[
    role(
        "extension-apiserver-authentication-reader",
        &[named(READ, "core", "configmaps", "extension-apiserver-authentication")],
    ),
    role(
        "system::leader-locking-kube-controller-manager",
        &[
            rule("create get list update watch", "coordination.k8s.io", "leases"),
            rule("create get list update watch", "coordination.k8s.io", "leasecandidates"),
        ],
    ),
    role(
        "system::leader-locking-kube-scheduler",
        &[
            rule("create get list update watch", "coordination.k8s.io", "leases"),
            rule("create get list update watch", "coordination.k8s.io", "leasecandidates"),
        ],
    ),
    role("system:controller:bootstrap-signer", &[rule(READ, "core", "secrets")]),
    role("system:controller:cloud-provider", &[rule("create get list watch", "core", "configmaps")]),
    role("system:controller:token-cleaner", &[rule("delete get list watch", "core", "secrets"), EVENTS]),
];
