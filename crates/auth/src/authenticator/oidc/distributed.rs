//! Groups that a token does not hold itself: it names an endpoint that has them, in another token.
//!
//! ```text
//! {.., "_claim_names": {"groups": "source"}, "_claim_sources": {"source": {"endpoint": "https://..", "access_token": ".."}}}
//! ```
//!
//! Only claims of a verified token are followed, so an endpoint comes from a trusted issuer. The fetched token is verified like
//! the first one, with the keys of the issuer that it names. Aggregated claims (a token within the token) are ignored, as by the
//! reference.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use pintle_meta::Value;
use pintle_meta::value::Node;
use pintle_outbound::{Authorization, Client, ClientOptions, Url};
use pintle_runtime::{Clock, Spawner};

use super::canonical;
use super::keys::Provider;
use super::search::{Location, Search};
use crate::jwt::{Claims, MAX_TOKEN, unverified_issuer};

const NAMES: &str = "_claim_names";
const SOURCES: &str = "_claim_sources";
/// Of one configured issuer. There is one, or a few.
const MOST_ISSUERS: usize = 64;

/// Where a claim is, if not in the token.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Source {
    endpoint: String,
    access_token: String,
}

/// Checks that every claim name refers to a source of the token; without it, the token is invalid.
pub(super) fn check(claims: &Value) -> Result<(), String> {
    let malformed = |name: &str| format!("oidc: failed to unmarshal claims: {name} is not of the right type");
    let Some(names) = claims.get(NAMES) else { return Ok(()) };
    let sources = claims.get(SOURCES);
    for source in entries(names).ok_or_else(|| malformed(NAMES))? {
        match source.1.node() {
            Node::String("") | Node::Null => {
                return Err("oidc: failed to obtain source from claim name".into());
            }
            Node::String(source) if sources.and_then(|all| all.get(source)).is_some() => {}
            Node::String(_) => return Err("oidc: source does not exist".into()),
            _ => return Err(malformed(NAMES)),
        }
    }
    Ok(())
}

/// The entries of an object; null has none, and what is no object cannot be read.
fn entries(object: &Value) -> Option<impl Iterator<Item = (&str, &Value)>> {
    let object = match object.node() {
        Node::Object(object) => Some(object),
        Node::Null => None,
        _ => return None,
    };
    Some(object.into_iter().flat_map(|object| object.iter()))
}

/// Where else a claim is, if it is not in the token and somewhere at all.
pub(super) fn source(claims: &Value, claim: &str) -> Result<Option<Source>, String> {
    let Some(names) = claims.get(NAMES).filter(|_| claims.get(claim).is_none()) else { return Ok(None) };
    let sources = claims.get(SOURCES).ok_or("oidc: no claim sources")?;
    let malformed = || "oidc: could not parse claim sources: it is not of the right type".to_owned();
    for (_, source) in entries(sources).ok_or_else(malformed)? {
        let is_text = |name: &str| {
            matches!(source.get(name).map(Value::node), None | Some(Node::Null | Node::String(_)))
        };
        if entries(source).is_none() || !["endpoint", "access_token", "JWT"].into_iter().all(is_text) {
            return Err(malformed());
        }
    }
    let Some(name) = names.get(claim).and_then(Value::as_str) else { return Ok(None) };
    let source = sources.get(name).ok_or_else(|| {
        format!("id token _claim_names contained a source {name} missing in _claims_sources")
    })?;
    let text = |field: &str| source.text_at(&[field]).to_owned();
    let found = Source { endpoint: text("endpoint"), access_token: text("access_token") };
    Ok(Some(found).filter(|source| !source.endpoint.is_empty()))
}

/// Fetches tokens with claims of other tokens, and finds the issuers that sign them.
pub(super) struct Resolver {
    claim: String,
    /// The configured issuer, whose discovery document may be elsewhere.
    configured: Location,
    /// The searches for issuers of fetched tokens, by issuer.
    searches: Mutex<HashMap<String, Search>>,
    clock: Clock,
    spawner: Spawner,
}

impl Resolver {
    pub(super) fn new(claim: &str, configured: Location, clock: Clock, spawner: Spawner) -> Resolver {
        Resolver { claim: claim.to_owned(), configured, searches: Mutex::default(), clock, spawner }
    }

    /// Returns the token that has the claim, its issuer, and the keys to verify it with.
    pub(super) async fn fetch(&self, source: &Source) -> Result<(Vec<u8>, String, Arc<Provider>), String> {
        let claim = pintle_meta::quote(&self.claim);
        let token = self
            .get(source)
            .await
            .map_err(|error| format!("while getting distributed claim {claim}: {error}"))?;
        let issuer = unverified_issuer(&token).ok_or_else(|| {
            let endpoint = &source.endpoint;
            format!(
                "getting untrusted issuer from endpoint {endpoint} failed for claim {claim}: malformed token"
            )
        })?;
        let issuer = canonical(&issuer).to_owned();
        let provider = self
            .provider(&issuer)
            .map_err(|error| format!("verifying untrusted issuer {issuer} failed: {error}"))?;
        Ok((token, issuer, provider))
    }

    /// Returns the value of the claim.
    pub(super) fn value(&self, source: &Source, claims: &Claims) -> Result<Value, String> {
        claims.value().get(&self.claim).cloned().ok_or_else(|| {
            let (endpoint, claim) = (pintle_meta::quote(&source.endpoint), &self.claim);
            format!("jwt returned by distributed claim endpoint {endpoint} did not contain claim: {claim}")
        })
    }

    async fn get(&self, source: &Source) -> Result<Vec<u8>, String> {
        let failed = |error: &dyn std::fmt::Display| format!("while calling {}: {error}", source.endpoint);
        let url = Url::parse(&source.endpoint).map_err(|error| failed(&error))?;
        // A client for this request alone: it carries the access token of this user.
        let authorization = match source.access_token.as_str() {
            "" => Authorization::None,
            token => Authorization::Bearer(token.to_owned()),
        };
        let options = ClientOptions {
            authorization,
            largest_answer: MAX_TOKEN,
            follow_redirects: true,
            ..self.configured.options.clone()
        };
        let client = Client::new(&url, options).map_err(|error| failed(&error))?;
        let answer = client.get(&url).await.map_err(|error| error.to_string())?;
        if !(200..=226).contains(&answer.status.as_u16()) {
            return Err(format!("error while getting distributed claim JWT: {}", answer.status));
        }
        Ok(answer.body.trim_ascii().to_vec())
    }

    /// Returns an issuer that was found already. The first call for an issuer starts the search and fails.
    fn provider(&self, issuer: &str) -> Result<Arc<Provider>, String> {
        let mut searches = self.searches.lock().unwrap_or_else(PoisonError::into_inner);
        if !searches.contains_key(issuer) {
            if searches.len() >= MOST_ISSUERS {
                return Err(format!("more than {MOST_ISSUERS} issuers have signed claims"));
            }
            searches.insert(issuer.to_owned(), self.search(issuer));
        }
        let found = searches.get(issuer).and_then(Search::provider);
        found.ok_or_else(|| format!("verifier not initialized for issuer: {}", pintle_meta::quote(issuer)))
    }

    fn search(&self, issuer: &str) -> Search {
        let is_configured = issuer == self.configured.issuer;
        let discovery_url = if is_configured { self.configured.discovery_url.clone() } else { String::new() };
        let options = self.configured.options.clone();
        let location = Location { issuer: issuer.to_owned(), discovery_url, options };
        let failure = "oidc authenticator: async token verifier for issuer";
        Search::start(location, failure, None, &self.clock, &self.spawner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Value {
        pintle_codec::json::decode_any(text.as_bytes()).unwrap().value
    }

    #[test]
    fn sources_must_be_there_in_any_token() {
        assert_eq!(check(&value(r#"{}"#)), Ok(()));
        assert_eq!(check(&value(r#"{"_claim_names":{"a":"s"},"_claim_sources":{"s":{}}}"#)), Ok(()));
        for (text, expect) in [
            (r#"{"_claim_names":{"a":"s"}}"#, "oidc: source does not exist"),
            (
                r#"{"_claim_names":{"a":""},"_claim_sources":{"":{}}}"#,
                "oidc: failed to obtain source from claim name",
            ),
            (
                r#"{"_claim_names":{"a":7}}"#,
                "oidc: failed to unmarshal claims: _claim_names is not of the right type",
            ),
            (
                r#"{"_claim_names":[]}"#,
                "oidc: failed to unmarshal claims: _claim_names is not of the right type",
            ),
        ] {
            assert_eq!(check(&value(text)).unwrap_err(), expect, "{text}");
        }
    }

    #[test]
    fn a_claim_is_sought_elsewhere_only_if_it_is_not_in_the_token() {
        let at = |text: &str| source(&value(text), "groups");
        let there = Source { endpoint: "https://a".into(), access_token: "t".into() };
        let sources =
            r#""_claim_sources":{"s":{"endpoint":"https://a","access_token":"t"},"in":{"JWT":"a.b.c"}}"#;
        assert_eq!(at(&format!(r#"{{"_claim_names":{{"groups":"s"}},{sources}}}"#)), Ok(Some(there)));
        for none in [
            format!(r#"{{"groups":[],"_claim_names":{{"groups":"s"}},{sources}}}"#),
            format!(r#"{{"_claim_names":{{"other":"s"}},{sources}}}"#),
            format!(r#"{{"_claim_names":{{"groups":"in"}},{sources}}}"#),
            "{}".to_owned(),
        ] {
            assert_eq!(at(&none), Ok(None), "{none}");
        }
        assert_eq!(at(r#"{"_claim_names":{}}"#).unwrap_err(), "oidc: no claim sources");
        assert_eq!(
            at(r#"{"_claim_names":{"groups":"s"},"_claim_sources":{"s":7}}"#).unwrap_err(),
            "oidc: could not parse claim sources: it is not of the right type"
        );
        assert_eq!(
            at(r#"{"_claim_names":{"groups":"s"},"_claim_sources":{}}"#).unwrap_err(),
            "id token _claim_names contained a source s missing in _claims_sources"
        );
    }
}
