//! The admission plugins of a server without flags: those that the reference has on by default, in its order.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use http::Method;
use rcgen::{CertificateParams, KeyPair};
use serde_json::{Value, json};

use crate::support::certs::Authority;
use crate::support::shared::ready;
use crate::support::{Launch, Server};

/// The plugins that kube-apiserver 1.36 has on by default, in the order in which it calls them.
const DEFAULTS: [&str; 27] = [
    "NamespaceLifecycle",
    "LimitRanger",
    "ServiceAccount",
    "TaintNodesByCondition",
    "PodSecurity",
    "Priority",
    "DefaultTolerationSeconds",
    "DefaultStorageClass",
    "StorageObjectInUseProtection",
    "PodGroupProtection",
    "PersistentVolumeClaimResize",
    "RuntimeClass",
    "CertificateApproval",
    "CertificateSigning",
    "ClusterTrustBundleAttest",
    "CertificateSubjectRestriction",
    "DefaultIngressClass",
    "PodTopologyLabels",
    "PodGroupWorkloadExists",
    "NodeDeclaredFeatureValidator",
    "JobValidation",
    "PodResizeValidator",
    "MutatingAdmissionPolicy",
    "MutatingAdmissionWebhook",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionWebhook",
    "ResourceQuota",
];

/// The same plugins, each with a write that it handles.
const HANDLED: &[(&str, &str)] = &[
    ("NamespaceLifecycle", "create a pod"),
    ("LimitRanger", "create a pod"),
    ("ServiceAccount", "create a pod"),
    ("TaintNodesByCondition", "create a node"),
    ("PodSecurity", "create a pod"),
    ("Priority", "create a pod"),
    ("DefaultTolerationSeconds", "create a pod"),
    ("DefaultStorageClass", "create a claim"),
    ("StorageObjectInUseProtection", "create a claim"),
    ("PodGroupProtection", "create a pod group"),
    ("PersistentVolumeClaimResize", "update a claim"),
    ("RuntimeClass", "create a pod"),
    ("CertificateApproval", "approve a request"),
    ("CertificateSigning", "sign a request"),
    ("ClusterTrustBundleAttest", "create a trust bundle"),
    ("CertificateSubjectRestriction", "create a request"),
    ("DefaultIngressClass", "create an ingress"),
    ("PodTopologyLabels", "create a pod"),
    ("PodGroupWorkloadExists", "create a pod group"),
    ("NodeDeclaredFeatureValidator", "update a pod"),
    ("JobValidation", "update a job"),
    ("PodResizeValidator", "resize a pod"),
    ("MutatingAdmissionPolicy", "create a pod"),
    ("MutatingAdmissionWebhook", "create a pod"),
    ("ValidatingAdmissionPolicy", "create a pod"),
    ("ValidatingAdmissionWebhook", "create a pod"),
    ("ResourceQuota", "create a pod"),
];

/// Plugins that a feature gate switches and that are off without the gates of [`GATES`].
const GATED: [&str; 4] =
    ["PodGroupProtection", "ClusterTrustBundleAttest", "PodGroupWorkloadExists", "JobValidation"];
const REGISTRATION: &str = "/apis/admissionregistration.k8s.io/v1";
const GATES: &str = "--feature-gates=ClusterTrustBundle=true,GenericWorkload=true,WorkloadWithJob=true";

/// A path, and a body that is created, or a patch.
type Write = (&'static str, Method, &'static str, Value);

fn writes() -> Vec<Write> {
    const PODS: &str = "/api/v1/namespaces/default/pods";
    const CLAIMS: &str = "/api/v1/namespaces/default/persistentvolumeclaims";
    const JOBS: &str = "/apis/batch/v1/namespaces/default/jobs";
    const REQUESTS: &str = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
    let named = json!({"name": "a"});
    let labels = json!({"metadata": {"labels": {"a": "b"}}});
    let resources = |cpu: &str| json!({"requests": {"cpu": cpu}});
    let spec = |cpu: &str| json!({"containers": [{"name": "c", "image": "i", "resources": resources(cpu)}]});
    let mut job = json!({"metadata": named, "spec": {"template": {"spec": spec("1")}}});
    job["spec"]["template"]["spec"]["restartPolicy"] = json!("Never");
    let rule = json!({"spec": {"defaultBackend": {"service": {"name": "s", "port": {"number": 80}}}}});
    let claim = json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}});
    let request =
        json!({"request": certificate_request(), "signerName": "a.io/b", "usages": ["client auth"]});
    let condition = |kind: &str| json!({"type": kind, "status": "True", "reason": "r"});
    let approved = json!({"status": {"conditions": [condition("Approved")]}});
    let signed = json!({"status": {"conditions": [condition("Approved"), condition("Failed")]}});
    vec![
        ("create a node", Method::POST, "/api/v1/nodes", json!({"metadata": named})),
        ("create a pod", Method::POST, PODS, json!({"metadata": named, "spec": spec("1")})),
        ("update a pod", Method::PATCH, "/api/v1/namespaces/default/pods/a", labels.clone()),
        (
            "resize a pod",
            Method::PATCH,
            "/api/v1/namespaces/default/pods/a/resize",
            json!({"spec": {"containers": [{"name": "c", "image": "i", "resources": resources("2")}]}}),
        ),
        ("create a claim", Method::POST, CLAIMS, json!({"metadata": named, "spec": claim})),
        (
            "update a claim",
            Method::PATCH,
            "/api/v1/namespaces/default/persistentvolumeclaims/a",
            labels.clone(),
        ),
        (
            "create an ingress",
            Method::POST,
            "/apis/networking.k8s.io/v1/namespaces/default/ingresses",
            json!({"metadata": named, "spec": rule["spec"]}),
        ),
        ("create a job", Method::POST, JOBS, job),
        ("update a job", Method::PATCH, "/apis/batch/v1/namespaces/default/jobs/a", labels),
        (
            "create a pod group",
            Method::POST,
            "/apis/scheduling.k8s.io/v1alpha2/namespaces/default/podgroups",
            json!({"metadata": named, "spec": {"schedulingPolicy": {"basic": {}}}}),
        ),
        ("create a request", Method::POST, REQUESTS, json!({"metadata": named, "spec": request})),
        (
            "approve a request",
            Method::PATCH,
            "/apis/certificates.k8s.io/v1/certificatesigningrequests/a/approval",
            approved,
        ),
        (
            "sign a request",
            Method::PATCH,
            "/apis/certificates.k8s.io/v1/certificatesigningrequests/a/status",
            signed,
        ),
        (
            "create a trust bundle",
            Method::POST,
            "/apis/certificates.k8s.io/v1beta1/clustertrustbundles",
            json!({"metadata": named, "spec": {"trustBundle": Authority::new("ca").pem}}),
        ),
    ]
}

/// Returns webhooks and policies for pods, without which their plugins have nothing to do. Nothing answers for the webhooks.
fn registrations() -> Vec<(&'static str, Value)> {
    let named = json!({"name": "a"});
    let rule =
        json!({"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]});
    let hook = json!({
        "name": "a.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None", "failurePolicy": "Ignore",
        "clientConfig": {"url": "https://127.0.0.1:1/"}, "rules": [rule],
    });
    let constraints = json!({"resourceRules": [rule]});
    let labels = "[JSONPatch{op: 'add', path: '/metadata/labels', value: {'a': 'b'}}]";
    let patch = json!({"patchType": "JSONPatch", "jsonPatch": {"expression": labels}});
    vec![
        ("mutatingwebhookconfigurations", json!({"metadata": named, "webhooks": [hook]})),
        ("validatingwebhookconfigurations", json!({"metadata": named, "webhooks": [hook]})),
        (
            "validatingadmissionpolicies",
            json!({"metadata": named, "spec": {
                "matchConstraints": constraints, "validations": [{"expression": "true"}],
            }}),
        ),
        (
            "validatingadmissionpolicybindings",
            json!({"metadata": named, "spec": {
                "policyName": "a", "validationActions": ["Deny"],
            }}),
        ),
        (
            "mutatingadmissionpolicies",
            json!({"metadata": named, "spec": {
                "matchConstraints": constraints, "reinvocationPolicy": "Never", "mutations": [patch],
            }}),
        ),
        ("mutatingadmissionpolicybindings", json!({"metadata": named, "spec": {"policyName": "a"}})),
    ]
}

fn certificate_request() -> String {
    let key = KeyPair::generate().expect("a key");
    let request = CertificateParams::default().serialize_request(&key).expect("a request");
    BASE64_STANDARD.encode(request.pem().expect("PEM"))
}

/// Returns the names in a line of the log.
fn names_after(server: &Server, text: &str) -> Vec<String> {
    let log = server.stderr();
    let lines: Vec<&str> = log.lines().filter_map(|line| Some(line.split_once(text)?.1)).collect();
    assert_eq!(lines.len(), 1, "{text}: {log}");
    let names = lines[0].trim_end_matches(['"', '.']);
    names.split(',').map(str::to_owned).collect()
}

fn loaded(server: &Server) -> Vec<String> {
    names_after(server, "admission plugin(s) in the following order: ")
}

/// Launches a server that has the reference's default plugins; without the flag, one on the embedded store has NodeRestriction.
fn launch() -> Launch {
    Launch::with_default_plugins().arg("--authorization-mode=Node,RBAC")
}

#[tokio::test]
async fn the_default_plugins_of_the_reference_run_in_its_order() {
    let server = launch().args(&["--runtime-config=api/all=true", GATES]).start().await;
    ready(&server).await;
    assert_eq!(loaded(&server), DEFAULTS);
    assert_eq!(HANDLED.iter().map(|(name, _)| *name).collect::<Vec<_>>(), DEFAULTS, "in the same order");
    for (path, object) in registrations() {
        let (path, kind) = (format!("{REGISTRATION}/{path}"), [("content-type", "application/json")]);
        let answer = server.admin().request(Method::POST, &path, &kind, object.to_string()).await;
        assert_eq!(answer.code, 201, "{path}: {answer:?}");
    }

    for (what, method, path, body) in writes() {
        let kind = match method {
            Method::POST => "application/json",
            _ => "application/merge-patch+json",
        };
        let before = ran(&server).await;
        let answer = server.admin().request(method, path, &[("content-type", kind)], body.to_string()).await;
        assert!(matches!(answer.code, 200 | 201), "{what}: {answer:?}");
        let after = ran(&server).await;
        for (name, _) in HANDLED.iter().filter(|(_, handled)| *handled == what) {
            let count = |counts: &[(String, u64)]| {
                counts.iter().filter(|(of, _)| of == name).map(|(_, count)| count).sum::<u64>()
            };
            assert!(count(&after) > count(&before), "{name} does not run when clients {what}");
        }
    }
    let handled = |what: &str| writes().iter().any(|(of, ..)| *of == what);
    assert!(HANDLED.iter().all(|(_, what)| handled(what)));
}

/// Returns how often plugins ran, by the metrics of the server.
async fn ran(server: &Server) -> Vec<(String, u64)> {
    const COUNT: &str = "apiserver_admission_controller_admission_duration_seconds_count{";
    let metrics = server.admin().get("/metrics").await.body;
    let line = |line: &str| {
        let (labels, count) = line.strip_prefix(COUNT)?.split_once("} ")?;
        let name = labels.split_once("name=\"")?.1.split_once('"')?.0;
        Some((name.to_owned(), count.parse().ok()?))
    };
    metrics.lines().filter_map(line).collect()
}

#[tokio::test]
async fn plugins_whose_feature_gate_is_off_are_not_loaded() {
    let server = launch().start().await;
    let expected: Vec<&str> = DEFAULTS.into_iter().filter(|name| !GATED.contains(name)).collect();
    assert_eq!(loaded(&server), expected);

    let off = [
        "ExtendWebSocketsToKubelet",
        "InPlacePodLevelResourcesVerticalScaling",
        "InPlacePodVerticalScalingInitContainers",
        "NodeDeclaredFeatures",
        "PodTopologyLabelsAdmission",
        "RestartAllContainersOnContainerExits",
    ];
    let gates = off.map(|gate| format!("{gate}=false")).join(",");
    let server = launch()
        .args(&[
            format!("--feature-gates={gates}"),
            "--disable-admission-plugins=DefaultStorageClass,Priority".into(),
        ])
        .start()
        .await;
    let switched = ["PodTopologyLabels", "NodeDeclaredFeatureValidator", "DefaultStorageClass", "Priority"];
    let rest: Vec<&str> = expected.into_iter().filter(|name| !switched.contains(name)).collect();
    assert_eq!(loaded(&server), rest);
    let log = server.stderr();
    for gate in ["PodTopologyLabelsAdmission", "NodeDeclaredFeatures"] {
        let warned = log.lines().any(|line| line.contains(&format!("feature gate {gate}=")));
        assert!(!warned, "{gate} has its effect: {log}");
    }
}
