//! The certificate authority in every namespace.

use serde_json::json;

use super::{delete, is_gone, make_namespace, merge, with_controllers};
use crate::support::certs::Authority;
use crate::support::eventually;
use crate::support::shared::ready;

fn path(namespace: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/configmaps/kube-root-ca.crt")
}

#[tokio::test]
async fn every_namespace_has_the_authority_and_keeps_it() {
    let server = with_controllers("root-ca-cert-publisher,namespace").start().await;
    ready(&server).await;
    make_namespace(&server, "a").await;
    let authority = std::fs::read_to_string(server.pki().join("pintle-ca.crt")).expect("the authority");
    let is_right = async |namespace: &str| {
        let found = server.admin().get(&path(namespace)).await;
        found.code == 200 && found.json()["data"] == json!({"ca.crt": authority})
    };
    for namespace in ["a", "default", "kube-system"] {
        eventually("the authority", async || is_right(namespace).await).await;
    }
    let found = server.admin().get(&path("a")).await.gives(200);
    let description =
        found["metadata"]["annotations"]["kubernetes.io/description"].as_str().expect("a description");
    assert!(description.starts_with("Contains a CA bundle that can be used to verify the kube-apiserver"));
    assert_eq!(found["metadata"]["managedFields"][0]["manager"], "kube-controller-manager");

    delete(&server, &path("a")).await;
    eventually("it is back", async || is_right("a").await).await;
    let changed = json!({"data": {"ca.crt": "x", "other": "y"}, "metadata": {"annotations": null}});
    merge(&server, &path("a"), &changed).await;
    eventually("it is repaired", async || is_right("a").await).await;
    // A description of one's own may stay.
    let own = json!({"metadata": {"annotations": {"kubernetes.io/description": "mine"}}});
    let version = merge(&server, &path("a"), &own).await["metadata"]["resourceVersion"].clone();
    tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    assert_eq!(server.admin().get(&path("a")).await.gives(200)["metadata"]["resourceVersion"], version);

    delete(&server, "/api/v1/namespaces/a").await;
    eventually("the namespace is gone", async || is_gone(&server, "/api/v1/namespaces/a").await).await;
    let metrics = server.admin().get("/metrics").await.body;
    let count = metrics.lines().any(|line| {
        line.starts_with("root_ca_cert_publisher_sync_total{code=\"200\"} ") && !line.ends_with(" 0")
    });
    assert!(count, "rounds are counted");
}

#[tokio::test]
async fn two_that_want_different_authorities_slow_down() {
    let launch = with_controllers("root-ca-certificate-publisher-controller");
    let given = Authority::new("given").write(launch.dir(), "given.crt");
    let server = launch.arg(format!("--root-ca-file={}", given.display())).start().await;
    ready(&server).await;
    let expected = std::fs::read_to_string(&given).expect("the authority");
    eventually("the authority", async || {
        server.admin().get(&path("default")).await.json()["data"]["ca.crt"] == expected.as_str()
    })
    .await;
    let mut repaired = 0;
    let end = tokio::time::Instant::now() + std::time::Duration::from_millis(2500);
    while tokio::time::Instant::now() < end {
        merge(&server, &path("default"), &json!({"data": {"ca.crt": "other"}})).await;
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        let found = server.admin().get(&path("default")).await.gives(200);
        repaired += usize::from(found["data"]["ca.crt"] == expected.as_str());
    }
    assert!((3..=7).contains(&repaired), "{repaired} repairs");
}
