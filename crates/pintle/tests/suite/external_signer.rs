//! A real signer of service account tokens on a unix socket, and a server that issues and accepts its tokens.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::Method;
use pintle_outbound::testing::grpc::{GrpcServer, Reply};
use prost::Message;
use rcgen::{KeyPair, PublicKeyData, SigningKey};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::shared::ready;
use crate::support::{Answer, Client, Launch, MASTER, Server, eventually, free_port};

const ISSUER: &str = "https://issuer.example";
const TOKEN: &str = "/api/v1/namespaces/default/serviceaccounts/robot/token";
const KEYS: &str = "/openid/v1/jwks";

#[derive(Clone, PartialEq, Message)]
struct Signature {
    #[prost(string, tag = "1")]
    header: String,
    #[prost(string, tag = "2")]
    signature: String,
}

#[derive(Clone, PartialEq, Message)]
struct Claims {
    #[prost(string, tag = "1")]
    claims: String,
}

#[derive(Clone, PartialEq, Message)]
struct Keys {
    #[prost(message, repeated, tag = "1")]
    keys: Vec<Key>,
    #[prost(message, optional, tag = "2")]
    data_timestamp: Option<Number>,
    #[prost(int64, tag = "3")]
    refresh_hint_seconds: i64,
}

#[derive(Clone, PartialEq, Message)]
struct Key {
    #[prost(string, tag = "1")]
    key_id: String,
    #[prost(bytes = "vec", tag = "2")]
    key: Vec<u8>,
    #[prost(bool, tag = "3")]
    exclude_from_oidc_discovery: bool,
}

/// A timestamp's seconds; or the longest life.
#[derive(Clone, PartialEq, Message)]
struct Number {
    #[prost(int64, tag = "1")]
    number: i64,
}

/// How it answers; tests change it while it runs.
struct Behaviour {
    key: Arc<KeyPair>,
    header: Value,
    keys: Vec<Key>,
    refresh: i64,
    longest: i64,
}

impl Behaviour {
    fn answer(&self, path: &str, message: &[u8]) -> Reply {
        match path {
            "/v1.ExternalJWTSigner/Metadata" => Ok(Number { number: self.longest }.encode_to_vec()),
            "/v1.ExternalJWTSigner/FetchKeys" => {
                let data_timestamp = Some(Number { number: 1_700_000_000 });
                let keys = self.keys.clone();
                Ok(Keys { keys, data_timestamp, refresh_hint_seconds: self.refresh }.encode_to_vec())
            }
            "/v1.ExternalJWTSigner/Sign" => {
                let claims = Claims::decode(message).expect("claims").claims;
                let header = URL_SAFE_NO_PAD.encode(self.header.to_string());
                let signature = self.key.sign(format!("{header}.{claims}").as_bytes()).expect("a signature");
                Ok(Signature { header, signature: URL_SAFE_NO_PAD.encode(signature) }.encode_to_vec())
            }
            _ => Err((12, "unknown method")),
        }
    }
}

fn new_key() -> Arc<KeyPair> {
    Arc::new(KeyPair::generate_for(&rcgen::PKCS_RSA_SHA256).expect("a key"))
}

fn public(id: &str, key: &KeyPair) -> Key {
    Key { key_id: id.into(), key: key.subject_public_key_info(), exclude_from_oidc_discovery: false }
}

fn header(id: &str) -> Value {
    json!({"alg": "RS256", "kid": id, "typ": "JWT"})
}

struct Signer {
    address: String,
    behaviour: Arc<Mutex<Behaviour>>,
    server: Option<GrpcServer>,
}

impl Signer {
    /// Not there yet.
    fn new(address: String) -> Signer {
        let key = new_key();
        let keys = vec![public("one", &key)];
        let behaviour = Behaviour { key, header: header("one"), keys, refresh: 600, longest: 1800 };
        Signer { address, behaviour: Arc::new(Mutex::new(behaviour)), server: None }
    }

    fn started(address: String) -> Signer {
        let mut signer = Signer::new(address);
        signer.start();
        signer
    }

    fn start(&mut self) {
        let behaviour = self.behaviour.clone();
        let answer = move |path: &str, message: &[u8]| {
            behaviour.lock().expect("no panic while held").answer(path, message)
        };
        self.server = Some(GrpcServer::start(&self.address, answer));
    }

    async fn stop(&mut self) {
        self.server.take().expect("one that runs").stop().await;
    }

    fn change(&self, change: impl FnOnce(&mut Behaviour)) {
        change(&mut self.behaviour.lock().expect("no panic while held"));
    }
}

fn socket(launch: &Launch) -> String {
    launch.path("signer.sock").display().to_string()
}

/// A server that has such a signer.
fn with(launch: Launch, signer: &Signer) -> Launch {
    launch.tokens().args(&[
        format!("--service-account-signing-endpoint={}", signer.address),
        format!("--service-account-issuer={ISSUER}"),
    ])
}

async fn furnish(server: &Server) -> Client {
    ready(server).await;
    let admin = server.client().token(MASTER);
    let account = json!({"metadata": {"name": "robot"}});
    let answer = post(&admin, "/api/v1/namespaces/default/serviceaccounts", &account).await;
    assert_eq!(answer.code, 201, "{}", answer.body);
    admin
}

async fn post(client: &Client, path: &str, object: &Value) -> Answer {
    client.request(Method::POST, path, &[("content-type", "application/json")], object.to_string()).await
}

async fn ask(admin: &Client, spec: Value) -> Answer {
    post(
        admin,
        TOKEN,
        &json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}),
    )
    .await
}

async fn token(admin: &Client) -> String {
    let answer = ask(admin, json!({})).await;
    assert_eq!(answer.code, 201, "{}", answer.body);
    answer.json()["status"]["token"].as_str().expect("a token").to_owned()
}

/// Whose a token is, or the code of the refusal.
async fn whoami(server: &Server, token: &str) -> Result<String, u16> {
    let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
    let client = server.client().token(token);
    let answer = post(&client, "/apis/authentication.k8s.io/v1/selfsubjectreviews", &review).await;
    match answer.code {
        201 => Ok(answer.json()["status"]["userInfo"]["username"].as_str().expect("a name").to_owned()),
        code => Err(code),
    }
}

async fn shown_ids(admin: &Client) -> Vec<String> {
    let keys = admin.get(KEYS).await.json();
    let keys = keys["keys"].as_array().expect("keys");
    keys.iter().map(|key| key["kid"].as_str().expect("a name").to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_of_the_signer_are_issued_and_accepted() {
    let launch = Launch::new();
    let signer = Signer::started(socket(&launch));
    let server = with(launch, &signer).start().await;
    let admin = furnish(&server).await;
    let issued = ask(&admin, json!({})).await;
    assert_eq!(issued.code, 201, "{}", issued.body);
    assert_eq!(
        issued.header("warning"),
        "299 - \"requested expiration of 3600 seconds shortened to 1800 seconds\""
    );
    let issued = issued.json();
    assert_eq!(issued["spec"]["expirationSeconds"], 1800);
    let token = issued["status"]["token"].as_str().expect("a token");
    let part = |at: usize| {
        let text = URL_SAFE_NO_PAD.decode(token.split('.').nth(at).expect("a part")).expect("base64");
        serde_json::from_slice::<Value>(&text).expect("JSON")
    };
    assert_eq!(part(0), header("one"), "as the signer wrote it");
    assert_eq!(part(1)["iss"], ISSUER);
    assert_eq!(part(1)["exp"].as_i64(), part(1)["iat"].as_i64().map(|from| from + 1800));
    assert_eq!(whoami(&server, token).await.as_deref(), Ok("system:serviceaccount:default:robot"));
    let forged = token.rsplit_once('.').map(|(signed, _)| format!("{signed}.AAAA")).expect("a signature");
    assert_eq!(whoami(&server, &forged).await, Err(401));

    let keys = admin.get(KEYS).await;
    assert_eq!(keys.json()["keys"][0]["kid"], "one");
    assert_eq!(keys.json()["keys"][0]["alg"], "RS256");
    let age = keys.header("cache-control").strip_prefix("public, max-age=").map(str::parse);
    assert!(matches!(age, Some(Ok(500..=600))), "as long as the signer says: {age:?}");
    assert_eq!(admin.get("/.well-known/openid-configuration").await.json()["issuer"], ISSUER);
    let metrics = admin.get("/metrics").await.body;
    for expect in [
        "\napiserver_externaljwt_fetch_keys_data_timestamp 1700000000\n",
        "\napiserver_externaljwt_fetch_keys_success_timestamp ",
        "\napiserver_externaljwt_fetch_keys_request_total{code=\"OK\"} 1\n",
        "\napiserver_externaljwt_sign_request_total{code=\"OK\"} 1\n",
        "\napiserver_externaljwt_request_duration_seconds_count{code=\"OK\",method=\"/v1.ExternalJWTSigner/Metadata\"} 1\n",
    ] {
        assert!(metrics.contains(expect), "{expect}");
    }
    assert!(
        !server.stderr().contains("--service-account-signing-endpoint has no effect"),
        "{}",
        server.stderr()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_nobody_told_of_is_asked_for() {
    let launch = Launch::new();
    let signer = Signer::started(socket(&launch));
    let server = with(launch, &signer).start().await;
    let admin = furnish(&server).await;
    let first = token(&admin).await;
    let two = new_key();
    signer.change(|behaviour| {
        behaviour.keys.push(public("two", &two));
        (behaviour.key, behaviour.header) = (two.clone(), header("two"));
    });
    let second = token(&admin).await;
    assert!(whoami(&server, &second).await.is_ok());
    assert!(whoami(&server, &first).await.is_ok());
    assert_eq!(shown_ids(&admin).await, ["one", "two"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_are_fetched_again_as_often_as_the_signer_says() {
    let launch = Launch::new();
    let signer = Signer::started(socket(&launch));
    signer.change(|behaviour| behaviour.refresh = 1);
    let server = with(launch, &signer).start().await;
    let admin = furnish(&server).await;
    let two = new_key();
    signer.change(|behaviour| {
        behaviour.keys = vec![public("two", &two)];
        (behaviour.key, behaviour.header) = (two.clone(), header("two"));
    });
    eventually("the older key is gone", async || shown_ids(&admin).await == ["two"]).await;
    assert!(whoami(&server, &token(&admin).await).await.is_ok());
    // Good for what there is, and not shown.
    let hidden = Key { exclude_from_oidc_discovery: true, ..public("hidden", &new_key()) };
    signer.change(|behaviour| behaviour.keys.push(hidden));
    let fetched = "apiserver_externaljwt_fetch_keys_request_total{code=\"OK\"} ";
    let count = async || {
        let metrics = admin.get("/metrics").await.body;
        let line = metrics.lines().find_map(|line| line.strip_prefix(fetched)).expect("a count");
        line.parse::<u64>().expect("a number")
    };
    let before = count().await;
    eventually("keys are fetched again", async || count().await > before + 1).await;
    assert_eq!(shown_ids(&admin).await, ["two"]);
    // Another key under a name that is known: the token is made, and not accepted.
    signer.change(|behaviour| behaviour.key = new_key());
    let wrong = token(&admin).await;
    assert_eq!(whoami(&server, &wrong).await, Err(401));
}

#[tokio::test(flavor = "multi_thread")]
async fn headers_that_the_signer_must_not_write_are_refused() {
    let launch = Launch::new();
    let signer = Signer::started(socket(&launch));
    let hidden = Key { exclude_from_oidc_discovery: true, ..public("hidden", &new_key()) };
    signer.change(|behaviour| behaviour.keys.push(hidden));
    let server = with(launch, &signer).start().await;
    let admin = furnish(&server).await;
    for (header, why) in [
        (json!({"alg": "RS256", "kid": "one", "typ": "ABC"}), "bad type"),
        (json!({"alg": "ABC", "kid": "one", "typ": "JWT"}), "bad signing algorithm \"ABC\""),
        (json!({"alg": "RS256", "typ": "JWT"}), "key id missing"),
        (json!({"alg": "RS256", "typ": "JWT", "kid": "k".repeat(1025)}), "key id longer than 1 kb"),
        (
            json!({"alg": "RS256", "typ": "JWT", "kid": "one", "jwk": {}}),
            "while parsing header JSON: json: unknown field \"jwk\"",
        ),
        (header("hidden"), "key used for signing JWT (kid: hidden) is excluded from OIDC discovery docs"),
    ] {
        signer.change(|behaviour| behaviour.header = header);
        let message =
            format!("Internal error occurred: failed to generate token: while validating header: {why}");
        ask(&admin, json!({})).await.is_status(500, "InternalError", &message);
    }
    signer.change(|behaviour| behaviour.header = header("one"));
    assert!(whoami(&server, &token(&admin).await).await.is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signer_is_waited_for_at_start_and_whenever_it_goes() {
    let name = format!("@pintle.signer-{}", std::process::id());
    let mut signer = Signer::new(name);
    let launch = with(Launch::new(), &signer);
    let (mut server, late) = (launch.spawn(Some(free_port())), async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        signer.start();
    });
    let (served, ()) = tokio::join!(server.until_it_serves(), late);
    served.expect("it was waited for");
    let admin = furnish(&server).await;
    let before = token(&admin).await;
    signer.stop().await;
    assert!(whoami(&server, &before).await.is_ok(), "what is known needs nobody");
    let back = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        signer.start();
    };
    let (while_away, ()) = tokio::join!(token(&admin), back);
    assert!(whoami(&server, &while_away).await.is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_waits_for_its_signer_can_be_stopped() {
    let launch = Launch::new();
    let signer = Signer::new(socket(&launch));
    let launch = with(launch, &signer);
    let mut server = launch.spawn(Some(free_port()));
    eventually("it says what it waits for", async || {
        server.stderr().contains("waiting for the external signer of service account tokens at")
    })
    .await;
    server.signal(Signal::TERM);
    assert_eq!(server.exited().await.code(), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn impossible_configurations_are_refused_in_a_sentence() {
    let launch = Launch::new();
    let signer = Signer::started(socket(&launch));
    let launch = with(launch, &signer);
    signer.change(|behaviour| behaviour.longest = 599);
    assert!(launch.fails().await.contains(
        "max token life supported by external-jwt-signer (599s) is less than acceptable (min 600s)"
    ));
    signer.change(|behaviour| behaviour.longest = 7200);
    let launch = launch.arg("--service-account-max-token-expiration=3h");
    assert!(launch.fails().await.contains(
        "service-account-max-token-expiration cannot be set longer than the token expiration supported by \
         service-account-signing-endpoint: 3h0m0s > 2h0m0s"
    ));
    signer.change(|behaviour| behaviour.keys.clear());
    assert!(launch.fails().await.contains(
        "while setting up external-jwt-signer: while initially filling key cache: while performing initial cache fill: \
         while fetching token verification keys: found no keys"
    ));
    let launch = launch.arg("--service-account-key-file=sa.key");
    assert!(launch.fails().await.contains(
        "can't set `--service-account-signing-key-file` and/or `--service-account-key-file` with \
         `--service-account-signing-endpoint` (They are mutually exclusive)"
    ));
}
