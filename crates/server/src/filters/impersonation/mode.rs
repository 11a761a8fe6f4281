//! The modes that can allow a user to act as another.

use std::collections::BTreeMap;

use pintle_auth::{Attributes, PRIVILEGED_GROUP, User, service_account};
use pintle_meta::field_path::{Path, aggregate};
use pintle_meta::validation::{dns1123_subdomain, domain_prefixed_path};
use pintle_meta::{Status, quote};

use super::{AUTHENTICATION, Impersonation, forbidden, with_authenticated_group};

/// Number of values from which on one check for all of them comes first.
const MANY: usize = 4;
/// The extra key of a service account's token that names the node of its pod.
const NODE_NAME: &str = "authentication.kubernetes.io/node-name";

/// A mode of impersonation.
pub(super) struct Mode {
    /// The name in metrics.
    pub(super) name: &'static str,
    /// The verb for impersonating a user.
    verb: &'static str,
    /// Prefix of the verb for doing a request as that user; `None` if the mode does not ask for it.
    action_verb_prefix: Option<&'static str>,
    applies: fn(&User, &User) -> bool,
}

/// The modes in the order in which they are tried; each is about other users.
pub(super) const CONSTRAINED: [Mode; 4] = [
    Mode {
        name: "associated-node",
        verb: "impersonate:associated-node",
        action_verb_prefix: Some("impersonate-on:associated-node:"),
        applies: |wanted, by| is_only_a_name(wanted) && is_on_node(by, &wanted.name),
    },
    Mode {
        name: "arbitrary-node",
        verb: "impersonate:arbitrary-node",
        action_verb_prefix: Some("impersonate-on:arbitrary-node:"),
        applies: |wanted, _| is_only_a_name(wanted) && node_name(&wanted.name).is_some(),
    },
    Mode {
        name: "serviceaccount",
        verb: "impersonate:serviceaccount",
        action_verb_prefix: Some("impersonate-on:serviceaccount:"),
        applies: |wanted, _| {
            is_only_a_name(wanted) && service_account::split_username(&wanted.name).is_some()
        },
    },
    Mode {
        name: "user-info",
        verb: "impersonate:user-info",
        action_verb_prefix: Some("impersonate-on:user-info:"),
        applies: |wanted, _| {
            node_name(&wanted.name).is_none() && service_account::split_username(&wanted.name).is_none()
        },
    },
];

/// The unconstrained mode: a user that may impersonate another may do everything that the other may.
pub(super) const LEGACY: Mode =
    Mode { name: "legacy", verb: "impersonate", action_verb_prefix: None, applies: |_, _| true };

type Result<T> = std::result::Result<T, Box<Status>>;

impl Mode {
    pub(super) fn applies(&self, wanted: &User, by: &User) -> bool {
        (self.applies)(wanted, by)
    }

    /// Returns the verb that allows impersonation by this mode; empty for the older one.
    pub(super) fn constraint(&self) -> &'static str {
        if self.is_constrained() { self.verb } else { "" }
    }

    fn is_constrained(&self) -> bool {
        self.action_verb_prefix.is_some()
    }

    /// Asks the authorizer about everything that this mode requires; returns the impersonated user.
    pub(super) async fn check(
        &self,
        filter: &Impersonation,
        wanted: &User,
        request: &Attributes<'_>,
    ) -> Result<User> {
        // That the requestor runs on the node was found out already. Which node it is does not matter to the policy,
        // which therefore does not see it.
        let on_any_node = (self.name == "associated-node").then(|| without_node(request.user));
        let by = on_any_node.as_ref().unwrap_or(request.user);
        if let Some(prefix) = self.action_verb_prefix {
            let verb = format!("{prefix}{}", request.verb);
            filter.ask(self, &Attributes { user: by, verb: &verb, ..request.clone() }).await?;
        }
        let mut actual = wanted.clone();
        self.check_name(filter, by, wanted, &mut actual).await?;
        if !wanted.uid.is_empty() {
            filter.ask(self, &self.attributes(by, AUTHENTICATION, "uids", &wanted.uid)).await?;
        }
        self.check_groups(filter, by, &wanted.groups).await?;
        self.check_extra(filter, by, &wanted.extra).await?;
        Ok(with_authenticated_group(actual))
    }

    fn attributes<'a>(
        &self,
        by: &'a User,
        (group, version): (&'a str, &'a str),
        resource: &'a str,
        name: &'a str,
    ) -> Attributes<'a> {
        Attributes { version, name, ..Attributes::of_resource(by, self.verb, group, resource) }
    }

    /// Names and groups are of the core group, to the older mode.
    fn names_group(&self) -> (&'static str, &'static str) {
        if self.is_constrained() { AUTHENTICATION } else { ("", "v1") }
    }

    async fn check_name(
        &self,
        filter: &Impersonation,
        by: &User,
        wanted: &User,
        actual: &mut User,
    ) -> Result<()> {
        let group = self.names_group();
        if let Some(node) = node_name(&wanted.name).filter(|_| self.is_constrained()) {
            actual.groups = vec!["system:nodes".into()];
            let node = if self.name == "associated-node" { "*" } else { node };
            return filter.ask(self, &self.attributes(by, group, "nodes", node)).await;
        }
        if let Some((namespace, name)) = service_account::split_username(&wanted.name) {
            if wanted.groups.is_empty() {
                actual.groups = service_account::groups(namespace);
            }
            let about = Attributes { namespace, ..self.attributes(by, group, "serviceaccounts", name) };
            return filter.ask(self, &about).await;
        }
        filter.ask(self, &self.attributes(by, group, "users", &wanted.name)).await
    }

    async fn check_groups(&self, filter: &Impersonation, by: &User, groups: &[String]) -> Result<()> {
        let about = |name| self.attributes(by, self.names_group(), "groups", name);
        if self.is_constrained() {
            let refuse = |name, why| Err(Box::new(forbidden(&about(name), why)));
            if groups.iter().any(String::is_empty) {
                return refuse("", "impersonating the empty string group is not allowed");
            }
            if groups.iter().any(|group| group == PRIVILEGED_GROUP) {
                return refuse(PRIVILEGED_GROUP, "impersonating the system:masters group is not allowed");
            }
            if groups.len() >= MANY && filter.ask(self, &about("*")).await.is_ok() {
                return Ok(());
            }
        }
        for group in groups {
            filter.ask(self, &about(group)).await?;
        }
        Ok(())
    }

    async fn check_extra(
        &self,
        filter: &Impersonation,
        by: &User,
        extra: &BTreeMap<String, Vec<String>>,
    ) -> Result<()> {
        let about = |subresource, value| Attributes {
            subresource,
            ..self.attributes(by, AUTHENTICATION, "userextras", value)
        };
        if self.is_constrained() {
            if let Some(wrong) = wrong_extra(extra) {
                return Err(Box::new(forbidden(&about("", ""), &wrong)));
            }
            let many = extra.len() >= MANY || extra.values().map(Vec::len).sum::<usize>() >= MANY;
            if many && filter.ask(self, &about("*", "*")).await.is_ok() {
                return Ok(());
            }
        }
        for (key, values) in extra {
            for value in values {
                filter.ask(self, &about(key, value)).await?;
            }
        }
        Ok(())
    }
}

/// Returns why the constrained modes refuse extra that the legacy mode lets pass.
fn wrong_extra(extra: &BTreeMap<String, Vec<String>>) -> Option<String> {
    let path = Path::new("extra");
    let path = path.child("key");
    extra.iter().find_map(|(key, values)| {
        if key.is_empty() {
            return Some("impersonating the empty string key in extra is not allowed".to_owned());
        }
        let wrong = domain_prefixed_path(&path, key);
        if !wrong.is_empty() {
            let wrong = aggregate(&wrong);
            return Some(format!("impersonating an invalid key in extra is not allowed: {wrong}"));
        }
        if *key != key.to_lowercase() {
            let key = quote(key);
            return Some(format!("impersonating a non-lowercase key in extra is not allowed: {key}"));
        }
        if values.is_empty() {
            return Some("impersonating empty values in extra is not allowed".to_owned());
        }
        let empty = values.iter().any(String::is_empty);
        empty.then(|| "impersonating the empty string value in extra is not allowed".to_owned())
    })
}

fn is_only_a_name(user: &User) -> bool {
    user.uid.is_empty() && user.groups.is_empty() && user.extra.is_empty()
}

fn node_name(user: &str) -> Option<&str> {
    user.strip_prefix("system:node:").filter(|name| dns1123_subdomain(name).is_empty())
}

fn is_on_node(by: &User, wanted: &str) -> bool {
    let node = by.extra.get(NODE_NAME).map(Vec::as_slice);
    service_account::split_username(&by.name).is_some()
        && node_name(wanted).is_some_and(|name| matches!(node, Some([only]) if only == name))
}

/// The requestor without what differs from node to node.
fn without_node(by: &User) -> User {
    let keys = by.extra.keys().cloned().collect();
    let extra = BTreeMap::from([("authentication.kubernetes.io/associated-node-keys".to_owned(), keys)]);
    User { extra, ..by.clone() }
}
