//! Projected volumes: files from several sources in one directory.

use pintle_meta::Object;
use pintle_meta::selector::ValidationOptions;
use pintle_meta::validation::{domain_prefixed_key, object_meta};

use super::super::Options;
use super::downward_api::check_file;
use crate::core::signer_names;
use crate::core::volume_sources::{file_mode, key_to_path, paths};
use crate::framework::validation::{Cursor, Seen};

/// Seconds of a token: ten minutes to 2^32.
const SHORTEST_TOKEN: i64 = 10 * 60;
const LONGEST_TOKEN: i64 = 1 << 32;

/// Seconds of a certificate: an hour to 91 days, or to a day by signers of the Kubernetes project.
const SHORTEST_CERTIFICATE: i64 = 3600;
const LONGEST_CERTIFICATE: i64 = 91 * 24 * 3600;
const LONGEST_KUBERNETES_CERTIFICATE: i64 = 24 * 3600;

const KEY_TYPES: &[&str] = &["RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519"];

/// The volume, and the paths of the files met so far. Errors about two files of one path name the volume.
struct Files<'c, 'p, 'v> {
    volume: &'c Cursor<'p, 'v>,
    paths: Seen<&'v str>,
}

impl<'v> Files<'_, '_, 'v> {
    /// Adds the path of a file; a second one of the same path is reported with a text that depends on the source.
    fn add(&mut self, path: &'v str, shown: &str) {
        if !self.paths.insert(path) {
            self.volume.invalid(shown, "conflicting duplicate paths");
        }
    }
}

pub(super) fn volume(volume: &Cursor<'_, '_>, options: &Options) {
    file_mode(&volume.field("defaultMode"));
    let mut files = Files { volume, paths: Seen::new() };
    for source in volume.field("sources").items() {
        let mut count = 0;
        for (name, check) in PROJECTIONS {
            let projection = source.field(name);
            if projection.is_set() {
                count += 1;
                check(&projection, &mut files, options);
            }
        }
        if count > 1 {
            source.forbidden("may not specify more than 1 volume type per source");
        }
    }
}

type Projection = for<'v> fn(&Cursor<'_, 'v>, &mut Files<'_, '_, 'v>, &Options);

const PROJECTIONS: &[(&str, Projection)] = &[
    ("secret", keys),
    ("configMap", keys),
    ("downwardAPI", downward_api),
    ("serviceAccountToken", token),
    ("clusterTrustBundle", trust_bundle),
    ("podCertificate", certificate),
];

/// Checks keys of a Secret or ConfigMap.
fn keys<'v>(source: &Cursor<'_, 'v>, files: &mut Files<'_, '_, 'v>, _: &Options) {
    let name = source.field("name");
    if name.is_empty() {
        name.required("");
    }
    for item in source.field("items").items() {
        key_to_path(&item);
        let path = item.field("path");
        if !path.is_empty() {
            files.add(path.text(), name.text());
        }
    }
}

fn downward_api<'v>(source: &Cursor<'_, 'v>, files: &mut Files<'_, '_, 'v>, _: &Options) {
    for file in source.field("items").items() {
        check_file(&file.shown_at(source));
        let path = file.field("path");
        if !path.is_empty() {
            files.add(path.text(), path.text());
        }
    }
}

/// Checks a token. The reference does not compare its path with others, and names it as one of the volume.
fn token<'v>(source: &Cursor<'_, 'v>, files: &mut Files<'_, '_, 'v>, options: &Options) {
    let seconds = source.field("expirationSeconds");
    if seconds.integer() < SHORTEST_TOKEN {
        seconds.invalid(seconds.integer(), "may not specify a duration less than 10 minutes");
    }
    if seconds.integer() > LONGEST_TOKEN {
        seconds.invalid(seconds.integer(), "may not specify a duration larger than 2^32 seconds");
    }
    let listed = source.shown_at(files.volume);
    let path = listed.field("path");
    if path.is_empty() {
        path.required("");
    } else if !options.allow_non_local_token_path {
        paths::local_non_reserved(&path);
    }
}

/// Checks trust bundles: one by its name, or those of a signer by their labels.
fn trust_bundle<'v>(source: &Cursor<'_, 'v>, files: &mut Files<'_, '_, 'v>, _: &Options) {
    let (name, signer, selector) =
        (source.field("name"), source.field("signerName"), source.field("labelSelector"));
    match (name.is_set(), signer.is_set()) {
        (true, true) => {
            let shown = source.printed_as("core.ClusterTrustBundleProjection");
            source.invalid(shown, "only one of name and signerName may be used");
        }
        (true, false) => {
            if name.is_empty() {
                name.required("must be a valid object name");
            }
            for why in signer_names::any_trust_bundle_name(name.text()) {
                name.invalid(name.text(), format!("not a valid clustertrustbundlename: {why}"));
            }
            if selector.is_set() {
                let shown = selector.printed_as("meta/v1.LabelSelector");
                selector.invalid(shown, "labelSelector must be unset if name is specified");
            }
        }
        (false, true) => {
            if signer.is_empty() {
                signer.required("must be a valid signer name");
            }
            signer_names::check(&signer);
            if selector.is_set() {
                selector.label_selector(ValidationOptions::default());
            }
        }
        (false, false) => source.required("either name or signerName must be specified"),
    }
    let path = source.field("path");
    if path.is_empty() {
        path.required("");
    }
    paths::local_non_reserved(&path);
    files.add(path.text(), path.text());
}

/// Checks a certificate for the pod and its key.
fn certificate<'v>(source: &Cursor<'_, 'v>, files: &mut Files<'_, '_, 'v>, _: &Options) {
    let signer = source.field("signerName");
    signer_names::check(&signer);
    user_annotations(&source.field("userAnnotations"));
    let key_type = source.field("keyType");
    if !KEY_TYPES.contains(&key_type.text()) {
        key_type.not_supported(key_type.text(), KEY_TYPES);
    }
    let seconds = source.field("maxExpirationSeconds");
    if let Some(value) = seconds.optional_integer() {
        let is_kubernetes = signer_names::is_kubernetes(signer.text());
        let longest = if is_kubernetes { LONGEST_KUBERNETES_CERTIFICATE } else { LONGEST_CERTIFICATE };
        if value < SHORTEST_CERTIFICATE {
            seconds.invalid(value, "if provided, maxExpirationSeconds must be >= 3600");
        }
        if value > longest {
            seconds.invalid(value, format!("if provided, maxExpirationSeconds must be <= {longest}"));
        }
    }
    let mut has_path = false;
    for name in ["credentialBundlePath", "keyPath", "certificateChainPath"] {
        let path = source.field(name);
        if !path.is_empty() {
            has_path = true;
            paths::local_non_reserved(&path);
            files.add(path.text(), path.text());
        }
    }
    if !has_path {
        source.required("specify at least one of credentialBundlePath, keyPath, and certificateChainPath");
    }
}

/// Checks annotations for the signer: keys have a domain, and together they are not too long.
fn user_annotations(annotations: &Cursor<'_, '_>) {
    for (key, _) in annotations.entries() {
        annotations.report(domain_prefixed_key(annotations.path(), &key.to_lowercase()));
    }
    let pairs = annotations.map().into_iter().flat_map(Object::iter);
    if !object_meta::annotations_fit(pairs.map(|(key, value)| (key, value.as_str().unwrap_or_default()))) {
        annotations.too_long(object_meta::ANNOTATIONS_MAX_SIZE);
    }
}

#[cfg(test)]
mod tests;
