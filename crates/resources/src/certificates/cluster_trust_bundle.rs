//! ClusterTrustBundles: certificates of authorities, with or without a signer.

use std::collections::HashMap;

use pintle_auth::x509::{Certificate, pem};
use pintle_meta::Value;

use crate::core::signer_names;
use crate::framework::strategy::{MetadataRecheck, Rules};
use crate::framework::validation::Cursor;

const COMMON: Rules =
    Rules { name_within: Some(bundle_name), recheck: MetadataRecheck::None, ..Rules::CLUSTER };

pub(super) const BUNDLES: Rules = Rules {
    validate: |_, bundle| validate(bundle),
    validate_update: |_, bundle| {
        COMMON.check_metadata(bundle);
        validate(bundle);
        COMMON.check_metadata_update(bundle);
        bundle.at(&["spec", "signerName"]).immutable("string");
    },
    ..COMMON
};

const MAX_SIZE: usize = 1024 * 1024;
/// Shown in place of the bundle.
const OMITTED: &str = "<value omitted>";

/// A bundle of a signer has the signer's name before its own.
fn bundle_name(bundle: &Value, name: &str, is_prefix: bool) -> Vec<String> {
    signer_names::trust_bundle_name(bundle.text_at(&["spec", "signerName"]), name, is_prefix)
}

fn validate(bundle: &Cursor<'_, '_>) {
    let spec = bundle.field("spec");
    if !spec.field("signerName").is_empty() {
        signer_names::check(&spec.field("signerName"));
    }
    let bundle = spec.field("trustBundle");
    if bundle.changed() {
        validate_certificates(&bundle);
    }
}

/// Checks that a bundle has certificates of authorities, each once.
fn validate_certificates(bundle: &Cursor<'_, '_>) {
    if bundle.text().len() > MAX_SIZE {
        return bundle.too_long(MAX_SIZE);
    }
    let before = bundle.error_count();
    let mut order = Vec::new();
    let mut places: HashMap<Vec<u8>, Vec<String>> = HashMap::new();
    for (index, block) in pem::blocks(bundle.text().as_bytes()).enumerate() {
        match block_fault(&block) {
            Some(why) => bundle.invalid(OMITTED, format!("entry {index} {why}")),
            None => {
                let known = places.entry(block.contents.clone()).or_default();
                if known.is_empty() {
                    order.push(block.contents);
                }
                known.push(index.to_string());
            }
        }
    }
    // Faults of blocks may lead to others.
    if bundle.error_count() > before {
        return;
    }
    if order.is_empty() {
        bundle.invalid(OMITTED, "at least one trust anchor must be provided");
    }
    for indices in order.iter().filter_map(|contents| places.get(contents)).filter(|found| found.len() > 1) {
        bundle.invalid(OMITTED, format!("duplicate trust anchor (indices [{}])", indices.join(" ")));
    }
}

/// Returns the reason why a block is no certificate of an authority.
fn block_fault(block: &pem::Block) -> Option<String> {
    if block.label != "CERTIFICATE" {
        return Some(format!("has bad block type: {}", block.label));
    }
    if block.has_headers {
        return Some("has PEM block headers".into());
    }
    match Certificate::parse(&block.contents) {
        None => Some("does not parse as X.509".into()),
        Some(certificate) if !certificate.is_ca() => Some("does not have the CA bit set".into()),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};
    use serde_json::json;

    use crate::framework::validation::testing::Base;

    const BUNDLE: &str = "/spec/trustBundle";

    fn certificate(is_ca: IsCa) -> String {
        let mut params = CertificateParams::default();
        params.is_ca = is_ca;
        params.self_signed(&KeyPair::generate().unwrap()).unwrap().pem()
    }

    fn authority() -> String {
        certificate(IsCa::Ca(BasicConstraints::Unconstrained))
    }

    fn base(name: &str, signer: &str) -> Base {
        let bundle =
            json!({"metadata": {"name": name}, "spec": {"signerName": signer, "trustBundle": authority()}});
        Base::new("certificates.k8s.io", "clustertrustbundles", &bundle.to_string())
    }

    #[test]
    fn a_bundle_is_named_after_its_signer() {
        let signed = base("a.b:c:d", "a.b/c");
        let plain = base("d", "");
        signed.refuses(&[
            (
                &[("/metadata/name", r#""d""#)],
                &[
                    r#"metadata.name: Invalid value: "d": ClusterTrustBundle for signerName a.b/c must be named with prefix a.b:c:"#,
                ],
            ),
            (
                &[("/metadata/name", r#""a:c:d""#), ("/spec/signerName", r#""a/c""#)],
                &[
                    r#"spec.signerName: Invalid value: "a": should be a domain with at least two segments separated by dots"#,
                ],
            ),
        ]);
        plain.refuses(&[(
            &[("/metadata/name", r#""a:d""#)],
            &[
                r#"metadata.name: Invalid value: "a:d": ClusterTrustBundle without signer name must not have ":" in its name"#,
            ],
        )]);
        signed.refuses_update(&[(
            &[("/spec/signerName", r#""e.f/g""#)],
            &[
                r#"metadata.name: Invalid value: "a.b:c:d": ClusterTrustBundle for signerName e.f/g must be named with prefix e.f:g:"#,
                r#"spec.signerName: Invalid value: "e.f/g": field is immutable"#,
            ],
        )]);
    }

    #[test]
    fn a_bundle_has_authorities_each_once() {
        let base = base("d", "");
        let (one, two) = (authority(), authority());
        let text = |text: &str| json!(text).to_string();
        let why = |rest: &str| format!(r#"spec.trustBundle: Invalid value: "<value omitted>": {rest}"#);
        base.accepts(&[&[(BUNDLE, &text(&format!("text\n{one}{two}")))]]);
        let leaf = certificate(IsCa::NoCa);
        let headers = one.replacen("-----\n", "-----\na: b\n\n", 1);
        let key = KeyPair::generate().unwrap().serialize_pem();
        let junk = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        base.refuses(&[
            (&[(BUNDLE, &text("garbage"))], &[&why("at least one trust anchor must be provided")]),
            (
                &[(BUNDLE, &text(&format!("{one}{key}{headers}{junk}{leaf}{one}")))],
                &[
                    &why("entry 1 has bad block type: PRIVATE KEY"),
                    &why("entry 2 has PEM block headers"),
                    &why("entry 3 does not parse as X.509"),
                    &why("entry 4 does not have the CA bit set"),
                ],
            ),
            (
                &[(BUNDLE, &text(&format!("{one}{two}{one}{one}")))],
                &[&why("duplicate trust anchor (indices [0 2 3])")],
            ),
            (
                &[(BUNDLE, &text(&"x".repeat(1024 * 1024 + 1)))],
                &["spec.trustBundle: Too long: may not be more than 1048576 bytes"],
            ),
        ]);
        // A stored bundle is not read again.
        base.accepts_update_of(&[(BUNDLE, r#""garbage""#)], &[&[("/metadata/labels", r#"{"a":"b"}"#)]]);
        base.refuses_update(&[(
            &[(BUNDLE, r#""garbage""#)],
            &[&why("at least one trust anchor must be provided")],
        )]);
    }
}
