//! The store: etcd connection, encryption at rest, caching.

use super::{Flag, flag};
use crate::kind::Kind::{Bool, Duration, Int, String, Strings};

pub(super) const SIZED_AS_NEEDED: &str = "watch caches have the size that is needed";

pub(super) const FLAGS: &[Flag] = &[
    flag("delete-collection-workers", Int, "1", "Objects that one DeleteCollection request deletes at the same time.").active(),
    flag(
        "enable-garbage-collector",
        Bool,
        "true",
        "Leave dependents of deleted objects to the garbage collector; must agree with the controller manager.",
    )
    .active(),
    flag("encryption-provider-config", String, "", "File that says which resources to encrypt at rest and how.")
        .active(),
    flag(
        "encryption-provider-config-automatic-reload",
        Bool,
        "",
        "Read --encryption-provider-config again whenever it changes.",
    )
    .active(),
    flag("etcd-cafile", String, "", "Certificate authorities that etcd's certificate must come from.").active(),
    flag("etcd-certfile", String, "", "Client certificate to present to etcd.").active(),
    flag("etcd-compaction-interval", Duration, "5m0s", "Time between compactions of the store's history; 0 for none.")
        .active(),
    flag(
        "etcd-count-metric-poll-period",
        Duration,
        "1m0s",
        "How often to count the stored objects of each resource for metrics; 0 for never.",
    )
    .active(),
    flag(
        "etcd-db-metric-poll-interval",
        Duration,
        "30s",
        "How often to read the size of the database for metrics; 0 for never.",
    )
    .active(),
    flag("etcd-healthcheck-timeout", Duration, "2s", "Time the store has to answer a health check.").active(),
    flag("etcd-keyfile", String, "", "Key of --etcd-certfile.").active(),
    flag("etcd-prefix", String, "/registry", "Where all keys in the store begin.").active(),
    flag("etcd-readycheck-timeout", Duration, "2s", "Time the store has to answer a readiness check.").active(),
    flag(
        "etcd-servers",
        Strings,
        "",
        "URLs of the etcd members (scheme://host:port), comma separated. Without it, the embedded store in --data-dir.",
    )
    .active(),
    flag(
        "etcd-servers-overrides",
        Strings,
        "",
        "Other etcd members for single resources, each as group/resource#url;url, comma separated.",
    )
    .active(),
    flag(
        "lease-reuse-duration-seconds",
        Int,
        "60",
        "How long new objects that expire share one lease before another is granted.",
    )
    .active(),
    flag("storage-backend", String, "", "Kind of the remote store; only 'etcd3' exists.").active(),
    flag(
        "storage-media-type",
        String,
        "application/vnd.kubernetes.protobuf",
        "Encoding of built-in objects in the store: application/json, application/yaml or \
         application/vnd.kubernetes.protobuf.",
    )
    .active(),
    flag("watch-cache", Bool, "true", "Serve reads and watches from memory.").active(),
    flag(
        "watch-cache-sizes",
        Strings,
        "",
        "Per resource, as resource[.group]#size, comma separated; size 0 turns its cache off, any other leaves it on.",
    )
    .active(),
];
