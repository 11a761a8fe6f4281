//! X.509 client certificates: the common name is the user, the organizations are the groups.
//!
//! The TLS handshake lets any certificate pass, so trust, usage and validity are all judged here, and a bad one is
//! answered with 401 instead of a broken connection. Verifying a chain costs more than the rest of a small request, so
//! the outcome is kept with the connection, for as long as the certificates are valid and the roots are the same.

use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use rustls_pki_types::{CertificateDer, TrustAnchor, UnixTime};
use webpki::{EndEntityCert, KeyUsage};
use x509_parser::prelude::{FromDer, X509Certificate};

use super::{Authenticator, Credentials, Error};
use crate::User;

/// The object identifier under which a subject carries the user's uid.
const UID_OID: &str = "1.3.6.1.4.1.57683.2";

/// Accepts certificates that chain up to one of its roots, which can be replaced while it is in use.
pub struct ClientCertificates {
    roots: RwLock<Arc<Roots>>,
    /// Whether a subject may name the user's uid (`AllowParsingUserUIDFromCertAuth`).
    reads_uid: bool,
}

struct Roots {
    generation: u64,
    anchors: Vec<TrustAnchor<'static>>,
}

/// What a client sent in its TLS handshake, leaf first: proven to be the client's own, and nothing else.
#[derive(Debug, Default)]
pub struct PeerCertificates {
    chain: Vec<CertificateDer<'static>>,
    verified: Mutex<Option<Verified>>,
}

impl PeerCertificates {
    pub fn new(chain: Vec<CertificateDer<'static>>) -> PeerCertificates {
        PeerCertificates { chain, verified: Mutex::new(None) }
    }
}

/// A user whose certificate was verified, and how long that may be relied on.
#[derive(Clone, Debug)]
struct Verified {
    user: Arc<User>,
    generation: u64,
    not_before: SystemTime,
    not_after: SystemTime,
}

/// Why roots cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("certificate {index} of the bundle is not a certificate authority that can be used: {reason}")]
pub struct RootError {
    index: usize,
    reason: String,
}

impl ClientCertificates {
    pub fn new(roots: &[CertificateDer<'static>], reads_uid: bool) -> Result<ClientCertificates, RootError> {
        let anchors = anchors(roots)?;
        Ok(ClientCertificates { roots: RwLock::new(Arc::new(Roots { generation: 1, anchors })), reads_uid })
    }

    /// Trusts these roots from the next request on, and only these.
    pub fn replace(&self, roots: &[CertificateDer<'static>]) -> Result<(), RootError> {
        let anchors = anchors(roots)?;
        let mut current = self.roots.write().unwrap_or_else(PoisonError::into_inner);
        *current = Arc::new(Roots { generation: current.generation + 1, anchors });
        Ok(())
    }

    fn current(&self) -> Arc<Roots> {
        self.roots.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Judges a chain, leaf first. `None` if there is no certificate.
    fn verify(&self, chain: &[CertificateDer<'_>], now: SystemTime) -> Result<Option<Verified>, Error> {
        let Some((leaf, intermediates)) = chain.split_first() else { return Ok(None) };
        let roots = self.current();
        let fail = |reason: String| Error::Certificate { certificate: describe(leaf), reason };
        let time = now.duration_since(SystemTime::UNIX_EPOCH).map_err(|error| fail(error.to_string()))?;
        let path_time = UnixTime::since_unix_epoch(time);
        EndEntityCert::try_from(leaf)
            .and_then(|certificate| {
                certificate
                    .verify_for_usage(
                        webpki::ALL_VERIFICATION_ALGS,
                        &roots.anchors,
                        intermediates,
                        path_time,
                        KeyUsage::client_auth(),
                        None,
                        None,
                    )
                    .map(drop)
            })
            .map_err(|error| fail(error.to_string()))?;

        let (_, parsed) = X509Certificate::from_der(leaf).map_err(|error| fail(error.to_string()))?;
        let user = self.user_of(&parsed).ok_or_else(|| {
            fail("the subject names no user (no common name, or a uid that is empty or there twice)".into())
        })?;
        let (not_before, not_after) = validity(chain);
        let user = Arc::new(user.authenticated());
        Ok(Some(Verified { user, generation: roots.generation, not_before, not_after }))
    }

    fn user_of(&self, certificate: &X509Certificate<'_>) -> Option<User> {
        let subject = certificate.subject();
        let name = subject.iter_common_name().last()?.as_str().ok()?.to_owned();
        if name.is_empty() {
            return None;
        }
        let groups =
            subject.iter_organization().filter_map(|group| group.as_str().ok()).map(str::to_owned).collect();
        let uid = if self.reads_uid { uid_of(certificate)? } else { String::new() };
        let mut user = User { name, uid, groups, ..User::default() };
        // Lets an audit trail tell two certificates of one user apart, and a revocation name one of them.
        let fingerprint = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, certificate.as_raw());
        let hex: String = fingerprint.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        user.extra
            .insert("authentication.kubernetes.io/credential-id".into(), vec![format!("X509SHA256={hex}")]);
        Some(user)
    }

    /// Whether an earlier verification still holds: the same roots, and within the validity of every certificate sent.
    fn still_holds(&self, verified: &Verified, now: SystemTime) -> bool {
        verified.not_before <= now
            && now <= verified.not_after
            && verified.generation == self.current().generation
    }
}

#[async_trait]
impl Authenticator for ClientCertificates {
    async fn authenticate(&self, credentials: Credentials<'_>) -> Result<Option<Arc<User>>, Error> {
        let PeerCertificates { chain, verified } = credentials.certificates;
        if chain.is_empty() {
            return Ok(None);
        }
        let known = verified.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(known) = known.filter(|known| self.still_holds(known, credentials.now)) {
            return Ok(Some(known.user));
        }
        let fresh = self.verify(chain, credentials.now)?;
        let user = fresh.as_ref().map(|fresh| fresh.user.clone());
        *verified.lock().unwrap_or_else(PoisonError::into_inner) = fresh;
        Ok(user)
    }
}

fn anchors(roots: &[CertificateDer<'static>]) -> Result<Vec<TrustAnchor<'static>>, RootError> {
    let anchor =
        |(index, root): (usize, &CertificateDer<'static>)| match webpki::anchor_from_trusted_cert(root) {
            Ok(anchor) => Ok(anchor.to_owned()),
            Err(error) => Err(RootError { index, reason: error.to_string() }),
        };
    roots.iter().enumerate().map(anchor).collect()
}

/// The uid in the subject, empty if there is none. A subject with several, or an empty one, is nobody's.
fn uid_of(certificate: &X509Certificate<'_>) -> Option<String> {
    let mut uids =
        certificate.subject().iter_attributes().filter(|part| part.attr_type().to_id_string() == UID_OID);
    let Some(uid) = uids.next() else { return Some(String::new()) };
    let uid = uid.as_str().ok().filter(|uid| !uid.is_empty())?;
    uids.next().is_none().then(|| uid.to_owned())
}

/// When all certificates of the chain are valid. Ones that cannot be read narrow it to nothing.
fn validity(chain: &[CertificateDer<'_>]) -> (SystemTime, SystemTime) {
    let far = SystemTime::UNIX_EPOCH + Duration::from_secs(u32::MAX.into());
    chain.iter().fold((SystemTime::UNIX_EPOCH, far), |(from, until), certificate| {
        match X509Certificate::from_der(certificate) {
            Ok((_, parsed)) => {
                let validity = parsed.validity();
                (from.max(at(validity.not_before.timestamp())), until.min(at(validity.not_after.timestamp())))
            }
            Err(_) => (from, SystemTime::UNIX_EPOCH),
        }
    })
}

fn at(timestamp: i64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(u64::try_from(timestamp).unwrap_or(0).min(u32::MAX.into()))
}

/// The certificate's subject for a log line.
fn describe(certificate: &CertificateDer<'_>) -> String {
    match X509Certificate::from_der(certificate) {
        Ok((_, parsed)) => pintle_meta::quote(&parsed.subject().to_string()),
        Err(_) => "that cannot be parsed".into(),
    }
}

#[cfg(test)]
#[path = "x509_tests.rs"]
mod tests;
