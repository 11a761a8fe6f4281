//! Tokens of service accounts in secrets.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use super::{delete, is_gone, make_namespace, merge, post, send, with_controllers};
use crate::support::kubectl::Kubectl;
use crate::support::shared::ready;
use crate::support::{Launch, Server, eventually};

const SECRETS: &str = "/api/v1/namespaces/a/secrets";
const ACCOUNTS: &str = "/api/v1/namespaces/a/serviceaccounts";
const ROBOT: &str = "system:serviceaccount:a:robot";

fn secret(name: &str, account: &str) -> Value {
    json!({
        "metadata": {"name": name, "annotations": {"kubernetes.io/service-account.name": account}},
        "type": "kubernetes.io/service-account-token",
    })
}

/// A server with an account `robot` in the namespace `a`.
async fn server_with_robot() -> Server {
    let server = with_controllers("serviceaccount-token").start().await;
    ready(&server).await;
    make_namespace(&server, "a").await;
    post(&server, ACCOUNTS, &json!({"metadata": {"name": "robot"}})).await;
    server
}

/// Waits until a secret has a token, and returns it.
async fn filled(server: &Server, name: &str) -> Value {
    let mut found = Value::Null;
    eventually("a token", async || {
        found = server.admin().get(&format!("{SECRETS}/{name}")).await.json();
        found["data"]["token"].is_string()
    })
    .await;
    found
}

fn data(secret: &Value, key: &str) -> String {
    let text = secret["data"][key].as_str().expect("data");
    String::from_utf8(BASE64_STANDARD.decode(text).expect("base64")).expect("UTF-8")
}

/// Returns who the server says that a token is.
async fn who(server: &Server, token: &str) -> String {
    let review = json!({"kind": "SelfSubjectReview", "apiVersion": "authentication.k8s.io/v1"});
    let path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    let kind = [("content-type", "application/json")];
    let answer =
        server.client().token(token).request(http::Method::POST, path, &kind, review.to_string()).await;
    answer.json()["status"]["userInfo"]["username"].as_str().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn a_secret_is_filled_with_a_token_that_is_accepted() {
    let server = server_with_robot().await;
    post(&server, SECRETS, &secret("t", "robot")).await;
    let found = filled(&server, "t").await;
    let authority = std::fs::read_to_string(server.pki().join("pintle-ca.crt")).expect("the authority");
    assert_eq!(data(&found, "ca.crt"), authority);
    assert_eq!(data(&found, "namespace"), "a");
    let account = server.admin().get(&format!("{ACCOUNTS}/robot")).await.gives(200);
    assert_eq!(
        found["metadata"]["annotations"]["kubernetes.io/service-account.uid"],
        account["metadata"]["uid"]
    );
    let managers = found["metadata"]["managedFields"].as_array().expect("managers");
    assert!(managers.iter().any(|manager| manager["manager"] == "kube-controller-manager"));
    let token = data(&found, "token");
    assert_eq!(who(&server, &token).await, ROBOT);

    // Removed fields come again, and the token is another copy of the same.
    merge(&server, &format!("{SECRETS}/t"), &json!({"data": {"ca.crt": "eA==", "namespace": null}})).await;
    eventually("the data are repaired", async || {
        let found = server.admin().get(&format!("{SECRETS}/t")).await.json();
        found["data"]["namespace"].is_string() && data(&found, "ca.crt") == authority
    })
    .await;
    assert_eq!(who(&server, &token).await, ROBOT);
}

#[tokio::test]
async fn tokens_go_with_their_account() {
    let server = server_with_robot().await;
    post(&server, SECRETS, &secret("t", "robot")).await;
    let plain = json!({"metadata": {"name": "plain", "annotations": {"kubernetes.io/service-account.name": "robot"}}});
    post(&server, SECRETS, &plain).await;
    let token = data(&filled(&server, "t").await, "token");
    delete(&server, &format!("{ACCOUNTS}/robot")).await;
    let path = format!("{SECRETS}/t");
    eventually("the secret is gone", async || is_gone(&server, &path).await).await;
    server.admin().get(&format!("{SECRETS}/plain")).await.code_is(200);
    server.client().token(&token).get("/api").await.code_is(401);

    // A secret for an account that does not exist, or for one that was another of the same name, goes at once.
    post(&server, SECRETS, &secret("none", "nobody")).await;
    post(&server, ACCOUNTS, &json!({"metadata": {"name": "robot"}})).await;
    let mut older = secret("older", "robot");
    older["metadata"]["annotations"]["kubernetes.io/service-account.uid"] = json!("another");
    post(&server, SECRETS, &older).await;
    for name in ["none", "older"] {
        let path = format!("{SECRETS}/{name}");
        eventually("the secret is gone", async || is_gone(&server, &path).await).await;
    }
    post(&server, SECRETS, &secret("new", "robot")).await;
    filled(&server, "new").await;
}

#[tokio::test]
async fn an_account_forgets_a_secret_that_was_deleted() {
    let server = server_with_robot().await;
    post(&server, SECRETS, &secret("t", "robot")).await;
    filled(&server, "t").await;
    let account = format!("{ACCOUNTS}/robot");
    merge(&server, &account, &json!({"secrets": [{"name": "other"}, {"name": "t"}]})).await;
    delete(&server, &format!("{SECRETS}/t")).await;
    eventually("the reference is gone", async || {
        server.admin().get(&account).await.json()["secrets"] == json!([{"name": "other"}])
    })
    .await;
}

#[tokio::test]
async fn kubectl_gets_a_token_by_a_secret() {
    let server = Launch::with_defaults().arg("--controllers=*").start().await;
    ready(&server).await;
    let kubectl = Kubectl::of(&server);
    kubectl.ok("create namespace a").await;
    kubectl.ok("create serviceaccount robot -n a").await;
    kubectl.ok("create clusterrolebinding robot --clusterrole=view --serviceaccount=a:robot").await;
    let mut made = secret("t", "robot");
    made["kind"] = json!("Secret");
    made["apiVersion"] = json!("v1");
    kubectl.feed("create -n a -f -", &made.to_string()).await;
    let token = data(&filled(&server, "t").await, "token");
    let robot = kubectl.signed_in("robot", &format!("token: {token}"));
    let robot = robot.ok("auth whoami -o jsonpath={.status.userInfo.username}").await;
    assert_eq!(robot, ROBOT);
    kubectl.ok("delete serviceaccount robot -n a").await;
    kubectl.ok("wait --for=delete secret/t -n a --timeout=20s").await;
    // The namespace goes with all that the controllers put there, and nothing is put there again.
    kubectl.ok("delete namespace a --timeout=20s").await;
    send(&server, http::Method::GET, "/api/v1/namespaces/a/configmaps", &json!({})).await.code_is(200);
    let left = server.admin().get("/api/v1/namespaces/a/configmaps").await.gives(200);
    assert_eq!(left["items"], json!([]));
}
