//! Client certificates at the handshake: asked for, never required, and none is refused.
//!
//! Only the proof that the client holds the key is checked here. Whether the certificate is worth anything is the
//! authenticator's question, which can answer 401 where a handshake could only break the connection.

use std::sync::Arc;

use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{CryptoProvider, verify_tls13_signature_with_raw_key};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{CertificateError, DigitallySignedStruct, DistinguishedName, Error, SignatureScheme};
use rustls_pki_types::{CertificateDer, SubjectPublicKeyInfoDer, UnixTime};
use webpki::RawPublicKeyEntity;
use x509_parser::prelude::{FromDer, X509Certificate};

#[derive(Debug)]
pub(super) struct AnyCertificate {
    provider: Arc<CryptoProvider>,
    hints: Vec<DistinguishedName>,
}

impl AnyCertificate {
    pub(super) fn new(provider: Arc<CryptoProvider>, authorities: &[CertificateDer<'_>]) -> AnyCertificate {
        let subject = |authority: &CertificateDer<'_>| {
            let (_, parsed) = X509Certificate::from_der(authority).ok()?;
            Some(DistinguishedName::from(parsed.subject().as_raw().to_vec()))
        };
        AnyCertificate { provider, hints: authorities.iter().filter_map(subject).collect() }
    }
}

impl ClientCertVerifier for AnyCertificate {
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &self.hints
    }

    fn verify_client_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        // rustls offers this for whole certificates only, and only for those of version 3.
        let key = public_key(certificate)?;
        let key = RawPublicKeyEntity::try_from(&key).map_err(|_| bad_encoding())?;
        let algorithms = &self.provider.signature_verification_algorithms;
        let fitting = algorithms.mapping.iter().filter(|(scheme, _)| *scheme == signature.scheme);
        let mut fitting = fitting.flat_map(|(_, algorithms)| algorithms.iter());
        if fitting.any(|algorithm| key.verify_signature(*algorithm, message, signature.signature()).is_ok()) {
            Ok(HandshakeSignatureValid::assertion())
        } else {
            Err(CertificateError::BadSignature.into())
        }
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature_with_raw_key(message, &public_key(certificate)?, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// The key of a certificate of whatever version, with whatever else is in it.
fn public_key(certificate: &CertificateDer<'_>) -> Result<SubjectPublicKeyInfoDer<'static>, Error> {
    let (_, parsed) = X509Certificate::from_der(certificate).map_err(|_| bad_encoding())?;
    Ok(parsed.public_key().raw.to_vec().into())
}

fn bad_encoding() -> Error {
    CertificateError::BadEncoding.into()
}
