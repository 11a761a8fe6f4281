//! Requests for certificates: the requester is recorded, and deciding needs a permission for the signer.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use http::Method;
use rcgen::{CertificateParams, DnType, KeyPair};
use serde_json::{Value, json};

use crate::support::certs::Authority;
use crate::support::{ALICE, Answer, Launch, MASTER, Server};

const REQUESTS: &str = "/apis/certificates.k8s.io/v1/certificatesigningrequests";

fn pem(group: &str) -> String {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, "carol");
    params.distinguished_name.push(DnType::OrganizationName, group);
    let request = params.serialize_request(&KeyPair::generate().expect("a key")).expect("a request");
    request.pem().expect("PEM")
}

fn request(name: &str, signer: &str, group: &str) -> Value {
    json!({
        "apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "metadata": {"name": name},
        "spec": {"request": BASE64_STANDARD.encode(pem(group)), "signerName": signer, "usages": ["client auth"],
            "username": "somebody else", "groups": ["system:masters"]},
    })
}

async fn ask(server: &Server, token: &str, method: Method, path: &str, body: &Value) -> Answer {
    let kind = if method == Method::PATCH { "application/merge-patch+json" } else { "application/json" };
    server.client().token(token).request(method, path, &[("content-type", kind)], body.to_string()).await
}

/// Gives alice a right by a role and a binding of their own.
async fn allow(server: &Server, name: &str, rule: Value) {
    let group = "rbac.authorization.k8s.io";
    let metadata = json!({"name": name});
    let role = json!({"apiVersion": format!("{group}/v1"), "kind": "ClusterRole", "metadata": metadata, "rules": [rule]});
    let binding = json!({
        "apiVersion": format!("{group}/v1"), "kind": "ClusterRoleBinding", "metadata": metadata,
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": name},
        "subjects": [{"apiGroup": group, "kind": "User", "name": "alice"}],
    });
    for (resource, object) in [("clusterroles", role), ("clusterrolebindings", binding)] {
        let made = ask(server, MASTER, Method::POST, &format!("/apis/{group}/v1/{resource}"), &object).await;
        assert_eq!(made.code, 201, "{made:?}");
    }
}

#[tokio::test]
async fn deciding_needs_a_right_to_the_signer() {
    let server = Launch::new().tokens().start().await;
    server.until_it_has_namespaces().await;
    let on = |resources: &[&str], verbs: &[&str]| json!({"apiGroups": ["certificates.k8s.io"], "resources": resources, "verbs": verbs});
    let all = [
        "certificatesigningrequests",
        "certificatesigningrequests/approval",
        "certificatesigningrequests/status",
    ];
    allow(&server, "requests", on(&all, &["create", "get", "update", "patch"])).await;

    let made = ask(&server, ALICE, Method::POST, REQUESTS, &request("a", "example.com/foo", "devs")).await;
    assert_eq!(made.code, 201, "{made:?}");
    let spec = &made.json()["spec"];
    assert_eq!((&spec["username"], &spec["uid"]), (&json!("alice"), &json!("u2")));
    assert_eq!(spec["groups"], json!(["dev", "system:authenticated"]));

    let condition =
        |kind: &str| json!({"status": {"conditions": [{"type": kind, "status": "True", "reason": "r"}]}});
    let approval = format!("{REQUESTS}/a/approval");
    let approve = async || ask(&server, ALICE, Method::PATCH, &approval, &condition("Approved")).await;
    approve().await.is_status(
        403,
        "Forbidden",
        "certificatesigningrequests.certificates.k8s.io \"a\" is forbidden: user not permitted to approve requests with \
         signerName \"example.com/foo\"",
    );
    let mut signers = on(&["signers"], &["approve"]);
    signers["resourceNames"] = json!(["example.com/*"]);
    allow(&server, "approve", signers).await;
    let approved = approve().await;
    assert_eq!(approved.code, 200, "{approved:?}");

    let sign = async || {
        ask(&server, ALICE, Method::PATCH, &format!("{REQUESTS}/a/status"), &condition("Failed")).await
    };
    let mut both = condition("Approved")["status"]["conditions"].as_array().expect("one").clone();
    both.extend(condition("Failed")["status"]["conditions"].as_array().expect("one").clone());
    let failed = json!({"status": {"conditions": both}});
    let status = format!("{REQUESTS}/a/status");
    ask(&server, ALICE, Method::PATCH, &status, &failed).await.is_status(
        403,
        "Forbidden",
        "certificatesigningrequests.certificates.k8s.io \"a\" is forbidden: user not permitted to sign requests with \
         signerName \"example.com/foo\"",
    );
    let mut signers = on(&["signers"], &["sign"]);
    signers["resourceNames"] = json!(["example.com/foo"]);
    allow(&server, "sign", signers).await;
    assert_eq!(ask(&server, ALICE, Method::PATCH, &status, &failed).await.code, 200);
    assert_eq!(sign().await.code, 422, "a decision cannot be taken back");
}

#[tokio::test]
async fn a_signing_request_for_masters_is_refused() {
    let server = Launch::new().tokens().start().await;
    server.until_it_has_namespaces().await;
    let signer = "kubernetes.io/kube-apiserver-client";
    let refused = request("a", signer, "system:masters");
    ask(&server, MASTER, Method::POST, REQUESTS, &refused).await.is_status(
        403,
        "Forbidden",
        "certificatesigningrequests.certificates.k8s.io \"a\" is forbidden: use of kubernetes.io/kube-apiserver-client \
         signer with system:masters group is not allowed",
    );
    let made = ask(&server, MASTER, Method::POST, REQUESTS, &request("a", signer, "devs")).await;
    assert_eq!(made.code, 201, "{made:?}");
}

#[tokio::test]
async fn attesting_for_a_signer_needs_a_right_to_it() {
    const BUNDLES: &str = "/apis/certificates.k8s.io/v1beta1/clustertrustbundles";
    let server = Launch::new()
        .tokens()
        .args(&[
            "--feature-gates=ClusterTrustBundle=true",
            "--runtime-config=certificates.k8s.io/v1beta1=true",
        ])
        .start()
        .await;
    server.until_it_has_namespaces().await;
    let on = |resource: &str, verbs: &[&str]| json!({"apiGroups": ["certificates.k8s.io"], "resources": [resource], "verbs": verbs});
    allow(&server, "bundles", on("clustertrustbundles", &["create", "get", "patch"])).await;
    let bundle = |name: &str, signer: Option<&str>| {
        let spec = json!({"signerName": signer, "trustBundle": Authority::new("ca").pem});
        json!({
            "apiVersion": "certificates.k8s.io/v1beta1", "kind": "ClusterTrustBundle", "metadata": {"name": name},
            "spec": spec,
        })
    };
    let create = async |token: &str, bundle: &Value| ask(&server, token, Method::POST, BUNDLES, bundle).await;
    create(ALICE, &bundle("free", None)).await.gives(201);
    let (name, signed) = ("example.com:foo:a", bundle("example.com:foo:a", Some("example.com/foo")));
    let refused = format!(
        "clustertrustbundles.certificates.k8s.io {name:?} is forbidden: user not permitted to attest for signerName \
         \"example.com/foo\""
    );
    create(ALICE, &signed).await.is_status(403, "Forbidden", &refused);
    create(MASTER, &signed).await.gives(201);

    let path = format!("{BUNDLES}/{name}");
    let change = async |patch: &Value| ask(&server, ALICE, Method::PATCH, &path, patch).await;
    let other = json!({"spec": {"trustBundle": Authority::new("other").pem}});
    change(&other).await.is_status(403, "Forbidden", &refused);
    change(&json!({"metadata": {"finalizers": ["x.io/y"]}})).await.gives(200);
    let mut signers = on("signers", &["attest"]);
    signers["resourceNames"] = json!(["example.com/*"]);
    allow(&server, "attest", signers).await;
    change(&other).await.gives(200);
}

#[tokio::test]
async fn the_status_of_a_pod_s_request_is_written_by_its_signer() {
    let gates = "--feature-gates=PodCertificateRequest=true";
    let server = Launch::new()
        .tokens()
        .args(&[gates, "--runtime-config=certificates.k8s.io/v1beta1=true"])
        .start()
        .await;
    crate::support::shared::ready(&server).await;
    let requests = "/apis/certificates.k8s.io/v1beta1/namespaces/default/podcertificaterequests";
    let key = KeyPair::generate().expect("a key");
    let stub = CertificateParams::default().serialize_request(&key).expect("a request");
    let object = json!({
        "apiVersion": "certificates.k8s.io/v1beta1", "kind": "PodCertificateRequest", "metadata": {"name": "a"},
        "spec": {"signerName": "example.com/foo", "podName": "p", "podUID": "u", "serviceAccountName": "s",
            "serviceAccountUID": "t", "nodeName": "n", "nodeUID": "m", "maxExpirationSeconds": 86400,
            "stubPKCS10Request": BASE64_STANDARD.encode(stub.der())},
    });
    let made = ask(&server, MASTER, Method::POST, requests, &object).await;
    assert_eq!(made.code, 201, "{made:?}");
    let on = |resources: &[&str], verbs: &[&str]| json!({"apiGroups": ["certificates.k8s.io"], "resources": resources, "verbs": verbs});
    allow(&server, "status", on(&["podcertificaterequests/status"], &["update", "patch"])).await;
    let deny = |name: &'static str| {
        let condition = json!({"type": "Denied", "status": "True", "reason": "R", "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z"});
        let body = json!({"status": {"conditions": [condition]}});
        let (server, path) = (&server, format!("{requests}/{name}/status"));
        async move { ask(server, ALICE, Method::PATCH, &path, &body).await }
    };
    let refusal = "PodCertificateRequest.certificates.k8s.io \"a\" is invalid: spec.signerName: Forbidden: User \"alice\" is \
                   not permitted to \"sign\" for signer \"example.com/foo\"";
    deny("a").await.is_status(422, "Invalid", refusal);
    let signers = |verbs: &[&str], name: &str| {
        let mut rule = on(&["signers"], verbs);
        rule["resourceNames"] = json!([name]);
        rule
    };
    allow(&server, "other-verb", signers(&["approve"], "example.com/foo")).await;
    allow(&server, "other-signer", signers(&["sign"], "example.com/bar")).await;
    deny("a").await.is_status(422, "Invalid", refusal);
    // A write that changes nothing of the status needs no permission for the signer.
    let unchanged = ask(&server, ALICE, Method::PATCH, &format!("{requests}/a/status"), &json!({})).await;
    assert_eq!(unchanged.code, 200, "{unchanged:?}");
    allow(&server, "domain", signers(&["sign"], "example.com/*")).await;
    let denied = deny("a").await;
    assert_eq!(denied.code, 200, "{denied:?}");
}
