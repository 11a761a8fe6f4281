//! Warnings about objects of the core group that are valid but probably mistaken.

use pintle_meta::field_path::Path;
use pintle_meta::quantity::Quantity;
use pintle_meta::validation::{cidr_warnings, dns1123_label, ip_warnings};
use pintle_meta::{Value, Warnings};

use crate::core::{key_pair, pod};

pub(in crate::core) fn of_endpoints(endpoints: &Value) -> Vec<String> {
    // The controller wrote down what others had said.
    if endpoints.label("endpoints.kubernetes.io/managed-by") == Some("endpoint-controller") {
        return Vec::new();
    }
    let mut warnings = Warnings::new();
    let path = Path::new("subsets");
    for (index, subset) in endpoints.items_at(&["subsets"]).iter().enumerate() {
        let path = path.index(index);
        for list in ["addresses", "notReadyAddresses"] {
            let path = path.child(list);
            let addresses = subset.items_at(&[list]).iter().enumerate();
            warnings.extend(addresses.flat_map(|(index, address)| {
                ip_warnings(&path.index(index).child("ip"), address.text_at(&["ip"]))
            }));
        }
    }
    warnings.into_texts()
}

pub(in crate::core) fn of_controller(controller: &Value, old: Option<&Value>) -> Vec<String> {
    const TEMPLATE: &[&str] = &["spec", "template"];
    if let Some(old) = old {
        // About the old template, as the reference has it.
        let is_same = old.generation() == controller.generation();
        return if is_same { Vec::new() } else { pod::warnings::of_template(old, TEMPLATE) };
    }
    let mut warnings = Vec::new();
    let wrong = dns1123_label(controller.name());
    if !wrong.is_empty() {
        warnings.push(format!(
            "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is \
             recommended: [{}]",
            wrong.join(" ")
        ));
    }
    warnings.extend(pod::warnings::of_template(controller, TEMPLATE));
    warnings
}

pub(in crate::core) fn of_node(node: &Value) -> Vec<String> {
    let mut warnings = Warnings::new();
    if node.at(&["spec", "configSource"]).is_some() {
        warnings.push("spec.configSource: the feature is removed");
    }
    if !node.text_at(&["spec", "externalID"]).is_empty() {
        warnings.push("spec.externalID: this field is deprecated, and is unused by Kubernetes");
    }
    let path = Path::new("spec.podCIDRs");
    let ranges = node.items_at(&["spec", "podCIDRs"]).iter().enumerate();
    warnings
        .extend(ranges.flat_map(|(index, range)| {
            cidr_warnings(&path.index(index), range.as_str().unwrap_or_default())
        }));
    warnings.into_texts()
}

/// Where more may be requested than used.
pub(in crate::core) fn of_quota(quota: &Value) -> Vec<String> {
    let mut warnings = Vec::new();
    let hard = |name: &str| quota.at(&["spec", "hard", name]).and_then(Value::as_str);
    for resource in ["cpu", "memory", "storage", "ephemeral-storage"] {
        let mut name = format!("requests.{resource}");
        // Of these two an older name means the same.
        if hard(&name).is_none() && matches!(resource, "cpu" | "memory") && hard(resource).is_some() {
            name = resource.into();
        }
        let limit_name = format!("limits.{resource}");
        let (Some(request), Some(limit)) = (hard(&name), hard(&limit_name)) else { continue };
        if Quantity::parse(request).ok() > Quantity::parse(limit).ok() {
            warnings
                .push(format!("ResourceQuota {name} ({request}) should be less than {limit_name} ({limit})"));
        }
    }
    warnings
}

pub(in crate::core) fn of_secret(secret: &Value) -> Vec<String> {
    let content = |key: &str| secret.at(&["data", key]).and_then(Value::as_bytes).unwrap_or_default();
    let is_tls = secret.text_at(&["type"]) == "kubernetes.io/tls";
    let problem = is_tls.then(|| key_pair::problem(content("tls.crt"), content("tls.key")));
    problem.flatten().into_iter().collect()
}

pub(in crate::core) fn of_service_account(account: &Value, old: Option<&Value>) -> Vec<String> {
    const ANNOTATION: &str = "kubernetes.io/enforce-mountable-secrets";
    let has = |account: &Value| account.annotation(ANNOTATION).is_some();
    if !has(account) || old.is_some_and(has) {
        return Vec::new();
    }
    vec![format!(
        "metadata.annotations[{ANNOTATION}]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted \
         secrets"
    )]
}

pub(in crate::core) fn of_volume(volume: &Value) -> Vec<String> {
    const ANNOTATIONS: &[(&str, &str)] = &[
        (
            "volume.beta.kubernetes.io/storage-class",
            r#"deprecated since v1.8; use "storageClassName" attribute instead"#,
        ),
        (
            "volume.beta.kubernetes.io/mount-options",
            r#"deprecated since v1.31; use "mountOptions" attribute instead"#,
        ),
    ];
    const KINDS: &[(&str, &str)] = &[
        ("cephfs", "deprecated in v1.28, non-functional in v1.31+"),
        ("photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"),
        ("scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
        ("storageos", "deprecated in v1.22, non-functional in v1.25+"),
        ("glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
        ("rbd", "deprecated in v1.28, non-functional in v1.31+"),
    ];
    const TERMS: &[&str] = &["spec", "nodeAffinity", "required", "nodeSelectorTerms"];
    let mut warnings = Warnings::new();
    for (key, why) in ANNOTATIONS.iter().filter(|(key, _)| volume.annotation(key).is_some()) {
        warnings.push(format!("metadata.annotations[{key}]: {why}"));
    }
    if volume.text_at(&["spec", "persistentVolumeReclaimPolicy"]) == "Recycle" {
        warnings.push(
            "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach \
             is to use dynamic provisioning.",
        );
    }
    let path = TERMS.join(".");
    let path = Path::new(&path);
    for (index, term) in volume.items_at(TERMS).iter().enumerate() {
        pod::warnings::node_selector_term(&mut warnings, &path.index(index), term, false);
    }
    for (kind, why) in KINDS.iter().filter(|(kind, _)| volume.at(&["spec", kind]).is_some()) {
        // Under another name than in the field.
        let shown = if *kind == "storageos" { "storageOS" } else { kind };
        warnings.push(format!("spec.{shown}: {why}"));
    }
    warnings.into_texts()
}
