//! `kubectl apply` and `kubectl diff` where the client does the merging: three-way, with the last configuration in an
//! annotation, and a strategic merge patch as the outcome.

use serde_json::{Value, json};

use crate::support::kubectl::Kubectl;
use crate::support::shared::{Shared, on_both_stores};

on_both_stores! {
    applying_creates_changes_and_removes,
    fields_of_other_managers_stay,
    lists_and_maps_are_merged,
    a_diff_shows_what_would_change,
    objects_no_longer_applied_are_pruned,
    an_object_that_was_created_can_be_applied,
}

const DEPLOYMENT: &str = r#"
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  labels: {app: web}
  annotations: {note: first}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 2}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 5
      containers:
      - name: server
        image: nginx:1
        args: [a, b]
        env: [{name: A, value: "1"}, {name: B, value: "2"}]
        ports: [{containerPort: 80}]
      - {name: side, image: exporter}
      volumes:
      - {name: data, emptyDir: {}}
"#;

async fn applying_creates_changes_and_removes(shared: &Shared) {
    let kubectl = Kubectl::in_namespace(shared, "apply-life").await;
    assert_eq!(kubectl.feed("apply -f -", DEPLOYMENT).await, "deployment.apps/web created\n");
    assert_eq!(kubectl.feed("apply -f -", DEPLOYMENT).await, "deployment.apps/web unchanged\n");
    let changed = DEPLOYMENT
        .replace("replicas: 2", "replicas: 3")
        .replace("nginx:1", "nginx:2")
        .replace("      terminationGracePeriodSeconds: 5\n", "")
        .replace("annotations: {note: first}", "annotations: {other: second}")
        .replace("{type: RollingUpdate, rollingUpdate: {maxSurge: 2}}", "{type: Recreate}")
        .replace("emptyDir: {}", "hostPath: {path: /data}");
    assert_eq!(kubectl.feed("apply -f -", &changed).await, "deployment.apps/web configured\n");
    let web = kubectl.json("get deployment web").await;
    let pod = &web["spec"]["template"]["spec"];
    assert_eq!((&web["spec"]["replicas"], &pod["containers"][0]["image"]), (&3.into(), &"nginx:2".into()));
    assert_eq!(pod["terminationGracePeriodSeconds"], 30, "back to the default");
    assert_eq!(web["metadata"]["annotations"]["note"], Value::Null);
    assert_eq!(web["metadata"]["annotations"]["other"], "second");
    assert_eq!(web["spec"]["strategy"], json!({"type": "Recreate"}), "the keys of another strategy go");
    assert_eq!(pod["volumes"], json!([{"name": "data", "hostPath": {"path": "/data", "type": ""}}]));
    assert_eq!(kubectl.feed("apply -f -", &changed).await, "deployment.apps/web unchanged\n");
    assert_eq!(kubectl.feed("delete -f -", &changed).await, "deployment.apps \"web\" deleted\n");
}

async fn fields_of_other_managers_stay(shared: &Shared) {
    let kubectl = Kubectl::in_namespace(shared, "apply-others").await;
    kubectl.feed("apply -f -", &DEPLOYMENT.replace("  replicas: 2\n", "")).await;
    kubectl.ok("scale deployment web --replicas=7").await;
    kubectl.ok("label deployment web team=a").await;
    kubectl.ok("set env deployment/web -c server C=3").await;
    let changed = DEPLOYMENT.replace("  replicas: 2\n", "").replace("nginx:1", "nginx:2");
    kubectl.feed("apply -f -", &changed).await;
    let web = kubectl.json("get deployment web").await;
    assert_eq!((&web["spec"]["replicas"], &web["metadata"]["labels"]["team"]), (&7.into(), &"a".into()));
    let server = &web["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(server["image"], "nginx:2");
    let env: Vec<&str> = server["env"]
        .as_array()
        .expect("variables")
        .iter()
        .filter_map(|item| item["name"].as_str())
        .collect();
    assert_eq!(env, ["A", "B", "C"]);
}

async fn lists_and_maps_are_merged(shared: &Shared) {
    let kubectl = Kubectl::in_namespace(shared, "apply-lists").await;
    kubectl.feed("apply -f -", DEPLOYMENT).await;
    // Another order, one container less and one more, plain values replaced.
    let changed = DEPLOYMENT
        .replace("      - {name: side, image: exporter}\n", "")
        .replace("      containers:\n", "      containers:\n      - {name: new, image: x}\n")
        .replace("args: [a, b]", "args: [b]")
        .replace(
            r#"{name: A, value: "1"}, {name: B, value: "2"}"#,
            r#"{name: B, value: "3"}, {name: Z, value: "4"}"#,
        )
        .replace(
            "ports: [{containerPort: 80}]",
            "ports: [{containerPort: 443}, {containerPort: 80, protocol: UDP}]",
        );
    kubectl.feed("apply -f -", &changed).await;
    let web = kubectl.json("get deployment web").await;
    let containers = web["spec"]["template"]["spec"]["containers"].as_array().expect("containers").clone();
    let names: Vec<&str> = containers.iter().filter_map(|item| item["name"].as_str()).collect();
    assert_eq!(names, ["new", "server"]);
    assert_eq!(containers[1]["args"], json!(["b"]));
    assert_eq!(containers[1]["env"], json!([{"name": "B", "value": "3"}, {"name": "Z", "value": "4"}]));
    let ports: Vec<(&Value, &Value)> = containers[1]["ports"]
        .as_array()
        .expect("ports")
        .iter()
        .map(|port| (&port["containerPort"], &port["protocol"]))
        .collect();
    assert_eq!(ports, [(&json!(443), &json!("TCP")), (&json!(80), &json!("UDP"))]);
}

async fn a_diff_shows_what_would_change(shared: &Shared) {
    let kubectl = Kubectl::in_namespace(shared, "apply-diff").await;
    kubectl.feed("apply -f -", DEPLOYMENT).await;
    let same = kubectl.run(&["diff", "-f", "-"], DEPLOYMENT).await;
    assert_eq!((same.code, same.stdout.as_str()), (Some(0), ""), "{same:?}");
    let changed = DEPLOYMENT.replace("nginx:1", "nginx:2").replace("replicas: 2", "replicas: 5");
    let different = kubectl.run(&["diff", "-f", "-"], &changed).await;
    assert_eq!(different.code, Some(1), "{different:?}");
    for line in ["-  replicas: 2", "+  replicas: 5", "-        image: nginx:1", "+        image: nginx:2"] {
        assert!(different.stdout.lines().any(|found| found == line), "{line}: {}", different.stdout);
    }
    assert_eq!(
        kubectl.ok("get deployment web -o jsonpath={.spec.replicas}").await,
        "2",
        "nothing was written"
    );
    let new = DEPLOYMENT.replace("name: web", "name: other");
    let different = kubectl.run(&["diff", "-f", "-"], &new).await;
    assert_eq!(different.code, Some(1), "{different:?}");
    assert!(different.stdout.lines().any(|found| found == "+  name: other"), "{}", different.stdout);
}

async fn objects_no_longer_applied_are_pruned(shared: &Shared) {
    let kubectl = Kubectl::in_namespace(shared, "apply-prune").await;
    let maps = |names: &[&str]| -> String {
        let map = |name: &&str| {
            format!(
                "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, labels: {{set: a}}}}\ndata: {{k: v}}\n"
            )
        };
        names.iter().map(map).collect::<Vec<_>>().join("---\n")
    };
    kubectl.feed("apply -f -", &maps(&["one", "two"])).await;
    let prune = "apply --prune -l set=a --prune-allowlist=core/v1/ConfigMap -f -";
    let done = kubectl.feed(prune, &maps(&["one", "three"])).await;
    assert_eq!(done, "configmap/one unchanged\nconfigmap/three created\nconfigmap/two pruned\n");
}

async fn an_object_that_was_created_can_be_applied(shared: &Shared) {
    let kubectl = Kubectl::in_namespace(shared, "apply-created").await;
    kubectl.feed("create -f -", DEPLOYMENT).await;
    let changed = DEPLOYMENT.replace("replicas: 2", "replicas: 1").replace("  labels: {app: web}\n", "");
    let output = kubectl.run(&["apply", "-f", "-"], &changed).await;
    assert!(
        output.stderr.contains("is missing the kubectl.kubernetes.io/last-applied-configuration annotation")
    );
    assert_eq!(output.succeeded("apply"), "deployment.apps/web configured\n");
    let web = kubectl.json("get deployment web").await;
    assert_eq!(web["spec"]["replicas"], 1);
    assert_eq!(web["metadata"]["labels"]["app"], "web", "nobody knows that it was applied");
    kubectl.ok("apply view-last-applied deployment web").await;
    kubectl.feed("apply set-last-applied -f -", DEPLOYMENT).await;
    kubectl.feed("apply -f -", &changed).await;
    assert_eq!(kubectl.json("get deployment web").await["metadata"]["labels"], Value::Null);
}
