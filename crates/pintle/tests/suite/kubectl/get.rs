//! `kubectl get` in all its forms.

use serde_json::Value;

use super::OBJECTS;
use crate::support::kubectl::{Kubectl, columns, rows};
use crate::support::shared::{Shared, on_both_stores};

on_both_stores! {
    tables_have_the_columns_of_their_kind,
    objects_come_in_every_format,
    selectors_choose,
    lists_are_sorted_and_paged,
    raw_paths_are_passed_on,
    missing_objects_are_named,
}

async fn tables_have_the_columns_of_their_kind(shared: &Shared) {
    let kubectl = Kubectl::in_namespace(shared, "get-tables").await;
    kubectl.feed("create -f -", OBJECTS).await;
    let table = rows(&kubectl.ok("get pods").await);
    assert_eq!(table[0], "NAME READY STATUS RESTARTS AGE");
    assert!(table[1].starts_with("db 0/2 Pending 0 "), "{table:?}");
    assert!(table[2].starts_with("web 0/1 Pending 0 "), "{table:?}");
    assert_eq!(table.len(), 3);

    let wide = rows(&kubectl.ok("get pods -o wide").await);
    assert_eq!(wide[0], "NAME READY STATUS RESTARTS AGE IP NODE NOMINATED NODE READINESS GATES");
    assert!(wide[1].ends_with(" <none> <none> <none> <none>"), "{wide:?}");
    assert!(wide[2].ends_with(" <none> worker <none> <none>"), "{wide:?}");

    let labels = rows(&kubectl.ok("get pods --show-labels -L tier").await);
    assert!(labels[0].ends_with("AGE TIER LABELS"), "{labels:?}");
    assert!(labels[1].ends_with("back app=db,tier=back"), "{labels:?}");

    let several = rows(&kubectl.ok("get pods,configmaps").await);
    assert!(several.iter().any(|row| row == "NAME DATA AGE"), "{several:?}");
    assert!(several.iter().any(|row| row.starts_with("configmap/settings 2 ")), "{several:?}");
    assert!(several.iter().any(|row| row.starts_with("pod/web ")), "{several:?}");

    let everywhere = rows(&kubectl.ok("get pods -A --field-selector metadata.namespace=get-tables").await);
    assert_eq!(everywhere[0], "NAMESPACE NAME READY STATUS RESTARTS AGE");
    assert!(everywhere[1].starts_with("get-tables db "), "{everywhere:?}");

    let namespaces = rows(&kubectl.ok("get namespaces").await);
    assert_eq!(namespaces[0], "NAME STATUS AGE");
    for name in ["default", "kube-node-lease", "kube-public", "kube-system", "get-tables"] {
        let row = format!("{name} Active ");
        assert!(namespaces.iter().any(|line| line.starts_with(&row)), "{name}: {namespaces:?}");
    }
    assert_eq!(rows(&kubectl.ok("get pods --no-headers").await).len(), 2);
}

async fn objects_come_in_every_format(shared: &Shared) {
    let kubectl = Kubectl::in_namespace(shared, "get-formats").await;
    kubectl.feed("create -f -", OBJECTS).await;

    let pod = kubectl.json("get pod web").await;
    assert_eq!(pod["metadata"]["name"], "web");
    assert_eq!(pod["spec"]["containers"][0]["terminationMessagePath"], "/dev/termination-log", "a default");
    assert_eq!(pod["status"]["phase"], "Pending");
    assert!(pod["metadata"]["managedFields"].is_null(), "hidden unless asked for");
    let whole = kubectl.json("get pod web --show-managed-fields").await;
    assert_eq!(whole["metadata"]["managedFields"][0]["manager"], "kubectl-create");

    let list = kubectl.json("get pods").await;
    assert_eq!((&list["kind"], list["items"].as_array().map(Vec::len)), (&Value::from("List"), Some(2)));

    let yaml = kubectl.ok("get configmap settings -o yaml").await;
    assert!(
        yaml.starts_with("apiVersion: v1\ndata:\n  first: \"1\"\n  text: |\n    two\n    lines\n"),
        "{yaml}"
    );

    assert_eq!(kubectl.ok("get pods -o name").await, "pod/db\npod/web\n");
    assert_eq!(kubectl.ok("get pod/web cm/settings -o name").await, "pod/web\nconfigmap/settings\n");
    assert_eq!(kubectl.ok("get pod db -o jsonpath={.spec.containers[*].image}").await, "postgres exporter");
    let chosen =
        kubectl.ok("get pods -o jsonpath={.items[?(@.metadata.labels.tier==\"front\")].spec.nodeName}");
    assert_eq!(chosen.await, "worker");
    assert_eq!(kubectl.ok("get cm settings -o go-template={{.data.first}}").await, "1");
    let table =
        rows(&kubectl.ok("get pods -o custom-columns=N:.metadata.name,I:.spec.containers[*].image").await);
    assert_eq!(table, ["N I", "db postgres,exporter", "web nginx:1.29"]);
}

async fn selectors_choose(shared: &Shared) {
    let kubectl = Kubectl::in_namespace(shared, "get-selectors").await;
    kubectl.feed("create -f -", OBJECTS).await;
    for (selector, expect) in [
        ("-l app=web", "pod/web\n"),
        ("-l app!=web", "pod/db\n"),
        ("-l app,tier=back", "pod/db\n"),
        ("-l !app", ""),
        ("--field-selector spec.nodeName=worker", "pod/web\n"),
        ("--field-selector spec.nodeName!=worker", "pod/db\n"),
        ("--field-selector metadata.name=db,status.phase=Pending", "pod/db\n"),
        ("--field-selector status.phase=Running", ""),
        ("-l tier=front --field-selector spec.nodeName=", ""),
    ] {
        assert_eq!(kubectl.ok(&format!("get pods {selector} -o name")).await, expect, "{selector}");
    }
    let sets = ["get", "pods", "-o", "name", "-l", "tier in (front, middle),app notin (db)"];
    assert_eq!(kubectl.run(&sets, "").await.succeeded("a set"), "pod/web\n");
    let refused = kubectl.fails("get pods --field-selector spec.hostname=a").await;
    assert!(refused.contains("field label not supported: spec.hostname"), "{refused}");
    let refused = kubectl.fails("get configmaps --field-selector data=a").await;
    assert!(refused.contains("\"data\" is not a known field selector"), "{refused}");
}

async fn lists_are_sorted_and_paged(shared: &Shared) {
    let kubectl = Kubectl::in_namespace(shared, "get-pages").await;
    let mut objects = String::new();
    for number in 0..25 {
        let size = 25 - number;
        objects.push_str(&format!(
            "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: page-{number:02}, annotations: {{size: \"{size:02}\"}}}}\n"
        ));
    }
    kubectl.feed("create -f -", &objects).await;
    let expect: String = (0..25).map(|number| format!("configmap/page-{number:02}\n")).collect();
    for chunk in [1, 4, 24, 25, 26, 500] {
        let names = kubectl.ok(&format!("get configmaps -o name --chunk-size={chunk}")).await;
        assert_eq!(names, expect, "{chunk} at a time");
    }
    let table = rows(&kubectl.ok("get configmaps --chunk-size=7").await);
    assert_eq!(table.len(), 26, "one table out of all pages");
    let sorted = kubectl.ok("get configmaps -o name --sort-by=.metadata.annotations.size").await;
    let reversed: String = (0..25).rev().map(|number| format!("configmap/page-{number:02}\n")).collect();
    assert_eq!(sorted, reversed);
}

async fn raw_paths_are_passed_on(shared: &Shared) {
    let kubectl = Kubectl::in_namespace(shared, "get-raw").await;
    kubectl.feed("create -f -", OBJECTS).await;
    let pod = kubectl.ok("get --raw /api/v1/namespaces/get-raw/pods/web").await;
    assert!(pod.starts_with(r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"web","#), "{pod}");
    let page: Value =
        serde_json::from_str(&kubectl.ok("get --raw /api/v1/namespaces/get-raw/pods?limit=1").await)
            .expect("a list");
    assert_eq!((&page["kind"], &page["metadata"]["remainingItemCount"]), (&"PodList".into(), &1.into()));
    assert_eq!(kubectl.ok("get --raw /readyz").await, "ok");
    let made = kubectl
        .feed(
            "create --raw /api/v1/namespaces/get-raw/configmaps -f -",
            r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"generateName":"made-"}}"#,
        )
        .await;
    let made: Value = serde_json::from_str(&made).expect("an object");
    let name = made["metadata"]["name"].as_str().expect("a name");
    assert!(name.starts_with("made-") && name.len() == 10, "{name}");
    kubectl.ok(&format!("delete --raw /api/v1/namespaces/get-raw/configmaps/{name}")).await;
    assert!(kubectl.fails("get --raw /no/such/path").await.contains("(NotFound)"));
}

async fn missing_objects_are_named(shared: &Shared) {
    let kubectl = Kubectl::in_namespace(shared, "get-nothing").await;
    for (words, expect) in [
        ("get pod none", "Error from server (NotFound): pods \"none\" not found"),
        ("get pods web db", "pods \"db\" not found"),
        ("get deployment none", "Error from server (NotFound): deployments.apps \"none\" not found"),
        ("get namespace none", "Error from server (NotFound): namespaces \"none\" not found"),
        ("get nonsense", "error: the server doesn't have a resource type \"nonsense\""),
    ] {
        let complaint = kubectl.fails(words).await;
        assert!(complaint.contains(expect), "{words}: {complaint}");
    }
    let none = kubectl.run(&["get", "pods"], "").await;
    assert_eq!(
        (none.code, columns(&none.stderr)),
        (Some(0), "No resources found in get-nothing namespace.".into())
    );
    assert_eq!(kubectl.ok("get pod none --ignore-not-found").await, "");
}
