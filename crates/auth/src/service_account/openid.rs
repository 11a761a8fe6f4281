//! OpenID Connect discovery: the documents with which others verify service account tokens.

use std::collections::BTreeSet;

use bytes::Bytes;
use pintle_codec::json::write;

use super::Keys;
use crate::jwt::write_set;

/// Where the discovery document is.
pub const CONFIGURATION_PATH: &str = "/.well-known/openid-configuration";
/// Path of the keys, unless `--service-account-jwks-uri` names another place.
pub const KEYS_PATH: &str = "/openid/v1/jwks";

/// Both documents, ready to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Documents {
    pub configuration: Bytes,
    pub keys: Bytes,
}

/// Why nothing is shown.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    #[error("issuer URL must use https scheme, got: {0}")]
    Scheme(String),
    #[error("issuer URL may not include a query, got: {0}")]
    Query(String),
    #[error("issuer URL may not include a fragment, got: {0}")]
    Fragment(String),
    #[error("no keys provided for validating keyset")]
    NoKeys,
    #[error(
        "error constructing JWK for key #{0}: unknown public key type, must be *rsa.PublicKey, *ecdsa.PublicKey, or \
         jose.OpaqueSigner"
    )]
    Key(usize),
}

impl Documents {
    /// `keys_uri` is empty unless the keys are published elsewhere; `address` is that of this server for clients.
    pub fn new(issuer: &str, keys_uri: &str, address: &str, keys: &Keys) -> Result<Documents, Error> {
        if !issuer.get(..8).is_some_and(|scheme| scheme.eq_ignore_ascii_case("https://")) {
            return Err(Error::Scheme(issuer.into()));
        }
        let (before, fragment) = issuer.split_once('#').unwrap_or((issuer, ""));
        if before.split_once('?').is_some_and(|(_, query)| !query.is_empty()) {
            return Err(Error::Query(issuer.into()));
        }
        if !fragment.is_empty() {
            return Err(Error::Fragment(issuer.into()));
        }
        if let Some(place) = keys.unusable().first() {
            return Err(Error::Key(*place));
        }
        let algorithms: BTreeSet<&str> = keys.published().map(|key| key.kind().algorithm().name()).collect();
        if algorithms.is_empty() {
            return Err(Error::NoKeys);
        }
        let keys_uri = match keys_uri {
            "" => format!("https://{address}{KEYS_PATH}"),
            uri => uri.to_owned(),
        };
        let mut configuration = Vec::new();
        field("issuer", issuer, &mut configuration);
        field("jwks_uri", &keys_uri, &mut configuration);
        list("response_types_supported", ["id_token"], &mut configuration);
        list("subject_types_supported", ["public"], &mut configuration);
        list("id_token_signing_alg_values_supported", algorithms, &mut configuration);
        configuration.push(b'}');
        Ok(Documents { configuration: configuration.into(), keys: write_set(keys.published()).into() })
    }
}

fn name(name: &str, out: &mut Vec<u8>) {
    out.push(if out.is_empty() { b'{' } else { b',' });
    write::string(name, out);
    out.push(b':');
}

fn field(key: &str, value: &str, out: &mut Vec<u8>) {
    name(key, out);
    write::string(value, out);
}

fn list<'a>(key: &str, values: impl IntoIterator<Item = &'a str>, out: &mut Vec<u8>) {
    name(key, out);
    for (at, value) in values.into_iter().enumerate() {
        out.push(if at == 0 { b'[' } else { b',' });
        write::string(value, out);
    }
    out.push(b']');
}
