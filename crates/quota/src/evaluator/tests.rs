//! Tables of usage, names, scopes and constraints by resource.

use std::collections::HashMap;

use pintle_features::Feature;
use pintle_meta::quantity::Quantity;

use super::*;

/// Reads `cpu=1,pods=3`.
pub(crate) fn list(text: &str) -> ResourceList {
    let entries = text.split(',').filter(|entry| !entry.is_empty());
    let amount = |entry: &str| {
        let (name, amount) = entry.rsplit_once('=').expect("an amount");
        (name.to_owned(), Quantity::parse(amount).expect("a quantity"))
    };
    entries.map(amount).collect()
}

/// Decodes JSON as a built-in type.
pub(crate) fn object(of: &str, json: &str) -> Value {
    let of = pintle_schema::find(of).expect("the type");
    let decoded = pintle_codec::json::decode(of, json.as_bytes());
    decoded.unwrap_or_else(|error| panic!("{json}: {error}")).value
}

/// At midnight of a day, with some device classes, pods and claims.
#[derive(Default)]
struct Fake {
    classes: HashMap<&'static str, Option<&'static str>>,
    pod: Option<Value>,
    claims: Vec<Value>,
}

impl Surroundings for Fake {
    fn now(&self) -> Time {
        Time::parse("2026-06-01T00:00:00Z").expect("a time")
    }

    fn extended_resource(&self, device_class: &str) -> Option<String> {
        self.classes.get(device_class).copied().flatten().map(str::to_owned)
    }

    fn has_device_class(&self, extended_resource: &str) -> bool {
        let implied = extended_resource.strip_prefix("deviceclass.resource.kubernetes.io/");
        implied.is_some_and(|class| self.classes.contains_key(class))
            || self.classes.values().any(|class| *class == Some(extended_resource))
    }

    fn pod(&self, namespace: &str, name: &str) -> Option<Value> {
        self.pod.clone().filter(|pod| pod.namespace() == namespace && pod.name() == name)
    }

    fn extended_resource_claims(&self, _: &str, _: &str) -> Vec<Value> {
        self.claims.clone()
    }
}

fn evaluators() -> Evaluators {
    Evaluators::new(Features::default(), Arc::new(Fake::default()))
}

fn usage_of(resource: &str, of: &str, json: &str) -> String {
    let evaluators = evaluators();
    let (name, group) = resource.split_once('.').unwrap_or((resource, ""));
    evaluators.of(group, name).usage(&object(of, json)).to_string()
}

fn pod_usage(fields: &str) -> String {
    usage_of("pods", "core/v1.Pod", &format!("{{{fields}}}"))
}

fn container(name: &str, requests: &str, limits: &str) -> String {
    format!(r#"{{"name":"{name}","resources":{{"requests":{{{requests}}},"limits":{{{limits}}}}}}}"#)
}

#[test]
fn a_pod_is_charged_for_requests_and_limits() {
    for (requests, limits, expected) in [
        ("", "", "count/pods=1,pods=1"),
        (r#""cpu":"1m""#, r#""cpu":"2m""#, "count/pods=1,cpu=1m,limits.cpu=2m,pods=1,requests.cpu=1m"),
        (
            r#""memory":"1Mi""#,
            r#""memory":"2Mi""#,
            "count/pods=1,limits.memory=2Mi,memory=1Mi,pods=1,requests.memory=1Mi",
        ),
        (
            r#""ephemeral-storage":"32Mi""#,
            r#""ephemeral-storage":"64Mi""#,
            "count/pods=1,ephemeral-storage=32Mi,limits.ephemeral-storage=64Mi,pods=1,requests.ephemeral-storage=32Mi",
        ),
        (
            r#""hugepages-2Mi":"100Mi""#,
            r#""hugepages-2Mi":"100Mi""#,
            "count/pods=1,hugepages-2Mi=100Mi,pods=1,requests.hugepages-2Mi=100Mi",
        ),
        (
            r#""example.com/gpu":"3""#,
            r#""example.com/gpu":"3""#,
            "count/pods=1,pods=1,requests.example.com/gpu=3",
        ),
        (
            r#""deviceclass.resource.kubernetes.io/fast":"2""#,
            "",
            "count/pods=1,pods=1,requests.deviceclass.resource.kubernetes.io/fast=2",
        ),
        (r#""kubernetes.io/strange":"3""#, "", "count/pods=1,pods=1"),
    ] {
        for list in ["containers", "initContainers"] {
            let spec = format!(r#""spec":{{"{list}":[{}]}}"#, container("c", requests, limits));
            assert_eq!(pod_usage(&spec), expected, "{spec}");
        }
    }
}

/// Returns the charged CPU of a pod with these fields of its spec.
fn charged_cpu(spec: &str, status: &str) -> String {
    let pod = object("core/v1.Pod", &format!(r#"{{"spec":{{{spec}}},"status":{{{status}}}}}"#));
    let usage = evaluators().of("", "pods").usage(&pod);
    let shown = |name: &str| usage.get(name).map(ToString::to_string).unwrap_or("-".into());
    format!("{} {}", shown("requests.cpu"), shown("limits.cpu"))
}

/// Returns a container with a request for CPU and a limit of it; empty ones are left out.
fn cpu(name: &str, request: &str, limit: &str) -> String {
    let part = |amount: &str| match amount {
        "" => String::new(),
        amount => format!(r#""cpu":"{amount}""#),
    };
    container(name, &part(request), &part(limit))
}

#[test]
fn init_containers_and_sidecars_count_as_they_run() {
    let sidecar = |name: &str, request: &str, limit: &str| {
        let plain = cpu(name, request, limit);
        format!(r#"{},"restartPolicy":"Always"}}"#, plain.strip_suffix('}').expect("an object"))
    };
    let of = |containers: &[String], init: &[String]| {
        let spec =
            format!(r#""containers":[{}],"initContainers":[{}]"#, containers.join(","), init.join(","));
        charged_cpu(&spec, "")
    };
    let plain = |name, request, limit| cpu(name, request, limit);
    assert_eq!(of(&[plain("a", "2", "3"), plain("b", "1", "4")], &[]), "3 7");
    assert_eq!(of(&[plain("a", "2", "3")], &[plain("i", "1", "9")]), "2 9");
    assert_eq!(of(&[plain("a", "2", "3")], &[plain("i", "3", ""), plain("j", "4", "")]), "4 3");
    assert_eq!(of(&[plain("a", "2", "2")], &[sidecar("s", "1", "1")]), "3 3");
    let both = [plain("i", "4", "4"), sidecar("s", "2", "2"), plain("j", "4", "4")];
    assert_eq!(of(&[plain("a", "2", "2"), plain("b", "1", "1")], &both), "6 6");
}

#[test]
fn overhead_counts_with_requests_and_with_limits_that_there_are() {
    let spec = |container: String| format!(r#""overhead":{{"cpu":"250m"}},"containers":[{container}]"#);
    assert_eq!(charged_cpu(&spec(cpu("a", "1", "2")), ""), "1250m 2250m");
    assert_eq!(charged_cpu(&spec(cpu("a", "1", "")), ""), "1250m -");
    assert_eq!(charged_cpu(&spec(cpu("a", "", "0")), ""), "250m 0");
}

#[test]
fn a_pod_s_own_resources_stand_for_those_of_its_containers() {
    let own = r#""resources":{"requests":{"cpu":"5"},"limits":{"cpu":"7","hugepages-2Mi":"4Mi"}}"#;
    let spec = format!(r#"{own},"containers":[{}]"#, cpu("a", "1", "2"));
    assert_eq!(charged_cpu(&spec, ""), "5 7");
    let off = Features::default().with(Feature::PodLevelResources, false);
    let evaluators = Evaluators::new(off, Arc::new(Fake::default()));
    let pod = object("core/v1.Pod", &format!(r#"{{"spec":{{{spec}}}}}"#));
    let usage = evaluators.of("", "pods").usage(&pod);
    assert_eq!(usage.to_string(), "count/pods=1,cpu=1,limits.cpu=2,pods=1,requests.cpu=1");
}

#[test]
fn a_resize_is_charged_before_it_is_done_and_given_back_after() {
    let spec = format!(r#""containers":[{}]"#, cpu("a", "2", "2"));
    let status = |allocated: &str, actual: &str, conditions: &str| {
        let resources = format!(r#"{{"requests":{{"cpu":"{actual}"}},"limits":{{"cpu":"{actual}"}}}}"#);
        let container =
            format!(r#"{{"name":"a","allocatedResources":{{"cpu":"{allocated}"}},"resources":{resources}}}"#);
        format!(r#""containerStatuses":[{container}],"conditions":[{conditions}]"#)
    };
    let infeasible = r#"{"type":"PodResizePending","status":"True","reason":"Infeasible"}"#;
    let deferred = r#"{"type":"PodResizePending","status":"True","reason":"Deferred"}"#;
    for (allocated, actual, conditions, expected) in [
        ("2", "2", "", "2 2"),
        ("1", "1", "", "2 2"),
        ("3", "1", "", "3 2"),
        ("1", "4", "", "4 4"),
        ("1", "1", deferred, "2 2"),
        ("1", "1", infeasible, "1 1"),
        ("3", "1", infeasible, "3 1"),
    ] {
        assert_eq!(charged_cpu(&spec, &status(allocated, actual, conditions)), expected, "{conditions}");
    }
    let without = r#""containerStatuses":[{"name":"a","allocatedResources":{"cpu":"9"}}]"#;
    assert_eq!(charged_cpu(&spec, without), "2 2", "a status without resources says nothing");
}

#[test]
fn a_pod_that_has_ended_is_only_counted() {
    let spec = format!(r#""spec":{{"containers":[{}]}}"#, cpu("a", "1", "1"));
    let all = "count/pods=1,cpu=1,limits.cpu=1,pods=1,requests.cpu=1";
    let deleted =
        |time: &str, grace: &str| format!(r#""metadata":{{"deletionTimestamp":"2026-05-{time}Z"{grace}}}"#);
    for (rest, expected) in [
        (r#""status":{"phase":"Running"}"#.to_owned(), all),
        (r#""status":{"phase":"Succeeded"}"#.to_owned(), "count/pods=1"),
        (r#""status":{"phase":"Failed"}"#.to_owned(), "count/pods=1"),
        (deleted("31T23:59:50", r#","deletionGracePeriodSeconds":5"#), "count/pods=1"),
        (deleted("31T23:59:50", r#","deletionGracePeriodSeconds":10"#), all),
        (deleted("31T23:59:50", ""), all),
    ] {
        assert_eq!(pod_usage(&format!("{spec},{rest}")), expected, "{rest}");
    }
}

#[test]
fn names_in_quotas_are_tracked_by_resource() {
    let classes = HashMap::from([("fast", Some("example.com/gpu")), ("slow", None)]);
    let surroundings = Fake { classes, ..Fake::default() };
    let evaluators = Evaluators::new(Features::default(), Arc::new(surroundings));
    let tracked = |group: &str, resource: &str, names: &[&'static str]| {
        let evaluator = evaluators.of(group, resource);
        names.iter().copied().filter(|name| evaluator.tracks(name)).collect::<Vec<_>>()
    };
    let names = [
        "count/pods",
        "pods",
        "cpu",
        "requests.memory",
        "limits.ephemeral-storage",
        "hugepages-2Mi",
        "requests.hugepages-2Mi",
        "limits.hugepages-2Mi",
        "requests.example.com/gpu",
        "limits.example.com/gpu",
        "requests.example.com/other",
        "requests.deviceclass.resource.kubernetes.io/fast",
        "requests.deviceclass.resource.kubernetes.io/slow",
        "requests.deviceclass.resource.kubernetes.io/none",
        "fast.deviceclass.resource.k8s.io/devices",
        "count/resourceclaims.resource.k8s.io",
        "services.loadbalancers",
        "persistentvolumeclaims",
        "requests.storage",
        "gold.storageclass.storage.k8s.io/requests.storage",
        "gold.storageclass.storage.k8s.io/persistentvolumeclaims",
        "gold.storageclass.storage.k8s.io/pods",
        "secrets",
        "count/secrets",
        "count/widgets.example.com",
    ];
    let of_pods: Vec<&str> =
        names[..14].iter().copied().filter(|name| !name.starts_with("limits.h")).collect();
    let of_pods: Vec<&str> = of_pods.into_iter().filter(|name| *name != "limits.example.com/gpu").collect();
    assert_eq!(tracked("", "pods", &names), of_pods);
    assert_eq!(
        tracked("resource.k8s.io", "resourceclaims", &names),
        [
            "requests.example.com/gpu",
            "requests.deviceclass.resource.kubernetes.io/fast",
            "requests.deviceclass.resource.kubernetes.io/slow",
            "fast.deviceclass.resource.k8s.io/devices",
            "count/resourceclaims.resource.k8s.io",
        ]
    );
    assert_eq!(tracked("", "services", &names), ["services.loadbalancers"]);
    assert_eq!(tracked("", "persistentvolumeclaims", &names), names[17..21]);
    assert_eq!(tracked("", "secrets", &names), ["secrets", "count/secrets"]);
    assert_eq!(tracked("example.com", "secrets", &names), [""; 0]);
    assert_eq!(tracked("example.com", "widgets", &names), ["count/widgets.example.com"]);
}

#[test]
fn services_are_counted_by_type_and_intended_node_ports() {
    let ports = r#""ports":[{"port":1,"nodePort":30000},{"port":2}]"#;
    for (spec, node_ports, load_balancers) in [
        (ports.to_owned(), 0, 0),
        (format!(r#""type":"ClusterIP",{ports}"#), 0, 0),
        (r#""type":"ExternalName""#.to_owned(), 0, 0),
        (format!(r#""type":"NodePort",{ports}"#), 2, 0),
        (r#""type":"LoadBalancer""#.to_owned(), 0, 1),
        (format!(r#""type":"LoadBalancer",{ports}"#), 2, 1),
        (format!(r#""type":"LoadBalancer","allocateLoadBalancerNodePorts":true,{ports}"#), 2, 1),
        (format!(r#""type":"LoadBalancer","allocateLoadBalancerNodePorts":false,{ports}"#), 1, 1),
    ] {
        let expected = format!(
            "count/services=1,services=1,services.loadbalancers={load_balancers},services.nodeports={node_ports}"
        );
        let service = format!(r#"{{"spec":{{{spec}}}}}"#);
        assert_eq!(usage_of("services", "core/v1.Service", &service), expected, "{spec}");
    }
}

#[test]
fn volume_claims_are_charged_to_their_class_too() {
    let usage = |metadata: &str, spec: &str, status: &str| {
        let json = format!(r#"{{"metadata":{{{metadata}}},"spec":{{{spec}}},"status":{{{status}}}}}"#);
        usage_of("persistentvolumeclaims", "core/v1.PersistentVolumeClaim", &json)
    };
    let request = |amount: &str| format!(r#""resources":{{"requests":{{"storage":"{amount}"}}}}"#);
    let plain = "count/persistentvolumeclaims=1,persistentvolumeclaims=1";
    assert_eq!(usage("", "", ""), plain);
    assert_eq!(usage("", &request("10Gi"), ""), format!("{plain},requests.storage=10Gi"));
    let rounded = usage("", &request("1.5"), "");
    assert_eq!(rounded, format!("{plain},requests.storage=2"));
    let gold = |storage: &str| {
        format!(
            "count/persistentvolumeclaims=1,gold.storageclass.storage.k8s.io/persistentvolumeclaims=1,\
             gold.storageclass.storage.k8s.io/requests.storage={storage},persistentvolumeclaims=1,requests.storage={storage}"
        )
    };
    let of_gold = format!(r#""storageClassName":"gold",{}"#, request("1Gi"));
    assert_eq!(usage("", &of_gold, ""), gold("1Gi"));
    let annotated = r#""annotations":{"volume.beta.kubernetes.io/storage-class":"gold"}"#;
    assert_eq!(usage(annotated, &format!(r#""storageClassName":"tin",{}"#, request("1Gi")), ""), gold("1Gi"));
    let allocated = |amount: &str| format!(r#""allocatedResources":{{"storage":"{amount}"}}"#);
    assert_eq!(usage("", &of_gold, &allocated("3Gi")), gold("3Gi"));
    assert_eq!(usage("", &of_gold, &allocated("1Mi")), gold("1Gi"));
}

#[test]
fn resource_claims_are_charged_for_the_devices_of_each_class() {
    let usage = |requests: &str| {
        let json = format!(r#"{{"spec":{{"devices":{{"requests":[{requests}]}}}}}}"#);
        usage_of("resourceclaims.resource.k8s.io", "resource/v1.ResourceClaim", &json)
    };
    let exactly = |class: &str, mode: &str, count: i64| {
        format!(
            r#"{{"name":"r","exactly":{{"deviceClassName":"{class}","allocationMode":"{mode}","count":{count}}}}}"#
        )
    };
    let expected = |devices: &[(&str, i64)]| {
        let mut all = list("count/resourceclaims.resource.k8s.io=1");
        for (class, count) in devices {
            all.set_count(format!("{class}.deviceclass.resource.k8s.io/devices"), *count);
            if *count > 0 {
                all.set_count(format!("requests.deviceclass.resource.kubernetes.io/{class}"), *count);
            }
        }
        all.to_string()
    };
    assert_eq!(usage(""), expected(&[]));
    assert_eq!(usage(&exactly("gpu", "ExactCount", 5)), expected(&[("gpu", 5)]));
    assert_eq!(usage(&exactly("gpu", "All", 0)), expected(&[("gpu", 32)]));
    assert_eq!(usage(&exactly("gpu", "Later", 7)), expected(&[("gpu", 0)]));
    let two = [exactly("gpu", "ExactCount", 2), exactly("gpu", "ExactCount", 3), exactly("tpu", "All", 0)];
    assert_eq!(usage(&two.join(",")), expected(&[("gpu", 5), ("tpu", 32)]));
    let sub = |class: &str, count: i64| {
        format!(r#"{{"name":"s","deviceClassName":"{class}","allocationMode":"ExactCount","count":{count}}}"#)
    };
    let first =
        format!(r#"{{"name":"r","firstAvailable":[{},{},{}]}}"#, sub("gpu", 2), sub("gpu", 5), sub("tpu", 1));
    assert_eq!(usage(&first), expected(&[("gpu", 5), ("tpu", 1)]));
    assert_eq!(
        usage(&[first, exactly("gpu", "ExactCount", 1)].join(",")),
        expected(&[("gpu", 6), ("tpu", 1)])
    );
}

const CLAIM_MARK: &str = r#""annotations":{"resource.kubernetes.io/extended-resource-claim":"true"}"#;

fn extended_claim(name: &str, created: &str, uid: &str, devices: i64) -> Value {
    let owner = format!(r#"{{"apiVersion":"v1","kind":"Pod","name":"p","uid":"{uid}","controller":true}}"#);
    let metadata = format!(
        r#""name":"{name}","namespace":"n","creationTimestamp":"2026-01-01T00:00:{created}Z",{CLAIM_MARK},"ownerReferences":[{owner}]"#
    );
    let request = format!(
        r#"{{"name":"r","exactly":{{"deviceClassName":"fast","allocationMode":"ExactCount","count":{devices}}}}}"#
    );
    let json = format!(r#"{{"metadata":{{{metadata}}},"spec":{{"devices":{{"requests":[{request}]}}}}}}"#);
    object("resource/v1.ResourceClaim", &json)
}

#[test]
fn a_claim_for_a_pod_s_extended_resources_is_not_charged_twice() {
    let pod = |status: &str| {
        let container = container("c", r#""example.com/gpu":"2""#, "");
        let json = format!(
            r#"{{"metadata":{{"name":"p","namespace":"n","uid":"u"}},"spec":{{"containers":[{container}]}},"status":{{{status}}}}}"#
        );
        object("core/v1.Pod", &json)
    };
    let charged = |pod: Value, claims: Vec<Value>, claim: &Value| {
        let classes = HashMap::from([("fast", Some("example.com/gpu"))]);
        let surroundings = Fake { classes, pod: Some(pod), claims };
        let evaluators = Evaluators::new(Features::default(), Arc::new(surroundings));
        let usage = evaluators.of("resource.k8s.io", "resourceclaims").usage(claim);
        usage.get("requests.example.com/gpu").map_or(0, Quantity::value)
    };
    let own = extended_claim("own", "05", "u", 2);
    let named = |name: &str| {
        pod(&format!(
            r#""extendedResourceClaimStatus":{{"resourceClaimName":"{name}","requestMappings":[]}}"#
        ))
    };
    assert_eq!(charged(named("own"), vec![], &own), 0);
    assert_eq!(charged(named("own"), vec![], &extended_claim("own", "05", "u", 3)), 1, "the rest is");
    assert_eq!(charged(named("other"), vec![], &own), 2);
    assert_eq!(charged(named("own"), vec![], &extended_claim("own", "05", "u2", 2)), 2, "another pod's");
    // Without a status, the oldest claim is the pod's.
    assert_eq!(charged(pod(""), vec![own.clone(), extended_claim("later", "06", "u", 2)], &own), 0);
    assert_eq!(charged(pod(""), vec![own.clone(), extended_claim("earlier", "04", "u", 2)], &own), 2);
    assert_eq!(charged(pod(""), vec![own.clone(), extended_claim("a", "05", "u", 2)], &own), 2);
    assert_eq!(charged(pod(""), vec![own.clone(), extended_claim("z", "05", "u", 2)], &own), 0);
    let off = Features::default().with(Feature::DRAExtendedResource, false);
    let evaluators = Evaluators::new(off, Arc::new(Fake::default()));
    let evaluator = evaluators.of("resource.k8s.io", "resourceclaims");
    assert!(!evaluator.usage(&own).contains("requests.deviceclass.resource.kubernetes.io/fast"));
    assert!(!evaluator.tracks("requests.deviceclass.resource.kubernetes.io/fast"));
}

#[test]
fn other_objects_are_counted_by_number() {
    assert_eq!(usage_of("configmaps", "core/v1.ConfigMap", "{}"), "configmaps=1,count/configmaps=1");
    assert_eq!(usage_of("deployments.apps", "apps/v1.Deployment", "{}"), "count/deployments.apps=1");
    assert!(is_ignored("", "events") && is_ignored("events.k8s.io", "events"));
    assert!(is_ignored("authorization.k8s.io", "localsubjectaccessreviews"));
    assert!(!is_ignored("", "secrets") && !is_ignored("example.com", "events"));
}

fn in_scope(resource: &str, scope: &ScopeRequirement, object: &Value) -> bool {
    !evaluators().of("", resource).matching_scopes([scope], object).expect("a scope").is_empty()
}

fn exists(scope: &str) -> ScopeRequirement {
    ScopeRequirement::new(scope, "Exists", Vec::new())
}

#[test]
fn pods_match_scopes() {
    let term = |rest: &str| format!(r#"{{"topologyKey":"k"{rest}}}"#);
    let affinity = |kind: &str, term: &str| {
        format!(r#""affinity":{{"{kind}":{{"requiredDuringSchedulingIgnoredDuringExecution":[{term}]}}}}"#)
    };
    let preferred = |kind: &str, term: &str| {
        let weighted = format!(r#"{{"weight":1,"podAffinityTerm":{term}}}"#);
        format!(
            r#""affinity":{{"{kind}":{{"preferredDuringSchedulingIgnoredDuringExecution":[{weighted}]}}}}"#
        )
    };
    let (named, selected) = (term(r#","namespaces":["a"]"#), term(r#","namespaceSelector":{}"#));
    let scopes = [
        "Terminating",
        "NotTerminating",
        "BestEffort",
        "NotBestEffort",
        "PriorityClass",
        "CrossNamespacePodAffinity",
        "VolumeAttributesClass",
    ];
    for (spec, expected) in [
        (String::new(), &["NotTerminating", "BestEffort"][..]),
        (r#""activeDeadlineSeconds":30"#.into(), &["Terminating", "BestEffort"]),
        (r#""activeDeadlineSeconds":0"#.into(), &["Terminating", "BestEffort"]),
        (format!(r#""containers":[{}]"#, cpu("c", "1", "")), &["NotTerminating", "NotBestEffort"]),
        (format!(r#""initContainers":[{}]"#, cpu("c", "", "1")), &["NotTerminating", "NotBestEffort"]),
        (
            r#""containers":[{"name":"c","resources":{"requests":{"example.com/gpu":"1"}}}]"#.into(),
            &["NotTerminating", "BestEffort"],
        ),
        (r#""resources":{"limits":{"memory":"1Gi"}}"#.into(), &["NotTerminating", "NotBestEffort"]),
        (r#""priorityClassName":"high""#.into(), &["NotTerminating", "BestEffort", "PriorityClass"]),
        (affinity("podAffinity", &term("")), &["NotTerminating", "BestEffort"]),
        (affinity("podAffinity", &named), &["NotTerminating", "BestEffort", "CrossNamespacePodAffinity"]),
        (
            affinity("podAntiAffinity", &selected),
            &["NotTerminating", "BestEffort", "CrossNamespacePodAffinity"],
        ),
        (preferred("podAffinity", &selected), &["NotTerminating", "BestEffort", "CrossNamespacePodAffinity"]),
        (
            preferred("podAntiAffinity", &named),
            &["NotTerminating", "BestEffort", "CrossNamespacePodAffinity"],
        ),
    ] {
        let pod = object("core/v1.Pod", &format!(r#"{{"spec":{{{spec}}}}}"#));
        let matching = scopes.into_iter().filter(|scope| in_scope("pods", &exists(scope), &pod));
        assert_eq!(matching.collect::<Vec<_>>(), expected, "{spec}");
        assert!(!in_scope("services", &exists("NotTerminating"), &pod));
    }
    let guaranteed = object("core/v1.Pod", r#"{"status":{"qosClass":"Guaranteed"}}"#);
    assert!(in_scope("pods", &exists("NotBestEffort"), &guaranteed));
    let high = object("core/v1.Pod", r#"{"spec":{"priorityClassName":"high"}}"#);
    let required = |operator: &str, class: &str| {
        ScopeRequirement::new("PriorityClass", operator, vec![class.to_owned()])
    };
    assert!(in_scope("pods", &required("In", "high"), &high));
    assert!(!in_scope("pods", &required("NotIn", "high"), &high));
    let wrong = required("In", &"x".repeat(64));
    let error = evaluators().of("", "pods").matching_scopes([&wrong], &high).unwrap_err();
    let start = format!(
        "error on matching scope {wrong}: failed to parse and convert selector: values[0][PriorityClass]: "
    );
    assert!(error.starts_with(&start), "{error}");
}

#[test]
fn volume_claims_match_the_classes_that_they_have_or_want() {
    let claim = |spec: &str, status: &str| {
        object("core/v1.PersistentVolumeClaim", &format!(r#"{{"spec":{{{spec}}},"status":{{{status}}}}}"#))
    };
    let required = |operator: &str, class: &str| {
        ScopeRequirement::new("VolumeAttributesClass", operator, vec![class.to_owned()])
    };
    let (wanted, current) =
        (r#""volumeAttributesClassName":"gold""#, r#""currentVolumeAttributesClassName":"tin""#);
    let target = r#""modifyVolumeStatus":{"targetVolumeAttributesClassName":"lead","status":"Pending"}"#;
    let resource = "persistentvolumeclaims";
    assert!(!in_scope(resource, &exists("VolumeAttributesClass"), &claim("", "")));
    assert!(!in_scope(resource, &exists("BestEffort"), &claim(wanted, "")));
    for (spec, status, class) in [(wanted, "", "gold"), ("", current, "tin"), ("", target, "lead")] {
        let claim = claim(spec, status);
        assert!(in_scope(resource, &exists("VolumeAttributesClass"), &claim), "{class}");
        assert!(in_scope(resource, &required("In", class), &claim), "{class}");
        assert!(!in_scope(resource, &required("NotIn", class), &claim), "{class}");
        assert!(!in_scope(resource, &required("In", "other"), &claim), "{class}");
    }
    let both = claim(wanted, current);
    assert!(
        in_scope(resource, &required("In", "gold"), &both)
            && in_scope(resource, &required("In", "tin"), &both)
    );
}

#[test]
fn containers_must_request_the_cpu_and_memory_that_are_limited() {
    let evaluators = evaluators();
    let check = |required: &[&str], spec: &str| {
        let pod = object("core/v1.Pod", &format!(r#"{{"spec":{{{spec}}}}}"#));
        evaluators.of("", "pods").check_constraints(required, &pod).err().unwrap_or_default()
    };
    let empty = format!(
        r#""containers":[{},{}],"initContainers":[{}]"#,
        cpu("b", "", ""),
        cpu("a", "1", ""),
        cpu("i", "", "")
    );
    assert_eq!(check(&[], &empty), "");
    assert_eq!(check(&["pods", "requests.ephemeral-storage", "requests.example.com/cpu"], &empty), "");
    assert_eq!(check(&["cpu"], &empty), "must specify cpu for: b,i");
    assert_eq!(
        check(&["requests.memory", "limits.cpu", "requests.cpu"], &empty),
        "must specify limits.cpu for: a,b,i; requests.cpu for: b,i; requests.memory for: a,b,i"
    );
    let with_own = format!(r#"{empty},"resources":{{"requests":{{"cpu":"1"}}}}"#);
    assert_eq!(check(&["cpu", "memory"], &with_own), "");
    let services = evaluators.of("", "services");
    assert_eq!(services.check_constraints(&["cpu"], &object("core/v1.Service", "{}")), Ok(()));
}

fn quota(json: &str) -> Quota {
    Quota::read(&object("core/v1.ResourceQuota", json))
}

#[test]
fn a_quota_counts_objects_in_all_of_its_scopes() {
    let hard = r#""status":{"hard":{"pods":"10","requests.cpu":"5","secrets":"3"}}"#;
    let scoped = quota(&format!(r#"{{"spec":{{"scopes":["BestEffort","NotTerminating"]}},{hard}}}"#));
    let evaluators = evaluators();
    let pods = evaluators.of("", "pods");
    let pod = |spec: &str| object("core/v1.Pod", &format!(r#"{{"spec":{{{spec}}}}}"#));
    let (plain, ending) = (pod(""), pod(r#""activeDeadlineSeconds":1"#));
    let busy = pod(&format!(r#""containers":[{}]"#, cpu("c", "1500m", "")));
    assert_eq!(pods.matches(&scoped, &plain), Ok(true));
    assert_eq!(pods.matches(&scoped, &ending), Ok(false));
    assert_eq!(pods.matches(&quota(r#"{"status":{"hard":{"secrets":"1"}}}"#), &plain), Ok(false));
    let secret = object("core/v1.Secret", "{}");
    assert_eq!(evaluators.of("", "secrets").matches(&scoped, &secret), Ok(false), "it has no scopes");
    let all = quota(&format!("{{{hard}}}"));
    assert_eq!(evaluators.of("", "secrets").matches(&all, &secret), Ok(true));
    let objects = [plain, ending, busy.clone(), busy];
    assert_eq!(pods.total(&all, &objects).to_string(), "pods=4,requests.cpu=3");
    assert_eq!(pods.total(&scoped, &objects).to_string(), "pods=1,requests.cpu=0");
    assert_eq!(evaluators.of("", "secrets").total(&all, [&secret, &secret]).to_string(), "secrets=2");
}

#[test]
fn a_change_that_may_lower_usage_is_known() {
    let evaluators = evaluators();
    let of = |resource: &str, of: &str, old: &str, new: &str| {
        evaluators.of("", resource).may_free(&object(of, old), &object(of, new))
    };
    let pods = |old: &str, new: &str| of("pods", "core/v1.Pod", old, new);
    assert!(!pods("{}", r#"{"metadata":{"labels":{"a":"b"}}}"#));
    assert!(pods("{}", r#"{"spec":{"activeDeadlineSeconds":3}}"#));
    assert!(pods("{}", r#"{"status":{"phase":"Failed"}}"#));
    assert!(!pods(r#"{"status":{"phase":"Failed"}}"#, "{}"));
    let status = |cpu: &str| {
        format!(
            r#"{{"status":{{"containerStatuses":[{{"name":"c","resources":{{"requests":{{"cpu":"{cpu}"}}}}}}]}}}}"#
        )
    };
    assert!(pods(&status("2"), &status("1")));
    assert!(!pods(&status("2"), &status("2")));
    let services = |old: &str, new: &str| {
        let spec = |kind: &str| format!(r#"{{"spec":{{"type":"{kind}"}}}}"#);
        of("services", "core/v1.Service", &spec(old), &spec(new))
    };
    assert!(services("NodePort", "ClusterIP") && services("ClusterIP", "LoadBalancer"));
    assert!(!services("ClusterIP", "ExternalName"));
    assert!(!of("secrets", "core/v1.Secret", "{}", r#"{"data":{"a":"YQ=="}}"#));
}

#[test]
fn objects_of_quotas_that_limit_their_number_are_counted_unseen() {
    let evaluators = evaluators();
    let counts = |resource: &str, hard: &str, scopes: &str| {
        let hard = hard.split(',').map(|name| format!(r#""{name}":"5""#)).collect::<Vec<_>>().join(",");
        let json = format!(r#"{{"spec":{{"scopes":[{scopes}]}},"status":{{"hard":{{{hard}}}}}}}"#);
        let quota = quota(&json);
        let evaluator = evaluators.of("", resource);
        evaluator.counts_objects_only(&quota).then(|| evaluator.total_of_count(&quota, 3).to_string())
    };
    assert_eq!(counts("pods", "count/pods,secrets", "").as_deref(), Some("count/pods=3"));
    assert_eq!(counts("pods", "count/pods,pods", ""), None, "pods that have ended are not counted");
    assert_eq!(counts("services", "services", "").as_deref(), Some("services=3"));
    assert_eq!(counts("services", "services,services.nodeports", ""), None);
    let claims = counts("persistentvolumeclaims", "persistentvolumeclaims", "");
    assert_eq!(claims.as_deref(), Some("persistentvolumeclaims=3"));
    assert_eq!(counts("persistentvolumeclaims", "requests.storage", ""), None);
    assert_eq!(counts("secrets", "secrets,count/secrets", "").as_deref(), Some("count/secrets=3,secrets=3"));
    assert_eq!(counts("secrets", "secrets", r#""BestEffort""#), None);
}
