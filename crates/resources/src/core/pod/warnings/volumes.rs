//! Warnings about volumes: removed types, and projected files that overlap.

use std::rc::Rc;

use pintle_meta::field_path::Path;
use pintle_meta::{Object, Value, Warnings, quote};

use super::fraction;
use super::paths::{File, Files};

const KINDS: &[(&str, &str)] = &[
    ("photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"),
    ("gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"),
    ("scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    ("flocker", "deprecated in v1.22, non-functional in v1.25+"),
    ("storageos", "deprecated in v1.22, non-functional in v1.25+"),
    ("quobyte", "deprecated in v1.22, non-functional in v1.25+"),
    ("glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    ("ephemeral", ""),
    ("cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    ("rbd", "deprecated in v1.28, non-functional in v1.31+"),
];

pub(super) fn of(warnings: &mut Warnings, spec_path: &Path<'_>, spec: &Value) {
    let path = spec_path.child("volumes");
    for (index, volume) in spec.items_at(&["volumes"]).iter().enumerate() {
        let path = path.index(index);
        for (kind, why) in KINDS.iter().filter(|(kind, _)| volume.get(kind).is_some()) {
            // Under another name than in the field.
            let shown = if *kind == "storageos" { "storageOS" } else { kind };
            if why.is_empty() {
                let claim = volume.at(&["ephemeral", "volumeClaimTemplate", "spec"]);
                let path = path.child("ephemeral.volumeClaimTemplate.spec");
                warnings.extend(claim.into_iter().flat_map(|claim| claim_spec(&path, claim)));
            } else {
                warnings.push(format!("{}: {why}", path.child(shown)));
            }
        }
        if warnings.is_full() {
            return;
        }
    }
    for volume in spec.items_at(&["volumes"]) {
        overlaps(warnings, volume);
    }
}

/// About the spec of a claim for a volume.
pub(crate) fn claim_spec(path: &Path<'_>, spec: &Value) -> Vec<String> {
    let path = path.child("resources");
    let of = |what: &str| fraction(&path.child(what), spec.at(&["resources", what]), "storage");
    ["requests", "limits"].into_iter().filter_map(of).collect()
}

/// Files of one volume that lie upon each other.
fn overlaps(warnings: &mut Warnings, volume: &Value) {
    let name = quote(volume.text_at(&["name"]));
    let none: Rc<str> = "".into();
    for (field, kind, of) in
        [("configMap", "ConfigMap", "name"), ("secret", "Secret", "secretName"), ("downwardAPI", "", "")]
    {
        let Some(source) = volume.get(field) else { continue };
        let what = match kind {
            "" => "DownwardAPI".to_owned(),
            kind => format!("{kind} {}", quote(source.text_at(&[of]))),
        };
        add(warnings, &mut Files::default(), items(source, none.clone()), &name, &what);
    }
    let mut files = Files::default();
    for source in volume.items_at(&["projected", "sources"]) {
        if warnings.is_full() {
            return;
        }
        if source.as_object().is_some_and(Object::is_empty) {
            warnings.push(format!("volume {name} (Projected) has no sources provided"));
            continue;
        }
        add(warnings, &mut files, of_source(source), &name, "Projected");
    }
}

/// Adds files to those of a volume, with a warning for every pair that overlaps.
fn add<'a>(
    warnings: &mut Warnings,
    files: &mut Files,
    added: impl Iterator<Item = File> + 'a,
    volume: &str,
    what: &str,
) {
    for file in added {
        if warnings.is_full() {
            return;
        }
        let met = files.add(file);
        warnings.extend(met.map(|met| format!("volume {volume} ({what}): overlapping paths: {met}")));
    }
}

fn items(source: &Value, of: Rc<str>) -> Box<dyn Iterator<Item = File> + '_> {
    let items = source.items_at(&["items"]).iter();
    Box::new(items.map(move |item| File::new(item.text_at(&["path"]), &of)))
}

/// The files of one of a projected volume's sources.
fn of_source(source: &Value) -> Box<dyn Iterator<Item = File> + '_> {
    for (field, kind) in [("configMap", "ConfigMap"), ("secret", "Secret")] {
        if let Some(found) = source.get(field).filter(|found| found.get("items").is_some()) {
            return items(found, format!("{kind} {}", quote(found.text_at(&["name"]))).into());
        }
    }
    if let Some(found) = source.get("downwardAPI").filter(|found| found.get("items").is_some()) {
        return items(found, "DownwardAPI".into());
    }
    let file = |found: &Value, field: &str, of: &str| File::new(found.text_at(&[field]), &of.into());
    if let Some(found) = source.get("serviceAccountToken") {
        return Box::new([file(found, "path", "ServiceAccountToken")].into_iter());
    }
    if let Some(found) = source.get("clusterTrustBundle") {
        let name = found.get("name").or_else(|| found.get("signerName")).and_then(Value::as_str);
        let name = quote(name.unwrap_or_default());
        return Box::new([file(found, "path", &format!("ClusterTrustBundle {name}"))].into_iter());
    }
    let parts = [
        ("certificateChainPath", "PodCertificate chain"),
        ("keyPath", "PodCertificate key"),
        ("credentialBundlePath", "PodCertificate credential bundle"),
    ];
    let found = source.get("podCertificate");
    let parts = found.into_iter().flat_map(move |found| parts.map(|(field, of)| file(found, field, of)));
    Box::new(parts.filter(File::has_path))
}
