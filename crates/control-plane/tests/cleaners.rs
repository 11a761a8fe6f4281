//! Controllers that remove what is done with, or lack what they need, on a control plane whose clock the test advances.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use http_body_util::{BodyExt, Full};
use pintle_control_plane::{Config, ControlPlane, ControllerSelection};
use pintle_features::{Feature, Features};
use pintle_runtime::ManualClock;
use pintle_server::{Connection, Request};
use pintle_storage_embedded::{Options, Store};
use serde_json::{Value, json};

const REQUESTS: &str = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(24 * 3600);

/// Valid in form, for a key that nobody has.
const PEM: &str = include_str!("data/request.b64");

/// A request without names, signed by an Ed25519 key.
const STUB: &str = "MH8wMwIBADAAMCowBQYDK2VwAyEAw8t7FrcsMEjLbcVn4mCanRkOn4V5dY8sH55EkwkPG1WgADAFBgMrZXADQQDbQNa2mPOIh62Mh2FauDrmlG4fLDcGAbJ5odaOSlJPbexqVtyof2XmZQ3C9C9li0c7DEJSglpoeuxU0LRdp7AP";

struct Plane {
    plane: ControlPlane,
    clock: Arc<ManualClock>,
}

impl Plane {
    async fn start(controllers: &str) -> Plane {
        let clock = ManualClock::starting_at(SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000));
        let mut config = Config { clock: clock.clock(), ..Config::new().expect("a configuration") };
        config.features = Features::default().with(Feature::PodCertificateRequest, true);
        config.api.groups.runtime_config =
            [("certificates.k8s.io/v1beta1".to_owned(), "true".to_owned())].into();
        let names: Vec<String> = controllers.split(',').map(str::to_owned).collect();
        config.controllers.selection = ControllerSelection::parse(&names).expect("known names");
        let backend = Arc::new(Store::open(Options::memory()).expect("a store"));
        let plane = ControlPlane::start(backend, config).await.expect("a control plane");
        let is_started = plane.is_started();
        for _ in 0..3000 {
            if is_started() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert!(is_started(), "post-start hooks are done");
        Plane { plane, clock }
    }

    async fn send(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let kind = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
        let request = http::Request::builder().method(method).uri(path).header("content-type", kind);
        let (parts, body) = request.body(body.to_string()).expect("a request").into_parts();
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 6443));
        let body = Full::new(bytes(body)).map_err(|never: Infallible| match never {}).boxed();
        let connection = Arc::new(Connection::new(address, address, Vec::new()));
        let answer = self.plane.handler().handle(Request::new(parts, body, connection)).await;
        let code = answer.status().as_u16();
        let body = answer.into_body().collect().await.expect("a body").to_bytes();
        (code, serde_json::from_slice(&body).unwrap_or_default())
    }

    async fn ok(&self, method: &str, path: &str, body: Value) -> Value {
        let (code, answer) = self.send(method, path, &body).await;
        assert!(code < 300, "{method} {path}: {code} {answer}");
        answer
    }

    async fn exists(&self, path: &str) -> bool {
        self.send("GET", path, &Value::Null).await.0 == 200
    }

    /// Lets the controllers do what they have to do now.
    async fn settled(&self) {
        for _ in 0..50 {
            tokio::time::sleep(Duration::from_millis(4)).await;
        }
    }

    async fn after(&self, time: Duration) {
        self.clock.advance(time);
        self.settled().await;
    }

    async fn is_gone(&self, path: &str) -> bool {
        for _ in 0..500 {
            if !self.exists(path).await {
                return true;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        false
    }
}

fn bytes(text: String) -> bytes::Bytes {
    text.into()
}

#[tokio::test(flavor = "multi_thread")]
async fn certificate_requests_go_when_their_time_is_over() {
    let plane = Plane::start("csrcleaner").await;
    for name in ["pending", "denied"] {
        let spec = json!({"request": PEM.trim(), "signerName": "example.com/own", "usages": ["client auth"]});
        plane.ok("POST", REQUESTS, json!({"metadata": {"name": name}, "spec": spec})).await;
    }
    let condition = json!({"type": "Denied", "status": "True", "reason": "Test", "lastUpdateTime": null});
    let denied = json!({"status": {"conditions": [condition]}});
    plane.ok("PATCH", &format!("{REQUESTS}/denied/approval"), denied).await;
    let (pending, denied) = (format!("{REQUESTS}/pending"), format!("{REQUESTS}/denied"));
    plane.settled().await;
    plane.after(HOUR).await;
    assert!(plane.exists(&denied).await, "an hour is not over before its last second is");
    plane.after(Duration::from_secs(1)).await;
    assert!(plane.is_gone(&denied).await);
    plane.after(DAY - HOUR - Duration::from_secs(2)).await;
    assert!(plane.exists(&pending).await);
    plane.after(Duration::from_secs(2)).await;
    assert!(plane.is_gone(&pending).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn unused_automatic_tokens_are_marked_and_deleted_a_year_later() {
    let plane = Plane::start("legacy-service-account-token-cleaner").await;
    let (secrets, accounts) =
        ("/api/v1/namespaces/default/secrets", "/api/v1/namespaces/default/serviceaccounts");
    let token = |name: &str| {
        json!({
            "metadata": {"name": name, "annotations": {"kubernetes.io/service-account.name": "robot"}},
            "type": "kubernetes.io/service-account-token",
        })
    };
    let listed = json!([{"name": "unused"}, {"name": "mounted"}]);
    plane.ok("POST", accounts, json!({"metadata": {"name": "robot"}, "secrets": listed})).await;
    for name in ["unused", "mounted", "manual"] {
        plane.ok("POST", secrets, token(name)).await;
    }
    let volume = json!({"name": "v", "secret": {"secretName": "mounted"}});
    let container = json!({"name": "c", "image": "i"});
    let spec = json!({"containers": [container], "volumes": [volume], "serviceAccountName": "robot"});
    let pod = json!({"metadata": {"name": "p"}, "spec": spec});
    plane.ok("POST", "/api/v1/namespaces/default/pods", pod).await;
    plane.settled().await;
    let path = |name: &str| format!("{secrets}/{name}");
    let mark = async |name: &str| {
        let found = plane.ok("GET", &path(name), Value::Null).await;
        found["metadata"]["labels"]["kubernetes.io/legacy-token-invalid-since"].as_str().map(str::to_owned)
    };
    plane.after(364 * DAY).await;
    assert_eq!(mark("unused").await, None);
    // Tracking began today: one more day is not known.
    plane.after(3 * DAY).await;
    plane.settled().await;
    assert_eq!(mark("unused").await.as_deref(), Some("2028-01-17"));
    assert_eq!((mark("mounted").await, mark("manual").await), (None, None));
    plane.after(365 * DAY).await;
    assert!(plane.exists(&path("unused")).await);
    plane.after(DAY).await;
    assert!(plane.is_gone(&path("unused")).await);
    // The other one is not used any more.
    plane.ok("DELETE", "/api/v1/namespaces/default/pods/p", json!({"gracePeriodSeconds": 0})).await;
    plane.after(DAY).await;
    plane.settled().await;
    assert!(mark("mounted").await.is_some());
    assert_eq!(mark("manual").await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_for_certificates_of_pods_go_after_a_quarter_of_an_hour() {
    let plane = Plane::start("podcertificaterequest-cleaner-controller").await;
    let requests = "/apis/certificates.k8s.io/v1beta1/namespaces/default/podcertificaterequests";
    let spec = json!({
        "signerName": "example.com/signer", "podName": "p", "podUID": "a", "serviceAccountName": "s",
        "serviceAccountUID": "b", "nodeName": "n", "nodeUID": "c", "maxExpirationSeconds": 86400,
        "stubPKCS10Request": STUB,
    });
    plane.ok("POST", requests, json!({"metadata": {"name": "r"}, "spec": spec})).await;
    let path = format!("{requests}/r");
    plane.settled().await;
    plane.after(HOUR / 4).await;
    assert!(plane.exists(&path).await);
    plane.after(Duration::from_secs(1)).await;
    assert!(plane.is_gone(&path).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_private_key_secrets_stay_without_a_token() {
    let plane = Plane::start("serviceaccount-token,csrsigning,root-ca-cert-publisher").await;
    let namespace = "/api/v1/namespaces/default";
    plane.ok("POST", &format!("{namespace}/serviceaccounts"), json!({"metadata": {"name": "robot"}})).await;
    let annotations = json!({"kubernetes.io/service-account.name": "robot"});
    let secret = json!({
        "metadata": {"name": "t", "annotations": annotations}, "type": "kubernetes.io/service-account-token",
    });
    plane.ok("POST", &format!("{namespace}/secrets"), secret).await;
    plane.settled().await;
    let found = plane.ok("GET", &format!("{namespace}/secrets/t"), Value::Null).await;
    assert!(found["data"].is_null(), "{found}");
    assert!(!plane.exists(&format!("{namespace}/configmaps/kube-root-ca.crt")).await);
}
