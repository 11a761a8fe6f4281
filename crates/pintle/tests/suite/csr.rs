//! CertificateSigningRequests: the requester is recorded, and approving or signing needs a permission for the signer.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use http::Method;
use rcgen::{CertificateParams, DnType, KeyPair};
use serde_json::{Value, json};

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
