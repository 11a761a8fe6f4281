//! Tokens of service accounts: asked for, used, and ended by what they are bound to; keys that last; bootstrap tokens.

use http::Method;
use serde_json::{Value, json};

use crate::support::kubectl::Kubectl;
use crate::support::shared::ready;
use crate::support::{ALICE, Client, Launch, MASTER, Server, eventually};

const ISSUER: &str = "https://kubernetes.default.svc.cluster.local";
const ME: &str = "/apis/authentication.k8s.io/v1/selfsubjectreviews";

async fn start(launch: &Launch) -> Server {
    let server = launch.start().await;
    ready(&server).await;
    server
}

async fn create(client: &Client, path: &str, object: Value) -> Value {
    let answer =
        client.request(Method::POST, path, &[("content-type", "application/json")], object.to_string()).await;
    assert_eq!(answer.code, 201, "{path}: {}", answer.body);
    answer.json()
}

async fn delete(client: &Client, path: &str) {
    let answer = client.request(Method::DELETE, path, &[], "").await;
    assert!(answer.code == 200 || answer.code == 202, "{path}: {}", answer.body);
}

/// A namespace with a service account, a pod that runs as it, a secret and a node.
async fn furnish(admin: &Client, namespace: &str) {
    create(admin, "/api/v1/namespaces", json!({"metadata": {"name": namespace}})).await;
    let path = |resource: &str| format!("/api/v1/namespaces/{namespace}/{resource}");
    create(admin, &path("serviceaccounts"), json!({"metadata": {"name": "robot"}})).await;
    create(admin, &path("secrets"), json!({"metadata": {"name": "anchor"}})).await;
    let spec = json!({"serviceAccountName": "robot", "nodeName": namespace, "containers": [{"name": "c", "image": "i"}]});
    create(admin, &path("pods"), json!({"metadata": {"name": "web"}, "spec": spec})).await;
    create(admin, "/api/v1/nodes", json!({"metadata": {"name": namespace}})).await;
}

/// Asks for a token of the robot.
async fn request(admin: &Client, namespace: &str, spec: Value) -> Value {
    let object = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec});
    create(admin, &format!("/api/v1/namespaces/{namespace}/serviceaccounts/robot/token"), object).await
}

async fn token(admin: &Client, namespace: &str, spec: Value) -> String {
    let issued = request(admin, namespace, spec).await;
    issued["status"]["token"].as_str().expect("a token").to_owned()
}

/// Returns the user of a token, or the code of the rejection.
async fn whoami(server: &Server, token: &str) -> Result<Value, u16> {
    let body = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}).to_string();
    let client = server.client().token(token);
    let answer = client.request(Method::POST, ME, &[("content-type", "application/json")], body).await;
    if answer.code == 201 { Ok(answer.json()["status"]["userInfo"].clone()) } else { Err(answer.code) }
}

fn claims(token: &str) -> Value {
    use base64::Engine;
    let payload = token.split('.').nth(1).expect("a payload");
    let text = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(payload).expect("base64");
    serde_json::from_slice(&text).expect("JSON")
}

#[tokio::test]
async fn a_token_is_asked_for_and_used() {
    let server = start(&Launch::new().tokens()).await;
    let admin = server.client().token(MASTER);
    furnish(&admin, "asked").await;
    let issued = request(&admin, "asked", json!({})).await;
    assert_eq!(issued["metadata"]["name"], "robot");
    assert_eq!(issued["metadata"]["namespace"], "asked");
    assert_eq!(issued["spec"]["audiences"], json!([ISSUER]));
    assert_eq!(issued["spec"]["expirationSeconds"], 3600);
    let token = issued["status"]["token"].as_str().expect("a token");
    let said = claims(token);
    assert_eq!(said["sub"], "system:serviceaccount:asked:robot");
    assert_eq!(said["exp"].as_i64(), Some(said["iat"].as_i64().expect("a time") + 3600));

    let user = whoami(&server, token).await.expect("authenticated");
    assert_eq!(user["username"], "system:serviceaccount:asked:robot");
    assert_eq!(user["uid"], issued["metadata"]["uid"]);
    assert_eq!(
        user["groups"],
        json!(["system:serviceaccounts", "system:serviceaccounts:asked", "system:authenticated"])
    );
    let credential = format!("JTI={}", said["jti"].as_str().expect("an identity"));
    assert_eq!(user["extra"], json!({"authentication.kubernetes.io/credential-id": [credential]}));

    // A token for other audiences does not authenticate to the API server.
    let other = self::token(&admin, "asked", json!({"audiences": ["vault"]})).await;
    assert_eq!(whoami(&server, &other).await, Err(401));
    let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview",
        "spec": {"token": other, "audiences": ["vault", "x"]}});
    let review = create(&admin, "/apis/authentication.k8s.io/v1/tokenreviews", review).await;
    assert_eq!(review["status"]["audiences"], json!(["vault"]));
    assert_eq!(review["status"]["user"]["username"], "system:serviceaccount:asked:robot");
}

#[tokio::test]
async fn a_token_ends_with_what_it_is_bound_to() {
    let server = start(&Launch::new().tokens()).await;
    let admin = server.client().token(MASTER);
    furnish(&admin, "bound").await;
    let reference =
        |kind: &str, name: &str| json!({"boundObjectRef": {"apiVersion": "v1", "kind": kind, "name": name}});
    let pod = token(&admin, "bound", reference("Pod", "web")).await;
    let user = whoami(&server, &pod).await.expect("authenticated");
    assert_eq!(user["extra"]["authentication.kubernetes.io/pod-name"], json!(["web"]));
    assert_eq!(user["extra"]["authentication.kubernetes.io/node-name"], json!(["bound"]));

    // One that was used is known for a few seconds more, one that was not is refused at once.
    let unused = token(&admin, "bound", reference("Pod", "web")).await;
    delete(&admin, "/api/v1/namespaces/bound/pods/web?gracePeriodSeconds=0").await;
    assert_eq!(whoami(&server, &unused).await, Err(401));
    let secret = token(&admin, "bound", reference("Secret", "anchor")).await;
    delete(&admin, "/api/v1/namespaces/bound/secrets/anchor").await;
    assert_eq!(whoami(&server, &secret).await, Err(401));
    let node = token(&admin, "bound", reference("Node", "bound")).await;
    delete(&admin, "/api/v1/nodes/bound").await;
    assert_eq!(whoami(&server, &node).await, Err(401));
    let free = token(&admin, "bound", json!({})).await;
    delete(&admin, "/api/v1/namespaces/bound/serviceaccounts/robot").await;
    // Another of the same name is another.
    create(&admin, "/api/v1/namespaces/bound/serviceaccounts", json!({"metadata": {"name": "robot"}})).await;
    assert_eq!(whoami(&server, &free).await, Err(401));
    eventually("the verdict is forgotten", || async { whoami(&server, &pod).await == Err(401) }).await;
}

#[tokio::test]
async fn requests_that_make_no_sense_are_refused() {
    let server = start(&Launch::new().tokens()).await;
    let admin = server.client().token(MASTER);
    furnish(&admin, "senseless").await;
    let ask = async |account: &str, metadata: Value, spec: Value| {
        let path = format!("/api/v1/namespaces/senseless/serviceaccounts/{account}/token");
        let object = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
            "metadata": metadata, "spec": spec});
        let json = [("content-type", "application/json")];
        admin.request(Method::POST, &path, &json, object.to_string()).await
    };
    let bound = |kind: &str, name: &str, uid: &str| json!({"boundObjectRef": {"apiVersion": "v1", "kind": kind, "name": name, "uid": uid}});
    ask("nobody", json!({}), json!({})).await.is_status(
        404,
        "NotFound",
        "serviceaccounts \"nobody\" not found",
    );
    ask("robot", json!({"name": "other"}), json!({})).await.is_status(
        422,
        "Invalid",
        "TokenRequest.authentication.k8s.io \"robot\" is invalid: metadata.name: Invalid value: \"other\": must match the \
         service account name if specified",
    );
    ask("robot", json!({}), json!({"expirationSeconds": 599})).await.is_status(
        422,
        "Invalid",
        "TokenRequest.authentication.k8s.io \"\" is invalid: spec.expirationSeconds: Invalid value: 599: may not specify a \
         duration less than 10 minutes",
    );
    let account = admin.get("/api/v1/namespaces/senseless/serviceaccounts/robot").await.json();
    let uid = account["metadata"]["uid"].as_str().expect("a UID");
    ask("robot", json!({"uid": "x"}), json!({})).await.is_status(
        409,
        "Conflict",
        &format!(
            "Operation cannot be fulfilled on TokenRequest.authentication.k8s.io \"robot\": the UID in the token request (x) \
             does not match the UID of the service account ({uid})"
        ),
    );
    ask("robot", json!({}), bound("Pod", "nothing", "")).await.is_status(
        404,
        "NotFound",
        "pods \"nothing\" not found",
    );
    ask("robot", json!({}), bound("Secret", "anchor", "x")).await.is_status(
        409,
        "Conflict",
        "Operation cannot be fulfilled on Secret \"anchor\": the UID in the bound object reference (x) does not match the UID \
         in record. The object might have been deleted and then recreated",
    );
    ask("robot", json!({}), bound("ConfigMap", "a", "")).await.is_status(
        400,
        "BadRequest",
        "cannot bind token to object of type /v1, Kind=ConfigMap",
    );
    create(&admin, "/api/v1/namespaces/senseless/serviceaccounts", json!({"metadata": {"name": "second"}}))
        .await;
    ask("second", json!({}), bound("Pod", "web", "")).await.is_status(
        400,
        "BadRequest",
        "cannot bind token for serviceaccount \"second\" to pod running with different serviceaccount name.",
    );
    // A user without permission does not learn whether the account exists.
    let path = "/api/v1/namespaces/senseless/serviceaccounts/robot/token";
    let answer = server.client().token(ALICE).request(Method::POST, path, &[], "{}").await;
    assert_eq!(answer.code, 403, "{}", answer.body);
}

#[tokio::test]
async fn lives_are_shortened_and_those_of_pods_extended() {
    let launch = Launch::new().tokens().arg("--service-account-max-token-expiration=2h");
    let server = start(&launch).await;
    let admin = server.client().token(MASTER);
    furnish(&admin, "lives").await;
    let path = "/api/v1/namespaces/lives/serviceaccounts/robot/token";
    let object = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 10000}});
    let json = [("content-type", "application/json")];
    let answer = admin.request(Method::POST, path, &json, object.to_string()).await;
    let warning = answer.header("warning").to_owned();
    assert_eq!(warning, "299 - \"requested expiration of 10000 seconds shortened to 7200 seconds\"");
    assert_eq!(answer.json()["spec"]["expirationSeconds"], 7200);

    let pod = json!({"apiVersion": "v1", "kind": "Pod", "name": "web"});
    let issued = request(&admin, "lives", json!({"expirationSeconds": 3607, "boundObjectRef": pod})).await;
    let said = claims(issued["status"]["token"].as_str().expect("a token"));
    let now = said["iat"].as_i64().expect("a time");
    assert_eq!(said["exp"].as_i64(), Some(now + 365 * 24 * 3600));
    assert_eq!(said["kubernetes.io"]["warnafter"].as_i64(), Some(now + 3607));
    assert_eq!(issued["spec"]["expirationSeconds"], 3607, "as was asked for");
}

#[tokio::test]
async fn tokens_outlive_a_restart() {
    let launch = Launch::new().tokens();
    let server = start(&launch).await;
    let admin = server.client().token(MASTER);
    furnish(&admin, "restart").await;
    let token = token(&admin, "restart", json!({})).await;
    drop(server);
    let server = start(&launch).await;
    let user = whoami(&server, &token).await.expect("authenticated");
    assert_eq!(user["username"], "system:serviceaccount:restart:robot");
    let key = launch.path("data/pki/pintle-sa.key");
    use std::os::unix::fs::PermissionsExt;
    assert_eq!(std::fs::metadata(key).expect("a key").permissions().mode() & 0o777, 0o600);
}

#[tokio::test]
async fn others_can_verify_tokens_by_themselves() {
    let server = start(&Launch::new().tokens()).await;
    let admin = server.client().token(MASTER);
    furnish(&admin, "openid").await;
    let token = token(&admin, "openid", json!({})).await;
    // Authenticated users may read the documents, anonymous ones may not.
    for path in ["/.well-known/openid-configuration", "/openid/v1/jwks"] {
        assert_eq!(server.client().get(path).await.code, 403, "{path}");
    }
    let found = admin.get("/.well-known/openid-configuration").await;
    assert_eq!(found.header("content-type"), "application/json");
    assert_eq!(found.header("cache-control"), "public, max-age=3600");
    let found = found.json();
    assert_eq!(found["issuer"], ISSUER);
    assert!(found["jwks_uri"].as_str().is_some_and(|uri| uri.ends_with("/openid/v1/jwks")), "{found}");
    let keys = admin.get("/openid/v1/jwks").await;
    assert_eq!(keys.header("content-type"), "application/jwk-set+json");
    let keys = pintle_auth::jwt::read_set(&keys.bytes).expect("a set of keys");
    let parsed = pintle_auth::jwt::Unverified::parse(token.as_bytes()).expect("a token");
    let key = keys.iter().find(|key| Some(key.id()) == parsed.key_id()).expect("its key");
    let claims = parsed.verify(key, &[pintle_auth::jwt::Algorithm::Es256]).expect("verified");
    assert_eq!(claims.text("sub"), Ok(Some("system:serviceaccount:openid:robot")));
    assert_eq!(admin.request(Method::POST, "/openid/v1/jwks", &[], "").await.code, 405);
}

#[tokio::test]
async fn forged_tokens_are_refused() {
    use base64::Engine;
    let engine = base64::engine::general_purpose::URL_SAFE_NO_PAD;
    let server = start(&Launch::new().tokens()).await;
    let admin = server.client().token(MASTER);
    furnish(&admin, "forged").await;
    let good = token(&admin, "forged", json!({})).await;
    assert!(whoami(&server, &good).await.is_ok());
    let parts: Vec<&str> = good.split('.').collect();
    let mut claims = claims(&good);
    claims["sub"] = json!("system:serviceaccount:kube-system:admin");
    let payload = engine.encode(claims.to_string());
    let none = engine.encode(r#"{"alg":"none"}"#);
    let hmac = engine.encode(r#"{"alg":"HS256"}"#);
    let rsa = engine.encode(r#"{"alg":"RS256"}"#);
    for forged in [
        format!("{none}.{}.", parts[1]),
        format!("{none}.{}.{}", parts[1], parts[2]),
        format!("{hmac}.{}.{}", parts[1], parts[2]),
        format!("{rsa}.{}.{}", parts[1], parts[2]),
        format!("{}.{payload}.{}", parts[0], parts[2]),
        format!("{}.{}.", parts[0], parts[1]),
        format!("{good}A"),
        good[..good.len() - 2].to_owned(),
    ] {
        assert_eq!(whoami(&server, &forged).await, Err(401), "{forged}");
    }
    // Larger than any header may be, and where there is no such limit.
    let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview",
        "spec": {"token": format!("{good}{}", "A".repeat(1 << 20))}});
    let review = create(&admin, "/apis/authentication.k8s.io/v1/tokenreviews", review).await;
    assert_eq!(review["status"]["error"], "invalid bearer token");
    assert!(whoami(&server, &good).await.is_ok(), "and the good one is still good");
}

#[tokio::test]
async fn a_secret_s_token_is_good_and_its_use_is_noted() {
    let launch = Launch::new();
    let (key, pem) = pintle_auth::jwt::PrivateKey::generate().expect("a key");
    std::fs::write(launch.path("sa.key"), pem).expect("a file");
    let file = launch.path("sa.key").display().to_string();
    let launch = launch.tokens().args(&[
        format!("--service-account-key-file={file}"),
        format!("--service-account-signing-key-file={file}"),
        "--service-account-issuer=https://issuer.example".into(),
        "--api-audiences=one,two".into(),
    ]);
    let server = start(&launch).await;
    let admin = server.client().token(MASTER);
    furnish(&admin, "legacy").await;
    let account = admin.get("/api/v1/namespaces/legacy/serviceaccounts/robot").await.json();
    let prefix = "kubernetes.io/serviceaccount";
    let said = json!({
        "iss": prefix.replace(".io", ""), "sub": "system:serviceaccount:legacy:robot",
        format!("{prefix}/namespace"): "legacy", format!("{prefix}/secret.name"): "old",
        format!("{prefix}/service-account.name"): "robot",
        format!("{prefix}/service-account.uid"): account["metadata"]["uid"],
    });
    let value = pintle_codec::json::decode_any(said.to_string().as_bytes()).expect("JSON").value;
    let token = key.sign(&value).expect("a token");
    assert_eq!(whoami(&server, &token).await, Err(401), "no secret has it");
    let secret = json!({"metadata": {"name": "old"}, "stringData": {"token": token}});
    create(&admin, "/api/v1/namespaces/legacy/secrets", secret).await;
    let user = whoami(&server, &token).await.expect("authenticated");
    assert_eq!(user["username"], "system:serviceaccount:legacy:robot");
    let secret = admin.get("/api/v1/namespaces/legacy/secrets/old").await.json();
    let today = secret["metadata"]["creationTimestamp"].as_str().expect("a time")[..10].to_owned();
    assert_eq!(secret["metadata"]["labels"]["kubernetes.io/legacy-token-last-used"], *today);
    let metrics = admin.get("/metrics").await.body;
    assert!(metrics.contains("\nserviceaccount_legacy_manual_token_uses_total 1\n"), "counted once");
    let tracked =
        "/api/v1/namespaces/kube-system/configmaps/kube-apiserver-legacy-service-account-token-tracking";
    let tracked = admin.get(tracked).await.json();
    assert_eq!(tracked["data"]["since"], *today, "{tracked}");

    let issued = request(&admin, "legacy", json!({})).await;
    assert_eq!(issued["spec"]["audiences"], json!(["one", "two"]));
    assert_eq!(claims(issued["status"]["token"].as_str().expect("a token"))["iss"], "https://issuer.example");
}

#[tokio::test]
async fn bootstrap_tokens_let_joining_nodes_in_where_asked_for() {
    let secret = json!({
        "metadata": {"name": "bootstrap-token-abcdef"}, "type": "bootstrap.kubernetes.io/token",
        "stringData": {"token-id": "abcdef", "token-secret": "0123456789abcdef",
            "usage-bootstrap-authentication": "true", "auth-extra-groups": "system:bootstrappers:kubeadm"},
    });
    let token = "abcdef.0123456789abcdef";
    let launch = Launch::new().tokens();
    let server = start(&launch).await;
    let path = "/api/v1/namespaces/kube-system/secrets";
    create(&server.client().token(MASTER), path, secret).await;
    assert_eq!(whoami(&server, token).await, Err(401), "nobody asked for it");
    drop(server);
    let server = start(&launch.arg("--enable-bootstrap-token-auth")).await;
    let user = whoami(&server, token).await.expect("authenticated");
    assert_eq!(user["username"], "system:bootstrap:abcdef");
    assert_eq!(
        user["groups"],
        json!(["system:bootstrappers", "system:bootstrappers:kubeadm", "system:authenticated"])
    );
    assert_eq!(whoami(&server, "abcdef.0123456789abcdee").await, Err(401));
    delete(&server.client().token(MASTER), &format!("{path}/bootstrap-token-abcdef")).await;
    eventually("the verdict is forgotten", || async { whoami(&server, token).await == Err(401) }).await;
}

#[tokio::test]
async fn kubectl_asks_for_tokens_and_uses_them() {
    let server = start(&Launch::new().tokens()).await;
    let kubectl = Kubectl::of(&server);
    kubectl.ok("create serviceaccount robot").await;
    let token = kubectl.ok("create token robot --duration=20m --audience=api").await;
    let said = claims(token.trim());
    assert_eq!(said["aud"], json!(["api"]));
    assert_eq!(said["exp"].as_i64(), Some(said["iat"].as_i64().expect("a time") + 1200));
    let token = kubectl.ok("create token robot").await;
    // Without the kubeconfig, whose certificate would speak first.
    let bare = format!(
        "--kubeconfig=/dev/null --server=https://127.0.0.1:{} --insecure-skip-tls-verify --token={}",
        server.port,
        token.trim()
    );
    let complaint = kubectl.fails(&format!("{bare} get pods")).await;
    let user = "User \"system:serviceaccount:default:robot\" cannot list resource \"pods\"";
    assert!(complaint.contains(user), "{complaint}");
    if Kubectl::minor() >= 28 {
        let who = kubectl.json(&format!("{bare} auth whoami")).await;
        assert_eq!(who["status"]["userInfo"]["username"], "system:serviceaccount:default:robot");
    }
    // A token that is bound, and one that cannot be.
    kubectl.ok("create secret generic anchor").await;
    let token = kubectl.ok("create token robot --bound-object-kind=Secret --bound-object-name=anchor").await;
    assert_eq!(claims(token.trim())["kubernetes.io"]["secret"]["name"], "anchor");
    let complaint = kubectl.fails("create token robot --duration=1m").await;
    assert!(complaint.contains("may not specify a duration less than 10 minutes"), "{complaint}");
}
