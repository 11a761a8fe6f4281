//! Deleting: at once, after a grace period, or when the last finalizer is gone.

mod options;
mod stages;

use async_trait::async_trait;
use pintle_meta::time::Time;
use pintle_meta::validation::object_meta::{FOREGROUND_DELETION, ORPHAN_DEPENDENTS};
use pintle_meta::{Details, Status, Value};

use crate::admission::Admission;
use crate::store::swap::{Attempt, Decision, Swapped};
use crate::store::{Preconditions, Store, WriteOptions};
use crate::strategy::{Context, GarbageCollection};
use crate::{Result, key};

pub use options::dry_run;

/// A propagation policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Propagation {
    Orphan,
    Background,
    Foreground,
}

/// The options of a deletion.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeleteOptions {
    pub grace_period_seconds: Option<i64>,
    pub preconditions: Preconditions,
    /// Older than `propagation`.
    pub orphan_dependents: Option<bool>,
    pub propagation: Option<Propagation>,
    pub dry_run: bool,
    /// The object cannot be read, and is to go nevertheless.
    pub ignore_read_errors: bool,
}

/// How a deletion is answered.
#[derive(Clone, Debug)]
pub enum Deleted {
    /// With the object: it is still there, or the resource answers so.
    Object {
        object: Value,
        gone: bool,
    },
    Status {
        status: Box<Status>,
        gone: bool,
    },
}

impl Deleted {
    /// Whether it is gone for good, and not waiting for something.
    pub fn is_gone(&self) -> bool {
        match self {
            Deleted::Object { gone, .. } | Deleted::Status { gone, .. } => *gone,
        }
    }
}

/// Where a deletion stands.
enum Grace {
    /// The object does not wait.
    None,
    /// It waits from now on; its metadata says until when.
    Begins,
    /// It waits already, no longer than is asked for now.
    Pending,
}

impl Store {
    /// Deletes an object, or begins to.
    pub async fn delete(
        &self,
        context: &Context,
        name: &str,
        admission: &dyn Admission,
        options: DeleteOptions,
    ) -> Result<Deleted> {
        let config = self.config();
        if let Some(why) = config.strategy.forbids_deletion(name) {
            return Err(Box::new(Status::forbidden(self.resource_group(), &config.resource, name, why)));
        }
        let is_dry_run = options.dry_run;
        let deleted = self.delete_one(context, name, admission, options).await?;
        if let Deleted::Object { object, gone: false } = &deleted
            && !is_dry_run
        {
            self.wait_for_cache(object).await;
            self.wait_for_end(object).await;
        }
        Ok(deleted)
    }

    pub(crate) async fn delete_one(
        &self,
        context: &Context,
        name: &str,
        admission: &dyn Admission,
        mut options: DeleteOptions,
    ) -> Result<Deleted> {
        let own = key::own(self.config().namespaced, &context.namespace, name)?;
        let write = WriteOptions { dry_run: options.dry_run };
        let current = self.read(&own, "delete", name).await?.ok_or_else(|| self.not_found(name))?;
        let mut object = crate::metadata::at_revision(current.object, current.revision);
        if let Some(stages) = self.config().strategy.staged_deletion()
            && let Some(answer) = self.stage(stages, &own, &object, admission, &mut options).await?
        {
            return Ok(answer);
        }
        let grace = self.before_delete(&mut object, &mut options)?;
        if matches!(grace, Grace::Pending) {
            return Ok(self.answer(object, false));
        }
        let waits = matches!(grace, Grace::Begins)
            || object.finalizers().next().is_some()
            || self.finalizers(&object, &options).is_some();
        let mut preconditions = options.preconditions.clone();
        if waits {
            let mut attempt =
                Mark { store: self, admission, options: &mut options, ended: Ended::Marked, waits: false };
            let swapped = self.swap(&own, name, &preconditions, write, &mut attempt).await?;
            match (attempt.ended, swapped) {
                (Ended::Marked, Swapped::Written(object)) if attempt.waits => {
                    return Ok(Deleted::Object { object, gone: false });
                }
                (Ended::Pending, _) => return Ok(self.answer(object, false)),
                (Ended::Marked, Swapped::Written(object)) => {
                    // A grace period of zero: marked first, so that watchers see it, then gone.
                    if write.dry_run {
                        return Ok(Deleted::Object { object, gone: true });
                    }
                    if preconditions.resource_version.is_some() {
                        preconditions.resource_version = Some(object.resource_version().to_owned());
                    }
                    let known = Some(object.clone());
                    let gone = self.remove(&own, name, known, &preconditions, write).await?;
                    return Ok(self.answer(gone.unwrap_or(object), true));
                }
                (Ended::Now | Ended::Marked, Swapped::Stopped(Some(current))) => object = current,
                (Ended::Now | Ended::Marked, _) => {}
            }
        }
        admission.delete(&object, &options).await?;
        let gone = self.remove(&own, name, Some(object), &preconditions, write).await?;
        Ok(self.answer(gone.ok_or_else(|| self.not_found(name))?, true))
    }

    fn answer(&self, object: Value, gone: bool) -> Deleted {
        let config = self.config();
        if config.strategy.returns_deleted_object() {
            return Deleted::Object { object: self.decorated(object), gone };
        }
        let details = Details {
            name: object.name().into(),
            group: self.resource_group().to_owned(),
            // A resource stands where a kind should: clients know it so.
            kind: config.resource.clone(),
            uid: object.uid().into(),
            ..Details::default()
        };
        Deleted::Status { status: Box::new(Status::success(details)), gone }
    }

    /// Checks what can be checked early, and begins a grace period in the object's metadata where there is one.
    fn before_delete(&self, object: &mut Value, options: &mut DeleteOptions) -> Result<Grace> {
        self.check_options(options)?;
        let config = self.config();
        let preconditions = &options.preconditions;
        let conflict =
            |why: String| Box::new(Status::conflict(&config.group, &config.kind, object.name(), why));
        if let Some(uid) = preconditions.uid.as_deref().filter(|uid| *uid != object.uid()) {
            return Err(conflict(format!(
                "the UID in the precondition ({uid}) does not match the UID in record ({}). The object might have been deleted \
                 and then recreated",
                object.uid()
            )));
        }
        let version = preconditions.resource_version.as_deref();
        if let Some(version) = version.filter(|version| *version != object.resource_version()) {
            return Err(conflict(format!(
                "the ResourceVersion in the precondition ({version}) does not match the ResourceVersion in record ({}). The \
                 object might have been modified",
                object.resource_version()
            )));
        }
        if options.grace_period_seconds.is_some_and(|seconds| seconds < 0) {
            options.grace_period_seconds = Some(1);
        }
        if !config.strategy.deletes_gracefully() {
            return Ok(Grace::None);
        }
        if object.deletion_timestamp().is_some() {
            return Ok(self.shorten(object, options));
        }
        if !config.strategy.check_graceful_delete(object, options) {
            return Ok(Grace::None);
        }
        let seconds = options
            .grace_period_seconds
            .ok_or_else(|| Box::new(Status::internal("options.GracePeriodSeconds should not be nil")))?;
        let until = later(self.now(), seconds);
        let generation = object.generation();
        if let Some(metadata) = object.metadata_mut() {
            metadata.insert("deletionTimestamp", until.to_string());
            metadata.insert("deletionGracePeriodSeconds", seconds);
            if generation > 0 {
                metadata.insert("generation", generation + 1);
            }
        }
        Ok(Grace::Begins)
    }

    /// An object that is being deleted already may only be made to go sooner.
    fn shorten(&self, object: &mut Value, options: &mut DeleteOptions) -> Grace {
        let left = object
            .at(&["metadata", "deletionGracePeriodSeconds"])
            .and_then(Value::as_i64)
            .unwrap_or_default();
        // Zero: it was marked and then not removed, which is made good now.
        if left == 0 {
            return Grace::None;
        }
        let left = if left < 0 { 1 } else { left };
        let Some(mut seconds) = options.grace_period_seconds else {
            options.grace_period_seconds = Some(left);
            return Grace::Pending;
        };
        if seconds >= left {
            return Grace::Pending;
        }
        let now = self.now();
        let until = object.deletion_timestamp().and_then(|until| Time::parse(until).ok());
        let mut until = until.map_or_else(|| now, |until| later(later(until, -left), seconds));
        if until.unix_seconds() < now.unix_seconds() {
            until = now;
            if seconds != 0 {
                seconds = 1;
            }
        }
        if let Some(metadata) = object.metadata_mut() {
            metadata.insert("deletionTimestamp", until.to_string());
            metadata.insert("deletionGracePeriodSeconds", seconds);
        }
        Grace::Begins
    }

    fn check_options(&self, options: &DeleteOptions) -> Result<()> {
        if options.propagation.is_none() || options.orphan_dependents.is_none() {
            return Ok(());
        }
        let shown = match options.propagation {
            Some(Propagation::Orphan) => "Orphan",
            Some(Propagation::Background) => "Background",
            _ => "Foreground",
        };
        Err(Box::new(Status::invalid("meta.k8s.io", "DeleteOptions", "", &[options::both_set(shown)])))
    }

    /// The finalizers that the dependents' fate asks for, if they differ from those that are there.
    fn finalizers(&self, object: &Value, options: &DeleteOptions) -> Option<Vec<Value>> {
        // No garbage collector would ever remove them.
        if !self.collects_garbage() {
            return None;
        }
        let policy = self.config().strategy.garbage_collection();
        let has = |wanted: &str| object.finalizers().any(|finalizer| finalizer == wanted);
        let (orphan, foreground) = match (policy, options.orphan_dependents, options.propagation) {
            (GarbageCollection::Unsupported, ..) => (false, false),
            (_, Some(orphan), _) => (orphan, false),
            (_, _, Some(propagation)) => {
                (propagation == Propagation::Orphan, propagation == Propagation::Foreground)
            }
            _ if has(ORPHAN_DEPENDENTS) => (true, false),
            _ if has(FOREGROUND_DELETION) => (false, true),
            _ => (policy == GarbageCollection::Orphan, false),
        };
        if (orphan, foreground) == (has(ORPHAN_DEPENDENTS), has(FOREGROUND_DELETION)) {
            return None;
        }
        let kept =
            object.finalizers().filter(|name| ![ORPHAN_DEPENDENTS, FOREGROUND_DELETION].contains(name));
        let added = [(orphan, ORPHAN_DEPENDENTS), (foreground, FOREGROUND_DELETION)];
        let added = added.into_iter().filter_map(|(wanted, name)| wanted.then_some(name));
        Some(kept.chain(added).map(Value::from).collect())
    }
}

/// Marks an object as being deleted.
struct Mark<'a> {
    store: &'a Store,
    admission: &'a dyn Admission,
    options: &'a mut DeleteOptions,
    ended: Ended,
    /// It stays until its finalizers or its grace period are gone.
    waits: bool,
}

enum Ended {
    Marked,
    /// Nothing holds it: it is to be removed.
    Now,
    /// It is being deleted already.
    Pending,
}

#[async_trait]
impl Attempt for Mark<'_> {
    async fn attempt(&mut self, old: Option<&Value>) -> Result<Decision> {
        let Some(old) = old else { return Err(self.store.not_found("")) };
        self.admission.delete(old, self.options).await?;
        let mut object = old.clone();
        let grace = self.store.before_delete(&mut object, self.options)?;
        if matches!(grace, Grace::Pending) {
            self.ended = Ended::Pending;
            return Ok(Decision::Stop);
        }
        if let Some(finalizers) = self.store.finalizers(&object, self.options)
            && let Some(metadata) = object.metadata_mut()
        {
            if finalizers.is_empty() {
                metadata.remove("finalizers");
            } else {
                metadata.insert("finalizers", finalizers);
            }
        }
        let held = object.finalizers().next().is_some();
        if matches!(grace, Grace::None) {
            if !held {
                self.ended = Ended::Now;
                return Ok(Decision::Stop);
            }
            mark_as_deleting(&mut object, &self.store.now());
        }
        let seconds = self.options.grace_period_seconds.unwrap_or_default();
        self.waits = held || (matches!(grace, Grace::Begins) && seconds > 0);
        self.ended = Ended::Marked;
        Ok(Decision::Write(object))
    }
}

/// Only finalizers hold it: it is being deleted from now on, without a grace period.
fn mark_as_deleting(object: &mut Value, now: &Time) {
    let (until, generation) = (object.deletion_timestamp(), object.generation());
    let is_first = until.is_none();
    let ends = until.and_then(|until| Time::parse(until).ok());
    let ends_later = ends.is_none_or(|ends| ends.unix_seconds() > now.unix_seconds());
    let Some(metadata) = object.metadata_mut() else { return };
    if is_first && generation > 0 {
        metadata.insert("generation", generation + 1);
    }
    if ends_later {
        metadata.insert("deletionTimestamp", now.truncated().to_string());
    }
    metadata.insert("deletionGracePeriodSeconds", 0i64);
}

/// Adds seconds in whole, as a Go duration: nanoseconds of 64 bits, which wrap around.
fn later(time: Time, seconds: i64) -> Time {
    Time::from_unix(time.unix_seconds(), seconds.wrapping_mul(1_000_000_000)).truncated()
}
