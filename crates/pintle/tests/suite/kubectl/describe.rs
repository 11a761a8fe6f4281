//! `kubectl describe`, which reads an object, its events and what belongs to it.

use serde_json::json;

use super::OBJECTS;
use crate::support::kubectl::{Kubectl, rows};
use crate::support::shared::{Shared, on_both_stores};

on_both_stores! {
    objects_are_described_with_their_events,
    a_node_is_described_with_its_pods_and_lease,
    a_namespace_is_described_with_its_limits,
    every_generated_kind_is_described,
}

async fn objects_are_described_with_their_events(shared: &Shared) {
    let kubectl = Kubectl::in_namespace(shared, "describe-objects").await;
    kubectl.feed("create -f -", OBJECTS).await;
    let uid = kubectl.ok("get pod web -o jsonpath={.metadata.uid}").await;
    let about = json!({"kind": "Pod", "apiVersion": "v1", "namespace": "describe-objects", "name": "web", "uid": uid});
    let event = json!({
        "apiVersion": "v1", "kind": "Event", "metadata": {"name": "web.1"}, "involvedObject": about,
        "reason": "Pulled", "message": "Image is there", "type": "Normal", "count": 1,
        "source": {"component": "kubelet"}, "firstTimestamp": "2026-01-01T00:00:00Z", "lastTimestamp": "2026-01-01T00:00:00Z",
    });
    kubectl.feed("create -f -", &event.to_string()).await;
    let lines = rows(&kubectl.ok("describe pod web").await);
    for expect in [
        "Name: web",
        "Namespace: describe-objects",
        "Node: worker/",
        "Labels: app=web",
        "Status: Pending",
        "Image: nginx:1.29",
        "Port: 80/TCP",
        "cpu: 100m",
        "MODE: fast",
        "QoS Class: Burstable",
    ] {
        assert!(lines.iter().any(|line| line == expect), "{expect}: {lines:#?}");
    }
    let event = lines.last().expect("lines");
    assert!(event.starts_with("Normal Pulled ") && event.ends_with(" kubelet Image is there"), "{event}");
    let events = rows(&kubectl.ok("get events").await);
    assert_eq!(events[0], "LAST SEEN TYPE REASON OBJECT MESSAGE");
    assert!(events[1].ends_with(" Normal Pulled pod/web Image is there"), "{events:?}");
    let events = rows(&kubectl.ok("events --for pod/web").await);
    assert!(events[1].ends_with(" Normal Pulled Pod/web Image is there"), "{events:?}");
    assert!(kubectl.ok("describe event web.1").await.contains("Image is there"));

    let settings = kubectl.ok("describe configmap settings").await;
    assert!(settings.contains("first:\n----\n1\n"), "{settings}");
    let by_label = kubectl.ok("describe pods -l tier=back").await;
    assert!(by_label.starts_with("Name:") && by_label.contains("postgres") && !by_label.contains("nginx"));
}

async fn a_node_is_described_with_its_pods_and_lease(shared: &Shared) {
    let kubectl = Kubectl::in_namespace(shared, "describe-node").await;
    let objects = OBJECTS.replace("nodeName: worker", "nodeName: describe-worker");
    kubectl.feed("create -f -", &objects).await;
    let node = json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": "describe-worker", "labels": {"node-role.kubernetes.io/worker": ""}},
        "spec": {"taints": [{"key": "a", "value": "b", "effect": "NoSchedule"}]},
        "status": {"capacity": {"cpu": "2", "memory": "4Gi"}, "conditions": [{"type": "Ready", "status": "True"}]},
    });
    kubectl.feed("create -f -", &node.to_string()).await;
    let lease = json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": "describe-worker", "namespace": "kube-node-lease"},
        "spec": {"holderIdentity": "describe-worker", "renewTime": "2026-01-01T00:00:00.000000Z"},
    });
    kubectl.feed("create --namespace=kube-node-lease -f -", &lease.to_string()).await;
    let lines = rows(&kubectl.ok("describe node describe-worker").await);
    for expect in [
        "Roles: worker",
        "Taints: a=b:NoSchedule",
        "HolderIdentity: describe-worker",
        "cpu: 2",
        "memory: 4Gi",
    ] {
        assert!(lines.iter().any(|line| line == expect), "{expect}: {lines:#?}");
    }
    assert!(lines.iter().any(|line| line.starts_with("describe-node web 100m ")), "{lines:#?}");
    let row = rows(&kubectl.ok("get node describe-worker --no-headers").await);
    assert!(row[0].starts_with("describe-worker Ready worker "), "{row:?}");
    kubectl.ok("delete node describe-worker").await;
    kubectl.ok("delete lease describe-worker --namespace=kube-node-lease").await;
}

async fn a_namespace_is_described_with_its_limits(shared: &Shared) {
    let kubectl = Kubectl::in_namespace(shared, "describe-namespace").await;
    kubectl.ok("create quota few --hard=pods=5").await;
    let limits = json!({
        "apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "limits"},
        "spec": {"limits": [{"type": "Container", "default": {"cpu": "500m"}}]},
    });
    kubectl.feed("create -f -", &limits.to_string()).await;
    let lines = rows(&kubectl.ok("describe namespace describe-namespace").await);
    for expect in [
        "Name: describe-namespace",
        "Labels: kubernetes.io/metadata.name=describe-namespace",
        "Status: Active",
        "Name: few",
        "Container cpu - - 500m 500m -",
    ] {
        assert!(lines.iter().any(|line| line == expect), "{expect}: {lines:#?}");
    }
}

async fn every_generated_kind_is_described(shared: &Shared) {
    let kubectl = Kubectl::in_namespace(shared, "describe-kinds").await;
    for words in [
        "secret generic secret --from-literal=a=b",
        "serviceaccount account",
        "deployment deployment --image=nginx --replicas=2",
        "service clusterip service --tcp=80:8080",
        "role role --verb=get --resource=pods",
        "rolebinding binding --role=role --user=alice",
        "job job --image=busybox",
        "cronjob cronjob --image=busybox --schedule=@daily",
        "ingress ingress --rule=example.org/x=service:80",
        "pdb budget --selector=app=web --min-available=1",
    ] {
        kubectl.ok(&format!("create {words}")).await;
    }
    for (object, expect) in [
        ("secret/secret", "a: 1 bytes"),
        ("serviceaccount/account", "Name: account"),
        ("deployment/deployment", "Replicas: 2 desired | 0 updated | 0 total | 0 available | 0 unavailable"),
        ("service/service", "Port: 80-8080 80/TCP"),
        ("role/role", "pods [] [] [get]"),
        ("rolebinding/binding", "User alice"),
        ("job/job", "Completion Mode: NonIndexed"),
        ("cronjob/cronjob", "Schedule: @daily"),
        ("poddisruptionbudget/budget", "Min available: 1"),
    ] {
        let lines = rows(&kubectl.ok(&format!("describe {object}")).await);
        assert!(lines.iter().any(|line| line == expect), "{object}: {lines:#?}");
    }
    assert!(kubectl.ok("describe ingress ingress").await.contains("service:80"));
}
