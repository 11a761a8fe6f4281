//! Configurations of plugins that are on by default, in the file of `--admission-control-config-file`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::Method;
use pintle_outbound::testing::{Authority, HttpsOptions, HttpsServer, Reply, Seen};
use serde_json::{Value, json};

use crate::optional_plugins::configured;
use crate::support::shared::ready;
use crate::support::{ALICE, Answer, Launch, MASTER, Server};

const JSON: [(&str, &str); 1] = [("content-type", "application/json")];
const NAMESPACES: &str = "/api/v1/namespaces";

/// A configuration of one plugin.
fn with(launch: Launch, plugin: &str, configuration: &Value) -> Launch {
    configured(launch, &json!([{"name": plugin, "configuration": configuration}]))
}

async fn started(launch: Launch) -> Server {
    let server = launch.start().await;
    ready(&server).await;
    server
}

async fn post(server: &Server, path: &str, body: &Value) -> Answer {
    server.admin().request(Method::POST, path, &JSON, body.to_string()).await
}

fn pods(namespace: &str) -> String {
    format!("{NAMESPACES}/{namespace}/pods")
}

fn pod(name: &str, more: Value) -> Value {
    let mut spec = json!({"containers": [{"name": "c", "image": "i"}]});
    if let (Some(spec), Value::Object(more)) = (spec.as_object_mut(), more) {
        spec.extend(more);
    }
    json!({"metadata": {"name": name}, "spec": spec})
}

fn pod_security(rest: Value) -> Value {
    let mut configuration = json!({
        "apiVersion": "pod-security.admission.config.k8s.io/v1", "kind": "PodSecurityConfiguration",
    });
    if let (Some(configuration), Value::Object(rest)) = (configuration.as_object_mut(), rest) {
        configuration.extend(rest);
    }
    configuration
}

#[tokio::test]
async fn pod_security_enforces_its_defaults_but_for_exemptions() {
    let configuration = pod_security(json!({
        "defaults": {"enforce": "restricted", "warn": "baseline", "warn-version": "v1.30"},
        "exemptions": {"usernames": ["alice"], "namespaces": ["free"], "runtimeClasses": ["sandbox"]},
    }));
    let launch = with(Launch::new().tokens(), "PodSecurity", &configuration);
    let server = started(launch.arg("--authorization-mode=AlwaysAllow")).await;
    for name in ["free", "open"] {
        let labels = match name {
            "open" => json!({"pod-security.kubernetes.io/enforce": "privileged"}),
            _ => json!({}),
        };
        post(&server, NAMESPACES, &json!({"metadata": {"name": name, "labels": labels}})).await.code_is(201);
    }
    let class = json!({"metadata": {"name": "sandbox"}, "handler": "h"});
    post(&server, "/apis/node.k8s.io/v1/runtimeclasses", &class).await.code_is(201);

    let rejected = post(&server, &pods("default"), &pod("p", json!({}))).await;
    rejected.code_is(403);
    let message = rejected.json()["message"].as_str().unwrap_or_default().to_owned();
    let start = "pods \"p\" is forbidden: violates PodSecurity \"restricted:latest\": allowPrivilegeEscalation != false";
    assert!(message.starts_with(start), "{message}");
    // The labels of a namespace count before the defaults.
    post(&server, &pods("open"), &pod("p", json!({}))).await.code_is(201);
    let host = post(&server, &pods("open"), &pod("host", json!({"hostNetwork": true}))).await;
    assert_eq!(
        (host.code, host.header("warning")),
        (
            201,
            "299 - \"would violate PodSecurity \\\"baseline:v1.30\\\": host namespaces (hostNetwork=true)\""
        )
    );
    for (path, body, token) in [
        (pods("free"), pod("p", json!({})), MASTER),
        (pods("default"), pod("a", json!({})), ALICE),
        (pods("default"), pod("s", json!({"runtimeClassName": "sandbox"})), MASTER),
    ] {
        let client = server.client().token(token);
        client.request(Method::POST, &path, &JSON, body.to_string()).await.code_is(201);
    }
}

#[tokio::test]
async fn limited_resources_need_a_quota_that_covers_them() {
    let configuration = json!({
        "apiVersion": "apiserver.config.k8s.io/v1", "kind": "ResourceQuotaConfiguration",
        "limitedResources": [
            {"resource": "pods", "matchContains": ["requests.cpu"]},
            {"resource": "pods", "matchScopes": [
                {"scopeName": "PriorityClass", "operator": "In", "values": ["system-cluster-critical"]},
            ]},
        ],
    });
    let server = started(with(Launch::new(), "ResourceQuota", &configuration)).await;
    let asks = |name: &str| {
        let container =
            json!({"name": "c", "image": "i", "resources": {"requests": {"cpu": "1", "memory": "1"}}});
        json!({"metadata": {"name": name}, "spec": {"containers": [container]}})
    };
    let path = pods("default");
    post(&server, &path, &pod("free", json!({}))).await.code_is(201);
    post(&server, &path, &asks("p")).await.is_status(
        403,
        "Forbidden",
        "pods \"p\" is forbidden: insufficient quota to consume: requests.cpu",
    );
    let critical = pod("c", json!({"priorityClassName": "system-cluster-critical"}));
    let rejected = post(&server, &path, &critical).await;
    rejected.code_is(500);
    assert_eq!(
        rejected.json()["message"],
        "insufficient quota to match these scopes: [{PriorityClass In [system-cluster-critical]}]"
    );
    let quotas = format!("{NAMESPACES}/default/resourcequotas");
    let quota = json!({"metadata": {"name": "q"}, "spec": {"hard": {"requests.cpu": "1"}}});
    let mut quota = post(&server, &quotas, &quota).await.gives(201);
    quota["status"] = json!({"hard": {"requests.cpu": "1"}, "used": {"requests.cpu": "0"}});
    let status = format!("{quotas}/q/status");
    server.admin().request(Method::PUT, &status, &JSON, quota.to_string()).await.code_is(200);
    post(&server, &path, &asks("p")).await.code_is(201);
    post(&server, &path, &asks("q")).await.is_status(
        403,
        "Forbidden",
        "pods \"q\" is forbidden: exceeded quota: q, requested: requests.cpu=1, used: requests.cpu=1, limited: requests.cpu=1",
    );
}

fn allow(seen: &Seen) -> Reply {
    let review = seen.json();
    let response = json!({"uid": review["request"]["uid"], "allowed": true});
    Reply::json(&json!({"apiVersion": review["apiVersion"], "kind": "AdmissionReview", "response": response}))
}

/// Creates a configuration of one webhook, which is asked about config maps.
async fn ask_about_config_maps(server: &Server, of: &str, webhook: &HttpsServer) {
    let hook = json!({
        "name": "w.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None",
        "rules": [{"apiGroups": [""], "apiVersions": ["*"], "operations": ["CREATE"], "resources": ["configmaps"]}],
        "clientConfig": {"url": webhook.url("/w"), "caBundle": STANDARD.encode(&webhook.authority.pem)},
    });
    let path = format!("/apis/admissionregistration.k8s.io/v1/{of}webhookconfigurations");
    post(server, &path, &json!({"metadata": {"name": "w"}, "webhooks": [hook]})).await.code_is(201);
}

#[tokio::test]
async fn webhooks_get_the_credentials_of_the_kubeconfig() {
    let clients = Authority::new("clients");
    let (certificate, key) = clients.issue(&["webhooks"], |_| {});
    let insists = HttpsOptions { clients: Some(clients), ..HttpsOptions::default() };
    let (mutating, validating) =
        (HttpsServer::start(allow).await, HttpsServer::start_with(insists, allow).await);
    let launch = Launch::new();
    let kubeconfig = launch.path("webhooks.kubeconfig");
    let users = json!({"apiVersion": "v1", "kind": "Config", "users": [
        {"name": mutating.address.to_string(), "user": {"token": "for-mutations"}},
        {"name": validating.address.to_string(), "user": {
            "client-certificate-data": STANDARD.encode(certificate), "client-key-data": STANDARD.encode(key),
        }},
        {"name": "*", "user": {"token": "for-others"}},
    ]});
    std::fs::write(&kubeconfig, users.to_string()).expect("write a kubeconfig");
    let configuration = json!({
        "apiVersion": "apiserver.config.k8s.io/v1", "kind": "WebhookAdmissionConfiguration", "kubeConfigFile": kubeconfig,
    });
    let plugins = json!([
        {"name": "MutatingAdmissionWebhook", "configuration": configuration},
        {"name": "ValidatingAdmissionWebhook", "configuration": configuration},
    ]);
    let server = started(configured(launch, &plugins)).await;
    ask_about_config_maps(&server, "mutating", &mutating).await;
    ask_about_config_maps(&server, "validating", &validating).await;
    let maps = format!("{NAMESPACES}/default/configmaps");
    post(&server, &maps, &json!({"metadata": {"name": "m"}})).await.code_is(201);
    let (mutating, validating) = (mutating.seen(), validating.seen());
    assert_eq!((mutating.len(), validating.len()), (1, 1));
    assert_eq!((mutating[0].header("authorization"), mutating[0].certified), ("Bearer for-mutations", false));
    assert_eq!((validating[0].header("authorization"), validating[0].certified), ("", true));
}

#[tokio::test]
async fn a_wrong_configuration_keeps_the_server_from_starting() {
    let init = "couldn't init admission plugin";
    let initialize = "failed to initialize admission plugin";
    let webhooks = |version: &str, kind: &str, rest: &str| {
        let group = "apiserver.config.k8s.io";
        serde_json::from_str(&format!(r#"{{"apiVersion":"{group}/{version}","kind":"{kind}"{rest}}}"#))
            .expect("JSON")
    };
    let current = |rest: &str| -> Value { webhooks("v1", "WebhookAdmissionConfiguration", rest) };
    let quota = |rest: &str| -> Value { webhooks("v1", "ResourceQuotaConfiguration", rest) };
    for (plugin, configuration, failed, expected) in [
        (
            "PodSecurity",
            pod_security(json!({"defaults": {"enforced": "baseline"}})),
            init,
            "strict decoding error: unknown field \"defaults.enforced\"",
        ),
        (
            "PodSecurity",
            json!({"apiVersion": "v1", "kind": "PodSecurityConfiguration"}),
            init,
            "no kind \"PodSecurityConfiguration\" is registered for version \"v1\" in scheme \
             \"k8s.io/pod-security-admission/admission/api/scheme/scheme.go:31\"",
        ),
        (
            "PodSecurity",
            pod_security(json!({"defaults": {"enforce": "strict"}})),
            initialize,
            "PodSecurity configuration error: enforce: must be one of privileged, baseline, restricted",
        ),
        (
            "PodSecurity",
            pod_security(json!({"exemptions": {"usernames": [""]}})),
            initialize,
            "PodSecurity invalid: exemptions.usernames[0]: Invalid value: \"\": username must not be empty",
        ),
        (
            "ResourceQuota",
            quota(r#","limitedResources":[{"apiGroup":"apps"}]"#),
            init,
            "limitedResources[0].resource: Required value",
        ),
        (
            "ResourceQuota",
            webhooks("v2", "ResourceQuotaConfiguration", ""),
            init,
            "no kind \"ResourceQuotaConfiguration\" is registered for version \"apiserver.config.k8s.io/v2\" in scheme \
             \"pkg/admission/plugin/resourcequota/config.go:31\"",
        ),
        (
            "MutatingAdmissionWebhook",
            current(r#","kubeConfigFile":"hooks""#),
            init,
            "kubeConfigFile: Invalid value: \"hooks\": must be an absolute file path",
        ),
        (
            "ValidatingAdmissionWebhook",
            current(r#","kubeConfigFile":"/nowhere/hooks""#),
            init,
            "stat /nowhere/hooks: no such file or directory",
        ),
        (
            "ValidatingAdmissionWebhook",
            webhooks("v1alpha1", "WebhookAdmission", ""),
            init,
            "no kind \"WebhookAdmission\" is registered for version \"apiserver.config.k8s.io/v1alpha1\" in scheme \
             \"pkg/admission/plugin/webhook/config/kubeconfig.go:34\"",
        ),
        (
            "ValidatingAdmissionWebhook",
            current(r#","staticManifestsDir":"/manifests""#),
            init,
            "staticManifestsDir: Forbidden: staticManifestsDir requires the ManifestBasedAdmissionControlConfig feature gate to \
             be enabled",
        ),
    ] {
        let sentence = with(Launch::new(), plugin, &configuration).fails().await;
        let expected = format!("failed to apply admission: {failed} {plugin:?}: {expected}");
        assert_eq!(sentence, expected, "{configuration}");
    }
}
