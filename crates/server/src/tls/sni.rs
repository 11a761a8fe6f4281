//! Which certificate a client gets, by the name it asks for.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer, X509Certificate};

/// A certificate with the names it is served for.
pub struct NamedCertificate {
    key: Arc<CertifiedKey>,
    names: Vec<String>,
}

impl NamedCertificate {
    /// Without names, those of the certificate itself count.
    pub fn new(key: Arc<CertifiedKey>, names: Vec<String>) -> NamedCertificate {
        let names = if names.is_empty() { names_of(&key) } else { names };
        NamedCertificate { key, names: names.into_iter().map(|name| name.to_ascii_lowercase()).collect() }
    }
}

pub(super) struct Resolver {
    default: Arc<CertifiedKey>,
    /// `*.example.com` stands for one label in front, as everywhere in TLS.
    by_name: HashMap<String, Arc<CertifiedKey>>,
}

impl Resolver {
    /// Where two certificates have a name in common, the first one gets it.
    pub(super) fn new(default: Arc<CertifiedKey>, named: Vec<NamedCertificate>) -> Resolver {
        let mut by_name = HashMap::new();
        for certificate in named {
            for name in certificate.names {
                by_name.entry(name).or_insert_with(|| certificate.key.clone());
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

/// The DNS names of a certificate; its common name if it has none.
fn names_of(key: &CertifiedKey) -> Vec<String> {
    let Some(Ok((_, certificate))) = key.cert.first().map(|leaf| X509Certificate::from_der(leaf)) else {
        return Vec::new();
    };
    let names: Vec<String> = certificate
        .subject_alternative_name()
        .ok()
        .flatten()
        .map(|extension| &extension.value.general_names)
        .into_iter()
        .flatten()
        .filter_map(|name| match name {
            GeneralName::DNSName(name) => Some((*name).to_owned()),
            _ => None,
        })
        .collect();
    if !names.is_empty() {
        return names;
    }
    certificate
        .subject()
        .iter_common_name()
        .filter_map(|name| name.as_str().ok())
        .map(str::to_owned)
        .collect()
}
