//! The webhooks or policies that a kind of request can match, found once for each kind of request.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, PoisonError, RwLock};

use crate::attributes::{Operation, Target};

/// Kinds of requests that are remembered. There are a few hundred resources with at most four operations each.
const MOST_REMEMBERED: usize = 4096;

/// Targets of one resource that differ in their equivalents, as those of a definition that changes.
const MOST_OF_ONE_HASH: usize = 8;

/// Everything that requests can match, in order.
#[derive(Debug)]
pub(crate) struct Candidates<T> {
    all: Vec<T>,
    hasher: RandomState,
    /// By the hash of the kind of request.
    known: RwLock<HashMap<u64, Vec<Remembered<T>>>>,
}

#[derive(Debug)]
struct Remembered<T> {
    operation: Operation,
    target: Target,
    candidates: Arc<[T]>,
}

impl<T> Remembered<T> {
    /// The target of an endpoint is mostly the very same one; that of a changed definition differs in its equivalents.
    fn is_of(&self, operation: Operation, target: &Target) -> bool {
        self.operation == operation
            && self.target.resource == target.resource
            && self.target.subresource == target.subresource
            && (Arc::ptr_eq(&self.target.equivalents, &target.equivalents)
                || self.target.equivalents == target.equivalents)
    }
}

impl<T: Clone> Candidates<T> {
    pub(crate) fn new(all: Vec<T>) -> Candidates<T> {
        Candidates { all, hasher: RandomState::new(), known: RwLock::default() }
    }

    /// Returns those that `may_match` accepts, in order. It must depend on nothing but the operation and the target.
    pub(crate) fn find(
        &self,
        operation: Operation,
        target: &Target,
        may_match: impl Fn(&T) -> bool,
    ) -> Arc<[T]> {
        if self.all.is_empty() {
            return Arc::default();
        }
        let hash = self.hasher.hash_one((operation, &target.resource, &target.subresource));
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let all = known.get(&hash);
        if let Some(found) = all.and_then(|all| all.iter().find(|known| known.is_of(operation, target))) {
            return found.candidates.clone();
        }
        drop(known);
        let candidates: Arc<[T]> =
            self.all.iter().filter(|candidate| may_match(candidate)).cloned().collect();
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST_REMEMBERED {
            known.clear();
        }
        let remembered = Remembered { operation, target: target.clone(), candidates: candidates.clone() };
        let same_hash = known.entry(hash).or_default();
        if same_hash.len() >= MOST_OF_ONE_HASH {
            same_hash.clear();
        }
        same_hash.push(remembered);
        candidates
    }
}
