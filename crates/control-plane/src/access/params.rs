//! Writes of admission policies and bindings may only refer to parameters that their user can read.

use std::sync::Arc;

use async_trait::async_trait;
use pintle_auth::authorizer::Selector;
use pintle_auth::{Attributes, Authorizer, User};
use pintle_meta::Value;
use pintle_meta::field_path::{Error, Path};
use pintle_registry::{Context, Guard, Result, Store};
use pintle_resources::reviews::requesting_user;
use pintle_schema::Resources;

const SUPERUSERS: &str = "system:masters";

/// Guards the writes of policies, or of bindings to them.
pub(crate) struct ReadableParams {
    pub(crate) authorizer: Arc<dyn Authorizer>,
    pub(crate) resources: Arc<Resources>,
    pub(crate) definitions: Option<Arc<Store>>,
    /// Whether the policies are MutatingAdmissionPolicies, for which the reference has other words.
    pub(crate) is_mutating: bool,
    /// The store of policies, if bindings are guarded.
    pub(crate) policies: Option<Arc<Store>>,
}

/// Why it is not known which resource parameters are of.
enum Unknown {
    Policy,
    Kind,
}

/// The resource of parameters: group, version and name, or `*` for each that is not known.
struct Params {
    group: String,
    version: String,
    resource: String,
}

impl Params {
    fn any() -> Params {
        Params { group: "*".into(), version: "*".into(), resource: "*".into() }
    }
}

impl ReadableParams {
    /// Returns the resource of a policy's parameters, and whether its name is known.
    async fn params(&self, kind: &Value) -> (Params, bool) {
        let api_version = kind.text_at(&["apiVersion"]);
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let found = self.resource(group, version, kind.text_at(&["kind"])).await;
        let is_known = found.is_some();
        let resource = found.unwrap_or_else(|| "*".into());
        (Params { group: group.into(), version: version.into(), resource }, is_known)
    }

    /// Returns the name of the resource that serves a kind, built in or defined.
    async fn resource(&self, group: &str, version: &str, kind: &str) -> Option<String> {
        let served = self.resources.versions().iter();
        let mut served = served.filter(|known| (known.group, known.version) == (group, version));
        let builtin = served.find_map(|known| {
            let plain = known.resources.iter().filter(|resource| resource.subresource.is_none());
            plain
                .into_iter()
                .find(|resource| resource.kind.kind_name() == kind)
                .map(|resource| resource.name.to_owned())
        });
        if builtin.is_some() {
            return builtin;
        }
        let definitions = self.definitions.as_ref()?.list("").await.ok()?;
        let is_served = |definition: &&Value| {
            let mut versions = definition.items_at(&["spec", "versions"]).iter();
            definition.text_at(&["spec", "group"]) == group
                && definition.text_at(&["status", "acceptedNames", "kind"]) == kind
                && versions.any(|known| {
                    known.text_at(&["name"]) == version
                        && known.get("served").and_then(Value::as_bool).unwrap_or_default()
                })
        };
        let definition = definitions.iter().find(is_served)?;
        Some(definition.text_at(&["status", "acceptedNames", "plural"]).to_owned())
    }

    /// Checks a permission. The error is that of the authorizer, or empty for a refusal.
    async fn ask(
        &self,
        user: &User,
        verb: &str,
        params: &Params,
        namespace: &str,
        name: &str,
    ) -> std::result::Result<(), String> {
        let attributes = Attributes {
            user,
            verb,
            is_resource: true,
            path: "",
            group: &params.group,
            version: &params.version,
            resource: &params.resource,
            subresource: "",
            namespace,
            name,
            field_selector: Selector::Absent,
            label_selector: Selector::Absent,
        };
        let verdict = self.authorizer.authorize(&attributes).await;
        match verdict.error.clone() {
            Some(error) => Err(error),
            None if verdict.is_allowed() => Ok(()),
            None => Err(String::new()),
        }
    }

    async fn check_policy(&self, user: &User, new: &Value, old: Option<&Value>) -> Option<String> {
        let kind = new.at(&["spec", "paramKind"])?;
        if old.is_some_and(|old| old.at(&["spec", "paramKind"]) == Some(kind)) {
            return None;
        }
        let (params, _) = self.params(kind).await;
        let error = self.ask(user, "get", &params, "*", "*").await.err()?;
        if !error.is_empty() {
            return Some(error);
        }
        let (name, version) = (kind.text_at(&["kind"]), kind.text_at(&["apiVersion"]));
        Some(format!(
            "user {} must have \"get\" permission on all objects of the referenced paramKind (kind={name}, \
             apiVersion={version})",
            printed(user)
        ))
    }

    async fn check_binding(&self, user: &User, new: &Value, policies: &Store) -> Option<String> {
        let reference = new.at(&["spec", "paramRef"])?;
        let policy = new.text_at(&["spec", "policyName"]);
        let (mut params, mut unknown, mut kind) = (Params::any(), None, String::new());
        match policies.get(&Context::default(), policy).await {
            Ok(policy) => {
                if let Some(found) = policy.at(&["spec", "paramKind"]) {
                    let (named, is_known) = self.params(found).await;
                    params = named;
                    unknown = (!is_known).then_some(Unknown::Kind);
                    kind = format!("&{{{} {}}}", found.text_at(&["apiVersion"]), found.text_at(&["kind"]));
                }
            }
            Err(_) => unknown = Some(Unknown::Policy),
        }
        let (name, namespace) = (reference.text_at(&["name"]), reference.text_at(&["namespace"]));
        let verb = if name.is_empty() { "list" } else { "get" };
        let error = self.ask(user, verb, &params, namespace, name).await.err()?;
        if !error.is_empty() {
            let prefix = if self.is_mutating { "" } else { "failed to authorize request: " };
            return Some(format!("{prefix}{error}"));
        }
        let user = printed(user);
        let lacks = format!(
            "to determine minimum required permissions and user {user} does not have \"{verb}\" permission for all groups, \
             versions and resources"
        );
        Some(match unknown {
            Some(Unknown::Policy) => format!("unable to get policy {policy} {lacks}"),
            Some(Unknown::Kind) => format!("unable to resolve paramKind {kind} {lacks}"),
            None => {
                let (first, second) = if self.is_mutating { (verb, &*user) } else { (&*user, verb) };
                format!(
                    "user {first} does not have \"{second}\" permission on the object referenced by paramRef"
                )
            }
        })
    }
}

/// Formats a user as Go prints its struct.
fn printed(user: &User) -> String {
    let extra: Vec<String> =
        user.extra.iter().map(|(key, values)| format!("{key}:[{}]", values.join(" "))).collect();
    format!("&{{{} {} [{}] map[{}]}}", user.name, user.uid, user.groups.join(" "), extra.join(" "))
}

#[async_trait]
impl Guard for ReadableParams {
    async fn check(&self, _: &Context, _: &str, _: &Value, _: Option<&Value>) -> Result<()> {
        Ok(())
    }

    async fn examine(&self, context: &Context, new: &Value, old: Option<&Value>, errors: &mut Vec<Error>) {
        // A server's own write has no user, and superusers may refer to anything.
        let is_exempt = context.user.is_empty() || context.groups.iter().any(|group| group == SUPERUSERS);
        if !errors.is_empty() || is_exempt {
            return;
        }
        let user = requesting_user(context);
        let (field, refusal) = match &self.policies {
            None => ("paramKind", self.check_policy(&user, new, old).await),
            Some(policies) => ("paramRef", self.check_binding(&user, new, policies).await),
        };
        errors.extend(refusal.map(|why| Error::forbidden(&Path::new("spec").child(field), why)));
    }
}
