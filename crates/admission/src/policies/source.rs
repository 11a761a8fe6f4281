//! The policies with their bindings, of the API and of files, and those that a kind of request can match.
//!
//! Policies are compiled by a task as soon as they are stored. A request that matches a policy which is not compiled yet does
//! not wait for the task but compiles this one, so that a policy counts for the next request after its write was answered.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use pintle_cache::{Interest, Next};
use pintle_meta::{Value, quote};
use pintle_registry::{Mirror, Reflect, Replaced, Store};
use pintle_runtime::Clock;

use super::binding::Binding;
use super::configuration::static_manifests_dir;
use super::params::ParamKind;
use super::{excluded, is_configuration, manifests};
use crate::Result;
use crate::attributes::{Operation, Target};
use crate::chain::Cluster;
use crate::expressions::{COMPILED_BYTE, Compiler};
use crate::manifests::{ManifestRules, Objects, StaticManifests};
use crate::matching::{Candidates, Predicate};
use crate::objects::Resource;
use crate::plugin::InitError;

/// Delay after which loading the policies is tried again.
const RETRY: Duration = Duration::from_secs(1);

/// A kind of policy, by its compiled form.
pub(crate) trait Compiled: Send + Sync + Sized + 'static {
    /// The resources of policies and of their bindings.
    const RESOURCES: [Resource; 2];
    /// The rules of policies that are files.
    const MANIFESTS: &'static ManifestRules;

    /// Compiles a policy. Errors of its expressions are part of the result.
    fn compile(policy: &Value, compiler: &Compiler) -> Self;
}

/// A stored policy.
pub(crate) struct Policy<C> {
    pub(crate) name: String,
    spec: Value,
    /// `matchConstraints`, or what is wrong with them.
    pub(crate) predicate: Result<Predicate, String>,
    pub(crate) param_kind: Option<ParamKind>,
    pub(crate) ignores_failures: bool,
    compiled: OnceLock<Arc<C>>,
}

/// A policy with its bindings, by name.
pub(crate) struct Hook<C> {
    pub(crate) policy: Arc<Policy<C>>,
    pub(crate) bindings: Vec<Arc<Binding>>,
}

impl<C: Compiled> Policy<C> {
    fn read(policy: &Value) -> Policy<C> {
        let spec = policy.get("spec").cloned().unwrap_or_default();
        let predicate = match spec.get("matchConstraints").filter(|constraints| !constraints.is_null()) {
            Some(constraints) => {
                selectors_present(constraints).map(|()| Predicate::of_match_resources(constraints))
            }
            None => Err("policy contained no match constraints, a required field".to_owned()),
        };
        Policy {
            name: policy.name().to_owned(),
            predicate,
            param_kind: spec.get("paramKind").filter(|kind| !kind.is_null()).map(ParamKind::read),
            ignores_failures: spec.text_at(&["failurePolicy"]) == "Ignore",
            spec,
            compiled: OnceLock::new(),
        }
    }

    /// Returns the size of all expressions.
    fn text_size(&self) -> usize {
        let lists = ["variables", "matchConditions", "validations", "auditAnnotations"];
        let items = lists.iter().flat_map(|list| self.spec.items_at(&[list]));
        let texts = items.flat_map(|item| {
            ["expression", "messageExpression", "valueExpression"].map(|field| item.text_at(&[field]).len())
        });
        let mutations = self.spec.items_at(&["mutations"]).iter().flat_map(|mutation| {
            ["applyConfiguration", "jsonPatch"].map(|kind| mutation.text_at(&[kind, "expression"]).len())
        });
        texts.chain(mutations).sum()
    }

    fn may_match(&self, operation: Operation, target: &Target) -> bool {
        // Constraints that cannot be read are an error of every request.
        self.predicate.as_ref().map_or(true, |predicate| predicate.may_match(operation, target))
    }

    #[cfg(test)]
    pub(crate) fn is_compiled(&self) -> bool {
        self.compiled.get().is_some()
    }

    fn compile(&self, compiler: &Compiler) -> Arc<C> {
        let policy = Value::from(pintle_meta::Object::from_iter([("spec", self.spec.clone())]));
        Arc::new(C::compile(&policy, compiler))
    }
}

/// Defaulting gives every policy and binding both selectors.
pub(super) fn selectors_present(constraints: &Value) -> Result<(), String> {
    for (field, name) in [("namespaceSelector", "namespace"), ("objectSelector", "object")] {
        if constraints.get(field).is_none_or(Value::is_null) {
            return Err(format!(
                "a nil {name} selector was passed, please ensure selectors are initialized properly"
            ));
        }
    }
    Ok(())
}

/// The place of policies in the mirror; bindings are the other resource.
const POLICIES: usize = 0;

/// Policies and bindings by name.
struct Stored<C> {
    policies: BTreeMap<String, Arc<Policy<C>>>,
    /// The bindings of each policy.
    bindings: HashMap<String, BTreeMap<String, Arc<Binding>>>,
    /// The policy of each binding.
    bound: HashMap<String, String>,
    /// Made by the first reader after a change.
    candidates: OnceLock<Candidates<Arc<Hook<C>>>>,
    /// The policies before a [`Reflect::clear`], until all are set again.
    cleared: BTreeMap<String, Arc<Policy<C>>>,
    replaced: Vec<Part<C>>,
}

/// A policy that is no more, and candidates that may refer to it.
type Part<C> = (Option<Arc<Policy<C>>>, OnceLock<Candidates<Arc<Hook<C>>>>);

impl<C> Default for Stored<C> {
    fn default() -> Stored<C> {
        Stored {
            policies: BTreeMap::new(),
            bindings: HashMap::new(),
            bound: HashMap::new(),
            candidates: OnceLock::new(),
            cleared: BTreeMap::new(),
            replaced: Vec::new(),
        }
    }
}

impl<C: Compiled> Reflect for Stored<C> {
    fn set(&mut self, resource: usize, key: &str, object: Option<&Value>) {
        match (resource, object) {
            (POLICIES, Some(policy)) => self.set_policy(key, policy),
            (POLICIES, None) => {
                let policy = self.policies.remove(key);
                self.replace(policy);
            }
            (_, binding) => self.set_binding(key, binding),
        }
    }

    fn clear(&mut self, resource: usize) {
        self.replace(None);
        match resource {
            POLICIES => {
                let mut policies = std::mem::take(&mut self.policies);
                self.cleared.append(&mut policies);
            }
            _ => {
                self.bindings.clear();
                self.bound.clear();
            }
        }
    }

    fn reloaded(&mut self, resource: usize) {
        if resource == POLICIES {
            for gone in std::mem::take(&mut self.cleared).into_values() {
                self.replace(Some(gone));
            }
        }
    }

    fn replaced(&mut self) -> Option<Replaced> {
        let replaced = std::mem::take(&mut self.replaced);
        (!replaced.is_empty()).then(|| Box::new(replaced) as Replaced)
    }
}

impl<C: Compiled> Stored<C> {
    /// A write that leaves the spec as it is, such as one of the status, changes nothing.
    fn set_policy(&mut self, name: &str, policy: &Value) {
        let is_same = |known: &Arc<Policy<C>>| Some(&known.spec) == policy.get("spec");
        if self.policies.get(name).is_some_and(is_same) {
            return;
        }
        let cleared = self.cleared.remove(name);
        let (kept, gone) = match cleared {
            Some(cleared) if is_same(&cleared) => (Some(cleared), None),
            cleared => (None, cleared),
        };
        let kept = kept.unwrap_or_else(|| Arc::new(Policy::read(policy)));
        let before = self.policies.insert(name.to_owned(), kept).or(gone);
        self.replace(before);
    }

    /// A policy is no more; who matches is found anew.
    fn replace(&mut self, policy: Option<Arc<Policy<C>>>) {
        self.replaced.push((policy, std::mem::take(&mut self.candidates)));
    }

    fn set_binding(&mut self, name: &str, binding: Option<&Value>) {
        self.replace(None);
        if let Some(policy) = self.bound.remove(name)
            && let Some(bindings) = self.bindings.get_mut(&policy)
        {
            bindings.remove(name);
            if bindings.is_empty() {
                self.bindings.remove(&policy);
            }
        }
        let Some(binding) = binding else { return };
        let policy = binding.text_at(&["spec", "policyName"]).to_owned();
        self.bound.insert(name.to_owned(), policy.clone());
        self.bindings.entry(policy).or_default().insert(name.to_owned(), Arc::new(Binding::read(binding)));
    }

    /// Returns the policies that a kind of request can match, by name. Policies without bindings match nothing.
    fn find(&self, operation: Operation, target: &Target) -> Arc<[Arc<Hook<C>>]> {
        let candidates = self.candidates.get_or_init(|| {
            let hook = |policy: &Arc<Policy<C>>| {
                let bindings = self.bindings.get(&policy.name)?.values().cloned().collect();
                Some(Arc::new(Hook { policy: policy.clone(), bindings }))
            };
            Candidates::new(self.policies.values().filter_map(hook).collect())
        });
        candidates.find(operation, target, |hook| hook.policy.may_match(operation, target))
    }

    fn uncompiled(&self) -> Vec<Arc<Policy<C>>> {
        let all = self.policies.values();
        all.filter(|policy| policy.compiled.get().is_none()).cloned().collect()
    }
}

/// Compiles the policies of manifests. Policies without bindings match nothing.
fn of_files<C: Compiled>(objects: &Objects) -> Candidates<Arc<Hook<C>>> {
    let compiler = Compiler::default();
    let hook = |(policy, bindings): (&Value, Vec<&Value>)| {
        let policy = Policy::read(policy);
        let compiled = policy.compile(&compiler);
        policy.compiled.get_or_init(|| compiled);
        let bindings = bindings.into_iter().map(|binding| Arc::new(Binding::read(binding))).collect();
        Arc::new(Hook { policy: Arc::new(policy), bindings })
    };
    let bound = manifests::bound(objects).filter(|(_, bindings)| !bindings.is_empty());
    Candidates::new(bound.map(hook).collect())
}

/// The policies of one kind. Those of files come before those of the API.
pub(crate) struct PolicySource<C> {
    /// `None` where policies are not served.
    mirror: Option<Mirror<Stored<C>>>,
    manifests: Option<StaticManifests<Candidates<Arc<Hook<C>>>>>,
    compiler: Compiler,
}

impl<C: Compiled> PolicySource<C> {
    /// Returns the policies of a plugin, and starts the task that compiles those of the API. Errors if the configuration of the
    /// plugin is wrong or its manifests cannot be used.
    pub(crate) fn start(cluster: &Cluster) -> Result<Arc<PolicySource<C>>, InitError> {
        let rules = C::MANIFESTS;
        let folder = static_manifests_dir(rules.plugin, cluster)?;
        let manifests = Some(folder).filter(|folder| !folder.is_empty()).map(|folder| {
            let loaded = StaticManifests::start(&folder, rules, cluster, of_files);
            loaded.map_err(|why| {
                let folder = quote(&folder);
                InitError::Initialization(format!(
                    "failed to load static policy manifests from {folder}: {why}"
                ))
            })
        });
        let manifests = manifests.transpose()?;
        let [policies, bindings] = C::RESOURCES.map(|resource| cluster.stores.get(resource).cloned());
        let stores = policies.zip(bindings);
        let mirror = stores
            .clone()
            .map(|(policies, bindings)| Mirror::new(vec![policies, bindings], Stored::default()));
        let source = Arc::new(PolicySource { mirror, manifests, compiler: Compiler::default() });
        if let Some((policies, _)) = stores {
            let (compiling, clock) = (source.clone(), cluster.clock.clone());
            cluster
                .spawner
                .spawn_until_stop(async move { compiling.compile_changes(&policies, &clock).await });
        }
        Ok(source)
    }

    fn of_files(&self, operation: Operation, target: &Target) -> Arc<[Arc<Hook<C>>]> {
        let Some(manifests) = &self.manifests else { return Arc::default() };
        manifests.current().find(operation, target, |hook| hook.policy.may_match(operation, target))
    }

    /// Returns the stored policies, unless they do not see requests for this resource.
    fn stored(&self, target: &Target) -> Option<&Mirror<Stored<C>>> {
        self.mirror.as_ref().filter(|_| !is_configuration(target))
    }

    /// Reports whether there are candidates for a kind of request; true until that is known.
    pub(crate) fn has_candidates(&self, operation: Operation, target: &Target) -> bool {
        if excluded(target) {
            return false;
        }
        if !self.of_files(operation, target).is_empty() {
            return true;
        }
        let Some(mirror) = self.stored(target) else { return false };
        !mirror.is_loaded() || mirror.read(|stored| !stored.find(operation, target).is_empty())
    }

    /// Returns the candidates for a kind of request. Errors if the policies cannot be loaded.
    pub(crate) async fn candidates(
        &self,
        operation: Operation,
        target: &Target,
    ) -> Result<Arc<[Arc<Hook<C>>]>> {
        let of_files = self.of_files(operation, target);
        let Some(mirror) = self.stored(target) else { return Ok(of_files) };
        mirror.ready().await?;
        let stored = mirror.read(|stored| stored.find(operation, target));
        if of_files.is_empty() {
            return Ok(stored);
        }
        Ok(of_files.iter().chain(&*stored).cloned().collect())
    }

    /// Returns the compiled form of a policy; compiles it if the task has not done so yet.
    pub(crate) async fn compiled<'p>(&self, policy: &'p Policy<C>) -> &'p Arc<C> {
        if let Some(compiled) = policy.compiled.get() {
            return compiled;
        }
        pintle_work::aside(policy.text_size().saturating_mul(COMPILED_BYTE)).await;
        let compiled = pintle_work::run(|| policy.compile(&self.compiler)).await;
        policy.compiled.get_or_init(|| compiled)
    }

    /// Compiles all policies, and then those that change.
    async fn compile_changes(self: &Arc<Self>, policies: &Arc<Store>, clock: &Clock) {
        loop {
            let watch = policies.cache().ready().await;
            let watch = watch.and_then(|()| policies.cache().snapshot_and_watch(Interest::Everything));
            let Ok((_, mut cursor)) = watch else {
                clock.sleep(RETRY).await;
                continue;
            };
            loop {
                self.compile_all().await;
                if matches!(cursor.next().await, Next::Expired) {
                    break;
                }
            }
        }
    }

    async fn compile_all(self: &Arc<Self>) {
        let Some(mirror) = &self.mirror else { return };
        let policies = mirror.read(Stored::uncompiled);
        if policies.is_empty() {
            return;
        }
        let source = self.clone();
        let compile = move || {
            for policy in policies {
                if policy.compiled.get().is_none() {
                    let compiled = policy.compile(&source.compiler);
                    policy.compiled.get_or_init(|| compiled);
                }
            }
        };
        // Only fails if the runtime ends.
        let _ = tokio::task::spawn_blocking(compile).await;
    }
}

#[cfg(test)]
#[path = "source_tests.rs"]
mod tests;
