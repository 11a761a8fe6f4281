//! Tokens of other issuers: JSON web tokens that an OpenID provider has signed.
//!
//! A token is looked at only if it names the issuer, so that at most one issuer verifies it. Which of its claims become
//! the user is configured, as claims by name or as expressions. An issuer that cannot be reached yet refuses its tokens and
//! is asked again until it can be.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use pintle_meta::Value;
use pintle_meta::time::Time;
use pintle_meta::value::Node;
use pintle_outbound::egress::{Egress, Network, Selector};
use pintle_outbound::{ClientOptions, Material, Roots, TlsOptions};
use pintle_runtime::{Clock, Spawner, Stopwatch};

use super::{Error, Identity, TokenAuthenticator};
use crate::User;
use crate::configuration::authentication::{JwtAuthenticator, Mapping};
use crate::expression::Expression;
use crate::jwt::{Algorithm, Claims, Unverified, unverified_issuer};

mod distributed;
pub(crate) mod expressions;
mod keys;
mod search;
#[cfg(test)]
mod tests;

use distributed::Resolver;
use expressions::{claims_value, texts, user_value};
use keys::Provider;
use search::{Location, Search};

const GOOGLE: &str = "https://accounts.google.com";
/// How much earlier than said a token may come into force.
const NOT_BEFORE_LEEWAY: Duration = Duration::from_secs(60);

/// Told about issuers, for figures about them.
pub trait KeyEvents: Send + Sync + 'static {
    /// The keys of this issuer were asked for: what came, if it was a set of keys.
    fn fetched(&self, issuer: &str, keys: Option<&[u8]>);
    /// A token of this issuer was judged.
    fn judged(&self, issuer: &str, success: bool, took: Duration);
}

/// One issuer.
pub struct Oidc {
    configuration: JwtAuthenticator,
    algorithms: Vec<Algorithm>,
    compiled: Compiled,
    /// For groups that are elsewhere.
    resolver: Option<Resolver>,
    search: Search,
    events: Option<Arc<dyn KeyEvents>>,
}

#[derive(Default)]
struct Compiled {
    username: Option<Expression>,
    groups: Option<Expression>,
    uid: Option<Expression>,
    extra: Vec<(String, Expression)>,
    rules: Vec<(Expression, String)>,
    user_rules: Vec<(Expression, String)>,
}

impl Compiled {
    fn new(configuration: &JwtAuthenticator) -> Result<Compiled, String> {
        let of = |mapping: &Mapping| match mapping.expression.as_str() {
            "" => Ok(None),
            text => expressions::mapping(text).map(Some),
        };
        let mappings = &configuration.claim_mappings;
        let rules = configuration.claim_validation_rules.iter().filter(|rule| !rule.expression.is_empty());
        let extra = mappings.extra.iter();
        let users = configuration.user_validation_rules.iter();
        Ok(Compiled {
            username: of(&mappings.username)?,
            groups: of(&mappings.groups)?,
            uid: of(&mappings.uid)?,
            extra: extra
                .map(|one| Ok((one.key.clone(), expressions::mapping(&one.value_expression)?)))
                .collect::<Result<_, String>>()?,
            rules: rules
                .map(|rule| Ok((expressions::claims_condition(&rule.expression)?, rule.message.clone())))
                .collect::<Result<_, String>>()?,
            user_rules: users
                .map(|rule| Ok((expressions::user_condition(&rule.expression)?, rule.message.clone())))
                .collect::<Result<_, String>>()?,
        })
    }
}

/// Returns the egress to an issuer with an `egressSelectorType`; an error if none is configured for it.
fn way(kind: &str, ways: Option<&Selector>) -> Result<Option<Egress>, String> {
    if kind.is_empty() {
        return Ok(None);
    }
    let quoted = pintle_meta::quote(kind);
    let network =
        Network::named(kind).ok_or_else(|| format!("oidc: unknown egress selector type {quoted}"))?;
    let ways =
        ways.ok_or_else(|| format!("oidc: egress lookup required with egress selector type {quoted}"))?;
    let egress = ways.lookup(network);
    egress.map(Some).ok_or_else(|| format!("oidc: egress lookup for {quoted} is not configured"))
}

impl Oidc {
    /// Starts the search for the issuer, through an egress of `ways` if it names one. The configuration must be valid.
    pub fn new(
        configuration: JwtAuthenticator,
        algorithms: Vec<Algorithm>,
        events: Option<Arc<dyn KeyEvents>>,
        ways: Option<&Selector>,
        clock: Clock,
        spawner: Spawner,
    ) -> Result<Oidc, String> {
        let compiled = Compiled::new(&configuration)?;
        let issuer = configuration.issuer.clone();
        let egress = way(&issuer.egress_selector_type, ways)?;
        let roots = match issuer.certificate_authority.as_str() {
            "" => Roots::System,
            pem => Roots::Bundle(Material::Text(pem.into())),
        };
        let tls = TlsOptions { roots, ..TlsOptions::default() };
        let options = ClientOptions { tls, egress, clock: clock.clone(), ..ClientOptions::default() };
        let resolver = match configuration.claim_mappings.groups.claim.as_str() {
            "" => None,
            claim => {
                let location = Location {
                    issuer: issuer.url.clone(),
                    discovery_url: issuer.discovery_url.clone(),
                    options: options.clone(),
                };
                Some(Resolver::new(claim, location, clock.clone(), spawner.clone()))
            }
        };
        let location = Location { issuer: issuer.url, discovery_url: issuer.discovery_url, options };
        let failure = "oidc authenticator: initializing plugin";
        let search = Search::start(location, failure, events.clone(), &clock, &spawner);
        Ok(Oidc { configuration, algorithms, compiled, resolver, search, events })
    }

    /// Why tokens of this issuer cannot be judged yet; `None` if they can.
    pub fn problem(&self) -> Option<String> {
        if self.provider().is_some() {
            return None;
        }
        let issuer = pintle_meta::quote(&self.configuration.issuer.url);
        let problem = match self.search.problem() {
            none if none.is_empty() => format!("oidc: authenticator for issuer {issuer} is not initialized"),
            problem => problem,
        };
        Some(format!("oidc: authenticator for issuer {issuer} is not healthy: {problem}"))
    }

    fn provider(&self) -> Option<Arc<Provider>> {
        self.search.provider()
    }

    async fn judge(&self, token: &[u8], now: SystemTime) -> Result<User, String> {
        let provider = self.provider().ok_or("oidc: authenticator not initialized")?;
        let claims = self
            .verify(&provider, &self.configuration.issuer.url, token, now)
            .await
            .map_err(|why| format!("oidc: verify token: {why}"))?;
        let expanded = self
            .expand(&claims, now)
            .await
            .map_err(|why| format!("oidc: could not expand distributed claims: {why}"))?;
        self.user(expanded.as_ref().unwrap_or(claims.value()))
    }

    /// The claims with the groups that are elsewhere, if they are.
    async fn expand(&self, claims: &Claims, now: SystemTime) -> Result<Option<Value>, String> {
        let Some(resolver) = &self.resolver else { return Ok(None) };
        let claim = &self.configuration.claim_mappings.groups.claim;
        let Some(source) = distributed::source(claims.value(), claim)? else { return Ok(None) };
        let (token, issuer, provider) = resolver.fetch(&source).await?;
        let there = self
            .verify(&provider, &issuer, &token, now)
            .await
            .map_err(|why| format!("verify distributed claim token: {why}"))?;
        let mut all = claims.value().clone();
        if let Some(all) = all.as_object_mut() {
            all.insert(claim.as_str(), resolver.value(&source, &there)?);
        }
        Ok(Some(all))
    }

    /// The claims of a token that is the issuer's, for us, and valid now.
    async fn verify(
        &self,
        provider: &Provider,
        expected: &str,
        token: &[u8],
        now: SystemTime,
    ) -> Result<Claims, String> {
        let token = Unverified::parse(token).map_err(|error| format!("oidc: malformed jwt: {error}"))?;
        if !self.algorithms.contains(&token.algorithm()) {
            let names: Vec<&str> = self.algorithms.iter().map(|algorithm| algorithm.name()).collect();
            return Err(format!(
                "oidc: id token signed with unsupported algorithm, expected {} got {}",
                pintle_meta::quote_all(&names),
                pintle_meta::quote(token.algorithm().name())
            ));
        }
        let claims = provider
            .verify(&token, &self.algorithms)
            .await
            .map_err(|error| format!("failed to verify signature: {error}"))?;
        let malformed = |error: crate::jwt::Error| format!("oidc: failed to unmarshal claims: {error}");
        distributed::check(claims.value())?;
        let issuer = claims.text("iss").map_err(malformed)?.unwrap_or_default();
        if canonical(issuer) != expected {
            return Err(format!(
                "oidc: id token issued by a different provider, expected {} got {}",
                pintle_meta::quote(expected),
                pintle_meta::quote(issuer)
            ));
        }
        let (audiences, ours) =
            (claims.audiences().map_err(malformed)?, &self.configuration.issuer.audiences);
        if !audiences.iter().any(|audience| ours.contains(audience)) {
            return Err(format!(
                "oidc: expected audience in {} got {}",
                pintle_meta::quote_all(ours),
                pintle_meta::quote_all(&audiences)
            ));
        }
        let now = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let seconds = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
        let expiry = claims.openid_date("exp", true).map_err(malformed)?.unwrap_or(i64::MIN);
        claims.openid_date("iat", true).map_err(malformed)?;
        let not_before = claims.openid_date("nbf", false).map_err(malformed)?;
        if expiry < seconds || expiry == seconds && now.subsec_nanos() > 0 {
            let shown = Time::from_unix(expiry.clamp(0, 253_402_300_799), 0);
            return Err(format!("oidc: token is expired (Token Expiry: {shown})"));
        }
        if let Some(from) = not_before
            && seconds.saturating_add(NOT_BEFORE_LEEWAY.as_secs() as i64) < from
        {
            return Err("oidc: current time is before the nbf (not before) time".into());
        }
        Ok(claims)
    }

    /// Maps accepted claims to a user.
    fn user(&self, all: &Value) -> Result<User, String> {
        let compiled = &self.compiled;
        let uses_cel = compiled.username.is_some()
            || compiled.groups.is_some()
            || compiled.uid.is_some()
            || !compiled.extra.is_empty()
            || !compiled.rules.is_empty();
        let value = if uses_cel { claims_value(all) } else { Value::NULL };
        let user = User {
            name: self.username(all, &value)?,
            groups: self.groups(all, &value)?,
            uid: self.uid(all, &value)?,
            extra: self.extra(all, &value)?,
        };
        for rule in self.configuration.claim_validation_rules.iter().filter(|rule| !rule.claim.is_empty()) {
            let claim = &rule.claim;
            let given = all
                .get(claim)
                .ok_or_else(|| format!("oidc: required claim {claim} not present in ID token"))?;
            let given = text(given).map_err(|why| format!("oidc: parse claim {claim}: {why}"))?;
            if given != rule.required_value {
                return Err(format!(
                    "oidc: required claim {claim} value does not match. Got = {given}, want = {}",
                    rule.required_value
                ));
            }
        }
        for (rule, message) in &compiled.rules {
            holds(rule, "claims", &value, message)
                .map_err(|why| format!("oidc: error evaluating claim validation expression: {why}"))?;
        }
        if !compiled.user_rules.is_empty() {
            let value = user_value(&user);
            for (rule, message) in &compiled.user_rules {
                holds(rule, "user", &value, message)
                    .map_err(|why| format!("oidc: error evaluating user info validation rule: {why}"))?;
            }
        }
        Ok(user)
    }

    fn username(&self, all: &Value, value: &Value) -> Result<String, String> {
        if let Some(expression) = &self.compiled.username {
            let failed = |why: String| format!("oidc: error evaluating username claim expression: {why}");
            let must = || "username claim expression must return a string".to_owned();
            let name = expression
                .evaluate("claims", value, |name| name.as_str().map(str::to_owned).ok_or_else(must))
                .map_err(failed)?;
            return if name.is_empty() {
                Err("oidc: empty username via CEL expression is not allowed".into())
            } else {
                Ok(name)
            };
        }
        let Mapping { claim, prefix, .. } = &self.configuration.claim_mappings.username;
        let failed = |why: &str| format!("oidc: parse username claims {}: {why}", pintle_meta::quote(claim));
        let name = all.get(claim).ok_or_else(|| failed("claim not present"))?;
        let name = text(name).map_err(|why| failed(&why))?;
        if claim == "email"
            && let Some(verified) = all.get("email_verified")
        {
            match verified.node() {
                Node::Bool(true) => {}
                Node::Bool(false) | Node::Null => return Err("oidc: email not verified".into()),
                _ => return Err("oidc: parse 'email_verified' claim: it is not a boolean".into()),
            }
        }
        Ok(format!("{}{name}", prefix.as_deref().unwrap_or_default()))
    }

    fn groups(&self, all: &Value, value: &Value) -> Result<Vec<String>, String> {
        let Mapping { claim, prefix, .. } = &self.configuration.claim_mappings.groups;
        if let Some(groups) = all.get(claim).filter(|_| !claim.is_empty()) {
            let failed =
                |why: String| format!("oidc: parse groups claim {}: {why}", pintle_meta::quote(claim));
            let groups: Vec<String> = match groups.node() {
                Node::List(groups) => groups.iter().map(text).collect::<Result<_, _>>().map_err(failed)?,
                Node::Null => Vec::new(),
                _ => vec![text(groups).map_err(failed)?],
            };
            let prefix = prefix.as_deref().unwrap_or_default();
            return Ok(groups.into_iter().map(|group| format!("{prefix}{group}")).collect());
        }
        let Some(expression) = &self.compiled.groups else { return Ok(Vec::new()) };
        expression
            .evaluate("claims", value, |groups| texts(&groups))
            .map_err(|why| format!("oidc: error evaluating group claim expression: {why}"))
    }

    fn uid(&self, all: &Value, value: &Value) -> Result<String, String> {
        let claim = &self.configuration.claim_mappings.uid.claim;
        if !claim.is_empty() {
            let failed = |why: &str| format!("oidc: parse uid claim {}: {why}", pintle_meta::quote(claim));
            let uid = all.get(claim).ok_or_else(|| failed("claim not present"))?;
            return text(uid).map_err(|why| failed(&why));
        }
        let Some(expression) = &self.compiled.uid else { return Ok(String::new()) };
        let must = || "uid claim expression must return a string".to_owned();
        expression
            .evaluate("claims", value, |uid| uid.as_str().map(str::to_owned).ok_or_else(must))
            .map_err(|why| format!("oidc: error evaluating uid claim expression: {why}"))
    }

    fn extra(&self, all: &Value, value: &Value) -> Result<BTreeMap<String, Vec<String>>, String> {
        let mut extra = BTreeMap::new();
        if let Some(id) = all.get("jti").and_then(Value::as_str).filter(|id| !id.is_empty()) {
            extra.insert("authentication.kubernetes.io/credential-id".to_owned(), vec![format!("JTI={id}")]);
        }
        for (key, expression) in &self.compiled.extra {
            let values = expression.evaluate("claims", value, |values| texts(&values)).map_err(|why| {
                format!("oidc: error evaluating extra claim expression: {}: {why}", expression.text)
            })?;
            if !values.is_empty() {
                extra.insert(key.clone(), values);
            }
        }
        Ok(extra)
    }
}

#[async_trait]
impl TokenAuthenticator for Oidc {
    async fn authenticate_token(
        &self,
        token: &[u8],
        _: &[String],
        now: SystemTime,
    ) -> Result<Option<Identity>, Error> {
        let url = &self.configuration.issuer.url;
        if unverified_issuer(token).is_none_or(|issuer| canonical(&issuer) != url.as_str()) {
            return Ok(None);
        }
        let watch = Stopwatch::start();
        let judged = self.judge(token, now).await;
        if let Some(events) = &self.events {
            events.judged(url, judged.is_ok(), watch.elapsed());
        }
        let user = judged.map_err(Error::Refused)?;
        Ok(Some(Arc::new(user.authenticated()).into()))
    }
}

/// Google's tokens name their issuer with or without the scheme.
fn canonical(issuer: &str) -> &str {
    match issuer {
        "accounts.google.com" => GOOGLE,
        issuer => issuer,
    }
}

fn text(value: &Value) -> Result<String, String> {
    match value.node() {
        Node::String(text) => Ok(text.to_owned()),
        Node::Null => Ok(String::new()),
        _ => Err("it is not a string".into()),
    }
}

fn holds(rule: &Expression, variable: &str, value: &Value, message: &str) -> Result<(), String> {
    let must = || "validation expression must return a boolean".to_owned();
    if rule.evaluate(variable, value, |result| result.as_bool().ok_or_else(must))? {
        return Ok(());
    }
    Err(format!("validation expression '{}' failed: {message}", rule.text))
}

/// Issuers that can be exchanged for others while they are in use.
#[derive(Default)]
pub struct Issuers(RwLock<Arc<Vec<Oidc>>>);

impl Issuers {
    pub fn new(issuers: Vec<Oidc>) -> Issuers {
        Issuers(RwLock::new(Arc::new(issuers)))
    }

    /// Replaces the issuers. Returns the URLs of those that are gone.
    pub fn replace(&self, issuers: Vec<Oidc>) -> Vec<String> {
        let names = |issuers: &[Oidc]| {
            issuers.iter().map(|one| one.configuration.issuer.url.clone()).collect::<Vec<String>>()
        };
        let kept = names(&issuers);
        let old = std::mem::replace(
            &mut *self.0.write().unwrap_or_else(PoisonError::into_inner),
            Arc::new(issuers),
        );
        names(&old).into_iter().filter(|name| !kept.contains(name)).collect()
    }
}

#[async_trait]
impl TokenAuthenticator for Issuers {
    async fn authenticate_token(
        &self,
        token: &[u8],
        audiences: &[String],
        now: SystemTime,
    ) -> Result<Option<Identity>, Error> {
        let issuers = self.0.read().unwrap_or_else(PoisonError::into_inner).clone();
        for issuer in issuers.iter() {
            if let Some(identity) = issuer.authenticate_token(token, audiences, now).await? {
                return Ok(Some(identity));
            }
        }
        Ok(None)
    }
}
