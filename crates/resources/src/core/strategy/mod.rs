//! The strategies of the core group's resources.

pub(super) mod warnings;

use std::sync::Arc;

use pintle_meta::Value;
use pintle_meta::names;
use pintle_registry::{GarbageCollection, Strategy};

use super::config_map::CONFIG_MAPS;
use super::event::EVENTS;
use super::namespace::{self, NAMESPACES};
use super::persistent_volume_claim::{CLAIM_STATUS, CLAIMS};
use super::pod;
use super::pod::strategy::{self as pods, PODS};
use super::pod::template::POD_TEMPLATES;
use super::secret::SECRETS;
use super::service::strategy::{SERVICE_STATUS, SERVICES};
use crate::framework::conversion::build;
use crate::framework::strategy::{Entry, MetadataRecheck, Rules, Settings, find, tree};

/// Rules of most kinds of this group: a PUT needs no resourceVersion.
pub(super) const NAMESPACED: Rules = Rules { unconditional_update: true, ..Rules::NAMESPACED };
pub(super) const CLUSTER: Rules = Rules { unconditional_update: true, ..Rules::CLUSTER };

const TABLE: &[Entry] = &[
    Entry { name: "configmaps", kind: "core/v1.ConfigMap", rules: CONFIG_MAPS },
    Entry {
        name: "endpoints",
        kind: "core/v1.Endpoints",
        rules: Rules {
            recheck: MetadataRecheck::Both,
            create_on_update: true,
            warnings: |_, endpoints, _| warnings::of_endpoints(endpoints),
            ..NAMESPACED
        },
    },
    Entry { name: "events", kind: "core/v1.Event", rules: EVENTS },
    Entry {
        name: "limitranges",
        kind: "core/v1.LimitRange",
        rules: Rules {
            recheck: MetadataRecheck::Full,
            create_on_update: true,
            on_create: |settings, _, limits| name_it(settings, limits),
            ..NAMESPACED
        },
    },
    Entry { name: "namespaces", kind: "core/v1.Namespace", rules: NAMESPACES },
    Entry { name: "namespaces/finalize", kind: "core/v1.Namespace", rules: namespace::FINALIZE },
    Entry { name: "namespaces/status", kind: "core/v1.Namespace", rules: namespace::NAMESPACE_STATUS },
    Entry { name: "nodes", kind: "core/v1.Node", rules: NODES },
    Entry {
        name: "nodes/status",
        kind: "core/v1.Node",
        rules: Rules {
            on_update: |_, _, new, old| keep_removed_feature(new, old, &["status", "config"]),
            ..NODES.of_status()
        },
    },
    Entry { name: "persistentvolumeclaims", kind: "core/v1.PersistentVolumeClaim", rules: CLAIMS },
    Entry {
        name: "persistentvolumeclaims/status",
        kind: "core/v1.PersistentVolumeClaim",
        rules: CLAIM_STATUS,
    },
    Entry { name: "persistentvolumes", kind: "core/v1.PersistentVolume", rules: VOLUMES },
    Entry {
        name: "persistentvolumes/status",
        kind: "core/v1.PersistentVolume",
        rules: Rules {
            on_update: |settings, _, new, old| note_transition(settings, new, old),
            ..VOLUMES.of_status()
        },
    },
    Entry { name: "pods", kind: "core/v1.Pod", rules: PODS },
    Entry { name: "pods/ephemeralcontainers", kind: "core/v1.Pod", rules: pods::EPHEMERAL_CONTAINERS },
    Entry { name: "pods/resize", kind: "core/v1.Pod", rules: pods::RESIZE },
    Entry { name: "pods/status", kind: "core/v1.Pod", rules: pods::POD_STATUS },
    Entry { name: "podtemplates", kind: "core/v1.PodTemplate", rules: POD_TEMPLATES },
    Entry { name: "replicationcontrollers", kind: "core/v1.ReplicationController", rules: CONTROLLERS },
    Entry {
        name: "replicationcontrollers/status",
        kind: "core/v1.ReplicationController",
        rules: CONTROLLERS.of_status(),
    },
    Entry { name: "resourcequotas", kind: "core/v1.ResourceQuota", rules: QUOTAS },
    Entry { name: "resourcequotas/status", kind: "core/v1.ResourceQuota", rules: QUOTAS.of_status() },
    Entry { name: "secrets", kind: "core/v1.Secret", rules: SECRETS },
    Entry { name: "serviceaccounts", kind: "core/v1.ServiceAccount", rules: SERVICE_ACCOUNTS },
    Entry { name: "services", kind: "core/v1.Service", rules: SERVICES },
    Entry { name: "services/status", kind: "core/v1.Service", rules: SERVICE_STATUS },
];

const CONTROLLERS: Rules = Rules {
    // Its pods stay, as its first users expected.
    garbage_collection: GarbageCollection::Orphan,
    on_create: |settings, _, controller| {
        pod::drop_disabled_template(&settings.features, controller, None, &["spec", "template"]);
    },
    on_update: |settings, _, new, old| {
        pod::drop_disabled_template(&settings.features, new, Some(old), &["spec", "template"]);
    },
    warnings: |_, controller, old| warnings::of_controller(controller, old),
    ..NAMESPACED.with_status().counting_spec()
};

const NODES: Rules = Rules {
    recheck: MetadataRecheck::Both,
    // A kubelet brings its status along when it registers its node.
    cleared_on_create: &[],
    on_create: |_, _, node| {
        tree::remove(node, &["spec", "configSource"]);
        tree::remove(node, &["status", "config"]);
    },
    on_update: |_, _, new, old| keep_removed_feature(new, old, &["spec", "configSource"]),
    warnings: |_, node, _| warnings::of_node(node),
    ..CLUSTER.with_status()
};

const QUOTAS: Rules = Rules {
    returns_deleted_object: true,
    warnings: |_, quota, old| if old.is_none() { warnings::of_quota(quota) } else { Vec::new() },
    ..NAMESPACED.with_status()
};

const SERVICE_ACCOUNTS: Rules = Rules {
    recheck: MetadataRecheck::Both,
    returns_deleted_object: true,
    on_create: |_, _, account| name_secrets(account),
    on_update: |_, _, new, _| name_secrets(new),
    warnings: |_, account, old| warnings::of_service_account(account, old),
    ..NAMESPACED
};

const VOLUMES: Rules = Rules {
    recheck: MetadataRecheck::Both,
    returns_deleted_object: true,
    on_create: |settings, _, volume| {
        tree::set(volume, &["status", "phase"], "Pending");
        tree::set(volume, &["status", "lastPhaseTransitionTime"], settings.time());
    },
    warnings: |_, volume, _| warnings::of_volume(volume),
    ..CLUSTER.with_status()
};

/// The strategy of a resource or subresource.
pub(crate) fn strategy(name: &str, settings: &Settings) -> Option<Arc<dyn Strategy>> {
    find(TABLE, name, settings)
}

/// Gives a name to what may come without one.
fn name_it(settings: &Settings, object: &mut Value) {
    if object.name().is_empty() {
        let random = (u128::from(settings.random.number()) << 64) | u128::from(settings.random.number());
        tree::set(object, &["metadata", "name"], names::uuid(random));
    }
}

/// A feature that is no more: what an old object has of it may change, and nothing else may have it.
fn keep_removed_feature(new: &mut Value, old: &Value, path: tree::Path) {
    if old.at(path).is_none() {
        tree::remove(new, path);
    }
}

/// Of a reference to a secret only the name counts.
fn name_secrets(account: &mut Value) {
    let says_more =
        |secret: &Value| secret.as_object().is_some_and(|secret| secret.keys().any(|key| key != "name"));
    for secret in tree::items_mut(account, &["secrets"], says_more) {
        *secret = build("core/v1.ObjectReference", [("name", secret.get("name").cloned())]);
    }
}

/// Notes when a volume's phase changed, if the client did not.
fn note_transition(settings: &Settings, new: &mut Value, old: &Value) {
    const TIME: &[&str] = &["status", "lastPhaseTransitionTime"];
    let is_same_phase = tree::is_same(new, old, &["status", "phase"]);
    if is_same_phase && new.at(TIME).is_none() {
        tree::keep(new, old, TIME);
    } else if !is_same_phase && (new.at(TIME).is_none() || tree::is_same(new, old, TIME)) {
        tree::set(new, TIME, settings.time());
    }
}

#[cfg(test)]
mod tests;
