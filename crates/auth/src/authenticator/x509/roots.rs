//! Trusted roots, and the verification of a chain against them.
//!
//! webpki does the work. It is stricter than what operators' certificates have always been allowed here in three cases,
//! which are judged by [`Roots::verify_plain`]: certificates of X.509 version 1, ones that are authorities themselves,
//! and ones that stand among the trusted themselves. What certificates are for is judged as Go does it ([`ForClients`]).

use std::time::{Duration, SystemTime};

use rustls_pki_types::{CertificateDer, TrustAnchor, UnixTime};
use webpki::{EndEntityCert, ExtendedKeyUsageValidator, KeyPurposeId, KeyPurposeIdIter, KeyUsage};
use x509_parser::prelude::{FromDer, X509Certificate};

/// Why roots cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("certificate {index} of the bundle cannot be used: {reason}")]
pub struct RootError {
    index: usize,
    reason: String,
}

/// A span of time, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Validity {
    from: SystemTime,
    until: SystemTime,
}

pub(super) struct Roots {
    roots: Vec<Root>,
}

struct Root {
    certificate: CertificateDer<'static>,
    /// `None` for one that may not sign others, or none that are clients'.
    anchor: Option<TrustAnchor<'static>>,
    valid: Validity,
}

impl Roots {
    pub(super) fn new(certificates: &[CertificateDer<'static>]) -> Result<Roots, RootError> {
        let root =
            |(index, certificate)| Root::new(certificate).map_err(|reason| RootError { index, reason });
        Ok(Roots { roots: certificates.iter().enumerate().map(root).collect::<Result<_, _>>()? })
    }

    /// Judges a chain, leaf first, for a client. Returns when all that it rests on is valid.
    pub(super) fn verify(&self, chain: &[CertificateDer<'_>], now: SystemTime) -> Result<Validity, String> {
        let (leaf, intermediates) = chain.split_first().ok_or("there is no certificate")?;
        let time = now.duration_since(SystemTime::UNIX_EPOCH).map_err(|error| error.to_string())?;
        let anchors: Vec<TrustAnchor<'_>> = self.valid(now).filter_map(|root| root.anchor.clone()).collect();
        let certificate = EndEntityCert::try_from(leaf);
        let path = certificate.as_ref().map_err(Clone::clone).and_then(|certificate| {
            certificate.verify_for_usage(
                webpki::ALL_VERIFICATION_ALGS,
                &anchors,
                intermediates,
                UnixTime::since_unix_epoch(time),
                ForClients,
                None,
                None,
            )
        });
        match path {
            Ok(path) => {
                let root = self.valid(now).find(|root| root.anchor.as_ref() == Some(path.anchor()));
                let root = root.map_or_else(Validity::always, |root| root.valid);
                Ok(chain.iter().fold(root, |valid, certificate| valid.and(Validity::of(certificate))))
            }
            Err(
                error @ (webpki::Error::UnsupportedCertVersion
                | webpki::Error::CaUsedAsEndEntity
                | webpki::Error::UnknownIssuer),
            ) => self.verify_plain(leaf, now).ok_or_else(|| error.to_string()),
            Err(error) => Err(error.to_string()),
        }
    }

    /// A certificate that is trusted itself, or that a trusted one signed directly.
    fn verify_plain(&self, leaf: &CertificateDer<'_>, now: SystemTime) -> Option<Validity> {
        let (_, parsed) = X509Certificate::from_der(leaf).ok()?;
        let valid = Validity::of(leaf);
        if !valid.contains(now) || !is_for_clients(&parsed)? {
            return None;
        }
        let vouches = |root: &&Root| {
            let signed = |authority: &X509Certificate<'_>| {
                authority.subject().as_raw() == parsed.issuer().as_raw()
                    && parsed.verify_signature(Some(authority.public_key())).is_ok()
            };
            root.certificate == *leaf
                || (root.anchor.is_some()
                    && X509Certificate::from_der(&root.certificate)
                        .is_ok_and(|(_, authority)| signed(&authority)))
        };
        self.valid(now).find(vouches).map(|root| root.valid.and(valid))
    }

    fn valid(&self, now: SystemTime) -> impl Iterator<Item = &Root> {
        self.roots.iter().filter(move |root| root.valid.contains(now))
    }
}

impl Root {
    fn new(certificate: &CertificateDer<'static>) -> Result<Root, String> {
        let (_, parsed) = X509Certificate::from_der(certificate).map_err(|error| error.to_string())?;
        let anchor = if may_sign(&parsed) && is_for_clients(&parsed).unwrap_or_default() {
            Some(webpki::anchor_from_trusted_cert(certificate).map_err(|error| error.to_string())?.to_owned())
        } else {
            None
        };
        Ok(Root { anchor, valid: Validity::of(certificate), certificate: certificate.clone() })
    }
}

/// Whether a certificate is an authority's. Version 1 could not say so.
fn may_sign(certificate: &X509Certificate<'_>) -> bool {
    let is_authority = match certificate.basic_constraints() {
        Ok(Some(constraints)) => constraints.value.ca,
        Ok(None) => certificate.version().0 < 2,
        Err(_) => false,
    };
    let signs = match certificate.key_usage() {
        Ok(Some(usage)) => usage.value.key_cert_sign(),
        Ok(None) => true,
        Err(_) => false,
    };
    is_authority && signs
}

/// Asked about each certificate of a chain but the root: if it says what it is for, that must be clients, or anything at all,
/// which webpki itself does not know.
struct ForClients;

impl ForClients {
    const CLIENT: KeyPurposeId<'static> = KeyPurposeId::new(&[0x2b, 6, 1, 5, 5, 7, 3, 2]);
    const ANY: KeyPurposeId<'static> = KeyPurposeId::new(&[0x55, 0x1d, 0x25, 0]);
}

impl ExtendedKeyUsageValidator for ForClients {
    fn validate(&self, purposes: KeyPurposeIdIter<'_, '_>) -> Result<(), webpki::Error> {
        let mut present = Vec::new();
        for purpose in purposes {
            let purpose = purpose?;
            if [ForClients::CLIENT, ForClients::ANY].contains(&purpose) {
                return Ok(());
            }
            present.push(purpose.to_decoded_oid());
        }
        if present.is_empty() {
            Ok(())
        } else {
            Err(webpki::Error::RequiredEkuNotFoundContext(webpki::RequiredEkuNotFoundContext {
                required: KeyUsage::client_auth(),
                present,
            }))
        }
    }
}

/// Whether a certificate may be a client's. `None` if it cannot be told.
fn is_for_clients(certificate: &X509Certificate<'_>) -> Option<bool> {
    let usage = certificate.extended_key_usage().ok()?;
    Some(usage.is_none_or(|usage| usage.value.client_auth || usage.value.any))
}

impl Validity {
    fn always() -> Validity {
        Validity { from: SystemTime::UNIX_EPOCH, until: SystemTime::UNIX_EPOCH + FAR }
    }

    fn never() -> Validity {
        Validity { from: SystemTime::UNIX_EPOCH + FAR, until: SystemTime::UNIX_EPOCH }
    }

    /// One that cannot be read is never valid.
    fn of(certificate: &CertificateDer<'_>) -> Validity {
        let at = |timestamp: i64| {
            SystemTime::UNIX_EPOCH + Duration::from_secs(u64::try_from(timestamp).unwrap_or(0)).min(FAR)
        };
        X509Certificate::from_der(certificate).map_or_else(
            |_| Validity::never(),
            |(_, parsed)| Validity {
                from: at(parsed.validity().not_before.timestamp()),
                until: at(parsed.validity().not_after.timestamp()),
            },
        )
    }

    fn and(self, other: Validity) -> Validity {
        Validity { from: self.from.max(other.from), until: self.until.min(other.until) }
    }

    pub(super) fn contains(&self, now: SystemTime) -> bool {
        self.from <= now && now <= self.until
    }
}

/// Beyond any date that matters, and safe to add to one.
const FAR: Duration = Duration::from_secs(1 << 36);
