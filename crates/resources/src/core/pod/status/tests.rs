//! Tests of updates of the status of pods.

use pintle_features::Feature;
use pintle_meta::validation::{dns1123_label, object_meta, qualified_name};

use crate::core::pod::validation::testing::wrong;
use crate::framework::validation::testing::{Base, Change};

const POD: &str = r#"{"metadata":{"name":"p","namespace":"n"},
    "spec":{"containers":[{"name":"c","image":"i","resources":{"requests":{"example.com/a":"1"},"limits":{"example.com/a":"1"},"claims":[{"name":"x"},{"name":"x","request":"r"}]}}],
        "initContainers":[{"name":"i","image":"i"},{"name":"s","image":"i","restartPolicy":"Always"}],
        "resourceClaims":[{"name":"x","resourceClaimName":"claim"}]},
    "status":{"phase":"Pending","qosClass":"BestEffort"}}"#;

fn statuses() -> Base {
    Base::new("", "pods/status", POD)
}

fn statuses_with(features: &[(Feature, bool)]) -> Base {
    Base::with_features("", "pods/status", POD, features)
}

fn subdomain(name: &str) -> Vec<String> {
    object_meta::subdomain_name(name, false)
}

#[test]
fn a_status_does_not_make_a_static_pod() {
    let bound: Change<'_> = ("/spec/nodeName", r#""n""#);
    let mirror: Change<'_> = ("/metadata/annotations", r#"{"kubernetes.io/config.mirror":"x"}"#);
    let at = "metadata.annotations[kubernetes.io/config.mirror]";
    let added = format!("{at}: Forbidden: may not add mirror pod annotation");
    let removed = format!("{at}: Forbidden: may not remove or update mirror pod annotation");
    statuses().refuses_update_of(&[bound], &[(&[mirror], &[&added])]);
    statuses().refuses_update_of(&[bound, mirror], &[(&[("/metadata/annotations", "{}")], &[&removed])]);
    // Specs are put back, and not checked.
    statuses().accepts_update(&[&[("/spec/nodeName", r#""A""#)]]);
}

#[test]
fn conditions_and_generations() {
    let kind = wrong("status.conditions[0].Type", "a b", qualified_name);
    statuses().refuses_update(&[
        (&[("/status/conditions", r#"[{"type":"a b","status":"True"}]"#)], &[&kind]),
        (
            &[("/status/conditions", r#"[{"type":"Ready","status":"True","observedGeneration":-1}]"#)],
            &["status.conditions[0].observedGeneration: Invalid value: -1: must be a non-negative integer"],
        ),
        (
            &[("/status/observedGeneration", "-1")],
            &["status.observedGeneration: Invalid value: -1: must be a non-negative integer"],
        ),
        (
            &[("/status/qosClass", r#""Burstable""#)],
            &[r#"status.qosClass: Invalid value: "Burstable": field is immutable"#],
        ),
    ]);
    statuses().accepts_update(&[
        &[("/status/conditions", r#"[{"type":"example.com/a","status":"x"},{"type":"Ready","status":"True","observedGeneration":1}]"#)],
        &[("/status/qosClass", "")],
    ]);
}

#[test]
fn nodes_are_nominated_before_pods_are_bound() {
    let name: Change<'_> = ("/status/nominatedNodeName", r#""a""#);
    let bound: Change<'_> = ("/spec/nodeName", r#""n""#);
    let wrong = wrong("status.nominatedNodeName", "A", subdomain);
    let late = "status.nominatedNodeName: Forbidden: may not be set on pods that are already bound to a node";
    statuses().accepts_update(&[&[name]]);
    statuses().refuses_update(&[(&[("/status/nominatedNodeName", r#""A""#)], &[&wrong])]);
    statuses().refuses_update_of(&[bound], &[(&[name], &[late])]);
    statuses().accepts_update_of(&[bound, name], &[&[], &[("/status/nominatedNodeName", "")]]);
    statuses_with(&[(Feature::ClearingNominatedNodeNameAfterBinding, false)])
        .accepts_update_of(&[bound], &[&[name]]);
}

#[test]
fn claims_made_for_a_pod_are_its_own() {
    let claim = wrong("status.resourceClaimStatuses[0].resourceClaimName", "A", subdomain);
    let at = "/status/resourceClaimStatuses";
    statuses().refuses_update(&[
        (
            &[(at, r#"[{"name":"y"}]"#)],
            &[
                r#"status.resourceClaimStatuses[0].name: Invalid value: "y": must match the name of an entry in `spec.resourceClaims`"#,
            ],
        ),
        (
            &[(at, r#"[{"name":"x"},{"name":"x"}]"#)],
            &[r#"status.resourceClaimStatuses[1].name: Duplicate value: "x""#],
        ),
        (&[(at, r#"[{"name":"x","resourceClaimName":"A"}]"#)], &[&claim]),
    ]);
    statuses().accepts_update(&[&[(at, r#"[{"name":"x","resourceClaimName":"a"}]"#)]]);
}

#[test]
fn extended_resources_map_to_requests_of_a_claim() {
    let at = "/status/extendedResourceClaimStatus";
    let path = "status.extendedResourceClaimStatus";
    let mapping = |container: &str, resource: &str, request: &str| {
        format!(r#"{{"containerName":"{container}","resourceName":"{resource}","requestName":"{request}"}}"#)
    };
    let status = |claim: &str, mappings: &[String]| {
        format!(r#"{{"resourceClaimName":"{claim}","requestMappings":[{}]}}"#, mappings.join(","))
    };
    let good = mapping("c", "example.com/a", "r");
    let request = wrong(&format!("{path}.requestName"), "R", dns1123_label);
    let claim = wrong(&format!("{path}.resourceClaimName"), "A", subdomain);
    let base = statuses();
    let refuses = |text: &str, expected: &[&str]| base.refuses_update(&[(&[(at, text)], expected)]);
    refuses(
        r#"{"resourceClaimName":"","requestMappings":[]}"#,
        &[
            &format!("{path}.requestMappings: Required value: at least one request mapping is required"),
            &format!("{path}.resourceClaimName: Required value"),
        ],
    );
    refuses(&status("A", std::slice::from_ref(&good)), &[&claim]);
    refuses(
        &status("a", &[mapping("z", "example.com/a", "r")]),
        &[&format!(
            r#"{path}.requestMappings[0].containerName: Invalid value: "z": must match the name of an entry in spec.initContainers.name or spec.containers.name"#
        )],
    );
    refuses(
        &status("a", &[mapping("i", "example.com/a", "r")]),
        &[&format!(
            r#"{path}.requestMappings[0].resourceName: Invalid value: "example.com/a": must match the extended resource name of an entry in spec.initContainers.resources.requests or spec.containers.resources.requests"#
        )],
    );
    refuses(&status("a", &[mapping("c", "example.com/a", "R")]), &[&request]);
    refuses(
        &status("a", &[good.clone(), good.clone()]),
        &[
            &format!(r#"{path}.requestMappings[1].containerName: Duplicate value: "c""#),
            &format!(r#"{path}.requestMappings[1].resourceName: Duplicate value: "example.com/a""#),
            &format!(r#"{path}.requestMappings[1].requestName: Duplicate value: "r""#),
        ],
    );
    base.accepts_update(&[&[(at, &status("a", &[good]))]]);
    // Dropped without the feature, unless it is used.
    let off = statuses_with(&[(Feature::DRAExtendedResource, false)]);
    off.accepts_update(&[&[(at, "{}")]]);
    off.refuses_update_of(
        &[(at, &status("a", &[mapping("c", "example.com/a", "r")]))],
        &[(&[(at, &status("A", &[mapping("c", "example.com/a", "r")]))], &[&claim])],
    );
}

#[test]
fn claims_of_node_resources_are_of_the_pod() {
    let base = statuses_with(&[(Feature::DRANodeAllocatableResources, true)]);
    let at = "/status/nodeAllocatableResourceClaimStatuses";
    let path = "status.nodeAllocatableResourceClaimStatuses[0]";
    base.refuses_update(&[
        (
            &[(at, r#"[{"resourceClaimName":""}]"#)],
            &[
                &format!("{path}.resourceClaimName: Required value: must not be empty"),
                &format!(r#"{path}.resourceClaimName: Invalid value: "": no mapping found in pod reference"#),
                &format!("{path}.containers: Required value: must not be empty"),
                &format!("{path}.resources: Required value: must not be empty"),
            ],
        ),
        (
            &[(at, r#"[{"resourceClaimName":"claim","containers":["c"],"resources":{"example.com/a":"1","cpu":"-1"}}]"#)],
            &[
                &format!(r#"{path}.resources[cpu]: Invalid value: "-1": must be non-negative"#),
                &format!(r#"{path}.resources[example.com/a]: Invalid value: "example.com/a": must be a node allocatable resource name"#),
            ],
        ),
    ]);
    let good = r#"[{"resourceClaimName":"made","containers":["c"],"resources":{"cpu":"1"}}]"#;
    let made = ("/status/resourceClaimStatuses", r#"[{"name":"x","resourceClaimName":"made"}]"#);
    base.accepts_update(&[&[(at, good), made]]);
    // Dropped without the feature.
    statuses().accepts_update(&[&[(at, r#"[{"resourceClaimName":""}]"#)]]);
}

#[test]
fn addresses_are_one_of_each_family() {
    let at = "/status/podIPs";
    let two = "may specify no more than one IP for each IP family";
    let text = |ip: &str| format!("must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff){ip}");
    statuses().refuses_update(&[
        (
            &[(at, r#"[{"ip":"a"}]"#)],
            &[&format!(r#"status.podIPs[0]: Invalid value: "a": {}"#, text(""))],
        ),
        (
            &[(at, r#"[{"ip":"1.2.3.4"},{"ip":"::ffff:1.2.3.4"}]"#)],
            &[
                r#"status.podIPs[1]: Invalid value: "::ffff:1.2.3.4": must not be an IPv4-mapped IPv6 address"#,
                &format!(r#"status.podIPs: Invalid value: [{{"IP":"1.2.3.4"}},{{"IP":"::ffff:1.2.3.4"}}]: {two}"#),
            ],
        ),
        (
            &[(at, r#"[{"ip":"1.2.3.4"},{"ip":"::1"},{"ip":"::2"}]"#)],
            &[&format!(r#"status.podIPs: Invalid value: [{{"IP":"1.2.3.4"}},{{"IP":"::1"}},{{"IP":"::2"}}]: {two}"#)],
        ),
        (
            &[(at, r#"[{"ip":"1.2.3.4"},{"ip":"a"}]"#)],
            &[
                &format!(r#"status.podIPs[1]: Invalid value: "a": {}"#, text("")),
                "status.podIPs: Internal error: failed to check for dual stack with error:invalid IP[1]: a",
                &format!(r#"status.podIPs: Invalid value: [{{"IP":"1.2.3.4"}},{{"IP":"a"}}]: {two}"#),
            ],
        ),
        (
            &[("/status/hostIPs", r#"[{"ip":"1.2.3.4"}]"#)],
            &[r#"status.hostIPs[0].ip: Invalid value: "1.2.3.4": must be equal to `hostIP`"#],
        ),
        (
            &[("/status/hostIP", r#""1.2.3.4""#), ("/status/hostIPs", r#"[{"ip":"1.2.3.4"},{"ip":"1.2.3.5"}]"#)],
            &[&format!(r#"status.hostIPs: Invalid value: [{{"IP":"1.2.3.4"}},{{"IP":"1.2.3.5"}}]: {two}"#)],
        ),
    ]);
    statuses().accepts_update(&[
        &[(at, r#"[{"ip":"1.2.3.4"},{"ip":"::1"}]"#)],
        &[("/status/hostIP", r#""1.2.3.4""#), ("/status/hostIPs", r#"[{"ip":"1.2.3.4"}]"#)],
    ]);
    let zeros = (at, r#"[{"ip":"010.0.0.1"}]"#);
    statuses().accepts_update_of(&[zeros], &[&[("/status/phase", r#""Running""#)]]);
    statuses_with(&[(Feature::StrictIPCIDRValidation, false)]).accepts_update(&[&[zeros]]);
}

fn terminated(name: &str, code: i32) -> String {
    format!(r#"{{"name":"{name}","state":{{"terminated":{{"exitCode":{code}}}}}}}"#)
}

fn running(name: &str) -> String {
    format!(r#"{{"name":"{name}","state":{{"running":{{}}}}}}"#)
}

/// Checks a transition of one container from an exit to running.
#[track_caller]
fn restart(base: &Base, list: &str, spec: &[Change<'_>], name: &str, code: i32, is_allowed: bool) {
    let at = format!("/status/{list}");
    let (old, new) = (format!("[{}]", terminated(name, code)), format!("[{}]", running(name)));
    let before: Vec<Change<'_>> = spec.iter().copied().chain([(at.as_str(), old.as_str())]).collect();
    let change: Change<'_> = (&at, &new);
    if is_allowed {
        base.accepts_update_of(&before, &[&[change]]);
    } else {
        let expected =
            format!("status.{list}[0].state: Forbidden: may not be transitioned to non-terminated state");
        base.refuses_update_of(&before, &[(&[change], &[&expected])]);
    }
}

#[test]
fn containers_restart_by_their_policies() {
    let base = statuses();
    let off = statuses_with(&[
        (Feature::ContainerRestartRules, false),
        (Feature::RestartAllContainersOnContainerExits, false),
    ]);
    let policy = |policy: &'static str| ("/spec/restartPolicy", policy);
    for base in [&base, &off] {
        for (list, name) in [("containerStatuses", "c"), ("initContainerStatuses", "i")] {
            restart(base, list, &[policy(r#""Always""#)], name, 0, true);
            restart(base, list, &[policy(r#""OnFailure""#)], name, 1, true);
            restart(base, list, &[policy(r#""OnFailure""#)], name, 0, false);
            restart(base, list, &[policy(r#""Never""#)], name, 1, false);
        }
        restart(base, "initContainerStatuses", &[policy(r#""Never""#)], "s", 0, true);
        restart(base, "ephemeralContainerStatuses", &[policy(r#""Always""#)], "e", 1, false);
    }
    // Containers that are not in the spec are never restarted, if rules count.
    restart(&base, "containerStatuses", &[policy(r#""Always""#)], "z", 1, false);
    restart(&off, "containerStatuses", &[policy(r#""Always""#)], "z", 1, true);
}

#[test]
fn rules_of_containers_come_before_policies() {
    let never = ("/spec/restartPolicy", r#""Never""#);
    let own = |policy: &'static str| ("/spec/containers/0/restartPolicy", policy);
    let base = statuses();
    let list = "containerStatuses";
    restart(&base, list, &[never, own(r#""Always""#)], "c", 0, true);
    restart(&base, list, &[never, own(r#""OnFailure""#)], "c", 1, true);
    restart(&base, list, &[never, own(r#""OnFailure""#)], "c", 0, false);
    restart(&base, list, &[own(r#""Never""#)], "c", 1, false);
    restart(&base, list, &[own(r#""Other""#)], "c", 1, true);
    let rules =
        |rules: &'static str| [never, own(r#""Never""#), ("/spec/containers/0/restartPolicyRules", rules)];
    let only = rules(
        r#"[{"action":"Other","exitCodes":{"operator":"Is","values":[5]}},{"action":"Restart","exitCodes":{"operator":"In","values":[4,5]}}]"#,
    );
    restart(&base, list, &only, "c", 5, true);
    restart(&base, list, &only, "c", 6, false);
    let all_but = rules(r#"[{"action":"Restart","exitCodes":{"operator":"NotIn","values":[5]}}]"#);
    restart(&base, list, &all_but, "c", 6, true);
    restart(&base, list, &all_but, "c", 5, false);
    let all = rules(r#"[{"action":"RestartAllContainers","exitCodes":{"operator":"In","values":[5]}}]"#);
    restart(&base, list, &all, "c", 6, true);
    restart(&base, "initContainerStatuses", &all, "i", 0, true);
    // Rules in use count without the gate.
    let off = statuses_with(&[
        (Feature::ContainerRestartRules, false),
        (Feature::RestartAllContainersOnContainerExits, false),
    ]);
    restart(&off, list, &only, "c", 5, true);
    restart(&off, list, &all, "c", 6, true);
}

#[test]
fn every_status_of_a_name_counts_without_rules() {
    let off = statuses_with(&[(Feature::ContainerRestartRules, false)]);
    let never = ("/spec/restartPolicy", r#""Never""#);
    let at = "/status/containerStatuses";
    let old = format!("[{},{}]", running("b"), terminated("c", 0));
    let new = format!("[{},{},{}]", running("c"), terminated("c", 1), running("c"));
    let error =
        "status.containerStatuses[1].state: Forbidden: may not be transitioned to non-terminated state";
    off.refuses_update_of(&[never, (at, &old)], &[(&[(at, &new)], &[error, error])]);
    statuses().refuses_update_of(&[never, (at, &old)], &[(&[(at, &new)], &[error])]);
}

#[test]
fn users_of_containers_fit_the_operating_system() {
    let user: Change<'_> = (
        "/status/containerStatuses",
        r#"[{"name":"c","user":{"linux":{"uid":-1,"gid":-2,"supplementalGroups":[1,-3]}}}]"#,
    );
    let range = "must be between 0 and 2147483647, inclusive";
    let at = "status.containerStatuses[0].user.linux";
    let expected = [
        format!("{at}.uid: Invalid value: -1: {range}"),
        format!("{at}.gid: Invalid value: -2: {range}"),
        format!("{at}.supplementalGroups[1]: Invalid value: -3: {range}"),
    ];
    let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
    statuses().refuses_update(&[(&[user], &expected)]);
    statuses().refuses_update_of(
        &[("/spec/os", r#"{"name":"windows"}"#)],
        &[(&[user], &["status.containerStatuses[0].user.linux: Forbidden: cannot be set for a windows pod"])],
    );
    statuses().accepts_update_of(&[("/spec/os", r#"{"name":"other"}"#)], &[&[user]]);
}

#[test]
fn health_is_of_resources_that_a_container_has() {
    let health = |name: &str, resources: &str| {
        format!(
            r#"[{{"name":"c","allocatedResourcesStatus":[{{"name":"{name}","resources":[{resources}]}}]}}]"#
        )
    };
    let at = "/status/containerStatuses";
    let path = "status.containerStatuses[0].allocatedResourcesStatus[0]";
    let claim = "must match one of the container's resource claims in a format 'claim:<claimName>/<request>' or 'claim:<claimName>' if request is empty";
    let long = "a".repeat(1025);
    let too_long = format!(r#"{{"resourceID":"a","health":"Healthy","message":"{long}"}}"#);
    let base = statuses();
    let refuses = |text: &str, expected: &[&str]| base.refuses_update(&[(&[(at, text)], expected)]);
    refuses(&health("claim:y", ""), &[&format!(r#"{path}.name: Invalid value: "claim:y": {claim}"#)]);
    refuses(
        &health("cpu", ""),
        &[&format!(
            r#"{path}.name: Invalid value: "cpu": must match one of the container's resource requests"#
        )],
    );
    refuses(
        &health(
            "example.com/a",
            r#"{"resourceID":"a","health":"x"},{"resourceID":"a","health":"Unknown","message":""}"#,
        ),
        &[
            &format!(
                r#"{path}.resources[0].health: Unsupported value: "x": supported values: "Healthy", "Unhealthy", "Unknown""#
            ),
            &format!("{path}.resources[1].message: Required value: must be non-empty if specified"),
            &format!(r#"{path}.resources[1].resourceID: Duplicate value: "a""#),
        ],
    );
    refuses(
        &health("example.com/a", &too_long),
        &[&format!("{path}.resources[0].message: Too long: may not be more than 1024 bytes")],
    );
    for name in ["claim:x", "claim:x/r", "example.com/a"] {
        base.accepts_update(&[&[(at, &health(name, r#"{"resourceID":"a","health":"Healthy"}"#))]]);
    }
    let other = health("cpu", "").replace(r#""name":"c""#, r#""name":"z""#);
    base.accepts_update(&[&[(at, &other)]]);
    base.refuses_update(&[(
        &[("/status/ephemeralContainerStatuses", &health("cpu", ""))],
        &[
            "status.ephemeralContainerStatuses[0].allocatedResourcesStatus: Forbidden: must not be specified in container status",
        ],
    )]);
}

#[test]
fn image_volumes_have_a_reference() {
    let base = statuses_with(&[(Feature::ImageVolumeWithDigest, true)]);
    let mount = |reference: &str| {
        format!(
            r#"[{{"name":"c","volumeMounts":[{{"name":"v","mountPath":"/v","volumeStatus":{{"image":{{"imageRef":"{reference}"}}}}}}]}}]"#
        )
    };
    for list in ["containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"] {
        let at = format!("/status/{list}");
        let path = format!("status.{list}[0].volumeMounts[0].volumeStatus.imageVolumeStatus.imageRef");
        base.refuses_update(&[
            (&[(&at, &mount(""))], &[&format!("{path}: Required value: imageRef must not be empty")]),
            (
                &[(&at, &mount(&"a".repeat(257)))],
                &[&format!("{path}: Too long: may not be more than 256 bytes")],
            ),
        ]);
        base.accepts_update(&[&[(&at, &mount("a@sha256:b"))]]);
        // Dropped without the feature.
        statuses().accepts_update(&[&[(&at, &mount(""))]]);
    }
}
