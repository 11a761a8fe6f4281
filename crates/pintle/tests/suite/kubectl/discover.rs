//! kubectl's discovery of the server: its resources, their fields, its version.

use serde_json::Value;

use crate::support::kubectl::{Kubectl, rows};
use crate::support::shared::{Shared, on_both_stores};

on_both_stores! {
    resources_are_listed,
    versions_are_listed,
    fields_are_explained,
    the_server_says_what_it_is,
}

async fn resources_are_listed(shared: &Shared) {
    let kubectl = Kubectl::of(&shared.server);
    let table = rows(&kubectl.ok("api-resources").await);
    assert_eq!(table[0], "NAME SHORTNAMES APIVERSION NAMESPACED KIND");
    for expect in [
        "pods po v1 true Pod",
        "namespaces ns v1 false Namespace",
        "deployments deploy apps/v1 true Deployment",
        "horizontalpodautoscalers hpa autoscaling/v2 true HorizontalPodAutoscaler",
        "customresourcedefinitions crd,crds apiextensions.k8s.io/v1 false CustomResourceDefinition",
        "apiservices apiregistration.k8s.io/v1 false APIService",
        "selfsubjectaccessreviews authorization.k8s.io/v1 false SelfSubjectAccessReview",
        "leases coordination.k8s.io/v1 true Lease",
    ] {
        assert!(table.iter().any(|row| row == expect), "{expect}: {table:#?}");
    }
    let names =
        kubectl.ok("api-resources --namespaced=false --api-group=rbac.authorization.k8s.io -o name").await;
    assert_eq!(
        names,
        "clusterrolebindings.rbac.authorization.k8s.io\nclusterroles.rbac.authorization.k8s.io\n"
    );
    let wide = rows(&kubectl.ok("api-resources --api-group=apps -o wide --no-headers").await);
    let deployments = "deployments deploy apps/v1 true Deployment create,delete,deletecollection,get,list,patch,update,watch all";
    assert!(wide.iter().any(|row| row == deployments), "{wide:#?}");
    assert!(kubectl.ok("api-resources --verbs=list,watch -o name").await.lines().count() >= 50);
    let short =
        kubectl.ok("get po,cm,deploy,hpa,pdb,sts,ds,netpol,sc,csr,pc -o name --namespace=kube-public").await;
    assert_eq!(short.lines().filter(|line| line.starts_with("pod/")).count(), 0);
}

async fn versions_are_listed(shared: &Shared) {
    let kubectl = Kubectl::of(&shared.server);
    let versions = kubectl.ok("api-versions").await;
    let versions: Vec<&str> = versions.lines().collect();
    for version in
        ["v1", "apps/v1", "autoscaling/v1", "autoscaling/v2", "resource.k8s.io/v1", "storage.k8s.io/v1"]
    {
        assert!(versions.contains(&version), "{version}: {versions:?}");
    }
    assert!(!versions.iter().any(|version| version.contains("alpha")), "{versions:?}");
}

async fn fields_are_explained(shared: &Shared) {
    let kubectl = Kubectl::of(&shared.server);
    for (words, expect) in [
        ("pods", &["KIND: Pod", "VERSION: v1", "spec <PodSpec>"][..]),
        ("pod.spec.containers.image", &["FIELD: image <string>"]),
        (
            "deployments.spec.strategy",
            &["GROUP: apps", "type <string>", "rollingUpdate <RollingUpdateDeployment>"],
        ),
        (
            "pods.spec.containers.resources --recursive",
            &["limits <map[string]Quantity>", "claims <[]ResourceClaim>"],
        ),
        ("hpa --api-version=autoscaling/v1", &["GROUP: autoscaling", "VERSION: v1"]),
        ("hpa.spec.metrics.resource.target", &["VERSION: v2", "averageUtilization <integer>"]),
        ("crd.spec.versions.schema", &["openAPIV3Schema <JSONSchemaProps>"]),
        ("apiservices.spec", &["groupPriorityMinimum <integer> -required-"]),
    ] {
        let text = kubectl.ok(&format!("explain {words}")).await;
        for line in expect {
            assert!(rows(&text).iter().any(|row| row == line), "explain {words}: {line}: {text}");
        }
    }
    // From the older document.
    let old = kubectl.ok("explain pods.spec.restartPolicy --output=plaintext-openapiv2").await;
    assert!(old.contains("Restart policy for all containers within the pod."), "{old}");
    let complaint = kubectl.fails("explain pods.spec.nonsense").await;
    assert!(complaint.contains("field \"nonsense\" does not exist"), "{complaint}");
}

async fn the_server_says_what_it_is(shared: &Shared) {
    let kubectl = Kubectl::of(&shared.server);
    let version: Value = kubectl.json("version").await;
    assert_eq!(version["serverVersion"]["major"], "1");
    assert_eq!(version["serverVersion"]["minor"], "36");
    let address = format!("https://127.0.0.1:{}", shared.server.port);
    assert!(kubectl.ok("cluster-info").await.contains(&address));
    assert!(kubectl.ok("get --raw /readyz?verbose").await.ends_with("readyz check passed\n"));
}
