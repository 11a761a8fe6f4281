//! The subject of a certificate request (PKCS #10).

use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::pem::{Pem, parse_x509_pem};
use x509_parser::prelude::{FromDer, X509Certificate};

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
    #[error("x509: malformed certificate request: {0}")]
    Malformed(String),
    #[error("x509: the signature of the certificate request does not match")]
    Signature,
}

/// Reads the subject of the first PEM block, which has to be a request.
pub fn subject(pem: &[u8]) -> Result<Subject, Error> {
    let (_, block) = parse_x509_pem(pem).map_err(|_| Error::NotARequest)?;
    if block.label != "CERTIFICATE REQUEST" {
        return Err(Error::NotARequest);
    }
    let malformed = |error: &dyn std::fmt::Display| Error::Malformed(error.to_string());
    let (rest, request) =
        X509CertificationRequest::from_der(&block.contents).map_err(|error| malformed(&error))?;
    if !rest.is_empty() {
        return Err(malformed(&"trailing data"));
    }
    let subject = &request.certification_request_info.subject;
    let common_name = subject.iter_common_name().last().and_then(|name| name.as_str().ok());
    let organizations = subject.iter_organization().filter_map(|group| group.as_str().ok());
    Ok(Subject {
        common_name: common_name.unwrap_or_default().to_owned(),
        organizations: organizations.map(str::to_owned).collect(),
    })
}

/// Whether the first PEM block is a request that was signed with the key that it is for.
pub fn check(pem: &[u8]) -> Result<(), Error> {
    let (_, block) = parse_x509_pem(pem).map_err(|_| Error::NotARequest)?;
    if block.label != "CERTIFICATE REQUEST" {
        return Err(Error::NotARequest);
    }
    let malformed = |error: &dyn std::fmt::Display| Error::Malformed(error.to_string());
    let (rest, request) =
        X509CertificationRequest::from_der(&block.contents).map_err(|error| malformed(&error))?;
    if !rest.is_empty() {
        return Err(malformed(&"trailing data"));
    }
    request.verify_signature().map_err(|_| Error::Signature)
}

/// Whether a text has certificates in PEM, and no other blocks. Nothing at all is right too.
pub fn check_certificates(pem: &[u8]) -> Result<(), String> {
    if pem.is_empty() {
        return Ok(());
    }
    let mut blocks = 0;
    for block in Pem::iter_from_buffer(pem) {
        // Text around blocks is ignored.
        let Ok(block) = block else { continue };
        if block.label != "CERTIFICATE" {
            let label = pintle_meta::quote(&block.label);
            return Err(format!("only CERTIFICATE PEM blocks are allowed, found {label}"));
        }
        blocks += 1;
        let mut rest = block.contents.as_slice();
        if rest.is_empty() {
            return Err("found CERTIFICATE PEM block containing 0 certificates".into());
        }
        while !rest.is_empty() {
            let parsed = X509Certificate::from_der(rest);
            rest = parsed.map_err(|error| format!("x509: malformed certificate: {error}"))?.0;
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
        let (_, mut block) = parse_x509_pem(good.as_bytes()).unwrap();
        // The last byte is of the signature.
        *block.contents.last_mut().unwrap() ^= 1;
        let text = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, &block.contents);
        let forged =
            format!("-----BEGIN CERTIFICATE REQUEST-----\n{text}\n-----END CERTIFICATE REQUEST-----\n");
        assert_eq!(check(forged.as_bytes()), Err(Error::Signature));
        assert_eq!(check(b""), Err(Error::NotARequest));
        assert_eq!(check(b"garbage"), Err(Error::NotARequest));
        assert_eq!(check(good.replace(" REQUEST", "").as_bytes()), Err(Error::NotARequest));
        let junk = "-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----\n";
        assert!(matches!(check(junk.as_bytes()), Err(Error::Malformed(_))));
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
        assert!(check_certificates(junk.as_bytes()).unwrap_err().starts_with("x509: malformed certificate"));
    }
}
