//! Default classes of claims and ingresses, and the growth of claims: DefaultStorageClass, DefaultIngressClass and
//! PersistentVolumeClaimResize.

use http::Method;
use serde_json::{Value, json};

use crate::support::shared::ready;
use crate::support::{Answer, Launch, Server};

const STORAGE: &str = "/apis/storage.k8s.io/v1/storageclasses";
const CLAIMS: &str = "/api/v1/namespaces/default/persistentvolumeclaims";
const INGRESS_CLASSES: &str = "/apis/networking.k8s.io/v1/ingressclasses";
const INGRESSES: &str = "/apis/networking.k8s.io/v1/namespaces/default/ingresses";

async fn send(server: &Server, method: Method, path: &str, body: &Value) -> Answer {
    let kind = if method == Method::PATCH { "application/merge-patch+json" } else { "application/json" };
    server.admin().request(method, path, &[("content-type", kind)], body.to_string()).await
}

async fn made(server: &Server, path: &str, body: &Value) -> Value {
    send(server, Method::POST, path, body).await.gives(201)
}

fn claim(name: &str, more: Value) -> Value {
    let mut spec = json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}});
    if let (Some(spec), Value::Object(more)) = (spec.as_object_mut(), more) {
        spec.extend(more);
    }
    json!({"metadata": {"name": name}, "spec": spec})
}

fn storage_class(name: &str, annotation: &str, expands: bool) -> Value {
    json!({
        "metadata": {"name": name, "annotations": {annotation: "true"}}, "provisioner": "x.io/y",
        "allowVolumeExpansion": expands,
    })
}

#[tokio::test]
async fn claims_without_a_class_get_the_default() {
    let server = Launch::new().start().await;
    ready(&server).await;
    assert_eq!(
        made(&server, CLAIMS, &claim("early", json!({}))).await["spec"]["storageClassName"],
        Value::Null
    );
    made(&server, STORAGE, &storage_class("plain", "x.io/y", false)).await;
    let older = "storageclass.beta.kubernetes.io/is-default-class";
    made(&server, STORAGE, &storage_class("usual", older, false)).await;
    // A list is as new as the store, and with it the cache.
    server.admin().get(STORAGE).await.code_is(200);
    let usual = made(&server, CLAIMS, &claim("usual", json!({}))).await;
    assert_eq!(usual["spec"]["storageClassName"], "usual");
    let fields = &usual["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"];
    assert_eq!(fields["f:storageClassName"], Value::Null, "the client did not ask for it");
    for (name, class) in [("own", "plain"), ("none", "")] {
        let own = made(&server, CLAIMS, &claim(name, json!({"storageClassName": class}))).await;
        assert_eq!(own["spec"]["storageClassName"], class);
    }
    // The early claim may get a class later, by its controller alone.
    let path = format!("{CLAIMS}/early");
    let updated = send(&server, Method::PATCH, &path, &json!({"metadata": {"labels": {"a": "b"}}})).await;
    assert_eq!(updated.gives(200)["spec"]["storageClassName"], Value::Null);

    send(&server, Method::DELETE, &format!("{STORAGE}/usual"), &json!({})).await.code_is(200);
    server.admin().get(STORAGE).await.code_is(200);
    let late = made(&server, CLAIMS, &claim("late", json!({}))).await;
    assert_eq!(late["spec"]["storageClassName"], Value::Null);
}

#[tokio::test]
async fn bound_claims_grow_where_their_class_allows_it() {
    let server = Launch::new().start().await;
    ready(&server).await;
    made(&server, STORAGE, &storage_class("elastic", "a", true)).await;
    made(&server, STORAGE, &storage_class("fixed", "a", false)).await;
    let larger = json!({"spec": {"resources": {"requests": {"storage": "2Gi"}}}});
    for (class, expected) in [
        ("elastic", None),
        (
            "fixed",
            Some(
                "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support \
                 resize",
            ),
        ),
    ] {
        made(&server, CLAIMS, &claim(class, json!({"storageClassName": class, "volumeName": "v"}))).await;
        let path = format!("{CLAIMS}/{class}");
        let grow = async || send(&server, Method::PATCH, &path, &larger).await;
        // Validation has its own rule for claims that are not bound, and comes first.
        grow().await.code_is(422);
        let bound = json!({"status": {"phase": "Bound", "capacity": {"storage": "1Gi"}}});
        send(&server, Method::PATCH, &format!("{path}/status"), &bound).await.code_is(200);
        match expected {
            None => assert_eq!(grow().await.gives(200)["spec"]["resources"]["requests"]["storage"], "2Gi"),
            Some(why) => {
                let why = format!("persistentvolumeclaims \"{class}\" is forbidden: {why}");
                grow().await.is_status(403, "Forbidden", &why);
            }
        }
    }
}

#[tokio::test]
async fn ingresses_without_a_class_get_the_default() {
    let server = Launch::new().start().await;
    ready(&server).await;
    let ingress = |name: &str, class: Value| {
        let backend = json!({"service": {"name": "s", "port": {"number": 80}}});
        json!({"metadata": {"name": name}, "spec": {"defaultBackend": backend, "ingressClassName": class}})
    };
    let early = made(&server, INGRESSES, &ingress("early", Value::Null)).await;
    assert_eq!(early["spec"]["ingressClassName"], Value::Null);
    for name in ["b", "a"] {
        let annotations = json!({"ingressclass.kubernetes.io/is-default-class": "true"});
        let class =
            json!({"metadata": {"name": name, "annotations": annotations}, "spec": {"controller": "x.io/y"}});
        made(&server, INGRESS_CLASSES, &class).await;
    }
    let classes = server.admin().get(INGRESS_CLASSES).await.gives(200);
    let created = |at: usize| classes["items"][at]["metadata"]["creationTimestamp"].as_str().expect("a time");
    let newest = if created(1) > created(0) { "b" } else { "a" };
    let usual = made(&server, INGRESSES, &ingress("usual", Value::Null)).await;
    assert_eq!(usual["spec"]["ingressClassName"], newest);
    let own = made(&server, INGRESSES, &ingress("own", json!("c"))).await;
    assert_eq!(own["spec"]["ingressClassName"], "c");
    let mut annotated = ingress("annotated", Value::Null);
    annotated["metadata"]["annotations"] = json!({"kubernetes.io/ingress.class": "c"});
    assert_eq!(made(&server, INGRESSES, &annotated).await["spec"]["ingressClassName"], Value::Null);
}
