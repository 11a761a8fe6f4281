//! Further conditions on writes of claims of devices.
//!
//! - Administrative access to devices needs a label of the claim's namespace ([`AdminAccess`]).
//! - Parts of a ResourceClaim's status need permissions of their own ([`ClaimStatuses`]): a scheduler binds claims, and a driver
//!   reports its own devices on its own node. The permissions are for subresources that are not served, `binding` and
//!   `driver`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use async_trait::async_trait;
use pintle_auth::authorizer::Selector;
use pintle_auth::{Attributes, Authorizer, User};
use pintle_meta::Value;
use pintle_meta::field_path::{Error, Path};
use pintle_meta::validation::dns1123_subdomain;
use pintle_registry::{Context, Guard, Result, Store};
use pintle_resources::reviews::requesting_user;
use pintle_server::filters::forbidden;

const GROUP: &str = "resource.k8s.io";
const RESOURCE: &str = "resourceclaims";
const NODE_NAME: &str = "authentication.kubernetes.io/node-name";

const ADMIN_ACCESS: &str = "resource.kubernetes.io/admin-access";

/// Guards creates of claims, or of templates of claims.
pub(crate) struct AdminAccess {
    pub(crate) namespaces: Arc<Store>,
    /// The path of the claim's spec.
    pub(crate) spec: &'static [&'static str],
}

impl AdminAccess {
    /// Checks that a namespace may have claims with administrative access, which a field asks for.
    async fn check(namespaces: &Store, namespace: &str, field: &Path<'_>) -> Option<Error> {
        match namespaces.get(&Context::default(), namespace).await {
            Ok(namespace) if namespace.label(ADMIN_ACCESS) == Some("true") => None,
            Ok(_) => {
                let why = format!(
                    "admin access to devices requires the `{ADMIN_ACCESS}: true` label on the containing namespace"
                );
                Some(Error::forbidden(field, why))
            }
            Err(error) => {
                let why = format!("could not retrieve namespace to verify admin access: {error}");
                Some(Error::internal(field, why))
            }
        }
    }
}

#[async_trait]
impl Guard for AdminAccess {
    async fn check(&self, _: &Context, _: &str, _: &Value, _: Option<&Value>) -> Result<()> {
        Ok(())
    }

    async fn examine(&self, _: &Context, new: &Value, old: Option<&Value>, errors: &mut Vec<Error>) {
        // The spec is immutable, so an update asks for nothing new.
        if old.is_some() {
            return;
        }
        let requests = new.at(self.spec).map(|spec| spec.items_at(&["devices", "requests"]));
        let mut requests = requests.unwrap_or_default().iter();
        let is_admin = |request: &Value| is_true(request, &["exactly", "adminAccess"]);
        if let Some(index) = requests.position(is_admin) {
            // The path is that of a claim for templates too.
            let path = Path::new("spec");
            let path = path.descendant(&["devices", "requests"]);
            let (path, namespace) = (path.index(index), new.namespace());
            let error = AdminAccess::check(&self.namespaces, namespace, &path.child("adminAccess")).await;
            errors.splice(0..0, error);
        }
    }
}

fn is_true(value: &Value, path: &[&str]) -> bool {
    value.at(path).and_then(Value::as_bool).unwrap_or_default()
}

/// Permissions for parts of a claim's status.
pub(crate) struct Permissions {
    pub(crate) authorizer: Arc<dyn Authorizer>,
    pub(crate) version: String,
    /// Whether drivers report devices (feature gate `DRAResourceClaimDeviceStatus`).
    pub(crate) devices: bool,
}

/// Guards writes of claims' statuses.
pub(crate) struct ClaimStatuses {
    pub(crate) namespaces: Arc<Store>,
    /// Nothing while the feature gate `DRAResourceClaimGranularStatusAuthorization` is off.
    pub(crate) permissions: Option<Permissions>,
}

/// A permission to check.
struct Question<'a> {
    user: &'a User,
    verb: &'a str,
    subresource: &'a str,
    namespace: &'a str,
    name: &'a str,
}

impl Permissions {
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

impl Permissions {
    async fn check(&self, context: &Context, new: &Value, old: &Value, errors: &mut Vec<Error>) {
        let user = requesting_user(context);
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

#[async_trait]
impl Guard for ClaimStatuses {
    async fn check(&self, _: &Context, _: &str, _: &Value, _: Option<&Value>) -> Result<()> {
        Ok(())
    }

    async fn examine(&self, context: &Context, new: &Value, old: Option<&Value>, errors: &mut Vec<Error>) {
        let Some(old) = old else { return };
        let mut own = Vec::new();
        if let (None, Some(index)) = (admin_result(old), admin_result(new)) {
            let path = Path::new("status");
            let path = path.descendant(&["allocation", "devices", "results"]);
            let (path, namespace) = (path.index(index), new.namespace());
            own.extend(AdminAccess::check(&self.namespaces, namespace, &path.child("adminAccess")).await);
        }
        if let Some(permissions) = &self.permissions {
            permissions.check(context, new, old, &mut own).await;
        }
        errors.splice(0..0, own);
    }
}

/// Returns the index of the first result with administrative access.
fn admin_result(claim: &Value) -> Option<usize> {
    let results = claim.items_at(&["status", "allocation", "devices", "results"]);
    results.iter().position(|result| is_true(result, &["adminAccess"]))
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
