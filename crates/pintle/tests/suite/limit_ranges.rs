//! Admission by LimitRanges: defaults and limits of pods and volume claims.

use http::Method;
use serde_json::{Value, json};

use crate::replicas::Pair;
use crate::support::etcd::Version;
use crate::support::shared::ready;
use crate::support::{Answer, Launch, Server};

const CORE: &str = "/api/v1/namespaces/default";

async fn send(server: &Server, method: Method, resource: &str, body: &Value) -> Answer {
    let json = [("content-type", "application/json")];
    server.admin().request(method, &format!("{CORE}/{resource}"), &json, body.to_string()).await
}

fn pod(name: &str, resources: Value) -> Value {
    let container = json!({"name": "c", "image": "i", "resources": resources});
    json!({"metadata": {"name": name}, "spec": {"containers": [container]}})
}

fn range(limits: Value) -> Value {
    json!({"metadata": {"name": "r"}, "spec": {"limits": limits}})
}

#[tokio::test]
async fn a_range_gives_defaults_and_sets_limits() {
    let server = Launch::new().start().await;
    ready(&server).await;
    let free = send(&server, Method::POST, "pods", &pod("free", json!({}))).await.gives(201);
    assert_eq!(free["spec"]["containers"][0]["resources"], json!({}));
    let limits = json!([{
        "type": "Container", "max": {"cpu": "2"}, "min": {"cpu": "100m"}, "defaultRequest": {"cpu": "500m", "memory": "64Mi"},
        "maxLimitRequestRatio": {"cpu": "4"},
    }]);
    send(&server, Method::POST, "limitranges", &range(limits)).await.code_is(201);

    // At once after its range.
    let plain = send(&server, Method::POST, "pods", &pod("plain", json!({}))).await.gives(201);
    assert_eq!(
        plain["spec"]["containers"][0]["resources"],
        json!({"limits": {"cpu": "2"}, "requests": {"cpu": "500m", "memory": "64Mi"}})
    );
    assert_eq!(
        plain["metadata"]["annotations"]["kubernetes.io/limit-ranger"],
        "LimitRanger plugin set: cpu, memory request for container c; cpu limit for container c"
    );
    assert_eq!(plain["status"]["qosClass"], "Burstable");

    let large = pod("large", json!({"limits": {"cpu": "3"}, "requests": {"cpu": "50m"}}));
    send(&server, Method::POST, "pods", &large).await.is_status(
        403,
        "Forbidden",
        "pods \"large\" is forbidden: [minimum cpu usage per Container is 100m, but request is 50m, maximum cpu usage per \
         Container is 2, but limit is 3, cpu max limit to request ratio per Container is 4, but provided ratio is 60.000000]",
    );
    // Updates of pods are not checked, and resizes are.
    let mut labelled = free.clone();
    labelled["metadata"]["labels"] = json!({"a": "b"});
    send(&server, Method::PUT, "pods/free", &labelled).await.code_is(200);
    let resized =
        pod("plain", json!({"limits": {"cpu": "9"}, "requests": {"cpu": "500m", "memory": "64Mi"}}));
    send(&server, Method::PUT, "pods/plain/resize", &resized).await.is_status(
        403,
        "Forbidden",
        "pods \"plain\" is forbidden: [maximum cpu usage per Container is 2, but limit is 9, cpu max limit to request ratio \
         per Container is 4, but provided ratio is 18.000000]",
    );
    send(&server, Method::DELETE, "limitranges/r", &json!({})).await.code_is(200);
    send(&server, Method::POST, "pods", &large).await.code_is(201);
}

#[tokio::test]
async fn a_range_limits_volume_claims() {
    let server = Launch::new().start().await;
    ready(&server).await;
    let limits =
        json!([{"type": "PersistentVolumeClaim", "max": {"storage": "2Gi"}, "min": {"storage": "1Gi"}}]);
    send(&server, Method::POST, "limitranges", &range(limits)).await.code_is(201);
    let claim = |storage: &str| {
        let spec = json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": storage}}, "storageClassName": ""});
        json!({"metadata": {"name": "c"}, "spec": spec})
    };
    send(&server, Method::POST, "persistentvolumeclaims", &claim("3Gi")).await.is_status(
        403,
        "Forbidden",
        "persistentvolumeclaims \"c\" is forbidden: maximum storage usage per PersistentVolumeClaim is 2Gi, but request is 3Gi",
    );
    send(&server, Method::POST, "persistentvolumeclaims", &claim("1Gi")).await.code_is(201);
}

/// The cache of the other server may not have the range yet; then it asks the store.
#[tokio::test(flavor = "multi_thread")]
async fn a_range_of_a_moment_ago_counts_on_another_server() {
    let pair = Pair::start(Version::New).await;
    let [one, other] = &pair.servers;
    let json = [("content-type", "application/json")];
    let post = async |server: &Server, path: &str, body: &Value| {
        server.admin().request(Method::POST, path, &json, body.to_string()).await
    };
    for number in 0..10 {
        let name = format!("ranges-{number}");
        let namespace = format!("/api/v1/namespaces/{name}");
        post(one, "/api/v1/namespaces", &json!({"metadata": {"name": name}})).await.code_is(201);
        let limits = json!([{"type": "Container", "max": {"cpu": "1"}}]);
        post(one, &format!("{namespace}/limitranges"), &range(limits)).await.code_is(201);
        let large = pod("large", json!({"limits": {"cpu": "2"}}));
        post(other, &format!("{namespace}/pods"), &large).await.is_status(
            403,
            "Forbidden",
            "pods \"large\" is forbidden: maximum cpu usage per Container is 1, but limit is 2",
        );
    }
}
