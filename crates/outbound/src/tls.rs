//! TLS of outbound connections: trusted roots and client certificates.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use pintle_meta::time::Time;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, InvalidMessage, RootCertStore, SignatureScheme,
};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use x509_parser::prelude::{FromDer, X509Certificate};

use crate::Failure;

/// Where PEM text is.
#[derive(Clone, PartialEq, Eq)]
pub enum Material {
    /// In hand.
    Text(Vec<u8>),
    /// In a file, which is read again when it changes.
    File(PathBuf),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Roots {
    /// The roots of the machine.
    #[default]
    System,
    Bundle(Material),
}

/// A client certificate and its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyPair {
    pub certificate: Material,
    pub key: Material,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsOptions {
    pub roots: Roots,
    pub key_pair: Option<KeyPair>,
    /// The name that the server must have, instead of the host that is called.
    pub server_name: Option<String>,
    /// Accept any server's certificate (`insecure-skip-tls-verify`).
    pub skip_verification: bool,
    /// Never offer HTTP/2, whose one connection would keep all requests at one of many servers.
    pub http1_only: bool,
}

/// Why certificates cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SetupError(pub(crate) String);

impl fmt::Debug for Material {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // It may be a key.
            Material::Text(text) => write!(f, "{} bytes", text.len()),
            Material::File(path) => write!(f, "{}", path.display()),
        }
    }
}

impl Material {
    fn read(&self) -> Result<Vec<u8>, SetupError> {
        match self {
            Material::Text(text) => Ok(text.clone()),
            Material::File(path) => read_file(path),
        }
    }

    fn modified(&self) -> Stamp {
        match self {
            Material::Text(_) => None,
            Material::File(path) => {
                let metadata = std::fs::metadata(path).ok()?;
                Some((metadata.modified().ok()?, metadata.len()))
            }
        }
    }
}

pub(crate) fn read_file(path: &Path) -> Result<Vec<u8>, SetupError> {
    std::fs::read(path).map_err(|error| SetupError(format!("open {}: {}", path.display(), reason(&error))))
}

/// As Go says it.
pub(crate) fn reason(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "no such file or directory".into(),
        std::io::ErrorKind::PermissionDenied => "permission denied".into(),
        std::io::ErrorKind::IsADirectory => "is a directory".into(),
        _ => error.to_string(),
    }
}

/// The configuration for new connections, made again when one of its files has changed.
pub(crate) struct Tls {
    pub(crate) options: TlsOptions,
    current: Mutex<Option<(Vec<Stamp>, Arc<ClientConfig>)>>,
}

/// When a file was last changed, and how long it is.
type Stamp = Option<(SystemTime, u64)>;

impl Tls {
    pub(crate) fn new(options: TlsOptions) -> Result<Tls, SetupError> {
        let tls = Tls { options, current: Mutex::new(None) };
        tls.current()?;
        Ok(tls)
    }

    /// If changed files are broken, what was read before stays.
    pub(crate) fn current(&self) -> Result<Arc<ClientConfig>, SetupError> {
        let stamps = self.stamps();
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let old = match &*current {
            Some((of, config)) if *of == stamps => return Ok(config.clone()),
            Some((_, config)) => Some(config.clone()),
            None => None,
        };
        match (configure(&self.options), old) {
            (Ok(config), _) => {
                let config = Arc::new(config);
                *current = Some((stamps, config.clone()));
                Ok(config)
            }
            (Err(error), Some(old)) => {
                tracing::error!(%error, "certificates of a client changed on disk and cannot be used, the old ones stay");
                Ok(old)
            }
            (Err(error), None) => Err(error),
        }
    }

    fn stamps(&self) -> Vec<Stamp> {
        let mut stamps = Vec::new();
        if let Roots::Bundle(bundle) = &self.options.roots {
            stamps.push(bundle.modified());
        }
        if let Some(pair) = &self.options.key_pair {
            stamps.extend([pair.certificate.modified(), pair.key.modified()]);
        }
        stamps
    }
}

fn configure(options: &TlsOptions) -> Result<ClientConfig, SetupError> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| SetupError(error.to_string()))?;
    let verifier: Arc<dyn ServerCertVerifier> = if options.skip_verification {
        Arc::new(AnyCertificate(provider))
    } else {
        Arc::new(Verifier::new(&options.roots, provider)?)
    };
    let builder = builder.dangerous().with_custom_certificate_verifier(verifier);
    let mut config = match &options.key_pair {
        Some(pair) => {
            let chain: Result<Vec<_>, _> =
                CertificateDer::pem_slice_iter(&pair.certificate.read()?).collect();
            let chain = chain
                .ok()
                .filter(|chain| !chain.is_empty())
                .ok_or_else(|| SetupError("tls: failed to find any PEM data in certificate input".into()))?;
            let key = PrivateKeyDer::from_pem_slice(&pair.key.read()?)
                .map_err(|_| SetupError("tls: failed to find any PEM data in key input".into()))?;
            builder
                .with_client_auth_cert(chain, key)
                .map_err(|_| SetupError("tls: private key does not match public key".into()))?
        }
        None => builder.with_no_client_auth(),
    };
    config.alpn_protocols = if options.http1_only {
        vec![b"http/1.1".to_vec()]
    } else {
        vec![b"h2".to_vec(), b"http/1.1".to_vec()]
    };
    Ok(config)
}

/// Accepts chains that webpki accepts, and certificates that are roots themselves: a webhook's is often self-signed, and says
/// that it is an authority.
#[derive(Debug)]
struct Verifier {
    inner: Arc<WebPkiServerVerifier>,
    authorities: Arc<RootCertStore>,
    trusted: Vec<CertificateDer<'static>>,
}

impl Verifier {
    fn new(roots: &Roots, provider: Arc<CryptoProvider>) -> Result<Verifier, SetupError> {
        let (trusted, own) = match roots {
            Roots::System => (system_roots(), false),
            Roots::Bundle(bundle) => {
                let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&bundle.read()?).collect();
                let found = found.ok().filter(|found| !found.is_empty());
                (
                    found.ok_or_else(|| {
                        SetupError(
                            "unable to load root certificates: unable to parse bytes as PEM block".into(),
                        )
                    })?,
                    true,
                )
            }
        };
        let mut store = RootCertStore::empty();
        let (added, _) = store.add_parsable_certificates(trusted.iter().cloned());
        if own && added == 0 {
            return Err(SetupError(
                "unable to load root certificates: no certificate of the bundle can be used".into(),
            ));
        }
        if store.is_empty() {
            return Err(SetupError(
                "the system has no root certificates (SSL_CERT_FILE may name some)".into(),
            ));
        }
        let authorities = Arc::new(store);
        let inner = WebPkiServerVerifier::builder_with_provider(authorities.clone(), provider)
            .build()
            .map_err(|error| SetupError(error.to_string()))?;
        // The machine's are authorities, none of them a server.
        Ok(Verifier { inner, authorities, trusted: if own { trusted } else { Vec::new() } })
    }

    /// Returns whether a certificate names one of the authorities as its issuer.
    fn is_issuer_known(&self, leaf: &CertificateDer<'_>) -> bool {
        let Ok((_, leaf)) = X509Certificate::from_der(leaf) else { return false };
        // An authority's name comes without the header of its sequence, which is of two to five bytes.
        let issuer = leaf.issuer().as_raw();
        self.authorities.roots.iter().any(|root| {
            let header = issuer.len().saturating_sub(root.subject.len());
            (2..=5).contains(&header) && issuer.ends_with(root.subject.as_ref())
        })
    }

    fn is_trusted_itself(&self, leaf: &CertificateDer<'_>, name: &ServerName<'_>, now: UnixTime) -> bool {
        let seconds = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
        self.trusted.iter().any(|trusted| trusted == leaf)
            && webpki::EndEntityCert::try_from(leaf)
                .is_ok_and(|leaf| leaf.verify_is_valid_for_subject_name(name).is_ok())
            && X509Certificate::from_der(leaf).is_ok_and(|(_, leaf)| {
                let validity = leaf.validity();
                (validity.not_before.timestamp()..=validity.not_after.timestamp()).contains(&seconds)
            })
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        leaf: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let verified = self.inner.verify_server_cert(leaf, intermediates, name, ocsp, now);
        match verified {
            Err(_) if self.is_trusted_itself(leaf, name, now) => Ok(ServerCertVerified::assertion()),
            // webpki looks at what a certificate is for before it looks for the issuer.
            Err(error) if is_authority(&error) && !self.is_issuer_known(leaf) => {
                Err(CertificateError::UnknownIssuer.into())
            }
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.inner.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.inner.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}

/// Returns whether a server was refused because its certificate is one of an authority.
fn is_authority(error: &rustls::Error) -> bool {
    let rustls::Error::InvalidCertificate(CertificateError::Other(error)) = error else { return false };
    matches!(error.0.downcast_ref(), Some(webpki::Error::CaUsedAsEndEntity))
}

/// Accepts any certificate whose key the server has: `insecure-skip-tls-verify`, and servers that make their own
/// certificates.
#[derive(Debug)]
pub struct AnyCertificate(Arc<CryptoProvider>);

impl AnyCertificate {
    pub fn new(provider: Arc<CryptoProvider>) -> AnyCertificate {
        AnyCertificate(provider)
    }
}

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// Where Go looks: the first file that is there, and the directories.
fn system_roots() -> Vec<CertificateDer<'static>> {
    const FILES: [&str; 6] = [
        "/etc/ssl/certs/ca-certificates.crt",
        "/etc/pki/tls/certs/ca-bundle.crt",
        "/etc/ssl/ca-bundle.pem",
        "/etc/pki/tls/cacert.pem",
        "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
        "/etc/ssl/cert.pem",
    ];
    const DIRECTORIES: [&str; 2] = ["/etc/ssl/certs", "/etc/pki/tls/certs"];
    let mut found = Vec::new();
    let files = std::env::var_os("SSL_CERT_FILE").filter(|file| !file.is_empty());
    let files: Vec<PathBuf> =
        files.map_or_else(|| FILES.iter().map(PathBuf::from).collect(), |file| vec![PathBuf::from(file)]);
    if let Some(text) = files.iter().find_map(|file| std::fs::read(file).ok()) {
        found.extend(CertificateDer::pem_slice_iter(&text).flatten());
    }
    let directories = std::env::var_os("SSL_CERT_DIR").filter(|directories| !directories.is_empty());
    // The usual directories hold what the file holds.
    let directories: Vec<PathBuf> = match directories {
        Some(directories) => std::env::split_paths(&directories).collect(),
        None if found.is_empty() => DIRECTORIES.iter().map(PathBuf::from).collect(),
        None => Vec::new(),
    };
    for entry in
        directories.iter().filter_map(|directory| std::fs::read_dir(directory).ok()).flatten().flatten()
    {
        if let Ok(text) = std::fs::read(entry.path()) {
            found.extend(CertificateDer::pem_slice_iter(&text).flatten());
        }
    }
    found
}

/// A failed handshake in Go's words.
pub(crate) fn failure(error: &rustls::Error) -> Failure {
    let unverified = |why: &str| Failure::Tls(format!("tls: failed to verify certificate: x509: {why}"));
    match error {
        error if is_authority(error) => {
            unverified("certificate is that of an authority, which cannot be a server's")
        }
        rustls::Error::InvalidCertificate(error) => match error {
            CertificateError::UnknownIssuer => unverified("certificate signed by unknown authority"),
            CertificateError::ExpiredContext { time, not_after } => unverified(&format!(
                "certificate has expired or is not yet valid: current time {} is after {}",
                timestamp(*time),
                timestamp(*not_after)
            )),
            CertificateError::NotValidYetContext { time, not_before } => unverified(&format!(
                "certificate has expired or is not yet valid: current time {} is before {}",
                timestamp(*time),
                timestamp(*not_before)
            )),
            CertificateError::NotValidForNameContext { expected, presented } => {
                unverified(&wrong_name(expected, presented))
            }
            CertificateError::InvalidPurposeContext { .. } => {
                unverified("certificate specifies an incompatible key usage")
            }
            error => unverified(&error.to_string()),
        },
        rustls::Error::InvalidMessage(InvalidMessage::InvalidContentType) => Failure::NotTls,
        rustls::Error::AlertReceived(alert) => {
            Failure::Tls(format!("remote error: tls: {}", alert_text(&format!("{alert:?}"))))
        }
        error => Failure::Tls(format!("tls: {error}")),
    }
}

fn timestamp(time: UnixTime) -> String {
    Time::from_unix(i64::try_from(time.as_secs()).unwrap_or(i64::MAX), 0).to_string()
}

fn wrong_name(expected: &ServerName<'_>, presented: &[String]) -> String {
    // They come as `DnsName("a")` and `IpAddress(1.2.3.4)`.
    let bare = |kind: &str| -> Vec<String> {
        let strip = |name: &String| {
            let inner = name.strip_prefix(kind)?.strip_prefix('(')?.strip_suffix(')')?;
            Some(inner.trim_matches('"').to_owned())
        };
        presented.iter().filter_map(strip).collect()
    };
    match expected {
        ServerName::IpAddress(address) => {
            let address = std::net::IpAddr::from(*address);
            match bare("IpAddress").as_slice() {
                [] => format!(
                    "cannot validate certificate for {address} because it doesn't contain any IP SANs"
                ),
                names => format!("certificate is valid for {}, not {address}", names.join(", ")),
            }
        }
        expected => {
            let expected = expected.to_str();
            match bare("DnsName").as_slice() {
                [] => format!("certificate is not valid for any names, but wanted to match {expected}"),
                names => format!("certificate is valid for {}, not {expected}", names.join(", ")),
            }
        }
    }
}

/// By the alert's name.
pub(crate) fn alert_text(alert: &str) -> &str {
    match alert {
        "BadCertificate" => "bad certificate",
        "CertificateRequired" => "certificate required",
        "CertificateExpired" => "expired certificate",
        "CertificateUnknown" => "unknown certificate",
        "UnknownCA" => "unknown certificate authority",
        "HandshakeFailure" => "handshake failure",
        "ProtocolVersion" => "protocol version not supported",
        "UnrecognisedName" => "unrecognized name",
        "InternalError" => "internal error",
        "AccessDenied" => "access denied",
        alert => alert,
    }
}
