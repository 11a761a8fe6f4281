//! Issuers of tokens and files about access: real HTTPS issuers and webhooks, and a server that believes them.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use pintle_auth::jwt::{PrivateKey, write_set};
use pintle_outbound::testing::{HttpsServer, Reply};
use serde_json::{Value, json};

use crate::support::{ALICE, Answer, Launch, MASTER, Server, eventually};

const GUARDED: &str = "/metrics";

struct Issuer {
    server: HttpsServer,
    keys: Arc<Mutex<Vec<u8>>>,
}

async fn issuer(key: &PrivateKey) -> Issuer {
    let keys = Arc::new(Mutex::new(write_set([key.public()])));
    let (held, own) = (keys.clone(), Arc::new(Mutex::new(String::new())));
    let name = own.clone();
    let server = HttpsServer::start(move |seen| {
        let issuer = name.lock().expect("no panic while held").clone();
        match seen.path.as_str() {
            "/keys" => {
                Reply { body: held.lock().expect("no panic while held").clone(), ..Reply::json(&json!({})) }
            }
            _ => Reply::json(&json!({"issuer": issuer, "jwks_uri": format!("{issuer}/keys")})),
        }
    })
    .await;
    *own.lock().expect("no panic while held") = server.url("");
    Issuer { server, keys }
}

fn key() -> PrivateKey {
    PrivateKey::generate().expect("a key").0
}

fn token(issuer: &Issuer, key: &PrivateKey, change: Value) -> String {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("after 1970").as_secs();
    let mut claims = json!({
        "iss": issuer.server.url(""), "aud": "pintle", "exp": now + 600, "sub": "ann", "groups": ["system:masters"],
    });
    for (name, value) in change.as_object().into_iter().flatten() {
        claims[name] = value.clone();
    }
    key.sign(&pintle_codec::json::decode_any(claims.to_string().as_bytes()).expect("JSON").value)
        .expect("a token")
}

async fn ask(server: &Server, token: &str) -> Answer {
    server.client().token(token).get(GUARDED).await
}

#[tokio::test]
async fn tokens_of_the_issuer_that_the_flags_name_are_accepted() {
    let (key, stranger) = (key(), key());
    let issuer = issuer(&key).await;
    let launch = Launch::new();
    let authority = launch.path("issuer.crt");
    std::fs::write(&authority, &issuer.server.authority.pem).expect("write");
    let server = launch
        .arg(format!("--oidc-issuer-url={}", issuer.server.url("")))
        .arg("--oidc-client-id=pintle")
        .arg(format!("--oidc-ca-file={}", authority.display()))
        .arg("--oidc-groups-claim=groups")
        .arg("--oidc-required-claim=tenant=t1")
        .arg("--oidc-signing-algs=RS256,ES256")
        .start()
        .await;
    let good = token(&issuer, &key, json!({"tenant": "t1"}));
    eventually("the issuer is found", async || ask(&server, &good).await.code == 200).await;
    let plain = token(&issuer, &key, json!({"tenant": "t1", "groups": []}));
    let name = format!("{}#ann", issuer.server.url(""));
    let message = format!("forbidden: User \"{name}\" cannot get path \"/metrics\"");
    ask(&server, &plain).await.is_status(403, "Forbidden", &message);
    for wrong in [
        token(&issuer, &key, json!({})),
        token(&issuer, &key, json!({"tenant": "t2"})),
        token(&issuer, &key, json!({"tenant": "t1", "aud": "other"})),
        token(&issuer, &key, json!({"tenant": "t1", "exp": 1})),
        token(&issuer, &key, json!({"tenant": "t1", "iss": "https://other"})),
        token(&issuer, &stranger, json!({"tenant": "t1"})),
        good.replace('.', ".x"),
    ] {
        ask(&server, &wrong).await.is_status(401, "Unauthorized", "Unauthorized");
    }
    *issuer.keys.lock().expect("no panic while held") = write_set([stranger.public()]);
    let rotated = token(&issuer, &stranger, json!({"tenant": "t1"}));
    assert_eq!(ask(&server, &rotated).await.code, 200, "keys are rotated while running");
}

fn authentication(issuers: &[(&Issuer, &str)], rest: &Value) -> String {
    let jwt: Vec<Value> = issuers
        .iter()
        .map(|(issuer, username)| {
            json!({
                "issuer": {
                    "url": issuer.server.url(""), "audiences": ["pintle"],
                    "certificateAuthority": issuer.server.authority.pem,
                },
                "claimMappings": {
                    "username": {"expression": username},
                    "groups": {"expression": "claims.?groups.orValue([])"},
                },
                "userValidationRules": [{"expression": "!user.username.startsWith('system:')", "message": "reserved"}],
            })
        })
        .collect();
    let mut file = json!({
        "apiVersion": "apiserver.config.k8s.io/v1", "kind": "AuthenticationConfiguration", "jwt": jwt,
    });
    for (name, value) in rest.as_object().into_iter().flatten() {
        file[name] = value.clone();
    }
    file.to_string()
}

#[tokio::test]
async fn a_file_names_several_issuers_and_is_read_again_when_it_changes() {
    let (first_key, second_key) = (key(), key());
    let (first, second) = (issuer(&first_key).await, issuer(&second_key).await);
    let launch = Launch::new().tokens();
    let file = launch.path("authentication.yaml");
    let anonymous = json!({"anonymous": {"enabled": true, "conditions": [{"path": "/livez"}]}});
    std::fs::write(&file, authentication(&[(&first, "claims.sub")], &anonymous)).expect("write");
    let server = launch.arg(format!("--authentication-config={}", file.display())).start().await;
    let ours = token(&first, &first_key, json!({}));
    let theirs = token(&second, &second_key, json!({}));
    eventually("the issuer is found", async || ask(&server, &ours).await.code == 200).await;
    assert_eq!(ask(&server, &theirs).await.code, 401);
    let reserved = token(&first, &first_key, json!({"sub": "system:admin"}));
    assert_eq!(ask(&server, &reserved).await.code, 401);
    eventually("the roles of every cluster are there", async || {
        server.client().get("/livez").await.code == 200
    })
    .await;
    assert_eq!(server.client().get("/readyz").await.code, 401, "anonymous only where the file says so");

    std::fs::write(&file, "broken: true").expect("write");
    let failures = "apiserver_authentication_config_controller_automatic_reloads_total{apiserver_id_hash=";
    eventually("the broken file is noticed", async || {
        server.client().token(MASTER).get(GUARDED).await.body.contains(failures)
    })
    .await;
    assert_eq!(ask(&server, &ours).await.code, 200, "a broken file changes nothing");
    let both = [(&first, "claims.sub"), (&second, "'other:' + claims.sub")];
    std::fs::write(&file, authentication(&both, &anonymous)).expect("write");
    eventually("the second issuer is found", async || ask(&server, &theirs).await.code == 200).await;
    assert_eq!(ask(&server, &ours).await.code, 200);
}

#[tokio::test]
async fn a_file_that_is_wrong_stops_the_start_with_all_that_is_wrong() {
    let launch = Launch::new();
    let file = launch.path("authentication.yaml");
    let text = "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\njwt:\n- issuer: {url: 'http://a'}\n";
    std::fs::write(&file, text).expect("write");
    let error = launch.arg(format!("--authentication-config={}", file.display())).fails().await;
    for part in [
        "jwt[0].issuer.url: Invalid value: \"http://a\": URL scheme must be https",
        "jwt[0].issuer.audiences: Required value: at least one jwt[0].issuer.audiences is required",
        "jwt[0].claimMappings.username: Required value: claim or expression is required",
    ] {
        assert!(error.contains(part), "{part}: {error}");
    }
}

fn authorization(kubeconfig: &Path, condition: &str) -> String {
    json!({
        "apiVersion": "apiserver.config.k8s.io/v1", "kind": "AuthorizationConfiguration",
        "authorizers": [
            {"type": "Webhook", "name": "hook", "webhook": {
                "timeout": "3s", "subjectAccessReviewVersion": "v1", "failurePolicy": "Deny",
                "matchConditionSubjectAccessReviewVersion": "v1", "unauthorizedTTL": "1s", "authorizedTTL": "1s",
                "connectionInfo": {"type": "KubeConfigFile", "kubeConfigFile": kubeconfig},
                "matchConditions": [{"expression": condition}],
            }},
            {"type": "RBAC", "name": "rbac"},
        ],
    })
    .to_string()
}

#[tokio::test]
async fn a_file_says_who_decides_and_when_a_webhook_is_asked() {
    let webhook = HttpsServer::start(|_| {
        let status = json!({"allowed": true});
        Reply::json(&json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "status": status}))
    })
    .await;
    let launch = Launch::new().tokens();
    let (kubeconfig, file) = (launch.path("webhook.yaml"), launch.path("authorization.yaml"));
    std::fs::write(&kubeconfig, webhook.kubeconfig("/may")).expect("write");
    let only_pods = "request.user == 'alice' && request.?resourceAttributes.resource.orValue('') == 'pods'";
    std::fs::write(&file, authorization(&kubeconfig, only_pods)).expect("write");
    let server = launch.arg(format!("--authorization-config={}", file.display())).start().await;
    let alice = server.client().token(ALICE);
    assert_eq!(alice.get("/api/v1/namespaces/default/pods").await.code, 200);
    assert_eq!(alice.get("/api/v1/namespaces/default/secrets").await.code, 403);
    assert!(
        webhook.seen().iter().all(|seen| seen.json()["spec"]["resourceAttributes"]["resource"] == "pods")
    );

    std::fs::write(&file, "broken: true").expect("write");
    let failures = "apiserver_authorization_config_controller_automatic_reloads_total{apiserver_id_hash=";
    eventually("the broken file is noticed", async || {
        server.client().token(MASTER).get(GUARDED).await.body.contains(failures)
    })
    .await;
    assert_eq!(alice.get("/api/v1/namespaces/default/pods").await.code, 200, "a broken file changes nothing");
    std::fs::write(&file, authorization(&kubeconfig, "request.user == 'alice'")).expect("write");
    eventually("the new conditions count", async || {
        alice.get("/api/v1/namespaces/default/secrets").await.code == 200
    })
    .await;
}
