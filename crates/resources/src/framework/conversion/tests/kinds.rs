//! Kinds whose versions differ.

use super::*;

#[test]
fn a_definition_says_once_what_its_versions_have_in_common() {
    check_both(
        r#"{"kind":"CustomResourceDefinition","apiVersion":"apiextensions.k8s.io/v1","metadata":{"name":"ws.e.com"},
            "spec":{"group":"e.com","names":{"plural":"ws","kind":"W"},"scope":"Namespaced","versions":[
            {"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}},
             "subresources":{"status":{}},"additionalPrinterColumns":[{"name":"a","type":"string","jsonPath":".a"}]},
            {"name":"v2","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object"}},
             "subresources":{"status":{}},"additionalPrinterColumns":[{"name":"b","type":"string","jsonPath":".b"}]}],
            "conversion":{"strategy":"Webhook","webhook":{"clientConfig":{"url":"u"},"conversionReviewVersions":["v1"]}}},
            "status":{"conditions":[],"acceptedNames":{"plural":"","kind":""},"storedVersions":["v1"]}}"#,
        r#"{"kind":"CustomResourceDefinition","apiVersion":"apiextensions.k8s.io/v1beta1","metadata":{"name":"ws.e.com"},
            "spec":{"group":"e.com","version":"v1","names":{"plural":"ws","kind":"W"},"scope":"Namespaced",
            "validation":{"openAPIV3Schema":{"type":"object"}},"subresources":{"status":{}},"versions":[
            {"name":"v1","served":true,"storage":true,"additionalPrinterColumns":[{"name":"a","type":"string","JSONPath":".a"}]},
            {"name":"v2","served":true,"storage":false,"additionalPrinterColumns":[{"name":"b","type":"string","JSONPath":".b"}]}],
            "conversion":{"strategy":"Webhook","webhookClientConfig":{"url":"u"},"conversionReviewVersions":["v1"]},
            "preserveUnknownFields":false},
            "status":{"conditions":[],"acceptedNames":{"plural":"","kind":""},"storedVersions":["v1"]}}"#,
    );
}

#[test]
fn a_definition_of_old_may_name_its_version_and_nothing_more() {
    check(
        r#"{"kind":"CustomResourceDefinition","apiVersion":"apiextensions.k8s.io/v1beta1","spec":{"group":"e.com","version":"v1",
            "names":{"plural":"ws","kind":"W"},"scope":"Cluster","preserveUnknownFields":true,
            "additionalPrinterColumns":[{"name":"a","type":"string","JSONPath":".a"}]}}"#,
        "apiextensions/v1.CustomResourceDefinition",
        r#"{"kind":"CustomResourceDefinition","apiVersion":"apiextensions.k8s.io/v1","spec":{"group":"e.com",
            "names":{"plural":"ws","kind":"W"},"scope":"Cluster","preserveUnknownFields":true,
            "versions":[{"name":"v1","served":true,"storage":true,
            "additionalPrinterColumns":[{"name":"a","type":"string","jsonPath":".a"}]}]}}"#,
    );
}

#[test]
fn json_in_schemas_is_written_anew() {
    let definition = |first: &str, second: &str| {
        format!(
            r#"{{"kind":"CustomResourceDefinition","apiVersion":"apiextensions.k8s.io/v1","spec":{{"group":"e.com",
            "names":{{"plural":"ws","kind":"W"}},"scope":"Cluster","versions":[
            {{"name":"v1","served":true,"storage":true,"schema":{{"openAPIV3Schema":{{"properties":{{"a":{first}}}}}}}}},
            {{"name":"v2","served":true,"storage":true,"schema":{{"openAPIV3Schema":{{"properties":{{"a":{second}}}}}}}}}]}}}}"#
        )
    };
    let written = r#"{"default":{"a":1,"b":"\u003c"},"enum":[1,"x",null],"items":{"example":[1,2]}}"#;
    let given = r#"{"default":{ "b": "<", "a": 1.0 },"enum":[ 1e0, "x" ,null],"items":{"example":[1, 2]}}"#;
    check_trip(&definition(given, written), &definition(written, written));
    // Equal by what they mean, they are kept once.
    let stored = convert(
        find("apiextensions/v1beta1.CustomResourceDefinition").unwrap(),
        read(&definition(given, written)),
    );
    let stored = stored.unwrap();
    assert!(stored.at(&["spec", "validation"]).is_some());
    assert!(stored.items_at(&["spec", "versions"]).iter().all(|version| version.get("schema").is_none()));
}

#[test]
fn a_request_for_devices_of_old_is_an_exact_one() {
    check_both(
        r#"{"kind":"ResourceClaim","apiVersion":"resource.k8s.io/v1beta1","spec":{"devices":{"requests":[
            {"name":"a","deviceClassName":"c","selectors":[{"cel":{"expression":"e"}}],"allocationMode":"ExactCount",
             "count":2,"adminAccess":false,"tolerations":[{"key":"k","operator":"Exists"}],
             "capacity":{"requests":{"memory":"1Gi"}}},
            {"name":"b","deviceClassName":"","firstAvailable":[{"name":"s","deviceClassName":"d"}]}]}}}"#,
        r#"{"kind":"ResourceClaim","apiVersion":"resource.k8s.io/v1","spec":{"devices":{"requests":[
            {"name":"a","exactly":{"deviceClassName":"c","selectors":[{"cel":{"expression":"e"}}],
             "allocationMode":"ExactCount","count":2,"adminAccess":false,"tolerations":[{"key":"k","operator":"Exists"}],
             "capacity":{"requests":{"memory":"1Gi"}}}},
            {"name":"b","firstAvailable":[{"name":"s","deviceClassName":"d"}]}]}}}"#,
    );
}

#[test]
fn devices_of_old_are_basic() {
    check_both(
        r#"{"kind":"ResourceSlice","apiVersion":"resource.k8s.io/v1beta1","spec":{"driver":"d","pool":{"name":"p",
            "generation":1,"resourceSliceCount":1},"nodeName":"n","devices":[{"name":"x","basic":{
            "attributes":{"a":{"string":"s"}},"capacity":{"m":{"value":"1Gi"}},"taints":[{"key":"k","effect":"NoSchedule"}],
            "bindsToNode":true}},{"name":"y","basic":{}}]}}"#,
        r#"{"kind":"ResourceSlice","apiVersion":"resource.k8s.io/v1","spec":{"driver":"d","pool":{"name":"p",
            "generation":1,"resourceSliceCount":1},"nodeName":"n","devices":[{"name":"x",
            "attributes":{"a":{"string":"s"}},"capacity":{"m":{"value":"1Gi"}},"taints":[{"key":"k","effect":"NoSchedule"}],
            "bindsToNode":true},{"name":"y"}]}}"#,
    );
    check(
        r#"{"kind":"ResourceSlice","apiVersion":"resource.k8s.io/v1beta1","spec":{"driver":"d","pool":{"name":"p",
            "generation":1,"resourceSliceCount":1},"allNodes":true}}"#,
        "resource/v1beta2.ResourceSlice",
        r#"{"kind":"ResourceSlice","apiVersion":"resource.k8s.io/v1beta2","spec":{"driver":"d","pool":{"name":"p",
            "generation":1,"resourceSliceCount":1},"allNodes":true}}"#,
    );
}

#[test]
fn an_empty_selector_of_a_budget_means_another_thing_in_another_version() {
    let budget = |version: &str, selector: &str| {
        format!(
            r#"{{"kind":"PodDisruptionBudget","apiVersion":"policy/{version}","spec":{{"selector":{selector}}}}}"#
        )
    };
    let label = |operator: &str| {
        format!(
            r#"{{"matchExpressions":[{{"key":"pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match","operator":"{operator}"}}]}}"#
        )
    };
    check_both(&budget("v1beta1", "{}"), &budget("v1", &label("Exists")));
    check_both(&budget("v1", "{}"), &budget("v1beta1", &label("DoesNotExist")));
    check_trip(&budget("v1", "{}"), &budget("v1", "{}"));
    check_trip(&budget("v1", &label("Exists")), &budget("v1", &label("Exists")));
    // Beside what somebody has selected, it goes.
    let own = label("Exists").replace(r#"{"matchE"#, r#"{"matchLabels":{"a":"b"},"matchE"#);
    check_trip(&budget("v1", &own), &budget("v1", r#"{"matchLabels":{"a":"b"}}"#));
}

#[test]
fn priority_levels_of_old_have_other_shares() {
    let level = |version: &str, metadata: &str, shares: &str| {
        format!(
            r#"{{"kind":"PriorityLevelConfiguration","apiVersion":"flowcontrol.apiserver.k8s.io/{version}",
            "metadata":{{{metadata}}},"spec":{{"type":"Limited","limited":{{{shares},"limitResponse":{{"type":"Reject"}}}}}}}}"#
        )
    };
    let v1 = level("v1", "", r#""nominalConcurrencyShares":5"#);
    check_both(&v1, &level("v1beta1", "", r#""assuredConcurrencyShares":5"#));
    check_both(&v1, &level("v1beta2", "", r#""assuredConcurrencyShares":5"#));
    check_both(&v1, &level("v1beta3", "", r#""nominalConcurrencyShares":5"#));
    let zero = r#""annotations":{"flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares":""}"#;
    check_both(
        &level("v1", "", r#""nominalConcurrencyShares":0"#),
        &level("v1beta3", zero, r#""nominalConcurrencyShares":0"#),
    );
}

#[test]
fn an_ingress_of_old_names_its_service_beside_the_port() {
    check_both(
        r#"{"kind":"Ingress","apiVersion":"extensions/v1beta1","spec":{"backend":{"serviceName":"s","servicePort":80},
            "rules":[{"http":{"paths":[{"path":"/","backend":{"serviceName":"t","servicePort":"http"}},
            {"path":"/r","backend":{"resource":{"kind":"K","name":"n"},"servicePort":0}}]}}]}}"#,
        r#"{"kind":"Ingress","apiVersion":"networking.k8s.io/v1","spec":{"defaultBackend":{"service":{"name":"s",
            "port":{"number":80}}},"rules":[{"http":{"paths":[{"path":"/","pathType":null,"backend":{"service":{"name":"t",
            "port":{"name":"http"}}}},{"path":"/r","pathType":null,"backend":{"resource":{"kind":"K","name":"n"}}}]}}]}}"#,
    );
}

#[test]
fn endpoints_of_old_have_a_topology() {
    let v1beta1 = |endpoint: &str| {
        format!(
            r#"{{"kind":"EndpointSlice","apiVersion":"discovery.k8s.io/v1beta1","endpoints":[{{"addresses":["a"],{endpoint}}}]}}"#
        )
    };
    let v1 = |endpoint: &str| v1beta1(endpoint).replace("v1beta1", "v1");
    check_both(
        &v1beta1(
            r#""nodeName":"n","topology":{"kubernetes.io/hostname":"n","topology.kubernetes.io/zone":"z","x":"y"}"#,
        ),
        &v1(r#""nodeName":"n","zone":"z","deprecatedTopology":{"x":"y"}"#),
    );
    check_both(
        &v1beta1(r#""nodeName":"n","topology":{"kubernetes.io/hostname":"other"}"#),
        &v1(r#""nodeName":"n","deprecatedTopology":{"kubernetes.io/hostname":"other"}"#),
    );
}

#[test]
fn a_runtime_class_once_had_a_spec() {
    check_both(
        r#"{"kind":"RuntimeClass","apiVersion":"node.k8s.io/v1alpha1","metadata":{"name":"a"},"spec":{"runtimeHandler":"h",
            "overhead":{"podFixed":{"cpu":"1"}},"scheduling":{"nodeSelector":{"a":"b"}}}}"#,
        r#"{"kind":"RuntimeClass","apiVersion":"node.k8s.io/v1","metadata":{"name":"a"},"handler":"h",
            "overhead":{"podFixed":{"cpu":"1"}},"scheduling":{"nodeSelector":{"a":"b"}}}"#,
    );
}

#[test]
fn subjects_once_said_a_version() {
    let binding = |version: &str, subjects: &str| {
        format!(
            r#"{{"kind":"RoleBinding","apiVersion":"rbac.authorization.k8s.io/{version}","subjects":{subjects},
            "roleRef":{{"apiGroup":"","kind":"Role","name":"r"}}}}"#
        )
    };
    check_both(
        &binding(
            "v1alpha1",
            r#"[{"kind":"ServiceAccount","apiVersion":"v1","name":"s"},
                {"kind":"User","apiVersion":"rbac.authorization.k8s.io/v1alpha1","name":"u"},
                {"kind":"Other","apiVersion":"e.com/","name":"o"}]"#,
        ),
        &binding(
            "v1",
            r#"[{"kind":"ServiceAccount","name":"s"},{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"u"},
                {"kind":"Other","apiGroup":"e.com","name":"o"}]"#,
        ),
    );
    check(
        &binding("v1alpha1", r#"[{"kind":"User","name":"*"}]"#),
        "rbac/v1.RoleBinding",
        &binding(
            "v1",
            r#"[{"kind":"Group","apiGroup":"rbac.authorization.k8s.io","name":"system:authenticated"}]"#,
        ),
    );
}

#[test]
fn workloads_of_old_have_fields_that_are_annotations_now() {
    let template = r#""template":{"spec":{"containers":[],"securityContext":{}}}"#;
    check_both(
        &format!(
            r#"{{"kind":"Deployment","apiVersion":"extensions/v1beta1","spec":{{"replicas":1,{template},
            "rollbackTo":{{"revision":4}}}}}}"#
        ),
        &format!(
            r#"{{"kind":"Deployment","apiVersion":"apps/v1","metadata":{{"annotations":{{
            "deprecated.deployment.rollback.to":"4"}}}},"spec":{{"replicas":1,"selector":null,{template}}}}}"#
        ),
    );
    check_both(
        &format!(
            r#"{{"kind":"DaemonSet","apiVersion":"extensions/v1beta1","spec":{{{template},"templateGeneration":4}}}}"#
        ),
        &format!(
            r#"{{"kind":"DaemonSet","apiVersion":"apps/v1","metadata":{{"annotations":{{
            "deprecated.daemonset.template.generation":"4"}}}},"spec":{{"selector":null,{template}}}}}"#
        ),
    );
}

#[test]
fn scales_of_old_have_their_selector_twice() {
    let scale = |version: &str, status: &str| {
        format!(
            r#"{{"kind":"Scale","apiVersion":"{version}","spec":{{"replicas":1}},"status":{{"replicas":1,{status}}}}}"#
        )
    };
    check_both(
        &scale("apps/v1beta2", r#""selector":{"a":"b","c":"d"},"targetSelector":"a=b,c=d""#),
        &scale("autoscaling/v1", r#""selector":"a=b,c=d""#),
    );
    check(
        &scale("apps/v1beta1", r#""selector":{"a":"b"}"#),
        "autoscaling/v1.Scale",
        &scale("autoscaling/v1", r#""selector":"a=b""#),
    );
    check_both(
        &scale("extensions/v1beta1", r#""targetSelector":"a notin (b)""#),
        &scale("autoscaling/v1", r#""selector":"a notin (b)""#),
    );
    let bad =
        convert(find("apps/v1beta1.Scale").unwrap(), read(&scale("autoscaling/v1", r#""selector":"a in""#)));
    let text = bad.unwrap_err().to_string();
    assert!(
        text.starts_with("failed to parse selector: couldn't parse the selector string \"a in\": "),
        "{text}"
    );
}

#[test]
fn a_signing_request_may_once_have_named_no_signer() {
    check(
        r#"{"kind":"CertificateSigningRequest","apiVersion":"certificates.k8s.io/v1beta1","spec":{"request":"YQ=="}}"#,
        "certificates/v1.CertificateSigningRequest",
        r#"{"kind":"CertificateSigningRequest","apiVersion":"certificates.k8s.io/v1","spec":{"request":"YQ==","signerName":""}}"#,
    );
}
