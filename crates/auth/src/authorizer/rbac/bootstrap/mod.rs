//! The roles and bindings that every cluster has.
//!
//! Tables, in which lists are words: `"get list watch"`. The group without a name is `core`. A word may end with `@` and the
//! feature gate without which it is not there.

mod components;
mod controllers;
mod namespaces;
#[cfg(test)]
mod tests;
mod users;

use std::borrow::Cow;
use std::fmt::Write as _;

use pintle_features::{Feature, Features};

const READ: &str = "get list watch";
const WRITE: &str = "create delete deletecollection patch update";
const READ_WRITE: &str = "create delete deletecollection get list patch update watch";
const READ_UPDATE: &str = "get list patch update watch";

/// The rule of components that write events.
const EVENTS: RoleRule = rule("create patch update", "core events.k8s.io", "events");

/// Prefix of the roles of controllers.
const CONTROLLER: &str = "system:controller:";

/// Label and annotation of every object. With the annotation set to `false`, the object is not reconciled.
const LABEL: &str = r#""kubernetes.io/bootstrapping":"rbac-defaults""#;
const ANNOTATION: &str = r#""rbac.authorization.kubernetes.io/autoupdate":"true""#;
const AGGREGATE_TO: &str = "rbac.authorization.k8s.io/aggregate-to-";

#[derive(Clone, Copy, Debug)]
struct Role {
    name: &'static str,
    rules: &'static [RoleRule],
    /// The role that its rules become part of.
    part_of: &'static str,
    /// Whether it is made of the rules of others.
    is_aggregate: bool,
    /// Features without which it is not there.
    features: &'static [Feature],
}

#[derive(Clone, Copy, Debug)]
struct RoleRule {
    verbs: &'static str,
    groups: &'static str,
    resources: &'static str,
    names: &'static str,
    paths: &'static str,
    feature: Option<Feature>,
}

struct Binding {
    namespace: &'static str,
    name: &'static str,
    role: &'static str,
    users: &'static str,
    groups: &'static str,
    /// Roles of `kube-system`.
    accounts: &'static str,
    features: &'static [Feature],
}

const fn role(name: &'static str, rules: &'static [RoleRule]) -> Role {
    Role { name, rules, part_of: "", is_aggregate: false, features: &[] }
}

const fn aggregate(name: &'static str) -> Role {
    Role { is_aggregate: true, ..role(name, &[]) }
}

const fn rule(verbs: &'static str, groups: &'static str, resources: &'static str) -> RoleRule {
    RoleRule { verbs, groups, resources, names: "", paths: "", feature: None }
}

const fn named(
    verbs: &'static str,
    groups: &'static str,
    resources: &'static str,
    names: &'static str,
) -> RoleRule {
    RoleRule { names, ..rule(verbs, groups, resources) }
}

const fn urls(verbs: &'static str, paths: &'static str) -> RoleRule {
    RoleRule { paths, ..rule(verbs, "", "") }
}

const fn when(
    feature: Feature,
    verbs: &'static str,
    groups: &'static str,
    resources: &'static str,
) -> RoleRule {
    RoleRule { feature: Some(feature), ..rule(verbs, groups, resources) }
}

impl Role {
    const fn part_of(self, part_of: &'static str) -> Role {
        Role { part_of, ..self }
    }

    const fn when(self, features: &'static [Feature]) -> Role {
        Role { features, ..self }
    }
}

/// A binding of the cluster's that is called like its role.
const fn binding(role: &'static str, users: &'static str, groups: &'static str) -> Binding {
    Binding { namespace: "", name: role, role, users, groups, accounts: "", features: &[] }
}

const BINDINGS: &[Binding] = &[
    binding("cluster-admin", "", "system:masters"),
    binding("system:monitoring", "", "system:monitoring"),
    binding("system:discovery", "", "system:authenticated"),
    binding("system:basic-user", "", "system:authenticated"),
    binding("system:public-info-viewer", "", "system:authenticated system:unauthenticated"),
    binding("system:node-proxier", "system:kube-proxy", ""),
    binding("system:kube-controller-manager", "system:kube-controller-manager", ""),
    Binding { accounts: "kube-dns", ..binding("system:kube-dns", "", "") },
    binding("system:kube-scheduler", "system:kube-scheduler", ""),
    binding("system:volume-scheduler", "system:kube-scheduler", ""),
    // Without subjects, since the node authorizer decides about nodes. Cluster operators may add the group of nodes.
    binding("system:node", "", ""),
    binding("system:service-account-issuer-discovery", "", "system:serviceaccounts"),
    Binding {
        features: &[Feature::ClusterTrustBundle],
        ..binding("system:cluster-trust-bundle-discovery", "", "system:serviceaccounts")
    },
    Binding {
        namespace: "kube-system",
        name: "system::extension-apiserver-authentication-reader",
        ..binding(
            "extension-apiserver-authentication-reader",
            "system:kube-controller-manager system:kube-scheduler",
            "",
        )
    },
    Binding {
        namespace: "kube-system",
        accounts: "kube-controller-manager leader-election-controller",
        ..binding("system::leader-locking-kube-controller-manager", "system:kube-controller-manager", "")
    },
    Binding {
        namespace: "kube-system",
        accounts: "kube-scheduler",
        ..binding("system::leader-locking-kube-scheduler", "system:kube-scheduler", "")
    },
    in_namespace("kube-system", "system:controller:bootstrap-signer", "bootstrap-signer"),
    in_namespace("kube-system", "system:controller:cloud-provider", "cloud-provider"),
    in_namespace("kube-system", "system:controller:token-cleaner", "token-cleaner"),
    in_namespace("kube-public", "system:controller:bootstrap-signer", "bootstrap-signer"),
];

const fn in_namespace(namespace: &'static str, role: &'static str, accounts: &'static str) -> Binding {
    Binding { namespace, accounts, ..binding(role, "", "") }
}

/// A role or binding as it should be, as JSON of `rbac.authorization.k8s.io/v1`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expected {
    pub is_binding: bool,
    /// Empty for what is in no namespace.
    pub namespace: &'static str,
    pub name: Cow<'static, str>,
    pub json: String,
}

/// Roles whose rules moved to aggregated roles: rules that users added to the first are copied to the second.
pub const AGGREGATED: [(&str, &str); 3] = [
    ("admin", "system:aggregate-to-admin"),
    ("edit", "system:aggregate-to-edit"),
    ("view", "system:aggregate-to-view"),
];

/// A binding that was split: subjects of the first are copied to the second.
pub const SPLIT: (&str, &str) = ("system:discovery", "system:public-info-viewer");

/// All roles and bindings of a cluster in which some features are on.
pub fn objects(features: Features) -> impl Iterator<Item = Expected> {
    let is_on = move |needed: &[Feature]| features.all_enabled(needed);
    let of_cluster = users::ROLES.iter().chain(components::ROLES).map(|role| ("", "", role));
    let of_controllers = controllers::ROLES.iter().map(|role| ("", CONTROLLER, role));
    let in_system = namespaces::KUBE_SYSTEM.iter().map(|role| ("kube-system", "", role));
    let in_public = namespaces::KUBE_PUBLIC.iter().map(|role| ("kube-public", "", role));
    let roles = of_cluster.chain(of_controllers).chain(in_system).chain(in_public);
    let roles = roles
        .filter(move |(_, _, role)| is_on(role.features))
        .map(move |(namespace, prefix, role)| role.expected(namespace, prefix, features));
    let bindings = BINDINGS.iter().filter(move |binding| is_on(binding.features)).map(Binding::expected);
    let of_controllers = controllers::ROLES.iter().filter(move |role| is_on(role.features)).map(|role| {
        let name = format!("{CONTROLLER}{}", role.name);
        expected_binding("", name.clone().into(), &name, "", "", role.name)
    });
    roles.chain(bindings).chain(of_controllers)
}

impl Role {
    fn expected(&self, namespace: &'static str, prefix: &'static str, features: Features) -> Expected {
        let name = match prefix {
            "" => Cow::Borrowed(self.name),
            prefix => Cow::Owned(format!("{prefix}{}", self.name)),
        };
        let kind = if namespace.is_empty() { "ClusterRole" } else { "Role" };
        let part_of = match self.part_of {
            "" => String::new(),
            whole => format!(r#","{AGGREGATE_TO}{whole}":"true""#),
        };
        let mut json = begin(kind, namespace, &name, &part_of);
        if self.is_aggregate {
            let _ = write!(
                json,
                r#","aggregationRule":{{"clusterRoleSelectors":[{{"matchLabels":{{"{AGGREGATE_TO}{}":"true"}}}}]}}"#,
                self.name
            );
        } else {
            json.push_str(",\"rules\":[");
            let rules =
                self.rules.iter().filter(|rule| rule.feature.is_none_or(|feature| features.enabled(feature)));
            for (place, rule) in rules.enumerate() {
                rule.write(place, features, &mut json);
            }
            json.push(']');
        }
        json.push('}');
        Expected { is_binding: false, namespace, name, json }
    }
}

impl RoleRule {
    fn write(&self, place: usize, features: Features, json: &mut String) {
        json.push_str(if place == 0 { "{" } else { ",{" });
        let lists = [
            ("verbs", self.verbs),
            ("apiGroups", self.groups),
            ("resources", self.resources),
            ("resourceNames", self.names),
            ("nonResourceURLs", self.paths),
        ];
        for (place, (field, words)) in lists.iter().filter(|(_, words)| !words.is_empty()).enumerate() {
            let _ = write!(json, "{}\"{field}\":[", if place == 0 { "" } else { "," });
            let words = words.split(' ').filter_map(|word| match word.split_once('@') {
                Some((word, gate)) => features.enabled_by_name(gate).then_some(word),
                None if word == "core" => Some(""),
                None => Some(word),
            });
            for (place, word) in words.enumerate() {
                let _ = write!(json, "{}\"{word}\"", if place == 0 { "" } else { "," });
            }
            json.push(']');
        }
        json.push('}');
    }
}

impl Binding {
    fn expected(&self) -> Expected {
        let Binding { namespace, name, role, users, groups, accounts, .. } = self;
        expected_binding(namespace, Cow::Borrowed(name), role, users, groups, accounts)
    }
}

fn expected_binding(
    namespace: &'static str,
    name: Cow<'static, str>,
    role: &str,
    users: &str,
    groups: &str,
    accounts: &str,
) -> Expected {
    const GROUP: &str = r#""apiGroup":"rbac.authorization.k8s.io""#;
    let (kind, role_kind) = match namespace {
        "" => ("ClusterRoleBinding", "ClusterRole"),
        _ => ("RoleBinding", "Role"),
    };
    let mut json = begin(kind, namespace, &name, "");
    let users = users.split_whitespace().map(|name| format!(r#"{{"kind":"User",{GROUP},"name":"{name}"}}"#));
    let groups =
        groups.split_whitespace().map(|name| format!(r#"{{"kind":"Group",{GROUP},"name":"{name}"}}"#));
    let accounts = accounts.split_whitespace();
    let accounts = accounts
        .map(|name| format!(r#"{{"kind":"ServiceAccount","name":"{name}","namespace":"kube-system"}}"#));
    let subjects: Vec<String> = users.chain(groups).chain(accounts).collect();
    if !subjects.is_empty() {
        let _ = write!(json, r#","subjects":[{}]"#, subjects.join(","));
    }
    let _ = write!(json, r#","roleRef":{{{GROUP},"kind":"{role_kind}","name":"{role}"}}}}"#);
    Expected { is_binding: true, namespace, name, json }
}

/// An object up to and with its metadata.
fn begin(kind: &str, namespace: &str, name: &str, labels: &str) -> String {
    let namespace = match namespace {
        "" => String::new(),
        namespace => format!(r#""namespace":"{namespace}","#),
    };
    format!(
        "{{\"kind\":\"{kind}\",\"apiVersion\":\"rbac.authorization.k8s.io/v1\",\"metadata\":{{\"name\":\"{name}\",\
         {namespace}\"labels\":{{{LABEL}{labels}}},\"annotations\":{{{ANNOTATION}}}}}"
    )
}
