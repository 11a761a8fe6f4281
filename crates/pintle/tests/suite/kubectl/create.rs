//! `kubectl create`, from files and by its generators.

use serde_json::json;

use super::OBJECTS;
use crate::support::kubectl::Kubectl;
use crate::support::shared::{Shared, on_both_stores};

on_both_stores! {
    files_of_several_documents_are_created,
    generators_make_what_they_say,
    cluster_wide_objects_are_made,
    invalid_objects_are_not_created,
    a_dry_run_leaves_nothing,
    names_are_generated,
}

async fn files_of_several_documents_are_created(shared: &Shared) {
    let kubectl = Kubectl::in_namespace(shared, "create-files").await;
    let dir = tempfile::tempdir().expect("a directory");
    std::fs::write(dir.path().join("objects.yaml"), OBJECTS).expect("write");
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "key"}, "stringData": {"a": "b"},
    });
    std::fs::write(dir.path().join("secret.json"), secret.to_string()).expect("write");
    let made = kubectl.ok(&format!("create -f {}", dir.path().display())).await;
    assert_eq!(made, "pod/web created\npod/db created\nconfigmap/settings created\nsecret/key created\n");
    assert_eq!(kubectl.ok("get secret key -o jsonpath={.data.a}").await, "Yg==");
    let list = json!({"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}},
        {"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": {"name": "two"}, "revision": 1},
    ]});
    let made = kubectl.feed("create -f - -o name", &list.to_string()).await;
    assert_eq!(made, "configmap/one\ncontrollerrevision.apps/two\n");
}

async fn generators_make_what_they_say(shared: &Shared) {
    let kubectl = Kubectl::in_namespace(shared, "create-generators").await;
    for (words, object, path, expect) in [
        ("configmap cm --from-literal=a=b", "cm/cm", "{.data.a}", "b"),
        ("secret generic sec --from-literal=a=b", "secret/sec", "{.type} {.data.a}", "Opaque Yg=="),
        (
            "secret docker-registry reg --docker-username=u --docker-password=p",
            "secret/reg",
            "{.type}",
            "kubernetes.io/dockerconfigjson",
        ),
        ("serviceaccount robot", "sa/robot", "{.metadata.name}", "robot"),
        (
            "deployment dep --image=nginx --replicas=3",
            "deploy/dep",
            "{.spec.replicas} {.spec.strategy.rollingUpdate.maxSurge} {.metadata.generation}",
            "3 25% 1",
        ),
        (
            "service clusterip svc --tcp=80:8080",
            "svc/svc",
            "{.spec.type} {.spec.ports[0].targetPort}",
            "ClusterIP 8080",
        ),
        (
            "service externalname ext --external-name=example.org",
            "svc/ext",
            "{.spec.externalName}",
            "example.org",
        ),
        (
            "role reader --verb=get,list --resource=pods,deployments.apps",
            "role/reader",
            "{.rules[*].apiGroups[0]}",
            " apps",
        ),
        (
            "rolebinding readers --role=reader --serviceaccount=create-generators:robot",
            "rolebinding/readers",
            "{.subjects[0].name} {.roleRef.apiGroup}",
            "robot rbac.authorization.k8s.io",
        ),
        (
            "job once --image=busybox -- echo hello",
            "job/once",
            "{.spec.backoffLimit} {.spec.completionMode}",
            "6 NonIndexed",
        ),
        (
            "cronjob often --image=busybox --schedule=@hourly -- true",
            "cronjob/often",
            "{.spec.schedule} {.spec.concurrencyPolicy}",
            "@hourly Allow",
        ),
        ("job now --from=cronjob/often", "job/now", "{.metadata.ownerReferences[0].name}", "often"),
        ("quota few --hard=pods=5,cpu=2", "quota/few", "{.spec.hard.pods} {.spec.hard.cpu}", "5 2"),
        (
            "ingress way --rule=example.org/x=svc:80",
            "ingress/way",
            "{.spec.rules[0].http.paths[0].backend.service.name}",
            "svc",
        ),
        ("pdb some --selector=app=web --min-available=1", "pdb/some", "{.spec.minAvailable}", "1"),
    ] {
        kubectl.ok(&format!("create {words}")).await;
        let args = ["get", object, "-o", &format!("jsonpath={path}")];
        assert_eq!(kubectl.run(&args, "").await.succeeded(words), expect, "{words}");
    }
    assert_eq!(kubectl.ok("run single --image=nginx --labels=a=b").await, "pod/single created\n");
    assert_eq!(kubectl.ok("expose deployment dep --port=80").await, "service/dep exposed\n");
    assert_eq!(kubectl.ok("get svc dep -o jsonpath={.spec.selector.app}").await, "dep");
    assert_eq!(
        kubectl.ok("autoscale deployment dep --max=5 --min=2").await,
        "horizontalpodautoscaler.autoscaling/dep autoscaled\n"
    );
    assert_eq!(kubectl.ok("get hpa dep -o jsonpath={.spec.minReplicas}").await, "2");
}

async fn cluster_wide_objects_are_made(shared: &Shared) {
    let kubectl = Kubectl::of(&shared.server);
    for words in [
        "namespace create-cluster-wide",
        "clusterrole create-reader --verb=get --resource=nodes",
        "clusterrolebinding create-readers --clusterrole=create-reader --user=alice",
        "priorityclass create-urgent --value=1000",
    ] {
        assert!(kubectl.ok(&format!("create {words}")).await.ends_with(" created\n"));
    }
    let labels = kubectl.json("get namespace create-cluster-wide").await["metadata"]["labels"].clone();
    assert_eq!(labels, json!({"kubernetes.io/metadata.name": "create-cluster-wide"}));
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "create-node"}});
    assert_eq!(kubectl.feed("create -f -", &node.to_string()).await, "node/create-node created\n");
    let row = kubectl.ok("get node create-node --no-headers").await;
    assert!(row.split_whitespace().take(3).eq(["create-node", "Unknown", "<none>"]), "{row}");
    kubectl.ok("delete node/create-node clusterrole/create-reader clusterrolebinding/create-readers").await;
    kubectl.ok("delete priorityclass create-urgent").await;
}

async fn invalid_objects_are_not_created(shared: &Shared) {
    let kubectl = Kubectl::in_namespace(shared, "create-refused").await;
    kubectl.ok("create configmap there").await;
    let complaint = kubectl.fails("create configmap there").await;
    assert!(complaint.contains("configmaps \"there\" already exists"), "{complaint}");
    let complaint = kubectl.fails("create configmap Bad_Name").await;
    assert!(
        complaint.contains("ConfigMap \"Bad_Name\" is invalid: metadata.name: Invalid value"),
        "{complaint}"
    );
    let complaint = kubectl.fails("create configmap a --namespace=create-nowhere").await;
    assert!(complaint.contains("namespaces \"create-nowhere\" not found"), "{complaint}");
    for (object, expect) in [
        (
            r#"{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "dta": {}}"#,
            "unknown field \"dta\"",
        ),
        (
            r#"{"apiVersion": "v1", "kind": "Nonsense", "metadata": {"name": "a"}}"#,
            "no matches for kind \"Nonsense\" in version \"v1\"",
        ),
        (
            r#"{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "elsewhere"}}"#,
            "the namespace from the provided object \"elsewhere\" does not match the namespace \"create-refused\"",
        ),
    ] {
        let output = kubectl.run(&["create", "-f", "-"], object).await;
        let complaint = output.failed(object);
        assert!(complaint.contains(expect), "{object}: {complaint}");
    }
    // The server validates the fields that the client does not.
    let unknown = r#"{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "warned"}, "dta": {}}"#;
    let warned = kubectl.run(&["create", "--validate=warn", "-f", "-"], unknown).await;
    assert!(warned.stderr.contains("Warning: unknown field \"dta\""), "{warned:?}");
    let ignored = unknown.replace("warned", "ignored");
    let ignored = kubectl.run(&["create", "--validate=ignore", "-f", "-"], &ignored).await;
    assert_eq!((ignored.code, ignored.stderr.as_str()), (Some(0), ""));
}

async fn a_dry_run_leaves_nothing(shared: &Shared) {
    let kubectl = Kubectl::in_namespace(shared, "create-dry").await;
    let made = kubectl.json("create configmap dry --dry-run=server").await;
    assert_eq!(made["metadata"]["namespace"], "create-dry");
    assert!(
        made["metadata"]["uid"].is_string() && made["metadata"]["creationTimestamp"].is_string(),
        "{made}"
    );
    assert!(made["metadata"]["resourceVersion"].is_null(), "{made}");
    assert!(kubectl.fails("get configmap dry").await.contains("not found"));
    kubectl.ok("create configmap wet").await;
    assert!(kubectl.ok("delete configmap wet --dry-run=server").await.contains("(server dry run)"));
    kubectl.ok("get configmap wet").await;
    let complaint = kubectl.fails("create configmap wet --dry-run=server").await;
    assert!(complaint.contains("already exists"), "{complaint}");
}

async fn names_are_generated(shared: &Shared) {
    let kubectl = Kubectl::in_namespace(shared, "create-names").await;
    let object = r#"{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "some-"}}"#;
    for _ in 0..2 {
        kubectl.feed("create -f -", object).await;
    }
    let names = kubectl.ok("get configmaps -o name").await;
    assert_eq!(names.lines().filter(|name| name.starts_with("configmap/some-")).count(), 2, "{names}");
}
