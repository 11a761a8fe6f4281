//! Requests for certificates: approval, signing, and the use of what is signed.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use http::Method;
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair, SanType};
use serde_json::{Value, json};

use super::{post, send, with_controllers};
use crate::support::certs::{Authority, Identity};
use crate::support::kubectl::Kubectl;
use crate::support::shared::ready;
use crate::support::{Launch, Server, eventually};

const REQUESTS: &str = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
const CLIENT: &str = "kubernetes.io/kube-apiserver-client";
const KUBELET_CLIENT: &str = "kubernetes.io/kube-apiserver-client-kubelet";
const ALL: &str = "csrapproving,csrsigning,csrcleaner";

/// A request of a name for a new key, with the key.
fn pem(name: &str, group: &str, hosts: &[&str]) -> (String, String) {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    params.distinguished_name.push(DnType::OrganizationName, group);
    let names = hosts.iter().map(|host| SanType::DnsName((*host).try_into().expect("a name")));
    params.subject_alt_names.extend(names);
    let key = KeyPair::generate().expect("a key");
    let request = params.serialize_request(&key).expect("a request").pem().expect("PEM");
    (request, key.serialize_pem())
}

fn request(name: &str, signer: &str, pem: &str, usages: &[&str]) -> Value {
    let spec = json!({"request": BASE64_STANDARD.encode(pem), "signerName": signer, "usages": usages});
    json!({
        "kind": "CertificateSigningRequest", "apiVersion": "certificates.k8s.io/v1", "metadata": {"name": name},
        "spec": spec,
    })
}

async fn approve(server: &Server, name: &str) {
    let mut found = server.admin().get(&format!("{REQUESTS}/{name}")).await.gives(200);
    found["status"]["conditions"] = json!([{"type": "Approved", "status": "True", "reason": "Test"}]);
    send(server, Method::PUT, &format!("{REQUESTS}/{name}/approval"), &found).await.gives(200);
}

/// Waits for the certificate of a request.
async fn issued(server: &Server, name: &str) -> String {
    let mut certificate = String::new();
    eventually("a certificate", async || {
        let found = server.admin().get(&format!("{REQUESTS}/{name}")).await.gives(200);
        let text = found["status"]["certificate"].as_str().unwrap_or_default().to_owned();
        certificate = String::from_utf8(BASE64_STANDARD.decode(text).expect("base64")).expect("PEM");
        !certificate.is_empty()
    })
    .await;
    certificate
}

async fn condition(server: &Server, name: &str, kind: &str) -> Option<Value> {
    let found = server.admin().get(&format!("{REQUESTS}/{name}")).await.gives(200);
    let conditions = found["status"]["conditions"].as_array().cloned().unwrap_or_default();
    conditions.into_iter().find(|condition| condition["type"] == kind)
}

/// Returns user and groups of a client's certificate.
async fn who(server: &Server, identity: &Identity) -> Value {
    let review = json!({"kind": "SelfSubjectReview", "apiVersion": "authentication.k8s.io/v1"});
    let path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    let kind = [("content-type", "application/json")];
    let client = server.client().identity(identity);
    let user = client.request(Method::POST, path, &kind, review.to_string()).await.gives(201);
    json!([user["status"]["userInfo"]["username"], user["status"]["userInfo"]["groups"]])
}

#[tokio::test]
async fn an_approved_request_gets_a_certificate_that_is_accepted() {
    let server = with_controllers(ALL).start().await;
    ready(&server).await;
    let (pem, key) = pem("ann", "devs", &[]);
    let mut asked = request("ann", CLIENT, &pem, &["client auth", "digital signature"]);
    asked["spec"]["expirationSeconds"] = json!(3600);
    post(&server, REQUESTS, &asked).await;
    approve(&server, "ann").await;
    let certificate = issued(&server, "ann").await;
    let user = who(&server, &Identity { certificate: certificate.clone(), key }).await;
    assert_eq!(user, json!(["ann", ["devs", "system:authenticated"]]));
    let (_, block) = x509_parser::pem::parse_x509_pem(certificate.as_bytes()).expect("PEM");
    let validity = block.parse_x509().expect("a certificate").validity().clone();
    let seconds = validity.not_after.timestamp() - validity.not_before.timestamp();
    assert_eq!(seconds, 3600 + 300, "backdated, and not shorter for it");
}

#[tokio::test]
async fn requests_that_break_the_rules_of_their_signer_fail() {
    let server = with_controllers("csrsigning").start().await;
    ready(&server).await;
    let serving = "kubernetes.io/kubelet-serving";
    let cases = [
        (
            "usage",
            CLIENT,
            pem("ann", "devs", &[]),
            &["client auth", "server auth"][..],
            "invalid usage for client certificate: server auth",
        ),
        (
            "group",
            serving,
            pem("system:node:n", "system:masters", &["n"]),
            &["digital signature", "server auth"],
            "subject organization is not system:nodes",
        ),
        (
            "names",
            serving,
            pem("system:node:n", "system:nodes", &[]),
            &["digital signature", "server auth"],
            "DNS or IP subjectAltName is required",
        ),
    ];
    for (name, signer, (pem, _), usages, message) in &cases {
        post(&server, REQUESTS, &request(name, signer, pem, usages)).await;
        approve(&server, name).await;
        eventually("the failure", async || condition(&server, name, "Failed").await.is_some()).await;
        let failed = condition(&server, name, "Failed").await.expect("a condition");
        assert_eq!(
            (&failed["reason"], &failed["message"]),
            (&json!("SignerValidationFailure"), &json!(message))
        );
    }
    // One that nobody approved, and one of another signer, stay as they are.
    post(&server, REQUESTS, &request("pending", CLIENT, &pem("ann", "devs", &[]).0, &["client auth"])).await;
    post(
        &server,
        REQUESTS,
        &request("other", "example.com/own", &pem("ann", "devs", &[]).0, &["client auth"]),
    )
    .await;
    approve(&server, "other").await;
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    for name in ["pending", "other"] {
        let found = server.admin().get(&format!("{REQUESTS}/{name}")).await.gives(200);
        assert!(found["status"]["certificate"].is_null(), "{found}");
    }
}

#[tokio::test]
async fn kubelets_requests_are_approved_by_their_permissions() {
    let server = with_controllers(ALL).tokens().start().await;
    ready(&server).await;
    let usages = ["digital signature", "client auth"];
    // The administrator may do everything, also have requests of nodes approved.
    let (pem, key) = pem("system:node:n1", "system:nodes", &[]);
    post(&server, REQUESTS, &request("n1", KUBELET_CLIENT, &pem, &usages)).await;
    let node = Identity { certificate: issued(&server, "n1").await, key };
    let approved = condition(&server, "n1", "Approved").await.expect("a condition");
    assert_eq!(approved["reason"], "AutoApproved");
    assert_eq!(approved["message"], "Auto approving kubelet client certificate after SubjectAccessReview.");
    assert_eq!(who(&server, &node).await[0], "system:node:n1");

    // A node may have its own certificate renewed once nodes may, which is tried again until then.
    let own = request("own", KUBELET_CLIENT, &self::pem("system:node:n1", "system:nodes", &[]).0, &usages);
    let kind = [("content-type", "application/json")];
    let client = server.client().identity(&node);
    client.request(Method::POST, REQUESTS, &kind, own.to_string()).await.gives(201);
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    assert_eq!(condition(&server, "own", "Approved").await, None);
    let group = "rbac.authorization.k8s.io";
    let role = "system:certificates.k8s.io:certificatesigningrequests:selfnodeclient";
    let binding = json!({
        "kind": "ClusterRoleBinding", "apiVersion": format!("{group}/v1"), "metadata": {"name": "renewal"},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": group, "kind": "Group", "name": "system:nodes"}],
    });
    post(&server, &format!("/apis/{group}/v1/clusterrolebindings"), &binding).await;
    issued(&server, "own").await;
    let approved = condition(&server, "own", "Approved").await.expect("a condition");
    assert_eq!(
        approved["message"],
        "Auto approving self kubelet client certificate after SubjectAccessReview."
    );
}

#[tokio::test]
async fn a_given_authority_signs_for_its_signer_alone() {
    let launch = with_controllers("csrsigning");
    let authority = Authority::new("given");
    let certificate = authority.write(launch.dir(), "given.crt");
    let key = launch.path("given.key");
    std::fs::write(&key, &authority.key_pem).expect("written");
    let launch = launch
        .arg(format!("--cluster-signing-legacy-unknown-cert-file={}", certificate.display()))
        .arg(format!("--cluster-signing-legacy-unknown-key-file={}", key.display()));
    let server = launch.start().await;
    ready(&server).await;
    let client = request("client", CLIENT, &pem("ann", "devs", &[]).0, &["client auth"]);
    post(&server, REQUESTS, &client).await;
    approve(&server, "client").await;
    let path = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
    let legacy = request("legacy", "example.com/own", &pem("ann", "devs", &[]).0, &["client auth"]);
    post(&server, path, &legacy).await;
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    let found = server.admin().get(&format!("{REQUESTS}/client")).await.gives(200);
    assert!(found["status"]["certificate"].is_null(), "no authority signs for this signer: {found}");
}

/// Certificates that this server would not accept are not signed.
#[tokio::test]
async fn there_is_no_signer_where_clients_have_another_authority() {
    let launch = with_controllers("*");
    let other = Authority::new("other").write(launch.dir(), "other.crt");
    let server = launch.arg(format!("--client-ca-file={}", other.display())).tokens().start().await;
    let said = "Controller certificatesigningrequest-signing-controller does not run: there is no certificate authority with \
                its key";
    eventually("the sentence", async || server.stderr().contains(said)).await;
}

#[tokio::test]
async fn kubectl_approves_and_denies() {
    let server = Launch::with_defaults().start().await;
    ready(&server).await;
    let kubectl = Kubectl::of(&server);
    let (pem, key) = pem("ann", "devs", &[]);
    kubectl.feed("create -f -", &request("ann", CLIENT, &pem, &["client auth"]).to_string()).await;
    kubectl.feed("create -f -", &request("bob", CLIENT, &pem, &["client auth"]).to_string()).await;
    kubectl.ok("certificate deny bob").await;
    kubectl.ok("certificate approve ann").await;
    let certificate = issued(&server, "ann").await;
    let listed = kubectl.ok("get csr --no-headers").await;
    let state = |name: &str| {
        let line = listed.lines().find(|line| line.starts_with(name)).expect("a line");
        line.split_whitespace().last().expect("a condition").to_owned()
    };
    assert_eq!((state("ann").as_str(), state("bob").as_str()), ("Approved,Issued", "Denied"));
    let (crt, key) = Identity { certificate, key }.write(server.dir(), "ann");
    let user = format!("client-certificate: {}\nclient-key: {}", crt.display(), key.display());
    let ann = kubectl.signed_in("ann", &user);
    assert_eq!(ann.ok("auth whoami -o jsonpath={.status.userInfo.username}").await, "ann");
}

#[tokio::test]
async fn the_authority_of_this_server_is_a_trust_bundle_where_there_are_some() {
    let launch = with_controllers("kube-apiserver-serving-clustertrustbundle-publisher-controller")
        .arg("--feature-gates=ClusterTrustBundle=true")
        .arg("--runtime-config=certificates.k8s.io/v1beta1=true");
    let server = launch.start().await;
    ready(&server).await;
    let bundles = "/apis/certificates.k8s.io/v1beta1/clustertrustbundles";
    let signer = "kubernetes.io/kube-apiserver-serving";
    let authority = std::fs::read_to_string(server.pki().join("pintle-ca.crt")).expect("the authority");
    let own = async || {
        let found = server.admin().get(bundles).await.gives(200);
        let items = found["items"].as_array().expect("items").clone();
        items.into_iter().filter(|bundle| bundle["spec"]["signerName"] == signer).collect::<Vec<_>>()
    };
    let is_right = async || {
        let own = own().await;
        own.len() == 1 && own[0]["spec"]["trustBundle"] == authority.as_str()
    };
    eventually("the bundle", async || is_right().await).await;
    let name = own().await[0]["metadata"]["name"].as_str().expect("a name").to_owned();
    assert!(name.starts_with("kubernetes.io:kube-apiserver-serving:") && name.len() == 37 + 24, "{name}");
    // That of an earlier authority goes, and what is deleted comes back.
    let spec = json!({"signerName": signer, "trustBundle": Authority::new("old").pem});
    let old = json!({"metadata": {"name": "kubernetes.io:kube-apiserver-serving:old"}, "spec": spec});
    post(&server, bundles, &old).await;
    eventually("the old bundle is gone", async || is_right().await).await;
    super::delete(&server, &format!("{bundles}/{name}")).await;
    eventually("the bundle is back", async || is_right().await).await;
}
