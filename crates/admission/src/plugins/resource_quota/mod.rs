//! `ResourceQuota`: charges requests to the quotas of their namespace, and rejects those that exceed one.
//!
//! The usage of a quota is written before the object is stored, by compare and swap on the version that was checked. So
//! concurrent requests never exceed a quota, also those of several servers on one store. Requests of a namespace that come
//! together are checked one after another and share one write:
//!
//! ```text
//! validate -> Batches -> check each against the running usage -> write each changed quota -> answer all
//!                             ^                                          |
//!                             +--- on a conflict: read the quota live ---+
//! ```
//!
//! Usage of objects that are not stored after all, or deleted, is given back by the quota controller.

mod access;
mod batches;
mod check;
mod configuration;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use pintle_meta::{Reason, Status, Value};
use pintle_quota::{Evaluators, Quota, StoredSurroundings, is_ignored};
use tokio::sync::oneshot;

use self::access::{QuotaAccess, StoredQuotas};
use self::batches::Batches;
use self::check::{Charge, check};
use self::configuration::LimitedResource;
use crate::Result;
use crate::attributes::{Attributes, Operation, Request, Target};
use crate::chain::Cluster;
use crate::objects::Resource;
use crate::plugin::Plugin;

/// Longest time that a request waits for its check.
const PATIENCE: Duration = Duration::from_secs(10);

/// How often a quota is checked again after a conflict. Each is another server's success, so with a few servers this is enough.
const RETRIES: usize = 10;

pub(crate) struct ResourceQuota {
    charger: Arc<Charger>,
    surroundings: Arc<StoredSurroundings>,
    batches: Batches<Waiter>,
}

/// Checks batches of requests and charges quotas for them.
struct Charger {
    access: Box<dyn QuotaAccess>,
    evaluators: Evaluators,
    /// By configuration.
    limited: Vec<LimitedResource>,
}

/// A request that waits for its check.
struct Waiter {
    request: Request,
    operation: Operation,
    object: Option<Value>,
    old_object: Option<Value>,
    answer: oneshot::Sender<Result<()>>,
}

impl ResourceQuota {
    /// Errors if the configuration is wrong, in the reference's words.
    pub(crate) fn new(cluster: &Cluster) -> Result<ResourceQuota, String> {
        let limited = match cluster.configurations.of("ResourceQuota") {
            Some(text) => configuration::read(text)?,
            None => Vec::new(),
        };
        let store = |resource| cluster.stores.get(resource).cloned();
        let surroundings = Arc::new(StoredSurroundings::new(
            store(Resource::Pod),
            store(Resource::DeviceClass),
            store(Resource::ResourceClaim),
            cluster.clock.clone(),
        ));
        let quotas = cluster.stores.get(Resource::ResourceQuota);
        let charger = Charger {
            access: Box::new(StoredQuotas::new(quotas, cluster.clients.quota_status.clone())),
            evaluators: Evaluators::new(cluster.features, surroundings.clone()),
            limited,
        };
        let batches = Batches::new(cluster.spawner.clone());
        Ok(ResourceQuota { charger: Arc::new(charger), surroundings, batches })
    }
}

#[async_trait]
impl Plugin for ResourceQuota {
    fn name(&self) -> &'static str {
        "ResourceQuota"
    }

    fn validates(&self, operation: Operation, target: &Target) -> bool {
        let (group, resource) = (target.resource.group.as_str(), target.resource.resource.as_str());
        match (operation, target.subresource.as_str()) {
            (Operation::Create, "") => !is_ignored(group, resource),
            (Operation::Update, "") => matches!(
                (group, resource),
                ("", "pods" | "services" | "persistentvolumeclaims") | ("resource.k8s.io", "resourceclaims")
            ),
            (Operation::Update, "resize") => (group, resource) == ("", "pods"),
            (Operation::Update, "status") => (group, resource) == ("", "persistentvolumeclaims"),
            _ => false,
        }
    }

    async fn validate(&self, attributes: &Attributes<'_>) -> Result<()> {
        let namespace = attributes.namespace();
        if namespace.is_empty() || !may_change_usage(attributes) {
            return Ok(());
        }
        if self.charger.limited.is_empty() && self.charger.access.quotas(namespace).await?.is_empty() {
            return Ok(());
        }
        if let Some(claim) = attributes.object().filter(|_| is_claim(attributes.target())) {
            self.surroundings.ready_for_claim(claim).await?;
        }
        let (answer, answered) = oneshot::channel();
        let waiter = Waiter {
            request: attributes.request.clone(),
            operation: attributes.operation,
            object: attributes.object().cloned(),
            old_object: attributes.old_object().cloned(),
            answer,
        };
        let (charger, of) = (self.charger.clone(), namespace.to_owned());
        self.batches.add(namespace, waiter, move |batch| {
            let (charger, namespace) = (charger.clone(), of.clone());
            async move { charger.work(&namespace, batch).await }
        });
        match tokio::time::timeout(PATIENCE, answered).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => Err(Box::new(Status::internal("resource quota evaluation was stopped"))),
            Err(_) => Err(Box::new(Status::internal("resource quota evaluation timed out"))),
        }
    }
}

fn is_claim(target: &Target) -> bool {
    target.resource.group == "resource.k8s.io" && target.resource.resource == "resourceclaims"
}

/// Returns whether a request that the plugin handles can change usage. A pod only does by a resize, or by a deadline, which
/// changes its scope.
fn may_change_usage(attributes: &Attributes<'_>) -> bool {
    let target = attributes.target();
    let is_pod = target.resource.group.is_empty() && target.resource.resource == "pods";
    if !is_pod || attributes.operation != Operation::Update || !target.subresource.is_empty() {
        return true;
    }
    let has_deadline = |pod: Option<&Value>| {
        let deadline = pod.and_then(|pod| pod.at(&["spec", "activeDeadlineSeconds"])?.as_i64());
        deadline.is_some_and(|seconds| seconds >= 0)
    };
    has_deadline(attributes.object()) != has_deadline(attributes.old_object())
}

impl Charger {
    /// Answers all requests of a batch.
    async fn work(&self, namespace: &str, batch: Vec<Waiter>) {
        match self.access.quotas(namespace).await {
            Ok(quotas) => self.charge(quotas, batch).await,
            Err(status) => refuse_all(batch, &status),
        }
    }

    /// Checks requests against quotas and charges those that pass. A quota that has changed meanwhile is read again, and the
    /// requests are checked against it once more; the other quotas are charged already.
    async fn charge(&self, quotas: Vec<Arc<Quota>>, mut waiting: Vec<Waiter>) {
        let mut charges: Vec<Charge> = quotas.into_iter().map(Charge::new).collect();
        for retries_left in (0..=RETRIES).rev() {
            waiting = self.checked(&mut charges, waiting);
            let mut outdated = Vec::new();
            for (place, charge) in charges.iter_mut().enumerate() {
                let written = match charge.is_changed() {
                    true => self.access.write(&charge.quota, &charge.used).await,
                    false => Ok(()),
                };
                match written {
                    Ok(()) => charge.is_settled = true,
                    Err(status) if retries_left > 0 && is_outdated(&status) => outdated.push(place),
                    Err(status) => return refuse_all(waiting, &status),
                }
            }
            if outdated.is_empty() {
                return waiting.into_iter().for_each(|waiter| waiter.answer(Ok(())));
            }
            // From the last, so that the places of the others stay.
            for place in outdated.into_iter().rev() {
                match self.access.read(&charges[place].quota).await {
                    Ok(Some(current)) => charges[place] = Charge::new(current),
                    Ok(None) => drop(charges.remove(place)),
                    Err(status) => return refuse_all(waiting, &status),
                }
            }
        }
    }

    /// Checks requests one after another. Answers those that are rejected or change no usage, and returns the others.
    fn checked(&self, charges: &mut [Charge], waiting: Vec<Waiter>) -> Vec<Waiter> {
        let mut charged = Vec::with_capacity(waiting.len());
        for waiter in waiting {
            let attributes = Attributes::new(
                &waiter.request,
                waiter.operation,
                waiter.object.clone(),
                waiter.old_object.clone(),
            );
            let resource = &waiter.request.target.resource;
            let evaluator = self.evaluators.of(&resource.group, &resource.resource);
            match check(&evaluator, &self.limited, charges, &attributes) {
                Err(status) => waiter.answer(Err(status)),
                Ok(changes) if changes.is_empty() || waiter.request.dry_run => waiter.answer(Ok(())),
                Ok(changes) => {
                    for (place, used) in changes {
                        charges[place].used = used;
                    }
                    charged.push(waiter);
                }
            }
        }
        charged
    }
}

impl Waiter {
    fn answer(self, result: Result<()>) {
        // A request that has gone is charged all the same.
        let _ = self.answer.send(result);
    }
}

fn refuse_all(waiting: Vec<Waiter>, status: &Status) {
    waiting.into_iter().for_each(|waiter| waiter.answer(Err(Box::new(status.clone()))));
}

/// Returns whether a quota was changed or deleted since it was read.
fn is_outdated(status: &Status) -> bool {
    matches!(status.reason, Reason::Conflict | Reason::NotFound)
}
