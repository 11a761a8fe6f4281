//! Evictions: `kubectl drain`, and what it sends.

use serde_json::{Value, json};

use crate::support::kubectl::Kubectl;
use crate::support::shared::{Shared, on_both_stores};

on_both_stores! {
    a_node_is_drained_as_far_as_budgets_allow,
    an_eviction_is_a_status,
}

/// A pod of a node that is ready, and its budget with as many disruptions as it says.
async fn guarded(kubectl: &Kubectl, node: &str, allowed: u32) {
    let objects = format!(
        r#"
apiVersion: v1
kind: Pod
metadata: {{name: web, labels: {{app: web}}}}
spec:
  nodeName: {node}
  containers: [{{name: c, image: i}}]
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {{name: enough}}
spec:
  minAvailable: 1
  selector: {{matchLabels: {{app: web}}}}
"#
    );
    kubectl.feed("create -f -", &objects).await;
    let ready = r#"{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}"#;
    kubectl.ok(&format!("patch pod web --subresource=status --type=merge -p {ready}")).await;
    allow(kubectl, allowed).await;
}

async fn allow(kubectl: &Kubectl, allowed: u32) {
    let status = json!({"status": {
        "disruptionsAllowed": allowed, "currentHealthy": 1 + allowed, "desiredHealthy": 1, "expectedPods": 1,
        "observedGeneration": 1,
    }});
    kubectl.ok(&format!("patch pdb enough --subresource=status --type=merge -p {status}")).await;
}

async fn a_node_is_drained_as_far_as_budgets_allow(shared: &Shared) {
    let kubectl = Kubectl::in_namespace(shared, "evict-drain").await;
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "drained"}, "spec": {"unschedulable": true}});
    kubectl.feed("create -f -", &node.to_string()).await;
    guarded(&kubectl, "drained", 0).await;
    let drain = "drain drained --force --grace-period=0 --timeout=2s";
    let complaint = kubectl.fails(drain).await;
    assert!(
        complaint.contains("Cannot evict pod as it would violate the pod's disruption budget."),
        "{complaint}"
    );
    assert_eq!(kubectl.ok("get pods -o name").await, "pod/web\n");
    allow(&kubectl, 1).await;
    let told = kubectl.ok("drain drained --force --grace-period=0 --timeout=20s").await;
    assert!(told.contains("pod/web evicted\n") && told.contains("node/drained drained\n"), "{told}");
    assert_eq!(kubectl.ok("get pods -o name").await, "");
    let budget = kubectl.json("get pdb enough").await;
    assert_eq!(budget["status"]["disruptionsAllowed"], 0);
    assert!(budget["status"]["disruptedPods"]["web"].is_string(), "{budget}");
}

async fn an_eviction_is_a_status(shared: &Shared) {
    let kubectl = Kubectl::in_namespace(shared, "evict-raw").await;
    guarded(&kubectl, "somewhere", 1).await;
    let evict = async |name: &str, body: Value| {
        let path = format!("create --raw /api/v1/namespaces/evict-raw/pods/{name}/eviction -f -");
        let args: Vec<&str> = path.split_whitespace().collect();
        kubectl.run(&args, &body.to_string()).await
    };
    let eviction =
        |version: &str| json!({"apiVersion": version, "kind": "Eviction", "metadata": {"name": "web"}});
    let refused = evict("other", eviction("policy/v1")).await.failed("evict");
    assert!(refused.contains("name in URL does not match name in Eviction object"), "{refused}");
    let refused = evict("web", eviction("v1")).await.failed("evict");
    assert!(refused.contains("no kind \"Eviction\" is registered for version \"v1\""), "{refused}");
    // The older version is taken still.
    let done = evict("web", eviction("policy/v1beta1")).await.succeeded("evict");
    let done: Value = serde_json::from_str(&done).expect("a status");
    assert_eq!(
        done,
        json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201})
    );
    let pod = kubectl.json("get pod web").await;
    assert!(pod["metadata"]["deletionTimestamp"].is_string(), "{pod}");
    let conditions = pod["status"]["conditions"].as_array().expect("conditions");
    assert_eq!(conditions.last().expect("one")["reason"], "EvictionByEvictionAPI", "{pod}");
    let budget = kubectl.json("get pdb enough --show-managed-fields").await;
    let managers = budget["metadata"]["managedFields"].as_array().expect("managers");
    let own = managers.iter().find(|entry| entry["manager"] == "kube-apiserver").expect("the server's");
    assert_eq!(own["subresource"], "status");
    assert_eq!(own["fieldsV1"]["f:status"]["f:disruptionsAllowed"], json!({}), "{own}");
}
