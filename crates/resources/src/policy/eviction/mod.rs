//! `pods/eviction`: deletes a pod if its disruption budget lets it go.

mod budget;

use async_trait::async_trait;
use pintle_meta::field_path::Error;
use pintle_meta::{Reason, Status, Value};
use pintle_registry::{
    Admission, AdmitAll, Client, Context, DeleteOptions, Preconditions, Result, Store, Subresource,
    Transform, WriteOptions,
};

use self::budget as eviction;
use crate::core::pod;
use crate::framework::strategy::{self, Settings};
use crate::framework::validation::{Cursor, Errors};

/// How often a pod that changes all the time is tried.
const ATTEMPTS: usize = 20;

/// Evicts pods of a store.
pub struct Eviction {
    pods: Store,
    /// The same pods by the rules of their status.
    statuses: Store,
    /// Budgets, of which the status is written.
    budgets: Client,
    settings: Settings,
}

impl Eviction {
    /// `None` if pods have no status.
    pub fn new(pods: &Store, budgets: Client, settings: &Settings) -> Option<Eviction> {
        let strategies = ["pods", "pods/status"].map(|name| strategy::of("", name, settings));
        let [own, status] = strategies.map(|strategy| Some(pods.with_strategy(strategy?)));
        Some(Eviction { pods: own?, statuses: status?, budgets, settings: settings.clone() })
    }
}

#[async_trait]
impl Subresource for Eviction {
    async fn create(
        &self,
        context: &mut Context,
        name: &str,
        object: Value,
        admission: &dyn Admission,
        options: WriteOptions,
    ) -> Result<Option<Value>> {
        let asked = Asked::read(name, &object, options)?;
        admission.create(&object).await?;
        let mut attempts = ATTEMPTS;
        loop {
            attempts -= 1;
            let pod = self.pods.get(context, name).await?;
            if !eviction::ignores_budgets(&pod) {
                self.within_budget(context, &pod, &asked).await?;
                return Ok(None);
            }
            // A pod that is pending may come to be guarded in the meantime.
            let pinned = !asked.is_pinned() && !eviction::is_over(&pod);
            let revision = pinned.then(|| pod.resource_version());
            match self.delete(context, name, &asked, revision).await {
                // Not what the client has named, but what has just been read.
                Err(status) if is_conflict(&status) && !asked.is_pinned() && attempts > 0 => {}
                done => return done.map(|()| None),
            }
        }
    }
}

impl Eviction {
    /// Evicts a pod that its budget, if it has one, can spare.
    async fn within_budget(&self, context: &mut Context, pod: &Value, asked: &Asked) -> Result<()> {
        let (namespace, name) = (context.namespace.clone(), pod.name());
        let mut budgets = self.budgets.list(&namespace).await?;
        budgets.retain(|budget| eviction::guards(budget, pod));
        let budget = match &budgets[..] {
            [] => return self.delete(context, name, asked, None).await,
            [budget] => budget,
            _ => {
                return Err(Box::new(Status::plain(
                    "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
                )));
            }
        };
        if !eviction::is_ready(pod) && eviction::lets_unhealthy_go(budget) {
            // As long as nothing has made it ready.
            let deleted = self.delete(context, name, asked, Some(pod.resource_version())).await;
            return deleted.map_err(|status| {
                let changed = is_conflict(&status) && !asked.is_pinned();
                if changed { eviction::in_flux(budget.name()) } else { status }
            });
        }
        if asked.options.dry_run {
            eviction::check(budget)?;
        } else {
            let now = self.settings.time();
            // Counts the eviction of the pod in its budget.
            let mut disrupt = |old: &Value| {
                let mut budget = old.clone();
                eviction::disrupt(&mut budget, name, &now)?;
                Ok(Some(budget))
            };
            self.budgets.update(&namespace, budget.name(), &mut disrupt).await?;
        }
        self.delete(context, name, asked, None).await
    }

    /// Notes in the pod why it ends, and deletes it. `revision` is the only one at which this is meant.
    async fn delete(
        &self,
        context: &mut Context,
        name: &str,
        asked: &Asked,
        revision: Option<&str>,
    ) -> Result<()> {
        if !asked.errors.is_empty() {
            return Err(Box::new(Status::invalid("meta.k8s.io", "DeleteOptions", "", &asked.errors)));
        }
        let mut options = asked.options.clone();
        if let Some(revision) = revision {
            options.preconditions.resource_version = Some(revision.to_owned());
        }
        if !options.dry_run {
            let mut mark = Mark { only: &options.preconditions, now: self.settings.time() };
            let write = WriteOptions::default();
            let marked = self.statuses.update(context, name, &mut mark, &AdmitAll, false, write).await?;
            if let Some(revision) = &mut options.preconditions.resource_version {
                *revision = marked.object.resource_version().to_owned();
            }
        }
        self.pods.delete(context, name, &AdmitAll, options).await.map(drop)
    }
}

fn is_conflict(status: &Status) -> bool {
    status.reason == Reason::Conflict
}

/// The options of an eviction.
struct Asked {
    options: DeleteOptions,
    /// The error of the options, reported when the pod is deleted.
    errors: Vec<Error>,
}

impl Asked {
    fn read(name: &str, eviction: &Value, write: WriteOptions) -> Result<Asked> {
        if name != eviction.name() {
            let why = "name in URL does not match name in Eviction object";
            return Err(Box::new(Status::bad_request(why)));
        }
        let mut errors = Vec::new();
        let Some(given) = eviction.get("deleteOptions") else {
            let options = DeleteOptions { dry_run: write.dry_run, ..DeleteOptions::default() };
            return Ok(Asked { options, errors });
        };
        let found = Errors::default();
        let cursor = Cursor::root(eviction, None, &found);
        let ignore = cursor.at(&["deleteOptions", "ignoreStoreReadErrorWithClusterBreakingPotential"]);
        if ignore.flag() {
            ignore.invalid(true, "can not be set for pod eviction, try after removing the option");
            return Err(Box::new(Status::invalid("policy", "Eviction", name, &found.into_vec())));
        }
        let mut options = DeleteOptions::read(given, &mut errors);
        let dry_runs = given.items_at(&["dryRun"]);
        if write.dry_run && options.dry_run && dry_runs.iter().any(|given| given.as_str() != Some("All")) {
            let shown: Vec<&str> = dry_runs.iter().filter_map(Value::as_str).collect();
            return Err(Box::new(Status::plain(format_args!(
                "Non-matching dry-run options in request and content: [All] and [{}]",
                shown.join(" ")
            ))));
        }
        options.dry_run |= write.dry_run;
        Ok(Asked { options, errors })
    }

    /// Whether the client means one revision only.
    fn is_pinned(&self) -> bool {
        self.options.preconditions.resource_version.is_some()
    }
}

/// Notes that a pod is being evicted, whatever else has happened to it since.
struct Mark<'a> {
    only: &'a Preconditions,
    now: Value,
}

#[async_trait]
impl Transform for Mark<'_> {
    async fn transform(&mut self, old: Option<&Value>) -> Result<Value> {
        let mut pod = old.cloned().unwrap_or_default();
        let conflict = |why: String| Err(Box::new(Status::conflict("", "Pod", pod.name(), why)));
        let (uid, revision) = (pod.uid(), pod.resource_version());
        let differs = |wanted: &Option<String>, is: &str| {
            wanted.clone().filter(|wanted| !wanted.is_empty() && wanted != is)
        };
        if let Some(wanted) = differs(&self.only.uid, uid) {
            return conflict(format!(
                "the UID in the precondition ({wanted}) does not match the UID in record ({uid}). The object might have been \
                 deleted and then recreated"
            ));
        }
        if let Some(wanted) = differs(&self.only.resource_version, revision) {
            return conflict(format!(
                "the ResourceVersion in the precondition ({wanted}) does not match the ResourceVersion in record \
                 ({revision}). The object might have been modified"
            ));
        }
        let why = ("EvictionByEvictionAPI", "Eviction API: evicting");
        pod::set_condition(&mut pod, "DisruptionTarget", true, Some(why), self.now.clone());
        Ok(pod)
    }
}

#[cfg(test)]
mod tests {
    use pintle_codec::json;

    use super::*;

    #[test]
    fn unreadable_pods_are_not_evicted() {
        let of = pintle_schema::find("policy/v1.Eviction").unwrap();
        let text = br#"{"metadata":{"name":"p"},
            "deleteOptions":{"ignoreStoreReadErrorWithClusterBreakingPotential":true}}"#;
        let eviction = json::decode(of, text).unwrap().value;
        let refused = Asked::read("p", &eviction, WriteOptions::default()).err().unwrap();
        assert_eq!(
            refused.message,
            "Eviction.policy \"p\" is invalid: deleteOptions.ignoreStoreReadErrorWithClusterBreakingPotential: Invalid value: \
             true: can not be set for pod eviction, try after removing the option"
        );
    }
}
