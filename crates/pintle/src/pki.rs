//! Certificates for a server that was given none: an authority of its own, a serving certificate, and one for the
//! administrator.
//!
//! Everything lives in one directory and is made only where it is missing, names have changed, or the end is near, so
//! that a kubeconfig handed out once goes on working:
//!
//! ```text
//! pintle-ca.crt, pintle-ca.key   the certificate authority; valid for ten years
//! apiserver.crt, apiserver.key   what is served; foreign files found here are served and never touched
//! admin.crt, admin.key           CN=kubernetes-admin, O=system:masters
//! pintle-sa.key                  signs service account tokens, see `service_accounts`
//! ```
//!
//! The authority has a file name of its own: a directory may hold a cluster's `ca.key`, which is not ours to sign with.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Context, anyhow, bail};
use pintle_auth::PRIVILEGED_GROUP;
use pintle_runtime::Clock;
use pintle_server::tls::{KeyPairFiles, read_certificates};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, PublicKeyData, SanType,
};
use time::OffsetDateTime;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer, X509Certificate};

use crate::files::{private_directory, write_private, write_public};

const DAY: Duration = Duration::from_secs(24 * 3600);
const AUTHORITY_LIFE: Duration = Duration::from_secs(3650 * 24 * 3600);
const LEAF_LIFE: Duration = Duration::from_secs(365 * 24 * 3600);
/// Certificates that expire sooner than this are issued anew.
const RENEW_BEFORE: Duration = Duration::from_secs(30 * 24 * 3600);
/// Clocks differ.
const BACKDATE: Duration = Duration::from_secs(3600);

/// The names and addresses under which the server is called.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Names {
    pub(crate) dns: Vec<String>,
    pub(crate) addresses: Vec<IpAddr>,
}

/// A directory of certificates.
#[derive(Clone, Debug)]
pub(crate) struct Pki {
    directory: PathBuf,
}

impl Pki {
    pub(crate) fn new(directory: PathBuf) -> Pki {
        Pki { directory }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    pub(crate) fn authority(&self) -> PathBuf {
        self.path("pintle-ca.crt")
    }

    pub(crate) fn authority_key(&self) -> PathBuf {
        self.path("pintle-ca.key")
    }

    pub(crate) fn serving(&self) -> KeyPairFiles {
        self.pair("apiserver")
    }

    pub(crate) fn admin(&self) -> KeyPairFiles {
        self.pair("admin")
    }

    fn pair(&self, name: &str) -> KeyPairFiles {
        KeyPairFiles {
            certificate: self.path(&format!("{name}.crt")),
            key: self.path(&format!("{name}.key")),
        }
    }

    /// Returns whether the directory has a serving certificate that this server did not make.
    pub(crate) fn has_foreign_serving(&self) -> bool {
        let KeyPairFiles { certificate, key } = self.serving();
        certificate.exists() && key.exists() && !self.is_ours(&certificate)
    }

    /// Makes sure that there is a serving certificate for these names.
    pub(crate) fn ensure_serving(&self, names: &Names) -> anyhow::Result<()> {
        let pair = self.serving();
        if self.has_foreign_serving() || self.is_good(&pair, names) {
            return Ok(());
        }
        // Files of others are not overwritten, not even half a pair.
        let is_replaceable = match (pair.certificate.exists(), pair.key.exists()) {
            (true, _) => self.is_ours(&pair.certificate),
            (false, has_key) => !has_key,
        };
        if !is_replaceable {
            let (certificate, key) = (pair.certificate.display(), pair.key.display());
            bail!("of {certificate} and {key} there is only one; a certificate is served with its key");
        }
        let mut params = leaf("kube-apiserver", ExtendedKeyUsagePurpose::ServerAuth);
        for name in &names.dns {
            let name = name.as_str().try_into().with_context(|| format!("{name:?} is not a DNS name"))?;
            params.subject_alt_names.push(SanType::DnsName(name));
        }
        params.subject_alt_names.extend(names.addresses.iter().copied().map(SanType::IpAddress));
        self.issue(&pair, &params)
    }

    /// Makes sure that there is a certificate for the administrator.
    pub(crate) fn ensure_admin(&self) -> anyhow::Result<()> {
        let pair = self.admin();
        if self.is_good(&pair, &Names::default()) {
            return Ok(());
        }
        let mut params = leaf("kubernetes-admin", ExtendedKeyUsagePurpose::ClientAuth);
        params.distinguished_name.push(DnType::OrganizationName, PRIVILEGED_GROUP);
        self.issue(&pair, &params)
    }

    fn issue(&self, pair: &KeyPairFiles, params: &CertificateParams) -> anyhow::Result<()> {
        let issuer = self.issuer()?;
        let key = KeyPair::generate().context("cannot make a key")?;
        let certificate = params.signed_by(&key, &issuer).context("cannot sign a certificate")?;
        // With the authority's certificate, so that clients that trust the served chain can verify others of it.
        let authority = std::fs::read_to_string(self.authority()).unwrap_or_default();
        // The certificate first: one of ours without its key is known as ours, and is made anew.
        write_public(&pair.certificate, format!("{}{authority}", certificate.pem()).as_bytes())?;
        write_private(&pair.key, key.serialize_pem().as_bytes())
    }

    /// The authority that is there, or a new one.
    fn issuer(&self) -> anyhow::Result<Issuer<'static, KeyPair>> {
        let (certificate, key) = (self.authority(), self.authority_key());
        match (certificate.exists(), key.exists()) {
            (true, true) => Issuer::from_ca_cert_pem(&read(&certificate)?, read_key(&key)?)
                .map_err(|_| cannot_sign(&certificate)),
            (true, false) => Err(anyhow!(
                "{} is there without its key pintle-ca.key, so nothing can be signed",
                certificate.display()
            )),
            // Left by a start that was cut short, or put there by an administrator: it is used and not replaced.
            (false, true) => self.new_authority(&certificate, read_key(&key)?),
            (false, false) => {
                let key_pair = KeyPair::generate().context("cannot make a key")?;
                private_directory(&self.directory)?;
                write_private(&key, key_pair.serialize_pem().as_bytes())?;
                self.new_authority(&certificate, key_pair)
            }
        }
    }

    fn new_authority(
        &self,
        certificate: &Path,
        key_pair: KeyPair,
    ) -> anyhow::Result<Issuer<'static, KeyPair>> {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "pintle-ca");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages =
            vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign, KeyUsagePurpose::DigitalSignature];
        lasts(&mut params, AUTHORITY_LIFE);
        let authority = params.self_signed(&key_pair).context("cannot sign a certificate")?;
        write_public(certificate, authority.pem().as_bytes())?;
        Ok(Issuer::new(params, key_pair))
    }

    /// Whether our authority signed it.
    fn is_ours(&self, certificate: &Path) -> bool {
        let (Ok(chain), Ok(authority)) =
            (read_certificates(certificate), read_certificates(&self.authority()))
        else {
            return false;
        };
        let parse = |der| X509Certificate::from_der(der).ok().map(|(_, certificate)| certificate);
        match (parse(&chain[0]), parse(&authority[0])) {
            (Some(leaf), Some(authority)) => leaf.verify_signature(Some(authority.public_key())).is_ok(),
            _ => false,
        }
    }

    /// Returns whether a certificate is ours, fits its key, lasts for a while and has all these names.
    fn is_good(&self, pair: &KeyPairFiles, names: &Names) -> bool {
        let Ok(chain) = read_certificates(&pair.certificate) else { return false };
        let Ok((_, leaf)) = X509Certificate::from_der(&chain[0]) else { return false };
        let fits =
            read_key(&pair.key).is_ok_and(|key| key.subject_public_key_info() == leaf.public_key().raw);
        let left = u64::try_from(leaf.validity().not_after.timestamp()).ok().and_then(|end| {
            (SystemTime::UNIX_EPOCH + Duration::from_secs(end)).duration_since(Clock::system().now()).ok()
        });
        fits && left.is_some_and(|left| left > RENEW_BEFORE)
            && self.is_ours(&pair.certificate)
            && covers(&leaf, names)
    }
}

/// How often certificates are checked for their expiry.
pub(crate) const RENEWAL_INTERVAL: Duration = DAY;

fn read(path: &Path) -> anyhow::Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

fn read_key(path: &Path) -> anyhow::Result<KeyPair> {
    // The reason is left out on purpose: a parser's message could repeat what it read.
    KeyPair::from_pem(&read(path)?).map_err(|_| cannot_sign(path))
}

fn cannot_sign(path: &Path) -> anyhow::Error {
    let path = path.display();
    anyhow!(
        "{path} cannot be used to sign certificates; remove pintle-ca.crt and pintle-ca.key to get new ones"
    )
}

fn leaf(common_name: &str, usage: ExtendedKeyUsagePurpose) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, common_name);
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyEncipherment];
    params.extended_key_usages = vec![usage];
    params.use_authority_key_identifier_extension = true;
    lasts(&mut params, LEAF_LIFE);
    params
}

fn lasts(params: &mut CertificateParams, life: Duration) {
    let now = OffsetDateTime::now_utc();
    params.not_before = now - BACKDATE;
    params.not_after = now + life;
}

fn covers(certificate: &X509Certificate<'_>, names: &Names) -> bool {
    let alternative = certificate.subject_alternative_name().ok().flatten();
    let present = alternative.map(|extension| extension.value.general_names.as_slice()).unwrap_or_default();
    let has_name = |wanted: &String| {
        present.iter().any(|name| matches!(name, GeneralName::DNSName(dns) if dns == wanted))
    };
    let has_address = |wanted: &IpAddr| {
        let bytes = match wanted {
            IpAddr::V4(address) => address.octets().to_vec(),
            IpAddr::V6(address) => address.octets().to_vec(),
        };
        present.iter().any(|name| matches!(name, GeneralName::IPAddress(present) if *present == bytes))
    };
    names.dns.iter().all(has_name) && names.addresses.iter().all(has_address)
}

#[cfg(test)]
#[path = "pki_tests.rs"]
mod tests;
