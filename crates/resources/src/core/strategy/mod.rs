//! The strategies of the core group's resources.

pub(super) mod warnings;

use std::sync::Arc;

use pintle_meta::Value;
use pintle_registry::Strategy;

use super::config_map::CONFIG_MAPS;
use super::endpoints::ENDPOINTS_RULES;
use super::event::EVENTS;
use super::limit_range::LIMIT_RANGES;
use super::namespace::{self, NAMESPACES};
use super::node::{NODE_STATUS, NODES};
use super::persistent_volume::{VOLUME_STATUS, VOLUMES};
use super::persistent_volume_claim::{CLAIM_STATUS, CLAIMS};
use super::pod::strategy::{self as pods, PODS};
use super::pod::template::POD_TEMPLATES;
use super::replication_controller::{CONTROLLER_STATUS, CONTROLLERS};
use super::resource_quota::{QUOTA_STATUS, QUOTAS};
use super::secret::SECRETS;
use super::service::strategy::{SERVICE_STATUS, SERVICES};
use crate::framework::conversion::build;
use crate::framework::strategy::{Entry, MetadataRecheck, Rules, Settings, find, tree};

/// Rules of most kinds of this group: a PUT needs no resourceVersion.
pub(super) const NAMESPACED: Rules = Rules { unconditional_update: true, ..Rules::NAMESPACED };
pub(super) const CLUSTER: Rules = Rules { unconditional_update: true, ..Rules::CLUSTER };

const TABLE: &[Entry] = &[
    Entry { name: "configmaps", kind: "core/v1.ConfigMap", rules: CONFIG_MAPS },
    Entry { name: "endpoints", kind: "core/v1.Endpoints", rules: ENDPOINTS_RULES },
    Entry { name: "events", kind: "core/v1.Event", rules: EVENTS },
    Entry { name: "limitranges", kind: "core/v1.LimitRange", rules: LIMIT_RANGES },
    Entry { name: "namespaces", kind: "core/v1.Namespace", rules: NAMESPACES },
    Entry { name: "namespaces/finalize", kind: "core/v1.Namespace", rules: namespace::FINALIZE },
    Entry { name: "namespaces/status", kind: "core/v1.Namespace", rules: namespace::NAMESPACE_STATUS },
    Entry { name: "nodes", kind: "core/v1.Node", rules: NODES },
    Entry { name: "nodes/status", kind: "core/v1.Node", rules: NODE_STATUS },
    Entry { name: "persistentvolumeclaims", kind: "core/v1.PersistentVolumeClaim", rules: CLAIMS },
    Entry {
        name: "persistentvolumeclaims/status",
        kind: "core/v1.PersistentVolumeClaim",
        rules: CLAIM_STATUS,
    },
    Entry { name: "persistentvolumes", kind: "core/v1.PersistentVolume", rules: VOLUMES },
    Entry { name: "persistentvolumes/status", kind: "core/v1.PersistentVolume", rules: VOLUME_STATUS },
    Entry { name: "pods", kind: "core/v1.Pod", rules: PODS },
    Entry { name: "pods/ephemeralcontainers", kind: "core/v1.Pod", rules: pods::EPHEMERAL_CONTAINERS },
    Entry { name: "pods/resize", kind: "core/v1.Pod", rules: pods::RESIZE },
    Entry { name: "pods/status", kind: "core/v1.Pod", rules: pods::POD_STATUS },
    Entry { name: "podtemplates", kind: "core/v1.PodTemplate", rules: POD_TEMPLATES },
    Entry { name: "replicationcontrollers", kind: "core/v1.ReplicationController", rules: CONTROLLERS },
    Entry {
        name: "replicationcontrollers/status",
        kind: "core/v1.ReplicationController",
        rules: CONTROLLER_STATUS,
    },
    Entry { name: "resourcequotas", kind: "core/v1.ResourceQuota", rules: QUOTAS },
    Entry { name: "resourcequotas/status", kind: "core/v1.ResourceQuota", rules: QUOTA_STATUS },
    Entry { name: "secrets", kind: "core/v1.Secret", rules: SECRETS },
    Entry { name: "serviceaccounts", kind: "core/v1.ServiceAccount", rules: SERVICE_ACCOUNTS },
    Entry { name: "services", kind: "core/v1.Service", rules: SERVICES },
    Entry { name: "services/status", kind: "core/v1.Service", rules: SERVICE_STATUS },
];

const SERVICE_ACCOUNTS: Rules = Rules {
    recheck: MetadataRecheck::Both,
    returns_deleted_object: true,
    on_create: |_, _, account| name_secrets(account),
    on_update: |_, _, new, _| name_secrets(new),
    warnings: |_, account, old| warnings::of_service_account(account, old),
    ..NAMESPACED
};

/// The strategy of a resource or subresource.
pub(crate) fn strategy(name: &str, settings: &Settings) -> Option<Arc<dyn Strategy>> {
    find(TABLE, name, settings)
}

/// Of a reference to a secret only the name counts.
fn name_secrets(account: &mut Value) {
    let says_more =
        |secret: &Value| secret.as_object().is_some_and(|secret| secret.keys().any(|key| key != "name"));
    for secret in tree::items_mut(account, &["secrets"], says_more) {
        *secret = build("core/v1.ObjectReference", [("name", secret.get("name").cloned())]);
    }
}

#[cfg(test)]
mod tests;
