//! The webhooks of all configurations in the order of their calls, and those that a kind of request can match.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use pintle_meta::Value;
use pintle_registry::{Mirror, Reflect, Store};

use super::hook::Hook;
use crate::Result;
use crate::attributes::{Operation, Target};

/// Kinds of requests that are remembered. There are a few hundred resources with at most four operations each.
const MOST_REMEMBERED: usize = 4096;

/// A webhook that a kind of request can match, with its place among all webhooks.
#[derive(Clone)]
pub(super) struct Candidate {
    pub(super) index: usize,
    pub(super) hook: Arc<Hook>,
}

/// Webhooks in order.
pub(super) struct Hooks {
    hooks: Vec<Arc<Hook>>,
    hasher: RandomState,
    /// The candidates of the kinds of requests that were seen, by their hash.
    candidates: RwLock<HashMap<u64, Vec<Remembered>>>,
}

struct Remembered {
    operation: Operation,
    target: Target,
    candidates: Arc<[Candidate]>,
}

impl Hooks {
    pub(super) fn new(hooks: Vec<Arc<Hook>>) -> Hooks {
        Hooks { hooks, hasher: RandomState::new(), candidates: RwLock::default() }
    }

    pub(super) fn candidates(&self, operation: Operation, target: &Target) -> Arc<[Candidate]> {
        if self.hooks.is_empty() {
            return Arc::default();
        }
        let hash = self.hasher.hash_one((operation, target));
        let known = self.candidates.read().unwrap_or_else(PoisonError::into_inner);
        let found = known
            .get(&hash)
            .and_then(|all| all.iter().find(|known| known.operation == operation && known.target == *target));
        if let Some(found) = found {
            return found.candidates.clone();
        }
        drop(known);
        let candidates = self.find(operation, target);
        let mut known = self.candidates.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST_REMEMBERED {
            known.clear();
        }
        let remembered = Remembered { operation, target: target.clone(), candidates: candidates.clone() };
        known.entry(hash).or_default().push(remembered);
        candidates
    }

    fn find(&self, operation: Operation, target: &Target) -> Arc<[Candidate]> {
        let all = self.hooks.iter().enumerate();
        let can_match = all.filter(|(_, hook)| hook.predicate.may_match(operation, target));
        can_match.map(|(index, hook)| Candidate { index, hook: hook.clone() }).collect()
    }
}

/// The webhooks of stored configurations.
#[derive(Default)]
struct Configured {
    /// By name, which is their order.
    configurations: BTreeMap<String, Vec<Arc<Hook>>>,
    /// Made by the first reader after a change.
    hooks: OnceLock<Hooks>,
}

impl Reflect for Configured {
    fn set(&mut self, _: usize, key: &str, object: Option<&Value>) {
        self.hooks = OnceLock::new();
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
    fn hooks(&self) -> &Hooks {
        self.hooks.get_or_init(|| Hooks::new(self.configurations.values().flatten().cloned().collect()))
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
        configured.read(|configured| !configured.hooks().candidates(operation, target).is_empty())
    }

    /// Returns the candidates for a kind of request. Errors if the configurations cannot be loaded.
    pub(super) async fn candidates(&self, operation: Operation, target: &Target) -> Result<Arc<[Candidate]>> {
        let Some(configured) = &self.configured else { return Ok(Arc::default()) };
        configured.ready().await?;
        Ok(configured.read(|configured| configured.hooks().candidates(operation, target)))
    }
}
