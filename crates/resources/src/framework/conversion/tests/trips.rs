//! What the way through the internal type changes.

use super::*;

#[test]
fn a_pod_names_its_service_account_twice_and_has_a_security_context() {
    check_trip(
        r#"{"kind":"Pod","apiVersion":"v1","spec":{"containers":[],"serviceAccount":"a"}}"#,
        r#"{"kind":"Pod","apiVersion":"v1","spec":{"containers":[],"serviceAccountName":"a","serviceAccount":"a",
            "securityContext":{}}}"#,
    );
    check_trip(
        r#"{"kind":"Pod","apiVersion":"v1","spec":{"containers":[],"serviceAccountName":"b","serviceAccount":"a",
            "hostNetwork":true,"securityContext":{"runAsUser":1}}}"#,
        r#"{"kind":"Pod","apiVersion":"v1","spec":{"containers":[],"serviceAccountName":"b","serviceAccount":"b",
            "hostNetwork":true,"securityContext":{"runAsUser":1}}}"#,
    );
}

#[test]
fn a_pod_is_given_a_second_where_it_asked_for_less_than_none() {
    check_trip(
        r#"{"kind":"Pod","apiVersion":"v1","spec":{"containers":[],"terminationGracePeriodSeconds":-3,"securityContext":{}}}"#,
        r#"{"kind":"Pod","apiVersion":"v1","spec":{"containers":[],"terminationGracePeriodSeconds":1,"securityContext":{}}}"#,
    );
    let template = r#"{"kind":"PodTemplate","apiVersion":"v1","template":{"spec":{"containers":[],
        "terminationGracePeriodSeconds":-3,"securityContext":{}}}}"#;
    check_trip(template, template);
}

#[test]
fn annotations_of_init_containers_go_from_pods_and_templates() {
    check_trip(
        r#"{"kind":"PodTemplate","apiVersion":"v1","template":{"metadata":{"annotations":{
            "pod.beta.kubernetes.io/init-containers":"[]","a":"b"}},"spec":{"containers":[],"securityContext":{}}}}"#,
        r#"{"kind":"PodTemplate","apiVersion":"v1","template":{"metadata":{"annotations":{"a":"b"}},
            "spec":{"containers":[],"securityContext":{}}}}"#,
    );
    check_trip(
        r#"{"kind":"Pod","apiVersion":"v1","metadata":{"annotations":{
            "pod.alpha.kubernetes.io/init-container-statuses":"[]"}},"spec":{"containers":[],"securityContext":{}}}"#,
        r#"{"kind":"Pod","apiVersion":"v1","metadata":{},"spec":{"containers":[],"securityContext":{}}}"#,
    );
}

#[test]
fn one_address_of_a_pod_is_the_first_of_all() {
    let pod = |status: &str| {
        format!(
            r#"{{"kind":"Pod","apiVersion":"v1","spec":{{"containers":[],"securityContext":{{}}}},"status":{status}}}"#
        )
    };
    for (before, after) in [
        (r#"{"podIP":"1.1.1.1"}"#, r#"{"podIP":"1.1.1.1","podIPs":[{"ip":"1.1.1.1"}]}"#),
        (
            r#"{"podIPs":[{"ip":"::1"},{"ip":"::2"}]}"#,
            r#"{"podIP":"::1","podIPs":[{"ip":"::1"},{"ip":"::2"}]}"#,
        ),
        (
            r#"{"podIP":"1.1.1.1","podIPs":[{"ip":"::1"}]}"#,
            r#"{"podIP":"1.1.1.1","podIPs":[{"ip":"1.1.1.1"}]}"#,
        ),
        (
            r#"{"podIP":"::1","podIPs":[{"ip":"::1"},{"ip":"::2"}]}"#,
            r#"{"podIP":"::1","podIPs":[{"ip":"::1"},{"ip":"::2"}]}"#,
        ),
    ] {
        check_trip(&pod(before), &pod(after));
    }
}

#[test]
fn one_range_of_a_node_is_the_first_of_all() {
    let node = |spec: &str| format!(r#"{{"kind":"Node","apiVersion":"v1","spec":{spec}}}"#);
    for (before, after) in [
        (r#"{"podCIDR":"a"}"#, r#"{"podCIDR":"a","podCIDRs":["a"]}"#),
        (r#"{"podCIDRs":["a","b"]}"#, r#"{"podCIDR":"a","podCIDRs":["a","b"]}"#),
        (r#"{"podCIDR":"c","podCIDRs":["a","b"]}"#, r#"{"podCIDR":"c","podCIDRs":["c"]}"#),
    ] {
        check_trip(&node(before), &node(after));
    }
}

#[test]
fn texts_of_a_secret_end_up_in_its_data() {
    check_trip(
        r#"{"kind":"Secret","apiVersion":"v1","data":{"a":"eA==","b":"eQ=="},"stringData":{"b":"z","c":""}}"#,
        r#"{"kind":"Secret","apiVersion":"v1","data":{"a":"eA==","b":"eg==","c":""}}"#,
    );
}

#[test]
fn what_the_internal_type_cannot_leave_out_comes_back_as_zero() {
    check_trip(
        r#"{"kind":"Deployment","apiVersion":"apps/v1","spec":{"selector":null,"strategy":{"rollingUpdate":{}},
            "template":{"spec":{"containers":[],"securityContext":{},"volumes":[{"name":"v","projected":{
            "sources":[{"serviceAccountToken":{"path":"p"}}]}}]}}}}"#,
        r#"{"kind":"Deployment","apiVersion":"apps/v1","spec":{"replicas":0,"selector":null,
            "strategy":{"rollingUpdate":{"maxUnavailable":0,"maxSurge":0}},
            "template":{"spec":{"containers":[],"securityContext":{},"volumes":[{"name":"v","projected":{
            "sources":[{"serviceAccountToken":{"path":"p","expirationSeconds":0}}]}}]}}}}"#,
    );
    check_trip(
        r#"{"kind":"APIService","apiVersion":"apiregistration.k8s.io/v1","spec":{"service":{"name":"s"}}}"#,
        r#"{"kind":"APIService","apiVersion":"apiregistration.k8s.io/v1","spec":{"service":{"name":"s","port":0}}}"#,
    );
}

#[test]
fn a_deployment_keeps_the_revision_to_roll_back_to_as_a_number() {
    let deployment = |annotation: &str| {
        format!(
            r#"{{"kind":"Deployment","apiVersion":"apps/v1","metadata":{{"annotations":{{"a":"b"{annotation}}}}},
            "spec":{{"replicas":1,"selector":null,"template":{{"spec":{{"containers":[],"securityContext":{{}}}}}}}}}}"#
        )
    };
    let key = r#","deprecated.deployment.rollback.to":"#;
    check_trip(&deployment(&format!("{key}\"+07\"")), &deployment(&format!("{key}\"7\"")));
    check_trip(&deployment(&format!("{key}\"\"")), &deployment(""));
    assert_eq!(
        refusal(&deployment(&format!("{key}\"x\""))),
        "failed to parse annotation[deprecated.deployment.rollback.to]=x as int64: strconv.ParseInt: parsing \"x\": invalid syntax"
    );
}

#[test]
fn a_daemon_set_always_says_its_template_generation() {
    let daemon_set = |metadata: &str| {
        format!(
            r#"{{"kind":"DaemonSet","apiVersion":"apps/v1","metadata":{{{metadata}}},"spec":{{"selector":null,
            "template":{{"spec":{{"containers":[],"securityContext":{{}}}}}}}}}}"#
        )
    };
    let generation =
        |text: &str| format!(r#""annotations":{{"deprecated.daemonset.template.generation":"{text}"}}"#);
    check_trip(&daemon_set(""), &daemon_set(&generation("0")));
    check_trip(&daemon_set(&generation("3")), &daemon_set(&generation("3")));
    assert_eq!(
        refusal(&daemon_set(&generation("99999999999999999999"))),
        "strconv.ParseInt: parsing \"99999999999999999999\": value out of range"
    );
}

#[test]
fn claims_of_a_stateful_set_say_their_kind() {
    let stateful_set = |claim: &str| {
        format!(
            r#"{{"kind":"StatefulSet","apiVersion":"apps/v1","spec":{{"replicas":1,"selector":null,"serviceName":"",
            "template":{{"spec":{{"containers":[],"securityContext":{{}}}}}},
            "volumeClaimTemplates":[{{{claim}"metadata":{{"name":"a"}}}}]}}}}"#
        )
    };
    let said = r#""kind":"PersistentVolumeClaim","apiVersion":"v1","#;
    check_trip(&stateful_set(""), &stateful_set(said));
    check_trip(&stateful_set(r#""kind":"X","apiVersion":"y/v1","#), &stateful_set(said));
}

#[test]
fn annotations_of_conversions_are_nobodys_own() {
    check_trip(
        r#"{"kind":"HorizontalPodAutoscaler","apiVersion":"autoscaling/v2","metadata":{"annotations":{"a":"b",
            "autoscaling.alpha.kubernetes.io/metrics":"[]","autoscaling.alpha.kubernetes.io/scale-up-tolerance":"1"}}}"#,
        r#"{"kind":"HorizontalPodAutoscaler","apiVersion":"autoscaling/v2","metadata":{"annotations":{"a":"b"}}}"#,
    );
}
