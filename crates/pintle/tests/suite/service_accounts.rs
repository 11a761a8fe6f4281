//! Pods and the accounts that they run as, with everything on that is on unless somebody says otherwise.

use crate::support::kubectl::Kubectl;
use crate::support::shared::ready;
use crate::support::{Launch, eventually};

#[tokio::test]
async fn a_pod_of_a_new_namespace_has_an_account_and_a_token() {
    let server = Launch::with_defaults().start().await;
    ready(&server).await;
    let kubectl = Kubectl::of(&server);
    kubectl.ok("create namespace team").await;
    kubectl.ok("run web --image=nginx --namespace=team").await;
    let pod = kubectl.json("get pod web --namespace=team").await;
    assert_eq!(pod["spec"]["serviceAccountName"], "default");
    assert_eq!(pod["spec"]["serviceAccount"], "default");
    let mount = &pod["spec"]["containers"][0]["volumeMounts"][0];
    assert_eq!(mount["mountPath"], "/var/run/secrets/kubernetes.io/serviceaccount");
    assert_eq!(pod["spec"]["volumes"][0]["name"], mount["name"]);
    assert_eq!(pod["spec"]["volumes"][0]["projected"]["defaultMode"], 420);
    let complaint = kubectl
        .fails(
            "run other --image=nginx --namespace=team --overrides={\"spec\":{\"serviceAccountName\":\"x\"}}",
        )
        .await;
    assert!(
        complaint.contains("error looking up service account team/x: serviceaccount \"x\" not found"),
        "{complaint}"
    );
}

#[tokio::test]
async fn the_default_account_comes_back() {
    let server = Launch::with_defaults().start().await;
    ready(&server).await;
    let kubectl = Kubectl::of(&server);
    let uid = async || {
        kubectl.run(&["get", "serviceaccount", "default", "-o", "jsonpath={.metadata.uid}"], "").await.stdout
    };
    eventually("a default account", async || !uid().await.is_empty()).await;
    let before = uid().await;
    kubectl.ok("delete serviceaccount default").await;
    eventually("another default account", async || !uid().await.is_empty() && uid().await != before).await;
}
