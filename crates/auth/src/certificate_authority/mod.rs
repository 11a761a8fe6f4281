//! A certificate authority that signs certificate requests, as kube-controller-manager's signers do.
//!
//! A certificate takes from its request the key, the alternative names and those attributes of the subject that Go's `pkix.Name`
//! has; everything else that a request asks for is dropped, among it extensions and attributes such as a user's UID. Usages and
//! lifetime are the signer's to decide ([`Terms`]).

mod encoding;
mod key;

use std::time::{Duration, SystemTime};

use aws_lc_rs::rand::{SecureRandom, SystemRandom};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pintle_meta::time::Time;
use x509_parser::extensions::ParsedExtension;
use x509_parser::prelude::{FromDer, X509Certificate};

use crate::certificate_request::{self, Details};
use crate::x509::{PublicKey, pem};
pub(crate) use encoding::subject;
use encoding::{Usages, validity};
use key::Key;

/// How long before its issue a certificate is valid, since clocks differ.
const BACKDATE: Duration = Duration::from_secs(5 * 60);
/// Certificates of shorter lives do not end earlier for being backdated.
const SHORT: Duration = Duration::from_secs(8 * 60 * 60);

/// Never shows what was in a key file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    #[error("expected 1 certificate, found {0}")]
    Certificates(usize),
    #[error("the certificate is malformed")]
    Certificate,
    #[error("data does not contain a valid RSA, ECDSA or Ed25519 private key")]
    Key,
    #[error("the private key does not match the public key of the certificate")]
    Mismatch,
    #[error("unable to parse certificate request: {0}")]
    Request(certificate_request::Error),
    #[error("unable to verify certificate request signature: {0}")]
    Signature(certificate_request::Error),
    #[error("unrecognized usage values: [{0}]")]
    Usages(String),
    #[error("the signer has expired: NotAfter={0}")]
    Expired(String),
    #[error("refusing to sign a certificate that expired in the past: NotAfter={0}")]
    InThePast(String),
    #[error("failed to sign certificate")]
    Sign,
}

/// The terms of a certificate that the signer decides.
#[derive(Clone, Copy, Debug)]
pub struct Terms<'a> {
    /// Cut short at the end of the authority's own life.
    pub lifetime: Duration,
    /// Usages by their names in the certificates API.
    pub usages: &'a [&'a str],
    pub now: SystemTime,
}

/// A certificate with its key.
pub struct Authority {
    /// In DER.
    subject: Vec<u8>,
    key_identifier: Option<Vec<u8>>,
    /// The last second of its life, in Unix time.
    not_after: i64,
    key: Key,
    random: SystemRandom,
}

impl Authority {
    /// Reads a certificate and its key in PEM.
    pub fn from_pem(certificate: &[u8], key: &[u8]) -> Result<Authority, Error> {
        let blocks: Vec<_> = pem::blocks(certificate).filter(|block| block.label == "CERTIFICATE").collect();
        let [block] = &blocks[..] else { return Err(Error::Certificates(blocks.len())) };
        let (_, certificate) = X509Certificate::from_der(&block.contents).map_err(|_| Error::Certificate)?;
        let found = pem::blocks(key).find_map(|block| Key::read(&block.label, &block.contents));
        let key = found.ok_or(Error::Key)?;
        if PublicKey::of(certificate.public_key()).is_none_or(|public| key.public() != Some(public)) {
            return Err(Error::Mismatch);
        }
        let key_identifier =
            certificate.extensions().iter().find_map(|extension| match extension.parsed_extension() {
                ParsedExtension::SubjectKeyIdentifier(id) => Some(id.0.to_vec()),
                _ => None,
            });
        Ok(Authority {
            subject: certificate.subject().as_raw().to_vec(),
            key_identifier,
            not_after: certificate.validity().not_after.timestamp(),
            key,
            random: SystemRandom::new(),
        })
    }

    /// Signs a certificate for a request in PEM. Returns it in PEM.
    pub fn sign(&self, request: &[u8], terms: &Terms<'_>) -> Result<String, Error> {
        let details = Details::read(request).map_err(Error::Request)?;
        certificate_request::check(request).map_err(Error::Signature)?;
        let usages = Usages::named(terms.usages).map_err(Error::Usages)?;
        let (not_before, not_after) = self.period(terms)?;
        let mut serial = [0; 16];
        self.random.fill(&mut serial).map_err(|_| Error::Sign)?;
        let algorithm = encoding::sequence(&[self.key.algorithm()]);
        let body = encoding::sequence(&[
            // Version 3.
            &[0xa0, 3, 2, 1, 2],
            &encoding::positive(&serial),
            &algorithm,
            &self.subject,
            &validity(not_before, not_after),
            &details.subject_der,
            &details.key_der,
            &encoding::extensions(&details, &usages, self.key_identifier.as_deref()),
        ]);
        let signature = self.key.sign(&self.random, &body).ok_or(Error::Sign)?;
        Ok(pem_of(&encoding::sequence(&[&body, &algorithm, &encoding::bits(&signature)])))
    }

    /// Returns the first and the last second of a certificate's validity.
    fn period(&self, terms: &Terms<'_>) -> Result<(i64, i64), Error> {
        let seconds = |duration: Duration| i64::try_from(duration.as_secs()).unwrap_or(i64::MAX);
        let now = Time::from(terms.now).unix_seconds();
        let not_before = now - seconds(BACKDATE);
        let lifetime = match terms.lifetime {
            short if short < SHORT => short,
            long => long - BACKDATE,
        };
        let end = || Time::from_unix(self.not_after, 0).to_string();
        if not_before >= self.not_after {
            return Err(Error::Expired(end()));
        }
        if now >= self.not_after {
            return Err(Error::InThePast(end()));
        }
        Ok((not_before, now.saturating_add(seconds(lifetime)).min(self.not_after)))
    }
}

fn pem_of(der: &[u8]) -> String {
    let mut text = "-----BEGIN CERTIFICATE-----\n".to_owned();
    for line in STANDARD.encode(der).as_bytes().chunks(64) {
        text.extend(line.iter().map(|byte| char::from(*byte)));
        text.push('\n');
    }
    text.push_str("-----END CERTIFICATE-----\n");
    text
}

#[cfg(test)]
mod tests;
