//! X.509 client certificates: the common name is the user, the organizations are the groups.
//!
//! The TLS handshake lets any certificate pass, so trust, usage and validity are all judged here, and a bad one is
//! answered with 401 instead of a broken connection. Verifying a chain costs more than the rest of a small request, so
//! the outcome is kept with the connection, for as long as the certificates are valid and the roots are the same.

use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};
use std::time::SystemTime;

use async_trait::async_trait;
use rustls_pki_types::CertificateDer;
use x509_parser::prelude::{FromDer, X509Certificate};

use super::{Authenticator, Credentials, Error, Identity};
use crate::User;

mod bundle;
mod roots;

pub use bundle::merge_bundles;
pub use roots::RootError;
use roots::{Roots, Validity};

/// The object identifier under which a subject carries the user's uid.
const UID_OID: &str = "1.3.6.1.4.1.57683.2";

/// Accepts certificates that chain up to one of its roots, which can be replaced while it is in use.
pub struct ClientCertificates {
    roots: RwLock<Arc<Roots>>,
    /// Whether a subject may name the user's uid (`AllowParsingUserUIDFromCertAuth`).
    reads_uid: bool,
    /// Told how many seconds the certificate of a request has left.
    observer: Option<Observer>,
}

/// See [`ClientCertificates::observed_by`].
type Observer = Arc<dyn Fn(f64) + Send + Sync>;

/// The certificates of a TLS handshake, leaf first. The client has proven to hold the key; nothing else is verified.
#[derive(Default)]
pub struct PeerCertificates {
    chain: Vec<CertificateDer<'static>>,
    /// When the leaf ends, in seconds since 1970; read when it is asked for.
    end: OnceLock<Option<i64>>,
    /// One for each set of roots that vouched for it: clients' and front proxies' are not the same.
    verified: Mutex<Vec<Verified>>,
}

/// Number of sets of roots whose outcome is cached.
const MOST_VERIFIED: usize = 2;

impl PeerCertificates {
    pub fn new(chain: Vec<CertificateDer<'static>>) -> PeerCertificates {
        PeerCertificates { chain, end: OnceLock::new(), verified: Mutex::default() }
    }

    pub fn is_empty(&self) -> bool {
        self.chain.is_empty()
    }

    /// How many seconds the leaf has left.
    fn remaining(&self, now: SystemTime) -> Option<f64> {
        let read = || {
            let (_, leaf) = X509Certificate::from_der(self.chain.first()?).ok()?;
            Some(leaf.validity().not_after.timestamp())
        };
        let end = (*self.end.get_or_init(read))? as f64;
        Some(end - now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs_f64())
    }

    fn known(&self, roots: &Arc<Roots>, now: SystemTime) -> Option<Verified> {
        let known = self.verified.lock().unwrap_or_else(PoisonError::into_inner);
        known.iter().find(|known| known.still_holds(roots, now)).cloned()
    }

    fn keep(&self, fresh: Verified) {
        let mut known = self.verified.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|known| !Arc::ptr_eq(&known.roots, &fresh.roots));
        if known.len() >= MOST_VERIFIED {
            known.remove(0);
        }
        known.push(fresh);
    }
}

/// The result of a verification, and how long it holds.
#[derive(Clone)]
pub(super) struct Verified {
    /// The user of the subject; `None` if it has no common name.
    pub(super) user: Option<Arc<User>>,
    /// The roots it was verified with. Held, so that the comparison by address is sound.
    roots: Arc<Roots>,
    valid: Validity,
}

impl Verified {
    /// Whether it still holds: the same roots, and within the validity of every certificate sent.
    fn still_holds(&self, roots: &Arc<Roots>, now: SystemTime) -> bool {
        self.valid.contains(now) && Arc::ptr_eq(&self.roots, roots)
    }
}

impl ClientCertificates {
    pub fn new(roots: &[CertificateDer<'static>], reads_uid: bool) -> Result<ClientCertificates, RootError> {
        Ok(ClientCertificates { roots: RwLock::new(Arc::new(Roots::new(roots)?)), reads_uid, observer: None })
    }

    /// Returns the same with an observer, called for each request with a certificate with the seconds until that expires.
    #[must_use]
    pub fn observed_by(mut self, observer: Observer) -> ClientCertificates {
        self.observer = Some(observer);
        self
    }

    /// Trusts these roots from the next request on, and only these.
    pub fn replace(&self, roots: &[CertificateDer<'static>]) -> Result<(), RootError> {
        let roots = Arc::new(Roots::new(roots)?);
        *self.roots.write().unwrap_or_else(PoisonError::into_inner) = roots;
        Ok(())
    }

    fn current(&self) -> Arc<Roots> {
        self.roots.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Verifies the certificates of a client; `None` if it sent none.
    pub(super) fn certified(
        &self,
        certificates: &PeerCertificates,
        now: SystemTime,
    ) -> Result<Option<Verified>, Error> {
        if certificates.is_empty() {
            return Ok(None);
        }
        let roots = self.current();
        if let Some(known) = certificates.known(&roots, now) {
            return Ok(Some(known));
        }
        let fresh = self.verify(&certificates.chain, roots, now)?;
        certificates.keep(fresh.clone());
        Ok(Some(fresh))
    }

    /// Judges a chain, leaf first.
    fn verify(
        &self,
        chain: &[CertificateDer<'_>],
        roots: Arc<Roots>,
        now: SystemTime,
    ) -> Result<Verified, Error> {
        let Some(leaf) = chain.first() else { return Err(Error::Refused("there is no certificate".into())) };
        let fail = |reason: String| Error::Certificate { certificate: describe(leaf), reason };
        let valid = roots.verify(chain, now).map_err(fail)?;
        let (_, parsed) = X509Certificate::from_der(leaf).map_err(|error| fail(error.to_string()))?;
        let user = self.user_of(&parsed).map_err(|reason| fail(reason.into()))?;
        Ok(Verified { user: user.map(|user| Arc::new(user.authenticated())), roots, valid })
    }

    /// Returns the user of the subject; `None` if it has no common name.
    fn user_of(&self, certificate: &X509Certificate<'_>) -> Result<Option<User>, &'static str> {
        let subject = certificate.subject();
        // The last that is a text counts.
        let name =
            subject.iter_common_name().filter_map(|name| name.as_str().ok()).last().unwrap_or_default();
        if name.is_empty() {
            return Ok(None);
        }
        let name = name.to_owned();
        let groups =
            subject.iter_organization().filter_map(|group| group.as_str().ok()).map(str::to_owned).collect();
        let uid = if self.reads_uid {
            uid_of(certificate).ok_or("the subject has an empty uid, or more than one")?
        } else {
            String::new()
        };
        let mut user = User { name, uid, groups, ..User::default() };
        // Lets an audit trail tell two certificates of one user apart, and a revocation name one of them.
        let fingerprint = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, certificate.as_raw());
        let hex: String = fingerprint.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        user.extra
            .insert("authentication.kubernetes.io/credential-id".into(), vec![format!("X509SHA256={hex}")]);
        Ok(Some(user))
    }
}

#[async_trait]
impl Authenticator for ClientCertificates {
    async fn authenticate(&self, credentials: Credentials<'_>) -> Result<Option<Identity>, Error> {
        if let Some(observer) = &self.observer
            && let Some(remaining) = credentials.certificates.remaining(credentials.now)
        {
            observer(remaining);
        }
        let verified = self.certified(credentials.certificates, credentials.now)?;
        Ok(verified.and_then(|verified| verified.user).map(Identity::from))
    }
}

/// Returns the UID of the subject, empty if there is none. An error if it has several, or an empty one.
fn uid_of(certificate: &X509Certificate<'_>) -> Option<String> {
    let mut uids =
        certificate.subject().iter_attributes().filter(|part| part.attr_type().to_id_string() == UID_OID);
    let Some(uid) = uids.next() else { return Some(String::new()) };
    let uid = uid.as_str().ok().filter(|uid| !uid.is_empty())?;
    uids.next().is_none().then(|| uid.to_owned())
}

/// Which certificate it is, for a log line. Its subject is whatever a stranger wrote into it, so only the number.
fn describe(certificate: &CertificateDer<'_>) -> String {
    match X509Certificate::from_der(certificate) {
        Ok((_, parsed)) => format!("SN={}", parsed.raw_serial_as_string()),
        Err(_) => "that cannot be parsed".into(),
    }
}

#[cfg(test)]
mod tests;
