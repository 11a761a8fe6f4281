//! The webhooks of all configurations in the order of their calls, and those that a kind of request can match.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use pintle_meta::Value;
use pintle_registry::{Mirror, Reflect, Store};

use super::hook::Hook;
use crate::Result;
use crate::attributes::{Operation, Target};
use crate::matching::Candidates;

/// A webhook that a kind of request can match, with its place among all webhooks.
#[derive(Clone)]
pub(super) struct Candidate {
    pub(super) index: usize,
    pub(super) hook: Arc<Hook>,
}

/// The webhooks of stored configurations.
#[derive(Default)]
struct Configured {
    /// By name, which is their order.
    configurations: BTreeMap<String, Vec<Arc<Hook>>>,
    /// Made by the first reader after a change.
    candidates: OnceLock<Candidates<Candidate>>,
}

impl Reflect for Configured {
    fn set(&mut self, _: usize, key: &str, object: Option<&Value>) {
        self.candidates = OnceLock::new();
        match object {
            Some(configuration) => {
                self.configurations.insert(key.to_owned(), Hook::read_all(configuration));
            }
            None => drop(self.configurations.remove(key)),
        }
    }

    fn clear(&mut self, _: usize) {
        *self = Configured::default();
    }
}

impl Configured {
    fn find(&self, operation: Operation, target: &Target) -> Arc<[Candidate]> {
        let candidates = self.candidates.get_or_init(|| {
            let hooks = self.configurations.values().flatten().cloned().enumerate();
            Candidates::new(hooks.map(|(index, hook)| Candidate { index, hook }).collect())
        });
        candidates.find(operation, target, |candidate| candidate.hook.predicate.may_match(operation, target))
    }
}

/// Where webhooks come from.
pub(super) struct Source {
    /// `None` where configurations are not served.
    configured: Option<Mirror<Configured>>,
}

impl Source {
    pub(super) fn new(store: Option<Arc<Store>>) -> Source {
        let mirror = |store| Mirror::new(vec![store], Configured::default());
        Source { configured: store.map(mirror) }
    }

    /// Reports whether there are candidates for a kind of request; true until that is known.
    pub(super) fn has_candidates(&self, operation: Operation, target: &Target) -> bool {
        let Some(configured) = &self.configured else { return false };
        if !configured.is_loaded() {
            return true;
        }
        configured.read(|configured| !configured.find(operation, target).is_empty())
    }

    /// Returns the candidates for a kind of request. Errors if the configurations cannot be loaded.
    pub(super) async fn candidates(&self, operation: Operation, target: &Target) -> Result<Arc<[Candidate]>> {
        let Some(configured) = &self.configured else { return Ok(Arc::default()) };
        configured.ready().await?;
        Ok(configured.read(|configured| configured.find(operation, target)))
    }
}
