//! Flags of authorization.

use super::{Flag, flag};
use crate::kind::Kind::{Duration, String, Strings};

pub(super) const FLAGS: &[Flag] = &[
    flag(
        "authorization-config",
        String,
        "",
        "File that lists the authorizers; excludes --authorization-mode.",
    ).active(),
    flag(
        "authorization-mode",
        Strings,
        "",
        "Authorizers to ask, in order: AlwaysAllow, AlwaysDeny, ABAC, Webhook, RBAC, Node. Unless given: Node,RBAC on \
         the embedded store, AlwaysAllow with etcd.",
    )
    .active(),
    flag("authorization-policy-file", String, "", "Policy of the ABAC authorizer, one JSON object per line.").active(),
    flag(
        "authorization-webhook-cache-authorized-ttl",
        Duration,
        "5m0s",
        "How long the webhook's permissions are kept.",
    ).active(),
    flag(
        "authorization-webhook-cache-unauthorized-ttl",
        Duration,
        "30s",
        "How long the webhook's refusals are kept.",
    ).active(),
    flag("authorization-webhook-config-file", String, "", "kubeconfig of the Webhook authorizer.").active(),
    flag(
        "authorization-webhook-version",
        String,
        "v1beta1",
        "Version of SubjectAccessReview to talk to the webhook.",
    ).active(),
];
