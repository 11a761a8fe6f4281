//! References of objects to others that the node authorizer follows.

use pintle_meta::Value;

use super::graph::{Kind, References};

/// Marks a pod that only shows what a node runs on its own account.
pub const MIRROR_POD: &str = "kubernetes.io/config.mirror";

/// Kinds of volumes that name a secret, in the order in which they are looked for, with the way to its name. The first that a
/// volume has is the one that counts. Those in a pod name a secret of the pod's namespace.
const SECRETS_OF_VOLUMES: [(&str, &[&str]); 11] = [
    ("azureFile", &["secretName"]),
    ("cephfs", &["secretRef", "name"]),
    ("cinder", &["secretRef", "name"]),
    ("flexVolume", &["secretRef", "name"]),
    ("projected", &[]),
    ("rbd", &["secretRef", "name"]),
    ("secret", &["secretName"]),
    ("scaleIO", &["secretRef", "name"]),
    ("iscsi", &["secretRef", "name"]),
    ("storageos", &["secretRef", "name"]),
    ("csi", &["nodePublishSecretRef", "name"]),
];

/// The same of persistent volumes: the references, and whether one without a namespace is of the claim's.
const SECRETS_OF_PERSISTENT_VOLUMES: [(&str, &[&str], bool); 8] = [
    ("cephfs", &["secretRef"], true),
    ("cinder", &["secretRef"], false),
    ("flexVolume", &["secretRef"], true),
    ("rbd", &["secretRef"], true),
    ("scaleIO", &["secretRef"], true),
    ("iscsi", &["secretRef"], true),
    ("storageos", &["secretRef"], false),
    // Secrets of the controller are not for nodes.
    ("csi", &["nodePublishSecretRef", "nodeStageSecretRef", "nodeExpandSecretRef"], false),
];

/// Returns the references of an object of one of [`Kind::SOURCES`]; `None` if it concerns no node.
pub(super) fn of(kind: Kind, object: &Value) -> Option<References> {
    match kind {
        Kind::Pod => of_pod(object),
        Kind::PersistentVolume => of_volume(object),
        _ => {
            let node = object.text_at(&["spec", "nodeName"]).to_owned();
            (!node.is_empty()).then(|| References { node, ..References::default() })
        }
    }
}

struct Sources(Vec<(Kind, String)>);

impl Sources {
    fn add(&mut self, kind: Kind, name: &str) {
        if !name.is_empty() {
            self.0.push((kind, name.to_owned()));
        }
    }
}

fn of_pod(pod: &Value) -> Option<References> {
    let node = pod.text_at(&["spec", "nodeName"]).to_owned();
    if node.is_empty() {
        return None;
    }
    // Nodes make mirror pods themselves, and must not gain anything by it.
    let used = if pod.annotation(MIRROR_POD).is_none() { used_by(pod) } else { Vec::new() };
    let namespace = pod.namespace();
    let sources = used.into_iter().map(|(kind, name)| (kind, namespace.to_owned(), name)).collect();
    Some(References { node, claim: None, sources })
}

/// Returns the objects that a pod refers to, by kind and name, all of the pod's namespace.
pub fn used_by(pod: &Value) -> Vec<(Kind, String)> {
    let mut sources = Sources(Vec::new());
    sources.add(Kind::ServiceAccount, pod.text_at(&["spec", "serviceAccountName"]));
    for secret in pod.items_at(&["spec", "imagePullSecrets"]) {
        sources.add(Kind::Secret, secret.text_at(&["name"]));
    }
    for containers in ["initContainers", "containers", "ephemeralContainers"] {
        for container in pod.items_at(&["spec", containers]) {
            environment(container, &mut sources);
        }
    }
    for volume in pod.items_at(&["spec", "volumes"]) {
        sources_of_volume(pod, volume, &mut sources);
    }
    for claim in pod.items_at(&["spec", "resourceClaims"]) {
        sources.add(Kind::ResourceClaim, resource_claim(pod, claim));
    }
    let extended = pod.text_at(&["status", "extendedResourceClaimStatus", "resourceClaimName"]);
    sources.add(Kind::ResourceClaim, extended);
    sources.0
}

fn environment(container: &Value, sources: &mut Sources) {
    for from in container.items_at(&["envFrom"]) {
        sources.add(Kind::Secret, from.text_at(&["secretRef", "name"]));
        sources.add(Kind::ConfigMap, from.text_at(&["configMapRef", "name"]));
    }
    for variable in container.items_at(&["env"]) {
        sources.add(Kind::Secret, variable.text_at(&["valueFrom", "secretKeyRef", "name"]));
        sources.add(Kind::ConfigMap, variable.text_at(&["valueFrom", "configMapKeyRef", "name"]));
    }
}

fn sources_of_volume(pod: &Value, volume: &Value, sources: &mut Sources) {
    let has = |source: &str| volume.get(source).is_some_and(|source| !source.is_null());
    let secret = SECRETS_OF_VOLUMES.iter().find(|(source, _)| has(source));
    if let Some((source, path)) = secret.filter(|(_, path)| !path.is_empty()) {
        let of_source = volume.get(source);
        sources.add(Kind::Secret, of_source.map_or("", |source| source.text_at(path)));
    }
    for projected in volume.items_at(&["projected", "sources"]) {
        sources.add(Kind::Secret, projected.text_at(&["secret", "name"]));
        sources.add(Kind::ConfigMap, projected.text_at(&["configMap", "name"]));
    }
    sources.add(Kind::ConfigMap, volume.text_at(&["configMap", "name"]));
    if has("persistentVolumeClaim") {
        let claim = volume.text_at(&["persistentVolumeClaim", "claimName"]);
        sources.add(Kind::PersistentVolumeClaim, claim);
    } else if has("ephemeral") {
        let claim = format!("{}-{}", pod.name(), volume.text_at(&["name"]));
        sources.add(Kind::PersistentVolumeClaim, &claim);
    }
}

/// The name of a pod's claim: the one it names, or the one that was made for it. Empty if there is none (yet).
fn resource_claim<'a>(pod: &'a Value, claim: &'a Value) -> &'a str {
    match claim.text_at(&["resourceClaimName"]) {
        "" if claim.text_at(&["resourceClaimTemplateName"]).is_empty() => "",
        "" => {
            let name = claim.text_at(&["name"]);
            let statuses = pod.items_at(&["status", "resourceClaimStatuses"]);
            let status = statuses.iter().find(|status| status.text_at(&["name"]) == name);
            status.map_or("", |status| status.text_at(&["resourceClaimName"]))
        }
        named => named,
    }
}

fn of_volume(volume: &Value) -> Option<References> {
    let spec = volume.get("spec")?;
    let claim = spec.get("claimRef").filter(|claim| !claim.is_null())?;
    let of_claim = claim.text_at(&["namespace"]);
    let mut sources = Vec::new();
    let mut add = |namespace: &str, name: &str| {
        if !name.is_empty() {
            sources.push((Kind::Secret, namespace.to_owned(), name.to_owned()));
        }
    };
    let has = |source: &str| spec.get(source).is_some_and(|source| !source.is_null());
    if has("azureFile") {
        let namespace = spec.text_at(&["azureFile", "secretNamespace"]);
        let namespace = if namespace.is_empty() { of_claim } else { namespace };
        add(namespace, spec.text_at(&["azureFile", "secretName"]));
    } else if let Some((source, references, or_of_claim)) =
        SECRETS_OF_PERSISTENT_VOLUMES.iter().find(|(source, ..)| has(source))
    {
        for reference in *references {
            let namespace = spec.text_at(&[source, reference, "namespace"]);
            let namespace = if namespace.is_empty() && *or_of_claim { of_claim } else { namespace };
            add(namespace, spec.text_at(&[source, reference, "name"]));
        }
    }
    let claim = (of_claim.to_owned(), claim.text_at(&["name"]).to_owned());
    Some(References { node: String::new(), claim: Some(claim), sources })
}
