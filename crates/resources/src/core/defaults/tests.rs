//! What the core group fills in.

use pintle_features::{Feature, Features};

use super::round_amount;
use crate::framework::defaults::Settings;
use crate::framework::defaults::tests::{check, check_with};

#[test]
fn a_pod_is_completed() {
    check(
        "core/v1.Pod",
        r#"{"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"nginx:1.25"}]}}"#,
        r#"{"metadata":{"name":"p"},"spec":{
            "containers":[{"name":"c","image":"nginx:1.25","resources":{},"imagePullPolicy":"IfNotPresent",
                "terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File"}],
            "restartPolicy":"Always","terminationGracePeriodSeconds":30,"dnsPolicy":"ClusterFirst",
            "securityContext":{},"schedulerName":"default-scheduler","enableServiceLinks":true},"status":{}}"#,
    );
}

#[test]
fn what_a_pod_says_stays() {
    let pod = r#"{"metadata":{},"spec":{"containers":null,"restartPolicy":"Never","terminationGracePeriodSeconds":0,
        "dnsPolicy":"None","securityContext":{"runAsUser":0},"schedulerName":"own","enableServiceLinks":false},"status":{}}"#;
    check("core/v1.Pod", pod, pod);
}

#[test]
fn a_template_gets_what_every_pod_spec_gets_and_no_more() {
    check(
        "core/v1.PodTemplate",
        r#"{"template":{"spec":{"hostNetwork":true,"containers":[{"name":"c","ports":[{"containerPort":80}],
            "resources":{"limits":{"cpu":"1"}}}]}}}"#,
        r#"{"metadata":{},"template":{"metadata":{},"spec":{"hostNetwork":true,
            "containers":[{"name":"c","ports":[{"containerPort":80,"protocol":"TCP"}],
                "resources":{"limits":{"cpu":"1"}},"imagePullPolicy":"IfNotPresent",
                "terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File"}],
            "restartPolicy":"Always","terminationGracePeriodSeconds":30,"dnsPolicy":"ClusterFirst",
            "securityContext":{},"schedulerName":"default-scheduler"}}}"#,
    );
}

/// A pod's spec, with everything else that is filled in given.
#[track_caller]
fn check_pod(input: &str, expected: &str) {
    let given = r#""restartPolicy":"Never","terminationGracePeriodSeconds":1,"dnsPolicy":"None","securityContext":{},
        "schedulerName":"s","enableServiceLinks":false"#;
    let pod = |spec: &str| format!(r#"{{"metadata":{{}},"spec":{{{spec},{given}}},"status":{{}}}}"#);
    check("core/v1.Pod", &pod(input), &pod(expected));
}

/// A container's fields beside those given here.
fn container(fields: &str) -> String {
    format!(
        r#"{{"name":"c","imagePullPolicy":"Never","terminationMessagePath":"p","terminationMessagePolicy":"File",{fields}}}"#
    )
}

#[test]
fn requests_come_from_limits() {
    let before = container(r#""resources":{"limits":{"cpu":"2","memory":"1Gi"},"requests":{"cpu":"1"}}"#);
    let after = container(
        r#""resources":{"limits":{"cpu":"2","memory":"1Gi"},"requests":{"cpu":"1","memory":"1Gi"}}"#,
    );
    check_pod(
        &format!(r#""containers":[{before}],"initContainers":[{before}]"#),
        &format!(r#""containers":[{after}],"initContainers":[{after}]"#),
    );
}

#[test]
fn limits_are_rounded_when_they_become_requests() {
    let before = container(r#""resources":{"limits":{"cpu":"1500u"}}"#);
    let after = container(r#""resources":{"limits":{"cpu":"2m"},"requests":{"cpu":"2m"}}"#);
    check_pod(&format!(r#""containers":[{before}]"#), &format!(r#""containers":[{after}]"#));
}

#[test]
fn ports_on_the_hosts_network_are_the_hosts() {
    let before =
        container(r#""resources":{},"ports":[{"containerPort":80},{"containerPort":81,"hostPort":8081}]"#);
    let after = container(
        r#""resources":{},"ports":[{"hostPort":80,"containerPort":80,"protocol":"TCP"},
            {"hostPort":8081,"containerPort":81,"protocol":"TCP"}]"#,
    );
    check_pod(
        &format!(r#""hostNetwork":true,"containers":[{before}],"initContainers":[{before}]"#),
        &format!(r#""hostNetwork":true,"containers":[{after}],"initContainers":[{after}]"#),
    );
    let before = container(r#""resources":{},"ports":[{"containerPort":80}]"#);
    let after = container(r#""resources":{},"ports":[{"containerPort":80,"protocol":"TCP"}]"#);
    check_pod(&format!(r#""containers":[{before}]"#), &format!(r#""containers":[{after}]"#));
}

#[test]
fn images_are_pulled_always_if_they_may_change() {
    for (image, policy) in [
        ("nginx", "Always"),
        ("nginx:latest", "Always"),
        ("nginx:1", "IfNotPresent"),
        ("", "IfNotPresent"),
        ("Bad Name", "IfNotPresent"),
    ] {
        let rest = r#""resources":{},"terminationMessagePath":"p","terminationMessagePolicy":"FallbackToLogsOnError""#;
        let omitted = if image.is_empty() { String::new() } else { format!(r#""image":"{image}","#) };
        for kind in ["core/v1.Container", "core/v1.EphemeralContainer"] {
            check(
                kind,
                &format!(r#"{{"name":"c","image":"{image}",{rest}}}"#),
                &format!(r#"{{"name":"c",{omitted}{rest},"imagePullPolicy":"{policy}"}}"#),
            );
        }
        check(
            "core/v1.Volume",
            &format!(r#"{{"name":"v","image":{{"reference":"{image}"}}}}"#),
            &format!(r#"{{"name":"v","image":{{{omitted}"pullPolicy":"{policy}"}}}}"#)
                .replace(r#""image":""#, r#""reference":""#),
        );
    }
}

#[test]
fn probes_and_handlers_are_completed() {
    let timing = r#""timeoutSeconds":1,"periodSeconds":10,"successThreshold":1,"failureThreshold":3"#;
    check(
        "core/v1.Probe",
        r#"{"httpGet":{"port":80},"initialDelaySeconds":5}"#,
        &format!(
            r#"{{"httpGet":{{"path":"/","port":80,"scheme":"HTTP"}},"initialDelaySeconds":5,{timing}}}"#
        ),
    );
    check(
        "core/v1.Probe",
        r#"{"grpc":{"port":80}}"#,
        &format!(r#"{{"grpc":{{"port":80,"service":""}},{timing}}}"#),
    );
    check(
        "core/v1.Lifecycle",
        r#"{"preStop":{"httpGet":{"port":"a","scheme":"HTTPS"}},"postStart":{"exec":{}}}"#,
        r#"{"preStop":{"httpGet":{"path":"/","port":"a","scheme":"HTTPS"}},"postStart":{"exec":{}}}"#,
    );
}

#[test]
fn references_to_fields_and_files_are_completed() {
    check(
        "core/v1.EnvVar",
        r#"{"name":"a","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}}"#,
        r#"{"name":"a","valueFrom":{"fieldRef":{"apiVersion":"v1","fieldPath":"metadata.name"}}}"#,
    );
    check(
        "core/v1.EnvVarSource",
        r#"{"fileKeyRef":{"volumeName":"v","path":"p","key":"k"}}"#,
        r#"{"fileKeyRef":{"volumeName":"v","path":"p","key":"k","optional":false}}"#,
    );
}

#[test]
fn volumes_are_completed() {
    for (before, after) in [
        ("", r#""emptyDir":{}"#),
        (r#""hostPath":{"path":"/"}"#, r#""hostPath":{"path":"/","type":""}"#),
        (r#""secret":{"secretName":"s"}"#, r#""secret":{"secretName":"s","defaultMode":420}"#),
        (r#""secret":{"defaultMode":0}"#, r#""secret":{"defaultMode":0}"#),
        (r#""configMap":{"name":"c"}"#, r#""configMap":{"name":"c","defaultMode":420}"#),
        (
            r#""downwardAPI":{"items":[{"path":"p","fieldRef":{"fieldPath":"f"}}]}"#,
            r#""downwardAPI":{"items":[{"path":"p","fieldRef":{"apiVersion":"v1","fieldPath":"f"}}],"defaultMode":420}"#,
        ),
        (
            r#""projected":{"sources":[{"serviceAccountToken":{"path":"t"}},
                {"downwardAPI":{"items":[{"path":"p","fieldRef":{"fieldPath":"f"}}]}},{"secret":{"name":"s"}}]}"#,
            r#""projected":{"sources":[{"serviceAccountToken":{"path":"t","expirationSeconds":3600}},
                {"downwardAPI":{"items":[{"path":"p","fieldRef":{"apiVersion":"v1","fieldPath":"f"}}]}},
                {"secret":{"name":"s"}}],"defaultMode":420}"#,
        ),
        (
            r#""iscsi":{"targetPortal":"t","iqn":"i","lun":0}"#,
            r#""iscsi":{"targetPortal":"t","iqn":"i","lun":0,"iscsiInterface":"default"}"#,
        ),
        (
            r#""rbd":{"monitors":["m"],"image":"i"}"#,
            r#""rbd":{"monitors":["m"],"image":"i","pool":"rbd","user":"admin","keyring":"/etc/ceph/keyring"}"#,
        ),
        (
            r#""azureDisk":{"diskName":"d","diskURI":"u"}"#,
            r#""azureDisk":{"diskName":"d","diskURI":"u","cachingMode":"ReadWrite","fsType":"ext4","readOnly":false,
                "kind":"Shared"}"#,
        ),
        (
            r#""scaleIO":{"gateway":"g","system":"s","secretRef":null}"#,
            r#""scaleIO":{"gateway":"g","system":"s","secretRef":null,"storageMode":"ThinProvisioned","fsType":"xfs"}"#,
        ),
        (
            r#""ephemeral":{"volumeClaimTemplate":{"spec":{"resources":{"requests":{"storage":"1m"}}}}}"#,
            r#""ephemeral":{"volumeClaimTemplate":{"metadata":{},"spec":{"resources":{"requests":{"storage":"1m"}},
                "volumeMode":"Filesystem"}}}"#,
        ),
    ] {
        let comma = if before.is_empty() { "" } else { "," };
        let before = format!(r#"{{"name":"v"{comma}{before}}}"#);
        check("core/v1.Volume", &before, &format!(r#"{{"name":"v",{after}}}"#));
    }
}

#[test]
fn persistent_volumes_and_claims_are_completed() {
    check(
        "core/v1.PersistentVolume",
        r#"{"spec":{"capacity":{"storage":"1500u"},"hostPath":{"path":"/"}}}"#,
        r#"{"metadata":{},"spec":{"capacity":{"storage":"2m"},"hostPath":{"path":"/","type":""},
            "persistentVolumeReclaimPolicy":"Retain","volumeMode":"Filesystem"},"status":{"phase":"Pending"}}"#,
    );
    check(
        "core/v1.PersistentVolume",
        r#"{"spec":{"rbd":{"monitors":[],"image":"i"},"persistentVolumeReclaimPolicy":"Delete","volumeMode":"Block"},
            "status":{"phase":"Bound"}}"#,
        r#"{"metadata":{},"spec":{"rbd":{"monitors":[],"image":"i","pool":"rbd","user":"admin",
            "keyring":"/etc/ceph/keyring"},"persistentVolumeReclaimPolicy":"Delete","volumeMode":"Block"},
            "status":{"phase":"Bound"}}"#,
    );
    check(
        "core/v1.PersistentVolumeClaim",
        "{}",
        r#"{"metadata":{},"spec":{"resources":{},"volumeMode":"Filesystem"},"status":{"phase":"Pending"}}"#,
    );
}

#[test]
fn a_service_is_completed() {
    check(
        "core/v1.Service",
        r#"{"spec":{"ports":[{"port":80},{"port":81,"targetPort":"web","protocol":"UDP"},{"port":82,"targetPort":""}]}}"#,
        r#"{"metadata":{},"spec":{"ports":[{"protocol":"TCP","port":80,"targetPort":80},
            {"protocol":"UDP","port":81,"targetPort":"web"},{"protocol":"TCP","port":82,"targetPort":82}],
            "type":"ClusterIP","sessionAffinity":"None","internalTrafficPolicy":"Cluster"},"status":{"loadBalancer":{}}}"#,
    );
}

#[test]
fn traffic_policies_depend_on_the_type_of_a_service() {
    for (spec, added) in [
        (r#""type":"NodePort""#, r#","externalTrafficPolicy":"Cluster","internalTrafficPolicy":"Cluster""#),
        (
            r#""type":"LoadBalancer""#,
            r#","externalTrafficPolicy":"Cluster","internalTrafficPolicy":"Cluster","allocateLoadBalancerNodePorts":true"#,
        ),
        (
            r#""type":"LoadBalancer","allocateLoadBalancerNodePorts":false,"externalTrafficPolicy":"Local""#,
            r#","internalTrafficPolicy":"Cluster""#,
        ),
        (r#""type":"ExternalName","externalName":"x""#, ""),
        (
            r#""type":"ClusterIP","externalIPs":["1.2.3.4"]"#,
            r#","externalTrafficPolicy":"Cluster","internalTrafficPolicy":"Cluster""#,
        ),
        (r#""type":"ClusterIP","internalTrafficPolicy":"Local""#, ""),
    ] {
        check(
            "core/v1.Service",
            &format!(r#"{{"spec":{{{spec}}}}}"#),
            &format!(
                r#"{{"metadata":{{}},"spec":{{{spec},"sessionAffinity":"None"{added}}},"status":{{"loadBalancer":{{}}}}}}"#
            ),
        );
    }
}

#[test]
fn session_affinity_gets_a_timeout_only_where_it_has_one() {
    let rest = r#""type":"ExternalName""#;
    let default =
        r#""sessionAffinity":"ClientIP","sessionAffinityConfig":{"clientIP":{"timeoutSeconds":10800}}"#;
    for (before, after) in [
        (r#""sessionAffinity":"ClientIP""#, default),
        (r#""sessionAffinity":"ClientIP","sessionAffinityConfig":{"clientIP":{}}"#, default),
        (
            r#""sessionAffinity":"ClientIP","sessionAffinityConfig":{"clientIP":{"timeoutSeconds":5}}"#,
            r#""sessionAffinity":"ClientIP","sessionAffinityConfig":{"clientIP":{"timeoutSeconds":5}}"#,
        ),
        (r#""sessionAffinityConfig":{"clientIP":{"timeoutSeconds":5}}"#, r#""sessionAffinity":"None""#),
    ] {
        check(
            "core/v1.Service",
            &format!(r#"{{"spec":{{{rest},{before}}}}}"#),
            &format!(r#"{{"metadata":{{}},"spec":{{{rest},{after}}},"status":{{"loadBalancer":{{}}}}}}"#),
        );
    }
}

#[test]
fn addresses_of_load_balancers_are_virtual() {
    let ingress = r#"{"loadBalancer":{"ingress":[{"ip":"1.2.3.4"},{"hostname":"h"},{"ip":"1.2.3.5","ipMode":"Proxy"}]}}"#;
    let spec = |kind| {
        format!(
            r#"{{"type":"{kind}","sessionAffinity":"None","internalTrafficPolicy":"Local","externalTrafficPolicy":"Local","allocateLoadBalancerNodePorts":false}}"#
        )
    };
    let service =
        |kind, status: &str| format!(r#"{{"metadata":{{}},"spec":{},"status":{status}}}"#, spec(kind));
    check(
        "core/v1.Service",
        &service("LoadBalancer", ingress),
        &service("LoadBalancer", &ingress.replace(r#""1.2.3.4""#, r#""1.2.3.4","ipMode":"VIP""#)),
    );
    check("core/v1.Service", &service("NodePort", ingress), &service("NodePort", ingress));
}

#[test]
fn a_replication_controller_takes_after_its_template() {
    let template = r#"{"metadata":{"labels":{"a":"b"}},"spec":{"containers":null,"restartPolicy":"Always",
        "terminationGracePeriodSeconds":30,"dnsPolicy":"ClusterFirst","securityContext":{},
        "schedulerName":"default-scheduler"}}"#;
    check(
        "core/v1.ReplicationController",
        r#"{"spec":{"template":{"metadata":{"labels":{"a":"b"}}}}}"#,
        &format!(
            r#"{{"metadata":{{"labels":{{"a":"b"}}}},"spec":{{"replicas":1,"selector":{{"a":"b"}},"template":{template}}},
                "status":{{"replicas":0}}}}"#
        ),
    );
    check(
        "core/v1.ReplicationController",
        &format!(
            r#"{{"metadata":{{"labels":{{"c":"d"}}}},"spec":{{"replicas":0,"selector":{{"e":"f"}},"template":{template}}}}}"#
        ),
        &format!(
            r#"{{"metadata":{{"labels":{{"c":"d"}}}},"spec":{{"replicas":0,"selector":{{"e":"f"}},"template":{template}}},
                "status":{{"replicas":0}}}}"#
        ),
    );
    check(
        "core/v1.ReplicationController",
        "{}",
        r#"{"metadata":{},"spec":{"replicas":1},"status":{"replicas":0}}"#,
    );
}

#[test]
fn a_namespace_carries_its_name() {
    check(
        "core/v1.Namespace",
        r#"{"metadata":{"name":"n","labels":{"kubernetes.io/metadata.name":"other","a":"b"}}}"#,
        r#"{"metadata":{"name":"n","labels":{"a":"b","kubernetes.io/metadata.name":"n"}},"spec":{},
            "status":{"phase":"Active"}}"#,
    );
    check(
        "core/v1.Namespace",
        r#"{"metadata":{"generateName":"n"},"status":{"phase":"Terminating"}}"#,
        r#"{"metadata":{"generateName":"n"},"spec":{},"status":{"phase":"Terminating"}}"#,
    );
}

#[test]
fn a_node_can_give_what_it_has() {
    check(
        "core/v1.NodeStatus",
        r#"{"capacity":{"cpu":"1500u"}}"#,
        r#"{"capacity":{"cpu":"2m"},"allocatable":{"cpu":"2m"},"daemonEndpoints":{"kubeletEndpoint":{"Port":0}},
            "nodeInfo":{"machineID":"","systemUUID":"","bootID":"","kernelVersion":"","osImage":"",
            "containerRuntimeVersion":"","kubeletVersion":"","kubeProxyVersion":"","operatingSystem":"","architecture":""}}"#,
    );
}

#[test]
fn limit_ranges_of_containers_complete_themselves() {
    check(
        "core/v1.LimitRangeItem",
        r#"{"type":"Container","max":{"cpu":"4","memory":"1Gi"},"min":{"cpu":"1u","storage":"1"},"default":{"cpu":"2"}}"#,
        r#"{"type":"Container","max":{"cpu":"4","memory":"1Gi"},"min":{"cpu":"1m","storage":"1"},
            "default":{"cpu":"2","memory":"1Gi"},"defaultRequest":{"cpu":"2","memory":"1Gi","storage":"1"}}"#,
    );
    check("core/v1.LimitRangeItem", r#"{"type":"Container"}"#, r#"{"type":"Container"}"#);
    check(
        "core/v1.LimitRangeItem",
        r#"{"type":"Pod","max":{"cpu":"4"}}"#,
        r#"{"type":"Pod","max":{"cpu":"4"}}"#,
    );
}

#[test]
fn the_rest_is_completed() {
    check("core/v1.Secret", "{}", r#"{"metadata":{},"type":"Opaque"}"#);
    check(
        "core/v1.Endpoints",
        r#"{"subsets":[{"ports":[{"port":1},{"port":2,"protocol":"UDP"}]}]}"#,
        r#"{"metadata":{},"subsets":[{"ports":[{"port":1,"protocol":"TCP"},{"port":2,"protocol":"UDP"}]}]}"#,
    );
    check("core/v1.ConfigMap", "{}", r#"{"metadata":{}}"#);
}

#[test]
fn log_options_name_a_stream_if_there_are_several() {
    let features = Features::default().with(Feature::PodLogsQuerySplitStreams, true);
    let settings = Settings { features, ..Settings::default() };
    check("core/v1.PodLogOptions", "{}", "{}");
    check_with(&settings, "core/v1.PodLogOptions", "{}", r#"{"stream":"All"}"#);
    check_with(&settings, "core/v1.PodLogOptions", r#"{"stream":"Stdout"}"#, r#"{"stream":"Stdout"}"#);
}

#[test]
fn amounts_are_rounded_up_to_thousandths() {
    for (amount, rounded) in [
        ("1n", Some("1m")),
        ("1500u", Some("2m")),
        ("-1500u", Some("-2m")),
        ("1e-6", Some("1e-3")),
        ("999999999n", Some("1")),
        ("1m", None),
        ("0", None),
        ("100M", None),
        ("1Ki", None),
        ("1e3", None),
        ("-1", None),
    ] {
        assert_eq!(round_amount(amount).as_deref(), rounded, "{amount}");
    }
}

/// Resources of a pod and of its containers, before and after.
#[track_caller]
fn check_resources(pod: &str, containers: &[&str], expected: &str) {
    let containers: Vec<_> =
        containers.iter().map(|resources| container(&format!(r#""resources":{resources}"#))).collect();
    let containers = containers.join(",");
    check_pod(
        &format!(r#""containers":[{containers}],"resources":{pod}"#),
        &format!(r#""containers":[{containers}],"resources":{expected}"#),
    );
}

#[test]
fn a_pods_requests_come_from_its_containers_and_then_from_its_limits() {
    check_resources(
        r#"{"limits":{"cpu":"4m","memory":"8Mi"}}"#,
        &[r#"{"requests":{"memory":"1Mi"}}"#, r#"{"requests":{"memory":"5Mi","storage":"1"}}"#],
        r#"{"limits":{"cpu":"4m","memory":"8Mi"},"requests":{"cpu":"4m","memory":"6Mi"}}"#,
    );
    check_resources(
        r#"{"limits":{"cpu":"4m"},"requests":{"cpu":"3m"}}"#,
        &[r#"{"requests":{"cpu":"1m","memory":"1Mi"}}"#],
        r#"{"limits":{"cpu":"4m"},"requests":{"cpu":"3m","memory":"1Mi"}}"#,
    );
    // Without limits nothing is filled in.
    check_resources(r#"{}"#, &[r#"{"requests":{"cpu":"1m"}}"#], r#"{}"#);
    check_resources(
        r#"{"requests":{"cpu":"3m"}}"#,
        &[r#"{"requests":{"memory":"1Mi"}}"#],
        r#"{"requests":{"cpu":"3m"}}"#,
    );
}

#[test]
fn a_pods_limits_of_huge_pages_come_from_its_containers() {
    let pages = r#"{"limits":{"hugepages-2Mi":"2Mi"},"requests":{"hugepages-2Mi":"2Mi"}}"#;
    check_resources(
        r#"{"requests":{"cpu":"1m"}}"#,
        &[pages, pages],
        r#"{"limits":{"hugepages-2Mi":"4Mi"},"requests":{"cpu":"1m","hugepages-2Mi":"4Mi"}}"#,
    );
    check_resources(
        r#"{"limits":{"hugepages-2Mi":"8Mi"}}"#,
        &[pages],
        r#"{"limits":{"hugepages-2Mi":"8Mi"},"requests":{"hugepages-2Mi":"8Mi"}}"#,
    );
    check_resources(
        r#"{"requests":{"hugepages-2Mi":"8Mi"}}"#,
        &[pages],
        r#"{"requests":{"hugepages-2Mi":"8Mi"}}"#,
    );
}

#[test]
fn init_containers_count_as_much_as_they_run_beside_others() {
    let requests = |cpu| container(&format!(r#""resources":{{"requests":{{"cpu":"{cpu}"}}}}"#));
    let staying = requests("1").replace(r#""name":"c""#, r#""name":"c","restartPolicy":"Always""#);
    let spec = format!(
        r#""initContainers":[{},{staying},{}],"containers":[{},{}]"#,
        requests("3"),
        requests("4"),
        requests("2"),
        requests("1")
    );
    check_pod(
        &format!(r#"{spec},"resources":{{"limits":{{"cpu":"9"}}}}"#),
        &format!(r#"{spec},"resources":{{"limits":{{"cpu":"9"}},"requests":{{"cpu":"5"}}}}"#),
    );
}

#[test]
fn without_the_feature_a_pods_own_resources_stay() {
    let features = Features::default().with(Feature::PodLevelResources, false);
    let settings = Settings { features, ..Settings::default() };
    let pod = r#"{"metadata":{},"spec":{"containers":null,"resources":{"limits":{"cpu":"1"}},"restartPolicy":"Never",
        "terminationGracePeriodSeconds":1,"dnsPolicy":"None","securityContext":{},"schedulerName":"s",
        "enableServiceLinks":false},"status":{}}"#;
    check_with(&settings, "core/v1.Pod", pod, pod);
}
