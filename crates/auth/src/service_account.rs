//! The keys of service account tokens, as operators bring them: public keys, private keys and certificates, RSA and
//! ECDSA, several to a file.

use std::path::Path;

use x509_parser::pem::Pem;
use x509_parser::prelude::FromDer;
use x509_parser::public_key::PublicKey as Parsed;
use x509_parser::x509::SubjectPublicKeyInfo;

/// A key that tokens can be verified with: its `SubjectPublicKeyInfo` in DER.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicKey {
    pub spki: Vec<u8>,
}

/// Never shows what was in the file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    #[error("{0}")]
    Read(#[from] std::io::Error),
    #[error("data does not contain any valid RSA or ECDSA public keys")]
    None,
}

/// All keys of a PEM file; at least one. Sections of other kinds are passed over.
pub fn read_public_keys(path: &Path) -> Result<Vec<PublicKey>, KeyError> {
    let pem = std::fs::read(path)?;
    let keys: Vec<PublicKey> = Pem::iter_from_buffer(&pem)
        .map_while(Result::ok)
        .filter_map(|section| public_key(&section))
        .collect();
    if keys.is_empty() { Err(KeyError::None) } else { Ok(keys) }
}

fn public_key(section: &Pem) -> Option<PublicKey> {
    let der = section.contents.as_slice();
    let spki = match section.label.as_str() {
        "PUBLIC KEY" => der.to_vec(),
        "RSA PUBLIC KEY" => rsa_spki(der),
        "CERTIFICATE" => {
            let (_, certificate) = x509_parser::certificate::X509Certificate::from_der(der).ok()?;
            certificate.public_key().raw.to_vec()
        }
        kind @ ("PRIVATE KEY" | "RSA PRIVATE KEY" | "EC PRIVATE KEY") => public_half(kind, der)?,
        _ => return None,
    };
    let (_, parsed) = SubjectPublicKeyInfo::from_der(&spki).ok()?;
    match parsed.parsed().ok()? {
        Parsed::RSA(_) | Parsed::EC(_) => Some(PublicKey { spki }),
        _ => None,
    }
}

/// The public half of a private key.
fn public_half(kind: &str, der: &[u8]) -> Option<Vec<u8>> {
    use aws_lc_rs::encoding::AsDer;
    use aws_lc_rs::rsa::KeyPair as Rsa;
    use aws_lc_rs::signature::{
        ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, ECDSA_P521_SHA512_FIXED_SIGNING,
        EcdsaKeyPair, KeyPair,
    };
    let rsa = match kind {
        "RSA PRIVATE KEY" => Rsa::from_der(der).ok(),
        "PRIVATE KEY" => Rsa::from_pkcs8(der).ok(),
        _ => None,
    };
    if let Some(rsa) = rsa {
        let public: aws_lc_rs::encoding::PublicKeyX509Der<'_> = rsa.public_key().as_der().ok()?;
        return Some(public.as_ref().to_vec());
    }
    for algorithm in
        [&ECDSA_P256_SHA256_FIXED_SIGNING, &ECDSA_P384_SHA384_FIXED_SIGNING, &ECDSA_P521_SHA512_FIXED_SIGNING]
    {
        let pair = match kind {
            "EC PRIVATE KEY" => EcdsaKeyPair::from_private_key_der(algorithm, der),
            _ => EcdsaKeyPair::from_pkcs8(algorithm, der),
        };
        if let Ok(pair) = pair {
            let public: aws_lc_rs::encoding::PublicKeyX509Der<'_> = pair.public_key().as_der().ok()?;
            return Some(public.as_ref().to_vec());
        }
    }
    None
}

/// Wraps a bare RSA key (PKCS #1) in what the other forms carry: an algorithm identifier and a bit string.
fn rsa_spki(key: &[u8]) -> Vec<u8> {
    // rsaEncryption, with the NULL parameters that go with it.
    const ALGORITHM: [u8; 15] = [0x30, 13, 6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 13, 1, 1, 1, 5, 0];
    let mut bits = vec![0];
    bits.extend_from_slice(key);
    let mut content = ALGORITHM.to_vec();
    content.extend(tagged(3, &bits));
    tagged(0x30, &content)
}

/// A DER value: tag, length, content.
fn tagged(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut der = vec![tag];
    let length = content.len().to_be_bytes();
    let significant = &length[length.iter().position(|byte| *byte != 0).unwrap_or(length.len() - 1)..];
    match significant {
        [short] if *short < 0x80 => der.push(*short),
        long => {
            der.push(0x80 | long.len() as u8);
            der.extend_from_slice(long);
        }
    }
    der.extend_from_slice(content);
    der
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, KeyPair, PublicKeyData};

    use super::*;

    fn keys_in(text: &str) -> Result<Vec<PublicKey>, KeyError> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        read_public_keys(file.path())
    }

    #[test]
    fn every_form_of_a_key_gives_the_same_public_key() {
        for algorithm in
            [&rcgen::PKCS_ECDSA_P256_SHA256, &rcgen::PKCS_ECDSA_P384_SHA384, &rcgen::PKCS_RSA_SHA256]
        {
            let pair = KeyPair::generate_for(algorithm).unwrap();
            let certificate = CertificateParams::default().self_signed(&pair).unwrap();
            let expect = PublicKey { spki: pair.subject_public_key_info() };
            for text in [pair.serialize_pem(), pair.public_key_pem(), certificate.pem()] {
                assert_eq!(keys_in(&text).unwrap().as_slice(), std::slice::from_ref(&expect), "{text}");
            }
            let all = [pair.serialize_pem(), certificate.pem()].concat();
            assert_eq!(keys_in(&all).unwrap().len(), 2);
        }
    }

    #[test]
    fn a_bare_rsa_public_key_is_wrapped() {
        let pair = KeyPair::generate_for(&rcgen::PKCS_RSA_SHA256).unwrap();
        assert_eq!(rsa_spki(pair.der_bytes()), pair.subject_public_key_info());
    }

    /// The key inside a PKCS #8 envelope, which is what the older forms hold by itself.
    fn inner_key(pkcs8: &[u8]) -> &[u8] {
        // The envelope is a version, an algorithm, and the key in an octet string.
        let (_, envelope) = value(pkcs8);
        let (rest, _) = value(envelope);
        let (rest, _) = value(rest);
        value(rest).1
    }

    /// The content of the first DER value, and what follows it.
    fn value(der: &[u8]) -> (&[u8], &[u8]) {
        let (length, header) = match der[1] {
            short @ 0..0x80 => (usize::from(short), 2),
            long => {
                let count = usize::from(long & 0x7f);
                let length =
                    der[2..2 + count].iter().fold(0, |length, byte| length << 8 | usize::from(*byte));
                (length, 2 + count)
            }
        };
        (&der[header + length..], &der[header..header + length])
    }

    #[test]
    fn the_older_forms_of_private_keys_are_read_too() {
        for (algorithm, label) in
            [(&rcgen::PKCS_RSA_SHA256, "RSA PRIVATE KEY"), (&rcgen::PKCS_ECDSA_P256_SHA256, "EC PRIVATE KEY")]
        {
            let pair = KeyPair::generate_for(algorithm).unwrap();
            let der = pair.serialize_der();
            let base64 = base64(inner_key(&der));
            let pem = format!("-----BEGIN {label}-----\n{base64}\n-----END {label}-----\n");
            assert_eq!(
                keys_in(&pem).unwrap(),
                [PublicKey { spki: pair.subject_public_key_info() }],
                "{label}"
            );
        }
    }

    fn base64(bytes: &[u8]) -> String {
        use base64::Engine;
        let text = base64::engine::general_purpose::STANDARD.encode(bytes);
        text.as_bytes().chunks(64).map(|line| String::from_utf8_lossy(line)).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn other_keys_and_garbage_are_refused() {
        let ed25519 = KeyPair::generate_for(&rcgen::PKCS_ED25519).unwrap();
        assert!(matches!(keys_in(&ed25519.public_key_pem()), Err(KeyError::None)));
        assert!(matches!(keys_in("not PEM"), Err(KeyError::None)));
    }
}
