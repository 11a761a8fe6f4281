//! Against real issuers.

use std::ops::Deref;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use pintle_outbound::testing::{HttpsServer, Reply};
use pintle_runtime::{ManualClock, Tasks};
use serde_json::{Value as Json, json};

use super::*;
use crate::configuration::AuthenticationConfiguration;
use crate::configuration::authentication::Rules;
use crate::jwt::{PrivateKey, write_set};

/// An issuer with keys that can be exchanged.
struct Provider {
    server: HttpsServer,
    keys: Arc<Mutex<Vec<u8>>>,
    fetches: Arc<AtomicUsize>,
}

fn set(keys: &[&PrivateKey]) -> Vec<u8> {
    write_set(keys.iter().map(|key| key.public()))
}

async fn provider(key: &PrivateKey) -> Provider {
    let (keys, fetches) = (Arc::new(Mutex::new(set(&[key]))), Arc::new(AtomicUsize::new(0)));
    let (held, counted, name) = (keys.clone(), fetches.clone(), Arc::new(Mutex::new(String::new())));
    let own = name.clone();
    let server = HttpsServer::start(move |seen| {
        let issuer = own.lock().unwrap().clone();
        match seen.path.as_str() {
            "/keys" => {
                counted.fetch_add(1, Ordering::SeqCst);
                Reply { body: held.lock().unwrap().clone(), ..Reply::json(&json!({})) }
            }
            _ => Reply::json(&json!({"issuer": issuer, "jwks_uri": format!("{issuer}/keys")})),
        }
    })
    .await;
    *name.lock().unwrap() = server.url("");
    Provider { server, keys, fetches }
}

fn configuration(provider: &Provider, rest: Json) -> JwtAuthenticator {
    let mut whole = json!({
        "issuer": {
            "url": provider.server.url(""),
            "audiences": ["us", "also-us"],
            "audienceMatchPolicy": "MatchAny",
            "certificateAuthority": provider.server.authority.pem,
        },
        "claimMappings": {"username": {"claim": "sub", "prefix": "p:"}, "groups": {"claim": "groups", "prefix": ""}},
    });
    for (key, value) in rest.as_object().into_iter().flatten() {
        whole[key] = value.clone();
    }
    let text = json!({
        "apiVersion": "apiserver.config.k8s.io/v1", "kind": "AuthenticationConfiguration", "jwt": [whole],
    });
    AuthenticationConfiguration::read(text.to_string().as_bytes(), Rules::default()).unwrap().jwt.remove(0)
}

/// An authenticator with the tasks that search for its issuer.
struct Started {
    oidc: Oidc,
    tasks: Tasks,
}

impl Deref for Started {
    type Target = Oidc;

    fn deref(&self) -> &Oidc {
        &self.oidc
    }
}

fn start(configuration: JwtAuthenticator, clock: Clock) -> Started {
    let (tasks, algorithms) = (Tasks::new(), Algorithm::ALL.to_vec());
    let oidc = Oidc::new(configuration, algorithms, None, None, clock, tasks.spawner()).unwrap();
    Started { oidc, tasks }
}

async fn eventually(what: &str, condition: impl Fn() -> bool) {
    for _ in 0..500 {
        if condition() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{what}");
}

async fn oidc(provider: &Provider, rest: Json) -> Started {
    let oidc = start(configuration(provider, rest), Clock::system());
    eventually("the issuer is found", || oidc.problem().is_none()).await;
    oidc
}

fn seconds(from_now: i64) -> i64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    i64::try_from(now).unwrap() + from_now
}

fn token(provider: &Provider, key: &PrivateKey, change: Json) -> String {
    let mut claims = json!({
        "iss": provider.server.url(""), "aud": "us", "exp": seconds(600), "sub": "ann", "groups": ["devs"], "jti": "id-1",
    });
    for (name, value) in change.as_object().into_iter().flatten() {
        match value {
            Json::Null => drop(claims.as_object_mut().unwrap().remove(name)),
            value => claims[name] = value.clone(),
        }
    }
    key.sign(&pintle_codec::json::decode_any(claims.to_string().as_bytes()).unwrap().value).unwrap()
}

async fn ask(oidc: &Oidc, token: &str) -> Result<Option<Arc<User>>, String> {
    let found = oidc.authenticate_token(token.as_bytes(), &[], SystemTime::now()).await;
    found.map(|identity| identity.map(|identity| identity.user)).map_err(|error| error.to_string())
}

fn key() -> PrivateKey {
    PrivateKey::generate().unwrap().0
}

#[tokio::test]
async fn a_token_of_the_issuer_names_its_user() {
    let key = key();
    let provider = provider(&key).await;
    let oidc = oidc(&provider, json!({})).await;
    let user = ask(&oidc, &token(&provider, &key, json!({}))).await.unwrap().unwrap();
    assert_eq!(user.name, "p:ann");
    assert_eq!(user.groups, ["devs", "system:authenticated"]);
    assert_eq!(user.extra["authentication.kubernetes.io/credential-id"], ["JTI=id-1"]);
    let single = ask(&oidc, &token(&provider, &key, json!({"groups": "one"}))).await.unwrap().unwrap();
    assert_eq!(single.groups, ["one", "system:authenticated"]);
    assert_eq!(provider.fetches.load(Ordering::SeqCst), 1, "keys are fetched once");
}

#[tokio::test]
async fn an_invalid_token_is_refused() {
    let key = key();
    let provider = provider(&key).await;
    let oidc = oidc(&provider, json!({})).await;
    let check = async |change: Json, expect: &str| {
        let error = ask(&oidc, &token(&provider, &key, change.clone())).await.unwrap_err();
        assert!(error.contains(expect), "{change}: {error}");
    };
    check(json!({"exp": seconds(-1)}), "oidc: token is expired").await;
    check(json!({"exp": null}), "oidc: token is expired").await;
    check(json!({"exp": 1e20}), "oidc: token is expired").await;
    check(json!({"exp": "soon"}), "oidc: failed to unmarshal claims").await;
    check(json!({"iat": "soon"}), "oidc: failed to unmarshal claims").await;
    check(json!({"nbf": seconds(120)}), "before the nbf").await;
    check(json!({"aud": "them"}), "oidc: expected audience in [\"us\" \"also-us\"] got [\"them\"]").await;
    check(json!({"aud": null}), "oidc: expected audience in").await;
    check(json!({"sub": null}), "oidc: parse username claims \"sub\": claim not present").await;
    check(json!({"sub": 5}), "oidc: parse username claims \"sub\"").await;
    check(json!({"groups": [1]}), "oidc: parse groups claim \"groups\"").await;
    check(json!({"groups": null, "_claim_names": {"groups": "x"}}), "oidc: source does not exist").await;
    assert!(ask(&oidc, &token(&provider, &key, json!({"nbf": seconds(30)}))).await.is_ok());
    assert_eq!(ask(&oidc, &token(&provider, &key, json!({"iss": "https://other"}))).await, Ok(None));
    assert_eq!(ask(&oidc, "not-a-token").await, Ok(None));
    assert_eq!(ask(&oidc, &"x".repeat(1 << 20)).await, Ok(None));
}

#[tokio::test]
async fn forged_tokens_are_refused() {
    let (key, stranger) = (key(), key());
    let provider = provider(&key).await;
    let oidc = oidc(&provider, json!({})).await;
    let forged = ask(&oidc, &token(&provider, &stranger, json!({}))).await.unwrap_err();
    assert!(forged.contains("failed to verify id token signature"), "{forged}");
    use base64::Engine;
    let encode = |text: String| base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(text);
    let good = token(&provider, &key, json!({}));
    let payload = good.split('.').nth(1).unwrap();
    for header in [json!({"alg": "none"}), json!({"alg": "HS256"}), json!({"alg": "None", "kid": "x"})] {
        let unsigned = format!("{}.{payload}.", encode(header.to_string()));
        assert!(ask(&oidc, &unsigned).await.is_err(), "{header}");
    }
    // The public key as the secret of an HMAC.
    let header = encode(json!({"alg": "HS256"}).to_string());
    let secret = aws_lc_rs::hmac::Key::new(aws_lc_rs::hmac::HMAC_SHA256, key.public().spki());
    let signed = format!("{header}.{payload}");
    let tag = aws_lc_rs::hmac::sign(&secret, signed.as_bytes());
    let tag = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(tag.as_ref());
    assert!(ask(&oidc, &format!("{signed}.{tag}")).await.is_err());
}

#[tokio::test]
async fn rotated_keys_are_found_and_unknown_ones_cannot_make_us_hammer_the_issuer() {
    let (first, second) = (key(), key());
    let provider = provider(&first).await;
    let oidc = oidc(&provider, json!({})).await;
    assert!(ask(&oidc, &token(&provider, &first, json!({}))).await.is_ok());
    *provider.keys.lock().unwrap() = set(&[&second]);
    assert!(ask(&oidc, &token(&provider, &second, json!({}))).await.is_ok(), "rotated");
    assert!(ask(&oidc, &token(&provider, &first, json!({}))).await.is_err(), "withdrawn");
    for _ in 0..50 {
        assert!(ask(&oidc, &token(&provider, &key(), json!({}))).await.is_err());
    }
    let fetches = provider.fetches.load(Ordering::SeqCst);
    assert!(fetches <= 6, "{fetches} fetches");
}

#[tokio::test]
async fn an_email_counts_only_if_it_is_not_known_to_be_unverified() {
    let key = key();
    let provider = provider(&key).await;
    let mappings = json!({"claimMappings": {"username": {"claim": "email", "prefix": ""}}});
    let oidc = oidc(&provider, mappings).await;
    let ask = async |change| ask(&oidc, &token(&provider, &key, change)).await;
    assert!(ask(json!({"email": "a@b"})).await.is_ok());
    assert!(ask(json!({"email": "a@b", "email_verified": true})).await.is_ok());
    assert_eq!(
        ask(json!({"email": "a@b", "email_verified": false})).await.unwrap_err(),
        "oidc: email not verified"
    );
    assert!(ask(json!({"email": "a@b", "email_verified": "true"})).await.is_err());
}

#[tokio::test]
async fn expressions_make_and_judge_users() {
    let key = key();
    let provider = provider(&key).await;
    let rest = json!({
        "claimMappings": {
            "username": {"expression": "claims.sub + ':cel'"},
            "groups": {"expression": "claims.roles.split(',')"},
            "uid": {"claim": "jti"},
            "extra": [{"key": "example.com/level", "valueExpression": "string(claims.level)"}],
        },
        "claimValidationRules": [
            {"claim": "tenant", "requiredValue": "t1"},
            {"expression": "claims.level >= 2.0", "message": "level is too low"},
        ],
        "userValidationRules": [
            {"expression": "!user.username.startsWith('system:')", "message": "reserved"},
        ],
    });
    let oidc = oidc(&provider, rest).await;
    let claims = |change: Json| {
        let mut claims = json!({"roles": "a,b", "tenant": "t1", "level": 3});
        for (name, value) in change.as_object().into_iter().flatten() {
            claims[name] = value.clone();
        }
        claims
    };
    let ask = async |change| ask(&oidc, &token(&provider, &key, claims(change))).await;
    let user = ask(json!({})).await.unwrap().unwrap();
    assert_eq!((user.name.as_str(), user.uid.as_str()), ("ann:cel", "id-1"));
    assert_eq!(user.groups, ["a", "b", "system:authenticated"]);
    assert_eq!(user.extra["example.com/level"], ["3"]);
    let error = ask(json!({"tenant": "t2"})).await.unwrap_err();
    assert_eq!(error, "oidc: required claim tenant value does not match. Got = t2, want = t1");
    let error = ask(json!({"level": 1})).await.unwrap_err();
    let expect = "oidc: error evaluating claim validation expression: validation expression 'claims.level >= 2.0' failed: \
                  level is too low";
    assert_eq!(error, expect);
    let error = ask(json!({"sub": "system:admin"})).await.unwrap_err();
    assert!(error.contains("user info validation rule") && error.ends_with("failed: reserved"), "{error}");
}

/// Claims may have names that are no identifiers.
#[tokio::test]
async fn expressions_know_claims_by_escaped_names() {
    let key = key();
    let provider = provider(&key).await;
    let rest = json!({
        "claimMappings": {
            "username": {"expression": "claims.kubernetes__dot__io.pods[0].a__slash__b"},
            "groups": {"expression": "claims.nested['null']"},
            "extra": [
                {"key": "example.com/has", "valueExpression": "has(claims.kubernetes__dot__io) ? 'yes' : 'no'"},
                {"key": "example.com/maybe", "valueExpression": "claims.?kubernetes__dot__io.?ns.orValue('none')"},
                {"key": "example.com/word", "valueExpression": "claims.__namespace__"},
                {"key": "example.com/given", "valueExpression": "claims['kubernetes.io'].ns"},
                {"key": "example.com/none", "valueExpression": "claims.?foo.orValue('')"},
                {"key": "example.com/null", "valueExpression": "null"},
            ],
        },
        "claimValidationRules": [
            {"expression": "claims.kubernetes__dot__io.map(key, key) == ['ns', 'pods']", "message": "keys are as they are"},
        ],
        "userValidationRules": [
            {"expression": "user.extra.example__dot__com__slash__has == ['yes']", "message": "extra"},
            {"expression": "!('example.com/none' in user.extra)", "message": "what is empty is not there"},
        ],
    });
    let oidc = oidc(&provider, rest).await;
    let claims = json!({
        "kubernetes.io": {"ns": "n", "pods": [{"a/b": "p"}]}, "namespace": "word", "nested": {"null": null}
    });
    let user = ask(&oidc, &token(&provider, &key, claims)).await.unwrap().unwrap();
    assert_eq!((user.name.as_str(), user.groups.len()), ("p", 1));
    let extra = |name: &str| user.extra.get(&format!("example.com/{name}")).map(|values| values.join(","));
    for (name, value) in [("has", "yes"), ("maybe", "n"), ("word", "word"), ("given", "n")] {
        assert_eq!(extra(name).as_deref(), Some(value), "{name}");
    }
    assert_eq!((extra("none"), extra("null")), (None, None));
}

#[tokio::test]
async fn an_issuer_with_a_wrong_or_too_large_document_is_not_used() {
    let check = async |reply: Reply, expect: &str| {
        let key = key();
        let server = HttpsServer::start(move |_| reply.clone()).await;
        let provider = Provider { server, keys: Arc::default(), fetches: Arc::default() };
        let oidc = start(configuration(&provider, json!({})), Clock::system());
        eventually(expect, || oidc.problem().is_some_and(|problem| problem.contains(expect))).await;
        let error = ask(&oidc, &token(&provider, &key, json!({}))).await.unwrap_err();
        assert_eq!(error, "oidc: authenticator not initialized");
    };
    let other = json!({"issuer": "https://other", "jwks_uri": "https://other/keys"});
    check(Reply::json(&other), "issuer did not match the issuer returned by provider").await;
    check(Reply::text(200, &"x".repeat(2 << 20)), "the answer is longer than 1048576 bytes").await;
    check(Reply::text(500, "down"), "500").await;
    check(Reply::text(200, "<html>"), "failed to decode provider discovery object").await;
}

#[tokio::test]
async fn a_failed_discovery_is_tried_again_after_ten_seconds() {
    let (is_up, discoveries) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let (up, counted, name) = (is_up.clone(), discoveries.clone(), Arc::new(Mutex::new(String::new())));
    let own = name.clone();
    let server = HttpsServer::start(move |_| {
        counted.fetch_add(1, Ordering::SeqCst);
        let issuer = own.lock().unwrap().clone();
        if !up.load(Ordering::SeqCst) {
            return Reply::text(500, "down");
        }
        Reply::json(&json!({"issuer": issuer, "jwks_uri": format!("{issuer}/keys")}))
    })
    .await;
    *name.lock().unwrap() = server.url("");
    let provider = Provider { server, keys: Arc::default(), fetches: Arc::default() };
    let manual = ManualClock::starting_at(SystemTime::UNIX_EPOCH);
    let oidc = start(configuration(&provider, json!({})), manual.clock());
    eventually("the discovery fails", || oidc.problem().is_some_and(|problem| problem.contains("500"))).await;
    is_up.store(true, Ordering::SeqCst);
    manual.advance(Duration::from_secs(9));
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(discoveries.load(Ordering::SeqCst), 1);
    manual.advance(Duration::from_secs(1));
    eventually("the issuer is found", || oidc.problem().is_none()).await;
}

#[tokio::test]
async fn dropping_an_authenticator_ends_its_search() {
    let server = HttpsServer::start(|_| Reply::text(500, "down")).await;
    let provider = Provider { server, keys: Arc::default(), fetches: Arc::default() };
    let Started { oidc, tasks } = start(configuration(&provider, json!({})), Clock::system());
    eventually("the search runs", || tasks.count() == 1).await;
    drop(oidc);
    eventually("the search ends", || tasks.count() == 0).await;
}

#[test]
fn an_issuer_in_another_network_needs_a_way_there() {
    let none = Selector::default();
    assert!(way("", None).unwrap().is_none());
    assert_eq!(
        way("cluster", None).unwrap_err(),
        "oidc: egress lookup required with egress selector type \"cluster\""
    );
    assert_eq!(
        way("controlplane", Some(&none)).unwrap_err(),
        "oidc: egress lookup for \"controlplane\" is not configured"
    );
    assert_eq!(way("moon", Some(&none)).unwrap_err(), "oidc: unknown egress selector type \"moon\"");
}
