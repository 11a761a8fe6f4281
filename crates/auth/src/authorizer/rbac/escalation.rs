//! Prevention of privilege escalation: the writer of a role must have all its permissions, the writer of a binding those of its
//! role.
//!
//! Two verbs lift this: `escalate` on roles, and `bind` on the role that is bound.

use std::collections::BTreeSet;
use std::sync::Arc;

use pintle_meta::{Value, quote, quote_all};

use super::covers::{compacted, uncovered};
use super::rule::{ALL, Rule};
use super::{Policy, Source};
use crate::{Attributes, Authorizer, PRIVILEGED_GROUP, User};

const GROUP: &str = "rbac.authorization.k8s.io";

/// A role or binding that is about to be written.
#[derive(Clone, Copy, Debug)]
pub struct Write<'a> {
    pub user: &'a User,
    /// `roles`, `clusterrolebindings`...
    pub resource: &'a str,
    /// Namespace of the request; empty for a cluster-scoped resource.
    pub namespace: &'a str,
    /// Name in the request's path; empty for a creation.
    pub name: &'a str,
    pub new: &'a Value,
    pub old: Option<&'a Value>,
}

/// Why it may not be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    Forbidden(String),
    /// The role that a binding is to is not there.
    NotFound {
        namespaced: bool,
        name: String,
    },
    /// It cannot be understood.
    Failed(String),
}

/// Asks about writes of roles and bindings.
pub struct Escalation<S> {
    source: S,
    authorizer: Arc<dyn Authorizer>,
}

impl<S: Source> Escalation<S> {
    /// `authorizer` is the union of all authorizers, which decides about `escalate` and `bind`.
    pub fn new(source: S, authorizer: Arc<dyn Authorizer>) -> Escalation<S> {
        Escalation { source, authorizer }
    }

    /// Whether it may be written.
    pub async fn check(&self, write: &Write<'_>) -> Result<(), Refusal> {
        if write.user.is_in(PRIVILEGED_GROUP) {
            return Ok(());
        }
        match write.resource {
            "roles" | "clusterroles" => self.check_role(write).await,
            _ => self.check_binding(write).await,
        }
    }

    async fn check_role(&self, write: &Write<'_>) -> Result<(), Refusal> {
        if self.allows(write, "escalate", GROUP, write.resource, write.name).await {
            return Ok(());
        }
        if only_changes_ownership(write) {
            return Ok(());
        }
        self.current().await?;
        self.source.read(|policy| {
            check_rules(policy, write, &Rule::read_all(write.new))?;
            // An aggregated role can get any rule, so its writer needs all of them.
            if is_aggregate(write.new) || write.old.is_some_and(is_aggregate) {
                let why = "must have cluster-admin privileges to use the aggregationRule";
                check_rules(policy, write, &everything()).map_err(|_| Refusal::Forbidden(why.into()))?;
            }
            Ok(())
        })
    }

    async fn check_binding(&self, write: &Write<'_>) -> Result<(), Refusal> {
        if only_changes_ownership(write) {
            return Ok(());
        }
        let role = |field| write.new.text_at(&["roleRef", field]);
        let (kind, name) = (role("kind"), role("name"));
        let resource = match kind {
            "Role" => "roles",
            "ClusterRole" => "clusterroles",
            kind => {
                return Err(Refusal::Failed(format!("unsupported role reference kind: {}", quote(kind))));
            }
        };
        if self.allows(write, "bind", role("apiGroup"), resource, name).await {
            return Ok(());
        }
        self.current().await?;
        let namespace = (kind == "Role").then_some(write.namespace);
        self.source.read(|policy| match policy.rules_of_role(namespace, name) {
            Some(rules) => check_rules(policy, write, &rules),
            None => Err(Refusal::NotFound { namespaced: namespace.is_some(), name: name.into() }),
        })
    }

    /// Whether the user has a right that spares them the question.
    async fn allows(&self, write: &Write<'_>, verb: &str, group: &str, resource: &str, name: &str) -> bool {
        let attributes = Attributes {
            version: ALL,
            namespace: write.namespace,
            name,
            ..Attributes::of_resource(write.user, verb, group, resource)
        };
        self.authorizer.authorize(&attributes).await.is_allowed()
    }

    async fn current(&self) -> Result<(), Refusal> {
        if self.source.ready().await && self.source.current().await {
            Ok(())
        } else {
            Err(Refusal::Failed("roles and bindings cannot be read".into()))
        }
    }
}

/// Whether the user holds all these rules where the object is.
fn check_rules(policy: &Policy, write: &Write<'_>, rules: &[Rule]) -> Result<(), Refusal> {
    let (held, failure) = policy.rules_of(write.user, write.namespace, Some(write.resource));
    let missing = uncovered(&held, rules);
    if missing.is_empty() {
        return Ok(());
    }
    let missing: BTreeSet<String> = compacted(missing).iter().map(Rule::compact).collect();
    let missing: Vec<String> = missing.into_iter().collect();
    let failure = failure.map_or_else(String::new, |failure| format!("; resolution errors: [{failure}]"));
    Err(Refusal::Forbidden(format!(
        "user {} (groups={}) is attempting to grant RBAC permissions not currently held:\n{}{failure}",
        quote(&write.user.name),
        quote_all(&write.user.groups),
        missing.join("\n")
    )))
}

fn everything() -> [Rule; 2] {
    let all = || [ALL.into()].into();
    [
        Rule { verbs: all(), groups: all(), resources: all(), ..Rule::default() },
        Rule { verbs: all(), paths: all(), ..Rule::default() },
    ]
}

fn is_aggregate(role: &Value) -> bool {
    !role.items_at(&["aggregationRule", "clusterRoleSelectors"]).is_empty()
}

/// Whether only those fields change that garbage collection writes.
fn only_changes_ownership(write: &Write<'_>) -> bool {
    const FIELDS: [&str; 4] = ["ownerReferences", "finalizers", "selfLink", "managedFields"];
    let Some(old) = write.old else { return false };
    let bare = |object: &Value| {
        let mut object = object.clone();
        if let Some(metadata) = object.metadata_mut() {
            for field in FIELDS {
                metadata.remove(field);
            }
        }
        object
    };
    bare(write.new) == bare(old)
}

#[cfg(test)]
mod tests {
    use super::super::policy_tests::{binding, object, role, user};
    use super::super::{Policy, Rbac};
    use super::*;

    /// A policy that does not change.
    #[derive(Clone)]
    struct Fixed(Arc<Policy>);

    impl Source for Fixed {
        async fn ready(&self) -> bool {
            true
        }

        async fn catch_up(&self) {}

        async fn current(&self) -> bool {
            true
        }

        fn read<R>(&self, read: impl FnOnce(&Policy) -> R) -> R {
            read(&self.0)
        }
    }

    fn escalation(set: impl FnOnce(&mut Policy)) -> Escalation<Fixed> {
        let mut policy = Policy::default();
        set(&mut policy);
        let source = Fixed(Arc::new(policy));
        Escalation::new(source.clone(), Arc::new(Rbac::new(source)))
    }

    async fn write(
        escalation: &Escalation<Fixed>,
        user: &User,
        resource: &str,
        new: &Value,
        old: Option<&Value>,
    ) -> Result<(), Refusal> {
        let namespace = if resource.starts_with("cluster") { "" } else { "n" };
        let name = if old.is_some() { "x" } else { "" };
        escalation.check(&Write { user, resource, namespace, name, new, old }).await
    }

    /// Alice may get and list pods in a namespace.
    fn alice(policy: &mut Policy) {
        policy.set_role("n", "reader", Some(&role(&["get", "list"], &["pods"])));
        policy.set_binding("n", "alice", Some(&binding("Role reader", &["User alice"])));
    }

    /// A rule of the group of roles.
    fn right(verb: &str, resource: &str) -> Value {
        let list = |text: &str| Value::list(vec![text.into()]);
        let rule =
            object(&[("verbs", list(verb)), ("apiGroups", list(GROUP)), ("resources", list(resource))]);
        object(&[("rules", Value::list(vec![rule]))])
    }

    fn forbidden(missing: &str) -> Result<(), Refusal> {
        Err(Refusal::Forbidden(format!(
            "user \"alice\" (groups=[\"devs\" \"system:authenticated\"]) is attempting to grant RBAC permissions not \
             currently held:\n{missing}"
        )))
    }

    #[tokio::test]
    async fn a_role_needs_its_own_permissions_or_the_verb_escalate() {
        let escalation = escalation(alice);
        let alice = user("alice", &["devs", "system:authenticated"]);
        assert_eq!(write(&escalation, &alice, "roles", &role(&["get"], &["pods"]), None).await, Ok(()));
        let wanted = role(&["get", "delete", "create"], &["secrets", "pods"]);
        assert_eq!(
            write(&escalation, &alice, "roles", &wanted, None).await,
            forbidden(concat!(
                "{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"delete\" \"create\"]}\n",
                "{APIGroups:[\"\"], Resources:[\"secrets\"], Verbs:[\"get\" \"delete\" \"create\"]}"
            ))
        );
        // A permission in a namespace is not one in the cluster.
        let whole = write(&escalation, &alice, "clusterroles", &role(&["get"], &["pods"]), None).await;
        assert_eq!(whole, forbidden("{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"get\"]}"));
        let master = user("root", &[PRIVILEGED_GROUP]);
        assert_eq!(write(&escalation, &master, "clusterroles", &wanted, None).await, Ok(()));
    }

    #[tokio::test]
    async fn the_verb_escalate_lifts_the_check() {
        let escalation = escalation(|policy| {
            policy.set_role("n", "escalator", Some(&right("escalate", "roles")));
            policy.set_binding("n", "alice", Some(&binding("Role escalator", &["User alice"])));
        });
        let alice = user("alice", &[]);
        let wanted = role(&["*"], &["*"]);
        assert_eq!(write(&escalation, &alice, "roles", &wanted, None).await, Ok(()));
        assert!(write(&escalation, &alice, "clusterroles", &wanted, None).await.is_err());
    }

    #[tokio::test]
    async fn a_binding_needs_the_permissions_of_its_role_or_the_verb_bind() {
        let escalation = escalation(|policy| {
            alice(policy);
            policy.set_role("n", "big", Some(&role(&["get"], &["secrets"])));
            policy.set_role("", "view", Some(&role(&["get"], &["secrets"])));
            policy.set_role("n", "binder", Some(&right("bind", "clusterroles")));
            policy.set_binding("n", "bob", Some(&binding("Role binder", &["User bob"])));
        });
        let alice = user("alice", &["devs", "system:authenticated"]);
        let bind = async |who: &User, role: &str, old: Option<&Value>| {
            write(&escalation, who, "rolebindings", &binding(role, &["User carol"]), old).await
        };
        assert_eq!(bind(&alice, "Role reader", None).await, Ok(()));
        let missing = "{APIGroups:[\"\"], Resources:[\"secrets\"], Verbs:[\"get\"]}";
        assert_eq!(bind(&alice, "Role big", None).await, forbidden(missing));
        assert_eq!(
            bind(&alice, "Role big", Some(&binding("Role big", &["User dave"]))).await,
            forbidden(missing)
        );
        assert_eq!(
            bind(&alice, "Role missing", None).await,
            Err(Refusal::NotFound { namespaced: true, name: "missing".into() })
        );
        assert_eq!(
            bind(&alice, "Robot x", None).await,
            Err(Refusal::Failed("unsupported role reference kind: \"Robot\"".into()))
        );
        let bob = user("bob", &[]);
        assert_eq!(bind(&bob, "ClusterRole view", None).await, Ok(()));
        assert_eq!(bind(&bob, "ClusterRole not-there-yet", None).await, Ok(()));
        assert!(bind(&bob, "Role big", None).await.is_err());
        // A new owner reference grants nothing.
        let same = binding("Role big", &["User carol"]);
        assert_eq!(bind(&alice, "Role big", Some(&same)).await, Ok(()));
    }

    #[tokio::test]
    async fn an_aggregate_takes_everything() {
        let aggregate = |rules: Value| {
            let selectors = object(&[("clusterRoleSelectors", Value::list(vec![object(&[])]))]);
            let mut role = object(&[("aggregationRule", selectors)]);
            role.as_object_mut().unwrap().insert("rules", rules.get("rules").unwrap().clone());
            role
        };
        let held = role(&["get"], &["pods"]);
        let escalation = escalation(|policy| {
            policy.set_role("", "r", Some(&held));
            policy.set_binding("", "alice", Some(&binding("ClusterRole r", &["User alice"])));
        });
        let alice = user("alice", &[]);
        let refusal =
            Err(Refusal::Forbidden("must have cluster-admin privileges to use the aggregationRule".into()));
        let whole = aggregate(held.clone());
        assert_eq!(write(&escalation, &alice, "clusterroles", &held, None).await, Ok(()));
        assert_eq!(write(&escalation, &alice, "clusterroles", &whole, None).await, refusal);
        assert_eq!(write(&escalation, &alice, "clusterroles", &held, Some(&whole)).await, refusal);
    }

    #[tokio::test]
    async fn an_error_of_the_relations_is_returned() {
        let escalation = escalation(|policy| {
            policy.set_binding("", "b", Some(&binding("ClusterRole gone", &["User alice"])));
        });
        let alice = user("alice", &["devs", "system:authenticated"]);
        assert_eq!(
            write(&escalation, &alice, "roles", &role(&["get"], &["pods"]), None).await,
            forbidden(concat!(
                "{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"get\"]}; resolution errors: ",
                "[roles.rbac.authorization.k8s.io \"gone\" not found]"
            ))
        );
    }
}
