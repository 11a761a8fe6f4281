//! Lookups in the index while roles and bindings change.

use pintle_meta::Value;
use pintle_meta::value::Object;
use smol_str::SmolStr;

use super::*;
use crate::Decision;

pub(super) fn object(entries: &[(&'static str, Value)]) -> Value {
    let entries = entries.iter().map(|(key, value)| ((*key).into(), value.clone())).collect();
    Value::object(Object::from_unsorted(entries))
}

fn texts(items: &[&str]) -> Value {
    Value::list(items.iter().map(Value::string).collect())
}

/// A role with one rule about resources of the core group.
pub(super) fn role(verbs: &[&str], resources: &[&str]) -> Value {
    let rule =
        object(&[("verbs", texts(verbs)), ("apiGroups", texts(&[""])), ("resources", texts(resources))]);
    object(&[("rules", Value::list(vec![rule]))])
}

/// `User alice`, `Group devs`, `ServiceAccount name/namespace`, `ServiceAccount name`.
pub(super) fn binding(role: &str, subjects: &[&str]) -> Value {
    let subjects = subjects.iter().map(|subject| {
        let (kind, name) = subject.split_once(' ').unwrap();
        let (name, namespace) = name.split_once('/').unwrap_or((name, ""));
        object(&[("kind", kind.into()), ("name", name.into()), ("namespace", namespace.into())])
    });
    let (kind, name) = role.split_once(' ').unwrap();
    object(&[
        ("subjects", Value::list(subjects.collect())),
        (
            "roleRef",
            object(&[
                ("apiGroup", "rbac.authorization.k8s.io".into()),
                ("kind", kind.into()),
                ("name", name.into()),
            ]),
        ),
    ])
}

pub(super) fn user(name: &str, groups: &[&str]) -> User {
    User { name: name.into(), groups: groups.iter().map(|&group| group.into()).collect(), ..User::default() }
}

fn ask(policy: &Policy, user: &User, verb: &str, namespace: &str, resource: &str) -> Verdict {
    policy.authorize(&Attributes { namespace, ..Attributes::of_resource(user, verb, "", resource) })
}

/// The reason why it is allowed; the one why not, after a minus.
fn why(policy: &Policy, user: &User, verb: &str, namespace: &str, resource: &str) -> SmolStr {
    let verdict = ask(policy, user, verb, namespace, resource);
    match verdict.decision {
        Decision::Allow => verdict.reason,
        _ => format!("-{}", verdict.reason).into(),
    }
}

#[test]
fn a_role_in_a_namespace_counts_there_only() {
    let mut policy = Policy::default();
    policy.set_role("n", "r", Some(&role(&["get"], &["pods"])));
    policy.set_binding("n", "b", Some(&binding("Role r", &["User alice"])));
    let alice = user("alice", &[]);
    assert_eq!(
        why(&policy, &alice, "get", "n", "pods"),
        r#"RBAC: allowed by RoleBinding "b/n" of Role "r" to User "alice""#
    );
    for (user, verb, namespace, resource) in [
        (&alice, "get", "other", "pods"),
        (&alice, "get", "", "pods"),
        (&alice, "list", "n", "pods"),
        (&alice, "get", "n", "secrets"),
        (&user("bob", &["alice"]), "get", "n", "pods"),
    ] {
        assert_eq!(why(&policy, user, verb, namespace, resource), "-");
    }
}

#[test]
fn a_binding_of_the_cluster_counts_everywhere() {
    let mut policy = Policy::default();
    policy.set_role("", "view", Some(&role(&["get"], &["nodes"])));
    policy.set_binding("", "b", Some(&binding("ClusterRole view", &["Group devs"])));
    let bob = user("bob", &["ops", "devs"]);
    let reason = r#"RBAC: allowed by ClusterRoleBinding "b" of ClusterRole "view" to Group "devs""#;
    assert_eq!(why(&policy, &bob, "get", "", "nodes"), reason);
    assert_eq!(why(&policy, &bob, "get", "n", "nodes"), reason);
    assert_eq!(why(&policy, &user("bob", &["ops"]), "get", "", "nodes"), "-");
}

#[test]
fn a_role_of_the_cluster_may_be_given_in_one_namespace() {
    let mut policy = Policy::default();
    policy.set_role("", "view", Some(&role(&["get"], &["pods"])));
    policy.set_role("n", "view", Some(&role(&["delete"], &["pods"])));
    policy.set_binding("n", "b", Some(&binding("ClusterRole view", &["User alice"])));
    let alice = user("alice", &[]);
    assert_eq!(
        why(&policy, &alice, "get", "n", "pods"),
        r#"RBAC: allowed by RoleBinding "b/n" of ClusterRole "view" to User "alice""#
    );
    assert_eq!(why(&policy, &alice, "delete", "n", "pods"), "-");
    assert_eq!(why(&policy, &alice, "get", "m", "pods"), "-");
}

#[test]
fn service_accounts_are_of_the_binding_s_namespace_unless_they_say_another() {
    let mut policy = Policy::default();
    policy.set_role("", "r", Some(&role(&["get"], &["pods"])));
    policy.set_binding(
        "n",
        "b",
        Some(&binding("ClusterRole r", &["ServiceAccount a", "ServiceAccount c/m"])),
    );
    policy.set_binding("", "b", Some(&binding("ClusterRole r", &["ServiceAccount nowhere"])));
    let account =
        |namespace: &str, name: &str| user(&format!("system:serviceaccount:{namespace}:{name}"), &[]);
    assert_eq!(
        why(&policy, &account("n", "a"), "get", "n", "pods"),
        r#"RBAC: allowed by RoleBinding "b/n" of ClusterRole "r" to ServiceAccount "a/n""#
    );
    assert_eq!(
        why(&policy, &account("m", "c"), "get", "n", "pods"),
        r#"RBAC: allowed by RoleBinding "b/n" of ClusterRole "r" to ServiceAccount "c/m""#
    );
    for other in [account("m", "a"), account("n", "c"), account("", "nowhere"), user("a", &[])] {
        assert_eq!(why(&policy, &other, "get", "n", "pods"), "-");
    }
}

#[test]
fn the_first_subject_that_is_meant_is_named() {
    let mut policy = Policy::default();
    policy.set_role("", "r", Some(&role(&["get"], &["pods"])));
    let subjects = ["Group ops", "Group devs", "User bob", "Group devs"];
    policy.set_binding("", "b", Some(&binding("ClusterRole r", &subjects)));
    let named = |user: &User| why(&policy, user, "get", "", "pods").rsplit(" to ").next().unwrap().to_owned();
    assert_eq!(named(&user("bob", &["devs"])), "Group \"devs\"");
    assert_eq!(named(&user("bob", &["devs", "ops"])), "Group \"ops\"");
    assert_eq!(named(&user("bob", &[])), "User \"bob\"");
}

#[test]
fn roles_that_are_missing_are_named_once_each() {
    let mut policy = Policy::default();
    policy.set_binding("", "b1", Some(&binding("ClusterRole x", &["User alice"])));
    policy.set_binding("", "b2", Some(&binding("ClusterRole x", &["User alice"])));
    let alice = user("alice", &[]);
    let missing = r#"clusterrole.rbac.authorization.k8s.io "x" not found"#;
    assert_eq!(why(&policy, &alice, "get", "n", "pods"), format!("-RBAC: {missing}"));
    policy.set_binding("n", "b", Some(&binding("Role y", &["User alice"])));
    policy.set_binding("n", "c", Some(&binding("Robot z", &["User alice"])));
    let several = format!(
        r#"[{missing}, role.rbac.authorization.k8s.io "y" not found, unsupported role reference kind: "Robot"]"#
    );
    assert_eq!(why(&policy, &alice, "get", "n", "pods"), format!("-RBAC: {several}"));
    assert_eq!(policy.rules_of(&alice, "n", None), (Vec::new(), Some(several)));
    // The other bindings still count.
    policy.set_role("n", "y", Some(&role(&["get"], &["pods"])));
    assert!(ask(&policy, &alice, "get", "n", "pods").is_allowed());
}

#[test]
fn a_role_that_changes_reaches_all_its_bindings() {
    let mut policy = Policy::default();
    let alice = user("alice", &[]);
    for namespace in ["a", "b"] {
        policy.set_binding(namespace, "x", Some(&binding("ClusterRole r", &["User alice"])));
    }
    let allowed = |policy: &Policy, verb| {
        ["a", "b"].map(|namespace| ask(policy, &alice, verb, namespace, "pods").is_allowed())
    };
    assert_eq!(allowed(&policy, "get"), [false; 2]);
    policy.set_role("", "r", Some(&role(&["get"], &["pods"])));
    assert_eq!(allowed(&policy, "get"), [true; 2]);
    policy.set_role("", "r", Some(&role(&["list"], &["pods"])));
    assert_eq!((allowed(&policy, "get"), allowed(&policy, "list")), ([false; 2], [true; 2]));
    policy.set_role("", "r", None);
    assert_eq!(allowed(&policy, "list"), [false; 2]);
    // Others may take a place that is free; bindings must not come to lead there.
    policy.set_binding("a", "x", None);
    policy.set_binding("b", "x", None);
    policy.set_role("", "other", Some(&role(&["get"], &["pods"])));
    policy.set_binding("a", "x", Some(&binding("ClusterRole r", &["User alice"])));
    assert_eq!(allowed(&policy, "get"), [false; 2]);
}

#[test]
fn a_binding_that_changes_is_for_others() {
    let mut policy = Policy::default();
    policy.set_role("", "r", Some(&role(&["get"], &["pods"])));
    policy.set_binding("n", "b", Some(&binding("ClusterRole r", &["User alice", "Group devs"])));
    policy.set_binding("n", "b", Some(&binding("ClusterRole r", &["User carol"])));
    let allowed = |policy: &Policy, user: &User| ask(policy, user, "get", "n", "pods").is_allowed();
    assert!(!allowed(&policy, &user("alice", &["devs"])) && allowed(&policy, &user("carol", &[])));
    policy.set_binding("n", "b", None);
    policy.set_binding("n", "b", None);
    assert!(!allowed(&policy, &user("carol", &[])));
}

#[test]
fn cleared_objects_come_back_when_they_are_set() {
    let mut policy = Policy::default();
    let set = |policy: &mut Policy| {
        policy.set_role("", "r", Some(&role(&["get"], &["pods"])));
        policy.set_role("n", "r", Some(&role(&["list"], &["pods"])));
        policy.set_binding("", "b", Some(&binding("ClusterRole r", &["User alice"])));
        policy.set_binding("n", "b", Some(&binding("Role r", &["User alice"])));
    };
    let alice = user("alice", &[]);
    let allowed =
        |policy: &Policy| ["get", "list"].map(|verb| ask(policy, &alice, verb, "n", "pods").is_allowed());
    set(&mut policy);
    for (clear, left) in [
        ((|policy| policy.clear_roles(true)) as fn(&mut Policy), [false, true]),
        (|policy| policy.clear_roles(false), [true, false]),
        (|policy| policy.clear_bindings(true), [false, true]),
        (|policy| policy.clear_bindings(false), [true, false]),
    ] {
        assert_eq!(allowed(&policy), [true, true]);
        clear(&mut policy);
        assert_eq!(allowed(&policy), left);
        set(&mut policy);
    }
}

#[test]
fn rules_come_by_the_names_of_their_bindings_and_once_per_binding() {
    let mut policy = Policy::default();
    for name in ["a", "b", "c"] {
        policy.set_role("", name, Some(&role(&["get"], &[name])));
    }
    policy.set_binding("n", "0", Some(&binding("ClusterRole c", &["User alice"])));
    policy.set_binding("", "2", Some(&binding("ClusterRole a", &["User alice", "Group devs"])));
    policy.set_binding("", "1", Some(&binding("ClusterRole b", &["Group devs"])));
    let (rules, failure) = policy.rules_of(&user("alice", &["devs"]), "n", None);
    let resources: Vec<&str> = rules.iter().map(|rule| rule.resources[0].as_str()).collect();
    assert_eq!((resources, failure), (vec!["b", "a", "c"], None));
    assert_eq!(policy.rules_of(&user("alice", &[]), "", None).0.len(), 1);
}

/// Against what the reference does, which looks at every binding: the same answer, whatever comes and goes.
#[test]
fn the_index_agrees_with_a_search_of_all_bindings() {
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = |below: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        usize::try_from(random % below as u64).unwrap()
    };
    const NAMES: [&str; 4] = ["a", "b", "c", "d"];
    const VERBS: [&str; 3] = ["get", "list", "bind"];
    const SUBJECTS: [&str; 6] =
        ["User a", "User b", "Group a", "Group b", "ServiceAccount a", "ServiceAccount a/b"];
    let mut policy = Policy::default();
    let mut roles = std::collections::HashMap::<(&str, &str), &str>::new();
    let mut bindings = std::collections::HashMap::<(&str, &str), (String, Vec<&str>)>::new();
    for step in 0..4000 {
        let namespace = ["", "a", "b"][next(3)];
        let name = NAMES[next(4)];
        match next(4) {
            0 => {
                roles.remove(&(namespace, name));
                policy.set_role(namespace, name, None);
            }
            1 => {
                let verb = VERBS[next(3)];
                roles.insert((namespace, name), verb);
                policy.set_role(namespace, name, Some(&role(&[verb], &["pods"])));
            }
            2 => {
                bindings.remove(&(namespace, name));
                policy.set_binding(namespace, name, None);
            }
            _ => {
                let kind = if namespace.is_empty() || next(2) == 0 { "ClusterRole" } else { "Role" };
                let to = format!("{kind} {}", NAMES[next(4)]);
                let subjects: Vec<&str> = (0..next(4)).map(|_| SUBJECTS[next(6)]).collect();
                policy.set_binding(namespace, name, Some(&binding(&to, &subjects)));
                bindings.insert((namespace, name), (to, subjects));
            }
        }
        let asking =
            [user("a", &["b"]), user("b", &["a"]), user("system:serviceaccount:b:a", &[])][next(3)].clone();
        let (verb, within) = (VERBS[next(3)], ["", "a", "b"][next(3)]);
        let expected = bindings.iter().any(|((namespace, _), (to, subjects))| {
            let (kind, name) = to.split_once(' ').unwrap();
            let of = if kind == "Role" { *namespace } else { "" };
            let is_meant = subjects.iter().any(|subject| {
                let (kind, name) = subject.split_once(' ').unwrap();
                match kind {
                    "User" => asking.name == name,
                    "Group" => asking.is_in(name),
                    _ => {
                        let (name, own) = name.split_once('/').unwrap_or((name, namespace));
                        !own.is_empty() && asking.name == format!("system:serviceaccount:{own}:{name}")
                    }
                }
            });
            let name = NAMES.iter().find(|known| **known == name).unwrap();
            is_meant
                && (namespace.is_empty() || *namespace == within)
                && roles.get(&(of, *name)) == Some(&verb)
        });
        assert_eq!(ask(&policy, &asking, verb, within, "pods").is_allowed(), expected, "step {step}");
    }
}
