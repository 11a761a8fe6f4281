//! Further permissions for writes of the status of a ResourceClaim: a scheduler binds claims, and a driver reports its own
//! devices on its own node. The permissions are for subresources that are not served, `binding` and `driver`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use async_trait::async_trait;
use pintle_auth::authorizer::Selector;
use pintle_auth::{Attributes, Authorizer, User};
use pintle_meta::Value;
use pintle_meta::field_path::{Error, Path};
use pintle_meta::validation::dns1123_subdomain;
use pintle_registry::{Context, Guard, Result};
use pintle_server::filters::forbidden;

const GROUP: &str = "resource.k8s.io";
const RESOURCE: &str = "resourceclaims";
const NODE_NAME: &str = "authentication.kubernetes.io/node-name";

/// Guards writes of claims' statuses.
pub(crate) struct ClaimStatuses {
    pub(crate) authorizer: Arc<dyn Authorizer>,
    pub(crate) version: String,
    /// Whether drivers report devices (feature gate `DRAResourceClaimDeviceStatus`).
    pub(crate) devices: bool,
}

/// A permission to check.
struct Question<'a> {
    user: &'a User,
    verb: &'a str,
    subresource: &'a str,
    namespace: &'a str,
    name: &'a str,
}

impl ClaimStatuses {
    /// Checks a permission. The error is the reason of a refusal.
    async fn ask(&self, question: Question<'_>) -> std::result::Result<(), String> {
        let Question { user, verb, subresource, namespace, name } = question;
        let attributes = Attributes {
            user,
            verb,
            is_resource: true,
            path: "",
            group: GROUP,
            version: &self.version,
            resource: RESOURCE,
            subresource,
            namespace,
            name,
            field_selector: Selector::Absent,
            label_selector: Selector::Absent,
        };
        let verdict = self.authorizer.authorize(&attributes).await;
        if verdict.is_allowed() {
            return Ok(());
        }
        let reason = match &verdict.error {
            Some(error) if verdict.reason.is_empty() => error.clone(),
            Some(error) => format!("{error}: {}", verdict.reason),
            None => verdict.reason.to_string(),
        };
        Err(forbidden(&attributes, &reason).message)
    }

    async fn may_bind(&self, user: &User, verb: &str) -> Option<Error> {
        let question = Question { user, verb, subresource: "binding", namespace: "", name: "" };
        let why = self.ask(question).await.err()?;
        let path = Path::new("status");
        let detail = format!(
            "changing status.allocation or status.reservedFor requires resource=\"resourceclaims/binding\", \
             verb=\"{verb}\" permission: {why}"
        );
        Some(Error::forbidden(&path.child("allocation"), detail))
    }

    /// Checks that any of the verbs is allowed for a driver's devices.
    async fn may_tell(&self, user: &User, verbs: &[String], namespace: &str, driver: &str) -> Option<Error> {
        let mut first = None;
        for verb in verbs {
            let question = Question { user, verb, subresource: "driver", namespace, name: driver };
            match self.ask(question).await {
                Ok(()) => return None,
                Err(why) => first = first.or(Some(why)),
            }
        }
        let path = Path::new("status");
        let detail = format!(
            "changing status.devices requires resource=\"resourceclaims/driver\", verb=\"[{}]\" permission: {}",
            verbs.join(" "),
            first.unwrap_or_default()
        );
        Some(Error::forbidden(&path.child("devices"), detail))
    }
}

#[async_trait]
impl Guard for ClaimStatuses {
    async fn check(&self, _: &Context, _: &str, _: &Value, _: Option<&Value>) -> Result<()> {
        Ok(())
    }

    async fn examine(&self, context: &Context, new: &Value, old: Option<&Value>, errors: &mut Vec<Error>) {
        let Some(old) = old else { return };
        let user = User {
            name: context.user.clone(),
            uid: context.user_uid.clone(),
            groups: context.groups.clone(),
            extra: context.extra.clone(),
        };
        let is_bound_as = |claim: &Value| {
            let allocation = claim.at(&["status", "allocation"]).cloned();
            (allocation, claim.items_at(&["status", "reservedFor"]).to_vec())
        };
        if is_bound_as(new) != is_bound_as(old) {
            errors.extend(self.may_bind(&user, context.verb).await);
        }
        let allocation = new.at(&["status", "allocation"]).filter(|_| self.devices);
        if let Some(allocation) = allocation {
            let verbs = verbs(&user, allocation, context.verb);
            for driver in changed_drivers(new, old) {
                errors.extend(self.may_tell(&user, &verbs, &context.namespace, &driver).await);
            }
        }
    }
}

/// Returns the verbs of which one must be allowed: a driver on the node of the devices needs less.
fn verbs(user: &User, allocation: &Value, verb: &str) -> Vec<String> {
    let arbitrary = format!("arbitrary-node:{verb}");
    match node_of(allocation) {
        Some(node) if runs_on(user, node) => vec![format!("associated-node:{verb}"), arbitrary],
        _ => vec![arbitrary],
    }
}

/// Returns the node of an allocation, if it is for a single one.
fn node_of(allocation: &Value) -> Option<&str> {
    let [term] = allocation.items_at(&["nodeSelector", "nodeSelectorTerms"]) else { return None };
    let [field] = term.items_at(&["matchFields"]) else { return None };
    let [node] = field.items_at(&["values"]) else { return None };
    let is_name = field.text_at(&["key"]) == "metadata.name" && field.text_at(&["operator"]) == "In";
    node.as_str()
        .filter(|node| is_name && term.items_at(&["matchExpressions"]).is_empty() && !node.is_empty())
}

/// Returns whether a user is a service account of a pod on a node.
fn runs_on(user: &User, node: &str) -> bool {
    let account = user.name.strip_prefix("system:serviceaccount:").and_then(|rest| rest.split_once(':'));
    let is_account = account.is_some_and(|(namespace, name)| !namespace.is_empty() && !name.is_empty());
    match user.extra.get(NODE_NAME).map(Vec::as_slice) {
        Some([own]) => is_account && own == node && dns1123_subdomain(own).is_empty(),
        _ => false,
    }
}

/// The drivers of devices that were added, removed or changed, each once and sorted.
fn changed_drivers(new: &Value, old: &Value) -> BTreeSet<String> {
    let devices = |claim: &Value| -> BTreeMap<[String; 4], Value> {
        let of = |device: &Value| {
            let key = ["driver", "pool", "device", "shareID"].map(|name| device.text_at(&[name]).to_owned());
            (key, device.clone())
        };
        claim.items_at(&["status", "devices"]).iter().map(of).collect()
    };
    let (now, before) = (devices(new), devices(old));
    let differs = |(key, device): &(&[String; 4], &Value), other: &BTreeMap<[String; 4], Value>| {
        other.get(*key) != Some(*device)
    };
    let changed = now.iter().filter(|device| differs(device, &before));
    let gone = before.iter().filter(|device| differs(device, &now));
    changed.chain(gone).map(|(key, _)| key[0].clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Value {
        pintle_codec::json::decode_any(text.as_bytes()).expect("JSON").value
    }

    fn on(field: &str) -> Value {
        value(&format!(r#"{{"nodeSelector":{{"nodeSelectorTerms":[{{"matchFields":[{field}]}}]}}}}"#))
    }

    #[test]
    fn a_driver_on_the_node_needs_fewer_permissions() {
        let here = r#"{"key":"metadata.name","operator":"In","values":["n"]}"#;
        let user = |name: &str, nodes: &[&str]| User {
            name: name.into(),
            extra: [(NODE_NAME.to_owned(), nodes.iter().map(ToString::to_string).collect())].into(),
            ..User::default()
        };
        let driver = user("system:serviceaccount:drivers:d", &["n"]);
        assert_eq!(verbs(&driver, &on(here), "update"), ["associated-node:update", "arbitrary-node:update"]);
        for (user, allocation) in [
            (user("system:serviceaccount:drivers:d", &["m"]), on(here)),
            (user("system:serviceaccount:drivers:d", &["n", "n"]), on(here)),
            (user("ann", &["n"]), on(here)),
            (driver.clone(), on(&format!("{here},{here}"))),
            (driver.clone(), on(&here.replace("In", "NotIn"))),
            (driver.clone(), on(&here.replace("metadata.name", "x"))),
            (driver, value("{}")),
        ] {
            assert_eq!(
                verbs(&user, &allocation, "patch"),
                ["arbitrary-node:patch"],
                "{user:?} {allocation:?}"
            );
        }
    }

    #[test]
    fn drivers_answer_for_what_was_added_removed_or_changed() {
        let claim = |devices: &str| value(&format!(r#"{{"status":{{"devices":[{devices}]}}}}"#));
        let device = |driver: &str, data: u8| {
            format!(r#"{{"driver":"{driver}","pool":"p","device":"x","data":{data}}}"#)
        };
        let old = claim(&[device("same", 1), device("changed", 1), device("gone", 1)].join(","));
        let new = claim(&[device("new", 1), device("changed", 2), device("same", 1)].join(","));
        assert_eq!(Vec::from_iter(changed_drivers(&new, &old)), ["changed", "gone", "new"]);
        assert!(changed_drivers(&new, &new).is_empty());
    }
}
