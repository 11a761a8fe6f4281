//! The strategies of the core group's resources.

use std::sync::Arc;

use pintle_meta::Value;
use pintle_meta::validation::object_meta;
use pintle_registry::{GarbageCollection, Strategy};

use crate::strategy::{Entry, Recheck, Rules, Settings, find, tree};

/// What most kinds of this group allow: a PUT without a resourceVersion.
const NAMESPACED: Rules = Rules { unconditional_update: true, ..Rules::NAMESPACED };
const CLUSTER: Rules = Rules { unconditional_update: true, ..Rules::CLUSTER };

const TABLE: &[Entry] = &[
    Entry {
        name: "configmaps",
        kind: "core/v1.ConfigMap",
        rules: Rules { recheck: Recheck::Both, ..NAMESPACED },
    },
    Entry {
        name: "endpoints",
        kind: "core/v1.Endpoints",
        rules: Rules { recheck: Recheck::Both, create_on_update: true, ..NAMESPACED },
    },
    Entry { name: "events", kind: "core/v1.Event", rules: EVENTS },
    Entry {
        name: "limitranges",
        kind: "core/v1.LimitRange",
        rules: Rules { recheck: Recheck::Whole, create_on_update: true, ..NAMESPACED },
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
    Entry {
        name: "podtemplates",
        kind: "core/v1.PodTemplate",
        rules: Rules { counts: &[&["template"]], returns_deleted_object: true, ..NAMESPACED },
    },
    Entry { name: "replicationcontrollers", kind: "core/v1.ReplicationController", rules: CONTROLLERS },
    Entry {
        name: "replicationcontrollers/status",
        kind: "core/v1.ReplicationController",
        rules: CONTROLLERS.of_status(),
    },
    Entry { name: "resourcequotas", kind: "core/v1.ResourceQuota", rules: QUOTAS },
    Entry { name: "resourcequotas/status", kind: "core/v1.ResourceQuota", rules: QUOTAS.of_status() },
    Entry { name: "secrets", kind: "core/v1.Secret", rules: Rules { recheck: Recheck::Both, ..NAMESPACED } },
];

const CONTROLLERS: Rules = Rules {
    // Its pods stay, as those who created it first expected.
    garbage_collection: GarbageCollection::Orphan,
    ..NAMESPACED.with_status().counting_spec()
};

/// Events by their older name, where little is asked of them.
pub(crate) const EVENTS: Rules = Rules {
    name: object_meta::path_segment_name,
    recheck: Recheck::Nothing,
    standard_finalizers: false,
    create_on_update: true,
    garbage_collection: GarbageCollection::Unsupported,
    time_to_live: |settings, _, _| Some(settings.event_ttl),
    ..NAMESPACED
};

const QUOTAS: Rules = Rules { returns_deleted_object: true, ..NAMESPACED.with_status() };

const VOLUMES: Rules = Rules {
    recheck: Recheck::Both,
    returns_deleted_object: true,
    on_create: |settings, _, volume| {
        tree::set(volume, &["status", "phase"], "Pending");
        tree::set(volume, &["status", "lastPhaseTransitionTime"], now(settings));
    },
    ..CLUSTER.with_status()
};

/// The strategy of a resource or subresource.
pub(crate) fn strategy(name: &str, settings: &Settings) -> Option<Arc<dyn Strategy>> {
    find(TABLE, name, settings)
}

fn now(settings: &Settings) -> Value {
    (settings.now)().truncated().to_string().into()
}

/// Notes when a volume's phase changed, if the client did not.
fn note_transition(settings: &Settings, new: &mut Value, old: &Value) {
    const TIME: &[&str] = &["status", "lastPhaseTransitionTime"];
    let is_same_phase = tree::is_same(new, old, &["status", "phase"]);
    if is_same_phase && new.at(TIME).is_none() {
        tree::keep(new, old, TIME);
    } else if !is_same_phase && (new.at(TIME).is_none() || tree::is_same(new, old, TIME)) {
        tree::set(new, TIME, now(settings));
    }
}
