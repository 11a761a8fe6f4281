//! Rules of requests for certificates of pods.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rcgen::{
    CertificateParams, KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_ED25519, PKCS_RSA_SHA256, PublicKeyData,
    SanType, SigningKey, date_time_ymd,
};
use serde_json::{Value as Json, json};

use crate::framework::validation::testing::Base;

const GROUP: &str = "certificates.k8s.io";
const HOUR: u64 = 60 * 60;
const STUB: &str = "/spec/stubPKCS10Request";
const KEY: &str = "/spec/pkixPublicKey";
const PROOF: &str = "/spec/proofOfPossession";

fn encoded(bytes: &[u8]) -> String {
    json!(STANDARD.encode(bytes)).to_string()
}

fn key() -> KeyPair {
    KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).unwrap()
}

fn request(key: &KeyPair) -> Json {
    let stub = CertificateParams::default().serialize_request(key).unwrap();
    json!({"metadata": {"name": "a", "namespace": "n"}, "spec": {
        "signerName": "a.b/c", "podName": "p", "podUID": "uid", "serviceAccountName": "s", "serviceAccountUID": "t",
        "nodeName": "m", "nodeUID": "o", "maxExpirationSeconds": 86400, "stubPKCS10Request": STANDARD.encode(stub.der()),
    }})
}

fn base() -> Base {
    Base::new(GROUP, "podcertificaterequests", &request(&key()).to_string())
}

#[test]
fn a_request_names_signer_pod_account_and_node() {
    let long = json!("x".repeat(129)).to_string();
    base().refuses(&[
        (
            &[("/spec/podUID", r#""""#), ("/spec/serviceAccountUID", r#""""#), ("/spec/nodeUID", r#""""#)],
            &[
                r#"spec.podUID: Invalid value: "": must not be empty"#,
                r#"spec.serviceAccountUID: Invalid value: "": must not be empty"#,
                r#"spec.nodeUID: Invalid value: "": must not be empty"#,
            ],
        ),
        (&[("/spec/podUID", &long)], &["spec.podUID: Too long: may not be more than 128 bytes"]),
        (
            &[("/spec/podName", r#""A""#)],
            &[
                r#"spec.podName: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"#,
            ],
        ),
        (&[("/spec/signerName", r#""""#)], &["spec.signerName: Required value"]),
        (
            &[("/spec/unverifiedUserAnnotations", r#"{"k":"v"}"#)],
            &[
                r#"spec.unverifiedUserAnnotations: Invalid value: "k": must be a domain-prefixed key (such as "acme.io/foo")"#,
            ],
        ),
        (
            &[("/spec/unverifiedUserAnnotations", &json!({"a.b/c": "x".repeat(256 * 1024)}).to_string())],
            &["spec.unverifiedUserAnnotations: Too long: may not be more than 262144 bytes"],
        ),
    ]);
    base().accepts(&[&[("/spec/unverifiedUserAnnotations", r#"{"A.B/c":"v"}"#)]]);
}

#[test]
fn certificates_live_an_hour_to_three_months() {
    const SECONDS: &str = "/spec/maxExpirationSeconds";
    base().accepts(&[&[(SECONDS, "7862400")], &[(SECONDS, "3600")], &[(SECONDS, "")]]);
    base().refuses(&[
        (
            &[(SECONDS, "3599")],
            &["spec.maxExpirationSeconds: Invalid value: 3599: must be in the range [3600, 7862400]"],
        ),
        (
            &[(SECONDS, "86401"), ("/spec/signerName", r#""a.kubernetes.io/b""#)],
            &["spec.maxExpirationSeconds: Invalid value: 86401: must be in the range [3600, 86400]"],
        ),
    ]);
}

#[test]
fn a_stub_brings_the_key() {
    let mut forged = CertificateParams::default().serialize_request(&key()).unwrap().der().to_vec();
    *forged.last_mut().unwrap() ^= 1;
    let both = "spec: Invalid value: exactly one of (stubPKCS10Request) or (pkixPublicKey, proofOfPossession) must be set";
    base().refuses(&[
        (&[(STUB, "")], &[both]),
        (&[(KEY, &encoded(b"key"))], &[both]),
        (&[(STUB, ""), (KEY, &encoded(b"key"))], &[both]),
        (&[(STUB, &encoded(b"x"))], &["spec.stubPKCS10Request: Invalid value: must be a valid PKCS#10 CSR"]),
        (&[(STUB, &encoded(&forged))], &["spec.stubPKCS10Request: Invalid value: invalid signature"]),
        (
            &[(STUB, &encoded(&[0; 10 * 1024 + 1]))],
            &["spec.stubPKCS10Request: Too long: may not be more than 10240 bytes"],
        ),
    ]);
}

#[test]
fn a_key_comes_with_a_proof() {
    for algorithm in [&PKCS_ED25519, &PKCS_ECDSA_P256_SHA256] {
        let key = KeyPair::generate_for(algorithm).unwrap();
        let (public, proof) = (encoded(&key.subject_public_key_info()), encoded(&key.sign(b"uid").unwrap()));
        base().accepts(&[&[(STUB, ""), (KEY, &public), (PROOF, &proof)]]);
        base().refuses(&[(
            &[(STUB, ""), (KEY, &public), (PROOF, &proof), ("/spec/podUID", r#""other""#)],
            &["spec.proofOfPossession: Invalid value: could not verify proof-of-possession signature"],
        )]);
    }
    let long = encoded(&[0; 10 * 1024 + 1]);
    base().refuses(&[
        (
            &[(STUB, ""), (KEY, &encoded(b"key")), (PROOF, &encoded(b"proof"))],
            &[r#"spec.pkixPublicKey: Invalid value: "a2V5": must be a valid PKIX-serialized public key"#],
        ),
        (
            &[(STUB, ""), (KEY, &long), (PROOF, &long)],
            &["spec.pkixPublicKey: Too long: may not be more than 10240 bytes"],
        ),
    ]);
}

#[test]
fn small_and_strange_keys_are_refused() {
    let rsa = KeyPair::generate_for(&PKCS_RSA_SHA256).unwrap();
    let proof = encoded(b"proof");
    // Ed25519's key under the name of X25519, and P-224.
    let mut exchange = KeyPair::generate_for(&PKCS_ED25519).unwrap().subject_public_key_info();
    exchange[8] = 110;
    let mut small_curve: Vec<u8> = vec![
        0x30, 0x4e, 0x30, 0x10, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x05, 0x2b, 0x81,
        0x04, 0x00, 0x21, 0x03, 0x3a, 0x00, 0x04,
    ];
    small_curve.extend([7; 56]);
    base().refuses(&[
        (
            &[(STUB, ""), (KEY, &encoded(&rsa.subject_public_key_info())), (PROOF, &proof)],
            &[
                r#"spec.pkixPublicKey: Invalid value: "2048-bit modulus": RSA keys must have modulus size 3072 or 4096"#,
            ],
        ),
        (
            &[(STUB, ""), (KEY, &encoded(&exchange)), (PROOF, &proof)],
            &[&format!(
                "spec.pkixPublicKey: Invalid value: {}: unknown public key type; supported types are Ed25519, ECDSA, and RSA",
                encoded(&exchange)
            )],
        ),
        (
            &[(STUB, ""), (KEY, &encoded(&small_curve)), (PROOF, &proof)],
            &[
                r#"spec.pkixPublicKey: Invalid value: "curve P-224": elliptic public keys must use curve P256 or P384"#,
            ],
        ),
    ]);
}

#[test]
fn a_spec_is_immutable() {
    base().accepts_update(&[&[("/metadata/labels", r#"{"a":"b"}"#)]]);
    let mut small = request(&key());
    small["spec"]["stubPKCS10Request"] = json!("");
    let status = Base::new(GROUP, "podcertificaterequests/status", &small.to_string());
    // A status leaves it as it is.
    status.accepts_update(&[&[("/spec/podName", r#""q""#)]]);
    let requests = crate::framework::strategy::testing::of(GROUP, "podcertificaterequests");
    small["metadata"]["resourceVersion"] = json!("1");
    let mut other = small.clone();
    other["spec"]["podName"] = json!("q");
    let errors = crate::framework::strategy::testing::invalid_update(
        &requests,
        &other.to_string(),
        &small.to_string(),
    );
    assert_eq!(
        errors,
        [
            r#"spec: Invalid value: {"SignerName":"a.b/c","PodName":"q","PodUID":"uid","ServiceAccountName":"s","ServiceAccountUID":"t","NodeName":"m","NodeUID":"o","MaxExpirationSeconds":86400,"PKIXPublicKey":null,"ProofOfPossession":null,"StubPKCS10Request":"","UnverifiedUserAnnotations":null}: field is immutable"#
        ]
    );
}

/// Returns a status with a condition.
fn decided(kind: &str, more: Json) -> String {
    let condition = json!({"type": kind, "status": "True", "reason": "R", "message": "",
        "lastTransitionTime": "2026-05-01T12:00:00Z"});
    let mut status = json!({"conditions": [condition]});
    if let (Some(status), Json::Object(more)) = (status.as_object_mut(), more) {
        status.extend(more);
    }
    status.to_string()
}

/// Returns a certificate of a key in PEM: valid from some seconds after noon, for some seconds.
fn certificate(key: &KeyPair, start: u64, lifetime: u64, change: impl Fn(&mut CertificateParams)) -> String {
    let mut params = CertificateParams::new(vec!["a.b".to_owned()]).unwrap();
    params.not_before = date_time_ymd(2026, 5, 1) + Duration::from_secs(12 * HOUR + start);
    params.not_after = params.not_before + Duration::from_secs(lifetime);
    change(&mut params);
    params.self_signed(key).unwrap().pem()
}

fn issued(chain: &str) -> Json {
    json!({"certificateChain": chain, "notBefore": "2026-05-01T12:00:00Z", "notAfter": "2026-05-01T14:00:00Z",
        "beginRefreshAt": "2026-05-01T13:00:00Z"})
}

#[test]
fn a_request_is_decided_once() {
    let status = Base::new(GROUP, "podcertificaterequests/status", &request(&key()).to_string());
    for kind in ["Denied", "Failed"] {
        status.accepts_update(&[&[("/status", &decided(kind, json!({})))]]);
        status.refuses_update(&[(
            &[("/status", &decided(kind, json!({"certificateChain": "x"})))],
            &[
                "status: Invalid value: non-condition status fields must be empty when denying or failing the PodCertificateRequest",
            ],
        )]);
        status.refuses_update_of(
            &[("/status", &decided(kind, json!({})))],
            &[(
                &[("/status", "{}")],
                &["status: Invalid value: immutable after PodCertificateRequest is issued, denied, or failed"],
            )],
        );
    }
    status.accepts_update(&[&[("/metadata/labels", r#"{"a":"b"}"#)]]);
    status.refuses_update(&[
        (
            &[("/status", r#"{"certificateChain":"x"}"#)],
            &[
                r#"status: Invalid value: status is immutable unless transitioning to "Issued", "Denied", or "Failed""#,
            ],
        ),
        (
            &[("/status", &decided("x", json!({})))],
            &[
                r#"status.conditions.[0].type: Unsupported value: "x": supported values: "Issued", "Denied", "Failed""#,
            ],
        ),
        (
            &[("/status", &decided("Denied", json!({}))), ("/status/conditions/0/status", r#""False""#)],
            &[r#"status.conditions.[0].status: Unsupported value: "False": supported values: "True""#],
        ),
        (
            &[
                ("/status", &decided("Denied", json!({}))),
                (
                    "/status/conditions/-",
                    r#"{"type":"Failed","status":"True","reason":"","message":"","lastTransitionTime":"2026-05-01T12:00:00Z"}"#,
                ),
            ],
            &[
                r#"status.conditions.[1].type: Invalid value: "Failed": There may be at most one condition with type "Issued", "Denied", or "Failed""#,
                "status.conditions[1].reason: Required value",
            ],
        ),
    ]);
}

#[test]
fn an_issued_certificate_is_for_the_requested_key() {
    let key = key();
    let status = Base::new(GROUP, "podcertificaterequests/status", &request(&key).to_string());
    let refuses = |more: Json, errors: &[&str]| {
        status.refuses_update(&[(&[("/status", &decided("Issued", more))], errors)]);
    };
    let good = certificate(&key, 0, 2 * HOUR, |_| {});
    status.accepts_update(&[
        &[("/status", &decided("Issued", issued(&good)))],
        &[("/status", &decided("Issued", issued(&format!("{good}{good}"))))],
    ]);
    let chain = |text: &str, why: &str| {
        format!("status.certificateChain: Invalid value: {}: {why}", pintle_meta::quote(text))
    };
    let junk = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    let other = key.serialize_pem();
    let foreign = certificate(&self::key(), 0, 2 * HOUR, |_| {});
    for (text, why) in [
        ("x".to_owned(), "issued certificate chain must contain at least one certificate"),
        (other.clone(), "issued certificate chain must consist entirely of CERTIFICATE PEM blocks"),
        (junk.to_owned(), "leaf certificate does not parse as valid X.509"),
        (foreign, "leaf certificate was not issued to the requested public key"),
        (format!("{good}{other}"), "issued certificate chain must consist entirely of CERTFICATE PEM blocks"),
        (format!("{good}{junk}"), "intermediate certificate does not parse as valid X.509"),
    ] {
        refuses(issued(&text), &[&chain(&text, why)]);
    }
    refuses(
        issued(&"x".repeat(100 * 1024 + 1)),
        &["status.certificateChain: Too long: may not be more than 102400 bytes"],
    );
    for (field, text) in
        [("stubPKCS10Request", "PKCS#10 CSR"), ("pkixPublicKey", "PKIX-serialized public key")]
    {
        let mut request = request(&key);
        request["spec"]["stubPKCS10Request"] = json!("");
        request["spec"][field] = json!("YQ==");
        let status = Base::new(GROUP, "podcertificaterequests/status", &request.to_string());
        status.refuses_update(&[(
            &[("/status", &decided("Issued", issued(&good)))],
            &[&format!("spec.{field}: Invalid value: must be a valid {text}")],
        )]);
    }
}

#[test]
fn names_of_an_issued_certificate_are_well_formed() {
    let key = key();
    let status = Base::new(GROUP, "podcertificaterequests/status", &request(&key).to_string());
    let named = |names: &[&str], address: &str| {
        let chain = certificate(&key, 0, 2 * HOUR, |params| {
            let names = names.iter().map(|name| SanType::DnsName((*name).try_into().unwrap()));
            params.subject_alt_names = names.collect();
            params.subject_alt_names.push(SanType::Rfc822Name(address.try_into().unwrap()));
        });
        decided("Issued", issued(&chain))
    };
    status.accepts_update(&[&[("/status", &named(&["a.b"], "m@a.b"))]]);
    status.refuses_update(&[(
        &[("/status", &named(&["", "a..b", ".a", "b."], "x"))],
        &[
            r#"status.certificateChain: Invalid value: "": leaf certificate should not contain empty DNSName"#,
            r#"status.certificateChain: Invalid value: "a..b": leaf certificate's DNSName should not contain '..'"#,
            r#"status.certificateChain: Invalid value: ".a": leaf certificate's DNSName should not start or end with '.'"#,
            r#"status.certificateChain: Invalid value: "b.": leaf certificate's DNSName should not start or end with '.'"#,
            r#"status.certificateChain: Invalid value: "x": leaf certificate should not contain invalid EmailAddress"#,
        ],
    )]);
}

#[test]
fn times_are_those_of_the_certificate() {
    let key = key();
    let status = Base::new(GROUP, "podcertificaterequests/status", &request(&key).to_string());
    let refuses = |start: u64, lifetime: u64, changes: &[(&str, Json)], errors: &[&str]| {
        let mut more = issued(&certificate(&key, start, lifetime, |_| {}));
        for (field, time) in changes {
            more[field] = time.clone();
        }
        status.refuses_update(&[(&[("/status", &decided("Issued", more))], errors)]);
    };
    let missing = [("notBefore", Json::Null), ("notAfter", Json::Null), ("beginRefreshAt", Json::Null)];
    refuses(
        0,
        2 * HOUR,
        &missing,
        &[
            "status.notBefore: Required value: must be present and consistent with the issued certificate",
            "status.notAfter: Required value: must be present and consistent with the issued certificate",
            "status.beginRefreshAt: Required value: must be present and in the range [notbefore+10min, notafter-10min]",
        ],
    );
    refuses(
        1,
        2 * HOUR,
        &[],
        &[
            r#"status.notBefore: Invalid value: "2026-05-01T12:00:00Z": must be set to the NotBefore time encoded in the leaf certificate"#,
        ],
    );
    refuses(
        300,
        2 * HOUR,
        &[("notBefore", json!("2026-05-01T12:05:00Z"))],
        &[
            r#"status.notBefore: Invalid value: "2026-05-01T12:05:00Z": must be set to within 5 minutes of kube-apiserver's current time"#,
        ],
    );
    refuses(
        0,
        2 * HOUR + 1,
        &[],
        &[
            r#"status.notAfter: Invalid value: "2026-05-01T14:00:00Z": must be set to the NotAfter time encoded in the leaf certificate"#,
        ],
    );
    refuses(
        0,
        HOUR - 1,
        &[("notAfter", json!("2026-05-01T12:59:59Z"))],
        &[
            "status.certificateChain: Invalid value: 3599000000000: leaf certificate lifetime must be >= 1 hour",
        ],
    );
    refuses(
        0,
        25 * HOUR,
        &[("notAfter", json!("2026-05-02T13:00:00Z"))],
        &[
            "status.certificateChain: Invalid value: 90000000000000: leaf certificate lifetime must be <= spec.maxExpirationSeconds (86400)",
        ],
    );
    refuses(
        0,
        2 * HOUR,
        &[("beginRefreshAt", json!("2026-05-01T12:09:59Z"))],
        &[
            r#"status.beginRefreshAt: Invalid value: "2026-05-01T12:09:59Z": must be at least 10 minutes after status.notBefore"#,
        ],
    );
    refuses(
        0,
        2 * HOUR,
        &[("beginRefreshAt", json!("2026-05-01T13:50:01Z"))],
        &[
            r#"status.beginRefreshAt: Invalid value: "2026-05-01T13:50:01Z": must be at least 10 minutes before status.notAfter"#,
        ],
    );
}
