//! Certificates and keys from files.

use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use rustls::sign::CertifiedKey;
use rustls_pki_types::PrivateKeyDer;
use rustls_pki_types::pem::PemObject;

use super::{Error, KeyPairFiles, read_certificates};

/// Reads a pair and checks that the two belong together.
pub(super) fn load(pair: &KeyPairFiles, provider: &CryptoProvider) -> Result<Arc<CertifiedKey>, Error> {
    let chain = read_certificates(&pair.certificate)?;
    let pem = std::fs::read(&pair.key).map_err(|source| Error::Read { path: pair.key.clone(), source })?;
    // The reason is left out on purpose: a parser's message could repeat what it read.
    let key = PrivateKeyDer::from_pem_slice(&pem).map_err(|_| Error::NoKey(pair.key.clone()))?;
    let mismatch = |error: rustls::Error| Error::Mismatch {
        certificate: pair.certificate.clone(),
        key: pair.key.clone(),
        reason: error.to_string(),
    };
    let certified = CertifiedKey::from_der(chain, key, provider).map_err(mismatch)?;
    certified.keys_match().map_err(mismatch)?;
    Ok(Arc::new(certified))
}
