//! Keeps the statuses of definitions: their names, whether they are served; and empties those that are deleted.

use std::collections::{BTreeSet, HashSet};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pintle_cache::{Cursor, Interest, Next};
use pintle_controllers::Objects;
use pintle_meta::{Reason, Value};
use pintle_registry::{AdmitAll, Context, DeleteOptions, Result};

use crate::Definitions;
use crate::conditions::{self, Condition, FINALIZER, remove_finalizer, terminating};
use crate::serving::Serving;

/// How soon what failed is tried again.
const PAUSE: Duration = Duration::from_secs(1);

/// How many objects of a definition are deleted at once.
const WORKERS: usize = 32;

/// How long a deletion waits for writes that began before it.
const DRAIN: Duration = Duration::from_secs(60);

/// How often it is looked whether they have ended, or whether objects that something holds have gone.
const LOOK: Duration = Duration::from_millis(5);
const LOOK_FOR_HELD: Duration = Duration::from_millis(500);

/// Objects that are kept as JSON by other names of this server: deleting a definition does not touch them.
const OVERLAPPING: [(&str, &str); 2] =
    [("apiregistration.k8s.io", "apiservices"), ("apiextensions.k8s.io", "customresourcedefinitions")];

/// The loop.
pub struct Keeper {
    definitions: Arc<Definitions>,
    /// Written through their status.
    statuses: Objects,
    /// Names of those that are being emptied.
    emptying: Mutex<HashSet<String>>,
}

impl Keeper {
    pub const HOOK: &'static str = "start-apiextensions-controllers";

    pub fn new(definitions: Arc<Definitions>, statuses: Objects) -> Keeper {
        Keeper { definitions, statuses, emptying: Mutex::default() }
    }

    /// Goes on until `shutdown`.
    pub fn start(self, shutdown: impl Future<Output = ()> + Send + 'static) {
        let keeper = Arc::new(self);
        tokio::spawn(async move {
            tokio::select! {
                () = keeper.run() => {}
                () = shutdown => {}
            }
        });
    }

    async fn run(self: &Arc<Keeper>) {
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

    /// Until the cursor is of no more use.
    async fn follow(self: &Arc<Keeper>, mut due: BTreeSet<String>, mut cursor: Cursor) {
        loop {
            let mut failed = BTreeSet::new();
            for name in std::mem::take(&mut due) {
                match self.sync(&name).await {
                    Ok(more) => failed.extend(more),
                    Err(status) => {
                        tracing::error!("{name} failed with: {}", status.message);
                        failed.insert(name);
                    }
                }
            }
            let next = match failed.is_empty() {
                true => Some(cursor.next().await),
                false => tokio::time::timeout(PAUSE, cursor.next()).await.ok(),
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
                            due.extend(self.definitions.read(|table| table.waiting(group)));
                        } else {
                            due.insert(name.to_owned());
                        }
                    }
                }
            }
        }
    }

    /// Brings one up to date. Returns the names of others that may have something to do then.
    async fn sync(self: &Arc<Keeper>, name: &str) -> Result<Vec<String>> {
        let Some(definition) = self.definitions.cached(name) else { return Ok(Vec::new()) };
        if definition.deletion_timestamp().is_some() {
            if definition.finalizers().any(|known| known == FINALIZER) {
                self.empty(name);
            }
            return Ok(Vec::new());
        }
        let group = definition.text_at(&["spec", "group"]).to_owned();
        let is_settled = |definition: &Value| self.settled(&group, definition).is_none();
        if is_settled(&definition) {
            return Ok(Vec::new());
        }
        let had = definition.at(&["status", "acceptedNames"]).cloned();
        let mut change = |definition: &Value| Ok(self.settled(&group, definition));
        let written = match self.statuses.update("", name, &mut change).await {
            Err(status) if status.reason == Reason::NotFound => return Ok(Vec::new()),
            other => other?,
        };
        // The next one must find the names taken.
        self.definitions.wait_for(written.resource_version()).await;
        let has = written.at(&["status", "acceptedNames"]);
        match had.as_ref() != has {
            true => {
                let waiting = self.definitions.read(|table| table.waiting(&group));
                Ok(waiting.into_iter().filter(|other| other != name).collect())
            }
            false => Ok(Vec::new()),
        }
    }

    fn settled(&self, group: &str, definition: &Value) -> Option<Value> {
        let now = self.definitions.store().now();
        self.definitions.read(|table| conditions::settled(definition, &table.taken(group), &now))
    }

    /// Deletes the objects of a definition beside everything else, unless somebody is at it.
    fn empty(self: &Arc<Keeper>, name: &str) {
        let mut emptying = self.emptying.lock().unwrap_or_else(PoisonError::into_inner);
        if !emptying.insert(name.to_owned()) {
            return;
        }
        let (keeper, name) = (self.clone(), name.to_owned());
        tokio::spawn(async move {
            loop {
                match keeper.try_empty(&name).await {
                    Ok(()) => break,
                    Err(reason) => {
                        tracing::error!("{name} failed with: {reason}");
                        tokio::time::sleep(PAUSE).await;
                    }
                }
            }
            keeper.emptying.lock().unwrap_or_else(PoisonError::into_inner).remove(&name);
        });
    }

    async fn try_empty(&self, name: &str) -> std::result::Result<(), String> {
        let message = "CustomResource deletion is in progress";
        let begun = terminating(true, "InstanceDeletionInProgress", message);
        let Some(definition) = self.note(name, &begun, false).await? else { return Ok(()) };
        let (group, plural) =
            (definition.text_at(&["spec", "group"]), definition.text_at(&["spec", "names", "plural"]));
        let done = if OVERLAPPING.contains(&(group, plural)) {
            let message = "instances overlap with built-in resources in storage";
            terminating(false, "OverlappingBuiltInResource", message)
        } else if crate::definition::is_true(&definition, "Established") {
            if let Err(reason) = self.delete_instances(name).await {
                let failed = terminating(
                    true,
                    "InstanceDeletionFailed",
                    format!("could not issue all deletes: {reason}"),
                );
                self.note(name, &failed, false).await?;
                return Err(reason);
            }
            terminating(false, "InstanceDeletionCompleted", "removed all instances")
        } else {
            terminating(false, "NeverEstablished", "resource was never established")
        };
        self.note(name, &done, true).await.map(drop)
    }

    /// Notes how far a deletion has come; at its end nothing holds the definition any more. Nothing if it is gone.
    async fn note(
        &self,
        name: &str,
        condition: &Condition,
        is_last: bool,
    ) -> std::result::Result<Option<Value>, String> {
        let now = self.definitions.store().now();
        let mut change = |definition: &Value| {
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

    /// Until there are none left.
    async fn delete_instances(&self, name: &str) -> std::result::Result<(), String> {
        let Some(registered) = self.definitions.get(name) else { return Ok(()) };
        let serving: Arc<Serving> = registered.serving()?;
        // From here on nothing new is let in; what was let in before comes to its end.
        let deadline = tokio::time::Instant::now() + DRAIN;
        while registered.writes.load(Ordering::SeqCst) > 0 && tokio::time::Instant::now() < deadline {
            tokio::time::sleep(LOOK).await;
        }
        let (store, context) = (serving.stored(), Context::default());
        loop {
            let all = store.select(&context, |_| true).await.map_err(|status| status.message.clone())?;
            if all.entries.is_empty() {
                return Ok(());
            }
            let options = DeleteOptions::default();
            let deleted = store.delete_each(&context, &all.entries, &AdmitAll, &options, WORKERS).await;
            deleted.map_err(|status| status.message.clone())?;
            let left = store.select(&context, |_| true).await.map_err(|status| status.message.clone())?;
            if !left.entries.is_empty() {
                // Finalizers hold them.
                tokio::time::sleep(LOOK_FOR_HELD).await;
            }
        }
    }
}
