//! Kubelets: what they may read follows from what runs on their node, what they may write is their own.

use http::Method;
use serde_json::{Value, json};

use crate::support::{Answer, Client, Launch, MASTER, Server};

const N1: &str = "node-token-1-52b1c9";
const N2: &str = "node-token-2-52b1c9";
const PODS: &str = "/api/v1/namespaces/default/pods";
const SECRETS: &str = "/api/v1/namespaces/default/secrets";

struct Cluster {
    server: Server,
}

impl Cluster {
    async fn start() -> Cluster {
        Cluster::started(Launch::new()).await
    }

    async fn started(launch: Launch) -> Cluster {
        let file = launch.path("tokens.csv");
        let text = format!(
            "{MASTER},root,u1,\"system:masters\"\n{N1},system:node:n1,u2,\"system:nodes\"\n{N2},system:node:n2,u3,\"system:nodes\"\n"
        );
        std::fs::write(&file, text).expect("write tokens");
        let launch = launch
            .secret(N1)
            .secret(N2)
            .arg(format!("--token-auth-file={}", file.display()))
            .arg("--enable-admission-plugins=NodeRestriction");
        let server = launch.start().await;
        server.until_it_has_namespaces().await;
        Cluster { server }
    }

    fn as_(&self, token: &str) -> Client {
        self.server.client().token(token)
    }

    async fn ask(&self, token: &str, method: Method, path: &str, body: &Value) -> Answer {
        let patch = method == Method::PATCH;
        let kind = if patch { "application/merge-patch+json" } else { "application/json" };
        let body = if body.is_null() { String::new() } else { body.to_string() };
        self.as_(token).request(method, path, &[("content-type", kind)], body).await
    }

    /// The administrator makes something.
    async fn make(&self, path: &str, object: Value) -> Value {
        let answer = self.ask(MASTER, Method::POST, path, &object).await;
        assert_eq!(answer.code, 201, "{answer:?}");
        answer.json()
    }

    async fn secret(&self, name: &str) {
        self.make(SECRETS, json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}})).await;
    }

    async fn code(&self, token: &str, path: &str) -> u16 {
        self.as_(token).get(path).await.code
    }
}

fn pod(name: &str, spec: &Value) -> Value {
    let mut pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    });
    for (field, value) in spec.as_object().expect("an object") {
        pod["spec"][field] = value.clone();
    }
    pod
}

fn unrelated(resource: &str, name: &str, verb: &str) -> String {
    format!(
        "{resource} \"{name}\" is forbidden: User \"system:node:n1\" cannot {verb} resource \"{resource}\" in API group \"\" in \
         the namespace \"default\": no relationship found between node 'n1' and this object"
    )
}

#[tokio::test]
async fn a_node_reads_the_secrets_of_its_pods_while_they_are_there() {
    let cluster = Cluster::start().await;
    cluster.secret("used").await;
    cluster.secret("other").await;
    let used = format!("{SECRETS}/used");
    let refused = cluster.as_(N1).get(&used).await;
    refused.is_status(403, "Forbidden", &unrelated("secrets", "used", "get"));

    let volumes = json!({"volumes": [{"name": "v", "secret": {"secretName": "used"}}]});
    cluster.make(PODS, pod("p", &volumes)).await;
    assert_eq!(cluster.code(N1, &used).await, 403, "nobody runs it yet");
    let binding = json!({
        "apiVersion": "v1", "kind": "Binding", "metadata": {"name": "p"},
        "target": {"apiVersion": "v1", "kind": "Node", "name": "n1"},
    });
    cluster.make(&format!("{PODS}/p/binding"), binding).await;
    // At once: what was answered is known.
    assert_eq!(cluster.code(N1, &used).await, 200);
    assert_eq!(cluster.code(N2, &used).await, 403);
    assert_eq!(cluster.code(N1, &format!("{SECRETS}/other")).await, 403);
    assert_eq!(cluster.code(N1, SECRETS).await, 403);
    assert_eq!(cluster.code(N1, &format!("{SECRETS}?fieldSelector=metadata.name%3Dused")).await, 200);
    let update = cluster.ask(N1, Method::PATCH, &used, &json!({"data": {"a": "YQ=="}})).await;
    assert_eq!(update.code, 403, "{update:?}");

    let gone =
        cluster.ask(MASTER, Method::DELETE, &format!("{PODS}/p?gracePeriodSeconds=0"), &Value::Null).await;
    assert_eq!(gone.code, 200, "{gone:?}");
    assert_eq!(cluster.code(N1, &used).await, 403);
    let metrics = cluster.as_(MASTER).get("/metrics").await.body;
    for operation in ["AddPod", "DeletePod"] {
        let counted =
            format!("node_authorizer_graph_actions_duration_seconds_count{{operation=\"{operation}\"}} ");
        assert!(metrics.contains(&counted), "{operation}");
    }
}

#[tokio::test]
async fn volumes_lead_from_claims_to_secrets() {
    let cluster = Cluster::start().await;
    cluster.secret("stage").await;
    let volumes = "/api/v1/persistentvolumes";
    let csi = json!({"driver": "d", "volumeHandle": "h", "nodeStageSecretRef": {"namespace": "default", "name": "stage"}});
    let volume = json!({
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "v"},
        "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "csi": csi,
            "claimRef": {"namespace": "default", "name": "c"}},
    });
    cluster.make(volumes, volume).await;
    let claims = "/api/v1/namespaces/default/persistentvolumeclaims";
    let claim = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "c"},
        "spec": {"accessModes": ["ReadWriteOnce"], "volumeName": "v", "resources": {"requests": {"storage": "1Gi"}}},
    });
    cluster.make(claims, claim).await;
    let paths = [format!("{claims}/c"), format!("{volumes}/v"), format!("{SECRETS}/stage")];
    for path in &paths {
        assert_eq!(cluster.code(N1, path).await, 403, "{path}");
    }
    let uses =
        json!({"nodeName": "n1", "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]});
    cluster.make(PODS, pod("p", &uses)).await;
    for path in &paths {
        assert_eq!(cluster.code(N1, path).await, 200, "{path}");
        assert_eq!(cluster.code(N2, path).await, 403, "{path}");
    }
    let status = format!("{claims}/c/status");
    let grown = json!({"status": {"capacity": {"storage": "2Gi"}}});
    assert_eq!(cluster.ask(N1, Method::PATCH, &status, &grown).await.code, 200);
    let labelled =
        cluster.ask(N1, Method::PATCH, &status, &json!({"metadata": {"labels": {"a": "b"}}})).await;
    assert_eq!(labelled.code, 403, "{labelled:?}");
    assert!(
        labelled.body.contains("is not allowed to update fields other than status.quantity"),
        "{labelled:?}"
    );
}

#[tokio::test]
async fn pods_are_seen_by_their_own_node() {
    let cluster = Cluster::start().await;
    for (name, node) in [("mine", "n1"), ("theirs", "n2")] {
        cluster.make(PODS, pod(name, &json!({"nodeName": node}))).await;
    }
    let listed = cluster.as_(N1).get("/api/v1/pods?fieldSelector=spec.nodeName%3Dn1").await;
    assert_eq!(listed.code, 200, "{listed:?}");
    let items = listed.json()["items"].as_array().expect("items").clone();
    assert_eq!(items.len(), 1);
    assert_eq!(items[0]["metadata"]["name"], "mine");
    for selector in ["", "?fieldSelector=spec.nodeName%3Dn2", "?fieldSelector=spec.nodeName!%3Dn1"] {
        let refused = cluster.as_(N1).get(&format!("/api/v1/pods{selector}")).await;
        refused.is_status(
            403,
            "Forbidden",
            "pods is forbidden: User \"system:node:n1\" cannot list resource \"pods\" in API group \"\" at the cluster scope: \
             can only list/watch pods with spec.nodeName field selector",
        );
    }
    assert_eq!(cluster.code(N1, &format!("{PODS}/mine")).await, 200);
    let theirs = cluster.as_(N1).get(&format!("{PODS}/theirs")).await;
    theirs.is_status(403, "Forbidden", &unrelated("pods", "theirs", "get"));

    let running = json!({"status": {"phase": "Running"}});
    assert_eq!(cluster.ask(N1, Method::PATCH, &format!("{PODS}/mine/status"), &running).await.code, 200);
    cluster.ask(N1, Method::PATCH, &format!("{PODS}/theirs/status"), &running).await.is_status(
        403,
        "Forbidden",
        "pods \"theirs\" is forbidden: node \"n1\" can only update pod status for pods with spec.nodeName set to itself",
    );
    let eviction =
        |name: &str| json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}});
    cluster.ask(N1, Method::POST, &format!("{PODS}/theirs/eviction"), &eviction("theirs")).await.is_status(
        403,
        "Forbidden",
        "pods \"theirs\" is forbidden: node n1 can only evict pods with spec.nodeName set to itself",
    );
    let evicted = cluster.ask(N1, Method::POST, &format!("{PODS}/mine/eviction"), &eviction("mine")).await;
    assert_eq!(evicted.code, 201, "{evicted:?}");
    let path = format!("{PODS}/theirs?gracePeriodSeconds=0");
    assert_eq!(cluster.ask(N1, Method::DELETE, &path, &Value::Null).await.code, 403);
}

#[tokio::test]
async fn a_kubelet_registers_reports_and_shows_its_own_pods() {
    let cluster = Cluster::start().await;
    let nodes = "/api/v1/nodes";
    let node = |name: &str, label: &str| json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {label: "x"}}});
    let fine = "kubernetes.io/hostname";
    assert_eq!(cluster.code(N1, &format!("{nodes}/n1")).await, 404, "it may look for itself");
    cluster.ask(N1, Method::POST, nodes, &node("n2", fine)).await.is_status(
        403,
        "Forbidden",
        "nodes \"n2\" is forbidden: node \"n1\" is not allowed to modify node \"n2\"",
    );
    let restricted = "node-restriction.kubernetes.io/a";
    cluster.ask(N1, Method::POST, nodes, &node("n1", restricted)).await.is_status(
        403,
        "Forbidden",
        &format!(
            "nodes \"n1\" is forbidden: node \"n1\" is not allowed to set the following labels: {restricted}"
        ),
    );
    let registered = cluster.ask(N1, Method::POST, nodes, &node("n1", fine)).await;
    assert_eq!(registered.code, 201, "{registered:?}");
    let uid = registered.json()["metadata"]["uid"].clone();
    let ready = json!({"status": {"conditions": [{"type": "Ready", "status": "True"}]}});
    assert_eq!(cluster.ask(N1, Method::PATCH, &format!("{nodes}/n1/status"), &ready).await.code, 200);
    assert_eq!(cluster.ask(N2, Method::PATCH, &format!("{nodes}/n1/status"), &ready).await.code, 403);
    let untainted =
        cluster.ask(N1, Method::PATCH, &format!("{nodes}/n1"), &json!({"spec": {"taints": []}})).await;
    untainted.is_status(
        403,
        "Forbidden",
        "nodes \"n1\" is forbidden: node \"n1\" is not allowed to modify taints",
    );
    assert_eq!(cluster.code(N1, nodes).await, 403);
    assert_eq!(cluster.ask(N1, Method::DELETE, &format!("{nodes}/n1"), &Value::Null).await.code, 403);

    let leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
    let lease = |name: &str| json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name}});
    assert_eq!(cluster.ask(N1, Method::POST, leases, &lease("n1")).await.code, 201);
    assert_eq!(cluster.ask(N1, Method::POST, leases, &lease("n2")).await.code, 403);
    let held = json!({"spec": {"holderIdentity": "n1"}});
    assert_eq!(cluster.ask(N1, Method::PATCH, &format!("{leases}/n1"), &held).await.code, 200);
    assert_eq!(cluster.ask(N2, Method::PATCH, &format!("{leases}/n1"), &held).await.code, 403);

    let mirror = |uid: &Value, spec: Value| {
        let mut pod = pod("static-n1", &spec);
        pod["metadata"]["annotations"] = json!({"kubernetes.io/config.mirror": "x"});
        pod["metadata"]["ownerReferences"] =
            json!([{"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": uid, "controller": true}]);
        pod
    };
    let on_n1 = json!({"nodeName": "n1"});
    cluster.ask(N1, Method::POST, PODS, &pod("plain", &on_n1)).await.is_status(
        403,
        "Forbidden",
        "pods \"plain\" is forbidden: pod does not have \"kubernetes.io/config.mirror\" annotation, node \"n1\" can only \
         create mirror pods",
    );
    let other = cluster.ask(N1, Method::POST, PODS, &mirror(&json!("other"), on_n1.clone())).await;
    assert!(other.code == 403 && other.body.contains("UID mismatch"), "{other:?}");
    let secret = json!({"nodeName": "n1", "volumes": [{"name": "v", "secret": {"secretName": "s"}}]});
    let greedy = cluster.ask(N1, Method::POST, PODS, &mirror(&uid, secret)).await;
    assert!(greedy.body.contains("can not create pods that reference secrets"), "{greedy:?}");
    // CVE-2025-4563.
    let claims = json!({"nodeName": "n1", "resourceClaims": [{"name": "r", "resourceClaimName": "x"}]});
    let greedy = cluster.ask(N1, Method::POST, PODS, &mirror(&uid, claims)).await;
    greedy.is_status(
        403,
        "Forbidden",
        "pods \"static-n1\" is forbidden: node \"n1\" can not create pods that reference resourceclaims",
    );
    let shown = cluster.ask(N1, Method::POST, PODS, &mirror(&uid, on_n1)).await;
    assert_eq!(shown.code, 201, "{shown:?}");
    let path = format!("{PODS}/static-n1?gracePeriodSeconds=0");
    assert_eq!(cluster.ask(N2, Method::DELETE, &path, &Value::Null).await.code, 403);
    assert_eq!(cluster.ask(N1, Method::DELETE, &path, &Value::Null).await.code, 200);
}

#[tokio::test]
async fn a_node_does_not_make_a_pod_static_through_its_status() {
    let cluster = Cluster::start().await;
    let mut live = cluster.make(PODS, pod("p", &json!({"nodeName": "n1"}))).await;
    let refused = "Pod \"p\" is invalid: metadata.annotations[kubernetes.io/config.mirror]: Forbidden: may not add mirror pod annotation";
    let status = format!("{PODS}/p/status");
    let annotated = json!({"metadata": {"annotations": {"kubernetes.io/config.mirror": "x"}}});
    let patched = cluster.ask(N1, Method::PATCH, &status, &annotated).await;
    patched.is_status(422, "Invalid", refused);
    live["status"]["phase"] = json!("Running");
    let running = cluster.ask(N1, Method::PUT, &status, &live).await;
    assert_eq!(running.code, 200, "{running:?}");
    let mut live = running.json();
    live["metadata"]["annotations"] = annotated["metadata"]["annotations"].clone();
    cluster.ask(N1, Method::PUT, &status, &live).await.is_status(422, "Invalid", refused);
    // Other annotations are a kubelet's to write.
    let other = json!({"metadata": {"annotations": {"example.com/seen": "x"}}});
    assert_eq!(cluster.ask(N1, Method::PATCH, &status, &other).await.code, 200);
}

#[tokio::test]
async fn without_the_mode_nodes_have_no_rights_of_their_own() {
    let cluster = Cluster::started(Launch::new().arg("--authorization-mode=RBAC")).await;
    assert_eq!(cluster.code(N1, "/api/v1/nodes/n1").await, 403);
    assert_eq!(cluster.code(N1, "/api/v1/services").await, 403);
    let asked = json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
        "spec": {"user": "system:node:n1", "groups": ["system:nodes"], "resourceAttributes": {"verb": "list", "resource": "services"}},
    });
    let reviews = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
    assert_eq!(cluster.make(reviews, asked.clone()).await["status"]["allowed"], false);
    let cluster = Cluster::start().await;
    assert_eq!(cluster.code(N1, "/api/v1/services").await, 200);
    assert_eq!(cluster.make(reviews, asked).await["status"]["allowed"], true);
}

#[tokio::test]
async fn policies_of_a_file_are_followed() {
    let launch = Launch::new().tokens();
    let file = launch.path("policy.jsonl");
    let allowed = r#"{"apiVersion":"abac.authorization.kubernetes.io/v1beta1","kind":"Policy","spec":{"user":"alice","namespace":"default","resource":"configmaps","readonly":true}}"#;
    std::fs::write(&file, format!("# who may what\n{allowed}\n")).expect("write policies");
    let flag = format!("--authorization-policy-file={}", file.display());
    let server = launch.args(&["--authorization-mode=ABAC", &flag]).start().await;
    server.until_it_has_namespaces().await;
    let alice = server.client().token(crate::support::ALICE);
    assert_eq!(alice.get("/api/v1/namespaces/default/configmaps").await.code, 200);
    alice.get("/api/v1/namespaces/default/secrets").await.is_status(
        403,
        "Forbidden",
        "secrets is forbidden: User \"alice\" cannot list resource \"secrets\" in API group \"\" in the namespace \"default\": \
         No policy matched.",
    );

    let broken = Launch::new();
    let file = broken.path("policy.jsonl");
    std::fs::write(&file, format!("{allowed}\n{{\"user\":1}}\n")).expect("write policies");
    let flag = format!("--authorization-policy-file={}", file.display());
    let said = broken.args(&["--authorization-mode=ABAC", &flag]).fails().await;
    assert!(said.contains("policy.jsonl, line 2: {\"user\":1}: "), "{said}");
}

#[tokio::test]
async fn a_node_keeps_its_slices_of_devices_to_itself() {
    const SLICES: &str = "/apis/resource.k8s.io/v1/resourceslices";
    let cluster = Cluster::start().await;
    let slice = |name: &str, nodes: Value| {
        let mut slice = json!({
            "apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": name},
            "spec": {"driver": "d.example.com", "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1}},
        });
        for (field, value) in nodes.as_object().expect("an object") {
            slice["spec"][field] = value.clone();
        }
        slice
    };
    for nodes in
        [json!({"nodeName": "n2"}), json!({"allNodes": true}), json!({"perDeviceNodeSelection": true})]
    {
        let refused = cluster.ask(N1, Method::POST, SLICES, &slice("a", nodes)).await;
        assert_eq!(refused.code, 403, "{refused:?}");
    }
    let created = cluster.ask(N1, Method::POST, SLICES, &slice("a", json!({"nodeName": "n1"}))).await;
    assert_eq!(created.code, 201, "{created:?}");
    let (own, path) = (created.json(), format!("{SLICES}/a"));
    let updated = cluster.ask(N1, Method::PUT, &path, &own).await;
    assert_eq!(updated.code, 200, "{updated:?}");
    let own = updated.json();

    let invalid = |why: &str| format!("ResourceSlice.resource.k8s.io \"a\" is invalid: {why}");
    let mut moved = own.clone();
    moved["spec"]["nodeName"] = json!("n2");
    let answer = cluster.ask(N1, Method::PUT, &path, &moved).await;
    answer.is_status(422, "Invalid", &invalid("spec.nodeName: Invalid value: \"n2\": field is immutable"));
    let answer =
        cluster.ask(N1, Method::PATCH, &path, &json!({"spec": {"nodeName": null, "allNodes": true}})).await;
    answer.is_status(422, "Invalid", &invalid("spec.nodeName: Invalid value: null: field is immutable"));
    let answer = cluster.ask(N1, Method::PATCH, &path, &json!({"spec": {"allNodes": true}})).await;
    answer.is_status(
        422,
        "Invalid",
        &invalid(
            "spec: Invalid value: \"{`nodeName`, `allNodes`}\": exactly one of `nodeName`, `nodeSelector`, `allNodes`, \
             `perDeviceNodeSelection` is required, but multiple fields are set",
        ),
    );
    // Nor can another node take it.
    assert_eq!(cluster.ask(N2, Method::PUT, &path, &own).await.code, 403);
    let kept = cluster.ask(MASTER, Method::GET, &path, &Value::Null).await.json();
    assert_eq!(kept["spec"]["nodeName"], "n1");
}
