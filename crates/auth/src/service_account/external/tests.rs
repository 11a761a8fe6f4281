use std::sync::Mutex;
use std::time::SystemTime;

use pintle_outbound::testing::grpc::{GrpcServer, Reply};
use pintle_runtime::{ManualClock, Tasks};
use prost::Message;

use super::messages::{FetchKeysResponse, MetadataResponse, SignResponse};
use super::*;
use crate::jwt::{Algorithm, PrivateKey, Unverified};

/// The recorded events.
#[derive(Default)]
struct Counted(Mutex<Vec<String>>);

impl Counted {
    fn add(&self, text: String) {
        self.0.lock().unwrap().push(text);
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }

    fn of(&self, start: &str) -> usize {
        self.0.lock().unwrap().iter().filter(|text| text.starts_with(start)).count()
    }
}

impl Events for Counted {
    fn called(&self, method: &'static str, code: &'static str, _: Duration) {
        self.add(format!("called {method} {code}"));
    }

    fn keys_fetched(&self, code: &'static str) {
        self.add(format!("fetched {code}"));
    }

    fn keys_dated(&self, seconds: f64) {
        self.add(format!("dated {seconds}"));
    }

    fn signed(&self, code: &'static str) {
        self.add(format!("signed {code}"));
    }
}

/// How the signer answers; tests change it while it runs.
struct Answers {
    key: PrivateKey,
    header: String,
    signature: Option<String>,
    keys: FetchKeysResponse,
    fails: Option<(u32, &'static str)>,
    delay: Duration,
}

struct Fixture {
    dir: tempfile::TempDir,
    answers: Arc<Mutex<Answers>>,
    counted: Arc<Counted>,
    server: Option<GrpcServer>,
    clock: Arc<ManualClock>,
    tasks: Tasks,
}

fn public(id: &str, key: &PrivateKey) -> Key {
    Key { key_id: id.into(), key: key.public().spki().to_vec(), exclude_from_oidc_discovery: false }
}

fn header(id: &str) -> String {
    URL_SAFE_NO_PAD.encode(format!(r#"{{"alg":"ES256","kid":"{id}","typ":"JWT"}}"#))
}

impl Answers {
    fn answer(&self, path: &str, message: &[u8]) -> Reply {
        if let Some(failure) = self.fails {
            return Err(failure);
        }
        match path {
            MetadataRequest::PATH => {
                Ok(MetadataResponse { max_token_expiration_seconds: 7200 }.encode_to_vec())
            }
            FetchKeysRequest::PATH => {
                std::thread::sleep(self.delay);
                Ok(self.keys.encode_to_vec())
            }
            SignRequest::PATH => {
                let claims = SignRequest::decode(message).unwrap().claims;
                // The library signs with a header of its own; only where that does not matter is it right.
                let signature = self.signature.clone().unwrap_or_else(|| claims.clone());
                Ok(SignResponse { header: self.header.clone(), signature }.encode_to_vec())
            }
            _ => Err((12, "unknown method")),
        }
    }
}

impl Fixture {
    fn new() -> Fixture {
        let (key, _) = PrivateKey::generate().unwrap();
        let keys = FetchKeysResponse {
            keys: vec![public("one", &key)],
            data_timestamp: Some(Timestamp { seconds: 1_700_000_000, nanos: 500_000_000 }),
            refresh_hint_seconds: 60,
        };
        let answers =
            Answers { key, header: header("one"), signature: None, keys, fails: None, delay: Duration::ZERO };
        let mut fixture = Fixture {
            dir: tempfile::tempdir().unwrap(),
            answers: Arc::new(Mutex::new(answers)),
            counted: Arc::default(),
            server: None,
            clock: ManualClock::starting_at(SystemTime::UNIX_EPOCH),
            tasks: Tasks::new(),
        };
        fixture.serve();
        fixture
    }

    fn address(&self) -> String {
        self.dir.path().join("signer.sock").display().to_string()
    }

    fn serve(&mut self) {
        let answers = self.answers.clone();
        let answer = move |path: &str, message: &[u8]| answers.lock().unwrap().answer(path, message);
        self.server = Some(GrpcServer::start(&self.address(), answer));
    }

    fn change(&self, change: impl FnOnce(&mut Answers)) {
        change(&mut self.answers.lock().unwrap());
    }

    async fn connect(&self) -> Result<Arc<External>, String> {
        let options = Options {
            address: self.address(),
            fetch_timeout: Duration::from_secs(5),
            sign_timeout: Duration::from_secs(5),
        };
        let (clock, spawner) = (self.clock.clock(), self.tasks.spawner());
        External::connect(options, self.counted.clone(), clock, &spawner).await
    }
}

fn claims() -> Value {
    pintle_codec::json::decode_any(br#"{"sub":"s","iss":"i"}"#).unwrap().value
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_has_the_header_and_signature_of_the_signer() {
    let fixture = Fixture::new();
    let external = fixture.connect().await.unwrap();
    let expect = ["called /v1.ExternalJWTSigner/FetchKeys OK", "fetched OK", "dated 1700000000.5"];
    assert_eq!(fixture.counted.take(), expect);
    assert_eq!(external.max_token_seconds().await, Ok(7200));
    let payload = URL_SAFE_NO_PAD.encode(r#"{"iss":"i","sub":"s"}"#);
    let token = external.sign(&claims()).await.unwrap();
    assert_eq!(token, format!("{}.{payload}.{payload}", header("one")));
    let expect =
        ["called /v1.ExternalJWTSigner/Metadata OK", "called /v1.ExternalJWTSigner/Sign OK", "signed OK"];
    assert_eq!(fixture.counted.take(), expect);
    assert!(external.max_age() <= Duration::from_secs(60) && external.max_age() > Duration::from_secs(50));
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_of_the_signer_are_returned() {
    let fixture = Fixture::new();
    let external = fixture.connect().await.unwrap();
    fixture.counted.take();
    fixture.change(|answers| answers.header = URL_SAFE_NO_PAD.encode("{}"));
    assert_eq!(external.sign(&claims()).await.unwrap_err(), "while validating header: bad type");
    fixture.change(|answers| (answers.header, answers.signature) = (header("one"), Some(String::new())));
    assert_eq!(external.sign(&claims()).await.unwrap_err(), "empty signature returned");
    fixture.change(|answers| answers.fails = Some((8, "too many")));
    assert_eq!(
        external.sign(&claims()).await.unwrap_err(),
        "while signing jwt: rpc error: code = ResourceExhausted desc = too many"
    );
    let signed: Vec<String> =
        fixture.counted.take().into_iter().filter(|text| text.starts_with("signed")).collect();
    assert_eq!(signed, ["signed unknown-non-grpc", "signed unknown-non-grpc", "signed ResourceExhausted"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hidden_key_verifies_and_must_not_sign() {
    let fixture = Fixture::new();
    let external = fixture.connect().await.unwrap();
    let (hidden, _) = PrivateKey::generate().unwrap();
    let key = Key { exclude_from_oidc_discovery: true, ..public("hidden", &hidden) };
    fixture.change(|answers| {
        answers.keys.keys.push(key);
        answers.header = header("hidden");
    });
    // It was not known, so it is looked for first.
    assert_eq!(
        external.sign(&claims()).await.unwrap_err(),
        "while validating header: key used for signing JWT (kid: hidden) is excluded from OIDC discovery docs"
    );
    let keys = external.current();
    assert_eq!(keys.published().map(PublicKey::id).collect::<Vec<_>>(), ["one"]);
    assert!(keys.named(Some("hidden")).next().is_some());
    // A key that the signer does not publish: it signs tokens, which are not accepted.
    fixture.change(|answers| answers.header = header("unknown"));
    assert!(external.sign(&claims()).await.is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_are_looked_for_once_more_when_one_is_not_known() {
    let fixture = Fixture::new();
    let external = fixture.connect().await.unwrap();
    fixture.counted.take();
    assert!(external.knowing(Some("one")).await.named(Some("one")).next().is_some());
    assert!(external.knowing(None).await.named(None).next().is_some());
    assert_eq!(fixture.counted.of("fetched"), 0, "what is known is not asked for");
    let (key, _) = PrivateKey::generate().unwrap();
    fixture.change(|answers| answers.keys.keys = vec![public("two", &key)]);
    let keys = external.knowing(Some("two")).await;
    let token = key.sign(&claims()).unwrap();
    let verified = Unverified::parse(token.as_bytes()).unwrap();
    let two = keys.named(Some("two")).next().unwrap();
    assert!(verified.verify(two, &Algorithm::ALL).is_ok());
    assert!(keys.named(Some("one")).next().is_none(), "all of them are new");
    fixture.change(|answers| answers.fails = Some((13, "broken")));
    assert_eq!(external.knowing(Some("three")).await, keys, "what cannot be fetched stays");
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_lookups_of_a_key_share_a_fetch() {
    let fixture = Fixture::new();
    let external = fixture.connect().await.unwrap();
    fixture.counted.take();
    fixture.change(|answers| answers.delay = Duration::from_millis(200));
    let mut waiting = tokio::task::JoinSet::new();
    for _ in 0..100 {
        let external = external.clone();
        waiting.spawn(async move { external.knowing(Some("none")).await.named(Some("none")).count() });
    }
    assert_eq!(waiting.join_all().await.into_iter().sum::<usize>(), 0);
    let fetches = fixture.counted.of("fetched");
    assert!((1..=3).contains(&fetches), "{fetches} fetches for 100");
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_are_fetched_again_as_often_as_the_signer_says() {
    let fixture = Fixture::new();
    fixture.change(|answers| answers.keys.refresh_hint_seconds = 60);
    let external = fixture.connect().await.unwrap();
    fixture.clock.advance(Duration::from_secs(20));
    assert_eq!(external.max_age(), Duration::from_secs(40));
    let (key, _) = PrivateKey::generate().unwrap();
    fixture.change(|answers| answers.keys.keys.push(public("two", &key)));
    fixture.clock.advance(Duration::from_secs(40));
    for _ in 0..100 {
        if external.current().named(Some("two")).next().is_some() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("the keys were not fetched again");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signer_that_comes_back_signs_again() {
    let mut fixture = Fixture::new();
    let external = fixture.connect().await.unwrap();
    external.sign(&claims()).await.unwrap();
    fixture.server.take().unwrap().stop().await;
    let waiting = external.clone();
    let call = tokio::spawn(async move {
        match waiting.sign(&claims()).await {
            // It was sent just before the end of the connection showed. Now it has.
            Err(why) if why.contains("EOF") => waiting.sign(&claims()).await,
            other => other,
        }
    });
    tokio::time::sleep(Duration::from_millis(200)).await;
    fixture.serve();
    call.await.unwrap().expect("it was waited for");
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_that_cannot_be_used_are_refused_at_start() {
    let fixture = Fixture::new();
    let good = fixture.answers.lock().unwrap().keys.clone();
    let spki = fixture.answers.lock().unwrap().key.public().spki().to_vec();
    let before = "while initially filling key cache: while performing initial cache fill: while fetching token \
                  verification keys: ";
    let key = |key_id: &str, key: &[u8]| FetchKeysResponse {
        keys: vec![Key { key_id: key_id.into(), key: key.to_vec(), exclude_from_oidc_discovery: false }],
        ..good.clone()
    };
    let dated = |seconds, nanos| FetchKeysResponse {
        data_timestamp: Some(Timestamp { seconds, nanos }),
        ..good.clone()
    };
    let long = "k".repeat(1025);
    let time = "invalid data timestamp: proto: ";
    for (keys, why) in [
        (
            FetchKeysResponse { refresh_hint_seconds: 0, ..good.clone() },
            "found invalid refresh hint (0s)".to_owned(),
        ),
        (
            FetchKeysResponse { refresh_hint_seconds: -7, ..good.clone() },
            "found invalid refresh hint (-7s)".into(),
        ),
        (FetchKeysResponse { keys: Vec::new(), ..good.clone() }, "found no keys".into()),
        (FetchKeysResponse { data_timestamp: None, ..good.clone() }, format!("{time}invalid nil Timestamp")),
        (
            dated(i64::MIN, 0),
            format!("{time}timestamp (seconds:-9223372036854775808 nanos:0) before 0001-01-01"),
        ),
        (
            dated(253_402_300_800, 0),
            format!("{time}timestamp (seconds:253402300800 nanos:0) after 9999-12-31"),
        ),
        (dated(0, -1), format!("{time}timestamp (seconds:0 nanos:-1) has out-of-range nanos")),
        (key("", &spki), "found invalid public key id \"\"".into()),
        (key(&long, &spki), format!("found invalid public key id \"{long}\"")),
        (key("k", b""), "found empty public key".into()),
        (
            key("k", b"garbage"),
            "while parsing external public keys: \"k\" is not an RSA or ECDSA public key".into(),
        ),
    ] {
        fixture.change(|answers| answers.keys = keys);
        let error = fixture.connect().await.err().unwrap();
        assert_eq!(error, format!("{before}{why}"));
    }
    assert_eq!(fixture.counted.of("fetched unknown-non-grpc"), 11);
    fixture.change(|answers| answers.fails = Some((14, "not now")));
    let why =
        "while getting externally supported jwt signing keys: rpc error: code = Unavailable desc = not now";
    assert_eq!(fixture.connect().await.err().unwrap(), format!("{before}{why}"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ed25519_key_is_ignored_unless_it_is_published() {
    use crate::service_account::openid::{Documents, Error};
    let fixture = Fixture::new();
    let good = fixture.answers.lock().unwrap().keys.clone();
    let ed25519 = rcgen::KeyPair::generate_for(&rcgen::PKCS_ED25519).unwrap();
    let ed25519 = rcgen::PublicKeyData::subject_public_key_info(&ed25519);
    let with = |hidden: bool| {
        let mut keys = good.clone();
        let key = Key { key_id: "ed".into(), key: ed25519.clone(), exclude_from_oidc_discovery: hidden };
        keys.keys.push(key);
        keys
    };
    let documents = |external: &External| {
        Documents::new("https://issuer.example.com", "", "server.example.com", &external.current())
    };
    fixture.change(|answers| answers.keys = with(true));
    let external = fixture.connect().await.unwrap();
    external.sign(&claims()).await.unwrap();
    assert!(documents(&external).is_ok());
    fixture.change(|answers| answers.keys = with(false));
    let external = fixture.connect().await.unwrap();
    external.sign(&claims()).await.unwrap();
    assert_eq!(documents(&external).unwrap_err(), Error::Key(good.keys.len()));
}
