//! Which certificate a client gets, by the name it asks for.

use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer, X509Certificate};

/// A certificate with the names it is served for.
pub struct NamedCertificate {
    key: Arc<CertifiedKey>,
    /// Said by the operator, or found in the certificate.
    explicit: bool,
    names: Vec<String>,
}

impl NamedCertificate {
    /// Without names, those of the certificate itself count.
    pub fn new(key: Arc<CertifiedKey>, names: Vec<String>) -> NamedCertificate {
        let explicit = !names.is_empty();
        let names = if explicit { names } else { names_of(&key) };
        NamedCertificate {
            key,
            explicit,
            names: names.into_iter().map(|name| name.to_ascii_lowercase()).collect(),
        }
    }

    /// The addresses among the names. Clients that connect to one send no name, so it is found by the connection.
    pub(super) fn addresses(&self) -> impl Iterator<Item = IpAddr> {
        self.names.iter().filter_map(|name| name.parse().ok())
    }

    pub(super) fn key(&self) -> Arc<CertifiedKey> {
        self.key.clone()
    }
}

pub(super) struct Resolver {
    default: Arc<CertifiedKey>,
    /// `*.example.com` stands for one label in front, as everywhere in TLS.
    by_name: HashMap<String, Arc<CertifiedKey>>,
}

impl Resolver {
    /// Makes a resolver. Of two certificates with a common name, the one that was configured for it gets it, else the first.
    pub(super) fn new(default: Arc<CertifiedKey>, named: &[NamedCertificate]) -> Resolver {
        let mut by_name = HashMap::new();
        let explicit = named.iter().filter(|certificate| certificate.explicit);
        for certificate in explicit.chain(named.iter().filter(|certificate| !certificate.explicit)) {
            for name in &certificate.names {
                by_name.entry(name.clone()).or_insert_with(|| certificate.key.clone());
            }
        }
        Resolver { default, by_name }
    }

    pub(super) fn find(&self, name: &str) -> Arc<CertifiedKey> {
        let name = name.to_ascii_lowercase();
        let name = name.trim_end_matches('.');
        let wildcard = || name.split_once('.').map(|(_, rest)| format!("*.{rest}"));
        self.by_name
            .get(name)
            .or_else(|| wildcard().and_then(|wildcard| self.by_name.get(&wildcard)))
            .unwrap_or(&self.default)
            .clone()
    }
}

impl ResolvesServerCert for Resolver {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(hello.server_name().map_or_else(|| self.default.clone(), |name| self.find(name)))
    }
}

impl fmt::Debug for Resolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resolver").field("names", &self.by_name.keys()).finish_non_exhaustive()
    }
}

/// The names of a certificate: its alternative ones, and its common name where that looks like one.
fn names_of(key: &CertifiedKey) -> Vec<String> {
    let Some(Ok((_, certificate))) = key.cert.first().map(|leaf| X509Certificate::from_der(leaf)) else {
        return Vec::new();
    };
    let mut names: Vec<String> = certificate
        .subject_alternative_name()
        .ok()
        .flatten()
        .map(|extension| &extension.value.general_names)
        .into_iter()
        .flatten()
        .filter_map(|name| match name {
            GeneralName::DNSName(name) => Some((*name).to_owned()),
            GeneralName::IPAddress(bytes) => address(bytes).map(|address| address.to_string()),
            _ => None,
        })
        .collect();
    let common = certificate.subject().iter_common_name().last().and_then(|name| name.as_str().ok());
    let is_name = |name: &&str| {
        !name.is_empty() && !name.contains(|c: char| !c.is_ascii_alphanumeric() && !"-.*".contains(c))
    };
    if let Some(common) = common.filter(is_name)
        && !names.iter().any(|name| name == common)
    {
        names.push(common.to_owned());
    }
    names
}

fn address(bytes: &[u8]) -> Option<IpAddr> {
    match bytes.len() {
        4 => <[u8; 4]>::try_from(bytes).ok().map(IpAddr::from),
        16 => <[u8; 16]>::try_from(bytes).ok().map(IpAddr::from),
        _ => None,
    }
}
