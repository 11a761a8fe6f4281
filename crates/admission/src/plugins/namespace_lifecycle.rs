//! `NamespaceLifecycle`: rejects objects in namespaces that do not exist or are terminating, and the deletion of the system
//! namespaces.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use pintle_meta::{Cause, CauseType, Status};
use pintle_runtime::Clock;

use crate::Result;
use crate::attributes::{Attributes, Operation, Target};
use crate::chain::Cluster;
use crate::namespaces::{NamespaceLister, Phase};
use crate::plugin::Plugin;

const IMMORTAL: [&str; 3] = ["default", "kube-system", "kube-public"];

/// The time for which a deletion is remembered, and the number of them.
const REMEMBERED: Duration = Duration::from_secs(30);
const MOST_REMEMBERED: usize = 100;

pub(crate) struct NamespaceLifecycle {
    namespaces: Arc<dyn NamespaceLister>,
    clock: Clock,
    /// Namespaces whose deletion was admitted by this server and until when that matters, the latest last. Where the cache
    /// still shows one of them as active, it is read from the store.
    deleted: Mutex<Vec<(Box<str>, Instant)>>,
}

impl NamespaceLifecycle {
    pub(crate) fn new(cluster: &Cluster) -> NamespaceLifecycle {
        NamespaceLifecycle::with(cluster.namespaces.clone(), cluster.clock.clone())
    }

    fn with(namespaces: Arc<dyn NamespaceLister>, clock: Clock) -> NamespaceLifecycle {
        NamespaceLifecycle { namespaces, clock, deleted: Mutex::default() }
    }

    fn deleted(&self) -> MutexGuard<'_, Vec<(Box<str>, Instant)>> {
        self.deleted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn remember(&self, name: &str) {
        let (mut deleted, now) = (self.deleted(), self.clock.instant());
        deleted.retain(|(known, until)| &**known != name && *until > now);
        if deleted.len() == MOST_REMEMBERED {
            deleted.remove(0);
        }
        deleted.push((name.into(), now + REMEMBERED));
    }

    fn may_be_stale(&self, name: &str) -> bool {
        let deleted = self.deleted();
        !deleted.is_empty() && {
            let now = self.clock.instant();
            deleted.iter().any(|(known, until)| &**known == name && *until > now)
        }
    }

    /// Returns the phase of a namespace; `NotFound` if it does not exist.
    async fn phase(&self, name: &str) -> Result<Phase> {
        match self.namespaces.cached(name) {
            Some(Phase::Active) if self.may_be_stale(name) => {}
            Some(phase) => return Ok(phase),
            None => {}
        }
        // The store shows every write that has ended, so there is no need to wait for the cache and look again.
        let live = self.namespaces.live(name).await.map_err(|error| Box::new(Status::internal(error)))?;
        live.ok_or_else(|| Box::new(Status::not_found("", "namespaces", name)))
    }
}

#[async_trait]
impl Plugin for NamespaceLifecycle {
    fn name(&self) -> &'static str {
        "NamespaceLifecycle"
    }

    fn admits(&self, operation: Operation, target: &Target) -> bool {
        match operation {
            Operation::Create | Operation::Update => !target.is_namespace(),
            // Objects may be deleted in any namespace.
            Operation::Delete => target.is_namespace(),
            Operation::Connect => false,
        }
    }

    async fn admit(&self, attributes: &mut Attributes<'_>) -> Result<()> {
        if attributes.operation == Operation::Delete {
            let name = attributes.name();
            if IMMORTAL.contains(&name) {
                return Err(attributes.forbidden("this namespace may not be deleted"));
            }
            self.remember(name);
            return Ok(());
        }
        let namespace = attributes.namespace();
        if namespace.is_empty() || is_access_review(attributes.target()) {
            return Ok(());
        }
        let phase = self.phase(namespace).await?;
        if attributes.operation == Operation::Create && phase == Phase::Terminating {
            return Err(terminating(attributes));
        }
        Ok(())
    }
}

/// A LocalSubjectAccessReview is admitted anywhere: an error would show whether the namespace exists.
fn is_access_review(target: &Target) -> bool {
    target.resource.resource == "localsubjectaccessreviews" && target.resource.group == "authorization.k8s.io"
}

fn terminating(attributes: &Attributes<'_>) -> Box<Status> {
    let namespace = attributes.namespace();
    let why = format!("unable to create new content in namespace {namespace} because it is being terminated");
    let mut status = attributes.forbidden(&why);
    status.details.get_or_insert_default().causes.push(Cause {
        kind: Some(CauseType::NamespaceTerminating),
        message: format!("namespace {namespace} is being terminated"),
        field: "metadata.namespace".into(),
    });
    status
}

#[cfg(test)]
#[path = "namespace_lifecycle_tests.rs"]
mod tests;
