use pintle_codec::table::Completed;

use crate::framework::columns::testing::{cells, check, object};
use crate::framework::columns::{self};

const POD: &str = "core/v1.Pod";

/// The cells of a pod up to its restarts.
#[track_caller]
fn pod(metadata: &str, spec: &str, status: &str, shown: &str) {
    let text = format!(r#"{{"metadata":{{"name":"p"{metadata}}},"spec":{{{spec}}},"status":{{{status}}}}}"#);
    let found = cells(POD, &object(POD, &text));
    let found: Vec<&str> = found.iter().map(|cell| cell.as_str().unwrap()).collect();
    assert_eq!(found[1..4].join(" | "), shown, "{text}");
}

const TWO: &str = r#""containers":[{"name":"a"},{"name":"b"}]"#;

#[test]
fn a_pod_shows_its_phase_or_the_reason_it_gives() {
    pod("", TWO, r#""phase":"Pending""#, "0/2 | Pending | 0");
    pod("", TWO, r#""phase":"Failed","reason":"Evicted""#, "0/2 | Evicted | 0");
    let gated = r#""phase":"Pending","conditions":[{"type":"PodScheduled","status":"False","reason":"SchedulingGated"}]"#;
    pod("", TWO, gated, "0/2 | SchedulingGated | 0");
}

#[test]
fn ready_containers_and_restarts_are_counted() {
    let status = r#""phase":"Running","containerStatuses":[
        {"name":"a","ready":true,"restartCount":3,"state":{"running":{}},
            "lastState":{"terminated":{"exitCode":1,"finishedAt":"2026-01-10T23:55:00Z"}}},
        {"name":"b","ready":false,"restartCount":1,"state":{"running":{}},
            "lastState":{"terminated":{"exitCode":1,"finishedAt":"2026-01-10T22:00:00Z"}}}]"#;
    pod("", TWO, status, "1/2 | Running | 4 (5m ago)");
    let status = r#""phase":"Running","containerStatuses":[{"name":"a","restartCount":2,"state":{}}]"#;
    pod("", TWO, status, "0/2 | Running | 2");
}

#[test]
fn the_first_containers_trouble_is_shown() {
    let statuses = |first: &str, second: &str| {
        format!(
            r#""phase":"Running","containerStatuses":[{{"name":"a","state":{first}}},{{"name":"b","state":{second}}}]"#
        )
    };
    let crash = r#"{"waiting":{"reason":"CrashLoopBackOff"}}"#;
    let pull = r#"{"waiting":{"reason":"ImagePullBackOff"}}"#;
    pod("", TWO, &statuses(crash, pull), "0/2 | CrashLoopBackOff | 0");
    pod("", TWO, &statuses(r#"{"waiting":{}}"#, pull), "0/2 | ImagePullBackOff | 0");
    pod("", TWO, &statuses(r#"{"terminated":{"exitCode":2}}"#, pull), "0/2 | ExitCode:2 | 0");
    pod("", TWO, &statuses(r#"{"terminated":{"exitCode":2,"signal":9}}"#, "{}"), "0/2 | Signal:9 | 0");
    pod("", TWO, &statuses(r#"{"terminated":{"exitCode":1,"reason":"Error"}}"#, "{}"), "0/2 | Error | 0");
}

#[test]
fn a_pod_has_not_completed_while_a_container_runs() {
    let statuses = |second: &str, conditions: &str| {
        format!(
            r#""phase":"Running","conditions":[{conditions}],"containerStatuses":[
                {{"name":"a","state":{{"terminated":{{"exitCode":0,"reason":"Completed"}}}}}},{second}]"#
        )
    };
    let running = r#"{"name":"b","ready":true,"state":{"running":{}}}"#;
    let ready = r#"{"type":"Ready","status":"True"}"#;
    pod("", TWO, &statuses(running, ready), "1/2 | Running | 0");
    pod("", TWO, &statuses(running, ""), "1/2 | NotReady | 0");
    let failed = r#"{"name":"b","state":{"terminated":{"exitCode":3}}}"#;
    pod("", TWO, &statuses(failed, ""), "0/2 | ExitCode:3 | 0");
    let done = r#"{"name":"b","state":{"terminated":{"exitCode":0,"reason":"Completed"}}}"#;
    pod("", TWO, &statuses(done, ""), "0/2 | Completed | 0");
}

#[test]
fn init_containers_come_first() {
    let spec = format!(r#"{TWO},"initContainers":[{{"name":"x"}},{{"name":"y"}}]"#);
    let states = |first: &str, second: &str| {
        format!(
            r#""phase":"Pending","initContainerStatuses":[{{"name":"x","restartCount":2,"state":{first}}},
                {{"name":"y","restartCount":3,"state":{second}}}],
                "containerStatuses":[{{"name":"a","state":{{"waiting":{{"reason":"PodInitializing"}}}}}}]"#
        )
    };
    let done = r#"{"terminated":{"exitCode":0}}"#;
    let waiting = r#"{"waiting":{"reason":"PodInitializing"}}"#;
    pod("", &spec, &states(waiting, waiting), "0/2 | Init:0/2 | 2");
    pod("", &spec, &states(done, waiting), "0/2 | Init:1/2 | 5");
    pod("", &spec, &states(done, r#"{"running":{}}"#), "0/2 | Init:1/2 | 5");
    pod(
        "",
        &spec,
        &states(r#"{"waiting":{"reason":"ErrImagePull"}}"#, waiting),
        "0/2 | Init:ErrImagePull | 2",
    );
    pod("", &spec, &states(r#"{"terminated":{"exitCode":4}}"#, waiting), "0/2 | Init:ExitCode:4 | 2");
    pod(
        "",
        &spec,
        &states(r#"{"terminated":{"exitCode":4,"signal":9}}"#, waiting),
        "0/2 | Init:Signal:9 | 2",
    );
    let reason = r#"{"terminated":{"exitCode":4,"reason":"OOMKilled"}}"#;
    pod("", &spec, &states(reason, waiting), "0/2 | Init:OOMKilled | 2");
    // Once they are done, what they did is forgotten.
    pod("", &spec, &states(done, done), "0/2 | PodInitializing | 0");
    let initialized = format!(
        r#"{},"conditions":[{{"type":"Initialized","status":"True"}}]"#,
        states(waiting, waiting).replace("PodInitializing\"}}}]", "Creating\"}}}]")
    );
    pod("", &spec, &initialized, "0/2 | Creating | 0");
}

#[test]
fn sidecars_count_as_containers() {
    let spec = format!(r#"{TWO},"initContainers":[{{"name":"x","restartPolicy":"Always"}},{{"name":"y"}}]"#);
    let states = |sidecar: &str| {
        format!(
            r#""phase":"Running","initContainerStatuses":[
                {{"name":"x","restartCount":2,{sidecar},"state":{{"running":{{}}}},
                    "lastState":{{"terminated":{{"exitCode":1,"finishedAt":"2026-01-10T23:59:50Z"}}}}}},
                {{"name":"y","restartCount":4,"state":{{"terminated":{{"exitCode":0}}}}}}],
                "containerStatuses":[{{"name":"a","restartCount":1,"ready":true,"state":{{"running":{{}}}}}}]"#
        )
    };
    pod("", &spec, &states(r#""started":true,"ready":true"#), "2/3 | Running | 3 (10s ago)");
    pod("", &spec, &states(r#""started":true,"ready":false"#), "1/3 | Running | 3 (10s ago)");
    pod("", &spec, &states(r#""started":false,"ready":false"#), "0/3 | Init:0/2 | 2 (10s ago)");
}

#[test]
fn a_pod_that_is_being_deleted_is_terminating_unless_it_has_ended() {
    let deleted = r#","deletionTimestamp":"2026-01-10T00:00:00Z""#;
    pod(deleted, TWO, r#""phase":"Running""#, "0/2 | Terminating | 0");
    pod(deleted, TWO, r#""phase":"Running","reason":"NodeLost""#, "0/2 | Unknown | 0");
    pod(deleted, TWO, r#""phase":"Succeeded""#, "0/2 | Succeeded | 0");
}

#[test]
fn a_pod_shows_where_it_is_when_there_is_room() {
    check(
        POD,
        r#"{"metadata":{"name":"p","creationTimestamp":"2026-01-10T12:00:00Z"}}"#,
        r#"["p","0/0","","0","12h","<none>","<none>","<none>","<none>"]"#,
    );
    let object = r#"{"metadata":{"name":"p"},
        "spec":{"nodeName":"n","readinessGates":[{"conditionType":"x"},{"conditionType":"y"}]},
        "status":{"podIPs":[{"ip":"1.1.1.1"},{"ip":"fd00::1"}],"nominatedNodeName":"m",
            "conditions":[{"type":"x","status":"True"},{"type":"y","status":"False"}]}}"#;
    check(POD, object, r#"["p","0/0","","0","<unknown>","1.1.1.1","n","m","1/2"]"#);
    let object = r#"{"metadata":{"name":"p"},"status":{"podIP":"2.2.2.2","podIPs":[{"ip":"1.1.1.1"}]}}"#;
    check(POD, object, r#"["p","0/0","","0","<unknown>","2.2.2.2","<none>","<none>","<none>"]"#);
}

#[test]
fn a_pod_that_has_ended_is_completed() {
    let completed = |phase: &str| {
        let pod = object(POD, &format!(r#"{{"metadata":{{}},"status":{{"phase":"{phase}"}}}}"#));
        columns::of(pintle_schema::find(POD).unwrap()).completed(&pod)
    };
    assert_eq!(completed("Running"), None);
    let failed = Completed { reason: "Failed", message: "The pod failed." };
    assert_eq!(completed("Failed"), Some(failed));
    let succeeded = Completed { reason: "Succeeded", message: "The pod has completed successfully." };
    assert_eq!(completed("Succeeded"), Some(succeeded));
}

#[test]
fn nodes_show_their_status_and_roles() {
    let kind = "core/v1.Node";
    let none = r#""<none>","<none>","<unknown>","<unknown>","<unknown>""#;
    check(
        kind,
        r#"{"metadata":{"name":"n"}}"#,
        &format!(r#"["n","Unknown","<none>","<unknown>","",{none}]"#),
    );
    for (status, shown) in [("True", "Ready"), ("False", "NotReady"), ("Unknown", "NotReady")] {
        let object = format!(
            r#"{{"metadata":{{"name":"n","labels":{{"node-role.kubernetes.io/worker":"","kubernetes.io/role":"etcd",
                "node-role.kubernetes.io/":"x","node-role.kubernetes.io/etcd":"y","other":"z"}}}},
                "spec":{{"unschedulable":true}},
                "status":{{"conditions":[{{"type":"Other","status":"X"}},{{"type":"Ready","status":"{status}"}}]}}}}"#
        );
        let cells = format!(r#"["n","{shown},SchedulingDisabled","etcd,worker","<unknown>","",{none}]"#);
        check(kind, &object, &cells);
    }
}

#[test]
fn nodes_show_their_addresses_and_system() {
    let object = r#"{"metadata":{"name":"n"},"status":{"addresses":[{"type":"Hostname","address":"h"},
            {"type":"InternalIP","address":"10.0.0.1"},{"type":"InternalIP","address":"10.0.0.2"},
            {"type":"ExternalIP","address":"1.1.1.1"}],
        "nodeInfo":{"kubeletVersion":"v1.36.4","osImage":"OS","kernelVersion":"6.1","containerRuntimeVersion":"c://2",
            "architecture":"arm64"}}}"#;
    let cells =
        r#"["n","Unknown","<none>","<unknown>","v1.36.4","10.0.0.1","1.1.1.1","OS","6.1 (arm64)","c://2"]"#;
    check("core/v1.Node", object, cells);
}

#[test]
fn services_show_how_they_are_reached() {
    for (spec, status, shown) in [
        (r#""type":"ClusterIP""#, "", r#""ClusterIP","<none>","<none>","<none>""#),
        (
            r#""type":"ClusterIP","clusterIPs":["10.0.0.1","fd00::1"],"externalIPs":["1.1.1.1","2.2.2.2"],
                "ports":[{"port":53,"protocol":"UDP"},{"port":80,"protocol":"TCP"}]"#,
            "",
            r#""ClusterIP","10.0.0.1","1.1.1.1,2.2.2.2","53/UDP,80/TCP""#,
        ),
        (
            r#""type":"NodePort","ports":[{"port":80,"nodePort":30080,"protocol":"TCP"}]"#,
            "",
            r#""NodePort","<none>","<none>","80:30080/TCP""#,
        ),
        (r#""type":"LoadBalancer""#, "", r#""LoadBalancer","<none>","<pending>","<none>""#),
        (
            r#""type":"LoadBalancer""#,
            r#"{"ip":"9.9.9.9"},{"hostname":"a-very-long-name-of-a-host"},{"ip":"3.3.3.3"}"#,
            r#""LoadBalancer","<none>","3.3.3.3,9.9.9.9,a-very-long-name-of-a-host","<none>""#,
        ),
        (
            r#""type":"LoadBalancer","externalIPs":["1.1.1.1"]"#,
            r#"{"ip":"9.9.9.9"}"#,
            r#""LoadBalancer","<none>","9.9.9.9,1.1.1.1","<none>""#,
        ),
        (
            r#""type":"LoadBalancer","externalIPs":["1.1.1.1"]"#,
            "",
            r#""LoadBalancer","<none>","1.1.1.1","<none>""#,
        ),
        (r#""type":"ExternalName","externalName":"x.y""#, "", r#""ExternalName","<none>","x.y","<none>""#),
        ("", "", r#""","<none>","<unknown>","<none>""#),
    ] {
        let object = format!(
            r#"{{"metadata":{{"name":"s"}},"spec":{{{spec}}},"status":{{"loadBalancer":{{"ingress":[{status}]}}}}}}"#
        );
        check("core/v1.Service", &object, &format!(r#"["s",{shown},"<unknown>","<none>"]"#));
    }
}

#[test]
fn endpoints_show_the_first_three_addresses() {
    for (subsets, shown) in [
        ("", "<none>"),
        (r#"{"addresses":[{"ip":"1.1.1.1"}]}"#, "1.1.1.1"),
        (
            r#"{"addresses":[{"ip":"1.1.1.1"},{"ip":"fd00::1"}],"ports":[{"port":80}]}"#,
            "1.1.1.1:80,[fd00::1]:80",
        ),
        (
            r#"{"addresses":[{"ip":"1"},{"ip":"2"}],"ports":[{"port":80},{"port":81}]},{"addresses":[{"ip":"3"}]}"#,
            "1:80,2:80,1:81 + 2 more...",
        ),
        (r#"{"notReadyAddresses":[{"ip":"1"}],"ports":[{"port":80}]}"#, ""),
    ] {
        let object = format!(r#"{{"metadata":{{"name":"e"}},"subsets":[{subsets}]}}"#);
        check("core/v1.Endpoints", &object, &format!(r#"["e",{shown:?},"<unknown>"]"#));
    }
}

#[test]
fn events_of_both_generations_say_when_they_were_seen() {
    for (times, last, first, count) in [
        ("", "<unknown>", "<unknown>", 1),
        (
            r#""firstTimestamp":"2026-01-10T23:50:00Z","lastTimestamp":"2026-01-10T23:59:50Z","count":6"#,
            "10s",
            "10m",
            6,
        ),
        (r#""firstTimestamp":"2026-01-10T23:50:00Z""#, "10m", "10m", 1),
        (r#""eventTime":"2026-01-10T23:59:30.000000Z""#, "30s", "30s", 1),
        (
            r#""eventTime":"2026-01-10T23:59:30.000000Z","series":{"count":4,"lastObservedTime":"2026-01-10T23:59:58.000000Z"}"#,
            "2s",
            "30s",
            4,
        ),
    ] {
        let comma = if times.is_empty() { "" } else { "," };
        let object = format!(
            r#"{{"metadata":{{"name":"e"}},"involvedObject":{{"kind":"Pod","name":"p","fieldPath":"f"}},"reason":"R",
                "type":"Normal","message":" said \n","source":{{"component":"c","host":"h"}}{comma}{times}}}"#
        );
        let cells = format!(r#"["{last}","Normal","R","pod/p","f","c, h","said","{first}",{count},"e"]"#);
        check("core/v1.Event", &object, &cells);
    }
    let object = r#"{"metadata":{"name":"e"},"involvedObject":{"kind":"Node"},"reportingComponent":"r","reportingInstance":"i"}"#;
    check("core/v1.Event", object, r#"["<unknown>","","","node","","r, i","","<unknown>",1,"e"]"#);
}

#[test]
fn volumes_show_their_claim_and_class() {
    let kind = "core/v1.PersistentVolume";
    let cells = r#"["v","0","","","","","","<unset>","","<unknown>","<unset>"]"#;
    check(kind, r#"{"metadata":{"name":"v"}}"#, cells);
    let object = r#"{"metadata":{"name":"v","annotations":{"volume.beta.kubernetes.io/storage-class":"old"}},
        "spec":{"capacity":{"storage":"5Gi"},"accessModes":["ReadWriteMany","ReadWriteOnce","ReadWriteMany"],
            "persistentVolumeReclaimPolicy":"Retain","claimRef":{"namespace":"n","name":"c"},
            "storageClassName":"new","volumeAttributesClassName":"a","volumeMode":"Block"},
        "status":{"phase":"Bound","reason":"r"}}"#;
    check(kind, object, r#"["v","5Gi","RWO,RWX","Retain","Bound","n/c","old","a","r","<unknown>","Block"]"#);
    let object =
        r#"{"metadata":{"name":"v","deletionTimestamp":"2026-01-01T00:00:00Z"},"status":{"phase":"Bound"}}"#;
    check(kind, object, r#"["v","0","","","Terminating","","","<unset>","","<unknown>","<unset>"]"#);
}

#[test]
fn claims_show_what_they_got_once_they_are_bound() {
    let kind = "core/v1.PersistentVolumeClaim";
    let object = |volume: &str| {
        format!(
            r#"{{"metadata":{{"name":"c"}},"spec":{{"storageClassName":"s","volumeMode":"Filesystem"{volume}}},
                "status":{{"phase":"Bound","capacity":{{"storage":"1Gi"}},"accessModes":["ReadWriteOncePod","ReadOnlyMany"]}}}}"#
        )
    };
    check(kind, &object(""), r#"["c","Bound","","","","s","<unset>","<unknown>","Filesystem"]"#);
    let cells = r#"["c","Bound","v","1Gi","ROX,RWOP","s","<unset>","<unknown>","Filesystem"]"#;
    check(kind, &object(r#","volumeName":"v""#), cells);
}

#[test]
fn quotas_show_requests_apart_from_limits() {
    let kind = "core/v1.ResourceQuota";
    check(kind, r#"{"metadata":{"name":"q"}}"#, r#"["q","","","<unknown>"]"#);
    let object = r#"{"metadata":{"name":"q"},"status":{"hard":{"pods":"10","limits.cpu":"2","limits":"1","requests.cpu":"1"},
        "used":{"pods":"3","limits.cpu":"500m"}}}"#;
    let cells = r#"["q","limits: 0/1, pods: 3/10, requests.cpu: 0/1","limits.cpu: 500m/2","<unknown>"]"#;
    check(kind, object, cells);
}

#[test]
fn the_simple_kinds() {
    let object = r#"{"metadata":{"name":"a"},"data":{"x":"1"},"binaryData":{"y":"YQ=="}}"#;
    check("core/v1.ConfigMap", object, r#"["a",2,"<unknown>"]"#);
    let object = r#"{"metadata":{"name":"a"},"type":"Opaque","data":{"x":"YQ=="}}"#;
    check("core/v1.Secret", object, r#"["a","Opaque",1,"<unknown>"]"#);
    let object = r#"{"metadata":{"name":"a"},"status":{"phase":"Active"}}"#;
    check("core/v1.Namespace", object, r#"["a","Active","<unknown>"]"#);
    check("core/v1.ServiceAccount", r#"{"metadata":{"name":"a"}}"#, r#"["a","<unknown>"]"#);
    let object = r#"{"metadata":{"name":"a"},"template":{"metadata":{"labels":{"k":"v"}},
        "spec":{"containers":[{"name":"c","image":"i"}]}}}"#;
    check("core/v1.PodTemplate", object, r#"["a","c","i","k=v"]"#);
    let object = r#"{"metadata":{"name":"a"},"spec":{"replicas":3,"selector":{"k":"v"},
        "template":{"spec":{"containers":[{"name":"c","image":"i"}]}}},"status":{"replicas":2,"readyReplicas":1}}"#;
    check("core/v1.ReplicationController", object, r#"["a",3,2,1,"<unknown>","c","i","k=v"]"#);
    check("core/v1.LimitRange", r#"{"metadata":{"name":"a"}}"#, r#"["a","0001-01-01T00:00:00Z"]"#);
}

#[test]
fn components_are_healthy_or_not() {
    let kind = "core/v1.ComponentStatus";
    check(kind, r#"{"metadata":{"name":"a"}}"#, r#"["a","Unknown","",""]"#);
    for (status, shown) in [("True", "Healthy"), ("False", "Unhealthy"), ("", "Unhealthy")] {
        let object = format!(
            r#"{{"metadata":{{"name":"a"}},
                "conditions":[{{"type":"Healthy","status":"{status}","message":"m","error":"e"}}]}}"#
        );
        check(kind, &object, &format!(r#"["a",{shown:?},"m","e"]"#));
    }
}
