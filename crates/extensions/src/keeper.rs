//! Keeps the statuses of definitions: their names, whether they are served; and empties those that are deleted.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::{StreamExt, stream};

use pintle_cache::{Cursor, Interest, Next};
use pintle_controllers::Objects;
use pintle_meta::{Reason, Value};
use pintle_registry::Result;

use crate::Definitions;
use crate::conditions::{self, Condition, FINALIZER, Taken, remove_finalizer, terminating};
use crate::definition::Names;
use crate::emptying::{self, Stuck};
use crate::serving::Serving;

/// How soon what failed is tried again.
const PAUSE: Duration = Duration::from_secs(1);

/// How many definitions are brought up to date at once.
const AT_ONCE: usize = 32;

/// How long a deletion waits for writes that began before it.
const DRAIN: Duration = Duration::from_secs(60);

/// How often it is looked whether they have ended.
const LOOK: Duration = Duration::from_millis(5);

/// Objects that are kept as JSON by other names of this server: deleting a definition does not touch them.
const OVERLAPPING: [(&str, &str); 2] =
    [("apiregistration.k8s.io", "apiservices"), ("apiextensions.k8s.io", "customresourcedefinitions")];

/// The loop.
pub struct Keeper {
    definitions: Arc<Definitions>,
    /// Written through their status.
    statuses: Objects,
    /// UIDs of definitions that are being emptied.
    emptying: Mutex<HashSet<String>>,
    /// The names that definitions are about to get, by the definition: several are written at once, and none may get
    /// what another is getting.
    reserved: Mutex<HashMap<String, Reserved>>,
}

/// Names that are taken but not yet written.
struct Reserved {
    group: String,
    names: Names,
}

impl Keeper {
    pub const HOOK: &'static str = "start-apiextensions-controllers";

    pub fn new(definitions: Arc<Definitions>, statuses: Objects) -> Keeper {
        Keeper { definitions, statuses, emptying: Mutex::default(), reserved: Mutex::default() }
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
                self.empty(name, definition.uid());
            }
            return Ok(Vec::new());
        }
        let group = definition.text_at(&["spec", "group"]).to_owned();
        if self.settled(&group, &definition).is_none() {
            return Ok(Vec::new());
        }
        let had = definition.at(&["status", "acceptedNames"]).cloned();
        let mut change = |definition: &Value| Ok(self.settled(&group, definition));
        let written = self.statuses.update("", name, &mut change).await;
        if let Ok(written) = &written {
            // From then on others find the names taken.
            self.definitions.wait_for(written.resource_version()).await;
        }
        self.reserved().remove(name);
        let written = match written {
            Err(status) if status.reason == Reason::NotFound => return Ok(Vec::new()),
            other => other?,
        };
        let has = written.at(&["status", "acceptedNames"]);
        match had.as_ref() != has {
            true => {
                let waiting = self.definitions.read(|table| table.waiting(&group));
                Ok(waiting.into_iter().filter(|other| other != name).collect())
            }
            false => Ok(Vec::new()),
        }
    }

    /// The definition as it should be, if it is not; its names are its own until they are written.
    fn settled(&self, group: &str, definition: &Value) -> Option<Value> {
        let now = self.definitions.store().now();
        let mut reserved = self.reserved();
        let others = reserved.iter().filter(|(name, of)| *name != definition.name() && of.group == group);
        let others: Vec<&Names> = others.map(|(_, of)| &of.names).collect();
        let settled = self.definitions.read(|table| {
            let taken = TakenOr { taken: &table.taken(group), others: &others };
            conditions::settled(definition, &taken, &now)
        });
        if let Some(settled) = &settled {
            let names = Names::read(settled.at(&["status", "acceptedNames"]));
            reserved.insert(definition.name().to_owned(), Reserved { group: group.to_owned(), names });
        }
        settled
    }

    fn reserved(&self) -> MutexGuard<'_, HashMap<String, Reserved>> {
        self.reserved.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Deletes the objects of a definition beside everything else, unless somebody is at it.
    fn empty(self: &Arc<Keeper>, name: &str, uid: &str) {
        let mut emptying = self.emptying.lock().unwrap_or_else(PoisonError::into_inner);
        if !emptying.insert(uid.to_owned()) {
            return;
        }
        let (keeper, name, uid) = (self.clone(), name.to_owned(), uid.to_owned());
        tokio::spawn(async move {
            loop {
                match keeper.try_empty(&name, &uid).await {
                    Ok(()) => break,
                    Err(reason) => {
                        tracing::error!("{name} failed with: {reason}");
                        tokio::time::sleep(PAUSE).await;
                    }
                }
            }
            keeper.emptying.lock().unwrap_or_else(PoisonError::into_inner).remove(&uid);
        });
    }

    async fn try_empty(&self, name: &str, uid: &str) -> std::result::Result<(), String> {
        let message = "CustomResource deletion is in progress";
        let begun = terminating(true, "InstanceDeletionInProgress", message);
        let Some(definition) = self.note(name, uid, &begun, false).await? else { return Ok(()) };
        let (group, plural) =
            (definition.text_at(&["spec", "group"]), definition.text_at(&["spec", "names", "plural"]));
        let done = if OVERLAPPING.contains(&(group, plural)) {
            let message = "instances overlap with built-in resources in storage";
            terminating(false, "OverlappingBuiltInResource", message)
        } else if crate::definition::is_true(&definition, "Established") {
            if let Err(stuck) = self.delete_instances(name, uid).await {
                self.note(name, uid, &stuck.condition(), false).await?;
                return Err(stuck.reason().to_owned());
            }
            terminating(false, "InstanceDeletionCompleted", "removed all instances")
        } else {
            terminating(false, "NeverEstablished", "resource was never established")
        };
        self.note(name, uid, &done, true).await.map(drop)
    }

    /// Notes how far a deletion has come; at its end nothing holds the definition any more. Nothing if it is gone, or another
    /// definition came in its place.
    async fn note(
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

    /// Until there are none left.
    async fn delete_instances(&self, name: &str, uid: &str) -> std::result::Result<(), Stuck> {
        let registered = self.definitions.get(name).filter(|found| found.summary.uid == uid);
        let Some(registered) = registered else { return Ok(()) };
        let serving: Arc<Serving> = registered.serving().map_err(|reason| {
            let (plural, group) = (&registered.summary.accepted.plural, &registered.summary.group);
            Stuck::List(format!("unable to find a custom resource client for {plural}.{group}: {reason}"))
        })?;
        // From here on nothing new is let in; what was let in before comes to its end.
        let deadline = tokio::time::Instant::now() + DRAIN;
        while registered.writes.load(Ordering::SeqCst) > 0 && tokio::time::Instant::now() < deadline {
            tokio::time::sleep(LOOK).await;
        }
        // A client that takes the finalizer away may define the resource anew, whose objects have the same keys. The new
        // definition is older than they are, so the table knows it once it has what the store has after they were listed.
        let definitions = &self.definitions;
        let is_due = || async move {
            definitions.current().await?;
            Ok(definitions.get(name).is_some_and(|found| found.summary.uid == uid))
        };
        emptying::empty(serving.stored(), is_due).await
    }
}

/// What is written, and what is about to be.
struct TakenOr<'a, T> {
    taken: &'a T,
    others: &'a [&'a Names],
}

impl<T: Taken> Taken for TakenOr<'_, T> {
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
