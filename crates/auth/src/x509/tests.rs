//! Certificates and keys made by another library.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rcgen::{
    BasicConstraints, CertificateParams, IsCa, KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_ECDSA_P384_SHA384,
    PKCS_ED25519, PublicKeyData, SanType, SignatureAlgorithm,
};

use super::*;

/// A key of 3072 bits, and a signature of `uid` by PSS with the longest salt, made by OpenSSL.
const RSA_KEY: &str = "\
    MIIBojANBgkqhkiG9w0BAQEFAAOCAY8AMIIBigKCAYEAobO4C9wRbRTpelN6PBYKaSRerHkVYOM8FxgJCR22FFn3rgukAs0P\
    8OwS4kDylPSbeb1SBKowv2xVLMAWLj7JCb6jw2QijM082o234TdaPkxtKuLDqQEG10//df8iW+2wWMOIGkfgAvxdIiKRWcdG\
    I9HPritVBHPbXg5uziXz0jtBqACEz8HCr46OjneM5GZOGE1pJkPE7Zf1jGai+qo7sH6YeJBr1i2mDn4r9+9sPfpo3q21bcuL\
    6XWU+a31/AsW7HZiLsaLJ/UYKRE1WtH4gM0BDWNAdBQ72b3UUrBqa7HZPfrWrVTj2F7Xn8wfJ6XgrlWAGOd7DcymeHVtlVAx\
    kAOUdf0yOWoFAT/u/G3YLEcY3fwNngd92y5X630HK7TUvcrrDBrJqblyYx/4KdMfbTQLbCL4YCcVaSriztBIGZVlhteNv8NR\
    05yypC60HAbHTTp9IMsaG+8XCslldtZ/n6Lh2X1RaRLA9QlWt1MF1Hm2XhgYKXn+yG1tqsWmlIaDAgMBAAE=\
    ";
const RSA_PROOF: &str = "\
    CL5KYmm01XNqI9cOWVyJOf6MExtC6b0hyrnZEd5xo0bQGxsPL/G+/6RbUc2XhVut4VCjQCbhI3BAlr+P6mbej/A+ON4EFKfJ\
    fKEE2ULzs9QRGJ7t0e8c4d9N7DGsOoL2HxdrG98EmLT5X1dL22d3iX3TK4yHq64unsHFJcVAW9BrzTVUGw088x3NMDrmTlGT\
    J4ooQR/dLULjJiwaKRCr2Ou15PVZ2G5bZkeRVaA0aNEybE/G9xhEcROFS3ssIEMpvfHue0OH7aKaBxM4rOXQL7YrXVH2gAgX\
    Nzt/e2eK1+6gtns7F9L772ux3ZrQRdIJ5pVJjZW9i2R6sUOQnr0eEC9IVoIbPHpNbify/pm9EJld/VKqipLQextJSh7/+8Gd\
    eR7iD+4oNe2bBlRjWr1hXU1rAStpHcBR08QlHG7JrSV+Hk1CqsoQDo3FdShnopW86Bk8sUjTYNv0gt1HI7Kh1FGNxt9vPiHW\
    2gDmVprrDShR7+yKpMabB/9oA5RxN4Wo\
    ";

fn key(algorithm: &'static SignatureAlgorithm) -> KeyPair {
    KeyPair::generate_for(algorithm).unwrap()
}

#[test]
fn keys_are_recognised_by_their_algorithm() {
    let parsed = |algorithm| PublicKey::parse(&key(algorithm).subject_public_key_info()).unwrap();
    assert!(matches!(parsed(&PKCS_ED25519), PublicKey::Ed25519(_)));
    assert!(matches!(parsed(&PKCS_ECDSA_P256_SHA256), PublicKey::Ecdsa { curve: Curve::P256, .. }));
    assert!(matches!(parsed(&PKCS_ECDSA_P384_SHA384), PublicKey::Ecdsa { curve: Curve::P384, .. }));
    assert_eq!(PublicKey::parse(b""), None);
    assert_eq!(PublicKey::parse(b"garbage"), None);
    // A point that is not on the curve.
    let mut off_curve = key(&PKCS_ECDSA_P256_SHA256).subject_public_key_info();
    *off_curve.last_mut().unwrap() ^= 1;
    assert_eq!(PublicKey::parse(&off_curve), None);
    // Data after the key.
    let mut long = key(&PKCS_ED25519).subject_public_key_info();
    long.push(0);
    assert_eq!(PublicKey::parse(&long), None);
}

#[test]
fn proofs_are_made_with_the_private_key() {
    use rcgen::SigningKey;
    for algorithm in [&PKCS_ED25519, &PKCS_ECDSA_P256_SHA256] {
        let key = key(algorithm);
        let public = PublicKey::parse(&key.subject_public_key_info()).unwrap();
        let proof = key.sign(b"uid").unwrap();
        assert!(public.verify(b"uid", &proof));
        assert!(!public.verify(b"other", &proof));
        assert!(!public.verify(b"uid", b"proof"));
    }
    assert!(!PublicKey::Other.verify(b"", b""));
}

#[test]
fn rsa_proofs_may_have_salts_of_any_length() {
    use aws_lc_rs::encoding::AsDer;
    use aws_lc_rs::rand::SystemRandom;
    use aws_lc_rs::rsa::KeySize;
    use aws_lc_rs::signature::{KeyPair, RSA_PSS_SHA256, RsaKeyPair};
    let key = RsaKeyPair::generate(KeySize::Rsa3072).unwrap();
    let mut proof = vec![0; key.public_modulus_len()];
    key.sign(&RSA_PSS_SHA256, &SystemRandom::new(), b"uid", &mut proof).unwrap();
    let public = PublicKey::parse(key.public_key().as_der().unwrap().as_ref()).unwrap();
    assert_eq!(public.rsa_bits(), Some(3072));
    assert!(public.verify(b"uid", &proof));
    assert!(!public.verify(b"other", &proof));
    assert!(!public.verify(b"uid", &proof[1..]));
    proof[7] ^= 1;
    assert!(!public.verify(b"uid", &proof));
    let decoded = |text: &str| STANDARD.decode(text).unwrap();
    let public = PublicKey::parse(&decoded(RSA_KEY)).unwrap();
    assert!(public.verify(b"uid", &decoded(RSA_PROOF)));
    assert!(!public.verify(b"", &decoded(RSA_PROOF)));
}

#[test]
fn certificates_show_what_they_are_for() {
    let signer = key(&PKCS_ED25519);
    let mut params = CertificateParams::new(vec!["a.b".to_owned()]).unwrap();
    params.subject_alt_names.push(SanType::Rfc822Name("m@a.b".try_into().unwrap()));
    let leaf = params.self_signed(&signer).unwrap();
    let parsed = Certificate::parse(leaf.der()).unwrap();
    assert!(!parsed.is_ca());
    assert_eq!(parsed.dns_names().collect::<Vec<_>>(), ["a.b"]);
    assert_eq!(parsed.email_addresses().collect::<Vec<_>>(), ["m@a.b"]);
    assert!(parsed.not_before() < parsed.not_after());
    assert_eq!(parsed.public_key(), PublicKey::parse(&signer.subject_public_key_info()));
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = params.self_signed(&signer).unwrap();
    assert!(Certificate::parse(authority.der()).unwrap().is_ca());
    assert!(Certificate::parse(b"x").is_none());
    let two = [leaf.der().as_ref(), authority.der().as_ref()].concat();
    assert!(Certificate::parse(&two).is_none());
    assert_eq!(Certificate::parse_first(&two).unwrap().1, authority.der().as_ref());
}
