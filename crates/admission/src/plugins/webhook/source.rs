//! The webhooks of all configurations in the order of their calls, and those that a kind of request can match. Those of files
//! come before those of the API.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use pintle_meta::Value;
use pintle_registry::{Mirror, Reflect, Replaced, Store};

use super::hook::Hook;
use crate::Result;
use crate::attributes::{Operation, Target};
use crate::manifests::StaticManifests;
use crate::matching::Candidates;

/// A webhook that a kind of request can match, with its place among all webhooks.
#[derive(Clone)]
pub(super) struct Candidate {
    pub(super) index: usize,
    pub(super) hook: Arc<Hook>,
}

/// Webhooks in order.
pub(super) struct Hooks {
    len: usize,
    candidates: Candidates<Candidate>,
}

impl Hooks {
    fn new(hooks: impl Iterator<Item = Arc<Hook>>) -> Hooks {
        let hooks: Vec<Candidate> =
            hooks.enumerate().map(|(index, hook)| Candidate { index, hook }).collect();
        Hooks { len: hooks.len(), candidates: Candidates::new(hooks) }
    }

    /// Reads the webhooks of configurations that are files.
    pub(super) fn of_files<'a>(configurations: impl Iterator<Item = &'a Value>) -> Hooks {
        Hooks::new(configurations.flat_map(|one| Hook::read_all(one, "manifest/", &[])))
    }

    fn find(&self, operation: Operation, target: &Target) -> Arc<[Candidate]> {
        let may_match = |candidate: &Candidate| candidate.hook.predicate.may_match(operation, target);
        self.candidates.find(operation, target, may_match)
    }
}

/// The webhooks of stored configurations.
#[derive(Default)]
struct Configured {
    /// By name, which is their order.
    configurations: BTreeMap<String, Vec<Arc<Hook>>>,
    /// Made by the first reader after a change.
    hooks: OnceLock<Hooks>,
    /// The configurations before a [`Reflect::clear`], until all are set again.
    cleared: BTreeMap<String, Vec<Arc<Hook>>>,
    replaced: Vec<(Vec<Arc<Hook>>, OnceLock<Hooks>)>,
}

impl Reflect for Configured {
    /// A write that leaves the webhooks as they are, such as one of an annotation, changes nothing.
    fn set(&mut self, _: usize, key: &str, object: Option<&Value>) {
        let before = self.configurations.remove(key).or_else(|| self.cleared.remove(key));
        let had = before.is_some();
        let before = before.unwrap_or_default();
        let Some(configuration) = object else {
            return self.replace(before);
        };
        let hooks = Hook::read_all(configuration, "", &before);
        let is_same = |(known, hook): (&Arc<Hook>, &Arc<Hook>)| Arc::ptr_eq(known, hook);
        let unchanged = had && before.len() == hooks.len() && before.iter().zip(&hooks).all(is_same);
        self.configurations.insert(key.to_owned(), hooks);
        if !unchanged {
            self.replace(before);
        }
    }

    fn clear(&mut self, _: usize) {
        let mut configurations = std::mem::take(&mut self.configurations);
        self.cleared.append(&mut configurations);
        self.replace(Vec::new());
    }

    fn reloaded(&mut self, _: usize) {
        for hooks in std::mem::take(&mut self.cleared).into_values() {
            self.replace(hooks);
        }
    }

    fn replaced(&mut self) -> Option<Replaced> {
        let replaced = std::mem::take(&mut self.replaced);
        (!replaced.is_empty()).then(|| Box::new(replaced) as Replaced)
    }
}

impl Configured {
    /// Webhooks are no more; who matches is found anew.
    fn replace(&mut self, webhooks: Vec<Arc<Hook>>) {
        self.replaced.push((webhooks, std::mem::take(&mut self.hooks)));
    }

    fn find(&self, operation: Operation, target: &Target) -> Arc<[Candidate]> {
        let hooks = self.hooks.get_or_init(|| Hooks::new(self.configurations.values().flatten().cloned()));
        hooks.find(operation, target)
    }
}

/// Where webhooks come from.
pub(super) struct Source {
    /// `None` where configurations are not served.
    configured: Option<Mirror<Configured>>,
    /// Configurations that are files.
    manifests: Option<StaticManifests<Hooks>>,
}

impl Source {
    pub(super) fn new(store: Option<Arc<Store>>, manifests: Option<StaticManifests<Hooks>>) -> Source {
        let mirror = |store| Mirror::new(vec![store], Configured::default());
        Source { configured: store.map(mirror), manifests }
    }

    /// Reports whether there are candidates for a kind of request; true until that is known. Only webhooks of files see
    /// requests for objects that configure admission.
    pub(super) fn has_candidates(&self, operation: Operation, target: &Target) -> bool {
        let finds =
            |manifests: &StaticManifests<Hooks>| !manifests.current().find(operation, target).is_empty();
        if self.manifests.as_ref().is_some_and(finds) {
            return true;
        }
        let Some(configured) = self.configured.as_ref().filter(|_| !is_exempt(target)) else { return false };
        if !configured.is_loaded() {
            return true;
        }
        configured.read(|configured| !configured.find(operation, target).is_empty())
    }

    /// Returns the candidates for a kind of request. Errors if the configurations cannot be loaded.
    pub(super) async fn candidates(&self, operation: Operation, target: &Target) -> Result<Arc<[Candidate]>> {
        let manifests = self.manifests.as_ref().map(StaticManifests::current);
        let of_files = manifests.as_ref().map(|hooks| hooks.find(operation, target)).unwrap_or_default();
        let Some(configured) = self.configured.as_ref().filter(|_| !is_exempt(target)) else {
            return Ok(of_files);
        };
        configured.ready().await?;
        let stored = configured.read(|configured| configured.find(operation, target));
        let first = manifests.map_or(0, |hooks| hooks.len);
        if first == 0 {
            return Ok(stored);
        }
        let stored = stored
            .iter()
            .map(|candidate| Candidate { index: first + candidate.index, hook: candidate.hook.clone() });
        Ok(of_files.iter().cloned().chain(stored).collect())
    }
}

/// Objects that configure admission are not admitted by what they configure: nobody could repair a webhook that rejects them.
fn is_exempt(target: &Target) -> bool {
    target.kind.group == "admissionregistration.k8s.io"
        && matches!(
            target.kind.kind.as_str(),
            "ValidatingWebhookConfiguration"
                | "MutatingWebhookConfiguration"
                | "ValidatingAdmissionPolicy"
                | "ValidatingAdmissionPolicyBinding"
                | "MutatingAdmissionPolicy"
                | "MutatingAdmissionPolicyBinding"
        )
}
