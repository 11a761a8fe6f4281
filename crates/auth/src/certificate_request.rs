//! Certificate requests (PKCS #10): their subject, their key and whether they are signed with it.

use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::extensions::{GeneralName, ParsedExtension};
use x509_parser::prelude::FromDer;

use crate::certificate_authority;
use crate::x509::{Certificate, PublicKey, pem};

/// The subject of the requested certificate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subject {
    /// The last, if there are several.
    pub common_name: String,
    pub organizations: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("PEM block type must be CERTIFICATE REQUEST")]
    NotARequest,
    #[error("asn1: {0}")]
    Malformed(String),
    /// In the words of the algorithm's implementation in Go.
    #[error("{0}")]
    Signature(&'static str),
}

/// The parts of a request that signers look at and that certificates take over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Details {
    pub subject: Subject,
    pub dns_names: Vec<String>,
    pub email_addresses: Vec<String>,
    /// Of 4 or 16 bytes.
    pub ip_addresses: Vec<Vec<u8>>,
    pub uris: Vec<String>,
    /// The subject as certificates have it.
    pub subject_der: Vec<u8>,
    /// The key as a `SubjectPublicKeyInfo`.
    pub key_der: Vec<u8>,
}

impl Details {
    /// Reads the first PEM block, which has to be a request.
    pub fn read(text: &[u8]) -> Result<Details, Error> {
        let contents = contents(text)?;
        let request = parse(&contents)?;
        let info = &request.certification_request_info;
        let mut details = Details {
            subject: subject_of(&request),
            subject_der: certificate_authority::subject(&info.subject),
            key_der: info.subject_pki.raw.to_vec(),
            ..Details::default()
        };
        for extension in request.requested_extensions().into_iter().flatten() {
            match extension {
                ParsedExtension::SubjectAlternativeName(names) => {
                    names.general_names.iter().try_for_each(|name| details.add(name))?;
                }
                ParsedExtension::ParseError { .. } => {
                    return Err(Error::Malformed("structure error: malformed extension".into()));
                }
                _ => {}
            }
        }
        Ok(details)
    }

    fn add(&mut self, name: &GeneralName<'_>) -> Result<(), Error> {
        match name {
            GeneralName::DNSName(name) => self.dns_names.push((*name).to_owned()),
            GeneralName::RFC822Name(address) => self.email_addresses.push((*address).to_owned()),
            GeneralName::URI(uri) => self.uris.push((*uri).to_owned()),
            GeneralName::IPAddress(address) if matches!(address.len(), 4 | 16) => {
                self.ip_addresses.push(address.to_vec());
            }
            GeneralName::IPAddress(address) => {
                let why = format!("x509: cannot parse IP address of length {}", address.len());
                return Err(Error::Malformed(why));
            }
            // Names of other kinds are not taken over.
            _ => {}
        }
        Ok(())
    }
}

/// Reads the subject of the first PEM block, which has to be a request.
pub fn subject(text: &[u8]) -> Result<Subject, Error> {
    let contents = contents(text)?;
    Ok(subject_of(&parse(&contents)?))
}

fn subject_of(request: &X509CertificationRequest<'_>) -> Subject {
    let subject = &request.certification_request_info.subject;
    let common_name = subject.iter_common_name().last().and_then(|name| name.as_str().ok());
    let organizations = subject.iter_organization().filter_map(|group| group.as_str().ok());
    Subject {
        common_name: common_name.unwrap_or_default().to_owned(),
        organizations: organizations.map(str::to_owned).collect(),
    }
}

/// Checks that the first PEM block is a request that was signed with the key that it is for.
pub fn check(text: &[u8]) -> Result<(), Error> {
    let contents = contents(text)?;
    check_signature(&parse(&contents)?)
}

/// Returns the key of a request in DER; nothing if it is no request, or for a key of an unknown algorithm.
pub fn public_key(der: &[u8]) -> Option<PublicKey> {
    PublicKey::of(&parse(der).ok()?.certification_request_info.subject_pki)
}

/// Whether a request in DER was signed with the key that it is for.
pub fn is_signed(der: &[u8]) -> bool {
    parse(der).is_ok_and(|request| check_signature(&request).is_ok())
}

fn contents(text: &[u8]) -> Result<Vec<u8>, Error> {
    let block =
        pem::decode(text).map(|(block, _)| block).filter(|block| block.label == "CERTIFICATE REQUEST");
    Ok(block.ok_or(Error::NotARequest)?.contents)
}

fn parse(der: &[u8]) -> Result<X509CertificationRequest<'_>, Error> {
    let malformed = |why: String| Error::Malformed(why);
    let (rest, request) =
        X509CertificationRequest::from_der(der).map_err(|_| malformed(why_malformed(der)))?;
    if !rest.is_empty() {
        return Err(malformed("syntax error: trailing data".into()));
    }
    Ok(request)
}

fn check_signature(request: &X509CertificationRequest<'_>) -> Result<(), Error> {
    let failure = || match PublicKey::of(&request.certification_request_info.subject_pki) {
        Some(PublicKey::Ed25519(_)) => "x509: Ed25519 verification failure",
        Some(PublicKey::Ecdsa { .. }) => "x509: ECDSA verification failure",
        Some(PublicKey::Rsa { .. }) => "crypto/rsa: verification error",
        _ => "x509: cannot verify signature: algorithm unimplemented",
    };
    request.verify_signature().map_err(|_| Error::Signature(failure()))
}

/// Describes the first fault of data that are no request, as Go's `encoding/asn1` does if it is in the outermost element.
fn why_malformed(der: &[u8]) -> String {
    const PARAMETERS: &str = "{optional:false explicit:false application:false private:false defaultValue:<nil> tag:<nil> \
                              stringType:0 timeType:0 set:false omitEmpty:false}";
    let [first, rest @ ..] = der else { return "syntax error: sequence truncated".into() };
    let (class, is_compound, tag) = (first >> 6, first & 0x20 != 0, first & 0x1f);
    let [length, rest @ ..] = rest else { return "syntax error: truncated tag or length".into() };
    let (length, rest) = match length {
        0x80 => return "syntax error: indefinite length found (not DER)".into(),
        short if *short < 0x80 => (usize::from(*short), rest),
        long => {
            let count = usize::from(long & 0x7f);
            let Some((bytes, rest)) = rest.split_at_checked(count).filter(|_| count <= 4) else {
                return "syntax error: truncated tag or length".into();
            };
            (bytes.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)), rest)
        }
    };
    if (class, is_compound, tag) != (0, true, 16) {
        let offset = der.len() - rest.len();
        return format!(
            "structure error: tags don't match (16 vs {{class:{class} tag:{tag} length:{length} \
             isCompound:{is_compound}}}) {PARAMETERS} certificateRequest @{offset}"
        );
    }
    if length > rest.len() {
        return "syntax error: data truncated".into();
    }
    "structure error: malformed certificate request".into()
}

/// Checks that a text has certificates in PEM, and no other blocks. No text at all is right too.
pub fn check_certificates(text: &[u8]) -> Result<(), String> {
    if text.is_empty() {
        return Ok(());
    }
    let mut blocks = 0;
    for block in pem::blocks(text) {
        if block.label != "CERTIFICATE" {
            let label = pintle_meta::quote(&block.label);
            return Err(format!("only CERTIFICATE PEM blocks are allowed, found {label}"));
        }
        if block.has_headers {
            return Err("no PEM block headers are permitted".into());
        }
        blocks += 1;
        let mut rest = block.contents.as_slice();
        if rest.is_empty() {
            return Err("found CERTIFICATE PEM block containing 0 certificates".into());
        }
        while !rest.is_empty() {
            rest = Certificate::parse_first(rest).ok_or("x509: malformed certificate")?.1;
        }
    }
    match blocks {
        0 => Err("must contain at least one CERTIFICATE PEM block".into()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, DnType, KeyPair};

    use super::*;

    fn request(names: &[(DnType, &str)]) -> String {
        let mut params = CertificateParams::default();
        params.distinguished_name = rcgen::DistinguishedName::new();
        for (kind, name) in names {
            params.distinguished_name.push(kind.clone(), *name);
        }
        let request = params.serialize_request(&KeyPair::generate().expect("a key")).expect("a request");
        request.pem().expect("PEM")
    }

    #[test]
    fn a_certificate_request_has_a_subject() {
        let pem =
            request(&[(DnType::CommonName, "system:node:n1"), (DnType::OrganizationName, "system:nodes")]);
        let expected =
            Subject { common_name: "system:node:n1".into(), organizations: vec!["system:nodes".into()] };
        assert_eq!(subject(pem.as_bytes()), Ok(expected.clone()));
        assert_eq!(subject(format!("a comment\n{pem}").as_bytes()), Ok(expected));
        assert_eq!(subject(request(&[]).as_bytes()), Ok(Subject::default()));
    }

    #[test]
    fn a_malformed_certificate_request_is_refused() {
        let pem = request(&[(DnType::CommonName, "a")]);
        let other = pem.replace("CERTIFICATE REQUEST", "CERTIFICATE");
        let cut = pem.lines().next().expect("a line").to_owned();
        for text in ["", "x", other.as_str(), cut.as_str()] {
            assert_eq!(subject(text.as_bytes()), Err(Error::NotARequest), "{text}");
        }
        let garbage = "-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----\n";
        assert!(matches!(subject(garbage.as_bytes()), Err(Error::Malformed(_))));
    }

    #[test]
    fn a_request_is_signed_with_the_key_that_it_is_for() {
        let good = request(&[(DnType::CommonName, "ann")]);
        assert_eq!(check(good.as_bytes()), Ok(()));
        let (mut block, _) = pem::decode(good.as_bytes()).unwrap();
        // The last byte is of the signature.
        *block.contents.last_mut().unwrap() ^= 1;
        let text = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, &block.contents);
        let forged =
            format!("-----BEGIN CERTIFICATE REQUEST-----\n{text}\n-----END CERTIFICATE REQUEST-----\n");
        assert_eq!(check(forged.as_bytes()), Err(Error::Signature("x509: ECDSA verification failure")));
        assert!(is_signed(&pem::decode(good.as_bytes()).unwrap().0.contents) && !is_signed(&block.contents));
        assert_eq!(check(b""), Err(Error::NotARequest));
        assert_eq!(check(b"garbage"), Err(Error::NotARequest));
        assert_eq!(check(good.replace(" REQUEST", "").as_bytes()), Err(Error::NotARequest));
        let junk = "-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----\n";
        assert!(matches!(check(junk.as_bytes()), Err(Error::Malformed(_))));
    }

    #[test]
    fn faults_of_the_outermost_element_are_told_as_go_does() {
        for (der, why) in [
            (&b""[..], "syntax error: sequence truncated"),
            (b"0", "syntax error: truncated tag or length"),
            (b"0\x80", "syntax error: indefinite length found (not DER)"),
            (b"0\x82\x01", "syntax error: truncated tag or length"),
            (b"0\x82\x01\x00a", "syntax error: data truncated"),
            (b"0\x00", "structure error: malformed certificate request"),
            (
                b"garbage",
                "structure error: tags don't match (16 vs {class:1 tag:7 length:97 isCompound:true}) {optional:false explicit:false application:false private:false defaultValue:<nil> tag:<nil> stringType:0 timeType:0 set:false omitEmpty:false} certificateRequest @2",
            ),
        ] {
            assert_eq!(why_malformed(der), why);
            assert_eq!(public_key(der), None);
        }
    }

    #[test]
    fn certificates_are_certificates_and_nothing_else() {
        let key = KeyPair::generate().unwrap();
        let one = CertificateParams::new(vec!["a".to_owned()]).unwrap().self_signed(&key).unwrap().pem();
        for good in [String::new(), one.clone(), format!("{one}between{one}")] {
            assert_eq!(check_certificates(good.as_bytes()), Ok(()));
        }
        let none = "must contain at least one CERTIFICATE PEM block";
        let other = "only CERTIFICATE PEM blocks are allowed, found \"PRIVATE KEY\"";
        for (bad, why) in [("garbage".to_owned(), none), (format!("{one}{}", key.serialize_pem()), other)] {
            assert_eq!(check_certificates(bad.as_bytes()).unwrap_err(), why);
        }
        let junk = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        assert_eq!(check_certificates(junk.as_bytes()).unwrap_err(), "x509: malformed certificate");
        let empty = "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n";
        let why = "found CERTIFICATE PEM block containing 0 certificates";
        assert_eq!(check_certificates(empty.as_bytes()).unwrap_err(), why);
        let headers = one.replacen("-----\n", "-----\na: b\n\n", 1);
        assert_eq!(check_certificates(headers.as_bytes()).unwrap_err(), "no PEM block headers are permitted");
    }
}
