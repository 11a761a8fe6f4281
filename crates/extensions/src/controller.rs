//! The controller of definitions: their accepted names and conditions, and the deletion of their objects.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::{StreamExt, stream};

use pintle_cache::{Cursor, Interest, Next};
use pintle_meta::{Reason, Value};
use pintle_registry::{Client, Result};
use pintle_runtime::Spawner;

use crate::Definitions;
use crate::conditions::{self, Condition, FINALIZER, TakenNames, remove_finalizer, terminating};
use crate::custom_resource::CustomResource;
use crate::definition::Names;
use crate::instance_deletion::{self, DeletionFailure};

/// Delay before a failed definition is tried again.
const PAUSE: Duration = Duration::from_secs(1);

/// Number of definitions that are synced at once.
const AT_ONCE: usize = 32;

/// Time for which a deletion waits for writes that began before it.
const DRAIN: Duration = Duration::from_secs(60);

/// Interval at which the number of such writes is read.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Built-in resources that are stored below the same keys: deleting a definition does not touch their objects.
const OVERLAPPING: [(&str, &str); 2] =
    [("apiregistration.k8s.io", "apiservices"), ("apiextensions.k8s.io", "customresourcedefinitions")];

/// Syncs definitions from their cache, as the reference's naming, establishing and finalizing controllers do.
pub struct DefinitionController {
    definitions: Arc<Definitions>,
    /// Written through their status.
    statuses: Client,
    tasks: Spawner,
    /// UIDs of definitions whose objects are being deleted.
    deleting: Mutex<HashSet<String>>,
    /// Names that definitions are about to get, by the definition: several are written at once, and no two may get the
    /// same name.
    reserved: Mutex<HashMap<String, Reserved>>,
}

/// Names that are taken but not yet written.
struct Reserved {
    group: String,
    names: Names,
}

impl DefinitionController {
    pub const HOOK: &'static str = "start-apiextensions-controllers";

    pub fn new(definitions: Arc<Definitions>, statuses: Client, tasks: Spawner) -> DefinitionController {
        let (deleting, reserved) = (Mutex::default(), Mutex::default());
        DefinitionController { definitions, statuses, tasks, deleting, reserved }
    }

    /// Starts the loop, which belongs to the owner of the tasks.
    pub fn start(self) {
        let controller = Arc::new(self);
        let tasks = controller.tasks.clone();
        tasks.spawn_until_stop(async move { controller.run().await });
    }

    async fn run(self: &Arc<DefinitionController>) {
        loop {
            match self.load().await {
                Some((names, cursor)) => self.follow(names, cursor).await,
                None => tokio::time::sleep(PAUSE).await,
            }
        }
    }

    async fn load(&self) -> Option<(BTreeSet<String>, Cursor)> {
        let cache = self.definitions.store().cache();
        cache.ready().await.ok()?;
        let (snapshot, cursor) = cache.snapshot_and_watch(Interest::Everything).ok()?;
        Some((snapshot.objects.iter().map(|entry| entry.key().to_owned()).collect(), cursor))
    }

    /// Syncs definitions that change, until the cursor expires.
    async fn follow(self: &Arc<DefinitionController>, mut due: BTreeSet<String>, mut cursor: Cursor) {
        loop {
            // Many at once, since each waits for the store, which writes together what comes together.
            let one = |name: String| async move {
                match self.sync(&name).await {
                    Ok(more) => more,
                    Err(status) => {
                        tracing::error!("{name} failed with: {}", status.message);
                        vec![name]
                    }
                }
            };
            let all = stream::iter(std::mem::take(&mut due)).map(one).buffer_unordered(AT_ONCE);
            let mut failed: BTreeSet<String> = all.map(stream::iter).flatten().collect().await;
            let next = if failed.is_empty() {
                Some(cursor.next().await)
            } else {
                tokio::time::timeout(PAUSE, cursor.next()).await.ok()
            };
            due.append(&mut failed);
            match next {
                None => {}
                Some(Next::Expired) => return,
                Some(Next::Changes(changes)) => {
                    for change in changes {
                        let name = change.entry.key();
                        if change.deleted {
                            // Its names are free.
                            let group = name.split_once('.').map_or("", |(_, group)| group);
                            due.extend(self.definitions.read(|index| index.waiting(group)));
                        } else {
                            due.insert(name.to_owned());
                        }
                    }
                }
            }
        }
    }

    /// Syncs a definition. Returns the names of others that have to be synced then.
    async fn sync(self: &Arc<DefinitionController>, name: &str) -> Result<Vec<String>> {
        let Some(definition) = self.definitions.cached(name) else { return Ok(Vec::new()) };
        if definition.deletion_timestamp().is_some() {
            if definition.finalizers().any(|known| known == FINALIZER) {
                self.start_deletion(name, definition.uid());
            }
            return Ok(Vec::new());
        }
        let group = definition.text_at(&["spec", "group"]).to_owned();
        if self.with_status(&group, &definition).is_none() {
            return Ok(Vec::new());
        }
        let had = definition.at(&["status", "acceptedNames"]).cloned();
        let mut change = |definition: &Value| Ok(self.with_status(&group, definition));
        let written = self.statuses.update("", name, &mut change).await;
        if let Ok(written) = &written {
            // From then on other definitions find the names taken.
            self.definitions.wait_for(written.resource_version()).await;
        }
        self.reserved().remove(name);
        let written = match written {
            Err(status) if status.reason == Reason::NotFound => return Ok(Vec::new()),
            other => other?,
        };
        let has = written.at(&["status", "acceptedNames"]);
        if had.as_ref() == has {
            return Ok(Vec::new());
        }
        let waiting = self.definitions.read(|index| index.waiting(&group));
        Ok(waiting.into_iter().filter(|other| other != name).collect())
    }

    /// Returns the definition with the status that it should have, if it has another; its names are reserved until they are
    /// written.
    fn with_status(&self, group: &str, definition: &Value) -> Option<Value> {
        let now = self.definitions.store().now();
        let mut reserved = self.reserved();
        let others = reserved.iter().filter(|(name, of)| *name != definition.name() && of.group == group);
        let others: Vec<&Names> = others.map(|(_, of)| &of.names).collect();
        let updated = self.definitions.read(|index| {
            let taken = TakenOrReserved { taken: &index.taken(group), others: &others };
            conditions::update(definition, &taken, &now)
        });
        if let Some(updated) = &updated {
            let names = Names::read(updated.at(&["status", "acceptedNames"]));
            reserved.insert(definition.name().to_owned(), Reserved { group: group.to_owned(), names });
        }
        updated
    }

    fn reserved(&self) -> MutexGuard<'_, HashMap<String, Reserved>> {
        self.reserved.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a task that deletes the objects of a definition, unless there is one already.
    fn start_deletion(self: &Arc<DefinitionController>, name: &str, uid: &str) {
        let mut deleting = self.deleting.lock().unwrap_or_else(PoisonError::into_inner);
        if !deleting.insert(uid.to_owned()) {
            return;
        }
        let (controller, name, uid) = (self.clone(), name.to_owned(), uid.to_owned());
        self.tasks.spawn_until_stop(async move {
            loop {
                match controller.delete_definition(&name, &uid).await {
                    Ok(()) => break,
                    Err(reason) => {
                        tracing::error!("{name} failed with: {reason}");
                        tokio::time::sleep(PAUSE).await;
                    }
                }
            }
            controller.deleting.lock().unwrap_or_else(PoisonError::into_inner).remove(&uid);
        });
    }

    async fn delete_definition(&self, name: &str, uid: &str) -> std::result::Result<(), String> {
        let message = "CustomResource deletion is in progress";
        let begun = terminating(true, "InstanceDeletionInProgress", message);
        let Some(definition) = self.set_condition(name, uid, &begun, false).await? else { return Ok(()) };
        let (group, plural) =
            (definition.text_at(&["spec", "group"]), definition.text_at(&["spec", "names", "plural"]));
        let done = if OVERLAPPING.contains(&(group, plural)) {
            let message = "instances overlap with built-in resources in storage";
            terminating(false, "OverlappingBuiltInResource", message)
        } else if crate::definition::is_true(&definition, "Established") {
            if let Err(stuck) = self.delete_instances(name, uid).await {
                self.set_condition(name, uid, &stuck.condition(), false).await?;
                return Err(stuck.reason().to_owned());
            }
            terminating(false, "InstanceDeletionCompleted", "removed all instances")
        } else {
            terminating(false, "NeverEstablished", "resource was never established")
        };
        self.set_condition(name, uid, &done, true).await.map(drop)
    }

    /// Writes the condition of a deletion, and removes the finalizer with the last one. `None` if the definition is gone or
    /// was replaced by another of the same name.
    async fn set_condition(
        &self,
        name: &str,
        uid: &str,
        condition: &Condition,
        is_last: bool,
    ) -> std::result::Result<Option<Value>, String> {
        let now = self.definitions.store().now();
        let mut change = |definition: &Value| {
            if definition.uid() != uid {
                return Err(self.statuses.not_found(name));
            }
            if !definition.finalizers().any(|known| known == FINALIZER) {
                return Ok(None);
            }
            let mut new = definition.clone();
            condition.set(&mut new, &now);
            if is_last {
                remove_finalizer(&mut new);
            }
            Ok(Some(new))
        };
        match self.statuses.update("", name, &mut change).await {
            Ok(written) => {
                self.definitions.wait_for(written.resource_version()).await;
                Ok(Some(written))
            }
            Err(status) if status.reason == Reason::NotFound => Ok(None),
            Err(status) => Err(status.message),
        }
    }

    /// Deletes all objects of a definition.
    async fn delete_instances(&self, name: &str, uid: &str) -> std::result::Result<(), DeletionFailure> {
        let entry = self.definitions.get(name).filter(|found| found.summary.uid == uid);
        let Some(entry) = entry else { return Ok(()) };
        let resource: Arc<CustomResource> = entry.resource().map_err(|reason| {
            let (plural, group) = (&entry.summary.accepted.plural, &entry.summary.group);
            DeletionFailure::List(format!(
                "unable to find a custom resource client for {plural}.{group}: {reason}"
            ))
        })?;
        // From here on nothing new is let in; what was let in before comes to its end.
        let clock = self.definitions.clock();
        let begun = clock.instant();
        let is_draining = || clock.instant().saturating_duration_since(begun) < DRAIN;
        while entry.writes.load(Ordering::SeqCst) > 0 && is_draining() {
            clock.sleep(POLL_INTERVAL).await;
        }
        // A client that takes the finalizer away may define the resource anew, whose objects have the same keys. The new
        // definition is older than they are, so the table knows it once it has what the store has after they were listed.
        let definitions = &self.definitions;
        let is_due = || async move {
            definitions.current().await?;
            Ok(definitions.get(name).is_some_and(|found| found.summary.uid == uid))
        };
        instance_deletion::delete_all(resource.stored(), clock, is_due).await
    }
}

/// Names that are taken, and names that are reserved.
struct TakenOrReserved<'a, T> {
    taken: &'a T,
    others: &'a [&'a Names],
}

impl<T: TakenNames> TakenNames for TakenOrReserved<'_, T> {
    fn is_resource(&self, name: &str) -> bool {
        let has = |names: &&Names| {
            names.plural == name
                || names.singular == name
                || names.short_names.iter().any(|known| known == name)
        };
        self.taken.is_resource(name) || self.others.iter().any(has)
    }

    fn is_kind(&self, name: &str) -> bool {
        let has = |names: &&Names| names.kind == name || names.list_kind == name;
        self.taken.is_kind(name) || self.others.iter().any(has)
    }
}
