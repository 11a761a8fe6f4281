//! Tests of the core group's strategies.

use std::sync::Arc;
use std::time::Duration;

use pintle_codec::json;
use pintle_meta::time::Time;
use pintle_meta::{Status, Value};
use pintle_registry::{Context, DeleteOptions, GarbageCollection, ResetFields, Strategy};

use crate::framework::strategy::testing::{clock_at, text};
use crate::framework::strategy::{Settings, of};

mod warnings;

fn settings() -> Settings {
    Settings { clock: clock_at("2023-11-14T22:13:20Z"), ..Settings::default() }
}

fn strategy(name: &str) -> Arc<dyn Strategy> {
    of("", name, &settings()).unwrap()
}

fn read(kind: &str, text: &str) -> Value {
    let of = pintle_schema::find(&format!("core/v1.{kind}")).unwrap();
    json::decode(of, text.as_bytes()).unwrap().value
}

fn created(name: &str, kind: &str, object: &str) -> Value {
    let mut object = read(kind, object);
    strategy(name).prepare_for_create(&mut Context::default(), &mut object);
    object
}

fn updated(name: &str, kind: &str, new: &str, old: &str) -> Value {
    let (mut new, old) = (read(kind, new), read(kind, old));
    // As every update does before.
    let generation = old.generation();
    if generation > 0 {
        new.metadata_mut().unwrap().insert("generation", generation);
    }
    strategy(name).prepare_for_update(&Context::default(), &mut new, &old);
    new
}

#[test]
fn a_new_pod_is_pending_and_has_a_class() {
    let pod = created(
        "pods",
        "Pod",
        r#"{"metadata":{"name":"p"},"spec":{"containers":null},"status":{"phase":"Running"}}"#,
    );
    assert_eq!(
        text(&pod),
        r#"{"metadata":{"name":"p","generation":1},"spec":{"containers":null},"status":{"phase":"Pending","qosClass":"BestEffort"}}"#
    );
    // The client's QoS class stays.
    let pod = created("pods", "Pod", r#"{"status":{"phase":"Running","qosClass":"Burstable"}}"#);
    assert_eq!(text(pod.get("status").unwrap()), r#"{"phase":"Pending","qosClass":"Burstable"}"#);
}

#[test]
fn a_pods_class_follows_from_its_resources() {
    let class = |spec: &str| {
        let pod = created("pods", "Pod", &format!(r#"{{"spec":{spec}}}"#));
        pod.text_at(&["status", "qosClass"]).to_owned()
    };
    let container = |resources: &str| format!(r#"{{"containers":[{{"name":"c","resources":{resources}}}]}}"#);
    assert_eq!(class(&container("{}")), "BestEffort");
    assert_eq!(class(&container(r#"{"requests":{"cpu":"0","example.com/x":"1"}}"#)), "BestEffort");
    assert_eq!(class(&container(r#"{"requests":{"cpu":"1"}}"#)), "Burstable");
    assert_eq!(class(&container(r#"{"limits":{"cpu":"1"},"requests":{"cpu":"1"}}"#)), "Burstable");
    let full = r#"{"limits":{"cpu":"1","memory":"1Gi"},"requests":{"cpu":"1000m","memory":"1024Mi"}}"#;
    assert_eq!(class(&container(full)), "Guaranteed");
    let more = r#"{"limits":{"cpu":"2","memory":"1Gi"},"requests":{"cpu":"1","memory":"1Gi"}}"#;
    assert_eq!(class(&container(more)), "Burstable");
    // Every container must be limited, and those that run first count too.
    let two = format!(r#"{{"containers":[{{"name":"a","resources":{full}}},{{"name":"b"}}]}}"#);
    assert_eq!(class(&two), "Burstable");
    let init = format!(
        r#"{{"initContainers":[{{"name":"a","resources":{{}}}}],"containers":[{{"name":"b","resources":{full}}}]}}"#
    );
    assert_eq!(class(&init), "Burstable");
    // A pod's own resources are what counts if there are any.
    let own = format!(r#"{{"resources":{full},"containers":[{{"name":"a"}}]}}"#);
    assert_eq!(class(&own), "Guaranteed");
    let own = r#"{"resources":{"requests":{"cpu":"1","memory":"1Gi"}},"containers":[{"name":"a"}]}"#;
    assert_eq!(class(own), "Burstable");
}

#[test]
fn a_gated_pod_says_that_it_waits() {
    let pod = created("pods", "Pod", r#"{"spec":{"schedulingGates":[{"name":"g"}]}}"#);
    let condition = r#"[{"type":"PodScheduled","status":"False","lastProbeTime":null,"lastTransitionTime":"2023-11-14T22:13:20Z","reason":"SchedulingGated","message":"Scheduling is blocked due to non-empty scheduling gates"}]"#;
    assert_eq!(text(pod.at(&["status", "conditions"]).unwrap()), condition);
}

#[test]
fn what_is_not_enabled_is_dropped_unless_it_was_there() {
    let with = r#"{"spec":{"volumes":[{"name":"v","projected":{"sources":[{"clusterTrustBundle":{"path":"p"}},{"podCertificate":{"signerName":"s","keyType":"k"}}]}}],"containers":[{"name":"c","lifecycle":{"stopSignal":"SIGTERM"}}],"schedulingGroup":{"podGroupName":"g"}}}"#;
    let pod = created("pods", "Pod", with);
    let spec = r#"{"volumes":[{"name":"v","projected":{"sources":[{},{}]}}],"containers":[{"name":"c","resources":{}}]}"#;
    assert_eq!(text(pod.get("spec").unwrap()), spec);
    let kept = updated("pods", "Pod", with, with);
    assert_eq!(kept.get("spec"), read("Pod", with).get("spec"));
    let template = format!(r#"{{"template":{with}}}"#);
    let dropped = created("podtemplates", "PodTemplate", &template);
    assert_eq!(text(dropped.at(&["template", "spec"]).unwrap()), spec);
}

#[test]
fn a_pod_selects_by_its_own_labels_what_it_was_told_to_be_near_to() {
    let term = r#"{"topologyKey":"t","labelSelector":{"matchLabels":{"x":"y"}},"matchLabelKeys":["a","none"],"mismatchLabelKeys":["b"]}"#;
    let pod = created(
        "pods",
        "Pod",
        &format!(
            r#"{{"metadata":{{"labels":{{"a":"1","b":"2"}}}},"spec":{{"affinity":{{"podAffinity":{{"requiredDuringSchedulingIgnoredDuringExecution":[{term}],"preferredDuringSchedulingIgnoredDuringExecution":[{{"weight":1,"podAffinityTerm":{term}}}]}}}},
            "topologySpreadConstraints":[{{"labelSelector":{{}},"matchLabelKeys":["b"]}},{{"matchLabelKeys":["b"]}}]}}}}"#
        ),
    );
    let both =
        r#"[{"key":"a","operator":"In","values":["1"]},{"key":"b","operator":"NotIn","values":["2"]}]"#;
    let affinity = pod.at(&["spec", "affinity", "podAffinity"]).unwrap();
    let required = &affinity.items_at(&["requiredDuringSchedulingIgnoredDuringExecution"])[0];
    assert_eq!(text(required.at(&["labelSelector", "matchExpressions"]).unwrap()), both);
    let preferred = &affinity.items_at(&["preferredDuringSchedulingIgnoredDuringExecution"])[0];
    assert_eq!(text(preferred.at(&["podAffinityTerm", "labelSelector", "matchExpressions"]).unwrap()), both);
    let spread = pod.items_at(&["spec", "topologySpreadConstraints"]);
    let one = r#"{"matchExpressions":[{"key":"b","operator":"In","values":["2"]}]}"#;
    assert_eq!(text(spread[0].get("labelSelector").unwrap()), one);
    assert_eq!(spread[1].get("labelSelector"), None);
}

#[test]
fn a_pods_generation_counts_changes_of_its_spec() {
    let old = r#"{"metadata":{"generation":3},"spec":{"containers":[{"name":"c","image":"a"}]},"status":{"phase":"Running"}}"#;
    let pod = updated(
        "pods",
        "Pod",
        r#"{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"a"}]}}"#,
        old,
    );
    assert_eq!((pod.generation(), pod.text_at(&["status", "phase"])), (3, "Running"));
    let pod = updated("pods", "Pod", r#"{"spec":{"containers":[{"name":"c","image":"b"}]}}"#, old);
    assert_eq!(pod.generation(), 4);
}

#[test]
fn a_pods_status_keeps_what_older_kubelets_leave_out() {
    let old = r#"{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"K","name":"n","uid":"u"}],"generation":3},"spec":{"nodeName":"n"},
        "status":{"qosClass":"BestEffort","observedGeneration":2,"conditions":[{"type":"A","status":"True","observedGeneration":1},{"type":"A","status":"True","observedGeneration":2}]}}"#;
    let new = r#"{"metadata":{"deletionTimestamp":"2023-11-14T22:13:20Z"},"status":{"phase":"Running","conditions":[{"type":"B","status":"True"},{"type":"A","status":"False"},{"type":"A","status":"True","observedGeneration":9}]}}"#;
    let pod = updated("pods/status", "Pod", new, old);
    let old = read("Pod", old);
    assert_eq!((pod.get("spec"), pod.owner_references()), (old.get("spec"), old.owner_references()));
    assert_eq!((pod.deletion_timestamp(), pod.generation()), (None, 3));
    let status = pod.get("status").unwrap();
    assert_eq!((status.text_at(&["phase"]), status.text_at(&["qosClass"])), ("Running", "BestEffort"));
    let generation = |value: &Value| value.get("observedGeneration").and_then(Value::as_i64);
    assert_eq!(generation(status), Some(2));
    let conditions: Vec<_> = status.items_at(&["conditions"]).iter().map(generation).collect();
    assert_eq!(conditions, [None, Some(1), Some(9)]);
}

#[test]
fn ephemeral_containers_are_all_that_their_requests_change() {
    let old = r#"{"metadata":{"labels":{"a":"b"},"generation":1},"spec":{"containers":[{"name":"c"}],"ephemeralContainers":[{"name":"e"}]},"status":{"phase":"Running"}}"#;
    let new = r#"{"metadata":{"labels":{"x":"y"}},"spec":{"containers":[{"name":"d"}],"ephemeralContainers":[{"name":"e"},{"name":"f"}]}}"#;
    let pod = updated("pods/ephemeralcontainers", "Pod", new, old);
    assert_eq!(
        text(&pod),
        r#"{"metadata":{"generation":2,"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","resources":{}}],"ephemeralContainers":[{"name":"e","resources":{}},{"name":"f","resources":{}}]},"status":{"phase":"Running"}}"#
    );
    let fields = strategy("pods/ephemeralcontainers").reset_fields();
    assert_eq!(fields, ResetFields::These(&[]), "although nothing else is written");
}

#[test]
fn a_resize_changes_resources_and_nothing_else() {
    let old = r#"{"metadata":{"generation":1},"spec":{"containers":[{"name":"c","image":"i"}],"nodeName":"n"},"status":{"phase":"Running"}}"#;
    let new = r#"{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"j","resources":{"limits":{"cpu":"1"}},"resizePolicy":[{"resourceName":"cpu","restartPolicy":"NotRequired"}]}]}}"#;
    let pod = updated("pods/resize", "Pod", new, old);
    assert_eq!(
        text(&pod),
        r#"{"metadata":{"generation":2},"spec":{"containers":[{"name":"c","image":"i","resources":{"limits":{"cpu":"1"}},"resizePolicy":[{"resourceName":"cpu","restartPolicy":"NotRequired"}]}],"nodeName":"n"},"status":{"phase":"Running"}}"#
    );
}

#[test]
fn a_pod_has_time_to_end_only_where_it_runs() {
    let grace = |pod: &str, asked: Option<i64>| {
        let mut options = DeleteOptions { grace_period_seconds: asked, ..DeleteOptions::default() };
        assert!(strategy("pods").check_graceful_delete(&read("Pod", pod), &mut options));
        options.grace_period_seconds
    };
    let running = r#"{"spec":{"nodeName":"n","terminationGracePeriodSeconds":30}}"#;
    assert_eq!(grace(running, None), Some(30));
    assert_eq!(grace(running, Some(5)), Some(5));
    assert_eq!(grace(r#"{"spec":{"nodeName":"n"}}"#, None), Some(0));
    assert_eq!(grace(r#"{"spec":{"nodeName":"n","terminationGracePeriodSeconds":-3}}"#, None), Some(1));
    assert_eq!(grace(r#"{"spec":{"terminationGracePeriodSeconds":30}}"#, Some(5)), Some(0));
    assert_eq!(grace(r#"{"spec":{"nodeName":"n"},"status":{"phase":"Failed"}}"#, Some(5)), Some(0));
    assert!(strategy("pods").deletes_gracefully() && !strategy("configmaps").deletes_gracefully());
}

#[test]
fn a_new_namespace_is_active_and_held() {
    let namespace =
        created("namespaces", "Namespace", r#"{"metadata":{"name":"n"},"status":{"phase":"Terminating"}}"#);
    assert_eq!(
        text(&namespace),
        r#"{"metadata":{"name":"n"},"spec":{"finalizers":["kubernetes"]},"status":{"phase":"Active"}}"#
    );
    let namespace = created("namespaces", "Namespace", r#"{"spec":{"finalizers":["a.b/c"]}}"#);
    assert_eq!(text(namespace.get("spec").unwrap()), r#"{"finalizers":["a.b/c","kubernetes"]}"#);
    let mut named = read("Namespace", r#"{"metadata":{"name":"n"}}"#);
    strategy("namespaces").canonicalize(&mut named);
    assert_eq!(named.label("kubernetes.io/metadata.name"), Some("n"));
}

#[test]
fn a_namespaces_finalizers_change_only_where_they_should() {
    let old = r#"{"spec":{"finalizers":["kubernetes"]},"status":{"phase":"Terminating"}}"#;
    let new = r#"{"metadata":{"labels":{"a":"b"}},"spec":{},"status":{"phase":"Active"}}"#;
    let namespace = updated("namespaces", "Namespace", new, old);
    assert_eq!(
        text(&namespace),
        r#"{"metadata":{"labels":{"a":"b"}},"spec":{"finalizers":["kubernetes"]},"status":{"phase":"Terminating"}}"#
    );
    let namespace = updated("namespaces/finalize", "Namespace", new, old);
    assert_eq!(
        text(&namespace),
        r#"{"metadata":{"labels":{"a":"b"}},"spec":{},"status":{"phase":"Terminating"}}"#
    );
    let strategy = strategy("namespaces/finalize");
    assert!(strategy.should_delete_during_update(&namespace, &read("Namespace", old)));
    assert!(!strategy.should_delete_during_update(&read("Namespace", old), &read("Namespace", old)));
}

#[test]
fn a_namespaces_deletion_begins_with_its_phase() {
    let stages = strategy("namespaces").staged_deletion().unwrap();
    let mut namespace =
        read("Namespace", r#"{"spec":{"finalizers":["kubernetes"]},"status":{"phase":"Active"}}"#);
    assert!((stages.is_held)(&namespace));
    (stages.begin)(&mut namespace);
    assert_eq!(namespace.text_at(&["status", "phase"]), "Terminating");
    assert!(!(stages.is_held)(&read("Namespace", "{}")));
    assert!(strategy("pods").staged_deletion().is_none());
}

/// Returns the message of an error, without the part that all such messages have.
fn warning_line(name: &str, kind: &str, new: &str, old: Option<&str>) -> String {
    let context = Context::default();
    let new = read(kind, new);
    let errors = match old {
        None => strategy(name).validate(&context, &new),
        Some(old) => strategy(name).validate_update(&context, &new, &read(kind, old)),
    };
    let status = Status::invalid("", kind, "n", &errors);
    status.message.split_once("is invalid: ").map(|(_, causes)| causes.to_owned()).unwrap_or_default()
}

#[test]
fn a_namespaces_phase_and_finalizers_must_make_sense() {
    let wrong = warning_line(
        "namespaces",
        "Namespace",
        r#"{"metadata":{"name":"n"},"spec":{"finalizers":["nodomain"]}}"#,
        None,
    );
    assert_eq!(
        wrong,
        "spec.finalizers: Invalid value: \"nodomain\": name is neither a standard finalizer name nor is it fully qualified"
    );
    let wrong = warning_line("namespaces", "Namespace", r#"{"metadata":{"name":"a.b"}}"#, None);
    assert_eq!(wrong, "metadata.name: Invalid value: \"a.b\": must not contain dots");
    let namespace = r#"{"metadata":{"name":"n","resourceVersion":"1"},"spec":{"finalizers":["x"]},"status":{"phase":"Terminating"}}"#;
    let wrong = warning_line("namespaces/status", "Namespace", namespace, Some(namespace));
    assert_eq!(
        wrong,
        "status.Phase: Invalid value: \"Terminating\": may only be 'Active' if `deletionTimestamp` is empty"
    );
    let wrong = warning_line("namespaces/finalize", "Namespace", namespace, Some(namespace));
    assert!(wrong.starts_with("spec.finalizers[0]: Invalid value: \"x\""), "{wrong}");
}

#[test]
fn finalizers_without_a_domain_are_kubernetes_own() {
    let wrong = warning_line(
        "configmaps",
        "ConfigMap",
        r#"{"metadata":{"name":"a","namespace":"n","finalizers":["orphan","mine"]}}"#,
        None,
    );
    assert_eq!(
        wrong,
        "metadata.finalizers[1]: Invalid value: \"mine\": name is neither a standard finalizer name nor is it fully qualified"
    );
}

#[test]
fn a_node_brings_its_status_but_keeps_it_later() {
    let node =
        created("nodes", "Node", r#"{"spec":{"configSource":{}},"status":{"phase":"Running","config":{}}}"#);
    assert_eq!(text(node.get("spec").unwrap()), "{}");
    assert_eq!(node.text_at(&["status", "phase"]), "Running");
    assert_eq!(node.at(&["status", "config"]), None);
    let node =
        updated("nodes", "Node", r#"{"spec":{"unschedulable":true}}"#, r#"{"status":{"phase":"Running"}}"#);
    assert_eq!(node.text_at(&["status", "phase"]), "Running");
    let node = updated(
        "nodes/status",
        "Node",
        r#"{"status":{"phase":"Pending"}}"#,
        r#"{"spec":{"unschedulable":true}}"#,
    );
    assert_eq!(text(node.get("spec").unwrap()), r#"{"unschedulable":true}"#);
}

#[test]
fn a_volume_notes_when_its_phase_changed() {
    const NOW: &str = "2023-11-14T22:13:20Z";
    let time = |volume: &Value| volume.text_at(&["status", "lastPhaseTransitionTime"]).to_owned();
    let volume = created("persistentvolumes", "PersistentVolume", r#"{"status":{"phase":"Bound"}}"#);
    assert_eq!((volume.text_at(&["status", "phase"]), time(&volume).as_str()), ("Pending", NOW));
    let old = r#"{"status":{"phase":"Pending","lastPhaseTransitionTime":"2020-01-01T00:00:00Z"}}"#;
    for (new, expected) in [
        (r#"{"status":{"phase":"Pending"}}"#, "2020-01-01T00:00:00Z"),
        (r#"{"status":{"phase":"Bound"}}"#, NOW),
        (r#"{"status":{"phase":"Bound","lastPhaseTransitionTime":"2020-01-01T00:00:00Z"}}"#, NOW),
        (
            r#"{"status":{"phase":"Bound","lastPhaseTransitionTime":"2021-01-01T00:00:00Z"}}"#,
            "2021-01-01T00:00:00Z",
        ),
    ] {
        assert_eq!(
            time(&updated("persistentvolumes/status", "PersistentVolume", new, old)),
            expected,
            "{new}"
        );
    }
}

#[test]
fn a_claims_sources_are_the_same_both_ways() {
    let spec = |claim: &Value| text(claim.get("spec").unwrap());
    let create = |source: &str| {
        spec(&created(
            "persistentvolumeclaims",
            "PersistentVolumeClaim",
            &format!(r#"{{"spec":{{{source}}}}}"#),
        ))
    };
    let both = r#"{"resources":{},"dataSource":{"apiGroup":null,"kind":"PersistentVolumeClaim","name":"a"},"dataSourceRef":{"apiGroup":null,"kind":"PersistentVolumeClaim","name":"a"}}"#;
    assert_eq!(create(r#""dataSource":{"kind":"PersistentVolumeClaim","name":"a"}"#), both);
    assert_eq!(create(r#""dataSourceRef":{"kind":"PersistentVolumeClaim","name":"a"}"#), both);
    // Others can be named the newer way only, and not in other namespaces.
    assert_eq!(create(r#""dataSource":{"kind":"Other","name":"a"}"#), r#"{"resources":{}}"#);
    let other = create(r#""dataSourceRef":{"apiGroup":"g","kind":"Other","name":"a"}"#);
    assert!(other.contains(r#""dataSource":{"apiGroup":"g","kind":"Other","name":"a"}"#), "{other}");
    assert_eq!(
        create(r#""dataSourceRef":{"kind":"PersistentVolumeClaim","name":"a","namespace":"n"}"#),
        r#"{"resources":{}}"#
    );
    let old = r#"{"spec":{"dataSource":{"kind":"Other","name":"a"}}}"#;
    let kept = spec(&updated("persistentvolumeclaims", "PersistentVolumeClaim", old, old));
    assert!(kept.contains(r#""dataSourceRef":{"apiGroup":null,"kind":"Other","name":"a"}"#), "{kept}");
}

fn changed_service(new: &str, old: &str) -> String {
    let service =
        updated("services", "Service", &format!(r#"{{"spec":{new}}}"#), &format!(r#"{{"spec":{old}}}"#));
    text(service.get("spec").unwrap())
}

#[test]
fn a_new_service_has_no_status() {
    let service = created(
        "services",
        "Service",
        r#"{"spec":{"clusterIP":"None"},"status":{"loadBalancer":{"ingress":[{"ip":"1.2.3.4"}]}}}"#,
    );
    assert_eq!(text(service.get("status").unwrap()), r#"{"loadBalancer":{}}"#);
}

#[test]
fn a_service_of_another_type_loses_what_only_the_old_type_has() {
    let old = r#"{"ports":[{"port":1,"nodePort":30001}],"clusterIP":"10.0.0.1","clusterIPs":["10.0.0.1"],"type":"LoadBalancer","externalTrafficPolicy":"Local","healthCheckNodePort":30009,"ipFamilies":["IPv4"],"ipFamilyPolicy":"SingleStack","allocateLoadBalancerNodePorts":true,"loadBalancerClass":"a/b"}"#;
    let to = |kind: &str| changed_service(&old.replace("LoadBalancer\"", &format!("{kind}\"")), old);
    assert_eq!(
        to("ClusterIP"),
        r#"{"ports":[{"port":1,"targetPort":0}],"clusterIP":"10.0.0.1","clusterIPs":["10.0.0.1"],"type":"ClusterIP","ipFamilies":["IPv4"],"ipFamilyPolicy":"SingleStack"}"#
    );
    assert_eq!(to("ExternalName"), r#"{"ports":[{"port":1,"targetPort":0}],"type":"ExternalName"}"#);
    // Changed fields are left for validation to reject.
    let new = old.replace("LoadBalancer\"", "ClusterIP\"").replace("30001", "30002");
    assert!(changed_service(&new, old).contains(r#""nodePort":30002"#));
}

#[test]
fn only_the_name_of_a_service_accounts_secret_counts() {
    let account = created(
        "serviceaccounts",
        "ServiceAccount",
        r#"{"secrets":[{"name":"a","namespace":"n","kind":"K"},{"name":"b"}]}"#,
    );
    assert_eq!(text(account.get("secrets").unwrap()), r#"[{"name":"a"},{"name":"b"}]"#);
}

#[test]
fn a_limit_range_needs_no_name() {
    let limits = created("limitranges", "LimitRange", "{}");
    assert_eq!(limits.name().len(), 36);
    assert_ne!(limits.name(), created("limitranges", "LimitRange", "{}").name());
    assert_eq!(created("limitranges", "LimitRange", r#"{"metadata":{"name":"a"}}"#).name(), "a");
}

#[test]
fn each_kind_is_written_and_deleted_in_its_own_way() {
    // Name, whether a PUT creates, whether a deletion answers with the object.
    for (name, creates, returns) in [
        ("configmaps", false, false),
        ("endpoints", true, false),
        ("events", true, false),
        ("limitranges", true, false),
        ("namespaces", false, true),
        ("nodes", false, false),
        ("persistentvolumeclaims", false, true),
        ("persistentvolumes", false, true),
        ("pods", false, true),
        ("podtemplates", false, true),
        ("replicationcontrollers", false, false),
        ("resourcequotas", false, true),
        ("secrets", false, false),
        ("serviceaccounts", false, true),
        ("services", true, true),
    ] {
        let strategy = strategy(name);
        assert_eq!(strategy.allows_create_on_update(), creates, "{name}");
        assert_eq!(strategy.returns_deleted_object(), returns, "{name}");
        assert!(strategy.allows_unconditional_update(), "{name}");
        let collected = match name {
            "events" => GarbageCollection::Unsupported,
            "replicationcontrollers" => GarbageCollection::Orphan,
            _ => GarbageCollection::Background,
        };
        assert_eq!(strategy.garbage_collection(), collected, "{name}");
        let lives = strategy.time_to_live(&Value::NULL, Time::from_unix(0, 0));
        assert_eq!(lives, (name == "events").then(|| Duration::from_secs(3600)), "{name}");
    }
}
