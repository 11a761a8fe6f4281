//! What is told about volumes: kinds that are no more, and files that lie upon each other.

use pintle_meta::field_path::Path;
use pintle_meta::{Object, Value, quote};

use super::fraction;

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

pub(super) fn of(spec_path: &Path<'_>, spec: &Value) -> Vec<String> {
    let mut warnings = Vec::new();
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
    }
    for volume in spec.items_at(&["volumes"]) {
        warnings.extend(overlaps(volume));
    }
    warnings
}

/// About the spec of a claim for a volume.
pub(crate) fn claim_spec(path: &Path<'_>, spec: &Value) -> Vec<String> {
    let path = path.child("resources");
    let of = |what: &str| fraction(&path.child(what), spec.at(&["resources", what]), "storage");
    ["requests", "limits"].into_iter().filter_map(of).collect()
}

/// A file of a volume, and what it comes from.
#[derive(Clone, PartialEq)]
struct File {
    path: String,
    source: String,
}

impl File {
    fn shown(&self) -> String {
        let path = quote(&self.path);
        if self.source.is_empty() { path } else { format!("{path} ({})", self.source) }
    }

    /// Whether one is the other, or in it.
    fn meets(&self, other: &File) -> bool {
        let (one, two) = (format!("{}/", self.path), format!("{}/", other.path));
        !self.path.is_empty() && !other.path.is_empty() && (one.starts_with(&two) || two.starts_with(&one))
    }
}

/// Files of one volume that lie upon each other.
fn overlaps(volume: &Value) -> Vec<String> {
    let name = quote(volume.text_at(&["name"]));
    let told = |what: &str, files: Vec<File>| {
        let met = meetings(files).into_iter();
        met.map(|met| format!("volume {name} ({what}): overlapping paths: {met}")).collect::<Vec<_>>()
    };
    let mut warnings = Vec::new();
    for (field, kind, of) in [("configMap", "ConfigMap", "name"), ("secret", "Secret", "secretName")] {
        if let Some(source) = volume.get(field) {
            let what = format!("{kind} {}", quote(source.text_at(&[of])));
            warnings.extend(told(&what, items(source, "")));
        }
    }
    if let Some(source) = volume.get("downwardAPI") {
        warnings.extend(told("DownwardAPI", items(source, "")));
    }
    let mut files = Vec::new();
    let mut projected = Vec::new();
    for source in volume.items_at(&["projected", "sources"]) {
        if source.as_object().is_some_and(Object::is_empty) {
            projected.push(format!("volume {name} (Projected) has no sources provided"));
            continue;
        }
        for file in of_source(source) {
            files.push(file);
            let met = met_by_last(&files);
            projected.extend(met.map(|met| format!("volume {name} (Projected): overlapping paths: {met}")));
        }
    }
    warnings.extend(projected);
    warnings
}

fn meetings(files: Vec<File>) -> Vec<String> {
    let mut known: Vec<File> = Vec::new();
    let mut met = Vec::new();
    for file in files {
        known.push(file);
        met.extend(met_by_last(&known));
    }
    met
}

/// The files that the last one meets.
fn met_by_last(files: &[File]) -> impl Iterator<Item = String> {
    let (last, known) = files.split_last().map_or((None, files), |(last, known)| (Some(last), known));
    let met = move |other: &&File| last.is_some_and(|last| last.meets(other));
    known
        .iter()
        .filter(met)
        .filter_map(move |other| Some(format!("{} with {}", last?.shown(), other.shown())))
}

fn file(path: &str, source: &str) -> File {
    File { path: path.trim_end_matches('/').to_owned(), source: source.to_owned() }
}

fn items(source: &Value, of: &str) -> Vec<File> {
    source.items_at(&["items"]).iter().map(|item| file(item.text_at(&["path"]), of)).collect()
}

/// The files of one of a projected volume's sources.
fn of_source(source: &Value) -> Vec<File> {
    for (field, kind) in [("configMap", "ConfigMap"), ("secret", "Secret")] {
        if let Some(found) = source.get(field).filter(|found| found.get("items").is_some()) {
            return items(found, &format!("{kind} {}", quote(found.text_at(&["name"]))));
        }
    }
    if let Some(found) = source.get("downwardAPI").filter(|found| found.get("items").is_some()) {
        return items(found, "DownwardAPI");
    }
    if let Some(found) = source.get("serviceAccountToken") {
        return vec![file(found.text_at(&["path"]), "ServiceAccountToken")];
    }
    if let Some(found) = source.get("clusterTrustBundle") {
        let name = found.get("name").or_else(|| found.get("signerName")).and_then(Value::as_str);
        let name = quote(name.unwrap_or_default());
        return vec![file(found.text_at(&["path"]), &format!("ClusterTrustBundle {name}"))];
    }
    let Some(found) = source.get("podCertificate") else { return Vec::new() };
    let parts = [
        ("certificateChainPath", "PodCertificate chain"),
        ("keyPath", "PodCertificate key"),
        ("credentialBundlePath", "PodCertificate credential bundle"),
    ];
    let parts = parts.into_iter().map(|(field, of)| file(found.text_at(&[field]), of));
    parts.filter(|file| !file.path.is_empty()).collect()
}
