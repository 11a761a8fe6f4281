//! `kubectl apply --server-side` and what belongs to it.

use http::Method;
use serde_json::Value;

use crate::support::kubectl::{Kubectl, Output};
use crate::support::shared::{Shared, on_both_stores};

on_both_stores! {
    objects_are_created_changed_and_left_alone,
    fields_no_longer_applied_are_removed,
    a_conflict_is_told_and_forced,
    managers_share_what_they_agree_on,
    a_dry_run_changes_nothing,
    differences_are_shown_before,
    client_side_apply_migrates_to_server_side,
    status_and_scale_are_applied_apart,
    mistakes_are_told,
    lists_are_merged_by_their_keys,
}

const WEB: &str = r#"
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  labels: {app: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: server
        image: nginx:1.29
        ports: [{containerPort: 80}]
        env: [{name: MODE, value: fast}]
"#;

fn settings(data: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: settings}}\ndata: {{{data}}}\n")
}

/// `manager operation subresource fields` of an object's managers, one to a line.
async fn managers(kubectl: &Kubectl, object: &str) -> Vec<String> {
    let object = kubectl.json(&format!("get {object} --show-managed-fields")).await;
    let entries = object["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
    let line = |entry: &Value| {
        let words = ["manager", "operation", "subresource"].map(|name| entry[name].as_str().unwrap_or("-"));
        format!("{} {}", words.join(" "), entry["fieldsV1"])
    };
    entries.iter().map(line).collect()
}

async fn run(kubectl: &Kubectl, words: &str, input: &str) -> Output {
    let args: Vec<&str> = words.split_whitespace().collect();
    kubectl.run(&args, input).await
}

async fn objects_are_created_changed_and_left_alone(shared: &Shared) {
    let kubectl = Kubectl::in_namespace(shared, "ssa-plain").await;
    let apply = "apply --server-side -f -";
    assert_eq!(kubectl.feed(apply, WEB).await, "deployment.apps/web serverside-applied\n");
    let created = kubectl.json("get deployment web --show-managed-fields").await;
    assert_eq!(created["spec"]["progressDeadlineSeconds"], 600, "defaults are there, and nobody's");
    assert_eq!(
        managers(&kubectl, "deployment web").await,
        [concat!(
            r#"kubectl Apply - {"f:metadata":{"f:labels":{"f:app":{}}},"f:spec":{"f:replicas":{},"f:selector":{},"#,
            r#""f:template":{"f:metadata":{"f:labels":{"f:app":{}}},"f:spec":{"f:containers":{"#,
            r#""k:{\"name\":\"server\"}":{".":{},"f:env":{"k:{\"name\":\"MODE\"}":{".":{},"f:name":{},"f:value":{}}},"#,
            r#""f:image":{},"f:name":{},"f:ports":{"k:{\"containerPort\":80,\"protocol\":\"TCP\"}":{".":{},"#,
            r#""f:containerPort":{}}}}}}}}}"#,
        )]
    );
    kubectl.feed(apply, WEB).await;
    assert_eq!(
        kubectl.json("get deployment web --show-managed-fields").await,
        created,
        "nothing was written"
    );
    kubectl.feed(apply, &WEB.replace("1.29", "1.30")).await;
    let changed = kubectl.json("get deployment web").await;
    assert_eq!(changed["spec"]["template"]["spec"]["containers"][0]["image"], "nginx:1.30");
    assert_eq!(
        (&changed["metadata"]["generation"], &changed["metadata"]["uid"]),
        (&2.into(), &created["metadata"]["uid"])
    );
}

async fn fields_no_longer_applied_are_removed(shared: &Shared) {
    let kubectl = Kubectl::in_namespace(shared, "ssa-remove").await;
    let apply = "apply --server-side -f -";
    kubectl.feed(apply, WEB).await;
    kubectl.ok("annotate deployment web note=mine").await;
    kubectl
        .feed(
            apply,
            &WEB.replace("  labels: {app: web}\n", "")
                .replace("  replicas: 2\n", "")
                .replace("        env: [{name: MODE, value: fast}]\n", ""),
        )
        .await;
    let web = kubectl.json("get deployment web").await;
    assert_eq!(web["metadata"]["labels"], Value::Null);
    assert_eq!(web["spec"]["replicas"], 1, "the default");
    assert_eq!(web["spec"]["template"]["spec"]["containers"][0]["env"], Value::Null);
    assert_eq!(web["metadata"]["annotations"]["note"], "mine", "what others set stays");
}

async fn a_conflict_is_told_and_forced(shared: &Shared) {
    let kubectl = Kubectl::in_namespace(shared, "ssa-conflict").await;
    kubectl.feed("apply --server-side --field-manager=one -f -", &settings("a: '1', b: '1'")).await;
    let other = settings("a: '2', b: '1', c: '1'");
    let refused = run(&kubectl, "apply --server-side --field-manager=two -f -", &other).await;
    let complaint = refused.failed("apply");
    assert!(
        complaint.contains("Apply failed with 1 conflict: conflict with \"one\": .data.a"),
        "{complaint}"
    );
    assert_eq!(kubectl.ok("get cm settings -o jsonpath={.data}").await, r#"{"a":"1","b":"1"}"#);
    kubectl.feed("apply --server-side --field-manager=two --force-conflicts -f -", &other).await;
    assert_eq!(kubectl.ok("get cm settings -o jsonpath={.data}").await, r#"{"a":"2","b":"1","c":"1"}"#);
    assert_eq!(
        managers(&kubectl, "configmap settings").await,
        [r#"one Apply - {"f:data":{"f:b":{}}}"#, r#"two Apply - {"f:data":{"f:a":{},"f:b":{},"f:c":{}}}"#]
    );
    // An update is not asked, and a later apply is told of it.
    kubectl
        .ok("patch configmap settings --type=merge -p {\"data\":{\"c\":\"9\"}} --field-manager=editor")
        .await;
    let complaint =
        run(&kubectl, "apply --server-side --field-manager=two -f -", &other).await.failed("apply");
    assert!(complaint.contains("conflict with \"editor\" using v1: .data.c"), "{complaint}");
}

async fn managers_share_what_they_agree_on(shared: &Shared) {
    let kubectl = Kubectl::in_namespace(shared, "ssa-two").await;
    kubectl.feed("apply --server-side --field-manager=one -f -", &settings("a: '1', b: '1'")).await;
    kubectl.feed("apply --server-side --field-manager=two -f -", &settings("b: '1', c: '1'")).await;
    kubectl.feed("apply --server-side --field-manager=one -f -", &settings("a: '1'")).await;
    assert_eq!(kubectl.ok("get cm settings -o jsonpath={.data}").await, r#"{"a":"1","b":"1","c":"1"}"#);
    kubectl.feed("apply --server-side --field-manager=two -f -", &settings("")).await;
    assert_eq!(kubectl.ok("get cm settings -o jsonpath={.data}").await, r#"{"a":"1"}"#);
}

async fn a_dry_run_changes_nothing(shared: &Shared) {
    let kubectl = Kubectl::in_namespace(shared, "ssa-dry").await;
    let dry = "apply --server-side --dry-run=server -f -";
    let shown = kubectl.feed(dry, WEB).await;
    assert_eq!(shown, "deployment.apps/web serverside-applied (server dry run)\n");
    assert!(kubectl.fails("get deployment web").await.contains("not found"));
    kubectl.feed("apply --server-side -f -", WEB).await;
    let before = kubectl.json("get deployment web --show-managed-fields").await;
    let shown = kubectl
        .feed(&format!("{dry} -o jsonpath={{.spec.replicas}}"), &WEB.replace("replicas: 2", "replicas: 7"))
        .await;
    assert_eq!(shown, "7");
    assert_eq!(kubectl.json("get deployment web --show-managed-fields").await, before);
}

async fn differences_are_shown_before(shared: &Shared) {
    let kubectl = Kubectl::in_namespace(shared, "ssa-diff").await;
    kubectl.feed("apply --server-side -f -", WEB).await;
    let same = run(&kubectl, "diff --server-side -f -", WEB).await;
    assert_eq!((same.code, same.stdout.as_str()), (Some(0), ""), "{same:?}");
    let other = run(&kubectl, "diff --server-side -f -", &WEB.replace("replicas: 2", "replicas: 7")).await;
    assert_eq!(other.code, Some(1), "{other:?}");
    assert!(other.stdout.contains("-  replicas: 2\n+  replicas: 7\n"), "{}", other.stdout);
    assert_eq!(kubectl.ok("get deployment web -o jsonpath={.spec.replicas}").await, "2");
}

async fn client_side_apply_migrates_to_server_side(shared: &Shared) {
    let kubectl = Kubectl::in_namespace(shared, "ssa-migrate").await;
    kubectl.feed("apply -f -", &settings("a: '1', b: '1'")).await;
    assert!(
        managers(&kubectl, "configmap settings").await[0].starts_with("kubectl-client-side-apply Update - ")
    );
    kubectl.feed("apply --server-side -f -", &settings("a: '2', b: '1'")).await;
    let mut found = managers(&kubectl, "configmap settings").await;
    found.sort();
    let last = "kubectl.kubernetes.io/last-applied-configuration";
    // kubectl gives the fields of its older manager to the new one, and keeps the annotation as it is applied.
    assert_eq!(
        found,
        [
            r#"kubectl Apply - {"f:data":{"f:a":{},"f:b":{}}}"#.to_owned(),
            format!(
                r#"kubectl-last-applied Apply - {{"f:metadata":{{"f:annotations":{{"f:{last}":{{}}}}}}}}"#
            )
        ]
    );
    let object = kubectl.json("get configmap settings").await;
    let annotation = object["metadata"]["annotations"][last].as_str().expect("the annotation");
    assert!(annotation.contains(r#""data":{"a":"2","b":"1"}"#), "{annotation}");
    kubectl.feed("apply --server-side -f -", &settings("b: '1'")).await;
    assert_eq!(kubectl.ok("get cm settings -o jsonpath={.data}").await, r#"{"b":"1"}"#);
    // And back.
    kubectl.feed("apply -f -", &settings("b: '3'")).await;
    assert_eq!(kubectl.ok("get cm settings -o jsonpath={.data}").await, r#"{"b":"3"}"#);
}

async fn status_and_scale_are_applied_apart(shared: &Shared) {
    let kubectl = Kubectl::in_namespace(shared, "ssa-status").await;
    kubectl.feed("apply --server-side -f -", WEB).await;
    let status = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 9}\nstatus: {replicas: 2, readyReplicas: 1}\n";
    if Kubectl::minor() >= 31 {
        kubectl
            .feed("apply --server-side --subresource=status --field-manager=controller -f -", status)
            .await;
        let web = kubectl.json("get deployment web").await;
        assert_eq!((&web["status"]["readyReplicas"], &web["spec"]["replicas"]), (&1.into(), &2.into()));
        assert!(managers(&kubectl, "deployment web").await.contains(
            &r#"controller Apply status {"f:status":{"f:readyReplicas":{},"f:replicas":{}}}"#.to_owned()
        ));
    }
    let admin = shared.server.admin();
    let path = "/apis/apps/v1/namespaces/ssa-status/deployments/web/scale?fieldManager=scaler";
    let scale =
        r#"{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"web"},"spec":{"replicas":4}}"#;
    let apply = "application/apply-patch+yaml";
    let refused = admin.request(Method::PATCH, path, &[("content-type", apply)], scale).await;
    assert_eq!(refused.code, 409, "{}", refused.body);
    assert!(refused.body.contains(r#"conflict with \"kubectl\": .spec.replicas"#), "{}", refused.body);
    let scaled =
        admin.request(Method::PATCH, &format!("{path}&force=true"), &[("content-type", apply)], scale).await;
    assert_eq!(scaled.code, 200, "{}", scaled.body);
    assert_eq!(kubectl.ok("get deployment web -o jsonpath={.spec.replicas}").await, "4");
    let found = managers(&kubectl, "deployment web").await;
    assert!(found.contains(&r#"scaler Apply scale {"f:spec":{"f:replicas":{}}}"#.to_owned()), "{found:?}");
    assert!(
        !found.iter().any(|line| line.starts_with("kubectl ") && line.contains("f:replicas")),
        "{found:?}"
    );
}

async fn mistakes_are_told(shared: &Shared) {
    let kubectl = Kubectl::in_namespace(shared, "ssa-mistakes").await;
    let refused = async |input: &str, words: &str| {
        run(&kubectl, &format!("apply --server-side --validate=ignore {words} -f -"), input)
            .await
            .failed("apply")
    };
    let complaint = refused(&settings("a: 5"), "").await;
    assert!(
        complaint.contains(".data.a: expected string, got &value.valueUnstructured{Value:5}"),
        "{complaint}"
    );
    let complaint = refused(&format!("{}zzz: 1\n", settings("a: '5'")), "").await;
    assert!(complaint.contains(".zzz: field not declared in schema"), "{complaint}");
    let twice =
        settings("a: '5'").replace("{name: settings}", "{name: settings, finalizers: [x.y/z, x.y/z]}");
    let complaint = refused(&twice, "").await;
    assert!(complaint.contains("duplicate entries for key [=\"x.y/z\"]"), "{complaint}");
    let complaint = refused(&settings("a: '5'"), "--field-manager=bad\u{7}name").await;
    assert!(complaint.contains("invalid character U+0007"), "{complaint}");
}

async fn lists_are_merged_by_their_keys(shared: &Shared) {
    let kubectl = Kubectl::in_namespace(shared, "ssa-lists").await;
    kubectl.feed("apply --server-side --field-manager=one -f -", WEB).await;
    let sidecar = WEB
        .replace("  replicas: 2\n", "")
        .replace("name: server", "name: sidecar")
        .replace("containerPort: 80", "containerPort: 81");
    kubectl.feed("apply --server-side --field-manager=two -f -", &sidecar).await;
    let names = "get deployment web -o jsonpath={.spec.template.spec.containers[*].name}";
    assert_eq!(kubectl.ok(names).await, "server sidecar");
    let service = |ports: &str| {
        format!("apiVersion: v1\nkind: Service\nmetadata: {{name: web}}\nspec: {{ports: [{ports}]}}\n")
    };
    kubectl.feed("apply --server-side --field-manager=one -f -", &service("{name: a, port: 53}")).await;
    let udp = service("{name: b, port: 53, protocol: UDP}");
    kubectl.feed("apply --server-side --field-manager=two -f -", &udp).await;
    let ports = "get service web -o jsonpath={.spec.ports[*].protocol}";
    assert_eq!(kubectl.ok(ports).await, "TCP UDP");
    kubectl.feed("apply --server-side --field-manager=one -f -", &service("{name: a, port: 54}")).await;
    assert_eq!(kubectl.ok("get service web -o jsonpath={.spec.ports[*].port}").await, "53 54");
}
