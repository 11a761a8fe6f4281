//! The certificate authorities that sign requests for certificates: those of the flags, or the one that this server made for itself.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, anyhow};
use pintle_auth::certificate_authority::Authority;
use pintle_controllers::{AuthoritySource, CertificateSigners};

use crate::certificates::Certificates;
use crate::options::{AuthorityFiles, Options, StoreOptions};

/// Reads the authorities. On etcd there is none but those of the flags: that of one server is not that of the others.
pub(crate) fn load(options: &Options, certificates: &Certificates) -> anyhow::Result<CertificateSigners> {
    let given = &options.controllers.signing;
    let mut authorities: BTreeMap<&'static str, Arc<dyn AuthoritySource>> = BTreeMap::new();
    for (signer, files) in &given.authorities {
        authorities.insert(
            signer,
            Arc::new(FileAuthority::open(files.clone()).context("--cluster-signing-cert-file")?),
        );
    }
    if authorities.is_empty()
        && matches!(options.store, StoreOptions::Embedded { .. })
        && let Some(files) = certificates.own_authority()
    {
        let own = Arc::new(FileAuthority::open(files)?);
        authorities.extend(
            pintle_controllers::SIGNERS.map(|signer| (signer, own.clone() as Arc<dyn AuthoritySource>)),
        );
    }
    Ok(CertificateSigners { authorities, duration: given.duration })
}

/// An authority in files, which may be other ones at any time.
struct FileAuthority {
    files: AuthorityFiles,
    last: Mutex<Last>,
}

/// The content of the files that could be used last.
struct Last {
    content: Content,
    authority: Arc<Authority>,
}

#[derive(PartialEq, Eq)]
struct Content {
    certificate: Vec<u8>,
    key: Vec<u8>,
}

impl FileAuthority {
    fn open(files: AuthorityFiles) -> anyhow::Result<FileAuthority> {
        let content = Content::read(&files)?;
        let authority = Arc::new(content.authority(&files)?);
        Ok(FileAuthority { files, last: Mutex::new(Last { content, authority }) })
    }
}

impl AuthoritySource for FileAuthority {
    /// Files that cannot be used leave the last authority in its place.
    fn current(&self) -> Arc<Authority> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        match Content::read(&self.files) {
            Ok(content) if content == last.content => {}
            Ok(content) => match content.authority(&self.files) {
                Ok(authority) => *last = Last { content, authority: Arc::new(authority) },
                Err(error) => report(&error),
            },
            Err(error) => report(&error),
        }
        last.authority.clone()
    }
}

fn report(error: &anyhow::Error) {
    tracing::error!(
        "a certificate authority changed on disk and cannot be used, the old one stays: {error:#}"
    );
}

impl Content {
    fn read(files: &AuthorityFiles) -> anyhow::Result<Content> {
        let read =
            |path: &Path| std::fs::read(path).with_context(|| format!("cannot read {}", path.display()));
        Ok(Content { certificate: read(&files.certificate)?, key: read(&files.key)? })
    }

    fn authority(&self, files: &AuthorityFiles) -> anyhow::Result<Authority> {
        Authority::from_pem(&self.certificate, &self.key).map_err(|error| {
            let (certificate, key) = (files.certificate.display(), files.key.display());
            anyhow!("{certificate} and {key} cannot sign certificates: {error}")
        })
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};

    use super::*;

    fn write(files: &AuthorityFiles) {
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = params.self_signed(&key).expect("a certificate");
        std::fs::write(&files.certificate, certificate.pem()).expect("written");
        std::fs::write(&files.key, key.serialize_pem()).expect("written");
    }

    #[test]
    fn another_authority_is_taken_up_once_it_can_be_used() {
        let dir = tempfile::tempdir().expect("a directory");
        let files = AuthorityFiles { certificate: dir.path().join("ca.crt"), key: dir.path().join("ca.key") };
        assert!(FileAuthority::open(files.clone()).is_err());
        write(&files);
        let source = FileAuthority::open(files.clone()).expect("an authority");
        let first = source.current();
        assert!(Arc::ptr_eq(&first, &source.current()));
        std::fs::write(&files.key, "damaged").expect("written");
        assert!(Arc::ptr_eq(&first, &source.current()));
        write(&files);
        let second = source.current();
        assert!(!Arc::ptr_eq(&first, &second) && Arc::ptr_eq(&second, &source.current()));
        std::fs::remove_file(&files.certificate).expect("removed");
        assert!(Arc::ptr_eq(&second, &source.current()));
    }
}
