//! What the internal types of the core group hold otherwise than `v1`.

use pintle_meta::Value;
use pintle_meta::value::Key;

use crate::framework::conversion::{Error, Fix, build, with, with_metadata, without_annotations};

pub(crate) const FIXES: &[Fix] = &[
    Fix::new("core/v1.Pod").change(pod),
    Fix::new("core/v1.PodTemplateSpec").change(pod_template),
    Fix::new("core/v1.PodSpec").change(pod_spec),
    Fix::new("core/v1.PodStatus").change(pod_status),
    Fix::new("core/v1.NodeSpec").change(node_spec),
    Fix::new("core/v1.Secret").change(secret),
    Fix::new("core/v1.ServiceAccountTokenProjection").filled(&["expirationSeconds"]),
];

/// How init containers were written before they had a field. Dropped, so that no old kubelet heeds them.
const INIT_CONTAINER_ANNOTATIONS: &[&str] = &[
    "pod.alpha.kubernetes.io/init-container-statuses",
    "pod.alpha.kubernetes.io/init-containers",
    "pod.beta.kubernetes.io/init-container-statuses",
    "pod.beta.kubernetes.io/init-containers",
];

fn pod(value: &Value) -> Result<Option<Value>, Error> {
    let template = pod_template(value)?;
    let pod = template.as_ref().unwrap_or(value);
    let seconds = pod.at(&["spec", "terminationGracePeriodSeconds"]).and_then(Value::as_i64);
    if seconds.is_none_or(|seconds| seconds >= 0) {
        return Ok(template);
    }
    // Only for pods: templates are not changed behind their owners' backs.
    let spec = pod.get("spec").map(|spec| with(spec, "terminationGracePeriodSeconds", 1i64));
    Ok(spec.map(|spec| with(pod, "spec", spec)))
}

fn pod_template(value: &Value) -> Result<Option<Value>, Error> {
    let metadata = value.get("metadata");
    let metadata = metadata.and_then(|metadata| without_annotations(metadata, INIT_CONTAINER_ANNOTATIONS));
    Ok(metadata.map(|metadata| with_metadata(value, metadata)))
}

/// `serviceAccount` is an alias of `serviceAccountName`, which wins; and the internal type keeps what concerns the host's
/// namespaces in the security context, which is therefore always there.
fn pod_spec(value: &Value) -> Result<Option<Value>, Error> {
    let (name, alias) = (value.text_at(&["serviceAccountName"]), value.text_at(&["serviceAccount"]));
    let account = if name.is_empty() { alias } else { name };
    let has_context = value.get("securityContext").is_some();
    if has_context && name == account && alias == account {
        return Ok(None);
    }
    let mut changed = value.clone();
    let Some(spec) = changed.as_object_mut() else { return Ok(None) };
    for (field, known) in [("serviceAccountName", name), ("serviceAccount", alias)] {
        if known != account {
            spec.insert(Key::new_static(field), account);
        }
    }
    if !has_context {
        spec.insert(Key::new_static("securityContext"), build("core/v1.PodSecurityContext", []));
    }
    Ok(Some(changed))
}

/// `podIP` is the first of `podIPs`. Where they disagree, the single one is right: old kubelets know no other.
fn pod_status(value: &Value) -> Result<Option<Value>, Error> {
    let (single, all) = (value.text_at(&["podIP"]), value.items_at(&["podIPs"]));
    match all.first().map(|first| first.text_at(&["ip"])) {
        None if single.is_empty() => Ok(None),
        Some(first) if first == single => Ok(None),
        Some(first) if single.is_empty() => Ok(Some(with(value, "podIP", first))),
        _ => {
            let address = build("core/v1.PodIP", [("ip", Some(single.into()))]);
            Ok(Some(with(value, "podIPs", vec![address])))
        }
    }
}

/// The same of `podCIDR` and `podCIDRs`.
fn node_spec(value: &Value) -> Result<Option<Value>, Error> {
    let (single, all) = (value.text_at(&["podCIDR"]), value.items_at(&["podCIDRs"]));
    match all.first().map(|first| first.as_str().unwrap_or_default()) {
        None if single.is_empty() => Ok(None),
        Some(first) if first == single => Ok(None),
        Some(first) if single.is_empty() => Ok(Some(with(value, "podCIDR", first))),
        _ => Ok(Some(with(value, "podCIDRs", vec![Value::string(single)]))),
    }
}

/// `stringData` can only be written: it ends up in `data`, over what is there.
fn secret(value: &Value) -> Result<Option<Value>, Error> {
    let Some(texts) = value.get("stringData").and_then(Value::as_object) else { return Ok(None) };
    let mut data = value.get("data").and_then(Value::as_object).cloned().unwrap_or_default();
    for (key, text) in texts.entries() {
        data.insert(key.clone(), Value::bytes(text.as_str().unwrap_or_default().as_bytes()));
    }
    let mut changed = with(value, "data", data);
    if let Some(secret) = changed.as_object_mut() {
        secret.remove("stringData");
    }
    Ok(Some(changed))
}
