//! X.509 certificates.

use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer, X509Certificate};

use super::PublicKey;

/// A certificate, with the parts that validation looks at.
pub struct Certificate<'a>(X509Certificate<'a>);

impl<'a> Certificate<'a> {
    /// Parses one certificate, and nothing after it.
    pub fn parse(der: &'a [u8]) -> Option<Certificate<'a>> {
        let (certificate, rest) = Certificate::parse_first(der)?;
        rest.is_empty().then_some(certificate)
    }

    /// Parses the first of several certificates, and returns the others.
    pub fn parse_first(der: &'a [u8]) -> Option<(Certificate<'a>, &'a [u8])> {
        let (rest, certificate) = X509Certificate::from_der(der).ok()?;
        Some((Certificate(certificate), rest))
    }

    /// Whether the certificate is of an authority.
    pub fn is_ca(&self) -> bool {
        self.0.basic_constraints().ok().flatten().is_some_and(|constraints| constraints.value.ca)
    }

    /// Returns the first second of the certificate's validity, in Unix time.
    pub fn not_before(&self) -> i64 {
        self.0.validity().not_before.timestamp()
    }

    /// Returns the last second of the certificate's validity, in Unix time.
    pub fn not_after(&self) -> i64 {
        self.0.validity().not_after.timestamp()
    }

    pub fn public_key(&self) -> Option<PublicKey> {
        PublicKey::of(self.0.public_key())
    }

    /// Returns the alternative names that are host names.
    pub fn dns_names(&self) -> impl Iterator<Item = &str> {
        self.names().filter_map(|name| match name {
            GeneralName::DNSName(name) => Some(*name),
            _ => None,
        })
    }

    /// Returns the alternative names that are mail addresses.
    pub fn email_addresses(&self) -> impl Iterator<Item = &str> {
        self.names().filter_map(|name| match name {
            GeneralName::RFC822Name(address) => Some(*address),
            _ => None,
        })
    }

    fn names(&self) -> impl Iterator<Item = &GeneralName<'a>> {
        let names = self.0.subject_alternative_name().ok().flatten();
        names.into_iter().flat_map(|names| &names.value.general_names)
    }
}
