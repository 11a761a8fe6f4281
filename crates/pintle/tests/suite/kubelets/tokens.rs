//! Kubelets that are asked by others than the server: they ask it back whose token that is, and what its user may.

use http::Method;
use serde_json::json;

use super::{Cluster, JSON};
use crate::support::{ALICE, Client, MASTER};

#[tokio::test]
async fn a_kubelet_asks_the_server_about_tokens_and_permissions() {
    let mut cluster = Cluster::start(&[]).await;
    let direct = Client::new(cluster.kubelet.address.port(), &cluster.kubelet.authority.pem);
    assert_eq!(direct.clone().token(MASTER).get("/pods").await.code, 401, "it belongs to no server yet");
    cluster.join();
    assert_eq!(direct.get("/pods").await.code, 401);
    assert_eq!(direct.clone().token("bad").get("/pods").await.code, 401);
    assert!(direct.clone().token(MASTER).get("/pods").await.body.contains("PodList"));
    let alice = direct.token(ALICE);
    let forbidden = "Forbidden (user=alice, verb=get, resource=nodes, subresource(s)=[proxy])\n";
    alice.get("/pods").await.is(403, forbidden);
    let roles = "/apis/rbac.authorization.k8s.io/v1";
    let role = json!({"metadata": {"name": "pods-of-nodes"},
        "rules": [{"apiGroups": [""], "resources": ["nodes/proxy"], "verbs": ["get"]}]});
    cluster.send(Method::POST, &format!("{roles}/clusterroles"), JSON, &role).await;
    let binding = json!({"metadata": {"name": "pods-of-nodes"},
        "subjects": [{"kind": "User", "name": "alice", "apiGroup": "rbac.authorization.k8s.io"}],
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "pods-of-nodes"}});
    cluster.send(Method::POST, &format!("{roles}/clusterrolebindings"), JSON, &binding).await;
    assert_eq!(alice.get("/pods").await.code, 200);
    // The permission to read is not the one to run commands.
    let exec = alice.request(Method::POST, "/exec/default/web/main?command=id&output=1", &[], "").await;
    exec.is(403, &forbidden.replace("verb=get", "verb=create"));
}
