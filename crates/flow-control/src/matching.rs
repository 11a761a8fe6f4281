//! Matching: the flow schema of a request.
//!
//! The rules of all flow schemas are numbered in the order in which they are tried. An index has, for every user, group and service
//! account that a rule names, the numbers of these rules, so that a request looks only at rules of its own user.

use std::collections::HashMap;
use std::sync::Arc;

use crate::level::Level;
use crate::metrics::{FlowMetrics, Metrics};
use crate::spec::{Distinguisher, LevelSpec, Names, Path, PathRule, ResourceRule, Rule, SchemaSpec, Subject};
use crate::{Digest, Response};

const SERVICE_ACCOUNT: &str = "system:serviceaccount:";

/// A flow schema in effect.
pub(crate) struct Schema {
    pub(crate) name: Box<str>,
    pub(crate) uid: Box<str>,
    pub(crate) level: Arc<Level>,
    /// The UID of the level's object, empty without an object.
    level_uid: Box<str>,
    pub(crate) is_exempt: bool,
    /// `None` also where the level has no queues among which flows could be divided.
    pub(crate) distinguisher: Option<Distinguisher>,
    pub(crate) metrics: FlowMetrics,
}

/// The flow schema and priority level of a request.
#[derive(Clone)]
pub struct Classification(pub(crate) Arc<Schema>);

/// All flow schemas in effect.
pub(crate) struct Matcher {
    pub(crate) schemas: Vec<Arc<Schema>>,
    rules: Vec<CompiledRule>,
    everyone: Vec<usize>,
    users: HashMap<Box<str>, Vec<usize>>,
    groups: HashMap<Box<str>, Vec<usize>>,
    /// By namespace.
    service_accounts: HashMap<Box<str>, Vec<usize>>,
}

struct CompiledRule {
    schema: usize,
    resources: Vec<ResourceRule>,
    paths: Vec<PathRule>,
}

impl Classification {
    pub fn schema_name(&self) -> &str {
        &self.0.name
    }

    pub fn schema_uid(&self) -> &str {
        &self.0.uid
    }

    pub fn level_name(&self) -> &str {
        &self.0.level.name
    }

    pub fn level_uid(&self) -> &str {
        &self.0.level_uid
    }

    /// Returns whether requests of the priority level are never refused.
    pub fn is_exempt(&self) -> bool {
        self.0.is_exempt
    }
}

impl Matcher {
    /// Compiles flow schemas, which are in the order in which they are tried, with their levels.
    pub(crate) fn new(specs: Vec<(&SchemaSpec, &LevelSpec, Arc<Level>)>, metrics: &Metrics) -> Matcher {
        let mut matcher = Matcher {
            schemas: Vec::with_capacity(specs.len()),
            rules: Vec::new(),
            everyone: Vec::new(),
            users: HashMap::new(),
            groups: HashMap::new(),
            service_accounts: HashMap::new(),
        };
        for (spec, level_spec, level) in specs {
            let has_flows = matches!(level_spec.response, Response::Queue { queues, .. } if queues > 1);
            matcher.schemas.push(Arc::new(Schema {
                name: spec.name.as_str().into(),
                uid: spec.uid.as_str().into(),
                level_uid: level_spec.uid.as_str().into(),
                is_exempt: level_spec.response == Response::Exempt,
                distinguisher: spec.distinguisher.filter(|_| has_flows),
                metrics: metrics.flow(&level.name, &spec.name),
                level,
            }));
            spec.rules.iter().for_each(|rule| matcher.add(rule));
        }
        matcher
    }

    fn add(&mut self, rule: &Rule) {
        let number = self.rules.len();
        for subject in &rule.subjects {
            let numbers = match subject {
                Subject::Everyone => &mut self.everyone,
                Subject::User(name) => self.users.entry(name.as_str().into()).or_default(),
                Subject::Group(name) => self.groups.entry(name.as_str().into()).or_default(),
                Subject::ServiceAccount { namespace, name } => {
                    let user = format!("{SERVICE_ACCOUNT}{namespace}:{name}");
                    self.users.entry(user.into()).or_default()
                }
                Subject::ServiceAccounts { namespace } => {
                    self.service_accounts.entry(namespace.as_str().into()).or_default()
                }
            };
            if numbers.last() != Some(&number) {
                numbers.push(number);
            }
        }
        self.rules.push(CompiledRule {
            schema: self.schemas.len().saturating_sub(1),
            resources: rule.resources.clone(),
            paths: rule.paths.clone(),
        });
    }

    /// Returns the first flow schema that matches; the last one, which is the catch-all, if none does.
    pub(crate) fn find(&self, digest: &Digest<'_>) -> Option<&Arc<Schema>> {
        let mut first = self.rules.len();
        self.look(&self.everyone, digest, &mut first);
        let user = digest.user;
        if let Some(rules) = self.users.get(user.name.as_str()) {
            self.look(rules, digest, &mut first);
        }
        for group in &user.groups {
            if let Some(rules) = self.groups.get(group.as_str()) {
                self.look(rules, digest, &mut first);
            }
        }
        if !self.service_accounts.is_empty()
            && let Some((namespace, _)) =
                user.name.strip_prefix(SERVICE_ACCOUNT).and_then(|account| account.split_once(':'))
            && let Some(rules) = self.service_accounts.get(namespace)
        {
            self.look(rules, digest, &mut first);
        }
        match self.rules.get(first) {
            Some(rule) => self.schemas.get(rule.schema),
            None => self.schemas.last(),
        }
    }

    /// Lowers `first` to the first of these rules that matches.
    fn look(&self, rules: &[usize], digest: &Digest<'_>, first: &mut usize) {
        let earlier = rules.iter().take_while(|number| **number < *first);
        for number in earlier {
            if self.rules.get(*number).is_some_and(|rule| rule.matches(digest)) {
                *first = *number;
                return;
            }
        }
    }
}

impl CompiledRule {
    fn matches(&self, digest: &Digest<'_>) -> bool {
        if digest.is_resource {
            self.resources.iter().any(|rule| rule.matches(digest))
        } else {
            self.paths.iter().any(|rule| rule.matches(digest))
        }
    }
}

impl ResourceRule {
    fn matches(&self, digest: &Digest<'_>) -> bool {
        self.verbs.contain(digest.verb)
            && self.resources.contain_resource(digest.resource, digest.subresource)
            && self.groups.contain(digest.group)
            && match digest.namespace {
                "" => self.cluster_scope,
                namespace => Names::contain(&self.namespaces, namespace),
            }
    }
}

impl PathRule {
    fn matches(&self, digest: &Digest<'_>) -> bool {
        self.verbs.contain(digest.verb)
            && self.paths.iter().any(|rule| match rule {
                Path::All => true,
                Path::Under { path, below } => path == digest.path || digest.path.starts_with(below.as_str()),
            })
    }
}
