//! The end of a namespace with custom resources in it, by requests as kube-controller-manager's namespace controller sends
//! them: discovery in JSON, the namespace itself in protobuf, everything else by client-go's metadata client.

use std::collections::HashSet;

use http::Method;
use pintle_codec::protobuf::{self, envelope};
use pintle_meta::{Object, Value as Tree};
use serde_json::{Value, json};

use super::negotiation::decoded;
use super::{Session, definition, object, plain_schema, version};
use crate::support::shared::{Shared, on_both_stores};
use crate::support::{Answer, Client};

on_both_stores! { of EXTENDED:
    a_namespace_controller_empties_a_namespace_with_custom_resources,
}

const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
const DISCOVERY: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json;\
                         g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";
/// Of the typed client.
const TYPED: &str = "application/vnd.kubernetes.protobuf, */*";
/// Of deletions by the metadata client.
const METADATA: &str = "application/vnd.kubernetes.protobuf,application/json";
/// Of its lists.
const METADATA_LIST: &str = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,\
                             application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";
const OPTIONS: &str =
    "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\",\"propagationPolicy\":\"Background\"}\n";

struct Controller {
    client: Client,
}

impl Controller {
    async fn asks(&self, method: Method, path: &str, headers: &[(&str, &str)], body: Vec<u8>) -> Answer {
        self.client.request(method, path, headers, body).await
    }

    /// The namespace, or `None` once it is gone.
    async fn namespace(&self, path: &str) -> Option<Tree> {
        let answer = self.asks(Method::GET, path, &[("accept", TYPED)], Vec::new()).await;
        assert_eq!(answer.header("content-type"), PROTOBUF);
        match answer.code {
            404 => None,
            code => {
                assert_eq!(code, 200, "{answer:?}");
                let found = envelope::open(&answer.bytes).expect("an envelope");
                let of = pintle_schema::find_kind("", "v1", "Namespace").expect("a type");
                Some(protobuf::decode(of, found.raw).expect("a namespace"))
            }
        }
    }

    /// Writes the namespace through a subresource.
    async fn put(&self, path: &str, namespace: &Tree) -> u16 {
        let of = pintle_schema::find_kind("", "v1", "Namespace").expect("a type");
        let (mut message, mut body) = (Vec::new(), Vec::new());
        protobuf::encode(of, namespace, &mut message).expect("a message");
        envelope::write("v1", "Namespace", &message, &mut body);
        let headers = [("accept", TYPED), ("content-type", PROTOBUF)];
        self.asks(Method::PUT, path, &headers, body).await.code
    }

    /// Paths of collections of namespaced resources that can be deleted, each in its preferred version, and whether whole
    /// collections can.
    async fn collections(&self, namespace: &str) -> Vec<(String, bool)> {
        let (mut seen, mut collections) = (HashSet::new(), Vec::new());
        for root in ["/api", "/apis"] {
            let answer = self.asks(Method::GET, root, &[("accept", DISCOVERY)], Vec::new()).await.gives(200);
            for group in answer["items"].as_array().expect("groups") {
                let name = group["metadata"]["name"].as_str().unwrap_or_default();
                for version in group["versions"].as_array().expect("versions") {
                    for resource in version["resources"].as_array().into_iter().flatten() {
                        let has = |verb: &str| {
                            resource["verbs"].as_array().is_some_and(|all| all.contains(&verb.into()))
                        };
                        let plural = resource["resource"].as_str().expect("a name");
                        let is_new = seen.insert((name.to_owned(), plural.to_owned()));
                        if is_new && resource["scope"] == "Namespaced" && has("delete") {
                            let version = version["version"].as_str().expect("a version");
                            let root =
                                if name.is_empty() { root.to_owned() } else { format!("{root}/{name}") };
                            let path = format!("{root}/{version}/namespaces/{namespace}/{plural}");
                            collections.push((path, has("deletecollection")));
                        }
                    }
                }
            }
        }
        collections
    }

    async fn list(&self, collection: &str) -> Vec<Value> {
        let answer = self.asks(Method::GET, collection, &[("accept", METADATA_LIST)], Vec::new()).await;
        assert_eq!((answer.code, answer.header("content-type")), (200, PROTOBUF), "{collection}");
        decoded(&answer.bytes)["items"].as_array().cloned().unwrap_or_default()
    }

    /// Deletes what can be deleted; returns finalizers of what is left.
    async fn empty(&self, namespace: &str) -> Vec<String> {
        let headers = [("accept", METADATA), ("content-type", "application/json")];
        let mut left = Vec::new();
        for (collection, whole) in self.collections(namespace).await {
            let paths = if whole {
                vec![collection.clone()]
            } else {
                let items = self.list(&collection).await.into_iter();
                items.map(|item| format!("{collection}/{}", super::name(&item))).collect()
            };
            for path in paths {
                let answer = self.asks(Method::DELETE, &path, &headers, OPTIONS.into()).await;
                assert_eq!(answer.code, 200, "{path}: {answer:?}");
            }
            for item in self.list(&collection).await {
                let finalizers = item["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
                assert!(!finalizers.is_empty(), "unexpected items still remain: {item}");
                left.extend(finalizers.iter().filter_map(Value::as_str).map(str::to_owned));
            }
        }
        left
    }
}

async fn a_namespace_controller_empties_a_namespace_with_custom_resources(shared: &Shared) {
    let mut session = Session::to(&shared.server).await;
    let versions = vec![version("v1", &plain_schema()), version("v2", &plain_schema())];
    session.install(&definition("ending.test", "Thing", "Namespaced", versions)).await;
    session.post("/api/v1/namespaces", &json!({"metadata": {"name": "ending"}})).await.gives(201);
    let things = "/apis/ending.test/v1/namespaces/ending/things";
    session.post(things, &object("ending.test/v1", "Thing", "a", json!({}))).await.gives(201);
    let mut held = object("ending.test/v1", "Thing", "b", json!({}));
    held["metadata"]["finalizers"] = json!(["ending.test/holds"]);
    session.post(things, &held).await.gives(201);
    let core = "/api/v1/namespaces/ending";
    session.post(&format!("{core}/configmaps"), &json!({"metadata": {"name": "a"}})).await.gives(201);
    let service = json!({"metadata": {"name": "a"}, "spec": {"ports": [{"port": 80}]}});
    session.post(&format!("{core}/services"), &service).await.gives(201);

    let controller = Controller { client: shared.server.admin() };
    session.delete(core).await.gives(200);
    let mut namespace = controller.namespace(core).await.expect("it is being deleted");
    assert_eq!(namespace.text_at(&["status", "phase"]), "Terminating");
    assert_eq!(controller.empty("ending").await, ["ending.test/holds"]);
    assert_eq!(session.post(things, &object("ending.test/v1", "Thing", "c", json!({}))).await.code, 403);
    let mut condition = Object::new();
    for (key, value) in [
        ("type", "NamespaceFinalizersRemaining"),
        ("status", "True"),
        ("reason", "SomeFinalizersRemain"),
        ("message", "Some content in the namespace has finalizers remaining"),
    ] {
        condition.insert(key, value);
    }
    let mut status = Object::new();
    status.insert("phase", "Terminating");
    status.insert("conditions", vec![Tree::from(condition)]);
    namespace.as_object_mut().expect("an object").insert("status", status);
    assert_eq!(controller.put(&format!("{core}/status"), &namespace).await, 200);

    session.merge(&format!("{things}/b"), &json!({"metadata": {"finalizers": null}})).await.gives(200);
    assert_eq!(controller.empty("ending").await, [""; 0]);
    let mut namespace = controller.namespace(core).await.expect("it waits for its finalizer");
    namespace.as_object_mut().expect("an object").insert("spec", Object::new());
    assert_eq!(controller.put(&format!("{core}/finalize"), &namespace).await, 200);
    assert!(controller.namespace(core).await.is_none());
    session.uninstall("things.ending.test").await;
}
