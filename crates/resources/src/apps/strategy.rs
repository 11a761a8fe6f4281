//! The strategies of the group's resources.

use std::sync::Arc;

use pintle_registry::Strategy;

use super::controller_revision::CONTROLLER_REVISIONS;
use super::daemon_set::{DAEMON_SET_STATUS, DAEMON_SETS};
use super::deployment::{DEPLOYMENT_STATUS, DEPLOYMENTS};
use super::replica_set::{REPLICA_SET_STATUS, REPLICA_SETS};
use super::stateful_set::{STATEFUL_SET_STATUS, STATEFUL_SETS};
use crate::framework::strategy::{Entry, Settings, find};

const TABLE: &[Entry] = &[
    Entry { name: "controllerrevisions", kind: "apps/v1.ControllerRevision", rules: CONTROLLER_REVISIONS },
    Entry { name: "daemonsets", kind: "apps/v1.DaemonSet", rules: DAEMON_SETS },
    Entry { name: "daemonsets/status", kind: "apps/v1.DaemonSet", rules: DAEMON_SET_STATUS },
    Entry { name: "deployments", kind: "apps/v1.Deployment", rules: DEPLOYMENTS },
    Entry { name: "deployments/status", kind: "apps/v1.Deployment", rules: DEPLOYMENT_STATUS },
    Entry { name: "replicasets", kind: "apps/v1.ReplicaSet", rules: REPLICA_SETS },
    Entry { name: "replicasets/status", kind: "apps/v1.ReplicaSet", rules: REPLICA_SET_STATUS },
    Entry { name: "statefulsets", kind: "apps/v1.StatefulSet", rules: STATEFUL_SETS },
    Entry { name: "statefulsets/status", kind: "apps/v1.StatefulSet", rules: STATEFUL_SET_STATUS },
];

/// Returns the strategy of a resource or subresource.
pub(crate) fn strategy(name: &str, settings: &Settings) -> Option<Arc<dyn Strategy>> {
    find(TABLE, name, settings)
}
