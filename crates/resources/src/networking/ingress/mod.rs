//! Ingresses: HTTP routes to services.

#[cfg(test)]
mod tests;
mod validation;

use pintle_meta::field_path::Path;
use pintle_meta::validation::ip_warnings;
use pintle_meta::{Value, Warnings};

use self::validation::Options;
use super::strategy::NAMESPACED;
use crate::framework::strategy::{MetadataRecheck, Rules, Settings};

/// The annotation that named the class before `spec.ingressClassName` did.
const CLASS_ANNOTATION: &str = "kubernetes.io/ingress.class";

pub(super) const INGRESSES: Rules = Rules {
    recheck: MetadataRecheck::Both,
    validate: |settings, ingress| {
        validation::spec(&ingress.field("spec"), &Options::new(settings, ingress));
        validation::class_annotation(ingress);
    },
    validate_update: |settings, ingress| {
        validation::spec(&ingress.field("spec"), &Options::new(settings, ingress));
    },
    warnings: class_warnings,
    ..NAMESPACED.with_status().counting_spec()
};

pub(super) const STATUS: Rules = Rules {
    validate_update: |_, ingress| validation::status(ingress),
    warnings: |_, ingress, _| address_warnings(ingress),
    ..INGRESSES.of_status()
};

/// Warns of a new ingress that names its class by the annotation.
fn class_warnings(_: &Settings, ingress: &Value, old: Option<&Value>) -> Vec<String> {
    if old.is_some()
        || ingress.annotation(CLASS_ANNOTATION).is_none()
        || ingress.at(&["spec", "ingressClassName"]).is_some()
    {
        return Vec::new();
    }
    let why = "is deprecated, please use 'spec.ingressClassName' instead";
    vec![format!("annotation \"{CLASS_ANNOTATION}\" {why}")]
}

fn address_warnings(ingress: &Value) -> Vec<String> {
    let path = Path::new("status");
    let path = path.child("loadBalancer");
    let path = path.child("ingress");
    let given = ingress.items_at(&["status", "loadBalancer", "ingress"]).iter().enumerate();
    let mut warnings = Warnings::new();
    warnings.extend(given.flat_map(|(index, point)| ip_warnings(&path.index(index), point.text_at(&["ip"]))));
    warnings.into_texts()
}
