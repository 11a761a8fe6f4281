//! Volumes of drivers outside the tree: CSI and FlexVolume.

use pintle_meta::validation::{dns1123_label, dns1123_subdomain, object_meta};

use super::require;
use crate::framework::validation::Cursor;

/// The longest name of a CSI driver.
const LONGEST_DRIVER: usize = 63;

pub(crate) fn csi(source: &Cursor<'_, '_>) {
    driver_name(&source.field("driver"));
    let reference = source.field("nodePublishSecretRef");
    let name = reference.field("name");
    if !reference.is_set() {
        return;
    }
    if name.is_empty() {
        return name.required("");
    }
    // The reference leaves out the field between.
    name.shown_at(&source.field("name")).text_format(|name| object_meta::subdomain_name(name, false));
}

pub(crate) fn csi_persistent(source: &Cursor<'_, '_>) {
    driver_name(&source.field("driver"));
    require(source, &["volumeHandle"]);
    let references = [
        "controllerPublishSecretRef",
        "controllerExpandSecretRef",
        "nodePublishSecretRef",
        "nodeExpandSecretRef",
    ];
    for name in references {
        let reference = source.field(name);
        if reference.is_set() {
            secret_reference(&reference);
        }
    }
}

/// Checks the name of a CSI driver: a subdomain in any case.
pub(crate) fn driver_name(name: &Cursor<'_, '_>) {
    if name.is_empty() {
        return name.required("");
    }
    if name.text().len() > LONGEST_DRIVER {
        name.too_long(LONGEST_DRIVER);
    }
    if name.text().bytes().all(|byte| !byte.is_ascii_uppercase() && byte.is_ascii()) {
        name.text_format(dns1123_subdomain);
    } else {
        name.text_format(|name| dns1123_subdomain(&name.to_lowercase()));
    }
}

fn secret_reference(reference: &Cursor<'_, '_>) {
    let (name, namespace) = (reference.field("name"), reference.field("namespace"));
    if name.is_empty() {
        name.required("");
    } else {
        name.text_format(dns1123_subdomain);
    }
    if namespace.is_empty() {
        namespace.required("");
    } else {
        namespace.text_format(dns1123_label);
    }
}

/// Checks a FlexVolume: options in Kubernetes' own namespaces are the kubelet's.
pub(crate) fn flex(source: &Cursor<'_, '_>) {
    require(source, &["driver"]);
    for (key, option) in source.field("options").entries() {
        let namespace = key.split_once('/').map_or(key, |(namespace, _)| namespace);
        if is_reserved(namespace) {
            option.invalid(key, "kubernetes.io and k8s.io namespaces are reserved");
        }
    }
}

/// Whether a domain is `kubernetes.io`, `k8s.io` or below one of them, in any case.
fn is_reserved(namespace: &str) -> bool {
    let namespace = namespace.to_lowercase();
    ["kubernetes.io", "k8s.io"].iter().any(|domain| {
        namespace.strip_suffix(domain).is_some_and(|before| before.is_empty() || before.ends_with('.'))
    })
}
