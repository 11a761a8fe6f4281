//! Deletions that take more than one request, see [`StagedDeletion`].

use async_trait::async_trait;
use pintle_meta::Value;
use pintle_meta::validation::object_meta::{FOREGROUND_DELETION, ORPHAN_DEPENDENTS};

use super::{DeleteOptions, Deleted, Propagation};
use crate::Result;
use crate::admission::Admission;
use crate::store::swap::{Attempt, Decision, Swapped};
use crate::store::{Store, WriteOptions};
use crate::strategy::StagedDeletion;

impl Store {
    /// The answer to a request that does not delete yet; `None` if the object is ready to go.
    pub(super) async fn stage(
        &self,
        stages: StagedDeletion,
        own: &str,
        object: &Value,
        admission: &dyn Admission,
        options: &mut DeleteOptions,
    ) -> Result<Option<Deleted>> {
        let failed = |what: &str, wanted: &str, is: &str| {
            let why =
                format!("Precondition failed: {what} in precondition: {wanted}, {what} in object meta: {is}");
            self.conflict(object.name(), why)
        };
        let preconditions = &mut options.preconditions;
        // From here on it is about this object, also if another one should take its name.
        let uid = preconditions.uid.get_or_insert_with(|| object.uid().to_owned());
        if uid != object.uid() {
            return Err(failed("UID", uid, object.uid()));
        }
        let version = object.resource_version();
        if let Some(wanted) = preconditions.resource_version.as_ref().filter(|wanted| *wanted != version) {
            return Err(failed("ResourceVersion", wanted, version));
        }
        if object.deletion_timestamp().is_none() {
            let write = WriteOptions { dry_run: options.dry_run };
            let mut attempt = Begin { store: self, stages, admission, options };
            let swapped = self.swap(own, object.name(), &options.preconditions, write, &mut attempt).await?;
            let object = match swapped {
                Swapped::Written(object) => object,
                Swapped::Stopped(_) => object.clone(),
            };
            return Ok(Some(Deleted::Object { object, gone: false }));
        }
        let held = (stages.is_held)(object);
        Ok(held.then(|| Deleted::Object { object: object.clone(), gone: false }))
    }
}

/// The first request.
struct Begin<'a> {
    store: &'a Store,
    stages: StagedDeletion,
    admission: &'a dyn Admission,
    options: &'a DeleteOptions,
}

#[async_trait]
impl Attempt for Begin<'_> {
    async fn attempt(&mut self, old: Option<&Value>) -> Result<Decision> {
        let Some(old) = old else { return Err(self.store.not_found("")) };
        self.admission.delete(old, self.options).await?;
        let mut object = old.clone();
        let is_first = object.deletion_timestamp().is_none();
        let finalizers = self.stages.first_decides.then(|| finalizers(&object, self.options)).flatten();
        if let Some(metadata) = object.metadata_mut() {
            if is_first {
                metadata.insert("deletionTimestamp", self.store.now().truncated().to_string());
            }
            match finalizers {
                None => {}
                Some(finalizers) if finalizers.is_empty() => drop(metadata.remove("finalizers")),
                Some(finalizers) => drop(metadata.insert("finalizers", finalizers)),
            }
        }
        (self.stages.begin)(&mut object);
        Ok(Decision::Write(object))
    }
}

/// The finalizers that the dependents' fate asks for, if they differ from those that are there. Unlike with other
/// resources, nothing is taken for granted where the request says nothing, and dependents that are not left behind are
/// waited for.
fn finalizers(object: &Value, options: &DeleteOptions) -> Option<Vec<Value>> {
    let has = |wanted: &str| object.finalizers().any(|finalizer| finalizer == wanted);
    let is = (has(ORPHAN_DEPENDENTS), has(FOREGROUND_DELETION));
    let (orphan, foreground) = match (options.orphan_dependents, options.propagation) {
        (Some(orphan), _) => (orphan, !orphan),
        (None, Some(propagation)) => {
            (propagation == Propagation::Orphan, propagation == Propagation::Foreground)
        }
        (None, None) => is,
    };
    if (orphan, foreground) == is {
        return None;
    }
    let kept = object.finalizers().filter(|name| ![ORPHAN_DEPENDENTS, FOREGROUND_DELETION].contains(name));
    let added = [(orphan, ORPHAN_DEPENDENTS), (foreground, FOREGROUND_DELETION)];
    let added = added.into_iter().filter_map(|(wanted, name)| wanted.then_some(name));
    Some(kept.chain(added).map(Value::from).collect())
}
