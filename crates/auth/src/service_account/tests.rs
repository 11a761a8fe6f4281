use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use pintle_meta::Value;

use super::openid::{Documents, Error as OpenIdError};
use super::*;
use crate::authenticator::{Error, Identity, Notes, TokenAuthenticator};
use crate::jwt::PrivateKey;

const ISSUER: &str = "https://issuer";
const NOW: Duration = Duration::from_secs(1_800_000_000);
const UNREADABLE: &str = "service account token has claims that cannot be read";

#[derive(Default)]
struct Fake {
    objects: Mutex<HashMap<(Kind, String), Value>>,
    uses: Mutex<Vec<Use>>,
    marked: Mutex<Vec<String>>,
}

impl Fake {
    fn set(&self, kind: Kind, key: &str, text: &str) {
        self.objects.lock().unwrap().insert((kind, key.into()), json(text));
    }

    fn remove(&self, kind: Kind, key: &str) {
        self.objects.lock().unwrap().remove(&(kind, key.into()));
    }
}

#[async_trait]
impl Objects for Fake {
    async fn get(&self, kind: Kind, namespace: &str, name: &str) -> Result<Value, String> {
        let key = format!("{namespace}/{name}");
        let found = self.objects.lock().unwrap().get(&(kind, key)).cloned();
        found.ok_or_else(|| format!("{kind:?} {name:?} not found"))
    }

    async fn mark_used(&self, secret: &Value, day: &str) {
        self.marked.lock().unwrap().push(format!("{} {day}", secret.name()));
    }

    fn count(&self, usage: Use) {
        self.uses.lock().unwrap().push(usage);
    }
}

struct Cluster {
    objects: Arc<Fake>,
    key: PrivateKey,
    tokens: Tokens,
    legacy: Tokens,
}

impl Cluster {
    fn new() -> Cluster {
        let (key, _) = PrivateKey::generate().unwrap();
        let (other, _) = PrivateKey::generate().unwrap();
        let objects = Arc::new(Fake::default());
        objects.set(
            Kind::ServiceAccount,
            "ns/sa",
            r#"{"metadata":{"name":"sa","namespace":"ns","uid":"sa-uid"}}"#,
        );
        objects.set(Kind::Pod, "ns/p", r#"{"metadata":{"name":"p","namespace":"ns","uid":"p-uid"}}"#);
        objects.set(Kind::Secret, "ns/s", r#"{"metadata":{"name":"s","namespace":"ns","uid":"s-uid"}}"#);
        objects.set(Kind::Node, "/n", r#"{"metadata":{"name":"n","uid":"n-uid"}}"#);
        let settings = TokenSettings {
            keys: fixed([other.public().clone(), key.public().clone()]),
            audiences: Arc::new(["api".into(), "api2".into()]),
            objects: objects.clone(),
        };
        let tokens = Tokens::bound(settings.clone(), [ISSUER.into(), "older".into()]);
        Cluster { objects, key, tokens, legacy: Tokens::legacy(settings, true) }
    }

    fn sign(&self, claims: &Claims) -> String {
        sign(claims, ISSUER, &self.key)
    }

    async fn ask_at(&self, token: &str, audiences: &[&str], seconds: i64) -> Result<Option<Identity>, Error> {
        let audiences: Vec<String> = audiences.iter().map(|audience| (*audience).to_owned()).collect();
        let now =
            SystemTime::UNIX_EPOCH + Duration::from_secs(NOW.as_secs().checked_add_signed(seconds).unwrap());
        self.tokens.authenticate_token(token.as_bytes(), &audiences, now).await
    }

    async fn ask(&self, token: &str) -> Result<Option<Identity>, Error> {
        self.ask_at(token, &["api"], 0).await
    }

    async fn refusal(&self, token: &str) -> String {
        self.ask(token).await.unwrap_err().to_string()
    }

    async fn ask_legacy(&self, token: &str) -> Result<Option<Identity>, Error> {
        let now = SystemTime::UNIX_EPOCH + NOW;
        self.legacy.authenticate_token(token.as_bytes(), &["api".into()], now).await
    }
}

fn fixed(keys: impl IntoIterator<Item = PublicKey>) -> Arc<dyn KeySource> {
    Arc::new(FixedKeys(Arc::new(Keys::new(keys))))
}

fn sign(claims: &Claims, issuer: &str, key: &PrivateKey) -> String {
    key.sign(&claims.value(issuer, SystemTime::UNIX_EPOCH + NOW)).unwrap()
}

fn json(text: &str) -> Value {
    pintle_codec::json::decode_any(text.as_bytes()).unwrap().value
}

fn reference(name: &str) -> Ref {
    Ref { name: name.into(), uid: format!("{name}-uid") }
}

fn claims() -> Claims {
    Claims {
        namespace: "ns".into(),
        account: reference("sa"),
        audiences: vec!["api".into()],
        expiration_seconds: 3600,
        id: "id".into(),
        ..Claims::default()
    }
}

#[tokio::test]
async fn a_token_names_its_service_account() {
    let cluster = Cluster::new();
    let identity = cluster.ask(&cluster.sign(&claims())).await.unwrap().unwrap();
    assert_eq!(identity.user.name, "system:serviceaccount:ns:sa");
    assert_eq!(identity.user.uid, "sa-uid");
    assert_eq!(
        identity.user.groups,
        ["system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated"]
    );
    assert_eq!(identity.user.extra, [(CREDENTIAL_ID.to_owned(), vec!["JTI=id".to_owned()])].into());
    assert_eq!(identity.audiences.as_deref(), Some(&["api".to_owned()][..]));
    assert_eq!(identity.notes, None);
}

#[tokio::test]
async fn a_pod_s_token_tells_the_pod_and_its_node() {
    let cluster = Cluster::new();
    let (pod, node) = (Some(reference("p")), Some(Ref { name: "gone".into(), uid: String::new() }));
    let token = cluster.sign(&Claims { pod, node, ..claims() });
    let user = cluster.ask(&token).await.unwrap().unwrap().user;
    let told: Vec<_> = user.extra.iter().map(|(key, values)| (key.as_str(), values[0].as_str())).collect();
    // The node need not be there: the pod answers for it.
    assert_eq!(told, [(CREDENTIAL_ID, "JTI=id"), (NODE_NAME, "gone"), (POD_NAME, "p"), (POD_UID, "p-uid")]);
}

#[tokio::test]
async fn the_bound_object_must_exist_with_the_same_uid() {
    let cluster = Cluster::new();
    let bound = [
        (Kind::Pod, "ns/p", "pod", Claims { pod: Some(reference("p")), ..claims() }),
        (Kind::Secret, "ns/s", "secret", Claims { secret: Some(reference("s")), ..claims() }),
        (Kind::Node, "/n", "node", Claims { node: Some(reference("n")), ..claims() }),
    ];
    for (kind, key, called, claims) in bound {
        let token = cluster.sign(&claims);
        let name = key.split_once('/').unwrap().1;
        assert!(cluster.ask(&token).await.unwrap().is_some(), "{called}");

        let leaving = |seconds| {
            let time = pintle_meta::time::Time::from_unix(NOW.as_secs() as i64 + seconds, 0);
            format!(r#"{{"metadata":{{"name":"{name}","uid":"{name}-uid","deletionTimestamp":"{time}"}}}}"#)
        };
        cluster.objects.set(kind, key, &leaving(-60));
        assert!(cluster.ask(&token).await.unwrap().is_some(), "{called} has a minute more");
        cluster.objects.set(kind, key, &leaving(-61));
        assert_eq!(cluster.refusal(&token).await, "service account token has been invalidated");

        cluster.objects.set(kind, key, r#"{"metadata":{"uid":"other"}}"#);
        assert_eq!(
            cluster.refusal(&token).await,
            format!("{called} UID (other) does not match service account {called} ref claim ({name}-uid)")
        );
        cluster.objects.remove(kind, key);
        assert_eq!(cluster.refusal(&token).await, "service account token has been invalidated");
    }
}

#[tokio::test]
async fn a_token_ends_with_its_service_account() {
    let cluster = Cluster::new();
    let token = cluster.sign(&claims());
    cluster.objects.set(Kind::ServiceAccount, "ns/sa", r#"{"metadata":{"uid":"other"}}"#);
    assert_eq!(cluster.refusal(&token).await, "service account UID (other) does not match claim (sa-uid)");
    let leaving = r#"{"metadata":{"uid":"sa-uid","deletionTimestamp":"2020-01-01T00:00:00Z"}}"#;
    cluster.objects.set(Kind::ServiceAccount, "ns/sa", leaving);
    assert_eq!(cluster.refusal(&token).await, "service account ns/sa has been deleted");
    cluster.objects.remove(Kind::ServiceAccount, "ns/sa");
    assert_eq!(cluster.refusal(&token).await, "ServiceAccount \"sa\" not found");
}

#[tokio::test]
async fn a_token_is_good_for_its_time_and_a_minute_on_either_side() {
    let cluster = Cluster::new();
    let token = cluster.sign(&claims());
    let at =
        async |seconds| cluster.ask_at(&token, &["api"], seconds).await.map_err(|error| error.to_string());
    assert!(at(3600 + 60).await.is_ok());
    assert_eq!(at(3600 + 61).await, Err("service account token has expired".into()));
    assert!(at(-60).await.is_ok());
    assert_eq!(at(-61).await, Err("service account token is not valid yet".into()));
    let own = r#""kubernetes.io":{"namespace":"ns","serviceaccount":{"name":"sa","uid":"sa-uid"}}"#;
    let text = format!(r#"{{"iss":"{ISSUER}","aud":["api"],"iat":1800000061,{own}}}"#);
    let token = cluster.key.sign(&json(&text)).unwrap();
    assert_eq!(cluster.refusal(&token).await, "service account token is issued in the future");
    // A time that cannot be is long past to the reference, whichever side of zero it is on.
    for (claim, why) in [
        (r#""exp":-1e300"#, "service account token has expired"),
        (r#""exp":1e20"#, "service account token has expired"),
        (r#""exp":100000000000000000000"#, "service account token has expired"),
        (r#""exp":9223372036854775807"#, "service account token has expired"),
        (r#""exp":0"#, "service account token has expired"),
        (r#""nbf":9.2e18"#, "service account token is not valid yet"),
        (r#""iat":9.2e18"#, "service account token is issued in the future"),
    ] {
        let token =
            cluster.key.sign(&json(&format!(r#"{{"iss":"{ISSUER}","aud":"api",{claim},{own}}}"#))).unwrap();
        assert_eq!(cluster.refusal(&token).await, why, "{claim}");
    }
    for claim in [r#""nbf":1e20"#, r#""iat":1e300"#, r#""exp":9.2e18"#, r#""exp":null"#] {
        let token =
            cluster.key.sign(&json(&format!(r#"{{"iss":"{ISSUER}","aud":"api",{claim},{own}}}"#))).unwrap();
        assert!(cluster.ask(&token).await.is_ok_and(|identity| identity.is_some()), "{claim}");
    }
}

#[tokio::test]
async fn a_token_is_for_its_audiences_only() {
    let cluster = Cluster::new();
    let token = cluster.sign(&Claims { audiences: vec!["api".into(), "vault".into()], ..claims() });
    let ask = async |asked: &[&str]| {
        let identity = cluster.ask_at(&token, asked, 0).await.map_err(|error| error.to_string())?;
        Ok::<_, String>(identity.unwrap().audiences.map(|audiences| audiences.join(" ")))
    };
    assert_eq!(ask(&["api"]).await, Ok(Some("api".into())));
    assert_eq!(ask(&["x", "vault", "api"]).await, Ok(Some("vault api".into())));
    assert_eq!(ask(&[]).await, Ok(None), "this server's own are meant");
    assert_eq!(
        ask(&["x"]).await,
        Err(r#"token audiences ["api" "vault"] is invalid for the target audiences ["x"]"#.into())
    );
    let token = cluster.sign(&Claims { audiences: vec!["vault".into()], ..claims() });
    assert_eq!(
        cluster.ask_at(&token, &[], 0).await.unwrap_err().to_string(),
        r#"token audiences ["vault"] is invalid for the target audiences ["api" "api2"]"#
    );
}

#[tokio::test]
async fn a_token_without_audiences_is_for_this_server() {
    let cluster = Cluster::new();
    let token = cluster.sign(&Claims { audiences: Vec::new(), ..claims() });
    let identity = cluster.ask(&token).await.unwrap().unwrap();
    let annotation =
        ("authentication.k8s.io/legacy-token".to_owned(), "system:serviceaccount:ns:sa".to_owned());
    assert_eq!(identity.notes.unwrap().annotations, [annotation]);
    assert_eq!(*cluster.objects.uses.lock().unwrap(), [Use::Legacy]);
    assert!(cluster.ask_at(&token, &["vault"], 0).await.is_err());
}

#[tokio::test]
async fn tokens_of_other_issuers_are_no_opinion() {
    let cluster = Cluster::new();
    let sign = |issuer: &str| sign(&claims(), issuer, &cluster.key);
    assert!(cluster.ask(&sign("older")).await.unwrap().is_some(), "one of several issuers");
    for token in [sign("https://issuer/"), sign("kubernetes/serviceaccount"), "static".into(), "a.b.c".into()]
    {
        assert_eq!(cluster.ask(&token).await, Ok(None));
    }
}

#[tokio::test]
async fn a_token_that_we_have_not_signed_is_refused() {
    let cluster = Cluster::new();
    let (stranger, _) = PrivateKey::generate().unwrap();
    let forged = sign(&claims(), ISSUER, &stranger);
    assert_eq!(cluster.refusal(&forged).await, "invalid signature, no keys found");
    // Under our key's name, or under none.
    let parts: Vec<&str> = forged.split('.').collect();
    let ours = cluster.sign(&claims());
    let header = ours.split_once('.').unwrap().0;
    let crypto = "go-jose/go-jose: error in cryptographic primitive";
    assert_eq!(cluster.refusal(&format!("{header}.{}.{}", parts[1], parts[2])).await, crypto);
    let nameless = base64url(br#"{"alg":"ES256"}"#);
    assert_eq!(cluster.refusal(&format!("{nameless}.{}.{}", parts[1], parts[2])).await, crypto);
    // The algorithm `none` is not a token.
    let none = base64url(br#"{"alg":"none"}"#);
    assert_eq!(cluster.ask(&format!("{none}.{}.", parts[1])).await, Ok(None));
    // An RSA signature is not tried against an ECDSA key.
    let rsa = base64url(br#"{"alg":"RS256"}"#);
    assert_eq!(cluster.refusal(&format!("{rsa}.{}.{}", parts[1], parts[2])).await, crypto);
}

fn base64url(bytes: &[u8]) -> String {
    use base64::Engine;
    base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes)
}

#[tokio::test]
async fn claims_of_wrong_types_are_refused() {
    let cluster = Cluster::new();
    for claims in [
        r#""kubernetes.io":[]"#,
        r#""kubernetes.io":{"namespace":1}"#,
        r#""kubernetes.io":{"pod":"p"}"#,
        r#""kubernetes.io":{"pod":{"name":{}}}"#,
        r#""kubernetes.io":{"warnafter":"soon"}"#,
        r#""sub":[]"#,
        r#""exp":"never""#,
    ] {
        let text = format!(r#"{{"iss":"{ISSUER}","aud":["api"],{claims}}}"#);
        let token = cluster.key.sign(&json(&text)).unwrap();
        assert_eq!(cluster.refusal(&token).await, UNREADABLE, "{claims}");
    }
    let text = format!(r#"{{"iss":"{ISSUER}","aud":[1]}}"#);
    assert_eq!(cluster.refusal(&cluster.key.sign(&json(&text)).unwrap()).await, UNREADABLE);
}

#[tokio::test]
async fn an_extended_token_tells_when_it_is_stale() {
    let cluster = Cluster::new();
    let warn_after_seconds = Some(WARN_ONLY_SECONDS);
    let token =
        cluster.sign(&Claims { warn_after_seconds, expiration_seconds: EXTENDED_SECONDS, ..claims() });
    let notes = async |seconds| cluster.ask_at(&token, &["api"], seconds).await.unwrap().unwrap().notes;
    assert_eq!(notes(WARN_ONLY_SECONDS).await, None);
    let annotation = (
        "authentication.k8s.io/stale-token".to_owned(),
        "subject: system:serviceaccount:ns:sa, seconds after warning threshold: 5".to_owned(),
    );
    assert_eq!(notes(WARN_ONLY_SECONDS + 5).await.unwrap().annotations, [annotation]);
    assert_eq!(*cluster.objects.uses.lock().unwrap(), [Use::Valid, Use::Stale]);
}

const LEGACY: &str = r#"{"iss":"kubernetes/serviceaccount","sub":"system:serviceaccount:ns:sa",
    "kubernetes.io/serviceaccount/namespace":"ns","kubernetes.io/serviceaccount/secret.name":"t",
    "kubernetes.io/serviceaccount/service-account.name":"sa",
    "kubernetes.io/serviceaccount/service-account.uid":"sa-uid"}"#;

impl Cluster {
    /// A token in a secret with these labels.
    fn legacy_token(&self, labels: &str) -> String {
        let token = self.key.sign(&json(LEGACY)).unwrap();
        let text =
            format!(r#"{{"metadata":{{"name":"t","namespace":"ns","labels":{{{labels}}}}},"data":{{}}}}"#);
        let mut secret = json(&text);
        let data = secret.get_mut("data").unwrap().as_object_mut().unwrap();
        data.insert("token", Value::bytes(token.as_bytes()));
        self.objects.objects.lock().unwrap().insert((Kind::Secret, "ns/t".into()), secret);
        token
    }

    async fn legacy_refusal(&self, token: &str) -> String {
        self.ask_legacy(token).await.unwrap_err().to_string()
    }
}

#[tokio::test]
async fn a_secret_s_token_is_good_as_long_as_the_secret_has_it() {
    let cluster = Cluster::new();
    let token = cluster.legacy_token("");
    let identity = cluster.ask_legacy(&token).await.unwrap().unwrap();
    assert_eq!(identity.user.name, "system:serviceaccount:ns:sa");
    assert!(identity.user.extra.is_empty());
    let Notes { warnings, annotations } = &*identity.notes.unwrap();
    assert!(warnings.is_empty());
    assert_eq!(annotations[0].0, "authentication.k8s.io/legacy-token");
    assert_eq!(annotations[1], ("authentication.k8s.io/legacy-token-manual-secret".into(), "t".into()));
    assert_eq!(*cluster.objects.uses.lock().unwrap(), [Use::Legacy, Use::ManualSecret]);
    assert_eq!(*cluster.objects.marked.lock().unwrap(), ["t 2027-01-15"]);

    let invalidated = "Token has been invalidated";
    cluster.objects.set(Kind::Secret, "ns/t", r#"{"metadata":{"deletionTimestamp":"2027-01-15T08:00:00Z"}}"#);
    assert_eq!(cluster.legacy_refusal(&token).await, invalidated);
    cluster.objects.set(Kind::Secret, "ns/t", r#"{"metadata":{},"data":{"token":"b3RoZXI="}}"#);
    assert_eq!(cluster.legacy_refusal(&token).await, "Token does not match server's copy");
    cluster.objects.remove(Kind::Secret, "ns/t");
    assert_eq!(cluster.legacy_refusal(&token).await, invalidated);
}

#[tokio::test]
async fn a_secret_s_token_is_good_as_long_as_the_account_is_there() {
    let cluster = Cluster::new();
    let token = cluster.legacy_token("");
    cluster.objects.set(Kind::ServiceAccount, "ns/sa", r#"{"metadata":{"uid":"other"}}"#);
    assert_eq!(
        cluster.legacy_refusal(&token).await,
        "ServiceAccount UID (other) does not match claim (sa-uid)"
    );
    let leaving = r#"{"metadata":{"uid":"sa-uid","deletionTimestamp":"2099-01-01T00:00:00Z"}}"#;
    cluster.objects.set(Kind::ServiceAccount, "ns/sa", leaving);
    assert_eq!(cluster.legacy_refusal(&token).await, "ServiceAccount ns/sa has been deleted");
}

#[tokio::test]
async fn a_token_of_a_listed_secret_is_warned_about() {
    let cluster = Cluster::new();
    let token = cluster.legacy_token("");
    let account = r#"{"metadata":{"uid":"sa-uid"},"secrets":[{"name":"x"},{"name":"t"}]}"#;
    cluster.objects.set(Kind::ServiceAccount, "ns/sa", account);
    let notes = cluster.ask_legacy(&token).await.unwrap().unwrap().notes.unwrap();
    assert_eq!(
        notes.warnings,
        [
            "Use tokens from the TokenRequest API or manually created secret-based tokens instead of auto-generated \
          secret-based tokens."
        ]
    );
    assert_eq!(cluster.objects.uses.lock().unwrap()[1], Use::AutomaticSecret);
}

#[tokio::test]
async fn a_token_that_was_marked_invalid_is_refused_and_still_marked_as_used() {
    let cluster = Cluster::new();
    let token = cluster.legacy_token(r#""kubernetes.io/legacy-token-invalid-since":"2027-01-01""#);
    assert_eq!(
        cluster.legacy_refusal(&token).await,
        "the token in secret ns/t for service account ns/sa has been marked invalid. Use tokens from the TokenRequest API \
         or manually created secret-based tokens, or remove the 'kubernetes.io/legacy-token-invalid-since' label from \
         the secret to temporarily allow use of this token"
    );
    assert_eq!(cluster.objects.marked.lock().unwrap().len(), 1);
    assert_eq!(cluster.objects.uses.lock().unwrap()[1], Use::InvalidSecret);
}

#[tokio::test]
async fn a_secret_is_marked_once_a_day() {
    let cluster = Cluster::new();
    // Another server's clock may already say tomorrow.
    for (day, marks) in [("2027-01-14", 1), ("2027-01-15", 1), ("2027-01-16", 1), ("2027-01-17", 2)] {
        let token = cluster.legacy_token(&format!(r#""kubernetes.io/legacy-token-last-used":"{day}""#));
        assert!(cluster.ask_legacy(&token).await.unwrap().is_some());
        assert_eq!(cluster.objects.marked.lock().unwrap().len(), marks, "{day}");
    }
}

#[tokio::test]
async fn a_secret_s_token_needs_all_its_claims() {
    let cluster = Cluster::new();
    let check = async |from: &str, to: &str, expect: &str| {
        assert!(LEGACY.contains(from));
        let token = cluster.key.sign(&json(&LEGACY.replace(from, to))).unwrap();
        assert_eq!(cluster.legacy_refusal(&token).await, expect, "{from} -> {to}");
    };
    check(r#""system:serviceaccount:ns:sa""#, r#""""#, "sub claim is missing").await;
    check(r#"namespace":"ns""#, r#"namespace":"""#, "namespace claim is missing").await;
    check(r#"secret.name":"t""#, r#"secret.name":"""#, "secretName claim is missing").await;
    check(
        r#"service-account.name":"sa""#,
        r#"service-account.name":"""#,
        "serviceAccountName claim is missing",
    )
    .await;
    check(
        r#"service-account.uid":"sa-uid""#,
        r#"service-account.uid":null"#,
        "serviceAccountUID claim is missing",
    )
    .await;
    check("ns:sa", "ns:other", "sub claim is invalid").await;
    check("ns:sa", "ns:sa:sa", "sub claim is invalid").await;
    check("system:serviceaccount:ns:sa", "admin", "sub claim is invalid").await;
    check(
        r#""sub":"#,
        r#""aud":"vault","sub":"#,
        r#"token audiences ["vault"] is invalid for the target audiences ["api"]"#,
    )
    .await;
}

#[tokio::test]
async fn without_lookup_a_secret_s_token_is_taken_at_its_word() {
    let cluster = Cluster::new();
    let settings = TokenSettings {
        keys: fixed([cluster.key.public().clone()]),
        audiences: Arc::new([]),
        objects: cluster.objects.clone(),
    };
    let token = cluster.key.sign(&json(LEGACY)).unwrap();
    assert_eq!(cluster.legacy_refusal(&token).await, "Token has been invalidated");
    let tokens = Tokens::legacy(settings, false);
    let identity =
        tokens.authenticate_token(token.as_bytes(), &[], SystemTime::now()).await.unwrap().unwrap();
    assert_eq!(identity.user.name, "system:serviceaccount:ns:sa");
}

#[test]
fn a_new_token_has_the_claims_of_the_reference() {
    let (key, _) = PrivateKey::generate().unwrap();
    let claims = Claims {
        pod: Some(reference("p")),
        node: Some(reference("n")),
        warn_after_seconds: Some(5),
        ..claims()
    };
    let token = sign(&claims, ISSUER, &key);
    let payload = token.split('.').nth(1).unwrap();
    use base64::Engine;
    let text = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(payload).unwrap();
    assert_eq!(
        String::from_utf8(text).unwrap(),
        concat!(
            r#"{"aud":["api"],"exp":1800003600,"iat":1800000000,"iss":"https://issuer","jti":"id","kubernetes.io":{"#,
            r#""namespace":"ns","node":{"name":"n","uid":"n-uid"},"pod":{"name":"p","uid":"p-uid"},"#,
            r#""serviceaccount":{"name":"sa","uid":"sa-uid"},"warnafter":1800000005},"nbf":1800000000,"#,
            r#""sub":"system:serviceaccount:ns:sa"}"#
        )
    );
    let header =
        base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(token.split('.').next().unwrap()).unwrap();
    assert_eq!(header, format!(r#"{{"alg":"ES256","kid":"{}"}}"#, key.public().id()).into_bytes());
}

#[test]
fn a_service_account_s_name_is_taken_apart_only_if_it_is_one() {
    assert_eq!(split_username("system:serviceaccount:ns:a.b"), Some(("ns", "a.b")));
    for other in
        ["system:serviceaccount:ns", "system:serviceaccount:ns:", "system:serviceaccount:n.s:a", "ns:a"]
    {
        assert_eq!(split_username(other), None, "{other}");
    }
}

#[test]
fn the_discovery_document_names_issuer_and_keys() {
    let (key, _) = PrivateKey::generate().unwrap();
    let keys = Keys::new([key.public().clone(), key.public().clone()]);
    let documents = |issuer: &str, uri: &str| Documents::new(issuer, uri, "10.0.0.1:6443", &keys);
    let shown = documents("https://a/b", "").unwrap();
    assert_eq!(
        String::from_utf8(shown.configuration.to_vec()).unwrap(),
        concat!(
            r#"{"issuer":"https://a/b","jwks_uri":"https://10.0.0.1:6443/openid/v1/jwks","#,
            r#""response_types_supported":["id_token"],"subject_types_supported":["public"],"#,
            r#""id_token_signing_alg_values_supported":["ES256"]}"#
        )
    );
    assert_eq!(crate::jwt::read_set(&shown.keys).unwrap(), [key.public().clone()], "each key once");
    let elsewhere = documents("https://a", "https://b/keys").unwrap();
    assert!(
        String::from_utf8(elsewhere.configuration.to_vec())
            .unwrap()
            .contains(r#""jwks_uri":"https://b/keys""#)
    );
    assert_eq!(documents("kubernetes", "").unwrap_err(), OpenIdError::Scheme("kubernetes".into()));
    assert_eq!(documents("https://a?b", "").unwrap_err(), OpenIdError::Query("https://a?b".into()));
    assert_eq!(documents("https://a#b", "").unwrap_err(), OpenIdError::Fragment("https://a#b".into()));
    assert_eq!(Documents::new("https://a", "", "", &Keys::default()).unwrap_err(), OpenIdError::NoKeys);
}
