//! The keys of service account tokens: as given, those of another program, or one of this server's own.
//!
//! Its own is made once and kept beside the certificates, in `pintle-sa.key`, so that tokens outlive a restart. It is an
//! ECDSA key, since making an RSA key takes longer than all else at start.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context;
use bytes::Bytes;
use pintle_auth::TokenAuthenticator;
use pintle_auth::authenticator::{BootstrapTokens, ForThisServer};
use pintle_auth::jwt::{PrivateKey, PrivateKeyError};
use pintle_auth::service_account::openid::{self, CONFIGURATION_PATH, Documents, KEYS_PATH};
use pintle_auth::service_account::{
    EXTENDED_SECONDS, FixedKeys, Issuer, KeySource, Keys, PublicKey, Signer, TokenSettings, Tokens,
    WARN_ONLY_SECONDS, read_public_keys,
};
use pintle_resources::subresources::TokenRequestSettings;
use pintle_server::filter::Handler;
use pintle_server::handlers::PublicDocument;

use crate::access::service_accounts::StoredAccounts;
use crate::external_signer::{ExternalSigner, shown};
use crate::files::{private_directory, write_private};
use crate::options::{Options, ServiceAccountOptions, StoreOptions};

/// As a client inside of a cluster knows the server.
const DEFAULT_ISSUER: &str = "https://kubernetes.default.svc.cluster.local";
const FILE_NAME: &str = "pintle-sa.key";

/// Who signs tokens, and whose signatures are accepted.
pub(crate) struct ServiceAccounts {
    /// The first signs, all are accepted.
    pub(crate) issuers: Vec<String>,
    pub(crate) audiences: Arc<[String]>,
    /// Nothing if nobody here can sign.
    signer: Option<Arc<dyn Signer>>,
    keys: Arc<dyn KeySource>,
    lives: Lives,
}

/// How long tokens may live.
struct Lives {
    /// Zero is no limit.
    longest: Duration,
    /// Of those of pods that are extended.
    extended: Duration,
}

impl ServiceAccounts {
    /// Reads the keys that are given; else the one in the directory, which is made if need be. A program that signs has keys
    /// of its own.
    pub(crate) fn load(
        options: &Options,
        cert_dir: &Path,
        external: Option<ExternalSigner>,
    ) -> anyhow::Result<ServiceAccounts> {
        let given = &options.service_accounts;
        let issuers = match &given.issuers[..] {
            [] => vec![DEFAULT_ISSUER.to_owned()],
            issuers => issuers.to_vec(),
        };
        let audiences = if given.audiences.is_empty() { issuers.clone() } else { given.audiences.clone() };
        let extended = Duration::from_secs(EXTENDED_SECONDS.unsigned_abs());
        let is_external = external.is_some();
        let (signer, keys, lives): (_, Arc<dyn KeySource>, _) = match external {
            Some(ExternalSigner { signer, longest, max_expiration }) => {
                let lives = Lives { longest: max_expiration, extended: extended.min(longest) };
                (Some(signer.clone() as Arc<dyn Signer>), signer, lives)
            }
            None => {
                let (signing, keys) = own_keys(options, cert_dir)?;
                let signer = signing.map(|key| Arc::new(key) as Arc<dyn Signer>);
                let lives = Lives { longest: given.max_expiration, extended };
                (signer, Arc::new(FixedKeys(Arc::new(keys))), lives)
            }
        };
        if given.extend_expiration {
            warn_of_short_lives(lives.longest, is_external);
        }
        Ok(ServiceAccounts { issuers, audiences: audiences.into(), signer, keys, lives })
    }

    /// Those who know these tokens, in the reference's order.
    pub(crate) fn authenticators(
        &self,
        options: &ServiceAccountOptions,
        objects: Arc<StoredAccounts>,
    ) -> Vec<Arc<dyn TokenAuthenticator>> {
        let mut all: Vec<Arc<dyn TokenAuthenticator>> = Vec::new();
        if !self.keys.current().is_empty() {
            let settings = TokenSettings {
                keys: self.keys.clone(),
                audiences: self.audiences.clone(),
                objects: objects.clone(),
            };
            all.push(Arc::new(Tokens::legacy(settings.clone(), options.lookup)));
            all.push(Arc::new(Tokens::bound(settings, self.issuers.clone())));
        }
        if options.bootstrap_tokens {
            let tokens = BootstrapTokens(objects);
            all.push(Arc::new(ForThisServer { tokens, audiences: self.audiences.clone() }));
        }
        all
    }

    /// How tokens are issued; nothing if nobody can sign them.
    pub(crate) fn token_requests(&self, options: &ServiceAccountOptions) -> Option<TokenRequestSettings> {
        let issuer = Issuer { name: self.issuers.first()?.clone(), signer: self.signer.clone()? };
        Some(TokenRequestSettings {
            issuer,
            audiences: self.audiences.clone(),
            max_seconds: whole_seconds(self.lives.longest),
            extend: options.extend_expiration,
            extended_seconds: whole_seconds(self.lives.extended),
            validate_uid: options.validate_uid,
        })
    }

    /// What tells others how to verify tokens, by path; nothing if the issuer is not where anybody would look.
    pub(crate) fn endpoints(
        &self,
        options: &ServiceAccountOptions,
        address: &str,
    ) -> Vec<(String, Box<dyn Handler>)> {
        let issuer = self.issuers.first().map(String::as_str).unwrap_or_default();
        let shown = Shown {
            issuer: issuer.to_owned(),
            keys_uri: options.jwks_uri.clone(),
            address: address.to_owned(),
            source: self.keys.clone(),
            last: Mutex::default(),
        };
        let shown = match shown.refresh(&self.keys.current()) {
            Ok(_) => Arc::new(shown),
            Err(error) => {
                tracing::error!(
                    %error,
                    "Could not construct pre-rendered responses for ServiceAccountIssuerDiscovery endpoints. Endpoints will \
                     not be enabled."
                );
                return Vec::new();
            }
        };
        let other = shown.clone();
        let configuration: Box<dyn Handler> = Box::new(PublicDocument::new("application/json", move || {
            shown.read(|documents| &documents.configuration)
        }));
        let keys: Box<dyn Handler> = Box::new(PublicDocument::new("application/jwk-set+json", move || {
            other.read(|documents| &documents.keys)
        }));
        vec![(CONFIGURATION_PATH.to_owned(), configuration), (KEYS_PATH.to_owned(), keys)]
    }
}

/// What others are told, made anew when the keys are others.
struct Shown {
    issuer: String,
    keys_uri: String,
    address: String,
    source: Arc<dyn KeySource>,
    last: Mutex<Option<(Arc<Keys>, Arc<Documents>)>>,
}

impl Shown {
    fn refresh(&self, keys: &Arc<Keys>) -> Result<Arc<Documents>, openid::Error> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((of, documents)) = &*last
            && Arc::ptr_eq(of, keys)
        {
            return Ok(documents.clone());
        }
        let documents = match (Documents::new(&self.issuer, &self.keys_uri, &self.address, keys), &*last) {
            (Ok(documents), _) => Arc::new(documents),
            // Better what was true than nothing.
            (Err(error), Some((_, documents))) => {
                tracing::error!(%error, "failed to update openid config metadata");
                documents.clone()
            }
            (Err(error), None) => return Err(error),
        };
        *last = Some((keys.clone(), documents.clone()));
        Ok(documents)
    }

    fn read(&self, one: fn(&Documents) -> &Bytes) -> (Bytes, Duration) {
        let age = self.source.max_age();
        // It did not fail the first time, so there is something.
        let documents = self.refresh(&self.source.current()).ok();
        (documents.map(|documents| one(&documents).clone()).unwrap_or_default(), age)
    }
}

/// What is given, or else this server's own.
fn own_keys(options: &Options, cert_dir: &Path) -> anyhow::Result<(Option<PrivateKey>, Keys)> {
    let given = &options.service_accounts;
    let mut keys = public_keys(given)?;
    let signing = match &given.signing_key_file {
        Some(path) => Some(signing_key(path)?),
        None if !keys.is_empty() => None,
        None => {
            if matches!(options.store, StoreOptions::Etcd(_)) {
                tracing::warn!(
                    "service account tokens are signed with a key of this server alone; where there are several, give them \
                     the same --service-account-signing-key-file and --service-account-key-file"
                );
            }
            let key = own_key(cert_dir)?;
            keys.push(key.public().clone());
            Some(key)
        }
    };
    Ok((signing, Keys::new(keys)))
}

fn public_keys(options: &ServiceAccountOptions) -> anyhow::Result<Vec<PublicKey>> {
    let mut keys = Vec::new();
    for path in &options.key_files {
        let read = read_public_keys(path);
        keys.extend(read.with_context(|| format!("--service-account-key-file: {}", path.display()))?);
    }
    Ok(keys)
}

fn signing_key(path: &Path) -> anyhow::Result<PrivateKey> {
    PrivateKey::read(path).with_context(|| format!("--service-account-signing-key-file: {}", path.display()))
}

/// Reads what is given, so that a file that cannot be used is found before anything is made.
pub(crate) fn check(options: &ServiceAccountOptions) -> anyhow::Result<()> {
    public_keys(options)?;
    options.signing_key_file.as_deref().map(signing_key).transpose()?;
    Ok(())
}

/// The key of this server, which is made when there is none.
fn own_key(cert_dir: &Path) -> anyhow::Result<PrivateKey> {
    let path = cert_dir.join(FILE_NAME);
    match PrivateKey::read(&path) {
        Err(PrivateKeyError::Read(error)) if error.kind() == std::io::ErrorKind::NotFound => {
            let (key, pem) =
                PrivateKey::generate().context("cannot make a key for service account tokens")?;
            private_directory(cert_dir)?;
            write_private(&path, pem.as_bytes())?;
            Ok(key)
        }
        // It is not replaced: tokens that are in use were signed with it.
        read => read.with_context(|| format!("the key of service account tokens: {}", path.display())),
    }
}

fn whole_seconds(duration: Duration) -> i64 {
    duration.as_secs().try_into().unwrap_or(i64::MAX)
}

/// Where extended tokens cannot be, or not for as long as they are meant to. `external`: whose limit it is.
fn warn_of_short_lives(most: Duration, external: bool) {
    let (seconds, most) = (whole_seconds(most), shown(most));
    if seconds == 0 {
        return;
    }
    let extends = "service-account-extend-token-expiration is true";
    if seconds < WARN_ONLY_SECONDS {
        let limit = match external {
            false => "service-account-max-token-expiration must be set longer than",
            true => "token lifetime supported by external-jwt-signer must be longer than",
        };
        tracing::warn!(
            "{extends}, in order to correctly trigger safe transition logic, {limit} {WARN_ONLY_SECONDS} seconds \
             (currently {most})"
        );
    }
    if seconds < EXTENDED_SECONDS {
        match external {
            false => tracing::warn!(
                "{extends}, enabling tokens valid up to {EXTENDED_SECONDS} seconds, which is longer than \
                 service-account-max-token-expiration set to {most}"
            ),
            true => tracing::warn!(
                "{extends}, tokens validity will be caped at the smaller of {EXTENDED_SECONDS} seconds and maximum token \
                 lifetime supported by external-jwt-signer ({most})"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn the_key_is_made_once_and_is_private() {
        let dir = tempfile::tempdir().unwrap();
        let pki = dir.path().join("pki");
        let first = own_key(&pki).unwrap();
        let again = own_key(&pki).unwrap();
        assert_eq!(first.public(), again.public());
        let mode = std::fs::metadata(pki.join(FILE_NAME)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn a_key_that_cannot_be_used_is_an_error_and_not_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(FILE_NAME);
        std::fs::write(&path, "secret").unwrap();
        let error = format!("{:#}", own_key(dir.path()).err().unwrap());
        assert!(error.contains(FILE_NAME) && !error.contains("secret"), "{error}");
        assert_eq!(std::fs::read(&path).unwrap(), b"secret");
    }
}
