//! The index of permissions by subject.
//!
//! ```text
//! scope (the cluster, or a namespace) -> user or group -> bindings, by name -> role -> rules
//! ```
//!
//! A request looks into the cluster's scope and its namespace's, once for the user and once for each of its groups. Bindings
//! of others and of other namespaces are never seen. A binding points at a place for its role, whether the role is there
//! or not, so a role that changes is what all its bindings lead to from then on.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use pintle_meta::{Value, quote};
use smol_str::{SmolStr, format_smolstr};

use super::rule::{Compiled, Rule, Wanted};
use crate::{Attributes, User, Verdict};

/// Roles, bindings and the way from one to the other.
#[derive(Debug, Default)]
pub struct Policy {
    roles: Places,
    cluster: Scope,
    namespaces: HashMap<SmolStr, Scope>,
    /// How often something has changed.
    changes: u64,
}

/// The bindings of a namespace, or those of the cluster.
#[derive(Debug, Default)]
struct Scope {
    bindings: HashMap<SmolStr, Arc<Binding>>,
    /// By name; a service account is the user that it acts as.
    users: HashMap<SmolStr, Vec<Grant>>,
    groups: HashMap<SmolStr, Vec<Grant>>,
}

/// A binding of a subject, in a list sorted by the names of bindings.
#[derive(Debug)]
struct Grant {
    binding: Arc<Binding>,
    /// Which of the binding's subjects is meant, the first where it is several.
    subject: u32,
}

#[derive(Debug)]
struct Binding {
    name: SmolStr,
    /// Empty for the whole cluster.
    namespace: SmolStr,
    role: Referred,
    subjects: Box<[Subject]>,
}

#[derive(Debug)]
enum Referred {
    At(usize),
    /// To something of another kind.
    Unknown(SmolStr),
}

#[derive(Debug)]
struct Subject {
    kind: SmolStr,
    name: SmolStr,
    namespace: SmolStr,
    /// The reason of requests that it allows, made on first use.
    reason: OnceLock<SmolStr>,
}

/// The role that a binding refers to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct RoleKey {
    is_cluster: bool,
    namespace: SmolStr,
    name: SmolStr,
}

/// Places for roles, which bindings know by number.
#[derive(Debug, Default)]
struct Places {
    by_key: HashMap<RoleKey, usize>,
    places: Vec<RoleEntry>,
    free: Vec<usize>,
}

#[derive(Debug)]
struct RoleEntry {
    key: RoleKey,
    /// `None`: there is no such role.
    rules: Option<Box<[Compiled]>>,
    bindings: usize,
}

impl Policy {
    /// Takes in a `Role`, or a `ClusterRole` where the namespace is empty; nothing means that it is gone.
    pub fn set_role(&mut self, namespace: &str, name: &str, role: Option<&Value>) {
        self.changes += 1;
        let key =
            RoleKey { is_cluster: namespace.is_empty(), namespace: namespace.into(), name: name.into() };
        let rules = role.map(|role| Rule::read_all(role).into_iter().map(Compiled::new).collect());
        self.roles.set(key, rules);
    }

    /// Takes in a `RoleBinding`, or a `ClusterRoleBinding` where the namespace is empty.
    pub fn set_binding(&mut self, namespace: &str, name: &str, binding: Option<&Value>) {
        self.changes += 1;
        self.remove_binding(namespace, name);
        let Some(binding) = binding else { return };
        let binding = Arc::new(self.read_binding(namespace, name, binding));
        let scope = match namespace {
            "" => &mut self.cluster,
            namespace => self.namespaces.entry(namespace.into()).or_default(),
        };
        scope.add(&binding);
    }

    /// Forgets the roles of the cluster, or those of all namespaces.
    pub fn clear_roles(&mut self, of_cluster: bool) {
        self.changes += 1;
        for place in 0..self.roles.places.len() {
            if self.roles.places[place].key.is_cluster == of_cluster {
                self.roles.places[place].rules = None;
                self.roles.release(place, 0);
            }
        }
    }

    /// Forgets the bindings of the cluster, or those of all namespaces.
    pub fn clear_bindings(&mut self, of_cluster: bool) {
        self.changes += 1;
        let scopes: Vec<Scope> = if of_cluster {
            vec![std::mem::take(&mut self.cluster)]
        } else {
            std::mem::take(&mut self.namespaces).into_values().collect()
        };
        for binding in scopes.iter().flat_map(|scope| scope.bindings.values()) {
            self.roles.leave(&binding.role);
        }
    }

    /// Incremented by every change, so that a caller that found nothing can tell whether to look again.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// Whether some binding allows it, and which.
    pub fn authorize(&self, attributes: &Attributes<'_>) -> Verdict {
        let (wanted, user) = (Wanted::new(attributes), attributes.user);
        let mut missing = Vec::new();
        for scope in self.scopes(attributes.namespace) {
            for grant in scope.grants(user).flatten() {
                match self.rules(&grant.binding) {
                    Some(rules) if rules.iter().any(|rule| rule.allows(&wanted)) => {
                        return Verdict::allow(self.reason(scope, user, grant));
                    }
                    Some(_) => {}
                    None => missing.push(&*grant.binding),
                }
            }
        }
        match self.failure(&missing, None) {
            None => Verdict::no_opinion(""),
            Some(failure) => Verdict::no_opinion(format!("RBAC: {failure}")),
        }
    }

    /// All rules of a user in a namespace (or only the cluster's, where it is empty), by the names of their bindings; and
    /// what could not be found out. Roles that are missing are then called as `resource`, or else what they are.
    pub fn rules_of(
        &self,
        user: &User,
        namespace: &str,
        resource: Option<&str>,
    ) -> (Vec<&Rule>, Option<String>) {
        let (mut rules, mut missing) = (Vec::new(), Vec::new());
        for scope in self.scopes(namespace) {
            let mut bindings: Vec<&Binding> =
                scope.grants(user).flatten().map(|grant| &*grant.binding).collect();
            bindings.sort_unstable_by(|a, b| a.name.cmp(&b.name));
            bindings.dedup_by(|a, b| a.name == b.name);
            for binding in bindings {
                match self.rules(binding) {
                    Some(found) => rules.extend(found.iter().map(|compiled| &compiled.rule)),
                    None => missing.push(binding),
                }
            }
        }
        let failure = self.failure(&missing, resource);
        (rules, failure)
    }

    /// The rules of a role of a namespace, or of a role of the cluster. `None` if there is no such role.
    pub fn rules_of_role(&self, namespace: Option<&str>, name: &str) -> Option<Vec<Rule>> {
        let key = RoleKey {
            is_cluster: namespace.is_none(),
            namespace: namespace.unwrap_or_default().into(),
            name: name.into(),
        };
        let place = self.roles.by_key.get(&key)?;
        let rules = self.roles.places[*place].rules.as_ref()?;
        Some(rules.iter().map(|compiled| compiled.rule.clone()).collect())
    }

    /// Where a request may find bindings: everywhere there is something for the whole cluster, then in its namespace.
    fn scopes(&self, namespace: &str) -> impl Iterator<Item = &Scope> {
        let own = if namespace.is_empty() { None } else { self.namespaces.get(namespace) };
        std::iter::once(&self.cluster).chain(own)
    }

    fn rules(&self, binding: &Binding) -> Option<&[Compiled]> {
        match binding.role {
            Referred::At(place) => self.roles.places[place].rules.as_deref(),
            Referred::Unknown(_) => None,
        }
    }

    /// Returns the errors of bindings with a missing role, each text once.
    fn failure(&self, bindings: &[&Binding], resource: Option<&str>) -> Option<String> {
        let mut seen = HashSet::new();
        let texts = bindings.iter().map(|binding| match &binding.role {
            Referred::Unknown(kind) => format!("unsupported role reference kind: {}", quote(kind)),
            Referred::At(place) => {
                let key = &self.roles.places[*place].key;
                let kind = resource.unwrap_or(if key.is_cluster { "clusterrole" } else { "role" });
                format!("{kind}.rbac.authorization.k8s.io {} not found", quote(&key.name))
            }
        });
        let texts: Vec<String> = texts.filter(|text| seen.insert(text.clone())).collect();
        match texts.as_slice() {
            [] => None,
            [one] => Some(one.clone()),
            several => Some(format!("[{}]", several.join(", "))),
        }
    }

    /// Names the first subject of the binding that is this user or one of its groups.
    fn reason(&self, scope: &Scope, user: &User, grant: &Grant) -> SmolStr {
        let binding = &grant.binding;
        let first = scope.grants(user).filter_map(|grants| {
            let place = grants.binary_search_by(|other| other.binding.name.cmp(&binding.name)).ok()?;
            Some(grants[place].subject)
        });
        let place = first.min().unwrap_or(grant.subject) as usize;
        let Some(subject) = binding.subjects.get(place) else { return SmolStr::default() };
        let reason = || {
            let (role, subject) = (self.describe_role(binding), subject.describe(binding));
            let (kind, name) = match binding.namespace.as_str() {
                "" => ("ClusterRoleBinding", quote(&binding.name)),
                namespace => ("RoleBinding", quote(&format!("{}/{namespace}", binding.name))),
            };
            format_smolstr!("RBAC: allowed by {kind} {name} of {role} to {subject}")
        };
        subject.reason.get_or_init(reason).clone()
    }

    fn describe_role(&self, binding: &Binding) -> String {
        match &binding.role {
            Referred::Unknown(kind) => format!("{kind} \"\""),
            Referred::At(place) => {
                let key = &self.roles.places[*place].key;
                let kind = if key.is_cluster { "ClusterRole" } else { "Role" };
                format!("{kind} {}", quote(&key.name))
            }
        }
    }

    fn remove_binding(&mut self, namespace: &str, name: &str) {
        let scope = match namespace {
            "" => Some(&mut self.cluster),
            namespace => self.namespaces.get_mut(namespace),
        };
        let Some(scope) = scope else { return };
        let Some(binding) = scope.remove(name) else { return };
        if scope.bindings.is_empty() && !namespace.is_empty() {
            self.namespaces.remove(namespace);
        }
        self.roles.leave(&binding.role);
    }

    fn read_binding(&mut self, namespace: &str, name: &str, binding: &Value) -> Binding {
        let kind = binding.text_at(&["roleRef", "kind"]);
        let role: SmolStr = binding.text_at(&["roleRef", "name"]).into();
        let role = match kind {
            "Role" => {
                let key = RoleKey { is_cluster: false, namespace: namespace.into(), name: role };
                Referred::At(self.roles.refer(key))
            }
            "ClusterRole" => {
                let key = RoleKey { is_cluster: true, namespace: SmolStr::default(), name: role };
                Referred::At(self.roles.refer(key))
            }
            other => Referred::Unknown(other.into()),
        };
        let subjects = binding.items_at(&["subjects"]).iter().map(|subject| Subject {
            kind: subject.text_at(&["kind"]).into(),
            name: subject.text_at(&["name"]).into(),
            namespace: subject.text_at(&["namespace"]).into(),
            reason: OnceLock::new(),
        });
        Binding { name: name.into(), namespace: namespace.into(), role, subjects: subjects.collect() }
    }
}

impl Scope {
    /// The bindings for a user itself, and for each of its groups.
    fn grants<'a>(&'a self, user: &'a User) -> impl Iterator<Item = &'a [Grant]> {
        let groups = user.groups.iter().filter_map(|group| self.groups.get(group.as_str()));
        self.users.get(user.name.as_str()).into_iter().chain(groups).map(Vec::as_slice)
    }

    fn list(
        &mut self,
        subject: &Subject,
        binding: &Binding,
    ) -> Option<(&mut HashMap<SmolStr, Vec<Grant>>, SmolStr)> {
        match subject.kind.as_str() {
            "User" => Some((&mut self.users, subject.name.clone())),
            "Group" => Some((&mut self.groups, subject.name.clone())),
            "ServiceAccount" => {
                let namespace = subject.account_namespace(binding);
                // In the whole cluster there is no namespace that it could be meant in.
                if namespace.is_empty() {
                    return None;
                }
                Some((&mut self.users, format_smolstr!("system:serviceaccount:{namespace}:{}", subject.name)))
            }
            _ => None,
        }
    }

    fn add(&mut self, binding: &Arc<Binding>) {
        for (place, subject) in binding.subjects.iter().enumerate() {
            let Some((lists, name)) = self.list(subject, binding) else { continue };
            let grants = lists.entry(name).or_default();
            // The same subject may be there twice; the first counts.
            if let Err(at) = grants.binary_search_by(|other| other.binding.name.cmp(&binding.name)) {
                let subject = place.try_into().unwrap_or(u32::MAX);
                grants.insert(at, Grant { binding: binding.clone(), subject });
            }
        }
        self.bindings.insert(binding.name.clone(), binding.clone());
    }

    fn remove(&mut self, name: &str) -> Option<Arc<Binding>> {
        let binding = self.bindings.remove(name)?;
        for subject in &binding.subjects {
            let Some((lists, name)) = self.list(subject, &binding) else { continue };
            let Some(grants) = lists.get_mut(&name) else { continue };
            if let Ok(at) = grants.binary_search_by(|other| other.binding.name.cmp(&binding.name)) {
                grants.remove(at);
            }
            if grants.is_empty() {
                lists.remove(&name);
            }
        }
        Some(binding)
    }
}

impl Subject {
    /// A service account that says no namespace is of the binding's.
    fn account_namespace<'a>(&'a self, binding: &'a Binding) -> &'a str {
        if self.namespace.is_empty() { &binding.namespace } else { &self.namespace }
    }

    fn describe(&self, binding: &Binding) -> String {
        match self.kind.as_str() {
            "ServiceAccount" => {
                let name = format!("{}/{}", self.name, self.account_namespace(binding));
                format!("{} {}", self.kind, quote(&name))
            }
            kind => format!("{kind} {}", quote(&self.name)),
        }
    }
}

impl Places {
    /// The place of a role for one more binding.
    fn refer(&mut self, key: RoleKey) -> usize {
        let place = self.place(key);
        self.places[place].bindings += 1;
        place
    }

    fn leave(&mut self, role: &Referred) {
        if let Referred::At(place) = role {
            self.release(*place, 1);
        }
    }

    fn set(&mut self, key: RoleKey, rules: Option<Box<[Compiled]>>) {
        if rules.is_none() && !self.by_key.contains_key(&key) {
            return;
        }
        let place = self.place(key);
        self.places[place].rules = rules;
        self.release(place, 0);
    }

    fn place(&mut self, key: RoleKey) -> usize {
        if let Some(place) = self.by_key.get(&key) {
            return *place;
        }
        let new = RoleEntry { key: key.clone(), rules: None, bindings: 0 };
        let place = match self.free.pop() {
            Some(place) => {
                self.places[place] = new;
                place
            }
            None => {
                self.places.push(new);
                self.places.len() - 1
            }
        };
        self.by_key.insert(key, place);
        place
    }

    /// Releases some bindings of a role; a slot without bindings is free for another role.
    fn release(&mut self, place: usize, bindings: usize) {
        let found = &mut self.places[place];
        found.bindings -= bindings;
        // It may be free already.
        if found.bindings == 0 && found.rules.is_none() && self.by_key.get(&found.key) == Some(&place) {
            self.by_key.remove(&found.key);
            self.free.push(place);
        }
    }
}
