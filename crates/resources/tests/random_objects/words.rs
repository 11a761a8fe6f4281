//! Texts, numbers and keys that rules accept, by the names of fields.

use std::sync::OnceLock;

use pintle_schema::Shape;

pub(crate) const INTEGERS: &[i64] = &[1, 0, 2, 10, 80, 443, 8080];

/// Texts of many formats, for fields whose rules no pool is for.
pub(crate) const FORMATS: &[&str] = &[
    "a",
    "10.0.0.1",
    "10.0.0.0/24",
    "fd00::1",
    "example.com",
    "example.com/a",
    "a.example.com",
    "/a",
    "https://example.com/a",
    "v1",
    "1.2.3",
    "true",
    "Other",
    "IPv4",
    "1",
    "*",
    "",
];

/// Names to try for a whole object.
pub(crate) const NAMES: &[&str] =
    &["a", "10.0.0.1", "things.example.com", "v1.example.com", "example.com", "example.com:a:b"];

/// Returns the texts of a field of a struct.
pub(crate) fn texts(parent: &str, field: &str) -> &'static [&'static str] {
    match (parent, field) {
        ("core/v1.EnvVar" | "core/v1.EnvFromSource", _) => &["A", "B", "C"],
        ("core/v1.HTTPHeader", "name") => &["X-A"],
        (
            "core/v1.KeyToPath" | "core/v1.DownwardAPIVolumeFile" | "core/v1.ClusterTrustBundleProjection",
            "path",
        ) => &["a", "b/c"],
        ("core/v1.ObjectFieldSelector", "fieldPath") => &["metadata.name", "metadata.labels['app']"],
        ("core/v1.ResourceFieldSelector", "resource") => &["limits.cpu", "requests.memory"],
        ("core/v1.Taint" | "core/v1.Toleration", "key") => &["example.com/taint", "a"],
        ("core/v1.TopologySelectorLabelRequirement" | "core/v1.NodeSelectorRequirement", "key") => &["app"],
        ("core/v1.NodeSelectorRequirement" | "meta/v1.FieldSelectorRequirement", "operator") => {
            &["In", "Exists"]
        }
        ("core/v1.ConfigMapNodeConfigSource", "kubeletConfigKey") => &["a"],
        ("meta/v1.OwnerReference", "apiVersion") => &["apps/v1"],
        ("rbac/v1.RoleRef", "apiGroup") => &["rbac.authorization.k8s.io"],
        ("rbac/v1.RoleRef", "kind") => &["ClusterRole"],
        ("rbac/v1.PolicyRule", "nonResourceURLs") => &["/healthz", "/a/*"],
        ("apiextensions/v1.JSONSchemaProps", "type") => &["object", "string", "integer", "array"],
        ("apiextensions/v1.CustomResourceDefinitionNames", "kind") => &["Thing"],
        ("apiextensions/v1.CustomResourceDefinitionNames", "listKind") => &["ThingList"],
        ("apiextensions/v1.CustomResourceDefinitionVersion", "name") => &["v1"],
        ("apiextensions/v1.CustomResourceColumnDefinition", "type") => &["string", "integer"],
        ("resource/v1.DeviceRequest", "deviceClassName") => &["example.com"],
        ("events/v1.Event" | "core/v1.Event", "type") => &["Normal", "Warning"],
        (_, "binaryVersion" | "emulationVersion") => &["1.36.0", "1.35.1"],
        ("admissionregistration/v1.JSONPatch", _) => &["[JSONPatch{op: \"remove\", path: \"/spec/a\"}]"],
        ("admissionregistration/v1.ApplyConfiguration", _) => &["Object{}", "Object{spec: Object.spec{}}"],
        (
            "admissionregistration/v1.MutatingWebhook" | "admissionregistration/v1.ValidatingWebhook",
            "name",
        ) => &["a.b.example.com", "c.b.example.com"],
        ("core/v1.ServiceAccountTokenProjection" | "core/v1.PodCertificateProjection", field)
            if field.to_lowercase().ends_with("path") =>
        {
            &["a", "b/c"]
        }
        ("core/v1.PodOS", _) => &["linux", "windows"],
        ("core/v1.TypedLocalObjectReference" | "core/v1.TypedObjectReference", "kind") => {
            &["PersistentVolumeClaim", "Thing"]
        }
        ("resource/v1.DeviceAttribute", "string") => &["a"],
        (_, "iqn" | "initiatorName") => &["iqn.2001-04.com.example:a"],
        (_, "portals") => &["10.0.0.1:3260"],
        (_, "keyType") => &["ED25519", "RSA3072"],
        (_, "registry") => &["a:1", "a:1,b:2"],
        (_, "jsonPath" | "fieldPath") => &[".spec.a", ".metadata.name"],
        (_, "specReplicasPath") => &[".spec.a"],
        (_, "labelSelectorPath" | "statusReplicasPath") => &[".status.a"],
        (_, "stopSignal") => &["SIGTERM", "SIGKILL"],
        (_, "hostnameOverride") => &["a"],
        (_, "fsType") => &["ext4", ""],
        (_, "labels" | "matchLabels" | "selector") => &["a", "web"],
        (_, "admissionReviewVersions") => &["v1"],
        (_, "apiGroups" | "apiGroup" | "group") => &["example.com"],
        (_, "apiVersions" | "version" | "storedVersions" | "servedVersions" | "decodableVersions") => &["v1"],
        (_, "apiVersion") => &["v1", "example.com/v1"],
        (_, "kind") => &["Pod", "Thing"],
        (_, "plural" | "resources") => &["things"],
        (_, "singular" | "shortNames") => &["thing"],
        (_, "categories") => &["all"],
        (_, "image" | "reference") => &["nginx:1", "registry.example.com/a/b:2"],
        (_, "ip" | "podIP" | "clusterIP" | "hostIP" | "loadBalancerIP" | "targetPortal" | "server") => {
            &["10.0.0.1", "fd00::1"]
        }
        (_, "ips" | "externalIPs" | "nameservers" | "addresses") => &["10.0.0.1", "10.0.0.2"],
        (_, "cidr" | "podCIDR" | "podCIDRs" | "cidrs" | "loadBalancerSourceRanges") => {
            &["10.0.0.0/24", "192.168.0.0/16"]
        }
        (_, "mountPath" | "devicePath" | "path" | "terminationMessagePath") => &["/a", "/b/c"],
        (_, "subPath") => &["a", "b/c"],
        (_, "hostname" | "hostnames" | "host") => &["a", "a.example.com"],
        (_, "url") => &["https://example.com/a"],
        (_, "driver" | "provisioner" | "attacher" | "controller" | "finalizers" | "signerName") => {
            &["example.com/a", "example.com"]
        }
        (_, "topologyKey") => &["kubernetes.io/hostname"],
        (_, "verbs") => &["get", "list"],
        (_, "expression" | "messageExpression" | "valueExpression" | "rule") => &["true", "'a'", "1 > 0"],
        (_, "schedule") => &["@daily", "*/5 * * * *"],
        (_, "timeZone") => &["Etc/UTC"],
        (_, "request") => csr(),
        (_, "trustBundle") => certificate(),
        (_, "uid") => &["0b5c1a4e-0a3a-4f5e-8f0a-3c5f0c7d1a11"],
        (_, "resource" | "resourceName") => &["cpu", "memory", "things"],
        (_, "nodeName" | "name" | "namespace" | "secretName" | "claimName" | "serviceName") => {
            &["a", "b", "c"]
        }
        (_, "reason") => &["AsExpected"],
        (_, "operator") => &["In", "Exists", "NotIn"],
        _ => &["a", "b", "web", "example.com/a"],
    }
}

/// Returns base64.
pub(crate) fn bytes(field: &str) -> &'static [&'static str] {
    match field {
        "request" => csr_bytes(),
        "stubPKCS10Request" => csr_der(),
        "caBundle" => ca_bundle(),
        _ => &["AAEC", "/////w=="],
    }
}

/// Returns the keys of a map.
pub(crate) fn keys(of: Shape, field: &str) -> &'static [&'static str] {
    let is_resource = matches!(of, Shape::Named(named) if named.name.ends_with(".ResourceName"));
    match field {
        "hard" | "used" => &["pods", "requests.cpu", "count/things.example.com"],
        "capacity" if !is_resource => &["example.com/a", "size"],
        _ if is_resource => &["cpu", "memory", "storage", "ephemeral-storage"],
        _ if has_labels(field) => &["a", "example.com/b", "c"],
        "annotations" => &["example.com/a", "b"],
        "nodeSelector" => &["kubernetes.io/os", "a"],
        "extra" => &["example.com/a"],
        _ => &["a", "b", "c.d"],
    }
}

/// Returns the value that an entry of some maps must have.
pub(crate) fn value_of(key: &str) -> Option<&'static str> {
    (key == "kubernetes.io/os").then_some("linux")
}

/// Whether a map is one of labels, or selects by them.
pub(crate) fn has_labels(field: &str) -> bool {
    ["labels", "matchLabels", "selector"].contains(&field)
}

pub(crate) fn quantities(field: &str) -> &'static [&'static str] {
    match field {
        "requests" => &["1", "500m", "1Gi"],
        "limits" => &["2", "2Gi"],
        _ => &["1", "2", "10", "1Gi", "1500m"],
    }
}

/// Returns a text that is made on first use and kept for the rest of the process.
fn made(
    cell: &'static OnceLock<[&'static str; 1]>,
    make: impl FnOnce() -> String,
) -> &'static [&'static str] {
    cell.get_or_init(|| [Box::leak(make().into_boxed_str())])
}

fn csr() -> &'static [&'static str] {
    static CSR: OnceLock<[&str; 1]> = OnceLock::new();
    made(&CSR, || {
        let key = rcgen::KeyPair::generate().expect("a key");
        let mut parameters = rcgen::CertificateParams::default();
        parameters.distinguished_name.push(rcgen::DnType::CommonName, "a");
        parameters.serialize_request(&key).expect("a request").pem().expect("PEM")
    })
}

fn certificate() -> &'static [&'static str] {
    static CERTIFICATE: OnceLock<[&str; 1]> = OnceLock::new();
    made(&CERTIFICATE, || {
        let key = rcgen::KeyPair::generate().expect("a key");
        let mut parameters = rcgen::CertificateParams::default();
        parameters.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        parameters.self_signed(&key).expect("a certificate").pem()
    })
}

fn encoded(text: &str) -> String {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.encode(text)
}

fn csr_der() -> &'static [&'static str] {
    static BYTES: OnceLock<[&str; 1]> = OnceLock::new();
    made(&BYTES, || csr()[0].lines().filter(|line| !line.starts_with("---")).collect())
}

fn csr_bytes() -> &'static [&'static str] {
    static BYTES: OnceLock<[&str; 1]> = OnceLock::new();
    made(&BYTES, || encoded(csr()[0]))
}

fn ca_bundle() -> &'static [&'static str] {
    static BYTES: OnceLock<[&str; 1]> = OnceLock::new();
    made(&BYTES, || encoded(certificate()[0]))
}
