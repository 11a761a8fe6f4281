//! TLS as the server speaks it: certificates by server name, any client certificate, everything reloadable.

mod ciphers;
mod client_auth;
mod keys;
mod sni;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

use rustls::ServerConfig;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::sign::CertifiedKey;
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;

pub use ciphers::{CipherError, MinVersion};
pub use sni::NamedCertificate;

/// A certificate and its key on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyPairFiles {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

/// The `--tls-*` flags.
#[derive(Clone, Debug)]
pub struct TlsOptions {
    /// Served when no name fits.
    pub default: KeyPairFiles,
    /// `--tls-sni-cert-key`: with the names it is for; none means those in the certificate.
    pub named: Vec<(KeyPairFiles, Vec<String>)>,
    pub min_version: MinVersion,
    /// Go's names; empty means our choice.
    pub cipher_suites: Vec<String>,
    /// Go's numbers; empty means our choice.
    pub curve_preferences: Vec<i32>,
    pub http2: bool,
    /// The bundles whose subjects are named to clients as acceptable. They only choose by it; nothing is refused.
    pub client_cas: Vec<PathBuf>,
}

impl TlsOptions {
    /// Every file whose change calls for a reload.
    pub fn files(&self) -> Vec<PathBuf> {
        let pairs = std::iter::once(&self.default).chain(self.named.iter().map(|(pair, _)| pair));
        let mut files: Vec<PathBuf> =
            pairs.flat_map(|pair| [pair.certificate.clone(), pair.key.clone()]).collect();
        files.extend(self.client_cas.iter().cloned());
        files
    }
}

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    #[error("{}: {source}", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("{} holds no PEM certificate", .0.display())]
    NoCertificate(PathBuf),
    #[error("{}: {reason}", path.display())]
    BadCertificate { path: PathBuf, reason: String },
    #[error("{} holds no PEM private key", .0.display())]
    NoKey(PathBuf),
    #[error("the private key {} does not fit the certificate {}: {reason}", key.display(), certificate.display())]
    Mismatch { certificate: PathBuf, key: PathBuf, reason: String },
    #[error(transparent)]
    Cipher(#[from] CipherError),
    #[error("TLS cannot be set up: {0}")]
    Config(#[from] rustls::Error),
}

/// The configuration new connections get. Replaced as a whole when a file changes.
pub struct Tls {
    options: TlsOptions,
    provider: Arc<CryptoProvider>,
    current: RwLock<Arc<Configs>>,
}

/// The TLS configurations of connections: by the server's address, where a certificate is for one, else by name.
struct Configs {
    by_name: Arc<ServerConfig>,
    by_address: HashMap<IpAddr, Arc<ServerConfig>>,
}

impl Tls {
    pub fn new(options: TlsOptions) -> Result<Tls, Error> {
        let provider = CryptoProvider {
            cipher_suites: ciphers::suites(&options.cipher_suites, options.min_version)?,
            kx_groups: ciphers::groups(&options.curve_preferences)?,
            ..aws_lc_rs::default_provider()
        };
        let provider = Arc::new(provider);
        let current = RwLock::new(Arc::new(configure(&options, &provider)?));
        Ok(Tls { options, provider, current })
    }

    /// The configuration for a connection to this address of ours. A client that asks for a name gets the certificate of
    /// that name all the same.
    pub fn current(&self, local: IpAddr) -> Arc<ServerConfig> {
        let configs = self.current.read().unwrap_or_else(PoisonError::into_inner);
        configs.by_address.get(&local.to_canonical()).unwrap_or(&configs.by_name).clone()
    }

    /// Reads all files again. On an error the old configuration stays.
    pub fn reload(&self) -> Result<(), Error> {
        let config = Arc::new(configure(&self.options, &self.provider)?);
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = config;
        Ok(())
    }
}

fn configure(options: &TlsOptions, provider: &Arc<CryptoProvider>) -> Result<Configs, Error> {
    let load = |pair: &KeyPairFiles| keys::load(pair, provider);
    let default = load(&options.default)?;
    let mut named = Vec::new();
    for (pair, names) in &options.named {
        named.push(NamedCertificate::new(load(pair)?, names.clone()));
    }
    let mut hints = Vec::new();
    for path in &options.client_cas {
        hints.extend(read_certificates(path)?);
    }
    let verifier = Arc::new(client_auth::AnyCertificate::new(provider.clone(), &hints));
    let with_default = |default: Arc<CertifiedKey>| {
        let mut config = ServerConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(options.min_version.protocol_versions())?
            .with_client_cert_verifier(verifier.clone())
            .with_cert_resolver(Arc::new(sni::Resolver::new(default, &named)));
        config.alpn_protocols = if options.http2 {
            vec![b"h2".to_vec(), b"http/1.1".to_vec()]
        } else {
            vec![b"http/1.1".to_vec()]
        };
        Ok::<_, Error>(Arc::new(config))
    };
    let mut by_address = HashMap::new();
    for certificate in &named {
        for address in certificate.addresses() {
            if let Entry::Vacant(entry) = by_address.entry(address) {
                entry.insert(with_default(certificate.key())?);
            }
        }
    }
    Ok(Configs { by_name: with_default(default)?, by_address })
}

/// All certificates of a PEM file; at least one.
pub fn read_certificates(path: &std::path::Path) -> Result<Vec<CertificateDer<'static>>, Error> {
    let pem = std::fs::read(path).map_err(|source| Error::Read { path: path.into(), source })?;
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    match certificates {
        Ok(certificates) if certificates.is_empty() => Err(Error::NoCertificate(path.into())),
        Ok(certificates) => Ok(certificates),
        Err(error) => Err(Error::BadCertificate { path: path.into(), reason: error.to_string() }),
    }
}

#[cfg(test)]
mod tests;
