//! What a request for a certificate (PKCS #10) asks for, as far as it matters who one would be with it.

use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::pem::parse_x509_pem;
use x509_parser::prelude::FromDer;

/// Who the certificate would be of.
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
    fn a_request_says_who_one_would_be() {
        let pem =
            request(&[(DnType::CommonName, "system:node:n1"), (DnType::OrganizationName, "system:nodes")]);
        let expected =
            Subject { common_name: "system:node:n1".into(), organizations: vec!["system:nodes".into()] };
        assert_eq!(subject(pem.as_bytes()), Ok(expected.clone()));
        assert_eq!(subject(format!("a comment\n{pem}").as_bytes()), Ok(expected));
        assert_eq!(subject(request(&[]).as_bytes()), Ok(Subject::default()));
    }

    #[test]
    fn what_is_no_request_is_refused() {
        let pem = request(&[(DnType::CommonName, "a")]);
        let other = pem.replace("CERTIFICATE REQUEST", "CERTIFICATE");
        let cut = pem.lines().next().expect("a line").to_owned();
        for text in ["", "x", other.as_str(), cut.as_str()] {
            assert_eq!(subject(text.as_bytes()), Err(Error::NotARequest), "{text}");
        }
        let garbage = "-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----\n";
        assert!(matches!(subject(garbage.as_bytes()), Err(Error::Malformed(_))));
    }
}
