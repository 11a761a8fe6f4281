//! The spec: the pod, service account and node of the certificate, and its key.

use pintle_auth::certificate_request;
use pintle_auth::x509::{Curve, PublicKey};
use pintle_meta::Object;
use pintle_meta::field_path::Value as Printed;
use pintle_meta::validation::object_meta::annotations_fit;
use pintle_meta::validation::{dns1123_subdomain, domain_prefixed_key};

use crate::core::signer_names;
use crate::framework::validation::Cursor;

const MAX_UID: usize = 128;
const MAX_ANNOTATIONS: usize = 256 * 1024;
const MAX_KEY: usize = 10 * 1024;
const MIN_SECONDS: i64 = 60 * 60;
const MAX_SECONDS: i64 = 91 * 24 * 60 * 60;
/// For the signers of Kubernetes.
const MAX_KUBERNETES_SECONDS: i64 = 24 * 60 * 60;
const ONE_OF_BOTH: &str =
    "exactly one of (stubPKCS10Request) or (pkixPublicKey, proofOfPossession) must be set";
const UNKNOWN_KEY: &str = "unknown public key type; supported types are Ed25519, ECDSA, and RSA";

pub(super) fn validate(spec: &Cursor<'_, '_>) {
    let signer = spec.field("signerName");
    signer_names::check(&signer);
    user_annotations(&spec.field("unverifiedUserAnnotations"));
    for (field, uid) in
        [("podName", "podUID"), ("serviceAccountName", "serviceAccountUID"), ("nodeName", "nodeUID")]
    {
        let (name, uid) = (spec.field(field), spec.field(uid));
        for why in dns1123_subdomain(name.text()) {
            // The name of a node has a type of its own.
            let printed = if field == "nodeName" { Printed::json(name.text()) } else { name.text().into() };
            name.invalid(printed, why);
        }
        if uid.is_empty() {
            uid.invalid("", "must not be empty");
        }
        if uid.text().len() > MAX_UID {
            uid.too_long(MAX_UID);
        }
    }
    let seconds = spec.field("maxExpirationSeconds");
    if !seconds.is_set() {
        return seconds.required("must be set"); // unreachable: defaulted
    }
    let max = if signer_names::is_kubernetes(signer.text()) { MAX_KUBERNETES_SECONDS } else { MAX_SECONDS };
    if !(MIN_SECONDS..=max).contains(&seconds.integer()) {
        seconds.invalid(seconds.integer(), format!("must be in the range [{MIN_SECONDS}, {max}]"));
    }
    let (stub, key) = (spec.field("stubPKCS10Request"), spec.field("pkixPublicKey"));
    let proof = spec.field("proofOfPossession");
    match [&stub, &key, &proof].map(|field| !bytes(field).is_empty()) {
        [true, false, false] => stub_request(&stub),
        [false, true, true] => public_key(&key, &proof, spec.field("podUID").text()),
        _ => spec.invalid(Printed::Omitted, ONE_OF_BOTH),
    }
}

pub(super) fn bytes<'v>(field: &Cursor<'_, 'v>) -> &'v [u8] {
    field.value().as_bytes().unwrap_or_default()
}

fn user_annotations(annotations: &Cursor<'_, '_>) {
    for (key, _) in annotations.entries() {
        annotations.report(domain_prefixed_key(annotations.path(), &key.to_lowercase()));
    }
    let pairs = annotations.map().into_iter().flat_map(Object::iter);
    if !annotations_fit(pairs.map(|(key, value)| (key, value.as_str().unwrap_or_default()))) {
        annotations.too_long(MAX_ANNOTATIONS);
    }
}

/// Checks an empty certificate request, which has the key and proves possession of the private one.
fn stub_request(stub: &Cursor<'_, '_>) {
    if bytes(stub).len() > MAX_KEY {
        return stub.too_long(MAX_KEY);
    }
    let Some(key) = certificate_request::public_key(bytes(stub)) else {
        return stub.invalid(Printed::Omitted, "must be a valid PKCS#10 CSR");
    };
    if check_key(stub, &key, "elliptic public keys must use curve P256, P384, or P521", Printed::Omitted)
        && !certificate_request::is_signed(bytes(stub))
    {
        stub.invalid(Printed::Omitted, "invalid signature");
    }
}

/// Checks a key and the proof of possession of the private one: a signature of the pod's UID.
fn public_key(key: &Cursor<'_, '_>, proof: &Cursor<'_, '_>, uid: &str) {
    for field in [key, proof] {
        if bytes(field).len() > MAX_KEY {
            return field.too_long(MAX_KEY);
        }
    }
    let Some(parsed) = PublicKey::parse(bytes(key)) else {
        return key.invalid(key.printed_as("[]byte"), "must be a valid PKIX-serialized public key");
    };
    let curves = "elliptic public keys must use curve P256 or P384";
    if check_key(key, &parsed, curves, key.printed_as("[]byte"))
        && !parsed.verify(uid.as_bytes(), bytes(proof))
    {
        proof.invalid(Printed::Omitted, "could not verify proof-of-possession signature");
    }
}

/// Checks the kind and the size of a key. Returns whether they are right.
fn check_key(at: &Cursor<'_, '_>, key: &PublicKey, curves: &str, printed: Printed) -> bool {
    match key {
        PublicKey::Ed25519(_) => return true,
        PublicKey::Ecdsa { curve, .. } if *curve != Curve::P224 => return true,
        PublicKey::Ecdsa { curve, .. } => at.invalid(format!("curve {}", curve.name()), curves),
        PublicKey::Rsa { .. } => match key.rsa_bits().unwrap_or_default() {
            3072 | 4096 => return true,
            bits => at.invalid(format!("{bits}-bit modulus"), "RSA keys must have modulus size 3072 or 4096"),
        },
        PublicKey::Other => at.invalid(printed, UNKNOWN_KEY),
    }
    false
}
