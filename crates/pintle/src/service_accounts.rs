//! The keys of service account tokens: those of the flags, of an external signer, or one of this server's own.
//!
//! Its own is made once and kept beside the certificates, in `pintle-sa.key`, so that tokens outlive a restart. It is an
//! ECDSA key, since making an RSA key takes longer than all else at start.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use pintle_auth::jwt::{PrivateKey, PrivateKeyError};
use pintle_auth::service_account::{
    EXTENDED_SECONDS, FixedKeys, Keys, PublicKey, Signer, WARN_ONLY_SECONDS, read_public_keys,
};
use pintle_control_plane::{DEFAULT_ISSUER, ServiceAccountConfig};

use crate::external_signer::{ExternalSigner, format};
use crate::files::{private_directory, write_private};
use crate::options::{Options, ServiceAccountOptions, StoreOptions};

const FILE_NAME: &str = "pintle-sa.key";

/// Reads the keys that are given; else the one in the directory, which is made if need be. An external signer has keys of its
/// own.
pub(crate) fn load(
    options: &Options,
    cert_dir: &Path,
    external: Option<ExternalSigner>,
) -> anyhow::Result<ServiceAccountConfig> {
    let given = &options.service_accounts;
    let issuers =
        if given.issuers.is_empty() { vec![DEFAULT_ISSUER.to_owned()] } else { given.issuers.clone() };
    let audiences = if given.audiences.is_empty() { issuers.clone() } else { given.audiences.clone() };
    let defaults = ServiceAccountConfig {
        issuers,
        audiences: audiences.into(),
        lookup: given.lookup,
        bootstrap_tokens: given.bootstrap_tokens,
        extend: given.extend_expiration,
        jwks_uri: given.jwks_uri.clone(),
        ..ServiceAccountConfig::default()
    };
    let is_external = external.is_some();
    let config = match external {
        Some(ExternalSigner { signer, longest, max_expiration }) => ServiceAccountConfig {
            signer: Some(signer.clone()),
            keys: signer,
            max_lifetime: max_expiration,
            extended_lifetime: defaults.extended_lifetime.min(longest),
            ..defaults
        },
        None => {
            let (signing, keys) = own_keys(options, cert_dir)?;
            let signer = signing.map(|key| Arc::new(key) as Arc<dyn Signer>);
            ServiceAccountConfig {
                // An external signer has rules of its own, by which it signs only tokens that expire.
                legacy_signer: signer.clone(),
                signer,
                keys: Arc::new(FixedKeys(Arc::new(keys))),
                max_lifetime: given.max_expiration,
                ..defaults
            }
        }
    };
    if given.extend_expiration {
        warn_of_short_lives(config.max_lifetime, is_external);
    }
    Ok(config)
}

/// Returns the keys of the flags, or else this server's own.
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

/// Reads the key files, so that one that cannot be used is found before anything is made.
pub(crate) fn check(options: &ServiceAccountOptions) -> anyhow::Result<()> {
    public_keys(options)?;
    options.signing_key_file.as_deref().map(signing_key).transpose()?;
    Ok(())
}

/// Returns the key of this server, and makes it if there is none.
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

/// Warns if the limit of lifetimes cuts extended tokens short. `external`: the limit is that of an external signer.
fn warn_of_short_lives(most: Duration, external: bool) {
    let (seconds, most) = (whole_seconds(most), format(most));
    if seconds == 0 {
        return;
    }
    let extends = "service-account-extend-token-expiration is true";
    if seconds < WARN_ONLY_SECONDS {
        let limit = if external {
            "token lifetime supported by external-jwt-signer must be longer than"
        } else {
            "service-account-max-token-expiration must be set longer than"
        };
        tracing::warn!(
            "{extends}, in order to correctly trigger safe transition logic, {limit} {WARN_ONLY_SECONDS} seconds \
             (currently {most})"
        );
    }
    if seconds < EXTENDED_SECONDS {
        if external {
            tracing::warn!(
                "{extends}, tokens validity will be caped at the smaller of {EXTENDED_SECONDS} seconds and maximum token \
                 lifetime supported by external-jwt-signer ({most})"
            );
        } else {
            tracing::warn!(
                "{extends}, enabling tokens valid up to {EXTENDED_SECONDS} seconds, which is longer than \
                 service-account-max-token-expiration set to {most}"
            );
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
