//! The keys of service account tokens: as given, or one of this server's own.
//!
//! Its own is made once and kept beside the certificates, in `pintle-sa.key`, so that tokens outlive a restart. It is an
//! ECDSA key, since making an RSA key takes longer than all else at start.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use pintle_auth::TokenAuthenticator;
use pintle_auth::authenticator::{BootstrapTokens, ForThisServer};
use pintle_auth::jwt::{PrivateKey, PrivateKeyError};
use pintle_auth::service_account::openid::{CONFIGURATION_PATH, Documents, KEYS_PATH};
use pintle_auth::service_account::{
    EXTENDED_SECONDS, Issuer, Keys, PublicKey, TokenSettings, Tokens, WARN_ONLY_SECONDS, read_public_keys,
};
use pintle_resources::subresources::TokenRequestSettings;
use pintle_server::filter::Handler;
use pintle_server::handlers::StaticDocument;

use crate::access::service_accounts::StoredAccounts;
use crate::files::{private_directory, write_private};
use crate::options::{Options, ServiceAccountOptions, StoreOptions};

/// As a client inside of a cluster knows the server.
const DEFAULT_ISSUER: &str = "https://kubernetes.default.svc.cluster.local";
const FILE_NAME: &str = "pintle-sa.key";
/// Clients may keep what is shown of keys for an hour.
const CACHE_CONTROL: &str = "public, max-age=3600";

/// Who signs tokens, and whose signatures are accepted.
pub(crate) struct ServiceAccounts {
    /// The first signs, all are accepted.
    pub(crate) issuers: Vec<String>,
    pub(crate) audiences: Arc<[String]>,
    /// Nothing if somebody else signs.
    signing: Option<Arc<PrivateKey>>,
    keys: Arc<Keys>,
}

impl ServiceAccounts {
    /// Reads the keys that are given; else the one in the directory, which is made if need be.
    pub(crate) fn load(options: &Options, cert_dir: &Path) -> anyhow::Result<ServiceAccounts> {
        let given = &options.service_accounts;
        let issuers = match &given.issuers[..] {
            [] => vec![DEFAULT_ISSUER.to_owned()],
            issuers => issuers.to_vec(),
        };
        let audiences = if given.audiences.is_empty() { issuers.clone() } else { given.audiences.clone() };
        let mut keys = public_keys(given)?;
        let signing = match &given.signing_key_file {
            Some(path) => Some(signing_key(path)?),
            None if given.signing_endpoint || !keys.is_empty() => None,
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
        warn_of_short_lives(given);
        Ok(ServiceAccounts {
            issuers,
            audiences: audiences.into(),
            signing: signing.map(Arc::new),
            keys: Arc::new(Keys::new(keys)),
        })
    }

    /// Those who know these tokens, in the reference's order.
    pub(crate) fn authenticators(
        &self,
        options: &ServiceAccountOptions,
        objects: Arc<StoredAccounts>,
    ) -> Vec<Arc<dyn TokenAuthenticator>> {
        let mut all: Vec<Arc<dyn TokenAuthenticator>> = Vec::new();
        if self.keys.iter().next().is_some() {
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
        let issuer = Issuer { name: self.issuers.first()?.clone(), key: self.signing.clone()? };
        Some(TokenRequestSettings {
            issuer,
            audiences: self.audiences.clone(),
            max_seconds: options.max_expiration.as_secs().try_into().unwrap_or(i64::MAX),
            extend: options.extend_expiration,
            validate_uid: options.validate_uid,
            now: std::time::SystemTime::now,
        })
    }

    /// What tells others how to verify tokens, by path; nothing if the issuer is not where anybody would look.
    pub(crate) fn endpoints(
        &self,
        options: &ServiceAccountOptions,
        address: &str,
    ) -> Vec<(String, Box<dyn Handler>)> {
        let issuer = self.issuers.first().map(String::as_str).unwrap_or_default();
        match Documents::new(issuer, &options.jwks_uri, address, &self.keys) {
            Ok(Documents { configuration, keys }) => {
                let documents = [
                    (CONFIGURATION_PATH, configuration, "application/json"),
                    (KEYS_PATH, keys, "application/jwk-set+json"),
                ];
                let handler = |(path, content, of): (&str, Vec<u8>, &'static str)| {
                    let document: Box<dyn Handler> =
                        Box::new(StaticDocument::new(content, of, CACHE_CONTROL));
                    (path.to_owned(), document)
                };
                documents.into_iter().map(handler).collect()
            }
            Err(error) => {
                tracing::error!(
                    %error,
                    "Could not construct pre-rendered responses for ServiceAccountIssuerDiscovery endpoints. Endpoints will \
                     not be enabled."
                );
                Vec::new()
            }
        }
    }
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

fn warn_of_short_lives(options: &ServiceAccountOptions) {
    let most = i64::try_from(options.max_expiration.as_secs()).unwrap_or(i64::MAX);
    if !options.extend_expiration || most == 0 {
        return;
    }
    if most < WARN_ONLY_SECONDS {
        tracing::warn!(
            "service-account-extend-token-expiration is true, in order to correctly trigger safe transition logic, \
             service-account-max-token-expiration must be set longer than {WARN_ONLY_SECONDS} seconds (currently {most}s)"
        );
    }
    if most < EXTENDED_SECONDS {
        tracing::warn!(
            "service-account-extend-token-expiration is true, enabling tokens valid up to {EXTENDED_SECONDS} seconds, which is \
             longer than service-account-max-token-expiration set to {most}s"
        );
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
