//! Certificates for tests: authorities, and what they sign.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use time::OffsetDateTime;

const DAY: Duration = Duration::from_secs(24 * 3600);

/// A certificate and its key, in PEM.
#[derive(Clone)]
pub(crate) struct Identity {
    pub(crate) certificate: String,
    pub(crate) key: String,
}

impl Identity {
    /// Writes `NAME.crt` and `NAME.key`.
    pub(crate) fn write(&self, dir: &Path, name: &str) -> (PathBuf, PathBuf) {
        let (certificate, key) = (dir.join(format!("{name}.crt")), dir.join(format!("{name}.key")));
        std::fs::write(&certificate, &self.certificate).expect("write a certificate");
        std::fs::write(&key, &self.key).expect("write a key");
        (certificate, key)
    }

    pub(crate) fn read(dir: &Path, name: &str) -> Identity {
        let read =
            |end: &str| std::fs::read_to_string(dir.join(format!("{name}.{end}"))).expect("read a PEM file");
        Identity { certificate: read("crt"), key: read("key") }
    }
}

/// Signs certificates.
pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pub(crate) pem: String,
    pub(crate) key_pem: String,
}

impl Authority {
    pub(crate) fn new(name: &str) -> Authority {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let key = KeyPair::generate().expect("a key");
        let pem = params.self_signed(&key).expect("an authority").pem();
        let key_pem = key.serialize_pem();
        Authority { issuer: Issuer::new(params, key), pem, key_pem }
    }

    pub(crate) fn write(&self, dir: &Path, name: &str) -> PathBuf {
        let path = dir.join(name);
        std::fs::write(&path, &self.pem).expect("write an authority");
        path
    }

    /// A client's certificate: the name is the user, the organizations are the groups.
    pub(crate) fn client(&self, name: &str, groups: &[&str]) -> Identity {
        self.sign(client_params(name, groups))
    }

    /// One that ended yesterday.
    pub(crate) fn expired_client(&self, name: &str, groups: &[&str]) -> Identity {
        let mut params = client_params(name, groups);
        params.not_before = OffsetDateTime::now_utc() - 2 * DAY;
        params.not_after = OffsetDateTime::now_utc() - DAY;
        self.sign(params)
    }

    pub(crate) fn server(&self, names: &[&str]) -> Identity {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).expect("names");
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        self.sign(params)
    }

    fn sign(&self, params: CertificateParams) -> Identity {
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate").pem();
        Identity { certificate, key: key.serialize_pem() }
    }
}

fn client_params(name: &str, groups: &[&str]) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    for group in groups {
        params.distinguished_name.push(DnType::OrganizationName, *group);
    }
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    params
}
