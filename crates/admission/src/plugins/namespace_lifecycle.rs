//! Nothing is made in a namespace that is not there or is going away, and some namespaces never go away.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use pintle_meta::{Cause, CauseType, Status};
use tokio::time::Instant;

use crate::Result;
use crate::attributes::{Attributes, Operation, Target};
use crate::namespaces::{NamespaceLister, Phase};
use crate::plugin::Plugin;

const IMMORTAL: [&str; 3] = ["default", "kube-system", "kube-public"];

/// How long a deletion is remembered, and how many.
const REMEMBERED: Duration = Duration::from_secs(30);
const MOST_REMEMBERED: usize = 100;

pub(crate) struct NamespaceLifecycle {
    namespaces: Arc<dyn NamespaceLister>,
    /// Namespaces that somebody began to delete through this server, the latest last. While the cache shows one of them as
    /// active, the store is asked.
    deleted: Mutex<Vec<(Box<str>, Instant)>>,
}

impl NamespaceLifecycle {
    pub(crate) fn new(namespaces: Arc<dyn NamespaceLister>) -> NamespaceLifecycle {
        NamespaceLifecycle { namespaces, deleted: Mutex::default() }
    }

    fn deleted(&self) -> MutexGuard<'_, Vec<(Box<str>, Instant)>> {
        self.deleted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn remember(&self, name: &str) {
        let (mut deleted, now) = (self.deleted(), Instant::now());
        deleted.retain(|(known, until)| &**known != name && *until > now);
        if deleted.len() == MOST_REMEMBERED {
            deleted.remove(0);
        }
        deleted.push((name.into(), now + REMEMBERED));
    }

    fn may_be_stale(&self, name: &str) -> bool {
        let deleted = self.deleted();
        !deleted.is_empty() && {
            let now = Instant::now();
            deleted.iter().any(|(known, until)| &**known == name && *until > now)
        }
    }

    /// The phase of a namespace that is there.
    async fn phase(&self, name: &str) -> Result<Phase> {
        match self.namespaces.cached(name) {
            Some(Phase::Active) if self.may_be_stale(name) => {}
            Some(phase) => return Ok(phase),
            None => {}
        }
        // A read of the store sees what was written before, so that there is no need to wait for the cache and look again.
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
            // Whatever is in a namespace may go.
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

/// To say something about the namespace would tell those who may not know.
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
