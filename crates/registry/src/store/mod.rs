//! The generic store of one resource.

mod create;
mod delete_collection;
mod list;
mod policy;
mod remove;
pub(crate) mod swap;
mod update;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use pintle_cache::{Entry, Interest, Next, Resource};
use pintle_meta::field_path::Path;
use pintle_meta::validation::object_meta;
use pintle_meta::{Reason, Status, Value};
use pintle_runtime::{Clock, Random};
use pintle_storage::{Backend, KeyValue, TxnResult, UnreadableValue};

use crate::metadata;
use crate::reserve::{Reservation, Reserve};
use crate::strategy::{Context, Sent, Strategy};
use crate::write::enforce_namespace;
use crate::{Result, Stored, key};

pub use delete_collection::{Listed, Selection};
pub use list::cache_error;
pub use policy::{StoreOptions, StorePolicy};

/// The parts of a [`Store`].
#[derive(Clone)]
pub struct StoreConfig {
    /// Empty for the core group.
    pub group: String,
    /// In the plural, for messages.
    pub resource: String,
    pub kind: String,
    pub namespaced: bool,
    /// Prefix of all its keys; ends with a slash.
    pub prefix: Bytes,
    pub backend: Arc<dyn Backend>,
    pub cache: Arc<Resource>,
    pub stored: Arc<dyn Stored>,
    pub strategy: Arc<dyn Strategy>,
}

/// One resource: its objects, and the rules about them.
pub struct Store {
    config: StoreConfig,
    /// The group of the resource in messages, where it is not that of its kind.
    served_group: Option<String>,
    clock: Clock,
    random: Random,
    guard: Option<Arc<dyn Guard>>,
    reserve: Option<Arc<dyn Reserve>>,
    /// Whether writes reserve, or only deletions give back.
    takes: bool,
    /// Whether a write is answered only when the cache has it.
    waits_for_cache: bool,
    options: StoreOptions,
}

/// How long a write waits for the cache.
const CACHE_WAIT: Duration = Duration::from_secs(3);

/// A permission check of a write that depends on the object, such as RBAC's against escalation. It comes before admission's
/// validating half.
#[async_trait]
pub trait Guard: Send + Sync + 'static {
    /// Called with what is about to be written, after plugins have changed it and before it is validated, on every attempt.
    /// `name` is of the request's path, empty for a creation; `old` is nothing where there was nothing.
    async fn check(&self, context: &Context, name: &str, new: &Value, old: Option<&Value>) -> Result<()>;

    /// Called with a prepared object right after the strategy's validation, which found `errors`; adds its own to them. For
    /// rules of validation that ask an authorizer or read other objects. `old` is nothing for a new object.
    async fn examine(
        &self,
        _context: &Context,
        _new: &Value,
        _old: Option<&Value>,
        _errors: &mut Vec<pintle_meta::field_path::Error>,
    ) {
    }
}

/// Makes the new object of an update. Called on every attempt, with what is there now; `None` where there is nothing.
#[async_trait]
pub trait Transform: Send {
    async fn transform(&mut self, old: Option<&Value>) -> Result<Value>;

    /// Returns the object of the last attempt before it was read, where each attempt makes one; see [`Context::sent`].
    fn sent(&mut self) -> Option<Sent> {
        None
    }

    /// Whether the write is about who manages which field, so that it fails rather than leave that out. Others are made
    /// without when the object is too large for the store otherwise.
    fn needs_managers(&self) -> bool {
        false
    }

    /// Conditions on the old object.
    fn preconditions(&self) -> Preconditions {
        Preconditions::default()
    }

    /// The object that the change is made of, if the caller has it: the first attempt begins with it and not with the cache's,
    /// and the write is answered before the cache has it.
    fn known(&self) -> Option<&Value> {
        None
    }
}

/// Conditions on an object before it is written or deleted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preconditions {
    pub uid: Option<String>,
    pub resource_version: Option<String>,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct WriteOptions {
    /// Everything but the write itself.
    pub dry_run: bool,
}

/// The outcome of an update.
#[derive(Clone, Debug)]
pub struct Created {
    pub object: Value,
    /// It was not there before.
    pub created: bool,
}

/// An object as the store has it.
#[derive(Clone, Debug)]
pub(crate) struct State {
    pub(crate) object: Value,
    pub(crate) stored: Bytes,
    pub(crate) revision: u64,
    /// It is to be written even if nothing in it changes ([`KeyValue::stale`]). Known only of what was just read from the store.
    pub(crate) is_stale: bool,
}

impl Store {
    pub fn new(config: StoreConfig) -> Store {
        Store {
            config,
            served_group: None,
            clock: Clock::system(),
            random: Random::system(),
            guard: None,
            reserve: None,
            takes: false,
            waits_for_cache: false,
            options: StoreOptions::default(),
        }
    }

    /// The same objects, written at the times of another clock than the machine's.
    #[must_use]
    pub fn with_clock(mut self, clock: Clock) -> Store {
        self.clock = clock;
        self
    }

    /// The same objects, whose UIDs and generated names come from another source than the machine's.
    #[must_use]
    pub fn with_random(mut self, random: Random) -> Store {
        self.random = random;
        self
    }

    /// The same objects by other rules, such as those of a subresource. Writes by them reserve nothing; what an object holds is
    /// given back all the same when it goes.
    #[must_use]
    pub fn with_strategy(&self, strategy: Arc<dyn Strategy>) -> Store {
        Store {
            config: StoreConfig { strategy, ..self.config.clone() },
            served_group: self.served_group.clone(),
            clock: self.clock.clone(),
            random: self.random.clone(),
            guard: self.guard.clone(),
            reserve: self.reserve.clone(),
            takes: false,
            waits_for_cache: self.waits_for_cache,
            options: self.options,
        }
    }

    /// The same objects, which hold something beside themselves.
    #[must_use]
    pub fn reserving(mut self, reserve: Arc<dyn Reserve>) -> Store {
        self.reserve = Some(reserve);
        self.takes = true;
        self
    }

    /// The same objects for writers that a [`Guard`] checks.
    #[must_use]
    pub fn with_guard(&self, guard: Arc<dyn Guard>) -> Store {
        Store {
            config: self.config.clone(),
            served_group: self.served_group.clone(),
            clock: self.clock.clone(),
            random: self.random.clone(),
            guard: Some(guard),
            reserve: self.reserve.clone(),
            takes: self.takes,
            waits_for_cache: self.waits_for_cache,
            options: self.options,
        }
    }

    /// The same objects as a resource of another group, which messages about the resource name: events of `events.k8s.io`.
    #[must_use]
    pub fn served_in(mut self, group: &str) -> Store {
        self.served_group = Some(group.to_owned());
        self
    }

    /// Returns the group of the resource, as messages name it.
    pub(crate) fn resource_group(&self) -> &str {
        self.served_group.as_deref().unwrap_or(&self.config.group)
    }

    /// The same objects, of which a write returns only when the cache has it: for objects that other requests are served by.
    #[must_use]
    pub fn read_your_writes(mut self) -> Store {
        self.waits_for_cache = true;
        self
    }

    #[must_use]
    pub fn with_options(mut self, options: StoreOptions) -> Store {
        self.options = options;
        self
    }

    /// Whether clients' reads come from the cache. The server's own may in any case.
    pub fn has_watch_cache(&self) -> bool {
        self.options.watch_cache
    }

    /// Whether a garbage collector runs in the cluster.
    pub(crate) fn collects_garbage(&self) -> bool {
        self.options.garbage_collection
    }

    /// Waits for the cache to have an object that was written or deleted, where that is asked for.
    pub(crate) async fn wait_for_cache(&self, written: &Value) {
        if let Some(revision) = written.resource_version().parse().ok().filter(|_| self.waits_for_cache) {
            // A cache that does not catch up in time is only late.
            let _ = self.config.cache.wait_for(revision, CACHE_WAIT).await;
        }
    }

    /// Waits for an object that was marked as deleted to be gone, where that is asked for.
    pub(crate) async fn wait_for_end(&self, marked: &Value) {
        let patience = self.options.end_patience;
        let Some(revision) = marked.resource_version().parse().ok().filter(|_| !patience.is_zero()) else {
            return;
        };
        let Ok(key) = key::own(self.config.namespaced, marked.namespace(), marked.name()) else { return };
        let Ok(mut cursor) = self.config.cache.watch(revision, Interest::Key(key.into())) else { return };
        let gone = async {
            while let Next::Changes(changes) = cursor.next().await {
                if changes.iter().any(|change| change.deleted) {
                    return;
                }
            }
        };
        // An object that finalizers hold for longer goes on without the client.
        let _ = self.clock.timeout(patience, gone).await;
    }

    async fn check_guard(
        &self,
        context: &Context,
        name: &str,
        new: &Value,
        old: Option<&Value>,
    ) -> Result<()> {
        match &self.guard {
            Some(guard) => guard.check(context, name, new, old).await,
            None => Ok(()),
        }
    }

    /// Adds the guard's errors to those of the strategy.
    async fn examine_guarded(
        &self,
        context: &Context,
        new: &Value,
        old: Option<&Value>,
        errors: &mut Vec<pintle_meta::field_path::Error>,
    ) {
        if let Some(guard) = &self.guard {
            guard.examine(context, new, old, errors).await;
        }
    }

    fn taking(&self) -> Option<&Arc<dyn Reserve>> {
        self.reserve.as_ref().filter(|_| self.takes)
    }

    /// Takes what a new object needs.
    async fn reserve_new(
        &self,
        context: &Context,
        object: &mut Value,
        options: WriteOptions,
    ) -> Result<Reservation> {
        match self.taking() {
            Some(reserve) => reserve.on_create(context, object, options).await,
            None => Ok(Reservation::default()),
        }
    }

    /// Gives back what an object held that is gone.
    async fn give_back(&self, object: &Value) {
        if let Some(reserve) = self.reserve.clone() {
            let object = self.decorated(object.clone());
            // To the end, even if the request is dropped.
            let _ = tokio::spawn(async move { reserve.on_delete(&object).await }).await;
        }
    }

    pub fn config(&self) -> &StoreConfig {
        &self.config
    }

    pub fn cache(&self) -> &Arc<Resource> {
        &self.config.cache
    }

    /// The object now, as linearizable as the store is.
    pub async fn get(&self, context: &Context, name: &str) -> Result<Value> {
        let own = self.key(context, name)?;
        let state = self.read(&own, "get", name).await?.ok_or_else(|| self.not_found(name))?;
        Ok(self.decorated(metadata::at_revision(state.object, state.revision)))
    }

    /// The object now, as the cache keeps objects: mostly it has this one already.
    pub async fn entry(&self, context: &Context, name: &str) -> Result<Arc<Entry>> {
        let own = self.key(context, name)?;
        // Where the store's revision is known for nothing, the cache mostly has it, and need not ask.
        let known = self.config.backend.known_revision();
        if let Some(kept) = known.and_then(|revision| self.config.cache.entry_at(&own, revision.0)) {
            let entry = kept.ok_or_else(|| self.not_found(name))?;
            return self.readable(entry);
        }
        let full = key::full(&self.config.prefix, &own);
        let found = self.config.backend.get(&full, None).await;
        let (found, _) = found.map_err(|error| self.failed(&error, "get", name))?;
        if self.options.watch_cache {
            self.config.cache.load_soon();
        }
        let found = found.and_then(|kv| self.config.cache.entry_of(&kv));
        let entry = found.ok_or_else(|| self.not_found(name))?;
        self.readable(entry)
    }

    /// Returns the object as the cache has it, for readers that the reference gives an informer: it may be a moment old where the
    /// store's revision is not known without asking (etcd). The store is read only for an object that the cache does not
    /// have, so one that was created a moment ago is found.
    ///
    /// Errors: as [`Store::entry`]; `NotFound` is what the store says.
    pub async fn cached_entry(&self, context: &Context, name: &str) -> Result<Arc<Entry>> {
        if self.config.backend.known_revision().is_none() {
            let own = self.key(context, name)?;
            if let Some(entry) = self.config.cache.get(&own) {
                return self.readable(entry);
            }
            // Also where clients' reads are not cached: the next reader of this kind finds it.
            self.config.cache.load_soon();
        }
        self.entry(context, name).await
    }

    /// Returns the object as the cache has it, which is loaded if need be; `None` if it has none, or if no object can have this
    /// name. For readers that do without an object which was created a moment ago: unlike for [`Store::cached_entry`], a store
    /// whose revision is not known without asking is never read.
    pub async fn entry_if_cached(&self, context: &Context, name: &str) -> Result<Option<Arc<Entry>>> {
        let Ok(own) = self.key(context, name) else { return Ok(None) };
        if self.config.backend.known_revision().is_some() {
            return match self.entry(context, name).await {
                Ok(entry) => Ok(Some(entry)),
                Err(status) if status.reason == Reason::NotFound => Ok(None),
                Err(status) => Err(status),
            };
        }
        self.config.cache.ready().await.map_err(|error| cache_error(&error))?;
        self.config.cache.get(&own).map(|entry| self.readable(entry)).transpose()
    }

    fn readable(&self, entry: Arc<Entry>) -> Result<Arc<Entry>> {
        match entry.read() {
            Ok(_) => Ok(entry),
            Err(reason) => Err(self.undecodable(entry.key(), entry.revision(), reason)),
        }
    }

    /// The object now, out of the store, whose revision must not be older than the given one.
    pub async fn entry_not_older(&self, context: &Context, name: &str, revision: u64) -> Result<Arc<Entry>> {
        let own = self.key(context, name)?;
        let found = self.config.backend.get(&key::full(&self.config.prefix, &own), None).await;
        let (found, current) = found.map_err(|error| self.failed(&error, "get", name))?;
        if revision > current.0 {
            return Err(Box::new(Status::resource_version_too_large(revision, current.0, 0)));
        }
        let found = found.and_then(|kv| self.config.cache.entry_of(&kv));
        let entry = found.ok_or_else(|| self.not_found(name))?;
        self.readable(entry)
    }

    /// An object of the cache as clients see it, at its revision.
    pub fn object(&self, entry: &Entry) -> Result<Value> {
        let object = self.config.stored.decode(entry.stored());
        let object = object.map_err(|reason| self.undecodable(entry.key(), entry.revision(), &reason))?;
        Ok(self.decorated(metadata::at_revision(object, entry.revision())))
    }

    /// Decorates a stored object for clients.
    pub(crate) fn decorated(&self, object: Value) -> Value {
        self.config.strategy.decorated(&object).unwrap_or(object)
    }

    /// The time that objects are written at.
    pub fn now(&self) -> pintle_meta::time::Time {
        self.clock.now().into()
    }

    /// The time of one write, which its managed fields have too.
    fn time_of(&self, context: &Context) -> pintle_meta::time::Time {
        context.time.unwrap_or_else(|| self.now())
    }

    fn key(&self, context: &Context, name: &str) -> Result<String> {
        key::own(self.config.namespaced, &context.namespace, name)
    }

    pub(crate) async fn read(&self, own: &str, operation: &str, name: &str) -> Result<Option<State>> {
        let full = key::full(&self.config.prefix, own);
        let (found, _) = self
            .config
            .backend
            .get(&full, None)
            .await
            .map_err(|error| self.failed(&error, operation, name))?;
        found.map(|kv| self.state(&kv)).transpose()
    }

    fn state(&self, kv: &KeyValue) -> Result<State> {
        let object = self.config.stored.decode(&kv.value).map_err(|reason| {
            let own = kv.key.strip_prefix(&*self.config.prefix).unwrap_or(&kv.key);
            self.undecodable(&String::from_utf8_lossy(own), kv.mod_revision.0, &reason)
        })?;
        Ok(State { object, stored: kv.value.clone(), revision: kv.mod_revision.0, is_stale: kv.stale })
    }

    /// Whether what cannot be read may be deleted by those who may do that.
    pub fn allows_unsafe_deletion(&self) -> bool {
        self.options.unsafe_deletion
    }

    /// Returns the key of an object that cannot be read and the message about it, where such objects may be deleted.
    pub fn corrupt(&self, own: &str, revision: u64, reason: &str) -> (String, String) {
        let key = format!("{}{own}", String::from_utf8_lossy(&self.config.prefix));
        let message = format!(
            "StorageError: corrupt object, Code: 7, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: object not decodable \
             revision={revision}: {reason}"
        );
        (key, message)
    }

    /// The same of a value that cannot be decrypted.
    pub fn undecryptable(&self, value: &UnreadableValue) -> (String, String) {
        let key = String::from_utf8_lossy(&value.key).into_owned();
        // The revision is not known where the reference says this.
        let message = format!(
            "StorageError: corrupt object, Code: 7, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: data from the storage is \
             not transformable revision=0: {}",
            value.reason
        );
        (key, message)
    }

    fn undecodable(&self, own: &str, revision: u64, reason: &str) -> Box<Status> {
        if self.options.unsafe_deletion {
            return Box::new(Status::internal(self.corrupt(own, revision, reason).1));
        }
        Box::new(Status::plain(reason))
    }

    /// Returns the object that the cache has, which may be a moment old; `None` if it has none or is not loaded.
    fn cached(&self, own: &str) -> Option<State> {
        let entry = self.config.cache.get(own)?;
        let object = self.config.stored.decode(entry.stored()).ok()?;
        Some(State { object, stored: entry.stored().clone(), revision: entry.revision(), is_stale: false })
    }

    pub(crate) fn not_found(&self, name: &str) -> Box<Status> {
        Box::new(Status::not_found(self.resource_group(), &self.config.resource, name))
    }

    pub(crate) fn conflict(&self, name: &str, why: impl std::fmt::Display) -> Box<Status> {
        Box::new(Status::conflict(self.resource_group(), &self.config.resource, name, why))
    }

    fn invalid(&self, object: &Value, errors: &[pintle_meta::field_path::Error]) -> Box<Status> {
        // A custom resource may be wrong in its kind.
        let kind = Some(object.kind()).filter(|kind| !kind.is_empty()).unwrap_or(&self.config.kind);
        Box::new(Status::invalid(&self.config.group, kind, object.name(), errors))
    }

    /// A failure of the store, as clients know it.
    fn failed(&self, error: &pintle_storage::Error, operation: &str, name: &str) -> Box<Status> {
        use pintle_storage::Error;
        Box::new(match error {
            Error::Unknown(_) => Status::timeout(&format!("{operation} of {name}: {error}")),
            Error::TooLarge { size, .. } => Status::plain(too_large(*size)),
            Error::Undecryptable(values) if self.options.unsafe_deletion && !values.is_empty() => {
                Status::internal(self.undecryptable(&values[0]).1)
            }
            error => crate::outage::status(error),
        })
    }

    fn encode(&self, object: Value) -> Result<(Value, Bytes)> {
        let object = metadata::without_revision(object);
        let stored = self.config.stored.encode(&object).map_err(|reason| Box::new(Status::plain(reason)))?;
        Ok((object, stored))
    }

    /// Returns what was written, as it will be read: a backend in between may have changed it.
    fn as_stored(&self, object: Value, stored: &[u8], done: &TxnResult) -> Result<Value> {
        let object = match done.written.first() {
            Some(written) => self.config.stored.decode(written),
            None => self.config.stored.decode_again(object, stored),
        };
        let object = object.map_err(|reason| Box::new(Status::plain(reason)))?;
        Ok(metadata::at_revision(object, done.revision.0))
    }

    /// Returns what would be read of an object if it were written.
    async fn rehearsed(&self, object: Value, stored: &Bytes, operation: &str, name: &str) -> Result<Value> {
        let read = self.config.backend.rehearse(stored.clone()).await;
        let read = read.map_err(|error| self.failed(&error, operation, name))?;
        let object = if read == *stored {
            self.config.stored.decode_again(object, stored)
        } else {
            self.config.stored.decode(&read)
        };
        object.map_err(|reason| Box::new(Status::plain(reason)))
    }

    /// The namespace that objects of a request are in; empty for a cluster-scoped resource.
    fn namespace_of<'c>(&self, context: &'c Context) -> &'c str {
        if self.config.namespaced { &context.namespace } else { "" }
    }

    /// Prepares and validates a new object.
    async fn before_create(&self, context: &mut Context, object: &mut Value) -> Result<()> {
        let strategy = &self.config.strategy;
        enforce_namespace(object, self.namespace_of(context))?;
        strategy.prepare_for_create(context, object);
        let (seen, new) = (&*context, &*object);
        let mut errors = pintle_work::run(|| strategy.validate(seen, new)).await;
        self.examine_guarded(seen, new, None, &mut errors).await;
        if !errors.is_empty() {
            return Err(self.invalid(object, &errors));
        }
        // After the kind's own, so that its more specific words are seen.
        let errors = self.validate_metadata(object);
        if !errors.is_empty() {
            return Err(self.invalid(object, &errors));
        }
        context.warnings.extend(strategy.warnings_on_create(context, object));
        strategy.canonicalize(object);
        Ok(())
    }

    /// Prepares and validates a changed object.
    async fn before_update(&self, context: &mut Context, new: &mut Value, old: &Value) -> Result<()> {
        let strategy = &self.config.strategy;
        enforce_namespace(new, self.namespace_of(context))?;
        metadata::keep(new, old, "generation");
        strategy.prepare_for_update(context, new, old);
        if new.uid().is_empty() {
            metadata::keep(new, old, "uid");
        }
        for field in ["creationTimestamp", "deletionTimestamp"] {
            if old.metadata().is_some_and(|metadata| metadata.contains(field)) {
                metadata::keep(new, old, field);
            }
        }
        if new.metadata().is_some_and(|metadata| !metadata.contains("deletionGracePeriodSeconds")) {
            metadata::keep(new, old, "deletionGracePeriodSeconds");
        }
        let mut errors = Vec::new();
        if strategy.validates_metadata_on_update() {
            errors.extend(self.validate_metadata(new));
            errors.extend(object_meta::validate_update(new, old, &Path::new("metadata")));
        }
        let (warnings_before, changed) = (context.warnings.len(), &*new);
        let examined = pintle_work::run(|| {
            // Of an attempt that was moved.
            context.warnings.truncate(warnings_before);
            strategy.examine_update(context, changed, old)
        });
        errors.extend(examined.await);
        self.examine_guarded(context, new, Some(old), &mut errors).await;
        if !errors.is_empty() {
            return Err(self.invalid(new, &errors));
        }
        context.warnings.extend(strategy.warnings_on_update(context, new, old));
        strategy.canonicalize(new);
        Ok(())
    }

    fn validate_metadata(&self, object: &Value) -> Vec<pintle_meta::field_path::Error> {
        let name = &object_meta::path_segment_name;
        object_meta::validate(object, self.config.namespaced, name, &Path::new("metadata"))
    }
}

/// The refusal of a large object in the words of etcd, or of the gRPC client before it.
fn too_large(size: usize) -> String {
    const MOST_SENT: usize = 2 << 20;
    if size > MOST_SENT {
        let what = format!("trying to send message larger than max ({size} vs. {MOST_SENT})");
        return format!("rpc error: code = ResourceExhausted desc = {what}");
    }
    "etcdserver: request is too large".into()
}
