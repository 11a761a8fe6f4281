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

#[tokio::test]
async fn groups_that_are_elsewhere_are_fetched_from_there() {
    let (key, other_key) = (key(), key());
    let (first, second) = (issuer(&key).await, issuer(&other_key).await);
    let launch = Launch::new();
    let authority = launch.path("issuers.crt");
    // One bundle for both: sources of distributed claims are verified with the issuer's authorities.
    let both = format!("{}{}", first.server.authority.pem, second.server.authority.pem);
    std::fs::write(&authority, both).expect("write");
    let groups = Arc::new(Mutex::new(Vec::new()));
    let held = groups.clone();
    let source = HttpsServer::start(move |seen| match seen.header("authorization") {
        "Bearer entry" if seen.path == "/groups" => {
            Reply { body: held.lock().expect("no panic while held").clone(), ..Reply::json(&json!({})) }
        }
        _ => Reply { status: 403, ..Reply::json(&json!({})) },
    })
    .await;
    let bundle = std::fs::read_to_string(&authority).expect("read") + &source.authority.pem;
    std::fs::write(&authority, bundle).expect("write");
    let server = launch
        .arg(format!("--oidc-issuer-url={}", first.server.url("")))
        .arg("--oidc-client-id=pintle")
        .arg(format!("--oidc-ca-file={}", authority.display()))
        .arg("--oidc-groups-claim=roles")
        .arg("--oidc-signing-algs=RS256,ES256")
        .start()
        .await;
    let pointing = |endpoint: &str, entry: &str| {
        let sources = json!({"s": {"endpoint": source.url(endpoint), "access_token": entry}});
        token(&first, &key, json!({"_claim_names": {"roles": "s"}, "_claim_sources": sources}))
    };
    let put = |token: String| *groups.lock().expect("no panic while held") = token.into_bytes();
    put(token(&second, &other_key, json!({"roles": ["system:masters"]})));
    let good = pointing("/groups", "entry");
    eventually("both issuers are found", async || ask(&server, &good).await.code == 200).await;

    let count = source.seen().len();
    let has_them = token(
        &first,
        &key,
        json!({
            "roles": [], "_claim_names": {"roles": "s"}, "_claim_sources": {"s": {"endpoint": source.url("/groups")}},
        }),
    );
    assert_eq!(ask(&server, &has_them).await.code, 403, "its own groups count");
    let within = json!({"_claim_names": {"roles": "s"}, "_claim_sources": {"s": {"JWT": "a.b.c"}}});
    assert_eq!(ask(&server, &token(&first, &key, within)).await.code, 403, "a token within is not looked at");
    assert_eq!(source.seen().len(), count, "nobody was asked");

    let nobodys = json!({"_claim_names": {"roles": "s"}, "_claim_sources": {}});
    let stranger = PrivateKey::generate().expect("a key").0;
    let forged =
        json!({"_claim_names": {"roles": "s"}, "_claim_sources": {"s": {"endpoint": source.url("/groups")}}});
    let count = source.seen().len();
    for wrong in [token(&first, &key, nobodys), token(&first, &stranger, forged)] {
        assert_eq!(ask(&server, &wrong).await.code, 401);
    }
    assert_eq!(source.seen().len(), count, "nobody is asked on a stranger's word");
    for wrong in [pointing("/groups", "other"), pointing("/nothing", "entry")] {
        assert_eq!(ask(&server, &wrong).await.code, 401);
    }
    // A token from a claim source is verified like any other. Every request has a new token, so that none is cached.
    for (nonce, wrong) in [
        token(&second, &other_key, json!({"roles": ["system:masters"], "aud": "other"})),
        token(&second, &other_key, json!({"roles": ["system:masters"], "exp": 1})),
        token(&second, &key, json!({"roles": ["system:masters"]})),
        token(&second, &other_key, json!({})),
        "not a token".to_owned(),
        "x".repeat(200_000),
    ]
    .into_iter()
    .enumerate()
    {
        put(wrong);
        let sources = json!({"s": {"endpoint": source.url("/groups"), "access_token": "entry"}});
        let asking = json!({"_claim_names": {"roles": "s"}, "_claim_sources": sources, "nonce": nonce});
        assert_eq!(ask(&server, &token(&first, &key, asking)).await.code, 401, "{nonce}");
    }
}

fn keys_metrics(text: &str) -> Vec<&str> {
    let of_keys = "apiserver_authentication_jwt_authenticator_jwks_fetch_";
    text.lines().filter(|line| line.starts_with(of_keys)).collect()
}

#[tokio::test]
async fn which_keys_of_an_issuer_are_in_use_is_shown() {
    let (key, next) = (key(), key());
    let issuer = issuer(&key).await;
    for shown in [true, false] {
        let launch = Launch::new().tokens();
        let file = launch.path("authentication.yaml");
        std::fs::write(&file, authentication(&[(&issuer, "claims.sub")], &json!({}))).expect("write");
        let gate = format!("--feature-gates=StructuredAuthenticationConfigurationJWKSMetrics={shown}");
        *issuer.keys.lock().expect("no panic while held") = write_set([key.public()]);
        let server =
            launch.arg(format!("--authentication-config={}", file.display())).arg(gate).start().await;
        let good = token(&issuer, &key, json!({}));
        eventually("the issuer is found", async || ask(&server, &good).await.code == 200).await;
        assert!(!server.stderr().contains("has no effect"), "{}", server.stderr());
        let metrics = async || server.client().token(MASTER).get(GUARDED).await.body;
        let text = metrics().await;
        if !shown {
            assert_eq!(keys_metrics(&text), [""; 0]);
            continue;
        }
        let digest = |text: &[u8]| {
            let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, text);
            digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect::<String>()
        };
        let of_issuer = format!("jwt_issuer_hash=\"sha256:{}\"", digest(issuer.server.url("").as_bytes()));
        let of_keys = |key: &PrivateKey| format!(",hash=\"sha256:{}\"", digest(&write_set([key.public()])));
        let lines = keys_metrics(&text);
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(lines[0].contains("last_key_set_info{") && lines[0].ends_with("} 1"), "{lines:?}");
        assert!(lines[0].contains(&of_issuer) && lines[0].contains(&of_keys(&key)), "{lines:?}");
        assert!(lines[1].contains("last_timestamp_seconds{") && lines[1].contains("result=\"success\""));
        assert!(lines[1].contains(&of_issuer), "{lines:?}");

        *issuer.keys.lock().expect("no panic while held") = write_set([next.public()]);
        let rotated = token(&issuer, &next, json!({}));
        assert_eq!(ask(&server, &rotated).await.code, 200);
        let text = metrics().await;
        let sets: Vec<&str> =
            keys_metrics(&text).into_iter().filter(|line| line.contains("_info{")).collect();
        assert!(sets.len() == 1 && sets[0].contains(&of_keys(&next)), "{sets:?}");
        *issuer.keys.lock().expect("no panic while held") = b"broken".to_vec();
        let unknown = token(&issuer, &PrivateKey::generate().expect("a key").0, json!({}));
        assert_eq!(ask(&server, &unknown).await.code, 401);
        let text = metrics().await;
        assert_eq!(keys_metrics(&text).len(), 3, "the last failure is shown too");

        std::fs::write(&file, authentication(&[], &json!({}))).expect("write");
        eventually("an issuer that is gone has no figures", async || {
            keys_metrics(&metrics().await).is_empty()
        })
        .await;
    }
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
