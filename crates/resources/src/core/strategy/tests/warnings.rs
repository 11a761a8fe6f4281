//! Warnings about new objects of the core group.

use super::*;

/// Returns the warnings about a new object.
fn warned(name: &str, kind: &str, object: &str) -> Vec<String> {
    let mut context = Context::default();
    let mut object = read(kind, object);
    let strategy = strategy(name);
    strategy.prepare_for_create(&mut context, &mut object);
    let later = strategy.warnings_on_create(&context, &object);
    context.warnings.into_iter().chain(later).collect()
}

#[test]
fn people_are_told_what_a_pod_hardly_means() {
    let spec =
        |spec: &str| warned("pods", "Pod", &format!(r#"{{"metadata":{{"name":"p"}},"spec":{{{spec}}}}}"#));
    for (given, told) in [
        (
            r#""nodeSelector":{"a":"b","beta.kubernetes.io/os":"linux"}"#,
            r#"spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead"#,
        ),
        (
            r#""affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"beta.kubernetes.io/arch"}]}]}}}"#,
            r#"spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].key: beta.kubernetes.io/arch is deprecated since v1.14; use "kubernetes.io/arch" instead"#,
        ),
        (
            r#""affinity":{"podAntiAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{"podAffinityTerm":{}}]}}"#,
            "spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.labelSelector: a null labelSelector results in matching no pod",
        ),
        (
            r#""topologySpreadConstraints":[{"topologyKey":"x"}]"#,
            "spec.topologySpreadConstraints[0].labelSelector: a null labelSelector results in matching no pod",
        ),
        (
            r#""volumes":[{"name":"v","storageos":{}}]"#,
            "spec.volumes[0].storageOS: deprecated in v1.22, non-functional in v1.25+",
        ),
        (
            r#""volumes":[{"name":"v","ephemeral":{"volumeClaimTemplate":{"spec":{"resources":{"requests":{"storage":"1500m"}}}}}}]"#,
            r#"spec.volumes[0].ephemeral.volumeClaimTemplate.spec.resources.requests[storage]: fractional byte value "1500m" is invalid, must be an integer"#,
        ),
        (
            r#""volumes":[{"name":"v","configMap":{"name":"c","items":[{"key":"a","path":"x/"},{"key":"b","path":"x/y"}]}}]"#,
            r#"volume "v" (ConfigMap "c"): overlapping paths: "x/y" with "x""#,
        ),
        (
            r#""volumes":[{"name":"v","projected":{"sources":[{"secret":{"name":"s","items":[{"key":"a","path":"x"}]}},{"serviceAccountToken":{"path":"x"}}]}}]"#,
            r#"volume "v" (Projected): overlapping paths: "x" (ServiceAccountToken) with "x" (Secret "s")"#,
        ),
        (
            r#""imagePullSecrets":[{"name":"a"},{"name":"a"}]"#,
            r#"spec.imagePullSecrets[1].name: duplicate name "a""#,
        ),
        (r#""imagePullSecrets":[{}]"#, r#"spec.imagePullSecrets[0].name: invalid empty name """#),
        (
            r#""containers":[{"name":"c","resources":{"limits":{"memory":"100m"}}}]"#,
            r#"spec.containers[0].resources.limits[memory]: fractional byte value "100m" is invalid, must be an integer"#,
        ),
        (
            r#""containers":[{"name":"c","env":[{"name":"A","value":"1"},{"name":"B"},{"name":"A","value":"2"}]}]"#,
            r#"spec.containers[0].env[2]: hides previous definition of "A", which may be dropped when using apply"#,
        ),
        (
            r#""containers":[{"name":"c","ports":[{"containerPort":80,"hostIP":"1.2.3.4","protocol":"TCP"}]}]"#,
            "spec.containers[0].ports[0]: hostIP set without hostPort: {Name: HostPort:0 ContainerPort:80 Protocol:TCP HostIP:1.2.3.4}",
        ),
        (
            r#""initContainers":[{"name":"a","ports":[{"containerPort":80,"hostPort":1}]}],"containers":[{"name":"c","ports":[{"containerPort":80,"hostIP":"1.2.3.4","hostPort":1}]}]"#,
            "spec.containers[0].ports[0]: dangerously ambiguous port definition with spec.initContainers[0].ports[0]",
        ),
        (
            r#""containers":[{"name":"c","ports":[{"containerPort":80,"name":"x"},{"containerPort":81,"name":"x"}]}]"#,
            r#"spec.containers[0].ports[1]: duplicate port name "x" with spec.containers[0].ports[0], services and probes that select ports by name will use spec.containers[0].ports[0]"#,
        ),
        (
            r#""terminationGracePeriodSeconds":-1"#,
            "spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1",
        ),
        (
            r#""dnsConfig":{"nameservers":["010.0.0.1"]}"#,
            r#"spec.dnsConfig.nameservers[0]: non-standard IP address "010.0.0.1" is invalid: use "10.0.0.1""#,
        ),
    ] {
        assert_eq!(spec(given), [told], "{given}");
    }
    // A variable may build on an older one, and the same number be two ports.
    let fine = r#""containers":[{"name":"c","env":[{"name":"A","value":"1"},{"name":"A","value":"$(A)2"}],"ports":[{"containerPort":80,"protocol":"TCP"},{"containerPort":80,"protocol":"UDP"}]}]"#;
    assert!(spec(fine).is_empty(), "{:?}", spec(fine));
}

#[test]
fn people_are_told_of_annotations_that_became_fields() {
    let pod = |annotations: &str, context: &str| {
        format!(
            r#"{{"metadata":{{"name":"p","annotations":{{{annotations}}}}},"spec":{{"containers":[{{"name":"c"{context}}}]}}}}"#
        )
    };
    let armor = |value: &str| format!(r#""container.apparmor.security.beta.kubernetes.io/c":"{value}""#);
    let told = r#"metadata.annotations[container.apparmor.security.beta.kubernetes.io/c]: deprecated since v1.30; use the "appArmorProfile" field instead"#;
    let profile = |pod: &str| {
        let pod = created("pods", "Pod", pod);
        pod.items_at(&["spec", "containers"])[0].get("securityContext").map(text)
    };
    let annotated = pod(&armor("localhost/x"), "");
    assert_eq!(warned("pods", "Pod", &annotated), [told]);
    let field = r#"{"appArmorProfile":{"type":"Localhost","localhostProfile":"x"}}"#;
    assert_eq!(profile(&annotated).as_deref(), Some(field));
    // Both said: nothing to tell. Nonsense: nothing to set.
    assert!(
        warned("pods", "Pod", &pod(&armor("localhost/x"), &format!(r#","securityContext":{field}"#)))
            .is_empty()
    );
    let nonsense = pod(&armor("nonsense"), "");
    assert_eq!((warned("pods", "Pod", &nonsense), profile(&nonsense)), (vec![told.to_owned()], None));
    let template = format!(r#"{{"template":{annotated}}}"#);
    assert_eq!(warned("podtemplates", "PodTemplate", &template), [format!("template.{told}")]);

    let seccomp = pod(
        r#""container.seccomp.security.alpha.kubernetes.io/c":"x","seccomp.security.alpha.kubernetes.io/pod":"y""#,
        "",
    );
    let seccomp = warned("pods", "Pod", &seccomp);
    let told = r#"non-functional in v1.27+; use the "seccompProfile" field instead"#;
    assert_eq!(
        seccomp,
        [
            format!("metadata.annotations[seccomp.security.alpha.kubernetes.io/pod]: {told}"),
            format!("metadata.annotations[container.seccomp.security.alpha.kubernetes.io/c]: {told}"),
        ]
    );
}

#[test]
fn people_are_told_of_other_kinds_too() {
    for (name, kind, object, told) in [
        (
            "services",
            "Service",
            r#"{"spec":{"type":"ClusterIP","clusterIP":"None","externalIPs":["1.2.3.4"],"sessionAffinity":"None"}}"#,
            "spec.externalIPs is ignored for headless services",
        ),
        (
            "services",
            "Service",
            r#"{"spec":{"type":"ClusterIP","externalIPs":["1.2.3.4"]}}"#,
            "spec.externalIPs is deprecated and may no longer be implemented in some clusters",
        ),
        (
            "services",
            "Service",
            r#"{"spec":{"type":"LoadBalancer","loadBalancerSourceRanges":["10.0.0.1/8"]}}"#,
            r#"spec.loadBalancerSourceRanges[0]: CIDR value "10.0.0.1/8" is ambiguous in this context (should be "10.0.0.0/8" or "10.0.0.1/32"?)"#,
        ),
        (
            "resourcequotas",
            "ResourceQuota",
            r#"{"spec":{"hard":{"cpu":"2","limits.cpu":"1500m"}}}"#,
            "ResourceQuota cpu (2) should be less than limits.cpu (1500m)",
        ),
        (
            "serviceaccounts",
            "ServiceAccount",
            r#"{"metadata":{"annotations":{"kubernetes.io/enforce-mountable-secrets":"true"}}}"#,
            "metadata.annotations[kubernetes.io/enforce-mountable-secrets]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets",
        ),
        (
            "persistentvolumes",
            "PersistentVolume",
            r#"{"spec":{"persistentVolumeReclaimPolicy":"Recycle"}}"#,
            "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.",
        ),
        (
            "persistentvolumeclaims",
            "PersistentVolumeClaim",
            r#"{"metadata":{"annotations":{"volume.beta.kubernetes.io/storage-class":"x"}}}"#,
            r#"metadata.annotations[volume.beta.kubernetes.io/storage-class]: deprecated since v1.8; use "storageClassName" attribute instead"#,
        ),
        (
            "nodes",
            "Node",
            r#"{"spec":{"externalID":"x"}}"#,
            "spec.externalID: this field is deprecated, and is unused by Kubernetes",
        ),
        (
            "secrets",
            "Secret",
            r#"{"type":"kubernetes.io/tls","data":{"tls.crt":"eA==","tls.key":"eA=="}}"#,
            "tls: failed to find any PEM data in certificate input",
        ),
        (
            "endpoints",
            "Endpoints",
            r#"{"subsets":[{"addresses":[{"ip":"::0"}]}]}"#,
            r#"subsets[0].addresses[0].ip: IPv6 address "::0" should be in RFC 5952 canonical format ("::")"#,
        ),
        (
            "replicationcontrollers",
            "ReplicationController",
            r#"{"metadata":{"name":"a.b"}}"#,
            "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: [must not contain dots]",
        ),
    ] {
        assert_eq!(warned(name, kind, object), [told], "{object}");
    }
}
