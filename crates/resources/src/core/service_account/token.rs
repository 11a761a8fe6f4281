//! `serviceaccounts/token`: asks for a token of a service account, perhaps bound to a pod, secret or node.

use std::sync::Arc;
use std::time::SystemTime;

use async_trait::async_trait;
use pintle_auth::service_account::{Claims, Issued, Issuer, Ref, WARN_ONLY_SECONDS};
use pintle_meta::gvk::GroupVersionKind;
use pintle_meta::time::Time;
use pintle_meta::{Reason, Status, Value, quote};
use pintle_registry::{Admission, Context, Result, Store, Subresource, WriteOptions};
use pintle_runtime::Clock;

use crate::framework::validation::{Cursor, Errors};

const GROUP: &str = "authentication.k8s.io";
const KIND: &str = "TokenRequest";
/// Shorter lives would be over before clients have had the time to ask again.
const SHORTEST: i64 = 10 * 60;
const LONGEST: i64 = 1 << 32;

/// Settings of issued tokens.
#[derive(Clone)]
pub struct TokenRequestSettings {
    pub issuer: Issuer,
    /// The server's own audiences, for requests that name none.
    pub audiences: Arc<[String]>,
    /// The longest life that is given; zero is no limit.
    pub max_seconds: i64,
    /// Whether the tokens of pods may outlive what was asked for, with a warning.
    pub extend: bool,
    /// The life of such tokens.
    pub extended_seconds: i64,
    /// Whether the identity in a request must be the account's; a difference is warned of otherwise.
    pub validate_uid: bool,
}

/// Issues tokens.
pub struct TokenRequest {
    pub accounts: Arc<Store>,
    pub pods: Arc<Store>,
    pub secrets: Arc<Store>,
    pub nodes: Arc<Store>,
    pub settings: TokenRequestSettings,
    pub clock: Clock,
}

/// The objects that a token is bound to.
#[derive(Default)]
struct Bound {
    pod: Option<Ref>,
    secret: Option<Ref>,
    node: Option<Ref>,
}

#[async_trait]
impl Subresource for TokenRequest {
    /// The UID that the account must have.
    fn keeps_system_fields(&self) -> bool {
        true
    }

    async fn create(
        &self,
        context: &mut Context,
        name: &str,
        mut object: Value,
        admission: &dyn Admission,
        _: WriteOptions,
    ) -> Result<Option<Value>> {
        let namespace = context.namespace.clone();
        check(&object, name, |request| validate_name(request, name))?;
        let account = self.accounts.get(context, name).await?;
        self.check_uid(context, &object, &account)?;
        let now = self.clock.now();
        self.fill(&mut object, &account, now);
        check(&object, "", validate)?;
        admission.create(&object).await?;
        let bound = match object.at(&["spec", "boundObjectRef"]).filter(|reference| !reference.is_null()) {
            Some(reference) => self.bound(context, name, reference).await?,
            None => Bound::default(),
        };
        let asked = seconds(&object);
        let most = self.settings.max_seconds;
        if most > 0 && asked > most {
            context
                .warnings
                .push(format!("requested expiration of {asked} seconds shortened to {most} seconds"));
            set(&mut object, &["spec"], "expirationSeconds", most.into());
        }
        let Issued { token, credential_id } =
            self.token(&object, namespace, reference(&account), bound, now).await?;
        context.annotations.push(("authentication.kubernetes.io/issued-credential-id", credential_id));
        let end = Time::from(now).unix_seconds().saturating_add(seconds(&object));
        set(&mut object, &["status"], "token", token.into());
        set(&mut object, &["status"], "expirationTimestamp", Time::from_unix(end, 0).to_string().into());
        Ok(Some(object))
    }
}

impl TokenRequest {
    fn check_uid(&self, context: &mut Context, request: &Value, account: &Value) -> Result<()> {
        let (wanted, is) = (request.uid(), account.uid());
        if wanted.is_empty() || wanted == is {
            return Ok(());
        }
        let why = format!(
            "the UID in the token request ({wanted}) does not match the UID of the service account ({is})"
        );
        if self.settings.validate_uid {
            return Err(Box::new(Status::conflict(GROUP, KIND, account.name(), why)));
        }
        context.annotations.push(("authentication.k8s.io/token-request-uid-mismatch", why.clone()));
        context.warnings.push(format!(
            "{why} but TokenRequestServiceAccountUIDValidation is not enabled. In the future, this will return a conflict \
             error"
        ));
        Ok(())
    }

    /// Fills in fields that a request leaves out or may not set.
    fn fill(&self, request: &mut Value, account: &Value, now: SystemTime) {
        if request.items_at(&["spec", "audiences"]).is_empty() {
            let own = self.settings.audiences.iter().map(Value::string).collect();
            set(request, &["spec"], "audiences", Value::list(own));
        }
        let unset =
            |field: &str| request.at(&["metadata", field]).and_then(Value::as_str).unwrap_or("").is_empty();
        let missing: Vec<&str> =
            ["name", "namespace", "uid"].into_iter().filter(|field| unset(field)).collect();
        for field in missing {
            set(request, &["metadata"], field, account.text_at(&["metadata", field]).into());
        }
        let time = Time::from(now).truncated().to_string();
        set(request, &["metadata"], "creationTimestamp", time.into());
        set(request, &["status"], "token", "".into());
        set(request, &["status"], "expirationTimestamp", Value::NULL);
    }

    /// Finds what a token is to be bound to.
    async fn bound(&self, context: &Context, account: &str, wanted: &Value) -> Result<Bound> {
        let text = |field: &str| wanted.text_at(&[field]);
        let (name, uid) = (text("name"), text("uid"));
        let kind = GroupVersionKind::from_api_version(text("apiVersion"), text("kind"));
        let found = match (kind.group.as_str(), kind.kind.as_str()) {
            ("", "Pod") => {
                let pod = self.pods.get(context, name).await?;
                if pod.text_at(&["spec", "serviceAccountName"]) != account {
                    return Err(Box::new(Status::bad_request(format!(
                        "cannot bind token for serviceaccount {} to pod running with different serviceaccount name.",
                        quote(account)
                    ))));
                }
                let node = self.node_of(&pod).await?;
                (Bound { pod: Some(reference(&pod)), node, ..Bound::default() }, pod)
            }
            ("", "Node") => {
                let node = self.nodes.get(&Context::default(), name).await?;
                (Bound { node: Some(reference(&node)), ..Bound::default() }, node)
            }
            ("", "Secret") => {
                let secret = self.secrets.get(context, name).await?;
                (Bound { secret: Some(reference(&secret)), ..Bound::default() }, secret)
            }
            _ => {
                let why = format!("cannot bind token to object of type {kind}");
                return Err(Box::new(Status::bad_request(why)));
            }
        };
        let (bound, object) = found;
        if !uid.is_empty() && uid != object.uid() {
            return Err(Box::new(Status::conflict(
                &kind.group,
                &kind.kind,
                name,
                format_args!(
                    "the UID in the bound object reference ({uid}) does not match the UID in record. The object might have \
                     been deleted and then recreated"
                ),
            )));
        }
        Ok(bound)
    }

    /// Where a pod is. A node that is not there is still named, so that the token tells where to look.
    async fn node_of(&self, pod: &Value) -> Result<Option<Ref>> {
        let name = pod.text_at(&["spec", "nodeName"]);
        if name.is_empty() {
            return Ok(None);
        }
        match self.nodes.get(&Context::default(), name).await {
            Ok(node) => Ok(Some(reference(&node))),
            Err(status) if status.reason == Reason::NotFound => {
                Ok(Some(Ref { name: name.into(), uid: String::new() }))
            }
            Err(status) => Err(Box::new(Status::internal(&status.message))),
        }
    }

    async fn token(
        &self,
        request: &Value,
        namespace: String,
        account: Ref,
        bound: Bound,
        now: SystemTime,
    ) -> Result<Issued> {
        let audiences: Vec<String> = request
            .items_at(&["spec", "audiences"])
            .iter()
            .filter_map(|audience| audience.as_str().map(str::to_owned))
            .collect();
        let asked = seconds(request);
        // Pods that do not know better get tokens that outlive what they asked for: once they use one after its time,
        // that is noted, and nothing breaks.
        let extended = self.settings.extend
            && bound.pod.is_some()
            && asked == WARN_ONLY_SECONDS
            && audiences.iter().all(|audience| self.settings.audiences.contains(audience));
        let claims = Claims {
            namespace,
            account,
            pod: bound.pod,
            secret: bound.secret,
            node: bound.node,
            audiences,
            expiration_seconds: if extended { self.settings.extended_seconds } else { asked },
            warn_after_seconds: extended.then_some(asked),
            id: String::new(),
        };
        let issued = self.settings.issuer.issue(claims, now).await;
        let issued = issued
            .map_err(|error| Box::new(Status::internal(format_args!("failed to generate token: {error}"))))?;
        Ok(issued)
    }
}

/// Returns the errors of a rule as the status of a request for a token; `name` is the one that the status shows.
fn check(request: &Value, name: &str, rule: impl Fn(&Cursor<'_, '_>)) -> Result<()> {
    let errors = Errors::default();
    rule(&Cursor::root(request, None, &errors));
    match errors.into_vec() {
        errors if errors.is_empty() => Ok(()),
        errors => Err(Box::new(Status::invalid(GROUP, KIND, name, &errors))),
    }
}

fn validate_name(request: &Cursor<'_, '_>, account: &str) {
    let name = request.at(&["metadata", "name"]);
    if !name.is_empty() && name.text() != account {
        name.invalid(name.text(), "must match the service account name if specified");
    }
}

fn validate(request: &Cursor<'_, '_>) {
    let life = request.at(&["spec", "expirationSeconds"]);
    if life.integer() < SHORTEST {
        life.invalid(life.integer(), "may not specify a duration less than 10 minutes");
    }
    if life.integer() > LONGEST {
        life.invalid(life.integer(), "may not specify a duration larger than 2^32 seconds");
    }
}

fn seconds(request: &Value) -> i64 {
    request.at(&["spec", "expirationSeconds"]).and_then(Value::as_i64).unwrap_or_default()
}

fn reference(object: &Value) -> Ref {
    Ref { name: object.name().into(), uid: object.uid().into() }
}

fn set(object: &mut Value, path: &[&str], field: &str, value: Value) {
    if let Some(place) = object.at_mut(path).and_then(Value::as_object_mut) {
        place.insert(field.to_owned(), value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(request: &str, rule: impl Fn(&Cursor<'_, '_>)) -> Option<String> {
        let of = pintle_schema::find("authentication/v1.TokenRequest").unwrap();
        let request = pintle_codec::json::decode(of, request.as_bytes()).unwrap().value;
        check(&request, "a", rule).err().map(|status| status.message)
    }

    #[test]
    fn a_named_request_is_for_that_account() {
        let named = |name: &str| {
            refusal(&format!(r#"{{"metadata":{{"name":"{name}"}}}}"#), |request| validate_name(request, "a"))
        };
        assert_eq!(named(""), None);
        assert_eq!(named("a"), None);
        let why = r#"metadata.name: Invalid value: "b": must match the service account name if specified"#;
        let expected = format!(r#"TokenRequest.authentication.k8s.io "a" is invalid: {why}"#);
        assert_eq!(named("b"), Some(expected));
    }

    #[test]
    fn lives_of_tokens_have_limits() {
        let lasting =
            |seconds: i64| refusal(&format!(r#"{{"spec":{{"expirationSeconds":{seconds}}}}}"#), validate);
        assert_eq!(lasting(SHORTEST), None);
        assert_eq!(lasting(LONGEST), None);
        for (seconds, why) in [
            (599, "may not specify a duration less than 10 minutes"),
            (4_294_967_297, "may not specify a duration larger than 2^32 seconds"),
        ] {
            let field = "spec.expirationSeconds: Invalid value";
            let expected =
                format!(r#"TokenRequest.authentication.k8s.io "a" is invalid: {field}: {seconds}: {why}"#);
            assert_eq!(lasting(seconds), Some(expected));
        }
    }
}
